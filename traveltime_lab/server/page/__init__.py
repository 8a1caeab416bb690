"""
The page that the service answers at ``/``: a map to click on.

``sessions`` lets a browser in, ``routes`` answers it, and ``static`` holds its files: plain modules without a build
step. The page uses the same endpoints as every other client.
"""
