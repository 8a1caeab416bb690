"""Which sequences of streets a car may drive under turn restrictions, against rules that read the whole sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.worlds import FRAME, tables
from traveltime_lab.streets.graph import Topology
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.streets.topology import build_topology

pytestmark = pytest.mark.quick

Path = tuple[int, ...]
#: A ladder of two squares, and a street from a corner to the outside: edges 0 to 7, each in two directions.
NODES = {(i, j): (100.0 * i, 100.0 * j) for i in range(3) for j in range(2)} | {"out": (300.0, 0.0)}
LINKS = [((i, j), (i + 1, j)) for i in range(2) for j in range(2)] + [((i, 0), (i, 1)) for i in range(3)]
LADDER = tables(NODES, [*LINKS, ((2, 0), "out")])
LONGEST = 5


def restricted(streets: StreetTables, restrictions: list[tuple[bool, Path]]) -> StreetTables:
    """Return streets with turn restrictions, each as (whether it is mandatory, directed edges)."""
    return replace(
        streets,
        restriction_only=np.array([only for only, _ in restrictions], np.bool_),
        restriction_indptr=np.cumsum([0, *(len(path) for _, path in restrictions)]).astype(np.int64),
        restriction_edges=np.array([edge for _, path in restrictions for edge in path], np.int32),
    )


def car_topology(streets: StreetTables) -> Topology:
    timed = np.zeros(0, np.bool_)
    return build_topology(streets, tl.Transportation("driving"), FRAME, is_left_hand=False, timed=timed)


def routes(topology: Topology) -> set[Path]:
    """Return the sequences of up to `LONGEST` directed edges along which a route may lead."""
    found: set[Path] = set()
    exits = zip(topology.exit_indptr[:-1], topology.exit_indptr[1:], strict=True)
    waiting = [
        ((edge, int(topology.state_edge[state])), int(state))
        for edge, (begin, end) in enumerate(exits)
        for state in topology.exit_states[begin:end]
    ]
    while waiting:
        path, state = waiting.pop()
        found.add(path)
        if len(path) < LONGEST:
            following = topology.indices[topology.indptr[state] : topology.indptr[state + 1]].tolist()
            waiting.extend(((*path, int(topology.state_edge[after])), after) for after in following)
    return found


def is_allowed(route: Path, restrictions: list[tuple[bool, Path]]) -> bool:
    """Return whether a route obeys restrictions: it leads along no refused path, and follows what is mandatory."""
    for begin in range(len(route)):
        for end in range(begin + 2, len(route) + 1):
            part = route[begin:end]
            if (False, part) in restrictions:
                return False
            mandatory = {path[-1] for only, path in restrictions if only and path[:-1] == part[:-1]}
            if mandatory and part[-1] not in mandatory:
                return False
    return True


EVERY_ROUTE = sorted(routes(car_topology(LADDER)))
RESTRICTIONS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([route for route in EVERY_ROUTE if len(route) < LONGEST])),
    max_size=5,
    unique=True,
)


@given(RESTRICTIONS)
def test_routes_are_those_that_obey_the_restrictions(restrictions: list[tuple[bool, Path]]) -> None:
    """Restrictions may overlap, begin within one another, and be mandatory towards several streets."""
    assert routes(car_topology(restricted(LADDER, restrictions))) == {
        route for route in EVERY_ROUTE if is_allowed(route, restrictions)
    }


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_restriction_of_two_to_four_streets(only: bool, n: int) -> None:
    for path in [route for route in EVERY_ROUTE if len(route) == n][::17]:
        found = routes(car_topology(restricted(LADDER, [(only, path)])))
        assert found == {route for route in EVERY_ROUTE if is_allowed(route, [(only, path)])}


def test_restrictions_via_streets_for_destinations_only_are_left_out() -> None:
    """Nor do these leave a state behind."""
    along = ((0, 0), (1, 0)), ((1, 0), (2, 0))
    zone = tables(NODES, [(*link, {"access": "destination"} if link in along else {}) for link in LINKS])
    plain = car_topology(zone)
    before, middle, after = (zone_edge(zone, *link) for link in (*along, ((2, 0), (2, 1))))
    same = car_topology(restricted(zone, [(False, (before, middle, after))]))
    assert (before, middle, after) in routes(plain)
    assert same.state_edge.tolist() == plain.state_edge.tolist()
    assert routes(same) == routes(plain)


def zone_edge(streets: StreetTables, start: object, end: object) -> int:
    """Return the directed edge between two nodes of `NODES`."""
    names = list(NODES)
    ends = names.index(start), names.index(end)
    (edge,) = np.flatnonzero((streets.edge_from == ends[0]) & (streets.edge_to == ends[1]))
    return 2 * int(edge)
