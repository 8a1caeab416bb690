"""
Networks of past service days, with what was observed on them.
"""

from __future__ import annotations

import copy
import datetime as dt
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from traveltime_lab._arrays import Int64Array
from traveltime_lab._checks import items, one_of, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.network.observed_figure import figure
from traveltime_lab.realtime.archives.archive import Archive, read_archive
from traveltime_lab.realtime.archives.dates import feed_numbers
from traveltime_lab.realtime.archives.day import DayMessages
from traveltime_lab.realtime.archives.facts import KEYS, DayFacts, counted, delay_rows, summary
from traveltime_lab.realtime.archives.gaps import GAPS
from traveltime_lab.realtime.archives.plan import MOST_OFF_S, ObservedPlan, Rules
from traveltime_lab.realtime.archives.tables import check_columns
from traveltime_lab.realtime.updates import check_planned
from traveltime_lab.transit.timetable import Timetable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNOBSERVED = ("planned", "drop")


class ObservedDays(Mapping[dt.date, Network]):
    """
    The networks of past service days by date; see `observed_days`.

    A mapping from dates to networks. A network is created when its date is looked up, and again if it has been dropped
    since. It also has what was observed in the nights before and after: of trips of the service date before that end
    after 18:00, and of those of the date after that begin before 06:00, where the archive has these dates.

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
    >>> [str(date) for date in days]
    ['2019-05-14']
    >>> days["2019-05-14"].updates
    <Updates: 100 of 100 trips applied, 0 alerts>
    >>> days.quality()[["date", "trips_observed", "calls_filled"]]
            date  trips_observed  calls_filled
    0 2019-05-14             100          5427
    >>> days.findings().empty
    True
    >>> days.delays("date")[["date", "calls", "median", "on_time"]]
            date  calls  median  on_time
    0 2019-05-14    100   120.0      1.0
    """

    def __init__(self, network: Network, archive: Archive, rules: Rules) -> None:
        self._network, self._archive, self._rules = network, archive, rules
        self._dates = {dt.date.fromordinal(date): date for date in archive.dates}
        self._alive: weakref.WeakValueDictionary[int, Network] = weakref.WeakValueDictionary()
        self._facts: dict[int, DayFacts] = {}
        self._digest: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for a pickle; networks are created again."""
        return {**self.__dict__, "_alive": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        self.__dict__.update(state, _alive=weakref.WeakValueDictionary())

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

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the network of a date, or a default if there are no observations of it."""
        try:
            return super().get(key, default)
        except InputError:
            return default

    def __getitem__(self, key: Any) -> Network:
        """Return the network of a date, given as a date, a Timestamp or a text such as "2016-05-19"."""
        date = _date_of(key)
        if date not in self._dates:
            raise KeyError(key)
        ordinal = self._dates[date]
        network = self._alive.get(ordinal)
        if network is None:
            network = self._network._with_messages(self._messages(ordinal, has_nights=True))
            self._alive[ordinal] = network
        return network

    def select(self, dates: Sequence[Any]) -> ObservedDays:
        """
        Return some of the days.

        Nothing is read again: networks, `digest` and options are shared, and the nights around a day have the
        observations of the dates that are left out.

        Parameters
        ----------
        dates : sequence of date, Timestamp or str
            In any order; a `pandas.DatetimeIndex` is one, too.

        Returns
        -------
        ObservedDays

        Raises
        ------
        InputError
            If there are no observations of a date, or none is given.

        Examples
        --------
        >>> import pandas as pd
        >>> network = tl.sample_network()
        >>> trips = network.trips_frame(date="2019-05-14").trip_id
        >>> late = pd.DataFrame(
        ...     {
        ...         "trip_id": trips.iloc[0],
        ...         "date": ["2019-05-14", "2019-05-15"],
        ...         "stop_sequence": 1,
        ...         "departure_delay": 120,
        ...     }
        ... )
        >>> days = tl.observed_days(network, late)
        >>> days.select([day for day in days if day.day > 14])
        <ObservedDays: 1 day, 2019-05-15>
        """
        chosen = {_date_of(key) for key in items(dates, "dates", "dates")}
        if unknown := sorted(chosen - {*self._dates}):
            raise InputError(f"dates has {unknown[0]}, of which there are no observations; there are {self!r}")
        if not chosen:
            raise InputError("dates must have at least one date; got none")
        found = copy.copy(self)
        found._dates = {day: date for day, date in self._dates.items() if day in chosen}
        found._alive, found._facts = self._alive, self._facts
        return found

    def _on(self, network: Network | None) -> ObservedDays:
        """Return the same days of an equal network, such as one that a worker opens; without any for a pickle."""
        found = copy.copy(self)
        found.__dict__.update(_network=network, _alive=weakref.WeakValueDictionary(), _facts={})
        return found

    def _inputs(self) -> dict[str, Any]:
        """Return what the networks depend on besides the planned one, as values of JSON."""
        rules = self._rules
        how = {"gaps": rules.gaps, "unobserved": rules.unobserved, "max_delay": rules.max_delay}
        return {"archive": self.digest, **how}

    def _messages(self, date: int, *, has_nights: bool = False) -> DayMessages:
        """Return the observations of a date, and of the nights before and after it."""
        near = tuple(each for each in (date - 1, date + 1) if has_nights and each in self._archive.dates)
        rules = replace(self._rules, date=date, around=near)
        return DayMessages(self._archive.store, rules, self._note, self._timetable)

    def _note(self, plan: ObservedPlan, rows: Int64Array) -> None:
        """Keep what is known about a day, when a network of it is created."""
        if plan.timetable is self._network.timetable:
            self._facts.setdefault(plan.rules.date, DayFacts.of(plan, rows))

    def _facts_of(self, date: int) -> DayFacts:
        if date not in self._facts:
            messages, timetable = self._messages(date), self._timetable
            feeds = feed_numbers(timetable, messages.sources["feed"].tolist())
            messages.plan(timetable, feeds[messages.trips.source], messages)
        return self._facts[date]

    @property
    def _timetable(self) -> Timetable:
        assert self._network.timetable is not None
        return self._network.timetable

    def __repr__(self) -> str:
        """Return the dates in one line."""
        dates = [*self._dates]
        if len(dates) == 1:
            return f"<ObservedDays: 1 day, {dates[0]}>"
        return f"<ObservedDays: {len(dates):,} days, {dates[0]} to {dates[-1]}>"

    @property
    def digest(self) -> str:
        """
        Hash of what the archive says about runs and calls, in hexadecimal digits.

        The order of files and their packing do not matter, unless messages of the same second differ; options do not,
        either. Receipts of searches on a day have the `fingerprint` of its network, which depends on the options, too.

        Returns
        -------
        str
        """
        if self._digest is None:
            self._digest = self._archive.store.digest()
        return self._digest

    def quality(self) -> pd.DataFrame:
        """
        Return how well the archive covers each day.

        Returns
        -------
        DataFrame
            One row for each date, with these columns:

            - ``date`` (datetime64): service date.
            - ``trips_planned``, ``trips_observed``, ``share_observed``: trips of the timetable on that date, those with
              an observation that is used, and their share. Trips with frequencies count once.
            - ``trips_canceled``, ``trips_added``, ``trips_dropped``: the latter by ``gaps`` or ``unobserved``.
            - ``runs``, ``runs_matched``, ``share_matched``: runs of the archive, and those that are in the timetable
              or new.
            - ``rows_unmatched``: stop updates, or rows, about the other runs.
            - ``calls_observed``, ``calls_filled``, ``calls_skipped``: calls of observed trips with an observed time,
              without one (see ``gaps``), and those at which the vehicle did not stop.
            - ``events_too_far``, ``events_decreasing``: times that are not used, as they are beyond ``max_delay`` or
              decrease along the trip.

        Notes
        -----
        The first call takes seconds for each day of a large city.
        """
        rows = []
        for date in self._dates.values():
            numbers = self._facts_of(date).numbers
            rows.append({"date": date, **numbers})
        found = pd.DataFrame(rows)
        found["date"] = pd.to_datetime(found["date"] - 719_163, unit="D")
        for name, part, whole_of in (
            ("share_observed", "trips_observed", "trips_planned"), ("share_matched", "runs_matched", "runs"),
        ):  # fmt: skip
            share = found[part] / found[whole_of].where(found[whole_of] > 0)
            found.insert(found.columns.get_loc(part) + 1, name, share)
        return found

    def findings(self) -> pd.DataFrame:
        """
        Return what could not be used, and why.

        Returns
        -------
        DataFrame
            Columns are ``date`` (NaT for whole files), ``file``, ``what`` is counted (``"files"``, ``"rows"``,
            ``"runs"``, ``"trips"``, ``"calls"`` or ``"events"``), ``reason``, ``count``, and ``rows``, the number of
            stop updates or rows that are about them.
        """
        rows: list[tuple[Any, str, str, str, int, int]] = []
        for (date, file, what, reason), n in self._archive.findings.items():
            is_left_out = date in self._archive.dates and date not in self._dates.values()
            if is_left_out:
                continue
            rows.append((None if date is None else dt.date.fromordinal(date), file, what, reason, n, n))
        for day, date in self._dates.items():
            own = sorted(self._facts_of(date).findings, key=lambda each: -each[2])
            rows += [(day, "", what, reason, n, n_rows) for what, reason, n, n_rows in own]
        return counted(rows)

    def delays(self, by: str | Sequence[str] = ("route_id", "hour")) -> pd.DataFrame:
        """
        Return the delays of observed calls.

        Parameters
        ----------
        by : str or sequence of str, default ("route_id", "hour")
            Groups: ``"date"``, ``"weekday"`` (0 is Monday), ``"hour"`` (of the planned departure on the service date;
            25 is one o'clock in the following night), ``"feed"``, ``"route_id"``, ``"route_short_name"``,
            ``"direction_id"``, ``"stop_id"``, ``"stop_sequence"``, ``"trip_id"``; none for all calls.

        Returns
        -------
        DataFrame
            One row for each group: its columns, ``calls``, ``mean``, ``median``, ``p80`` and ``p95`` (s, negative if
            early), and ``on_time``, the share of calls at most a minute early and five minutes late (assumed, as many
            agencies do). The delay of a call is that of its departure, if it was observed, or else of its arrival.

        Raises
        ------
        InputError
            If a group is something else.
        """
        keys = (by,) if isinstance(by, str) else items(by, "by", "names of columns")
        for key in keys:
            one_of(key, "by", KEYS)
        if len({*keys}) < len(keys):
            raise InputError(f"by has a name twice: {', '.join(keys)}")
        timetable = self._timetable
        parts = [delay_rows(timetable, date, self._facts_of(date), keys) for date in self._dates.values()]
        return summary(timetable, pd.concat(parts, ignore_index=True), keys)

    def plot(self) -> Figure:
        """
        Draw the trips observed by date, the delays by hour, and the median delay by route and hour.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        return figure(self.quality(), self.delays("hour"), self.delays(("route_id", "route_short_name", "hour")))


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


@explained_keywords
def observed_days(
    network: Network,
    archive: Any,
    *,
    columns: Mapping[str, str] | None = None,
    gaps: Literal["interpolate", "planned", "drop", "propagate"] = "interpolate",
    unobserved: Literal["planned", "drop"] = "planned",
    max_delay: int = MOST_OFF_S,
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
    max_delay : int, default 43200
        Delays, early or late, of more seconds are mistakes, which are counted and not used. At most half a day: times
        farther away are nearer to the run of another day.
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
        If fewer than half of the runs of the archive are in the timetable, or the first or last day has less than a
        tenth of the runs of the day with the most, as the archive begins or ends in it; see `ObservedDays.select`.

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
    check_network(network)
    check_planned(network.timetable, network.tables.report)
    planned = network._planned or network
    assert planned.timetable is not None
    one_of(gaps, "gaps", GAPS)
    one_of(unobserved, "unobserved", UNOBSERVED)
    most = whole(max_delay, "max_delay", 1, MOST_OFF_S, "seconds")
    if feed is not None and not isinstance(feed, str):
        raise InputError(f"feed must be the name of a feed; got {feed!r}")
    read = read_archive(planned.timetable, archive, feed, check_columns(columns))
    return ObservedDays(planned, read, Rules(0, gaps, unobserved, most))
