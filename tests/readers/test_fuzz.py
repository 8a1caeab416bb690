"""
Feeds with odd bytes, fields and encodings in any place: read, or refused with a `GtfsError`, and nothing else.

The short run is part of the tests; the long one has its own command::

    TRAVELTIME_LAB_FUZZ_CASES=20000 python -m pytest tests/readers/test_fuzz.py
"""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

import pytest

from tests.support.combinations import first_of
from tests.support.feeds import LINE, posix, text
from traveltime_lab.errors import GtfsError
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.transit.timetable_file import from_tables, to_tables
from traveltime_lab.transit.trip_instances import trip_table

#: Feeds of all parts together.
CASES = int(os.environ.get("TRAVELTIME_LAB_FUZZ_CASES", "120"))
PARTS = 4

TRIPS = (("t", 8), ("u", 9), ("v", 25), ("w", 10))
#: A feed with every file that is read.
FILES = {name: text(content) for name, content in LINE.items()} | {
    "stops": "stop_id,stop_name,stop_lat,stop_lon,zone_id,parent_station,location_type\n"
    "a,Ash,0.5,0.50,z,,0\nb,Bìrch,0.5,0.51,z,p,0\nc,Cedar,0.5,0.52,,p,0\np,Pärent,0.5,0.515,,,1\n",
    "trips": "route_id,service_id,trip_id,trip_headsign,block_id,shape_id\n"
    'R,daily,t,North,b1,s\nR,daily,u,Süd,b1,s\nR,daily,v,"Mid, town",,s\nR,daily,w,Often,,\n',
    "stop_times": "trip_id,stop_sequence,stop_id,arrival_time,departure_time,stop_headsign,shape_dist_traveled\n"
    + "".join(
        f"{trip},{i},{stop},{hour}:{10 * i}:00,{hour}:{10 * i}:30,to {stop},{i}.5\n"
        for trip, hour in TRIPS
        for i, stop in enumerate("abc", 1)
    ),
    "calendar_dates": "service_id,date,exception_type\ndaily,20260105,2\nextra,20260106,1\n",
    "frequencies": "trip_id,start_time,end_time,headway_secs,exact_times\nw,6:00:00,7:00:00,600,0\n",
    "transfers": "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,60\nb,b,0,\n",
    "shapes": "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled\n"
    "s,0.5,0.5,1,0\ns,0.5,0.52,2,3\n",
    "fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,\n",
    "fare_rules": "fare_id,route_id,origin_id\nf,R,z\n",
    "feed_info": "feed_publisher_name,feed_version,feed_start_date,feed_end_date\nX,1,20260101,20261231\n",
}
ODD = [
    b"", b" ", b"\t", b"\x00", b"\x1a", b'"', b'""', b'"x\n', b"'", b",", b",,,", b";", b"\n", b"\r", b"\r\n", b"\\N",
    b"\xe9", b"\xff", b"\xc3", b"\xe9,", b",\xe9", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80",
    b"\xf0\x9f\x9a\x8c", b"-1", b"0.5", b"nan", b"inf", b"1e400", b"2147483648", b"4294967296", b"9" * 20,
    b"a" * 70_000, b"=1+1",
    b"8:00", b"24:60:00", b"999:00:00", b"9999:00:00", b"-1:00:00",
    b"00000000", b"00010101", b"20260230", b"99991231",
]  # fmt: skip


def spoiled(content: bytes, dice: random.Random) -> bytes:
    """Return a file with something odd in one place."""
    kind = dice.choices(["insert", "field", "byte", "cut", "latin-1", "utf-16"], [6, 10, 1, 1, 1, 1])[0]
    if kind == "field":
        lines = content.split(b"\n")
        # Headers are hit less often: without its columns a feed is refused.
        row = dice.randrange(len(lines)) if dice.random() < 0.1 else dice.randrange(1, max(2, len(lines)))
        row = min(row, len(lines) - 1)
        fields = lines[row].split(b",")
        place = dice.randrange(len(fields))
        fields[place] = dice.choice([b"", fields[place]]) + dice.choice(ODD)
        lines[row] = b",".join(fields)
        return b"\n".join(lines)
    at = dice.randrange(len(content) + 1)
    if kind == "insert":
        return content[:at] + dice.choice(ODD) + content[at:]
    if kind == "byte":
        return content[:at] + dice.randbytes(1) + content[at + 1 :]
    return content[:at] if kind == "cut" else content.decode(errors="replace").encode(kind, errors="replace")


def spoiled_feed(path: Path, dice: random.Random) -> None:
    """Write the feed with something odd in one to four of its files."""
    files = {name: content.encode() for name, content in FILES.items()}
    for name in dice.choices(list(files), k=dice.randint(1, 4)):
        files[name] = spoiled(files[name], dice)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.txt", content)


def is_read(path: Path) -> bool:
    """Return whether a feed is read, not refused, after checks of what was read."""
    begin = posix("2026-03-02T00:00:00")
    try:
        timetable = read_timetable(path)
    except GtfsError as error:
        assert path.name in str(error)
        return False
    assert timetable.report()
    same = from_tables(*to_tables(timetable))
    assert same.fingerprint == timetable.fingerprint
    table = trip_table(timetable, begin, begin + 86_400)
    assert (table.departure >= table.arrival).all()
    return True


@pytest.mark.parametrize("part", first_of(1, range(PARTS), mark=pytest.mark.thorough, few=pytest.mark.slow))
def test_odd_feeds_are_read_or_refused(part: int, tmp_path: Path) -> None:
    dice = random.Random(part)
    n_read = 0
    for _ in range(-(-CASES // PARTS)):
        spoiled_feed(tmp_path / "feed.zip", dice)
        n_read += is_read(tmp_path / "feed.zip")
    assert n_read > CASES // PARTS // 3


# What the random feeds found, in plain words --------------------------------------------------------------------------


def stops(tmp_path: Path, content: bytes) -> dict[str, dict[str, str]]:
    """Read a feed with other stops; return the report."""
    path = tmp_path / "feed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, lines in {**LINE, "stops": content}.items():
            archive.writestr(f"{name}.txt", lines if isinstance(lines, bytes) else text(lines))
    return read_timetable(path).notes[0]


HEADER = b"stop_id,stop_name,stop_lat,stop_lon\n"
GOOD = b"a,Ash,0.5,0.50\nb,Birch,0.5,0.51\nc,Cedar,0.5,0.52\n"


def test_an_old_encoding_and_an_extra_comma(tmp_path: Path) -> None:
    facts = stops(tmp_path, HEADER + GOOD + b"d,Caf\xe9, old,0.5,0.53\n")
    assert facts["noted"]["stops.txt: not UTF-8: read as Windows-1252"] == "1 rows"
    assert facts["dropped"] == {"stops.txt: stop_lat is not a number": "1 rows, lines 5, such as 'old'"}


def test_two_encodings_in_one_file(tmp_path: Path) -> None:
    content = HEADER + GOOD.replace(b"Ash", "Öre".encode()).replace(b"Birch", b"\xd6re")
    path = tmp_path / "feed.zip"
    assert stops(tmp_path, content)["noted"] == {"stops.txt: not UTF-8: read as Windows-1252": "1 rows"}
    assert read_timetable(path).stops["stop_name"].tolist() == ["Öre", "Öre", "Cedar"]
