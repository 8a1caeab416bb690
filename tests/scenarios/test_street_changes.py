"""Changes of streets: close, reopen, slow down and add; what a closure cannot improve, and what has no way out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import towns, worlds
from tests.support.combinations import first_of
from traveltime_lab.network.network import Network
from traveltime_lab.streets.tables import check_consistent

MODES = ("walking", "cycling", "driving")


def seconds(network: Network, points: Any, mode: str = "walking", **how: Any) -> np.ndarray:
    """Return travel times between all points, infinite where there is no way."""
    found = tl.time_filter(network, points, points, travel_time=7200, transportation=mode, form="matrix", **how)
    return found.astype("float64").fillna(np.inf).to_numpy()


def box(west: float, south: float, east: float, north: float) -> shapely.Polygon:
    """Return a box in metres as a polygon in EPSG:4326."""
    return shapely.transform(
        shapely.box(west, south, east, north), lambda at: np.column_stack(worlds.FRAME.to_lnglat(at[:, 0], at[:, 1]))
    )


def line(*places: tuple[float, float]) -> list[tuple[float, float]]:
    """Return places in metres as (lng, lat)."""
    return [
        tuple(float(v) for v in place)
        for place in zip(*worlds.FRAME.to_lnglat(*zip(*places, strict=True)), strict=True)
    ]


@pytest.fixture
def ladder() -> Network:
    """Two streets of 900 m with four rungs of 300 m between them; a metre is a fifth of a second."""
    nodes = {(i, j): (300.0 * i, 300.0 * j) for i in range(4) for j in range(2)}
    streets = [((i, j), (i + 1, j)) for i in range(3) for j in range(2)] + [((i, 0), (i, 1)) for i in range(4)]
    return worlds.world(nodes, streets)


PLACES = worlds.at((0.0, 0.0), (900.0, 0.0), (450.0, 0.0), (450.0, 300.0))


def test_closed_streets(ladder: Network) -> None:
    before = seconds(ladder, PLACES)
    assert before[0, 1] == 180 and before[0, 2] == 90
    closed = ladder.with_changes([tl.CloseStreets(box(400, -50, 500, 50), modes="walking", name="works")])
    assert closed.report()["changes"] == {"1. CloseStreets 'works'": "1 edge, 0.30 km, closed to walking"}
    after = seconds(closed, PLACES)
    assert after[0, 1] == 300 and np.isinf(after[0, 2]) and np.isinf(after[2, [0, 1, 3]]).all()
    assert (seconds(closed, PLACES, "cycling") == seconds(ladder, PLACES, "cycling")).all()
    assert (seconds(ladder, PLACES) == before).all()


def test_closed_ends_have_their_reason(ladder: Network) -> None:
    closed = ladder.with_changes([tl.CloseStreets(box(400, -50, 500, 50))])
    found = tl.time_filter(closed, PLACES.iloc[[2]], PLACES.iloc[[0]], travel_time=3600, transportation="walking")
    assert found["reason"].tolist() == ["origin_street_closed"]
    found = tl.time_filter(closed, PLACES.iloc[[0]], PLACES.iloc[[2]], travel_time=3600, transportation="driving")
    assert found["reason"].tolist() == ["destination_street_closed"]
    area = tl.time_map(closed, PLACES.iloc[[2]], travel_time=600, transportation="walking")
    assert area["reason"].tolist() == ["origin_street_closed"]
    assert area.to_crs(closed.crs).area.iloc[0] < 200
    reach = tl.accessibility(closed, PLACES.iloc[[2, 0]], PLACES, travel_time=600, transportation="walking")
    assert reach["reason"].tolist()[0] == "origin_street_closed" and reach["opportunities"].tolist() == [1.0, 3.0]
    why = tl.explain(closed, PLACES.iloc[[2]], PLACES.iloc[[0]], travel_time=600, transportation="walking")
    assert "A change of the network has closed the street at the origin" in str(why)


def test_reopened_streets(ladder: Network, tmp_path: Path) -> None:
    closed = ladder.with_changes([tl.CloseStreets(edges=[0, 3]), tl.CloseStreets(edges=[3, 4], modes="driving")])
    assert closed.fingerprint != ladder.fingerprint
    again = tl.load_network(closed.save(tmp_path / "x.network")).with_changes(tl.ReopenStreets(edges=[0, 3, 4]))
    assert again.fingerprint == ladder.fingerprint
    assert len(again.report()["changes"]) == 3
    # Nothing that is open is changed by reopening it, or by a speed that it has.
    for nothing in (tl.ReopenStreets(edges=[1]), tl.SetSpeed(edges=[1], factor=1), tl.SetSpeed(edges=[1], kph=18)):
        assert ladder.with_changes(nothing).fingerprint == ladder.fingerprint
    assert ladder.with_changes([]).fingerprint == ladder.fingerprint
    assert ladder.with_changes(tl.CloseStreets(box(5000, 5000, 5100, 5100))).fingerprint == ladder.fingerprint


def test_speeds(ladder: Network) -> None:
    way = int(ladder.tables.edge_way_id[0])
    slow = ladder.with_changes(tl.SetSpeed(ways=way, kph=1.8, modes="walking"))
    changed = slow.edges_frame().query("way_id == @way")
    assert (
        changed["walking_kph_forward"].tolist() == [pytest.approx(1.8)] and changed["cycling_kph_forward"].iloc[0] == 18
    )
    halved = ladder.with_changes(tl.SetSpeed(box(-100, -100, 1000, 1000), factor=0.5))
    assert (seconds(halved, PLACES) == 2 * seconds(ladder, PLACES)).all()


def test_a_mandatory_turn_still_holds() -> None:
    """A car that must turn right into a street that is closed cannot go straight on instead."""
    nodes = {"a": (0, 0), "b": (300, 0), "c": (600, 0), "r": (300, -300), "e": (600, -300)}
    world = worlds.tables(nodes, [("a", "b"), ("b", "c"), ("b", "r"), ("r", "e"), ("e", "c")])
    world = replace(
        world,
        restriction_only=np.array([True]),
        restriction_indptr=np.array([0, 2]),
        restriction_edges=np.array([0, 4], np.int32),
    )
    net = tl.build_network(world, timezone="UTC")
    places = worlds.at((100.0, 0.0), (500.0, 0.0))
    before = seconds(net, places, "driving")[0, 1]
    assert before > 200
    way = int(world.edge_way_id[2])
    assert np.isinf(seconds(net.with_changes(tl.CloseStreets(ways=way)), places, "driving")[0, 1])
    assert (seconds(net.with_changes(tl.CloseStreets(ways=way, modes="walking")), places, "driving")[0, 1]) == before


def test_added_streets(ladder: Network) -> None:
    short = tl.AddStreet(line((0, 0), (450, 300)), {"walking": 18}, name="Cut")
    added = ladder.with_changes(short)
    check_consistent(added.tables)
    # It crosses the first rung on its way, and is joined to it there.
    assert added.report()["changes"] == {"1. AddStreet 'Cut'": "0.54 km added, joined at 3 junctions"}
    assert added.n_edges == ladder.n_edges + 4
    assert seconds(added, PLACES)[0, 3] == pytest.approx(np.hypot(450, 300) / 5, abs=1)
    assert seconds(added, PLACES, "cycling")[0, 3] == seconds(ladder, PLACES, "cycling")[0, 3]
    corner = worlds.at((450.0, 300.0), (300.0, 0.0))
    assert seconds(added, corner)[0, 1] == pytest.approx((np.hypot(150, 100) + 200) / 5, abs=1)
    bridge = ladder.with_changes(tl.AddStreet(short.line, {"walking": 18}, joins="ends"))
    assert bridge.n_edges == ladder.n_edges + 2
    assert seconds(bridge, corner)[0, 1] == 90
    oneway = ladder.with_changes(tl.AddStreet(short.line, {"cycling": 18, "walking": 18}, oneway=True, joins="ends"))
    there, back = seconds(oneway, PLACES, "cycling")[[0, 3], [3, 0]]
    assert there == pytest.approx(108, abs=1) and back == 150
    assert seconds(oneway, PLACES)[3, 0] == pytest.approx(108, abs=1)
    # Edges are those of the network before, also after they were split.
    edge = int(shapely.distance(ladder.edges_frame().geometry.array, shapely.Point(line((300, 150))[0])).argmin())
    both = ladder.with_changes([short, tl.CloseStreets(edges=edge)])
    assert both.history.facts[1].startswith("2 edges, 0.30 km")
    # Closing what was added leaves what was there, but for the millisecond of a split street.
    way = int(added.tables.edge_way_id[-1])
    closed = added.with_changes(tl.CloseStreets(ways=way))
    places = worlds.at((0.0, 0.0), (900.0, 0.0), (900.0, 150.0))
    assert (seconds(closed, places) == seconds(ladder, places)).all()


def test_turn_restrictions_hold_on_split_streets() -> None:
    nodes = {"a": (0, 0), "b": (300, 0), "c": (600, 0), "s": (300, -300)}
    world = worlds.tables(nodes, [("a", "b"), ("b", "c"), ("s", "b")])
    world = replace(
        world,
        restriction_only=np.array([False]),
        restriction_indptr=np.array([0, 2]),
        restriction_edges=np.array([4, 2], np.int32),
    )
    net = tl.build_network(world, timezone="UTC")
    places = worlds.at((300.0, -250.0), (550.0, 0.0))
    # Around by the dead end at a.
    before = seconds(net, places, "driving")[0, 1]
    assert before > 130
    crossing = tl.AddStreet(line((200, -150), (450, -150), (450, 0)), {"walking": 5}, name="Path")
    changed = net.with_changes(crossing)
    assert seconds(changed, places, "driving")[0, 1] == pytest.approx(before, abs=10)
    assert changed.n_edges == 3 + 2 + 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: tl.CloseStreets(), "CloseStreets needs at least one of polygon, ways, edges, streets and near"),
        (lambda: tl.CloseStreets(shapely.Polygon()), "polygon is empty; give a polygon with an area"),
        (lambda: tl.CloseStreets(PLACES.iloc[:0]), "polygon is empty; give at least one shape"),
        (lambda: tl.CloseStreets(PLACES), "polygon must be a polygon in EPSG:4326, or a GeoDataFrame of polygons"),
        (lambda: tl.CloseStreets(shapely.box(500_000, 0, 600_000, 1)), "polygon must be in degrees of EPSG:4326"),
        (lambda: tl.CloseStreets(ways=[1]), "CloseStreets: the network has no OSM way 1"),
        (lambda: tl.CloseStreets(edges=[99], name="x"), "CloseStreets 'x': the network has no edge 99; edges are"),
        (lambda: tl.CloseStreets(edges=[1], modes="tram"), "modes must be among 'walking', 'cycling', 'driving'"),
        (lambda: tl.SetSpeed(edges=[1]), "SetSpeed needs either kph or factor"),
        (lambda: tl.SetSpeed(edges=[1], kph=0), "kph must be from 0.1 to 500 km/h; got 0"),
        (lambda: tl.SetSpeed(edges=[1], factor=100), "factor 100 makes 18 km/h 1800 km/h"),
        (lambda: tl.AddStreet(line((0, 0), (0, 0)), {"walking": 5}), "line is empty; give at least two positions"),
        (lambda: tl.AddStreet(line((0, 0), (50, 50)), {}), "speeds is empty; give at least one"),
        (lambda: tl.AddStreet(line((0, 0), (5000, 50)), {"walking": 5}), "the line leaves the bounds of the network"),
        (lambda: tl.AddStreet(line((100, 100), (200, 200)), {"walking": 5}), "joins no street on its way, the nearest"),
    ],
)  # fmt: skip
def test_errors(ladder: Network, change: Any, message: str) -> None:
    with pytest.raises(tl.InputError) as caught:
        ladder.with_changes([change()])
    assert message in str(caught.value)


SPOTS = worlds.at((0.0, 0.0), (190.0, 210.0), (420.0, 30.0), (100.0, 380.0), (610.0, 590.0))


def is_on_main(network: Network, mode: str, role: Any) -> np.ndarray:
    """
    Return which spots have their nearest street on the main network.

    Trips between two points of one island stay there, and take the main network once a change has divided the island,
    which may be the shorter way with a longer walk.
    """
    snaps = tl.snap(network, SPOTS, transportation=mode, role=role)
    return (snaps["snap_distance"] - snaps["nearest_distance"]).abs().lt(1e-6).to_numpy()


@settings(max_examples=60)
@given(worlds.towns(), st.data())
@pytest.mark.thorough
def test_closing_never_gains_and_reopening_restores(town: Network, data: Any) -> None:
    edges = data.draw(st.lists(st.integers(0, town.n_edges - 1), min_size=1, max_size=6))
    closed = town.with_changes(
        tl.CloseStreets(edges=edges, modes=data.draw(st.sets(st.sampled_from(MODES), min_size=1)))
    )
    slower = closed.with_changes(tl.SetSpeed(edges=edges, factor=0.5))
    for mode in MODES:
        how = {"departure_time": "2026-03-02T08:30"} if data.draw(st.booleans()) else {}
        times = [seconds(net, SPOTS, mode, **how) for net in (town, closed, slower)]
        main = is_on_main(town, mode, "origin")[:, None] & is_on_main(town, mode, "destination")
        assert (times[1] >= times[0])[main].all() and (times[2] >= times[1])[main].all()
    again = slower.with_changes([tl.SetSpeed(edges=edges, factor=2), tl.ReopenStreets(edges=edges)])
    assert again.fingerprint == town.fingerprint


@settings(max_examples=40)
@given(
    worlds.towns(),
    st.lists(st.tuples(st.integers(-30, 620), st.integers(-30, 620)), min_size=2, max_size=4, unique=True),
)
@pytest.mark.thorough
def test_adding_never_loses(town: Network, places: list[tuple[int, int]]) -> None:
    """On foot and by bicycle; cars have new junctions to turn at, and points near the street may move to it."""
    west, south, east, north = town.bounds
    spots = [(min(max(x, west), east), min(max(y, south), north)) for x, y in line(*places)]
    try:
        added = town.with_changes(tl.AddStreet(spots, {"walking": 18, "cycling": 18, "driving": 18}))
    except tl.InputError as error:
        assert any(text in str(error) for text in ("joins no street", "line is empty", "at one place of a street"))
        return
    check_consistent(added.tables)
    # A line of no length, as between two places of the same coordinates but for rounding, adds nothing.
    assert added.tables.edge_length_m.sum() >= town.tables.edge_length_m.sum() * (1.0 - 1e-12)
    for mode in ("walking", "cycling"):
        stays = np.ones(len(SPOTS), bool)
        for role in ("origin", "destination"):
            old, new = (tl.snap(net, SPOTS, transportation=mode, role=role).geometry.array for net in (town, added))
            stays &= shapely.distance(old, new) < 1e-7
            stays &= is_on_main(town, mode, role) & is_on_main(added, mode, role)
        if not stays.any():
            continue
        before, after = (seconds(net, SPOTS.iloc[stays], mode) for net in (town, added))
        assert (after <= before + 1).all()


def test_walks_to_and_between_stops_change_too(tmp_path: Path) -> None:
    net = towns.blocks(tmp_path)
    places = worlds.at((0.0, 0.0), (1500.0, 1500.0), (900.0, 900.0), (150.0, 600.0))
    how = {"departure_time": "2026-03-03T08:00:00", "mode": "public_transport"}
    before = seconds(net, places, **how)
    closed = net.with_changes(tl.CloseStreets(box(-50, 550, 200, 650), modes="walking"))
    after = seconds(closed, places, **how)
    assert (after >= before).all() and np.isinf(after[3, :3]).all() and after[0, 1] > before[0, 1]
    fewer = net.with_changes([tl.RemoveRoutes([f"R{i}" for i in range(20)])])
    assert (seconds(fewer, places, **how) >= before).all()
    # The streets are shared, the stops on them are not.
    assert (seconds(net, places, **how) == before).all()


def edges_that_differ(before: Network, after: Network) -> np.ndarray:
    """Return which edges have another access or another speed: the slow twin of the count in reports."""
    columns = [f"{mode}_{what}" for mode in MODES for what in ("access", "kph_forward", "kph_backward")]
    a, b = (each.edges_frame()[columns].to_numpy(np.float64) for each in (before, after))
    return np.asarray((a != b).any(axis=1))


def fact_of(before: Network, is_other: np.ndarray) -> str:
    """Return how the report counts some edges."""
    n, km = int(is_other.sum()), float(before.edges_frame()["length_m"][is_other].sum() / 1000)
    return f"{n:,} edge{'' if n == 1 else 's'}, {km:,.2f} km, "


@pytest.mark.parametrize(
    "which", first_of(2, ["last row", "near", "first row", "everything"], mark=pytest.mark.thorough)
)
def test_reports_count_the_edges_that_differ(helsinki: Network, which: str) -> None:
    """Rows of uses are renumbered, so that the numbers of edges before and after cannot be compared."""
    tables = helsinki.tables
    if which.endswith("row"):
        row = len(tables.uses) - 1 if which == "last row" else 0
        chosen: dict[str, Any] = {"ways": np.unique(tables.edge_way_id[tables.edge_use == row]).tolist()}
    else:
        chosen = {"near": (24.9414, 60.1711), "distance": 1500 if which == "near" else 50_000}
    closed = helsinki.with_changes(tl.CloseStreets(**chosen))
    reopened = closed.with_changes(tl.ReopenStreets(**chosen))
    slow = helsinki.with_changes(tl.SetSpeed(**chosen, factor=0.5))
    again = slow.with_changes(tl.SetSpeed(**chosen, factor=0.25))
    for before, after in ((helsinki, closed), (closed, reopened), (helsinki, slow), (slow, again)):
        is_other = edges_that_differ(before, after)
        assert is_other.any()
        assert after.history.facts[-1].startswith(fact_of(before, is_other)), after.history.facts[-1]


def test_reports_count_the_edges_beside_that_differ(helsinki: Network) -> None:
    def names(beside: float) -> tl.CloseStreets:
        return tl.CloseStreets(streets="Pitkäsilta", beside=beside)

    alone, wide = (helsinki.with_changes(names(metres)) for metres in (0, 30))
    more = edges_that_differ(alone, wide)
    assert more.any()
    assert f"; {fact_of(helsinki, more)}of them beside the others" in wide.history.facts[-1]


def test_equal_rows_of_uses_are_no_difference(ladder: Network) -> None:
    tables = ladder.tables
    last = int(tables.edge_use[0])
    twice = replace(
        tables,
        uses=tables.uses.iloc[[*range(len(tables.uses)), last]].reset_index(drop=True),
        edge_use=np.where(np.arange(tables.edge_use.size) == 3, len(tables.uses), tables.edge_use).astype(np.int32),
    )
    network = tl.build_network(twice, timezone="UTC")
    same = network.with_changes(tl.SetSpeed(edges=[0, 3], factor=1))
    assert same.history.facts[-1].startswith("0 edges, 0.00 km, ")
    assert same.fingerprint == network.fingerprint
