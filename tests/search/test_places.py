"""Names and addresses: read from files, kept in networks, found by text and by coordinate, asked of a server."""

from __future__ import annotations

import http.server
import itertools
import json
import socket
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any, ClassVar

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.osm_files import osm_xml
from tests.support.worlds import at, world
from traveltime_lab.readers.osm.places import is_place, kind_of
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.search.geocoding import countries
from traveltime_lab.search.geocoding.gazetteer import gazetteer, tokens_of
from traveltime_lab.streets.tables import PLACE_DTYPES, places_frame

# A street from west to east and one to the north; houses, a café, a park of four corners and a town.
NODES = {
    1: (-43.2, -22.9), 2: (-43.19, -22.9), 3: (-43.18, -22.9), 4: (-43.19, -22.89),
    10: (-43.195, -22.9001), 11: (-43.194, -22.9001), 12: (-43.189, -22.8955), 13: (-43.19, -22.895),
    20: (-43.186, -22.896), 21: (-43.184, -22.896), 22: (-43.184, -22.894), 23: (-43.186, -22.894),
    30: (-43.2, -22.88), 31: (-43.199, -22.88), 32: (-43.199, -22.879), 40: (-43.1, -22.5),
}  # fmt: skip
NODE_TAGS = {
    10: "addr:housenumber=5|addr:street=Rua São João|addr:postcode=20000-001",
    11: "addr:housenumber=50|addr:street=Rua São João",
    12: "name=Café Glória|amenity=cafe|name:en=Glory Coffee|addr:housenumber=7a|addr:street=Avenida Central",
    13: "name=Vila Nova|place=town|population=12 000",
    2: "name=Semáforo|highway=traffic_signals",
    40: "name=Longe|place=city",
}
WAYS = [
    (100, "1 2", "highway=residential|name=Rua São João"),
    (101, "2 3", "highway=residential|name=Rua São João"),
    (102, "2 4", "highway=primary|name=Avenida Central"),
    (103, "20 21 22 23 20", "leisure=park|name=Parque da Glória"),
    (104, "20 21", "addr:interpolation=odd|addr:housenumber=1"),
    (105, "98 99", "building=school|name=Lost School"),
    (107, "30 31 32 30", "building=yes"),
]
RELATIONS = [(200, "w107@outer", "type=multipolygon|tourism=museum|name=Museu")]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    path = tmp_path_factory.mktemp("osm") / "town.osm"
    path.write_bytes(osm_xml(NODES, WAYS, RELATIONS, node_tags=NODE_TAGS))
    return tl.build_network(path, timezone="America/Sao_Paulo")


# Reading and keeping -------------------------------------------------------------------------------------------------


def test_what_is_read(town):
    places = town.tables.places.set_index("osm_id")
    assert {name: str(dtype) for name, dtype in town.tables.places.dtypes.items()} == {
        name: "large_string[pyarrow]" if dtype == "string" else dtype for name, dtype in PLACE_DTYPES.items()
    }
    assert sorted(places.index) == [10, 11, 12, 13, 40, 103, 200]
    assert places["kind"].to_dict() == {
        10: "place=house", 11: "place=house", 12: "amenity=cafe", 13: "place=town", 40: "place=city",
        103: "leisure=park", 200: "tourism=museum",
    }  # fmt: skip
    assert places.loc[12, ["name", "other_names", "house_number", "street"]].tolist() == [
        "Café Glória", "Glory Coffee", "7a", "Avenida Central"
    ]  # fmt: skip
    assert places.loc[13, "population"] == 12_000
    assert places.loc[103, ["west", "south", "east", "north"]].tolist() == [-43.186, -22.896, -43.184, -22.894]
    assert places.loc[103, ["lng", "lat"]].tolist() == pytest.approx([-43.185, -22.895])
    assert places["osm_type"].to_dict() == {10: "n", 11: "n", 12: "n", 13: "n", 40: "n", 103: "w", 200: "r"}
    report = town.tables.report
    assert (report["places"], report["place_nodes"], report["place_ways"]) == (7, 5, 1)
    assert report["places_dropped"] == 1


def test_the_box_of_a_relation_is_that_of_its_outer_ways(tmp_path):
    """Three museums of one or two ways; one is drawn across the 180th meridian, which is no box."""
    nodes = {
        1: (1.0, 1.0), 2: (1.001, 1.0), 11: (2.0, 2.0), 12: (2.002, 2.0), 13: (2.002, 2.004), 14: (2.0, 2.004),
        21: (3.0, 3.0), 22: (3.001, 3.0), 23: (3.001, 3.002), 31: (179.9, 1.0), 32: (-179.9, 1.0), 33: (-179.9, 1.1),
    }  # fmt: skip
    ways = [
        (100, "1 2", "highway=residential"), (110, "11 12 13", ""), (111, "13 14 11", ""), (112, "1 2 11 1", ""),
        (120, "21 22 23 21", ""), (130, "31 32 33 31", ""),
    ]  # fmt: skip
    museum = "type=multipolygon|tourism=museum|name=Museum"
    members = {200: "w110@outer w111@outer w112@inner", 201: "w120@outer w999@outer", 202: "w130@outer", 203: "w998@"}
    path = tmp_path / "museums.osm"
    path.write_bytes(osm_xml(nodes, ways, [(ref, ways_of, museum) for ref, ways_of in members.items()]))
    tables = read_osm(path)
    places = tables.places.set_index("osm_id")[["west", "south", "east", "north", "lng", "lat"]]
    assert sorted(places.index) == [200, 201]
    assert places.loc[200].tolist() == pytest.approx([2.0, 2.0, 2.002, 2.004, 2.001, 2.002])
    assert places.loc[201].tolist() == pytest.approx([3.0, 3.0, 3.001, 3.002, 3.0005, 3.001])
    assert (tables.report["place_relations"], tables.report["places_dropped"]) == (2, 2)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name=X|shop=bakery;cafe", "shop=bakery"),
        ("name=X|amenity=no|building=church", "building=church"),
        ("name=X|railway=rail", None),
        ("name=X|railway=station|building=yes", "railway=station"),
        ("name=X|highway=bus_stop", "highway=bus_stop"),
        ("name=X|highway=crossing", None),
        ("amenity=cafe", None),
        ("amenity=cafe|addr:housenumber=3", "place=house"),
        ("name=X|addr:housename=Y", "place=house"),
    ],
)
def test_kinds(text, kind):
    tags = dict(pair.split("=") for pair in text.split("|"))
    assert kind_of(tags) == kind
    assert is_place(tags) == (kind is not None)


def test_places_are_saved_with_the_network(town, tmp_path):
    loaded = tl.load_network(town.save(tmp_path / "town.network"))
    pd.testing.assert_frame_equal(loaded.tables.places, town.tables.places)
    assert loaded.fingerprint == town.fingerprint
    found, again = (tl.geocode(network, "glória") for network in (town, loaded))
    pd.testing.assert_frame_equal(found, again)
    assert tl.add_speeds(town, classes={"residential": 20}).tables.places is town.tables.places


def test_places_count_in_the_fingerprint(town, tmp_path):
    path = tmp_path / "town.osm"
    path.write_bytes(osm_xml(NODES, WAYS, RELATIONS, node_tags=NODE_TAGS | {12: "name=Other|amenity=cafe"}))
    other = tl.build_network(path, timezone="America/Sao_Paulo")
    assert other.fingerprint != town.fingerprint


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["a"], "lng": []}, "0 to 1 values"),
        ({"name": ["a", None]}, "strings"),
        ({"lng": [float("nan")]}, "not finite"),
    ],
)
def test_tables_of_places_are_checked(columns, message):
    with pytest.raises(ValueError, match=message):
        places_frame(columns)


# By text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Café Glória", "Café Glória"),
        ("CAFE GLORIA", "Café Glória"),
        ("glory coffee", "Café Glória"),
        ("parq glo", "Parque da Glória"),
        ("rua sao joao", "Rua São João"),
        ("Rua São João 5", "Rua São João 5"),
        ("rua sao joao, 5, Vila Nova", "Rua São João 5"),
        ("50 Rua Sao Joao", "Rua São João 50"),
        ("Avenida Central 7", "Café Glória"),
        ("avenida centrall", "Avenida Central"),
        ("vila nova brasil", None),
        ("vila nova brazil", "Vila Nova"),
        ("museu", "Museu"),
        ("Avenida Central, Vila Nova", "Avenida Central"),
        ("Avenida Central, Vila Nova, Brazil", "Avenida Central"),
        ("Vila Nova, Avenida Central", "Avenida Central"),
        ("Avenida Central, Elsewhere on Sea", "Avenida Central"),
        ("20000-001", "20000-001"),
        ("20000001", "20000-001"),
        ("20000-001, Vila Nova", "20000-001"),
    ],
)
def test_what_is_found_first(town, query, name):
    found = tl.geocode(town, query)
    assert (found["name"].iloc[0] if len(found) and name is not None else None) == name


def test_results_have_the_attributes_of_the_contract(town):
    found = tl.geocode(town, "Café Glória", limit=1)
    assert found.iloc[0].drop("geometry").to_dict() == {
        "name": "Café Glória", "label": "Café Glória, Avenida Central 7a, Vila Nova, Brazil", "category": "amenity",
        "type": "cafe", "house_number": "7a", "street": "Avenida Central", "neighbourhood": "", "district": "",
        "city": "Vila Nova", "county": "", "region": "", "postcode": "", "country": "Brazil", "country_code": "BRA",
        "score": pytest.approx(0.9175), "osm_type": "n", "osm_id": 12, "west": -43.189, "south": -22.8955,
        "east": -43.189, "north": -22.8955,
    }  # fmt: skip
    assert found.crs == "EPSG:4326"
    assert found.geometry[0] == shapely.Point(-43.189, -22.8955)
    street = tl.geocode(town, "Rua São João", limit=1).iloc[0]
    assert (street["category"], street["type"], street["osm_type"]) == ("highway", "residential", "")
    assert pd.isna(street["osm_id"])
    assert (street["west"], street["east"]) == (-43.2, -43.18)


def test_postcodes_are_places(town):
    found = tl.geocode(town, "20000-001").iloc[0]
    assert (found["category"], found["type"], found["postcode"]) == ("place", "postcode", "20000-001")
    assert found["label"] == "20000-001 Vila Nova, Brazil"
    assert found.geometry == shapely.Point(-43.195, -22.9001)
    assert (found["west"], found["north"]) == (-43.195, -22.9001)
    assert found["score"] == pytest.approx(0.9625)


def test_names_in_one_line(town):
    line = tl.geocode(town, "rua sao joao 5", format_name=True, limit=1)["name"][0]
    assert line == "Rua São João 5, 20000-001 Vila Nova, Brazil"
    line = tl.geocode(town, "rua sao joao 5", format_name=True, exclude_country=True, limit=1)["name"][0]
    assert line == "Rua São João 5, 20000-001 Vila Nova"


def test_house_numbers_are_whole(town):
    names = tl.geocode(town, "rua sao joao 5")["name"].tolist()
    assert "Rua São João 50" not in names
    # Nobody lives at 51: the street and what else matches as much is what remains.
    assert tl.geocode(town, "rua sao joao 51")["name"][0] == "Rua São João"


def test_filters(town):
    assert len(tl.geocode(town, "gloria")) == 2
    assert len(tl.geocode(town, "gloria", limit=1)) == 1
    assert len(tl.geocode(town, "gloria", within_country="BR,US")) == 2
    assert len(tl.geocode(town, "gloria", within_country=["usa"])) == 0
    inside = tl.geocode(town, "gloria", bounds=(-43.187, -22.9, -43.18, -22.89))
    assert inside["name"].tolist() == ["Parque da Glória"]
    assert len(tl.geocode(town, "gloria", bounds=(170.0, -22.9, -43.18, -22.89))) == 2
    assert len(tl.geocode(town, "gloria", bounds=(-43.18, -22.9, -170, -22.89))) == 0
    nothing = tl.geocode(town, "zzz")
    assert len(nothing) == 0
    assert nothing.columns.tolist() == tl.geocode(town, "gloria").columns.tolist()


def test_a_focus_draws_near_results_forward():
    nodes = {"A": (0, 0), "B": (300, 0), "C": (30_000, 0), "D": (30_300, 0), "E": (15_000, 9000)}
    name = {"name": "Church Street"}
    network = world(nodes, [("A", "B", name), ("C", "D", name), ("B", "E"), ("E", "C")])
    near, far = at((0, 0)), at((30_000, 0))
    west, east = tl.geocode(network, "church street").geometry.x
    assert west != east
    for focus in (near.iloc[0], far.iloc[0]):
        found = tl.geocode(network, "church street", focus=focus)
        assert len(found) == 2
        assert found["score"][0] == found["score"][1]
        first, second = shapely.distance(found.geometry.array, focus)
        assert first < second
        assert found.equals(tl.geocode(network, "church street", focus={"lat": focus.y, "lng": focus.x}))


def test_pieces_of_a_street_are_one_street():
    nodes = {"A": (0, 0), "B": (300, 0), "C": (400, 0), "D": (700, 0), "E": (5000, 0), "F": (5300, 0)}
    name = {"name": "Long Street"}
    network = world(nodes, [("A", "B", name), ("B", "C"), ("C", "D", name), ("D", "E"), ("E", "F", name)])
    assert len(tl.geocode(network, "long street")) == 2


def test_networks_without_places_have_their_streets():
    network = world({"A": (0, 0), "B": (300, 0)}, [("A", "B")])
    assert len(tl.geocode(network, "anything")) == 0
    assert len(tl.reverse_geocode(network, 0.5, 0.5)) == 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Rua São-José 5a", ["rua", "sao", "jose", "5a"]),
        ("Straße", ["strasse"]),
        ("Øster Søgade, Æblevej", ["oster", "sogade", "aeblevej"]),
        ("d'Artagnan’s", ["dartagnans"]),
        ("東京 駅", ["東京", "駅"]),
        ("--", []),
    ],
)
def test_tokens(text, tokens):
    assert tokens_of(text) == tokens


def slow_search(network, query: str) -> dict[int, float]:
    """The published rule of the score, entry by entry, for queries without misspelt words."""
    known = gazetteer(network)
    names = {country.alpha_2: country.name for country in countries.COUNTRIES}
    parts = [part for part in map(tokens_of, query.split(",")) if part]
    tokens = [token for part in parts for token in part]
    results = {}
    around = ("street", "house_number", "neighbourhood", "district", "city", "county", "region", "postcode")

    def quality(token: str, words: set[str]) -> float:
        best = 0.0
        for word in words:
            if word == token:
                best = 1.0
            elif word.startswith(token) and not (token[-1].isdigit() and word[len(token)].isdigit()):
                best = max(best, 0.75 + 0.2 * len(token) / len(word))
        return best

    for entry, row in enumerate(known.entries.to_dict("records")):
        own = set(tokens_of(row["name"]))
        named = own | set(tokens_of(row["other_names"]))
        address = {*tokens_of(row["street"]), *tokens_of(row["house_number"])} if row["house_number"] else set()
        context = {word for key in around for word in tokens_of(row[key])} | set(tokens_of(names[row["country"]]))
        qualities = [quality(token, named | address | context) for token in tokens]
        coverages = []
        for number, part in enumerate(parts):
            in_name = sum(quality(token, named) > 0 for token in part)
            in_address = sum(quality(token, address) > 0 for token in part)
            share = max(in_name / max(len(own), 1), (0.8 if own else 1.0) * in_address / max(len(address), 1))
            coverages.append(min(share, 1) * 0.8**number)
        if any(coverages):
            mean = sum(qualities) / len(tokens)
            score = mean * (0.55 + 0.3 * max(coverages) + 0.15 * known.importance[entry])
            is_first = all(quality(token, named | address) > 0 for token in parts[0])
            results[entry] = sum(q > 0 for q in qualities), is_first and len(parts) > 1, score
    most = max((n for n, _, _ in results.values()), default=0)
    enough = most >= (len(tokens) + 1) // 2
    only_first = most < len(tokens) and any(is_first for _, is_first, _ in results.values())
    return {
        entry: score
        for entry, (n, is_first, score) in results.items()
        if is_first or (n == most and enough and not only_first)
    }


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["rua", "sao", "jo", "5", "50", "7", "glo", "cafe", "par", "vila", "nova", "brazil", "20000"]),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.sampled_from([" ", ", "]), min_size=4, max_size=4),
)
def test_scores_are_those_of_the_published_rule(town, tokens, separators):
    query = "".join(itertools.chain(*zip(tokens, separators, strict=False)))
    found = dict(zip(*(values.tolist() for values in gazetteer(town).search(query)), strict=True))
    assert found == pytest.approx(slow_search(town, query))
    assert all(0 < score <= 1 for score in found.values())


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.text(max_size=40))
def test_no_text_breaks_a_search(town, text):
    try:
        found = tl.geocode(town, text)
    except tl.InputError:
        assert not any(letter.isalnum() for letter in text)
    else:
        assert found["score"].is_monotonic_decreasing


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"query": ""}, tl.InputError, "letter or a digit"),
        ({"query": None}, tl.InputError, "must be a string"),
        ({"limit": 0}, tl.LimitError, "1 to 50; got 0"),
        ({"limit": 51}, tl.LimitError, "1 to 50; got 51"),
        ({"limit": "9"}, tl.InputError, "whole number"),
        ({"within_country": "XX"}, tl.InputError, "'XX'"),
        ({"within_country": []}, tl.InputError, "country codes"),
        ({"bounds": (0, 10, 1, 5)}, tl.CoordinateError, "south of 10.0 above"),
        ({"bounds": (0, 10)}, tl.InputError, "four numbers"),
        ({"bounds": (0, 95, 1, 96)}, tl.CoordinateError, "lat=95"),
        ({"focus": (0, 0)}, tl.InputError, "Point"),
        ({"focus": shapely.Point(0, 91)}, tl.CoordinateError, "lat=91"),
        ({"format_name": "yes"}, tl.InputError, "True or False"),
        ({"network": "town"}, tl.InputError, "must be a Network"),
    ],
)
def test_errors(town, changes, error, message):
    arguments = {"network": town, "query": "gloria"} | changes
    with pytest.raises(error, match=message):
        tl.geocode(**arguments)


# By coordinate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lng", "lat", "name", "kind"),
    [
        (-43.195, -22.9002, "Rua São João 5", "house"),
        (-43.189, -22.8954, "Café Glória", "cafe"),
        (-43.1855, -22.8955, "Parque da Glória", "park"),
        (-43.199, -22.9005, "Rua São João", "residential"),
        (-43.2, -22.889, "Vila Nova", "town"),
        (-43.105, -22.505, "Longe", "city"),
    ],
)
def test_what_is_where(town, lng, lat, name, kind):
    found = tl.reverse_geocode(town, lng, lat)
    assert found[["name", "type"]].to_numpy().tolist() == [[name, kind]]
    assert found["country_code"].tolist() == ["BRA"]
    assert found["score"].tolist() == (1 / (1 + found["distance"] / 100)).tolist()
    assert found["distance"].between(0, 15_000).all()


def test_nothing_is_far_from_everything(town):
    assert len(tl.reverse_geocode(town, -40.0, -22.9)) == 0
    assert len(tl.reverse_geocode(town, -43.195, -22.9002, within_country="US")) == 0
    for lng, lat in ((181, 0), (0, np.nan), (0, -91)):
        with pytest.raises(tl.CoordinateError):
            tl.reverse_geocode(town, lng, lat)
    with pytest.raises(tl.InputError, match="numbers"):
        tl.reverse_geocode(town, "west", 0)


@pytest.mark.slow
def test_what_is_found_is_there(helsinki):
    """A house that a search by text finds is what a search by coordinate finds there."""
    houses = helsinki.tables.places[helsinki.tables.places["kind"] == "place=house"]
    houses = houses[(houses["street"] != "") & (houses["osm_type"] == "n")].iloc[::40]
    assert len(houses) > 10
    same = 0
    for house in houses.itertuples():
        found = tl.geocode(helsinki, f"{house.street} {house.house_number}", limit=3)
        assert f"{house.street} {house.house_number}" in [
            f"{street} {number}" for street, number in zip(found["street"], found["house_number"], strict=True)
        ]
        back = tl.reverse_geocode(helsinki, house.lng, house.lat).iloc[0]
        assert back["distance"] < 1.0
        same += back["street"] == house.street
    assert same / len(houses) > 0.8


# Countries -----------------------------------------------------------------------------------------------------------


def test_countries():
    assert len({country.alpha_2 for country in countries.COUNTRIES}) == len(countries.COUNTRIES) == 249
    assert len({country.alpha_3 for country in countries.COUNTRIES}) == 249
    assert countries.country_of("che") == ("CH", "CHE", "Switzerland")
    assert countries.country_of_timezone("America/Santiago").name == "Chile"
    assert countries.country_of_timezone("UTC") is None


# A server ------------------------------------------------------------------------------------------------------------


RESULT: dict[str, Any] = {
    "place_id": 1, "osm_type": "way", "osm_id": 77, "lat": "-22.9", "lon": "-43.2", "category": "amenity",
    "type": "cafe", "importance": 0.4, "name": "Café Glória", "display_name": "Café Glória, Rua A, Rio",
    "address": {
        "amenity": "Café Glória", "house_number": "7", "road": "Rua A", "suburb": "Centro", "town": "Rio",
        "state": "RJ", "postcode": "20000", "country": "Brasil", "country_code": "br",
    },
    "boundingbox": ["-22.91", "-22.89", "-43.21", "-43.19"],
}  # fmt: skip


class Answerer(http.server.BaseHTTPRequestHandler):
    """Answers as a Nominatim would, and remembers what it was asked."""

    asked: ClassVar[list[tuple[str, dict[str, str], str]]] = []

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.asked.append((url.path, query, self.headers.get("Accept-Language", "")))
        body: Any = RESULT if url.path.endswith("/reverse") else [RESULT] * 3
        if query.get("q") == "two":
            body = [RESULT, {**RESULT, "lat": "-22.5", "lon": "-43.2", "name": "Café Longe"}]
        if query.get("q") == "strange" or query.get("lon") == "2.0":
            body = {"hello": "world"}
        if query.get("lon") == "1.0":
            body = {"error": "Unable to geocode"}
        status = 503 if query.get("q") == "busy" else 200
        text = b"<html>" if query.get("q") == "page" else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answerer) as answerer:
        thread = threading.Thread(target=answerer.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{answerer.server_address[1]}/nominatim/"
        answerer.shutdown()
        thread.join()


def test_a_server_answers_like_a_network(server, town):
    known = tl.Nominatim(server, language="pt")
    found = known.geocode("café glória", limit=2, within_country=["BRA", "us"], bounds=(-44, -23, -43, -22))
    path, query, language = Answerer.asked[-1]
    assert path == "/nominatim/search"
    assert query == {
        "q": "café glória", "limit": "2", "addressdetails": "1", "countrycodes": "br,us", "bounded": "1",
        "viewbox": "-44.0000000,-23.0000000,-43.0000000,-22.0000000", "format": "jsonv2",
    }  # fmt: skip
    assert language == "pt"
    own = tl.geocode(town, "café glória")
    assert found.columns.tolist() == own.columns.tolist()
    assert found.dtypes.to_dict() == own.dtypes.to_dict()
    assert len(found) == 2
    assert found.iloc[0].drop("geometry").to_dict() == {
        "name": "Café Glória", "label": "Café Glória, Rua A 7, 20000 Rio, RJ, Brazil", "category": "amenity",
        "type": "cafe", "house_number": "7", "street": "Rua A", "neighbourhood": "Centro", "district": "",
        "city": "Rio", "county": "", "region": "RJ", "postcode": "20000", "country": "Brazil", "country_code": "BRA",
        "score": 0.4, "osm_type": "w", "osm_id": 77, "west": -43.21, "south": -22.91, "east": -43.19, "north": -22.89,
    }  # fmt: skip
    assert found.geometry[0] == shapely.Point(-43.2, -22.9)
    known.geocode("rio", focus=shapely.Point(-43, -22))
    assert Answerer.asked[-1][1]["viewbox"] == "-43.5000000,-22.5000000,-42.5000000,-21.5000000"
    assert "bounded" not in Answerer.asked[-1][1]


def test_a_server_that_is_given_bounds_prefers_what_is_near_the_focus(server):
    known, bounds = tl.Nominatim(server), (-44, -23, -43, -22)
    assert known.geocode("two", bounds=bounds)["name"].tolist() == ["Café Glória", "Café Longe"]
    near = known.geocode("two", bounds=bounds, focus=shapely.Point(-43.2, -22.5))
    assert near["name"].tolist() == ["Café Longe", "Café Glória"] and near.index.tolist() == [0, 1]


def test_a_server_knows_coordinates(server):
    known = tl.Nominatim(server)
    found = known.reverse_geocode(-43.2, -22.9, format_name=True, exclude_country=True)
    assert isinstance(found, gpd.GeoDataFrame)
    assert found["name"].tolist() == ["Café Glória, Rua A 7, 20000 Rio"]
    assert Answerer.asked[-1][0] == "/nominatim/reverse"
    assert Answerer.asked[-1][1]["lon"] == "-43.2"
    assert len(known.reverse_geocode(1.0, 0.0)) == 0


@pytest.mark.parametrize(
    ("query", "message"), [("busy", "with 503"), ("strange", "is it a Nominatim"), ("page", "is it a Nominatim")]
)
def test_servers_that_are_not_well(server, query, message):
    with pytest.raises(tl.ServiceError, match=message):
        tl.Nominatim(server).geocode(query)


def test_servers_that_are_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(tl.ServiceError, match=f"no answer from the Nominatim server at http://127.0.0.1:{port}"):
        tl.Nominatim(f"http://127.0.0.1:{port}", timeout=2).reverse_geocode(0, 0)


def test_results_that_are_none(server):
    with pytest.raises(tl.ServiceError, match="is it a Nominatim"):
        tl.Nominatim(server).reverse_geocode(2.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"url": "nominatim.local"}, tl.InputError),
        ({"url": "ftp://nominatim.local"}, tl.InputError),
        ({"url": None}, tl.InputError),
        ({"url": "http://127.0.0.1", "timeout": 0}, tl.InputError),
    ],
)
def test_addresses_that_are_none(arguments, error):
    with pytest.raises(error):
        tl.Nominatim(**arguments)
