"""
Compute statistics of the travel times at the cells of a raster over many departures, whose journeys may be late.

A passenger takes the journey that is the fastest by plan; the time it takes in the end is that of the plan, and how much
later the vehicles arrive at its last stop. Without delays this is the fastest journey of each departure.
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


@kernel
def _take(ms, walk, best):
    """Lower the times of departures at a place to those at a stop and a walk, and return the largest of them."""
    most = 0.0
    for k in range(best.size):
        time = ms[k] + walk
        best[k] = time if time < best[k] else best[k]
        most = best[k] if best[k] > most else most
    return most


@kernel
def _take_later(ms, later, walk, best, extra):
    """Do as `_take`, and keep how much later the journeys are that are the fastest."""
    most = 0.0
    for k in range(best.size):
        time = ms[k] + walk
        is_faster = time < best[k]
        best[k] = time if is_faster else best[k]
        extra[k] = later[k] if is_faster else extra[k]
        most = best[k] if best[k] > most else most
    return most


@kernel
def _take_stop(times, stop, walk, most, best, extra):
    """Lower the times of departures to those over a stop; `most` is the largest before, the result that after it."""
    row = times.row_of[stop]
    if row < 0 or times.least[row] + walk >= most:
        return most
    if times.later.shape[0]:
        return _take_later(times.ms[row], times.later[row], walk, best, extra)
    return _take(times.ms[row], walk, best)


@kernel
def gather_statistic(cells, walked, times, limit_ms, rank, level, values):
    """
    Set the value of each cell to a statistic of its travel times over many departures.

    Parameters
    ----------
    cells : traveltime_lab.kernels.raster.surface.Cells
    walked : Walked
    times : StopTimes
    limit_ms : float
        Longest travel time by plan.
    rank : int
        The value is the travel time with this position in ascending order; or, if it is -1, the share of departures
        with a travel time above `level`, inf if it is that of all.
    level : float
        Seconds.
    values : float32 array of shape (n_rows, n_columns)
        Walks all the way in seconds; overwritten. Departures without a faster journey by plan walk.
    """
    per_metre, buffer_m, of_each = cells.per_metre, cells.buffer_m, values.reshape(-1)
    ports, around, on_edges, directed, is_backward, budget_ms = walked
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    n_tied, tied = tied_cell.size, 0
    next_tied = tied_cell[0] if n_tied else -1
    n_departures = times.ms.shape[1]
    best, extra = np.empty(n_departures, np.float64), np.zeros(n_departures, np.int32)
    found = np.empty(n_departures, np.float32)
    # Floats that are not negative are ordered as their bits are.
    bits, bits_of_each, guess = found.view(np.int32), of_each.view(np.int32), np.int32(0)
    for i in range(edge.size):
        e, nearness, metres = edge[i], fraction[i], distance[i]
        walk_s = of_each[i]
        # All times are less than the bound that are within the limit, which has whole milliseconds and no fractions.
        most = min(1000.0 * np.float64(walk_s), limit_ms + 1.0)
        best[:] = most
        extra[:] = 0
        while True:
            if e >= 0 and metres <= buffer_m:
                f = np.float64(nearness)
                off_ms = 1000.0 * per_metre * metres
                for side in range(2):
                    d = 2 * e + (1 - side if is_backward else side)
                    if not directed.is_open[d]:
                        continue
                    part_ms = (f if side == 0 else 1.0 - f) * (directed.traversal[d] >> TIME_SHIFT) + off_ms
                    for p in range(ports.indptr[d], ports.indptr[d + 1]):
                        state = ports.states[p]
                        onward = part_ms + (ports.keys[p] >> TIME_SHIFT)
                        for j in range(around.indptr[state], around.indptr[state + 1]):
                            walk = around.ms[j] + onward
                            if walk <= budget_ms:
                                most = _take_stop(times, around.stops[j], walk, most, best, extra)
                for m in range(on_edges.indptr[e], on_edges.indptr[e + 1]):
                    walk = (on_edges.connector[m] >> TIME_SHIFT) + off_ms
                    walk += straight_ms(e, f, on_edges.fraction[m], directed, not is_backward)
                    if walk <= budget_ms:
                        most = _take_stop(times, on_edges.stops[m], walk, most, best, extra)
            if i != next_tied:
                break
            e, nearness, metres = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
            tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
        n_within = 0
        for k in range(n_departures):
            found[k] = np.float32((best[k] + extra[k]) / 1000.0) if best[k] <= limit_ms else walk_s
            if extra[k] >= NEVER:
                found[k] = np.inf
            n_within += found[k] <= level
        if rank >= 0:
            bits_of_each[i] = guess = _nth(bits, rank, guess)
        elif n_within:
            of_each[i] = np.float32(1.0 - n_within / n_departures)
        else:
            of_each[i] = np.inf
