"""Receipts: what a result is the answer to, and whether asking again gives the same answer."""
