"""
The network: streets, timetable and water of a place, built once, saved to one file, asked often.

The other rooms take from here `network.Network`, `build.build_network`, `file.load_network`, `speeds.add_speeds`,
`sample.sample_network` and `water.WaterBodies`.
"""
