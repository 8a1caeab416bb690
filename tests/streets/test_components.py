"""Orders by row and components of graphs equal those of numpy and networkx."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.streets.components import order_by_row, strong, weak

nx = pytest.importorskip("networkx")

N = 12
ARCS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=40)


def ends(arcs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.array(arcs, np.int64).reshape(-1, 2).T
    return source, target


def sets(numbers: np.ndarray) -> set[frozenset[int]]:
    """Return the nodes of each component."""
    return {frozenset(np.flatnonzero(numbers == number).tolist()) for number in np.unique(numbers)}


@given(ARCS)
@settings(max_examples=150)
def test_small_graphs(arcs: list[tuple[int, int]]) -> None:
    """With loops, parallel arcs, and nodes without arcs."""
    source, target = ends(arcs)
    indptr, order = order_by_row(source, N)
    assert order.tolist() == np.argsort(source, kind="stable").tolist()
    assert indptr.tolist() == [int((source < row).sum()) for row in range(N + 1)]
    graph = nx.MultiDiGraph(arcs)
    graph.add_nodes_from(range(N))
    n_parts, part = weak(source, target, N)
    assert sets(part) == set(map(frozenset, nx.weakly_connected_components(graph)))
    assert n_parts == part.max() + 1 and part.dtype == np.int32
    first = np.unique(part, return_index=True)[1]
    assert (np.diff(first) > 0).all(), "numbered by the first node of each"
    n_groups, group = strong(indptr, target[order])
    assert sets(group) == set(map(frozenset, nx.strongly_connected_components(graph)))
    assert n_groups == group.max() + 1 and group.dtype == np.int32


def test_a_long_path_and_a_long_circle() -> None:
    """Neither depends on the depth of Python's or the machine's stack."""
    n = 300_000
    around = np.arange(n)
    for steps, n_groups in ((np.arange(n - 1), n), (around, 1)):
        source, target = steps, (steps + 1) % n
        indptr, order = order_by_row(source, n)
        assert strong(indptr, target[order])[0] == n_groups
        assert weak(target, source, n)[0] == 1


def test_nothing() -> None:
    nothing = np.zeros(0, np.int32)
    assert [part.tolist() for part in order_by_row(nothing, 0)] == [[0], []]
    assert weak(nothing, nothing, 0)[0] == 0 and weak(nothing, nothing, 3)[0] == 3
    assert strong(np.zeros(1, np.int32), nothing)[0] == 0
