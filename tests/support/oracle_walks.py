"""Walks around stops in plain Python: a search from each stop, and the earliest arrival at each state along them."""

from __future__ import annotations

import heapq
from typing import Any

from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.rounding import most_ms
from traveltime_lab.transit.stop_links import LinkedStops

#: Time in ms and length in cm of the walk between a state and a stop, by state and stop.
Walked = dict[tuple[int, int], tuple[int, int]]


def walked(stops: LinkedStops, budget_s: int, *, is_leaving: bool) -> Walked:
    """Return the walks of at most a budget between all stops and states."""
    arcs = stops.graph.arcs(is_backward=not is_leaving)
    indptr, heads, weights = (values.tolist() for values in (arcs.indptr, arcs.indices, arcs.weights))
    seeds = stops.ports(is_entry=not is_leaving)
    found: Walked = {}
    for stop in range(len(stops)):
        rows = slice(int(seeds.indptr[stop]), int(seeds.indptr[stop + 1]))
        queue = list(zip(seeds.keys[rows].tolist(), seeds.states[rows].tolist(), strict=True))
        heapq.heapify(queue)
        done = set()
        while queue:
            label, state = heapq.heappop(queue)
            if state in done or label >> TIME_SHIFT > most_ms(budget_s):
                continue
            done.add(state)
            found[state, stop] = label >> TIME_SHIFT, label & ((1 << TIME_SHIFT) - 1)
            for arc in range(indptr[state], indptr[state + 1]):
                heapq.heappush(queue, (label + weights[arc], heads[arc]))
    return found


def earliest(walks: Walked, times_ms: Any, limit_ms: int) -> dict[int, tuple[int, int]]:
    """Return the earliest arrival at each state within a limit, and the walk there, given the arrivals at the stops."""
    found: dict[int, tuple[int, int]] = {}
    for (state, stop), (ms, _) in walks.items():
        arrival = int(times_ms[stop]) + ms, ms
        if arrival[0] <= limit_ms:
            found[state] = min(found.get(state, arrival), arrival)
    return found
