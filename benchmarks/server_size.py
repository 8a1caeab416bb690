"""
Time inside a service for one large request: engine, validation and encoding apart, JSON and Protocol Buffers.

    python benchmarks/server_size.py milan.network

With ``--cpu`` the time of the working thread is measured instead of the clock's, for machines that have other work too;
the engine's own threads are not in it.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np

import traveltime_lab as tl
from traveltime_lab.kernels import varints
from traveltime_lab.server import context
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.context import Answer, Call, Meter
from traveltime_lab.server.contract import requests
from traveltime_lab.server.endpoints.table import ENDPOINTS
from traveltime_lab.server.protobuf import endpoints

REPEATS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("--targets", type=int, default=100_000, help="of the JSON request; twice as many by protobuf")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        context.time = SimpleNamespace(perf_counter=time.thread_time)
    atlas = Atlas(tl.load_network(options.network))
    tables = atlas.maps[0].network.tables
    rng = np.random.default_rng(1)
    nodes = rng.integers(0, tables.node_lng.size, 2 * options.targets + 1)
    lng = tables.node_lng[nodes] + rng.uniform(-1e-3, 1e-3, nodes.size)
    lat = tables.node_lat[nodes] + rng.uniform(-1e-3, 1e-3, nodes.size)
    middle = int(np.argmin((lng - np.median(lng)) ** 2 + (lat - np.median(lat)) ** 2))
    lng[[0, middle]], lat[[0, middle]] = lng[[middle, 0]], lat[[middle, 0]]

    answer = next(e.answer for e in ENDPOINTS if e.path == "/v4/time-filter/fast")
    for properties in (["travel_time"], ["travel_time", "distance"]):
        body = json_body(lng, lat, options.targets, properties)
        measure(f"JSON, {options.targets:,} targets, {'+'.join(properties)}", atlas, body, answer, {})
    small(atlas, json_body(lng, lat, 20, ["travel_time"]), answer)
    matrix = endpoints.ENDPOINTS["/{country}/time-filter/fast/{mode}"].answer
    for properties in ([], [1]):
        body = proto_body(lng, lat, properties)
        name = f"protobuf, {2 * options.targets:,} targets, {'distances' if properties else 'times'}"
        measure(name, atlas, body, matrix, {"country": "it", "mode": "driving"})


def json_body(lng: np.ndarray, lat: np.ndarray, n: int, properties: list[str]) -> bytes:
    """Return a fast matrix request as a client would send it."""
    locations = [
        requests.Location(f"location-{i}", requests.Coords(float(lat[i]), float(lng[i]))) for i in range(n + 1)
    ]
    search = {
        "id": "search",
        "departure_location_id": "location-0",
        "arrival_location_ids": [f"location-{i}" for i in range(1, n + 1)],
        "transportation": {"type": "driving"},
        "travel_time": 3600,
        "arrival_time_period": "weekday_morning",
        "properties": properties,
    }
    return msgspec.json.encode({"locations": locations, "arrival_searches": {"one_to_many": [search]}})


def proto_body(lng: np.ndarray, lat: np.ndarray, properties: list[int]) -> bytes:
    """Return a matrix message."""

    def field(number: int, data: bytes) -> bytes:
        size, out = len(data), bytearray([number << 3 | 2])
        while size > 127:
            out.append(size & 127 | 128)
            size >>= 7
        return bytes(out) + bytes([size]) + data

    deltas = np.empty(2 * (lng.size - 1), np.int64)
    deltas[0::2] = np.round((lat[1:] - lat[0]) * 1e5)
    deltas[1::2] = np.round((lng[1:] - lng[0]) * 1e5)
    packed = np.empty(10 * deltas.size, np.uint8)
    packed = packed[: varints.encode(deltas, True, packed)]
    place = b"\x0d" + np.float32(lat[0]).tobytes() + b"\x15" + np.float32(lng[0]).tobytes()
    search = field(1, place) + field(2, packed.tobytes()) + field(3, b"\x08\x01") + b"\x28" + bytes([0xA0, 0x38])
    return field(1, search + (field(6, bytes(properties)) if properties else b""))


def measure(name: str, atlas: Atlas, body: bytes, answer: Callable[[Call], Answer], path: dict[str, str]) -> None:
    """Print the median time of each part."""
    laps: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        gc.collect()
        call = Call(atlas, body, {}, path, {}, "me", Meter(), None)
        started = time.perf_counter()
        found = answer(call)
        call.laps["all"] = time.perf_counter() - started
        for part, seconds in call.laps.items():
            laps.setdefault(part, []).append(seconds)
    parts = ", ".join(f"{part} {1000 * float(np.median(seconds[1:])):.0f} ms" for part, seconds in laps.items())
    around = float(np.median(np.add(laps["validate"], laps["encode"])[1:]))
    sys.stdout.write(
        f"{name}: {len(body) / 1e6:.1f} MB in, {len(found.body) / 1e6:.1f} MB out; {parts}; "
        f"validation and encoding {1000 * around:.0f} ms\n"
    )


def small(atlas: Atlas, body: bytes, answer: Callable[[Call], Answer], n: int = 400) -> None:
    """Print what a small request takes at first, and once many of them have had a hierarchy built in the background."""
    times = []
    for _ in range(n):
        started = time.perf_counter()
        answer(Call(atlas, body, {}, {}, {}, "me", Meter(), None))
        times.append(1000.0 * (time.perf_counter() - started))
    first, last = np.median(times[1:21]), np.median(times[-20:])
    sys.stdout.write(f"JSON, 20 targets, travel_time: {first:.1f} ms at first, {last:.1f} ms after {n} of them\n")


if __name__ == "__main__":
    main()
