"""Explanations of why a destination is unreachable, or what its travel time consists of."""
