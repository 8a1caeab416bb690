"""Read the receipt of a result, and repeat its search; `traveltime_lab.search.receipts` records it."""
