"""Small street networks drawn in the test that uses them."""

from __future__ import annotations

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
    everyone.
    """
    ids = {name: i for i, name in enumerate(nodes)}
    lng, lat = frame.to_lnglat(*zip(*nodes.values(), strict=True))
    points = gpd.GeoDataFrame(geometry=shapely.points(lng, lat), index=list(ids.values()), crs="EPSG:4326")
    rows = []
    for i, (start, end, *more) in enumerate(streets):
        row = {"u": ids[start], "v": ids[end], "way_id": 100 + i, "highway": "residential"}
        row |= {"walking_kph": 18.0, "cycling_kph": 18.0, "driving_kph": 18.0}
        row |= more[0] if more else {}
        rows.append(row)
    edges = gpd.GeoDataFrame(
        pd.DataFrame(rows),
        geometry=[shapely.LineString([points.geometry[row["u"]], points.geometry[row["v"]]]) for row in rows],
        crs="EPSG:4326",
    )
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
