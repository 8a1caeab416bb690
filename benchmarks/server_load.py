"""
A service under load: many clients, small and large requests mixed; errors, memory, and what SIGTERM leaves unanswered.

    python benchmarks/server_load.py milan.network --seconds 120 --clients 50

A network with a timetable also gets requests for times and distances by public transport.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import numpy as np
from server_size import json_body, proto_body

import traveltime_lab as tl

#: Requests for each large one.
LARGE = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--stops", type=int, default=500, help="destinations of requests by timetable")
    options = parser.parse_args()
    command = [sys.executable, "-m", "traveltime_lab", "serve", str(options.network), "--port", "0", "--quiet"]
    with subprocess.Popen([*command, "--credentials", "me:key"], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        address = re.search(r"http://\S+", service.stdout.readline())
        assert address is not None
        try:
            asyncio.run(load(address[0], service, options))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


def requests(options: Any) -> list[tuple[str, str, bytes]]:
    """Return name, path and body of the kinds of request, the large ones first."""
    network = tl.load_network(options.network)
    tables = network.tables
    rng = np.random.default_rng(1)
    nodes = rng.integers(0, tables.node_lng.size, 2 * options.targets + 1)
    lng, lat = tables.node_lng[nodes], tables.node_lat[nodes]
    place = f'{{"lat":{lat[0]},"lng":{lng[0]}}}'
    shape = (
        f'{{"arrival_searches":{{"one_to_many":[{{"id":"a","coords":{place},"transportation":{{"type":"driving"}},'
        '"travel_time":600,"arrival_time_period":"weekday_morning"}]}}'
    )
    large = [
        ("large json", "/v4/time-filter/fast", json_body(lng, lat, options.targets, ["travel_time", "distance"])),
        ("large proto", "/api/v3/it/time-filter/fast/driving", proto_body(lng, lat, [1])),
    ]
    small = [
        ("matrix", "/v4/time-filter/fast", json_body(lng, lat, 20, ["travel_time"])),
        ("proto", "/api/v3/it/time-filter/fast/driving", proto_body(lng[:101], lat[:101], [])),
        ("shape", "/v4/time-map/fast", shape.encode()),
        ("wrong", "/v4/time-map", b'{"departure_searches":[{}]}'),
    ]
    if network.typical_day is not None:
        moment = f"{network.typical_day.isoformat()}T08:00:00"
        small.append(("timetable", "/v4/time-filter", timetable_body(lng, lat, options.stops, moment)))
    return [*large, *small]


def timetable_body(lng: np.ndarray, lat: np.ndarray, n: int, moment: str) -> bytes:
    """Return a request for times and distances by public transport from one place to others."""
    locations = [{"id": f"{i}", "coords": {"lat": float(lat[i]), "lng": float(lng[i])}} for i in range(n + 1)]
    search = {
        "id": "search",
        "departure_location_id": "0",
        "arrival_location_ids": [f"{i}" for i in range(1, n + 1)],
        "transportation": {"type": "public_transport"},
        "travel_time": 3600,
        "departure_time": moment,
        "properties": ["travel_time", "distance"],
    }
    return msgspec.json.encode({"locations": locations, "departure_searches": [search]})


def resident_mb(pid: int) -> float:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


async def load(address: str, service: subprocess.Popen[str], options: Any) -> None:
    kinds = requests(options)
    times: dict[str, list[float]] = collections.defaultdict(list)
    wrong: collections.Counter[str] = collections.Counter()
    refused: list[str] = []
    memory: list[float] = []
    stopping = False
    basic = base64.b64encode(b"me:key").decode()
    headers = {"X-Application-Id": "me", "X-Api-Key": "key", "Authorization": f"Basic {basic}"}
    timeout = aiohttp.ClientTimeout(total=None)

    async def client(number: int) -> None:
        dice = random.Random(number)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            while not stopping and time.monotonic() < end:
                drawn = dice.randrange(2) if dice.randrange(LARGE) == 0 else dice.randrange(2, len(kinds))
                name, path, body = kinds[drawn]
                started = time.perf_counter()
                try:
                    async with session.post(address + path, data=body, headers=headers) as response:
                        await response.read()
                        if response.status != (422 if name == "wrong" else 200):
                            wrong[f"{name}: {response.status}"] += 1
                except aiohttp.ClientConnectorError:
                    if stopping:
                        refused.append(name)
                    else:
                        wrong[f"{name}: no connection"] += 1
                except aiohttp.ClientError as error:
                    if stopping:
                        refused.append(name)
                    else:
                        wrong[f"{name}: {type(error).__name__}"] += 1
                else:
                    times[name].append(time.perf_counter() - started)

    async def watch() -> None:
        while not stopping:
            memory.append(resident_mb(service.pid))
            await asyncio.sleep(1.0)

    end = 0.0
    async with aiohttp.ClientSession() as session:
        for _, path, body in kinds:  # compile and build what is built on first use
            async with session.post(address + path, data=body, headers=headers) as response:
                await response.read()
    end = time.monotonic() + options.seconds
    clients = [asyncio.create_task(client(i)) for i in range(options.clients)]
    watcher = asyncio.create_task(watch())
    await asyncio.sleep(options.seconds - 3.0)
    stopping = True
    service.send_signal(signal.SIGTERM)
    await asyncio.gather(*clients, watcher)
    for name, each in times.items():
        middle, most = 1000 * float(np.median(each)), 1000 * max(each)
        sys.stdout.write(f"{name}: {len(each)} answered, median {middle:.0f} ms, longest {most:.0f} ms\n")
    parts = [part for part in np.array_split(memory, 6) if part.size]
    mean = ", ".join(f"{part.mean():.0f}" for part in parts)
    sys.stdout.write(f"memory: {mean} MB in the six parts of the time, at most {max(memory):.0f} MB\n")
    sys.stdout.write(f"refused after SIGTERM, before they were accepted: {len(refused)}\n")
    sys.stdout.write(f"errors: {dict(wrong) or 'none'}\n")


if __name__ == "__main__":
    main()
