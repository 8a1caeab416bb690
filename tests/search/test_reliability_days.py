"""Days that are no simple copies of the plan: other platforms, clocks that change, feeds in another order."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.towns import STREETS, timetable
from tests.support.worlds import FRAME

MONDAY = dt.date(2026, 3, 2)
MIDNIGHT = int(dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp())
HOW: dict[str, Any] = {"departure_time": "2026-03-02T08:00:00", "travel_time": 3000, "form": "departures"}
HOME = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([0.0], [0.0]), crs=4326, index=["home"])
C = gpd.GeoSeries.from_xy(*FRAME.to_lnglat([6000.0], [0.0]), crs=4326, index=["c"])


def times(found: pd.DataFrame) -> list[Any]:
    """Return planned, realizable and possible of the only row."""
    assert len(found) == 1
    return found[["planned", "realizable", "possible"]].iloc[0].tolist()


# Platforms -----------------------------------------------------------------------------------------------------------

#: Stations with two platforms, 100 m apart, and a halt.
PLATFORMS = {"a": 0.0, "a2": 100.0, "b": 3000.0, "b2": 3100.0, "m": 4000.0, "c": 6000.0, "c2": 6100.0}


@pytest.fixture(scope="module")
def stations(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    """Return a bus from a to b, and two buses of one line on to c; a third one leaves b2 before it can be caught."""
    trips = [
        [("a", 28_800), ("b", 29_100)],
        [("b", 29_400), ("m", 29_500), ("c", 29_700)],
        [("b", 30_600), ("m", 30_700), ("c", 30_900)],
        [("b2", 29_150), ("c2", 29_300)],
    ]
    lng, lat = FRAME.to_lnglat([*PLATFORMS.values(), 0.0, 3000.0, 6000.0], [0.0] * 10)
    names = [*PLATFORMS, "A", "B", "C"]
    rows = [
        f"{name},{name},{y:.7f},{x:.7f},{int(name.isupper())},{'' if name in 'mABC' else name[0].upper()}"
        for name, x, y in zip(names, lng, lat, strict=True)
    ]
    folder = tmp_path_factory.mktemp("stations")
    path = timetable(
        folder, {"a": (0.0, 0.0)}, trips,
        stops="\n".join(["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station", *rows]),
        trips="route_id,service_id,trip_id\nR0,daily,t0\nR1,daily,t1\nR1,daily,t2\nR1,daily,t3",
    )  # fmt: skip
    return tl.build_network(STREETS, gtfs=path, timezone="UTC")


def changed(network: tl.Network, *updates: dict[str, Any]) -> dict[dt.date, tl.Network]:
    """Return a day with updates of trips."""
    entities = [{"id": str(k), "trip_update": update} for k, update in enumerate(updates)]
    message = {"header": {"gtfs_realtime_version": "2.0"}, "entity": entities}
    return {MONDAY: network.with_updates(json.dumps(message).encode())}


def moved(trip: str, *to: tuple[int, str], skipped: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return the update of a trip with other stops at some positions."""
    rows = [
        {"stop_sequence": k, "departure": {"delay": 0}, "stop_time_properties": {"assigned_stop_id": stop}}
        for k, stop in to
    ] + [{"stop_sequence": k, "schedule_relationship": "SKIPPED"} for k in skipped]
    rows.sort(key=lambda row: row["stop_sequence"])
    return {"trip": {"trip_id": trip, "start_date": "20260302"}, "stop_time_update": rows}


def cancelled(trip: str) -> dict[str, Any]:
    return {"trip": {"trip_id": trip, "start_date": "20260302", "schedule_relationship": "CANCELED"}}


@pytest.mark.parametrize(
    ("updates", "realizable", "is_possible"),
    [
        ([], 900, True),
        ([moved("t0", (0, "a2"))], 900, True),
        ([moved("t0", (1, "b2"))], 900, True),
        ([moved("t1", (0, "b2"))], 900, True),
        ([moved("t1", (2, "c2"))], 900, True),
        ([moved("t0", (0, "a2"), (1, "b2")), moved("t1", (0, "b2"), (2, "c2"))], 900, True),
        ([moved("t1", (2, "c2"), skipped=(1,))], 900, True),
        # Not to another station, and not without one.
        ([moved("t1", (2, "b2"))], 2100, False),
        ([moved("t1", (2, "m"))], 2100, False),
        # The next vehicle of the line.
        ([cancelled("t1"), moved("t2", (0, "b2"), (2, "c2"))], 2100, False),
        ([cancelled("t1"), cancelled("t2"), moved("t3", (0, "b"), (1, "c"))], 500, False),
        ([cancelled("t1"), cancelled("t2")], pd.NA, False),
    ],
)  # fmt: skip
def test_platforms_of_a_station(
    stations: tl.Network, updates: list[dict[str, Any]], realizable: Any, is_possible: bool
) -> None:
    found = tl.reliability(stations, changed(stations, *updates), HOME, C, **HOW)
    assert times(found) == [900, realizable, is_possible]


def test_added_vehicles_at_any_platform(stations: tl.Network) -> None:
    trip = {"trip_id": "x", "route_id": "R1", "start_date": "20260302", "schedule_relationship": "ADDED"}
    calls = [
        {"stop_id": stop, name: {"time": MIDNIGHT + time}}
        for stop, name, time in (("b2", "departure", 29_600), ("c2", "arrival", 29_800))
    ]
    day = changed(stations, cancelled("t1"), {"trip": trip, "stop_time_update": calls})
    assert times(tl.reliability(stations, day, HOME, C, **HOW)) == [900, 1000, False]
