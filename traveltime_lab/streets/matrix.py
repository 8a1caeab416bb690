"""
Compute the labels of many pairs of origins and destinations, with the engine that is fastest for the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import Float32Array, Int32Array, Int64Array
from traveltime_lab.kernels.street import turns
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import advance
from traveltime_lab.streets import engines, timed
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.local_pairs import local_labels, local_pairs
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps


@dataclass(frozen=True)
class Spread:
    """
    Percentiles of travel times over the departures (or arrivals) of a window.

    Attributes
    ----------
    ms : int32 array of shape (..., n_percents)
        Travel time in milliseconds that at least p percent of the departures do not exceed;
        `NEVER` where too few reach the destination.
    share : float32 array of shape (...)
        Share of the departures that reach the destination within the limit.
    """

    ms: Int32Array
    share: Float32Array


@dataclass(frozen=True)
class Block:
    """
    Labels of some origins and some destinations.

    Attributes
    ----------
    rows, columns : slice
        Origins and destinations of the block.
    labels : int64 array of shape (n_rows, n_columns)
        `UNREACHED` beyond the limit.
    spread : Spread, optional
        Percentiles, if requested, of shape (n_rows, n_columns).
    to_border : int32 array, optional
        With a timetable and if requested: the time by vehicles between each point of the search side and the border of
        the extract, ms; `NEVER` if it is out of reach.
    """

    rows: slice
    columns: slice
    labels: Int64Array
    spread: Spread | None = None
    to_border: Int32Array | None = None


def label_blocks(
    streets: StreetLayer,
    graph: RoadGraph,
    origins: Snaps,
    destinations: Snaps,
    snapping: Snapping,
    *,
    limit: float,
    engine: str = "auto",
    with_length: bool = True,
) -> Iterator[Block]:
    """
    Yield the labels of all pairs, in blocks of whole rows or whole columns.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    origins, destinations : Snaps
    snapping : Snapping
    limit : float
        Limit in seconds, or in metres in a graph of distances, including connectors.
    engine : {"auto", "dijkstra", "hierarchy", "pandana"}
        Name of the engine, see `traveltime_lab.streets.engines.engine_of`. All return the same labels at different
        speeds.
    with_length : bool, default True
        Whether the lower halves of the labels are needed. If not, an engine may leave them undefined to save time.

    Yields
    ------
    Block
    """
    engines.check_engine(engine)
    checkpoint()
    local = local_pairs(graph, origins, destinations, snapping, limit_label(limit, graph.metric))
    checkpoint()
    leaving = LinkedPoints.of(graph, origins, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, destinations, snapping, is_entry=True)
    for block in blocks_between(streets, graph, leaving, reached, limit=limit, engine=engine, with_length=with_length):
        checkpoint()
        local.write(block.rows, block.columns, block.labels)
        yield block


def blocks_between(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    *,
    limit: float,
    engine: str = "auto",
    with_length: bool = True,
) -> Iterator[Block]:
    """Yield the labels of all pairs as `label_blocks` does, without those of `local_pairs`."""
    largest = limit_label(limit, graph.metric)
    if isinstance(graph, timed.TimedGraph):
        timed.check_engine(engine)
        blocks = timed.label_blocks(graph, leaving, reached, largest)
    else:
        chosen = engines.engine_of(engine, streets, graph, leaving, reached, largest, with_length=with_length)
        blocks = chosen.label_blocks(streets, graph, leaving, reached, largest)
    for found in blocks:
        yield Block(*found)


def pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    pairs: Pairs,
    snapping: Snapping,
    *,
    limit: float,
    engine: str = "auto",
    with_length: bool = True,
) -> Int64Array:
    """
    Return the labels of chosen pairs.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
    pairs : Pairs
    snapping : Snapping
    limit : float
        Limit in seconds, or in metres in a graph of distances.
    engine, with_length
        As in `label_blocks`.

    Returns
    -------
    int64 array of shape (n_pairs,)
        `UNREACHED` beyond the limit.
    """
    engines.check_engine(engine)
    largest = limit_label(limit, graph.metric)
    if isinstance(graph, timed.TimedGraph):
        timed.check_engine(engine)
        result = timed.pair_labels(graph, pairs, snapping, largest)
        advance(len(pairs))
    else:
        result = _pair_labels(streets, graph, pairs, snapping, largest, engine, with_length=with_length)
    local, labels = local_labels(graph, pairs, snapping, largest)
    result[local] = labels
    return result


def _pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    pairs: Pairs,
    snapping: Snapping,
    largest: np.int64,
    engine: str,
    *,
    with_length: bool,
) -> Int64Array:
    """Return the labels of chosen pairs as `pair_labels` does, without those of `local_labels`."""
    order = np.argsort(pairs.origin_of, kind="stable")
    used, row_of = np.unique(pairs.origin_of[order], return_inverse=True)
    row_indptr = np.searchsorted(row_of, np.arange(used.size + 1)).astype(np.int64)
    near, far = pairs.starts.take(used), pairs.ends.take(pairs.destination_of[order])
    leaving = LinkedPoints.of(graph, near, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, far, snapping, is_entry=True)
    chosen = engines.engine_of(
        engine, streets, graph, leaving, reached, largest, with_length=with_length, are_pairs=True
    )
    labels = chosen.pair_labels(streets, graph, leaving, reached, row_indptr, largest)
    aligned = np.arange(labels.size)
    turns.improve_pairs(leaving.positions, reached.positions, row_of, aligned, graph.directed, largest, labels)
    result = np.empty_like(labels)
    result[order] = labels
    return result
