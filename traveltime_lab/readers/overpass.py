"""
Download streets by place name, point, bounding box or polygon from Overpass, with osmnx.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import shapely

from traveltime_lab._checks import number
from traveltime_lab.errors import CoordinateError, CrsError, DataError, InputError, MissingDependencyError, ServiceError
from traveltime_lab.readers.attributes import _NODE_KEYS
from traveltime_lab.readers.osm import tags
from traveltime_lab.readers.osmnx import tables_from_osmnx
from traveltime_lab.readers.region import check_west_and_east
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.streets.tables import (
    StreetTables,
)

_OSMNX_LOCK = Lock()


def tables_from_place(place: Any, *, distance: float | None = None) -> StreetTables:
    """
    Download the streets of a place from Overpass, with osmnx.

    Parameters
    ----------
    place : str, mapping, Point, tuple, Polygon, GeoSeries or GeoDataFrame
        A name or a structured query to geocode; ``{"lat": ..., "lng": ...}`` or a shapely Point (lng, lat), with
        `distance`; a pair ``((lat, lng), distance)`` in the order of osmnx; a bounding box
        ``(west, south, east, north)``, with west > east across the 180th meridian; a shapely polygon in EPSG:4326; a
        GeoSeries or GeoDataFrame of polygons in any CRS.
    distance : float, optional
        Distance in metres from a point or a geocoded address to the sides of a bounding box around it.

    Returns
    -------
    StreetTables
        All streets and ferries of every mode with the relevant tags. Ways are cut at the first junction outside of the
        place.

    Raises
    ------
    MissingDependencyError
        If osmnx is not installed.
    InputError
        If `place` is none of the above or a box with west and east exchanged, or if `distance` is missing or does not
        apply.
    DataError
        If the place has no streets or cannot be found.

    Notes
    -----
    The Overpass server, its rate limit, the cache and the timeout are those of ``osmnx.settings``. Only ways and nodes
    are downloaded, so turn restrictions, coastlines and water are missing; a PBF file has them.
    """
    try:
        import osmnx as ox  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise MissingDependencyError(
            "Building a network by place name needs osmnx: pip install 'traveltime_lab[osmnx]'. "
            "Or build from a .osm.pbf file instead."
        ) from error
    requested = _place(place, distance)
    options: dict[str, Any] = {
        "custom_filter": ['["highway"]', '["route"="ferry"]'],
        "simplify": False,
        "retain_all": True,
        "truncate_by_edge": True,
    }
    with _osmnx_settings(ox):
        try:
            graphs = [getattr(ox, function)(*arguments, **options, **extra) for function, arguments, extra in requested]
        except (ValueError, TypeError, KeyError, shapely.errors.ShapelyError) as error:
            raise DataError(f"osmnx found no streets for {place!r}: {error}") from error
        except OSError as error:
            cause = type(error.__cause__ or error.__context__ or error).__name__
            raise ServiceError(
                f"Cannot download the streets of {place!r}: is there a connection to the internet? Without one, build "
                "from a file such as city.osm.pbf (extracts: download.geofabrik.de), or try sample_network(). "
                f"osmnx queries Nominatim at {ox.settings.nominatim_url} and Overpass at {ox.settings.overpass_url}; "
                f"osmnx.settings has both addresses. The request ended with {cause}"
            ) from error
    graph = graphs[0]
    for other in graphs[1:]:
        import networkx as nx  # noqa: PLC0415 - comes with osmnx

        graph = nx.compose(graph, other)
    # Edges of different ways are not merged, so that each edge has the tags of one way. Junctions, barriers and signals
    # remain nodes.
    simplified = ox.simplify_graph(
        graph, node_attrs_include=["barrier", "highway", "railway"], edge_attrs_differ=["osmid"], remove_rings=False
    )
    tables = tables_from_osmnx(simplified)
    tables.report["source"] = "Overpass through osmnx"
    return tables


# Places --------------------------------------------------------------------------------------------------------------


def _place(place: Any, distance: float | None) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Return the osmnx functions to call, with their arguments."""
    if hasattr(place, "to_crs"):  # a GeoSeries or GeoDataFrame
        if hasattr(place, "columns") and place._geometry_column_name is None:
            raise InputError("The place is a GeoDataFrame without geometry. Name the column with set_geometry(...).")
        if place.crs is None:
            raise CrsError("The place has no CRS. Set it, such as place.set_crs('EPSG:4326').")
        if len(place) == 0:
            raise InputError("The place is empty.")
        try:
            place = place.to_crs(4326).geometry.union_all()
        except shapely.errors.GEOSException as error:
            raise InputError(f"The shapes of the place are not valid: {error}. Try place.make_valid().") from error
    if isinstance(place, tuple) and len(place) == 2 and distance is None and isinstance(place[0], Sequence):
        (lat, lng), distance = place
        place = {"lat": lat, "lng": lng}
    if isinstance(place, Mapping) and "lat" in place and "lng" in place:
        place = shapely.Point(number(place["lng"], "lng"), number(place["lat"], "lat"))
    if isinstance(place, shapely.Point):
        _check_distance(distance, "A point needs distance=, metres to the sides of a box around it.")
        _check_box(place.x, place.y, place.x, place.y)
        return [("graph_from_point", ((place.y, place.x),), {"dist": float(distance or 0.0), "dist_type": "bbox"})]
    if isinstance(place, str):
        if not place.strip():
            raise InputError("The place name is empty.")
        if distance is not None:
            _check_distance(distance, "distance must be a number of metres above 0.")
            return [("graph_from_address", (place, float(distance)), {"dist_type": "bbox"})]
        return [("graph_from_place", (place,), {})]
    if distance is not None:
        raise InputError("distance goes with a point or an address; boxes, polygons and queries have their own extent.")
    if isinstance(place, Mapping):
        return [("graph_from_place", (dict(place),), {})]
    if isinstance(place, shapely.Polygon | shapely.MultiPolygon):
        if place.is_empty or not place.is_valid:
            raise InputError("The polygon is empty or not valid. Try shapely.make_valid(polygon).")
        _check_box(*place.bounds)
        return [("graph_from_polygon", (place,), {})]
    if (isinstance(place, Sequence) or (isinstance(place, np.ndarray) and place.ndim == 1)) and len(place) == 4:
        west, south, east, north = (number(value, "each side of a box") for value in place)
        _check_box(west, south, east, north)
        if not south < north or west == east:
            raise InputError(f"A box is (west, south, east, north) with south < north; got {tuple(place)!r}.")
        check_west_and_east(west, east, "A box")
        boxes = [(west, south, east, north)]
        if west > east:
            boxes = [(west, south, 180.0, north), (-180.0, south, east, north)]
        return [("graph_from_bbox", (box,), {}) for box in boxes]
    raise InputError(
        "A place is a name, {'lat': ..., 'lng': ...} or a shapely Point with distance=, a box (west, south, east, "
        f"north), or a polygon; got {type(place).__name__}."
    )


def _check_distance(distance: Any, message: str) -> None:
    is_number = isinstance(distance, int | float | np.number) and not isinstance(distance, bool)
    if not is_number or not 0 < number(distance, "distance") < math.inf:
        raise InputError(f"{message} Got distance={distance!r}.")


def _check_box(west: float, south: float, east: float, north: float) -> None:
    is_inside = abs(west) <= 180.0 and abs(east) <= 180.0 and abs(south) <= 90.0 and abs(north) <= 90.0
    if not is_inside:  # NaN too
        raise CoordinateError(
            f"The place lies outside the globe: lng {west} to {east}, lat {south} to {north}. "
            "Longitude comes first, in EPSG:4326."
        )


@contextlib.contextmanager
def _osmnx_settings(ox: Any) -> Iterator[None]:
    """Set osmnx to keep the relevant tags, and each way once and in its own direction."""
    requested = {
        "all_oneway": True,
        "useful_tags_way": sorted({*ox.settings.useful_tags_way, *tags.RELEVANT_KEYS, "name", "oneway"}),
        "useful_tags_node": sorted({*ox.settings.useful_tags_node, *_NODE_KEYS}),
    }
    with _OSMNX_LOCK:
        before = {name: getattr(ox.settings, name) for name in requested}
        try:
            for name, value in requested.items():
                setattr(ox.settings, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(ox.settings, name, value)
