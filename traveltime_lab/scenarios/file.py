"""
Changes as JSON.

A file is an object with ``format`` (``"traveltime_lab.changes"``), ``version`` (1) and ``changes``: a list of objects,
each with ``change`` (the class, such as ``"CloseStreets"``) and the arguments of the class under their names. Polygons
and lines are GeoJSON geometries in EPSG:4326; times are texts such as ``"07:30:00"``; edges are names, which are lists
of way, first node, last node, number, longitude and latitude, or row numbers of the network that the changes are
applied to. Arguments with their default may be left out. Anything else is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

import shapely

from traveltime_lab._checks import did_you_mean
from traveltime_lab._files import as_path, explained, is_file, read_bytes, write_bytes
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import DataError, InputError, MissingFileError
from traveltime_lab.scenarios.apply import KINDS, changes_of
from traveltime_lab.scenarios.changes import Change

FORMAT: Final = "traveltime_lab.changes"
VERSION: Final = 1


@explained_keywords
def save_changes(changes: Change | Sequence[Change], path: str | os.PathLike[str]) -> Path:
    """
    Write changes to a JSON file.

    The file is an object with ``format``, ``version`` and ``changes``: a list of objects with the name of the class in
    ``change``, and its arguments. Polygons and lines are GeoJSON geometries in EPSG:4326. Where edges are selected by
    row, write `Network.changes`, which names them: rows in a file are those of the network that it is applied to.

    Parameters
    ----------
    changes : Change or sequence of Change
        Changes, in the order in which they are applied.
    path : path-like
        File to write; an existing file is replaced.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    InputError
        If something is not a change, or the path is a folder.
    MissingFileError
        If the folder does not exist.
    FileAccessError
        If the file cannot be written.

    See Also
    --------
    load_changes : Read the file.

    Examples
    --------
    >>> path = tl.save_changes(
    ...     [tl.ScaleHeadway("4", 0.5, name="line 4")], "scenario.json"
    ... )
    >>> tl.load_changes(path)
    [ScaleHeadway(name='line 4', route='4', factor=0.5, feed=None)]
    """
    content = {"format": FORMAT, "version": VERSION, "changes": to_json(changes_of(changes))}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_bytes(path, (text + "\n").encode(), what="the changes", example="scenario.json")
    return Path(path)


@explained_keywords
def load_changes(path: str | os.PathLike[str]) -> list[Change]:
    """
    Read changes from a JSON file; see `save_changes`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    list of Change
        In the order in which they are applied.

    Raises
    ------
    MissingFileError
        If the file does not exist.
    FileAccessError
        If it cannot be read.
    DataError
        If it is not JSON, is of another format or version, or has an unknown key or a wrong value.

    See Also
    --------
    save_changes : Write the file.
    Network.with_changes : Apply the changes.

    Examples
    --------
    >>> path = tl.save_changes([tl.RemoveRoutes("4")], "scenario.json")
    >>> [change.routes for change in tl.load_changes(path)]
    [('4',)]
    """
    source = as_path(path, "path")
    if not is_file(source):
        raise MissingFileError(f"no file of changes at {source}")
    with explained(source, "read"):
        content = read_bytes(source)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not JSON ({error}); write it with save_changes") from error
    known = ("format", "version", "changes")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DataError(f"{source} is not a file of changes: its format is not {FORMAT!r}")
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise DataError(f"{source} has version {found.get('version')!r} of the format; this version reads {VERSION}")
    _check_keys(found, known, known, str(source))
    if not isinstance(found["changes"], list):
        raise DataError(f"{source}: changes must be a list; got {type(found['changes']).__name__}")
    return list(from_json(found["changes"], str(source)))


def to_json(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return changes as plain values for JSON."""
    rows = []
    for change in changes:
        values = change.given()
        for name in change.shapes & values.keys():
            values[name] = json.loads(shapely.to_geojson(values[name]))
        rows.append({"change": type(change).__name__, **values})
    return rows


def from_json(rows: Sequence[Any], source: str) -> tuple[Change, ...]:
    """
    Return the changes of plain values.

    Raises
    ------
    DataError
        If a value is wrong; `source` says where it comes from.
    """
    found = []
    for number, row in enumerate(rows):
        where = f"{source}: changes[{number}]"
        if not isinstance(row, dict):
            raise DataError(f"{where} must be an object; got {type(row).__name__}")
        kind = KINDS.get(row["change"]) if isinstance(row.get("change"), str) else None
        if kind is None:
            raise DataError(f"{where}: change must be one of {', '.join(KINDS)}; got {row.get('change')!r}")
        where = f"{where} ({kind.__name__})"
        values = {name: value for name, value in row.items() if name != "change"}
        every = fields(kind)
        needed = [item.name for item in every if item.default is MISSING]
        _check_keys(values, [item.name for item in every], needed, where)
        for name in kind.shapes & values.keys():
            if values[name] is not None:
                values[name] = _shape(values[name], f"{where}: {name}")
        try:
            found.append(kind(**values))
        except InputError as error:
            raise DataError(f"{where}: {error}") from error
    return tuple(found)


def _shape(value: Any, where: str) -> shapely.Geometry:
    """Return the shape of a GeoJSON geometry."""
    try:
        return shapely.from_geojson(json.dumps(value))
    except (shapely.errors.GEOSException, ValueError, TypeError) as error:
        raise DataError(f"{where} is not a GeoJSON geometry ({error})") from error


def _check_keys(values: dict[str, Any], known: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Raise DataError for unknown and missing keys."""
    for name in values:
        if name not in known:
            hint = did_you_mean(name, known)
            raise DataError(f"{where} has the unknown key {name!r}; known are {', '.join(known)}{hint}")
    for name in needed:
        if name not in values:
            raise DataError(f"{where} has no key {name!r}, which is needed")
