"""
A slow, obviously right twin of trips through stations: networkx on streets and inside, a plain connection scan between.

What is inside stations, and who can use it, is read from the rows of the feed. Where points meet the streets is taken
from the library, as in `tests.support.oracles_doors`.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import networkx as nx
import numpy as np

from tests.support.oracles import StreetOracle
from tests.support.oracles_doors import DoorOracle
from tests.support.oracles_snapping import times_ms
from tests.support.oracles_transit import TransitOracle
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, STOP_SNAPPING, snap_points
from traveltime_lab.transit.transfers import Transfers
from traveltime_lab.transit.trip_instances import trip_table

Row = Mapping[str, str]


@dataclass
class StationFeed:
    """The rows of a feed that are about stations, by id; `closed` are pathways."""

    stops: dict[str, Row]
    trips: dict[str, Row]
    pathways: Sequence[Row]
    called: set[str]
    closed: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> StationFeed:
        """Read a feed."""
        with zipfile.ZipFile(path) as archive:

            def rows(name: str) -> list[Row]:
                if name not in archive.namelist():
                    return []
                return [*csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig")))]

            return cls(
                {row["stop_id"]: row for row in rows("stops.txt")},
                {row["trip_id"]: row for row in rows("trips.txt")},
                rows("pathways.txt"),
                {row["stop_id"] for row in rows("stop_times.txt")},
            )

    def kind(self, stop: str) -> str:
        """Return location_type."""
        return self.stops[stop].get("location_type") or "0"

    def station(self, stop: str) -> str:
        """Return the station of a stop."""
        while self.stops[stop].get("parent_station"):
            stop = self.stops[stop]["parent_station"]
        return stop

    def is_indoors(self, stop: str) -> bool:
        """Return whether the way to a stop is by pathways."""
        ends = {end for row in self.pathways for end in (row["from_stop_id"], row["to_stop_id"])}
        return self.station(stop) in {self.station(end) for end in ends}

    def takes_wheelchairs(self, stop: str, step_free: str | None) -> bool:
        """Return whether a traveller can use a stop or an entrance."""
        value = self.stops[stop].get("wheelchair_boarding", "")
        if value not in ("1", "2"):
            value = self.stops[self.station(stop)].get("wheelchair_boarding", "")
        return _is_fine(value, step_free)

    def carries_wheelchairs(self, trip: str, step_free: str | None) -> bool:
        """Return whether a traveller can use a trip."""
        return _is_fine(self.trips[trip].get("wheelchair_accessible", ""), step_free)

    def ways(self, step_free: str | None) -> nx.DiGraph:
        """Return the pathways that can be used, with milliseconds; each needs a traversal_time, or a length on foot."""
        graph = nx.DiGraph()
        for row in self.pathways:
            is_barred = row["pathway_mode"] in ("2", "4")
            is_barred |= row.get("stair_count", "") not in ("", "0") and row["pathway_mode"] != "4"
            if row["pathway_id"] in self.closed or (step_free and is_barred):
                continue
            ms = round(float(row.get("traversal_time") or 0) * 1000) or round(float(row["length"]) * 3600 / 5.0)
            ends = row["from_stop_id"], row["to_stop_id"]
            for a, b in (ends, ends[::-1]) if row["is_bidirectional"] == "1" else (ends,):
                if not graph.has_edge(a, b) or graph[a][b]["ms"] > ms:
                    graph.add_edge(a, b, ms=ms)
        return graph


def _is_fine(value: str, step_free: str | None) -> bool:
    return {None: True, "lenient": value != "2", "strict": value == "1"}[step_free]


class StationOracle(DoorOracle):
    """Trips with the timetable of a network whose only feed is `feed`, between some origins and destinations."""

    def __init__(
        self,
        network: Network,
        feed: StationFeed,
        transportation: Transportation,
        origins: tuple[np.ndarray, np.ndarray],
        destinations: tuple[np.ndarray, np.ndarray],
        begin: int,
        end: int,
    ) -> None:
        means = self.means = transportation
        timetable = network.timetable
        assert timetable is not None
        self.begin = begin
        step_free = means.step_free
        ids = timetable.stops["stop_id"].tolist()
        self.row_of = {stop: row for row, stop in enumerate(ids)}
        walking = Transportation("walking", step_free=step_free, avoid=means.avoid)
        on_foot = StreetOracle(network, "walking", step_free=walking if step_free else None, avoid=means.avoid)
        self.starts, self.ends = (
            snap_points(network.streets, *points, walking, Snapping(), needed)
            for points, needed in ((origins, CAN_LEAVE), (destinations, CAN_ARRIVE))
        )
        stops = sorted(feed.called)
        doors = sorted(stop for stop in feed.stops if feed.kind(stop) == "2")
        lng, lat = (np.array([float(feed.stops[s][f"stop_{axis}"]) for s in stops + doors]) for axis in ("lon", "lat"))
        places = snap_points(network.streets, lng, lat, walking, STOP_SNAPPING).without_islands()
        graph = feed.ways(step_free)
        inside = {
            start: nx.single_source_dijkstra_path_length(graph, start, weight="ms") if start in graph else {}
            for start in stops + doors
        }
        # By which places each stop is reached and left, and the milliseconds inside.
        self.into: dict[str, list[tuple[int, int]]] = {stop: [] for stop in stops}
        self.out: dict[str, list[tuple[int, int]]] = {stop: [] for stop in stops}
        for k, stop in enumerate(stops):
            if not feed.is_indoors(stop):
                self.into[stop] = self.out[stop] = [(k, 0)]
                continue
            for d, door in enumerate(doors):
                if feed.takes_wheelchairs(door, step_free):
                    if stop in inside[door]:
                        self.into[stop].append((len(stops) + d, inside[door][stop]))
                    if door in inside[stop]:
                        self.out[stop].append((len(stops) + d, inside[stop][door]))
        budget = means.walking_time * 1000 + 499
        self.access = [
            self._within(self._best(on_foot.times_ms(self.starts, i, places, cutoff_ms=budget)), budget)
            for i in range(len(self.starts))
        ]
        self.egress: list[dict[int, int]] = [{} for _ in range(len(self.ends))]
        change_budget = means.transfer_walking_time * 1000 + 499
        changes: dict[tuple[int, int], int] = {}
        used = {place for ways in self.out.values() for place, _ in ways}
        most = max(budget, change_budget)
        to_ends = {k: on_foot.times_ms(places, k, self.ends, cutoff_ms=most) for k in used}
        to_places = {k: on_foot.times_ms(places, k, places, cutoff_ms=most) for k in used}
        twins: dict[tuple[str, ...], list[str]] = {}
        for stop in stops:
            if not feed.is_indoors(stop):
                twins.setdefault(tuple(feed.stops[stop][f"stop_{axis}"] for axis in ("lon", "lat")), []).append(stop)
        for stop in stops:
            for place, ms in self.out[stop]:
                for j, more in enumerate(to_ends[place]):
                    if more is not None and ms + more <= budget:
                        row = self.row_of[stop]
                        self.egress[j][row] = min(self.egress[j].get(row, math.inf), ms + more)
            found = {other: inside[stop][other] for other in stops if feed.is_indoors(stop) and other in inside[stop]}
            for other in stops:
                for place, ms in self.out[stop]:
                    for target, last in self.into[other]:
                        way = to_places[place][target]
                        if way is not None:
                            found[other] = min(found.get(other, math.inf), ms + way + last)
            place = tuple(feed.stops[stop][f"stop_{axis}"] for axis in ("lon", "lat"))
            for other in () if feed.is_indoors(stop) else twins[place]:
                found[other] = 0  # at one position, without pathways
            for other, ms in found.items():
                if other != stop and ms <= change_budget:
                    changes[self.row_of[stop], self.row_of[other]] = math.ceil(ms / 1000)
        longest = math.inf if means.direct_walking_time is None else means.direct_walking_time * 1000 + 499
        both = ((points, points.only_islands()) for points in (self.starts, self.ends))
        self.direct = [
            [ms if ms is not None and ms <= longest else None for ms in row] for row in times_ms(on_foot, *both)
        ]
        self.rides = self._rides(network, feed, changes, begin, end)

    def _best(self, times: list[int | None]) -> list[int | None]:
        """Return the least times to all stops of the timetable, given those to all places."""
        best: list[int | None] = [None] * len(self.row_of)
        for stop, ways in self.into.items():
            found = [ms + last for place, last in ways if (ms := times[place]) is not None]
            best[self.row_of[stop]] = min(found) if found else None
        return best

    def _rides(
        self, network: Network, feed: StationFeed, changes: dict[tuple[int, int], int], begin: int, end: int
    ) -> TransitOracle:
        """Return the trips of an interval, of which some calls are only passed."""
        timetable, n = network.timetable, len(self.row_of)
        pairs = sorted(changes)
        starts = np.array([a for a, _ in pairs], np.int64)
        table = trip_table(
            timetable, begin, end,
            changes=Transfers(
                np.searchsorted(starts, np.arange(n + 1)).astype(np.int64),
                np.array([b for _, b in pairs], np.int32),
                np.array([changes[pair] for pair in pairs], np.int32),
                np.zeros(n, np.int32),
            ),
        )  # fmt: skip
        rides = TransitOracle(table)
        step_free = self.means.step_free
        ids, trips = timetable.stops["stop_id"].tolist(), timetable.trips["trip_id"].tolist()
        fine = {row: feed.takes_wheelchairs(stop, step_free) for row, stop in enumerate(ids)}
        for number, calls in enumerate(rides.runs):
            is_fine = feed.carries_wheelchairs(trips[int(table.instance_trip[number])], step_free)
            rides.runs[number] = [
                replace(
                    call,
                    can_board=call.can_board and is_fine and fine[call.stop],
                    can_alight=call.can_alight and is_fine and fine[call.stop],
                )
                for call in calls
            ]
        return rides
