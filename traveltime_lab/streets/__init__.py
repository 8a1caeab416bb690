"""
Build search graphs of streets, snap points to them, and compute travel times and routes.

Other packages use `layer.StreetLayer` (the streets of a network and everything derived from them),
`tables.StreetTables` (the arrays that readers return), `snapping.snap_points`, `matrix.label_blocks` and
`matrix.pair_labels` (travel times of many pairs), `field.row_field` (travel times along the streets that are reached),
and `paths.paths` with `directions.Narrator` (routes).
"""
