"""Where points join the streets, in plain Python: streets between junctions, the main network and islands."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np

from tests.support.oracles import StreetOracle
from traveltime_lab.kernels.street.nearest import TIE_M
from traveltime_lab.kernels.street.ties import Places
from traveltime_lab.network.network import Network
from traveltime_lab.streets.snapping import SNAPPED, TOO_FAR, Snaps
from traveltime_lab.streets.topology import MINIMUM_REACHABILITY

#: How much nearer an island must be than the main network, and how far apart points may be that are one place, m.
CENTIMETRE = 0.01
Place = tuple[int, float, float]


class SnapOracle:
    """
    Places of points on the streets of one mode, by looking at every segment; no barriers.

    A street is a chain of edges between junctions. An edge is *main* if a trip that begins on it can get to the main
    network, and a trip from there can end on it.
    """

    def __init__(self, network: Network, oracle: StreetOracle, threshold: float = 1000.0) -> None:
        self.network, self.oracle, self.threshold = network, oracle, threshold
        t = network.tables
        self.usable = {d // 2 for d in oracle.traversal if not oracle.is_ferry[d]}
        if oracle.base == "driving":
            on_foot = StreetOracle(network, "walking")
            self.usable &= {d // 2 for d in on_foot.traversal}
        self.can_leave, self.can_arrive = both_ways(oracle)
        self.main = self.can_leave & self.can_arrive
        self.edges: list[int] = []
        self.start: list[float] = []
        self.span: list[float] = []
        lines = []
        for edge in sorted(self.usable):
            rows = slice(int(t.coord_indptr[edge]), int(t.coord_indptr[edge + 1]))
            x, y = network.frame.to_xy(t.coord_lng[rows], t.coord_lat[rows])
            k = network.frame.shrink(y)
            lengths = [
                math.hypot((x[i + 1] - x[i]) * (k[i] + k[i + 1]) / 2, y[i + 1] - y[i]) for i in range(len(x) - 1)
            ]
            total = sum(lengths) or 1.0
            for i, length in enumerate(lengths):
                self.edges.append(edge)
                self.start.append(sum(lengths[:i]) / total)
                self.span.append(length / total)
                lines.append((x[i], y[i], x[i + 1], y[i + 1]))
        self.lines = np.array(lines).reshape(-1, 4)

    def places(self, x: float, y: float, k: float, edges: set[int]) -> list[Place]:
        """Return edge, position and distance of the nearest street of some, and of all that are as near."""
        x1, y1, x2, y2 = self.lines.T
        dx, dy = (x2 - x1) * k, y2 - y1
        t = -((x1 - x) * k * dx + (y1 - y) * dy) / np.where(dx * dx + dy * dy > 0, dx * dx + dy * dy, 1.0)
        t = np.clip(t, 0.0, 1.0)
        qx, qy = (x1 + t * (x2 - x1)) * k, y1 + t * (y2 - y1)
        away = np.hypot(qx - x * k, qy - y)
        away[[edge not in edges for edge in self.edges]] = np.inf
        found = []
        for number in np.flatnonzero(away <= min(away.min(initial=np.inf) + TIE_M, self.threshold)).tolist():
            at = self.start[number] + float(t[number]) * self.span[number]
            at = 0.0 if at < 1e-9 else 1.0 if at > 1 - 1e-9 else at
            found.append((float(away[number]), number, self.edges[number], at, (float(qx[number]), float(qy[number]))))
        found.sort()
        kept: dict[tuple[int, float], Place] = {}
        first: dict[Any, tuple[float, float]] = {}
        for metres, _, edge, at, where in found:
            street = self.oracle.street[edge], edge in self.main
            first.setdefault(street, where)
            is_end = at in (0.0, 1.0) and self.oracle.junction(2 * edge + int(at)) not in self.oracle.inner
            if is_end or math.dist(where, first[street]) < 0.001:
                kept.setdefault((edge, round(at, 6)), (edge, at, metres))
        return list(kept.values())

    def both(self, lng: float, lat: float, needed: set[int]) -> tuple[list[Place], list[Place]]:
        """Return the places of a point for most trips, and those on islands if one is nearer than the main network."""
        x, y = (float(v[0]) for v in self.network.frame.to_xy(np.array([lng]), np.array([lat])))
        k = float(self.network.frame.shrink(np.array([y]))[0])
        away = self.places(x, y, k, self.usable - self.main)
        main = self.places(x, y, k, self.usable & self.main)
        usual = self.places(x, y, k, self.usable & needed) or self.places(x, y, k, self.usable - needed)
        metres = [min((metres for _, _, metres in each), default=math.inf) for each in (away, main)]
        return usual, away if metres[0] < metres[1] - CENTIMETRE else []

    def snaps(self, lng: Any, lat: Any, needed: set[int]) -> tuple[Snaps, Snaps]:
        """Return the places of points as `both` finds them."""
        usual, away = zip(*(self.both(*point, needed) for point in zip(lng, lat, strict=True)), strict=True)
        return self._snaps(lng, lat, usual), self._snaps(lng, lat, away)

    def _snaps(self, lng: Any, lat: Any, places: Any) -> Snaps:
        edge, at, metres = (np.array([place[i] for each in places for place in each]) for i in range(3))
        indptr = np.cumsum([0, *map(len, places)])
        found = np.diff(indptr) > 0
        first = indptr[:-1][found]
        every = [np.full(len(places), -1, np.int32), np.zeros(len(places)), np.full(len(places), np.inf)]
        for values, of_places in zip(every, (edge, at, metres), strict=True):
            if found.any():
                values[found] = of_places[first]
        arrays = Places(indptr, edge.astype(np.int32), at.astype(float), metres.astype(float))
        status = np.where(found, SNAPPED, TOO_FAR).astype(np.int8)
        return Snaps(*every, status, np.asarray(lng), np.asarray(lat), arrays)


def both_ways(oracle: StreetOracle) -> tuple[set[int], set[int]]:
    """Return the edges from which a trip can get to the main network, and those on which one from there can end."""
    # Calm and step-free streets are on an island if they would be one for everybody.
    used, oracle, graph = {d // 2 for d in oracle.traversal}, oracle.everywhere or oracle, nx.DiGraph()
    if oracle.base == "driving":
        graph = oracle.graph
        leaves = {d: [state for state, _ in oracle.successors(oracle.plain(d))] for d in oracle.traversal}
        enters = {d: oracle.states_of[d] for d in oracle.traversal}
    else:
        graph.add_edges_from((oracle.junction(d), oracle.junction(d ^ 1)) for d in oracle.traversal)
        leaves = {d: [oracle.junction(d ^ 1)] for d in oracle.traversal}
        enters = {d: [oracle.junction(d)] for d in oracle.traversal}

    def size(part: set[Any]) -> int:
        if oracle.base == "driving":
            is_cycle = len(part) > 1 or any(graph.has_edge(state, state) for state in part)
            return len({oracle.way[state[0]] for state in part}) if is_cycle else 0
        return max(1, len(part - oracle.inner))

    parts = [set(part) for part in nx.strongly_connected_components(graph)]
    least = min(MINIMUM_REACHABILITY, max([1, *map(size, parts)]))
    main = {state for part in parts if size(part) >= least for state in part if graph.degree(state)}
    from_main, to_main = _reached(graph, main), _reached(graph.reverse(), main)
    can_leave = {d // 2 for d, states in leaves.items() if to_main & set(states)}
    can_arrive = {d // 2 for d, states in enters.items() if from_main & set(states)}
    return can_leave & used, can_arrive & used


def times_ms(oracle: StreetOracle, starts: tuple[Snaps, Snaps], ends: tuple[Snaps, Snaps]) -> list[list[int | None]]:
    """
    Return milliseconds between points: 0 within a centimetre, along an island if there is a way there.

    A way is along an island if one cannot leave the streets where it begins, or come from elsewhere to where it ends.

    Parameters
    ----------
    oracle : StreetOracle
    starts, ends : tuple of Snaps
        Places for most trips, and on islands.
    """
    (usual, away), (goals, far) = starts, ends
    has_both = (away.edge >= 0).any() and (far.edge >= 0).any()
    can_leave, can_arrive = both_ways(oracle) if has_both else (set[int](), set[int]())
    stays, is_cut_off = _apart(away, can_leave), _apart(far, can_arrive)
    frame, rows = oracle.network.frame, []
    x, y = frame.to_xy(usual.lng, usual.lat)
    to_x, to_y = frame.to_xy(goals.lng, goals.lat)
    for i in range(len(usual)):
        plain, along = oracle.times_ms(usual, i, goals), oracle.times_ms(away, i, far)
        row = [
            there if there is not None and (stays[i] or is_cut_off[j]) else ms
            for j, (ms, there) in enumerate(zip(plain, along, strict=True))
        ]
        for j in range(len(goals)):
            apart = math.hypot((to_x[j] - x[i]) * float(frame.shrink(y[i : i + 1])[0]), to_y[j] - y[i])
            if usual.edge[i] >= 0 and goals.edge[j] >= 0 and apart <= CENTIMETRE:
                row[j] = 0
        rows.append(row)
    return rows


def _apart(snaps: Snaps, edges: set[int]) -> list[bool]:
    """Return whether no place of each point is on one of some edges."""
    if snaps.places is None:
        return [edge not in edges for edge in snaps.edge.tolist()]
    indptr, edge = snaps.places.indptr.tolist(), snaps.places.edge.tolist()
    return [not edges & {*edge[indptr[i] : indptr[i + 1]]} for i in range(len(snaps))]


def _reached(graph: nx.DiGraph, starts: set[Any]) -> set[Any]:
    """Return the states that are reached from some."""
    rooted = nx.DiGraph(graph)
    rooted.add_node("root")
    rooted.add_edges_from(("root", state) for state in starts)
    return set(nx.descendants(rooted, "root"))
