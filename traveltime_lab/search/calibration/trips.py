"""
Measured trips, and the seconds that their routes spend on each class of street.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
from geopandas.array import GeometryDtype

from traveltime_lab._arrays import FloatArray, IndexArray
from traveltime_lab.errors import InputError
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.modes.one_moment import of_one_moment
from traveltime_lab.moments import resolve_moment
from traveltime_lab.network.network import Network
from traveltime_lab.network.speeds import tables_with_factors
from traveltime_lab.points import Points, plain, read_points
from traveltime_lab.search.query import Query, ask
from traveltime_lab.streets.graph import weigh
from traveltime_lab.streets.labels import ms
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import paths
from traveltime_lab.streets.traffic import Traffic, traffic_of


class Measured(NamedTuple):
    """
    A valid table of measured trips.

    Attributes
    ----------
    labels : Index
    starts, ends : Points
    seconds : float64 array of shape (n,)
    moments : list
        Moments of departure as given; None for trips without one.
    """

    labels: pd.Index
    starts: Points
    ends: Points
    seconds: FloatArray
    moments: list[Any]


@dataclass(frozen=True)
class Conditions:
    """A query at a moment, and the traffic of that moment; trips with the same ones share a search graph."""

    query: Query
    traffic: Traffic


@dataclass(frozen=True)
class Trips:
    """
    Measured trips.

    Attributes
    ----------
    network : Network
    pairs : Pairs
        Distinct origins and destinations.
    conditions : list of Conditions
    condition_of : intp array of shape (n,)
    hour : int64 array of shape (n,)
        Hour of departure in the time zone of the network, -1 without a moment.
    seconds : float64 array of shape (n,)
        Measured travel times.
    classes : list of str
        Classes of street of the network, without ferries.
    """

    network: Network
    pairs: Pairs
    conditions: list[Conditions]
    condition_of: IndexArray
    hour: IndexArray
    seconds: FloatArray
    classes: list[str]

    def __len__(self) -> int:
        """Return the number of trips."""
        return self.seconds.size


@dataclass(frozen=True)
class Routed:
    """
    Trips on their fastest routes.

    Attributes
    ----------
    seconds : float64 array of shape (n,)
        Travel times; NaN where there is no route.
    by_class : float64 array of shape (n, n_classes)
        Seconds along the streets of each class. The rest of the time does not depend on their speeds: connectors,
        turns, signals and ferries.
    """

    seconds: FloatArray
    by_class: FloatArray


def street_query(network: Any, transportation: Any, snapping: Any) -> Query:
    """Validate network and options; see `traveltime_lab.search.calibration.calibrate.calibrate_speeds`."""
    query = ask(network, transportation, None, None, snapping)
    if of_one_moment(transportation, "a calibration").uses_timetable:
        msg = "speeds are those of streets: transportation must be walking, cycling or driving, with or without ferry"
        raise InputError(msg)
    return query


def snapped_trips(network: Network, measured: Measured, query: Query) -> Trips:
    """Snap measured trips."""
    _, starts, ends, seconds, moments = measured
    first, origin_of = _distinct(starts)
    start_snaps = query.snap_at(starts.lng[first], starts.lat[first])
    first, destination_of = _distinct(ends)
    end_snaps = query.snap_at(ends.lng[first], ends.lat[first], is_origin=False)
    conditions, condition_of, hour = _conditions(query, moments)
    uses = network.tables.uses
    classes = sorted({str(name) for name in uses["highway"][~uses["is_ferry"]]})
    pairs = Pairs(start_snaps, end_snaps, (origin_of, destination_of))
    return Trips(network, pairs, conditions, condition_of, hour, seconds, classes)


def read_trips(network: Network, observed: Any) -> Measured:
    """Validate a table of measured trips; see `traveltime_lab.search.calibration.calibrate.calibrate_speeds`."""
    if not isinstance(observed, pd.DataFrame):
        msg = (
            "observed must be a DataFrame with the columns origin and destination (points), travel_time (seconds) and, "
            f"if there are dates, departure_time; got {type(observed).__name__}"
        )
        raise InputError(msg)
    missing = [name for name in ("origin", "destination", "travel_time") if name not in observed.columns]
    if missing or not observed.columns.is_unique:
        msg = (
            f"observed needs the columns origin, destination and travel_time, each once; it has "
            f"{', '.join(map(repr, observed.columns)) or 'none'}"
        )
        raise InputError(msg)
    table = observed.reset_index(drop=True)
    ends = []
    for name in ("origin", "destination"):
        column = table[name]
        # A column of a DataFrame that is no GeoDataFrame has geometries and a CRS, but is no GeoSeries.
        points = gpd.GeoSeries(column) if isinstance(column.dtype, GeometryDtype) else list(column)
        ends.append(read_points(points, f"observed[{name!r}]", network.bounds))
    given = table["travel_time"]
    if pd.api.types.is_timedelta64_dtype(given.dtype):
        given = given.dt.total_seconds()
    if pd.api.types.is_bool_dtype(given.dtype):
        raise InputError("observed['travel_time'] must hold seconds; got True and False")
    seconds = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~((seconds > 0.0) & (seconds <= MAX_ROUTE_TIME_S))
    if wrong.any():
        at = int(wrong.argmax())
        msg = (
            f"observed has the travel_time {plain(table['travel_time'].iloc[at])!r} at {plain(observed.index[at])!r}; "
            f"times are seconds above 0 and at most {MAX_ROUTE_TIME_S:,}"
        )
        raise InputError(msg)
    moments = list(table["departure_time"]) if "departure_time" in table.columns else [None] * len(table)
    return Measured(observed.index, ends[0], ends[1], seconds, moments)


def _distinct(points: Points) -> tuple[IndexArray, IndexArray]:
    """Return the first position of each distinct point, and which of them each point is."""
    places = np.column_stack([points.lng, points.lat])
    _, first, number = np.unique(places, axis=0, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def _conditions(query: Query, moments: list[Any]) -> tuple[list[Conditions], IndexArray, IndexArray]:
    """Return the different conditions of the moments of trips, which of them each trip has, and its hour."""
    found: list[Conditions] = []
    number_of: dict[tuple[int, Traffic], int] = {}
    seen: dict[Any, tuple[int, int]] = {}
    rows = []
    for given in moments:
        # Not the moment itself: 0 equals False, and a missing value does not equal itself.
        key = (type(given).__name__, str(given))
        if key not in seen:
            moment, means = resolve_moment(given, query.network.timezone, name="departure_time"), query.transportation
            hourly = query.network.tables.hourly
            traffic = traffic_of(hourly, means.traffic_model, moment) if means.street.has_traffic else 1.0
            then = Query.of(replace(query.question, moment=moment), query.network)
            number = number_of.setdefault((id(then.graph.topology), traffic), len(found))
            if number == len(found):
                found.append(Conditions(then, traffic))
            seen[key] = number, moment.hour if isinstance(moment, dt.datetime) else -1
        rows.append(seen[key])
    both = np.array(rows, np.intp).reshape(-1, 2)
    return found, both[:, 0], both[:, 1]


def route_trips(trips: Trips, factors: Mapping[str, float], chosen: IndexArray) -> Routed:
    """
    Return the travel times of some trips, and the seconds on each class of street, at scaled speeds.

    Parameters
    ----------
    trips : Trips
    factors : mapping
        Factors of speeds by class of street.
    chosen : intp array of shape (n,)
        Positions of trips.
    """
    network = trips.network
    first = trips.conditions[0].query
    tables = tables_with_factors(network.tables, factors, first.transportation.base)
    number = {name: i for i, name in enumerate(trips.classes)}
    of_use = np.array([number.get(name, -1) for name in tables.uses["highway"].tolist()], np.intp)
    of_use[tables.uses["is_ferry"].to_numpy()] = -1
    class_of = of_use[tables.edge_use]
    seconds = np.full(chosen.size, np.nan)
    by_class = np.zeros((chosen.size, len(trips.classes)))
    for condition, has in enumerate(trips.conditions):
        at = np.flatnonzero(trips.condition_of[chosen] == condition)
        if not at.size:
            continue
        query = has.query
        # Which streets are open and how they connect does not depend on speeds.
        graph = weigh(query.graph.topology, tables, query.transportation, has.traffic)
        directed: list[int] = []
        shares: list[float] = []
        owners: list[int] = []
        for path in paths(graph, trips.pairs.take(chosen[at]), query.snapping, MAX_ROUTE_TIME_S):
            row = int(at[path.pair])
            seconds[row] = int(ms(np.int64(path.label))) / 1000.0
            directed += [piece.directed for piece in path.pieces]
            shares += [piece.end - piece.begin for piece in path.pieces]
            owners += [row] * len(path.pieces)
        edges = np.array(directed, np.int64)
        along = ms(graph.traversal[edges]) / 1000.0 * np.array(shares)
        column = class_of[edges // 2]
        known = column >= 0
        np.add.at(by_class, (np.array(owners, np.intp)[known], column[known]), along[known])
    return Routed(seconds, by_class)
