"""What is in the way of wheelchairs, one street and one node at a time; the twin of the arrays of the library."""

from __future__ import annotations

from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets.tables import StreetTables

#: Parts of the numbers of edges and of nodes: first bit, and number of bits.
EDGE = {
    "obstacle": (0, 7),
    "unknown": (7, 4),
    "crossing": (11, 1),
    "made": (12, 1),
    "width": (13, 9),
    "incline": (22, 10),
}
NODE = {"kind": (0, 4), "barred": (4, 1), "unknown": (5, 1), "width": (6, 10)}
ON_FOOT = [
    "footway",
    "path",
    "pedestrian",
    "steps",
    "cycleway",
    "bridleway",
    "platform",
    "corridor",
    "elevator",
    "pier",
]
KERB = 1


class StepFreeOracle:
    """Streets and nodes that step-free walks pass."""

    def __init__(self, tables: StreetTables, means: Transportation) -> None:
        self.t = tables
        self.is_strict = means.step_free == "strict"
        self.most_percent = 6.0 if means.max_incline is None else means.max_incline
        self.least_m = 0.9 if means.min_width is None else means.min_width
        self.highway = tables.uses["highway"].tolist()
        self.ends: dict[int, list[int]] = {}
        for edge, both in enumerate(zip(tables.edge_from.tolist(), tables.edge_to.tolist(), strict=True)):
            for side, node in enumerate(both):
                self.ends.setdefault(node, []).append(2 * edge + side)

    def edge(self, edge: int, name: str) -> int:
        """Return a part of the number of an edge."""
        first, bits = EDGE[name]
        return (int(self.t.edge_step_free[edge]) >> first) % 2**bits

    def node(self, node: int, name: str) -> int:
        """Return a part of the number of a node."""
        first, bits = NODE[name]
        return (int(self.t.node_step_free[node]) >> first) % 2**bits

    def passes_along(self, edge: int) -> bool:
        """Return whether one can pass along an edge."""
        if self.edge(edge, "made"):
            return True
        slopes = [(self.edge(edge, "incline") - 1) / 10]
        if self.t.edge_slope.size:
            slopes.append(int(self.t.edge_slope[edge]) / 10)
        width = self.edge(edge, "width") / 100
        is_closed = self.edge(edge, "obstacle") or max(slopes) > self.most_percent + 1e-9
        is_closed = is_closed or 0 < width < self.least_m - 1e-9
        return not (is_closed or (self.is_strict and self.edge(edge, "unknown")))

    def is_in_the_way(self, node: int) -> bool:
        """Return whether something is in the way at a node."""
        is_closed = self.node(node, "barred") or 0 < self.node(node, "width") / 100 < self.least_m - 1e-9
        return bool(is_closed or (self.is_strict and self.node(node, "unknown")))

    def side(self, d: int) -> str:
        """Return where a directed edge begins."""
        if self.highway[self.t.edge_use[d // 2]] not in ON_FOOT:
            return "road"
        return "crossing" if self.edge(d // 2, "crossing") else "pavement"

    def passes(self, d: int, f: int) -> bool:
        """Return whether one can pass from the directed edge `d` to `f` that begins where it ends."""
        node = int((self.t.edge_from if d % 2 else self.t.edge_to)[d // 2])
        if not self.is_in_the_way(node):
            return True
        if self.node(node, "kind") != KERB:
            return False
        here = {self.side(each) for each in self.ends[node]}
        one, other = self.side(d ^ 1), self.side(f)
        if "road" in here:
            return one == other == "road"
        return len(here) == 2 and one == other
