"""
Live updates in the service: GTFS Realtime messages that are read again and again, and applied while it answers.

A thread for each source reads it, and one applies what is new to the planned networks and exchanges them as a reload
does. A source that fails keeps its last message, until that is too old.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from traveltime_lab._checks import number, plain_text
from traveltime_lab.errors import InterruptedSearchError, LimitError
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.server import live_readers
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.config import MOST_EVERY_S
from traveltime_lab.server.live_followers import Follower, Message, said
from traveltime_lab.server.live_readers import AddressReader
from traveltime_lab.server.live_sources import UpdateSource

if TYPE_CHECKING:
    from traveltime_lab.server.serving import Serving  # needs an optional extra

logger = logging.getLogger(__name__)

#: Least seconds between two looks at an address (assumed: servers of agencies limit requests).
LEAST_EVERY_S: Final = 1.0
#: Seconds that a thread has to end when the service stops; one that waits for a name server ends later.
_END_S: Final = 5.0
#: Seconds between the moment from which a message is too old and the look at it.
_LATER_S: Final = 0.1


def check_times(every: Any, max_age: Any, sources: Sequence[UpdateSource] = ()) -> tuple[float, float]:
    """
    Return the seconds between two looks at a source, and those after which its message is too old.

    Raises
    ------
    LimitError
        If they are out of their ranges, or too short for addresses.
    """
    every, max_age = number(every, "every", "seconds"), number(max_age, "max_age", "seconds")
    if not 0 < every <= MOST_EVERY_S:
        raise LimitError(f"every must be above 0 and at most {MOST_EVERY_S:,.0f} seconds; got {every:g}")
    if every < LEAST_EVERY_S and any(each.is_remote for each in sources):
        raise LimitError(f"every must be at least {LEAST_EVERY_S:g} second for addresses; got {every:g}")
    if not max_age > 0:
        raise LimitError(f"max_age must be above 0 seconds; got {max_age:g}")
    if sources and every >= max_age:
        warn(
            f"every is {every:g} seconds, and messages are too old after {max_age:g}: the planned timetable takes "
            "their place before they are read again; choose a smaller every or a larger max_age"
        )
    return every, max_age


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
        Age of the message that is in use, or else of the last one.
    timestamp : int
        That of the header of the same message, -1 for none.
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


@dataclass(frozen=True)
class _Updated:
    """
    A network with updates, and the messages that it has.

    Attributes
    ----------
    planned : Network
    messages : tuple of Message
        One for each source that has one which can be applied, and is not too old.
    network : Network
    """

    planned: Network
    messages: tuple[Message, ...]
    network: Network


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
    clock, steady : callables
        POSIX seconds, and those of a clock that is not set.

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
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._serving, self._every, self._max_age = serving, every, max_age
        self._wake, self._is_over, self._settled = threading.Event(), threading.Event(), threading.Event()
        self._followers = tuple(
            Follower(source, every, max_age, clock, steady, self._is_over.wait) for source in sources
        )
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

    def _follow(self, follower: Follower) -> None:
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
            deadline, message = each.reader.deadline, each.usable(self._planned(each.source.map or ""))
            if deadline is not None:
                left.append(deadline - time.monotonic())
            if message is not None:
                left.append(self._max_age - each.age_s(message))
        if any(isinstance(each.reader, AddressReader) for each in self._followers):
            # A fetch may begin in the meantime, and sets its deadline then.
            left.append(live_readers.FETCH_S)
        least = min(left)
        return None if math.isinf(least) else min(max(0.0, least) + _LATER_S, threading.TIMEOUT_MAX)

    def refresh(self) -> None:
        """Exchange the networks if their messages have changed, and log what has become of the sources."""
        try:
            with interruptible(self._is_over.is_set):
                planned = {item.name for item in self._serving.planned.maps}
                names = planned & {each.source.map or "" for each in self._followers}
                latest = {name: self._messages(name, self._planned(name)) for name in names}
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

    def _planned(self, name: str) -> Network | None:
        """Return the planned network to which updates were applied last."""
        return None if (found := self.current.get(name)) is None else found.planned

    def _messages(self, name: str, planned: Network | None) -> tuple[Message, ...]:
        """Return the messages of a network that can be used."""
        found = (each.usable(planned) for each in self._followers if each.source.map == name)
        return tuple(each for each in found if each is not None)

    def applied(self, planned: Atlas) -> tuple[Atlas, dict[str, _Updated]]:
        """
        Return planned networks with the updates, and a value for `updated` once they are in place.

        A source whose message cannot be applied keeps the one from before, and is left out if it has none.

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
        messages, before = self._messages(name, planned), self.current.get(name)
        if before is not None and before.planned is planned and before.messages == messages:
            return before
        try:
            network = planned.with_updates([each.source for each in messages]) if messages else planned
        except InterruptedSearchError:
            raise
        except Exception as error:
            logger.debug("updates cannot be applied", exc_info=error)
            messages, network = self._one_by_one(name, planned, before)
        for each in self._followers:
            if each.source.map == name and (used := each.usable(planned)) in messages:
                each.good = used
        self._count(name, network)
        return _Updated(planned, messages, network)

    def _one_by_one(self, name: str, planned: Network, before: _Updated | None) -> tuple[tuple[Message, ...], Network]:
        """Return the messages that can be applied together, and the network with them, if one of all cannot."""
        known = before.messages if before is not None and before.planned is planned else ()
        messages: tuple[Message, ...] = ()
        found: dict[tuple[Message, ...], Network] = {(): planned}
        if before is not None and known:
            found[known] = before.network
        for each in self._followers:
            for _ in range(2):  # the last message, and the one before
                message = each.usable(planned) if each.source.map == name else None
                if message is None:
                    break
                more = (*messages, message)
                if more == known[: len(more)]:  # these could be applied before
                    messages = more
                    break
                try:
                    found[more] = planned.with_updates([one.source for one in more])
                except InterruptedSearchError:
                    raise
                except Exception as error:
                    if message is not each.message:
                        each.good = None
                        break
                    each.bad = message, planned, f"it cannot be applied: {said(error)}"
                else:
                    messages = more
                    break
        if messages not in found:
            found[messages] = planned.with_updates([one.source for one in messages])
        return messages, found[messages]

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
        found = []
        planned = {item.name: item.network for item in self._serving.planned.maps}
        for each in self._followers:
            name = each.source.map or ""
            updated, latest, fault = self.current.get(name), each.message, each.fault
            used = () if updated is None or name not in planned else updated.messages
            in_use = next((one for one in used if one.source.name == each.source.label), None)
            shown = latest if in_use is None else in_use
            age = None if shown is None else each.age_s(shown)
            reason = each.fails_on(planned.get(name)) if fault is None else plain_text(str(fault), 200)
            if name not in planned and fault is None:
                reason = "a reload has left no network of this name"
            if reason:
                status = "failed"
            elif latest is None:
                status = "waiting"
            else:
                status = "old" if each.age_s(latest) > self._max_age else "ok"
            if status == "old":
                reason = f"its message is older than {self._max_age:g} s"
            counts = self._counts.get(each.source.label, (0, 0, 0)) if name in planned else (0, 0, 0)
            found.append(
                Status(
                    each.source, status, in_use is not None, reason, age, -1 if shown is None else shown.timestamp,
                    *counts, dict(each.looks),
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
