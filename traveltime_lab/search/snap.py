"""
Where points meet the streets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._checks import finite
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.search.query import ask
from traveltime_lab.streets.snapping import snapped_coordinates


def snap(
    network: Network,
    points: PointsLike,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    snapping: Snapping | Mapping[str, Any] | None = None,
) -> gpd.GeoDataFrame:
    """
    Return where points meet the streets.

    Parameters
    ----------
    network : Network
    points : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    transportation : str, Transportation or mapping, default "driving"
    snapping : Snapping or mapping, optional

    Returns
    -------
    GeoDataFrame
        Indexed like `points`, in EPSG:4326: the snapped point as geometry (None where there is none),
        ``snap_distance`` (float64, m, NaN where there is none), ``way_id`` (Int64), ``name`` and ``status``
        (``snapped``, ``not_snapped`` or ``outside_network``).

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError
        As in `time_filter`.
    """
    query = ask(network, transportation, None, None, snapping)
    places = read_points(points, "points", network.bounds)
    snaps = query.snap(places)
    found = snaps.edge >= 0
    lng, lat = snapped_coordinates(network.streets, snaps)
    geometry = np.full(len(places), None, dtype=object)
    geometry[found] = shapely.points(lng[found], lat[found])
    t = network.tables
    edge = np.where(found, snaps.edge, 0)
    status = np.array(["snapped", "not_snapped", "outside_network"], dtype=object)[snaps.status]
    return gpd.GeoDataFrame(
        {
            "snap_distance": finite(snaps.distance_m),
            "way_id": pd.arrays.IntegerArray(t.edge_way_id[edge].astype(np.int64), ~found),
            "name": np.where(found, np.array(t.names, dtype=object)[t.edge_name[edge]], ""),
            "status": status,
        },
        index=places.index,
        geometry=geometry,
        crs="EPSG:4326",
    )
