"""How a service behaves: numbers with defaults."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from traveltime_lab._files import explained, read_bytes
from traveltime_lab.errors import InputError
from traveltime_lab.modes.costs import Costs, as_costs
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.live_sources import UpdateSource

#: A request of 100,000 locations is 7 to 11 MB; ten such searches in one body stay below this.
DEFAULT_BODY_LIMIT: Final = 100_000_000
#: Seconds, as in the public Python client.
DEFAULT_TIMEOUT_S: Final = 300.0
#: Requests that are worked on at once; others wait. Kernels release the GIL, so small ones get on beside large ones.
DEFAULT_WORKERS: Final = 32
#: Bytes from which on a body is large. Large requests wait for each other, as each uses all cores and much memory;
#: small ones never wait for them (assumed: some 5,000 locations).
LARGE_BODY: Final = 500_000
#: Seconds that a connection may be idle, and that the headers of a request may take.
DEFAULT_IDLE_S: Final = 10.0
#: Longest time that a connection may be idle: a day.
MOST_IDLE_S: Final = 86_400.0
#: Connections that are open at once; further ones are answered with 503 (assumed: ten for each worker and some more).
DEFAULT_CONNECTIONS: Final = 500
#: Seconds between two looks at a source of live updates. Source: GTFS Realtime best practices, which have feeds
#: refreshed at least every 30 s.
DEFAULT_EVERY_S: Final = 30.0
#: Longest time between two looks: a day.
MOST_EVERY_S: Final = 86_400.0
#: Seconds after which a message is no longer used (assumed: the 10 minutes after which, by the best practices, alerts
#: are too old; for times of trips they say 90 s).
DEFAULT_MAX_AGE_S: Final = 600.0
#: Bodies of the largest size that are held at once.
LARGEST_BODIES: Final = 10


def read_costs(path: Path | None) -> Costs:
    """
    Return the costs whose fields a JSON file has, and the usual ones without a file.

    Raises
    ------
    FileAccessError
        If the file cannot be read.
    InputError, LimitError, ModeError
        If it is not an object in JSON, or a field or a value is not one of `Costs`.
    """
    if path is None:
        return Costs()
    with explained(path, "read"):
        content = read_bytes(path)
    try:
        values = json.loads(content)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); write the fields of Costs as one object") from error
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold one object with fields of Costs; got {type(values).__name__}")
    return as_costs(values)


@dataclass(frozen=True)
class Options:
    """
    How a service behaves.

    Parameters
    ----------
    body_limit : int
        Bytes of a request's body.
    timeout_s : float
        Seconds that a request may take, its upload included.
    idle_s : float
        Seconds that a connection may be idle, before and between requests, within an upload and while a client does not
        read its answer; also those that the headers of a request may take.
    connections : int
        Connections that are open at once.
    hits_per_minute : int, optional
        For each application id; None for no limit.
    workers : int
        Requests worked on at once.
    large_workers : int, optional
        Workers for requests with large bodies; by default twice `settings.threads`.
    nominatim : Nominatim, optional
        Server for names and addresses, instead of the networks.
    costs : Costs
        Emissions and money of a kilometre, for the properties ``emissions`` and ``cost``.
    allow_origins : tuple of str
        Origins of the web pages that may read answers (CORS), such as ``https://example.org``; ``*`` for all.
    hosts : frozenset of str, optional
        Names by which clients may call the pages that need no credentials; None for any. See
        `traveltime_lab.server.browsers.known_hosts`.
    updates : tuple of UpdateSource
        Files and addresses of live updates.
    every_s, max_age_s : float
        Seconds between two looks at them, and those after which a message is no longer used.
    """

    body_limit: int = DEFAULT_BODY_LIMIT
    timeout_s: float = DEFAULT_TIMEOUT_S
    idle_s: float = DEFAULT_IDLE_S
    connections: int = DEFAULT_CONNECTIONS
    hits_per_minute: int | None = None
    workers: int = DEFAULT_WORKERS
    large_workers: int | None = None
    nominatim: Nominatim | None = None
    costs: Costs = field(default_factory=Costs)
    allow_origins: tuple[str, ...] = ()
    hosts: frozenset[str] | None = None
    updates: tuple[UpdateSource, ...] = ()
    every_s: float = DEFAULT_EVERY_S
    max_age_s: float = DEFAULT_MAX_AGE_S
