"""Read the receipt of a result, and ask its question again; `traveltime_lab.search.receipts` records it."""
