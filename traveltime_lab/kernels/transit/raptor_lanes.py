"""
Run many RAPTOR searches at once, with one lane of a vector register for each.

The journeys are those of `traveltime_lab.kernels.transit.raptor`, and so are the results. Searches in one timetable
scan mostly the same patterns, and a processor cannot guess which labels a trip improves, so that a search from one
origin waits for most of its time. Here the labels of `SEARCHES` origins at a stop are a row that is compared at once.

- A pattern is scanned trip instance by trip instance. A lane that is on board of one from a position on gains nothing
  there from a later one, which does not overtake it. When no lane is left that can still board, the scan ends.
- In a round, only lanes board that can be at a stop earlier than in the rounds before.
- Where a vehicle continues as another trip, the lanes that are on board of the instance, or of an earlier one of the
  pattern, are on board of the continuation.

Times have 16 bits: they count *ticks* after the first departure. A tick is the unit of the lines or `LONG_TICK` of
them, a second where the unit is a millisecond. Arrivals and departures have to be whole ticks. The times to board are
rounded up to them, which changes nothing.

In identifiers, `run` means a trip instance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.time_lanes import LATEST, SEARCHES, lower, lower_from, within
from traveltime_lab.kernels.unreached import NEVER

#: Largest number of ticks from the first departure to the last arrival. Ticks and durations that are longer than all
#: searches still fit in 16 bits.
MOST_TICKS = 32_000
#: Units of a tick where searches take longer than `MOST_TICKS` units.
LONG_TICK = 1000
#: Ticks of departures and arrivals before the first departure and after the last arrival.
_BEFORE, _AFTER = np.int16(-1), np.int16(MOST_TICKS + 2)
#: Stops whose times are written together: a cache line of each search.
_STOPS = 16


class Moments(NamedTuple):
    """The ticks of a call."""

    base: int  # time of the first departure
    tick: int  # units of time, 1 or `LONG_TICK`
    latest: int  # last tick of interest
    end: int  # last time of interest, less than a tick later


class InTicks(NamedTuple):
    """A timetable in ticks. Patterns and footpaths are converted when a search first needs them."""

    row: np.ndarray  # int32 (n_stops,), rows of the stops of patterns, -1 for others
    boarding_row: np.ndarray  # int32 (n_stops,), the same for stops where vehicles can be boarded
    stop: np.ndarray  # int32 (n_rows,), the stop of each row
    position_row: np.ndarray  # int32 (n_positions,), row of the stop at each position
    times_at: np.ndarray  # int64 (n_patterns,), where the times of a pattern begin, -1 until they are converted
    first_run: np.ndarray  # int32 (n_patterns,), first trip instance of each pattern that may be on board in time
    n_runs: np.ndarray  # int32 (n_patterns,), number of them
    arrival: np.ndarray  # int16 (n_times,)
    departure: np.ndarray  # int16 (n_times,)
    walks_begin: np.ndarray  # int64 (n_rows,), -1 until the footpaths of a row are converted
    walks_end: np.ndarray  # int64 (n_rows,)
    walk_row: np.ndarray  # int32 (n_walks + 1,), rows at the ends of footpaths that can be boarded, nearest first
    walk_time: np.ndarray  # int16 (n_walks + 1,)
    change_time: np.ndarray  # int16 (n_rows,), time to board at the stop itself, LATEST if never
    filled: np.ndarray  # int64 (2,), numbers of times and of footpaths that are converted


class Lanes(NamedTuple):
    """Labels and working arrays of the searches."""

    end: np.ndarray  # int16 (SEARCHES,), first tick after each search
    best: np.ndarray  # int16 (n_rows, SEARCHES), earliest arrival of a leg, the end where there is none
    ready: np.ndarray  # int16 (n_rows, SEARCHES), earliest time to board
    fresh: np.ndarray  # uint64 (n_rows,), lanes that may board in this round; 0 between searches
    soonest: np.ndarray  # int16 (n_rows,), no later than the first of them, LATEST if there are none
    marked: np.ndarray  # int32 (n_rows + 1,), rows with such lanes
    touched: np.ndarray  # int32 (n_rows,), rows whose arrivals the round improved
    first_arrival: np.ndarray  # int16 (n_rows,), earliest of these arrivals, LATEST for rows that are not touched
    queue: np.ndarray  # int32 (n_patterns + 1,)
    first: np.ndarray  # int32 (n_patterns,), index of the first position to scan, NEVER if not queued
    may_board: np.ndarray  # uint64 (longest pattern,), lanes that may board at each position
    seen: np.ndarray  # uint64 (longest pattern,), lanes on board of a trip instance from each position on
    seated: np.ndarray  # uint64 (n_runs,) or (0,), lanes that entered a trip instance by staying seated
    pending: np.ndarray  # uint64 (n_runs,) or (0,), those of them whose ride has not been followed
    stack: np.ndarray  # int32 (n_runs,) or (0,), trip instances with such lanes


@kernel
def _first_run(lines, p, k, time):
    """Return the first trip instance of a pattern that departs at position k no earlier than a time."""
    start = lines.pattern_indptr[p]
    n = lines.pattern_indptr[p + 1] - start
    low, high = np.int64(0), lines.instance_indptr[p + 1] - lines.instance_indptr[p]
    while low < high:
        middle = (low + high) >> 1
        if lines.departure[lines.time_indptr[p] + middle * n + k] >= time:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _convert_times(lines, moments, ticks, p):
    """Convert the times of a pattern; return whether they are whole ticks."""
    base, tick, _, end = moments
    n = lines.pattern_indptr[p + 1] - lines.pattern_indptr[p]
    first = _first_run(lines, p, n - 1, base)
    n_runs = max(np.int64(0), _first_run(lines, p, np.int64(0), end + 1) - first)
    at, begin = ticks.filled[0], lines.time_indptr[p] + first * n
    ticks.times_at[p], ticks.first_run[p], ticks.n_runs[p] = at, first, n_runs
    ticks.filled[0] += n_runs * n
    is_whole = True
    for out, times in ((ticks.arrival, lines.arrival), (ticks.departure, lines.departure)):
        for i in range(n_runs * n):
            time = np.int64(times[begin + i])
            after = np.uint32(time - base if base <= time <= end else 0)
            # A division by a constant becomes a multiplication.
            whole = np.int64(after) if tick == 1 else np.int64(after // np.uint32(LONG_TICK))
            is_whole &= whole * tick == after
            out[at + i] = _BEFORE if time < base else _AFTER if time > end else np.int16(whole)
    return is_whole


@kernel
def _rounded_up(duration, tick):
    """Return a duration in ticks, LATEST if it is longer."""
    longer = np.uint32(duration + tick - 1)
    return np.int16(min(np.int64(LATEST), np.int64(longer if tick == 1 else longer // np.uint32(LONG_TICK))))


@kernel
def _convert_walks(lines, tick, ticks, row, change_delay):
    """Convert the footpaths of a stop, without those to stops where nothing can be boarded."""
    row_of, walk_row, walk_time = ticks.boarding_row, ticks.walk_row, ticks.walk_time
    transfer_stop, transfer_time = lines.transfer_stop, lines.transfer_time
    stop, at = np.int64(ticks.stop[row]), ticks.filled[1]
    # Forbidden transfers take longer than all searches.
    ticks.change_time[row] = _rounded_up(lines.change_time[stop] + change_delay, tick) if row_of[stop] >= 0 else LATEST
    ticks.walks_begin[row] = at
    for e in range(lines.transfer_indptr[stop], lines.transfer_indptr[stop + 1]):
        # Without a branch, which half of the stops would take.
        end = row_of[np.uint64(transfer_stop[e])]
        walk_row[at] = end
        walk_time[at] = _rounded_up(transfer_time[e] + change_delay, tick)
        at += end >= 0
    ticks.walks_end[row] = ticks.filled[1] = at


@kernel
def _begin(moments, ticks, lanes, access, starts, limits, members):
    """Clear the labels, and mark the stops where the searches start; return the number of marked rows."""
    base, tick, _, _ = moments
    end, best, ready, fresh, soonest = lanes.end, lanes.best, lanes.ready, lanes.fresh, lanes.soonest
    end[:] = 0
    for lane in range(members.size):
        end[lane] = (starts[members[lane]] + limits.travel_time - base) // tick + 1
    for row in range(fresh.size):
        for lane in range(SEARCHES):
            best[row, lane] = end[lane]
            ready[row, lane] = end[lane]
    lanes.seated[:] = 0
    n_marked = 0
    for lane in range(members.size):
        i = members[lane]
        for e in range(access.indptr[i], access.indptr[i + 1]):
            row = ticks.row[access.stops[e]]
            time = (np.int64(starts[i]) + access.ms[e] - base + tick - 1) // tick
            if row < 0 or time >= ready[row, lane]:
                continue
            ready[row, lane] = time
            if fresh[row] == 0:
                lanes.marked[n_marked] = row
                n_marked += 1
            fresh[row] |= np.uint64(1) << np.uint64(lane)
            soonest[row] = min(soonest[row], ready[row, lane])
    return n_marked


@kernel
def _queue_patterns(lines, moments, ticks, lanes, n_marked):
    """Queue the patterns that can be boarded at a marked row; return their number."""
    queue, first, marked, soonest = lanes.queue, lanes.first, lanes.marked, lanes.soonest
    stop_of, last_departure = ticks.stop, lines.last_departure
    stop_indptr, stop_pattern, stop_boarding = lines.stop_indptr, lines.stop_pattern, lines.stop_boarding
    n_queued = np.uint64(0)
    for i in range(np.uint64(n_marked)):
        row = np.uint64(marked[i])
        stop = np.uint64(stop_of[row])
        # All lanes are ready after this time, because ticks are rounded up.
        time = moments.base + (np.int64(soonest[row]) - 1) * moments.tick
        for e in range(np.uint64(stop_indptr[stop]), np.uint64(stop_indptr[stop + np.uint64(1)])):
            position, p = stop_boarding[e], np.uint64(stop_pattern[e])
            if time >= last_departure[np.uint64(position)]:
                continue
            queue[n_queued] = p
            n_queued += np.uint64(first[p] == NEVER)
            first[p] = min(first[p], position)
    return np.int64(n_queued)


@kernel
def _push(lines, lanes, run, on_board, n_stack):
    """Push the trip instances that `run` continues as and that lanes enter for the first time."""
    for s in range(lines.stay_indptr[run], lines.stay_indptr[run + 1]):
        other = lines.stay_instance[s]
        entering = on_board & ~lanes.seated[other]
        if entering:
            lanes.seated[other] |= entering
            if lanes.pending[other] == 0:
                lanes.stack[n_stack] = other
                n_stack += 1
            lanes.pending[other] |= entering
    return n_stack


@kernel
def _stay_seated(lines, moments, ticks, lanes, n_stack, n_touched):
    """Follow the trip instances of the stack, and their continuations; return the number of touched rows, or -1."""
    while n_stack > 0:
        n_stack -= 1
        run = np.int64(lanes.stack[n_stack])
        on_board = lanes.pending[run]
        lanes.pending[run] = 0
        p = np.int64(lines.run_pattern[run])
        if ticks.times_at[p] < 0 and not _convert_times(lines, moments, ticks, p):
            return -1
        start = lines.pattern_indptr[p]
        n = lines.pattern_indptr[p + 1] - start
        r = run - lines.instance_indptr[p] - ticks.first_run[p]
        if r < 0 or r >= ticks.n_runs[p]:
            continue
        at = ticks.times_at[p] + r * n
        for k in range(1, n):
            time = ticks.arrival[at + k]
            if time > moments.latest:
                break
            row = np.int64(ticks.position_row[start + k])
            if lines.can_alight[start + k] and lower(lanes.best, row, on_board, time):
                if lanes.first_arrival[row] == LATEST:
                    lanes.touched[n_touched] = row
                    n_touched += 1
                lanes.first_arrival[row] = min(lanes.first_arrival[row], time)
        if ticks.arrival[at + n - 1] <= moments.latest:
            n_stack = _push(lines, lanes, run, on_board, n_stack)
    return n_touched


@kernel
def _scan_queue(lines, moments, ticks, lanes, n_queued):
    """Scan the queued patterns; return the number of touched rows, or -1 if times are no whole ticks."""
    # Arrays are taken out of their tuples before the loops, where each access would count references.
    pattern_indptr, can_board, can_alight = lines.pattern_indptr, lines.can_board, lines.can_alight
    arrival, departure, position_row = ticks.arrival, ticks.departure, ticks.position_row
    best, ready, fresh, soonest = lanes.best, lanes.ready, lanes.fresh, lanes.soonest
    may_board, seen, queue, first_of = lanes.may_board, lanes.seen, lanes.queue, lanes.first
    touched, first_arrival = lanes.touched, lanes.first_arrival
    latest, with_stays, n_touched = np.int16(moments.latest), lines.stay_instance.size > 0, 0
    for i in range(n_queued):
        p = np.int64(queue[i])
        start = pattern_indptr[p]
        n = pattern_indptr[p + 1] - start
        first = first_of[p] - start
        first_of[p] = NEVER
        if ticks.times_at[p] < 0 and not _convert_times(lines, moments, ticks, p):
            return -1
        n_runs, times = np.int64(ticks.n_runs[p]), ticks.times_at[p]
        if n_runs == 0:
            continue
        # The lanes that may board, and the first trip instance that one of them can catch.
        run = n_runs
        for k in range(first, n):
            row = np.int64(position_row[start + k])
            seen[k], may_board[k] = 0, 0
            if k == n - 1 or fresh[row] == 0 or not can_board[start + k]:
                continue
            may_board[k] = fresh[row] & within(ready, row, departure[times + (n_runs - 1) * n + k])
            low, high = np.int64(0), run if may_board[k] else np.int64(0)
            while low < high:
                middle = (low + high) >> 1
                if departure[times + middle * n + k] >= soonest[row]:
                    high = middle
                else:
                    low = middle + 1
            run = low if may_board[k] else run
        n_stack, is_open = 0, True
        while run < n_runs and (is_open or with_stays):
            if is_open:
                here, at = np.uint64(start), np.uint64(times + run * n)
                on_board, boarding, waiting = np.uint64(0), np.uint64(0), np.uint64(0)
                for k in range(np.uint64(first), np.uint64(n)):
                    if on_board:
                        time = arrival[at + k]
                        if time > latest:
                            break
                        if can_alight[here + k]:
                            row = np.int64(position_row[here + k])
                            if lower(best, row, on_board, time):
                                if first_arrival[row] == LATEST:
                                    touched[n_touched] = row
                                    n_touched += 1
                                first_arrival[row] = min(first_arrival[row], time)
                    before = seen[k]
                    left = may_board[k] & ~(before | on_board)
                    if left:
                        on_board |= left & within(ready, np.int64(position_row[here + k]), departure[at + k])
                    on_board &= ~before
                    seen[k] = before | on_board
                    boarding |= may_board[k]
                    waiting |= boarding & ~seen[k]
                is_open = waiting != 0
            if with_stays and arrival[times + run * n + n - 1] <= latest:
                number = lines.instance_indptr[p] + ticks.first_run[p] + run
                n_stack = _push(lines, lanes, number, seen[n - 1], n_stack)
            run += 1
        if n_stack:
            n_touched = _stay_seated(lines, moments, ticks, lanes, n_stack, n_touched)
            if n_touched < 0:
                return -1
    return n_touched


@kernel
def _change(lines, moments, ticks, lanes, n_touched, change_delay):
    """Relax the transfers of the touched rows; return the number of rows where lanes may board in the next round."""
    best, ready, fresh, soonest, marked = lanes.best, lanes.ready, lanes.fresh, lanes.soonest, lanes.marked
    touched, first_arrival, change_time = lanes.touched, lanes.first_arrival, ticks.change_time
    walks_begin, walks_end = ticks.walks_begin, ticks.walks_end
    walk_row, walk_time = ticks.walk_row, ticks.walk_time
    latest, n_marked = np.int64(moments.latest), np.uint64(0)
    for i in range(np.uint64(n_touched)):
        row = np.uint64(touched[i])
        if walks_begin[row] < 0:
            _convert_walks(lines, moments.tick, ticks, np.int64(row), change_delay)
        arrival = np.int64(first_arrival[row])
        first_arrival[row] = LATEST
        # The stop itself comes before the ends of footpaths, which are sorted by duration.
        end, duration = row, np.int64(change_time[row])
        entry, last = np.uint64(walks_begin[row]), np.uint64(walks_end[row])
        if arrival + duration > latest and entry < last:
            end, duration = np.uint64(walk_row[entry]), np.int64(walk_time[entry])
            entry += np.uint64(1)
        while arrival + duration <= latest:
            lowered = lower_from(ready, end, best, row, duration)
            if lowered:
                marked[n_marked] = end
                n_marked += np.uint64(fresh[end] == 0)
                fresh[end] |= lowered
                soonest[end] = min(np.int64(soonest[end]), arrival + duration)
            if entry == last:
                break
            end, duration = np.uint64(walk_row[entry]), np.int64(walk_time[entry])
            entry += np.uint64(1)
    return np.int64(n_marked)


@kernel
def search_lanes(lines, moments, ticks, lanes, access, starts, limits, members):
    """
    Run some of the searches of `traveltime_lab.kernels.transit.access.many_to_stops` at once.

    Parameters
    ----------
    lines, access, starts, limits
        As in `many_to_stops`.
    moments : Moments
        Those of the searches, and of all that used the same arrays before.
    ticks : InTicks
        Changed. With one value of `limits.change_delay` only.
    lanes : Lanes
        Overwritten; for `times_at_stops` and `times_at_targets`.
    members : int64 array of shape (n,)
        The searches, at most `SEARCHES`.

    Returns
    -------
    bool
        False if times of the lines are no whole ticks; then the arrays cannot be used again.
    """
    n_marked, n_rides = _begin(moments, ticks, lanes, access, starts, limits, members), 0
    while n_marked > 0 and n_rides < limits.rides:
        n_rides += 1
        n_queued = _queue_patterns(lines, moments, ticks, lanes, n_marked)
        n_touched = _scan_queue(lines, moments, ticks, lanes, n_queued)
        if n_touched < 0:
            return False
        for i in range(n_marked):
            lanes.fresh[lanes.marked[i]] = 0
            lanes.soonest[lanes.marked[i]] = LATEST
        n_marked = 0
        if n_rides < limits.rides:
            n_marked = _change(lines, moments, ticks, lanes, n_touched, limits.change_delay)
        else:
            for i in range(n_touched):
                lanes.first_arrival[lanes.touched[i]] = LATEST
    return True


@kernel
def times_at_stops(moments, ticks, lanes, starts, members, out):
    """
    Write the times of the searches `members` to their rows of `out`.

    Parameters
    ----------
    moments, ticks, lanes, starts, members
        As in `search_lanes`, which was called before.
    out : int32 array of shape (n_searches, n_stops)
        Time from the start of a search to the arrival by transit; `NEVER` where there is no journey within the limit.
    """
    row_of, best, end = ticks.row, lanes.best, lanes.end
    # A few stops at a time, so that whole cache lines are written.
    for first in range(0, out.shape[1], _STOPS):
        for lane in range(members.size):
            i = members[lane]
            offset = moments.base - starts[i]
            for stop in range(first, min(first + _STOPS, out.shape[1])):
                time = best[max(row_of[stop], 0), lane]
                is_reached = row_of[stop] >= 0 and time < end[lane]
                out[i, stop] = np.int64(time) * moments.tick + offset if is_reached else NEVER


@kernel
def times_at_targets(moments, ticks, lanes, starts, members, links, limit, out):
    """
    Write the least sums of the times at stops and those from the stops to targets; see `times_at_stops`.

    Parameters
    ----------
    links : StopLinks
        Stops around each target.
    limit : int
        Longest travel time.
    out : int32 array of shape (n_searches, n_targets)
    """
    indptr, stops, times = links
    row_of, best, tick = ticks.row, lanes.best, np.int32(moments.tick)
    least = np.empty(SEARCHES, np.int32)
    for target in range(indptr.size - 1):
        for lane in range(SEARCHES):
            least[lane] = NEVER
        for e in range(indptr[target], indptr[target + 1]):
            row, time = np.int64(row_of[stops[e]]), times[e]
            if row >= 0:
                # Times at stops that are not reached are beyond the limit.
                for lane in range(np.uint64(SEARCHES)):
                    least[lane] = min(least[lane], np.int32(best[np.uint64(row), lane] * tick + time))
        for lane in range(members.size):
            time = least[lane] + moments.base - starts[members[lane]]
            out[members[lane], target] = time if time <= limit else NEVER
