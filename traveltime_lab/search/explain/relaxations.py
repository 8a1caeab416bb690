"""
One pair asked again and again with other limits: what would reach it, and how little has to change for that.

A request is loosened value by value (its travel time, the ways to stops, changes, the moment, the vehicles). The
smallest sets of values whose loosening reaches the destination are what stands in the way; each is then tightened again
to the least that still works.
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
from traveltime_lab.streets.snapping import SNAPPED, Snaps, snap_indexes
from traveltime_lab.transit import service_days, travel_times
from traveltime_lab.transit.query import SAMPLE_S, WALKING, TransitQuery
from traveltime_lab.transit.raptor import StopLinks
from traveltime_lab.transit.timetable import service_warnings_to

#: What may be loosened in a timetable request, in the order in which equally small sets are told.
PARAMETERS: Final = ("travel_time", "ways", "max_changes", "vehicles", "moment")
#: What stands for walking all the way among the knobs of a solution.
WALK: Final = "walk"
#: The type that takes every vehicle, by the type that does not.
ALL_VEHICLES: Final = {
    "bus": "public_transport",
    "coach": "public_transport",
    "train": "public_transport",
    "driving+train": "driving+public_transport",
}
#: Options that bound the ways to and from stops.
WAYS: Final = ("walking_time", "driving_time_to_station", "cycling_time_to_station")
#: Longest journey that is looked for, in seconds: what `routes` allows.
LONGEST_S: Final = MAX_ROUTE_TIME_S
#: Metres to a street beyond which none is asked for: on foot the way there alone takes longer than any limit.
FARTHEST_M: Final = CONNECTOR_KPH / 3.6 * MAX_TRAVEL_TIME_S
#: Hours looked through at once for departures that work.
_HALF_DAY_S: Final = 43_200
#: Journeys of half a day that are looked through; buses every minute all day long are fewer.
_MANY: Final = 2000
#: What it counts (see `cost`) if a timetable request becomes a walk all the way (assumed: nobody meant that).
_ON_FOOT: Final = 3.0
#: Stops within reach from which on moments are looked through minute by minute, not second by second.
_MANY_STOPS: Final = 100
#: Days that run different services and are looked through, the nearest ones.
_DAYS: Final = 6


@dataclass(frozen=True)
class Request:
    """
    What is asked about a pair.

    Attributes
    ----------
    transportation : Transportation
    snapping : Snapping
    moment : datetime, TypicalMoment or None
        With a timetable a datetime.
    is_arrival : bool
    travel_time : int
        Limit in seconds.
    window : int
        Seconds, 0 for none.
    """

    transportation: Transportation
    snapping: Snapping
    moment: Moment | None
    is_arrival: bool
    travel_time: int
    window: int = 0

    def using(self, **options: Any) -> Request:
        """Return the request with other options of its transportation."""
        return replace(self, transportation=replace(self.transportation, **options))

    @property
    def ways(self) -> tuple[str, ...]:
        """The options that bound this request's ways to and from stops, that of the first stop last."""
        kind = self.transportation.type
        if kind.startswith("driving+"):
            return WAYS[0], WAYS[1]
        return (WAYS[0], WAYS[2]) if kind.startswith("cycling+") else (WAYS[0],)


class Journey(NamedTuple):
    """A journey that keeps to the limit: milliseconds, and when it leaves (or is to arrive)."""

    ms: int
    moment: dt.datetime


class Around(NamedTuple):
    """The last journey before a moment and the first one after it."""

    before: Journey | None
    after: Journey | None

    def nearest(self, moment: dt.datetime) -> Journey | None:
        """Return the nearer one, the later of equally near ones."""
        both = [journey for journey in (self.after, self.before) if journey is not None]
        return min(both, key=lambda journey: abs(journey.moment - moment), default=None)

    def request(self, given: Request) -> Request | None:
        """Return a request with the nearest moment whose window, if any, has one of the journeys."""
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
    """A request that reaches, what was loosened for it, and the journeys around the moment if that was."""

    request: Request
    parameters: frozenset[str]
    around: Around | None


class Pair:
    """One origin and one destination, and the answers so far."""

    def __init__(self, network: Network, origin: Points, destination: Points) -> None:
        self.network, self.origin, self.destination = network, origin, destination
        self._known: dict[Request, int | None] = {}

    def query(self, request: Request) -> Query:
        """Return a request as a question, whatever its limits and whether or not its date is covered."""
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
        """Return where origin and destination meet the streets."""
        query = self.query(request)
        return query.snap(self.origin), query.snap(self.destination, is_origin=False)

    def milliseconds(self, request: Request) -> int | None:
        """Return how long it takes within the limit, None if it takes longer."""
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
        """Return the way back."""
        return Pair(self.network, self.destination, self.origin)

    # Streets

    def means(self, request: Request, side: str) -> Transportation:
        """Return how one moves on the streets at a side, "origin" or "destination"."""
        means = request.transportation
        if not means.uses_timetable:
            return means
        return means.access if side == "origin" else WALKING

    def street_distances(self, request: Request, side: str) -> tuple[float, float]:
        """
        Return the metres to the nearest street of the connected network, and to the nearest of an island.

        Both inf where there is none.
        """
        points = self.origin if side == "origin" else self.destination
        indexes = snap_indexes(self.network.streets, self.means(request, side), request.snapping.accept_roads)
        x, y = self.network.frame.to_xy(points.lng, points.lat)
        k = self.network.frame.shrink(y)
        found = []
        for index in indexes:
            dx, dy = (index.x2 - index.x1) * k, index.y2 - index.y1
            to_x, to_y = (index.x1 - x) * k, index.y1 - y
            squared = dx * dx + dy * dy
            t = np.clip(-(to_x * dx + to_y * dy) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
            found.append(float(np.hypot(to_x + t * dx, to_y + t * dy).min(initial=math.inf)))
        return found[0], found[1]

    def thresholds(self, request: Request) -> list[int]:
        """Return the thresholds with which both sides are snapped, the given one first if it is enough, rising."""
        given = request.snapping.threshold
        sides = [self.street_distances(request, side) for side in ("origin", "destination")]
        every = {given} | {math.floor(metres) + 1 for side in sides for metres in side if metres < FARTHEST_M}
        tried = [replace(request, snapping=replace(request.snapping, threshold=t)) for t in sorted(every) if t >= given]
        return [each.snapping.threshold for each in tried if self.is_snapped(each)]

    def is_snapped(self, request: Request) -> bool:
        """Return whether both sides have a street."""
        return all(int(snaps.status[0]) == SNAPPED for snaps in self.snaps(request))

    # Timetables

    def journeys(self, request: Request, begin: dt.datetime, seconds: int) -> list[Journey]:
        """
        Return the journeys within the limit that leave (or arrive) in an interval, in order of time.

        Where very many stops can be reached (by car), moments are told to the minute, and a wait may be part of it.
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
        """Return whether the timetable says anything about a moment."""
        try:
            with service_warnings_to(lambda text: None):
                transit_of(self.network).timetable.check_moment(moment)
        except NoServiceError:
            return False
        return True

    def around(self, request: Request) -> Around:
        """Return the journeys before and after the moment of a request, within a day or on the nearest other days."""
        moment = request.moment
        assert isinstance(moment, dt.datetime)
        if self.is_covered(moment):
            found = self._around(request, moment, 2)
            if found.before or found.after:
                return found
        timetable = transit_of(self.network).timetable
        trips = service_days.trips_of(timetable, request.transportation.vehicles)
        for day in service_days.different_days(timetable, trips, moment.date(), _DAYS):
            # Through UTC, as the clock may skip that time on that day.
            target = dt.datetime.combine(day, moment.time(), ZoneInfo(self.network.timezone))
            found = self._around(request, target.astimezone(dt.UTC).astimezone(target.tzinfo), 1)
            best = found.nearest(target)
            if best is not None:
                return Around(best, None) if best.moment < moment else Around(None, best)
        return Around(None, None)

    def _around(self, request: Request, moment: dt.datetime, n_halves: int) -> Around:
        """Return the journeys next to a moment within some halves of a day."""

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
    """Return a moment so many real seconds later, in the same zone."""
    return (moment.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(moment.tzinfo)


def loosened(request: Request, parameters: Iterable[str], most_s: int = MAX_TRAVEL_TIME_S) -> Request:
    """Return a request with some values as loose as can be, its limit up to `most_s`; the moment is left alone."""
    chosen = set(parameters)
    if "travel_time" in chosen:
        request = replace(request, travel_time=max(request.travel_time, most_s))
    if "vehicles" in chosen:
        request = request.using(type=ALL_VEHICLES.get(request.transportation.type, request.transportation.type))
    if "max_changes" in chosen:
        request = request.using(max_changes=None)
    if "ways" in chosen:
        # A way to a stop that takes longer than the whole journey may is of no use.
        wide = {name: max(getattr(request.transportation, name), request.travel_time) for name in request.ways}
        request = request.using(**wide)
    return request


def solutions(pair: Pair, request: Request) -> list[Solution]:
    """
    Return the requests nearest to a timetable request that reach, the nearest first.

    Parameters
    ----------
    pair : Pair
    request : Request
        Snapped at both sides; does not reach.

    Returns
    -------
    list of Solution
        One for each smallest set of values whose loosening lets a ride reach, and one for walking all the way; empty if
        there is none.
    """
    moment = request.moment
    assert isinstance(moment, dt.datetime)
    is_covered = pair.is_covered(moment)
    walk = replace(request, transportation=WALKING, window=0, travel_time=MAX_TRAVEL_TIME_S)
    on_foot = pair.milliseconds(walk)
    most_s, found = MAX_TRAVEL_TIME_S, []
    if on_foot is not None and on_foot > request.travel_time * 1000:
        # What takes less is a ride.
        most_s = (on_foot - 1) // 1000
        if is_covered:
            found.append(Solution(replace(request, travel_time=-(-on_foot // 1000)), frozenset({WALK}), None))
    found += _solutions(pair, request, most_s, is_covered=is_covered)
    if on_foot is not None and not found:
        # On a date that is covered one may walk.
        found += _solutions(pair, request, MAX_TRAVEL_TIME_S, is_covered=is_covered)
    return sorted(found, key=lambda each: cost(request, each.request) + _ON_FOOT * (WALK in each.parameters))


def _solutions(pair: Pair, request: Request, most_s: int, *, is_covered: bool) -> list[Solution]:
    """Return the solutions with limits of up to `most_s`."""
    plain = [parameter for parameter in PARAMETERS[:-1] if loosened(request, [parameter], most_s) != request]
    moment, found = request.moment, []
    sets: list[frozenset[str]] = []
    if is_covered:
        for parameters in _subsets(plain):
            loose = loosened(request, parameters, most_s)
            if not any(less <= parameters for less in sets) and pair.reaches(loose):
                sets.append(parameters)
                found.append(Solution(_tightest(pair, request, loose, parameters), parameters, None))
    # Other moments take longer to search: beside them all else is loosened only where nothing helps without.
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
            # Larger sets would only take more.
            most = len(parameters)
    return found


def _subsets(parameters: list[str]) -> Iterator[frozenset[str]]:
    """Yield all subsets, the smallest first, the empty one included."""
    for size in range(len(parameters) + 1):
        yield from map(frozenset, combinations(parameters, size))


def _tightest(pair: Pair, given: Request, loose: Request, parameters: frozenset[str]) -> Request:
    """Return the cheapest of the requests that tightening in different orders leads to."""
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
    """Return a request with the least limit that reaches."""
    ms = pair.milliseconds(loose)
    assert ms is not None
    return replace(loose, travel_time=max(given.travel_time, -(-ms // 1000)))


def _tight_ways(pair: Pair, given: Request, loose: Request) -> Request:
    """Return a request with the shortest ways to and from stops that reach, one after the other."""
    for name in loose.ways:
        low, high = (int(getattr(each.transportation, name)) for each in (given, loose))
        least = least_that(partial(_reaches_with, pair, loose, name), low, high)
        loose = loose.using(**{name: least})
    return loose


def _reaches_with(pair: Pair, request: Request, name: str, value: int) -> bool:
    """Return whether a request reaches with another value of an option."""
    return pair.reaches(request.using(**{name: value}))


def _tight_changes(pair: Pair, given: Request, loose: Request) -> Request:
    """Return a request with the fewest changes that reach."""
    low = given.transportation.max_changes
    assert low is not None
    while not pair.reaches(loose.using(max_changes=low)):
        low += 1
    return loose.using(max_changes=low)


_TIGHTEN: Final = {"travel_time": _tight_time, "ways": _tight_ways, "max_changes": _tight_changes}


def least_that(works: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least whole number from `low` to `high` that works; `high` is known to, and so does all above it."""
    while low < high:
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle + 1
    return high


def cost(given: Request, other: Request) -> float:
    """
    Return how far a request is from the given one.

    Assumed: a doubled limit counts 2, another doubled number 1, a change more 0.5, other vehicles 1, another moment 1
    for an hour and 1 for each time that this doubles.
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
    """Return the options of a transportation that differ from the given one, by name."""
    names = [field.name for field in dataclasses.fields(Transportation)]
    return {name: getattr(other, name) for name in names if getattr(other, name) != getattr(given, name)}
