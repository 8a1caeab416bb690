"""Live updates give the timetable of a feed that is edited by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import oracles_realtime as twin
from tests.support.combinations import first_of
from tests.support.feeds import check_invariants, runs_of, stays_of
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime import growing
from traveltime_lab.realtime.updates import Updates, read_updates, with_updates
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_columns import check_timetable
from traveltime_lab.transit.trip_instances import trip_table


def updated(
    timetable: Timetable, updates: list[dict[str, Any]], alerts: list[dict[str, Any]]
) -> tuple[Timetable, Updates]:
    # Alerts are applied for 60 days, and the last date is 86 days after the first.
    content = json.dumps(twin.message(updates, twin.midnight("20260415"), alerts)).encode()
    found, report, _ = with_updates(timetable, read_updates(content, None), growing.Growing())
    return found, report


def plain(name: str) -> str:
    return name.partition("#")[0]


def runs_and_stays(timetable: Timetable, begin: int, end: int) -> tuple[Counter[Any], set[Any]]:
    table = trip_table(timetable, begin, end)
    check_invariants(table)
    runs: Counter[Any] = Counter()
    for (trip, date, calls), n in runs_of(timetable, table).items():
        runs[plain(trip), date, calls] += n
    stays = {((plain(a), i), (plain(b), j)) for (a, i), (b, j) in stays_of(timetable, table)}
    return runs, stays


def compare(
    tables: twin.Tables, updates: list[dict[str, Any]], folder: Path, alerts: list[dict[str, Any]]
) -> tuple[Updates, int]:
    """Compare all runs and stays of the dates and those around them; return how many runs differ from the plan."""
    planned = read_timetable(twin.write(tables, folder / "planned.zip"))
    ours, report = updated(planned, updates, alerts)
    check_timetable(ours)
    by_hand = twin.Edited(tables)
    for alert in alerts:
        by_hand.close(alert)
    for update in updates:
        by_hand.apply(update)
    theirs = read_timetable(twin.write(by_hand.feed(), folder / "edited.zip"))
    n = 0
    for first, last in (("20260305", "20260311"), ("20260601", "20260604")):
        begin, end = twin.midnight(first), twin.midnight(last)
        one, two = runs_and_stays(ours, begin, end), runs_and_stays(theirs, begin, end)
        assert one[0] == two[0]
        assert one[1] == two[1]
        before = runs_and_stays(planned, begin, end)[0]
        n += (one[0] - before).total() + (before - one[0]).total()
    return report, n


@pytest.mark.parametrize("seed", first_of(5, range(30), mark=pytest.mark.thorough))
def test_equals_a_feed_edited_by_hand(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As with large arrays.
    monkeypatch.setattr(growing, "LEAST_BYTES", 1)
    dice = random.Random(seed)
    tables = twin.random_feed(dice)
    compare(tables, twin.random_updates(tables, dice), tmp_path, twin.random_alerts(tables, dice))


@pytest.mark.thorough
def test_equals_feeds_edited_by_hand(tmp_path: Path) -> None:
    n, n_closed, relations = 0, 0, Counter[str]()
    for seed in range(1000, 1100):
        dice = random.Random(seed)
        tables = twin.random_feed(dice)
        updates, alerts = twin.random_updates(tables, dice), twin.random_alerts(tables, dice)
        report, n_differ = compare(tables, updates, tmp_path, alerts)
        n_closed += len(alerts) - int((report.alerts["result"] == "closes no call of the timetable").sum())
        n += n_differ
        relations.update(report.trips.loc[report.trips["applied"], "relationship"])
    assert n > 300
    assert n_closed > 30
    assert {*relations} == {
        "SCHEDULED", "ADDED", "NEW", "UNSCHEDULED", "CANCELED", "DELETED", "REPLACEMENT", "DUPLICATED",
    }  # fmt: skip
    assert min(relations.values()) > 15
