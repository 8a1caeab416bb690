"""Cycle tracks that are built: the same as in data with other tags, and calm ways where there were none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support import worlds
from traveltime_lab.errors import InputError

#: Ways of a square with a crossing in its middle, by id.
WAYS = {
    1: ([1, 5, 2], "highway=primary maxspeed=60"),
    2: ([3, 5, 4], "highway=residential"),
    3: ([1, 3], "highway=tertiary oneway=yes"),
    4: ([3, 2], "highway=secondary oneway=-1 lanes=2"),
    5: ([2, 4], "highway=cycleway"),
    6: ([4, 1], "highway=tertiary cycleway:right=lane"),
}
PLACES = {1: (0.0, 0.0), 2: (0.01, 0.0), 3: (0.005, -0.004), 4: (0.005, 0.004), 5: (0.005, 0.0)}


def built(folder: Path, more: dict[int, str] | None = None) -> tl.Network:
    """Return a network of the ways, some of them with more tags."""
    nodes = "".join(f'<node id="{i}" lat="{0.5 + y}" lon="{0.5 + x}" version="1"/>' for i, (x, y) in PLACES.items())
    ways = ""
    for way, (refs, text) in WAYS.items():
        tags = dict(pair.split("=", 1) for pair in f"{text} {(more or {}).get(way, '')}".split())
        inner = "".join(f'<nd ref="{ref}"/>' for ref in refs)
        inner += "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
        ways += f'<way id="{way}" version="1">{inner}</way>'
    path = folder / "town.osm"
    path.write_text(f'<osm version="0.6">{nodes}{ways}</osm>', encoding="utf-8")
    return tl.build_network(path, timezone="UTC")


@pytest.mark.parametrize(
    ("change", "tags"),
    [
        ({"ways": 1}, {1: "cycleway=track"}),
        ({"ways": [1, 2, 3, 4, 6]}, dict.fromkeys((1, 2, 3, 4), "cycleway=track") | {6: "cycleway=track"}),
        ({"ways": 1, "direction": "forward"}, {1: "cycleway:right=track"}),
        ({"ways": 1, "direction": "backward"}, {1: "cycleway:left=track"}),
        ({"ways": 3}, {3: "cycleway:left=track"}),
        ({"ways": 3, "direction": "backward"}, {3: "cycleway:left=track cycleway:left:oneway=-1"}),
        ({"ways": 4, "direction": "forward"}, {4: "cycleway:right=track cycleway:right:oneway=yes"}),
        ({"ways": 5}, {}),
    ],
)
def test_a_track_is_that_of_data_with_its_tag(change: dict[str, Any], tags: dict[int, str], tmp_path: Path) -> None:
    network = built(tmp_path)
    tracks = network.with_changes(tl.AddCycleTrack(**change))
    edited = built(tmp_path, tags)
    columns = [name for name in edited.edges_frame() if "stress" in name or "kph" in name or "access" in name]
    one, other = (each.edges_frame()[columns].reset_index(drop=True) for each in (tracks, edited))
    assert one.equals(other)
    np.testing.assert_array_equal(tracks.tables.edge_stress, edited.tables.edge_stress)
    points = tracks.nodes_frame().geometry
    for most in (None, 1, 2, 3):
        ask = {"travel_time": 3600, "transportation": {"type": "cycling", "max_stress": most}, "form": "matrix"}
        assert tl.time_filter(tracks, points, points, **ask).equals(tl.time_filter(edited, points, points, **ask))
    if not tags:
        assert tracks.fingerprint == network.fingerprint


def test_reports_say_what_was_built(tmp_path: Path) -> None:
    network = built(tmp_path)
    facts = [network.with_changes(tl.AddCycleTrack(ways=[1, 5], direction=way)).report()["changes"]["1. AddCycleTrack"]
             for way in ("both", "forward")]  # fmt: skip
    assert facts == ["2 edges, 1.11 km, cycle tracks built", "2 edges, 1.11 km, cycle tracks built forward"]
    wrong: Any
    for wrong in ("left", None, 1):
        with pytest.raises(InputError, match="direction"):
            tl.AddCycleTrack(ways=1, direction=wrong)
    modes: dict[str, Any] = {"modes": "cycling"}
    with pytest.raises(TypeError):
        tl.AddCycleTrack(ways=1, **modes)


def test_closing_a_street_to_cars_calms_it_and_its_crossings(tmp_path: Path) -> None:
    network = built(tmp_path)
    edges = network.edges_frame()
    primary = edges["way_id"] == 1
    assert set(edges.loc[primary, "stress"]) == {4}
    assert edges.loc[edges["way_id"] == 2, "stress"].tolist() == [3, 3]
    closed = network.with_changes(tl.CloseStreets(ways=1, modes="driving"))
    after = closed.edges_frame()
    assert set(after.loc[primary, "stress"]) == {1}
    assert set(after.loc[primary, "stress_reason"]) == {"closed to driving by a change"}
    assert after.loc[edges["way_id"] == 2, "stress"].tolist() == [1, 1]
    opened = closed.with_changes(tl.ReopenStreets(ways=1, modes="driving"))
    assert opened.fingerprint == network.fingerprint


@pytest.mark.slow
def test_new_streets_have_the_levels_of_their_class(tmp_path: Path) -> None:
    network = built(tmp_path)
    line = [(0.5, 0.5), (0.505, 0.496)]
    for speeds, highway, level in (
        ({"cycling": 15}, "cycleway", 1), ({"cycling": 15, "driving": 50}, "primary", 4),
        ({"cycling": 15, "driving": 30}, "residential", 1), ({"cycling": 15, "driving": 50}, "tertiary_link", 3),
        ({"cycling": 15, "driving": 50}, "new kind", 2), ({"cycling": 15}, "primary", 1),
        ({"cycling": 15, "driving": 90}, "residential", 3), ({"cycling": 15, "driving": 60}, "cycleway", 3),
    ):  # fmt: skip
        added = network.with_changes(tl.AddStreet(line, speeds, highway=highway, joins="ends")).edges_frame()
        assert added["stress_forward"].iloc[-1] == level, highway


@pytest.mark.thorough
def test_speeds_of_cars_decide_levels_as_limits_in_data_do(tmp_path: Path) -> None:
    network = built(tmp_path)
    for kph in (20, 30, 50, 70, 100):
        ways = [1, 2, 3, 4, 6]
        changed = network.with_changes(tl.SetSpeed(ways=ways, modes="driving", kph=kph)).edges_frame()
        tags = dict.fromkeys(ways, f"maxspeed={kph}")
        edited = built(tmp_path, tags).edges_frame()
        columns = [name for name in edited if "stress" in name and "code" not in name and "reason" not in name]
        assert changed[columns].reset_index(drop=True).equals(edited[columns].reset_index(drop=True)), kph
    changes: list[dict[str, Any]] = [{"modes": "cycling", "kph": 20}, {"modes": "driving", "factor": 0.5}]
    for change in changes:
        same = network.with_changes(tl.SetSpeed(ways=[1, 2, 3], **change))
        np.testing.assert_array_equal(same.tables.edge_stress, network.tables.edge_stress)


@pytest.mark.slow
def test_tracks_along_streets_of_buses_and_none_along_those_without_cyclists(tmp_path: Path) -> None:
    for tags in ("access=no bus=yes bicycle=yes maxspeed=60", "access=no bus=yes bicycle=yes oneway=yes maxspeed=60"):
        network = built(tmp_path, {2: tags}).with_changes(tl.AddCycleTrack(ways=2))
        edited = built(tmp_path, {2: f"{tags} cycleway=track"})
        np.testing.assert_array_equal(network.tables.edge_stress, edited.tables.edge_stress)
    network = built(tmp_path, {1: "bicycle=no"})
    for direction in ("both", "backward"):
        tracks = network.with_changes(tl.AddCycleTrack(ways=[1, 2], direction=direction))
        fact = tracks.report()["changes"]["1. AddCycleTrack"]
        assert fact.startswith("2 edges, 0.88 km, cycle tracks built")
        assert fact.endswith("; none along 2 edges, 1.11 km, which cyclists may not use")
        assert set(tracks.edges_frame().query("way_id == 1")["stress"]) == {0}


def test_towns_without_tags_need_levels() -> None:
    town = worlds.world({0: (0, 0), 1: (500, 0)}, [(0, 1)])
    assert town.with_changes(tl.AddCycleTrack(edges=0)).edges_frame()["stress_reason"].tolist() == ["cycle track"]
