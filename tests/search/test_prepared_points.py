"""Points that are snapped once: the same answers everywhere, and refused where they do not fit."""

from __future__ import annotations

import datetime as dt
import inspect
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl

WHEN = "2019-05-13T08:00"
#: Names of arguments that are points.
POINTS = ("origins", "destinations", "opportunities", "places", "points", "origin", "destination")
#: What each function with such arguments takes besides.
ASKED: dict[str, dict[str, Any]] = {
    "time_filter": {"travel_time": 1800, "transportation": "walking"},
    "time_map": {"travel_time": 600, "transportation": "walking"},
    "distance_map": {"distance": 600, "transportation": "walking"},
    "h3_cells": {"travel_time": 600, "transportation": "walking", "resolution": 8},
    "geohash_cells": {"travel_time": 600, "transportation": "walking", "resolution": 6},
    "routes": {"transportation": "walking"},
    "pareto_routes": {"travel_time": 1800, "transportation": "walking"},
    "explain": {"travel_time": 60, "transportation": "walking"},
    "nearest": {"travel_time": 3600, "transportation": "walking", "k": 2},
    "accessibility": {"travel_time": 1800, "transportation": "walking", "values": "beds"},
    "shape_accuracy": {"transportation": "walking", "n_points": 50},
    "snap": {"transportation": "walking"},
    "prepare_points": {"transportation": "walking"},
    "write_matrix": {"travel_time": 1800, "transportation": "walking"},
    "write_areas": {"travel_time": 600, "transportation": "walking"},
    "matrix_frame": {"travel_time": 1800, "transportation": "walking"},
    "reliability": {"travel_time": 1800, "departure_time": WHEN},
    "reliability_cells": {"travel_time": 900, "departure_time": WHEN, "resolution": 7},
    "reliability_map": {"travel_time": 900, "departure_time": WHEN},
}


def functions() -> dict[str, list[str]]:
    """Return the public functions that take points and a network, and the names of these arguments."""
    found = {}
    for name in tl.__all__:
        function = getattr(tl, name)
        if inspect.isfunction(function):
            names = inspect.signature(function).parameters
            taken = [each for each in POINTS if each in names]
            # A replay takes points of a receipt; it is tried below.
            if (
                taken
                and name != "replay"
                and "network" in names
                and "PointsLike" in str([names[each].annotation for each in taken])
            ):
                found[name] = taken
    return found


@pytest.fixture(scope="module")
def places(porto_alegre: tl.Network) -> gpd.GeoDataFrame:
    frame = tl.sample_points().iloc[:6].to_crs(32719)
    frame.index = [f"p{number}" for number in range(len(frame))]
    return frame.assign(beds=np.arange(1.0, 7.0))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough) if name == "reliability_map" else name
        for name in sorted(functions())
    ],
)
def test_answers_are_those_of_the_table(
    porto_alegre: tl.Network, places: gpd.GeoDataFrame, tmp_path: Path, name: str
) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    one = places.iloc[:1]
    answers = []
    for number, given in enumerate([{}, {"all": prepared}]):
        arguments: dict[str, Any] = {"network": porto_alegre, **ASKED[name]}
        for argument in functions()[name]:
            is_one = argument in ("origin", "destination")
            whole = tl.prepare_points(porto_alegre, one, transportation="walking") if is_one else prepared
            arguments[argument] = whole if given else one if is_one else places
        if name == "reliability":
            del arguments["destinations"]  # it takes these or opportunities
        if name.startswith("reliability"):
            arguments["days"] = {dt.date(2019, 5, 14): porto_alegre}
        if name == "shape_accuracy":
            arguments["areas"] = tl.time_map(porto_alegre, places, travel_time=600, transportation="walking")
        if "path" in inspect.signature(getattr(tl, name)).parameters:
            arguments["path"] = tmp_path / f"{number}"
        answers.append(getattr(tl, name)(**arguments))
    table, other = answers
    if name in ("write_matrix", "write_areas"):
        parts = [sorted(Path(tmp_path / f"{number}").rglob("*.parquet")) for number in (0, 1)]
        table, other = (pd.concat([pd.read_parquet(part) for part in each]) for each in parts)
    if name == "matrix_frame":
        table, other = table.compute(), other.compute()
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(pd.DataFrame(table), pd.DataFrame(other))
    else:
        assert repr(table) == repr(other)


def test_every_function_is_tried() -> None:
    assert set(functions()) == set(ASKED)


def test_one_role(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    homes = tl.prepare_points(porto_alegre, places, transportation="walking", role="origin")
    assert repr(homes) == "PreparedPoints(6 points, walking, origins)"
    both = tl.prepare_points(porto_alegre, places, transportation="walking")
    assert repr(both) == "PreparedPoints(6 points, walking, origins and destinations)"
    assert len(tl.time_filter(porto_alegre, homes, places, travel_time=600, transportation="walking")) == 36
    with pytest.raises(tl.InputError, match="prepared as origins, but are destinations here; prepare them with"):
        tl.time_filter(porto_alegre, places, homes, travel_time=600, transportation="walking")


def test_changes_of_the_table_afterwards_do_not_matter(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    table = places.assign(beds=1.0)
    prepared = tl.prepare_points(porto_alegre, table, transportation="walking")
    table["beds"] = 0.0
    how: dict[str, Any] = {"values": "beds", "travel_time": 600, "transportation": "walking"}
    assert tl.accessibility(porto_alegre, prepared, prepared, **how)["beds"].max() >= 1.0


def test_speeds_limits_and_penalties_may_differ(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    how = {
        "transportation": tl.Transportation("walking", walking_speed=3.0), "snapping": {"penalty": "disabled"},
        "travel_time": 900,
    }  # fmt: skip
    pd.testing.assert_frame_equal(
        pd.DataFrame(tl.time_filter(porto_alegre, prepared, prepared, **how)),
        pd.DataFrame(tl.time_filter(porto_alegre, places, places, **how)),
    )


@pytest.mark.parametrize("mode", ["public_transport", "driving+public_transport", "cycling+public_transport"])
def test_timetables(porto_alegre: tl.Network, places: gpd.GeoDataFrame, mode: str) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation=mode)
    for when in ("departure_time", "arrival_time"):
        how = {"transportation": mode, "travel_time": 3600, when: WHEN}
        pd.testing.assert_frame_equal(
            pd.DataFrame(tl.time_filter(porto_alegre, prepared, prepared, **how)),
            pd.DataFrame(tl.time_filter(porto_alegre, places, places, **how)),
        )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"transportation": "driving"}, "prepared for transportation 'walking' and .* uses the streets of 'driving'"),
        ({"snapping": {"threshold": 5}}, "prepared for transportation 'walking' and .* and Snapping.*threshold=5"),
    ],
)
def test_other_streets_are_refused(
    porto_alegre: tl.Network, places: gpd.GeoDataFrame, changed: dict[str, Any], message: str
) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    with pytest.raises(tl.InputError, match=message):
        tl.time_map(porto_alegre, prepared, **{"travel_time": 600, "transportation": "walking", **changed})


def test_other_networks_are_refused(porto_alegre: tl.Network, helsinki: tl.Network, places: gpd.GeoDataFrame) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    closed = places.to_crs(4326).geometry.iloc[0].buffer(0.001)
    changed = porto_alegre.with_changes([tl.CloseStreets(closed)])
    for network in (changed, helsinki):
        with pytest.raises(tl.InputError, match="prepared for another network, or for one without its changes"):
            tl.time_map(network, prepared, travel_time=600, transportation="walking")


def test_changes_of_the_timetable_keep_them(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    shifted = porto_alegre.with_changes([tl.ShiftTrips(porto_alegre.timetable.routes["route_id"].iloc[0], 60)])
    assert len(tl.time_map(shifted, prepared, travel_time=600, transportation="walking")) == len(places)


def test_receipts_name_the_points(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    prepared = tl.prepare_points(porto_alegre, places, transportation="walking")
    found = tl.time_filter(porto_alegre, prepared, prepared, travel_time=600, transportation="walking")
    kept = tl.receipt(found)
    assert tl.replay(kept, porto_alegre).is_same
    assert tl.replay(kept, porto_alegre, origins=places, destinations=prepared).is_same
    weighted = tl.accessibility(
        porto_alegre, prepared, prepared, values="beds", travel_time=600, transportation="walking"
    )
    assert tl.replay(tl.receipt(weighted), porto_alegre).is_same


def test_later_changes_of_the_table_have_no_effect(porto_alegre: tl.Network, places: gpd.GeoDataFrame) -> None:
    table = places.copy()
    prepared = tl.prepare_points(porto_alegre, table, transportation="walking")
    before = tl.accessibility(
        porto_alegre, prepared, prepared, values="beds", travel_time=600, transportation="walking"
    )
    table["beds"] = 0.0
    after = tl.accessibility(porto_alegre, prepared, prepared, values="beds", travel_time=600, transportation="walking")
    pd.testing.assert_frame_equal(pd.DataFrame(before), pd.DataFrame(after))
