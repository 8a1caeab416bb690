"""
Relaxed questions that reach the destination, and the smallest relaxations that suffice.

A question is relaxed parameter by parameter: travel time, access and egress times, number of transfers, departure time,
and vehicles. The minimal sets of parameters whose relaxation reaches the destination are the reasons why it is not
reached. Each relaxed parameter is then tightened to the smallest value that still reaches it.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab.errors import NoServiceError
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.limits import FOREVER_S, MAX_ROUTE_TIME_S, MAX_TRAVEL_TIME_S
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import are_same, elapsed_s
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.question import Question
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.explain.questions import PARAMETERS, WALK, cost, loosened, ways
from traveltime_lab.search.query import Query, transit_of
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.costs import connector_kph
from traveltime_lab.streets.labels import limit_label
from traveltime_lab.streets.local_pairs import local_labels
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import ANY, CAN_ARRIVE, CAN_LEAVE, SNAPPED, Snaps, metres_to_streets
from traveltime_lab.transit import service_days, travel_times
from traveltime_lab.transit.query import SAMPLE_S
from traveltime_lab.transit.timetable import service_warnings_to

#: Maximum travel time of the itineraries considered, in seconds; that of `routes`.
LONGEST_S: Final = MAX_ROUTE_TIME_S
#: Ends of the windows that are searched for departures, in seconds from the given time. The first ones are short, as
#: most services run often and a search takes as long as its window.
_WINDOWS_S: Final = (3_600, 10_800, 28_800, 57_600, 86_400)
#: How far departures are searched on other days.
_HALF_DAY_S: Final = 43_200
#: Maximum number of itineraries in half a day, more than those of a bus every minute.
_MANY: Final = 2000
#: Additional cost (see `cost`) of walking all the way in a question with a timetable (assumed: it is seldom intended).
_ON_FOOT: Final = 3.0
#: If more stops than this are reachable, departures are searched minute by minute instead of exactly.
_MANY_STOPS: Final = 100
#: Number of days with different services that are searched, nearest first.
_DAYS: Final = 6


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
        return min(both, key=lambda journey: abs(elapsed_s(moment, journey.moment)), default=None)

    def question(self, given: Question) -> Question | None:
        """Return a question with the nearest time at which it reaches the destination, considering its window."""
        assert isinstance(given.moment, dt.datetime)
        nearest = self.nearest(given.moment)
        if nearest is None:
            return None
        moment, later_s = nearest.moment, elapsed_s(given.moment, nearest.moment)
        if given.is_arrival and later_s < 0:
            moment = given.moment if -later_s <= given.window else _shifted(moment, given.window)
        elif not given.is_arrival and later_s > 0:
            moment = given.moment if later_s <= given.window else _shifted(moment, -given.window)
        return replace(given, moment=moment)


class Solution(NamedTuple):
    """A relaxed question, its relaxed parameters, and the itineraries around the given time if this was relaxed."""

    question: Question
    parameters: frozenset[str]
    around: Around | None


class Pair:
    """An origin and a destination, with cached results."""

    def __init__(self, network: Network, origin: Points, destination: Points) -> None:
        self.network, self.origin, self.destination = network, origin, destination
        self._known: dict[Question, int | None] = {}

    def query(self, question: Question) -> Query:
        """Return the query of a question, without checking its date."""
        return replace(Query.of(question, self.network, check=False), needs_length=False)

    def snaps(self, question: Question) -> tuple[Snaps, Snaps]:
        """Return the snapped origin and destination."""
        query = self.query(question)
        return query.snap(self.origin), query.snap(self.destination, is_origin=False)

    def milliseconds(self, question: Question) -> int | None:
        """Return the travel time in milliseconds, None if it exceeds the limit."""
        if question not in self._known:
            query = self.query(question)
            starts, ends = query.snap(self.origin), query.snap(self.destination, is_origin=False)
            (block,) = query.blocks(starts, ends, question.limit)
            label = int(block.labels[0, 0])
            self._known[question] = None if label == UNREACHED else label_parts.ms(label)
        return self._known[question]

    def is_on_island(self, question: Question) -> bool:
        """Return whether the trip stays on an island of the network, see `traveltime_lab.streets.local_pairs`."""
        if question.transportation.uses_timetable:
            return False
        graph, pairs = self.query(question).graph, Pairs(*self.snaps(question))
        return bool(local_labels(graph, pairs, question.snapping, limit_label(FOREVER_S, "time"))[0].size)

    def reaches(self, question: Question) -> bool:
        """Return whether a question reaches the destination."""
        return self.milliseconds(question) is not None

    def turned(self) -> Pair:
        """Return the pair in the opposite direction."""
        return Pair(self.network, self.destination, self.origin)

    # Streets

    def means(self, question: Question, side: str) -> Transportation:
        """Return the means of transportation on streets at a side, "origin" or "destination"."""
        means = question.transportation
        if not means.uses_timetable:
            return means
        return means.access if side == "origin" else means.egress

    def farthest_m(self, question: Question, side: str) -> float:
        """Return the largest distance to a street that is suggested; a farther one is beyond any limit on foot."""
        return connector_kph(self.means(question, side)) / 3.6 * MAX_TRAVEL_TIME_S

    def street_distances(self, question: Question, side: str) -> tuple[float, float]:
        """
        Return the distance in metres to the nearest street of the main network, and to the nearest street at all.

        Straight walks are those of `snap_points`. Both are inf if there is no such street.
        """
        points = self.origin if side == "origin" else self.destination
        needed = CAN_LEAVE if side == "origin" else CAN_ARRIVE
        means, roads = self.means(question, side), question.snapping.accept_roads
        main, nearest = (
            metres_to_streets(self.network.streets, points.lng, points.lat, means, roads, marks, over_barriers=False)[0]
            for marks in (needed, ANY)
        )
        return float(main), float(nearest)

    def nearest_distance(self, question: Question, side: str) -> float:
        """Return the distance in metres to the nearest street, even across water; inf beyond the threshold."""
        points = self.origin if side == "origin" else self.destination
        means = self.means(question, side)
        found = metres_to_streets(
            self.network.streets, points.lng, points.lat, means, question.snapping.accept_roads,
            limit_m=question.snapping.threshold,
        )  # fmt: skip
        return float(found[0])

    def thresholds(self, question: Question) -> list[int]:
        """Return the thresholds with which both sides are snapped, in increasing order from the given one."""
        given = question.snapping.threshold
        sides = [self.street_distances(question, side) for side in ("origin", "destination")]
        most_m = max(self.farthest_m(question, side) for side in ("origin", "destination"))
        every = {given} | {math.floor(metres) + 1 for side in sides for metres in side if metres < most_m}
        snappings = [replace(question.snapping, threshold=metres) for metres in sorted(every) if metres >= given]
        return [each.threshold for each in snappings if self.is_snapped(replace(question, snapping=each))]

    def is_snapped(self, question: Question) -> bool:
        """Return whether origin and destination are snapped."""
        return all(int(snaps.status[0]) == SNAPPED for snaps in self.snaps(question))

    # Timetables

    def journeys(self, question: Question, begin: dt.datetime, seconds: int) -> list[Journey]:
        """
        Return the itineraries within the limit that depart (or arrive) in an interval, in chronological order.

        If many stops are reachable, as by car, or with average headways, times have a resolution of one minute and may
        include waiting.
        """
        moment = _shifted(begin, seconds) if question.is_arrival else begin
        query = self.query(replace(question, moment=moment, window=seconds))
        transit = query.transit
        assert transit is not None
        starts, ends = query.snap(self.origin), query.snap(self.destination, is_origin=False)
        near, far = (ends, starts) if question.is_arrival else (starts, ends)
        links = transit.links(near, is_origin=not question.is_arrival)
        reach = transit.links(far, is_origin=question.is_arrival)
        if not (links.stops.size and reach.stops.size):
            # Nothing but walking, which is possible at any time.
            walk = self.milliseconds(question.on_foot)
            return [] if walk is None else [Journey(walk, moment)]
        if links.stops.size <= _MANY_STOPS and transit.has_exact_headways:
            found = travel_times.window_itineraries(transit, Pairs(starts, ends), _MANY)
            every = [Journey(label_parts.ms(int(ms)), at) for ms, at in zip(found.labels, found.moments, strict=True)]
            return sorted(every, key=lambda journey: journey.moment.timestamp())
        steps = np.arange(0, seconds + 1, SAMPLE_S) * (-1 if question.is_arrival else 1)
        times = transit.times_between(links, reach, steps * 1000)
        kept = np.flatnonzero(whole_seconds(times) <= question.limit)
        every = [Journey(int(times[k]), _shifted(moment, int(steps[k]))) for k in kept]
        walk = self.milliseconds(question.on_foot)
        if walk is not None:
            every.append(Journey(walk, moment))
        return sorted(every, key=lambda journey: journey.moment.timestamp())

    def is_covered(self, moment: dt.datetime) -> bool:
        """Return whether the timetable covers a time."""
        try:
            with service_warnings_to(lambda text: None):
                transit_of(self.network).timetable.check_moment(moment)
        except NoServiceError:
            return False
        return True

    def around(self, question: Question, within_s: float = _WINDOWS_S[-1]) -> Around:
        """Return the itineraries before and after the time of a question, within a day (or less) of it."""
        moment = question.moment
        assert isinstance(moment, dt.datetime)
        return self._around(question, moment, within_s) if self.is_covered(moment) else Around(None, None)

    def on_other_days(self, question: Question) -> Around:
        """Return the nearest itinerary on other days with different services, as the one before or the one after."""
        moment = question.moment
        assert isinstance(moment, dt.datetime)
        timetable = transit_of(self.network).timetable
        trips = service_days.trips_of(timetable, question.transportation)
        for day in service_days.different_days(timetable, trips, moment.date(), _DAYS):
            # Conversion to UTC and back handles times that the clocks skip on that day.
            target = dt.datetime.combine(day, moment.time(), ZoneInfo(self.network.timezone))
            target = target.astimezone(dt.UTC).astimezone(target.tzinfo)
            then = replace(question, moment=target)
            ms = self.milliseconds(then) if self.is_covered(target) else None
            best = self._around(question, target, _HALF_DAY_S).nearest(target) if ms is None else Journey(ms, target)
            if best is not None:
                return Around(best, None) if elapsed_s(moment, best.moment) < 0 else Around(None, best)
        return Around(None, None)

    def _around(self, question: Question, moment: dt.datetime, within_s: float) -> Around:
        """Return the itineraries before and after a time, nearest first searched."""
        ends = [end for end in _WINDOWS_S if end < within_s] + [math.ceil(within_s)]

        def first(*, is_late: bool) -> Journey | None:
            for begin, end in itertools.pairwise([0, *ends]):
                start = _shifted(moment, -end if is_late else begin)
                found = self.journeys(question, start, end - begin)
                # At the end of departures, or the beginning of arrivals, itineraries beyond it follow after a wait.
                edge = start if question.is_arrival else _shifted(start, end - begin)
                for journey in reversed(found) if is_late else found:
                    if elapsed_s(edge, journey.moment) and self.is_covered(journey.moment):
                        return journey
            return None

        after = first(is_late=False)
        return Around(first(is_late=True), after)


def _shifted(moment: dt.datetime, seconds: float) -> dt.datetime:
    """Add elapsed seconds to a time and return it in the same time zone."""
    return (moment.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(moment.tzinfo)


def solutions(pair: Pair, question: Question) -> list[Solution]:
    """
    Return the relaxed questions that reach the destination with a timetable, the nearest first.

    Parameters
    ----------
    pair : Pair
    question : Question
        Question that does not reach the destination, with both sides snapped.

    Returns
    -------
    list of Solution
        One item for each minimal set of relaxed parameters, and one for walking all the way; empty if there are none.
    """
    moment = question.moment
    assert isinstance(moment, dt.datetime)
    is_covered = pair.is_covered(moment)
    walk = replace(question, transportation=question.transportation.egress, window=0, limit=MAX_TRAVEL_TIME_S)
    on_foot = pair.milliseconds(walk)
    most_s, found = MAX_TRAVEL_TIME_S, []
    longest = question.transportation.direct_walking_time
    if on_foot is not None and whole_seconds(on_foot) > question.on_foot.limit:
        seconds = whole_seconds(on_foot)
        if longest is None:
            # An itinerary that takes less time than walking includes a transit leg.
            most_s = seconds - 1
        if is_covered:
            longer = replace(question, limit=max(question.limit, seconds))
            if longest is not None:
                longer = longer.using(direct_walking_time=max(longest, seconds))
            found.append(Solution(longer, frozenset({WALK}), None))
    rides = _solutions(pair, question, most_s) if is_covered else []
    another_day = cost(question, replace(question, moment=_shifted(moment, _WINDOWS_S[-1])))
    if min((cost(question, each.question) for each in rides), default=math.inf) > another_day:
        rides += _on_other_days(pair, question, most_s)
    found += rides
    if on_foot is not None and not found:
        # Walking all the way is possible on any date that the timetable covers.
        found += _on_other_days(pair, question, MAX_TRAVEL_TIME_S)
    return sorted(found, key=lambda each: cost(question, each.question) + _ON_FOOT * (WALK in each.parameters))


def _solutions(pair: Pair, question: Question, most_s: int) -> list[Solution]:
    """Return the solutions at the time of the question, or within a day of it, with travel times of up to `most_s`."""
    plain = _plain(question, most_s)
    found: list[Solution] = []
    sets: list[frozenset[str]] = []
    for parameters in _subsets(plain):
        loose = loosened(question, parameters, most_s)
        if not any(less <= parameters for less in sets) and pair.reaches(loose):
            sets.append(parameters)
            found.append(Solution(_tightest(pair, question, loose, parameters), parameters, None))
    # Other times take longest to search: with everything relaxed first, which often shows that there is nothing, then
    # only as near as a solution has to be to cost no more than what is known.
    instead = dict.fromkeys(
        parameters - {"travel_time"} for parameters in sets if "travel_time" in parameters and len(parameters) > 1
    )
    instead |= dict.fromkeys([frozenset({"travel_time"} & set(plain))])
    known = {} if sets else {frozenset(plain): pair.around(loosened(question, plain, most_s))}
    if Around(None, None) in known.values():
        return found
    within_s = float(_WINDOWS_S[-1])
    for parameters in [frozenset[str](), *instead] if sets else _subsets(plain):
        loose = loosened(question, parameters, most_s)
        around = known.get(parameters) or pair.around(loose, within_s)
        solution = _at_other_time(pair, question, loose, parameters, around)
        if solution is None:
            continue
        found.append(solution)
        there, here = solution.question.moment, question.moment
        assert isinstance(there, dt.datetime) and isinstance(here, dt.datetime)
        seconds = abs(elapsed_s(here, there))
        if seconds <= _WINDOWS_S[0]:
            break
        within_s = min(within_s, seconds)
    return found


def _on_other_days(pair: Pair, question: Question, most_s: int) -> list[Solution]:
    """Return a solution on another day with as few relaxed parameters as possible, or none."""
    plain = _plain(question, most_s)
    everything = pair.on_other_days(loosened(question, plain, most_s))
    if everything == Around(None, None):
        return []
    for parameters in _subsets(plain):
        loose = loosened(question, parameters, most_s)
        around = everything if len(parameters) == len(plain) else pair.on_other_days(loose)
        solution = _at_other_time(pair, question, loose, parameters, around)
        if solution is not None:
            return [solution]
    return []


def _plain(question: Question, most_s: int) -> list[str]:
    """Return the parameters of a question that can be relaxed, besides its time."""
    return [parameter for parameter in PARAMETERS[:-1] if loosened(question, [parameter], most_s) != question]


def _at_other_time(
    pair: Pair, question: Question, loose: Question, parameters: frozenset[str], around: Around
) -> Solution | None:
    """Return the solution at the nearest of two itineraries, None if there is none at another time."""
    later = around.question(loose)
    if later is None or are_same(later.moment, question.moment):
        return None
    return Solution(_tightest(pair, question, later, parameters), parameters | {"moment"}, around)


def _subsets(parameters: list[str]) -> Iterator[frozenset[str]]:
    """Yield all subsets including the empty one, smallest first."""
    for size in range(len(parameters) + 1):
        yield from map(frozenset, itertools.combinations(parameters, size))


def _tightest(pair: Pair, given: Question, loose: Question, parameters: frozenset[str]) -> Question:
    """Tighten the parameters of a question in different orders and return the cheapest result."""
    orders = (("max_changes", "ways", "travel_time"), ("travel_time", "ways", "max_changes"))
    every = []
    for order in orders:
        tight = loose
        for parameter in order:
            if parameter in parameters:
                tight = _TIGHTEN[parameter](pair, given, tight)
        every.append(tight)
    return min(every, key=lambda tight: cost(given, tight))


def _tight_time(pair: Pair, given: Question, loose: Question) -> Question:
    """Return a question with the smallest sufficient travel time."""
    ms = pair.milliseconds(loose)
    assert ms is not None
    return replace(loose, limit=max(given.limit, whole_seconds(ms)))


def _tight_ways(pair: Pair, given: Question, loose: Question) -> Question:
    """Return a question with the smallest sufficient access and egress times, determined one after the other."""
    for name in ways(loose):
        low, high = (int(getattr(each.transportation, name)) for each in (given, loose))
        least = least_that(partial(_reaches_with, pair, loose, name), low, high)
        loose = loose.using(**{name: least})
    return loose


def _reaches_with(pair: Pair, question: Question, name: str, value: int) -> bool:
    """Return whether a question reaches the destination with another value of an option."""
    return pair.reaches(question.using(**{name: value}))


def _tight_changes(pair: Pair, given: Question, loose: Question) -> Question:
    """Return a question with the smallest sufficient number of transfers."""
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
