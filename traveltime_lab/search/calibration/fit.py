"""
The fit of one factor for each group of classes, and the tests of which factors the data determine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import least_squares

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray
from traveltime_lab.errors import InputError
from traveltime_lab.search.calibration.trips import Trips, route_trips

#: A trip uses a class if it is there for at least this share of its time (assumed).
SHARE_OF_A_TRIP: Final = 0.05
#: Fewest trips to fit for each factor: the rule of thumb of ten observations per parameter.
TRIPS_PER_FACTOR: Final = 10
#: Condition index above which columns depend on each other, and share of a coefficient's variance that belongs to such
#: a dependence. Source: Belsley, Kuh and Welsch, Regression Diagnostics (1980), chapter 3.
CONDITION_INDEX: Final = 30.0
VARIANCE_SHARE: Final = 0.5
#: Residuals beyond this many standard deviations count linearly instead of squared. Source: Huber (1981), Robust
#: Statistics: 95 % efficiency for normal errors.
HUBER: Final = 1.345
#: Factors have settled if none of them changes by more than this share (assumed).
SETTLED: Final = 0.002
MAX_ROUNDS: Final = 20


@dataclass(frozen=True)
class Fit:
    """
    Fitted factors.

    Attributes
    ----------
    groups : list of tuple of str
        Classes that share a factor.
    factors : float64 array of shape (n_groups,)
        Factors of speeds.
    errors : float64 array of shape (n_groups,)
        Standard errors.
    n_trips : int64 array of shape (n_groups,)
        Trips that use each group, at the fitted speeds.
    n_rounds : int
    is_settled : bool
    """

    groups: list[tuple[str, ...]]
    factors: FloatArray
    errors: FloatArray
    n_trips: IndexArray
    n_rounds: int
    is_settled: bool


def uses(seconds: FloatArray, by_group: FloatArray) -> BoolArray:
    """Return which trips use which groups."""
    return by_group >= SHARE_OF_A_TRIP * seconds[:, None]


def group_seconds(by_class: FloatArray, classes: list[str], groups: list[tuple[str, ...]]) -> FloatArray:
    """Return the seconds on each group of classes."""
    found = [by_class[:, [classes.index(name) for name in group]].sum(axis=1) for group in groups]
    return np.column_stack(found) if found else np.zeros((len(by_class), 0))


def by_class(groups: list[tuple[str, ...]], factors: FloatArray) -> dict[str, float]:
    """Return the factor of each class."""
    return {name: float(f) for group, f in zip(groups, factors, strict=True) for name in group}


def fit(
    trips: Trips,
    chosen: IndexArray,
    groups: list[tuple[str, ...]],
    bounds: tuple[float, float],
    where: str,
    *,
    may_drop: bool,
) -> Fit:
    """
    Fit factors of speeds: route, solve for the seconds on each group, and again until the factors settle.

    Parameters
    ----------
    trips : Trips
    chosen : intp array of shape (n,)
        Positions of the trips to fit.
    groups : list of tuple of str
        Classes that share a factor.
    bounds : tuple of float
        Least and largest factor.
    where : str
        Words for messages, such as ``" from 7 to 9"``.
    may_drop : bool
        Whether a group that too few trips use, once they are routed at new speeds, is dropped and keeps its speeds.

    Raises
    ------
    InputError
        If there are too few trips for a factor, or factors cannot be told apart.
    """
    factors, best = np.ones(len(groups)), None
    is_settled, n_rounds = False, 0
    while n_rounds < MAX_ROUNDS and not is_settled:
        n_rounds += 1
        routed = route_trips(trips, by_class(groups, factors), chosen)
        known = np.isfinite(routed.seconds)
        seconds, observed = routed.seconds[known], trips.seconds[chosen][known]
        along = group_seconds(routed.by_class[known], trips.classes, groups)
        n_trips = uses(seconds, along).sum(axis=0)
        is_enough = n_trips >= TRIPS_PER_FACTOR
        if may_drop and is_enough.any() and not is_enough.all():
            groups = [group for group, is_kept in zip(groups, is_enough, strict=True) if is_kept]
            factors, best, n_rounds = factors[is_enough], None, 0
            continue
        check_enough(seconds.size, n_trips, groups, where)
        # Errors of travel times grow with the time: their variance is taken as proportional to it (assumed).
        weight = 1.0 / np.sqrt(observed)
        residual = (observed - seconds) * weight
        scale = max(1.4826 * float(np.median(np.abs(residual - np.median(residual)))), 1e-3)
        design = along * factors * weight[:, None]
        check_separable(design, groups, where)
        loss = float(np.abs(residual).mean())
        if best is None or loss < best[0]:
            best = loss, factors, _standard_errors(design, residual, factors), n_trips
        target = residual + design @ (1.0 / factors)
        solved = least_squares(
            lambda x, a=design, b=target: a @ x - b,
            np.clip(1.0 / factors, 1.0 / bounds[1], 1.0 / bounds[0]),
            jac=lambda _, a=design: a,
            bounds=(1.0 / bounds[1] - 1e-9, 1.0 / bounds[0] + 1e-9),
            loss="huber",
            f_scale=HUBER * scale,
        )
        new = np.clip(1.0 / solved.x, *bounds)
        # Trips that alternate between two routes make factors alternate: smaller steps end that.
        step = 1.0 if n_rounds <= 4 else 0.5
        new = factors * (new / factors) ** step
        is_settled = bool((np.abs(new / factors - 1.0) <= SETTLED * step).all())
        factors = new
    assert best is not None  # after the first round that dropped nothing
    return Fit(groups, *best[1:], n_rounds, is_settled)


def _standard_errors(design: FloatArray, residual: FloatArray, factors: FloatArray) -> FloatArray:
    """Return standard errors of factors, from the spread of the middle two thirds of the residuals."""
    n, k = design.shape
    low, high = np.quantile(residual, [0.1587, 0.8413])
    variance = ((high - low) / 2.0) ** 2 * n / max(n - k, 1)
    covariance = np.linalg.inv(design.T @ design) * variance
    # Standard errors of the factors f = 1 / x, by the delta method.
    return np.asarray(np.sqrt(np.diag(covariance)) * factors**2)


def check_enough(n: int, n_trips: IndexArray, groups: list[tuple[str, ...]], where: str) -> None:
    """Raise InputError if there are too few trips for the factors."""
    needed = TRIPS_PER_FACTOR * max(len(groups), 1)
    if n < needed:
        msg = (
            f"{n} trips with a route{where} are too few to fit {len(groups)} factors; give at least {needed}, or fit "
            "fewer classes with classes="
        )
        raise InputError(msg)
    few = n_trips < TRIPS_PER_FACTOR
    if few.any():
        at = int(few.argmax())
        msg = (
            f"{named(groups[at])}: {int(n_trips[at])} trips{where} spend at least {SHARE_OF_A_TRIP:.0%} of their time "
            f"there, and a factor needs {TRIPS_PER_FACTOR}. Leave it out of classes, or give it one factor with a "
            "similar class: classes=[('primary', 'primary_link')]"
        )
        raise InputError(msg)


def check_separable(design: FloatArray, groups: list[tuple[str, ...]], where: str) -> None:
    """Raise InputError if some columns of a design depend on each other, with the groups that do."""
    length = np.linalg.norm(design, axis=0)
    _, values, vectors = np.linalg.svd(design / length, full_matrices=False)
    values = np.maximum(values, 1e-12)
    index = values[0] / values
    if index[-1] <= CONDITION_INDEX:
        return
    parts = (vectors / values[:, None]) ** 2
    shares = (parts / parts.sum(axis=0))[index > CONDITION_INDEX].sum(axis=0)
    guilty = " and ".join(named(groups[at]) for at in np.flatnonzero(shares > VARIANCE_SHARE))
    msg = (
        f"the trips{where} cannot tell the factors of {guilty} apart: their routes use them in the same proportions "
        f"(condition index {index[-1]:.0f}; at most {CONDITION_INDEX:.0f}). Give them one factor with a tuple in "
        "classes, leave one of them out, or add trips that use one of them only"
    )
    raise InputError(msg)


def named(group: tuple[str, ...]) -> str:
    """Return the name of a group for messages and tables."""
    return "+".join(group)
