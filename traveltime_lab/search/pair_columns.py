"""
The columns of tables of pairs, from labels and arrays.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int64Array
from traveltime_lab._checks import finite
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.points import Points
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search import trip_costs
from traveltime_lab.search.pair_times import ReachablePairs, _joined, poured
from traveltime_lab.search.pairs import metres_of, seconds_of
from traveltime_lab.search.properties import PROPERTIES, column, numbers, wants_length
from traveltime_lab.streets import matrix


def spread_values(
    spread: matrix.Spread, percents: tuple[float, ...], properties: tuple[str, ...]
) -> dict[str, tuple[AnyArray, BoolArray]]:
    """Return the values and the missing-value masks of percentiles, and of shares if requested, by column name."""
    columns: dict[str, tuple[AnyArray, BoolArray]] = {}
    for k, value in enumerate(percents):
        ms = spread.ms[..., k].astype(np.int64)
        columns[f"travel_time_p{value:g}"] = whole_seconds(ms).astype(np.int32), ms >= NEVER
    if "share" in properties:
        columns["share"] = spread.share.astype(np.float64), np.zeros(spread.share.shape, np.bool_)
    return columns


def spread_columns(
    spread: matrix.Spread, percents: tuple[float, ...], properties: tuple[str, ...]
) -> dict[str, pd.arrays.IntegerArray | FloatArray]:
    """Return the columns of percentiles, and of shares if requested."""
    values = spread_values(spread, percents, properties)
    return {
        name: column if name == "share" else pd.arrays.IntegerArray(np.where(is_lost, 0, column), is_lost)
        for name, (column, is_lost) in values.items()
    }


def number_columns(labels: Int64Array, is_missing: BoolArray, properties: Collection[str]) -> dict[str, Any]:
    """Return the columns of the properties that are computed from times and lengths."""
    known = seconds_of(labels), metres_of(labels) if wants_length(properties) else None
    return {row.name: column(row, *known, is_missing) for row in numbers(properties)}


def after_time(columns: dict[str, Any], spread: dict[str, Any]) -> dict[str, Any]:
    """Return columns with those of percentiles and shares after the travel time."""
    first = {"travel_time": columns["travel_time"]} if "travel_time" in columns else {}
    return first | spread | columns


def sparse_table(
    found: ReachablePairs, starts: Points, ends: Points, properties: tuple[str, ...], percents: tuple[float, ...]
) -> pd.DataFrame:
    """Return the reachable pairs as a table; the arrays of a column are freed as the column is created."""
    table: dict[str, Any] = {}
    if "snap_distance" in properties:
        origin_distance, destination_distance = finite(found.starts.distance_m), finite(found.ends.distance_m)
        table["origin_snap_distance"] = poured([origin_distance[part] for part in found.origins])
        table["destination_snap_distance"] = poured([destination_distance[part] for part in found.destinations])
    table["origin"] = poured(found.origins, starts.index)
    table["destination"] = poured(found.destinations, ends.index)
    n_pairs = len(table["origin"])
    number_rows = numbers(properties)
    seconds = poured(found.seconds) if number_rows else np.zeros(0, np.int32)
    metres = poured(found.metres) if wants_length(properties) else None
    for row in number_rows:
        table[row.name] = column(row, seconds, metres, np.zeros(n_pairs, np.bool_))
    del seconds, metres
    table |= trip_costs.as_columns({name: poured(parts) for name, parts in found.charges.items()})
    if found.spreads:
        table |= spread_columns(_joined(found.spreads), percents, properties)
    of_trips = (name for name in PROPERTIES if name in properties and name != "share")
    order_of_columns = ("origin", "destination", *of_trips, *table)
    return pd.DataFrame({name: table[name] for name in order_of_columns if name in table}, copy=False)
