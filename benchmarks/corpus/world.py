"""
What cases are about, under the names that their source text uses: networks, points, files and services.

Only public names of the package are used here, so that recordings can be replayed after its insides have changed.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import functools
import hashlib
import io
import os
import re
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

#: The application id and the key of all services.
PAIR = ("an id", "a key")
#: When the files of the samples were written, in seconds since 1970: 2026-01-01.
_WRITTEN_S = 1_767_225_600
#: By service: the networks, and the options of `serve`.
SERVICES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "both": ({"porto_alegre": "POA", "helsinki": "HEL"}, {"zones": True}),
    "overlapping": ({"closed": "CLOSED", "porto_alegre": "POA", "helsinki": "HEL"}, {}),
    "changed": ({"changed": "CHANGED"}, {}),
    "towns": ({"towns": "TOWNS"}, {}),
    "no_zones": ({"helsinki": "HEL"}, {}),
    "small_bodies": ({"helsinki": "HEL"}, {"body_limit": 400}),
    "few_hits": ({"helsinki": "HEL"}, {"hits_per_minute": 1}),
    "other_origins": ({"helsinki": "HEL"}, {"allow_origins": ["http://localhost:3000", "https://example.org"]}),
    "hurried": ({"helsinki": "HEL"}, {"timeout_s": 1e-6}),
    "any_origin": ({"helsinki": "HEL"}, {"allow_origins": "*"}),
}


@functools.cache
def folder() -> Path:
    """Return the folder of this process for files, which goes when the process ends."""
    held = tempfile.TemporaryDirectory(prefix="corpus-")
    atexit.register(held.cleanup)
    return Path(held.name)


def _boxed(west: float, south: float, east: float, north: float, n: int, seed: int, names: str) -> gpd.GeoDataFrame:
    """Return random points in a box, with numbers."""
    dice = np.random.default_rng(seed)
    lng, lat = dice.uniform(west, east, n).round(6), dice.uniform(south, north, n).round(6)
    people, beds = dice.integers(1, 500, n), dice.uniform(0.0, 40.0, n).round(2)
    columns = {"people": people, "beds": beds, "group": ["a", "b"] * (n // 2)}
    index = pd.Index([f"{names}{i}" for i in range(n)], name="id")
    return gpd.GeoDataFrame(columns, geometry=gpd.points_from_xy(lng, lat), index=index, crs="EPSG:4326")


def _built(name: str, timezone: str, *feeds: str) -> tl.Network:
    """
    Return the network of a sample, from copies of its files with a fixed time.

    Receipts have the time, and jobs digests of files with receipts.
    """
    copies = []
    for role in ("streets", *feeds):
        path = tl.sample_files(name)[role]
        copies.append(folder() / "samples" / name / path.name)
        copies[-1].parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copies[-1])
        os.utime(copies[-1], (_WRITTEN_S, _WRITTEN_S))
    return tl.build_network(copies[0], gtfs=copies[1:], timezone=timezone)


def _towns() -> tl.Network:
    """
    Return the made-up towns of the tests, at dates that have passed, from files with a fixed time.

    The typical day of a timetable that runs today depends on today.
    """
    from tests.support.everything import write_osm, write_timetable

    place = folder() / "towns"
    place.mkdir()
    streets, feed = write_osm(place / "towns.osm"), write_timetable(place)
    with zipfile.ZipFile(feed) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(feed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content.replace(b"20260101,20261231", b"20190501,20190514"))
    for path in (streets, feed):
        os.utime(path, (_WRITTEN_S, _WRITTEN_S))
    return tl.build_network(streets, gtfs=feed, timezone="UTC")


def _town() -> gpd.GeoDataFrame:
    """Return the places of the towns, with numbers."""
    from tests.support.everything import POINTS, at

    places = [shapely.Point(at(place)["lng"], at(place)["lat"]) for place in POINTS.values()]
    people = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0]
    return gpd.GeoDataFrame({"people": people}, geometry=places, index=list(POINTS), crs="EPSG:4326")


def _changes() -> list[Any]:
    """Return changes of streets and of the timetable."""
    return [
        tl.CloseStreets(polygon=shapely.box(-51.2290, -30.0300, -51.2270, -30.0280), modes=("driving",), name="closed"),
        tl.SetSpeed(polygon=shapely.box(-51.23, -30.05, -51.20, -30.02), factor=0.5, modes=("driving",), name="slow"),
        tl.AddStreet(
            shapely.LineString([(-51.2215, -30.0310), (-51.2150, -30.0270)]),
            speeds={"walking": 5.0, "cycling": 15.0, "driving": 40.0}, name="new street",
        ),
        tl.RemoveRoutes(["R41"]),
        tl.ShiftTrips("280", 240),
    ]  # fmt: skip


def _observed() -> pd.DataFrame:
    """Return measured trips: those of the network, a tenth longer."""
    places = tl.sample_points("helsinki")
    found = tl.time_filter(names("HEL"), places, places, travel_time=3600)
    found = found[found["origin"] != found["destination"]].dropna(subset="travel_time")
    ends = {end: places.geometry.loc[found[end]].to_numpy() for end in ("origin", "destination")}
    return pd.DataFrame(found[["travel_time"]]).assign(**ends, travel_time=found["travel_time"] * 1.1)


def _saved(name: str) -> Path:
    path = folder() / f"{name.lower()}.network"
    if not path.exists():
        names(name).save(path)
    return path


def _zones() -> pd.DataFrame:
    """Return made-up postcodes in both cities."""
    rows = [
        ("HE1 1AA", 60.1711, 24.9414), ("HE1 1AB", 60.1700, 24.9430), ("HE1 2AA", 60.1690, 24.9383),
        ("HE2 1AA", 60.1679, 24.9524), ("HE2 1AB", 61.5, 24.9524), ("PA1 1AA", -30.0276, -51.2278),
        ("PA1 1AB", -30.0300, -51.2224), ("PA1 2AA", -30.0367, -51.2161), ("PA2 1AA", -30.0580, -51.1761),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["postcode", "lat", "lng"])


def _svg(axes: Any) -> dict[str, Any]:
    """Return what a picture as SVG has: its digest, as it may have megabytes, its length and its texts."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure = getattr(axes, "figure", axes)
    with mpl.rc_context({"svg.hashsalt": "corpus", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    content = buffer.getvalue()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", content.decode())
    return {"digest": hashlib.blake2b(content, digest_size=16).hexdigest(), "bytes": len(content), "texts": texts}


def _graph(graph: Any) -> dict[str, Any]:
    """Return a networkx graph as tables."""

    def of(data: dict[str, Any]) -> list[tuple[str, str]]:
        return sorted((str(key), repr(item)) for key, item in data.items())

    nodes = [f"{node} {of(data)}" for node, data in graph.nodes(data=True)]
    edges = [f"{one} {other} {of(data)}" for one, other, data in graph.edges(data=True)]
    return {"graph": of(graph.graph), "sizes": [len(nodes), len(edges)], "nodes": nodes[:400], "edges": edges[:400]}


def _moved(table: gpd.GeoDataFrame, **shift: float) -> gpd.GeoDataFrame:
    return table.set_geometry(table.geometry.translate(**shift))


def _odd(name: str) -> Any:
    """Return an odd value of the tests by its name."""
    from tests.support.odd import VALUES

    return VALUES[name]()


#: By name: what makes it, when a case first uses it.
MADE: dict[str, Callable[[], Any]] = {
    "POA": lambda: _built("porto_alegre", "America/Sao_Paulo", "buses", "metro"),
    "HEL": lambda: _built("helsinki", "Europe/Helsinki"),
    "CHANGES": _changes,
    "CHANGED": lambda: names("POA").with_changes(names("CHANGES")),
    "CLOSED": lambda: names("POA").with_changes(
        tl.CloseStreets(polygon=shapely.box(-51.2300, -30.0320, -51.2200, -30.0260), name="centre")
    ),
    "TOWNS": _towns,
    "TOWN": _town,
    "FAR": lambda: names("TOWN").loc[["far"]],
    "HILLY": lambda: tl.add_elevation(names("POA"), tl.sample_files("porto_alegre")["elevation"]),
    "SLOWER": lambda: tl.add_speeds(names("HEL"), classes={"residential": 15.0, "primary": 25.0}),
    "PLACES": lambda: tl.sample_points("porto_alegre"),
    "A": lambda: tl.sample_points("porto_alegre").iloc[:2],
    "B": lambda: tl.sample_points("porto_alegre").iloc[2:6],
    "ONE": lambda: tl.sample_points("porto_alegre").iloc[[0]],
    "HPLACES": lambda: tl.sample_points("helsinki"),
    "HA": lambda: tl.sample_points("helsinki").iloc[:2],
    "HB": lambda: tl.sample_points("helsinki").iloc[2:6],
    "HONE": lambda: tl.sample_points("helsinki").iloc[[0]],
    "ZONES": lambda: tl.sample_points("porto_alegre", kind="zones"),
    "RANDOM": lambda: _boxed(-51.25, -30.09, -51.15, -30.01, 12, 34, "r"),
    "HRANDOM": lambda: _boxed(24.937, 60.1655, 24.952, 60.177, 20, 34, "h"),
    "NEARBY": lambda: _boxed(24.937, 60.1655, 24.952, 60.177, 6, 35, "n"),
    # In the bay, on another continent, at a street's end.
    "LOST": lambda: gpd.GeoSeries(
        gpd.points_from_xy([24.9600, 0.0, 24.9414], [60.1650, 0.0, 60.1711]),
        index=["bay", "gulf", "station"], crs="EPSG:4326",
    ),
    "TWICE": lambda: pd.concat([names("HA"), names("HA")]),
    "EMPTY": lambda: names("HPLACES").iloc[:0],
    "OBSERVED": _observed,
    "AREAS": lambda: tl.time_map(names("HEL"), names("HA"), travel_time=[200, 400], transportation="walking"),
    "CELLS": lambda: tl.h3_cells(names("HEL"), names("HA"), travel_time=400, resolution=10, transportation="walking"),
    "TIMES": lambda: tl.time_filter(names("HEL"), names("HA"), names("HB"), travel_time=900, transportation="walking"),
    "LATE": lambda: pd.DataFrame(
        {"trip_id": names("POA").trips_frame(date="2019-05-14")["trip_id"].iloc[:50], "date": "2019-05-14",
         "stop_sequence": 2, "departure_delay": 180}
    ),
    "LATER": lambda: tl.time_filter(names("SLOWER"), names("HA"), names("HB"), travel_time=300),
}  # fmt: skip
#: Functions that source text may call beside those of the packages.
CALLED: dict[str, Any] = {
    "svg": _svg, "graph": _graph, "moved": _moved, "odd": _odd, "saved": _saved, "zones": _zones,
}  # fmt: skip
_kept: dict[str, Any] = {}


def names(name: str) -> Any:
    """Return what a name of the source texts means."""
    if name not in _kept:
        with warnings.catch_warnings():  # belongs to no case
            warnings.simplefilter("ignore")
            _kept[name] = MADE[name]()
    return _kept[name]


def namespace(code: Any, own: Path) -> dict[str, Any]:
    """Return the names that a compiled source text uses; `own` is its folder."""
    found = {
        "tl": tl, "np": np, "pd": pd, "gpd": gpd, "shapely": shapely, "dt": dt, "Path": Path, "FOLDER": own, **CALLED,
    }  # fmt: skip
    waiting = [code]
    while waiting:
        each = waiting.pop()
        found |= {name: names(name) for name in each.co_names if name in MADE}
        waiting += [item for item in each.co_consts if hasattr(item, "co_names")]
    return found


def serving(name: str) -> contextlib.AbstractContextManager[Any]:
    """Return a service by its name."""
    networks, options = SERVICES[name]
    options = {**options, **({"zones": _zones()} if options.get("zones") else {})}
    made = {key: names(each) for key, each in networks.items()}
    return tl.serve(made, credentials=[("other", "pair"), PAIR], **{"idle_s": 900.0, "timeout_s": 900.0, **options})
