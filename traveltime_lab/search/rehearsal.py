"""
One search of each type on a synthetic town of 256 junctions and three bus routes, which compiles all kernels.

Used by ``traveltime-lab compile``, and by the test that compares the list in `traveltime_lab.kernels.warm_up` with the
kernels that searches compile.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import geopandas as gpd
import numpy as np
import shapely

from traveltime_lab._files import temporary_folder
from traveltime_lab.crs import LocalFrame
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.network.build import build_network, load_network
from traveltime_lab.network.network import Network
from traveltime_lab.points import read_points
from traveltime_lab.search.cells import geohash_cells, h3_cells
from traveltime_lab.search.explain.explain import explain
from traveltime_lab.search.pareto import pareto_routes
from traveltime_lab.search.query import ask
from traveltime_lab.search.reliability.areas import reliability_cells
from traveltime_lab.search.reliability.reliability import reliability
from traveltime_lab.search.routes import routes
from traveltime_lab.search.snap import snap
from traveltime_lab.search.time_filter import time_filter
from traveltime_lab.search.time_map import distance_map, time_map
from traveltime_lab.streets import contraction, k_nearest
from traveltime_lab.streets.row_search import MANY_COLUMNS
from traveltime_lab.streets.snapping import MANY_POINTS
from traveltime_lab.transit.stop_links import FEW

#: Number of junctions on a side of the town, and the distance between them in metres. In a smaller town the choice of
#: engines does not count what destinations need.
_SIDE, _BLOCK_M = 16, 125.0
_FRAME = LocalFrame(0.5, 0.5)
_MORNING = "2026-03-03T08:00"
#: More stops than those around which explanations search exactly.
_MANY_STOPS = 110


def rehearse() -> Iterator[str]:
    """Run all types of searches, and yield the name of each part when it is complete."""
    with temporary_folder() as folder:
        network = build_network(_streets(), gtfs=[_feed(folder)], timezone="UTC")
        load_network(network.save(folder / "town.network"))
        for mode in ("walking", "driving"):
            # As larger cities are divided.
            contraction.order_of(network.streets, network.road_graph(mode).topology, n_threads=2, many=0)
        yield "building"
        for name, part in _PARTS.items():
            part(network)
            yield name


def _places(*metres: tuple[float, float]) -> gpd.GeoSeries:
    return gpd.GeoSeries.from_xy(*_FRAME.to_lnglat(*np.array(metres).T), crs="EPSG:4326")


def _streets() -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    """Return the nodes and edges of a square grid."""
    metres = [(_BLOCK_M * column, _BLOCK_M * row) for row in range(_SIDE) for column in range(_SIDE)]
    nodes = gpd.GeoDataFrame(geometry=_places(*metres))
    ends = [(i, i + 1) for i in range(_SIDE**2) if (i + 1) % _SIDE] + [(i, i + _SIDE) for i in range(_SIDE**2 - _SIDE)]
    lines = [shapely.LineString([nodes.geometry[u], nodes.geometry[v]]) for u, v in ends]
    columns = {"u": [u for u, _ in ends], "v": [v for _, v in ends], "highway": "residential"}
    return nodes, gpd.GeoDataFrame(columns, geometry=lines, crs="EPSG:4326")


def _feed(folder: Path) -> Path:
    """
    Write a feed and return its folder.

    It has a route along the southern side and one along the western side, and one of very many stops in the north,
    because searches around many stops use different kernels (see `traveltime_lab.search.explain.relaxations`).
    """
    far = _BLOCK_M * (_SIDE - 1)
    stops = {"corner": (20.0, 5.0), "east": (far, 5.0), "north": (5.0, far), "middle": (far / 2, 5.0)}
    stops |= {f"close{i}": (5.0 + i, far - i) for i in range(_MANY_STOPS)}
    places = _places(*stops.values())
    rows = [f"{stop},{stop},{place.y:.6f},{place.x:.6f}" for stop, place in zip(stops, places, strict=True)]
    trips, times = [], []
    for line, calls in {"1": ["east", "middle", "corner"], "2": ["corner", "north"]}.items():
        for minute in range(0, 180, 10):
            trip = f"{line}-{minute}"
            trips.append(f"{line},daily,{trip},{trip if line == '1' else ''}")
            for k, stop in enumerate(calls):
                clock = 7 * 60 + minute + 3 * k + (5 if line == "2" else 0)
                # The stop in the middle has no times, so that they are interpolated.
                moment = "" if stop == "middle" else f"{clock // 60:02d}:{clock % 60:02d}:00"
                times.append(f"{trip},{k},{stop},{moment},{moment}")
    trips.append("3,daily,3-0,")
    for k, stop in enumerate(stop for stop in stops if stop.startswith("close")):
        times.append(f"3-0,{k},{stop},08:{k // 60:02d}:{k % 60:02d},08:{k // 60:02d}:{k % 60:02d}")
    week = "monday,tuesday,wednesday,thursday,friday,saturday,sunday"
    files = {
        "agency": ["agency_id,agency_name,agency_url,agency_timezone", 'A,"Buses",https://example.org,UTC'],
        "stops": ["stop_id,stop_name,stop_lat,stop_lon", *rows],
        "routes": ["route_id,route_short_name,route_type", "1,1,3", "2,2,3", "3,3,3"],
        "calendar": [f"service_id,{week},start_date,end_date", "daily,1,1,1,1,1,1,1,20260101,20261231"],
        "trips": ["route_id,service_id,trip_id,block_id", *trips],
        "stop_times": ["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *times],
    }
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


_HERE = _places((1500.0, 30.0))
_THERE = _places((30.0, 1500.0), (700.0, 760.0), (1500.0, 40.0))
#: A number of points from which walks around all stops are computed.
_MANY = _places(*((30.0 * i, 1500.0) for i in range(FEW + 1)))
_TRANSIT_MODES = ("public_transport", "cycling+public_transport", "driving+public_transport")
_BY_HEADWAY = {"type": "public_transport", "headways": "average"}
#: A departure time and an arrival time.
_MOMENTS: tuple[dict[str, Any], ...] = ({"departure_time": _MORNING}, {"arrival_time": _MORNING})
#: Searches by car during which the speeds change.
_CHANGING: tuple[dict[str, Any], ...] = tuple(
    {"transportation": {"type": "driving", "time_dependent": True}, when: f"2026-03-03T{clock}"}
    for when, clock in (("departure_time", "07:59"), ("arrival_time", "08:01"))
)


def _tables(network: Network) -> None:
    both = ("travel_time", "distance")
    # Later, a sweep of the hierarchy replaces the search.
    distance_map(network, _HERE, distance=500, transportation="walking")
    for mode in BASE_MODES:
        snap(network, _HERE, transportation=mode)
        # The choice differs once there is a hierarchy.
        for engine in ("auto", "dijkstra", "hierarchy", "auto"):
            for start, end in ((_HERE, _THERE), (_THERE, _HERE), (_THERE, _THERE)):
                time_filter(
                    network, start, end, travel_time=3600, transportation=mode, engine=engine, properties=both
                )  # fmt: skip
            time_filter(
                network, _THERE, _THERE, travel_time=3600, transportation=mode, engine=engine, pairs="aligned"
            )  # fmt: skip

    for how in _CHANGING:
        for pairs in ("all", "aligned"):
            time_filter(network, _THERE, _THERE, travel_time=3600, pairs=pairs, **how)

    # To many places, which are snapped and read in another way.
    many = _THERE.iloc[np.arange(max(MANY_COLUMNS, MANY_POINTS)) % len(_THERE)].reset_index(drop=True)
    time_filter(network, _HERE.iloc[:1], many, travel_time=3600, transportation="walking", engine="dijkstra")
    # Which way is the quickest depends on the network.
    query = ask(network, "walking", None, None, None)
    starts, ends = (query.snap(read_points(points, "points", network.bounds)) for points in (many, many.iloc[:20]))
    linked = k_nearest.link(query.graph, starts, ends, query.snapping)
    for way in get_args(k_nearest.Way):
        k_nearest.nearest_places(network.streets, query.graph, *linked, query.snapping, 1, 3600.0, way)


def _areas(network: Network) -> None:
    for mode in BASE_MODES:
        for moment in _MOMENTS:
            time_map(network, _HERE, travel_time=300, transportation=mode, buffer_distance=250, **moment)
        # The last one again, because many tiles are read in a different way once they are known.
        for level in ("lowest", "highest", "highest"):
            time_map(network, _HERE, travel_time=900, transportation=mode, level_of_detail=level)
        time_map(network, _HERE, travel_time=300, transportation=mode, render_mode="road_buffering")
        for shortest in (False, True):
            distance_map(network, _HERE, distance=500, transportation=mode, shortest=shortest)
        h3_cells(network, _HERE, travel_time=300, transportation=mode, resolution=9)
    geohash_cells(network, _HERE, travel_time=300, transportation="walking", resolution=7)
    for how in _CHANGING:
        time_map(network, _HERE, travel_time=300, **how)
        time_map(network, _HERE, travel_time=300, render_mode="road_buffering", **how)


def _ways(network: Network) -> None:
    for mode in BASE_MODES:
        routes(network, _HERE, _THERE, transportation=mode)
        for limit in (60, 3600):
            explain(network, _HERE, _THERE.iloc[[0]], travel_time=limit, transportation=mode)
    for how in _CHANGING:
        routes(network, _HERE, _THERE, **how)


def _transit_tables(network: Network) -> None:
    for mode in _TRANSIT_MODES:
        for moment in _MOMENTS:
            how: dict[str, Any] = {"travel_time": 3600, "transportation": mode, **moment}
            for start, end in ((_HERE, _THERE), (_THERE, _HERE), (_THERE, _THERE)):
                time_filter(network, start, end, **how)
            time_filter(network, _THERE, _THERE, pairs="aligned", **how)
            for start, end in ((_HERE, _THERE), (_HERE, _MANY), (_MANY, _HERE), (_MANY, _MANY)):
                for properties in (("travel_time",), ("travel_time", "distance")):
                    time_filter(network, start, end, properties=properties, **how)
            time_filter(network, _HERE, _THERE, window=1200, **how)
            time_filter(network, _HERE, _THERE, window=1200, max_results=3, **how)
            time_filter(network, _HERE, _THERE, window=1200, percentiles=(50, 90), properties=("share",), **how)
    quarters = [f"2026-03-03T08:{minute:02d}" for minute in range(0, 60, 15)]
    time_filter(network, _HERE, _THERE, travel_time=3600, transportation=_TRANSIT_MODES[0], departure_time=quarters)
    time_filter(network, _HERE, _THERE, travel_time=3600, transportation=_BY_HEADWAY, **_MOMENTS[0])
    network.with_updates(b'{"header": {"gtfs_realtime_version": "2.0"}}')
    days = {dt.date.fromisoformat(_MORNING[:10]): network}
    reliability(network, days, _HERE, _THERE, travel_time=3600, **_MOMENTS[0])


def _transit_areas(network: Network) -> None:
    for mode in _TRANSIT_MODES:
        for moment in _MOMENTS:
            how: dict[str, Any] = {"travel_time": 1500, "transportation": mode, **moment}
            time_map(network, _HERE, buffer_distance=250, **how)
            time_map(network, _HERE, window=1200, **how)
            time_map(network, _HERE, window=1200, percentile=80, **how)
            h3_cells(network, _HERE, resolution=9, **how)
    days = {dt.date.fromisoformat(_MORNING[:10]): network}
    reliability_cells(network, days, _HERE, resolution=9, travel_time=1500, **_MOMENTS[0])
    reliability_cells(network, days, _HERE, resolution=9, travel_time=1500, kinds=["observed"], **_MOMENTS[1])


def _transit_ways(network: Network) -> None:
    for mode in _TRANSIT_MODES:
        for moment in _MOMENTS:
            how: dict[str, Any] = {"transportation": mode, **moment}
            routes(network, _HERE, _THERE, **how)
            routes(network, _HERE, _THERE, window=1200, max_results=3, **how)
            for limit in (60, 3600):
                explain(network, _HERE, _THERE.iloc[[0]], travel_time=limit, **how)
    routes(network, _HERE, _THERE, transportation=_BY_HEADWAY, **_MOMENTS[0])
    pareto_routes(network, _HERE, _THERE, travel_time=3600, **_MOMENTS[0])


_PARTS: dict[str, Callable[[Network], None]] = {
    "tables": _tables,
    "areas": _areas,
    "routes": _ways,
    "timetables: tables": _transit_tables,
    "timetables: areas": _transit_areas,
    "timetables: routes": _transit_ways,
}
