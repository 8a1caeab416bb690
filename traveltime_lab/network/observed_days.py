"""
Networks of past service days, with what was observed on them.
"""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from traveltime_lab._checks import one_of, whole
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network
from traveltime_lab.realtime.archives.archive import Archive, read_archive
from traveltime_lab.realtime.archives.day import DayMessages
from traveltime_lab.realtime.archives.gaps import GAPS
from traveltime_lab.realtime.archives.plan import Rules
from traveltime_lab.realtime.runs import MOST_DELAY_S
from traveltime_lab.realtime.updates import check_planned

UNOBSERVED = ("planned", "drop")


class ObservedDays(Mapping[dt.date, Network]):
    """
    The networks of past service days by date; see `observed_days`.

    A mapping from dates to networks. A network is created when its date is looked up, and again if it has been dropped
    since.
    """

    def __init__(self, network: Network, archive: Archive, rules: Rules) -> None:
        self._network, self._archive, self._rules = network, archive, rules
        self._dates = {dt.date.fromordinal(date): date for date in archive.dates}
        self._alive: weakref.WeakValueDictionary[int, Network] = weakref.WeakValueDictionary()
        self._facts: dict[int, Any] = {}
        self._digest: str | None = None

    def __len__(self) -> int:
        """Return the number of days."""
        return len(self._dates)

    def __iter__(self) -> Iterator[dt.date]:
        """Iterate over the dates, in order."""
        return iter(self._dates)

    def __contains__(self, key: object) -> bool:
        """Return whether there are observations of a date."""
        try:
            return _date_of(key) in self._dates
        except InputError:
            return False

    def __getitem__(self, key: Any) -> Network:
        """Return the network of a date, given as a date, a Timestamp or a text such as "2016-05-19"."""
        date = _date_of(key)
        if date not in self._dates:
            raise KeyError(key)
        ordinal = self._dates[date]
        network = self._alive.get(ordinal)
        if network is None:
            messages = DayMessages(self._archive.store, self._rules_of(ordinal), lambda plan, rows: None)
            network = self._network._with_messages(messages)
            self._alive[ordinal] = network
        return network

    def _rules_of(self, date: int) -> Rules:
        rules = self._rules
        return Rules(date, rules.gaps, rules.unobserved, rules.max_delay)

    def __repr__(self) -> str:
        """Return the dates in one line."""
        dates = [*self._dates]
        if len(dates) == 1:
            return f"<ObservedDays: 1 day, {dates[0]}>"
        return f"<ObservedDays: {len(dates):,} days, {dates[0]} to {dates[-1]}>"

    @property
    def digest(self) -> str:
        """Hash of the content of the archive and of the options, in hexadecimal digits."""
        if self._digest is None:
            self._digest = self._archive.store.digest()
        return self._digest


def _date_of(key: Any) -> dt.date:
    if isinstance(key, dt.datetime):
        return key.date()
    if isinstance(key, dt.date):
        return key
    try:
        moment = pd.Timestamp(key)
    except (TypeError, ValueError):
        moment = pd.NaT
    if moment is pd.NaT or (not isinstance(key, str | pd.Timestamp) and not hasattr(key, "astype")):
        raise InputError(f"the key of a day must be a date such as '2016-05-19'; got {key!r}")
    date: dt.date = moment.date()
    return date


def observed_days(
    network: Network,
    archive: Any,
    *,
    columns: Mapping[str, str] | None = None,
    gaps: str = "interpolate",
    unobserved: str = "planned",
    max_delay: int = MOST_DELAY_S,
    feed: str | None = None,
) -> ObservedDays:
    """
    Return the networks of past service days, with what was observed on them.

    An archive is what was kept of the live updates of a timetable: snapshots of GTFS Realtime messages, or tables of
    observed stop times. Each network answers as `network` does, with the observed times of that service date.

    Parameters
    ----------
    network : Network
        With the timetable that was in force on these days.
    archive : path-like, bytes, DataFrame, iterable of these, or dict
        A folder, a zip or tar file, or a list: snapshots with updates of trips, in Protocol Buffers, also packed with
        gzip, or in JSON; and tables in Parquet or CSV, also packed, with a row for each call or for each arrival and
        departure. A dict has the archives of several agencies by the name of their GTFS feed.
    columns : dict of str to str, optional
        Names of columns of tables, where they are not among those that are found without: keys are ``trip_id``,
        ``date`` (service date), ``start_time``, ``route_id``, ``stop_sequence``, ``stop_id``, ``arrival``,
        ``departure``, ``arrival_delay`` and ``departure_delay`` (s), or ``event`` (arrival or departure), ``observed``
        and ``scheduled``.
    gaps : {"interpolate", "planned", "drop", "propagate"}, default "interpolate"
        Times of calls that were not observed. ``"interpolate"``: the delay is linear in the planned time between two
        observed events; before the first and after the last one it is theirs. ``"planned"``: the timetable holds.
        ``"drop"``: trips with such calls are left out. ``"propagate"``: as `Network.with_updates` does, the delay of
        one event holds up to the next, and the timetable before the first.
    unobserved : {"planned", "drop"}, default "planned"
        Trips of the day about which the archive says nothing run as planned, or are left out; the latter only for GTFS
        feeds of which other trips were observed.
    max_delay : int, default 86400
        Delays, early or late, of more seconds are mistakes, which are counted and not used.
    feed : str, optional
        Name of the GTFS feed that the archive is about, where feeds have equal ids. Default: any feed that has the ids.

    Returns
    -------
    ObservedDays
        A mapping from dates to networks.

    Raises
    ------
    InputError
        If there is no timetable or one saved with updates; if the archive is something else or has nothing; if a table
        lacks columns, or an option is something else.
    DataError
        If nothing in the archive can be read, or no trip of it is in the timetable.
    MissingFileError, FileAccessError
        If a file or folder does not exist or cannot be looked at.

    Warns
    -----
    UserWarning
        If fewer than half of the runs of the archive are in the timetable.

    See Also
    --------
    Network.with_updates : Apply the live updates of a moment.

    Notes
    -----
    The last known time of each arrival and departure counts: that of the latest snapshot that has it, before the stop
    vanishes from the messages, or of the last row. It may be a prediction that nothing has confirmed.

    Examples
    --------
    >>> import pandas as pd
    >>> network = tl.sample_network()
    >>> trips = network.trips_frame(date="2019-05-14").trip_id
    >>> late = pd.DataFrame(
    ...     {
    ...         "trip_id": trips.iloc[:100],
    ...         "date": "2019-05-14",
    ...         "stop_sequence": 1,
    ...         "departure_delay": 120,
    ...     }
    ... )
    >>> days = tl.observed_days(network, late)
    >>> days
    <ObservedDays: 1 day, 2019-05-14>
    >>> days["2019-05-14"].updates
    <Updates: 100 of 100 trips applied, 0 alerts>
    """
    check_planned(network.timetable, network.tables.report)
    planned = network._planned or network
    assert planned.timetable is not None
    one_of(gaps, "gaps", GAPS)
    one_of(unobserved, "unobserved", UNOBSERVED)
    most = whole(max_delay, "max_delay", 1, 7 * 86_400, "seconds")
    read = read_archive(planned.timetable, archive, feed, columns or {})
    return ObservedDays(planned, read, Rules(0, gaps, unobserved, most))
