"""
Travel times between points, and where points meet the streets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely

from traveltime_lab import matrix, paths, transit
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.kernels import road
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network import Network
from traveltime_lab.pairs import PairIndex, chosen_pairs, metres_of, reasons_of, seconds_of
from traveltime_lab.points import Points, read_points
from traveltime_lab.questions import (
    MAX_TRAVEL_TIME_S,
    MomentLike,
    Question,
    ask,
    finite,
    one_of,
    whole,
)
from traveltime_lab.ride_routes import ride_routes
from traveltime_lab.snapping import Snaps, snapped_coordinates

PROPERTIES: Final = ("travel_time", "distance", "route", "snap_distance")
FORMS: Final = ("pairs", "matrix", "sparse")
#: Most rows of a table with a row per pair, reached or not; beyond it the sparse form is the answer.
_MOST_PAIRS = 20_000_000


def time_filter(
    network: Network,
    origins: gpd.GeoDataFrame | gpd.GeoSeries,
    destinations: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    travel_time: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    properties: Sequence[str] = ("travel_time",),
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    form: Literal["pairs", "matrix", "sparse"] = "pairs",
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return travel times from origins to destinations.

    Parameters
    ----------
    network : Network
    origins, destinations : GeoDataFrame or GeoSeries
        Points in any CRS, with unique indexes. Reprojected, never mutated.
    travel_time : int
        Limit in seconds, 1 to 14400. What takes longer is unreachable.
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        One of the two at most. Aware, ISO 8601, or naive in the network's time zone, or ``"weekday_morning"``. For
        cars it selects the congestion of that hour and weekday.
    properties : sequence of str, default ("travel_time",)
        Any of ``travel_time``, ``distance`` (of the fastest route, walks to and from the streets included),
        ``route`` (its line) and ``snap_distance``.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        All origins with all destinations, the first with the first and so on, or a table with the columns ``origin``
        and ``destination`` that hold index labels.
    form : {"pairs", "matrix", "sparse"}, default "pairs"
        A row per pair; a wide table with a row per origin and a column per destination; or a row per *reachable*
        pair without geometry, which is how large requests fit in memory.
    snapping : Snapping or mapping, optional
        Threshold, penalty and accepted roads of the snap to the streets.
    window : int, optional
        Timetable types: seconds after the departure, or before the arrival, in which one may leave or arrive as well,
        1 to 43200. The travel time is then the least of the window.
    engine : {"auto", "dijkstra", "hierarchy", "pandana"}, default "auto"
        Who computes. All give the same answers.

    Returns
    -------
    GeoDataFrame or DataFrame
        ``pairs``: ``origin`` and ``destination`` (labels), ``travel_time`` (Int32, s, NA if unreachable),
        ``distance`` (Float64, m), ``origin_snap_distance`` and ``destination_snap_distance`` (float64, m), ``reason``
        (categorical, why the pair is unreachable, NA if it is not) and the geometry: the destination, or the route
        if asked for, in EPSG:4326.
        ``matrix``: float32, NaN if unreachable, with ``origins.index`` as rows and ``destinations.index`` as columns;
        with both ``travel_time`` and ``distance`` the columns have the property as first level.
        ``sparse``: the reachable rows of ``pairs`` without ``reason`` and geometry.

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` is out of range, or the table would have more than 20 million rows.
    ModeError
        If the transportation is unknown.
    MomentError
        If a moment does not exist or is ambiguous.

    See Also
    --------
    time_map : The area instead of the times to known points.
    snap : Where points meet the streets.

    Notes
    -----
    Times are computed in whole milliseconds, compared with the limit, and only then rounded to seconds.

    Examples
    --------
    >>> times = time_filter(network, homes, shops, travel_time=1800)  # doctest: +SKIP
    """
    limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    properties = _properties(properties)
    one_of(form, "form", FORMS)
    matrix.check_engine(engine)
    question = ask(network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window)
    if question.transit is not None:
        _check_transit_table(question.transit, properties, form, window, engine)
    question = replace(question, needs_length="distance" in properties)
    starts = read_points(origins, "origins", network)
    ends = read_points(destinations, "destinations", network)
    chosen = chosen_pairs(pairs, starts, ends)
    if form == "matrix" and chosen is not None:
        msg = "form='matrix' needs all pairs; use form='pairs' or 'sparse' with pairs='aligned' or a table of pairs"
        raise InputError(msg)
    if form != "pairs" and "route" in properties:
        msg = f"form={form!r} has no room for routes; use form='pairs'"
        raise InputError(msg)
    start_snaps, end_snaps = question.snap(starts), question.snap(ends, is_origin=False)
    if form == "matrix":
        return _wide(question, starts, ends, start_snaps, end_snaps, limit, properties, engine)
    if form == "sparse":
        return _sparse(question, starts, ends, start_snaps, end_snaps, chosen, limit, properties, engine)
    n_pairs = len(starts) * len(ends) if chosen is None else chosen[0].size
    if n_pairs > _MOST_PAIRS:
        msg = (
            f"{n_pairs:,} pairs are more than a table with a row for each can hold ({_MOST_PAIRS:,}); "
            "use form='sparse', which keeps what is reachable, or form='matrix'"
        )
        raise LimitError(msg)
    origin_of, destination_of, labels = _every(question, start_snaps, end_snaps, chosen, limit, engine)
    lines = None
    if question.transit is not None and ("distance" in properties or "route" in properties):
        lines = np.full(labels.size, shapely.LineString(), dtype=object)
        for pair, route, label in ride_routes(question.transit, starts, ends, origin_of, destination_of):
            labels[pair], lines[pair] = label, route.geometry
    is_reached = labels != road.UNREACHED
    columns: dict[str, Any] = {
        "origin": starts.index.take(origin_of),
        "destination": ends.index.take(destination_of),
    }
    if "travel_time" in properties:
        columns["travel_time"] = pd.arrays.IntegerArray(seconds_of(labels), ~is_reached)
    if "distance" in properties:
        columns["distance"] = pd.arrays.FloatingArray(metres_of(labels), ~is_reached)
    if "snap_distance" in properties:
        columns["origin_snap_distance"] = finite(start_snaps.distance_m)[origin_of]
        columns["destination_snap_distance"] = finite(end_snaps.distance_m)[destination_of]
    columns["reason"] = reasons_of(question, start_snaps, end_snaps, origin_of, destination_of, is_reached)
    if "route" in properties and lines is not None:
        geometry = lines
    elif "route" in properties:
        geometry = paths.route_lines(
            network, question.graph, starts, ends, start_snaps, end_snaps, question.snapping, origin_of, destination_of,
            is_reached, limit,
        )  # fmt: skip
    else:
        geometry = ends.geometry[destination_of]
    return gpd.GeoDataFrame(columns, geometry=geometry, crs="EPSG:4326")


def _check_transit_table(
    asked: transit.TransitQuestion, properties: tuple[str, ...], form: str, window: int | None, engine: str
) -> None:
    """Raise an error for what a table of timetable trips cannot have."""
    if ("distance" in properties or "route" in properties) and (form != "pairs" or window is not None):
        msg = (
            "distances and routes of timetable trips are told one by one: ask for them with form='pairs', without a "
            "window, and for fewer pairs"
        )
        raise UnsupportedError(msg)
    if engine != "auto":
        msg = f"engine={engine!r} searches streets; transportation {asked.transportation.type!r} needs engine='auto'"
        raise InputError(msg)


def _properties(properties: Any) -> tuple[str, ...]:
    """Return the checked list of properties."""
    if isinstance(properties, str):
        properties = (properties,)
    for name in properties:
        one_of(name, "properties", PROPERTIES)
    if not tuple(properties):
        msg = f"properties is empty; name at least one of {', '.join(PROPERTIES)}"
        raise InputError(msg)
    return tuple(properties)


def _every(
    question: Question, starts: Snaps, ends: Snaps, chosen: PairIndex | None, limit: int, engine: str
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Return the positions and labels of all chosen pairs."""
    if chosen is not None and question.transit is not None:
        return *chosen, transit.pair_labels(question.transit, starts, ends, *chosen)
    if chosen is not None:
        labels = matrix.pair_labels(
            question.network,
            question.graph,
            starts,
            ends,
            question.snapping,
            *chosen,
            limit=limit,
            engine=engine,
            with_length=question.needs_length,
        )
        return *chosen, labels
    table = np.empty((len(starts), len(ends)), np.int64)
    for block in question.blocks(starts, ends, limit, engine):
        table[block.rows, block.columns] = block.labels
    origin_of = np.repeat(np.arange(len(starts)), len(ends))
    destination_of = np.tile(np.arange(len(ends)), len(starts))
    return origin_of, destination_of, table.ravel()


def _sparse(
    question: Question,
    starts: Points,
    ends: Points,
    start_snaps: Snaps,
    end_snaps: Snaps,
    chosen: PairIndex | None,
    limit: int,
    properties: tuple[str, ...],
    engine: str,
) -> pd.DataFrame:
    """
    Return the reachable pairs, by origin and destination.

    There can be a hundred million of them: blocks are cut down to 12 bytes a pair (and 8 for a distance) as they
    come, and columns are made one at a time, each from pieces that are dropped on the way.
    """
    rows: list[npt.NDArray[Any]] = []
    columns: list[npt.NDArray[Any]] = []
    seconds: list[npt.NDArray[Any]] = []
    metres: list[npt.NDArray[Any]] = []
    is_by_row = True
    if chosen is not None:
        origin_of, destination_of, labels = _every(question, start_snaps, end_snaps, chosen, limit, engine)
        kept = np.flatnonzero(labels != road.UNREACHED)
        rows, columns = [origin_of[kept]], [destination_of[kept]]
        seconds, metres = [seconds_of(labels[kept])], [metres_of(labels[kept])]
    else:
        for block in question.blocks(start_snaps, end_snaps, limit, engine):
            row, column = np.nonzero(block.labels != road.UNREACHED)
            labels = block.labels[row, column]
            is_by_row &= block.columns == slice(0, len(ends))
            rows.append((row + block.rows.start).astype(np.int32))
            columns.append((column + block.columns.start).astype(np.int32))
            seconds.append(seconds_of(labels))
            if question.needs_length:
                metres.append(metres_of(labels))
        if not is_by_row:
            # Blocks come by destination where searches begin there.
            row, column = _poured(rows), _poured(columns)
            order = np.lexsort((column, row))
            rows, columns, seconds = [row[order]], [column[order]], [_poured(seconds)[order]]
            metres = [_poured(metres)[order]] if metres else []
    table: dict[str, Any] = {}
    if "snap_distance" in properties:
        origin_distance, destination_distance = finite(start_snaps.distance_m), finite(end_snaps.distance_m)
        table["origin_snap_distance"] = _poured([origin_distance[part] for part in rows])
        table["destination_snap_distance"] = _poured([destination_distance[part] for part in columns])
    table["origin"] = _poured(rows, starts.index)
    table["destination"] = _poured(columns, ends.index)
    n_pairs = len(table["origin"])
    if "travel_time" in properties:
        table["travel_time"] = pd.arrays.IntegerArray(_poured(seconds), np.zeros(n_pairs, np.bool_))
    if "distance" in properties:
        table["distance"] = pd.arrays.FloatingArray(_poured(metres), np.zeros(n_pairs, np.bool_))
    order_of_columns = ("origin", "destination", "travel_time", "distance", *table)
    return pd.DataFrame({name: table[name] for name in order_of_columns if name in table}, copy=False)


def _poured(parts: list[npt.NDArray[Any]], index: pd.Index | None = None) -> Any:
    """Return parts one after the other, or the labels of an index at these positions; empties the list as it goes."""
    is_numeric = index is not None and isinstance(index.dtype, np.dtype) and index.dtype.kind in "iuf"
    if index is not None and not is_numeric:
        return index.take(_poured(parts))
    values = None if index is None else index.to_numpy()
    whole = np.empty(sum(part.size for part in parts), parts[0].dtype if values is None else values.dtype)
    end = whole.size
    while parts:
        part = parts.pop()
        whole[end - part.size : end] = part if values is None else values[part]
        end -= part.size
    return whole


def _wide(
    question: Question,
    starts: Points,
    ends: Points,
    start_snaps: Snaps,
    end_snaps: Snaps,
    limit: int,
    properties: tuple[str, ...],
    engine: str,
) -> pd.DataFrame:
    """Return the wide matrix of times, distances or both."""
    wanted = [name for name in properties if name != "snap_distance"]
    if len(wanted) != len(properties):
        msg = "form='matrix' holds travel_time and distance; snap() gives snap distances"
        raise InputError(msg)
    tables = {name: np.empty((len(starts), len(ends)), np.float32) for name in wanted}
    for block in question.blocks(start_snaps, end_snaps, limit, engine):
        is_reached = block.labels != road.UNREACHED
        for name, table in tables.items():
            values = seconds_of(block.labels) if name == "travel_time" else metres_of(block.labels)
            table[block.rows, block.columns] = np.where(is_reached, values, np.nan)
    frames = {
        name: pd.DataFrame(
            table, index=starts.index.rename("origin"), columns=ends.index.rename("destination"), copy=False
        )
        for name, table in tables.items()
    }
    if len(frames) == 1:
        return next(iter(frames.values()))
    return pd.concat(frames, axis=1, names=["property"])


def snap(
    network: Network,
    points: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    snapping: Snapping | Mapping[str, Any] | None = None,
) -> gpd.GeoDataFrame:
    """
    Return where points meet the streets.

    Parameters
    ----------
    network : Network
    points : GeoDataFrame or GeoSeries
        Points in any CRS, with a unique index.
    transportation : str, Transportation or mapping, default "driving"
    snapping : Snapping or mapping, optional

    Returns
    -------
    GeoDataFrame
        Indexed like `points`, in EPSG:4326: the snapped point as geometry (None where there is none),
        ``snap_distance`` (float64, m, NaN where there is none), ``way_id`` (Int64), ``name`` and ``status``
        (``snapped``, ``not_snapped`` or ``outside_network``).

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError
        As in `time_filter`.
    """
    question = ask(network, transportation, None, None, snapping)
    places = read_points(points, "points", network)
    snaps = question.snap(places)
    found = snaps.edge >= 0
    lng, lat = snapped_coordinates(network, snaps)
    geometry = np.full(len(places), None, dtype=object)
    geometry[found] = shapely.points(lng[found], lat[found])
    t = network.tables
    edge = np.where(found, snaps.edge, 0)
    status = np.array(["snapped", "not_snapped", "outside_network"], dtype=object)[snaps.status]
    return gpd.GeoDataFrame(
        {
            "snap_distance": finite(snaps.distance_m),
            "way_id": pd.arrays.IntegerArray(t.edge_way_id[edge].astype(np.int64), ~found),
            "name": np.where(found, np.array(t.names, dtype=object)[t.edge_name[edge]], ""),
            "status": status,
        },
        index=places.index,
        geometry=geometry,
        crs="EPSG:4326",
    )
