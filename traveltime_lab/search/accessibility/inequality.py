"""
Measure how unevenly accessibility is distributed over people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, unique_values
from traveltime_lab._checks import number, one_of
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import LimitError
from traveltime_lab.search.accessibility.people import (
    EVERYONE,
    check_places,
    column_of,
    column_or_series,
    group_codes,
    numbers_of,
    shares_of,
    with_change,
)

#: Shares of the population that the Palma ratio compares.
_POOREST: Final = 0.4
_RICHEST: Final = 0.1
#: Greatest aversion to inequality (assumed): beyond it the index is close to that of the least value alone.
_MOST_EPSILON: Final = 100.0


@dataclass(frozen=True)
class _People:
    """Values of people: `share` is the share of the population that has each value."""

    value: FloatArray
    share: FloatArray
    income: FloatArray | None
    group: IndexArray | None

    @property
    def mean(self) -> float:
        return float(self.share @ self.value)

    def part(self, rows: BoolArray) -> _People:
        """Return some rows, as a population of their own."""
        share = self.share[rows]
        income = None if self.income is None else self.income[rows]
        return _People(self.value[rows], share / share.sum(), income, None)

    def by_income(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return incomes in ascending order without repeats, the share of people with each, and their mean value."""
        assert self.income is not None
        incomes, which = np.unique(self.income, return_inverse=True)
        share: FloatArray = np.bincount(which, self.share).astype(np.float64)
        return incomes, share, np.bincount(which, self.share * self.value) / share


def _gini(people: _People) -> float:
    order = np.argsort(people.value, kind="stable")
    value, share = people.value[order], people.share[order]
    # Twice the area between the Lorenz curve and the diagonal: ranks are those of the middles of the shares.
    rank = np.cumsum(share) - share / 2.0
    return float((share * value) @ (2.0 * rank - 1.0)) / people.mean


def _hoover(people: _People) -> float:
    return float(people.share @ np.abs(people.value - people.mean)) / (2.0 * people.mean)


def _theil_t(people: _People) -> float:
    ratio = people.value / people.mean
    return float((people.share * ratio) @ np.log(np.where(ratio > 0.0, ratio, 1.0)))


def _theil_l(people: _People) -> float:
    with np.errstate(divide="ignore"):
        return float(people.share @ -np.log(people.value / people.mean))


def _atkinson(people: _People, epsilon: float) -> float:
    if epsilon >= 1.0 and not people.value.all():
        return 1.0
    ratio, power = people.value / people.mean, 1.0 - epsilon
    if power == 0.0:
        return 1.0 - float(np.exp(people.share @ np.log(ratio)))
    # The mean of the powers of ratios, less 1, so that nothing cancels where the power is near 0.
    with np.errstate(divide="ignore"):
        excess = float(people.share @ np.expm1(power * np.log(ratio)))
    return -math.expm1(math.log1p(excess) / power)


def _ends(share: FloatArray, amount: FloatArray) -> tuple[float, float]:
    """Return the amounts of the first 40 % and of the last 10 % of people; those on the border count in part."""
    ends = np.cumsum(share)
    starts = ends - share
    first = np.clip(_POOREST - starts, 0.0, share) / share
    last = np.clip(ends - (1.0 - _RICHEST), 0.0, share) / share
    return float(first @ amount), float(last @ amount)


def _palma(people: _People) -> float:
    order = np.argsort(people.value, kind="stable")
    share = people.share[order]
    poorest, richest = _ends(share, share * people.value[order])
    return richest / poorest if poorest else np.inf


def _palma_by_income(people: _People) -> float:
    _, share, value = people.by_income()
    poorest, richest = _ends(share, share * value)
    return (richest / _RICHEST) / (poorest / _POOREST) if poorest else np.inf


def _concentration(people: _People) -> float:
    _, share, value = people.by_income()
    rank = np.cumsum(share) - share / 2.0
    return float((share * value) @ (2.0 * rank - 1.0)) / people.mean


def _suits(people: _People) -> float:
    incomes, share, value = people.by_income()
    total = float(share @ incomes)
    if not total:
        return np.nan
    of_income = share * incomes / total
    of_value = np.concatenate([[0.0], np.cumsum(share * value)]) / people.mean
    return 1.0 - float(of_income @ (of_value[1:] + of_value[:-1]))


def _parts(people: _People, name: str) -> tuple[float, float]:
    """Return the parts of a Theil index between and within groups."""
    assert people.group is not None
    index, between, within = {"theil_t": _theil_t, "theil_l": _theil_l}[name], [], 0.0
    for k in unique_values(people.group):
        part, share = people.part(people.group == k), float(people.share[people.group == k].sum())
        between.append((share, part.mean))
        weight = share * part.mean / people.mean if name == "theil_t" else share
        within += weight * index(part) if part.mean else 0.0
    shares, means = np.array(between).T
    return index(_People(means, shares, None, None)), within


def _fgt(people: _People, threshold: float, alpha: int, *, is_above: bool) -> float:
    # Beside a threshold close to 0, distances are infinite.
    with np.errstate(over="ignore"):
        return _mean_gap(people, threshold, alpha, is_above=is_above)


def _mean_gap(people: _People, threshold: float, alpha: int, *, is_above: bool) -> float:
    gap = (people.value - threshold if is_above else threshold - people.value) / threshold
    return float(people.share @ np.where(gap > 0.0, gap, 0.0) ** alpha) if alpha else float(people.share @ (gap > 0.0))


@explained_keywords
def inequality(
    table: pd.DataFrame,
    column: str | None = None,
    *,
    after: pd.DataFrame | None = None,
    weights: str | pd.Series | None = None,
    income: str | pd.Series | None = None,
    groups: str | pd.Series | None = None,
    threshold: float | None = None,
    deprived: Literal["below", "above"] = "below",
    epsilon: float = 0.5,
) -> pd.DataFrame:
    """
    Return indices of how unevenly a value, such as accessibility, is distributed over people.

    Parameters
    ----------
    table : DataFrame or GeoDataFrame
        A row for each place, such as the result of `accessibility` for one travel time, with a unique index.
    column : str, optional
        The values: numbers of at least 0. Default: the only value of a result of `accessibility`.
    after : DataFrame or GeoDataFrame, optional
        The same places after a change, such as with the network of a scenario.
    weights : str or Series, optional
        Number of people at each place: a column of `table`, or a Series with its index. Default: one each.
    income : str or Series, optional
        Income per person, or a different number by which people are ranked, at least 0; as `weights`. Needed for the
        indices by income.
    groups : str or Series, optional
        Group of the people at each place; as `weights`. Adds the parts of the Theil indices between and within groups,
        and the indices of each group.
    threshold : float, optional
        A value above 0, below which people have too little. Adds the indices of poverty.
    deprived : {"below", "above"}, default "below"
        Whether those below the threshold are deprived, or, as with travel times, those above it.
    epsilon : float, default 0.5
        Aversion to inequality in the Atkinson index, 0 to 100.

    Returns
    -------
    DataFrame
        Indexed by ``index``, or with groups by ``group`` (``"all"`` for everyone) and ``index``. The column ``value``
        (float64), or with `after` the columns ``before``, ``after`` and ``increase``. NaN where an index is not
        defined, for example if all values are 0, or a group has no people. The indices are

        - ``mean``: the mean over people.
        - ``gini`` [1]_, ``hoover``, ``theil_t``, ``theil_l`` [2]_, ``atkinson`` [3]_: 0 if all have the same.
          ``theil_l`` is inf if a place with people has the value 0.
        - ``palma`` [4]_: the share of the tenth of people with the most, divided by the share of the 40 % with the
          least; 0.25 if all have the same, inf if the 40 % have nothing.
        - by income: ``palma_by_income``, the mean of the richest tenth divided by the mean of the poorest 40 %;
          ``concentration`` [5]_, above 0 if the rich have more; ``suits`` [6]_, above 0 if the share of the rich is
          above their share of the income.
        - by group: ``theil_t_between``, ``theil_t_within``, ``theil_l_between``, ``theil_l_within``, whose sums are
          ``theil_t`` and ``theil_l``. Groups have no parts of their own.
        - by threshold [7]_: ``fgt_0``, the share of people who are deprived, ``fgt_1``, their mean distance from the
          threshold as a share of it, counting 0 for all others, and ``fgt_2``, the mean of its square.

    Raises
    ------
    InputError
        If labels are not unique, a column is missing, values are missing or negative, all weights are 0, or
        `after` has other places.
    LimitError
        If `threshold` is not above 0, or `epsilon` is out of range.

    See Also
    --------
    accessibility : Opportunities in reach.
    alkire_foster : Poverty in several values at once.

    Notes
    -----
    Places with several people are those of people with the same value: the result is that of a table with a row for
    each person. People on the border of the poorest 40 % count in part. Places with the same income count as one.

    References
    ----------
    .. [1] Gini, C. (1912). Variabilità e mutabilità.
    .. [2] Theil, H. (1967). Economics and Information Theory.
    .. [3] Atkinson, A. B. (1970). On the measurement of inequality. Journal of Economic Theory 2(3).
    .. [4] Palma, J. G. (2011). Homogeneous middles vs. heterogeneous tails, and the end of the 'inverted-U'.
       Development and Change 42(1).
    .. [5] Kakwani, N., Wagstaff, A., van Doorslaer, E. (1997). Socioeconomic inequalities in health: measurement,
       computation, and statistical inference. Journal of Econometrics 77(1).
    .. [6] Suits, D. B. (1977). Measurement of tax progressivity. American Economic Review 67(4).
    .. [7] Foster, J., Greer, J., Thorbecke, E. (1984). A class of decomposable poverty measures. Econometrica 52(3).

    Examples
    --------
    >>> import pandas as pd
    >>> reach = pd.DataFrame(
    ...     {"jobs": [100, 300, 600], "people": [20, 10, 10]}
    ... )
    >>> found = tl.inequality(
    ...     reach, "jobs", weights="people", threshold=200
    ... )
    >>> found["value"].round(3)[["mean", "gini", "fgt_0"]]
    index
    mean     275.000
    gini       0.386
    fgt_0      0.500
    Name: value, dtype: float64
    """
    if threshold is not None:
        threshold = number(threshold, "threshold")
        if not 0.0 < threshold < math.inf:
            raise LimitError(f"threshold must be above 0 and finite; got {threshold:g}")
    epsilon = number(epsilon, "epsilon")
    if not 0.0 <= epsilon <= _MOST_EPSILON:
        raise LimitError(f"epsilon must be from 0 to {_MOST_EPSILON:g}; got {epsilon:g}")
    one_of(deprived, "deprived", ("below", "above"))
    check_places(table)
    column = column_of(table, column)
    share = shares_of(table, weights)
    ranked = None if income is None else numbers_of(column_or_series(table, income, "income"), "income")
    codes, names = (None, []) if groups is None else group_codes(column_or_series(table, groups, "groups"))

    def indices(people: _People) -> dict[str, float]:
        has_value = people.mean > 0.0
        known: dict[str, Callable[[_People], float]] = {
            "gini": _gini, "hoover": _hoover, "theil_t": _theil_t, "theil_l": _theil_l,
            "atkinson": lambda some: _atkinson(some, epsilon), "palma": _palma,
        }  # fmt: skip
        if people.income is not None:
            known |= {"palma_by_income": _palma_by_income, "concentration": _concentration, "suits": _suits}
        found = {"mean": people.mean}
        found |= {name: index(people) if has_value else np.nan for name, index in known.items()}
        if people.group is not None:
            for name in ("theil_t", "theil_l"):
                parts = _parts(people, name) if has_value else (np.nan, np.nan)
                found |= dict(zip((f"{name}_between", f"{name}_within"), parts, strict=True))
        if threshold is not None:
            for alpha in range(3):
                found[f"fgt_{alpha}"] = _fgt(people, threshold, alpha, is_above=deprived == "above")
        return found

    def of_table(some: pd.DataFrame, name: str) -> pd.Series:
        value = numbers_of(column_or_series(some, column, "column"), f"the column {column!r} of {name}")
        lives = share > 0.0
        people = _People(value, share, ranked, codes)
        everyone = people.part(lives)
        if codes is None:
            return pd.Series(indices(everyone)).rename_axis("index")
        found = {EVERYONE: indices(_People(everyone.value, everyone.share, everyone.income, codes[lives]))}
        for k, group in enumerate(names):
            rows = lives & (codes == k)
            found[group] = indices(people.part(rows)) if rows.any() else dict.fromkeys(indices(everyone), np.nan)
        return pd.concat({group: pd.Series(each) for group, each in found.items()}, names=["group", "index"])

    return with_change(of_table, table, after)
