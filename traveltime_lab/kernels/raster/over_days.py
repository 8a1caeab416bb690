"""
Compute statistics of the travel times at the cells of a raster over many departures, whose journeys may be late.

A passenger takes the journey that is the fastest by plan. In the end, it takes the planned time, and longer by as much
as the vehicles arrive later at its last stop. Without delays this is the fastest journey of each departure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.raster.transit_surface import _nth
from traveltime_lab.kernels.records import Directed, Ports, StopLinks
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import StopsOnEdges, straight_ms
from traveltime_lab.kernels.unreached import NEVER


class StopTimes(NamedTuple):
    """Travel times at stops by departure, with a row for each stop that any of the departures reaches."""

    row_of: np.ndarray  # int32 (n_stops,), -1 for stops without a row
    ms: np.ndarray  # int32 (n_rows, n_departures), by plan; NEVER if there is no journey
    later: np.ndarray  # int32, the same shape: what is added to it in the end, NEVER if it never arrives; or no rows
    least: np.ndarray  # int32 (n_rows,), least of `ms`


class Walked(NamedTuple):
    """How places are reached from stops, or stops from places."""

    ports: Ports  # entry ports of each directed edge, or exit ports in a backward search
    around: StopLinks  # stops around each state
    on_edges: StopsOnEdges
    directed: Directed
    is_backward: bool
    budget_ms: int  # longest walk


class EdgeEnds(NamedTuple):
    """
    Travel times of departures at both ends of some edges, from the stops around; see `edge_ends`.

    Backwards, the first end of an edge is that where its second directed edge begins.
    """

    edges: np.ndarray  # int32 (n,), ascending
    ms: np.ndarray  # int32 (n, 2, n_departures), by plan; NEVER where no stop is within the longest walk
    walk_ms: np.ndarray  # int32, the same shape, the walk from the last stop; 0 where there is none
    later: np.ndarray  # int32, the same shape, as in `StopTimes`; or no rows


@kernel
def _at_end(d, walked, times, limit_ms, ms, walk_ms, later):
    """Fill the travel times of departures at the start of a directed edge, backwards at its end; see `EdgeEnds`."""
    ports, around = walked.ports, walked.around
    ms[:], walk_ms[:] = NEVER, 0
    if not walked.directed.is_open[d]:
        return
    most = np.int64(limit_ms)
    for p in range(ports.indptr[d], ports.indptr[d + 1]):
        state, onward = ports.states[p], ports.keys[p] >> TIME_SHIFT
        for j in range(around.indptr[state], around.indptr[state + 1]):
            row, walk = times.row_of[around.stops[j]], np.int32(around.ms[j] + onward)
            if row < 0 or walk > walked.budget_ms or times.least[row] + walk > most:
                continue
            at_stop = times.ms[row]
            most = np.int64(0)
            if later.size:
                later_at_stop = times.later[row]
                for k in range(ms.size):
                    time = at_stop[k] + walk
                    is_less = (time < ms[k]) | ((time == ms[k]) & (walk < walk_ms[k]))
                    ms[k] = time if is_less else ms[k]
                    walk_ms[k] = walk if is_less else walk_ms[k]
                    later[k] = later_at_stop[k] if is_less else later[k]
                    most = max(most, np.int64(ms[k]))
            else:
                for k in range(ms.size):
                    time = at_stop[k] + walk
                    is_less = (time < ms[k]) | ((time == ms[k]) & (walk < walk_ms[k]))
                    ms[k] = time if is_less else ms[k]
                    walk_ms[k] = walk if is_less else walk_ms[k]
                    most = max(most, np.int64(ms[k]))
            most = min(most, np.int64(limit_ms))


@kernel
def edge_ends(edges, walked, times, limit_ms):
    """Return the travel times at both ends of edges (int32, ascending) that are at most `limit_ms`, as `EdgeEnds`."""
    n_departures = times.ms.shape[1]
    ms = np.empty((edges.size, 2, n_departures), np.int32)
    walk_ms = np.empty((edges.size, 2, n_departures), np.int32)
    later = np.zeros((edges.size if times.later.shape[0] else 0, 2, n_departures), np.int32)
    nothing = np.zeros(0, np.int32)
    for i in range(edges.size):
        for side in range(2):
            d = 2 * edges[i] + (1 - side if walked.is_backward else side)
            own = later[i, side] if later.shape[0] else nothing
            _at_end(d, walked, times, limit_ms, ms[i, side], walk_ms[i, side], own)
    return EdgeEnds(edges, ms, walk_ms, later)


@kernel
def _lower(ms, later, walk, best, extra):
    """Lower the times of departures at a place to those at a stop and a walk, and keep how much later these are."""
    if later.size:
        for k in range(best.size):
            time = ms[k] + walk
            is_faster = time < best[k]
            best[k] = time if is_faster else best[k]
            extra[k] = later[k] if is_faster else extra[k]
    else:
        for k in range(best.size):
            time = ms[k] + walk
            best[k] = time if time < best[k] else best[k]


@kernel
def _lower_over_end(ms, walk_ms, later, part_ms, budget_ms, best, extra):
    """
    Lower the times of departures at a place to those over an end of its edge whose walk is within the budget.

    Returns
    -------
    int
        For how many departures a longer walk would be faster.
    """
    n_far = 0
    if later.size:
        for k in range(best.size):
            time = ms[k] + part_ms
            is_far, is_faster = walk_ms[k] + part_ms > budget_ms, time < best[k]
            is_taken = is_faster & (not is_far)
            n_far += 1 if is_faster & is_far else 0
            best[k] = time if is_taken else best[k]
            extra[k] = later[k] if is_taken else extra[k]
    else:
        for k in range(best.size):
            time = ms[k] + part_ms
            is_far, is_faster = walk_ms[k] + part_ms > budget_ms, time < best[k]
            n_far += 1 if is_faster & is_far else 0
            best[k] = time if is_faster & (not is_far) else best[k]
    return n_far


@kernel
def _later_at(times, row, nothing):
    """Return how much later than planned the journeys over a stop are, without values if that is not known."""
    return times.later[row] if times.later.shape[0] else nothing


@kernel
def _lower_from_all(d, part_ms, walked, times, nothing, best, extra):
    """Lower the times of departures at a place to those over all stops around the start of a directed edge."""
    ports, around = walked.ports, walked.around
    for p in range(ports.indptr[d], ports.indptr[d + 1]):
        state, onward = ports.states[p], part_ms + (ports.keys[p] >> TIME_SHIFT)
        for j in range(around.indptr[state], around.indptr[state + 1]):
            row, walk = times.row_of[around.stops[j]], around.ms[j] + onward
            if row >= 0 and walk <= walked.budget_ms:
                _lower(times.ms[row], _later_at(times, row, nothing), walk, best, extra)


@kernel
def gather_statistic(cells, walked, times, ends, limit_ms, within_ms, rank, level, values):
    """
    Set the value of each cell to a statistic of its travel times over many departures.

    Parameters
    ----------
    cells : traveltime_lab.kernels.raster.surface.Cells
    walked : Walked
    times : StopTimes
    ends : EdgeEnds
        Has all edges of the cells.
    limit_ms : int
        Longest travel time of interest.
    within_ms : int
        Longest travel time of a plan. Journeys that are planned to take longer are not shorter in the end.
    rank : int
        The value is the travel time with this position in ascending order; or, if it is -1, the share of departures
        with a travel time above `level`, inf if it is that of all.
    level : float
        Seconds.
    values : float32 array of shape (n_rows, n_columns)
        Walks all the way in seconds; overwritten. Departures without a faster journey by plan walk.
    """
    per_metre, buffer_m, of_each = cells.per_metre, cells.buffer_m, values.reshape(-1)
    on_edges, directed, is_backward, budget_ms = (
        walked.on_edges, walked.directed, walked.is_backward, walked.budget_ms,
    )  # fmt: skip
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    n_tied, tied = tied_cell.size, 0
    next_tied = tied_cell[0] if n_tied else -1
    n_departures, nothing = times.ms.shape[1], np.zeros(0, np.int32)
    best, extra = np.empty(n_departures, np.float64), np.zeros(n_departures, np.int32)
    found = np.empty(n_departures, np.float32)
    # Floats that are not negative are ordered as their bits are.
    bits, bits_of_each, guess = found.view(np.int32), of_each.view(np.int32), np.int32(0)
    for i in range(edge.size):
        e, nearness, metres = edge[i], fraction[i], distance[i]
        walk_s = of_each[i]
        best[:] = min(1000.0 * np.float64(walk_s), limit_ms + 1.0)
        extra[:] = 0
        while True:
            if e >= 0 and metres <= buffer_m:
                at = np.searchsorted(ends.edges, e)
                f = np.float64(nearness)
                off_ms = 1000.0 * per_metre * metres
                for side in range(2):
                    d = 2 * e + (1 - side if is_backward else side)
                    part_ms = (f if side == 0 else 1.0 - f) * (directed.traversal[d] >> TIME_SHIFT) + off_ms
                    later = ends.later[at, side] if ends.later.shape[0] else nothing
                    if _lower_over_end(
                        ends.ms[at, side], ends.walk_ms[at, side], later, part_ms, budget_ms, best, extra
                    ):
                        _lower_from_all(d, part_ms, walked, times, nothing, best, extra)
                for m in range(on_edges.indptr[e], on_edges.indptr[e + 1]):
                    walk = (on_edges.connector[m] >> TIME_SHIFT) + off_ms
                    walk += straight_ms(e, f, on_edges.fraction[m], directed, not is_backward)
                    row = times.row_of[on_edges.stops[m]]
                    if row >= 0 and walk <= budget_ms:
                        _lower(times.ms[row], _later_at(times, row, nothing), walk, best, extra)
            if i != next_tied:
                break
            e, nearness, metres = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
            tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
        n_within = 0
        for k in range(n_departures):
            longer = extra[k] if best[k] <= within_ms else max(extra[k], np.int32(0))
            # Beyond the limit, walks are too long, too.
            seconds = np.float32((best[k] + longer) / 1000.0) if best[k] <= limit_ms else walk_s
            found[k] = np.inf if longer >= NEVER else seconds
            n_within += 1 if found[k] <= level else 0
        if rank >= 0:
            bits_of_each[i] = guess = _nth(bits, rank, guess)
        else:
            of_each[i] = 1.0 - n_within / n_departures if n_within else np.inf
