"""Several limits in one call have the answers of single calls, in any order and number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geopandas as gpd
import pytest

import traveltime_lab as tl
from tests.support import questions
from tests.support.combinations import first_of
from tests.support.questions import assert_same

RIDE = {"transportation": "public_transport", "departure_time": "2019-05-13T08:00:00"}
DRIVE = {"transportation": "driving", "arrival_time": "2019-05-13T09:00:00"}
WALK = {"transportation": "walking"}
LIMITS = (300, 1200, 700)


def areas(**how: Any) -> Callable[..., Any]:
    return lambda network, places, limits: tl.time_map(network, places, travel_time=limits, **how)


def distances(**how: Any) -> Callable[..., Any]:
    return lambda network, places, limits: tl.distance_map(network, places, distance=limits, **how)


def h3(**how: Any) -> Callable[..., Any]:
    return lambda network, places, limits: tl.h3_cells(
        network, places, travel_time=limits, resolution=9, geometry=False, **how
    )


def geohash(**how: Any) -> Callable[..., Any]:
    return lambda network, places, limits: tl.geohash_cells(
        network, places, travel_time=limits, resolution=6, geometry=False, **how
    )


QUESTIONS: dict[str, Callable[..., Any]] = {
    "areas by public transport": areas(**RIDE),
    "areas of a window": areas(**RIDE, window=1200, percentile=50),
    "areas by car": areas(**DRIVE),
    "areas around streets": areas(**WALK, render_mode="road_buffering"),
    "areas within a distance": distances(**WALK),
    "areas within the shortest distance": distances(transportation="driving", shortest=True),
    "H3 cells": h3(**RIDE),
    "geohash cells": geohash(**DRIVE),
}


@pytest.fixture(scope="module")
def places(porto_alegre: tl.Network) -> gpd.GeoSeries:
    return questions.places_in(porto_alegre, 3, 8)


def part(answer: Any, limit: int, column: str) -> Any:
    """Return the rows of a limit; answers of cells name it only if there are several."""
    rows = answer[answer[column] == limit] if column in answer else answer
    return rows.drop(columns=column, errors="ignore").reset_index()


def cells_alone(answer: Any) -> Any:
    """Return an answer without the numbers of its rows."""
    return answer.drop(columns="index", errors="ignore")


@pytest.mark.parametrize("question", first_of(1, QUESTIONS, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_one_by_one_or_together(porto_alegre: tl.Network, places: gpd.GeoSeries, question: str) -> None:
    ask, column = QUESTIONS[question], "distance" if "distance" in question else "travel_time"
    together, backwards = (ask(porto_alegre, places, list(limits)) for limits in (LIMITS, LIMITS[::-1]))
    for limit in LIMITS:
        alone = cells_alone(part(ask(porto_alegre, places, limit), limit, column))
        for several in (together, backwards, ask(porto_alegre, places, [limit, 901])):
            assert_same(cells_alone(part(several, limit, column)), alone)


@pytest.mark.parametrize("limit", [299, 300, 640, 1200])
@pytest.mark.parametrize("how", [WALK, DRIVE, RIDE, {**RIDE, "window": 900}], ids=["walk", "drive", "ride", "window"])
def test_a_limit_cuts_what_a_larger_one_finds(porto_alegre: tl.Network, how: dict[str, Any], limit: int) -> None:
    """Pairs within a limit are those whose travel time is not above it, in every form of the answer."""
    many = questions.places_in(porto_alegre, 40, 9)
    ask = {"origins": many.iloc[:10], "destinations": many, **how}
    wide = tl.time_filter(porto_alegre, **ask, travel_time=3600)
    narrow = tl.time_filter(porto_alegre, **ask, travel_time=limit)
    within = (wide["travel_time"] <= limit).fillna(False)
    assert narrow["travel_time"].notna().tolist() == within.tolist()
    assert narrow["travel_time"][within].tolist() == wide["travel_time"][within].tolist()
    matrix = tl.time_filter(porto_alegre, **ask, travel_time=limit, form="matrix")
    assert int(matrix.notna().to_numpy().sum()) == int(within.sum())
