"""
Check queries with timetables, and provide what their searches share.

A journey consists of access on streets, transit legs and egress on foot; or it is a walk all the way. A query has a
*search side*, where its moment applies (origins with a departure, destinations with an arrival), and an *egress side*.
Points on the search side are linked to stops by a street search from each point. Points on the egress side are linked
by walks around all stops (`traveltime_lab.transit.stop_links`), or by a street search if stops are reached by car or
bicycle in an arrival search. `traveltime_lab.transit.raptor` searches between stops.

All times are whole milliseconds, as in street searches, so that matrices, shapes and routes agree exactly; departures
and arrivals of vehicles are whole seconds.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab._arrays import FloatArray, Int32Array, Int64Array
from traveltime_lab.errors import InputError, MomentError, NoServiceError, UnsupportedError
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.moments import TypicalMoment
from traveltime_lab.question import HasQuestion, Question
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.shared import shared, shared_by
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import GraphKey, RoadsKey, roads_key
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.average_headways import AverageSearch, headway_table
from traveltime_lab.transit.headway_draws import Draw
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.raptor import TransitSearch
from traveltime_lab.transit.route_types import check_modes, ridden_routes
from traveltime_lab.transit.search_options import TransitOptions
from traveltime_lab.transit.stop_links import LinkedStops
from traveltime_lab.transit.trip_instances import trip_table
from traveltime_lab.transit.trip_table import TripTable
from traveltime_lab.transit.walks import Walks
from traveltime_lab.transit.wheelchair import Ridden, ridden, rule_of

#: Trip tables begin and end at whole hours, so that similar moments share one.
_HOUR_S: Final = 3600
#: Seconds between two departures (or arrivals) of a window that percentiles are computed from (assumed, as in R5).
SAMPLE_S: Final = 60

#: Prepared trip tables by vehicles, modes of routes, walking speed, longest walk between vehicles, and interval.
_TableKey: TypeAlias = tuple[str, tuple[str, ...], RoadsKey, float | None, int, int, int]
_SEARCHES = Derived[_TableKey, TransitSearch]("trip tables", kept=6)
#: The same for the draws of random headways, by seed and number of draws, too. They take as much memory as that many
#: tables, so that only those of the latest query are kept.
_DRAWS = Derived[tuple[Any, ...], tuple[TransitSearch, ...]]("drawn trip tables", kept=1)
#: The same for average headways.
_AVERAGES = Derived[tuple[Any, ...], AverageSearch]("trip and headway tables", kept=6)
#: Hours of ``"weekday_morning"``, the contract's period between 8 and 9 (docs/contract.md, 4.9).
DEPARTURE_HOUR: Final = 8
ARRIVAL_HOUR: Final = 9

_days_to: ContextVar[Callable[[dt.date], object] | None] = ContextVar("days_to", default=None)


@contextlib.contextmanager
def typical_days_to(listener: Callable[[dt.date], object]) -> Iterator[None]:
    """Call a function with the typical day of each query that needs one, within a ``with`` block."""
    token = _days_to.set(listener)
    try:
        yield
    finally:
        _days_to.reset(token)


@dataclass(frozen=True)
class TransitQuery(HasQuestion):
    """
    A checked query with a timetable.

    Attributes
    ----------
    layer : TransitLayer
    question : Question
        Its moment is a date and time.
    in_grams : bool
        Whether the lower halves of labels are milligrams of CO2e by the costs of the question, instead of centimetres.
    """

    layer: TransitLayer
    question: Question
    in_grams: bool = False

    @property
    def moment(self) -> dt.datetime:
        """The departure from the origins, or the arrival at the destinations, timezone-aware."""
        moment = self.question.moment
        assert isinstance(moment, dt.datetime)
        return moment

    @property
    def window(self) -> int:
        """Length of the window after the departure, or before the arrival, in seconds."""
        return self.question.window

    @property
    def with_share(self) -> bool:
        """Whether to compute the share of departures in the window with a travel time within the limit."""
        return self.question.with_share

    @property
    def with_least(self) -> bool:
        """
        Whether to compute the least travel time over all departures of the window.

        Otherwise it is that of the departures that percentiles and shares are computed from, as with headways that are
        random or average.
        """
        return self.question.with_least and self.has_exact_headways

    @property
    def has_exact_headways(self) -> bool:
        """Whether services by headway run at fixed times, which are the same in each search."""
        return self.transportation.headways == "exact"

    def check_headways(self, what: str, allowed: tuple[str, ...] = ("exact",)) -> None:
        """
        Raise an error if something cannot be computed with the option `headways`.

        Raises
        ------
        UnsupportedError
        """
        given = self.transportation.headways
        if given not in allowed:
            names = " or ".join(repr(name) for name in allowed)
            msg = f"{what} cannot be computed with headways={given!r}; use headways={names}"
            raise UnsupportedError(msg)

    def asking(self, **changes: Any) -> TransitQuery:
        """Return the query with changes of its question."""
        return replace(self, question=replace(self.question, **changes))

    # Streets

    @property
    def direct_limit(self) -> int:
        """Longest walk all the way in seconds."""
        longest = self.transportation.direct_walking_time
        return self.limit if longest is None else min(self.limit, longest)

    @property
    def walking(self) -> RoadGraph:
        """The walking graph."""
        return self.layer.streets.road_graph(self.transportation.egress)

    @property
    def is_walked_to(self) -> bool:
        """Whether access to the first stop is on foot."""
        return self.transportation.access.type == self.transportation.egress.type

    @property
    def access_key(self) -> GraphKey | None:
        """The key of the graph of the access to the first stop; None if it is that of walking."""
        if self.is_walked_to:
            return None
        return self.layer.streets.graph_key(self.transportation.access, self.moment)

    def access_graph(self) -> RoadGraph:
        """Return the graph of the access to the first stop."""
        return self.layer.streets.road_graph(self.transportation.access, self.moment)

    def snap(self, lng: FloatArray, lat: FloatArray, *, is_origin: bool) -> Snaps:
        """Snap origins to the streets of the access, or destinations to walkable streets."""
        means = self.transportation.access if is_origin else self.transportation.egress
        return snap_points(self.layer.streets, lng, lat, means, self.snapping, CAN_LEAVE if is_origin else CAN_ARRIVE)

    def on_foot(self, snaps: Snaps, *, is_origin: bool) -> Snaps:
        """Return the snaps of the same points to walkable streets."""
        if self.is_walked_to or not is_origin:
            return snaps
        means = self.transportation.egress

        def on_foot() -> Snaps:
            return snap_points(self.layer.streets, snaps.lng, snaps.lat, means, self.snapping, CAN_LEAVE)

        return shared("on foot", (snaps,), on_foot, means)

    # Transit

    @property
    def hours(self) -> tuple[int, int]:
        """Begin and end, in seconds since 1970, of the whole hours in which its trips are."""
        begin = int(self.moment.timestamp())
        first, last = (begin - self.limit - self.window, begin) if self.is_arrival else (begin, begin + self.limit)
        last += 0 if self.is_arrival else self.window
        return first // _HOUR_S * _HOUR_S, (last // _HOUR_S + 1) * _HOUR_S

    def search(self, moments: Sequence[dt.datetime] = ()) -> TransitSearch:
        """
        Return the search of the trip instances in the interval of the query, with times in milliseconds.

        With `moments`, the interval is that of the same question at all of these, which are in ascending order. With
        random headways it is that of the first draw; with average ones it lacks the services by headway.
        """
        if self.transportation.headways == "random":
            return self.draws()[0]
        if self.transportation.headways == "average":
            return self.average().scheduled
        first, last = self.hours
        if moments:
            first, last = self.asking(moment=moments[0]).hours[0], self.asking(moment=moments[-1]).hours[1]
        return _SEARCHES.of(self.layer, self._key(first, last), lambda: TransitSearch(self._table(first, last)))

    def draws(self) -> tuple[TransitSearch, ...]:
        """Return the search of each draw of random headways; see `search`."""
        first, last = self.hours
        seed, of = self.transportation.headway_seed, self.transportation.headway_draws

        def draw(number: int) -> TransitSearch:
            checkpoint()
            return TransitSearch(self._table(first, last, headways=Draw(seed, number, of)))

        return _DRAWS.of(self.layer, (*self._key(first, last), seed, of), lambda: tuple(map(draw, range(of))))

    def average(self) -> AverageSearch:
        """Return the search with average headways; see `search`."""
        first, last = self.hours
        timetable = self.layer.timetable

        def make() -> AverageSearch:
            is_used = ridden_routes(timetable.routes, self.transportation)
            scheduled = TransitSearch(self._table(first, last, headways=False))
            return AverageSearch(scheduled, headway_table(timetable, first, last, is_used=is_used, ridden=self._ridden))

        return _AVERAGES.of(self.layer, self._key(first, last), make)

    def _key(self, first: int, last: int) -> _TableKey:
        """Return the key of trip tables of an interval in POSIX seconds."""
        means = self.transportation
        roads, kph = roads_key(means.egress), means.egress.speed
        return means.vehicles, means.modes, roads, kph, means.transfer_walking_time, first, last

    def _table(self, first: int, last: int, headways: Draw | bool = True) -> TripTable:
        """Return the trip instances of an interval with times in milliseconds; see `trip_table`."""
        timetable, means = self.layer.timetable, self.transportation
        is_used = ridden_routes(timetable.routes, means)
        changes = stop_links.changes(self.layer, self.stops, means.transfer_walking_time, means.walking_time)
        found = trip_table(
            timetable, first, last, is_used=is_used, changes=changes, headways=headways, ridden=self._ridden
        )
        return found.in_milliseconds()

    @property
    def _ridden(self) -> Ridden | None:
        """The trips and stops that can be used without steps."""
        return ridden(self.layer.timetable, rule_of(self.transportation))

    @property
    def stops(self) -> LinkedStops:
        """The stops, linked to the walking graph."""
        return stop_links.linked_stops(self.layer, self.walking, self.transportation.egress)

    @property
    def options(self) -> TransitOptions:
        """The limits of the search."""
        means = self.transportation
        return TransitOptions(most_ms(self.limit), means.max_changes, means.pt_change_delay * 1000)

    def at(self, search: TransitSearch | AverageSearch) -> int:
        """Return the moment in milliseconds after the reference of a search."""
        return round(self.moment.timestamp() * 1000) - search.table.reference * 1000

    @property
    def has_spread(self) -> bool:
        """Whether the travel times of single departures of the window are needed."""
        return bool(self.percents) or self.with_share

    def samples(self, search: TransitSearch | AverageSearch) -> Int64Array:
        """Return the departures (or arrivals) that percentiles are computed from, as `at` does."""
        steps = np.arange(0, max(self.window, 1), SAMPLE_S, dtype=np.int64) * 1000
        return self.at(search) + (-steps if self.is_arrival else steps)

    @property
    def n_samples(self) -> int:
        """Number of travel times that percentiles are computed from; see `sampled_times`."""
        return self._n_departures * self.draws_of_each

    @property
    def draws_of_each(self) -> int:
        """Number of draws of headways in which each departure of the window is searched, 1 if nothing is random."""
        n_draws = self.transportation.headway_draws if self.transportation.headways == "random" else 1
        return -(-n_draws // self._n_departures)

    @property
    def _n_departures(self) -> int:
        return max(1, -(-self.window // SAMPLE_S))

    def sampled_times(self, access: tuple[Int32Array, Int32Array]) -> Int32Array:
        """
        Return the travel times between one point and all stops that percentiles are computed from.

        There is one for each minute of the window. With random headways the departures meet the draws in turn: each
        departure is searched in the same number of draws, at least one, and each draw with at least one departure.

        Parameters
        ----------
        access : pair of int32 arrays of shape (n_links,)
            Stops and times of the point, ms.

        Returns
        -------
        int32 array of shape (n_samples, n_stops), ms
            `NEVER` beyond the limit.
        """
        options, is_arrival = self.options, self.is_arrival
        if self.transportation.headways != "random":
            search = self.average() if self.transportation.headways == "average" else self.search()
            return search.stop_times_by_moment(access, self.samples(search), options, is_arrival=is_arrival)
        draws = self.draws()
        moments = self.samples(draws[0])
        times = np.empty((self.n_samples, draws[0].table.n_stops), np.int32)
        moment_of = np.repeat(moments, self.draws_of_each)
        for number, search in enumerate(draws):
            mine = slice(number, None, len(draws))
            times[mine] = search.stop_times_by_moment(access, moment_of[mine], options, is_arrival=is_arrival)
        return times

    def times_between(self, near: StopLinks, far: StopLinks, steps: Int64Array) -> Int32Array:
        """
        Return the travel times by transit between a point and another at several moments.

        Parameters
        ----------
        near, far : StopLinks
            Links of one point each, on the search side and on the other.
        steps : int64 array of shape (n_moments,), ms
            Moments after that of the query.

        Returns
        -------
        int32 array of shape (n_moments,), ms
            `NEVER` beyond the limit.
        """
        options, is_arrival = self.options, self.is_arrival
        if self.transportation.headways == "average":
            average = self.average()
            moments = self.at(average) + steps
            at_stops = average.stop_times_by_moment(near.of(0), moments, options, is_arrival=is_arrival)
            stops, ms = far.of(0)
            times = (at_stops[:, stops].astype(np.int64) + ms).min(axis=1, initial=NEVER)
            return np.where(times <= options.travel_limit, times, NEVER).astype(np.int32)
        search = self.search()
        found = search.window_times(near.of(0), self.at(search) + steps, far, options, is_arrival=is_arrival)
        return found[:, 0]

    # Links between points and stops

    def walks(self, *, is_leaving: bool) -> Walks:
        """Return the walks around all stops."""
        return stop_links.walks(self.layer, self.stops, self.transportation.walking_time, is_leaving=is_leaving)

    def known_walks(self, *, is_leaving: bool) -> Walks | None:
        """Return the walks around all stops if they are known already."""
        is_known = stop_links.has_walks(self.layer, self.stops, self.transportation.walking_time, is_leaving=is_leaving)
        return self.walks(is_leaving=is_leaving) if is_known else None

    def links(self, snaps: Snaps, *, is_origin: bool, times: Int32Array | None = None) -> StopLinks:
        """
        Return the links between points and stops.

        The links of origins include parking and the delay of the first boarding.

        Parameters
        ----------
        snaps : Snaps
        is_origin : bool
        times : int32 array of shape (n_stops,), optional
            Travel times at the stops. With them, links may be left out that do not lead to the least sum for a point.
        """
        if shared_by() is not None:
            # Links for all moments.
            make = functools.partial(self._links, snaps, is_origin=is_origin)
            return shared("links", (snaps, self.layer), make, self.transportation, is_origin, self.access_key)
        return self._links(snaps, is_origin=is_origin, times=times)

    def _links(self, snaps: Snaps, *, is_origin: bool, times: Int32Array | None = None) -> StopLinks:
        """Return what `links` does."""
        means = self.transportation
        if is_origin and not self.is_walked_to:
            joined = stop_links.linked_stops(self.layer, self.access_graph(), means.access, means.egress)
            links = stop_links.street_links(
                self.layer, joined, snaps, self.snapping, means.access_time, is_leaving=False
            )
        elif len(snaps) <= stop_links.FEW and self.known_walks(is_leaving=not is_origin) is None:
            links = stop_links.street_links(
                self.layer, self.stops, snaps, self.snapping, means.walking_time, is_leaving=not is_origin
            )
        else:
            around = self.walks(is_leaving=not is_origin)
            links = stop_links.walk_links(self.stops, around, snaps, self.snapping, means.walking_time, times=times)
        return links.later((means.access_penalty + means.pt_change_delay) * 1000) if is_origin else links


def transit_query(layer: TransitLayer | None, question: Question) -> TransitQuery:
    """
    Check a question to a timetable.

    Raises
    ------
    InputError
        If the network has no timetable.
    ModeError
        If the timetable has no routes of a mode.
    MomentError
        If there is no moment, or the timetable does not cover it.
    """
    moment, kind = question.moment, question.transportation.type
    if layer is None:
        msg = f"transportation {kind!r} needs a timetable, which this network has not; build it with gtfs=[...]"
        raise InputError(msg)
    if moment is None:
        msg = f"transportation {kind!r} needs departure_time or arrival_time: timetables differ by date and hour"
        raise MomentError(msg)
    check_modes(layer.timetable.routes, question.transportation)
    if question.transportation.headways == "random" and question.limit and not question.window:
        msg = (
            "headways='random' requires a window, over whose departures and draws the results are; give one, such as "
            "window=3600, or headways='average' for one moment"
        )
        raise InputError(msg)
    name = "arrival_time" if question.is_arrival else "departure_time"
    if isinstance(moment, TypicalMoment):
        name = f"{name} ({moment.value})"
        moment = typical_moment(layer, is_arrival=question.is_arrival)
        listener = _days_to.get()
        if listener is not None:
            listener(moment.date())
    layer.timetable.check_moment(moment, name=name)
    return TransitQuery(layer, replace(question, moment=moment))


def typical_moment(layer: TransitLayer, *, is_arrival: bool) -> dt.datetime:
    """
    Return the moment of ``"weekday_morning"``: between 8 and 9 on the typical day of a timetable.

    A departure is at 8, an arrival at 9, local time (docs/contract.md, 4.9). The day is that of
    `traveltime_lab.transit.typical_day`.

    Raises
    ------
    NoServiceError
        If the timetable has no day with service.
    """
    day = layer.typical_day
    if day is None:
        msg = "the timetable has no day with service; check the calendars of the feeds in report()"
        raise NoServiceError(msg)
    return dt.datetime.combine(day, dt.time(ARRIVAL_HOUR if is_arrival else DEPARTURE_HOUR), ZoneInfo(layer.timezone))
