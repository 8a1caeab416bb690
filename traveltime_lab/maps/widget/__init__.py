"""
Interactive map for notebooks: isochrones that follow their origins as these are dragged.

``state`` holds the state of the map, ``values`` and ``origins`` parse the values that it is set to, and ``choices``
lists the modes and days to choose from. ``answers`` runs the searches, ``browser`` converts their results for the
browser, ``rides`` routes, ``day`` the curve of the day, and ``layers`` own data. ``jobs`` runs slow work in a thread,
and ``exports`` writes files, one of them a page of ``exported``. Only ``view``, its ``markers``, ``naming``,
``own_layers``, ``day_view`` and ``background``, the two maps of ``side_by_side``, and the control ``panel`` with its
``controls`` and its ``finder`` of addresses depend on ipywidgets and ipyleaflet. The other modules run, and are tested,
without them.
"""

from traveltime_lab.maps.widget.origins import Origin

__all__ = ["Origin"]
