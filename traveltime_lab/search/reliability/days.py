"""
The days of a study: networks by service date, and the departures on each of them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from traveltime_lab._checks import whole
from traveltime_lab.errors import InputError, LimitError, MomentError
from traveltime_lab.limits import MAX_MOMENTS, MAX_WINDOW_S
from traveltime_lab.moment_lists import are_several, check_kind, resolve_several
from traveltime_lab.moments import TypicalMoment, resolve_moment
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.transit.query import ARRIVAL_HOUR, DEPARTURE_HOUR, SAMPLE_S
from traveltime_lab.transit.realizable import feed_numbers


def check_days(days: Any) -> dict[dt.date, Any]:
    """
    Return the key of each date of the days, by ascending date.

    Raises
    ------
    InputError
        If the days are no mapping of dates, or there are none, or one is there twice.
    """
    if not isinstance(days, Mapping):
        msg = (
            "days must map service dates to networks, as observed_days(...) or "
            f"{{datetime.date(2026, 1, 31): network.with_updates(...)}} do; got {type(days).__name__}"
        )
        raise InputError(msg)
    found: dict[dt.date, Any] = {}
    for key in days:
        date = _date_of(key)
        if date in found:
            msg = f"days has the date {date} twice, as {found[date]!r} and {key!r}; give it once"
            raise InputError(msg)
        found[date] = key
    if not found:
        msg = "days is empty; give at least one service date with its network"
        raise InputError(msg)
    return dict(sorted(found.items()))


def _date_of(key: Any) -> dt.date:
    """Return a key of days as a date: a date, midnight, or a text in ISO 8601."""
    try:
        if isinstance(key, str | np.datetime64):
            moment: Any = dt.datetime.fromisoformat(key.strip()) if isinstance(key, str) else pd.Timestamp(key)
        else:
            moment = key
        # NaT is a datetime, too, and differs from itself.
        is_date = isinstance(moment, dt.date) and moment == moment
        if is_date and (not isinstance(moment, dt.datetime) or moment.time() == dt.time()):
            return dt.date(moment.year, moment.month, moment.day)
    except ValueError:
        pass
    msg = f"the keys of days must be dates such as datetime.date(2026, 1, 31) or '2026-01-31'; got {key!r}"
    raise InputError(msg)


def about_days(days: Mapping[Any, Network], fingerprints: Sequence[str]) -> dict[str, Any]:
    """
    Return what the receipt of a study says about its days.

    These are the dates, the fingerprints of their networks, and the attribute `digest` of the days if they have one,
    such as the hash of an archive.
    """
    digest = getattr(days, "digest", None)
    return {
        "dates": [date.isoformat() for date in check_days(days)],
        **({"digest": digest} if isinstance(digest, str) else {}),
        "fingerprints": list(fingerprints),
    }


def planned_of(network: Network) -> Network:
    """
    Return the planned network of one that may have live updates.

    Raises
    ------
    InputError
        If the network was saved with updates.
    """
    if network.timetable is not None and "updates" in network.tables.report:
        msg = (
            "reliability needs the planned timetable; this network was saved with updates. "
            "Give the network without updates"
        )
        raise InputError(msg)
    return network._planned or network


def network_of(days: Mapping[Any, Network], key: Any, date: dt.date, planned: Network) -> Network:
    """
    Return the network of a day, by the key of its date.

    Raises
    ------
    InputError
        If it is no network with a timetable, or its time zone or the names of its feeds are not those of the planned
        network.
    """
    network = days[key]
    name = f"days[{date.isoformat()}]"
    check_network(network, name)
    if network.transit is None:
        msg = f"{name} has no timetable; give networks such as those of with_updates or build_network(..., gtfs=[...])"
        raise InputError(msg)
    if network.timezone != planned.timezone:
        msg = f"{name} has the time zone {network.timezone}, the planned network has {planned.timezone}"
        raise InputError(msg)
    assert network.timetable is not None and planned.timetable is not None
    if feed_numbers(planned.timetable, network.timetable) is None:
        listed = (", ".join(each.feeds["name"].astype(str)) for each in (network.timetable, planned.timetable))
        msg = (
            "{} has the feeds {}, the planned network has {}. Several feeds are matched by name: give their files the "
            "same names, each once"
        ).format(name, *listed)
        raise InputError(msg)
    return network


@dataclass(frozen=True)
class Departures:
    """
    Departures by time of day.

    Attributes
    ----------
    times : tuple of (int, time)
        Days after the service date, and the time of day. The fold of a time says which of two readings is meant where
        the clocks go back.
    window : int
        Seconds after each of them with a departure a minute; 0 for none. Arrivals are before each of them.
    timezone : str
    name : {"departure_time", "arrival_time"}
    """

    times: tuple[tuple[int, dt.time], ...]
    window: int
    timezone: str
    name: str = "departure_time"

    @classmethod
    def of(cls, given: Any, window: Any, timezone: str, name: str = "departure_time") -> Departures:
        """
        Read the departure, or arrival, times of a call, of which the date of the first one is that of each day.

        Raises
        ------
        InputError, MomentError, LimitError
        """
        check_kind(given, name)
        length = 0 if window is None else whole(window, "window", 1, MAX_WINDOW_S, "seconds")
        if are_several(given):
            moments = sorted(resolve_several(given, timezone, name=name), key=lambda each: each.timestamp())
            times = tuple(((each.date() - moments[0].date()).days, each.timetz()) for each in moments)
            times = tuple((later, time.replace(tzinfo=None)) for later, time in times)
        else:
            moment = resolve_moment(given, timezone, name=name)
            if moment is None:
                msg = "reliability needs departure_time, whose time of day is moved to each of the days"
                raise InputError(msg)
            typical = DEPARTURE_HOUR if name == "departure_time" else ARRIVAL_HOUR
            time = dt.time(typical) if isinstance(moment, TypicalMoment) else moment.time()
            times = ((0, time),)
        found = cls(times, length, timezone, name)
        n_moments = len(times) * found._n_samples
        if n_moments > MAX_MOMENTS:
            msg = (
                f"{name} and window have {n_moments:,} moments on each day, one a minute in a window, and a call takes "
                f"at most {MAX_MOMENTS:,}. Give fewer times of day or a shorter window"
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
            If one does not exist on this date, because the clocks go forward.
        """
        found: dict[float, dt.datetime] = {}
        zone = ZoneInfo(self.timezone)
        for later, time in self.times:
            try:
                naive = dt.datetime.combine(date + dt.timedelta(days=later), time)
            except OverflowError:
                msg = f"days has the date {date}, and departures on it are after the end of the calendar"
                raise InputError(msg) from None
            moment = resolve_moment(naive.replace(tzinfo=zone), self.timezone, name=f"{self.name} on {date}")
            assert isinstance(moment, dt.datetime)
            instant = moment.astimezone(dt.UTC)
            if instant.astimezone(zone).replace(tzinfo=None) != naive:
                msg = (
                    f"{self.name} on {date}: {naive.isoformat()} does not exist in {self.timezone}, where the clocks "
                    "go forward then. Leave this date out of days, or give a different time of day"
                )
                raise MomentError(msg)
            for step in range(self._n_samples):
                seconds = SAMPLE_S * (step if self.name == "departure_time" else -step)
                each = (instant + dt.timedelta(seconds=seconds)).astimezone(zone)
                found[each.timestamp()] = each
        return tuple(found[instant] for instant in sorted(found))
