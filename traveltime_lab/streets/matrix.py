"""
Compute the labels of many pairs of origins and destinations, with the engine that is fastest for the request.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import Float32Array, IndexArray, Int32Array, Int64Array
from traveltime_lab._checks import one_of
from traveltime_lab.kernels import compiled
from traveltime_lab.kernels.street import road, turns
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import PARTS, advance, is_watched
from traveltime_lab.runtime.threads import map_ahead, row_blocks, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction, engines
from traveltime_lab.streets.graph import RoadGraph, take_rows
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.local_pairs import local_labels, local_pairs
from traveltime_lab.streets.row_search import RowSearch
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.workspaces import search_space

#: Rows that are searched between two looks at the time, if there is a budget.
_ROWS_AT_ONCE: Final = 64
ENGINES: Final = ("auto", "dijkstra", "hierarchy", "pandana")


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
    """

    rows: slice
    columns: slice
    labels: Int64Array
    spread: Spread | None = None


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
        Engine to use. All return the same labels at different speeds; ``"auto"`` selects one with
        `traveltime_lab.streets.engines.pays_off`.
    with_length : bool, default True
        Whether the lower halves of the labels are needed. If not, an engine may leave them undefined to save time.

    Yields
    ------
    Block

    Notes
    -----
    The search starts from the side with fewer points: backward searches on the transposed graph give the same integer
    labels as forward searches.
    """
    check_engine(engine)
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
    n_origins, n_destinations = len(leaving.snaps), len(reached.snaps)
    if engine == "pandana":
        from traveltime_lab.streets import pandana  # noqa: PLC0415 - an optional extra

        for part, labels in pandana.label_blocks(streets, graph, leaving, reached, largest, with_length=with_length):
            yield Block(slice(0, n_origins), part, labels)
        return
    budget_s = np.inf
    if engine == "auto":
        chosen = engines.choose(streets, graph, leaving, reached, largest)
        engine, budget_s = "hierarchy" if chosen.by_hierarchy else "dijkstra", chosen.hierarchy_s
    if engine == "hierarchy":
        for row_part, column_part, labels in contraction.label_blocks(streets, graph, leaving, reached, largest):
            yield Block(row_part, column_part, labels)
        return
    is_backward = n_destinations < n_origins
    rows, columns = (reached, leaving) if is_backward else (leaving, reached)
    n_rows, done = len(rows.snaps), 0
    searches = _searches(graph, rows, columns, largest, is_backward=is_backward, has_budget=budget_s < np.inf)
    stopwatch = _Stopwatch()
    while done < n_rows:
        stopwatch.start()
        part, labels = next(searches)
        spent_s = stopwatch.stop()
        done = part.stop
        if is_backward:
            yield Block(slice(0, n_origins), part, labels.T)
        else:
            yield Block(part, slice(0, n_destinations), labels)
        if spent_s > budget_s and spent_s / done * (n_rows - done) > budget_s:
            # The estimate was wrong: a hierarchy does the rest.
            searches.close()
            rest = rows.part(slice(done, n_rows))
            ends = (leaving, rest) if is_backward else (rest, reached)
            for row_part, column_part, labels in contraction.label_blocks(streets, graph, *ends, largest):
                if is_backward:
                    yield Block(row_part, slice(column_part.start + done, column_part.stop + done), labels)
                else:
                    yield Block(slice(row_part.start + done, row_part.stop + done), column_part, labels)
            return


class _Stopwatch:
    """Sums the time of searches, except those that had to wait for a kernel to be compiled or read from the cache."""

    def __init__(self) -> None:
        self._seconds = self._began = 0.0
        self._n_ready = 0

    def start(self) -> None:
        self._began, self._n_ready = time.perf_counter(), compiled.n_ready()

    def stop(self) -> float:
        """Return the sum so far in seconds."""
        if compiled.n_ready() == self._n_ready:
            self._seconds += time.perf_counter() - self._began
        return self._seconds


def check_engine(engine: str) -> None:
    """Raise InputError for an unknown engine."""
    one_of(engine, "engine", ENGINES)


def _searches(
    graph: RoadGraph,
    rows: LinkedPoints,
    columns: LinkedPoints,
    largest: np.int64,
    *,
    is_backward: bool,
    has_budget: bool,
) -> Generator[tuple[slice, Int64Array], None, None]:
    """Yield rows of labels from one bounded search per row, on all threads; a few rows at a time with a budget."""
    n_rows, n_columns = len(rows.snaps), len(columns.snaps)
    ready = RowSearch.of(graph, rows, columns, is_backward=is_backward, is_once=True)

    def search(part: slice) -> tuple[slice, Int64Array]:
        return part, ready.labels(part, np.full(part.stop - part.start, largest))

    parts = row_blocks(n_rows, n_columns)
    if has_budget:
        # Few rows at first, so that little is lost if the estimate was wrong.
        parts = [half for part in parts for half in _growing(part)]
    yield from map_ahead(search, parts)


def _growing(rows: slice) -> Iterator[slice]:
    """Split rows into parts of 1, 1, 2, 2, 4, 4, ... rows, up to `_ROWS_AT_ONCE`."""
    first, size = rows.start, 1.0
    while first < rows.stop:
        last = min(first + min(int(size), _ROWS_AT_ONCE), rows.stop)
        yield slice(first, last)
        first, size = last, size * 2.0**0.5


def pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    origins: Snaps,
    destinations: Snaps,
    snapping: Snapping,
    origin_of: IndexArray,
    destination_of: IndexArray,
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
    origins, destinations : Snaps
    snapping : Snapping
    origin_of, destination_of : intp arrays of shape (n_pairs,)
        Positions in `origins` and `destinations`.
    limit : float
        Limit in seconds, or in metres in a graph of distances.
    engine, with_length
        As in `label_blocks`.

    Returns
    -------
    int64 array of shape (n_pairs,)
        `UNREACHED` beyond the limit.
    """
    check_engine(engine)
    pairs = (origins, destinations, snapping, origin_of, destination_of)
    if engine == "pandana":
        from traveltime_lab.streets import pandana  # noqa: PLC0415 - an optional extra

        result = pandana.pair_labels(streets, graph, *pairs, limit=limit, with_length=with_length)
    else:
        result = _pair_labels(streets, graph, *pairs, limit=limit, engine=engine)
    chosen, labels = local_labels(graph, *pairs, limit_label(limit, graph.metric))
    result[chosen] = labels
    return result


def _pair_labels(
    streets: StreetLayer,
    graph: RoadGraph,
    origins: Snaps,
    destinations: Snaps,
    snapping: Snapping,
    origin_of: IndexArray,
    destination_of: IndexArray,
    *,
    limit: float,
    engine: str,
) -> Int64Array:
    """Return the labels of chosen pairs by searches or a hierarchy; none is taken for one place or on an island."""
    order = np.argsort(origin_of, kind="stable")
    used, row_of = np.unique(origin_of[order], return_inverse=True)
    row_indptr = np.searchsorted(row_of, np.arange(used.size + 1)).astype(np.int64)
    near, far = origins.take(used), destinations.take(destination_of[order])
    leaving = LinkedPoints.of(graph, near, snapping, is_entry=False)
    reached = LinkedPoints.of(graph, far, snapping, is_entry=True)
    largest = limit_label(limit, graph.metric)
    budget_s = np.inf
    if engine == "auto":
        chosen = engines.choose(streets, graph, leaving, reached, largest, are_pairs=True)
        engine, budget_s = "hierarchy" if chosen.by_hierarchy else "dijkstra", chosen.hierarchy_s
    if engine == "hierarchy":
        labels = contraction.pair_labels(streets, graph, leaving, reached, row_indptr, largest)
    else:
        labels = _search_pairs(streets, graph, leaving, reached, row_indptr, largest, budget_s)
    aligned = np.arange(labels.size)
    turns.improve_pairs(leaving.positions, reached.positions, row_of, aligned, graph.directed, largest, labels)
    result = np.empty_like(labels)
    result[order] = labels
    return result


def _search_pairs(
    streets: StreetLayer,
    graph: RoadGraph,
    leaving: LinkedPoints,
    reached: LinkedPoints,
    row_indptr: Int64Array,
    largest: np.int64,
    budget_s: float,
) -> Int64Array:
    """Return the labels of pairs with one search for each origin, and a hierarchy for those after the budget."""
    core = graph.core(is_backward=False)
    seeds, reads = core.seed_rows(leaving.ports), core.read_rows(reached.ports)
    labels = np.full(len(reached.snaps), UNREACHED, np.int64)

    def search(rows: IndexArray) -> None:
        first, last = row_indptr[rows[0]], row_indptr[rows[-1] + 1]
        with search_space(graph, core) as space:
            space.queue = road.one_to_some(
                core.arcs,
                take_rows(seeds, int(rows[0]), int(rows[-1]) + 1),
                take_rows(reads, int(first), int(last)),
                row_indptr[rows[0] : rows[-1] + 2] - first,
                np.full(rows.size, largest),
                space.label,
                space.queue,
                labels[first:last],
            )

    n_origins = len(leaving.snaps)
    n_parts = min(settings.threads * 4, max(1, n_origins // 8))
    n_at_once = max(1, n_origins) if budget_s == np.inf else settings.threads * _ROWS_AT_ONCE
    if is_watched():
        n_at_once = min(n_at_once, max(settings.threads * _ROWS_AT_ONCE, n_origins // PARTS))
    stopwatch, spent_s = _Stopwatch(), 0.0
    for first in range(0, n_origins, n_at_once):
        if first and spent_s > budget_s and spent_s / first * (n_origins - first) > budget_s:
            # The estimate was wrong: a hierarchy does the rest.
            rest, pairs = slice(first, n_origins), slice(int(row_indptr[first]), labels.size)
            ends = leaving.part(rest), reached.part(pairs)
            labels[pairs] = contraction.pair_labels(streets, graph, *ends, row_indptr[first:] - pairs.start, largest)
            break
        rows = np.arange(first, min(first + n_at_once, n_origins))
        parts = [part for part in np.array_split(rows, n_parts) if part.size]
        stopwatch.start()
        side_by_side([functools.partial(search, part) for part in parts])
        spent_s = stopwatch.stop()
        advance(int(row_indptr[rows[-1] + 1] - row_indptr[first]))
    return labels
