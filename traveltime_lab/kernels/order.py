"""Sort numbers in compiled code."""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel


@kernel
def ascending(keys):
    """
    Return the order that sorts an array, with a stable bottom-up merge sort.

    The result is that of ``np.argsort(keys, kind="stable")``, which takes ten times as long to compile.
    """
    n = keys.size
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for k in range(first, last):
                if j == last or (i < middle and keys[order[i]] <= keys[order[j]]):
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order
