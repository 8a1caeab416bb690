"""
The questions that people ask: travel times, areas, routes, cells, explanations, places by name.

Each public function has a module of its name; what they share is in `query` (checked arguments and the searches behind
them), `pairs`, `points` and `tables`.
"""
