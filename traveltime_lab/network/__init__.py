"""
Networks: the streets, timetable and water of a region, built once and saved to a file.

Other packages import `network.Network`, `build.build_network`, `build.load_network`, `speeds.add_speeds`,
`elevation.add_elevation`, `sample.sample_network` and `water.WaterBodies`.
"""
