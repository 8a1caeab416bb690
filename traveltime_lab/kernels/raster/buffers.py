"""Compute distances from the cells of a raster to straight segments of roads."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from traveltime_lab.kernels.compiled import kernel


@kernel(fastmath=True)
def update_squared_distances(
    squared: npt.NDArray[np.float32],
    segments: npt.NDArray[np.float64],
    x0: float,
    y0: float,
    cell_m: float,
    reach_m: float,
) -> None:
    """
    Lower the squared distance of every cell within reach of a segment.

    The kernel visits all cells in the extended bounding box of each segment. Unlike propagation of the nearest segment
    from cell to cell this is exact, and its inner loop compiles to a few vector instructions.

    Parameters
    ----------
    squared : float32 array of shape (ny, nx), m2, finite
        Lowered in place. All cells within `reach_m` of a segment are updated, and some others.
    segments : float64 array of shape (n, 4), m
        x, y, x, y of both ends; a segment of zero length is a point.
    x0, y0, cell_m : float
        Centre of ``squared[0, 0]`` and side of a cell, in the coordinates of `segments`.
    reach_m : float
        Distance from a segment up to which cells are updated, m.
    """
    ny, nx = squared.shape
    steps = (np.arange(nx) * cell_m).astype(np.float32)
    for k in range(segments.shape[0]):
        ax, ay, bx, by = segments[k, 0], segments[k, 1], segments[k, 2], segments[k, 3]
        dx, dy = np.float32(bx - ax), np.float32(by - ay)
        length2 = dx * dx + dy * dy
        # Segments shorter than a micrometre are points: the inverse of their squared length could overflow.
        inverse = np.float32(1.0) / length2 if length2 > np.float32(1e-12) else np.float32(0.0)
        row_first = max(0, math.ceil((min(ay, by) - reach_m - y0) / cell_m))
        row_last = min(ny - 1, math.floor((max(ay, by) + reach_m - y0) / cell_m))
        col_first = max(0, math.ceil((min(ax, bx) - reach_m - x0) / cell_m))
        col_last = min(nx - 1, math.floor((max(ax, bx) + reach_m - x0) / cell_m))
        if col_last < col_first:
            continue
        # Relative to the start of the segment float32 is exact to well under a millimetre. Rows of the box are not cut
        # to the cells within reach: there would be fewer cells, but the loop would take longer.
        px0 = np.float32(x0 + col_first * cell_m - ax)
        for row in range(row_first, row_last + 1):
            py = np.float32(y0 + row * cell_m - ay)
            along_y = py * dy
            line = squared[row, col_first : col_last + 1]
            for j in range(line.shape[0]):
                px = px0 + steps[j]
                share = min(max((px * dx + along_y) * inverse, np.float32(0.0)), np.float32(1.0))
                ex = px - share * dx
                ey = py - share * dy
                line[j] = min(line[j], ex * ex + ey * ey)
