"""
Read OpenStreetMap files (`.osm.pbf`, `.osm`) into `StreetTables`.

The entry point is `streets.read_osm`. `extract` decodes the file, where `versions` makes sure that it has each object
once, and `opl` writes and reads the text format in between. `tags` interprets the tags of ways with the help of
`access_tags` and `tag_values`, `node_tags` those of nodes. `edges` splits ways at junctions; `turn_restrictions`,
`water` and `places` read the rest, and `features` reads objects by any tags.
"""
