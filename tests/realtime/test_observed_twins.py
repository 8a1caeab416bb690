"""Observed days give the timetable of a feed that is edited by hand, and that of live updates."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support import oracles_realtime as twin
from tests.support.combinations import combined, first_of
from tests.support.feeds import check_invariants, runs_of
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime.archives.archive import read_archive
from traveltime_lab.realtime.archives.day import DayMessages
from traveltime_lab.realtime.archives.gaps import longest_in_order
from traveltime_lab.realtime.archives.plan import Rules
from traveltime_lab.realtime.growing import Growing
from traveltime_lab.realtime.updates import read_updates, with_updates
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.timetable_columns import check_timetable
from traveltime_lab.transit.trip_instances import trip_table

DAY = 86_400


def observed(timetable: Timetable, archive: Any, gaps: str, unobserved: str = "planned") -> dict[str, Timetable]:
    """Return the timetable of each date of an archive."""
    read = read_archive(timetable, archive, None, {})
    found = {}
    for date in read.dates:
        messages = DayMessages(read.store, Rules(date, gaps, unobserved, DAY), lambda plan, rows: None)
        text = pd.Timestamp.fromordinal(date).strftime("%Y%m%d")
        found[text] = with_updates(timetable, messages, Growing())[0]
        check_timetable(found[text])
    return found


def runs_on(timetable: Timetable, date: str) -> Counter[Any]:
    """Return the runs of a service date."""
    table = trip_table(timetable, twin.midnight(date) - DAY, twin.midnight(date) + 2 * DAY)
    check_invariants(table)
    found: Counter[Any] = Counter()
    ordinal = pd.Timestamp(date).toordinal()
    for (trip, day, calls), n in runs_of(timetable, table).items():
        if day == ordinal:
            found[trip.partition("#")[0].partition("@")[0], calls] += n
    return found


def snapshots(updates: list[dict[str, Any]], dice: random.Random) -> list[bytes]:
    """Return messages whose last words are some updates: stops have predictions, and vanish behind the vehicle."""
    n = dice.randrange(2, 6)
    messages: list[list[dict[str, Any]]] = [[] for _ in range(n)]
    for update in updates:
        stops = update.get("stop_time_update", [])
        # A stop has its last word in a message, and is in no later one.
        last = sorted(dice.randrange(n) for _ in stops)
        for k in range(n):
            own = copy.deepcopy(update)
            left = []
            for at, stop in zip(last, copy.deepcopy(stops), strict=True):
                if k < at and stop.get("schedule_relationship", "SCHEDULED") == "SCHEDULED":
                    for name in ("arrival", "departure"):
                        if name in stop and dice.random() < 0.7:
                            stop[name] = {"delay": dice.randrange(900)}
                        elif name in stop and "time" not in update.get("trip", {}):
                            stop.pop(name)
                if k <= at:
                    left.append(stop)
            if stops:
                own["stop_time_update"] = left
            if left or not stops or k == n - 1:
                messages[k].append(own)
    begin = twin.midnight("20260306")
    return [json.dumps(twin.message(each, begin + 60 * k)).encode() for k, each in enumerate(messages)]


def is_plain(update: dict[str, Any]) -> bool:
    """
    Return whether an archive keeps the order of the stops of an update.

    They have numbers, or no stop is there twice, and the times of a new trip do not decrease.
    """
    own = [stop for stop in update.get("stop_time_update", []) if "stop_sequence" not in stop]
    if len({stop["stop_id"] for stop in own}) < len(own):
        return False
    if update["trip"].get("schedule_relationship") not in ("ADDED", "NEW", "REPLACEMENT"):
        return True
    times = [stop.get("arrival", stop.get("departure"))["time"] for stop in own]
    return times == sorted(times)


@pytest.mark.parametrize("seed", first_of(2, range(10), mark=pytest.mark.thorough))
def test_the_last_words_of_snapshots_are_live_updates(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    tables = twin.random_feed(dice)
    timetable = read_timetable(twin.write(tables, tmp_path / "planned.zip"))
    updates = [each for each in twin.random_updates(tables, dice) if is_plain(each)]
    content = json.dumps(twin.message(updates, twin.midnight("20260306"))).encode()
    live = with_updates(timetable, read_updates(content, None))[0]
    one = observed(timetable, content, "propagate")
    assert one
    many = observed(timetable, snapshots(updates, dice), "propagate")
    assert [*many] == [*one]
    for date in one:
        assert runs_on(one[date], date) == runs_on(live, date)
        assert runs_on(many[date], date) == runs_on(live, date)


def fill(planned: list[int], given: list[int | None], gaps: str, trip_delay: int) -> list[int] | None:
    """Return the times of a run, event by event; None if it is dropped."""
    known = [(i, delay) for i, delay in enumerate(given) if delay is not None]
    used = dict(known[k] for k in longest_in_order([planned[i] + delay for i, delay in known]))
    if gaps == "drop" and any(i not in used and i + 1 not in used for i in range(0, len(planned), 2)):
        return None
    times: list[float] = []
    for i, moment in enumerate(planned):
        before = [j for j in used if j <= i]
        after = [j for j in used if j >= i]
        delay: float
        if not used:
            delay = trip_delay
        elif i in used:
            delay = used[i]
        elif gaps == "planned":
            delay = used.get(i ^ 1) or 0
        elif not before:
            delay = used[min(after)]
        elif not after:
            delay = used[max(before)]
        else:
            a, b = max(before), min(after)
            if planned[a] == planned[b]:
                delay = used[b] if i % 2 == 0 else used[a]
            else:
                share = (moment - planned[a]) / (planned[b] - planned[a])
                delay = np.floor(used[a] + share * (used[b] - used[a]) + 0.5 + 1e-9)
        times.append(moment + delay)
    for i in range(len(times)):
        if i not in used:
            times[i] = min([times[i], *(times[j] for j in used if j > i)])
    return [int(max(times[: i + 1])) for i in range(len(times))]


def by_hand(tables: twin.Tables, updates: list[dict[str, Any]], gaps: str) -> list[dict[str, Any]]:
    """Return updates with a time for each event of their runs."""
    edited = twin.Edited(tables)
    found = []
    for update in updates:
        trip, own = update["trip"]["trip_id"], copy.deepcopy(update)
        relation = update["trip"].get("schedule_relationship", "SCHEDULED")
        if relation not in ("SCHEDULED", "UNSCHEDULED", "DUPLICATED"):
            found.append(own)
            continue
        calls, date, later = edited.calls[trip], update["trip"]["start_date"], 0
        start = update["trip"].get("start_time") or update.get("trip_properties", {}).get("start_time")
        if trip in edited.repeats or relation == "DUPLICATED":
            later = twin.seconds(start) - twin.seconds(calls[0]["departure_time"])
        where = edited._where(update, calls)
        kept = [i for i in range(len(calls)) if where.get(i, {}).get("schedule_relationship") != "SKIPPED"]
        planned = [twin.seconds(calls[i][f"{name}_time"]) + later for i in kept for name in ("arrival", "departure")]
        given: list[int | None] = []
        for k, (i, name) in enumerate(itertools.product(kept, ("arrival", "departure"))):
            stop = where.get(i, {})
            event = stop.get(name) if stop.get("schedule_relationship") != "NO_DATA" else None
            value = None if event is None else event["delay"]
            if event is not None and "time" in event:
                value = event["time"] - twin.midnight(date) - planned[k]
            given.append(value)
        times = fill(planned, given, gaps, update.get("delay", 0)) if len(kept) > 1 else None
        if times is None and relation == "DUPLICATED":
            continue
        if times is None:
            own["trip"]["schedule_relationship"] = "CANCELED"
            own.pop("stop_time_update", None)
            found.append(own)
            continue
        stops = []
        for i in range(len(calls)):
            stop = {"stop_sequence": int(calls[i]["stop_sequence"])}
            if i not in kept:
                stops.append({**stop, "schedule_relationship": "SKIPPED"})
                continue
            for name in ("arrival", "departure"):
                k = 2 * kept.index(i) + (name == "departure")
                stop[name] = {"delay": 0, "time": twin.midnight(date) + times[k]}
            properties = where.get(i, {}).get("stop_time_properties")
            stops.append({**stop, "stop_time_properties": properties} if properties else stop)
        own["stop_time_update"] = stops
        own.pop("delay", None)
        found.append(own)
    return found


def compare(seed: int, gaps: str, unobserved: str, folder: Path) -> Counter[str]:
    """Compare the runs of each observed date; count those that differ from the plan."""
    dice = random.Random(seed)
    tables = twin.random_feed(dice)
    timetable = read_timetable(twin.write(tables, folder / "planned.zip"))
    updates = [each for each in twin.random_updates(tables, dice) if is_plain(each)]
    content = json.dumps(twin.message(updates, twin.midnight("20260306"))).encode()
    edited = twin.Edited(tables)
    for update in by_hand(tables, updates, gaps):
        edited.apply(update)
    theirs = read_timetable(twin.write(edited.feed(), folder / "edited.zip"))
    counts: Counter[str] = Counter()
    for date, ours in observed(timetable, content, gaps, unobserved).items():
        one, two = runs_on(ours, date), runs_on(theirs, date)
        if unobserved == "drop":
            seen = {each["trip"]["trip_id"] for each in updates if each["trip"]["start_date"] == date}
            relations = {each["trip"]["trip_id"]: each["trip"].get("schedule_relationship") for each in updates}
            planned = runs_on(timetable, date)
            left = Counter({run: n for run, n in two.items() if run[0] in seen or run not in planned})
            assert {run[0] for run in one} <= {run[0] for run in two}
            assert not [run for run in one if run[0] not in seen and run[0] in {each[0] for each in planned}]
            assert all(one[run] for run in left if relations.get(run[0]) is None and run[0] not in ("t10", "t11"))
        else:
            assert one == two
        counts["runs"] += one.total()
        counts["different"] += (one - runs_on(timetable, date)).total()
    return counts


@pytest.mark.parametrize(
    ("gaps", "seed"), combined(["interpolate", "planned", "drop"], range(5), mark=pytest.mark.thorough)
)
def test_equals_a_feed_edited_by_hand(seed: int, gaps: str, tmp_path: Path) -> None:
    compare(seed, gaps, "planned", tmp_path)


@pytest.mark.parametrize("seed", first_of(2, range(5), mark=pytest.mark.thorough))
def test_trips_without_observations_are_dropped(seed: int, tmp_path: Path) -> None:
    compare(seed, "interpolate", "drop", tmp_path)


@pytest.mark.thorough
def test_equals_feeds_edited_by_hand(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(1000, 1100):
        counts += compare(seed, ("interpolate", "planned", "drop")[seed % 3], "planned", tmp_path)
    assert counts["different"] > 150


def test_the_longest_part_in_order() -> None:
    dice = random.Random(3)
    for _ in range(300):
        times = [dice.randrange(8) for _ in range(dice.randrange(9))]
        found = longest_in_order(times)
        assert [times[i] for i in found] == sorted(times[i] for i in found)
        assert found == sorted({*found})
        parts = (part for n in range(len(times) + 1) for part in itertools.combinations(times, n))
        assert len(found) == max(len(part) for part in parts if [*part] == sorted(part))
