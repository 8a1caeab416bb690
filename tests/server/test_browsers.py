"""What web browsers may do: pages of other origins, and host names that are none of the service's."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from tests.support import worlds
from tests.support.door import HEADERS, PAIR, Door, assert_error, ok, open_door
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.browsers import check_origins, known_hosts
from traveltime_lab.server.config import Options
from traveltime_lab.server.serve import serve

PAGE, OTHER = "http://localhost:3000", "https://elsewhere.example"
ALLOWED = "access-control-allow-origin"


@pytest.fixture(scope="module")
def tiny() -> Network:
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])


@pytest.fixture(scope="module")
def shared(tiny: Network) -> Iterator[Door]:
    """A service whose answers pages of one origin may read."""
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]), Options(allow_origins=(PAGE,)))) as door:
        yield door


def preflight(door: Door, origin: str, path: str = "/v4/time-map") -> tuple[int, dict[str, str]]:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-api-key,x-application-id",
        "Access-Control-Request-Private-Network": "true",
    }
    response = door("OPTIONS", path, headers=headers)
    return response.status_code, dict(response.headers)


def test_there_is_no_cors_by_default(tiny: Network) -> None:
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]))) as door:
        response = door.get("/v4/map-info", headers={**HEADERS, "Origin": PAGE})
        assert ok(response) and ALLOWED not in response.headers
        status, headers = preflight(door, PAGE)
        assert status == 405 and not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize("path", ["/v4/time-map", "/v4/map-info", "/api/v3/uk/time-filter/fast/driving"])
def test_a_page_asks_first(shared: Door, path: str) -> None:
    status, headers = preflight(shared, PAGE, path)
    assert status == 200 and headers[ALLOWED] == PAGE
    assert "POST" in headers["access-control-allow-methods"] and "Origin" in headers["vary"]
    assert headers["access-control-allow-headers"] == "content-type,x-api-key,x-application-id"
    assert headers["access-control-allow-private-network"] == "true"
    status, headers = preflight(shared, OTHER, path)
    assert status == 405 and ALLOWED not in headers


def test_a_page_reads_answers_and_errors(shared: Door) -> None:
    for origin, is_allowed in ((PAGE, True), (OTHER, False), ("null", False)):
        right = shared.get("/v4/map-info", headers={**HEADERS, "Origin": origin})
        wrong = shared.post("/v4/time-map", {}, headers={"Origin": origin})
        ok(right)
        assert_error(wrong, 401, 10)
        for response in (right, wrong):
            assert response.headers.get(ALLOWED) == (origin if is_allowed else None)
            assert ("X-ERROR-CODE" in response.headers.get("access-control-expose-headers", "")) == is_allowed
    assert ALLOWED not in shared.get("/v4/map-info").headers


def test_every_page(tiny: Network) -> None:
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]), Options(allow_origins=("*",)))) as door:
        assert preflight(door, OTHER)[1][ALLOWED] == "*"
        assert door.get("/v4/map-info", headers={**HEADERS, "Origin": OTHER}).headers[ALLOWED] == "*"


def test_what_is_an_origin(tiny: Network) -> None:
    assert check_origins("https://Example.org/") == ("https://example.org",)
    assert check_origins(["http://[::1]:80", "*"]) == ("http://[::1]:80", "*")
    for wrong in ("example.org", "https://example.org/page", "ftp://example.org", "", 5, "https://a b"):
        with pytest.raises(InputError, match="an origin must be such as"):
            check_origins([wrong])
    with pytest.raises(InputError, match="an origin"), serve(tiny, allow_origins="localhost"):
        raise AssertionError


def test_which_names_a_service_has() -> None:
    assert known_hosts("127.0.0.1") == {"127.0.0.1", "localhost", "::1"}
    assert "127.0.0.9" in (known_hosts("127.0.0.9") or ())
    assert known_hosts("localhost") is not None and known_hosts("::1") is not None
    assert known_hosts("0.0.0.0") is None and known_hosts("192.0.2.1") is None
    assert known_hosts("no such host .") is None


@pytest.mark.parametrize("path", ["/health", "/metrics", "/docs", "/openapi.json", "/api/reference/error-codes"])
def test_foreign_names_of_this_machine(tiny: Network, path: str) -> None:
    """A page whose name has been pointed at this machine reads nothing."""
    with serve(tiny) as url:

        def status(host: str) -> int:
            connection = http.client.HTTPConnection(url.host, url.port, timeout=30)
            connection.request("GET", path, headers={"Host": host})
            response = connection.getresponse()
            body = response.read()
            connection.close()
            if response.status != 200:
                assert json.loads(body)["error_code"] == response.status
            return response.status

        for known in (f"127.0.0.1:{url.port}", "127.0.0.1", "localhost:1", "LOCALHOST.", "[::1]:80"):
            assert status(known) == 200, known
        for foreign in ("evil.example", f"evil.example:{url.port}", "127.0.0.1.evil.example", "localhost.evil", ""):
            assert status(foreign) == 421, foreign


def test_services_for_others_have_any_name(shared: Door) -> None:
    ok(shared.get("/health", headers={"Host": "maps.example"}))
