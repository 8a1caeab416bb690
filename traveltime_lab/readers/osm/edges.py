"""Split ways into edges at junctions: ragged node references in, edges with their lines out, all in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array, Int64Array, indptr_of, unique_values
from traveltime_lab.crs import line_length_m, nanometres, segment_lengths_m
from traveltime_lab.readers.osm.extract import Ways
from traveltime_lab.readers.osm.nodes import NodePositions

#: Minimum length of an edge. Different nodes may share a point, and positions along an edge need a length.
SHORTEST_EDGE_M = 0.01
#: Segments that are measured at once.
_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Runs:
    """
    Unbroken stretches of ways: their nodes that are in the file, without consecutive duplicates.

    Attributes
    ----------
    node : int32 array of shape (n_positions,)
        Index of the node in the node positions.
    way : int32 array of shape (n_positions,)
        Row of the way.
    is_start, is_end : bool arrays of shape (n_positions,)
        First and last position of each stretch.
    is_whole : bool array of shape (n_ways,)
        Ways of which all nodes are in the file.
    cut : int32 array
        Indices of the nodes next to a missing one on a way, in any order.
    report : dict
        Numbers of ways that were cut or dropped, by reason.
    """

    node: Int32Array
    way: Int32Array
    is_start: BoolArray
    is_end: BoolArray
    is_whole: BoolArray
    cut: Int32Array
    report: dict[str, int]


@dataclass(frozen=True)
class Edges:
    """Edges between junctions and other splitting nodes; node indices are those of the node positions."""

    from_node: Int32Array
    to_node: Int32Array
    way: Int32Array
    length_m: FloatArray
    coord_indptr: Int64Array
    coord_node: Int32Array
    coord_lng: FloatArray
    coord_lat: FloatArray


def unbroken_runs(ways: Ways, positions: NodePositions) -> Runs:
    """Return the stretches of ways whose nodes are all in the file."""
    n_ways = len(ways.osm_id)
    way = way_of_ref = np.repeat(np.arange(n_ways, dtype=np.int32), np.diff(ways.indptr))
    node = positions.find(ways.refs)
    is_missing = node < 0
    beside = np.zeros(len(node), np.bool_)
    same_way = way[1:] == way[:-1]
    beside[1:] |= is_missing[:-1] & same_way
    beside[:-1] |= is_missing[1:] & same_way
    cut = unique_values(node[beside & ~is_missing])
    is_repeated = np.zeros(len(node), np.bool_)
    is_repeated[1:] = (node[1:] == node[:-1]) & (way[1:] == way[:-1]) & ~is_missing[1:]
    # All nodes of a stretch have the same number of missing nodes before them.
    gap = np.cumsum(is_missing, dtype=np.int32)
    keep = ~(is_missing | is_repeated)
    if not keep.all():
        node, way, gap = node[keep], way[keep], gap[keep]
    is_start, is_end = _bounds(way, gap)
    is_alone = is_start & is_end
    if is_alone.any():
        node, way, gap = node[~is_alone], way[~is_alone], gap[~is_alone]
        is_start, is_end = _bounds(way, gap)
    has_missing = np.bincount(way_of_ref[is_missing], minlength=n_ways) > 0
    is_kept = np.bincount(way, minlength=n_ways) > 0
    report = {
        "missing_node_references": int(is_missing.sum()),
        "ways_cut_at_missing_nodes": int((has_missing & is_kept).sum()),
        "ways_dropped_missing_nodes": int((has_missing & ~is_kept).sum()),
        "ways_dropped_degenerate": int((~has_missing & ~is_kept).sum()),
    }
    return Runs(node, way, is_start, is_end, ~has_missing, cut, report)


def _bounds(way: Int32Array, gap: Int32Array) -> tuple[BoolArray, BoolArray]:
    is_start = np.ones(len(way), np.bool_)
    is_start[1:] = (way[1:] != way[:-1]) | (gap[1:] != gap[:-1])
    is_end = np.ones(len(way), np.bool_)
    is_end[:-1] = is_start[1:]
    return is_start, is_end


def split_at_junctions(runs: Runs, positions: NodePositions, must_split: BoolArray) -> Edges:
    """
    Split stretches of ways at their ends, at nodes that are passed more than once, and at nodes that must split.

    Parameters
    ----------
    runs : Runs
        Stretches of ways.
    positions : NodePositions
        Positions of the nodes.
    must_split : bool array of shape (n_nodes,)
        Nodes at which edges end even if only one way passes them.

    Returns
    -------
    Edges
        In the order of the ways and along each way. An edge between two different nodes at the same point gets the
        length `SHORTEST_EDGE_M`; a loop of zero length is dropped.
    """
    n_passes = np.bincount(runs.node, minlength=len(positions.osm_id))
    is_split = (n_passes > 1) | must_split
    del n_passes
    stop = np.flatnonzero(is_split[runs.node] | runs.is_start | runs.is_end)
    is_edge = ~runs.is_end[stop[:-1]] if len(stop) else np.zeros(0, np.bool_)
    first, last = stop[:-1][is_edge], stop[1:][is_edge]
    del stop, is_edge

    along_nm = _along_nm(runs, positions)
    length_m = (along_nm[last] - along_nm[first]) / 1e9
    del along_nm
    is_pointlike = (runs.node[first] == runs.node[last]) & (length_m < SHORTEST_EDGE_M)
    first, last = first[~is_pointlike], last[~is_pointlike]
    length_m = np.maximum(length_m[~is_pointlike], SHORTEST_EDGE_M)

    counts = last - first + 1
    indptr = indptr_of(counts)
    take = np.repeat(first - indptr[:-1], counts)
    take += np.arange(take.size)
    node = runs.node[take]
    del take
    return Edges(
        runs.node[first], runs.node[last], runs.way[first], length_m, indptr, node, positions.lng[node],
        positions.lat[node],
    )  # fmt: skip


def _along_nm(runs: Runs, positions: NodePositions) -> Int64Array:
    """Return how far along the stretches, one after the other, each position is, in nanometres."""
    along_nm = np.zeros(len(runs.node), np.int64)
    # Some at a time, because coordinates have twice the memory of the result.
    for begin in range(0, len(runs.node) - 1, _AT_ONCE):
        node = runs.node[begin : begin + _AT_ONCE + 1]
        along_nm[begin + 1 : begin + node.size] = nanometres(
            segment_lengths_m(positions.lng[node], positions.lat[node])
        )
    along_nm[1:][runs.is_end[:-1]] = 0
    return np.cumsum(along_nm, out=along_nm)


def way_lengths_m(runs: Runs, positions: NodePositions, rows: Sequence[int]) -> dict[int, float]:
    """Return the lengths of some ways in metres by row, without parts whose nodes are missing in the file."""
    length_m = {}
    for row in rows:
        node = runs.node[slice(*np.searchsorted(runs.way, [row, row + 1]))]
        length_m[row] = line_length_m(positions.lng[node], positions.lat[node])
    return length_m


def joined_ways(*parts: Ways) -> Ways:
    """Concatenate ways."""
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    return Ways(
        np.concatenate([part.osm_id for part in parts]),
        [text for part in parts for text in part.tags],
        indptr_of(counts),
        np.concatenate([part.refs for part in parts]),
    )


def no_ways() -> Ways:
    """Return a table of ways without any."""
    return Ways(np.zeros(0, np.int64), [], np.zeros(1, np.int64), np.zeros(0, np.int64))
