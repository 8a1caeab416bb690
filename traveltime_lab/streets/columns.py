"""
Rules for the columns of saved networks: dtype, length and range of each.

Kernels do not check bounds, and the checksums of a file say that it is whole, not that its content makes sense. So
every column is checked against its rule before anything else reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray


class Column(NamedTuple):
    """
    The rule of a column.

    Attributes
    ----------
    dtype : str
    shape : tuple of str and int
        Names of sizes, or numbers. A name with a plus has one more value: an index pointer, which begins with 0, does
        not decrease, and ends with the size of `high`.
    low : float
        Smallest value; none for truths.
    high : float or str
        Largest value, or the name of a size that values are below.
    may_be_nan : bool
    """

    dtype: str
    shape: tuple[str | int, ...]
    low: float = -np.inf
    high: float | str = np.inf
    may_be_nan: bool = False


def check_column(name: str, array: Any, rule: Column, sizes: Mapping[str, int], *, is_known: bool = False) -> None:
    """
    Raise ValueError if a column breaks its rule.

    Parameters
    ----------
    name : str
        For the message.
    array : array
    rule : Column
    sizes : mapping of str to int
        The sizes that rules name.
    is_known : bool, default False
        Whether the values have been checked before, so that only their type and number are.
    """
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(rule.dtype):
        got = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"column {name} must be an array of {rule.dtype}, got {got}")
    shape = tuple(size if isinstance(size, int) else _size(size, sizes) for size in rule.shape)
    if array.shape != shape:
        raise ValueError(f"column {name} must have the shape {shape}, got {array.shape}")
    if is_known or not array.size or array.dtype == np.bool_:
        return
    if isinstance(rule.shape[0], str) and rule.shape[0].endswith("+") and isinstance(rule.high, str):
        _check_pointer(name, array, sizes[rule.high])
        return
    if array.dtype.kind == "f":
        if not rule.may_be_nan and np.isnan(array).any():
            raise ValueError(f"column {name} contains values that are missing")
        low, high = float(np.fmin.reduce(array, axis=None)), float(np.fmax.reduce(array, axis=None))
    else:
        low, high = int(array.min()), int(array.max())
    most = sizes[rule.high] - 1 if isinstance(rule.high, str) else rule.high
    # Comparisons with NaN are False, where all are missing.
    if low < rule.low or high > most:
        where = f"row numbers outside of the {rule.high}" if isinstance(rule.high, str) else "values out of range"
        raise ValueError(f"column {name} contains {where}: {low:g} to {high:g}, not {rule.low:g} to {most:g}")


def _size(name: str, sizes: Mapping[str, int]) -> int:
    return sizes[name.removesuffix("+")] + name.endswith("+")


def _check_pointer(name: str, array: AnyArray, size: int) -> None:
    if int(array[0]) != 0 or int(array[-1]) != size or (array[1:] < array[:-1]).any():
        raise ValueError(f"column {name} does not split {size} values into rows")
