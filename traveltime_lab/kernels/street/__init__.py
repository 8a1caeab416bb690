"""Searches on street graphs: shortest paths, contraction hierarchies, turns, the nearest street."""
