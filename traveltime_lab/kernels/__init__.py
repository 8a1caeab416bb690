"""
Compiled functions that take and return plain arrays, without pandas, shapely, files or HTTP.

`street` searches street graphs, `transit` searches timetables, and `raster` fills the cells of a raster with travel
times and traces contours through them. Start with the module docstring of `street.road`: it explains the labels, the
search queue and the ports that most kernels share.
"""
