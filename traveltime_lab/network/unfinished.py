"""
Keep what has been prepared of a network in a folder, so that preparing resumes after an interruption.

Each array is a file in NumPy's format, whose name is a digest of its content. An index describes the values, as the
header of a saved network does (`traveltime_lab.network.prepared_file`). It is replaced when the arrays of further
values are complete, so that it never names an array that is not. Values of other networks or versions are deleted.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab._files import as_path, explained, is_file, write_bytes
from traveltime_lab.errors import InputError
from traveltime_lab.modes.one_moment import of_one_moment
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network import prepared, prepared_file
from traveltime_lab.network.prepared import Prepared, check_timetable, name_of, sorted_by_owner
from traveltime_lab.runtime.memo import Use
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.layer import TransitLayer

logger = logging.getLogger(__name__)

#: A name that no other program gives a file in the folder.
_INDEX: Final = "traveltime_lab_unfinished.json"
#: Names of the files of arrays, complete or not.
_ARRAY: Final = re.compile(r"[0-9a-f]{32}(\.npy|-\d+\.part)")
#: Errors of an index, or of files of arrays, that are damaged.
_FAULTS: Final = (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


def prepare(
    streets: StreetLayer,
    transit: TransitLayer | None,
    transportations: Sequence[str | Transportation | Mapping[str, Any]],
    folder: str | os.PathLike[str] | None,
    fingerprint: str,
) -> Prepared:
    """Prepare a network, and pin the values; see `traveltime_lab.network.network.Network.prepare`."""
    if not transportations:
        msg = "prepare needs at least one means of transportation, such as network.prepare('walking', 'driving')"
        raise InputError(msg)
    chosen = [of_one_moment(each, "a prepared network") for each in transportations]
    check_timetable(chosen, has_timetable=transit is not None)
    kept = None if folder is None else Unfinished(folder, fingerprint, streets, transit)
    if kept is not None:
        kept.found().pin()
    return prepared.prepare(streets, transit, chosen, kept).pin()


def remove(folder: Path) -> None:
    """Delete a folder and what preparing has kept there, where possible; other files stay, and so does the folder."""
    with contextlib.suppress(OSError):
        _empty(folder)
        folder.rmdir()


def _empty(folder: Path) -> None:
    """Delete what preparing has kept in a folder."""
    for path in folder.iterdir():
        if path.name == _INDEX or _ARRAY.fullmatch(path.name):
            path.unlink(missing_ok=True)


class Unfinished:
    """
    The values of one network that have been prepared so far.

    Parameters
    ----------
    folder : path-like
        Created if necessary.
    fingerprint : str
        That of the network.
    streets, transit : StreetLayer and TransitLayer
        The layers of the network.
    """

    def __init__(
        self, folder: str | os.PathLike[str], fingerprint: str, streets: StreetLayer, transit: TransitLayer | None
    ) -> None:
        self.folder = as_path(folder, "folder")
        with explained(self.folder, "create the folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._fingerprint = fingerprint
        self._layers = streets, transit
        self._writer = prepared_file.Writer(streets, transit)
        self._values: list[dict[str, Any]] = []
        self._kept: set[tuple[str, int, Any]] = set()

    def found(self) -> Prepared:
        """Return the values that the folder has; those of another network or version, and damaged ones, are deleted."""
        index = self.folder / _INDEX
        try:
            header = json.loads(index.read_bytes()) if is_file(index) else None
            if header is None or not prepared_file.is_current(header, self._fingerprint):
                _empty(self.folder)
                return Prepared()
            columns = {name: _mapped(self._path(digest)) for name, digest in header["columns"].items()}
            values = prepared_file.from_columns({"types": (), **header}, columns, *self._layers).values
        except _FAULTS as error:
            logger.info("folder not used path=%r reason=%r", str(self.folder), str(error))
            with explained(self.folder, "empty"):
                _empty(self.folder)
            return Prepared()
        logger.info("resumed with values=%d", len(values))
        self.keep(list(values))
        return Prepared((), values)

    def keep(self, uses: list[Use]) -> None:
        """Write the values that are not in the folder yet."""
        new = [use for use in uses if _key(use) not in self._kept]
        if not new:
            return
        self._values += [self._writer.described(use) for use in sorted_by_owner(new)]
        self._kept |= {_key(use) for use in new}
        columns, digests = self._writer.columns, self._writer.digests
        with explained(self.folder, "write what is prepared to"):
            for name in columns:
                self._write(self._path(digests[name]), columns[name])
        header = {"made_with": prepared_file.MADE_WITH, "network": self._fingerprint, "values": self._values}
        content = json.dumps({**header, "columns": digests}).encode()
        write_bytes(self.folder / _INDEX, content, what="the index", example=_INDEX)

    def _path(self, digest: str) -> Path:
        name = f"{digest}.npy"
        if not _ARRAY.fullmatch(name):
            raise ValueError(f"{digest!r} is no digest of an array")
        return self.folder / name

    def _write(self, path: Path, array: AnyArray) -> None:
        """Write an array, unless it is there; under another name first, so that no file is incomplete."""
        if is_file(path):
            return
        temporary = path.with_name(f"{path.stem}-{os.getpid()}.part")
        with temporary.open("wb") as file:
            np.save(file, array)
        temporary.replace(path)


def _key(use: Use) -> tuple[str, int, Any]:
    return name_of(use), id(use.owner), use.key


def _mapped(path: Path) -> AnyArray:
    """Return the array of a file, mapped and writeable as other arrays are; nothing is written to it."""
    array: AnyArray = np.load(path, mmap_mode="c")
    return array.view(np.ndarray) if array.size else np.load(path)
