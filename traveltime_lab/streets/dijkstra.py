"""
The engine "dijkstra": one bounded search from each origin, or from each destination if there are fewer.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from traveltime_lab._arrays import IndexArray, Int64Array, take_rows
from traveltime_lab.kernels import cache
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.runtime.progress import PARTS, advance, is_watched
from traveltime_lab.runtime.threads import map_ahead, row_blocks, side_by_side
from traveltime_lab.settings import settings
from traveltime_lab.streets import contraction
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.links import LinkedPoints
from traveltime_lab.streets.row_search import RowSearch
from traveltime_lab.streets.workspaces import search_space

#: Rows that are searched between two looks at the time, if there is a budget.
_ROWS_AT_ONCE: Final = 64


@dataclass(frozen=True)
class Dijkstra:
    """
    An `Engine` that searches from each point.

    Attributes
    ----------
    budget_s : float, default infinity
        Seconds that a hierarchy is expected to take. It does the rest if the searches take longer.
    """

    budget_s: float = np.inf

    def label_blocks(
        self, streets: StreetLayer, graph: RoadGraph, leaving: LinkedPoints, reached: LinkedPoints, largest: np.int64
    ) -> Iterator[tuple[slice, slice, Int64Array]]:
        """
        Yield the labels of all pairs.

        The search starts from the side with fewer points: backward searches on the transposed graph give the same
        integer labels as forward searches.
        """
        is_backward = len(reached.snaps) < len(leaving.snaps)
        rows, columns = (reached, leaving) if is_backward else (leaving, reached)
        n_rows, n_columns, done = len(rows.snaps), len(columns.snaps), 0
        searches = _searches(graph, rows, columns, largest, is_backward=is_backward, has_budget=self.budget_s < np.inf)
        stopwatch = _Stopwatch()
        while done < n_rows:
            stopwatch.start()
            part, labels = next(searches)
            spent_s = stopwatch.stop()
            done = part.stop
            if is_backward:
                yield slice(0, n_columns), part, labels.T
            else:
                yield part, slice(0, n_columns), labels
            if spent_s > self.budget_s and spent_s / done * (n_rows - done) > self.budget_s:
                # The estimate was wrong: a hierarchy does the rest.
                searches.close()
                rest = rows.part(slice(done, n_rows))
                ends = (leaving, rest) if is_backward else (rest, reached)
                for row_part, column_part, labels in contraction.label_blocks(streets, graph, *ends, largest):
                    if is_backward:
                        yield row_part, slice(column_part.start + done, column_part.stop + done), labels
                    else:
                        yield slice(row_part.start + done, row_part.stop + done), column_part, labels
                return

    def pair_labels(
        self,
        streets: StreetLayer,
        graph: RoadGraph,
        leaving: LinkedPoints,
        reached: LinkedPoints,
        row_indptr: Int64Array,
        largest: np.int64,
    ) -> Int64Array:
        """Return the labels of pairs with one search for each origin."""
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
        n_at_once = max(1, n_origins) if self.budget_s == np.inf else settings.threads * _ROWS_AT_ONCE
        if is_watched():
            n_at_once = min(n_at_once, max(settings.threads * _ROWS_AT_ONCE, n_origins // PARTS))
        stopwatch, spent_s = _Stopwatch(), 0.0
        for first in range(0, n_origins, n_at_once):
            if first and spent_s > self.budget_s and spent_s / first * (n_origins - first) > self.budget_s:
                # The estimate was wrong: a hierarchy does the rest.
                pairs, indptr = slice(int(row_indptr[first]), labels.size), row_indptr[first:] - row_indptr[first]
                ends = leaving.part(slice(first, n_origins)), reached.part(pairs)
                labels[pairs] = contraction.pair_labels(streets, graph, *ends, indptr, largest)
                break
            rows = np.arange(first, min(first + n_at_once, n_origins))
            parts = [part for part in np.array_split(rows, n_parts) if part.size]
            stopwatch.start()
            side_by_side([functools.partial(search, part) for part in parts])
            spent_s = stopwatch.stop()
            advance(int(row_indptr[rows[-1] + 1] - row_indptr[first]))
        return labels


class _Stopwatch:
    """Sums the time of searches, except those that had to wait for a kernel to be compiled or read from the cache."""

    def __init__(self) -> None:
        self._seconds = self._began = 0.0
        self._n_ready = 0

    def start(self) -> None:
        self._began, self._n_ready = time.perf_counter(), cache.n_ready()

    def stop(self) -> float:
        """Return the sum so far in seconds."""
        if cache.n_ready() == self._n_ready:
            self._seconds += time.perf_counter() - self._began
        return self._seconds


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
