"""
Read files and graphs into tables: OpenStreetMap, osmnx and GTFS.

The entry points are `osm.streets.read_osm`, `osmnx.tables_from_osmnx` and similar functions for graphs and data
frames, and `gtfs.feed.read_timetable`.
"""
