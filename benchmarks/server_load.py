"""
A service under load: many clients, small and large requests mixed; errors, memory, and what SIGTERM leaves unanswered.

    python benchmarks/server_load.py milan.network --seconds 120 --clients 50
    python benchmarks/server_load.py milan.network --other milan_closed.network --reload-every 5 --processes 2

A network with a timetable also gets requests for times and distances by public transport. With ``--other`` the file of
the network is replaced by the other one and back, and SIGHUP sent, every few seconds; each answer has to be that of one
of the two. ``/ready`` and ``/metrics`` are read every second. Several processes serve the same file at ports of their
own.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import contextlib
import hashlib
import itertools
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--other", type=Path, help="network that takes the place of the first by turns")
    parser.add_argument("--reload-every", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        served = Path(folder, "served.network")
        put(options.network, served)
        command = [sys.executable, "-m", "traveltime_lab", "serve", f"city={served}", "--port", "0", "--quiet"]
        services, addresses = [], []
        for _ in range(options.processes):
            service = stack.enter_context(
                subprocess.Popen([*command, "--credentials", "me:key"], stdout=subprocess.PIPE, text=True)
            )
            stack.callback(service.send_signal, signal.SIGTERM)
            assert service.stdout is not None
            address = re.search(r"http://\S+", service.stdout.readline())
            assert address is not None
            services.append(service)
            addresses.append(address[0])
        asyncio.run(load(addresses, services, served, options))


def put(network: Path, served: Path) -> None:
    """Put a network where it is served from, in one step."""
    copy = served.with_suffix(".new")
    shutil.copyfile(network, copy)
    copy.replace(served)


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


async def load(addresses: list[str], services: list[subprocess.Popen[str]], served: Path, options: Any) -> None:
    kinds = requests(options)
    known: dict[str, set[bytes]] = collections.defaultdict(set)
    n_reloads = 0
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
                    async with session.post(dice.choice(addresses) + path, data=body, headers=headers) as response:
                        answer = hashlib.sha256(await response.read()).digest()
                        if response.status == 503 and stopping:
                            refused.append(name)
                        elif response.status != (422 if name == "wrong" else 200):
                            wrong[f"{name}: {response.status}"] += 1
                        elif answer not in known[name]:
                            wrong[f"{name}: the answer of no network"] += 1
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
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while not stopping:
                memory.append(sum(resident_mb(service.pid) for service in services))
                for path in ("/ready", "/metrics"):
                    async with session.get(random.choice(addresses) + path) as response:
                        await response.read()
                        if response.status != 200:
                            wrong[f"{path}: {response.status}"] += 1
                await asyncio.sleep(1.0)

    async def generations(session: aiohttp.ClientSession) -> list[int]:
        """Return how often each process has loaded its network."""
        found = []
        for address in addresses:
            async with session.get(f"{address}/metrics") as response:
                loads = re.search(r'^traveltime_lab_reloads_total{[^}]*"ok"[^}]*} (\S+)$', await response.text(), re.M)
                found.append(int(float(loads[1])) if loads else 0)
        return found

    async def exchange(network: Path) -> None:
        """Serve a network in place of another."""
        nonlocal n_reloads
        async with aiohttp.ClientSession(timeout=timeout) as session:
            before = await generations(session)
            put(network, served)
            for service in services:
                service.send_signal(signal.SIGHUP)
            while any(now == old for now, old in zip(await generations(session), before, strict=True)):
                await asyncio.sleep(0.05)
        n_reloads += 1

    async def alternate() -> None:
        for network in itertools.cycle([options.other, options.network]):
            await asyncio.sleep(options.reload_every)
            if stopping:
                return
            await exchange(network)

    end = 0.0
    async with aiohttp.ClientSession(timeout=timeout) as session:
        # Compile and build what is built on first use, and learn the answers.
        for network in [options.network] if options.other is None else [options.other, options.network]:
            if options.other is not None:
                await exchange(network)
            for name, path, body in kinds:
                for address in addresses:
                    async with session.post(address + path, data=body, headers=headers) as response:
                        known[name].add(hashlib.sha256(await response.read()).digest())
    n_reloads = 0
    end = time.monotonic() + options.seconds
    clients = [asyncio.create_task(client(i)) for i in range(options.clients)]
    others = [asyncio.create_task(watch())]
    if options.other is not None:
        others.append(asyncio.create_task(alternate()))
    await asyncio.sleep(options.seconds - 3.0)
    stopping = True
    for service in services:
        service.send_signal(signal.SIGTERM)
    for task in others:
        task.cancel()
    await asyncio.gather(*clients)
    for name, each in times.items():
        middle, most = 1000 * float(np.median(each)), 1000 * max(each)
        sys.stdout.write(f"{name}: {len(each)} answered, median {middle:.0f} ms, longest {most:.0f} ms\n")
    parts = [part for part in np.array_split(memory, 6) if part.size]
    mean = ", ".join(f"{part.mean():.0f}" for part in parts)
    sys.stdout.write(f"memory: {mean} MB in the six parts of the time, at most {max(memory):.0f} MB\n")
    sys.stdout.write(f"refused after SIGTERM, before they were accepted: {len(refused)}\n")
    if options.other is not None:
        differ = ", ".join(name for name, answers in known.items() if len(answers) > 1)
        sys.stdout.write(f"networks exchanged: {n_reloads} times; they differ in: {differ}\n")
    sys.stdout.write(f"errors: {dict(wrong) or 'none'}\n")


if __name__ == "__main__":
    main()
