"""
Water that a shape must not cover: the sea from coastlines, lakes, and the areas of rivers and docks.

A coastline is a directed line with land on its left, and an extract holds only pieces of it, cut anywhere. The sea is
found by completing the pieces to the edge of a box, cutting the box along them, and asking of every face on which
side of its coast it lies. A map that drowns streets is wrong, so a face with a town in it stays land whatever its
coast says. What had to be guessed is counted in `WaterBodies.report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from shapely import MultiPolygon

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array, ObjectArray
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import FormatError

Geometries = ObjectArray

#: Smaller bodies are no obstacle worth drawing: a pond, a fountain, a garden canal.
MIN_WATER_AREA_M2 = 20_000.0
#: How far beyond the network the sea is drawn.
BOX_MARGIN_M = 3_000.0
#: Vertices of a tile; overlays cost more than linearly in them.
TILE_VERTICES = 256
#: Ends of coastlines this near to each other are joined whatever else is near.
SNAP_GAP_M = 1.0
#: Longest gap that is closed with a straight line from the end of one coastline to the start of another.
MAX_GAP_M = 1_000.0
#: A sea face holds at most this share of the street sample ...
MAX_STREET_SHARE = 0.2
#: ... and streets at most this dense in relation to land, once there are a few.
MAX_STREET_DENSITY = 0.5
MIN_STREETS_FOR_DENSITY = 20
#: How far beside the middle of a coast segment its two sides are looked at.
SIDE_OFFSET_M = 0.05


@dataclass(frozen=True)
class WaterBodies:
    """
    Large water bodies in local metres, cut into tiles of few vertices.

    Build with `build`; `from_wkb` restores what `to_wkb` wrote.

    Parameters
    ----------
    tiles : array of shapely Polygon
        Interiors are disjoint.
    report : dict
        What was joined, extended, guessed and rejected; plain numbers. Not part of the WKB.
    """

    tiles: Geometries
    report: dict[str, Any] = field(default_factory=dict, compare=False)
    _tree: shapely.STRtree = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the tiles."""
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
        min_area_m2: float = MIN_WATER_AREA_M2,
        margin_m: float = BOX_MARGIN_M,
    ) -> WaterBodies:
        """
        Assemble the water in and around a network.

        Parameters
        ----------
        coastlines : sequence of float64 arrays of shape (n, 2)
            (lng, lat) rows in EPSG:4326, land on the left.
        water : sequence of shapely Polygon or MultiPolygon
            EPSG:4326.
        bounds : tuple of float
            West, south, east, north of the network; west > east across the 180th meridian.
        frame : LocalFrame
            Where results live.
        street_xy : float64 array of shape (n, 2), optional
            Local metres of a sample of the network, evenly by length or by node and without ferries. A face that
            holds more streets than bridges explain is not sea.
        min_area_m2 : float, default 20000
            Smaller bodies are dropped, after touching ones are joined. Does not apply to the sea.
        margin_m : float, default 3000
            How far beyond `bounds` the sea reaches.

        Returns
        -------
        WaterBodies
        """
        (west, _), (south, north) = frame.to_xy(np.array([bounds[0], bounds[2]]), np.array([bounds[1], bounds[3]]))
        # From the width in degrees, since the two ends of the whole world have one and the same x.
        width = bounds[2] - bounds[0] + (360.0 if bounds[2] < bounds[0] else 0.0)
        inner = np.array([west, south, west + width * frame.metres_per_degree_lng, north])
        box = inner + margin_m * np.array([-1.0, -1.0, 1.0, 1.0])
        report: dict[str, Any] = {"coastlines": len(coastlines), "water_areas": len(water)}
        lines = [np.column_stack(frame.to_xy(line[:, 0], line[:, 1])) for line in map(_as_rows, coastlines)]
        sea = _sea_faces([line for line in lines if len(line) > 1], box, inner, street_xy, report)

        def metres(lnglat: FloatArray) -> FloatArray:
            return np.column_stack(frame.to_xy(lnglat[:, 0], lnglat[:, 1]))

        areas = np.array([area for area in water if area is not None], dtype=object)
        bodies = _polygons(shapely.union_all(_polygons(shapely.transform(areas, metres))))
        large = bodies[shapely.area(bodies) >= min_area_m2]
        report["water_bodies"], report["small_bodies_dropped"] = len(large), len(bodies) - len(large)
        # Lakes that open into the sea must not overlap it, or tiles would.
        tiles = _subdivide(_polygons(shapely.union_all(np.concatenate([sea, large]))) if len(sea) else large)
        report["tiles"] = len(tiles)
        return cls(tiles, report)

    @classmethod
    def empty(cls) -> WaterBodies:
        """Return no water."""
        return cls(np.zeros(0, dtype=object))

    @classmethod
    def from_wkb(cls, data: bytes, *, report: dict[str, Any] | None = None) -> WaterBodies:
        """
        Return the water that `to_wkb` wrote, with the report it had if that was kept.

        Raises
        ------
        FormatError
            If `data` is anything else.
        """
        try:
            tiles = shapely.get_parts(shapely.from_wkb(data))
        except (shapely.GEOSException, TypeError) as error:
            raise FormatError(f"Water bodies must be WKB as written by to_wkb. Got {len(data)} other bytes.") from error
        if not (shapely.get_type_id(tiles) == shapely.GeometryType.POLYGON).all():
            raise FormatError("Water bodies must be a collection of polygons. Got another kind of geometry.")
        return cls(tiles, report or {})

    def to_wkb(self) -> bytes:
        """Return the tiles as one WKB geometry collection."""
        return bytes(shapely.to_wkb(shapely.geometrycollections(self.tiles)))

    def __len__(self) -> int:
        """Return the number of tiles."""
        return len(self.tiles)

    @property
    def geometry(self) -> MultiPolygon:
        """All water as one MultiPolygon in local metres; joins the tiles, so keep it."""
        return _multipolygon(np.array([shapely.union_all(self.tiles)]))

    def subtract(self, shape: MultiPolygon) -> MultiPolygon:
        """
        Return a shape in local metres without the water in it.

        Nested shapes stay nested. Only polygons that meet water are cut, and only against the tiles that they meet.
        """
        parts = shapely.get_parts(shape)
        part, tile = self._tree.query(parts, predicate="intersects")
        if len(part) == 0:
            return shape
        # Neighbouring tiles share whole edges, which makes their collection no valid MultiPolygon, but the overlay
        # merges equal edges first and so sees the union, for a fraction of the cost of computing it.
        wet = np.unique(part)
        water = shapely.multipolygons(self.tiles[np.unique(tile)])
        cut = shapely.difference(shapely.multipolygons(parts[wet]), water)
        return _multipolygon(np.append(np.delete(parts, wet), cut))

    def contains(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """
        Return which points lie in water.

        Parameters
        ----------
        x, y : float64 arrays of one shape
            Local metres.

        Returns
        -------
        bool array of that shape
        """
        x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        return _first_cover(self.tiles, x.ravel(), y.ravel()).reshape(x.shape) >= 0


def _as_rows(line: Any) -> FloatArray:
    """Return (lng, lat) rows without gaps and repetitions."""
    rows = np.asarray(line, np.float64).reshape(-1, 2)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        return rows
    return np.asarray(rows[np.append(True, (np.diff(rows, axis=0) != 0).any(axis=1))])


def _polygons(geometries: Any) -> Geometries:
    """Return the polygons in one or many geometries, repaired where that is needed."""
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


def _first_cover(polygons: Geometries, x: FloatArray, y: FloatArray) -> Int64Array:
    """Return a polygon that each point lies in or on the edge of, -1 for none."""
    cover = np.full(x.size, -1, np.int64)
    order = np.argsort(y, kind="stable")
    by_y = y[order]
    shapely.prepare(polygons)
    for k, (min_x, min_y, max_x, max_y) in enumerate(shapely.bounds(polygons)):
        rows = order[np.searchsorted(by_y, min_y) : np.searchsorted(by_y, max_y, side="right")]
        rows = rows[(x[rows] >= min_x) & (x[rows] <= max_x)]
        cover[rows[shapely.intersects_xy(polygons[k], x[rows], y[rows])]] = k
    return cover


def _sea_faces(
    lines: list[FloatArray], box: FloatArray, inner: FloatArray, street_xy: FloatArray | None, report: dict[str, Any]
) -> Geometries:
    """Return the faces of the box that lie on the right of the coastlines."""
    report.update(coast_gaps_joined=0, coast_ends_extended=0, contradictory_faces=0, sea_faces_rejected=0, sea_faces=0)
    if not lines:
        return np.zeros(0, dtype=object)
    chains = _complete(lines, box, report)
    outline = shapely.box(*box)
    cuts = shapely.intersection([shapely.LineString(chain) for chain in chains], outline)
    noded = shapely.union_all(np.append(cuts, shapely.get_exterior_ring(outline)))
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(noded)))
    land, sea = _votes(lines, faces, box)
    report["contradictory_faces"] = int(((np.minimum(land, sea) > 0.01 * np.maximum(land, sea)) & (sea > 0)).sum())
    is_sea = sea > land
    if street_xy is not None and len(street_xy):
        inhabited = _inhabited(faces, is_sea, np.asarray(street_xy, np.float64), inner)
        report["sea_faces_rejected"] = int((is_sea & inhabited).sum())
        is_sea &= ~inhabited
    report["sea_faces"] = int(is_sea.sum())
    return np.asarray(faces[is_sea])


def _complete(lines: list[FloatArray], box: FloatArray, report: dict[str, Any]) -> list[FloatArray]:
    """
    Return the coastlines with their loose ends tied: across gaps, end to start, or else to the edge of the box.

    An end is tied to the start of another line (or its own) because only that keeps land on the left all along. A
    gap is closed where it is short and shorter than the way to the edge.
    """
    chains = list(lines)
    heads, tails = (np.array([line[k] for line in lines]) for k in (0, -1))
    # Only loose ends inside the box matter: outside they cut nothing.
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
    """Return which points lie inside the box and on no partner."""
    inside = (points > box[:2]).all(axis=1) & (points < box[2:]).all(axis=1)
    keys, known = (np.round(p * 1000.0).astype(np.int64) for p in (points, partners))
    taken = {(int(x), int(y)) for x, y in known}
    return np.array([k for k in np.flatnonzero(inside) if (int(keys[k, 0]), int(keys[k, 1])) not in taken], np.int64)


def _to_edge(points: FloatArray, box: FloatArray) -> FloatArray:
    return np.asarray(np.concatenate([points - box[:2], box[2:] - points], axis=1).min(axis=1))


def _nearest_on_edge(point: FloatArray, box: FloatArray) -> FloatArray:
    """Return the foot of a point on the nearest edge of the box, a metre beyond it so that the two do cross."""
    side = int(np.argmin(np.concatenate([point - box[:2], box[2:] - point])))
    foot = point.copy()
    foot[side % 2] = box[side] + (-1.0 if side < 2 else 1.0)
    return foot


def _votes(lines: list[FloatArray], faces: Geometries, box: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the metres of coast that have each face on their left, and on their right."""
    a = np.concatenate([line[:-1] for line in lines])
    b = np.concatenate([line[1:] for line in lines])
    a, b = _clip(a, b, box)
    length = np.hypot(*(b - a).T)
    a, b, length = a[length > 0], b[length > 0], length[length > 0]
    middle = (a + b) / 2.0
    left = np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]]) / length[:, None] * SIDE_OFFSET_M
    votes = []
    for x, y in ((middle + left).T, (middle - left).T):
        face = _first_cover(faces, x, y)
        metres = np.bincount(face[face >= 0], weights=length[face >= 0], minlength=len(faces))
        votes.append(metres.astype(np.float64))
    return votes[0], votes[1]


def _clip(a: FloatArray, b: FloatArray, box: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the parts of segments inside the box (Liang and Barsky), without those that miss it."""
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


def _inhabited(faces: Geometries, is_sea: BoolArray, street_xy: FloatArray, inner: FloatArray) -> BoolArray:
    """Return which sea faces hold more streets than bridges and piers explain."""
    face = _first_cover(faces, street_xy[:, 0], street_xy[:, 1])
    count = np.bincount(face[face >= 0], minlength=len(faces))
    # Streets end at the bounds, so does the ground that their density is measured on.
    area = np.maximum(shapely.area(shapely.intersection(faces, shapely.box(*inner))), 1.0)
    on_land, land_area = count[~is_sea].sum(), area[~is_sea].sum()
    share = count / len(street_xy)
    dense = count >= MIN_STREETS_FOR_DENSITY
    if on_land:
        dense &= count / area > MAX_STREET_DENSITY * on_land / land_area
    return np.asarray(is_sea & ((share > MAX_STREET_SHARE) | dense))


def _subdivide(polygons: Geometries) -> Geometries:
    """Return polygons halved across their longer side until each has few vertices (as PostGIS ST_Subdivide)."""
    done = []
    rest = polygons
    while len(rest):
        small = shapely.get_num_coordinates(rest) <= TILE_VERTICES
        done.append(rest[small])
        rest = rest[~small]
        x0, y0, x1, y1 = shapely.bounds(rest).T
        wide = x1 - x0 >= y1 - y0
        # Whole metres: both halves then share their cut to the last bit, so that joining tiles leaves no slivers.
        x, y = np.where(wide, np.round((x0 + x1) / 2), x1), np.where(wide, y1, np.round((y0 + y1) / 2))
        first = shapely.intersection(rest, shapely.box(x0, y0, x, y))
        second = shapely.intersection(rest, shapely.box(np.where(wide, x, x0), np.where(wide, y0, y), x1, y1))
        parts = shapely.get_parts(shapely.get_parts(np.concatenate([first, second])))
        rest = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    return np.concatenate(done) if done else polygons
