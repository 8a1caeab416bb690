"""
Fill the gaps of an observed run: times of calls that an archive does not have.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import NamedTuple

#: Rules for calls without an observed time; see `traveltime_lab.observed_days`.
INTERPOLATE, PLANNED, DROP, PROPAGATE = GAPS = ("interpolate", "planned", "drop", "propagate")


class Filled(NamedTuple):
    """
    The delays of a run.

    Attributes
    ----------
    delay : list of int, s
        One for each event: arrivals and departures one after the other.
    is_given : list of bool
        Whether it was observed, and is used.
    n_absurd : int
        Number of observed events that are left out, as times would decrease.
    n_gaps : int
        Number of calls of which neither arrival nor departure is used.
    """

    delay: list[int]
    is_given: list[bool]
    n_absurd: int
    n_gaps: int


def longest_in_order(times: list[int]) -> list[int]:
    """Return the positions of a longest part of some times that does not decrease."""
    ends: list[int] = []  # the least last time of a part of each length
    at: list[int] = []
    before = [-1] * len(times)
    for i, time in enumerate(times):
        length = bisect_right(ends, time)
        if length == len(ends):
            ends.append(time)
            at.append(i)
        else:
            ends[length], at[length] = time, i
        before[i] = at[length - 1] if length else -1
    found: list[int] = []
    i = at[-1] if at else -1
    while i >= 0:
        found.append(i)
        i = before[i]
    return found[::-1]


def filled(planned: list[int], observed: list[int | None], gaps: str, trip_delay: int | None = None) -> Filled:
    """
    Return the delay of each event of a run.

    Parameters
    ----------
    planned : list of int, s
        Arrival and departure of each call, one after the other.
    observed : list of (int or None), s
        Delays.
    gaps : str
        `INTERPOLATE`: between two observed events, the delay is linear in the planned time; before the first and after
        the last one it is theirs. `PLANNED`: calls without an observed event have no delay, other events that of their
        call. `DROP`: as `INTERPOLATE`, for the events of calls with another one.
    trip_delay : int, optional
        Delay of a run without an observed event, s.
    """
    given = [i for i, delay in enumerate(observed) if delay is not None]
    times = [planned[i] + (observed[i] or 0) for i in given]
    if any(later < earlier for earlier, later in pairwise(times)):
        used = [given[k] for k in longest_in_order(times)]
    else:
        used = given
    is_given = [False] * len(planned)
    for i in used:
        is_given[i] = True
    n_gaps = sum(not (is_given[i] or is_given[i + 1]) for i in range(0, len(planned), 2))
    if not used:
        return Filled([trip_delay or 0] * len(planned), is_given, len(given), n_gaps)
    known = [observed[i] or 0 for i in used]
    delay = [0] * len(planned)
    if gaps == PLANNED:
        for i in range(len(planned)):
            delay[i] = (observed[i] or 0) if is_given[i] else (observed[i ^ 1] or 0) if is_given[i ^ 1] else 0
        return Filled(delay, is_given, len(given) - len(used), n_gaps)
    delay[: used[0]] = [known[0]] * used[0]
    for a, b, one, two in zip(used, used[1:], known, known[1:], strict=False):
        delay[a] = one
        begin, span = planned[a], planned[b] - planned[a]
        for i in range(a + 1, b):
            # At one planned time, an arrival is part of the call that follows, a departure of the one before.
            delay[i] = one + _rounded((two - one) * (planned[i] - begin), span) if span else (one if i & 1 else two)
    delay[used[-1] :] = [known[-1]] * (len(planned) - used[-1])
    return Filled(delay, is_given, len(given) - len(used), n_gaps)


def _rounded(number: int, by: int) -> int:
    """Return a quotient as a whole number, halves up."""
    return (2 * number + by) // (2 * by)
