"""
Compiled functions on plain arrays: they know neither pandas nor shapely, files nor HTTP.

`street` has the searches on street graphs, `transit` those on timetables, `raster` what turns values at cells into
shapes.
"""
