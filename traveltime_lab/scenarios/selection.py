"""
The edges that a change selects: by polygon, OSM way, edge, name, or near points, and what runs beside them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, IndexArray, chosen_rows, unique_values
from traveltime_lab._checks import did_you_mean, folded
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import InputError
from traveltime_lab.scenarios.edge_names import edges_of
from traveltime_lab.scenarios.street_changes import Selection, SetSpeed
from traveltime_lab.streets.layer import bounds_of, frame_of
from traveltime_lab.streets.tables import StreetTables

#: Share of the length of a street that must be beside others, so that it runs along them (assumed: paths begin a little
#: before a bridge and end a little after it; streets that cross have less of their length beside it).
SHARE_BESIDE: Final = 0.5


class Selected(NamedTuple):
    """
    The edges of a change, in ascending order.

    Attributes
    ----------
    edges : intp array of shape (n,)
    beside : intp array of shape (m,)
        Those of them that are selected only because they run beside the others.
    """

    edges: IndexArray
    beside: IndexArray


def selected(tables: StreetTables, change: Selection) -> Selected:
    """
    Return the edges that a change selects, which names edges.

    Raises
    ------
    InputError
        If a way, an edge or a name does not exist, or no street is near a point.
    """
    chosen = np.zeros(tables.edge_from.size, np.bool_)
    if change.ways:
        ways = np.array(change.ways, np.int64)
        unknown = ways[~np.isin(ways, tables.edge_way_id)]
        if unknown.size:
            raise InputError(
                f"{change.title}: the network has no OSM way {int(unknown[0])}; see edges_frame()['way_id']"
                f"{did_you_mean(int(unknown[0]), unique_values(tables.edge_way_id))}"
            )
        chosen |= np.isin(tables.edge_way_id, ways)
    if change.edges:
        chosen[edges_of(tables, change.edges, change.title)] = True
    if change.polygon is not None:
        chosen |= _in_polygon(tables, change.polygon, by_midpoint=isinstance(change, SetSpeed))
    if change.near:
        chosen |= _near(tables, change, _named(tables, change) if change.streets else ~_is_ferry(tables))
    elif change.streets:
        chosen |= _named(tables, change)
    beside = _beside(tables, np.flatnonzero(chosen), change.beside) if change.beside else np.zeros(0, np.intp)
    chosen[beside] = True
    return Selected(np.flatnonzero(chosen), beside)


def _is_ferry(tables: StreetTables) -> BoolArray:
    return np.asarray(tables.uses["is_ferry"].to_numpy()[tables.edge_use])


def _in_polygon(tables: StreetTables, polygon: shapely.Geometry, *, by_midpoint: bool) -> BoolArray:
    """Return which edges, without ferries, meet a polygon, or have their midpoint in it."""
    found = np.zeros(tables.edge_from.size, np.bool_)
    near = edges_in_box(tables, polygon.bounds)
    near = near[~_is_ferry(tables)[near]]
    lines = lines_of(tables, near)
    if by_midpoint:
        lines = shapely.line_interpolate_point(lines, 0.5, normalized=True)
    shapely.prepare(polygon)
    found[near[shapely.intersects(polygon, lines)]] = True
    return found


def _named(tables: StreetTables, change: Selection) -> BoolArray:
    """Return which edges have one of the names of a change, in capitals or not, and in any Unicode normalisation."""
    used = np.zeros(len(tables.names), np.bool_)
    used[tables.edge_name] = True
    there = np.array([folded(name) if known else "" for name, known in zip(tables.names, used, strict=True)], object)
    for name in change.streets:
        if not (there == folded(name)).any():
            known = [each for each, is_used in zip(tables.names, used, strict=True) if is_used and each]
            raise InputError(
                f"{change.title}: the network has no street called {name!r}; see edges_frame()['name']"
                f"{did_you_mean(name, known)}"
            )
    return np.asarray(np.isin(there, [folded(name) for name in change.streets])[tables.edge_name])


def _near(tables: StreetTables, change: Selection, among: BoolArray) -> BoolArray:
    """Return which of some edges come within a distance of a point."""
    assert change.distance is not None
    found = np.zeros(tables.edge_from.size, np.bool_)
    for lng, lat in change.near:
        frame = LocalFrame(lng, lat)
        reach = 1.001 * change.distance  # a little more, as degrees are rounded
        wide, high = reach / frame.metres_per_degree_lng, reach / frame.metres_per_degree_lat
        edges = edges_in_box(tables, (lng - wide, lat - high, lng + wide, lat + high))
        edges = edges[among[edges]]
        here = edges[_metres(tables, edges, frame) <= change.distance]
        if not here.size:
            raise InputError(f"{change.title}: {_nothing(tables, change, among, frame)}")
        found[here] = True
    return found


def _metres(tables: StreetTables, edges: IndexArray, frame: LocalFrame) -> AnyArray:
    """Return the distance of some edges from the centre of a frame."""
    return np.asarray(shapely.distance(lines_of(tables, edges, frame), shapely.Point(0.0, 0.0)))


def _nothing(tables: StreetTables, change: Selection, among: BoolArray, frame: LocalFrame) -> str:
    """Return what is wrong if no edge is near a point."""
    lng, lat = frame.lng0, frame.lat0
    what = f"no part of {' or '.join(map(repr, change.streets))}" if change.streets else "no street"
    metres = float(_metres(tables, np.flatnonzero(among), frame).min(initial=np.inf))
    text = f"{what} is within {change.distance:g} m of {lng:g}, {lat:g}; the nearest is {metres:,.0f} m away"
    west, south, east, north = bounds_of(tables.node_lng, tables.node_lat)
    if west <= lat <= east and south <= lng <= north:
        text = f"{text}. Points are (longitude, latitude), and exchanged they are in the network"
    return text


def _beside(tables: StreetTables, chosen: IndexArray, metres: float) -> IndexArray:
    """
    Return the edges that run beside some, without these.

    They have the name of one of them, or are off the ground beside one that is, such as on the same bridge, and at
    least `SHARE_BESIDE` of their length is within some metres, at the sides and not beyond the ends, and leads along.
    """
    if not chosen.size:
        return chosen
    _, at = chosen_rows(tables.coord_indptr, chosen)
    west, south, east, north = bounds_of(tables.coord_lng[at], tables.coord_lat[at])
    frame = frame_of((west, south, east, north))
    wide, high = 2 * metres / frame.metres_per_degree_lng, 2 * metres / frame.metres_per_degree_lat
    every = edges_in_box(tables, (west - wide, south - high, east + wide, north + high))
    every = every[~_is_ferry(tables)[every] & ~np.isin(every, chosen)]
    names = tables.edge_name[chosen]
    found = every[np.isin(tables.edge_name[every], names[names > 0])]
    found = found[_along(tables, found, chosen, metres, frame)]
    if tables.edge_off_ground.size:
        own, others = chosen[tables.edge_off_ground[chosen]], every[tables.edge_off_ground[every]]
        found = np.union1d(found, others[_along(tables, others, own, metres, frame)])
    return np.asarray(found)


def _along(tables: StreetTables, edges: IndexArray, others: IndexArray, metres: float, frame: LocalFrame) -> BoolArray:
    """Return which edges have enough of their length within some metres at the sides of others."""
    if not (edges.size and others.size):
        return np.zeros(edges.size, np.bool_)
    # With flat ends, so that the street that follows on another is not beside it.
    together = shapely.line_merge(shapely.multilinestrings(lines_of(tables, others, frame)))
    strip = shapely.buffer(together, metres, cap_style="flat")
    lines = lines_of(tables, edges, frame)
    shapely.prepare(strip)
    is_near = shapely.intersects(strip, lines)
    inside = shapely.intersection(lines[is_near], strip)
    parts = shapely.get_parts(together)
    found = np.zeros(edges.size, np.bool_)
    found[is_near] = [
        SHARE_BESIDE * length <= shapely.length(each) and _is_along(each, parts)
        for each, length in zip(inside, shapely.length(lines[is_near]).tolist(), strict=True)
    ]
    return found


def _is_along(inside: shapely.Geometry, parts: AnyArray) -> bool:
    """Return whether the longest piece of a line advances along the nearest of some parts, rather than across it."""
    pieces = shapely.get_parts(inside)
    piece = pieces[int(np.argmax(shapely.length(pieces)))]
    part = parts[int(np.argmin(shapely.distance(parts, shapely.line_interpolate_point(piece, 0.5, normalized=True))))]
    first, last = shapely.line_locate_point(part, shapely.get_point(piece, [0, -1]))
    return bool(abs(last - first) >= SHARE_BESIDE * piece.length > 0.0)


def edges_in_box(tables: StreetTables, box: tuple[float, float, float, float]) -> IndexArray:
    """Return the edges whose bounding boxes meet a box in degrees; all for one across the 180th meridian."""
    west, south, east, north = box
    if west < -180.0 or east > 180.0 or west > east:
        return np.arange(tables.edge_from.size)  # across the 180th meridian
    begins = tables.coord_indptr[:-1]
    is_near = np.minimum.reduceat(tables.coord_lng, begins) <= east
    is_near &= np.maximum.reduceat(tables.coord_lng, begins) >= west
    is_near &= np.minimum.reduceat(tables.coord_lat, begins) <= north
    is_near &= np.maximum.reduceat(tables.coord_lat, begins) >= south
    return np.flatnonzero(is_near)


def lines_of(tables: StreetTables, edges: IndexArray, frame: LocalFrame | None = None) -> np.ndarray:
    """Return the lines of some edges in EPSG:4326, or in the metres of a frame."""
    indptr, at = chosen_rows(tables.coord_indptr, edges)
    owner = np.repeat(np.arange(edges.size), np.diff(indptr))
    places = (tables.coord_lng[at], tables.coord_lat[at])
    xy = np.column_stack(places if frame is None else frame.to_xy(*places))
    return np.asarray(shapely.linestrings(xy, indices=owner)) if edges.size else np.zeros(0, object)
