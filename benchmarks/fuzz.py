"""
100,000 random cases over HTTP, Protocol Buffers, saved files, feeds and the library's arguments; one table of faults.

    python benchmarks/fuzz.py [--cases 100000] [--parts http protobuf ...] [--seed 1] [--patience 60]

Each part runs in a process of its own that notes which case it is at, so that a process that dies is a crash and one
that stands still is a hang, and the part continues with the next case. A case is generated from seed, part and number
alone: `--only http:1234` runs one again and shows it. Faults are:

- crash: the process ends;
- 5xx: an answer of the service with such a status (or none at all to a whole request);
- hang: a case takes longer than the patience (library calls: 20 s, as in the tests);
- exception: one that is not of the library's error tree, or a warning;
- silent difference: an answer that is wrong or differs from that to the same question in a different form. The service
is
  held against the library and against the same JSON in another order; a damaged file may load only if it answers as
  the whole one; a feed that is read must be the same when saved and loaded; no answer is negative or beyond its limit.

Exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import copy
import functools
import http.client
import itertools
import json
import mmap
import multiprocessing
import os
import random
import socket
import struct
import sys
import tempfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import traveltime_lab as tl
from traveltime_lab.errors import TravelTimeError

KINDS = ("crash", "5xx", "hang", "exception", "silent difference")
SHARES = {"http": 0.3, "protobuf": 0.25, "files": 0.2, "feeds": 0.1, "library": 0.15}
#: Where the towns of the tests lie; requests for the sample of Helsinki are moved there.
TOWN = (0.5, 0.498, 0.502, 0.522)
PAIR = ("an id", "a key")
ODD_JSON = [
    None, True, False, 0, 1, -1, 5, 0.5, -0.0, 300, 14_400, 14_401, 2**31, 2**63, -(2**63), 10**400, 1e308, 1e-320, "",
    " ", "a", "p1", "a" * 5000, "\0", "\ud800", "🚌", "é", "nan", "NaN", "2026-03-02T08:00:00Z", "2026-03-02",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "2026-03-02T08:00:00+99:00",
    "weekday_morning", "walking", "driving", "cycling", "public_transport", "driving+public_transport", "ferry", "bus",
    "train", "walking+ferry", "coach", "travel_time", "distance", "route", "fares", "mean", "simple", "medium",
    "highest", [], {}, [[]], [{}], [None], {"": None}, ["travel_time", "distance", "route"], {"lat": 0.5, "lng": 0.5},
    {"lat": 91, "lng": 181}, {"lat": 1e400, "lng": "0"}, {"type": "walking"}, {"enabled": True, "width": 3600},
    {"type": "public_transport", "max_changes": {"enabled": True, "limit": 0}}, {"h3_centroid": "8a1fb46622dffff"},
    {"geohash_centroid": "s00000"}, {"type": "driving", "traffic_model": "pessimistic"}, {"level": "lowest"},
    {"scale_type": "coarse_grid", "square_size": 600}, ["a"] * 300, functools.reduce(lambda x, _: [x], range(60), 1),
]  # fmt: skip


# The service ----------------------------------------------------------------------------------------------------------


class Service:
    """A service of the town of the tests on a free port of this machine, and the library's answers about it."""

    def __init__(self, folder: Path) -> None:
        from tests.test_fuzz import make_world

        self.world = make_world(folder)
        self.serving = tl.serve(self.world.network, credentials=[PAIR], timeout_s=20.0, idle_s=30.0)
        self.url = self.serving.__enter__()
        self.line: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """Return status and body of an answer; status 0 is no answer at all."""
        for _ in range(2):  # a connection that the service closed meanwhile is opened again, once
            if self.line is None:
                self.line = http.client.HTTPConnection(self.url.host, self.url.port, timeout=120)
            try:
                self.line.request(method, path, body, headers)
                answer = self.line.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionError):
                self.line = None
        return 0, b""

    def asked(self, path: str, content: Any, accept: str = "application/json") -> tuple[int, bytes]:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        names = {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1], "Accept": accept}
        return self.ask("POST", path, body, names | {"Content-Type": "application/json"})

    def proto(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send bytes to an endpoint of Protocol Buffers."""
        return self.ask("POST", path, body, {"Authorization": "Basic YW4gaWQ6YSBrZXk="})

    def raw(self, data: bytes) -> bytes:
        """Send bytes, say that there will be no more, and return all that comes back."""
        answer = b""
        with socket.create_connection((self.url.host, self.url.port), 60) as line:
            try:
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
                while part := line.recv(65_536):
                    answer += part
            except ConnectionError:
                pass
        return answer


def moved(content: Any, dice: random.Random) -> Any:
    """Return a request with the coordinates of the sample replaced by some of the town."""
    if isinstance(content, dict):
        if content.keys() == {"lat", "lng"}:
            south, west, north, east = TOWN
            return {"lat": round(dice.uniform(south, north), 6), "lng": round(dice.uniform(west, east), 6)}
        return {key: moved(value, dice) for key, value in content.items()}
    return [moved(value, dice) for value in content] if isinstance(content, list) else content


def owners(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all places of a request, as an object or array and a key of it."""
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield content, key
            yield from owners(content[key])


def changed(content: Any, dice: random.Random) -> None:
    """Make one to three changes to a request."""
    for _ in range(dice.randint(1, 3)):
        places = list(owners(content))
        if not places:
            return
        owner, key = dice.choice(places)
        kind = dice.randrange(8)
        if kind < 4:
            # A copy, because the next change may be to it.
            owner[key] = copy.deepcopy(dice.choice(ODD_JSON))
        elif kind == 4:
            other, name = dice.choice(places)
            owner[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else None))
        elif kind == 5 and isinstance(owner, dict):
            owner[dice.choice(["unknown", "transportation", "snapping", "range", "coords", "", "level_of_detail"])] = (
                copy.deepcopy(dice.choice(ODD_JSON))
            )
        elif kind == 6 and isinstance(owner, list):
            owner.extend(copy.deepcopy(owner[key]) for _ in range(dice.choice([1, 3, 200])))
        else:
            del owner[key]


def broken(data: bytes, dice: random.Random) -> bytes:
    """Return bytes with some replaced, put in, doubled or cut off."""
    out = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(out) + 1)
        kind = dice.randrange(5)
        if kind == 0 and at < len(out):
            out[at] = dice.randrange(256)
        elif kind == 1 and at < len(out):
            out[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            out[at:at] = dice.randbytes(dice.choice([1, 2, 10]))
        elif kind == 3:
            out[at:at] = out[at : at + dice.randint(1, 40)]
        else:
            del out[at : at + dice.choice([1, 5, len(out)])]
    return bytes(out)


def reordered(content: Any, dice: random.Random) -> Any:
    """Return the same request with other orders of keys."""
    if isinstance(content, dict):
        keys = dice.sample(list(content), len(content))
        return {key: reordered(content[key], dice) for key in keys}
    return [reordered(value, dice) for value in content] if isinstance(content, list) else content


def checked(status: int, body: bytes) -> tuple[str, str] | None:
    """Return what is wrong with an answer in JSON."""
    if status == 0:
        return "5xx", "no answer"
    if status >= 500:
        return "5xx", f"{status} {body[:300]!r}"
    try:
        content = json.loads(body, parse_constant=lambda name: 1 / 0) if body else {}
    except (ValueError, ZeroDivisionError):
        return "silent difference", f"{status}, not JSON: {body[:200]!r}"
    if status >= 400 and content.get("http_status") != status:
        return "silent difference", f"{status}, but the body has a different status: {body[:200]!r}"
    for owner, key in owners(content):
        is_amount = key in ("travel_time", "distance", "min", "max", "mean") and isinstance(owner[key], int | float)
        if is_amount and owner[key] < 0:
            return "silent difference", f"{key} is {owner[key]}"
    return None


def http_part(folder: Path) -> Callable[[random.Random], tuple[str, str] | None]:
    """Requests in JSON and as queries, right ones, spoiled ones, and bytes on the socket."""
    from tests.support.requests import QUERIES, RIGHT

    service = Service(folder)

    def case(dice: random.Random) -> tuple[str, str] | None:
        kind = dice.choices(["json", "bytes", "query", "socket", "order", "library"], [9, 3, 3, 1, 1, 2])[0]
        path = dice.choice(sorted(RIGHT))
        content = moved(json.loads(json.dumps(RIGHT[path])), dice)
        if kind == "library":
            return like_the_library(service, dice)
        if kind == "order":
            answers = [service.asked(path, content), service.asked(path, reordered(content, dice))]
            same = json.dumps(content, indent=3).replace('"coords"', '"\\u0063oords"').encode()
            answers.append(service.asked(path, same))
            if len(set(answers)) > 1:
                return "silent difference", f"{path}: the order of keys matters: {content}"
            return checked(*answers[0])
        if kind == "query":
            path = dice.choice(sorted(QUERIES))
            asked = {**QUERIES[path]}
            for _ in range(dice.randint(0, 3)):
                asked[dice.choice([*asked, "lat", "limit", "x"])] = dice.choice(ODD_JSON)
            text = urllib.parse.urlencode(asked, errors="replace")
            names = {"X-Application-Id": PAIR[0], "X-Api-Key": PAIR[1]}
            return checked(*service.ask("GET", f"{path}?{text[:60_000]}", None, names))
        if kind == "socket":
            body = json.dumps(content).encode()
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nX-Application-Id: an id\r\nX-Api-Key: a key\r\n"
            answer = service.raw(broken(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, dice))
            status = int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 400
            return ("5xx", repr(answer[:300])) if status >= 500 else None
        if kind == "json":
            changed(content, dice)
        body = json.dumps(content).encode()
        return checked(*service.asked(path, broken(body, dice) if kind == "bytes" else body))

    return case


def like_the_library(service: Service, dice: random.Random) -> tuple[str, str] | None:
    """Compare a random right request with the library's answer."""
    moment = f"2026-03-{dice.randint(1, 28):02d}T{dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}:00Z"
    mode = dice.choice(["walking", "cycling", "driving", "public_transport"])
    limit, back = dice.randint(60, 5000), dice.random() < 0.5
    when = "arrival_time" if back else "departure_time"
    south, west, north, east = TOWN
    places = [(dice.uniform(south, north), dice.uniform(west, east)) for _ in range(dice.randint(2, 6))]
    ids = [f"t{i}" for i in range(1, len(places))]
    single, several = ("arrival_location_id", "departure_location_ids") if back else (
        "departure_location_id", "arrival_location_ids",
    )  # fmt: skip
    search = {
        "id": "s", single: "t0", several: ids, when: moment, "travel_time": limit, "transportation": {"type": mode},
        "properties": ["travel_time"],
    }  # fmt: skip
    listed = [{"id": f"t{i}", "coords": {"lat": lat, "lng": lng}} for i, (lat, lng) in enumerate(places)]
    name = "arrival_searches" if back else "departure_searches"
    status, body = service.asked("/v4/time-filter", {"locations": listed, name: [search]})
    if status != 200:
        return "silent difference", f"a right request is refused: {status} {body[:300]!r}"
    (result,) = json.loads(body)["results"]
    found = {place["id"]: place["properties"][0]["travel_time"] for place in result["locations"]}
    ends = series(places[:1]), series(places[1:])
    table = tl.time_filter(
        service.world.network, *(reversed(ends) if back else ends), travel_time=limit, transportation=mode,
        form="matrix", **{when: moment},
    )  # fmt: skip
    times = table.to_numpy(np.float64, na_value=np.nan).ravel()
    wanted = {f"t{i}": int(seconds) for i, seconds in enumerate(times, 1) if np.isfinite(seconds)}
    return None if found == wanted else ("silent difference", f"{found}, the library has {wanted}: {search}, {listed}")


def series(places: list[tuple[float, float]]) -> gpd.GeoSeries:
    lat, lng = zip(*places, strict=True)
    return gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")


def protobuf_part(folder: Path) -> Callable[[random.Random], tuple[str, str] | None]:
    """Messages that are right, have odd values, or are broken."""
    from tests.support.protobuf import matrix_message
    from traveltime_lab.server.protobuf import service_pb2

    service = Service(folder)
    means = {0: "public_transport", 1: "driving", 4: "walking", 5: "cycling"}
    odd = [0, 1, -1, 5, 999, 2**31 - 1, -(2**31), 100_000, -100_000, 14_401]

    def case(dice: random.Random) -> tuple[str, str] | None:
        south, west, north, east = TOWN
        places = [(dice.uniform(south, north), dice.uniform(west, east)) for _ in range(dice.randint(1, 9))]
        kind = dice.choice(["right", "right", "values", "values", "bytes", "bytes", "bytes", "noise"])
        way = dice.choice(["oneToManyRequest", "manyToOneRequest"])
        number, limit = dice.choice(list(means)), dice.randint(1, 4000)
        message = matrix_message(
            way,
            place=places[0],
            targets=places[1:],
            type=number,
            travelTime=limit,
            properties=[1][: dice.randint(0, 1)],
        )
        search = getattr(message, way)
        if kind == "values":
            for _ in range(dice.randint(1, 3)):
                field = dice.choice(["travelTime", "type", "deltas", "properties", "place", "more"])
                if field == "travelTime":
                    search.travelTime = dice.choice(odd)
                elif field == "type":
                    search.transportation.type = dice.choice([2, 3, 6, 7, 8, 99, -1])
                elif field == "deltas":
                    search.locationDeltas.extend(dice.choices(odd, k=dice.randint(1, 7)))
                elif field == "properties":
                    search.properties.append(dice.choice([0, 1, 2, 77]))
                elif field == "place":
                    location = search.departureLocation if way == "oneToManyRequest" else search.arrivalLocation
                    location.lat = dice.choice([0.5, 91.0, float("nan"), float("inf"), -1e30])
                else:
                    search.transportation.publicTransport.walkingTimeToStation.value = dice.choice(
                        [0, 1, 900, 2**32 - 1]
                    )
        data = message.SerializeToString()
        if kind == "bytes":
            data = broken(data, dice)
        elif kind == "noise":
            data = dice.randbytes(dice.randint(0, 200))
        kind_of_path = (
            means.get(number, "walking") if kind == "right" or dice.random() < 0.7 else dice.choice(["x", "ferry"])
        )
        country = dice.choice(["uk", "gb", "xx", ""]) if kind == "noise" else "uk"
        path = f"/api/v3/{country}/time-filter/fast/{kind_of_path.replace('public_transport', 'pt')}"
        if kind != "right" and dice.random() < 0.2:
            path = f"/api/v3/uk/{dice.choice(['h3', 'geohash', 'time-filter'])}/fast/walking"
        status, body = service.proto(path, data)
        if status == 0 or status >= 500:
            return "5xx", f"{status} {body[:300]!r} {path} {data!r}"
        if kind != "right":
            if status == 200 and "time-filter" in path:
                times = service_pb2.TimeFilterFastResponse.FromString(body).properties.travelTimes
                if any(seconds < -1 or seconds > 86_400 for seconds in times):
                    return "silent difference", f"{list(times)}"
            return None
        return right_message(service, dice, message, data, (status, body), path)

    def right_message(
        service: Service, dice: random.Random, message: Any, data: bytes, answer: tuple[int, bytes], path: str
    ) -> tuple[str, str] | None:
        """Hold an answer against the same message with an unknown field and against JSON."""
        if answer[0] != 200:
            return "silent difference", f"a right message is refused: {answer} {path}"
        again = service.proto(path, data + b"\xfa\x3f\x03abc")
        if again != answer:
            return "silent difference", f"an unknown field matters: {data!r}"
        way = message.WhichOneof("request") if message.DESCRIPTOR.oneofs else (
            "oneToManyRequest" if message.HasField("oneToManyRequest") else "manyToOneRequest"
        )  # fmt: skip
        search = getattr(message, way)
        back = way == "manyToOneRequest"
        location = search.arrivalLocation if back else search.departureLocation
        deltas = np.array(search.locationDeltas, dtype=np.int64).reshape(-1, 2) / 1e5
        if not len(deltas):
            return None
        places = [(location.lat, location.lng), *((location.lat + a, location.lng + b) for a, b in deltas)]
        listed = [{"id": f"t{i}", "coords": {"lat": lat, "lng": lng}} for i, (lat, lng) in enumerate(places)]
        ids = [place["id"] for place in listed[1:]]
        single, several = ("arrival_location_id", "departure_location_ids") if back else (
            "departure_location_id", "arrival_location_ids",
        )  # fmt: skip
        request = {
            "id": "s", single: "t0", several: ids, "travel_time": search.travelTime,
            "transportation": {"type": means[search.transportation.type]}, "properties": ["travel_time"],
            "arrival_time_period": "weekday_morning",
        }  # fmt: skip
        content = {"locations": listed, "arrival_searches": {"many_to_one" if back else "one_to_many": [request]}}
        status, body = service.asked("/v4/time-filter/fast", content)
        if status != 200:
            return "silent difference", f"JSON is refused: {status} {body[:300]!r}"
        (result,) = json.loads(body)["results"]
        known = {place["id"]: place["properties"]["travel_time"] for place in result["locations"]}
        times = list(service_pb2.TimeFilterFastResponse.FromString(answer[1]).properties.travelTimes)
        wanted = [known.get(name, -1) for name in ids]
        return None if times == wanted else ("silent difference", f"{times}, JSON has {wanted}: {content}")

    return case


# Files and arguments --------------------------------------------------------------------------------------------------


def files_part(folder: Path) -> Callable[[random.Random], tuple[str, str] | None]:
    """Saved networks that are damaged: they are refused, or answer as the whole one."""
    from tests.test_fuzz import MORNING, make_world

    world = make_world(folder)
    path = folder / "damaged.network"
    content = (folder / "town.network").read_bytes()
    pages = list(range(0, len(content), 4096))

    def answers(network: tl.Network) -> list[Any]:
        means = {"transportation": "public_transport", "departure_time": MORNING}
        found = [
            tl.time_filter(network, world.home, world.work, travel_time=3600, form="matrix", **kind).to_numpy().tolist()
            for kind in ({"transportation": "walking"}, {"transportation": "driving"}, means)
        ]
        return [network.fingerprint, *found]

    right = repr(answers(tl.load_network(folder / "town.network")))

    def case(dice: random.Random) -> tuple[str, str] | None:
        data = bytearray(content)
        kind = dice.choice(["bit", "bit", "byte", "page", "cut", "swap", "grow", "ends", "insert"])
        at = dice.randrange(len(data))
        if kind == "bit":
            data[at] ^= 1 << dice.randrange(8)
        elif kind == "byte":
            data[at] = dice.randrange(256)
        elif kind == "page":
            at = dice.choice(pages)
            data[at : at + 4096] = dice.choice([bytes, dice.randbytes])(len(data[at : at + 4096]))
        elif kind == "cut":
            del data[at:]
        elif kind == "swap":
            a, b = dice.choice(pages), dice.choice(pages[:-1])
            data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]
        elif kind == "grow":
            data += dice.randbytes(dice.randint(1, 5000))
        elif kind == "ends":
            at = dice.randrange(8192) if dice.random() < 0.5 else len(data) - 1 - dice.randrange(8192)
            data[at] ^= 1 << dice.randrange(8)
        else:
            data[at:at] = dice.randbytes(dice.randint(1, 100))
        if data == content:
            return None
        path.write_bytes(data)
        try:
            network = tl.load_network(path)
        except TravelTimeError as error:
            return None if path.name in str(error) else ("exception", f"the file is not named: {error}")
        return None if repr(answers(network)) == right else ("silent difference", f"{kind} at {at}")

    return case


def feeds_part(folder: Path) -> Callable[[random.Random], tuple[str, str] | None]:
    """Feeds with something odd in them, and what they say after they are saved and loaded."""
    from tests.readers.test_fuzz import is_read, spoiled_feed

    path = folder / "feed.zip"

    def case(dice: random.Random) -> tuple[str, str] | None:
        spoiled_feed(path, dice)
        if dice.random() < 0.1:
            path.write_bytes(broken(path.read_bytes(), dice))
        try:
            is_read(path)
        except AssertionError as error:
            return "silent difference", str(error)[:300]
        return None

    return case


def library_part(folder: Path) -> Callable[[random.Random], tuple[str, str] | None]:
    """Public functions with odd values of one to four arguments."""
    import pytest

    from tests import test_fuzz as calls
    from tests.support import odd

    world = calls.make_world(folder)
    calls.stay_here(pytest.MonkeyPatch(), folder)
    weights = list(itertools.accumulate(calls.sizes(world)[target.name] for target in calls.TARGETS))
    names = list(odd.VALUES)

    def case(dice: random.Random) -> tuple[str, str] | None:
        (target,) = dice.choices(calls.TARGETS, cum_weights=weights)
        places = [name for name in target.parameters(world) if name not in target.callbacks]
        chosen = dice.sample(places, min(len(places), dice.choice([1, 1, 2, 3, 4])))
        values = {name: dice.choice(names) for name in chosen}
        found = calls.fault(target, world, values)
        kinds = {"answer": "silent difference"}
        return found and (kinds.get(found[0], found[0]), f"{target.name}({values}): {found[1]}")

    return case


PARTS = {
    "http": http_part, "protobuf": protobuf_part, "files": files_part, "feeds": feeds_part, "library": library_part,
}  # fmt: skip


# Running --------------------------------------------------------------------------------------------------------------


def work(part: str, seed: int, first: int, end: int, notes: str, found: Any) -> None:
    """Run cases of a part, noting the number of each before it begins."""
    with tempfile.TemporaryDirectory() as folder, open(notes, "r+b") as file, mmap.mmap(file.fileno(), 8) as place:
        case = PARTS[part](Path(folder))
        for number in range(first, end):
            place[:8] = struct.pack("<q", number)
            try:
                fault = case(random.Random(f"{seed}/{part}/{number}"))
            except Exception as error:
                fault = "exception", f"{type(error).__name__}: {str(error)[:300]}"
            if fault:
                found.put((number, *fault))
        place[:8] = struct.pack("<q", end)
        found.close()
        found.join_thread()
        sys.stdout.flush()
        os._exit(0)


def run_part(part: str, cases: int, options: argparse.Namespace) -> tuple[Counter[str], float]:
    """Run a part to its end, whatever dies or stands still; return faults by kind, and seconds."""
    counts: Counter[str] = Counter()
    started = time.monotonic()
    first = 0
    context = multiprocessing.get_context("spawn")
    while first < cases:
        with tempfile.NamedTemporaryFile() as notes:
            notes.write(struct.pack("<q", -1))
            notes.flush()
            found = context.Queue()
            process = context.Process(target=work, args=(part, options.seed, first, cases, notes.name, found))
            process.start()
            at, since = -1, time.monotonic()
            while process.is_alive():
                process.join(0.5)
                drain(part, found, counts)
                now = struct.unpack("<q", Path(notes.name).read_bytes())[0]
                if now != at:
                    at, since = now, time.monotonic()
                elif time.monotonic() - since > options.patience + 900 * (at < 0):
                    process.kill()
                    process.join()
                    report(part, at, "hang", f"more than {options.patience:.0f} s", counts)
                    break
            else:
                at = struct.unpack("<q", Path(notes.name).read_bytes())[0]
                drain(part, found, counts)
                if process.exitcode:
                    report(part, at, "crash", f"exit code {process.exitcode}", counts)
                    if at < 0:
                        raise SystemExit(f"{part} does not start")
            first = at + 1
    return counts, time.monotonic() - started


def drain(part: str, found: Any, counts: Counter[str]) -> None:
    while not found.empty():
        report(part, *found.get(), counts)


def report(part: str, number: int, kind: str, words: str, counts: Counter[str]) -> None:
    counts[kind] += 1
    if counts[kind] <= 20:
        print(f"{kind}: {part}:{number} {words}", flush=True)


def main() -> int:
    """Print faults as they are found, and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="all parts together")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds before a case is a hang")
    parser.add_argument("--only", metavar="PART:NUMBER", help="run one case in this process")
    options = parser.parse_args()
    if options.only:
        part, _, number = options.only.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            print(PARTS[part](Path(folder))(random.Random(f"{options.seed}/{part}/{number}")), flush=True)
            os._exit(0)
    rows, total = [], Counter[str]()
    for part in options.parts:
        cases = round(options.cases * SHARES[part] / sum(SHARES[name] for name in options.parts))
        counts, seconds = run_part(part, cases, options)
        total += counts
        rows.append((part, cases, *(counts[kind] for kind in KINDS), f"{seconds:.0f} s"))
        print("| " + " | ".join(map(str, rows[-1])) + " |", flush=True)
    print("\n| part | cases | " + " | ".join(KINDS) + " | time |\n|" + "---|" * (len(KINDS) + 3))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(f"| all | {sum(row[1] for row in rows)} | " + " | ".join(str(total[kind]) for kind in KINDS) + " | |")
    return int(bool(total))


if __name__ == "__main__":
    sys.exit(main())
