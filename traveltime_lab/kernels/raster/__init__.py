"""Square cells: values of a field at their centres, contours through them, distances to roads."""
