"""
Look up, check and drop rows of the files of a feed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traveltime_lab._arrays import BoolArray, Int32Array
from traveltime_lab.errors import GtfsError
from traveltime_lab.kernels.transit import parse
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.text import TextTable


def read_file(
    files: FeedFiles,
    findings: Findings,
    name: str,
    *columns: str,
    needs: tuple[str, ...] = (),
    is_required: bool = False,
) -> TextTable:
    """Return columns of a file; raise GtfsError if the file is required and missing, or lacks a column of `needs`."""
    if is_required and name not in files:
        raise GtfsError(f"{files.source}: there is no {name} in the feed", file=name)
    table = files.read(name, columns, findings)
    if is_required and table.n_rows == 0:
        raise GtfsError(f"{files.source}: {name} has no rows", file=name)
    table.require(*needs)
    return table


def codes(values: pa.ChunkedArray, ids: pa.Array) -> Int32Array:
    """Return the position of each value in `ids`, -1 for unknown values."""
    found = pc.fill_null(pc.index_in(values, value_set=ids), -1)
    return np.array(found.to_numpy(zero_copy_only=False), np.int32)


def drop_rows(
    table: TextTable,
    findings: Findings,
    keep: BoolArray,
    is_bad: BoolArray,
    reason: str,
    column: str | None = None,
) -> None:
    """Remove the rows of a mask from `keep` and report those that were not removed before."""
    rows = np.flatnonzero(keep & is_bad)
    if rows.size == 0:
        return
    example = ""
    if column is not None and column in table:
        example = table.text_at(column, int(rows[0]))
    findings.add(table.name, reason, table.lines(rows[:1000]), rows=rows.size, example=example)
    keep[rows] = False


def unique_ids(table: TextTable, findings: Findings, column: str) -> tuple[pa.Array, BoolArray]:
    """Return the ids of a file and a mask of the rows to keep, without empty and duplicate ids."""
    keep = np.ones(table.n_rows, np.bool_)
    drop_rows(table, findings, keep, table.is_missing(column), f"{column} is empty")
    values = table.strings(column)
    ids = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], pa.string())
    again = pd.Index(table.objects(column)).duplicated()
    drop_rows(table, findings, keep, again, f"duplicate {column}", column)
    return ids, keep


def choice(table: TextTable, findings: Findings, column: str, largest: int, missing: int = 0) -> Int32Array:
    """Return a column with values from 0 to `largest`; other values are noted and replaced by `missing`."""
    values = table.integers(column)
    is_bad = (values != parse.MISSING) & ((values < 0) | (values > largest))
    rows = np.flatnonzero(is_bad)
    if rows.size:
        example = table.text_at(column, int(rows[0]))
        reason = f"{column} is not 0 to {largest}: ignored"
        findings.add(table.name, reason, table.lines(rows), example=example, is_dropped=False)
    return np.where(is_bad | (values == parse.MISSING), missing, values).astype(np.int32)


def new_numbers(keep: BoolArray) -> Int32Array:
    """Return the number of each row among the kept rows, -1 for dropped rows."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
