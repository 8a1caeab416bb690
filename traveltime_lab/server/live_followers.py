"""
Follow one source of live updates: what was read last, which of its messages can be applied, and how old they are.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from traveltime_lab._checks import plain_text
from traveltime_lab.errors import LimitError, TravelTimeError
from traveltime_lab.network.network import Network
from traveltime_lab.realtime.messages import read_messages
from traveltime_lab.realtime.sources import Source
from traveltime_lab.server.live_readers import AddressReader, FileReader, SourceError
from traveltime_lab.server.live_sources import UpdateSource

logger = logging.getLogger("traveltime_lab.server.live")

#: Characters of a reason in logs and answers (assumed).
_LONGEST_REASON: Final = 200


def said(error: Exception) -> str:
    """Return why a message cannot be used, without values of its content, which may be secret: anyone can read it."""
    if not isinstance(error, TravelTimeError):
        return type(error).__name__
    return plain_text(str(error).partition("; got ")[0].replace("\n", " "), _LONGEST_REASON)


@dataclass(frozen=True, eq=False)
class Message:
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
        When it was read first, POSIX seconds.
    read : float
        The same moment by a clock that is not set.
    """

    raw: bytes
    source: Source
    timestamp: int
    seen: float
    read: float


class Follower:
    """
    Reads one source.

    Parameters
    ----------
    source : UpdateSource
    every, max_age : float
    clock, steady : callables
        POSIX seconds, and those of a clock that is not set.
    wait : callable
        Waits some seconds, and returns whether the service is stopping.

    Attributes
    ----------
    message : Message or None
        The last one that could be read.
    good : Message or None
        The last one that could be applied.
    bad : tuple of (Message, Network, str) or None
        One that could not be applied to a network, and why.
    """

    def __init__(
        self,
        source: UpdateSource,
        every: float,
        max_age: float,
        clock: Callable[[], float],
        steady: Callable[[], float],
        wait: Callable[[float], bool],
    ) -> None:
        self.source, self.max_age = source, max_age
        self._clock, self._steady, self._wait = clock, steady, wait
        self.reader: FileReader | AddressReader = (
            AddressReader(source.address, wait) if source.is_remote else FileReader(Path(source.address), every, wait)
        )
        self.message: Message | None = None
        self.good: Message | None = None
        self.bad: tuple[Message, Network, str] | None = None
        self.fault: SourceError | None = None
        self.has_looked = False
        self.looked_at = steady()
        self.looks = {"changed": 0, "unchanged": 0, "failed": 0}
        self._bad: tuple[bytes, SourceError] | None = None

    def look(self) -> None:
        """Read the source."""
        try:
            outcome = self._read()
            self.fault, self.looked_at = None, self._steady()
        except SourceError as error:
            outcome, self.fault = "failed", error
        except Exception as error:
            logger.debug("a source of updates cannot be read", exc_info=error)
            outcome, self.fault = "failed", SourceError("fault", said(error))
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
        self._bad = None
        self.reader.accept()
        if self._is_before(message):
            return "unchanged"
        self.message = message
        return "changed"

    def _is_before(self, message: Message) -> bool:
        """Return whether a message is older than the last one, as from a server behind others; it is passed over."""
        last = self.message
        if last is None or (self.bad is not None and self.bad[0] is last):
            return False
        return 0 <= message.timestamp < last.timestamp <= last.seen and self.age_s(last) <= self.max_age

    def _message(self, raw: bytes) -> Message:
        label = self.source.label
        try:
            source = Source.of(label, self.source.feed, raw)
            timestamp = int(read_messages([source]).sources["timestamp"].iloc[0])
        except LimitError as error:
            raise SourceError("too_large", said(error)) from None
        except TravelTimeError as error:
            what = "it is a web page or XML, and no GTFS Realtime message" if raw.lstrip()[:1] == b"<" else said(error)
            raise SourceError("unreadable", what) from None
        return Message(raw, source, timestamp, self._clock(), self._steady())

    def age_s(self, message: Message) -> float:
        """
        Return the age of a message, which grows also while the clock is set back.

        One of a time to come is as old as its reading; one without a time as the last look, or as its reading if the
        source has another by now.
        """
        steady = self._steady()
        if message.timestamp < 0:
            return max(0.0, steady - (self.looked_at if message is self.message else message.read))
        since = steady - message.read + max(0.0, message.seen - message.timestamp)
        return max(0.0, since, self._clock() - min(message.timestamp, message.seen))

    def usable(self, planned: Network | None) -> Message | None:
        """Return the latest message that can be applied to a network, as far as is known, and is not too old."""
        found = self.message
        if self.fails_on(planned):
            found = self.good
        return None if found is None or self.age_s(found) > self.max_age else found

    def fails_on(self, planned: Network | None) -> str:
        """Return why the last message cannot be applied to a network; empty if it can, or was not tried."""
        if self.bad is None or self.bad[0] is not self.message or self.bad[1] is not planned:
            return ""
        return self.bad[2]
