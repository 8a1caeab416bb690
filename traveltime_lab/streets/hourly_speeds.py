"""
Measured speeds of cars by hour of the week.

The speeds of a week are stored once for all directed edges that have the same ones, as seven days. A day is stored once
for all weeks, as 24 places in a list of speeds. Numbers have the narrowest type, so that streets need a few bytes each
if their speeds are rounded, or follow common patterns. Without any repetition, a direction takes 24 * 7 * 4 bytes for
speeds, 7 * 4 for days and 4 for the week.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray, Float32Array, FloatArray, IndexArray, UInt64Array, unique_values
from traveltime_lab.errors import LimitError

DAYS: Final = 7
HOURS: Final = 24
HOURS_OF_WEEK: Final = DAYS * HOURS
#: Range of valid speeds in km/h (assumed: a slower street is closed, and no vehicle on a public street is faster).
MIN_KPH, MAX_KPH = 0.1, 500.0
#: Rows that are compared at once (assumed: 12 MB of days).
_AT_ONCE: Final = 1 << 17
#: Multiplier of a hash of 64 bits. Source: FNV, http://www.isthe.com/chongo/tech/comp/fnv/.
_PRIME: Final = np.uint64(1_099_511_628_211)
#: The most different speeds for which a place in a list of them is narrower than a speed.
_MOST_PLACES: Final = 1 << 16
#: Types of numbers, the narrowest first.
_DTYPES: Final = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True)
class HourlySpeeds:
    """
    Measured speeds of directed edges at the hours of the week.

    The same speeds are the same arrays, however they came about.

    Attributes
    ----------
    week_of : unsigned integer array of shape (n_directed,)
        Row of `weeks` of each directed edge; 0 where nothing is measured.
    weeks : unsigned integer array of shape (n_weeks, 7)
        Rows of `days`, from Monday to Sunday. Row 0 is the week without speeds.
    days : unsigned integer or float32 array of shape (n_days, 24)
        Places in `kph`, or the speeds themselves if there are too many different ones. Row 0 is the day without speeds.
    kph : float32 array of shape (n_speeds,)
        Distinct speeds in km/h, in increasing order after the first, which is NaN: no speed. Empty if `days` has them.
    """

    week_of: AnyArray
    weeks: AnyArray
    days: AnyArray
    kph: Float32Array

    @classmethod
    def of(cls, week_of: IndexArray, speeds: Float32Array) -> HourlySpeeds | None:
        """
        Return the speeds of directed edges; None if there are none.

        Parameters
        ----------
        week_of : intp array of shape (n_directed,)
            Row of `speeds` of each directed edge, -1 where nothing is measured.
        speeds : float32 array of shape (n_weeks, 168)
            Speeds in km/h from Monday 0 o'clock, NaN where there is none; rows may be equal or unused.
        """
        is_used = np.zeros(len(speeds), np.bool_)
        is_used[week_of[week_of >= 0]] = True
        number = np.cumsum(is_used)
        used = np.ascontiguousarray(speeds if is_used.all() else speeds[is_used])
        days, day_of = _distinct(used.reshape(-1, HOURS).view(np.uint32))
        speed = days.view(np.float32)
        is_measured = ~np.isnan(speed)
        kph = unique_values(speed[is_measured])
        if not kph.size:
            return None
        codes = np.where(is_measured, np.searchsorted(kph, speed) + 1, 0).astype(np.uint32)
        codes, of_day = _ordered(codes)
        weeks, of_used = _distinct(of_day[day_of].reshape(-1, DAYS).astype(np.uint32))
        weeks, of_week = _ordered(weeks)
        rows = np.append(of_week[of_used], 0)[np.where(week_of >= 0, number[week_of] - 1, -1)]
        kph = np.append(np.float32(np.nan), kph)
        if kph.size > _MOST_PLACES:
            return cls(_narrow(rows), _narrow(weeks), kph[codes], kph[:0])
        return cls(_narrow(rows), _narrow(weeks), _narrow(codes), kph)

    @property
    def n_bytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays by name."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def of_days(self, hours: slice = slice(None)) -> Float32Array:
        """Return the speeds of all days at some hours; NaN where there is none."""
        days: Float32Array = self.days[:, hours]
        return self.kph[days] if self.kph.size else days

    def at(self, hour: int) -> FloatArray:
        """Return the speed of each week at an hour of the week, 0 to 167; NaN where there is none."""
        day, hour_of_day = divmod(hour, HOURS)
        found: FloatArray = self.of_days(slice(hour_of_day, hour_of_day + 1))[self.weeks[:, day], 0].astype(np.float64)
        return found

    def range_kph(self) -> tuple[float, float]:
        """Return the lowest and the highest speed."""
        speeds = self.of_days()
        return float(np.nanmin(speeds)), float(np.nanmax(speeds))

    @cached_property
    def like_day(self) -> tuple[int, ...]:
        """The first day of the week with the same speeds, for each day."""
        return tuple(
            next(first for first in range(day + 1) if np.array_equal(self.weeks[:, first], self.weeks[:, day]))
            for day in range(DAYS)
        )

    def speeds(self, weeks: Any = slice(None)) -> Float32Array:
        """Return the 168 speeds of some weeks, as `of` takes them."""
        found: Float32Array = self.of_days()[self.weeks[weeks]].reshape(-1, HOURS_OF_WEEK)
        return found

    def of_edges(self, edges: IndexArray) -> HourlySpeeds | None:
        """Return the speeds of some edges, -1 for one without speeds."""
        pairs = self.week_of.reshape(-1, 2)[edges].astype(np.intp)
        return HourlySpeeds.of(np.where(edges[:, None] >= 0, pairs, 0).ravel(), self.speeds())

    def without(self, directed: AnyArray) -> HourlySpeeds | None:
        """Return the speeds without those of some directed edges, as numbers or flags."""
        week_of = self.week_of.astype(np.intp)
        week_of[directed] = -1
        return HourlySpeeds.of(week_of, self.speeds())

    def scaled(self, factor: FloatArray) -> HourlySpeeds:
        """Return the speeds multiplied by a factor for each directed edge."""
        pairs, week_of = np.unique(np.column_stack([self.week_of, factor]), axis=0, return_inverse=True)
        speeds = self.speeds(pairs[:, 0].astype(np.intp)) * pairs[:, 1:]
        scaled = HourlySpeeds.of(week_of.reshape(-1), speeds.astype(np.float32))
        assert scaled is not None, "there is a speed"
        return scaled


def check_scaled(scaled: HourlySpeeds, what: str) -> None:
    """Raise LimitError if factors have given a measured speed that is not valid; `what` names them."""
    slowest, fastest = scaled.range_kph()
    if slowest < np.float32(MIN_KPH) or fastest > MAX_KPH:
        raise LimitError(
            f"{what} makes measured speeds {slowest:g} to {fastest:g} km/h; "
            f"choose one that gives {MIN_KPH:g} to {MAX_KPH:g} km/h"
        )


def overlaid(below: HourlySpeeds | None, week_of: IndexArray, speeds: Float32Array) -> HourlySpeeds | None:
    """Return the speeds of `HourlySpeeds.of`, with those below them at the hours without any."""
    if below is None:
        return HourlySpeeds.of(week_of, speeds)
    pairs, of_pair = np.unique(np.column_stack([below.week_of, week_of]), axis=0, return_inverse=True)
    new = np.vstack([speeds, np.full((1, HOURS_OF_WEEK), np.nan, np.float32)])[pairs[:, 1]]
    return HourlySpeeds.of(of_pair.reshape(-1), np.where(np.isnan(new), below.speeds(pairs[:, 0]), new))


def check_hourly(hourly: HourlySpeeds, n_edges: int) -> None:
    """Raise ValueError if arrays are not those of `HourlySpeeds`."""
    sizes = {"week_of": (2 * n_edges,), "weeks": (len(hourly.weeks), DAYS), "days": (len(hourly.days), HOURS)}
    rows = {"week_of": len(hourly.weeks), "weeks": len(hourly.days), "days": hourly.kph.size}
    has_places = hourly.kph.size > 0
    for name, shape in sizes.items():
        array = getattr(hourly, name)
        are_speeds = name == "days" and not has_places
        if array.dtype not in ((np.float32,) if are_speeds else _DTYPES) or array.shape != shape:
            raise ValueError(f"column hourly.{name} must have {' x '.join(map(str, shape))} numbers, got {array.dtype}")
        if not array.size or (not are_speeds and int(array.max()) >= rows[name]):
            raise ValueError(f"column hourly.{name} contains indices outside of the table that it refers to")
    if hourly.kph.dtype != np.float32 or (has_places and not np.isnan(hourly.kph[0])):
        raise ValueError("column hourly.kph must have speeds of float32 after NaN")
    speeds = hourly.kph[1:] if has_places else hourly.days[~np.isnan(hourly.days)]
    # Comparisons with NaN are False.
    if not (speeds.size and speeds.min() > 0.0 and speeds.max() < np.inf):
        raise ValueError("the measured speeds contain values that are not positive and finite")
    if hourly.weeks[0].any() or not np.isnan(hourly.of_days()[0]).all():
        raise ValueError("the first rows of hourly.weeks and hourly.days must be without speeds")


def _narrow(numbers: AnyArray) -> AnyArray:
    """Return numbers in the narrowest type."""
    most = int(numbers.max(initial=0))
    return numbers.astype(next(dtype for dtype in _DTYPES if most <= np.iinfo(dtype).max))


def _ordered(rows: AnyArray) -> tuple[AnyArray, IndexArray]:
    """Return distinct rows in order, after one of zeros, and the new number of each."""
    if rows.any(axis=1).all():
        rows = np.vstack([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
    order = np.lexsort(rows.T[::-1])
    number = np.empty(order.size, np.intp)
    number[order] = np.arange(order.size)
    return rows[order], number


def _distinct(rows: AnyArray) -> tuple[AnyArray, IndexArray]:
    """
    Return the distinct rows of a table of unsigned integers in any order, and which of them each row is.

    Rows are compared by a hash, and then with the first row of the same one, so that the result is exact.
    """
    mixed: UInt64Array = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        mixed ^= rows[:, column]
        mixed *= _PRIME
    _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
    found, which = rows[first], which.reshape(-1)
    for begin in range(0, len(rows), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        if not np.array_equal(rows[part], found[which[part]]):
            found, which = np.unique(rows, axis=0, return_inverse=True)
            return found, which.reshape(-1)
    return found, which
