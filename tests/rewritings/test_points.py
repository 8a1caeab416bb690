"""Points given in another form, order or number have the same answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support import questions
from tests.support.combinations import combined, first_of
from tests.support.questions import assert_same

#: Points in another form, and for each label of an answer that of the point that it is about.
Form = Callable[[gpd.GeoSeries], tuple[Any, Callable[[Any], Any]]]
MONDAY = {"departure_time": "2019-05-13T08:00:00"}
BY_NINE = {"arrival_time": "2019-05-13T09:00:00"}
WANTED = ["travel_time", "distance", "reason"]


def same(label: Any) -> Any:
    return label


def by_position(points: gpd.GeoSeries) -> Callable[[Any], Any]:
    return lambda position: points.index[position]


def permuted(points: gpd.GeoSeries) -> tuple[Any, Callable[[Any], Any]]:
    return points.iloc[np.random.default_rng(3).permutation(len(points))], same


def duplicated(points: gpd.GeoSeries) -> tuple[Any, Callable[[Any], Any]]:
    again = points.set_axis([f"{label} again" for label in points.index])
    return pd.concat([points, again.iloc[::-1]]), lambda label: str(label).removesuffix(" again")


def renamed(points: gpd.GeoSeries) -> tuple[Any, Callable[[Any], Any]]:
    numbers = range(1000, 1000 - len(points), -1)
    names = dict(zip(numbers, points.index, strict=True))
    return points.set_axis(list(numbers)), lambda label: names[label]


def frame_of(points: gpd.GeoSeries) -> tuple[Any, Callable[[Any], Any]]:
    columns = {"name": "x", "travel_time": 5.0, "where": points}
    return gpd.GeoDataFrame(columns, geometry="where", index=points.index), same


FORMS: dict[str, Form] = {
    "permuted": permuted,
    "duplicated": duplicated,
    "renamed": renamed,
    "a GeoDataFrame with other columns": frame_of,
    "points without an index": lambda points: (list(points), by_position(points)),
    "pairs of numbers": lambda points: ([(p.x, p.y) for p in points], by_position(points)),
    "a level more of the index": lambda points: (
        points.set_axis(pd.MultiIndex.from_product([["city"], points.index])), lambda label: label[1],
    ),
}  # fmt: skip


def pairs(mode: Any, *columns: str, **how: Any) -> Callable[..., Any]:
    def ask(network: tl.Network, starts: Any, ends: Any) -> Any:
        wanted = [name for name in columns if name != "reason"]
        found = tl.time_filter(network, starts, ends, travel_time=3600, transportation=mode, properties=wanted, **how)
        return pd.DataFrame(found)[["origin", "destination", *columns]]

    return ask


def routes(mode: Any, **how: Any) -> Callable[..., Any]:
    def ask(network: tl.Network, starts: Any, ends: Any) -> Any:
        found = tl.routes(network, starts, ends, transportation=mode, **how)
        words = [[] if route is None else [leg.directions for leg in route.legs] for route in found["route"]]
        return found[["origin", "destination", *WANTED, "geometry"]].assign(words=[str(each) for each in words])

    return ask


def areas(mode: Any, **how: Any) -> Callable[..., Any]:
    def ask(network: tl.Network, starts: Any, ends: Any) -> Any:
        found = tl.time_map(network, starts, travel_time=600, transportation=mode, **how)[["geometry"]]
        return found.set_geometry(shapely.normalize(np.asarray(found.geometry))).assign(origin=found.index)

    return ask


def cells(network: tl.Network, starts: Any, ends: Any) -> Any:
    found = tl.h3_cells(
        network, starts, travel_time=600, resolution=8, transportation="public_transport", geometry=False, **MONDAY
    )
    return pd.DataFrame(found).rename_axis(None)


def nearest(network: tl.Network, starts: Any, ends: Any) -> Any:
    """The nearest place by car; points given twice are equally near."""
    found = tl.nearest(network, starts, ends, travel_time=3600, k=1, **MONDAY)
    return pd.DataFrame(found)[["origin", "travel_time"]]


def snaps(network: tl.Network, starts: Any, ends: Any) -> Any:
    found = tl.snap(network, starts, transportation="cycling")
    return found.assign(origin=found.index)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "walking": pairs("walking", *WANTED),
    "driving, by arrival": pairs("driving", *WANTED, **BY_NINE),
    "public transport": pairs("public_transport", "travel_time", "reason", **MONDAY),
    "public transport, by arrival": pairs("public_transport", "travel_time", "reason", **BY_NINE),
    "routes": routes("driving", **MONDAY),
    "routes by public transport": routes("public_transport", **MONDAY),
    "areas": areas("driving", **MONDAY),
    "areas by public transport": areas("public_transport", **BY_NINE),
    "cells": cells,
    "nearest": nearest,
    "snapped": snaps,
}


def keyed(answer: Any, start: Callable[[Any], Any], end: Callable[[Any], Any]) -> Any:
    """Return an answer with the labels of the original points, sorted by them and without equal rows."""
    found = answer.assign(origin=[start(label) for label in answer["origin"]])
    keys = ["origin"]
    if "destination" in answer:
        found, keys = found.assign(destination=[end(label) for label in answer["destination"]]), [*keys, "destination"]
    keys += [name for name in ("cell", "h3_cell", "id") if name in answer]
    if "geometry" in found:
        found = found.assign(as_bytes=shapely.to_wkb(np.asarray(found["geometry"])))
        found = pd.DataFrame(found).drop(columns="geometry")
    return found.drop_duplicates().sort_values(keys, kind="stable").reset_index(drop=True)


class Asked(NamedTuple):
    """A network and points in it, and the answers of the points as they are."""

    network: tl.Network
    starts: gpd.GeoSeries
    ends: gpd.GeoSeries
    answer: Callable[[str], Any]


@pytest.fixture(scope="module")
def asked(porto_alegre: tl.Network) -> Asked:
    places = questions.places_in(porto_alegre, 12, 4)
    starts, ends = places.iloc[:5], places.iloc[5:]
    # One place is an origin and a destination.
    ends = pd.concat([ends, starts.iloc[:1]])

    def answer(question: str) -> Any:
        return keyed(QUESTIONS[question](porto_alegre, starts, ends), same, same)

    return Asked(porto_alegre, starts, ends, functools.cache(answer))


def reprojected(crs: Any) -> Form:
    return lambda points: (points.to_crs(crs), same)


#: Coordinates come back from another CRS with other last bits.
FORMS |= {
    "in web Mercator": reprojected(3857),
    "in UTM zone 19 south": reprojected(32719),
    "in SIRGAS 2000": reprojected(4674),
}


@pytest.mark.parametrize(("form", "question"), combined(FORMS, QUESTIONS, mark=pytest.mark.thorough))
def test_forms_of_points(asked: Asked, form: str, question: str) -> None:
    starts, start = FORMS[form](asked.starts)
    ends, end = FORMS[form](asked.ends)
    found = keyed(QUESTIONS[question](asked.network, starts, ends), start, end)
    expected = asked.answer(question)
    if form.startswith("in "):
        # Nanometres show in geometries and distances to streets, and decide which street of a junction is nearest.
        not_compared = ["as_bytes", "way_id", "street", "name"]
        found, expected = (frame.drop(columns=not_compared, errors="ignore") for frame in (found, expected))
        if "snap_distance" in found:
            found, expected = found.round(6), expected.round(6)
    assert_same(found, expected)


def test_a_place_in_two_systems(asked: Asked) -> None:
    """A place is no journey away from itself, in whichever system it is given."""
    for crs in (3857, 32719):
        for how in (
            {"transportation": "walking"},
            {"transportation": "driving"},
            {"transportation": "public_transport", **MONDAY},
        ):
            found = tl.time_filter(
                asked.network, asked.starts, asked.starts.to_crs(crs), travel_time=3600, pairs="aligned", **how
            )
            assert (found["travel_time"].dropna() == 0).all()
            assert found["travel_time"].notna().any()


@pytest.mark.parametrize("question", first_of(3, QUESTIONS, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_one_by_one(asked: Asked, question: str) -> None:
    """Each origin, and for pairs each destination, in a call of its own."""
    ends = [asked.ends] if question == "nearest" else [asked.ends.iloc[[j]] for j in range(len(asked.ends))]
    if "destination" not in asked.answer(question):
        ends = [asked.ends]
    parts = [
        QUESTIONS[question](asked.network, asked.starts.iloc[[i]], some)
        for i in range(len(asked.starts))
        for some in ends
    ]
    found = pd.concat([part for part in parts if len(part)])
    assert_same(keyed(found, same, same), asked.answer(question))
