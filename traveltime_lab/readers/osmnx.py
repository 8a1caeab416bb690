"""
Streets from osmnx graphs, from frames of nodes and edges, and from places that osmnx downloads.

A graph has *directed* edges, a street table has undirected ones: two directed edges that mirror each other (the same
way, the same line reversed) become one two-way street. What osmnx knows about direction is kept: it turns the nodes
of an ``oneway=-1`` way around, marks the copies it made of a two-way street as ``reversed``, and stores ``oneway``
as a boolean unless its ``all_oneway`` setting keeps the tag.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import numbers
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyproj
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from traveltime_lab.crs import segment_lengths_m, wrap_degrees
from traveltime_lab.errors import CoordinateError, CrsError, DataError, InputError, LimitError, MissingDependencyError
from traveltime_lab.readers.osm import node_tags, tags
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_NO,
    ACCESS_PRIVATE,
    ACCESS_YES,
    BASE_MODES,
    USE_DTYPES,
    StreetTables,
)

if TYPE_CHECKING:
    import geopandas as gpd
    import networkx as nx

logger = logging.getLogger(__name__)


#: Columns (or edge attributes) with a user's own speeds, km/h; 0 closes the edge to the mode.
SPEED_COLUMNS = tuple(f"{mode}_kph" for mode in BASE_MODES)
#: A line may end this far from its node, metres; its end is then moved onto the node.
LARGEST_GAP_M = 50.0
#: Two ends closer than this are one position, degrees (about a centimetre).
SAME_POSITION_DEG = 1e-7
#: An edge that osmnx merged from ways with different tags is read under at most this many combinations of them.
MOST_COMBINATIONS = 32

_ONE_WAY = frozenset({"yes", "true", "1", "f"})
_ONE_WAY_BACK = frozenset({"-1", "reverse", "t"})
_MISSING_TAGS = frozenset({"", "nan", "none"})
#: What `node_tags.node_flags` may look at.
_NODE_KEYS = frozenset({*node_tags.NODE_KEYS, *tags.RELEVANT_KEYS, "bollard", "kerb", "maxheight"})
_OSM_ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"
_OSMNX_LOCK = threading.Lock()

TagValue = str | tuple[str, ...]


@dataclass
class _Streets:
    """Nodes, and edges row by row, before mirrored edges are merged and tags are interpreted."""

    node_ids: list[Any]
    node_lng: FloatArray
    node_lat: FloatArray
    node_tags: list[dict[str, str]]
    u: Int64Array
    v: Int64Array
    lines: list[FloatArray]  # (n, 2) of lng, lat; from u to v
    way_ids: list[tuple[Any, ...]]
    names: list[str]
    tags: list[dict[str, TagValue]]
    speeds: FloatArray  # (n, 3) km/h, NaN where the tags decide
    lengths_m: FloatArray  # NaN where the line decides
    oneway: list[Any]
    is_reversed: BoolArray
    is_directed: bool
    report: dict[str, Any] = field(default_factory=dict)


def tables_from_osmnx(graph: nx.MultiDiGraph) -> StreetTables:
    """
    Return the streets of an osmnx graph.

    Parameters
    ----------
    graph : MultiDiGraph
        Simplified or not, projected or not. Nodes have ``x`` and ``y`` in ``graph.graph["crs"]``; edges have
        ``highway`` or own speeds (``walking_kph``, ``cycling_kph``, ``driving_kph``), and optionally ``osmid``,
        ``geometry`` and any tags. Never changed.

    Returns
    -------
    StreetTables
        Lengths are measured on the ellipsoid, not taken from the graph.

    Raises
    ------
    CrsError
        If the graph has no CRS.
    InputError
        If it has no nodes or no usable edges.
    CoordinateError
        If a coordinate is not finite or out of range.

    Notes
    -----
    What osmnx left out cannot be found again: a graph of ``network_type="walk"`` calls every street two-way, one of
    ``"drive"`` has no footpaths, and without ``osmnx.settings.useful_tags_way`` surface or access by mode are
    unknown. `tables_from_place` downloads all that matters. Turn restrictions and water never come with a graph.
    """
    crs = graph.graph.get("crs")
    if crs is None:
        raise CrsError(
            "The graph has no CRS: graph.graph['crs'] is missing. Set it, such as graph.graph['crs'] = 'EPSG:4326'."
        )
    if graph.number_of_nodes() == 0 or graph.number_of_edges() == 0:
        raise InputError("The graph has no edges.")
    node_ids = list(graph.nodes)
    try:
        x = np.array([data["x"] for _, data in graph.nodes(data=True)], dtype=np.float64)
        y = np.array([data["y"] for _, data in graph.nodes(data=True)], dtype=np.float64)
    except KeyError as error:
        raise InputError(f"A node of the graph has no {error.args[0]!r}; osmnx graphs have x and y.") from None
    lng, lat = _to_lnglat(x, y, crs, "node")
    position = {node: idx for idx, node in enumerate(node_ids)}

    edges = list(graph.edges(data=True))
    u = np.array([position[edge[0]] for edge in edges], dtype=np.int64)
    v = np.array([position[edge[1]] for edge in edges], dtype=np.int64)
    attributes = [edge[2] for edge in edges]
    geometries = np.array([data.get("geometry") for data in attributes], dtype=object)
    is_directed = bool(graph.is_directed())
    streets = _Streets(
        node_ids=node_ids,
        node_lng=lng,
        node_lat=lat,
        node_tags=[_node_tags(data) for _, data in graph.nodes(data=True)],
        u=u,
        v=v,
        lines=_lines(geometries, crs, u, v, lng, lat),
        way_ids=[_identity(data.get("osmid")) for data in attributes],
        names=[_name(data.get("name")) for data in attributes],
        tags=[_way_tags(data) for data in attributes],
        speeds=_speeds({column: [data.get(column) for data in attributes] for column in SPEED_COLUMNS}, len(edges)),
        lengths_m=np.full(len(edges), np.nan),
        oneway=[data.get("oneway") for data in attributes],
        is_reversed=np.array([data.get("reversed") is True for data in attributes]),
        is_directed=is_directed,
        report={
            "source": "osmnx graph",
            "attribution": _OSM_ATTRIBUTION,
            "nodes_read": len(node_ids),
            "edges_read": len(edges),
        },
    )
    keeps_tags = str(graph.graph.get("created_with", "")).startswith("OSMnx")
    return _assemble(streets, keeps_tags=keeps_tags)


def tables_from_frames(nodes: gpd.GeoDataFrame, edges: pd.DataFrame) -> StreetTables:
    """
    Return the streets of a frame of nodes and a frame of edges.

    Parameters
    ----------
    nodes : GeoDataFrame
        Points in any CRS, indexed by a unique node id. Tag columns such as ``highway`` or ``barrier`` are read.
    edges : GeoDataFrame or DataFrame
        One row per street, two-way unless ``oneway`` says otherwise, with columns ``u`` and ``v`` (or ``from`` and
        ``to``); or one row per *direction*, indexed by osmnx's ``(u, v, key)``. Further columns: ``geometry``
        (LineString in any CRS, from the first node to the second; without one, straight), ``highway`` and any other
        OSM tags, own speeds ``walking_kph``, ``cycling_kph``, ``driving_kph`` (0 closes the edge to the mode; missing
        leaves it to the tags), ``length`` (m, else measured), ``name``, ``osmid`` or ``way_id``. ``highway`` or a
        speed is required.

    Returns
    -------
    StreetTables
        Neither frame is changed.

    Raises
    ------
    CrsError
        If a frame with geometries has no CRS.
    CoordinateError
        If a node is missing, not finite or out of range.
    InputError
        If a frame is empty, ids repeat, an edge refers to an unknown node, or columns are missing.
    LimitError
        If a speed or length is negative or infinite.
    """
    node_ids, lng, lat = _frame_nodes(nodes)
    if len(edges) == 0:
        raise InputError("edges is empty.")
    first, second, is_directed = _frame_ends(edges)
    index = pd.Index(node_ids)
    u = index.get_indexer(pd.Index(first)).astype(np.int64)
    v = index.get_indexer(pd.Index(second)).astype(np.int64)
    unknown = (u < 0) | (v < 0)
    if unknown.any():
        strangers = list(dict.fromkeys([*_as_list(first[u < 0]), *_as_list(second[v < 0])]))
        hint = " Did you forget nodes.set_index('id')?" if "id" in nodes.columns else ""
        raise InputError(
            f"{int(unknown.sum())} of {len(edges)} edges refer to nodes that are not in the index of nodes, "
            f"such as {strangers[:3]!r}.{hint}"
        )
    if "highway" not in edges and not any(column in edges for column in SPEED_COLUMNS):
        raise InputError(f"edges needs a column 'highway' or one of {SPEED_COLUMNS}; it has {list(edges.columns)!r}.")

    geometries = np.full(len(edges), None, dtype=object)
    crs: Any = None
    if "geometry" in edges:
        geometries = np.asarray(edges["geometry"], dtype=object)
        crs = getattr(edges["geometry"], "crs", None)
        if crs is None and not pd.isna(edges["geometry"]).all():
            raise CrsError("edges has lines but no CRS. Set it, such as edges.set_crs('EPSG:4326').")
    skip = {"geometry", "length", "name", "u", "v", "from", "to", "osmid", "way_id", *SPEED_COLUMNS}
    records = edges[[column for column in edges.columns if column not in skip]].to_dict("records")
    way_column = next((column for column in ("osmid", "way_id") if column in edges), None)
    ways = [None] * len(edges) if way_column is None else list(edges[way_column])
    streets = _Streets(
        node_ids=node_ids,
        node_lng=lng,
        node_lat=lat,
        node_tags=[_node_tags(row) for row in pd.DataFrame(nodes.drop(columns=nodes.geometry.name)).to_dict("records")],
        u=u,
        v=v,
        lines=_lines(geometries, crs, u, v, lng, lat),
        way_ids=[_identity(way) for way in ways],
        names=[_name(name) for name in edges["name"]] if "name" in edges else [""] * len(edges),
        tags=[_way_tags(record) for record in records],
        speeds=_speeds({column: edges[column] for column in SPEED_COLUMNS if column in edges}, len(edges)),
        lengths_m=_lengths(edges["length"]) if "length" in edges else np.full(len(edges), np.nan),
        oneway=list(edges["oneway"]) if "oneway" in edges else [None] * len(edges),
        is_reversed=(
            np.array([value is True for value in edges["reversed"]])
            if "reversed" in edges and is_directed
            else np.zeros(len(edges), np.bool_)
        ),
        is_directed=is_directed,
        report={"source": "frames", "nodes_read": len(node_ids), "edges_read": len(edges)},
    )
    return _assemble(streets, keeps_tags=False)


def tables_from_place(place: Any, *, distance: float | None = None) -> StreetTables:
    """
    Return the streets of a place that osmnx downloads from Overpass.

    Parameters
    ----------
    place : str, mapping, Point, tuple, Polygon, GeoSeries or GeoDataFrame
        A name or a structured query to geocode; ``{"lat": ..., "lng": ...}`` or a shapely Point (lng, lat), with
        `distance`; the pair ``((lat, lng), distance)``, in osmnx's order; a box ``(west, south, east, north)``,
        west > east across the 180th meridian; a shapely polygon in EPSG:4326; a series or frame of polygons in
        any CRS.
    distance : float, optional
        Metres around a point or around the geocoded address, to the sides of a box.

    Returns
    -------
    StreetTables
        All streets and ferries of every mode, with the tags that matter; ways are cut at the first junction outside.

    Raises
    ------
    MissingDependencyError
        If osmnx is not installed.
    InputError
        If `place` is none of the above, or `distance` is missing or not wanted.
    DataError
        If the place has no streets or cannot be found.

    Notes
    -----
    The Overpass server, its rate limit, the cache and the time-out are those of ``osmnx.settings``. Overpass answers
    with ways and nodes only, so turn restrictions, coastlines and water are missing; a PBF file has them.
    """
    try:
        import osmnx as ox  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise MissingDependencyError(
            "Networks by place name need osmnx: pip install 'traveltime_lab[osmnx]'. "
            "Or build from a .osm.pbf file instead."
        ) from error
    wanted = _place(place, distance)
    options: dict[str, Any] = {
        "custom_filter": ['["highway"]', '["route"="ferry"]'],
        "simplify": False,
        "retain_all": True,
        "truncate_by_edge": True,
    }
    with _osmnx_settings(ox):
        try:
            graphs = [getattr(ox, function)(*arguments, **options, **extra) for function, arguments, extra in wanted]
        except ValueError as error:
            raise DataError(f"osmnx found no streets for {place!r}: {error}") from error
        except OSError as error:
            error.add_note(
                f"osmnx asks Overpass at {ox.settings.overpass_url}; set osmnx.settings.overpass_url to another "
                "server, or build from a .osm.pbf file."
            )
            raise
    graph = graphs[0]
    for other in graphs[1:]:
        import networkx as nx  # noqa: PLC0415 - comes with osmnx

        graph = nx.compose(graph, other)
    # One way per edge keeps its tags whole; junctions, barriers and signals stay nodes.
    simplified = ox.simplify_graph(
        graph, node_attrs_include=["barrier", "highway", "railway"], edge_attrs_differ=["osmid"], remove_rings=False
    )
    tables = tables_from_osmnx(simplified)
    tables.report["source"] = "Overpass through osmnx"
    return tables


# Reading -------------------------------------------------------------------------------------------------------------


def _to_lnglat(x: FloatArray, y: FloatArray, crs: Any, what: str) -> tuple[FloatArray, FloatArray]:
    """Return coordinates in EPSG:4326, refusing what is not finite or out of range."""
    broken = ~(np.isfinite(x) & np.isfinite(y))
    if broken.any():
        raise CoordinateError(
            f"{int(broken.sum())} of {len(x)} {what} positions are missing or not finite; "
            f"the first is number {int(np.flatnonzero(broken)[0])}."
        )
    try:
        known = pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError as error:
        raise CrsError(f"Unknown CRS {crs!r}: {error}") from None
    if not known.equals(pyproj.CRS.from_epsg(4326), ignore_axis_order=True):
        x, y = pyproj.Transformer.from_crs(known, 4326, always_xy=True).transform(x, y)
    outside = ~(np.isfinite(x) & np.isfinite(y) & (np.abs(y) <= 90.0) & (np.abs(x) <= 360.0))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise CoordinateError(
            f"{int(outside.sum())} of {len(x)} {what} positions lie outside the globe, such as lng={x[first]}, "
            f"lat={y[first]}. Is the CRS really {known.name!r}, and is x the longitude?"
        )
    is_wrapped = (x >= -180.0) & (x < 180.0)  # wrapping these would only add rounding
    return np.where(is_wrapped, x, wrap_degrees(x)), np.asarray(y, dtype=np.float64)


def _frame_nodes(nodes: gpd.GeoDataFrame) -> tuple[list[Any], FloatArray, FloatArray]:
    if not hasattr(nodes, "geometry") or not hasattr(nodes, "crs"):
        raise InputError(f"nodes must be a GeoDataFrame of points; got {type(nodes).__name__}.")
    if len(nodes) == 0:
        raise InputError("nodes is empty.")
    if nodes.crs is None:
        raise CrsError("nodes has no CRS. Set it, such as nodes.set_crs('EPSG:4326').")
    if not nodes.index.is_unique:
        repeated = nodes.index[nodes.index.duplicated()]
        raise InputError(f"The index of nodes repeats {len(repeated)} ids, such as {_as_list(repeated)[:3]!r}.")
    points = np.asarray(nodes.geometry, dtype=object)
    is_missing = shapely.is_missing(points) | shapely.is_empty(points)
    if is_missing.any():
        raise CoordinateError(
            f"{int(is_missing.sum())} nodes have no geometry, such as {_as_list(nodes.index[is_missing])[:3]!r}."
        )
    if (shapely.get_type_id(points) != 0).any():
        raise InputError("nodes must hold points only.")
    lng, lat = _to_lnglat(shapely.get_x(points), shapely.get_y(points), nodes.crs, "node")
    return _as_list(nodes.index), lng, lat


def _frame_ends(edges: pd.DataFrame) -> tuple[AnyArray, AnyArray, bool]:
    for first, second in (("u", "v"), ("from", "to")):
        if first in edges and second in edges:
            return np.asarray(edges[first]), np.asarray(edges[second]), False
    if edges.index.nlevels >= 2:
        if not edges.index.is_unique:
            raise InputError("The (u, v, key) index of edges repeats.")
        return np.asarray(edges.index.get_level_values(0)), np.asarray(edges.index.get_level_values(1)), True
    raise InputError(
        "edges needs columns 'u' and 'v' (or 'from' and 'to'), or osmnx's index (u, v, key); "
        f"it has columns {list(edges.columns)!r}."
    )


def _as_list(values: Any) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _members(value: Any) -> list[Any]:
    """Return the values of an attribute that osmnx may have merged into a list."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [item for item in value if not _is_missing(item)]
    return [] if _is_missing(value) else [value]


def _tag_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, numbers.Real) and float(value).is_integer():
        return str(int(float(value)))
    return str(value).strip()


def _way_tags(attributes: Mapping[Hashable, Any]) -> dict[str, TagValue]:
    """Return the tags that matter, `oneway` left to `_direction`."""
    found: dict[str, TagValue] = {}
    for key, value in attributes.items():
        if key == "oneway" or key not in tags.RELEVANT_KEYS:
            continue
        texts = tuple(dict.fromkeys(text for text in map(_tag_text, _members(value)) if text not in _MISSING_TAGS))
        if texts:
            found[str(key)] = texts[0] if len(texts) == 1 else tuple(sorted(texts))
    return found


def _node_tags(attributes: Mapping[Hashable, Any]) -> dict[str, str]:
    return {
        str(key): str(value)
        for key, value in attributes.items()
        if isinstance(value, str) and value and key in _NODE_KEYS
    }


def _identity(value: Any) -> tuple[Any, ...]:
    return tuple(_as_list(_members(value)))


def _name(value: Any) -> str:
    return " / ".join(dict.fromkeys(str(name) for name in _members(value)))


def _numbers(values: Iterable[Any], what: str) -> FloatArray:
    try:
        found = pd.to_numeric(pd.Series(list(values), dtype=object), errors="raise").to_numpy(
            np.float64, na_value=np.nan
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {what!r} must hold numbers: {error}") from None
    if (np.isinf(found) | (found < 0)).any():
        raise LimitError(
            f"Column {what!r} must be 0 or more and finite; got {found[np.isinf(found) | (found < 0)][0]}."
        )
    return np.asarray(found)


def _speeds(columns: Mapping[str, Iterable[Any]], count: int) -> FloatArray:
    speeds = np.full((count, len(SPEED_COLUMNS)), np.nan)
    for position, column in enumerate(SPEED_COLUMNS):
        if column in columns:
            speeds[:, position] = _numbers(columns[column], column)
    return speeds


def _lengths(values: Iterable[Any]) -> FloatArray:
    return _numbers(values, "length")


def _lines(
    geometries: AnyArray,
    crs: Any,
    u: Int64Array,
    v: Int64Array,
    node_lng: FloatArray,
    node_lat: FloatArray,
) -> list[FloatArray]:
    """Return each edge's positions from `u` to `v`; a line drawn from `v` to `u` is turned around."""
    geometries = geometries.copy()
    geometries[pd.isna(geometries)] = None
    is_drawn = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    if (shapely.get_type_id(geometries[is_drawn]) != 1).any():
        kinds = {shape.geom_type for shape in geometries[is_drawn]} - {"LineString"}
        raise InputError(f"The lines of edges must be LineStrings; found {sorted(kinds)!r}. Try edges.explode().")
    positions, owner = shapely.get_coordinates(geometries[is_drawn], return_index=True)
    if len(positions):
        lng, lat = _to_lnglat(positions[:, 0], positions[:, 1], crs, "line")
        positions = np.column_stack([lng, lat])
    pieces = iter(np.split(positions, np.flatnonzero(np.diff(owner)) + 1) if len(positions) else [])
    ends = np.stack([np.column_stack([node_lng[u], node_lat[u]]), np.column_stack([node_lng[v], node_lat[v]])], axis=1)
    lines = [next(pieces).copy() if drawn else ends[row].copy() for row, drawn in enumerate(is_drawn)]
    if not is_drawn.any():
        return lines
    starts = np.array([line[0] for line in lines])
    stops = np.array([line[-1] for line in lines])
    gap = np.maximum(_gap_m(starts, ends[:, 0]), _gap_m(stops, ends[:, 1]))
    turned_gap = np.maximum(_gap_m(starts, ends[:, 1]), _gap_m(stops, ends[:, 0]))
    turned = turned_gap < gap
    far = np.minimum(gap, turned_gap) > LARGEST_GAP_M
    if far.any():
        row = int(np.flatnonzero(far)[0])
        raise InputError(
            f"{int(far.sum())} lines end more than {LARGEST_GAP_M:g} m from the nodes of their edge; the first is edge "
            f"number {row}, {min(gap[row], turned_gap[row]):.0f} m away. Do the CRSs of nodes and edges fit the data?"
        )
    for drawn_row in np.flatnonzero(is_drawn).tolist():
        line = lines[drawn_row][::-1] if turned[drawn_row] else lines[drawn_row]
        line[0], line[-1] = ends[drawn_row]
        lines[drawn_row] = line
    return lines


def _gap_m(a: FloatArray, b: FloatArray) -> FloatArray:
    pairs_lng = np.column_stack([a[:, 0], b[:, 0]]).ravel()
    pairs_lat = np.column_stack([a[:, 1], b[:, 1]]).ravel()
    return np.asarray(segment_lengths_m(pairs_lng, pairs_lat)[::2])


# Assembling ----------------------------------------------------------------------------------------------------------


def _mirrors(streets: _Streets) -> Int64Array:
    """Return for each directed edge the one that mirrors it, -1 where there is none."""
    mirror = np.full(len(streets.u), -1, dtype=np.int64)
    waiting: dict[tuple[Any, ...], list[int]] = {}
    for row, (u, v, line, way) in enumerate(zip(streets.u, streets.v, streets.lines, streets.way_ids, strict=True)):
        if any(value is True for value in _members(streets.oneway[row])):
            continue
        way_key = tuple(sorted(map(str, way)))
        candidates = waiting.get((v, u, len(line), way_key), [])
        for other in candidates:
            if np.allclose(streets.lines[other][::-1], line, rtol=0.0, atol=SAME_POSITION_DEG):
                mirror[row], mirror[other] = other, row
                candidates.remove(other)
                break
        else:
            waiting.setdefault((u, v, len(line), way_key), []).append(row)
    return mirror


def _direction(value: Any, *, is_directed: bool, has_mirror: bool, keeps_tags: bool) -> tuple[str | None, bool]:
    """Return the oneway tag to interpret, and whether the edge must be turned around to follow its way."""
    texts = {_tag_text(item).lower() if not isinstance(item, bool | np.bool_) else item for item in _members(value)}
    texts = {{"true": True, "false": False}.get(item, item) if isinstance(item, str) else item for item in texts}
    if not texts - {""}:
        if keeps_tags or not is_directed:
            return None, False
        return ("no" if has_mirror else "yes"), False
    if any(item is True or item in _ONE_WAY for item in texts):
        return "yes", False
    if texts & _ONE_WAY_BACK:
        # Of a directed edge osmnx has already turned the nodes; go back to how the way is drawn.
        return "-1", is_directed
    if texts == {False}:
        # osmnx says False of everything it copied, motorways without a tag too; a frame of streets means it.
        return (None if is_directed else "no"), False
    return sorted(str(item) for item in texts if item is not False)[0], False


def _assemble(streets: _Streets, *, keeps_tags: bool) -> StreetTables:
    """Merge mirrored edges, interpret tags once per distinct set, and drop what nobody can use."""
    report = dict(streets.report)
    keeps_tags = keeps_tags or any(
        isinstance(value, str) and value.strip().lower() not in ("true", "false") for value in streets.oneway
    )
    mirror = _mirrors(streets) if streets.is_directed else np.full(len(streets.u), -1, dtype=np.int64)
    is_copy = (mirror >= 0) & np.where(
        streets.is_reversed == streets.is_reversed[mirror], np.arange(len(mirror)) > mirror, streets.is_reversed
    )
    report["mirrored_edges_merged"] = int(is_copy.sum())

    length_m = np.array([segment_lengths_m(line[:, 0], line[:, 1]).sum() for line in streets.lines])
    length_m = np.where(np.isnan(streets.lengths_m), length_m, streets.lengths_m)
    way_length_m: dict[Any, float] = {}
    for row in np.flatnonzero(~is_copy):
        if streets.tags[row].get("route") == "ferry" and streets.way_ids[row]:
            way_length_m[streets.way_ids[row]] = way_length_m.get(streets.way_ids[row], 0.0) + length_m[row]

    uses = _Uses()
    kept: list[int] = []
    use_of: list[int] = []
    flips: list[bool] = []
    dropped = {"edges_without_use": 0, "edges_without_length": 0}
    for row in np.flatnonzero(~is_copy):
        if streets.u[row] == streets.v[row] and length_m[row] == 0.0:
            dropped["edges_without_length"] += 1
            continue
        has_mirror = bool(mirror[row] >= 0)
        oneway, flip = _direction(
            streets.oneway[row], is_directed=streets.is_directed, has_mirror=has_mirror, keeps_tags=keeps_tags
        )
        forward = streets.speeds[row]
        backward = streets.speeds[mirror[row]] if has_mirror else forward
        if streets.is_reversed[row] and not has_mirror:
            flip = not flip
        edge_tags = streets.tags[row] if oneway is None else {**streets.tags[row], "oneway": oneway}
        ferry_m = way_length_m.get(streets.way_ids[row], length_m[row]) if edge_tags.get("route") == "ferry" else None
        use = uses.add(edge_tags, *((backward, forward) if flip else (forward, backward)), ferry_m)
        if use is None:
            dropped["edges_without_use"] += 1
            continue
        kept.append(int(row))
        use_of.append(use)
        flips.append(flip)
    report.update(dropped)
    if not kept:
        raise InputError(
            "No edge can be used by anyone: 'highway' holds no street that is known, and there are no speeds."
        )
    logger.info("graphs edges=%d dropped=%s merged=%d", len(kept), dropped, report["mirrored_edges_merged"])
    return _tables(streets, np.array(kept), np.array(use_of, np.int32), np.array(flips), length_m, uses, report)


def _tables(
    streets: _Streets,
    kept: Int64Array,
    use_of: Int32Array,
    flips: BoolArray,
    length_m: FloatArray,
    uses: _Uses,
    report: dict[str, Any],
) -> StreetTables:
    lines = [streets.lines[row][::-1] if flip else streets.lines[row] for row, flip in zip(kept, flips, strict=True)]
    edge_from = np.where(flips, streets.v[kept], streets.u[kept])
    edge_to = np.where(flips, streets.u[kept], streets.v[kept])
    used = np.unique(np.concatenate([edge_from, edge_to]))
    report["nodes_without_edges"] = len(streets.node_ids) - len(used)
    new_index = np.full(len(streets.node_ids), -1, dtype=np.int32)
    new_index[used] = np.arange(len(used), dtype=np.int32)
    names = ["", *dict.fromkeys(streets.names[row] for row in kept if streets.names[row])]
    name_index = {name: idx for idx, name in enumerate(names)}
    positions = np.concatenate(lines)
    report.update(nodes=len(used), edges=len(kept))
    return StreetTables(
        node_osm_id=_outside_ids([streets.node_ids[idx] for idx in used]),
        node_lng=streets.node_lng[used],
        node_lat=streets.node_lat[used],
        node_flags=np.array([node_tags.node_flags(streets.node_tags[idx]) for idx in used], dtype=np.uint16),
        edge_from=new_index[edge_from],
        edge_to=new_index[edge_to],
        edge_length_m=length_m[kept],
        edge_way_id=_outside_ids([way[0] if (way := streets.way_ids[row]) else None for row in kept]),
        edge_use=use_of,
        edge_name=np.array([name_index[streets.names[row]] for row in kept], dtype=np.int32),
        coord_indptr=np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.int64),
        coord_lng=np.ascontiguousarray(positions[:, 0]),
        coord_lat=np.ascontiguousarray(positions[:, 1]),
        uses=uses.frame(),
        names=names,
        report=report,
    )


def _outside_ids(values: Sequence[Any]) -> Int64Array:
    """Return whole-number identities, and negative ones where there are none."""
    found = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        found[row] = int(value) if is_whole and abs(value) < 2**63 else -(row + 1)
    return found


class _Uses:
    """Distinct interpretations of tags and own speeds."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], int] = {}
        self._known: dict[tuple[Any, ...], int | None] = {}

    def add(
        self, edge_tags: Mapping[str, TagValue], forward: FloatArray, backward: FloatArray, ferry_m: float | None
    ) -> int | None:
        """Return the row of an interpretation, None if nobody may use the edge."""
        key = (tuple(sorted(edge_tags.items())), forward.tobytes(), backward.tobytes(), ferry_m)
        if key not in self._known:
            use = _with_speeds(_interpret(edge_tags, ferry_m), edge_tags, forward, backward)
            row = None if use is None else tuple(use[column] for column in USE_DTYPES)
            self._known[key] = None if row is None else self._rows.setdefault(row, len(self._rows))
        return self._known[key]

    def frame(self) -> pd.DataFrame:
        """Return `StreetTables.uses`."""
        return pd.DataFrame(list(self._rows), columns=list(USE_DTYPES)).astype(USE_DTYPES)


def _interpret(edge_tags: Mapping[str, TagValue], ferry_m: float | None) -> dict[str, Any] | None:
    """Return what the tags allow; an edge made of several ways allows what all of them allow."""
    choices = [
        [(key, text) for text in ([value] if isinstance(value, str) else value)]
        for key, value in sorted(edge_tags.items())
    ]
    found = []
    for combination in itertools.islice(itertools.product(*choices), MOST_COMBINATIONS):
        use = tags.interpret(dict(combination), length_m=ferry_m)
        if use is None:
            return None
        found.append({column: getattr(use, column) for column in USE_DTYPES})
    return found[0] if len(found) == 1 else _all_of(found)


def _all_of(uses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the use of an edge that consists of equal parts of each of `uses`."""
    merged = dict(uses[0])
    for column in ("is_toll", "is_track", "is_motorroad"):
        merged[column] = any(use[column] for use in uses)
    for column in ("is_ferry", "is_roundabout"):
        merged[column] = all(use[column] for use in uses)
    severity = (ACCESS_YES, ACCESS_DESTINATION, ACCESS_PRIVATE, ACCESS_NO)
    for mode in BASE_MODES:
        merged[f"{mode}_access"] = max((use[f"{mode}_access"] for use in uses), key=severity.index)
        for way in ("forward", "backward"):
            speeds = [float(use[f"{mode}_kph_{way}"]) for use in uses]
            merged[f"{mode}_kph_{way}"] = 0.0 if min(speeds) <= 0 else len(speeds) / sum(1 / kph for kph in speeds)
    return merged


def _with_speeds(
    use: dict[str, Any] | None, edge_tags: Mapping[str, TagValue], forward: FloatArray, backward: FloatArray
) -> dict[str, Any] | None:
    """Return `use` with a user's own speeds in place of the interpreted ones."""
    if np.isnan(forward).all() and np.isnan(backward).all():
        return use
    if use is None:
        use = {column: False if dtype == "bool" else 0 for column, dtype in USE_DTYPES.items()}
        highway = edge_tags.get("highway", "road")
        use["highway"] = highway if isinstance(highway, str) else highway[0]
    oneway = str(edge_tags.get("oneway", "no")).lower()
    for position, mode in enumerate(BASE_MODES):
        own = {"forward": float(forward[position]), "backward": float(backward[position])}
        if all(math.isnan(kph) for kph in own.values()):
            continue
        was_open = {way: use[f"{mode}_kph_{way}"] > 0 for way in own}
        if use[f"{mode}_access"] == ACCESS_NO or not any(was_open.values()):
            was_open = {
                "forward": mode == "walking" or oneway not in _ONE_WAY_BACK,
                "backward": mode == "walking" or oneway not in _ONE_WAY,
            }
            use[f"{mode}_access"] = ACCESS_YES
        for way, kph in own.items():
            if not math.isnan(kph):
                use[f"{mode}_kph_{way}"] = kph if was_open[way] else 0.0
        if use[f"{mode}_kph_forward"] <= 0 and use[f"{mode}_kph_backward"] <= 0:
            use[f"{mode}_access"] = ACCESS_NO
    return use if any(use[f"{mode}_access"] != ACCESS_NO for mode in BASE_MODES) else None


# Places --------------------------------------------------------------------------------------------------------------


def _place(place: Any, distance: float | None) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Return the osmnx functions to call, with their arguments."""
    if hasattr(place, "to_crs"):  # a GeoSeries or GeoDataFrame
        if place.crs is None:
            raise CrsError("The place has no CRS. Set it, such as place.set_crs('EPSG:4326').")
        if len(place) == 0:
            raise InputError("The place is empty.")
        place = place.to_crs(4326).geometry.union_all()
    if isinstance(place, tuple) and len(place) == 2 and distance is None and isinstance(place[0], Sequence):
        (lat, lng), distance = place
        place = {"lat": lat, "lng": lng}
    if isinstance(place, Mapping) and "lat" in place and "lng" in place:
        place = shapely.Point(float(place["lng"]), float(place["lat"]))
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
    if isinstance(place, Sequence | np.ndarray) and len(place) == 4:
        west, south, east, north = (float(value) for value in place)
        _check_box(west, south, east, north)
        if not south < north or west == east:
            raise InputError(f"A box is (west, south, east, north) with south < north; got {tuple(place)!r}.")
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
    if not is_number or not 0 < float(distance) < math.inf:
        raise InputError(f"{message} Got distance={distance!r}.")


def _check_box(west: float, south: float, east: float, north: float) -> None:
    is_inside = max(abs(west), abs(east)) <= 180.0 and max(abs(south), abs(north)) <= 90.0
    if not is_inside:  # NaN too
        raise CoordinateError(
            f"The place lies outside the globe: lng {west} to {east}, lat {south} to {north}. "
            "Longitude comes first, in EPSG:4326."
        )


@contextlib.contextmanager
def _osmnx_settings(ox: Any) -> Iterator[None]:
    """Let osmnx keep the tags that matter and each way once, as it is drawn."""
    wanted = {
        "all_oneway": True,
        "useful_tags_way": sorted({*ox.settings.useful_tags_way, *tags.RELEVANT_KEYS, "name", "oneway"}),
        "useful_tags_node": sorted({*ox.settings.useful_tags_node, *_NODE_KEYS}),
    }
    with _OSMNX_LOCK:
        before = {name: getattr(ox.settings, name) for name in wanted}
        try:
            for name, value in wanted.items():
                setattr(ox.settings, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(ox.settings, name, value)
