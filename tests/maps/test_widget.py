"""The widget without a browser: state, questions, answers, what goes over the wire, and work that can be stopped."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import math
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import ipywidgets
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.towns import ON_FOOT, timetable
from tests.support.worlds import at, tables, world
from traveltime_lab.crs import LocalFrame
from traveltime_lab.itinerary import Leg
from traveltime_lab.limits import MAX_DISTANCE_M, MAX_TRAVEL_TIME_S
from traveltime_lab.maps import style
from traveltime_lab.maps.widget import Origin, answers, browser, choices, day_view, jobs, rides
from traveltime_lab.maps.widget import day as days
from traveltime_lab.maps.widget.origins import new_name, read_origins
from traveltime_lab.maps.widget.state import MapState, state_of
from traveltime_lab.modes.table import MODES

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

ipyleaflet = pytest.importorskip("ipyleaflet")
mpl.use("agg")


@pytest.fixture(scope="module")
def street() -> Network:
    """A street of 2 km on which everybody does 5 m/s, with a side street."""
    return world({"a": (0, 0), "b": (1000, 0), "c": (2000, 0), "d": (1000, 800)}, [("a", "b"), ("b", "c"), ("b", "d")])


def map_of(street: Network, folder: Path) -> tl.TravelTimeMap:
    origins = at((500, 0), (1500, 0)).set_axis(["west", "east"])
    return tl.TravelTimeMap(street, origins, travel_time=120, rings=2, folder=folder)


@pytest.fixture
def made(street: Network, tmp_path: Path) -> tl.TravelTimeMap:
    return map_of(street, tmp_path)


@pytest.fixture(scope="module")
def shown(street: Network, tmp_path_factory: pytest.TempPathFactory) -> tl.TravelTimeMap:
    """A map of tests that leave it as it was."""
    return map_of(street, tmp_path_factory.mktemp("shown"))


# State ---------------------------------------------------------------------------------------------------------------


def test_defaults_are_few(street: Network) -> None:
    query = state_of(street).query()
    assert query.limits == (300, 600, 900)
    assert query.options == {"transportation": "walking"}
    assert [origin.name for origin in query.origins] == ["Place 1"]


def test_state_takes_what_time_map_takes(street: Network) -> None:
    state = state_of(
        street,
        at((0, 0)),
        travel_time=1200,
        rings=4,
        combine="union",
        transportation={"type": "driving", "traffic_model": "peak", "exclude_roads": ["toll"]},
        arrival_time="2026-03-02T08:30:15",
        level_of_detail="high",
        no_holes=True,
        polygons_filter=2,
        buffer_distance=300,
        remove_water_bodies=False,
        snapping={"penalty": "disabled"},
    )
    query = state.query()
    assert query.limits == (300, 600, 900, 1200)
    assert query.options == {
        "transportation": {"type": "driving", "traffic_model": "peak", "exclude_roads": ("toll",)},
        "arrival_time": "2026-03-02T08:30:15",
        "level_of_detail": "high",
        "no_holes": True,
        "polygons_filter": 2,
        "buffer_distance": 300,
        "remove_water_bodies": False,
        "snapping": {"penalty": "disabled"},
    }
    assert (state.moment, state.day, state.second) == ("arrival", dt.date(2026, 3, 2), 30_615)
    # Options of cars are kept, not used, while one looks at something else.
    state.transportation = "walking"
    assert state.query().options["transportation"] == "walking"
    state.transportation = "driving"
    assert state.query().options["transportation"]["traffic_model"] == "peak"


def test_moments(street: Network) -> None:
    assert state_of(street, departure_time="weekday_morning").moment_text() == "weekday_morning"
    state = state_of(street, departure_time="2026-03-02T08:00:00+01:00")
    assert state.query().options["departure_time"] == "2026-03-02T07:00:00", "in the network's zone, UTC"
    state.second = 86_399
    assert state.moment_text() == "2026-03-02T23:59:59"
    state.transportation = "driving"
    assert state.depends_on_hour
    for kind in ("walking", "cycling+ferry"):
        state.transportation = kind
        assert not state.depends_on_hour


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"travel_tim": 5}, "has no option 'travel_tim'. Did you mean travel_time"),
        ({"colour": 5}, "Known: travel_time"),
        ({"mode": "walking"}, "has no option 'mode'. Use transportation"),
        ({"minutes": 15}, "travel_time, in seconds"),
        ({"travel_time": 60, "distance": 100}, "not both"),
        ({"travel_time": "soon"}, "travel_time must be a whole number"),
        ({"rings": 9}, "rings must be from 1 to 8"),
        ({"combine": "sum"}, "combine must be one of 'each'"),
        ({"transportation": "flying"}, "Unknown transportation type"),
        ({"transportation": {"type": "walking", "traffic_model": "peak"}}, "does not apply"),
        ({"departure_time": "noon"}, "not an ISO 8601"),
        ({"departure_time": "2026-03-02T08:00", "arrival_time": "2026-03-02T09:00"}, "not both"),
        ({"snapping": {"radius": 5}}, "Unknown snapping option"),
        ({"origins": at((0, 0)).set_crs(None, allow_override=True)}, "no CRS"),
        ({"origins": (1, "x")}, "pair \\(lng, lat\\)"),
        ({"base_map": "satellite"}, "base_map must be.*basemaps.OpenStreetMap.Mapnik"),
        ({"center": (0, 0)}, "The map fits itself to the areas"),
        ({"scheme": "quantiles"}, "has no option 'scheme'. The colours of its areas .* add_layer"),
        ({"basemaps": None}, "Use base_map|Did you mean base_map"),
        ({"travel_time": 99_999}, "travel_time must be from 1 to 14400 seconds; got 99999"),
        ({"distance": 100}, "3 rings, the smallest ring of a distance of 100 m is 33 m"),
    ],
)
def test_wrong_arguments_are_refused(street: Network, values: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.InputError, match=message):
        tl.TravelTimeMap(street, **values)


def test_swapped_arguments(street: Network) -> None:
    with pytest.raises(tl.InputError, match="first argument must be a Network"):
        tl.TravelTimeMap(at((0, 0)), street)
    with pytest.raises(tl.InputError, match="two brackets"):
        tl.TravelTimeMap(street, gpd.GeoDataFrame(geometry=at((0, 0))).loc[0])


def test_origins_of_many_kinds(street: Network) -> None:
    point = shapely.Point(0.5, 0.5)
    frame = gpd.GeoDataFrame(index=["home"], geometry=[point], crs=4326)
    assert read_origins(street, frame) == read_origins(street, frame.geometry) == [Origin("home", 0.5, 0.5)]
    assert read_origins(street, point) == read_origins(street, (0.5, 0.5)) == [Origin("Place 1", 0.5, 0.5)]
    (moved,) = read_origins(street, frame.to_crs(3857))
    assert (moved.lng, moved.lat) == pytest.approx((0.5, 0.5))
    assert new_name([Origin("Place 2", 0, 0)]) == "Place 3"
    two = [Origin("Place 1", 0.5, 0.5), Origin("Place 2", 0.4, 0.5)]
    for given in ([point, (0.4, 0.5)], ((0.5, 0.5), (0.4, 0.5)), np.array([[0.5, 0.5], [0.4, 0.5]]), two):
        assert read_origins(street, given) == two
    assert read_origins(street, [0.5, 0.5]) == two[:1]
    assert [origin.name for origin in read_origins(street, [point, Origin("Place 1", 0, 0)])] == ["Place 2", "Place 1"]
    assert read_origins(street, frame.iloc[:0]) == read_origins(street, []) == []
    with pytest.raises(tl.CoordinateError, match="from -90 to 90"):
        read_origins(street, [(0.0, 91.0)])
    with pytest.raises(tl.InputError, match="Two origins have the name '0'"):
        read_origins(street, gpd.GeoSeries([point, point], index=[0, "0"], crs=4326))


def test_state_takes_what_the_constructor_takes(street: Network) -> None:
    state = state_of(street)
    state.mode_options = {"traffic_model": "peak"}
    state.transportation = {"type": "cycling+ferry", "boarding_time": 60}
    assert (state.transportation, state.mode_options) == (
        "cycling+ferry",
        {"traffic_model": "peak", "boarding_time": 60},
    )
    state.transportation = tl.Transportation("driving")
    assert state.query().options["transportation"] == "driving", "a Transportation says what it has not, too"
    state.day, state.window, state.snapping = "2026-03-02", None, tl.Snapping(penalty="disabled")
    assert (state.day, state.window, state.snapping) == (dt.date(2026, 3, 2), 0, {"penalty": "disabled"})
    state.snapping, state.day = None, pd.Timestamp("2026-03-03T08:00")
    assert (state.snapping, state.day) == ({}, dt.date(2026, 3, 3))
    state.arrival_time = "2026-03-02T08:30:15+01:00"
    assert (state.moment, state.arrival_time, state.departure_time) == ("arrival", "2026-03-02T07:30:15", None)
    state.departure_time = "weekday_morning"
    assert (state.departure_time, state.arrival_time, state.day) == ("weekday_morning", None, None)
    state.departure_time = None
    assert state.moment == "any"
    state.origins = at((0, 0), (9, 9)).set_axis(["a", "b"])
    assert [origin.name for origin in state.origins] == ["a", "b"]
    state.travel_time = np.int64(600)
    assert state.limits() == (180, 420, 600)
    seen = []
    state.observe(lambda change: seen.append((state.moment, state.day)), ["moment", "day", "second"])
    state.arrival_time = "2026-03-02T09:00"
    assert set(seen) == {("arrival", dt.date(2026, 3, 2))}, "observers never see half a moment"


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("transportation", "car", tl.ModeError, "Use 'driving'"),
        ("transportation", {"type": "walking", "traffic_model": "peak"}, tl.ModeError, "does not apply"),
        ("transportation", 5, tl.ModeError, "must be a type's name"),
        ("mode_options", {"traffic_model": "heavy"}, tl.ModeError, "traffic_model must be one of"),
        ("mode_options", {"traffic": "peak"}, tl.InputError, "Did you mean traffic_model"),
        ("mode_options", [1], tl.ModeError, "must be a mapping"),
        ("second", 90_000, tl.LimitError, "second must be from 0 to 86399"),
        ("day", "soon", tl.MomentError, "day must be a date"),
        ("day", pd.NaT, tl.MomentError, "day must be a date"),
        ("window", "long", tl.InputError, "window must be a whole number"),
        ("percentile", 101, tl.LimitError, "percentile must be above 0"),
        ("level_of_detail", "finest", tl.InputError, "level of detail must be one of"),
        ("no_holes", "yes", tl.InputError, "no_holes must be True or False"),
        ("polygons_filter", "all", tl.InputError, "polygons_filter must be a whole number"),
        ("render_mode", "hull", tl.InputError, "render_mode must be one of"),
        ("snapping", {"radius": 5}, tl.ModeError, "Unknown snapping option"),
        ("travel_tme", 5, tl.InputError, "The state of a map has no option 'travel_tme'. Did you mean travel_time"),
        ("limits", 5, tl.InputError, "has no option 'limits'"),
        ("departure_time", "noon", tl.MomentError, "not an ISO 8601"),
        ("origins", [Origin("a", 0, 0), Origin("a", 1, 1)], tl.InputError, "Two origins have the name 'a'"),
        ("origins", 5, tl.InputError, "must be a GeoDataFrame"),
    ],
)
def test_what_is_no_value_is_refused_when_it_is_set(
    street: Network, name: str, value: Any, error: type[Exception], message: str
) -> None:
    state = state_of(street)
    before = state.trait_values()
    with pytest.raises(error, match=message):
        setattr(state, name, value)
    assert state.trait_values() == before


def test_rings_of_whole_minutes() -> None:
    state = MapState()
    for travel_time, rings, limits in (
        (1200, 3, (420, 780, 1200)),
        (420, 4, (120, 240, 300, 420)),
        (180, 3, (60, 120, 180)),
        (60, 3, (20, 40, 60)),
        (264, 3, (88, 176, 264)),
        (1, 3, (1,)),
    ):
        state.travel_time, state.rings = travel_time, rings
        assert state.limits() == limits
    for minutes in range(1, 241):
        for rings in range(1, 9):
            state.travel_time, state.rings = 60 * minutes, rings
            limits = state.limits()
            assert len(limits) == rings and limits[-1] == 60 * minutes and sorted(set(limits)) == list(limits)
            assert rings > minutes or all(limit % 60 == 0 for limit in limits)


def test_a_state_says_what_it_is(street: Network) -> None:
    state = state_of(street, (0.5, 0.5), distance=700, no_holes=True)
    assert repr(state) == (
        "MapState(origins=[Origin(name='Place 1', lng=0.5, lat=0.5)], measure='distance', distance=700, rings=3, "
        "transportation='walking', no_holes=True)"
    )
    with pytest.raises(tl.InputError, match="has no network"):
        MapState(origins=(0.5, 0.5))
    with pytest.raises(tl.InputError, match="has no option 'speed'"):
        MapState(speed=5)


# Answers -------------------------------------------------------------------------------------------------------------


def test_areas_are_those_of_time_map(street: Network, made: tl.TravelTimeMap) -> None:
    origins = answers.table_of(tuple(made.state.origins))
    assert made.areas["origin"].tolist() == ["west", "west", "east", "east"]
    assert made.areas["travel_time"].tolist() == [60, 120, 60, 120]
    for limit in (60, 120):
        expected = tl.time_map(
            street, origins, travel_time=limit, transportation="walking", level_of_detail="medium"
        ).geometry
        shown = made.areas[made.areas["travel_time"] == limit].set_index("origin").geometry
        assert shown.geom_equals(expected).all()


@pytest.mark.parametrize("combine", ["union", "intersection", "difference"])
def test_combinations(street: Network, made: tl.TravelTimeMap, combine: str) -> None:
    made.state.travel_time = 240
    each = made.areas[made.areas["travel_time"] == 240].geometry.to_numpy()
    made.state.combine = combine
    shown = made.areas[made.areas["travel_time"] == 240]
    assert shown["origin"].tolist() == [combine]
    assert shown.geometry.iloc[0].equals(getattr(shapely, combine)(*each))


@pytest.mark.slow
def test_code_computes_what_is_shown(street: Network, made: tl.TravelTimeMap) -> None:
    for combine in ("each", "union", "intersection", "difference"):
        for values in ({"travel_time": 200}, {"distance": 700, "measure": "distance"}):
            for name, value in {"combine": combine, **values}.items():
                setattr(made.state, name, value)
            made.state.moment, made.state.transportation, made.state.no_holes = "departure", "driving", True
            space: dict[str, Any] = {"network": street}
            exec(made.code(), space)
            key = ["origin", made.state.measure]
            told, shown = (frame.set_index(key).geometry.sort_index() for frame in (space["areas"], made.areas))
            assert told.index.equals(shown.index)
            # Places are written to the centimetre, which can move a cell that is reached at the last moment.
            told, shown = told.to_crs(street.crs), shown.to_crs(street.crs)
            assert (told.symmetric_difference(shown).area <= 0.01 * shown.area).all()
            mpl.pyplot.close("all")


def test_probe_agrees_with_time_filter(street: Network, made: tl.TravelTimeMap) -> None:
    (place,) = at((1000, 400))
    found = answers.probe(street, made.state.query(), place.x, place.y).set_index("origin")
    assert found["travel_time"].tolist() == [180, 180]
    assert found["distance"].tolist() == pytest.approx([900, 900], rel=1e-3)
    assert found.geometry.iloc[0].coords[-1] == pytest.approx((place.x, place.y))
    made.state.moment = "arrival"
    back = answers.probe(street, made.state.query(), place.x, place.y)
    assert back["origin"].tolist() == ["west", "east"]
    assert back.geometry.iloc[0].coords[0] == pytest.approx((place.x, place.y))
    html = browser.probe_html(made.state.query(), back)
    assert "to west: <b>3 min, 900 m</b>" in html


def test_reasons_are_told_in_words(street: Network, made: tl.TravelTimeMap) -> None:
    assert made.error == ""
    (far,) = at((90_000, 0))
    made.move_origin("east", far.x, far.y)
    assert made.error == "east (moved) lies outside the network."
    made.state.combine = "intersection"
    assert made.error == "east (moved) lies outside the network."
    (end,) = at((2000, 0))
    made.move_origin("east", end.x, end.y)
    made.state.travel_time = 60
    assert made.error == "The areas have no ground in common within 1 min."
    made.state.rings = 0
    assert made.error.startswith("rings must be from 1 to 8")
    made.state.rings = 1
    made.state.origins = []
    assert made.error.startswith("There is no origin")
    made.state.origins = [far]
    assert made.error == "Place 1 lies outside the network."
    made.state.origins = gpd.GeoSeries([far], crs=4326)
    assert made.error == "Origin 0 lies outside the network."


def test_state_survives_what_cannot_be_answered(made: tl.TravelTimeMap, tmp_path: Path) -> None:
    before = made.areas
    shown = made._shapes.data
    for name, value, error, message in (
        ("transportation", "public_transport", tl.InputError, "timetable"),
        ("travel_time", -1, tl.LimitError, "travel_time must be from 1"),
        ("buffer_distance", 5, tl.LimitError, "buffer_distance must be from 250"),
    ):
        good = getattr(made.state, name)
        setattr(made.state, name, value)
        assert message in made.error
        for ask in (lambda: made.areas, made.code, lambda: made.to_geojson(tmp_path / "a.geojson"), made.to_png):
            with pytest.raises(tl.TravelTimeError, match=message) as caught:
                ask()
            assert error is not tl.LimitError or caught.type is error
        assert made._shapes.data == shown, "what was there stays in sight"
        setattr(made.state, name, good)
        assert made.error == ""
        assert made.areas.geometry.geom_equals(before.geometry).all()
    assert list(tmp_path.iterdir()) == []


def test_without_origins(street: Network, made: tl.TravelTimeMap) -> None:
    columns = made.areas.columns
    made.state.origins = []
    empty = tl.TravelTimeMap(street, at((0, 0)).iloc[:0], travel_time=120, rings=2)
    for bare in (made, empty):
        assert len(bare.areas) == 0 and bare.areas.crs == "EPSG:4326"
        assert bare.areas.columns.tolist() == columns.tolist()
        assert bare._shapes.data["features"] == [] and bare._legend.value == "" and not bare._markers
        assert bare.error == answers.NO_ORIGIN
        for ask in (bare.code, bare.to_geojson, bare.to_parquet, bare.to_png):
            with pytest.raises(tl.InputError, match="There is no origin"):
                ask()
        bare.add_origin(*at((500, 0)).iloc[0].coords[0])
        assert bare.error == "" and len(bare.areas) == 2 and len(bare._markers) == 1
    assert made.areas.geometry.geom_equals(empty.areas.geometry).all()


def test_an_error_is_not_hidden_by_an_older_answer(street: Network) -> None:
    async def run() -> None:
        made = tl.TravelTimeMap(street, at((0, 0)).set_axis(["home"]), travel_time=120)
        made.state.travel_time = 240
        made.state.rings = 12
        await asyncio.sleep(0.2)
        assert made._error.startswith("rings must be")

    asyncio.run(run())


@pytest.mark.slow
def test_swapped_places_are_noticed() -> None:
    north = LocalFrame(60.0, 25.0)
    made = tl.TravelTimeMap(
        world({"a": (0, 0), "b": (2000, 0)}, [("a", "b")], frame=north),
        [shapely.Point(*north.to_lnglat(np.array([x]), np.array([0.0]))) for x in (0, 300, 600, 900, 1200)],
        travel_time=60, rings=1,
    )  # fmt: skip
    shown = made.areas
    origin = made.state.origins[0]
    made.add_origin(origin.lat, origin.lng, "swapped")
    hint = f"swapped lies outside the network at lng {origin.lat:g}, lat {origin.lng:g}, and inside with longitude"
    assert made.error.startswith(hint)
    assert made.areas["origin"].tolist() == [*shown["origin"], "swapped"]
    assert made.areas.geometry.iloc[:-1].geom_equals(shown.geometry).all()
    made.state.combine = "intersection"
    assert made.error.startswith(hint)
    with pytest.raises(tl.CoordinateError, match="swapped"):
        tl.TravelTimeMap(made.network, (origin.lat, origin.lng))


# Timetables ----------------------------------------------------------------------------------------------------------

BEGIN = pd.Timestamp("2026-03-03T08:00", tz="UTC")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A street of 5 km on which people walk at 1 m/s, and a bus along it at 8:00 and 8:20 that takes five minutes."""
    stops = {"a": (0.0, 0.0), "b": (5000.0, 0.0)}
    trips = [[("a", second), ("b", second + 300)] for second in (28_800, 30_000)]
    streets = tables({0: (-500, 0), 1: (0, 0), 2: (5000, 0), 3: (5500, 0)}, [(i, i + 1, ON_FOOT) for i in range(3)])
    return tl.build_network(streets, gtfs=timetable(tmp_path_factory.mktemp("line"), stops, trips), timezone="UTC")


def test_choices(street: Network, line: Network) -> None:
    on_streets = {"walking", "cycling", "driving", "walking+ferry", "cycling+ferry", "driving+ferry"}
    kinds = choices.kinds(street)
    assert on_streets <= set(kinds) and not any(MODES[kind].uses_timetable for kind in kinds)
    assert [kind for kind in kinds if kind in on_streets] == [
        "walking", "cycling", "driving", "walking+ferry", "cycling+ferry", "driving+ferry",
    ]  # fmt: skip
    assert [kind for kind in choices.kinds(line) if kind not in choices.kinds(street)] == [
        "public_transport", "bus", "driving+public_transport", "cycling+public_transport",
    ]  # fmt: skip
    assert choices.span(street) is None and choices.day_with_service(street, None) is None
    first, last = choices.span(line)
    assert choices.day_with_service(line, last) == last
    assert first <= choices.day_with_service(line, last + dt.timedelta(days=1)) <= last
    assert all(choices.in_words(kind) != kind or "+" not in kind for kind in choices.kinds(line))


@pytest.mark.slow
def test_turning_to_a_timetable(line: Network) -> None:
    made = tl.TravelTimeMap(line, at((0, 0)).set_axis(["home"]), travel_time=900)
    on_foot = made.areas.geometry.iloc[-1].area
    control = next(w for w, name, _ in made.panel._bound if name == "transportation")
    control.value = "public_transport"
    assert made.error == "" and made.state.moment == "departure"
    assert made.panel._clock_row.layout.display is None and made.panel._window_row.layout.display is None
    assert made.panel._traffic_row.layout.display == made.panel._luck_row.layout.display == "none"
    assert made.areas.geometry.iloc[-1].area > 1.2 * on_foot, "the bus of eight"
    made.state.second = 7 * 3600
    assert made.areas.geometry.iloc[-1].area == pytest.approx(on_foot, rel=0.01)
    made.state.day = BEGIN.date().replace(year=2031)
    assert "outside the dates" in made.error
    # What does not matter on foot is not asked anew.
    made.state.transportation = "walking"
    before = made.areas
    made.state.window = 1800
    assert made.areas is before


@pytest.mark.slow
def test_windows_are_those_of_time_map(line: Network) -> None:
    origins = at((0, 0)).set_axis(["home"])
    how: dict[str, Any] = {"transportation": "bus", "departure_time": "2026-03-03T08:01", "window": 1500}
    made = tl.TravelTimeMap(line, origins, travel_time=900, rings=1, percentile=50, **how)
    named = {"travel_time": 900, "level_of_detail": "medium", **how}
    half = tl.time_map(line, origins, percentile=50, **named).geometry
    assert made.areas.geometry.geom_equals(half, align=False).all()
    assert "    window=1500,\n    percentile=50.0,\n" in made.code()
    made.state.percentile = None
    assert made.areas.geometry.geom_equals(tl.time_map(line, origins, **named).geometry, align=False).all()
    made.state.window = 0
    assert "window" not in made.code()
    for values, message in (({"percentile": 50}, "requires a window"), ({"window": 0}, "window must be from 1")):
        with pytest.raises(tl.InputError, match=message):
            tl.TravelTimeMap(line, origins, **{**how, "window": None, **values})
    with pytest.raises(tl.InputError, match="needs a timetable"):
        tl.TravelTimeMap(line, origins, window=600)


@pytest.mark.parametrize(
    "how",
    first_of(
        1, [{}, {"rings": 1}, {"combine": "union"}, {"window": 1800, "percentile": 80}], mark=pytest.mark.thorough
    ),
)
def test_the_curve_of_the_day_is_that_of_single_moments(line: Network, how: dict[str, Any]) -> None:
    places = at((0, 0), (5200, 0)).set_axis(["home", "work"])
    origins = places if "combine" in how or "rings" in how else places[:1]
    made = tl.TravelTimeMap(
        line, origins, transportation="bus", departure_time="2026-03-03T08:00", travel_time=900,
        level_of_detail="low", **how,
    )  # fmt: skip
    curve = made.day_curve
    assert list(curve.columns) == ["moment", "origin", "travel_time", "area"]
    assert curve["moment"].nunique() == 48 and curve["moment"].dt.tz is not None
    for hour, minute in ((0, 0), (7, 30), (8, 0), (23, 30)):
        made.departure_time = f"2026-03-03T{hour:02d}:{minute:02d}"
        here = curve[curve["moment"] == pd.Timestamp(2026, 3, 3, hour, minute, tz="UTC")]
        shown = made.areas
        if "rings" in how:
            assert here["origin"].tolist() == ["home", "work"]
        assert here["origin"].tolist() == shown["origin"].tolist()
        assert here["travel_time"].tolist() == shown["travel_time"].tolist()
        assert np.allclose(here["area"], shown.geometry.to_crs(line.crs).area, rtol=1e-12)
    assert curve["area"].max() > 1.2 * curve["area"].min(), "the bus of eight"


@pytest.mark.slow
def test_the_curve_of_the_day_follows_the_map(line: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_view, "_REST_S", 0.0)
    calls: list[Any] = []
    sizes = days.sizes
    monkeypatch.setattr(days, "sizes", lambda *given: calls.append(given) or sizes(*given))

    async def until(is_so: Any) -> None:
        while not is_so():
            await asyncio.sleep(0.005)

    async def run() -> None:
        options: dict[str, Any] = {"transportation": "bus", "departure_time": "2026-03-03T08:00", "travel_time": 900}
        made = tl.TravelTimeMap(line, at((0, 0)).set_axis(["home"]), **options)
        await until(lambda: len(made._day_found) == len(made._day_parts) > 1)
        drawn = made._day_picture.value
        assert " to " in drawn and "at 08:00" in drawn and made._day_box.layout.display is None
        n_calls = len(calls)
        made._day_slider.value = 7 * 3600
        assert made.state.departure_time == "2026-03-03T07:00:00", "a click on the curve"
        await until(lambda: "at 07:00" in made._day_picture.value)
        assert len(calls) == n_calls, "the curve is that of all times"
        (place,) = at((2000, 0))
        made.move_origin("home", place.x, place.y, is_dragging=True)
        await until(lambda: made._shape_jobs.running is None)
        assert "traveltime-day-old" in made._day_picture._dom_classes and len(calls) == n_calls
        made.move_origin("home (moved)", place.x, place.y)
        await until(lambda: len(calls) > n_calls)
        made.move_origin("home (moved)", place.x + 0.001, place.y)
        assert made._day_jobs.running is None, "a search of the curve is cancelled"
        await until(lambda: made._shape_jobs.running is None and len(made._day_found) == len(made._day_parts))
        assert "traveltime-day-old" not in made._day_picture._dom_classes
        whole = pd.concat(made._day_found, ignore_index=True)
        pd.testing.assert_frame_equal(whole, made.day_curve)
        made.panel._curve.value = False
        assert made._day_box.layout.display == "none"
        made.panel._curve.value = True
        made.state.transportation = "walking"
        await until(lambda: made._shape_jobs.running is None)
        assert made._day_box.layout.display == "none" and made.panel._curve.layout.display == "none"
        with pytest.raises(tl.InputError, match="do not depend on the time of day"):
            _ = made.day_curve

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_curve_of_a_day_with_a_clock_change(line: Network) -> None:
    """Local times that do not exist are left out, as the clock of the map has no areas for them, too."""
    query = state_of(line, at((0, 0)), transportation="bus", departure_time="2026-03-29T08:00").query()
    day = days.day_of(line, query)
    assert day is not None and day.date == dt.date(2026, 3, 29)
    moments = [moment for part in days.parts(day, "Europe/Rome") for moment in part]
    assert len(moments) == 46 and not any(moment.hour == 2 for moment in moments)
    assert days.day_of(line, state_of(line, at((0, 0)), transportation="walking").query()) is None
    typical = state_of(line, at((0, 0)), transportation="bus", departure_time="weekday_morning").query()
    assert days.day_of(line, typical).date == line.typical_day


@pytest.mark.slow
def test_probes_tell_what_to_take(line: Network) -> None:
    made = tl.TravelTimeMap(
        line, at((-120, 0)).set_axis(["home"]), transportation="bus", departure_time="2026-03-03T08:10", window=1200,
        percentile=80,
    )  # fmt: skip
    (place,) = at((5180, 0))
    made.ask(place.x, place.y)
    assert "from home: <b>10 min, 5.3 km</b> (walk 2 min, bus" in made._note.value
    assert "at 08:20, walk 3 min); 80 % of the time within" in made._note.value
    colours = [f["properties"]["style"]["color"] for f in made._route.data["features"]]
    assert colours == [style.MODE_COLOURS["walk"], "#ffffff", style.MODE_COLOURS["bus"], style.MODE_COLOURS["walk"]]
    made.state.second += 600
    assert "from home: <b>1 h 28 min, 5.3 km</b>; 80 %" in made._note.value, "the last bus is missed: one walks"
    made.state.second, made.state.percentile = 7 * 3600 + 3000, None
    assert "at 08:00" in made._note.value and "%" not in made._note.value
    made.state.percentile = 80
    (far,) = at((90_000, 0))
    made.ask(far.x, far.y)
    assert made._note.value.count("outside the network") == 1 and "%" not in made._note.value


@pytest.mark.parametrize(
    ("route_color", "colour"),
    [("FFCC00", "#ffcc00"), ("ffffff", None), ("red", None), ("'><script>", None), ("", None), ("0a0a5f", "#0a0a5f")],
)
def test_lines_have_their_colours(line: Network, route_color: str, colour: str | None) -> None:
    def leg(mode: Any, ride: Any = None) -> Leg:
        return Leg(mode, "", 120, 0.0, shapely.LineString([(0, 0), (1, 1)]), ride=ride)

    ride = SimpleNamespace(
        route_id="R", line="<M1>", stays_seated=False, vehicle="underground", headway=None,
        board=SimpleNamespace(time=dt.datetime(2026, 3, 3, 8)),
    )  # fmt: skip
    route: Any = SimpleNamespace(legs=(leg("walk"), leg("rail_underground", ride), leg("walk")))
    table = pd.DataFrame({"route_id": ["R", "R"], "route_short_name": ["other", "<M1>"]})
    table["route_color"] = ["123456", route_color]
    network: Any = SimpleNamespace(timetable=SimpleNamespace(routes=table))
    legs = rides.legs_of(route, rides.line_colours(network, [route, None]))
    expected = colour or style.MODE_COLOURS["rail_underground"]
    assert [each.colour for each in legs] == [style.MODE_COLOURS["walk"], expected, style.MODE_COLOURS["walk"]]
    html = rides.rides_html(legs)
    assert f"background:{expected}" in html and "&lt;M1&gt;" in html and "<M1>" not in html and "script" not in html
    lines = rides.route_features([legs, ()])["features"]
    edge = "#333333" if colour == "#ffcc00" else "#ffffff"
    assert [f["properties"]["style"]["color"] for f in lines[1:3]] == [edge, expected]
    assert rides.rides_in_words(route) == "walk 2 min, underground <M1> at 08:00, walk 2 min"


def test_little_service_is_told(tmp_path: Path) -> None:
    stops = {"a": (0.0, 0.0), "b": (5000.0, 0.0)}
    streets = tables({0: (0, 0), 1: (5000, 0)}, [(0, 1, ON_FOOT)])
    holiday = "service_id,date,exception_type\ndaily,20260304,2"
    path = timetable(tmp_path, stops, [[("a", 28_800), ("b", 29_100)]], calendar_dates=holiday)
    network = tl.build_network(streets, gtfs=path, timezone="UTC")
    made = tl.TravelTimeMap(
        network, at((0, 0)).set_axis(["home"]), transportation="bus", departure_time="2026-03-03T08:00"
    )
    assert made.error == ""
    made.day = "2026-03-04"  # nothing is warned of as well: here warnings are errors
    assert "only 0 departures on Wednesday 2026-03-04, against 1" in made.error
    assert len(made.areas) == 3, "told, not refused"
    made.transportation = "walking"
    assert made.error == ""


def test_what_lies_below_the_map_keeps_its_height(made: tl.TravelTimeMap) -> None:
    """Else the controls below it, on narrow screens, would jump with every point."""
    height = made._note.layout.height
    assert height == "40px", "two origins, a line each"
    (near, far) = at((1000, 400), (90_000, 0))
    for point in (near, far):
        made.ask(point.x, point.y)
        assert made._note.value.count("height:20px;overflow:hidden") == 2
        assert made._note.layout.height == height


def test_moves_make_no_widgets(street: Network) -> None:
    """Those of a dragged origin's row stay; those of a removed one are closed."""
    made = tl.TravelTimeMap(street, at((0, 0), (500, 0)).set_axis(["west", "east"]), travel_time=600)
    rows = made.panel._origin_rows.children
    (place,) = at((100, 0))
    made.move_origin("west", place, is_dragging=True)  # now called "west (moved)"
    rows = made.panel._origin_rows.children
    known = len(ipywidgets.widgets.widget._instances)
    for x in (110, 120, 130):
        (place,) = at((x, 0))
        made.move_origin("west", place, is_dragging=True)
    assert made.panel._origin_rows.children == rows
    assert len(ipywidgets.widgets.widget._instances) == known
    made.remove_origin("east")
    assert rows[1].comm is None and len(ipywidgets.widgets.widget._instances) < known


# The view ------------------------------------------------------------------------------------------------------------


def test_a_moved_marker_moves_its_shape(street: Network, made: tl.TravelTimeMap) -> None:
    before = json.dumps(made._shapes.data)
    (place,) = at((1000, 600))
    marker = made._markers["west"]
    # As the browser tells: pressed, on its way, dropped.
    marker._handle_custom_msg({"event": "interaction", "type": "mousedown", "coordinates": marker.location}, [])
    marker._handle_custom_msg(
        {"event": "interaction", "type": "mousemove", "coordinates": [place.y, place.x + 0.001]}, []
    )
    dragging = json.dumps(made._shapes.data)
    assert dragging != before
    marker.location = [place.y, place.x]
    assert json.dumps(made._shapes.data) not in (before, dragging)
    assert made.areas.set_index("origin").geometry.loc["west (moved)"].contains(place).all()
    assert made.state.origins[0] == Origin("west (moved)", place.x, place.y)
    assert made.state.origins[1].name == "east"
    assert made._markers["west (moved)"] is marker, "the one that is being dragged"
    # The place is called the same wherever its name is written.
    assert (marker.title, marker.alt) == ("west (moved)", "west (moved)")
    made.ask(place.x, place.y)
    rows = "".join(row.children[0].value for row in made.panel._origin_rows.children)
    for text in (made.code(), made._legend.value, made._note.value, rows, made.to_geojson().read_text("utf-8")):
        assert "west (moved)" in text
        assert "west" not in text.replace("west (moved)", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [((0, "a"), "0, a"), (range(3), "0, 1, 2"), (True, "True"), (b"ab", "b'ab'"), (np.False_, "False")],
)
def test_names_that_pandas_takes_for_several_or_for_a_mask(
    street: Network, made: tl.TravelTimeMap, name: Any, text: str
) -> None:
    here = made.state.origins[0]
    made.add_origin(here.lng, here.lat, name)
    assert set(made.areas["origin"]) == {"west", "east", text}
    made.move_origin(name, here.lng + 1e-4, here.lat, new_name="third")
    made.move_origin("west", here.lng, here.lat, new_name=name)
    assert set(made.areas["origin"]) == {text, "east", "third"}


@pytest.mark.parametrize("name", [math.nan, np.float32("nan"), pd.NaT, np.datetime64("NaT", "s"), pd.NA, ["a"]])
def test_missing_names_are_refused(shown: tl.TravelTimeMap, name: Any) -> None:
    here = shown.state.origins[0]
    with pytest.raises(tl.InputError, match="must be a text or a number; got"):
        shown.add_origin(here.lng, here.lat, name)
    with pytest.raises(tl.InputError, match="must be a text or a number; got"):
        shown.move_origin("west", here.lng, here.lat, new_name=name)
    assert set(shown.areas["origin"]) == {"west", "east"}


@pytest.mark.slow
def test_names_of_moved_origins(street: Network, made: tl.TravelTimeMap) -> None:
    def names() -> list[Any]:
        return [origin.name for origin in made.state.origins]

    here = made.state.origins[0]
    made.move_origin("west", here.lng, here.lat)
    assert names() == ["west", "east"], "not moved"
    made.move_origin("west", here.lng + 1e-6, here.lat)
    made.move_origin("west", shapely.Point(here.lng + 1e-5, here.lat))
    made.move_origin("west (moved)", (here.lng + 1e-4, here.lat))
    assert names() == ["west (moved)", "east"]
    made.move_origin("east", here.lng, here.lat, new_name="harbour")
    made.add_origin(shapely.Point(here.lng, here.lat))
    made.add_origin((here.lng, here.lat), name="west")
    made.move_origin("Place 3", here.lng, here.lat - 1e-4)
    made.move_origin("west", here.lng, here.lat - 1e-4)
    assert names() == ["west (moved)", "harbour", "Place 3", "west 2 (moved)"]
    assert set(made._markers) == set(names()) == set(made.areas["origin"])
    for wrong in (lambda: made.remove_origin("nope"), lambda: made.move_origin(0, 0.5, 0.5)):
        with pytest.raises(tl.InputError, match=r"There is no origin .*'west \(moved\)', 'harbour'"):
            wrong()
    with pytest.raises(tl.InputError, match="already"):
        made.move_origin("Place 3", 0.5, 0.5, new_name="harbour")
    for place in ((0.5,), ("a", "b"), (None, 0.5)):
        with pytest.raises(tl.InputError, match="Point or a pair"):
            made.add_origin(*place)
    with pytest.raises(tl.CoordinateError):
        made.add_origin(float("nan"), 0.5)
    button = made.panel._origin_rows.children[0].children[1]
    button.click()
    assert len(names()) == 3 and made.error == ""
    button.click()
    assert len(names()) == 3 and made.error.startswith("There is no origin 'west (moved)'"), "told, not logged"


def test_labels_of_several_levels_are_one_text(street: Network, tmp_path: Path) -> None:
    places = at((0, 0), (900, 0)).set_axis(pd.MultiIndex.from_tuples([(3, "north"), (3, "south")]))
    made = tl.TravelTimeMap(street, places, travel_time=300, folder=tmp_path)
    made.add_origin(shapely.Point(places.iloc[0].x, places.iloc[0].y), name=(4, "east"))
    made.move_origin((3, "south"), places.iloc[0].x, places.iloc[0].y, new_name=(3, "west"))
    assert made.areas["origin"].unique().tolist() == ["3, north", "3, west", "4, east"]
    scope: dict[str, Any] = {"network": street}
    exec(made.code().replace("tl.plot(network, areas, origins)", ""), scope)
    assert scope["areas"]["origin"].unique().tolist() == ["3, north", "3, west", "4, east"]
    assert made.to_parquet().exists()


@pytest.mark.slow
def test_keywords_are_attributes_of_the_map(street: Network, made: tl.TravelTimeMap) -> None:
    made.travel_time, made.rings, made.transportation = 600, 5, "driving"
    made.departure_time = "2026-03-02T08:00"
    made.origins = at((0, 0), (900, 0)).set_axis(["a", "b"])
    assert made.areas["travel_time"].tolist() == [120, 240, 360, 480, 600] * 2
    assert made.state.query().options["departure_time"] == "2026-03-02T08:00:00"
    assert (made.travel_time, made.rings, made.transportation) == (600, 5, "driving")
    assert made.departure_time == "2026-03-02T08:00:00" and made.arrival_time is None
    assert [origin.name for origin in made.origins] == ["a", "b"]
    made.distance = 700
    assert made.areas["distance"].max() == 700
    made.travel_time, made.window, made.folder = 120, None, "elsewhere"
    assert made.areas["travel_time"].max() == 120 and made.folder == Path("elsewhere")
    assert {"travel_time", "departure_time", "snapping"} <= set(dir(made))
    for name, message in (
        ("travel_tme", "TravelTimeMap has no option 'travel_tme'. Did you mean travel_time"),
        ("minutes", "Use travel_time, in seconds"),
        ("center", "fits itself"),
        ("network", "cannot be changed after the map has been created"),
        ("height", "cannot be changed after the map has been created"),
        ("code", "TravelTimeMap has no option 'code'"),
    ):
        with pytest.raises(tl.InputError, match=message):
            setattr(made, name, 5)
    with pytest.raises(AttributeError, match="travel_tme"):
        _ = made.travel_tme
    with pytest.raises(tl.ModeError, match="Use 'driving'"):
        made.transportation = "car"
    assert made.transportation == "driving"
    made.layout.width = "50%"
    made.moment, made.day = "arrival", "2026-03-03"
    assert made.arrival_time == "2026-03-03T08:00:00"


def test_the_clock_is_not_rounded_by_its_slider(made: tl.TravelTimeMap) -> None:
    made.state.second = 86_399
    assert made.state.second == 86_399


def test_fit_shows_all_areas(made: tl.TravelTimeMap) -> None:
    opened = made.map.zoom, tuple(made.map.center)
    made.map.zoom, made.map.center = 18, (0.0, 0.0)
    made.fit()
    assert abs(made.map.zoom - opened[0]) <= 1 and made.map.center == pytest.approx(opened[1])
    made.state.travel_time = 900
    made.fit()
    west, south, east, north = made._window()
    assert shapely.box(west, south, east, north).contains(shapely.box(*made.areas.total_bounds))


def test_the_map_follows_areas_that_leave_the_window(made: tl.TravelTimeMap) -> None:
    def window() -> shapely.Polygon:
        return shapely.box(*made._window())

    opened = made.map.zoom
    made.travel_time = 60
    assert made.map.zoom == opened, "what is inside needs no other window"
    made.travel_time = 3600
    assert made.map.zoom < opened and window().contains(shapely.box(*made.areas.total_bounds))
    # A part that was zoomed to on purpose stays, as long as there is something to see.
    made.map.zoom = 17
    made.travel_time = 1800
    assert made.map.zoom == 17
    made.map.center = (0.2, 0.2)
    made.travel_time = 900
    assert window().contains(shapely.box(*made.areas.total_bounds))
    # A marker must not be taken from below the mouse, so the window stays until it is dropped.
    fitted = tuple(made.map.center)
    (far,) = at((2000, 0))
    made.origins = [(far.x, far.y)]
    made.travel_time = 60
    made.fit()
    zoom = made.map.zoom
    made.move_origin("Place 1", *at((0, 0)).iloc[0].coords[0], is_dragging=True)
    assert made.map.zoom == zoom and tuple(made.map.center) != fitted
    centre = tuple(made.map.center)
    made.move_origin("Place 1", *at((1, 0)).iloc[0].coords[0])
    assert tuple(made.map.center) != centre


def test_a_narrow_map_shows_all_areas(made: tl.TravelTimeMap) -> None:
    def resize(wide: float) -> None:
        lat, lng = made.map.center
        west, south, east, north = made.areas.total_bounds
        made.map.set_trait("left", 0.0)
        made.map.set_trait("top", 0.0)
        made.map.set_trait("right", 300.0)
        made.map.set_trait("bottom", 500.0)
        with made.map.hold_trait_notifications():
            made.map.set_trait("west", lng - wide * (east - west))
            made.map.set_trait("east", lng + wide * (east - west))
            made.map.set_trait("south", lat - 2 * (north - south))
            made.map.set_trait("north", lat + 2 * (north - south))

    opened = made.map.zoom
    resize(1.0)
    assert made.map.zoom == opened
    resize(0.4)
    assert made.map.zoom < opened, "as the browser reports its size"
    made.map.zoom = 18
    resize(0.3)
    assert made.map.zoom == 18, "on purpose"


def test_swatches_look_like_the_map() -> None:
    # One origin: a shape hides those below, and the layer lets 40 % of the paper through.
    paper = browser._rgb(style.PAPER)
    for colour, seen in zip(style.ramp(3), browser.seen_colours(style.ramp(3), is_mixed=False), strict=True):
        assert np.allclose(browser._rgb(seen), 0.6 * browser._rgb(colour) + 0.4 * paper, atol=1)
    # Several: the small ring lies over the large one, each with 55 %.
    small, large = browser.seen_colours(["#0072b2", "#66aad1"], is_mixed=True)
    one, other = browser._rgb("#0072b2"), browser._rgb("#66aad1")
    assert np.allclose(browser._rgb(large), 0.6 * 0.55 * other + (1 - 0.6 * 0.55) * paper, atol=1)
    layer, covered = 0.55 * one + 0.45 * 0.55 * other, 1 - 0.45**2
    assert np.allclose(browser._rgb(small), 0.6 * layer + (1 - 0.6 * covered) * paper, atol=1)


def test_what_several_origins_reach_is_hatched(made: tl.TravelTimeMap) -> None:
    def hatched() -> list[Any]:
        return [f for f in made._shapes.data["features"] if f["properties"]["style"]["fillColor"].startswith("url(#")]

    (feature,) = hatched()
    assert feature is made._shapes.data["features"][-1], "over all areas"
    outer = made.areas[made.areas["travel_time"] == 120].geometry
    expected = outer.iloc[0].intersection(outer.iloc[1])
    assert shapely.hausdorff_distance(shapely.geometry.shape(feature["geometry"]), expected) < 1e-4
    assert "reached by several" in made._legend.value and "traveltime-hatch" in made._legend.value
    made.travel_time, made.rings = 20, 1
    assert not hatched(), "apart"
    made.travel_time, made.combine = 120, "union"
    assert not hatched() and "several" not in made._legend.value
    made.combine = "each"
    made.origins = [made.state.origins[0]]
    assert not hatched() and "several" not in made._legend.value


@pytest.mark.slow
def test_layers_of_own_data(made: tl.TravelTimeMap) -> None:
    names = [layer.pane for layer in made.map.layers if hasattr(layer, "pane")]
    points = at((0, 0), (900, 0), (1500, 100)).to_crs(3857)
    made.add_layer(points, "<b>Schools</b>", over=True, color="red")
    lines = gpd.GeoSeries([shapely.LineString(at((0, 0), (900, 0)).get_coordinates())], crs=4326)
    made.add_layer(lines)
    corners = at((0, 0), (900, 0), (1500, 0), (1900, 0))
    boxes = [shapely.box(point.x, point.y, point.x + 0.001, point.y + 0.001) for point in corners]
    zones = gpd.GeoDataFrame({"shape": boxes}, geometry="shape", crs=4326)
    zones["jobs"] = [1.0, 2.0, 50.0, None]
    made.add_layer(zones, "Zones", column="jobs", vmin=0, vmax=10, cmap="magma")
    dots, ways, areas = [shown for _, shown in made._own.values()]
    assert [dots.pane, ways.pane, areas.pane] == ["over", "under", "under"]
    assert dots.point_style["pane"] == "over", "circles too, which have their own options"
    assert all(shown in made.map.layers for shown in (dots, ways, areas)) and len(made.map.layers) > len(names)
    kinds = [shown.data["features"][0]["geometry"]["type"] for shown in (dots, ways, areas)]
    assert kinds == ["Point", "LineString", "Polygon"]
    place = dots.data["features"][1]["geometry"]["coordinates"]
    assert place == pytest.approx(list(at((900, 0)).iloc[0].coords[0]), abs=2e-6), "in degrees"
    fills = [feature["properties"]["style"]["fillColor"] for feature in areas.data["features"]]
    assert len(set(fills)) == 4 and fills[3] == style.NO_VALUE
    legend = made._legend.value
    assert "&lt;b&gt;Schools&lt;/b&gt;" in legend and "<b>Schools" not in legend and "#ff0000" in legend
    assert "Layer 2" in legend and "<b>Zones</b>: jobs" in legend and "\u2265 10" in legend and "no value" in legend
    made.travel_time = 60
    assert "Schools" in made._legend.value, "stays when areas change"
    made.remove_layer("Zones")
    assert areas not in made.map.layers and "Zones" not in made._legend.value
    zones["travel_time"] = [60, 120, 180, 240]
    made.add_layer(zones, "Zones", column="travel_time", scheme="quantiles", k=2)
    assert "travel time, min" in made._legend.value and "2.5\u20134<" in made._legend.value
    made.origins = corners.iloc[:0]
    assert "Zones" in made._legend.value, "also without areas"


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"frame": [1]}, tl.InputError, "frame must be a GeoDataFrame or GeoSeries; got list"),
        ({"frame": None}, tl.InputError, "frame must be a GeoDataFrame"),
        ({"frame": at((0, 0)).set_crs(None, allow_override=True)}, tl.CrsError, "frame has no CRS"),
        ({"name": 5}, tl.InputError, "name must be"),
        ({"name": " "}, tl.InputError, "name must not be empty"),
        ({"name": "taken"}, tl.InputError, "already a layer 'taken'"),
        ({"over": "yes"}, tl.InputError, "over must be"),
        ({"color": "no colour"}, tl.InputError, "color must be a colour of matplotlib"),
        ({"column": "nope"}, tl.InputError, "no column 'nope'.*it has no columns"),
        ({"column": ["a"]}, tl.InputError, "no column"),
        ({"scheme": "quantiles"}, tl.InputError, "for the values of a column"),
        ({"scheme": "nope", "column": "a"}, tl.InputError, "scheme 'nope' is unknown"),
        ({"vmin": 2, "vmax": 1, "column": "a"}, tl.InputError, "vmin must be less"),
    ],
)
def test_wrong_layers_are_refused(
    shown: tl.TravelTimeMap, values: dict[str, Any], error: type[Exception], message: str
) -> None:
    shown.add_layer(at((0, 0)), "taken")
    before = len(shown.map.layers)
    with pytest.raises(error, match=message):
        shown.add_layer(**{"frame": at((0, 0)), **values})
    with pytest.raises(tl.InputError, match=r"no layer 'nope'\. Known: 'taken'"):
        shown.remove_layer("nope")
    assert len(shown.map.layers) == before and list(shown._own) == ["taken"]
    shown.remove_layer("taken")


def test_controls_and_state_follow_each_other(made: tl.TravelTimeMap) -> None:
    minutes = next(w for w, name, _ in made.panel._bound if name == "travel_time")
    minutes.value = 180
    assert made.state.travel_time == 180
    assert made.areas["travel_time"].max() == 180
    made.state.travel_time = 90 * 60
    assert (minutes.value, minutes.label) == (5400, "1 h 30 min")
    # A slider of minutes does not round what was set in seconds.
    made.state.travel_time = 130
    assert (made.state.travel_time, minutes.value, minutes.label) == (130, 130, "2.2 min")
    steps = [value for _, value in minutes._options_full]
    assert steps == sorted(set(steps)) and steps[-1] == MAX_TRAVEL_TIME_S, "up to the limit"
    metres = next(w for w, name, _ in made.panel._bound if name == "distance")
    steps = [value for _, value in metres._options_full]
    assert steps == sorted(set(steps)) and steps[-1] == MAX_DISTANCE_M
    traffic = next(w for w, _, _ in made.panel._bound if "peak" in dict(getattr(w, "_options_full", ())))
    made.state.transportation = "driving"
    traffic.value = "peak"
    assert made.state.query().options["transportation"] == {"type": "driving", "traffic_model": "peak"}
    traffic.value = ""
    assert made.state.query().options["transportation"] == "driving"


def test_the_hour_is_asked_for_where_it_matters(made: tl.TravelTimeMap) -> None:
    row, day = made.panel._clock_row, made.panel._day_row
    assert row.layout.display == "none"
    moment = next(w for w, name, _ in made.panel._bound if name == "moment")
    moment.value = "departure"
    assert made.state.day is not None and made.state.day.weekday() == 1, "a Tuesday, as on the page"
    assert row.layout.display == "none" and "does not depend" in made.panel._hour_note.value
    made.state.transportation = "driving"
    assert row.layout.display is None and day.layout.display is None
    made.state.day = None
    assert row.layout.display == "none"
    assert made.error == ""


def test_clicks(street: Network, made: tl.TravelTimeMap) -> None:
    (place,) = at((1000, 400))
    event = {"event": "interaction", "type": "mousemove", "coordinates": [place.y, place.x]}
    made.map._handle_custom_msg(event, [])
    assert "west" in made._note.value and len(made._route.data["features"]) == 4
    made.map._handle_custom_msg({**event, "type": "click"}, [])
    assert [origin.name for origin in made.state.origins] == ["west", "east", "Place 3"]
    assert set(made._markers) == {"west", "east", "Place 3"}
    assert made._note.value == "" and made._route.data["features"] == []
    made.remove_origin("west")
    assert set(made._markers) == {"east", "Place 3"}
    assert set(made.areas["origin"]) == {"east", "Place 3"}
    with pytest.raises(tl.InputError, match="already"):
        made.add_origin(place.x, place.y, "east")
    made.panel._click.value = False
    made.map._handle_custom_msg({**event, "type": "click"}, [])
    assert len(made.state.origins) == 2 and "east" in made._note.value


@pytest.mark.slow
def test_new_pins_are_named(porto_alegre: Network) -> None:
    made = tl.TravelTimeMap(porto_alegre, (-51.2366, -30.0649), travel_time=300, rings=1)

    def names() -> list[Any]:
        return [origin.name for origin in made.state.origins]

    street = tl.reverse_geocode(porto_alegre, -51.236591, -30.064940)["name"].iloc[0]
    made.add_origin(-51.236591, -30.064940)
    made.add_origin(-51.23664, -30.064940)
    assert names() == ["Place 1", street, f"{street} 2"]
    assert set(made._markers) == set(names()) == set(made.areas["origin"])
    # Dragged, it keeps its name until it is dropped, and has then that of its new place.
    other = tl.reverse_geocode(porto_alegre, -51.1761, -30.0580)["name"].iloc[0]
    made.move_origin(street, -51.18, -30.05, is_dragging=True)
    assert names()[1] == street
    made.move_origin(street, -51.1761, -30.0580)
    assert names()[1] == other and made._markers[other].alt == other
    west, south, _, _ = porto_alegre.bounds
    made.move_origin(other, west - 0.3, south)
    assert names()[1] == "Place 3", "nothing is near"
    made.add_origin(-51.2366, -30.0649, "mine")
    made.move_origin("mine", -51.1761, -30.0580)
    assert names()[-1] == "mine (moved)", "a name that was given is not replaced"


@pytest.mark.slow
def test_the_address_box_finds_places(porto_alegre: Network) -> None:
    made = tl.TravelTimeMap(porto_alegre, (-51.2366, -30.0649), travel_time=300, rings=1)
    text, places = made._finder._text, made._finder._places
    text.value = "avenida ipiranga"
    labels = [button.description for button in places.children]
    assert labels[0] == "Avenida Ipiranga" and len(set(labels)) == len(labels) <= 5
    found = tl.geocode(porto_alegre, "avenida ipiranga", limit=1).geometry.iloc[0]
    buttons = places.children
    buttons[0].click()
    assert [origin.name for origin in made.state.origins] == ["Place 1", "Avenida Ipiranga"]
    (_, origin) = made.state.origins
    assert found.distance(shapely.Point(origin.lng, origin.lat)) < 0.05
    assert text.value == "" and not places.children and buttons[0].comm is None
    assert shapely.box(*made._window()).contains(shapely.Point(origin.lng, origin.lat))
    text.value = "<zzyzxq>"
    assert "Nothing is called" in places.children[0].value and "<zzyzxq>" not in places.children[0].value
    text.value = "!!!"
    assert made.error and not places.children, "nothing to search for"


@pytest.mark.slow
def test_exports(made: tl.TravelTimeMap, tmp_path: Path) -> None:
    for kind in ("geojson", "parquet", "png", "geojson", "code"):
        made._export(kind)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["areas-walking-2.geojson", "areas-walking.geojson", "areas-walking.parquet", "areas-walking.png"]
    back = gpd.read_parquet(tmp_path / "areas-walking.parquet")
    assert back.geometry.geom_equals(made.areas.geometry).all()
    assert gpd.read_file(tmp_path / "areas-walking.geojson").crs == "EPSG:4326"
    assert made.panel._code.value == made.code()
    made.folder = tmp_path / "missing"
    made._export("geojson")
    assert made.error.startswith("The folder")
    with pytest.raises(tl.InputError, match="notebook only"):
        made.to_cell()
    for write in (made.to_geojson, made.to_parquet, made.to_png):
        with pytest.raises(tl.MissingFileError, match=r"The folder .* does not exist"):
            write()
        with pytest.raises(tl.MissingFileError, match="create it first"):
            write(tmp_path / "nope" / "x.file")
        with pytest.raises(tl.InputError, match="it is a folder"):
            write(tmp_path)
    made.folder = tmp_path
    assert made.to_geojson() == tmp_path / "areas-walking-3.geojson"


def test_a_page_holds_all_it_shows(made: tl.TravelTimeMap, tmp_path: Path) -> None:
    made.add_layer(at((700, 0)), "</script><b>mine", over=True)
    made.add_origin(*at((1000, 700)).iloc[0].coords[0], "<i>third")
    made._export("html")
    path = tmp_path / "areas-walking.html"
    page = path.read_text("utf-8")
    assert str(path) in made.panel._export_note.value
    assert "<script src" not in page and "<link" not in page and "@import" not in page, "nothing from elsewhere"
    assert page.count("const drawBase") == 1 and "base_maps.js" not in page
    assert "</script><b>" not in page and "<i>third" not in page and "Within 2 min, on foot" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["groups"] == [origin["name"] for origin in data["origins"]] == ["west", "east", "<i>third"]
    features = [f for f in data["areas"]["features"] if not f["properties"].get("shared")]
    kept = gpd.GeoDataFrame.from_features(features, crs=4326).set_index(["origin", "travel_time"]).geometry.sort_index()
    shapes = made.areas.set_index(["origin", "travel_time"]).geometry.sort_index()
    assert (kept.symmetric_difference(shapes).to_crs(made.network.crs).area < 0.02 * 1e6).all()
    assert data["limits"] == {"60": "1 min", "120": "2 min"} and data["layers"][0]["over"]
    made.combine = "intersection"
    page = made.to_html(tmp_path / "both.html").read_text("utf-8")
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["groups"] == ["intersection"]
    with pytest.raises(tl.MissingFileError):
        made.to_html(tmp_path / "nope" / "x.html")


@pytest.mark.slow
def test_base_maps(street: Network) -> None:
    tiles = tl.TravelTimeMap(street, base_map="https://tiles.example/{z}/{x}/{y}.png")
    assert any(isinstance(layer, ipyleaflet.TileLayer) for layer in tiles.map.layers)
    for nothing in ("none", None):
        bare = tl.TravelTimeMap(street, base_map=nothing)
        assert not any(isinstance(layer, ipyleaflet.ImageOverlay | ipyleaflet.TileLayer) for layer in bare.map.layers)
    own = tl.TravelTimeMap(street)
    assert not any(isinstance(layer, ipyleaflet.TileLayer) for layer in own.map.layers), "offline"
    first = own._base
    own.map.zoom += 2
    assert own._base is not first
    second = own._base
    lat, lng = own.map.center
    own.map.set_trait("south", lat - 0.001)
    own.map.set_trait("north", lat + 0.001)
    own.map.set_trait("west", lng - 0.001)
    own.map.set_trait("east", lng + 0.001)
    assert own._base is second, "within what is drawn already"


# On the wire ---------------------------------------------------------------------------------------------------------


def test_the_wire_is_light_and_true(porto_alegre: Network) -> None:
    made = tl.TravelTimeMap(porto_alegre, tl.sample_points().iloc[[6]])
    data = made._shapes.data
    pixel_m = browser.metres_per_pixel(made.map.zoom, -29.9)
    sent = gpd.GeoDataFrame.from_features(data, crs=4326).iloc[::-1].reset_index(drop=True)
    assert sent["travel_time"].tolist() == [300, 600, 900]
    moved = sent.to_crs(porto_alegre.crs).symmetric_difference(made.areas.to_crs(porto_alegre.crs))
    border = made.areas.to_crs(porto_alegre.crs).length
    assert (moved.area < border * 0.6 * pixel_m).all(), "within about half a pixel"
    assert len(json.dumps(data)) < 60_000
    assert len(made._ground.url) + len(made._streets.url) < 400_000
    styles = [feature["properties"]["style"]["fillColor"] for feature in data["features"]]
    assert len(set(styles)) == 3


def test_zoom_fits() -> None:
    for zoom in range(3, 18):
        half = 256 * 2 / 2.0**zoom * 360 / 256 / 2 * 0.9
        assert browser.zoom_for((-half, -half, half, half), 512, 512) == zoom
    assert browser.zoom_for((0, 0, 0, 0), 500, 500) >= 17


def test_names_are_escaped(street: Network) -> None:
    origins = at((0, 0), (900, 0)).set_axis(["<b>a</b>", "b"])
    made = tl.TravelTimeMap(street, origins)
    assert "&lt;b&gt;a" in made._legend.value and "<b>a</b>" not in made._legend.value
    made.ask(*origins.iloc[0].coords[0])
    assert "<b>a</b>" not in made._note.value


# Work beside the event loop ------------------------------------------------------------------------------------------


def test_only_the_latest_matters() -> None:
    async def run() -> list[int]:
        queue, told = jobs.LatestOnly(), []
        gate = threading.Event()

        def work(number: int, job: jobs.Job) -> int:
            gate.wait(5)
            return number

        for number in range(5):
            queue.submit(lambda job, number=number: work(number, job), told.append, told.append)
        gate.set()
        while queue.running is not None:
            await asyncio.sleep(0.005)
        return told

    assert asyncio.run(run()) == [0, 4]


def test_cancel_and_errors() -> None:
    async def run() -> list[Any]:
        queue, told = jobs.LatestOnly(), []

        def endless(job: jobs.Job) -> None:
            while True:
                time.sleep(0.002)
                job.step(1, 10)

        def broken(job: jobs.Job) -> None:
            raise ValueError("broken")

        for work, stops in ((endless, True), (broken, False)):
            queue.submit(work, told.append, told.append)
            await asyncio.sleep(0.02)
            if stops:
                assert queue.running is not None and (queue.running.done, queue.running.total) == (1, 10)
                queue.cancel()
            while queue.running is not None:
                await asyncio.sleep(0.005)
        return told

    cancelled, error = asyncio.run(run())
    assert isinstance(cancelled, jobs.Cancelled)
    assert str(error) == "broken"


def test_slow_work_is_stopped_for_something_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PATIENCE_S", 0.0)

    async def run() -> list[Any]:
        queue, told = jobs.LatestOnly(), []

        def slow(job: jobs.Job) -> str:
            for done in range(2000):
                job.step(done, 2000)
                time.sleep(0.002)
            return "slow"

        queue.submit(slow, told.append, told.append)
        await asyncio.sleep(0.02)
        queue.submit(lambda job: "new", told.append, told.append)
        while queue.running is not None:
            await asyncio.sleep(0.005)
        return told

    assert asyncio.run(run()) == ["new"]


@pytest.mark.slow
def test_the_map_follows_in_an_event_loop(street: Network) -> None:
    async def run() -> None:
        made = tl.TravelTimeMap(street, at((0, 0)).set_axis(["home"]), travel_time=120)
        for x in (200, 400, 600, 800):
            (place,) = at((x, 0))
            made.move_origin("home", place.x, place.y, is_dragging=True)
        made.move_origin("home", place.x, place.y)
        made.map.zoom += 1
        await asyncio.sleep(0.1)
        while any(queue.running for queue in (made._shape_jobs, made._base_jobs)):
            await asyncio.sleep(0.01)
        assert made.areas.geometry.contains(place).all()
        assert made._base.metres_per_pixel == pytest.approx(
            browser.metres_per_pixel(made.map.zoom, made.map.center[0]), rel=0.01
        )

    asyncio.run(run())


def test_a_cell_that_sets_a_value_can_read_the_answer(street: Network) -> None:
    async def run() -> None:
        made = tl.TravelTimeMap(street, at((0, 0)).set_axis(["home"]), travel_time=120)
        made.state.travel_time = 240
        assert made.areas["travel_time"].max() == 240
        made.add_origin(80.0, 10.0, "far")
        assert made.error == "far lies outside the network."
        await asyncio.sleep(0.05)
        assert made.error == "far lies outside the network."

    asyncio.run(run())


def test_state_needs_no_widgets() -> None:
    state = MapState(origins=[Origin("a", 0.0, 0.0)])
    seen = []
    state.observe(lambda change: seen.append(change["new"]), "travel_time")
    state.travel_time = 60
    assert seen == [60]
    assert np.allclose(state.limits(), (20, 40, 60))


def test_lines_without_times_may_be_random(line: tl.Network) -> None:
    """Draws and their seed go with random headways, and pointing at a place shows a time without a route."""
    here = at((0, 0))
    means = {"type": "bus", "headways": "random", "headway_draws": 5, "headway_seed": 3}
    how: dict[str, Any] = {"departure_time": "2026-03-03T08:00", "travel_time": 900, "window": 600}
    made = tl.TravelTimeMap(line, here, transportation=means, **how)
    assert made.state.mode_options == {"headways": "random", "headway_draws": 5, "headway_seed": 3}
    found = answers.probe(line, made.state.query(), here.x.iloc[0], here.y.iloc[0])
    assert found["travel_time"].tolist() == [0]
    assert found["rides"].tolist() == [""]
    assert made.panel._with_headways("average") == {"headways": "average"}
    assert made.panel._with_headways("random") == made.state.mode_options
    assert made.panel._with_headways("exact") == {}
