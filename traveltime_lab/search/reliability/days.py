"""
The days of a study: networks by service date, and the departures on each of them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from traveltime_lab._checks import whole
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.limits import MAX_MOMENTS, MAX_WINDOW_S
from traveltime_lab.moment_lists import are_several, check_kind, resolve_several
from traveltime_lab.moments import TypicalMoment, resolve_moment
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.transit.query import DEPARTURE_HOUR, SAMPLE_S

_NAME: Final = "departure_time"


def check_days(days: Any) -> tuple[dt.date, ...]:
    """
    Return the dates of the days, ascending.

    Raises
    ------
    InputError
        If the days are no mapping of dates, or there are none.
    """
    if not isinstance(days, Mapping):
        msg = (
            "days must map service dates to networks, as observed_days(...) or "
            f"{{datetime.date(2026, 1, 31): network.with_updates(...)}} do; got {type(days).__name__}"
        )
        raise InputError(msg)
    dates = list(days)
    for date in dates:
        if not isinstance(date, dt.date) or isinstance(date, dt.datetime):
            msg = f"the keys of days must be dates such as datetime.date(2026, 1, 31); got {date!r}"
            raise InputError(msg)
    if not dates:
        msg = "days is empty; give at least one service date with its network"
        raise InputError(msg)
    return tuple(sorted(dates))


def network_of(days: Mapping[dt.date, Network], date: dt.date, planned: Network) -> Network:
    """
    Return the network of a day.

    Raises
    ------
    InputError
        If it is no network with a timetable, or its time zone is not that of the planned network.
    """
    network = days[date]
    name = f"days[{date.isoformat()}]"
    check_network(network, name)
    if network.transit is None:
        msg = f"{name} has no timetable; give networks such as those of with_updates or build_network(..., gtfs=[...])"
        raise InputError(msg)
    if network.timezone != planned.timezone:
        msg = f"{name} has the time zone {network.timezone}, the planned network has {planned.timezone}"
        raise InputError(msg)
    return network


@dataclass(frozen=True)
class Departures:
    """
    Departures by time of day.

    Attributes
    ----------
    times : tuple of (int, time)
        Days after the service date, and the time of day. The fold of a time says which of two readings is meant.
    window : int
        Seconds after each of them with a departure a minute; 0 for none.
    timezone : str
    """

    times: tuple[tuple[int, dt.time], ...]
    window: int
    timezone: str

    @classmethod
    def of(cls, departure_time: Any, window: Any, timezone: str) -> Departures:
        """
        Read the departure times of a call, of which the date of the first one is that of each day.

        Raises
        ------
        InputError, MomentError, LimitError
        """
        check_kind(departure_time, _NAME)
        length = 0 if window is None else whole(window, "window", 1, MAX_WINDOW_S, "seconds")
        if are_several(departure_time):
            moments = sorted(resolve_several(departure_time, timezone, name=_NAME), key=lambda each: each.timestamp())
            times = tuple(((each.date() - moments[0].date()).days, each.timetz()) for each in moments)
            times = tuple((later, time.replace(tzinfo=None)) for later, time in times)
        else:
            moment = resolve_moment(departure_time, timezone, name=_NAME)
            if moment is None:
                msg = "reliability needs departure_time, whose time of day is moved to each of the days"
                raise InputError(msg)
            time = dt.time(DEPARTURE_HOUR) if isinstance(moment, TypicalMoment) else moment.time()
            times = ((0, time),)
        found = cls(times, length, timezone)
        n_moments = len(times) * found._n_samples
        if n_moments > MAX_MOMENTS:
            msg = (
                f"departure_time and window have {n_moments:,} departures on each day, one a minute in a window, and a "
                f"call takes at most {MAX_MOMENTS:,}. Give fewer departure times or a shorter window"
            )
            raise LimitError(msg)
        return found

    @property
    def _n_samples(self) -> int:
        return max(1, -(-self.window // SAMPLE_S))

    def on(self, date: dt.date) -> tuple[dt.datetime, ...]:
        """
        Return the departures on a service date, ascending.

        Raises
        ------
        MomentError
            If one does not exist on this date, or is ambiguous, because the clocks change.
        """
        found: dict[float, dt.datetime] = {}
        for later, time in self.times:
            try:
                naive = dt.datetime.combine(date + dt.timedelta(days=later), time)
            except OverflowError:
                msg = f"days has the date {date}, and departures on it are after the end of the calendar"
                raise InputError(msg) from None
            moment = resolve_moment(naive, self.timezone, name=f"{_NAME} on {date}")
            assert isinstance(moment, dt.datetime)
            for step in range(self._n_samples):
                each = (moment.astimezone(dt.UTC) + dt.timedelta(seconds=SAMPLE_S * step)).astimezone(moment.tzinfo)
                found[each.timestamp()] = each
        return tuple(found[instant] for instant in sorted(found))
