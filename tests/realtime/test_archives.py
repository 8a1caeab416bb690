"""Archives of observed service: their forms, and what is wrong in them."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.realtime.test_observed_twins import observed, runs_on
from tests.support import oracles_realtime as twin
from tests.support.feeds import feed
from traveltime_lab.errors import DataError, InputError, MissingFileError
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime.archives.archive import Archive, read_archive
from traveltime_lab.transit.timetable import Timetable

ZONE = "Europe/Berlin"
#: The clock goes back in the night of the 25th.
DATES = ("20201023", "20201024", "20201025")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


def small_feed(folder: Path, name: str = "feed.zip", start: str = "20201001") -> Path:
    return feed(
        folder, name,
        agency=f"""
            agency_id,agency_name,agency_url,agency_timezone
            A,A,https://a.example,{ZONE}
        """,
        stops="""
            stop_id,stop_name,stop_lat,stop_lon
            s1,S1,52.50,13.40
            s2,S2,52.51,13.40
            s3,S3,52.52,13.40
        """,
        routes="""
            route_id,agency_id,route_short_name,route_type
            R,A,1,3
        """,
        calendar=f"""
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            D,1,1,1,1,1,1,1,{start},20201130
        """,
        trips="""
            route_id,service_id,trip_id
            R,D,day
            R,D,night
            R,D,again
        """,
        stop_times="""
            trip_id,arrival_time,departure_time,stop_id,stop_sequence
            day,08:00:00,08:00:00,s1,1
            day,08:10:00,08:11:00,s2,4
            day,08:20:00,08:20:00,s3,9
            night,25:50:00,25:50:00,s1,1
            night,26:00:00,26:00:00,s2,2
            night,26:30:00,26:30:00,s3,3
            again,00:00:00,00:00:00,s1,1
            again,00:10:00,00:10:00,s2,2
        """,
        frequencies="""
            trip_id,start_time,end_time,headway_secs,exact_times
            again,10:00:00,11:00:00,1200,1
        """,
    )  # fmt: skip


@pytest.fixture(scope="module")
def timetable(folder: Path) -> Timetable:
    return read_timetable(small_feed(folder))


def posix(date: str, clock: str) -> int:
    return twin.midnight(date, ZONE) + twin.seconds(clock)


def frame() -> pd.DataFrame:
    """Return observed calls, with POSIX seconds: the second call of the day has no departure."""
    rows = []
    for date, late in zip(DATES, (60, 120, 180), strict=True):
        for trip, sequence, stop, clock in (
            ("day", 1, "s1", "08:00:00"), ("day", 4, "s2", "08:10:00"), ("day", 9, "s3", "08:20:00"),
            ("night", 1, "s1", "25:50:00"), ("night", 3, "s3", "26:30:00"),
        ):  # fmt: skip
            time = posix(date, clock) + late
            rows.append((trip, date, sequence, stop, time, None if sequence == 4 else time + 5))
    found = pd.DataFrame(rows, columns=["trip_id", "date", "stop_sequence", "stop_id", "arrival", "departure"])
    return found.astype({"departure": "Int64"})


def snapshots(table: pd.DataFrame) -> list[bytes]:
    """Return messages, one for each call of a table."""
    found = []
    for row in table.itertuples():
        stop: dict[str, Any] = {"stop_sequence": row.stop_sequence, "arrival": {"time": row.arrival}}
        if not pd.isna(row.departure):
            stop["departure"] = {"time": int(row.departure)}
        update = {"trip": {"trip_id": row.trip_id, "start_date": row.date}, "stop_time_update": [stop]}
        found.append(json.dumps(twin.message([update], int(row.arrival))).encode())
    return found


def local(seconds: Any) -> pd.Series:
    return pd.to_datetime(seconds, unit="s", utc=True).dt.tz_convert(ZONE)


def with_times(change: Callable[[pd.DataFrame, str], Any]) -> pd.DataFrame:
    table = frame()
    return table.assign(**{name: change(table, name) for name in ("arrival", "departure")})


def of_day(table: pd.DataFrame, name: str) -> pd.Series:
    begins = table["date"].map(lambda date: twin.midnight(date, ZONE))
    return table[name] - begins


def clocks(table: pd.DataFrame, name: str) -> pd.Series:
    return of_day(table, name).map(lambda value: "" if pd.isna(value) else twin.clock(int(value)))


def events() -> pd.DataFrame:
    table = frame().melt(["trip_id", "date", "stop_sequence"], ["arrival", "departure"], "event", "observed")
    return table.dropna()


def scheduled() -> pd.DataFrame:
    """Return events without dates, some of them a day off, which their planned times show."""
    planned = {("day", 1): "08:00:00", ("day", 4): "08:10:00", ("day", 9): "08:20:00", ("night", 1): "25:50:00"}
    table = events()
    keys = zip(table["date"], table["trip_id"], table["stop_sequence"], strict=True)
    table["scheduled"] = [posix(date, planned.get((trip, n), "26:30:00")) for date, trip, n in keys]
    return table.drop(columns="date")


def csv(table: pd.DataFrame, **how: Any) -> bytes:
    return table.to_csv(index=False, **how).encode()


def parquet(table: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    table.to_parquet(file)
    return file.getvalue()


FORMS: dict[str, Callable[[], Any]] = {
    "POSIX seconds": frame,
    "floats": lambda: with_times(lambda table, name: table[name].astype(float)),
    "texts": lambda: frame().astype(object).where(frame().notna(), None).astype(str).replace("None", ""),
    "moments with a zone": lambda: with_times(lambda table, name: local(table[name])),
    "moments without a zone": lambda: with_times(lambda table, name: local(table[name]).dt.tz_localize(None)),
    "texts with a zone": lambda: with_times(lambda table, name: local(table[name]).astype(str).replace("NaT", "")),
    "texts in UTC": lambda: with_times(
        lambda table, name: pd.to_datetime(table[name], unit="s").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    ),
    "texts without a zone": lambda: with_times(
        lambda table, name: local(table[name]).dt.tz_localize(None).astype(str).replace("NaT", "")
    ),
    "seconds of the day": lambda: with_times(of_day),
    "clock times": lambda: with_times(clocks),
    "durations": lambda: with_times(lambda table, name: pd.to_timedelta(of_day(table, name).astype(float), unit="s")),
    "without dates": lambda: frame().drop(columns="date"),
    "dates with dashes": lambda: frame().assign(date=lambda table: pd.to_datetime(table["date"]).astype(str)),
    "dates as numbers": lambda: frame().assign(date=lambda table: table["date"].astype(int)),
    "dates": lambda: frame().assign(date=lambda table: pd.to_datetime(table["date"]).dt.date),
    "timestamps": lambda: frame().assign(date=lambda table: pd.to_datetime(table["date"])),
    "stops": lambda: frame().drop(columns="stop_sequence"),
    "numbers": lambda: frame().drop(columns="stop_id").astype({"stop_sequence": float}),
    "events": events,
    "events with planned times": scheduled,
    "reversed": lambda: frame()[::-1],
    "names of agencies": lambda: frame().rename(
        columns={"trip_id": "TRIP_ID", "date": "Service_Date", "arrival": "Actual_Arrival", "departure": "DEPARTURE"}
    ),
    "CSV": lambda: ("t.csv", csv(frame())),
    "semicolons": lambda: ("t.csv", csv(frame(), sep=";")),
    "tabs": lambda: ("t.tsv", csv(frame(), sep="\t")),
    "byte order mark": lambda: ("t.csv", "\ufeff".encode() + csv(frame())),
    "packed CSV": lambda: ("t.csv.gz", gzip.compress(csv(frame()))),
    "Parquet": lambda: ("t.parquet", parquet(frame())),
    "Parquet of moments": lambda: ("t.pq", parquet(with_times(lambda table, name: local(table[name])))),
    "two tables": lambda: [frame()[:7], frame()[7:]],
    "snapshots": lambda: snapshots(frame()),
}  # fmt: skip


@pytest.fixture(scope="module")
def runs_of_frame(timetable: Timetable) -> dict[str, Any]:
    """The trips of each date by the table that the forms are made from."""
    found = {date: runs_on(each, date) for date, each in observed(timetable, frame(), "interpolate").items()}
    assert [*found] == [*DATES]
    assert all(found[date] != runs_on(timetable, date) for date in DATES)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_tables_are_equal(
    timetable: Timetable, name: str, runs_of_frame: dict[str, Any], tmp_path: Path
) -> None:
    given = FORMS[name]()
    if isinstance(given, tuple):
        (tmp_path / given[0]).write_bytes(given[1])
        given = tmp_path / given[0]
    ours = observed(timetable, given, "interpolate")
    assert {date: runs_on(each, date) for date, each in ours.items()} == runs_of_frame


def test_times_by_hand(timetable: Timetable) -> None:
    date = "20201024"
    found = observed(timetable, frame(), "interpolate")[date]
    runs = {trip: calls for trip, calls in runs_on(found, date) if trip != "again"}
    at = twin.midnight(date, ZONE)
    times = {trip: [(call[1] - at, call[2] - at) for call in calls] for trip, calls in runs.items()}
    seconds = twin.seconds
    assert times["day"] == [
        (seconds("08:02:00"), seconds("08:02:05")),
        # A departure a minute after the arrival, of ten minutes to the next arrival.
        (seconds("08:12:00"), seconds("08:13:00")),
        (seconds("08:22:00"), seconds("08:22:05")),
    ]
    assert times["night"] == [
        (seconds("25:52:00"), seconds("25:52:05")),
        # A quarter of the way from 125 s to 120 s late.
        (seconds("26:02:04"), seconds("26:02:04")),
        (seconds("26:32:00"), seconds("26:32:05")),
    ]


def packed(folder: Path, form: str) -> Any:
    contents = {f"{i:03}.json": content for i, content in enumerate(snapshots(frame()))}
    contents["table.csv"] = csv(frame()[:3])
    if form == "list":
        return iter([*contents.values()][:-1])
    if form in ("folder", "dict"):
        for name, content in contents.items():
            (folder / name[:2]).mkdir(exist_ok=True)
            (folder / name[:2] / name).write_bytes(content)
        (folder / "README.md").write_text("about")
        (folder / ".hidden").write_bytes(b"x")
        return folder if form == "folder" else {"feed": folder}
    path = folder / f"archive.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        return path
    with tarfile.open(path, f"w:{form.rpartition('.')[2].replace('tar', '')}") as archive:
        for name, content in reversed(contents.items()):
            member = tarfile.TarInfo(f"day/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return str(path)


@pytest.mark.parametrize("form", ["folder", "list", "zip", "tar", "tar.gz", "tar.xz", "dict"])
def test_files_are_found(timetable: Timetable, form: str, tmp_path: Path) -> None:
    read = read_archive(timetable, packed(tmp_path, form), None, {})
    whole = read_archive(timetable, snapshots(frame()), None, {})
    assert read.findings == {}
    assert read.dates == whole.dates
    if form != "dict":
        assert read.store.digest() == whole.store.digest()
    other = read_archive(timetable, frame()[1:], None, {})
    assert other.store.digest() != whole.store.digest()


def test_what_is_bad_is_found_by_name(timetable: Timetable, tmp_path: Path) -> None:
    good = snapshots(frame())
    (tmp_path / "1.json").write_bytes(good[0])
    (tmp_path / "2.pb").write_bytes(b"\x0a\x0d\x0a")
    (tmp_path / "3.json").write_bytes(good[1][:100])
    (tmp_path / "4.pb").write_bytes(os.urandom(100))
    (tmp_path / "5.gz").write_bytes(gzip.compress(good[1])[:50])
    (tmp_path / "6.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "7.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "8.zip").write_bytes(b"PK nothing")
    (tmp_path / "9.tar.gz").write_bytes(gzip.compress(b"nothing"))
    (tmp_path / "a.json").write_bytes(good[2])
    (tmp_path / "b.pb").write_bytes(b"")
    small_feed(tmp_path, "c.zip")
    read = read_archive(timetable, tmp_path, None, {})
    bad = [name for _, name, what, _ in read.findings]
    assert bad == ["2.pb", "3.json", "4.pb", "5.gz", "6.csv", "7.parquet", "8.zip", "9.tar.gz", "b.pb", "c.zip"]
    assert all(reason.strip() for *_, reason in read.findings)
    assert len(read.dates) == 1
    for name in ("1.json", "a.json"):
        (tmp_path / name).unlink()
    with pytest.raises(InputError, match=r"6\.csv has no column of trips"):
        read_archive(timetable, tmp_path, None, {})
    (tmp_path / "6.csv").unlink()
    with pytest.raises(DataError, match=r"none of the 6 files of the archive can be read; 2\.pb: "):
        read_archive(timetable, tmp_path, None, {})


@pytest.mark.slow
def test_what_unpacks_to_much_more(timetable: Timetable, tmp_path: Path) -> None:
    good, bomb = snapshots(frame())[0], b"\0" * 70_000_000
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.pb", bomb)
        archive.writestr("good.json", good)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bomb, 1))
    rows = b"trip_id,stop_id,arrival\n" + (b"a,b," + b"1" * 5_000 + b"\n") * 14_000
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(rows, 1))
    read = read_archive(timetable, tmp_path, None, {})
    assert {name: reason for _, name, _, reason in read.findings if "unpacks to more than" in reason}.keys() == {
        "bomb.csv.gz", "bomb.gz", "bomb.pb",
    }  # fmt: skip


def test_rows_that_are_no_text(timetable: Timetable, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(
        csv(frame()[:2]) + b"day\xff,1\n" + csv(frame()[2:], header=False) + b"\xff\xff,\xff\n"
    )
    read = read_archive(timetable, tmp_path, None, {})
    assert findings(read) == {"row with more or fewer fields than the header": 2}
    assert len(read.dates) == 3


def findings(read: Archive) -> dict[str, int]:
    return {reason: n for (_, _, _, reason), n in read.findings.items()}


def test_bad_rows_are_counted(timetable: Timetable) -> None:
    table = frame().astype(object)
    table.loc[0, "trip_id"] = None
    table.loc[1, "date"] = "tomorrow"
    table.loc[2, ["arrival", "departure"]] = "soon", ""
    table.loc[3, ["arrival", "departure"]] = 1603468800000, None
    table.loc[4, ["stop_sequence", "stop_id"]] = None, ""
    table.loc[5, "stop_sequence"] = "first"
    read = read_archive(timetable, table, None, {})
    assert findings(read) == {
        "no trip_id": 1, "date that is none": 1, "arrival that is no time": 2, "neither stop_sequence nor stop_id": 1,
        "stop_sequence that is no number": 1,
    }  # fmt: skip


@pytest.mark.parametrize("years", [-40, 40, 5000])
def test_times_decades_off_are_not_used(timetable: Timetable, years: int) -> None:
    table = frame()
    table.loc[0, "arrival"] += years * 366 * 86_400
    ours = observed(timetable, table, "interpolate")
    assert [*ours] == [*DATES]
    table.loc[0, "arrival"] = table.loc[0, "departure"] - 5
    theirs = observed(timetable, table, "interpolate")
    assert runs_on(ours[DATES[1]], DATES[1]) == runs_on(theirs[DATES[1]], DATES[1])


def test_an_archive_of_another_city(timetable: Timetable) -> None:
    table = frame().assign(trip_id="elsewhere")
    with pytest.raises(DataError, match=r"0 of 3 runs .* unknown trip_id.*'elsewhere'.*'again'"):
        read_archive(timetable, table, None, {})
    with pytest.raises(DataError, match=r"outside the dates of the timetable.*from 2020-10-01 to 2020-11-30"):
        read_archive(timetable, frame().assign(date="20190101"), None, {})
    few = pd.concat([frame(), *(frame().assign(trip_id=f"x{i}") for i in range(5))])
    with pytest.warns(UserWarning, match=r"6 of 21 runs of the archive are in the timetable"):
        read_archive(timetable, few, None, {})


@pytest.mark.parametrize(
    ("archive", "error", "text"),
    [
        (3, InputError, "archive must be a folder, a file"),
        ([], InputError, "at least one snapshot or table; got none"),
        ({3: "a"}, InputError, "names of feeds; got 3"),
        ("https://a.example/x.zip", InputError, "Download it first"),
        ("/nowhere/at/all", MissingFileError, "no archive at"),
        (pd.DataFrame({"a": [1]}), InputError, "the table has no column of trips"),
        (frame()[["trip_id", "arrival"]], InputError, "the table has no column of stops"),
        (frame()[["trip_id", "stop_id"]], InputError, "the table has no column of observed times"),
        (b"", DataError, "the message"),
        (frame()[:0], DataError, "no observation of a trip"),
    ],
)
def test_errors_say_what_to_give(timetable: Timetable, archive: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        read_archive(timetable, archive, None, {})


def test_an_empty_folder(timetable: Timetable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one snapshot or table; got none"):
        read_archive(timetable, tmp_path, None, {})


@pytest.mark.thorough
def test_clock_times_that_come_twice(timetable: Timetable) -> None:
    """On the 24th, the trip at night arrives at 02:30, half an hour before the clock goes back to 02:00."""
    date = "20201024"
    for late in range(0, 7200, 600):
        time = posix(date, "26:30:00") + late
        table = pd.DataFrame({"trip_id": ["night"], "stop_sequence": [3], "arrival": [time]})
        clock = local(table["arrival"]).dt.tz_localize(None)
        found = {}
        for form in (table, table.assign(arrival=clock), table.assign(arrival=clock.astype(str))):
            made = observed(timetable, form, "interpolate")
            assert [*made] == [date]
            runs = {trip: calls for trip, calls in runs_on(made[date], date) if trip == "night"}
            found[len(found)] = runs["night"][-1][1]
        # Of two moments with one clock time, the nearer to the timetable.
        nearest = min((time - 3600, time, time + 3600), key=lambda each: abs(each - posix(date, "26:30:00")))
        same = len({*local(pd.Series([time, nearest])).dt.strftime("%H:%M")}) == 1
        assert found == {0: time, 1: nearest if same else time, 2: nearest if same else time}


def test_repetitions_by_their_start(timetable: Timetable) -> None:
    date = DATES[0]
    table = pd.DataFrame(
        {
            "trip_id": "again", "start_time": ["10:20:00", "10:20:00", "10:40:00"], "date": date,
            "stop_sequence": [1, 2, 2], "arrival": ["10:21:00", "10:33:00", "10:51:00"],
        }
    )  # fmt: skip
    at = twin.midnight(date, ZONE)

    def times(unobserved: str) -> list[list[str]]:
        made = observed(timetable, table, "interpolate", unobserved)[date]
        runs = sorted(calls for trip, calls in runs_on(made, date).elements() if trip == "again")
        return [[twin.clock(call[1] - at) for call in calls] for calls in sorted(runs, key=lambda calls: calls[0][1])]

    seen = [["10:21:00", "10:33:00"], ["10:41:00", "10:51:00"]]
    assert times("planned") == [["10:00:00", "10:10:00"], *seen]
    assert times("drop") == seen


def test_feeds_with_equal_ids(tmp_path: Path) -> None:
    both = read_timetable([small_feed(tmp_path, "a.zip"), small_feed(tmp_path, "b.zip")])
    with pytest.raises(DataError, match="in several feeds"):
        read_archive(both, frame(), None, {})
    with pytest.raises(InputError, match="no feed of the network is called 'c'"):
        read_archive(both, frame(), "c", {})
    date = DATES[0]
    for unobserved in ("planned", "drop"):
        one = observed(both, {"a": frame()}, "interpolate", unobserved)[date]
        days = [calls for trip, calls in runs_on(one, date).elements() if trip == "day"]
        assert sorted(calls[0][1] - posix(date, "08:00:00") for calls in days) == [0, 60]


@pytest.mark.thorough
def test_a_million_rows_are_read_in_parts(timetable: Timetable) -> None:
    table = frame()
    many = table.loc[np.tile(table.index, 20_000)]
    ours = observed(timetable, many, "interpolate")
    theirs = observed(timetable, table, "interpolate")
    assert all(runs_on(ours[date], date) == runs_on(theirs[date], date) for date in DATES)
