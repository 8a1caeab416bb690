"""
Write objects of an OpenStreetMap file in the text formats of libosmium, and read the parts of their lines.

OPL has an object in each line (https://osmcode.org/opl-file-format/).
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import osmium

from traveltime_lab._files import full_temporary_folder

#: OPL with the version of each object and whether it is deleted, such as ``n17 v2 dV Thighway=crossing x2.1 y41.4``.
FORMAT = "opl,add_metadata=version,force_visible_flag=true"
#: The types and ids of objects, such as ``n17``, one a line.
IDS = "ids"


#: Words of libosmium about text that is not UTF-8.
_NO_TEXT = "Unicode codepoint"


def write(target: Path, form: str, reader: osmium.io.Reader, *handlers: Any) -> None:
    """
    Write the objects that a reader yields to a new file.

    Parameters
    ----------
    target : Path
        In a temporary folder.
    form : str
        Format of the file with its options, such as `FORMAT`.
    reader : osmium.io.Reader
    *handlers : handlers or filters of osmium
        Called with each object in this order. Objects that pass all filters are written.
    """
    writer = osmium.SimpleWriter(osmium.io.File(str(target), form))
    try:
        osmium.apply(reader, *handlers, writer)
        writer.close()
    except Exception as error:
        _check_written(writer, target.parent, error)
        raise


def _check_written(writer: Any, folder: Path, error: Exception) -> None:
    """
    Raise FileAccessError if a writer had no room; a writer also fails at text that is not UTF-8.

    A writer of libosmium closes itself when it is deleted. One that cannot write then raises an exception where C++
    allows none, which ends the process. Such a writer is therefore never deleted; it holds a few megabytes.
    """
    try:
        writer.close()
    except RuntimeError:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(writer))
        if _NO_TEXT in str(error):
            return
        raise full_temporary_folder(folder, str(error)) from error


_ESCAPE = re.compile(r"%([0-9a-f]+)%")


def decode(text: str) -> str:
    """
    Decode the escapes of OPL, such as ``%20%`` for a space.

    Raises
    ------
    UnicodeError
        If an escape is no character: the text of the file is not UTF-8.
    """
    return _ESCAPE.sub(_character, text) if "%" in text else text


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    if code > sys.maxunicode or 0xD800 <= code <= 0xDFFF:
        raise UnicodeError(f"there is no character {escape[1].upper()}")
    return chr(code)


def encode(text: str) -> str:
    """Escape the characters that separate tags in OPL."""
    return re.sub(r"[ ,=@%\n]", lambda match: f"%{ord(match[0]):x}%", text)


def parse_tags(text: str) -> dict[str, str]:
    """Return the tags of an OPL tag list such as ``highway=service,name=A%20%B``."""
    return {decode(key): decode(value) for key, _, value in (pair.partition("=") for pair in text.split(",")) if key}
