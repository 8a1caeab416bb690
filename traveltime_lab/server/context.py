"""
One request in the service, apart from HTTP: its input, its answer, and the time of each part.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from traveltime_lab.modes.costs import Costs
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.contract.errors import plain_failure
from traveltime_lab.server.contract.requests import Request
from traveltime_lab.server.contract.rules import iter_searches
from traveltime_lab.server.formats import JSON
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.transit.query import typical_days_to

_T = TypeVar("_T")

#: Headers of answers. Source: docs/contract.md, 3.10.
DAY_HEADER: Final = "X-Weekday-Morning"
WARNING_HEADER: Final = "X-Warning"
#: Characters of the value of a header (assumed: a quarter of the 4 kB that some proxies take for all headers of an
#: answer).
_LONGEST_HEADER: Final = 1_000


class Meter:
    """
    Hits per minute of each application id; refuses requests above the limit.

    Parameters
    ----------
    per_minute : int, optional
        None for no limit, the default of a service.
    clock : callable
        Seconds; the count begins anew with each whole minute of it.
    """

    def __init__(self, per_minute: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._minute = 0
        self._used: dict[str, int] = {}

    def take(self, app_id: str, hits: int) -> None:
        """Count hits; Failure 429 if they are too many."""
        if self.per_minute is None or hits == 0:
            return
        now = self._clock()
        if int(now // 60) != self._minute:
            self._minute, self._used = int(now // 60), {}
        used = self._used.get(app_id, 0)
        if used + hits > self.per_minute:
            wait = 60 - int(now % 60)
            text = f"More than {self.per_minute} hits per minute; the count begins anew in {wait} s"
            raise plain_failure(429, text, {"Retry-After": str(wait)})
        self._used[app_id] = used + hits


@dataclass
class Notes:
    """
    Notes about an answer, for headers, because bodies have the keys of the contract only, and for the access log.

    The thread that answers adds to it, also while the loop reads it: after a time limit, it works to its next
    checkpoint.

    Attributes
    ----------
    days : list of date
        Dates of ``weekday_morning`` that the timetables of the maps have chosen.
    warnings : list of str
        Warnings of the library.
    """

    days: list[dt.date] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Collect the notes of the library in this thread, and in those that work for it."""
        with typical_days_to(lambda day: _add(self.days, day)), warnings_to(lambda text: _add(self.warnings, text)):
            yield

    def headers(self) -> dict[str, str]:
        """Return the headers of an answer."""
        found = {}
        if self.days:
            found[DAY_HEADER] = ", ".join(day.isoformat() for day in sorted(self.days.copy()))
        if self.warnings:
            text = printable(" | ".join(self.warnings.copy())).strip()
            found[WARNING_HEADER] = text if len(text) <= _LONGEST_HEADER else f"{text[: _LONGEST_HEADER - 3]}..."
        return found


def _add(values: list[_T], value: _T) -> None:
    """Add a value to a list that does not have it; each search of a request says the same."""
    if value not in values:
        values.append(value)


def printable(text: str) -> str:
    """Return a text as one line of printable ASCII, as headers require."""
    return re.sub(r"[^ -~]+", " ", text)


@dataclass
class Call:
    """
    A request.

    Attributes
    ----------
    atlas : Atlas
    body : bytes or bytearray
    query : mapping of str to str
    path : mapping of str to str
        Variable parts of the path.
    headers : mapping of str to str
    app_id : str
    meter : Meter
    zones : Zones or None
    nominatim : Nominatim or None
        Server for names, instead of the networks.
    costs : Costs
        Emissions and money of a kilometre.
    laps : dict of str to float
        Seconds spent in validation, engine and encoding, for the access log.
    notes : Notes
    """

    atlas: Atlas
    body: bytes | bytearray
    query: Mapping[str, str]
    path: Mapping[str, str]
    headers: Mapping[str, str]
    app_id: str
    meter: Meter
    zones: Zones | None
    nominatim: Nominatim | None = None
    costs: Costs = field(default_factory=Costs)
    laps: dict[str, float] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    @contextlib.contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Measure a part of the work."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.laps[name] = self.laps.get(name, 0.0) + time.perf_counter() - started

    def logged(self) -> str:
        """Return the text of the access log about the call, each part after a space."""
        parts = [f"{name}_ms={1000.0 * seconds:.1f}" for name, seconds in self.laps.copy().items()]
        said = self.notes.headers()
        if DAY_HEADER in said:
            parts.append(f"weekday_morning={said[DAY_HEADER].replace(' ', '')}")
        if WARNING_HEADER in said:
            parts.append(f"warning={said[WARNING_HEADER]!r}")
        return "".join(f" {part}" for part in parts)

    def count(self, request: Request, *, with_combinations: bool = False) -> None:
        """Take the hits of a request: its searches, for shapes and cells also its unions and intersections."""
        hits = sum(1 for _ in iter_searches(request))
        if with_combinations:
            hits += len(request.unions or ()) + len(request.intersections or ())
        self.meter.take(self.app_id, hits)


@dataclass(frozen=True)
class Answer:
    """A response with status 200."""

    body: bytes
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
