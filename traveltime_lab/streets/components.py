"""Rows of adjacent states, and the components of a graph."""

from __future__ import annotations

import numpy as np

from traveltime_lab._arrays import AnyArray, Int32Array
from traveltime_lab.kernels.street import components


def order_by_row(keys: AnyArray, n: int) -> tuple[Int32Array, Int32Array]:
    """Return the index pointer of `n` rows, and the stable order that sorts items by the row of each."""
    indptr, order = components.order_by(_int32(keys), n)
    return indptr, order


def weak(source: AnyArray, target: AnyArray, n: int) -> tuple[int, Int32Array]:
    """Return the number of components of `n` nodes with edges in either direction, and the component of each node."""
    n_parts, part = components.weak(_int32(source), _int32(target), n)
    return n_parts, part


def strong(indptr: AnyArray, indices: AnyArray) -> tuple[int, Int32Array]:
    """Return the number of strongly connected components of a CSR, and the component of each node."""
    n_groups, group = components.strong(_int32(indptr), _int32(indices))
    return n_groups, group


def _int32(values: AnyArray) -> Int32Array:
    """Return values as kernels take them: read-only, so that a kernel is compiled once for all arrays."""
    found = np.ascontiguousarray(values, np.int32).view()
    found.flags.writeable = False
    return found
