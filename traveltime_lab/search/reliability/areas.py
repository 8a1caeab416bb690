"""
Areas and cells in reach over days on which vehicles did not run as planned (`reliability_map`, `reliability_cells`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, ObjectArray
from traveltime_lab._checks import flag, one_of, percents_of, travel_time_s
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.question import MomentsLike, Question
from traveltime_lab.runtime.executors import check_executor
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import Progress, advance, check_progress, watched
from traveltime_lab.search import border
from traveltime_lab.search.area_shapes import (
    ShapeStyle,
    searched_limit,
    shape_style,
    shapes_of_field,
    table_of_shapes,
)
from traveltime_lab.search.cell_times import numbering_of, outlines, shares_of_field, times_of_field
from traveltime_lab.search.each_moment import warned_once
from traveltime_lab.search.query import Query
from traveltime_lab.search.receipts.record import DAYS, with_receipt
from traveltime_lab.search.reliability.area_study import (
    Areas,
    check_access,
    checked_kinds,
    departures_of,
    studied,
)
from traveltime_lab.search.reliability.days import Departures, about_days, check_days, planned_of
from traveltime_lab.search.reliability.study import KINDS
from traveltime_lab.streets.snapping import SNAPPED
from traveltime_lab.surfaces import grids
from traveltime_lab.surfaces.grids import Grid
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL, parse_level_of_detail


@explained_keywords
@with_receipt
def reliability_map(
    network: Network,
    days: Mapping[dt.date, Network],
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    transportation: str | Transportation | Mapping[str, Any] = "public_transport",
    window: int | None = None,
    percentiles: Sequence[float] = (50, 80, 95),
    kinds: Sequence[str] = KINDS,
    level_of_detail: str | int | Mapping[str, Any] | None = DEFAULT_LEVEL,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
) -> gpd.GeoDataFrame:
    """
    Return the areas in reach on a share of the departures of days on which vehicles did not run as planned.

    An area for each of the planned, observed and realizable travel times of `reliability`: the places that are reached
    within a travel time with at least 50 %, 80 % or 95 % of the departures of all days.

    Parameters
    ----------
    network : Network
        The planned timetable. Live updates of this network are left out.
    days : mapping of date to Network
        As in `reliability`; with the same streets, and the same stops at the same places.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index. With `arrival_time`, they are destinations.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    departure_time, arrival_time : datetime, str or list of these, optional
        One of them, as in `reliability`: the time of day is moved to each of the dates. ``"weekday_morning"`` is 8:00,
        or 9:00 for arrivals.
    transportation : str, Transportation or mapping, default "public_transport"
        Types with a timetable, with exact headways; see `Transportation`. Arrivals need walks to the first stop.
    window : int, optional
        Seconds after each departure time, or before each arrival time, 1 to 43200, with a departure a minute.
    percentiles : sequence of float, default (50, 80, 95)
        Percentages above 0 and at most 100 of the departures of all days with which the area is reachable at least.
    kinds : sequence of str, default ("planned", "observed", "realizable")
        Travel times; see `reliability`. Those of arrivals are planned or observed.
    level_of_detail, no_holes, polygons_filter, remove_water_bodies
        As in `time_map`.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        origins, each counted once for every day and once when its areas are drawn.
    executor : concurrent.futures.Executor, optional
        As in `reliability`.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins`, with a row for each origin, kind and percentile, under the same label: ``kind``
        (categorical), ``percentile`` (float64), ``travel_time`` (int32, s), ``n_days`` and ``n_departures`` (int32,
        over all days), ``snap_distance``, ``reason``, ``reaches_border`` and ``geometry`` as in `time_map`.

    Raises
    ------
    InputError
        If days are no mapping of dates to networks with a timetable, or have other streets or stops, or an argument is
        unknown.
    CrsError, CoordinateError, ModeError, MomentError
        As in `reliability`.
    LimitError
        If `travel_time` is out of range, or there are more than 200 million travel times at stops over all departures.
    UnsupportedError
        If headways are not exact, realizable travel times are those of arrivals, or those arrivals have drives.
    UnfinishedJobError
        If the executor can no longer be used, or its workers ended several times.

    Warns
    -----
    BorderWarning
        If areas extend to the border of the extract.

    See Also
    --------
    reliability : Travel times of pairs, and amounts in reach, over days.
    reliability_cells : The same areas as cells, with shares and travel times.
    time_map : Isochrones by one timetable.

    Notes
    -----
    Each departure of each day counts alike. The areas of higher percentiles are within those of lower ones, except
    with `polygons_filter`. A percentile of planned travel times on one day is that of `time_map` with a `window`; the
    observed ones are those of the network of the day.

    At each place, the values are those of `reliability`: the passenger takes the journey that is the fastest by plan,
    which depends on the place and on the departure. Among equally fast plans that end at different stops, the two may
    choose different ones. Only travel times at the stops are searched on each day, with one search of all departures
    of some hours; streets are searched once.

    Examples
    --------
    A day on which the trips of a bus line are 10 minutes late:

    >>> import datetime as dt
    >>> import json
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> trips = network.trips_frame(date="2019-05-14")
    >>> late = [
    ...     {
    ...         "id": trip,
    ...         "trip_update": {
    ...             "trip": {"trip_id": trip, "start_date": "20190514"},
    ...             "delay": 600,
    ...         },
    ...     }
    ...     for trip in trips.query("route == 'T9'").trip_id
    ... ]
    >>> message = {
    ...     "header": {"gtfs_realtime_version": "2.0"},
    ...     "entity": late,
    ... }
    >>> tuesday = network.with_updates(json.dumps(message).encode())
    >>> areas = tl.reliability_map(
    ...     network,
    ...     {dt.date(2019, 5, 14): tuesday},
    ...     places.loc[["PUCRS"]],
    ...     departure_time="2019-05-14T08:00:00",
    ...     window=600,
    ...     travel_time=1200,
    ...     percentiles=[50, 95],
    ... )
    >>> areas["km2"] = (areas.to_crs(network.crs).area / 1e6).round(1)
    >>> areas[["kind", "percentile", "km2"]]
                 kind  percentile   km2
    name
    PUCRS     planned        50.0  14.9
    PUCRS     planned        95.0   9.1
    PUCRS    observed        50.0  14.9
    PUCRS    observed        95.0   9.0
    PUCRS  realizable        50.0  14.6
    PUCRS  realizable        95.0   7.0
    """
    request = _Request.of(
        network, days, origins, travel_time=travel_time, departure_time=departure_time, arrival_time=arrival_time,
        transportation=transportation, window=window, percentiles=percentiles, kinds=kinds, snapping=snapping,
        progress=progress, executor=executor,
    )  # fmt: skip
    style = shape_style(
        parse_level_of_detail(level_of_detail).downgraded(request.question.limit), no_holes=no_holes,
        polygons_filter=polygons_filter, remove_water_bodies=remove_water_bodies,
    )  # fmt: skip
    with warned_once(2 * len(request.dates)), request.watched(progress, "Areas"):
        found = request.study(searched_limit(request.query, (request.question.limit,), style), executor)
        shapes, reaches_border = _drawn(found, request.percents, style)
        n_each, n = shapes.shape[1], len(request.places)
        columns = {
            "kind": _as_kinds(np.tile(np.repeat(request.kinds, len(request.percents)), n)),
            "percentile": np.tile(request.percents, n * len(request.kinds)),
            "travel_time": np.full(n * n_each, request.question.limit, np.int32),
            **_counts(found, n * n_each),
        }
        answer = table_of_shapes(found.query, request.places, found.snaps, shapes, reaches_border, columns)
    answer.attrs[DAYS] = about_days(days, [day.fingerprint for day in found.days])
    return answer


@explained_keywords
@with_receipt
def reliability_cells(
    network: Network,
    days: Mapping[dt.date, Network],
    origins: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    resolution: int,
    grid: Literal["h3", "geohash"] = "h3",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    transportation: str | Transportation | Mapping[str, Any] = "public_transport",
    window: int | None = None,
    percentiles: Sequence[float] = (50, 80, 95),
    kinds: Sequence[str] = KINDS,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    geometry: bool = True,
    progress: Progress = False,
    executor: Executor | None = None,
) -> gpd.GeoDataFrame | pd.DataFrame:
    """
    Return the cells in reach over days on which vehicles did not run as planned, with travel times and shares.

    Parameters
    ----------
    network, days, origins, travel_time
        As in `reliability_map`.
    resolution : int
        H3 resolution, 1 to 12, or length of geohashes, 1 to 9.
    grid : {"h3", "geohash"}, default "h3"
    departure_time, arrival_time, transportation, window
        As in `reliability_map`.
    percentiles : sequence of float, default (50, 80, 95)
        Percentages above 0 and at most 100.
    kinds, snapping, progress, executor
        As in `reliability_map`.
    remove_water_bodies : bool, default True
        Whether to ignore samples in the sea, lakes and wide rivers.
    geometry : bool, default True
        Whether to return the polygons of the cells.

    Returns
    -------
    GeoDataFrame or DataFrame
        One row per origin and cell that is reached with some departure, sorted by origin and cell: ``origin`` (label),
        ``cell`` (name); ``planned_p50`` and so on for each kind and percentile, the mean travel time to the part of the
        cell that is within the area of `reliability_map` (Int32, s, NA if there is none); ``planned_share`` and so on,
        the share of the departures of all days with which the cell is reached within the travel time, as mean over the
        cell (float64, 0 to 1); ``n_days`` and ``n_departures`` (int32, over all days); and, if requested, the polygon
        in EPSG:4326. Origins that are not snapped have no rows; `snap` returns the reason.

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError, MomentError, UnsupportedError, UnfinishedJobError
        As in `reliability_map`.
    LimitError
        As there, or if `resolution` is out of range, or the area has more than 50 million samples.

    Warns
    -----
    BorderWarning
        If places in reach extend to the border of the extract.

    See Also
    --------
    reliability_map : The areas.
    h3_cells, geohash_cells : Cells by one timetable.

    Notes
    -----
    Samples are those of `h3_cells`. ``planned_share`` is the mean of its ``share_reachable`` over all departures, 0
    where a departure does not reach the cell. A percentile is that of each sample; with one departure on one day it is
    the ``mean`` of `h3_cells`.

    Examples
    --------
    >>> import datetime as dt
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> cells = tl.reliability_cells(
    ...     network,
    ...     {dt.date(2019, 5, 14): network},
    ...     places.loc[["PUCRS"]],
    ...     departure_time="2019-05-14T08:00:00",
    ...     window=600,
    ...     travel_time=600,
    ...     resolution=7,
    ...     percentiles=[80],
    ...     kinds=["planned"],
    ... )
    >>> cells[["cell", "planned_p80", "planned_share"]].round(2)
                  cell  planned_p80  planned_share
    0  87a901280ffffff         <NA>           0.00
    1  87a901282ffffff          440           0.35
    2  87a901283ffffff          562           0.02
    3  87a901291ffffff          581           0.01
    4  87a901295ffffff         <NA>           0.01
    5  87a90129cffffff          546           0.03
    """
    grid = "h3" if one_of(grid, "grid", ("h3", "geohash")) == "h3" else "geohash"
    resolution = grids.check_resolution(grid, resolution)
    request = _Request.of(
        network, days, origins, travel_time=travel_time, departure_time=departure_time, arrival_time=arrival_time,
        transportation=transportation, window=window, percentiles=percentiles, kinds=kinds, snapping=snapping,
        progress=progress, executor=executor,
    )  # fmt: skip
    no_water, with_geometry = flag(remove_water_bodies, "remove_water_bodies"), flag(geometry, "geometry")
    with warned_once(2 * len(request.dates)), request.watched(progress, "Cells"):
        found = request.study(request.question.limit + 1, executor)
        each = _cells(found, grid, resolution, request.percents, no_water=no_water)
    row = np.repeat(np.arange(len(each)), [len(table) for table in each])
    table = pd.concat(each, ignore_index=True)
    columns = {"origin": request.places.index.take(row), **table, **_counts(found, len(table))}
    answer: pd.DataFrame = pd.DataFrame(columns)
    if with_geometry:
        answer = gpd.GeoDataFrame(answer, geometry=outlines(grid, table["cell"].to_numpy(object)), crs="EPSG:4326")
    answer.attrs[DAYS] = about_days(days, [day.fingerprint for day in found.days])
    return answer


class _Request(NamedTuple):
    """
    The arguments that areas and cells have in common, validated.

    Attributes
    ----------
    network : Network
        The planned one.
    days : mapping of date to Network
    dates : tuple of date
    places : Points
    question : Question
    query : Query
        At the first departure.
    departures : Departures
    percents : tuple of float
    kinds : tuple of str
    """

    network: Network
    days: Mapping[Any, Network]
    dates: tuple[dt.date, ...]
    places: Points
    question: Question
    query: Query
    departures: Departures
    percents: tuple[float, ...]
    kinds: tuple[str, ...]

    @classmethod
    def of(
        cls, network: Any, days: Any, origins: Any, *, travel_time: Any, departure_time: Any, arrival_time: Any,
        transportation: Any, window: Any, percentiles: Any, kinds: Any, snapping: Any, progress: Any, executor: Any,
    ) -> _Request:  # fmt: skip
        """Validate the arguments."""
        limit = travel_time_s(travel_time, MAX_TRAVEL_TIME_S)
        check_network(network)
        network = planned_of(network)
        dates = tuple(check_days(days))
        means = as_transportation(transportation)
        if not means.uses_timetable:
            msg = f"areas over days need a timetable; transportation {means.type!r} has none, and is the same on all"
            raise InputError(msg)
        departures = departures_of(departure_time, arrival_time, window, network.timezone)
        is_arrival = departures.name == "arrival_time"
        percents, of_kinds = percents_of(percentiles), checked_kinds(kinds, is_arrival=is_arrival)
        check_progress(progress)
        check_executor(executor)
        first = departures.on(dates[0])[0]
        departure, arrival = (None, first) if is_arrival else (first, None)
        question = Question.of(network.timezone, means, departure, arrival, snapping, limit=limit)
        places = read_points(origins, "origins", network.bounds)
        query = Query.of(question, network)
        check_access(query)
        return cls(network, days, dates, places, question, query, departures, percents, of_kinds)

    def watched(self, progress: Progress, name: str) -> Any:
        """Return the context of the work, whose parts are the origins on each day and their shapes."""
        return watched(progress, len(self.places) * (len(self.dates) + 1), name, "origin")

    def study(self, searched_s: float, executor: Executor | None) -> Areas:
        """Search all days with a limit."""
        return studied(
            self.network, self.days, self.places, self.question, self.departures, self.kinds, searched_s, executor
        )


def _drawn(found: Areas, percents: tuple[float, ...], style: ShapeStyle) -> tuple[ObjectArray, BoolArray | None]:
    """Return the areas of each origin by kind and percentile, and which of them reach the border, None if unknown."""
    n, limits = len(found.snaps), (found.limit_s,)
    shapes = np.full((n, len(found.kinds), len(percents)), shapely.MultiPolygon(), dtype=object)
    queries = {kind: found.query_of(kind) for kind in found.kinds}
    ways = {kind: border.of_streets(query, found.snaps) for kind, query in queries.items()}
    for i in range(n):
        checkpoint()
        if found.snaps.status[i] == SNAPPED:
            for k, (kind, query) in enumerate(queries.items()):
                here, field = found.snaps.one(i), found.field(query, kind, i)
                for p, percent in enumerate(percents):
                    shapes[i, k, p] = shapes_of_field(query, here, field.of(percent), limits, style)[0]
                ways[kind][i] = min(ways[kind][i], border.of_field(query, here, field))
        advance(1)
    flags = []
    for k, (kind, query) in enumerate(queries.items()):
        more = style.detail.cell_m(query.egress_transportation.base)
        flags.append(border.of_areas(query, found.snaps, ways[kind], limits * len(percents), shapes[:, k], more))
    known = [each for each in flags if each is not None]
    return shapes.reshape(n, -1), np.concatenate(known, axis=1) if known else None


def _cells(
    found: Areas, grid: Grid, resolution: int, percents: tuple[float, ...], *, no_water: bool
) -> list[pd.DataFrame]:
    """Return the cells of each origin with their columns."""
    tables = []
    queries = {kind: found.query_of(kind) for kind in found.kinds}
    ways = {kind: border.of_streets(query, found.snaps) for kind, query in queries.items()}
    for i in range(len(found.snaps)):
        times: dict[str, pd.Series[Any]] = {}
        shares: dict[str, pd.Series[Any]] = {}
        for kind, query in queries.items():
            if found.snaps.status[i] != SNAPPED:
                shares[f"{kind}_share"] = _by_cell(np.zeros(0, object), np.zeros(0))
                times |= {f"{kind}_p{percent:g}": shares[f"{kind}_share"] for percent in percents}
                continue
            here, field = found.snaps.one(i), found.field(query, kind, i)
            numbering = numbering_of(query, grid, resolution)
            how = here, field, numbering, found.limit_s
            shares[f"{kind}_share"] = _by_cell(*shares_of_field(query, *how, no_water=no_water))
            for percent in percents:
                of = times_of_field(query, here, field.of(percent), *how[2:], no_water=no_water)
                times[f"{kind}_p{percent:g}"] = _by_cell(of.cell, of.mean)
            ways[kind][i] = min(ways[kind][i], border.of_field(query, here, field))
        advance(1)
        table = pd.DataFrame({**times, **shares}).sort_index()
        table = table.astype(dict.fromkeys(times, "Int32")).fillna(dict.fromkeys(shares, 0.0))
        tables.append(table.rename_axis("cell").reset_index())
    for kind, query in queries.items():
        border.warn_of_origins(query, border.within(query, ways[kind], (found.limit_s,), 1.0))
    return tables


def _by_cell(names: AnyArray, values: AnyArray | FloatArray) -> pd.Series[Any]:
    """Return the values of cells by their names."""
    return pd.Series(values, pd.Index(names, dtype=object), dtype=np.float64)


def _as_kinds(names: AnyArray) -> pd.Categorical:
    """Return the names of kinds of travel times as a categorical column."""
    return pd.Categorical(names, categories=KINDS)


def _counts(found: Areas, n_rows: int) -> dict[str, AnyArray]:
    """Return the columns with the numbers of days and departures."""
    counts = {"n_days": len(found.days), "n_departures": found.n_departures}
    return {name: np.full(n_rows, number, np.int32) for name, number in counts.items()}
