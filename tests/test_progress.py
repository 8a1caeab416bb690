"""Every function with an argument `progress` has one protocol; the list of functions is made from their signatures."""

from __future__ import annotations

import datetime as dt
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import worlds
from tests.support.combinations import first_of
from tests.support.large_jobs import grid
from tests.support.osm_files import osm_xml
from tests.support.towns import blocks
from traveltime_lab.kernels import cache
from traveltime_lab.runtime import progress as watching
from traveltime_lab.settings import settings

HOMES = worlds.at(*((100.0 * i, 5.0) for i in range(1, 21)))
SHOPS = worlds.at(*((100.0 * i, 205.0) for i in range(1, 8)))
FOOT: dict[str, Any] = {"transportation": "walking", "travel_time": 600}
#: Right arguments of each function, and the total that it reports; None if it is not the number of something.
CALLS: dict[str, tuple[dict[str, Any], int | None]] = {
    "time_filter": ({"origins": HOMES, "destinations": SHOPS, "engine": "dijkstra", **FOOT}, 140),
    "time_map": ({"origins": HOMES[:4], **FOOT}, 4),
    "distance_map": ({"origins": HOMES[:4], "distance": 500, "transportation": "walking"}, 4),
    "h3_cells": ({"origins": HOMES[:4], "resolution": 9, **FOOT}, 4),
    "geohash_cells": ({"origins": HOMES[:4], "resolution": 7, **FOOT}, 4),
    "nearest": ({"origins": HOMES, "places": SHOPS, "engine": "dijkstra", **FOOT}, 140),
    "routes": ({"origins": HOMES, "destinations": SHOPS, "transportation": "walking"}, 140),
    "pareto_routes": ({"origins": HOMES, "destinations": SHOPS, **FOOT}, 140),
    "accessibility": ({"origins": HOMES, "opportunities": SHOPS, **FOOT}, 140),
    "reliability": (
        {
            "origins": HOMES,
            "destinations": SHOPS,
            "travel_time": 600,
            "departure_time": "2026-03-02T08:00",
            "window": 300,
        },
        700,
    ),
    "reliability_map": ({"origins": HOMES[:4], "travel_time": 300, "departure_time": "2026-03-02T08:00"}, 8),
    "reliability_cells": (
        {"origins": HOMES[:4], "travel_time": 300, "departure_time": "2026-03-02T08:00", "resolution": 9},
        8,
    ),
    "write_matrix": ({"origins": HOMES, "destinations": SHOPS, "path": "matrix", "part_size": 35, **FOOT}, 4),
    "write_areas": ({"origins": HOMES[:4], "path": "areas", "part_size": 1, **FOOT}, 4),
    "write_networks": ({"networks": {f"{n}": {"osm": "town.osm"} for n in range(3)}, "path": "networks"}, 3),
    "build_network": ({"osm": "town.osm", "prepare": "walking", "timezone": "UTC"}, None),
    "sample_network": ({"name": "helsinki"}, None),
}
NAMES = [
    name
    for name in tl.__all__
    if inspect.isfunction(getattr(tl, name)) and "progress" in inspect.signature(getattr(tl, name)).parameters
]


@pytest.fixture(scope="module")
def town() -> tl.Network:
    return grid()


@pytest.fixture
def call(town: tl.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function that calls a public function with right arguments and some value of `progress`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.osm").write_bytes(osm_xml({1: (0.5, 0.5), 2: (0.501, 0.5)}, [(10, "1 2", "highway=residential")]))

    def called(name: str, progress: Any) -> Any:
        arguments = CALLS[name][0]
        if name.startswith("reliability"):
            with_buses = blocks(tmp_path)
            arguments = {"network": with_buses, "days": {dt.date(2026, 3, 2): with_buses}, **arguments}
        elif "network" in inspect.signature(getattr(tl, name)).parameters:
            arguments = {"network": town, **arguments}
        with settings.override(cache_folder=tmp_path / "cache"):
            return getattr(tl, name)(**arguments, progress=progress)

    return called


def test_every_function_is_called() -> None:
    assert sorted(CALLS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_gets_what_is_documented(name: str, call: Callable[..., Any]) -> None:
    assert "``progress(done, total)``" in str(getattr(tl, name).__doc__) or "As in `" in str(getattr(tl, name).__doc__)
    told: list[tuple[Any, ...]] = []
    call(name, lambda *arguments: told.append(arguments))
    done, totals = zip(*told, strict=True)
    assert len(set(totals)) == 1 and all(type(number) is int for number in (*done, *totals))
    assert sorted(set(done)) == list(done)
    assert done[-1] == totals[0]
    if CALLS[name][1] is not None:
        assert totals[0] == CALLS[name][1] and len(done) >= 2


@pytest.mark.parametrize("name", first_of(4, NAMES, mark=pytest.mark.thorough))
def test_true_shows_a_bar_and_false_nothing(
    name: str, call: Callable[..., Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call(name, True)
    told = capsys.readouterr()
    assert "100%|" in told.err and not told.out
    for path in ("matrix", "areas", "cache"):
        if (tmp_path / path).exists():
            (tmp_path / path).rename(tmp_path / f"{path}.before")
    call(name, False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_other_values_are_refused(name: str, call: Callable[..., Any]) -> None:
    for wrong in ("yes", 5, None):
        with pytest.raises(tl.InputError, match="progress must be True or False, or a function to call"):
            call(name, wrong)


def test_answers_do_not_depend_on_who_watches(town: tl.Network) -> None:
    asked: dict[str, Any] = {"form": "matrix", **FOOT}
    for engine in ("auto", "dijkstra", "hierarchy"):
        plain = tl.time_filter(town, HOMES, SHOPS, engine=engine, **asked)
        pd.testing.assert_frame_equal(
            plain, tl.time_filter(town, HOMES, SHOPS, engine=engine, progress=lambda *_: None, **asked)
        )


def test_all_passes_over_the_pairs_are_counted(tmp_path: Path) -> None:
    town = blocks(tmp_path)
    starts, ends = worlds.at((10.0, 600.0), (10.0, 300.0)), worlds.at((900.0, 1490.0), (1490.0, 600.0))
    asked: dict[str, Any] = {"travel_time": 3600, "transportation": "public_transport", "window": 600}
    for more, total in (
        ({}, 4),
        ({"percentiles": 50}, 8),
        ({"percentiles": 50, "properties": ("travel_time", "route")}, 12),
        ({"percentiles": 50, "form": "sparse"}, 4),
    ):
        told: list[tuple[int, int]] = []
        tl.time_filter(
            town, starts, ends, departure_time="2026-03-03T08:00", progress=lambda *each, told=told: told.append(each),
            **asked, **more,
        )  # fmt: skip
        assert told[-1] == (total, total) and len(told) > 1
    rides: list[tuple[int, int]] = []
    del asked["travel_time"]
    tl.routes(
        town, starts, ends, departure_time="2026-03-03T08:00", max_results=3,
        progress=lambda *each: rides.append(each), **asked,
    )  # fmt: skip
    assert rides[-1] == (12, 12) and len(rides) > 1


def test_an_error_of_the_function_ends_the_search(call: Callable[..., Any]) -> None:
    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call("time_map", stop)
    assert not watching.is_watched()


class Screen:
    """A terminal that remembers."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Do nothing."""

    def isatty(self) -> bool:
        return True


def test_the_first_search_says_that_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(isinstance(watch, watching.CompilationBar) for watch in cache.watchers)
    bar = watching.CompilationBar()

    def compile_two() -> str:
        monkeypatch.setattr(sys, "stderr", Screen())
        for name in ("outer", "inner", None, None):
            bar(name)
        bar.close()
        return str(sys.stderr.text)

    with settings.override(progress=True):
        told = compile_two()
        assert "Compiling searches, once per machine: 2 kernels" in told
        monkeypatch.setattr(Screen, "isatty", lambda self: False)
        assert not compile_two()
        monkeypatch.setattr(Screen, "isatty", lambda self: True)
    with settings.override(progress=False):
        assert not compile_two()
    with pytest.raises(tl.InputError, match="progress must be True or False"):
        settings.progress = 1
