"""Levels of traffic stress: of tags, of crossings, in tables and files, and in searches; each rule on a drawn world."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.oracle_stress import StressOracle
from tests.support.worlds import FRAME, tables, world
from traveltime_lab.errors import InputError, LimitError, ModeError
from traveltime_lab.readers.osm.stress import KEYS, by_side_of_traffic, codes
from traveltime_lab.readers.osm.tags import node_flags
from traveltime_lab.streets import stress
from traveltime_lab.streets.tables import NODE_CROSSING, NODE_CROSSING_SIGNALS, NODE_REFUGE, NODE_SIGNALS

LANE = "cycleway:both=lane"


def levels(text: str, **options: bool) -> tuple[int, int]:
    """Return the levels of tags in both directions."""
    tags = dict(pair.split("=", 1) for pair in text.split())
    forward, backward = codes(tags, **options)
    return forward & 7, backward & 7


# Tags -----------------------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        # No motor traffic.
        *((f"highway={kind}", 1, 1) for kind in ("cycleway", "path", "footway", "pedestrian", "track", "steps")),
        ("highway=primary motor_vehicle=no", 1, 1),
        ("highway=residential access=no bus=yes maxspeed=50", 2, 2),
        ("route=ferry", 1, 1),
        # Table 1: in mixed traffic. Residential streets have 750 vehicles a day or fewer, and no centre line.
        ("highway=residential", 1, 1),
        ("highway=residential maxspeed=30", 1, 1),
        ("highway=residential maxspeed=50", 2, 2),
        ("highway=residential maxspeed=60", 2, 2),
        ("highway=residential maxspeed=70", 3, 3),
        ("highway=residential maxspeed=90", 3, 3),
        ("highway=residential maxspeed=30 lanes=4", 3, 3),
        ("highway=residential maxspeed:backward=70 maxspeed=30", 1, 3),
        ("highway=living_street", 1, 1),
        ("highway=service", 1, 1),
        ("highway=unclassified", 2, 2),
        ("highway=unclassified maxspeed=30", 1, 1),
        ("highway=unclassified maxspeed=30 lanes=2", 2, 2),
        ("highway=unclassified maxspeed=60", 3, 3),
        ("highway=tertiary", 3, 3),
        ("highway=tertiary maxspeed=30", 2, 2),
        ("highway=tertiary maxspeed=30 lane_markings=no", 2, 2),
        ("highway=tertiary maxspeed=70", 4, 4),
        ("highway=tertiary maxspeed=30 lanes=4", 3, 3),
        ("highway=tertiary maxspeed=40 lanes=4 lanes:forward=3 lanes:backward=1", 3, 3),
        ("highway=tertiary maxspeed=60 lanes:forward=3 lanes:backward=1", 4, 3),
        ("highway=secondary", 3, 3),
        ("highway=secondary_link maxspeed=30", 2, 2),
        ("highway=primary", 4, 4),
        ("highway=primary maxspeed=50", 4, 4),
        ("highway=primary maxspeed=50 lanes=2", 3, 3),
        ("highway=primary maxspeed=40 lanes=4", 3, 3),
        ("highway=primary maxspeed=50 lanes=6", 4, 4),
        ("highway=trunk", 4, 4),
        ("highway=motorway", 4, 4),
        ("highway=tertiary maxspeed=signals lanes=2", 3, 3),
        ("highway=residential maxspeed=DE:zone:30", 1, 1),
        ("highway=residential source:maxspeed=IT:urban", 2, 2),
        ("highway=tertiary maxspeed=none", 4, 4),
        ("highway=tertiary maxspeed=30 lanes=two", 2, 2),
        ("highway=tertiary maxspeed=30 lanes=2;4", 3, 3),
        ("highway=tertiary maxspeed=30 lanes=3", 3, 3),  # the larger half
        ("highway=tertiary maxspeed=30 oneway=yes lanes=1", 2, 2),
        # Through traffic is kept out.
        ("highway=tertiary maxspeed=30 motor_vehicle=destination", 1, 1),
        ("highway=unclassified bicycle_road=yes maxspeed=30 lanes=2", 1, 1),
        # Tracks.
        ("highway=primary cycleway=track", 1, 1),
        ("highway=primary cycleway:right=track", 1, 4),
        ("highway=primary cycleway:right=track cycleway:right:oneway=no", 1, 1),
        ("highway=primary cycleway:left=track", 4, 1),
        ("highway=primary cycleway:both=lane cycleway:both:separation:left=bollard", 1, 1),
        ("highway=primary cycleway=separate", 4, 4),
        ("highway=primary oneway=yes cycleway=track", 1, 4),
        ("highway=primary oneway=yes cycleway:left=track", 1, 4),
        ("highway=primary oneway=-1 cycleway:left=track", 4, 1),
        ("highway=primary oneway=yes cycleway:left=track cycleway:left:oneway=-1", 4, 1),
        ("highway=primary oneway=yes cycleway:left=opposite_track", 4, 1),
        ("highway=primary oneway=yes cycleway:left=track cycleway:left:oneway=no", 1, 1),
        # Table 2: lanes not beside parked cars.
        (f"highway=tertiary {LANE}", 2, 2),
        (f"highway=tertiary {LANE} cycleway:both:width=1.9", 1, 1),
        (f"highway=tertiary {LANE} maxspeed=60", 2, 2),
        (f"highway=tertiary {LANE} maxspeed=70", 3, 3),
        (f"highway=tertiary {LANE} maxspeed=80", 4, 4),
        (f"highway=primary {LANE} maxspeed=50", 2, 2),
        (f"highway=primary {LANE} maxspeed=75", 4, 4),
        (f"highway=primary {LANE} maxspeed=75 cycleway:both:width=2", 3, 3),
        (f"highway=primary {LANE} maxspeed=50 lanes=6", 3, 3),
        (f"highway=residential maxspeed=30 {LANE}", 1, 1),  # a lane does not make it worse
        ("highway=tertiary cycleway:right=lane", 2, 3),
        ("highway=tertiary cycleway=shared_lane", 3, 3),
        ("highway=tertiary cycleway:right=share_busway", 3, 3),
        ("highway=tertiary oneway=yes cycleway:left=lane cycleway:left:oneway=-1", 3, 2),
        # Table 3: lanes beside parked cars.
        (f"highway=tertiary {LANE} maxspeed=60 parking:both=lane", 3, 3),
        (f"highway=tertiary {LANE} maxspeed=60 parking:lane:right=parallel", 3, 2),
        (f"highway=tertiary {LANE} maxspeed=40 parking:both=lane cycleway:both:width=2.5", 1, 1),
        (f"highway=tertiary {LANE} parking:both=no_stopping", 2, 2),
        (f"highway=primary {LANE} parking:both=lane", 3, 3),
        # A level of one's own.
        ("highway=primary lts=2", 2, 2),
        ("highway=cycleway lts=3", 3, 3),
        ("highway=residential lts=9", 1, 1),
    ],
)  # fmt: skip
def test_levels_of_tags(text: str, forward: int, backward: int) -> None:
    assert levels(text) == (forward, backward)


@pytest.mark.quick
def test_lanes_are_on_the_side_of_the_traffic() -> None:
    text = "highway=primary cycleway:left=track"
    assert levels(text) == (4, 1)
    assert levels(text, is_left_hand=True) == (1, 4)
    tags = {"highway": "primary", "cycleway:left": "track"}
    both = np.array([[codes(tags, is_left_hand=left) for left in (False, True)]] * 3)
    # London, Milan and the open sea.
    found = by_side_of_traffic(both.astype(np.uint16), np.array([-0.12, 9.19, 0.5]), np.array([51.5, 45.46, 0.5]))
    assert (found & 7).tolist() == [1, 4, 4, 1, 4, 1]


VALUES = st.sampled_from(
    [
        *("yes", "no", "-1", "1", "2", "3", "4", "30", "50", "70 mph", "none", "track", "lane", "opposite_lane"),
        *("separate", "bollard", "parallel", "1.5", "2.5 m", "x;y", "destination", "primary", "residential"),
        *("cycleway", "²"),
    ]
)


@pytest.mark.quick
@given(st.dictionaries(st.sampled_from(sorted(KEYS)), VALUES, max_size=8), st.booleans())
def test_any_tags_give_levels_that_say_why(tags: dict[str, str], is_left_hand: bool) -> None:
    for code in codes(tags, is_left_hand=is_left_hand):
        assert 1 <= code & 7 <= 4
        known = stress.facts(code)
        assert stress.in_words(code)
        assert known.packed(code & 7) == code
        if known.kind != stress.GIVEN:
            assert known.level() == code & 7


@pytest.mark.quick
def test_reasons_in_words() -> None:
    words = [stress.in_words(codes(dict(pair.split("=") for pair in text.split()))[0], 3) for text in (
        "highway=primary", "highway=primary maxspeed=50 lanes=2", "highway=path", f"highway=tertiary {LANE} lanes=2",
        "highway=residential lts=4",
    )]  # fmt: skip
    assert words == [
        "with traffic of an arterial, 60 km/h (assumed), 2 lanes in the direction (assumed)",
        "with traffic of an arterial, 50 km/h, 1 lane in the direction",
        "no motor traffic, crossing of level 3 without signals at its end",
        "cycle lane, 50 km/h (assumed), 1 lane in the direction, crossing of level 3 without signals at its end",
        "as given",
    ]


@pytest.mark.quick
def test_crossings_for_cyclists_have_signals_and_refuges() -> None:
    for tags, more in (
        ({"crossing": "traffic_signals"}, NODE_CROSSING_SIGNALS), ({"crossing:signals": "yes"}, NODE_CROSSING_SIGNALS),
        ({"crossing": "island"}, NODE_REFUGE), ({"crossing:island": "yes"}, NODE_REFUGE), ({"crossing": "marked"}, 0),
    ):  # fmt: skip
        assert node_flags({"highway": "crossing", **tags}) == NODE_CROSSING | more
        assert node_flags(tags) == 0


# Crossings ------------------------------------------------------------------------------------------------------------

#: A path from south to north across a street from west to east.
PLACES = {"w": (-500, 0), "c": (0, 0), "e": (500, 0), "s": (0, -500), "n": (0, 500)}


def cross(major: str, minor: str = "highway=cycleway", flags: int = 0) -> tl.Network:
    """Return a world in which a minor street crosses a major one, in the middle."""
    tags = [dict(pair.split("=", 1) for pair in text.split()) for text in (major, minor)]
    drawn = tables(PLACES, [("w", "c", tags[0]), ("c", "e", tags[0]), ("s", "c", tags[1]), ("c", "n", tags[1])])
    middle = int(np.flatnonzero(np.bincount(np.concatenate([drawn.edge_from, drawn.edge_to])) == 4)[0])
    drawn.node_flags[middle] |= flags
    return tl.build_network(drawn, timezone="UTC")


def crossings(network: tl.Network) -> dict[int, tuple[int, int]]:
    """Return the levels of the crossings at the ends of each street, by way."""
    edges = network.edges_frame().set_index("way_id")
    pairs = edges[["crossing_stress_forward", "crossing_stress_backward"]].to_numpy().tolist()
    return {way: tuple(pair) for way, pair in zip(edges.index, pairs, strict=True)}


@pytest.mark.parametrize(
    ("major", "flags", "level"),
    [
        # Table 7 of the report: speed and lanes of the street that is crossed.
        *((f"highway=primary maxspeed={kph} lanes={lanes}", 0, level) for kph, row in (
            (30, (1, 1, 2, 2, 4)), (40, (1, 1, 2, 2, 4)), (50, (1, 1, 2, 2, 4)), (60, (2, 2, 3, 3, 4)),
            (70, (3, 3, 4, 4, 4)), (90, (3, 3, 4, 4, 4)),
        ) for lanes, level in zip((2, 3, 4, 5, 6), row, strict=True)),
        # Table 8: with a refuge.
        *((f"highway=primary maxspeed={kph} lanes={lanes}", NODE_REFUGE, level) for kph, row in (
            (40, (1, 1, 2)), (50, (1, 2, 3)), (60, (2, 3, 4)), (70, (3, 4, 4)),
        ) for lanes, level in zip((2, 4, 6), row, strict=True)),
        ("highway=primary maxspeed=90 lanes=6", NODE_SIGNALS, 0),
        ("highway=primary maxspeed=90 lanes=6", NODE_CROSSING_SIGNALS, 0),
        ("highway=primary maxspeed=90 lanes=6 motor_vehicle=no", 0, 0),
        ("highway=primary maxspeed=90 lanes=6 junction=roundabout", 0, 0),
        ("highway=primary maxspeed=60 cycleway=track", 0, 3),  # four lanes, assumed
        ("highway=footway", 0, 0),
    ],
)  # fmt: skip
def test_crossings_follow_the_tables(major: str, flags: int, level: int) -> None:
    found = crossings(cross(major, flags=flags))
    assert found == {100: (0, 0), 101: (0, 0), 102: (level, 0), 103: (0, level)}


def test_only_those_who_give_way_cross() -> None:
    fast = "highway=tertiary maxspeed=70 lanes=4"
    assert crossings(cross(fast, "highway=residential"))[102] == (4, 0)
    assert crossings(cross(fast, "highway=tertiary maxspeed=30"))[102] == (0, 0)
    assert crossings(cross(fast, "highway=secondary"))[102] == (0, 0)
    assert crossings(cross(fast, "highway=secondary"))[100] == (2, 0)  # 60 km/h and two lanes, assumed


@pytest.mark.slow
def test_streets_of_other_classes_are_crossed_both_ways() -> None:
    """Where a street changes its class at the crossing, both of its parts give way."""
    fast = {"highway": "primary", "maxspeed": "60", "lanes": "6"}
    for north in ("residential", "unclassified", "living_street", "service", "busway", "cycleway"):
        streets = [("w", "c", fast), ("c", "e", fast), ("s", "c"), ("c", "n", {"highway": north})]
        found = crossings(world(PLACES, streets))
        assert found == {100: (0, 0), 101: (0, 0), 102: (4, 0), 103: (0, 4)}, north


@pytest.mark.slow
def test_only_what_is_on_the_other_side_is_beyond() -> None:
    """Neither a doubled street nor a driveway beside it, but any of them if it is across."""
    fast = {"highway": "primary", "maxspeed": "60", "lanes": "6"}
    places = PLACES | {"y": (300, -400), "z": (300, 400), "x": (-20, -250)}
    for streets, is_crossed in (
        ([("s", "c")], False), ([("s", "c"), ("s", "c")], False), ([("s", "c"), ("y", "c")], False),
        ([("s", "c"), ("s", "x"), ("x", "c")], False), ([("s", "c"), ("z", "c")], True),
        ([("s", "c"), ("y", "c"), ("c", "n")], True),
    ):  # fmt: skip
        used = {place for each in streets for place in each} | set("wce")
        found = crossings(world({at: places[at] for at in used}, [("w", "c", fast), ("c", "e", fast), *streets]))
        assert found[102] == (4 if is_crossed else 0, 0), streets
    # A street that begins at the junction, and one on either side of it.
    found = crossings(
        world({at: places[at] for at in "wcsn"}, [("w", "c", fast), ("w", "c", fast), ("s", "c"), ("c", "n")])
    )
    assert found[102] == (0, 0)


def test_nothing_is_crossed_at_the_end_of_a_street() -> None:
    """A street that ends at another, and one that begins where another ends."""
    fast = {"highway": "primary", "maxspeed": "90"}
    t = world({k: PLACES[k] for k in "wces"}, [("w", "c", fast), ("c", "e", fast), ("s", "c")])
    assert crossings(t)[102] == (0, 0)
    ends = world({k: PLACES[k] for k in "wcsn"}, [("w", "c", fast), ("s", "c"), ("c", "n")])
    assert crossings(ends)[101] == (0, 0)


@pytest.mark.parametrize(("metres", "level"), [(30, 0), (31, 4)])
def test_signals_near_a_crossing_hold_there(metres: int, level: int) -> None:
    fast = {"highway": "primary", "maxspeed": "90"}
    places = PLACES | {"stop": (metres, 0)}
    drawn = tables(places, [("w", "c", fast), ("c", "stop", fast), ("stop", "e", fast), ("s", "c"), ("c", "n")])
    x, _ = FRAME.to_xy(drawn.node_lng, drawn.node_lat)
    drawn.node_flags[int(np.abs(x - metres).argmin())] |= NODE_SIGNALS
    # Lengths on the ellipsoid differ from those of the drawing.
    drawn.edge_length_m[:] = np.rint(drawn.edge_length_m)
    assert crossings(tl.build_network(drawn, timezone="UTC"))[103] == (level, 0)


@pytest.mark.thorough
def test_levels_equal_those_of_the_twin(porto_alegre: tl.Network, helsinki: tl.Network) -> None:
    for network in (porto_alegre, helsinki):
        twin = StressOracle(network.tables)
        found = stress.junction_levels(network.tables)
        assert found.tolist() == [twin.crossing(d) for d in range(found.size)]
        assert stress.street_levels(network.tables).tolist() == [twin.street(d) for d in range(found.size)]
        assert found.max() >= 3 or network is helsinki


# Tables and files -----------------------------------------------------------------------------------------------------


def test_columns_say_what_holds(tmp_path: Path) -> None:
    network = cross("highway=primary maxspeed=60 oneway=yes lanes=2", "highway=residential")
    edges = network.edges_frame().set_index("way_id")
    assert edges.loc[100, ["stress", "stress_forward", "stress_backward"]].tolist() == [4, 4, 0]
    assert edges.loc[102, ["stress", "stress_forward", "crossing_stress_forward"]].tolist() == [2, 1, 2]
    assert edges.loc[102, "stress_reason"].endswith("crossing of level 2 without signals at its end")
    assert {str(edges[name].dtype) for name in ("stress", "stress_forward", "crossing_stress_backward")} == {"uint8"}
    loaded = tl.load_network(network.save(tmp_path / "cross.network"))
    assert loaded.fingerprint == network.fingerprint
    np.testing.assert_array_equal(loaded.tables.edge_stress, network.tables.edge_stress)
    assert loaded.tables.edge_stress.dtype == np.uint16


@pytest.mark.slow
def test_tables_make_the_same_network_and_levels_may_be_changed() -> None:
    network = cross("highway=primary maxspeed=60", "highway=residential")
    nodes, edges = network.nodes_frame(), network.edges_frame()
    again = tl.build_network((nodes, edges))
    np.testing.assert_array_equal(again.tables.edge_stress, network.tables.edge_stress)
    assert again.edges_frame().filter(like="stress").equals(edges.filter(like="stress"))
    other = edges.copy()
    other.loc[other["way_id"] == 102, "stress_forward"] = 3
    changed = tl.build_network((nodes, other)).edges_frame().set_index("way_id")
    columns = ["stress", "stress_forward", "stress_backward", "crossing_stress_forward", "stress_reason"]
    assert changed.loc[102, columns].tolist() == [3, 3, 1, 0, "as given"]
    assert changed.loc[103, "crossing_stress_backward"] == 3
    for wrong in (5, 2.5, np.nan):
        other["stress_forward"] = other["stress_forward"].astype(float)
        other.loc[other["way_id"] == 102, "stress_forward"] = wrong
        with pytest.raises(InputError, match="stress_forward must have levels from 1 to 4"):
            tl.build_network((nodes, other))
    other.loc[other["way_id"] == 102, "stress_forward"] = 0  # nothing given
    assert tl.build_network((nodes, other)).tables.edge_stress.tolist() == network.tables.edge_stress.tolist()
    with pytest.raises(InputError, match="stress_code_backward is missing"):
        tl.build_network((nodes, edges.drop(columns="stress_code_backward")))
    for wrong in (-1, 65_536, 7, None, edges["stress_code_forward"] + 0.5):
        with pytest.raises(InputError, match="stress"):
            tl.build_network((nodes, edges.assign(stress_code_forward=wrong)))
    without = edges.drop(columns=[name for name in edges if "stress" in name])
    assert "stress" not in tl.build_network((nodes, without)).edges_frame()
    with pytest.raises(InputError, match="stress_forward needs stress_code_forward and stress_code_backward"):
        tl.build_network((nodes, without.assign(stress_forward=2)))


def test_tables_without_classes_have_no_levels() -> None:
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy([0.5, 0.501], [0.5, 0.5]), index=[1, 2], crs=4326)
    edges = gpd.GeoDataFrame({"u": [1], "v": [2], "cycling_kph": [15.0]})
    network = tl.build_network((points, edges), timezone="UTC")
    assert "stress" not in network.edges_frame()
    assert "stress" not in network.report()["modes"]["cycling"]
    for call in (
        lambda: tl.time_map(network, points.geometry, travel_time=60,
                            transportation={"type": "cycling", "max_stress": 2}),
        lambda: network.stress_islands(),
        lambda: network.prepare(tl.Transportation("cycling", max_stress=3)),
    ):  # fmt: skip
        with pytest.raises(ModeError, match="max_stress needs levels of traffic stress"):
            call()
    tl.time_map(network, points.geometry, travel_time=60, transportation={"type": "cycling", "max_stress": 4})
    with pytest.raises(InputError, match="needs levels of traffic stress"):
        network.with_changes(tl.AddCycleTrack(edges=0))


def test_osmnx_graphs_have_levels() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph(crs="EPSG:4326", created_with="OSMnx 2")
    for node, lng in ((1, 0.5), (2, 0.501), (3, 0.502)):
        graph.add_node(node, x=lng, y=0.5)
    for u, v, way, tags in (
        (1, 2, 7, {"highway": "primary", "lanes": ["2", "4"], "maxspeed": "50"}), (2, 3, 8, {"highway": "residential"}),
    ):  # fmt: skip
        for back, (a, b) in enumerate(((u, v), (v, u))):
            graph.add_edge(a, b, osmid=way, oneway=False, reversed=bool(back), **tags)
    edges = tl.build_network(graph, timezone="UTC").edges_frame().set_index("way_id")
    # Of several values of a tag, that of the highest level counts.
    assert edges["stress"].to_dict() == {7: 4, 8: 1}


# Searches -------------------------------------------------------------------------------------------------------------


def minutes(
    network: tl.Network, start: tuple[float, float], end: tuple[float, float], most: int | None, **more: Any
) -> float:
    """Return the time of a ride between two places in metres, in seconds; NaN if there is none."""
    here, there = (gpd.GeoSeries([shapely.Point(*FRAME.to_lnglat(*at))], crs=4326) for at in (start, end))
    means = {"type": "cycling", "max_stress": most, **more}
    found = tl.time_filter(network, here, there, travel_time=3600, transportation=means, form="matrix",
                           snapping={"threshold": 5})  # fmt: skip
    return float(found.to_numpy(float)[0, 0])


def test_streets_above_the_level_are_closed() -> None:
    """A short way along an arterial, and a long one around it."""
    places = {"a": (0, 0), "b": (1000, 0), "c": (1000, 800), "d": (0, 800)}
    network = world(places, [("a", "b", {"highway": "primary"}), ("b", "c"), ("c", "d"), ("d", "a")])
    for most, seconds in ((None, 200), (4, 200), (3, 520), (2, 520), (1, 520)):
        assert minutes(network, (0, 0), (1000, 0), most) == pytest.approx(seconds, abs=3)
    assert np.isnan(minutes(network, (500, 0), (1000, 0), 3))
    assert minutes(network, (500, 0), (1000, 0), 4) == pytest.approx(100, abs=2)


def test_a_crossing_above_the_level_is_not_passed_but_reached() -> None:
    busy, tracks = (
        cross("highway=tertiary maxspeed=70 lanes=4" + more, "highway=residential") for more in ("", " cycleway=track")
    )
    south, north, west = (0, -100), (0, 100), (-100, 0)
    for most in (None, 4):
        assert minutes(busy, south, north, most) == pytest.approx(40, abs=1)
    for most in (1, 2, 3):
        assert np.isnan(minutes(busy, south, north, most))
        assert np.isnan(minutes(busy, north, south, most))
        # Up to the crossing, and between both streets: neither is crossed.
        for network in (busy, tracks):
            assert minutes(network, (0, -300), (0, -5), most) == pytest.approx(59, abs=1)
        assert minutes(tracks, west, south, most) == pytest.approx(40, abs=1)
        assert minutes(tracks, south, west, most) == pytest.approx(40, abs=1)
        # Along the track, and back from its end.
        assert minutes(tracks, south, north, most) == pytest.approx(240, abs=1)
        assert len(tracks.stress_islands(most)) == 1
        assert len(busy.stress_islands(most)) == 2
    with_signals = cross("highway=tertiary maxspeed=70 lanes=4", "highway=residential", NODE_SIGNALS)
    assert minutes(with_signals, south, north, 1) > 40


@pytest.mark.thorough
def test_calm_streets_are_no_islands() -> None:
    """A point beside a calm street stays there, and no answer is faster, or lost, where more stress is accepted."""
    network = tl.sample_network()
    edges = network.edges_frame()
    middle = shapely.line_interpolate_point(edges.geometry.array, 0.41, normalized=True)
    is_calm = (edges["stress_forward"] == 1) & (edges["stress_backward"] == 1)
    points = gpd.GeoSeries(middle[is_calm], crs=4326).sample(400, random_state=7)
    means: dict[str, Any] = {most: tl.Transportation("cycling", max_stress=most) for most in (1, 2, 3, 4)}
    away = [tl.snap(network, points, transportation=each)["snap_distance"] for each in means.values()]
    assert all((each < 1).mean() > 0.9 for each in away)
    points = points[np.max(away, axis=0) < 1]
    means["pushed"] = tl.Transportation("cycling", max_stress=1, push_above_stress=True)
    found = {
        name: tl.time_filter(network, points.iloc[:25], points, travel_time=14_400, transportation=each,
                             form="matrix").to_numpy(float)
        for name, each in means.items()
    }  # fmt: skip
    for less, more in ((1, 2), (2, 3), (3, 4), (1, 4), (1, "pushed"), ("pushed", 4)):
        assert not (found[less] < found[more]).any()
        assert not (np.isfinite(found[less]) & np.isnan(found[more])).any()
    assert np.isnan(found[1]).sum() > np.isnan(found[2]).sum()


@pytest.mark.thorough
def test_closing_a_street_above_the_level_changes_nothing() -> None:
    """Points do not move to a street that is closed, and that could not be used before."""
    network = tl.sample_network()
    edges = network.edges_frame()
    busy = edges.index[(edges["stress_forward"] >= 3) & (edges["stress_backward"] >= 3)]
    beside = gpd.GeoSeries(
        shapely.line_interpolate_point(edges.geometry[busy[:200]].array, 0.5, normalized=True), crs=4326
    )
    ask = {"travel_time": 7200, "transportation": {"type": "cycling", "max_stress": 2}, "form": "matrix"}
    before = tl.time_filter(network, beside.iloc[:10], beside, **ask)
    for modes in (("cycling",), ("walking", "cycling", "driving")):
        closed = network.with_changes(tl.CloseStreets(edges=busy.tolist(), modes=modes))
        after = tl.time_filter(closed, beside.iloc[:10], beside, **ask)
        # Crossings of streets without cars are free.
        assert (after.notna() | before.isna()).all(axis=None)
        assert after.equals(before) or "driving" in modes


def test_exported_graphs_have_times_of_streets_up_to_barred_crossings() -> None:
    pytest.importorskip("networkx")
    network = cross("highway=tertiary maxspeed=70 lanes=4 cycleway=track", "highway=residential")
    for export in (network.to_networkx, network.to_osmnx):
        with pytest.warns(UserWarning, match="without the 2 crossings above max_stress"):
            graph = export({"type": "cycling", "max_stress": 2})
        times = [each for *_, each in graph.edges(data="travel_time")]
        assert len(times) == 8
        assert min(times) == 100


def test_graphs_for_osmnx_keep_levels() -> None:
    pytest.importorskip("networkx")
    network = cross("highway=tertiary maxspeed=70 lanes=4 cycleway:right=track", "highway=residential lts=2")
    again = tl.build_network(network.to_osmnx("cycling"), timezone="UTC")
    columns = ["way_id", "stress_forward", "stress_backward"]
    one, other = (each.edges_frame()[columns].sort_values("way_id").to_numpy().tolist() for each in (network, again))
    assert one == other == [[100, 1, 4], [101, 1, 4], [102, 2, 2], [103, 2, 2]]
    crossed = cross("highway=tertiary maxspeed=70 lanes=4", "highway=residential")
    assert [level for *_, level in crossed.to_osmnx("cycling").edges(data="lts")].count(1) == 2


def test_four_is_no_limit_and_shares_everything() -> None:
    network = cross("highway=primary", "highway=residential")
    graphs = {most: network.streets.road_graph(tl.Transportation("cycling", max_stress=most)) for most in (None, 4, 3)}
    assert graphs[None] is graphs[4]
    assert graphs[3] is not graphs[4]
    without = dataclasses.replace(network.tables, edge_stress=np.zeros(0, np.uint16))
    plain = tl.build_network(without, timezone="UTC")
    for mode in ("walking", "cycling", "driving"):
        one, other = (each.streets.road_graph(tl.Transportation(mode)) for each in (network, plain))
        for name in ("weights", "traversal", "entry_keys", "exit_keys"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_options_are_checked() -> None:
    assert tl.Transportation("cycling+public_transport", max_stress=2).access.max_stress == 2
    assert tl.Transportation("cycling+public_transport", max_stress=2).egress.max_stress is None
    for wrong, error in ((0, LimitError), (5, LimitError), (-1, LimitError), (1.5, ModeError), ("2", ModeError)):
        with pytest.raises(error, match="max_stress"):
            tl.Transportation("cycling", max_stress=wrong)
    for kind in ("walking", "driving", "public_transport"):
        with pytest.raises(ModeError, match="max_stress does not apply"):
            tl.Transportation(kind, max_stress=2)


def test_prepared_networks_keep_it(tmp_path: Path) -> None:
    network = cross("highway=primary", "highway=residential")
    calm = tl.Transportation("cycling", max_stress=2)
    network.prepare(calm)
    assert network.prepared == ("cycling (max_stress 2)",)
    loaded = tl.load_network(network.save(tmp_path / "calm.network"))
    assert loaded.prepared == network.prepared
    first, second = (each.streets.road_graph(calm) for each in (network, loaded))
    np.testing.assert_array_equal(first.weights, second.weights)


# Islands --------------------------------------------------------------------------------------------------------------


def test_islands_and_kilometres_by_hand() -> None:
    """Two calm quarters, of three streets and of one, on either side of an arterial that none crosses calmly."""
    places = PLACES | {"m": (400, 500), "o": (800, 500)}
    fast = {"highway": "primary", "maxspeed": "60"}
    network = world(places, [("w", "c", fast), ("c", "e", fast), ("s", "c"), ("c", "n"), ("n", "m"), ("m", "o")])
    facts: dict[str, Any] = network.report()["modes"]["cycling"]["stress"]
    assert facts["km_by_level"] == {"1": 0.8, "2": 0.0, "3": 1.0, "4": 1.0}  # 3: up to the crossing
    islands = network.stress_islands()
    assert facts["low_stress_islands"]["number"] == len(islands) == 2
    assert facts["low_stress_islands"]["largest_share"] == pytest.approx(1.3 / 1.8, abs=0.01)
    assert islands["edges"].tolist() == [3, 1]
    assert islands["km"].tolist() == pytest.approx([1.3, 0.5], abs=0.01)
    assert islands["share"].sum() == pytest.approx(1.0)
    assert islands.crs.to_epsg() == 4326
    for wrong, error in ((0, LimitError), (5, LimitError), ("low", ModeError)):
        with pytest.raises(error, match="max_stress"):
            network.stress_islands(wrong)


def test_bicycles_are_pushed_above_the_level_on_demand() -> None:
    """An arterial of 1000 m at 4 km/h on foot, or a detour; a crossing is passed, and a motorway is not walked."""
    places = {"a": (0, 0), "b": (1000, 0), "c": (1000, 800), "d": (0, 800), "e": (2000, 0), "f": (3000, 0)}
    busy = {"highway": "primary", "walking_kph": 5.0}
    streets = [
        ("a", "b", busy), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "e", busy),
        ("e", "f", {"highway": "primary", "walking_kph": 0.0}),
    ]  # fmt: skip
    network = world(places, streets)
    pushed = {"push_above_stress": True}
    assert minutes(network, (0, 0), (1000, 0), 2, **pushed) == pytest.approx(520, abs=3)  # 900 s on foot
    assert np.isnan(minutes(network, (0, 0), (2000, 0), 2))
    assert minutes(network, (0, 0), (2000, 0), 2, **pushed) == pytest.approx(520 + 900, abs=4)
    assert np.isnan(minutes(network, (2000, 0), (3000, 0), 2, **pushed))
    assert minutes(network, (2000, 0), (3000, 0), 4, **pushed) == pytest.approx(200, abs=3)
    crossing = cross("highway=tertiary maxspeed=70 lanes=4", "highway=residential")
    assert minutes(crossing, (0, -100), (0, 100), 1, **pushed) == pytest.approx(40, abs=1)
    with pytest.raises(ModeError, match="push_above_stress=True needs max_stress"):
        tl.Transportation("cycling", push_above_stress=True)
    with pytest.raises(ModeError, match="push_above_stress must be True or False"):
        tl.Transportation("cycling", max_stress=2, push_above_stress=1)
