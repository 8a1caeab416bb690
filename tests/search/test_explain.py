"""Why pairs are unreachable or slow, reason by reason, and that the nearest request does reach."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.towns import MEANS, ON_FOOT, timetable, towns
from tests.support.worlds import FRAME, at, tables, world
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.question import Question
from traveltime_lab.search.explain import relaxations
from traveltime_lab.search.explain.questions import cost
from traveltime_lab.transit.timetable import ServiceWarning

ORIGIN_OF_DAY = "2026-03-03T"  # a Tuesday
AGENCY = """
    agency_id,agency_name,agency_url,agency_timezone
    A,A,https://example.org,{}
"""


def told(network: tl.Network, start: Any, end: Any, **how: Any) -> tl.Explanation:
    """Explain a pair of places in metres; whatever is said of it, `time_filter` must agree."""
    origin, destination = at(start), at(end)
    found = tl.explain(network, origin, destination, **how)
    checked(found, network, origin, destination, **how)
    return found


def checked(found: tl.Explanation, network: tl.Network, origin: Any, destination: Any, **how: Any) -> None:
    """Compare an explanation with `time_filter`."""
    try:
        row = tl.time_filter(network, origin, destination, **how).iloc[0]
        time, short = row["travel_time"], row["reason"]
    except tl.NoServiceError:
        time, short = pd.NA, "outside_timetable"
    assert found.is_reached == (not pd.isna(time))
    assert str(found)
    assert found.reasons
    if found.is_reached:
        assert found.travel_time == time
        assert sum(found.parts.values()) == time
        assert found.nearest_request is None
        return
    assert found.travel_time is None
    assert found.parts or found.n_changes == 0
    if short == "other_component":
        # What `time_filter` infers from parts of the network, `explain` has searched: there may be a way on a one-way
        # street that leads into the network, and then it is too long.
        assert {"other_component", "one_way_trap", "over_limit"} & set(found.codes)
    elif short != "over_limit":
        assert short in found.codes
    if found.nearest_request is not None:
        table = tl.time_filter(network, origin, destination, **found.nearest_request)
        assert table["travel_time"].notna().all(), found
        assert found.advice in str(found)
        for name in ("travel_time", "departure_time", "arrival_time"):
            is_other = found.nearest_request.get(name) != how.get(name)
            assert (f"{name}=" in found.advice) == is_other, found


def unneeded(found: tl.Explanation, network: tl.Network, origin: Any, destination: Any, **how: Any) -> bool:
    """Whether the nearest request changes more than it has to, if it only raises one number; and none is missed."""
    longest = {**how, "travel_time": 14_400}
    if found.nearest_request is None:
        return bool(tl.time_filter(network, origin, destination, **longest)["travel_time"].notna().all())
    request, before = found.nearest_request, as_transportation(how["transportation"])
    means = as_transportation(request["transportation"])
    changed = {name: value for name, value in request.items() if name in ("travel_time",) and value != how[name]}
    for name in (
        "walking_time",
        "driving_time_to_station",
        "cycling_time_to_station",
        "max_changes",
        "direct_walking_time",
    ):
        if getattr(means, name) != getattr(before, name):
            changed[name] = getattr(means, name)
    (name, value), *others = [*changed.items(), ("", 0)]
    if len(others) != 1:
        return False
    less = {**request, name: value - 1} if name == "travel_time" else request
    if name != "travel_time":
        less = {**request, "transportation": replace(means, **{name: value - 1})}
    return bool(tl.time_filter(network, origin, destination, **less)["travel_time"].notna().all())


def reason(found: tl.Explanation, code: str) -> tl.Reason:
    """Return the one reason of a code."""
    (one,) = (each for each in found.reasons if each.code == code)
    return one


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, 0.0),
        ({"travel_time": 1200}, 2.0),
        ({"threshold": 500}, 1.0),
        ({"walking_time": 1860}, 1.0),
        ({"transfer_walking_time": 540}, 1.0),
        ({"max_changes": 3}, 1.0),
        ({"kind": "public_transport"}, 1.0),
        ({"minutes": 90}, 1.5),
        ({"minutes": -90}, 1.5),
        ({"minutes": 12 * 60}, 6.5),
        ({"minutes": 60, "travel_time": 1200}, 3.0),
    ],
)
def test_how_far_requests_are_from_each_other(other: dict[str, Any], expected: float) -> None:
    """Twice as much costs one, or two for the travel time; numbers count with a minute, or 100 m, more."""

    def request(
        *, travel_time: int = 600, threshold: int = 200, minutes: int = 0, kind: str = "bus", **options: Any
    ) -> Question:
        options = {"walking_time": 900, "transfer_walking_time": 240, "max_changes": 1, **options}
        moment = dt.datetime(2026, 3, 3, 12, tzinfo=dt.UTC) + dt.timedelta(minutes=minutes)
        means = tl.Transportation(kind, **options)
        return Question(means, tl.Snapping(threshold=threshold), moment, is_arrival=False, limit=travel_time)

    assert cost(request(), request(**other)) == pytest.approx(expected, abs=1e-9)


class TestStreets:
    # Two kilometres of street for everyone at 5 m/s.
    ROW = ({0: (0, 0), 1: (1000, 0), 2: (2000, 0)}, [(0, 1), (1, 2)])

    def test_over_the_limit(self) -> None:
        found = told(world(*self.ROW), (0, 0), (2000, 0), travel_time=300, transportation="walking")
        assert found.codes == ("over_limit",)
        assert reason(found, "over_limit").data["travel_time"] == pytest.approx(400, abs=1)
        assert reason(found, "over_limit").data["over_by"] == pytest.approx(100, abs=1)
        assert found.nearest_request == {"travel_time": pytest.approx(400, abs=1), "transportation": "walking"}
        assert found.parts == {"walk": pytest.approx(400, abs=1)}

    def test_longer_than_any_limit(self) -> None:
        slow = {"walking_kph": 0.4}
        network = world({0: (0, 0), 1: (1000, 0), 2: (2000, 0)}, [(0, 1, slow), (1, 2, slow)])
        found = told(network, (0, 0), (2000, 0), travel_time=3600, transportation="walking")
        assert reason(found, "over_limit").data["travel_time"] == pytest.approx(18_000, abs=5)
        # It is suggested to go by other means, as no limit that time_filter takes is enough.
        assert found.nearest_request == {"travel_time": 3600, "transportation": tl.Transportation("cycling")}

    def test_outside_the_network(self) -> None:
        found = told(world(*self.ROW), (0, 5000), (2000, 0), travel_time=900, transportation="walking")
        outside = reason(found, "origin_outside_network")
        assert outside.side == "origin"
        assert outside.data["distance"] == pytest.approx(5000, rel=0.001)
        assert found.nearest_request is not None
        assert found.nearest_request["snapping"].threshold == outside.data["needed"] == pytest.approx(5001, abs=5)
        assert found.nearest_request["travel_time"] > 3600
        assert found.codes == ("origin_outside_network", "over_limit")

    def test_not_snapped(self) -> None:
        close = {"threshold": 50}
        found = told(
            world(*self.ROW), (0, 0), (1000, 80), travel_time=900, transportation="walking", snapping=close
        )  # fmt: skip
        assert found.codes == ("destination_outside_network",)
        corner = world({0: (0, 0), 1: (1000, 0), 2: (1000, 1000)}, [(0, 1), (1, 2)])
        found = told(corner, (0, 0), (300, 80), travel_time=900, transportation="walking", snapping=close)
        assert found.codes == ("destination_not_snapped",)
        far = found.reasons[0]
        assert (far.side, far.data["threshold"]) == ("destination", 50)
        assert far.data["distance"] == pytest.approx(80, abs=0.1)
        assert found.nearest_request is not None
        assert found.nearest_request["snapping"] == tl.Snapping(threshold=far.data["needed"])
        assert far.data["needed"] in (80, 81)

    def test_no_street_of_the_kind(self) -> None:
        closed = {"driving_kph": 0.0}
        network = world(self.ROW[0], [(*street, closed) for street in self.ROW[1]])
        found = told(network, (0, 0), (2000, 0), travel_time=900, transportation="driving")
        assert set(found.codes) == {"origin_not_snapped", "destination_not_snapped"}
        assert found.reasons[0].data["needed"] is None
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"] == tl.Transportation("walking")

    def test_an_island(self) -> None:
        # The island is the nearest street, and the one that leads on is 200 m away.
        nodes = {0: (0, 0), 1: (1000, 0), 2: (2000, 0), 3: (1900, 200), 4: (2000, 200), 5: (1000, -500)}
        network = world(nodes, [(0, 1), (1, 2), (3, 4), (1, 5)])
        how = {"travel_time": 900, "transportation": "walking", "snapping": {"threshold": 100}}
        found = told(network, (0, 0), (1950, 200), **how)
        assert found.codes == ("other_component",)
        assert found.reasons[0].side == "destination"
        assert found.reasons[0].data["main_distance"] == pytest.approx(200, abs=0.1)
        assert found.nearest_request is not None
        assert found.nearest_request["snapping"].threshold == pytest.approx(201, abs=1)

    def test_two_networks(self) -> None:
        nodes = {0: (0, 0), 1: (100, 0), 2: (5000, 0), 3: (5100, 0)}
        found = told(world(nodes, [(0, 1), (2, 3)]), (0, 0), (5050, 0), travel_time=900, transportation="walking")
        assert found.codes == ("other_component",)
        assert found.reasons[0].side is None
        assert found.nearest_request is None
        assert found.advice == ""

    def test_a_one_way_trap(self) -> None:
        # A one-way street out of the ring: from its end nothing leads back.
        nodes = {0: (0, 0), 1: (500, 0), 2: (500, 500), 3: (1500, 0)}
        one_way = {"oneway": "yes"}
        network = world(nodes, [(0, 1), (1, 2), (2, 0), (1, 3, one_way)])
        how = {"travel_time": 900, "transportation": "driving", "snapping": {"threshold": 100}}
        back = told(network, (0, 0), (1500, 0), **how)
        found = told(network, (1500, 0), (0, 0), **how)
        assert found.codes == ("one_way_trap",)
        trap = found.reasons[0]
        assert trap.side == "origin"
        assert trap.data["way_back"] == pytest.approx(back.travel_time, abs=1)
        # The ring is near enough if points may join it from farther away.
        assert found.nearest_request is not None

    def test_excluded_roads(self) -> None:
        nodes = {0: (0, 0), 1: (500, 0), 2: (1500, 0), 3: (2000, 0)}
        network = world(nodes, [(0, 1), (1, 2, {"toll": "yes"}), (2, 3)])
        means = {"type": "driving", "exclude_roads": ["toll"]}
        found = told(network, (0, 0), (2000, 0), travel_time=900, transportation=means)
        assert "excluded_roads" in found.codes
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"] == tl.Transportation("driving")

    @pytest.mark.slow
    def test_streets_of_traffic_stress(self) -> None:
        """The only way leads along an avenue of level 4 and across a street of level 3; then there is a detour."""
        nodes = {0: (0, 0), 1: (500, 0), 2: (900, 0), 3: (1400, 0), 4: (900, 500), 5: (900, -500)}
        avenue = {"highway": "primary", "name": "Long Avenue"}
        across = {"highway": "secondary", "lanes": "4", "name": "Wide Street"}
        streets = [(0, 1), (1, 2, avenue), (2, 3), (4, 2, across), (2, 5, across)]
        means, near = {"type": "cycling", "max_stress": 2}, {"threshold": 50}
        found = told(world(nodes, streets), (0, 0), (1400, 0), travel_time=900, transportation=means, snapping=near)
        reason = next(each for each in found.reasons if each.code == "traffic_stress")
        assert reason.sentence == "With max_stress=4 it takes 4 min 40 s: Long Avenue (level 4, 400 m) is in the way."
        assert reason.data["max_stress"] == 4
        assert [(each["name"], each["way_id"], each["stress"]) for each in reason.data["streets"]] == [
            ("Long Avenue", 101, 4)
        ]
        assert found.advice == "It would be reached with max_stress=4."
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"] == tl.Transportation("cycling", max_stress=4)
        # A residential street in place of the avenue: its crossing is in the way.
        streets[1] = (1, 2)
        found = told(world(nodes, streets), (0, 0), (1400, 0), travel_time=900, transportation=means, snapping=near)
        reason = next(each for each in found.reasons if each.code == "traffic_stress")
        assert reason.sentence == (
            "With max_stress=3 it takes 4 min 40 s: the crossing of Wide Street (level 3) is in the way."
        )
        assert [(each["name"], each["stress"]) for each in reason.data["crossings"]] == [("Wide Street", 3)]
        # A detour of two calm streets that takes too long.
        nodes[6] = (450, 1600)
        streets = [(0, 1), (1, 2, avenue), (2, 3), (0, 6), (6, 3)]
        found = told(world(nodes, streets), (0, 0), (1400, 0), travel_time=400, transportation=means, snapping=near)
        assert found.codes[0] == "over_limit"
        assert "traffic_stress" in found.codes
        # With all levels, nothing is added.
        found = told(world(nodes, streets), (0, 0), (1400, 0), travel_time=100, transportation="cycling")
        assert found.codes == ("over_limit",)

    def test_excluded_roads_that_are_not_there(self) -> None:
        means = {"type": "driving", "exclude_roads": ["toll"]}
        found = told(world(*self.ROW), (0, 0), (2000, 0), travel_time=60, transportation=means)
        assert found.codes == ("over_limit",)

    def test_the_nearest_street_is_not_one_that_leads_there(self) -> None:
        """A street 100 m away leads away from there only; the other is 400 m away."""
        nodes = {0: (0, 0), 1: (2000, 0), 2: (900, 500), 3: (1100, 500), 4: (2000, -700)}
        network = world(nodes, [(0, 1), (1, 4), (2, 3, {"oneway": "yes"}), (3, 1, {"oneway": "yes"})])
        how = {"travel_time": 900, "transportation": "driving", "snapping": {"threshold": 50}}
        found = told(network, (0, 0), (950, 400), **how)
        far = found.reasons[0]
        assert far.code == "destination_not_snapped"
        assert far.data["distance"] == pytest.approx(100, abs=0.1)
        assert far.sentence.endswith(f"100 m away, and the threshold is 50 m; {far.data['needed']} would do.")
        # Farther than any walk: no threshold is suggested.
        beyond = told(network, (0, 0), (90_000, 0), **how).reasons[0]
        assert beyond.data["needed"] is None and beyond.sentence.endswith("km away, and the threshold is 50 m.")

    def test_reached(self) -> None:
        found = told(world(*self.ROW), (0, 10), (2000, 0), travel_time=900, transportation="cycling")
        assert found.codes == ("made_of",)
        assert list(found.parts) == ["bike", "walk"]
        assert found.reasons[0].data["most"] == "bike"
        assert str(found).startswith("Reached in 6 min 4")

    def test_the_shortest_limit(self) -> None:
        network = world(*self.ROW)
        assert told(network, (0, 0), (5, 0), travel_time=1, transportation="walking").travel_time == 1
        assert told(network, (0, 0), (10, 0), travel_time=1, transportation="walking").codes == ("over_limit",)

    def test_one_place(self) -> None:
        found = told(world(*self.ROW), (10, 10), (10, 10), travel_time=900)
        assert (found.travel_time, dict(found.parts)) == (0, {})


def town(folder: Path, stops: dict[str, float], calls: list[list[tuple[str, int]]], /, **files: str) -> tl.Network:
    """Return a straight street from -500 to 10,500 m with stops along it."""
    streets = tables({0: (-500, 0), 1: (5000, 0), 2: (10_500, 0)}, [(0, 1, ON_FOOT), (1, 2, ON_FOOT)])
    path = timetable(folder, {name: (x, 0.0) for name, x in stops.items()}, calls, **files)
    return tl.build_network(streets, gtfs=path, timezone="UTC")


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """A bus from the beginning of the street to its end at 8:00 and 8:20, and one back at 8:30, every day of 2026."""
    trips = [
        [("a", 28_800), ("b", 29_100), ("c", 29_400)],
        [("a", 30_000), ("b", 30_300), ("c", 30_600)],
        [("c", 30_600), ("b", 30_900), ("a", 31_200)],
    ]
    return town(tmp_path_factory.mktemp("street"), {"a": 0.0, "b": 5000.0, "c": 10_000.0}, trips)


def leaving(network: tl.Network, start: Any, end: Any, when: str, **how: Any) -> tl.Explanation:
    """Explain a trip by bus from a time of day on."""
    how = {"travel_time": 1800, "transportation": "bus", **how}
    return told(network, start, end, departure_time=ORIGIN_OF_DAY + when, **how)


class TestTimetables:
    def test_what_a_trip_is_made_of(self, street: tl.Network) -> None:
        found = leaving(street, (100, 0), (9950, 0), "07:50")
        assert found.travel_time == 1250
        assert found.parts == {"bus": 600, "wait": 500, "walk": 150}
        assert found.reasons[0].data["most"] == "bus"
        assert "10 min by bus, 8 min 20 s waiting, 2 min 30 s walking" in str(found)

    def test_outside_the_timetable(self, street: tl.Network) -> None:
        how = {"travel_time": 1800, "transportation": "bus", "departure_time": "2027-03-03T07:50"}
        found = told(street, (0, 0), (10_000, 0), **how)
        assert found.codes[0] == "outside_timetable"
        (dates,) = found.reasons[0].data["dates"].values()
        assert dates == (dt.date(2026, 1, 1), dt.date(2026, 12, 31))
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"].isoformat() == "2026-12-31T07:50:00+00:00"
        early = told(street, (0, 0), (10_000, 0), **{**how, "departure_time": "0001-02-01T07:50"})
        assert early.nearest_request is not None
        assert early.nearest_request["departure_time"].isoformat() == "2026-01-01T07:50:00+00:00"

    def test_no_vehicles_of_the_kind(self, street: tl.Network) -> None:
        found = leaving(street, (0, 0), (10_000, 0), "07:50", transportation={"type": "train", "walking_time": 600})
        assert found.codes[0] == "no_vehicles"
        assert found.reasons[0].data["available"] == ("bus",)
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"] == tl.Transportation("public_transport", walking_time=600)

    @pytest.mark.parametrize(("start", "end", "side"), [(1300, 10_000, "origin"), (0, 8700, "destination")])
    def test_no_stop_near(self, street: tl.Network, start: int, end: int, side: str) -> None:
        found = leaving(street, (start, 0), (end, 0), "07:30", travel_time=4000)
        assert found.codes[0] == f"no_stop_near_{side}"
        far = found.reasons[0]
        assert far.side == side
        assert far.data["stop_name"] == ("a" if side == "origin" else "c")
        assert (far.data["option"], far.data["budget"]) == ("walking_time", 900)
        assert far.data["needed"] == pytest.approx(1300, abs=1)
        assert "21 min 4" in far.sentence or "21 min 39" in far.sentence
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"].walking_time == far.data["needed"]

    def test_no_stop_within_a_drive(self, street: tl.Network) -> None:
        means = {"type": "driving+public_transport", "traffic_model": "off_peak", "driving_time_to_station": 100}
        found = leaving(street, (3000, 0), (10_000, 0), "07:56", transportation=means, travel_time=900)
        far = reason(found, "no_stop_near_origin")
        assert (far.data["option"], far.data["stop_name"]) == ("driving_time_to_station", "b")
        assert far.data["needed"] == pytest.approx(200, abs=1)
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"].driving_time_to_station == far.data["needed"]

    @pytest.mark.slow
    def test_stops_too_far(self, tmp_path: Path) -> None:
        # The stop around the corner has buses that do not go there.
        stops = {"x": 0.0, "y": 100.0, "a": 1200.0, "c": 9000.0}
        network = town(tmp_path, stops, [[("x", 28_800), ("y", 28_900)], [("a", 30_600), ("c", 31_200)]])
        found = leaving(network, (0, 0), (9000, 0), "08:00", travel_time=3600)
        assert reason(found, "stops_too_far").data["walking_time"] == pytest.approx(1200, abs=1)
        assert found.codes[0] == "stops_too_far"
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"].walking_time == pytest.approx(1200, abs=1)

    @pytest.mark.parametrize("travel_time", [250, 900])
    def test_direct_walk_too_long(self, street: tl.Network, travel_time: int) -> None:
        """Also where the walk takes less than the limit for all journeys."""
        means = {"type": "bus", "direct_walking_time": 100}
        found = leaving(street, (3000, 0), (3300, 0), "07:50", transportation=means, travel_time=travel_time)
        walk = reason(found, "walk_too_long")
        assert walk.data == {"needed": pytest.approx(300, abs=1), "direct_walking_time": 100}
        assert found.codes[0] == "walk_too_long"
        assert ("over_limit" in found.codes) == (travel_time == 250)
        assert "takes 5 min, and direct_walking_time allows 1 min 40 s." in str(found)
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"].direct_walking_time == walk.data["needed"]
        assert found.nearest_request["travel_time"] == max(travel_time, walk.data["needed"])

    @pytest.mark.slow
    def test_no_service_that_day(self, tmp_path: Path) -> None:
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,1,1,1,1,1,0,0,20260101,20261231
        """
        trips = [[("a", 28_800), ("c", 29_400)]]
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, trips, calendar=calendar)
        how = {"travel_time": 1800, "transportation": "bus"}
        with pytest.warns(UserWarning, match="only 0 departures"):
            found = told(network, (0, 0), (10_000, 0), departure_time="2026-03-07T08:00", **how)
        assert found.codes[0] == "no_service_that_day"
        # It is said of the timetable, and not again of both ends.
        assert reason(found, "no_service_that_day").side is None
        assert found.reasons[0].data["nearest_date"] == dt.date(2026, 3, 6)
        assert dt.date(2026, 3, 9) in found.reasons[0].data["dates"]
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"].isoformat() == "2026-03-06T08:00:00+00:00"

    @pytest.mark.parametrize("name", ["departure_time", "arrival_time"])
    def test_times_near_by_are_preferred(self, tmp_path: Path, name: str) -> None:
        """An express of the morning is no advice in the evening if a bus that takes longer leaves in half an hour."""
        slow = [[("a", hour * 3600), ("c", hour * 3600 + 720)] for hour in range(7, 23)]
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, [[("a", 29_400), ("c", 29_940)], *slow])
        how: dict[str, Any] = {"travel_time": 600, "transportation": "bus", name: ORIGIN_OF_DAY + "20:30"}
        found = told(network, (0, 0), (10_000, 0), **how)
        assert found.nearest_request is not None
        assert 720 <= found.nearest_request["travel_time"] <= 721
        moment = {"departure_time": "21:00", "arrival_time": "20:12"}[name]
        assert f"{found.nearest_request[name]:%H:%M}" == moment

    @pytest.mark.thorough
    def test_a_night_is_searched_to_its_end(self, tmp_path: Path) -> None:
        """Windows end at some time; an itinerary after such an end is told with its own time."""
        for second in (13_140, 19_740, 33_600, 61_200):
            network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, [[("a", second), ("c", second + 600)]])
            for when, name in (("01:00", "next"), ("23:30", "previous")):
                found = leaving(network, (0, 0), (10_000, 0), when, travel_time=900)
                (reason,) = [each for each in found.reasons if name in each.data]
                told_time = reason.data[name]
                assert (told_time.hour * 60 + told_time.minute) * 60 + told_time.second == second

    @pytest.mark.slow
    def test_durations_add_up(self, tmp_path: Path) -> None:
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, [[("a", 28_800), ("c", 34_221)]])
        found = leaving(network, (0, 0), (10_000, 0), "08:00", travel_time=3600)
        assert "It takes 1 h 30 min 21 s, which is 30 min 21 s too long: the limit is 1 h." in str(found)

    @pytest.mark.thorough
    def test_no_service_at_the_destination_that_day(self, tmp_path: Path) -> None:
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,1,1,1,1,1,1,1,20260101,20261231
            market,0,0,0,1,0,0,0,20260101,20261231
        """
        trips = "route_id,service_id,trip_id\nR0,daily,t0\nR1,market,t1"
        network = town(
            tmp_path, {"a": 0.0, "b": 1000.0, "c": 10_000.0},
            [[("a", 28_800), ("b", 29_400)], [("b", 29_500), ("c", 30_000)]], calendar=calendar, trips=trips,
        )  # fmt: skip
        found = leaving(network, (0, 0), (10_000, 0), "08:00")
        assert found.codes[0] == "no_service_that_day"
        assert found.reasons[0].side == "destination"
        assert found.reasons[0].data["nearest_date"] == dt.date(2026, 3, 5)
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"].isoformat() == "2026-03-05T08:00:00+00:00"

    @pytest.mark.slow
    def test_no_trip_that_day(self, tmp_path: Path) -> None:
        # There are buses to the change and from it every day, but only on Thursdays one waits for the other.
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,1,1,1,1,1,1,1,20260101,20261231
            market,0,0,0,1,0,0,0,20260101,20261231
        """
        trips = "route_id,service_id,trip_id\nR0,daily,t0\nR1,daily,t1\nR2,market,t2"
        network = town(
            tmp_path, {"a": 0.0, "b": 5000.0, "c": 10_000.0},
            [[("a", 43_200), ("b", 43_500)], [("b", 28_800), ("c", 29_100)], [("b", 43_600), ("c", 44_000)]],
            calendar=calendar, trips=trips,
        )  # fmt: skip
        found = leaving(network, (0, 0), (10_000, 0), "12:00", travel_time=900)
        assert found.codes[0] == "no_trip_that_day"
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"].isoformat() == "2026-03-05T12:00:00+00:00"

    def test_the_first_trip_is_not_yet(self, street: tl.Network) -> None:
        found = leaving(street, (100, 0), (10_000, 0), "06:00")
        assert found.codes == ("first_trip_not_yet", "over_limit")
        first = found.reasons[0]
        assert first.data["next"].isoformat() == "2026-03-03T07:58:20+00:00"
        assert first.data["previous"].isoformat() == "2026-03-02T08:18:20+00:00"
        assert (first.data["stop_name"], first.data["departs_at"].hour) == ("a", 8)
        assert "the first that does leaves at 07:58:20 on Tuesday 2026-03-03" in first.sentence
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"] == first.data["next"]

    @pytest.mark.slow
    def test_the_last_trip_is_gone(self, street: tl.Network) -> None:
        found = leaving(street, (0, 0), (10_000, 0), "10:00")
        # On foot it would be reached, too, as the second reason says.
        assert found.codes == ("last_trip_gone", "over_limit")
        last = found.reasons[0]
        assert last.data["next"].isoformat() == "2026-03-04T08:00:00+00:00"
        assert last.data["previous"].isoformat() == "2026-03-03T08:20:00+00:00"
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"] == last.data["previous"]

    def test_no_trip_just_then(self, street: tl.Network) -> None:
        found = leaving(street, (0, 0), (10_000, 0), "08:01", travel_time=700)
        assert found.codes == ("no_trip_then", "over_limit")
        assert reason(found, "over_limit").data["travel_time"] == pytest.approx(29 * 60, abs=1)
        assert found.parts == {"wait": 19 * 60, "bus": 600}
        assert found.nearest_request is not None
        assert found.nearest_request["departure_time"].isoformat() == "2026-03-03T08:00:00+00:00"

    @pytest.mark.thorough
    def test_arriving(self, street: tl.Network) -> None:
        how = {"travel_time": 1800, "transportation": "bus"}
        found = told(street, (0, 0), (10_000, 0), arrival_time="2026-03-03T07:00", **how)
        assert found.codes[0] == "first_trip_not_yet"
        assert found.nearest_request is not None
        # A millisecond's walk from the stop, and moments are whole seconds.
        assert found.nearest_request["arrival_time"].isoformat() == "2026-03-03T08:10:01+00:00"
        late = told(street, (0, 0), (10_000, 0), arrival_time="2026-03-03T10:00", **how)
        assert late.codes == ("last_trip_gone", "over_limit")
        assert late.nearest_request is not None
        assert late.nearest_request["arrival_time"].isoformat() == "2026-03-03T08:30:01+00:00"

    def test_a_window(self, street: tl.Network) -> None:
        found = leaving(street, (0, 0), (10_000, 0), "06:00", window=3600)
        assert found.codes[0] == "first_trip_not_yet"
        assert found.nearest_request is not None
        assert found.nearest_request["window"] == 3600
        # The bus of 8:00 is the last of that hour.
        assert found.nearest_request["departure_time"].isoformat() == "2026-03-03T07:00:00+00:00"
        assert leaving(street, (0, 0), (10_000, 0), "06:00", window=7200).travel_time == 600

    def test_the_bus_leaves_as_late_as_it_can(self, street: tl.Network) -> None:
        # A second earlier is a second of waiting too much, but within a window of one second.
        assert leaving(street, (0, 0), (10_000, 0), "07:59:59", travel_time=600, window=1).travel_time == 600
        found = leaving(street, (0, 0), (10_000, 0), "07:59:59", travel_time=600)
        assert not found.is_reached
        assert found.nearest_request == {
            "travel_time": 600,
            "transportation": "bus",
            "departure_time": dt.datetime(2026, 3, 3, 8, tzinfo=ZoneInfo("UTC")),
        }

    @pytest.mark.slow
    def test_too_many_changes(self, tmp_path: Path) -> None:
        trips = [[("a", 28_800), ("b", 29_100)], [("b", 29_400), ("c", 29_700)]]
        network = town(tmp_path, {"a": 0.0, "b": 5000.0, "c": 10_000.0}, trips)
        means = {"type": "bus", "max_changes": 0}
        found = leaving(network, (0, 0), (10_000, 0), "08:00", transportation=means)
        assert found.codes[0] == "too_many_changes"
        assert found.reasons[0].data == {"needed": 1, "max_changes": 0}
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"] == tl.Transportation("bus", max_changes=1)
        again = leaving(network, (0, 0), (10_000, 0), "08:00")
        assert (again.n_changes, again.parts["wait"]) == (1, 300)

    @pytest.mark.slow
    def test_several_reasons_at_once(self, street: tl.Network) -> None:
        # Too far from the stop, from the street and too little time: all of it is put right together.
        found = leaving(street, (1300, 1500), (10_000, 0), "06:00")
        assert {"origin_outside_network", "no_stop_near_origin"} <= set(found.codes)
        assert found.nearest_request is not None

    def test_no_connection(self, tmp_path: Path) -> None:
        nodes = {0: (0, 0), 1: (1000, 0), 2: (50_000, 0), 3: (51_000, 0)}
        path = timetable(tmp_path, {"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [[("a", 28_800), ("b", 28_900)]])
        network = tl.build_network(tables(nodes, [(0, 1, ON_FOOT), (2, 3, ON_FOOT)]), gtfs=path, timezone="UTC")
        found = leaving(network, (0, 0), (50_500, 0), "08:00")
        assert set(found.codes) == {"no_stop_near_destination", "no_connection"}
        assert reason(found, "no_stop_near_destination").data["stop_name"] is None
        assert found.nearest_request is None

    def test_on_foot_if_nothing_else(self, tmp_path: Path) -> None:
        # The bus never goes there; three and a half hours on foot would.
        network = town(tmp_path, {"a": 0.0, "b": 100.0}, [[("a", 28_800), ("b", 28_900)]])
        found = leaving(network, (0, 0), (10_000, 0), "08:00")
        assert found.nearest_request is not None
        assert found.nearest_request["travel_time"] == pytest.approx(9900, abs=100)

    def test_on_foot_on_a_day_of_the_timetable(self, tmp_path: Path) -> None:
        """Outside the dates, and the bus never goes there: one walks longer, on the nearest date."""
        network = town(tmp_path, {"a": 0.0, "b": 100.0}, [[("a", 28_800), ("b", 28_900)]])
        how = {"travel_time": 1800, "transportation": "bus", "departure_time": "2027-03-03T08:00"}
        found = told(network, (0, 0), (10_000, 0), **how)
        assert found.nearest_request is not None
        assert found.nearest_request["travel_time"] == pytest.approx(10_000, abs=100)
        assert found.nearest_request["departure_time"].date() == dt.date(2026, 12, 31)

    @pytest.mark.parametrize(
        ("name", "moment", "limit", "expected"),
        [("departure_time", "07:30", 655, "08:00:00"), ("arrival_time", "07:40", 661, "08:11:00")],
    )
    def test_where_many_stops_are_reached_minutes_are_searched(
        self, street: tl.Network, monkeypatch: pytest.MonkeyPatch, name: str, moment: str, limit: int, expected: str
    ) -> None:
        """The bus takes ten minutes and arrives at 8:10, a millisecond's walk from the destination."""
        monkeypatch.setattr(relaxations, "_MANY_STOPS", 0)
        how = {"travel_time": limit, "transportation": "bus", name: ORIGIN_OF_DAY + moment}
        found = told(street, (0, 0), (10_000, 0), **how)
        assert found.codes[0] == "first_trip_not_yet"
        assert f"{found.reasons[0].data['next']:%H:%M:%S}" == expected

    @pytest.mark.slow
    def test_the_hour_that_comes_twice(self, tmp_path: Path) -> None:
        """The clock shows at the next bus what it shows at the moment that is asked about, an hour before it."""
        stops = {"a": (0.0, 0.0), "c": (10_000.0, 0.0)}
        # The service day begins twelve hours before noon, at 22:00 UTC.
        path = timetable(tmp_path, stops, [[("a", 12_600), ("c", 13_200)]], agency=AGENCY.format("Europe/Helsinki"))
        streets = tables({0: (0, 0), 1: (10_000, 0)}, [(0, 1, ON_FOOT)])
        network = tl.build_network(streets, gtfs=path, timezone="Europe/Helsinki")
        asked = dt.datetime(2026, 10, 25, 3, 30, tzinfo=ZoneInfo("Europe/Helsinki"))
        found = told(network, (0, 0), (10_000, 0), travel_time=900, transportation="bus", departure_time=asked)
        (why,) = [each for each in found.reasons if each.code == "first_trip_not_yet"]
        assert why.data["next"].isoformat() == "2026-10-25T03:30:00+02:00"
        assert "No journey at 03:30 (+03:00) on Sunday" in str(found)
        assert "leaves at 03:30 (+02:00) on Sunday" in str(found)
        later = {"travel_time": 900, "transportation": "bus", "departure_time": asked.replace(fold=1)}
        assert told(network, (0, 0), (10_000, 0), **later).is_reached

    def test_a_timetable_that_never_runs(self, tmp_path: Path) -> None:
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,0,0,0,0,0,0,0,20260101,20261231
        """
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, [[("a", 28_800), ("c", 29_400)]], calendar=calendar)
        found = leaving(network, (0, 0), (10_000, 0), "08:00")
        assert found.codes[0] == "outside_timetable"
        assert found.reasons[0].data["dates"] == {}
        # One cannot even walk by a timetable without a date; but without it one can.
        assert found.nearest_request is not None
        assert found.nearest_request["transportation"].type in ("walking", "cycling", "driving")

    @pytest.mark.thorough
    def test_buses_after_midnight(self, tmp_path: Path) -> None:
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,1,0,0,0,0,0,0,20260101,20261231
        """
        calls = [[("a", 86_400 + 3600), ("c", 86_400 + 4200)]]
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, calls, calendar=calendar)
        with pytest.warns(UserWarning, match="only 0 departures"):
            found = leaving(network, (0, 0), (10_000, 0), "06:00")
        # The night of Monday goes on until Tuesday, so there is service on Tuesday.
        assert found.codes[0] == "last_trip_gone"
        assert found.reasons[0].data["previous"].isoformat() == "2026-03-03T01:00:00+00:00"

    @pytest.mark.thorough
    def test_little_service_is_a_warning_only_if_it_is_enough(self, tmp_path: Path) -> None:
        calendar = """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            daily,1,0,0,0,0,0,0,20260101,20261231
        """
        calls = [[("a", 86_400 + 3600), ("c", 86_400 + 4200)]]
        network = town(tmp_path, {"a": 0.0, "c": 10_000.0}, calls, calendar=calendar)
        how: dict[str, Any] = {"travel_time": 1800, "transportation": "bus"}
        ends = at((0, 0)), at((10_000, 0))
        with pytest.warns(ServiceWarning, match="only 0 departures"):
            assert tl.explain(network, *ends, departure_time="2026-03-03T00:55", **how).is_reached
        assert not tl.explain(network, *ends, departure_time="2026-03-03T06:00", **how).is_reached

    def test_a_typical_morning(self, street: tl.Network) -> None:
        how = {"travel_time": 1800, "transportation": "bus", "departure_time": "weekday_morning"}
        assert told(street, (0, 0), (10_000, 0), **how).travel_time == 600
        found = told(street, (10_000, 0), (0, 0), **{**how, "travel_time": 900})
        assert found.codes == ("first_trip_not_yet", "over_limit")


class TestBadInput:
    @pytest.mark.parametrize(
        ("how", "error", "words"),
        [
            ({"origin": at((0, 0), (1, 0))}, tl.InputError, "origin must be one point; got 2"),
            ({"destination": at((0, 0), (1, 0))}, tl.InputError, "destination must be one point; got 2"),
            ({"origin": at((0, 0)).iloc[:0]}, tl.InputError, "empty"),
            ({"origin": "home"}, tl.InputError, "must be points, not a name"),
            ({"origin": gpd.GeoSeries([shapely.Point(0.5, 0.5)])}, tl.CrsError, "CRS"),
            ({"travel_time": 0}, tl.LimitError, "travel_time"),
            ({"transportation": "rocket"}, tl.ModeError, "rocket"),
            ({"transportation": "bus"}, tl.InputError, "gtfs"),
            ({"window": 600}, tl.InputError, "window"),
            ({"departure_time": "noon"}, tl.MomentError, "noon"),
            ({"network": "city"}, tl.InputError, "Network"),
        ],
    )
    def test_is_refused(self, how: dict[str, Any], error: type[Exception], words: str) -> None:
        network = world({0: (0, 0), 1: (1000, 0)}, [(0, 1)])
        given_ = {"network": network, "origin": at((0, 0)), "destination": at((1000, 0)), "travel_time": 900, **how}
        with pytest.raises(error, match=words):
            tl.explain(given_.pop("network"), given_.pop("origin"), given_.pop("destination"), **given_)

    def test_a_timetable_needs_a_moment(self, street: tl.Network) -> None:
        with pytest.raises(tl.MomentError, match="departure_time or arrival_time"):
            tl.explain(street, at((0, 0)), at((1, 0)), travel_time=900, transportation="bus")

    def test_values_cannot_be_changed(self) -> None:
        found = told(world({0: (0, 0), 1: (1000, 0)}, [(0, 1)]), (0, 0), (1000, 0), travel_time=900)
        with pytest.raises(AttributeError):
            found.travel_time = 3
        with pytest.raises(AttributeError):
            found.reasons[0].code = "luck"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    towns(),
    MEANS,
    st.integers(-7200, 7200),
    st.sampled_from([60, 300, 900]),
    st.booleans(),
    st.sampled_from([None, 300]),
    st.integers(0, 2**32 - 1),
)
@pytest.mark.thorough
def test_explanations_agree_with_times(
    tmp_path_factory: pytest.TempPathFactory,
    place: Any,
    means: dict[str, Any],
    when: int,
    limit: int,
    is_arrival: bool,
    window: int | None,
    seed: int,
) -> None:
    nodes, links, stops, trips = place
    path = timetable(tmp_path_factory.mktemp("town"), stops, trips)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak"}
    rng = np.random.default_rng(seed)
    side = max(x for x, _ in nodes.values()) + 60
    moment = pd.Timestamp("2026-03-03T08:00", tz="UTC") + pd.Timedelta(seconds=when)
    name = "arrival_time" if is_arrival else "departure_time"
    for transportation, stamp in ((means, {name: moment, "window": window}), ("walking", {}), ("driving", {})):
        origin, destination = (
            gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(-60, side, (2, 1))), crs="EPSG:4326") for _ in range(2)
        )
        how = {"travel_time": limit, "transportation": transportation, "snapping": {"threshold": 60}, **stamp}
        found = tl.explain(network, origin, destination, **how)
        checked(found, network, origin, destination, **how)
        assert found.is_reached or not unneeded(found, network, origin, destination, **how)


@pytest.mark.thorough
def test_the_sample(porto_alegre: tl.Network) -> None:
    from traveltime_lab import sample_points

    places = sample_points()
    origin, destination = places.iloc[[0]], places.iloc[[-1]]
    how: dict[str, Any] = {"travel_time": 900, "transportation": "public_transport"}
    found = tl.explain(porto_alegre, origin, destination, departure_time="2026-03-02T08:00", **how)
    checked(found, porto_alegre, origin, destination, departure_time="2026-03-02T08:00", **how)
    outside = found.reasons[0]
    assert outside.code == "outside_timetable"
    assert outside.data["dates"] == {
        "buses": (dt.date(2019, 4, 15), dt.date(2019, 7, 15)), "metro": (dt.date(2019, 3, 1), dt.date(2019, 12, 31)),
    }  # fmt: skip
    assert found.nearest_request is not None
    for hour in ("03:00", "08:00", "23:30"):
        stamp = {"departure_time": f"2019-05-14T{hour}"}
        found = tl.explain(porto_alegre, origin, destination, **how, **stamp)
        checked(found, porto_alegre, origin, destination, **how, **stamp)
        assert found.is_reached or found.nearest_request is not None


@pytest.mark.parametrize("place", [(0.0, 0.0), (-70.65, -33.45), (179.0, 89.0)])
def test_far_away(porto_alegre: tl.Network, place: tuple[float, float]) -> None:
    """Said at once, without advice that nobody can follow."""
    points = tl.sample_points().iloc[[0]]
    far = gpd.GeoSeries.from_xy(*np.array([place]).T, crs="EPSG:4326")
    for transportation in ("walking", "driving", "public_transport"):
        more = {"departure_time": "2019-05-14T08:00"} if transportation == "public_transport" else {}
        why = tl.explain(porto_alegre, points, far, travel_time=600, transportation=transportation, **more)
        assert "lies outside the network" in str(why) and "would do" not in str(why)
        assert why.nearest_request is None
