"""
Columns of amounts: people, jobs, beds.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray
from traveltime_lab._checks import did_you_mean, items
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.points import plain

#: Smallest and largest amount besides 0 (assumed).
_LEAST: Final = 1e-15
_MOST: Final = 1e15
#: Name of the column if opportunities have no values.
_COUNT: Final = "opportunities"


def amounts_of(table: Any, table_name: str, column: Any, argument: str) -> FloatArray:
    """
    Return a column of amounts: finite numbers, 0 or more.

    Parameters
    ----------
    table : Any
        Value of the argument `table_name`.
    table_name : str
    column : Any
        Value of the argument `argument`: a name.
    argument : str
    """
    if not isinstance(table, gpd.GeoDataFrame):
        msg = f"{argument} names a column, but {table_name} is no GeoDataFrame; got {type(table).__name__}"
        raise InputError(msg)
    if not isinstance(column, str) or column not in table.columns or column == table.active_geometry_name:
        known = ", ".join(repr(name) for name in table.columns if name != table.active_geometry_name) or "none"
        hint = did_you_mean(column, [name for name in table.columns if name != table.active_geometry_name])
        msg = f"{argument} must name a column of {table_name}; got {column!r}, and its columns are {known}{hint}"
        raise InputError(msg)
    series = table[column]
    if not isinstance(series, pd.Series):
        msg = f"{table_name} has the column {column!r} more than once; rename one of them"
        raise InputError(msg)
    if not (pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_complex_dtype(series)):
        msg = f"the column {column!r} of {table_name} must hold numbers; got {series.dtype}"
        raise InputError(msg)
    amounts: FloatArray = series.to_numpy(np.float64, na_value=np.nan)
    for is_wrong, what, remedy in (
        (np.isnan(amounts), "missing", f"fill them first, as {table_name}[{column!r}].fillna(0)"),
        (amounts < 0.0, "negative", "amounts must be 0 or more"),
    ):
        if is_wrong.any():
            first = plain(table.index[int(is_wrong.argmax())])
            msg = (
                f"the column {column!r} of {table_name} has {int(is_wrong.sum())} {what} values, the first at {first!r}"
            )
            raise InputError(f"{msg}; {remedy}")
    is_wrong = (amounts > _MOST) | ((amounts > 0.0) & (amounts < _LEAST))
    if is_wrong.any():
        at = int(is_wrong.argmax())
        msg = (
            f"the column {column!r} of {table_name} must have amounts of 0, or from {_LEAST:g} to {_MOST:g}; "
            f"got {amounts[at]:g} at {plain(table.index[at])!r}"
        )
        raise LimitError(msg)
    return amounts


def columns_of_amounts(
    table: Any, values: Any, n_places: int, reserved: Collection[str]
) -> tuple[list[str], FloatArray]:
    """
    Return the names of the columns of opportunities, and their amounts of shape (n_columns, n_places).

    Parameters
    ----------
    table : Any
        Value of the argument ``opportunities``.
    values : str, sequence of str or None
        Value of the argument ``values``; None counts each place as 1.
    n_places : int
    reserved : collection of str
        Columns that the result has besides.
    """
    if values is None:
        return [_COUNT], np.ones((1, n_places))
    names = [values] if isinstance(values, str) else list(items(values, "values", "names of columns"))
    if not names:
        msg = "values is empty; name at least one column of opportunities, or leave it out to count them"
        raise InputError(msg)
    for n, name in enumerate(names):
        if not isinstance(name, str):
            msg = f"values must name columns of opportunities; got {name!r}"
            raise InputError(msg)
        if name in names[:n] or name in reserved:
            msg = f"values has {name!r}, which the result has already; rename the column of opportunities"
            raise InputError(msg)
    return names, np.stack([amounts_of(table, "opportunities", name, "values") for name in names])
