"""
What the map shows, computed with the public functions only: a shape here is the shape that `time_map` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import geopandas as gpd
import pandas as pd

from traveltime_lab import looks, questions, shapes
from traveltime_lab.areas import distance_map, time_map
from traveltime_lab.errors import InputError
from traveltime_lab.journeys import routes
from traveltime_lab.time_filters import time_filter
from traveltime_lab.widget.state import Origin, Question

if TYPE_CHECKING:
    from traveltime_lab.legs import Route
    from traveltime_lab.network import Network

#: Why a shape is empty.
REASONS_IN_WORDS: Final = {
    "origin_outside_network": "lies outside the network",
    "origin_not_snapped": "has no usable street nearby",
    "over_limit": "reaches nothing within {limit}: the way to the street alone takes longer",
}
EMPTY_IN_WORDS: Final = {
    "union": "No origin reaches anything.",
    "intersection": "The areas have no ground in common within {limit}.",
    "difference": "Within {limit} the others reach everything that the first does.",
}

#: Origins that are searched between two looks at whether somebody wants the work stopped.
_BATCH: Final = 4

#: Called after each step with the steps done and their number; may raise to stop.
Step = Callable[[int, int], None]


def _no_step(done: int, total: int) -> None:
    """Go on."""


def table_of(origins: tuple[Origin, ...]) -> gpd.GeoDataFrame:
    """Return origins as a table indexed by their names."""
    return gpd.GeoDataFrame(
        geometry=gpd.points_from_xy([origin.lng for origin in origins], [origin.lat for origin in origins]),
        index=pd.Index([origin.name for origin in origins], name="origin"),
        crs="EPSG:4326",
    )


def areas(network: Network, question: Question, *, step: Step = _no_step) -> gpd.GeoDataFrame:
    """
    Return the shapes of a question.

    Parameters
    ----------
    network : Network
    question : Question
    step : callable, optional
        Told the progress between searches; an exception from it ends the work.

    Returns
    -------
    GeoDataFrame
        EPSG:4326, one row per origin and ring, small rings first: ``origin`` (name; the kind of combination where
        origins are combined), ``travel_time`` or ``distance``, ``reason`` (why a shape is empty) and ``geometry``.

    Raises
    ------
    TravelTimeError
        Whatever `time_map` or `distance_map` raises; InputError if there is no origin.
    """
    if not question.origins:
        raise InputError("There is no origin. Click on the map to add one.")
    batches = [question.origins[i : i + _BATCH] for i in range(0, len(question.origins), _BATCH)]
    total, done = len(batches) * len(question.limits), 0
    parts = []
    for limit in question.limits:
        rows = []
        for batch in batches:
            step(done, total)
            rows.append(_shapes(network, table_of(batch), question, limit))
            done += 1
        ring = pd.concat(rows).reset_index(names="origin")
        parts.append(ring if question.combine == "each" else _combined(ring, question, limit))
    step(total, total)
    columns = ["origin", question.measure, "reason", "geometry"]
    drawn = pd.concat(parts, ignore_index=True)[columns]
    order = [origin.name for origin in question.origins]
    if question.combine == "each" and len(order) > 1:
        drawn = drawn.iloc[drawn["origin"].map(order.index).argsort(kind="stable")].reset_index(drop=True)
    return drawn


def _shapes(network: Network, origins: gpd.GeoDataFrame, question: Question, limit: int) -> gpd.GeoDataFrame:
    """Return the shapes of one ring."""
    if question.measure == "distance":
        return distance_map(network, origins, distance=limit, **question.options)
    return time_map(network, origins, travel_time=limit, **question.options)


def _combined(ring: gpd.GeoDataFrame, question: Question, limit: int) -> gpd.GeoDataFrame:
    """Return the shapes of one ring as one."""
    if question.combine == "union":
        shape = shapes.union(ring)
    elif question.combine == "intersection":
        shape = shapes.intersection(ring)
    else:
        shape = shapes.difference(ring.iloc[:1], ring.iloc[1:])
    is_empty = bool(shape.geometry.is_empty.iloc[0])
    return shape.assign(
        origin=question.combine, reason=_why(ring, question.combine) if is_empty else None, **{question.measure: limit}
    )


def _why(ring: gpd.GeoDataFrame, combine: str) -> str:
    """Return why a combination is empty: because of one of the shapes, or of all."""
    lost = ring[ring["reason"].notna()]
    if len(lost):
        return f"{lost['origin'].iloc[0]} {REASONS_IN_WORDS[str(lost['reason'].iloc[0])]}."
    return EMPTY_IN_WORDS[combine]


def probe(network: Network, question: Question, lng: float, lat: float) -> gpd.GeoDataFrame:
    """
    Return travel time, distance and route between each origin and a point.

    Parameters
    ----------
    network : Network
    question : Question
    lng, lat : float
        EPSG:4326.

    Returns
    -------
    GeoDataFrame
        One row per origin: ``origin``, ``travel_time`` (Int32, s), ``distance`` (Float64, m), ``reason``, ``rides``
        (what one takes at which time, "" for streets) and the line of the route. Over a window it is the quickest
        journey; with a percentile ``relied`` (Int32, s) is the time that so many percent of the departures keep to.

    Raises
    ------
    TravelTimeError
        Whatever `time_filter` and `routes` raise.
    """
    origins = table_of(question.origins)
    point = gpd.GeoSeries.from_xy([lng], [lat], index=["here"], crs="EPSG:4326")
    is_arrival = "arrival_time" in question.options
    ends = (point, origins) if is_arrival else (origins, point)
    wanted = ("transportation", "departure_time", "arrival_time", "snapping", "window")
    options = {name: question.options[name] for name in wanted if name in question.options}
    if question.uses_timetable:
        found = routes(network, *ends, **options)
        found["rides"] = [rides_in_words(route) for route in found["route"]]
    else:
        found = time_filter(
            network,
            *ends,
            travel_time=questions.MAX_TRAVEL_TIME_S,
            properties=("travel_time", "distance", "route"),
            **options,
        )
        found["rides"] = ""
    columns = ["travel_time", "distance", "reason", "rides"]
    if "percentile" in question.options:
        columns.append("relied")
        percent = question.options["percentile"]
        spread = time_filter(network, *ends, travel_time=questions.MAX_TRAVEL_TIME_S, percentiles=(percent,), **options)
        found["relied"] = spread.filter(like="travel_time_p").iloc[:, 0]
    if is_arrival:
        found["origin"] = found["destination"]
    return found[["origin", *columns, "geometry"]]


def rides_in_words(route: Route | None) -> str:
    """Return what one takes on a route and when, such as ``"walk 4 min, bus 21 at 08:12, walk 2 min"``."""
    if route is None or all(leg.ride is None for leg in route.legs):
        return ""
    told = []
    for leg in route.legs:
        if leg.ride is not None:
            line = f"{leg.mode.replace('_', ' ')} {leg.ride.line}".strip()
            told.append(f"{line} at {leg.ride.board.time:%H:%M}")
        elif leg.travel_time >= 30:
            told.append(f"{leg.mode.replace('_', ' ')} {max(round(leg.travel_time / 60), 1)} min")
    return ", ".join(told)


def remarks(drawn: gpd.GeoDataFrame) -> list[str]:
    """Return in words why shapes are empty, one sentence per origin or combination."""
    told: dict[str, str] = {}
    empty = drawn[drawn.geometry.is_empty]
    for origin, reason, limit in zip(empty["origin"], empty["reason"], empty.iloc[:, 1], strict=True):
        words = f"{origin} {REASONS_IN_WORDS[reason]}." if reason in REASONS_IN_WORDS else str(reason)
        is_time = drawn.columns[1] == "travel_time"
        short = looks.minutes_label(limit) if is_time else looks.metres_label(limit)
        told[str(origin)] = words.replace("{limit}", short)
    return list(told.values())


def code_of(question: Question) -> str:
    """
    Return the Python code that computes what the map shows, for a cell of its own.

    The code expects ``network``; it ends with ``areas``, as `areas` returns them but for the column ``reason``.
    """
    origins = question.origins
    function = "time_map" if question.measure == "travel_time" else "distance_map"
    options = "".join(f", {name}={value!r}" for name, value in question.options.items())
    lines = [
        "import geopandas as gpd",
        "import pandas as pd",
        "",
        "import traveltime_lab as tl",
        "",
        "origins = gpd.GeoSeries.from_xy(",
        f"    {[round(origin.lng, 7) for origin in origins]},",
        f"    {[round(origin.lat, 7) for origin in origins]},",
        f"    index={[origin.name for origin in origins]!r},",
        '    crs="EPSG:4326",',
        ")",
        "areas = []",
        f"for limit in {list(question.limits)}:  # {'seconds' if function == 'time_map' else 'metres'}",
        f"    ring = tl.{function}(network, origins, {question.measure}=limit{options})",
    ]
    if question.combine == "each":
        lines.append('    areas.append(ring.rename_axis("origin").reset_index())')
    else:
        arguments = "ring.iloc[:1], ring.iloc[1:]" if question.combine == "difference" else "ring"
        lines.append(f"    ring = tl.{question.combine}({arguments})")
        lines.append(f"    areas.append(ring.assign(origin={question.combine!r}, {question.measure}=limit))")
    lines += ["areas = pd.concat(areas, ignore_index=True)", "tl.plot(network, areas, origins)"]
    return "\n".join(lines)
