"""
The service under abuse: threads, memory and times of each case, which are to be flat and bounded.

    python benchmarks/abuse.py porto_alegre.network --moment 2019-05-14T08:00:00-03:00

The network needs a timetable. Each case starts a service of its own on a free port of this machine, sends it one
request to check its health, abuses it, waits until it is quiet, and checks it again. Times are seconds until all
clients are done, processor time of the service, and seconds until it is quiet after that; threads and memory are those
of the whole process: before the abuse, the most during it, and after it. Needs Linux.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psutil

import traveltime_lab as tl
from traveltime_lab.server.protobuf import service_pb2

HEADERS = {"X-Application-Id": "me", "X-Api-Key": "key"}
MEGABYTE = 1_000_000


class Service:
    """A service in a process of its own."""

    def __init__(self, options: Any, *flags: str, descriptors: int | None = None) -> None:
        self.options = options
        command = [sys.executable, "-m", "traveltime_lab", "serve", options.network, "--port", "0", *flags]
        if descriptors is not None:
            command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]
        self.process = subprocess.Popen(
            [*command, "--credentials", "me:key"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        address = re.search(r"http://[\d.]+:(\d+)", self.process.stdout.readline())
        assert address is not None
        self.port = int(address[1])
        self.seen = psutil.Process(self.process.pid)
        self.most_threads = 0

    def ask(self, path: str, body: bytes | dict[str, Any], *, timeout: float = 300.0) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        connection = self.sent(path, body, timeout)
        response = connection.getresponse()
        found = response.read()
        connection.close()
        return response.status, found

    def sent(self, path: str, body: bytes | dict[str, Any], timeout: float = 300.0) -> http.client.HTTPConnection:
        """Send a request without waiting for its answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers: dict[str, str] = dict(HEADERS)
        if path.startswith("/api"):
            headers = {"Authorization": "Basic bWU6a2V5"}
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # answered before the end of the body
            connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)
        return connection

    def memory(self) -> float:
        """Return the memory of the process in MB."""
        return float(self.seen.memory_info().rss) / MEGABYTE

    def forget_peak(self) -> None:
        """Let the peak of memory begin anew."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def peak(self) -> float:
        """Return the highest memory since `forget_peak` in MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            (kilobytes,) = (int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        return kilobytes / 1000.0

    def settle(self, seconds: float = 60.0) -> float:
        """Wait until the process rests for half a second, and return how long that took in seconds."""
        started = time.monotonic()
        while time.monotonic() < started + seconds:
            before = self.used()
            time.sleep(0.5)
            self.watch()
            if self.used() - before < 0.05:
                break
        return max(0.0, time.monotonic() - started - 0.5)

    def used(self) -> float:
        """Return the processor time of the process in seconds."""
        times = self.seen.cpu_times()
        return float(times.user + times.system)

    def watch(self) -> None:
        """Note the number of threads."""
        self.most_threads = max(self.most_threads, self.seen.num_threads())

    def stop(self) -> tuple[float, str]:
        """Stop the service; return how long that took in seconds, and what it logged."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=120)
        return time.monotonic() - started, log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", help="saved network with a timetable")
    parser.add_argument("--moment", default="2019-05-14T08:00:00-03:00", help="within its timetable")
    parser.add_argument("--clients", type=int, default=80, help="that abandon their requests; default: %(default)s")
    parser.add_argument("--megabytes", type=int, default=100, help="of a faulty body; default: %(default)s")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    tables = tl.load_network(options.network).tables
    nodes = np.random.default_rng(1).integers(0, tables.node_lng.size, 400)
    options.places = [
        {"lat": round(float(lat), 6), "lng": round(float(lng), 6)}
        for lng, lat in zip(tables.node_lng[nodes], tables.node_lat[nodes], strict=True)
    ]
    print(f"{'case':34} {'answers':28} {'seconds':>8} {'used':>6} {'rest':>6} {'threads':>10} {'MB':>24}")
    for name in options.only:
        CASES[name](options)


@contextlib.contextmanager
def watched(name: str, service: Service) -> Iterator[list[str]]:
    """Print what a case did to a service."""
    answers: list[str] = []
    before, n_before, used = service.memory(), service.seen.num_threads(), service.used()
    service.most_threads = 0
    service.forget_peak()
    started = time.monotonic()
    yield answers
    took = time.monotonic() - started
    service.watch()
    rest = service.settle()
    used = service.used() - used
    threads = f"{n_before}, {service.most_threads}, {service.seen.num_threads()}"
    memory = f"{before:.0f}, {service.peak():.0f}, {service.memory():.0f}"
    said = ", ".join(answers)
    print(f"{name:34} {said:28} {took:8.2f} {used:6.1f} {rest:6.1f} {threads:>10} {memory:>24}", flush=True)


@contextlib.contextmanager
def running(options: Any, *flags: str, **more: Any) -> Iterator[Service]:
    """Start a service, and check that it answers before and after what is done to it."""
    service = Service(options, "--quiet", *flags, **more)
    try:
        right = {"departure_searches": [shape(options, 0)]}
        # Prepare the data that later requests share, which may take longer than a request may.
        while service.ask("/v4/time-map", right)[0] != 200:
            pass
        service.settle()
        yield service
        status, _ = service.ask("/v4/time-map", right)
        assert status == 200, status
    finally:
        took, log = service.stop()
        lines = log.strip().splitlines()
        print(f"{'':34} stopped in {took:.2f} s, {len(lines)} lines logged", *lines[:3], sep="\n    ", flush=True)


def shape(options: Any, i: int, **more: Any) -> dict[str, Any]:
    return {
        "id": str(i), "coords": options.places[i % 400], "departure_time": options.moment, "travel_time": 900,
        "transportation": {"type": "walking"}, **more,
    }  # fmt: skip


def abandoned(options: Any) -> None:
    """Send requests and hang up after two seconds: searches of windows, their shapes, routes, and what they share."""
    window = {"range": {"enabled": True, "width": 43_200, "max_results": 5}}
    ride = {"departure_time": options.moment, "travel_time": 7200, "transportation": {"type": "public_transport"}}
    names = [str(i) for i in range(300)]
    places = [{"id": name, "coords": place} for name, place in zip(names, options.places, strict=False)]

    def matrix(i: int, **more: Any) -> dict[str, Any]:
        search = {"id": "a", "departure_location_id": str(i % 300), "arrival_location_ids": names, **ride, **more}
        return {"locations": places, "departure_searches": [search]}

    kinds: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
        "ranges": ("/v4/time-filter", lambda i: matrix(i, properties=["travel_time"], **window)),
        "ranges with routes": ("/v4/time-filter", lambda i: matrix(i, properties=["route"], **window)),
        "shapes of ranges": (
            "/v4/time-map",
            lambda i: {"departure_searches": [
                shape(options, i, **ride, range={"enabled": True, "width": 43_200},
                      level_of_detail={"scale_type": "simple", "level": "highest"})
            ]},
        ),
        "routes on foot": (
            "/v4/routes",
            lambda i: {"locations": places, "departure_searches": [{
                "id": "a", "departure_location_id": str(i % 300), "arrival_location_ids": names,
                "departure_time": options.moment, "transportation": {"type": "walking"}, "properties": ["route"],
            }]},
        ),
        "rides with other walking times": (
            "/v4/time-filter",
            lambda i: matrix(i, properties=["travel_time"],
                             transportation={"type": "public_transport", "walking_time": 600 + i}),
        ),
    }  # fmt: skip
    for name, (path, request) in kinds.items():
        with running(options) as service:
            started = time.monotonic()
            status, _ = service.ask(path, request(0))
            alone = time.monotonic() - started
            service.settle()
            with watched(f"{options.clients} abandoned {name}", service) as answers:
                answers.append(f"alone {status} in {alone:.1f} s")
                held = []
                for i in range(options.clients):
                    held.append(service.sent(path, request(i)))
                    service.watch()
                time.sleep(2.0)
                service.watch()
                for connection in held:
                    connection.close()


def too_slow(options: Any) -> None:
    """Send requests that take longer than the service allows."""
    ride = {"transportation": {"type": "public_transport"}, "range": {"enabled": True, "width": 43_200}}
    with running(options, "--timeout", "2") as service, watched("80 requests over the time", service) as answers:
        requests = [
            {"departure_searches": [shape(options, 10 * i + k, travel_time=7200, **ride) for k in range(10)]}
            for i in range(80)
        ]
        with concurrent.futures.ThreadPoolExecutor(80) as pool:
            found = list(pool.map(lambda request: service.ask("/v4/time-map", request)[0], requests))
        answers += [f"{found.count(status)} x {status}" for status in sorted(set(found))]


def unions(options: Any) -> None:
    """Send unions of one id five megabytes long, and large ones of all searches."""
    with running(options) as service:
        for path, more in (("/v4/time-map", {}), ("/v4/h3", {"resolution": 9, "properties": ["mean"]})):
            searches = [shape(options, i, travel_time=3600) for i in range(10)]
            long = {"departure_searches": searches, **more, "unions": [{"id": "u", "search_ids": ["0"] * 1_000_000}]}
            body = json.dumps(long).replace(", ", ",").encode()
            with watched(f"union of one id in {path}, {len(body) / 1e6:.0f} MB", service) as answers:
                answers.append(str(service.ask(path, body)[0]))
            ids = [str(i) for i in range(10)] * 2
            wide = {
                "departure_searches": searches, **more,
                "unions": [{"id": f"u{i}", "search_ids": ids} for i in range(10)],
                "intersections": [{"id": f"i{i}", "search_ids": ids} for i in range(10)],
            }  # fmt: skip
            with watched(f"20 combinations in {path}", service) as answers:
                answers.append(str(service.ask(path, wide)[0]))


def faulty(options: Any) -> None:
    """Send bodies that are long and wrong to all kinds of endpoints."""
    n = options.megabytes * MEGABYTE - 1000
    place = b'{"id":"%d","coords":{"lat":1,"lng":1}},'
    message = service_pb2.TimeFilterFastRequest()
    message.oneToManyRequest.locationDeltas.extend([1] * 100)
    kinds = {
        "empty searches": ("/v4/time-map", b'{"departure_searches":[' + b"{}," * (n // 3) + b"{}]}"),
        "empty searches ": ("/v4/h3/fast", b'{"arrival_searches":{"one_to_many":[' + b"{}," * (n // 3) + b"{}]}}"),
        "a search of arrays": ("/v4/routes", b'{"departure_searches":[{"x":[' + b"[]," * (n // 3) + b"[]]}]}"),
        "a moment of objects": (
            "/v4/distance-map", b'{"departure_searches":[{"departure_time":[' + b"{}," * (n // 3) + b"{}]}]}",
        ),
        "one id of a union": (
            "/v4/geohash", b'{"unions":[{"id":"u","search_ids":[' + b'"a",' * (n // 4) + b'"a"]}]}',
        ),
        "empty locations": ("/v4/time-filter", b'{"locations":[' + b"{}," * (n // 3) + b"{}]}"),
        "right locations but the last": (
            "/v4/time-filter/fast", b'{"locations":[' + b"".join(place % i for i in range(n // 45)) + b"{}]}",
        ),
        "one location": ("/v4/supported-locations", b'{"locations":[' + place % 1 * (n // 40) + place[:-1] % 1 + b"]}"),
        "targets": (
            "/v4/time-filter", b'{"departure_searches":[{"arrival_location_ids":[' + b'"a",' * (n // 4) + b'"a"]}]}',
        ),
        "brackets": ("/v4/time-filter/postcodes", b"[" * n),
        "a text without end": ("/v4/time-map", b'{"departure_searches":[{"id":"' + b"a" * n),
        "message of unknown fields": ("/api/v3/uk/time-filter/fast/walking", b"\x78\x01" * (n // 2)),
        "message of single targets": ("/api/v3/uk/time-filter/fast/walking", b"\x0a\x04\x10\x02\x10\x02" * (n // 6)),
        "message, longest": ("/api/v3/uk/time-filter/fast/walking", b"\x78\x01" * 1_500_000),
        "message of single targets, longest": (
            "/api/v3/uk/time-filter/fast/walking", b"\x0a\x04\x10\x02\x10\x02" * 500_000,
        ),
    }  # fmt: skip
    with running(options) as service:
        for name, (path, body) in kinds.items():
            with watched(f"{name.strip()}, {len(body) / 1e6:.0f} MB", service) as answers:
                status, found = service.ask(path, body)
                answers.append(f"{status}, {len(found)} bytes")


def slow(options: Any) -> None:
    """Hold connections: silent ones, half a head, half a body, many of them large, answers that are not read."""
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    begin = f"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n{head}"

    def ends(connections: list[socket.socket]) -> list[str]:
        statuses = []
        for connection in connections:
            found = b""
            with contextlib.suppress(ConnectionError):
                found = connection.recv(1000)
            statuses.append(found[9:12].decode() or "closed")
            connection.close()
        return [f"{statuses.count(status)} x {status}" for status in sorted(set(statuses))]

    kinds = {"silent": "", "half a head": begin, "half a body": f"{begin}\r\n{{"}
    with running(options) as service:
        for name, text in kinds.items():
            with watched(f"200 connections, {name}", service) as answers:
                held = [socket.create_connection(("127.0.0.1", service.port), 60) for _ in range(200)]
                for connection in held:
                    connection.sendall(text.encode())
                answers += ends(held)
        with watched("40 uploads of 45 of 90 MB", service) as answers:
            part = b" " * (45 * MEGABYTE)
            held = []
            for _ in range(40):
                held.append(socket.create_connection(("127.0.0.1", service.port), 60))
                with contextlib.suppress(ConnectionError):
                    held[-1].sendall(f"{begin}\r\n".encode() + part)
            answers += ends(held)
        with watched("50 uploads that are broken off", service) as answers:
            for _ in range(50):
                with socket.create_connection(("127.0.0.1", service.port), 60) as connection:
                    connection.sendall(f"{begin}\r\n{{".encode())
        held = [socket.create_connection(("127.0.0.1", service.port), 60) for _ in range(20)]
        for connection in held:
            connection.sendall(f"{begin}\r\n{{".encode())
        # The next thing is to stop, with these still open: see how long it takes.


def descriptors(options: Any) -> None:
    """Open more connections than the process may have files."""
    name = "400 connections, 128 descriptors"
    with running(options, descriptors=128) as service, watched(name, service) as answers:
        held = [socket.create_connection(("127.0.0.1", service.port), 60) for _ in range(400)]
        time.sleep(1.0)
        request = json.dumps({"departure_searches": [shape(options, 0)]}).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        text = f"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nContent-Length: {len(request)}\r\n{head}\r\n"
        statuses = []
        for connection in held:
            found = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(text.encode() + request)
                found = connection.recv(1000)
            statuses.append(found[9:12].decode() or "closed")
            connection.close()
        answers += [f"{statuses.count(status)} x {status}" for status in sorted(set(statuses))]


def forks(options: Any) -> None:
    """Search, fork, and search in the children, while threads of the parent search, too."""
    script = f"""
        import os, threading, time
        import traveltime_lab as tl
        network = tl.load_network({options.network!r})
        places = {[(place["lng"], place["lat"]) for place in options.places[:40]]!r}
        def search():
            tl.time_map(network, places[:2], travel_time=900, transportation="walking")
            return tl.time_filter(network, places, places, travel_time=900).to_csv()
        right = search()
        is_over = threading.Event()
        def go_on():
            while not is_over.is_set():
                search()
        others = [threading.Thread(target=go_on) for _ in range(4)]
        [other.start() for other in others]
        codes = []
        for _ in range(20):
            pid = os.fork()
            if not pid:
                os._exit(0 if search() == right else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        is_over.set()
        [other.join() for other in others]
        print(codes.count(0), "of 20")
    """
    started = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=600, env=dict(os.environ), check=False,
    )  # fmt: skip
    said = found.stdout.strip() or found.stderr.strip()[-200:]
    print(f"{'20 forks beside four threads':34} {said:28} {time.monotonic() - started:8.2f}", flush=True)


CASES: dict[str, Callable[[Any], None]] = {
    "abandoned": abandoned, "too_slow": too_slow, "unions": unions, "faulty": faulty, "slow": slow,
    "descriptors": descriptors, "forks": forks,
}  # fmt: skip

if __name__ == "__main__":
    main()
