"""
Snapping of points to streets (`snap`, `prepare_points`).
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
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike, as_table, read_points
from traveltime_lab.runtime.collector import without_collector
from traveltime_lab.search.prepared_points import PreparedPoints, rules
from traveltime_lab.search.query import ask
from traveltime_lab.search.receipts.record import with_receipt
from traveltime_lab.search.tables import free
from traveltime_lab.streets.snapping import (
    CAN_ARRIVE,
    CAN_LEAVE,
    metres_to_streets,
    snap_points,
    snapped_coordinates,
)


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
    the nearest one that can be reached from there. Streets on islands of fewer than 50 junctions (by car, of fewer than
    50 streets and directions) are used only if there is no other street within the threshold. Trips between two points
    that are both nearest to one island stay there; this function returns the places of all other trips.

    For 100,000 points it takes about twice the processor time of `time_filter` from one origin to them: it also looks
    for the nearest street of all, and creates a point for each row. Searches snap by themselves; `prepare_points` keeps
    the result for many searches.

    The straight walk to the street never crosses water for more than 5 m; bodies of less than 2 hectares count as land.
    It crosses a motorway at ground level only if no street on this side is at most 500 m farther away than the nearest
    one.

    ``nearest_distance`` is the distance to the nearest street of the mode within the threshold, whatever is between. If
    it is smaller than ``snap_distance``, that street is on an island, leads the wrong way, or is on the other side of
    water or of a motorway.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> snapped = tl.snap(network, [(-51.2278, -30.0276), (0.0, 51.5)])
    >>> snapped[["name", "status"]]
                             name           status
    0  Avenida Borges de Medeiros          snapped
    1                              outside_network
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
    with without_collector:
        geometry[found] = shapely.points(lng[found], lat[found])
    t = network.tables
    edge = np.where(found, snaps.edge, 0)
    status = np.array(["snapped", "not_snapped", "outside_network"], dtype=object)[snaps.status]
    columns = {
        "snap_distance": finite(snaps.distance_m),
        "nearest_distance": finite(nearest_m),
        "way_id": pd.arrays.IntegerArray(t.edge_way_id[edge].astype(np.int64), ~found),
        "name": [t.names[number] for number in np.where(found, t.edge_name[edge], 0).tolist()],
        "status": status,
    }
    return gpd.GeoDataFrame(columns, index=free(places.index, columns), geometry=geometry, crs="EPSG:4326")


@explained_keywords
def prepare_points(
    network: Network,
    points: PointsLike,
    *,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    snapping: Snapping | Mapping[str, Any] | None = None,
    role: str | None = None,
) -> PreparedPoints:
    """
    Snap points to streets once, for many searches.

    Parameters
    ----------
    network : Network
    points : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation of the searches. Those that use the same streets in the same way may differ in the rest,
        such as speeds and times.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets; searches must have the same, except for the penalty.
    role : {"origin", "destination"}, optional
        Whether trips begin or end at the points. Default: both.

    Returns
    -------
    PreparedPoints
        Accepted wherever points are. A search that needs other positions of the points raises an `InputError`.

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError
        As in `time_filter`.

    Notes
    -----
    To validate and snap 100,000 points takes most of the time of a search from one origin to all of them. The jobs
    `write_matrix` and `write_areas` snap points in parts, and take prepared points like others.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> zones = tl.sample_points(kind="zones")
    >>> homes = tl.prepare_points(
    ...     network, zones, transportation="walking", role="origin"
    ... )
    >>> school = (-51.2278, -30.0276)
    >>> tl.time_filter(
    ...     network,
    ...     homes,
    ...     school,
    ...     travel_time=1200,
    ...     transportation="walking",
    ... )["travel_time"].count()
    np.int64(45)
    """
    if role is not None:
        one_of(role, "role", ("origin", "destination"))
    query = ask(network, transportation, None, None, snapping)
    means = as_transportation(transportation)
    places = read_points(points, "points", network.bounds)
    snaps = {}
    for is_origin in (True, False):
        if role is None or is_origin == (role == "origin"):
            needed = CAN_LEAVE if is_origin else CAN_ARRIVE
            streets_of = means if not means.uses_timetable else means.access if is_origin else means.egress
            snaps[rules(streets_of, query.snapping), is_origin] = snap_points(
                network.streets, places.lng, places.lat, streets_of, query.snapping, needed
            )
    table = as_table(points)
    return PreparedPoints(
        places.index, places.lng, places.lat, places.geometry,
        table.copy() if isinstance(table, gpd.GeoDataFrame) else table, means, query.snapping, network, snaps,
    )  # fmt: skip
