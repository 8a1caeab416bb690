"""
The emissions and costs of trips: the properties that follow from `traveltime_lab.Costs`.

On streets by one mode, both follow from the length of the trip. Emissions by timetable are found as lengths are
(`traveltime_lab.transit.emissions`), in a second search. All others need the route of each pair: fares, tolls, and
ferries of the street network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.itinerary import Leg, Route
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.costs import Costs, as_costs
from traveltime_lab.modes.options import number
from traveltime_lab.modes.table import DRIVING, STREET_MODES
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import unwatched
from traveltime_lab.search.properties import charged
from traveltime_lab.search.query import Query
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.matrix import Block
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit.emissions import UNKNOWN_MG, factor, milligrams
from traveltime_lab.transit.fares import total_in
from traveltime_lab.transit.route_types import VEHICLE_WORDS

_MODE_OF_LEG: Final[Mapping[str, str]] = {mode.leg: mode.name for mode in STREET_MODES.values()}
_MODE_OF_WORD: Final = {word: mode for mode, word in VEHICLE_WORDS.items()}
#: Largest limit (assumed).
_MOST: Final = 1e12
#: Decimals of costs, which are rounded once for the whole trip.
_DECIMALS: Final = 4
#: Places whose trips are searched together, 8 bytes each and the streets that they are snapped to (assumed).
_PLACES_AT_ONCE: Final = 200_000


def requested_costs(costs: Any, requested: Collection[str]) -> Costs | None:
    """
    Return the costs of a question, None if neither emissions nor costs are requested.

    Raises
    ------
    InputError
        If costs are given that no property needs.
    """
    given = None if costs is None else as_costs(costs)
    if not charged(requested):
        if given is not None:
            raise InputError(
                "costs are for emissions and cost, which are not requested; request one of them, or leave costs out"
            )
        return None
    return given or Costs()


def needs_routes(query: Query, requested: Collection[str]) -> bool:
    """Return whether emissions or costs that are requested have to be read from the route of each pair."""
    if not charged(requested):
        return False
    means, uses = query.transportation, query.network.streets.tables.uses
    has_ferry = means.mode.has_ferry and bool(uses["is_ferry"].any())
    has_toll = means.street is DRIVING and "toll" not in means.exclude_roads and bool(uses["is_toll"].any())
    return has_ferry or ("cost" in requested and (query.transit is not None or has_toll))


def check_form(query: Query, requested: Collection[str], form: str) -> None:
    """Raise an error if a form of tables cannot have the emissions or costs that are requested."""
    if form == "pairs" or not needs_routes(query, requested):
        return
    what = next(name for name in ("emissions", "cost") if needs_routes(query, {name}))
    why = "fares" if query.transit is not None and what == "cost" else "ferries" if what == "emissions" else "tolls"
    msg = (
        f"the {what} of transportation {query.transportation.type!r} depends on the route of each pair, for its {why}; "
        "use time_filter with form='pairs', or routes"
    )
    raise UnsupportedError(msg)


def in_grams(query: Query) -> Query:
    """Return the query by timetable whose lengths are milligrams of CO2e."""
    assert query.transit is not None
    asking = query.transit.asking(percents=(), with_share=False, with_least=True)
    return replace(query, transit=replace(asking, in_grams=True), needs_length=True, needs_border=False, charges=())


def of_lengths(query: Query, lengths: Int64Array) -> dict[str, FloatArray]:
    """
    Return the emissions and costs of a query, by name; NaN where they are not known.

    Parameters
    ----------
    query : Query
        Its `charges` are returned.
    lengths : int64 array
        Centimetres on streets; by timetable what the query of `in_grams` has instead.
    """
    if query.transit is not None:
        return {"emissions": np.where(lengths == UNKNOWN_MG, np.nan, lengths / 1000.0)}
    costs, mode, found = costs_of(query), query.transportation.base, {}
    if "emissions" in query.charges:
        mg = milligrams(lengths, factor(costs, mode))
        found["emissions"] = np.where(mg < 0, np.nan, mg / 1000.0)
    if "cost" in query.charges:
        price = costs.money_per_km(mode)
        unknown = np.where(lengths > 0, np.nan, 0.0)
        found["cost"] = unknown if price is None else np.round(lengths * price / 1e5, _DECIMALS)
    return found


def of_labels(query: Query, labels: Int64Array) -> dict[str, FloatArray]:
    """Return what `of_lengths` does for labels; NaN where there is no trip."""
    is_lost = labels == UNREACHED
    found = of_lengths(query, np.where(is_lost, 0, label_parts.cm(labels)))
    return {name: np.where(is_lost, np.nan, values) for name, values in found.items()}


def limits_of(max_emissions: Any, max_cost: Any) -> dict[str, float]:
    """Return the limits that are given, by property."""
    given = {"emissions": ("max_emissions", "grams", max_emissions), "cost": ("max_cost", "money", max_cost)}
    return {
        name: number(value, argument, unit, 0.0, _MOST)
        for name, (argument, unit, value) in given.items()
        if value is not None
    }


def within(query: Query, most: Mapping[str, float]) -> Query:
    """
    Return the query whose `blocks` leave out trips that emit or cost more.

    Raises
    ------
    InputError
        If no trip of the query has known emissions or costs, or percentiles are requested.
    UnsupportedError
        If they depend on the route of each trip.
    """
    check_form(query, most, "matrix")
    if most and query.percents:
        msg = "max_emissions and max_cost are about the fastest trip, which percentiles have not; leave one of them out"
        raise InputError(msg)
    if most and query.transit is None:
        costs, mode = costs_of(query), query.transportation.base
        known = {"emissions": ("emissions", costs.grams_per_km), "cost": ("running_cost", costs.money_per_km)}
        for name in most:
            needed, per_km = known[name]
            if per_km(mode) is None:
                raise InputError(f"max_{name} needs costs with {needed} for {mode}")
    return replace(query, charges=tuple(row.name for row in charged(most)), most=dict(most))


def blocks(query: Query, starts: Snaps, ends: Snaps, limit: int, engine: str = "auto") -> Iterator[Block]:
    """
    Yield the blocks of a query, without the trips that emit or cost more than its limits.

    Parameters
    ----------
    query : Query
        See `within`.
    starts, ends : Snaps
    limit : int
        Maximum travel time in seconds.
    engine : str, default "auto"
    """
    if not query.most:
        yield from query.blocks(starts, ends, limit, engine)
        return
    for block, charges in charged_blocks(query, starts, ends, limit, engine):
        yield replace(block, labels=np.where(keeps(query, charges), block.labels, UNREACHED))


def places_within(query: Query, here: Snaps, limit: int) -> Callable[[FloatArray, FloatArray], BoolArray] | None:
    """
    Return which places the fastest trips from, or to, one point reach within the limits of a query.

    Parameters
    ----------
    query : Query
        See `within`.
    here : Snaps
        The point.
    limit : int
        Maximum travel time in seconds.

    Returns
    -------
    callable, optional
        Called with two float64 arrays, coordinates in local metres, returns a bool array; None for a query without
        limits.
    """
    if not query.most:
        return None
    searched = query if query.transit is None else in_grams(query)

    def are_within(x: FloatArray, y: FloatArray) -> BoolArray:
        found = np.zeros(x.size, np.bool_)
        for first in range(0, x.size, _PLACES_AT_ONCE):
            checkpoint()
            lng, lat = query.network.frame.to_lnglat(*(each[first : first + _PLACES_AT_ONCE] for each in (x, y)))
            there = query.snap_at(lng, lat, is_origin=query.is_arrival)
            with unwatched():
                for block in searched.blocks(*((there, here) if query.is_arrival else (here, there)), limit, "auto"):
                    part = block.rows if query.is_arrival else block.columns
                    charges = of_labels(query, block.labels.ravel())
                    found[first + part.start : first + part.stop] = keeps(query, charges)
        return found

    return are_within


def keeps(query: Query, charges: Mapping[str, FloatArray]) -> BoolArray:
    """Return which trips keep the limits of a query, given their emissions and costs."""
    kept: BoolArray = np.logical_and.reduce([charges[name] <= most for name, most in query.most.items()])
    return kept


def charged_blocks(
    query: Query, starts: Snaps, ends: Snaps, limit: int, engine: str
) -> Iterator[tuple[Block, dict[str, FloatArray]]]:
    """
    Yield the blocks of a query, with their emissions and costs, by name.

    By timetable, emissions are those of a second search, whose blocks have other sizes: its labels are kept until all
    those of a block are found.
    """
    found = query.blocks(starts, ends, limit, engine)
    if query.transit is None or not query.charges:
        yield from ((block, of_labels(query, block.labels) if query.charges else {}) for block in found)
        return
    axis = 1 if query.is_arrival else 0
    second = in_grams(query).blocks(starts, ends, limit, engine)
    waiting, first = next(second).labels, 0
    for block in found:
        part = block.columns if query.is_arrival else block.rows
        assert part.start == first
        while first + waiting.shape[axis] < part.stop:
            waiting = np.concatenate([waiting, next(second).labels], axis)
        labels, waiting = np.split(waiting, [part.stop - first], axis)
        yield block, of_labels(query, labels)
        first = part.stop


def of_routes(query: Query, routes: Collection[Route | None], requested: Collection[str]) -> dict[str, FloatArray]:
    """Return emissions and costs of routes, by name; NaN where there is no route, or they are not known."""
    costs, found = costs_of(query), {}
    if "emissions" in requested:
        grams = [None if route is None else emissions_of(route, costs) for route in routes]
        found["emissions"] = np.array(grams, np.float64)
    if "cost" in requested:
        currency = currency_of(query.network, costs) if query.transit is not None else costs.currency
        money = [None if route is None else cost_of(route, costs, currency) for route in routes]
        found["cost"] = np.array(money, np.float64)
    return found


def as_columns(values: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return values as arrays of pandas, NA for NaN."""
    return {name: pd.arrays.FloatingArray(np.nan_to_num(each), np.isnan(each)) for name, each in values.items()}


def emissions_of(route: Route, costs: Costs) -> float | None:
    """Return the grams of CO2e of a route, None if they are not known."""
    total = 0
    for leg in route.legs:
        cm = round(leg.distance * 100.0)
        if not cm:
            continue
        mg = int(milligrams(np.array(cm), factor(costs, mode_of(leg))))
        if mg < 0:
            return None
        total += mg
    return total / 1000.0


def steps_of(route: Route, costs: Costs, step_mg: int) -> int:
    """Return the emissions of a route, which are known, in whole steps for each way on streets and each vehicle."""
    grams: list[int] = []
    for leg in route.legs:
        cm = round(leg.distance * 100.0)
        mg = int(milligrams(np.array(cm), factor(costs, mode_of(leg)))) if cm else 0
        if leg.ride is not None and leg.ride.stays_seated:
            grams[-1] += mg
        else:
            grams.append(mg)
    return sum((2 * mg + step_mg) // (2 * step_mg) for mg in grams)


def cost_of(route: Route, costs: Costs, currency: str | None) -> float | None:
    """Return the fares, running costs and tolls of a route in a currency, None if they are not known."""
    if route.fares is None:
        return None
    rides = [leg for leg in route.legs if leg.ride is not None]
    total = total_in(route.fares.totals, currency)
    if total is None or (rides and not route.fares.tickets):
        return None
    cm: dict[str, int] = {}
    toll_cm = 0
    for leg in route.legs:
        if leg.ride is None and leg.mode in _MODE_OF_LEG:
            cm[leg.mode] = cm.get(leg.mode, 0) + round(leg.distance * 100.0)
            toll_cm += round(leg.toll_distance * 100.0)
    for mode, length in cm.items():
        price = costs.money_per_km(_MODE_OF_LEG[mode])
        if price is None and length:
            return None
        total += length * (price or 0.0) / 1e5
    if toll_cm:
        if costs.toll_per_km is None:
            return None
        total += toll_cm * costs.toll_per_km / costs.occupancy / 1e5
    return float(np.round(total, _DECIMALS))


def mode_of(leg: Leg) -> str:
    """Return the mode of a leg, as the keys of `Costs.emissions`."""
    if leg.ride is not None:
        return _MODE_OF_WORD.get(leg.ride.vehicle, "other")
    return _MODE_OF_LEG.get(leg.mode, "ferry")


def currency_of(network: Network, costs: Costs) -> str | None:
    """
    Return the currency of costs: the given one, or else that of the fares of the timetable; None without fares.

    Raises
    ------
    InputError
        If there are fares in several currencies, and none is given.
    """
    if costs.currency is not None:
        return costs.currency
    known = currencies(network)
    if len(known) > 1:
        msg = (
            f"the timetable has fares in {', '.join(known)}; say in which currency costs are to be, such as "
            f"costs=tl.Costs(currency={known[0]!r})"
        )
        raise InputError(msg)
    return known[0] if known else None


def currencies(network: Network) -> list[str]:
    """Return the currencies of the fares of a timetable, sorted."""
    if network.transit is None:
        return []
    return sorted({str(code) for code in network.transit.timetable.fare_attributes["currency_type"]})


def costs_of(query: Query) -> Costs:
    """Return the costs of a query for emissions or costs."""
    assert query.question.costs is not None
    return query.question.costs
