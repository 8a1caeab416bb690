"""
Read streets from a GeoDataFrame of nodes and a GeoDataFrame of edges.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, FloatArray
from traveltime_lab.errors import CoordinateError, CrsError, InputError
from traveltime_lab.readers.assemble import StreetColumns, assemble, lines_of
from traveltime_lab.readers.attributes import (
    SPEED_COLUMNS,
    as_list,
    identity_of,
    lengths_of,
    name_of,
    node_tags_of,
    speeds_of,
    to_lnglat,
    way_tags_of,
)
from traveltime_lab.streets.tables import (
    StreetTables,
)

if TYPE_CHECKING:
    import geopandas as gpd


def tables_from_frames(nodes: gpd.GeoDataFrame, edges: pd.DataFrame) -> StreetTables:
    """
    Return the streets of a frame of nodes and a frame of edges.

    Parameters
    ----------
    nodes : GeoDataFrame
        Points in any CRS, indexed by a unique node id. Tag columns such as ``highway`` or ``barrier`` are read.
    edges : GeoDataFrame or DataFrame
        Either one row per street with columns ``u`` and ``v`` (or ``from`` and ``to``), open in both directions unless
        ``oneway`` restricts it; or one row per *direction*, indexed by ``(u, v, key)`` as in osmnx. Further columns are
        ``geometry`` (LineString in any CRS from the first node to the second; by default a straight line), ``highway``
        and any other OSM tags, the speeds ``walking_kph``, ``cycling_kph`` and ``driving_kph`` (0 closes the edge to
        the mode; where missing, the tags are used), ``length`` (m; by default measured), ``name``, and ``osmid`` or
        ``way_id``. ``highway`` or a speed is required. Rows with the same nodes are parallel streets, also if they are
        equal.

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
        strangers = list(dict.fromkeys([*as_list(first[u < 0]), *as_list(second[v < 0])]))
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
    records = _records(edges[[column for column in edges.columns if column not in skip]])
    way_column = next((column for column in ("osmid", "way_id") if column in edges), None)
    ways = [None] * len(edges) if way_column is None else list(edges[way_column])
    streets = StreetColumns(
        node_ids=node_ids,
        node_lng=lng,
        node_lat=lat,
        node_tags=[node_tags_of(row) for row in _records(nodes.drop(columns=nodes.geometry.name))],
        u=u,
        v=v,
        lines=lines_of(geometries, crs, u, v, lng, lat),
        way_ids=[identity_of(way) for way in ways],
        names=[name_of(name) for name in edges["name"]] if "name" in edges else [""] * len(edges),
        tags=[way_tags_of(record) for record in records],
        speeds=speeds_of({column: edges[column] for column in SPEED_COLUMNS if column in edges}, len(edges)),
        lengths_m=lengths_of(edges["length"]) if "length" in edges else np.full(len(edges), np.nan),
        oneway=list(edges["oneway"]) if "oneway" in edges else [None] * len(edges),
        is_reversed=(
            np.array([value is True for value in edges["reversed"]])
            if "reversed" in edges and is_directed
            else np.zeros(len(edges), np.bool_)
        ),
        is_directed=is_directed,
        report={"source": "frames", "nodes_read": len(node_ids), "edges_read": len(edges)},
    )
    return assemble(streets, keeps_tags=False)


def _frame_nodes(nodes: gpd.GeoDataFrame) -> tuple[list[Any], FloatArray, FloatArray]:
    if not hasattr(nodes, "geometry") or not hasattr(nodes, "crs"):
        raise InputError(f"nodes must be a GeoDataFrame of points; got {type(nodes).__name__}.")
    if len(nodes) == 0:
        raise InputError("nodes is empty.")
    if nodes.crs is None:
        raise CrsError("nodes has no CRS. Set it, such as nodes.set_crs('EPSG:4326').")
    if not nodes.index.is_unique:
        repeated = nodes.index[nodes.index.duplicated()]
        raise InputError(f"The index of nodes repeats {len(repeated)} ids, such as {as_list(repeated)[:3]!r}.")
    points = np.asarray(nodes.geometry, dtype=object)
    is_missing = shapely.is_missing(points) | shapely.is_empty(points)
    if is_missing.any():
        raise CoordinateError(
            f"{int(is_missing.sum())} nodes have no geometry, such as {as_list(nodes.index[is_missing])[:3]!r}."
        )
    if (shapely.get_type_id(points) != 0).any():
        raise InputError("nodes must hold points only.")
    lng, lat = to_lnglat(shapely.get_x(points), shapely.get_y(points), nodes.crs, "node")
    return as_list(nodes.index), lng, lat


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


def _records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return one dict for each row; before 3.1 pandas gives none for a frame without columns."""
    return pd.DataFrame(frame).to_dict("records") or [{} for _ in range(len(frame))]
