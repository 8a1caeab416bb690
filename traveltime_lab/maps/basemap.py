"""
Base maps: streets by class, water and street names of the network, for any extent and scale.

Lines of a class are merged once per network, so that they can be simplified across junctions. Features that are too
small for the scale are omitted.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, FloatArray, Int64Array, unique_values
from traveltime_lab.maps import style
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.memo import Derived

Box = tuple[float, float, float, float]

#: Tolerance of simplification in pixels; half a pixel is invisible.
_TOLERANCE_PX = 0.5
#: Lines and water bodies smaller than this are omitted.
_SMALLEST_PX = 1.5
#: Average width of a letter relative to the height of the font (assumed, for sans-serif).
_LETTER_WIDTH: Final = 0.55
_LABEL_PX: Final = 10.0
_MOST_LABELS: Final = 60
#: Coarsest scale, in metres per pixel, at which streets of a rank have names.
_NAMED_UP_TO_M: Final = {5: 60.0, 4: 30.0, 3: 18.0, 2: 9.0, 1: 2.5, 0: 1.2}

#: Radius of the sphere of Web Mercator (EPSG:3857) in metres.
_MERCATOR_M: Final = 6_378_137.0


@dataclass(frozen=True)
class Label:
    """A street name with its position in local metres and its angle in degrees counter-clockwise from east."""

    text: str
    x: float
    y: float
    angle: float


@dataclass(frozen=True)
class BaseMap:
    """
    Layers of a base map, in local metres.

    Attributes
    ----------
    box : tuple of float
        West, south, east, north.
    metres_per_pixel : float
        Scale of the map.
    water : object array of shapely Polygon
    streets : dict of int to object array of shapely LineString
        Lines by rank (see `traveltime_lab.maps.style.RANKS`), minor streets first.
    ferries : object array of shapely LineString
    labels : list of Label
    """

    box: Box
    metres_per_pixel: float
    water: AnyArray
    streets: dict[int, AnyArray]
    ferries: AnyArray
    labels: list[Label]


@dataclass(frozen=True)
class _Lines:
    """Merged lines of a class with their names and spatial index."""

    lines: AnyArray
    names: AnyArray
    tree: shapely.STRtree

    def within(self, box: Box) -> tuple[AnyArray, AnyArray]:
        """Return the lines that intersect a box, and their names."""
        found = self.tree.query(shapely.box(*box))
        return self.lines[found], self.names[found]


_GROUPS = Derived[None, dict[int, _Lines]]("base map")


def base_map(network: Network, box: Box, metres_per_pixel: float, *, with_labels: bool = True) -> BaseMap:
    """
    Return the base map of an extent at a scale.

    Parameters
    ----------
    network : Network
    box : tuple of float
        West, south, east, north in local metres (``network.frame``).
    metres_per_pixel : float
        Scale; determines which features are shown and how much lines are simplified.
    with_labels : bool, default True
        Whether to place street names.
    """
    groups = _groups_of(network)
    tolerance = _TOLERANCE_PX * metres_per_pixel
    least = _SMALLEST_PX * metres_per_pixel
    window = shapely.box(*box)

    def drawn(group: _Lines) -> AnyArray:
        lines, _ = group.within(box)
        lines = shapely.simplify(lines, tolerance, preserve_topology=False)
        return np.asarray(lines[shapely.length(lines) > least])

    # The highest rank is shown at every scale; otherwise the map could be empty.
    largest = max((rank for rank in groups if rank >= 0), default=0)
    streets = {
        rank: drawn(groups[rank])
        for rank in range(len(style.RANKS))
        if rank in groups and (metres_per_pixel <= style.RANKS[rank].coarsest_m or rank == largest)
    }
    ferries = drawn(groups[-1]) if -1 in groups else np.empty(0, dtype=object)
    tiles = network.water.tiles
    water = tiles[shapely.intersects(tiles, window)] if len(tiles) else np.empty(0, dtype=object)
    water = _joined(shapely.intersection(water, window), tolerance, least)
    labels = _labels(groups, box, metres_per_pixel) if with_labels else []
    return BaseMap(box, metres_per_pixel, water, streets, ferries, labels)


def _groups_of(network: Network) -> dict[int, _Lines]:
    return _GROUPS.of(network, None, lambda: _groups(network))


def _groups(network: Network) -> dict[int, _Lines]:
    """Return merged lines by rank, with ferries as rank -1; only lines of the same name are merged."""
    t = network.tables
    highways = t.uses["highway"].to_numpy()
    rank_of_use = np.array([style.rank_of(str(value)) for value in highways], dtype=np.int64)
    rank_of_use[t.uses["is_ferry"].to_numpy()] = -1
    rank = rank_of_use[t.edge_use]
    x, y = network.frame.to_xy(t.coord_lng, t.coord_lat)
    parts = np.repeat(np.arange(network.n_edges), np.diff(t.coord_indptr))
    lines = shapely.linestrings(np.column_stack([x, y]), indices=parts)
    names = np.array(t.names, dtype=object)
    groups = {}
    for value in unique_values(rank):
        mine = np.flatnonzero(rank == value)
        order = mine[np.argsort(t.edge_name[mine], kind="stable")]
        same_name = np.flatnonzero(np.diff(t.edge_name[order], prepend=-1))
        collected = [shapely.multilinestrings(piece) for piece in np.split(lines[order], same_name[1:])]
        merged, source = shapely.get_parts(shapely.line_merge(collected), return_index=True)
        name = names[t.edge_name[order[same_name]]][source]
        groups[int(value)] = _Lines(merged, name, shapely.STRtree(merged))
    return groups


def _joined(pieces: AnyArray, tolerance: float, least: float) -> AnyArray:
    """Return the union of water tiles, simplified and without small polygons."""
    if not len(pieces):
        return np.empty(0, dtype=object)
    bodies = shapely.get_parts(shapely.simplify(shapely.union_all(pieces), tolerance))
    bodies = bodies[(shapely.get_dimensions(bodies) == 2) & (shapely.area(bodies) > least**2)]
    return np.asarray(bodies, dtype=object)


def _labels(groups: dict[int, _Lines], box: Box, metres_per_pixel: float) -> list[Label]:
    """Return street names that do not overlap; streets of high rank, then long streets, take precedence."""
    west, south, east, north = box
    height = _LABEL_PX * metres_per_pixel
    candidates: dict[str, tuple[tuple[int, float], Any]] = {}
    for rank, group in groups.items():
        if rank < 0 or metres_per_pixel > _NAMED_UP_TO_M[rank]:
            continue
        lines, names = group.within(box)
        named = names != ""
        inside = shapely.clip_by_rect(lines[named], west, south, east, north)
        parts, source = shapely.get_parts(inside, return_index=True)
        lengths = shapely.length(parts)
        for part, length, name in zip(parts, lengths, names[named][source], strict=True):
            weight = (rank, float(length))
            if length >= 1.3 * height * _LETTER_WIDTH * len(name) and weight > candidates.get(name, ((-1, 0.0),))[0]:
                candidates[name] = weight, part
    placed: list[Label] = []
    taken: list[Any] = []
    for name, (_, line) in sorted(candidates.items(), key=lambda item: (-item[1][0][0], -item[1][0][1], item[0])):
        if len(placed) == _MOST_LABELS:
            break
        label = _label_on(line, name, height)
        ground = label_box(label, height)
        if not shapely.contains_properly(shapely.box(*box), ground) or any(shapely.intersects(ground, taken)):
            continue
        placed.append(label)
        taken.append(shapely.buffer(ground, 0.8 * height))
    return placed


def _label_on(line: Any, name: str, height: float) -> Label:
    """Return a label at the middle of a line, parallel to it and never upside down."""
    half = height * _LETTER_WIDTH * len(name) / 2.0
    middle = shapely.length(line) / 2.0
    ends = shapely.get_coordinates(shapely.line_interpolate_point(line, [middle - half, middle + half]))
    centre = ends.mean(axis=0)
    angle = math.degrees(math.atan2(ends[1, 1] - ends[0, 1], ends[1, 0] - ends[0, 0]))
    if not -90.0 < angle <= 90.0:
        angle -= math.copysign(180.0, angle)
    return Label(name, float(centre[0]), float(centre[1]), angle)


def label_box(label: Label, height: float) -> Any:
    """Return the area that a label covers, as a rotated rectangle; `height` is the height of letters in metres."""
    half = height * _LETTER_WIDTH * len(label.text) / 2.0
    radians = math.radians(label.angle)
    along = np.array([math.cos(radians), math.sin(radians)])
    across = np.array([-along[1], along[0]]) * height * 0.6
    centre = np.array([label.x, label.y])
    return shapely.Polygon([centre + a * half * along + b * across for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])


# SVG images for web maps -------------------------------------------------------------------------------------------


def mercator(lng: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project coordinates in EPSG:4326 to Web Mercator (EPSG:3857), in metres."""
    y = np.arcsinh(np.tan(np.radians(np.clip(np.asarray(lat, dtype=np.float64), -85.05, 85.05))))
    return np.radians(np.asarray(lng, dtype=np.float64)) * _MERCATOR_M, y * _MERCATOR_M


@dataclass(frozen=True)
class Overlays:
    """
    Two images of the same extent: the background, and the streets drawn above the areas.

    Attributes
    ----------
    ground, streets : str
        SVG documents as data URLs.
    bounds : tuple
        ((south, west), (north, east)) in EPSG:4326, the order of Leaflet.
    metres_per_pixel : float
    """

    ground: str
    streets: str
    bounds: tuple[tuple[float, float], tuple[float, float]]
    metres_per_pixel: float


def overlays(network: Network, bounds: Box, metres_per_pixel: float) -> Overlays:
    """
    Return the base map of an extent as two images for a web map.

    Parameters
    ----------
    network : Network
    bounds : tuple of float
        West, south, east, north in EPSG:4326, with west < east; longitudes beyond the 180th meridian continue counting.
    metres_per_pixel : float
        Scale on the ground.

    Returns
    -------
    Overlays
        Images in Web Mercator, which fit their bounds at any zoom level.
    """
    ground, streets = documents(network, bounds, metres_per_pixel)
    west, south, east, north = map(float, bounds)
    return Overlays(data_address(ground), data_address(streets), ((south, west), (north, east)), metres_per_pixel)


def documents(network: Network, bounds: Box, metres_per_pixel: float) -> tuple[str, str]:
    """Return the images of `overlays`, ground and streets, as SVG documents."""
    sheet = _Sheet.of(bounds, metres_per_pixel)
    drawn = base_map(network, sheet.local_box(network), metres_per_pixel)
    paper = f"<rect width='{sheet.width}' height='{sheet.height}' fill='{style.PAPER}'/>"
    ground = sheet.document([paper, *_ground(network, drawn, sheet)])
    return ground, sheet.document(_streets(network, drawn, sheet))


@dataclass(frozen=True)
class _Sheet:
    """
    An extent of Web Mercator as an SVG document, in tenths of a pixel: integers make shorter paths than decimals.

    Attributes
    ----------
    bounds : tuple of float
        West, south, east, north in EPSG:4326.
    left, top : float
        Its corner in Web Mercator, in metres.
    unit : float
        Metres of Web Mercator in a pixel.
    width, height : int
        In tenths of a pixel.
    """

    bounds: Box
    left: float
    top: float
    unit: float
    width: int
    height: int

    @classmethod
    def of(cls, bounds: Box, metres_per_pixel: float) -> _Sheet:
        """Return the sheet of an extent at a scale on the ground."""
        west, south, east, north = bounds
        (left, right), (bottom, top) = mercator(np.array([west, east]), np.array([south, north]))
        # A metre in Web Mercator is shorter on the ground by the cosine of the latitude.
        unit = metres_per_pixel / math.cos(math.radians((south + north) / 2.0))
        return cls(bounds, left, top, unit, round((right - left) / unit * 10), round((top - bottom) / unit * 10))

    def local_box(self, network: Network) -> Box:
        """Return the extent in local metres of a network."""
        west, south, east, north = self.bounds
        frame = network.frame
        x = (np.array([west, east]) - frame.lng0) * frame.metres_per_degree_lng
        y = (np.array([south, north]) - frame.lat0) * frame.metres_per_degree_lat
        return float(x[0]), float(y[0]), float(x[1]), float(y[1])

    def places(self, network: Network) -> Callable[[FloatArray], Int64Array]:
        """Return the function from local metres of a network to places on the sheet."""

        def places(xy: FloatArray) -> Int64Array:
            lng, lat = network.frame.to_lnglat(xy[:, 0], xy[:, 1], wrap=False)
            x, y = mercator(lng, lat)
            found = np.column_stack([(x - self.left) / self.unit * 10, (self.top - y) / self.unit * 10])
            return np.asarray(np.rint(found), dtype=np.int64)

        return places

    def document(self, content: list[str]) -> str:
        """Return the SVG document."""
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width / 10:.0f}' height='{self.height / 10:.0f}' preserveAspectRatio='none'>"
            f"{''.join(content)}</svg>"
        )


def _ground(network: Network, drawn: BaseMap, sheet: _Sheet) -> list[str]:
    """Return water and ferries as SVG elements."""
    places = sheet.places(network)
    content = []
    if len(drawn.water):
        content.append(f"<path d='{_path(drawn.water, places)}' fill='{style.WATER}' fill-rule='evenodd'/>")
    if len(drawn.ferries):
        content.append(
            f"<path d='{_path(drawn.ferries, places)}' fill='none' stroke='{style.FERRY}' stroke-width='10' "
            "stroke-dasharray='50 40'/>"
        )
    return content


def _streets(network: Network, drawn: BaseMap, sheet: _Sheet) -> list[str]:
    """Return streets and their names as SVG elements."""
    places = sheet.places(network)
    content = [f"<g fill='none' stroke='{style.STREET}' stroke-linejoin='round' stroke-opacity='.75'>"]
    grown = width_factor(drawn.metres_per_pixel)
    for rank, lines in drawn.streets.items():
        wide = style.RANKS[rank].width_px * grown * 10
        content.append(f"<path d='{_path(lines, places)}' stroke-width='{wide:.0f}'/>")
    content.append(
        "</g><g font-family='system-ui,sans-serif' font-size='105' text-anchor='middle' "
        f"fill='{style.STREET_LABEL}' stroke='#fff' stroke-width='30' stroke-linejoin='round' paint-order='stroke'>"
    )
    for label in drawn.labels:
        x, y = places(np.array([[label.x, label.y]]))[0]
        content.append(
            f"<text x='{x}' y='{y}' dy='36' transform='rotate({-label.angle:.0f} {x} {y})'>{escape(label.text)}</text>"
        )
    content.append("</g>")
    return content


#: Width and height of a tile in pixels.
TILE_PX: Final = 512
#: Deepest zoom level of tiles; 0.04 m per pixel at the equator (assumed: closer than one looks).
DEEPEST_TILE: Final = 20
#: Pixels beside a tile within which lines are drawn, so that none ends at its edge. Wider than half the widest line.
_BLEED_PX: Final = 16.0


def tile(networks: Sequence[Network], layer: str, z: int, x: int, y: int) -> str:
    """
    Return a tile of the base map, an SVG document without a background.

    Parameters
    ----------
    networks : sequence of Network
        Drawn one above the other.
    layer : {"ground", "streets"}
        Water and ferries, or streets with their names.
    z, x, y : int
        Tile numbers of web maps, in which the world at zoom 0 is one tile; a tile has 512 pixels each way.
    """
    n = 2**z
    west, east = 360.0 * x / n - 180.0, 360.0 * (x + 1) / n - 180.0
    north, south = (math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * row / n)))) for row in (y, y + 1))
    pixel_m = 2.0 * math.pi * _MERCATOR_M * math.cos(math.radians((south + north) / 2.0)) / n / TILE_PX
    content: list[str] = []
    sheet = None
    for network in networks:
        # Longitudes of a network across the 180th meridian continue counting.
        turns = 360.0 * round((network.frame.lng0 - (west + east) / 2.0) / 360.0)
        sheet = _Sheet.of((west + turns, south, east + turns, north), pixel_m)
        box = sheet.local_box(network)
        bleed = _BLEED_PX * pixel_m
        wider = box[0] - bleed, box[1] - bleed, box[2] + bleed, box[3] + bleed
        drawn = base_map(network, wider, pixel_m, with_labels=False)
        if layer == "ground":
            content += _ground(network, drawn, sheet)
            continue
        clipped = {rank: shapely.get_parts(shapely.clip_by_rect(ls, *wider)) for rank, ls in drawn.streets.items()}
        names = _labels(_groups_of(network), box, pixel_m)
        content += _streets(network, replace(drawn, streets=clipped, labels=names), sheet)
    return (sheet or _Sheet.of((west, south, east, north), pixel_m)).document(content)


def data_address(svg: str) -> str:
    """Return an SVG document as a data URL."""
    return "data:image/svg+xml;base64," + b64encode(svg.encode()).decode("ascii")


def width_factor(metres_per_pixel: float) -> float:
    """Return the factor for the width of streets at a scale; it grows more slowly than the scale when zooming in."""
    return float(np.clip((10.0 / metres_per_pixel) ** 0.6, 1.0, 6.0))


def _path(shapes: AnyArray, pixels: Any) -> str:
    """Return lines or polygons as SVG path commands with relative coordinates."""
    rings = shapely.get_rings(shapes) if len(shapes) and shapely.get_dimensions(shapes[0]) == 2 else shapes
    coordinates, owner = shapely.get_coordinates(rings, return_index=True)
    if not len(coordinates):
        return ""
    places = pixels(coordinates)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    steps = np.diff(places, axis=0, prepend=places[:1])
    steps[first] = places[first]
    is_first = np.zeros(len(places), np.bool_)
    is_first[first] = True
    # Drop points that coincide with the previous one.
    kept = is_first | steps.any(axis=1)
    # No space is needed before a minus sign.
    return "".join(
        f"{'M' if starts else 'l'}{x}{'' if y < 0 else ' '}{y}"
        for (x, y), starts in zip(steps[kept].tolist(), is_first[kept].tolist(), strict=True)
    )
