"""
The page that the service answers at ``/``: a map to click on.

``sessions`` lets a browser in, ``routes`` answers it, and ``static`` holds what it loads: plain modules without a build
step. The page asks the same endpoints as every other client.
"""
