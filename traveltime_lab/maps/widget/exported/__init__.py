"""
The map of a widget as one HTML file that works offline: areas, origins and layers, and what is reached where.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import traveltime_lab
from traveltime_lab.maps import style
from traveltime_lab.maps.offline_page import attribution, base_maps, offline_page
from traveltime_lab.maps.widget import browser, choices
from traveltime_lab.maps.widget.state import colour_of

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.maps.widget.layers import Layer
    from traveltime_lab.maps.widget.state import Query
    from traveltime_lab.network.network import Network

#: Pixels of the longer side of the areas, and how much coarser each base map is (assumed: some 1 MB).
_SIDE_PX: Final = 1400.0
_COARSER: Final = (0.5, 1.2, 3.0)
#: Margin of the base map around the areas as a share of their size.
_AROUND: Final = 0.6
#: Metres per pixel of the finest base map and of the areas at least.
_FINEST_M: Final = 1.0


def page(
    network: Network,
    query: Query,
    drawn: gpd.GeoDataFrame,
    layers: Sequence[Layer],
    box: tuple[float, float, float, float],
) -> str:
    """
    Return a self-contained HTML page with the areas of a query.

    Parameters
    ----------
    network : Network
    query : Query
    drawn : GeoDataFrame
        Areas of the query, see `traveltime_lab.maps.widget.answers.areas`.
    layers : sequence of Layer
        Layers of own data.
    box : tuple of float
        West, south, east, north of what the page shows at first.
    """
    west, south, east, north = box
    wide, high = max(east - west, 0.004), max(north - south, 0.004)
    bounds = (
        west - _AROUND * wide, max(south - _AROUND * high, -85.0),
        east + _AROUND * wide, min(north + _AROUND * high, 85.0),
    )  # fmt: skip
    frame = network.frame
    metres = max(wide * frame.metres_per_degree_lng, high * frame.metres_per_degree_lat)
    scale = max(metres / _SIDE_PX, _FINEST_M / _COARSER[0])
    name = style.minutes_label if query.measure == "travel_time" else style.metres_label
    is_single = len(query.origins) == 1
    data = {
        "box": [[south, west], [north, east]],
        **base_maps(network, bounds, scale, _COARSER),
        "areas": browser.feature_collection(drawn, query, max(0.25 * scale, _FINEST_M)),
        "measure": query.measure,
        "limits": {str(limit): name(limit) for limit in query.limits},
        "opacity": style.AREA_OPACITY,
        "layers": [{"over": layer.over, "features": layer.features()} for layer in layers],
        "origins": [
            {"name": str(o.name), "at": [o.lat, o.lng], "pin": browser.pin(style.ORIGIN if is_single else colour_of(i))}
            for i, o in enumerate(query.origins)
        ],
        "groups": [str(o.name) for o in query.origins] if query.combine == "each" else [query.combine],
        "attribution": attribution(network, traveltime_lab.__version__),
    }
    legend = browser.legend_html(query, [layer.legend_html() for layer in layers])
    panel = f'{legend}<div id="here" aria-live="polite"></div>'
    return offline_page(__name__, data, title=_title(query, name(query.limits[-1])), panel=panel, label="Legend")


def _title(query: Query, limit: str) -> str:
    """Return a title such as "Within 15 min on foot, 2026-03-02T08:00:00"."""
    words = f"Within {limit}, {choices.in_words(query.transportation.type)}"
    for side, verb in (("departure_time", "departing"), ("arrival_time", "arriving")):
        if side in query.options:
            words += f", {verb} {str(query.options[side]).replace('T', ' ').replace('_', ' ')}"
    return words
