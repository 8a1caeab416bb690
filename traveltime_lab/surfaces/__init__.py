"""
Turn fields of travel times into rasters, and rasters into polygons and grid cells.

Other packages use `field.Field` (the interface of a field), `raster.surface` (its values at the centres of square
cells), `polygons.contour_polygons` (the area within a limit), `level_of_detail` (the size of the cells) and `grids` (H3
and geohash cells).
"""
