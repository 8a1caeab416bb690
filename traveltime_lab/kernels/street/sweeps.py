"""
Answer queries with a customized contraction hierarchy: many-to-many sweeps (RPHAST) and searches of single pairs.

Vertices are numbered by rank, as in `traveltime_lab.kernels.street.contraction`. The arguments `up` and `down` are the
arcs from each vertex to higher-ranked ones and from higher-ranked vertices to each vertex, as `customize` returns them;
`rank` is the rank of each state, see `fill`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.street.road import UNREACHED

#: Number of searches in one sweep. Their labels for one vertex, 64 bytes, fill a cache line and whole vector registers.
LANES = 8


class Marks(NamedTuple):
    """Numbers of vertices. A kernel that is given one leaves it empty, or says who empties it."""

    number: np.ndarray  # int32 (n,), number of each vertex by rank, -1 for none
    #: One flag for each block of 64 vertices of consecutive ranks: whether some of them wait; False for all.
    has_work: np.ndarray  # bool


class Climbs(NamedTuple):
    """Working arrays of searches from both ends, by rank; as given afterwards."""

    ahead: np.ndarray  # int64 (n,), labels from the seeds, `UNREACHED`
    back: np.ndarray  # int64 (n,), labels from the readings, `UNREACHED`
    has_work: np.ndarray  # bool, as in `Marks`


def new_marks(n):
    """Return empty marks for `n` vertices."""
    return Marks(np.full(n, -1, np.int32), np.zeros((n >> 6) + 1, np.bool_))


def new_climbs(n):
    """Return working arrays of searches from both ends for `n` vertices."""
    return Climbs(*(np.full(n, UNREACHED, np.int64) for _ in range(2)), np.zeros((n >> 6) + 1, np.bool_))


class Stream(NamedTuple):
    """
    The downward arcs that lead to some readings, from `restrict`.

    For each row there are the arcs into it, which come from earlier rows, followed by one entry with a tail of -1.
    After the vertices each column has a row, whose arcs are its readings.
    """

    place: np.ndarray  # int32 (n,), row of each vertex by rank, higher ranks in lower rows; -1 outside of the stream
    vertices: np.ndarray  # int32 (n_rows,), vertex of each row
    tails: np.ndarray  # int32
    labels: np.ndarray  # int64
    n_rows: int  # number of rows of vertices


class Room(NamedTuple):
    """Arrays in which `restrict` writes: with new ones a request of some milliseconds waits half of them for memory."""

    stack: np.ndarray  # int32 (n,)
    vertices: np.ndarray  # int32
    tails: np.ndarray  # int32
    labels: np.ndarray  # int64


def new_room(n):
    """Return arrays for streams of `n` vertices; those for arcs grow."""
    return Room(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


@kernel
def cone_size(down, rank, reads, most):
    """
    Return the number of states from which downward arcs lead to some readings.

    Parameters
    ----------
    down, rank, reads
        As in `restrict`.
    most : int
        Number at which the count ends.

    Returns
    -------
    int
        Number of states, not much more than `most`.
    """
    indptr, tails = down.indptr, down.indices
    is_known = np.zeros(indptr.size - 1, np.bool_)
    stack = np.empty(most + 64, np.int32)
    n_rows = 0
    for i in range(reads.states.size):
        v = rank[reads.states[i]]
        if is_known[v]:
            continue
        is_known[v] = True
        stack[0] = v
        top = 1
        while top:
            top -= 1
            v = stack[top]
            n_rows += 1
            if n_rows >= most:
                return n_rows
            for k in range(indptr[v], indptr[v + 1]):
                w = tails[k]
                if not is_known[w]:
                    is_known[w] = True
                    if top == stack.size:
                        return most
                    stack[top] = w
                    top += 1
    return n_rows


@kernel
def restrict(down, rank, reads, marks, room):
    """
    Return the downward arcs that lead to some readings, as one stream for `many_to_many`.

    This is the target selection of RPHAST.

    Parameters
    ----------
    down : Arcs
    rank : int32 array of shape (n,)
    reads : Ports
        Readings of each column.
    marks : Marks
        Its numbers become `Stream.place`; the caller empties them with `Stream.vertices`.
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
    n = indptr_down.size - 1
    n_columns = read_indptr.size - 1
    place, has_work = marks
    stack, vertices, tails, labels = room
    n_rows = 0
    n_arcs = 0
    for i in range(read_states.size):
        v = rank[read_states[i]]
        if place[v] >= 0:
            continue
        place[v] = 0
        stack[0] = v
        top = 1
        while top:
            top -= 1
            v = stack[top]
            n_rows += 1
            has_work[v >> 6] = True
            n_arcs += indptr_down[v + 1] - indptr_down[v]
            for k in range(indptr_down[v], indptr_down[v + 1]):
                w = tails_down[k]
                if place[w] < 0:
                    place[w] = 0
                    stack[top] = w
                    top += 1
    length = n_arcs + n_rows + read_states.size + n_columns
    if length > tails.size:
        tails, labels = np.empty(length + length // 4, np.int32), np.empty(length + length // 4, np.int64)
    row = 0
    at = 0
    for block in range(has_work.size - 1, -1, -1):
        if not has_work[block]:
            continue
        has_work[block] = False
        for v in range(min(n, (block + 1) << 6) - 1, (block << 6) - 1, -1):
            if place[v] < 0:
                continue
            place[v] = row
            vertices[row] = v
            row += 1
            for k in range(indptr_down[v], indptr_down[v + 1]):
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
        stack, vertices, tails, labels
    )


@kernel
def many_to_many(up, rank, stream, seeds, limit, marks, result):
    """
    Fill ``result[i, j]`` with the smallest label from the seeds of search `i` to the readings of column `j`.

    `LANES` searches run side by side: each climbs from its seeds to higher-ranked vertices, then one sweep down the
    restricted graph serves them all.

    Parameters
    ----------
    up : Arcs
    rank : int32 array of shape (n,)
    stream : Stream
    seeds : Ports
        Seeds of each search.
    limit : int64
        Labels above it become `UNREACHED`.
    marks : Marks
        Empty, also afterwards.
    result : int64 array of shape (n_searches, n_columns)
        Overwritten.
    """
    indptr_up, heads_up, labels_up = up
    place, _, tails, labels, n_rows = stream
    seed_indptr, seed_states, seed_keys = seeds
    n = indptr_up.size - 1
    n_searches, n_columns = result.shape
    slot, has_work = marks
    above = np.empty((1024, LANES), np.int64)
    start = np.full(n_rows, -1, np.int32)
    below = np.empty((n_rows, LANES), np.int64)
    for first in range(0, n_searches, LANES):
        used = min(LANES, n_searches - first)
        n_slots = np.int64(0)
        for lane in range(used):
            for k in range(seed_indptr[first + lane], seed_indptr[first + lane + 1]):
                v = rank[seed_states[k]]
                if slot[v] < 0:
                    above = _room_for(above, n_slots)
                    slot[v] = n_slots
                    n_slots += 1
                    has_work[v >> 6] = True
                above[slot[v], lane] = min(above[slot[v], lane], seed_keys[k])
        for block in range(has_work.size):
            if not has_work[block]:
                continue
            for v in range(block << 6, min(n, (block + 1) << 6)):
                mine = slot[v]
                if mine < 0:
                    continue
                slot[v] = -1
                if place[v] >= 0:
                    start[place[v]] = mine
                for k in range(indptr_up[v], indptr_up[v + 1]):
                    w = heads_up[k]
                    theirs = slot[w]
                    if theirs < 0:
                        above = _room_for(above, n_slots)
                        theirs = n_slots
                        slot[w] = theirs
                        n_slots += 1
                        has_work[w >> 6] = True
                    label = labels_up[k]
                    for lane in range(LANES):
                        above[theirs, lane] = min(above[theirs, lane], above[mine, lane] + label)
            # Not before: vertices of the same block set it again.
            has_work[block] = False
        at = 0
        for row in range(n_rows + n_columns):
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = UNREACHED
            if row < n_rows and start[row] >= 0:
                mine = start[row]
                start[row] = -1
                a0, a1, a2, a3 = above[mine, 0], above[mine, 1], above[mine, 2], above[mine, 3]
                a4, a5, a6, a7 = above[mine, 4], above[mine, 5], above[mine, 6], above[mine, 7]
            tail = tails[at]
            # The loop over the lanes is unrolled by hand, so that all lanes stay in registers. It ends at a sentinel:
            # given a count, the compiler would transform it.
            while tail >= 0:
                label = labels[at]
                a0 = min(a0, below[tail, 0] + label)
                a1 = min(a1, below[tail, 1] + label)
                a2 = min(a2, below[tail, 2] + label)
                a3 = min(a3, below[tail, 3] + label)
                a4 = min(a4, below[tail, 4] + label)
                a5 = min(a5, below[tail, 5] + label)
                a6 = min(a6, below[tail, 6] + label)
                a7 = min(a7, below[tail, 7] + label)
                at += 1
                tail = tails[at]
            at += 1
            if row < n_rows:
                below[row, 0], below[row, 1], below[row, 2], below[row, 3] = a0, a1, a2, a3
                below[row, 4], below[row, 5], below[row, 6], below[row, 7] = a4, a5, a6, a7
            else:
                best = (a0, a1, a2, a3, a4, a5, a6, a7)
                for lane in range(used):
                    result[first + lane, row - n_rows] = best[lane] if best[lane] <= limit else UNREACHED


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
def _climb(arcs, rank, states, keys, limit, label, has_work, found):
    """
    Label the vertices that arcs upwards reach from seeds within a limit.

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
            for k in range(indptr[v], indptr[v + 1]):
                onward = mine + arc_labels[k]
                w = heads[k]
                if onward <= limit and onward < label[w]:
                    label[w] = onward
                    has_work[w >> 6] = True
        has_work[block] = False
    return count


@kernel
def one_to_some(up, down, rank, seeds, reads, row_indptr, limit, climbs, result):
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
    climbs : Climbs
    result : int64 array of shape (n_pairs,)
        Overwritten.
    """
    n = up.indptr.size - 1
    ahead, back, has_work = climbs
    found_ahead, found_back = np.empty(n, np.int32), np.empty(n, np.int32)
    for row in range(seeds.indptr.size - 1):
        own = slice(seeds.indptr[row], seeds.indptr[row + 1])
        n_ahead = _climb(up, rank, seeds.states[own], seeds.keys[own], limit, ahead, has_work, found_ahead)
        for pair in range(row_indptr[row], row_indptr[row + 1]):
            own = slice(reads.indptr[pair], reads.indptr[pair + 1])
            n_back = _climb(down, rank, reads.states[own], reads.keys[own], limit, back, has_work, found_back)
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
def one_to_many(up, down, rank, seeds, reads, limit, climbs, marks, room, result):
    """
    Fill `result` with the smallest labels from one origin to the readings of each column.

    The label of a vertex is the least of that of the upward search and of those of the higher vertices from which
    downward arcs lead to it; these are found first, and each once. So each arc that leads to a reading is read once,
    where `restrict` and `many_to_many` read it three times.

    Parameters
    ----------
    up, down : Arcs
    rank : int32 array of shape (n,)
    seeds, reads : Ports
        Seeds of the one search, and readings of each column.
    limit : int64
        Labels above it become `UNREACHED`.
    climbs : Climbs
    marks : Marks
        Empty, also afterwards.
    room : Room
        Overwritten.
    result : int64 array of shape (n_columns,)
        Overwritten.

    References
    ----------
    Strasser and Zeitz, "A fast and tight heuristic for A* in road networks", SEA 2021, find the labels of vertices
    that are asked for in this way (lazy RPHAST).
    """
    indptr, tails, labels = down
    read_indptr, read_states, read_keys = reads
    label, final, has_work = climbs
    n_read, stack, found = marks.number, room.stack, room.vertices
    n_found = _climb(up, rank, seeds.states, seeds.keys, limit, label, has_work, found)
    # Vertices that wait for higher ones are at the beginning of the stack, those with their final label at its end.
    top, n_left = 0, stack.size
    for column in range(result.size):
        least = UNREACHED
        for i in range(read_indptr[column], read_indptr[column + 1]):
            target = rank[read_states[i]]
            if final[target] == UNREACHED:
                stack[0], n_read[target] = target, 0
                top = 1
            while top:
                v = stack[top - 1]
                first, last, best = indptr[v] + n_read[v], indptr[v + 1], label[v]
                k = first
                while k < last and final[tails[k]] != UNREACHED:
                    best = min(best, final[tails[k]] + labels[k])
                    k += 1
                if k < last:
                    # The rest of the arcs of this vertex when this one is final.
                    label[v] = best
                    n_read[v] += k - first
                    stack[top], n_read[tails[k]] = tails[k], 0
                    top += 1
                else:
                    # Also final if it is not reached.
                    final[v] = best if best < UNREACHED else UNREACHED + 1
                    label[v], n_read[v] = UNREACHED, -1
                    top -= 1
                    n_left -= 1
                    stack[n_left] = v
            least = min(least, final[target] + read_keys[i])
        result[column] = least if least <= limit else UNREACHED
    for i in range(n_found):
        label[found[i]] = UNREACHED
    for i in range(n_left, stack.size):
        final[stack[i]] = UNREACHED
