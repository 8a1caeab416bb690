"""What people write who know other packages: their names of arguments and modes are answered with those here."""

from __future__ import annotations

import copy
import datetime as dt
import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import worlds
from traveltime_lab import _elsewhere
from traveltime_lab.modes import table

#: Functions, and classes whose constructors people call.
PUBLIC = [
    name
    for name in tl.__all__
    if inspect.isfunction(getattr(tl, name)) or name in ("Transportation", "Snapping", "Nominatim")
]


@pytest.fixture(scope="module")
def tiny() -> tl.Network:
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])


def arguments(name: str) -> list[str]:
    return list(inspect.signature(getattr(tl, name)).parameters)


def guesses() -> Iterator[tuple[str, str, str]]:
    """Yield function, guessed argument, and the one that it has."""
    for name in PUBLIC:
        known = arguments(name)
        seen = set(known)
        for here, elsewhere in _elsewhere.ARGUMENTS.items():
            for guess in elsewhere.split():
                if here in known and guess not in seen:
                    seen.add(guess)
                    yield name, guess, here


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_explains_its_arguments(name: str) -> None:
    with pytest.raises(tl.KeywordError, match=rf"{name}\(\) has no argument 'xyzzy_'") as caught:
        getattr(tl, name)(xyzzy_=1)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, tl.InputError)
    assert all(argument in str(caught.value) for argument in arguments(name))
    nearly = arguments(name)[0][:-1] + "_s"
    with pytest.raises(tl.KeywordError, match=r"Did you mean|It has|Here it is"):
        getattr(tl, name)(**{nearly: 1})


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_names_arguments_that_are_missing_or_too_many(name: str) -> None:
    parameters = inspect.signature(getattr(tl, name)).parameters.values()
    needed = [item.name for item in parameters if item.default is item.empty and item.kind is not item.VAR_POSITIONAL]
    if needed:
        with pytest.raises(
            tl.KeywordError, match=rf"^{name}\(\) needs (\w+, )*(\w+ and )?{needed[-1]}\. Its"
        ) as caught:
            getattr(tl, name)()
        assert all(argument in str(caught.value) for argument in needed)
    if not any(item.kind is item.VAR_POSITIONAL for item in parameters):
        with pytest.raises(tl.KeywordError, match=rf"^{name}\(\) takes .* by position; got 40 arguments"):
            getattr(tl, name)(*range(40))


def test_a_method_counts_its_own_arguments(tiny: tl.Network) -> None:
    with pytest.raises(tl.KeywordError, match="by position; got 1 arguments; name the others, such as only_served="):
        tiny.stops_frame(True)


@pytest.mark.parametrize(("text", "seconds"), [("15min", 900), ("PT1H", 3600), ("00:10:00", 600), ("90 s", 90)])
def test_durations_as_text_are_answered_with_seconds(tiny: tl.Network, text: str, seconds: int) -> None:
    for travel_time in (text, [text]):
        with pytest.raises(tl.InputError, match=f"got '{text}'; give {seconds}$"):
            tl.time_map(tiny, worlds.at((0.0, 0.0)), travel_time=travel_time)


@pytest.mark.parametrize("text", ["900", "1.5", "soon", "", "nan", "1ns"])
def test_other_texts_are_no_durations(tiny: tl.Network, text: str) -> None:
    with pytest.raises(tl.InputError, match=f"got '{text}'$"):
        tl.time_map(tiny, worlds.at((0.0, 0.0)), travel_time=text)


def test_unknown_types_list_the_known_ones() -> None:
    for wrong in ("flying", "xyzzy"):
        with pytest.raises(tl.ModeError, match=r"Known: .*'driving'.*'public_transport'"):
            tl.Transportation(wrong)


def test_parts_of_a_network_in_other_packages(tiny: tl.Network) -> None:
    for guess, here in _elsewhere.ATTRIBUTES.items():
        with pytest.raises(AttributeError, match=f"no attribute '{guess}'; use {re.escape(here)}$"):
            getattr(tiny, guess)
        called = here.partition("(")[0].removeprefix("traveltime_lab.")
        assert hasattr(tl if here.startswith("traveltime_lab.") else tiny, called)
    for guess, here in {"time_map": "time_map", "isochrone": "time_map", "Directions": "routes"}.items():
        with pytest.raises(AttributeError, match=rf"use traveltime_lab.{here}\(network, ...\)$"):
            getattr(tiny, guess)
    for other in ("nothing", "_private", "union", "load_network", "Transportation", "__array_interface__"):
        with pytest.raises(AttributeError, match=f"has no attribute '{other}'$"):
            getattr(tiny, other)
    assert pickle.loads(pickle.dumps(tiny)).fingerprint == tiny.fingerprint
    assert copy.copy(tiny).fingerprint == tiny.fingerprint


def test_arguments_of_other_packages() -> None:
    asked = list(guesses())
    for name, guess, here in asked:
        with pytest.raises(tl.KeywordError) as caught:
            getattr(tl, name)(**{guess: 1})
        assert f"has no argument {guess!r}. Use {here!r}" in str(caught.value)
    pairs = {(name, guess): here for name, guess, here in asked}
    assert pairs["time_map", "departure"] == "departure_time"
    assert pairs["time_filter", "max_time"] == "travel_time"
    assert pairs["routes", "mode"] == "transportation"
    assert pairs["Transportation", "mode"] == "type"
    assert len(asked) > 300


#: A value for each argument that a search must have.
VALUES: dict[str, Any] = {
    "origins": (0.5, 0.5), "destinations": (0.5, 0.5), "origin": (0.5, 0.5), "destination": (0.5, 0.5),
    "points": (0.5, 0.5), "travel_time": 60, "distance": 100, "resolution": 8,
    "opportunities": (0.5, 0.5), "places": (0.5, 0.5), "path": "never written", "k": 1,
    "observed": "never read", "days": {dt.date(2026, 3, 2): "never read"}, "departure_time": "2026-03-02T08:00",
}  # fmt: skip


@pytest.mark.parametrize(
    ("guess", "here"),
    [
        ("walk", "walking"), ("car", "driving"), ("transit", "public_transport"), ("tram", "train"),
        ("bike", "cycling"),
        ("WALK", "walking"), ("Driving", "driving"), ("public transport", "public_transport"),
        ("TransportMode.BICYCLE", "cycling"), ("driving-car", "driving"),
    ],
)  # fmt: skip
def test_modes_of_other_packages(tiny: tl.Network, guess: str, here: str) -> None:
    text = f"Unknown transportation type {guess!r}. Use {here!r}."
    with pytest.raises(tl.ModeError) as caught:
        tl.Transportation(guess)
    assert str(caught.value) == text
    called = 0
    for name in PUBLIC:
        wanted = inspect.signature(getattr(tl, name)).parameters
        required = [each for each, field in wanted.items() if field.default is field.empty]
        if "transportation" not in wanted or "areas" in required:
            continue
        values = {each: tiny if each == "network" else VALUES[each] for each in required}
        with pytest.raises(tl.ModeError) as caught:
            getattr(tl, name)(**values, transportation=guess)
        assert str(caught.value) == text, name
        called += 1
    assert called >= 8


def test_every_synonym_means_a_type() -> None:
    names = [name for row in table.MODES.values() for name in row.synonyms.split()]
    assert len(names) == len(set(names))
    assert not set(names) & (set(table.MODES) | set(table.ALIASES))
    assert {table.meant_type(name) for name in names} <= set(table.MODES)
    assert table.meant_type("teleport") is None
    assert table.meant_type("tram", ["walking"]) is None


def test_points_name_all_that_is_allowed(tiny: tl.Network) -> None:
    wrong: Any
    for wrong in (5, None, [[0.5, 0.5]], {"lat": 0.5}, object()):
        with pytest.raises(tl.InputError) as caught:
            tl.time_map(tiny, wrong, travel_time=60)
        for kind in ("GeoDataFrame", "GeoSeries", "Point", "(lng, lat)", "list"):
            assert kind in str(caught.value)
    with pytest.raises(tl.InputError, match=r"must be points, not a name; .* geocode\(network, 'Main Street'\)"):
        tl.time_map(tiny, "Main Street", travel_time=60)


def test_a_place_without_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    osmnx = pytest.importorskip("osmnx")

    def no_network(*_arguments: Any, **_more: Any) -> Any:
        raise ConnectionError("Failed to resolve 'nominatim.openstreetmap.org'")

    monkeypatch.setattr(osmnx, "graph_from_place", no_network)
    with pytest.raises(tl.ServiceError, match=r"internet\? Without one, build from a file such as city\.osm\.pbf"):
        tl.build_network("Lyon, France")


def test_the_service(tiny: tl.Network) -> None:
    pytest.importorskip("starlette", reason="the extra 'server' is not installed")
    from tests.support.door import PAIR, assert_error, open_door, time_map_search
    from traveltime_lab.server.app import create_app
    from traveltime_lab.server.atlas import Atlas
    from traveltime_lab.server.auth import Credentials

    search: Callable[..., Any] = lambda **more: {"departure_searches": [time_map_search(**more)]}  # noqa: E731
    path = "obj.departure_searches[0]"
    with open_door(create_app(Atlas(tiny), Credentials([PAIR]))) as door:
        for guess, here in (
            ("walk", "walking"),
            ("tram", "train"),
            ("transit", "public_transport"),
            ("CAR", "driving"),
        ):
            body = search(transportation={"type": guess})
            (text,) = assert_error(door.post("/v4/time-map", body), 422, 2)[f"{path}.transportation.type"]
            assert text.startswith("must be one of [") and text.endswith(f"; use '{here}'")
            if here == "train":
                continue  # GET knows four types
            query = {"type": guess, "lat": 0, "lng": 0, "travel_time": 60, "departure_time": "2026-03-02T08:00:00Z"}
            (text,) = assert_error(door.get("/v4/time-map", query), 422, 2)["obj.type"]
            assert text.endswith(f"; use '{here}'")
        body = search(departure_time=..., departure="2026-03-02T08:00:00Z", travel_time=..., max_time=5)
        found = assert_error(door.post("/v4/time-map", body), 422, 2)
        assert found[f"{path}.departure_time"] == ["missing; departure is not a field"]
        assert found[f"{path}.travel_time"] == ["missing; max_time is not a field"]
        found = assert_error(door.post("/v4/time-map", search(transportation={"mode": "walking"})), 422, 2)
        assert found[f"{path}.transportation.type"] == ["missing; mode is not a field"]
        assert assert_error(door.post("/v4/time-map", search(travel_time=...)), 422, 2)[f"{path}.travel_time"] == [
            "missing"
        ]


# Tables and files that are not points yet


@pytest.mark.parametrize(
    ("columns", "x", "y"),
    [(["id", "lon", "lat"], "lon", "lat"), (["Longitude", "Latitude"], "Longitude", "Latitude"), (["a"], "lng", "lat")],
)
def test_the_advice_for_a_table_names_its_own_columns(tiny: tl.Network, columns: list[str], x: str, y: str) -> None:
    table = pd.DataFrame({name: [0.5] for name in columns})
    with pytest.raises(tl.InputError) as error:
        tl.time_map(tiny, table, travel_time=600)
    assert f"gpd.points_from_xy(origins[{x!r}], origins[{y!r}])" in str(error.value)


def test_a_file_is_not_a_name_of_a_place(tiny: tl.Network) -> None:
    for name in ("points.csv", "folder/zones.GPKG"):
        with pytest.raises(tl.InputError, match=r"origins must be points, not a file; .* Read it first"):
            tl.time_map(tiny, name, travel_time=600)
    with pytest.raises(tl.InputError, match=r"Find it with geocode\(network, 'Main St. 5'\)"):
        tl.time_map(tiny, "Main St. 5", travel_time=600)


def test_numbers_of_places_are_k(tiny: tl.Network) -> None:
    with pytest.raises(tl.KeywordError, match="Use 'k'"):
        tl.nearest(tiny, (0.5, 0.5), (0.5, 0.5), travel_time=600, num=2)
