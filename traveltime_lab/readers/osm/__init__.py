"""
Read OpenStreetMap files (`.osm.pbf`, `.osm`) into `StreetTables`.

The entry point is `streets.read_osm`. `extract` decodes the file, `tags` interprets the tags of ways with the help of
`access_tags` and `tag_values`, `node_tags` those of nodes. `edges` splits ways at junctions; `turn_restrictions`,
`water` and `places` read the rest.
"""
