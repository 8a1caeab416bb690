"""Archives whose dates, times, names or columns are not what they seem."""

from __future__ import annotations

import io
import json
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.realtime.test_archives import ZONE, findings, posix, small_feed
from tests.realtime.test_observed_twins import observed, runs_on
from tests.support import oracles_realtime as twin
from tests.support.combinations import combined
from traveltime_lab.errors import DataError, InputError
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime.archives import archive
from traveltime_lab.realtime.archives.archive import read_archive
from traveltime_lab.realtime.archives.day import DayMessages
from traveltime_lab.realtime.archives.plan import Rules
from traveltime_lab.realtime.updates import with_updates
from traveltime_lab.transit.timetable import Timetable

DATE, NEXT = "20201007", "20201008"
#: Planned departures of the trips of the feed.
PLANNED = {
    ("day", 1): "08:00:00", ("day", 4): "08:11:00", ("day", 9): "08:20:00", ("night", 1): "25:50:00",
    ("night", 2): "26:00:00", ("night", 3): "26:30:00", ("eve", 1): "23:50:00", ("eve", 2): "24:05:00",
    ("eve", 3): "24:20:00",
}  # fmt: skip
LATE = 60


@pytest.fixture(scope="module")
def timetable(tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    """Return the timetable of `small_feed`, with a trip across midnight."""
    path = small_feed(tmp_path_factory.mktemp("faults"))
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    parts["trips.txt"] = parts["trips.txt"].rstrip("\n") + "\nR,D,eve\n"
    rows = [f"eve,{clock},{clock},s{n},{n}" for (trip, n), clock in PLANNED.items() if trip == "eve"]
    parts["stop_times.txt"] = "\n".join([parts["stop_times.txt"].rstrip("\n"), *rows, ""])
    with zipfile.ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return read_timetable(path)


def moment(trip: str, sequence: int, late: int = LATE, date: str = DATE) -> int:
    return posix(date, PLANNED[trip, sequence]) + late


def calls(*trips: str, late: int = LATE, date: str = DATE) -> pd.DataFrame:
    """Return the observed calls of trips of a day."""
    rows = [
        {"trip_id": trip, "date": date, "stop_sequence": n, "departure": moment(trip, n, late, date)}
        for trip, n in PLANNED
        if trip in trips
    ]
    return pd.DataFrame(rows)


def message(when: int | None, update: dict[str, Any]) -> bytes:
    content = twin.message([update], when or 0)
    if when is None:
        del content["header"]["timestamp"]
    return json.dumps(content).encode()


def update(trip: str, stops: dict[int, Any], date: str | None = None, **more: Any) -> dict[str, Any]:
    own = {"trip_id": trip} | ({"start_date": date} if date else {}) | more
    times = [
        {"stop_sequence": n} | ({"departure": {"time": value}} if isinstance(value, int) else value)
        for n, value in stops.items()
    ]
    return {"trip": own, "stop_time_update": times}


def same(timetable: Timetable, given: Any, expected: Any) -> None:
    """Compare the runs of each date of two archives."""
    ours, theirs = (observed(timetable, each, "interpolate") for each in (given, expected))
    assert [*ours] == [*theirs]
    for date in ours:
        assert runs_on(ours[date], date) == runs_on(theirs[date], date)
        assert runs_on(ours[date], date) != runs_on(timetable, date)


def calendar_dates(table: pd.DataFrame) -> pd.DataFrame:
    local = pd.to_datetime(table["departure"], unit="s", utc=True).dt.tz_convert(ZONE)
    return table.assign(date=local.dt.strftime("%Y%m%d"))


@pytest.mark.parametrize(
    ("late", "trips"),
    [
        pytest.param(late, trips, marks=[pytest.mark.thorough] * (row != column))
        for row, late in enumerate((-300, 60, 3600))
        for column, trips in enumerate([("night",), ("eve",), ("day", "eve", "night")])
    ],
)
def test_calendar_dates_become_service_dates(timetable: Timetable, trips: tuple[str, ...], late: int) -> None:
    table = pd.concat([calls(*trips, late=late, date=date) for date in (DATE, NEXT)])
    given = calendar_dates(table)
    n_off = int((given["date"] != table["date"]).sum())
    assert n_off
    same(timetable, given, table)
    reason = "date a day off, such as the calendar date of a time after midnight"
    assert findings(read_archive(timetable, given, None, {})) == {reason: n_off}


def test_clock_times_after_midnight_without_24_hours(timetable: Timetable) -> None:
    table = calls("eve", "night", "day")
    begins = table["date"].map(lambda date: twin.midnight(date, ZONE))
    seconds = table["departure"] - begins
    clocks = (seconds % 86_400).map(lambda value: twin.clock(int(value)))
    same(timetable, table.assign(departure=clocks), table)
    same(timetable, table.assign(departure=seconds % 86_400), table)
    found = findings(read_archive(timetable, table.assign(departure=clocks), None, {}))
    assert found == {"departure a day off, as a clock time after midnight without 24 hours": 5}


def test_calendar_start_dates_of_snapshots(timetable: Timetable) -> None:
    stops = {n: moment("eve", n) for n in (2, 3)}
    given = [message(moment("eve", 2), update("eve", stops, NEXT)), message(moment("eve", 1), update("day", {1: 0}))]
    right = [message(moment("eve", 2), update("eve", stops, DATE))]
    same(timetable, given[0], right)
    assert findings(read_archive(timetable, given[0], None, {})) == {
        "start_date a day off the times, such as the calendar date after midnight": 1
    }


@pytest.mark.parametrize("days", [-3, -2, 2, 3])
def test_times_days_off_are_not_used(timetable: Timetable, days: int) -> None:
    table = calls("day")
    table.loc[0, "departure"] += days * 86_400
    same(timetable, table, table[1:])


@pytest.mark.slow
def test_no_run_moves_by_half_a_day(timetable: Timetable) -> None:
    for hours in range(-30, 31, 3):
        table = calls("day", "eve").assign(departure=lambda table, hours=hours: table["departure"] + hours * 3600)
        try:
            found = observed(timetable, table, "interpolate")
        except DataError:
            continue
        for date, own in found.items():
            begins = {trip: calls[0][2] for trip, calls in runs_on(own, date) if trip != "again"}
            for trip in ("day", "eve"):
                assert abs(begins[trip] - posix(date, PLANNED[trip, 1])) <= 43_200 + 1_800  # of its span


@pytest.mark.parametrize("form", ["tar", "tar.gz", "zip"])
def test_members_whose_names_begin_with_a_dot_and_slash(timetable: Timetable, form: str, tmp_path: Path) -> None:
    contents = {
        f"./snap/{n}.json": message(moment("day", n), update("day", {n: moment("day", n)}, DATE)) for n in (1, 4, 9)
    }
    contents["./.hidden/x.json"] = contents["./._1.json"] = b"no message"
    path = tmp_path / f"archive.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as file:
            for name, content in contents.items():
                file.writestr(name, content)
    else:
        with tarfile.open(path, f"w:{form.rpartition('.')[2].replace('tar', '')}") as file:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    assert not read_archive(timetable, path, None, {}).findings
    same(timetable, path, calls("day"))


@pytest.mark.parametrize(
    ("offset", "between"),
    combined(["+02", "+0200", "+02:00", " +02:00", "Z", "z"], [" ", "T"], mark=pytest.mark.thorough),
)
def test_offsets(timetable: Timetable, offset: str, between: str) -> None:
    zone = "UTC" if offset in "Zz" else "Etc/GMT-2"
    table = pd.concat([calls("day", date="20201107"), calls("day")])
    local = pd.to_datetime(table["departure"], unit="s", utc=True).dt.tz_convert(zone)
    texts = local.dt.strftime(f"%Y-%m-%d{between}%H:%M:%S") + offset
    # A column may have moments with and without an offset, and with that of summer and winter.
    texts.iloc[0] = "2020-11-07 08:01:00+01"
    texts.iloc[1] = "2020-11-07 08:12:00"
    same(timetable, table.assign(departure=texts), table)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d-%b-%Y", "%y%m%d", "%Y/%m/%d"])
def test_dates_in_other_orders_are_findings(timetable: Timetable, form: str) -> None:
    table = calls("day", "eve")
    table.loc[table["trip_id"] == "eve", "date"] = pd.Timestamp("2020-10-07").strftime(form)
    assert findings(read_archive(timetable, table, None, {})) == {"date that is none": 3}
    with pytest.raises(DataError, match=r"of the table: date that is none \(3 rows\)"):
        read_archive(timetable, table[3:], None, {})


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), [1], {"a": 1}, {1}, (1, 2), b"x", 10**30, -5.0, True, "9" * 400, pd.NaT, ""]
)
@pytest.mark.parametrize("column", ["date", "departure", "stop_sequence", "trip_id"])
def test_odd_values_are_findings(timetable: Timetable, column: str, value: Any) -> None:
    table = calls("day", "eve").astype(object)
    table[column] = pd.Series([*table[column][:-1], value], dtype=object)
    assert read_archive(timetable, table, None, {}).dates


def test_planned_times_beside_delays(timetable: Timetable) -> None:
    table = calls("day")
    planned = [PLANNED["day", n] for n in table["stop_sequence"]]
    given = table.drop(columns="departure").assign(
        arrival_time=planned, departure_time=planned, arrival_delay=LATE, departure_delay=LATE
    )
    right = given.drop(columns=["arrival_time", "departure_time"])
    same(timetable, given, right)
    # Unless the user says so.
    given["departure_time"] = table["departure"] + 30
    assert read_archive(timetable, given, None, {"departure": "departure_time"}).store.digest() != (
        read_archive(timetable, given, None, {}).store.digest()
    )


def test_the_nights_around_a_day_are_observed(timetable: Timetable) -> None:
    table = pd.concat([calls("day", "eve", "night", late=300 * i, date=f"2020100{6 + i}") for i in (1, 2, 3)])
    read = read_archive(timetable, table, None, {})
    alone = observed(timetable, table, "interpolate")
    for unobserved in ("planned", "drop"):
        middle = pd.Timestamp(NEXT).toordinal()
        rules = Rules(middle, "interpolate", unobserved, 43_200, (middle - 1, middle + 1))
        messages = DayMessages(read.store, rules, lambda plan, rows: None, timetable)
        found = with_updates(timetable, messages)[0]
        if unobserved == "planned":
            assert runs_on(found, NEXT) == runs_on(alone[NEXT], NEXT)
            # Trips of the evening before, and none that begins in the morning after.
            for own in (DATE, "20201009"):
                ours, theirs, planned = (
                    {run[0]: run[1] for run in runs_on(each, own)} for each in (found, alone[own], timetable)
                )
                for trip in ("eve", "night"):
                    assert ours[trip] == (theirs if own == DATE else planned)[trip]
                assert ours["day"] == planned["day"]
                assert ours["day"] != theirs["day"]
        else:
            # `again` has frequencies and is not observed.
            assert {run[0] for run in runs_on(found, NEXT)} == {"day", "eve", "night"}
            assert {run[0] for run in runs_on(found, DATE)} == {"day", "eve", "night"}
            # Nothing was observed in the night after, of which trips are kept.
            assert {run[0] for run in runs_on(found, "20201009")} == {"again", "day", "eve", "night"}


@pytest.mark.parametrize("when", ["written", None])
@pytest.mark.parametrize("gaps", ["interpolate", "propagate"])
def test_no_data_takes_back_no_skipped_call(timetable: Timetable, when: str | None, gaps: str) -> None:
    first = update("day", {1: moment("day", 1), 4: {"schedule_relationship": "SKIPPED"}}, DATE)
    later = update("day", {4: {"schedule_relationship": "NO_DATA"}, 9: moment("day", 9)}, DATE)
    written = [None, None] if when is None else [moment("day", 1), moment("day", 4)]
    found = observed(timetable, [message(at, own) for at, own in zip(written, (first, later), strict=True)], gaps)
    (run,) = (calls for trip, calls in runs_on(found[DATE], DATE) if trip == "day")
    assert [call[0] for call in run] == ["s1", "s3"]
    # A later time does.
    last = message(moment("day", 9), update("day", {4: moment("day", 4)}, DATE))
    found = observed(timetable, [message(moment("day", 1), first), last], gaps)
    (run,) = (calls for trip, calls in runs_on(found[DATE], DATE) if trip == "day")
    assert [call[0] for call in run] == ["s1", "s2", "s3"]


@pytest.mark.parametrize("days", [-40, -2, -1, 2, 300])
def test_an_absurd_time_makes_no_service_day(timetable: Timetable, days: int) -> None:
    given = [message(moment("day", n), update("day", {n: moment("day", n)})) for n in (1, 4)]
    absurd = message(moment("day", 9), update("day", {9: moment("day", 9) + days * 86_400}))
    same(timetable, [*given, absurd], given)


def test_the_last_row_counts_without_dates(timetable: Timetable) -> None:
    table = calls("day")
    first = table.assign(departure=table["departure"] + 600)
    same(timetable, pd.concat([first, table]).drop(columns="date"), table)
    same(timetable, [first.drop(columns="date"), table[:1].drop(columns="date")], pd.concat([first, table[:1]]))


@pytest.mark.slow
def test_the_order_of_members_does_not_matter(timetable: Timetable, tmp_path: Path) -> None:
    contents = {
        f"{n}.json": message(None, update("day", {1: moment("day", 1, 60 * n)}, DATE)) for n in range(5)
    }  # Without times of messages, the last by name counts.
    found = set()
    for k, names in enumerate((sorted(contents), sorted(contents, reverse=True), ["2.json", "4.json", "1.json"])):
        path = tmp_path / f"{k}.tar.xz"
        with tarfile.open(path, "w:xz") as file:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(contents[name])
                file.addfile(member, io.BytesIO(contents[name]))
        same(timetable, path, calls("day", late=240)[:1])
        found.add(read_archive(timetable, path, None, {}).store.digest())
    for name, content in contents.items():
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(content)
    assert {read_archive(timetable, tmp_path / "folder", None, {}).store.digest()} == found


def test_days_with_few_runs_at_the_edge(timetable: Timetable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_archive(timetable, pd.concat([calls("day"), calls("eve", date=NEXT)]), None, {}).dates) == 2
        archive._warn_of_edges({1: 50, 2: 100, 3: 60})
    with pytest.warns(UserWarning, match=r"little of 0001-01-01 \(1 runs\) and 0001-01-03 \(9 runs\); .* 100 runs"):
        archive._warn_of_edges({1: 1, 2: 100, 3: 9})


def test_an_archive_without_trips(timetable: Timetable) -> None:
    for given in (calls("day")[:0], json.dumps(twin.message([], 1)).encode()):
        with pytest.raises(DataError, match="no observation of a trip"):
            read_archive(timetable, given, None, {})


def test_tables_that_are_bytes(timetable: Timetable) -> None:
    same(timetable, calls("day").to_csv(index=False).encode(), calls("day"))


def test_stop_sequences_that_are_not_whole(timetable: Timetable) -> None:
    table = calls("day").astype({"stop_sequence": float})
    table.loc[1, "stop_sequence"] = 3.6
    assert findings(read_archive(timetable, table, None, {}))["stop_sequence that is no number"] == 1


def test_columns_that_are_there_twice(timetable: Timetable) -> None:
    table = calls("day")
    with pytest.raises(InputError, match="several columns 'trip_id'"):
        read_archive(timetable, pd.concat([table, table[["trip_id"]]], axis=1), None, {})


def test_a_feed_that_is_not_there(timetable: Timetable) -> None:
    with pytest.raises(InputError, match="'nonsense'"):
        read_archive(timetable, {"feed": calls("day")}, "nonsense", {})
