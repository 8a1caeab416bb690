"""
Find the cells of points in two global grids: H3 hexagons and geohash rectangles.

The H3 library of Uber finds the cell of one point per call. For many points near each other `h3_cells_of` needs only
one call per *cell*: on a face of the icosahedron the H3 cells are the nearest-neighbour cells of a regular triangular
lattice in the gnomonic projection. Points are assigned to lattice points by arithmetic, and the library returns the
cell of each lattice point. A geohash is a column and a row of the globe, divided into 2**n by 2**m rectangles, with
their bits interleaved.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final, Literal

import h3.api.numpy_int as h3
import numpy as np
import numpy.typing as npt
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int64Array, UInt64Array
from traveltime_lab._checks import is_whole
from traveltime_lab.crs import WGS84_A_M, metres_per_degree
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.runtime.collector import without_collector

Grid = Literal["h3", "geohash"]

#: Coarsest and finest resolution. docs/contract.md, 7.13 requires at least 4 to 12 and 4 to 9; older clients also use
#: coarser ones.
H3_RESOLUTIONS: Final = (1, 12)
GEOHASH_RESOLUTIONS: Final = (1, 9)

_ALPHABET: Final = "0123456789bcdefghjkmnpqrstuvwxyz"
_LETTERS: Final = np.frombuffer(_ALPHABET.encode(), np.uint8)
#: Points nearer than this to the border of a cell, in units of the distance between cells, are left to the library.
_UNSURE: Final = 1e-6


def check_resolution(grid: Grid, resolution: Any) -> int:
    """
    Check a resolution of a grid.

    Raises
    ------
    InputError
        If it is not a whole number.
    LimitError
        If it is out of range.
    """
    least, most = H3_RESOLUTIONS if grid == "h3" else GEOHASH_RESOLUTIONS
    if not is_whole(resolution):
        msg = f"resolution must be a whole number from {least} to {most}; got {resolution!r}"
        raise InputError(msg)
    if not least <= resolution <= most:
        msg = f"resolution of {grid} must be from {least} to {most}; got {resolution}"
        raise LimitError(msg)
    return int(resolution)


# H3 ------------------------------------------------------------------------------------------------------------------


def h3_cells_of(lng: FloatArray, lat: FloatArray, resolution: int) -> UInt64Array:
    """
    Return the H3 cells of many points that are near each other.

    Parameters
    ----------
    lng, lat : float64 arrays of equal shape
        EPSG:4326. Points within some dozens of cells of each other are fastest.
    resolution : int

    Returns
    -------
    uint64 array of the same shape
        The same cells as the library returns point by point.
    """
    shape, lng, lat = lng.shape, lng.ravel(), lat.ravel()
    cells = np.zeros(lng.size, np.uint64)
    if not lng.size:
        return cells.reshape(shape)
    lattice = _lattice(lng, lat, resolution)
    if lattice is None:
        unsure = np.arange(lng.size)
    else:
        i, j, is_sure = lattice
        sure = np.flatnonzero(is_sure)
        key = (i[sure] << 32) + j[sure]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        cells[sure] = _one_by_one(lng[sure[first]], lat[sure[first]], resolution)[inverse]
        unsure = np.flatnonzero(~is_sure)
    cells[unsure] = _one_by_one(lng[unsure], lat[unsure], resolution)
    return cells.reshape(shape)


def _one_by_one(lng: FloatArray, lat: FloatArray, resolution: int) -> UInt64Array:
    """Return the cells of points with one call of the library for each."""
    pairs = zip(lat.tolist(), lng.tolist(), strict=True)
    return np.array([h3.latlng_to_cell(*pair, resolution) for pair in pairs], np.uint64)


def _lattice(lng: FloatArray, lat: FloatArray, resolution: int) -> tuple[Any, Any, BoolArray] | None:
    """
    Return the lattice coordinates of each point, and whether it is clearly inside its cell.

    The result is None if the points are not all on one face, away from its edges.
    """
    points = _on_sphere(lng, lat)
    middle = points.mean(axis=0)
    middle /= np.linalg.norm(middle)
    faces = _face_centres()
    by_distance = faces @ middle
    nearest, second = np.argsort(-by_distance)[:2]
    # The angle from the middle to the nearest edge of its face, and that to the farthest point plus some cells.
    to_edge = np.arcsin((by_distance[nearest] - by_distance[second]) / np.linalg.norm(faces[nearest] - faces[second]))
    reach = np.arccos(np.clip((points @ middle).min(), -1.0, 1.0))
    spacing = h3_edge_m(resolution) / WGS84_A_M * np.sqrt(3.0)
    if to_edge <= reach + 4.0 * spacing:
        return None
    normal = faces[nearest]
    east = np.cross(normal, [0.0, 0.0, 1.0] if abs(normal[2]) < 0.9 else [1.0, 0.0, 0.0])
    east /= np.linalg.norm(east)
    north = np.cross(normal, east)

    def plane(xyz: FloatArray) -> npt.NDArray[np.complex128]:
        return np.asarray((xyz @ east + 1j * (xyz @ north)) / (xyz @ normal))

    middle_lng, middle_lat = np.degrees(np.arctan2(middle[1], middle[0])), np.degrees(np.arcsin(middle[2]))
    own = h3.latlng_to_cell(middle_lat, middle_lng, resolution)
    ring = [cell for cell in h3.grid_disk(own, 1).tolist() if cell != own]
    around = np.array([h3.cell_to_latlng(cell) for cell in [own, *ring]])
    centres = plane(_on_sphere(around[:, 1], around[:, 0]))
    arms = centres[1:] - centres[0]
    arms = arms[np.argsort(np.angle(arms))]
    # The six neighbours of a cell are 60 degrees apart: rotated onto the first they give six measurements of it.
    a = (arms * np.exp(-1j * np.pi / 3.0 * np.arange(6))).mean()
    place = (plane(points) - centres[0]) / a
    # Coordinates in units of that vector and of the same vector rotated by 60 degrees.
    v = place.imag / (np.sqrt(3.0) / 2.0)
    u = place.real - v / 2.0
    return _round_to_lattice(u, v)


def _round_to_lattice(u: FloatArray, v: FloatArray) -> tuple[Any, Any, BoolArray]:
    """Return the nearest lattice point of each position, and whether no other one is about as near."""
    w = -u - v
    i, j, k = np.rint(u), np.rint(v), np.rint(w)
    du, dv, dw = np.abs(i - u), np.abs(j - v), np.abs(k - w)
    i, j = np.where((du > dv) & (du > dw), -j - k, i), np.where((dv >= du) & (dv > dw), -i - k, j)
    du, dv = u - i, v - j
    farthest = np.maximum(np.abs(du + dv / 2.0), np.maximum(np.abs(dv + du / 2.0), np.abs(dv - du) / 2.0))
    return i.astype(np.int64), j.astype(np.int64), farthest < 0.5 - _UNSURE


def _on_sphere(lng: FloatArray, lat: FloatArray) -> FloatArray:
    """Return points as unit vectors, on a sphere as in H3."""
    phi, lam = np.radians(lat), np.radians(lng)
    return np.column_stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])


@functools.cache
def _face_centres() -> FloatArray:
    """Return the centres of the 20 faces of the icosahedron, whose corners are the centres of the twelve pentagons."""
    lat, lng = np.array([h3.cell_to_latlng(cell) for cell in h3.get_pentagons(0).tolist()]).T
    corners = _on_sphere(lng, lat)
    is_near = corners @ corners.T > 0.4  # neighbours are 63.4 degrees apart, the next ones 116.6
    faces = [
        corners[a] + corners[b] + corners[c]
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if is_near[a, b] and is_near[b, c] and is_near[a, c]
    ]
    return np.asarray(faces / np.linalg.norm(faces, axis=1)[:, None])


def h3_area_m2(resolution: int) -> float:
    """Return the average area of a hexagon in square metres."""
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def h3_edge_m(resolution: int) -> float:
    """Return the average length of an edge of a hexagon in metres."""
    return float(h3.average_hexagon_edge_length(resolution, unit="m"))


def h3_names(cells: UInt64Array) -> AnyArray:
    """Return the names of H3 cells: their indexes in 15 hexadecimal digits."""
    return np.array([f"{cell:x}" for cell in cells.tolist()], dtype=object)


def h3_indexes(names: Sequence[str]) -> UInt64Array:
    """
    Return the indexes of H3 cells from their names.

    Raises
    ------
    InputError
        If a name is not that of an H3 cell.
    """
    cells = np.zeros(len(names), np.uint64)
    for n, name in enumerate(names):
        try:
            cell = int(name, 16)
        except (TypeError, ValueError):
            cell = 0
        if not 0 < cell < 1 << 64 or not h3.is_valid_cell(cell):
            msg = f"{name!r} is not an H3 cell; a name has 15 hexadecimal digits, such as '87195da49ffffff'"
            raise InputError(msg)
        cells[n] = cell
    return cells


@without_collector
def h3_centres(cells: UInt64Array) -> tuple[FloatArray, FloatArray]:
    """Return longitudes and latitudes of the centres of H3 cells."""
    lat, lng = np.array([h3.cell_to_latlng(cell) for cell in cells.tolist()]).reshape(-1, 2).T
    return lng, lat


@without_collector
def h3_polygons(cells: UInt64Array) -> AnyArray:
    """Return the polygons of H3 cells in EPSG:4326, in two parts if they cross the 180th meridian."""
    rings = [h3.cell_to_boundary(cell) for cell in cells.tolist()]
    if not rings:
        return np.zeros(0, dtype=object)
    indices = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    lnglat = np.array([corner for ring in rings for corner in ring])[:, ::-1]
    polygons = np.asarray(shapely.polygons(shapely.linearrings(lnglat, indices=indices)))
    west, _, east, _ = shapely.bounds(polygons).T
    for n in np.flatnonzero(east - west > 180.0):
        polygons[n] = _split_at_180(polygons[n])
    return polygons


def _split_at_180(polygon: Any) -> Any:
    """Return a polygon that crosses the 180th meridian as a MultiPolygon with a part on each side."""
    whole = shapely.transform(polygon, lambda xy: np.column_stack([xy[:, 0] % 360.0, xy[:, 1]]))
    east = shapely.clip_by_rect(whole, 0.0, -90.0, 180.0, 90.0)
    west = shapely.transform(shapely.clip_by_rect(whole, 180.0, -90.0, 360.0, 90.0), lambda xy: xy - (360.0, 0.0))
    return shapely.orient_polygons(shapely.multipolygons([east, west]))


# Geohash -------------------------------------------------------------------------------------------------------------


def geohash_bits(resolution: int) -> tuple[int, int]:
    """Return the number of bits of longitude and of latitude in a geohash."""
    return (5 * resolution + 1) // 2, 5 * resolution // 2


def geohash_columns(lng: FloatArray, resolution: int) -> Int64Array:
    """Return the column of each longitude, counted from 180 degrees west."""
    return _halved(lng, 360.0, geohash_bits(resolution)[0])


def geohash_rows(lat: FloatArray, resolution: int) -> Int64Array:
    """Return the row of each latitude, counted from the south pole."""
    return _halved(lat, 180.0, geohash_bits(resolution)[1])


def _halved(degrees: FloatArray, span: float, bits: int) -> Int64Array:
    """Return which of ``2**bits`` parts of a span around 0 contains each angle; the last part includes its end."""
    size = span / (1 << bits)
    part = np.floor((degrees + span / 2.0) / size)
    # The sum may be rounded up to the next border; the borders themselves are exact.
    part -= degrees < part * size - span / 2.0
    return np.clip(part, 0, (1 << bits) - 1).astype(np.int64)


def geohash_names(columns: Int64Array, rows: Int64Array, resolution: int) -> AnyArray:
    """Return the geohashes of columns and rows."""
    n_lng, n_lat = geohash_bits(resolution)
    code = np.zeros(columns.size, np.int64)
    for bit in range(5 * resolution):
        # Longitude has the even bits, counted from the most significant one.
        source, left = (columns, n_lng) if bit % 2 == 0 else (rows, n_lat)
        code = (code << 1) | ((source >> (left - 1 - bit // 2)) & 1)
    letters = np.empty((columns.size, resolution), np.uint8)
    for place in range(resolution):
        letters[:, place] = _LETTERS[(code >> (5 * (resolution - 1 - place))) & 31]
    return np.asarray(letters.view(f"S{resolution}").ravel().astype(f"U{resolution}").astype(object))


def geohash_places(name: str) -> tuple[int, int, int]:
    """
    Return the column, row and resolution of a geohash of up to 12 characters.

    Raises
    ------
    InputError
        If the name is not a geohash.
    """
    places = [_ALPHABET.find(letter) for letter in name.lower()] if isinstance(name, str) else []
    if not 1 <= len(places) <= 12 or -1 in places:
        msg = f"{name!r} is not a geohash: 1 to 12 digits and letters without a, i, l and o, such as 'gcpuv5'"
        raise InputError(msg)
    column = row = 0
    for bit in range(5 * len(places)):
        value = (places[bit // 5] >> (4 - bit % 5)) & 1
        if bit % 2 == 0:
            column = column * 2 + value
        else:
            row = row * 2 + value
    return column, row, len(places)


def geohash_size_deg(resolution: int) -> tuple[float, float]:
    """Return width and height of a geohash in degrees."""
    n_lng, n_lat = geohash_bits(resolution)
    return 360.0 / (1 << n_lng), 180.0 / (1 << n_lat)


def geohash_size_m(resolution: int, lat: float) -> tuple[float, float]:
    """Return width and height of a geohash in metres at a latitude."""
    width, height = geohash_size_deg(resolution)
    per_lng, per_lat = metres_per_degree(lat)
    return width * float(per_lng), height * float(per_lat)


def geohash_centre(name: str) -> tuple[float, float]:
    """Return longitude and latitude of the centre of a geohash."""
    column, row, resolution = geohash_places(name)
    width, height = geohash_size_deg(resolution)
    return (column + 0.5) * width - 180.0, (row + 0.5) * height - 90.0


@without_collector
def geohash_polygons(columns: Int64Array, rows: Int64Array, resolution: int) -> AnyArray:
    """Return the rectangles of geohashes in EPSG:4326."""
    width, height = geohash_size_deg(resolution)
    west, south = columns * width - 180.0, rows * height - 90.0
    return np.asarray(shapely.box(west, south, west + width, south + height))
