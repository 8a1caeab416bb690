"""
Aggregate the samples of a travel-time surface by the cells of a grid such as H3 or geohash.
"""

from __future__ import annotations

from traveltime_lab.kernels.compiled import kernel


@kernel
def add_samples(values, cell, limit, low, high, total, count):
    """
    Add the samples within a limit to the statistics of their cells.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns), s
        inf where not reached.
    cell : int32 array of shape (n_rows, n_columns)
        Cell of each sample, -1 for samples outside of all cells.
    limit : float, s
        Larger values are ignored.
    low, high, total : float64 arrays of shape (n_cells,), s
        Minimum, maximum and sum; updated in place.
    count : int64 array of shape (n_cells,)
        Number of samples; updated in place.
    """
    for r in range(values.shape[0]):
        for c in range(values.shape[1]):
            value = values[r, c]
            k = cell[r, c]
            if k < 0 or not value <= limit:
                continue
            if value < low[k]:
                low[k] = value
            if value > high[k]:
                high[k] = value
            total[k] += value
            count[k] += 1
