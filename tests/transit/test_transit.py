"""Trips with a timetable, from door to door."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.feeds import posix
from tests.support.jumps import assert_cells_equal
from tests.support.lines import assert_no_joint_twice
from tests.support.oracles import random_points
from tests.support.oracles_doors import MODES, DoorOracle
from tests.support.towns import MEANS, ON_FOOT, STOPS, STREETS, TRIPS, blocks, clock, timetable, towns
from tests.support.worlds import FRAME, at, tables, with_slopes
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.maps.widget.rides import rides_in_words
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.points import read_points
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.search.explain.reasons import parts_of
from traveltime_lab.search.query import ask
from traveltime_lab.settings import settings as process
from traveltime_lab.streets.paths import without_repeats
from traveltime_lab.streets.snapping import metres_to_streets, snap_index
from traveltime_lab.surfaces import raster
from traveltime_lab.transit import egress_on_foot, egress_side, ride_lengths
from traveltime_lab.transit.route_types import VEHICLE_WORDS
from traveltime_lab.transit.stop_links import FEW, linked_stops

WALKING = tl.Transportation("walking")


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """One straight street of 10 km, a bus from its beginning to its end at 8:00 and 8:20, and one back at 8:30."""
    stops = {"a": (0.0, 0.0), "b": (5000.0, 0.0), "c": (10_000.0, 0.0)}
    trips = [
        [("a", 28_800), ("b", 29_100), ("c", 29_400)],
        [("a", 30_000), ("b", 30_300), ("c", 30_600)],
        [("c", 30_600), ("b", 30_900), ("a", 31_200)],
    ]
    streets = tables({0: (-500, 0), 1: (0, 0), 2: (5000, 0), 3: (10_500, 0)}, [(i, i + 1, ON_FOOT) for i in range(3)])
    path = timetable(tmp_path_factory.mktemp("street"), stops, trips)
    return tl.build_network(streets, gtfs=path, timezone="UTC")


def seconds(network: tl.Network, start: Any, end: Any, transportation: Any = "public_transport", **how: Any) -> Any:
    """Return the travel time between two places in metres, None if there is none."""
    how = {"travel_time": 7200, "departure_time": "2026-03-03T07:50", **how}
    found = tl.time_filter(network, at(start), at(end), transportation=transportation, **how)["travel_time"][0]
    return None if pd.isna(found) else int(found)


class TestByHand:
    def test_a_walk_a_wait_a_ride_and_a_walk(self, street: tl.Network) -> None:
        # 7:50, 100 m to the stop, 8:00 off, 8:10 at c, 50 m back.
        assert seconds(street, (100, 0), (9950, 0)) == 1200 + 50

    def test_on_foot_where_that_is_quicker(self, street: tl.Network) -> None:
        assert seconds(street, (100, 0), (700, 0)) == 600
        assert seconds(street, (100, 0), (700, 0), departure_time="2026-03-03T07:59") == 600

    def test_arriving(self, street: tl.Network) -> None:
        # To be at c at 8:15 one rides at 8:00; 100 m before that.
        arriving = {"departure_time": None, "arrival_time": "2026-03-03T08:15"}
        assert seconds(street, (100, 0), (10_000, 0), **arriving) == 15 * 60 + 100

    def test_a_bus_missed_by_a_second(self, street: tl.Network) -> None:
        assert seconds(street, (600, 0), (10_000, 0)) == 1200
        assert seconds(street, (601, 0), (10_000, 0)) == 2400

    def test_budgets_of_walks(self, street: tl.Network) -> None:
        short = {"type": "bus", "walking_time": 300}
        assert seconds(street, (300, 0), (10_000, 0), short) == 1200
        assert seconds(street, (301, 0), (10_000, 0), short) is None
        assert seconds(street, (0, 0), (9700, 0), short) == 1500
        assert seconds(street, (0, 0), (9699, 0), short) is None

    def test_the_delay_of_a_boarding(self, street: tl.Network) -> None:
        slow = {"type": "bus", "pt_change_delay": 500}
        assert seconds(street, (100, 0), (10_000, 0), slow) == 1200
        assert seconds(street, (101, 0), (10_000, 0), slow) == 2400
        arriving = {"departure_time": None, "arrival_time": "2026-03-03T08:15"}
        assert seconds(street, (100, 0), (10_000, 0), slow, **arriving) == 15 * 60 + 600
        area = tl.time_map(
            street, at((10_000, 0)), travel_time=1500, arrival_time="2026-03-03T08:15", transportation=slow,
            level_of_detail="high", buffer_distance=250,
        ).geometry[0]  # fmt: skip
        assert area.covers(at((50, 0)).union_all()) and not area.intersects(at((200, 0)).union_all())

    def test_other_vehicles(self, street: tl.Network) -> None:
        assert seconds(street, (0, 0), (10_000, 0), "train") is None
        assert seconds(street, (0, 0), (10_000, 0), "coach") is None
        assert seconds(street, (0, 0), (10_000, 0), "bus") == 1200

    def test_by_car_to_the_stop(self, street: tl.Network) -> None:
        # 2000 m at 10 m/s, 300 s to park, from b at 8:05.
        car = {"type": "driving+public_transport", "traffic_model": "off_peak"}
        assert seconds(street, (3000, 0), (10_000, 0), car, departure_time="2026-03-03T07:56:40") == 800
        assert seconds(street, (3000, 0), (10_000, 0), {**car, "driving_time_to_station": 199}) == 7000

    def test_a_window(self, street: tl.Network) -> None:
        # The best of 20 minutes leaves at 7:58:20.
        assert seconds(street, (100, 0), (10_000, 0), window=1200) == 700
        arriving = {"departure_time": None, "arrival_time": "2026-03-03T08:20"}
        # Windows are of whole seconds, and the place is a millisecond's walk from the stop.
        assert seconds(street, (100, 0), (10_000, 0), window=1200, **arriving) == pytest.approx(700, abs=1)

    def test_walks_to_streets_that_take_no_time(self, street: tl.Network) -> None:
        """Two places on both sides of the street, farther from each other than one can walk in the time."""
        free: dict[str, Any] = {"snapping": {"penalty": "disabled"}, "travel_time": 300}
        assert seconds(street, (0, 300), (100, -300), **free) == 100
        assert (
            seconds(street, (0, 300), (100, -300), **free, departure_time=None, arrival_time="2026-03-03T08:15") == 100
        )

    def test_milliseconds_at_the_limit(self, street: tl.Network) -> None:
        """
        Around 300.5 s, which are one second more, times are those of routes, and with a limit of 300 s those up to it.

        The places are a millisecond apart: at the end of a bus ride of 300 s, and of a walk from its beginning.
        """
        for begin, means in ((5000.49, "bus"), (300.49, "bus"), (300.49, "walking")):
            ends = at(*((begin + k / 1000, 0.0) for k in range(20)))
            how: dict[str, Any] = {"transportation": means, "departure_time": "2026-03-03T08:00"}
            long, short = (
                tl.time_filter(street, at((0, 0)), ends, travel_time=limit, **how)["travel_time"]
                for limit in (900, 300)
            )
            assert set(long) == {300, 301}
            assert short.fillna(0).tolist() == long.where(long <= 300, 0).tolist()
            assert tl.routes(street, at((0, 0)), ends, **how)["travel_time"].tolist() == long.tolist()

    def test_outside_the_timetable(self, street: tl.Network) -> None:
        with pytest.raises(tl.TravelTimeError, match="2026-12-31"):
            seconds(street, (0, 0), (10_000, 0), departure_time="2027-03-03T07:50")

    def test_no_moment(self, street: tl.Network) -> None:
        with pytest.raises(tl.MomentError, match="departure_time or arrival_time"):
            seconds(street, (0, 0), (10_000, 0), departure_time=None)

    def test_a_typical_morning(self, street: tl.Network) -> None:
        assert seconds(street, (0, 0), (10_000, 0), departure_time="weekday_morning") == 600

    def test_no_timetable(self) -> None:
        network = tl.build_network(tables({0: (0, 0), 1: (100, 0)}, [(0, 1)]), timezone="UTC")
        with pytest.raises(tl.InputError, match="gtfs"):
            seconds(network, (0, 0), (100, 0))

    def test_saved_and_loaded(self, street: tl.Network, tmp_path: Path) -> None:
        again = tl.load_network(street.save(tmp_path / "street.network"))
        assert again.fingerprint == street.fingerprint
        assert again.timetable is not None
        assert again.timetable.n_trips == 3
        assert seconds(again, (100, 0), (9950, 0)) == 1250

    def test_what_is_not_there_yet_is_refused(self, street: tl.Network) -> None:
        with pytest.raises(tl.UnsupportedError, match="distance_map"):
            tl.distance_map(street, at((0, 0)), distance=900, transportation="bus")
        with pytest.raises(tl.InputError, match="window"):
            tl.time_map(street, at((0, 0)), travel_time=900, transportation="walking", window=600)

    def test_a_shape(self, street: tl.Network) -> None:
        how: dict[str, Any] = {"travel_time": 1500, "departure_time": "2026-03-03T07:50", "level_of_detail": "high"}
        area = tl.time_map(street, at((100, 0)), transportation="bus", buffer_distance=250, **how).geometry[0]
        inside, outside = at((0, 0), (1500, 0), (9750, 0), (4450, 0)), at((1700, 0), (9650, 0), (4350, 0))
        assert area.covers(inside.union_all())
        assert shapely.disjoint(area, outside.union_all())

    def test_an_area_from_which_one_drives_to_the_stop(self, street: tl.Network) -> None:
        # To be at c by 8:11 one takes the bus at a, at 8:00, or at b, at 8:05; parking takes 300 s, 10 m by car one.
        how: dict[str, Any] = {"arrival_time": "2026-03-03T08:11", "level_of_detail": "high", "buffer_distance": 250}
        car = {"type": "driving+public_transport", "traffic_model": "off_peak"}
        area = tl.time_map(street, at((10_000, 0)), travel_time=760, transportation=car, **how).geometry[0]
        assert area.covers(at((9500, 0), (4600, 0), (5400, 0)).union_all())
        assert shapely.disjoint(area, at((3850, 0), (6150, 0), (0, 0)).union_all())
        # Within 25 minutes one can leave from around a, too, and no farther from b than the budget allows.
        car |= {"driving_time_to_station": 100}
        area = tl.time_map(street, at((10_000, 0)), travel_time=1500, transportation=car, **how).geometry[0]
        assert area.covers(at((-400, 0), (900, 0), (4100, 0), (5900, 0)).union_all())
        assert shapely.disjoint(area, at((1150, 0), (3850, 0), (6150, 0)).union_all())


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """A tram from a to b, faster than the bus; an underground line from b to c; a bus all the way."""
    trips = [
        [("a", 28_800), ("b", 29_000)],
        [("b", 29_100), ("c", 29_300)],
        [("a", 28_800), ("b", 29_400), ("c", 30_000)],
    ]
    routes = "route_id,route_short_name,route_type\nR0,0,900\nR1,1,1\nR2,2,3"
    path = timetable(tmp_path_factory.mktemp("lines"), STOPS, trips, routes=routes)
    return tl.build_network(STREETS, gtfs=path, timezone="UTC")


class TestLimitsOfWalks:
    """Two buses whose stops are 500 m apart, b and d; from a to c one changes between them."""

    @pytest.fixture(scope="class")
    @staticmethod
    def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
        stops = {**STOPS, "d": (3500.0, 0.0)}
        trips = [[("a", 28_800), ("b", 29_000)], [("d", 30_200), ("c", 30_400)]]
        return tl.build_network(STREETS, gtfs=timetable(tmp_path_factory.mktemp("two"), stops, trips), timezone="UTC")

    @staticmethod
    def ask(town: tl.Network, end: float, **limits: Any) -> tuple[int | None, bool | None]:
        means = {"type": "bus", **limits}
        how: dict[str, Any] = {"transportation": means, "departure_time": "2026-03-03T07:50"}
        (row,) = tl.time_filter(
            town, at((0, 0)), at((end, 0)), travel_time=7200, properties=["travel_time", "on_foot"], **how
        ).to_dict("records")  # fmt: skip
        (route,) = tl.routes(town, at((0, 0)), at((end, 0)), properties=["travel_time", "on_foot"], **how).to_dict(
            "records"
        )
        if pd.isna(row["travel_time"]):
            assert pd.isna(row["on_foot"]) and pd.isna(route["on_foot"])
            return None, None
        assert (row["travel_time"], row["on_foot"]) == (route["travel_time"], route["on_foot"])
        return int(row["travel_time"]), bool(row["on_foot"])

    def test_between_vehicles(self, town: tl.Network) -> None:
        assert self.ask(town, 6000) == (600 + 1600, False)
        assert self.ask(town, 6000, transfer_walking_time=500) == (2200, False)
        assert self.ask(town, 6000, transfer_walking_time=499) == (6000, True)
        assert self.ask(town, 6000, transfer_walking_time=499, direct_walking_time=5999) == (None, None)
        # At a faster walk the way to the other stop takes less.
        assert self.ask(town, 6000, transfer_walking_time=499, walking_speed=5.2) == (2200, False)

    def test_all_the_way(self, town: tl.Network) -> None:
        assert self.ask(town, 700) == (700, True)
        assert self.ask(town, 700, direct_walking_time=700) == (700, True)
        assert self.ask(town, 700, direct_walking_time=699) == (None, None)
        assert self.ask(town, 2500, direct_walking_time=0) == (600 + 200 + 500, False)
        assert self.ask(town, 0, direct_walking_time=0) == (0, True)

    @pytest.mark.thorough
    def test_longer_walks_never_take_longer(self, town: tl.Network) -> None:
        for end in (400, 2500, 6000):
            for name in ("transfer_walking_time", "direct_walking_time"):
                times = [
                    self.ask(town, end, **{name: seconds})[0] or np.inf for seconds in (0, 300, 499, 501, 3000, 7000)
                ]
                assert times == sorted(times, reverse=True), (end, name)

    def test_areas_of_rides_alone(self, town: tl.Network) -> None:
        means = tl.Transportation("bus", direct_walking_time=200)
        for how in ({}, {"render_mode": "road_buffering", "buffer_distance": 250}):
            area = tl.time_map(
                town, at((0, 0)), travel_time=1200, transportation=means, departure_time="2026-03-03T07:50", **how
            ).geometry.iloc[0]  # fmt: skip
            assert area.covers(at((150, 0), (2700, 0), (3300, 0)).union_all())
            assert shapely.disjoint(area, at((500, 0), (1100, 0), (2300, 0)).union_all())
            if not how:
                assert shapely.disjoint(area, at((260, 0), (2550, 0)).union_all())

    @pytest.mark.thorough
    def test_reasons(self, town: tl.Network) -> None:
        for limits, end in (
            ({"direct_walking_time": 10}, 700), ({"transfer_walking_time": 10, "direct_walking_time": 10}, 6000),
        ):  # fmt: skip
            found = tl.explain(
                town, at((0, 0)), at((end, 0)), travel_time=3000, departure_time="2026-03-03T07:50",
                transportation={"type": "bus", **limits},
            )  # fmt: skip
            assert not found.is_reached
            assert found.reasons and found.nearest_request is not None
            times = tl.time_filter(town, at((0, 0)), at((end, 0)), **found.nearest_request)
            assert times["travel_time"].notna().all()

    def test_on_foot_where_it_is_not_known(self, town: tl.Network) -> None:
        ask = {"travel_time": 600, "properties": "on_foot", "departure_time": "2026-03-03T07:50"}
        with pytest.raises(tl.InputError, match="on_foot needs a timetable; transportation 'walking' has none"):
            tl.time_filter(town, at((0, 0)), at((9, 0)), transportation="walking", **ask)
        with pytest.raises(tl.UnsupportedError, match="on_foot are computed pair by pair"):
            tl.time_filter(town, at((0, 0)), at((9, 0)), transportation="bus", form="matrix", **ask)


class TestModes:
    def test_only_what_is_asked_for_is_ridden(self, lines: tl.Network) -> None:
        way = (0, 0), (6000, 0)
        assert seconds(lines, *way) == 600 + 500
        for modes, expected in (
            (("tram", "subway"), 1100), (["bus"], 1800), (("subway",), 6000), ({"tram"}, 6000),
        ):  # fmt: skip
            means = {"type": "public_transport", "modes": modes}
            assert seconds(lines, *way, means) == expected, modes
            route = tl.routes(
                lines, at(way[0]), at(way[1]), transportation=means, departure_time="2026-03-03T07:50"
            )["route"].iloc[0]  # fmt: skip
            assert route.travel_time == expected
            vehicles = {leg.ride.vehicle for leg in route.legs if leg.ride is not None}
            assert vehicles <= {VEHICLE_WORDS[mode] for mode in modes}
            assert all(f"{vehicle} " in repr(route) for vehicle in vehicles)
            assert all(leg.directions.startswith(f"Take {leg.way} ") for leg in route.legs if leg.ride is not None)
            lines_ridden = {leg.ride.line for leg in route.legs if leg.ride is not None}
            assert lines_ridden <= {str(i) for i, mode in enumerate(("tram", "subway", "bus")) if mode in modes}
        assert seconds(lines, (0, 0), (3500, 0), {"type": "train", "modes": ["tram"]}) == 600 + 200 + 500

    def test_a_mode_alone_is_the_network_without_the_other_routes(self, lines: tl.Network) -> None:
        less = lines.with_changes([tl.RemoveRoutes(["R0", "R1"])])
        for way in (((0, 0), (6000, 0)), ((100, 0), (2000, 0)), ((0, 0), (3100, 0))):
            assert seconds(lines, *way, {"type": "public_transport", "modes": ["bus"]}) == seconds(less, *way)
        # A mode that a scenario has removed is no error, so that before and after can be compared.
        assert seconds(less, (0, 0), (6000, 0), {"type": "public_transport", "modes": ["tram"]}) == 6000

    def test_modes_that_the_feed_has_not(self, lines: tl.Network) -> None:
        with pytest.raises(tl.ModeError, match=r"modes has 'rail', but .*; it has 'tram', 'subway', 'bus'"):
            seconds(lines, (0, 0), (1, 0), {"type": "public_transport", "modes": ["tram", "rail"]})
        with pytest.raises(tl.ModeError, match=r"modes has 'tram', but .*'bus'; it has 'bus'\."):
            seconds(lines, (0, 0), (1, 0), {"type": "bus", "modes": ["tram"]})

    def test_an_excluded_mode_is_a_reason(self, lines: tl.Network) -> None:
        found = tl.explain(
            lines, at((0, 0)), at((6000, 0)), travel_time=1200, departure_time="2026-03-03T07:50",
            transportation={"type": "public_transport", "modes": ["bus"]},
        )  # fmt: skip
        assert not found.is_reached
        by_code = {reason.code: reason for reason in found.reasons}
        assert str(by_code["no_vehicles"]).startswith("No bus leads there in time; other vehicles do")
        times = tl.time_filter(lines, at((0, 0)), at((6000, 0)), **found.nearest_request)
        assert times["travel_time"].notna().all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), MEANS, st.integers(-120, 900), st.integers(0, 2**32 - 1))
def test_matrices_equal_the_oracle(
    tmp_path_factory: pytest.TempPathFactory, town: Any, means: dict[str, Any], when: int, seed: int
) -> None:
    nodes, links, stops, trips = town
    rng = np.random.default_rng(seed)
    kinds = rng.choice([0, 1, 3, 401, 704, 900], len(trips))
    lines = [f"R{i},{i},{kind}" for i, kind in enumerate(kinds)]
    path = timetable(
        tmp_path_factory.mktemp("town"), stops, trips,
        routes="\n".join(["route_id,route_short_name,route_type", *lines]),
    )  # fmt: skip
    streets = tables(nodes, [(*link, ON_FOOT) for link in links])
    if rng.random() < 0.5:
        streets = with_slopes(streets, seed)
    network = tl.build_network(streets, gtfs=path, timezone="UTC")
    if rng.random() < 0.5:
        some = [MODES[int(kind)] for kind in kinds[: rng.integers(0, 3)]]
        means = {**means, "modes": [mode for mode in some if means["type"] != "bus" or mode == "bus"]}
    transportation = as_transportation(
        {**means, **({"traffic_model": "off_peak"} if means["type"].startswith("driving") else {})}
    )
    side = max(x for x, _ in nodes.values()) + 60
    origins, destinations = (FRAME.to_lnglat(rng.uniform(-60, side, n), rng.uniform(-60, side, n)) for n in (3, 4))
    moment = posix("2026-03-03T08:00:00") + when
    limit = 1800
    oracle = DoorOracle(network, transportation, origins, destinations, moment - 4000, moment + 4000)
    expected = {
        "departure_time": np.array([oracle.leaving(i, moment, limit) for i in range(3)]),
        "arrival_time": np.array([oracle.arriving(j, moment, limit) for j in range(4)]).T,
    }
    expected = {name: np.where(np.isfinite(times), times, np.nan) for name, times in expected.items()}
    points = [gpd.GeoSeries.from_xy(*side, crs="EPSG:4326") for side in (origins, destinations)]
    for name, times in expected.items():
        stamp = {name: pd.Timestamp(moment, unit="s", tz="UTC")}
        got = tl.time_filter(network, *points, travel_time=limit, transportation=transportation, form="matrix", **stamp)
        np.testing.assert_array_equal(got.to_numpy(), np.floor(times / 1000.0 + 0.5))


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    towns(), MEANS, st.booleans(), st.sampled_from([(None, ()), (300, ()), (600, (80,)), (900, (30,))]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_surfaces_equal_matrices(
    tmp_path_factory: pytest.TempPathFactory,
    town: Any,
    means: dict[str, Any],
    is_arrival: bool,
    spread: tuple[int | None, tuple[float, ...]],
    seed: int,
) -> None:
    window, percents = spread
    nodes, links, stops, trips = town
    path = timetable(tmp_path_factory.mktemp("town"), stops, trips)
    streets = tables(nodes, [(*link, ON_FOOT) for link in links])
    network = tl.build_network(with_slopes(streets, seed) if seed % 2 else streets, gtfs=path, timezone="UTC")
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak", "driving_time_to_station": 20, "parking_time": 30}
    if means["type"].startswith("cycling"):
        means = {**means, "cycling_time_to_station": 60, "parking_time": 30}
    side = max(x for x, _ in nodes.values()) + 60
    rng = np.random.default_rng(seed)
    here = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(-60, side, (2, 1))), crs="EPSG:4326")
    moment = "2026-03-03T08:15" if is_arrival else "2026-03-03T08:00"
    when = {"arrival_time" if is_arrival else "departure_time": moment}
    limit = 1500
    both = {"departure_time": None, "arrival_time": None, **when}
    query = ask(network, means, *both.values(), None, limit=limit, window=window, percents=percents)
    snaps = query.snap(read_points(here, "here", network.bounds), is_origin=not is_arrival)
    # What rounds to the limit is within it.
    level = limit + 0.5
    field = query.field_from(snaps, level)
    (drawn,) = raster.surfaces(
        network.streets,
        query.egress_transportation,
        query.snapping,
        field,
        cell_m=60.0,
        buffer_m=1000.0,
        limits=[level],
    )

    def matrix(cells: gpd.GeoSeries) -> pd.DataFrame:
        ends = (cells, here) if is_arrival else (here, cells)
        how: dict[str, Any] = {"transportation": means, "form": "matrix", "window": window, **when}
        how["percentiles"] = percents
        return tl.time_filter(network, *ends, travel_time=limit, **how)

    assert_cells_equal(drawn, matrix, level, within=0.51, sure=0.05)


@pytest.mark.parametrize("name", ["departure_time", "arrival_time"])
def test_walks_of_large_cities_are_spread_in_parts(tmp_path: Path, name: str) -> None:
    """Each part has the walks of some stops."""
    network = blocks(tmp_path)
    how: dict[str, Any] = {
        "travel_time": 600, name: "2026-03-03T08:30", "transportation": "bus", "level_of_detail": "medium",
    }  # fmt: skip
    places = at((0, 600), (900, 600), (1500, 600), (900, 1500))
    whole = tl.time_map(network, places, **how)
    with pytest.MonkeyPatch.context() as patch, process.override(threads=2):
        patch.setattr(egress_on_foot, "_FEW_LINKS", 0)
        patch.setattr(egress_on_foot, "_MANY_LINKS", 0)
        parts = [tl.time_map(network, places.iloc[[i]], **how) for i in range(len(places))]
    assert whole.geometry.geom_equals_exact(pd.concat(parts).geometry, 0.0).all()


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), MEANS, st.booleans(), st.integers(0, 2**32 - 1))
def test_both_ways_to_read_many_points(
    tmp_path_factory: pytest.TempPathFactory, town: Any, means: dict[str, Any], is_arrival: bool, seed: int
) -> None:
    """Points linked to all stops around, and points read from the streets, have the same times."""
    nodes, links, stops, trips = town
    path = timetable(tmp_path_factory.mktemp("town"), stops, trips)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak", "driving_time_to_station": 20, "parking_time": 30}
    rng = np.random.default_rng(seed)
    side = max(x for x, _ in nodes.values()) + 60
    here, there = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(-60, side, (2, n))), crs="EPSG:4326") for n in (2, 60)
    )
    ends = (there, here) if is_arrival else (here, there)
    when = {"arrival_time": "2026-03-03T08:15"} if is_arrival else {"departure_time": "2026-03-03T08:00"}
    how: dict[str, Any] = {"travel_time": 1500, "transportation": means, "form": "matrix", **when}
    found = []
    for few, cost in ((1_000, 8), (1, 10**9), (1, -(10**9))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(egress_side, "FEW", few)
            patch.setattr(egress_side, "_LINK_COST", cost)
            found.append(tl.time_filter(network, *ends, **how).to_numpy())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


class TestRoutes:
    def test_legs_by_hand(self, street: tl.Network) -> None:
        found = tl.routes(street, at((100, 0)), at((9950, 0)), transportation="bus", departure_time="2026-03-03T07:50")
        route = found["route"][0]
        assert [leg.mode for leg in route.legs] == ["walk", "bus", "walk"]
        assert [leg.travel_time for leg in route.legs] == [100, 1100, 50]
        ride = route.legs[1]
        assert ride.waiting_time == 500
        assert (ride.ride.board.name, ride.ride.alight.name, ride.ride.num_stops) == ("a", "c", 2)
        assert ride.ride.board.time.isoformat() == "2026-03-03T08:00:00+00:00"
        assert ride.distance == pytest.approx(10_000, rel=0.001)
        assert found["travel_time"][0] == route.travel_time == 1250
        assert route.arrival_time.isoformat() == "2026-03-03T08:10:50+00:00"
        assert found["distance"][0] == pytest.approx(10_150, rel=0.001)

    def test_arriving_has_time_to_spare(self, street: tl.Network) -> None:
        found = tl.routes(street, at((100, 0)), at((9950, 0)), transportation="bus", arrival_time="2026-03-03T08:15")
        route = found["route"][0]
        assert route.travel_time == 900 + 100
        assert [leg.waiting_time for leg in route.legs] == [0, 0, 250]
        assert route.departure_time.isoformat() == "2026-03-03T07:58:20+00:00"

    def test_by_car_one_parks(self, street: tl.Network) -> None:
        car = {"type": "driving+public_transport", "traffic_model": "off_peak"}
        found = tl.routes(
            street, at((3000, 0)), at((10_000, 0)), transportation=car, departure_time="2026-03-03T07:56:40"
        )
        assert [leg.mode for leg in found["route"][0].legs][:3] == ["car", "parking", "bus"]
        assert found["travel_time"][0] == 800

    @pytest.mark.parametrize("how", [{"departure_time": "2026-03-03T07:50"}, {"arrival_time": "2026-03-03T08:20"}])
    @pytest.mark.parametrize(("penalty", "ends"), [("enabled", 25), ("disabled", 0)])
    def test_ways_between_stops_and_streets_are_walked(
        self, tmp_path: Path, penalty: str, ends: int, how: dict[str, str]
    ) -> None:
        """`penalty` is about the points of the request: the ways of stops to their streets count in any case."""
        stops = {"a": (0.0, 25.0), "b": (3000.0, -50.0), "b2": (3100.0, 25.0), "c": (6000.0, 25.0)}
        trips = [[("a", 28_800), ("b", 29_100)], [("b2", 29_400), ("c", 29_700)]]
        network = tl.build_network(STREETS, gtfs=timetable(tmp_path, stops, trips), timezone="UTC")
        found = tl.routes(
            network, at((100, 25)), at((6050, 25)), transportation="bus", snapping={"penalty": penalty}, **how
        )
        walks = [leg for leg in found["route"][0].legs if leg.mode == "walk"]
        metres = [100 + 25 + ends, 100 + 50 + 25, 50 + 25 + ends]
        assert [leg.distance for leg in walks] == pytest.approx(metres, abs=0.5)
        # Off the streets one walks 5 km/h.
        off_street = [25 + ends, 75, 25 + ends]
        seconds = [100 + off_street[0] / 5 * 3.6, 100 + off_street[1] / 5 * 3.6, 50 + off_street[2] / 5 * 3.6]
        assert [leg.travel_time - leg.waiting_time for leg in walks] == pytest.approx(seconds, abs=1.1)

    def test_tables_have_distances_and_lines(self, street: tl.Network) -> None:
        how: dict[str, Any] = {"travel_time": 3600, "transportation": "bus", "departure_time": "2026-03-03T07:50"}
        found = tl.time_filter(
            street, at((100, 0)), at((9950, 0), (300, 0)), properties=("travel_time", "distance", "route"), **how
        )
        assert found["distance"].tolist() == pytest.approx([10_150, 200], rel=0.001)
        assert found.geometry.geom_type.tolist() == ["LineString"] * 2
        with pytest.raises(tl.UnsupportedError, match="form='pairs'"):
            tl.time_filter(street, at((0, 0)), at((1, 0)), properties=("on_foot",), form="sparse", **how)


class TestStayingSeated:
    """A vehicle from a to b that goes on as another line from there, or from 100 m farther on, to c."""

    @staticmethod
    def ridden(folder: Path, start: float, end: float, onward: str = "b", **how: Any) -> Any:
        """Return the route between two places in metres, and the row of the table."""
        stops = {**STOPS, "b2": (3100.0, 0.0)}
        trips = [TRIPS[0], [(onward, TRIPS[1][0][1]), TRIPS[1][1]]]
        block = "route_id,service_id,trip_id,block_id,trip_headsign\nR0,daily,t0,x,\nR1,daily,t1,x,Zoo"
        path = timetable(folder, stops, trips, trips=block)
        network = tl.build_network(STREETS, gtfs=path, timezone="UTC")
        how = how or {"departure_time": "2026-03-03T07:50"}
        found = tl.routes(network, at((start, 0)), at((end, 0)), transportation="bus", **how)
        return found["route"][0], found.iloc[0]

    @pytest.mark.parametrize("how", [{"departure_time": "2026-03-03T07:50"}, {"arrival_time": "2026-03-03T08:20"}])
    @pytest.mark.parametrize("onward", ["b", "b2"])
    def test_every_trip_is_a_leg(self, tmp_path: Path, onward: str, how: dict[str, str]) -> None:
        route, row = self.ridden(tmp_path, -50, 6050, onward, **how)
        assert [leg.mode for leg in route.legs] == ["walk", "bus", "bus", "walk"]
        first, second = (leg.ride for leg in route.legs[1:3])
        assert (first.line, first.trip_id, first.board.name, first.alight.name) == ("0", "t0", "a", "b")
        assert (second.line, second.trip_id, second.board.name, second.alight.name) == ("1", "t1", onward, "c")
        assert (first.stays_seated, second.stays_seated) == (False, True)
        assert (first.num_stops, second.num_stops) == (1, 1)
        assert [f"{call.time:%H:%M}" for call in (first.board, first.alight, second.board, second.alight)] == [
            "08:00", "08:05", "08:10", "08:15",
        ]  # fmt: skip
        assert route.legs[2].waiting_time == 300
        text = f"Stay seated at {onward}, where the vehicle continues as bus 1 towards Zoo, to c"
        assert route.legs[2].directions == text
        for one, other in itertools.pairwise(route.legs):
            assert one.geometry.coords[-1] == other.geometry.coords[0]
            assert one.arrival_time == other.departure_time
        assert row["travel_time"] == route.travel_time
        assert row["distance"] == route.distance
        parts = [part for part in route.parts() if part["type"] == "public_transport"]
        assert [(part["line"], part["departure_station"], part["arrival_station"]) for part in parts] == [
            ("0", "a", "b"), ("1", onward, "c"),
        ]  # fmt: skip

    def test_whoever_boards_where_a_trip_ends_rides_the_next(self, tmp_path: Path) -> None:
        route, _ = self.ridden(tmp_path, 3000, 6000)
        assert [(leg.ride.trip_id, leg.ride.stays_seated) for leg in route.legs if leg.ride] == [("t1", False)]

    @pytest.mark.thorough
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(towns(), st.booleans(), st.integers(0, 2**32 - 1))
    def test_legs_of_any_vehicle_follow_each_other(
        self, tmp_path_factory: pytest.TempPathFactory, town: Any, is_arrival: bool, seed: int
    ) -> None:
        """All trips are of one block: times add up, lines are those of trips, and seats are kept where trips end."""
        nodes, links, stops, trips = town
        chained = [trips[0]]
        for trip in trips[1:]:
            stop, when = chained[-1][-1]
            # Fast, so that riding pays.
            later = [(each, when + 40 + (time - trip[0][1]) // 8) for each, time in trip]
            chained.append([(stop, when + 30), *later[later[0][0] == stop :]])
        blocks = [f"R{i},daily,t{i},x" for i in range(len(chained))]
        trip_rows = "\n".join(["route_id,service_id,trip_id,block_id", *blocks])
        path = timetable(tmp_path_factory.mktemp("town"), stops, chained, trips=trip_rows)
        network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
        side = max(x for x, _ in nodes.values()) + 60
        rng = np.random.default_rng(seed)
        places = FRAME.to_lnglat(*rng.uniform(-60, side, (2, 12)))
        # Half of the pairs begin where the vehicle does and end where it ends.
        for at_stop, rows in ((stops[chained[0][0][0]], slice(0, 3)), (stops[chained[-1][-1][0]], slice(6, 9))):
            for axis, value in zip(places, FRAME.to_lnglat(*np.array(at_stop).reshape(2, 1)), strict=True):
                axis[rows] = value
        ends = [
            gpd.GeoSeries.from_xy(*(axis[rows] for axis in places), crs="EPSG:4326")
            for rows in (slice(0, 6), slice(6, 12))
        ]
        begin, end = chained[0][0][1], chained[-1][-1][1] + 60
        when = {"arrival_time": clock(end)} if is_arrival else {"departure_time": clock(begin)}
        when = {name: f"2026-03-03T{time}" for name, time in when.items()}
        found = tl.routes(network, *ends, transportation="bus", **when)
        for route, seconds in zip(found["route"], found["travel_time"], strict=True):
            if route is None or pd.isna(seconds):
                continue
            assert route.travel_time == seconds
            for one, other in itertools.pairwise(route.legs):
                assert one.arrival_time == other.departure_time
                if other.ride is not None and other.ride.stays_seated:
                    assert one.ride is not None and one.ride.trip_id != other.ride.trip_id
                    assert one.ride.alight.time <= other.ride.board.time
            for leg in route.legs:
                if leg.ride is not None:
                    assert leg.ride.trip_id == f"t{leg.ride.line}" and leg.ride.num_stops > 0
                    assert leg.travel_time >= leg.waiting_time >= 0

    def test_staying_seated_is_no_change(self, tmp_path: Path) -> None:
        route, _ = self.ridden(tmp_path, -50, 6050)
        assert parts_of(route)[1] == 0
        assert rides_in_words(route) == "walk 1 min, bus 0 at 08:00 which continues as bus 1, walk 1 min"


def test_the_report_names_stops_off_the_streets(tmp_path: Path) -> None:
    """A stop joins a street within 1000 m, its ends included; others are listed by feed, with metres."""
    stops = {"a": (0.0, 0.0), "near": (500.0, 999.0), "far": (600.0, 1001.0), "lost": (-3000.0, -4000.0)}
    calls = [(name, 28_800 + 60 * i) for i, name in enumerate(stops)]
    unused = {**stops, "unused": (0.0, 50_000.0)}
    streets = tables({0: (0, 0), 1: (1000, 0)}, [(0, 1, ON_FOOT)])
    feeds = []
    for name, placed in (("two", unused), ("one", {"a": (0.0, 0.0), "b": (10.0, 0.0)})):
        (tmp_path / name).mkdir()
        feeds.append(
            timetable(tmp_path / name, placed, [[call for call in calls if call[0] in placed] + [("a", 30_000)]])
        )
    network = tl.build_network(streets, gtfs=feeds, timezone="UTC")
    two, one = (feed["stops_off_streets"] for feed in network.report()["timetable"].values())
    assert two == {"number": 2, "of": 4, "farther_than_m": 1000, "such_as": "far (1,001 m), lost (5,000 m)"}
    assert one == {"number": 0, "of": 1, "farther_than_m": 1000}
    snaps = linked_stops(network.transit, network.road_graph(WALKING), WALKING).leaving.snaps
    assert (snaps.edge >= 0).tolist() == [True, True, False, False, False, True, False]


def test_each_walking_speed_has_its_own_ways_to_stops(tmp_path: Path) -> None:
    """Stops 100 m beside the street, asked for at one speed after the other."""
    stops = {"a": (0.0, 100.0), "c": (6000.0, 100.0)}
    path = timetable(tmp_path, stops, [[("a", 28_800), ("c", 29_100)]])
    network = tl.build_network(STREETS, gtfs=path, timezone="UTC")
    ends = at(*((6000.0 + k / 100, 0.0) for k in range(FEW + 1)))
    how: dict[str, Any] = {"travel_time": 1800, "departure_time": "2026-03-03T07:50", "form": "matrix"}
    for kph, beside in ((3.6, 100), (7.2, 50), (None, 72), (3.6, 100)):
        means = {"type": "bus", "walking_speed": kph}
        for places in (ends, ends.iloc[:1]):
            found = tl.time_filter(network, at((0, 0)), places, transportation=means, **how)
            assert set(found.to_numpy().ravel()) == {600 + 300 + beside}


def test_distances_of_any_size_are_those_of_snapping(porto_alegre: tl.Network) -> None:
    rng = np.random.default_rng(3)
    west, south, east, north = porto_alegre.bounds
    lng, lat = rng.uniform(west - 1, east + 1, 40), rng.uniform(south - 1, north + 1, 40)
    x, y = porto_alegre.frame.to_xy(lng, lat)
    # Compare every segment.
    grid, k = snap_index(porto_alegre.streets, WALKING, "any_drivable").grid, porto_alegre.frame.shrink(y)[:, None]
    x1, y1, x2, y2 = grid.ends.T
    to_x, to_y = (x1 - x[:, None]) * k, y1 - y[:, None]
    dx, dy = (x2 - x1) * k, y2 - y1
    squared = dx * dx + dy * dy
    t = np.clip(-(to_x * dx + to_y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
    found = np.hypot(to_x + t * dx, to_y + t * dy).min(axis=1)
    assert found.max() > 50_000
    np.testing.assert_allclose(metres_to_streets(porto_alegre.streets, lng, lat, WALKING), found, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("along", ["", "shape_dist_traveled"])
def test_lines_of_shapes_with_points_twice(tmp_path: Path, along: str) -> None:
    """Points of shapes that follow themselves, at stops and between them, are in the line of a ride once."""
    places = {"p": (0.0, 0.0), "q": (1500.0, 200.0), "r": (3000.0, 0.0), "s": (6000.0, 0.0)}
    lng, lat = FRAME.to_lnglat(*zip(*places.values(), strict=True))
    twice = [k for k in range(4) for _ in range(2 + k % 2)]
    rows = [f"s,{lat[k]:.7f},{lng[k]:.7f},{n},{k}" for n, k in enumerate(twice)]
    head = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence"
    times = [("t0", "a", 0, 28_800), ("t0", "b", 2, 29_100), ("t1", "b", 2, 29_100), ("t1", "c", 3, 29_700)]
    calls = [f"{t},{n},{stop},{clock(when)},{clock(when)},{k}" for n, (t, stop, k, when) in enumerate(times)]
    feed = timetable(
        tmp_path, STOPS, TRIPS,
        trips="route_id,service_id,trip_id,shape_id,block_id\nR0,daily,t0,s,x\nR1,daily,t1,s,x",
        shapes="\n".join([f"{head},{along or 'unused'}", *rows]),
        stop_times="\n".join(
            [f"trip_id,stop_sequence,stop_id,arrival_time,departure_time,{along or 'unused'}", *calls]
        ),
    )  # fmt: skip
    network = tl.build_network(STREETS, gtfs=feed, timezone="UTC")
    found = tl.routes(network, at((0.0, 10.0)), at((6000.0, 10.0)), departure_time="2026-03-03T07:55:00",
                      transportation="public_transport")  # fmt: skip
    route = found["route"].iloc[0]
    assert [leg.mode for leg in route.legs] == ["walk", "bus", "bus", "walk"]
    assert len(route.legs[1].geometry.coords) == 3
    assert_no_joint_twice(route)


#: A shape with bends and the stops on it, of which c is between two points.
BENDS = [(0.0, 0.0), (1500.0, 200.0), (3000.0, 0.0), (4500.0, -300.0), (6000.0, 0.0)]
ON_BENDS = {"a": (0.0, 0.0), "b": (3000.0, 0.0), "c": (5250.0, -150.0), "d": (6000.0, 0.0)}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("a", "b", BENDS[:3]),
        ("b", "c", [*BENDS[2:4], (5250.0, -150.0)]),
        ("c", "d", [(5250.0, -150.0), BENDS[4]]),
        ("a", "d", BENDS),
        ("a", "c", [*BENDS[:4], (5250.0, -150.0)]),
    ],
)
@pytest.mark.parametrize("along", ["measured", "given", "equal", "points_only"])
def test_rides_follow_their_shapes(
    tmp_path: Path, along: str, first: str, last: str, expected: list[tuple[float, float]]
) -> None:
    """From stop to stop, along `shape_dist_traveled` or, where that is missing or says nothing, the nearest points."""
    lng, lat = FRAME.to_lnglat(*zip(*BENDS, strict=True))
    at_point = {"measured": [""] * 5, "equal": [7] * 5}.get(along, [0, 10, 20, 30, 40])
    at_stop = {"given": [0, 20, 35, 40], "equal": [7] * 4}.get(along, [""] * 4)
    points = [f"s,{lat[k]:.7f},{lng[k]:.7f},{k},{at_point[k]}" for k in range(5)]
    calls = [f"t0,{k},{stop},{clock(28_800 + 300 * k)},{clock(28_800 + 300 * k)},{at_stop[k]}"
             for k, stop in enumerate(ON_BENDS)]  # fmt: skip
    feed = timetable(
        tmp_path, ON_BENDS, [[]],
        trips="route_id,service_id,trip_id,shape_id\nR0,daily,t0,s",
        shapes="\n".join(["shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled", *points]),
        stop_times="\n".join(
            ["trip_id,stop_sequence,stop_id,arrival_time,departure_time,shape_dist_traveled", *calls]
        ),
    )  # fmt: skip
    read = read_timetable([feed])
    order = list(ON_BENDS)
    found = without_repeats(
        ride_lines.trip_line(ride_lengths._trip_lines(read), 0, order.index(first), order.index(last))
    )
    x, y = FRAME.to_xy(*found.T)
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.column_stack([x, y]), expected, atol=0.5)


def test_a_shape_of_two_points_is_read_along_its_distances(tmp_path: Path) -> None:
    """A stop in the middle of the way is where the distances say, not where the line is nearest."""
    feed = timetable(
        tmp_path, STOPS, [[]],
        trips="route_id,service_id,trip_id,shape_id\nR0,daily,t0,s",
        shapes="shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled\n"
        "s,0.5,0.50,1,0\ns,0.5,0.52,2,4",
        stop_times="trip_id,stop_sequence,stop_id,arrival_time,departure_time,shape_dist_traveled\n"
        "t0,1,a,8:00:00,8:00:00,0\nt0,2,b,8:05:00,8:05:00,1\nt0,3,c,8:10:00,8:10:00,4",
    )  # fmt: skip
    line = ride_lines.trip_line(ride_lengths._trip_lines(read_timetable([feed])), 0, 0, 1)
    np.testing.assert_allclose(line, [[0.5, 0.5], [0.505, 0.5]], atol=1e-9)


def test_a_shape_of_one_point_or_backwards_is_no_shape(tmp_path: Path) -> None:
    for rows in (["s,0.5,0.5,1"], ["s,0.5,0.6,1", "s,0.5,0.4,2"]):
        feed = timetable(
            tmp_path, STOPS, TRIPS[:1], trips="route_id,service_id,trip_id,shape_id\nR0,daily,t0,s",
            shapes="\n".join(["shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence", *rows]),
        )  # fmt: skip
        read = read_timetable([feed])
        stops = read.stops.set_index("stop_id")[["stop_lon", "stop_lat"]]
        line = ride_lines.trip_line(ride_lengths._trip_lines(read), 0, 0, 1)
        np.testing.assert_array_equal(line, stops.loc[["a", "b"]].to_numpy())


@pytest.mark.thorough
def test_routes_take_as_long_as_the_matrix_says(porto_alegre: tl.Network) -> None:
    network = porto_alegre
    origins = gpd.GeoSeries.from_xy(*random_points(network, 4, 1), crs="EPSG:4326")
    destinations = gpd.GeoSeries.from_xy(*random_points(network, 30, 2), crs="EPSG:4326")
    for moment in ({"departure_time": "2019-05-14T08:00"}, {"arrival_time": "2019-05-14T09:00"}):
        how: dict[str, Any] = {"transportation": "public_transport", **moment}
        times = tl.time_filter(network, origins, destinations, travel_time=14_400, **how)
        found = tl.routes(network, origins, destinations, **how)
        assert found["travel_time"].tolist() == times["travel_time"].tolist()
        for route, seconds in zip(found["route"], found["travel_time"], strict=True):
            assert route.travel_time == seconds
            assert all(leg.travel_time >= 0 and leg.waiting_time >= 0 for leg in route.legs)
            for before, after in zip(route.legs, route.legs[1:], strict=False):
                assert before.arrival_time == after.departure_time
                gap = np.hypot(*(np.array(before.destination) - np.array(after.origin)))
                assert gap < 0.003
            assert_no_joint_twice(route)
