"""
Write the report on a network as text: a line for each fact that says something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

#: Sections of a report whose keys are names of files, feeds, tags or time zones from the data, which are kept.
_NAMES: Final = frozenset(
    {
        "files", "timetable", "edges_by_highway", "km_by_timezone", "changes", "dropped", "noted",
        "restriction_conditions_ignored", "not_applied", "alerts_on_timetable",
    }
)  # fmt: skip


def label(key: Any, section: str) -> str:
    """Return the words for a key of a report that stands under the key `section`; names from the data stay."""
    return str(key) if section in _NAMES else str(key).replace("_", " ")


def report_lines(facts: dict[str, Any], indent: str, section: str = "") -> list[str]:
    """Return the lines of a nested report; `section` is the key that the facts stand under."""
    lines = []
    for key, value in without_nothing(facts, section):
        name = label(key, section)
        if isinstance(value, dict):
            lines.append(f"{indent}{name}:")
            lines.extend(report_lines(value, indent + "  ", str(key)))
        else:
            lines.append(f"{indent}{name}: {worded(value)}")
    return lines


def worded(value: Any) -> str:
    """Return a value of the report as text."""
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def without_nothing(facts: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    """
    Yield the facts worth a line: no zeros, no empty texts, and no section that has only these.

    Days of the week without trips stay, as they say something beside the others.
    """
    for key, value in facts.items():
        if isinstance(value, Mapping):
            if value.get("number") != 0 and any(True for _ in without_nothing(value, key)):
                yield key, value
        elif value not in (None, "") and (section == "trips_per_weekday" or isinstance(value, bool) or value != 0):
            yield key, value
