"""
A corpus of requests and calls with their answers as bytes, to show that a change of the code changes no answer.

`__main__` records and replays. `library`, `special`, `contract`, `wholes`, `messages`, `pages` and `towns` list the
cases; `tables` and ``calls.txt`` have what they are made from. `world` has the networks, points and services that they
are about, `asking` asks them, `canonical` writes answers as bytes, and `cases` keeps them in a file.
"""
