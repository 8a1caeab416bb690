"""
Convert between the labels of search graphs and times and lengths.

A label is an int64 number with the minimised part in the upper 32 bits and the other part in the lower 32 bits:
milliseconds and centimetres in a graph of times, centimetres and milliseconds in a graph of distances; see
`traveltime_lab.kernels.street.road`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import Int64Array
from traveltime_lab.kernels.street import road
from traveltime_lab.question import Metric
from traveltime_lab.rounding import most_ms
from traveltime_lab.streets import costs

_LENGTH_MASK = int(road.LENGTH_MASK)
#: Labels that are read at once (assumed).
_PART = 1 << 16

L = TypeVar("L", int, np.int64, Int64Array)


def primary(labels: L) -> L:
    """Return the minimised part of labels: milliseconds, or centimetres in a graph of distances."""
    return labels >> road.TIME_SHIFT


def secondary(labels: L) -> L:
    """Return the other part of labels: centimetres, or milliseconds in a graph of distances."""
    return labels & _LENGTH_MASK


def ms(labels: L) -> L:
    """Return the milliseconds of labels of a graph of times."""
    return primary(labels)


def cm(labels: L) -> L:
    """Return the centimetres of labels of a graph of times."""
    return secondary(labels)


def from_ms(milliseconds: L) -> L:
    """Return labels of a graph of times with lengths of zero; arrays must be of int64."""
    return milliseconds << road.TIME_SHIFT


def make_labels(time_ms: Int64Array | np.int64, length_cm: Int64Array | np.int64, metric: Metric) -> Int64Array:
    """Return labels with the minimised part in the upper 32 bits and the other part in the lower."""
    if metric == "distance":
        return np.asarray((length_cm << road.TIME_SHIFT) + time_ms)
    return np.asarray((time_ms << road.TIME_SHIFT) + length_cm)


def connector_labels(
    distance_m: npt.NDArray[np.floating[Any]], metric: Metric, *, is_counted: bool, kph: float = costs.CONNECTOR_KPH
) -> Int64Array:
    """Return the labels of connectors walked at a speed in km/h, or 0 if connectors are not counted."""
    if not is_counted:
        return np.zeros(distance_m.shape, np.int64)
    metres = np.where(np.isfinite(distance_m), distance_m, 0.0)
    return make_labels(costs.connector_ms(metres, kph), np.rint(metres * 100.0).astype(np.int64), metric)


def limit_label(limit: float, metric: Metric) -> np.int64:
    """
    Return the largest label within `limit` seconds (or metres), with any other part.

    Times are compared as `traveltime_lab.rounding` says. Distances are reported to the centimetre, and compared so.
    """
    most = int(limit * 100) if metric == "distance" else most_ms(limit)
    return np.int64(((most + 1) << road.TIME_SHIFT) - 1)


def limit_step(largest: np.int64) -> int:
    """Return the number of a largest label under which experience is kept; limits within a tenth or so share one."""
    return int(10.0 * np.log(float(largest) + 1.0))


def fastest_mps(labels: Int64Array, least: float) -> float:
    """Return the highest speed of labels in m/s, at least `least`, given that times were rounded to milliseconds."""
    fastest = least
    # A part at a time, whose intermediate arrays stay in the cache of the processor.
    for first in range(0, labels.size, _PART):
        part = labels[first : first + _PART]
        mps = 10.0 * cm(part) / np.maximum(ms(part) - 0.5, 0.1)
        fastest = float(mps.max(initial=fastest))
    return fastest
