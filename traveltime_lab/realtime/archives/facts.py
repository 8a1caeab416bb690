"""
Numbers, reasons and delays that are known about the observations of a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import Int64Array
from traveltime_lab.realtime.archives.plan import DECREASED, DROPPED, GAP, OBSERVED, UNOBSERVED, ObservedPlan
from traveltime_lab.realtime.archives.store import packed, unpacked
from traveltime_lab.realtime.plan import APPLIED
from traveltime_lab.realtime.runs import FAR
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable

#: Delays, early or late, with which a departure is on time. Assumed: few agencies accept more than a minute early and
#: five minutes late (J. Walker, "Mundane things that really matter: defining on time", humantransit.org).
ON_TIME_S: Final = (-60, 300)
#: Names of numbers of calls that could not be used.
_CALLS: Final = ("not a stop of the trip", "unknown schedule_relationship", "unknown assigned_stop_id")


@dataclass(frozen=True)
class DayFacts:
    """
    The facts about the observations of a day.

    Attributes
    ----------
    numbers : dict of str to int
        A row of `ObservedDays.quality`.
    findings : list of (str, str, int, int)
        Things that are counted, the reason, and the numbers of runs, trips, calls or events, and of rows.
    delays : dict of str to bytes
        Packed columns ``trip``, ``position``, ``kind`` (1 for departures) and ``delay`` of observed events.
    """

    numbers: dict[str, int]
    findings: list[tuple[str, str, int, int]]
    delays: dict[str, bytes]

    @classmethod
    def of(cls, plan: ObservedPlan, rows: Int64Array) -> DayFacts:
        """Return the facts of a plan, given the number of rows about each run."""
        timetable, trips, stops = plan.timetable, plan.trips, plan.stops
        date = plan.rules.date
        n_planned = int(np.count_nonzero(timetable.services_on(date)[timetable.hot.trip_service]))
        reasons: dict[str, list[int]] = {}
        for result, n in zip(plan.result, rows.tolist(), strict=True):
            if result != APPLIED:
                counts = reasons.setdefault(result, [0, 0])
                counts[0] += 1
                counts[1] += n
        n_unmatched = sum(runs for runs, _ in reasons.values())
        numbers = {
            "trips_planned": n_planned,
            "trips_observed": len(plan.seen),
            "trips_canceled": trips["canceled"],
            "trips_added": trips["added"] + trips["duplicated"],
            "trips_dropped": trips[DROPPED] + trips[UNOBSERVED],
            "runs": len(plan.result),
            "runs_matched": len(plan.result) - n_unmatched,
            "rows_unmatched": sum(n for _, n in reasons.values()),
            "calls_observed": stops[OBSERVED],
            "calls_filled": stops[GAP],
            "calls_skipped": stops["skipped"],
            "events_too_far": stops[FAR],
            "events_decreasing": stops[DECREASED],
        }
        findings = [("runs", reason, runs, n) for reason, (runs, n) in reasons.items()]
        findings += [("trips", name, trips[name], 0) for name in (DROPPED, UNOBSERVED) if trips[name]]
        findings += [("calls", name, stops[name], stops[name]) for name in _CALLS if stops[name]]
        far = f"more than {plan.max_delay:,} s from the timetable"
        for name, text in ((FAR, far), (DECREASED, DECREASED)):
            if stops[name]:
                findings.append(("events", text, stops[name], stops[name]))
        columns = np.array(plan.delays, np.int64).reshape(-1, 4).T
        names = ("trip", "position", "kind", "delay")
        return cls(numbers, findings, packed(dict(zip(names, columns, strict=True))))

    def calls(self, timetable: Timetable) -> dict[str, Int64Array]:
        """Return the row of the trip, the position and the delay of each observed call: its departure, if observed."""
        columns = unpacked(self.delays)
        order = np.lexsort((columns["kind"], columns["position"], columns["trip"]))
        trip, position, delay = (columns[name][order] for name in ("trip", "position", "delay"))
        is_last = np.ones(trip.size, np.bool_)
        is_last[:-1] = (trip[1:] != trip[:-1]) | (position[1:] != position[:-1])
        return {"trip": trip[is_last], "position": position[is_last], "delay": delay[is_last]}


#: Columns by which delays are grouped.
KEYS: Final = (
    "date",
    "weekday",
    "hour",
    "feed",
    "route_id",
    "route_short_name",
    "direction_id",
    "stop_id",
    "stop_sequence",
    "trip_id",
)


def delay_rows(timetable: Timetable, date: int, facts: DayFacts, keys: tuple[str, ...]) -> pd.DataFrame:
    """Return a row for each observed call of a day with some of `KEYS`, as numbers, and ``delay`` (s)."""
    calls = facts.calls(timetable)
    trip, hot = calls["trip"], timetable.hot
    at = timetable.trip_indptr[trip] + calls["position"]
    route = hot.trip_route[trip]
    columns: dict[str, Any] = {}
    for key in keys:
        if key == "date":
            columns[key] = np.full(trip.size, date)
        elif key == "weekday":
            columns[key] = np.full(trip.size, (date - 1) % 7)
        elif key == "hour":
            columns[key] = timetable.departure[at] // 3600
        elif key == "feed":
            columns[key] = hot.trip_feed[trip]
        elif key in ("route_id", "route_short_name"):
            columns[key] = route
        elif key == "direction_id":
            columns[key] = timetable.trips["direction_id"].to_numpy()[trip]
        elif key == "stop_id":
            begins = timetable.pattern_indptr[hot.trip_pattern[trip]]
            columns[key] = timetable.pattern_stop[begins + calls["position"]]
        elif key == "stop_sequence":
            columns[key] = StopSequences.all_of(timetable)[at]
        else:
            columns[key] = trip
    return pd.DataFrame({**columns, "delay": calls["delay"]})


def summary(timetable: Timetable, rows: pd.DataFrame, keys: tuple[str, ...]) -> pd.DataFrame:
    """Return the statistics of delays for each group of rows, with the names of the groups."""
    early, late = ON_TIME_S
    rows = rows.assign(on_time=rows["delay"].between(early, late))
    groups = rows.groupby([*keys], sort=True, observed=True) if keys else rows.groupby(np.zeros(len(rows), np.int64))
    delays = groups["delay"]
    found = pd.DataFrame(
        {
            "calls": delays.size(), "mean": delays.mean(), "median": delays.median(), "p80": delays.quantile(0.8),
            "p95": delays.quantile(0.95), "on_time": groups["on_time"].mean(),
        }
    )  # fmt: skip
    if not keys:
        return found.reset_index(drop=True)
    found = found.reset_index()
    for key in keys:
        found[key] = _named(timetable, key, found[key])
    return found


def _named(timetable: Timetable, key: str, values: pd.Series) -> Any:
    at = values.to_numpy(np.int64)
    if key == "date":
        return pd.to_datetime(at - 719_163, unit="D")
    tables = {
        "feed": ("feeds", "name"), "route_id": ("routes", "route_id"), "stop_id": ("stops", "stop_id"),
        "route_short_name": ("routes", "route_short_name"), "trip_id": ("trips", "trip_id"),
    }  # fmt: skip
    if key not in tables:
        return at
    table, column = tables[key]
    return getattr(timetable, table)[column].to_numpy(object)[at]


def counted(findings: list[tuple[Any, str, str, str, int, int]]) -> pd.DataFrame:
    """Return findings as a table, the most frequent of each date first."""
    columns = ["date", "file", "what", "reason", "count", "rows"]
    frame = pd.DataFrame(findings, columns=columns)
    frame["date"] = pd.to_datetime(frame["date"])
    return frame.astype({"count": np.int64, "rows": np.int64})
