"""
The searches of a study of areas, day by day: travel times at the stops, which fields of all departures have.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, arrays_by_field
from traveltime_lab._checks import one_of
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.question import Question
from traveltime_lab.runtime.executors import made_parts
from traveltime_lab.runtime.progress import advance
from traveltime_lab.search.query import Query, transit_of
from traveltime_lab.search.reliability.days import Departures, check_days
from traveltime_lab.search.reliability.study import KINDS, DaysStudy, blocks
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.transit import over_days
from traveltime_lab.transit.over_days import AtStops, DaysField
from traveltime_lab.transit.timetable import Timetable

OBSERVED: Final = KINDS[1]
REALIZABLE: Final = KINDS[2]
#: Largest number of travel times at stops that are kept, 4 bytes each.
_MOST_TIMES: Final = 200_000_000


class DayStops(NamedTuple):
    """
    Travel times at stops on one day.

    Attributes
    ----------
    moments : tuple of datetime
    fingerprint : str
        Fingerprint of the network of the day.
    at_stops : dict of lists of AtStops
        By kind of travel time; one for each origin.
    is_called : bool array of shape (n_stops,)
        Stops of the planned timetable at which vehicles call in that of the day.
    """

    moments: tuple[dt.datetime, ...]
    fingerprint: str
    at_stops: dict[str, list[AtStops]]
    is_called: BoolArray


@dataclass(eq=False)
class AreaStudy(DaysStudy):
    """
    The days of a study of areas or cells.

    Attributes
    ----------
    kinds : tuple of str
        Some of `KINDS`.
    searched_s : int
        Limit of the searches, which is beyond that of the question.
    """

    kinds: tuple[str, ...]
    searched_s: int

    def planned(self, moment: dt.datetime) -> tuple[Query, Snaps]:
        """Return the query at a moment to the planned network, and the points on its streets."""
        query = self._query(self.network, moment)
        return query, query.snap(self.starts, is_origin=not query.is_arrival)

    def make(self, part: int) -> DayStops:
        """Return what is found on a day."""
        date, moments, network = self._day(part)
        planned, snaps = self.planned(moments[0])
        day = self._query(network, moments[0])
        assert planned.transit is not None and day.transit is not None
        for moment in moments[1:]:
            planned.transit.layer.timetable.check_moment(moment, name=self.departures.name)
            day.transit.layer.timetable.check_moment(moment, name=self.departures.name)
        name = f"days[{date.isoformat()}]"
        _check_streets(network, self.network, name)
        timetable = transit_of(network).timetable
        stop_of = self._names.rows_in(timetable, "stops", "stop_id")
        is_called = _calls(timetable, transit_of(self.network).timetable, stop_of, name)
        there = snaps
        if network.streets is not self.network.streets:
            there = day.snap(self.starts, is_origin=not day.is_arrival)
        found: dict[str, list[AtStops]] = {kind: [] for kind in self.kinds}
        by_plan, by_day = (each.asking(limit=self.searched_s) for each in (planned.transit, day.transit))
        for rows in blocks(len(snaps), len(moments) * is_called.size):
            some = np.arange(rows.start, rows.stop)
            for kind in self.kinds:
                if kind == REALIZABLE:
                    found[kind] += over_days.realizable_at_stops(
                        by_plan, by_day, snaps.take(some), moments, self._names
                    )
                elif kind == OBSERVED:
                    found[kind] += over_days.fastest_at_stops(by_day, there.take(some), moments, stop_of)
                else:
                    found[kind] += over_days.fastest_at_stops(by_plan, snaps.take(some), moments, None)
        return DayStops(moments, network.fingerprint, found, is_called)


def _check_streets(network: Network, planned: Network, name: str) -> None:
    """Raise an error if a network of a day has other streets."""
    if network.streets is planned.streets:
        return
    ours, others = planned.streets.tables, network.streets.tables
    mine, theirs = arrays_by_field(ours), arrays_by_field(others)
    # Names of streets do not matter.
    columns = [name for name, values in mine.items() if values.dtype != object]
    is_same = mine.keys() == theirs.keys() and ours.uses.equals(others.uses)
    if not is_same or not all(np.array_equal(mine[name], theirs[name]) for name in columns):
        msg = (
            f"{name} has other streets than the planned network, and areas need the same on all days. Give networks of "
            "with_updates or observed_days, or build them from the same streets"
        )
        raise InputError(msg)


def _calls(timetable: Timetable, planned: Timetable, stop_of: Int32Array | None, name: str) -> BoolArray:
    """
    Return at which stops of the planned timetable vehicles call in that of a day.

    Raises
    ------
    InputError
        If they also call at a stop that the planned timetable does not have, or has at a different place.
    """
    rows = np.arange(planned.n_stops) if stop_of is None else stop_of.astype(np.int64)
    is_there = rows >= 0
    is_called = np.zeros(planned.n_stops, np.bool_)
    is_called[is_there] = timetable.is_called[rows[is_there]]
    is_known = np.zeros(timetable.n_stops, np.bool_)
    is_known[rows[is_there]] = True
    if timetable.stops is not planned.stops:
        moved = np.zeros(planned.n_stops, np.bool_)
        for column in ("stop_lon", "stop_lat"):
            mine, theirs = (each.column("stops", column).astype(np.float64) for each in (planned, timetable))
            moved[is_there] |= mine[is_there] != theirs[rows[is_there]]
        is_known[rows[moved & is_there]] = False
    unknown = np.flatnonzero(timetable.is_called & ~is_known)
    if unknown.size:
        stop = timetable.stops["stop_id"].iloc[unknown[0]]
        msg = (
            f"{name} has {unknown.size:,} stops that the planned timetable lacks or has at a different place, such as "
            f"{stop!r}, and areas need the same stops on all days. Give timetables with the same stops"
        )
        raise InputError(msg)
    return is_called


class Areas(NamedTuple):
    """
    The travel times at the stops that a study of areas has found, from which areas are drawn.

    Attributes
    ----------
    query : Query
        To the planned network; its limit is that of the searches.
    snaps : Snaps
    limit_s : int
        Maximum travel time.
    kinds : tuple of str
    days : list of DayStops
        By date.
    """

    query: Query
    snaps: Snaps
    limit_s: int
    kinds: tuple[str, ...]
    days: list[DayStops]

    @property
    def n_departures(self) -> int:
        """Number of departures of all days."""
        return sum(len(day.moments) for day in self.days)

    def query_of(self, kind: str) -> Query:
        """Return the query with ways between places and the stops at which vehicles call by a kind of travel times."""
        transit = self.query.transit
        assert transit is not None
        if kind == OBSERVED:
            called = np.logical_or.reduce([day.is_called for day in self.days])
            transit = over_days.calling_at(transit, called)
        return replace(self.query, transit=transit)

    def field(self, query: Query, kind: str, origin: int) -> DaysField:
        """Return the field of the departures of all days, for the query of the kind of travel times."""
        assert query.transit is not None
        each = [day.at_stops[kind][origin] for day in self.days]
        times = over_days.joined(each, query.transit.layer.timetable.n_stops)
        return over_days.days_field(query.transit, self.snaps.one(origin), times, self.limit_s)


def checked_kinds(kinds: Any, *, is_arrival: bool) -> tuple[str, ...]:
    """
    Return the requested kinds of travel times in the order of `KINDS`.

    Raises
    ------
    InputError
    UnsupportedError
        If they are realizable ones of arrivals.
    """
    given = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, Sequence) else kinds
    if not isinstance(given, tuple) or not given:
        msg = f"kinds must be one or several of {', '.join(map(repr, KINDS))}; got {kinds!r}"
        raise InputError(msg)
    for name in given:
        one_of(name, "kinds", KINDS)
    if is_arrival and REALIZABLE in given:
        msg = (
            "realizable travel times need departure_time: passengers leave when they have planned to, and arrive or "
            "not. Give kinds=('planned', 'observed') with arrival_time"
        )
        raise UnsupportedError(msg)
    return tuple(kind for kind in KINDS if kind in given)


def departures_of(departure_time: Any, arrival_time: Any, window: Any, timezone: str) -> Departures:
    """
    Read the moments of a call.

    Raises
    ------
    InputError
        If there are none, or both departures and arrivals.
    """
    if (departure_time is None) == (arrival_time is None):
        what = "neither" if departure_time is None else "both"
        msg = f"give departure_time or arrival_time, whose time of day is moved to each of the days; got {what}"
        raise InputError(msg)
    if arrival_time is None:
        return Departures.of(departure_time, window, timezone)
    return Departures.of(arrival_time, window, timezone, "arrival_time")


def check_access(query: Query) -> None:
    """
    Raise an error if areas of many departures cannot be computed for a question.

    Raises
    ------
    UnsupportedError
        If headways are not exact, or places are left by vehicle, as drives differ by hour.
    """
    assert query.transit is not None
    query.transit.check_headways("reliability")
    if query.is_arrival and not query.transit.is_walked_to:
        msg = (
            f"areas of arrivals over several days need walks to the first stop; transportation "
            f"{query.transportation.type!r} has drives or rides there. Give a departure_time, or public transport alone"
        )
        raise UnsupportedError(msg)


def studied(
    network: Network,
    days: Mapping[Any, Network],
    starts: Points,
    question: Question,
    departures: Departures,
    kinds: tuple[str, ...],
    searched_s: float,
    executor: Executor | None,
) -> Areas:
    """
    Search all days, and report each origin on each day as progress.

    Parameters
    ----------
    network : Network
        The planned one.
    days, starts, question, departures, kinds, executor
        See `AreaStudy`.
    searched_s : float
        Limit of the searches, at least that of the question.

    Raises
    ------
    LimitError
        If there are too many travel times at stops.
    """
    keys = check_days(days)
    searched = math.ceil(searched_s)
    study = AreaStudy(network, days, keys, question, departures, starts, kinds, searched)
    query, snaps = study.planned(departures.on(next(iter(keys)))[0])
    found: dict[int, DayStops] = {}
    n_values = 0
    for part, day in made_parts(study, range(len(keys)), executor):
        found[part] = day
        n_values += sum(each.n_values for by_origin in day.at_stops.values() for each in by_origin)
        if n_values > _MOST_TIMES:
            msg = (
                f"areas over days support at most {_MOST_TIMES:,} travel times at stops; there are {n_values:,} after "
                f"{len(found)} of {len(keys)} days. Give some origins at a time, or fewer departures"
            )
            raise LimitError(msg)
        advance(len(starts))
    return Areas(query.with_limit(searched), snaps, question.limit, kinds, [found[part] for part in range(len(keys))])
