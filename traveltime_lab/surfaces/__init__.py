"""
Any field of travel times as a raster, and the raster as polygons and cells.

The other rooms take from here `field.Field` (what a field must offer), `raster.surface` (its values at the centres of
square cells), `polygons.contour_polygons` (the area within a limit), `level_of_detail` (how fine the cells are) and
`grids` (H3 and geohash cells).
"""
