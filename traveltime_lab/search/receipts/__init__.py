"""Receipts: how a result was computed, recorded by each search; `traveltime_lab.search.replay` repeats the search."""
