"""
Protocol Buffers on the wire: requests to arrays and arrays to responses, for the messages in ``proto/``.

The code that protoc generates makes a Python integer of every number: measured, 75 to 90 ms for 200,000 targets, three
times what all of the coding may take, and it ties a service to one version of the protobuf package, while the public
client pins another. So the few messages are read here, the long arrays by a kernel; the tests hold this module to the
generated code, message by message and for random bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from traveltime_lab._arrays import Int32Array, Int64Array
from traveltime_lab.kernels import varints

Wire = tuple[int, int, Any]

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)
_DEEPEST_GROUP: Final = 100


class DecodeError(ValueError):
    """Bytes that are no Protocol Buffers message."""


@dataclass(frozen=True)
class Field:
    """
    A field of a message.

    Attributes
    ----------
    name : str
    kind : str
        ``"array"`` is a repeated sint32, ``"enums"`` a repeated enum.
    message : mapping, optional
        The fields of a nested message.
    one_of : str
        Group of fields of which the last one on the wire counts.
    """

    name: str
    kind: Literal["float", "sint32", "uint32", "enum", "bool", "array", "enums", "message"]
    message: Mapping[int, Field] | None = None
    one_of: str = ""


_COORDS: Final = {1: Field("lat", "float"), 2: Field("lng", "float")}
_VALUE: Final = {1: Field("value", "uint32")}
_BY_TIMETABLE: Final = {1: Field("walking", "message", _VALUE)}
_BY_CAR_AND_TIMETABLE: Final = {
    1: Field("walking", "message", _VALUE),
    2: Field("driving", "message", _VALUE),
    3: Field("parking", "message", _VALUE),
}
_TRANSPORTATION: Final = {
    1: Field("type", "enum"),
    2: Field("public_transport", "message", _BY_TIMETABLE, "details"),
    3: Field("driving_and_public_transport", "message", _BY_CAR_AND_TIMETABLE, "details"),
}
_MATRIX_SEARCH: Final = {
    1: Field("location", "message", _COORDS),
    2: Field("deltas", "array"),
    3: Field("transportation", "message", _TRANSPORTATION),
    4: Field("period", "enum"),
    5: Field("travel_time", "sint32"),
    6: Field("properties", "enums"),
}
_CELL_SEARCH: Final = {
    1: Field("location", "message", _COORDS),
    2: Field("transportation", "message", _TRANSPORTATION),
    3: Field("period", "enum"),
    4: Field("travel_time", "sint32"),
    5: Field("resolution", "uint32"),
    6: Field("properties", "enums"),
    7: Field("remove_water_bodies", "bool"),
}
#: TimeFilterFastRequest.
MATRIX_REQUEST: Final = {
    1: Field("one_to_many", "message", _MATRIX_SEARCH),
    2: Field("many_to_one", "message", _MATRIX_SEARCH),
}
#: GeohashFastRequest and H3FastRequest.
CELLS_REQUEST: Final = {
    1: Field("one_to_many", "message", _CELL_SEARCH),
    2: Field("many_to_one", "message", _CELL_SEARCH),
}


def parse(data: bytes, fields: Mapping[int, Field]) -> dict[str, Any]:
    """
    Return what a message holds.

    Parameters
    ----------
    data : bytes
    fields : mapping of int to Field
        Of the message; unknown ones are skipped.

    Returns
    -------
    dict
        Fields on the wire by name: float, int and bool, int32 arrays for ``array``, lists for ``enums``, dicts for
        messages. As the specification says, the last of several scalars counts, messages are merged, repeated
        fields are joined, packed or not.

    Raises
    ------
    DecodeError
        If the bytes are no message.
    """
    found: dict[str, Any] = {}
    _merge(memoryview(data), fields, found)
    return _joined(found)


def _joined(found: dict[str, Any]) -> dict[str, Any]:
    """Replace the parts of arrays by the arrays."""
    for name, value in found.items():
        if isinstance(value, dict):
            _joined(value)
        elif isinstance(value, _Parts):
            found[name] = np.concatenate(value) if value else np.empty(0, np.int32)
    return found


class _Parts(list[Int32Array]):
    """An array as it came, in parts."""


def _merge(data: memoryview, fields: Mapping[int, Field], found: dict[str, Any]) -> None:
    """Add what a message holds to `found`."""
    for number, wire, value in _iter_fields(data):
        field = fields.get(number)
        if field is None:
            continue
        kind = field.kind
        if kind == "message":
            if wire == _BYTES:
                for other in fields.values():
                    if field.one_of and other.one_of == field.one_of and other.name != field.name:
                        found.pop(other.name, None)
                _merge(value, field.message or {}, found.setdefault(field.name, {}))
        elif kind == "float":
            if wire == _FIXED32:
                (found[field.name],) = struct.unpack("<f", value)
        elif kind == "array":
            parts = found.setdefault(field.name, _Parts())
            if wire == _BYTES:
                parts.append(_unpacked(value))
            elif wire == _VARINT:
                parts.append(np.array([_zigzag(value)], np.int32))
        elif kind == "enums":
            listed = found.setdefault(field.name, [])
            if wire == _VARINT:
                listed.append(_int32(value))
            elif wire == _BYTES:
                at = 0
                while at < len(value):
                    number, at = _varint(value, at)
                    listed.append(_int32(number))
        elif wire == _VARINT:
            found[field.name] = _READ[kind](value)


def _iter_fields(data: memoryview) -> Iterator[Wire]:
    """Yield number, wire type and raw value of each field; groups are skipped."""
    at, end = 0, len(data)
    groups: list[int] = []
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        # Inside a group, which is skipped, the official decoders take any number.
        if tag >> 32 or (number == 0 and not groups):
            raise DecodeError(f"field number {number} is not possible")
        value: Any = None
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire in (_FIXED32, _FIXED64, _BYTES):
            size = 4 if wire == _FIXED32 else 8
            if wire == _BYTES:
                size, at = _varint(data, at)
            if size > end - at:
                raise DecodeError("a field ends after the message")
            value = data[at : at + size]
            at += size
        elif wire == _GROUP:
            groups.append(number)
            if len(groups) > _DEEPEST_GROUP:
                raise DecodeError("groups are nested too deeply")
            continue
        elif wire == _END_GROUP:
            if not groups or groups.pop() != number:
                raise DecodeError("a group ends that did not begin")
            continue
        else:
            raise DecodeError(f"wire type {wire} is not possible")
        if not groups:
            yield number, wire, value
    if groups:
        raise DecodeError("a group does not end")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a varint and where the next field begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise DecodeError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise DecodeError("a number is longer than ten bytes")


def _uint32(value: int) -> int:
    return value & 0xFFFFFFFF


def _int32(value: int) -> int:
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _zigzag(value: int) -> int:
    low = value & 0xFFFFFFFF
    return (low >> 1) ^ -(low & 1)


_READ: Final[Mapping[str, Callable[[int], int]]] = {
    "sint32": _zigzag,
    "enum": _int32,
    "bool": bool,
    "uint32": _uint32,
}


def _unpacked(data: memoryview) -> Int32Array:
    """Return the values of a packed repeated sint32."""
    raw = np.frombuffer(data, np.uint8)
    values = np.empty(int((raw < 0x80).sum()), np.int32)
    if varints.decode_zigzag(raw, values) < 0:
        raise DecodeError("an array of numbers is broken")
    return values


# Responses ------------------------------------------------------------------------------------------------------------


def _size(n: int) -> bytes:
    """Return a length as a varint."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _block(number: int, data: bytes) -> bytes:
    """Return a length-delimited field, nothing for no data."""
    return bytes([number << 3 | _BYTES]) + _size(len(data)) + data if data else b""


def _packed(number: int, values: Int64Array, *, is_zigzag: bool) -> bytes:
    """Return a packed repeated field."""
    # Five bytes hold 32 bits; a negative int32 takes ten.
    data = np.empty(values.size * 10, np.uint8)
    n = varints.encode(values.astype(np.int64), is_zigzag, data)
    return _block(number, data[:n].tobytes())


def matrix_response(travel_times: Int64Array, distances: Int64Array | None) -> bytes:
    """
    Return a TimeFilterFastResponse.

    Parameters
    ----------
    travel_times : int64 array of shape (n,)
        Seconds, -1 for unreachable.
    distances : int64 array of shape (n,), optional
        Metres, -1 for unreachable.
    """
    properties = _packed(1, travel_times, is_zigzag=True)
    if distances is not None:
        properties += _packed(3, distances, is_zigzag=False)
    return _block(2, properties)


def cells_response(system: str, ids: list[str], statistics: Mapping[str, Int64Array]) -> bytes:
    """
    Return a GeohashFastResponse or an H3FastResponse.

    Parameters
    ----------
    system : {"h3", "geohash"}
    ids : list of str
    statistics : mapping of str to int64 array of shape (n,)
        ``min``, ``max`` and ``mean`` in seconds, as far as they were asked for.
    """
    if system == "h3":
        cells = _block(1, b"".join(int(cell, 16).to_bytes(8, "little") for cell in ids))
    else:
        cells = b"".join(_block(1, cell.encode("ascii")) for cell in ids)
    for number, name in ((2, "min"), (3, "max"), (4, "mean")):
        if name in statistics:
            cells += _packed(number, statistics[name], is_zigzag=True)
    return _block(1, cells)
