"""
Why a pair is reached slowly or not at all, in words and in data, and the nearest request that works.

Nothing is searched for here that other functions do not answer: the same question is asked again with other limits
(`traveltime_lab.attempts`), and what it then says tells what stood in the way.
"""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd

from traveltime_lab import service_days, transit
from traveltime_lab.attempts import (
    ALL_VEHICLES,
    Around,
    Pair,
    Request,
    Solution,
    changed_options,
    cost,
    solutions,
)
from traveltime_lab.errors import InputError, NoServiceError
from traveltime_lab.journeys import MAX_ROUTE_TIME_S, routes
from traveltime_lab.legs import Route
from traveltime_lab.modes import Snapping, Transportation, as_snapping, as_transportation
from traveltime_lab.moments import TypicalMoment, resolve_moments
from traveltime_lab.network import Network
from traveltime_lab.pairs import component_of
from traveltime_lab.points import Points, read_points
from traveltime_lab.questions import MAX_TRAVEL_TIME_S, MomentLike
from traveltime_lab.reasons import (
    VEHICLES,
    Explanation,
    Reason,
    clock,
    day,
    distance,
    duration,
    made_of,
    parts_of,
    parts_words,
)
from traveltime_lab.snapping import OUTSIDE, SNAPPED
from traveltime_lab.stations import timetable_of
from traveltime_lab.time_filters import time_filter
from traveltime_lab.timetable import ServiceWarning

#: Longer than any trip on streets of one network takes.
_FOREVER_S: Final = 7 * 86_400
_ON_STREETS: Final = {"walking": "on foot", "cycling": "by bicycle", "driving": "by car"}
_WAYS: Final = {
    "walking": ("walking_time", "a walk"),
    "cycling": ("cycling_time_to_station", "a ride"),
    "driving": ("driving_time_to_station", "a drive"),
}


def explain(
    network: Network,
    origin: gpd.GeoDataFrame | gpd.GeoSeries,
    destination: gpd.GeoDataFrame | gpd.GeoSeries,
    *,
    travel_time: int,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
) -> Explanation:
    """
    Explain why a destination is not reached or what the time to it is made of, and what request would reach it.

    Parameters
    ----------
    network : Network
    origin, destination : GeoDataFrame or GeoSeries of length 1
        One point each in any CRS, such as ``places.loc[["home"]]``.
    travel_time : int
        Limit in seconds, 1 to 14400.
    transportation : str, Transportation or mapping, default "driving"
        How to travel; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        As in `time_filter`. A moment that the timetable does not cover is a reason here, not an error.
    snapping : Snapping or mapping, optional
        Threshold, penalty and accepted roads of the snap to the streets.
    window : int, optional
        As in `time_filter`.

    Returns
    -------
    Explanation
        ``print`` shows it in sentences. It has ``is_reached``, ``travel_time``, ``reasons`` (`Reason`: a code, a
        sentence, the side to blame and the facts), ``nearest_request`` (keyword arguments with which `time_filter`
        reaches the destination, None if it does already or nothing was found) and what the time is made of.

    Raises
    ------
    InputError
        If a table does not hold exactly one point, or an argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` is out of range.
    ModeError
        If the transportation is unknown.
    MomentError
        If a moment does not exist or is ambiguous, or a timetable needs one and there is none.

    See Also
    --------
    time_filter : Travel times of many pairs, each with a short reason if there is none.

    Notes
    -----
    The nearest request changes as little as possible: a doubled number counts as much as an hour's wait, a change
    between vehicles half of it. Only where the type of travel reaches the destination in no way is another suggested.
    Longer travel times are looked for up to 12 hours (a week on streets) and suggested up to 4; other moments within a
    day of the given one, and on the nearest days with other services.

    Examples
    --------
    >>> print(explain(network, home, work, travel_time=1800, transportation="train"))  # doctest: +SKIP
    """
    if isinstance(network, Network):
        points = [_one_point(origin, "origin", network), _one_point(destination, "destination", network)]
    given = {
        "travel_time": travel_time,
        "transportation": transportation,
        "departure_time": departure_time,
        "arrival_time": arrival_time,
        "snapping": snapping,
        "window": window,
    }
    with warnings.catch_warnings():
        # That there is little service that day is among the reasons, if it is one.
        warnings.simplefilter("ignore", ServiceWarning)
        try:
            found = time_filter(network, origin, destination, **given)["travel_time"].iloc[0]
        except NoServiceError:
            found = pd.NA
        asked = _Asked(network, origin, destination, given)
        if not pd.isna(found):
            parts, n_changes = asked.parts(asked.request)
            reason = made_of(parts, n_changes)
            return Explanation(True, int(found), (reason,), parts=parts, n_changes=n_changes)
        pair = Pair(network, *points)
        means = asked.request.transportation
        told = _by_timetable(pair, asked) if means.uses_timetable else _on_streets(pair, asked.request)
        best = asked.first_that_works(told.candidates)
        if best is None:
            best = asked.first_that_works(_by_other_means(pair, asked.request))
        used = told.knobs_of(asked.request, best)
        reasons = sorted(told.reasons, key=lambda each: each[0] not in used)
        parts, n_changes = asked.parts(told.slow) if told.slow is not None else ({}, 0)
        return Explanation(
            False, None, tuple(reason for _, reason in reasons),
            None if best is None else asked.arguments(best), _advice(asked, best), parts, n_changes,
        )  # fmt: skip


def _one_point(table: Any, name: str, network: Network) -> Points:
    """Return a table of exactly one point, checked."""
    points = read_points(table, name, network)
    if len(points) != 1:
        msg = f"{name} must be one point; got {len(points)}. Take one row with two brackets, as in {name}.iloc[[0]]"
        raise InputError(msg)
    return points


@dataclass
class _Asked:
    """What the caller asked, as it was written and as a request."""

    network: Network
    origin: Any
    destination: Any
    given: dict[str, Any]
    request: Request = field(init=False)

    def __post_init__(self) -> None:
        given = self.given
        means = as_transportation(given["transportation"])
        moment, is_arrival = resolve_moments(given["departure_time"], given["arrival_time"], self.network.timezone)
        if isinstance(moment, TypicalMoment) and means.uses_timetable:
            moment = transit.typical_moment(self.network, is_arrival=is_arrival)
        snapping = as_snapping(given["snapping"])
        self.request = Request(
            means, snapping, moment, is_arrival, int(given["travel_time"]), int(given["window"] or 0)
        )

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return a request as arguments of `time_filter`; what is as asked stays as it was written."""
        mine, found = self.request, dict(self.given)
        found["travel_time"] = request.travel_time
        if request.transportation != mine.transportation:
            found["transportation"] = request.transportation
        if request.moment != mine.moment:
            found["arrival_time" if mine.is_arrival else "departure_time"] = request.moment
        if request.snapping != mine.snapping:
            found["snapping"] = request.snapping
        if request.window != mine.window:
            found["window"] = request.window or None
        return {name: value for name, value in found.items() if value is not None}

    def first_that_works(self, candidates: list[Request]) -> Request | None:
        """Return the first request with which `time_filter` does reach the destination."""
        for request in candidates:
            try:
                table = time_filter(self.network, self.origin, self.destination, **self.arguments(request))
            except NoServiceError:
                continue
            if table["travel_time"].notna().iloc[0]:
                return request
        return None

    def route(self, request: Request) -> Route | None:
        """Return the route of a request, of up to 12 hours."""
        arguments = self.arguments(request)
        del arguments["travel_time"]
        try:
            found: Route | None = routes(self.network, self.origin, self.destination, **arguments)["route"].iloc[0]
        except NoServiceError:
            return None
        return found

    def parts(self, request: Request) -> tuple[dict[str, int], int]:
        """Return what the time of a request is made of, and the number of changes."""
        route = self.route(request)
        return ({}, 0) if route is None else parts_of(route)


@dataclass
class _Told:
    """Reasons with what would have to change for each, and requests that reach, the nearest first."""

    reasons: list[tuple[str, Reason]] = field(default_factory=list)
    candidates: list[Request] = field(default_factory=list)
    #: The request whose journey takes longer than the limit.
    slow: Request | None = None

    def add(self, knob: str, code: str, sentence: str, side: str | None = None, **data: Any) -> None:
        """Add a reason."""
        self.reasons.append((knob, Reason(code, sentence, side, data)))

    def has(self, *codes: str) -> bool:
        """Return whether any of some codes is among the reasons."""
        return any(reason.code in codes for _, reason in self.reasons)

    def knobs_of(self, given: Request, best: Request | None) -> set[str]:
        """Return what the best request changes."""
        if best is None:
            return set()
        options = changed_options(given.transportation, best.transportation)
        used = {"max_changes", "exclude_roads"} & set(options)
        used |= {"ways"} if any(name in options for name in given.ways) else set()
        used |= {"vehicles"} if "type" in options else set()
        used |= {name for name in ("travel_time", "moment") if getattr(given, name) != getattr(best, name)}
        return used | ({"snapping"} if given.snapping != best.snapping else set())

    def add_over_limit(self, given: Request, ms: int, parts: Mapping[str, int], n_changes: int, lead: str = "") -> None:
        """Add by how much a journey is over the limit."""
        takes = -(-ms // 1000)
        over = takes - given.travel_time
        what = f": {parts_words(parts, n_changes)}" if parts else ""
        self.add(
            "travel_time", "over_limit",
            f"{lead or 'It takes'} {duration(takes)}, {duration(over)} more than the limit of "
            f"{duration(given.travel_time)}{what}.",
            travel_time=takes, over_by=over, limit=given.travel_time, parts=dict(parts), n_changes=n_changes,
        )  # fmt: skip


def _advice(asked: _Asked, best: Request | None) -> str:
    """Return what the nearest request changes in a sentence."""
    if best is None:
        return ""
    mine = asked.request
    changes: dict[str, Any] = {}
    if best.travel_time != mine.travel_time:
        changes["travel_time"] = best.travel_time
    if best.moment != mine.moment and isinstance(best.moment, dt.datetime):
        changes["arrival_time" if mine.is_arrival else "departure_time"] = best.moment.isoformat()
    changes |= changed_options(mine.transportation, best.transportation)
    if best.snapping.threshold != mine.snapping.threshold:
        changes["threshold"] = best.snapping.threshold
    if best.snapping.accept_roads != mine.snapping.accept_roads:
        changes["accept_roads"] = best.snapping.accept_roads
    return f"It would be reached with {', '.join(f'{name}={value!r}' for name, value in changes.items())}."


# Streets


def _on_streets(pair: Pair, request: Request) -> _Told:
    """Return why streets alone do not lead there in time."""
    told = _Told()
    _add_unsnapped(told, pair, request)
    every = [(cost(request, each), each) for each in _street_requests(pair, request)]
    told.candidates = [each for _, each in sorted(every, key=lambda one: one[0])]
    thresholds = pair.thresholds(request)
    if not thresholds:
        return told
    snapped = replace(request, snapping=replace(request.snapping, threshold=thresholds[0]))
    ms = pair.milliseconds(replace(snapped, travel_time=_FOREVER_S))
    if ms is None:
        _add_disconnected(told, pair, snapped)
    elif ms > request.travel_time * 1000:
        told.slow = snapped
        lead = "" if snapped == request else "Even with a street it takes"
        told.add_over_limit(request, ms, {}, 0, lead)
    if request.transportation.exclude_roads:
        open_to = snapped.using(exclude_roads=())
        shorter = pair.milliseconds(replace(open_to, travel_time=_FOREVER_S))
        if shorter is not None and (ms is None or shorter < ms):
            excluded = ", ".join(request.transportation.exclude_roads)
            told.add(
                "exclude_roads", "excluded_roads",
                f"Without exclude_roads ({excluded}) it takes {duration(-(-shorter // 1000))}.",
                travel_time=-(-shorter // 1000), exclude_roads=request.transportation.exclude_roads,
            )  # fmt: skip
    return told


def _street_requests(pair: Pair, request: Request) -> list[Request]:
    """Return requests on streets that reach, with other thresholds, roads and limits."""
    variants = [request]
    if request.transportation.base == "driving" and request.snapping.accept_roads != "any_drivable":
        variants.append(replace(request, snapping=replace(request.snapping, accept_roads="any_drivable")))
    if request.transportation.exclude_roads:
        variants += [variant.using(exclude_roads=()) for variant in variants]
    found = []
    for variant in variants:
        for threshold in pair.thresholds(variant):
            each = replace(variant, snapping=replace(variant.snapping, threshold=threshold))
            ms = pair.milliseconds(replace(each, travel_time=MAX_TRAVEL_TIME_S))
            if ms is not None:
                found.append(replace(each, travel_time=max(request.travel_time, -(-ms // 1000))))
    return found


def _add_unsnapped(told: _Told, pair: Pair, request: Request) -> None:
    """Add which sides have no street, and how far the nearest one is."""
    threshold = request.snapping.threshold
    for side, snaps in zip(("origin", "destination"), pair.snaps(request), strict=True):
        status = int(snaps.status[0])
        if status == SNAPPED:
            continue
        metres = min(pair.street_distances(request, side))
        how = _ON_STREETS[pair.means(request, side).base]
        needed = math.floor(metres) + 1 if math.isfinite(metres) else None
        code = f"{side}_outside_network" if status == OUTSIDE else f"{side}_not_snapped"
        where = "lies outside the network" if status == OUTSIDE else "is not near a street"
        sentence = f"The {side} {where}: there is no street {how} at all."
        if needed is not None:
            sentence = (
                f"The {side} {where}: the nearest one {how} is {distance(metres)} away, and the threshold is "
                f"{distance(threshold)}; {needed} would do."
            ).replace("network: the nearest one", "network: the nearest street")
        told.add(
            "snapping", code, sentence, side, distance=metres if needed is not None else None,
            threshold=threshold, needed=needed,
        )  # fmt: skip


def _add_disconnected(told: _Told, pair: Pair, request: Request) -> None:
    """Add that no street leads from one to the other, and whose fault that is."""
    starts, ends = pair.snaps(request)
    topology = pair.question(request).graph.topology
    parts = int(component_of(topology, starts.edge)[0]), int(component_of(topology, ends.edge)[0])
    how = _ON_STREETS[request.transportation.base]
    sizes = np.bincount(topology.component)
    if parts[0] != parts[1]:
        side = "origin" if sizes[parts[0]] < sizes[parts[1]] else "destination"
        if sizes[parts[0]] == sizes[parts[1]]:
            side = None
        blame = f": the {side} is on an island of the network" if side else ""
        told.add(
            "snapping", "other_component", f"No streets join origin and destination {how}{blame}.", side,
            main_distance=None if side is None else _finite(pair.street_distances(request, side)[0]),
        )  # fmt: skip
        return
    can_leave = bool(topology.can_leave[starts.edge[0]])
    can_arrive = bool(topology.can_arrive[ends.edge[0]])
    back = pair.turned().milliseconds(replace(request, travel_time=_FOREVER_S))
    side = None if can_leave and can_arrive else ("destination" if can_leave else "origin")
    sentence = {
        "origin": f"One cannot leave the street at the origin {how}: one-way streets or closed turns lead nowhere.",
        "destination": f"One cannot get to the street at the destination {how}: one-way streets or closed turns forbid.",
        None: f"One-way streets or closed turns forbid every way from the origin to the destination {how}.",
    }[side]
    if back is not None:
        sentence += f" The other way around it takes {duration(-(-back // 1000))}."
    told.add(
        "snapping", "one_way_trap", sentence, side, way_back=None if back is None else -(-back // 1000),
        main_distance=None if side is None else _finite(pair.street_distances(request, side)[0]),
    )  # fmt: skip


def _finite(metres: float) -> float | None:
    return metres if math.isfinite(metres) else None


def _by_other_means(pair: Pair, request: Request) -> list[Request]:
    """Return requests that reach by another type of travel, the nearest first."""
    means = request.transportation
    kinds = [kind for kind in ("walking", "cycling", "driving") if kind != means.type]
    if not means.uses_timetable and not means.uses_ferry:
        kinds.insert(0, f"{means.base}+ferry")
    found = []
    for kind in kinds:
        model = means.traffic_model if kind.startswith("driving") else None
        other = replace(request, transportation=Transportation(kind, traffic_model=model), window=0)
        found += [(cost(request, each), each) for each in _street_requests(pair, other)]
    return [each for _, each in sorted(found, key=lambda one: one[0])]


# Timetables


def _by_timetable(pair: Pair, asked: _Asked) -> _Told:
    """Return why rides and walks do not lead there in time."""
    told, request = _Told(), asked.request
    timetable = timetable_of(pair.network)
    moment = request.moment
    assert isinstance(moment, dt.datetime)
    is_covered = pair.is_covered(moment)
    trips = service_days.trips_of(timetable, request.transportation.vehicles)
    if not is_covered:
        _add_outside(told, pair, request)
    if not trips.any():
        kinds = service_days.groups(timetable)
        told.add(
            "vehicles", "no_vehicles",
            f"No {VEHICLES[request.transportation.vehicles][0]} runs in this network; its timetable has "
            f"{', '.join(kinds) or 'no trips at all'}.",
            type=request.transportation.type, available=tuple(kinds),
        )  # fmt: skip
    _add_unsnapped(told, pair, request)
    thresholds = pair.thresholds(request)
    if not thresholds:
        return told
    tried = [replace(request, snapping=replace(request.snapping, threshold=each)) for each in thresholds]
    snapped = tried[0]
    if trips.any():
        near = {side: _add_stops(told, pair, snapped, trips, side) for side in ("origin", "destination")}
        if is_covered:
            _add_service(told, pair, snapped, trips, near)
    if is_covered:
        ms = pair.milliseconds(replace(snapped, travel_time=MAX_ROUTE_TIME_S))
        if ms is not None and ms > request.travel_time * 1000:
            told.slow = snapped
            told.add_over_limit(request, ms, *asked.parts(snapped), "" if snapped == request else "Even then it takes")
    for each in tried:
        found = _solved(pair, each)
        if found:
            _add_knobs(told, pair, asked, each, found)
            told.candidates = [solution.request for solution in found]
            break
    else:
        told.add(
            "", "no_connection",
            "No journey was found at other hours, on other days, with longer ways to and from stops or within 4 hours.",
        )  # fmt: skip
    return told


def _solved(pair: Pair, request: Request) -> list[Solution]:
    """Return what makes a snapped request reach; the request itself if its threshold was all it needed."""
    assert isinstance(request.moment, dt.datetime)
    if pair.is_covered(request.moment) and pair.reaches(request):
        return [Solution(request, frozenset(), None)]
    return solutions(pair, request)


def _add_outside(told: _Told, pair: Pair, request: Request) -> None:
    """Add that the timetable does not cover the moment."""
    timetable, moment = timetable_of(pair.network), request.moment
    assert isinstance(moment, dt.datetime)
    dates = {
        str(name): (row["first"], row["last"]) for name, row in timetable.dates().iterrows() if row["first"] is not None
    }
    listed = "; ".join(f"{name} runs from {first} to {last}" for name, (first, last) in dates.items())
    told.add(
        "moment", "outside_timetable",
        f"{clock(moment)} is outside the dates that the timetable covers: {listed or 'it never runs'}.",
        moment=moment, dates=dates,
    )  # fmt: skip


def _add_stops(
    told: _Told, pair: Pair, request: Request, trips: service_days.Trips, side: str
) -> npt.NDArray[np.int32]:
    """Add that no stop is near enough to a side, if so; return those that are (stop_idx)."""
    timetable, means = timetable_of(pair.network), request.transportation
    is_origin = side == "origin"
    option, way = _WAYS[pair.means(request, side).base]
    wide = {name: MAX_TRAVEL_TIME_S for name in request.ways}
    asked = pair.question(request.using(**wide)).transit
    assert asked is not None
    links = asked.links(pair.snaps(request)[0 if is_origin else 1], is_origin=is_origin)
    served = service_days.stops_of(timetable, trips, is_boarding=is_origin)[links.stops]
    stops, ms = links.stops[served], links.ms[served]
    if is_origin:
        ms = ms - (means.access_penalty + means.pt_change_delay) * 1000
    budget = getattr(means, option)
    near = stops[ms <= budget * 1000]
    if near.size:
        return near
    kind = VEHICLES[means.vehicles][1]
    code = f"no_stop_near_{side}"
    if not stops.size:
        told.add("ways", code, f"No {kind} is within {way} of 4 h of the {side}.", side, option=option, budget=budget,
                 stop_id=None, stop_name=None, needed=None)  # fmt: skip
        return near
    nearest = int(ms.argmin())
    needed = -(-int(ms[nearest]) // 1000)
    row = timetable.stops.iloc[int(stops[nearest])]
    name = str(row["stop_name"] or row["stop_id"])
    preposition = "from" if is_origin else "to"
    told.add(
        "ways", code,
        f"No {kind} is near enough to the {side}: {preposition} the nearest, {name}, it is {way} of "
        f"{duration(needed)}, and {option} allows {duration(budget)}.",
        side, option=option, budget=budget, stop_id=str(row["stop_id"]), stop_name=str(row["stop_name"]), needed=needed,
    )  # fmt: skip
    return near


def _add_service(
    told: _Told,
    pair: Pair,
    request: Request,
    trips: service_days.Trips,
    near: Mapping[str, npt.NDArray[np.int32]],
) -> None:
    """Add that nothing runs on the day, anywhere or at the stops near a side."""
    timetable, moment = timetable_of(pair.network), request.moment
    assert isinstance(moment, dt.datetime)
    vehicle = VEHICLES[request.transportation.vehicles][0]
    date = moment.date()
    chosen: list[tuple[str | None, service_days.Trips]] = [(None, trips)]
    for side, stops in near.items():
        calling = service_days.trips_at(timetable, trips, stops, is_boarding=side == "origin")
        if calling.any():
            chosen.append((side, calling))
    for side, some in chosen:
        if service_days.runs_on(timetable, some, date):
            continue
        days = [each for each, _ in zip(service_days.nearest_days(timetable, some, date), range(7), strict=False)]
        where = f" at the stops near the {side}" if side else ""
        sentence = f"No {vehicle} runs on {day(date)}{where}"
        sentence += f"; the nearest day with service is {day(days[0])}." if days else ", or on any other day."
        told.add(
            "moment", "no_service_that_day", sentence, side, date=date, nearest_date=days[0] if days else None,
            dates=tuple(sorted(days)),
        )  # fmt: skip
        if side is None:
            return


def _add_knobs(told: _Told, pair: Pair, asked: _Asked, request: Request, found: list[Solution]) -> None:
    """Add what the nearest request loosens, and what alone would do, where that is not among the reasons yet."""
    wanted: dict[str, Solution] = dict.fromkeys(sorted(found[0].knobs), found[0])
    for solution in found[1:]:
        if len(solution.knobs) == 1:
            wanted.setdefault(next(iter(solution.knobs)), solution)
    given, vehicles = request.transportation, VEHICLES[request.transportation.vehicles][0]
    for knob, (other, knobs, around) in wanted.items():
        means = other.transportation
        if knob == "travel_time" and not told.has("over_limit"):
            ms = pair.milliseconds(other)
            if ms is not None and ms > request.travel_time * 1000:
                told.add_over_limit(request, ms, *asked.parts(other), "Even then it takes" if len(knobs) > 1 else "")
        elif knob == "ways" and not told.has("no_stop_near_origin", "no_stop_near_destination"):
            longer = {
                name: getattr(means, name) for name in request.ways if getattr(means, name) != getattr(given, name)
            }
            if longer:
                words = " and ".join(f"{name} of {duration(value)}" for name, value in longer.items())
                told.add("ways", "stops_too_far", f"The stops that lead there are farther away: it needs a {words}.",
                         **longer)  # fmt: skip
        elif knob == "max_changes":
            needed = means.max_changes
            told.add(
                "max_changes", "too_many_changes",
                f"It needs {needed} change{'s' if needed != 1 else ''}, and max_changes allows {given.max_changes}.",
                needed=needed, max_changes=given.max_changes,
            )  # fmt: skip
        elif knob == "vehicles" and not told.has("no_vehicles"):
            kinds = service_days.groups(timetable_of(pair.network))
            told.add(
                "vehicles", "no_vehicles", f"No {vehicles} leads there in time; other vehicles do.",
                type=given.type, available=tuple(kinds), needed=ALL_VEHICLES[given.type],
            )  # fmt: skip
        elif knob == "moment" and around is not None and not told.has("outside_timetable", "no_service_that_day"):
            _add_moment(told, asked, request, other, around)


def _add_moment(told: _Told, asked: _Asked, request: Request, other: Request, around: Around) -> None:
    """Add when the journeys before and after the moment leave, or arrive."""
    moment = request.moment
    assert isinstance(moment, dt.datetime)
    before, after = (None if journey is None else journey.moment for journey in around)
    today = [each is not None and each.date() == moment.date() for each in (before, after)]
    code = {
        (False, False): "no_trip_that_day",
        (False, True): "first_trip_not_yet",
        (True, False): "last_trip_gone",
        (True, True): "no_trip_then",
    }[today[0], today[1]]
    verb, past = ("arrives", "arrived") if request.is_arrival else ("leaves", "left")
    parts = []
    if after is not None:
        parts.append(f"the {'first' if code == 'first_trip_not_yet' else 'next'} one {verb} at {clock(after)}")
    if before is not None:
        parts.append(f"the last one before {past} at {clock(before)}")
    route = asked.route(other)
    ride = None if route is None else next((leg.ride for leg in route.legs if leg.ride is not None), None)
    data: dict[str, Any] = {"next": after, "previous": before}
    if ride is not None:
        data |= {"line": ride.line, "stop_name": ride.board.name, "departs_at": ride.board.time}
    told.add(
        "moment", code,
        f"No journey at {clock(moment)} keeps to the limits; {', '.join(parts)}.", None, **data,
    )  # fmt: skip
