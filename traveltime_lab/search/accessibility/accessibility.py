"""
Accessibility of origins to opportunities (`accessibility`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray
from traveltime_lab._checks import one_of, percents_of, travel_times_s, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, as_table, read_points
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.executors import check_executor
from traveltime_lab.runtime.progress import Progress, check_progress, watched
from traveltime_lab.search import border, trip_costs
from traveltime_lab.search.accessibility.decay import Decay, as_decay
from traveltime_lab.search.accessibility.measures import (
    Catchment,
    Matrix,
    Passes,
    Weights,
    floating_catchments,
    nearest,
)
from traveltime_lab.search.accessibility.measures import (
    opportunities as weighted_opportunities,
)
from traveltime_lab.search.accessibility.workers import PassesByWorkers
from traveltime_lab.search.amounts import amounts_of, columns_of_amounts
from traveltime_lab.search.each_moment import at_each_moment, check_columns
from traveltime_lab.search.query import ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps, on_closed_streets

#: Methods of floating catchment areas.
_CATCHMENTS: Final = {
    "2sfca": Catchment(),
    "e2sfca": Catchment(),
    "3sfca": Catchment(with_selection=True),
    "m2sfca": Catchment(squares_access=True),
}
MEASURES: Final = ("opportunities", "nearest", *_CATCHMENTS)
#: Reasons why an origin has no value.
_REASONS: Final = pd.CategoricalDtype(["origin_outside_network", "origin_not_snapped", "origin_street_closed"])
#: Columns of the result that are not values.
_RESERVED: Final = ("travel_time_limit", "reason", "geometry", border.COLUMN)
#: Largest number of `k` (assumed).
_MOST_K: Final = 1_000


@explained_keywords
@with_receipt
@at_each_moment(by_label=True)
def accessibility(
    network: Network,
    origins: PointsLike,
    opportunities: PointsLike,
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
    values: str | Sequence[str] | None = None,
    measure: Literal["opportunities", "nearest", "2sfca", "e2sfca", "3sfca", "m2sfca"] = "opportunities",
    decay: str | Decay | Mapping[str, Any] | None = None,
    demand: str | None = None,
    k: int | None = None,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    window: int | None = None,
    percentiles: Sequence[float] = (),
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
) -> gpd.GeoDataFrame:
    """
    Return the accessibility of each origin: opportunities in reach, times to the nearest, or shares of their capacity.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    opportunities : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, such as schools, jobs or doctors, with a unique index.
    travel_time : int, timedelta or list of these
        Maximum travel time in seconds, 1 to 14400. A list returns a row for each origin and travel time.
    values : str or sequence of str, optional
        Columns of `opportunities` with amounts: jobs, beds, places. By default each opportunity counts 1.
    measure : {"opportunities", "nearest", "2sfca", "e2sfca", "3sfca", "m2sfca"}, default "opportunities"
        - ``"opportunities"``: the amount in reach, weighted by `decay`. Without one these are cumulative opportunities,
          with a decay other than ``"step"`` a gravity measure [1]_.
        - ``"nearest"``: the travel time in seconds to the `k`-th nearest opportunity. `values` are numbers of
          opportunities at each point.
        - ``"2sfca"``: two-step floating catchment areas [2]_, the amount for each unit of `demand`: an opportunity
          divides its amount by the demand that reaches it, and an origin adds up the shares that it reaches.
        - ``"e2sfca"``: enhanced [3]_, where `decay` weights both steps.
        - ``"3sfca"``: three-step [4]_, as ``"e2sfca"``, but the demand of an origin is divided among the opportunities
          with an amount above 0 by their weights, since no person uses all of them.
        - ``"m2sfca"``: modified [5]_, as ``"e2sfca"``, but the weight applies once more to the shares that an origin
          reaches, so that far opportunities leave some of their amount unused.
    decay : str, Decay or mapping, optional
        The weight of an opportunity by its travel time; see `Decay`. Default: ``"step"``, which is 1 within the travel
        time. Needed for ``"e2sfca"``; ``"2sfca"`` and ``"nearest"`` have none.
    demand : str, optional
        Column of `origins` with the amount that demands the opportunities, such as the population. For the floating
        catchment areas only, which need it.
    k : int, optional
        For ``"nearest"`` only: which opportunity, 1 to 1000. Default: 1, the nearest.
    transportation, departure_time, arrival_time, snapping
        As in `time_filter`. With several moments, the first column is ``moment``, so that
        ``found.plot.line(x="moment", y="opportunities")`` draws a day of one origin.
    window : int, optional
        As in `time_filter`. Without percentiles, the travel times are the shortest ones in the window.
    percentiles : sequence of float, default ()
        As in `time_filter`. Travel times are those that the percentage of departures does not exceed.
    max_emissions, max_cost : float, optional
        Grams of CO2e, and money, that a trip has at most: an opportunity is in reach only if its fastest trip keeps
        these limits, too, and both are known. Not with percentiles; a cost on streets without tolls and ferries only.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre, for `max_emissions` and `max_cost`.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of pairs.
    executor : concurrent.futures.Executor, optional
        Workers that search the origins in parts, such as ``ProcessPoolExecutor(4)`` or ``client.get_executor()`` of a
        Dask client. The result is the same; each worker needs memory for the network. By default, the searches run in
        this process.

    Returns
    -------
    GeoDataFrame
        Indexed like `origins`: ``travel_time_limit`` (int32, s); a column for each of `values` under its name, or
        ``opportunities``, with percentiles one for each of them, such as ``jobs_p50``; ``reason``; and the origin as a
        point in EPSG:4326. Amounts are float64, and 0 if nothing is in reach. Columns of ``"nearest"`` hold travel
        times (Int32, s) and are named so, such as ``travel_time_to_schools``; they are NA if fewer than `k`
        opportunities are in reach. Both are missing for origins without a street, and ``reason``
        (categorical) says why. An origin at a street that a change has closed has nothing in reach, and a reason, too.
        If the border of the extract is known, ``reaches_border`` (bool) is as in `time_map`: opportunities beyond the
        border are missing, too. It is about the way from the origin, with a timetable and `arrival_time` by vehicles
        that wait nowhere: with measures of floating catchments, people beyond the border who share an opportunity in
        reach are missing without a flag.

    Raises
    ------
    InputError
        If a table is empty, a column is missing or has missing or negative values, an argument is unknown, or one does
        not belong to the measure.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If a number is out of range. Amounts are 0, or from 1e-15 to 1e15.
    ModeError
        If the transportation is unknown.
    MomentError
        If a time does not exist or is ambiguous, or the timetable does not cover it.
    UnfinishedJobError
        If the executor can no longer be used, or its workers ended several times.

    Warns
    -----
    BorderWarning
        If the places in reach extend to the border.

    See Also
    --------
    Decay : Weights by travel time.
    time_filter : The travel times themselves.

    Notes
    -----
    Travel times are those of `time_filter`, in whole seconds, and so are emissions and costs: those of the fastest
    trip. A slower trip may keep a limit that the fastest one does not; `pareto_routes` finds both. The matrix is
    computed in blocks and never held as a whole; floating catchment areas search it twice, the three-step method three
    times, unless it is small. The nearest opportunities on streets are found without it where that is quicker, as in
    `nearest`.

    Sums are exact and rounded once: they equal `math.fsum` of the products of weights and amounts, whatever the size
    of the blocks. An opportunity that no demand reaches adds nothing to any origin.

    References
    ----------
    .. [1] Hansen. "How Accessibility Shapes Land Use". Journal of the American Institute of Planners 25(2), 1959.
       https://doi.org/10.1080/01944365908978307
    .. [2] Luo, Wang. "Measures of Spatial Accessibility to Health Care in a GIS Environment". Environment and Planning
       B 30(6), 2003. https://doi.org/10.1068/b29120
    .. [3] Luo, Qi. "An Enhanced Two-Step Floating Catchment Area (E2SFCA) Method for Measuring Spatial Accessibility to
       Primary Care Physicians". Health & Place 15(4), 2009. https://doi.org/10.1016/j.healthplace.2009.06.002
    .. [4] Wan, Zou, Sternberg. "A Three-Step Floating Catchment Area Method for Analyzing Spatial Access to Health
       Services". International Journal of Geographical Information Science 26(6), 2012.
       https://doi.org/10.1080/13658816.2011.624987
    .. [5] Delamater. "Spatial Accessibility in Suboptimally Configured Health Care Systems: A Modified Two-Step
       Floating Catchment Area (M2SFCA) Metric". Health & Place 24, 2013.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> found = tl.accessibility(
    ...     network,
    ...     places.iloc[:3],
    ...     places,
    ...     travel_time=[600, 1200],
    ...     transportation="cycling",
    ... )
    >>> found[["travel_time_limit", "opportunities"]]
                         travel_time_limit  opportunities
    name
    Mercado Público                    600            3.0
    Mercado Público                   1200            5.0
    Rodoviária                         600            3.0
    Rodoviária                        1200            5.0
    Hospital Santa Casa                600            4.0
    Hospital Santa Casa               1200            5.0

    Beds for each inhabitant, less of those farther away:

    >>> hospitals = places.iloc[[2, 4]].assign(beds=[300, 200])
    >>> homes = places.iloc[:6].assign(
    ...     people=[900, 700, 1500, 2000, 400, 800]
    ... )
    >>> shared = tl.accessibility(
    ...     network,
    ...     homes,
    ...     hospitals,
    ...     values="beds",
    ...     demand="people",
    ...     measure="e2sfca",
    ...     travel_time=1800,
    ...     decay={"type": "gaussian", "scale": 900},
    ...     transportation="driving",
    ... )
    >>> round(float((shared["beds"] * homes["people"]).sum()))
    500
    """
    limits = travel_times_s(travel_time, MAX_TRAVEL_TIME_S)
    one_of(measure, "measure", MEASURES)
    how = _decay_of(measure, decay)
    rank = _rank_of(measure, k)
    percents = percents_of(percentiles)
    check_progress(progress)
    check_executor(executor)
    most = trip_costs.limits_of(max_emissions, max_cost)
    query = ask(
        network, transportation, departure_time, arrival_time, snapping, limit=max(limits), window=window,
        percents=percents, with_least=not percents, costs=trip_costs.requested_costs(costs, most),
    )  # fmt: skip
    query = trip_costs.within(query, most)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(opportunities, "opportunities", network.bounds)
    names, amounts = columns_of_amounts(as_table(opportunities), values, len(ends), _RESERVED)
    if measure != "nearest" and not percents:
        check_columns(names)
    needed = _demand(measure, as_table(origins), demand)
    here, there = query.snap(starts), query.snap(ends, is_origin=False)
    # People leave the origins, also to arrive at a given time; then vehicles to the border are those of any moment.
    needs_border = query.transit is not None and border.is_known(query) and not query.is_arrival
    needs_length = bool(most) and query.transit is None
    searched = replace(query, needs_length=needs_length, needs_border=needs_border)
    matrix = Matrix(searched, here, there, max(limits), max(1, len(percents)))
    passes = Passes(matrix) if executor is None else PassesByWorkers(matrix, executor)
    n_passes = 1 if needed is None else 2 + _CATCHMENTS[measure].with_selection
    n_passes *= 1 + (bool(most) and query.transit is not None)
    with watched(progress, len(starts) * len(ends) * n_passes, "Accessibility", "pair"):
        if measure == "nearest":
            found: AnyArray = nearest(passes, limits, _whole_amounts(names, amounts), rank)
        elif needed is None:
            found = weighted_opportunities(passes, [Weights.of(how, limit) for limit in limits], amounts)
        else:
            weights = [Weights.of(how, limit) for limit in limits]
            found = floating_catchments(passes, weights, amounts, needed, _CATCHMENTS[measure])
    is_closed = on_closed_streets(query.graph.topology, here)
    if measure == "nearest":
        names = [f"travel_time_to_{name}" for name in names]
    table = _table(found, here, is_closed, starts.index, starts.geometry, limits, names, percents)
    if border.is_known(query):
        way = border.of_streets(query, here, is_arrival=False)
        if query.transit is not None:
            way = border.of_origins(query, here, matrix.to_border)
        flagged = border.within(query, way, limits)
        table.insert(len(table.columns) - 1, border.COLUMN, flagged.ravel())
        border.warn_of_origins(query, flagged)
    return table


def _table(
    found: AnyArray,
    here: Snaps,
    is_closed: BoolArray,
    index: pd.Index,
    geometry: AnyArray,
    limits: tuple[int, ...],
    names: list[str],
    percents: tuple[float, ...],
) -> gpd.GeoDataFrame:
    """Return the table of values of shape (n_layers, n_limits, n_columns, n_origins)."""
    n_limits = len(limits)
    status = np.repeat(here.status, n_limits)
    is_lost = status != SNAPPED
    columns: dict[str, Any] = {"travel_time_limit": np.tile(np.array(limits, np.int32), len(index))}
    for column, name in enumerate(names):
        for layer in range(len(found)):
            values = found[layer, :, column].T.ravel()
            label = f"{name}_p{percents[layer]:g}" if percents else name
            if values.dtype == np.int32:
                missing = is_lost | (values < 0)
                columns[label] = pd.arrays.IntegerArray(np.where(missing, 0, values).astype(np.int32), missing)
            else:
                columns[label] = np.where(is_lost, np.nan, values)
    codes = np.where(is_lost, np.where(status == OUTSIDE, 0, 1), np.where(np.repeat(is_closed, n_limits), 2, -1))
    columns["reason"] = pd.Categorical.from_codes(codes, dtype=_REASONS)
    return geo_frame(columns, np.repeat(geometry, n_limits), index.repeat(n_limits))


def _decay_of(measure: str, decay: Any) -> Decay:
    """Return the decay of a measure, or raise InputError if it has none or needs one."""
    if decay is None:
        if measure == "e2sfca":
            msg = "measure='e2sfca' needs a decay, such as Decay('gaussian', scale=600); without one it is '2sfca'"
            raise InputError(msg)
        return Decay("step")
    if measure in ("2sfca", "nearest"):
        more = "; with one it is 'e2sfca', '3sfca' or 'm2sfca'" if measure == "2sfca" else ""
        msg = f"measure={measure!r} has no decay{more}"
        raise InputError(msg)
    return as_decay(decay)


def _rank_of(measure: str, k: Any) -> int:
    """Return the rank of the opportunity to search for, 1 for the nearest."""
    if k is None:
        return 1
    if measure != "nearest":
        msg = f"k is for measure='nearest' only; got measure={measure!r}"
        raise InputError(msg)
    return whole(k, "k", 1, _MOST_K, "opportunities")


def _demand(measure: str, origins: Any, demand: Any) -> FloatArray | None:
    """Return the demand of the origins, None if the measure has none."""
    if measure not in _CATCHMENTS:
        if demand is not None:
            msg = f"demand is for {', '.join(map(repr, _CATCHMENTS))}; measure={measure!r} has none"
            raise InputError(msg)
        return None
    if demand is None:
        msg = f"measure={measure!r} needs demand, the column of origins with the population that shares opportunities"
        raise InputError(msg)
    return amounts_of(origins, "origins", demand, "demand")


def _whole_amounts(names: list[str], amounts: FloatArray) -> AnyArray:
    """Return amounts as numbers of opportunities."""
    for name, values in zip(names, amounts, strict=True):
        is_part = values != np.floor(values)
        if is_part.any():
            msg = (
                f"measure='nearest' counts opportunities: values must be whole numbers; "
                f"the column {name!r} has {values[is_part][0]:g}"
            )
            raise InputError(msg)
    return amounts.astype(np.int64)
