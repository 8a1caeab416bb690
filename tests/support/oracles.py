"""
Slow, obviously right twins of the fast paths.

`StreetOracle` makes a networkx graph straight from the street tables, in plain Python and without any of the library's
graph code, and searches it with networkx. It shares with the library only the tables, the snapped positions and the
published constants of `traveltime_lab.streets.costs`.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import contourpy
import networkx as nx
import numpy as np
import shapely

from tests.support.oracle_step_free import StepFreeOracle
from tests.support.oracle_stress import StressOracle
from traveltime_lab.kernels.street.nearest import Near
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.streets import costs
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_PRIVATE,
    ACCESS_YES,
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_SIGNALS,
)

BLOCKS = {"walking": NODE_BLOCKS_WALKING, "cycling": NODE_BLOCKS_CYCLING, "driving": NODE_BLOCKS_DRIVING}


def milliseconds(length_m: float, kph: float) -> int:
    """Return whole milliseconds along a street."""
    return round(length_m * 3600.0 / kph)


class StreetOracle:
    """
    Shortest travel times of one mode by networkx.

    A state is a directed edge together with what the trip so far forbids: the open paths of turn restrictions and
    whether a zone of destination-only streets has been entered from outside. It is expanded edge by edge for every
    mode, so it also checks that the library may search nodes instead where turns are free.
    """

    def __init__(
        self,
        network: Network,
        mode: str,
        *,
        multiplier: float = 1.0,
        boarding_time: int = 0,
        moment: dt.datetime | None = None,
        own_kph: float | None = None,
        max_stress: int | None = None,
        pushes: bool = False,
        step_free: Transportation | None = None,
        avoid: tuple[str, ...] = (),
    ) -> None:
        self.network = network
        stress = None if max_stress is None else StressOracle(network.tables)
        self.obstacles = None if step_free is None else StepFreeOracle(network.tables, step_free)
        is_limited = max_stress is not None or step_free is not None or bool(avoid)
        #: Bits of `edge_avoid` of what is avoided.
        is_bad = [{"unlit": 0b0010, "unpaved": 0b1000}[word] for word in avoid]
        #: The same without limits of the streets themselves, None if there are none.
        self.everywhere = StreetOracle(network, mode) if is_limited else None
        #: Speed of walking between points and streets: that of the walker, or 5 km/h.
        self.off_street_kph = own_kph if own_kph is not None and mode.startswith("walking") else 5.0
        self.base = mode.removesuffix("+ferry")
        self.with_ferry = mode.endswith("+ferry")
        self.boarding_ms = boarding_time * 1000
        t = network.tables
        self.traversal: dict[int, int] = {}
        self.is_destination: dict[int, bool] = {}
        self.is_ferry: dict[int, bool] = {}
        self.is_roundabout: dict[int, bool] = {}
        shares = costs.delay_shares(t.uses["highway"].to_numpy())
        rows = t.uses.to_dict("records")
        for edge in range(network.n_edges):
            use = rows[t.edge_use[edge]]
            access = use[f"{self.base}_access"]
            if access not in (ACCESS_YES, ACCESS_DESTINATION) or (use["is_ferry"] and not self.with_ferry):
                continue
            assert access != ACCESS_PRIVATE
            if self.base == "driving" and use["is_track"]:
                continue
            if self.obstacles is not None and not self.obstacles.passes_along(edge):
                continue
            if any(int(t.edge_avoid[edge]) & bit for bit in is_bad):
                continue
            for side, name in enumerate(("forward", "backward")):
                kph = float(use[f"{self.base}_kph_{name}"])
                if kph <= 0:
                    continue
                if own_kph is not None and not use["is_ferry"] and use["highway"] != "elevator":
                    if self.base == "walking":
                        kph = kph * (own_kph / 5.0)
                    elif kph > 4.0:  # otherwise the bicycle is pushed
                        kph = max(kph * (own_kph / 15.0), 4.0)
                d = 2 * edge + side
                if stress is not None and stress.street(d) > max_stress:
                    on_foot = float(use[f"walking_kph_{name}"])
                    if not pushes or not on_foot or use["walking_access"] not in (ACCESS_YES, ACCESS_DESTINATION):
                        continue
                    kph = min(kph, on_foot, 4.0)
                if self.base == "driving":
                    kph /= 1.0 + (multiplier - 1.0) * shares[t.edge_use[edge]]
                elif t.has_slopes:
                    kph = self._on_slope(kph, float(use[f"{self.base}_kph_{name}"]), d)
                self.traversal[d] = milliseconds(float(t.edge_length_m[edge]), kph)
                self.is_destination[d] = self.base == "driving" and access == ACCESS_DESTINATION
                self.is_ferry[d] = bool(use["is_ferry"])
                self.is_roundabout[d] = bool(use["is_roundabout"])
        #: Levels of crossings, and the highest one that may be crossed.
        self.crossings, self.most_crossed = (None, 4) if stress is None or pushes else (stress, max_stress)
        self.leaving: dict[int, list[int]] = {}
        for d in self.traversal:
            self.leaving.setdefault(self.tail(d), []).append(d)
        self._find_chains()
        self.lands = {self.tail(d) for d in self.traversal if not self.is_ferry[d]}
        self.lands |= {self.tail(d ^ 1) for d in self.traversal if not self.is_ferry[d]}
        self.bearing: dict[int, tuple[float, float]] = {}
        restrictions: list[tuple[bool, tuple[int, ...]]] = []
        lifted = lifted_restrictions(network, moment)
        if self.base == "driving":
            for i, only in enumerate(t.restriction_only):
                if i in lifted:
                    continue
                path = tuple(int(d) for d in t.restriction_edges[t.restriction_indptr[i] : t.restriction_indptr[i + 1]])
                if all(d in self.traversal for d in path):
                    restrictions.append((bool(only), path))
        self._restrict([(only, path) for only, path in restrictions if len(path) == 2])
        self.ends_behind: set[int] = set()
        self.begins_behind: set[int] = set()
        if any(self.is_destination.values()):
            self._find_zones()
        # The library ignores restrictions via other ways on the streets of zones.
        zones = self.ends_behind | self.begins_behind | {d for d in self.traversal if self.is_destination[d]}
        self._restrict([(only, path) for only, path in restrictions if len(path) == 2 or not zones & set(path)])
        self.graph = nx.DiGraph()
        self.states_of: dict[int, list[Any]] = {}
        self._expand()

    def junction(self, d: int) -> Any:
        """Return the junction at the start of a directed edge: each edge has its own where a node blocks the mode."""
        is_blocked = self.network.tables.node_flags[self.tail(d)] & BLOCKS[self.base]
        if self.obstacles is not None and self.obstacles.is_in_the_way(self.tail(d)):
            together = [each for each in self.obstacles.ends[self.tail(d)] if self.obstacles.passes(each ^ 1, d)]
            return "side", min([d, *together])
        return ("end", d) if is_blocked else self.tail(d)

    def _find_chains(self) -> None:
        """Find the streets between junctions: of edges and of directed edges, and the junctions within them."""
        ends: dict[Any, list[int]] = {}
        for edge in {d // 2 for d in self.traversal}:
            for d in (2 * edge, 2 * edge + 1):
                ends.setdefault(self.junction(d), []).append(d)
        self.inner = {at for at, both in ends.items() if len(both) == 2 and both[0] // 2 != both[1] // 2}
        along, either = nx.Graph(), nx.Graph()
        along.add_nodes_from(d for both in ends.values() for d in both)
        either.add_nodes_from(d // 2 for d in self.traversal)
        for a, b in (ends[at] for at in self.inner):
            along.add_edges_from([(a ^ 1, b), (b ^ 1, a)])
            either.add_edge(a // 2, b // 2)
        self.street = {edge: n for n, part in enumerate(nx.connected_components(either)) for edge in part}
        self.way = {d: n for n, part in enumerate(nx.connected_components(along)) for d in part}

    def _on_slope(self, kph: float, usual: float, d: int) -> float:
        """Return the speed along a directed edge with a slope."""
        t = self.network.tables
        on_foot, riding = float(t.walking_slope_factor[d]), float(t.cycling_slope_factor[d])
        if self.base == "walking" or usual <= 4.0:
            return kph / on_foot
        return max(kph / riding, min(kph, 4.0) / on_foot)

    def _restrict(self, restrictions: list[tuple[bool, tuple[int, ...]]]) -> None:
        """Use some turn restrictions from now on."""
        self.restrictions = restrictions
        self.by_first: dict[int, list[tuple[bool, tuple[int, ...]]]] = {}
        for only, path in restrictions:
            self.by_first.setdefault(path[0], []).append((only, path))

    def _find_zones(self) -> None:
        """Find the public streets that only destination-only streets connect with the others, in one direction."""
        turns = nx.DiGraph()
        turns.add_nodes_from(self.traversal)
        for d in self.traversal:
            for f in self.leaving.get(self.tail(d ^ 1), []):
                if self.turn(d, f) is not None and self._allowed((d,), f):
                    # On foot and by bicycle one may turn round, which is left out of searches.
                    turns.add_edge(d, f)
        public = turns.subgraph(d for d in self.traversal if not self.is_destination[d])
        groups = list(nx.strongly_connected_components(public))
        for part in nx.weakly_connected_components(turns):
            here = [group for group in groups if group <= part]
            if not here:
                continue
            # Counted in streets between junctions, however many edges these are cut into.
            sizes = [len({self.way[d] for d in group}) for group in here]
            starts = {next(iter(group)) for group, size in zip(here, sizes, strict=True) if size == max(sizes)}
            for reached, behind in ((nx.descendants, self.ends_behind), (nx.ancestors, self.begins_behind)):
                openly = starts.union(*(reached(public, start) for start in starts))
                behind |= (set().union(*(reached(turns, start) for start in starts)) & set(public)) - openly

    def tail(self, d: int) -> int:
        """Return the node at which a directed edge begins."""
        t = self.network.tables
        return int(t.edge_to[d // 2] if d % 2 else t.edge_from[d // 2])

    def bearings(self, d: int) -> tuple[float, float]:
        """Return the bearings at the start and at the end of a directed edge."""
        if d not in self.bearing:
            t = self.network.tables
            rows = slice(int(t.coord_indptr[d // 2]), int(t.coord_indptr[d // 2 + 1]))
            x, y = self.network.frame.to_xy(t.coord_lng[rows], t.coord_lat[rows])
            if d % 2:
                x, y = x[::-1], y[::-1]
            k = self.network.frame.shrink(y)
            # East-west metres by the scale at the first point of each of the two steps.
            self.bearing[d] = (
                math.degrees(math.atan2((x[1] - x[0]) * k[0], y[1] - y[0])),
                math.degrees(math.atan2((x[-1] - x[-2]) * k[-2], y[-1] - y[-2])),
            )
        return self.bearing[d]

    def turn(self, d: int, f: int) -> int | None:
        """Return the milliseconds between two directed edges that meet, None where nobody may pass."""
        t = self.network.tables
        node = self.tail(f)
        blocked = bool(t.node_flags[node] & BLOCKS[self.base])
        others = [g for g in self.leaving[node] if g != d ^ 1]
        if f == d ^ 1:
            if self.base == "driving":
                return round(costs.U_TURN_S * 1000) if blocked or not others else None
        elif blocked:
            return None
        if f == d ^ 1 and self.base != "driving":
            # On foot one may turn anywhere, but never needs to; only kept in front of barriers and at dead ends.
            return 0
        if self.obstacles is not None and not self.obstacles.passes(d, f):
            return None
        ms = 0
        if t.node_flags[node] & NODE_SIGNALS:
            ms += round(costs.SIGNAL_S * 1000)
        if self.is_ferry[f] and (not self.is_ferry[d] if self.base == "driving" else node in self.lands):
            ms += self.boarding_ms
        if self.base != "driving":
            return ms
        streets = len(self.leaving[node])
        if (
            streets > 2
            and not (self.is_roundabout[d] and self.is_roundabout[f])
            and not (self.is_ferry[d] or self.is_ferry[f])
        ):
            angle = (self.bearings(f)[0] - self.bearings(d)[1] + 540.0) % 360.0 - 180.0
            if self.network.is_left_hand:
                angle = -angle
            bias = costs.TURN_BIAS if angle >= 0 else 1.0 / costs.TURN_BIAS
            seconds = costs.TURN_PENALTY_S / (1.0 + math.exp(-((13.0 / bias) * abs(angle) / 180.0 - 6.5 * bias)))
            ms += round(seconds * 1000)
        return ms

    def successors(self, state: Any) -> list[tuple[Any, int]]:
        """Return the states that may follow, with milliseconds from the start of one edge to that of the next."""
        d, history, entered = state
        found = []
        for f in self.leaving.get(self.tail(d ^ 1), []):
            ms = self.turn(d, f)
            if ms is None or not self._allowed(history, f):
                continue
            if self.crossings and self.crossings.across(d, f) > self.most_crossed:
                continue
            if entered:
                # The trip ends in this zone. It goes on to streets that are reached over destination-only streets
                # alone, and along public streets that it came to without them.
                came_openly = {d, f} <= self.begins_behind - self.ends_behind
                if not (self.is_destination[f] or f in self.ends_behind or came_openly):
                    continue
                now = True
            else:
                # A trip may use destination-only streets until it has left the zone where it began.
                begins = [self.is_destination[edge] or edge in self.begins_behind for edge in (d, f)]
                now = begins[1] and not begins[0]
            found.append(((f, self._remember(history, f), now), self.traversal[d] + ms))
        return found

    def _allowed(self, history: tuple[int, ...], f: int) -> bool:
        """Return whether a turn breaks no restriction."""
        for begin in range(len(history)):
            so_far = history[begin:]
            chosen = [
                path
                for only, path in self.by_first.get(so_far[0], [])
                if only and path[:-1] == so_far and self.turn(path[-2], path[-1]) is not None
            ]
            if chosen and f not in {path[-1] for path in chosen}:
                return False
            if any(path == (*so_far, f) for only, path in self.by_first.get(so_far[0], []) if not only):
                return False
        return True

    def _remember(self, history: tuple[int, ...], f: int) -> tuple[int, ...]:
        """Return the edges of the trip that a restriction could still look back on."""
        trip = (*history, f)
        for begin in range(len(trip)):
            rest = trip[begin:]
            if any(path[: len(rest)] == rest for _, path in self.by_first.get(rest[0], [])):
                return rest
        return (f,)

    def plain(self, d: int) -> Any:
        """Return the state of a trip that begins on an edge."""
        return (d, (d,), False)

    def _expand(self) -> None:
        """Make the graph of all states that a trip can get into."""
        waiting = [self.plain(d) for d in self.traversal]
        known = set(waiting)
        while waiting:
            state = waiting.pop()
            self.states_of.setdefault(state[0], []).append(state)
            self.graph.add_node(state)
            for after, ms in self.successors(state):
                self.graph.add_edge(state, after, weight=ms)
                if after not in known:
                    known.add(after)
                    waiting.append(after)

    def times_ms(
        self, snaps: Snaps, i: int, targets: Snaps, *, with_walk: bool = True, cutoff_ms: int | None = None
    ) -> list[int | None]:
        """Return milliseconds from one snapped position to others, None where there is no way (or beyond a cutoff)."""
        starts = places_of(snaps, i, with_walk=with_walk, kph=self.off_street_kph)
        if not starts:
            return [None] * len(targets)
        source = "source"
        self.graph.add_node(source)
        for edge, at, walk in starts:
            for d in (2 * edge, 2 * edge + 1):
                if d in self.traversal:
                    share = at if d % 2 == 0 else 1.0 - at
                    gone = math.floor(self.traversal[d] * share + 0.5)
                    for after, ms in self.successors(self.plain(d)):
                        old = self.graph.get_edge_data(source, after, {"weight": math.inf})["weight"]
                        self.graph.add_edge(source, after, weight=min(old, walk + ms - gone))
        reached = nx.single_source_dijkstra_path_length(self.graph, source, cutoff=cutoff_ms)
        self.graph.remove_node(source)
        answers: list[int | None] = []
        for j in range(len(targets)):
            best = math.inf
            for target, there, last in places_of(targets, j, with_walk=with_walk, kph=self.off_street_kph):
                for d in (2 * target, 2 * target + 1):
                    if d not in self.traversal:
                        continue
                    share = there if d % 2 == 0 else 1.0 - there
                    part = math.floor(self.traversal[d] * share + 0.5)
                    for state in self.states_of[d]:
                        best = min(best, reached.get(state, math.inf) + part + last)
                    for edge, at, walk in starts:
                        own = at if d % 2 == 0 else 1.0 - at
                        if target == edge and own <= share:
                            best = min(best, walk + part - math.floor(self.traversal[d] * own + 0.5) + last)
            answers.append(None if best == math.inf else int(best))
        return answers


def lifted_restrictions(network: Network, moment: dt.datetime | None) -> set[int]:
    """Return the restrictions that do not hold at a moment of local time."""
    t = network.tables
    lifted = set()
    for k, i in enumerate(t.timed_restrictions.tolist()):
        holds = bool(t.timed_by_default[k])
        if moment is not None:
            row = t.timed_minutes[t.timed_indptr[k] : t.timed_indptr[k + 1]].tolist()
            spans = [range(begin, end) for begin, end in zip(row[::2], row[1::2], strict=True)]
            holds = any(moment.minute + 60 * (moment.hour + 24 * moment.weekday()) in span for span in spans)
        if not holds:
            lifted.add(i)
    return lifted


def places_of(snaps: Snaps, i: int, *, with_walk: bool = True, kph: float = 5.0) -> list[tuple[int, float, int]]:
    """Return the edge, the position on it and the milliseconds of the walk of each place of a point."""
    indptr, edge, fraction, distance = snaps.places
    assert snaps.indoors is None
    return [
        (int(edge[k]), float(fraction[k]), round(float(distance[k]) * (3600.0 / kph)) * with_walk)
        for k in range(int(indptr[i]), int(indptr[i + 1]))
    ]


def simple_oracle(indptr: Any, indices: Any, weights: Any, seeds: dict[int, int], limit: int) -> dict[int, int]:
    """Return the labels of plain networkx on a CSR, for kernels."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(indptr) - 1))
    for state in range(len(indptr) - 1):
        for arc in range(indptr[state], indptr[state + 1]):
            head, weight = int(indices[arc]), int(weights[arc])
            if not graph.has_edge(state, head) or graph[state][head]["weight"] > weight:
                graph.add_edge(state, head, weight=weight)
    for state, key in seeds.items():
        graph.add_edge("source", state, weight=key)
    if "source" not in graph:
        return {}
    found = nx.single_source_dijkstra_path_length(graph, "source", cutoff=limit)
    return {state: int(label) for state, label in found.items() if state != "source"}


def random_points(network: Network, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates near random nodes of a network."""
    rng = np.random.default_rng(seed)
    t = network.tables
    node = rng.integers(0, network.n_nodes, n)
    lng = t.node_lng[node] + rng.normal(0.0, 5e-4, n)
    return (lng + 180.0) % 360.0 - 180.0, t.node_lat[node] + rng.normal(0.0, 5e-4, n)


def outlines_by_contourpy(values: np.ndarray, limit: float, *, step: float, clearance: float) -> shapely.MultiPolygon:
    """Return the outlines of `kernels.contours.outlines`, in columns and rows, as contourpy draws them."""
    depth = np.full((values.shape[0] + 2, values.shape[1] + 2), step, np.float32)
    inside = values <= limit
    apart = np.where(np.isfinite(values), values, np.inf) - np.float32(limit)
    depth[1:-1, 1:-1] = np.where(
        inside, np.clip(apart, -step, -np.float32(clearance)), np.clip(apart, np.float32(clearance), step)
    )
    columns, rows = np.arange(-1, values.shape[1] + 1), np.arange(-1, values.shape[0] + 1)
    kind = contourpy.FillType.OuterOffset
    points, offsets = contourpy.contour_generator(columns, rows, depth, fill_type=kind).filled(-np.inf, 0.0)
    return shapely.MultiPolygon(
        [
            (ring[0], ring[1:])
            for each, cuts in zip(points, offsets, strict=True)
            for ring in [np.split(each, cuts[1:-1].astype(int))]
        ]
    )


def none_near(n: int) -> Near:
    """Return no segments near points, so that a search for ties looks for them itself."""
    return Near(np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))
