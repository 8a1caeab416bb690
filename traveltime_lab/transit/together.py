"""
Search many moments of a call together: one trip table and one range search for those that are close to each other.

Rows of a range search equal those of single searches (`traveltime_lab.transit.raptor`), and so do those of a trip table
of more hours, as travel times depend on the trips within the limit only. Journeys may differ where several are equally
fast, so that routes and lengths are searched one moment after the other, in the table of its hours.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from traveltime_lab._arrays import IndexArray, Int32Array, Int64Array, unique_values
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.question import Question
from traveltime_lab.runtime.shared import Sharing, shared_by
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.raptor import TransitSearch

if TYPE_CHECKING:
    from traveltime_lab.transit.egress_side import EgressSide

#: Longest interval of a trip table for several moments in seconds: a day and what is before and after (assumed).
_LONGEST_S: Final = 36 * 3600
#: Values that the searches of one group of moments hold.
_MOST_VALUES: Final = 32_000_000

_T = TypeVar("_T")


def question_without_moment(query: TransitQuery) -> Question:
    """Return what the questions of all moments of a call have in common."""
    return replace(query.question, moment=None)


@dataclass(frozen=True, eq=False)
class Group:
    """Some moments of a call, in ascending order, and their POSIX seconds."""

    moments: tuple[dt.datetime, ...]
    instants: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Together:
    """
    Moments that are searched together.

    Attributes
    ----------
    query : TransitQuery
        The query for one of them.
    sharing : Sharing
    group : Group
        The same object for all of them.
    common : Question
        The part that the questions of all moments have in common.
    """

    query: TransitQuery
    sharing: Sharing
    group: Group
    common: Question

    @classmethod
    def of(cls, query: TransitQuery, n_values: int) -> Together | None:
        """
        Return the moments that are searched together with that of a query; None if it is searched alone.

        Parameters
        ----------
        query : TransitQuery
        n_values : int
            Values to be kept of a departure from one point.
        """
        sharing = shared_by()
        if sharing is None or not sharing.has(query.moment) or not query.has_exact_headways:
            return None
        sharing.begin(query.moment)
        most = _MOST_VALUES // max(1, n_values * query.n_samples * sharing.n_points)
        if most <= 1:
            return None
        common = question_without_moment(query)
        key = ("moments together", common, most, query.access_key)
        groups = sharing.of(key, (query.layer,), lambda: _groups(query, sharing.moments, most))
        return cls(query, sharing, groups[query.moment.timestamp()], common)

    def search(self) -> TransitSearch:
        """Return the search of the hours of all moments."""
        return self._kept(("table",), (), lambda: self.query.search(self.group.moments))

    def departures(self, search: TransitSearch) -> tuple[Int64Array, dict[float, IndexArray]]:
        """
        Return what is searched at all moments.

        Returns
        -------
        departures : int64 array of shape (n,), ms
            Departures, or arrivals, after the reference of the search; ascending.
        positions : dict of float to int array
            Those of each moment, by its POSIX seconds.
        """

        def of_all() -> tuple[Int64Array, dict[float, IndexArray]]:
            each = [self.query.asking(moment=moment).samples(search) for moment in self.group.moments]
            distinct = unique_values(np.concatenate(each))
            return distinct, dict(
                zip(self.group.instants, (np.searchsorted(distinct, one) for one in each), strict=True)
            )

        return self._kept(("departures",), (), of_all)

    def stop_times(self, links: StopLinks) -> Int32Array:
        """Return the rows of `TransitSearch.stop_times_by_moment` from a point, of this moment or its samples."""

        def rows(search: TransitSearch, departures: Int64Array) -> Int32Array:
            return search.stop_times_by_moment(
                links.of(0), departures, self.query.options, is_arrival=self.query.is_arrival
            )

        return self._mine("stops", (links,), 0, rows)

    def times(self, links: StopLinks, point: int, there: EgressSide) -> Int32Array:
        """Return the travel times from a point to those of the egress side, of this moment or its samples."""

        def rows(search: TransitSearch, departures: Int64Array) -> Int32Array:
            at_stops = search.stop_times_by_moment(
                links.of(point), departures, self.query.options, is_arrival=self.query.is_arrival
            )
            return there.read_all(at_stops)

        return self._mine("points", (links, there), point, rows)

    def _mine(
        self,
        name: str,
        objects: tuple[object, ...],
        point: int,
        rows: Callable[[TransitSearch, Int64Array], Int32Array],
    ) -> Int32Array:
        """Return the rows of this moment out of those of all, which are searched once."""
        search = self.search()
        departures, positions = self.departures(search)
        known = self._kept(("times", name, point), objects, lambda: rows(search, departures))
        return known[positions[self.query.moment.timestamp()]]

    def _kept(self, key: tuple[Hashable, ...], objects: tuple[object, ...], build: Callable[[], _T]) -> _T:
        """Return a value of all these moments, which is kept until the last of them was searched."""
        # The group is found by its number: a key of all its moments would take longer, the more there are.
        objects = (self.query.layer, self.group, *objects)
        return self.sharing.of((*key, self.common), objects, build, until=self.group.instants[-1])


def _groups(query: TransitQuery, moments: Sequence[dt.datetime], most: int) -> dict[float, Group]:
    """
    Return the moments that share a trip table with each moment whose links are those of the query, by POSIX seconds.

    Hours of neighbours overlap or meet, so that no trip instance is built more often than for single moments.

    Parameters
    ----------
    query : TransitQuery
    moments : sequence of datetime
        In ascending order.
    most : int
        Largest number of moments in a group.
    """
    if not query.is_walked_to:
        # Links by car or bicycle differ where the streets do.
        key = query.access_key
        moments = [moment for moment in moments if query.asking(moment=moment).access_key == key]
    groups: list[list[dt.datetime]] = []
    begin = end = 0
    for moment in moments:
        first, last = query.asking(moment=moment).hours
        if groups and first <= end and last - begin <= _LONGEST_S and len(groups[-1]) < most:
            groups[-1].append(moment)
        else:
            groups.append([moment])
            begin = first
        end = last
    found = [Group(tuple(group), tuple(moment.timestamp() for moment in group)) for group in groups]
    return {instant: group for group in found for instant in group.instants}
