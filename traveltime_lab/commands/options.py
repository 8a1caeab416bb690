"""
Options of a command from the arguments of a function, and arguments from the options that are given.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from traveltime_lab.commands.signatures import REQUIRED, Argument, described
from traveltime_lab.commands.values import kind_of, reader
from traveltime_lab.errors import InputError

#: Arguments with options of their own: a class or function each, and what the names of the options begin with.
_PARTS: Final = {
    "transportation": ("Transportation", ""),
    "snapping": ("Snapping", "snapping_"),
    "days": ("observed_days", ""),
}
#: Fields that are no options: `type` is ``--transportation``, the second must have its default, and the network is that
#: of the search.
_NO_OPTIONS: Final = ("type", "disable_border_crossing", "network")
#: Texts of options of searches over days.
_OVER_DAYS_TEXTS: Final = {
    "departure_time": "Time of day of the departures, as ISO 8601 with any date, in the time zone of the network if it "
    "has none, or weekday_morning, which is 8:00. Given several times, or as START/END/EVERY such as "
    "2026-03-02T07:00/2026-03-02T09:00/15min, it is several departures a day.",
    "arrival_time": "Instead of --departure-time, in the same way; weekday_morning is 9:00.",
}
_DATES_TEXT: Final = (
    "Days of the archive to search, such as 2026-03-02,2026-03-04, or FIRST/LAST. By default all of them."
)
_POINTS_TEXT: Final = "file of points, or LNG,LAT"
_TEXTS: Final = {
    "transportation": "Type of transportation, such as walking, driving or public_transport.",
    "departure_time": "ISO 8601, in the time zone of the network if it has none, or weekday_morning. Required for "
    "types with a timetable.",
    "arrival_time": "Instead of --departure-time.",
    "archive": "Folder, zip or tar file, or single file, with snapshots of updates of trips (Protocol Buffers, JSON) "
    "or tables of observed stop times (Parquet, CSV). Given several times, it is one archive of several parts. "
    "NAME=PATH is the archive of the GTFS feed of this name.",
    "columns": "Names of columns of tables by their content, such as trip_id, as a JSON object; needed where they are "
    "not among those that are found without.",
    "pairs": "all combines all origins with all destinations, aligned the first with the first and so on; or a .csv "
    "file with the columns origin and destination.",
}


_SEVERAL: Final = (
    " Given several times, or as START/END/EVERY such as 2026-03-02T00:00/2026-03-03T00:00/15min, it is several "
    "moments, and the result has the column moment."
)
#: Annotations of moments: of those that take several, and of those that take one.
MOMENTS: Final = ("MomentsLike", "MomentLike")


class Moments(argparse.Action):
    """Moments of an option that is given once or several times, or as START/END/EVERY."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add the moment to those before it."""
        known = getattr(namespace, self.dest, None)
        parts = tuple(str(values).split("/"))
        if len(parts) > 1 and not _is_range(parts):
            parser.error(
                f"{option} takes a moment, or START/END/EVERY such as 2026-03-02T00:00/2026-03-03T00:00/15min; got "
                f"{values!r}"
            )
        if known is None and len(parts) == 1:
            found: Any = values
        elif known is None:
            found = parts
        elif isinstance(known, tuple) or len(parts) > 1:
            parser.error(f"{option} is given several times, of which one is START/END/EVERY; give it alone")
        else:
            found = [*(known if isinstance(known, list) else [known]), values]
        setattr(namespace, self.dest, found)


def _is_range(parts: tuple[str, ...]) -> bool:
    """Return whether the parts of an option are a start, an end and a step."""
    from traveltime_lab.moment_lists import is_step

    return len(parts) == 3 and all(parts) and is_step(parts[2]) and not any(map(is_step, parts[:2]))


#: Markup of docstrings that command lines do not have, and its replacement.
_REWRITTEN: Final = (
    (r"[`\"]", ""),
    (r"\*(\w+)\*", r"\1"),
    (r" \[\d\]_", ""),
    (r"\[(\d[\d, ]*)\]", lambda found: found[1].replace(", ", ",")),
    (r" The contract's .*? is accepted too\.", ""),
    (r"; None for [^.;]*", ""),
    (r"^Whether to (.)", lambda found: found[1].upper()),
)


def plain(text: str) -> str:
    """Return a text of a docstring as the help of a command line."""
    for pattern, better in _REWRITTEN:
        text = re.sub(pattern, better, text)
    return text


def add_argument(command: Any, argument: Argument, *, is_over_days: bool = False) -> None:
    """Add an argument of a function, also one that searches days; what is not given is left to the function."""
    name, kind = argument.name, kind_of(argument.annotation)
    if name in (*_PARTS, "network") and name != "transportation":
        return
    if {"Progress", "Executor"} & kind.single:
        return
    if takes_points(argument):
        if argument.is_keyword:
            text = f"{plain(argument.text)} A {_POINTS_TEXT}."
            command.add_argument(f"--{name}", metavar="POINTS", default=argparse.SUPPRESS, help=escaped(text))
        elif argument.default is REQUIRED:
            command.add_argument(name, metavar=name.upper(), help=_POINTS_TEXT)
        else:
            command.add_argument(name, metavar=name.upper(), nargs="?", default=argparse.SUPPRESS, help=_POINTS_TEXT)
        return
    is_required = argument.default is REQUIRED
    text = (is_over_days and _OVER_DAYS_TEXTS.get(name)) or _TEXTS.get(name) or plain(argument.text)
    if argument.default not in (REQUIRED, None, (), "", False, True):
        default = argument.default if isinstance(argument.default, tuple) else (argument.default,)
        text = f"{text} Default: {','.join(map(str, default))}."
    letter = kind.letter
    if letter[0] == "N":
        words = text.lower()
        letter = letter.replace("N", "S" if "second" in words else "M" if "metres" in words else "N")
    how: dict[str, Any] = {"help": escaped(text), "type": reader(kind), "metavar": letter}
    if kind.choices and not kind.single - {"None"}:
        how = {"help": how["help"], "choices": kind.choices}
    elif name in ("transportation", "departure_time", "arrival_time", "pairs"):
        letter = {"transportation": "TYPE", "pairs": "PAIRS"}.get(name, "TIME")
        how = {"help": how["help"], "metavar": letter}
        if argument.annotation == MOMENTS[0]:
            how["action"] = Moments
            how["help"] += _SEVERAL if name == "departure_time" and not is_over_days else ""
    elif name == "archive":
        how = {"help": how["help"], "metavar": "PATH", "action": "append"}
    if not argument.is_keyword:
        command.add_argument(name, **{**how, "metavar": name.upper()})
        return
    how["default"] = argparse.SUPPRESS
    option = name.replace("_", "-")
    if kind.is_flag:
        is_on = argument.default is True
        option = f"no-{option}" if is_on else option
        text = f"Do not {text[0].lower()}{text[1:]}" if is_on else text
        how = {"help": escaped(text), "action": f"store_{'false' if is_on else 'true'}", "default": argparse.SUPPRESS}
    command.add_argument(f"--{option}", dest=name, required=is_required, **how)


def takes_points(argument: Argument) -> bool:
    """Return whether an argument is a table of points."""
    return "PointsLike" in kind_of(argument.annotation).single


def add_parts(command: Any, name: str) -> None:
    """Add the options of ``transportation``, ``snapping`` or ``days``, in a group; nothing for another argument."""
    if name not in _PARTS:
        return
    of, begin = _PARTS[name]
    group = command.add_argument_group(f"options of {name}")
    for field in described(of).arguments:
        if field.name not in _NO_OPTIONS:
            add_argument(group, Argument(f"{begin}{field.name}", field.annotation, field.default, True, field.text))
    if name == "days":
        group.add_argument("--dates", metavar="DATE,...", help=_DATES_TEXT)


def parts_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments ``transportation``, ``snapping`` and ``days`` for which options are given."""
    found = {}
    for name, (of, begin) in _PARTS.items():
        fields = [field.name for field in described(of).arguments if field.name not in _NO_OPTIONS]
        given = {each: getattr(options, begin + each) for each in fields if hasattr(options, begin + each)}
        if name == "transportation" and hasattr(options, name):
            given["type"] = options.transportation
        elif name == "transportation" and given:
            given["type"] = next(each.default for each in described(of).arguments if each.name == "type")
        if given:
            found[name] = given
    return found


def take_negative_numbers(command: argparse.ArgumentParser) -> None:
    """Let values begin with a minus, as in ``-51.2,-30.0``, which argparse takes for an option otherwise."""
    command._negative_number_matcher = re.compile(r"-\.?\d")


def refuse_inputs(out: Path, inputs: Iterable[str | Path | None]) -> None:
    """
    Raise an error if a command would replace a file that it reads.

    Parameters
    ----------
    out : Path
    inputs : iterable of str, Path or None
        Files, or texts that stand for something else, such as LNG,LAT.

    Raises
    ------
    InputError
        If the file to write is one of them, also by another path, or in a folder that is one of them.
    """
    for each in inputs:
        if each is None or each == "":
            continue
        try:
            folders = out.absolute().parents if Path(each).is_dir() else ()
            is_same = any(place.samefile(each) for place in (out, *folders) if place.exists())
        except (OSError, ValueError):  # one of them does not exist, or cannot be a path
            continue
        if is_same:
            msg = f"{out} is a file that the command reads, or in a folder that it reads; give the result another name"
            raise InputError(msg)


def escaped(text: str) -> str:
    """Return a text for argparse, which formats it with %."""
    return text.replace("%", "%%")


def shorten_usage(command: argparse.ArgumentParser) -> None:
    """Have the usage line show what must be given only."""
    needed = [action for action in command._actions if action.required]
    parts = [str(action.metavar) for action in needed if not action.option_strings]
    parts += [f"{action.option_strings[-1]} {action.metavar}" for action in needed if action.option_strings]
    command.usage = " ".join(["%(prog)s", *parts, "[option ...]"])
