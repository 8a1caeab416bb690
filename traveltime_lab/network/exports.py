"""
The streets of a network as graphs of networkx, osmnx and pandana.

The vertices of these graphs are junctions. They do not represent relations between two streets, such as turns.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array, Int64Array, unique_values
from traveltime_lab.errors import MissingDependencyError, ModeError
from traveltime_lab.modes.one_moment import of_one_moment
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import resolve_moment
from traveltime_lab.network import avoid
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets import stress
from traveltime_lab.streets.junctions import junction_of_ends
from traveltime_lab.streets.labels import primary
from traveltime_lab.streets.pandana_guards import silenced
from traveltime_lab.streets.restriction_hours import holding, timed_holding
from traveltime_lab.streets.tables import ACCESS_DESTINATION, StreetTables

if TYPE_CHECKING:
    import networkx as nx

    from traveltime_lab.network.data import NetworkData

_CRS: Final = "EPSG:4326"


def to_networkx(
    self: NetworkData,
    transportation: str | Transportation = "walking",
    departure_time: dt.datetime | str | None = None,
) -> nx.MultiDiGraph:
    """
    Return the streets that are open to a mode as a graph of networkx.

    Parameters
    ----------
    transportation : str or Transportation, default "walking"
        A type without a timetable.
    departure_time : datetime or str, optional
        Selects the congestion of driving, as in `time_filter`.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are the rows of `nodes_frame` that an open street touches, with ``x``, ``y`` (degrees), ``node`` (the
        row) and ``osm_id``. A node that the mode cannot pass, such as a wall, becomes one node for each of
        its streets, with a number beyond those rows. Edges are directed, without closed directions, and have
        ``length`` (m), ``travel_time`` (s), ``edge`` (the row of `edges_frame`), ``osmid``, ``highway`` and
        ``name``. The graph has ``crs`` and ``attribution``.

    Warns
    -----
    UserWarning
        If the mode has turn costs, turn restrictions, destination-only streets or crossings above ``max_stress``, which
        the graph cannot hold.

    Raises
    ------
    MissingDependencyError
        If networkx is not installed; it comes with the extra ``osmnx``.
    ModeError
        If the type needs a timetable, or no street is open to it.
    UnsupportedError
        If speeds change on the way (`time_dependent`).
    MomentError
        If the departure time does not exist or is ambiguous.

    Notes
    -----
    On foot and by bicycle, ``travel_time`` contains the wait at a signal at the end of the edge, and that for a
    ferry.

    Examples
    --------
    >>> network = tl.sample_network("helsinki")
    >>> graph = network.to_networkx("walking")
    >>> sorted(next(iter(graph.edges(data=True)))[2])
    ['edge', 'highway', 'length', 'name', 'osmid', 'travel_time']
    """
    return _networkx(self, _arcs(self, transportation, departure_time), is_for_osmnx=False)


def to_osmnx(
    self: NetworkData,
    transportation: str | Transportation = "walking",
    departure_time: dt.datetime | str | None = None,
) -> nx.MultiDiGraph:
    """
    Return the streets that are open to a mode in the form that functions of osmnx take.

    Parameters
    ----------
    transportation : str or Transportation, default "walking"
        A type without a timetable.
    departure_time : datetime or str, optional
        Selects the congestion of driving, as in `time_filter`.

    Returns
    -------
    networkx.MultiDiGraph
        The graph of `to_networkx`. Nodes have ``street_count``, too; edges ``oneway``, ``reversed``, and
        ``geometry`` where they are not straight, and ``lts`` where the level of traffic stress for cycling is known:
        that of the street or, if it is higher, of the crossing at its end. Nodes and edges have ``step_free_code`` of
        `Network.edges_frame` where obstacles for wheelchairs are known, and edges its ``lit`` and ``paved``.
        `build_network` reads all of these.

    Warns
    -----
    UserWarning
        If the mode has turn costs, turn restrictions, destination-only streets or crossings above ``max_stress``, which
        the graph cannot hold.

    Raises
    ------
    MissingDependencyError
        If networkx is not installed; it comes with the extra ``osmnx``.
    ModeError
        If the type needs a timetable, or no street is open to it.
    UnsupportedError
        If speeds change on the way (`time_dependent`).
    MomentError
        If the departure time does not exist or is ambiguous.

    Examples
    --------
    >>> import osmnx
    >>> network = tl.sample_network("helsinki")
    >>> nodes, edges = osmnx.graph_to_gdfs(network.to_osmnx("cycling"))
    >>> edges.index.names
    FrozenList(['u', 'v', 'key'])
    """
    return _networkx(self, _arcs(self, transportation, departure_time), is_for_osmnx=True)


def to_pandana(
    self: NetworkData,
    transportation: str | Transportation = "walking",
    departure_time: dt.datetime | str | None = None,
) -> Any:
    """
    Return the streets that are open to a mode as a network of pandana.

    Parameters
    ----------
    transportation : str or Transportation, default "walking"
        A type without a timetable.
    departure_time : datetime or str, optional
        Selects the congestion of driving, as in `time_filter`.

    Returns
    -------
    pandana.Network
        Nodes are those of `to_networkx`, at longitude and latitude. The only weight is ``travel_time`` (s), so that
        distances of pandana are seconds.

    Warns
    -----
    UserWarning
        If the mode has turn costs, turn restrictions, destination-only streets or crossings above ``max_stress``, which
        the graph cannot hold.

    Raises
    ------
    MissingDependencyError
        If pandana is not installed; it is the extra ``pandana``.
    ModeError
        If the type needs a timetable, or no street is open to it.
    UnsupportedError
        If speeds change on the way (`time_dependent`).
    MomentError
        If the departure time does not exist or is ambiguous.

    Notes
    -----
    pandana is under the AGPL-3.0.

    Examples
    --------
    >>> network = tl.sample_network("helsinki")
    >>> network.to_pandana("walking").impedance_names
    ['travel_time']
    """
    try:
        import pandana  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        msg = "to_pandana needs pandana: pip install 'traveltime_lab[pandana]'"
        raise MissingDependencyError(msg) from error
    arcs = _arcs(self, transportation, departure_time)
    tables, labels = self.streets.tables, arcs.labels
    x = pd.Series(tables.node_lng[arcs.rows], index=labels)
    y = pd.Series(tables.node_lat[arcs.rows], index=labels)
    # pandana truncates to whole milliseconds; half of one more keeps decimal fractions from falling below.
    weights = pd.DataFrame({"travel_time": (arcs.time_ms + 0.5) / 1000.0})
    with silenced():
        return pandana.Network(x, y, pd.Series(arcs.start), pd.Series(arcs.end), weights, twoway=False)


@dataclass(frozen=True)
class _Arcs:
    """
    The open directed edges of a mode between junctions.

    Attributes
    ----------
    directed : int64 array of shape (n,)
    start, end : int64 arrays of shape (n,)
        Labels of the junctions.
    time_ms : int64 array of shape (n,)
    is_open : bool array of shape (n_directed,)
    labels, rows : int64 arrays of shape (n_junctions,)
        Labels in use, and the node of each.
    """

    directed: Int64Array
    start: Int64Array
    end: Int64Array
    time_ms: Int64Array
    is_open: BoolArray
    labels: Int64Array
    rows: Int64Array


def _arcs(network: NetworkData, transportation: str | Transportation, departure_time: Any) -> _Arcs:
    """Return the open directed edges of a mode; warn of data that they cannot hold."""
    means = of_one_moment(transportation, "an exported graph")
    if means.uses_timetable:
        msg = f"{means.type!r} needs a timetable, which a graph of streets has not; use walking, cycling or driving"
        raise ModeError(msg)
    moment = resolve_moment(departure_time, network.timezone, name="departure_time")
    streets = network.streets
    tables = streets.tables
    graph = streets.road_graph(means, moment)
    topology = graph.topology
    directed = np.flatnonzero(topology.is_open)
    if not directed.size:
        raise ModeError(f"no street of the network is open to {means.type!r}; use another type")
    junction, node = junction_of_ends(tables, means)
    start, end = junction[directed].astype(np.int64), junction[directed ^ 1].astype(np.int64)
    if means.street.has_turns:
        is_ferry = tables.uses["is_ferry"].to_numpy()[tables.edge_use][directed // 2]
        boards = is_ferry & np.isin(start, np.concatenate([start[~is_ferry], end[~is_ferry]]))
        time_ms = primary(graph.traversal[directed]) + np.where(boards, means.boarding_time * 1000, 0)
        lost = _lost(tables, directed, topology.arc_extra_ms, holding(tables, timed_holding(tables, moment)))
        if lost:
            text = f"the exported graph of {means.type} is without {', '.join(lost)}: its times are lower than ours"
            warn(text)
    else:
        # An arc of these modes is a directed edge with the waits at its ends.
        n_barred = topology.n_states - max(tables.node_lng.size, int(junction.max()) + 1)
        if n_barred:
            text = f"the exported graph of {means.type} is without the {n_barred} crossings above max_stress"
            warn(f"{text}, which it can be ridden across: its times are lower than ours")
        whole_ms = np.zeros(topology.is_open.size, np.int64)
        whole_ms[topology.arc_edge] = primary(graph.weights)
        time_ms = whole_ms[directed]
    labels = unique_values(np.concatenate([start, end]))
    rows = np.zeros(int(junction.max()) + 1, np.int64)
    rows[junction] = node
    return _Arcs(directed, start, end, time_ms, topology.is_open, labels, rows[labels])


def _lost(tables: StreetTables, directed: Int64Array, extra_ms: Int32Array, holds: BoolArray) -> list[str]:
    """Return the data of driving that a graph of junctions cannot hold."""
    lost = []
    if holds.any():
        lost.append(f"{int(holds.sum())} turn restrictions")
    if (extra_ms > 0).any():
        lost.append("the costs of turns and signals")
    access = tables.uses["driving_access"].to_numpy()[tables.edge_use]
    if (access[directed // 2] == ACCESS_DESTINATION).any():
        lost.append("the ban on through traffic of destination-only streets")
    return lost


def _networkx(network: NetworkData, arcs: _Arcs, *, is_for_osmnx: bool) -> nx.MultiDiGraph:
    """Return arcs as a graph."""
    try:
        import networkx as nx  # noqa: PLC0415 - comes with the extra osmnx
    except ImportError as error:
        msg = f"{'to_osmnx' if is_for_osmnx else 'to_networkx'} needs networkx: pip install 'traveltime_lab[osmnx]'"
        raise MissingDependencyError(msg) from error
    tables = network.streets.tables
    edge = arcs.directed // 2
    nodes: dict[str, Any] = {
        "x": tables.node_lng[arcs.rows],
        "y": tables.node_lat[arcs.rows],
        "node": arcs.rows,
        "osm_id": tables.node_osm_id[arcs.rows],
    }
    edges: dict[str, Any] = {
        "edge": edge,
        "osmid": tables.edge_way_id[edge],
        "highway": tables.uses["highway"].to_numpy()[tables.edge_use[edge]],
        "name": np.array(tables.names, dtype=object)[tables.edge_name[edge]],
        "length": tables.edge_length_m[edge],
        "travel_time": arcs.time_ms / 1000.0,
    }
    lines: list[Any] = [None] * edge.size
    if is_for_osmnx:
        # An edge that is open both ways is one street.
        once = (arcs.directed % 2 == 0) | ~arcs.is_open[arcs.directed ^ 1]
        ends = np.searchsorted(arcs.labels, np.concatenate([arcs.start[once], arcs.end[once]]))
        nodes["street_count"] = np.bincount(ends, minlength=arcs.labels.size)
        edges["oneway"] = ~arcs.is_open[arcs.directed ^ 1]
        edges["reversed"] = arcs.directed % 2 == 1
        if tables.has_step_free:
            nodes["step_free_code"] = tables.node_step_free[arcs.rows]
            edges["step_free_code"] = tables.edge_step_free[edge]
        for column, values in avoid.columns_of_edges(tables).items():
            edges[column] = values[edge]
        lines = _lines(tables, arcs.directed)
    graph = nx.MultiDiGraph(crs=_CRS, attribution=network.attribution)
    graph.add_nodes_from(zip(arcs.labels.tolist(), _records(nodes), strict=True))
    records = _records(edges)
    levels = _levels(tables, arcs.directed) if is_for_osmnx else [0] * edge.size
    for record, line, level in zip(records, lines, levels, strict=True):
        if line is not None:
            record["geometry"] = line
        if level:
            record["lts"] = level
    graph.add_edges_from(zip(arcs.start.tolist(), arcs.end.tolist(), records, strict=True))
    return graph


def _levels(tables: StreetTables, directed: Int64Array) -> list[int]:
    """Return the level of traffic stress of directed edges or, if it is higher, of the crossing at the end; else 0."""
    levels: list[int] = np.maximum(stress.street_levels(tables), stress.junction_levels(tables))[directed].tolist()
    return levels


def _records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as dicts of Python values."""
    values = (column.tolist() for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _lines(tables: StreetTables, directed: Int64Array) -> list[Any]:
    """Return the lines of directed edges in their own direction, None where they are straight."""
    lines: list[Any] = [None] * directed.size
    edge, bends = directed // 2, np.diff(tables.coord_indptr) > 2
    coords: FloatArray = np.column_stack([tables.coord_lng, tables.coord_lat])
    for at in np.flatnonzero(bends[edge]).tolist():
        first, last = tables.coord_indptr[edge[at] : edge[at] + 2]
        piece = coords[first:last]
        lines[at] = shapely.LineString(piece[::-1] if directed[at] % 2 else piece)
    return lines
