"""
A slow, obviously right twin of trips from door to door: networkx on foot, a plain connection scan in between.

Where points and stops meet the streets and which runs there are is taken from the library; both have twins of their
own. Everything else is written out: budgets of walks, delays, the direct way on foot.
"""

from __future__ import annotations

import math

import numpy as np

from tests.support.oracles import StreetOracle
from tests.support.oracles_snapping import times_ms
from tests.support.oracles_transit import TransitOracle
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets import costs
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.route_types import is_selected
from traveltime_lab.transit.trip_instances import trip_table

#: Modes of some route types: GTFS Schedule reference, and Google's extended route types.
MODES = {0: "tram", 1: "subway", 2: "rail", 3: "bus", 401: "subway", 704: "bus", 900: "tram"}


class DoorOracle:
    """Trips with the timetable of a network between some origins and some destinations."""

    def __init__(
        self,
        network: Network,
        transportation: Transportation,
        origins: tuple[np.ndarray, np.ndarray],
        destinations: tuple[np.ndarray, np.ndarray],
        begin: int,
        end: int,
    ) -> None:
        means = self.means = transportation
        assert network.timetable is not None
        self.begin = begin
        walking = Transportation("walking", walking_speed=means.walking_speed)
        graph = network.road_graph(walking)
        stops = stop_links.linked_stops(network.transit, graph, walking)
        groups = network.timetable.column("routes", "group")
        is_used = is_selected(groups, means.vehicles)
        if means.modes:
            is_used &= [MODES[kind] in means.modes for kind in network.timetable.routes["route_type"]]
        changes = stop_links.changes(network.transit, stops, means.transfer_walking_time)
        self.rides = TransitOracle(trip_table(network.timetable, begin, end, is_used=is_used, changes=changes))
        on_foot = StreetOracle(network, "walking", own_kph=means.walking_speed)
        self.starts, self.ends = (
            snap_points(network.streets, *points, walking, Snapping(), needed)
            for points, needed in ((origins, CAN_LEAVE), (destinations, CAN_ARRIVE))
        )
        budget = means.walking_time * 1000 + 499
        if means.access.base == "walking":
            access, access_stops, access_starts = on_foot, stops.entering.snaps, self.starts
        else:
            # Cars need ``peak`` or ``off_peak`` here, so that no moment decides their speed.
            is_car = means.access.base == "driving"
            multiplier = costs.congestion(means.access.traffic_model, None) if is_car else 1.0
            access = StreetOracle(
                network, means.access.base, multiplier=multiplier, boarding_time=means.boarding_time,
                own_kph=means.cycling_speed,
            )  # fmt: skip
            joined = stop_links.linked_stops(network.transit, network.road_graph(means.access), means.access)
            access_stops = joined.entering.snaps
            access_starts = snap_points(network.streets, *origins, means.access, Snapping(), CAN_LEAVE)
        longest = means.access_time * 1000 + 499
        self.access = [
            self._within(access.times_ms(access_starts, i, access_stops, cutoff_ms=longest), longest)
            for i in range(len(self.starts))
        ]
        self.egress: list[dict[int, int]] = [{} for _ in range(len(self.ends))]
        for stop in range(len(stops)):
            for j, ms in self._within(
                on_foot.times_ms(stops.leaving.snaps, stop, self.ends, cutoff_ms=budget), budget
            ).items():
                self.egress[j][stop] = ms
        longest_walk = math.inf if means.direct_walking_time is None else means.direct_walking_time * 1000 + 499
        both = ((points, points.only_islands()) for points in (self.starts, self.ends))
        self.direct = [
            [ms if ms is not None and ms <= longest_walk else None for ms in row] for row in times_ms(on_foot, *both)
        ]

    @staticmethod
    def _within(times: list[int | None], most: int) -> dict[int, int]:
        return {i: ms for i, ms in enumerate(times) if ms is not None and ms <= most}

    @property
    def _options(self) -> dict[str, int]:
        changes = -1 if self.means.max_changes is None else self.means.max_changes
        return {"max_changes": changes, "change_delay": self.means.pt_change_delay}

    def leaving(self, i: int, departure: int, limit: int) -> list[float]:
        """Return milliseconds from leaving origin i at a POSIX second to each destination, inf beyond the limit."""
        start = departure - self.begin
        extra = (self.means.access_penalty + self.means.pt_change_delay) * 1000
        seeds = [(stop, start + math.ceil((ms + extra) / 1000)) for stop, ms in self.access[i].items()]
        arrivals = self.rides.earliest(seeds, **self._options)
        found = []
        for j in range(len(self.ends)):
            best = math.inf if self.direct[i][j] is None else self.direct[i][j]
            for stop, ms in self.egress[j].items():
                if stop in arrivals:
                    best = min(best, (arrivals[stop] - start) * 1000 + ms)
            found.append(best if best <= limit * 1000 + 499 else math.inf)
        return found

    def arriving(self, j: int, arrival: int, limit: int) -> list[float]:
        """Return milliseconds from leaving each origin as late as possible to being at destination j at a second."""
        end = arrival - self.begin
        extra = (self.means.access_penalty + self.means.pt_change_delay) * 1000
        seeds = [(stop, end - math.ceil(ms / 1000)) for stop, ms in self.egress[j].items()]
        departures = self.rides.latest(seeds, **self._options)
        found = []
        for i in range(len(self.starts)):
            best = math.inf if self.direct[i][j] is None else self.direct[i][j]
            for stop, ms in self.access[i].items():
                if stop in departures:
                    best = min(best, (end - departures[stop]) * 1000 + ms + extra)
            found.append(best if best <= limit * 1000 + 499 else math.inf)
        return found


def snapped(snaps: Snaps) -> np.ndarray:
    """Return which points have a street."""
    return np.asarray(snaps.edge >= 0)
