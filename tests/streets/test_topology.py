"""Which streets are open to whom, where ferries are boarded, and what signals cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.worlds import FRAME, at, tables, world
from traveltime_lab.streets import costs
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import weigh
from traveltime_lab.streets.tables import NODE_SIGNALS
from traveltime_lab.streets.topology import build_topology, open_edges

FERRY: dict[str, Any] = {"highway": None, "route": "ferry"}
#: A street of each kind, one after the other.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "destination": {"access": "destination"},
    "private": {"access": "private"},
    "track": {"highway": "track"},
    "toll": {"toll": "yes"},
    "ferry": FERRY,
    "one-way": {"oneway": "yes"},
}


@pytest.mark.parametrize(
    ("means", "closed"),
    [
        ({"type": "driving"}, {"private", "track", "ferry"}),
        ({"type": "driving", "include_roads": ["restricted"]}, {"track", "ferry"}),
        ({"type": "driving", "include_roads": ["track"]}, {"private", "ferry"}),
        ({"type": "driving", "exclude_roads": ["toll"]}, {"private", "track", "toll", "ferry"}),
        ({"type": "driving+ferry", "include_roads": ["restricted", "track"]}, set()),
        ({"type": "walking"}, {"private", "ferry"}),
        ({"type": "cycling+ferry"}, {"private"}),
    ],
)
def test_which_streets_are_open(means: dict[str, Any], closed: set[str]) -> None:
    streets = [(i, i + 1, tags) for i, tags in enumerate(KINDS.values())]
    drawn = tables({i: (100 * i, 0) for i in range(len(KINDS) + 1)}, streets)
    forward, backward = open_edges(drawn, tl.Transportation(**means)).reshape(-1, 2).T
    assert {kind for kind, is_open in zip(KINDS, forward, strict=True) if not is_open} == closed
    against = closed if means["type"] == "walking" else closed | {"one-way"}
    assert {kind for kind, is_open in zip(KINDS, backward, strict=True) if not is_open} == against


@pytest.mark.parametrize("mode", ["walking+ferry", "cycling+ferry", "driving+ferry"])
def test_a_ferry_in_pieces_is_boarded_once(mode: str) -> None:
    nodes = {"A": (0, 0), "B": (500, 0), "C": (2500, 0), "D": (3000, 0)}
    whole = world(nodes, [("A", "B"), ("B", "C", FERRY), ("C", "D")])
    pieces = [("B", "X", FERRY), ("X", "Y", FERRY), ("Y", "C", FERRY)]
    cut = world({**nodes, "X": (1000, 0), "Y": (2000, 0)}, [("A", "B"), *pieces, ("C", "D")])
    ends = at((0, 0), (3000, 0))
    times = []
    for boarding_time in (0, 300):
        how: dict[str, Any] = {"transportation": {"type": mode, "boarding_time": boarding_time}, "travel_time": 7200}
        both = [tl.time_filter(network, ends, ends, form="matrix", **how).to_numpy() for network in (whole, cut)]
        np.testing.assert_array_equal(*both)
        times.append(both[0])
    np.testing.assert_array_equal(times[1] - times[0], [[0, 300], [300, 0]])


@pytest.mark.parametrize("mode", ["walking", "cycling", "driving"])
def test_signals_cost_the_same_everywhere(mode: str) -> None:
    """Straight on, without and with signals at the middle of three nodes."""
    plain = tables({0: (0, 0), 1: (100, 0), 2: (200, 0)}, [(0, 1), (1, 2)])
    lit = replace(plain, node_flags=np.array([0, NODE_SIGNALS, 0], np.uint16))
    how: dict[str, Any] = {"is_left_hand": False, "timed": np.zeros(0, np.bool_)}
    one, two = (build_topology(each, tl.Transportation(mode), FRAME, **how) for each in (plain, lit))
    np.testing.assert_array_equal(one.indices, two.indices)
    arc = two.arc_edge
    # One comes to the signals by the first edge forwards and by the second backwards, and goes on or turns around.
    comes = (arc == 0) | (arc == 3)
    assert set(arc[comes].tolist()) == {0, 3}
    assert (two.arc_extra_ms - one.arc_extra_ms == np.where(comes, 1000 * costs.SIGNAL_S, 0)).all()


@pytest.mark.parametrize("mode", ["walking+ferry", "cycling+ferry", "driving+ferry"])
def test_the_weight_of_an_arc_is_that_of_its_edge_turn_and_boarding(mode: str) -> None:
    """To the millisecond, of which an answer shows the sums only."""
    nodes = {0: (0, 0), 1: (100, 0), 2: (2000, 0), 3: (2100, 0), 4: (2100, 100)}
    drawn = tables(nodes, [(0, 1), (1, 2, FERRY), (2, 3), (3, 4)])
    how = tl.Transportation(type=mode, boarding_time=77)
    topology = build_topology(drawn, how, FRAME, is_left_hand=False, timed=np.zeros(0, np.bool_))
    graph = weigh(topology, drawn, how, 1.0)
    along_ms = np.repeat(np.rint(drawn.edge_length_m * 3600 / 18), 2)
    expected = along_ms[topology.arc_edge] + topology.arc_extra_ms + 77_000 * topology.arc_boards
    assert topology.arc_boards.any() and (topology.arc_extra_ms > 0).any() == mode.startswith("driving")
    assert label_parts.ms(graph.weights).tolist() == expected.tolist()
    assert label_parts.cm(graph.weights).tolist() == np.rint(100 * drawn.edge_length_m)[topology.arc_edge // 2].tolist()
