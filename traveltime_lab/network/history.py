"""
The changes that a network has had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.file import from_json, to_json


@dataclass(frozen=True)
class History:
    """
    The changes that a network has had; without arguments, none.

    Attributes
    ----------
    changes : tuple of Change
    facts : tuple of str
        Effect of each change, as text.
    original : str, optional
        Fingerprint of the network before all changes.
    """

    changes: tuple[Change, ...] = ()
    facts: tuple[str, ...] = ()
    original: str | None = None

    def listed(self) -> dict[str, str]:
        """Return the effect of each change, by number, kind and name."""
        pairs = zip(self.changes, self.facts, strict=True)
        return {f"{number}. {change.title}": fact for number, (change, fact) in enumerate(pairs, 1)}

    def to_json(self) -> dict[str, Any]:
        """Return the history as plain values for JSON."""
        return {
            "changes": to_json(self.changes),
            "facts": list(self.facts),
            "original": self.original,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> History:
        """Return the history of plain values; raise ValueError, TypeError or KeyError if they are none."""
        changes = from_json(values["changes"], "history")
        if len(changes) != len(values["facts"]):
            raise ValueError("the history does not have one fact for each change")
        return cls(
            changes,
            tuple(map(str, values["facts"])),
            values["original"],
        )
