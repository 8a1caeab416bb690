"""Names to places and back over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.support import worlds
from tests.support.door import PAIR, STATION, Door, assert_error, ok, open_door
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.config import Options

SEARCH, REVERSE = "/v4/geocoding/search", "/v4/geocoding/reverse"


def test_search(door: Door) -> None:
    response = door.get(
        SEARCH, {"query": "Mannerheimintie", "limit": 1, "within.country": "FI,SWE", "format.name": True}
    )
    (feature,) = ok(response)["features"]
    assert sorted(feature) == ["geometry", "properties", "type"]
    lng, lat = feature["geometry"]["coordinates"]
    assert 24.9 < lng < 25.0 and 60.1 < lat < 60.2
    properties = feature["properties"]
    assert "Mannerheimintie" in properties["name"] and properties["label"] and 0 < properties["score"] <= 1
    assert properties["country_code"] == "FIN" and "" not in properties.values()
    assert properties["features"]["fares"] is False
    assert "content-language" not in response.headers  # networks know one name of each place
    assert ok(door.get("/v4/geocoding/autocomplete", {"query": "Mannerheimintie"}))["features"]
    assert ok(door.get(SEARCH, {"query": "xyzzyx"})) == {"type": "FeatureCollection", "features": []}


@pytest.mark.parametrize("bounds", ["60.0,24.0,61.0,25.5", "60.0,25.5,61.0,24.0", "61.0,25.5,60.0,24.0"])
def test_bounds_are_two_corners(door: Door, bounds: str) -> None:
    assert ok(door.get(SEARCH, {"query": "Mannerheimintie", "bounds": bounds}))["features"]
    assert not ok(door.get(SEARCH, {"query": "Mannerheimintie", "bounds": "10,10,11,11"}))["features"]


@pytest.mark.parametrize("flag", ["true", "True", "FALSE"])
def test_flags(door: Door, flag: str) -> None:
    assert ok(door.get(SEARCH, {"query": "Mannerheimintie", "format.name": flag, "format.exclude.country": flag}))


def test_reverse(door: Door) -> None:
    (feature,) = ok(door.get(REVERSE, {"lat": STATION[0], "lng": STATION[1]}))["features"]
    assert feature["properties"]["name"] and feature["properties"]["label"]
    assert 0 < feature["properties"]["score"] <= 1
    assert_error(door.get(REVERSE, {"lat": 40.0, "lng": -40.0}), 400)


@pytest.mark.parametrize("query", ["HE1 1AB", "he11ab", "HE1 1AB, Helsinki", "Helsinki HE1 1AB"])
def test_postcodes_of_the_table(door: Door, query: str) -> None:
    first = ok(door.get(SEARCH, {"query": query}))["features"][0]
    assert first["geometry"]["coordinates"] == [24.943, 60.17]
    properties = first["properties"]
    assert (properties["name"], properties["postcode"], properties["type"]) == ("HE1 1AB", "HE1 1AB", "postcode")
    assert properties["label"] == "HE1 1AB, Finland" and properties["country_code"] == "FIN"
    assert 0 < properties["score"] <= 1


def test_postcodes_that_begin_like_this(door: Door) -> None:
    def names(**more: Any) -> list[str]:
        return [item["properties"]["name"] for item in ok(door.get(SEARCH, {"query": "HE1", **more}))["features"]]

    assert names(limit=3) == ["HE1 1AA", "HE1 1AB", "HE1 2AA"]
    assert names(limit=1, **{"focus.lat": 60.169, "focus.lng": 24.9383}) == ["HE1 2AA"]
    assert names(bounds="60.1695,24.942,60.1705,24.944") == ["HE1 1AB"]
    assert "HE1 1AA" not in names(**{"within.country": "CL"})


def test_postcodes_of_the_addresses(door: Door) -> None:
    first = ok(door.get(SEARCH, {"query": "00100 Helsinki"}))["features"][0]["properties"]
    assert (first["name"], first["type"], first["label"]) == ("00100", "postcode", "00100 Helsinki, Finland")


def test_a_street_in_a_city(door: Door) -> None:
    for query in ("Kaivokatu, Helsinki", "Kaivokatu, Helsinki, Finland"):
        first = ok(door.get(SEARCH, {"query": query}))["features"][0]["properties"]
        assert (first["name"], first["category"]) == ("Kaivokatu", "highway")
    # This extract does not say in which city a street is.
    found = ok(door.get(SEARCH, {"query": "Avenida Ipiranga, Porto Alegre", "within.country": "BR"}))["features"]
    assert found[0]["properties"]["name"] == "Avenida Ipiranga"


def test_faults(door: Door) -> None:
    assert_error(door.get(SEARCH, {"query": "?!"}), 422, 2, paths={"obj.query"})
    faults = assert_error(door.get(SEARCH, {"query": "a", "exclude.location.types": "city,Country"}), 422, 2)
    assert faults == {"obj.exclude.location.types": ["must be one of [country]; got 'city'"]}
    assert_error(door.get(SEARCH, {"query": "a", "within.country": "XX"}), 422, 2, paths={"obj.within.country"})


class _Nominatim(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found: Any = {
            "osm_type": "node", "osm_id": 1, "lat": "0.5", "lon": "0.5", "category": "place", "type": "city",
            "importance": 0.5, "name": "Nowhere", "display_name": f"Nowhere ({self.headers['Accept-Language']})",
            "address": {"city": "Nowhere", "country_code": "gh"}, "boundingbox": ["0", "1", "0", "1"],
        }  # fmt: skip
        country = found | {"type": "country", "name": "Ghana"}
        body = json.dumps(
            [country, found] if "q=both" in self.path else [found] if self.path.startswith("/search") else found
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def answerer() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Nominatim) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_nominatim(answerer: str) -> None:
    """A configured server answers instead of the networks; if it does not, the failure has the usual form."""
    network = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])
    atlas, pairs = Atlas(network), Credentials([PAIR])
    with open_door(create_app(atlas, pairs, Options(nominatim=Nominatim(answerer)))) as door:
        (feature,) = ok(door.get(SEARCH, {"query": "anything"}))["features"]
        assert feature["geometry"]["coordinates"] == [0.5, 0.5] and feature["properties"]["name"] == "Nowhere"
        here = {"lat": 0.5, "lng": 0.5}
        assert ok(door.get(REVERSE, here))["features"]
        assert ok(door.get(REVERSE, {**here, "within.country": "GHA,FR"}))["features"]
        assert_error(door.get(REVERSE, {**here, "within.country": "FR"}), 400)
        for left_out, names in ((None, ["Ghana", "Nowhere"]), ("country", ["Nowhere"])):
            query = {"query": "both"} | ({} if left_out is None else {"exclude.location.types": left_out})
            found = ok(door.get(SEARCH, query))["features"]
            assert [feature["properties"]["name"] for feature in found] == names
            (first,) = ok(door.get(SEARCH, {**query, "limit": 1}))["features"]
            assert first["properties"]["name"] == names[0], "what is left out does not count"
        assert door.get(SEARCH, {"query": "anything"}).headers["content-language"] == "en"
    with open_door(create_app(atlas, pairs, Options(nominatim=Nominatim("http://127.0.0.1:9")))) as door:
        assert_error(door.get(SEARCH, {"query": "anything"}), 500)
