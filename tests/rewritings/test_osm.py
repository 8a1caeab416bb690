"""Streets written in another form give the same answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import geopandas as gpd
import pytest
import shapely

import traveltime_lab as tl
from tests.support import osm_rewritings as osm
from tests.support import questions
from tests.support.questions import EXACT, Slack, assert_same

TURNED = Slack(
    "parts of edges and sums of lengths are rounded from the other end: a millisecond and a centimetre at each end",
    seconds=1.0, metres=0.03, share=0.05, area=1e-4,
)  # fmt: skip
MIRRORED = Slack(
    "besides, the raster of an area, the cells and lines of equal distance are rounded on the other side",
    seconds=1.0, metres=0.03, share=0.05, area=2e-2,
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A form of a file: what changes in it, how it is written, and what may change in the answers."""

    rewrite: osm.Rewriting = lambda extract, random: extract
    slack: Slack = EXACT
    ending: str = ".osm.pbf"
    order: str = "nwr"
    is_mirrored: bool = False
    #: Questions whose answers are others: of edges that are cut, and of cells beside a raster that lies elsewhere.
    without: frozenset[str] = frozenset()


EDGES, CELLS = "lengths of edges", "cells"


FORMS: dict[str, Form] = {
    "as it was": Form(),
    "renumbered": Form(osm.renumbered),
    "unsorted": Form(osm.unsorted),
    "relations first": Form(order="rwn"),
    "XML": Form(ending=".osm"),
    "gzip": Form(ending=".xml.gz"),
    "bzip2": Form(ending=".osm.bz2"),
    "without buildings": Form(osm.without_others),
    "with more buildings": Form(osm.with_others),
    "nodes twice in a row": Form(osm.stuttered),
    "reversed": Form(osm.reversed_ways, TURNED),
    "mirrored": Form(osm.mirrored, MIRRORED, is_mirrored=True, without=frozenset({CELLS})),
}
CUT = Slack(
    "parts of edges are rounded to milliseconds and centimetres once more where a street is cut: up and down, but in "
    "half of the streets, so that any share of the distances may differ by a centimetre",
    seconds=1.0, metres=0.1, share=0.25, area=1e-4, mean_m=0.02,
)  # fmt: skip
FAR = Slack(
    "the raster of an area lies elsewhere, which moves the outline of a small one by part of a square",
    seconds=1.0, metres=0.03, share=0.05, area=8e-2,
)  # fmt: skip
#: Forms in which edges, objects or the frame are not those of the original.
OTHER_FORMS: dict[str, Form] = {
    "negative ids": Form(osm.negative, ending=".osm"),
    "split": Form(osm.split, CUT, without=frozenset({EDGES})),
    "closed ways from elsewhere": Form(osm.turned_rings, CUT, without=frozenset({EDGES})),
    "doubled": Form(osm.doubled),
    "put together": Form(osm.put_together),
    "doubled in XML": Form(osm.doubled, ending=".osm"),
    "with a far city": Form(osm.with_far_city, FAR, without=frozenset({EDGES, CELLS})),
}
FORMS |= OTHER_FORMS
MOMENT = "2026-03-03T08:15:00"
QUESTIONS = questions.streets(MOMENT)


class City:
    """A city, its forms, and the answers to all questions, each computed once."""

    def __init__(self, path: Path, folder: Path, n_places: int = 16) -> None:
        self.extract = osm.read_extract(path)
        self.folder = folder
        self.original = tl.build_network(path)
        self.places = questions.places_in(self.original, n_places, 1)
        self.answer = functools.cache(self._answer)
        self.network = functools.lru_cache(1)(self._network)

    def _network(self, form: str) -> tl.Network:
        how = FORMS[form]
        extract = how.rewrite(self.extract, Random(5))
        path = osm.write_extract(extract, self.folder / f"city{how.ending}", order=how.order)
        side = self.original.is_left_hand ^ how.is_mirrored
        return tl.build_network(path, timezone=self.original.timezone, is_left_hand=side)

    def _answer(self, question: str) -> Any:
        return QUESTIONS[question](self.original, self.places)

    def mirror(self, shapes: gpd.GeoSeries) -> gpd.GeoSeries:
        """Exchange east and west."""
        twice = osm.mirror_of(self.extract) / osm.DEGREE
        found = shapely.transform(shapes.to_numpy(), lambda xy: [twice, 0.0] + xy * [-1.0, 1.0])
        return gpd.GeoSeries(found, shapes.index, crs=shapes.crs)

    def check(self, form: str, question: str) -> None:
        """Assert that a question has the same answer in a form of the city."""
        how = FORMS[form]
        network = self.network(form)
        if network.fingerprint == self.original.fingerprint:
            return  # the same tables to the last byte
        places = self.mirror(self.places) if how.is_mirrored else self.places
        found = QUESTIONS[question](network, places)
        if how.is_mirrored and isinstance(found, gpd.GeoDataFrame):
            found = found.set_geometry(self.mirror(found.geometry))
        assert_same(found, self.answer(question), how.slack)


def cases(*, is_large: bool = False) -> Callable[..., Any]:
    """Return all forms times all questions, form by form; of large cities those that change more than the format."""
    pairs = [
        (form, question)
        for form, how in FORMS.items()
        for question in QUESTIONS
        if question not in how.without
        if not (is_large and how.rewrite is Form.rewrite)
    ]
    return pytest.mark.parametrize(("form", "question"), pairs, ids=[f"{form}-{asked}" for form, asked in pairs])


@pytest.fixture(scope="module")
def centre(tmp_path_factory: pytest.TempPathFactory) -> City:
    """The centre of Helsinki."""
    return City(tl.sample_files("helsinki")["streets"], tmp_path_factory.mktemp("centre"))


@cases()
@pytest.mark.thorough
def test_small_city(centre: City, form: str, question: str) -> None:
    centre.check(form, question)


@pytest.fixture(scope="module", params=["monaco", "porto_alegre", "milan"])
def large(request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> City:
    """Real cities with thousands of junctions."""
    return City(shared_data / request.param / "osm.pbf", tmp_path_factory.mktemp(request.param), n_places=40)


@pytest.mark.cities
@cases(is_large=True)
def test_large_cities(large: City, form: str, question: str) -> None:
    large.check(form, question)
