"""
Door to door with timetables: streets to the first stop, rides, a walk from the last; or all the way on foot.

A question has a *near* side, where its moment holds (origins that leave then, destinations to be reached by then), and
a *far* side. The way between near points and stops is a street search from each point. Between stops and far points it
is a walk, read from what lies around every stop (`traveltime_lab.stations`), or, where cars or bicycles bring people to
the stops of an arrival search, a street search again. Rides between stops are `traveltime_lab.rides`.

Everything counts in whole milliseconds, as street searches do, so that a matrix, a shape and a route agree to the last
one; departures and arrivals of vehicles are whole seconds.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from traveltime_lab import matrix, road_graph, travel_times
from traveltime_lab import stations as street_side
from traveltime_lab.errors import InputError, MomentError
from traveltime_lab.kernels import drives, ports, ride_surface, road, windows
from traveltime_lab.kernels import stops as stop_kernel
from traveltime_lab.kernels.lines import UNREACHED
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.moments import Moment, TypicalMoment
from traveltime_lab.network import Network
from traveltime_lab.rides import RideOptions, RideSearch, StopLinks, StopReach
from traveltime_lab.road_graph import RoadGraph
from traveltime_lab.route_types import is_selected
from traveltime_lab.runs import trip_table
from traveltime_lab.settings import settings
from traveltime_lab.snapping import Snaps, snap_points
from traveltime_lab.stations import Links, Stations, Walks
from traveltime_lab.surfaces import Driven, Reached, RideField
from traveltime_lab.travel_times import edge_field
from traveltime_lab.trip_table import TripTable

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

#: Trip tables are made for whole hours, so that neighbouring moments share one.
_HOUR_S: Final = 3600
#: Trip tables kept per network.
_KEPT_TABLES: Final = 6
#: Times in one block of a matrix.
_BLOCK: Final = 2_000_000
#: Seconds between two departures (or arrivals) of a window of which percentiles are taken (assumed: what r5 does).
SAMPLE_S: Final = 60
#: Near points from which a search each is quicker than reading what lies around all stops.
_FEW: Final = 32
WALKING: Final = Transportation("walking")


@dataclass
class _Tables:
    """Recently used trip tables, made ready for searches."""

    made: OrderedDict[tuple[Any, ...], RideSearch] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class TransitQuestion:
    """
    A question to a timetable, checked.

    Attributes
    ----------
    network : Network
    transportation : Transportation
    snapping : Snapping
    moment : datetime
        Aware: when to leave the origins, or to be at the destinations.
    is_arrival : bool
    limit : int
        Longest trip in seconds.
    window : int
        Seconds after the departure, or before the arrival, in which one may leave or arrive as well.
    percents : tuple of float
        Percentiles over the window to tell, too.
    with_share : bool
        Whether to tell the share of the window in which trips keep to the limit.
    """

    network: Network
    transportation: Transportation
    snapping: Snapping
    moment: dt.datetime
    is_arrival: bool
    limit: int
    window: int = 0
    percents: tuple[float, ...] = ()
    with_share: bool = False

    # Streets

    @property
    def walking(self) -> RoadGraph:
        """The graph of those on foot."""
        return self.network.road_graph(WALKING)

    @property
    def is_walked_to(self) -> bool:
        """Whether one walks to the first stop."""
        return self.transportation.access.type == WALKING.type

    def access_graph(self) -> RoadGraph:
        """Return the graph of the way to the first stop."""
        return self.network.road_graph(self.transportation.access, self.moment)

    def snap(self, lng: npt.NDArray[np.float64], lat: npt.NDArray[np.float64], *, is_origin: bool) -> Snaps:
        """Snap points to the streets on which a trip leaves them or reaches them."""
        means = self.transportation.access if is_origin else WALKING
        return snap_points(self.network, lng, lat, means, self.snapping)

    def on_foot(self, snaps: Snaps, *, is_origin: bool) -> Snaps:
        """Return the snaps of the same points to walkable streets."""
        if self.is_walked_to or not is_origin:
            return snaps
        return snap_points(self.network, snaps.lng, snaps.lat, WALKING, self.snapping)

    # Rides

    def search(self) -> RideSearch:
        """Return the runs of the hours in question, in milliseconds after its reference."""
        begin = int(self.moment.timestamp())
        first, last = (begin - self.limit - self.window, begin) if self.is_arrival else (begin, begin + self.limit)
        last += 0 if self.is_arrival else self.window
        first = first // _HOUR_S * _HOUR_S
        last = (last // _HOUR_S + 1) * _HOUR_S
        key = (self.transportation.vehicles, first, last)
        tables: _Tables = self.network.cached(("trip tables",), _Tables)
        with tables.lock:
            if key in tables.made:
                tables.made.move_to_end(key)
                return tables.made[key]
            made = tables.made[key] = RideSearch(self._table(first, last))
            while len(tables.made) > _KEPT_TABLES:
                tables.made.popitem(last=False)
            return made

    def _table(self, first: int, last: int) -> TripTable:
        """Return the runs of an interval with times in milliseconds."""
        timetable = street_side.timetable_of(self.network)
        is_used = None
        if self.transportation.vehicles != "public_transport":
            is_used = is_selected(timetable.column("routes", "group"), self.transportation.vehicles)
        table = trip_table(
            timetable, first, last, is_used=is_used, changes=street_side.changes(self.network, self.stops)
        )
        return dataclasses.replace(
            table,
            arrival=table.arrival * np.int32(1000),
            departure=table.departure * np.int32(1000),
            transfer_s=table.transfer_s * np.int32(1000),
            change_s=np.where(table.change_s >= UNREACHED, UNREACHED, table.change_s * 1000).astype(np.int32),
        )

    @property
    def stops(self) -> Stations:
        """The stops on walkable streets."""
        return street_side.stations(self.network, self.walking, WALKING)

    @property
    def options(self) -> RideOptions:
        """What the rides are bound to."""
        means = self.transportation
        return RideOptions(self.limit * 1000, means.max_changes, means.pt_change_delay * 1000)

    def at(self, search: RideSearch) -> int:
        """Return the moment in milliseconds after the reference of a search."""
        return round(self.moment.timestamp() * 1000) - search.table.reference * 1000

    @property
    def has_spread(self) -> bool:
        """Whether single departures of the window count."""
        return bool(self.percents) or self.with_share

    def samples(self, search: RideSearch) -> Int64Array:
        """Return the departures (or arrivals) of which percentiles are taken, as `at` does."""
        steps = np.arange(0, max(self.window, 1), SAMPLE_S, dtype=np.int64) * 1000
        return self.at(search) + (-steps if self.is_arrival else steps)

    # Ways between points and stops

    def walks(self, *, is_leaving: bool) -> Walks:
        """Return the walks around all stops."""
        return street_side.walks(self.network, self.stops, self.transportation.walking_time, is_leaving=is_leaving)

    def links(self, snaps: Snaps, *, is_origin: bool) -> Links:
        """
        Return the ways between points and stops.

        At origins they include parking, and the delay of the first boarding.
        """
        means = self.transportation
        if is_origin and not self.is_walked_to:
            joined = street_side.stations(self.network, self.access_graph(), means.access)
            links = street_side.street_links(
                self.network, joined, snaps, self.snapping, means.access_time, is_leaving=False
            )
        elif len(snaps) <= _FEW:
            links = street_side.street_links(
                self.network, self.stops, snaps, self.snapping, means.walking_time, is_leaving=not is_origin
            )
        else:
            around = self.walks(is_leaving=not is_origin)
            links = street_side.walk_links(self.stops, around, snaps, self.snapping, means.walking_time)
        return links.later((means.access_penalty + means.pt_change_delay) * 1000) if is_origin else links


def transit_question(
    network: Network,
    transportation: Transportation,
    snapping: Snapping,
    moment: Moment | None,
    *,
    is_arrival: bool,
    limit: int,
    window: int = 0,
    percents: tuple[float, ...] = (),
    with_share: bool = False,
) -> TransitQuestion:
    """
    Check a question to a timetable.

    Raises
    ------
    InputError
        If the network has no timetable.
    MomentError
        If no moment is given, or the timetable does not cover it.
    """
    kind = transportation.type
    if network.timetable is None:
        msg = f"transportation {kind!r} needs a timetable, which this network has not; build it with gtfs=[...]"
        raise InputError(msg)
    if moment is None:
        msg = f"transportation {kind!r} needs departure_time or arrival_time: timetables differ by date and hour"
        raise MomentError(msg)
    if isinstance(moment, TypicalMoment):
        moment = typical_moment(network, is_arrival=is_arrival)
    network.timetable.check_moment(moment, name="arrival_time" if is_arrival else "departure_time")
    return TransitQuestion(network, transportation, snapping, moment, is_arrival, limit, window, percents, with_share)


def typical_moment(network: Network, *, is_arrival: bool) -> dt.datetime:
    """
    Return what ``"weekday_morning"`` means for a timetable: between 8 and 9 on the busiest Tuesday to Thursday.

    The first one among equally busy days. A departure is at 8, an arrival at 9, local time (contract 4.9).
    """
    timetable = street_side.timetable_of(network)

    def find() -> dt.date:
        spans = timetable.dates()
        first, last = spans["first"].dropna().min(), spans["last"].dropna().max()
        days: list[dt.date] = [first + dt.timedelta(days=i) for i in range(min((last - first).days + 1, 366))]
        days = [day for day in days if day.weekday() in (1, 2, 3)] or days
        per_service = np.bincount(timetable.hot.trip_service, minlength=len(timetable.services))
        busy = [int(per_service[timetable.services_on(day)].sum()) for day in days]
        return days[int(np.argmax(busy))]

    day: dt.date = network.cached(("typical day",), find)
    return dt.datetime(day.year, day.month, day.day, 9 if is_arrival else 8, tzinfo=ZoneInfo(network.timezone))


def label_blocks(question: TransitQuestion, origins: Snaps, destinations: Snaps) -> Iterator[matrix.Block]:
    """
    Yield the labels of all pairs, in blocks of whole rows (departures) or whole columns (arrivals).

    Parameters
    ----------
    question : TransitQuestion
    origins : Snaps
        On the streets of the way to the first stop.
    destinations : Snaps
        On walkable streets.

    Yields
    ------
    Block
        Labels are milliseconds in the upper 32 bits; lengths are not known.

    Notes
    -----
    The time of a departure search ends on arrival, that of an arrival search begins on departure; with a window it is
    the least over all seconds of the window.
    """
    is_arrival = question.is_arrival
    near, far = (destinations, origins) if is_arrival else (origins, destinations)
    near_links = question.links(near, is_origin=not is_arrival)
    far_links = question.links(far, is_origin=is_arrival)
    search, options = question.search(), question.options
    moment = question.at(search)
    n_stops = search.table.n_stops
    ends = StopReach.of(StopLinks(far_links.indptr, far_links.stops, far_links.ms), n_stops)
    graph, snapping, limit = question.walking, question.snapping, question.limit
    near_feet = question.on_foot(near, is_origin=not is_arrival)
    far_feet = question.on_foot(far, is_origin=is_arrival)
    size = int(np.clip(_BLOCK // max(len(far), 1), 1, max(1, -(-len(near) // settings.threads))))
    parts = [slice(first, min(first + size, len(near))) for first in range(0, len(near), size)]

    def ride(part: slice) -> matrix.Block:
        feet = near_feet.take(np.arange(part.start, part.stop))
        direct = np.full((part.stop - part.start, len(far)), UNREACHED, np.int32)
        starts, targets = (far_feet, feet) if is_arrival else (feet, far_feet)
        for block in matrix.label_blocks(
            question.network, graph, starts, targets, snapping, limit=limit, engine="dijkstra"
        ):
            times = np.where(block.labels == road.UNREACHED, UNREACHED, block.labels >> road.TIME_SHIFT)
            rows, columns = (block.columns, block.rows) if is_arrival else (block.rows, block.columns)
            direct[rows, columns] = times.T if is_arrival else times
        mine = near_links.rows(part.start, part.stop)
        access = StopLinks(mine.indptr, mine.stops, mine.ms)
        spread = _spread(question, search, access, ends, direct) if question.has_spread else None
        if question.window:
            at_stops = search.window_stop_times(
                access, moment, question.window * 1000, options, is_arrival=is_arrival, step=1000
            )
            times = direct
            for row, of_stops in zip(times, at_stops, strict=True):
                ports.scatter(of_stops, 0, limit * 1000, ends.indptr, ends.targets, ends.seconds, row)
        else:
            times = search.target_times(access, moment, ends, options, is_arrival=is_arrival, direct_s=direct)
        labels = np.where(times >= UNREACHED, road.UNREACHED, times.astype(np.int64) << road.TIME_SHIFT)
        everyone = slice(0, len(far))
        if not is_arrival:
            return matrix.Block(part, everyone, labels, spread)
        if spread is not None:
            spread = matrix.Spread(spread.ms.transpose(1, 0, 2), spread.share.T)
        return matrix.Block(everyone, part, labels.T, spread)

    if len(parts) == 1 or settings.threads == 1:
        yield from map(ride, parts)
        return
    with ThreadPoolExecutor(settings.threads) as pool:
        waiting = []
        for part in parts:
            waiting.append(pool.submit(ride, part))
            if len(waiting) > settings.threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _spread(
    question: TransitQuestion, search: RideSearch, access: StopLinks, ends: StopReach, direct: Int32Array
) -> matrix.Spread:
    """Return how the times of some near points differ over the window; `direct` is what they take on foot."""
    moments, limit = question.samples(search), question.limit * 1000
    ms = np.empty((*direct.shape, len(question.percents)), np.int32)
    share = np.empty(direct.shape, np.float64)
    for row, on_foot in enumerate(direct):
        times = search.window_times(
            access.of(row), moments, ends, question.options, is_arrival=question.is_arrival, direct_s=on_foot
        )
        windows.percentiles(times, np.array(question.percents, np.float64), ms[row])
        windows.share_within(times, limit, share[row])
    return matrix.Spread(ms, share.astype(np.float32))


def pair_labels(
    question: TransitQuestion,
    origins: Snaps,
    destinations: Snaps,
    origin_of: npt.NDArray[np.intp],
    destination_of: npt.NDArray[np.intp],
) -> tuple[Int64Array, matrix.Spread | None]:
    """Return the labels of chosen pairs, one search for each point of the near side; see `label_blocks`."""
    near_of = destination_of if question.is_arrival else origin_of
    labels = np.full(near_of.size, road.UNREACHED, np.int64)
    spread = None
    if question.has_spread:
        spread = matrix.Spread(
            np.empty((near_of.size, len(question.percents)), np.int32), np.empty(near_of.size, np.float32)
        )
    order = np.argsort(near_of, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(near_of[order])) + 1):
        if rows.size:
            mine = origins.take(origin_of[rows]), destinations.take(destination_of[rows])
            one = tuple(side.take(np.zeros(1, np.intp)) for side in mine)
            sides = (mine[0], one[1]) if question.is_arrival else (one[0], mine[1])
            for block in label_blocks(question, *sides):
                labels[rows] = block.labels.ravel()
                if spread is not None and block.spread is not None:
                    spread.ms[rows] = block.spread.ms.reshape(rows.size, -1)
                    spread.share[rows] = block.spread.share.ravel()
    return labels, spread


class Departures(NamedTuple):
    """
    Journeys of a window by pair, each pair's shortest first.

    Attributes
    ----------
    pair : intp array of shape (n_journeys,)
        Rising.
    labels : int64 array of shape (n_journeys,)
    moments : list of datetime
        Aware, in the network's zone: when each leaves its origin, or is to be at its destination.
    """

    pair: npt.NDArray[np.intp]
    labels: Int64Array
    moments: list[dt.datetime]


def window_journeys(
    question: TransitQuestion,
    origins: Snaps,
    destinations: Snaps,
    origin_of: npt.NDArray[np.intp],
    destination_of: npt.NDArray[np.intp],
    n_best: int,
) -> Departures:
    """
    Return the shortest journeys of a window for chosen pairs.

    Of each pair they are those that no other beats by leaving no earlier and arriving no later. Walking all the way
    counts once, where at some moment nothing is quicker.

    Parameters
    ----------
    question : TransitQuestion
        With a window.
    origins, destinations : Snaps
    origin_of, destination_of : intp arrays of shape (n_pairs,)
    n_best : int
        Most journeys of a pair.
    """
    is_arrival = question.is_arrival
    near, far = (destinations, origins) if is_arrival else (origins, destinations)
    near_of, far_of = (destination_of, origin_of) if is_arrival else (origin_of, destination_of)
    near_links = question.links(near, is_origin=not is_arrival)
    far_links = question.links(far, is_origin=is_arrival)
    search, options = question.search(), question.options
    begin = question.at(search)
    walked = matrix.pair_labels(
        question.network, question.walking, question.on_foot(origins, is_origin=True), destinations,
        question.snapping, origin_of, destination_of, limit=question.limit, engine="dijkstra",
    )  # fmt: skip
    walk_ms = np.where(walked == road.UNREACHED, UNREACHED, walked >> road.TIME_SHIFT).astype(np.int32)
    ms = np.full((near_of.size, n_best), UNREACHED, np.int64)
    starts = np.full((near_of.size, n_best), begin, np.int64)
    order = np.argsort(near_of, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(near_of[order])) + 1):
        if not rows.size:
            continue
        mine = near_links.rows(int(near_of[rows[0]]), int(near_of[rows[0]]) + 1)
        theirs = far_links.take(far_of[rows])
        seconds, moments = search.window_best(
            StopLinks(mine.indptr, mine.stops, mine.ms), begin, question.window * 1000,
            StopLinks(theirs.indptr, theirs.stops, theirs.ms), n_best, options, is_arrival=is_arrival, step=1000,
            direct_s=walk_ms[None, rows],
        )  # fmt: skip
        ms[rows], starts[rows] = seconds[0], moments[0]
    pair, column = np.nonzero(ms < UNREACHED)
    zone = ZoneInfo(question.network.timezone)
    epoch = search.table.reference
    when = [
        (dt.datetime.fromtimestamp(epoch, dt.UTC) + dt.timedelta(milliseconds=int(start))).astimezone(zone)
        for start in starts[pair, column]
    ]
    return Departures(pair, ms[pair, column] << road.TIME_SHIFT, when)


def ride_field(question: TransitQuestion, snaps: Snaps) -> RideField:
    """
    Return the field of travel times from, or to, one point.

    Parameters
    ----------
    question : TransitQuestion
    snaps : Snaps of length 1
        On the streets of the near side; must be snapped.
    """
    is_arrival = question.is_arrival
    links = question.links(snaps, is_origin=not is_arrival)
    search = question.search()
    if question.percents:
        times = search.stop_times_by_moment(
            (links.stops, links.ms), question.samples(search), question.options, is_arrival=is_arrival
        )
    elif question.window:
        times = search.window_stop_times(
            StopLinks(links.indptr, links.stops, links.ms), question.at(search), question.window * 1000,
            question.options, is_arrival=is_arrival, step=1000,
        )  # fmt: skip
    else:
        times = search.stop_times(
            StopLinks(links.indptr, links.stops, links.ms), question.at(search), question.options, is_arrival=is_arrival
        )
    feet = question.on_foot(snaps, is_origin=not is_arrival)
    direct = edge_field(question.walking, feet, question.snapping, limit=question.limit, is_backward=is_arrival)
    means = question.transportation
    # What the first boarding costs is on the far side of an arrival search.
    extra = (means.access_penalty + means.pt_change_delay) * 1000 if is_arrival else 0
    times = np.where(times < UNREACHED, times + extra, UNREACHED).astype(np.int32)
    is_driven = is_arrival and not question.is_walked_to
    graph = question.access_graph() if is_driven else question.walking
    stops, around = question.stops, None
    reached: tuple[Reached, ...] | tuple[Driven, ...]
    quickest: Reached | Driven | None
    if is_driven:
        stops = street_side.stations(question.network, graph, means.access)
        reached = tuple(_driven(question, stops, row) for row in times)
        quickest = _driven(question, stops, times.min(axis=0)) if question.percents else None
        by_state = [np.where(np.diff(rides.labels[0]) > 0, _first(rides.labels), UNREACHED) for rides in reached]
        least = np.minimum.reduce(by_state)
        label = road.field_of_edges(_labels_of(least), *graph.exit_ports())
    else:
        around = question.walks(is_leaving=not is_arrival)
        reached = tuple(_reached(question, row, around) for row in times)
        quickest = _reached(question, times.min(axis=0), around) if question.percents else None
        label = _labels_of(np.minimum.reduce([rides.start_ms for rides in reached]))
    return RideField(
        graph=graph,
        label=label,
        is_backward=is_arrival,
        edge=direct.edge,
        fraction=direct.fraction,
        connector=direct.connector,
        limit=int(road_graph.limit_label(question.limit, graph.metric)),
        direct=direct,
        reached=reached,
        quickest=quickest,
        percent=question.percents[0] if question.percents else 0.0,
        budget_ms=(means.access_time if is_driven else means.walking_time) * 1000,
        around=around,
        stops=stops,
        transportation=means.access if is_driven else WALKING,
    )


def _labels_of(ms: Int32Array) -> Int64Array:
    """Return the labels of milliseconds."""
    return np.where(ms >= UNREACHED, road.UNREACHED, ms.astype(np.int64) << road.TIME_SHIFT)


def _first(labels: tuple[Int64Array, Int32Array, Int32Array]) -> Int32Array:
    """Return the first time of each state; whatever where it has none."""
    indptr, times, _ = labels
    return times[np.minimum(indptr[:-1], times.size - 1)] if times.size else np.zeros(indptr.size - 1, np.int32)


def _driven(question: TransitQuestion, stops: Stations, stop_ms: Int32Array) -> Driven:
    """Return from where one drives to the stops at which one can be at known times."""
    graph = stops.graph
    topology = graph.topology
    entries = travel_times.ports(graph, stops.snaps, stops.connector, is_entry=True)
    labels = drives.drives_to_stops(
        topology.indptr_rev, topology.indices_rev, graph.weights_rev, stop_ms, *entries,
        question.transportation.access_time * 1000, question.limit * 1000,
    )  # fmt: skip
    return Driven(stop_ms, labels)


def _reached(question: TransitQuestion, stop_ms: Int32Array, around: Walks) -> Reached:
    """Return what lies within the walks from stops where one is at known times."""
    graph = question.walking
    topology = graph.topology
    best = np.full(topology.n_states, UNREACHED, np.int32)
    walk = np.zeros(topology.n_states, np.int32)
    stop_kernel.spread(stop_ms, question.limit * 1000, *around.by_stop, best, walk)
    start_ms, walk_ms = (np.empty(topology.is_open.size, np.int32) for _ in range(2))
    ports_of_edges = graph.exit_ports() if question.is_arrival else graph.entry_ports()
    ride_surface.edge_starts(best, walk, *ports_of_edges, topology.is_open, start_ms, walk_ms)
    return Reached(stop_ms, start_ms, walk_ms)
