"""Reliability: planned, observed and realizable travel times against a passenger in plain Python, and laws."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.days import STATIONS, day_of, drawn_town, observed_vehicles, updated, write
from tests.support.oracles_doors import DoorOracle
from tests.support.oracles_reliability import follow
from tests.support.towns import STOPS, STREETS, TRIPS, timetable
from tests.support.worlds import FRAME
from traveltime_lab.modes.transportation import as_transportation

MONDAY, TUESDAY = dt.date(2026, 3, 2), dt.date(2026, 3, 3)
LIMIT = 3600


def ms_of(values: pd.Series) -> np.ndarray:
    """Return travel times as floats, inf for missing ones."""
    return values.to_numpy(np.float64, na_value=math.inf)


#: Ways to travel on which most trips have rides, and some have transfers.
MEANS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["public_transport", "bus", "cycling+public_transport", "driving+public_transport"]),
        "direct_walking_time": st.sampled_from([0, 60]),
        "walking_time": st.sampled_from([300, 500]),
    },
    optional={
        "pt_change_delay": st.sampled_from([0, 45]),
        "max_changes": st.integers(1, 3),
        "transfer_walking_time": st.sampled_from([100, 400]),
    },
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MEANS, st.integers(-120, 900), st.integers(0, 2**32 - 1))
@pytest.mark.thorough
def test_realizable_times_equal_passengers_in_plain_python(
    tmp_path_factory: pytest.TempPathFactory, means: dict[str, Any], when: int, seed: int
) -> None:
    """Days by feeds edited by hand, and by live updates; laws on the way."""
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("town")
    streets, stops, vehicles = drawn_town(rng)
    network = tl.build_network(streets, gtfs=write(folder, stops, vehicles), timezone="UTC")
    ran = {date: observed_vehicles(vehicles, rng) for date in (MONDAY, TUESDAY)}
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak", "driving_time_to_station": 60, "parking_time": 30}
    if means["type"].startswith("cycling"):
        means = {**means, "cycling_time_to_station": 120, "parking_time": 30}
    origins, destinations = (FRAME.to_lnglat(rng.uniform(-60, 1260, n), rng.uniform(-60, 1260, n)) for n in (4, 6))
    points = [gpd.GeoSeries.from_xy(*each, crs="EPSG:4326") for each in (origins, destinations)]
    moments = [dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC) + dt.timedelta(seconds=when + later) for later in (0, 700)]
    how: dict[str, Any] = {"travel_time": LIMIT, "transportation": means, "departure_time": moments}
    by_feed = {}
    for date, each in ran.items():
        path = write(tmp_path_factory.mktemp("day"), stops, each)
        by_feed[date] = tl.build_network(streets, gtfs=path, timezone="UTC")
    raw = tl.reliability(network, by_feed, *points, form="departures", **how)
    assert len(raw) == 4 * 6 * 2 * 2
    begin = int(dt.datetime.combine(MONDAY, dt.time(), dt.UTC).timestamp())
    doors = DoorOracle(network, as_transportation(means), origins, destinations, begin + 24_800, begin + 43_200)
    stop_ids = network.timetable.stops["stop_id"].tolist()
    plans = {}
    for moment in raw["departure_time"].unique():
        planned = tl.routes(network, *points, transportation=means, departure_time=moment)
        plans[moment] = planned.set_index(["origin", "destination"])["route"]
        assert plans[moment].index.is_unique
    for row, (_, found) in zip(raw.index, raw.iterrows(), strict=True):
        date, moment = found["date"].date(), found["departure_time"]
        i, j = found["origin"], found["destination"]
        plan = plans[moment][i, j]
        if plan is not None and plan.travel_time > LIMIT:
            plan = None
        assert (plan is None) == pd.isna(found["planned"])
        second = round(moment.timestamp() - dt.datetime.combine(date, dt.time(), dt.UTC).timestamp())
        trip = follow(plan, doors, stop_ids, ran[date], (i, j), second, LIMIT, STATIONS)
        expected = pd.NA if trip.ms == math.inf else math.floor(trip.ms / 1000 + 0.5)
        assert raw["realizable"].iloc[row] is expected or raw["realizable"].iloc[row] == expected
        if plan is not None:
            assert found["planned"] == plan.travel_time
            assert (found["transfers"], found["transfers_missed"]) == (trip.transfers, trip.missed)
            assert found["possible"] == trip.is_possible
    # Alone, each departure is what a matrix of the day has.
    for date, day in by_feed.items():
        for moment in moments:
            at = moment + (date - MONDAY)
            alone = tl.time_filter(
                day, *points, travel_time=LIMIT, transportation=means, departure_time=at, form="matrix"
            )
            some = raw[(raw["departure_time"] == at)]
            np.testing.assert_array_equal(
                ms_of(some["observed"]), np.nan_to_num(alone.to_numpy(np.float64).ravel(), nan=math.inf)
            )
    by_updates = {}
    for date, each in ran.items():
        by_updates[date] = updated(network, vehicles, each, date)
    same = tl.reliability(network, by_updates, *points, form="departures", **how)
    pd.testing.assert_frame_equal(raw, same)
    check_summary(tl.reliability(network, by_feed, *points, **how), raw)
    as_planned = tl.reliability(network, dict.fromkeys(ran, network), *points, form="departures", **how)
    for name in ("observed", "realizable"):
        np.testing.assert_array_equal(ms_of(as_planned["planned"]), ms_of(as_planned[name]))
    assert as_planned["possible"].fillna(value=True).all()
    assert not as_planned["transfers_missed"].fillna(0).any()


def check_summary(summary: pd.DataFrame, raw: pd.DataFrame) -> None:
    """Compare statistics with those of numpy over the rows of departures."""
    for (_, row), (ends, rows) in zip(summary.iterrows(), raw.groupby(["origin", "destination"]), strict=True):
        assert (row["origin"], row["destination"]) == ends
        for kind in ("planned", "observed", "realizable"):
            seconds = ms_of(rows[kind])
            assert row[f"{kind}_share"] == (seconds < math.inf).mean()
            for percent in (50, 80, 95):
                expected = np.percentile(seconds, percent, method="inverted_cdf")
                value = row[f"{kind}_p{percent}"]
                assert (math.inf if pd.isna(value) else value) == expected
        n_transfers, n_plans = rows["transfers"].sum(), rows["planned"].notna().sum()
        missed = rows["transfers_missed"].sum() / n_transfers if n_transfers else pd.NA
        assert row["transfers_missed"] is missed or row["transfers_missed"] == pytest.approx(missed, rel=1e-12)
        possible = rows["possible"].sum() / n_plans if n_plans else pd.NA
        assert row["possible"] is possible or row["possible"] == pytest.approx(possible, rel=1e-12)
        assert row["n_departures"] == len(rows) and row["n_days"] == rows["date"].nunique()
        assert pd.isna(row["reason"]) == rows["realizable"].notna().any()


# By hand -------------------------------------------------------------------------------------------------------------

#: A second bus from b to c, half an hour later, of the same line.
LATER = [*TRIPS, [("b", 30_600), ("c", 30_900)]]
LINES = {"trips": "route_id,service_id,trip_id\nR0,daily,t0\nR1,daily,t1\nR1,daily,t2"}
A_TO_C = (
    gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326, index=["home"]),
    gpd.GeoSeries.from_xy(*FRAME.to_lnglat([6000.0, 3000.0], [0.0, 0.0]), crs=4326, index=["c", "b"]),
)
HOW: dict[str, Any] = {"departure_time": "2026-03-02T08:00:00", "travel_time": 3000}


def street(folder: Path, trips: list[Any] = LATER, timezone: str = "UTC") -> tl.Network:
    folder.mkdir(parents=True, exist_ok=True)
    return tl.build_network(STREETS, gtfs=timetable(folder, STOPS, trips, **LINES), timezone=timezone)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return street(tmp_path_factory.mktemp("town"))


def days_of(network: tl.Network) -> dict[dt.date, tl.Network]:
    """Return days: as planned, with a missed transfer, with a bus that is missed at home, and without any."""
    delays: list[dict[str, int | None]] = [{}, {"t0": 600}, {"t0": -60}, {"t1": None, "t2": None}, {"t1": 1500}]
    dates = [MONDAY + dt.timedelta(days=k) for k in range(len(delays))]
    return {date: day_of(network, date, **each) for date, each in zip(dates, delays, strict=True)}


@pytest.mark.slow
def test_by_hand(town: tl.Network) -> None:
    raw = tl.reliability(town, days_of(town), *A_TO_C, form="departures", **HOW)
    to_c = raw[raw["destination"] == "c"]
    assert to_c["planned"].tolist() == [900] * 5
    # The bus to b is 10 minutes late, leaves a minute early, and then both on from b, or one of them, do not come.
    assert to_c["observed"].tolist() == [900, 2100, pd.NA, pd.NA, 2100]
    assert to_c["realizable"].tolist() == [900, 2100, pd.NA, pd.NA, 2100]
    assert to_c["transfers"].tolist() == [1] * 5
    assert to_c["transfers_missed"].tolist() == [0, 1, 1, 1, 0]
    assert to_c["possible"].tolist() == [True, False, False, False, True]
    assert to_c["reason"].isna().tolist() == [True, True, False, False, True]
    assert set(to_c["reason"].dropna()) == {"no_vehicle"}
    assert to_c["departure_time"].dt.strftime("%F %T").tolist() == [f"2026-03-0{k} 08:00:00" for k in range(2, 7)]
    found = tl.reliability(town, days_of(town), *A_TO_C, percentiles=[20, 60, 80], **HOW).set_index("destination")
    c = found.loc["c"]
    assert c[["realizable_p20", "realizable_p60"]].tolist() == [900, 2100] and c["realizable_p80"] is pd.NA
    assert (c["planned_share"], c["realizable_share"], c["transfers_missed"], c["possible"]) == (1.0, 0.6, 0.6, 0.4)
    assert (c["n_days"], c["n_departures"]) == (5, 5) and pd.isna(c["reason"])
    assert found.loc["b", "transfers_missed"] is pd.NA
    never = tl.reliability(town, {MONDAY: day_of(town, MONDAY, t0=600)}, *A_TO_C, **{**HOW, "travel_time": 1500})
    assert never.set_index("destination").loc["c", ["reason", "planned_p50"]].tolist() == ["no_vehicle", 900]
    late = tl.reliability(town, {MONDAY: day_of(town, MONDAY, t1=1500)}, *A_TO_C, **{**HOW, "travel_time": 2000})
    assert late["reason"].iloc[0] == "late"
    beyond = tl.reliability(town, {MONDAY: town}, *A_TO_C, **{**HOW, "travel_time": 600}).iloc[0]
    assert (beyond["reason"], beyond["planned_p50"], beyond["possible"]) == ("over_limit", pd.NA, pd.NA)


def test_the_line_may_come_late_and_early(tmp_path: Path) -> None:
    """A late vehicle that is ahead of the planned one is the next one; one that is overtaken is not waited for."""
    trips = [[("a", 28_500), ("b", 28_800)], [("a", 29_100), ("b", 29_400)]]
    lines = {"trips": "route_id,service_id,trip_id\nR0,daily,t0\nR0,daily,t1"}
    network = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, trips, **lines), timezone="UTC")
    ends = A_TO_C[0], A_TO_C[1].loc[["b"]]
    for delays, expected, is_possible in (
        ({}, 600, True), ({"t0": 360}, 360, True), ({"t0": 900, "t1": 60}, 660, True), ({"t1": None}, pd.NA, False),
        ({"t0": 1200, "t1": 1500}, 1200, True), ({"t1": -400}, pd.NA, False),
    ):  # fmt: skip
        day = day_of(network, MONDAY, **delays)
        found = tl.reliability(network, {MONDAY: day}, *ends, form="departures", **HOW)
        assert found["planned"].tolist() == [600]
        assert found["realizable"].tolist() == [expected], delays
        assert found["possible"].tolist() == [is_possible], delays


@pytest.mark.thorough
def test_departures(town: tl.Network) -> None:
    days = days_of(town)
    every = tl.reliability(town, days, *A_TO_C, form="departures", window=300, **HOW)
    minutes = [dt.datetime(2026, 1, 1, 8, k) for k in range(5)]
    by_list = tl.reliability(town, days, *A_TO_C, form="departures", **{**HOW, "departure_time": minutes})
    pd.testing.assert_frame_equal(every, by_list)
    assert len(every) == 2 * 5 * 5
    morning = {**HOW, "departure_time": "weekday_morning"}
    for one, other in ((HOW, morning), (HOW, {**HOW, "departure_time": "2020-01-01T08:00"})):
        pd.testing.assert_frame_equal(
            *(tl.reliability(town, days, *A_TO_C, **how) for how in (one, other)), check_exact=True
        )
    night = [dt.datetime(2026, 3, 2, 23, 59), dt.datetime(2026, 3, 3, 0, 1)]
    late = tl.reliability(town, {MONDAY: town}, *A_TO_C, form="departures", **{**HOW, "departure_time": night})
    assert late["date"].dt.strftime("%F").unique().tolist() == ["2026-03-02"]
    assert late["departure_time"].dt.strftime("%F %R").unique().tolist() == ["2026-03-02 23:59", "2026-03-03 00:01"]


@pytest.mark.slow
def test_amounts_are_sums_over_pairs(town: tl.Network) -> None:
    days = days_of(town)
    places = gpd.GeoDataFrame({"jobs": [0.1, 30.2]}, index=["c", "b"], geometry=A_TO_C[1])
    far = FRAME.to_lnglat([90_000.0], [0.0])
    homes = pd.concat([A_TO_C[0], gpd.GeoSeries.from_xy(*far, crs=4326, index=["away"])])
    how = {**HOW, "departure_time": ["2026-03-02T07:58", "2026-03-02T08:00"]}
    times = tl.reliability(town, days, homes, places, form="departures", **how)
    amounts = tl.reliability(town, days, homes, opportunities=places, values="jobs", form="departures", **how)
    counts = tl.reliability(town, days, homes, opportunities=places, form="departures", **how)
    found = tl.reliability(town, days, homes, opportunities=places, values="jobs", **how)
    jobs = times["destination"].map(places["jobs"])
    for kind in ("planned", "observed", "realizable"):
        own = jobs.where(times[kind].notna(), 0.0)
        expected = own.groupby([times["origin"], times["departure_time"]], sort=False).agg(math.fsum)
        here = amounts.set_index(["origin", "departure_time"])[f"jobs_{kind}"]
        assert here.loc[["home"]].tolist() == expected.loc[["home"]].tolist()
        assert here.loc[["away"]].isna().all()
        number = times[kind].notna().groupby([times["origin"], times["departure_time"]], sort=False).sum()
        assert counts[f"opportunities_{kind}"].iloc[:10].tolist() == number.loc[["home"]].tolist()
        values = here.loc["home"].to_numpy()
        assert found.loc["home", f"jobs_{kind}_mean"] == pytest.approx(values.mean())
        for percent in (50, 80, 95):
            expected_one = -np.percentile(-values, percent, method="inverted_cdf")
            assert found.loc["home", f"jobs_{kind}_p{percent}"] == expected_one
    assert (
        found["reason"].tolist()[1] == "origin_outside_network"
        and found.loc[["away"], "jobs_planned_mean"].isna().all()
    )
    assert isinstance(found, gpd.GeoDataFrame) and found.crs == "EPSG:4326"
    planned = tl.accessibility(
        town, homes, places, values="jobs", travel_time=3000, transportation="public_transport",
        departure_time="2026-03-02T08:00",
    )  # fmt: skip
    some = amounts[(amounts["origin"] == "home") & (amounts["departure_time"].dt.minute == 0)]
    assert set(some["jobs_planned"]) == {planned.loc["home", "jobs"]}


def test_chosen_pairs(town: tl.Network) -> None:
    days = days_of(town)
    points = pd.concat([A_TO_C[0], A_TO_C[1]])
    whole = tl.reliability(town, days, points, points, form="departures", **HOW)
    chosen = pd.DataFrame({"origin": ["b", "home", "b"], "destination": ["home", "c", "c"]})
    some = tl.reliability(town, days, points, points, pairs=chosen, form="departures", **HOW)
    keys = ["origin", "destination", "date"]
    expected = whole.set_index(keys).loc[some.set_index(keys).index].reset_index()
    pd.testing.assert_frame_equal(some, expected[some.columns])
    aligned = tl.reliability(town, days, points, points, pairs="aligned", **HOW)
    assert aligned["planned_p50"].tolist() == [0, 0, 0]


class Lazy(Mapping[dt.date, tl.Network]):
    """Days whose networks are created when they are asked for."""

    digest = "0123abcd"

    def __init__(self, network: tl.Network, dates: list[dt.date]) -> None:
        self.network, self.dates = network, dates
        self.asked: list[dt.date] = []

    def __getitem__(self, date: dt.date) -> tl.Network:
        self.asked.append(date)
        return day_of(self.network, date, t0=60 * date.day)

    def __iter__(self) -> Iterator[dt.date]:
        return iter(self.dates)

    def __len__(self) -> int:
        return len(self.dates)


@pytest.mark.slow
def test_days_are_asked_for_one_after_the_other(town: tl.Network) -> None:
    dates = [MONDAY + dt.timedelta(days=k) for k in (2, 0, 1)]
    days = Lazy(town, dates)
    found = tl.reliability(town, days, *A_TO_C, **HOW)
    assert days.asked == sorted(dates)
    with ThreadPoolExecutor(2) as executor:
        pd.testing.assert_frame_equal(found, tl.reliability(town, days, *A_TO_C, executor=executor, **HOW))
    calls: list[tuple[int, int]] = []
    tl.reliability(town, days, *A_TO_C, progress=lambda done, total: calls.append((done, total)), **HOW)
    assert calls[-1] == (6, 6)
    receipt = tl.receipt(found)
    about = receipt["arguments"]["days"]
    fingerprints = [days[date].fingerprint for date in sorted(dates)]
    named = ["2026-03-02", "2026-03-03", "2026-03-04"]
    assert about == {"dates": named, "digest": "0123abcd", "fingerprints": fingerprints}
    again = tl.replay(found, town, days=days)
    assert again.is_same and not again.differences
    other = tl.replay(found, town, days=dict(days))
    assert other.is_same and other.differences[0].startswith("the days differ: 3 dates with no hash of an archive, not")
    with pytest.raises(tl.InputError, match="only a hash of its days; pass them as days="):
        tl.replay(found, town)
    with pytest.raises(tl.InputError, match="snap of the receipt has no days"):
        tl.replay(tl.snap(town, A_TO_C[0]), town, days=days)
    by_dict = tl.receipt(tl.reliability(town, {MONDAY: town}, *A_TO_C, **HOW))
    assert by_dict["arguments"]["days"]["fingerprints"] == [town.fingerprint]
    assert "weekday_morning" not in by_dict
    pickle.loads(pickle.dumps(found))


@pytest.mark.thorough
def test_by_processes(town: tl.Network) -> None:
    days = Lazy(town, [MONDAY, TUESDAY])
    with ProcessPoolExecutor(2) as executor:
        for more in ({}, {"form": "departures"}):
            one, other = (
                tl.reliability(town, days, *A_TO_C, executor=each, **HOW, **more) for each in (None, executor)
            )
            pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        ({"days": []}, tl.InputError, "days must map service dates to networks"),
        ({"days": {}}, tl.InputError, "days is empty"),
        ({"days": {"Monday": None}}, tl.InputError, "the keys of days must be dates"),
        ({"days": {dt.datetime(2026, 3, 2, 8): None}}, tl.InputError, "the keys of days must be dates"),
        ({"days": {MONDAY: None}}, tl.InputError, r"days\[2026-03-02\] must be a Network; got NoneType"),
        ({"days": {MONDAY: tl.build_network(STREETS, timezone="UTC")}}, tl.InputError, "has no timetable"),
        ({"days": {dt.date(2031, 3, 2): None}}, tl.NoServiceError, "2031"),
        ({"days": {dt.date.max: None}, "departure_time": ["2026-01-01T23:00", "2026-01-02T01:00"]}, tl.MomentError,
         "too near an end of the calendar"),
        ({"transportation": "walking"}, tl.InputError, "needs a timetable; transportation 'walking' has none"),
        ({"transportation": {"type": "public_transport", "headways": "average"}}, tl.UnsupportedError, "headways"),
        ({"departure_time": None}, tl.InputError, "reliability needs departure_time"),
        ({"arrival_time": "2026-03-02T09:00"}, tl.KeywordError, "departs when it is planned"),
        ({"window": 0}, tl.LimitError, "window"),
        ({"window": 43_200, "departure_time": [dt.datetime(2026, 3, 2, k) for k in range(3)]}, tl.LimitError, "2,160"),
        ({"destinations": None}, tl.InputError, "got neither"),
        ({"opportunities": A_TO_C[1]}, tl.InputError, "got both"),
        ({"values": "jobs"}, tl.InputError, "values names columns of opportunities"),
        ({"destinations": None, "opportunities": A_TO_C[1], "pairs": "aligned"}, tl.InputError, "pairs is for"),
        ({"form": "matrix"}, tl.InputError, "form"),
        ({"percentiles": [0]}, tl.LimitError, "percentiles"),
        ({"travel_time": 20_000}, tl.LimitError, "travel_time"),
        ({"executor": 2}, tl.InputError, "executor"),
    ],
)  # fmt: skip
def test_wrong_questions(town: tl.Network, wrong: dict[str, Any], kind: type[Exception], text: str) -> None:
    right = {"days": {MONDAY: town}, "origins": A_TO_C[0], "destinations": A_TO_C[1], **HOW}
    with pytest.raises(kind, match=text):
        tl.reliability(town, **{**right, **wrong})


def test_clocks_and_zones(tmp_path: Path, town: tl.Network) -> None:
    rome = street(tmp_path / "rome", timezone="Europe/Rome")
    with pytest.raises(tl.InputError, match="has the time zone UTC, the planned network has Europe/Rome"):
        tl.reliability(rome, {MONDAY: town}, *A_TO_C, **HOW)
    with pytest.raises(tl.MomentError, match=r"departure_time on 2026-03-29: .*does not exist"):
        tl.reliability(rome, {dt.date(2026, 3, 29): rome}, *A_TO_C, travel_time=600, departure_time="2026-03-02T02:30")


def test_sizes(town: tl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    from traveltime_lab.search.reliability import reliability as module

    monkeypatch.setattr(module, "_MOST_ROWS", 1)
    with pytest.raises(tl.LimitError, match="at most 1 rows; got 2"):
        tl.reliability(town, {MONDAY: town}, *A_TO_C, form="departures", **HOW)
    monkeypatch.setattr(module, "_MOST_TIMES", 1)
    with pytest.raises(tl.LimitError, match="at most 1 pairs over all departures; got 2"):
        tl.reliability(town, {MONDAY: town}, *A_TO_C, **HOW)
    assert len(tl.reliability(town, {MONDAY: town}, A_TO_C[0], opportunities=A_TO_C[1], **HOW)) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["public_transport", "driving+public_transport", "cycling+public_transport"])
def test_laws_of_a_city(porto_alegre: tl.Network, kind: str) -> None:
    """As planned, the three travel times are equal; with delays, nobody is faster than the fastest trip."""
    zones = tl.sample_points(kind="zones").to_crs(4326)
    points = zones.set_geometry(zones.geometry.representative_point()).sample(40, random_state=3)
    date = dt.date(2019, 5, 14)
    how: dict[str, Any] = {
        "departure_time": ["2019-05-14T07:40", "2019-05-14T12:05"], "travel_time": 5400, "transportation": kind,
        "form": "departures",
    }  # fmt: skip
    same = tl.reliability(porto_alegre, {date: porto_alegre}, points, points, **how)
    planned = ms_of(same["planned"])
    assert np.isfinite(planned).mean() > 0.9
    # By car, most trips are driven nearly all the way.
    assert (same["transfers"] > 0).mean() > (0.0 if kind.startswith("driving") else 0.2)
    for name in ("observed", "realizable"):
        np.testing.assert_array_equal(planned, ms_of(same[name]))
    assert same["possible"].fillna(value=True).all()
    rng = np.random.default_rng(4)
    trips = porto_alegre.trips_frame(date="2019-05-14")["trip_id"]
    delays = {trip: None if rng.random() < 0.05 else int(rng.integers(-60, 400)) for trip in trips}
    found = tl.reliability(porto_alegre, {date: day_of(porto_alegre, date, **delays)}, points, points, **how)
    np.testing.assert_array_equal(planned, ms_of(found["planned"]))
    assert (ms_of(found["realizable"]) >= ms_of(found["observed"])).all()
    assert 0.0 < 1.0 - found["possible"].mean() < 0.9
    assert (found["transfers_missed"] <= found["transfers"]).all()


@pytest.mark.slow
def test_vehicles_continue_as_others_and_repeated_trips(tmp_path: Path) -> None:
    """Passengers stay seated; trips of frequencies.txt are caught if any of the line comes."""
    folder = tmp_path / "blocks"
    folder.mkdir()
    trips = [[("a", 28_800), ("b", 29_100)], [("b", 29_100), ("c", 29_700)]]
    in_blocks = {"trips": "route_id,service_id,trip_id,block_id\nR0,daily,t0,x\nR1,daily,t1,x"}
    seated = tl.build_network(STREETS, gtfs=timetable(folder, STOPS, trips, **in_blocks), timezone="UTC")
    ends = A_TO_C[0], A_TO_C[1].loc[["c"]]
    for delays, expected, is_possible in (
        ({}, 900, True), ({"t0": 200, "t1": 300}, 1200, True), ({"t0": None}, pd.NA, False),
        ({"t1": None}, pd.NA, False),
    ):  # fmt: skip
        day = day_of(seated, MONDAY, **delays)
        found = tl.reliability(seated, {MONDAY: day}, *ends, form="departures", **HOW)
        assert (found["planned"].tolist(), found["transfers"].tolist()) == ([900], [0])
        assert (found["realizable"].tolist(), found["possible"].tolist()) == ([expected], [is_possible]), delays
    often = {"frequencies": "trip_id,start_time,end_time,headway_secs,exact_times\nt1,08:00:00,09:00:00,600,1"}
    network = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, TRIPS, **often), timezone="UTC")
    for delay, expected, is_possible in ((0, 900, True), (600, 1500, True), (3540, pd.NA, False)):
        day = day_of(network, MONDAY, t0=delay)
        found = tl.reliability(network, {MONDAY: day}, *ends, form="departures", **HOW)
        assert (found["planned"].tolist(), found["realizable"].tolist()) == ([900], [expected])
        assert found["possible"].tolist() == [is_possible]
