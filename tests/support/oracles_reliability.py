"""
A slow, obviously right twin of realizable travel times: one passenger at a time, in plain Python.

The passenger has an itinerary of `routes`, and reads when vehicles ran from lists of calls, as the test has written
them. Ways on streets are those of `tests.support.oracles_doors`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import traveltime_lab as tl
from tests.support.oracles_doors import DoorOracle


@dataclass(frozen=True)
class Vehicle:
    """
    A trip that ran: its ids, and (stop_id, arrival, departure) in seconds after midnight.

    `planned` has the position of each call in the plan, and its planned stop; `is_whole` if no call is left out.
    """

    trip_id: str
    route_id: str
    calls: tuple[tuple[str, int, int], ...]
    planned: tuple[tuple[int, str], ...] = ()
    is_whole: bool = False

    def calls_at(self, k: int, stop: str, stations: dict[str, str]) -> bool:
        """Return whether a call is one at a stop: it is there, or has moved within the station."""
        actual = self.calls[k][0]
        if actual == stop:
            return True
        if actual not in stations or stations[actual] != stations.get(stop):
            return False
        return not self.is_whole or self.planned[k][1] == stop


class Trip(NamedTuple):
    """What becomes of a passenger: milliseconds (inf for never), transfers missed, and whether all was caught."""

    ms: float
    transfers: int
    missed: int
    is_possible: bool


def rides_of(route: tl.Route) -> list[tuple[str, str, str, str]]:
    """Return route_id, trip_id, and the stops where each ride of an itinerary begins and ends."""
    rides = [leg.ride for leg in route.legs if leg.ride is not None]
    assert not any(ride.stays_seated for ride in rides)
    return [(ride.route_id, ride.trip_id, ride.board.stop_id, ride.alight.stop_id) for ride in rides]


def arrivals(vehicle: Vehicle, board: str, alight: str, ready_ms: float, stations: dict[str, str]) -> list[int]:
    """Return when a vehicle arrives at a stop, for each way to ride there, in seconds."""
    return [
        vehicle.calls[other][1]
        for k, (_, _, departure) in enumerate(vehicle.calls)
        if departure * 1000 >= ready_ms and vehicle.calls_at(k, board, stations)
        for other in range(k + 1, len(vehicle.calls))
        if vehicle.calls_at(other, alight, stations)
    ]


def follow(
    route: tl.Route | None, doors: DoorOracle, stop_ids: list[str], vehicles: list[Vehicle], ends: tuple[int, int],
    departure: int, limit: int, stations: dict[str, str],
) -> Trip:  # fmt: skip
    """
    Follow an itinerary between an origin and a destination that leaves at a second after midnight.

    Parameters
    ----------
    route : Route or None
        None if there is no plan.
    doors : DoorOracle
        Of the planned network.
    stop_ids : list of str
        Ids of the stops in its order.
    vehicles : list of Vehicle
        All that ran on the day.
    ends : pair of int
        Positions of origin and destination.
    departure, limit : int
        Seconds.
    stations : dict
        The station of stops that have one.
    """
    i, j = ends
    if route is None:
        return Trip(math.inf, 0, 0, False)
    means, rides = doors.means, rides_of(route)
    if not rides:
        return Trip(doors.direct[i][j], 0, 0, True)
    delay = means.pt_change_delay * 1000
    row = {name: k for k, name in enumerate(stop_ids)}
    now = departure * 1000 + doors.access[i][row[rides[0][2]]] + means.access_penalty * 1000
    last, missed, is_possible = None, 0, True
    for line, planned, board, alight in rides:
        if last is not None:
            a, b = row[last], row[board]
            ways = [doors.rides.change[a]] if a == b else [s for stop, s in doors.rides.walks[a] if stop == b]
            now += min(ways) * 1000
        now += delay
        its_own = [each for each in vehicles if each.trip_id == planned]
        if not any(arrivals(each, board, alight, now, stations) for each in its_own):
            missed += last is not None
            is_possible = False
        of_line = [each for each in vehicles if each.route_id == line]
        times = [time for each in of_line for time in arrivals(each, board, alight, now, stations)]
        now = min(times) * 1000 if times else math.inf
        last = alight
    total = now + doors.egress[j][row[rides[-1][3]]] - departure * 1000
    return Trip(total if total <= limit * 1000 + 499 else math.inf, len(rides) - 1, missed, is_possible)
