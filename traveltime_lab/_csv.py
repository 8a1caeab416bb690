"""Read CSV files with pandas, whatever is in them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import IO, Any, Final, cast

import pandas as pd
from pandas.io.common import get_handle, infer_compression

from traveltime_lab._files import unpacks_to_much_more

#: The most columns of a table; pandas takes quadratic time for them (assumed to be more than any has).
MOST_COLUMNS: Final = 1_000
_LONGEST_HEADER: Final = 1 << 20
#: Separators of columns, of which the first is that of files with one column.
_SEPARATORS: Final = (",", ";", "\t", "|")


def read_csv(path: Path, **how: Any) -> pd.DataFrame:
    """
    Return the table of a CSV file, whose rows have no more fields than its header.

    If the first row is longer than the header, pandas creates an index with a level for each field too many, which
    shifts the columns, and takes hours for thousands of them.

    Parameters
    ----------
    path : Path
    **how
        Arguments of `pandas.read_csv`, without those about the header and the index.

    Raises
    ------
    ValueError
        If a row has more fields than the header, or the header more than `MOST_COLUMNS`, or if the file is compressed
        and damaged, or its content is more than 100 times as large.
    """
    header = _header(path, how.get("encoding"))
    n_columns = header.count(how.get("sep", ",")) + 1
    if n_columns > MOST_COLUMNS or len(header) == _LONGEST_HEADER:
        msg = f"its header has {n_columns:,} columns and {len(header):,} letters; at most {MOST_COLUMNS:,} are read"
        raise ValueError(msg)
    # Raises an error if the first row has more fields.
    pd.read_csv(path, **{**how, "dtype": "object", "header": None, "nrows": 2})
    return pd.read_csv(path, **how, index_col=False)


def header_of(path: Path, *, encoding: str, separator: str) -> list[str]:
    """
    Return the names of the columns of a CSV file.

    Raises
    ------
    ValueError
        As `read_csv`, if the file is compressed.
    """
    return next(csv.reader([_header(path, encoding)], delimiter=separator), [])


def separator_of(path: Path, *, encoding: str) -> str:
    """
    Return the separator of a CSV file: of comma, semicolon, tab and bar the most frequent of its header.

    Raises
    ------
    ValueError
        As `read_csv`, if the file is compressed.
    """
    header = _header(path, encoding)
    return max(_SEPARATORS, key=header.count)


def _header(path: Path, encoding: str | None) -> str:
    """Return the first line that is not empty; raise ValueError if the file is compressed as `_check_packed` says."""
    if infer_compression(path, "infer") is not None:
        _check_packed(path)
    with get_handle(path, "r", encoding=encoding, compression="infer", errors="replace") as opened:
        while line := opened.handle.readline(_LONGEST_HEADER):
            if line.strip():
                return str(line)
    return ""


def _check_packed(path: Path) -> None:
    """Raise ValueError if a compressed file cannot be unpacked, or unpacks to much more."""
    try:
        with get_handle(path, "rb", compression="infer", is_text=False) as packed:
            fault = unpacks_to_much_more(path, cast("IO[bytes]", packed.handle))
    except OSError:
        raise
    except Exception as error:  # the errors of zlib, lzma and others have no common base
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if fault is not None:
        raise ValueError(fault)
