"""
Find fastest routes: the pieces of street that they consist of, and their lines.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import shapely

from traveltime_lab._arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    IndexArray,
    Int32Array,
    Int64Array,
    indptr_of,
    rows_of,
    take_rows,
)
from traveltime_lab.crs import metres_per_degree, segment_lengths_m, wrap_degrees
from traveltime_lab.kernels.records import Ports, Positions
from traveltime_lab.kernels.street import reading, road, turns
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import advance
from traveltime_lab.streets import links
from traveltime_lab.streets.graph import RoadGraph, mean_pace
from traveltime_lab.streets.labels import limit_label, make_labels
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.local_pairs import local_labels
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.pieces import Path, Piece, each_position
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.streets.timed import TimedGraph
from traveltime_lab.streets.timed_paths import TimedTree
from traveltime_lab.streets.workspaces import tree_space

#: Metres and seconds or metres that the first search of an origin reaches at least (assumed).
_LEAST: Final = 60.0
#: Degrees by which a point differs from another one, up to rounding: 0.1 mm.
_SAME_DEGREES: Final = 1e-9


def paths(
    graph: RoadGraph,
    pairs: Pairs,
    snapping: Snapping,
    limit: float,
    *,
    end_snapping: Snapping | None = None,
) -> Iterator[Path]:
    """
    Yield the fastest route of each pair that has one within a limit.

    Parameters
    ----------
    graph : RoadGraph
    pairs : Pairs
    snapping : Snapping
    limit : float
        Limit in seconds, or in metres in a graph of distances.
    end_snapping : Snapping, optional
        That of the destinations; `snapping` by default.

    Yields
    ------
    Path
        Its label equals that of `traveltime_lab.streets.matrix` exactly.
    """
    chosen, labels = local_labels(graph, pairs, snapping, limit_label(limit, graph.metric))
    is_local = np.zeros(len(pairs), np.bool_)
    is_local[chosen] = True
    same = set(chosen[labels == 0].tolist())
    how = (snapping, end_snapping or snapping)
    yield from _paths(graph, pairs, how, ~is_local, limit)
    for pair in same:
        yield Path(pair, [], 0, 0)
    # Both ends of these are on one island.
    rest = chosen[(labels != 0) & (labels != UNREACHED)]
    if rest.size:
        on_island = np.zeros(len(pairs), np.bool_)
        on_island[[pair for pair in rest.tolist() if pair not in same]] = True
        moved = replace(pairs, starts=pairs.starts.only_islands(), ends=pairs.ends.only_islands())
        yield from _paths(graph, moved, how, on_island, limit)


def _paths(
    graph: RoadGraph, pairs: Pairs, how: tuple[Snapping, Snapping], requested: BoolArray, limit: float
) -> Iterator[Path]:
    """Yield the fastest routes of some pairs, of which no origin is at its destination; see `paths`."""
    is_timed = isinstance(graph, TimedGraph)
    if isinstance(graph, TimedGraph) and graph.is_arrival:
        # Searches begin at destinations, which are the first of a pair here.
        pairs, how = pairs.reversed(), how[::-1]
    near_of, far_of = pairs.origin_of, pairs.destination_of
    starts = links.positions(graph, pairs.starts, how[0])
    ends = links.positions(graph, pairs.ends, how[1])
    seeds = None if is_timed else links.ports(graph, starts, is_entry=False)
    order = np.flatnonzero(requested & (pairs.starts.edge[near_of] >= 0) & (pairs.ends.edge[far_of] >= 0))
    order = order[np.argsort(near_of[order], kind="stable")]
    pace = mean_pace(graph)
    for rows in np.split(order, np.flatnonzero(np.diff(near_of[order])) + 1):
        if not rows.size:
            continue
        checkpoint()
        i = int(near_of[rows[0]])
        found: dict[int, Path] = {}
        waiting = rows.tolist()
        here = rows_of(starts, i, i + 1)
        # A search that reaches twice as far takes four times as long, so the first one goes as far as a straight line
        # to the farthest destination at the mean speed.
        reach = pace * _farthest_m(pairs.starts, pairs.ends, i, far_of[rows])
        halvings = max(0, math.floor(math.log2(limit / max(reach, _LEAST)))) if limit > _LEAST else 0
        for times in range(halvings, -1, -1):
            largest = int(limit_label(limit / 2**times, graph.metric))
            with _paths_from(graph, here, seeds, i, largest) as path_to:
                for pair in waiting:
                    checkpoint()
                    j = int(far_of[pair])
                    if (path := path_to(pair, rows_of(ends, j, j + 1))) is not None:
                        found[pair] = path
            waiting = [pair for pair in waiting if pair not in found]
            if not waiting:
                break
        yield from (found[pair] for pair in rows.tolist() if pair in found)


def _farthest_m(starts: Snaps, ends: Snaps, origin: int, destinations: IndexArray) -> float:
    """Return the distance in metres from an origin to the farthest of some destinations."""
    lng, lat = starts.lng[origin], starts.lat[origin]
    x, y = metres_per_degree(lat)
    across = wrap_degrees(ends.lng[destinations] - lng) * x
    return float(np.hypot(across, (ends.lat[destinations] - lat) * y).max())


@contextlib.contextmanager
def _paths_from(
    graph: RoadGraph, here: Positions, seeds: Ports | None, origin: int, largest: int
) -> Iterator[Callable[[int, Positions], Path | None]]:
    """Search from an origin up to the largest label, and lend a function of a pair and its destination."""
    if isinstance(graph, TimedGraph):
        with TimedTree.of(graph, here, largest) as tree:
            yield tree.path
        return
    assert seeds is not None
    _, states, keys = take_rows(seeds, origin, origin + 1)
    arcs = graph.arcs(is_backward=False)
    with tree_space(graph) as space:
        label, parent = space.label, space.parent
        space.queue, touched = road.search(arcs, states, keys, np.int64(largest), label, parent, space.queue)
        yield lambda pair, there: _path(graph, label, parent, pair, here, there, largest)
        label[touched] = UNREACHED


def route_lines(
    streets: StreetLayer, graph: RoadGraph, pairs: Pairs, snapping: Snapping, is_reached: BoolArray, limit: float
) -> AnyArray:
    """
    Return the line of the fastest route of each reached pair.

    Parameters
    ----------
    streets, graph, snapping
        As in the search.
    pairs : Pairs
    is_reached : bool array of shape (n_pairs,)
    limit : float

    Returns
    -------
    object array of shape (n_pairs,)
        LineStrings in EPSG:4326 from origin to destination, including connectors; empty where unreachable.
    """
    lines = np.full(len(pairs), shapely.LineString(), dtype=object)
    requested = np.flatnonzero(is_reached)
    for path in paths(graph, pairs.take(requested), snapping, limit):
        pair = requested[path.pair]
        i, j = pairs.origin_of[pair], pairs.destination_of[pair]
        # The route of a point to itself has no pieces.
        parts = [np.array([[pairs.starts.lng[i], pairs.starts.lat[i]]])]
        parts.append(parts_of_lines(streets.tables, path.pieces)[0])
        parts.append(np.array([[pairs.ends.lng[j], pairs.ends.lat[j]]]))
        lines[pair] = line_of(parts)
        advance(1)
    return lines


def line_of(parts: list[FloatArray]) -> shapely.LineString:
    """Return one line through the (lng, lat) rows of consecutive parts; it has zero length if they are one point."""
    coordinates = np.concatenate(parts)
    kept = without_repeats(coordinates)
    return shapely.LineString(kept if len(kept) > 1 else coordinates[[0, -1]])


def without_repeats(coordinates: FloatArray) -> FloatArray:
    """Return (lng, lat) rows without those that repeat the one before, up to rounding."""
    kept = np.ones(len(coordinates), np.bool_)
    kept[1:] = (np.abs(np.diff(coordinates, axis=0)) > _SAME_DEGREES).any(axis=1)
    return coordinates[kept]


def _path(
    graph: RoadGraph,
    label: Int64Array,
    parent: Int32Array,
    pair: int,
    here: Positions,
    there: Positions,
    largest: int,
) -> Path | None:
    """
    Return the fastest route between two different points, given all their positions.

    None if there is none up to the largest label, beyond which states have none.
    """
    topology, traversal = graph.topology, graph.traversal
    best, best_state, last, egress = int(UNREACHED), -1, None, 0
    for edge, at, connector in each_position(there):
        for d in (2 * edge, 2 * edge + 1):
            place = at if d % 2 == 0 else 1.0 - at
            part = int(turns.part_of(traversal[d], place))
            for k in range(int(topology.entry_indptr[d]), int(topology.entry_indptr[d + 1])):
                total = int(label[topology.entry_states[k]]) + part + connector
                if total < best:
                    best, best_state, last = total, int(topology.entry_states[k]), Piece(d, 0.0, place, part)
                    egress = connector
    direct = None
    for (edge, start_at, access), (end_edge, end_at, leaving) in itertools.product(
        each_position(here), each_position(there)
    ):
        if edge != end_edge:
            continue
        for d in (2 * edge, 2 * edge + 1):
            a = start_at if d % 2 == 0 else 1.0 - start_at
            b = end_at if d % 2 == 0 else 1.0 - end_at
            cost = int(turns.part_of(traversal[d], b)) - int(turns.part_of(traversal[d], a))
            if topology.is_open[d] and a <= b and access + cost + leaving <= best:
                best, direct = access + cost + leaving, Path(pair, [Piece(d, a, b, cost)], access, leaving)
    if best > largest:
        return None
    if direct is not None or last is None:
        return direct
    root, arcs = reading.trace(best_state, label, parent, graph.arcs(is_backward=False))
    first = _first_step(graph, int(label[root]), int(root), here)
    if first is None:
        return None
    access, (begins_with, begin, cost, arc) = first
    arcs = np.concatenate([[arc], arcs])
    directed, costs = topology.arc_edge[arcs], graph.weights[arcs]
    extra = make_labels(topology.arc_extra_ms[arcs].astype(np.int64), np.int64(0), graph.metric)
    boardings = np.where(topology.arc_boards[arcs], costs - traversal[directed] - extra, 0)
    directed[0], costs[0] = begins_with, cost
    costs -= boardings
    # If states are directed edges, an arc is an edge and the turn after it, so that boarding belongs to the next edge.
    if topology.state_edge[root] >= 0:
        boardings = np.concatenate([[0], boardings[:-1]])
    columns = zip(directed.tolist(), costs.tolist(), boardings.tolist(), strict=True)
    pieces = [Piece(d, 0.0, 1.0, label, boarding) for d, label, boarding in columns]
    pieces[0] = replace(pieces[0], begin=begin)
    return Path(pair, [*pieces, last], access, egress)


def _first_step(
    graph: RoadGraph, label: int, root: int, here: Positions
) -> tuple[int, tuple[int, float, int, int]] | None:
    """Return the connector of the position of seed `root`, and its step: directed edge, place, label and arc."""
    topology = graph.topology
    for edge, fraction, connector in each_position(here):
        for d in (2 * edge, 2 * edge + 1):
            place = fraction if d % 2 == 0 else 1.0 - fraction
            rest = int(graph.traversal[d]) - int(turns.part_of(graph.traversal[d], place))
            for k in range(int(topology.exit_indptr[d]), int(topology.exit_indptr[d + 1])):
                cost = rest + int(graph.exit_keys[k])
                if topology.exit_states[k] == root and connector + cost == label:
                    return connector, (d, place, cost, int(topology.exit_arcs[k]))
    return None


def lines_between(coordinates: FloatArray, begins: Int64Array, ends: Int64Array) -> list[shapely.LineString]:
    """Return the lines through ranges of (lng, lat) rows, of which none is empty, as `line_of` does for each."""
    lengths = ends - begins
    indptr = indptr_of(lengths)
    of = np.repeat(np.arange(lengths.size), lengths)
    chosen = coordinates[np.arange(of.size) + (begins - indptr[:-1])[of]]
    times = np.ones(of.size, np.int64)
    times[1:] = (np.abs(np.diff(chosen, axis=0)) > _SAME_DEGREES).any(axis=1)
    times[indptr[:-1]] = 1
    # A line has two points at least: the first and the last, which may be the same row.
    one_point = np.add.reduceat(times, indptr[:-1]) == 1
    times[indptr[1:][one_point] - 1] += 1
    at = np.repeat(np.arange(of.size), times)
    lines: list[shapely.LineString] = shapely.linestrings(chosen[at], indices=of[at]).tolist()
    return lines


def parts_of_lines(tables: StreetTables, pieces: Sequence[Piece]) -> tuple[FloatArray, Int64Array]:
    """
    Return the lines of pieces, as `part_of_line` does for each.

    Returns
    -------
    coordinates : float64 array of shape (n, 2)
        The (lng, lat) rows of all pieces, one after the other. The route of a point to itself has no pieces.
    indptr : int64 array of shape (n_pieces + 1,)
        The rows of each piece.
    """
    if not pieces:
        return np.empty((0, 2)), np.zeros(1, np.int64)
    directed = np.array([piece.directed for piece in pieces], np.int64)
    begins, ends = tables.coord_indptr[directed // 2], tables.coord_indptr[directed // 2 + 1]
    lengths = ends - begins
    indptr = indptr_of(lengths)
    # The rows of edges that are followed from their end are taken from there.
    is_backward = directed % 2 == 1
    first, step = np.where(is_backward, ends - 1, begins), np.where(is_backward, -1, 1)
    rows = np.repeat(first - step * indptr[:-1], lengths) + np.repeat(step, lengths) * np.arange(indptr[-1])
    lng = tables.coord_lng[rows]
    coordinates = np.column_stack([lng, tables.coord_lat[rows]])
    is_odd = np.maximum.reduceat(lng, indptr[:-1]) - np.minimum.reduceat(lng, indptr[:-1]) > 180.0
    is_odd |= [piece.begin != 0.0 or piece.end != 1.0 for piece in pieces]
    parts, done = [], 0
    for number in np.flatnonzero(is_odd).tolist():
        part = part_of_line(tables, pieces[number])
        parts += [coordinates[done : indptr[number]], part]
        done, lengths[number] = int(indptr[number + 1]), len(part)
    return np.concatenate([*parts, coordinates[done:]]), indptr_of(lengths)


def part_of_line(tables: StreetTables, piece: Piece) -> FloatArray:
    """Return the (lng, lat) rows of a piece."""
    edge = piece.directed // 2
    rows = slice(int(tables.coord_indptr[edge]), int(tables.coord_indptr[edge + 1]))
    lng, lat = tables.coord_lng[rows], tables.coord_lat[rows]
    if piece.directed % 2:
        lng, lat = lng[::-1], lat[::-1]
    # Unwrap longitudes, so that a line across the 180th meridian remains short.
    unwrapped = lng
    if lng.max() - lng.min() > 180.0:
        unwrapped = np.degrees(np.unwrap(np.radians(lng)))
    if piece.begin == 0.0 and piece.end == 1.0:
        return np.column_stack([unwrapped, lat])
    along = np.concatenate([[0.0], np.cumsum(segment_lengths_m(lng, lat))])
    if along[-1] > 0:
        along /= along[-1]
    inner = (along > piece.begin) & (along < piece.end)
    places = np.concatenate([[piece.begin], along[inner], [piece.end]])
    return np.column_stack([np.interp(places, along, unwrapped), np.interp(places, along, lat)])
