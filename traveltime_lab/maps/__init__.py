"""
Pictures and maps: `plot.plot` draws a picture, `widget` the interactive map of a notebook.

`scene` collects what a map shows, `artists`, `labels` and `legend` draw it, `style` has the colours, `basemap` the
streets below.
"""
