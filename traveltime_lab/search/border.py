"""
Flag the answers that a larger extract may change, as they reach the border of the streets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray
from traveltime_lab.errors import BorderWarning
from traveltime_lab.rounding import most_s
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.search.query import Query
from traveltime_lab.streets import border
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import primary
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import SNAPPED, Snaps
from traveltime_lab.surfaces.field import Field
from traveltime_lab.transit import border as transit_border
from traveltime_lab.transit.field import TransitField

#: Column of results.
COLUMN: Final = "reaches_border"


def is_known(query: Query) -> bool:
    """Return whether the border of the network is known."""
    return border.is_known(query.network.streets)


def of_streets(query: Query, here: Snaps, *, is_arrival: bool | None = None) -> FloatArray:
    """
    Return a lower bound of the way between points and the border of the streets.

    Parameters
    ----------
    query : Query
    here : Snaps
        Points of the search side.
    is_arrival : bool, optional
        True for ways from the border, False for ways there; by default as the query searches.

    Returns
    -------
    float64 array of shape (n,)
        Seconds, or metres if the limits of the query are metres; inf with a timetable (`of_field`), if the border is
        not known, and for points without a street, whose answers are empty.
    """
    if query.transit is not None or not is_known(query):
        return np.full(len(here), np.inf)
    if is_arrival is None:
        is_arrival = query.is_arrival
    found = _from_points(query, _graph(query), here, is_arrival=is_arrival)
    own = np.flatnonzero(here.on_islands())
    if own.size:
        island = here.at_islands(own)
        found[own] = np.minimum(found[own], _from_points(query, _graph(query), island, is_arrival=is_arrival))
    found[here.status != SNAPPED] = np.inf
    return found


def of_field(query: Query, here: Snaps, field: Field) -> float:
    """Return the same for one point with a timetable, given its travel times; inf without a timetable."""
    if query.transit is None or not is_known(query):
        return float(np.inf)
    assert isinstance(field, TransitField)
    return transit_border.from_point(query.transit, here, field)


def _graph(query: Query) -> RoadGraph:
    """Return the graph whose labels are in the unit of the limits."""
    if not query.is_length:
        return query.graph
    # No route to the border is shorter than the shortest.
    return query.network.road_graph(query.transportation, query.moment, metric="distance")


def _from_points(query: Query, graph: RoadGraph, snaps: Snaps, *, is_arrival: bool) -> FloatArray:
    streets = query.network.streets
    return border.from_points(streets, graph, query.transportation, snaps, query.snapping, is_arrival=is_arrival)


def within(query: Query, way: FloatArray, limits: Sequence[int], more: float = 0.0) -> BoolArray:
    """
    Return whether the border is within each limit of each point, given `of_streets`; shape (n, n_limits).

    `more` is how far values beyond the limit have an effect on the answer.
    """
    levels = more + np.array([float(limit) if query.is_in_metres else most_s(limit) for limit in limits])
    found: BoolArray = way[:, None] <= levels
    return found


def _both(query: Query, starts: Snaps, ends: Snaps) -> tuple[FloatArray, FloatArray]:
    """Return the ways from origins to the border, and from there to destinations."""
    return (
        _from_points(query, query.graph, starts, is_arrival=False),
        _from_points(query, query.graph, ends, is_arrival=True),
    )


def of_pairs(query: Query, pairs: Pairs, labels: AnyArray, is_reached: BoolArray) -> pd.arrays.BooleanArray:
    """
    Return whether a way across the border may be faster than that of each pair, or the only one within the limit.

    Parameters
    ----------
    query : Query
        A query without a timetable.
    pairs : Pairs
    labels : int64 array of shape (n_pairs,)
    is_reached : bool array of shape (n_pairs,)

    Returns
    -------
    boolean array of shape (n_pairs,)
        NA if the border of the network is not known.
    """
    if not is_known(query):
        return pd.array([None] * is_reached.size, dtype="boolean")
    streets, graph = query.network.streets, query.graph
    leave, enter = _both(query, pairs.starts, pairs.ends)
    unit = 100.0 if graph.metric == "distance" else 1000.0
    limit = float(query.limit) if query.is_in_metres else most_s(query.limit)
    longest = np.where(is_reached, primary(labels) / unit, limit)
    found: BoolArray = leave[pairs.origin_of] + enter[pairs.destination_of] <= longest
    # The nearest street of such points may be missing, whatever the way between them.
    ways = border.times_to_border(streets, graph, query.transportation, query.snapping, is_arrival=False)
    for snaps, rows in ((pairs.starts, pairs.origin_of), (pairs.ends, pairs.destination_of)):
        found |= border.are_uncertain(streets, ways, snaps, query.snapping)[rows]
    return pd.arrays.BooleanArray(found, np.zeros(found.size, np.bool_))


def of_areas(
    query: Query, here: Snaps, way: FloatArray, limits: Sequence[int], shapes: AnyArray, more: float
) -> BoolArray | None:
    """
    Return which areas reach the border, and warn of these.

    Parameters
    ----------
    query : Query
    here : Snaps
        Origins.
    way, limits, more
        As in `within`.
    shapes : object array of shape (n_origins, n_limits)

    Returns
    -------
    bool array of shape (n_origins, n_limits), optional
        None if the border of the network is not known.
    """
    if not is_known(query):
        return None
    flagged = within(query, way, limits, more)
    _warn_of_areas(query, here, flagged, shapes)
    return flagged


def _warn_of_areas(query: Query, here: Snaps, is_flagged: BoolArray, shapes: AnyArray) -> None:
    """Warn of areas that reach the border, and say how much larger the extract should be."""
    rows = np.flatnonzero(is_flagged.any(axis=1))
    if rows.size:
        some = np.where(is_flagged[rows], shapes[rows], shapely.MultiPolygon())
        number, total = int(is_flagged.sum()), is_flagged.size
        _warn(query, number, total, "area", "areas", _beyond_km(query, here.take(rows), some))


def warn_of_origins(query: Query, is_flagged: BoolArray) -> None:
    """Warn of the places in reach of origins (n_origins, n_limits) that extend to the border."""
    if is_flagged.any():
        number, total = int(is_flagged.any(axis=1).sum()), len(is_flagged)
        _warn(query, number, total, "area in reach", "areas in reach", None)


def _warn(query: Query, number: int, total: int, one: str, several: str, km: int | None) -> None:
    begin = f"the {one} extends" if total == 1 else f"{number:,} of {total:,} {several} extend"
    larger = "a larger extract" if km is None else f"an extract that is about {km} km larger on each side"
    msg = (
        f"{begin} to the border of the streets{_where(query)}, and what lies beyond it is missing: "
        f"build the network from {larger}"
    )
    warn(msg, BorderWarning)


def _where(query: Query) -> str:
    """Return how the border is known, in words."""
    extent = query.network.tables.extent
    return "" if extent is None else f" ({extent.in_words})"


def _beyond_km(query: Query, here: Snaps, shapes: AnyArray) -> int:
    """Return how many kilometres areas reach in any direction, less those from their origin to the border."""
    frame, the_border = query.network.frame, border.local_border(query.network.streets)
    west, south, east, north = shapely.bounds(shapes).reshape(len(here), -1, 4).transpose(2, 0, 1)
    x, y = (values[:, None] for values in frame.to_xy(here.lng, here.lat))
    (x_west, y_south), (x_east, y_north) = frame.to_xy(west, south), frame.to_xy(east, north)
    reach = np.fmax(np.fmax(x - x_west, x_east - x), np.fmax(y - y_south, y_north - y))
    gap = np.zeros(len(here))
    if the_border is not None:
        gap = the_border.gap_m(here.lng, here.lat, math.inf)
    beyond = np.nan_to_num(reach - gap[:, None], nan=0.0)
    return max(1, math.ceil(float(beyond.max()) / 1000.0))
