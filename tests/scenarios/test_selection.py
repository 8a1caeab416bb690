"""Streets that changes select by name, near points, and beside others, against selections edge by edge."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from pyproj import Transformer

import traveltime_lab as tl
from tests.support import worlds
from tests.support.combinations import combined, first_of
from traveltime_lab.scenarios.file import from_json, to_json

PLACE = (-51.2278, -30.0276)


def closed(before: tl.Network, change: tl.CloseStreets, mode: str = "walking") -> set[int]:
    """Return the edges that a change has closed to a mode."""
    a, b = (
        each.tables.uses[f"{mode}_access"].to_numpy()[each.tables.edge_use] for each in (before, after(before, change))
    )
    return set(np.flatnonzero(a != b).tolist())


def after(before: tl.Network, change: Any) -> tl.Network:
    return before.with_changes(change)


def open_edges(network: tl.Network, mode: str = "walking") -> gpd.GeoDataFrame:
    """Return the edges that can be closed, without ferries."""
    edges = network.edges_frame()
    return edges[(edges[f"{mode}_access"] != 0) & ~edges["is_ferry"]]


def in_metres(lines: gpd.GeoSeries, lng: float, lat: float) -> list[shapely.LineString]:
    """Return lines in metres around a place, which is at 0, 0."""
    change = Transformer.from_crs(4326, f"+proj=aeqd +lon_0={lng} +lat_0={lat} +datum=WGS84", always_xy=True)
    return [shapely.LineString(np.column_stack(change.transform(*np.array(line.coords).T))) for line in lines]


@pytest.mark.parametrize(
    "name", first_of(1, ["RUA DA CONCEIÇÃO", "Avenida Ipiranga", "rua dos andradas"], mark=pytest.mark.thorough)
)
def test_streets_by_name(porto_alegre: tl.Network, name: str) -> None:
    edges = open_edges(porto_alegre)
    expected = {row for row, street in edges["name"].items() if street.upper() == name.upper()}
    assert expected
    assert closed(porto_alegre, tl.CloseStreets(streets=name)) == expected
    fact = after(porto_alegre, tl.CloseStreets(streets=name, modes="walking")).report()["changes"]["1. CloseStreets"]
    km = edges.loc[sorted(expected), "length_m"].sum() / 1000
    assert fact.startswith(f"{len(expected):,} edges, {km:,.2f} km, closed to ")


@pytest.mark.slow
@pytest.mark.parametrize(("place", "distance"), [(PLACE, 15.0), (PLACE, 700.0), ((-51.2, -30.05), 120.0)])
def test_streets_near_a_point(porto_alegre: tl.Network, place: tuple[float, float], distance: float) -> None:
    edges = open_edges(porto_alegre).cx[place[0] - 0.02 : place[0] + 0.02, place[1] - 0.02 : place[1] + 0.02]
    here = shapely.Point(0.0, 0.0)
    metres = np.array([line.distance(here) for line in in_metres(edges.geometry, *place)])
    change = tl.CloseStreets(near=place, distance=distance)
    if metres.min() > distance:
        with pytest.raises(tl.InputError, match=f"no street is within {distance:g} m of .*; the nearest is "):
            after(porto_alegre, change)
        return
    found = closed(porto_alegre, change)
    assert {*edges.index[metres < 0.998 * distance]} <= found <= {*edges.index[metres < 1.002 * distance]}


def test_a_name_near_a_point_is_both(porto_alegre: tl.Network) -> None:
    streets, near = "Avenida Borges de Medeiros", shapely.Point(PLACE)
    both = closed(porto_alegre, tl.CloseStreets(streets=streets, near=near, distance=500))
    named = closed(porto_alegre, tl.CloseStreets(streets=streets))
    around = closed(porto_alegre, tl.CloseStreets(near=near, distance=500))
    assert both == named & around and both != named


def test_points_in_every_form(porto_alegre: tl.Network) -> None:
    series = gpd.GeoSeries.from_xy([PLACE[0], -51.2], [PLACE[1], -30.05], crs=4326)
    expected = tl.CloseStreets(near=[PLACE, (-51.2, -30.05)], distance=100)
    for near in (
        series,
        series.to_crs(31982),
        list(series),
        np.array([PLACE, (-51.2, -30.05)]),
        [[*PLACE], [-51.2, -30.05]],
    ):
        change = tl.CloseStreets(near=near, distance=100)
        assert np.allclose(sorted(change.near), sorted(expected.near), atol=1e-9)
    one = {
        tl.CloseStreets(near=near, distance=1)
        for near in (PLACE, [*PLACE], shapely.Point(PLACE), [PLACE], np.array(PLACE))
    }
    assert len(one) == 1


def beside_by_hand(network: tl.Network, own: set[int], metres: float) -> tuple[set[int], set[int]]:
    """
    Return the edges of which more than 60 %, and 40 %, are beside some, a metre at a time.

    A position is beside a line if its nearest place on it is near enough and not an end, and advances along it.
    """
    edges = network.edges_frame()
    middle = edges.geometry[sorted(own)].union_all().centroid
    west, south, east, north = edges.geometry[sorted(own)].total_bounds
    edges = edges.cx[west - 0.01 : east + 0.01, south - 0.01 : north + 0.01]
    lines = dict(zip(edges.index, in_metres(edges.geometry, middle.x, middle.y), strict=True))

    def share(line: shapely.LineString, others: list[int]) -> float:
        streets = shapely.line_merge(shapely.MultiLineString([lines[each] for each in others]))
        parts = list(getattr(streets, "geoms", [streets]))
        step = 0.1 * min(1.0, line.length)

        def is_beside(place: shapely.Point, ahead: shapely.Point) -> bool:
            """Whether a place is at the side of a line and the next one is farther along it."""
            return any(
                part.distance(place) <= metres
                and 0.01 < part.project(place) < part.length - 0.01
                and abs(part.project(ahead) - part.project(place)) > step / 2
                for part in parts
            )

        at = np.arange(step, line.length - step, 10 * step)
        return float(np.mean([is_beside(line.interpolate(m), line.interpolate(m + step)) for m in at]))

    near = shapely.MultiLineString([lines[each] for each in own])
    surely, perhaps = set(), set()
    for row, street in edges.drop(index=sorted(own)).iterrows():
        if street["is_ferry"] or lines[row].distance(near) > 2 * metres:
            continue
        same = sorted(own) if street["name"] and street["name"] in {*edges["name"][sorted(own)]} else []
        aloft = [each for each in sorted(own) if edges["off_ground"][each]] if street["off_ground"] else []
        part = max((share(lines[row], others) for others in (same, aloft) if others), default=0.0)
        surely |= {row} if part > 0.6 else set()
        perhaps |= {row} if part > 0.4 else set()
    return surely, perhaps


@pytest.mark.parametrize(
    ("city", "name", "metres"),
    combined(
        [("helsinki", "Pitkäsilta"), ("porto_alegre", "Viaduto São Jorge")],
        [5.0, 20.0],
        mark=pytest.mark.thorough,
        few=pytest.mark.slow,
    ),
)
def test_what_runs_beside_a_bridge(city: str, name: str, metres: float, request: pytest.FixtureRequest) -> None:
    network = request.getfixturevalue(city)
    modes = ("walking", "cycling", "driving")
    own = {row for mode in modes for row in closed(network, tl.CloseStreets(streets=name), mode)}
    change = tl.CloseStreets(streets=name, beside=metres)
    found = {row for mode in modes for row in closed(network, change, mode)}
    surely, perhaps = beside_by_hand(network, own, metres)
    assert own | surely <= found <= own | perhaps
    extra = found - own
    fact = after(network, change).report()["changes"]["1. CloseStreets"]
    km = network.edges_frame()["length_m"][sorted(extra)].sum() / 1000
    words = f"; {len(extra)} edge{'s' * (len(extra) > 1)}, {km:.2f} km, of them beside the others"
    assert fact.endswith(words) if extra else "beside" not in fact


def test_the_cycleways_of_a_bridge_are_closed_with_it(helsinki: tl.Network) -> None:
    """Trips across the water are longer by bicycle only once the cycleways beside the bridge are closed, too."""
    ends = gpd.GeoSeries.from_xy([24.9485, 24.9510], [60.1763, 60.1785], crs=4326)

    def seconds(network: tl.Network) -> float:
        found = tl.time_filter(network, ends.iloc[[0]], ends.iloc[[1]], travel_time=7200, transportation="cycling")
        return float(found["travel_time"].astype("Float64").fillna(np.inf).iloc[0])

    whole = after(helsinki, tl.CloseStreets(streets="Pitkäsilta", beside=20))
    alone = after(helsinki, tl.CloseStreets(streets="Pitkäsilta"))
    edges = whole.edges_frame().loc[sorted(closed(alone, tl.CloseStreets(streets="Pitkäsilta", beside=20), "cycling"))]
    assert set(edges["highway"]) == {"cycleway"}, "bicycles may not use the street itself"
    assert seconds(helsinki) <= seconds(alone) < seconds(whole)


def test_the_street_that_follows_is_not_beside() -> None:
    """A path of the same name and a bridge are beside the middle of a street; what follows or crosses is not."""
    nodes = {
        "a": (0, 0), "b": (10, 0), "c": (300, 0), "d": (310, 0), "p": (0, 8), "q": (310, 8), "x": (150, -40),
        "y": (150, 40), "r": (0, -9), "s": (300, -9), "t": (0, -60), "u": (300, -60),
    }  # fmt: skip
    tables = worlds.tables(nodes, ["ab", "bc", "cd", "pq", "xy", "rs", "tu"])
    streets = tables.edge_way_id - 100
    names = np.array([1, 1, 1, 1, 1, 0, 1], np.int32)[streets]
    off = np.array([False, True, False, False, True, True, True])[streets]

    def shut(network: tl.Network, beside: float) -> set[int]:
        rows = sorted(closed(network, tl.CloseStreets(ways=101, beside=beside)))
        return {*(network.tables.edge_way_id[rows] - 100).tolist()}

    tables = replace(tables, names=["", "Main Street"], edge_name=names, edge_off_ground=off)
    network = tl.build_network(tables, timezone="UTC")
    assert shut(network, 0) == {1} and shut(network, 20) == {1, 3, 5}
    assert shut(network, 70) == {1, 3, 5, 6}, "the crossing is within 70 m, but leads across"
    low = tl.build_network(replace(tables, edge_off_ground=np.zeros(7, np.bool_)), timezone="UTC")
    assert shut(low, 20) == {1, 3}
    unknown = tl.build_network(replace(tables, edge_off_ground=np.zeros(0, np.bool_)), timezone="UTC")
    assert shut(unknown, 20) == {1, 3}


def test_other_changes_select_in_the_same_way(porto_alegre: tl.Network) -> None:
    how: dict[str, Any] = {"streets": "Avenida Ipiranga", "near": (-51.2, -30.049), "distance": 800, "beside": 30}
    shut = after(porto_alegre, tl.CloseStreets(**how))
    assert shut.fingerprint != porto_alegre.fingerprint
    assert after(shut, tl.ReopenStreets(**how)).fingerprint == porto_alegre.fingerprint
    slow = after(porto_alegre, tl.SetSpeed(**how, modes="driving", kph=20)).edges_frame()["driving_kph_forward"]
    rows = sorted(closed(porto_alegre, tl.CloseStreets(**how), "driving"))
    assert set(slow[rows].round(6)) <= {0.0, 20.0}
    assert porto_alegre.with_changes(shut.changes).fingerprint == shut.fingerprint
    again = from_json(json.loads(json.dumps(to_json(shut.changes))), "here")
    assert again == shut.changes and porto_alegre.with_changes(again).fingerprint == shut.fingerprint


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"streets": "Avenida Ipirangua"}, r"called 'Avenida Ipirangua'; .*; did you mean 'Avenida Ipiranga'"),
        ({"streets": ["Avenida Ipiranga", "Hauptstraße"]}, "no street called 'Hauptstraße'"),
        ({"streets": "Avenida Ipiranga", "near": PLACE, "distance": 10}, r"no part of '.*' is within 10 m of"),
        ({"near": PLACE[::-1], "distance": 100}, r"Points are \(longitude, latitude\), and exchanged"),
        ({"near": PLACE}, "CloseStreets needs both near and distance, in metres, or neither"),
        ({"streets": "Avenida Ipiranga", "distance": 10}, "CloseStreets needs both near and distance"),
        ({"near": "here", "distance": 10}, r"near must be a list of Points or \(lng, lat\) pairs; got str 'here'"),
        ({"near": [1, 2, 3], "distance": 10}, "near must be Points"),
        ({"near": ("a", "b"), "distance": 10}, "lng must be"),
        ({"near": (200.0, 0.0), "distance": 10}, "lng must be from -180 to 180"),
        ({"near": shapely.box(0, 0, 1, 1), "distance": 10}, "near must be"),
        ({"near": gpd.GeoSeries.from_xy([1.0], [2.0]), "distance": 10}, "near has no CRS"),
        ({"near": PLACE, "distance": 0}, r"distance must be from 0\.1 to 50000 metres; got 0"),
        ({"streets": "Avenida Ipiranga", "beside": -1}, "beside must be from 0 to 200 metres; got -1"),
        ({"streets": ""}, "streets has an empty name"),
        ({"streets": 7}, "streets must be a list of texts"),
        ({"beside": 10}, "needs at least one of polygon, ways, edges, streets and near"),
        ({}, "needs at least one of polygon, ways, edges, streets and near"),
    ],
)  # fmt: skip
def test_errors(porto_alegre: tl.Network, how: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.TravelTimeError, match=message):
        porto_alegre.with_changes(tl.CloseStreets(**how))


def test_across_the_180th_meridian() -> None:
    network = worlds.world({"a": (0.0, 0.0), "b": (300.0, 0.0), "c": (0.0, 15.0), "d": (300.0, 15.0)}, ["ab", "cd"])
    tables = network.tables
    moved = {
        name: (getattr(tables, name) - tables.node_lng.mean() + 360.0) % 360.0 - 180.0
        for name in ("node_lng", "coord_lng")
    }
    far = tl.build_network(
        replace(tables, **{k: (v + 360.0) % 360.0 - 180.0 for k, v in moved.items()}), timezone="UTC"
    )
    middle = (180.0, float(tables.node_lat[0]))
    assert closed(far, tl.CloseStreets(near=middle, distance=10)) == {0}
