"""
Factors of speeds by class of street from measured travel times (`calibrate_speeds`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray, IndexArray, unique_values
from traveltime_lab._checks import items, number, whole, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.table import BaseMode
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.search.calibration.fit import (
    TRIPS_PER_FACTOR,
    Fit,
    by_class,
    fit,
    group_seconds,
    named,
    uses,
)
from traveltime_lab.search.calibration.inputs import input_trips
from traveltime_lab.search.calibration.trips import Trips, read_trips, route_trips, snapped_trips, street_query
from traveltime_lab.search.receipts.record import NetworkFacts, Request, attrs_of

#: Least and largest factor (assumed: a mean speed off by more than that is a fault of the data or of the table).
BOUNDS: Final = (0.25, 4.0)

_Groups = list[tuple[str, ...]]


@dataclass(frozen=True)
class Calibration:
    """
    Factors of speeds that `calibrate_speeds` has fitted.

    Attributes
    ----------
    factors : Series or DataFrame
        The factor of each class of street that was fitted; with groups of hours, a column for each. Pass it, or a
        column, to ``add_speeds(network, factors=..., mode=...)``.
    table : DataFrame
        A row for each class, of each group of hours: ``hours``, ``highway``, ``factor`` (1 if not fitted),
        ``standard_error`` (NaN if not fitted), ``trips`` (those that spend at least 5 % of their time there),
        ``is_fitted`` and ``is_at_bound``. Classes that were fitted together have the same factor. The table carries the
        receipt of the calibration (see `receipt`).
    errors : DataFrame
        A row for fitted and for held-out trips, ``before`` and ``after``: ``trips``, ``speeds``, ``n``, ``mean_error``
        (s, estimate minus measured), ``mean_absolute_error`` (s), ``root_mean_square_error`` (s) and ``median_share``
        (median of the absolute error divided by the measured time). With groups of hours, the rows ``"after, without
        hours"`` are for one set of factors for all hours.
    mode : {"walking", "cycling", "driving"}
        Mode of the speeds.
    n_without_route : int
        Trips that were left out because there is no route.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> places = tl.sample_points()
    >>> measured = tl.time_filter(network, places, places, travel_time=7200)
    >>> measured = measured[measured["origin"] != measured["destination"]]
    >>> measured = measured.dropna(subset="travel_time")
    >>> observed = measured.assign(
    ...     **{
    ...         end: places.geometry.loc[measured[end]].to_numpy()
    ...         for end in ("origin", "destination")
    ...     }
    ... )
    >>> found = tl.calibrate_speeds(network, observed, classes=["primary"])
    >>> found.factors.round(2).to_dict()
    {'primary': 1.0}
    """

    factors: pd.Series | pd.DataFrame
    table: pd.DataFrame
    errors: pd.DataFrame
    mode: BaseMode
    n_without_route: int

    def __repr__(self) -> str:
        """Return the factors, the errors of held-out trips, and how to apply the factors."""
        held_out = self.errors[self.errors["trips"] == "held out"].set_index("speeds")
        before, after = (held_out.loc[row, "mean_absolute_error"] for row in ("before", "after"))
        column = "" if isinstance(self.factors, pd.Series) else f"[{self.factors.columns[0]!r}]"
        return (
            f"{self.factors.round(3).to_string()}\n"
            f"mean absolute error of {int(held_out['n'].iloc[0])} held-out trips: {before:.0f} s before, {after:.0f} s "
            f"after\napply with add_speeds(network, factors=calibration.factors{column}, mode={self.mode!r})"
        )


@explained_keywords
def calibrate_speeds(
    network: Network,
    observed: pd.DataFrame,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    classes: Sequence[str | tuple[str, ...]] | None = None,
    hours: Mapping[str, Sequence[int]] | None = None,
    held_out: float = 0.25,
    seed: int = 0,
    snapping: Snapping | Mapping[str, Any] | None = None,
) -> Calibration:
    """
    Fit factors of speeds by class of street to measured travel times.

    Trips are routed, the factors solved for from the seconds that routes spend on each class, and trips routed again at
    the new speeds until the factors settle. Some trips are held out of the fit, to validate the factors.

    Parameters
    ----------
    network : Network
    observed : DataFrame
        A row for each trip, with the columns ``origin`` and ``destination`` (GeoSeries in any CRS, or Points or
        (lng, lat)), ``travel_time`` (s) and optionally ``departure_time``, as in `time_filter`.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation on streets, with the options of the searches that the factors are for.
    classes : sequence of str or tuple of str, optional
        Classes of street to fit, values of the highway tag; those in a tuple share a factor. Default: each class that
        at least 20 of the fitted trips use, and 10 when they are routed at the new speeds. Other classes keep their
        speeds.
    hours : mapping, optional
        Names of groups of hours of departure, such as ``{"peak": [7, 8, 17], "day": range(9, 17)}``, each of which
        gets factors of its own. Default: one factor for all hours.
    held_out : float, default 0.25
        Share of the trips that is not used in the fit, above 0 and at most 0.5.
    seed : int, default 0
        Seed of the choice of the trips that are held out.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.

    Returns
    -------
    Calibration
        Factors, their standard errors, and errors of travel times before and after.

    Raises
    ------
    InputError
        If the data do not determine the factors: fewer than ten trips for each factor, a class in `classes` that fewer
        than ten trips use, or classes that routes use in the same proportions; the message names them. If the table or
        an argument is invalid.
    CrsError, CoordinateError, MomentError, ModeError
        As in `time_filter`.
    UnsupportedError
        If speeds change on the way (`time_dependent`).
    LimitError
        If `held_out` or an hour is out of range.

    Warns
    -----
    UserWarning
        If a factor is at its bound of 0.25 or 4, if factors have not settled, or if held-out trips are not predicted
        better than before, or, with `hours`, than without.

    See Also
    --------
    add_speeds : Apply the factors.

    Notes
    -----
    A trip uses a class if it spends at least 5 % of its time there. Connectors, turns, signals and ferries do not scale
    with speeds and are used unchanged, and congestion stays that of the hour: the factors are of free-flow speeds, and
    of measured speeds by hour. Trips beyond 1.345 standard deviations count less (Huber), so that a detour or a stop
    does not decide. Classes depend on each other where the condition index of the trips' seconds is above 30 (Belsley,
    Kuh and Welsch, 1980).
    Standard errors do not include the choice of routes.

    Examples
    --------
    Times of a network in which residential streets are slower, as if they were measured:

    >>> import numpy as np
    >>> import pandas as pd
    >>> network = tl.sample_network()
    >>> slower = tl.add_speeds(network, factors={"residential": 0.7})
    >>> rng = np.random.default_rng(0)
    >>> nodes = network.nodes_frame().geometry
    >>> origins = nodes.iloc[rng.integers(len(nodes), size=15).repeat(10)]
    >>> destinations = nodes.iloc[rng.integers(len(nodes), size=150)]
    >>> origins = origins.reset_index(drop=True)
    >>> destinations = destinations.reset_index(drop=True)
    >>> times = tl.time_filter(
    ...     slower, origins, destinations, travel_time=7200, pairs="aligned"
    ... )["travel_time"]
    >>> observed = pd.DataFrame(
    ...     {
    ...         "origin": origins,
    ...         "destination": destinations,
    ...         "travel_time": times,
    ...     }
    ... )
    >>> observed = observed[observed["travel_time"] > 0]
    >>> found = tl.calibrate_speeds(
    ...     network, observed, classes=["residential"]
    ... )
    >>> found.factors.round(2).to_dict()
    {'residential': 0.7}
    >>> calibrated = tl.add_speeds(network, factors=found.factors)
    """
    share = number(held_out, "held_out")
    if not 0.0 < share <= 0.5:
        raise LimitError(f"held_out must be above 0 and at most 0.5; got {held_out!r}")
    start = whole(seed, "seed", 0, 2**32 - 1, "of a generator")
    query = street_query(network, transportation, snapping)
    measured = read_trips(network, observed)
    trips = snapped_trips(network, measured, query)
    everyone = np.arange(len(trips))
    before = route_trips(trips, {}, everyone)
    with_route = np.flatnonzero(np.isfinite(before.seconds))
    hour_groups = _hour_groups(hours, trips)
    order = np.random.default_rng(start).permutation(with_route)
    n_held = max(round(share * order.size), 1)
    held, fitted = np.sort(order[:n_held]), np.sort(order[n_held:])
    given = None if classes is None else _groups(classes, trips.classes)
    parts = []
    for name, members in hour_groups.items():
        where = f" in the hours {name!r}" if hours is not None else ""
        chosen = fitted[np.isin(fitted, members)]
        groups = _separable(trips, before.seconds, before.by_class, chosen, where) if given is None else given
        parts.append((name, members, fit(trips, chosen, groups, BOUNDS, where, may_drop=given is None)))
    estimates = {"before": before.seconds, "after": np.full(len(trips), np.nan)}
    for _, members, found in parts:
        estimates["after"][members] = route_trips(trips, by_class(found.groups, found.factors), members).seconds
    if hours is not None:
        groups = _separable(trips, before.seconds, before.by_class, fitted, "") if given is None else given
        pooled = fit(trips, fitted, groups, BOUNDS, "", may_drop=given is None)
        speeds = by_class(pooled.groups, pooled.factors)
        estimates["after, without hours"] = route_trips(trips, speeds, everyone).seconds
    errors = _errors(trips, estimates, {"fitted": fitted, "held out": held})
    table = pd.concat([_rows(trips, *part) for part in parts], ignore_index=True)
    _warn(table, errors, [part[2] for part in parts])
    used = table[table["is_fitted"]]
    factors = used.pivot_table("factor", "highway", "hours")[list(hour_groups)].fillna(1.0)
    factors.columns.name = None
    mode = trips.conditions[0].query.transportation.base
    if hours is None:
        table = table.drop(columns="hours")
    arguments = {
        "transportation": transportation, "classes": classes, "hours": hours, "held_out": share, "seed": start,
        "snapping": snapping,
    }  # fmt: skip
    tables = {"observed": input_trips(measured)}
    request = Request("calibrate_speeds", copy.deepcopy(arguments), tables, NetworkFacts.of(network))
    table.attrs = attrs_of(request)
    return Calibration(
        factors[next(iter(hour_groups))].rename("factor") if hours is None else factors,
        table,
        errors,
        mode,
        len(trips) - with_route.size,
    )


def _hour_groups(hours: Any, trips: Trips) -> dict[str, IndexArray]:
    """Return the positions of the trips of each group of hours."""
    if hours is None:
        return {"all": np.arange(len(trips))}
    if not isinstance(hours, Mapping) or not hours:
        raise InputError(f"hours must map names to lists of hours, such as {{'peak': [7, 8, 17]}}; got {hours!r}")
    group_of: dict[int, str] = {}
    for name, given in hours.items():
        words(name, "a name in hours")
        for hour in items(given, f"hours[{name!r}]", "hours"):
            at = whole(hour, f"an hour of {name!r}", 0, 23, "o'clock")
            if at in group_of:
                raise InputError(f"hours has {at} in {group_of[at]!r} and in {name!r}; an hour can be in one group")
            group_of[at] = name
    missing = sorted({int(hour) for hour in unique_values(trips.hour)} - set(group_of))
    if missing:
        what = "trips without a departure_time with a date" if missing[0] < 0 else f"trips at {missing[0]} o'clock"
        raise InputError(f"observed has {what}, which are in no group of hours; add a group, or leave them out")
    named_by = np.array([group_of[int(hour)] for hour in trips.hour], object)
    return {str(name): np.flatnonzero(named_by == name) for name in hours}


def _groups(classes: Any, known: list[str]) -> _Groups:
    """Return the classes to fit, those that share a factor in one tuple."""
    found: _Groups = []
    seen: set[str] = set()
    for given in items(classes, "classes", "classes of street"):
        group = tuple(words(name, "a class") for name in (given if isinstance(given, tuple) else (given,)))
        for name in group:
            if name not in known:
                msg = f"classes has {name!r}, which is no class of street of the network; it has {', '.join(known)}"
                raise InputError(msg)
            if name in seen:
                raise InputError(f"classes has {name!r} more than once")
            seen.add(name)
        if group:
            found.append(group)
    if not found:
        raise InputError("classes is empty; name at least one class of street, or leave it out")
    return found


def _separable(trips: Trips, seconds: FloatArray, along: FloatArray, chosen: IndexArray, where: str) -> _Groups:
    """Return the classes whose factors the trips determine."""
    # Twice as many as a fit needs, because routes change while factors are fitted.
    enough = uses(seconds[chosen], along[chosen]).sum(axis=0) >= 2 * TRIPS_PER_FACTOR
    groups: _Groups = [(name,) for name, is_used in zip(trips.classes, enough, strict=True) if is_used]
    if not groups:
        msg = (
            f"{chosen.size} trips{where} are too few: no class of street is used by {2 * TRIPS_PER_FACTOR} of them; "
            "give more trips, or name the classes to fit with classes="
        )
        raise InputError(msg)
    return groups


def _rows(trips: Trips, name: str, members: IndexArray, found: Fit) -> pd.DataFrame:
    """Return a row for each class of a group of hours."""
    routed = route_trips(trips, by_class(found.groups, found.factors), members)
    singles: _Groups = [(each,) for each in trips.classes]
    known = np.isfinite(routed.seconds)
    n_trips = uses(routed.seconds[known], group_seconds(routed.by_class[known], trips.classes, singles)).sum(axis=0)
    number_of = {each: i for i, group in enumerate(found.groups) for each in group}
    rows = []
    for each, n in zip(trips.classes, n_trips.tolist(), strict=True):
        at = number_of.get(each)
        factor = 1.0 if at is None else float(found.factors[at])
        error = np.nan if at is None else float(found.errors[at])
        is_at_bound = at is not None and bool(np.isclose(factor, BOUNDS, rtol=1e-3).any())
        rows.append((name, each, factor, error, n, at is not None, is_at_bound))
    columns = ["hours", "highway", "factor", "standard_error", "trips", "is_fitted", "is_at_bound"]
    return pd.DataFrame(rows, columns=columns)


def _errors(trips: Trips, estimates: Mapping[str, FloatArray], chosen: Mapping[str, IndexArray]) -> pd.DataFrame:
    """Return the errors of travel times."""
    rows = []
    for which, at in chosen.items():
        for speeds, seconds in estimates.items():
            error = seconds[at] - trips.seconds[at]
            rows.append(
                {
                    "trips": which,
                    "speeds": speeds,
                    "n": at.size,
                    "mean_error": error.mean(),
                    "mean_absolute_error": np.abs(error).mean(),
                    "root_mean_square_error": np.sqrt((error**2).mean()),
                    "median_share": np.median(np.abs(error) / trips.seconds[at]),
                }
            )
    return pd.DataFrame(rows)


def _warn(table: pd.DataFrame, errors: pd.DataFrame, fits: list[Fit]) -> None:
    """Warn of factors that should not be used without a look."""
    bad = table[table["is_at_bound"]]
    if len(bad):
        names = named(tuple(dict.fromkeys(bad["highway"])))
        msg = (
            f"the factors of {names} are at their bound ({BOUNDS[0]:g} or {BOUNDS[1]:g}): look at the trips on these "
            "streets, and at their speeds in edges_frame(), before you use them"
        )
        warn(msg)
    if not all(each.is_settled for each in fits):
        msg = "factors have not settled: routes alternate between streets. Those with the least error are returned"
        warn(msg)
    held = errors[errors["trips"] == "held out"].set_index("speeds")["mean_absolute_error"]
    for other, what in (("before", "than before"), ("after, without hours", "than without hours")):
        # A hundredth is within what the choice of trips does (assumed).
        if other in held.index and held["after"] > 1.01 * held[other]:
            msg = f"held-out trips are not predicted better {what}: {held['after']:.1f} s instead of {held[other]:.1f}"
            warn(f"{msg} (mean absolute error); see errors")
