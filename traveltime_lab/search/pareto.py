"""
Pareto-optimal routes by travel time, emissions, cost and number of rides (`pareto_routes`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._checks import items, one_of, travel_time_s, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.itinerary import Route
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.costs import Costs, as_costs
from traveltime_lab.modes.options import number
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentLike
from traveltime_lab.runtime.progress import Progress, advance, check_progress, watched
from traveltime_lab.search import trip_costs
from traveltime_lab.search.pairs import chosen_pairs, reasons_of
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.routes import found_routes, route_moments
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.transit.pareto import ParetoSearch, unbeaten

CRITERIA: Final = ("travel_time", "emissions", "cost", "rides")
#: Most pairs of a call, and most routes of a pair (assumed).
_MOST_PAIRS: Final = 10_000
_MOST_RESULTS: Final = 10_000


class _Choice(NamedTuple):
    """A route of a pair, and what it costs; NaN for what is not known."""

    means: str
    route: Route
    emissions: float
    cost: float
    rides: int
    steps: float

    def criteria(self, names: Sequence[str]) -> list[float]:
        """Return the values of criteria; those that are not known are the worst."""
        known: dict[str, float] = {"travel_time": self.route.travel_time, "rides": self.rides}
        known |= {"emissions": self.steps, "cost": self.cost}
        return [np.inf if np.isnan(known[name]) else known[name] for name in names]

    def order(self) -> list[float]:
        """Return the key by which routes that are equal in the criteria are sorted, best first."""
        grams = np.inf if np.isnan(self.emissions) else self.emissions
        return [self.route.travel_time, grams, *self.criteria(("cost", "rides"))]


@explained_keywords
@with_receipt
def pareto_routes(
    network: Network,
    origins: PointsLike,
    destinations: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str
    | Transportation
    | Mapping[str, Any]
    | Sequence[str | Transportation | Mapping[str, Any]] = "public_transport",
    departure_time: MomentLike = None,
    criteria: Sequence[str] = ("travel_time", "emissions", "rides"),
    costs: Costs | Mapping[str, Any] | None = None,
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    snapping: Snapping | Mapping[str, Any] | None = None,
    emissions_step: float = 10.0,
    max_results: int = 1000,
    progress: Progress = False,
) -> gpd.GeoDataFrame:
    """
    Return the routes that no other route beats in all of travel time, emissions, cost and number of rides.

    Parameters
    ----------
    network : Network
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    transportation : str, Transportation, mapping or list of these, default "public_transport"
        Means of transportation; see `Transportation`. The routes of several means are compared with each other.
    departure_time : datetime or str, optional
        As in `time_filter`, one moment; required for types with a timetable.
    criteria : sequence of str, default ("travel_time", "emissions", "rides")
        Values by which routes are compared, any of these and ``"cost"``. A value that is not known is worse than all
        that are. With costs, where fares differ by line, zone or time, searches are much larger.
    costs : Costs or mapping, optional
        Emissions and money of a kilometre. By timetable, walking must have a factor of 0.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        As in `time_filter`; at most 10,000 pairs.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    emissions_step : float, default 10.0
        Grams of CO2e, 0.001 to 1000, in which emissions are compared: those of each vehicle are rounded to whole steps
        (assumed). With small steps most of the routes differ by some metres of walking.
    max_results : int, default 1000
        Largest number of routes of a pair, 1 to 10,000. More are an error, so that no set is incomplete.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of pairs.

    Returns
    -------
    GeoDataFrame
        One row per route, sorted by pair and travel time: ``origin`` and ``destination`` (labels), ``transportation``
        (type), ``departure_time`` and ``arrival_time`` (in the time zone of the network, NaT without a date),
        ``travel_time`` (Int32, s), ``emissions`` (Float64, g of CO2e), ``cost`` (Float64), ``rides`` (Int32: vehicles
        of the timetable), ``distance`` (Float64, m), ``route`` (`Route`), ``reason`` (why there is no route by the
        first of the means, NA if there is one) and the line of the route in EPSG:4326. A pair without a route has one
        row.

    Raises
    ------
    InputError
        If a table is empty, has duplicate labels, or an argument is unknown.
    CrsError, CoordinateError, ModeError, MomentError
        As in `time_filter`.
    LimitError
        If there are too many pairs, routes of a pair, or partial journeys of a search.
    UnsupportedError
        If the timetable is searched with headways other than exact, the cost of a drive to the stop may have tolls, or
        walking has a factor other than 0.

    See Also
    --------
    routes : The fastest routes.
    Costs : Emissions and money of a kilometre.

    Notes
    -----
    By timetable, all journeys that depart at `departure_time` or later are compared, as the search by rounds with bags
    of labels [1]_ does; routes that are equal in all criteria are one, the fastest of those found. On streets,
    and on the ways to and from stops, the fastest route is taken. Fares are those for all rides of a journey together.

    References
    ----------
    .. [1] Delling, Pajor, Werneck. "Round-Based Public Transit Routing". ALENEX 2012, section 4.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> found = tl.pareto_routes(
    ...     network,
    ...     places.loc[["PUCRS"]],
    ...     places.loc[["Mercado Público"]],
    ...     travel_time=3600,
    ...     transportation=["public_transport", "cycling"],
    ...     departure_time="2019-05-13T08:00",
    ...     criteria=["travel_time", "emissions"],
    ... )
    >>> found["transportation"].tolist()[0]
    'public_transport'
    >>> bool(found["emissions"].is_monotonic_decreasing)
    True
    """
    limit = travel_time_s(travel_time, MAX_TRAVEL_TIME_S)
    names = (criteria,) if isinstance(criteria, str) else tuple(items(criteria, "criteria", "names"))
    for name in names:
        one_of(name, "criteria", CRITERIA)
    if not names:
        raise InputError(f"criteria is empty; give at least one of {', '.join(CRITERIA)}")
    most = whole(max_results, "max_results", 1, _MOST_RESULTS, "routes")
    step_mg = round(number(emissions_step, "emissions_step", "grams", 0.001, 1000.0) * 1000.0)
    check_progress(progress)
    check_network(network)
    prices = as_costs(costs)
    several: list[Any] = list(transportation) if isinstance(transportation, list | tuple) else [transportation]
    means = [as_transportation(each) for each in several]
    if not means:
        raise InputError("transportation is empty; give at least one means of transportation")
    queries = [ask(network, each, departure_time, None, snapping, limit=limit, costs=prices) for each in means]
    if any(query.transit is not None for query in queries):
        trip_costs.currency_of(network, prices)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(destinations, "destinations", network.bounds)
    chosen = chosen_pairs(pairs, starts, ends)
    n_pairs = len(starts) * len(ends) if chosen is None else chosen[0].size
    if n_pairs > _MOST_PAIRS:
        raise LimitError(f"pareto_routes supports at most {_MOST_PAIRS:,} pairs; got {n_pairs:,}. Call it for fewer")
    choices: list[list[_Choice]] = [[] for _ in range(n_pairs)]
    first: tuple[Query, Pairs] | None = None
    with watched(progress, n_pairs * len(queries), "Pareto-optimal routes", "pair"):
        for query in queries:
            snapped = Pairs(query.snap(starts), query.snap(ends, is_origin=False), chosen)
            for pair, routes in _routes(query, snapped, names, step_mg):
                choices[pair] += _priced(query, routes, step_mg)
                advance(1)
            if first is None:
                first = query, snapped
    for pair, each in enumerate(choices):
        # The first of routes that are equal in the criteria is kept.
        each.sort(key=_Choice.order)
        kept = unbeaten(np.array([one.criteria(names) for one in each])).tolist() if each else []
        if len(kept) > most:
            msg = (
                f"{len(kept)} routes of one pair are Pareto-optimal, more than max_results={most}; raise it (at most "
                f"{_MOST_RESULTS}), or compare by fewer criteria"
            )
            raise LimitError(msg)
        choices[pair] = sorted((each[row] for row in kept), key=lambda one: one.criteria(CRITERIA))
    pair_of = np.repeat(np.arange(n_pairs), [max(1, len(each)) for each in choices])
    rows: list[_Choice | None] = []
    for each in choices:
        rows += each or [None]
    found = np.empty(len(rows), object)
    found[:] = [None if one is None else one.route for one in rows]
    origin_of, destination_of = snapped.origin_of[pair_of], snapped.destination_of[pair_of]
    lines = [shapely.LineString() if one is None else one.route.geometry for one in rows]
    assert first is not None
    reasons = reasons_of(*first, np.array([bool(each) for each in choices]))
    columns = {
        "origin": starts.index.take(origin_of),
        "destination": ends.index.take(destination_of),
        "transportation": pd.array([None if one is None else one.means for one in rows], dtype="str"),
        "departure_time": route_moments(found, "departure_time", network.timezone),
        "arrival_time": route_moments(found, "arrival_time", network.timezone),
        "travel_time": pd.array([None if route is None else route.travel_time for route in found], dtype="Int32"),
        **trip_costs.as_columns(
            {
                name: np.array([np.nan if one is None else getattr(one, name) for one in rows])
                for name in ("emissions", "cost")
            }
        ),
        "rides": pd.array([None if one is None else one.rides for one in rows], dtype="Int32"),
        "distance": pd.array([None if route is None else route.distance for route in found], dtype="Float64"),
        "route": pd.Series(found, dtype=object),
        "reason": reasons[pair_of],
    }
    return gpd.GeoDataFrame(columns, geometry=lines, crs="EPSG:4326")


def _routes(query: Query, pairs: Pairs, criteria: Sequence[str], step_mg: int) -> Iterator[tuple[int, list[Route]]]:
    """Yield the positions of pairs and their routes by one means."""
    if query.transit is not None:
        costs = trip_costs.costs_of(query)
        currency = trip_costs.currency_of(query.network, costs)
        search = ParetoSearch(query.transit, costs, currency, "emissions" in criteria, "cost" in criteria, step_mg)
        yield from search.routes(pairs)
        return
    for pair, route, _ in found_routes(query, pairs):
        if route.travel_time <= query.limit:
            yield pair, [route]


def _priced(query: Query, routes: Sequence[Route], step_mg: int) -> Iterator[_Choice]:
    """Yield routes with what they cost."""
    values = trip_costs.of_routes(query, routes, ("emissions", "cost"))
    for route, grams, money in zip(routes, values["emissions"], values["cost"], strict=True):
        n_rides = sum(leg.ride is not None and not leg.ride.stays_seated for leg in route.legs)
        steps = np.nan if np.isnan(grams) else trip_costs.steps_of(route, trip_costs.costs_of(query), step_mg)
        yield _Choice(query.transportation.type, route, float(grams), float(money), n_rides, steps)
