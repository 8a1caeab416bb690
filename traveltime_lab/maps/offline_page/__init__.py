"""
A map as one HTML file that works offline: the frame of the pages of ``single_page`` and of ``widget/exported``.

Such a page holds everything: Leaflet, the base map at a few scales, its data as JSON, and the ``page.css`` and
``page.js`` of its package. The script has a line ``// base_maps.js`` where the code of the base maps comes in, which
reads ``data.bases`` and ``data.bounds``.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from traveltime_lab.maps import basemap, leaflet

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

_BASE_MAPS: Final = "  // base_maps.js\n"


def offline_page(package: str, data: Mapping[str, Any], *, title: str, panel: str, label: str) -> str:
    """
    Return a self-contained HTML page with an interactive map.

    Parameters
    ----------
    package : str
        Package with the ``page.css`` and ``page.js`` of the page.
    data : mapping
        Data of the script, with those of `base_maps` in it.
    title : str
        Title and heading.
    panel : str
        HTML below the heading.
    label : str
        Name of the panel for screen readers.
    """
    folder = files(package)
    own = folder.joinpath("page.js").read_text(encoding="utf-8")
    script = own.replace(_BASE_MAPS, files(__name__).joinpath("base_maps.js").read_text(encoding="utf-8"))
    # "<" of names and of SVG could end the script.
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    heading = html.escape(title)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>{leaflet.stylesheet()}</style>
<style>{folder.joinpath("page.css").read_text(encoding="utf-8")}</style></head>
<body><div id="map" role="application" aria-label="Map. Arrow keys move it, plus and minus zoom."></div>
<section id="panel" aria-label="{label}"><h1>{heading}</h1>{panel}</section>
<script>{leaflet.script()}</script>
<script type="application/json" id="data">{content}</script>
<script>{script}</script></body></html>
"""


def base_maps(
    network: Network, bounds: tuple[float, float, float, float], scale: float, coarser: Sequence[float]
) -> dict[str, Any]:
    """
    Return the data of a page about its base maps.

    Parameters
    ----------
    network : Network
    bounds : tuple of float
        West, south, east, north of the base maps.
    scale : float
        Metres per pixel.
    coarser : sequence of float
        Factors of the scale, one for each base map.
    """
    west, south, east, north = bounds
    bases = []
    for metres in (scale * factor for factor in coarser):
        ground, streets = basemap.documents(network, bounds, metres)
        bases.append({"metres": metres, "ground": ground, "streets": streets})
    return {"bounds": [[south, west], [north, east]], "bases": bases}


def attribution(network: Network, version: str) -> str:
    """Return the HTML that names the sources of a page."""
    return f"{html.escape(network.attribution)}. Drawn by traveltime_lab {html.escape(version)}"
