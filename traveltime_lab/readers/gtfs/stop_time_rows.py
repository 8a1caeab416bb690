"""
Read the rows of stop_times.txt as numbers, some megabytes of the file at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, Int32Array, Int64Array, UInt8Array
from traveltime_lab.kernels.transit import parse, stop_times
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.rows import codes
from traveltime_lab.readers.gtfs.text import TextBlocks, TextTable
from traveltime_lab.streets.components import order_by_row

FILE: Final = "stop_times.txt"
#: Times that are not H:MM:SS, beside `stop_times.UNTIMED` for empty ones.
BROKEN: Final = np.int32(-2)
#: Pickup and drop-off types that are not 0 to 3.
NO_TYPE: Final = np.uint8(255)
_COLUMNS: Final = (
    "trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence", "pickup_type", "drop_off_type",
    "shape_dist_traveled", "stop_headsign", "location_id", "location_group_id",
)  # fmt: skip
_MOST_INT32: Final = np.iinfo(np.int32).max


class StopTimeRows(NamedTuple):
    """
    Rows of stop_times.txt in the order of the file.

    Attributes
    ----------
    trip, stop : int32 arrays of shape (n_rows,)
        Row of trips.txt and of stops.txt, -1 for unknown ones.
    sequence : int32 array of shape (n_rows,)
        -1 if it is not a whole number, or negative; int64 if larger numbers occur.
    arrival, departure : int32 arrays of shape (n_rows,), s
        `stop_times.UNTIMED` where empty, `BROKEN` where invalid.
    pickup, drop_off : uint8 arrays of shape (n_rows,)
        0 where empty, `NO_TYPE` where invalid.
    is_flexible : bool array of shape (n_rows,) or (0,)
        Demand-responsive stop times without a stop.
    along : float64 array of shape (n_rows,) or (0,)
        shape_dist_traveled, NaN where not given; empty if it is given nowhere.
    headsign : int32 array of shape (n_rows,) or (0,)
        Number of the stop_headsign, 0 where empty; empty if it is given nowhere.
    """

    trip: Int32Array
    stop: Int32Array
    sequence: Int32Array | Int64Array
    arrival: Int32Array
    departure: Int32Array
    pickup: UInt8Array
    drop_off: UInt8Array
    is_flexible: BoolArray
    along: FloatArray
    headsign: Int32Array


class Ids:
    """The ids of a file, in which those of another are looked up."""

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        self._numbers: dict[str, int] = {}

    def numbers(self, values: pa.ChunkedArray) -> Int32Array:
        """Return a number of each value, which `rows` turns into rows: texts that repeat are looked up once."""
        return _numbers(values, self._numbers)

    def rows(self, numbers: Int32Array) -> Int32Array:
        """Return the first row with the id of each number, -1 for unknown ones."""
        return codes(pa.chunked_array([list(self._numbers)], pa.string()), self._ids)[numbers]


def _numbers(values: pa.ChunkedArray, known: dict[str, int]) -> Int32Array:
    """Return the number of each text in the order in which they first occur; `known` has them, and is extended."""
    coded = values.combine_chunks().dictionary_encode()
    renumber = np.array([known.setdefault(text, len(known)) for text in coded.dictionary.to_pylist()], np.int32)
    numbers: Int32Array = renumber[coded.indices.to_numpy()]
    return numbers


@dataclass
class _Reader:
    """Converts parts of the file, and numbers the headsigns in the order in which they occur."""

    trip_ids: Ids
    stop_ids: Ids
    headsigns: dict[str, int]

    def rows(self, table: TextTable) -> StopTimeRows:
        """Return the rows of a part of the file."""
        is_flexible = np.zeros(0, np.bool_)
        if "location_id" in table or "location_group_id" in table:
            is_flexible = table.is_missing("stop_id") & ~(
                table.is_missing("location_id") & table.is_missing("location_group_id")
            )
        along, _ = table.floats("shape_dist_traveled") if "shape_dist_traveled" in table else (np.zeros(0), None)
        return StopTimeRows(
            trip=self.trip_ids.numbers(table.strings("trip_id")),
            stop=self.stop_ids.numbers(table.strings("stop_id")),
            sequence=_sequence(table),
            arrival=_seconds(table, "arrival_time"),
            departure=_seconds(table, "departure_time"),
            pickup=_type_of_call(table, "pickup_type"),
            drop_off=_type_of_call(table, "drop_off_type"),
            is_flexible=is_flexible,
            along=along if np.isfinite(along).any() else np.zeros(0),
            headsign=self._headsign(table),
        )

    def _headsign(self, table: TextTable) -> Int32Array:
        if "stop_headsign" not in table or bool(table.is_missing("stop_headsign").all()):
            return np.zeros(0, np.int32)
        return _numbers(table.strings("stop_headsign"), self.headsigns)


def read_rows(
    files: FeedFiles, findings: Findings, trip_ids: pa.Array, stop_ids: pa.Array
) -> tuple[TextBlocks, StopTimeRows, list[str]]:
    """
    Return the rows of stop_times.txt.

    Parameters
    ----------
    files, findings
    trip_ids, stop_ids : pyarrow.Array
        Id of each row of trips.txt and of stops.txt.

    Returns
    -------
    table : TextBlocks
        The file, for messages.
    rows : StopTimeRows
    headsigns : list of str
        The texts of `StopTimeRows.headsign`.
    """
    reader = _Reader(Ids(trip_ids), Ids(stop_ids), {"": 0})
    table, parts = files.read_in_blocks(FILE, _COLUMNS, findings, reader.rows)
    lengths = [part.trip.size for part in parts]
    pieces_of = {name: [getattr(part, name) for part in parts] for name in StopTimeRows._fields}
    # The parts go as the whole comes.
    parts.clear()
    columns = [_joined(pieces_of.pop(name), lengths, np.nan if name == "along" else 0) for name in StopTimeRows._fields]
    rows = StopTimeRows(*columns)
    rows = rows._replace(trip=reader.trip_ids.rows(rows.trip), stop=reader.stop_ids.rows(rows.stop))
    return table, rows, list(reader.headsigns)


def _joined(pieces: list[Any], lengths: list[int], missing: float) -> Any:
    """Return the whole of a column; a part without values is filled if others have some."""
    if any(piece.size for piece in pieces):
        dtype = np.result_type(*(piece for piece in pieces if piece.size))
        pieces = [
            piece if piece.size == length else np.full(length, missing, dtype)
            for piece, length in zip(pieces, lengths, strict=True)
        ]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def in_order(trip: Int32Array, sequence: Int32Array | Int64Array, keep: BoolArray, n_trips: int) -> IndexArray:
    """Return the kept rows sorted by trip and stop_sequence; rows with equal ones stay in the order of the file."""
    indptr, order = order_by_row(trip[keep], n_trips)
    rows: IndexArray = np.flatnonzero(keep)[order]
    del order
    its = sequence[rows]
    # Few files have trips whose rows are out of order.
    is_earlier = its[1:] < its[:-1]
    is_earlier[indptr[(indptr > 0) & (indptr < rows.size)] - 1] = False
    if is_earlier.any():
        has_earlier = np.zeros(n_trips, np.bool_)
        has_earlier[trip[rows[1:][is_earlier]]] = True
        at = np.flatnonzero(has_earlier[trip[rows]])
        mine = rows[at]
        rows[at] = mine[np.lexsort((sequence[mine], trip[mine]))]
    return rows


def _sequence(table: TextTable) -> Int32Array | Int64Array:
    values = table.integers("stop_sequence")
    np.maximum(values, -1, out=values)
    return values if values.max(initial=0) > _MOST_INT32 else values.astype(np.int32)


def _seconds(table: TextTable, column: str) -> Int32Array:
    values = table.times(column)
    found = np.where(values == parse.BROKEN, np.int64(BROKEN), values)
    return np.where(values == parse.MISSING, np.int64(stop_times.UNTIMED), found).astype(np.int32)


def _type_of_call(table: TextTable, column: str) -> UInt8Array:
    """Return pickup or drop-off types 0 to 3; an empty field is 0, as in the reference."""
    if column not in table:
        return np.zeros(table.n_rows, np.uint8)
    values = table.integers(column)
    values[values == parse.MISSING] = 0
    return np.where((values < 0) | (values > 3), NO_TYPE, values).astype(np.uint8)
