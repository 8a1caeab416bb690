"""
Compute travel times by transit at the cells of a raster, within a budget for the walk or drive between stop and cell.

The fastest journey to a junction may have used up its walking budget there, while a slower one has not. A cell
therefore takes the fastest journey over the ends of its edge if its walk is within the budget, and otherwise compares
all stops around. Stops on the edge of the cell are always compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.records import Ports, StopLinks
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.transit.walks import straight_ms
from traveltime_lab.kernels.unreached import NEVER

#: Directed edges whose journeys are remembered from one cell to the next, a power of two (assumed), and how many of
#: each: 99 in 100 edges of Porto Alegre have at most six.
_REMEMBERED, _JOURNEYS = 512, 8
#: Number of values up to which the next one is tried in `_nth` (measured in Porto Alegre).
_NEAR = 8


class Rides(NamedTuple):
    """How places are reached from stops, or stops from places."""

    ports: Ports  # entry ports of each directed edge, or exit ports in a backward search
    around: StopLinks  # stops around each state
    stop_ms: np.ndarray  # int32 (n_stops,), travel time at each stop, `NEVER` if it was not reached


@kernel
def time_over_all(d, part_ms, budget_ms, ports, around, stop_ms):
    """
    Return the least time over all stops around the start of a directed edge, plus a walk of `part_ms`.

    `NEVER` if no walk from a stop is within the budget.
    """
    state_indptr, state_stops, state_ms = around
    best = np.float64(NEVER)
    for k in range(ports.indptr[d], ports.indptr[d + 1]):
        state, key_ms = ports.states[k], ports.keys[k] >> TIME_SHIFT
        for j in range(state_indptr[state], state_indptr[state + 1]):
            walk_ms = state_ms[j] + key_ms
            time = (stop_ms[state_stops[j]] + walk_ms) + part_ms
            if walk_ms + part_ms <= budget_ms and time < best:
                best = time
    return best


@kernel
def _journeys_to(d, ports, around, stop_ms, times, walks, at):
    """
    Write the journeys over all stops around the start of a directed edge that are faster than all with shorter walks.

    Parameters
    ----------
    d, ports, around, stop_ms
        As in `time_over_all`.
    times, walks : int64 arrays, ms
        Travel times, ascending, and walks of the journeys, written from entry `at` on.
    at : int

    Returns
    -------
    int
        Their number, -1 if there are more than `_JOURNEYS`.
    """
    state_indptr, state_stops, state_ms = around
    n = 0
    for k in range(ports.indptr[d], ports.indptr[d + 1]):
        state, key_ms = ports.states[k], ports.keys[k] >> TIME_SHIFT
        for j in range(state_indptr[state], state_indptr[state + 1]):
            at_stop = np.int64(stop_ms[state_stops[j]])
            if at_stop >= NEVER:
                continue
            walk = state_ms[j] + key_ms
            time = at_stop + walk
            first = 0
            while first < n and times[at + first] < time:
                first += 1
            # Those before are faster, so this one needs a shorter walk; those after need one that is shorter still.
            if (first > 0 and walks[at + first - 1] <= walk) or (
                first < n and times[at + first] == time and walks[at + first] <= walk
            ):
                continue
            last = first
            while last < n and walks[at + last] >= walk:
                last += 1
            if last == first:
                if n == _JOURNEYS:
                    return -1
                for m in range(n, first, -1):
                    times[at + m], walks[at + m] = times[at + m - 1], walks[at + m - 1]
                n += 1
            else:
                for m in range(last, n):
                    times[at + first + 1 + m - last], walks[at + first + 1 + m - last] = times[at + m], walks[at + m]
                n -= last - first - 1
            times[at + first], walks[at + first] = time, walk
    return n


@kernel
def gather_rides(cells, window, row_of, starts, directed, is_backward, budget_ms, limit_ms, rides, on_edges, values):
    """
    Lower the value of each cell of some blocks of a tile to its travel time by transit and a walk.

    Parameters
    ----------
    cells : traveltime_lab.kernels.raster.surface.Cells
        All cells of the tile.
    window : traveltime_lab.kernels.raster.surface.Window
    row_of : int32 array of shape (n_edges,)
        Row of `starts` of each edge, -1 for edges that are not reached within the limit.
    starts : int32 array of shape (n_rows, 8), ms
        From `traveltime_lab.kernels.raster.transit_edges.edge_starts`.
    directed, is_backward, on_edges
        As in `edge_starts` there.
    budget_ms : int
        Longest walk, including the connector between the cell and its street.
    limit_ms : int
        Longest travel time of interest. Longer times may be missing from `starts`.
    rides : Rides
    values : float32 array of shape (n_rows, n_columns), s
        Lowered in place within the blocks of the window.
    """
    per_metre, buffer_m, n_columns = cells.per_metre, cells.buffer_m, cells.edge.shape[1]
    ports, around, stop_ms = rides
    indptr, stops, position, connector = on_edges.indptr, on_edges.stops, on_edges.fraction, on_edges.connector
    most = limit_ms + 1.0
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    top, left, bottom, right, to_row, to_column, blocks = window
    block_side, of_each, width = n_columns // blocks.shape[1], values.reshape(-1), values.shape[1]
    n_tied, tied = tied_cell.size, 0
    # Most cells whose fastest journey walks too far are on few edges. `edge_at` is the directed edge at each place of a
    # memory, -1 for none, `n_at` the number of its journeys, and these begin at `_JOURNEYS` times the place.
    edge_at, n_at = np.full(_REMEMBERED, -1, np.int64), np.empty(_REMEMBERED, np.int64)
    times, walks = np.empty(_REMEMBERED * _JOURNEYS, np.int64), np.empty(_REMEMBERED * _JOURNEYS, np.int64)
    for tile_row in range(top, bottom):
        # Cells of the row are read in runs of blocks.
        column = left
        while column < right:
            if not blocks[tile_row // block_side, column // block_side]:
                column = (column // block_side + 1) * block_side
                continue
            start, end = tile_row * n_columns + column, column
            while end < right and blocks[tile_row // block_side, end // block_side]:
                end = (end // block_side + 1) * block_side
            end = min(end, right)
            while tied < n_tied and tied_cell[tied] < start:
                tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
            shift = (to_row + tile_row - top) * width + to_column - left + column - start
            for i in range(start, start + end - column):
                e, nearness, metres = edge[i], fraction[i], distance[i]
                while True:
                    row = row_of[e] if e >= 0 else -1
                    if row >= 0 and metres <= buffer_m:
                        f = np.float64(nearness)
                        off_ms = 1000.0 * per_metre * metres
                        bound = min(1000.0 * np.float64(of_each[i + shift]), most)
                        best = bound
                        first_ms = f * starts[row, 2] + off_ms
                        second_ms = (1.0 - f) * starts[row, 6] + off_ms
                        first, second = starts[row, 0] + first_ms, starts[row, 4] + second_ms
                        # Which end of the edge is faster is unpredictable, so it is selected without a branch. If the
                        # walk over the faster end is within the budget, the other end cannot be better.
                        if min(first, second) < best:
                            is_first = first <= second
                            side, part_ms, time = (0, first_ms, first) if is_first else (1, second_ms, second)
                            if starts[row, 4 * side + 1] + part_ms <= budget_ms:
                                best = time
                            else:
                                for _ in range(2):
                                    if time < best:
                                        if starts[row, 4 * side + 1] + part_ms > budget_ms:
                                            d = 2 * np.int64(e) + (1 - side if is_backward else side)
                                            place = d & (_REMEMBERED - 1)
                                            begin = place * _JOURNEYS
                                            if edge_at[place] != d:
                                                edge_at[place] = d
                                                n_at[place] = _journeys_to(
                                                    d, ports, around, stop_ms, times, walks, begin
                                                )
                                            time = np.float64(NEVER)
                                            if n_at[place] < 0:
                                                time = time_over_all(d, part_ms, budget_ms, ports, around, stop_ms)
                                            for j in range(begin, begin + n_at[place]):
                                                if walks[j] + part_ms <= budget_ms:
                                                    time = times[j] + part_ms
                                                    break
                                        best = min(best, time)
                                    side, part_ms, time = (1, second_ms, second) if is_first else (0, first_ms, first)
                        if starts[row, 3] + off_ms < best:
                            for m in range(indptr[e], indptr[e + 1]):
                                stop = stops[m]
                                to_street_ms = (connector[m] >> TIME_SHIFT) + off_ms
                                if stop_ms[stop] + to_street_ms < best:
                                    walk = to_street_ms + straight_ms(e, f, position[m], directed, not is_backward)
                                    if walk <= budget_ms:
                                        best = min(best, stop_ms[stop] + walk)
                        if best < bound:
                            of_each[i + shift] = best / 1000.0
                    if i != next_tied:
                        break
                    e, nearness, metres = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
                    tied += 1
                    next_tied = tied_cell[tied] if tied < n_tied else -1
            column = end


# The next loops go over all departures. They have no branches, so that they become vector instructions.


@kernel
def _lower_over_ends(starts, first_ms, second_ms, off_ms, most, budget_ms, found):
    """
    Lower the times at a cell to those over the ends of its edge whose walk is within the budget.

    Parameters
    ----------
    starts : int32 array of shape (5, n_moments), ms
        See `departure_starts` of `traveltime_lab.kernels.raster.transit_edges`.
    first_ms, second_ms, off_ms : float
        Walks from the start and the end of the edge to the cell, and from the street to the cell.
    most, budget_ms : float
    found : float32 array of shape (n_moments,), s
        Lowered in place.

    Returns
    -------
    n_first, n_second, n_stops : int
        For how many departures a longer walk would be faster over the start and the end of the edge, and for how many
        a stop of the edge may be.
    """
    first_of, first_walk_of, second_of, second_walk_of, at_stops = starts[0], starts[1], starts[2], starts[3], starts[4]
    n_first, n_second, n_stops = 0, 0, 0
    for k in range(found.size):
        before = found[k]
        bound = 1000.0 * np.float64(before)
        bound = bound if bound < most else most
        first, second = first_of[k] + first_ms, second_of[k] + second_ms
        is_first_far, is_second_far = first_walk_of[k] + first_ms > budget_ms, second_walk_of[k] + second_ms > budget_ms
        over_first, over_second = bound if is_first_far else first, bound if is_second_far else second
        time = over_first if over_first < over_second else over_second
        best = time if time < bound else bound
        n_first += 1 if is_first_far & (first < best) else 0
        n_second += 1 if is_second_far & (second < best) else 0
        n_stops += 1 if at_stops[k] + off_ms < best else 0
        after = np.float32(best / 1000.0)
        found[k] = after if best < bound else before
    return n_first, n_second, n_stops


@kernel
def _lower_from_stop(times_ms, whole_ms, part_ms, most, found):
    """Lower the times at a cell to those at a stop and a walk from there, whose length has two parts."""
    for k in range(found.size):
        before = found[k]
        bound = 1000.0 * np.float64(before)
        bound = bound if bound < most else most
        time = (times_ms[k] + whole_ms) + part_ms
        after = np.float32(time / 1000.0)
        found[k] = after if time < bound else before


@kernel
def _lower_from_all(d, part_ms, most, budget_ms, ports, around, stop_ms, found):
    """Lower the times at a cell to those over all stops around the start of a directed edge; see `time_over_all`."""
    for k in range(ports.indptr[d], ports.indptr[d + 1]):
        state, key_ms = ports.states[k], ports.keys[k] >> TIME_SHIFT
        for j in range(around.indptr[state], around.indptr[state + 1]):
            walk_ms = around.ms[j] + key_ms
            if walk_ms + part_ms <= budget_ms:
                _lower_from_stop(stop_ms[around.stops[j]], walk_ms, part_ms, most, found)


@kernel
def _nth(values, rank, guess):
    """
    Return the value (int32) that has the position `rank` in ascending order.

    The range that has it is halved until few values are between; then the next value is tried. With a guess that is
    close, such as the value of the cell before, there is little to halve.
    """
    low, high = values[0], values[0]
    for k in range(values.size):
        value = values[k]
        low = value if value < low else low
        high = value if value > high else high
    middle = np.int32(guess)
    while low < high:
        middle = min(max(middle, low), np.int32(high - 1))
        count, below, above = np.int32(0), low, high
        for k in range(values.size):
            value = values[k]
            is_below = value <= middle
            count += np.int32(1) if is_below else np.int32(0)
            lesser, greater = value if is_below else low, high if is_below else value
            below = lesser if lesser > below else below
            above = greater if greater < above else above
        away = rank + 1 - count
        if away == 0:
            return below
        if away < 0:
            high = below
            middle = np.int32(below - 1) if away > -_NEAR else np.int32(low + np.int32((high - low) >> 1))
        else:
            low = above
            middle = above if away < _NEAR else np.int32(low + np.int32((high - low) >> 1))
    return low


@kernel
def gather_departures(cells, row_of, starts, directed, is_backward, budget_ms, limit_ms, rides, on_edges, rank, values):
    """
    Lower the value of each cell to a percentile of its travel times over many departures.

    Equal to `gather_rides` for each departure, and the value at position `rank` of the results in ascending order.

    Parameters
    ----------
    cells, directed, is_backward, budget_ms, limit_ms, on_edges
        As in `gather_rides`.
    row_of : int32 array of shape (n_edges,)
        Row of `starts` of each edge, -1 for edges that no departure reaches within the limit.
    starts : int32 array of shape (n_rows, 5, n_moments), ms
        From `traveltime_lab.kernels.raster.transit_edges.departure_starts`.
    rides : Rides
        Its `stop_ms` has the shape (n_stops, n_moments).
    rank : int
    values : float32 array of shape (n_rows, n_columns), s
        Lowered in place.
    """
    per_metre, buffer_m, of_each = cells.per_metre, cells.buffer_m, values.reshape(-1)
    ports, around, stop_ms = rides
    indptr, stops, place, connector = on_edges.indptr, on_edges.stops, on_edges.fraction, on_edges.connector
    most, budget = limit_ms + 1.0, np.float64(budget_ms)
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    n_tied, tied = tied_cell.size, 0
    next_tied = tied_cell[0] if n_tied else -1
    found = np.empty(starts.shape[2], np.float32)
    # Floats that are not negative are ordered as their bits are.
    bits, bits_of_each, guess = found.view(np.int32), of_each.view(np.int32), np.int32(0)
    for i in range(edge.size):
        e, nearness, metres = edge[i], fraction[i], distance[i]
        for k in range(found.size):
            found[k] = of_each[i]
        is_reached = False
        while True:
            row = row_of[e] if e >= 0 else -1
            if row >= 0 and metres <= buffer_m:
                is_reached = True
                f = np.float64(nearness)
                off_ms = 1000.0 * per_metre * metres
                there, back = (2 * e + 1, 2 * e) if is_backward else (2 * e, 2 * e + 1)
                first_ms = f * (directed.traversal[there] >> TIME_SHIFT) + off_ms
                second_ms = (1.0 - f) * (directed.traversal[back] >> TIME_SHIFT) + off_ms
                n_first, n_second, n_stops = _lower_over_ends(
                    starts[row], first_ms, second_ms, off_ms, most, budget, found
                )
                if n_first:
                    _lower_from_all(there, first_ms, most, budget, ports, around, stop_ms, found)
                if n_second:
                    _lower_from_all(back, second_ms, most, budget, ports, around, stop_ms, found)
                if n_stops:
                    for m in range(indptr[e], indptr[e + 1]):
                        walk = (connector[m] >> TIME_SHIFT) + off_ms
                        walk += straight_ms(e, f, place[m], directed, not is_backward)
                        if walk <= budget:
                            _lower_from_stop(stop_ms[stops[m]], np.int64(0), walk, most, found)
            if i != next_tied:
                break
            e, nearness, metres = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
            tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
        if is_reached:
            bits_of_each[i] = guess = _nth(bits, rank, guess)


@kernel
def gather_drives(cells, directed, budget_ms, ports, drives, stop_ms, on_edges, values):
    """
    Lower the value of each cell to the travel time of driving to a stop and taking transit from there.

    Parameters
    ----------
    cells : traveltime_lab.kernels.raster.surface.Cells
    directed : Directed
    budget_ms : int
        Longest driving time, including the connector between the cell and its street.
    ports : Ports
        Exit ports of each directed edge.
    drives : Drives
        From `drives_to_stops`.
    stop_ms : int32 array of shape (n_stops,)
        Travel time from each stop to the destination, `NEVER` if there is no journey.
    on_edges : StopsOnEdges
    values : float32 array of shape (n_rows, n_columns), s
        Lowered in place.
    """
    per_metre, buffer_m, of_each = cells.per_metre, cells.buffer_m, values.reshape(-1)
    label_indptr, label_ms, drive_ms = drives
    traversal, is_open = directed
    port_indptr, port_states, port_keys = ports.indptr, ports.states, ports.keys
    indptr, stops, place, connector = on_edges.indptr, on_edges.stops, on_edges.fraction, on_edges.connector
    edge, fraction, distance = cells.edge.reshape(-1), cells.fraction.reshape(-1), cells.distance.reshape(-1)
    tied_cell, tied_edge, tied_fraction, tied_distance = (
        cells.tied_cell, cells.tied_edge, cells.tied_fraction, cells.tied_distance,
    )  # fmt: skip
    n_tied, tied = tied_cell.size, 0
    next_tied = tied_cell[0] if n_tied else -1
    for i in range(edge.size):
        e, nearness, metres = edge[i], fraction[i], distance[i]
        while True:
            if e >= 0 and metres <= buffer_m:
                f, off_ms, best = np.float64(nearness), 1000.0 * per_metre * metres, 1000.0 * np.float64(of_each[i])
                for side in range(2):
                    # The car drives from the cell to the end of the edge.
                    d = 2 * e + 1 - side
                    if not is_open[d]:
                        continue
                    part_ms = (f if side == 0 else 1.0 - f) * (traversal[d] >> TIME_SHIFT) + off_ms
                    for k in range(port_indptr[d], port_indptr[d + 1]):
                        onward = part_ms + (port_keys[k] >> TIME_SHIFT)
                        state = port_states[k]
                        for j in range(label_indptr[state], label_indptr[state + 1]):
                            if drive_ms[j] + onward <= budget_ms:
                                best = min(best, label_ms[j] + onward)
                                break
                for k in range(indptr[e], indptr[e + 1]):
                    stop = stops[k]
                    if stop_ms[stop] == NEVER:
                        continue
                    drive = straight_ms(e, f, place[k], directed, np.bool_(False))
                    drive += (connector[k] >> TIME_SHIFT) + off_ms
                    if drive <= budget_ms:
                        best = min(best, stop_ms[stop] + drive)
                of_each[i] = best / 1000.0
            if i != next_tied:
                break
            e, nearness, metres = tied_edge[tied], tied_fraction[tied], tied_distance[tied]
            tied += 1
            next_tied = tied_cell[tied] if tied < n_tied else -1
