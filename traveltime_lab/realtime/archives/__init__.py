"""
Archives of observed service: what is last known of each run on each service date.

`files.py` finds snapshots and tables, `snapshots.py` and `tables.py` read them, `store.py` keeps the last values of
each run by service date, and `plan.py` computes the times of the runs of a day, with the rules of `gaps.py`.
"""
