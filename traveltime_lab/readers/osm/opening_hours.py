"""
Read hours of the week in the grammar of ``opening_hours``.

Read are weekdays, their ranges and lists, times of day, which may pass midnight, ``24/7``, ``off`` and several rules.
Hours that differ from week to week are not: public and school holidays, dates, sunrise. The grammar and the meaning of
the separators are those of the wiki (``Key:opening_hours/specification``): a rule after a semicolon replaces earlier
rules on its days, a rule after a comma adds to them. A rule belongs to the days on which its times begin.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray

_DAY_MIN: Final = 1440
WEEK_MIN: Final = 7 * _DAY_MIN

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Numbers of the days by each beginning of their names that no other day has, such as "mo", "mon" and "monday".
_DAY_OF: Final = {
    name[:n]: number
    for number, name in enumerate(_DAYS)
    for n in range(1, len(name) + 1)
    if sum(other.startswith(name[:n]) for other in _DAYS) == 1
}
_EVERY_DAY: Final = tuple(range(7))
_TOKEN: Final = re.compile(r"\s*(\d{1,2}:\d{2}|24/7|[a-z]+|[-,])")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})")
#: Values of OpenStreetMap are not longer; the limit bounds the time that a broken file takes.
_LONGEST: Final = 255
_OFF: Final = ("off", "closed")
_MODIFIERS: Final = (*_OFF, "open")

#: Reasons why a condition is not understood, and what they are recognised by; whatever else it is, is "other".
_REASONS: Final = (
    ("holidays", re.compile(r"\b(ph|sh|easter)\b")),
    ("sun", re.compile(r"\b(sunrise|sunset|dawn|dusk)\b")),
    ("dates", re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|week|summer|winter)|\b(19|20)\d\d|\[")),
)


class _Rule(NamedTuple):
    """Times on some days; without times, the days from midnight to midnight."""

    days: tuple[int, ...]
    #: First and last minute (exclusive) after the midnight at which the day begins.
    spans: tuple[tuple[int, int], ...]
    is_off: bool
    #: Whether the rule replaces earlier ones on its days.
    is_replacing: bool


def minutes_of(text: str) -> BoolArray | None:
    """
    Return the minutes of the week that hours consist of.

    Parameters
    ----------
    text : str
        Such as ``"Mo-Fr 07:00-09:00,16:00-18:00"``.

    Returns
    -------
    bool array of shape (10080,) or None
        By minutes since Monday 0:00 local time. None if the hours are not understood, or if there are none.
    """
    if len(text) > _LONGEST:
        return None
    rules: list[_Rule] = []
    for part in text.lower().replace("\N{EN DASH}", "-").split(";"):
        found = _rules_of(part)
        if found is None:
            return None
        rules.extend(found)
    # By the day on which the times begin, so that a rule that replaces those of a day keeps the night before.
    by_day = np.zeros((7, 2 * _DAY_MIN), np.bool_)
    for rule in rules:
        days = list(rule.days)
        if rule.is_off and rule.spans:
            taken = _folded(_of_rule(rule))
            for day in range(7):
                by_day[day] &= ~np.take(taken, np.arange(2 * _DAY_MIN) + day * _DAY_MIN, mode="wrap")
            continue
        if rule.is_replacing or rule.is_off:
            by_day[days] = False
        if not rule.is_off:
            by_day |= _of_rule(rule)
    minutes = _folded(by_day)
    return minutes if minutes.any() else None


def reason_of(text: str) -> str:
    """Return the reason why hours are not understood: "holidays", "sun", "dates" or "other"."""
    return next((name for name, pattern in _REASONS if pattern.search(text.lower())), "other")


def _days_between(first: str, last: str) -> tuple[int, ...] | None:
    """Return the numbers of the weekdays from one to another, Monday being 0; None if one is not a weekday."""
    a, b = _DAY_OF.get(first), _DAY_OF.get(last)
    return None if a is None or b is None else tuple((a + i) % 7 for i in range((b - a) % 7 + 1))


def _span_between(first: str, last: str) -> tuple[int, int] | None:
    """Return the minutes from one time of day to another, which is on the next day if it is not later."""
    begin, end = _minute(first), _minute(last)
    if begin is None or end is None or begin >= _DAY_MIN:
        return None
    return begin, end if end > begin else end + _DAY_MIN


def _minute(text: str) -> int | None:
    """Return the minutes after midnight, up to 48 hours."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute = int(found[1]), int(found[2])
    return 60 * hour + minute if minute < 60 and 60 * hour + minute <= 2 * _DAY_MIN else None


def _of_rule(rule: _Rule) -> BoolArray:
    """Return the minutes of a rule by the day on which its times begin."""
    minutes = np.zeros((7, 2 * _DAY_MIN), np.bool_)
    for begin, end in rule.spans or ((0, _DAY_MIN),):
        minutes[list(rule.days), begin:end] = True
    return minutes


def _folded(by_day: BoolArray) -> BoolArray:
    """Return the minutes of the week, given those of each day and the night after it."""
    return np.asarray(by_day[:, :_DAY_MIN] | np.roll(by_day[:, _DAY_MIN:], 1, axis=0)).ravel()


def _rules_of(text: str) -> list[_Rule] | None:
    """Return the rules of a part between semicolons; None if it is not understood."""
    tokens: list[str] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        tokens.append(token[1])
        at = token.end()
    reader = _Reader(tokens)
    rules: list[_Rule] = []
    while True:
        rule = reader.rule(is_first=not rules)
        if rule is None:
            return None
        rules.append(rule)
        if reader.is_done:
            return rules
        if not reader.skip(","):
            return None


class _Reader:
    """Reads rules from the tokens of a part, from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def is_done(self) -> bool:
        return self.at == len(self.tokens)

    def token(self, ahead: int = 0) -> str:
        """Return a token without taking it; empty after the last one."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def skip(self, token: str) -> bool:
        """Take a token if it is the next one."""
        is_next = self.token() == token
        self.at += is_next
        return is_next

    def rule(self, *, is_first: bool) -> _Rule | None:
        """Take a rule; a further one needs days, as times after a comma belong to the rule before."""
        is_whole_week = self.skip("24/7")
        days, spans = (_EVERY_DAY, ()) if is_whole_week else (self.days(), self.spans())
        if days is None or spans is None or not (days or (spans and is_first)):
            return None
        modifier = self.token() if self.token() in _MODIFIERS else ""
        self.at += bool(modifier)
        return _Rule(days or _EVERY_DAY, spans, modifier in _OFF, is_replacing=is_first)

    def days(self) -> tuple[int, ...] | None:
        """Take a list of weekdays, which may be empty; None if one of them is not a weekday."""
        found: list[int] = []
        while self.token()[:1].isalpha() and self.token() not in _MODIFIERS:
            first = last = self.token()
            self.at += 1
            if self.skip("-"):
                last = self.token()
                self.at += 1
            days = _days_between(first, last)
            if days is None:
                return None
            found.extend(days)
            # A comma before anything but a weekday begins a new rule.
            if not (self.token() == "," and self.token(1) in _DAY_OF):
                break
            self.at += 1
        return tuple(sorted(set(found)))

    def spans(self) -> tuple[tuple[int, int], ...] | None:
        """Take a list of times, which may be empty; None if one of them is not a span."""
        found: list[tuple[int, int]] = []
        while _TIME.fullmatch(self.token()):
            first = self.token()
            self.at += 1
            span = _span_between(first, self.token(1)) if self.token() == "-" else None
            if span is None:
                return None
            self.at += 2
            found.append(span)
            if not (self.token() == "," and _TIME.fullmatch(self.token(1))):
                break
            self.at += 1
        return tuple(found)
