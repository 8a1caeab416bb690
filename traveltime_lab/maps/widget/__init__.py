"""
The map in a notebook: drag an origin and the areas within reach follow.

``state`` holds what the map shows, ``values`` reads what it is set to and ``origins`` the places; ``answers`` asks the
library, ``wire`` makes the answer light enough to send, ``jobs`` keeps slow work out of the way, ``exports`` writes
things down, and ``view`` and its ``panel`` of controls are the only modules that know a browser. All others run, and
are tested, without one.
"""

from traveltime_lab.maps.widget.origins import Origin

__all__ = ["Origin"]
