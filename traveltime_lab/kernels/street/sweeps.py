"""
Answer queries with a customized contraction hierarchy: many-to-many sweeps (RPHAST) and searches of single pairs.

Vertices are numbered by rank, as in `traveltime_lab.kernels.street.contraction`. The arguments `up` and `down` are the
arcs from each vertex to higher-ranked ones and from higher-ranked vertices to each vertex, as `customize` returns them;
`rank` is the rank of each state, see `fill`; `parent` is the elimination tree, see `elimination_tree`.

All vertices from which arcs lead downwards to a vertex are above it in the elimination tree. They are found by going up
from the readings, until a vertex that is known, without looking at arcs.

References
----------
R. Bauer, T. Columbus, I. Rutter, D. Wagner, "Search-space size in contraction hierarchies", Theoretical Computer
Science 645 (2016): the search space of a vertex is its ancestors in the elimination tree.
V. Buchhold, P. Sanders, D. Wagner, "Real-time traffic assignment using engineered customizable contraction
hierarchies", J. Experimental Algorithmics 24 (2019): elimination trees in place of queues.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.lanes import LANES, relax
from traveltime_lab.kernels.prefetch import prefetch
from traveltime_lab.kernels.unreached import UNREACHED

#: How many rows ahead the arcs of a vertex are prefetched, and before that where they begin.
_ARCS_AHEAD = 8
_BEGINS_AHEAD = 24


class Climb(NamedTuple):
    """Working arrays of a search upwards, by rank; as given afterwards."""

    label: np.ndarray  # int64 (n,), `UNREACHED`
    #: One flag for each block of 64 vertices of consecutive ranks: whether some of them wait; False for all.
    has_work: np.ndarray  # bool


def new_climb(n):
    """Return working arrays of a search upwards for `n` vertices."""
    return Climb(np.full(n, UNREACHED, np.int64), np.zeros((n >> 6) + 1, np.bool_))


class Stream(NamedTuple):
    """
    The downward arcs that lead to some readings, from `restrict`.

    For each row there are the arcs into it, which come from earlier rows, followed by one entry with a tail of -1.
    After the vertices each column has a row, whose arcs are its readings.
    """

    place: np.ndarray  # int32 (n,), row of each vertex by rank; -1 outside of the stream
    vertices: np.ndarray  # int32 (n_rows,), vertex of each row
    tails: np.ndarray  # int32
    labels: np.ndarray  # int64
    n_rows: int  # number of rows of vertices


class Room(NamedTuple):
    """Arrays for lists: with new ones a request of some milliseconds waits half of them for memory."""

    climbed: np.ndarray  # int32 (n,)
    vertices: np.ndarray  # int32 (n,)
    tails: np.ndarray  # int32
    labels: np.ndarray  # int64


def new_room(n):
    """Return arrays for streams of `n` vertices; those for arcs grow."""
    return Room(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


@kernel
def cone_size(parent, rank, reads, most):
    """
    Return the number of vertices from which downward arcs may lead to some readings.

    Parameters
    ----------
    parent, rank, reads
        As in `restrict`.
    most : int
        Number at which the count ends.

    Returns
    -------
    int
        Number of vertices, at most `most`.
    """
    is_known = np.zeros(parent.size, np.bool_)
    n_rows = 0
    for i in range(reads.states.size):
        v = rank[reads.states[i]]
        while v >= 0 and not is_known[v]:
            is_known[v] = True
            n_rows += 1
            if n_rows >= most:
                return n_rows
            v = parent[v]
    return n_rows


@kernel
def cone(parent, rank, states, place, vertices, n_rows):
    """
    List the vertices from which downward arcs may lead to some states, each after those above it.

    Parameters
    ----------
    parent, rank : int32 arrays of shape (n,)
    states : int32 array
    place : int32 array of shape (n,)
        -1, but for the vertices that are listed; for those that are added, their place in the list is written.
    vertices : int32 array of shape (n,)
        The list, which is continued.
    n_rows : int
        Length of the list so far.

    Returns
    -------
    int
        Length of the list.
    """
    for i in range(states.size):
        first = n_rows
        v = rank[states[i]]
        while v >= 0 and place[v] < 0:
            vertices[n_rows] = v
            n_rows += 1
            v = parent[v]
        low, high = first, n_rows - 1
        while low < high:
            vertices[low], vertices[high] = vertices[high], vertices[low]
            low += 1
            high -= 1
        for row in range(first, n_rows):
            place[vertices[row]] = row
    return n_rows


@kernel
def fetch(arcs, vertices, row, n_rows):
    """Prefetch the first arcs of vertices some rows ahead; a loop over all of them would take longer than it saves."""
    if row + _BEGINS_AHEAD < n_rows:
        prefetch(arcs.indptr, vertices[row + _BEGINS_AHEAD])
    if row + _ARCS_AHEAD < n_rows:
        first = arcs.indptr[vertices[row + _ARCS_AHEAD]]
        prefetch(arcs.indices, first)
        prefetch(arcs.weights, first)
        prefetch(arcs.weights, first + 8)


@kernel
def restrict(down, parent, rank, reads, place, room):
    """
    Return the downward arcs that lead to some readings, as one stream for `many_to_many`.

    This is the target selection of RPHAST.

    Parameters
    ----------
    down : Arcs
    parent, rank : int32 arrays of shape (n,)
    reads : Ports
        Readings of each column.
    place : int32 array of shape (n,)
        -1; becomes `Stream.place`. The caller empties it with `Stream.vertices`.
    room : Room
        Overwritten.

    Returns
    -------
    stream : Stream
        Its arrays lie in those of the room.
    room : Room
        The room, whose arrays for arcs may have been replaced by longer ones.
    """
    indptr_down, tails_down, labels_down = down
    read_indptr, read_states, read_keys = reads
    n_columns = read_indptr.size - 1
    climbed, vertices, tails, labels = room
    n_rows = cone(parent, rank, read_states, place, vertices, np.int64(0))
    n_arcs = 0
    for row in range(n_rows):
        n_arcs += indptr_down[vertices[row] + 1] - indptr_down[vertices[row]]
    length = n_arcs + n_rows + read_states.size + n_columns
    if length > tails.size:
        tails, labels = np.empty(length + length // 4, np.int32), np.empty(length + length // 4, np.int64)
    at = 0
    for row in range(n_rows):
        fetch(down, vertices, row, n_rows)
        v = vertices[row]
        for k in range(np.int64(indptr_down[v]), np.int64(indptr_down[v + 1])):
            tails[at] = place[tails_down[k]]
            labels[at] = labels_down[k]
            at += 1
        tails[at], labels[at] = -1, 0
        at += 1
    for column in range(n_columns):
        for k in range(read_indptr[column], read_indptr[column + 1]):
            tails[at] = place[rank[read_states[k]]]
            labels[at] = read_keys[k]
            at += 1
        tails[at], labels[at] = -1, 0
        at += 1
    return Stream(place, vertices[:n_rows], tails[:length], labels[:length], n_rows), Room(
        climbed, vertices, tails, labels
    )


@kernel
def many_to_many(up, rank, stream, seeds, limit, space, result):
    """
    Fill ``result[i, j]`` with the smallest label from the seeds of search `i` to the readings of column `j`.

    Each search climbs from its seeds to higher-ranked vertices, then one sweep down the restricted graph serves `LANES`
    of them side by side.

    Parameters
    ----------
    up : Arcs
    rank : int32 array of shape (n,)
    stream : Stream
    seeds : Ports
        Seeds of each search.
    limit : int64
        Labels above it become `UNREACHED`.
    space : Climb
    result : int64 array of shape (n_searches, n_columns)
        Overwritten.
    """
    place, _, tails, labels, n_rows = stream
    n_searches, n_columns = result.shape
    label, has_work = space
    climbed = np.empty(label.size, np.int32)
    # Labels of the rows that some search has climbed to, and the number of each such row among them.
    above = np.empty((1024, LANES), np.int64)
    slot = np.full(n_rows, -1, np.int32)
    # The last row is that of each column, one after the other.
    below = np.empty((n_rows + 1, LANES), np.int64)
    for first in range(0, n_searches, LANES):
        used = min(LANES, n_searches - first)
        n_slots = np.int64(0)
        for lane in range(used):
            own = slice(seeds.indptr[first + lane], seeds.indptr[first + lane + 1])
            n_climbed = climb(up, rank, seeds.states[own], seeds.keys[own], limit, label, has_work, climbed)
            for i in range(n_climbed):
                v = climbed[i]
                row = place[v]
                if row >= 0:
                    if slot[row] < 0:
                        above = _room_for(above, n_slots)
                        slot[row] = n_slots
                        n_slots += 1
                    above[slot[row], lane] = label[v]
                label[v] = UNREACHED
        at = 0
        for row in range(n_rows + n_columns):
            here = min(row, n_rows)
            mine = slot[row] if row < n_rows else np.int32(-1)
            if mine >= 0:
                slot[row] = -1
            for lane in range(LANES):
                below[here, lane] = above[mine, lane] if mine >= 0 else UNREACHED
            at = relax(below, here, tails, labels, at)
            if row >= n_rows:
                for lane in range(used):
                    best = below[here, lane]
                    result[first + lane, row - n_rows] = best if best <= limit else UNREACHED


@kernel
def _room_for(above, slot):
    """Return `above` with row `slot` set to `UNREACHED`, reallocated with twice as many rows if it is full."""
    if slot == above.shape[0]:
        longer = np.empty((2 * slot, LANES), np.int64)
        for row in range(slot):
            for lane in range(LANES):
                longer[row, lane] = above[row, lane]
        above = longer
    for lane in range(LANES):
        above[slot, lane] = UNREACHED
    return above


@kernel
def climb(arcs, rank, states, keys, limit, label, has_work, found):
    """
    Label the vertices that arcs upwards reach from seeds within a limit.

    Parameters
    ----------
    arcs : Arcs
        Arcs upwards.
    rank : int32 array of shape (n,)
    states, keys : int32 and int64 arrays of shape (n_seeds,)
        Seeds.
    limit : int64
    label : int64 array of shape (n,)
        `UNREACHED`; lowered.
    has_work : bool array
        As in `Climb`.
    found : int32 array of shape (n,)
        Overwritten with the labelled vertices.

    Returns
    -------
    int
        Number of labelled vertices, which are listed in `found`.
    """
    indptr, heads, arc_labels = arcs
    n = label.size
    for k in range(states.size):
        v = rank[states[k]]
        if keys[k] <= limit and keys[k] < label[v]:
            label[v] = keys[k]
            has_work[v >> 6] = True
    count = 0
    for block in range(has_work.size):
        if not has_work[block]:
            continue
        for v in range(block << 6, min(n, (block + 1) << 6)):
            mine = label[v]
            if mine == UNREACHED:
                continue
            found[count] = v
            count += 1
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
                onward = mine + arc_labels[k]
                w = np.uint64(heads[k])
                if onward <= limit and onward < label[w]:
                    label[w] = onward
                    has_work[w >> np.uint64(6)] = True
        has_work[block] = False
    return count


@kernel
def one_to_some(up, down, rank, seeds, reads, row_indptr, limit, space_ahead, space_back, result):
    """
    Fill `result` with the smallest labels of chosen pairs.

    A search upwards from the seeds meets a search upwards from the readings; the best vertex that both reach gives the
    label of the pair.

    Parameters
    ----------
    up, down : Arcs
    rank : int32 array of shape (n,)
    seeds, reads : Ports
        Seeds of each search, and readings of each pair.
    row_indptr : int64 array of shape (n_searches + 1,)
        The pairs of search `i` are ``row_indptr[i]`` to ``row_indptr[i + 1] - 1``.
    limit : int64
        Labels above it become `UNREACHED`.
    space_ahead, space_back : Climb
        Arrays of the searches from seeds, and from readings.
    result : int64 array of shape (n_pairs,)
        Overwritten.
    """
    n = up.indptr.size - 1
    ahead, back = space_ahead.label, space_back.label
    found_ahead, found_back = np.empty(n, np.int32), np.empty(n, np.int32)
    for row in range(seeds.indptr.size - 1):
        own = slice(seeds.indptr[row], seeds.indptr[row + 1])
        n_ahead = climb(up, rank, seeds.states[own], seeds.keys[own], limit, ahead, space_ahead.has_work, found_ahead)
        for pair in range(row_indptr[row], row_indptr[row + 1]):
            own = slice(reads.indptr[pair], reads.indptr[pair + 1])
            n_back = climb(down, rank, reads.states[own], reads.keys[own], limit, back, space_back.has_work, found_back)
            best = UNREACHED
            for i in range(n_back):
                v = found_back[i]
                if ahead[v] < UNREACHED:
                    best = min(best, ahead[v] + back[v])
                back[v] = UNREACHED
            result[pair] = best if best <= limit else UNREACHED
        for i in range(n_ahead):
            ahead[found_ahead[i]] = UNREACHED


@kernel
def carry_down(arcs, vertices, label):
    """
    Lower the labels of vertices by the arcs that lead down to them.

    Parameters
    ----------
    arcs : Arcs
        By vertex, the arcs from higher vertices to it.
    vertices : int32 array
        Each after those above it, whose labels are final if they are not among them.
    label : int64 array of shape (n,)
        Labels by rank; lowered.
    """
    indptr, tails, labels = arcs
    for row in range(vertices.size):
        fetch(arcs, vertices, row, vertices.size)
        if row + _BEGINS_AHEAD < vertices.size:
            prefetch(label, vertices[row + _BEGINS_AHEAD])
        v = vertices[row]
        best = label[v]
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
            best = min(best, label[np.uint64(tails[k])] + labels[k])
        label[v] = best


@kernel
def one_to_many(up, down, parent, rank, seeds, reads, limit, space, place, room, result):
    """
    Fill `result` with the smallest labels from one origin to the readings of each column.

    This is `restrict` and `many_to_many` for one search: as the arcs are read once, they are not copied.

    Parameters
    ----------
    up, down : Arcs
    parent, rank : int32 arrays of shape (n,)
    seeds, reads : Ports
        Seeds of the one search, and readings of each column.
    limit : int64
        Labels above it become `UNREACHED`.
    space : Climb
    place : int32 array of shape (n,)
        -1, also afterwards.
    room : Room
        Overwritten.
    result : int64 array of shape (n_columns,)
        Overwritten.
    """
    read_indptr, read_states, read_keys = reads
    label, climbed, vertices = space.label, room.climbed, room.vertices
    n_climbed = climb(up, rank, seeds.states, seeds.keys, limit, label, space.has_work, climbed)
    n_rows = cone(parent, rank, read_states, place, vertices, np.int64(0))
    carry_down(down, vertices[:n_rows], label)
    for column in range(result.size):
        least = UNREACHED
        for i in range(read_indptr[column], read_indptr[column + 1]):
            least = min(least, label[rank[read_states[i]]] + read_keys[i])
        result[column] = least if least <= limit else UNREACHED
    for i in range(n_climbed):
        label[climbed[i]] = UNREACHED
    for row in range(n_rows):
        v = vertices[row]
        label[v], place[v] = UNREACHED, -1


@kernel
def take_labels(by_rank, rank, limit, first, last, label):
    """
    Write the labels of states, given those by rank.

    Parameters
    ----------
    by_rank : int64 array of shape (n,)
        Becomes `UNREACHED` for these states.
    rank : int32 array of shape (n,)
    limit : int64
        Labels above it become `UNREACHED`.
    first, last : int
        The first state, and the one after the last.
    label : int64 array of shape (n,)
        By state; overwritten from `first` to ``last - 1``.
    """
    for state in range(first, last):
        v = rank[state]
        label[state] = by_rank[v] if by_rank[v] <= limit else UNREACHED
        by_rank[v] = UNREACHED
