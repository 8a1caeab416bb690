"""
Trace the contours of a raster at a limit with marching squares, as polygons with holes.

The centres of four neighbouring cells form a square. If one end of a side is within the limit and the other is not,
the contour crosses that side once, where the linearly interpolated value equals the limit. Each contour is followed
from crossing to crossing with the area within the limit on its left, so exteriors run counter-clockwise and holes
clockwise. If only two opposite corners of a square are within the limit, the mean of the four corners decides whether
the contour connects them.

The package has its own implementation for two properties that its shapes rely on. The polygons are *valid* by
construction: no crossing is nearer to a cell centre than `clearance` allows, so rings neither touch nor cross, and each
hole is assigned to its exterior by following the raster, without geometric tests. And they are *nested* by
construction: values are clipped to within `step` of the limit, so every crossing moves away from the cell within as the
limit grows, also next to cells without a value, and a smaller limit never gives a polygon outside of a larger one. The
tests compare the result with contourpy, as a second implementation.

References
----------
W. Lorensen, H. Cline, "Marching Cubes", SIGGRAPH 1987, in two dimensions; G. Nielson, B. Hamann, "The Asymptotic
Decider", Visualization 1991, for the ambiguous squares, with the mean in place of the saddle.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.bits import eight_bytes, popcount
from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.prefetch import prefetch

#: Rows ahead in the directions north, east, south and west.
_UP = (1, 0, -1, 0)
#: A product with it has the lowest bits of eight bytes in its highest byte (little-endian).
_GATHER = np.int64(0x0102040810204080)
#: How many crossings ahead memory is prefetched.
_AHEAD = 8


@kernel
def _within(values, limit):
    """
    Return which cells are within the limit, one bit each.

    A border of one cell that is not within the limit is added. A raster of some million cells has a million bits or
    two, which the caches of a processor hold, so that following a contour does not wait for memory.

    Returns
    -------
    bits : int64 array of shape (n_words,)
        Cells row after row, the lowest bit first. Each row begins with a new word.
    n_words : int
        Words of a row.
    """
    n_rows, n_columns = values.shape
    n_words = (n_columns + 2 + 63) // 64
    bits = np.zeros((n_rows + 2) * n_words, np.int64)
    # A byte for each cell of a row at first, eight of which become a byte of bits by one multiplication.
    row = np.zeros(64 * n_words, np.uint8)
    for r in range(n_rows):
        for c in range(n_columns):
            row[c + 1] = values[r, c] <= limit
        for w in range(n_words):
            word = np.int64(0)
            for k in range(8):
                word |= (((eight_bytes(row, 8 * w + k) * _GATHER) >> 56) & 0xFF) << (8 * k)
            bits[(r + 1) * n_words + w] = word
    return bits, n_words


@kernel(forceinline=True)
def _is_set(bits, cell):
    """Return the bit of a cell, 0 or 1."""
    return (bits[cell >> 6] >> (cell & 63)) & 1


@kernel(forceinline=True)
def _eastern(bits, i):
    """Return the bits of the eastern neighbours of the cells of a word."""
    beyond = bits[i + 1] << 63 if i + 1 < bits.size else np.int64(0)
    return ((bits[i] >> 1) & 0x7FFFFFFFFFFFFFFF) | beyond


@kernel
def _crossings_of(bits, n_words):
    """
    Return the number of crossings of all contours, and where those southwards begin.

    Returns
    -------
    n : int
    south_before : int32 array of shape (n_words + 1,)
        Crossings southwards on the eastern side of the cells of the words before each. There are as many northwards.
    """
    n = np.int64(0)
    south_before = np.zeros(bits.size + 1, np.int32)
    for i in range(bits.size):
        n_south = popcount(~bits[i] & _eastern(bits, i))
        south_before[i + 1] = south_before[i] + n_south
        n += 2 * n_south + popcount(bits[i] ^ bits[max(i - n_words, 0)])
    return n, south_before


@kernel(forceinline=True)
def _south(bits, south_before, cell):
    """Return the number of the crossing southwards on the eastern side of a cell."""
    i = cell >> 6
    before = (np.int64(1) << (cell & 63)) - 1
    return south_before[i] + popcount(~bits[i] & _eastern(bits, i) & before)


@kernel
def _depth(values, limit, step, clearance, row, column):
    """Return a value minus the limit, its magnitude clipped to between `clearance` and `step`."""
    if not (0 <= row < values.shape[0] and 0 <= column < values.shape[1]):
        return step
    value = values[row, column]
    if value <= limit:
        return max(min(value - limit, -clearance), -step)
    return max(value - limit, clearance) if value - limit < step else step


@kernel
def _follow(values, limit, step, clearance, bits, width, followed, at, ring, south_before, ring_of, crossings, n):
    """
    Follow the contour that runs north between a cell and its eastern neighbour until it closes.

    Parameters
    ----------
    values, limit, step, clearance
        As in `outlines`.
    bits : int64 array of shape (n_words,)
        From `_within`.
    width : int
        Bits of a row.
    followed : int64 array of shape (n_words,)
        The bit of each cell is set that the contour passes on its eastern side, running north.
    at : int
        The cell.
    ring : int
        Number of the contour.
    south_before : int32 array of shape (n_words + 1,)
        From `_crossings_of`.
    ring_of : int32 array of shape (n_south,)
        The number is written to each crossing southwards.
    crossings : int64 array
        Overwritten from position `n`: four times the cell on the left, which is within the limit, and the direction.
    n : int

    Returns
    -------
    n : int
        Number of crossings written so far.
    n_turns : int
        Turns to the left minus those to the right: 4 for an exterior, -4 for a hole.
    """
    # Cells are numbered row after row: the next one ahead and the one on the right are these numbers away.
    cell, direction, ahead, right, n_turns = at, 0, width, 1, 0
    while True:
        crossings[n] = 4 * cell + direction
        n += 1
        if direction == 0:
            followed[cell >> 6] |= np.int64(1) << (cell & 63)
        elif direction == 2:
            ring_of[_south(bits, south_before, cell + right)] = ring
        is_left, is_right = _is_set(bits, cell + ahead), _is_set(bits, cell + right + ahead)
        if is_right > is_left:
            r, up, east = cell // width - 1, _UP[direction], _UP[(direction + 3) & 3]
            c = cell - (r + 1) * width - 1
            a = np.float64(_depth(values, limit, step, clearance, r, c))
            b = np.float64(_depth(values, limit, step, clearance, r - east, c + up))
            ahead_a = np.float64(_depth(values, limit, step, clearance, r + up, c + east))
            ahead_b = np.float64(_depth(values, limit, step, clearance, r - east + up, c + up + east))
            is_right = np.int64(a + b + ahead_a + ahead_b <= 0.0)
        # Without branches, because which way a contour turns cannot be guessed: 1 to the right, -1 to the left.
        goes = is_right | is_left
        turn = is_right + goes - 1
        straight = 1 - turn * turn
        cell += goes * ahead + is_right * right
        ahead, right = straight * ahead + turn * right, straight * right - turn * ahead
        direction = (direction + turn) & 3
        n_turns -= turn
        if cell == at and direction == 0:
            return n, n_turns


@kernel
def _westernmost(crossings, first, last, width):
    """Return the first of the westernmost cells that a contour has on their eastern side, running north."""
    cell = crossings[first] >> 2
    for k in range(first + 1, last):
        if crossings[k] & 3 == 0 and (crossings[k] >> 2) % width < cell % width:
            cell = crossings[k] >> 2
    return cell


@kernel
def outlines(values, limit, step, clearance):
    """
    Return the polygons of the area where a raster is within a limit.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns)
        Values at the centres of cells, row 0 southernmost; inf or NaN where there is none. Everything outside of the
        raster is beyond the limit.
    limit, step, clearance : float32
        Contours are interpolated between differences to the limit whose magnitudes are clipped to between `clearance`
        and `step`. All three have the unit of `values`.

    Returns
    -------
    points : float64 array of shape (n_points, 2)
        Column and row of each point; centres of cells have whole numbers. The last point of a ring repeats its first.
    ring_starts : int64 array of shape (n_rings + 1,)
        Index pointer from rings to points.
    polygon_starts : int64 array of shape (n_polygons + 1,)
        Index pointer from polygons to rings: first the exterior, then the holes.
    """
    bits, n_words = _within(values, limit)
    width = 64 * n_words
    n_crossings, south_before = _crossings_of(bits, n_words)
    most_rings = south_before[-1]
    crossings = np.empty(n_crossings, np.int64)
    starts = np.empty(most_rings + 1, np.int64)
    turns = np.empty(most_rings, np.int64)
    ring_of = np.empty(most_rings, np.int32)
    followed = np.zeros(bits.size, np.int64)
    n, n_rings = np.int64(0), 0
    starts[0] = 0
    for i in range(bits.size):
        while True:
            left = bits[i] & ~_eastern(bits, i) & ~followed[i]
            if left == 0:
                break
            cell = 64 * i + popcount((left & -left) - 1)
            n, turns[n_rings] = _follow(
                values, limit, step, clearance, bits, width, followed, cell, n_rings, south_before, ring_of, crossings,
                n,
            )  # fmt: skip
            n_rings += 1
            starts[n_rings] = n
    # Assign holes to exteriors: going west from the westernmost cell of a hole over cells within the limit, the first
    # ring that is met belongs to the same polygon.
    owner = np.empty(n_rings, np.int64)
    n_polygons = 0
    for ring in range(n_rings):
        owner[ring] = ring
        if turns[ring] > 0:
            n_polygons += 1
        else:
            cell = _westernmost(crossings, starts[ring], starts[ring + 1], width)
            while _is_set(bits, cell):
                cell -= 1
            owner[ring] = ring_of[_south(bits, south_before, cell)]
    sizes = np.zeros(n_rings, np.int64)
    for ring in range(n_rings):
        exterior = ring
        while owner[exterior] != exterior:
            exterior = owner[exterior]
        owner[ring] = exterior
        sizes[exterior] += 1
    polygon_starts = np.zeros(n_polygons + 1, np.int64)
    place = np.empty(n_rings, np.int64)  # next free place for a hole of each exterior
    k = 0
    for ring in range(n_rings):
        if sizes[ring] > 0:
            polygon_starts[k + 1] = polygon_starts[k] + sizes[ring]
            place[ring] = polygon_starts[k] + 1
            k += 1
    order = np.empty(n_rings, np.int64)
    for ring in range(n_rings):
        if owner[ring] == ring:
            order[place[ring] - 1] = ring
    for ring in range(n_rings):
        if owner[ring] != ring:
            order[place[owner[ring]]] = ring
            place[owner[ring]] += 1
    n_rows, n_columns = values.shape
    of_cells = values.reshape(-1)
    ring_starts = np.zeros(n_rings + 1, np.int64)
    out = np.empty((n + n_rings, 2))
    at = 0
    for i in range(n_rings):
        first, last = starts[order[i]], starts[order[i] + 1]
        begin = at
        for k in range(first, last):
            if k + _AHEAD < last:
                there = crossings[k + _AHEAD] >> 2
                prefetch(of_cells, (there // width - 1) * n_columns + there % width - 1)
            r, c, direction = (crossings[k] >> 2) // width, (crossings[k] >> 2) % width, crossings[k] & 3
            up, right = _UP[direction], _UP[(direction + 3) & 3]
            r2, c2 = r - right, c + up
            a = np.float64(max(min(values[r - 1, c - 1] - limit, -clearance), -step))
            is_inside = (r2 > 0) & (r2 <= n_rows) & (c2 > 0) & (c2 <= n_columns)
            beyond = values[r2 - 1 if is_inside else 0, c2 - 1 if is_inside else 0] - limit
            b = np.float64(max(beyond, clearance) if is_inside & (beyond < step) else step)
            share = a / (a - b)
            out[at, 0] = c - 1 + share * up
            out[at, 1] = r - 1 - share * right
            at += 1
        out[at, 0], out[at, 1] = out[begin, 0], out[begin, 1]
        at += 1
        ring_starts[i + 1] = at
    return out, ring_starts, polygon_starts
