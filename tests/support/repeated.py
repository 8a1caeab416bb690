"""
Every kind of call, to be repeated, and what a process holds of the operating system.

What a call leaves behind is invisible in its answer: descriptors, mapped files and memory that is shared, processes
that have ended and that nobody has asked for, threads, temporary files.
"""

from __future__ import annotations

import bz2
import contextlib
import gc
import gzip
import json
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import geopandas as gpd

import traveltime_lab as tl
from tests.support import towns, worlds
from tests.support.feeds import feed
from tests.support.large_jobs import Strange
from tests.support.osm_files import osm_xml
from traveltime_lab.readers.osm.features import read_features
from traveltime_lab.readers.osm.streets import read_osm

MOMENT = "2026-03-02T08:00:00+00:00"

#: A block of streets, a pond and a bench.
NODES = {i: (0.5 + 0.002 * (i % 4), 0.5 + 0.002 * (i // 4)) for i in range(1, 17)}
WAYS = [
    (1, "1 2 3", "highway=residential"),
    (2, "3 7 11 15", "highway=secondary name=Long"),
    (3, "1 5 9 13 14 15", "highway=footway"),
    (4, "2 6 10 14", "highway=cycleway"),
    (5, "8 12 16 8", "natural=water"),
    (6, "4 8", "highway=service access=private"),
]
RELATIONS = [(1, "w1@from n3@via w2@to", "type=restriction restriction=no_left_turn")]


class Held(NamedTuple):
    """What a process holds."""

    descriptors: Counter[str]
    shared_bytes: int
    children: int
    threads: Counter[str]
    temporary: frozenset[str]

    def beyond(self, other: Held) -> dict[str, Any]:
        """Return what is more than in another state."""
        more = {
            "descriptors": dict(self.descriptors - other.descriptors),
            "shared_bytes": max(self.shared_bytes - other.shared_bytes, 0),
            "children": max(self.children - other.children, 0),
            "threads": dict(self.threads - other.threads),
            "temporary": sorted(self.temporary - other.temporary),
        }
        return {name: value for name, value in more.items() if value}


def held() -> Held:
    """Return what this process holds now; for Linux."""
    gc.collect()
    descriptors: Counter[str] = Counter()
    unlinked: dict[tuple[int, int], int] = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            # Numbers of sockets and pipes change.
            descriptors[re.sub(r":\[\d+\]$", "", target)] += 1
            if target.endswith("(deleted)"):
                about = os.fstat(int(name))
                unlinked[about.st_dev, about.st_ino] = about.st_blocks * 512
    descriptors.pop(f"/proc/{os.getpid()}/fd", None)
    mapped = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, *_ = line.split()
        if rights.endswith("s"):
            first, last = (int(end, 16) for end in span.split("-"))
            mapped += last - first
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    temporary = frozenset(path.name for path in Path(tempfile.gettempdir()).glob("traveltime_lab_*"))
    # Threads of the pool that all searches share begin when they are needed; there are never more than cores.
    names = (re.sub(r"[-_]?\d+$", "", thread.name) for thread in threading.enumerate())
    threads = Counter(name for name in names if name != "traveltime_lab")
    return Held(descriptors, mapped + sum(unlinked.values()), len(children), threads, temporary)


def resident_bytes() -> int:
    """Return the memory of this process, with what it shares; for Linux."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError


# Calls ---------------------------------------------------------------------------------------------------------------

Call = Callable[[], Any]


def _files(folder: Path) -> dict[str, Path]:
    """Write the same streets in each format, and in the odd forms that take a way of their own."""
    import osmium

    xml = osm_xml(NODES, WAYS, RELATIONS, {4: "amenity=bench name=Seat"})
    paths = {name: folder / f"town.{name}" for name in ("osm", "osm.gz", "osm.bz2", "osm.pbf")}
    paths["osm"].write_bytes(xml)
    paths["osm.gz"].write_bytes(gzip.compress(xml))
    paths["osm.bz2"].write_bytes(bz2.compress(xml))
    with osmium.SimpleWriter(str(paths["osm.pbf"]), overwrite=True) as writer:
        for item in osmium.FileProcessor(str(paths["osm"])):
            writer.add(item)
    odd = {
        "negative.osm": osm_xml({**NODES, -1: (0.51, 0.5)}, [*WAYS, (-1, "3 -1", "highway=path")]),
        "repeated.osm": osm_xml(NODES, [*WAYS, WAYS[0]]),
        "deleted.osm": osm_xml(NODES, WAYS).replace(b'<way id="6"', b'<way visible="false" id="6"'),
        "broken.osm": xml[: len(xml) // 2],
        "broken.osm.pbf": paths["osm.pbf"].read_bytes()[:-20],
        "empty.osm": b"",
    }
    for name, content in odd.items():
        paths[name] = folder / name
        paths[name].write_bytes(content)
    return paths


def _failing(call: Call) -> Call:
    """Return a call that has to raise an error of the package."""

    def fail() -> None:
        try:
            call()
        except tl.TravelTimeError:
            return
        raise AssertionError("it did not fail")

    return fail


def readers(folder: Path) -> Iterator[tuple[str, Call]]:
    """Yield builds from every source, with those that fail."""
    files = _files(folder)
    for name, path in files.items():
        build = lambda path=path: tl.build_network(path, timezone="UTC")  # noqa: E731
        yield f"build {name}", _failing(build) if name.startswith(("broken", "empty")) else build
    yield "tables of .osm", lambda: read_osm(files["osm"])
    for name in ("osm", "osm.pbf", "repeated.osm", "negative.osm"):
        yield f"features of {name}", lambda name=name: read_features(files[name], {"amenity": None, "natural": None})
    broken = files["broken.osm.pbf"]
    yield "features of a broken file", _failing(lambda: read_features(broken, {"amenity": None}))
    bus = feed(folder, "bus.zip")
    unreadable = folder / "unreadable.zip"
    unreadable.write_bytes(bus.read_bytes()[:-30])
    yield "build with a feed", lambda: tl.build_network(files["osm"], gtfs=[bus], timezone="UTC")
    yield "build with a broken feed", _failing(lambda: tl.build_network(files["osm"], gtfs=[unreadable]))
    town = tl.build_network(files["osm"], gtfs=[bus], timezone="UTC")
    bare = tl.build_network(files["deleted.osm"], timezone="UTC")
    nodes, edges = bare.nodes_frame(), bare.edges_frame()
    yield "build from frames", lambda: tl.build_network((nodes, edges), timezone="UTC")
    graph = town.to_networkx()
    yield "export", lambda: (town.to_networkx(), town.nodes_frame(), town.edges_frame())
    yield "build from a graph", lambda graph=graph: tl.build_network(graph, timezone="UTC")
    saved = folder / "town.network"
    town.save(saved)
    damaged = folder / "damaged.network"
    damaged.write_bytes(saved.read_bytes()[:-40])
    yield "save", lambda: town.save(folder / "again.network")
    yield "save where nothing can be saved", _failing(lambda: town.save(folder))
    yield "load", lambda: tl.load_network(saved)
    yield "load and search", lambda: _search(tl.load_network(saved))
    yield "load what is damaged", _failing(lambda: tl.load_network(damaged))
    changes = [tl.CloseStreets(ways=[2])]
    yield "changes", lambda: _search(town.with_changes(changes))
    path = folder / "changes.json"
    yield "files of changes", lambda: (tl.save_changes(changes, path), tl.load_changes(path))


def _search(network: tl.Network) -> Any:
    return tl.time_map(network, (0.502, 0.502), travel_time=300, transportation="walking")


def searches(folder: Path) -> Iterator[tuple[str, Call]]:
    """Yield every kind of search, of a network that stays."""
    town = towns.blocks(folder)
    places = worlds.at(*((100.0 * i, 90.0 * i) for i in range(12)))
    rides = {"transportation": "public_transport", "departure_time": MOMENT}
    walk = {"transportation": "walking"}
    for name, how in {"on foot": walk, "by bus": rides}.items():
        some = {"travel_time": 900, **how}
        yield f"time_map {name}", lambda some=some: tl.time_map(town, places, **some)
        yield f"time_filter {name}", lambda some=some: tl.time_filter(town, places, places, **some)
        yield f"nearest {name}", lambda some=some: tl.nearest(town, places, places[::3], k=2, **some)
        yield f"routes {name}", lambda how=how: tl.routes(town, places[:3], places[3:6], **how)
        yield f"h3_cells {name}", lambda some=some: tl.h3_cells(town, places[:2], resolution=9, **some)
        yield f"explain {name}", lambda some=some: tl.explain(town, places[:1], places[5:6], **some)
        yield (
            f"replay {name}",
            lambda some=some: tl.replay(tl.time_map(town, places[:2], **some), town, origins=places[:2]),
        )
        yield f"interrupted {name}", lambda some=some: _interrupted(lambda: tl.time_map(town, places, **some))
    yield "distance_map", lambda: tl.distance_map(town, places, distance=900, **walk)
    yield "snap", lambda: tl.snap(town, places, **walk)
    yield "plot", lambda: _plotted(town, places)
    for name in ("matrix", "areas"):
        yield f"job of {name}", lambda name=name: _job(folder, name, town, places)


def _interrupted(call: Call) -> None:
    from traveltime_lab.runtime.interrupts import interruptible

    asked = iter(range(1000))
    with interruptible(lambda: next(asked) > 3), contextlib.suppress(tl.InterruptedSearchError):
        call()


def _plotted(network: tl.Network, places: gpd.GeoSeries) -> None:
    import matplotlib.pyplot as plt

    tl.plot(network, tl.time_map(network, places[:1], travel_time=300, transportation="walking"))
    plt.close("all")


def _job(folder: Path, name: str, network: tl.Network, places: gpd.GeoSeries) -> None:
    import shutil

    out = folder / f"{name}.parts"
    some = {"travel_time": 300, "transportation": "walking", "progress": False}
    for executor in (None, Strange()):
        if name == "matrix":
            tl.write_matrix(network, places, places, out, part_size=40, executor=executor, **some)
        else:
            tl.write_areas(network, places, out, part_size=5, executor=executor, **some)
        shutil.rmtree(out)


def service(folder: Path) -> Iterator[tuple[str, Call]]:
    """Yield requests to a service over a socket, and its start and end."""
    import httpx

    from tests.support.requests import RIGHT

    town = towns.blocks(folder)
    lng, lat = worlds.at((600.0, 600.0)).geometry.iloc[0].coords[0]
    where = {"lat": lat, "lng": lng}
    ids = {"id": "a", "coords": where}
    about: dict[str, Any] = {"id": "s", "transportation": {"type": "walking"}, "departure_time": MOMENT}
    bodies = {
        "/v4/time-map": {"departure_searches": [{**about, "coords": where, "travel_time": 300}]},
        "/v4/time-filter": {
            "locations": [ids],
            "departure_searches": [
                {**about, "departure_location_id": "a", "arrival_location_ids": ["a"], "travel_time": 300,
                 "properties": ["travel_time"]}
            ],
        },
        "/v4/nothing": {}, "/v4/time-map/fast": RIGHT["/v4/time-map/fast"],
    }  # fmt: skip

    def ask(url: Any, path: str, body: Any) -> None:
        with httpx.Client(headers=url.headers, base_url=str(url)) as client:
            client.post(path, json=body)

    def start() -> None:
        with tl.serve(town, port=0) as url:
            ask(url, "/v4/time-map", bodies["/v4/time-map"])

    yield "start and end of a service", start
    late = folder / "late.json"

    def follow() -> None:
        with tl.serve(town, port=0, updates=[late, "http://127.0.0.1:9/"], every=1) as url:
            for delay in (60, 120):
                trip = {"trip": {"trip_id": "t0"}, "delay": delay}
                message = {"header": {"timestamp": int(time.time())}, "entity": [{"id": "1", "trip_update": trip}]}
                late.write_text(json.dumps(message))
                httpx.get(f"{url}/metrics")

    yield "a service with live updates", follow
    server = tl.serve(town, port=0)
    url = server.__enter__()
    try:
        for path, body in bodies.items():
            yield f"POST {path}", lambda path=path, body=body: ask(url, path, body)
        yield "POST of what is no JSON", lambda: httpx.post(f"{url}/v4/time-map", content=b"{", headers=url.headers)
    finally:
        server.__exit__(None, None, None)


#: Groups of calls.
GROUPS: dict[str, Callable[[Path], Iterator[tuple[str, Call]]]] = {
    "readers": readers,
    "searches": searches,
    "service": service,
}


def repeat(call: Call, times: int, patience_s: float = 10.0) -> dict[str, Any]:
    """
    Call something, and then some times more; return what these calls have left behind, if anything.

    What ends in the background, such as a thread that has been told to end, has some seconds to do so.
    """
    for _ in range(3):
        call()
    before = held()
    for _ in range(times):
        call()
    deadline = time.monotonic() + patience_s
    while (left := held().beyond(before)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
