"""
Relaxed requests that reach the destination, and the smallest relaxations that suffice.

A request is relaxed parameter by parameter: travel time, access and egress times, number of transfers, departure time,
and vehicles. The minimal sets of parameters whose relaxation reaches the destination are the reasons why it is not
reached. Each relaxed parameter is then tightened to the smallest value that still reaches it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab.errors import NoServiceError
from traveltime_lab.kernels.street import road
from traveltime_lab.limits import MAX_ROUTE_TIME_S, MAX_TRAVEL_TIME_S
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.moments import Moment
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.search.query import Query, transit_of
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.costs import CONNECTOR_KPH
from traveltime_lab.streets.snapping import ANY, CAN_ARRIVE, CAN_LEAVE, SNAPPED, Snaps, metres_to_streets
from traveltime_lab.transit import service_days, travel_times
from traveltime_lab.transit.query import SAMPLE_S, WALKING, TransitQuery
from traveltime_lab.transit.stop_reach import StopLinks
from traveltime_lab.transit.timetable import service_warnings_to

#: Parameters of a timetable request that can be relaxed, in the order in which sets of equal size are reported.
PARAMETERS: Final = ("travel_time", "ways", "max_changes", "vehicles", "moment")
#: Stands for walking all the way in the parameters of a solution.
WALK: Final = "walk"
#: The type with all vehicles, by type with some vehicles.
ALL_VEHICLES: Final = {
    "bus": "public_transport",
    "coach": "public_transport",
    "train": "public_transport",
    "driving+train": "driving+public_transport",
}
#: Options that limit access and egress times.
WAYS: Final = ("walking_time", "driving_time_to_station", "cycling_time_to_station")
#: Maximum travel time of the itineraries considered, in seconds; that of `routes`.
LONGEST_S: Final = MAX_ROUTE_TIME_S
#: Maximum distance to a street that is suggested as a threshold; the walk to a farther one takes longer than any limit.
FARTHEST_M: Final = CONNECTOR_KPH / 3.6 * MAX_TRAVEL_TIME_S
#: Length of the windows that are searched for departures.
_HALF_DAY_S: Final = 43_200
#: Maximum number of itineraries in half a day, more than those of a bus every minute.
_MANY: Final = 2000
#: Additional cost (see `cost`) of walking all the way in a request with a timetable (assumed: it is seldom intended).
_ON_FOOT: Final = 3.0
#: If more stops than this are reachable, departures are searched minute by minute instead of exactly.
_MANY_STOPS: Final = 100
#: Number of days with different services that are searched, nearest first.
_DAYS: Final = 6


@dataclass(frozen=True)
class Request:
    """
    Parameters of a search between two points.

    Attributes
    ----------
    transportation : Transportation
    snapping : Snapping
    moment : datetime, TypicalMoment or None
        Departure or arrival time; a datetime if the type has a timetable.
    is_arrival : bool
        Whether `moment` is the arrival time.
    travel_time : int
        Maximum travel time in seconds.
    window : int
        Length of the window in seconds, 0 for none.
    """

    transportation: Transportation
    snapping: Snapping
    moment: Moment | None
    is_arrival: bool
    travel_time: int
    window: int = 0

    def using(self, **options: Any) -> Request:
        """Return the request with changed options of its transportation."""
        return replace(self, transportation=replace(self.transportation, **options))

    @property
    def ways(self) -> tuple[str, ...]:
        """The options that limit the access and egress times of this request, access last."""
        kind = self.transportation.type
        if kind.startswith("driving+"):
            return WAYS[0], WAYS[1]
        return (WAYS[0], WAYS[2]) if kind.startswith("cycling+") else (WAYS[0],)


class Journey(NamedTuple):
    """An itinerary within the limit: travel time in milliseconds, and departure (or arrival) time."""

    ms: int
    moment: dt.datetime


class Around(NamedTuple):
    """The last itinerary before a time and the first one after it."""

    before: Journey | None
    after: Journey | None

    def nearest(self, moment: dt.datetime) -> Journey | None:
        """Return the nearer itinerary; the later one if both are equally near."""
        both = [journey for journey in (self.after, self.before) if journey is not None]
        return min(both, key=lambda journey: abs(journey.moment - moment), default=None)

    def request(self, given: Request) -> Request | None:
        """Return a request with the nearest time at which it reaches the destination, considering its window."""
        assert isinstance(given.moment, dt.datetime)
        nearest = self.nearest(given.moment)
        if nearest is None:
            return None
        moment = nearest.moment
        if given.is_arrival and moment < given.moment:
            moment = min(given.moment, _shifted(moment, given.window))
        elif not given.is_arrival and moment > given.moment:
            moment = max(given.moment, _shifted(moment, -given.window))
        return replace(given, moment=moment)


class Solution(NamedTuple):
    """A relaxed request, its relaxed parameters, and the itineraries around the given time if this was relaxed."""

    request: Request
    parameters: frozenset[str]
    around: Around | None


class Pair:
    """An origin and a destination, with cached results."""

    def __init__(self, network: Network, origin: Points, destination: Points) -> None:
        self.network, self.origin, self.destination = network, origin, destination
        self._known: dict[Request, int | None] = {}

    def query(self, request: Request) -> Query:
        """Return the query of a request, without validating its limits and its date."""
        means, moment = request.transportation, request.moment
        common = (self.network, means, request.snapping, moment, request.is_arrival)
        if not means.uses_timetable:
            return Query(*common, self.network.road_graph(means, moment), needs_length=False)
        assert isinstance(moment, dt.datetime)
        asked = TransitQuery(
            transit_of(self.network),
            means,
            request.snapping,
            moment,
            request.is_arrival,
            request.travel_time,
            request.window,
        )
        return Query(*common, asked.walking, asked)

    def snaps(self, request: Request) -> tuple[Snaps, Snaps]:
        """Return the snapped origin and destination."""
        query = self.query(request)
        return query.snap(self.origin), query.snap(self.destination, is_origin=False)

    def milliseconds(self, request: Request) -> int | None:
        """Return the travel time in milliseconds, None if it exceeds the limit."""
        if request not in self._known:
            query = self.query(request)
            starts, ends = query.snap(self.origin), query.snap(self.destination, is_origin=False)
            (block,) = query.blocks(starts, ends, request.travel_time)
            label = int(block.labels[0, 0])
            self._known[request] = None if label == road.UNREACHED else label_parts.ms(label)
        return self._known[request]

    def reaches(self, request: Request) -> bool:
        """Return whether a request reaches the destination."""
        return self.milliseconds(request) is not None

    def turned(self) -> Pair:
        """Return the pair in the opposite direction."""
        return Pair(self.network, self.destination, self.origin)

    # Streets

    def means(self, request: Request, side: str) -> Transportation:
        """Return the means of transportation on streets at a side, "origin" or "destination"."""
        means = request.transportation
        if not means.uses_timetable:
            return means
        return means.access if side == "origin" else WALKING

    def street_distances(self, request: Request, side: str) -> tuple[float, float]:
        """
        Return the distance in metres to the nearest street of the main network, and to the nearest street at all.

        Straight walks cross no barriers. Both are inf if there is no such street.
        """
        points = self.origin if side == "origin" else self.destination
        needed = CAN_LEAVE if side == "origin" else CAN_ARRIVE
        main, nearest = (
            metres_to_streets(
                self.network.streets, points.lng, points.lat, self.means(request, side), request.snapping.accept_roads,
                marks, over_barriers=False,
            )[0]
            for marks in (needed, ANY)
        )  # fmt: skip
        return float(main), float(nearest)

    def nearest_distance(self, request: Request, side: str) -> float:
        """Return the distance in metres to the nearest street, even across water; inf beyond the threshold."""
        points = self.origin if side == "origin" else self.destination
        means = self.means(request, side)
        found = metres_to_streets(
            self.network.streets, points.lng, points.lat, means, request.snapping.accept_roads,
            limit_m=request.snapping.threshold,
        )  # fmt: skip
        return float(found[0])

    def thresholds(self, request: Request) -> list[int]:
        """Return the thresholds with which both sides are snapped, in increasing order from the given one."""
        given = request.snapping.threshold
        sides = [self.street_distances(request, side) for side in ("origin", "destination")]
        every = {given} | {math.floor(metres) + 1 for side in sides for metres in side if metres < FARTHEST_M}
        tried = [replace(request, snapping=replace(request.snapping, threshold=t)) for t in sorted(every) if t >= given]
        return [each.snapping.threshold for each in tried if self.is_snapped(each)]

    def is_snapped(self, request: Request) -> bool:
        """Return whether origin and destination are snapped."""
        return all(int(snaps.status[0]) == SNAPPED for snaps in self.snaps(request))

    # Timetables

    def journeys(self, request: Request, begin: dt.datetime, seconds: int) -> list[Journey]:
        """
        Return the itineraries within the limit that depart (or arrive) in an interval, in chronological order.

        If many stops are reachable, as by car, times have a resolution of one minute and may include waiting.
        """
        moment = _shifted(begin, seconds) if request.is_arrival else begin
        query = self.query(replace(request, moment=moment, window=seconds))
        asked = query.transit
        assert asked is not None
        starts, ends = query.snap(self.origin), query.snap(self.destination, is_origin=False)
        near, far = (ends, starts) if request.is_arrival else (starts, ends)
        links = asked.links(near, is_origin=not request.is_arrival)
        if links.stops.size <= _MANY_STOPS:
            zero = np.zeros(1, np.intp)
            found = travel_times.window_itineraries(asked, starts, ends, zero, zero, _MANY)
            every = [Journey(label_parts.ms(int(ms)), at) for ms, at in zip(found.labels, found.moments, strict=True)]
            return sorted(every, key=lambda journey: journey.moment)
        reach = asked.links(far, is_origin=request.is_arrival)
        search = asked.search()
        steps = np.arange(0, seconds + 1, SAMPLE_S) * (-1 if request.is_arrival else 1)
        times = search.window_times(
            (links.stops, links.ms), asked.at(search) + steps * 1000, StopLinks(reach.indptr, reach.stops, reach.ms),
            asked.options, is_arrival=request.is_arrival,
        )[:, 0]  # fmt: skip
        kept = np.flatnonzero(times <= request.travel_time * 1000)
        every = [Journey(int(times[k]), _shifted(moment, int(steps[k]))) for k in kept]
        walk = self.milliseconds(replace(request, transportation=WALKING, window=0))
        if walk is not None:
            every.append(Journey(walk, moment))
        return sorted(every, key=lambda journey: journey.moment)

    def is_covered(self, moment: dt.datetime) -> bool:
        """Return whether the timetable covers a time."""
        try:
            with service_warnings_to(lambda text: None):
                transit_of(self.network).timetable.check_moment(moment)
        except NoServiceError:
            return False
        return True

    def around(self, request: Request) -> Around:
        """Return the itineraries before and after the time of a request, within a day or on the nearest other days."""
        moment = request.moment
        assert isinstance(moment, dt.datetime)
        if self.is_covered(moment):
            found = self._around(request, moment, 2)
            if found.before or found.after:
                return found
        timetable = transit_of(self.network).timetable
        trips = service_days.trips_of(timetable, request.transportation.vehicles)
        for day in service_days.different_days(timetable, trips, moment.date(), _DAYS):
            # Conversion to UTC and back handles times that the clocks skip on that day.
            target = dt.datetime.combine(day, moment.time(), ZoneInfo(self.network.timezone))
            found = self._around(request, target.astimezone(dt.UTC).astimezone(target.tzinfo), 1)
            best = found.nearest(target)
            if best is not None:
                return Around(best, None) if best.moment < moment else Around(None, best)
        return Around(None, None)

    def _around(self, request: Request, moment: dt.datetime, n_halves: int) -> Around:
        """Return the itineraries before and after a time within a number of half days."""

        def first(begins: Iterable[float], *, is_late: bool) -> Journey | None:
            for begin in begins:
                found = self.journeys(request, _shifted(moment, begin), _HALF_DAY_S)
                for journey in reversed(found) if is_late else found:
                    if self.is_covered(journey.moment):
                        return journey
            return None

        steps = [_HALF_DAY_S * k for k in range(n_halves)]
        after = first(steps, is_late=False)
        return Around(first([-_HALF_DAY_S - step for step in steps], is_late=True), after)


def _shifted(moment: dt.datetime, seconds: float) -> dt.datetime:
    """Add elapsed seconds to a time and return it in the same time zone."""
    return (moment.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(moment.tzinfo)


def loosened(request: Request, parameters: Iterable[str], most_s: int = MAX_TRAVEL_TIME_S) -> Request:
    """Return a request with some parameters fully relaxed, the travel time to `most_s`; the time is not changed."""
    chosen = set(parameters)
    if "travel_time" in chosen:
        request = replace(request, travel_time=max(request.travel_time, most_s))
    if "vehicles" in chosen:
        request = request.using(type=ALL_VEHICLES.get(request.transportation.type, request.transportation.type))
    if "max_changes" in chosen:
        request = request.using(max_changes=None)
    if "ways" in chosen:
        # Access and egress cannot take longer than the whole itinerary.
        wide = {name: max(getattr(request.transportation, name), request.travel_time) for name in request.ways}
        request = request.using(**wide)
    return request


def solutions(pair: Pair, request: Request) -> list[Solution]:
    """
    Return the relaxed requests that reach the destination with a timetable, the nearest first.

    Parameters
    ----------
    pair : Pair
    request : Request
        Request that does not reach the destination, with both sides snapped.

    Returns
    -------
    list of Solution
        One item for each minimal set of relaxed parameters, and one for walking all the way; empty if there are none.
    """
    moment = request.moment
    assert isinstance(moment, dt.datetime)
    is_covered = pair.is_covered(moment)
    walk = replace(request, transportation=WALKING, window=0, travel_time=MAX_TRAVEL_TIME_S)
    on_foot = pair.milliseconds(walk)
    most_s, found = MAX_TRAVEL_TIME_S, []
    if on_foot is not None and on_foot > request.travel_time * 1000:
        # An itinerary that takes less time than walking includes a transit leg.
        most_s = (on_foot - 1) // 1000
        if is_covered:
            found.append(Solution(replace(request, travel_time=-(-on_foot // 1000)), frozenset({WALK}), None))
    found += _solutions(pair, request, most_s, is_covered=is_covered)
    if on_foot is not None and not found:
        # Walking all the way is possible on any date that the timetable covers.
        found += _solutions(pair, request, MAX_TRAVEL_TIME_S, is_covered=is_covered)
    return sorted(found, key=lambda each: cost(request, each.request) + _ON_FOOT * (WALK in each.parameters))


def _solutions(pair: Pair, request: Request, most_s: int, *, is_covered: bool) -> list[Solution]:
    """Return the solutions with travel times of up to `most_s`."""
    plain = [parameter for parameter in PARAMETERS[:-1] if loosened(request, [parameter], most_s) != request]
    moment, found = request.moment, []
    sets: list[frozenset[str]] = []
    if is_covered:
        for parameters in _subsets(plain):
            loose = loosened(request, parameters, most_s)
            if not any(less <= parameters for less in sets) and pair.reaches(loose):
                sets.append(parameters)
                found.append(Solution(_tightest(pair, request, loose, parameters), parameters, None))
    # Searching other times is slow, so further parameters are relaxed with them only if nothing else is sufficient.
    most = len(plain)
    is_hopeless: bool | None = False if sets else None
    instead = dict.fromkeys(
        parameters - {"travel_time"} for parameters in sets if "travel_time" in parameters and len(parameters) > 1
    )
    for parameters in [frozenset[str](), *instead] if sets else _subsets(plain):
        if len(parameters) > most:
            break
        if len(parameters) == 2 and is_hopeless is None:
            is_hopeless = pair.around(loosened(request, plain, most_s)) == Around(None, None)
        if len(parameters) > 1 and is_hopeless:
            break
        loose = loosened(request, parameters, most_s)
        around = pair.around(loose)
        later = around.request(loose)
        if later is not None and later.moment != moment:
            found.append(Solution(_tightest(pair, request, later, parameters), parameters | {"moment"}, around))
            # Larger sets are not minimal.
            most = len(parameters)
    return found


def _subsets(parameters: list[str]) -> Iterator[frozenset[str]]:
    """Yield all subsets including the empty one, smallest first."""
    for size in range(len(parameters) + 1):
        yield from map(frozenset, combinations(parameters, size))


def _tightest(pair: Pair, given: Request, loose: Request, parameters: frozenset[str]) -> Request:
    """Tighten the parameters of a request in different orders and return the cheapest result."""
    orders = (("max_changes", "ways", "travel_time"), ("travel_time", "ways", "max_changes"))
    every = []
    for order in orders:
        tight = loose
        for parameter in order:
            if parameter in parameters:
                tight = _TIGHTEN[parameter](pair, given, tight)
        every.append(tight)
    return min(every, key=lambda tight: cost(given, tight))


def _tight_time(pair: Pair, given: Request, loose: Request) -> Request:
    """Return a request with the smallest sufficient travel time."""
    ms = pair.milliseconds(loose)
    assert ms is not None
    return replace(loose, travel_time=max(given.travel_time, -(-ms // 1000)))


def _tight_ways(pair: Pair, given: Request, loose: Request) -> Request:
    """Return a request with the smallest sufficient access and egress times, determined one after the other."""
    for name in loose.ways:
        low, high = (int(getattr(each.transportation, name)) for each in (given, loose))
        least = least_that(partial(_reaches_with, pair, loose, name), low, high)
        loose = loose.using(**{name: least})
    return loose


def _reaches_with(pair: Pair, request: Request, name: str, value: int) -> bool:
    """Return whether a request reaches the destination with another value of an option."""
    return pair.reaches(request.using(**{name: value}))


def _tight_changes(pair: Pair, given: Request, loose: Request) -> Request:
    """Return a request with the smallest sufficient number of transfers."""
    low = given.transportation.max_changes
    assert low is not None
    while not pair.reaches(loose.using(max_changes=low)):
        low += 1
    return loose.using(max_changes=low)


_TIGHTEN: Final = {"travel_time": _tight_time, "ways": _tight_ways, "max_changes": _tight_changes}


def least_that(works: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest integer from `low` to `high` that works by bisection; `works` must be monotonic."""
    while low < high:
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle + 1
    return high


def cost(given: Request, other: Request) -> float:
    """
    Return the distance of a request from the given one.

    Assumed costs: doubling the travel time 2, doubling another number 1, an additional transfer 0.5, other vehicles 1,
    another time 1 for one hour and 1 more for each doubling.
    """
    means, others = given.transportation, other.transportation
    total = 2.0 * math.log2(other.travel_time / given.travel_time)
    for name in WAYS:
        total += math.log2((getattr(others, name) + 60) / (getattr(means, name) + 60))
    if means.max_changes is not None:
        total += 0.5 * ((others.max_changes or means.max_changes) - means.max_changes)
    total += float(means.type != others.type)
    total += math.log2((other.snapping.threshold + 100) / (given.snapping.threshold + 100))
    if isinstance(given.moment, dt.datetime) and isinstance(other.moment, dt.datetime):
        total += math.log2(1.0 + abs((other.moment - given.moment).total_seconds()) / 3600.0)
    return total


def changed_options(given: Transportation, other: Transportation) -> dict[str, Any]:
    """Return the options of a transportation that differ from those of the given one."""
    names = [field.name for field in dataclasses.fields(Transportation)]
    return {name: getattr(other, name) for name in names if getattr(other, name) != getattr(given, name)}
