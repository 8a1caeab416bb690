"""
Travel times of pairs as arrays, for `time_filter` and the HTTP service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.rounding import most_s
from traveltime_lab.search import border, trip_costs
from traveltime_lab.search.pairs import cm_of, departures, metres_of, seconds_of
from traveltime_lab.search.query import Query
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets import matrix
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit import travel_times


@dataclass(frozen=True)
class PairTimes:
    """
    Travel times with one row per pair, or with one row per itinerary in a window.

    Attributes
    ----------
    pairs : Pairs
        The pair of each row.
    labels : int64 array of shape (n_rows,)
        See `traveltime_lab.kernels.street.road`; `seconds_of` and `metres_of` decode them.
    moments : list of datetime or None, optional
        With a window: departure times, or arrival times in a search by arrival time.
    spread : Spread, optional
        Percentiles and shares, if requested.
    reaches_border : bool array of shape (n_rows,), optional
        If requested; see `traveltime_lab.search.border.of_pairs`.
    charges : dict of str to float64 array of shape (n_rows,)
        Emissions and costs, if the query has them; NaN where they are not known.
    """

    pairs: Pairs
    labels: Int64Array
    moments: list[Any] | None
    spread: matrix.Spread | None
    reaches_border: BoolArray | None = None
    charges: dict[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.labels.size

    def joined(self, each: Sequence[PairTimes]) -> PairTimes:
        """Return the rows of several searches of the same points, one after the other."""
        origin_of = np.concatenate([found.pairs.origin_of for found in each])
        destination_of = np.concatenate([found.pairs.destination_of for found in each])
        moments = None if self.moments is None else [moment for found in each for moment in found.moments or ()]
        spread = None if self.spread is None else _joined([found.spread for found in each if found.spread is not None])
        labels = np.concatenate([found.labels for found in each])
        flags = None
        if self.reaches_border is not None:
            flags = np.concatenate([found.reaches_border for found in each if found.reaches_border is not None])
        charges = {name: np.concatenate([found.charges[name] for found in each]) for name in self.charges}
        return PairTimes(
            Pairs(self.pairs.starts, self.pairs.ends, (origin_of, destination_of)), labels, moments, spread, flags,
            charges,
        )  # fmt: skip


def pair_times(query: Query, pairs: Pairs, limit: int, *, n_best: int = 1, engine: str = "auto") -> PairTimes:
    """
    Return the travel times of pairs, including unreachable ones.

    Parameters
    ----------
    query : Query
        Validated query.
    pairs : Pairs
        Snapped origins and destinations, see `Query.snap_at`.
    limit : int
        Maximum travel time in seconds.
    n_best : int, default 1
        Maximum number of itineraries per pair, with a window.
    engine : str, default "auto"
    """
    transit = query.transit
    if query.charges:
        found = pair_times(replace(query, charges=()), pairs, limit, n_best=n_best, engine=engine)
        labels = found.labels
        if transit is not None:
            labels = pair_times(trip_costs.in_grams(query), pairs, limit, n_best=n_best, engine=engine).labels
        return replace(found, charges=trip_costs.of_labels(query, labels))
    if transit is None or not transit.window or not transit.with_least:
        if transit is not None and n_best > 1:
            transit.check_headways("several trips of a window")
        labels, spread, to_border = _every(query, pairs, limit, engine)
        return _flagged(query, PairTimes(pairs, labels, None, spread), to_border)
    spread = to_border = None
    if transit.has_spread:
        _, spread, to_border = _every(replace(query, needs_length=False), pairs, limit, engine)
    elif query.needs_border:
        to_border = travel_times.times_to_border(transit, pairs.ends if query.is_arrival else pairs.starts)
    rows, labels, moments, n_rows = departures(query, pairs, n_best)
    # A pair with fewer itineraries than requested may have one more, which its last row stands for.
    is_short = np.zeros(n_rows.sum(), np.bool_)
    is_short[np.cumsum(n_rows) - 1] = n_rows < n_best
    return _flagged(query, PairTimes(rows, labels, moments, spread), to_border, is_short)


def _flagged(
    query: Query, found: PairTimes, to_border: Int32Array | None, is_short: BoolArray | None = None
) -> PairTimes:
    """
    Return travel times with the flags of rows that a way across the border may change, if requested.

    Parameters
    ----------
    query, found
    to_border : int32 array, optional
        See `traveltime_lab.search.border.of_pairs`.
    is_short : bool array of shape (n_rows,), optional
        Rows that also change if there is a further trip within the limit.
    """
    if not query.needs_border:
        return found
    pairs, is_reached = found.pairs, found.labels != UNREACHED
    limit_s = float(query.limit) if query.is_in_metres else most_s(query.limit)
    longest = np.where(is_reached, label_parts.primary(found.labels) / query.graph.unit, limit_s)
    if found.spread is not None:
        ms = found.spread.ms.max(axis=1, initial=0)
        longest = np.maximum(longest, np.where(ms < NEVER, ms / 1000.0, limit_s))
        # A departure that reaches the destination too late may reach it in time.
        longest[query.question.with_share & (found.spread.share < 1.0)] = limit_s
    if is_short is not None:
        longest[is_short] = limit_s
    return replace(found, reaches_border=border.of_pairs(query, pairs, longest, to_border))


def _every(
    query: Query, pairs: Pairs, limit: int, engine: str
) -> tuple[Int64Array, matrix.Spread | None, Int32Array | None]:
    """Return the labels of pairs, their percentiles and shares, and the times to the border, if requested."""
    if pairs.chosen is not None and query.transit is not None:
        return travel_times.pair_labels(
            query.transit, pairs, with_length=query.needs_length, with_border=query.needs_border
        )
    if pairs.chosen is not None:
        labels = matrix.pair_labels(
            query.network.streets, query.graph, pairs, query.snapping,
            limit=limit, engine=engine, with_length=query.needs_length,
        )  # fmt: skip
        return labels, None, None
    shape = (len(pairs.starts), len(pairs.ends))
    table, spread = np.empty(shape, np.int64), None
    to_border = np.full(shape[1 if query.is_arrival else 0], NEVER, np.int32)
    for block in query.blocks(pairs.starts, pairs.ends, limit, engine):
        table[block.rows, block.columns] = block.labels
        if block.to_border is not None:
            to_border[block.columns if query.is_arrival else block.rows] = block.to_border
        if block.spread is not None:
            if spread is None:
                spread = matrix.Spread(
                    np.empty((*shape, block.spread.ms.shape[-1]), np.int32), np.empty(shape, np.float32)
                )
            spread.ms[block.rows, block.columns] = block.spread.ms
            spread.share[block.rows, block.columns] = block.spread.share
    if spread is not None:
        spread = matrix.Spread(spread.ms.reshape(table.size, -1), spread.share.ravel())
    return table.ravel(), spread, to_border


@dataclass(frozen=True)
class ReachablePairs:
    """
    The reachable pairs, sorted by origin and destination, as lists of arrays that `poured` concatenates.

    A pair takes 12 bytes, or 20 bytes with its distance: 100 million pairs take 1.2 or 2 GB.

    Attributes
    ----------
    starts, ends : Snaps
    origins, destinations : lists of integer arrays
        Positions of origins and destinations.
    seconds : list of int32 arrays
        Travel times.
    metres : list of float64 arrays
        Distances; empty unless the query needs them.
    spreads : list of Spread
        Percentiles and shares; empty unless requested.
    charges : dict of str to list of float64 arrays
        Emissions and costs, if the query has them; NaN where they are not known.
    """

    starts: Snaps
    ends: Snaps
    origins: list[AnyArray]
    destinations: list[AnyArray]
    seconds: list[AnyArray]
    metres: list[AnyArray]
    spreads: list[matrix.Spread]
    charges: dict[str, list[AnyArray]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return sum(part.size for part in self.origins)

    def joined(self, each: Sequence[ReachablePairs]) -> ReachablePairs:
        """Return the pairs of several searches of the same points, one after the other."""
        names = ("origins", "destinations", "seconds", "metres", "spreads")
        parts: Any = ([part for found in each for part in getattr(found, name)] for name in names)
        charges = {name: [part for found in each for part in found.charges[name]] for name in self.charges}
        return replace(ReachablePairs(self.starts, self.ends, *parts), charges=charges)


def reachable_pairs(query: Query, pairs: Pairs, limit: int, *, engine: str = "auto") -> ReachablePairs:
    """
    Return the reachable pairs and their travel times; see `pair_times` for the parameters.
    """
    starts, ends = pairs.starts, pairs.ends
    if query.charges:
        found = reachable_pairs(replace(query, charges=()), pairs, limit, engine=engine)
        lengths = found.metres
        if query.transit is not None:
            lengths = reachable_pairs(trip_costs.in_grams(query), pairs, limit, engine=engine).metres
        by_part = [trip_costs.of_lengths(query, cm_of(part)) for part in lengths]
        return replace(found, charges={name: [part[name] for part in by_part] for name in query.charges})
    if pairs.chosen is not None:
        labels, spread, _ = _every(query, pairs, limit, engine)
        kept = np.flatnonzero(labels != UNREACHED)
        return ReachablePairs(
            starts,
            ends,
            [pairs.origin_of[kept]],
            [pairs.destination_of[kept]],
            [seconds_of(labels[kept])],
            [metres_of(labels[kept])],
            [] if spread is None else [matrix.Spread(spread.ms[kept], spread.share[kept])],
        )
    found = ReachablePairs(starts, ends, [], [], [], [], [])
    is_by_row = True
    for block in query.blocks(pairs.starts, pairs.ends, limit, engine):
        row, column = np.nonzero(block.labels != UNREACHED)
        labels = block.labels[row, column]
        is_by_row &= block.columns == slice(0, len(ends))
        found.origins.append((row + block.rows.start).astype(np.int32))
        found.destinations.append((column + block.columns.start).astype(np.int32))
        found.seconds.append(seconds_of(labels))
        if query.needs_length:
            found.metres.append(metres_of(labels))
        if block.spread is not None:
            found.spreads.append(matrix.Spread(block.spread.ms[row, column], block.spread.share[row, column]))
    if is_by_row:
        return found
    # Backward searches yield blocks by destination.
    row, column = poured(found.origins), poured(found.destinations)
    order = np.lexsort((column, row))
    spreads = []
    if found.spreads:
        spread = _joined(found.spreads)
        spreads = [matrix.Spread(spread.ms[order], spread.share[order])]
    return ReachablePairs(
        starts,
        ends,
        [row[order]],
        [column[order]],
        [poured(found.seconds)[order]],
        [poured(found.metres)[order]] if found.metres else [],
        spreads,
    )


def _joined(spreads: list[matrix.Spread]) -> matrix.Spread:
    """Concatenate spreads."""
    return matrix.Spread(
        np.concatenate([spread.ms for spread in spreads]), np.concatenate([spread.share for spread in spreads])
    )


def poured(parts: list[AnyArray], index: pd.Index | None = None) -> Any:
    """Concatenate arrays, or the labels of an index at their values; the list is emptied to free memory."""
    is_numeric = index is not None and isinstance(index.dtype, np.dtype) and index.dtype.kind in "iuf"
    if index is not None and not is_numeric:
        return index.take(poured(parts))
    values = None if index is None else index.to_numpy()
    joined = np.empty(sum(part.size for part in parts), parts[0].dtype if values is None else values.dtype)
    end = joined.size
    while parts:
        part = parts.pop()
        joined[end - part.size : end] = part if values is None else values[part]
        end -= part.size
    return joined
