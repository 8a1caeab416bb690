"""Kernels on street graphs: shortest paths, contraction hierarchies, turn costs and snapping to the nearest street."""
