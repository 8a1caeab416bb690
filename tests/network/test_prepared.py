"""Prepared networks: the same answers, from what the file has, and never from what belongs to another question."""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.network.test_saved_files import assert_refused
from tests.support.combinations import combined, first_of
from tests.support.oracles import random_points
from tests.support.worlds import tables, towns, world
from traveltime_lab import Transportation
from traveltime_lab.errors import InputError, ModeError
from traveltime_lab.network import checksums, prepared_file
from traveltime_lab.network.network import Network
from traveltime_lab.streets import contraction, layer, segments, snapping
from traveltime_lab.surfaces import field

MODES = ("walking", "cycling", "driving")
MOMENT = "2026-03-03T08:00"
EVERY_MOMENT = (None, MOMENT)


def points(network: Network, number: int, seed: int) -> gpd.GeoSeries:
    return gpd.GeoSeries.from_xy(*random_points(network, number, seed), crs="EPSG:4326")


def answers(network: Network, means: Any, moment: str | None = None) -> list[Any]:
    """Matrices, areas and routes, as values that compare bit by bit."""
    near, far = points(network, 3, 1), points(network, 40, 2)
    when = {} if moment is None else {"departure_time": moment}
    how = {"transportation": means, **when}
    found: list[Any] = []
    for engine in ("auto", "dijkstra", "hierarchy"):
        with_engine = (
            {}
            if Transportation(**means if isinstance(means, dict) else {"type": means}).uses_timetable
            else {"engine": engine}
        )
        table = tl.time_filter(
            network, near, far, travel_time=3600, properties=("travel_time", "distance"), **with_engine, **how
        )
        found.append(table.reset_index().to_dict("list"))
    areas = tl.time_map(network, near, travel_time=600, **how)
    found.append([shape.wkb for shape in areas.geometry])
    found.append(tl.routes(network, near, far.iloc[:3], **how).to_wkb(hex=True).to_csv())
    return found


def assert_equal(one: list[Any], other: list[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_equal(a, b)


@pytest.fixture(scope="module")
def plain(cache_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Not the network that tests share, which one of them may have prepared.
    return tl.sample_network("helsinki").save(tmp_path_factory.mktemp("plain") / "helsinki.network")


@pytest.fixture(scope="module")
def ready(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    network = tl.load_network(plain)
    assert network.prepared == ()
    assert network.prepare(*MODES) is network
    return network.save(tmp_path_factory.mktemp("ready") / "helsinki.network")


@pytest.fixture
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever prepared values are made with fails."""

    def fail(*_args: Any, **_more: Any) -> None:
        raise AssertionError("made again")

    for module, name in (
        (layer, "build_topology"), (layer, "weigh"), (contraction, "_rank"), (contraction, "_contract"),
        (contraction, "_customize"),
        (snapping, "build_grid"), (segments, "build_grid"), (segments, "_segments"), (field, "_edge_boxes"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, fail)


@pytest.mark.parametrize(("mode", "verify"), combined(MODES, [True, False], mark=pytest.mark.thorough))
def test_the_same_answers(plain: Path, ready: Path, mode: str, verify: bool) -> None:
    before, after = tl.load_network(plain), tl.load_network(ready, verify=verify)
    assert after.prepared == MODES
    assert after.fingerprint == before.fingerprint
    for moment in EVERY_MOMENT:
        assert_equal(answers(after, mode, moment), answers(before, mode, moment))


@pytest.mark.parametrize("mode", first_of(1, MODES, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_files_do_not_depend_on_what_was_searched_before(plain: Path, ready: Path, tmp_path: Path, mode: str) -> None:
    network = tl.load_network(plain)
    for moment in EVERY_MOMENT:
        answers(network, mode, moment)
    assert network.prepare(*MODES).save(tmp_path / "after.network").read_bytes() == ready.read_bytes()


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_made_again(ready: Path, mode: str) -> None:
    network = tl.load_network(ready, verify=False)
    near, far = points(network, 3, 1), points(network, 40, 2)
    for engine in ("auto", "dijkstra", "hierarchy"):
        tl.time_filter(network, near, far, travel_time=3600, transportation=mode, engine=engine)
    tl.time_map(network, near, travel_time=600, transportation=mode)


@pytest.mark.parametrize("mode", first_of(1, MODES, mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_other_speeds(plain: Path, ready: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = tl.load_network(plain), tl.load_network(ready, verify=False)
    speeds = {"classes": {"residential": 11, "primary": 23}, "mode": mode}
    slow_before, slow_after = (tl.add_speeds(network, **speeds) for network in (before, after))
    assert slow_after.fingerprint == slow_before.fingerprint != before.fingerprint
    monkeypatch.setattr(contraction, "_rank", None)  # the order does not depend on speeds
    monkeypatch.setattr(layer, "build_topology", None)
    found = answers(slow_after, mode)
    monkeypatch.undo()
    assert_equal(found, answers(slow_before, mode))
    assert_equal(answers(after, mode), answers(before, mode))


OWN = {"type": "public_transport", "walking_speed": 3.5}


@pytest.mark.thorough
def test_own_speeds(porto_alegre: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traveltime_lab.transit import stop_links

    before = tl.load_network(porto_alegre.save(tmp_path / "before.network"))
    after = tl.load_network(tl.load_network(tmp_path / "before.network").prepare(OWN).save(tmp_path / "x"))
    assert after.prepared == ("public_transport (walking_speed 3.5 km/h)",)
    monkeypatch.setattr(layer, "weigh", None)
    monkeypatch.setattr(stop_links, "STOP_SNAPPING", None)
    graph = after.road_graph({"type": "walking", "walking_speed": 3.5})
    assert after.transit is not None
    stop_links.linked_stops(after.transit, graph, Transportation("walking"))
    monkeypatch.undo()
    own, usual = (answers(before, means, "2019-05-14T08:00") for means in (OWN, "public_transport"))
    assert_equal(answers(after, OWN, "2019-05-14T08:00"), own)
    assert own[0]["travel_time"] != usual[0]["travel_time"]


@pytest.mark.thorough
def test_with_a_timetable(porto_alegre: Network, tmp_path: Path) -> None:
    before = tl.load_network(porto_alegre.save(tmp_path / "before.network"))
    path = (
        tl.load_network(porto_alegre.save(tmp_path / "after.network")).prepare("public_transport").save(tmp_path / "x")
    )
    after = tl.load_network(path)
    assert after.prepared == ("public_transport",)
    assert after.transit is not None
    for moment in ("2019-05-14T08:00", "2019-05-17T17:30"):
        assert_equal(answers(after, "public_transport", moment), answers(before, "public_transport", moment))
    assert_equal(answers(after, "walking"), answers(before, "walking"))


@pytest.mark.thorough
def test_stops_are_not_tied_again(porto_alegre: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traveltime_lab.transit import stop_links

    path = tl.load_network(porto_alegre.save(tmp_path / "a")).prepare("public_transport").save(tmp_path / "b")
    network = tl.load_network(path)
    assert network.transit is not None
    monkeypatch.setattr(stop_links, "snap_points", None)
    graph = network.road_graph("walking")
    stops = stop_links.linked_stops(network.transit, graph, Transportation("walking"))
    monkeypatch.undo()
    assert porto_alegre.transit is not None
    other = stop_links.linked_stops(porto_alegre.transit, porto_alegre.road_graph("walking"), Transportation("walking"))
    np.testing.assert_array_equal(stops.leaving.snaps.edge, other.leaving.snaps.edge)
    np.testing.assert_array_equal(stops.leaving.on_edges.connector, other.leaving.on_edges.connector)


def times_in_a_worker(path: Path | Network, mode: str) -> tuple[tuple[str, ...], bytes]:
    network = tl.load_network(path, verify=False) if isinstance(path, Path) else path
    ends = points(network, 30, 3)
    table = tl.time_filter(network, ends, ends, travel_time=3600, transportation=mode, form="matrix")
    return network.prepared, table.to_numpy().tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.thorough
def test_workers(plain: Path, ready: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = times_in_a_worker(plain, "driving")[1]
    network = tl.load_network(ready)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for source in (ready, network):
            assert pool.submit(times_in_a_worker, source, "driving").result() == (MODES, expected)


@pytest.mark.usefixtures("nothing_is_made")
def test_a_pickle_is_prepared(ready: Path) -> None:
    again = pickle.loads(pickle.dumps(tl.load_network(ready)))
    assert times_in_a_worker(again, "driving") == times_in_a_worker(tl.load_network(ready), "driving")


# Options and stale parts ---------------------------------------------------------------------------------------------

#: Everything that decides on streets or speeds.
MEANS = st.one_of(
    st.builds(
        Transportation,
        st.sampled_from(["driving", "driving+ferry"]),
        include_roads=st.sets(st.sampled_from(["restricted", "track"])).map(tuple),
        exclude_roads=st.sets(st.sampled_from(["toll"])).map(tuple),
        traffic_model=st.sampled_from([None, "peak", "off_peak", "pessimistic"]),
    ),
    st.sampled_from(["walking", "walking+ferry", "cycling", "cycling+ferry"]).map(Transportation),
    st.builds(Transportation, st.just("driving+ferry"), boarding_time=st.sampled_from([0, 600])),
)
ACCEPTED = st.sampled_from(["both_drivable_and_walkable", "any_drivable"])


@given(
    towns(), MEANS, MEANS, ACCEPTED, st.sampled_from(["2026-03-03T08:30", None]), st.sampled_from(["time", "distance"])
)
@hypothesis_settings(max_examples=60, suppress_health_check=list(HealthCheck))
@pytest.mark.thorough
def test_another_question_gets_its_own_answer(
    network: Network, prepared_for: Transportation, asked: Transportation, accept: str, moment: str | None, metric: Any
) -> None:
    """A part that was prepared for some options is not used for others."""
    fresh = pickle.loads(pickle.dumps(network))
    try:
        network.prepare(prepared_for)
    except ModeError as error:
        assert "no street" in str(error)
    header, columns = prepared_file.to_columns(network._prepared, network.fingerprint, network.streets, network.transit)
    header = json.loads(json.dumps(header))
    read = pickle.loads(pickle.dumps(fresh))
    read._prepared = prepared_file.from_columns(header, columns, read.streets, read.transit)
    read._prepared.pin()
    ends = points(network, 8, 5)
    when = None if moment is None else dt.datetime.fromisoformat(moment).replace(tzinfo=dt.UTC)
    for other in (network, read):
        one, two = (each.road_graph(asked, when, metric=metric) for each in (fresh, other))
        np.testing.assert_array_equal(one.weights, two.weights)
        np.testing.assert_array_equal(one.topology.indices, two.topology.indices)
        np.testing.assert_array_equal(one.core_backward.arcs.weights, two.core_backward.arcs.weights)
        made = [contraction.hierarchy(each.streets, graph) for each, graph in ((fresh, one), (other, two))]
        for mine, theirs in zip(made[0].up, made[1].up, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        how = {"transportation": asked, "snapping": {"accept_roads": accept}, "departure_time": when}
        matrices = [
            tl.time_filter(each, ends, ends, travel_time=3600, form="matrix", **how).to_numpy()
            for each in (fresh, other)
        ]
        np.testing.assert_array_equal(*matrices)


def header_of(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    with pa.OSFile(str(path), "rb") as source:
        table = pa.ipc.open_file(source).read_all()
    return table, json.loads(table.schema.metadata[b"traveltime_lab.network"])


def written_with(path: Path, header: dict[str, Any], table: pa.Table) -> Path:
    table = table.replace_schema_metadata({b"traveltime_lab.network": json.dumps(header)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    checksums.seal(path)
    return path


@pytest.mark.parametrize("what", ["made_with", "network"])
def test_parts_of_another_version_or_network_are_not_used(ready: Path, tmp_path: Path, what: str) -> None:
    table, header = header_of(ready)
    header["prepared"][what] = "0" * 32
    network = tl.load_network(written_with(tmp_path / "old.network", header, table))
    assert network.prepared == ()
    told = str(network.report())
    assert "prepared for: nothing (the file was prepared for walking, cycling and driving by another version" in told
    assert "call prepare and save again" in told
    again = network.prepare("walking").save(tmp_path / "new.network")
    assert tl.load_network(again).prepared == ("walking",)


def test_damage_is_found(ready: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.network"
    copy.write_bytes(ready.read_bytes())
    with pa.memory_map(str(copy), "rb") as mapped:
        whole = mapped.read_buffer()
        table = pa.ipc.open_file(pa.BufferReader(whole)).read_all()
        names = [name for name in table.column_names if name.startswith(prepared_file.PREFIX)]
        places = [
            table.column(name).chunk(0).values.buffers()[1].address - whole.address
            for name in names
            if len(table.column(name).chunk(0).values)
        ]
        del table, whole
    content = copy.read_bytes()
    for at in places[:: max(1, len(places) // 20)]:
        assert_refused(copy, at, bytes([content[at] ^ 1]))


# What a user sees ----------------------------------------------------------------------------------------------------


def test_it_says_what_it_is_prepared_for(plain: Path, ready: Path) -> None:
    network = tl.load_network(ready)
    assert "prepared for walking, cycling and driving" in repr(network)
    assert "prepared for: walking, cycling and driving" in str(network.report())
    # Not the network that tests share: others prepare it.
    network = tl.load_network(plain)
    assert "prepared" not in repr(network)
    assert "prepared for: nothing" in str(network.report())


@pytest.mark.thorough
def test_more_can_be_prepared_later(plain: Path, tmp_path: Path) -> None:
    network = tl.load_network(plain).prepare("walking")
    again = tl.load_network(network.save(tmp_path / "one.network")).prepare("driving", "walking")
    assert again.prepared == ("walking", "driving")
    both = tl.load_network(again.save(tmp_path / "two.network"))
    assert both.prepared == ("walking", "driving")
    assert_equal(answers(both, "driving"), answers(tl.load_network(plain), "driving"))
    options = tl.load_network(plain).prepare({"type": "driving", "traffic_model": "peak"})
    assert options.prepared == ("driving (traffic_model peak)",)


def test_what_cannot_be_prepared(helsinki: Network) -> None:
    with pytest.raises(ModeError, match="no timetable"):
        helsinki.prepare("public_transport")
    with pytest.raises(ModeError, match="hovering"):
        helsinki.prepare("hovering")
    with pytest.raises(InputError, match="at least one"):
        helsinki.prepare()
    only_cars = world({0: (0, 0), 1: (500, 0)}, [(0, 1, {"highway": "primary", "cycling_kph": 0.0})])
    with pytest.raises(ModeError, match=r"'cycling' cannot be prepared, because no street .* is open to it"):
        only_cars.prepare("cycling")
    assert only_cars.prepare("driving").prepared == ("driving",)


@pytest.mark.parametrize("prepare", ["walking", ("walking", "driving"), [Transportation("cycling")]])
def test_building(prepare: Any) -> None:
    streets = tables({0: (0, 0), 1: (500, 0)}, [(0, 1)])
    network = tl.build_network(streets, timezone="UTC", prepare=prepare)
    assert len(network.prepared) == (1 if isinstance(prepare, str) else len(prepare))
    for wrong, kind in ((("flying",), ModeError), (5, InputError)):
        with pytest.raises(kind):
            tl.build_network(streets, timezone="UTC", prepare=wrong)


def test_a_network_in_memory_uses_what_it_prepared(plain: Path) -> None:
    network = tl.load_network(plain).prepare("walking")
    graph = network.road_graph("walking")
    for minute in range(40):  # more than the memo of graphs keeps
        network.road_graph("driving", f"2026-03-{1 + minute % 28:02d}T{minute % 24:02d}:00")
    assert network.road_graph("walking") is graph


def written(*arrays: np.ndarray) -> tuple[Network, dict[str, Any], dict[str, np.ndarray]]:
    """Return a network, and the header and columns of a tuple of arrays as of a prepared value."""
    network = tl.sample_network("helsinki")
    writer = prepared_file.Writer(network.streets, None)
    return network, writer._tree(arrays), writer.columns


def read(network: Network, tree: Any, columns: dict[str, np.ndarray]) -> Any:
    owners = {"streets": network.streets, "transit": None}
    return prepared_file._Reader(owners, columns, is_known=False).value(json.loads(json.dumps(tree)))


@given(
    dtype=st.sampled_from(["int8", "uint8", "int16", "int32", "int64", "bool", "float32", "float64"]),
    size=st.integers(0, 200),
    other=st.dictionaries(st.integers(0, 199), st.integers(-1, 2), max_size=14),
    width=st.sampled_from([None, 4]),
)
def test_arrays_of_zeros_are_read_as_they_were(dtype: str, size: int, other: dict[int, int], width: int | None) -> None:
    array = np.zeros(size, dtype)
    for place, number in other.items():
        array[place : place + 1] = np.array(number).astype(dtype)
    if dtype.startswith("float"):
        array = -array  # zeros with a sign
    if width is not None:
        array = array[: size // width * width].reshape(-1, width)
    network, tree, columns = written(array, array.copy())
    for found in read(network, tree, columns):
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
        # Kernels are compiled once more for arrays that cannot be written.
        assert found.flags.writeable
    if array.dtype.kind != "f":
        rare = 16 * np.count_nonzero(array) < array.size
        assert sum(column.size for column in columns.values()) == (2 * np.count_nonzero(array) if rare else array.size)


def test_many_zeros_take_no_memory() -> None:
    """A file cannot take memory with an array that is longer than all of its columns."""
    network, tree, columns = written(np.zeros(1000, np.int64))
    tree["tuple"][0]["shape"] = [1 << 50]
    with pytest.raises(ValueError, match="an array of zeros has"):
        read(network, tree, columns)


@pytest.mark.parametrize("places", [[-1, 5], [5, 5], [7, 5], [5, 1000], [5]])
def test_places_that_are_none(places: list[int]) -> None:
    array = np.zeros(1000, np.int64)
    array[[3, 5]] = 7
    network, tree, columns = written(array)
    columns[tree["tuple"][0]["at"]] = np.array(places)
    with pytest.raises((ValueError, IndexError)):
        read(network, tree, columns)
