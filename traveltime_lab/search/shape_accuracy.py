"""
The share of points on which isochrones agree with the matrix (`shape_accuracy`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray
from traveltime_lab._checks import flag, percent, whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.limits import (
    FOREVER_S,
    MAX_DISTANCE_M,
    MAX_TRAVEL_TIME_S,
)
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentLike
from traveltime_lab.search import trip_costs
from traveltime_lab.search.area_shapes import distance_query
from traveltime_lab.search.each_moment import COLUMN
from traveltime_lab.search.query import Query, ask
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.matrix import Block


@explained_keywords
def shape_accuracy(
    network: Network,
    areas: gpd.GeoDataFrame,
    origins: PointsLike,
    *,
    n_points: int = 2000,
    seed: int = 0,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    remove_water_bodies: bool = True,
    window: int | None = None,
    percentile: float | None = None,
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
    shortest: bool = False,
) -> pd.Series:
    """
    Return the share of random points on which isochrones agree with `time_filter`.

    Parameters
    ----------
    network : Network
    areas : GeoDataFrame
        Result of `time_map` or `distance_map`.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Origins of `areas`.
    n_points : int, default 2000
        Number of points per area, distributed uniformly over its bounding box scaled by 1.3.
    seed : int, default 0
        Seed of the random number generator.
    transportation, departure_time, arrival_time, snapping, window, percentile, max_emissions, max_cost, costs, shortest
        The arguments with which `areas` were computed.
    remove_water_bodies : bool, default True
        The argument with which `areas` were computed; if True, points in water are excluded.

    Returns
    -------
    Series
        Share of points, 0 to 1, indexed like `areas`; NaN for empty areas.

    Raises
    ------
    InputError
        If `areas` is not a result of `time_map` or `distance_map`, has several moments or another one, its index
        differs from that of `origins`, or an argument is one of the other function only.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = tl.time_map(
    ...     network,
    ...     places.iloc[:2],
    ...     travel_time=900,
    ...     transportation="walking",
    ... )
    >>> accuracy = tl.shape_accuracy(
    ...     network, areas, places.iloc[:2], transportation="walking"
    ... )
    >>> bool((accuracy > 0.95).all())
    True
    """
    column = next((name for name in ("travel_time", "distance") if name in getattr(areas, "columns", ())), None)
    if column is None or not isinstance(areas, gpd.GeoDataFrame):
        msg = "areas must be a GeoDataFrame returned by time_map or distance_map"
        raise InputError(msg)
    if not len(areas) or not areas.columns.is_unique or areas.geometry.isna().any():
        msg = "areas must have rows, columns with different names, and a shape in each row, as time_map returns them"
        raise InputError(msg)
    longest = MAX_DISTANCE_M if column == "distance" else MAX_TRAVEL_TIME_S
    each = f"each {column} of areas"
    limits = [whole(value, each, 1, longest, "metres or seconds") for value in areas[column].tolist()]
    n_points = whole(n_points, "n_points", 1, 1_000_000, "points")
    flag(remove_water_bodies, "remove_water_bodies")
    seed = whole(seed, "seed", 0, 2**63 - 1, "the random numbers")
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    shortest = flag(shortest, "shortest")
    most = trip_costs.limits_of(max_emissions, max_cost)
    priced = trip_costs.requested_costs(costs, most)
    if column == "distance" and (window is not None or percents or most):
        names = "max_emissions and max_cost" if most else "window and percentile"
        msg = f"{names} are for areas of time_map; areas holds those of distance_map. Leave them out"
        raise InputError(msg)
    if column == "travel_time" and shortest:
        msg = "shortest is for areas of distance_map; areas holds those of time_map. Leave it out"
        raise InputError(msg)
    if column == "distance":
        query = distance_query(network, transportation, departure_time, arrival_time, snapping, shortest=shortest)
    else:
        query = ask(
            network, transportation, departure_time, arrival_time, snapping, limit=max(limits),
            window=window, percents=percents, costs=priced,
        )  # fmt: skip
        query = trip_costs.within(query, most)
    _check_moment(areas, query)
    places = read_points(origins, "origins", network.bounds)
    n_limits = len(areas) // len(places)
    if not areas.index.equals(places.index.repeat(n_limits)):
        msg = "areas and origins must have the same index; pass the origins with which the areas were computed"
        raise InputError(msg)
    snaps = query.snap(places, is_origin=not query.is_arrival)
    rng = np.random.default_rng(seed)
    shares = np.full(len(areas), np.nan)
    for i, (shape, limit) in enumerate(zip(areas.geometry, limits, strict=True)):
        if shape.is_empty:
            continue
        west, south, east, north = shape.bounds
        middle, half = np.array([west + east, south + north]) / 2.0, np.array([east - west, north - south]) * 0.65
        lng, lat = (middle + rng.uniform(-1.0, 1.0, (n_points, 2)) * half).T
        lat = np.clip(lat, -90.0, 90.0)
        if remove_water_bodies:
            dry = ~network.water.contains(*network.frame.to_xy(lng, lat))
            lng, lat = lng[dry], lat[dry]
        if not lng.size:
            continue
        targets = query.snap_at(lng, lat, is_origin=query.is_arrival)
        here = snaps.take(np.array([i // n_limits]))
        starts, ends = (targets, here) if query.is_arrival else (here, targets)
        searched = FOREVER_S if query.is_length else limit
        is_reached = np.concatenate(
            [
                _is_within(block, query, limit).ravel()
                for block in trip_costs.blocks(query, starts, ends, searched, "dijkstra")
            ]
        )
        shares[i] = float((is_reached == shapely.contains_xy(shape, lng, lat)).mean())
    return pd.Series(shares, index=areas.index, name="accuracy")


def _check_moment(areas: gpd.GeoDataFrame, query: Query) -> None:
    """Raise an error if areas are of several moments, or of one that is not that of the query."""
    if COLUMN not in areas.columns:
        return
    moments = areas[COLUMN].unique()
    if len(moments) > 1:
        msg = (
            f"areas has {len(moments):,} moments, and the accuracy is that of one at a time; pass the rows of one, "
            f"such as areas[areas[{COLUMN!r}] == moment], and the moment as departure_time or arrival_time"
        )
        raise InputError(msg)
    given, name = query.moment, "arrival_time" if query.is_arrival else "departure_time"
    if not isinstance(moments[0], pd.Timestamp):
        return
    if not isinstance(given, dt.datetime) or given.timestamp() != moments[0].timestamp():
        text = given.isoformat() if isinstance(given, dt.datetime) else given
        msg = f"areas are of the moment {moments[0].isoformat()}; pass it as {name}, got {text}"
        raise InputError(msg)


def _is_within(block: Block, query: Query, limit: int) -> BoolArray:
    """Return which pairs of a block are within the limit."""
    if block.spread is not None:
        return block.spread.ms[..., 0] < NEVER
    is_reached: BoolArray = block.labels != UNREACHED
    if query.is_length:
        is_reached &= label_parts.cm(block.labels) <= 100 * limit
    return is_reached
