"""
Measures of accessibility as arrays, summed over blocks of a travel-time matrix that is never held as a whole.

A measure makes one to three passes over the matrix. In each pass every block adds to sums by origin or by opportunity,
which do not depend on the order or the size of the blocks (`traveltime_lab.search.accessibility.exact_sums`): blocks
may come from any engine, from either side, or from several processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, Int32Array, Int64Array
from traveltime_lab.kernels.street import road
from traveltime_lab.kernels.transit.patterns import UNREACHED as NO_TIME
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
        `NO_TIME` if out of reach.
    """

    rows: slice
    columns: slice
    ms: Int32Array

    def seconds(self) -> Int32Array:
        """Return the travel times in seconds, rounded half up as in `time_filter`."""
        return (self.ms + np.int32(500)) // np.int32(1000)


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
    """

    query: Query
    starts: Snaps
    ends: Snaps
    limit: int
    n_layers: int = 1
    _kept: list[tuple[int, TimeBlock]] = field(default_factory=list)
    _is_kept: bool = False

    def blocks(self, *, again: bool = False) -> Iterator[tuple[int, TimeBlock]]:
        """
        Yield layers and blocks of travel times, each small enough for the cache.

        Parameters
        ----------
        again : bool, default False
            Whether there is another pass: the travel times are kept for it if they are few.
        """
        if self._is_kept:
            yield from self._kept
            return
        keeps = again and len(self.starts) * len(self.ends) * self.n_layers <= _MOST_KEPT
        kept: list[tuple[int, TimeBlock]] = []
        for block in self.query.blocks(self.starts, self.ends, self.limit, "auto"):
            for layer, part in self._parts(block):
                if keeps:
                    kept.append((layer, part))
                yield layer, part
        self._kept, self._is_kept = kept, keeps

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
    """Return the milliseconds of labels, `NO_TIME` if unreached."""
    return np.where(labels == road.UNREACHED, NO_TIME, label_parts.ms(labels)).astype(np.int32)


@dataclass(frozen=True)
class Weights:
    """Weights of travel times up to a limit."""

    limit: int
    table: FloatArray

    @classmethod
    def of(cls, decay: Decay, limit: int) -> Weights:
        """Return the weights of a decay."""
        return cls(limit, table_of(decay, limit))

    def __call__(self, block: TimeBlock, seconds: Int32Array) -> FloatArray:
        """Return the weights of a block."""
        # What is out of reach is compared in milliseconds, before it is rounded, as in `time_filter`.
        at = np.where(block.ms > self.limit * 1000, np.int32(self.limit + 1), seconds)
        return self.table[at]


def opportunities(matrix: Matrix, weights: Sequence[Weights], values: FloatArray, *, again: bool = False) -> FloatArray:
    """
    Return the weighted sums of opportunities in reach: cumulative opportunities, or gravity with a decay.

    Parameters
    ----------
    matrix : Matrix
    weights : sequence of Weights
        One for each limit.
    values : float64 array of shape (n_columns, n_opportunities)
        Amounts, 0 or more.
    again : bool, default False
        Whether there is another pass, see `Matrix.blocks`.

    Returns
    -------
    float64 array of shape (n_layers, n_limits, n_columns, n_origins)
        Each equal to `math.fsum` of the products of value and weight.
    """
    sums = _Sums((matrix.n_layers, len(weights), len(values)), len(matrix.starts), len(matrix.ends))
    most = values.max(axis=1).tolist()
    for layer, block in matrix.blocks(again=again):
        seconds = block.seconds()
        for n, weight in enumerate(weights):
            share = weight(block, seconds)
            for k, value in enumerate(values):
                sums.of((layer, n, k), most[k]).add(share * value[block.columns], block.rows, axis=1)
    return sums.totals()


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


def floating_catchments(
    matrix: Matrix, weights: Sequence[Weights], supply: FloatArray, demand: FloatArray, method: Catchment
) -> FloatArray:
    """
    Return the supply for each unit of demand that an origin has in reach.

    Parameters
    ----------
    matrix : Matrix
    weights : sequence of Weights
        One for each limit.
    supply : float64 array of shape (n_columns, n_opportunities)
    demand : float64 array of shape (n_origins,)
    method : Catchment

    Returns
    -------
    float64 array of shape (n_layers, n_limits, n_columns, n_origins)
    """
    n_origins, n_sites = len(matrix.starts), len(matrix.ends)
    layers, n_limits, n_columns = matrix.n_layers, len(weights), len(supply)
    has_supply = (supply > 0.0).astype(np.float64)
    whole = np.ones((layers, n_limits, n_columns, n_origins))
    # Without a choice between sites, demand is the same for all columns.
    n_demands = n_columns if method.with_selection else 1
    if method.with_selection:
        whole = opportunities(matrix, weights, has_supply, again=True)

    def shares(layer: int, n: int, k: int, weight: FloatArray, block: TimeBlock) -> FloatArray:
        """Return the weights of demand, in the three-step method by the share of each site in the choice."""
        if not method.with_selection:
            return weight
        total = whole[layer, n, k, block.rows][:, None]
        choice = weight * has_supply[k, block.columns]
        return np.divide(choice, total, out=np.zeros_like(choice), where=total > 0.0) * weight

    sums = _Sums((layers, n_limits, n_demands), n_sites, n_origins)
    most = float(demand.max())
    for layer, block in matrix.blocks(again=True):
        seconds, people = block.seconds(), demand[block.rows][:, None]
        for n, weight_of in enumerate(weights):
            weight = weight_of(block, seconds)
            for k in range(n_demands):
                sums.of((layer, n, k), most).add(shares(layer, n, k, weight, block) * people, block.columns, axis=0)
    needed = np.broadcast_to(sums.totals(), (layers, n_limits, n_columns, n_sites))
    # A site that no demand reaches has no ratio, and gives nothing to anybody.
    ratios = np.divide(supply, needed, out=np.zeros(needed.shape), where=needed > 0.0)
    access, highest = _Sums((layers, n_limits, n_columns), n_origins, n_sites), ratios.max(axis=-1)
    for layer, block in matrix.blocks():
        seconds = block.seconds()
        for n, weight_of in enumerate(weights):
            weight = weight_of(block, seconds)
            for k in range(n_columns):
                share = weight * weight if method.squares_access else shares(layer, n, k, weight, block)
                ratio = ratios[layer, n, k]
                access.of((layer, n, k), highest[layer, n, k]).add(share * ratio[block.columns], block.rows, axis=1)
    return access.totals()


def nearest(matrix: Matrix, limits: Sequence[int], counts: Int64Array, k: int) -> Int32Array:
    """
    Return the travel time to the k-th nearest opportunity.

    Parameters
    ----------
    matrix : Matrix
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
    best = np.full((matrix.n_layers, len(counts), len(matrix.starts), k), NO_TIME, np.int32)
    for layer, block in matrix.blocks():
        for column, count in enumerate(counts):
            places = np.minimum(count[block.columns], k)
            mine = best[layer, column, block.rows]
            both = np.concatenate([mine, np.repeat(block.ms, places, axis=1)], axis=1)
            best[layer, column, block.rows] = np.partition(both, k - 1, axis=1)[:, :k]
    ms = best.max(axis=3)[:, None]
    is_near = ms <= 1000 * np.array(limits)[:, None, None]
    return np.where(is_near, (ms + 500) // 1000, -1).astype(np.int32)


class _Sums:
    """Exact sums for each layer, limit and column, made when their largest term is known."""

    def __init__(self, shape: tuple[int, ...], n_sums: int, n_terms: int) -> None:
        self.shape, self.n_sums, self.n_terms = shape, n_sums, n_terms
        self.made: dict[tuple[int, ...], ExactSums] = {}

    def of(self, key: tuple[int, ...], largest: float) -> ExactSums:
        """Return the sums of a layer, limit and column, whose terms are at most `largest`."""
        if key not in self.made:
            self.made[key] = ExactSums(self.n_sums, self.n_terms, largest)
        return self.made[key]

    def totals(self) -> FloatArray:
        """Return all sums."""
        totals = np.zeros((*self.shape, self.n_sums))
        for key, sums in self.made.items():
            totals[key] = sums.totals()
        return totals
