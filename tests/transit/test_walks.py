"""Walks around stops: stored by state, in both directions together, and equal to a search from each stop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.combinations import combined
from tests.support.oracle_walks import Walked, earliest, walked
from tests.support.towns import ON_FOOT, blocks, timetable, towns
from tests.support.worlds import at, tables, with_slopes
from traveltime_lab.kernels.transit import walks as kernel
from traveltime_lab.kernels.unreached import NEVER, NEVER_KEY
from traveltime_lab.rounding import most_ms
from traveltime_lab.settings import settings as process
from traveltime_lab.transit import egress_on_foot, stop_links
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.stop_links import LinkedStops
from traveltime_lab.transit.walks import Walks

WALKING = tl.Transportation("walking")


#: Streets that are open on foot in the direction of their line only are told apart by the speed of cyclists.
ONE_WAY = {**ON_FOOT, "cycling_kph": 7.2}


def linked(folder: Any, town: Any, every: int, slopes: int) -> tuple[TransitLayer, LinkedStops]:
    """Return the stops of a town where every so many streets are one-way, and with random slopes; 0 for none."""
    nodes, links, stops, trips = town
    streets = tables(nodes, [(*link, ONE_WAY if every and not k % every else ON_FOOT) for k, link in enumerate(links)])
    uses = streets.uses.copy()
    uses.loc[uses["cycling_kph_forward"] == ONE_WAY["cycling_kph"], "walking_kph_backward"] = 0.0
    streets = replace(streets, uses=uses)
    if slopes:
        streets = with_slopes(streets, slopes)
    network = tl.build_network(streets, gtfs=timetable(folder, stops, trips), timezone="UTC")
    assert network.transit is not None
    return network.transit, stop_links.linked_stops(network.transit, network.road_graph(WALKING), WALKING)


def of_states(walks: Walks) -> Walked:
    """Return walks as the oracle does."""
    indptr, stops, ms = walks.by_state
    states = np.repeat(np.arange(indptr.size - 1), np.diff(indptr)).tolist()
    return dict(
        zip(zip(states, stops.tolist(), strict=True), zip(ms.tolist(), walks.cm.tolist(), strict=True), strict=True)
    )


def of_stops(walks: Walks) -> Walked:
    """Return times of the walks by stop, which are in ascending order, without lengths."""
    indptr, states, ms = walks.by_stop
    stops = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    assert (np.diff(ms)[np.diff(stops) == 0] >= 0).all()
    return {
        (state, stop): (time, 0) for state, stop, time in zip(states.tolist(), stops.tolist(), ms.tolist(), strict=True)
    }


@pytest.mark.slow
@given(
    towns(), st.sampled_from([0, 1, 2, 5]), st.sampled_from([0, 0, 7]), st.sampled_from([0, 100, 900]), st.booleans()
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_search_from_each_stop(
    tmp_path_factory: pytest.TempPathFactory, town: Any, every: int, slopes: int, budget_s: int, leaves_first: bool
) -> None:
    """Both directions, whichever is first: the same walks as those of a search from each stop in plain Python."""
    layer, stops = linked(tmp_path_factory.mktemp("feed"), town, every, slopes)
    for is_leaving in (leaves_first, not leaves_first):
        walks = stop_links.walks(layer, stops, budget_s, is_leaving=is_leaving)
        expected = walked(stops, budget_s, is_leaving=is_leaving)
        assert of_states(walks) == expected
        assert of_stops(walks) == {pair: (ms, 0) for pair, (ms, _) in expected.items()}
        assert (walks.is_leaving, walks.budget_ms, walks.n_stops) == (is_leaving, most_ms(budget_s), len(stops))
    if not every and not slopes:
        assert walks.other is not None, "streets that are open both ways have walks of one direction only"
        assert walks.states.size == walks.rows.ms.size == 0
    if walks.other is not None:
        assert 2 * walks.rows.ms.size <= walks.by_state.ms.size


@pytest.mark.thorough
@given(towns(), st.integers(0, 2**32 - 1), st.sampled_from([0, 60_000, 300_000, 1_000_000]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_earliest_arrivals(tmp_path_factory: pytest.TempPathFactory, town: Any, seed: int, limit_ms: int) -> None:
    """By stop, by state, and in plain Python."""
    layer, stops = linked(tmp_path_factory.mktemp("feed"), town, 2, 0)
    walks = stop_links.walks(layer, stops, 600, is_leaving=True)
    rng = np.random.default_rng(seed)
    times = rng.integers(0, limit_ms + 60_000, len(stops)).astype(np.int32)
    times[rng.random(times.size) < 0.3] = NEVER
    found = np.full(walks.n_states, NEVER_KEY)
    states = np.empty(walks.n_states, np.int32)
    n = kernel.spread(times, 0, times.size, limit_ms, walks.by_stop, found, states)
    assert sorted(states[:n].tolist()) == np.flatnonzero(found != NEVER_KEY).tolist()
    gathered = np.zeros(walks.n_states, np.int64)
    kernel.gather(times, limit_ms, walks.by_state, gathered)
    np.testing.assert_array_equal(gathered, found)
    reached = {
        int(state): (int(found[state]) >> 32, int(found[state]) & 0xFFFFFFFF)
        for state in np.flatnonzero(found != NEVER_KEY)
    }
    walks = replace(walks)
    assert walks.are_read_rarely(5)
    assert not walks.are_read_rarely(5)
    assert not walks.has_by_stop
    assert reached == earliest(walked(stops, 600, is_leaving=True), times, limit_ms)


def test_lengths_that_need_wider_numbers(tmp_path: Path) -> None:
    """A fast street of 3 km: the length differs by more than 327 m from the distance at walking speed."""
    nodes = {0: (0.0, 0.0), 1: (3000.0, 0.0), 2: (3100.0, 0.0)}
    fast = {**ON_FOOT, "walking_kph": 30.0}
    stops = {"a": (0.0, 0.0), "b": (3000.0, 0.0)}
    streets = tables(nodes, [(0, 1, fast), (1, 2, ON_FOOT)])
    network = tl.build_network(
        streets, gtfs=timetable(tmp_path, stops, [[("a", 28_800), ("b", 29_100)]]), timezone="UTC"
    )
    assert network.transit is not None
    linked = stop_links.linked_stops(network.transit, network.road_graph(WALKING), WALKING)
    for is_leaving in (True, False):
        walks = stop_links.walks(network.transit, linked, 900, is_leaving=is_leaving)
        assert of_states(walks) == walked(linked, 900, is_leaving=is_leaving)
        assert (walks.other or walks).rows.more_cm.dtype == np.int32
    loaded = tl.load_network(network.prepare("public_transport").save(tmp_path / "fast.network"))
    assert loaded.prepared == ("public_transport",)


BUS = {"transportation": {"type": "public_transport", "walking_time": 300}}


@pytest.mark.parametrize(
    ("how", "limit_s"),
    combined(
        [{"departure_time": "2026-03-02T08:00"}, {"arrival_time": "2026-03-02T08:30"}], [120, 420, 1500],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_areas_do_not_depend_on_how_streets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, str], limit_s: int
) -> None:
    """Those around states that are reached, or all; the walks of all stops at once, or in two parts."""
    network, here = blocks(tmp_path), at((880, 640))
    areas = []
    # States that are listed, and all of them, from all stops in two parts and in one.
    for few, many in ((10**9, 0), (0, 0), (0, 10**9)):
        monkeypatch.setattr(egress_on_foot, "_FEW_LINKS", few)
        monkeypatch.setattr(egress_on_foot, "_MANY_LINKS", many)
        with process.override(threads=2):
            areas.append(
                [
                    tl.time_map(network, here, travel_time=limit_s, **BUS, **how, **more).geometry.iloc[0]
                    for more in ({}, {"window": 600, "percentile": 40}, {"render_mode": "road_buffering"})
                ]
            )
    assert not any(area.is_empty for area in areas[0])
    assert [[area.wkb for area in row] for row in areas] == [[area.wkb for area in areas[0]]] * 3
