"""
How people travel: the table of modes, and the options of a search about them.

`table` has one row for each mode on streets and one for each type of transportation; every room reads it there.
`transportation` has the types with their options, `snapping` the options for snapping points to streets; `options`
checks the values of both.
"""
