"""
Water bodies that are removed from isochrones: the sea, lakes, and the areas of rivers and docks.

A coastline in OpenStreetMap is a directed line with land on its left. An extract contains only pieces of it, cut
anywhere. To find the sea, the pieces are extended to the edge of a box, the box is split along them into faces, and
each face is classified by the side of the coastline that it lies on. A face that has as many streets on the ground as
the land beside it is land, because isochrones must not exclude streets (see `traveltime_lab.streets.on_ground`).
`WaterBodies.report` counts the repairs, and a face that is left out is warned of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from shapely import MultiPolygon

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array, ObjectArray, unique_values
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import FormatError
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets.on_ground import Drowned, drowned, first_cover

Geometries = ObjectArray

#: Minimum area of a water body; smaller ones are ponds, fountains and garden canals.
MIN_WATER_AREA_M2 = 20_000.0
#: Distance that the sea extends beyond the bounds of the network.
BOX_MARGIN_M = 3_000.0
#: Maximum number of vertices of a tile; the time of an overlay grows faster than the number of vertices.
TILE_VERTICES = 256
#: Coastline ends within this distance are always joined.
SNAP_GAP_M = 1.0
#: Maximum length of a gap between the end of a coastline and the start of another that is closed with a straight line.
MAX_GAP_M = 1_000.0
#: Distance from the midpoint of a coastline segment at which the faces on its two sides are looked up.
SIDE_OFFSET_M = 0.05


@dataclass(frozen=True)
class WaterBodies:
    """
    Large water bodies in local metres, subdivided into tiles with few vertices.

    Create them with `build`, or with `from_wkb` from the result of `to_wkb`.

    Parameters
    ----------
    tiles : array of shapely Polygon
        Polygons with disjoint interiors.
    report : dict
        Counts of repairs and of rejected faces. It is not part of the WKB.
    """

    tiles: Geometries
    report: dict[str, Any] = field(default_factory=dict, compare=False)
    _tree: shapely.STRtree = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the spatial index of the tiles."""
        object.__setattr__(self, "_tree", shapely.STRtree(self.tiles))

    @classmethod
    def build(
        cls,
        coastlines: Sequence[FloatArray],
        water: Sequence[Any],
        bounds: tuple[float, float, float, float],
        frame: LocalFrame,
        *,
        street_xy: FloatArray | None = None,
        source_bounds: tuple[float, float, float, float] | None = None,
        min_area_m2: float = MIN_WATER_AREA_M2,
        margin_m: float = BOX_MARGIN_M,
    ) -> WaterBodies:
        """
        Assemble the water in and around a network.

        Parameters
        ----------
        coastlines : sequence of float64 arrays of shape (n, 2)
            Rows of (lng, lat) in EPSG:4326, with land on the left.
        water : sequence of shapely Polygon or MultiPolygon
            Water areas in EPSG:4326.
        bounds : tuple of float
            West, south, east, north of the network; west > east across the 180th meridian.
        frame : LocalFrame
            Local metric coordinates of the result.
        street_xy : float64 array of shape (n, 2), optional
            Nodes of streets on the ground in local metres, as of `nodes_on_ground`. A face with about as many of them
            as the land beside it is classified as land.
        source_bounds : tuple of float, optional
            West, south, east, north of the data, which may reach farther than the streets; there are no streets where
            this box has none.
        min_area_m2 : float, default 20000
            Minimum area of a water body, after joining those that touch. Does not apply to the sea.
        margin_m : float, default 3000
            Distance that the sea extends beyond `bounds`.

        Warns
        -----
        UserWarning
            If a part of the sea is classified as land.
        """
        inner = _in_metres(bounds, frame)
        extent = inner if source_bounds is None else _around_both(inner, _in_metres(source_bounds, frame))
        box = inner + margin_m * np.array([-1.0, -1.0, 1.0, 1.0])
        report: dict[str, Any] = {"coastlines": len(coastlines), "water_areas": len(water)}
        lines = [np.column_stack(frame.to_xy(line[:, 0], line[:, 1])) for line in map(_as_rows, coastlines)]
        sea, dropped = _sea_faces([line for line in lines if len(line) > 1], box, extent, street_xy, report)
        if len(dropped):
            _warn_of_land(dropped, frame)

        def metres(lnglat: FloatArray) -> FloatArray:
            return np.column_stack(frame.to_xy(lnglat[:, 0], lnglat[:, 1]))

        areas = np.array([area for area in water if area is not None], dtype=object)
        bodies = _polygons(shapely.union_all(_polygons(shapely.transform(areas, metres))))
        large = bodies[shapely.area(bodies) >= min_area_m2]
        report["water_bodies"], report["small_bodies_dropped"] = len(large), len(bodies) - len(large)
        # Lakes may overlap the sea at their outlets, but tiles must not overlap.
        tiles = _subdivide(_polygons(shapely.union_all(np.concatenate([sea, large]))) if len(sea) else large)
        report["tiles"] = len(tiles)
        return cls(tiles, report)

    @classmethod
    def empty(cls) -> WaterBodies:
        """Return an instance without water."""
        return cls(np.zeros(0, dtype=object))

    @classmethod
    def from_wkb(cls, data: bytes, *, report: dict[str, Any] | None = None) -> WaterBodies:
        """
        Return water bodies from the result of `to_wkb`.

        Raises
        ------
        FormatError
            If `data` is not a WKB collection of polygons.
        """
        try:
            tiles = shapely.get_parts(shapely.from_wkb(data))
        except (shapely.GEOSException, TypeError) as error:
            raise FormatError(f"Water bodies must be WKB as written by to_wkb; got {len(data)} other bytes.") from error
        if not (shapely.get_type_id(tiles) == shapely.GeometryType.POLYGON).all():
            raise FormatError("Water bodies must be a collection of polygons; got other types of geometries.")
        return cls(tiles, report or {})

    def to_wkb(self) -> bytes:
        """Return the tiles as a geometry collection in WKB."""
        return bytes(shapely.to_wkb(shapely.geometrycollections(self.tiles)))

    def __len__(self) -> int:
        """Return the number of tiles."""
        return len(self.tiles)

    @property
    def geometry(self) -> MultiPolygon:
        """All water as one MultiPolygon in local metres, computed at each access."""
        return _multipolygon(np.array([shapely.union_all(self.tiles)]))

    def outlines(self) -> tuple[FloatArray, FloatArray]:
        """
        Return the segments of the outlines of all tiles, with the water on their left.

        Returns
        -------
        starts, ends : float64 arrays of shape (n_segments, 2), m
            Ends in local metres. The outlines of neighbouring tiles have common segments in opposite directions.
        """
        rings = shapely.get_rings(shapely.orient_polygons(self.tiles))
        xy, ring = shapely.get_coordinates(rings, return_index=True)
        first = np.flatnonzero(ring[1:] == ring[:-1])
        return xy[first], xy[first + 1]

    def subtract(self, shape: MultiPolygon) -> MultiPolygon:
        """
        Return the difference of a shape in local metres and the water.

        The operation preserves nesting: if a shape contains another, so do the results. Only polygons that intersect
        water are processed, each against the tiles that it intersects.
        """
        parts = shapely.get_parts(shape)
        part, tile = self._tree.query(parts, predicate="intersects")
        if len(part) == 0:
            return shape
        # Adjacent tiles share edges, so their MultiPolygon is invalid. The overlay merges equal edges first, so that
        # the result is that of their union, which would take much longer to compute.
        wet = unique_values(part)
        water = shapely.multipolygons(self.tiles[unique_values(tile)])
        cut = shapely.difference(shapely.multipolygons(parts[wet]), water)
        return _multipolygon(np.append(np.delete(parts, wet), cut))

    def contains(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """
        Return whether points lie in water.

        Parameters
        ----------
        x, y : float64 arrays of the same shape
            Local metres.

        Returns
        -------
        bool array of the same shape
        """
        x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        return first_cover(self.tiles, x.ravel(), y.ravel()).reshape(x.shape) >= 0


def _in_metres(bounds: tuple[float, float, float, float], frame: LocalFrame) -> FloatArray:
    """Return minimum x and y, maximum x and y of west, south, east, north; west > east across the 180th meridian."""
    (west, _), (south, north) = frame.to_xy(np.array([bounds[0], bounds[2]]), np.array([bounds[1], bounds[3]]))
    # Computed from the width in degrees, because -180 and 180 degrees have the same x.
    width = bounds[2] - bounds[0] + (360.0 if bounds[2] < bounds[0] else 0.0)
    return np.array([west, south, west + width * frame.metres_per_degree_lng, north])


def _around_both(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the bounds of two boxes."""
    return np.concatenate([np.minimum(one[:2], other[:2]), np.maximum(one[2:], other[2:])])


def _as_rows(line: Any) -> FloatArray:
    """Return rows of (lng, lat) without missing coordinates and consecutive duplicates."""
    rows = np.asarray(line, np.float64).reshape(-1, 2)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        return rows
    return np.asarray(rows[np.append(True, (np.diff(rows, axis=0) != 0).any(axis=1))])


def _polygons(geometries: Any) -> Geometries:
    """Return the polygons of one or more geometries, repaired if necessary."""
    parts = np.atleast_1d(np.asarray(geometries, dtype=object))
    if not shapely.is_valid(parts).all():
        parts = shapely.make_valid(parts, method="structure", keep_collapsed=False)
    return _polygon_parts(parts)


def _polygon_parts(geometries: Geometries) -> Geometries:
    parts = shapely.get_parts(shapely.get_parts(geometries))
    return np.asarray(parts[(shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & ~shapely.is_empty(parts)])


def _multipolygon(geometries: Geometries) -> MultiPolygon:
    parts = _polygon_parts(geometries)
    return shapely.orient_polygons(shapely.multipolygons(parts)) if len(parts) else MultiPolygon()


def _sea_faces(
    lines: list[FloatArray], box: FloatArray, extent: FloatArray, street_xy: FloatArray | None, report: dict[str, Any]
) -> tuple[Geometries, Geometries]:
    """
    Return the faces of the box that lie on the right-hand side of the coastlines: the sea, and land by its streets.
    """
    report.update(coast_gaps_joined=0, coast_ends_extended=0, contradictory_faces=0, sea_faces_rejected=0, sea_faces=0)
    report["street_nodes_in_sea"] = 0
    if not lines:
        return np.zeros(0, dtype=object), np.zeros(0, dtype=object)
    chains = _complete(lines, box, report)
    outline = shapely.box(*box)
    cuts = shapely.intersection([shapely.LineString(chain) for chain in chains], outline)
    noded = shapely.union_all(np.append(cuts, shapely.get_exterior_ring(outline)))
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(noded)))
    land, sea = _votes(lines, faces, box)
    report["contradictory_faces"] = int(((np.minimum(land, sea) > 0.01 * np.maximum(land, sea)) & (sea > 0)).sum())
    is_sea = sea > land
    seas, dropped = faces[is_sea], faces[:0]
    if street_xy is not None and len(street_xy):
        x, y = np.asarray(street_xy, np.float64).T
        seas, dropped = _split(faces, is_sea, drowned(faces, is_sea, x, y, tuple(extent.tolist())))
        report["street_nodes_in_sea"] = int((first_cover(seas, x, y, shapely.contains_xy) >= 0).sum())
    report["sea_faces"], report["sea_faces_rejected"] = len(seas), len(dropped)
    return seas, dropped


def _split(faces: Geometries, is_sea: BoolArray, found: Sequence[Drowned]) -> tuple[Geometries, Geometries]:
    """Return the sea without the land that streets reveal, and that land."""
    seas, dropped = faces.copy(), []
    for area, bounds, is_all in found:
        around = shapely.box(*(np.array(bounds) + BOX_MARGIN_M * np.array([-1.0, -1.0, 1.0, 1.0])))
        dropped.append(faces[area] if is_all else shapely.intersection(seas[area], around))
        seas[area] = shapely.Polygon() if is_all else shapely.difference(seas[area], around)
    return _polygon_parts(seas[is_sea]), np.array(dropped, dtype=object)


def _warn_of_land(dropped: Geometries, frame: LocalFrame) -> None:
    """Warn that parts of the sea are taken for land."""
    largest = shapely.point_on_surface(dropped[np.argmax(shapely.area(dropped))])
    lng, lat = frame.to_lnglat(*(np.array([value]) for value in (largest.x, largest.y)))
    msg = (
        f"{shapely.area(dropped).sum() / 1e6:,.1f} km2 of sea around longitude {lng[0]:.3f}, latitude {lat[0]:.3f} "
        "are taken for land, because streets on the ground are about as dense there as on the land beside it. "
        "The coastline of the source is incomplete there or drawn the wrong way round; areas are not cut along it"
    )
    warn(msg)


def _complete(lines: list[FloatArray], box: FloatArray, report: dict[str, Any]) -> list[FloatArray]:
    """
    Return the coastlines, with their loose ends joined to other coastlines or extended to the edge of the box.

    The end of a line is joined to the start of another line, or to its own start, because only this keeps land on the
    left throughout. A gap is closed if it is short, and shorter than the distance to the edge of the box.
    """
    chains = list(lines)
    heads, tails = (np.array([line[k] for line in lines]) for k in (0, -1))
    # Loose ends outside of the box do not split it.
    ends, starts = _loose(tails, heads, box), _loose(heads, tails, box)
    if len(ends) and len(starts):
        gap = np.hypot(*(tails[ends][:, None, :] - heads[starts][None, :, :]).transpose(2, 0, 1))
        to_edge = np.minimum(_to_edge(tails[ends], box)[:, None], _to_edge(heads[starts], box)[None, :])
        allowed = gap <= np.maximum(np.minimum(to_edge, MAX_GAP_M), SNAP_GAP_M)
        open_ends, open_starts = np.ones(len(ends), np.bool_), np.ones(len(starts), np.bool_)
        for k in np.argsort(gap, axis=None, kind="stable"):
            a, b = divmod(int(k), len(starts))
            if allowed[a, b] and open_ends[a] and open_starts[b]:
                open_ends[a] = open_starts[b] = False
                chains.append(np.array([tails[ends[a]], heads[starts[b]]]))
                report["coast_gaps_joined"] += 1
        ends, starts = ends[open_ends], starts[open_starts]
    for loose in (tails[ends], heads[starts]):
        chains.extend(np.array([point, _nearest_on_edge(point, box)]) for point in loose)
        report["coast_ends_extended"] += len(loose)
    return chains


def _loose(points: FloatArray, partners: FloatArray, box: FloatArray) -> Int64Array:
    """Return the indices of points that lie inside the box and do not coincide with a partner."""
    inside = (points > box[:2]).all(axis=1) & (points < box[2:]).all(axis=1)
    keys, known = (np.round(p * 1000.0).astype(np.int64) for p in (points, partners))
    taken = {(int(x), int(y)) for x, y in known}
    return np.array([k for k in np.flatnonzero(inside) if (int(keys[k, 0]), int(keys[k, 1])) not in taken], np.int64)


def _to_edge(points: FloatArray, box: FloatArray) -> FloatArray:
    return np.asarray(np.concatenate([points - box[:2], box[2:] - points], axis=1).min(axis=1))


def _nearest_on_edge(point: FloatArray, box: FloatArray) -> FloatArray:
    """Return the projection of a point onto the nearest edge of the box, moved one metre outside to ensure crossing."""
    side = int(np.argmin(np.concatenate([point - box[:2], box[2:] - point])))
    foot = point.copy()
    foot[side % 2] = box[side] + (-1.0 if side < 2 else 1.0)
    return foot


def _votes(lines: list[FloatArray], faces: Geometries, box: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each face, the length of coastline with the face on its left, and with the face on its right."""
    a = np.concatenate([line[:-1] for line in lines])
    b = np.concatenate([line[1:] for line in lines])
    a, b = _clip(a, b, box)
    length = np.hypot(*(b - a).T)
    a, b, length = a[length > 0], b[length > 0], length[length > 0]
    middle = (a + b) / 2.0
    left = np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]]) / length[:, None] * SIDE_OFFSET_M
    votes = []
    for x, y in ((middle + left).T, (middle - left).T):
        face = first_cover(faces, x, y)
        metres = np.bincount(face[face >= 0], weights=length[face >= 0], minlength=len(faces))
        votes.append(metres.astype(np.float64))
    return votes[0], votes[1]


def _clip(a: FloatArray, b: FloatArray, box: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Clip segments to the box (Liang and Barsky) and drop those outside of it."""
    d: FloatArray = b - a
    with np.errstate(divide="ignore", invalid="ignore"):
        t0, t1 = (box[:2] - a) / d, (box[2:] - a) / d
    enter, leave = np.fmin(t0, t1), np.fmax(t0, t1)
    still = d == 0
    enter[still], leave[still] = -np.inf, np.inf
    inside = (~still | ((a >= box[:2]) & (a <= box[2:]))).all(axis=1)
    first: FloatArray = np.maximum(enter.max(axis=1), 0.0)
    last: FloatArray = np.minimum(leave.min(axis=1), 1.0)
    hit = inside & (first < last)
    return (a + first[:, None] * d)[hit], (a + last[:, None] * d)[hit]


def _subdivide(polygons: Geometries) -> Geometries:
    """Split polygons across their longer side until each has few vertices, as ST_Subdivide of PostGIS does."""
    done = []
    rest = polygons
    while len(rest):
        small = shapely.get_num_coordinates(rest) <= TILE_VERTICES
        done.append(rest[small])
        rest = rest[~small]
        x0, y0, x1, y1 = shapely.bounds(rest).T
        wide = x1 - x0 >= y1 - y0
        # Cut at whole metres, so that both halves have exactly the same edge and their union has no slivers.
        x, y = np.where(wide, np.round((x0 + x1) / 2), x1), np.where(wide, y1, np.round((y0 + y1) / 2))
        first = shapely.intersection(rest, shapely.box(x0, y0, x, y))
        second = shapely.intersection(rest, shapely.box(np.where(wide, x, x0), np.where(wide, y0, y), x1, y1))
        parts = shapely.get_parts(shapely.get_parts(np.concatenate([first, second])))
        rest = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    return np.concatenate(done) if done else polygons
