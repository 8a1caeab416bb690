"""
Observed days of commands: their archives, and the dates to search.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network
    from traveltime_lab.network.observed_days import ObservedDays


def days_of(network: Network, options: dict[str, Any], dates: str | None) -> ObservedDays:
    """
    Return the days that options stand for.

    Parameters
    ----------
    network : Network
        The planned timetable.
    options : dict
        Arguments of `observed_days`; the archive is a list of texts.
    dates : str, optional
        Those of ``--dates``; all if there are none.

    Raises
    ------
    InputError
        If some archives have the name of a feed and others have none, or a date is none or has no observations.
    """
    import traveltime_lab as tl

    days = tl.observed_days(network, **{**options, "archive": _archive(options["archive"])})
    return days if dates is None else days.select(_chosen(days, dates))


def _archive(texts: list[str]) -> Any:
    """Return one archive, a list of its parts, or a dict of archives by feed."""
    from traveltime_lab.errors import InputError

    # A path may have an equals sign, too.
    named = [None if Path(text).exists() or "=" not in text else text.partition("=") for text in texts]
    if not any(named):
        return Path(texts[0]) if len(texts) == 1 else [Path(text) for text in texts]
    found: dict[str, list[Path]] = {}
    for text, parts in zip(texts, named, strict=True):
        if parts is None:
            raise InputError(f"--archive must be PATH, or NAME=PATH each time; got {texts[0]!r} and {text!r}")
        found.setdefault(parts[0], []).append(Path(parts[2]))
    return {name: paths[0] if len(paths) == 1 else paths for name, paths in found.items()}


def _chosen(days: ObservedDays, text: str) -> list[dt.date]:
    """Return the dates of a text."""
    from traveltime_lab.errors import InputError

    first, slash, last = text.partition("/")
    try:
        given = [dt.date.fromisoformat(part.strip()) for part in ((first, last) if slash else text.split(","))]
    except ValueError as error:
        raise InputError(f"--dates must be DATE,... or FIRST/LAST, such as 2026-03-02; got {text!r}") from error
    if not slash:
        return given
    chosen = [day for day in days if given[0] <= day <= given[1]]
    if not chosen:
        raise InputError(f"--dates has {text}, of which there are no observations; there are {days!r}")
    return chosen
