"""
Measure who has too little of several kinds of accessibility at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._checks import did_you_mean, is_hashable, items, number
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.search.accessibility.people import (
    check_places,
    column_or_series,
    numbers_of,
    shares_of,
    with_change,
)


@explained_keywords
def alkire_foster(
    table: pd.DataFrame,
    thresholds: Mapping[str, float],
    *,
    k: float,
    after: pd.DataFrame | None = None,
    weights: str | pd.Series | None = None,
    column_weights: Mapping[str, float] | None = None,
    above: str | Sequence[str] = (),
) -> pd.DataFrame:
    """
    Return the poverty of people in several values at once, by the method of Alkire and Foster [1]_.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
        A row for each place, with a unique index.
    thresholds : mapping of str to float
        A threshold above 0 for each column of `table`: people whose value is below it are deprived.
    k : float
        People are poor if the weights of the columns in which they are deprived add up to at least `k`, above 0 and at
        most the sum of all weights, which is the number of columns. Without `column_weights`, 1 counts people who are
        deprived in any column.
    after, weights
        As in `inequality`.
    column_weights : mapping of str to float, optional
        Weight of each column, above 0. They are scaled so that they add up to the number of columns. Default: 1 each.
    above : str or sequence of str, default ()
        Columns, such as travel times, in which people are deprived whose value is above the threshold.

    Returns
    -------
    DataFrame
        Indexed by ``index``, with columns as in `inequality`: ``headcount`` (share of people who are poor),
        ``intensity`` (mean share of the weights in which the poor are deprived, NaN if there are none), ``m0`` (the
        adjusted headcount, their product), ``m1`` and ``m2`` (with the distances from the thresholds, as shares of
        them, and with their squares).

    Raises
    ------
    InputError
        As in `inequality`, also if a weight has no threshold or `thresholds` is empty.
    LimitError
        If a threshold or weight is not above 0, or `k` is out of range.

    See Also
    --------
    inequality : Indices of one value.

    References
    ----------
    .. [1] Alkire, S., Foster, J. (2011). Counting and multidimensional poverty measurement. Journal of Public Economics
       95(7-8).

    Examples
    --------
    >>> import pandas as pd
    >>> reach = pd.DataFrame(
    ...     {"jobs": [100, 300, 600], "schools": [0, 1, 4]}
    ... )
    >>> found = tl.alkire_foster(reach, {"jobs": 400, "schools": 1}, k=1)
    >>> found["value"].round(3)[["headcount", "m0"]]
    index
    headcount    0.667
    m0           0.500
    Name: value, dtype: float64
    """
    if not isinstance(thresholds, Mapping) or not thresholds:
        raise InputError(f"thresholds must name at least one column, such as {{'jobs': 1000}}; got {thresholds!r}")
    limits = _above_zero(thresholds, "thresholds")
    names = tuple(limits)
    heavy = dict.fromkeys(names, 1.0) if column_weights is None else _above_zero(column_weights, "column_weights")
    longer = (above,) if isinstance(above, str) else items(above, "above", "columns")
    for name, given in (("column_weights", heavy), ("above", longer)):
        unknown = [each for each in given if not is_hashable(each) or each not in limits]
        if unknown:
            raise InputError(f"{name} has {unknown[0]!r}, which has no threshold{did_you_mean(unknown[0], names)}")
    if len(heavy) < len(names):
        raise InputError(f"column_weights lacks {next(each for each in names if each not in heavy)!r}")
    weight = np.array([heavy[name] for name in names]) / sum(heavy.values()) * len(names)
    least = number(k, "k")
    # Scaled weights are rounded, so a sum of all of them may be a little less than their number.
    if not 0.0 < least <= len(names):
        raise LimitError(f"k must be above 0 and at most {len(names)}, the number of columns; got {least:g}")
    check_places(table)
    share = shares_of(table, weights)

    def of_table(some: pd.DataFrame, where: str) -> pd.Series:
        values = np.column_stack(
            [
                numbers_of(column_or_series(some, name, "thresholds"), f"the column {name!r} of {where}")
                for name in names
            ]
        )
        limit = np.array([limits[name] for name in names])
        sign = np.where([name in longer for name in names], -1.0, 1.0)
        with np.errstate(over="ignore"):
            gap = sign * (limit - values) / limit
        is_deprived = gap > 0.0
        count = is_deprived @ weight
        poor = share * (count >= least - 1e-9)
        headcount = float(poor.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            powers = [float(poor @ (np.where(is_deprived, gap, 0.0) ** p * is_deprived @ weight)) for p in range(3)]
        found = {
            "headcount": headcount,
            "intensity": powers[0] / len(names) / headcount if headcount else np.nan,
            **{f"m{p}": power / len(names) for p, power in enumerate(powers)},
        }
        return pd.Series(found).rename_axis("index")

    return with_change(of_table, table, after)


def _above_zero(given: Any, name: str) -> dict[Any, float]:
    """Return a mapping of columns to numbers above 0."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must map columns to numbers; got {type(given).__name__}")
    found = {key: number(value, f"{name}[{key!r}]") for key, value in given.items()}
    for key, value in found.items():
        if value <= 0.0:
            raise LimitError(f"{name}[{key!r}] must be above 0; got {value:g}")
    return found
