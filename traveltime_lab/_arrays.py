"""
Type aliases for arrays, rows of arrays in compressed form (CSR), and the arrays of dataclasses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

CSR = TypeVar("CSR", bound=Any)
A = TypeVar("A", bound=npt.NDArray[Any])

AnyArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
#: Indices into another array.
IndexArray: TypeAlias = npt.NDArray[np.intp]
Int8Array: TypeAlias = npt.NDArray[np.int8]
Int16Array: TypeAlias = npt.NDArray[np.int16]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
#: Strings, geometries and other objects.
ObjectArray: TypeAlias = npt.NDArray[np.object_]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
UInt16Array: TypeAlias = npt.NDArray[np.uint16]
UInt32Array: TypeAlias = npt.NDArray[np.uint32]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]


def indptr_of(lengths: npt.ArrayLike) -> Int64Array:
    """Return the index pointer of rows of some lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def indptr_of_rows(rows: AnyArray, n_rows: int) -> Int64Array:
    """Return the index pointer of rows, given the row of each value."""
    return indptr_of(np.bincount(rows, minlength=n_rows))


def unique_values(values: A) -> A:
    """
    Return the different values of an array, which has no NaN, sorted.

    `numpy.unique` of NumPy 2.3 and later puts numbers into a hash table, which takes ten times as long as sorting them
    where most of them differ.
    """
    ordered = np.sort(values, axis=None)
    is_first = np.ones(ordered.size, np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return cast("A", ordered[is_first])


def within_rows(lengths: AnyArray) -> Int64Array:
    """Return 0, 1, 2, ... for the values of each row, one row after the other."""
    within: Int64Array = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return within


def chosen_rows(indptr: AnyArray, chosen: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return the index pointer of chosen rows, and the positions of their values, one row after the other."""
    begins, ends = np.asarray(indptr)[:-1][chosen], np.asarray(indptr)[1:][chosen]
    lengths = ends - begins
    at = np.repeat(begins, lengths) + within_rows(lengths)
    return indptr_of(lengths), at.astype(np.int64)


def rows_of(csr: CSR, first: int, last: int) -> CSR:
    """Return consecutive rows of a named tuple that begins with `indptr`; the other arrays are shared."""
    part: CSR = csr._replace(indptr=csr.indptr[first : last + 1])
    return part


def take_rows(csr: CSR, first: int, last: int) -> CSR:
    """Return consecutive rows of a named tuple that begins with `indptr`, which then begins with 0."""
    begin, end = csr.indptr[first], csr.indptr[last]
    part: CSR = type(csr)(csr.indptr[first : last + 1] - begin, *(values[begin:end] for values in csr[1:]))
    return part


def joined_rows(parts: Sequence[CSR]) -> CSR:
    """Return the rows of all parts."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    others = zip(*(part[1:] for part in parts), strict=True)
    joined: CSR = type(parts[0])(indptr_of(lengths), *(np.concatenate(values) for values in others))
    return joined


def arrays_by_field(value: Any) -> dict[str, AnyArray]:
    """Return the NumPy arrays of a dataclass by field name."""
    found = {item.name: getattr(value, item.name) for item in fields(value)}
    return {name: each for name, each in found.items() if isinstance(each, np.ndarray)}
