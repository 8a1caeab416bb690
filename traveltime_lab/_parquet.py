"""Check the size that a Parquet file states before it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from traveltime_lab._files import most_unpacked, open_file

#: Bytes of a value in memory, at least; those of columns that repeat one value take no room in a file.
_VALUE_BYTES: Final = 8


def check_size(path: Path) -> None:
    """
    Raise ValueError for a Parquet file whose table is much larger than the file.

    Raises
    ------
    ValueError
        If its values would take more than `most_unpacked` allows.
    pyarrow.ArrowException
        If it is no Parquet file.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    with open_file(path) as file:
        about = pq.read_metadata(file)
    unpacked = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    n_bytes = max(unpacked, about.num_rows * max(about.num_columns, 1) * _VALUE_BYTES)
    size = path.stat().st_size
    if about.num_rows < 0 or not 0 <= n_bytes <= most_unpacked(size):
        msg = f"its {about.num_rows:,} rows take {n_bytes:,} bytes, which a file of {size:,} bytes does not have"
        raise ValueError(msg)
