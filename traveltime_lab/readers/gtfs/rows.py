"""
Rows of a feed's files: found by id, checked, dropped with a report.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from traveltime_lab._arrays import BoolArray, Int32Array
from traveltime_lab.errors import GtfsError
from traveltime_lab.kernels.transit import parse
from traveltime_lab.readers.gtfs.files import FeedFiles, Findings, TextTable


def read_file(
    files: FeedFiles,
    findings: Findings,
    name: str,
    *columns: str,
    needs: tuple[str, ...] = (),
    is_required: bool = False,
) -> TextTable:
    """Return columns of a file; GtfsError if it must be there and is not, or lacks a column of `needs`."""
    if is_required and name not in files:
        raise GtfsError(f"{files.source}: there is no {name} in the feed", file=name)
    table = files.read(name, columns, findings)
    if is_required and table.n_rows == 0:
        raise GtfsError(f"{files.source}: {name} has no rows", file=name)
    table.require(*needs)
    return table


def codes(values: pa.ChunkedArray, ids: pa.Array) -> Int32Array:
    """Return the position of each value in `ids`, -1 where it is not among them."""
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
    """Report the rows of a mask that are still kept and take them out of `keep`."""
    rows = np.flatnonzero(keep & is_bad)
    if rows.size == 0:
        return
    example = ""
    if column is not None and column in table:
        example = str(table.strings(column)[int(rows[0])].as_py())
    findings.add(table.name, reason, table.lines(rows[:1000]), rows=rows.size, example=example)
    keep[rows] = False


def unique_ids(table: TextTable, findings: Findings, column: str) -> tuple[pa.Array, BoolArray]:
    """Return the ids of a file and which rows are kept: those with an id that no row before has."""
    keep = np.ones(table.n_rows, np.bool_)
    drop_rows(table, findings, keep, table.is_missing(column), f"{column} is empty")
    values = table.strings(column)
    ids = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], pa.string())
    again = pd.Index(table.objects(column)).duplicated()
    drop_rows(table, findings, keep, again, f"{column} given twice", column)
    return ids, keep


def choice(table: TextTable, findings: Findings, column: str, largest: int, missing: int = 0) -> Int32Array:
    """Return an enumerated column; values outside of it are noted and read as `missing`."""
    values = table.integers(column)
    is_bad = (values != parse.MISSING) & ((values < 0) | (values > largest))
    rows = np.flatnonzero(is_bad)
    if rows.size:
        example = str(table.strings(column)[int(rows[0])].as_py())
        reason = f"{column} is not 0 to {largest}: read as not given"
        findings.add(table.name, reason, table.lines(rows), example=example, is_dropped=False)
    return np.where(is_bad | (values == parse.MISSING), missing, values).astype(np.int32)


def new_numbers(keep: BoolArray) -> Int32Array:
    """Return the new number of each row when dropped ones leave, -1 for these."""
    return np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
