"""
Merge the timetables of several feeds, and convert timetables to and from Arrow columns for saving.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import AnyArray, Int32Array, arrays_by_field, indptr_of
from traveltime_lab.streets.columns import Column, check_column
from traveltime_lab.transit.calendar import Services
from traveltime_lab.transit.pathways import Pathways
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import TABLES, Timetable
from traveltime_lab.transit.timetable_columns import check_timetable

#: Tables that the arrays of row numbers refer to.
_ARRAY_TARGETS: Final[Mapping[str, str]] = {
    "pattern_stop": "stops",
    "course_pattern": "patterns",
    "course_shape": "shapes",
    "course_headsign": "headsigns",
    "frequency_trip": "trips",
}

#: Column of files whose timetable has sequences that are not 1, 2, 3; versions without it do not read it.
_SEQUENCES: Final = "stop_sequence"


def join_timetables(parts: Sequence[Timetable]) -> Timetable:
    """Merge the timetables of several feeds; row numbers of later feeds are shifted."""
    if len(parts) == 1:
        return parts[0]
    zones = sorted({zone for part in parts for zone in part.zones})
    sizes = [_sizes(part) for part in parts]
    offsets = {what: indptr_of([size[what] for size in sizes])[:-1] for what in sizes[0]}
    values: dict[str, Any] = {"zones": zones, "services": Services.joined([part.services for part in parts])}
    for table, targets in TABLES.items():
        moved = []
        for i, part in enumerate(parts):
            frame = getattr(part, table).copy()
            for column, what in targets.items():
                if what == "zones":
                    renumber = np.array([zones.index(zone) for zone in part.zones], np.int32)
                    frame[column] = renumber[frame[column].to_numpy()]
                else:
                    frame[column] = _moved(frame[column].to_numpy(), offsets[what][i])
            moved.append(frame)
        values[table] = pd.concat([f for f in moved if len(f)] or moved[:1], ignore_index=True)
    for name in arrays_by_field(parts[0]):
        pieces = [getattr(part, name) for part in parts]
        if name.endswith("_indptr"):
            ends = indptr_of([piece[-1] for piece in pieces])
            pieces = [pieces[0], *(piece[1:] + end for piece, end in zip(pieces[1:], ends[1:], strict=False))]
        elif name in _ARRAY_TARGETS and name != "course_headsign":
            pieces = [_moved(piece, offsets[_ARRAY_TARGETS[name]][i]) for i, piece in enumerate(pieces)]
        elif name == "course_headsign":
            # Text 0 is the empty text in every feed.
            pieces = [
                np.where(piece > 0, piece + offset, 0).astype(np.int32)
                for piece, offset in zip(pieces, offsets["headsigns"], strict=True)
            ]
        values[name] = np.concatenate(pieces)
    values["headsigns"] = ["", *(text for part in parts for text in part.headsigns[1:])]
    values["notes"] = [note for part in parts for note in part.notes]
    values["leaving"] = tuple(
        (stop + int(offset), seconds)
        for part, offset in zip(parts, offsets["stops"], strict=True)
        for stop, seconds in part.leaving
    )
    inside = [
        (part.pathways, int(offset))
        for part, offset in zip(parts, offsets["stops"], strict=True)
        if part.pathways is not None
    ]
    values["pathways"] = Pathways.joined(inside) if inside else None
    if any(part.sequences is not None for part in parts):
        values["sequences"] = StopSequences(np.concatenate([StopSequences.all_of(part) for part in parts]))
    return Timetable(**values)


def _sizes(timetable: Timetable) -> dict[str, int]:
    """Return the number of rows of each table and array that row numbers refer to."""
    blocks = timetable.trips["block_idx"].to_numpy()
    return {
        **{table: len(getattr(timetable, table)) for table in TABLES},
        "services": len(timetable.services),
        "patterns": timetable.pattern_indptr.size - 1,
        "courses": timetable.course_indptr.size - 1,
        "shapes": timetable.shape_indptr.size - 1,
        "headsigns": len(timetable.headsigns) - 1,
        "blocks": int(blocks.max(initial=-1)) + 1,
    }


def to_tables(timetable: Timetable) -> tuple[dict[str, pa.Array], dict[str, Any]]:
    """
    Convert the arrays of a timetable to Arrow, and other values to JSON.

    Returns
    -------
    columns : dict of str to pyarrow.Array
        Arrays of different lengths with names such as ``arrival``, ``services.start`` or ``stops.stop_id``.
    meta : dict
        The rest, ready for JSON.
    """
    columns = {name: pa.array(array) for name, array in arrays_by_field(timetable).items()}
    columns |= {f"services.{name}": pa.array(array) for name, array in arrays_by_field(timetable.services).items()}
    for table in TABLES:
        for name, series in getattr(timetable, table).items():
            is_text = series.dtype == object or pd.api.types.is_string_dtype(series.dtype)
            columns[f"{table}.{name}"] = pa.array(series, type=pa.string() if is_text else None)
    if timetable.sequences is not None:
        columns[_SEQUENCES] = pa.array(timetable.sequences.numbers)
    columns["headsigns"] = pa.array(timetable.headsigns, type=pa.string())
    columns = {
        name: values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        for name, values in columns.items()
    }
    notes = json.loads(json.dumps(timetable.notes, default=str))
    meta = {"zones": timetable.zones, "notes": notes, "feed_spans": timetable.feed_spans}
    if timetable.leaving:
        meta["leaving"] = timetable.leaving
    if timetable.pathways is not None:
        meta["pathways"] = timetable.pathways.to_json()
    return columns, meta


def from_tables(columns: Mapping[str, pa.Array], meta: Mapping[str, Any], *, is_known: bool = False) -> Timetable:
    """
    Build a timetable from the result of `to_tables`; its large arrays are views of the same memory.

    Parameters
    ----------
    columns, meta : mappings
    is_known : bool, default False
        Whether the values of the columns have been checked before.

    Raises
    ------
    KeyError, ValueError
        If a column is missing, or breaks its rule (`traveltime_lab.transit.timetable_columns`).
    """
    values: dict[str, Any] = {"zones": list(meta["zones"]), "notes": list(meta["notes"])}
    spans = meta.get("feed_spans")
    values["feed_spans"] = None if spans is None else tuple((int(first), int(last)) for first, last in spans)
    values["leaving"] = tuple((int(stop), int(seconds)) for stop, seconds in meta.get("leaving", ()))
    services = {item.name: columns[f"services.{item.name}"].to_numpy(zero_copy_only=False) for item in fields(Services)}
    values["services"] = Services(**services)
    for table in TABLES:
        own = {name.partition(".")[2]: array for name, array in columns.items() if name.startswith(f"{table}.")}
        values[table] = pa.table(own).to_pandas()
    values["headsigns"] = columns["headsigns"].to_pylist()
    inside = meta.get("pathways")
    values["pathways"] = None if inside is None else Pathways.from_json(inside, len(values["stops"]))
    values["sequences"] = None
    if _SEQUENCES in columns:
        numbers = columns[_SEQUENCES].to_numpy(zero_copy_only=False)
        sizes = {"stop times": len(columns["arrival"])}
        check_column(_SEQUENCES, numbers, Column("int32", ("stop times",), 0), sizes, is_known=is_known)
        values["sequences"] = StopSequences(numbers)
    for item in fields(Timetable):
        if item.name not in values:
            values[item.name] = columns[item.name].to_numpy(zero_copy_only=False)
    timetable = Timetable(**values)
    check_timetable(timetable, is_known=is_known)
    if not all(0 <= stop < timetable.n_stops and seconds >= 0 for stop, seconds in timetable.leaving):
        msg = "leaving has a stop that does not exist, or a ride of negative length"
        raise ValueError(msg)
    return timetable


def _moved(rows: AnyArray, offset: int) -> Int32Array:
    """Return row numbers plus an offset; -1 is kept."""
    return np.where(rows >= 0, rows + offset, -1).astype(np.int32)
