"""
Statistics of the samples of a travel-time surface in each cell of a grid.
"""

from __future__ import annotations

import numba


@numba.njit(cache=True, nogil=True)
def add_samples(values, cell, limit, low, high, total, count):
    """
    Add the samples within a limit to the statistics of their cells.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns)
        Seconds; inf where not reached.
    cell : int32 array of the same shape
        Cell of each sample, -1 for samples that count nowhere.
    limit : float
        Larger values do not count.
    low, high, total : float64 arrays of shape (n_cells,)
        Smallest value, largest value and sum so far; updated in place.
    count : int64 array of shape (n_cells,)
        Number of samples so far; updated in place.
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
