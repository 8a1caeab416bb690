"""
Bytes to typed requests: fast if they are right, with every fault under its JSON path if they are not.

msgspec decodes and checks in one pass but stops at the first fault. Only then is the body decoded again without types
and walked along the same types, which finds all faults, and forgives what the contract forgives: whole numbers
written as 900.0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, inspect

from traveltime_lab.server.contract.errors import Failure, Faults, schema_failure, syntax_failure
from traveltime_lab.server.contract.moments import Moment

_T = TypeVar("_T")

#: A check of what types cannot say. It gets a request, in which `UNSET` stands for whatever has a fault already, and
#: reports a path and a text for each fault.
Rule = Callable[[Any, Callable[[str, str], None]], None]

_NUMBERS: Final = (inspect.IntType, inspect.FloatType)


def is_faulty(value: object) -> bool:
    """Return whether a part of a request has a fault that was noted already; types do not say so."""
    return value is UNSET


def decode(body: bytes, kind: type[_T], rules: tuple[Rule, ...] = ()) -> _T:
    """
    Return a request of a type.

    Parameters
    ----------
    body : bytes
    kind : type
        A struct of `traveltime_lab.server.contract.requests`.
    rules : tuple of callables
        What types cannot say, in order.

    Returns
    -------
    An instance of `kind`.

    Raises
    ------
    Failure
        Code 3 if the body is not JSON, code 2 with all faults if it does not match.
    """
    faults: Faults = {}
    key: Any = kind
    request: Any
    try:
        request = _decoder(key).decode(body)
    except msgspec.ValidationError:
        request = _walk(_plain(body), _described(key), "obj", faults)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _syntax(error) from None
    _check(request, rules, faults)
    checked: _T = request
    return checked


def convert(value: object, kind: type[_T], rules: tuple[Rule, ...] = ()) -> _T:
    """Return plain values (of a query string) as a type; see `decode`."""
    faults: Faults = {}
    key: Any = kind
    found = _walk(value, _described(key), "obj", faults)
    _check(found, rules, faults)
    checked: _T = found
    return checked


def _check(request: object, rules: tuple[Rule, ...], faults: Faults) -> None:
    """Raise Failure if there are faults, or rules report some."""

    def report(path: str, text: str) -> None:
        faults.setdefault(path, []).append(text)

    if request is not UNSET:
        for rule in rules:
            rule(request, report)
    if faults:
        raise schema_failure(faults)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_read_text)


def _read_text(kind: type[Moment], value: object) -> Moment:
    """Return a value of a type that msgspec does not know: there is one."""
    if not isinstance(value, str):
        raise ValueError(_expected("a string", value))
    return kind(value)


@cache
def _described(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _plain(body: bytes) -> Any:
    """Return a body without types."""
    try:
        return msgspec.json.decode(body)
    except msgspec.ValidationError:
        # Numbers beyond every float, which the walk finds again.
        try:
            return json.loads(body, parse_int=float, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise _syntax(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _syntax(error) from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _syntax(error: Exception) -> Failure:
    if isinstance(error, RecursionError):
        return syntax_failure("nested too deeply")
    return syntax_failure(str(error))


def _walk(value: Any, kind: inspect.Type, path: str, faults: Faults) -> Any:
    """Return a value as a type, or `UNSET` where faults were noted."""
    if isinstance(kind, inspect.Metadata):
        return _walk(value, kind.type, path, faults)
    if isinstance(kind, inspect.AnyType):
        return value
    if isinstance(kind, inspect.UnionType):
        return _walk_union(value, kind, path, faults)
    if isinstance(kind, inspect.StructType):
        return _walk_struct(value, kind, path, faults)
    if isinstance(kind, inspect.ListType):
        return _walk_list(value, kind, path, faults)
    if isinstance(kind, inspect.CustomType):
        try:
            return _read_text(kind.cls, value)
        except ValueError as error:
            faults.setdefault(path, []).append(str(error))
            return UNSET
    text = _scalar_fault(value, kind)
    if text is not None:
        faults.setdefault(path, []).append(text)
        return UNSET
    if isinstance(kind, inspect.IntType):
        return int(value)
    return float(value) if isinstance(kind, inspect.FloatType) else value


def _walk_union(value: object, kind: inspect.UnionType, path: str, faults: Faults) -> Any:
    options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
    if value is None and len(options) < len(kind.types):
        return None
    if len(options) == 1:
        return _walk(value, options[0], path, faults)
    # Several structs, told apart by their tag.
    structs = {option.tag: option for option in options if isinstance(option, inspect.StructType)}
    tag_field = next(iter(structs.values())).tag_field or ""
    if not isinstance(value, dict):
        faults.setdefault(path, []).append(_expected("an object", value))
        return UNSET
    tag = value.get(tag_field)
    if tag is None:
        faults.setdefault(f"{path}.{tag_field}", []).append("missing")
        return UNSET
    if not isinstance(tag, str) or tag not in structs:
        faults.setdefault(f"{path}.{tag_field}", []).append(_not_one_of(tag, tuple(structs)))
        return UNSET
    return _walk_struct(value, structs[tag], path, faults)


def _walk_struct(value: object, kind: inspect.StructType, path: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        faults.setdefault(path, []).append(_expected("an object", value))
        return UNSET
    found: dict[str, Any] = {}
    for field in kind.fields:
        here = f"{path}.{field.encode_name}"
        item = value.get(field.encode_name)
        if item is None and not field.required:
            found[field.name] = None
        elif item is None:
            faults.setdefault(here, []).append("missing")
            found[field.name] = UNSET
        else:
            found[field.name] = _walk(item, field.type, here, faults)
    return kind.cls(**found)


def _walk_list(value: object, kind: inspect.ListType, path: str, faults: Faults) -> Any:
    if not isinstance(value, list):
        faults.setdefault(path, []).append(_expected("an array", value))
        return UNSET
    if kind.min_length is not None and len(value) < kind.min_length:
        faults.setdefault(path, []).append(f"must have at least {kind.min_length} items; got {len(value)}")
    if kind.max_length is not None and len(value) > kind.max_length:
        faults.setdefault(path, []).append(f"must have at most {kind.max_length} items; got {len(value)}")
    return [_walk(item, kind.item_type, f"{path}[{i}]", faults) for i, item in enumerate(value)]


def _scalar_fault(value: object, kind: inspect.Type) -> str | None:
    """Return what is wrong with a value that is no object and no array, None if nothing is."""
    if isinstance(kind, inspect.LiteralType):
        return None if isinstance(value, str) and value in kind.values else _not_one_of(value, kind.values)
    if isinstance(kind, inspect.BoolType):
        return None if isinstance(value, bool) else _expected("true or false", value)
    if isinstance(kind, inspect.StrType):
        if not isinstance(value, str):
            return _expected("a string", value)
        if kind.min_length and len(value) < kind.min_length:
            return "must not be empty"
        return None
    if isinstance(kind, _NUMBERS):
        name = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _expected(name, value)
        if not -sys.float_info.max <= value <= sys.float_info.max:
            return f"must be {name}; got one that is too large"
        if isinstance(kind, inspect.IntType) and value != int(value):
            return _expected(name, value)
        if (kind.ge is not None and value < kind.ge) or (kind.le is not None and value > kind.le):
            return _not_within(kind.ge, kind.le, value)
        return None
    raise TypeError(f"no rule for {kind}")


def _not_within(least: float | None, most: float | None, value: float) -> str:
    if least is None or most is None:
        return f"must be at least {least:g}; got {value}" if most is None else f"must be at most {most:g}; got {value}"
    return f"must be from {least:g} to {most:g}; got {value}"


def _not_one_of(value: object, known: tuple[object, ...]) -> str:
    return f"must be one of [{', '.join(map(str, known))}]; got {_shown(value)}"


def _expected(name: str, value: object) -> str:
    return f"must be {name}; got {_shown(value)}"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
