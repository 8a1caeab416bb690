"""
Static maps (`plot.plot`) and the interactive map for notebooks (`widget`).

`scene` validates and collects the layers of a static map; `artists`, `labels` and `legend` draw them. `style` defines
colours and line widths, and `basemap` renders the streets and water of the network. `offline_page` is the frame of the
web pages with a map: that of the demo (`single_page`) and that of the notebook (`widget.exported`).
"""
