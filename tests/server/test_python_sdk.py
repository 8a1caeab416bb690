"""The public Python client, sync, async and Protocol Buffers: every method it has, against a served sample."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.door import FORUM, MARKET, STATION
from traveltime_lab.server.serve import Served

traveltimepy = pytest.importorskip("traveltimepy", reason="the public Python client is not installed")

from traveltimepy import AsyncClient, Client  # noqa: E402
from traveltimepy.errors import TravelTimeJsonError, TravelTimeProtoError  # noqa: E402
from traveltimepy.requests import (  # noqa: E402
    common,
    distance_map,
    geohash,
    geohash_fast,
    geohash_fast_proto,
    h3,
    h3_fast,
    level_of_detail,
    postcodes,
    postcodes_zones,
    routes,
    time_filter,
    time_filter_fast,
    time_filter_proto,
    time_map,
    time_map_fast,
    transportation,
)

MONDAY = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC)
HERE = common.Coordinates(lat=STATION[0], lng=STATION[1])
LOCATIONS = [
    common.Location(id=name, coords=common.Coordinates(lat=place[0], lng=place[1]))
    for name, place in {"station": STATION, "forum": FORUM, "market": MARKET, "far": (60.1690, 24.9290)}.items()
]
WALK = transportation.Walking()
FAST_WALK = transportation.WalkingFast()
TRAVEL_TIME = common.Property.TRAVEL_TIME
DISTANCE = common.Property.DISTANCE

Ask = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, secure: Served) -> Iterator[Ask]:
    """Calls a method of either client by name."""
    host = f"{secure.host}:{secure.port}"
    arguments: dict[str, Any] = {"use_ssl": False, "max_rpm": 1_000_000, "_host": host, "_proto_host": host}

    def call_sync(method: str, *args: Any, key: str = secure.api_key, **kwargs: Any) -> Any:
        with warnings.catch_warnings(), Client(secure.app_id, key, **arguments) as client:
            # The client does not look at certificates, and says so at each request.
            warnings.simplefilter("ignore")
            return getattr(client, method)(*args, **kwargs)

    def call_async(method: str, *args: Any, key: str = secure.api_key, **kwargs: Any) -> Any:
        async def call() -> Any:
            async with AsyncClient(secure.app_id, key, **arguments) as client:
                return await getattr(client, method)(*args, **kwargs)

        with warnings.catch_warnings():
            # The client uses a class that aiohttp advises against.
            warnings.simplefilter("ignore")
            return asyncio.run(call())

    yield call_sync if request.param == "sync" else call_async


#: Methods that a test below calls; the last test compares it with what the client has.
CALLED = {
    "time_filter", "time_filter_fast", "time_filter_fast_proto", "geohash_fast_proto", "map_info", "geocoding",
    "reverse_geocoding", "supported_locations", "time_map", "time_map_geojson", "time_map_wkt",
    "time_map_wkt_no_holes", "time_map_fast", "time_map_fast_geojson", "time_map_fast_wkt",
    "time_map_fast_wkt_no_holes", "h3", "h3_fast", "geohash", "geohash_fast", "postcodes", "postcode_districts",
    "postcode_sectors", "routes", "distance_map",
}  # fmt: skip


def test_every_method_is_called() -> None:
    for client in (Client, AsyncClient):
        methods = {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}
        assert methods - {"close"} == CALLED


def test_time_filter(ask: Ask) -> None:
    departure = time_filter.TimeFilterDepartureSearch(
        id="out", departure_location_id="station", arrival_location_ids=["forum", "market"], departure_time=MONDAY,
        travel_time=1800, transportation=WALK, properties=[TRAVEL_TIME, DISTANCE],
    )  # fmt: skip
    arrival = time_filter.TimeFilterArrivalSearch(
        id="back", arrival_location_id="station", departure_location_ids=["forum", "market"], arrival_time=MONDAY,
        travel_time=300, transportation=transportation.Driving(), properties=[TRAVEL_TIME],
    )  # fmt: skip
    answer = ask("time_filter", LOCATIONS, [departure], [arrival])
    assert [result.search_id for result in answer.results] == ["back", "out"]
    out = answer.results[1]
    assert [location.id for location in out.locations] == ["forum", "market"] and out.unreachable == []
    assert all(location.properties[0].travel_time > 0 for location in out.locations)
    assert all(location.properties[0].distance > 0 for location in out.locations)


def test_time_filter_fast(ask: Ask) -> None:
    def search(kind: Any, **ends: Any) -> Any:
        return kind(
            **ends, transportation=FAST_WALK, travel_time=600, properties=[TRAVEL_TIME, DISTANCE],
            snapping=common.Snapping(penalty=common.SnappingPenalty.DISABLED),
        )  # fmt: skip

    searches = time_filter_fast.TimeFilterFastArrivalSearches(
        one_to_many=[
            search(
                time_filter_fast.TimeFilterFastOneToMany,
                id="a",
                departure_location_id="station",
                arrival_location_ids=["forum", "market", "far"],
            )
        ],
        many_to_one=[
            search(
                time_filter_fast.TimeFilterFastManyToOne,
                id="b",
                arrival_location_id="station",
                departure_location_ids=["forum"],
            )
        ],
    )
    answer = ask("time_filter_fast", LOCATIONS, searches)
    first, second = answer.results
    assert (first.search_id, second.search_id) == ("a", "b")
    assert {location.id for location in first.locations} | set(first.unreachable) == {"forum", "market", "far"}
    assert first.locations[0].properties.travel_time > 0 and first.locations[0].properties.distance > 0


@pytest.mark.parametrize("detail", [None, "simple", "numeric", "grid"])
def test_time_map(ask: Ask, detail: str | None) -> None:
    levels = {
        "simple": level_of_detail.SimpleLevelOfDetail(level=level_of_detail.Level.MEDIUM),
        "numeric": level_of_detail.SimpleNumericLevelOfDetail(level=-5),
        "grid": level_of_detail.CoarseGridLevelOfDetail(square_size=600),
    }
    more = {} if detail is None else {"level_of_detail": level_of_detail.LevelOfDetail(scale_type=levels[detail])}
    out = time_map.TimeMapDepartureSearch(
        id="b", coords=HERE, departure_time=MONDAY, travel_time=300, transportation=WALK, **more
    )
    back = time_map.TimeMapArrivalSearch(
        id="a", coords=HERE, arrival_time=MONDAY, travel_time=300, transportation=WALK, **more
    )
    both = {"search_ids": ["a", "b"]}
    answer = ask(
        "time_map", [back], [out],
        [time_map.TimeMapUnion(id="u", **both)], [time_map.TimeMapIntersection(id="i", **both)],
    )  # fmt: skip
    assert [result.search_id for result in answer.results] == ["a", "b", "i", "u"]
    for result in answer.results:
        for shape in result.shapes:
            assert shape.shell[0] == shape.shell[-1] and len(shape.shell) > 3


@pytest.mark.parametrize("form", ["geojson", "wkt", "wkt_no_holes"])
def test_time_map_formats(ask: Ask, form: str) -> None:
    search = time_map.TimeMapDepartureSearch(
        id="a", coords=HERE, departure_time=MONDAY, travel_time=300, transportation=WALK
    )
    fast = time_map_fast.TimeMapFastSearch(id="a", coords=HERE, travel_time=300, transportation=FAST_WALK)
    slow = ask(f"time_map_{form}", [], [search])
    searches = time_map_fast.TimeMapFastArrivalSearches(one_to_many=[fast], many_to_one=[])
    quick = ask(f"time_map_fast_{form}", searches)
    for answer in (slow, quick):
        if form == "geojson":
            (feature,) = answer.features
            assert feature.geometry.type == "MultiPolygon" and feature.properties == {"search_id": "a"}
        else:
            assert [result.search_id for result in answer.results] == ["a"]


def test_time_map_fast(ask: Ask) -> None:
    def search(name: str) -> Any:
        return time_map_fast.TimeMapFastSearch(id=name, coords=HERE, travel_time=300, transportation=FAST_WALK)

    answer = ask(
        "time_map_fast",
        time_map_fast.TimeMapFastArrivalSearches(one_to_many=[search("a")], many_to_one=[search("b")]),
        [time_map_fast.TimeMapFastUnion(id="c", search_ids=["a", "b"])],
        [],
    )
    assert [result.search_id for result in answer.results] == ["a", "b", "c"]


def test_distance_map(ask: Ask) -> None:
    search = distance_map.DistanceMapDepartureSearch(
        id="a", coords=HERE, departure_time=MONDAY, travel_distance=400, transportation=WALK
    )
    answer = ask("distance_map", [], [search], [], [])
    assert answer.results[0].shapes[0].shell


def test_many_searches_are_split_and_merged(ask: Ask) -> None:
    searches = [
        time_map.TimeMapDepartureSearch(
            id=f"{i:02d}", coords=HERE, departure_time=MONDAY, travel_time=60, transportation=WALK
        )
        for i in range(12)
    ]
    answer = ask("time_map", [], searches, [], [])
    assert [result.search_id for result in answer.results] == [f"{i:02d}" for i in range(12)]


def test_maps(ask: Ask) -> None:
    assert [item.name for item in ask("map_info")] == ["helsinki", "porto_alegre"]
    sea = common.Location(id="sea", coords=common.Coordinates(lat=40.0, lng=-40.0))
    answer = ask("supported_locations", [*LOCATIONS[:1], sea])
    assert answer.locations[0].map_name == "helsinki" and answer.unsupported_locations == ["sea"]


def test_postcodes(ask: Ask) -> None:
    search = postcodes.PostcodeDepartureSearch(
        id="a", coords=HERE, departure_time=MONDAY, travel_time=600, transportation=WALK,
        properties=[TRAVEL_TIME, DISTANCE],
    )  # fmt: skip
    answer = ask("postcodes", arrival_searches=[], departure_searches=[search])
    assert {item.code for item in answer.results[0].postcodes} >= {"HE1 1AA", "HE1 2AA"}
    zone = postcodes_zones.PostcodeFilterArrivalSearch(
        id="z", coords=HERE, arrival_time=MONDAY, travel_time=900, transportation=WALK,
        properties=list(postcodes_zones.ZonesProperty),
    )  # fmt: skip
    districts = ask("postcode_districts", arrival_searches=[zone], departure_searches=[])
    found = {item.code: item.properties for item in districts.results[0].districts}
    assert found["he1"].coverage == 100.0 and found["he1"].travel_time_all.max > 0
    assert found["he2"].coverage == 50.0
    sectors = ask("postcode_sectors", arrival_searches=[zone], departure_searches=[])
    assert {"he11", "he12"} <= {item.code for item in sectors.results[0].sectors}


@pytest.mark.parametrize("system", ["h3", "geohash"])
def test_cells(ask: Ask, system: str) -> None:
    slow, quick = (h3, h3_fast) if system == "h3" else (geohash, geohash_fast)
    prefix = "H3" if system == "h3" else "GeoHash"
    centre: Any = common.H3Centroid(h3_centroid="891126d3317ffff")
    if system == "geohash":
        centre = common.GeohashCentroid(geohash_centroid="ud9wr9")
    resolution = 9 if system == "h3" else 7
    out = getattr(slow, f"{prefix}DepartureSearch")(
        id="a", coords=HERE, departure_time=MONDAY, travel_time=300, transportation=WALK
    )
    back = getattr(slow, f"{prefix}ArrivalSearch")(
        id="b", coords=HERE, arrival_time=MONDAY, travel_time=300, transportation=WALK
    )
    properties = list(common.CellProperty)
    union = getattr(slow, f"{prefix}Union")(id="u", search_ids=["a", "b"])
    answer = ask(system, [back], [out], properties, resolution, [union], [])
    assert [result.search_id for result in answer.results] == ["a", "b", "u"]
    for cell in answer.results[0].cells:
        assert 0 <= cell.properties.min <= cell.properties.mean <= cell.properties.max <= 300
    fast = getattr(quick, f"{prefix}FastSearch")(id="f", coords=centre, travel_time=300, transportation=FAST_WALK)
    searches = getattr(quick, f"{prefix}FastArrivalSearches")(one_to_many=[fast], many_to_one=[])
    answer = ask(f"{system}_fast", searches, properties, resolution)
    assert answer.results[0].cells


def test_routes(ask: Ask) -> None:
    search = routes.RoutesDepartureSearch(
        id="r", departure_location_id="station", arrival_location_ids=["forum"], departure_time=MONDAY,
        transportation=WALK, properties=[TRAVEL_TIME, DISTANCE, common.Property.ROUTE],
    )  # fmt: skip
    answer = ask("routes", LOCATIONS, [], [search])
    (way,) = answer.results[0].locations[0].properties
    assert way.route.parts[0].coords and way.travel_time > 0


def test_geocoding(ask: Ask) -> None:
    found = ask("geocoding", "Rautatieasema", limit=3, format_name=True)
    assert found.features
    found = ask("reverse_geocoding", *STATION)
    assert found.features


@pytest.mark.parametrize("with_distance", [True, False])
@pytest.mark.parametrize("kind", list(time_filter_proto.RequestType))
def test_matrix_proto(ask: Ask, kind: Any, with_distance: bool) -> None:
    answer = ask(
        "time_filter_fast_proto", HERE, [location.coords for location in LOCATIONS[1:]],
        time_filter_proto.ProtoTransportation.WALKING, 500, kind, time_filter_proto.ProtoCountry.FINLAND, with_distance,
    )  # fmt: skip
    assert len(answer.travel_times) == 3 and answer.travel_times[0] > 0
    assert len(answer.distances) == (3 if with_distance else 0)


@pytest.mark.parametrize("transport", list(time_filter_proto.ProtoTransportation))
def test_transports_proto(ask: Ask, transport: Any) -> None:
    def call() -> Any:
        return ask(
            "time_filter_fast_proto", HERE, [HERE], transport, 500, time_filter_proto.RequestType.ONE_TO_MANY,
            time_filter_proto.ProtoCountry.FINLAND, False,
        )  # fmt: skip

    if "PUBLIC_TRANSPORT" in transport.name:
        with pytest.raises(TravelTimeProtoError) as caught:
            call()
        assert (caught.value.status_code, caught.value.error_code) == (422, "9")
    else:
        assert call().travel_times == [0]


def test_geohash_proto(ask: Ask) -> None:
    answer = ask(
        "geohash_fast_proto", HERE, time_filter_proto.ProtoTransportation.WALKING, 300,
        time_filter_proto.RequestType.MANY_TO_ONE, time_filter_proto.ProtoCountry.FINLAND, 7,
        list(geohash_fast_proto.ProtoCellProperty),
    )  # fmt: skip
    assert len(answer.ids) == len(answer.mean_travel_times) > 0


def test_errors(ask: Ask) -> None:
    with pytest.raises(TravelTimeJsonError) as caught:
        ask("map_info", key="wrong")
    assert (caught.value.status_code, int(caught.value.error_code)) == (401, 10)
    sea = common.Coordinates(lat=40.0, lng=-40.0)
    search = time_map.TimeMapDepartureSearch(
        id="sea", coords=sea, departure_time=MONDAY, travel_time=300, transportation=WALK
    )
    with pytest.raises(TravelTimeJsonError) as caught:
        ask("time_map", [], [search], [], [])
    assert (caught.value.status_code, int(caught.value.error_code)) == (422, 16)
    # The client puts description and link among the details.
    assert caught.value.additional_info["search_id"] == ["sea"]
    search = search.model_copy(update={"coords": HERE, "transportation": transportation.PublicTransport()})
    with pytest.raises(TravelTimeJsonError) as caught:
        ask("time_map", [], [search], [], [])
    assert (caught.value.status_code, int(caught.value.error_code)) == (422, 15)
    with pytest.raises(TravelTimeJsonError) as caught:
        ask("time_map", [], [search.model_copy(update={"travel_time": 20_000})], [], [])
    assert (caught.value.status_code, int(caught.value.error_code)) == (422, 2)
    assert "obj.departure_searches[0].travel_time" in caught.value.additional_info
    with pytest.raises(TravelTimeProtoError) as failed:
        ask(
            "time_filter_fast_proto", sea, [sea], time_filter_proto.ProtoTransportation.DRIVING, 900,
            time_filter_proto.RequestType.ONE_TO_MANY, time_filter_proto.ProtoCountry.FINLAND, False,
        )  # fmt: skip
    assert (failed.value.status_code, failed.value.error_code) == (422, "4")
    assert failed.value.error_message == "SOURCE_NOT_IN_GEOMETRY"


def test_naive_moments_are_utc(ask: Ask) -> None:
    answers = [
        ask(
            "time_filter",
            LOCATIONS,
            [
                time_filter.TimeFilterDepartureSearch(
                    id="a",
                    departure_location_id="station",
                    arrival_location_ids=["market"],
                    departure_time=moment,
                    travel_time=3600,
                    transportation=transportation.Driving(),
                    properties=[TRAVEL_TIME],
                )
            ],
            [],
        )
        for moment in (MONDAY.replace(tzinfo=None), MONDAY)
    ]
    assert answers[0] == answers[1]
