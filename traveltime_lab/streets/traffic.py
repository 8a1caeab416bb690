"""
Speeds of cars in the traffic of a moment.

A directed edge has a time along it for each of the 168 hours of the week: that of its measured speed, if there is one
at the hour (`traveltime_lab.streets.hourly_speeds`), otherwise that of its free-flow speed with the assumed congestion
of the hour (`traveltime_lab.streets.costs`). Everything else follows from these times:

==================================  ===================================================================
a moment                            the time of its hour, in the time zone of the network
``off_peak``                        the shortest time of the week
``peak``, ``"weekday_morning"``     the mean time of Monday to Friday from 8 to 9 o'clock
without a moment                    the mean time of Monday to Friday from 7 to 20 o'clock
``optimistic``, ``pessimistic``     0.5 and 1.5 times the difference to the shortest time of the week
==================================  ===================================================================

Without measured speeds, these are the times of `traveltime_lab.streets.costs.congestion`.
"""

from __future__ import annotations

import datetime as dt
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from traveltime_lab._arrays import AnyArray, FloatArray
from traveltime_lab.streets import costs
from traveltime_lab.streets.hourly_speeds import HOURS, HourlySpeeds
from traveltime_lab.streets.tables import StreetTables

#: Hours of the week that times are the mean of: one of them, or a name of several.
When: TypeAlias = int | str
#: The traffic of a moment: the travel-time multiplier of arterial streets where nothing is measured; in networks with
#: measured speeds also the hours, and the share of the delay at these hours that counts. A plain tuple, as a part of
#: the keys of prepared values.
Traffic: TypeAlias = float | tuple[float, When, float]

_FREE: Final = "off_peak"
#: The hours of a working day by the name of several hours; see `PEAK` and `BALANCED` of `costs`.
_HOURS: Final = {"peak": slice(8, 9), "balanced": slice(7, 20)}
_WORKING_DAYS: Final = range(5)


def traffic_of(hourly: HourlySpeeds | None, traffic_model: str | None, moment: dt.datetime | object | None) -> Traffic:
    """
    Return the traffic at a moment; equal values have equal speeds.

    Parameters
    ----------
    hourly : HourlySpeeds, optional
        Measured speeds.
    traffic_model, moment
        See `traveltime_lab.streets.costs.congestion`.
    """
    multiplier = costs.congestion(traffic_model, moment)
    if hourly is None:
        return multiplier
    share = costs.OUTLOOK.get(traffic_model or "balanced", 1.0)
    if traffic_model == _FREE:
        return multiplier, _FREE, share
    if traffic_model != "peak" and isinstance(moment, dt.datetime):
        return multiplier, _like(hourly, moment.weekday()) * HOURS + moment.hour, share
    return multiplier, "balanced" if traffic_model != "peak" and moment is None else "peak", share


def _like(hourly: HourlySpeeds, day: int) -> int:
    """Return the first day of the week with the same measured speeds and the same assumed congestion."""
    first = hourly.like_day[day]
    return next(
        other
        for other in range(first, day + 1)
        if hourly.like_day[other] == first and np.array_equal(costs.CONGESTION[other], costs.CONGESTION[day])
    )


def is_hour(traffic: Traffic) -> bool:
    """Return whether speeds are those of one of the 168 hours of the week."""
    return isinstance(traffic, tuple) and isinstance(traffic[1], int)


def kph_in_traffic(tables: StreetTables, base: str, side: int, traffic: Traffic) -> FloatArray:
    """
    Return the speeds of edges in one direction, 0 where closed.

    Parameters
    ----------
    tables : StreetTables
    base : str
        Mode whose columns of speeds are those of free flow.
    side : {0, 1}
        0 for along the edges, 1 for against them.
    traffic : Traffic
    """
    multiplier = traffic[0] if isinstance(traffic, tuple) else traffic
    uses = tables.uses
    shares = costs.delay_shares(uses["highway"].to_numpy())
    free = uses[f"{base}_kph_{('forward', 'backward')[side]}"].to_numpy().astype(np.float64)
    kph: FloatArray = (free / (1.0 + (multiplier - 1.0) * shares))[tables.edge_use]
    if tables.hourly is None:
        return kph
    assert isinstance(traffic, tuple), "the traffic is that of these tables"
    _, when, share = traffic
    week_of = tables.hourly.week_of[side::2]
    rows = np.flatnonzero((week_of > 0) & (kph > 0.0))
    week, use = week_of[rows], tables.edge_use[rows]
    if isinstance(when, int) and share == 1.0:
        # Without a detour by times, whose rounding a measured speed does not have.
        measured = tables.hourly.at(when)[week]
        kph[rows] = np.where(np.isnan(measured), kph[rows], measured)
        return kph
    edges = _Edges(week, free[use], shares[use])
    shortest = 1.0 / _fastest(tables.hourly, edges)
    if when == _FREE:
        kph[rows] = 1.0 / shortest
    else:
        kph[rows] = 1.0 / (shortest + (_mean(tables.hourly, edges, when) - shortest) * share)
    return kph


class _Edges(NamedTuple):
    """Directed edges with measured speeds: the row of their weeks, free-flow speed, and share of the congestion."""

    week: AnyArray
    free: FloatArray
    share: FloatArray


def _mean(hourly: HourlySpeeds, edges: _Edges, when: When) -> FloatArray:
    """Return the mean time along edges at some hours, in hours per kilometre."""
    if isinstance(when, int):
        days, hours = range(when // HOURS, when // HOURS + 1), slice(when % HOURS, when % HOURS + 1)
    else:
        days, hours = _WORKING_DAYS, _HOURS[when]
    # Measured times, and multipliers of free flow: the number of hours without a speed, and their congestion.
    measured, missing, congestion = (np.zeros(len(hourly.weeks)) for _ in range(3))
    for day in days:
        speeds = hourly.of_days(hours).astype(np.float64)
        is_missing = np.isnan(speeds)
        of_day = hourly.weeks[:, day]
        measured += np.where(is_missing, 0.0, 1.0 / speeds).sum(axis=1)[of_day]
        missing += is_missing.sum(axis=1)[of_day]
        congestion += (is_missing * (costs.CONGESTION[day, hours] - 1.0)).sum(axis=1)[of_day]
    n_hours = len(days) * (hours.stop - hours.start)
    week, free, share = edges
    found: FloatArray = (measured[week] + (missing[week] + share * congestion[week]) / free) / n_hours
    return found


def _fastest(hourly: HourlySpeeds, edges: _Edges) -> FloatArray:
    """Return the highest speed of edges in the week, km/h."""
    speeds = hourly.of_days().astype(np.float64)
    is_missing = np.isnan(speeds)
    measured = np.where(is_missing, 0.0, speeds).max(axis=1)[hourly.weeks].max(axis=1)
    congestion = np.full(len(hourly.weeks), np.inf)
    for day, of_hour in enumerate(costs.CONGESTION):
        least = np.where(is_missing, of_hour, np.inf).min(axis=1)
        congestion = np.minimum(congestion, least[hourly.weeks[:, day]])
    week, free, share = edges
    is_whole = np.isinf(congestion[week])
    assumed = free / (1.0 + (np.where(is_whole, 1.0, congestion[week]) - 1.0) * share)
    found: FloatArray = np.maximum(measured[week], np.where(is_whole, 0.0, assumed))
    return found
