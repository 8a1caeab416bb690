"""Areas and cells over days: against pairs at the centres of cells, single days and moments one by one, and by hand."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.days import day_of, drawn_town, observed_vehicles, updated, write
from tests.support.towns import STOPS, STREETS, TRIPS, blocks, timetable
from tests.support.worlds import FRAME
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.points import read_points
from traveltime_lab.question import Question
from traveltime_lab.search.reliability.area_study import departures_of, studied
from traveltime_lab.surfaces import raster
from traveltime_lab.surfaces.tiles import TILE

MONDAY, TUESDAY = dt.date(2026, 3, 2), dt.date(2026, 3, 3)
KINDS = ("planned", "observed", "realizable")
PERCENTS = (20, 50, 80, 95)
#: Spacing of the samples that are compared, m.
CELL_M = 60.0


def seconds_of(values: pd.Series) -> np.ndarray:
    """Return travel times as floats, inf for missing ones."""
    return values.to_numpy(np.float64, na_value=math.inf)


MEANS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["public_transport", "bus", "cycling+public_transport", "driving+public_transport"]),
        "walking_time": st.sampled_from([200, 300, 500]),
    },
    optional={
        "direct_walking_time": st.sampled_from([0, 60]),
        "pt_change_delay": st.sampled_from([0, 45]),
        "max_changes": st.integers(1, 3),
        "transfer_walking_time": st.sampled_from([100, 400]),
    },
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
@given(MEANS, st.integers(-120, 900), st.sampled_from([900, 1500, 3600]), st.booleans(), st.integers(0, 2**32 - 1))
@pytest.mark.thorough
def test_areas_have_the_times_of_pairs_at_the_centres_of_cells(
    tmp_path_factory: pytest.TempPathFactory, means: dict[str, Any], when: int, limit: int, by_feed: bool, seed: int
) -> None:
    """Percentiles and shares of all kinds, from days by live updates and by feeds edited by hand."""
    rng = np.random.default_rng(seed)
    streets, stops, vehicles = drawn_town(rng)
    network = tl.build_network(streets, gtfs=write(tmp_path_factory.mktemp("town"), stops, vehicles), timezone="UTC")
    ran = {date: observed_vehicles(vehicles, rng) for date in (MONDAY, TUESDAY)}
    if by_feed:
        paths = {date: write(tmp_path_factory.mktemp("day"), stops, each) for date, each in ran.items()}
        days = {date: tl.build_network(streets, gtfs=path, timezone="UTC") for date, path in paths.items()}
    else:
        days = {date: updated(network, vehicles, each, date) for date, each in ran.items()}
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak", "driving_time_to_station": 60, "parking_time": 30}
    if means["type"].startswith("cycling"):
        means = {**means, "cycling_time_to_station": 120, "parking_time": 30}
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(0, 1200, (2, 1))), crs="EPSG:4326")
    moment = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC) + dt.timedelta(seconds=when)
    moments = [moment + dt.timedelta(seconds=later) for later in (0, 170, 700)]
    departures = departures_of(moments, None, None, "UTC")
    question = Question.of("UTC", as_transportation(means), moments[0], None, None, limit=limit)
    found = studied(
        network, days, read_points(home, "origins", network.bounds), question, departures, KINDS, limit + 60, None
    )
    for kind in KINDS:
        query = found.query_of(kind)
        field = found.field(query, kind, 0)
        values = {name: values_of(query, field.of(name), limit) for name in (*PERCENTS, None)}
        keys = [(row, column) for row in range(-12, 12) for column in range(-12, 12)]
        rows, columns = np.array(keys).T
        x, y = ((each + 0.5) * CELL_M for each in (columns, rows))
        frame = network.frame
        places = gpd.GeoSeries.from_xy(*frame.to_lnglat(x, y), crs="EPSG:4326")
        pairs = tl.reliability(
            network, days, home, places, departure_time=moments, travel_time=limit, transportation=means,
            percentiles=PERCENTS,
        )  # fmt: skip
        for percent in PERCENTS:
            mine = np.array([values[percent].get(key, math.inf) for key in keys])
            theirs = seconds_of(pairs[f"{kind}_p{percent}"])
            mine = np.where(mine < limit + 0.5, mine, math.inf)
            with np.errstate(invalid="ignore"):
                is_alike = (mine == theirs) | (np.abs(mine - theirs) <= 0.502)
            assert is_alike.mean() >= (0.99 if kind == "realizable" else 1.0), (kind, percent)
        share = 1.0 - np.minimum([values[None].get(key, 1.0) for key in keys], 1.0)
        is_alike = np.abs(share - pairs[f"{kind}_share"].to_numpy()) < 1e-6
        assert is_alike.mean() >= (0.99 if kind == "realizable" else 1.0), kind


def values_of(query: Any, field: Any, limit: int) -> dict[tuple[int, int], float]:
    """Return the values of a field at the centres of cells by row and column."""
    found = {}
    tiles = raster.tile_values(
        query.network.streets, query.egress_transportation, query.snapping, field, cell_m=CELL_M, limit=limit + 0.499,
        most_tiles=100,
    )  # fmt: skip
    for (tile_row, tile_column), values in tiles:
        for row, column in np.argwhere(np.isfinite(values)).tolist():
            found[tile_row * TILE + row, tile_column * TILE + column] = float(values[row, column])
    return found


# Counting one by one -------------------------------------------------------------------------------------------------

CENTRE = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([700.0], [640.0]), crs=4326, index=["home"])
MORNING = "2026-03-02T08:00"
SOME: dict[str, Any] = {"departure_time": MORNING, "travel_time": 700, "window": 240}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return blocks(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def days(town: tl.Network) -> dict[dt.date, tl.Network]:
    trips = town.trips_frame(date="2026-03-02")["trip_id"]
    late = [{trip: 60 * (k % 4) for k, trip in enumerate(trips)}, dict.fromkeys(trips[::3])]
    return {date: day_of(town, date, **each) for date, each in zip((MONDAY, TUESDAY), late, strict=True)}


def alone(town: tl.Network, days: dict[dt.date, tl.Network], kind: str, name: str) -> list[tuple[tl.Network, dict]]:
    """Return networks and arguments of searches for each departure, or arrival, of each day."""
    found = []
    sign = 1 if name == "departure_time" else -1
    for date, network in days.items():
        for minute in range(4):
            moment = dt.datetime.combine(date, dt.time(8)) + sign * dt.timedelta(minutes=minute)
            found.append((town if kind == "planned" else network, {name: moment, "travel_time": SOME["travel_time"]}))
    return found


@pytest.mark.parametrize("name", ["departure_time", "arrival_time"])
def test_shares_are_means_of_single_searches(town: tl.Network, days: dict[dt.date, tl.Network], name: str) -> None:
    how = {"resolution": 10, "transportation": "public_transport", "geometry": False}
    kinds = ["planned", "observed"]
    asked = {**SOME, name: MORNING} if name == "departure_time" else {"arrival_time": MORNING, **SOME}
    if name == "arrival_time":
        del asked["departure_time"]
    found = tl.reliability_cells(town, days, CENTRE, kinds=kinds, **how, **asked).set_index("cell")
    assert set(found["n_days"]) == {2} and set(found["n_departures"]) == {8}
    for kind in kinds:
        each = [tl.h3_cells(network, CENTRE, **how, **more) for network, more in alone(town, days, kind, name)]
        table = pd.concat(
            [cells.set_index("cell")["share_reachable"].rename(k) for k, cells in enumerate(each)], axis=1
        )
        expected = table.fillna(0.0).sum(axis=1) / len(each)
        np.testing.assert_allclose(found[f"{kind}_share"], expected.reindex(found.index).fillna(0.0), atol=1e-6)
        assert set(expected.index) <= set(found.index)
    assert (found["planned_share"] != found["observed_share"]).any()
    if name == "departure_time":
        by_geohash = tl.reliability_cells(
            town, days, CENTRE, grid="geohash", **{**how, "resolution": 7}, kinds="observed", **asked
        )
        assert list(by_geohash)[:2] == ["origin", "cell"] and by_geohash["observed_share"].between(0, 1).all()


@pytest.mark.parametrize("name", ["departure_time", "arrival_time"])
def test_areas_of_one_day_are_those_of_its_network(
    town: tl.Network, days: dict[dt.date, tl.Network], name: str
) -> None:
    asked = {"travel_time": 700, "window": 240, name: MORNING}
    for date, network in days.items():
        found = tl.reliability_map(
            town, {date: network}, CENTRE, kinds=["planned", "observed"], percentiles=[25, 80], **asked
        )
        assert found["kind"].tolist() == ["planned", "planned", "observed", "observed"]
        assert found["percentile"].tolist() == [25, 80] * 2
        for (_, row), searched in zip(found.iterrows(), (town, town, network, network), strict=True):
            at = {name: dt.datetime.combine(date, dt.time(8)), "travel_time": 700, "window": 240}
            one = tl.time_map(searched, CENTRE, transportation="public_transport", percentile=row["percentile"], **at)
            area = one.geometry.iloc[0]
            assert shapely.symmetric_difference(area, row["geometry"]).area <= 1e-9 * area.area
    single = {name: MORNING, "travel_time": 700}
    cells = tl.reliability_cells(town, {MONDAY: days[MONDAY]}, CENTRE, resolution=10, kinds="observed", **single)
    one = tl.h3_cells(days[MONDAY], CENTRE, resolution=10, transportation="public_transport", **single)
    assert cells["cell"].tolist() == one["cell"].tolist()
    assert cells["observed_p80"].tolist() == cells["observed_p50"].tolist() == one["mean"].tolist()


def test_higher_percentiles_are_within_lower_ones(town: tl.Network, days: dict[dt.date, tl.Network]) -> None:
    found = tl.reliability_map(town, days, CENTRE, percentiles=[13, 50, 80, 100], **SOME)
    for kind, rows in found.groupby("kind", observed=True):
        shapes = rows.sort_values("percentile").geometry.to_numpy()
        for larger, smaller in itertools.pairwise(shapes):
            assert shapely.difference(smaller, larger).area <= 1e-9 * larger.area, kind
        assert shapes[0].area > shapes[-1].area
    # Nobody is faster than with perfect information.
    areas = found.set_index(["kind", "percentile"]).geometry
    for percent in (13, 50, 80, 100):
        outside = shapely.difference(areas["realizable", percent], areas["observed", percent])
        assert outside.area <= 1e-3 * areas["observed", percent].area


def test_as_planned_all_kinds_are_alike(town: tl.Network) -> None:
    same = {MONDAY: town, TUESDAY: town}
    areas = tl.reliability_map(town, same, CENTRE, **SOME)
    first = areas[areas["kind"] == "planned"].geometry.to_numpy()
    for kind in ("observed", "realizable"):
        others = areas[areas["kind"] == kind].geometry.to_numpy()
        assert shapely.area(shapely.symmetric_difference(first, others)).max() <= 1e-12
    cells = tl.reliability_cells(town, same, CENTRE, resolution=9, **SOME)
    for name in ("p50", "p80", "p95", "share"):
        for kind in ("observed", "realizable"):
            pd.testing.assert_series_equal(cells[f"planned_{name}"], cells[f"{kind}_{name}"], check_names=False)


# By hand -------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_by_hand(tmp_path: Path) -> None:
    """A bus from a to b, and on from there to c: late, early, without the second one, as planned."""
    lines = {"trips": "route_id,service_id,trip_id\nR0,daily,t0\nR1,daily,t1\nR1,daily,t2"}
    trips = [*TRIPS, [("b", 30_600), ("c", 30_900)]]
    network = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, **lines), timezone="UTC")
    delays: list[dict[str, int | None]] = [{}, {"t0": 600}, {"t0": -60}, {"t1": None, "t2": None}, {"t1": 1500}]
    each = {MONDAY + dt.timedelta(days=k): day_of(network, MONDAY + dt.timedelta(days=k), **late)
            for k, late in enumerate(delays)}  # fmt: skip
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326)
    ends = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([6010.0, 3000.0], [0.0, 0.0]), crs=4326)
    how: dict[str, Any] = {"departure_time": "2026-03-02T08:00:00", "travel_time": 2900}
    cells = tl.reliability_cells(network, each, home, resolution=12, percentiles=[20, 60, 80], **how)
    found = cells[cells.geometry.contains(ends[0])].iloc[0]
    # As in `reliability`: 900 s as planned, 2100 s twice, and never on two days; and some metres from the stop.
    assert (found["planned_share"], found["realizable_share"]) == (1.0, pytest.approx(0.6, abs=1e-6))
    assert found["realizable_p20"] == pytest.approx(910, abs=12)
    assert found["realizable_p60"] == pytest.approx(2110, abs=12) and pd.isna(found["realizable_p80"])
    areas = tl.reliability_map(network, each, home, percentiles=[60, 80], level_of_detail="highest", **how)
    inside = [[shape.contains(point) for shape in areas.geometry] for point in ends]
    # Planned, observed and realizable, each on 60 % and 80 % of the days; b is reached on four of five.
    assert inside == [[True, True, True, False, True, False], [True] * 6]


def test_stops_that_only_live_updates_call_at(tmp_path: Path) -> None:
    """The observed area is around a stop without planned calls; the others have no way to it."""
    stops = {**STOPS, "d": (4800.0, 0.0)}
    network = tl.build_network(STREETS, gtfs=timetable(tmp_path, stops, TRIPS), timezone="UTC")
    midnight = int(dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp())
    update = {
        "trip": {"trip_id": "new", "route_id": "R0", "start_date": "20260302", "schedule_relationship": "NEW"},
        "stop_time_update": [
            {
                "stop_sequence": k,
                "stop_id": stop,
                "arrival": {"time": midnight + when},
                "departure": {"time": midnight + when},
            }
            for k, (stop, when) in enumerate([("a", 28_900), ("d", 29_000)])
        ],
    }
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": [{"id": "1", "trip_update": update}]}
    day = network.with_updates(json.dumps(message).encode())
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326)
    there = shapely.Point(*(each[0] for each in FRAME.to_lnglat([4800.0], [0.0])))
    how: dict[str, Any] = {"departure_time": "2026-03-02T08:00:00", "travel_time": 400}
    areas = tl.reliability_map(network, {MONDAY: day}, home, percentiles=[100], **how)
    assert dict(zip(areas["kind"], areas.contains(there), strict=True)) == {
        "planned": False, "observed": True, "realizable": False
    }  # fmt: skip


# The call ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_days_executors_and_receipts(town: tl.Network, days: dict[dt.date, tl.Network]) -> None:
    away = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([90_000.0], [0.0]), crs=4326, index=["away"])
    homes = pd.concat([CENTRE, away])
    found = tl.reliability_map(town, days, homes, **SOME)
    assert found.index.tolist() == ["home"] * 9 + ["away"] * 9
    assert found.loc["away"].is_empty.all() and set(found.loc["away", "reason"]) == {"origin_outside_network"}
    cells = tl.reliability_cells(town, days, homes, resolution=9, **SOME)
    assert set(cells["origin"]) == {"home"}
    assert tl.reliability_cells(town, days, away, resolution=9, **SOME).empty
    with ThreadPoolExecutor(2) as executor:
        again = tl.reliability_map(town, days, homes, executor=executor, **SOME)
    assert found.geometry.geom_equals_exact(again.geometry, 0.0).all()
    calls: list[tuple[int, int]] = []
    tl.reliability_cells(
        town, days, homes, resolution=9, progress=lambda done, total: calls.append((done, total)), **SOME
    )
    assert calls[-1] == (6, 6)
    for answer in (found, cells):
        about = tl.receipt(answer)["arguments"]["days"]
        assert about["dates"] == ["2026-03-02", "2026-03-03"]
        assert about["fingerprints"] == [each.fingerprint for each in days.values()]
        again = tl.replay(answer, town, days=days)
        assert again.is_same and not again.differences
        pickle.loads(pickle.dumps(answer))


@pytest.mark.thorough
def test_by_processes(town: tl.Network, days: dict[dt.date, tl.Network]) -> None:
    with ProcessPoolExecutor(2) as executor:
        one, other = (
            tl.reliability_cells(town, days, CENTRE, resolution=9, executor=each, **SOME) for each in (None, executor)
        )
    pd.testing.assert_frame_equal(one, other)


def test_other_streets_and_stops(town: tl.Network, tmp_path: Path) -> None:
    other = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, TRIPS), timezone="UTC")
    with pytest.raises(tl.InputError, match=r"days\[2026-03-02\] has other streets than the planned network"):
        tl.reliability_map(town, {MONDAY: other}, CENTRE, **SOME)
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326)
    faster = tl.add_speeds(other, edges={0: 70.0})
    with pytest.raises(tl.InputError, match="has other streets than the planned network"):
        tl.reliability_map(other, {MONDAY: faster}, home, **SOME)
    for name, stops in (("moved", {**STOPS, "b": (2900.0, 0.0)}), ("more", {"d": (100.0, 0.0), **STOPS})):
        folder = tmp_path / name
        folder.mkdir()
        trips = [[*trip, ("d", 40_000)] for trip in TRIPS] if name == "more" else TRIPS
        day = tl.build_network(STREETS, gtfs=timetable(folder, stops, trips), timezone="UTC")
        with pytest.raises(tl.InputError, match=r"has 1 stops that the planned timetable lacks or has at a different"):
            tl.reliability_map(other, {MONDAY: day}, home, **SOME)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        ({"days": {}}, tl.InputError, "days is empty"),
        ({"days": {MONDAY: None}}, tl.InputError, r"days\[2026-03-02\] must be a Network; got NoneType"),
        ({"transportation": "walking"}, tl.InputError, "need a timetable; transportation 'walking' has none"),
        ({"transportation": {"type": "public_transport", "headways": "average"}}, tl.UnsupportedError, "headways"),
        ({"departure_time": None}, tl.InputError, "got neither"),
        ({"arrival_time": MORNING}, tl.InputError, "got both"),
        ({"departure_time": None, "arrival_time": MORNING}, tl.UnsupportedError, "realizable travel times need"),
        ({"departure_time": None, "arrival_time": MORNING, "kinds": "planned",
          "transportation": "cycling+public_transport"}, tl.UnsupportedError, "need walks to the first stop"),
        ({"kinds": "late"}, tl.InputError, "kinds must be one of 'planned', 'observed', 'realizable'; got 'late'"),
        ({"kinds": []}, tl.InputError, "kinds must be one or several of"),
        ({"kinds": 3}, tl.InputError, "kinds must be one or several of"),
        ({"window": 0}, tl.LimitError, "window"),
        ({"percentiles": [0]}, tl.LimitError, "percentiles"),
        ({"travel_time": 20_000}, tl.LimitError, "travel_time"),
        ({"executor": 2}, tl.InputError, "executor"),
    ],
)  # fmt: skip
def test_wrong_questions(town: tl.Network, wrong: dict[str, Any], kind: type[Exception], text: str) -> None:
    right = {"days": {MONDAY: town}, "origins": CENTRE, **SOME}
    for function, more in ((tl.reliability_map, {}), (tl.reliability_cells, {"resolution": 9})):
        with pytest.raises(kind, match=text):
            function(town, **{**right, **more, **wrong})


def test_wrong_grids(town: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, text in (({"grid": "square"}, "grid must be one of"), ({"resolution": 13}, "must be from 1 to 12")):
        with pytest.raises((tl.InputError, tl.LimitError), match=text):
            tl.reliability_cells(town, {MONDAY: town}, CENTRE, **{"resolution": 9, **SOME, **wrong})
    monkeypatch.setattr("traveltime_lab.search.reliability.area_study._MOST_TIMES", 1)
    with pytest.raises(tl.LimitError, match=r"at most 1 travel times at stops; there are .* after 1 of 1 days"):
        tl.reliability_map(town, {MONDAY: town}, CENTRE, **SOME)
