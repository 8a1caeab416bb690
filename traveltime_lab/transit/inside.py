"""
Find the ways inside stations: from entrances to platforms, from platforms to entrances, and between platforms.

Times are those of pathways.txt (``traversal_time``), for every traveller. Where it has none, they follow from length,
number of stairs and the walking speed. The search is that of the streets, on the pathways as arcs.
"""

from __future__ import annotations

import functools
import heapq
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    indptr_of_rows,
    unique_values,
)
from traveltime_lab.crs import metres_per_degree, wrap_degrees
from traveltime_lab.kernels.records import Arcs as SearchArcs
from traveltime_lab.kernels.records import Ports
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import states_around
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets.labels import make_labels
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import (
    ELEVATOR,
    ENTRANCE,
    ESCALATOR,
    EXIT_GATE,
    FARE_GATE,
    PLATFORM,
    STAIRS,
    Arcs,
    Pathways,
    roots,
)
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.wheelchair import Rule, boarding_values, is_accepted, is_passable

#: Times of pathways without traversal_time. Stairs take three times as long as level ground of the same length, as on
#: streets (OpenTripPlanner, stairsTimeFactor); without a length, each stair counts as that many metres of level ground
#: (OpenTripPlanner, PathwayEdge).
STAIRS_FACTOR: Final = 3.0
STAIR_M: Final = 0.4
#: Horizontal speed of escalators, m/s (OpenTripPlanner, EscalatorEdge).
ESCALATOR_MPS: Final = 0.45
#: Seconds to wait for an elevator and ride it (OpenTripPlanner, elevatorBoardTime).
ELEVATOR_S: Final = 90.0
#: Seconds at a gate without length: the median traversal_time of the 286 gates of Washington's Metrorail (WMATA, 2026).
GATE_S: Final = 5.0
_WIDTH_BITS: Final = 12
_FOREVER: Final = np.int64(1 << 62) - 1


class Walker(NamedTuple):
    """A traveller inside stations: the walking speed in km/h, and the rule of step-free travel."""

    kph: float
    rule: Rule | None


class Links(NamedTuple):
    """Ways between two kinds of places: stops (stop_idx) at both ends, and labels of shape (n_links,)."""

    start: Int32Array
    end: Int32Array
    label: Int64Array


@dataclass(frozen=True)
class Inside:
    """
    The ways inside stations for one walker.

    Attributes
    ----------
    is_indoors : bool array of shape (n_stops,)
        Stops with trips in stations with pathways; the way to them is by the entrances, if there is one.
    entering, leaving, changing : Links
        From entrances to these stops, from these to entrances, and between them.
    arcs : Arcs
        The pathways that can be used.
    labels : int64 array of shape (n_arcs,)
        Time and length of each.
    """

    is_indoors: BoolArray
    entering: Links
    leaving: Links
    changing: Links
    arcs: Arcs
    labels: Int64Array

    @functools.cached_property
    def around(self) -> dict[int, list[tuple[int, int, int]]]:
        """For each stop the arcs that leave it: the stop that each leads to, its label and its number."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        arcs = zip(self.arcs.tail.tolist(), self.arcs.head.tolist(), self.labels.tolist(), strict=True)
        for number, (tail, head, label) in enumerate(arcs):
            found.setdefault(tail, []).append((head, label, number))
        return found

    def between(self, start: IndexArray, end: IndexArray) -> Int64Array:
        """Return the labels of ways between platforms, `UNREACHED` where there is none."""
        n = self.is_indoors.size
        keys, requested = self.changing.start.astype(np.int64) * n + self.changing.end, start.astype(np.int64) * n + end
        place = np.searchsorted(keys, requested)
        found = np.flatnonzero(place < keys.size)
        found = found[keys[place[found]] == requested[found]]
        labels = np.full(requested.size, UNREACHED, np.int64)
        labels[found] = self.changing.label[place[found]]
        return labels

    def way(self, start: int, end: int) -> list[int] | None:
        """Return the arcs of the fastest way between two stops, None if there is none."""
        best: dict[int, tuple[int, int, int]] = {start: (0, -1, -1)}
        queue = [(0, start)]
        while queue:
            label, stop = heapq.heappop(queue)
            if stop == end:
                break
            if label > best[stop][0]:
                continue
            for head, more, arc in self.around.get(stop, ()):
                if head not in best or label + more < best[head][0]:
                    best[head] = (label + more, stop, arc)
                    heapq.heappush(queue, (label + more, head))
        if end not in best:
            return None
        arcs: list[int] = []
        while end != start:
            _, end, arc = best[end]
            arcs.append(arc)
        return arcs[::-1]


#: By walking speed and rule.
_INSIDE = Derived[Walker, "Inside"]("ways inside stations", kept=4)


def inside(layer: TransitLayer, walker: Walker) -> Inside | None:
    """Return the ways inside the stations of a layer, None if it has no pathways; they are kept."""
    timetable = layer.timetable
    if timetable.pathways is None:
        return None
    return _INSIDE.of(layer, walker, lambda: _searched(timetable, walker))


def indoors(timetable: Timetable) -> BoolArray:
    """Return which stops with trips are in stations with pathways, shape (n_stops,)."""
    found = np.zeros(timetable.n_stops, np.bool_)
    if timetable.pathways is None:
        return found
    root = roots(timetable.column("stops", "parent_idx"))
    found[root[timetable.pathways.start]] = found[root[timetable.pathways.end]] = True
    is_platform = timetable.column("stops", "location_type") == PLATFORM
    return np.asarray(found[root] & timetable.is_called & is_platform)


def _searched(timetable: Timetable, walker: Walker) -> Inside:
    """Search from all entrances and platforms."""
    pathways = timetable.pathways
    assert pathways is not None
    kind, parent = timetable.column("stops", "location_type"), timetable.column("stops", "parent_idx")
    every = Arcs.of(pathways, kind, parent)
    is_open = (every.row < 0) | np.append(is_passable(pathways, walker.rule), True)[every.row]
    arcs = every.take(is_open)
    of_pathways = np.append(pathway_labels(timetable, pathways, walker.kph), 0)
    labels = of_pathways[arcs.row]
    is_indoors = indoors(timetable)
    is_door = kind == ENTRANCE
    if walker.rule:
        is_door &= is_accepted(boarding_values(timetable), walker.rule)
    used = unique_values(np.concatenate([pathways.start, pathways.end]))
    doors, platforms = used[is_door[used]].astype(np.int32), np.flatnonzero(is_indoors).astype(np.int32)
    starts = np.concatenate([doors, platforms])
    order = np.argsort(arcs.tail, kind="stable")
    longest = int(labels.max(initial=0))
    shift = max(0, longest.bit_length() - _WIDTH_BITS)
    graph = SearchArcs(
        indptr_of_rows(arcs.tail, timetable.n_stops).astype(np.int32), arcs.head[order], labels[order].astype(np.int64)
    )
    seeds = Ports(np.arange(starts.size + 1, dtype=np.int64), starts, np.zeros(starts.size, np.int64))
    n_buckets = 1 << ((longest >> shift) + 3).bit_length()
    around, cm = states_around(graph, seeds, _FOREVER, shift, n_buckets)
    start = np.repeat(starts, np.diff(around.indptr))
    label = (around.ms.astype(np.int64) << TIME_SHIFT) | cm
    is_from_door = np.repeat(np.arange(starts.size) < doors.size, np.diff(around.indptr))

    def links(rows: BoolArray) -> Links:
        found = np.flatnonzero(rows & (start != around.states))
        found = found[np.lexsort((around.states[found], start[found]))]
        return Links(start[found], around.states[found], label[found])

    return Inside(
        is_indoors=is_indoors,
        entering=links(is_from_door & is_indoors[around.states]),
        leaving=links(~is_from_door & is_door[around.states]),
        changing=links(~is_from_door & is_indoors[around.states]),
        arcs=arcs,
        labels=labels,
    )


def pathway_labels(timetable: Timetable, pathways: Pathways, kph: float) -> Int64Array:
    """Return time and length of each pathway at a walking speed, shape (n_pathways,)."""
    lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
    metres = np.where(np.isnan(pathways.metres), _apart(lng, lat, pathways.start, pathways.end), pathways.metres)
    kind, mps = pathways.kind, kph / 3.6
    walked_m = metres.copy()
    stairs = kind == STAIRS
    walked_m[stairs] *= STAIRS_FACTOR
    counted = stairs & np.isnan(pathways.metres) & (pathways.stairs != 0)
    walked_m[counted] = STAIR_M * np.abs(pathways.stairs[counted])
    seconds = np.where(kind == ESCALATOR, metres / ESCALATOR_MPS, walked_m / mps)
    seconds[kind == ELEVATOR] = ELEVATOR_S
    gates = ((kind == FARE_GATE) | (kind == EXIT_GATE)) & np.isnan(pathways.metres)
    seconds[gates] = GATE_S
    seconds = np.where(pathways.seconds >= 0, pathways.seconds, seconds)
    labels: Int64Array = make_labels(
        np.rint(seconds * 1000.0).astype(np.int64), np.rint(metres * 100.0).astype(np.int64), "time"
    )
    return labels


def _apart(lng: FloatArray, lat: FloatArray, a: Int32Array, b: Int32Array) -> FloatArray:
    """Return the straight-line distances between stops in metres, 0 where one has no place."""
    mx, my = metres_per_degree((lat[a] + lat[b]) / 2.0)
    return np.nan_to_num(np.hypot(wrap_degrees(lng[a] - lng[b]) * mx, (lat[a] - lat[b]) * my))
