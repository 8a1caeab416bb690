"""Many moments in one call: the rows of each are those of a call for it alone, to the last bit."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import combined, first_of
from tests.support.towns import MEANS, ON_FOOT, STOPS, STREETS, timetable, towns
from tests.support.worlds import FRAME, at, tables
from tests.transit.test_lengths import drawn_feed
from traveltime_lab.errors import BorderWarning, InputError, LimitError, MomentError
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.question import Question
from traveltime_lab.runtime.shared import MOST_BYTES, Sharing, shared_by, sharing, size_of
from traveltime_lab.search.accessibility.accessibility import Matrix
from traveltime_lab.search.query import Query
from traveltime_lab.streets import layer
from traveltime_lab.transit import together
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.timetable import ServiceWarning

DAY = "2019-05-13T"
#: Not in order, in several trip tables, and one at which hardly anything runs.
MOMENTS = [f"{DAY}08:00", f"{DAY}08:15", f"{DAY}07:30", f"{DAY}10:10", f"{DAY}23:40"]
SIDES = ("departure_time", "arrival_time")
#: Searches by name: each is called with a network, origins, destinations, and the arguments that all share.
SEARCHES: dict[str, Callable[..., Any]] = {
    "pairs": lambda n, a, b, **how: tl.time_filter(n, a, b, travel_time=1800, **how),
    "matrix": lambda n, a, b, **how: tl.time_filter(n, a, b, travel_time=1800, form="matrix", **how),
    "sparse": lambda n, a, b, **how: tl.time_filter(n, a, b, travel_time=1800, form="sparse", **how),
    "lengths": lambda n, a, b, **how: tl.time_filter(
        n, a, b, travel_time=1800, properties=["travel_time", "distance", "snap_distance", "route"], **how
    ),
    "matrices": lambda n, a, b, **how: tl.time_filter(
        n, a, b, travel_time=1800, properties=["travel_time", "distance"], form="matrix", **how
    ),
    "aligned": lambda n, a, b, **how: tl.time_filter(
        n, a.iloc[:2], b.iloc[:2], travel_time=1800, pairs="aligned", **how
    ),
    "nearest": lambda n, a, b, **how: tl.nearest(n, a, b, travel_time=900, k=2, **how),
    "accessibility": lambda n, a, b, **how: tl.accessibility(n, a, b, travel_time=[600, 1800], **how),
    "h3_cells": lambda n, a, b, **how: tl.h3_cells(n, a.iloc[:1], travel_time=900, resolution=8, **how),
    "geohash_cells": lambda n, a, b, **how: tl.geohash_cells(n, a.iloc[:1], travel_time=900, resolution=6, **how),
    "time_map": lambda n, a, b, **how: tl.time_map(n, a.iloc[:1], travel_time=900, level_of_detail="low", **how),
    "routes": lambda n, a, b, **how: tl.routes(n, a.iloc[:2], b.iloc[:2], **how),
}
#: The same of streets only.
ON_STREETS: dict[str, Callable[..., Any]] = {
    "distance_map": lambda n, a, b, **how: tl.distance_map(n, a.iloc[:1], distance=800, level_of_detail="low", **how),
}
BY_TIMETABLE: dict[str, Callable[..., Any]] = {
    "window": lambda n, a, b, **how: tl.time_filter(n, a, b, travel_time=1800, window=900, max_results=2, **how),
    "percentiles": lambda n, a, b, **how: tl.time_filter(
        n, a, b, travel_time=1800, window=900, percentiles=[20, 50], properties=["travel_time", "share"], **how
    ),
    "matrix of percentiles": lambda n, a, b, **how: tl.time_filter(
        n, a, b, travel_time=1800, window=900, percentiles=[50, 80], form="matrix", **how
    ),
    "on foot": lambda n, a, b, **how: tl.time_filter(
        n, a, b, travel_time=1800, properties=["travel_time", "on_foot"], **how
    ),
    "area of a window": lambda n, a, b, **how: tl.time_map(
        n, a.iloc[:1], travel_time=900, level_of_detail="low", window=900, percentile=50, **how
    ),
}


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with geometries as bytes, and routes as texts."""
    kept = pd.DataFrame(table)
    for name in kept.columns:
        if str(name) == "geometry":
            kept = kept.assign(geometry=np.array(table.geometry.to_wkb(), object))
        elif str(name) == "route":
            kept = kept.assign(route=[repr(route) for route in kept["route"]])
    return kept


def assert_equal_to_single_calls(
    search: Callable[..., Any], network: tl.Network, moments: Sequence[Any], side: str, *points: Any, **how: Any
) -> None:
    whole = search(network, *points, **{side: moments}, **how)
    zone = network.timezone
    first = 0
    for moment in moments:
        alone = search(network, *points, **{side: moment}, **how)
        part = whole.iloc[first : first + len(alone)]
        first += len(alone)
        here = pd.Timestamp(moment)
        here = here.tz_localize(zone) if here.tzinfo is None else here.tz_convert(zone)
        if "moment" in whole.index.names:
            assert (part.index.get_level_values("moment") == here).all()
            part = part.droplevel("moment")
        else:
            assert whole.columns[0] == "moment" and str(whole["moment"].dt.tz) == zone
            assert (part["moment"] == here).all()
            part = part.drop(columns="moment")
            if isinstance(alone.index, pd.RangeIndex) and "origin" in alone:
                part = part.reset_index(drop=True)
        assert type(part) is type(alone)
        if isinstance(alone, gpd.GeoDataFrame):
            assert part.crs == alone.crs
        pd.testing.assert_frame_equal(plain(part), plain(alone), check_exact=True)
    assert first == len(whole)


@pytest.fixture(scope="module")
def sample() -> tl.Network:
    return tl.sample_network()


@pytest.fixture(scope="module")
def places() -> gpd.GeoDataFrame:
    return tl.sample_points()


#: Each search has departures in every other mode, on streets and by timetable, and arrivals in the others.
MODES = ("walking", "driving", "public_transport", "bus", "driving+public_transport", "cycling+public_transport")


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
def test_every_search_of_the_sample(sample: tl.Network, places: gpd.GeoDataFrame, mode: str) -> None:
    searches = SEARCHES | (BY_TIMETABLE if mode == "bus" or "public" in mode else ON_STREETS)
    for number, search in enumerate(searches.values(), MODES.index(mode)):
        points = places.iloc[:3], places.iloc[2:6]
        assert_equal_to_single_calls(search, sample, MOMENTS, SIDES[number % 2], *points, transportation=mode)


@pytest.mark.parametrize("name", ["pairs", "matrix", "accessibility", "routes", "percentiles"])
def test_searches_of_the_sample(sample: tl.Network, places: gpd.GeoDataFrame, name: str) -> None:
    points = places.iloc[:2], places.iloc[2:5]
    for side, moments in (("departure_time", MOMENTS[:3]), ("arrival_time", MOMENTS[:1])):
        search = (SEARCHES | BY_TIMETABLE)[name]
        assert_equal_to_single_calls(search, sample, moments, side, *points, transportation="public_transport")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    towns(), MEANS, st.sampled_from(SIDES), st.lists(st.integers(-300, 7200), min_size=1, max_size=6, unique=True),
    st.sampled_from([*SEARCHES, *BY_TIMETABLE]), st.booleans(), st.integers(0, 2**32 - 1),
)  # fmt: skip
@pytest.mark.thorough
def test_random_towns(
    tmp_path_factory: pytest.TempPathFactory,
    town: Any,
    means: dict[str, Any],
    side: str,
    seconds: list[int],
    name: str,
    is_crowded: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    nodes, links, *_ = town
    path = drawn_feed(tmp_path_factory.mktemp("town"), town, rng)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    width = max(x for x, _ in nodes.values()) + 60
    origins, destinations = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(rng.uniform(-60, width, n), rng.uniform(-60, width, n)), crs="EPSG:4326")
        for n in (3, 40 if seed % 2 else 4)
    )
    moments = [pd.Timestamp("2026-03-03T08:00:00", tz="UTC") + pd.Timedelta(seconds=each) for each in seconds]
    search = (SEARCHES | BY_TIMETABLE)[name]
    with pytest.MonkeyPatch.context() as patch:
        if is_crowded:
            # Groups of a few moments, and none.
            patch.setattr(together, "_MOST_VALUES", int(rng.integers(1, 500)))
        assert_equal_to_single_calls(search, network, moments, side, origins, destinations, transportation=means)


def test_streets_that_do_not_change_are_searched_once(
    sample: tl.Network, places: gpd.GeoDataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    known = tl.Network.road_graph
    monkeypatch.setattr(tl.Network, "road_graph", lambda *a, **k: calls.append(0) or known(*a, **k))
    found = SEARCHES["pairs"](sample, places, places, transportation="walking", departure_time=MOMENTS)
    assert len(calls) == 1
    assert len(found) == len(MOMENTS) * len(places) ** 2


HOURS_OF_AUTUMN = [f"2026-10-25T{clock}" for clock in (
    "03:00+03:00", "03:30+03:00", "03:00+02:00", "03:30+02:00", "04:00+02:00", "02:45+03:00",
)]  # fmt: skip


@pytest.fixture(scope="module")
def autumn(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """A town whose clocks go back from 4:00 +03:00 to 3:00 +02:00, with a bus at another minute of each hour."""
    folder = tmp_path_factory.mktemp("autumn")
    calls = [3600 * hour + 60 * minute for hour, minute in ((1, 10), (2, 28), (3, 41), (4, 7), (5, 20))]
    trips = [[("a", when), ("b", when + 500), ("c", when + 1300)] for when in calls]
    path = timetable(
        folder, STOPS, trips,
        agency="agency_id,agency_name,agency_url,agency_timezone\nx,x,https://example.org,Europe/Helsinki",
        calendar="service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        "daily,1,1,1,1,1,1,1,20260101,20261231",
    )  # fmt: skip
    return tl.build_network(STREETS, gtfs=path, timezone="Europe/Helsinki")


@pytest.mark.parametrize(
    ("name", "side"),
    combined(
        ["pairs", "matrix", "accessibility", "routes", "time_map", "percentiles", "window"],
        SIDES,
        mark=pytest.mark.thorough,
    ),
)
def test_hours_that_come_twice(autumn: tl.Network, name: str, side: str) -> None:
    how = {"transportation": {"type": "bus", "direct_walking_time": 0}, side: HOURS_OF_AUTUMN}
    found = tl.time_filter(autumn, at((60, 0)), at((6000, 0)), travel_time=7200, **how)
    assert found["travel_time"].nunique() == len(HOURS_OF_AUTUMN)

    def search(*points: Any, **asked: Any) -> Any:
        # Limits that reach the buses of the next hour.
        with pytest.MonkeyPatch.context() as patch:
            for function in ("time_filter", "accessibility", "time_map"):
                known = getattr(tl, function)
                patch.setattr(tl, function, lambda *a, known=known, **k: known(*a, **{**k, "travel_time": 5400}))
            return (SEARCHES | BY_TIMETABLE)[name](*points, **asked)

    points = at((60, 0), (3000, 0)), at((3000, 0), (6000, 0))
    how = {"transportation": how["transportation"]}
    assert_equal_to_single_calls(search, autumn, HOURS_OF_AUTUMN, side, *points, **how)


@pytest.mark.parametrize("side", first_of(1, SIDES, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_more_street_graphs_than_a_network_keeps(
    sample: tl.Network, places: gpd.GeoDataFrame, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    monkeypatch.setattr(layer.GRAPHS, "kept", 1)
    moments = list(pd.date_range("2019-05-13T06:00", periods=6, freq="90min"))
    for mode in ("driving+public_transport", "driving"):
        points = places.iloc[:2], places.iloc[3:5]
        assert_equal_to_single_calls(SEARCHES["pairs"], sample, moments, side, *points, transportation=mode)


@pytest.mark.thorough
def test_trip_tables_of_past_moments_are_dropped(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    alive: list[int] = []

    def count(done: int, total: int) -> None:
        alive.append(sum(type(each) is TransitSearch for each in gc.get_objects()))

    how = {"travel_time": 1800, "transportation": "public_transport", "progress": count}
    days = pd.date_range("2019-05-13T00:00", periods=12, freq="10h")
    for day in days:
        tl.time_filter(sample, places.iloc[:1], places.iloc[3:5], departure_time=day, **how)
    most = max(alive)
    alive.clear()
    tl.time_filter(sample, places.iloc[:1], places.iloc[3:5], departure_time=list(days), **how)
    # That of the moment, besides those that the network keeps.
    assert max(alive) <= most + 1


def test_values_that_a_call_shares_have_a_size(sample: tl.Network) -> None:
    links = StopLinks(np.zeros(3, np.int64), np.zeros(4, np.int32), np.zeros(4, np.int32))
    assert size_of(links) == 24 + 16 + 16
    assert size_of([links, (links, {"same": links})]) == 56
    # The network is no part of a value.
    assert size_of((sample.transit, sample.streets)) == 0
    moment = pd.Timestamp(f"{DAY}08:00", tz="UTC").to_pydatetime()
    question = Question.of(sample.timezone, "public_transport", moment, None, None, limit=900)
    search = Query.of(question, sample).transit.search()
    assert size_of(search) > search.table.departure.nbytes > 0
    with sharing([moment], 1):
        here = shared_by()
        for key in range(40):
            here.of(key, (), lambda: (np.zeros(32 << 20, np.uint8),))
        assert here._bytes <= MOST_BYTES
        assert len(here._values) == MOST_BYTES // (32 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_keys_of_shared_values_do_not_grow_with_the_moments(
    sample: tl.Network, places: gpd.GeoDataFrame, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    of = Sharing.of

    def recorded(self: Sharing, key: Any, *rest: Any, **how: Any) -> Any:
        sizes.append(leaves(key))
        return of(self, key, *rest, **how)

    monkeypatch.setattr(Sharing, "of", recorded)
    most, calls = [], []
    for n in (10, 100):
        sizes.clear()
        how = {side: list(pd.date_range(f"{DAY}08:00", periods=n, freq="1min")), "transportation": "public_transport"}
        tl.time_filter(sample, places.iloc[:2], places.iloc[2:4], travel_time=900, **how)
        most.append(max(sizes))
        calls.append(len(sizes) / n)
    assert most[0] == most[1]
    assert calls[1] <= calls[0]


def leaves(key: Any) -> int:
    """Return how many values the tuples of a key hold."""
    return sum(map(leaves, key)) if isinstance(key, tuple) else 1


@pytest.mark.thorough
def test_a_day_has_96_quarter_hours(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    day = (f"{DAY}00:00", "2019-05-14T00:00", "15min")
    found = tl.accessibility(
        sample, places.iloc[[0]], places, travel_time=1800, transportation="public_transport", departure_time=day
    )
    assert len(found) == 96
    assert found["opportunities"].min() < found["opportunities"].max()
    assert found["moment"].is_monotonic_increasing
    again = tl.replay(found, sample)
    assert again.is_same
    pd.testing.assert_frame_equal(plain(again.answer), plain(found))


def test_warnings_are_not_repeated(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tl.time_filter(
            sample, places, places, travel_time=59, transportation="public_transport", departure_time=MOMENTS
        )
    texts = [str(each.message) for each in heard if issubclass(each.category, UserWarning)]
    assert len([text for text in texts if "seconds" in text]) == 1
    assert len(texts) <= 2 and not any(issubclass(each.category, BorderWarning) for each in heard)


def test_a_call_that_fails_has_warned(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    how = {"travel_time": 900, "transportation": "public_transport", "departure_time": ["2019-05-04T08:00"]}
    with pytest.warns(ServiceWarning) as heard, pytest.raises(KeyboardInterrupt):
        tl.time_filter(sample, places, places, progress=stop, **how)
    assert [each.filename for each in heard] == [__file__]
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        warnings.simplefilter("error")
        tl.time_filter(sample, places, places, progress=stop, **how)


@pytest.mark.thorough
def test_a_function_for_the_progress_may_search(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    how: dict[str, Any] = {"travel_time": 1800, "transportation": "public_transport"}
    points = places.iloc[:2], places.iloc[2:4]
    asked: dict[str, Callable[[], Any]] = {
        "one moment": lambda: tl.time_filter(sample, *points, departure_time=MOMENTS[1], **how),
        "other moments": lambda: tl.time_filter(sample, *points, departure_time=MOMENTS[1:3], **how),
        "areas": lambda: tl.time_map(sample, points[0], departure_time=MOMENTS[0], level_of_detail="low", **how),
        "explain": lambda: tl.explain(sample, points[0].iloc[[0]], points[1].iloc[[0]], departure_time=MOMENTS[0],
                                      **how).travel_time,
        "little service": lambda: tl.accessibility(sample, *points, departure_time="2019-05-04T08:00", **how),
    }  # fmt: skip
    for name, ask in asked.items():
        found: list[Any] = []

        def search(done: int, total: int, ask: Any = ask, found: list[Any] = found) -> None:
            found.append(ask())

        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            whole = tl.time_filter(sample, *points, departure_time=MOMENTS[:2], progress=search, **how)
            assert bool(heard) == (name == "little service") and len(found) > 1
            alone = ask()
        for each in found:
            if isinstance(alone, pd.DataFrame):
                pd.testing.assert_frame_equal(plain(each), plain(alone))
            else:
                assert each == alone
        pd.testing.assert_frame_equal(whole, tl.time_filter(sample, *points, departure_time=MOMENTS[:2], **how))


def test_progress_is_that_of_one_call(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    seen: list[tuple[int, int]] = []
    for mode in ("walking", "public_transport"):
        seen.clear()
        SEARCHES["pairs"](
            sample, places, places, transportation=mode, departure_time=MOMENTS,
            progress=lambda done, total: seen.append((done, total)),
        )  # fmt: skip
        total = len(MOMENTS) * len(places) ** 2
        assert seen[-1] == (total, total) and seen == sorted(seen)


def test_errors(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    how: dict[str, Any] = {"travel_time": 900, "transportation": "public_transport"}
    with pytest.raises(InputError, match="not both"):
        tl.time_filter(sample, places, places, departure_time=MOMENTS, arrival_time=MOMENTS[0], **how)
    with pytest.raises(MomentError, match=r"departure_time\[1\] 2030"):
        tl.time_filter(sample, places, places, departure_time=[MOMENTS[0], "2030-01-01T08:00"], **how)
    with pytest.raises(LimitError, match="at most 100,000 pairs"):
        many = pd.concat([places.geometry] * 20, ignore_index=True)
        tl.routes(sample, many, many, departure_time=MOMENTS)
    named = places.assign(moment=1)
    with pytest.raises(InputError, match="has a column 'moment'"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Matrix, "__init__", lambda *_, **__: pytest.fail("searched"))
        tl.accessibility(sample, places, named, values="moment", departure_time=MOMENTS[:1], **how)
    found = tl.accessibility(
        sample, places, named, values="moment", measure="nearest", departure_time=MOMENTS[:1], **how
    )
    assert "travel_time_to_moment" in found
    for function in (tl.time_filter, tl.accessibility, tl.nearest):
        for side in SIDES:
            for value in (set(MOMENTS), iter(MOMENTS)):
                with pytest.raises(MomentError, match=rf"^{side} must be one moment, a list of moments"):
                    function(sample, places, places, **{side: value}, **how)
    with pytest.raises(MomentError, match="one moment here"):
        tl.explain(sample, places.iloc[[0]], places.iloc[[1]], departure_time=MOMENTS, **how)


def test_the_accuracy_is_that_of_the_moment_of_the_areas(sample: tl.Network, places: gpd.GeoDataFrame) -> None:
    how: dict[str, Any] = {"transportation": "driving"}
    origin = places.iloc[[0]]
    two = [f"{DAY}03:00", f"{DAY}08:00"]
    areas = tl.time_map(sample, origin, travel_time=600, departure_time=two, **how)
    with pytest.raises(InputError, match="areas has 2 moments"):
        tl.shape_accuracy(sample, areas, origin, departure_time=two[0], **how)
    for moment, wrong in (two, two[::-1]):
        rows = areas[areas["moment"] == pd.Timestamp(moment, tz=sample.timezone)]
        assert tl.shape_accuracy(sample, rows, origin, n_points=200, departure_time=moment, **how).iloc[0] > 0.9
        for asked in ({"departure_time": wrong}, {}, {"arrival_time": wrong}):
            with pytest.raises(InputError, match=f"areas are of the moment {moment}"):
                tl.shape_accuracy(sample, rows, origin, **asked, **how)


@pytest.mark.parametrize("name", ["pairs", "matrix", "accessibility", "h3_cells", "time_map"])
def test_results_are_compared_by_moment(sample: tl.Network, places: gpd.GeoDataFrame, name: str) -> None:
    how: dict[str, Any] = {"transportation": "public_transport"}
    before, after = (
        SEARCHES[name](sample, places.iloc[:2], places.iloc[2:5], departure_time=moments, **how)
        for moments in (MOMENTS[:2], MOMENTS[1::-1])
    )
    found = tl.compare(before, after)
    for moment in MOMENTS[:2]:
        alone = SEARCHES[name](sample, places.iloc[:2], places.iloc[2:5], departure_time=moment, **how)
        twin = tl.compare(alone, alone)
        part = found[found["moment"] == pd.Timestamp(moment).tz_localize(sample.timezone)].drop(columns="moment")
        if isinstance(twin.index, pd.RangeIndex):
            part = part.reset_index(drop=True)
        pd.testing.assert_frame_equal(plain(part), plain(twin))
