"""
The locations of a matrix request as arrays, and the targets of its searches as positions in them.

A request can name 100,000 places, so each pass over them counts, and what few requests need is built when one does.
Measured for that many, processor time: msgspec reads and checks the body in 50 to 90 ms, the arrays and the set of ids
take 25 ms, and the structs of an answer are built and encoded in 30 ms.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from traveltime_lab._arrays import Int64Array
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.server.contract.decode import is_faulty
from traveltime_lab.server.contract.errors import shown
from traveltime_lab.server.contract.requests import LocatedRequest, LocatedSearch, Location
from traveltime_lab.server.contract.responses import Properties
from traveltime_lab.server.contract.rules import Report, iter_searches

_UNKNOWN = "must be the id of a location of this request; got {!r}"


class Reached(msgspec.Struct, gc=False):
    """A reachable place; `properties` is one object, or a list of them."""

    id: str
    properties: Properties | Sequence[Properties]


class Places:
    """
    The locations of one request.

    Attributes
    ----------
    ids : list of str
    lat, lng : float64 arrays of shape (n,)
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.lat = self.lng = np.empty(0)
        self._known: set[str | UnsetType] = set()
        self._targets: dict[int, Int64Array] = {}

    def check(self, request: LocatedRequest, report: Report) -> None:
        """Index the locations; report ids that occur twice and searches that name unknown ones."""
        locations = request.locations
        if is_faulty(locations):
            return
        # As `is_faulty`, which would be called 100,000 times; types do not say that a location may have faults.
        faulty: object = UNSET
        whole = [location for location in locations if location is not faulty]
        self.ids = [location.id for location in whole]
        self._known = set(self.ids)
        if len(self._known) != len(whole):
            _report_twins(locations, report)
        has_faults = len(whole) < len(locations) or UNSET in self._known
        for path, search in iter_searches(request):
            checkpoint()
            if isinstance(search, LocatedSearch):
                self._check_search(path, search, None if has_faults else report)
        # Requests with faults have no answer that would need the coordinates.
        with contextlib.suppress(AttributeError, TypeError):
            self.lat = np.fromiter((location.coords.lat for location in whole), np.float64, len(whole))
            self.lng = np.fromiter((location.coords.lng for location in whole), np.float64, len(whole))

    @cached_property
    def _position(self) -> dict[str, int]:
        """The position of each id."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    def _at(self, name: str) -> int:
        """Return the position of an id. Searches from the first or last place to all others in order need no index."""
        first, last = self.ids[:2], len(self.ids) - 1
        if name in first:
            return first.index(name)
        return last if self.ids[last] == name else self._position[name]

    def _check_search(self, path: str, search: LocatedSearch, report: Report | None) -> None:
        """Find the targets of a search; without `report` unknown ids are not faults but consequences of others."""
        own, values = search.own_id, search.target_ids
        if report and isinstance(own, str) and own not in self._known:
            report(f"{path}.{search.own_field}", _UNKNOWN.format(shown(own)))
        if is_faulty(values):
            return
        found = self._find(values)
        if found is not None:
            self._targets[id(search)] = found
        elif report:
            for i, value in enumerate(values):
                if not is_faulty(value) and value not in self._known:
                    report(f"{path}.{search.targets_field}[{i}]", _UNKNOWN.format(shown(value)))

    def _find(self, values: list[str]) -> Int64Array | None:
        """Return the positions of ids, each once; None if one is unknown."""
        if not values or values[0] not in self._known:
            return None
        # Most clients list the locations in their order, with the search's own place before them.
        first = self._at(values[0])
        if self.ids[first : first + len(values)] == values:
            return np.arange(first, first + len(values))
        try:
            found = np.fromiter(map(self._position.__getitem__, values), np.int64, len(values))
        except KeyError:
            return None
        return once(found)

    def targets(self, search: LocatedSearch) -> Int64Array:
        """Return the positions of the targets of a search, in its order, each once."""
        return self._targets[id(search)]

    def names(self, positions: Int64Array) -> list[str]:
        """Return the ids at positions."""
        if positions.size and positions[-1] - positions[0] + 1 == positions.size and (np.diff(positions) == 1).all():
            return self.ids[positions[0] : positions[-1] + 1]
        return [self.ids[i] for i in positions.tolist()]

    def origin(self, search: LocatedSearch) -> int:
        """Return the position of the place that all trips of a search begin or end at."""
        return self._at(search.own_id)


def once(positions: Int64Array) -> Int64Array:
    """Return positions without repetitions, each where it occurs first."""
    if positions.size < 2 or (np.diff(positions) > 0).all():
        return positions
    _, firsts = np.unique(positions, return_index=True)
    return positions if firsts.size == positions.size else positions[np.sort(firsts)]


def _report_twins(locations: list[Location], report: Report) -> None:
    """Report ids that occur twice."""
    seen: set[str] = set()
    for i, location in enumerate(locations):
        if is_faulty(location) or is_faulty(location.id):
            continue
        if location.id in seen:
            report(f"obj.locations[{i}].id", f"must be unique in locations; got {shown(location.id)!r} twice")
        seen.add(location.id)
