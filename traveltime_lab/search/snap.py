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

from traveltime_lab._checks import finite, one_of
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.modes import Snapping, Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, read_points
from traveltime_lab.search.query import ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.streets.snapping import metres_to_streets, snapped_coordinates


@explained_keywords
@with_receipt
def snap(
    network: Network,
    points: PointsLike,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    snapping: Snapping | Mapping[str, Any] | None = None,
    role: str = "origin",
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
    role : {"origin", "destination"}, default "origin"
        Whether trips begin or end at the points.

    Returns
    -------
    GeoDataFrame
        Indexed like `points`: ``snap_distance`` (float64, m), ``nearest_distance`` (float64, m, see the notes),
        ``way_id`` (Int64), ``name`` (of the street), ``status`` (``snapped``, ``not_snapped`` or ``outside_network``)
        and the snapped point in EPSG:4326. Values of points that are not snapped are missing.

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError
        As in `time_filter`.

    Notes
    -----
    An origin is snapped to the nearest street from which the main part of the network can be reached, a destination to
    the nearest one that can be reached from there. Streets on islands of fewer than 50 states of the search graph are
    used only if there is no other street within the threshold. The straight walk to the street never crosses water
    for more than 5 m, nor a motorway at ground level.

    ``nearest_distance`` is the distance to the nearest street of the mode within the threshold, whatever is between. If
    it is smaller than ``snap_distance``, that street is on an island, leads the wrong way, or is on the other side of
    water or of a motorway.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> tl.snap(network, [(-71.3377, -29.9531), (0.0, 51.5)])[["name", "status"]]
                         name           status
    0  Juan de Dios Melgarejo          snapped
    1                          outside_network
    """
    query = ask(network, transportation, None, None, snapping)
    one_of(role, "role", ("origin", "destination"))
    places = read_points(points, "points", network.bounds)
    snaps = query.snap(places, is_origin=role == "origin")
    nearest_m = metres_to_streets(
        network.streets, places.lng, places.lat, query.transportation, query.snapping.accept_roads,
        limit_m=query.snapping.threshold,
    )  # fmt: skip
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
            "nearest_distance": finite(nearest_m),
            "way_id": pd.arrays.IntegerArray(t.edge_way_id[edge].astype(np.int64), ~found),
            "name": np.where(found, np.array(t.names, dtype=object)[t.edge_name[edge]], ""),
            "status": status,
        },
        index=places.index,
        geometry=geometry,
        crs="EPSG:4326",
    )
