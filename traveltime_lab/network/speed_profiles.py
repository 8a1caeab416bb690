"""
Read tables of measured speeds: a row is a street, a direction, some days of the week, an hour and a speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, Float32Array, FloatArray, Int64Array, unique_values
from traveltime_lab._checks import did_you_mean
from traveltime_lab._files import as_path, is_file
from traveltime_lab.errors import DataError, InputError, LimitError, MissingFileError
from traveltime_lab.points import plain
from traveltime_lab.realtime.archives.table_files import chunks_of
from traveltime_lab.streets.hourly_speeds import DAYS, HOURS, HOURS_OF_WEEK, MAX_KPH, MIN_KPH, HourlySpeeds, overlaid
from traveltime_lab.streets.tables import StreetTables, street_km

#: The columns that name streets, of which a table has one, and all of them.
_STREETS: Final = ("edge", "way")
_COLUMNS: Final = (*_STREETS, "direction", "day", "hour", "kph")
#: Columns of an index without a name, as pandas writes it to Parquet and CSV.
_INDEX: Final = re.compile(r"__index_level_\d+__|")
_EXAMPLE: Final = "the columns edge or way, hour and kph, and optionally direction and day"
_SIDES: Final = {"forward": (0,), "backward": (1,), "both": (0, 1)}
_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS: Final = {name.lower(): (day,) for day, name in enumerate(_NAMES)} | {
    "weekday": (0, 1, 2, 3, 4),
    "weekend": (5, 6),
}
#: Whole numbers up to here are exact as floats.
_EXACT: Final = 2.0**53


class _Rows(NamedTuple):
    """
    Some rows of a table.

    Attributes
    ----------
    name : str
        The table, for errors.
    first : int
        Number of the first row.
    columns : dict of str to Series
    """

    name: str
    first: int
    columns: dict[str, pd.Series]

    def wrong(self, column: str, is_wrong: BoolArray, must: str) -> str:
        """Return an error about the first wrong value of a column."""
        at = int(is_wrong.argmax())
        return f"{self.name} has the {column} {plain(self.columns[column].iloc[at])!r} in row {self.first + at}; {must}"

    def numbers(self, column: str) -> FloatArray:
        """Return a column as floats, NaN where it has no number."""
        values = self.columns[column]
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.astype(values.cat.categories.dtype)
        if pd.api.types.is_object_dtype(values.dtype):
            values = values.map(lambda value: value if _may_be_a_number(value) else np.nan)
        kind = pd.api.types
        is_number = kind.is_numeric_dtype(values.dtype) and not kind.is_bool_dtype(values.dtype)
        if kind.is_complex_dtype(values.dtype) or not (is_number or kind.is_string_dtype(values.dtype)):
            return np.full(len(values), np.nan)
        numbers: FloatArray = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers

    def whole(self, column: str, must: str) -> Int64Array:
        """Return a column of whole numbers."""
        found = self.numbers(column)
        is_wrong = ~((found == np.floor(found)) & (np.abs(found) <= _EXACT))
        if is_wrong.any():
            raise InputError(self.wrong(column, is_wrong, must))
        return found.astype(np.int64)

    def chosen(self, column: str, known: Callable[[Any], tuple[int, ...] | None], must: str, size: int) -> BoolArray:
        """Return what the words of a column choose, as flags of shape (n, size); all of it where there is no column."""
        if column not in self.columns:
            return np.ones((len(self.columns["hour"]), size), np.bool_)
        values = self.columns[column]
        if pd.api.types.is_object_dtype(values.dtype):
            # Lists and the like have no hash.
            values = values.map(str).where(values.notna(), None)
        which, words = pd.factorize(values, use_na_sentinel=True)
        flags: BoolArray = np.zeros((len(words) + 1, size), np.bool_)
        flags[-1] = True  # a missing value
        for number, word in enumerate(words):
            found = known(word)
            if found is None:
                raise InputError(self.wrong(column, which == number, must))
            flags[number, found] = True
        chosen: BoolArray = flags[which]
        return chosen


def with_profile(tables: StreetTables, given: Any) -> HourlySpeeds | None:
    """
    Return the measured speeds of tables, with those of a profile in place of or besides them.

    Parameters
    ----------
    tables : StreetTables
    given : DataFrame or path-like
        See `traveltime_lab.network.speeds.add_speeds`.

    Raises
    ------
    MissingFileError, DataError
        If there is no such file, or it is damaged.
    InputError, LimitError
        If a column, a street or a value is missing or wrong.
    """
    content, name = _content(given)
    week: _Week | None = None
    first = 0
    # Called by Arrow, which does not pass on an error.
    faults: list[str] = []
    for columns in chunks_of(content, name, _found(name), lambda why, _: faults.append(why)):
        rows = _Rows(name, first, {key: column.reset_index(drop=True) for key, column in columns.items()})
        if week is None:
            street = next(each for each in _STREETS if each in columns)
            ids = np.arange(tables.edge_from.size) if street == "edge" else unique_values(tables.edge_way_id)
            week = _Week(street, ids.astype(np.int64))
        week.add(rows)
        first += len(rows.columns["hour"])
    if faults:
        raise DataError(f"{name} has a {faults[0]}")
    if week is None:
        raise InputError(f"{name} has no rows")
    kph = tables.uses[["driving_kph_forward", "driving_kph_backward"]].to_numpy()[tables.edge_use].ravel()
    number = np.arange(tables.edge_from.size) if week.street == "edge" else week.ids.searchsorted(tables.edge_way_id)
    week_of = np.where(kph > 0.0, week.row_of[number].ravel(), -1)
    return overlaid(tables.hourly, week_of, week.speeds[: week.n])


def with_facts(modes: dict[str, Any], tables: StreetTables) -> dict[str, Any]:
    """Return facts about the streets of each mode, with those about measured speeds, if there are any."""
    hourly = tables.hourly
    if hourly is not None:
        by_week = np.bincount(hourly.week_of, minlength=len(hourly.weeks))
        by_week[0] = 0
        edges = np.any(hourly.week_of.reshape(-1, 2) > 0, axis=1)
        hours = (~np.isnan(hourly.of_days())).sum(axis=1)[hourly.weeks].sum(axis=1)
        slowest, fastest = hourly.range_kph()
        modes["driving"]["speeds_by_hour"] = {
            "directed_edges": int(by_week.sum()),
            "km": round(street_km(tables, edges), 1),
            "hours_of_168": float((by_week * hours).sum() / by_week.sum()),
            "different_weeks": int((by_week > 0).sum()),
            "slowest_kph": slowest,
            "fastest_kph": fastest,
            "bytes": hourly.n_bytes,
        }
    return modes


class _Week:
    """
    The speeds of streets that have been read.

    Attributes
    ----------
    street : {"edge", "way"}
    ids : int64 array of shape (n_streets,)
        Those of the network in increasing order.
    row_of : intp array of shape (n_streets, 2)
        Row of `speeds` of each street in both directions, -1 for none yet.
    speeds : float32 array of shape (at least n, 168)
    n : int
        Number of rows in use.
    """

    def __init__(self, street: str, ids: Int64Array) -> None:
        self.street, self.ids = street, ids
        self.row_of = np.full((ids.size, 2), -1, np.intp)
        self.speeds: Float32Array = np.full((0, HOURS_OF_WEEK), np.nan, np.float32)
        self.n = 0

    def add(self, rows: _Rows) -> None:
        """Add some rows of a table."""
        number = self._numbers(rows)
        must = f"hours must be whole numbers from 0 to {HOURS - 1}"
        hour = rows.whole("hour", must)
        is_wrong = (hour < 0) | (hour >= HOURS)
        if is_wrong.any():
            raise LimitError(rows.wrong("hour", is_wrong, must))
        kph = rows.numbers("kph")
        is_wrong = ~((kph >= MIN_KPH) & (kph <= MAX_KPH))
        if is_wrong.any():
            must = f"speeds must be from {MIN_KPH:g} to {MAX_KPH:g} km/h; leave out rows without one"
            raise LimitError(rows.wrong("kph", is_wrong, must))
        words = ", ".join(map(repr, _SIDES))
        sides = rows.chosen("direction", _side, f"directions are {words}, or missing for both", 2)
        must = "days are 0 (Monday) to 6 (Sunday), English names, 'weekday', 'weekend', or missing for all seven"
        days = rows.chosen("day", _days, must, DAYS)
        self._make_room(number, sides)
        for side in range(2):
            for day in range(DAYS):
                at = np.flatnonzero(sides[:, side] & days[:, day])
                self._put(rows, at, self.row_of[number[at], side] * HOURS_OF_WEEK + day * HOURS + hour[at], kph[at])

    def _numbers(self, rows: _Rows) -> Int64Array:
        """Return the number of the street of each row."""
        ids = rows.whole(self.street, f"{self.street}s are whole numbers")
        number = np.minimum(self.ids.searchsorted(ids), max(self.ids.size - 1, 0))
        is_wrong = self.ids[number] != ids if self.ids.size else np.ones(ids.size, np.bool_)
        if is_wrong.any():
            what = did_you_mean(int(ids[is_wrong.argmax()]), self.ids) if self.street == "way" else ""
            raise InputError(
                rows.wrong(self.street, is_wrong, f"it does not occur in the network{what}. Leave out its rows")
            )
        return number

    def _make_room(self, number: Int64Array, sides: BoolArray) -> None:
        """Give streets without a row of speeds the next ones."""
        for side in range(2):
            new = unique_values(number[sides[:, side]])
            new = new[self.row_of[new, side] < 0]
            self.row_of[new, side] = self.n + np.arange(new.size)
            self.n += new.size
        if self.n > len(self.speeds):
            size = min(max(self.n, 2 * len(self.speeds)), 2 * self.ids.size)
            longer = np.full((size, HOURS_OF_WEEK), np.nan, np.float32)
            longer[: len(self.speeds)] = self.speeds
            self.speeds = longer

    def _put(self, rows: _Rows, at: AnyArray, place: AnyArray, kph: FloatArray) -> None:
        """Put speeds of some rows at their places, which must be free."""
        flat = self.speeds.reshape(-1)
        is_twice = ~np.isnan(flat[place])
        flat[place] = kph
        if not is_twice.any() and not (np.diff(place) > 0).all():
            order = np.argsort(place, kind="stable")
            is_twice[order[1:]] = place[order[1:]] == place[order[:-1]]
        if is_twice.any():
            first = int(is_twice.argmax())
            is_row = np.zeros(len(rows.columns["hour"]), np.bool_)
            is_row[at[first]] = True
            day, hour = divmod(int(place[first]) % HOURS_OF_WEEK, HOURS)
            must = f"it has a speed for {_NAMES[day]}, {hour} o'clock, in this direction already; give each hour once"
            raise InputError(rows.wrong(self.street, is_row, must))


def _content(given: Any) -> tuple[Any, str]:
    """Return a profile as a table or a path, and its name for errors."""
    if isinstance(given, pd.DataFrame):
        return given.reset_index(drop=True), "profile"
    if isinstance(given, list | tuple | dict | pd.Series):
        raise InputError(
            f"profile must be a DataFrame or the path of a Parquet or CSV file; got {type(given).__name__}"
        )
    path: Path = as_path(given, "profile")
    if not is_file(path):
        raise MissingFileError(f"no profile of speeds at {path}")
    return path, str(path)


def _found(name: str) -> Callable[[list[str]], dict[str, str]]:
    """Return a function that checks the names of columns."""

    def found(columns: list[str]) -> dict[str, str]:
        columns = [column for column in columns if not _INDEX.fullmatch(column)]
        for column in columns:
            if columns.count(column) > 1:
                raise InputError(f"{name} has the column {column!r} more than once")
            if column not in _COLUMNS:
                hint = did_you_mean(column, _COLUMNS)
                raise InputError(f"{name} has the column {column!r}; it needs {_EXAMPLE}, and no others{hint}")
        streets = [each for each in _STREETS if each in columns]
        missing = [each for each in ("hour", "kph") if each not in columns]
        if len(streets) != 1 or missing:
            raise InputError(f"{name} has the columns {', '.join(map(repr, columns)) or 'none'}; it needs {_EXAMPLE}")
        return {column: column for column in columns}

    return found


def _may_be_a_number(value: Any) -> bool:
    """Return whether a value is a number or a text, but not True or False."""
    return isinstance(value, Real | Decimal | str) and not isinstance(value, bool | np.bool_)


def _side(word: Any) -> tuple[int, ...] | None:
    return _SIDES.get(str(word).strip().lower())


def _days(word: Any) -> tuple[int, ...] | None:
    """Return the days of a word or a number."""
    text = str(word).strip().lower()
    if text in _DAYS:
        return _DAYS[text]
    try:
        number = float(text)
    except ValueError:
        return None
    return (int(number),) if number in range(DAYS) else None
