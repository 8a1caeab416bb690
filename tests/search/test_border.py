"""Answers that reach the border of the extract: each that differs from that of a larger extract is flagged."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import oracle_border
from tests.support.combinations import combined, first_of
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab.crs import LocalFrame
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.maps.widget import answers
from traveltime_lab.maps.widget.state import state_of
from traveltime_lab.network.network import Network
from traveltime_lab.points import read_points
from traveltime_lab.rounding import most_s
from traveltime_lab.search import border as search_border
from traveltime_lab.search.pair_times import pair_times
from traveltime_lab.search.query import ask
from traveltime_lab.search.time_filter import table_query
from traveltime_lab.streets import border as street_border
from traveltime_lab.streets.extent import Extent, LocalBorder
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit.fastest_rides import fastest_rides

#: Nodes along a side of the town, and degrees between them: 111 m.
SIDE, STEP = 26, 0.001
MORNING = "2026-03-03T08:00"
#: Areas in square degrees that are noise: a square metre.
NOISE = 1e-10

Bounds = tuple[float, float, float, float]


def place(column: float, row: float) -> tuple[float, float]:
    return round(0.5 + column * STEP, 7), round(0.5 + row * STEP, 7)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of streets with gaps, one-way streets, dead ends and a park, and the feed of its buses."""
    folder, dice = tmp_path_factory.mktemp("town"), random.Random(7)
    nodes = {SIDE * row + column + 1: place(column, row) for row in range(SIDE) for column in range(SIDE)}
    ways: list[tuple[int, str, str]] = []
    for row in range(SIDE):
        for column in range(SIDE):
            here = SIDE * row + column + 1
            for there in (here + 1,) * (column < SIDE - 1) + (here + SIDE,) * (row < SIDE - 1):
                is_park = 8 < row < 13 and 9 < column < 14
                if dice.random() < (0.9 if is_park else 0.2):
                    continue
                tags = dice.choice([*["residential"] * 6, "primary", "footway", "path", "cycleway"])
                more = " oneway=yes" if dice.random() < 0.15 else ""
                ways.append((1000 + len(ways), f"{here} {there}", f"highway={tags}{more}"))
    (folder / "town.osm").write_bytes(osm_xml(nodes, ways))
    stops, trips, times = ["stop_id,stop_lat,stop_lon"], ["route_id,service_id,trip_id"], []
    for line in range(6):
        fixed, along = 3 + 4 * line, range(1, SIDE, 3)
        for k in along:
            lng, lat = place(k, fixed) if line % 2 else place(fixed, k)
            stops.append(f"{line}-{k},{lat},{lng}")
        for way in (1, -1):
            for run in range(12):
                trip = f"{line}{way}{run}"
                trips.append(f"R,daily,{trip}")
                for place_in_trip, k in enumerate(list(along)[::way]):
                    minute = 5 * run + 2 * place_in_trip
                    moment = f"{8 + minute // 60}:{minute % 60:02}:00"
                    times.append(f"{trip},{place_in_trip},{line}-{k},{moment},{moment}")
    head = "trip_id,stop_sequence,stop_id,arrival_time,departure_time"
    feed(folder, stops="\n".join(stops), trips="\n".join(trips), stop_times="\n".join([head, *times]))
    return folder


@functools.lru_cache(maxsize=8)
def part_of(town: Path, box: Bounds, *, has_buses: bool) -> Network:
    """Return a part that tests share, which change nothing of it: tests of the same examples draw the same boxes."""
    return built(town, box, has_buses=has_buses)


def built(town: Path, bounds: Any = None, *, has_buses: bool = False) -> Network:
    return tl.build_network(town / "town.osm", gtfs=town / "feed.zip" if has_buses else (), bounds=bounds)


@pytest.fixture(scope="module")
def whole(town: Path) -> Network:
    return built(town, has_buses=True)


@pytest.fixture(scope="module")
def searched(town: Path, whole: Network) -> Callable[..., Network]:
    """A function that has a part of the town searched on the grid of the whole, so that areas can be compared."""

    @functools.lru_cache(maxsize=8)
    def on_the_same_grid(box: Bounds, *, has_buses: bool = False) -> Network:
        part = built(town, box, has_buses=has_buses)
        part.streets.frame = whole.streets.frame
        return part

    return on_the_same_grid


def flags(table: pd.DataFrame) -> list[bool]:
    assert table["reaches_border"].dtype in (bool, "boolean")
    found: list[bool] = table["reaches_border"].tolist()
    return found


boxes = st.tuples(*[st.integers(0, 8)] * 2, *[st.integers(20, SIDE)] * 2).map(
    lambda sides: (*place(sides[0] - 0.3, sides[1] - 0.3), *place(sides[2] - 0.7, sides[3] - 0.7))
)
ENDS = ["departure_time", "arrival_time"]
MODES = [("walking", 300), ("cycling", 90), ("driving", 60), ("public_transport", 420)]


@pytest.mark.parametrize(("mode", "limit", "end"), combined(MODES, ENDS, mark=pytest.mark.thorough))
@settings(max_examples=4, phases=[Phase.generate])
@given(box=boxes, seed=st.integers(0, 99))
def test_areas_that_differ_are_flagged(
    town: Path, whole: Network, searched: Any, mode: str, limit: int, end: str, box: Bounds, seed: int
) -> None:
    dice = np.random.default_rng(seed)
    points = gpd.GeoSeries.from_xy(dice.uniform(box[0], box[2], 12), dice.uniform(box[1], box[3], 12), crs=4326)
    asked = {"travel_time": limit, "transportation": mode, end: MORNING, "remove_water_bodies": False}
    part = searched(box, has_buses=mode == "public_transport")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = tl.time_map(part, points, **asked)
    flagged = np.array(flags(found))
    differs = shapely.area(shapely.symmetric_difference(found.geometry, tl.time_map(whole, points, **asked).geometry))
    assert not ((differs > NOISE) & ~flagged).any()
    assert [issubclass(each.category, tl.BorderWarning) for each in heard] == [True] * bool(flagged.any())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mode", "limit"), [("walking", 600), ("cycling", 300), ("driving", 200), ("public_transport", 700)]
)
def test_areas_of_a_city_that_differ_are_flagged(shared_data: Path, mode: str, limit: int) -> None:
    files = {"osm": shared_data / "milan" / "osm.pbf", "gtfs": ()}
    if mode == "public_transport":
        files["gtfs"] = shared_data / "milan" / "gtfs.zip"
    city, dice = tl.build_network(**files), np.random.default_rng(11)
    asked = {"travel_time": limit, "transportation": mode, "departure_time": "2014-10-28T08:00"}
    for _ in range(2):
        west, south, east, north = 9.19, 45.464, 9.19, 45.464
        box = (west - dice.uniform(0.015, 0.05), south - dice.uniform(0.015, 0.03),
               east + dice.uniform(0.015, 0.05), north + dice.uniform(0.015, 0.03))  # fmt: skip
        part = tl.build_network(**files, bounds=box)
        part.streets.frame, part.streets.shores = city.streets.frame, city.streets.shores
        points = gpd.GeoSeries.from_xy(dice.uniform(box[0], box[2], 15), dice.uniform(box[1], box[3], 15), crs=4326)
        found, expected = (tl.time_map(each, points, remove_water_bodies=False, **asked) for each in (part, city))
        differs = shapely.area(shapely.symmetric_difference(found.geometry, expected.geometry)) > NOISE
        assert differs.any()
        assert not (differs & ~np.array(flags(found))).any()


@pytest.mark.parametrize("end", first_of(1, ENDS, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_trips_in_a_city_that_differ_are_flagged(shared_data: Path, end: str) -> None:
    files = {"osm": shared_data / "milan" / "osm.pbf", "gtfs": shared_data / "milan" / "gtfs.zip"}
    city, dice = tl.build_network(**files), np.random.default_rng(11)
    box = (9.19 - 0.02, 45.464 - 0.02, 9.19 + 0.03, 45.464 + 0.03)
    part = tl.build_network(**files, bounds=box)
    points = gpd.GeoSeries.from_xy(dice.uniform(box[0], box[2], 60), dice.uniform(box[1], box[3], 60), crs=4326)
    asked = {
        "travel_time": 2400, "transportation": "public_transport", end: "2014-10-28T08:30",
        "properties": ["travel_time", "reaches_border"],
    }  # fmt: skip
    found, expected = (tl.time_filter(each, points.iloc[:30], points.iloc[30:], **asked) for each in (part, city))
    differs = (found["travel_time"].fillna(-1) != expected["travel_time"].fillna(-1)).to_numpy()
    assert differs.any()
    assert not (differs & ~np.array(flags(found))).any()
    assert not all(flags(found))


@pytest.mark.slow
@pytest.mark.parametrize("shortest", [True, False])
def test_areas_by_distance(town: Path, whole: Network, searched: Any, shortest: bool) -> None:
    box = (*place(4.7, 4.7), *place(20.3, 20.3))
    dice = np.random.default_rng(3)
    points = gpd.GeoSeries.from_xy(dice.uniform(box[0], box[2], 30), dice.uniform(box[1], box[3], 30), crs=4326)
    asked = {"distance": 400, "transportation": "walking", "shortest": shortest, "remove_water_bodies": False}
    found, expected = (tl.distance_map(each, points, **asked) for each in (searched(box), whole))
    differs = shapely.area(shapely.symmetric_difference(found.geometry, expected.geometry)) > NOISE
    assert differs.any()
    assert not (differs & ~np.array(flags(found))).any()
    assert not all(flags(found))


@pytest.mark.parametrize(
    "mode", first_of(1, ["driving", "walking", "cycling"], mark=pytest.mark.thorough, few=pytest.mark.slow)
)
@settings(max_examples=4, phases=[Phase.generate])
@given(box=boxes, seed=st.integers(0, 99))
def test_travel_times_that_differ_are_flagged(town: Path, whole: Network, mode: str, box: Bounds, seed: int) -> None:
    dice = np.random.default_rng(seed)
    lng, lat = dice.uniform(box[0], box[2], 60), dice.uniform(box[1], box[3], 60)
    points = gpd.GeoSeries.from_xy(lng, lat, crs=4326)
    homes, shops = points.iloc[:30], points.iloc[30:]
    part = part_of(town, box, has_buses=False)
    found, expected = (
        tl.time_filter(
            each, homes, shops, travel_time=1200, transportation=mode, properties=["travel_time", "reaches_border"]
        )
        for each in (part, whole)
    )
    before, after = (each["travel_time"].fillna(-1).to_numpy(int) for each in (found, expected))
    assert ((before == after) | found["reaches_border"].to_numpy(bool)).all()


#: Options of searches by timetable, and the columns that a larger extract may change.
Table = tuple[dict[str, Any], list[str]]
#: Options and columns of tables: a trip, a trip of a window, values over a window.
BY_TIMETABLE: list[Table] = [
    ({}, ["travel_time"]),
    ({"window": 1200}, ["travel_time"]),
    ({"window": 900, "percentiles": [50, 90], "properties": ["share", "reaches_border"]}, ["travel_time_p90", "share"]),
]
#: The same searches in other forms.
BY_TIMETABLE_TOO: list[Table] = [
    ({"pairs": "aligned"}, ["travel_time"]),
    ({"properties": ["travel_time", "distance", "reaches_border"]}, ["travel_time"]),
    ({"window": 1200, "max_results": 3}, ["travel_time"]),
    ({"transportation": "driving+public_transport"}, ["travel_time"]),
    ({"transportation": {"type": "public_transport", "direct_walking_time": 60}}, ["travel_time"]),
]


@pytest.mark.parametrize(
    ("options", "columns", "end"),
    combined(BY_TIMETABLE, ENDS, mark=pytest.mark.thorough)
    + combined(BY_TIMETABLE_TOO, ENDS, mark=pytest.mark.thorough, few=pytest.mark.slow, most=2),
    ids=str,
)
@settings(max_examples=4, phases=[Phase.generate])
@given(box=boxes, seed=st.integers(0, 99))
def test_trips_that_differ_are_flagged(
    town: Path, whole: Network, options: dict[str, Any], columns: list[str], end: str, box: Bounds, seed: int
) -> None:
    dice = np.random.default_rng(seed)
    lng, lat = dice.uniform(box[0], box[2], 24), dice.uniform(box[1], box[3], 24)
    points = gpd.GeoSeries.from_xy(lng, lat, crs=4326)
    asked = {
        "travel_time": 1500, "transportation": "public_transport", end: "2026-03-03T08:20",
        "properties": ["travel_time", "reaches_border"],
    } | options  # fmt: skip
    part = part_of(town, box, has_buses=True)
    found, expected = (tl.time_filter(each, points.iloc[:12], points.iloc[12:], **asked) for each in (part, whole))
    rows = [table.assign(n=table.groupby(["origin", "destination"]).cumcount()) for table in (found, expected)]
    both = rows[0].merge(rows[1], on=["origin", "destination", "n"], how="outer", suffixes=("", "_whole"))
    # A trip that the part lacks changes the last one that it has.
    flagged = both.groupby(["origin", "destination"])["reaches_border"].ffill().astype(bool)
    for column in columns:
        before, after = (both[name].astype(float).fillna(-1.0) for name in (column, f"{column}_whole"))
        assert ((before == after) | flagged).all()
    assert not expected["reaches_border"].any()


@pytest.mark.parametrize("end", first_of(1, ENDS, mark=pytest.mark.thorough))
@settings(max_examples=4, phases=[Phase.generate])
@given(box=boxes, seed=st.integers(0, 99))
def test_flags_of_trips(town: Path, end: str, box: Bounds, seed: int) -> None:
    """Slow twin: one trip, one stop and one point at a time."""
    dice = np.random.default_rng(seed)
    lng, lat = dice.uniform(box[0], box[2], 24), dice.uniform(box[1], box[3], 24)
    points = gpd.GeoSeries.from_xy(lng, lat, crs=4326)
    part, moment = part_of(town, box, has_buses=True), {end: "2026-03-03T08:20"}
    query, _ = table_query(
        part, travel_time=1500, transportation="public_transport", form="pairs",
        properties=["travel_time", "reaches_border"], **moment,
    )  # fmt: skip
    ends = [query.snap(read_points(some, "points", part.bounds), is_origin=is_origin)
            for some, is_origin in ((points.iloc[:12], True), (points.iloc[12:], False))]  # fmt: skip
    found = pair_times(query, Pairs(*ends, None), query.limit)
    longest = np.where(found.labels != UNREACHED, found.labels / 2**32 / 1000.0, most_s(query.limit))
    gap, is_uncertain = oracle_border.gaps(query, found, longest)
    clear = np.abs(gap) > 0.1
    assert found.reaches_border is not None
    assert (found.reaches_border == ((gap <= 0.0) | is_uncertain))[clear | is_uncertain].all()


@pytest.mark.thorough
def test_bounds_of_rides_are_those_of_the_streets_that_walks_use(porto_alegre: Network, tmp_path: Path) -> None:
    porto_alegre.save(tmp_path / "fresh.network")
    fresh = tl.load_network(tmp_path / "fresh.network")

    def least(network: Network, **options: Any) -> np.ndarray:
        means = tl.Transportation("public_transport", **options)
        query = ask(network, means, "2019-05-14T08:00", None, None, limit=1800).transit
        first_s = np.full(network.timetable.n_stops, np.inf)
        first_s[::50] = 0.0
        return fastest_rides(query, first_s, is_arrival=False)

    anywhere = least(porto_alegre)
    for options in ({"step_free": "strict"}, {"avoid": ("unpaved",)}):
        found = least(porto_alegre, **options)
        np.testing.assert_array_equal(found, least(fresh, **options))
        assert (found > anywhere).any()


@pytest.mark.parametrize(
    ("mode", "limit", "end"),
    combined(
        [("public_transport", 900), ("driving+public_transport", 600)],
        ENDS,
        mark=pytest.mark.thorough,
        few=pytest.mark.slow,
        most=1,
    ),
)
@settings(max_examples=3, phases=[Phase.generate])
@given(box=boxes, seed=st.integers(0, 99))
def test_accessibility_that_differs_is_flagged(
    town: Path, whole: Network, mode: str, limit: int, end: str, box: Bounds, seed: int
) -> None:
    dice = np.random.default_rng(seed)
    homes = gpd.GeoSeries.from_xy(dice.uniform(box[0], box[2], 12), dice.uniform(box[1], box[3], 12), crs=4326)
    shops = gpd.GeoSeries.from_xy(*(dice.uniform(0.5, place(SIDE, 0)[0], 60) for _ in range(2)), crs=4326)
    asked = {"travel_time": [limit // 2, limit], "transportation": mode, end: "2026-03-03T08:20"}
    part = part_of(town, box, has_buses=True)
    found, expected = (tl.accessibility(each, homes, shops, **asked) for each in (part, whole))
    same = found["opportunities"] == expected["opportunities"]
    assert (same | np.array(flags(found))).all()
    with ThreadPoolExecutor(2) as executor:
        pd.testing.assert_frame_equal(found, tl.accessibility(part, homes, shops, executor=executor, **asked))


@pytest.mark.thorough
def test_flags_of_trips_are_the_same_by_every_way(town: Path, tmp_path: Path) -> None:
    """Chosen pairs, several moments, lengths and saved networks; a change of the timetable has flags of its own."""
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)), has_buses=True)
    dice = np.random.default_rng(2)
    places = gpd.GeoSeries.from_xy(*(dice.uniform(0.5055, 0.5205, 40) for _ in range(2)), crs=4326)
    homes, shops = places.iloc[:20], places.iloc[20:]
    asked = {"travel_time": 900, "transportation": "public_transport", "properties": ["travel_time", "reaches_border"]}
    moments = [f"2026-03-03T08:{minute:02}" for minute in (5, 20, 35)]
    for end in ("departure_time", "arrival_time"):
        each = [tl.time_filter(part, homes, shops, **asked, **{end: moment}) for moment in moments]
        assert 0 < sum(sum(flags(table)) for table in each) < 3 * 400
        several = tl.time_filter(part, homes, shops, **asked, **{end: moments})
        assert flags(several) == [flag for table in each for flag in flags(table)]
        window = tl.time_filter(part, homes, shops, window=600, percentiles=[50], **asked, **{end: moments[1]})
        chosen = pd.DataFrame({"origin": homes.index[[3, 0, 3]], "destination": shops.index[[1, 5, 0]]})
        for more, table in (({}, each[1]), ({"window": 600, "percentiles": [50]}, window)):
            some = tl.time_filter(part, homes, shops, pairs=chosen, **more, **asked, **{end: moments[1]})
            assert flags(some) == [flags(table)[k] for k in (3 * 20 + 1, 5, 3 * 20)]
            long = tl.time_filter(
                part, homes, shops, pairs=chosen, **more, **{end: moments[1]},
                **asked | {"properties": ["travel_time", "distance", "reaches_border"]},
            )  # fmt: skip
            assert flags(long) == flags(some)
        again = tl.load_network(part.save(tmp_path / "town.network"))
        assert flags(tl.time_filter(again, homes, shops, **asked, **{end: moments[1]})) == flags(each[1])
        without = part.with_changes(tl.RemoveRoutes("R"))
        walked = tl.time_filter(without, homes, shops, **asked, **{end: moments[1]})
        assert any(flags(walked)) and flags(walked) != flags(each[1])
    for headways in ("average", "random"):
        means = {"type": "public_transport", "headways": headways}
        same = tl.time_filter(
            part, homes, shops, window=600, departure_time=moments[1], **asked | {"transportation": means}
        )  # fmt: skip
        assert same["reaches_border"].notna().all()


@pytest.mark.slow
def test_pairs_are_flagged_on_request(town: Path) -> None:
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)), has_buses=True)
    places, more = [place(6, 6), place(17, 15)], ["travel_time", "reaches_border"]
    assert "reaches_border" not in tl.time_filter(part, places, places, travel_time=600, transportation="walking")
    unknown = tl.time_filter(
        tl.sample_network(), tl.sample_points(), tl.sample_points(), travel_time=600, properties=more
    )
    assert unknown["reaches_border"].isna().all()
    for form in ("matrix", "sparse"):
        with pytest.raises(tl.InputError, match="use form='pairs'"):
            tl.time_filter(part, places, places, travel_time=600, properties=more, form=form)
    bus = {"transportation": "public_transport", "departure_time": MORNING}
    with pytest.raises(tl.InputError, match="use form='pairs'"):
        tl.time_filter(part, places, places, travel_time=600, properties=more, form="matrix", **bus)
    assert flags(tl.time_filter(part, places, places, travel_time=600, properties=more, **bus)) == [
        True, True, True, False,
    ]  # fmt: skip


def test_places_far_from_the_border_are_not_flagged(town: Path) -> None:
    part = built(town, (*place(2.7, 2.7), *place(23.3, 23.3)), has_buses=True)
    middle, corner = place(17, 15), place(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flags(tl.time_map(part, [middle], travel_time=[120, 300], transportation="walking")) == [False, False]
    several = tl.time_map(part, [middle, corner], travel_time=[60, 300], transportation="walking")
    assert flags(several) == [False, False, True, True] or flags(several)[:2] == [False, False]
    # On foot the border is far away, by bus it is near.
    on_foot = tl.time_map(part, [middle], travel_time=420, transportation="walking")
    by_bus = tl.time_map(part, [middle], travel_time=1500, transportation="public_transport", departure_time=MORNING)
    assert flags(on_foot) == [False]
    assert flags(by_bus) == [True]


def test_what_to_do(town: Path) -> None:
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    where = r"\(the bounds that they were cut to\), and what lies beyond it is missing"
    with pytest.warns(
        tl.BorderWarning, match=rf"^the area extends to the border of the streets {where}: .* 1 km larger"
    ):
        tl.time_map(part, [place(6, 6)], travel_time=600, transportation="walking")
    with pytest.warns(tl.BorderWarning, match=rf"^2 of 4 areas extend to the border of the streets {where}"):
        found = tl.time_map(part, [place(6, 6), place(14, 14)], travel_time=[120, 240], transportation="walking")
    assert flags(found) == [True, True, False, False]
    with pytest.warns(tl.BorderWarning, match="1 of 2 areas in reach extend"):
        tl.h3_cells(part, [place(6, 6), place(14, 14)], travel_time=120, resolution=9, transportation="walking")
    with pytest.warns(tl.BorderWarning, match="1 of 2 areas in reach extend"):
        counted = tl.accessibility(
            part, [place(6, 6), place(14, 14)], [place(12, 12)], travel_time=[120, 180], transportation="walking"
        )
    assert flags(counted) == [True, True, False, False]
    assert tl.compare(counted, counted)["increase"].tolist() == [0.0] * 4
    with pytest.raises(tl.InputError, match="has already"):
        shops = gpd.GeoDataFrame(
            {"reaches_border": [1]}, geometry=gpd.points_from_xy(*zip(place(9, 9), strict=True)), crs=4326
        )
        tl.accessibility(part, [place(6, 6)], shops, values="reaches_border", travel_time=120)


@pytest.mark.parametrize("mode", ["walking", "driving", "public_transport", "driving+public_transport"])
def test_origins_without_a_street(town: Path, mode: str) -> None:
    """Their areas are empty, in the network and outside of it: there is nothing to flag or to warn of."""
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)), has_buses=True)
    asked = {"travel_time": 600, "transportation": mode, "departure_time": MORNING, "snapping": {"threshold": 20}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in (place(6.5, 5.6), place(60, 60)):
            found = tl.time_map(part, [point], **asked)
            assert found.geometry.is_empty.all()
            assert flags(found) == [False]
            tl.h3_cells(part, [point], resolution=9, **asked)
            if mode != "public_transport":
                continue
            counted = tl.accessibility(part, [point], [place(12, 12)], **asked | {"transportation": "walking"})
            assert flags(counted) == [False]


# Where the border is -------------------------------------------------------------------------------------------------

CROSS = {1: (0.5, 0.5), 2: (0.502, 0.5), 3: (0.504, 0.5), 4: (0.502, 0.502), 5: (0.502, 0.498)}
WAYS = [(10, "1 2 3", "highway=residential"), (11, "4 2 5", "highway=residential")]


def read(folder: Path, nodes: dict[int, tuple[float, float]], head: str = "", bounds: Any = None) -> Network:
    (folder / "cross.osm").write_bytes(osm_xml(nodes, WAYS, head=head))
    return tl.build_network(folder / "cross.osm", bounds=bounds)


def box(west: float, south: float, east: float, north: float) -> str:
    return f'<bounds minlat="{south}" minlon="{west}" maxlat="{north}" maxlon="{east}"/>'


def cut(network: Network) -> set[int]:
    """Return the OSM nodes at the far ends of edges that are cut."""
    t = network.tables
    ends = np.concatenate([t.edge_from[t.edge_is_cut], t.edge_to[t.edge_is_cut]])
    return {*t.node_osm_id[ends].tolist()} - {2}


@pytest.mark.slow
def test_where_the_border_is(tmp_path: Path) -> None:
    # The bounding box of the file: nodes beyond it were added to complete their ways.
    by_file = read(tmp_path, CROSS, box(0.499, 0.497, 0.503, 0.503))
    assert by_file.report()["border"] == {"is_from": "the bounding box in the header of their file", "edges_cut": 1}
    assert cut(by_file) == {3}
    # A box that was computed from the nodes says nothing, and one node that the file lacks does not, either.
    gap = {ref: at for ref, at in CROSS.items() if ref != 3}
    for unknown in (
        *(read(tmp_path, CROSS, head) for head in ("", box(0.5, 0.498, 0.504, 0.502))),
        read(tmp_path, gap),
    ):
        assert unknown.tables.edge_is_cut.size == 0
        assert unknown.report()["border"] == "not known: the file does not say where it was cut"
        assert "reaches_border" not in tl.time_map(unknown, [(0.5, 0.5)], travel_time=900, transportation="walking")
    # Bounds that are given, also a polygon.
    assert cut(read(tmp_path, CROSS, bounds=(0.4999, 0.4, 0.503, 0.6))) == {3}
    triangle = shapely.Polygon([(0.4999, 0.4999), (0.503, 0.4999), (0.4999, 0.503)])
    assert cut(read(tmp_path, CROSS, bounds=triangle)) == {3, 4, 5}


def test_a_coast_is_no_border(tmp_path: Path) -> None:
    """Streets that end inside of the box end in the world, too."""
    network = read(tmp_path, CROSS, box(0.47, 0.47, 0.53, 0.53))
    assert cut(network) == set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tl.time_map(network, [(0.502, 0.5)], travel_time=900, transportation="walking")
    assert flags(found) == [False]


def test_a_box_across_the_180th_meridian(tmp_path: Path) -> None:
    nodes = {ref: (lng + 179.4975 - 360.0 * (lng > 0.5025), lat) for ref, (lng, lat) in CROSS.items()}
    found = [
        cut(read(tmp_path, nodes, bounds=bounds)) for bounds in ((179.9, 0.4, -179.9995, 0.6), (179.9, 0.4, -179, 0.6))
    ]
    assert found == [{3}, set()]


def test_gaps_of_the_data_are_no_border(tmp_path: Path) -> None:
    """Twenty streets lead across the box, and one inside of it has a node that is missing."""
    nodes = {k: (0.5 + k * 0.0001, 0.5) for k in range(1, 22)} | {
        100 + k: (0.5 + k * 0.0001, 0.51) for k in range(1, 22)
    }
    ways = [(k, f"{k} {100 + k}", "highway=residential") for k in range(1, 22)]
    ways += [(50, " ".join(map(str, range(1, 22))), "highway=residential"), (51, "7 999", "highway=residential")]
    (tmp_path / "gap.osm").write_bytes(osm_xml(nodes, ways, head=box(0.49, 0.49, 0.51, 0.505)))
    network = tl.build_network(tmp_path / "gap.osm")
    assert network.report()["ways_dropped_missing_nodes"] == 1
    assert network.tables.edge_is_cut.sum() == 21


def jagged(n: int, seed: int = 0, middle: tuple[float, float] = (10.0, 50.0)) -> shapely.Polygon:
    """Return a star of `n` corners, with a hole."""
    turn, dice = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False), np.random.default_rng(seed)
    far = dice.uniform(0.03, 0.05, n)
    outer, inner = (np.column_stack([r * np.cos(turn), r * np.sin(turn)]) + middle for r in (far, far * 0.2))
    return shapely.Polygon(outer, [inner])


@pytest.mark.parametrize("shape", [jagged(7), jagged(300), shapely.MultiPolygon([jagged(9), jagged(8, 1, (10.2, 50))])])
def test_gaps_to_polygons(shape: Any) -> None:
    """Slow twin: the distance to the whole boundary, for each point."""
    extent, frame = Extent("bounds", shape.bounds, shape), LocalFrame(10.0, 50.0)
    border, dice = LocalBorder.of(extent, frame), np.random.default_rng(1)
    lng, lat = dice.uniform(9.9, 10.3, 2000), dice.uniform(49.9, 50.1, 2000)
    x, y = frame.to_xy(lng, lat)
    line = shapely.transform(shape, lambda at: np.column_stack(frame.to_xy(at[:, 0], at[:, 1]))).boundary
    true = shapely.distance(shapely.points(x, y), line) * np.minimum(frame.shrink(y), 1.0)
    true[~shapely.intersects_xy(shape, lng, lat)] = 0.0
    assert (true > 0.0).sum() > 50
    # The bounding box may be nearer where an east-west degree is longer.
    assert border.gap_m(lng, lat, np.inf) == pytest.approx(true, rel=1e-3, abs=1e-3)
    some = border.gap_m(lng, lat, 200.0)
    assert some[true <= 199.0] == pytest.approx(true[true <= 199.0], rel=1e-3, abs=1e-3)
    assert (some[true > 200.0] >= 199.0).all()
    # All places are on the border, with the inside to the left.
    places, inwards = border.places(50.0, (-1e6, -1e6, 1e6, 1e6))
    assert shapely.distance(shapely.points(places), line).max() < 1e-3
    assert len(places) >= line.length / 50.0
    inside = shapely.intersects_xy(shape, *frame.to_lnglat(*(places + 0.01 * inwards).T))
    assert inside.mean() > 0.99
    assert not shapely.intersects_xy(shape, *frame.to_lnglat(*(places - 0.01 * inwards).T)).mean() > 0.01


@pytest.mark.parametrize(
    ("box", "centre", "gap_deg"),
    [
        ((-180.0, -90.0, 180.0, 90.0), 100.0, np.inf),
        ((-180.0, -90.0, 180.0, 90.0), 0.0, np.inf),
        ((-10.0, -80.0, 180.0, 80.0), 0.0, 10.0),
        ((-10.0, -80.0, 180.0, 80.0), -9.5, 0.5),
        ((-179.0, -80.0, 179.0, 80.0), -178.0, 1.0),
        ((-179.0, -80.0, 179.0, 80.0), 178.5, 0.5),
        ((170.0, -10.0, -170.0, 10.0), -179.0, 9.0),
        ((170.0, -10.0, -170.0, 10.0), -160.0, 0.0),
    ],
)
def test_sides_of_large_boxes(box: Bounds, centre: float, gap_deg: float) -> None:
    """Sides count the nearer way around the globe, and places on them only near the streets."""
    frame = LocalFrame(centre, 0.0)
    border = LocalBorder.of(Extent("bounds", box), frame)
    to_side = min(gap_deg * frame.metres_per_degree_lng, (box[3]) * frame.metres_per_degree_lat)
    assert border.gap_m(np.array([centre]), np.zeros(1), 1000.0) == pytest.approx([to_side], rel=1e-6)
    places, inwards = border.places(50.0, (-3e3, -3e3, 3e3, 3e3))
    assert len(places) == 0
    places, inwards = border.places(50.0, (-70e3, -3e3, 70e3, 3e3))
    assert (len(places) > 0) == (gap_deg == 0.5)
    assert (np.abs(places[:, 0]) < 70e3).all()
    assert not len(places) or np.ptp(inwards) == 1.0


@given(
    west=st.floats(-180, 180), width=st.floats(0.001, 300), south=st.floats(-89, 88), height=st.floats(0.001, 100),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_points_deep_in_a_box(west: float, width: float, south: float, height: float, seed: int) -> None:
    """The quick test is never wrong: slow twin, the distance to the border."""
    east, north, dice = west + width, min(south + height, 89.5), np.random.default_rng(seed)
    east -= 360.0 * (east > 180.0)
    frame = LocalFrame(west + width / 2.0 - 360.0 * (west + width / 2.0 > 180.0), (south + north) / 2.0)
    border = LocalBorder.of(Extent("bounds", (west, south, east, north)), frame)
    lng = west + width * dice.uniform(-0.2, 1.2, 50)
    lng, lat = (lng + 180.0) % 360.0 - 180.0, np.clip(dice.uniform(south, north, 50), -89.5, 89.5)
    metres = 10.0 ** dice.uniform(0, 6, 50)
    deeper = border.is_deeper(lng, lat, metres)
    assert (border.gap_m(lng, lat, np.inf)[deeper] > metres[deeper]).all()


GRID = {100 * column + row: place(column, row) for column in range(12) for row in range(12)}
LINES = [(k, " ".join(str(100 * k + m) for m in range(12)), "highway=residential") for k in range(12)] + [
    (50 + k, " ".join(str(100 * m + k) for m in range(12)), "highway=residential") for k in range(12)
]


def test_ways_that_are_cut_all_around_show_the_border(tmp_path: Path) -> None:
    inner = {ref: at for ref, at in GRID.items() if 0 < ref // 100 < 11 and 0 < ref % 100 < 11}
    # The sea in the west has no nodes, and nothing is cut there.
    coast = {ref: at for ref, at in GRID.items() if ref // 100 < 11 and 0 < ref % 100 < 11}
    for name, nodes in (("inland", inner), ("coast", coast)):
        (tmp_path / f"{name}.osm").write_bytes(osm_xml(nodes, LINES))
        tables = tl.build_network(tmp_path / f"{name}.osm").tables
        assert tables.extent.source == "ways"
        assert tables.edge_is_cut.any()
    # Dangling references of a whole town, in its middle and on one side, say nothing.
    for dangling in ([505, 506, 605, 606, 705], [1105, 1106, 1107, 1108, 1109], [505]):
        lines = [*LINES, *((900 + k, f"{ref} {9000 + k}", "highway=residential") for k, ref in enumerate(dangling))]
        (tmp_path / "whole.osm").write_bytes(osm_xml(GRID, lines))
        network = tl.build_network(tmp_path / "whole.osm")
        assert network.tables.extent is None
        assert network.tables.edge_is_cut.size == 0


def test_stops_beyond_the_streets(tmp_path: Path) -> None:
    """Without a box, a stop far from all streets is beyond the border."""
    inner = {ref: at for ref, at in GRID.items() if 0 < ref // 100 < 11 and 0 < ref % 100 < 11}
    (tmp_path / "inland.osm").write_bytes(osm_xml(inner, LINES))
    lng, lat = place(5, 5)
    stops = f"stop_id,stop_lat,stop_lon\na,{lat},{lng}\nb,{lat},{lng + 0.2}"
    times = "trip_id,stop_sequence,stop_id,arrival_time,departure_time\nt,1,a,8:00:30,8:00:30\nt,2,b,8:01:30,8:01:30"
    feed(tmp_path, stops=stops, stop_times=times)
    network = tl.build_network(tmp_path / "inland.osm", gtfs=tmp_path / "feed.zip")
    asked = {"travel_time": 100, "departure_time": MORNING}
    assert flags(tl.time_map(network, [(lng, lat)], transportation="walking", travel_time=100)) == [False]
    with pytest.warns(tl.BorderWarning):
        assert flags(tl.time_map(network, [(lng, lat)], transportation="public_transport", **asked)) == [True]


@pytest.mark.parametrize("end", ["departure_time", "arrival_time"])
def test_people_leave_the_origins_of_accessibility(tmp_path: Path, end: str) -> None:
    """A one-way street leads out of the box, and around to the origin again, whatever time is given."""
    ring = [(k, 0) for k in range(30)] + [(30, k) for k in range(30)]
    ring += [(30 - k, 30) for k in range(30)] + [(0, 30 - k) for k in range(30)]
    nodes = {k + 1: place(*at) for k, at in enumerate(ring)}
    out = [(1, " ".join(str(k + 1) for k in (*range(120), 0)), "highway=residential oneway=yes")]
    out += [(200 + k, f"{k} {200 + k}", "highway=residential") for k in range(1, 12)]
    nodes |= {200 + k: place(k - 1, -0.5) for k in range(1, 12)}
    (tmp_path / "out.osm").write_bytes(osm_xml(nodes, out))
    network = tl.build_network(tmp_path / "out.osm", bounds=(0.46, 0.46, 0.52, 0.56))
    asked = {"travel_time": 420, "transportation": "driving", end: MORNING}
    with pytest.warns(tl.BorderWarning, match="area in reach extends"):
        assert flags(tl.accessibility(network, [(0.5, 0.5)], [(0.506, 0.5)], **asked)) == [True]
    area = tl.time_map(network, [(0.5, 0.5)], remove_water_bodies=False, **asked)
    assert flags(area) == [end == "departure_time"]


def rail(folder: Path, times: str) -> Network:
    """Return a network of the whole grid with a railway from x, outside, through a, b and c, and a bus elsewhere."""
    (folder / "grid.osm").write_bytes(osm_xml(GRID, LINES))
    at = {"x": (-300, 5), "a": (2, 5), "b": (5, 5), "c": (8, 5), "y": (300, 5), "d": (5, 8), "e": (5, 9)}
    stops = [
        "stop_id,stop_lat,stop_lon",
        *(f"{k},{lat},{lng}" for k, (lng, lat) in ((k, place(*v)) for k, v in at.items())),
    ]
    rows = ["trip_id,stop_sequence,stop_id,arrival_time,departure_time,pickup_type,drop_off_type", *times.split()]
    rows += ["bus,1,d,8:00:00,8:00:00,0,0", "bus,2,e,8:02:00,8:02:00,0,0"]
    trips = ["route_id,service_id,trip_id", *(f"R,daily,{k}" for k in sorted({row.split(",")[0] for row in rows[1:]}))]
    feed(folder, stops="\n".join(stops), trips="\n".join(trips), stop_times="\n".join(rows))
    return tl.build_network(folder / "grid.osm", gtfs=folder / "feed.zip", bounds=(*place(-40, -40), *place(60, 60)))


def leaving(network: Network) -> dict[str, int]:
    timetable = network.timetable
    return {timetable.stops["stop_id"].iloc[stop]: seconds for stop, seconds in timetable.leaving}


def test_a_station_without_trips(tmp_path: Path) -> None:
    """Its only trip leads out of the bounds, and is lost there."""
    network = rail(tmp_path, "t,1,a,8:01:00,8:01:00,0,0 t,2,y,8:05:00,8:05:00,0,0")
    assert leaving(network) == {"a": 240}
    asked = {"transportation": "public_transport", "departure_time": MORNING}
    with pytest.warns(tl.BorderWarning):
        found = tl.time_map(network, [place(2, 5)], travel_time=[200, 420], **asked)
    assert flags(found) == [False, True]


@pytest.mark.slow
def test_trips_that_pass_the_last_stop(tmp_path: Path) -> None:
    """Nobody alights at c and b before y, or boards at a after x: the stops before and after count, too."""
    out = "t,1,a,8:00:00,8:01:00,0,0 t,2,b,8:02:00,8:03:00,0,1 t,3,c,8:04:00,8:05:00,0,1 t,4,y,8:10:00,8:10:00,0,0"
    assert leaving(rail(tmp_path, out)) == {"c": 300, "b": 420, "a": 540}
    into = "t,1,x,8:00:00,8:01:00,0,0 t,2,a,8:03:00,8:04:00,1,0 t,3,b,8:05:00,8:06:00,0,0 t,4,c,8:09:00,8:09:00,0,0"
    assert leaving(rail(tmp_path, into)) == {"a": 120, "b": 240}
    whole = "t,1,x,8:00:00,8:01:00,0,0 t,2,a,8:03:00,8:04:00,1,1 t,3,y,8:05:00,8:06:00,0,0"
    assert leaving(rail(tmp_path, whole)) == {"a": 60}


def beside_a_field(folder: Path) -> Network:
    """Return streets in the west of a box, a motorway around a field, and nothing in the east, 3.3 km from streets."""
    nodes = {100 * column + row: place(column, row) for column in range(3) for row in range(9)}
    around = [(k, 0) for k in range(3, 25)] + [(25, k) for k in range(9)] + [(k, 8) for k in range(24, 2, -1)]
    nodes |= {5000 + k: place(*at) for k, at in enumerate(around)}
    ways = [(k, " ".join(str(100 * k + row) for row in range(9)), "highway=residential") for k in range(3)]
    road = " ".join(["200", *(str(5000 + k) for k in range(len(around))), "208"])
    ways += [(9, "0 100 200", "highway=residential"), (10, road, "highway=motorway oneway=no")]
    (folder / "field.osm").write_bytes(osm_xml(nodes, ways))
    return tl.build_network(folder / "field.osm", bounds=(*place(-90, -90), *place(32, 90)))


def test_places_as_far_as_the_options_allow(tmp_path: Path) -> None:
    """A street beyond the border may be the nearest of places on the field."""
    network, asked = beside_a_field(tmp_path), {"travel_time": 2400, "transportation": "walking"}
    found = {
        threshold: flags(tl.time_map(network, [place(2, 4)], snapping={"threshold": threshold}, **asked))
        for threshold in (1000, 5000, 1000)
    }
    assert found == {1000: [False], 5000: [True]}


def test_places_snap_to_accepted_roads(tmp_path: Path) -> None:
    """Those beside the motorway only where it is accepted, whichever search came first."""
    found = []
    for roads in (["any_drivable", "both_drivable_and_walkable"], ["both_drivable_and_walkable", "any_drivable"]):
        network, ways = beside_a_field(tmp_path), {}
        for accepted in roads:
            query = ask(network, "driving", None, None, {"accept_roads": accepted}, limit=9000)
            snaps = query.snap(read_points([place(2, 4)], "origins", network.bounds))
            ways[accepted] = search_border.of_streets(query, snaps).tolist()
        found.append(ways)
    assert found[0] == found[1]
    assert found[0]["any_drivable"] < found[0]["both_drivable_and_walkable"] == [np.inf]


def test_many_places_on_one_edge(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow twin: some points at a time, as few as one."""
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    dice = np.random.default_rng(5)
    homes = gpd.GeoSeries.from_xy(
        0.5 + STEP * dice.uniform(5.5, 20.5, 200), 0.5 + STEP * dice.uniform(5.5, 20.5, 200), crs=4326
    )
    query = ask(part, "walking", None, None, None, limit=900)
    snaps = query.snap(read_points(homes, "origins", part.bounds))
    found = search_border.of_streets(query, snaps)
    for most in (1, 7):
        monkeypatch.setattr(street_border, "_MOST_AT_ONCE", most)
        assert (search_border.of_streets(query, snaps) == found).all()
    assert np.isfinite(found).any()


# What is kept --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_saved_networks_keep_it(town: Path, tmp_path: Path) -> None:
    triangle = shapely.Polygon([place(2, 2), place(24, 2), place(2, 24)])
    network = built(town, triangle, has_buses=True).prepare("walking")
    again = tl.load_network(network.save(tmp_path / "town.network"))
    assert again.fingerprint == network.fingerprint
    assert again.tables.extent.shape.equals(triangle)
    assert (again.tables.edge_is_cut == network.tables.edge_is_cut).all()
    assert again.timetable.leaving == network.timetable.leaving != ()
    for mode, limit in MODES:
        asked = {"travel_time": limit, "transportation": mode, "departure_time": MORNING}
        pd.testing.assert_frame_equal(
            *(tl.time_map(each, [place(6, 6), place(10, 4)], **asked) for each in (network, again))
        )


def test_networks_saved_before_have_none(town: Path, whole: Network, tmp_path: Path) -> None:
    """Their answers have the columns that they had, and receipts agree with those of networks with a border."""
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    before = Network(
        replace(part.tables, extent=None, edge_is_cut=np.zeros(0, np.bool_)),
        water=part.water, timezone=part.timezone, is_left_hand=part.is_left_hand, attribution=part.attribution,
    )  # fmt: skip
    assert before.fingerprint == part.fingerprint
    again = tl.load_network(before.save(tmp_path / "before.network"))
    assert again.tables.extent is None
    asked = {"travel_time": 600, "transportation": "walking"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old = tl.time_map(again, [place(7, 7)], **asked)
    new = tl.time_map(part, [place(7, 7)], **asked)
    assert "reaches_border" not in old
    pd.testing.assert_frame_equal(old, new.drop(columns="reaches_border"))
    assert tl.replay(tl.receipt(old), part).is_same


def test_changes_keep_it(town: Path) -> None:
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    changed = part.with_changes(tl.AddStreet(shapely.LineString([place(6, 6), place(12, 14)]), {"walking": 5}))
    old, new = part.tables, changed.tables
    assert new.edge_is_cut.size == new.edge_from.size > old.edge_from.size
    assert new.edge_length_m[new.edge_is_cut].sum() >= 0.99 * old.edge_length_m[old.edge_is_cut].sum()


def test_cut_trips(town: Path) -> None:
    """Stops next to one outside have the seconds of the shortest ride; slow twin: look at every trip."""
    box_of = (*place(5.5, 5.5), *place(20.5, 20.5))
    before, after = built(town, has_buses=True).timetable, built(town, box_of, has_buses=True).timetable
    inside = shapely.box(*box_of)
    expected: dict[str, int] = {}
    stop_id = before.stops["stop_id"].tolist()
    is_in = [inside.covers(at) for at in gpd.points_from_xy(before.stops["stop_lon"], before.stops["stop_lat"])]
    for trip, pattern in enumerate(before.trips["pattern_idx"]):
        stops = before.pattern_stop[before.pattern_indptr[pattern] : before.pattern_indptr[pattern + 1]].tolist()
        times = slice(before.trip_indptr[trip], before.trip_indptr[trip + 1])
        arrival, departure = before.arrival[times].tolist(), before.departure[times].tolist()
        for k in range(len(stops) - 1):
            a, b = stops[k], stops[k + 1]
            if is_in[a] != is_in[b]:
                name = stop_id[a if is_in[a] else b]
                expected[name] = min(expected.get(name, 10**9), arrival[k + 1] - departure[k])
    assert {after.stops["stop_id"].iloc[stop]: seconds for stop, seconds in after.leaving} == expected != {}


# The map -------------------------------------------------------------------------------------------------------------


def test_the_map_says_so(town: Path) -> None:
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for points, told in (
            ([place(6, 6)], ["The area extends to the border of the streets: what lies beyond it is missing."]),
            ([place(14, 14)], []),
            (
                [place(6, 6), place(14, 14)],
                ["The area of Place 1 extends to the border of the streets: what lies beyond it is missing."],
            ),
        ):
            query = state_of(part, points, travel_time=240, transportation="walking").query()
            assert answers.remarks(part, query, answers.areas(part, query)) == told


@pytest.mark.slow
def test_the_service_starts_without_warnings(town: Path) -> None:
    pytest.importorskip("starlette", reason="the extra 'server' is not installed")
    from traveltime_lab.server.atlas import Atlas
    from traveltime_lab.server.warm_up import warm_up

    with warnings.catch_warnings():
        warnings.simplefilter("error", tl.BorderWarning)
        warm_up(Atlas(built(town, (*place(9.5, 9.5), *place(14.5, 14.5)), has_buses=True)))


# Other doors ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_service_has_it_in_a_header(town: Path) -> None:
    """Bodies are those of a network without a border."""
    pytest.importorskip("starlette", reason="the extra 'server' is not installed")
    from tests.support.door import PAIR, ok, open_door, time_map_search
    from traveltime_lab.server.app import create_app
    from traveltime_lab.server.atlas import Atlas
    from traveltime_lab.server.auth import Credentials

    bounds = (*place(5.5, 5.5), *place(20.5, 20.5))
    part, unaware = built(town, bounds), built(town, bounds)
    unaware.streets.tables = replace(unaware.tables, extent=None, edge_is_cut=np.zeros(0, np.bool_))
    bodies = []
    for network in (part, unaware):
        with open_door(create_app(Atlas(network), Credentials([PAIR]))) as door:
            for spot, is_told in ((place(6, 6), network is part), (place(14, 14), False)):
                more = {"travel_time": 240, "transportation": {"type": "walking"}}
                search = time_map_search(place=spot[::-1], departure_time="2026-03-03T08:00:00Z", **more)
                answer = door.post("/v4/time-map", {"departure_searches": [search]})
                ok(answer)
                assert ("extends to the border" in answer.headers.get("x-warning", "")) == is_told
                bodies.append(answer.content)
    assert bodies[:2] == bodies[2:]


def test_files_of_areas(town: Path, tmp_path: Path) -> None:
    part = built(town, (*place(5.5, 5.5), *place(20.5, 20.5)))
    homes = gpd.GeoSeries.from_xy(*zip(place(6, 6), place(14, 14), strict=True), crs=4326)
    asked = {"travel_time": [120, 240], "transportation": "walking"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gpd.read_parquet(tl.write_areas(part, homes, tmp_path / "areas", progress=False, **asked))
    assert flags(found) == flags(tl.time_map(part, homes, **asked)) == [True, True, False, False]
