"""Walks around stops and transfers of prepared networks: used where they are the same, and refused if forged."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

import traveltime_lab as tl
from tests.network.test_prepared import assert_equal, points
from tests.support.combinations import first_of
from traveltime_lab import Network
from traveltime_lab.network import prepared_file
from traveltime_lab.network.prepared import Prepared, name_of
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.transfers import Transfers
from traveltime_lab.transit.walks import Walks

#: What computes the walks around stops, and the transfers.
WALKS_AND_TRANSFERS = ["_walks", "transfers_by_pathways"]


@pytest.fixture(scope="module")
def city(cache_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Porto Alegre, not prepared and prepared for public transport."""
    folder = tmp_path_factory.mktemp("city")
    # Not the network that tests share, which one of them may have prepared.
    before = tl.sample_network("porto_alegre").save(folder / "before.network")
    return before, tl.load_network(before).prepare("public_transport").save(folder / "after.network")


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is searched around stops from here on."""
    found: list[str] = []
    for name in ("_walks", "transfers_by_pathways"):
        function = getattr(stop_links, name)
        monkeypatch.setattr(
            stop_links, name, lambda *given, name=name, of=function: (found.append(name), of(*given))[1]
        )
    return found


DEPARTURE, ARRIVAL = {"departure_time": "2019-05-14T08:00"}, {"arrival_time": "2019-05-14T09:00"}


def by_timetable(network: Network, means: Any, moment: dict[str, str]) -> list[Any]:
    """Matrices from and to more points than are searched one by one, with lengths, and areas."""
    near, far = points(network, 2, 1), points(network, 40, 2)
    how = {"transportation": means, **moment}
    both = ("travel_time", "distance")
    found: list[Any] = [
        tl.time_filter(network, *ends, travel_time=2400, properties=both, **how).reset_index().to_dict("list")
        for ends in ((near, far), (far, near))
    ]
    found.append(tl.time_filter(network, near, far, travel_time=2400, form="matrix", **how).to_numpy())
    found.append([shape.wkb for shape in tl.time_map(network, near, travel_time=1500, **how).geometry])
    return found


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(DEPARTURE, marks=pytest.mark.thorough, id="departure"),
        pytest.param(ARRIVAL, marks=pytest.mark.slow, id="arrival"),
    ],
)
def test_walks_and_transfers_are_not_searched_again(
    city: tuple[Path, Path], searched: list[str], moment: dict[str, str]
) -> None:
    before, after = (tl.load_network(path) for path in city)
    found = by_timetable(after, "public_transport", moment)
    # Modes of vehicles, and the limits of the search, change nothing about them.
    more = {"type": "public_transport", "max_changes": 1, "pt_change_delay": 60, "direct_walking_time": 300}
    for means in ("bus", "train", more):
        by_timetable(after, means, moment)
    assert not searched
    assert_equal(found, by_timetable(before, "public_transport", moment))
    assert sorted({*searched}) == WALKS_AND_TRANSFERS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"walking_time": 600}, ["_walks"], marks=pytest.mark.thorough),
        pytest.param({"transfer_walking_time": 300}, ["transfers_by_pathways"], marks=pytest.mark.thorough),
        pytest.param({"walking_speed": 3.5}, WALKS_AND_TRANSFERS, marks=pytest.mark.slow),
        pytest.param({"step_free": "lenient"}, WALKS_AND_TRANSFERS, marks=pytest.mark.thorough),
        pytest.param({"avoid": ("unlit",)}, WALKS_AND_TRANSFERS, marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_other_walks_are_searched(
    city: tuple[Path, Path], searched: list[str], options: dict[str, Any], expected: list[str]
) -> None:
    before, after = (tl.load_network(path) for path in city)
    means = {"type": "public_transport", **options}
    found = by_timetable(after, means, DEPARTURE)
    assert sorted({*searched}) == expected
    assert_equal(found, by_timetable(before, means, DEPARTURE))
    searched.clear()
    assert_equal(
        by_timetable(after, "public_transport", DEPARTURE), by_timetable(before, "public_transport", DEPARTURE)
    )


@pytest.mark.parametrize(
    "change",
    first_of(1, ["updates", "speeds", "streets", "stops"], mark=pytest.mark.thorough, few=pytest.mark.slow),
)
def test_changed_networks_have_their_own(city: tuple[Path, Path], searched: list[str], change: str) -> None:
    def changed(network: Network) -> Network:
        if change == "speeds":
            return tl.add_speeds(network, classes={"residential": 3}, mode="walking")
        if change == "streets":
            west, south, east, north = network.bounds
            x, y = (west + east) / 2, (south + north) / 2
            return network.with_changes(tl.CloseStreets(shapely.box(x - 0.003, y - 0.003, x + 0.003, y + 0.003)))
        if change == "stops":
            assert network.timetable is not None
            return network.with_changes(tl.RemoveStops(network.timetable.stops["stop_id"].iloc[:200].tolist()))
        return network.with_updates(b'{"header": {"gtfs_realtime_version": "2.0"}}')

    before, after = (changed(tl.load_network(path)) for path in city)
    found = by_timetable(after, "public_transport", DEPARTURE)
    assert bool(searched) == (change != "updates")
    assert_equal(found, by_timetable(before, "public_transport", DEPARTURE))


@pytest.mark.thorough
def test_walks_of_a_pickle(city: tuple[Path, Path], searched: list[str]) -> None:
    again = pickle.loads(pickle.dumps(tl.load_network(city[1])))
    found = by_timetable(again, "public_transport", DEPARTURE)
    assert not searched
    assert_equal(found, by_timetable(tl.load_network(city[1]), "public_transport", DEPARTURE))


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param([DEPARTURE], marks=pytest.mark.thorough),
        pytest.param([ARRIVAL], marks=pytest.mark.thorough),
        pytest.param([ARRIVAL, DEPARTURE], marks=pytest.mark.slow),
    ],
    ids=["departure", "arrival", "both"],
)
def test_files_do_not_depend_on_what_was_searched_before(
    city: tuple[Path, Path], tmp_path: Path, moments: list[dict[str, str]]
) -> None:
    network = tl.load_network(city[0])
    ends = points(network, 40, 1), points(network, 3, 2)
    for moment in moments:
        for pair in (ends, ends[::-1]):
            tl.time_filter(network, *pair, travel_time=2400, transportation="public_transport", **moment)
        tl.time_map(network, ends[1], travel_time=900, transportation="walking", **moment)
    found = network.prepare("public_transport").save(tmp_path / "after.network")
    assert found.read_bytes() == city[1].read_bytes()


@pytest.mark.thorough
def test_walks_of_other_means(city: tuple[Path, Path], tmp_path: Path, searched: list[str]) -> None:
    """Walks to stops are not prepared where these are reached by bicycle; options are part of the name."""
    means: list[Any] = [{"type": "cycling+public_transport", "walking_time": 600, "transfer_walking_time": 120}]
    network = tl.load_network(city[0]).prepare(*means)
    assert network.prepared == ("cycling+public_transport (walking_time 600; transfer_walking_time 120)",)
    again = tl.load_network(network.save(tmp_path / "cycling.network"))
    assert searched == WALKS_AND_TRANSFERS
    searched.clear()
    found = by_timetable(again, means[0], DEPARTURE)
    assert not searched
    assert_equal(found, by_timetable(tl.load_network(city[0]), means[0], DEPARTURE))


# Hostile files --------------------------------------------------------------------------------------------------------


def with_value(values: Any, at: int, value: int) -> Any:
    changed = np.array(values)
    changed[at] = value
    return changed


def with_rows(walks: Walks, **columns: Any) -> Walks:
    return replace(walks, rows=walks.rows._replace(**columns))


def twice(walks: Walks) -> Walks:
    """Return walks in which a row has a stop twice."""
    begin = walks.rows.indptr[np.argmax(np.diff(walks.rows.indptr) > 1)]
    return with_rows(walks, stops=with_value(walks.rows.stops, begin + 1, walks.rows.stops[begin]))


LEAVING: dict[str, Callable[[Walks], Walks]] = {
    "a stop that is none": lambda walks: with_rows(walks, stops=with_value(walks.rows.stops, -1, walks.n_stops)),
    "too long": lambda walks: with_rows(walks, ms=with_value(walks.rows.ms, 3, walks.budget_ms + 1)),
    "a negative length": lambda walks: with_rows(
        walks, more_cm=with_value(walks.rows.more_cm, int(np.argmin(walks.rows.ms)), -(1 << 15))
    ),
    "a wider length": lambda walks: with_rows(walks, more_cm=walks.rows.more_cm.astype(np.int64)),
    "a stop twice": twice,
    "another budget": lambda walks: replace(walks, budget_ms=1000),
    "other stops": lambda walks: replace(walks, n_stops=walks.n_stops + 1),
    "no rate": lambda walks: replace(walks, rate=0),
    "no number": lambda walks: replace(walks, rate=1.5),
    "a row too few": lambda walks: with_rows(walks, indptr=walks.rows.indptr[:-1]),
    "a row too many": lambda walks: with_rows(walks, indptr=np.append(walks.rows.indptr, walks.rows.indptr[-1])),
    "rows out of order": lambda walks: with_rows(walks, indptr=with_value(walks.rows.indptr, 1, 1 << 40)),
    "states of no other direction": lambda walks: replace(walks, states=np.zeros(1, np.int32)),
    "no rows": lambda walks: replace(walks, rows=None),
}
ENTERING: dict[str, Callable[[Walks], Walks]] = {
    "a state that is none": lambda walks: replace(walks, states=with_value(walks.states, -1, walks.n_states)),
    "states out of order": lambda walks: replace(walks, states=walks.states[::-1].copy()),
    "a state too few": lambda walks: replace(walks, states=walks.states[1:]),
    "the same direction": lambda walks: replace(walks, is_leaving=True),
    "a chain": lambda walks: replace(walks, other=replace(walks, is_leaving=True)),
    "no walks": lambda walks: replace(walks, other=walks.rows),
    "other units": lambda walks: replace(walks, rate=walks.rate + 1),
}
TRANSFERS: dict[str, Callable[[Transfers], Transfers]] = {
    "a stop that is none": lambda found: found._replace(stop=with_value(found.stop, 0, -1)),
    "a negative time": lambda found: found._replace(seconds=with_value(found.seconds, 0, -1)),
    "a negative change": lambda found: found._replace(change_time=with_value(found.change_time, -1, -1)),
    "a row too many": lambda found: found._replace(indptr=np.append(found.indptr, found.indptr[-1])),
}


@pytest.mark.parametrize(
    ("place", "fault"),
    [*((0, fault) for fault in LEAVING), *((1, fault) for fault in ENTERING), *((2, fault) for fault in TRANSFERS)],
)
def test_forged_values_are_refused(city: tuple[Path, Path], place: int, fault: str) -> None:
    network = tl.load_network(city[1], verify=False)
    values = list(network._prepared.values)
    at = [k for k, use in enumerate(values) if name_of(use) in ("walks around stops", "transfers")][place]
    forge: Callable[[Any], Any] = (LEAVING, ENTERING, TRANSFERS)[place][fault]
    values[at] = values[at]._replace(value=forge(values[at].value))
    layers = network.streets, network.transit
    header, columns = prepared_file.to_columns(Prepared((), tuple(values)), network.fingerprint, *layers)
    with pytest.raises((ValueError, AttributeError)):
        prepared_file.from_columns(json.loads(json.dumps(header)), columns, *layers)


def test_walks_of_other_streets_are_not_read(city: tuple[Path, Path]) -> None:
    """As if a file had passed all checks."""
    network = tl.load_network(city[1], verify=False)
    for use in network._prepared.values:
        if name_of(use) == "walks around stops" and use.value.other is None:
            rows = use.value.rows
            forged = with_rows(use.value, indptr=rows.indptr[:2], stops=rows.stops[: rows.indptr[1]])
            use.kind.pin(use.owner, use.key, forged)
    with pytest.raises(tl.DataError, match="do not fit its streets; prepare and save it again"):
        by_timetable(network, "public_transport", DEPARTURE)


def test_a_network_without_a_timetable_has_no_walks(city: tuple[Path, Path]) -> None:
    network = tl.load_network(city[1], verify=False)
    parts = prepared_file.to_columns(network._prepared, network.fingerprint, network.streets, network.transit)
    with pytest.raises(ValueError, match=r"of a NoneType|outside of the stops|not split"):
        prepared_file.from_columns(json.loads(json.dumps(parts[0])), parts[1], network.streets, None)
