"""
The public functions: travel times between points, and the areas within reach.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely

from traveltime_lab import matrix, paths, shapes, surfaces, transit
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.interrupts import checkpoint
from traveltime_lab.kernels import road
from traveltime_lab.levels import LevelOfDetail, parse_level_of_detail
from traveltime_lab.modes import Snapping, Transportation, as_snapping, as_transportation
from traveltime_lab.moments import Moment, resolve_moments
from traveltime_lab.network import Network
from traveltime_lab.points import Points, plain, read_points
from traveltime_lab.ride_routes import ride_routes
from traveltime_lab.road_graph import Metric, RoadGraph
from traveltime_lab.snapping import OUTSIDE, SNAPPED, Snaps, snap_points, snapped_coordinates
from traveltime_lab.travel_times import EdgeField, edge_field

MomentLike: TypeAlias = dt.datetime | pd.Timestamp | np.datetime64 | str | None

#: Longest travel time in seconds and range of distances in metres. Source: contract 3.9.
MAX_TRAVEL_TIME_S: Final = 14_400
MIN_DISTANCE_M: Final = 75
MAX_DISTANCE_M: Final = 800_000
MIN_BUFFER_M: Final = 250
MAX_WINDOW_S: Final = 43_200

PROPERTIES: Final = ("travel_time", "distance", "route", "snap_distance")
FORMS: Final = ("pairs", "matrix", "sparse")

#: Why a pair has no travel time.
REASONS: Final = (
    "origin_outside_network",
    "origin_not_snapped",
    "destination_outside_network",
    "destination_not_snapped",
    "other_component",
    "over_limit",
)

#: Most rows of a table with a row per pair, reached or not; beyond it the sparse form is the answer.
_MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class _Question:
    """What every search needs, checked."""

    network: Network
    transportation: Transportation
    snapping: Snapping
    moment: Moment | None
    is_arrival: bool
    graph: RoadGraph
    transit: transit.TransitQuestion | None = None
    needs_length: bool = True

    def snap(self, points: Points, *, is_origin: bool = True) -> Snaps:
        """Snap points to the streets of the question's mode."""
        return self.snap_at(points.lng, points.lat, is_origin=is_origin)

    def snap_at(self, lng: npt.NDArray[np.float64], lat: npt.NDArray[np.float64], *, is_origin: bool = True) -> Snaps:
        """Snap coordinates to the streets on which trips leave them, or reach them."""
        if self.transit is not None:
            return self.transit.snap(lng, lat, is_origin=is_origin)
        return snap_points(self.network, lng, lat, self.transportation, self.snapping)

    @property
    def far_side(self) -> Transportation:
        """How one moves at the far end of a trip: rides end with a walk, and those of an arrival begin with one."""
        return self.transportation if self.transit is None else transit.WALKING

    def near_field(self, snaps: Snaps, limit: float) -> EdgeField:
        """Return the field of a search from, or to, one snapped point."""
        if self.transit is not None:
            wider = replace(self.transit, limit=math.ceil(limit))
            return transit.ride_field(wider, snaps)
        return edge_field(self.graph, snaps, self.snapping, limit=limit, is_backward=self.is_arrival)


def _question(
    network: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    metric: Metric = "time",
    *,
    limit: int | None = None,
    window: Any = None,
) -> _Question:
    """Check the arguments that all searches share; without a limit no trip is searched for."""
    if not isinstance(network, Network):
        msg = f"the first argument must be a Network; got {type(network).__name__}. build_network(...) makes one"
        raise InputError(msg)
    transportation = as_transportation(transportation)
    snapping = as_snapping(snapping)
    moment, is_arrival = resolve_moments(departure_time, arrival_time, network.timezone)
    if not transportation.uses_timetable:
        if window is not None:
            msg = f"window needs a timetable; transportation {transportation.type!r} is as quick at any time"
            raise InputError(msg)
        graph = network.road_graph(transportation, moment, metric=metric)
        return _Question(network, transportation, snapping, moment, is_arrival, graph)
    if metric == "distance":
        msg = f"distances along timetable trips say little; transportation {transportation.type!r} has no distance_map"
        raise UnsupportedError(msg)
    if limit is None:
        return _Question(
            network, transportation.access, snapping, moment, is_arrival, network.road_graph(transportation.access)
        )
    seconds = 0 if window is None else _whole(window, "window", 1, MAX_WINDOW_S, "seconds")
    asked = transit.transit_question(
        network, transportation, snapping, moment, is_arrival=is_arrival, limit=limit, window=seconds
    )
    return _Question(network, transportation, snapping, moment, is_arrival, asked.walking, asked)


def _whole(value: Any, name: str, least: int, most: int, unit: str) -> int:
    """Return a whole number in a range; whole floats are taken too, bools are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        msg = f"{name} must be a whole number of {unit}; got {value!r}"
        raise InputError(msg)
    if not least <= number <= most:
        msg = f"{name} must be from {least} to {most} {unit}; got {number}"
        raise LimitError(msg)
    return number


def _one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    """Return a value that must be one of a few names."""
    if value not in known:
        msg = f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}"
        raise InputError(msg)
    return str(value)


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
    limit = _whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    properties = _properties(properties)
    _one_of(form, "form", FORMS)
    matrix.check_engine(engine)
    question = _question(network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window)
    if question.transit is not None:
        _check_transit_table(question.transit, properties, form, window, engine)
    question = replace(question, needs_length="distance" in properties)
    starts = read_points(origins, "origins", network)
    ends = read_points(destinations, "destinations", network)
    chosen = _chosen_pairs(pairs, starts, ends)
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
        columns["travel_time"] = pd.arrays.IntegerArray(_seconds(labels), ~is_reached)
    if "distance" in properties:
        columns["distance"] = pd.arrays.FloatingArray(_metres(labels), ~is_reached)
    if "snap_distance" in properties:
        columns["origin_snap_distance"] = _finite(start_snaps.distance_m)[origin_of]
        columns["destination_snap_distance"] = _finite(end_snaps.distance_m)[destination_of]
    columns["reason"] = _reasons(question, start_snaps, end_snaps, origin_of, destination_of, is_reached)
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
        _one_of(name, "properties", PROPERTIES)
    if not tuple(properties):
        msg = f"properties is empty; name at least one of {', '.join(PROPERTIES)}"
        raise InputError(msg)
    return tuple(properties)


PairIndex = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def _chosen_pairs(pairs: Any, starts: Points, ends: Points) -> PairIndex | None:
    """Return the positions of chosen pairs, None for all."""
    if isinstance(pairs, pd.DataFrame):
        missing = {"origin", "destination"} - set(pairs.columns)
        if missing:
            msg = f"pairs lacks the column {sorted(missing)[0]!r}; it needs 'origin' and 'destination'"
            raise InputError(msg)
        if not len(pairs):
            msg = "pairs is empty; pass at least one pair"
            raise InputError(msg)
        found = []
        for column, points in (("origin", starts), ("destination", ends)):
            position = points.index.get_indexer(pd.Index(pairs[column]))
            if (position < 0).any():
                label = pairs[column].iloc[int((position < 0).argmax())]
                msg = f"pairs names {column} {plain(label)!r}, which is not in the index of {column}s"
                raise InputError(msg)
            found.append(position)
        return found[0], found[1]
    if isinstance(pairs, str) and pairs == "all":
        return None
    if isinstance(pairs, str) and pairs == "aligned":
        if len(starts) != len(ends):
            msg = f"pairs='aligned' needs as many origins as destinations; got {len(starts)} and {len(ends)}"
            raise InputError(msg)
        return np.arange(len(starts)), np.arange(len(ends))
    msg = f"pairs must be 'all', 'aligned' or a DataFrame with the columns origin and destination; got {pairs!r}"
    raise InputError(msg)


def _seconds(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return whole seconds of labels, rounded half up; 0 where unreached."""
    milliseconds = np.where(labels == road.UNREACHED, 0, labels >> road.TIME_SHIFT)
    return ((milliseconds + 500) // 1000).astype(np.int32)


def _metres(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the metres of labels; 0 where unreached."""
    return np.where(labels == road.UNREACHED, 0.0, (labels & road.LENGTH_MASK) / 100.0)


def _finite(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values with NaN for inf."""
    return np.where(np.isfinite(values), values, np.nan)


def _every(
    question: _Question, starts: Snaps, ends: Snaps, chosen: PairIndex | None, limit: int, engine: str
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
    for block in _blocks(question, starts, ends, limit, engine):
        table[block.rows, block.columns] = block.labels
    origin_of = np.repeat(np.arange(len(starts)), len(ends))
    destination_of = np.tile(np.arange(len(ends)), len(starts))
    return origin_of, destination_of, table.ravel()


def _blocks(question: _Question, starts: Snaps, ends: Snaps, limit: int, engine: str) -> Any:
    """Return the blocks of the whole matrix."""
    if question.transit is not None:
        return transit.label_blocks(replace(question.transit, limit=limit), starts, ends)
    return matrix.label_blocks(
        question.network, question.graph, starts, ends, question.snapping,
        limit=limit, engine=engine, with_length=question.needs_length,
    )  # fmt: skip


def _sparse(
    question: _Question,
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
    come, and columns are put together one at a time, each from pieces that nobody else holds any more.
    """
    pieces: list[list[npt.NDArray[Any]]] = [[], [], [], []]
    is_by_row = True
    if chosen is not None:
        origin_of, destination_of, labels = _every(question, start_snaps, end_snaps, chosen, limit, engine)
        kept = np.flatnonzero(labels != road.UNREACHED)
        pieces = [[origin_of[kept]], [destination_of[kept]], [_seconds(labels[kept])], [_metres(labels[kept])]]
    else:
        for block in _blocks(question, start_snaps, end_snaps, limit, engine):
            row, column = np.nonzero(block.labels != road.UNREACHED)
            labels = block.labels[row, column]
            is_by_row &= block.columns == slice(0, len(ends))
            pieces[0].append((row + block.rows.start).astype(np.int32))
            pieces[1].append((column + block.columns.start).astype(np.int32))
            pieces[2].append(_seconds(labels))
            if question.needs_length:
                pieces[3].append(_metres(labels))

    def joined(k: int) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = pieces[k][0] if len(pieces[k]) == 1 else np.concatenate(pieces[k])
        pieces[k].clear()
        return whole

    row, column = joined(0), joined(1)
    # Blocks come by origin, or by destination where searches begin there.
    order = slice(None) if is_by_row else np.lexsort((column, row))
    row, column = row[order], column[order]
    columns: dict[str, Any] = {"origin": starts.index.take(row), "destination": ends.index.take(column)}
    if "travel_time" in properties:
        columns["travel_time"] = pd.arrays.IntegerArray(joined(2)[order], np.zeros(row.size, np.bool_))
    if "distance" in properties:
        columns["distance"] = pd.arrays.FloatingArray(joined(3)[order], np.zeros(row.size, np.bool_))
    if "snap_distance" in properties:
        columns["origin_snap_distance"] = _finite(start_snaps.distance_m)[row]
        columns["destination_snap_distance"] = _finite(end_snaps.distance_m)[column]
    return pd.DataFrame(columns, copy=False)


def _wide(
    question: _Question,
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
    for block in _blocks(question, start_snaps, end_snaps, limit, engine):
        is_reached = block.labels != road.UNREACHED
        for name, table in tables.items():
            values = _seconds(block.labels) if name == "travel_time" else _metres(block.labels)
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


def _reasons(
    question: _Question,
    starts: Snaps,
    ends: Snaps,
    origin_of: npt.NDArray[np.intp],
    destination_of: npt.NDArray[np.intp],
    is_reached: npt.NDArray[np.bool_],
) -> pd.Categorical:
    """Return why each pair is unreachable; NA where it is not."""
    codes = np.full(origin_of.size, -1, np.int8)
    lost = np.flatnonzero(~is_reached)
    if lost.size:
        a, b = origin_of[lost], destination_of[lost]
        topology = question.graph.topology
        why = np.full(lost.size, REASONS.index("over_limit"), np.int8)
        if question.transit is None:
            part_a, part_b = _component(topology, starts.edge)[a], _component(topology, ends.edge)[b]
            stuck = topology.can_leave[starts.edge[a]] & ~topology.can_arrive[ends.edge[b]]
            why[(part_a != part_b) | stuck] = REASONS.index("other_component")
        why[ends.status[b] != SNAPPED] = REASONS.index("destination_not_snapped")
        why[ends.status[b] == OUTSIDE] = REASONS.index("destination_outside_network")
        why[starts.status[a] != SNAPPED] = REASONS.index("origin_not_snapped")
        why[starts.status[a] == OUTSIDE] = REASONS.index("origin_outside_network")
        codes[lost] = why
    return pd.Categorical.from_codes(codes, categories=list(REASONS))


def _component(topology: Any, edge: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the connected part that each edge is in, -1 for no edge."""
    part = np.full(edge.size, -1, np.int32)
    found = np.flatnonzero(edge >= 0)
    side = 2 * edge[found].astype(np.int64)
    side += ~topology.is_open[side]
    part[found] = topology.component[topology.entry_states[topology.entry_indptr[side]]]
    return part


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
    question = _question(network, transportation, None, None, snapping)
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
            "snap_distance": _finite(snaps.distance_m),
            "way_id": pd.arrays.IntegerArray(t.edge_way_id[edge].astype(np.int64), ~found),
            "name": np.where(found, np.array(t.names, dtype=object)[t.edge_name[edge]], ""),
            "status": status,
        },
        index=places.index,
        geometry=geometry,
        crs="EPSG:4326",
    )


def time_map(
    network: Network,
    origins: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    travel_time: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = None,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
) -> gpd.GeoDataFrame:
    """
    Return the area within reach of each origin in a travel time.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame or GeoSeries
        Points in any CRS, with a unique index. With `arrival_time` they are where trips end.
    travel_time : int
        Limit in seconds, 1 to 14400.
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`.
    level_of_detail : str, int or mapping, optional
        ``"lowest"`` (default) to ``"highest"``, a number from -20 to 2, or the contract's object, which also knows
        ``coarse_grid``. Lowered silently for long travel times, as the contract says.
    no_holes : bool, default False
        Whether to fill holes.
    polygons_filter : int or mapping, optional
        Keep only so many of the largest polygons (the contract's ``{"limit": n}`` or the number).
    render_mode : {"approximate_time_filter", "road_buffering"}
        The area where `time_filter` says yes, or the reached roads widened by `buffer_distance`.
    buffer_distance : int, default 1000
        Metres that the shape may extend from a road, at least 250.
    remove_water_bodies : bool, default True
        Whether to cut out the sea, lakes and wide rivers.
    snapping : Snapping or mapping, optional
    window : int, optional
        As in `time_filter`: the area is that of all trips of the window.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins` and in their order, EPSG:4326: ``travel_time`` (int32, s), ``snap_distance`` (float64,
        m, NaN if not snapped), ``reason`` (why the shape is empty, NA if it is not) and ``geometry``: a valid
        MultiPolygon, exterior rings counter-clockwise, empty if the origin has no street.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`.

    See Also
    --------
    time_filter : Travel times to known points.
    union, intersection, difference : Combine shapes.
    shape_accuracy : How well a shape agrees with `time_filter`.

    Notes
    -----
    The shape is the contour of the travel-time surface: at the centres of a fixed grid of cells the surface has the
    value that `time_filter` would give for that point.

    Examples
    --------
    >>> areas = time_map(network, homes, travel_time=900, transportation="walking")  # doctest: +SKIP
    """
    limit = _whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
    question = _question(network, transportation, departure_time, arrival_time, snapping, limit=limit, window=window)
    detail = parse_level_of_detail(level_of_detail).downgraded(limit)
    style = _style(detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies)
    return _shapes(question, origins, limit, style, "travel_time")


def distance_map(
    network: Network,
    origins: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    distance: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = None,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
) -> gpd.GeoDataFrame:
    """
    Return the area within a distance of each origin along the streets.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame or GeoSeries
        Points in any CRS, with a unique index.
    distance : int
        Limit in metres of the *shortest* route, 75 to 800000; walks to and from the streets count.
    transportation, departure_time, arrival_time, level_of_detail, no_holes, polygons_filter, render_mode, \
buffer_distance, remove_water_bodies, snapping
        As in `time_map`. Moments only tell departures from arrivals: distances do not depend on the hour.

    Returns
    -------
    GeoDataFrame
        As from `time_map`, with the column ``distance`` (int32, m) instead of ``travel_time``.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_map`.
    """
    limit = _whole(distance, "distance", MIN_DISTANCE_M, MAX_DISTANCE_M, "metres")
    question = _question(network, transportation, departure_time, arrival_time, snapping, "distance")
    detail = parse_level_of_detail(level_of_detail)
    style = _style(detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies)
    return _shapes(question, origins, limit, style, "distance")


@dataclass(frozen=True)
class _Style:
    """How shapes are drawn, checked."""

    detail: LevelOfDetail
    no_holes: bool
    n_polygons: int | None
    is_road_buffer: bool
    buffer_m: int
    no_water: bool


def _style(
    detail: LevelOfDetail,
    no_holes: Any,
    polygons_filter: Any,
    render_mode: Any,
    buffer_distance: Any,
    remove_water_bodies: Any,
) -> _Style:
    """Check the options of shapes."""
    for name, value in (("no_holes", no_holes), ("remove_water_bodies", remove_water_bodies)):
        if not isinstance(value, bool | np.bool_):
            msg = f"{name} must be True or False; got {value!r}"
            raise InputError(msg)
    if isinstance(polygons_filter, Mapping):
        unknown = set(polygons_filter) - {"limit"}
        if unknown or "limit" not in polygons_filter:
            msg = f"polygons_filter must be {{'limit': n}} or a number; got {dict(polygons_filter)!r}"
            raise InputError(msg)
        polygons_filter = polygons_filter["limit"]
    n_polygons = None
    if polygons_filter is not None:
        n_polygons = _whole(polygons_filter, "polygons_filter", 1, 1_000_000, "polygons")
    _one_of(render_mode, "render_mode", ("approximate_time_filter", "road_buffering"))
    return _Style(
        detail=detail,
        no_holes=bool(no_holes),
        n_polygons=n_polygons,
        is_road_buffer=render_mode == "road_buffering",
        buffer_m=_whole(buffer_distance, "buffer_distance", MIN_BUFFER_M, 100_000, "metres"),
        no_water=bool(remove_water_bodies),
    )


def _shapes(question: _Question, origins: Any, limit: int, style: _Style, column: str) -> gpd.GeoDataFrame:
    """Return one shape per origin."""
    places = read_points(origins, "origins", question.network)
    snaps = question.snap(places, is_origin=not question.is_arrival)
    geometry = np.array([_shape(question, snaps, i, places, limit, style) for i in range(len(places))], dtype=object)
    codes = np.where(snaps.status == OUTSIDE, 0, np.where(snaps.status == SNAPPED, 2, 1))
    codes[(codes == 2) & ~shapely.is_empty(geometry)] = -1
    reasons = ["origin_outside_network", "origin_not_snapped", "over_limit"]
    return gpd.GeoDataFrame(
        {
            column: np.full(len(places), limit, np.int32),
            "snap_distance": _finite(snaps.distance_m),
            "reason": pd.Categorical.from_codes(codes, categories=reasons),
        },
        index=places.index,
        geometry=geometry,
        crs="EPSG:4326",
    )


def _shape(
    question: _Question, snaps: Snaps, i: int, places: Points, limit: int, style: _Style
) -> shapely.MultiPolygon:
    """Return the shape of one origin."""
    checkpoint()
    if snaps.status[i] != SNAPPED:
        return shapely.MultiPolygon()
    network, snapping = question.network, question.snapping
    family = question.far_side.base
    cell_m = style.detail.cell_m(family)
    # A cell farther than the limit, so that the contour lies between true values.
    field = question.near_field(snaps.take(np.array([i])), limit + cell_m)
    x, y = network.frame.to_xy(places.lng[i : i + 1], places.lat[i : i + 1])
    here = float(x[0]), float(y[0])
    radius = surfaces.origin_radius(field, snapping, cell_m, limit)
    if style.is_road_buffer:
        pieces = surfaces.reached_pieces(network, field, limit)
        if not pieces.size:
            return shapely.MultiPolygon()
        cell_m = min(cell_m, style.buffer_m / 5.0)
        drawn = shapes.road_buffer_surface(pieces, float(style.buffer_m), cell_m=cell_m, frame=network.frame)
        shape = shapes.contour_polygons(drawn, float(style.buffer_m), steepest=cell_m)
    else:
        drawn = surfaces.surface(
            network,
            question.far_side,
            snapping,
            field,
            cell_m=cell_m,
            buffer_m=float(style.buffer_m),
            limit=float(limit),
        )
        if style.detail.square_size_m is not None:
            shape = shapes.coarse_grid_polygons(
                drawn, float(limit), float(style.detail.square_size_m), origin_xy=here if radius > 0.0 else None
            )
        else:
            shape = shapes.contour_polygons(drawn, float(limit))
            if radius > 0.0:
                shape = shapes.include_point(shape, *here, radius)
    if style.no_water:
        shape = network.water.subtract(shape)
    if style.no_holes:
        shape = shapes.fill_holes(shape)
    if style.n_polygons is not None:
        shape = shapes.largest_polygons(shape, style.n_polygons, frame=network.frame)
    return shapes.to_lnglat(shape, network.frame)


def shape_accuracy(
    network: Network,
    areas: gpd.GeoDataFrame,
    origins: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    n_points: int = 2000,
    seed: int = 0,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    remove_water_bodies: bool = True,
    window: int | None = None,
) -> pd.Series:
    """
    Return how often shapes and `time_filter` agree about random points.

    Parameters
    ----------
    network : Network
    areas : GeoDataFrame
        From `time_map` (or `distance_map`) of `origins`.
    origins : GeoDataFrame or GeoSeries
        What the shapes were made for.
    n_points : int, default 2000
        Points per shape, uniform in 1.3 times its box.
    seed : int, default 0
        Of the random points.
    transportation, departure_time, arrival_time, snapping, window
        As the shapes were made.
    remove_water_bodies : bool, default True
        As the shapes were made: points on removed water are left out, because there a shape says no on purpose.

    Returns
    -------
    Series
        Share of agreeing points from 0 to 1 by the index of `areas`; NaN for empty shapes.

    Raises
    ------
    InputError
        If `areas` is not a result of `time_map` or `distance_map`, or does not fit `origins`.
    """
    column = next((name for name in ("travel_time", "distance") if name in getattr(areas, "columns", ())), None)
    if column is None or not isinstance(areas, gpd.GeoDataFrame):
        msg = "areas must be a GeoDataFrame from time_map or distance_map"
        raise InputError(msg)
    n_points = _whole(n_points, "n_points", 1, 10_000_000, "points")
    metric: Metric = "distance" if column == "distance" else "time"
    largest = int(areas[column].max())
    question = _question(
        network, transportation, departure_time, arrival_time, snapping, metric, limit=largest, window=window
    )
    places = read_points(origins, "origins", network)
    if not areas.index.equals(places.index):
        msg = "areas and origins must have the same index; pass the origins that the areas were made for"
        raise InputError(msg)
    snaps = question.snap(places, is_origin=not question.is_arrival)
    rng = np.random.default_rng(seed)
    shares = np.full(len(places), np.nan)
    for i, (shape, limit) in enumerate(zip(areas.geometry, areas[column], strict=True)):
        if shape.is_empty:
            continue
        west, south, east, north = shape.bounds
        middle, half = np.array([west + east, south + north]) / 2.0, np.array([east - west, north - south]) * 0.65
        lng, lat = (middle + rng.uniform(-1.0, 1.0, (n_points, 2)) * half).T
        lat = np.clip(lat, -90.0, 90.0)
        if remove_water_bodies:
            dry = ~network.water.contains(*network.frame.to_xy(lng, lat))
            lng, lat = lng[dry], lat[dry]
        if not lng.size:
            continue
        targets = question.snap_at(lng, lat, is_origin=question.is_arrival)
        here = snaps.take(np.array([i]))
        starts, ends = (targets, here) if question.is_arrival else (here, targets)
        labels = np.concatenate([block.labels.ravel() for block in _blocks(question, starts, ends, limit, "dijkstra")])
        shares[i] = float(((labels != road.UNREACHED) == shapely.contains_xy(shape, lng, lat)).mean())
    return pd.Series(shares, index=areas.index, name="accuracy")
