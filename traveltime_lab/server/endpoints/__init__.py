"""
What each endpoint does with a checked request.

`table` lists the endpoints; the other modules answer them.
"""
