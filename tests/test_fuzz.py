"""
Every public function with every odd value in the place of every argument, made from the signatures.

A call gives an answer that is within its limits, or an error of `traveltime_lab.errors`, each of which is also the
builtin error that a caller would expect: InputError and DataError are ValueErrors, MissingFileError is a
FileNotFoundError, FileAccessError and ServiceError are OSErrors, MissingDependencyError is an ImportError and
UnsupportedError a NotImplementedError. Anything else fails, and so does a call that takes too long.

The tests draw 20,000 of all pairs of an argument and a value; seven eighths are among the thorough tests. The long run,
which a variable asks for, tries all of them first, and then values in several places at once::

    TRAVELTIME_LAB_FUZZ_CASES=100000 python -m pytest -n auto -m "thorough or not thorough" tests/test_fuzz.py
"""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import os
import random
import socket
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import odd
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab.errors import TravelTimeError
from traveltime_lab.limits import MAX_DISTANCE_M, MAX_ROUTE_TIME_S
from traveltime_lab.settings import settings
from traveltime_lab.transit.timetable import ServiceWarning

#: Calls of all functions together.
CASES = int(os.environ.get("TRAVELTIME_LAB_FUZZ_CASES", "20000"))
#: Tests of each function, so that processes share them; all but the first are thorough tests.
PARTS = 12
#: Longest processor time of a call in seconds.
PATIENCE_S = 20.0

MORNING = "2026-03-02T07:50:00"
#: Classes that the library makes and callers read; their constructors check nothing.
ANSWERS = {
    "Calibration",
    "Explanation",
    "ObservedDays",
    "Fares",
    "Leg",
    "PreparedPoints",
    "Reason",
    "Replay",
    "Alert",
    "Ride",
    "Route",
    "Step",
    "StopCall",
    "Ticket",
}

#: A station with an entrance for the first stop.
STATION = {
    "stops": """
        stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
        a,Ash,0.5,0.50,0,S
        b,Birch,0.5,0.51,0,
        c,Cedar,0.5,0.52,0,
        S,Station,0.5,0.50,1,
        e,Door,0.5,0.5001,2,S
    """,
    "pathways": """
        pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,traversal_time
        stairs,e,a,2,1,20
        lift,e,a,5,1,60
    """,
}


@dataclass(eq=False)
class World:
    """A small network and right values of arguments."""

    network: tl.Network
    folder: Path
    areas: gpd.GeoDataFrame
    cells: pd.DataFrame

    @property
    def home(self) -> gpd.GeoSeries:
        return gpd.GeoSeries.from_xy([0.4995], [0.5], crs="EPSG:4326")

    @property
    def work(self) -> gpd.GeoSeries:
        return gpd.GeoSeries.from_xy([0.5205, 0.5], [0.5, 0.5], crs="EPSG:4326")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("fuzz"))


def make_world(folder: Path) -> World:
    import rasterio

    nodes = {i: (0.498 + 0.002 * i, 0.5) for i in range(1, 13)} | {
        i + 20: (0.498 + 0.002 * i, 0.502) for i in range(1, 13)
    }
    ways = [
        (1, " ".join(map(str, range(1, 13))), "highway=residential|name=First Street"),
        (2, " ".join(map(str, range(21, 33))), "highway=tertiary|name=Second Street"),
        *((i + 2, f"{i} {i + 20}", "highway=residential") for i in range(1, 13)),
    ]
    (folder / "town.osm").write_bytes(osm_xml(nodes, ways))
    network = tl.build_network(folder / "town.osm", gtfs=feed(folder, **STATION), timezone="UTC")
    network.save(folder / "town.network")
    place = rasterio.Affine(0.001, 0, 0.49, 0, -0.001, 0.51)
    profile = {"driver": "GTiff", "width": 50, "height": 20, "count": 1, "dtype": "int16", "crs": "EPSG:4326"}
    with rasterio.open(folder / "hills.tif", "w", transform=place, **profile) as file:
        file.write(np.arange(1000, dtype=np.int16).reshape(20, 50) % 47, 1)
    made = World(network, folder, gpd.GeoDataFrame(), pd.DataFrame())
    made.areas = tl.time_map(network, made.home, travel_time=300, transportation="walking")
    made.cells = tl.h3_cells(network, made.home, travel_time=300, resolution=9, transportation="walking")
    return made


@dataclass(frozen=True)
class Target:
    """A function to call, with the right values of the arguments that it needs or that make it do more."""

    name: str
    function: Callable[[World], Callable[..., Any]]
    right: Callable[[World], dict[str, Any]]
    #: Arguments that get odd values besides those of the signature.
    more: tuple[str, ...] = ()
    #: Arguments that may be functions of the caller, whose exceptions are the caller's.
    callbacks: tuple[str, ...] = ("progress",)
    #: Share of its calls that are made; small where a right call takes long.
    share: float = 1.0

    def parameters(self, world: World) -> list[str]:
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        found = inspect.signature(self.function(world)).parameters.values()
        return [*(item.name for item in found if item.kind not in kinds), *self.more]


def public(name: str) -> Callable[[World], Callable[..., Any]]:
    return lambda world: getattr(tl, name)


def changing(name: str) -> Callable[[World], Callable[..., Any]]:
    """Return a function that makes a change of a class, writes it and applies it."""

    def function(world: World) -> Callable[..., Any]:
        kind = getattr(tl, name)

        @functools.wraps(kind.__init__)
        def change(**arguments: Any) -> Any:
            made = kind(**arguments)
            assert tl.load_changes(tl.save_changes(made, world.folder / "odd.json")) == [made]
            return world.network.with_changes(made)

        signature = inspect.signature(kind)
        change.__signature__ = signature
        return change

    return function


def preparing(world: World) -> Callable[..., Any]:
    """Return a function that prepares the network for one means of transportation."""

    def prepare(transportation: Any) -> Any:
        return world.network.prepare(transportation)

    return prepare


def trip(world: World) -> dict[str, Any]:
    return {"network": world.network, "origins": world.home, "destinations": world.work}


def measured_trips() -> pd.DataFrame:
    """Return trips along First Street, at about 20 km/h."""
    metres = np.linspace(300.0, 1200.0, 30)
    homes = gpd.GeoSeries.from_xy([0.5] * 30, [0.5] * 30, crs="EPSG:4326")
    jobs = gpd.GeoSeries.from_xy(0.5 + metres / 111_195.0, [0.5] * 30, crs="EPSG:4326")
    seconds = 10.0 + metres / 5.5
    return pd.DataFrame({"origin": homes, "destination": jobs, "travel_time": seconds, "departure_time": MORNING})


def trip_to_work(world: World) -> dict[str, Any]:
    homes, jobs = (gpd.GeoDataFrame(geometry=points) for points in (world.home, world.work))
    return {"network": world.network, "origins": homes.assign(people=7.5), "opportunities": jobs.assign(jobs=3)}


def riding(**more: Any) -> dict[str, Any]:
    return {"transportation": "public_transport", "departure_time": MORNING, **more}


def served(world: World) -> Callable[..., Any]:
    """Return a function that starts and stops the service."""

    @functools.wraps(tl.serve)
    def start(*arguments: Any, **options: Any) -> None:
        with tl.serve(*arguments, **options):
            pass

    return start


def asked(world: World, kind: str, **limits: int) -> Callable[..., Any]:
    """Return a function that makes a Transportation and asks with it."""

    @functools.wraps(tl.Transportation)
    def ask(**options: Any) -> Any:
        means = tl.Transportation(**{"type": kind, **options})
        return tl.time_filter(
            transportation=means, departure_time=MORNING, travel_time=7200, properties=["travel_time", "distance"],
            snapping={"threshold": 2000}, **trip(world),
        )  # fmt: skip

    return ask


def snapped(world: World) -> Callable[..., Any]:
    @functools.wraps(tl.Snapping)
    def ask(**options: Any) -> Any:
        how = tl.Snapping(**options)
        answer = tl.time_filter(snapping=how, travel_time=7200, transportation="walking", **trip(world))
        return answer, tl.time_map(world.network, world.home, travel_time=300, transportation="walking", snapping=how)

    return ask


@functools.lru_cache(1)
def a_map(world: World) -> tl.TravelTimeMap:
    """Return a map that no call changes."""
    return tl.TravelTimeMap(world.network, world.home, folder=world.folder)


def on_a_map(name: str) -> Callable[[World], Callable[..., Any]]:
    """Return a method of a new map."""
    return lambda world: getattr(tl.TravelTimeMap(world.network, world.home, folder=world.folder), name)


def removing_a_layer(world: World) -> Callable[..., Any]:
    """Return `remove_layer` of a new map that has a layer."""
    shown = tl.TravelTimeMap(world.network, world.home, folder=world.folder)
    shown.add_layer(world.areas, "own")
    return shown.remove_layer


def nominatim() -> tl.Nominatim:
    """Return a geocoder that does not answer."""
    return tl.Nominatim("http://127.0.0.1:9", timeout=0.2)


def setting(name: str) -> Callable[[World], Callable[..., Any]]:
    def change(world: World) -> Callable[..., Any]:
        def change_to(value: Any) -> None:
            with settings.override(**{name: value}):
                pass

        return change_to

    return change


TARGETS = [
    Target("time_filter", public("time_filter"), lambda w: {
        **trip(w), "travel_time": 1800, "transportation": "walking"
    }),
    Target("time_filter, matrix", public("time_filter"), lambda w: {**trip(w), "travel_time": 1800, "form": "matrix"}),
    Target(
        "time_filter, transit", public("time_filter"), lambda w: {**trip(w), **riding(travel_time=7200, window=1800)}
    ),
    Target("time_map", public("time_map"), lambda w: {
        "network": w.network, "origins": w.home, "travel_time": 300, "transportation": "walking"
    }),
    Target("time_map, transit", public("time_map"), lambda w: {
        "network": w.network, "origins": w.home, **riding(travel_time=1800, window=600)
    }),
    Target("distance_map", public("distance_map"), lambda w: {
        "network": w.network, "origins": w.home, "distance": 500, "transportation": "walking"
    }),
    Target("routes", public("routes"), lambda w: {**trip(w), "transportation": "walking"}),
    Target("routes, transit", public("routes"), lambda w: {**trip(w), **riding(window=1800, max_results=3)}),
    Target("pareto_routes", public("pareto_routes"), lambda w: {**trip(w), **riding(travel_time=1800)}),
    Target("Costs", public("Costs"), lambda w: {}),
    *(
        Target(f"Costs.{name}", lambda w, name=name: getattr(tl.Costs(), name), lambda w, more=more: more)
        for name, more in (
            ("grams_per_km", {"mode": "bus"}), ("money_per_km", {"mode": "driving"}), ("factors_frame", {})
        )
    ),
    Target("explain", public("explain"), lambda w: {
        "network": w.network, "origin": w.home, "destination": w.work.iloc[[0]], "travel_time": 300,
        "transportation": "walking",
    }),
    Target("explain, transit", public("explain"), lambda w: {
        "network": w.network, "origin": w.home, "destination": w.work.iloc[[0]], **riding(travel_time=600)
    }),
    Target("nearest", public("nearest"), lambda w: {
        "network": w.network, "origins": w.home, "places": w.work, "travel_time": 600, "transportation": "walking"
    }),
    *(
        Target(name, public(name), lambda w, more=more: {
            "network": w.network, "origins": w.home, "path": tempfile.mkdtemp(dir=w.folder), "travel_time": 300,
            "transportation": "walking", "progress": False, **more(w),
        }, share=0.2)
        for name, more in (
            ("write_matrix", lambda w: {"destinations": w.work}), ("write_areas", lambda w: {"level_of_detail": "low"})
        )
    ),
    Target("write_networks", public("write_networks"), lambda w: {
        "networks": {"works": tl.CloseStreets(edges=0)}, "path": tempfile.mkdtemp(dir=w.folder), "base": w.network,
        "prepare": "walking", "progress": False,
    }, share=0.2),
    Target("write_networks, regions", public("write_networks"), lambda w: {
        "networks": {"town": {"osm": w.folder / "town.osm"}}, "path": tempfile.mkdtemp(dir=w.folder),
        "progress": False,
    }, share=0.1),
    Target("matrix_frame", public("matrix_frame"), lambda w: {**trip(w), "travel_time": 600}, share=0.2),
    Target("snap", public("snap"), lambda w: {"network": w.network, "points": w.work}),
    Target("prepare_points", public("prepare_points"), lambda w: {"network": w.network, "points": w.work}),
    *(
        Target(name, public(name), lambda w, r=resolution: {
            "network": w.network, "origins": w.home, "travel_time": 600, "resolution": r, "transportation": "walking"
        })
        for name, resolution in (("h3_cells", 9), ("geohash_cells", 7))
    ),
    Target("h3_cells, transit", public("h3_cells"), lambda w: {
        "network": w.network, "origins": w.home, "resolution": 8, **riding(travel_time=1200, window=600)
    }),
    Target("accessibility", public("accessibility"), lambda w: {
        **trip_to_work(w), "travel_time": 600, "transportation": "walking"
    }, share=0.3),
    Target("accessibility, shared", public("accessibility"), lambda w: {
        **trip_to_work(w), "values": "jobs", "demand": "people", "measure": "3sfca", "decay": "linear",
        "travel_time": [600, 900], "transportation": "walking",
    }, share=0.3),
    Target("accessibility, transit", public("accessibility"), lambda w: {
        **trip_to_work(w), "measure": "nearest", "percentiles": [50], **riding(travel_time=1200, window=600)
    }, share=0.3),
    Target("reliability", public("reliability"), lambda w: {
        "network": w.network, "days": {dt.date(2026, 3, 2): w.network}, "origins": w.home, "destinations": w.work,
        "departure_time": MORNING, "travel_time": 1200, "window": 120,
    }, share=0.3),
    Target("reliability, opportunities", public("reliability"), lambda w: {
        "network": w.network, "days": {dt.date(2026, 3, 2): w.network}, "origins": w.home, "opportunities": w.work,
        "departure_time": MORNING, "travel_time": 1200, "form": "departures",
    }, share=0.3),
    Target("reliability_map", public("reliability_map"), lambda w: {
        "network": w.network, "days": {dt.date(2026, 3, 2): w.network}, "origins": w.home, "departure_time": MORNING,
        "travel_time": 600, "window": 120, "level_of_detail": "lowest",
    }, share=0.3),
    Target("reliability_cells", public("reliability_cells"), lambda w: {
        "network": w.network, "days": {dt.date(2026, 3, 2): w.network}, "origins": w.home, "arrival_time": MORNING,
        "travel_time": 600, "resolution": 8, "kinds": ["planned", "observed"],
    }, share=0.3),
    Target("places", public("places"), lambda w: {"osm": w.folder / "town.osm", "tags": {"highway": True}}, share=0.3),
    Target("counts_to_h3", public("counts_to_h3"), lambda w: {
        "counts": trip_to_work(w)["origins"], "resolution": 9, "values": "people"
    }, share=0.5),
    Target("counts_to_points", public("counts_to_points"), lambda w: {
        "counts": trip_to_work(w)["origins"], "points": w.work, "values": "people"
    }, share=0.5),
    Target("Decay", public("Decay"), lambda w: {"type": "step"}),
    Target("Decay.weights", lambda w: tl.Decay("linear").weights, lambda w: {"times": [60, 90], "travel_time": 600}),
    Target("h3_centroids", public("h3_centroids"), lambda w: {"cells": w.cells["cell"]}),
    Target("geohash_centroids", public("geohash_centroids"), lambda w: {"cells": ["gcpuv5"]}),
    Target("union_cells", public("union_cells"), lambda w: {"members": [w.cells, w.cells]}),
    Target("intersection_cells", public("intersection_cells"), lambda w: {"members": [w.cells, w.cells]}),
    *(Target(name, public(name), lambda w: {"shapes": w.areas}) for name in ("union", "intersection")),
    Target("difference", public("difference"), lambda w: {"minuend": w.areas, "subtrahend": w.areas}),
    Target("shape_accuracy", public("shape_accuracy"), lambda w: {
        "network": w.network, "areas": w.areas, "origins": w.home, "n_points": 20, "transportation": "walking"
    }),
    Target("geocode", public("geocode"), lambda w: {"network": w.network, "query": "First Street"}),
    Target("reverse_geocode", public("reverse_geocode"), lambda w: {"network": w.network, "lng": 0.501, "lat": 0.5}),
    Target("add_speeds", public("add_speeds"), lambda w: {"network": w.network, "classes": {"residential": 20}}),
    Target("add_speeds profile", public("add_speeds"), lambda w: {
        "network": w.network, "profile": pd.DataFrame({"edge": [0, 1], "hour": 8, "kph": 20.0})}, share=0.5),
    Target("add_elevation", public("add_elevation"), lambda w: {"network": w.network, "path": w.folder / "hills.tif"}),
    Target("calibrate_speeds", public("calibrate_speeds"), lambda w: {
        "network": w.network, "observed": measured_trips(), "classes": ["residential"]}, share=0.5),
    Target("Network.with_changes", lambda w: w.network.with_changes, lambda w: {"changes": tl.CloseStreets(edges=0)}),
    Target("inequality", public("inequality"), lambda w: {
        "table": pd.DataFrame({"jobs": [1.0, 2.0]}), "column": "jobs"
    }),
    Target("alkire_foster", public("alkire_foster"), lambda w: {
        "table": pd.DataFrame({"jobs": [1.0, 2.0]}), "thresholds": {"jobs": 2}, "k": 1
    }),
    Target("Network.with_updates", lambda w: w.network.with_updates, lambda w: {
        "source": b'{"header": {"gtfs_realtime_version": "2.0"}}'
    }, share=0.3),
    Target("observed_days", public("observed_days"), lambda w: {
        "network": w.network,
        "archive": pd.DataFrame({"trip_id": ["t"], "date": "2026-03-03", "stop_sequence": 1, "departure_delay": 60}),
    }, share=0.3),
    Target("ObservedDays.delays", lambda w: tl.observed_days(w.network, pd.DataFrame(
        {"trip_id": ["t"], "date": "2026-03-03", "stop_sequence": 1, "departure_delay": 60}
    )).delays, lambda w: {"by": "hour"}, share=0.3),
    Target("ObservedDays.select", lambda w: tl.observed_days(w.network, pd.DataFrame(
        {"trip_id": ["t"], "date": "2026-03-03", "stop_sequence": 1, "departure_delay": 60}
    )).select, lambda w: {"dates": ["2026-03-03"]}, share=0.3),
    Target("CloseStreets", changing("CloseStreets"), lambda w: {"edges": 0}, share=0.5),
    Target("ReopenStreets", changing("ReopenStreets"), lambda w: {"edges": 0}, share=0.5),
    Target("MakeStepFree", changing("MakeStepFree"), lambda w: {"edges": 0}, share=0.5),
    Target("AddCycleTrack", changing("AddCycleTrack"), lambda w: {"edges": 0}, share=0.5),
    Target("SetSpeed", changing("SetSpeed"), lambda w: {"edges": 0, "kph": 20}, share=0.5),
    Target("AddStreet", changing("AddStreet"), lambda w: {
        "line": [(0.5, 0.5), (0.501, 0.5015)], "speeds": {"walking": 5}}, share=0.5),
    Target("RemoveRoutes", changing("RemoveRoutes"), lambda w: {"routes": "R"}, share=0.5),
    Target("RemoveStops", changing("RemoveStops"), lambda w: {"stops": "b"}, share=0.5),
    Target("ClosePathway", changing("ClosePathway"), lambda w: {"pathways": "stairs"}, share=0.5),
    Target("CloseElevator", changing("CloseElevator"), lambda w: {"elevators": "lift"}, share=0.5),
    Target("ScaleHeadway", changing("ScaleHeadway"), lambda w: {"route": "R", "factor": 0.5}, share=0.5),
    Target("SetHeadway", changing("SetHeadway"), lambda w: {
        "route": "R", "start": "07:00", "end": "09:00", "seconds": 600}, share=0.5),
    Target("ShiftTrips", changing("ShiftTrips"), lambda w: {"route": "R", "seconds": 60}, share=0.5),
    Target("AddStop", changing("AddStop"), lambda w: {"stop_id": "n", "lng": 0.505, "lat": 0.5}, share=0.5),
    Target("AddLine", changing("AddLine"), lambda w: {
        "route_id": "X", "stops": ["a", "b"], "headway": 600, "start": "07:00", "end": "09:00", "speed": 20,
    }, share=0.5),
    Target("save_changes", public("save_changes"), lambda w: {
        "changes": [tl.RemoveRoutes("R")], "path": w.folder / "changes.json"}),
    Target("load_changes", public("load_changes"), lambda w: {
        "path": tl.save_changes([tl.RemoveRoutes("R")], w.folder / "changes.json")}),
    Target("compare", public("compare"), lambda w: {"before": w.cells, "after": w.cells}),
    Target("receipt", public("receipt"), lambda w: {"result": w.areas}),
    Target("replay", public("replay"), lambda w: {"receipt": w.areas, "network": w.network}, share=0.3),
    Target("replay, a table", public("replay"), lambda w: {
        "receipt": tl.receipt(w.areas), "network": w.network, "origins": w.home,
    }, share=0.3),
    Target("build_network", public("build_network"), lambda w: {
        "osm": w.folder / "town.osm", "gtfs": w.folder / "feed.zip", "timezone": "UTC"
    }, share=0.3),
    Target("load_network", public("load_network"), lambda w: {"path": w.folder / "town.network"}),
    Target("sample_network", public("sample_network"), lambda w: {}),
    Target("sample_points", public("sample_points"), lambda w: {}),
    Target("sample_files", public("sample_files"), lambda w: {}),
    Target("plot", public("plot"), lambda w: {
        "network": w.network, "areas": w.areas, "points": w.home, "size": 2.0
    }, share=0.05),
    Target("side_by_side", public("side_by_side"), lambda w: {
        "network": w.network, "before": w.areas, "after": w.areas, "size": 6.0
    }, share=0.05),
    Target("serve", served, lambda w: {"networks": w.network, "updates": str(w.folder / "none.pb")}, share=0.1),
    Target("Snapping", snapped, lambda w: {}),
    *(
        Target(f"Transportation {kind}", functools.partial(asked, kind=kind), lambda w: {})
        for kind in ("driving+ferry", "driving+public_transport", "cycling+public_transport", "bus")
    ),
    Target("Nominatim", public("Nominatim"), lambda w: {"url": "http://127.0.0.1:9"}),
    Target("Nominatim.geocode", lambda w: nominatim().geocode, lambda w: {"query": "x"}),
    Target("Nominatim.reverse_geocode", lambda w: nominatim().reverse_geocode, lambda w: {"lng": 0.5, "lat": 0.5}),
    Target("Network.prepare", preparing, lambda w: {"transportation": "walking"}, share=0.1),
    Target("Network.save", lambda w: w.network.save, lambda w: {"path": w.folder / "again.network"}),
    *(
        Target(f"Network.{name}", lambda w, name=name: getattr(w.network, name), lambda w: {}, share=0.3)
        for name in ("to_networkx", "to_osmnx", "to_pandana")
    ),
    Target("Network.road_graph", lambda w: w.network.road_graph, lambda w: {"transportation": tl.Transportation()}),
    Target("Network.plot", lambda w: w.network.plot, lambda w: {
        "areas": w.areas, "points": w.home, "size": 2.0
    }, share=0.02),
    Target("Network.explore", lambda w: w.network.explore, lambda w: {"origins": w.home}, share=0.02),
    Target("Network.stops_frame", lambda w: w.network.stops_frame, lambda w: {}),
    Target("Network.stress_islands", lambda w: w.network.stress_islands, lambda w: {}),
    Target("Network.edges_frame", lambda w: w.network.edges_frame, lambda w: {"departure_time": "2026-01-12T08:00"}),
    Target("Network.routes_frame", lambda w: w.network.routes_frame, lambda w: {"date": "2026-01-12"}),
    Target("Network.trips_frame", lambda w: w.network.trips_frame, lambda w: {"date": "2026-01-12"}),
    Target("Network.report service", lambda w: w.network.report().service, lambda w: {"week": "2026-01-12"}),
    Target("Network.report expiry", lambda w: w.network.report().expiry, lambda w: {"on": "2026-01-12"}),
    Target("Network.report to_html", lambda w: w.network.report().to_html, lambda w: {"path": w.folder / "r.html"}),
    Target("Network.report plot", lambda w: w.network.report().plot, lambda w: {"on": "2026-01-12"}, share=0.2),
    Target("TravelTimeMap", public("TravelTimeMap"), lambda w: {"network": w.network, "origins": w.home}, more=(
        "travel_time", "distance", "transportation", "departure_time", "arrival_time", "level_of_detail", "snapping",
    ), share=0.05),
    Target("SideBySideMap", public("SideBySideMap"), lambda w: {
        "network": w.network, "network_after": w.network, "origins": w.home
    }, more=("travel_time", "transportation"), share=0.03),
    *(Target(f"TravelTimeMap.{name}", on_a_map(name), right, share=0.1) for name, right in (
        ("add_origin", lambda w: {"lng": 0.501, "lat": 0.5}), ("ask", lambda w: {"lng": 0.501, "lat": 0.5}),
        ("move_origin", lambda w: {"name": 0, "lng": 0.501, "lat": 0.5}), ("remove_origin", lambda w: {"name": 0}),
        ("add_layer", lambda w: {"frame": w.areas, "name": "a", "column": "travel_time"}),
    )),
    *(
        Target(f"TravelTimeMap.{name}", lambda w, name=name: getattr(a_map(w), name), lambda w: {}, share=0.1)
        for name in ("to_geojson", "to_html", "to_parquet", "to_png")
    ),
    Target("TravelTimeMap.remove_layer", removing_a_layer, lambda w: {"name": "own"}, share=0.1),
    Target("settings.threads", setting("threads"), lambda w: {"value": 1}),
    Target("settings.cache_folder", setting("cache_folder"), lambda w: {"value": "cache"}),
]  # fmt: skip


def calls_of(target: Target, world: World, number: int) -> list[dict[str, str]]:
    """Return calls as names of odd values by argument: single ones first, then some with two to four."""
    dice = random.Random(target.name)
    names, values = target.parameters(world), list(odd.VALUES)
    calls = [{name: value} for name in names for value in values]
    if target.callbacks:
        calls = [call for call in calls if not (set(call) <= {*target.callbacks} and "a " in "".join(call.values()))]
        names = [name for name in names if name not in target.callbacks]
    dice.shuffle(calls)
    while len(calls) < number and len(names) > 1:
        chosen = dice.sample(names, min(len(names), dice.randint(2, 4)))
        calls.append({name: dice.choice(values) for name in chosen})
    return calls[:number]


@functools.cache
def sizes(world: World) -> dict[str, float]:
    """Return the number of single calls of each target, less where they take long."""
    return {target.name: len(target.parameters(world)) * len(odd.VALUES) * target.share for target in TARGETS}


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    stay_here(monkeypatch, world.folder)


def stay_here(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Files go to a folder of the test, and no name of another machine is found."""
    monkeypatch.chdir(folder)
    find = socket.getaddrinfo

    def found(host: Any, *arguments: Any, **options: Any) -> Any:
        if host not in ("127.0.0.1", "localhost", None):
            raise socket.gaierror("no other machine in tests")
        return find(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    osmnx = pytest.importorskip("osmnx")
    for kind in ("address", "bbox", "place", "point", "polygon"):
        monkeypatch.setattr(osmnx, f"graph_from_{kind}", functools.partial(found, "elsewhere"))


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.thorough) for part in range(1, PARTS))])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_any_value_anywhere(target: Target, part: int, world: World) -> None:
    number = round(CASES * sizes(world)[target.name] / sum(sizes(world).values()))
    wrong = [check_call(target, world, call) for call in calls_of(target, world, max(number, 20))[part::PARTS]]
    found = [text for text in wrong if text is not None]
    assert not found, "\n".join(found[:20])


#: Calls that `benchmarks/fuzz.py` found, which this test does not draw.
FOUND: list[tuple[str, dict[str, str]]] = [
    ("AddStreet", {"line": "pairs of huge"}),
    ("SideBySideMap", {"origins": "GeoSeries by tuples"}),
    ("TravelTimeMap", {"origins": "GeoSeries by tuples"}),
    ("Decay.weights", {"times": "10**400"}),
    ("TravelTimeMap", {"origins": "GeoSeries by nan"}),
    ("TravelTimeMap", {"origins": "np.array(5)"}),
    ("TravelTimeMap.ask", {"lng": "10**400"}),
    ("TravelTimeMap.ask", {"lat": "Point"}),
    ("compare", {"before": "GeoDataFrame without geometry"}),
    ("side_by_side", {"after": "GeoSeries in metres"}),
    ("side_by_side", {"column": "np.timedelta64 of nothing"}),
    ("time_map, transit", {"render_mode": "np.ma", "percentile": "5"}),
]


@pytest.mark.parametrize(("name", "call"), FOUND, ids=str)
def test_what_longer_runs_have_found(name: str, call: dict[str, str], world: World) -> None:
    target = next(each for each in TARGETS if each.name == name)
    assert check_call(target, world, call) is None


@pytest.mark.slow
def test_right_values_are_right(world: World) -> None:
    """Otherwise all calls would be refused."""
    for target in TARGETS:
        if not target.name.startswith("Nominatim."):
            target.function(world)(**target.right(world))
            close(target)


def test_every_public_function_is_called() -> None:
    """Functions, and the methods of classes that are not errors and not made by the library alone."""
    called = {target.name.partition(",")[0].partition(" ")[0] for target in TARGETS}
    for name in tl.__all__:
        value = getattr(tl, name)
        if name in ANSWERS or not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
            continue
        if name != "Network":  # made by build_network and load_network
            assert name in called
        for base in value.__mro__ if inspect.isclass(value) else ():
            for method, function in vars(base).items() if base.__module__.startswith("traveltime_lab") else ():
                is_method = inspect.isfunction(function) and len(inspect.signature(function).parameters) > 1
                if is_method and not method.startswith("_"):
                    assert f"{name}.{method}" in called


def check_call(target: Target, world: World, values: dict[str, str]) -> str | None:
    """Return what is wrong with a call, None if nothing is."""
    found = fault(target, world, values)
    arguments = ", ".join(f"{name}={value}" for name, value in values.items())
    return found and f"{target.name}({arguments}): {found[1]}"


def fault(target: Target, world: World, values: dict[str, str]) -> tuple[str, str] | None:
    """Return the kind of fault of a call, ``"exception"``, ``"answer"`` or ``"hang"``, and what is wrong."""
    arguments = {**target.right(world), **{name: odd.VALUES[value]() for name, value in values.items()}}
    found = None
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ServiceWarning)
            warnings.filterwarnings(
                "ignore",
                message="travel_time is in seconds|constrained_layout|Glyph|.*axes sizes collapsed|.*query area|"
                "the factors of|factors have not settled|held-out trips|the exported graph",
            )
            answer = target.function(world)(**arguments)
        wrong = wrong_answer(answer, arguments)
        found = wrong and ("answer", wrong)
    except TravelTimeError as error:
        found = None if str(error).strip() else ("exception", "an error without words")
    except Exception as error:
        found = ("exception", f"{type(error).__name__}: {str(error)[:300]}")
    finally:
        close(target)
    seconds = time.process_time() - started
    if seconds > PATIENCE_S:
        return "hang", f"{seconds:.0f} s; {found[1] if found else 'else right'}"
    return found or None


def close(target: Target) -> None:
    if target.name.startswith(("plot", "side_by_side", "Network.report plot")):
        from matplotlib import pyplot

        pyplot.close("all")


def wrong_answer(answer: Any, arguments: dict[str, Any]) -> str | None:
    """Return what is wrong with an answer: negative values, or values beyond their limit."""
    if isinstance(answer, tuple):
        return next(filter(None, (wrong_answer(part, arguments) for part in answer)), None)
    if isinstance(answer, tl.Explanation):
        answer = pd.DataFrame({"travel_time": [answer.travel_time if answer.is_reached else None]})
    if not isinstance(answer, pd.DataFrame):
        return None
    limit = arguments.get("travel_time", MAX_ROUTE_TIME_S)
    is_list = np.ndim(limit) > 0 or isinstance(limit, set | frozenset)
    most = max(
        pd.Timedelta(each).total_seconds() if isinstance(each, dt.timedelta | np.timedelta64) else float(each)
        for each in (limit if is_list else [limit])
    )
    for name in answer.columns:
        column = answer[name]
        if not isinstance(name, str) or isinstance(column, pd.DataFrame) or not pd.api.types.is_numeric_dtype(column):
            continue
        values = pd.to_numeric(column).dropna().to_numpy(np.float64)
        signed = ("lng", "lat", "level", "population", "search_id", "origin", "destination", "days_left")
        if name in signed or not values.size:
            continue
        if not np.isfinite(values).all() or values.min() < 0:
            return f"{name} is {values.min()}"
        if name.startswith(("travel_time", "min", "max", "mean")) and values.max() > max(most, 0) + 1:
            return f"{name} is {values.max()}, the limit {most}"
        if name == "distance" and values.max() > 10 * MAX_DISTANCE_M:
            return f"distance is {values.max()}"
    return None


#: What random calls found first: function, arguments, the error and the builtin error that it is, too.
FOUND: list[tuple[str, dict[str, Any], type[TravelTimeError], type[Exception]]] = [
    ("time_filter", {"percentiles": None}, tl.InputError, ValueError),
    ("time_filter", {"properties": 5}, tl.InputError, ValueError),
    ("time_filter", {"origins": (odd.HUGE, 0)}, tl.CoordinateError, ValueError),
    ("time_filter", {"departure_time": "0001-01-01T00:00:00"}, tl.MomentError, ValueError),
    ("time_filter", {"arrival_time": "9999-12-31T23:00:00"}, tl.MomentError, ValueError),
    ("time_filter", {"travel_time": dt.timedelta.max}, tl.LimitError, ValueError),
    ("time_filter", {"form": np.array(["pairs", "matrix"])}, tl.InputError, ValueError),
    ("time_map", {"level_of_detail": odd.HUGE}, tl.LimitError, ValueError),
    ("build_network", {"gtfs": [5]}, tl.InputError, ValueError),
    ("build_network", {"timezone": 5}, tl.InputError, ValueError),
    ("build_network", {"osm": "a" * 5000 + ".osm.pbf"}, tl.FileAccessError, OSError),
    ("load_network", {"path": "\0"}, tl.InputError, ValueError),
    ("load_network", {"path": "missing.network"}, tl.MissingFileError, FileNotFoundError),
    ("add_speeds", {"classes": 5}, tl.InputError, ValueError),
    ("add_speeds profile", {"profile": 5}, tl.InputError, ValueError),
    ("add_speeds profile", {"profile": "missing.parquet"}, tl.MissingFileError, FileNotFoundError),
    ("add_elevation", {"path": 5}, tl.InputError, ValueError),
    ("add_elevation", {"path": "missing.tif"}, tl.MissingFileError, FileNotFoundError),
    ("calibrate_speeds", {"observed": 5}, tl.InputError, ValueError),
    ("serve", {"port": 70_000}, tl.InputError, ValueError),
    ("plot", {"size": 1e308}, tl.LimitError, ValueError),
    ("Transportation bus", {"pt_change_delay": 2**31}, tl.LimitError, ValueError),
    ("Transportation driving+public_transport", {"parking_time": 2_147_000}, tl.LimitError, ValueError),
    ("Snapping", {"threshold": odd.HUGE}, tl.LimitError, ValueError),
]


@pytest.mark.parametrize(("name", "arguments", "error", "builtin"), FOUND)
def test_errors_of_the_right_class(
    world: World, name: str, arguments: dict[str, Any], error: type[TravelTimeError], builtin: type[Exception]
) -> None:
    target = next(target for target in TARGETS if target.name == name)
    with pytest.raises(error) as caught:
        target.function(world)(**{**target.right(world), **arguments})
    assert type(caught.value) is error
    assert isinstance(caught.value, builtin)


def test_limits_may_be_durations_everywhere(world: World) -> None:
    """`explain` took whole seconds only where it did not reach."""
    for seconds in (60, 3600):
        limit, options = dt.timedelta(seconds=seconds), {"transportation": "walking"}
        told = tl.explain(world.network, world.home, world.work.iloc[[0]], travel_time=limit, **options)
        assert told == tl.explain(world.network, world.home, world.work.iloc[[0]], travel_time=seconds, **options)
