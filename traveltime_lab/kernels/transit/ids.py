"""
Find texts in a list of texts: the ids of stop_times.txt in those of trips.txt and stops.txt.

A column is stored as in Arrow: ``offsets`` (int32 array of shape (n + 1,)) point into ``data`` (uint8 array).
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel


@kernel
def _hash(data, start, stop):
    """Return the FNV-1a hash of a text, with its upper bits mixed into the lower ones."""
    h = np.uint64(1469598103934665603)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(1099511628211)
    return h ^ (h >> np.uint64(32))


@kernel
def _same(data, start, stop, others, first, last):
    """Return whether two texts are equal."""
    if stop - start != last - first:
        return False
    n_same = 0
    while n_same < stop - start and data[start + n_same] == others[first + n_same]:
        n_same += 1
    return n_same == stop - start


@kernel
def table_of(offsets, data):
    """
    Return an open-addressing hash table of texts.

    Returns
    -------
    int32 array
        Position of the first of equal texts in each place, -1 for none.
    """
    n = offsets.size - 1
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int32)
    for i in range(n):
        at = np.int64(_hash(data, offsets[i], offsets[i + 1]) & np.uint64(size - 1))
        while table[at] >= 0:
            k = table[at]
            if _same(data, offsets[i], offsets[i + 1], data, offsets[k], offsets[k + 1]):
                break
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = i
    return table


@kernel
def find(table, offsets, data, sought_offsets, sought_data, out):
    """
    Find texts in a table.

    Parameters
    ----------
    table : int32 array
        The table of the texts `offsets` and `data`; see `table_of`.
    offsets, data, sought_offsets, sought_data : int32 and uint8 arrays
    out : int32 array of shape (n_sought,)
        Overwritten with the position of each text, -1 for unknown ones.
    """
    size = table.size
    for i in range(sought_offsets.size - 1):
        start, stop = sought_offsets[i], sought_offsets[i + 1]
        # Rows of one trip follow each other.
        if i > 0 and _same(sought_data, start, stop, sought_data, sought_offsets[i - 1], start):
            out[i] = out[i - 1]
            continue
        at = np.int64(_hash(sought_data, start, stop) & np.uint64(size - 1))
        out[i] = -1
        while table[at] >= 0:
            k = table[at]
            if _same(sought_data, start, stop, data, offsets[k], offsets[k + 1]):
                out[i] = k
                break
            at = (at + 1) & (size - 1)
