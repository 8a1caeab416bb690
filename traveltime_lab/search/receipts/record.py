"""
The receipt that goes along with a result, in its ``attrs``.

A receipt costs a search some microseconds: it keeps references to the question (coordinates, labels, options, a few
facts about the network, but not the network), and becomes text when it is shown or a file is written. pandas
copies ``attrs`` deeply in every operation, so a receipt is its own copy.
"""

from __future__ import annotations

import copy
import datetime as dt
import enum
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd
import shapely

import traveltime_lab
from traveltime_lab.modes.costs import Costs
from traveltime_lab.moment_lists import NAMES, are_several, resolve_several
from traveltime_lab.moments import WEEKDAY_MORNING
from traveltime_lab.network.attrs import LateDict
from traveltime_lab.network.network import Network
from traveltime_lab.points import read_once
from traveltime_lab.scenarios.file import to_json
from traveltime_lab.search.properties import charged
from traveltime_lab.search.query import typical_day_of
from traveltime_lab.search.receipts.inputs import InputTable, input_table

FORMAT: Final = "traveltime_lab.receipt"
FORMAT_VERSION: Final = 1
#: Key of a receipt in ``attrs``, and in the metadata of files.
KEY: Final = "traveltime_lab"
#: Key of the date of ``"weekday_morning"`` in ``attrs`` and in receipts.
DAY: Final = WEEKDAY_MORNING.value

_F = TypeVar("_F", bound=Callable[..., Any])

#: Arguments that are points, and those with the names of their columns that count.
COLUMNS_OF: Final[Mapping[str, str | None]] = {
    "origins": "demand",
    "destinations": None,
    "opportunities": "values",
    "places": None,
    "points": None,
}
#: The argument with the networks of a study by date; what a receipt says about them is in ``attrs`` of the result.
DAYS: Final = "days"
#: Immutable values.
_FIXED: Final = (str, int, float, bool, type(None), dt.date, dt.timedelta, enum.Enum)
#: Arguments that do not change an answer.
_NOT_KEPT: Final = ("network", "progress", "executor")


class NetworkFacts(NamedTuple):
    """The facts of a receipt about a network, which do not keep it alive."""

    fingerprint: str
    timezone: str
    licence: str
    report: Mapping[str, Any]
    history: Any

    @classmethod
    def of(cls, network: Network) -> NetworkFacts:
        """Return the facts of a network."""
        return cls(network.fingerprint, network.timezone, network.attribution, network.tables.report, network.history)

    def as_json(self) -> dict[str, Any]:
        """Return the facts as values of JSON."""
        found: dict[str, Any] = {
            "fingerprint": self.fingerprint,
            "timezone": self.timezone,
            "source": str(self.report.get("source", "")),
            "files": [dict(file) for file in self.report.get("files", ())],
        }
        if self.history.changes:
            found["changes"] = to_json(self.history.changes)
            found["what_changed"] = self.history.listed()
            found["fingerprint_before_changes"] = self.history.original
        return found


class Request(NamedTuple):
    """The question: the function, its arguments, its tables and the network."""

    function: str
    arguments: Mapping[str, Any]
    tables: Mapping[str, InputTable]
    network: NetworkFacts
    #: The date of ``"weekday_morning"``, if the question has it and a timetable is used.
    day: dt.date | None = None
    with_points: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as values of JSON."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "function": self.function,
            "arguments": {name: plain_argument(value) for name, value in self.arguments.items()},
            **({} if self.day is None else {DAY: self.day.isoformat()}),
            "points": {name: table.as_json(with_points=self.with_points) for name, table in self.tables.items()},
            "network": self.network.as_json(),
            "licence": self.network.licence,
            "versions": {
                "traveltime_lab": traveltime_lab.__version__,
                "shapely": f"{shapely.__version__} (GEOS {shapely.geos_version_string})",
            },
        }


def attrs_of(request: Request) -> dict[str, Any]:
    """Return the ``attrs`` of a result: a receipt that is written when it is read, and the date that was chosen."""
    day = {} if request.day is None else {DAY: request.day.isoformat()}
    return {KEY: LateDict.of(FORMAT, request.as_json), **day}


def with_receipt(function: _F) -> _F:
    """Have a search put a receipt into the ``attrs`` of its result."""
    every = inspect.signature(function).parameters
    names = tuple(every)
    defaults = {name: item.default for name, item in every.items() if item.default is not item.empty}

    @functools.wraps(function)
    def answered(*arguments: Any, **keywords: Any) -> Any:
        with read_once():
            result = function(*arguments, **keywords)
            given = dict(zip(names, arguments, strict=False)) | keywords
            if DAYS in given:
                # Hashes of the networks that were searched.
                given[DAYS] = result.attrs[DAYS]
            result.attrs = attrs_of(request_of(function.__name__, given, defaults))
            return result

    return cast(_F, answered)


def request_of(function: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Request:
    """Return the question of a call with valid arguments."""
    arguments, tables = {name: value for name, value in defaults.items() if name not in _NOT_KEPT}, {}
    for name, value in given.items():
        if value is not None and (name in COLUMNS_OF or (name == "pairs" and isinstance(value, pd.DataFrame))):
            columns = ("origin", "destination") if name == "pairs" else given.get(COLUMNS_OF[name] or "", ())
            tables[name] = input_table(value, (columns,) if isinstance(columns, str) else tuple(columns or ()))
            arguments.pop(name, None)
        elif name not in _NOT_KEPT:
            arguments[name] = value if type(value) in _FIXED else copy.deepcopy(value)
    limited = any(arguments.get(name) is not None for name in ("max_emissions", "max_cost"))
    asks = limited or "criteria" in arguments or charged(_names(arguments.get("properties")))
    if asks and arguments.get("costs", ...) is None:
        # The factors that were used; those of later versions may differ.
        arguments["costs"] = Costs()
    network = given["network"]
    for name in NAMES:
        if are_several(arguments.get(name)):
            # A tuple (start, end, every) has no values of JSON.
            arguments[name] = resolve_several(arguments[name], network.timezone, name=name)
    # The dates of a study are those of its days.
    day = None if DAYS in arguments else typical_day_of(network, arguments)
    return Request(function, arguments, tables, NetworkFacts.of(network), day)


def _names(properties: Any) -> tuple[Any, ...]:
    """Return the names of properties, which are any of the forms that functions take."""
    return () if properties is None else (properties,) if isinstance(properties, str) else tuple(properties)


def plain_argument(value: Any) -> Any:
    """Return an argument as values of JSON that reproduce the call."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return int(value.total_seconds()) if value == dt.timedelta(seconds=int(value.total_seconds())) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        plain = asdict(value)
        given = {item.name: plain[item.name] for item in fields(value) if plain[item.name] != item.default}
        if "type" in plain:
            given = {"type": plain["type"], **given}
        return plain_argument(given)
    if isinstance(value, Mapping):
        return {str(name): plain_argument(item) for name, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if hasattr(value, "__iter__"):
        return [plain_argument(item) for item in value]
    return str(value)
