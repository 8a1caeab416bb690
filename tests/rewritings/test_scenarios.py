"""Scenarios written in another form are the same network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

import traveltime_lab as tl
from tests.support import questions
from tests.support.combinations import first_of
from tests.support.questions import assert_same
from traveltime_lab.scenarios.changes import Change

CENTRE = (-51.2278, -30.0285)
STADIUM = (-51.2366, -30.0649)


def around(place: tuple[float, float], size: float) -> shapely.Polygon:
    return shapely.box(place[0] - size, place[1] - size, place[0] + size, place[1] + size)


ROUTE = "T9"
#: Changes of different streets and trips, in any order.
CHANGES: list[Change] = [
    tl.CloseStreets(around(CENTRE, 0.002), modes=("walking", "driving"), name="works"),
    tl.SetSpeed(around(STADIUM, 0.004), factor=0.5, name="match"),
    tl.ScaleHeadway(ROUTE, 2.0, name="fewer"),
]

Form = Callable[[Sequence[Change], Path], Sequence[Change]]


def saved(changes: Sequence[Change], folder: Path) -> Sequence[Change]:
    return tl.load_changes(tl.save_changes(changes, folder / "changes.json"))


def turned(shape: shapely.Polygon) -> shapely.Polygon:
    """Return a polygon whose ring begins elsewhere and runs in the other direction."""
    ring = shapely.get_coordinates(shape)[:-1][::-1]
    return shapely.Polygon(np.roll(ring, 2, axis=0))


def with_turned_rings(changes: Sequence[Change], folder: Path) -> Sequence[Change]:
    first, second, *others = changes
    return [
        tl.CloseStreets(turned(first.polygon), modes=first.modes, name=first.name),
        tl.SetSpeed(turned(second.polygon), factor=second.factor, name=second.name),
        *others,
    ]


def mode_by_mode(changes: Sequence[Change], folder: Path) -> Sequence[Change]:
    first, *others = changes
    return [*(tl.CloseStreets(first.polygon, modes=mode, name=first.name) for mode in first.modes), *others]


def twice(changes: Sequence[Change], folder: Path) -> Sequence[Change]:
    """Close again what is closed."""
    return [changes[0], *changes]


def in_two_parts(changes: Sequence[Change], folder: Path) -> Sequence[Change]:
    """Close two halves that overlap instead of the whole."""
    first, *others = changes
    west, south, east, north = shapely.bounds(first.polygon)
    middle = (west + east) / 2
    halves = [shapely.box(west, south, middle + 1e-4, north), shapely.box(middle - 1e-4, south, east, north)]
    return [*(tl.CloseStreets(half, modes=first.modes, name=first.name) for half in halves), *others]


FORMS: dict[str, Form] = {
    "as it was": lambda changes, folder: changes,
    "in the other order": lambda changes, folder: changes[::-1],
    "saved and loaded": saved,
    "rings from elsewhere": with_turned_rings,
    "mode by mode": mode_by_mode,
    "closed twice": twice,
    "in two parts": in_two_parts,
}
QUESTIONS = {
    name: ask
    for moments in (questions.streets("2019-05-13T08:00:00"),
                    questions.rides("2019-05-13T08:00:00", "2019-05-13T09:00:00"))
    for name, ask in moments.items()
    if name in ("walking", "driving", "driving areas by arrival", "by departure", "by arrival", "routes")
}  # fmt: skip


@pytest.fixture(scope="module")
def scenario(porto_alegre: tl.Network) -> tl.Network:
    return porto_alegre.with_changes(CHANGES)


@pytest.fixture(scope="module")
def places(porto_alegre: tl.Network) -> Any:
    some = questions.places_in(porto_alegre, 10, 6)
    some.iloc[0], some.iloc[5] = shapely.Point(CENTRE), shapely.Point(STADIUM)
    return some


@pytest.mark.slow
def test_the_changes_change_something(porto_alegre: tl.Network, scenario: tl.Network, places: Any) -> None:
    for name, ask in QUESTIONS.items():
        assert not ask(porto_alegre, places).equals(ask(scenario, places)), name


@pytest.mark.parametrize("form", first_of(1, FORMS, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_forms_of_scenarios(
    porto_alegre: tl.Network, scenario: tl.Network, places: Any, form: str, tmp_path: Path
) -> None:
    changed = porto_alegre.with_changes(FORMS[form](CHANGES, tmp_path))
    for ask in QUESTIONS.values():
        assert_same(ask(changed, places), ask(scenario, places))


ORDERS = first_of(1, [(2, 1, 0), (0, 1, 2), (1, 0, 2)], mark=pytest.mark.thorough, few=pytest.mark.slow)


@pytest.mark.parametrize("order", ORDERS)
def test_in_several_steps(porto_alegre: tl.Network, scenario: tl.Network, places: Any, order: tuple[int, ...]) -> None:
    """One change after the other, in different orders."""
    in_steps = porto_alegre
    for position in order:
        in_steps = in_steps.with_changes(CHANGES[position])
    assert sorted(in_steps.report()["changes"].values()) == sorted(scenario.report()["changes"].values())
    for ask in QUESTIONS.values():
        assert_same(ask(in_steps, places), ask(scenario, places))


@pytest.mark.thorough
def test_new_streets_in_several_steps(porto_alegre: tl.Network, places: Any) -> None:
    """Two streets with a change of speeds between them."""
    nodes = shapely.points(porto_alegre.tables.node_lng, porto_alegre.tables.node_lat)
    tree = shapely.STRtree(nodes)
    west, east = (
        tl.AddStreet(
            [shapely.get_coordinates(nodes[tree.nearest(shapely.Point(lng + d, lat + d))])[0] for d in (0.0, 0.006)],
            {"walking": 5, "driving": 30},
        )
        for lng, lat in (STADIUM, CENTRE)
    )
    slower = tl.SetSpeed(around(CENTRE, 0.01), factor=0.7)
    at_once = porto_alegre.with_changes([west, slower, east])
    in_steps = porto_alegre.with_changes(west).with_changes([slower]).with_changes([east])
    for ask in QUESTIONS.values():
        assert_same(ask(in_steps, places), ask(at_once, places))


@pytest.mark.slow
def test_a_scenario_saved_and_loaded(scenario: tl.Network, places: Any, tmp_path: Path) -> None:
    again = tl.load_network(scenario.save(tmp_path / "scenario.network"))
    assert again.fingerprint == scenario.fingerprint
    for ask in QUESTIONS.values():
        assert_same(ask(again, places), ask(scenario, places))
