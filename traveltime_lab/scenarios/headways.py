"""
Other headways and times of the trips of a route, without randomness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from traveltime_lab._arrays import AnyArray, IndexArray, Int64Array, unique_values
from traveltime_lab.errors import LimitError
from traveltime_lab.scenarios.changes import seconds_of
from traveltime_lab.scenarios.transit_changes import ScaleHeadway, SetHeadway, ShiftTrips
from traveltime_lab.scenarios.trips import TripCopies, with_trips
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.timetable import Timetable

#: Longest span of dates whose services are compared day by day; services that are valid for longer, such as until
#: 9999, are each treated alone (assumed).
_MOST_DAYS: Final = 3_660


@dataclass
class _DayClass:
    """
    Days on which the same services of a route are active.

    Attributes
    ----------
    members : tuple of int
        The services.
    service : int
        Service of new trips: the only member, or a new one that is active on these days.
    """

    members: tuple[int, ...]
    service: int


def _day_classes(timetable: Timetable, trips: IndexArray) -> tuple[list[_DayClass], Services]:
    """Return the classes of days of some trips, and the services with those added that the classes need."""
    services = timetable.services
    used = unique_values(timetable.hot.trip_service[trips])
    first, last = (int(bound) for bound in (services.spans()[0][used].min(), services.spans()[1][used].max()))
    if used.size <= 1 or last - first > _MOST_DAYS:
        return [_DayClass((int(service),), int(service)) for service in used], services
    days: dict[tuple[int, ...], list[int]] = {}
    for day in range(first, last + 1):
        active = tuple(used[services.on(day)[used]].tolist())
        if active:
            days.setdefault(active, []).append(day)
    classes: list[_DayClass] = []
    added: list[list[int]] = []
    for members, dates in days.items():
        alone = len(members) == 1 and not any(members[0] in other for other in days if other != members)
        classes.append(_DayClass(members, members[0] if alone else len(services) + len(added)))
        if not alone:
            added.append(dates)
    return classes, _with_services(services, added)


def _with_services(services: Services, added: list[list[int]]) -> Services:
    """Return services with new ones that are active on given dates."""
    if not added:
        return services
    n = len(added)
    counts = [len(dates) for dates in added]
    new = Services(
        weekdays=np.zeros(n, np.uint8),
        start=np.ones(n, np.int32),
        end=np.zeros(n, np.int32),
        exception_date=np.array([day for dates in added for day in dates], np.int32),
        exception_service=np.repeat(np.arange(n), counts).astype(np.int32),
        exception_added=np.ones(sum(counts), np.bool_),
    )
    return Services.joined([services, new])


def scale_headway(timetable: Timetable, change: ScaleHeadway, trips: IndexArray) -> Timetable:
    """Return a timetable in which some trips run more or less often; see `ScaleHeadway`."""
    if change.factor == 1.0 or not trips.size:
        return timetable
    hot = timetable.hot
    plain = trips[~hot.is_repeated[trips]]
    headway = timetable.frequency_headway.copy()
    mine = np.isin(timetable.frequency_trip, trips)
    headway[mine] = np.maximum(1, np.rint(headway[mine] * change.factor)).astype(np.int32)
    others = np.setdiff1d(np.arange(timetable.n_trips), plain)
    parts, services = [TripCopies.kept(timetable, others)], timetable.services
    if plain.size:
        classes, services = _day_classes(timetable, plain)
        for days in classes:
            here = plain[np.isin(hot.trip_service[plain], days.members)]
            for pattern in unique_values(hot.trip_pattern[here]):
                same = here[hot.trip_pattern[here] == pattern]
                parts.append(_scaled(timetable, same, change.factor, days))
    return with_trips(timetable, TripCopies.joined(parts), services=services, frequency_headway=headway)


def _scaled(timetable: Timetable, trips: IndexArray, factor: float, days: _DayClass) -> TripCopies:
    """Return trips of one pattern at other headways: number ``k`` departs where number ``k * factor`` did."""
    hot = timetable.hot
    trips = trips[np.lexsort((trips, hot.last_arrival[trips], hot.first_departure[trips]))]
    n = int(np.floor((trips.size - 1) / factor + 1e-9)) + 1
    at = np.arange(n) * factor
    nearest = np.rint(at)
    at = np.where(np.abs(at - nearest) < 1e-6, nearest, at)
    before = np.floor(at).astype(np.int64)
    after = np.minimum(before + 1, trips.size - 1)
    source = trips[before].astype(np.int64)
    # A trip itself stays, with its block, if it departs as before on the same days.
    is_itself = (at == before) & (hot.trip_service[source] == days.service)
    return TripCopies(
        source=source,
        service=np.full(n, days.service, np.int32),
        is_new=~is_itself,
        shift=np.zeros(n, np.int64),
        other=trips[after].astype(np.int64),
        weight=at - before,
    )


def set_headway(timetable: Timetable, change: SetHeadway, trips: IndexArray) -> Timetable:
    """Return a timetable in which some trips have a regular headway for some hours; see `SetHeadway`."""
    if not trips.size:
        return timetable
    hot = timetable.hot
    start, end = seconds_of(change.start), seconds_of(change.end)
    is_mine = np.zeros(timetable.n_trips, np.bool_)
    is_mine[trips] = True
    departs = hot.first_departure.astype(np.int64)
    is_replaced = is_mine & ~hot.is_repeated & (departs >= start) & (departs < end)
    frequencies = _outside(timetable, is_mine, start, end)
    is_replaced |= is_mine & hot.is_repeated & ~np.isin(np.arange(timetable.n_trips), frequencies["frequency_trip"])
    parts = [TripCopies.kept(timetable, np.flatnonzero(~is_replaced))]
    classes, services = _day_classes(timetable, trips)
    earliest, latest = _departures(timetable)
    moments = np.arange(start, end, change.seconds, dtype=np.int64)
    direction_of = directions(timetable, trips)
    for days in classes:
        for direction in unique_values(direction_of):
            here = trips[np.isin(hot.trip_service[trips], days.members) & (direction_of == direction)]
            if here.size:
                parts.append(_regular(here, moments, earliest, latest, departs, days.service))
    return with_trips(timetable, TripCopies.joined(parts), services=services, **frequencies)


def _regular(
    trips: IndexArray, moments: Int64Array, earliest: Int64Array, latest: Int64Array, departs: Int64Array, service: int
) -> TripCopies:
    """Return a trip at each moment, copied from the trip with the nearest departure; ties go to the earlier one."""
    trips = trips[np.lexsort((trips, earliest[trips]))]
    away = np.maximum(earliest[trips] - moments[:, None], moments[:, None] - latest[trips])
    source = trips[np.argmin(np.maximum(away, 0), axis=1)].astype(np.int64)
    n = moments.size
    return TripCopies(
        source=source,
        service=np.full(n, service, np.int32),
        is_new=np.ones(n, np.bool_),
        shift=moments - departs[source],
        other=source,
        weight=np.zeros(n),
    )


def _departures(timetable: Timetable) -> tuple[Int64Array, Int64Array]:
    """Return the first and the last departure of each trip from its first stop, of repeated ones over the day."""
    earliest = timetable.hot.first_departure.astype(np.int64)
    latest = earliest.copy()
    trip = timetable.frequency_trip
    earliest[trip], latest[trip] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    np.minimum.at(earliest, trip, timetable.frequency_start)
    np.maximum.at(latest, trip, timetable.frequency_end - 1)
    return earliest, latest


def directions(timetable: Timetable, trips: IndexArray) -> Int64Array:
    """
    Return a number for the direction of each trip of a route.

    It is direction_id if all trips have one. If not, it follows from the sequences of stations: two of them are in one
    direction if, of the pairs of stations that both have, more are in the same order than in the opposite one, or if
    such sequences link them.
    """
    given: Int64Array = timetable.trips["direction_id"].to_numpy()[trips].astype(np.int64)
    if (given >= 0).all():
        return given
    patterns, pattern = np.unique(timetable.hot.trip_pattern[trips], return_inverse=True)
    parent = timetable.column("stops", "parent_idx")
    station = np.where(parent >= 0, parent, np.arange(timetable.n_stops))
    bounds = zip(timetable.pattern_indptr[patterns], timetable.pattern_indptr[patterns + 1], strict=True)
    sequences = [tuple(station[timetable.pattern_stop[begin:end]].tolist()) for begin, end in bounds]
    number = {stops: k for k, stops in enumerate(dict.fromkeys(sequences))}
    orders = [{(a, b) for k, a in enumerate(stops) for b in stops[k + 1 :] if a != b} for stops in number]
    label = list(range(len(orders)))
    for i, j in combinations(range(len(orders)), 2):
        if label[i] != label[j]:
            n_same = len(orders[i] & orders[j])
            if n_same and n_same > sum((b, a) in orders[j] for a, b in orders[i]):
                old, new = max(label[i], label[j]), min(label[i], label[j])
                label = [new if each == old else each for each in label]
    of_pattern = np.array([label[number[stops]] for stops in sequences], np.int64)
    return of_pattern[pattern]


def _outside(timetable: Timetable, is_mine: AnyArray, start: int, end: int) -> dict[str, AnyArray]:
    """Return the rows of frequencies without the departures of some trips from `start` to before `end`."""
    rows = []
    columns: list[AnyArray] = [timetable.frequency_trip, timetable.frequency_start, timetable.frequency_end]
    columns += [timetable.frequency_headway, timetable.frequency_exact]
    for trip, first, last, headway, exact in zip(*(column.tolist() for column in columns), strict=True):
        if not is_mine[trip]:
            rows.append((trip, first, last, headway, exact))
            continue
        if first < min(last, start):
            rows.append((trip, first, min(last, start), headway, exact))
        # The first departure at or after `end`.
        again = first + max(0, -(-(end - first) // headway)) * headway
        if again < last:
            rows.append((trip, again, last, headway, exact))
    names = ("frequency_trip", "frequency_start", "frequency_end", "frequency_headway")
    found = {name: np.array([row[i] for row in rows], np.int32) for i, name in enumerate(names)}
    return {**found, "frequency_exact": np.array([row[4] for row in rows], np.bool_)}


def shift_trips(timetable: Timetable, change: ShiftTrips, trips: IndexArray) -> Timetable:
    """Return a timetable in which some trips run earlier or later; see `ShiftTrips`."""
    hot = timetable.hot
    start, end = (0, np.iinfo(np.int32).max) if change.start is None else map(seconds_of, (change.start, change.end))
    mine = np.zeros(timetable.n_trips, np.bool_)
    mine[trips] = True
    departs = hot.first_departure
    is_moved = mine & ~hot.is_repeated & (departs >= start) & (departs < end)
    rows = mine[timetable.frequency_trip] & (timetable.frequency_start >= start) & (timetable.frequency_start < end)
    if change.seconds == 0 or not (is_moved.any() or rows.any()):
        return timetable
    earliest = np.concatenate([departs[is_moved], timetable.frequency_start[rows]])
    if int(earliest.min()) + change.seconds < 0:
        raise LimitError(
            f"{change.title} moves a departure at {int(earliest.min())} s after midnight by {change.seconds} s, to the "
            "day before; shift by less, or choose later trips with start and end"
        )
    copies = TripCopies.kept(timetable, np.arange(timetable.n_trips))
    copies = replace(copies, shift=np.where(is_moved, change.seconds, 0).astype(np.int64))
    move = np.where(rows, change.seconds, 0).astype(np.int32)
    return with_trips(
        timetable,
        copies,
        frequency_start=timetable.frequency_start + move,
        frequency_end=timetable.frequency_end + move,
    )
