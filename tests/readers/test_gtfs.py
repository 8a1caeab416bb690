"""Feeds as they are published: read, repaired, dropped with a report, or refused with an exact message."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.feeds import LINE, feed, text
from tests.support.osm_files import osm_xml
from traveltime_lab import build_network
from traveltime_lab.errors import DataError, GtfsError, InputError, MissingFileError
from traveltime_lab.kernels.transit import parse
from traveltime_lab.modes.table import MODES, TIMETABLE_TYPES
from traveltime_lab.modes.transportation import ROUTE_MODES
from traveltime_lab.readers.gtfs import extras
from traveltime_lab.readers.gtfs.feed import read_feed, read_timetable
from traveltime_lab.readers.gtfs.files import FeedFiles, TextTable
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.transit.route_types import VEHICLE_WORDS, is_selected, route_class, route_mode
from traveltime_lab.transit.timetable import Timetable

pytestmark = pytest.mark.quick

NO_TRIP = "no trip of the feed can be used:"
HEAD = "trip_id,stop_sequence,stop_id,arrival_time,departure_time"
CALLS = text(LINE["stop_times"])


def times(timetable: Timetable, trip_id: str = "t") -> list[tuple[str, int, int]]:
    """Stop, arrival and departure in minutes of a trip."""
    trip = timetable.trips["trip_id"].tolist().index(trip_id)
    pattern = timetable.hot.trip_pattern[trip]
    stops = timetable.pattern_stop[timetable.pattern_indptr[pattern] : timetable.pattern_indptr[pattern + 1]]
    window = slice(timetable.trip_indptr[trip], timetable.trip_indptr[trip + 1])
    return [
        (timetable.stops["stop_id"][stop], a / 60, d / 60)
        for stop, a, d in zip(stops, timetable.arrival[window], timetable.departure[window], strict=True)
    ]


LINE_TIMES = [("a", 480, 480), ("b", 490, 491), ("c", 500, 500)]


def test_plain_feed(tmp_path: Path) -> None:
    timetable = read_feed(feed(tmp_path))
    assert times(timetable) == LINE_TIMES
    assert timetable.notes[0]["dropped"] == timetable.notes[0]["noted"] == {}
    assert repr(timetable) == "<Timetable of 3 stops and 1 trips: feed 2026-01-01..2026-12-31>"


# Packing


def test_folder_nested_zip_and_sub_folder(tmp_path: Path) -> None:
    plain = feed(tmp_path)
    with zipfile.ZipFile(plain) as archive:
        archive.extractall(tmp_path / "folder")
        with zipfile.ZipFile(tmp_path / "sub.zip", "w") as sub:
            for name in archive.namelist():
                sub.writestr(f"gtfs/latest/{name}", archive.read(name))
                sub.writestr(f"__MACOSX/gtfs/latest/._{name}", b"")
        with zipfile.ZipFile(tmp_path / "dotted.zip", "w") as dotted:
            for name in archive.namelist():
                dotted.writestr(f"./{name}", archive.read(name))
    with zipfile.ZipFile(tmp_path / "nested.zip", "w") as nested:
        nested.write(tmp_path / "sub.zip", "inner/feed.zip")
        nested.writestr("licence.txt", "free")
    for source in ("folder", "sub.zip", "dotted.zip", "nested.zip"):
        assert times(read_feed(tmp_path / source)) == LINE_TIMES, source


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"\xc3("])
@pytest.mark.parametrize("where", ["everywhere", "before the content", "in the directory"])
def test_names_in_zips_that_are_no_text(where: str, bad: bytes, tmp_path: Path) -> None:
    path = tmp_path / "feed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in LINE.items():
            archive.writestr(f"é/{name}.txt", text(content))
    whole, name = path.read_bytes(), "é".encode()
    assert read_feed(path).stops.shape[0] == 3
    if where == "everywhere":
        path.write_bytes(whole.replace(name, bad))
    else:
        at = whole.find(name, 0 if where == "before the content" else whole.index(b"PK\x01\x02"))
        path.write_bytes(whole[:at] + bad + whole[at + 2 :])
    with pytest.raises(GtfsError, match=r"feed\.zip"):
        read_feed(path)


def test_zips_in_zips_end(tmp_path: Path) -> None:
    """There are zip files that contain themselves."""
    path = feed(tmp_path)
    for depth in range(5):
        content = path.read_bytes()
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.zip", content)
        if depth < 3:
            assert read_feed(path).stops.shape[0] == 3
        else:
            with pytest.raises(GtfsError, match="zip files in zip files, 3 deep"):
                read_feed(path)


@pytest.mark.parametrize("row", ["z," + "a" * 200_000 + ",0.5,0.5,9,9,9\n", '"' + "a" * 200_000])
def test_endless_fields(row: str, tmp_path: Path) -> None:
    path = tmp_path / "feed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in LINE.items():
            archive.writestr(f"{name}.txt", text(content) + (row if name == "stops" else ""))
    with pytest.raises(GtfsError, match=r"stops\.txt"):
        read_feed(path)


@pytest.mark.parametrize("file", ["stops", "stop_times"])
def test_endless_headers(file: str, tmp_path: Path) -> None:
    content = '"' + "a" * 200_000 + text(LINE[file])
    with pytest.raises(GtfsError, match=rf"{file}\.txt"):
        read_feed(feed(tmp_path, **{file: content.encode()}))


@pytest.mark.slow
def test_damaged_directories_of_zips(tmp_path: Path) -> None:
    """Each byte of the directory at the end of a zip, changed: all is read, or the error says that it cannot be."""
    path = feed(tmp_path)
    whole = path.read_bytes()
    first = whole.index(b"PK\x01\x02")
    refused = 0
    for at in range(first, len(whole)):
        for value in (255, whole[at] ^ 1):
            path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                files = FeedFiles(path)
                for name in ("stops.txt", "trips.txt", "stop_times.txt"):
                    files.read(name, ["stop_id"], Findings())
            except GtfsError:
                refused += 1
    assert refused > 100


def test_files_without_a_name(tmp_path: Path) -> None:
    path = feed(tmp_path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        last = archive.namelist()[-1]
    # The length of the name, in the directory, is 28 bytes after the signature.
    entry = whole.rindex(b"PK\x01\x02")
    name = whole.index(last.encode(), entry)
    nameless = bytearray(whole)
    nameless[entry + 28 : entry + 30] = bytes(2)
    # The name becomes an extra field of an unknown kind.
    nameless[entry + 30 : entry + 32] = len(last).to_bytes(2, "little")
    nameless[name : name + 4] = b"\xff\xff" + (len(last) - 4).to_bytes(2, "little")
    path.write_bytes(bytes(nameless))
    with zipfile.ZipFile(path) as archive:
        assert "" in archive.namelist()
    assert last not in FeedFiles(path)


def test_what_is_no_feed(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"there is no GTFS feed at .*gone\.zip; give the path"):
        read_feed(tmp_path / "gone.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(GtfsError, match=r"text\.zip is not a zip file .* a feed is a zip or a folder of \.txt files"):
        read_feed(tmp_path / "text.zip")
    whole = feed(tmp_path).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(GtfsError, match=r"cut\.zip is not a zip file"):
        read_feed(tmp_path / "cut.zip")
    damaged = bytearray(whole)
    at = whole.index(b"stop_times.txt") + 20
    damaged[at] ^= 0xFF
    (tmp_path / "damaged.zip").write_bytes(damaged)
    with pytest.raises(GtfsError, match=r"damaged\.zip: stop_times\.txt cannot be unpacked .*; download the feed"):
        read_feed(tmp_path / "damaged.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GtfsError, match=r"is not a GTFS feed: there is no stops\.txt"):
        read_feed(tmp_path / "empty")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as two:
        two.writestr("north.zip", whole)
        two.writestr("south.zip", whole)
    with pytest.raises(GtfsError, match=r"contains several feeds: north\.zip, south\.zip; unpack it"):
        read_feed(tmp_path / "two.zip")
    with pytest.raises(InputError, match="at least one GTFS feed"):
        read_timetable([])


# Text


@pytest.mark.pythons
@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + CALLS.encode(),
        CALLS.replace("\n", "\r\n").encode(),
        CALLS.replace("\n", "\n\n").encode(),
        ("\n\n" + CALLS).encode(),
        CALLS.replace(",", " , ").encode(),
        CALLS.replace("t,", '"t",').encode(),
        (CALLS.partition("\n")[0].title() + "\n" + CALLS.partition("\n")[2]).encode(),
        CALLS.rstrip("\n").encode(),
        CALLS.encode("utf-16"),
        "\n".join([CALLS.splitlines()[i] for i in (0, 3, 1, 2)]).encode(),
        CALLS.replace(":00\n", ":00,,\n").encode(),
        CALLS.replace(",1,a", ",1.0,a").encode(),
        CALLS.replace("8:00:00,8:00:00", "08:00:00,").encode(),
    ],
    ids=[
        "byte order mark", "Windows lines", "blank lines", "blank lines first", "spaces", "quotes", "capitals",
        "no last newline", "UTF-16", "rows out of order", "trailing commas", "decimal numbers", "one of two times",
    ],
)  # fmt: skip
def test_ways_of_writing_the_same(tmp_path: Path, content: bytes) -> None:
    timetable = read_feed(feed(tmp_path, stop_times=content))
    assert times(timetable) == LINE_TIMES
    assert timetable.notes[0]["dropped"] == {}


def test_names_with_commas_quotes_line_breaks_and_old_encodings(tmp_path: Path) -> None:
    stops = (
        b'stop_id,stop_name,stop_lat,stop_lon\na,"Ash, ""old""\nside",0.5,0.50\nb,B\xe4r,0.5,0.51\nc,Cedar,0.5,0.52\n'
    )
    timetable = read_feed(feed(tmp_path, stops=stops))
    assert timetable.stops["stop_name"].tolist() == ['Ash, "old"\nside', "Bär", "Cedar"]
    assert timetable.notes[0]["noted"] == {"stops.txt: not UTF-8: read as Windows-1252": "1 rows"}


def test_lines_are_counted_through_blank_lines_quotes_and_ragged_rows(tmp_path: Path) -> None:
    stops = (
        "stop_id,stop_name,stop_lat,stop_lon\r\n"  # 1
        "\r\n"
        'a,"two\r\nlines",0.5,0.50\r\n'  # 3 and 4
        "b,Birch,0.5,0.51\r\n"
        "x,North,91,0.5\r\n"  # 6
        "ragged\r\n"  # 7
        "y,East,0.5,hello\r\n"  # 8
        "c,Cedar,0.5,0.52,more\r\n"  # 9
        "y,Again,0.5,0.5\r\n"  # 10
    )
    timetable = read_feed(feed(tmp_path, stops=stops.encode()))
    assert timetable.notes[0]["dropped"] == {
        "stops.txt: stop_lon is not a number": "1 rows, lines 8, such as 'hello'",
        "stops.txt: stop_lat is not within -90 to 90": "1 rows, lines 6, such as '91'",
        "stops.txt: duplicate stop_id": "1 rows, lines 10, such as 'y'",
    }
    assert timetable.notes[0]["noted"] == {
        "stops.txt: number of fields differs from the header: padded or truncated": (
            "2 rows, lines 7, 9, such as 'ragged'"
        ),
        "stops.txt: no coordinates: not linked to streets": "1 rows, lines 7",
    }
    assert set(timetable.stops["stop_id"]) == {"a", "b", "c", "ragged"}
    assert times(timetable) == LINE_TIMES


# Feeds that cannot be used


@pytest.mark.parametrize(
    ("files", "message", "file", "line"),
    [
        ({"agency": None}, "there is no agency.txt in the feed", "agency.txt", None),
        ({"stops": None}, "there is no stops.txt in the feed", "stops.txt", None),
        ({"routes": "route_id,route_type"}, "routes.txt has no rows", "routes.txt", None),
        ({"trips": None}, "there is no trips.txt in the feed", "trips.txt", None),
        ({"stop_times": None}, "there is no stop_times.txt; a timetable needs stop times", "stop_times.txt", None),
        ({"calendar": None}, "neither calendar.txt nor calendar_dates.txt has a row, so no trip ever runs",
         "calendar.txt", None),
        ({"agency": "agency_name,agency_timezone\nx,Mars/Olympus"},
         ("agency.txt, line 2: agency_timezone 'Mars/Olympus' is not an IANA time zone such as 'Europe/Rome', so the "
          "times of the feed are ambiguous"), "agency.txt", 2),
        ({"agency": "agency_name\nx"}, "agency.txt, line 1: there is no column 'agency_timezone'", "agency.txt", 1),
        ({"stop_times": CALLS.replace("stop_id", "stop")}, "stop_times.txt, line 1: there is no column 'stop_id'",
         "stop_times.txt", 1),
        ({"stop_times": CALLS.replace("_time", "_hour")},
         "stop_times.txt, line 1: there is neither arrival_time nor departure_time", "stop_times.txt", 1),
        ({"stop_times": HEAD}, f"{NO_TRIP} trips.txt: trip without stop times (1 rows, such as 't')",
         "stop_times.txt", None),
        ({"stop_times": b""}, f"{NO_TRIP} trips.txt: trip without stop times (1 rows, such as 't')",
         "stop_times.txt", None),
        ({"stop_times": CALLS.replace("8:2", "7:2")},
         f"{NO_TRIP} stop_times.txt: trip whose times decrease (1 rows, lines 4, such as 't')",
         "stop_times.txt", None),
        ({"stop_times": CALLS.replace("8:00:00", "")},
         f"{NO_TRIP} stop_times.txt: trip whose first or last stop time has no time (1 rows, lines 2, such as 't')",
         "stop_times.txt", None),
    ],
)  # fmt: skip
def test_unusable_feeds(tmp_path: Path, files: dict[str, Any], message: str, file: str, line: int | None) -> None:
    path = feed(tmp_path, **files)
    with pytest.raises(GtfsError) as caught:
        read_feed(path)
    assert str(caught.value) == f"{path}: {message}"
    assert (caught.value.file, caught.value.line) == (file, line)
    assert isinstance(caught.value, InputError) and isinstance(caught.value, DataError)


# Rows that cannot be used

MORE_TRIPS = LINE["trips"] + "R,daily,u"


def _more(file: str, *rows: str) -> str:
    return text(LINE[file]) + "\n".join(rows)


@pytest.mark.pythons
@pytest.mark.parametrize(
    ("files", "dropped"),
    [
        ({"stop_times": _more("stop_times", "x,1,a,9:00:00,9:00:00")},
         {"stop_times.txt: unknown trip_id": "1 rows, lines 5, such as 'x'"}),
        ({"stop_times": _more("stop_times", "t,4,x,9:00:00,9:00:00")},
         {"stop_times.txt: unknown stop_id": "1 rows, lines 5, such as 'x'"}),
        ({"stop_times": _more("stop_times", "t,four,c,9:00:00,9:00:00")},
         {"stop_times.txt: stop_sequence is not a whole number": "1 rows, lines 5, such as 'four'"}),
        ({"stop_times": _more("stop_times", "t,3,a,9:00:00,9:00:00")},
         {"stop_times.txt: duplicate stop_sequence in a trip": "1 rows, lines 5, such as 't'"}),
        ({"stop_times": _more("stop_times", "t,4,c,9:00,9:00:00")},
         {"stop_times.txt: arrival_time is not H:MM:SS": "1 rows, lines 5, such as '9:00'"}),
        ({"stop_times": _more("stop_times", "t,4,c,9:00:00,9:60:00")},
         {"stop_times.txt: departure_time is not H:MM:SS": "1 rows, lines 5, such as '9:60:00'"}),
        ({"stop_times": _more("stop_times", "t,4,c,-9:00:00,")},
         {"stop_times.txt: arrival_time is not H:MM:SS": "1 rows, lines 5, such as '-9:00:00'"}),
        ({"stop_times": """
             trip_id,stop_sequence,stop_id,arrival_time,departure_time,location_id,location_group_id
             t,1,a,8:00:00,8:00:00,,
             t,2,b,8:10:00,8:11:00,,
             t,3,c,8:20:00,8:20:00,,
             t,4,,8:30:00,8:30:00,area,
             t,5,,8:30:00,8:30:00,,group
             t,6,,8:30:00,8:30:00,,
             """},
         {"stop_times.txt: demand-responsive stop time without a stop": "2 rows, lines 5, 6",
          "stop_times.txt: unknown stop_id": "1 rows, lines 7"}),
        ({"trips": MORE_TRIPS}, {"trips.txt: trip without stop times": "1 rows, such as 'u'"}),
        ({"trips": MORE_TRIPS, "stop_times": _more("stop_times", "u,1,a,9:00:00,9:00:00")},
         {"stop_times.txt: trip with fewer than two stop times": "1 rows, lines 5, such as 'u'"}),
        ({"trips": MORE_TRIPS, "stop_times": _more("stop_times", "u,1,a,9:00:00,9:00:00", "u,2,b,8:59:00,9:01:00")},
         {"stop_times.txt: trip whose times decrease": "1 rows, lines 6, such as 'u'"}),
        ({"trips": MORE_TRIPS, "stop_times": _more("stop_times", "u,1,a,9:00:00,9:00:00", "u,2,b,,")},
         {"stop_times.txt: trip whose first or last stop time has no time": "1 rows, lines 6, such as 'u'"}),
        ({"trips": LINE["trips"] + "X,daily,u"}, {"trips.txt: unknown route_id": "1 rows, lines 3, such as 'X'"}),
        ({"trips": LINE["trips"] + "R,never,u"},
         {"trips.txt: service_id is in no calendar file": "1 rows, lines 3, such as 'never'"}),
        ({"trips": LINE["trips"] + "R,daily,t"}, {"trips.txt: duplicate trip_id": "1 rows, lines 3, such as 't'"}),
        ({"trips": LINE["trips"] + "R,daily,"}, {"trips.txt: trip_id is empty": "1 rows, lines 3"}),
        ({"routes": LINE["routes"] + "S,2,tram"},
         {"routes.txt: route_type is not a whole number": "1 rows, lines 3, such as 'tram'"}),
        ({"calendar": LINE["calendar"] + "x,1,1,1,1,1,1,1,20260230,20261231"},
         {"calendar.txt: start_date is not YYYYMMDD": "1 rows, lines 3, such as '20260230'"}),
        ({"calendar": LINE["calendar"] + "x,1,1,1,1,1,1,1,20260201,20260131"},
         {"calendar.txt: end_date is before start_date": "1 rows, lines 3, such as '20260131'"}),
        ({"calendar": LINE["calendar"] + "x,1,1,1,1,1,1,1,20260201,100000101"},
         {"calendar.txt: end_date is not YYYYMMDD": "1 rows, lines 3, such as '100000101'"}),
        ({"calendar": LINE["calendar"] + "x,1,1,1,yes,1,1,1,20260201,20260331"},
         {"calendar.txt: thursday is not 0 or 1": "1 rows, lines 3, such as 'yes'"}),
        ({"calendar_dates": "service_id,date,exception_type\ndaily,20260102,3\ndaily,2026-01-02,1\ndaily,20260102,2\n"
                            "daily,20260102,1\n,20260102,1"},
         {"calendar_dates.txt: service_id is empty": "1 rows, lines 6",
          "calendar_dates.txt: date is not YYYYMMDD": "1 rows, lines 3, such as '2026-01-02'",
          "calendar_dates.txt: exception_type is not 1 or 2": "1 rows, lines 2, such as '3'",
          "calendar_dates.txt: duplicate service_id and date": "1 rows, lines 5"}),
        ({"frequencies": "trip_id,start_time,end_time,headway_secs\nx,8:00:00,9:00:00,60\nt,8:00:00,9:00:00,0\n"
                         "t,9:00:00,9:00:00,60\nt,8,9:00:00,60\n"},
         {"frequencies.txt: unknown trip_id": "1 rows, lines 2, such as 'x'",
          "frequencies.txt: start_time is not H:MM:SS": "1 rows, lines 5, such as '8'",
          "frequencies.txt: end_time is not after start_time": "1 rows, lines 4, such as '9:00:00'",
          "frequencies.txt: headway_secs is not a number of seconds from 1 to a week": "1 rows, lines 3, such as '0'"}),
        ({"frequencies": "trip_id,start_time,end_time,headway_secs,exact_times\nt,8:00:00,9:00:00,60,\n"
                         "t,8:00:00,9:00:00,60,0\nt,9:00:00,9:30:00,60,0\n"},
         {"frequencies.txt: duplicate row": "1 rows, lines 3, such as 't'"}),
        ({"transfers": "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,x,0,\na,b,7,\na,b,2,soon\na,,2,60\n"
                       "a,b,4,"},
         {"transfers.txt: unknown to_stop_id": "1 rows, lines 2, such as 'x'",
          "transfers.txt: transfer_type is not 0 to 5": "1 rows, lines 3, such as '7'",
          "transfers.txt: min_transfer_time is not a number of seconds up to a week": "1 rows, lines 4, such as 'soon'",
          "transfers.txt: transfer without two stops": "1 rows, lines 5",
          "transfers.txt: in-seat transfer without two trips": "1 rows, lines 6"}),
        ({"shapes": "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\ns,0.5,0.5,1\ns,0.5,north,2\ns,95,0.5,3\n"
                    "s,0.5,0.5,"},
         {"shapes.txt: shape_pt_lon is not a longitude": "1 rows, lines 3, such as 'north'",
          "shapes.txt: shape_pt_lat is not a latitude": "1 rows, lines 4, such as '95'",
          "shapes.txt: shape_pt_sequence is not a whole number": "1 rows, lines 5"}),
        ({"fare_attributes": "fare_id,price,currency_type\nf,2.50,EUR\ng,free,EUR",
          "fare_rules": "fare_id,route_id\nf,R\nf,X\nh,R\n"},
         {"fare_attributes.txt: price is not a number of 0 or more": "1 rows, lines 3, such as 'free'",
          "fare_rules.txt: unknown fare_id": "1 rows, lines 4, such as 'h'",
          "fare_rules.txt: unknown route_id": "1 rows, lines 3, such as 'X'"}),
        ({"agency": LINE["agency"] + "B,Other,https://example.org,UTC",
          "fare_attributes": """
             fare_id,price,currency_type,transfers,transfer_duration,agency_id
             f,2,EUR,0,,A
             g,2,,0,,A
             h,2,EUR,3,,A
             i,2,EUR,0,long,A
             j,2,EUR,0,,X
             k,2,EUR,0,,A
             f,3,EUR,0,,A
             l,2,EUR,1,-5,A
             m,2,€,1,,A
             """,
          "routes": "route_id,route_type,agency_id\nR,3,A\nS,?,A",
          "fare_rules": "fare_id,route_id\nf,R\nh,R\nk,S\nk,T"},
         {"routes.txt: route_type is not a whole number": "1 rows, lines 3, such as '?'",
          "fare_attributes.txt: duplicate fare_id": "1 rows, lines 8, such as 'f'",
          "fare_attributes.txt: currency_type is not a code of three letters": "2 rows, lines 3, 10",
          "fare_attributes.txt: transfers is not 0, 1, 2 or empty": "1 rows, lines 4, such as '3'",
          "fare_attributes.txt: transfer_duration is not a number of seconds": "2 rows, lines 5, 9, such as 'long'",
          "fare_attributes.txt: unknown agency_id": "1 rows, lines 6, such as 'X'",
          # A fare without rules is valid everywhere, which one whose rules are all broken is not.
          "fare_attributes.txt: none of its rows in fare_rules.txt can be used": "1 rows, lines 7, such as 'k'",
          "fare_rules.txt: rule of a dropped fare": "1 rows, lines 3, such as 'h'",
          "fare_rules.txt: rule of a dropped route": "1 rows, lines 4, such as 'S'",
          "fare_rules.txt: unknown route_id": "1 rows, lines 5, such as 'T'"}),
        ({"agency": LINE["agency"] + "B,Other,https://example.org,Nowhere/Else"},
         {"agency.txt: agency_timezone is not an IANA time zone": "1 rows, lines 3, such as 'Nowhere/Else'"}),
    ],
)  # fmt: skip
def test_dropped_rows(tmp_path: Path, files: dict[str, Any], dropped: dict[str, str]) -> None:
    timetable = read_feed(feed(tmp_path, **files))
    assert timetable.notes[0]["dropped"] == dropped
    assert times(timetable) == LINE_TIMES


def test_what_is_noted_and_read_anyway(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            stops="""
                stop_id,stop_lat,stop_lon,parent_station,location_type,wheelchair_boarding,zone_id
                a,,,s,0,1,1
                b,0.5,0.51,gone,,9,1
                c,0,0,,,,
                s,0.5,0.5,,1,2,
            """,
            routes="route_id,route_type\nR,555",
            trips="route_id,service_id,trip_id,shape_id,direction_id\nR,daily,t,gone,5",
            shapes="shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence",
            transfers="""
                from_stop_id,to_stop_id,transfer_type,min_transfer_time,from_trip_id
                a,b,2,,
                a,b,3,,t
                a,c,3,,
                b,c,1,,t
            """,
            agency="""
                agency_id,agency_name,agency_url,agency_timezone
                A,Transit,https://example.org,UTC
                B,Other,https://example.org,UTC
            """,
            fare_attributes="fare_id,price,currency_type,agency_id\nf,2,EUR,A\ng,2,EUR,",
            fare_rules="fare_id,origin_id,destination_id\nf,1,2\ng,1,\ng,,1",
            frequencies="""
                trip_id,start_time,end_time,headway_secs
                t,8:00:00,9:00:00,600
                t,8:50:00,10:00:00,600
            """,
            areas="area_id",
        )
    )
    assert timetable.notes[0]["dropped"] == {}
    assert timetable.notes[0]["noted"] == {
        "stops.txt: unknown parent_station: ignored": "1 rows, lines 3",
        "stops.txt: no coordinates: the parent station's are used": "1 rows, lines 2",
        "stops.txt: no coordinates: not linked to streets": "1 rows, lines 4",
        "stops.txt: wheelchair_boarding is not 0 to 2: ignored": "1 rows, lines 3, such as '9'",
        "routes.txt: unknown route_type: used by public_transport only": "1 rows, lines 2, such as '555'",
        "trips.txt: unknown shape_id: ignored": "1 rows, lines 2",
        "trips.txt: direction_id is not 0 to 1: ignored": "1 rows, lines 2, such as '5'",
        "transfers.txt: transfer_type 2 without min_transfer_time: the walking time is used": "1 rows, lines 2",
        "transfers.txt: min_transfer_time and bans of single routes or trips: kept but not used": "1 rows, lines 3",
        "routes.txt: no known agency_id: the first agency is used": "1 rows, lines 2",
        "fare_attributes.txt: no agency_id in a feed of several agencies: valid for all of them": "1 rows, lines 3",
        "fare_rules.txt: destination_id is not a zone_id of stops.txt: the rule never applies": "1 rows, lines 2",
        "frequencies.txt: headways of a trip overlap: both are used": "1 rows, lines 3",
    }
    assert timetable.notes[0]["files_not_used"] == "areas.txt"
    assert timetable.stops["stop_lat"].tolist()[:2] == [0.5, 0.5] and np.isnan(timetable.stops["stop_lat"][2])
    assert timetable.stops["parent_idx"].tolist() == [3, -1, -1, -1]
    assert timetable.stops["wheelchair_boarding"].tolist() == [1, 0, 0, 2]


# Times


def test_missing_times_follow_the_distance_travelled(tmp_path: Path) -> None:
    calls = """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time,shape_dist_traveled
        t,1,a,8:00:00,8:00:00,0
        t,2,b,,,3
        t,3,a,,,9
        t,4,c,8:12:00,8:12:00,12
    """
    timetable = read_feed(feed(tmp_path, stop_times=calls))
    assert times(timetable) == [("a", 480, 480), ("b", 483, 483), ("a", 489, 489), ("c", 492, 492)]
    assert timetable.notes[0]["times_filled_in"] == {"by_shape_dist_traveled": 2, "by_straight_lines": 0, "evenly": 0}


def test_missing_times_follow_straight_lines_without_distances(tmp_path: Path) -> None:
    # a, b and c lie in a row, a kilometre apart: from a over b and c back to a are 1, 2 and 4 km of 4.
    calls = """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time,shape_dist_traveled
        t,1,a,8:00:00,8:02:00,0
        t,2,b,,,5
        t,3,c,,,
        t,4,a,8:10:00,8:10:00,12
    """
    timetable = read_feed(feed(tmp_path, stop_times=calls))
    assert times(timetable) == [("a", 480, 482), ("b", 484, 484), ("c", 486, 486), ("a", 490, 490)]
    assert timetable.notes[0]["times_filled_in"]["by_straight_lines"] == 2


def test_missing_times_at_one_place_are_even(tmp_path: Path) -> None:
    calls = """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        t,1,a,8:00:00,8:00:00
        t,2,a,,
        t,3,a,,
        t,4,a,8:03:00,8:03:00
    """
    timetable = read_feed(feed(tmp_path, stop_times=calls))
    assert times(timetable) == [("a", 480 + i, 480 + i) for i in range(4)]
    assert timetable.notes[0]["times_filled_in"]["evenly"] == 2


def test_the_shortest_and_the_longest_headway(tmp_path: Path) -> None:
    rows = "trip_id,start_time,end_time,headway_secs\nt,8:00:00,8:00:03,1\nt,9:00:00,9:00:01,604800"
    timetable = read_feed(feed(tmp_path, frequencies=rows))
    assert timetable.notes[0]["dropped"] == {}
    assert timetable.frequency_headway.tolist() == [1, 604_800]


def test_times_far_past_midnight(tmp_path: Path) -> None:
    timetable = read_feed(feed(tmp_path, stop_times=CALLS.replace("8:", "32:").replace("32:20", "100:20")))
    assert times(timetable)[0][1] == 32 * 60 and times(timetable)[2][1] == 100 * 60 + 20


@pytest.mark.pythons
@given(
    st.integers(0, 100_020_000)
    | st.dates().map(lambda day: int(day.strftime("%Y%m%d")))
    | st.integers(20_230_000, 20_250_000)
)
def test_dates_are_those_of_the_calendar(number: int) -> None:
    """Of each number: the day that its digits are, or none."""
    try:
        expected = dt.date(number // 10_000, number // 100 % 100, number % 100).toordinal()
    except ValueError:
        expected = parse.BROKEN
    column = pa.chunked_array([pa.array(["20240229"]), pa.array([], pa.string()), pa.array([str(number), ""])])
    table = TextTable(None, "calendar.txt", {"start_date": column}, 3, b"", 1, 1)
    assert table.dates("start_date").tolist() == [dt.date(2024, 2, 29).toordinal(), expected, parse.MISSING]


# What is kept


def test_stop_times_of_trips_that_take_turns(tmp_path: Path) -> None:
    """Rows may come in any order, also one that rises with stop_sequence but not with trips."""
    calls = """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        t,1,a,8:00:00,8:00:00
        u,2,b,9:10:00,9:11:00
        t,3,b,8:10:00,8:11:00
        u,4,c,9:20:00,9:20:00
        t,5,c,8:20:00,8:20:00
        u,6,a,9:30:00,9:30:00
    """
    timetable = read_feed(feed(tmp_path, trips=MORE_TRIPS, stop_times=calls))
    assert times(timetable) == LINE_TIMES
    assert times(timetable, "u") == [("b", 550, 551), ("c", 560, 560), ("a", 570, 570)]
    assert timetable.notes[0]["dropped"] == {}


def test_stops_at_the_edges_of_the_map(tmp_path: Path) -> None:
    places = "n,90,0\ns,-90,0\ne,0,180\nw,0,-180\n"
    stops = "stop_id,stop_lat,stop_lon\na,0.5,0.50\nb,0.5,0.51\nc,0.5,0.52\n" + places
    timetable = read_feed(feed(tmp_path, stops=stops))
    assert timetable.notes[0]["dropped"] == timetable.notes[0]["noted"] == {}
    assert timetable.stops["stop_lat"].tolist()[3:] == [90, -90, 0, 0]
    assert timetable.stops["stop_lon"].tolist()[3:] == [0, 0, 180, -180]


def test_what_belongs_to_a_dropped_trip_goes_with_it(tmp_path: Path) -> None:
    """Of trips t, u and v the second has one stop time only."""
    files = {
        "trips": MORE_TRIPS + "\nR,daily,v",
        "stop_times": _more("stop_times", "u,1,a,9:00:00,9:00:00", "v,1,a,9:00:00,9:00:00", "v,2,b,9:09:00,9:09:00"),
        "frequencies": "trip_id,start_time,end_time,headway_secs\nu,8:00:00,9:00:00,60\nv,8:00:00,9:00:00,90",
        "transfers": "from_stop_id,to_stop_id,transfer_type,from_trip_id,to_trip_id\na,a,4,u,v\nb,b,4,v,t",
    }
    timetable = read_feed(feed(tmp_path, **files))
    assert sorted(timetable.trips["trip_id"]) == ["t", "v"]
    names = timetable.trips["trip_id"].to_numpy()
    assert names[timetable.frequency_trip].tolist() == ["v"]
    assert timetable.frequency_headway.tolist() == [90]
    ends = timetable.transfers[["from_trip_idx", "to_trip_idx"]].to_numpy()
    assert names[ends].tolist() == [["v", "t"]]


def test_patterns_courses_and_headsigns(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            trips="""
                route_id,service_id,trip_id,shape_id,block_id,trip_headsign
                R,daily,one,s,b1,Town
                R,daily,two,s,b1,Town
                R,daily,three,,,Town
                R,daily,four,s,,Town
                R,daily,five,s,,Town
            """,
            shapes="""
                shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled
                s,0.5,0.52,20,2
                s,0.5,0.50,3,0
            """,
            stop_times="""
                trip_id,stop_sequence,stop_id,arrival_time,departure_time,pickup_type,stop_headsign,shape_dist_traveled
                one,1,a,8:00:00,8:00:00,0,,0
                one,2,b,8:10:00,8:10:00,0,,1
                two,1,a,7:00:00,7:00:00,,,0
                two,2,b,7:10:00,7:10:00,,,1
                three,1,a,9:00:00,9:00:00,,,
                three,2,b,9:10:00,9:10:00,,,
                four,1,a,6:00:00,6:00:00,,North,0
                four,2,b,6:10:00,6:10:00,,,1
                five,1,a,6:00:00,6:00:00,1,,0
                five,2,b,6:10:00,6:10:00,,,1
            """,
        )
    )
    assert timetable.trips["trip_id"].tolist() == ["four", "two", "one", "three", "five"]
    assert timetable.trips["pattern_idx"].tolist() == [0, 0, 0, 0, 1]
    assert timetable.pattern_pickup.tolist() == [0, 0, 1, 0]
    course = timetable.trips["course_idx"].tolist()
    assert course[1] == course[2] and len(set(course)) == 4
    first = timetable.course_indptr[course[0]]
    assert [timetable.headsigns[i] for i in timetable.course_headsign[first : first + 2]] == ["North", ""]
    assert timetable.course_along[first : first + 2].tolist() == [0.0, 1.0]
    assert timetable.course_shape[course].tolist() == [0, 0, 0, -1, 0]
    assert timetable.shape_lng.tolist() == [0.50, 0.52] and timetable.shape_along.tolist() == [0.0, 2.0]
    block = timetable.trips["block_idx"].tolist()
    assert block[1] == block[2] >= 0 and block[0] == block[3] == -1


def test_fares_are_kept(tmp_path: Path) -> None:
    timetable = read_feed(
        feed(
            tmp_path,
            fare_attributes="""
                fare_id,price,currency_type,payment_method,transfers,transfer_duration
                f,2.50,EUR,1,,5400
                g,1.00,EUR,0,0,
            """,
            fare_rules="fare_id,route_id,origin_id,destination_id,contains_id\nf,R,1,2,\ng,,,,3",
        )
    )
    assert timetable.fare_attributes["price"].tolist() == [2.5, 1.0]
    assert timetable.fare_attributes["transfers"].tolist() == [-1, 0]
    assert timetable.fare_attributes["transfer_duration"].tolist() == [5400, -1]
    assert timetable.fare_rules["fare_idx"].tolist() == [0, 1]
    assert timetable.fare_rules["route_idx"].tolist() == [0, -1]
    assert timetable.fare_rules["contains_id"].tolist() == ["", "3"]


def test_equal_ids_of_two_feeds_are_kept_apart(tmp_path: Path) -> None:
    rome = LINE["agency"].replace("UTC", "Europe/Rome")
    late = CALLS.replace("8:", "9:")
    both = read_timetable([feed(tmp_path, "a.zip"), feed(tmp_path, "b.zip", agency=rome, stop_times=late)])
    assert both.stops["stop_id"].tolist() == ["a", "b", "c"] * 2
    assert both.stops["feed_idx"].tolist() == [0, 0, 0, 1, 1, 1]
    assert both.trips["trip_id"].tolist() == ["t", "t"]
    assert both.hot.trip_feed.tolist() == [0, 1] and both.hot.trip_route.tolist() == [0, 1]
    assert both.pattern_stop.tolist() == [0, 1, 2, 3, 4, 5]
    assert [both.zones[i] for i in both.hot.trip_zone] == ["UTC", "Europe/Rome"]
    assert both.feeds["name"].tolist() == ["a", "b"]
    assert list(both.report()) == ["a", "b"]


# Enumerations

#: Values of each enumeration in the GTFS Schedule reference (gtfs.org/documentation/schedule/reference), what happens
#: to a row with a value that is not among them, and how one value is read.
DROPPED, IGNORED = "dropped", "noted"
#: Numbers beyond all of them. Those one below and one above are tried, too.
NUMBERS = (11,)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ENUMERATIONS: list[tuple[str, str, set[int], str, Any]] = [
    ("stops", "location_type", {0, 1, 2, 3, 4}, IGNORED, lambda t: t.stops["location_type"].iat[-1]),
    ("stops", "wheelchair_boarding", {0, 1, 2}, IGNORED, lambda t: t.stops["wheelchair_boarding"].iat[-1]),
    ("trips", "direction_id", {0, 1}, IGNORED, lambda t: t.trips["direction_id"].iat[-1]),
    ("trips", "wheelchair_accessible", {0, 1, 2}, IGNORED, lambda t: t.trips["wheelchair_accessible"].iat[-1]),
    ("trips", "bikes_allowed", {0, 1, 2}, IGNORED, lambda t: t.trips["bikes_allowed"].iat[-1]),
    ("stop_times", "pickup_type", {0, 1, 2, 3}, DROPPED, lambda t: t.pattern_pickup[-2]),
    ("stop_times", "drop_off_type", {0, 1, 2, 3}, DROPPED, lambda t: t.pattern_drop_off[-2]),
    *(("calendar", day, {0, 1}, DROPPED, lambda t, bit=bit: t.services.weekdays[-1] >> bit & 1)
      for bit, day in enumerate(DAYS)),
    ("calendar_dates", "exception_type", {1, 2}, DROPPED, lambda t: 2 - t.services.exception_added[-1]),
    ("frequencies", "exact_times", {0, 1}, DROPPED, lambda t: t.frequency_exact[-1]),
    ("transfers", "transfer_type", {0, 1, 2, 3, 4, 5}, DROPPED, lambda t: t.transfers["transfer_type"].iat[-1]),
    ("fare_attributes", "payment_method", {0, 1}, IGNORED, lambda t: t.fare_attributes["payment_method"].iat[-1]),
    ("fare_attributes", "transfers", {0, 1, 2}, DROPPED, lambda t: t.fare_attributes["transfers"].iat[-1]),
]  # fmt: skip
#: A row of each file whose enumerations are optional or have their own columns; `?` stands for the value.
ROWS = {
    "stops": ("stop_id,stop_name,stop_lat,stop_lon,{}", "d,Dogwood,0.5,0.53,?"),
    "trips": ("route_id,service_id,trip_id,{}", "R,daily,u,?"),
    "stop_times": ("trip_id,stop_sequence,stop_id,arrival_time,departure_time,{}", "u,2,b,9:10:00,9:10:00,?"),
    "calendar_dates": ("service_id,date,{}", "daily,20260102,?"),
    "frequencies": ("trip_id,start_time,end_time,headway_secs,{}", "t,8:00:00,9:00:00,600,?"),
    "transfers": ("from_stop_id,to_stop_id,from_trip_id,to_trip_id,min_transfer_time,{}", "a,b,t,t,60,?"),
    "fare_attributes": ("fare_id,price,currency_type,{}", "f,1,EUR,?"),
}


def feed_with(folder: Path, file: str, column: str, value: str) -> Path:
    """Write a feed of two trips with one value in a row of its own, the last of the file."""
    files = {
        "trips": LINE["trips"] + "R,daily,u",
        "stop_times": CALLS + "u,1,a,9:00:00,9:00:00\nu,2,b,9:10:00,9:10:00\nu,3,c,9:20:00,9:20:00",
    }
    if file == "calendar":
        files[file] = text(LINE[file]) + "odd," + ",".join(value if day == column else "0" for day in DAYS)
        files[file] += ",20260101,20261231"
    else:
        head, row = ROWS[file]
        old = text(files.get(file, LINE.get(file, ""))).splitlines()[1:]
        names = row.split(",")[:-1]
        # Rows before it leave the column empty, as optional columns may be.
        kept = [f"{line}," for line in old if not line.startswith(",".join(names[:3]))]
        after = ["u,3,c,9:20:00,9:20:00,"] if file == "stop_times" else []
        kept = [line for line in kept if line not in after]
        files[file] = "\n".join([head.format(column), *kept, row.replace("?", value), *after])
    return feed(folder, **files)


@pytest.mark.parametrize(
    ("file", "column", "known", "otherwise", "read"), ENUMERATIONS, ids=[f"{row[0]}-{row[1]}" for row in ENUMERATIONS]
)
def test_enumerations_are_those_of_the_reference(
    tmp_path: Path, file: str, column: str, known: set[int], otherwise: str, read: Any
) -> None:
    for number in (*range(-1, max(known) + 2), *NUMBERS):
        timetable = read_feed(feed_with(tmp_path, file, column, str(number)))
        notes = timetable.notes[0]
        about = {kind: [what for what in notes[kind] if f"{file}.txt: {column} is not" in what] for kind in
                 (DROPPED, IGNORED)}  # fmt: skip
        if number in known:
            assert about == {DROPPED: [], IGNORED: []}, number
            assert int(read(timetable)) == number
        else:
            assert len(about[otherwise]) == 1 and not about[IGNORED if otherwise == DROPPED else DROPPED], number
            if otherwise == IGNORED:
                assert read(timetable) == read(read_feed(feed_with(tmp_path, file, column, ""))), number


def test_every_enumeration_that_is_read_is_tried() -> None:
    """Columns that the reader compares with a range are in the table."""
    source = "".join(path.read_text("utf-8") for path in Path(extras.__file__).parent.glob("*.py"))
    compared = set(re.findall(r'choice\(table, findings, "(\w+)"', source))
    compared |= set(re.findall(r'_type_of_call\(table, "(\w+)"', source))
    compared |= set(re.findall(r'"(\w+) is not \d(?:,| or | to )', source))
    assert {column for _, column, *_ in ENUMERATIONS} - set(DAYS) == compared


# Route types

#: The basic types of the reference, and the extended ones (developers.google.com/transit/gtfs/reference/
#: extended-route-types, with the codes of the older list for air services).
BASIC = {0, 1, 2, 3, 4, 5, 6, 7, 11, 12}
EXTENDED = {
    *range(100, 118), *range(200, 210), *range(400, 406), *range(700, 717), 800, *range(900, 907), 1000,
    *range(1100, 1115), 1200, *range(1300, 1308), 1400, *range(1500, 1508), 1700, 1702,
}  # fmt: skip


def test_route_types_are_those_of_the_reference() -> None:
    assert {kind for kind in range(-10, 2000) if route_class(kind) is not None} == BASIC | EXTENDED


@pytest.mark.parametrize(
    ("route_type", "mode", "group"),
    [
        (0, "train", "train"), (1, "rail_underground", "train"), (2, "train", "train"), (3, "bus", "bus"),
        (4, "ferry", "ferry"), (5, "train", "train"), (6, "cable_car", "other"), (7, "train", "train"),
        (11, "bus", "bus"), (12, "train", "train"), (109, "train", "train"), (200, "coach", "coach"),
        (401, "rail_underground", "train"), (405, "train", "train"), (702, "bus", "bus"), (800, "bus", "bus"),
        (900, "train", "train"), (1000, "ferry", "ferry"), (1100, "plane", "other"), (1300, "cable_car", "other"),
        (1400, "train", "train"), (1501, "bus", "other"), (1700, "bus", "other"),
    ],
)  # fmt: skip
def test_route_types(route_type: int, mode: str, group: str) -> None:
    assert route_class(route_type) == (mode, group)


def test_modes_of_routes() -> None:
    basic = ["tram", "subway", "rail", "bus", "ferry", "cable_tram", "aerial_lift", "funicular"]
    assert [route_mode(kind) for kind in range(8)] == basic
    assert [route_mode(kind) for kind in (11, 12, 8, 1700, 5000)] == [
        "trolleybus",
        "monorail",
        "other",
        "other",
        "other",
    ]
    extended = {106: "rail", 200: "coach", 401: "subway", 405: "monorail", 702: "bus", 800: "trolleybus", 906: "tram"}
    extended |= {1000: "ferry", 1200: "ferry", 1100: "air", 1303: "aerial_lift", 1400: "funicular", 1501: "taxi"}
    assert {kind: route_mode(kind) for kind in extended} == extended
    # What has a name here is read there, and the other way around.
    known = {kind for kind in range(2000) if route_class(kind) is not None}
    assert {kind for kind in known if route_mode(kind) == "other"} == {1700, 1702}
    assert {route_mode(kind) for kind in range(2000)} == set(ROUTE_MODES) == set(VEHICLE_WORDS)
    assert not any(route_mode(kind) != "other" for kind in range(2000) if kind not in known)


def test_transportation_types_select_routes() -> None:
    groups = ["train", "bus", "coach", "ferry", "other"]
    chosen = {
        "public_transport": groups, "driving+public_transport": groups, "cycling+public_transport": groups,
        "bus": ["bus"], "coach": ["coach"], "train": ["train"], "driving+train": ["train"],
    }  # fmt: skip
    assert set(chosen) == set(TIMETABLE_TYPES)
    for name, expected in chosen.items():
        is_used = is_selected(groups, MODES[name].vehicles)
        assert [group for group, used in zip(groups, is_used, strict=True) if used] == expected
    assert route_class(8) is None and route_class(-1) is None


def test_a_feed_given_twice_is_an_error(tmp_path: Path) -> None:
    streets = tmp_path / "street.osm"
    streets.write_bytes(osm_xml({1: (0.5, 0.5), 2: (0.51, 0.5)}, [(10, "1 2", "highway=residential")]))
    one, other = feed(tmp_path, "a.zip"), feed(tmp_path, "b.zip", stop_times=CALLS.replace("8:", "9:"))
    copy, link = tmp_path / "copy.zip", tmp_path / "link.zip"
    copy.write_bytes(one.read_bytes())
    link.symlink_to(one)
    assert build_network(streets, gtfs=[one, other], timezone="UTC").transit is not None
    for again in (one, str(one), tmp_path / "." / "a.zip", link, copy):
        with pytest.raises(InputError, match=r"gtfs has .*zip twice.* give each feed once"):
            build_network(streets, gtfs=[one, other, again], timezone="UTC")
