"""
The endpoints, which search and answer checked requests.

`table` lists the endpoints; the other modules answer them.
"""
