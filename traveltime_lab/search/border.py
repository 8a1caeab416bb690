"""
Flag the answers that a larger extract may change, as they reach the border of the streets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array
from traveltime_lab.errors import BorderWarning
from traveltime_lab.rounding import most_s
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.search.query import Query
from traveltime_lab.streets import border
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import SNAPPED, Snaps
from traveltime_lab.streets.timed import TimedGraph
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
    after_ms = transit_border.after_stops(query.transit, is_arrival=query.is_arrival)
    ridden = np.array([transit_border.least_of(field.quickest.stop_ms, after_ms)], np.int32)
    return float(transit_border.of_search_side(query.transit, here, ridden)[0])


def of_origins(query: Query, here: Snaps, to_border: Int32Array | None) -> FloatArray:
    """
    Return a lower bound of the way from origins to the border with a timetable.

    Parameters
    ----------
    query : Query
        A query with a timetable.
    here : Snaps
    to_border : int32 array of shape (n,), ms
        Those of `traveltime_lab.streets.matrix.Block`; None in an arrival search, in which vehicles are those of any
        moment.

    Returns
    -------
    float64 array of shape (n,), s
    """
    assert query.transit is not None
    if to_border is None:
        found = transit_border.of_egress_side(query.transit, here)
        found[_are_uncertain(query, here, is_origin=True) & np.isfinite(found)] = 0.0
        return found
    return transit_border.of_search_side(query.transit, here, to_border)


def _graph(query: Query) -> RoadGraph:
    """Return a graph whose labels are in the unit of the limits, and no larger than those of the search."""
    if isinstance(query.graph, TimedGraph):
        # No route is faster than at the highest speeds of the week.
        fastest = replace(query.transportation, time_dependent=False, traffic_model="off_peak")
        return query.network.road_graph(fastest, query.moment)
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


def _both(query: Query, pairs: Pairs, to_border: Int32Array | None) -> tuple[FloatArray, FloatArray]:
    """
    Return the ways from origins to the border, and from there to destinations.

    They say nothing about points whose nearest street may be missing; see `_are_uncertain`.
    """
    if query.transit is None:
        graph = _graph(query)
        leave, enter = (
            border.times_to_border(
                query.network.streets, graph, query.transportation, query.snapping, is_arrival=is_arrival
            ).at(graph, snaps, query.snapping)
            for snaps, is_arrival in ((pairs.starts, False), (pairs.ends, True))
        )
        return leave, enter
    assert to_border is not None
    near, far = (pairs.ends, pairs.starts) if query.is_arrival else (pairs.starts, pairs.ends)
    here = transit_border.of_search_side(query.transit, near, to_border)
    there = transit_border.of_egress_side(query.transit, far)
    return (there, here) if query.is_arrival else (here, there)


def of_pairs(query: Query, pairs: Pairs, longest: FloatArray, to_border: Int32Array | None) -> BoolArray:
    """
    Return whether a way across the border may be no longer than the longest that changes the answer of each pair.

    Parameters
    ----------
    query : Query
        A query to a network whose border is known.
    pairs : Pairs
    longest : float64 array of shape (n_pairs,)
        Its travel time, or its limit if there is none; seconds, or metres in a graph of distances.
    to_border : int32 array, optional
        With a timetable: see `traveltime_lab.streets.matrix.Block`, of all points of the search side.

    Returns
    -------
    bool array of shape (n_pairs,)
    """
    leave, enter = _both(query, pairs, to_border)
    found: BoolArray = leave[pairs.origin_of] + enter[pairs.destination_of] <= longest
    # The nearest street of such points may be missing, whatever the way between them.
    for snaps, rows, is_origin in ((pairs.starts, pairs.origin_of, True), (pairs.ends, pairs.destination_of, False)):
        found |= _are_uncertain(query, snaps, is_origin=is_origin)[rows]
    return found


def _are_uncertain(query: Query, snaps: Snaps, *, is_origin: bool) -> BoolArray:
    """Return which points may have another street in a larger extract."""
    streets, snapping = query.network.streets, query.snapping
    transit = query.transit
    if transit is None:
        modes = [(_graph(query), query.transportation, snaps)]
    else:
        modes = [(transit.walking, transit.transportation.egress, transit.on_foot(snaps, is_origin=is_origin))]
        if is_origin and not transit.is_walked_to:
            modes.append((transit.access_graph(), transit.transportation.access, snaps))
    found = np.zeros(len(snaps), np.bool_)
    for graph, means, here in modes:
        ways = border.times_to_border(streets, graph, means, snapping, is_arrival=False)
        found |= border.are_uncertain(streets, ways, here, snapping)
    return found


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
