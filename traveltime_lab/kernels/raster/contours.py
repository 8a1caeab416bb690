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

from traveltime_lab.kernels.compiled import kernel

#: Bits of a mark: the cell is within the limit; the contour that runs north between the cell and its eastern neighbour
#: has been followed.
_WITHIN, _FOLLOWED = np.uint8(1), np.uint8(2)


@kernel
def _marks(values, limit):
    """Return the marks of all cells, with a border of one cell that is not within the limit, and the number within."""
    n_rows, n_columns = values.shape
    marks = np.zeros((n_rows + 2, n_columns + 2), np.uint8)
    n_within = 0
    for r in range(n_rows):
        for c in range(n_columns):
            marks[r + 1, c + 1] = values[r, c] <= limit
    for r in range(n_rows):
        for c in range(n_columns):
            n_within += marks[r + 1, c + 1]
    return marks, n_within


@kernel
def _n_crossings(marks):
    """Return the number of crossings of all contours, and the number of crossings northwards."""
    n, n_north = 0, 0
    for r in range(1, marks.shape[0]):
        for c in range(1, marks.shape[1]):
            n += (marks[r, c] ^ marks[r, c - 1]) + (marks[r, c] ^ marks[r - 1, c])
            n_north += marks[r, c - 1] & (marks[r, c] ^ _WITHIN)
    return n, n_north


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
def _follow(values, limit, step, clearance, marks, row, column, ring, ring_of, points, n):
    """
    Follow the contour that runs north between a marked cell and its eastern neighbour until it closes.

    Returns
    -------
    n : int
        Number of points written so far.
    west_row, west_column : int
        The westernmost cell that has this contour on its eastern side, running north.
    """
    west_row, west_column = row, column
    # The contour runs between cell (r, c) on its left, which is within the limit, and cell (r2, c2) on its right; the
    # step ahead is `up` rows and `right` columns.
    r, c, up, right = row, column, 1, 0
    while True:
        r2, c2 = r - right, c + up
        a = np.float64(_depth(values, limit, step, clearance, r - 1, c - 1))
        b = np.float64(_depth(values, limit, step, clearance, r2 - 1, c2 - 1))
        share = a / (a - b)
        points[n, 0] = c - 1 + share * up
        points[n, 1] = r - 1 - share * right
        n += 1
        if up == 1:
            marks[r, c] |= _FOLLOWED
            if c < west_column:
                west_row, west_column = r, c
        elif up == -1:
            ring_of[r2, c2] = ring
        is_left, is_right = marks[r + up, c + right] & _WITHIN, marks[r2 + up, c2 + right] & _WITHIN
        if is_left and is_right:
            turns_right = True
        elif is_right:
            ahead = _depth(values, limit, step, clearance, r + up - 1, c + right - 1)
            turns_right = (
                0.25 * (a + b + ahead + _depth(values, limit, step, clearance, r2 + up - 1, c2 + right - 1)) <= 0.0
            )
        else:
            turns_right = False
        if turns_right:
            r, c = r2 + up, c2 + right
            up, right = -right, up
        elif is_left:
            r, c = r + up, c + right
        else:
            up, right = right, -up
        if r == row and c == column and up == 1:
            return n, west_row, west_column


@kernel
def _twice_the_area(points, first, last):
    """Return twice the signed area of a ring without its closing point; it is positive if counter-clockwise."""
    area = 0.0
    x0, y0 = points[first]
    for i in range(first + 1, last - 1):
        area += (points[i, 0] - x0) * (points[i + 1, 1] - y0) - (points[i + 1, 0] - x0) * (points[i, 1] - y0)
    return area


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
    marks, n_within = _marks(values, limit)
    if n_within == 0:
        return np.empty((0, 2)), np.zeros(1, np.int64), np.zeros(1, np.int64)
    n_crossings, most_rings = _n_crossings(marks)
    points = np.empty((n_crossings, 2))
    starts = np.empty(most_rings + 1, np.int64)
    west = np.empty((most_rings, 2), np.int64)
    ring_of = np.empty(marks.shape, np.int32)
    n, n_rings = 0, 0
    starts[0] = 0
    for r in range(marks.shape[0]):
        for c in range(marks.shape[1] - 1):
            if marks[r, c] == _WITHIN and not marks[r, c + 1] & _WITHIN:
                n, west[n_rings, 0], west[n_rings, 1] = _follow(
                    values, limit, step, clearance, marks, r, c, n_rings, ring_of, points, n
                )
                n_rings += 1
                starts[n_rings] = n
    # Assign holes to exteriors: going west from the westernmost cell of a hole over cells within the limit, the first
    # ring that is met belongs to the same polygon.
    owner = np.empty(n_rings, np.int64)
    n_polygons = 0
    for ring in range(n_rings):
        owner[ring] = ring
        if _twice_the_area(points, starts[ring], starts[ring + 1]) > 0.0:
            n_polygons += 1
        else:
            r, c = west[ring]
            while marks[r, c] & _WITHIN:
                c -= 1
            owner[ring] = ring_of[r, c]
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
    ring_starts = np.zeros(n_rings + 1, np.int64)
    out = np.empty((n + n_rings, 2))
    at = 0
    for i in range(n_rings):
        first, last = starts[order[i]], starts[order[i] + 1]
        for k in range(first, last):
            out[at, 0], out[at, 1] = points[k, 0], points[k, 1]
            at += 1
        out[at, 0], out[at, 1] = points[first, 0], points[first, 1]
        at += 1
        ring_starts[i + 1] = at
    return out, ring_starts, polygon_starts
