"""
Findings about the files of a GTFS feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from traveltime_lab._arrays import AnyArray

#: Number of lines kept for each kind of finding.
_LINES_KEPT: Final = 5


@dataclass
class Findings:
    """
    Rows that were dropped or noted while reading a feed, by file and reason.

    Attributes
    ----------
    items : dict
        Maps ``(file, reason)`` to a dict of ``is_dropped``, ``rows``, ``lines`` (the first few) and ``example``.
    """

    items: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add(
        self,
        file: str,
        reason: str,
        lines: Sequence[int] | AnyArray = (),
        *,
        rows: int | None = None,
        example: str = "",
        is_dropped: bool = True,
    ) -> None:
        """Add a finding about `rows` rows (by default ``len(lines)``); do nothing if there are none."""
        rows = len(lines) if rows is None else rows
        if rows == 0:
            return
        item = self.items.setdefault(
            (file, reason), {"is_dropped": is_dropped, "rows": 0, "lines": [], "example": example}
        )
        item["rows"] += rows
        item["lines"] = sorted({*item["lines"], *(int(line) for line in lines[:_LINES_KEPT])})[:_LINES_KEPT]

    def report(self) -> dict[str, dict[str, Any]]:
        """Return the findings under the keys ``dropped`` and ``noted``, ready for JSON."""
        facts: dict[str, dict[str, Any]] = {"dropped": {}, "noted": {}}
        for (file, reason), item in self.items.items():
            text = f"{item['rows']:,} rows"
            if item["lines"]:
                more = ", ..." if item["rows"] > len(item["lines"]) else ""
                text += f", lines {', '.join(map(str, item['lines']))}{more}"
            if item["example"]:
                text += f", such as {item['example']!r}"
            facts["dropped" if item["is_dropped"] else "noted"][f"{file}: {reason}"] = text
        return facts
