"""
An interactive map as one HTML file that works offline: isochrones of one origin by mode and travel time.

The file holds everything: Leaflet, the base map at a few scales, and the areas.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import shapely

from traveltime_lab.maps import basemap, leaflet, style
from traveltime_lab.maps.widget import choices

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.network.network import Network

#: Pixels of the longer side of the streets, and how much coarser each base map is (assumed: some 1 MB).
_SIDE_PX: Final = 6000.0
_COARSER: Final = (0.4, 1.0, 2.5, 6.0)
#: Degrees of the base map around the streets, for the sea; at most half the width or height of the streets.
_AROUND: Final = 0.15
#: Metres per pixel of the finest base map at least.
_FINEST_M: Final = 0.5
#: Decimals of degrees: a metre.
_DECIMALS: Final = 5


def single_page(
    network: Network, areas: gpd.GeoDataFrame, places: gpd.GeoDataFrame, *, origin: str, note: str, version: str
) -> str:
    """
    Return a self-contained HTML page with an interactive map.

    Parameters
    ----------
    network : Network
    areas : GeoDataFrame
        Columns ``transportation`` and ``travel_time`` (s), and areas in EPSG:4326.
    places : GeoDataFrame
        Points in EPSG:4326, indexed by name.
    origin : str
        Name of the origin among `places`.
    note : str
        Below the title.
    version : str
        For the attribution.
    """
    west, south, east, north = network.bounds
    around = min(_AROUND, (east - west) / 2.0, (north - south) / 2.0)
    bounds = (west - around, south - around, east + around, north + around)
    frame = network.frame
    wide = (east - west) * frame.metres_per_degree_lng
    high = (north - south) * frame.metres_per_degree_lat
    scale = max(max(wide, high) / _SIDE_PX, _FINEST_M / _COARSER[0])
    bases = []
    for coarser in _COARSER:
        ground, streets = basemap.documents(network, bounds, scale * coarser)
        bases.append({"metres": scale * coarser, "ground": ground, "streets": streets})
    seconds = sorted(areas["travel_time"].unique().tolist())
    colours = dict(zip(seconds, style.ramp(len(seconds)), strict=True))
    km2 = areas.to_crs(network.crs).area / 1e6
    drawn = [
        {
            "mode": str(mode),
            "time": int(time),
            "km2": round(float(size), 2),
            "shape": json.loads(shapely.to_geojson(shapely.set_precision(shape, 10.0**-_DECIMALS))),
        }
        for mode, time, shape, size in zip(
            areas["transportation"], areas["travel_time"], areas.geometry, km2, strict=True
        )
    ]
    data = {
        "bounds": [[bounds[1], bounds[0]], [bounds[3], bounds[2]]],
        "bases": bases,
        "areas": drawn,
        "modes": [
            {"type": str(mode), "label": choices.in_words(str(mode))} for mode in areas["transportation"].unique()
        ],
        "times": [{"time": s, "colour": colours[s], "label": style.minutes_label(s)} for s in seconds],
        "places": [
            {"name": str(name), "at": [point.y, point.x], "is_origin": name == origin}
            for name, point in zip(places.index, places.geometry, strict=True)
        ],
        "origin_colour": style.ORIGIN,
        "attribution": f"{html.escape(network.attribution)}. Drawn by traveltime_lab {html.escape(version)}",
    }
    folder = files(__name__)
    # "<" of names and of SVG could end the script.
    content = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(f"From {origin}")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{leaflet.stylesheet()}</style>
<style>{folder.joinpath("page.css").read_text(encoding="utf-8")}</style></head>
<body><div id="map" role="application" aria-label="Map. Arrow keys move it, plus and minus zoom."></div>
<section id="panel" aria-label="What the map shows"><h1>{title}</h1><p>{html.escape(note)}</p>
<fieldset id="modes"><legend>Mode</legend></fieldset>
<table id="times"><caption>Reach</caption><tbody></tbody></table><p id="here" aria-live="polite"></p></section>
<script>{leaflet.script()}</script>
<script type="application/json" id="data">{content}</script>
<script>{folder.joinpath("page.js").read_text(encoding="utf-8")}</script></body></html>
"""
