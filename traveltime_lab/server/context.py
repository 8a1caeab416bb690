"""
One request on its way through the service, apart from HTTP: what came in, what goes out, how long each part took.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.contract.errors import plain_failure
from traveltime_lab.server.contract.requests import Request
from traveltime_lab.server.contract.rules import iter_searches
from traveltime_lab.server.formats import JSON
from traveltime_lab.server.postcodes import Zones


class Meter:
    """
    Hits per minute of each application id; refuses what is above the limit.

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
        Who answers about names, instead of the networks.
    laps : dict of str to float
        Seconds spent in validation, engine and encoding, for the access log.
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
    laps: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Measure a part of the work."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.laps[name] = self.laps.get(name, 0.0) + time.perf_counter() - started

    def count(self, request: Request, *, with_combinations: bool = False) -> None:
        """Take the hits of a request: its searches, for shapes and cells also its unions and intersections."""
        hits = sum(1 for _ in iter_searches(request))
        if with_combinations:
            hits += len(request.unions or ()) + len(request.intersections or ())
        self.meter.take(self.app_id, hits)


@dataclass(frozen=True)
class Answer:
    """What goes out with status 200."""

    body: bytes
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
