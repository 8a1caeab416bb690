"""
Travel times at the cells of a raster, gathered from the labels of edges.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def gather(edge, fraction, distance, rows, per_metre, buffer_m, field_edge, field_fraction, field_ahead, field_start, values):
    """
    Fill the value of each cell from the edge that it belongs to.

    Parameters
    ----------
    edge : int32 array of shape (n_rows, n_columns)
        Nearest edge of each cell's centre, -1 for none.
    fraction, distance : float32 arrays of the same shape
        Place on the edge and metres to it.
    rows : float32 array of shape (n_edges, 4)
        See `traveltime_lab.travel_times.EdgeField.edge_starts`.
    per_metre : float
        What a metre between the centre and its edge costs.
    buffer_m : float
        Cells farther from their edge than this get inf.
    field_edge, field_fraction : int, float
        Where the field begins: cells on the same edge may be reached straight along it.
    field_ahead : float array of shape (2,)
        What crossing the field's edge costs towards higher and towards lower fractions; inf where closed.
    field_start : float
        Value at the place where the field begins.
    values : float32 array of shape (n_rows, n_columns)
        Overwritten; inf where not reached.
    """
    for r in range(edge.shape[0]):
        for c in range(edge.shape[1]):
            e = edge[r, c]
            d = distance[r, c]
            if e < 0 or d > buffer_m:
                values[r, c] = np.inf
                continue
            f = fraction[r, c]
            best = min(rows[e, 0] + f * rows[e, 1], rows[e, 2] + (np.float32(1.0) - f) * rows[e, 3])
            if e == field_edge:
                ahead = f - field_fraction
                if ahead >= 0.0:
                    best = min(best, field_start + ahead * field_ahead[0])
                else:
                    best = min(best, field_start - ahead * field_ahead[1])
            values[r, c] = best + d * per_metre
