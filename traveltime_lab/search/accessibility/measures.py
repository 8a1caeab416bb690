"""
Measures of accessibility as arrays, summed over blocks of a travel-time matrix that is never held as a whole.

A measure makes one to three passes over the matrix. In each pass every block adds to sums by origin or by opportunity,
which do not depend on the order or the size of the blocks (`traveltime_lab.search.accessibility.exact_sums`): blocks
may come from any engine, from either side, or from several processes.

A pass is a `Step` for all origins, or one for each of several parts of them, whose results are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from traveltime_lab._arrays import FloatArray, IndexArray, Int32Array, Int64Array
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.runtime.progress import advance
from traveltime_lab.search import trip_costs
from traveltime_lab.search.accessibility.decay import Decay, table_of
from traveltime_lab.search.accessibility.exact_sums import ExactSums
from traveltime_lab.search.query import Query
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.matrix import Block
from traveltime_lab.streets.snapping import Snaps

#: Number of pairs whose arrays are worked on at once; they fit into the cache of a processor (assumed).
_AT_ONCE: Final = 1 << 16
#: Most travel times that are kept between passes, 4 bytes each; with more, each pass searches again.
_MOST_KEPT: Final = 64_000_000


@dataclass(frozen=True)
class TimeBlock:
    """
    Travel times of some origins and some opportunities.

    Attributes
    ----------
    rows, columns : slice
    ms : int32 array of shape (n_rows, n_columns), ms
        `NEVER` if out of reach.
    """

    rows: slice
    columns: slice
    ms: Int32Array

    def seconds(self) -> Int32Array:
        """Return the travel times in seconds, rounded as in `time_filter`."""
        return whole_seconds(self.ms)


@dataclass
class Matrix:
    """
    The travel times of all origins and opportunities, as blocks.

    Attributes
    ----------
    query : Query
    starts, ends : Snaps
        Snapped origins and opportunities.
    limit : int
        Largest travel time in seconds.
    n_layers : int
        Number of percentiles, or 1.
    to_border : int32 array of shape (n_origins,), optional
        With a timetable and a departure time, after a pass with `needs_border` of the query: the time between each
        origin and the border of the extract by vehicles, ms.
    """

    query: Query
    starts: Snaps
    ends: Snaps
    limit: int
    n_layers: int = 1
    to_border: Int32Array | None = None
    _kept: list[tuple[int, TimeBlock]] = field(default_factory=list)
    _is_kept: bool = False

    def blocks(self, *, again: bool = False) -> Iterator[tuple[int, TimeBlock]]:
        """
        Yield layers and blocks of travel times, each small enough for the cache.

        Parameters
        ----------
        again : bool, default False
            Whether a further pass follows: the travel times are kept for it if they are few.
        """
        if self._is_kept:
            yield from self._kept
            return
        keeps = again and len(self.starts) * len(self.ends) * self.n_layers <= _MOST_KEPT
        kept: list[tuple[int, TimeBlock]] = []
        for block in trip_costs.blocks(self.query, self.starts, self.ends, self.limit):
            if block.to_border is not None and not self.query.is_arrival:
                self.note(block.rows, block.to_border)
            for layer, part in self._parts(block):
                if keeps:
                    kept.append((layer, part))
                yield layer, part
        self._kept, self._is_kept = kept, keeps

    def note(self, rows: slice, to_border: Int32Array) -> None:
        """Keep the times to the border of some origins."""
        if self.to_border is None:
            self.to_border = np.full(len(self.starts), NEVER, np.int32)
        self.to_border[rows] = to_border

    def nearest(self, columns: IndexArray, k: int) -> tuple[IndexArray, Int64Array] | None:
        """Return the `k` nearest of some opportunities for each origin, None where a matrix is quicker."""
        if self.query.most:
            return None
        return self.query.nearest(self.starts, self.ends.take(columns), k, self.limit)

    def _parts(self, block: Block) -> Iterator[tuple[int, TimeBlock]]:
        """Yield the layers of a block of labels, a few rows at a time."""
        n_rows, n_columns = block.labels.shape
        step = max(1, _AT_ONCE // max(n_columns, 1))
        for first in range(0, n_rows, step):
            part = slice(first, min(first + step, n_rows))
            rows = slice(block.rows.start + part.start, block.rows.start + part.stop)
            for layer in range(self.n_layers):
                ms = _ms(block.labels[part]) if block.spread is None else block.spread.ms[part, :, layer]
                yield layer, TimeBlock(rows, block.columns, np.ascontiguousarray(ms))


def _ms(labels: Int64Array) -> Int32Array:
    """Return the milliseconds of labels, `NEVER` if unreached."""
    return np.where(labels == UNREACHED, NEVER, label_parts.ms(labels)).astype(np.int32)


@dataclass(frozen=True)
class Weights:
    """Weights of travel times up to a limit."""

    limit: int
    table: FloatArray

    @classmethod
    def of(cls, decay: Decay, limit: int) -> Weights:
        """Return the weights of a decay."""
        return cls(limit, table_of(decay, limit))

    def __call__(self, seconds: Int32Array) -> FloatArray:
        """Return the weights of travel times in whole seconds."""
        return self.table[np.minimum(seconds, np.int32(self.limit + 1))]


Step: TypeAlias = Callable[[Matrix], Any]
#: Returns the step of some consecutive origins.
StepOf: TypeAlias = Callable[[slice], Step]


@dataclass
class Passes:
    """The passes over a matrix, each in one step."""

    matrix: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of origins and opportunities."""
        return len(self.matrix.starts), len(self.matrix.ends)

    def run(self, step_of: StepOf) -> list[Any]:
        """Return the results of the steps of a pass, in the order of the origins."""
        return [step_of(slice(0, self.shape[0]))(self.matrix)]


@dataclass(frozen=True, eq=False)
class _Reach:
    """Step of `opportunities`."""

    weights: Sequence[Weights]
    values: FloatArray
    again: bool

    def __call__(self, matrix: Matrix) -> FloatArray:
        sums = _Sums((matrix.n_layers, len(self.weights), len(self.values)), len(matrix.starts), len(matrix.ends))
        most = self.values.max(axis=1).tolist()
        for layer, block in matrix.blocks(again=self.again):
            seconds = block.seconds()
            for n, weight in enumerate(self.weights):
                share = weight(seconds)
                for k, value in enumerate(self.values):
                    sums.of((layer, n, k), most[k]).add(share * value[block.columns], block.rows, axis=1)
        return sums.totals()


def opportunities(passes: Passes, weights: Sequence[Weights], values: FloatArray, *, again: bool = False) -> FloatArray:
    """
    Return the weighted sums of opportunities in reach: cumulative opportunities, or gravity with a decay.

    Parameters
    ----------
    passes : Passes
    weights : sequence of Weights
        One for each limit.
    values : float64 array of shape (n_columns, n_opportunities)
        Amounts, 0 or more.
    again : bool, default False
        Whether a further pass follows, see `Matrix.blocks`.

    Returns
    -------
    float64 array of shape (n_layers, n_limits, n_columns, n_origins)
        Each equal to `math.fsum` of the products of value and weight.
    """
    return np.concatenate(passes.run(lambda _rows: _Reach(weights, values, again)), axis=-1)


@dataclass(frozen=True)
class Catchment:
    """
    A floating catchment area method: how travel times weigh in demand, and in access.

    Attributes
    ----------
    with_selection : bool
        Whether the demand of an origin is shared among the sites by their weights, as in the three-step method.
    squares_access : bool
        Whether the weight applies twice to access, as in the modified two-step method.
    """

    with_selection: bool = False
    squares_access: bool = False


@dataclass(frozen=True, eq=False)
class _Choice:
    """
    How the demand of some origins is shared among sites.

    Attributes
    ----------
    has_supply : float64 array of shape (n_columns, n_sites)
        1 where there is some, otherwise 0.
    whole : float64 array of shape (n_layers, n_limits, n_columns, n_origins) or None
        Weighted sites in reach of each origin; None without a choice between sites.
    """

    has_supply: FloatArray
    whole: FloatArray | None

    def shares(self, at: tuple[int, int, int], weight: FloatArray, block: TimeBlock) -> FloatArray:
        """Return the weights of demand, in the three-step method by the share of each site in the choice."""
        if self.whole is None:
            return weight
        total = self.whole[(*at, block.rows)][:, None]
        choice = weight * self.has_supply[at[2], block.columns]
        return np.divide(choice, total, out=np.zeros_like(choice), where=total > 0.0) * weight


@dataclass(frozen=True, eq=False)
class _Demand:
    """Step of `floating_catchments` that adds up the demand that reaches each site."""

    weights: Sequence[Weights]
    choice: _Choice
    demand: FloatArray
    n_columns: int
    most: float
    n_all_origins: int

    def __call__(self, matrix: Matrix) -> _Sums:
        shape = (matrix.n_layers, len(self.weights), self.n_columns)
        sums = _Sums(shape, len(matrix.ends), self.n_all_origins)
        for layer, block in matrix.blocks(again=True):
            seconds, people = block.seconds(), self.demand[block.rows][:, None]
            for n, weight_of in enumerate(self.weights):
                weight = weight_of(seconds)
                for k in range(self.n_columns):
                    share = self.choice.shares((layer, n, k), weight, block)
                    sums.of((layer, n, k), self.most).add(share * people, block.columns, axis=0)
        return sums


@dataclass(frozen=True, eq=False)
class _Access:
    """Step of `floating_catchments` that adds up the opportunities in reach of each origin."""

    weights: Sequence[Weights]
    choice: _Choice
    ratios: FloatArray
    squares_access: bool

    def __call__(self, matrix: Matrix) -> FloatArray:
        n_columns = self.ratios.shape[2]
        sums = _Sums((matrix.n_layers, len(self.weights), n_columns), len(matrix.starts), len(matrix.ends))
        highest = self.ratios.max(axis=-1)
        for layer, block in matrix.blocks():
            seconds = block.seconds()
            for n, weight_of in enumerate(self.weights):
                weight = weight_of(seconds)
                for k in range(n_columns):
                    at = layer, n, k
                    share = weight * weight if self.squares_access else self.choice.shares(at, weight, block)
                    sums.of(at, highest[at]).add(share * self.ratios[at][block.columns], block.rows, axis=1)
        return sums.totals()


def floating_catchments(
    passes: Passes, weights: Sequence[Weights], supply: FloatArray, demand: FloatArray, method: Catchment
) -> FloatArray:
    """
    Return the supply for each unit of demand that an origin has in reach.

    Parameters
    ----------
    passes : Passes
    weights : sequence of Weights
        One for each limit.
    supply : float64 array of shape (n_columns, n_opportunities)
    demand : float64 array of shape (n_origins,)
    method : Catchment

    Returns
    -------
    float64 array of shape (n_layers, n_limits, n_columns, n_origins)
    """
    has_supply = (supply > 0.0).astype(np.float64)
    whole = opportunities(passes, weights, has_supply, again=True) if method.with_selection else None

    def choice(rows: slice) -> _Choice:
        return _Choice(has_supply, None if whole is None else whole[..., rows])

    # Without a choice between sites, demand is the same for all columns.
    n_demands, most = len(supply) if method.with_selection else 1, float(demand.max())
    sums, *others = passes.run(lambda rows: _Demand(weights, choice(rows), demand[rows], n_demands, most, demand.size))
    for other in others:
        sums.merge(other)
    needed = sums.totals()
    # A site that no demand reaches has no ratio, and adds nothing to any origin.
    ratios = np.zeros((*needed.shape[:2], *supply.shape))
    np.divide(supply, needed, out=ratios, where=needed > 0.0)
    return np.concatenate(
        passes.run(lambda rows: _Access(weights, choice(rows), ratios, method.squares_access)), axis=-1
    )


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Step of `nearest`."""

    limits: Sequence[int]
    counts: Int64Array
    k: int

    def __call__(self, matrix: Matrix) -> Int32Array:
        ms = self._by_searches(matrix)
        if ms is None:
            ms = self._by_matrix(matrix)
        seconds = whole_seconds(ms)[:, None]
        is_near = seconds <= np.array(self.limits)[:, None, None]
        return np.where(is_near, seconds, -1).astype(np.int32)

    def _by_searches(self, matrix: Matrix) -> Int32Array | None:
        """
        Return the milliseconds with one search for each column; None where the matrix is quicker.

        Returns
        -------
        int32 array of shape (1, n_columns, n_origins)
            `NEVER` where fewer than `k` opportunities are within the limit of the matrix.
        """
        ms = np.full((1, len(self.counts), len(matrix.starts)), NEVER, np.int32)
        for column, count in enumerate(self.counts):
            has_any = np.flatnonzero(count)
            if not has_any.size:
                continue
            k = min(self.k, has_any.size)
            found = matrix.nearest(has_any, k)
            if found is None:
                return None
            places, labels = found
            so_far = np.where(places >= 0, np.minimum(count[has_any], self.k)[places], 0).cumsum(axis=1)
            enough = so_far >= self.k
            rows, at = np.flatnonzero(enough[:, -1]), enough.argmax(axis=1)
            ms[0, column, rows] = label_parts.ms(labels[rows, at[rows]])
        advance(len(matrix.starts) * len(matrix.ends))
        return ms

    def _by_matrix(self, matrix: Matrix) -> Int32Array:
        """Return the same for each layer of the matrix."""
        k = self.k
        best = np.full((matrix.n_layers, len(self.counts), len(matrix.starts), k), NEVER, np.int32)
        for layer, block in matrix.blocks():
            for column, count in enumerate(self.counts):
                places = np.minimum(count[block.columns], k)
                mine = best[layer, column, block.rows]
                both = np.concatenate([mine, np.repeat(block.ms, places, axis=1)], axis=1)
                best[layer, column, block.rows] = np.partition(both, k - 1, axis=1)[:, :k]
        return np.asarray(best.max(axis=3))


def nearest(passes: Passes, limits: Sequence[int], counts: Int64Array, k: int) -> Int32Array:
    """
    Return the travel time to the k-th nearest opportunity.

    Parameters
    ----------
    passes : Passes
    limits : sequence of int
        Maximum travel times in seconds.
    counts : int64 array of shape (n_columns, n_opportunities)
        Number of opportunities at each place.
    k : int

    Returns
    -------
    int32 array of shape (n_layers, n_limits, n_columns, n_origins), s
        -1 if fewer than `k` are in reach.
    """
    return np.concatenate(passes.run(lambda _rows: _Nearest(limits, counts, k)), axis=-1)


class _Sums:
    """Exact sums for each layer, limit and column, created when their largest term is known."""

    def __init__(self, shape: tuple[int, ...], n_sums: int, n_terms: int) -> None:
        self.shape, self.n_sums, self.n_terms = shape, n_sums, n_terms
        self.made: dict[tuple[int, ...], ExactSums] = {}

    def of(self, key: tuple[int, ...], largest: float) -> ExactSums:
        """Return the sums of a layer, limit and column, whose terms are at most `largest`."""
        if key not in self.made:
            self.made[key] = ExactSums(self.n_sums, self.n_terms, largest)
        return self.made[key]

    def merge(self, other: _Sums) -> None:
        """Add the sums of other terms."""
        for key, sums in other.made.items():
            if key in self.made:
                self.made[key].merge(sums)
            else:
                self.made[key] = sums

    def totals(self) -> FloatArray:
        """Return all sums."""
        totals = np.zeros((*self.shape, self.n_sums))
        for key, sums in self.made.items():
            totals[key] = sums.totals()
        return totals
