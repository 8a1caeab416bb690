"""
The commands that search a network: searches (`searches.py`), and large jobs (`large_jobs.py`).

Options of searches are the arguments of the public functions, read from their source by `signatures.py`, so that
``--help`` imports none of them.
"""
