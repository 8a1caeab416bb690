"""Receipts: what they say, that they survive files and pandas, and that asking again gives the same answer."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import first_of
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab.network.network import Network
from traveltime_lab.points import read_points
from traveltime_lab.search.receipts.digest import Digest, digest_of
from traveltime_lab.search.receipts.record import KEY
from traveltime_lab.search.replay.replay import _ANSWERS

MORNING = "2026-03-02T07:50:00"
ON_FOOT: dict[str, Any] = {"transportation": "walking", "travel_time": 900}


def built(folder: Path, name: str = "First Street", *, gtfs: Path) -> Network:
    nodes = {i: (0.498 + 0.002 * i, 0.5) for i in range(1, 13)}
    path = folder / "town.osm"
    path.write_bytes(osm_xml(nodes, [(1, " ".join(map(str, nodes)), f"highway=residential|name={name}")]))
    return tl.build_network(path, gtfs=gtfs, timezone="UTC")


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return feed(tmp_path_factory.mktemp("bus"))


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, bus: Path) -> Network:
    return built(tmp_path_factory.mktemp("town"), gtfs=bus)


@pytest.fixture
def places() -> gpd.GeoDataFrame:
    names = pd.Index(["home", "work", "school"], name="place")
    points = gpd.points_from_xy([0.4995, 0.5205, 0.5101], [0.5, 0.5, 0.5001])
    return gpd.GeoDataFrame({"people": [3, 2, 1], "seats": [1.5, 0.0, 4.0]}, geometry=points, index=names, crs=4326)


def answers(network: Network, places: gpd.GeoDataFrame) -> dict[str, pd.DataFrame]:
    riding = {"transportation": tl.Transportation("bus", walking_time=600), "departure_time": MORNING}
    pairs = pd.DataFrame({"origin": ["home", "home"], "destination": ["work", "school"]}, index=["x", "y"])
    shared = {"demand": "people", "values": "seats", "measure": "e2sfca"}
    decay = tl.Decay("step", steps={300: 1, 600: 0.5})
    metres = places.to_crs(network.crs)
    return {
        "time_filter": tl.time_filter(network, metres, places.geometry, pairs=pairs, **ON_FOOT),
        "a matrix": tl.time_filter(network, (0.4995, 0.5), places, form="matrix", **ON_FOOT),
        "sparse": tl.time_filter(network, places, places, form="sparse", **ON_FOOT),
        "a window": tl.time_filter(
            network, places, places, travel_time=7200, window=1800, percentiles=[50], **riding,
        ),
        "routes": tl.routes(network, places.iloc[[0]], places.iloc[1:], **riding),
        "pareto_routes": tl.pareto_routes(network, places.iloc[[0]], places, **ON_FOOT),
        "time_map": tl.time_map(network, places, travel_time=[300, 600], transportation="walking"),
        "distance_map": tl.distance_map(network, places, distance=500, snapping={"threshold": 500}),
        "nearest": tl.nearest(network, places.iloc[[0]], places, k=2, **ON_FOOT),
        "snap": tl.snap(network, places),
        "h3_cells": tl.h3_cells(network, places.iloc[[0]], resolution=9, **ON_FOOT),
        "geohash_cells": tl.geohash_cells(network, places.iloc[[0]], resolution=7, geometry=False, **ON_FOOT),
        "accessibility": tl.accessibility(network, places, places, decay=decay, **shared, **ON_FOOT),
    }  # fmt: skip


@pytest.mark.slow
def test_every_search_has_a_receipt_that_gives_the_same_answer(
    town: Network, places: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    for name, answer in answers(town, places).items():
        found = tl.receipt(answer)
        assert found["network"]["fingerprint"] == town.fingerprint
        assert json.loads(json.dumps(found)) == found
        again = tl.replay(found, town)
        assert again.is_same and not again.differences, (name, again)
        if name not in ("routes", "pareto_routes"):  # whose routes are objects
            answer.to_parquet(tmp_path / "answer.parquet")
            assert tl.receipt(tmp_path / "answer.parquet") == found, name
            frame = gpd.read_parquet if isinstance(answer, gpd.GeoDataFrame) else pd.read_parquet
            assert tl.receipt(frame(tmp_path / "answer.parquet")) == found, name


def raised(points: Any, heights: Any) -> Any:
    """Return points with heights."""
    return shapely.points(shapely.get_x(points), shapely.get_y(points), heights)


def with_heights(places: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the same places with heights."""
    return places.set_geometry(raised(places.geometry.to_numpy(), [120.0, 0.0, -7.5]), crs=places.crs)


@pytest.mark.thorough
def test_places_with_heights_are_the_same_places(
    town: Network, places: gpd.GeoDataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked, the answer, its receipt and what comes of asking again do not depend on heights."""
    high = with_heights(places)
    jobs: dict[str, Any] = {"progress": False, "part_size": 3, **ON_FOOT}
    folders = {}
    for name, each in (("plain", places), ("high", high)):
        (tmp_path / name).mkdir()
        matrix = tl.write_matrix(town, each, each, tmp_path / name / "m", **jobs)
        areas = tl.write_areas(town, each, tmp_path / name / "a", **jobs)
        folders[name] = [matrix, areas]
        assert tl.replay(matrix, town, origins=high, destinations=places).is_same
        assert tl.replay(areas, town, origins=high).is_same
    assert [tl.receipt(each) for each in folders["plain"]] == [tl.receipt(each) for each in folders["high"]]
    found, wanted = answers(town, high), answers(town, places)
    for name, answer in found.items():
        again = tl.replay(answer, town)
        assert again.is_same and not again.differences, (name, again)
        assert tl.receipt(answer) == tl.receipt(wanted[name]), name
    functions = {tl.receipt(answer)["function"] for answer in found.values()} | {"write_matrix", "write_areas"}
    # Those that test_calibration.py, test_reliability.py and test_reliability_areas.py ask.
    assert functions == {*_ANSWERS} - {"calibrate_speeds", "reliability", "reliability_cells", "reliability_map"}
    # Tables that are passed again may have heights or not.
    monkeypatch.setattr("traveltime_lab.search.receipts.inputs.MOST_ROWS", 1)
    for asked, again in ((places, high), (high, places), (high.to_crs(town.crs), high.to_crs(town.crs))):
        kept = tl.receipt(tl.time_filter(town, asked, asked, **ON_FOOT))
        assert tl.replay(kept, town, origins=again, destinations=again).is_same


@pytest.mark.parametrize("crs", [4326, 3857, 4979, 4258, 31370, 5554])
def test_heights_do_not_move_points(crs: int) -> None:
    """Not where a datum shift or a CRS with a vertical axis would make use of them."""
    plain = gpd.GeoSeries.from_xy([4.3, 4.4, 4.5], [50.8, 50.9, 51.0], crs=4326).to_crs(crs)
    flat = read_points(plain, "points", (4.0, 50.0, 5.0, 52.0))
    for heights in (1000.0, float("nan"), [0.0, float("inf"), 5.0]):
        high = gpd.GeoSeries(raised(plain.to_numpy(), heights), crs=crs)
        found = read_points(high, "points", (4.0, 50.0, 5.0, 52.0))
        assert (found.lng == flat.lng).all() and (found.lat == flat.lat).all()
        assert shapely.equals_identical(found.geometry, flat.geometry).all()


@pytest.mark.slow
def test_what_differs_is_said(town: Network, places: gpd.GeoDataFrame) -> None:
    """An answer that is another one is a difference, for every kind of result."""
    for name, answer in answers(town, places).items():
        kept = tl.receipt(answer)
        kept["answer"]["digest"] = "0" * 32
        again = tl.replay(kept, town)
        assert not again.is_same, name
        n = len(answer)
        assert again.differences == (
            f"the answer differs: {n} rows with the hash {again.digest}, not {n} rows with {'0' * 32}",
        )
        assert repr(again) == f"<Replay of {again.function}: {again.differences[0]}>"


def test_what_it_says(town: Network, places: gpd.GeoDataFrame) -> None:
    scenario = town.with_changes(tl.SetSpeed(edges=0, kph=20, name="calm"))
    found = tl.receipt(tl.time_map(scenario, places, travel_time=300, departure_time=pd.Timestamp(MORNING)))
    assert found["function"] == "time_map" and found["arguments"]["departure_time"] == MORNING
    assert found["arguments"]["transportation"] == "driving"
    assert found["points"]["origins"]["labels"] == ["home", "work", "school"]
    about = found["network"]
    assert [(file["name"], file["role"]) for file in about["files"]] == [
        ("town.osm", "streets"), ("feed.zip", "timetable")
    ]  # fmt: skip
    name = [1, 1, 12, 0, pytest.approx(0.511), pytest.approx(0.5)]
    assert about["changes"] == [{"change": "SetSpeed", "name": "calm", "kph": 20.0, "edges": [name]}]
    assert about["fingerprint_before_changes"] == town.fingerprint != about["fingerprint"]
    assert found["licence"] == town.attribution and found["versions"]["traveltime_lab"] == tl.__version__
    assert "time map" in str(found).replace("_", " ")


def test_survives_pandas(town: Network, places: gpd.GeoDataFrame) -> None:
    answer = tl.time_filter(town, places, places, **ON_FOOT)
    kept = answer.attrs[KEY]
    for other in (answer.copy(), copy.deepcopy(answer), answer[answer["travel_time"] > 0], pd.concat([answer, answer])):
        assert other.attrs[KEY] is kept
    assert tl.receipt(pickle.loads(pickle.dumps(answer))) == tl.receipt(answer)
    other = tl.time_filter(town, places, places, **ON_FOOT)
    assert other.attrs == answer.attrs
    assert not pd.concat([answer, tl.snap(town, places)]).attrs
    assert len(kept) == len(list(kept)) == len(kept.keys()) and "licence" in kept and kept.get("none") is None


def test_later_changes_of_the_arguments_do_not_matter(town: Network, places: gpd.GeoDataFrame) -> None:
    means, names = {"type": "walking"}, ["travel_time"]
    answer = tl.time_filter(town, places, places, travel_time=900, transportation=means, properties=names)
    means["type"] = "driving"
    names.append("distance")
    places.loc["home", "geometry"] = places.geometry["work"]
    places.index = pd.Index([1, 2, 3])
    assert tl.replay(answer, town).is_same


@pytest.mark.slow
def test_a_receipt_does_not_keep_the_network_alive(places: gpd.GeoDataFrame, bus: Path, tmp_path: Path) -> None:
    import gc
    import weakref

    network = built(tmp_path, gtfs=bus)
    answer, seen = tl.time_filter(network, places, places, **ON_FOOT), weakref.ref(network.tables)
    del network
    gc.collect()
    assert seen() is None and tl.receipt(answer)["function"] == "time_filter"


def test_what_is_edited_is_another_answer(town: Network, places: gpd.GeoDataFrame, tmp_path: Path) -> None:
    answer = tl.time_filter(town, places, places, **ON_FOOT)
    assert not tl.replay(answer.iloc[:-1], town).is_same
    answer.loc[0, "travel_time"] += 1
    answer.to_parquet(tmp_path / "edited.parquet")
    assert not tl.replay(tmp_path / "edited.parquet", town).is_same


def test_a_changed_byte_of_input_is_noticed(town: Network, bus: Path, places: gpd.GeoDataFrame, tmp_path: Path) -> None:
    answer = tl.time_filter(town, places, places, **ON_FOOT)
    again = tl.replay(answer, built(tmp_path, name="First street", gtfs=bus))
    assert again.is_same  # a name says nothing about times
    assert [text.partition(":")[0] for text in again.differences] == [
        "the SHA-256 of the file town.osm differs", "the network has changed"
    ]  # fmt: skip
    slow = town.with_changes(tl.SetSpeed(edges=0, kph=1, modes="walking"))
    assert not tl.replay(answer, slow).is_same
    moved = tl.receipt(answer)
    moved["points"]["origins"]["coordinates"][0][0] += 1e-9
    with pytest.raises(tl.DataError, match="damaged: its origins have the hash"):
        tl.replay(moved, town)


def test_how_a_search_runs_is_not_asked(town: Network, places: gpd.GeoDataFrame) -> None:
    how: dict[str, Any] = {"progress": lambda done, total: None, **ON_FOOT}
    with ThreadPoolExecutor(1) as executor:
        found = tl.accessibility(town, places, places, executor=executor, **how)
    plain = tl.accessibility(town, places, places, **ON_FOOT)
    assert tl.receipt(found) == tl.receipt(plain)
    assert tl.replay(tl.receipt(found), town).is_same


def test_changes_are_made_again(town: Network, places: gpd.GeoDataFrame) -> None:
    scenario = town.with_changes(tl.SetSpeed(edges=0, kph=1, modes="walking"))
    answer = tl.time_filter(scenario, places, places, **ON_FOOT)
    for network in (town, scenario):
        again = tl.replay(answer, network)
        assert again.is_same and not again.differences


def test_tables_that_a_receipt_has_only_a_hash_of(
    town: Network, places: gpd.GeoDataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = tl.write_matrix(town, places, places, tmp_path / "m", progress=False, part_size=3, **ON_FOOT)
    areas = tl.write_areas(town, places, tmp_path / "a", progress=False, **ON_FOOT)
    assert tl.replay(matrix, town, origins=places, destinations=places).is_same
    assert tl.replay(areas, town, origins=places).is_same
    with pytest.raises(tl.InputError, match="only a hash of its 3 origins; pass them as origins="):
        tl.replay(areas, town)
    with pytest.raises(tl.InputError, match="origins are not those of the receipt"):
        tl.replay(areas, town, origins=places.iloc[::-1])
    with pytest.raises(tl.InputError, match="write_areas of the receipt has no table pairs"):
        tl.replay(areas, town, origins=places, pairs=pd.DataFrame())
    labelled = places.set_index(pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]))
    many = tl.accessibility(town, labelled, places, demand="people", measure="2sfca", **ON_FOOT)
    with pytest.raises(tl.InputError, match="only a hash"):
        tl.replay(many, town)
    assert tl.replay(many, town, origins=labelled).is_same
    with pytest.raises(tl.InputError, match="origins has no column 'people'"):
        tl.replay(many, town, origins=labelled.drop(columns="people"))


@pytest.mark.slow
def test_in_a_fresh_process(town: Network, places: gpd.GeoDataFrame, tmp_path: Path) -> None:
    town.save(tmp_path / "town.network")
    tl.time_map(town, places, travel_time=300, transportation="walking").to_parquet(tmp_path / "areas.parquet")
    code = (
        "import traveltime_lab as tl; network = tl.load_network('town.network');"
        "again = tl.replay('areas.parquet', network); print(again.digest, again.is_same, again.differences)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=env
    )
    wanted = tl.receipt(tmp_path / "areas.parquet")["answer"]["digest"]
    assert ran.stdout.split() == [wanted, "True", "()"]


def test_exports_of_a_map_have_one(town: Network, places: gpd.GeoDataFrame, tmp_path: Path) -> None:
    made = tl.TravelTimeMap(town, places, travel_time=300, transportation="walking", folder=tmp_path)
    drawn, parquet = tl.receipt(made.to_geojson()), tl.receipt(made.to_parquet())
    assert drawn == parquet and "tl.time_map(" in drawn["arguments"]["code"]
    assert len(gpd.read_file(tmp_path / "areas-walking.geojson")) == 9  # three rings
    with pytest.raises(tl.UnsupportedError, match="its code is in"):
        tl.replay(drawn, town)


def test_files_without_one(town: Network, places: gpd.GeoDataFrame, tmp_path: Path) -> None:
    places.to_parquet(tmp_path / "places.parquet")
    places.to_file(tmp_path / "places.geojson")
    (tmp_path / "no.parquet").write_text("no")
    (tmp_path / "empty").mkdir()
    for name in ("places.parquet", "places.geojson", "no.parquet", "empty"):
        with pytest.raises(tl.DataError):
            tl.receipt(tmp_path / name)
    with pytest.raises(tl.MissingFileError):
        tl.receipt(tmp_path / "missing.parquet")
    with pytest.raises(tl.InputError, match="the table has no receipt"):
        tl.receipt(places)
    found = tl.receipt(tl.snap(town, places))
    for wrong in ({}, {**found, "format_version": 2}, {**found, "points": []}, {**found, "function": "print"}):
        with pytest.raises(tl.DataError):
            tl.replay(wrong, town)
    with pytest.raises(tl.DataError, match="damaged or of a different version"):
        tl.replay({**found, "arguments": {"colour": 1}}, town)
    with pytest.raises(tl.InputError, match="no answer"):
        tl.replay({**found, "answer": None}, town)


def places_in(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of a JSON value, of lists the first two items."""
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content))[:2]:
            yield (*path, key)
            yield from places_in(content[key], (*path, key))


ODD = [
    None, True, -1, 5, 10**400, 1e308, "", "x", "EPSG:9", "2026-02-30", "\ud800", [], {}, [[]], [{}], [None],
    {"": None}, [1, 2], {"range": [0, 10**12, 1]}, float("nan"), ...,
]  # fmt: skip


@pytest.mark.parametrize("n_values", first_of(1, [2, len(ODD)], mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_damaged_receipts_are_refused(town: Network, places: gpd.GeoDataFrame, n_values: int) -> None:
    """Anything in the place of anything, and nothing: replayed or refused, with an error of the library."""
    found = tl.snap(town, places)
    whole = json.loads(json.dumps(dict(tl.receipt(found))))
    whole["network"]["changes"], whole["network"]["fingerprint_before_changes"] = [], town.fingerprint
    assert tl.replay(whole, town).is_same
    n_refused = 0
    for path in places_in(whole):
        for value in random.Random(str(path)).sample(ODD, n_values):
            damaged = copy.deepcopy(whole)
            owner = damaged
            for key in path[:-1]:
                owner = owner[key]
            if value is ...:
                del owner[path[-1]]
            else:
                owner[path[-1]] = value
            for given in ({}, {"points": places}):
                try:
                    tl.replay(damaged, town, **given)
                except tl.TravelTimeError:
                    n_refused += 1
    assert n_refused > 20 * n_values


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("points", "points", "crs"), "EPSG:zzz", "its points cannot be read .CRSError"),
        (("points", "points", "labels"), {"range": [0, 10**12, 1]}, "more than 10000"),
        (("points", "points", "labels"), {"range": [0, 10**30, 1]}, "its points cannot be read .OverflowError"),
        (("network", "files"), [{"name": "town.osm"}], "its files are incomplete or of a different type"),
        (("network", "changes"), 5, "its changes are incomplete or of a different type"),
        (("versions",), "1.0", "its versions are incomplete or of a different type"),
    ],
)
def test_what_is_damaged_is_said(
    town: Network, places: gpd.GeoDataFrame, path: tuple[str, ...], value: Any, says: str
) -> None:
    damaged = json.loads(json.dumps(dict(tl.receipt(tl.snap(town, places)))))
    owner = damaged
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    with pytest.raises(tl.DataError, match=says):
        tl.replay(damaged, town)


@pytest.mark.parametrize("steps", [{"soon": 1}, {"": 1}, {None: 1}])
def test_steps_of_a_decay_that_are_no_seconds(town: Network, places: gpd.GeoDataFrame, steps: dict[Any, Any]) -> None:
    decay = tl.Decay("step", steps={300: 1, 600: 0.5})
    damaged = json.loads(json.dumps(dict(tl.receipt(tl.accessibility(town, places, places, decay=decay, **ON_FOOT)))))
    damaged["arguments"]["decay"]["steps"] = steps
    with pytest.raises(tl.DataError, match="the receipt is damaged: the steps of its decay are not seconds"):
        tl.replay(damaged, town)


def test_a_digest_is_of_the_values(places: gpd.GeoDataFrame) -> None:
    table = pd.DataFrame({"a": pd.array([1, None, 3], "Int32"), "t": ["x", None, "y"], "f": [0.5, float("nan"), -0.0]})
    same = table.astype({"a": "Int64", "t": "category"})
    same["f"] = [0.5, float("nan"), 0.0]
    assert digest_of(table) == digest_of(same) == digest_of(table.set_axis(pd.Index([0, 1, 2])))
    in_parts = Digest()
    in_parts.add(table.iloc[:1])
    in_parts.add(table.iloc[1:].reset_index(drop=True))
    assert in_parts.hexdigest() == digest_of(table)
    moments = pd.DataFrame({"m": pd.to_datetime([MORNING, None]).tz_localize("Europe/Rome")})
    assert digest_of(moments) == digest_of(moments.assign(m=moments["m"].dt.tz_convert("UTC").dt.as_unit("s")))
    for other in (
        table.set_axis(["x", "y", "z"]), table.rename(columns={"a": "b"}), table.iloc[::-1], table[["t", "a", "f"]],
        table.assign(a=pd.array([1, 0, 3], "Int32")), table.assign(t=["x", "null", "y"]), table.iloc[:2],
    ):  # fmt: skip
        assert digest_of(other) != digest_of(table)
