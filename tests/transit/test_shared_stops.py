"""Stops at one position are one place, whichever feeds they are from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.towns import ON_FOOT, timetable, towns
from tests.support.worlds import FRAME, at, tables
from traveltime_lab.kernels.unreached import FORBIDDEN
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.transfers import merge_transfers

HEADER = "from_stop_id,to_stop_id,transfer_type,min_transfer_time"


@st.composite
def transfers(draw: st.DrawFn, stops: list[str]) -> str:
    """Rules between some stops, and at them."""
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(stops)] * 2), max_size=5, unique=True))
    rows = [f"{a},{b},{draw(st.sampled_from([0, 2, 2, 3]))},{draw(st.integers(0, 240))}" for a, b in pairs]
    return "\n".join([HEADER, *rows])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.data())
@pytest.mark.thorough
def test_a_feed_in_two_parts_gives_the_same_times(
    tmp_path_factory: pytest.TempPathFactory, town: Any, data: st.DataObject
) -> None:
    """Lines in two feeds, each with all stops and rules, take as long as in one."""
    nodes, links, stops, _ = town
    # Away from the streets, so that a walk there and back makes a difference, and with rides to change between.
    stops = {name: (x + 150.0, y + 150.0) for name, (x, y) in stops.items()}
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    trips = []
    for begin in range(28_800, 30_300, 100):
        calls = rng.permutation(list(stops))[:3].tolist()
        trips.append([(stop, begin + 90 * k) for k, stop in enumerate(calls)])
    rules = data.draw(transfers(list(stops)))
    is_first = data.draw(st.lists(st.booleans(), min_size=len(trips), max_size=len(trips)))
    parts = [[trip for trip, mine in zip(trips, is_first, strict=True) if mine == first] for first in (True, False)]
    streets = tables(nodes, [(*link, ON_FOOT) for link in links])
    whole = timetable(tmp_path_factory.mktemp("whole"), stops, trips, transfers=rules)
    split = [timetable(tmp_path_factory.mktemp("part"), stops, part, transfers=rules) for part in parts if part]
    networks = [tl.build_network(streets, gtfs=feeds, timezone="UTC") for feeds in (whole, split)]
    side = max(x for x, _ in nodes.values()) + 60
    points = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(-60, side, (2, 8))), crs="EPSG:4326")
    means = {"type": "public_transport", "walking_time": data.draw(st.sampled_from([300, 900]))}
    means["direct_walking_time"] = 0
    means["transfer_walking_time"] = data.draw(st.sampled_from([0, 60, 600]))
    when = data.draw(st.sampled_from([{"departure_time": "2026-03-03T08:00"}, {"arrival_time": "2026-03-03T08:20"}]))
    asked = {"travel_time": 3600, "transportation": means, **when}
    one, two = (tl.time_filter(network, points, points, form="matrix", **asked) for network in networks)
    np.testing.assert_array_equal(one.to_numpy(), two.to_numpy())
    found = [
        tl.routes(network, points.iloc[:3], points.iloc[3:6], transportation=means, **when) for network in networks
    ]
    for route, other in zip(found[0]["route"], found[1]["route"], strict=True):
        assert (route is None) == (other is None)
        if route is not None:
            assert route.travel_time == other.travel_time == sum(leg.travel_time for leg in other.legs)


def line(folder: Path, **files: str) -> Any:
    """Return two lines that meet 300 m off the street, in one feed, and the same in two."""
    stops = {"a": (0.0, 0.0), "b": (3000.0, 300.0), "c": (6000.0, 0.0)}
    trips = [[("a", 28_800), ("b", 29_100)], [("b", 29_160), ("c", 29_400)], [("b", 29_700), ("c", 29_940)]]
    streets = tables({0: (-500, 0), 1: (3000, 0), 2: (6500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)])
    for name in ("one", "first", "second"):
        (folder / name).mkdir()
    one = timetable(folder / "one", stops, trips, **files)
    two = [
        timetable(folder / name, stops, part, **files) for name, part in (("first", trips[:1]), ("second", trips[1:]))
    ]
    return [tl.build_network(streets, gtfs=feeds, timezone="UTC") for feeds in (one, two)]


@pytest.mark.parametrize(
    ("rules", "seconds"), [(None, 600), ("b,b,2,60", 600), ("b,b,2,61", 1140), ("b,b,3,", None), ("b,b,0,", 600)]
)
def test_a_transfer_off_the_street(tmp_path: Path, rules: str | None, seconds: int | None) -> None:
    """No walk to the street and back between stops at one position, and the rule of the feeds for a transfer there."""
    files = {} if rules is None else {"transfers": f"{HEADER}\n{rules}"}
    for network in line(tmp_path, **files):
        found = tl.routes(
            network, at((0, 0)), at((6000, 0)), departure_time="2026-03-03T08:00",
            transportation={"type": "public_transport", "direct_walking_time": 0},
        )["route"].iloc[0]  # fmt: skip
        if seconds is None:
            assert found is None
            continue
        assert found.travel_time == seconds
        assert [leg.mode for leg in found.legs if leg.travel_time] == ["bus", "bus"]
        assert sum(leg.travel_time for leg in found.legs) == seconds


def test_rules_reach_the_other_feed_only(tmp_path: Path) -> None:
    """A rule of one feed applies to transfers to and from another feed's stop, not to those among its own."""
    stops = {"b": (3000.0, 300.0), "c": (6000.0, 0.0)}
    paths = []
    for name, rules in (("first", "b,b,2,90\nb,c,2,500"), ("second", None)):
        (tmp_path / name).mkdir()
        files = {} if rules is None else {"transfers": f"{HEADER}\n{rules}"}
        paths.append(timetable(tmp_path / name, stops, [[("b", 28_800), ("c", 29_100)]], **files))
    read = read_timetable(paths)
    found = merge_transfers(read, None)
    starts = np.repeat(np.arange(read.n_stops), np.diff(found.indptr))
    ways = dict(zip(zip(starts.tolist(), found.stop.tolist(), strict=True), found.seconds.tolist(), strict=True))
    b1, c1, b2, c2 = range(4)
    assert ways == {(b1, b2): 90, (b2, b1): 90, (c1, c2): 0, (c2, c1): 0, (b1, c1): 500, (b1, c2): 500, (b2, c1): 500}
    assert found.change_time.tolist() == [90, 0, 0, 0]
    assert (found.change_time < FORBIDDEN).all()


@pytest.mark.thorough
@given(towns(), st.sampled_from([0, 60, 300, 600]))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_transfers_along_longer_walks(tmp_path_factory: pytest.TempPathFactory, town: Any, budget_s: int) -> None:
    """The walks of egress give the same transfers as a search of their own."""
    nodes, links, stops, trips = town
    streets = tables(nodes, [(*link, ON_FOOT) for link in links])
    feed = timetable(tmp_path_factory.mktemp("feed"), stops, trips)
    found = []
    for longer_s in (0, 900):
        network = tl.build_network(streets, gtfs=feed, timezone="UTC")
        walking = Transportation("walking")
        linked = stop_links.linked_stops(network.transit, network.road_graph(walking), walking)
        if longer_s:
            stop_links.walks(network.transit, linked, longer_s, is_leaving=True)
        found.append(stop_links.changes(network.transit, linked, budget_s, longer_s))
        assert stop_links.has_walks(network.transit, linked, budget_s, is_leaving=True) == (not longer_s)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
