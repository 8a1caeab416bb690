"""Alerts are notes on the rides that they name: equal to a plain reading of the feed and of the message."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import towns
from tests.support.worlds import at
from traveltime_lab.itinerary import Ride
from traveltime_lab.realtime import ride_alerts

DAY = "20260302"
MIDNIGHT = 1_772_409_600
#: The feed in plain Python: trips with their routes, and stops with their stations.
TRIPS = {
    "t0": {"route_id": "R0", "agency_id": "X", "route_type": 3, "direction_id": 0, "start": 28_800},
    "t1": {"route_id": "R1", "agency_id": "Y", "route_type": 1, "direction_id": 1, "start": 29_400},
    "t2": {"route_id": "R2", "agency_id": "X", "route_type": 3, "direction_id": 0, "start": 36_000},
}
STATIONS = {"a": "A", "b": "B"}
STOPS = """stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
A,A,{a},1,
B,B,{b},1,
a,a,{a},,A
b,b,{b},,B
c,c,{c},,"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """A bus from a to b at 8:00, one on to c at 8:10, and from 10:00 one from a to b every ten minutes."""
    places = dict(zip("abc", at((0.0, 0.0), (3000.0, 0.0), (6000.0, 0.0)), strict=True))
    trips = [*towns.TRIPS, [("a", 36_000), ("b", 36_300)]]
    feed = towns.timetable(
        tmp_path_factory.mktemp("feed"), towns.STOPS, trips,
        stops=STOPS.format(**{name: f"{point.y:.7f},{point.x:.7f}" for name, point in places.items()}),
        agency="agency_id,agency_name,agency_url,agency_timezone\nX,X,http://x,UTC\nY,Y,http://y,UTC",
        routes="route_id,route_short_name,route_type,agency_id\nR0,0,3,X\nR1,1,1,Y\nR2,2,3,X",
        trips="route_id,service_id,trip_id,direction_id\nR0,daily,t0,0\nR1,daily,t1,1\nR2,daily,t2,0",
        frequencies="trip_id,start_time,end_time,headway_secs,exact_times\nt2,10:00:00,12:00:00,600,1",
    )  # fmt: skip
    return tl.build_network(towns.STREETS, gtfs=feed, timezone="UTC")


def concerns(alert: dict[str, Any], now: int | None, ride: Ride, start: int) -> bool:
    """Return whether an alert of a message is about a ride whose trip starts at a time by the timetable."""
    name = ride.trip_id.partition("@")[0]
    trip = TRIPS[name]

    def is_active(begin: float, end: float) -> bool:
        periods = alert.get("active_period") or [{"start": now or 0}]
        return any(end >= each.get("start", 0) and begin < each.get("end", 10**11) for each in periods)

    def clock(text: str) -> int:
        hours, minutes, seconds = map(int, text.split(":"))
        return 3600 * hours + 60 * minutes + seconds

    board, alight = ride.board.time.timestamp(), ride.alight.time.timestamp()
    for entity in alert["informed_entity"]:
        inner = entity.get("trip", {})
        if not {*entity} - {"trip"} and not {*inner} - {"start_date", "start_time"}:
            continue
        checks = [
            all(
                entity[name] == trip[name]
                for name in ("route_id", "agency_id", "route_type", "direction_id")
                if name in entity
            ),
            all(inner[name] == trip[name] for name in ("route_id", "direction_id") if name in inner),
            inner.get("trip_id", name) == name,
            inner.get("start_date", DAY) == DAY,
            "start_time" not in inner or clock(inner["start_time"]) == start,
        ]
        if not all(checks):
            continue
        if "stop_id" not in entity:
            if is_active(board, alight):
                return True
            continue
        for stop, when in ((ride.board.stop_id, board), (ride.alight.stop_id, alight)):
            if entity["stop_id"] in (stop, STATIONS.get(stop)) and is_active(when, when):
                return True
    return False


def random_alert(dice: random.Random) -> dict[str, Any]:
    def entity() -> dict[str, Any]:
        found: dict[str, Any] = {}
        fields = {
            "route_id": ["R0", "R1", "R2", "R9"], "agency_id": ["X", "Y"], "stop_id": ["a", "b", "c", "A", "B", "z"],
            "route_type": [1, 3], "direction_id": [0, 1],
        }  # fmt: skip
        for name in dice.sample([*fields], dice.choice([0, 1, 1, 1, 2, 3])):
            found[name] = dice.choice(fields[name])
        inner = {
            "trip_id": ["t0", "t1", "t2", "t9"], "route_id": ["R0", "R2"], "direction_id": [0, 1],
            "start_date": [DAY, "20260303"], "start_time": ["08:00:00", "08:10:00", "10:20:00", "10:00:00"],
        }  # fmt: skip
        chosen = dice.sample([*inner], dice.choice([0, 0, 1, 2, 3]))
        if chosen:
            found["trip"] = {name: dice.choice(inner[name]) for name in chosen}
        return found

    alert: dict[str, Any] = {"informed_entity": [entity() for _ in range(dice.choice([1, 1, 2, 3]))]}
    hours = [8, 8.02, 8.05, 8.1, 8.15, 8.2, 8.3, 10, 10.3, 10.4, 10.5, 12]
    periods = []
    for _ in range(dice.choice([0, 1, 1, 2])):
        start, end = sorted(dice.sample(hours, 2))
        period = {"start": MIDNIGHT + round(start * 3600), "end": MIDNIGHT + round(end * 3600)}
        if dice.random() < 0.3:
            del period[dice.choice(["start", "end"])]
        periods.append(period)
    if periods:
        alert["active_period"] = periods
    return alert


def message(alerts: list[dict[str, Any]], now: int | None, *updates: dict[str, Any]) -> bytes:
    header = {} if now is None else {"timestamp": now}
    entities = [{"id": f"a{i}", "alert": alert} for i, alert in enumerate(alerts)]
    entities += [{"id": f"u{i}", "trip_update": update} for i, update in enumerate(updates)]
    return json.dumps({"header": header, "entity": entities}).encode()


def rides(network: tl.Network, when: str, how: str = "departure_time", **more: Any) -> list[Ride]:
    places = at((0.0, 0.0), (6000.0, 0.0)) if when < "2026-03-02T09" else at((0.0, 0.0), (3000.0, 0.0))
    found = tl.routes(
        network, places.iloc[:1], places.iloc[1:], transportation={"type": "public_transport", **more}, **{how: when}
    )
    legs = [leg.ride for leg in found["route"].iloc[0].legs if leg.ride is not None]
    assert legs
    return legs


@pytest.mark.parametrize("delay", [0, 30, 240])
@pytest.mark.parametrize("now", [None, MIDNIGHT + 29_500])
def test_alerts_equal_a_plain_reading(
    planned: tl.Network, now: int | None, delay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ride_alerts, "MOST_ALERTS", 400)
    dice = random.Random(f"{now} {delay}")
    alerts = [random_alert(dice) for _ in range(400)]
    late = [
        {"trip": {"trip_id": "t0", "start_date": DAY}, "delay": delay},
        {"trip": {"trip_id": "t2", "start_date": DAY, "start_time": "10:20:00"}, "delay": delay},
    ]
    network = planned.with_updates(message(alerts, now, *(late if delay else [])))
    compared = 0
    seen = set()
    for when, how in (
        ("2026-03-02T08:00:00", "departure_time"),
        ("2026-03-02T10:20:00", "departure_time"),
        ("2026-03-02T10:26:00", "arrival_time"),
    ):
        for ride in rides(network, when, how):
            seen.add(ride.trip_id)
            name, _, repetition = ride.trip_id.partition("@")
            start = round(ride.board.time.timestamp()) - MIDNIGHT
            if name != "t2" or repetition:
                start = TRIPS[name]["start"] + (1200 if repetition else 0)
            expected = [f"a{i}" for i, alert in enumerate(alerts) if concerns(alert, now, ride, start)]
            assert [each.entity for each in ride.alerts] == expected
            compared += len(expected)
    assert compared > 100 and ("t2@10:20:00" in seen) == (delay > 0)


def named(**trip: Any) -> dict[str, Any]:
    return {"informed_entity": [{"trip": trip}]}


@pytest.mark.slow
@pytest.mark.parametrize("exact", [0, 1])
def test_runs_of_their_own_have_the_alerts_on_their_trip(tmp_path: Path, exact: int) -> None:
    """A repetition, or a trip, that is late, is replaced or runs once more is named as in the timetable."""
    trips = [[("a", 28_800), ("b", 29_100)], [("a", 36_000), ("b", 36_300)]]
    frequencies = f"trip_id,start_time,end_time,headway_secs,exact_times\nt1,10:00:00,12:00:00,600,{exact}"
    feed = towns.timetable(tmp_path, towns.STOPS, trips, frequencies=frequencies)
    network = tl.build_network(towns.STREETS, gtfs=feed, timezone="UTC")
    starts = ["08:00:00", "10:10:00", "10:20:00", "10:19:00", "08:05:00"]
    alerts = [named(trip_id=name) for name in ("t0", "t1", "new")]
    alerts += [named(trip_id=name, start_time=start) for name in ("t0", "t1", "new") for start in starts]
    alerts += [named(trip_id="t1", start_date="20260303")]

    def found(when: str, **update: Any) -> tuple[str, set[int]]:
        places = at((0.0, 0.0), (3000.0, 0.0))
        how: Any = {"transportation": "bus", "departure_time": when}
        routes = tl.routes(network.with_updates(message(alerts, None, update)), places[:1], places[1:], **how)
        (ride,) = (leg.ride for leg in routes["route"].iloc[0].legs if leg.ride is not None)
        return ride.trip_id, {int(each.entity[1:]) for each in ride.alerts}

    def expected(name: str, *given: str) -> set[int]:
        at = ("t0", "t1", "new").index(name)
        return {at, *(3 + 5 * at + starts.index(start) for start in given)}

    run = {"trip_id": "t1", "start_date": DAY, "start_time": "10:20:00"}
    calls = [{"stop_id": name, "departure": {"time": MIDNIGHT + time}} for name, time in (("a", 37_230), ("b", 37_500))]
    early = [{"stop_id": name, "departure": {"time": MIDNIGHT + time}} for name, time in (("a", 28_860), ("b", 29_100))]
    assert found("2026-03-02T10:20:00", trip=run, delay=60) == ("t1@10:20:00", expected("t1", "10:20:00"))
    if not exact:
        loose = {**run, "start_time": "10:19:00"}
        assert found("2026-03-02T10:18:30", trip=loose, delay=60) == (
            "t1@10:19:00",
            expected("t1", "10:19:00", "10:20:00"),
        )
    new = {
        "trip_id": "new",
        "route_id": "R0",
        "start_date": DAY,
        "start_time": "10:20:00",
        "schedule_relationship": "NEW",
    }
    assert found("2026-03-02T10:20:20", trip=new, stop_time_update=calls) == ("new", expected("new", "10:20:00"))
    again = {"trip_id": "t0", "start_date": DAY, "schedule_relationship": "DUPLICATED"}
    properties = {"trip_id": "new", "start_date": DAY, "start_time": "08:05:00"}
    later = found("2026-03-02T08:01:00", trip=again, trip_properties=properties)
    assert later == ("new", expected("new", "08:05:00"))
    instead = {"trip_id": "t0", "start_date": DAY, "schedule_relationship": "REPLACEMENT"}
    assert found("2026-03-02T07:59:00", trip=instead, stop_time_update=early) == ("t0", expected("t0", "08:00:00"))
    assert found("2026-03-02T07:59:00", trip={"trip_id": "t0", "start_date": DAY}, delay=60) == (
        "t0",
        expected("t0", "08:00:00"),
    )


@pytest.mark.parametrize("length", [60, 1, 0, -60])
def test_empty_periods(planned: tl.Network, length: int) -> None:
    period = {"start": MIDNIGHT + 28_860, "end": MIDNIGHT + 28_860 + length}
    alert = {"informed_entity": [{"route_id": "R0"}], "active_period": [period]}
    closure = {**alert, "effect": "NO_SERVICE"}
    network = planned.with_updates(message([alert, closure], None))
    ride = rides(network, "2026-03-02T08:00:00")[0]
    assert [each.entity for each in ride.alerts] == (["a0", "a1"] if length > 0 else [])
    said = network.updates.alerts["result"].iloc[1]
    assert ("an active_period is empty" in said) == (length <= 0)


def test_many_alerts_and_long_texts(planned: tl.Network) -> None:
    """The most specific ones are kept, in the order of the message, and texts that are cut say so."""

    def alert(text: str, **selector: Any) -> dict[str, Any]:
        words = {"translation": [{"text": text * 5000}]}
        return {"informed_entity": [selector], "header_text": words, "description_text": words}

    broad = [alert("x", agency_id="X")] * 30 + [alert("x", route_type=3)] * 5
    narrow = [alert("y", trip={"trip_id": "t0"}), alert("y", stop_id="a"), alert("y", route_id="R0")]
    network = planned.with_updates(message([*broad, *narrow], None))
    ride = rides(network, "2026-03-02T08:00:00")[0]
    assert [each.entity for each in ride.alerts] == [f"a{i}" for i in (*range(17), 35, 36, 37)]
    assert ride.alerts[-1].header == "y" * 297 + "..." and ride.alerts[-1].description == "y" * 997 + "..."
    assert len(network.updates.alerts) == 38 and len(network.updates.alerts["header"].iloc[0]) == 5000


@pytest.mark.parametrize(
    ("translations", "expected"),
    [
        ([("en", ""), ("de", "Umleitung")], "Umleitung"),
        ([("en", " "), ("", "Detour")], "Detour"),
        ([("en-html", "<b>Detour</b>"), ("en", "Detour")], "Detour"),
        ([("EN-HTML", "<b>Detour</b>"), ("de", "Umleitung")], "Umleitung"),
        ([("en-html", "<b>Detour</b>")], "<b>Detour</b>"),
        ([("en", "\x1b[2J\x1b]0;x\x07\u202ereached\x85\x00\u200b\nnow\u200c")], "[2J]0;xreached\nnow\u200c"),
    ],
)
def test_texts_of_alerts(planned: tl.Network, translations: list[tuple[str, str]], expected: str) -> None:
    words = {"translation": [{"language": code, "text": text} for code, text in translations]}
    alert = {"informed_entity": [{"route_id": "R0"}], "header_text": words, "description_text": words}
    network = planned.with_updates(message([alert], None))
    (said,) = rides(network, "2026-03-02T08:00:00")[0].alerts
    assert said.header == said.description == expected == network.updates.alerts["header"].iloc[0]


@pytest.mark.parametrize(
    ("url", "expected"),
    [("HTTPS://x/1", True), ("http://x", True), ("javascript:alert(1)", False), ("data:text/html,x", False),
     ("//x", False), (" javascript:http://x", False), ("http://x/" + "y" * 2000, False)],
)  # fmt: skip
def test_addresses_of_alerts(planned: tl.Network, url: str, expected: bool) -> None:
    alert = {"informed_entity": [{"route_id": "R0"}], "url": {"translation": [{"text": url}]}}
    (said,) = rides(planned.with_updates(message([alert], None)), "2026-03-02T08:00:00")[0].alerts
    assert said.url == (url if expected else "")


def test_headways_that_are_averages(planned: tl.Network) -> None:
    network = planned.with_updates(message([{"informed_entity": [{"route_id": "R0"}, {"stop_id": "b"}]}], None))
    (ride,) = rides(network, "2026-03-02T10:20:00", headways="average")
    assert [each.entity for each in ride.alerts] == ["a0"]


def test_several_feeds(tmp_path: Path) -> None:
    """An id or type that two feeds have is of neither, unless the message is of one."""
    feeds = []
    for name, trips in {"one": towns.TRIPS[:1], "two": [[("b", 29_400), ("c", 29_700)]]}.items():
        path = towns.timetable(tmp_path, towns.STOPS, trips)
        feeds.append(path.rename(path.with_stem(name)))
    network = tl.build_network(towns.STREETS, gtfs=feeds, timezone="UTC")
    by_route = message([{"informed_entity": [{"route_id": "R0"}]}], None)
    typed = message([{"informed_entity": [{"route_type": 3}]}], None)

    def n_alerts(source: Any) -> int:
        return sum(len(ride.alerts) for ride in rides(network.with_updates(source), "2026-03-02T08:00:00"))

    for each in (by_route, typed):
        assert n_alerts(each) == 0 and n_alerts({"one": each}) == n_alerts({"two": each}) == 1


def test_what_an_alert_says(planned: tl.Network) -> None:
    texts = [("de", "Umleitung"), ("", "Detour?"), ("en-GB", "Detour\nhere")]
    alert = {
        "informed_entity": [{"agency_id": "X"}, {"route_id": "R1"}], "effect": "DETOUR", "cause": "CONSTRUCTION",
        "header_text": {"translation": [{"language": code, "text": text} for code, text in texts]},
        "url": {"translation": [{"text": "http://x/1"}]},
    }  # fmt: skip
    network = planned.with_updates(message([alert], None))
    places = at((0.0, 0.0), (6000.0, 0.0))
    how: dict[str, Any] = {"transportation": "public_transport", "departure_time": "2026-03-02T08:00:00"}
    found = tl.routes(network, places.iloc[:1], places.iloc[1:], properties=["alerts", "route"], **how)
    (said,) = found["alerts"].iloc[0]
    assert said == tl.Alert("Detour\nhere", "", "http://x/1", "DETOUR", "CONSTRUCTION", "a0", "the message")
    assert str(said) == "Detour here" and found["route"].iloc[0].alerts == (said,)
    explanation = tl.explain(network, places.iloc[:1], places.iloc[1:], travel_time=3600, **how)
    assert explanation.codes == ("made_of", "alert")
    assert str(explanation).splitlines()[-1] == "Alert about bus 0 and underground 1: Detour here"
    assert explanation.reasons[-1].data["alert"] == said
    without = tl.routes(planned, places.iloc[:1], places.iloc[1:], properties=["alerts"], **how)
    assert without["alerts"].iloc[0] == ()
    assert pickle.loads(pickle.dumps(network.updates)).alerts.equals(network.updates.alerts)
    assert str(tl.Alert("", "First\nsecond")) == "First" and str(tl.Alert("", effect="NO_SERVICE")) == "No service"


@pytest.mark.thorough
def test_explain_says_that_the_plan_would_do(planned: tl.Network) -> None:
    gone = {"trip": {"trip_id": "t0", "start_date": DAY, "schedule_relationship": "CANCELED"}}
    network = planned.with_updates(message([], None, gone))
    places = at((0.0, 0.0), (3000.0, 0.0))
    how: dict[str, Any] = {
        "travel_time": 900, "transportation": "bus", "departure_time": dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC),
    }  # fmt: skip
    explanation = tl.explain(network, places.iloc[:1], places.iloc[1:], **how)
    assert "live_updates" in explanation.codes
    assert "By the planned timetable it takes 5 min; live updates have changed that." in str(explanation)
    assert (
        "live_updates" not in tl.explain(planned, places.iloc[:1], places.iloc[1:], **how | {"travel_time": 60}).codes
    )


def test_the_service_has_them_on_request(planned: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("starlette", reason="the extra 'server' is not installed")
    import msgspec

    from tests.support.door import PAIR, locations, matrix_search, ok, open_door
    from traveltime_lab.server.app import create_app
    from traveltime_lab.server.atlas import Atlas
    from traveltime_lab.server.auth import Credentials
    from traveltime_lab.server.contract.responses import Matrix
    from traveltime_lab.server.endpoints import ways

    alert = {"informed_entity": [{"route_id": "R1"}], "header_text": {"translation": [{"text": "Works"}]}}
    network = planned.with_updates(message([alert], None))
    ends = [(point.y, point.x) for point in at((0.0, 0.0), (6000.0, 0.0))]
    search = {"transportation": {"type": "public_transport"}, "departure_time": "2026-03-02T08:00:00Z"}
    with open_door(create_app(Atlas(network), Credentials([PAIR]))) as door:

        def asked(path: str, *names: str, **more: Any) -> dict[str, Any]:
            about = matrix_search(**{**search, **more}, properties=list(names), travel_time=7200)
            body = ok(door.post(path, {"locations": locations(*ends), "departure_searches": [about]}))
            msgspec.convert(body, Matrix)
            found: dict[str, Any] = body["results"][0]["locations"][0]["properties"][0]
            return found

        for path in ("/v4/routes", "/v4/time-filter"):
            found = asked(path, "route", "alerts")
            (said,) = found["alerts"]
            assert said["header"] == "Works" and {*said} == {"route_part_ids", "effect", "cause", "header"}
            assert [found["route"]["parts"][i]["line"] for i in said["route_part_ids"]] == ["1"]
            plain = asked(path, "route")
            assert plain == {"route": found["route"]}, "clients that do not request them see no difference"
            assert asked(path, "alerts", transportation={"type": "walking"}) == {"alerts": []}
        with monkeypatch.context() as patch:
            patch.setattr(ways, "_routed", lambda *_, **__: pytest.fail("routes are made"))
            for mode in ("walking", "cycling", "driving", "ferry", "driving+ferry"):
                found = asked("/v4/time-filter", "travel_time", "alerts", transportation={"type": mode})
                assert found["alerts"] == [] and found["travel_time"] > 0
        with open_door(create_app(Atlas(planned), Credentials([PAIR]))) as other:
            body = {
                "locations": locations(*ends),
                "departure_searches": [matrix_search(**search, properties=["route"])],
            }
            assert ok(other.post("/v4/routes", body)) == ok(door.post("/v4/routes", body))
