"""Small street networks drawn in the test that uses them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely
from hypothesis import strategies as st

from traveltime_lab.crs import LocalFrame
from traveltime_lab.network.build import build_network
from traveltime_lab.network.network import Network
from traveltime_lab.readers.frames import tables_from_frames
from traveltime_lab.streets.tables import StreetTables

#: Where the worlds lie: by the Gulf of Guinea's zero point nothing else is near, and metres are easy.
FRAME = LocalFrame(0.5, 0.5)


def tables(
    nodes: Mapping[Any, tuple[float, float]], streets: Sequence[tuple[Any, ...]], *, frame: LocalFrame = FRAME
) -> StreetTables:
    """
    Return street tables of nodes in metres and streets between them.

    A street is ``(from, to)`` or ``(from, to, tags)``; without tags it is a residential street of 18 km/h, 5 m/s, for
    everyone. The places in metres of the tag ``via`` are bends of its line.
    """
    ids = {name: i for i, name in enumerate(nodes)}
    lng, lat = frame.to_lnglat(*zip(*nodes.values(), strict=True))
    points = gpd.GeoDataFrame(geometry=shapely.points(lng, lat), index=list(ids.values()), crs="EPSG:4326")
    rows, lines = [], []
    for i, (start, end, *more) in enumerate(streets):
        row = {"u": ids[start], "v": ids[end], "way_id": 100 + i, "highway": "residential"}
        row |= {"walking_kph": 18.0, "cycling_kph": 18.0, "driving_kph": 18.0}
        row |= more[0] if more else {}
        places = [nodes[start], *row.pop("via", []), nodes[end]]
        lines.append(shapely.LineString(np.column_stack(frame.to_lnglat(*zip(*places, strict=True)))))
        rows.append(row)
    edges = gpd.GeoDataFrame(pd.DataFrame(rows), geometry=lines, crs="EPSG:4326")
    return tables_from_frames(points, edges)


def world(
    nodes: Mapping[Any, tuple[float, float]], streets: Sequence[tuple[Any, ...]], *, frame: LocalFrame = FRAME
) -> Network:
    """Return a network of nodes in metres and streets between them; see `tables`."""
    return build_network(tables(nodes, streets, frame=frame), timezone="UTC")


def with_slopes(tables: StreetTables, seed: int) -> StreetTables:
    """Return streets that take random times longer or shorter on foot and by bicycle, in each direction."""
    rng = np.random.default_rng(seed)
    walking, cycling = (rng.choice([0.7, 1.0, 1.7, 4.3], 2 * tables.edge_from.size) for _ in range(2))
    return replace(
        tables,
        walking_slope_factor=walking.astype(np.float32),
        cycling_slope_factor=cycling.astype(np.float32),
    )


def recut(tables: StreetTables, seed: int) -> StreetTables:
    """
    Return the same streets, cut at random new nodes, some drawn in the opposite direction, in another order.

    Only for tables without slopes.
    """
    rng, t = np.random.default_rng(seed), tables
    n_uses, n_nodes = len(t.uses), t.node_lng.size
    turned = t.uses.copy()
    for mode in ("walking", "cycling", "driving"):
        ways = [f"{mode}_kph_forward", f"{mode}_kph_backward"]
        turned[ways] = t.uses[ways[::-1]].to_numpy()
    # Of each piece: the edge, the nodes at its ends, its share of the edge, its line.
    rows: list[tuple[int, int, int, float, np.ndarray]] = []
    pieces_of: list[list[int]] = []
    new_nodes: list[np.ndarray] = []
    for edge in range(t.edge_from.size):
        line = np.column_stack([t.coord_lng, t.coord_lat])[t.coord_indptr[edge] : t.coord_indptr[edge + 1]]
        x, y = FRAME.to_xy(*line.T)
        along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        along /= along[-1] or 1.0
        cuts = np.sort(rng.uniform(0.05, 0.95, rng.integers(0, 3)))
        if rng.random() < 0.5:
            # At vertices of the line, where there are some.
            cuts = np.unique([along[1:-1][np.abs(along[1:-1] - cut).argmin()] for cut in cuts if along.size > 2])
        ends = [0.0, *cuts.tolist(), 1.0]
        nodes = [int(t.edge_from[edge]), *range(n_nodes + len(new_nodes), n_nodes + len(new_nodes) + len(cuts))]
        nodes.append(int(t.edge_to[edge]))
        pieces_of.append([])
        for i, (begin, end) in enumerate(itertools.pairwise(ends)):
            inner = line[(along > begin) & (along < end)]
            first, last = (np.array([[np.interp(place, along, axis) for axis in line.T]]) for place in (begin, end))
            if i:
                new_nodes.append(first[0])
            pieces_of[-1].append(len(rows))
            rows.append((edge, nodes[i], nodes[i + 1], end - begin, np.concatenate([first, inner, last])))
    place, is_turned = rng.permutation(len(rows)), rng.random(len(rows)) < 0.5
    node_place = rng.permutation(n_nodes + len(new_nodes))

    def directed(d: int) -> list[int]:
        """Return the new directed edges of an old one in the order of travel."""
        pieces = pieces_of[d // 2][:: -1 if d % 2 else 1]
        return [2 * int(place[piece]) + (d % 2 ^ int(is_turned[piece])) for piece in pieces]

    ordered = [rows[piece] for piece in np.argsort(place)]
    backwards = is_turned[np.argsort(place)]
    edge = np.array([row[0] for row in ordered])
    ends = np.array([row[1:3] for row in ordered])
    ends[backwards] = ends[backwards, ::-1]
    lines = [row[4][:: -1 if back else 1] for row, back in zip(ordered, backwards, strict=True)]
    paths = []
    for i in range(t.restriction_only.size):
        path = [directed(int(d)) for d in t.restriction_edges[t.restriction_indptr[i] : t.restriction_indptr[i + 1]]]
        paths.append([path[0][-1], *itertools.chain(*path[1:-1]), path[-1][0]])
    more = np.array(new_nodes).reshape(-1, 2)
    pairs = t.edge_stress.reshape(-1, 2) if t.has_stress else t.edge_stress
    order = np.argsort(node_place)

    def of_nodes(values: np.ndarray, new: Any) -> np.ndarray:
        return np.concatenate([values, new]).astype(values.dtype)[order]

    return replace(
        t,
        node_osm_id=of_nodes(t.node_osm_id, 10**9 + np.arange(len(more))),
        node_lng=of_nodes(t.node_lng, more[:, 0]),
        node_lat=of_nodes(t.node_lat, more[:, 1]),
        node_flags=of_nodes(t.node_flags, np.zeros(len(more))),
        edge_from=node_place[ends[:, 0]].astype(np.int32),
        edge_to=node_place[ends[:, 1]].astype(np.int32),
        edge_length_m=t.edge_length_m[edge] * np.array([row[3] for row in ordered]),
        edge_way_id=t.edge_way_id[edge],
        edge_use=(t.edge_use[edge] + n_uses * backwards).astype(np.int32),
        edge_name=t.edge_name[edge],
        coord_indptr=np.cumsum([0, *map(len, lines)]).astype(np.int64),
        coord_lng=np.concatenate(lines)[:, 0].copy(),
        coord_lat=np.concatenate(lines)[:, 1].copy(),
        uses=pd.concat([t.uses, turned], ignore_index=True).astype(t.uses.dtypes.to_dict()),
        restriction_indptr=np.cumsum([0, *map(len, paths)]).astype(np.int64),
        restriction_edges=np.array(list(itertools.chain(*paths)), np.int32),
        edge_stress=np.where(backwards[:, None], pairs[edge, ::-1], pairs[edge]).ravel() if t.has_stress else pairs,
        node_step_free=of_nodes(t.node_step_free, np.zeros(len(more))) if t.has_step_free else t.node_step_free,
        edge_step_free=t.edge_step_free[edge] if t.has_step_free else t.edge_step_free,
        edge_avoid=t.edge_avoid[edge] if t.edge_avoid.size else t.edge_avoid,
    )


def at(*places: tuple[float, float], frame: LocalFrame = FRAME) -> gpd.GeoSeries:
    """Return points at places in metres."""
    return gpd.GeoSeries.from_xy(*frame.to_lnglat(*zip(*places, strict=True)), crs="EPSG:4326")


@st.composite
def towns(draw: st.DrawFn) -> Network:
    """
    Random streets on a jittered grid with one-ways, closed streets, private access and turn restrictions.

    Some restrictions hold at some hours of Mondays and Tuesdays only.
    """
    side = draw(st.integers(2, 4))
    cells = [(i, j) for i in range(side) for j in range(side)]
    jitter = st.integers(-40, 40)
    nodes = {cell: (200 * cell[0] + draw(jitter), 200 * cell[1] + draw(jitter)) for cell in cells}
    candidates = [(a, b) for a in cells for b in cells if a < b and abs(a[0] - b[0]) + abs(a[1] - b[1]) <= 2]
    chosen = draw(st.lists(st.sampled_from(candidates), min_size=3, max_size=20))
    tags = st.fixed_dictionaries(
        {},
        optional={
            "oneway": st.sampled_from(["yes", "-1"]),
            "highway": st.sampled_from(["primary", "living_street", "track"]),
            "access": st.sampled_from(["destination", "private"]),
            "junction": st.just("roundabout"),
        },
    )
    streets = [(a, b, {"driving_kph": None, **draw(tags)}) for a, b in chosen]
    drawn = tables(nodes, [(a, b, {k: v for k, v in more.items() if v is not None}) for a, b, more in streets])
    n_directed = 2 * drawn.edge_from.size
    tail = np.stack([drawn.edge_from, drawn.edge_to], axis=1).ravel()
    restrictions = []
    for _ in range(draw(st.integers(0, 4))):
        path = [draw(st.integers(0, n_directed - 1))]
        for _ in range(draw(st.integers(1, 3))):
            after = [d for d in range(n_directed) if tail[d] == tail[path[-1] ^ 1] and d != path[-1] ^ 1]
            if not after:
                break
            path.append(draw(st.sampled_from(after)))
        if len(path) > 1:
            restrictions.append((draw(st.booleans()), path))
    timed = [number for number in range(len(restrictions)) if draw(st.booleans())]
    minutes = st.lists(st.integers(0, 48).map(lambda hour: 60 * hour), min_size=4, max_size=4, unique=True).map(sorted)
    hours = [draw(minutes)[: draw(st.sampled_from([2, 4]))] for _ in timed]
    flags = draw(
        st.lists(st.sampled_from([0, 0, 0, 1, 1024]), min_size=len(drawn.node_lng), max_size=len(drawn.node_lng))
    )
    drawn = replace(
        drawn,
        node_flags=np.array(flags, np.uint16),
        restriction_only=np.array([only for only, _ in restrictions], np.bool_),
        restriction_indptr=np.concatenate([[0], np.cumsum([len(path) for _, path in restrictions])]).astype(np.int64),
        restriction_edges=np.array([d for _, path in restrictions for d in path], np.int32),
        timed_restrictions=np.array(timed, np.int32),
        timed_by_default=np.array([draw(st.booleans()) for _ in timed], np.bool_),
        timed_indptr=np.concatenate([[0], np.cumsum([len(row) for row in hours])]).astype(np.int64),
        timed_minutes=np.array([minute for row in hours for minute in row], np.int32),
    )
    return build_network(drawn, timezone="UTC")
