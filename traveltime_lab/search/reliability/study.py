"""
The searches of a study of reliability, day by day.
"""

from __future__ import annotations

import datetime as dt
import functools
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

import traveltime_lab
from traveltime_lab._arrays import BoolArray, FloatArray, Int8Array, Int32Array
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.question import Question
from traveltime_lab.rounding import most_ms
from traveltime_lab.runtime.progress import advance, unwatched
from traveltime_lab.search.accessibility.exact_sums import ExactSums
from traveltime_lab.search.each_moment import found_at
from traveltime_lab.search.pair_times import pair_times
from traveltime_lab.search.query import Query, transit_of
from traveltime_lab.search.reliability.days import Departures, network_of
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.pairs import PairIndex, Pairs
from traveltime_lab.transit.realizable import Names, followed

#: The travel times of a departure, in this order.
KINDS: Final = ("planned", "observed", "realizable")
#: Number of travel times of one kind that are in memory at once where only sums of a day are kept (assumed).
_AT_ONCE: Final = 4_000_000


class DayTimes(NamedTuple):
    """
    Travel times of pairs on one day; see `traveltime_lab.transit.realizable.Followed`.

    Attributes
    ----------
    moments : tuple of datetime
    fingerprint : str
        Fingerprint of the network of the day.
    ms : int32 array of shape (n_kinds, n_moments, n_pairs), ms
        `NEVER` beyond the limit.
    transfers, missed, end : int8 arrays of shape (n_moments, n_pairs)
    is_possible : bool array of shape (n_moments, n_pairs)
    """

    moments: tuple[dt.datetime, ...]
    fingerprint: str
    ms: Int32Array
    transfers: Int8Array
    missed: Int8Array
    is_possible: BoolArray
    end: Int8Array


class DayAmounts(NamedTuple):
    """
    Amounts in reach on one day.

    Attributes
    ----------
    moments : tuple of datetime
    fingerprint : str
        Fingerprint of the network of the day.
    amounts : float64 array of shape (n_kinds, n_moments, n_columns, n_origins)
    """

    moments: tuple[dt.datetime, ...]
    fingerprint: str
    amounts: FloatArray


@dataclass(eq=False)
class DaysStudy:
    """
    The days of a study; the base of jobs whose parts are days, see `traveltime_lab.runtime.executors.Job`.

    Only the network of one day is alive at a time in each worker, if the days create it on access.

    Attributes
    ----------
    network : Network
        The planned one.
    days : mapping of date to Network
    dates : dict
        The key of each date in `days`, ascending.
    question : Question
        Its moment is not used.
    departures : Departures
    starts : Points
        Points where searches begin.
    """

    network: Network
    days: Mapping[Any, Network]
    dates: Mapping[dt.date, Any]
    question: Question
    departures: Departures
    starts: Points
    key: str = field(default_factory=lambda: uuid.uuid4().hex, kw_only=True)
    version: str = field(default=traveltime_lab.__version__, kw_only=True)

    @functools.cached_property
    def _names(self) -> Names:
        return Names(transit_of(self.network).timetable)

    def _day(self, part: int) -> tuple[dt.date, tuple[dt.datetime, ...], Network]:
        """Return the date of a part, the moments on it, and its network."""
        if self.version != traveltime_lab.__version__:
            msg = (
                f"a worker has traveltime_lab {traveltime_lab.__version__}, the calling process has {self.version}; "
                "install the same version on both"
            )
            raise InputError(msg)
        date, key = [*self.dates.items()][part]
        return date, self.departures.on(date), network_of(self.days, key, date, self.network)

    def _query(self, network: Network, moment: dt.datetime) -> Query:
        """Return the query to a network at a moment."""
        return Query.of(replace(self.question, moment=moment), network)


@dataclass(eq=False)
class Study(DaysStudy):
    """
    The days of a study of pairs.

    Attributes
    ----------
    ends : Points
    chosen : pair of intp arrays, optional
        See `traveltime_lab.streets.pairs.Pairs`.
    amounts : float64 array of shape (n_columns, n_ends), optional
        Amounts to sum up; by default the travel times of pairs are returned.
    """

    ends: Points
    chosen: PairIndex | None = None
    amounts: FloatArray | None = None

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a departure."""
        return len(self.starts) * len(self.ends) if self.chosen is None else self.chosen[0].size

    def make(self, part: int) -> DayTimes | DayAmounts:
        """Return what is found on a day."""
        _, moments, network = self._day(part)
        planned, pairs = self.planned(moments[0])
        day = self._query(network, moments[0])
        there = pairs
        if network.streets is not self.network.streets:
            there = Pairs(day.snap(self.starts), day.snap(self.ends, is_origin=False), self.chosen)
        if self.amounts is None:
            return self._times(planned, day, pairs, there, moments)
        return self._sums(planned, day, pairs, there, moments)

    def planned(self, moment: dt.datetime) -> tuple[Query, Pairs]:
        """Return the query at a moment to the planned network, and the pairs on its streets."""
        query = self._query(self.network, moment)
        return query, Pairs(query.snap(self.starts), query.snap(self.ends, is_origin=False), self.chosen)

    def _sums(
        self, planned: Query, day: Query, pairs: Pairs, there: Pairs, moments: tuple[dt.datetime, ...]
    ) -> DayAmounts:
        """Return the amounts in reach, a few origins at a time."""
        amounts = self.amounts
        assert amounts is not None
        n_origins, n_ends = len(self.starts), len(self.ends)
        found = np.zeros((len(KINDS), len(moments), len(amounts), n_origins))
        within = most_ms(self.question.limit)
        for rows in blocks(n_origins, n_ends * len(moments)):
            some = np.arange(rows.start, rows.stop)
            times = self._times(
                planned, day, Pairs(pairs.starts.take(some), pairs.ends), Pairs(there.starts.take(some), there.ends),
                moments,
            )  # fmt: skip
            for kind, moment in np.ndindex(len(KINDS), len(moments)):
                is_in_reach = times.ms[kind, moment].reshape(-1, n_ends) <= within
                for column, values in enumerate(amounts):
                    sums = ExactSums(some.size, n_ends, float(values.max()))
                    sums.add(np.where(is_in_reach, values, 0.0), slice(0, some.size), axis=1)
                    found[kind, moment, column, rows] = sums.totals()
        return DayAmounts(moments, day.network.fingerprint, found)

    def _times(
        self, planned: Query, day: Query, pairs: Pairs, there: Pairs, moments: tuple[dt.datetime, ...]
    ) -> DayTimes:
        """Return the travel times of pairs, snapped to the streets of both networks, at the moments of a day."""
        assert planned.transit is not None and day.transit is not None
        for moment in moments[1:]:
            planned.transit.layer.timetable.check_moment(moment)

        def search(query: Query) -> Int32Array:
            labels = pair_times(query, there, query.limit).labels
            return np.where(labels == UNREACHED, NEVER, label_parts.ms(labels)).astype(np.int32)

        with unwatched():
            observed = found_at(day, moments, search, len(there.starts))
        plans = followed(planned.transit, day.transit, pairs, moments, self._names, advance)
        ms = np.stack([plans.planned, np.stack(observed), plans.realizable])
        return DayTimes(
            moments, day.network.fingerprint, ms, plans.transfers, plans.missed, plans.is_possible, plans.end
        )


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield a few rows at a time."""
    step = max(1, _AT_ONCE // max(1, width))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))
