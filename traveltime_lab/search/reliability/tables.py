"""
The tables of `reliability`: one row for each departure, and their statistics.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int8Array, Int32Array
from traveltime_lab.kernels.transit import range_raptor
from traveltime_lab.kernels.transit.next_vehicle import NO_VEHICLE, TOO_LATE
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.points import Points
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.each_moment import moment_column
from traveltime_lab.search.pairs import REASONS, reasons_of
from traveltime_lab.search.query import Query
from traveltime_lab.search.reliability.study import KINDS
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import SNAPPED
from traveltime_lab.transit.realizable import NO_PLAN

_REASONS: Final = pd.CategoricalDtype([*REASONS, "late", "no_vehicle"])
_LATE, _NONE = len(REASONS), len(REASONS) + 1


@dataclass(frozen=True)
class Table:
    """
    The values that the tables of a study have in common.

    Attributes
    ----------
    query : Query
        To the planned network.
    dates : tuple of date
    starts, ends : Points
    pairs : Pairs
        Snapped to the streets of the planned network.
    percents : tuple of float
    """

    query: Query
    dates: tuple[dt.date, ...]
    starts: Points
    ends: Points
    pairs: Pairs
    percents: tuple[float, ...]

    # Pairs

    def of_pairs(self, each: Sequence[Any]) -> pd.DataFrame:
        """Return the statistics of the travel times of pairs over the departures of all days."""
        ms = np.concatenate([day.ms for day in each], axis=1)
        end = np.concatenate([day.end for day in each])
        columns = self._labels()
        for kind, times in zip(KINDS, ms, strict=True):
            for percent, own in zip(self.percents, _percentiles(times, self.percents).T, strict=True):
                columns[f"{kind}_p{percent:g}"] = _seconds(own)
        for kind, times in zip(KINDS, ms, strict=True):
            columns[f"{kind}_share"] = (times < NEVER).mean(axis=0)
        columns["transfers_missed"] = _share(
            sum(day.missed.sum(axis=0, dtype=np.int64) for day in each),
            sum(day.transfers.sum(axis=0, dtype=np.int64) for day in each),
        )
        has_plan = (end != NO_PLAN).sum(axis=0)
        columns["possible"] = _share(sum(day.is_possible.sum(axis=0) for day in each), has_plan)
        columns |= self._counts(each, len(self.pairs))
        columns["reason"] = self._reasons((ms[2] < NEVER).any(axis=0), _worst(end))
        return pd.DataFrame(columns, copy=False)

    def of_pairs_by_departure(self, each: Sequence[Any]) -> pd.DataFrame:
        """Return the travel times of pairs, with a row for each pair, day and departure."""
        n_rows = sum(len(day.moments) for day in each)
        ms = np.concatenate([day.ms for day in each], axis=1)
        end = np.concatenate([day.end for day in each]).T.ravel()
        columns = {name: labels.repeat(n_rows) for name, labels in self._labels().items()}
        columns |= self._departures(each, len(self.pairs))
        for kind, times in zip(KINDS, ms, strict=True):
            columns[kind] = _seconds(times.T.ravel())
        is_none = end == NO_PLAN
        for name, own in (("transfers", "transfers"), ("transfers_missed", "missed")):
            values = np.concatenate([getattr(day, own) for day in each]).T.ravel()
            columns[name] = pd.arrays.IntegerArray(values, is_none.copy())
        possible = np.concatenate([day.is_possible for day in each]).T.ravel()
        columns["possible"] = pd.arrays.BooleanArray(possible, is_none.copy())
        columns["reason"] = self._reasons(ms[2].T.ravel() < NEVER, end, n_rows)
        return pd.DataFrame(columns, copy=False)

    def _labels(self) -> dict[str, Any]:
        """Return the columns ``origin`` and ``destination``."""
        return {
            "origin": self.starts.index.take(self.pairs.origin_of),
            "destination": self.ends.index.take(self.pairs.destination_of),
        }

    def _reasons(self, is_reached: BoolArray, end: Int8Array, n_each: int = 1) -> pd.Categorical:
        """Return why rows are not reached, given how their journeys end; `n_each` rows are of one pair."""
        why = reasons_of(self.query, self.pairs, np.zeros(len(self.pairs), np.bool_)).codes.repeat(n_each)
        codes = np.where(end == TOO_LATE, _LATE, np.where(end == NO_VEHICLE, _NONE, why))
        return pd.Categorical.from_codes(np.where(is_reached, -1, codes), dtype=_REASONS)

    # Amounts

    def of_amounts(self, names: Sequence[str], each: Sequence[Any]) -> gpd.GeoDataFrame:
        """Return the statistics of the amounts in reach over the departures of all days."""
        amounts = np.concatenate([day.amounts for day in each], axis=1)
        here = self.pairs.starts
        is_lost = here.status != SNAPPED
        columns: dict[str, Any] = {}
        for column, name in enumerate(names):
            for kind, own in zip(KINDS, amounts[:, :, column], strict=True):
                columns[f"{name}_{kind}_mean"] = np.where(is_lost, np.nan, own.mean(axis=0))
                # Most first: what at least this share of departures reaches.
                descending = -np.sort(-own, axis=0)
                for percent in self.percents:
                    rank = max(math.ceil(percent * len(own) / 100.0 - 1e-9) - 1, 0)
                    columns[f"{name}_{kind}_p{percent:g}"] = np.where(is_lost, np.nan, descending[rank] + 0.0)
        columns |= self._counts(each, len(here))
        columns["reason"] = self._origin_reasons()
        return geo_frame(columns, self.starts.geometry.copy(), self.starts.index)

    def of_amounts_by_departure(self, names: Sequence[str], each: Sequence[Any]) -> pd.DataFrame:
        """Return the amounts in reach, with a row for each origin, day and departure."""
        amounts = np.concatenate([day.amounts for day in each], axis=1)
        n_rows = amounts.shape[1]
        is_lost = np.repeat(self.pairs.starts.status != SNAPPED, n_rows)
        columns: dict[str, Any] = {"origin": self.starts.index.repeat(n_rows)}
        columns |= self._departures(each, len(self.starts))
        for column, name in enumerate(names):
            for kind, own in zip(KINDS, amounts[:, :, column], strict=True):
                columns[f"{name}_{kind}"] = np.where(is_lost, np.nan, own.T.ravel())
        columns["reason"] = self._origin_reasons().repeat(n_rows)
        return pd.DataFrame(columns, copy=False)

    def _origin_reasons(self) -> pd.Categorical:
        """Return why origins have no street; NA if they have one."""
        starts = self.pairs.starts
        first = np.arange(len(starts)), np.zeros(len(starts), np.intp)
        return reasons_of(self.query, Pairs(starts, self.pairs.ends, first), starts.status == SNAPPED)

    # Both

    def _counts(self, each: Sequence[Any], n_rows: int) -> dict[str, Int32Array]:
        """Return the columns with the numbers of days and departures."""
        counts = {"n_days": len(self.dates), "n_departures": sum(len(day.moments) for day in each)}
        return {name: np.full(n_rows, number, np.int32) for name, number in counts.items()}

    def _departures(self, each: Sequence[Any], n_times: int) -> dict[str, Any]:
        """Return the columns ``date`` and ``departure_time``, repeated a number of times."""
        moments = [moment for day in each for moment in day.moments]
        dates = [date for date, day in zip(self.dates, each, strict=True) for _ in day.moments]
        at = np.tile(np.arange(len(moments)), n_times)
        return {
            "date": pd.DatetimeIndex(dates).take(at),
            "departure_time": moment_column(moments, self.query.network.timezone).take(at),
        }


def _percentiles(ms: Int32Array, percents: tuple[float, ...]) -> Int32Array:
    """Return percentiles of travel times over the first axis, of shape (n_pairs, n_percents)."""
    found = np.empty((ms.shape[1], len(percents)), np.int32)
    range_raptor.percentiles(np.ascontiguousarray(ms), np.array(percents, np.float64), found)
    return found


def _seconds(ms: Int32Array) -> pd.arrays.IntegerArray:
    """Return travel times in whole seconds, NA if unreached."""
    missing = ms >= NEVER
    return pd.arrays.IntegerArray(np.where(missing, 0, whole_seconds(ms)).astype(np.int32), missing)


def _share(part: AnyArray, whole: AnyArray) -> pd.arrays.FloatingArray:
    """Return the quotient of two numbers, NA where the second is 0."""
    is_none = whole == 0
    shares: FloatArray = part / np.where(is_none, 1, whole)
    return pd.arrays.FloatingArray(shares, is_none)


def _worst(end: Int8Array) -> Int8Array:
    """Return how the journeys of each pair end that never arrive: the last one of these that there is."""
    worst = np.full(end.shape[1], NO_PLAN, np.int8)
    for kind in (TOO_LATE, NO_VEHICLE):
        worst[(end == kind).any(axis=0)] = kind
    return worst
