"""
Read the receipt of a result, or of a file (`receipt`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from traveltime_lab._files import as_path, explained, is_file, read_bytes
from traveltime_lab._keywords import explained_keywords
from traveltime_lab._parquet import check_size
from traveltime_lab.errors import DataError, InputError, MissingFileError, TravelTimeError
from traveltime_lab.network.report import Report
from traveltime_lab.search.calibration.calibrate import Calibration
from traveltime_lab.search.receipts.digest import Digest
from traveltime_lab.search.receipts.record import FORMAT, FORMAT_VERSION, KEY

_NONE = "has no receipt of traveltime_lab"


@explained_keywords
def receipt(result: Any) -> Report:
    """
    Return the receipt of a result: the question, the network, and a hash of the answer.

    Every result of a search has one in its ``attrs``, and so do the files that are written from it: Parquet and
    GeoParquet by ``to_parquet``, the datasets of `write_matrix` and `write_areas`, and the exports of `TravelTimeMap`.

    Parameters
    ----------
    result : DataFrame, GeoDataFrame, Calibration or path-like
        Result of a search or of `calibrate_speeds`, or the path of a Parquet file, a folder of Parquet files or a
        GeoJSON file.

    Returns
    -------
    dict
        Values of JSON, which print as text:

        - ``function`` and ``arguments``: what was called; defaults are among the arguments.
        - ``weekday_morning``: the date of a search that left it to the network (`Network.typical_day`) and used its
          timetable; also an entry of ``attrs``.
        - ``points``: for each table of points, pairs or trips their number and a hash, and for up to 10,000 rows also
          labels and coordinates.
        - ``network``: ``fingerprint``, ``timezone``, ``source``, ``files`` (name, size, date and SHA-256 of each file
          that it was built from), and ``changes`` if it has had any (see `Network.with_changes`).
        - ``licence``: what must be shown with the data.
        - ``versions``: the versions of this package and of shapely.
        - ``answer``: ``rows`` and ``digest``, a hash of the table now, or in the file. A table that was
          filtered or edited has a different one than the answer. GeoJSON has the hash that the table had when it was
          written.

    Raises
    ------
    InputError
        If a table has no receipt, such as one that combines several results.
    MissingFileError
        If the file does not exist.
    DataError
        If the file has no receipt, or cannot be read.

    See Also
    --------
    replay : Repeat the search.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> areas.to_parquet("areas.parquet")
    >>> found = tl.receipt("areas.parquet")
    >>> (
    ...     found["function"],
    ...     found["arguments"]["travel_time"],
    ...     found["answer"]["rows"],
    ... )
    ('time_map', 900, 2)
    >>> found["network"]["fingerprint"] == network.fingerprint
    True
    """
    if isinstance(result, Calibration):
        result = result.table
    if isinstance(result, pd.DataFrame):
        kept = result.attrs.get(KEY)
        if not isinstance(kept, Mapping):
            msg = f"the table {_NONE}; results of searches have one, but not tables that combine several results"
            raise InputError(msg)
        digest = Digest()
        digest.add(result)
        return with_answer(checked(kept, "the table"), digest)
    path = as_path(result, "result")
    with explained(path, "read"):
        if not is_file(path) and not path.is_dir():
            raise MissingFileError(f"no file or folder at {path}")
        if path.suffix.lower() in (".geojson", ".json"):
            return _of_geojson(path)
        parts = [each for each in sorted(path.glob("*.parquet")) if is_file(each)] if path.is_dir() else [path]
    if not parts:
        raise DataError(f"{path} has no Parquet files")
    return _of_parquet(parts)


def with_answer(kept: Mapping[str, Any], digest: Digest) -> Report:
    """Return a receipt of its own with the hash of an answer."""
    content = json.loads(json.dumps(dict(kept.items())))
    return Report({**content, "answer": {"rows": digest.n_rows, "digest": digest.hexdigest()}})


def checked(kept: Any, where: str) -> Mapping[str, Any]:
    """Return a receipt if it is one; raise DataError if not."""
    if not isinstance(kept, Mapping) or kept.get("format") != FORMAT:
        raise DataError(f"{where} {_NONE}")
    if kept.get("format_version") != FORMAT_VERSION:
        msg = f"{where} has a receipt of version {kept.get('format_version')!r}; this version reads {FORMAT_VERSION}"
        raise DataError(msg)
    for name, kind in (("function", str), ("arguments", Mapping), ("points", Mapping), ("network", Mapping)):
        if not isinstance(kept.get(name), kind):
            raise DataError(f"{where} has a damaged receipt: its {name} are missing or of a different type")
    about = kept["network"]
    for name, is_right in (
        ("versions", isinstance(kept.get("versions", {}), Mapping)),
        ("changes", isinstance(about.get("changes") or [], list)),
        ("files", _are_files(about.get("files", []))),
    ):
        if not is_right:
            raise DataError(f"{where} has a damaged receipt: its {name} are incomplete or of a different type")
    return kept


def _are_files(given: Any) -> bool:
    """Return whether the files of a network each have a name and a hash."""
    return isinstance(given, list) and all(
        isinstance(file, Mapping) and all(isinstance(file.get(name), str) for name in ("name", "sha256"))
        for file in given
    )


def _of_geojson(path: Path) -> Report:
    """Return the receipt of a GeoJSON file."""
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON ({error})") from error
    kept = checked(content.get(KEY) if isinstance(content, dict) else None, str(path))
    return Report(kept)


def _of_parquet(parts: list[Path]) -> Report:
    """Return the receipt of Parquet files, which are one table."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - not needed for receipts of tables

    kept: Any = None
    digest = Digest()
    for path in parts:
        with explained(path, "read"):
            try:
                check_size(path)
                table = pq.ParquetFile(path).read()
                metadata = table.schema.metadata or {}
                if kept is None:
                    content = json.loads(metadata.get(b"PANDAS_ATTRS", metadata.get(KEY.encode(), b"{}")))
                    kept = checked(content.get(KEY, content.get("receipt")), str(path))
                digest.add(_without_attrs(table).to_pandas())
            except TravelTimeError:
                raise
            except Exception as error:  # of pandas and pyarrow, about the content of a column or of the metadata
                reason = str(error) or type(error).__name__
                raise DataError(f"{path} is not a Parquet file that can be read ({reason})") from error
    return with_answer(kept, digest)


def _without_attrs(table: Any) -> Any:
    """Return an Arrow table without what pandas would put into ``attrs``."""
    metadata = {name: value for name, value in (table.schema.metadata or {}).items() if name != b"PANDAS_ATTRS"}
    return table.replace_schema_metadata(metadata)
