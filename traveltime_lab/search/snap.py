"""
Snapping of points to streets (`snap`).
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
    Snap points to the nearest streets.

    Parameters
    ----------
    network : Network
    points : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation, which determines the streets that points can be snapped to.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.

    Returns
    -------
    GeoDataFrame
        Indexed like `points`: ``snap_distance`` (float64, m), ``way_id`` (Int64), ``name`` (of the street), ``status``
        (``snapped``, ``not_snapped`` or ``outside_network``) and the snapped point in EPSG:4326. Values of points that
        are not snapped are missing.

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError
        As in `time_filter`.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> tl.snap(network, [(-71.3377, -29.9531), (0.0, 51.5)])[["name", "status"]]
                         name           status
    0  Juan de Dios Melgarejo          snapped
    1                          outside_network
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
