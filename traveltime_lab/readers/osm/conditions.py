"""
Read at which hours of the week a turn restriction holds.

The tags are ``restriction``, ``restriction:<vehicle>``, both also with ``:conditional`` (wiki, ``Conditional
restrictions``), and ``day_on``, ``day_off``, ``hour_on`` and ``hour_off``, which ``:conditional`` replaced (wiki,
``Relation:restriction``). Conditions are honoured if they are hours of the week; others are counted by reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int64Array
from traveltime_lab.readers.osm import opening_hours

#: Most general first. Restrictions for goods vehicles or buses only do not apply to cars.
_KEYS: Final = ("restriction", "restriction:vehicle", "restriction:motor_vehicle", "restriction:motorcar")
_OLD_KEYS: Final = ("day_on", "day_off", "hour_on", "hour_off")
_KINDS: Final = frozenset(
    {f"no_{turn}" for turn in ("left_turn", "right_turn", "straight_on", "u_turn", "entry", "exit", "turn")}
    | {f"only_{turn}" for turn in ("left_turn", "right_turn", "straight_on", "u_turn")}
)
_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
_OLD_HOUR: Final = re.compile(r"\d{1,2}")


class Held(NamedTuple):
    """
    A kind of restriction, and when it holds.

    Attributes
    ----------
    kind : str
        Such as ``"no_left_turn"``.
    hours : tuple of int
        Minutes of the week, local time, at which it alternately begins and ceases to hold; empty if it always holds.
    by_default : bool
        Whether it holds if no moment is given: conditions are not met then.
    """

    kind: str
    hours: tuple[int, ...] = ()
    by_default: bool = True


class Reading(NamedTuple):
    """Meaning of the tags of a relation for cars."""

    is_for_cars: bool
    held: tuple[Held, ...]
    #: Reasons of the conditions that are not honoured, one for each.
    ignored: tuple[str, ...]


def read_conditions(tags: Mapping[str, str]) -> Reading:
    """
    Return which restrictions of a relation hold for cars, and when.

    A condition replaces the plain value at its hours, a later one an earlier one, and a tag of a vehicle those of more
    general ones; the value ``none`` lifts a restriction. A condition that is not understood is left out, so that the
    plain value holds, if there is one. A restriction with ``hour_on`` and the like that are not understood is left out.

    Parameters
    ----------
    tags : mapping
        Tags of the relation.
    """
    plain = [tags[key] for key in _KEYS if key in tags]
    is_conditional = any(f"{key}:conditional" in tags for key in _KEYS)
    if not plain and not is_conditional:
        return Reading(False, (), ())
    is_old = any(key in tags for key in _OLD_KEYS) and bool(plain)
    if not is_conditional and not is_old:
        return Reading(True, (Held(plain[-1]),) if plain[-1] in _KINDS else (), ())
    ignored: list[str] = []
    old_hours = _old_hours(tags) if is_old else np.ones(opening_hours.WEEK_MIN, np.bool_)
    if old_hours is None:
        ignored.append("other")
        old_hours = np.zeros(opening_hours.WEEK_MIN, np.bool_)
    kinds = ["none"]

    def number(value: str) -> int:
        if value not in _KINDS:
            return 0
        if value not in kinds:
            kinds.append(value)
        return kinds.index(value)

    value_at: Int64Array = np.zeros(opening_hours.WEEK_MIN, np.int64)
    by_default = 0
    for key in _KEYS:
        if key in tags:
            value_at = np.where(old_hours, number(tags[key]), 0)
            by_default = 0 if is_old else number(tags[key])
        for value, condition in _clauses(tags.get(f"{key}:conditional", "")):
            if value not in _KINDS and value != "none":
                ignored.append("unknown_kind")
                continue
            minutes = _minutes_of(condition)
            if minutes is None:
                ignored.append(opening_hours.reason_of(condition))
                continue
            value_at[minutes] = number(value)
    held = []
    for idx, kind in enumerate(kinds):
        is_on = value_at == idx
        if idx and is_on.any():
            held.append(Held(kind) if is_on.all() else Held(kind, _turns_of(is_on), idx == by_default))
    return Reading(True, tuple(held), tuple(ignored))


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield the values of a conditional tag and their conditions; the latter are empty if there are none."""
    found: list[list[str]] = []
    depth = 0
    piece = ""
    for letter in f"{text};":
        depth = max(0, depth + (letter == "(") - (letter == ")"))
        if letter != ";" or depth:
            piece += letter
            continue
        value, at, condition = piece.partition("@")
        if at or not found or found[-1][1].endswith(")"):
            if piece.strip():
                found.append([value.strip(), condition.strip()])
        else:  # a semicolon in hours without parentheses
            found[-1][1] += f";{piece}"
        piece = ""
    if piece.strip("; "):  # a parenthesis that is not closed
        value, _, condition = piece.rstrip(";").partition("@")
        found.append([value.strip(), condition.strip()])
    yield from ((value, condition) for value, condition in found)


def _minutes_of(condition: str) -> BoolArray | None:
    """Return the minutes of the week at which a condition is met; None if it is not understood."""
    if condition.startswith("(") and condition.endswith(")"):
        condition = condition[1:-1]
    minutes = None
    for part in _AND.split(condition):
        found = opening_hours.minutes_of(part)
        if found is None:
            return None
        minutes = found if minutes is None else minutes & found
    return minutes if minutes is not None and minutes.any() else None


def _old_hours(tags: Mapping[str, str]) -> BoolArray | None:
    """Return the minutes of the week of ``day_on``, ``hour_on`` and the like; None if they are not understood."""
    day_on, day_off, hour_on, hour_off = (tags.get(key) for key in _OLD_KEYS)
    days = "" if day_on is None and day_off is None else f"{day_on}-{day_off}"
    # Some write all hours into hour_on.
    hours = hour_on or "" if hour_off is None else f"{_time(hour_on or '')}-{_time(hour_off)}"
    return opening_hours.minutes_of(f"{days} {hours}")


def _time(text: str) -> str:
    """Return a time of day with minutes, which ``hour_on`` may do without."""
    text = text.strip()
    return f"{text}:00" if _OLD_HOUR.fullmatch(text) else text


def _turns_of(is_on: BoolArray) -> tuple[int, ...]:
    """Return the minutes at which something begins, and ceases, to be on, alternately."""
    before = np.concatenate([[False], is_on, [False]])
    return tuple(np.flatnonzero(before[1:] != before[:-1]).tolist())
