"""
Live updates of a timetable: GTFS Realtime.

`sources.py` reads messages, by the table of fields in `schema.py`; `match.py` finds the trips that they are about,
`predictions.py` computes their times, and `apply.py` writes them into a timetable. `updates.py` has the report.
"""
