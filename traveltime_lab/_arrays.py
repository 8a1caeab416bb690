"""
Type aliases for arrays, and rows of arrays in compressed form (CSR).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

AnyArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
#: Indices into another array.
IndexArray: TypeAlias = npt.NDArray[np.intp]
Int8Array: TypeAlias = npt.NDArray[np.int8]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
#: Strings, geometries and other objects.
ObjectArray: TypeAlias = npt.NDArray[np.object_]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
UInt16Array: TypeAlias = npt.NDArray[np.uint16]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]


def indptr_of(lengths: npt.ArrayLike) -> Int64Array:
    """Return the index pointer of rows of some lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def rows_of(indptr: AnyArray, chosen: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return the index pointer of chosen rows, and the positions of their values, one row after the other."""
    lengths = np.diff(indptr)[chosen]
    new = indptr_of(lengths)
    at = np.repeat(np.asarray(indptr)[:-1][chosen] - new[:-1], lengths) + np.arange(new[-1])
    return new, at.astype(np.int64)
