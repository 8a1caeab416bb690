"""
The map in a notebook: drag an origin and the areas within reach follow.

``state`` holds what the map shows, ``origins`` around which places, ``answers`` asks the library for it, ``wire`` makes
it light enough to send, ``jobs`` keeps slow work out of the way, and ``view`` is the only module that knows ipyleaflet.
Everything but the view runs, and is tested, without a browser.
"""

from traveltime_lab.widget.origins import Origin

__all__ = ["Origin"]
