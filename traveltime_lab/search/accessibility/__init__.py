"""Accessibility: how many opportunities are in reach, and how much of their capacity is left for whom."""
