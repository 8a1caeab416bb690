"""
OpenStreetMap files (`.osm.pbf`, `.osm`) into `StreetTables`.

`streets.read_osm` is the entry. `tags` says what the tags of a way mean; `access_tags`, `node_tags` and `tag_values`
help it. `extract` finds what is needed in the file, `edges` cuts ways at junctions, `turn_restrictions`, `water` and
`places` read the rest.
"""
