"""What the changes of a scenario say is the scenario, in however many steps it was made and wherever they were kept."""

from __future__ import annotations

import functools
import json
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import worlds
from tests.support.towns import clock, timetable
from traveltime_lab.network.network import Network
from traveltime_lab.scenarios.apply import KINDS
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.edge_names import NEAR_M, EdgeName, edges_of, named
from traveltime_lab.scenarios.file import from_json, to_json
from traveltime_lab.streets.tables import StreetTables, check_consistent
from traveltime_lab.transit.timetable import ServiceWarning

MODES = ("walking", "cycling", "driving")
#: Corners of the drawn towns, in metres.
SIDE = 600
SPOTS = worlds.at((0.0, 0.0), (190.0, 210.0), (420.0, 30.0), (100.0, 380.0), (600.0, 590.0))
STOP_PLACES = {"a": (0.0, 10.0), "b": (200.0, 0.0), "c": (390.0, 210.0), "d": (20.0, 400.0)}
#: The station of d, and its entrance.
STATION_PLACES = {"station": (25.0, 405.0), "entrance": (110.0, 385.0)}


@functools.cache
def bus() -> Path:
    """Two routes in both directions, one of them without direction_id, a trip that is repeated, and two calendars."""
    folder = Path(tempfile.mkdtemp())
    calls = [[("a", 0), ("b", 90), ("c", 200)], [("c", 30), ("b", 140), ("a", 260)], [("a", 60), ("b", 150)]]
    trips = [[(stop, 25_200 + 900 * k + later) for stop, later in each] for k in range(6) for each in calls]
    trips += [[("d", 28_000 + 1200 * k), ("a", 28_100 + 1200 * k)] for k in range(4)]
    rows = ["route_id,service_id,trip_id,direction_id"]
    rows += [f"R,{'daily' if i % 5 else 'school'},t{i}," for i in range(18)]
    rows += [f"S,daily,t{i},{i % 2}" for i in range(18, 22)]
    days = """
        service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
        daily,1,1,1,1,1,1,1,20260302,20260331
        school,1,1,1,0,0,0,0,20260302,20260320
    """
    places = STOP_PLACES | STATION_PLACES
    lng, lat = worlds.FRAME.to_lnglat(*zip(*places.values(), strict=True))
    kinds = {"station": "1,", "entrance": "2,station", "d": "0,station"}
    spots = zip(places, lng, lat, strict=True)
    stops = [f"{name},{name},{y:.7f},{x:.7f},{kinds.get(name, ',')}" for name, x, y in spots]
    ways = "pathway_id,from_stop_id,to_stop_id,pathway_mode,is_bidirectional,traversal_time"
    return timetable(
        folder, STOP_PLACES, trips, trips="\n".join(rows), calendar=days,
        stops="\n".join(["stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station", *stops]),
        pathways=f"{ways}\nstairs,entrance,d,2,1,20\nlift,entrance,d,5,1,60",
        routes="route_id,route_short_name,route_type\nR,1,3\nS,2,0",
        frequencies="trip_id,start_time,end_time,headway_secs\nt18,06:00:00,09:00:00,1800",
    )  # fmt: skip


@st.composite
def street_tables(draw: st.DrawFn) -> StreetTables:
    """Random streets; some with ids that are negative, are shared, or repeat, and with edges that are there twice."""
    tables = draw(worlds.towns()).tables
    n = tables.edge_from.size
    ways = draw(st.sampled_from([tables.edge_way_id, tables.edge_way_id // 3, np.full(n, 7), -1 - np.arange(n)]))
    nodes = draw(st.sampled_from([tables.node_osm_id, -1 - tables.node_osm_id, tables.node_osm_id // 2]))
    return replace(tables, edge_way_id=ways.astype(np.int64), node_osm_id=nodes.astype(np.int64))


@st.composite
def cities(draw: st.DrawFn) -> Network:
    """Random streets with a timetable."""
    return tl.build_network(draw(street_tables()), gtfs=bus(), timezone="UTC")


def _rows(draw: st.DrawFn, network: Network) -> dict[str, Any]:
    """Return edges, ways or a polygon; edges are those that a change before may have split or added, too."""
    n = network.n_edges
    row = st.one_of(st.integers(0, n - 1), st.integers(max(0, n - 4), n - 1))
    way = st.sampled_from(network.tables.edge_way_id.tolist())
    x, y, wide = draw(st.tuples(st.integers(0, SIDE), st.integers(0, SIDE), st.integers(1, 300)))
    corner, opposite = worlds.at((x, y), (x + wide, y + wide))
    how = st.fixed_dictionaries(
        {"edges": st.lists(row, min_size=1, max_size=4)},
        optional={
            "ways": st.lists(way, max_size=2),
            "polygon": st.just(shapely.box(corner.x, corner.y, opposite.x, opposite.y)),
            "modes": st.lists(st.sampled_from(MODES), min_size=1, unique=True),
        },
    )
    return dict(draw(how))


def _line(draw: st.DrawFn, network: Network) -> list[tuple[float, float]]:
    west, south, east, north = network.bounds
    spot = st.tuples(st.integers(-30, SIDE), st.integers(-30, SIDE))
    at = worlds.at(*draw(st.lists(spot, min_size=2, max_size=3, unique=True)))
    found = [(min(max(p.x, west), east), min(max(p.y, south), north)) for p in at]
    assume(len(set(found)) > 1)
    return found


def _stop(draw: st.DrawFn, network: Network) -> dict[str, Any]:
    ids = sorted(network.timetable.stops["stop_id"])
    node = draw(st.integers(0, network.n_nodes - 1))
    return {
        "stop_id": f"n{len(ids)}", "lng": float(network.tables.node_lng[node]),
        "lat": float(network.tables.node_lat[node]),
    }  # fmt: skip


def _hours(draw: st.DrawFn) -> dict[str, str]:
    start = draw(st.integers(18_000, 36_000))
    return {"start": clock(start), "end": clock(start + draw(st.integers(60, 12_000)))}


def _route(draw: st.DrawFn, network: Network) -> str:
    return str(draw(st.sampled_from(sorted(network.timetable.routes["route_id"]))))


def _stops(draw: st.DrawFn, network: Network, least: int) -> list[str]:
    return draw(
        st.lists(
            st.sampled_from(sorted({*network.timetable.stops["stop_id"]} - {*STATION_PLACES})),
            min_size=least,
            max_size=3,
            unique=True,
        )
    )


Maker = Callable[[st.DrawFn, Network], Change]
#: How to draw a change of each kind, of a network that may have had changes.
MAKERS: dict[str, Maker] = {
    "CloseStreets": lambda draw, net: tl.CloseStreets(**_rows(draw, net)),
    "ReopenStreets": lambda draw, net: tl.ReopenStreets(**_rows(draw, net)),
    "SetSpeed": lambda draw, net: tl.SetSpeed(**_rows(draw, net), factor=draw(st.sampled_from([0.5, 2.0, 1 / 3]))),
    "AddCycleTrack": lambda draw, net: tl.AddCycleTrack(
        **{name: value for name, value in _rows(draw, net).items() if name != "modes"},
        direction=draw(st.sampled_from(["both", "forward", "backward"])),
    ),
    "MakeStepFree": lambda draw, net: tl.MakeStepFree(
        **{name: value for name, value in _rows(draw, net).items() if name != "modes"}
    ),
    "AddStreet": lambda draw, net: tl.AddStreet(
        _line(draw, net), draw(st.fixed_dictionaries({"walking": st.just(5)}, optional={"driving": st.just(30)})),
        joins=draw(st.sampled_from(["crossings", "ends"])), name=draw(st.sampled_from(["", "New"])),
    ),
    "RemoveRoutes": lambda draw, net: tl.RemoveRoutes(_route(draw, net)),
    "RemoveStops": lambda draw, net: tl.RemoveStops(_stops(draw, net, 1)[:1]),
    "ClosePathway": lambda draw, net: tl.ClosePathway(
        draw(st.lists(st.sampled_from(["stairs", "lift"]), min_size=1, unique=True))
    ),
    "CloseElevator": lambda draw, net: tl.CloseElevator("lift"),
    "ScaleHeadway": lambda draw, net: tl.ScaleHeadway(_route(draw, net), draw(st.sampled_from([0.5, 0.7, 2]))),
    "SetHeadway": lambda draw, net: tl.SetHeadway(
        _route(draw, net), **_hours(draw), seconds=draw(st.integers(300, 4000))
    ),
    "ShiftTrips": lambda draw, net: tl.ShiftTrips(
        _route(draw, net), draw(st.integers(-900, 900)), **draw(st.sampled_from([{}, _hours(draw)]))
    ),
    "AddStop": lambda draw, net: tl.AddStop(**_stop(draw, net)),
    "AddLine": lambda draw, net: tl.AddLine(
        f"X{len(net.timetable.routes)}", _stops(draw, net, 2), **_hours(draw), headway=draw(st.integers(300, 4000)),
        speed=draw(st.sampled_from([20, 33.3])), days=draw(st.sampled_from(["sunday", ["monday", "friday"]])),
    ),
}  # fmt: skip


def test_every_kind_of_change_is_drawn() -> None:
    assert MAKERS.keys() == KINDS.keys()


@st.composite
def scenarios(draw: st.DrawFn, kinds: Sequence[str] = tuple(MAKERS)) -> tuple[Network, Network]:
    """Return a network, and one with changes in up to three steps, each of which refers to the network before it."""
    first = now = draw(cities())
    for _ in range(draw(st.integers(1, 3))):
        step = [MAKERS[kind](draw, now) for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))]
        try:
            now = now.with_changes(step)
        except tl.InputError as error:  # such as a new street that joins none, or two new stops of one name
            event(type(error).__name__)
    return first, now


def matrices(network: Network) -> list[pd.DataFrame]:
    """Return travel times by car, on foot, by timetable at a moment, and on the day of searches without one."""
    ways = [
        ("driving", None),
        ("walking", None),
        ("public_transport", "weekday_morning"),
        ("bus", "2026-03-03T07:10:00"),
    ]
    with warnings.catch_warnings(action="ignore", category=ServiceWarning):
        return [
            tl.time_filter(
                network, SPOTS, SPOTS, travel_time=7200, transportation=how, departure_time=when, form="matrix"
            )
            for how, when in ways
        ]


def assert_same(one: Network, other: Network, *, times: bool = False) -> None:
    """Check that two networks have the same tables, the same changes and the same answers."""
    for item in fields(StreetTables):
        values = [getattr(each.tables, item.name) for each in (one, other)]
        if isinstance(values[0], np.ndarray):
            np.testing.assert_array_equal(*values, err_msg=item.name)
    pd.testing.assert_frame_equal(one.tables.uses, other.tables.uses)
    assert one.tables.names == other.tables.names
    assert one.timetable.fingerprint == other.timetable.fingerprint
    assert one.fingerprint == other.fingerprint
    assert one.history == other.history
    if times:
        for a, b in zip(matrices(one), matrices(other), strict=True):
            pd.testing.assert_frame_equal(a, b)


def through_json(changes: Sequence[Change]) -> tuple[Change, ...]:
    return from_json(json.loads(json.dumps(to_json(changes))), "here")


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(scenarios(), st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_the_changes_of_a_scenario_are_the_scenario(drawn: tuple[Network, Network], random: Any) -> None:
    first, scenario = drawn
    assert_same(first.with_changes(scenario.changes), scenario, times=True)
    assert_same(first.with_changes(through_json(list(scenario.changes))), scenario)
    one_by_one = first
    for change in scenario.changes:
        try:
            one_by_one = one_by_one.with_changes(change)
        except tl.InputError as error:  # a stop that a later change of its step gives a street
            assert "nearest street" in str(error)
            return
    assert_same(one_by_one, scenario)
    # Any other division into steps gives it, too.
    cut = random.randint(0, len(scenario.changes))
    assert_same(first.with_changes(scenario.changes[:cut]).with_changes(scenario.changes[cut:]), scenario)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(drawn=scenarios())
@pytest.mark.thorough
def test_so_are_those_of_files_and_receipts(drawn: tuple[Network, Network]) -> None:
    first, scenario = drawn
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if scenario.changes:
            tl.save_changes(scenario.changes, folder / "x.json")
            assert_same(first.with_changes(tl.load_changes(folder / "x.json")), scenario)
        saved, base = (tl.load_network(each.save(folder / "x.network")) for each in (scenario, first))
        assert_same(saved, scenario)
        assert_same(base.with_changes(saved.changes), scenario)
    answer = tl.time_filter(scenario, SPOTS, SPOTS, travel_time=7200, transportation="walking")
    for network in (first, scenario):
        again = tl.replay(tl.receipt(answer), network)
        assert again.is_same and again.differences == ()


def uses_of(network: Network) -> pd.DataFrame:
    """Return who may use each edge and how fast, whatever the numbers of the rows of uses are."""
    return network.tables.uses.iloc[network.tables.edge_use].reset_index(drop=True)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(street_tables(), st.data())
@pytest.mark.thorough
def test_rows_are_those_of_the_network_however_many_streets_split_them(tables: StreetTables, data: Any) -> None:
    """The slow twin: what is closed before it is split is closed in all its parts."""
    network = tl.build_network(tables, timezone="UTC")
    added = []
    for _ in range(data.draw(st.integers(1, 3))):
        street = tl.AddStreet(_line(data.draw, network), {"walking": 5})
        try:
            network.with_changes([*added, street])
        except tl.InputError:
            continue
        added.append(street)
    assume(added)
    close = tl.CloseStreets(edges=data.draw(st.lists(st.integers(0, network.n_edges - 1), min_size=1, max_size=5)))
    before, after = network.with_changes([close, *added]), network.with_changes([*added, close])
    check_consistent(after.tables)
    pd.testing.assert_frame_equal(uses_of(before), uses_of(after))
    np.testing.assert_array_equal(before.tables.coord_lng, after.tables.coord_lng)
    # A name from before new streets means the same street after them, in one step or in several.
    kept = network.with_changes(close).changes
    assert_equal = [network.with_changes([*added, *kept]), network.with_changes(added).with_changes(kept)]
    assert {each.fingerprint for each in assert_equal} == {after.fingerprint}


@given(street_tables())
@pytest.mark.thorough
def test_each_edge_has_a_name_of_its_own(tables: StreetTables) -> None:
    every = named(tables, range(tables.edge_from.size))
    assert len(set(every)) == tables.edge_from.size
    for row, name in enumerate(every):
        assert edges_of(tables, [name], "x").tolist() == [row]
        assert EdgeName.of(json.loads(json.dumps(name)), "edges") == name


@pytest.fixture
def street() -> Network:
    """Three edges of one way from west to east, with OSM ids."""
    nodes = {10 + i: (300.0 * i, 0.0) for i in range(4)} | {20: (450.0, 300.0), 21: (450.0, -300.0)}
    ways = {(10, 11): 5, (11, 12): 5, (12, 13): 5, (12, 20): 6, (12, 21): 6}
    drawn = worlds.tables(nodes, [(*ends, {"way_id": way}) for ends, way in ways.items()])
    return tl.build_network(replace(drawn, node_osm_id=np.array(list(nodes))), timezone="UTC")


def row(network: Network, start: int, end: int) -> int:
    """Return the row of the edge from one OSM node to another."""
    t = network.tables
    return int(np.flatnonzero((t.node_osm_id[t.edge_from] == start) & (t.node_osm_id[t.edge_to] == end))[0])


def line(*places: tuple[float, float]) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in worlds.at(*places)]


def test_what_is_kept_names_edges(street: Network) -> None:
    closed = street.with_changes(tl.CloseStreets(edges=[row(street, 11, 12)]))
    (name,) = closed.changes[0].edges
    assert name[:4] == (5, 11, 12, 0)
    assert (name.lng, name.lat) == pytest.approx(line((450.0, 0.0))[0], abs=1e-6)
    assert to_json(closed.changes) == [{"change": "CloseStreets", "edges": (name,)}]
    # The same street, on streets that were built anew without the first one.
    edges = street.edges_frame().drop(index=row(street, 10, 11)).reset_index(drop=True)
    edges.attrs = {}
    with pytest.warns(UserWarning, match="without turn restrictions"):
        anew = tl.build_network((street.nodes_frame(), edges), timezone="UTC")
    again = anew.with_changes(closed.changes)
    assert row(anew, 11, 12) != row(street, 11, 12)
    is_closed = again.edges_frame()["driving_access"] != anew.edges_frame()["driving_access"]
    assert np.flatnonzero(is_closed).tolist() == [row(anew, 11, 12)]


def test_a_street_that_is_not_there_is_not_closed(street: Network) -> None:
    cut = tl.AddStreet(line((450.0, -100.0), (450.0, 100.0)), {"walking": 5})
    other = tl.AddStreet(line((100.0, 0.0), (250.0, 100.0), (440.0, 0.0)), {"walking": 5})
    added = street.with_changes(cut)
    closed = added.with_changes(tl.CloseStreets(edges=[added.n_edges - 1, added.n_edges - 2, 1]))
    assert_message = "CloseStreets: the network has no edge of way"
    for wrong in (street, street.with_changes(other)):
        with pytest.raises(tl.InputError, match=assert_message):
            wrong.with_changes(closed.changes[1:])
    # Ids of new streets are counted, so that those of different streets may be equal; their places are not.
    way = closed.changes[1].edges[0]
    assert way.way == -1 and way.from_node < 0
    elsewhere = street.with_changes(tl.AddStreet(line((750.0, -100.0), (750.0, 100.0)), {"walking": 5}))
    rows = elsewhere.tables.edge_way_id == way.way
    assert (way.from_node, way.to_node) in {
        (int(a), int(b))
        for a, b in elsewhere.tables.node_osm_id[
            np.column_stack([elsewhere.tables.edge_from, elsewhere.tables.edge_to])[rows]
        ]
    }
    with pytest.raises(tl.InputError, match=assert_message):
        elsewhere.with_changes(tl.CloseStreets(edges=way))
    near = way._replace(lng=way.lng + (NEAR_M - 1) / 111_000)
    assert added.with_changes(tl.CloseStreets(edges=near)).fingerprint == (
        added.with_changes(tl.CloseStreets(edges=way)).fingerprint
    )


@pytest.mark.parametrize(
    "wrong", [[[5, 11, 12]], [[5, 11, 12, 0, 0.5]], [[5, 11, 12, -1, 0.5, 0.5]], [[5, 11, 12.5, 0, 0.5, 0.5]],
              [[5, 11, 12, 0, None, 0.5]], [[5, 11, 12, 0, float("nan"), 0.5]], [[True, 11, 12, 0, 0.5, 0.5]]],
)  # fmt: skip
def test_names_that_are_none(wrong: Any) -> None:
    with pytest.raises(tl.InputError, match="each of edges must be a row number, or a name: way, from_node"):
        tl.CloseStreets(edges=wrong)


def test_files_from_before_names_are_read(street: Network, tmp_path: Path) -> None:
    """Their rows are those of the network that the changes are applied to."""
    content = {
        "format": "traveltime_lab.changes", "version": 1,
        "changes": [{"change": "CloseStreets", "edges": [1]}, {"change": "SetSpeed", "edges": [2], "kph": 5.0}],
    }  # fmt: skip
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    changes = tl.load_changes(tmp_path / "x.json")
    assert changes[0].edges == (1,)
    scenario = street.with_changes(changes)
    receipt = tl.receipt(tl.snap(scenario, SPOTS))
    receipt["network"]["changes"] = content["changes"]
    again = tl.replay(receipt, street)
    assert again.is_same and not again.differences
