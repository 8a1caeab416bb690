"""A network with live updates: all doors answer for it, and it shares what does not change."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import oracles_realtime as twin

DAY, ZONE = "20190711", "America/Sao_Paulo"


def content(updates: list[dict[str, Any]]) -> bytes:
    return json.dumps(twin.message(updates, twin.midnight(DAY, ZONE) + 7 * 3600)).encode()


@pytest.fixture(scope="module")
def busy(porto_alegre: tl.Network) -> list[str]:
    """The trips that run in the morning of the day."""
    timetable = porto_alegre.timetable
    assert timetable is not None
    date = pd.Timestamp(DAY).date()
    hot = timetable.hot
    runs = timetable.services_on(date)[hot.trip_service] & ~hot.is_repeated
    runs &= (hot.last_arrival > 7 * 3600) & (hot.first_departure < 9 * 3600)
    return timetable.trips["trip_id"].to_numpy(object)[runs].tolist()


def some_updates(busy: list[str]) -> list[dict[str, Any]]:
    dice = random.Random(1)
    chosen = dice.sample(busy, 400)
    updates: list[dict[str, Any]] = []
    for i, trip in enumerate(chosen):
        one: dict[str, Any] = {"trip": {"trip_id": trip, "start_date": DAY}}
        if i % 5 == 0:
            one["trip"]["schedule_relationship"] = "CANCELED"
        elif i % 5 == 1:
            one["delay"] = dice.randrange(60, 1200)
        else:
            stops = sorted(dice.sample(range(1, 9), 3))
            kinds = [{"arrival": {"delay": dice.randrange(-120, 900)}}, {"schedule_relationship": "SKIPPED"},
                     {"schedule_relationship": "NO_DATA"}]  # fmt: skip
            one["stop_time_update"] = [{"stop_sequence": s, **kind} for s, kind in zip(stops, kinds, strict=True)]
        updates.append(one)
    return updates


def _fill_times(by_hand: twin.Edited, trips: list[str], network: tl.Network) -> None:
    """Write the times that the reader has interpolated into the calls of some trips."""
    timetable = network.timetable
    assert timetable is not None
    row_of = {name: row for row, name in enumerate(timetable.trips["trip_id"].tolist())}
    for trip in trips:
        begin = int(timetable.trip_indptr[row_of[trip]])
        for k, call in enumerate(by_hand.calls[trip]):
            call["arrival_time"] = twin.clock(int(timetable.arrival[begin + k]))
            call["departure_time"] = twin.clock(int(timetable.departure[begin + k]))


@pytest.mark.thorough
def test_searches_equal_those_of_a_feed_edited_by_hand(
    porto_alegre: tl.Network, busy: list[str], tmp_path: Path
) -> None:
    """1,000 pairs each way, leaving at and arriving by a moment."""
    updates = some_updates(busy)
    updated = porto_alegre.with_updates(content(updates))
    assert updated.updates is not None
    assert updated.updates.trips["applied"].mean() > 0.9
    files = tl.sample_files()
    feeds = [path for role, path in files.items() if path.suffix == ".zip"]
    paths = []
    for number, path in enumerate(feeds):
        tables = twin.read(path)
        own = {row["trip_id"] for row in tables["trips"]}
        mine = [update for update in updates if update["trip"]["trip_id"] in own]
        if not mine:
            paths.append(path)
            continue
        by_hand = twin.Edited(tables)
        _fill_times(by_hand, [update["trip"]["trip_id"] for update in mine], porto_alegre)
        for update in mine:
            by_hand.apply(update)
        paths.append(twin.write(by_hand.feed(), tmp_path / f"{number}.zip"))
    edited = tl.build_network(porto_alegre.tables, gtfs=paths, timezone=ZONE)
    points = tl.sample_points(kind="zones").to_crs(4326)
    points = points.set_geometry(points.geometry.representative_point())
    places = points.sample(64, random_state=1).reset_index(drop=True)
    n_differ = 0
    how: dict[str, Any] = {"travel_time": 5400, "transportation": "public_transport"}
    for moment in ({"departure_time": "2019-07-11T08:00:00"}, {"arrival_time": "2019-07-11T08:30:00"}):
        times = [
            tl.time_filter(network, places.iloc[:32], places.iloc[32:], **how, **moment)
            for network in (updated, edited, porto_alegre)
        ]
        pd.testing.assert_frame_equal(times[0], times[1], check_dtype=False)
        one, before = (each["travel_time"].to_numpy(np.float64, na_value=-1.0) for each in (times[0], times[2]))
        assert one.size == 1024
        n_differ += int((one != before).sum())
    assert n_differ > 50


@pytest.mark.slow
def test_what_is_shared(porto_alegre: tl.Network, busy: list[str]) -> None:
    updated = porto_alegre.with_updates(content(some_updates(busy)))
    assert updated.streets is porto_alegre.streets
    assert updated.tables is porto_alegre.tables
    assert updated.fingerprint != porto_alegre.fingerprint
    assert porto_alegre.updates is None
    # Walks around stops are computed once for both, whoever asks first.
    places = tl.sample_points()
    tl.time_filter(updated, places, places, travel_time=1800, transportation="public_transport",
                   departure_time="2019-07-11T08:00:00")  # fmt: skip
    assert porto_alegre.transit is not None
    assert updated.transit is not None
    from traveltime_lab.transit.stop_links import STOPS, TRANSFERS, WALKS

    for kind in (STOPS, WALKS, TRANSFERS):
        assert updated.transit.memo.entries[kind] is porto_alegre.transit.memo.entries[kind]
    nothing = porto_alegre.with_updates(content([]))
    assert nothing.fingerprint == porto_alegre.fingerprint
    assert nothing.timetable is porto_alegre.timetable


@pytest.mark.thorough
def test_again_with_changes_saved_and_pickled(porto_alegre: tl.Network, busy: list[str], tmp_path: Path) -> None:
    updates = some_updates(busy)
    once = porto_alegre.with_updates(content(updates[:200]))
    assert once.with_updates(content(updates)).fingerprint == porto_alegre.with_updates(content(updates)).fingerprint
    facts = once.report()["updates"]
    assert facts["updates_of_trips"] == 200
    assert "updates of trips: 200" in str(once.report())
    assert porto_alegre.timetable is not None
    route = str(porto_alegre.timetable.routes["route_id"].iloc[3])
    change = tl.RemoveRoutes(route)
    changed = once.with_changes(change)
    assert changed.updates is not None
    assert changed.fingerprint == porto_alegre.with_changes(change).with_updates(content(updates[:200])).fingerprint
    loaded = tl.load_network(once.save(tmp_path / "updated.network"))
    assert loaded.fingerprint == once.fingerprint
    assert loaded.updates is None
    assert loaded.report()["updates"]["applied"] == facts["applied"]
    with pytest.raises(tl.InputError, match="saved with updates"):
        loaded.with_updates(content(updates))
    with pytest.raises(tl.InputError, match="saved with updates"):
        loaded.with_changes(change).with_updates(content(updates))
    again = pickle.loads(pickle.dumps(once))
    assert once.updates is not None
    assert again.updates.counts == once.updates.counts
    places = tl.sample_points()
    keywords: dict[str, Any] = {
        "travel_time": 3600, "transportation": "public_transport", "departure_time": "2019-07-11T08:00:00",
    }  # fmt: skip
    times = [tl.time_filter(each, places, places, **keywords) for each in (once, loaded, again)]
    for other in times[1:]:
        pd.testing.assert_frame_equal(times[0], other)


@pytest.mark.thorough
def test_new_speeds_keep_the_updates(porto_alegre: tl.Network, busy: list[str]) -> None:
    """They are applied to the planned timetable again, and newer ones take their place."""
    updates = some_updates(busy)
    once, plain = (tl.add_speeds(each, factors={"residential": 0.5}) for each in
                   (porto_alegre.with_updates(content(updates[:200])), porto_alegre))  # fmt: skip
    assert once.updates is not None
    assert once.fingerprint == plain.with_updates(content(updates[:200])).fingerprint != plain.fingerprint
    assert once.with_updates(content(updates)).fingerprint == plain.with_updates(content(updates)).fingerprint
    assert once.with_updates(content([])).fingerprint == plain.fingerprint


@pytest.mark.slow
def test_without_a_timetable(helsinki: tl.Network) -> None:
    with pytest.raises(tl.InputError, match="needs a timetable"):
        helsinki.with_updates(b"")


@pytest.mark.slow
def test_nothing_is_applied_of_a_broken_message(porto_alegre: tl.Network, busy: list[str]) -> None:
    with pytest.raises(tl.DataError):
        porto_alegre.with_updates([content(some_updates(busy)), b"\x0a\xff"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gtfs", "files", "n", "n_applied"),
    [
        ("caltrain/gtfs.zip", ["caltrain/ct-trip-updates.pb", "caltrain/ct-vehicle-positions.pb"], 19, 19),
        ("bart/gtfs.zip", ["bart/bart-trip-updates.pb", "bart/bart-alerts.pb"], 91, 67),
        ("bart/gtfs_2018.zip", ["bart/added_canceled_20180530.json"], 4, 4),
        ("sound_transit/gtfs.zip", ["sound_transit/TripUpdate-DUPLICATED-1690679342.json"], 15, 15),
        ("redding/gtfs.zip", ["redding/raba-trip-updates.pb", "redding/raba-vehicle-positions.pb"], 9, 9),
        ("bustang/gtfs.zip", ["bustang/trip_updates_20230306.pb"], 6, 6),
        ("sncb/gtfs_20190316.zip", ["sncb/trip_updates_20190316T0745.pb"], 209, 207),
        ("nyc_subway/gtfs_2023.zip", ["nyc_subway/trip_updates_20230509T0658.pb"], 257, 239),
    ],
)
def test_real_feeds(shared_data: Path, gtfs: str, files: list[str], n: int, n_applied: int) -> None:
    from traveltime_lab.readers.gtfs.feed import read_timetable
    from traveltime_lab.realtime.updates import read_updates, with_updates
    from traveltime_lab.transit.timetable_columns import check_timetable

    folder = shared_data / "realtime"
    timetable = read_timetable(folder / gtfs)
    found, report, _ = with_updates(timetable, read_updates([folder / file for file in files], None))
    check_timetable(found)
    assert (len(report.trips), int(report.trips["applied"].sum())) == (n, n_applied)
    assert (report.trips["reason"] == "").eq(report.trips["applied"]).all()
    assert len(report.vehicles) == report.counts["vehicles"]
