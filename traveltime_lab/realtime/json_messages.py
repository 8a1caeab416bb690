"""
Turn the JSON spelling of GTFS Realtime messages into bytes of Protocol Buffers.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Final

from traveltime_lab.errors import DataError
from traveltime_lab.realtime.schema import BY_PLAIN_NAME, is_message, plain

#: A value of an enumeration that has no name here: no version of the format has such a number.
UNKNOWN_NAME: Final = 999
_INT64: Final = 1 << 63
#: Truth as a text, which the encoders of some feeds write.
_BOOLS: Final = {"true": 1, "false": 0}


def to_bytes(text: bytes, name: str) -> bytes:
    """
    Return a message in JSON as bytes of Protocol Buffers.

    Names of fields may be ``stop_id`` or ``stopId``, whole numbers may be texts, and values of enumerations may be
    names or numbers. Fields that are not read are passed over.

    Parameters
    ----------
    text : bytes
    name : str
        Name of the source, for errors.

    Raises
    ------
    DataError
        If it is not JSON, or a value has a different type.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is no GTFS Realtime message in JSON: {error}; check that it is complete") from error
    if not isinstance(value, dict) or not {"header", "entity"} & {*value}:
        raise DataError(f"{name} is no GTFS Realtime message: its JSON has neither 'header' nor 'entity'")
    return _message(value, "", name)


def _message(value: Any, path: str, name: str) -> bytes:
    """Return the bytes of a message."""
    if not isinstance(value, dict):
        raise DataError(f"{name}: {path or 'the message'} must be an object; got {_shown(value)}")
    known, parts = BY_PLAIN_NAME[path], []
    for key, given in value.items():
        field = known.get(plain(key))
        if field is None or given is None:
            continue
        own, number, what = field
        at = f"{path}.{own}".lstrip(".")
        if not is_message(what):
            parts.append(_value(given, number, what, f"{name}: {at}"))
            continue
        for each in given if isinstance(given, list) else [given]:
            inner = _message(each, at, name)
            parts.append(_varint(number << 3 | 2) + _varint(len(inner)) + inner)
    return b"".join(parts)


def _value(value: Any, number: int, what: Any, where: str) -> bytes:
    """Return the bytes of a field that is no message."""
    if what == "text":
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise DataError(f"{where} must be a text; got {_shown(value)}")
        text = str(value).encode("utf-8", "replace")
        return _varint(number << 3 | 2) + _varint(len(text)) + text
    if what == "float":
        return _varint(number << 3 | 5) + struct.pack("<f", _float(value, where))
    if what == "bool" and isinstance(value, str) and value.strip().lower() in _BOOLS:
        whole = _BOOLS[value.strip().lower()]
    elif isinstance(what, dict) and isinstance(value, str) and not value.lstrip("-").isdigit():
        whole = what.get(value.strip().upper(), UNKNOWN_NAME)
    else:
        whole = _whole(value, where)
    return _varint(number << 3) + _varint(whole % (1 << 64))


def _float(value: Any, where: str) -> float:
    try:
        found = float(value)
        struct.pack("<f", found)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where} must be a number; got {_shown(value)}") from None
    return found


def _whole(value: Any, where: str) -> int:
    """Return a whole number of 64 bits, which may be given as a text."""
    try:
        found = int(value)
        if isinstance(value, float) and not (math.isfinite(value) and value == found):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where} must be a whole number; got {_shown(value)}") from None
    if not -_INT64 <= found < 2 * _INT64:
        raise DataError(f"{where} must be a number of 64 bits; got {_shown(value)}")
    return found


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
