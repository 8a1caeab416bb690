"""
The nearest places of each origin, by travel time (`nearest`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray, Int64Array
from traveltime_lab._checks import whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.progress import Progress, advance, check_progress, unwatched, watched
from traveltime_lab.runtime.shared import n_moments
from traveltime_lab.search import trip_costs
from traveltime_lab.search.each_moment import at_each_moment
from traveltime_lab.search.pair_columns import number_columns
from traveltime_lab.search.pair_times import pair_times
from traveltime_lab.search.properties import names_for
from traveltime_lab.search.query import Query
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.search.time_filter import table_query
from traveltime_lab.streets.k_nearest import Best
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps

MAX_NEAREST: Final = 1000
#: Maximum number of rows of the result.
_MOST_ROWS: Final = 100_000_000


@explained_keywords
@with_receipt
@at_each_moment()
def nearest(
    network: Network,
    origins: PointsLike,
    places: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    k: int = 1,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = ("travel_time",),
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
    costs: Costs | Mapping[str, Any] | None = None,
    progress: Progress = False,
) -> gpd.GeoDataFrame:
    """
    Return the nearest places of each origin, by travel time.

    Parameters
    ----------
    network : Network
    origins, places : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes. Trips lead from the origins to the places.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    k : int, default 1
        Number of places per origin, 1 to 1000.
    transportation, departure_time, arrival_time, snapping, window, engine
        As in `time_filter`. With several moments, the first column is ``moment``.
    properties : sequence of str, default ("travel_time",)
        ``travel_time``, and any of ``distance``, ``emissions`` and ``cost``, as in `time_filter`.
    costs : Costs or mapping, optional
        As in `time_filter`.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of pairs.

    Returns
    -------
    GeoDataFrame
        `k` rows per origin, or as many as there are places if these are fewer, in the order of the origins: ``origin``
        (label), ``k`` (int32; 1 is the nearest), ``destination`` (label of the place), ``travel_time`` (Int32, s),
        ``distance`` (Float64, m), ``emissions`` (Float64, g) and ``cost`` (Float64) if requested, and the place in
        EPSG:4326. Where fewer places are within the limit, the last rows have no destination.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`; `LimitError` also if the table would have more than 100 million rows.

    See Also
    --------
    time_filter : Travel times to all places.

    Notes
    -----
    Places are compared by their travel time in milliseconds; if it is the same, the first in `places` comes first.
    Between many origins and places on streets, one search from all places at once, or one sweep of a contraction
    hierarchy, keeps the `k` nearest of each junction, so that the time hardly depends on the number of places. The
    matrix is never held as a whole.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> hospitals = places[places.index.str.contains("Hospital")]
    >>> found = tl.nearest(
    ...     network,
    ...     places.iloc[:2],
    ...     hospitals,
    ...     travel_time=1800,
    ...     transportation="walking",
    ... )
    >>> found[["origin", "destination"]].to_numpy().tolist()[1]
    ['Rodoviária', 'Hospital Santa Casa']
    """
    n_best = whole(k, "k", 1, MAX_NEAREST, "places")
    query, requested = table_query(
        network, travel_time=travel_time, transportation=transportation, departure_time=departure_time,
        arrival_time=arrival_time, properties=properties, snapping=snapping, window=window, engine=engine,
        costs=costs, allowed=names_for("nearest"),
    )  # fmt: skip
    if "travel_time" not in requested:
        msg = f"properties must have travel_time, with or without others; got {', '.join(requested)}"
        raise InputError(msg)
    check_progress(progress)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(places, "places", network.bounds)
    n_best = min(n_best, len(ends))
    if n_best * len(starts) * n_moments() > _MOST_ROWS:
        msg = (
            f"nearest supports at most {_MOST_ROWS:,} rows; got k={n_best} for {len(starts):,} origins. "
            "Call it for some origins at a time"
        )
        raise LimitError(msg)
    with watched(progress, len(starts) * len(ends), "Nearest places", "pair"):
        snaps = query.snap(starts), query.snap(ends, is_origin=False)
        places_of, labels = (found.ravel() for found in _nearest(query, *snaps, n_best, query.limit, engine))
    is_found = places_of >= 0
    place = np.where(is_found, places_of, 0).astype(np.intp)
    columns = {
        "origin": starts.index.repeat(n_best),
        "k": np.tile(np.arange(1, n_best + 1, dtype=np.int32), len(starts)),
        "destination": _taken(ends.index, place, is_found),
        **number_columns(labels, ~is_found, requested),
    }
    if query.charges:
        columns |= trip_costs.as_columns(_charges(query, snaps, place, is_found, labels.copy()))
    geometry = ends.geometry[place]
    geometry[~is_found] = None
    return geo_frame(columns, geometry, pd.RangeIndex(is_found.size))


def _nearest(
    query: Query, starts: Snaps, ends: Snaps, k: int, limit: int, engine: str
) -> tuple[IndexArray, Int64Array]:
    """Return positions and labels of the nearest places, of shape (n_origins, k); -1 and `UNREACHED` for none."""
    found = query.nearest(starts, ends, k, limit) if engine == "auto" else None
    if found is not None:
        advance(len(starts) * len(ends))
        return found
    best = Best.none(len(starts), k)
    for block in query.blocks(starts, ends, limit, engine):
        best.improve(block)
    return best.places, best.labels


def _charges(
    query: Query, snaps: tuple[Snaps, Snaps], place: IndexArray, is_found: BoolArray, labels: Int64Array
) -> dict[str, FloatArray]:
    """Return the emissions and costs of the trips to the nearest places, whose labels are changed."""
    labels[~is_found] = UNREACHED
    if query.transit is not None:
        origin = np.arange(len(snaps[0])).repeat(place.size // len(snaps[0]))
        rows = np.flatnonzero(is_found)
        with unwatched():
            trips = pair_times(trip_costs.in_grams(query), Pairs(*snaps, (origin[rows], place[rows])), query.limit)
        labels[rows] = trips.labels
    return trip_costs.of_labels(query, labels)


def _taken(index: pd.Index, positions: AnyArray, is_there: AnyArray) -> Any:
    """Return the labels at positions, missing where `is_there` is False."""
    if is_there.all():
        return index.take(positions)
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu":
        return pd.arrays.IntegerArray(index.to_numpy()[positions], ~is_there)
    labels = index.to_flat_index() if isinstance(index, pd.MultiIndex) else index
    return pd.Series(labels.take(positions)).where(is_there).array
