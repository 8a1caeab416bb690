"""
Searches at speeds that change on the way: each street is driven at the speeds of the hour in which it is driven.

`TimedGraph` is the search graph of a moment with the hours after or before it. A departure search begins at origins and
an arrival search at destinations, even if these are more, because only their side has a moment.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array, rows_of
from traveltime_lab._checks import one_of
from traveltime_lab.kernels.records import Ports, Positions
from traveltime_lab.kernels.street import time_dependent as kernels
from traveltime_lab.kernels.street.by_hour import Hours, Streets
from traveltime_lab.limits import MAX_ROUTE_TIME_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.threads import map_ahead, row_blocks
from traveltime_lab.streets import costs
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph, Topology
from traveltime_lab.streets.hourly_speeds import HOURS_OF_WEEK
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.traffic import Traffic, kph_in_traffic, traffic_of
from traveltime_lab.streets.workspaces import timed_space

#: Engines that search from each point, which searches at changing speeds need.
ENGINES = ("auto", "dijkstra")
#: Milliseconds before and after all times of a search.
_FAR = 1 << 40
#: Bytes of the times along streets by hour that are kept (assumed), and the fewest hours: those of the longest search.
_MOST_BYTES, _FEWEST = 1 << 28, 14
_HOUR = dt.timedelta(hours=1)
_SECOND, _MS = dt.timedelta(seconds=1), dt.timedelta(milliseconds=1)

_CROSSINGS = Derived[tuple[str, Traffic], Int32Array](
    "times along streets by hour",
    kept=lambda streets: min(max(_MOST_BYTES // (8 * max(streets.n_edges, 1)), _FEWEST), HOURS_OF_WEEK),
)
_HOURS = Derived[int, Hours]("hours of a search", kept=2)
_EXTRAS = Derived[tuple[int, bool], Int32Array]("times of turns by arc", kept=4)
_EDGES = Derived[bool, Int32Array]("directed edges by arc", kept=2)
_LENGTHS = Derived[None, Int64Array]("lengths of directed edges")


@dataclass(frozen=True, kw_only=True)
class TimedGraph(RoadGraph):
    """
    The search graph of a moment, with the hours around it.

    The labels are those of the hour of the moment; `hours` has the times of all hours.

    Attributes
    ----------
    streets : StreetLayer
    transportation : Transportation
    moment : datetime
        Departure or arrival time in the zone of the network.
    is_arrival : bool
    """

    streets: StreetLayer
    transportation: Transportation
    moment: dt.datetime
    is_arrival: bool

    def hours(self, largest: int | np.int64) -> Hours:
        """
        Return the hours of a search up to a label: after the moment, or before it in an arrival search.

        No answer has a longer trip than `MAX_ROUTE_TIME_S`. Searches whether there is a way at all go beyond that, with
        the speeds of the last hour.
        """
        n_hours = min(label_parts.ms(int(largest)) // 3_600_000, MAX_ROUTE_TIME_S // 3600) + 1
        return _HOURS.of(self, n_hours, lambda: self._hours(n_hours))

    def _hours(self, n_hours: int) -> Hours:
        moment, row_of = self.moment.astimezone(dt.UTC), dict[Traffic, int]()
        first, last = (moment - n_hours * _HOUR, moment) if self.is_arrival else (moment, moment + n_hours * _HOUR)
        begins, rows = list[int](), list[int]()
        for begin, local in hours_between(first, last, self.moment.tzinfo):
            traffic = traffic_of(self.streets.tables.hourly, self.transportation.traffic_model, local)
            row = row_of.setdefault(traffic, len(row_of))
            if not rows or rows[-1] != row:
                begins.append((begin - moment) // _MS)
                rows.append(row)
        begins[0] = -_FAR
        ms = np.stack([self._crossing_ms(traffic) for traffic in row_of])
        return Hours(np.array([*begins, _FAR], np.int64), np.array(rows, np.int64), ms)

    def _crossing_ms(self, traffic: Traffic) -> Int32Array:
        """Return the milliseconds along each directed edge at one hour, 0 where closed."""
        base, tables = self.transportation.base, self.streets.tables

        def make() -> Int32Array:
            ms = np.empty(2 * self.streets.n_edges, np.int32)
            for side in range(2):
                ms[side::2] = costs.crossing_ms(tables.edge_length_m, kph_in_traffic(tables, base, side, traffic))
            return ms

        return _CROSSINGS.of(self.streets, (base, traffic), make)

    def searched(self, largest: int | np.int64) -> Streets:
        """Return the streets of a search up to a label, in its direction, as kernels take them."""
        is_backward, topology = self.is_arrival, self.topology
        indptr, indices = topology.indptr, topology.indices
        if is_backward:
            indptr, indices = topology.indptr_rev, topology.indices_rev

        def extras() -> Int32Array:
            ms = label_parts.ms(self.weights - self.traversal[topology.arc_edge]).astype(np.int32)
            return ms[topology.order_rev] if is_backward else ms

        def edges() -> Int32Array:
            return topology.arc_edge[topology.order_rev] if is_backward else topology.arc_edge

        return Streets(
            indptr,
            indices,
            _EDGES.of(topology, is_backward, edges),
            _EXTRAS.of(topology, (self.transportation.boarding_time, is_backward), extras),
            self.core(is_backward=is_backward).single,
            _LENGTHS.of(topology, None, lambda: label_parts.cm(self.traversal)),
            topology.is_open,
            self.hours(largest),
            is_backward,
            self.shift,
        )

    def sides(self) -> tuple[Ports, Ports]:
        """Return the ports of directed edges where a search begins, and those where points are reached."""
        ends = self.exit_ports(), self.entry_ports()
        return ends[::-1] if self.is_arrival else ends


def timed_graph(
    streets: StreetLayer, transportation: Transportation, moment: dt.datetime, *, is_arrival: bool
) -> TimedGraph:
    """Return the search graph of a departure or arrival at a moment, at speeds that change on the way."""
    graph = streets.road_graph(transportation, moment)
    values = {item.name: getattr(graph, item.name) for item in fields(RoadGraph) if item.init}
    return TimedGraph(**values, streets=streets, transportation=transportation, moment=moment, is_arrival=is_arrival)


def hours_between(
    first: dt.datetime, last: dt.datetime, zone: dt.tzinfo | None
) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    """
    Yield the hours of clocks between two moments: the beginning in UTC, at least `first`, and in local time.

    An hour also ends where clocks change.
    """
    while first <= last:
        local = first.astimezone(zone)
        yield first, local
        into = dt.timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        following = first + (_HOUR - into)
        if following.astimezone(zone).utcoffset() != local.utcoffset():
            # Clocks change in whole seconds.
            low, high = first.replace(microsecond=0), following
            while high - low > _SECOND:
                middle = low + (high - low) // 2 // _SECOND * _SECOND
                if middle.astimezone(zone).utcoffset() == local.utcoffset():
                    low = middle
                else:
                    high = middle
            following = high
        first = following


def check_engine(engine: str) -> None:
    """Raise InputError for an engine that cannot search at speeds that change on the way."""
    one_of(engine, "with time_dependent=True, engine", ENGINES)


def label_blocks(
    graph: TimedGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
) -> Iterator[tuple[slice, slice, Int64Array]]:
    """Yield the labels of all pairs; see `traveltime_lab.streets.engines.Engine`."""
    near, far = (reached, leaving) if graph.is_arrival else (leaving, reached)
    n_near, n_far = len(near.snaps), len(far.snaps)
    ready = graph.searched(largest), graph.sides()

    def search(part: slice) -> tuple[slice, Int64Array]:
        n_rows = part.stop - part.start
        labels = np.empty(n_rows * n_far, np.int64)
        read = np.zeros(n_rows, np.int64), np.full(n_rows, n_far), np.arange(n_rows) * n_far
        here = rows_of(near.positions, part.start, part.stop)
        _write(ready, graph.topology, here, far.positions, read, largest, labels)
        return part, labels.reshape(n_rows, n_far)

    for part, labels in map_ahead(search, row_blocks(n_near, n_far)):
        whole = slice(0, n_far)
        yield (whole, part, labels.T) if graph.is_arrival else (part, whole, labels)


def pair_labels(graph: TimedGraph, pairs: Pairs, snapping: Snapping, largest: np.int64) -> Int64Array:
    """Return the labels of chosen pairs, which may be on one edge, but without those of `local_labels`."""
    near_of, far_of = pairs.origin_of, pairs.destination_of
    near, far = pairs.starts, pairs.ends
    if graph.is_arrival:
        near_of, far_of, near, far = far_of, near_of, far, near
    order = np.argsort(near_of, kind="stable")
    used, row_of = np.unique(near_of[order], return_inverse=True)
    indptr = np.searchsorted(row_of, np.arange(used.size + 1)).astype(np.int64)
    linked = [
        LinkedPoints.of(graph, snaps, snapping, is_entry=is_entry).positions
        for snaps, is_entry in ((near.take(used), graph.is_arrival), (far.take(far_of[order]), not graph.is_arrival))
    ]
    ready, labels = (graph.searched(largest), graph.sides()), np.empty(order.size, np.int64)

    def search(part: slice) -> None:
        first, last = indptr[part.start : part.stop], indptr[part.start + 1 : part.stop + 1]
        here = rows_of(linked[0], part.start, part.stop)
        _write(ready, graph.topology, here, linked[1], (first, last, np.zeros_like(first)), largest, labels)

    for _ in map_ahead(search, row_blocks(used.size, 1)):
        pass
    result = np.empty_like(labels)
    result[order] = labels
    return result


def _write(
    ready: tuple[Streets, tuple[Ports, Ports]], topology: Topology, near: Positions, far: Positions,
    read: tuple[Int64Array, Int64Array, Int64Array], largest: np.int64, labels: Int64Array,
) -> None:  # fmt: skip
    """Write the labels of some searches; see `traveltime_lab.kernels.street.time_dependent.labels_between`."""
    streets, (near_ports, far_ports) = ready
    with timed_space(topology) as space:
        space.arrays = kernels.labels_between(
            streets, near, near_ports, far, far_ports, *read, largest, space.arrays, labels
        )
