"""Walks that avoid unlit and unpaved ways: the option, tags, tables and files, searches and reasons."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, get_args

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.streets.test_step_free import PLACES, built, explained, is_straight, obstacles, seconds, tags_of
from tests.streets.test_street_searches import compare_with_networkx
from tests.support.everything import FRAME as EVERYWHERE
from tests.support.everything import POINTS, everything
from tests.support.worlds import FRAME, at, towns, world
from traveltime_lab.errors import InputError, ModeError
from traveltime_lab.maps.widget import choices
from traveltime_lab.modes.table import MODES
from traveltime_lab.modes.transportation import AVOIDABLE
from traveltime_lab.readers.osm.avoid import KEYS, avoid_code
from traveltime_lab.server.contract.transportation import Avoidable
from traveltime_lab.streets.avoid import ANSWERS, answers, edge_code, in_words, worst

EVERY = tuple(AVOIDABLE)
LIT, GRAVEL = "highway=footway lit=yes surface=asphalt", "highway=footway lit=yes surface=gravel"
DARK = "highway=footway lit=no surface=asphalt"


# The option -----------------------------------------------------------------------------------------------------------


def test_options_are_checked() -> None:
    both = tl.Transportation("walking", avoid=["unpaved", "unlit", "unlit"])
    assert both.avoid == ("unlit", "unpaved")
    assert both == tl.Transportation("walking", avoid={"unpaved", "unlit"})
    assert tl.Transportation("walking", avoid=None) == tl.Transportation("walking")
    for wrong in ("unlit", ("dark",), 1, {"unlit": True}, (["unlit"],)):
        with pytest.raises(ModeError, match="avoid"):
            tl.Transportation("walking", avoid=wrong)
    assert get_args(Avoidable) == EVERY
    assert choices.OPTIONS["avoid"][1][-1] == ("not unlit or unpaved", EVERY)
    for kind, row in MODES.items():
        if row.has_walks:
            means = tl.Transportation(kind, avoid=EVERY)
            assert means.egress.avoid == EVERY
            assert means.access.avoid == (() if row.is_parked else EVERY)
        else:
            with pytest.raises(ModeError, match="avoid does not apply"):
                tl.Transportation(kind, avoid=EVERY)


# Tags -----------------------------------------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "lit", "paved"),
    [
        ("highway=footway", "unknown", "unknown"),
        ("highway=footway lit=yes", "yes", "unknown"),
        ("highway=footway lit=24/7", "yes", "unknown"),
        ("highway=footway lit=automatic", "yes", "unknown"),
        ("highway=footway lit=limited", "yes", "unknown"),
        ("highway=footway lit=sunset-sunrise", "yes", "unknown"),
        ("highway=footway lit=no", "no", "unknown"),
        ("highway=footway lit=disused", "no", "unknown"),
        ("highway=footway lit=maybe", "unknown", "unknown"),
        ("highway=footway surface=asphalt", "unknown", "yes"),
        ("highway=footway surface=concrete:plates", "unknown", "yes"),
        ("highway=footway surface=paving_stones:30", "unknown", "yes"),
        ("highway=footway surface=sett", "unknown", "yes"),
        ("highway=footway surface=unhewn_cobblestone", "unknown", "yes"),
        ("highway=footway surface=compacted", "unknown", "no"),
        ("highway=footway surface=fine_gravel", "unknown", "no"),
        ("highway=footway surface=unpaved", "unknown", "no"),
        ("highway=footway surface=grass_paver", "unknown", "unknown"),
        ("highway=footway surface=tartan", "unknown", "unknown"),
        ("highway=footway surface=asphalt;gravel", "unknown", "no"),
        ("highway=footway surface=asphalt;concrete", "unknown", "yes"),
        ("highway=footway surface=asphalt;blue", "unknown", "unknown"),
        ("highway=steps surface=gravel", "unknown", "no"),
        # Classes of tracks, where there is no surface.
        ("highway=track", "unknown", "unknown"),
        ("highway=track tracktype=grade1", "unknown", "unknown"),
        ("highway=track tracktype=grade2", "unknown", "no"),
        ("highway=track tracktype=grade5", "unknown", "no"),
        ("highway=track tracktype=grade4 surface=asphalt", "unknown", "yes"),
        ("highway=track tracktype=grade4 surface=blue", "unknown", "unknown"),
        # Sidewalks, on the better side.
        ("highway=residential surface=gravel sidewalk=both", "unknown", "unknown"),
        ("highway=residential surface=gravel sidewalk=separate", "unknown", "no"),
        ("highway=residential surface=gravel sidewalk:left:surface=asphalt", "unknown", "yes"),
        ("highway=residential surface=asphalt sidewalk:both:surface=gravel", "unknown", "no"),
        ("highway=service surface=asphalt sidewalk:left:surface=sand sidewalk:right:surface=sett", "unknown", "yes"),
        ("highway=path footway:surface=asphalt surface=dirt", "unknown", "yes"),
        # Of graphs that a network was exported to.
        ("highway=path paved=no", "unknown", "no"),
        ("highway=path paved=unknown lit=unknown", "unknown", "unknown"),
        ("highway=path paved=no surface=asphalt", "unknown", "yes"),
    ],
)  # fmt: skip
def test_tags_of_ways(text: str, lit: str, paved: str) -> None:
    code = avoid_code(tags_of(text))
    assert code == edge_code({"unlit": lit, "unpaved": paved})
    means = tl.Transportation("walking", avoid=EVERY)
    bad = [word for word, answer in (("unlit", lit), ("unpaved", paved)) if answer == "no"]
    assert in_words(code, means) == (f"an {' and '.join(bad)} way" if bad else "")


@given(
    st.lists(
        st.dictionaries(st.sampled_from(sorted(KEYS)), st.sampled_from(["yes", "no", "gravel", "sett", ";", "²"])),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_an_edge_of_several_ways_is_as_the_worst_of_them(ways: list[dict[str, str]]) -> None:
    codes = [avoid_code(tags) for tags in ways]
    together = worst(*codes)
    for word in EVERY:
        each = {ANSWERS[int(answers(code, word))] for code in codes}
        expected = "no" if "no" in each else "unknown" if "unknown" in each else "yes"
        assert ANSWERS[int(answers(together, word))] == expected


# Searches -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("straight", "unlit", "unpaved"),
    [(LIT, True, True), (GRAVEL, True, False), (DARK, False, True), ("highway=footway", True, True)],
)
def test_each_word_in_a_search(tmp_path: Path, straight: str, unlit: bool, unpaved: bool) -> None:
    network = built(tmp_path, straight, around=LIT)
    assert is_straight(network)
    assert is_straight(network, avoid=["unlit"]) == unlit
    assert is_straight(network, avoid=["unpaved"]) == unpaved
    assert is_straight(network, avoid=EVERY) == (unlit and unpaved)
    # Times of what is left are those of other walks.
    plain, other = (seconds(network, PLACES[4], PLACES[5], **more) for more in ({}, {"avoid": EVERY}))
    assert plain == other


def test_step_free_walks_avoid_ways_too(tmp_path: Path) -> None:
    network = built(tmp_path, DARK, around=LIT)
    assert is_straight(network, step_free="strict")
    assert not is_straight(network, step_free="strict", avoid=["unlit"])
    network = built(tmp_path, "highway=steps lit=yes", around=LIT)
    assert is_straight(network, avoid=["unlit"])
    assert not is_straight(network, avoid=["unlit"], step_free=True)


def test_points_on_avoided_ways_start_on_others_and_islands_stay() -> None:
    """A point beside a dark street is moved to a lit one; a square that only dark streets lead to keeps its points."""
    places = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (400.0, 300.0), "d": (700.0, 300.0)}
    plain = world(places, [("a", "b"), ("b", "c"), ("c", "d")]).tables
    dark = np.array([edge_code({"unlit": answer, "unpaved": "yes"}) for answer in ("yes", "no", "yes")], np.uint8)
    order = plain.edge_way_id.argsort().argsort()
    network = tl.build_network(dataclasses.replace(plain, edge_avoid=dark[order]), timezone="UTC")
    means = tl.Transportation("walking", avoid=["unlit"])
    for point, metres in (((390.0, 100.0), 100), ((600.0, 310.0), 10)):
        found = tl.snap(network, at(point), transportation=means)
        assert found["snap_distance"].iloc[0] == pytest.approx(metres, abs=1)
    assert np.isnan(seconds(network, (600.0, 310.0), (0.0, 0.0), avoid=["unlit"]))
    assert np.isfinite(seconds(network, (600.0, 310.0), (0.0, 0.0)))


def test_networks_that_do_not_know_are_refused() -> None:
    plain = world({"a": (0, 0), "b": (100, 0)}, [("a", "b")]).tables
    network = tl.build_network(dataclasses.replace(plain, edge_avoid=np.zeros(0, np.uint8)), timezone="UTC")
    assert not {"lit", "paved"} & {*network.edges_frame()}
    assert not {"lit", "paved"} & {*network.report()["modes"]["walking"]}
    with pytest.raises(ModeError, match="avoid needs the lit and paved streets"):
        seconds(network, (0, 0), (100, 0), avoid=["unlit"])


@pytest.mark.parametrize(
    ("town", "words"),
    [
        pytest.param(
            town, words, marks=pytest.mark.slow if (town, words) == ("helsinki", EVERY) else pytest.mark.thorough
        )
        for town in ("porto_alegre", "helsinki")
        for words in (("unlit",), ("unpaved",), EVERY)
    ],
)
def test_times_equal_networkx_in_cities(request: pytest.FixtureRequest, town: str, words: tuple[str, ...]) -> None:
    """320 pairs each, in both directions and with each engine."""
    compare_with_networkx(request.getfixturevalue(town), {"type": "walking", "avoid": words}, 8, 40, 3)


@pytest.mark.thorough
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(towns(), st.sampled_from([("unlit",), ("unpaved",), EVERY]), st.sampled_from([None, "lenient"]),
       st.integers(0, 2**31))  # fmt: skip
def test_times_equal_networkx_on_random_ways(
    network: tl.Network, words: tuple[str, ...], rule: str | None, seed: int
) -> None:
    rng, t = np.random.default_rng(seed), network.tables
    codes = [avoid_code(tags_of(text)) for text in (LIT, LIT, "highway=footway", GRAVEL, DARK)]
    changed = dataclasses.replace(t, edge_avoid=np.array(rng.choice(codes, t.edge_from.size), np.uint8))
    town = tl.build_network(changed, timezone="UTC")
    compare_with_networkx(town, {"type": "walking", "avoid": words, "step_free": rule}, 4, 6, seed, by_hand=True)


# Tables, files, changes and reports -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_and_files_keep_them(tmp_path: Path) -> None:
    network = built(tmp_path, DARK, around=GRAVEL)
    nodes, edges = network.nodes_frame(), network.edges_frame().sort_values("way_id")
    assert edges["lit"].tolist() == ["no", "yes"]
    assert set(edges["paved"]) == {"yes", "no"}
    loaded = tl.load_network(network.save(tmp_path / "a.network"))
    for again in (loaded, tl.build_network((nodes, network.edges_frame()))):
        np.testing.assert_array_equal(again.tables.edge_avoid, network.tables.edge_avoid)
    assert not is_straight(network, avoid=["unlit"])
    edges["lit"] = "yes"
    assert is_straight(tl.build_network((nodes, edges)), avoid=["unlit"])
    for wrong in ("maybe", None, 1):
        with pytest.raises(InputError, match="the column paved must have 'yes', 'no' or 'unknown'"):
            tl.build_network((nodes, edges.assign(paved=wrong)))
    with pytest.raises(InputError, match="the column lit is missing"):
        tl.build_network((nodes, edges.drop(columns="lit")))
    without = tl.build_network((nodes, edges.drop(columns=["lit", "paved"])))
    with pytest.raises(ModeError, match="avoid needs the lit"):
        is_straight(without, avoid=["unlit"])


def test_graphs_keep_them(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    network = built(tmp_path, DARK, around=GRAVEL)
    again = tl.build_network(network.to_osmnx("walking"), timezone="UTC")
    assert sorted(again.tables.edge_avoid.tolist()) == sorted(network.tables.edge_avoid.tolist())
    graph = network.to_networkx({"type": "walking", "avoid": ["unlit"]})
    assert {way for *_, way in graph.edges(data="osmid")} == {8}


def test_edges_of_several_ways_in_graphs_are_as_the_worst() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph(crs="EPSG:4326")
    for ref, place in PLACES.items():
        lng, lat = FRAME.to_lnglat(*place)
        graph.add_node(ref, x=float(lng), y=float(lat))
    graph.add_edge(1, 3, osmid=1, highway="footway", lit=["no", "yes"], surface=["asphalt", "sett"])
    graph.add_edge(1, 4, osmid=2, highway="footway", lit="yes", surface=["asphalt", "mud"])
    edges = tl.build_network(graph, timezone="UTC").edges_frame().sort_values("way_id")
    assert edges[["lit", "paved"]].to_numpy().tolist() == [["no", "yes"], ["yes", "no"]]


def test_changes_keep_them() -> None:
    """Streets that a new one splits are as before; nothing is known of the new one, so that it is used."""
    places = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (400.0, 300.0), "d": (0.0, 300.0)}
    dark, lit = {"lit": "no"}, {"lit": "yes"}
    ring = [("a", "b", dark), ("b", "c", dark), ("c", "d", lit), ("d", "a", lit)]
    network = world(places, ring)
    line = shapely.LineString(np.column_stack(FRAME.to_lnglat(np.array([200.0, 200.0]), np.array([0.0, 300.0]))))
    more = network.with_changes(tl.AddStreet(line, {"walking": 18}))
    known = more.edges_frame().groupby("way_id")["lit"].agg([set, "size"])
    assert known["set"].tolist() == [{"unknown"}, {"no"}, {"no"}, {"yes"}, {"yes"}]
    assert known["size"].tolist() == [1, 2, 1, 2, 1]
    assert seconds(more, (200.0, 0.0), (200.0, 300.0), avoid=["unlit"]) == pytest.approx(60, abs=1)


def test_report_has_shares(tmp_path: Path) -> None:
    facts = built(tmp_path, DARK, around="highway=footway surface=sett").report()["modes"]["walking"]
    assert facts["lit"].pop("unknown_share") == pytest.approx(2.2 / 2.6, abs=0.001)
    assert facts["lit"] == {"km_yes": 0.0, "km_no": 0.4, "km_unknown": 2.2}
    assert facts["paved"] == {"km_yes": 2.6, "km_no": 0.0, "km_unknown": 0.0, "unknown_share": 0.0}


def test_prepared_networks_keep_it(tmp_path: Path) -> None:
    network = built(tmp_path, DARK, around=LIT)
    means = tl.Transportation("walking", avoid=EVERY)
    network.prepare(means)
    assert network.prepared == ("walking (avoid unlit, unpaved)",)
    loaded = tl.load_network(network.save(tmp_path / "a.network"))
    assert loaded.prepared == network.prepared
    first, second = (each.streets.road_graph(means) for each in (network, loaded))
    np.testing.assert_array_equal(first.weights, second.weights)


# Reasons --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("straight", "words", "sentence"),
    [
        (f"{DARK} name=Alley", ["unlit"], "With avoid=() it takes 4 min 48 s: an unlit way (Alley, 400 m, OSM way 7)"),
        (GRAVEL, EVERY, "With avoid=('unlit',) it takes 6 min 24 s: an unpaved way (400 m, OSM way 7)"),
        ("highway=footway lit=no surface=mud", EVERY, "an unlit and unpaved way (400 m, OSM way 7)"),
    ],
)
def test_reasons_name_what_is_in_the_way(tmp_path: Path, straight: str, words: list[str], sentence: str) -> None:
    network = built(tmp_path, straight, around=LIT)
    explanation = explained(network, avoid=words)
    assert not explanation.is_reached
    text = str(explanation)
    assert sentence + " is in the way." in text
    found = obstacles(explanation)
    assert "step_free" not in found
    assert found["obstacles"][0]["way_id"] == 7
    assert explanation.nearest_request is not None
    again = tl.time_filter(network, at(PLACES[1]), at(PLACES[3]), **explanation.nearest_request)
    assert again["travel_time"].notna().all()


def test_reasons_of_step_free_walks_that_avoid_ways(tmp_path: Path) -> None:
    """Dark stairs are in the way for two reasons, which take two options to leave out."""
    network = built(tmp_path, "highway=steps lit=no", around=LIT)
    explanation = explained(network, avoid=["unlit"], step_free=True)
    found = obstacles(explanation)
    assert (found["step_free"], found["avoid"]) == (None, ())
    assert [each["what"] for each in found["obstacles"]] == ["steps, an unlit way"]


@pytest.mark.slow
def test_reasons_name_ways_between_stops(tmp_path: Path) -> None:
    network = everything(tmp_path)
    places = gpd.GeoSeries.from_xy(*np.array([[*EVERYWHERE.to_lnglat(*POINTS[name])] for name in ("west", "east")]).T,
                                   crs="EPSG:4326")  # fmt: skip
    asked: dict[str, Any] = {"travel_time": 1400, "departure_time": "2026-03-03T08:00:00"}
    assert tl.explain(network, places[:1], places[1:], transportation="public_transport", **asked).is_reached
    means = {"type": "public_transport", "avoid": ["unlit"]}
    explanation = tl.explain(network, places[:1], places[1:], transportation=means, **asked)
    assert not explanation.is_reached
    named = obstacles(explanation)["obstacles"]
    assert {each["what"] for each in named} == {"an unlit way"}
    assert {each["name"] for each in named} <= {"Bank 0", "Bank 300", "East 600", "End 7000"}
