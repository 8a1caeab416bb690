"""
Check tables of values by place, and the people at the places, for the indices of inequality and poverty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray, IndexArray
from traveltime_lab._checks import did_you_mean, floats_of, is_hashable
from traveltime_lab.errors import InputError

#: Label of the whole population in the result with groups.
EVERYONE: Final = "all"
#: Columns of `accessibility` that are not values.
_NOT_VALUES: Final = ("travel_time_limit", "snap_distance", "reaches_border")


def with_change(of_table: Callable[[pd.DataFrame, str], pd.Series], table: Any, after: Any) -> pd.DataFrame:
    """Return indices of a table in the column ``value``, or of two tables with the increase."""
    if after is None:
        return of_table(table, "table").to_frame("value")
    before, later = of_table(table, "table"), of_table(same_places(table, after), "after")
    return pd.DataFrame({"before": before, "after": later, "increase": later - before})


def check_places(table: Any) -> None:
    """Raise an error unless a table has one row for each place, and at least one."""
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"table must be a DataFrame, such as the result of accessibility; got {type(table).__name__}")
    if not len(table):
        raise InputError("table has no rows")
    if not table.index.is_unique:
        label = table.index[table.index.duplicated()][0]
        raise InputError(f"table has several rows of {label!r}; select one travel time, and one moment, first")


def column_of(table: pd.DataFrame, column: Any) -> Any:
    """Return the name of the column with values."""
    if column is not None:
        return column
    values = table.select_dtypes("number").columns.difference(_NOT_VALUES, sort=False)
    if len(values) != 1:
        raise InputError(f"table has the values {', '.join(map(str, values)) or 'none'}; name one of them with column")
    return values[0]


def same_places(table: pd.DataFrame, after: Any) -> pd.DataFrame:
    """Return the table of later values, in the order of the earlier."""
    if not isinstance(after, pd.DataFrame):
        raise InputError(f"after must be a DataFrame like table; got {type(after).__name__}")
    if not after.index.is_unique or set(after.index) != set(table.index):
        raise InputError("after must have the places of table, one row each")
    return after.loc[table.index]


def column_or_series(table: pd.DataFrame, given: Any, name: str) -> pd.Series:
    """Return a column of a table, or a Series in its order."""
    if isinstance(given, pd.Series):
        lost = table.index.difference(given.index)
        if len(lost) or not given.index.is_unique:
            what = f"has none for {lost[0]!r}" if len(lost) else "has labels twice"
            raise InputError(f"{name} must have one value for each row of table, with its index; it {what}")
        return given.loc[table.index]
    if not is_hashable(given):
        raise InputError(f"{name} must be the name of a column or a Series; got {type(given).__name__}")
    if given not in table.columns:
        known = ", ".join(map(str, table.columns))
        raise InputError(f"{name} {given!r} is not a column; there are {known}{did_you_mean(given, table.columns)}")
    found = table[given]
    if isinstance(found, pd.DataFrame):
        raise InputError(f"{name} {given!r} is the name of {found.shape[1]} columns; rename them")
    return found


def numbers_of(series: pd.Series, name: str) -> FloatArray:
    """Return values as floats that are finite and not negative."""
    try:
        values = floats_of(series)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers; got {series.dtype}") from None
    if not np.isfinite(values).all():
        n = int(np.count_nonzero(~np.isfinite(values)))
        label = series.index[~np.isfinite(values)][0]
        msg = f"{name} has no value in {n:,} of {values.size:,} rows, such as {label!r}; drop these rows or fill them"
        raise InputError(msg)
    if (values < 0.0).any():
        raise InputError(f"{name} must be at least 0; got {values.min():g} for {series.index[values.argmin()]!r}")
    return values


def shares_of(table: pd.DataFrame, weights: Any) -> FloatArray:
    """Return the share of the population at each place."""
    if weights is None:
        return np.full(len(table), 1.0 / len(table))
    people = numbers_of(column_or_series(table, weights, "weights"), "weights")
    total = float(people.sum())
    if not total > 0.0:
        raise InputError("weights are all 0; at least one place must have people")
    return people / total


def group_codes(groups: pd.Series) -> tuple[IndexArray, list[Any]]:
    """Return the number of the group of each place, and the names of groups in order."""
    codes, names = pd.factorize(groups, sort=True)
    if (codes < 0).any():
        raise InputError(f"groups has no value for {groups.index[codes < 0][0]!r}; drop this row or name its group")
    if EVERYONE in list(names):
        raise InputError(f"groups has one that is named {EVERYONE!r}, which is the label of everyone; rename it")
    return codes, list(names)
