"""
Data for the browser: styled GeoJSON, simplified to the resolution of the screen, and HTML.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.widget.origins import Origin
from traveltime_lab.maps.widget.rides import rides_html
from traveltime_lab.maps.widget.state import Query, colour_of
from traveltime_lab.network.network import Network

#: Approximate length of a degree of latitude in metres, for tolerances.
_METRES_PER_DEGREE = 111_320.0
#: Metres per pixel of Web Mercator at zoom 0 on the equator: circumference of its sphere over the width of a tile.
_ZOOM_0_M = 156_543.03392804097
#: Name of the places that several origins reach.
SHARED = "reached by several"
#: Hatching, defined in the legend: shapes on the map refer to it by its identifier.
_HATCH = "traveltime-hatch"
_HATCHING = (
    f"<defs><pattern id='{_HATCH}' width='9' height='9' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
    f"<path d='M0 0V9' stroke='{style.LABEL}' stroke-width='1.3'/></pattern></defs>"
)
#: Height of a line of travel times to a point in pixels, and maximum number of origins that they are shown of.
_LINE_PX = 20
_MOST_PROBED = 6
#: Short descriptions of why a point has no travel time.
_NOT_REACHED = {
    "destination_outside_network": "outside the network",
    "origin_outside_network": "outside the network",
    "destination_not_snapped": "no usable street nearby",
    "origin_not_snapped": "no usable street nearby",
    "over_limit": "not within four hours",
}


def metres_per_pixel(zoom: float, lat: float) -> float:
    """Return the size of a pixel of a web map on the ground in metres."""
    return _ZOOM_0_M * math.cos(math.radians(lat)) / math.pow(2.0, zoom)


def zoom_for(bounds: tuple[float, float, float, float], width_px: float, height_px: float) -> int:
    """Return the largest integer zoom at which (west, south, east, north) in EPSG:4326 fits into a web map."""
    west, south, east, north = bounds
    lat = (south + north) / 2.0
    wide = max((east - west) * _METRES_PER_DEGREE * math.cos(math.radians(lat)), 100.0)
    high = max((north - south) * _METRES_PER_DEGREE, 100.0)
    needed = max(wide / width_px, high / height_px)
    return int(np.clip(math.floor(math.log2(metres_per_pixel(0, lat) / needed)), 1, 18))


def worth_seeing(drawn: gpd.GeoDataFrame, origins: list[Origin], network: Network) -> tuple[float, float, float, float]:
    """Return the bounds of areas and their origins; those of the network if all areas are empty."""
    shown = drawn[~drawn.geometry.is_empty]
    if not len(shown):
        return network.bounds
    west, south, east, north = network.bounds
    inside = [o for o in origins if west <= o.lng <= east and south <= o.lat <= north]
    lng = [*shown.total_bounds[[0, 2]], *(origin.lng for origin in inside)]
    lat = [*shown.total_bounds[[1, 3]], *(origin.lat for origin in inside)]
    return float(min(lng)), float(min(lat)), float(max(lng)), float(max(lat))


def colours(query: Query) -> dict[Any, list[str]]:
    """Return the colours of the rings, smallest first, by the values of the column ``origin``."""
    n = len(query.limits)
    if query.combine != "each":
        return {query.combine: style.ramp(n)}
    if len(query.origins) == 1:
        return {query.origins[0].name: style.ramp(n)}
    return {origin.name: style.tints(colour_of(i), n) for i, origin in enumerate(query.origins)}


def feature_collection(drawn: gpd.GeoDataFrame, query: Query, pixel_m: float) -> dict[str, Any]:
    """
    Return areas as styled GeoJSON, largest rings first, so that small ones are drawn on top.

    Parameters
    ----------
    drawn : GeoDataFrame
        Result of `traveltime_lab.maps.widget.answers.areas`.
    query : Query
    pixel_m : float
        Size of a pixel in metres; areas are simplified with a tolerance of half a pixel.

    Returns
    -------
    dict
        GeoJSON FeatureCollection with at most six decimals.
    """
    by_origin = colours(query)
    is_mixed = len(by_origin) > 1
    decimals = int(np.clip(math.ceil(-math.log10(pixel_m / _METRES_PER_DEGREE / 4.0)), 3, 6))
    limits = list(query.limits)
    features = []
    for origin, limit, shape in zip(drawn["origin"], drawn[query.measure], drawn.geometry, strict=True):
        place = limits.index(int(limit))
        colour = by_origin[origin][place]
        features.append(
            {
                "type": "Feature",
                "properties": {
                    "origin": str(origin),
                    query.measure: int(limit),
                    "style": {
                        "color": colour_of(list(by_origin).index(origin)) if is_mixed else colour,
                        "weight": 1.5 if place == len(limits) - 1 else 0.7,
                        "opacity": 1.0,
                        "fillColor": colour,
                        "fillOpacity": _fill_opacity(is_mixed),
                    },
                },
                "geometry": _light(shape, pixel_m, decimals),
            }
        )
    features = features[::-1]
    shared = _shared(drawn[drawn[query.measure] == limits[-1]].geometry, pixel_m) if is_mixed else None
    if shared is not None and not shared.is_empty:
        hatched = {"stroke": False, "fillColor": f"url(#{_HATCH})", "fillOpacity": 1.0}
        features.append(
            {
                "type": "Feature",
                "properties": {"origin": SHARED, "shared": True, query.measure: limits[-1], "style": hatched},
                "geometry": _light(shared, pixel_m, decimals),
            }
        )
    return {"type": "FeatureCollection", "features": features}


def _shared(shapes: gpd.GeoSeries, pixel_m: float) -> Any:
    """Return the polygons that at least two areas have in common, in the resolution of the screen."""
    reached: Any = shapely.MultiPolygon()
    twice: Any = shapely.MultiPolygon()
    for shape in shapely.simplify(shapes.to_numpy(), 0.5 * pixel_m / _METRES_PER_DEGREE):
        twice = shapely.union(twice, shapely.intersection(reached, shape))
        reached = shapely.union(reached, shape)
    # Where areas only touch, they have lines and points in common.
    return shapely.multipolygons([part for part in shapely.get_parts(twice) if shapely.get_dimensions(part) == 2])


def _light(shape: Any, pixel_m: float, decimals: int) -> dict[str, Any]:
    """Return a MultiPolygon as GeoJSON, simplified and rounded."""
    tolerance = 0.5 * pixel_m / _METRES_PER_DEGREE
    simple = shapely.simplify(shape, tolerance)
    polygons = []
    for polygon in shapely.get_parts(simple):
        rings = [np.round(shapely.get_coordinates(ring), decimals).tolist() for ring in shapely.get_rings(polygon)]
        polygons.append(rings)
    return {"type": "MultiPolygon", "coordinates": polygons}


def _fill_opacity(is_mixed: bool) -> float:
    """Return the opacity of areas in their layer; areas of several origins are transparent to each other."""
    return 0.55 if is_mixed else 1.0


def seen_colours(row: list[str], is_mixed: bool) -> list[str]:
    """
    Return the colours of the rings of an origin as they appear on the background of the base map.

    Parameters
    ----------
    row : list of str
        Colours of the rings, smallest first; each ring is drawn on top of all larger ones.
    is_mixed : bool
        Whether there are several origins.

    Returns
    -------
    list of str
        Hexadecimal colours such as ``"#1f9e89"``, in the order of `row`.
    """
    paper, below, covered = _rgb(style.PAPER), np.zeros(3), 0.0
    alpha = _fill_opacity(is_mixed)
    seen = []
    for colour in reversed(row):
        below, covered = alpha * _rgb(colour) + (1.0 - alpha) * below, alpha + (1.0 - alpha) * covered
        share = style.AREA_OPACITY
        mixed = share * below + (1.0 - share * covered) * paper
        seen.append("#" + "".join(f"{round(part):02x}" for part in mixed.tolist()))
    return seen[::-1]


def _rgb(colour: str) -> Any:
    """Return the red, green and blue components, 0 to 255, of a hexadecimal colour."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


def legend_html(query: Query | None, others: Sequence[str] = ()) -> str:
    """
    Return the legend as HTML: a swatch per ring, for each origin if they have different colours.

    Parameters
    ----------
    query : Query or None
    others : sequence of str
        Parts of the legend for other layers, as HTML.
    """
    rows = [] if query is None or not query.origins else _ring_rows(query)
    body = "".join([*(f"<div>{row}</div>" for row in rows), *others])
    if not body:
        return ""
    return f"<div style='font:12px/1.5 system-ui,sans-serif;color:#111;padding:2px 4px'>{body}</div>"


def _ring_rows(query: Query) -> list[str]:
    """Return the rows of the legend for the areas."""
    name = style.minutes_label if query.measure == "travel_time" else style.metres_label
    rows = []
    is_mixed = len(colours(query)) > 1
    for origin, row in colours(query).items():
        many = len(query.origins) > 1
        if many and query.combine == "each":
            rows.append(f"<b>{escape(str(origin))}</b>")
        elif many:
            rows.append(f"<b>{query.combine.capitalize()} of {len(query.origins)} areas</b>")
        swatches = "".join(
            f"<span style='display:inline-flex;align-items:center;margin-right:10px;white-space:nowrap'><i style='"
            f"width:14px;height:14px;margin-right:4px;background:{seen};border:1px solid {edge}'></i>"
            f"{name(limit)}</span>"
            for seen, edge, limit in zip(seen_colours(row, is_mixed), row, query.limits, strict=True)
        )
        rows.append(swatches)
    if is_mixed:
        rows.append(
            "<span style='display:inline-flex;align-items:center'><svg width='16' height='16' style='margin-right:4px'>"
            f"{_HATCHING}<rect x='0.5' y='0.5' width='15' height='15' fill='url(#{_HATCH})' stroke='{style.STREET}'/>"
            f"</svg>{SHARED}</span>"
        )
    return rows


def pin(colour: str) -> str:
    """Return the data URL of a pin of 26 by 36 pixels with its tip at the centre of the bottom."""
    return basemap.data_address(
        "<svg xmlns='http://www.w3.org/2000/svg' width='26' height='36' viewBox='0 0 26 36'>"
        f"<path d='M13 35C9 26 1.5 20 1.5 12.5a11.5 11.5 0 0 1 23 0C24.5 20 17 26 13 35Z' fill='{colour}' "
        "stroke='#fff' stroke-width='2'/><circle cx='13' cy='12.5' r='4.5' fill='#fff'/></svg>"
    )


def probe_html(query: Query, found: gpd.GeoDataFrame) -> str:
    """Return the travel times between a point and each origin as HTML."""
    parts = []
    clipped = f"height:{_LINE_PX * _lines(query)}px;overflow:hidden;text-overflow:ellipsis"
    if not query.transportation.uses_timetable:
        clipped += ";white-space:nowrap"
    for position, row in enumerate(found.iloc[:_MOST_PROBED].itertuples()):
        colour = colour_of(position) if len(found) > 1 else style.ORIGIN
        is_reached = not pd.isna(row.travel_time)
        text = _NOT_REACHED.get(row.reason, str(row.reason).replace("_", " "))
        if is_reached:
            text = f"{_about(row.travel_time)}, {style.metres_label(row.distance)}"
        more = f" ({rides_html(row.legs)})" if row.rides else ""
        if is_reached and query.percents:
            sure = "never" if pd.isna(row.relied) else f"within {_about(row.relied)}"
            more += f"; {query.percents[0]:g} % of the time {sure}"
        parts.append(
            f"<div style='{clipped}'>{'Here ' if position == 0 else ''}<b style='color:{colour}'>&#9679;</b> "
            f"{'to' if query.is_arrival else 'from'} {escape(str(row.origin))}: <b>{text}</b>{more}</div>"
        )
    return f"<div style='font:13px/{_LINE_PX}px system-ui,sans-serif;color:#111'>{''.join(parts)}</div>"


def probe_height(query: Query) -> int:
    """Return the height in pixels of travel times to a point; the same for all points, so that nothing moves."""
    return _LINE_PX * _lines(query) * max(min(len(query.origins), _MOST_PROBED), 1)


def _lines(query: Query) -> int:
    """Return the number of lines for the travel time from an origin; two with rides."""
    return 2 if query.transportation.uses_timetable else 1


def _about(seconds: Any) -> str:
    """Format a travel time, rounded to tenths of minutes."""
    return style.minutes_label(round(int(seconds) / 6) * 6)
