"""
Every optional keyword of the functions that search changes the answer, or is refused; so does every option of a mode.

The keywords are those of the signatures, and the options those of the classes, so what is added fails here until it has
values that make a difference in the towns of `tests.support.everything`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.everything import POINTS, at, everything
from traveltime_lab.modes.table import TIMETABLE_TYPES
from traveltime_lab.network.network import Network

TUESDAY: Final = "2026-03-03T08:00:00"
LATER: Final = "2026-03-03T08:40:50"


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return everything(tmp_path_factory.mktemp("everything"))


PLACES: Final = gpd.GeoDataFrame(
    {"people": [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0], "beds": 2.0},
    geometry=[shapely.Point(at(place)["lng"], at(place)["lat"]) for place in POINTS.values()],
    index=list(POINTS),
    crs="EPSG:4326",
)


def _lnglat(place: tuple[float, float]) -> tuple[float, float]:
    return at(place)["lng"], at(place)["lat"]


#: By the end of a one-way street, from which no car can leave.
DEAD_END: Final = gpd.GeoSeries([shapely.Point(*_lnglat((-6405.0, 410.0)))], index=["dead end"], crs="EPSG:4326")
FAR, WEST, BANK = (PLACES.loc[[name]] for name in ("far", "west", "bank"))
BOX: Final = (PLACES.total_bounds[0], PLACES.total_bounds[1], PLACES.total_bounds[2], 46.006)

#: What the searches are asked: from the far west by car and vehicle.
ASKED: Final = {"transportation": "driving+public_transport", "departure_time": TUESDAY}
LIMITED: Final = {**ASKED, "travel_time": 1400}


def areas_of(network: Network, **more: Any) -> gpd.GeoDataFrame:
    """Return areas by distance where it is asked about the shortest way, and by time otherwise."""
    if "shortest" in more:
        return tl.distance_map(network, FAR, distance=2600, departure_time=TUESDAY)
    return tl.time_map(network, FAR, **LIMITED, window=600)


#: By function: a call of it with its required arguments, and the keywords of every call.
CALLS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "time_filter": (lambda n, **more: tl.time_filter(n, FAR, PLACES, **more), LIMITED),
    "nearest": (lambda n, **more: tl.nearest(n, FAR, PLACES, **more), {**LIMITED, "k": 6}),
    "routes": (lambda n, **more: tl.routes(n, FAR, PLACES, **more), ASKED),
    "time_map": (lambda n, **more: tl.time_map(n, FAR, **more), LIMITED),
    "distance_map": (
        lambda n, **more: tl.distance_map(n, FAR, **more),
        {"distance": 3000, "transportation": "driving", "departure_time": TUESDAY},
    ),
    "h3_cells": (lambda n, **more: tl.h3_cells(n, FAR, **more), {**LIMITED, "resolution": 8}),
    "geohash_cells": (lambda n, **more: tl.geohash_cells(n, FAR, **more), {**LIMITED, "resolution": 6}),
    "pareto_routes": (
        lambda n, **more: tl.pareto_routes(n, FAR, PLACES, **more).drop(columns="route"),
        {**LIMITED, "criteria": ["travel_time", "emissions", "rides"]},
    ),
    "accessibility": (
        lambda n, **more: tl.accessibility(n, PLACES, PLACES, **more),
        {**LIMITED, "values": "people"},
    ),
    "explain": (
        lambda n, **more: tl.explain(n, FAR, PLACES.loc[["farm"]], **more),
        {**LIMITED, "travel_time": 600},
    ),
    "shape_accuracy": (
        lambda n, **more: tl.shape_accuracy(n, areas_of(n, **more), FAR, **more), {**ASKED, "n_points": 200},
    ),
    "snap": (
        lambda n, **more: tl.snap(n, pd.concat([PLACES.geometry, DEAD_END]), **more), {"transportation": "driving"},
    ),
    "prepare_points": (
        lambda n, **more: tl.prepare_points(n, PLACES, **more)._snaps, {"transportation": "driving", "role": "origin"},
    ),
    "geocode": (lambda n, **more: tl.geocode(n, "Springfield Cafe", **more), {}),
    "reverse_geocode": (lambda n, **more: tl.reverse_geocode(n, *_lnglat((7300.0, 700.0)), **more), {}),
}  # fmt: skip


class Alike(str):
    """Why a keyword does not change the answer."""


#: By keyword, or by function and keyword: two sets of keywords that differ in it; None leaves a keyword out.
KEYWORDS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]] | Alike]] = {
    "transportation": ({}, {"transportation": "driving+train"}),
    "distance_map.transportation": ({}, {"transportation": "walking"}),
    "accessibility.transportation": ({}, {"transportation": "walking"}),
    "pareto_routes.transportation": ({}, {"transportation": "walking"}),
    "shape_accuracy.transportation": ({}, {"transportation": "walking"}),
    "snap.transportation": ({}, {"transportation": "walking"}),
    "prepare_points.transportation": ({}, {"transportation": "walking"}),
    "departure_time": ({}, {"departure_time": "2026-03-03T03:00:00"}),
    "arrival_time": ({}, {"departure_time": None, "arrival_time": LATER}),
    "distance_map.arrival_time": (
        {"departure_time": None, "arrival_time": "2026-03-03T03:00:00"},
        {"departure_time": None, "arrival_time": LATER},
    ),
    "snapping": ({}, {"snapping": {"accept_roads": "any_drivable"}}),
    "explain.snapping": ({}, {"snapping": {"penalty": "disabled"}}),
    "window": ({}, {"window": 1200}),
    "percentiles": ({"window": 1200}, {"window": 1200, "percentiles": [60]}),
    "percentile": ({"window": 1200}, {"window": 1200, "percentile": 100}),
    "properties": ({}, {"properties": ["travel_time", "share"], "window": 1200}),
    "nearest.properties": (
        {"transportation": "driving"}, {"transportation": "driving", "properties": ["travel_time", "distance"]},
    ),
    "routes.properties": ({}, {"properties": ["travel_time"]}),
    "h3_cells.properties": ({}, {"properties": ["min"]}),
    "geohash_cells.properties": ({}, {"properties": ["min"]}),
    "costs": (
        {"properties": ["travel_time", "emissions"]},
        {"properties": ["travel_time", "emissions"], "costs": {"emissions": {"bus": 1, "rail": 2, "driving": 3}}},
    ),
    **dict.fromkeys(
        ("accessibility.costs", "time_map.costs", "h3_cells.costs", "geohash_cells.costs", "shape_accuracy.costs"),
        (
            {"max_emissions": 400},
            {"max_emissions": 400, "costs": {"emissions": {"bus": 1, "rail": 2, "tram": 1, "subway": 1, "driving": 3}}},
        ),
    ),
    "pareto_routes.costs": ({}, {"costs": {"emissions": {"driving": 1, "rail": 2, "bus": 1}}}),
    "max_emissions": ({}, {"max_emissions": 1}),
    "max_cost": (
        {"transportation": "cycling", "costs": {"running_cost": {"cycling": 1}, "currency": "EUR"}, "max_cost": 1e9},
        {"transportation": "cycling", "costs": {"running_cost": {"cycling": 1}, "currency": "EUR"}, "max_cost": 0.5},
    ),
    "criteria": Alike("tests/search/test_pareto.py: the towns have one way"),
    "emissions_step": Alike("tests/search/test_pareto.py: the journeys of the towns differ by more than a step"),
    "pareto_routes.max_results": Alike("more routes than it raise an error"),
    "pairs": ({}, {"pairs": pd.DataFrame({"origin": ["far"], "destination": ["east"]})}),
    "form": ({}, {"form": "matrix"}),
    "max_results": ({"window": 1200}, {"window": 1200, "max_results": 3}),
    "engine": Alike("engines agree; values that are none, and others than auto with a timetable, are refused"),
    "progress": ({"progress": False}, {"progress": "called"}),
    "executor": Alike("where a search runs"),
    "k": ({"k": 6}, {"k": 2}),
    "accessibility.k": ({"measure": "nearest"}, {"measure": "nearest", "k": 3}),
    "level_of_detail": ({}, {"level_of_detail": "low"}),
    "no_holes": ({}, {"no_holes": True}),
    "polygons_filter": ({}, {"polygons_filter": 1}),
    "render_mode": ({}, {"render_mode": "road_buffering"}),
    "buffer_distance": ({}, {"buffer_distance": 250}),
    "remove_water_bodies": ({}, {"remove_water_bodies": False}),
    "shortest": ({}, {"shortest": True}),
    "shape_accuracy.shortest": (
        {"transportation": "driving", "n_points": 2000, "shortest": False},
        {"transportation": "driving", "n_points": 2000, "shortest": True},
    ),
    "geometry": ({}, {"geometry": False}),
    "values": ({}, {"values": "beds"}),
    "measure": ({}, {"measure": "nearest"}),
    "decay": ({}, {"decay": {"type": "linear"}}),
    "demand": ({"measure": "2sfca", "demand": "people"}, {"measure": "2sfca", "demand": "beds"}),
    "n_points": ({}, {"n_points": 50}),
    "seed": ({}, {"seed": 1}),
    "role": ({"role": "origin"}, {"role": "destination"}),
    "limit": ({}, {"limit": 1}),
    "within_country": ({}, {"within_country": "FR"}),
    "bounds": ({}, {"bounds": BOX}),
    "focus": ({}, {"focus": {"lat": 46.05, "lng": 25.6}}),
    "format_name": ({}, {"format_name": True}),
    "exclude_country": ({"format_name": True}, {"format_name": True, "exclude_country": True}),
}  # fmt: skip

#: Functions with optional keywords that do not search, and the tests of those.
ELSEWHERE: Final = {
    "inequality": "tests/search/test_inequality.py",
    "alkire_foster": "tests/search/test_inequality.py",
    "add_speeds": "tests/network/test_speeds.py",
    "build_network": "tests/network/test_network.py",
    "calibrate_speeds": "tests/search/test_calibration.py",
    "compare": "tests/scenarios/test_compare.py",
    "counts_to_h3": "tests/search/test_counts.py",
    "counts_to_points": "tests/search/test_counts.py",
    "difference": "tests/surfaces/test_polygons.py",
    "intersection": "tests/surfaces/test_polygons.py",
    "union": "tests/surfaces/test_polygons.py",
    "load_network": "tests/network/test_saved_files.py",
    "matrix_frame": "tests/jobs/test_matrix.py",
    "write_matrix": "tests/jobs/test_matrix.py",
    "write_areas": "tests/jobs/test_areas.py",
    "write_networks": "tests/jobs/test_networks.py",
    "places": "tests/search/test_places.py",
    "observed_days": "tests/network/test_observed_days.py",
    "plot": "tests/maps/test_plot.py",
    "side_by_side": "tests/maps/test_side_by_side.py",
    "reliability": "tests/search/test_reliability.py",
    "reliability_cells": "tests/search/test_reliability_areas.py",
    "reliability_map": "tests/search/test_reliability_areas.py",
    "replay": "tests/search/test_receipts.py",
    "sample_network": "tests/network/test_sample.py",
    "sample_files": "tests/network/test_sample.py",
    "sample_points": "tests/network/test_sample.py",
    "serve": "tests/server/test_running.py",
}


def optional_keywords(function: Callable[..., Any]) -> list[str]:
    """Return the keywords that a function has a value for."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is not each.empty]


def answer(towns: Network, name: str, keywords: dict[str, Any]) -> str:
    """Return an answer as text."""
    call, always = CALLS[name]
    given = {key: value for key, value in {**always, **keywords}.items() if value is not None}
    told: list[tuple[int, int]] = []
    if given.get("progress") == "called":
        given["progress"] = lambda done, total: told.append((done, total))
    found = call(towns, **given)
    text = found.to_csv() + str(found.dtypes) if isinstance(found, pd.DataFrame) else repr(found)
    return text + str(bool(told))


def test_every_function_is_known() -> None:
    functions = {name for name in tl.__all__ if inspect.isfunction(getattr(tl, name))}
    optional = {name for name in functions if optional_keywords(getattr(tl, name))}
    assert optional == set(CALLS) | set(ELSEWHERE)


def test_other_tests_are_there() -> None:
    for text in (*ELSEWHERE.values(), *NOT_HERE.values()):
        assert (Path(__file__).parents[1] / text.partition(":")[0]).is_file(), text


@pytest.mark.parametrize("name", CALLS)
def test_every_keyword_changes_the_answer(towns: Network, name: str) -> None:
    wrong, plain = [], answer(towns, name, {})
    for keyword in optional_keywords(getattr(tl, name)):
        change = KEYWORDS.get(f"{name}.{keyword}", KEYWORDS.get(keyword))
        assert change is not None, f"{name}: the keyword {keyword} has no values that make a difference; see KEYWORDS"
        if isinstance(change, Alike):
            continue
        before = answer(towns, name, change[0]) if change[0] else plain
        if before == answer(towns, name, change[1]):
            wrong.append(keyword)
    assert not wrong


@pytest.mark.parametrize("name", CALLS)
def test_values_that_cannot_be_meant_are_refused(towns: Network, name: str) -> None:
    """A value of a type that no keyword takes raises an error of the library."""
    wrong = []
    for keyword in optional_keywords(getattr(tl, name)):
        if keyword == "executor":
            continue  # Anything with a method submit.
        more = KEYWORDS.get(f"{name}.{keyword}", KEYWORDS.get(keyword))
        given = {} if isinstance(more, Alike) or more is None else more[0]
        try:
            answer(towns, name, {**given, keyword: object()})
        except tl.TravelTimeError:
            continue
        except Exception as error:
            wrong.append((keyword, repr(error)))
        else:
            wrong.append((keyword, "no error"))
    assert not wrong


# Options of modes and of snapping -------------------------------------------------------------------------------------

#: By option: the type of transportation, two sets of options that differ in it, and where from.
OPTIONS: Final[dict[str, tuple[str, dict[str, Any], dict[str, Any], gpd.GeoDataFrame]]] = {
    "traffic_model": ("driving", {}, {"traffic_model": "optimistic"}, FAR),
    "time_dependent": ("driving", {}, {"time_dependent": True}, FAR),
    "boarding_time": ("cycling+ferry", {}, {"boarding_time": 200}, WEST),
    "include_roads": ("driving", {}, {"include_roads": ("track",)}, FAR),
    "exclude_roads": ("driving", {}, {"exclude_roads": ("toll",)}, FAR),
    "pt_change_delay": ("public_transport", {}, {"pt_change_delay": 130}, WEST),
    "walking_time": ("public_transport", {}, {"walking_time": 5}, WEST),
    "driving_time_to_station": ("driving+train", {}, {"driving_time_to_station": 60}, FAR),
    "cycling_time_to_station": ("cycling+public_transport", {}, {"cycling_time_to_station": 30}, WEST),
    "parking_time": ("driving+train", {}, {"parking_time": 0}, FAR),
    "max_changes": ("public_transport", {}, {"max_changes": 0}, WEST),
    "walking_speed": ("walking", {}, {"walking_speed": 8.0}, BANK),
    "cycling_speed": ("cycling", {}, {"cycling_speed": 25.0}, BANK),
    "max_stress": ("cycling", {}, {"max_stress": 1}, BANK),
    "push_above_stress": ("cycling", {"max_stress": 1}, {"max_stress": 1, "push_above_stress": True}, BANK),
    "step_free": ("walking", {}, {"step_free": "strict"}, BANK),
    "max_incline": ("walking", {"step_free": True}, {"step_free": True, "max_incline": 3}, BANK),
    "min_width": ("walking", {"step_free": True}, {"step_free": True, "min_width": 1.5}, BANK),
    "avoid": ("walking", {}, {"avoid": ("unlit",)}, BANK),
    "modes": ("public_transport", {}, {"modes": ("rail",)}, WEST),
    "direct_walking_time": ("public_transport", {}, {"direct_walking_time": 60}, WEST),
}
#: Departures at which an option makes a difference, if it makes none on Tuesday.
MOMENTS: Final = {"time_dependent": "2026-03-03T07:59:00"}
#: What raises an error at once, and what has no difference here with the test that it has.
NOT_HERE: Final = {
    "type": "tests/test_modes.py",
    "disable_border_crossing": "tests/test_modes.py: it raises UnsupportedError",
    "transfer_walking_time": "tests/transit/test_transit.py: vehicles here change at one stop",
    "headways": "tests/transit/test_headways.py: trips here have times",
    "headway_draws": "tests/transit/test_headways.py",
    "headway_seed": "tests/transit/test_headways.py",
}
SNAPPING: Final = {
    "penalty": ("enabled", "disabled"), "accept_roads": ("both_drivable_and_walkable", "any_drivable"),
    "threshold": (1000, 120),
}  # fmt: skip
#: Searches, as functions of network, origin and keywords.
SEARCHES: Final[dict[str, Callable[..., Any]]] = {
    "time_filter": lambda n, here, **more: tl.time_filter(n, here, PLACES, travel_time=1400, **more),
    "nearest": lambda n, here, **more: tl.nearest(n, here, PLACES, travel_time=1400, k=11, **more),
    "routes": lambda n, here, **more: tl.routes(n, here, PLACES, **more),
    "time_map": lambda n, here, **more: tl.time_map(n, here, travel_time=1400, level_of_detail="lowest", **more),
    "h3_cells": lambda n, here, **more: tl.h3_cells(n, here, travel_time=1400, resolution=8, **more),
    "accessibility": lambda n, here, **more: tl.accessibility(
        n, here, PLACES, travel_time=1800, values="people", decay="linear", **more
    ),
}


def test_every_option_is_known() -> None:
    assert {field.name for field in dataclasses.fields(tl.Transportation)} == set(OPTIONS) | set(NOT_HERE)
    assert {field.name for field in dataclasses.fields(tl.Snapping)} == set(SNAPPING)
    assert {OPTIONS["walking_time"][0], OPTIONS["parking_time"][0]} <= set(TIMETABLE_TYPES)


@pytest.mark.parametrize("search", SEARCHES)
def test_every_option_changes_the_answer(towns: Network, search: str) -> None:
    wrong = []

    def found(here: gpd.GeoDataFrame, moment: str = TUESDAY, **more: Any) -> str:
        return str(SEARCHES[search](towns, here, departure_time=moment, **more).to_csv())

    for option, (kind, one, other, here) in OPTIONS.items():
        moment = MOMENTS.get(option, TUESDAY)
        answers = {found(here, moment, transportation={"type": kind, **options}) for options in (one, other)}
        if len(answers) < 2:
            wrong.append(option)
    for option, values in SNAPPING.items():
        answers = {found(FAR, transportation="driving", snapping={option: value}) for value in values}
        if len(answers) < 2:
            wrong.append(option)
    assert not wrong
