"""Receipts: what a result is the answer to, recorded by each search; `traveltime_lab.search.replay` asks again."""
