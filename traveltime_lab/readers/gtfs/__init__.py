"""
Read GTFS feeds into a `Timetable`.

The entry point is `feed.read_timetable`. `files` opens zip files and folders, `rows` checks columns, `stop_times` reads
the largest file, and `extras` reads shapes, transfers and fares. Dropped rows are reported with their file and line.
"""
