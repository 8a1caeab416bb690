"""Speeds by hour: every search at an hour is one on a network with the speeds of that hour."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from decimal import Decimal
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracle_hours import frozen, measured, profiles
from tests.support.oracles import random_points
from tests.support.worlds import FRAME, at, towns, world
from traveltime_lab.errors import DataError, FormatError, InputError, LimitError, MissingFileError
from traveltime_lab.network import checksums
from traveltime_lab.network.network import Network

quick = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Three streets in a row, a kilometre each; the last one goes eastwards only, and back over f.
#
#   a ---100--- b ---101--- c ---102--> d
#                           <--  f   <--
NODES = {name: (1000.0 * i, 0.0) for i, name in enumerate("abcd")} | {"f": (2500.0, 800.0)}
STREETS = [
    ("a", "b"),
    ("b", "c", {"highway": "primary"}),
    ("c", "d", {"oneway": "yes"}),
    ("d", "f", {"oneway": "yes"}),
    ("f", "c", {"oneway": "yes"}),
]
FREE = tl.Transportation("driving", traffic_model="off_peak")
TUESDAY, SUNDAY = "2026-03-03T08:15", "2026-03-08T08:15"


@pytest.fixture(scope="module")
def row() -> Network:
    return world(NODES, STREETS)


def edge(network: Network, way: int) -> int:
    return int(np.flatnonzero(network.tables.edge_way_id == way)[0])


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


def kph(network: Network, way: int, when: object) -> list[float]:
    frame = network.edges_frame(when)
    return frame.loc[frame["way_id"] == way, ["traffic_kph_forward", "traffic_kph_backward"]].iloc[0].tolist()


# Searches


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_a_search_at_an_hour_is_one_at_the_speeds_of_that_hour(network, data):
    rows = data.draw(profiles(network.n_edges, is_whole=True))
    by_hour = tl.add_speeds(network, profile=rows)
    speeds = measured(rows)
    points = gpd.GeoSeries.from_xy(*random_points(network, 5, data.draw(st.integers(0, 999))), crs="EPSG:4326")
    hour = data.draw(st.sampled_from([0, 8, 24 + 17, 5 * 24 + 8, 167]))
    moment = dt.datetime(2026, 3, 2) + dt.timedelta(hours=hour, minutes=30)
    then = frozen(network, {(e, side): kph for (e, side, there), kph in speeds.items() if there == hour})
    for when in ("departure_time", "arrival_time"):
        at_hour, twin = ({"transportation": means, when: moment} for means in ("driving", FREE))
        for engine in ("dijkstra", "hierarchy"):
            found, expected = (
                tl.time_filter(
                    each, points, points, travel_time=7200, properties=("travel_time", "distance"), engine=engine, **how
                )
                for each, how in ((by_hour, at_hour), (then, twin))
            )
            pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected))
        found, expected = (
            tl.time_map(each, points.iloc[:2], travel_time=120, **how)
            for each, how in ((by_hour, at_hour), (then, twin))
        )
        assert shapely.equals_exact(found.geometry.array, expected.geometry.array).all()
        found, expected = (
            tl.routes(each, points.iloc[:3], points, **how) for each, how in ((by_hour, at_hour), (then, twin))
        )
        assert found.geometry.to_wkb().tolist() == expected.geometry.to_wkb().tolist()


@quick
@given(towns(), st.data())
@pytest.mark.thorough
def test_hours_without_a_speed_are_those_of_before(network, data):
    rows = data.draw(profiles(network.n_edges))
    if not len(rows):
        return
    rows = rows[rows["hour"] != 17]
    by_hour = tl.add_speeds(network, profile=rows) if len(rows) else network
    points = gpd.GeoSeries.from_xy(*random_points(network, 5, 1), crs="EPSG:4326")
    for moment in (dt.datetime(2026, 3, 2, 17, 30), dt.datetime(2026, 3, 7, 17)):
        found, expected = (
            tl.time_filter(
                each, points, points, travel_time=7200, transportation="driving", departure_time=moment, form="matrix"
            )
            for each in (by_hour, network)
        )
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.thorough
def test_the_sample_on_tuesday_and_on_sunday(porto_alegre: Network, tmp_path: Path) -> None:
    """One network answers for both; the same pairs as two networks of fixed speeds."""
    rng = np.random.default_rng(0)
    n = porto_alegre.n_edges
    day = rng.choice([11.0, 23.5, 47.25], (n, 2)).astype(np.float32)
    rows = pd.concat(
        table(edge=np.arange(n), day=word, hour=8, kph=day[:, i]) for i, word in enumerate(["weekday", "sunday"])
    )
    path = tmp_path / "profile.parquet"
    rows.to_parquet(path)
    network = tl.add_speeds(porto_alegre, profile=path)
    homes = gpd.GeoSeries.from_xy(*random_points(porto_alegre, 20, 1), crs="EPSG:4326")
    places = gpd.GeoSeries.from_xy(*random_points(porto_alegre, 50, 2), crs="EPSG:4326")
    for i, when in enumerate(("2026-03-03T08:40", "2026-03-08T08:00")):
        twin = tl.add_speeds(porto_alegre, edges=dict(enumerate(day[:, i].tolist())))
        found, expected = (
            tl.time_filter(
                each, homes, places, travel_time=7200, transportation=means, departure_time=when, form="matrix"
            )
            for each, means in ((network, "driving"), (twin, FREE))
        )
        pd.testing.assert_frame_equal(found, expected)
    file = network.report()["files"]["profile.parquet"]
    assert file.startswith("measured speeds, ")
    facts = network.report()["modes"]["driving"]["speeds_by_hour"]
    assert facts["hours_of_168"] == 6
    assert (facts["slowest_kph"], facts["fastest_kph"], facts["different_weeks"]) == (11, 47.25, 9)
    assert "speeds by hour" in str(network.report())
    assert "speeds_by_hour" not in porto_alegre.report()["modes"]["driving"]


def test_the_hour_is_local_and_that_of_the_arrival_in_arrival_searches() -> None:
    network = world(NODES, STREETS)
    east = tl.build_network(network.tables, timezone="America/New_York")
    east = tl.add_speeds(east, profile=table(way=101, day="tuesday", hour=[7, 8], kph=[20.0, 10.0]))
    assert kph(east, 101, TUESDAY) == kph(east, 101, "2026-03-03T13:15Z") == [10, 10]
    # Summer time began on 8 March: the same hour is an hour earlier in UTC.
    assert kph(east, 101, "2026-03-10T12:15Z") == [10, 10]
    ends = at((1100, 0), (1900, 0))
    how = {"travel_time": 3600, "transportation": "driving", "form": "matrix"}
    slow = tl.time_filter(east, ends, ends, arrival_time="2026-03-03T08:01", **how)
    fast = tl.time_filter(east, ends, ends, departure_time="2026-03-03T07:59", **how)
    assert slow.iloc[0, 1] == pytest.approx(800 / 10 * 3.6, abs=1)
    assert fast.iloc[0, 1] == pytest.approx(800 / 20 * 3.6, abs=1)
    many = tl.time_filter(
        east, ends, ends, departure_time=["2026-03-03T07:30", "2026-03-03T08:30", "2026-03-10T08:00"], **how
    )
    assert [frame.iloc[0, 1] for frame in (many if isinstance(many, list) else [many.xs(k, level=0) for k in
            many.index.get_level_values(0).unique()])] == [144, 288, 288]  # fmt: skip


@pytest.mark.thorough
def test_the_way_to_a_stop_by_car_has_the_speeds_of_its_hour(porto_alegre: Network) -> None:
    crawl = table(edge=np.arange(porto_alegre.n_edges), hour=8, kph=3.0)
    slow = tl.add_speeds(porto_alegre, profile=crawl)
    homes = tl.sample_points()
    for hour, is_same in ((8, False), (10, True)):
        found, before = (
            tl.time_filter(
                each, homes.iloc[:3], homes, travel_time=7200, form="matrix",
                transportation="driving+public_transport", departure_time=dt.datetime(2019, 7, 11, hour),
            )
            for each in (slow, porto_alegre)
        )  # fmt: skip
        assert found.equals(before) == is_same


# Reading


@pytest.mark.slow
def test_the_same_speeds_in_any_form(row: Network, tmp_path: Path) -> None:
    e = edge(row, 101)
    rows = [
        (e, side, day, hour, 10.0 + hour) for side in ("forward", "backward") for day in range(5) for hour in (7, 8)
    ]
    long = pd.DataFrame(rows, columns=["edge", "direction", "day", "hour", "kph"])
    expected = tl.add_speeds(row, profile=long)
    names = ["monday", "Tuesday", "WEDNESDAY", " thursday", "friday"]
    short = pd.DataFrame({"way": [101, 101], "day": "weekday", "hour": [7, 8], "kph": [17, 18]})
    forms = {
        "rows in another order": long.sample(frac=1.0, random_state=1),
        "days with names": long.assign(day=[names[day] for day in long["day"]]),
        "days as texts": long.assign(day=long["day"].astype(str)),
        "words": short,
        "directions with both": short.assign(direction="Both"),
        "a direction that is missing": short.assign(direction=[None, np.nan]),
        "numbers as floats": short.astype({"way": float, "hour": float}),
        "numbers as texts": short.astype(str),
        "categories": short.astype({"day": "category", "kph": "category"}),
        "decimals": short.assign(kph=[Decimal(17), Decimal(18)]),
        "types of pandas": short.astype({"way": "Int64", "day": "string", "kph": "Float32"}),
        "columns in another order": short[["kph", "hour", "day", "way"]],
    }
    for name, form in forms.items():
        assert tl.add_speeds(row, profile=form).fingerprint == expected.fingerprint, name
    for form in (long, short):
        form.to_csv(tmp_path / "a.csv", index=False)
        form.to_csv(tmp_path / "index.csv")
        form.sample(frac=1.0, random_state=1).to_parquet(tmp_path / "index.parquet")
        form.to_csv(tmp_path / "a.csv.gz", index=False)
        form.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
        form.to_parquet(tmp_path / "a.parquet")
        pq.write_table(pa.Table.from_pandas(form), tmp_path / "groups.parquet", row_group_size=1)
        files = "a.csv", "index.csv", "a.csv.gz", "semicolons.csv", "a.parquet", "index.parquet", "groups.parquet"
        for file in files:
            assert tl.add_speeds(row, profile=str(tmp_path / file)).fingerprint == expected.fingerprint, file


def test_forward_is_along_the_edge_and_as_openstreetmap_draws_a_way(row: Network, helsinki: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=101, direction=["forward", "backward"], hour=8, kph=[10, 20]))
    assert kph(network, 101, TUESDAY) == [10, 20]
    ends = at((1100, 0), (1900, 0))
    there = tl.time_filter(
        network, ends, ends, travel_time=3600, transportation="driving", departure_time=TUESDAY, form="matrix"
    )
    assert [there.iloc[0, 1], there.iloc[1, 0]] == [288, 144]
    # Ways with oneway=yes are open along their edges.
    uses = helsinki.tables.uses.iloc[helsinki.tables.edge_use]
    forward, backward = ((uses[f"driving_kph_{side}"] > 0).to_numpy() for side in ("forward", "backward"))
    assert (forward & ~backward).sum() > 100 * max((backward & ~forward).sum(), 1)


def test_closed_directions_stay_closed(row: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=102, direction=["forward", "backward"], hour=8, kph=[20, 30]))
    assert kph(network, 102, TUESDAY) == [20, 0]
    assert network.report()["modes"]["driving"]["speeds_by_hour"]["directed_edges"] == 1
    # Nothing is measured, so that nothing changes.
    assert tl.add_speeds(row, profile=table(way=102, direction="backward", hour=8, kph=[30])).fingerprint == (
        row.fingerprint
    )


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (table(way=[101], hour=8, kph=0.05), LimitError, "the kph 0.05 in row 0; speeds must be from 0.1 to 500 km/h"),
        (table(way=101, hour=8, kph=[10.0, 501]), LimitError, "the kph 501.0 in row 1"),
        (table(way=101, hour=[7, 8], kph=[10.0, np.nan]), LimitError, "the kph nan in row 1.*leave out rows"),
        (table(way=101, hour=[7, 8], kph=["10", "fast"]), LimitError, "the kph 'fast' in row 1"),
        (table(way=101, hour=[7, 8], kph=[True, False]), LimitError, "the kph True in row 0"),
        (table(way=101, hour=[7, 8], kph=[10.0, {}]), LimitError, "the kph {} in row 1"),
        (table(way=101, hour=[7, 8], kph=[10.0, True]), LimitError, "the kph True in row 1"),
        (table(way=101, hour=[7], kph=[10 + 1j]), LimitError, "in row 0"),
        (table(way=101, hour=pd.to_timedelta([7]), kph=10), InputError, "the hour Timedelta"),
        (table(way=101, hour=[7], kph=10, day=[[1, 2]]), InputError, r"the day \[1, 2\] in row 0"),
        (table(way=101, hour=[7], kph=10, direction=[{}]), InputError, "the direction {} in row 0"),
        (table(way=101, hour=[24], kph=10), LimitError, "the hour 24 in row 0; hours must be whole numbers"),
        (table(way=101, hour=[-1], kph=10), LimitError, "the hour -1 in row 0"),
        (table(way=101, hour=[7.5], kph=10), InputError, "the hour 7.5 in row 0"),
        (table(way=101, hour=[None], kph=10), InputError, "the hour None in row 0"),
        (table(way=101, hour=pd.to_datetime(["2026-03-03"]), kph=10), InputError, "the hour Timestamp"),
        (table(way=101, hour=[7], kph=10, day=7), InputError, r"the day 7 in row 0; days are 0 \(Monday\) to 6"),
        (table(way=101, hour=[7], kph=10, day="Montag"), InputError, "the day 'Montag' in row 0"),
        (table(way=101, hour=[7], kph=10, day=1.5), InputError, "the day 1.5 in row 0"),
        (table(way=101, hour=[7], kph=10, direction="F"), InputError, "the direction 'F' in row 0; directions are"),
        (table(way=[101, 999], hour=7, kph=10), InputError, "the way 999 in row 1; it does not occur in the network"),
        (table(way=[1e300], hour=7, kph=10), InputError, "the way 1e\\+300 in row 0; ways are whole numbers"),
        (table(edge=[99], hour=7, kph=10), InputError, "the edge 99 in row 0; it does not occur in the network"),
        (table(edge=[-1], hour=7, kph=10), InputError, "the edge -1 in row 0"),
        (table(way=101, hour=[7, 7], kph=10), InputError, "the way 101 in row 1; it has a speed for Monday, 7 o'clock"),
        (table(way=101, hour=[7, 7], kph=10, day=["weekday", 4]), InputError, "row 1.*Friday, 7 o'clock"),
        (table(way=101, hour=[7, 7], kph=10, direction=["both", "backward"]), InputError, "in this direction already"),
        (table(way=[101], edge=[1], hour=7, kph=10), InputError, "'way', 'edge', 'hour', 'kph'; it needs the columns"),
        (table(hour=[7], kph=10), InputError, "it needs the columns edge or way"),
        (table(way=[101], kph=10), InputError, "it needs the columns"),
        (table(way=[101], hour=7, kmh=10), InputError, "the column 'kmh'; .*did you mean 'kph'"),
        (table(way=[101], hour=7, kph=10, dirction="forward"), InputError, "did you mean 'direction'"),
        (table(way=[101], hour=7, kph=10).iloc[:0], InputError, "profile has no rows"),
        (pd.DataFrame([[101, 7, 10, 10]], columns=["way", "hour", "kph", "kph"]), InputError, "'kph' more than once"),
        ([1, 2], InputError, "profile must be a DataFrame or the path"),
        ({"way": 1}, InputError, "got dict"),
        (5, InputError, "profile"),
        ("nowhere.parquet", MissingFileError, "no profile of speeds at nowhere.parquet"),
    ],
)  # fmt: skip
def test_what_is_refused(row: Network, rows: object, error: type[Exception], words: str) -> None:
    before = row.fingerprint
    with pytest.raises(error, match=words):
        tl.add_speeds(row, profile=rows)
    assert row.fingerprint == before


def test_rows_are_counted_over_all_parts_of_a_file(row: Network, tmp_path: Path) -> None:
    rows = table(way=101, hour=list(range(24)), kph=10.0)
    rows.loc[23, "kph"] = 1000.0
    path = tmp_path / "p.parquet"
    pq.write_table(pa.Table.from_pandas(rows), path, row_group_size=5)
    with pytest.raises(LimitError, match=r"p.parquet has the kph 1000.0 in row 23"):
        tl.add_speeds(row, profile=path)
    # A street that is in two parts.
    pq.write_table(pa.Table.from_pandas(pd.concat([rows[:10], rows[9:10]])), path, row_group_size=10)
    with pytest.raises(InputError, match="in row 10; it has a speed for Monday, 9 o'clock"):
        tl.add_speeds(row, profile=path)


def test_files_that_are_damaged(row: Network, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    table(way=101, hour=[7, 8], kph=10.0).to_parquet(path)
    content = path.read_bytes()
    for wrong in (content[:-20], content[: len(content) // 2], b"", b"PAR1" + content[:50]):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match="is no table that can be read"):
            tl.add_speeds(row, profile=path)
    # A file that claims to be much larger than it is.
    n = 5_000_000
    bomb = pa.table({"way": np.full(n, 101), "hour": np.zeros(n, np.int8), "kph": np.zeros(n)})
    pq.write_table(bomb, path)
    with pytest.raises(DataError, match="rows take"):
        tl.add_speeds(row, profile=path)
    (tmp_path / "p.csv").write_text("way,hour,kph\n101,8,10,99\n")
    with pytest.raises(DataError, match=r"p.csv has a row with more or fewer fields than the header"):
        tl.add_speeds(row, profile=tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("way,hour,kph,kph\n101,8,10,99\n")
    with pytest.raises(InputError, match="the column 'kph' more than once"):
        tl.add_speeds(row, profile=tmp_path / "p.csv")
    with pytest.raises((InputError, OSError)):
        tl.add_speeds(row, profile=tmp_path)


@pytest.mark.parametrize("mode", ["walking", "cycling"])
def test_other_modes_have_no_hours(row: Network, mode: str) -> None:
    with pytest.raises(InputError, match=f"profile is for driving.*got mode='{mode}'"):
        tl.add_speeds(row, profile=table(way=101, hour=[8], kph=10), mode=mode)
    network = tl.add_speeds(row, profile=table(way=101, hour=[8], kph=10.0))
    slower = tl.add_speeds(network, classes={"primary": 2.0}, factors={"primary": 0.5}, mode=mode)
    assert kph(slower, 101, TUESDAY) == [10, 10]


# Precedence, and changes


@pytest.mark.thorough
def test_what_comes_later_wins(row: Network) -> None:
    first = tl.add_speeds(row, profile=table(way=[100, 101, 101], hour=[8, 8, 9], kph=[10.0, 11, 12]))
    again = tl.add_speeds(first, profile=table(way=101, day="tuesday", hour=[8], kph=30.0))
    assert [kph(again, 101, f"2026-03-0{day}T0{hour}:00")[0] for day, hour in ((3, 8), (4, 8), (3, 9))] == [30, 11, 12]
    assert kph(again, 100, TUESDAY) == [10, 10]
    # Speeds of edges replace what was measured there; of a whole class, too.
    for given_speeds in ({"classes": {"primary": 36}}, {"ways": {101: 36}}, {"edges": {edge(row, 101): 36}}):
        network = tl.add_speeds(first, **given_speeds)
        assert network.edges_frame()["driving_kph_forward"].iloc[edge(row, 101)] == 36
        assert kph(network, 101, TUESDAY)[0] < 36  # with congestion
        assert kph(network, 101, TUESDAY) == kph(tl.add_speeds(row, **given_speeds), 101, TUESDAY)
        assert kph(network, 100, TUESDAY) == [10, 10]
        # In one call, the profile has precedence at its hours.
        both = tl.add_speeds(row, **given_speeds, profile=table(way=101, hour=[8], kph=10.0))
        assert kph(both, 101, TUESDAY) == [10, 10]
        assert both.edges_frame()["driving_kph_forward"].iloc[edge(row, 101)] == 36


def test_factors_multiply_measured_speeds(row: Network) -> None:
    rows = table(way=[100, 101], hour=8, kph=[10.0, 20])
    lng, lat = FRAME.to_lnglat(np.array([1000.0, 2000.0]), np.array([-50.0, 50.0]))
    zone = gpd.GeoDataFrame({"factor": [0.5]}, geometry=[shapely.box(lng[0], lat[0], lng[1], lat[1])], crs="EPSG:4326")
    first = tl.add_speeds(row, profile=rows)
    for by in ({"factors": {"primary": 0.5}}, {"polygons": zone}):
        together, later = tl.add_speeds(row, profile=rows, **by), tl.add_speeds(first, **by)
        assert together.fingerprint == later.fingerprint
        assert kph(later, 101, TUESDAY) == [10, 10]
        assert kph(later, 100, TUESDAY) == [10, 10]
    with pytest.raises(LimitError, match=r"one of factors makes measured speeds 0.05 to 20 km/h"):
        tl.add_speeds(row, profile=table(way=[100, 101], hour=8, kph=[20.0, 5]), factors={"primary": 0.01})


def test_scenarios_on_top(row: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=[100, 101, 102], hour=8, kph=[10.0, 20, 30]))
    half = network.with_changes([tl.SetSpeed(ways=[101], modes="driving", factor=0.5)])
    assert kph(half, 101, TUESDAY) == [10, 10]
    assert kph(half, 101, SUNDAY) == [10, 10]
    fixed = network.with_changes([tl.SetSpeed(ways=[101], modes="driving", kph=18)])
    # 18 km/h is the speed of free flow of before: what has changed is what was measured.
    assert "1 edge, 1.00 km" in fixed.report()["changes"]["1. SetSpeed"]
    assert kph(fixed, 101, TUESDAY) == kph(row, 101, TUESDAY)
    assert kph(fixed, 100, TUESDAY) == [10, 10]
    assert kph(network.with_changes([tl.SetSpeed(ways=[101], modes="cycling", kph=9)]), 101, TUESDAY) == [20, 20]
    same = network.with_changes([tl.SetSpeed(ways=[101], modes="driving", factor=1)])
    assert same.fingerprint == network.fingerprint
    with pytest.raises(LimitError, match=r"factor 0.01 makes measured speeds"):
        tl.add_speeds(row, profile=table(way=[101], hour=8, kph=5.0)).with_changes(
            [tl.SetSpeed(ways=[101], modes="driving", factor=0.01)]
        )
    closed = network.with_changes([tl.CloseStreets(ways=[101], modes="driving")])
    opened = closed.with_changes([tl.ReopenStreets(ways=[101], modes="driving")])
    assert opened.fingerprint == network.fingerprint != closed.fingerprint
    assert network.with_changes(half.changes).fingerprint == half.fingerprint


def test_parts_of_a_street_keep_its_speeds(row: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=101, direction=["forward", "backward"], hour=8, kph=[10.0, 20]))
    line = shapely.LineString(np.column_stack(FRAME.to_lnglat(np.array([1400.0, 1400.0]), np.array([0.0, 600.0]))))
    longer = network.with_changes([tl.AddStreet(line, speeds={"driving": 30})])
    frame = longer.edges_frame(TUESDAY)
    parts = frame[frame["way_id"] == 101]
    assert len(parts) == 2
    assert (parts[["traffic_kph_forward", "traffic_kph_backward"]] == [10, 20]).all(axis=None)
    new = frame[frame["way_id"] < 0].iloc[0]
    assert new["traffic_kph_forward"] < 30  # with congestion
    ends = at((1100, 0), (1900, 0))
    how = {"travel_time": 3600, "transportation": "driving", "departure_time": TUESDAY, "form": "matrix"}
    found = tl.time_filter(longer, ends, ends, **how)
    assert found.iloc[0, 1] == pytest.approx(288 + 10, abs=12)  # and the turn at the new junction


# What a network with measured speeds is


def test_saved_and_loaded_and_pickled(row: Network, tmp_path: Path) -> None:
    rows = table(way=[100, 101], hour=8, kph=[10.0, 20])
    network = tl.add_speeds(row, profile=rows).prepare("driving")
    path = network.save(tmp_path / "row.network")
    for again in (tl.load_network(path), tl.load_network(path, verify=False), pickle.loads(pickle.dumps(network))):
        assert again.fingerprint == network.fingerprint != row.fingerprint
        assert again.prepared == ("driving",)
        assert kph(again, 101, TUESDAY) == [20, 20]
        ends = at((100, 0), (1900, 0))
        for when in (None, TUESDAY):
            found, expected = (
                tl.time_filter(
                    each, ends, ends, travel_time=3600, transportation="driving", departure_time=when, form="matrix"
                )
                for each in (again, network)
            )
            pd.testing.assert_frame_equal(found, expected)
    header = json.loads(pa.ipc.open_file(path).schema.metadata[b"traveltime_lab.network"])
    assert header["version"] == "5 with speeds by hour"
    plain = row.save(tmp_path / "plain.network")
    assert json.loads(pa.ipc.open_file(plain).schema.metadata[b"traveltime_lab.network"])["version"] == 5
    assert not any("hourly" in name for name in pa.ipc.open_file(plain).schema.names)
    # Without what was measured, it is the network of before.
    assert tl.add_speeds(network, ways={100: 18, 101: 18}).fingerprint == row.fingerprint


def test_damaged_columns_are_refused(row: Network, tmp_path: Path) -> None:
    path = tl.add_speeds(row, profile=table(way=[101], hour=8, kph=10.0)).save(tmp_path / "row.network")
    found = pa.ipc.open_file(path).read_all()
    for name, values in {
        "hourly.week_of": np.full(10, 9, np.uint8),
        "hourly.weeks": np.zeros(13, np.uint8),
        "hourly.days": np.full(48, 7, np.uint8),
        "hourly.kph": np.array([np.nan, -5.0], np.float32),
    }.items():
        column = pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), pa.array(values))
        changed = found.set_column(found.column_names.index(name), name, column)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, changed.schema) as writer:
            writer.write_table(changed)
        checksums.seal(path)
        with pytest.raises(FormatError, match="damaged"):
            tl.load_network(path)


def test_equal_speeds_are_equal_networks(row: Network) -> None:
    one = tl.add_speeds(row, profile=table(way=[100, 101], hour=8, kph=[10.0, 20]))
    two = tl.add_speeds(tl.add_speeds(row, profile=table(way=[101], hour=8, kph=20.0)), profile=table(
        way=[100], hour=8, kph=10.0))  # fmt: skip
    assert one.fingerprint == two.fingerprint
    other = tl.add_speeds(row, profile=table(way=[100, 101], hour=8, kph=[20.0, 10]))
    assert other.fingerprint != one.fingerprint


def test_frames_say_what_they_do_not_keep(row: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=[101], hour=8, kph=10.0))
    assert "traffic_kph_forward" not in network.edges_frame()
    congested = row.edges_frame(TUESDAY)
    assert (congested["traffic_kph_forward"] < congested["driving_kph_forward"]).all()
    assert (congested["traffic_kph_backward"] == 0).sum() == 3
    assert (row.edges_frame("2026-03-03T03:00")["traffic_kph_forward"] == congested["driving_kph_forward"]).all()
    with pytest.warns(UserWarning, match=r"without measured speeds by hour \(call add_speeds again\)"):
        again = tl.build_network((network.nodes_frame(), network.edges_frame(TUESDAY)))
    assert again.fingerprint == row.fingerprint
    with pytest.raises(tl.MomentError, match="departure_time"):
        network.edges_frame("yesterday")


def test_factors_are_fitted_over_measured_speeds(row: Network) -> None:
    rng = np.random.default_rng(1)
    rows = table(way=[100, 101], hour=8, kph=[9.0, 13])
    network = tl.add_speeds(row, profile=rows)
    slower = tl.add_speeds(network, factors={"primary": 0.7, "residential": 1.2})
    starts, ends = (at(*np.column_stack([rng.uniform(0, 2000, 80), np.zeros(80)])) for _ in "ab")
    times = tl.time_filter(slower, starts, ends, travel_time=7200, pairs="aligned", departure_time=TUESDAY,
                           transportation="driving")["travel_time"]  # fmt: skip
    trips = pd.DataFrame({"origin": starts, "destination": ends, "travel_time": times, "departure_time": TUESDAY})
    found = tl.calibrate_speeds(network, trips[times > 60])
    assert found.factors["primary"] == pytest.approx(0.7, rel=0.02)
    assert found.factors["residential"] == pytest.approx(1.2, rel=0.02)


def test_receipts_and_exports(row: Network) -> None:
    network = tl.add_speeds(row, profile=table(way=[101], hour=8, kph=10.0))
    ends = at((1100, 0), (1900, 0))
    found = tl.time_filter(network, ends, ends, travel_time=3600, transportation="driving", departure_time=TUESDAY)
    assert tl.replay(found, network).is_same
    assert not tl.replay(found, row).is_same
    with pytest.warns(UserWarning, match="without the costs of turns"):
        graph = network.to_networkx("driving", TUESDAY)
    assert max(data["travel_time"] for *_, data in graph.edges(data=True)) == pytest.approx(360, abs=1)
