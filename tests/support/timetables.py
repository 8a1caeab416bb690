"""Small timetables for tests: random ones full of nasty cases, and ones written out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random

import numpy as np

from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.transit.trip_table import TripTable


def csr(rows: Sequence[int], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row begins and the order of the entries by row."""
    counts = np.bincount(np.asarray(rows, np.int64), minlength=n_rows)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.argsort(np.asarray(rows), kind="stable")


def trip_table(
    patterns: Sequence[tuple[Sequence[int], Sequence[Sequence[tuple[int, int]]]]],
    n_stops: int,
    *,
    can_board: Sequence[bool] | None = None,
    can_alight: Sequence[bool] | None = None,
    walks: Mapping[tuple[int, int], int] | None = None,
    change_time: Sequence[int] | None = None,
    stays: Mapping[int, int] | None = None,
) -> TripTable:
    """
    Return a table of patterns, each its stops and its runs as (arrival, departure) by position.

    `walks` maps (from, to) to seconds, `stays` a run to the one it continues as; runs are numbered over all patterns.
    """
    walks, stays = walks or {}, stays or {}
    stops = [stop for pattern, _ in patterns for stop in pattern]
    times = [time for _, runs in patterns for run in runs for time in run]
    n_runs = [len(runs) for _, runs in patterns]
    sizes = [len(pattern) for pattern, _ in patterns]
    ends = sorted(walks)
    transfer_indptr, _ = csr([start for start, _ in ends], n_stops)

    def indptr(counts: Sequence[int]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def int32(values: Sequence[int]) -> np.ndarray:
        return np.array(values, np.int32)

    return TripTable(
        reference=0,
        n_stops=n_stops,
        pattern_indptr=indptr(sizes),
        pattern_stops=int32(stops),
        can_board=np.ones(len(stops), bool) if can_board is None else np.array(can_board, bool),
        can_alight=np.ones(len(stops), bool) if can_alight is None else np.array(can_alight, bool),
        instance_indptr=indptr(n_runs),
        time_indptr=indptr([n * size for n, size in zip(n_runs, sizes, strict=True)]),
        arrival=int32([arrival for arrival, _ in times]),
        departure=int32([departure for _, departure in times]),
        instance_trip=int32(range(sum(n_runs))),
        instance_date=int32([737_000] * sum(n_runs)),
        transfer_indptr=transfer_indptr,
        transfer_stop=int32([end for _, end in ends]),
        transfer_time=int32([walks[pair] for pair in ends]),
        change_time=int32(change_time or [0] * n_stops),
        stay_instance=int32([stays.get(run, -1) for run in range(sum(n_runs))]),
    )


def random_table(seed: int, n_stops: int, n_patterns: int, most_runs: int, longest: int = 5) -> TripTable:
    """
    Return a random table within a few minutes.

    It has loops, stops called at twice in a row, rides and waits of no time, equal runs, positions without boarding or
    alighting, footpaths that break the triangle inequality, stops where changing is forbidden, vehicles that join
    and continue as one, and patterns without runs.
    """
    draw = Random(seed).random

    def below(n: int) -> int:
        return int(draw() * n)

    patterns = []
    for _ in range(n_patterns):
        stops = [below(n_stops) for _ in range(2 + below(longest - 1))]
        steps = [below(2) * below(9) for _ in range(2 * len(stops))]
        times = list(accumulate([below(60), *steps[1:]]))
        runs = []
        for _ in range(below(most_runs + 1)):
            runs.append(list(zip(times[::2], times[1::2], strict=True)))
            wait = below(2) * below(30)
            times = list(accumulate((time + wait + below(4) for time in times), max))
        patterns.append((stops, runs))
    n_positions = sum(len(stops) for stops, _ in patterns)
    pairs = [(below(n_stops), below(n_stops)) for _ in range(below(2 * n_stops))]
    runs_flat = [run for _, runs in patterns for run in runs]
    stays = {}
    if draw() < 0.6 and runs_flat:
        for run in range(len(runs_flat)):
            other = below(len(runs_flat))
            if draw() < 0.5 and other != run and runs_flat[run][-1][0] <= runs_flat[other][0][1]:
                stays[run] = other
    share = (0.6, 0.9, 1.0)[below(3)]
    slowness = below(2)
    return trip_table(
        patterns,
        n_stops,
        can_board=[draw() < share for _ in range(n_positions)],
        can_alight=[draw() < share for _ in range(n_positions)],
        walks={(a, b): below(20) for a, b in pairs if a != b},
        change_time=[FORBIDDEN if below(12) == 0 else slowness * below(12) for _ in range(n_stops)],
        stays=stays,
    )
