"""Levels of traffic stress of directed edges, one at a time in plain Python; the twin of the arrays of the library."""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from typing import Any

from traveltime_lab.streets.tables import (
    CLOSED_BY_CHANGE,
    NODE_CROSSING_SIGNALS,
    NODE_REFUGE,
    NODE_SIGNALS,
    StreetTables,
)

#: Levels of crossings that `traveltime_lab.streets.stress` assumes, by miles per hour up to and lanes up to.
WITHOUT_REFUGE = {25: {3: 1, 5: 2, 99: 4}, 30: {3: 1, 5: 2, 99: 4}, 35: {3: 2, 5: 3, 99: 4}, 99: {3: 3, 5: 4, 99: 4}}
WITH_REFUGE = {25: {3: 1, 5: 1, 99: 2}, 30: {3: 1, 5: 2, 99: 3}, 35: {3: 2, 5: 3, 99: 4}, 99: {3: 3, 5: 4, 99: 4}}
CLASSES = ["path", "service", "residential", "unclassified", "tertiary", "secondary", "primary", "motorway"]
SAME = {"living_street": "service", "road": "service", "track": "service", "trunk": "motorway"}
SAME |= {"busway": "unclassified", "bus_guideway": "unclassified"}
COLUMN_MPH = {0: 25, 1: 25, 2: 30, 3: 35, 4: 99, 5: 99, 6: 99}
ACROSS = {1: 3, 2: 5, 3: 99}


class StressOracle:
    """Levels of streets and of crossings."""

    def __init__(self, tables: StreetTables) -> None:
        self.t = tables
        self.uses = tables.uses.to_dict("records")
        self.at: dict[int, list[int]] = {}
        for edge, (start, end) in enumerate(zip(tables.edge_from.tolist(), tables.edge_to.tolist(), strict=True)):
            self.at.setdefault(start, []).append(edge)
            self.at.setdefault(end, []).append(edge)
        self.has_signals = lru_cache(maxsize=None)(self._has_signals)
        self.crossing = lru_cache(maxsize=None)(self._crossing)

    def use(self, edge: int) -> dict[str, Any]:
        """Return the interpretation of an edge."""
        return self.uses[self.t.edge_use[edge]]

    def fact(self, d: int, name: str) -> int:
        """Return a part of the number of a directed edge."""
        shift, bits = {"level": (0, 3), "kind": (3, 4), "speed": (7, 3), "lanes": (10, 2), "width": (12, 2)}[name]
        return (int(self.t.edge_stress[d]) >> shift) % 2**bits

    def is_closed_to_cars(self, edge: int) -> bool:
        """Return whether a change has closed an edge to driving."""
        return bool(self.use(edge)["driving_access"] & CLOSED_BY_CHANGE)

    def street(self, d: int) -> int:
        """Return the level of a street; 4 if it is not known."""
        is_ridden = not self.use(d // 2)["cycling_access"] & CLOSED_BY_CHANGE
        if self.is_closed_to_cars(d // 2) and is_ridden and self.fact(d, "kind") > 1:
            return 1
        return self.fact(d, "level") or 4

    def rank(self, edge: int) -> int:
        """Return the priority of an edge."""
        highway = self.use(edge)["highway"].removesuffix("_link")
        highway = SAME.get(highway, highway)
        return CLASSES.index(highway) if highway in CLASSES else 0

    def _has_signals(self, node: int) -> bool:
        """Return whether there are signals at a node, or for cars within 30 m along streets."""
        if self.t.node_flags[node] & (NODE_SIGNALS | NODE_CROSSING_SIGNALS):
            return True
        waiting = [(0.0, node)]
        best = {node: 0.0}
        while waiting:
            metres, at = heapq.heappop(waiting)
            if self.t.node_flags[at] & NODE_SIGNALS:
                return True
            for edge in self.at[at]:
                other = int(self.t.edge_to[edge] if self.t.edge_from[edge] == at else self.t.edge_from[edge])
                there = metres + float(self.t.edge_length_m[edge])
                if there <= 30.0 and there < best.get(other, math.inf):
                    best[other] = there
                    heapq.heappush(waiting, (there, other))
        return False

    def leaving(self, node: int) -> list[int]:
        """Return the directed edges that begin at a node; a loop begins there twice."""
        edges = dict.fromkeys(self.at.get(node, []))
        ends = {0: self.t.edge_from, 1: self.t.edge_to}
        return [2 * edge + side for edge in edges for side in (0, 1) if ends[side][edge] == node]

    def direction(self, d: int) -> float:
        """Return the direction in which a directed edge begins, in degrees."""
        row = slice(self.t.coord_indptr[d // 2], self.t.coord_indptr[d // 2 + 1])
        line = list(zip(self.t.coord_lng[row].tolist(), self.t.coord_lat[row].tolist(), strict=True))
        line = line[::-1] if d % 2 else line
        to = line[1] if line[1] != line[0] else line[-1]
        return math.degrees(math.atan2(to[1] - line[0][1], to[0] - line[0][0]))

    def across(self, d: int, after: int) -> int:
        """Return the level of the crossing between two directed edges that follow one another, 0 if there is none."""
        if self.fact(d, "kind") in (0, 1):
            return 0
        node = int((self.t.edge_from if d % 2 else self.t.edge_to)[d // 2])
        if self.has_signals(node):
            return 0
        table = WITH_REFUGE if self.t.node_flags[node] & NODE_REFUGE else WITHOUT_REFUGE
        back = self.direction(d ^ 1)
        to_after = (self.direction(after) - back) % 360
        levels, sides = [], set()
        for arm in self.leaving(node):
            street, ends = arm // 2, arm ^ 1
            if self.rank(street) <= max(self.rank(d // 2), self.rank(after // 2)):
                continue
            if self.is_closed_to_cars(street) or self.use(street)["is_roundabout"] or not self.fact(ends, "width"):
                continue
            to_arm = (self.direction(arm) - back) % 360
            levels.append(table[COLUMN_MPH[self.fact(ends, "speed")]][ACROSS[self.fact(ends, "width")]])
            if 0 < to_arm != to_after:
                sides.add(to_arm < to_after)
        return max(levels) if len(sides) == 2 else 0

    def _crossing(self, d: int) -> int:
        """Return the level of the worst crossing at the end of a directed edge, 0 if there is none."""
        node = int((self.t.edge_from if d % 2 else self.t.edge_to)[d // 2])
        return max(self.across(d, after) for after in self.leaving(node))
