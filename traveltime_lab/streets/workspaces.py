"""
Working arrays of searches, which later searches use again.

A search needs arrays with one value for each state of the network. Allocating them takes longer than a search that
reaches little of a large network. Kernels therefore reset the values that they have changed, and the arrays wait here
for the next search.
"""

from __future__ import annotations

import abc
import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np

from traveltime_lab._arrays import AnyArray, Float32Array, Int32Array, Int64Array
from traveltime_lab.kernels.street import road, sweeps, time_dependent
from traveltime_lab.kernels.unreached import NEVER_KEY, UNREACHED
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.signals import postpone
from traveltime_lab.streets.graph import Core, RoadGraph, Topology

T = TypeVar("T")
A = TypeVar("A", bound=AnyArray)

#: Most bytes of idle arrays of one kind for one topology; those of one search are always kept.
_MOST_IDLE_BYTES: Final = 1 << 28
#: Most bytes of labels of a stream whose arrays wait for the next request.
_MOST_STREAM_BYTES: Final = 1 << 26


@dataclass
class SearchSpace:
    """
    Arrays of a plain search.

    Attributes
    ----------
    label : int64 array of shape (n_states,)
        `UNREACHED`.
    queue : traveltime_lab.kernels.street.road.Queue
        An empty queue. Kernels return it with a pool that may be longer; the caller keeps that one.
    """

    label: Int64Array
    queue: Any


@dataclass
class TreeSpace(SearchSpace):
    """
    Arrays of a search whose tree is of interest, too.

    Attributes
    ----------
    parent : int32 array of shape (n_states,)
        Any values.
    """

    parent: Int32Array


class _OfEdges(abc.ABC, Generic[A]):
    """
    An array with a row for each edge, of which a search sets some.

    The array is used again by other searches when nothing refers to this object any more.

    Attributes
    ----------
    values : array
    edges : int32 array
        Edges whose rows are set; from the search.
    """

    values: A

    def __init__(self, idle: deque[A], make: Callable[[], A]) -> None:
        self._idle = idle
        self.edges: Int32Array | None = None
        try:
            self.values = idle.pop()
        except IndexError:
            self.values = make()

    def __del__(self) -> None:
        """Give the array back, unless a search of it has failed."""
        postpone(self._give_back)

    def _give_back(self) -> None:
        idle, values, edges = self._idle, self.values, self.edges
        if edges is not None and (not idle or (len(idle) + 1) * values.nbytes <= _MOST_IDLE_BYTES):
            self.clear(edges)
            idle.append(values)

    @abc.abstractmethod
    def clear(self, edges: Int32Array) -> None:
        """Reset the rows of edges."""


class EdgeRows(_OfEdges[Float32Array]):
    """
    Values along edges, of which a search has reached some.

    Attributes
    ----------
    values : float32 array of shape (n_edges, n_columns)
        See `traveltime_lab.kernels.street.reading.reached_rows`, or `reached_lengths` for eight columns.
    """

    #: Infinity and 0, of each direction, as one number: that is several times as quick to write.
    _INFINITE = np.array([np.inf, 0.0], np.float32).view(np.uint64)[0]

    def __init__(self, topology: Topology, n_columns: int = 4) -> None:
        def make() -> Float32Array:
            values = np.empty((topology.n_edges, n_columns), np.float32)
            values.view(np.uint64).fill(self._INFINITE)
            return values

        super().__init__(_ROWS.of(topology, n_columns, deque), make)

    def clear(self, edges: Int32Array) -> None:
        """Reset the rows of edges."""
        _reset(self.values.view(np.uint64), edges, self._INFINITE)


class EdgeNumbers(_OfEdges[Int32Array]):
    """
    Numbers of edges of interest, in ascending order.

    Attributes
    ----------
    values : int32 array of shape (n_edges,)
        Place of each edge in `edges`, -1 for those that are not there.
    """

    def __init__(self, topology: Topology) -> None:
        super().__init__(_EDGE_NUMBERS.of(topology, None, deque), lambda: np.full(topology.n_edges, -1, np.int32))

    def number(self, edges: Int32Array) -> None:
        """Give numbers to edges, which are ascending."""
        if edges.size == self.values.size:
            self.values[:] = edges
        else:
            self.values[edges] = np.arange(edges.size, dtype=np.int32)
        self.edges = edges

    def clear(self, edges: Int32Array) -> None:
        """Reset the numbers of edges."""
        _reset(self.values, edges, -1)


def _reset(values: AnyArray, rows: Int32Array, value: Any) -> None:
    """Set rows to a value that all others have."""
    # Many rows are quicker to reset in the order of memory.
    if 8 * rows.size < len(values):
        values[rows] = value
    else:
        values.fill(value)


_ROWS = Derived[int, deque[Float32Array]]("values along edges", kept=2)
_EDGE_NUMBERS = Derived[None, deque[Int32Array]]("numbers of edges")
_SEARCHES = Derived[None, deque[SearchSpace]]("arrays of searches")
_TREES = Derived[None, deque[TreeSpace]]("arrays of searches with trees")
#: Buckets of these searches, whose heads fit into the nearest cache of a processor; rarely an arc spans as many.
_TIMED_BUCKETS: Final = 1 << 10
_TIMED = Derived[None, deque["TimedSpace"]]("arrays of searches at changing speeds")
_NUMBERS = Derived[None, deque[Int32Array]]("numbers of vertices")
_STREAMS = Derived[None, deque["StreamSpace"]]("arrays of streams")
_CLIMBS = Derived[None, deque[sweeps.Climb]]("arrays of searches upwards")
_KEYS = Derived[None, deque["KeySpace"]]("arrays of walks from stops")


@contextlib.contextmanager
def search_space(graph: RoadGraph, core: Core) -> Iterator[SearchSpace]:
    """Lend arrays for searches of the contracted arcs of a graph."""
    n = graph.topology.n_states

    def make() -> SearchSpace:
        return SearchSpace(np.full(n, UNREACHED, np.int64), road.new_queue(n, graph.shift, core.n_buckets))

    with _lent(_SEARCHES, graph.topology, make, 16 * n) as space:
        _fit(space, graph.shift, core.n_buckets)
        yield space


@contextlib.contextmanager
def tree_space(graph: RoadGraph) -> Iterator[TreeSpace]:
    """Lend arrays for searches of all arcs of a graph; the borrower resets the labels."""
    n = graph.topology.n_states

    def make() -> TreeSpace:
        queue = road.new_queue(n, graph.shift, graph.n_buckets)
        return TreeSpace(np.full(n, UNREACHED, np.int64), queue, np.empty(n, np.int32))

    with _lent(_TREES, graph.topology, make, 20 * n) as space:
        _fit(space, graph.shift, graph.n_buckets)
        yield space


def _fit(space: SearchSpace, shift: int, n_buckets: int) -> None:
    """Give arrays of a search a queue for the graph of this moment."""
    if space.queue.shift != shift or space.queue.heads.size != n_buckets:
        # The queue of a different moment: its buckets are empty, but their width or number differs.
        space.queue = road.Queue(shift, np.full(n_buckets, -1, np.int32), space.queue.pool)


@dataclass
class TimedSpace:
    """
    Arrays of a search at speeds that change on the way.

    Attributes
    ----------
    arrays : traveltime_lab.kernels.street.time_dependent.Space
        Kernels return it with arrays that may be longer; the caller keeps those.
    """

    arrays: Any


@contextlib.contextmanager
def timed_space(topology: Topology) -> Iterator[TimedSpace]:
    """Lend arrays for searches at speeds that change on the way."""
    n_bytes = 16 * topology.n_states + 20 * topology.indices.size
    with _lent(_TIMED, topology, lambda: TimedSpace(_new_timed_space(topology)), n_bytes) as space:
        yield space


def _new_timed_space(topology: Topology) -> time_dependent.Space:
    """Return arrays for one search at speeds that change on the way."""
    n_states, n_arcs = topology.n_states, topology.indices.size
    return time_dependent.Space(
        np.full(n_states, UNREACHED, np.int64),
        np.empty(n_arcs + 1024, np.int64),
        np.empty(n_arcs + 1024, np.int32),
        np.full(_TIMED_BUCKETS, -1, np.int32),
        np.empty(n_arcs, np.int64),
        np.empty(n_states, np.int32),
        np.empty(n_states, np.int32),
    )


@contextlib.contextmanager
def numbers(topology: Topology) -> Iterator[Int32Array]:
    """Lend an array that numbers vertices of a hierarchy, -1 for none; the borrower leaves it as it was."""
    n = topology.n_states
    with _lent(_NUMBERS, topology, lambda: np.full(n, -1, np.int32), 4 * n) as space:
        yield space


@dataclass
class StreamSpace:
    """
    Arrays of streams.

    Attributes
    ----------
    room : traveltime_lab.kernels.street.sweeps.Room
        Kernels return it with arrays that may be longer; the caller keeps those.
    """

    room: sweeps.Room


@contextlib.contextmanager
def streams(topology: Topology) -> Iterator[StreamSpace]:
    """Lend arrays for the stream of a request; those of very large requests are not kept."""
    n = topology.n_states
    with _lent(_STREAMS, topology, lambda: StreamSpace(sweeps.new_room(n)), 32 * n) as space:
        yield space
        if space.room.labels.nbytes > _MOST_STREAM_BYTES:
            space.room = sweeps.new_room(n)


@contextlib.contextmanager
def climbs(topology: Topology) -> Iterator[sweeps.Climb]:
    """Lend arrays for searches upwards in a hierarchy."""
    n = topology.n_states
    with _lent(_CLIMBS, topology, lambda: sweeps.new_climb(n), 8 * n) as space:
        yield space


@dataclass
class KeySpace:
    """
    Arrays of walks from stops.

    Attributes
    ----------
    keys : int64 array of shape (n_states,)
        `NEVER_KEY`.
    states : int32 array of shape (n_states,)
        Any values.
    """

    keys: Int64Array
    states: Int32Array

    def clear(self, states: Int32Array | None = None) -> None:
        """Reset the keys of some states, or of all."""
        if states is None:
            self.keys.fill(NEVER_KEY)
        else:
            _reset(self.keys, states, NEVER_KEY)


@contextlib.contextmanager
def key_space(topology: Topology) -> Iterator[KeySpace]:
    """Lend arrays for walks from stops; the borrower resets the keys."""
    n = topology.n_states

    def make() -> KeySpace:
        return KeySpace(np.full(n, NEVER_KEY), np.empty(n, np.int32))

    with _lent(_KEYS, topology, make, 12 * n) as space:
        yield space


@contextlib.contextmanager
def _lent(kind: Derived[None, deque[T]], topology: Topology, make: Callable[[], T], n_bytes: int) -> Iterator[T]:
    """Lend arrays that no other thread uses. After an exception they are not used again, as they may not be reset."""
    idle = kind.of(topology, None, deque)
    try:
        space = idle.pop()
    except IndexError:
        space = make()
    yield space
    if not idle or (len(idle) + 1) * n_bytes <= _MOST_IDLE_BYTES:
        idle.append(space)
