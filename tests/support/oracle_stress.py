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
        if self.is_closed_to_cars(d // 2) and self.fact(d, "kind") > 1:
            return 1
        return self.fact(d, "level") or 4

    def rank(self, edge: int) -> int:
        """Return the priority of an edge."""
        highway = self.use(edge)["highway"].removesuffix("_link")
        highway = SAME.get(highway, highway)
        return CLASSES.index(highway) if highway in CLASSES else 0

    def has_signals(self, node: int) -> bool:
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

    def _crossing(self, d: int) -> int:
        """Return the level of the crossing at the end of a directed edge, 0 if there is none."""
        if self.fact(d, "kind") in (0, 1):
            return 0
        edge = d // 2
        node = int(self.t.edge_from[edge] if d % 2 else self.t.edge_to[edge])
        if self.has_signals(node):
            return 0
        own = self.rank(edge)
        # A loop ends twice at its node.
        across, beyond = [], 0
        for other in self.at[node]:
            if self.rank(other) <= own:
                beyond += 1
            elif (
                self.fact(2 * other, "width") and not self.is_closed_to_cars(other)
                and not self.use(other)["is_roundabout"]
            ):  # fmt: skip
                across.append(other)
        if len(across) < 2 or beyond < 2:
            return 0
        table = WITH_REFUGE if self.t.node_flags[node] & NODE_REFUGE else WITHOUT_REFUGE
        sides = [side for other in across for side in (2 * other, 2 * other + 1)]
        ending = [side for side in sides if (self.t.edge_from if side % 2 else self.t.edge_to)[side // 2] == node]
        return max(table[COLUMN_MPH[self.fact(side, "speed")]][ACROSS[self.fact(side, "width")]] for side in ending)
