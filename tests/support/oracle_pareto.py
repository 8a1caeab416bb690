"""
The slow twin of Pareto-optimal routes: every journey of a small timetable, one by one, in plain Python.

A journey is a list of rides from an access stop to an egress stop, with transfers by the rules of
`tests.support.oracles_transit`. Its emissions are those of straight lines from stop to stop; where a feed has shapes,
those of the library's lengths of rides, which have a twin of their own. It shares with the library the trip table, the
links between points and stops, and the fares of a list of rides, which `tests/transit/test_fares.py` compares with
every way to buy tickets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tests.support.oracles_transit import TransitOracle
from traveltime_lab import crs
from traveltime_lab.kernels.transit.ride_lines import ride_calls
from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.transit.fares import PaidRide, fare_book
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.ride_lengths import known_lengths, trip_lines
from traveltime_lab.transit.route_types import route_mode

Criteria = tuple[float, float, float, float]


class Part(NamedTuple):
    """A run, and the positions where one is on board."""

    run: int
    first: int
    last: int


Ride = tuple[Part, ...]


class ParetoOracle:
    """Every journey of a query between one origin and one destination."""

    def __init__(
        self, query: TransitQuery, grams_per_km: Mapping[str, float | None], step_mg: int, currency: str
    ) -> None:
        self.query, self.grams, self.step_mg, self.currency = query, grams_per_km, step_mg, currency
        search = query.search()
        self.table = search.table
        self.runs = TransitOracle(self.table)
        self.begin = query.at(search)
        self.timetable = query.layer.timetable
        most = query.transportation.max_changes
        self.most_rides = 9 if most is None else most + 1
        self.delay = query.transportation.pt_change_delay * 1000

    def journeys(self, access: dict[int, int], egress: dict[int, int], limit: int) -> Iterator[tuple[int, list[Ride]]]:
        """Yield the milliseconds and rides of journeys; `access` and `egress` are milliseconds by stop."""

        def ride_on(ready: dict[int, int], rides: list[Ride]) -> Iterator[tuple[int, list[Ride]]]:
            if len(rides) == self.most_rides:
                return
            for ride, stop, time in self._rides(ready):
                so_far = [*rides, ride]
                if stop in egress and time + egress[stop] <= self.begin + limit:
                    yield time + egress[stop] - self.begin, so_far
                then = {other: time + walk + self.delay for other, walk in self.runs.walks[stop]}
                if self.runs.change[stop] < FORBIDDEN:
                    then[stop] = min(then.get(stop, math.inf), time + self.runs.change[stop] + self.delay)
                yield from ride_on(then, so_far)

        yield from ride_on({stop: self.begin + ms for stop, ms in access.items()}, [])

    def _rides(self, ready: dict[int, int]) -> Iterator[tuple[Ride, int, int]]:
        """Yield rides from stops where one is ready, with the stop and the time where they end."""
        for run, calls in enumerate(self.runs.runs):
            for first, call in enumerate(calls[:-1]):
                if not call.can_board or ready.get(call.stop, math.inf) > call.departure:
                    continue
                before: Ride = ()
                now, begin = run, first
                while True:
                    here = self.runs.runs[now]
                    for last in range(begin + 1, len(here)):
                        if here[last].can_alight:
                            yield (*before, Part(now, begin, last)), here[last].stop, here[last].arrival
                    if now not in self.runs.stays:
                        break
                    before = (*before, Part(now, begin, len(here) - 1))
                    now, begin = self.runs.stays[now], 0

    def steps(self, ride: Ride) -> float:
        """Return the emissions of a ride in whole steps, infinite if they are not known."""
        t, mg, end = self.timetable, 0, None
        for run, first, last in ride:
            trip = int(self.table.instance_trip[run])
            stops = [call.stop for call in self.runs.runs[run][first : last + 1]]
            if len(stops) == 1 and end == stops[0]:
                continue
            stops = stops if end is None else [end, *stops]
            lng, lat = t.stops["stop_lon"].to_numpy()[stops], t.stops["stop_lat"].to_numpy()[stops]
            if t.shape_lng.size:
                cm = self._along_shape(run, first, last)
            else:
                cm = math.floor(float(crs.segment_lengths_m(lng, lat).sum()) * 100.0 + 0.5)
            route = int(t.hot.trip_route[trip])
            factor = self.grams[route_mode(int(t.routes["route_type"].iat[route]))]
            if factor is None and cm:
                return math.inf
            mg += math.floor(cm * (factor or 0.0) / 100.0 + 0.5)
            end = stops[-1]
        return math.floor((2 * mg + self.step_mg) / (2 * self.step_mg))

    def _along_shape(self, run: int, first: int, last: int) -> int:
        layer, ends = self.query.layer, (np.array([each], np.int32) for each in (run, first, run, last))
        tables = (self.table.instance_trip, self.table.stay_instance)
        return int(ride_calls(trip_lines(layer), known_lengths(layer), *tables, *ends)[1][0, 3])

    def fare(self, rides: list[Ride]) -> float:
        """Return the cheapest fare of rides, infinite if it is not known, as any in another currency."""
        paid = []
        for ride in rides:
            run, first, _ = ride[0]
            calls = [(int(self.table.instance_trip[part.run]), part.first, part.last) for part in ride]
            leaves = self.table.reference + round(self.runs.runs[run][first].departure / 1000)
            paid.append(PaidRide.of(self.timetable, calls, (), leaves))
        totals = fare_book(self.query.layer).totals(paid)
        if totals is None or any(total > 0 for code, total in totals.items() if code != self.currency):
            return math.inf
        return totals.get(self.currency, 0.0)

    def criteria(self, access: dict[int, int], egress: dict[int, int], limit: int) -> set[Criteria]:
        """Return the seconds, steps of emissions, fare and number of rides of all journeys."""
        return {
            (
                math.floor(ms / 1000 + 0.5),
                sum(self.steps(ride) for ride in rides),
                round(self.fare(rides), 4),
                len(rides),
            )
            for ms, rides in self.journeys(access, egress, limit)
        }


def unbeaten(rows: set[Criteria], chosen: tuple[int, ...]) -> set[tuple[float, ...]]:
    """Return the values of the chosen criteria that no other row beats."""
    values = {tuple(row[k] for k in chosen) for row in rows}
    return {
        one for one in values if not any(other != one and all(np.array(other) <= np.array(one)) for other in values)
    }
