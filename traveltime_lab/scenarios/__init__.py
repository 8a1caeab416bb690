"""
Scenarios: changes of streets and timetables, applied to the tables of a network.

`changes.py`, `street_changes.py` and `transit_changes.py` say what can change. `apply.py` applies changes to a
`StreetLayer` and a `Timetable`; `file.py` keeps them as JSON.
"""
