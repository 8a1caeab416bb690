"""
stop_times.txt is read some megabytes at a time; the result does not depend on how many.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import feeds
from traveltime_lab.errors import GtfsError
from traveltime_lab.readers.gtfs import text
from traveltime_lab.readers.gtfs.feed import read_feed
from traveltime_lab.readers.gtfs.stop_time_rows import Ids, in_order
from traveltime_lab.readers.gtfs.stop_times import _groups

TRIPS = ("t", "u", "v")
TRIP_ROWS = "route_id,service_id,trip_id\n" + "".join(f"R,daily,{trip}\n" for trip in TRIPS)
HEADER = (
    "trip_id,stop_sequence,stop_id,arrival_time,departure_time,pickup_type,drop_off_type,stop_headsign,"
    "shape_dist_traveled"
)
LINE = ("t,1,a,8:00:00,8:00:00,,,,", "t,2,b,8:10:00,8:10:00,,,,")
#: Usable rows, and rows of every kind that is dropped, noted or read in its own way.
ROWS = st.one_of(
    st.builds(
        "{},{},{},8:{:02}:00,8:{:02}:00,{},,{},{}".format,
        st.sampled_from(TRIPS), st.integers(1, 12), st.sampled_from("abc"), st.integers(0, 59), st.integers(0, 59),
        st.sampled_from(("", "0", "1", "3")), st.sampled_from(("", "North", '"Ä, B"', "Süd")),
        st.sampled_from(("", "0.5", "7")),
    ),
    st.sampled_from(
        (
            "", *LINE, "u,1,b,9:00:00,9:00:00,,,,",
            "u,2,c,,,,,,", "u,3,a,9:20:00,9:20:00,,,,", "x,1,a,8:00:00,8:00:00,,,,", "t,3,z,8:00:00,8:00:00,,,,",
            "t,one,a,8:00:00,8:00:00,,,,", "t,-4,a,8:00:00,8:00:00,,,,", "t,9999999999,c,8:30:00,8:30:00,,,,",
            "t,4,a,8 o'clock,8:00:00,,,,", "t,5,a,8:00:00,8.00,,,,", "t,6,a,8:00:00,8:00:00,7,,,",
            "t,7,a,8:00:00,8:00:00,,-2,,", " v , 1 , a , 7:00:00 , 7:00:00 ,,,,", "v,2,c,7:30:00,7:30:00,,,Nord,",
            'v,3,"a",7:40:00,7:40:00,,,"two ""words""",x', "t,8,a,8:00:00", "t,8,a,8:00:00,8:00:00,,,,,,",
            'v,4,a,7:50:00,7:50:00,,,"a line\nand another",',
        )
    ),
)  # fmt: skip


def found(rows: list[str], newline: str, encoding: str, size: int) -> tuple[object, ...]:
    """Return everything that is read of a feed in blocks of a size, or the error."""
    content = newline.join([HEADER, *rows, ""]).encode(encoding)
    with TemporaryDirectory() as folder, mock.patch.object(text, "BLOCK", size):
        path = feeds.feed(Path(folder), trips=TRIP_ROWS, stop_times=content)
        try:
            timetable = read_feed(path)
        except GtfsError as error:
            return str(error).replace(folder, ""), error.file, error.line
        sequences = None if timetable.sequences is None else timetable.sequences.numbers.tolist()
        return timetable.fingerprint, timetable.notes, timetable.headsigns, sequences


@pytest.mark.slow
@given(
    st.lists(ROWS, min_size=1, max_size=30),
    st.sampled_from(("\n", "\r\n", "\r")),
    st.sampled_from(("utf-8", "utf-8-sig", "utf-16", "cp1252")),
    st.integers(1, 300),
)
@example(
    ["t,1,a,8:00:00,8:00:00,,,,", "t,2,b,8:10:00,8:10:00,,,,", *[""] * 50, "x,1,a,8:00:00,8:00:00,,,,"],
    "\n",
    "utf-8",
    40,
)
def test_blocks_of_any_size_give_the_same(rows: list[str], newline: str, encoding: str, size: int) -> None:
    assert found(rows, newline, encoding, size) == found(rows, newline, encoding, 1 << 25)


@pytest.mark.slow
@given(st.lists(st.text(max_size=6), max_size=30), st.lists(st.text(max_size=6), min_size=1, max_size=30))
def test_texts_are_found_where_they_are_first(known: list[str], asked: list[str]) -> None:
    asked = [*asked, *known, *asked]
    first = {value: i for i, value in reversed([*enumerate(known)])}
    ids = Ids(pa.array(known, pa.string()))
    parts = [ids.numbers(pa.chunked_array([part], pa.string())) for part in (asked[:7], asked[7:])]
    assert ids.rows(np.concatenate(parts)).tolist() == [first.get(value, -1) for value in asked]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=40))
def test_rows_are_in_order(rows: list[tuple[int, int, bool]]) -> None:
    trip, sequence, keep = (
        np.array([row[k] for row in rows], kind) for k, kind in enumerate((np.int32, np.int32, bool))
    )
    expected = sorted(np.flatnonzero(keep).tolist(), key=lambda i: (trip[i], sequence[i]))
    assert in_order(trip, sequence, keep, 5).tolist() == expected


@given(st.lists(st.lists(st.sampled_from([0, 1, 256, 2**40]), max_size=3), max_size=20))
def test_rows_with_the_same_keys_are_a_group(rows: list[list[int]]) -> None:
    indptr = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    group, leader = _groups(indptr, np.array([key for row in rows for key in row], np.int64))
    first = list(dict.fromkeys(map(tuple, rows)))
    assert group.tolist() == [first.index(tuple(row)) for row in rows]
    assert leader.tolist() == [rows.index(list(row)) for row in first]
