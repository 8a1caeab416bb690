"""Step-free walks: the option, tags, tables and files, and searches; each rule on a drawn world."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.streets.test_street_searches import compare_with_networkx
from tests.support.everything import FRAME as EVERYWHERE
from tests.support.everything import POINTS, everything, write_timetable
from tests.support.osm_files import osm_xml
from tests.support.worlds import FRAME, at, tables, towns, world
from traveltime_lab.errors import InputError, LimitError, ModeError
from traveltime_lab.modes.table import MODES
from traveltime_lab.readers.osm.step_free import KEYS, node_code, way_code
from traveltime_lab.streets.step_free import edge_in_words, node_in_words, worst


def seconds(network: tl.Network, start: tuple[float, float], end: tuple[float, float], **means: Any) -> float:
    """Return the travel time on foot between two places, NaN if there is no way."""
    found = tl.time_filter(
        network, at(start), at(end), travel_time=14_400, transportation={"type": "walking", **means},
        snapping={"threshold": 50}, form="matrix",
    )  # fmt: skip
    return float(found.to_numpy(float)[0, 0])


# The option -----------------------------------------------------------------------------------------------------------


def test_options_are_checked() -> None:
    assert tl.Transportation("walking", step_free=True) == tl.Transportation("walking", step_free="lenient")
    assert tl.Transportation("walking", step_free=np.True_).step_free == "lenient"
    assert tl.Transportation("walking", step_free=False) == tl.Transportation("walking")
    for wrong in ("yes", 1, "Strict", ["strict"]):
        with pytest.raises(ModeError, match="step_free must be one of 'lenient', 'strict'; got"):
            tl.Transportation("walking", step_free=wrong)
    for kind, row in MODES.items():
        if row.has_walks:
            means = tl.Transportation(kind, step_free="strict")
            assert means.egress.step_free == "strict"
            assert means.access.step_free == (None if row.is_parked else "strict")
        else:
            with pytest.raises(ModeError, match="step_free does not apply"):
                tl.Transportation(kind, step_free="strict")


def test_steps_are_closed() -> None:
    """A way of 400 m with steps, and one of 1000 m without."""
    places = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (0.0, 300.0), "d": (400.0, 300.0)}
    network = world(places, [("a", "b", {"highway": "steps"}), ("a", "c"), ("c", "d"), ("d", "b")])
    assert seconds(network, places["a"], places["b"]) == pytest.approx(80, abs=1)
    assert seconds(network, places["a"], places["b"], step_free=True) == pytest.approx(200, abs=1)
    assert np.isnan(seconds(network, places["a"], places["b"], step_free="strict"))


# Tags -----------------------------------------------------------------------------------------------------------------

PLAIN = "highway=footway surface=asphalt"
USUAL = {rule: tl.Transportation("walking", step_free=rule) for rule in ("lenient", "strict")}


def tags_of(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(" ") if pair)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "reason", "strict_reason"),
    [
        (PLAIN, "", ""),
        ("highway=footway", "", "the surface not known"),
        ("highway=residential", "", "the surface not known"),
        ("highway=footway wheelchair=yes", "", ""),
        ("highway=footway wheelchair=designated surface=gravel", "", ""),
        (f"{PLAIN} wheelchair=no", "wheelchair=no", "wheelchair=no"),
        (f"{PLAIN} wheelchair=limited", "", "whether wheelchairs pass not known"),
        # Stairs, ramps, escalators and elevators.
        ("highway=steps", "steps", "steps"),
        ("highway=steps surface=asphalt ramp:wheelchair=yes", "", ""),
        ("highway=steps ramp=yes", "", "whether wheelchairs pass not known"),
        ("highway=steps ramp=yes ramp:wheelchair=no", "steps", "steps"),
        ("highway=steps ramp:bicycle=yes", "steps", "steps"),
        ("highway=steps ramp:wheelchair=separate", "steps", "steps"),
        ("highway=steps conveying=yes", "an escalator", "an escalator"),
        ("highway=steps conveying=forward", "an escalator", "an escalator"),
        ("highway=steps conveying=no", "steps", "steps"),
        (f"{PLAIN} conveying=forward", "", ""),
        (f"{PLAIN} step_count=2", "steps", "steps"),
        (f"{PLAIN} step_count=2 ramp:wheelchair=yes", "", ""),
        ("highway=elevator", "", ""),
        ("highway=elevator wheelchair=no", "wheelchair=no", "wheelchair=no"),
        # Surfaces.
        ("highway=footway surface=sand", "a rough or soft surface", "a rough or soft surface"),
        ("highway=footway surface=unpaved", "", "the surface not known"),
        ("highway=footway surface=paving_stones:30", "", ""),
        ("highway=footway surface=asphalt smoothness=bad", "a bad surface", "a bad surface"),
        ("highway=footway surface=cobblestone smoothness=good", "", ""),
        ("highway=track tracktype=grade1", "", ""),
        ("highway=track tracktype=grade2", "", "the surface not known"),
        ("highway=track tracktype=grade4", "a rough or soft surface", "a rough or soft surface"),
        ("highway=residential surface=cobblestone sidewalk=both", "", "the surface not known"),
        ("highway=residential surface=cobblestone sidewalk=no", "a rough or soft surface", "a rough or soft surface"),
        ("highway=residential surface=cobblestone sidewalk:left:surface=asphalt sidewalk:right:surface=sand", "", ""),
        ("highway=residential surface=asphalt sidewalk:both:smoothness=very_bad", "a bad surface", "a bad surface"),
        (f"{PLAIN} sac_scale=hiking", "a trail", "a trail"),
        (f"{PLAIN} sac_scale=strolling", "", ""),
        # Slopes and widths.
        (f"{PLAIN} incline=6%", "", ""),
        (f"{PLAIN} incline=-8%", "a slope of 8 %", "a slope of 8 %"),
        (f"{PLAIN} incline=1:12", "a slope of 8.3 %", "a slope of 8.3 %"),
        (f"{PLAIN} incline=5°", "a slope of 8.7 %", "a slope of 8.7 %"),
        (f"{PLAIN} incline=up", "", "the slope not known"),
        (f"{PLAIN} wheelchair=yes incline=12%", "a slope of 12 %", "a slope of 12 %"),
        ("highway=steps ramp:wheelchair=yes incline=50%", "", ""),
        (f"{PLAIN} width=0.9", "", ""),
        (f"{PLAIN} width=80cm", "a width of 0.8 m", "a width of 0.8 m"),
        (f"{PLAIN} width=2'6\"", "a width of 0.76 m", "a width of 0.76 m"),
        (f"{PLAIN} est_width=0,5", "a width of 0.5 m", "a width of 0.5 m"),
        (f"{PLAIN} width=2 est_width=0.5", "", ""),
        (f"{PLAIN} width=narrow", "", ""),
        ("highway=residential surface=asphalt width=6 sidewalk:left:width=0.6 sidewalk:right:width=0.7",
         "a width of 0.7 m", "a width of 0.7 m"),
        # Kerbs of crossings; those of other ways are along them.
        (f"{PLAIN} footway=crossing kerb=raised", "a raised kerb", "a raised kerb"),
        (f"{PLAIN} footway=crossing kerb=lowered", "", ""),
        (f"{PLAIN} footway=crossing kerb=yes", "", "the kerb not known"),
        (f"{PLAIN} footway=crossing kerb:height=0.02", "", ""),
        (f"{PLAIN} footway=crossing kerb=lowered kerb:height=0.06", "a raised kerb", "a raised kerb"),
        ("highway=residential surface=asphalt kerb=raised", "", ""),
        # Ferries.
        ("route=ferry", "", "whether wheelchairs pass not known"),
        ("route=ferry wheelchair=yes", "", ""),
        ("route=ferry wheelchair=no", "wheelchair=no", "wheelchair=no"),
    ],
)  # fmt: skip
def test_obstacles_of_ways(text: str, reason: str, strict_reason: str) -> None:
    code = way_code(tags_of(text))
    assert edge_in_words(code, USUAL["lenient"]) == reason
    assert edge_in_words(code, USUAL["strict"]) == strict_reason


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "reason", "strict_reason"),
    [
        ("", "", ""),
        ("barrier=stile", "a stile", "a stile"),
        ("barrier=kissing_gate", "a kissing gate", "a kissing gate"),
        ("barrier=kissing_gate wheelchair=yes", "", ""),
        ("barrier=turnstile", "a turnstile", "a turnstile"),
        ("barrier=kerb kerb=raised", "a raised kerb", "a raised kerb"),
        ("kerb=raised", "a raised kerb", "a raised kerb"),
        ("highway=crossing kerb=lowered", "", ""),
        ("kerb=flush", "", ""),
        ("barrier=kerb", "", "a kerb, of which not enough is known"),
        ("kerb=rolled", "", "a kerb, of which not enough is known"),
        ("kerb=yes kerb:height=10cm", "a raised kerb", "a raised kerb"),
        ("kerb=raised kerb:height=0.03", "", ""),
        ("kerb:height=0 kerb=yes", "", ""),
        ("barrier=bollard", "", "a bollard, of which not enough is known"),
        ("barrier=bollard width=0.3", "", "a bollard, of which not enough is known"),  # of the bollard itself
        ("barrier=block est_width=0.5", "", "a barrier, of which not enough is known"),
        ("barrier=gate width=0.8", "a gate of 0.8 m", "a gate of 0.8 m"),
        ("barrier=bollard opening=0.6", "a bollard of 0.6 m", "a bollard of 0.6 m"),
        ("barrier=bollard maxwidth:physical=1.2", "", ""),
        ("barrier=bollard maxwidth:physical=0.6", "a bollard of 0.6 m", "a bollard of 0.6 m"),
        ("barrier=cycle_barrier width=0.85", "a cycle barrier of 0.85 m", "a cycle barrier of 0.85 m"),
        ("barrier=gate wheelchair=no", "a gate", "a gate"),
        ("barrier=gate wheelchair=yes", "", ""),
        ("barrier=entrance", "", ""),
        ("barrier=log", "a barrier", "a barrier"),
        ("highway=crossing wheelchair=no", "wheelchair=no", "wheelchair=no"),
        ("highway=elevator wheelchair=no", "an elevator", "an elevator"),
        # Not about passing there.
        ("highway=bus_stop wheelchair=no", "", ""),
        ("amenity=cafe wheelchair=no", "", ""),
    ],
)
def test_obstacles_at_nodes(text: str, reason: str, strict_reason: str) -> None:
    code = node_code(tags_of(text))
    assert node_in_words(code, USUAL["lenient"]) == reason
    assert node_in_words(code, USUAL["strict"]) == strict_reason


@given(
    tags=st.dictionaries(
        st.sampled_from(sorted(KEYS)),
        st.one_of(
            st.sampled_from(["yes", "no", "steps", "ferry", "crossing", "raised", "8%", "1:0", "0", "-1", "²", "1e9",
                             "5°", "90°", "0.1 mm", "limited", "bad", "gravel", "99999999999 m", "4294967296"]),
            st.text(max_size=6),
        ),
    )
)  # fmt: skip
def test_any_tags_give_numbers_that_say_why(tags: dict[str, str]) -> None:
    code, at = way_code(tags), node_code(tags)
    assert 0 <= code < 2**32
    assert 0 <= at < 2**16
    for words, value in ((edge_in_words, code), (node_in_words, at)):
        lenient, strict = (words(value, means) for means in USUAL.values())
        assert not lenient or strict == lenient
    assert worst(code) == code or "step_free_code" in tags
    assert worst(code, code) == worst(code)


def test_an_edge_of_several_ways_has_all_their_obstacles() -> None:
    narrow, steep, stairs = (way_code(tags_of(text)) for text in (
        f"{PLAIN} width=1", f"{PLAIN} width=2 incline=4%", "highway=steps",
    ))  # fmt: skip
    assert edge_in_words(worst(narrow, steep, stairs), USUAL["lenient"]) == "steps"
    both = worst(narrow, steep)
    assert edge_in_words(both, tl.Transportation("walking", step_free=True, min_width=1.1)) == "a width of 1 m"
    assert edge_in_words(both, tl.Transportation("walking", step_free=True, max_incline=3)) == "a slope of 4 %"


# Searches -------------------------------------------------------------------------------------------------------------

#: A way of 400 m with something in the middle, and one of 2200 m around it.
PLACES = {1: (0.0, 0.0), 2: (200.0, 0.0), 3: (400.0, 0.0), 4: (0.0, 900.0), 5: (400.0, 900.0)}


def built(path: Path, straight: str, middle: str = "", around: str = PLAIN) -> tl.Network:
    """Return a network of OpenStreetMap data."""
    lnglat = {ref: tuple(float(each) for each in FRAME.to_lnglat(*place)) for ref, place in PLACES.items()}
    ways = [(7, "1 2 3", straight.replace(" ", "|")), (8, "1 4 5 3", around.replace(" ", "|"))]
    path /= "town.osm"
    path.write_bytes(osm_xml(lnglat, ways, node_tags={2: middle.replace(" ", "|")} if middle else {}))
    return tl.build_network(path, timezone="UTC")


def is_straight(network: tl.Network, **means: Any) -> bool:
    """Return whether the short way is taken, in both directions."""
    there, back = (seconds(network, *ends, **means) for ends in ((PLACES[1], PLACES[3]), (PLACES[3], PLACES[1])))
    assert there == back
    return there < 1000


@pytest.mark.parametrize(
    ("straight", "middle", "lenient", "strict"),
    [
        (PLAIN, "", True, True),
        ("highway=footway", "", True, False),
        ("highway=steps surface=asphalt", "", False, False),
        ("highway=footway surface=sand", "", False, False),
        (f"{PLAIN} incline=10%", "", False, False),
        (f"{PLAIN} width=0.5", "", False, False),
        (PLAIN, "barrier=stile", False, False),
        (PLAIN, "barrier=gate", True, False),
        (PLAIN, "barrier=bollard maxwidth:physical=1.5", True, True),
        (PLAIN, "kerb=raised", False, False),
        (PLAIN, "kerb=lowered", True, True),
    ],
)
def test_each_rule_in_a_search(tmp_path: Path, straight: str, middle: str, lenient: bool, strict: bool) -> None:
    network = built(tmp_path, straight, middle)
    assert is_straight(network)
    assert is_straight(network, step_free="lenient") == lenient
    assert is_straight(network, step_free="strict") == strict


def test_caps_are_options(tmp_path: Path) -> None:
    network = built(tmp_path, f"{PLAIN} incline=8% width=0.8", "barrier=bollard maxwidth:physical=0.85")
    assert not is_straight(network, step_free=True)
    assert not is_straight(network, step_free=True, max_incline=8)
    assert not is_straight(network, step_free=True, min_width=0.8)
    assert is_straight(network, step_free=True, max_incline=8, min_width=0.8)
    assert not is_straight(network, step_free=True, max_incline=8, min_width=0.82)
    for wrong, error in (
        ({"max_incline": 0}, LimitError),
        ({"min_width": 9}, LimitError),
        ({"min_width": "x"}, ModeError),
    ):
        with pytest.raises(error, match=next(iter(wrong))):
            tl.Transportation("walking", step_free=True, **wrong)
    for option in ("max_incline", "min_width"):
        with pytest.raises(ModeError, match=f"{option} needs step_free"):
            tl.Transportation("walking", **{option: 3.0})


def test_a_kerb_is_between_pavements_and_carriageways() -> None:
    """A pavement w-k-e and a crossing k-n: the kerb at k is in the way onto the crossing, not along the pavement."""
    places = {"w": (-100.0, 0.0), "k": (0.0, 0.0), "e": (100.0, 0.0), "n": (0.0, 100.0)}
    pavement = {"highway": "footway", "walking_kph": 18.0}
    crossing = pavement | {"footway": "crossing"}
    streets = [("w", "k", pavement), ("k", "e", pavement), ("k", "n", crossing)]

    def reached(streets: Any, start: str, end: str) -> bool:
        plain = tables(places, streets)
        at_k = np.flatnonzero((plain.node_lng == plain.node_lng[plain.edge_to[0]])
                              & (plain.node_lat == plain.node_lat[plain.edge_to[0]]))  # fmt: skip
        codes = plain.node_step_free.copy()
        codes[at_k] = node_code({"kerb": "raised"})
        network = tl.build_network(dataclasses.replace(plain, node_step_free=codes), timezone="UTC")
        assert not np.isnan(seconds(network, places[start], places[end]))
        return not np.isnan(seconds(network, places[start], places[end], step_free=True))

    assert reached(streets, "w", "e")
    assert not reached(streets, "w", "n")
    assert not reached(streets, "n", "e")
    # A road with the kerb: along it, and neither to a path nor from one path to another across it.
    road = {"highway": "residential", "walking_kph": 18.0}
    assert reached([("w", "k", road), ("k", "e", road), ("k", "n", pavement)], "w", "e")
    assert not reached([("w", "k", road), ("k", "e", road), ("k", "n", pavement)], "w", "n")
    # Streets of one kind: each is by itself.
    assert not reached([("w", "k", pavement), ("k", "e", pavement), ("k", "n", pavement)], "w", "e")
    assert reached([("w", "k", pavement), ("k", "e", pavement), ("k", "n", pavement)], "w", "k")


def test_slopes_of_heights_are_capped() -> None:
    slow = {"walking_kph": 5.0}
    network = world(PLACES, [(1, 3, slow), (1, 4, slow), (4, 5, slow), (5, 3, slow)])
    flat = network.tables
    ones = np.ones(2 * flat.edge_from.size, np.float32)
    with_factors = dataclasses.replace(flat, walking_slope_factor=ones, cycling_slope_factor=ones)
    without = tl.build_network(with_factors, timezone="UTC")
    with pytest.raises(ModeError, match="step_free needs slopes"):
        seconds(without, PLACES[1], PLACES[3], step_free=True)
    tenths = {100: 81, 101: 0, 102: 60, 103: 0}
    steepest = np.array([tenths[way] for way in with_factors.edge_way_id.tolist()], np.uint16)
    hilly = dataclasses.replace(with_factors, edge_slope=steepest)
    network = tl.build_network(hilly, timezone="UTC")
    assert not is_straight(network, step_free=True)
    assert not is_straight(network, step_free=True, max_incline=8)
    assert is_straight(network, step_free=True, max_incline=8.1)
    assert np.isnan(seconds(network, PLACES[1], PLACES[3], step_free=True, max_incline=5))


def test_tables_without_obstacles_are_refused() -> None:
    plain = world({"a": (0, 0), "b": (100, 0)}, [("a", "b")]).tables
    old = dataclasses.replace(plain, edge_step_free=np.zeros(0, np.uint32), node_step_free=np.zeros(0, np.uint16))
    network = tl.build_network(old, timezone="UTC")
    assert "step_free" not in network.edges_frame()
    assert "step_free" not in network.report()["modes"]["walking"]
    with pytest.raises(ModeError, match="step_free needs obstacles"):
        seconds(network, (0, 0), (100, 0), step_free=True)
    with pytest.raises(InputError, match="MakeStepFree needs obstacles"):
        network.with_changes(tl.MakeStepFree(edges=0))


def test_points_beside_stairs_start_on_passable_streets_and_islands_stay() -> None:
    """A point beside the stairs is moved to the street; a terrace that only stairs lead to keeps its points."""
    places = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (400.0, 300.0), "d": (700.0, 300.0)}
    network = world(places, [("a", "b"), ("b", "c", {"highway": "steps", "walking_kph": 18.0}), ("c", "d")])
    means = tl.Transportation("walking", step_free=True)
    found = tl.snap(network, at((390.0, 100.0)), transportation=means)
    assert found["snap_distance"].iloc[0] == pytest.approx(100, abs=1)
    found = tl.snap(network, at((600.0, 310.0)), transportation=means)
    assert found["snap_distance"].iloc[0] == pytest.approx(10, abs=1)
    assert np.isnan(seconds(network, (600.0, 310.0), (0.0, 0.0), step_free=True))
    assert seconds(network, (600.0, 300.0), (700.0, 300.0), step_free=True) == pytest.approx(20, abs=1)


#: Obstacles of all kinds, and none, for random towns.
WAYS = [
    PLAIN,
    PLAIN,
    PLAIN,
    PLAIN,
    PLAIN,
    "highway=footway",
    "highway=steps",
    f"{PLAIN} footway=crossing",
    f"{PLAIN} footway=crossing kerb=raised",
    f"{PLAIN} width=0.8",
    f"{PLAIN} incline=7%",
    f"{PLAIN} wheelchair=limited",
]
NODES = [
    "",
    "",
    "",
    "kerb=raised",
    "kerb=raised",
    "kerb=yes",
    "barrier=stile",
    "barrier=gate",
    "barrier=gate width=0.8",
]


@pytest.mark.parametrize("rule", ["lenient", "strict"])
@pytest.mark.parametrize("town", ["porto_alegre", "helsinki"])
@pytest.mark.thorough
def test_times_equal_networkx_in_cities(request: pytest.FixtureRequest, town: str, rule: str) -> None:
    network = request.getfixturevalue(town)
    compare_with_networkx(network, {"type": "walking", "step_free": rule}, 13, 40, 3)
    compare_with_networkx(network, {"type": "walking", "step_free": rule, "max_incline": 3, "min_width": 1.5}, 3, 40, 5)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.sampled_from(["lenient", "strict"]), st.integers(0, 2**31))
def test_times_equal_networkx_on_random_obstacles(network: tl.Network, rule: str, seed: int) -> None:
    """Obstacles of all kinds on streets that are roads, pavements and crossings, at random."""
    rng, t = np.random.default_rng(seed), network.tables
    edges, nodes = t.edge_from.size, t.node_lng.size
    ways = [way_code(tags_of(text)) for text in WAYS]
    places = [node_code(tags_of(text)) for text in NODES]
    uses = t.uses.assign(highway=rng.choice(["footway", "residential", "path"], len(t.uses)))
    changed = dataclasses.replace(
        t, uses=uses, edge_step_free=np.array(rng.choice(ways, edges), np.uint32),
        node_step_free=np.array(rng.choice(places, nodes), np.uint16),
    )  # fmt: skip
    town = tl.build_network(changed, timezone="UTC")
    compare_with_networkx(town, {"type": "walking", "step_free": rule}, 4, 6, seed, by_hand=True)


def test_obstacles_never_make_a_trip_faster() -> None:
    """Between points that stay at their streets; lenient walks are between those with steps and strict ones."""
    network = tl.sample_network("helsinki")
    edges = network.edges_frame()
    passable = edges[(edges["step_free"] == "yes") & (edges["walking_kph_forward"] > 0) & (edges["length_m"] > 20)]
    middle = shapely.line_interpolate_point(passable.geometry.array, 0.41, normalized=True)
    points = gpd.GeoSeries(middle, crs=4326).sample(150, random_state=7).reset_index(drop=True)
    means = [tl.Transportation("walking", step_free=rule) for rule in ("strict", "lenient", None)]
    away = np.array([tl.snap(network, points, transportation=each)["snap_distance"] for each in means])
    assert ((away < 1).mean(axis=1) > 0.9).all()
    points = points[(away < 1).all(axis=0)]
    found = [
        tl.time_filter(network, points, points, travel_time=14_400, transportation=each, form="matrix").to_numpy(float)
        for each in means
    ]
    for less, more in ((0, 1), (1, 2), (0, 2)):
        both = np.isfinite(found[less])
        assert np.isfinite(found[more][both]).all()
        assert (found[less][both] >= found[more][both]).all()
    assert np.isnan(found[0]).sum() > np.isnan(found[2]).sum()


# Changes, tables and files --------------------------------------------------------------------------------------------


def test_obstacles_are_removed(tmp_path: Path) -> None:
    network = built(tmp_path, "highway=steps incline=20%", "barrier=stile")
    ramp = network.with_changes(tl.MakeStepFree(ways=7))
    assert "2 edges, 0.40 km, without obstacles for wheelchairs" in str(ramp.report()["changes"])
    for rule in ("lenient", "strict"):
        assert not is_straight(network, step_free=rule)
        assert is_straight(ramp, step_free=rule)
    assert seconds(ramp, PLACES[1], PLACES[3]) == seconds(network, PLACES[1], PLACES[3])
    again = ramp.with_changes(tl.MakeStepFree(ways=7))
    assert "0 edges" in str(again.report()["changes"])
    closed = ramp.with_changes(tl.CloseStreets(ways=7, modes=("walking",)))
    assert not is_straight(closed, step_free=True)
    # A new street has no obstacles.
    stairs = world({"a": (0, 0), "b": (400, 0), "c": (0, 300)}, [("a", "b", {"highway": "steps"}), ("a", "c")])
    lng, lat = FRAME.to_lnglat(np.array([0.0, 200.0, 400.0]), np.array([0.0, 100.0, 0.0]))
    street = tl.AddStreet(shapely.LineString(np.column_stack([lng, lat])), {"walking": 18})
    for rule in ("lenient", "strict"):
        assert np.isnan(seconds(stairs, (0, 0), (400, 0), step_free=rule))
        assert seconds(stairs.with_changes(street), (0, 0), (400, 0), step_free=rule) == pytest.approx(89, abs=1)


@pytest.mark.slow
def test_tables_and_files_keep_obstacles(tmp_path: Path) -> None:
    network = built(tmp_path, f"{PLAIN} width=0.8", "barrier=bollard maxwidth:physical=0.85")
    nodes, edges = network.nodes_frame(), network.edges_frame()
    assert edges.sort_values("way_id")["step_free"].tolist() == ["no", "no", "yes"]
    assert set(edges["step_free_reason"]) == {"a width of 0.8 m", ""}
    assert sorted(nodes["step_free_reason"]) == ["", "", "a bollard of 0.85 m"]
    loaded = tl.load_network(network.save(tmp_path / "a.network"))
    for again in (loaded, tl.build_network((nodes, edges))):
        np.testing.assert_array_equal(again.tables.edge_step_free, network.tables.edge_step_free)
        np.testing.assert_array_equal(again.tables.node_step_free, network.tables.node_step_free)
    edges["step_free"] = "yes"
    nodes["step_free"] = "yes"
    assert is_straight(tl.build_network((nodes, edges)), step_free="strict")
    edges.loc[edges["way_id"] == 7, "step_free"] = "unknown"
    changed = tl.build_network((nodes, edges))
    assert is_straight(changed, step_free="lenient")
    assert not is_straight(changed, step_free="strict")
    refused: list[tuple[str, Any]] = [("step_free", "maybe"), ("step_free_code", -1), ("step_free_code", 0.5)]
    for column, wrong in refused:
        for given_tables in ((nodes.assign(**{column: wrong}), edges), (nodes, edges.assign(**{column: wrong}))):
            with pytest.raises(InputError, match=column):
                tl.build_network(given_tables)
    with pytest.raises(InputError, match="the column step_free_code of nodes is missing"):
        tl.build_network((nodes.drop(columns=["step_free_code", "step_free"]), edges))
    with pytest.raises(InputError, match="needs step_free_code"):
        tl.build_network((nodes.drop(columns="step_free_code"), edges.drop(columns="step_free_code")))


def test_graphs_for_osmnx_keep_obstacles(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    network = built(tmp_path, f"{PLAIN} width=0.8", "barrier=bollard maxwidth:physical=0.85")
    again = tl.build_network(network.to_osmnx("walking"), timezone="UTC")
    for name in ("edge_step_free", "node_step_free"):
        assert sorted(getattr(again.tables, name).tolist()) == sorted(getattr(network.tables, name).tolist())
    # Without the obstacle at the node, the streets that it separates do not meet.
    graph = network.to_networkx({"type": "walking", "step_free": True, "min_width": 0.8})
    assert graph.number_of_edges() == 6
    apart = network.to_networkx({"type": "walking", "step_free": "lenient"})
    assert {way for *_, way in apart.edges(data="osmid")} == {8}


def test_edges_of_several_ways_in_graphs_have_all_obstacles() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph(crs="EPSG:4326")
    for ref, place in PLACES.items():
        lng, lat = FRAME.to_lnglat(*place)
        graph.add_node(ref, x=float(lng), y=float(lat), **({"barrier": "stile"} if ref == 4 else {}))
    for u, v, tags in ((1, 3, {"highway": ["footway", "steps"]}), (1, 4, {"highway": "footway", "surface": "sand"}),
                       (4, 5, {"highway": "footway", "width": ["2", "0.7"]})):  # fmt: skip
        graph.add_edge(u, v, osmid=u, **tags)
    network = tl.build_network(graph, timezone="UTC")
    assert set(network.edges_frame()["step_free_reason"]) == {"steps", "a rough or soft surface", "a width of 0.7 m"}
    assert "a stile" in set(network.nodes_frame()["step_free_reason"])


def test_report_has_shares(tmp_path: Path) -> None:
    facts = built(tmp_path, "highway=footway", "barrier=stile").report()["modes"]["walking"]["step_free"]
    assert facts.pop("unknown_share") == pytest.approx(0.4 / 2.6, abs=0.001)
    assert facts.pop("places_unknown") == 0
    assert facts == {"km_passable": 2.2, "km_with_obstacles": 0.0, "km_unknown": 0.4, "places_with_obstacles": 1}


def test_prepared_networks_keep_it(tmp_path: Path) -> None:
    network = built(tmp_path, "highway=steps")
    means = tl.Transportation("walking", step_free=True, max_incline=5)
    network.prepare(means)
    assert network.prepared == ("walking (step_free lenient; max_incline 5 %)",)
    loaded = tl.load_network(network.save(tmp_path / "a.network"))
    assert loaded.prepared == network.prepared
    first, second = (each.streets.road_graph(means) for each in (network, loaded))
    np.testing.assert_array_equal(first.weights, second.weights)


# Reasons --------------------------------------------------------------------------------------------------------------


def explained(network: tl.Network, **means: Any) -> tl.Explanation:
    return tl.explain(
        network, at(PLACES[1]), at(PLACES[3]), travel_time=1000, transportation={"type": "walking", **means},
        snapping={"threshold": 50},
    )  # fmt: skip


def obstacles(explanation: tl.Explanation) -> dict[str, Any]:
    (found,) = (dict(reason.data) for reason in explanation.reasons if reason.code == "obstacles")
    return found


@pytest.mark.parametrize(
    ("straight", "middle", "rule", "what"),
    [
        ("highway=steps name=Stairs", "", "lenient", "steps (Stairs, 400 m, OSM way 7)"),
        (PLAIN, "barrier=stile", "lenient", "a stile (OSM node 2)"),
        (PLAIN, "kerb=raised", "strict", "a raised kerb (OSM node 2)"),
        ("highway=footway", "", "strict", "the surface not known (400 m, OSM way 7)"),
        (PLAIN + " incline=9%", "barrier=gate", "lenient", "a slope of 9 % (400 m, OSM way 7)"),
    ],
)
def test_reasons_name_what_is_in_the_way(tmp_path: Path, straight: str, middle: str, rule: str, what: str) -> None:
    network = built(tmp_path, straight, middle)
    explanation = explained(network, step_free=rule)
    assert not explanation.is_reached
    assert f": {what} is in the way." in str(explanation)
    (found,) = obstacles(explanation)["obstacles"]
    assert found["way_id"] == (None if "node" in what else 7)
    x, y = (float(each) for each in network.frame.to_xy(found["lng"], found["lat"]))
    assert np.isfinite([x, y]).all()
    assert explanation.nearest_request is not None
    again = tl.time_filter(network, at(PLACES[1]), at(PLACES[3]), **explanation.nearest_request)
    assert again["travel_time"].notna().all()


@pytest.mark.thorough
def test_reasons_name_obstacles_between_stops(tmp_path: Path) -> None:
    """Both streets that lead to the stop near the origin are closed to wheelchairs."""
    network = everything(tmp_path)
    edges = network.edges_frame()
    edges["step_free"] = edges["step_free"].where(~edges["name"].isin(["Bank 0", "West 0"]), "no")
    nodes = network.nodes_frame()
    with pytest.warns(UserWarning, match="without"):
        changed = tl.build_network((nodes, edges), gtfs=write_timetable(tmp_path))
    places = gpd.GeoSeries.from_xy(*np.array([[*EVERYWHERE.to_lnglat(*POINTS[name])] for name in ("west", "east")]).T,
                                   crs="EPSG:4326")  # fmt: skip
    asked: dict[str, Any] = {"travel_time": 1400, "departure_time": "2026-03-03T08:00:00"}
    plain = tl.explain(changed, places[:1], places[1:], transportation="public_transport", **asked)
    assert plain.is_reached
    means = {"type": "public_transport", "step_free": True}
    explanation = tl.explain(changed, places[:1], places[1:], transportation=means, **asked)
    assert not explanation.is_reached
    named = obstacles(explanation)["obstacles"]
    assert {each["what"] for each in named} == {"wheelchair=no"}
    assert "Bank 0" in {each["name"] for each in named} <= {"Bank 0", "West 0"}


@pytest.mark.thorough
def test_areas_where_nothing_is_step_free_on_foot_are_empty_or_driven(tmp_path: Path) -> None:
    """A car leaves from a place without a step-free street, and reaches stops; beyond them nothing is step-free."""
    network = everything(tmp_path)
    place = gpd.GeoSeries.from_xy(*EVERYWHERE.to_lnglat(np.array([-4000.0]), np.array([625.0])), crs="EPSG:4326")
    asked: dict[str, Any] = {"travel_time": 1400, "departure_time": "2026-03-03T08:00:00"}
    areas = []
    for rule in (None, "strict"):
        means = {"type": "driving+public_transport", "step_free": rule}
        areas.append(float(tl.time_map(network, place, transportation=means, **asked).to_crs(network.crs).area.iloc[0]))
        cells = tl.h3_cells(network, place, resolution=8, transportation=means, **asked)
        assert (len(cells) > 0) == (areas[-1] > 0)
    assert areas[1] < areas[0]
