"""
Nonsense on every layer: raw bytes on the socket, and requests that schemathesis makes from the description.

The short run is part of the tests; the long one has its own command::

    TRAVELTIME_LAB_FUZZ_CASES=2000 python -m pytest tests/server/test_fuzz.py
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support import worlds
from tests.support.door import HEADERS, PAIR, Door, assert_error, encoded, ok, open_door, time_map_search
from tests.support.requests import RIGHT
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.openapi import describe
from traveltime_lab.server.serve import Served, serve

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

#: Requests of the run over the description, all endpoints together.
CASES = int(os.environ.get("TRAVELTIME_LAB_FUZZ_CASES", "80"))


@pytest.fixture(scope="module")
def tiny() -> Iterator[Served]:
    network = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0), "c": (500.0, 800.0)}, [("a", "b"), ("b", "c")])
    with serve(network, credentials=[PAIR], timeout_s=5.0) as url:
        yield url


def say(url: Served, data: bytes) -> bytes:
    """Send bytes, say that there will be no more, and return all that comes back."""
    with socket.create_connection((url.host, url.port), 10) as raw:
        with contextlib.suppress(ConnectionError):
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while chunk := raw.recv(65_536):
                answer += chunk
        return answer


def check(url: Served, data: bytes) -> None:
    answer = say(url, data)
    if answer:
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        assert status < 500, answer
        if status != 200 and body.startswith(b"{") and body.endswith(b"}") and b"HTTP/1.1" not in body:
            assert json.loads(body)["http_status"] == status


def whole_request(path: str = "/v4/time-map") -> bytes:
    body = encoded(RIGHT[path])
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def test_bytes_on_the_socket(tiny: Served) -> None:
    dice = random.Random(4)
    right = whole_request()
    wrong = [
        b"",
        b"\r\n" * 100,
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
        b"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"POST /v4/time-map HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        b"GET /v4/map-info HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        right + right + b"nonsense",
    ]
    wrong += [dice.randbytes(dice.randint(1, 300)) for _ in range(100)]
    for _ in range(150):
        broken = bytearray(right)
        for _ in range(dice.randint(1, 5)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        wrong.append(bytes(broken[: dice.randint(1, len(broken))]))
    for data in wrong:
        check(tiny, data)
    answer = say(tiny, b"nonsense\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") and json.loads(answer.partition(b"\r\n\r\n")[2])["http_status"] == 400
    assert say(tiny, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert say(tiny, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 421 ")


#: JSON of any kind.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(RIGHT)), ANYTHING, st.data())
def test_any_json_anywhere(door: Door, path: str, value: object, data: st.DataObject) -> None:
    """Anything in the place of anything is answered or refused in the contract's form."""
    request = json.loads(json.dumps(RIGHT[path]))
    owner: object = request
    while isinstance(owner, dict | list) and owner:
        keys = sorted(owner) if isinstance(owner, dict) else list(range(len(owner)))
        key = data.draw(st.sampled_from(keys))
        inner = owner[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            owner[key] = value
            break
        owner = inner
    response = door.post(path, request)
    if response.status_code != 200:
        assert response.status_code in (404, 422), response.text
        assert_error(response, response.status_code)


# From the description -------------------------------------------------------------------------------------------------

document = describe()
#: Places are drawn on the street of the tiny world, so that many requests have an answer.
for name, low, high in (("lat", 0.495, 0.515), ("lng", 0.495, 0.515)):
    document["components"]["schemas"]["Coords"]["properties"][name] |= {"minimum": low, "maximum": high}
schema = schemathesis.openapi.from_dict(document)
OPERATIONS = sum(1 for methods in document["paths"].values() for _ in methods)


@pytest.mark.slow
@schema.parametrize()
@settings(
    max_examples=-(-CASES // OPERATIONS),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_description(case: schemathesis.Case, tiny: Served) -> None:
    """No 5xx, no undocumented status or media type, no answer that its schema does not allow."""
    is_proto = case.path.startswith("/api/")
    case.headers = {} if case.headers is None else case.headers
    for name in ("X-Application-Id", "X-Api-Key", "Authorization"):
        case.headers.pop(name, None)
    if not is_proto:
        case.headers.update(HEADERS)
    checks = schemathesis.checks
    case.call_and_validate(
        base_url=str(tiny),
        auth=PAIR if is_proto else None,
        checks=[
            *([] if case.path == "/ready" else [checks.not_a_server_error]),  # 503 is its answer for not yet
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_schema_conformance,
        ],
    )


def test_the_tiny_world_answers(tiny: Served) -> None:
    """The run above is not all refusals: its places have streets."""
    network = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])
    with open_door(create_app(Atlas(network), Credentials([PAIR]))) as door:
        place = worlds.at((500.0, 0.0)).iloc[0]
        ok(door.post("/v4/time-map", {"departure_searches": [time_map_search(place=(place.y, place.x))]}))
