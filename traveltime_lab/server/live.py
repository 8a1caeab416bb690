"""
Live updates in the service: GTFS Realtime messages that are read again and again, and applied while it answers.

A thread for each source reads it, and one applies what is new to the planned networks and exchanges them as a reload
does. A source that fails keeps its last message, until that is too old.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from traveltime_lab._checks import number
from traveltime_lab.errors import InterruptedSearchError, LimitError, TravelTimeError
from traveltime_lab.network.network import Network
from traveltime_lab.realtime.messages import read_messages
from traveltime_lab.realtime.sources import Source
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.server import live_sources
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.config import MOST_EVERY_S
from traveltime_lab.server.live_sources import AddressReader, FileReader, SourceError, UpdateSource

if TYPE_CHECKING:
    from traveltime_lab.server.serving import Serving  # needs an optional extra

logger = logging.getLogger(__name__)

#: Seconds that a thread has to end when the service stops; one that waits for a name server ends later.
_END_S: Final = 5.0
#: Seconds between the moment from which a message is too old and the look at it.
_LATER_S: Final = 0.1


def check_times(every: Any, max_age: Any) -> tuple[float, float]:
    """Return the seconds between two looks at a source, and those after which its message is too old."""
    every, max_age = number(every, "every", "seconds"), number(max_age, "max_age", "seconds")
    if not 0 < every <= MOST_EVERY_S:
        raise LimitError(f"every must be above 0 and at most {MOST_EVERY_S:,.0f} seconds; got {every:g}")
    if not max_age > 0:
        raise LimitError(f"max_age must be above 0 seconds; got {max_age:g}")
    return every, max_age


@dataclass(frozen=True, eq=False)
class _Message:
    """
    A message that was read.

    Attributes
    ----------
    raw : bytes
        As the source has it.
    source : Source
    timestamp : int
        That of its header, POSIX seconds; -1 for none.
    seen : float
        When it was read first.
    """

    raw: bytes
    source: Source
    timestamp: int
    seen: float


@dataclass(frozen=True)
class Status:
    """
    The state of a source.

    Attributes
    ----------
    source : UpdateSource
    status : {"waiting", "ok", "failed", "old"}
        Whether it was not read yet, could be read last time, could not, or has a message that is too old.
    in_use : bool
        Whether its message is applied.
    reason : str
        Why it could not be read or applied; empty if it was.
    age_s : float or None
        Age of the message.
    timestamp : int
        That of the header of its message, -1 for none.
    n_applied, n_not_applied, n_alerts : int
        Updates of trips that were applied and that were not, and alerts.
    looks : mapping of str to int
        Numbers of looks by outcome: ``"changed"``, ``"unchanged"`` and ``"failed"``.
    """

    source: UpdateSource
    status: str
    in_use: bool
    reason: str
    age_s: float | None
    timestamp: int
    n_applied: int
    n_not_applied: int
    n_alerts: int
    looks: Mapping[str, int]

    def described(self) -> dict[str, Any]:
        """Return it for ``/health``, without what is not known."""
        found: dict[str, Any] = {"map": self.source.map, "source": self.source.label}
        if self.source.feed is not None:
            found["feed"] = self.source.feed
        found |= {"status": self.status, "in_use": self.in_use}
        if self.age_s is not None:
            found["age"] = round(self.age_s)
        if self.timestamp >= 0:
            found["timestamp"] = pd.Timestamp(self.timestamp, unit="s", tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")
        found |= {"applied": self.n_applied, "not_applied": self.n_not_applied, "alerts": self.n_alerts}
        if self.reason:
            found["reason"] = self.reason
        return found


class _Follower:
    """
    Reads one source.

    Parameters
    ----------
    source : UpdateSource
    every : float
    clock : callable
    wait : callable
        Waits some seconds, and returns whether the service is stopping.
    """

    def __init__(
        self, source: UpdateSource, every: float, clock: Callable[[], float], wait: Callable[[float], bool]
    ) -> None:
        self.source, self._clock, self._wait = source, clock, wait
        self.reader: FileReader | AddressReader = (
            AddressReader(source.address, wait) if source.is_remote else FileReader(Path(source.address), every, wait)
        )
        self.message: _Message | None = None
        self.fault: SourceError | None = None
        self.has_looked = False
        self.looked_at = clock()
        self.looks = {"changed": 0, "unchanged": 0, "failed": 0}
        self._bad: tuple[bytes, SourceError] | None = None

    def look(self) -> None:
        """Read the source."""
        try:
            outcome = self._read()
            self.fault, self.looked_at = None, self._clock()
        except SourceError as error:
            outcome, self.fault = "failed", error
        except Exception as error:
            logger.debug("a source of updates cannot be read", exc_info=error)
            outcome, self.fault = "failed", SourceError("fault", f"{type(error).__name__}: {error}")
        if not self._wait(0.0):
            self.looks[outcome] += 1
            self.has_looked = True

    def _read(self) -> str:
        raw = self.reader.read()
        if raw is None or (self.message is not None and raw == self.message.raw):
            if raw is not None:
                self.reader.accept()
            return "unchanged"
        mark = hashlib.sha256(raw).digest()
        if self._bad is not None and self._bad[0] == mark:
            raise self._bad[1]
        try:
            message = self._message(raw)
        except SourceError as error:
            self._bad = mark, error
            raise
        self._bad, self.message = None, message
        self.reader.accept()
        return "changed"

    def _message(self, raw: bytes) -> _Message:
        label = self.source.label
        try:
            source = Source.of(label, self.source.feed, raw)
            timestamp = int(read_messages([source]).sources["timestamp"].iloc[0])
        except LimitError as error:
            raise SourceError("too_large", str(error)) from None
        except TravelTimeError as error:
            what = "it is a web page or XML, and no GTFS Realtime message" if raw.lstrip()[:1] == b"<" else str(error)
            raise SourceError("unreadable", what) from None
        return _Message(raw, source, timestamp, self._clock())

    def age_s(self, now: float) -> float | None:
        """Return the age of the message; one without a time, or of a time to come, has that of the last look."""
        if self.message is None:
            return None
        seen = self.looked_at if self.message.timestamp < 0 else min(self.message.timestamp, self.message.seen)
        return max(0.0, now - seen)


@dataclass(frozen=True)
class _Updated:
    """
    A network with updates, and the messages that it has.

    Attributes
    ----------
    planned : Network
    messages : tuple of _Message
        Those that were to be applied.
    network : Network
    used : tuple of _Message
        Those that are: others if these cannot be applied.
    fault : str
        Why they cannot; empty if they can.
    """

    planned: Network
    messages: tuple[_Message, ...]
    network: Network
    used: tuple[_Message, ...]
    fault: str = ""


class Live:
    """
    Keeps the networks of a service up to date.

    Parameters
    ----------
    serving : Serving
    sources : tuple of UpdateSource
        As `traveltime_lab.server.live_sources.checked` returns them.
    every : float
        Seconds between two looks at a source.
    max_age : float
        Seconds after which a message is no longer used; infinity for no limit.
    clock : callable
        POSIX seconds.

    Attributes
    ----------
    current : dict of str to _Updated
        Networks with updates that the service answers with, by name.
    """

    def __init__(
        self,
        serving: Serving,
        sources: tuple[UpdateSource, ...],
        every: float,
        max_age: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._serving, self._every, self._max_age, self._clock = serving, every, max_age, clock
        self._wake, self._is_over, self._settled = threading.Event(), threading.Event(), threading.Event()
        self._followers = tuple(_Follower(source, every, clock, self._is_over.wait) for source in sources)
        self.current: dict[str, _Updated] = {}
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._said: dict[str, tuple[str, str, bool]] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run the threads for the length of a ``with`` block."""
        self._serving.follow(self)
        threads = [
            threading.Thread(target=self._follow, args=(each,), name="traveltime_lab.server.updates", daemon=True)
            for each in self._followers
        ]
        threads.append(threading.Thread(target=self._run, name="traveltime_lab.server.live", daemon=True))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self._wake.set()
            for each in self._followers:
                each.reader.abort()
            until = time.monotonic() + _END_S
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))

    def wait(self, seconds: float) -> bool:
        """Wait until each source was read once and the networks have its updates; return whether that was in time."""
        return self._settled.wait(seconds)

    def _follow(self, follower: _Follower) -> None:
        while not self._is_over.is_set():
            begun = time.monotonic()
            follower.look()
            self._wake.set()
            if self._is_over.wait(max(0.0, begun + self._every - time.monotonic())):
                return

    def _run(self) -> None:
        while not self._is_over.is_set():
            self._wake.wait(self._patience_s())
            self._wake.clear()
            for each in self._followers:
                if each.reader.deadline is not None and time.monotonic() > each.reader.deadline:
                    each.reader.abort()
            has_looked = all(each.has_looked for each in self._followers)
            self.refresh()
            if has_looked:
                self._settled.set()

    def _patience_s(self) -> float | None:
        """Return the seconds until a fetch has to end, or a message is too old; None for never."""
        left = [math.inf]
        for each in self._followers:
            deadline, age = each.reader.deadline, each.age_s(self._clock())
            if deadline is not None:
                left.append(deadline - time.monotonic())
            if age is not None and age <= self._max_age:
                left.append(self._max_age - age)
        if any(isinstance(each.reader, AddressReader) for each in self._followers):
            # A fetch may begin in the meantime, and sets its deadline then.
            left.append(live_sources.FETCH_S)
        least = min(left)
        return None if math.isinf(least) else min(max(0.0, least) + _LATER_S, threading.TIMEOUT_MAX)

    def refresh(self) -> None:
        """Exchange the networks if their messages have changed, and log what has become of the sources."""
        try:
            with interruptible(self._is_over.is_set):
                latest = {name: self._messages(name) for name in {each.source.map or "" for each in self._followers}}
                updated = {name: self.current.get(name) for name in latest}
                if any(
                    messages != (() if (before := updated[name]) is None else before.messages)
                    for name, messages in latest.items()
                ):
                    self._serving.refresh()
        except InterruptedSearchError:
            return
        except Exception:
            logger.exception("updates cannot be applied")
        self._log()

    def _messages(self, name: str) -> tuple[_Message, ...]:
        """Return the messages of a network that are not too old."""
        now = self._clock()
        return tuple(
            each.message
            for each in self._followers
            if each.source.map == name and each.message is not None and (each.age_s(now) or 0.0) <= self._max_age
        )

    def applied(self, planned: Atlas) -> tuple[Atlas, dict[str, _Updated]]:
        """
        Return planned networks with the updates, and a value for `updated` once they are in place.

        A network whose updates cannot be applied keeps those from before; if it has none, it is as planned.

        Parameters
        ----------
        planned : Atlas
        """
        names = {each.source.map for each in self._followers}
        networks = {item.name: item.network for item in planned.maps}
        updated = {}
        for name in networks:
            if name in names:
                updated[name] = self._with_updates(name, networks[name])
                networks[name] = updated[name].network
        return Atlas(networks), updated

    def _with_updates(self, name: str, planned: Network) -> _Updated:
        messages, before = self._messages(name), self.current.get(name)
        if before is not None and before.planned is planned and before.messages == messages:
            return before
        try:
            network = planned.with_updates([each.source for each in messages]) if messages else planned
        except InterruptedSearchError:
            raise
        except Exception as error:
            logger.debug("updates cannot be applied", exc_info=error)
            last = _Updated(planned, (), planned, ()) if before is None or before.planned is not planned else before
            return _Updated(planned, messages, last.network, last.used, f"it cannot be applied: {error}")
        self._count(name, network)
        return _Updated(planned, messages, network, messages)

    def _count(self, name: str, network: Network) -> None:
        """Note what became of the updates of each source."""
        updates = network.updates
        for each in self._followers:
            if each.source.map != name:
                continue
            counts = (0, 0, 0)
            if updates is not None:
                rows = updates.trips["applied"][updates.trips["source"] == each.source.label]
                n_alerts = int((updates.alerts["source"] == each.source.label).sum())
                counts = int(rows.sum()), int((~rows.astype(bool)).sum()), n_alerts
            self._counts[each.source.label] = counts

    def statuses(self) -> list[Status]:
        """Return what is known about each source."""
        found, now = [], self._clock()
        names = {item.name for item in self._serving.planned.maps}
        for each in self._followers:
            updated = self.current.get(each.source.map or "")
            message, age, fault = each.message, each.age_s(now), each.fault
            is_old = age is not None and age > self._max_age
            not_applied = (
                "" if updated is None or fault is not None or message not in updated.messages else updated.fault
            )
            if each.source.map not in names and fault is None:
                not_applied = "a reload has left no network of this name"
            if fault is not None or not_applied:
                status = "failed"
            else:
                status = "waiting" if message is None else "old" if is_old else "ok"
            reason = not_applied if fault is None else str(fault)
            if status == "old":
                reason = f"its message is older than {self._max_age:g} s"
            in_use = updated is not None and any(used.source.name == each.source.label for used in updated.used)
            found.append(
                Status(
                    each.source, status, in_use, reason, age, -1 if message is None else message.timestamp,
                    *self._counts.get(each.source.label, (0, 0, 0)), dict(each.looks),
                )
            )  # fmt: skip
        return found

    def _log(self) -> None:
        """Log sources whose state has changed."""
        for each, found in zip(self._followers, self.statuses(), strict=True):
            fault = each.fault
            state = found.status, "" if fault is None else fault.kind, found.in_use
            before = self._said.get(found.source.label, ("waiting", "", False))
            if state == before:
                continue
            self._said[found.source.label] = state
            where = f"map={found.source.map} updates={found.source.label}"
            use = "its last message stays in use" if found.in_use else "none of its messages is in use"
            if found.status == "failed":
                logger.warning("%s cannot be used, %s: %s", where, use, found.reason)
            elif found.status == "old":
                logger.warning("%s: %s, %s", where, found.reason, use)
            elif found.status == "ok" and found.in_use:
                logger.info(
                    "%s in use: applied=%d not_applied=%d alerts=%d", where, found.n_applied, found.n_not_applied,
                    found.n_alerts,
                )  # fmt: skip
