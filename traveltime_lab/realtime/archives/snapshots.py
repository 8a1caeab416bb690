"""
Read snapshots of GTFS Realtime updates into a store, one after the other.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from traveltime_lab.realtime.archives.dates import Dates
from traveltime_lab.realtime.archives.store import Store
from traveltime_lab.realtime.archives.tables import OF_TABLE
from traveltime_lab.realtime.messages import TripUpdates, joined, trip_updates_of
from traveltime_lab.realtime.sources import NONE, Source

#: Stop updates that are matched at once (assumed: about 50 MB).
_PER_BATCH = 50_000


class Snapshots:
    """
    Snapshots that are added to a store.

    Parameters
    ----------
    store : Store
    dates : Dates
    """

    def __init__(self, store: Store, dates: Dates) -> None:
        self._store, self._dates = store, dates
        self._parts: list[TripUpdates] = []
        self._feeds: list[str | None] = []
        self._n = 0
        #: Numbers of messages and of updates of trips, and of those that have no date.
        self.n_messages = self.n_updates = self.n_without_date = 0

    def add(self, source: Source) -> None:
        """
        Add a message.

        Raises
        ------
        DataError, LimitError
            If it cannot be read.
        """
        updates = trip_updates_of(source)
        self.n_messages += 1
        self.put(updates, [source.feed] * len(updates))

    def put(self, updates: TripUpdates, feeds: list[str | None]) -> None:
        """Add updates of trips."""
        self.n_updates += len(updates)
        self._parts.append(updates)
        self._feeds += feeds
        self._n += len(updates) + updates.stop_id.size
        if self._n > _PER_BATCH:
            self.flush()

    def flush(self) -> None:
        """Write to the store what has been collected."""
        if not self._feeds:
            return
        updates, feeds = joined(self._parts), self._feeds
        self._parts, self._feeds, self._n = [], [], 0
        dates, is_sure = self._dates.of(updates, feeds)
        self.n_without_date += int(np.count_nonzero(dates < 0))
        is_table = updates.source == OF_TABLE
        if is_table.any():
            updates = replace(updates, timestamp=np.where(is_table, NONE, updates.timestamp))
        self._store.add(updates, feeds, dates, is_sure)
