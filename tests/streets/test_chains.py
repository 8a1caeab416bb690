"""Edges between junctions, against a slow twin that joins them one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import hypothesis.strategies as st
import numpy as np
from hypothesis import example, given

from traveltime_lab.streets.chains import chains, distinct

NODE = st.integers(0, 5)
#: Node where an edge begins, node where it ends, open forwards, open backwards.
EDGES = st.lists(st.tuples(NODE, NODE, st.booleans(), st.booleans()), max_size=12)


class Groups:
    """Sets that are merged."""

    def __init__(self, items: Iterable[int]) -> None:
        self.of = {item: {item} for item in items}

    def merge(self, one: int, other: int) -> None:
        both = self.of[one] | self.of[other]
        self.of |= dict.fromkeys(both, both)

    def numbers(self) -> list[int]:
        """Return the smallest member of the group of each item."""
        return [min(self.of[item]) for item in self.of]


def renumbered(numbers: np.ndarray) -> list[int]:
    """Return for each item the first with the same number."""
    return [numbers.tolist().index(number) for number in numbers]


@given(EDGES)
@example([(0, 0, True, True)])
@example([(0, 1, True, False), (2, 1, False, True), (1, 3, False, False)])
@example([(0, 1, True, True), (1, 0, True, True)])
def test_edges_are_joined_where_two_meet(edges: list[tuple[int, int, bool, bool]]) -> None:
    is_open = np.array([way for edge in edges for way in edge[2:]], np.bool_)
    junction = np.array([node for edge in edges for node in edge[:2]], np.int32)
    found = chains(is_open, junction, 6)
    at_node = defaultdict(list)
    for edge, (start, end, *ways) in enumerate(edges):
        if any(ways):
            at_node[start].append(2 * edge)
            at_node[end].append(2 * edge + 1)
    by_direction, by_edge = Groups(range(2 * len(edges))), Groups(range(len(edges)))
    inner = set()
    for node, beginning in at_node.items():
        if len(beginning) != 2 or beginning[0] // 2 == beginning[1] // 2:
            continue
        inner.add(node)
        one, other = beginning
        # Who comes by one edge, against the direction in which it begins here, goes on by the other.
        by_direction.merge(one ^ 1, other)
        by_direction.merge(other ^ 1, one)
        by_edge.merge(one // 2, other // 2)
    assert renumbered(found.of_directed) == by_direction.numbers()
    assert renumbered(found.of_edge) == by_edge.numbers()
    assert set(np.flatnonzero(found.is_inner).tolist()) == inner
    assert found.ends.tolist() == [node not in inner for node in junction]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_equal_members_count_once(rows: list[tuple[int, int]]) -> None:
    group, member = np.array(rows, np.int32).reshape(-1, 2).T
    expected = [len({each for mine, each in rows if mine == number}) for number in range(5)]
    assert distinct(group, member, 5).tolist() == expected
