"""
An interactive map as one HTML file that works offline: isochrones of one origin by mode and travel time.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Final

import shapely

from traveltime_lab.maps import style
from traveltime_lab.maps.offline_page import attribution, base_maps, offline_page
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
        **base_maps(network, bounds, scale, _COARSER),
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
        "attribution": attribution(network, version),
    }
    panel = f"""<p>{html.escape(note)}</p>
<fieldset id="modes"><legend>Mode</legend></fieldset>
<table id="times"><caption>Reach</caption><tbody></tbody></table><p id="here" aria-live="polite"></p>"""
    return offline_page(__name__, data, title=f"From {origin}", panel=panel, label="What the map shows")
