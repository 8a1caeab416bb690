"""
Bytes to typed requests: fast if they are right, with their faults under JSON paths if they are not.

msgspec decodes and checks in one pass but stops at the first fault. Only then is the body walked along the same types,
part by part: a part that matches its type is decoded at once, a faulty one is taken apart further. This finds all
faults, and is as tolerant as the contract: whole numbers written as 900.0. It ends at the hundredth fault.

Whatever a body holds, this takes time and memory that grow with its length only, and little of either. Objects are
taken apart without decoding their values, the length of an array is known before its items are decoded, and fields
that no type has are never decoded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType, inspect

from traveltime_lab._arrays import Int64Array
from traveltime_lab._keywords import meant_by
from traveltime_lab.kernels.json_items import item_spans
from traveltime_lab.modes.table import meant_type
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.server.contract.errors import (
    LONGEST_SHOWN,
    MOST_FAULTS,
    Failure,
    Faults,
    schema_failure,
    shown,
    syntax_failure,
)
from traveltime_lab.server.contract.moments import Moment

_T = TypeVar("_T")
#: A part of a body, which is not copied.
Part: TypeAlias = "memoryview[int]"

#: A check beyond types. It gets a request, in which `UNSET` stands for faulty values, and
#: reports a path and a text for each fault.
Rule = Callable[[Any, Callable[[str, str], None]], None]

_NUMBERS: Final = (inspect.IntType, inspect.FloatType)
#: Commas up to which a body is decoded before its arrays are counted: twice those of a request of 100,000 locations. A
#: decoded value takes less than 100 bytes, most of all an empty object in an array where none belongs.
_MOST_COMMAS: Final = 1_000_000
#: Bytes that are searched for commas at once.
_PIECE: Final = 1 << 18
#: Bytes up to which a part is decoded before it is taken apart.
_SMALL: Final = 100_000
#: Bytes of a faulty body up to which its ids and references are checked, too, which takes as long again.
_LARGE: Final = 20_000_000
#: Items of an array that are decoded together.
_ITEMS: Final = 4096


class _EnoughError(Exception):
    """The largest number of reported faults was reached."""


class _Collected:
    """The faults that were found so far."""

    def __init__(self) -> None:
        self.faults: Faults = {}
        self.count = 0

    def add(self, path: str, text: str) -> None:
        """Note a fault; raise `_EnoughError` if there are enough."""
        self.faults.setdefault(path, []).append(text)
        self.count += 1
        if self.count >= MOST_FAULTS:
            raise _EnoughError


def is_faulty(value: object) -> bool:
    """Return whether a part of a request has a fault that was noted already; types do not say so."""
    return value is UNSET


def decode(body: bytes | bytearray, kind: type[_T], rules: tuple[Rule, ...] = ()) -> _T:
    """
    Return a request of a type.

    Parameters
    ----------
    body : bytes or bytearray
    kind : type
        A struct of `traveltime_lab.server.contract.requests`.
    rules : tuple of callables
        Checks beyond types, in order.

    Returns
    -------
    An instance of `kind`.

    Raises
    ------
    Failure
        Code 3 if the body is not JSON, code 2 with its faults, at most a hundred, if it does not match.
    """
    found = _Collected()
    key: Any = kind
    request: Any = UNSET
    try:
        if len(body) <= _MOST_COMMAS or _n_commas(body) <= _MOST_COMMAS:
            try:
                request = _decoder(key).decode(body)
            except _MISFITS as error:
                _raise_if_syntax(error)
                checkpoint()
        if request is UNSET:
            # Non-objects are not parsed further, so their syntax has to be checked here.
            part = memoryview(body) if body[:1] == b"{" else memoryview(msgspec.json.decode(body, type=Raw))
            request = _walk(part, _described(key), "obj", found)
        checkpoint()
        if not found.faults or len(body) <= _LARGE:
            _apply(rules, request, found)
    except _EnoughError:
        pass
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _syntax(error) from None
    if found.faults:
        raise schema_failure(found.faults, is_cut=found.count >= MOST_FAULTS)
    checked: _T = request
    return checked


def convert(value: object, kind: type[_T], rules: tuple[Rule, ...] = ()) -> _T:
    """Return plain values (of a query string) as a type; see `decode`."""
    return decode(msgspec.json.encode(value), kind, rules)


def _n_commas(body: bytes | bytearray) -> int:
    """Return the number of commas; ``body.count`` takes longer where there are many."""
    text = np.frombuffer(body, np.uint8)
    return sum(int(np.count_nonzero(text[at : at + _PIECE] == ord(","))) for at in range(0, text.size, _PIECE))


def _apply(rules: tuple[Rule, ...], request: object, found: _Collected) -> None:
    """Collect the reports of rules about a request."""
    if request is not UNSET:
        for rule in rules:
            rule(request, found.add)
            checkpoint()


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_read_text)


def _read_text(kind: type[Moment], value: object) -> Moment:
    """Return a value of the one type that msgspec does not support."""
    if not isinstance(value, str):
        raise ValueError(_expected("a string", memoryview(msgspec.json.encode(value))))
    return kind(value)


@cache
def _described(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


#: Errors about JSON that does not match a type, or is none, see `_raise_if_syntax`; the second one is about integers of
#: more than 4,300 digits.
_MISFITS = (msgspec.ValidationError, ValueError)


def _raise_if_syntax(error: Exception) -> None:
    """
    Raise an error again if it is about the syntax or the encoding, and not about a value.

    From version 0.23 on, `msgspec.DecodeError` is a `ValueError`, and raised for text that is not UTF-8.
    """
    is_value = isinstance(error, msgspec.ValidationError)
    if isinstance(error, UnicodeError) or (isinstance(error, msgspec.DecodeError) and not is_value):
        raise error


def _syntax(error: Exception) -> Failure:
    if isinstance(error, RecursionError):
        return syntax_failure("nested too deeply")
    return syntax_failure(str(error))


def _walk(part: Part, kind: inspect.Type, path: str, found: _Collected) -> Any:
    """Return a part of a body as a type, or `UNSET` where faults were noted."""
    if isinstance(kind, inspect.Metadata):
        return _walk(part, kind.type, path, found)
    if isinstance(kind, inspect.RawType):
        return Raw(part)
    if isinstance(kind, inspect.UnionType):
        return _walk_union(part, kind, path, found)
    if isinstance(kind, inspect.StructType):
        return _walk_struct(part, kind, path, found)
    if isinstance(kind, inspect.ListType):
        return _walk_list(part, kind, path, found)
    if _first(part) in ("{", "["):
        found.add(path, _expected(_name_of(kind), part))
        return UNSET
    if isinstance(kind, inspect.CustomType):
        if _first(part) != '"':
            found.add(path, _expected("a string", part))
            return UNSET
        try:
            return _read_text(kind.cls, msgspec.json.decode(part))
        except ValueError as error:
            if isinstance(error, UnicodeDecodeError | msgspec.DecodeError):
                raise
            found.add(path, str(error))
        return UNSET
    try:
        value = msgspec.json.decode(part)
        text = _scalar_fault(value, part, kind)
    except _MISFITS as error:
        _raise_if_syntax(error)
        # A number beyond every float, or with more digits than Python converts (4,300).
        text = f"must be {_name_of(kind)}; got a number that is too large"
    if text is not None:
        found.add(path, text)
        return UNSET
    if isinstance(kind, inspect.IntType):
        return int(value)
    return float(value) if isinstance(kind, inspect.FloatType) else value


def _bare(part: Part) -> Part:
    """Return a part without the blanks around it."""
    return part if _first(part) in ("{", "[", '"') else memoryview(msgspec.json.decode(part, type=Raw))


def _raw_part(value: Raw | UnsetType) -> Part | None:
    """Return the value of a field, None if it is null or absent, which mean the same."""
    if value is UNSET:
        return None
    part = memoryview(value)
    return None if _is_null(part) else part


def _is_null(part: Part) -> bool:
    return bytes(part[:5]) == b"null"


def _first(part: Part) -> str:
    """Return the first character of a part."""
    return chr(part[0]) if len(part) else ""


def _walk_union(part: Part, kind: inspect.UnionType, path: str, found: _Collected) -> Any:
    options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
    if _is_null(part) and len(options) < len(kind.types):
        return None
    if len(options) == 1:
        return _walk(part, options[0], path, found)
    # Several structs, distinguished by their tag.
    structs = {option.tag: option for option in options if isinstance(option, inspect.StructType)}
    tag_field = next(iter(structs.values())).tag_field or ""
    if _first(part) != "{":
        found.add(path, _expected("an object", part))
        return UNSET
    tag = _raw_part(msgspec.json.decode(part, type=_tag_alone(tag_field)).tag)
    if tag is None:
        found.add(f"{path}.{tag_field}", "missing" + _instead(part, next(iter(structs.values())), tag_field))
        return UNSET
    written = _text_of(tag)
    if written not in structs:
        found.add(f"{path}.{tag_field}", _not_one_of(tag, tuple(structs)))
        return UNSET
    return _walk_struct(part, structs[written], path, found)


def _walk_struct(part: Part, kind: inspect.StructType, path: str, found: _Collected) -> Any:
    if _first(part) != "{":
        found.add(path, _expected("an object", part))
        return UNSET
    if len(part) <= _SMALL:
        try:
            return _decoder(kind.cls).decode(part)
        except _MISFITS as error:
            _raise_if_syntax(error)
    values = msgspec.json.decode(part, type=_parts_of(kind.cls))
    made: dict[str, Any] = {}
    for field in kind.fields:
        here = f"{path}.{field.encode_name}"
        item = _raw_part(getattr(values, field.name))
        if item is None and not field.required:
            made[field.name] = None
        elif item is None:
            found.add(here, "missing" + _instead(part, kind, field.encode_name))
            made[field.name] = UNSET
        else:
            made[field.name] = _walk(item, field.type, here, found)
    return kind.cls(**made)


@cache
def _parts_of(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a struct with the same fields, which keeps their values as bytes of the body."""
    fields = msgspec.structs.fields(kind)
    return msgspec.defstruct(
        f"{kind.__name__}Parts",
        [(field.name, Raw | UnsetType, UNSET) for field in fields],
        rename={field.name: field.encode_name for field in fields},
    )


@cache
def _tag_alone(name: str) -> Any:
    """Return a struct that keeps the tag of an object only."""
    return msgspec.defstruct("Tag", [("tag", Raw | UnsetType, UNSET)], rename={"tag": name})


def _walk_list(part: Part, kind: inspect.ListType, path: str, found: _Collected) -> Any:
    if _first(part) != "[":
        found.add(path, _expected("an array", part))
        return UNSET
    if kind.max_length is not None:
        length = _count(part, most=max(10 * kind.max_length, _ITEMS))
        if length > kind.max_length:
            got = f"{length}" if length <= 10 * kind.max_length else f"more than {10 * kind.max_length}"
            found.add(path, f"must have at most {kind.max_length} items; got {got}")
            return UNSET
    values: list[Any] = []
    for begins, ends in _spans(part):
        checkpoint()
        values.extend(_walk_items(part, begins, ends, kind, path, len(values), found))
    if kind.min_length is not None and len(values) < kind.min_length:
        found.add(path, f"must have at least {kind.min_length} items; got {len(values)}")
    return values


def _walk_items(
    part: Part, begins: Int64Array, ends: Int64Array, kind: inspect.ListType, path: str, first: int, found: _Collected
) -> list[Any]:
    """Return some items of an array, of which `first` have been returned before."""
    together = _kind_of_items(kind)
    if together is not None and ends[-1] - begins[0] <= 16 * _SMALL:
        try:
            whole: list[Any] = _decoder(together).decode(b"[%b]" % bytes(part[begins[0] : ends[-1]]))
        except _MISFITS as error:
            _raise_if_syntax(error)
        else:
            return whole
    values = []
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True), first):
        values.append(_walk(_bare(part[begin:end]), kind.item_type, f"{path}[{i}]", found))
    return values


def _kind_of_items(kind: inspect.ListType) -> Any:
    """Return the type of an array as which some of its items can be decoded together, None if there is none."""
    item = kind.item_type
    alone: Any = None
    if isinstance(item, inspect.StructType):
        alone = item.cls
    elif isinstance(item, inspect.LiteralType):
        alone = Literal[item.values]
    elif isinstance(item, inspect.StrType) and item.min_length is None:
        alone = str
    return None if alone is None else list[alone]


def _spans(part: Part) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield where the items of an array begin and end, a few thousand at a time."""
    text = np.frombuffer(part.toreadonly(), np.uint8)
    begins, ends = np.empty(_ITEMS, np.int64), np.empty(_ITEMS, np.int64)
    at = 1
    while at >= 0:
        n, at = item_spans(text, at, begins, ends)
        if n == 1 and at < 0 and not bytes(part[begins[0] : ends[0]]).strip():
            # The rest is blank: an empty array, because its syntax has been checked.
            return
        yield begins[:n], ends[:n]


def _count(part: Part, *, most: int) -> int:
    """Return the number of items of an array, or some number above `most`."""
    length = 0
    for begins, _ in _spans(part):
        length += begins.size
        if length > most:
            break
        checkpoint()
    return length


def _scalar_fault(value: object, part: Part, kind: inspect.Type) -> str | None:
    """Return the fault of a value that is neither an object nor an array, or None."""
    if isinstance(kind, inspect.LiteralType):
        return None if isinstance(value, str) and value in kind.values else _not_one_of(part, kind.values)
    if isinstance(kind, inspect.BoolType):
        return None if isinstance(value, bool) else _expected(_name_of(kind), part)
    if isinstance(kind, inspect.StrType):
        if not isinstance(value, str):
            return _expected(_name_of(kind), part)
        if kind.min_length and len(value) < kind.min_length:
            return "must not be empty"
        return None
    if isinstance(kind, _NUMBERS):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _expected(_name_of(kind), part)
        if not -sys.float_info.max <= value <= sys.float_info.max:
            return f"must be {_name_of(kind)}; got a number that is too large"
        if isinstance(kind, inspect.IntType) and value != int(value):
            return _expected(_name_of(kind), part)
        if (kind.ge is not None and value < kind.ge) or (kind.le is not None and value > kind.le):
            return _not_within(kind.ge, kind.le, part)
        return None
    raise TypeError(f"no rule for {kind}")


def _name_of(kind: inspect.Type) -> str:
    """Return the name of a type of values that are no objects and no arrays."""
    if isinstance(kind, inspect.LiteralType):
        return f"one of [{', '.join(map(str, kind.values))}]"
    names = {inspect.BoolType: "true or false", inspect.IntType: "a whole number", inspect.FloatType: "a number"}
    return names.get(type(kind), "a string")


def _not_within(least: float | None, most: float | None, part: Part) -> str:
    got = _shown_part(part)
    if least is None or most is None:
        return f"must be at least {least:g}; got {got}" if most is None else f"must be at most {most:g}; got {got}"
    return f"must be from {least:g} to {most:g}; got {got}"


def _not_one_of(part: Part, known: tuple[object, ...]) -> str:
    text = _text_of(part)
    meant = None if text is None else meant_type(text, [each for each in known if isinstance(each, str)])
    hint = "" if meant is None else f"; use '{meant}'"
    return f"must be one of [{', '.join(map(str, known))}]; got {_shown_part(part)}{hint}"


def _instead(part: Part, kind: inspect.StructType, name: str) -> str:
    """Return a hint if an object has a field under the name of another service instead of its own."""
    if len(part) > _SMALL:
        return ""
    known = {field.encode_name for field in kind.fields}
    given = msgspec.json.decode(part, type=dict[str, Raw])
    wrong = next((key for key in given if key not in known and meant_by(key, {name}) == name), None)
    return "" if wrong is None else f"; {shown(wrong)} is not a field"


def _expected(name: str, part: Part) -> str:
    return f"must be {name}; got {_shown_part(part)}"


def _text_of(part: Part) -> str | None:
    """Return the text that a short part is, None if it is something else."""
    if len(part) > _SMALL or _first(part) != '"':
        return None
    text: str = msgspec.json.decode(part)
    return text


def _shown_part(part: Part) -> str:
    """Return a part in words, or its text."""
    named = {"{": "an object", "[": "an array"}.get(_first(part))
    return named or shown(bytes(part[: 4 * LONGEST_SHOWN + 4]).decode("utf-8", "replace"))
