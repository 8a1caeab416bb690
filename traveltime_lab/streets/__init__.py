"""
Where streets lead, and how fast: graphs, snapping, searches and matrices on streets.

The other rooms take from here `layer.StreetLayer` (the streets of a network with what is derived from them),
`tables.StreetTables` (the arrays that readers make), `snapping.snap_points`, `matrix.label_blocks` and
`matrix.pair_labels` (travel times of many pairs), `field.edge_field` (travel times along all streets), and
`paths.street_paths` with `directions.Narrator` (routes).
"""
