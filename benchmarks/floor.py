"""
Times of whole calls that are near what a machine can do at best: matrices, snapping, areas, nearest places, a request.

    traveltime-lab build milan.osm.pbf milan.network \
        --prepare walking driving
    python benchmarks/tiled_network.py DATA/bench/nyc nyc.network \
        --side 1 --prepare walking driving
    traveltime-lab build porto_alegre.osm.pbf porto_alegre.network \
        --gtfs gtfs_bus.zip gtfs_rail.zip \
        --prepare walking public_transport
    python benchmarks/floor.py --milan milan.network \
        --nyc nyc.network --porto-alegre porto_alegre.network

Prints medians in milliseconds, by the clock and of the processor, of all threads. Everything is computed from
coordinates, from points in GeoSeries to tables and shapes. Places lie within some 20 m of junctions, or within 400 m
of stops. "New places" are different ones for each repetition. `--lines` chooses lines by a part of their names.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import geopandas as gpd
import numpy as np
from server_size import json_body

import traveltime_lab as tl
from traveltime_lab.network.network import Network
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.context import Call, Meter
from traveltime_lab.server.endpoints.table import ENDPOINTS

#: A Tuesday of the timetable of Porto Alegre.
MOMENT = "2019-05-14T14:00"
LONG_S = 4 * 3600

Line = tuple[str, Callable[[], object]]


def places(network: Network, rng: np.random.Generator, n: int, metres: float = 20.0) -> gpd.GeoSeries:
    """Return random places near junctions."""
    tables = network.tables
    node, off = rng.integers(0, network.n_nodes, n), metres / 111_000.0
    return gpd.GeoSeries.from_xy(
        tables.node_lng[node] + rng.normal(0.0, off, n), tables.node_lat[node] + rng.normal(0.0, off, n), crs=4326
    )


def new_place(everyone: gpd.GeoSeries) -> Callable[[], gpd.GeoSeries]:
    """Return a function that returns one place after the other."""
    numbers = itertools.cycle(range(len(everyone)))

    def following() -> gpd.GeoSeries:
        at = next(numbers)
        return everyone.iloc[at : at + 1]

    return following


def of_milan(network: Network, rng: np.random.Generator) -> Iterator[Line]:
    """Yield the lines of Milan."""
    start, ends, walks = places(network, rng, 1), places(network, rng, 100_000), new_place(places(network, rng, 500))
    yield (
        "Milan, 1 x 100,000 by car",
        lambda: tl.time_filter(network, start, ends, travel_time=LONG_S, transportation="driving", form="matrix"),
    )
    yield "Milan, snap 100,000 points", lambda: tl.snap(network, ends, transportation="driving")
    yield (
        "Milan, walk of 15 minutes, new places",
        lambda: tl.time_map(network, walks(), travel_time=900, transportation="walking"),
    )
    atlas, answer = Atlas(network), next(e.answer for e in ENDPOINTS if e.path == "/v4/time-filter/fast")
    body = json_body(ends.x.to_numpy(), ends.y.to_numpy(), len(ends) - 1, ["travel_time"])
    yield "Milan, JSON request of 1 x 100,000", lambda: answer(Call(atlas, body, {}, {}, {}, "me", Meter(), None))


def of_new_york(network: Network, rng: np.random.Generator) -> Iterator[Line]:
    """Yield the lines of New York."""
    starts, ends = places(network, rng, 1_000), places(network, rng, 1_000)
    everyone, walks = places(network, rng, 100_000), new_place(places(network, rng, 500))
    middle = places(network, rng, 1)
    yield (
        "New York, 1,000 x 1,000 by car",
        lambda: tl.time_filter(network, starts, ends, travel_time=LONG_S, transportation="driving", form="matrix"),
    )
    yield (
        "New York, drive of 30 minutes, medium",
        lambda: tl.time_map(network, middle, travel_time=1_800, transportation="driving", level_of_detail="medium"),
    )
    yield (
        "New York, walk of 15 minutes, new places",
        lambda: tl.time_map(network, walks(), travel_time=900, transportation="walking"),
    )
    yield (
        "New York, five nearest of 1,000 places for 100,000",
        lambda: tl.nearest(network, everyone, ends, k=5, travel_time=1_800, transportation="driving"),
    )


def of_porto_alegre(network: Network, rng: np.random.Generator) -> Iterator[Line]:
    """Yield the lines of Porto Alegre."""
    means = {"type": "public_transport", "walking_time": 1_200, "max_changes": 3}
    stops, (west, south, east, north) = network.timetable.stops, network.bounds
    inside = stops[stops["stop_lon"].between(west, east) & stops["stop_lat"].between(south, north)]

    def near_stops(n: int) -> gpd.GeoSeries:
        at = inside.iloc[rng.integers(0, len(inside), n)]
        off = rng.uniform(-0.0036, 0.0036, (n, 2))
        return gpd.GeoSeries.from_xy(at["stop_lon"] + off[:, 0], at["stop_lat"] + off[:, 1], crs=4326).reset_index(
            drop=True
        )

    starts, ends, one = near_stops(100), near_stops(100), near_stops(1)
    rules = {"travel_time": 7_200, "transportation": means, "departure_time": MOMENT, "form": "matrix"}
    yield "Porto Alegre, transit 100 x 100", lambda: tl.time_filter(network, starts, ends, **rules)
    yield (
        "Porto Alegre, transit 100 x 100, median of 60 minutes",
        lambda: tl.time_filter(network, starts, ends, window=3_600, percentiles=(50,), properties=(), **rules),
    )
    percentile = {"window": 3_600, "percentile": 50}
    for minutes, level, median in (
        (30, "lowest", {}),
        (60, "lowest", {}),
        (60, "highest", {}),
        (60, "medium", percentile),
    ):
        yield (
            f"Porto Alegre, transit area of {minutes} minutes, {level}{', median' if median else ''}",
            lambda minutes=minutes, level=level, median=median: tl.time_map(
                network, one, travel_time=60 * minutes, transportation=means, departure_time=MOMENT,
                level_of_detail=level, **median,
            ),
        )  # fmt: skip


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cities = {"milan": of_milan, "nyc": of_new_york, "porto_alegre": of_porto_alegre}
    for name in cities:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="NETWORK")
    parser.add_argument("--lines", nargs="+", default=[""], metavar="PART", help="parts of names of lines")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    print(f"{'':60s}{'clock':>10s}{'processor':>12s}")
    for name, lines in cities.items():
        path = getattr(options, name)
        if path is None:
            continue
        for line, question in lines(tl.load_network(path, verify=False), np.random.default_rng(1)):
            if not any(part in line for part in options.lines):
                continue
            question(), question()
            seconds, used = [], []
            for _ in range(options.repeats):
                begin, began = time.perf_counter(), time.process_time()
                question()
                seconds.append(time.perf_counter() - begin)
                used.append(time.process_time() - began)
            print(
                f"{line:60s}{1e3 * statistics.median(seconds):10.1f}{1e3 * statistics.median(used):12.1f}", flush=True
            )


if __name__ == "__main__":
    main()
