"""
Public search functions: travel times, isochrones, routes, cells, explanations and geocoding.

The module of a function has the name of the function. Shared code is in `query` (validation of arguments), `pairs`
(pairs of origins and destinations) and `tables` (construction of GeoDataFrames).
"""
