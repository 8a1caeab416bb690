"""
GTFS feeds into a `Timetable`.

`feed.read_timetable` is the entry. `files` opens zip files and folders, `rows` checks columns, `stop_times` reads the
largest file, and what is dropped is reported with its file and line.
"""
