"""
The working arrays of a RAPTOR search, and how a search begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import NEVER


class State(NamedTuple):
    """
    Working arrays of a search, which `reset` prepares for the next one.

    Round k uses row ``min(k, n_rows - 1)``.
    """

    best: np.ndarray  # int32 (n_rows, n_stops), earliest arrival of a leg after at most k legs
    ready: np.ndarray  # int32 (n_rows, n_stops), earliest time to board after at most k legs
    reached: np.ndarray  # int32 (n_rows, n_positions), first run (within its pattern) on board after at most k legs
    usable: np.ndarray  # int32 (n_rows, n_positions), latest departure before that run, or TOO_EARLY
    last_departure: np.ndarray  # int32 (n_positions,), initial value of `usable`
    handled: np.ndarray  # int32 (n_rows, n_patterns), first run whose continuations were followed
    seated: np.ndarray  # int32 (n_runs,) or (0,), lowest row in which a run was entered by staying seated
    fresh: np.ndarray  # int32 (n_stops,), time to board at the marked stops, NEVER elsewhere
    marked: np.ndarray  # int32 (n_stops + 1,), stops where the round may board
    touched: np.ndarray  # int32 (n_stops + 1,), stops whose arrival the round improved
    is_touched: np.ndarray  # bool (n_stops,)
    is_marked: np.ndarray  # bool (n_stops,), whether a transfer marked the stop
    before: np.ndarray  # int32 (n_stops,), copy of the labels from before a step that lowers them
    changed: np.ndarray  # int32 (n_stops,), stops whose arrival the search improved; n_changed[0] of them
    is_changed: np.ndarray  # bool (n_stops,)
    n_changed: np.ndarray  # int64 (1,)
    queue: np.ndarray  # int32 (n_patterns + 1,)
    first: np.ndarray  # int32 (n_patterns,), index of the first position to scan, NEVER if not queued
    stack: np.ndarray  # int32 (n_runs,) or (0,)


@kernel
def new_state(lines, n_rows):
    """Return working arrays for searches in `lines` with one row, or with one row per number of legs from 0."""
    n_stops = lines.change_time.size
    n_patterns = lines.pattern_indptr.size - 1
    n_runs = lines.run_pattern.size if lines.stay_instance.size > 0 else 0
    return State(
        np.full((n_rows, n_stops), NEVER, np.int32),
        np.full((n_rows, n_stops), NEVER, np.int32),
        np.full((n_rows, lines.pattern_stops.size), NEVER, np.int32),
        np.empty((n_rows, lines.pattern_stops.size), np.int32),
        lines.last_departure,
        np.full((n_rows, n_patterns), NEVER, np.int32),
        np.full(n_runs, NEVER, np.int32),
        np.full(n_stops, NEVER, np.int32),
        np.empty(n_stops + 1, np.int32),
        np.empty(n_stops + 1, np.int32),
        np.zeros(n_stops, np.bool_),
        np.zeros(n_stops, np.bool_),
        np.empty(n_stops, np.int32),
        np.empty(n_stops, np.int32),
        np.zeros(n_stops, np.bool_),
        np.zeros(1, np.int64),
        np.empty(n_patterns + 1, np.int32),
        np.full(n_patterns, NEVER, np.int32),
        np.empty(n_runs, np.int32),
    )


@kernel
def reset(state):
    """Clear the labels of earlier searches."""
    state.best.fill(NEVER)
    state.ready.fill(NEVER)
    state.reached.fill(NEVER)
    usable, last_departure = state.usable, state.last_departure
    for row in range(usable.shape[0]):
        for position in range(last_departure.size):
            usable[row, position] = last_departure[position]
    state.handled.fill(NEVER)
    state.seated.fill(NEVER)
    forget_changes(state)


@kernel
def forget_changes(state):
    """Empty the list of stops whose label changed."""
    for i in range(state.n_changed[0]):
        state.is_changed[state.changed[i]] = False
    state.n_changed[0] = 0


@kernel
def lower(rows, row, i, value):
    """Lower entry i of a row and of the following rows, which allow more legs."""
    for j in range(row, rows.shape[0]):
        if rows[j, i] <= value:
            break
        rows[j, i] = value


@kernel
def seed(state, stops, times, offset, limit):
    """
    Mark the stops where a search starts.

    Parameters
    ----------
    state : State
        Changed.
    stops, times : int32 arrays of shape (n_seeds,)
        The traveller can board at ``stops[i]`` from ``times[i] + offset`` on. A stop may occur twice.
    offset, limit : int
        Time to add, and the latest arrival of interest.

    Returns
    -------
    int
        Number of marked stops.
    """
    n_marked = 0
    for i in range(stops.size):
        stop = stops[i]
        time = times[i] + offset
        if time <= limit and time < state.ready[0, stop]:
            lower(state.ready, np.int64(0), stop, time)
            if state.fresh[stop] == NEVER:
                state.marked[n_marked] = stop
                n_marked += 1
            state.fresh[stop] = time
    return n_marked
