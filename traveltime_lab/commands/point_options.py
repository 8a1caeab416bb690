"""
Options of commands that read files of points: columns, layers, separators, decimal marks and CRSs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

#: Options that may differ between two files, with a comma.
_PER_FILE: Final = ("id", "layer", "lng", "lat", "crs")
#: Options of text files, for all of them.
_OF_TEXT: Final = ("separator", "decimal")


def add_point_options(command: Any, n_files: int) -> None:
    """
    Add the options.

    Parameters
    ----------
    command : parser or group of argparse
    n_files : int
        Number of files of points that the command reads.
    """
    both = "; with a comma, those of both files" if n_files == 2 else ""
    command.add_argument("--id", metavar="COLUMN", help=f"column of labels; default: id, else numbers from 0{both}")
    command.add_argument("--layer", metavar="NAME", help=f"layer of files with several{both}")
    usual = "default: lng, lon, long, longitude or x, or the geometry"
    command.add_argument("--lng", metavar="COLUMN", help=f"column of longitude, or x; {usual}{both}")
    command.add_argument("--lat", metavar="COLUMN", help="column of latitude, or y; the same")
    command.add_argument(
        "--crs", metavar="CRS", help=f"of the columns of coordinates, such as EPSG:31370; default: EPSG:4326{both}"
    )
    command.add_argument(
        "--separator", metavar="CHAR",
        help="of columns in text files: a character, or tab, comma, semicolon, bar or space; default: as in the header",
    )  # fmt: skip
    command.add_argument(
        "--decimal", metavar="MARK",
        help="decimal mark in text files, a point or a comma; default: either, or a point if commas separate columns",
    )  # fmt: skip


def point_options(options: argparse.Namespace, paths: Sequence[str | Path | None]) -> list[dict[str, Any]]:
    """
    Return the arguments of `read_point_file` for each file.

    Parameters
    ----------
    options : Namespace
    paths : sequence of path-like or None
        Files; None for a point that is written ``LNG,LAT``.

    Raises
    ------
    InputError
        If an option has more parts than there are files, is for a point that is no file, or for text files where there
        are none.
    """
    from traveltime_lab.errors import InputError
    from traveltime_lab.jobs.point_files import is_text_file

    given = [name for name in (*_PER_FILE, *_OF_TEXT) if getattr(options, name) is not None]
    if given and paths and not any(paths):
        raise InputError(f"--{given[0]} needs a file of points; there is none, but LNG,LAT")
    is_text = [path is not None and is_text_file(path) for path in paths]
    for name in _OF_TEXT:
        if name in given and not any(is_text):
            raise InputError(f"--{name} is for text files such as .csv; there are none, leave it out")
    parts = {name: _parts(name, getattr(options, name), paths, options.separator) for name in _PER_FILE}
    parts["id_column"] = parts.pop("id")
    texts = {name: getattr(options, name) for name in _OF_TEXT}
    return [
        {**{name: each[k] for name, each in parts.items()}, **(texts if is_text[k] else {})} for k in range(len(paths))
    ]


def _parts(
    option: str, text: str | None, paths: Sequence[str | Path | None], separator: str | None
) -> list[str | None]:
    """Return the part of an option for each file, None for none."""
    from traveltime_lab.errors import InputError

    if len(paths) < 2 or not text or "," not in text or _is_whole(option, text, paths, separator):
        # Names of columns and WKT have commas, too.
        return [text if text and text.strip() and path is not None else None for path in paths]
    names = [name.strip() or None for name in text.split(",")]
    if len(names) > len(paths):
        several = ", or two with a comma" if len(paths) == 2 else ""
        what = "a CRS" if option == "crs" else f"the name of a {'layer' if option == 'layer' else 'column'}"
        raise InputError(f"--{option} must be {what}{several}; got {text!r}")
    if len(names) < len(paths):
        return [None if path is None else names[0] for path in paths]
    for name, path in zip(names, paths, strict=True):
        if name is not None and path is None:
            raise InputError(f"--{option} has {name!r} for points that are LNG,LAT and no file; leave it empty")
    return names


def _is_whole(option: str, text: str, paths: Sequence[str | Path | None], separator: str | None) -> bool:
    """Return whether a text with commas is one name, that of a column in every file, or one CRS."""
    if option == "crs":
        return "[" in text or "{" in text  # WKT and PROJJSON
    if option == "layer":
        return False
    from traveltime_lab.jobs.point_files import column_names

    return all(text in column_names(path, separator) for path in paths if path is not None)
