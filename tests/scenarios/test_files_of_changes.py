"""Changes as JSON: what comes back is what was written, and anything else is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.towns import town
from traveltime_lab.cli import main
from traveltime_lab.scenarios.apply import KINDS
from traveltime_lab.scenarios.file import from_json, to_json

EVERY = [
    tl.CloseStreets(shapely.box(0, 0, 1, 1), ways=[5, 7], modes=["driving", "walking"], name="Brücke"),
    tl.ReopenStreets(edges=3),
    tl.SetSpeed(ways=1, modes="cycling", factor=0.5),
    tl.AddStreet([(0, 0), (1, 1)], {"walking": 5, "driving": 30}, oneway=True, joins="ends", highway="primary"),
    tl.RemoveRoutes(["a", "b"], feed="bus"),
    tl.RemoveStops("x"),
    tl.ScaleHeadway("4", 1.5),
    tl.SetHeadway("4", "7:00", "25:30", 300),
    tl.ShiftTrips("4", -60, start="07:00", end="08:00"),
    tl.AddStop("n", 0.5, 0.25, stop_name="Nook"),
    tl.AddLine("X", ["x", "n"], headway=600, start="6:00", end="22:00", speed=25, dwell=20, days="monday"),
    tl.AddLine("Y", ["x", "n", "y"], headway=600, start="6:00", end="22:00", times=[60, 90], both_directions=False),
    tl.MakeStepFree(ways=[3, 4], name="Ramp"),
    tl.AddCycleTrack(streets=["Main Street"], ways=3, direction="backward", name="Lane"),
    tl.ClosePathway(["stairs", "gate"], feed="metro"),
    tl.CloseElevator("lift", name="out of order"),
    tl.CloseStreets(streets="Main Street", near=[shapely.Point(0.5, 0.25), (1, 2)], distance=50, beside=20),
]


def test_every_kind_comes_back(tmp_path: Path) -> None:
    assert {type(change) for change in EVERY} == set(KINDS.values())
    path = tl.save_changes(EVERY, tmp_path / "scenario.json")
    assert tl.load_changes(path) == EVERY
    text = json.loads(path.read_text(encoding="utf-8"))
    assert (text["format"], text["version"], len(text["changes"])) == ("traveltime_lab.changes", 1, len(EVERY))
    assert text["changes"][-1]["near"] == [[0.5, 0.25], [1.0, 2.0]]
    assert text["changes"][4] == {"change": "RemoveRoutes", "routes": ["a", "b"], "feed": "bus"}
    assert text["changes"][0]["polygon"]["type"] == "Polygon" and "Brücke" in path.read_text(encoding="utf-8")
    assert repr(tl.load_changes(path)[5]) == repr(EVERY[5])


@given(st.lists(st.sampled_from(EVERY)))
def test_round_trip(changes: list[Any]) -> None:
    assert from_json(json.loads(json.dumps(to_json(changes))), "here") == tuple(changes)


def good() -> dict[str, Any]:
    return {"format": "traveltime_lab.changes", "version": 1, "changes": to_json(EVERY)}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(format="x"), "is not a file of changes"),
        (lambda d: d.update(version=2), "has version 2 of the format; this version reads 1"),
        (lambda d: d.update(version=True), "has version True of the format"),
        (lambda d: d.update(author="me"), "has the unknown key 'author'; known are format, version, changes"),
        (lambda d: d.pop("changes"), "has no key 'changes', which is needed"),
        (lambda d: d.update(changes={}), "changes must be a list; got dict"),
        (lambda d: d.update(changes=[3]), "changes[0] must be an object; got int"),
        (lambda d: d["changes"][1].pop("change"), "changes[1]: change must be one of AddLine"),
        (lambda d: d["changes"][1].update(change="_Selection"), "changes[1]: change must be one of"),
        (lambda d: d["changes"][1].update(colour="red"), "changes[1] (ReopenStreets) has the unknown key 'colour'"),
        (lambda d: d["changes"][6].pop("factor"), "changes[6] (ScaleHeadway) has no key 'factor', which is needed"),
        (lambda d: d["changes"][6].update(factor="x"), "changes[6] (ScaleHeadway): factor must be a number"),
        (lambda d: d["changes"][6].update(factor=True), "factor must be a number"),
        (lambda d: d["changes"][6].update(name=3), "name must be a text; got 3"),
        (lambda d: d["changes"][0].update(polygon="x"), "polygon is not a GeoJSON geometry"),
        (lambda d: d["changes"][0].update(polygon={"type": "Point", "coordinates": [0, 0]}), "must be a polygon"),
        (lambda d: d["changes"][0].update(ways=["5"]), "each of ways must be a whole number"),
        (lambda d: d["changes"][3].update(speeds=[5]), "speeds must map modes to km/h"),
        (lambda d: d["changes"][3].update(line=None), "line must be a LineString"),
        (lambda d: d["changes"][7].update(start=25_200), "start must be a time such as '07:30'"),
        (lambda d: d["changes"][10].update(both_directions=1), "both_directions must be True or False"),
    ],
)  # fmt: skip
def test_strict_reader(tmp_path: Path, edit: Any, message: str) -> None:
    content = good()
    edit(content)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(tl.DataError) as caught:
        tl.load_changes(path)
    assert message in str(caught.value).replace("AddStop, AddLine", "AddLine") or "one of" in message


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(tl.MissingFileError, match="no file of changes at"):
        tl.load_changes(tmp_path / "none.json")
    for content in (b"{", b"\xff", b"[]", b"null", b"[" * 100_000):
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(tl.DataError):
            tl.load_changes(tmp_path / "x.json")
    with pytest.raises(tl.InputError, match="each of changes must be one of"):
        tl.save_changes([3], tmp_path / "x.json")


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = town(tmp_path)
    osm = net.save(tmp_path / "town.network")
    changes = tl.save_changes(tl.RemoveRoutes("R0", name="cut"), tmp_path / "cut.json")
    from tests.support.osm_files import osm_xml

    (tmp_path / "town.osm").write_bytes(
        osm_xml({1: (0.5, 0.5), 2: (0.51, 0.5)}, [(1, "1 2", "highway=residential|name=First Street")])
    )
    out = tmp_path / "out.network"
    assert (
        main(
            [
                "build",
                str(tmp_path / "town.osm"),
                str(out),
                "--gtfs",
                str(tmp_path / "feed.zip"),
                "--changes",
                str(changes),
            ]
        )
        == 0
    )
    assert "1. RemoveRoutes 'cut': 1 trip removed" in capsys.readouterr().out
    assert tl.load_network(out).timetable.n_trips == 1
    assert main(["serve", str(osm), f"other={osm}", "--changes", str(changes), "--port", "0"]) == 1
    assert "--changes needs exactly one network" in capsys.readouterr().err
