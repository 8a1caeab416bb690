"""
Pairs of origins and destinations: selection, conversion of labels to columns, and reasons why pairs are unreachable.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, Int32Array, Int64Array, indptr_of
from traveltime_lab._checks import did_you_mean
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.points import Points, plain
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.runtime.shared import shared
from traveltime_lab.search.query import Query
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.pairs import PairIndex, Pairs
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps, on_closed_streets
from traveltime_lab.transit import travel_times

#: Reasons why a pair is unreachable.
REASONS: Final = (
    "origin_outside_network",
    "origin_not_snapped",
    "destination_outside_network",
    "destination_not_snapped",
    "origin_street_closed",
    "destination_street_closed",
    "other_component",
    "over_limit",
)
_DTYPE: Final = pd.CategoricalDtype(list(REASONS))


def chosen_pairs(pairs: Any, starts: Points, ends: Points) -> PairIndex | None:
    """Return the positions of the origins and destinations of selected pairs; None for all pairs."""
    return shared("chosen pairs", (pairs, starts, ends), functools.partial(_chosen, pairs, starts, ends))


def _chosen(pairs: Any, starts: Points, ends: Points) -> PairIndex | None:
    """Return what `chosen_pairs` does."""
    if isinstance(pairs, pd.DataFrame):
        missing = {"origin", "destination"} - set(pairs.columns)
        if missing:
            msg = f"pairs has no column {sorted(missing)[0]!r}; it must have 'origin' and 'destination'"
            raise InputError(msg)
        if not len(pairs):
            msg = "pairs is empty; pass at least one pair"
            raise InputError(msg)
        found = []
        for column, points in (("origin", starts), ("destination", ends)):
            position = points.index.get_indexer(pd.Index(pairs[column]))
            if (position < 0).any():
                label = pairs[column].iloc[int((position < 0).argmax())]
                hint = did_you_mean(plain(label), points.index)
                msg = f"pairs has the {column} {plain(label)!r}, which is not in the index of {column}s{hint}"
                raise InputError(msg)
            found.append(position)
        return found[0], found[1]
    if isinstance(pairs, str) and pairs == "all":
        return None
    if isinstance(pairs, str) and pairs == "aligned":
        if len(starts) != len(ends):
            msg = f"pairs='aligned' needs as many origins as destinations; got {len(starts)} and {len(ends)}"
            raise InputError(msg)
        return np.arange(len(starts)), np.arange(len(ends))
    msg = f"pairs must be 'all', 'aligned' or a DataFrame with the columns origin and destination; got {pairs!r}"
    raise InputError(msg)


def seconds_of(labels: Int64Array) -> Int32Array:
    """Return the travel times of labels in whole seconds; 0 if unreachable."""
    return whole_seconds(np.where(labels == UNREACHED, 0, label_parts.ms(labels))).astype(np.int32)


def metres_of(labels: Int64Array) -> FloatArray:
    """Return the distances of labels in metres; 0 if unreachable."""
    return np.where(labels == UNREACHED, 0.0, label_parts.cm(labels) / 100.0)


def cm_of(metres: FloatArray) -> Int64Array:
    """Return the whole centimetres of distances that `metres_of` returned."""
    return np.round(metres * 100.0).astype(np.int64)


def reasons_of(query: Query, pairs: Pairs, is_reached: BoolArray) -> pd.Categorical:
    """Return the reason why each pair is unreachable; NA if it is reachable."""
    codes = np.full(len(pairs), -1, np.int8)
    lost = np.flatnonzero(~is_reached)
    if lost.size:
        starts, a = _used(pairs.starts, pairs.origin_of[lost])
        ends, b = _used(pairs.ends, pairs.destination_of[lost])
        topology = query.graph.topology
        why = np.full(lost.size, REASONS.index("over_limit"), np.int8)
        if query.transit is None:
            part_a, part_b = component_of(topology, starts.edge)[a], component_of(topology, ends.edge)[b]
            # Certain only for origins in the strongly connected part: others may be upstream on the same street.
            inside = topology.can_leave[starts.edge[a]] & topology.can_arrive[starts.edge[a]]
            stuck = inside & ~topology.can_arrive[ends.edge[b]]
            is_known = (part_a >= 0) & (part_b >= 0)
            why[is_known & ((part_a != part_b) | stuck)] = REASONS.index("other_component")
        at_ends = topology if query.transit is None else query.transit.walking.topology
        why[on_closed_streets(at_ends, ends)[b]] = REASONS.index("destination_street_closed")
        why[on_closed_streets(topology, starts)[a]] = REASONS.index("origin_street_closed")
        why[ends.status[b] != SNAPPED] = REASONS.index("destination_not_snapped")
        why[ends.status[b] == OUTSIDE] = REASONS.index("destination_outside_network")
        why[starts.status[a] != SNAPPED] = REASONS.index("origin_not_snapped")
        why[starts.status[a] == OUTSIDE] = REASONS.index("origin_outside_network")
        codes[lost] = why
    return pd.Categorical.from_codes(codes, dtype=_DTYPE)


def _used(snaps: Snaps, positions: IndexArray) -> tuple[Snaps, IndexArray]:
    """Return the points at some positions, each once, and where they are there, unless nearly all points are meant."""
    if 2 * positions.size > len(snaps):
        return snaps, positions
    used, number = np.unique(positions, return_inverse=True)
    return snaps.take(used), number


def component_of(topology: Any, edge: Int32Array) -> Int32Array:
    """Return the connected component of each edge, -1 for no edge and for a closed one."""
    part = np.full(edge.size, -1, np.int32)
    found = np.flatnonzero(edge >= 0)
    found = found[topology.is_open[2 * edge[found]] | topology.is_open[2 * edge[found] + 1]]
    side = 2 * edge[found].astype(np.int64)
    side += ~topology.is_open[side]
    part[found] = topology.component[topology.entry_states[topology.entry_indptr[side]]]
    return part


def departures(query: Query, pairs: Pairs, n_best: int) -> tuple[Pairs, Int64Array, list[Any], Int64Array]:
    """
    Return the itineraries in a window, one row each; pairs without itineraries have one row.

    Parameters
    ----------
    query : Query
        Query with a timetable and a window.
    pairs : Pairs
    n_best : int
        Maximum number of itineraries per pair.

    Returns
    -------
    pairs : Pairs
        The pair of each row.
    labels : int64 array of shape (n_rows,)
    moments : list of datetime or None
        Departure times, or arrival times in a search by arrival time.
    n_rows : int64 array of shape (n_pairs,)
        Number of rows of each pair.
    """
    assert query.transit is not None
    found = travel_times.window_itineraries(query.transit, pairs, n_best, with_length=query.needs_length)
    n_rows = np.maximum(np.bincount(found.pair, minlength=len(pairs)), 1)
    pair_of = np.repeat(np.arange(len(pairs)), n_rows)
    first = indptr_of(n_rows)[:-1]
    rows = first[found.pair] + np.arange(found.pair.size) - np.searchsorted(found.pair, found.pair)
    labels = np.full(pair_of.size, UNREACHED, np.int64)
    labels[rows] = found.labels
    moments: list[Any] = [None] * pair_of.size
    for row, when in zip(rows.tolist(), found.moments, strict=True):
        moments[row] = when
    return pairs.take(pair_of), labels, moments, n_rows


def moment_columns(
    moments: Sequence[dt.datetime | None], seconds: Int32Array, timezone: str, *, is_arrival: bool
) -> dict[str, pd.Series]:
    """
    Return the columns ``departure_time`` and ``arrival_time`` of itineraries; NaT for missing ones.

    Parameters
    ----------
    moments : sequence of datetime or None
        Timezone-aware departure times, or arrival times in a search by arrival time.
    seconds : int32 array
        Travel times.
    timezone : str
        Time zone of the columns.
    is_arrival : bool
        Whether `moments` are arrival times.
    """
    utc = [pd.NaT if moment is None else moment.astimezone(dt.UTC) for moment in moments]
    given = pd.to_datetime(pd.Series(utc), utc=True)
    other = given + pd.to_timedelta(-seconds if is_arrival else seconds, unit="s")
    departure, arrival = (other, given) if is_arrival else (given, other)
    return {
        "departure_time": departure.dt.tz_convert(timezone),
        "arrival_time": arrival.dt.tz_convert(timezone),
    }
