"""
Files and graphs into tables: OpenStreetMap, osmnx, GTFS.

The other rooms take from here `osm.streets.read_osm`, `osmnx.tables_from_osmnx` and its kin, and
`gtfs.feed.read_timetable`.
"""
