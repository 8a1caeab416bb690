"""
Read an archive of snapshots and tables.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from traveltime_lab.errors import DataError, InputError, LimitError, MissingFileError
from traveltime_lab.realtime.archives.dates import MOVED, Dates, feed_numbers
from traveltime_lab.realtime.archives.files import Item, items_of
from traveltime_lab.realtime.archives.snapshots import Snapshots
from traveltime_lab.realtime.archives.store import Store
from traveltime_lab.realtime.archives.tables import Tables
from traveltime_lab.realtime.match import Matcher
from traveltime_lab.realtime.sources import sources_of
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.transit.timetable import Timetable

#: With fewer matched runs than this share, the timetable may be a different one, and there is a warning (assumed).
_FEW: Final = 0.5
_SHOWN: Final = 3
#: The first and last day with a smaller share of the runs of the fullest day are parts of days (assumed).
_EDGE: Final = 0.1


@dataclass(frozen=True)
class Archive:
    """
    The content of an archive.

    Attributes
    ----------
    store : Store
    dates : list of int
        Service dates with a trip of the timetable, in order, as ordinals.
    findings : dict of (int or None, str, str, str) to int
        Service date, file, what is counted (files, rows or runs) and reason of what could not be used.
    """

    store: Store
    dates: list[int]
    findings: dict[tuple[int | None, str, str, str], int]


class _Reader:
    def __init__(self, timetable: Timetable) -> None:
        self.findings: Counter[tuple[int | None, str, str, str]] = Counter()
        self.store = Store()
        self.dates = Dates(timetable)
        self.snapshots = Snapshots(self.store, self.dates)
        self.tables = Tables(timetable, self.note)
        self.fault: InputError | None = None
        self.timetable = timetable
        self.n_items = self.n_read = self.n_tables = 0

    def note(self, name: str, reason: str, rows: int = 0) -> None:
        """Note why a file cannot be used, or some of its rows."""
        self.findings[None, name, "rows" if rows else "files", reason] += rows or 1

    def read(self, item: Item, columns: Mapping[str, str]) -> None:
        self.n_items += 1
        feed_numbers(self.timetable, [item.feed])
        try:
            content = item.read()
            if item.is_table:
                self.n_tables += 1
                for updates in self.tables.updates(content, item.name, columns):
                    self.snapshots.put(updates, [item.feed] * len(updates))
                self.n_read += 1
                return
            for source in sources_of(content, item.feed):
                self.snapshots.add(source._replace(name=item.name))
        except (DataError, LimitError, MissingFileError, OSError) as error:
            self.note(item.name, _reason(error, item.name))
        except InputError as error:
            self.fault = self.fault or error
            self.note(item.name, str(error))
        else:
            self.n_read += 1


def _reason(error: Exception, name: str) -> str:
    text = str(error)
    for start in (f"{name} ", "the message "):
        text = text.removeprefix(start)
    return text


def read_archive(timetable: Timetable, archive: Any, feed: str | None, columns: Mapping[str, str]) -> Archive:
    """
    Read an archive; see `traveltime_lab.observed_days`.

    Raises
    ------
    InputError
        If the archive is no file, folder, table or list of these, or has none, or a feed is unknown.
    DataError
        If nothing can be read, or nothing is about a trip of the timetable.
    """
    feed_numbers(timetable, [feed])
    reader = _Reader(timetable)
    for item in items_of(archive, feed, reader.note):
        reader.read(item, columns)
    reader.snapshots.flush()
    if not reader.n_items:
        raise InputError("archive must have at least one snapshot or table; got none")
    if not reader.n_read:
        if reader.fault is not None:
            raise reader.fault
        _, name, _, reason = next(iter(reader.findings))
        raise DataError(f"none of the {reader.n_items:,} files of the archive can be read; {name}: {reason}")
    if reader.dates.n_moved:
        reader.findings[None, "", "runs", MOVED] = reader.dates.n_moved
    reader.store.finish()
    dates = _matched_dates(timetable, reader)
    pa.default_memory_pool().release_unused()
    return Archive(reader.store, dates, dict(reader.findings))


def _matched_dates(timetable: Timetable, reader: _Reader) -> list[int]:
    """Return the dates with a trip of the timetable; warn if few runs are, and raise DataError if none is."""
    store, found = reader.store, []
    reasons: Counter[str] = Counter()
    unmatched: dict[str, None] = {}
    of_day: dict[int, int] = {}
    n_runs = n_matched = 0
    for date in store.dates:
        day = store.day(date)
        matches = Matcher(timetable, day.updates, feed_numbers(timetable, day.feed)).found()
        is_new = np.array([reason == "new" for reason in matches.reason], np.bool_)
        is_matched = (matches.trip >= 0) & (matches.date == date) | is_new
        n_runs += is_matched.size
        n_matched += int(is_matched.sum())
        if n_own := int((is_matched & ~is_new).sum()):
            found.append(date)
            of_day[date] = n_own
        own = Counter(matches.reason[u] or "its run is on another service date" for u in np.flatnonzero(~is_matched))
        if not (is_matched & ~is_new).any():
            name = date if 1 <= date <= dt.date.max.toordinal() else None
            for reason, n in own.items():
                reader.findings[name, "", "runs", reason] += n
        reasons.update(own)
        for u in np.flatnonzero(~is_matched)[: _SHOWN - len(unmatched)].tolist():
            unmatched[str(day.updates.trip_id[u] or day.updates.route_id[u])] = None
    _warn_of_edges(of_day)
    if found and n_matched >= _FEW * n_runs:
        return found
    first, last = timetable.spans()[0]
    theirs = ", ".join(map(repr, [*unmatched][:_SHOWN]))
    ours = ", ".join(map(repr, timetable.trips["trip_id"].iloc[:_SHOWN].astype(str)))
    why = f"; most often: {reasons.most_common(1)[0][0]}" if reasons else ""
    begin, end = (dt.date.fromordinal(max(each, 1)) for each in (first, last))
    text = (
        f"{n_matched:,} of {n_runs:,} runs of the archive are in the timetable{why}. Trips that are not, such as "
        f"{theirs or 'none'}; trips of the timetable, from {begin} to {end}, such as {ours or 'none'}. Use the "
        "timetable that was in force on the days of the archive"
    )
    if not n_runs and not reader.findings:
        raise DataError("the archive has no observation of a trip; give snapshots with updates of trips, or tables")
    if not n_runs:
        (_, file, what, reason), n = max(reader.findings.items(), key=lambda each: each[1])
        raise DataError(f"the archive has no run that can be used; most often, of {file}: {reason} ({n:,} {what})")
    if not found:
        raise DataError(text)
    warn(text)
    return found


def _warn_of_edges(of_day: dict[int, int]) -> None:
    """Warn if the first or last day has few runs, given the number by date."""
    most = max(of_day.values(), default=0)
    few = [date for date in dict.fromkeys([*of_day][:1] + [*of_day][-1:]) if of_day[date] < _EDGE * most]
    if few:
        shown = " and ".join(f"{dt.date.fromordinal(date)} ({of_day[date]:,} runs)" for date in few)
        warn(
            f"the archive has little of {shown}; the fullest day has {most:,} runs. It may begin or end in such a day: "
            "leave it out with days.select(...)"
        )
