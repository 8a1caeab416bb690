"""Two interactive maps with one state, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import shapely

import traveltime_lab as tl
from tests.support.worlds import at, world

pytest.importorskip("ipyleaflet")

#: A street of 2 km with a side street, on which everybody does 5 m/s.
NODES = {"a": (0, 0), "b": (1000, 0), "c": (2000, 0), "d": (1000, 800)}


@pytest.fixture(scope="module")
def street() -> tl.Network:
    return world(NODES, [("a", "b"), ("b", "c"), ("b", "d")])


@pytest.fixture(scope="module")
def closed(street: tl.Network) -> tl.Network:
    east = int(street.edges_frame()["to_node"].eq(2).idxmax())
    return street.with_changes(tl.CloseStreets(edges=east))


@pytest.fixture
def both(street: tl.Network, closed: tl.Network, tmp_path: Path) -> tl.SideBySideMap:
    origins = at((800, 0), (1000, 300)).set_axis(["west", "north"])
    return tl.SideBySideMap(street, closed, origins, travel_time=120, rings=2, folder=tmp_path)


def window(map_: tl.TravelTimeMap) -> tuple[Any, ...]:
    return (*map_.map.center, map_.map.zoom)


@pytest.mark.thorough
def test_what_is_set_on_one_is_set_on_both(both: tl.SideBySideMap, street: tl.Network, closed: tl.Network) -> None:
    assert both.before.state is both.after.state is both.state
    both.travel_time = 180
    both.before.move_origin("west", at((700, 0))[0])
    both.after.move_origin("north", at((1000, 200))[0], new_name="hill")
    both.after.add_origin(at((400, 0))[0], name="new")
    both.before.remove_origin("west (moved)")
    assert [origin.name for origin in both.origins] == ["hill", "new"]
    for half, network in ((both.before, street), (both.after, closed)):
        alone = tl.TravelTimeMap(network, both.origins, travel_time=180, rings=2)
        assert half.areas.equals(alone.areas)
        assert set(half._markers) == {"hill", "new"}
    assert window(both.before) == window(both.after)


def test_changes_are_those_of_compare(both: tl.SideBySideMap) -> None:
    changes = both.changes
    areas = [half.areas.set_index("origin") for half in (both.before, both.after)]
    assert changes.equals(tl.compare(*areas))
    lost = changes[changes["change"] == "lost"]
    assert (changes[changes["change"] == "gained"]["increase"] == 0).all()
    assert lost["increase"].min() < 0


def test_a_place_is_asked_about_on_both(both: tl.SideBySideMap) -> None:
    place = at((1500, 0))[0]
    both.after.ask(place.x, place.y)
    notes = [half._note.value for half in (both.before, both.after)]
    assert "min" in notes[0] and notes[0] != notes[1]


def test_both_are_in_sight(both: tl.SideBySideMap) -> None:
    both.travel_time = 600
    for half in (both.before, both.after):
        half.fit()
    assert window(both.before) == window(both.after)
    west, south, east, north = both.after._window()
    assert shapely.box(west, south, east, north).covers(shapely.union_all(both.before.areas.geometry))


@pytest.mark.thorough
def test_code_gives_the_areas(both: tl.SideBySideMap, street: tl.Network, closed: tl.Network) -> None:
    pytest.importorskip("matplotlib").use("agg")
    for combine in ("each", "union", "intersection", "difference"):
        both.combine = combine
        found: dict[str, Any] = {"network": street, "network_after": closed}
        exec(both.code(), found)
        for half, name in ((both.before, "before"), (both.after, "after")):
            keys = ["origin", "travel_time"]
            made, expected = (table.set_index(keys).geometry.sort_index() for table in (found[name], half.areas))
            assert made.geom_equals_exact(expected, 1e-6).all()


@pytest.mark.thorough
def test_exports_are_of_both(both: tl.SideBySideMap, tmp_path: Path) -> None:
    for kind in ("geojson", "parquet", "png", "html"):
        both.before._export(kind)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        f"areas-walking-{half}.{kind}" for half in ("before", "after") for kind in ("geojson", "parquet", "png", "html")
    }
    assert tl.receipt(tmp_path / "areas-walking-after.geojson")["network"]["changes"]
    both.before._export("code")
    assert "areas_of(network_after)" in both.before.panel._code.value


def test_wrong_values(street: tl.Network, both: tl.SideBySideMap) -> None:
    with pytest.raises(tl.InputError, match="network_after must be a Network"):
        tl.SideBySideMap(street, None)
    with pytest.raises(tl.InputError, match="titles must be two different texts"):
        tl.SideBySideMap(street, street, titles=("same", "same"))
    with pytest.raises(tl.InputError, match="no option 'travel_tim'"):
        tl.SideBySideMap(street, street, travel_tim=5)
    with pytest.raises(tl.InputError, match="rings must be"):
        both.rings = 99
        both.changes  # noqa: B018 - raises the error of the search
    with pytest.raises(tl.InputError, match="after cannot be set"):
        both.after = both.before
    with pytest.raises(tl.InputError, match="has no option 'ring'"):
        both.ring = 2
    with pytest.raises(AttributeError, match="colour"):
        both.colour  # noqa: B018
