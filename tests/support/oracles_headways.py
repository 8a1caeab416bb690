"""
Slow, obviously right twins of services by headway, in plain Python and without any of the library's code.

A `Line` is a row of frequencies.txt: the calls of its trip, and when it runs how often. With drawn first departures a
connection scan answers; with average waits, all boardings and alightings are tried, ride by ride.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from tests.support.towns import clock

Labels = dict[int, float]


@dataclass(frozen=True)
class Line:
    """
    A trip as (stop, seconds after the first departure), with arrival and departure at the same second.

    `headway` 0 is a trip with times, at `start`.
    """

    calls: tuple[tuple[int, int], ...]
    start: int
    end: int
    headway: int

    @property
    def spread(self) -> int:
        """Seconds within which the first vehicle departs."""
        return min(self.headway, self.end - self.start)

    def departures(self, first: int) -> list[int]:
        """Return the departures of a day, of which the first is `first` seconds after the start."""
        return [self.start] if not self.headway else list(range(self.start + first, self.end, self.headway))


@dataclass(frozen=True)
class World:
    """Lines between stops, and walks between stops with their seconds."""

    n_stops: int
    lines: tuple[Line, ...]
    walks: dict[tuple[int, int], int]

    def files(self) -> dict[str, str]:
        """Return the files of a feed, with stops 1 km apart on a street."""
        trips, times, rows = [], [], []
        for i, line in enumerate(self.lines):
            trips.append(f"R{i % 3},daily,t{i}")
            origin = 0 if line.headway else line.start
            times += [
                f"t{i},{k},s{stop},{clock(origin + s)},{clock(origin + s)}" for k, (stop, s) in enumerate(line.calls)
            ]
            if line.headway:
                rows.append(f"t{i},{clock(line.start)},{clock(line.end)},{line.headway},0")
        stops = [f"s{i},s{i},0.0,{0.01 * i:.4f}" for i in range(self.n_stops)]
        walks = [f"s{a},s{b},2,{seconds}" for (a, b), seconds in self.walks.items()]
        return {
            "stops": "\n".join(["stop_id,stop_name,stop_lat,stop_lon", *stops]),
            "routes": "\n".join(["route_id,route_short_name,route_type", *(f"R{i},{i},3" for i in range(3))]),
            "trips": "\n".join(["route_id,service_id,trip_id", *trips]),
            "stop_times": "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times]),
            "frequencies": "\n".join(["trip_id,start_time,end_time,headway_secs,exact_times", *rows]),
            "transfers": "\n".join(["from_stop_id,to_stop_id,transfer_type,min_transfer_time", *walks]),
        }

    def scan(self, firsts: list[int], seeds: Labels) -> Labels:
        """Return the earliest arrivals with first departures of all lines, by a connection scan without rounds."""
        connections = []
        for i, line in enumerate(self.lines):
            for departure in line.departures(firsts[i]):
                for (a, s), (b, t) in zip(line.calls, line.calls[1:], strict=False):
                    connections.append((departure + s, departure + t, a, b, (i, departure)))
        connections.sort(key=lambda each: each[:2])
        ready, best, aboard = dict(seeds), {}, set()
        for departs, arrives, a, b, run in connections:
            if run in aboard or ready.get(a, math.inf) <= departs:
                aboard.add(run)
                if arrives < best.get(b, math.inf):
                    best[b] = arrives
                    for (start, end), seconds in [((b, b), 0), *self.walks.items()]:
                        if start == b and arrives + seconds < ready.get(end, math.inf):
                            ready[end] = arrives + seconds
        return best

    def draw(self, random: Random) -> list[int]:
        """Return first departures that are uniform and independent."""
        return [random.randrange(line.spread) if line.headway else 0 for line in self.lines]

    def earliest(self, seeds: Labels, most_rides: int, delay: int = 0) -> Labels:
        """Return the earliest arrivals if each boarding of a headway waits the half."""
        ready, best = dict(seeds), {}
        for _ in range(most_rides):
            arrived: Labels = {}
            for line in self.lines:
                for k, (a, s) in enumerate(line.calls):
                    if a not in ready:
                        continue
                    if line.headway:
                        base = max(ready[a], line.start + s) + line.spread / 2 - s
                        if base > line.end:
                            continue
                    elif ready[a] <= line.start + s:
                        base = line.start
                    else:
                        continue
                    for b, t in line.calls[k + 1 :]:
                        arrived[b] = min(arrived.get(b, math.inf), base + t)
            improved = {stop: time for stop, time in arrived.items() if time < best.get(stop, math.inf)}
            best |= improved
            ready = {}
            for stop, time in arrived.items():
                for (start, end), seconds in [((stop, stop), 0), *self.walks.items()]:
                    if start == stop:
                        ready[end] = min(ready.get(end, math.inf), time + seconds + delay)
        return best

    def latest(self, seeds: Labels, most_rides: int, delay: int = 0) -> Labels:
        """Return the latest departures by stop, if one waits half a headway after each alighting of such a line."""
        needed, best = dict(seeds), {}
        for _ in range(most_rides):
            left: Labels = {}
            for line in self.lines:
                last = line.end if line.headway else line.start
                for k, (b, t) in enumerate(line.calls):
                    if b not in needed:
                        continue
                    if line.headway:
                        base = min(needed[b], last + t) - line.spread / 2 - t
                        if base < line.start:
                            continue
                    elif needed[b] >= line.start + t:
                        base = line.start
                    else:
                        continue
                    for a, s in line.calls[:k]:
                        left[a] = max(left.get(a, -math.inf), base + s)
            improved = {stop: time for stop, time in left.items() if time > best.get(stop, -math.inf)}
            best |= improved
            needed = {}
            for stop, time in left.items():
                for (start, end), seconds in [((stop, stop), 0), *self.walks.items()]:
                    if end == stop:
                        needed[start] = max(needed.get(start, -math.inf), time - seconds - delay)
        return best


def random_world(seed: int, n_stops: int = 7, n_lines: int = 9) -> World:
    """Return lines of which two thirds run by headway between 7 and 10 o'clock, some less than a headway."""
    random = Random(seed)
    lines = []
    for _ in range(n_lines):
        stops = random.sample(range(n_stops), random.randint(2, min(5, n_stops)))
        calls, when = [], 0
        for stop in stops:
            calls.append((stop, when))
            when += random.randint(0, 600)
        start = random.randint(7 * 3600, 9 * 3600)
        if random.random() < 0.33:
            lines.append(Line(tuple(calls), start, start, 0))
        else:
            length = random.choice([300, 1800, 7200])
            lines.append(Line(tuple(calls), start, start + length, random.choice([61, 240, 600, 900, 1801])))
    walks = {}
    for _ in range(3):
        a, b = random.sample(range(n_stops), 2)
        walks[a, b] = random.randint(0, 400)
    return World(n_stops, tuple(lines), walks)
