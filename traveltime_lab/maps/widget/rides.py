"""
Legs of routes with their colours and words: those of the mode, or of the line in the timetable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import shapely

from traveltime_lab.maps import style
from traveltime_lab.maps.widget.state import Query

if TYPE_CHECKING:
    from traveltime_lab.itinerary import Leg, Route
    from traveltime_lab.network.network import Network

_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{6}")
#: Contrast with the background below which the colour of a line is not used, such as white (assumed).
_LEAST_CONTRAST: Final = 1.25
#: Shorter walks are not described in words.
_SHORT_S: Final = 30


class LegShown(NamedTuple):
    """A leg on the map: its words, in three parts of which the second is the name of the line, colour and geometry."""

    before: str
    line: str
    after: str
    colour: str
    is_walk: bool
    geometry: Any


def line_colours(network: Network, routes: Iterable[Route | None]) -> dict[tuple[str, str], str]:
    """Return the readable colours of the lines that routes use, by route_id and name of the line."""
    used = {
        (leg.ride.route_id, leg.ride.line) for route in routes if route is not None for leg in route.legs if leg.ride
    }
    if not used or network.timetable is None:
        return {}
    table = network.timetable.routes
    colours = {}
    # Feeds may have the same route_id; the name tells most of them apart.
    for route_id, line in used:
        rows = table[(table["route_id"].astype(str) == route_id).to_numpy()]
        named = rows[(rows["route_short_name"].astype(str) == line).to_numpy()]
        for text in (named if len(named) else rows)["route_color"].astype(str).iloc[:1]:
            if _HEXADECIMAL.fullmatch(text) and style.contrast(f"#{text}", style.PAPER) >= _LEAST_CONTRAST:
                colours[route_id, line] = f"#{text.lower()}"
    return colours


def legs_of(route: Route | None, colours: Mapping[tuple[str, str], str]) -> tuple[LegShown, ...]:
    """Return the legs of a route; none if there is no route."""
    return () if route is None else tuple(_shown(leg, colours) for leg in route.legs)


def _shown(leg: Leg, colours: Mapping[tuple[str, str], str]) -> LegShown:
    colour = style.MODE_COLOURS.get(leg.mode, style.ROUTE)
    is_walk = leg.mode == "walk"
    if leg.ride is None:
        label = f"{leg.way} {max(round(leg.travel_time / 60), 1)} min" if leg.travel_time >= _SHORT_S else ""
        return LegShown(label, "", "", colour, is_walk, leg.geometry)
    colour = colours.get((leg.ride.route_id, leg.ride.line), colour)
    start = "which continues as " if leg.ride.stays_seated else ""
    after = "" if leg.ride.stays_seated else f"at {leg.ride.board.time:%H:%M}"
    if leg.ride.headway is not None:
        after = f"every {max(round(leg.ride.headway / 60), 1)} min"
    return LegShown(f"{start}{leg.way}", leg.ride.line, after, colour, is_walk, leg.geometry)


def street_leg(query: Query, line: Any) -> tuple[LegShown, ...]:
    """Return the leg of a route on streets; none if there is no route."""
    if line is None or line.is_empty:
        return ()
    colour = style.MODE_COLOURS[query.transportation.street.leg]
    return (LegShown("", "", "", colour, False, line),)


def rides_in_words(route: Route | None) -> str:
    """Return a summary of the legs of a route, such as ``"walk 4 min, bus 21 at 08:12, walk 2 min"``."""
    return _summary(legs_of(route, {}), lambda leg: leg.line)


def rides_html(legs: Sequence[LegShown]) -> str:
    """Return a summary of the legs of a route as HTML, with the names of lines in their colours."""

    def badge(leg: LegShown) -> str:
        if not leg.line:
            return ""
        ink = style.on_colour(leg.colour)
        return f"<b style='background:{leg.colour};color:{ink};padding:0 4px;border-radius:3px'>{escape(leg.line)}</b>"

    return _summary(legs, badge)


def _summary(legs: Sequence[LegShown], name: Any) -> str:
    """Return the words of legs; "" if none is a ride."""
    if not any(leg.line or leg.after for leg in legs):
        return ""
    label: list[str] = []
    for leg in legs:
        words = " ".join(part for part in (leg.before, name(leg), leg.after) if part)
        if words.startswith("which continues") and label:
            label[-1] += f" {words}"
        elif words:
            label.append(words)
    return ", ".join(label)


def route_features(found: Iterable[Sequence[LegShown]]) -> dict[str, Any]:
    """Return legs as styled GeoJSON: each line over a wider one that sets it off from what is below."""
    features = []
    for legs in found:
        for leg in legs:
            if leg.geometry is None or leg.geometry.length == 0.0:
                continue
            line = np.round(shapely.get_coordinates(leg.geometry), 6).tolist()
            edge = "#ffffff" if style.on_colour(leg.colour) == "#ffffff" else "#333333"
            styles: list[dict[str, Any]] = [
                {"color": edge, "weight": 6, "opacity": 0.75},
                {"color": leg.colour, "weight": 3.5, "opacity": 1.0},
            ]
            if leg.is_walk:
                styles = [{"color": leg.colour, "weight": 3.5, "opacity": 1.0, "dashArray": "1 6"}]
            features += [
                {
                    "type": "Feature",
                    "properties": {"style": {**look, "fill": False}},
                    "geometry": {"type": "LineString", "coordinates": line},
                }
                for look in styles
            ]
    return {"type": "FeatureCollection", "features": features}
