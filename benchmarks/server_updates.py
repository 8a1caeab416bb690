"""
A service under load while live updates come every second: errors, mixed answers, memory.

    python benchmarks/server_updates.py city.network --seconds 300 --processes 2

The file of updates is replaced by random messages by turns: delays and cancellations of many trips, and none at all.
Every third time it is broken first. Each answer has to be the one of the planned network or of one of the messages,
which `time_filter` and `routes` gave beforehand. A request has several searches, so that a mixture of two networks
would be seen. Several processes are services of their own that read the same file.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import requests
import shapely
from server_load import resident_mb

import traveltime_lab as tl

HEADERS = {"X-Application-Id": "me", "X-Api-Key": "key"}
#: Searches of a request.
SEARCHES = 4
LIMIT_S = 3600


def message(network: tl.Network, number: int, n_trips: int) -> bytes:
    """Return a message about random trips of the typical day; the first is about none."""
    dice, date = random.Random(number), f"{network.typical_day:%Y%m%d}"
    trips = (
        network.trips_frame(date=str(network.typical_day)).query("25_000 < departure_s < 36_000")["trip_id"].tolist()
    )
    updates: list[dict[str, Any]] = []
    for trip in dice.sample(trips, min(n_trips, len(trips))) if number else []:
        named = {"trip_id": trip, "start_date": date}
        if dice.random() < 0.2:
            updates.append({"trip": {**named, "schedule_relationship": "CANCELED"}})
        else:
            updates.append({"trip": named, "delay": dice.randrange(0, 900)})
    entities = [{"id": str(i), "trip_update": each} for i, each in enumerate(updates)]
    return at_second(0, json.dumps({"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}).encode())


def at_second(number: int, content: bytes) -> bytes:
    """Return a message of some second: one that is older than the last one would be passed over."""
    found = json.loads(content)
    found["header"]["timestamp"] = 1_700_000_000 + number
    return json.dumps(found).encode()


class Questions:
    """Requests, and the answers that the library gives."""

    def __init__(self, network: tl.Network, n_places: int) -> None:
        rng = np.random.default_rng(1)
        nodes = rng.integers(0, network.tables.node_lng.size, SEARCHES + n_places)
        self.points = [
            shapely.Point(network.tables.node_lng[node], network.tables.node_lat[node]) for node in nodes.tolist()
        ]
        self.moment = f"{network.typical_day}T08:00:00"
        zoned = pd.Timestamp(self.moment, tz=network.timezone).isoformat()
        self.places = [
            {"id": str(i), "coords": {"lat": point.y, "lng": point.x}} for i, point in enumerate(self.points)
        ]
        self.bodies = {}
        for path, others in (("time-filter", n_places), ("routes", 2)):
            searches = [
                {
                    "id": str(i),
                    "departure_location_id": str(i),
                    "arrival_location_ids": [str(SEARCHES + j) for j in range(others)],
                    "departure_time": zoned,
                    "transportation": {"type": "public_transport"},
                    "properties": ["travel_time", "distance"],
                    **({"travel_time": LIMIT_S} if path == "time-filter" else {}),
                }
                for i in range(SEARCHES)
            ]
            self.bodies[path] = json.dumps({"locations": self.places, "departure_searches": searches}).encode()

    def answers(self, network: tl.Network) -> dict[str, bytes]:
        """Return what the library finds, in the form of `answer`."""
        places = gpd.GeoSeries(self.points, crs="EPSG:4326")
        starts, ends = places.iloc[:SEARCHES], places.iloc[SEARCHES:]
        how: dict[str, Any] = {
            "transportation": "public_transport", "departure_time": self.moment,
            "properties": ["travel_time", "distance"],
        }  # fmt: skip
        found = {
            "time-filter": tl.time_filter(network, starts, ends, travel_time=LIMIT_S, **how),
            "routes": tl.routes(network, starts, ends.iloc[:2], **how),
        }
        texts = {}
        for path, table in found.items():
            rows = [
                (int(row.origin), int(row.destination), int(row.travel_time), int(np.floor(row.distance + 0.5)))
                for row in table[table["travel_time"].notna()].itertuples()
            ]
            texts[path] = repr(sorted(rows)).encode()
        return texts


def answer(body: dict[str, Any]) -> bytes:
    """Return the travel times and distances of an answer of the service."""
    rows = [
        (int(result["search_id"]), int(location["id"]), *location["properties"][0].values())
        for result in body["results"]
        for location in result["locations"]
    ]
    return repr(sorted(rows)).encode()


def put(path: Path, content: bytes) -> None:
    """Replace a file in one step."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--messages", type=int, default=8)
    parser.add_argument("--trips", type=int, default=1000, help="trips of a message")
    parser.add_argument("--places", type=int, default=50, help="destinations of a search")
    options = parser.parse_args()
    network = tl.load_network(options.network)
    contents = [message(network, number, options.trips) for number in range(options.messages)]
    questions = Questions(network, options.places)
    known: dict[str, dict[bytes, list[int]]] = {path: {} for path in questions.bodies}
    for number, content in enumerate(contents):
        state = network.with_updates(content) if number else network
        for path, text in questions.answers(state).items():
            known[path].setdefault(text, []).append(number)
    for path, texts in known.items():
        print(f"{path}: {len(contents)} states have {len(texts)} different answers", flush=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        file = Path(folder, "updates.json")
        put(file, contents[0])
        command = [
            sys.executable, "-m", "traveltime_lab", "serve", f"city={options.network}", "--port", "0", "--quiet",
            "--credentials", "me:key", "--updates", str(file), "--every", "1", "--max-age", "inf",
            "--idle-timeout", "3600",  # clients reuse connections, which the service may be about to close
        ]  # fmt: skip
        services, addresses = [], []
        for _ in range(options.processes):
            service = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(service.send_signal, signal.SIGTERM)
            assert service.stdout is not None
            address = re.search(r"http://\S+", service.stdout.readline())
            assert address is not None
            services.append(service)
            addresses.append(address[0])
        load(questions, known, contents, file, addresses, services, options)


def load(
    questions: Questions,
    known: dict[str, dict[bytes, list[int]]],
    contents: list[bytes],
    file: Path,
    addresses: list[str],
    *more: Any,
) -> None:
    """Send requests while the file changes, and print what happened."""
    services, options = more
    for address in addresses:
        while not requests.get(f"{address}/health", timeout=60).json()["updates"][0]["in_use"]:
            time.sleep(0.1)
        for path, body in questions.bodies.items():
            requests.post(f"{address}/v4/{path}", data=body, headers=HEADERS, timeout=300).raise_for_status()
    faults: collections.Counter[str] = collections.Counter()
    seen: dict[str, collections.Counter[int]] = {path: collections.Counter() for path in questions.bodies}
    slowest, memory, is_over = [0.0], [], threading.Event()

    def client(seed: int) -> None:
        dice = random.Random(seed)
        with requests.Session() as session:
            while not is_over.is_set():
                path = dice.choice([*questions.bodies])
                begun = time.perf_counter()
                try:
                    response = session.post(
                        f"{dice.choice(addresses)}/v4/{path}", data=questions.bodies[path], headers=HEADERS, timeout=60
                    )
                    if response.status_code != 200:
                        faults[f"{path}: {response.status_code}"] += 1
                    elif (text := answer(response.json())) in known[path]:
                        seen[path][known[path][text][0]] += 1
                    else:
                        faults[f"{path}: the answer of no state"] += 1
                except requests.RequestException as error:
                    faults[f"{path}: {type(error).__name__}"] += 1
                slowest[0] = max(slowest[0], time.perf_counter() - begun)

    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(options.clients)]
    for each in clients:
        each.start()
    end, number = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        number += 1
        content = at_second(number, contents[number % len(contents)])
        if number % 3 == 0:
            put(file, content[: len(content) // 2])
            time.sleep(0.3)
        put(file, content)
        time.sleep(0.7 if number % 3 == 0 else 1.0)
        memory.append(sum(resident_mb(service.pid) for service in services))
        for address in addresses:
            if requests.get(f"{address}/health", timeout=60).status_code != 200:
                faults["/health"] += 1
    is_over.set()
    for each in clients:
        each.join()
    for path, counts in seen.items():
        print(f"{path}: {counts.total()} right answers, by state {dict(sorted(counts.items()))}")
    for address in addresses:
        (found,) = requests.get(f"{address}/health", timeout=60).json()["updates"]
        looks = re.findall(
            r'updates_looks_total\{.*outcome="(\w+)"\} (\d+)', requests.get(f"{address}/metrics", timeout=60).text
        )
        print(f"{address}: {found['status']}, looks {dict(looks)}")
    parts = [part for part in np.array_split(memory, 6) if part.size]
    mean = ", ".join(f"{part.mean():.0f}" for part in parts)
    print(f"{number} messages in {options.seconds:.0f} s; slowest answer {slowest[0]:.1f} s")
    print(f"memory: {mean} MB in the six parts of the time, at most {max(memory):.0f} MB")
    print(f"errors: {dict(faults) or 'none'}")


if __name__ == "__main__":
    main()
