"""
Read streets from osmnx graphs.

A graph has *directed* edges, a street table has undirected ones: two directed edges of the same way whose lines are
reverses of each other become one two-way street. The direction of a way is recovered from what osmnx stores: it
reverses the nodes of a way with ``oneway=-1``, marks the copies of two-way streets as ``reversed``, and stores
``oneway`` as a boolean unless its ``all_oneway`` setting keeps the tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traveltime_lab.errors import CrsError, InputError
from traveltime_lab.readers.assemble import StreetColumns, assemble, lines_of
from traveltime_lab.readers.attributes import (
    SPEED_COLUMNS,
    identity_of,
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
    import networkx as nx


_OSM_ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"


def tables_from_osmnx(graph: nx.MultiDiGraph) -> StreetTables:
    """
    Return the streets of an osmnx graph.

    Parameters
    ----------
    graph : MultiDiGraph
        Graph, simplified or not, projected or not. Nodes have ``x`` and ``y`` in ``graph.graph["crs"]``. Edges have
        ``highway`` or the speeds ``walking_kph``, ``cycling_kph`` and ``driving_kph``, and optionally ``osmid``,
        ``geometry`` and any tags. The graph is not modified.

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
    Data that osmnx left out of the graph is missing: with ``network_type="walk"`` every street is two-way, with
    ``"drive"`` there are no footpaths, and tags such as ``surface`` or the access by mode are missing unless they are
    in ``osmnx.settings.useful_tags_way``. `tables_from_place` downloads everything that is needed. Graphs never contain
    turn restrictions or water.
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
    lng, lat = to_lnglat(x, y, crs, "node")
    position = {node: idx for idx, node in enumerate(node_ids)}

    edges = list(graph.edges(data=True))
    u = np.array([position[edge[0]] for edge in edges], dtype=np.int64)
    v = np.array([position[edge[1]] for edge in edges], dtype=np.int64)
    attributes = [edge[2] for edge in edges]
    geometries = np.array([data.get("geometry") for data in attributes], dtype=object)
    is_directed = bool(graph.is_directed())
    streets = StreetColumns(
        node_ids=node_ids,
        node_lng=lng,
        node_lat=lat,
        node_tags=[node_tags_of(data) for _, data in graph.nodes(data=True)],
        u=u,
        v=v,
        lines=lines_of(geometries, crs, u, v, lng, lat),
        way_ids=[identity_of(data.get("osmid")) for data in attributes],
        names=[name_of(data.get("name")) for data in attributes],
        tags=[way_tags_of(data) for data in attributes],
        speeds=speeds_of({column: [data.get(column) for data in attributes] for column in SPEED_COLUMNS}, len(edges)),
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
    return assemble(streets, keeps_tags=keeps_tags)
