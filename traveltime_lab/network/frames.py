"""
The streets of a network as two tables, and a network from them again.

Nodes and edges are rows. The ``attrs`` of the edges contain the rest: turn restrictions, water,
time zone, side of the road, attribution and the report of the reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import Int32Array, Int64Array, indptr_of, unique_values
from traveltime_lab.crs import LocalFrame, line_length_m
from traveltime_lab.errors import CrsError, DataError, InputError
from traveltime_lab.moments import resolve_moment
from traveltime_lab.network import avoid, step_free, stress
from traveltime_lab.network.attrs import LateDict
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.runtime.collector import without_collector
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets.tables import SLOPE_FACTORS, USE_DTYPES, StreetTables, check_consistent
from traveltime_lab.streets.traffic import kph_in_traffic, traffic_of

if TYPE_CHECKING:
    import datetime as dt

    import geopandas as gpd

    from traveltime_lab.network.data import NetworkData

FORMAT: Final = "traveltime_lab.network"
#: Key of the data of streets besides rows, in the ``attrs`` of the edges.
KEY: Final = "traveltime_lab_network"
#: Farthest that a line may end from the nodes of its edge, in degrees: about 1 m.
_GAP_DEG: Final = 1e-5


@dataclass(frozen=True)
class Besides:
    """Data of streets besides nodes and edges; see `Network`."""

    timezone: str
    is_left_hand: bool
    attribution: str
    water: WaterBodies
    frame: LocalFrame

    def water_in(self, frame: LocalFrame) -> WaterBodies:
        """Return the water in other local coordinates."""
        if frame == self.frame or not len(self.water):
            return self.water

        def moved(xy: Any) -> Any:
            return np.column_stack(frame.to_xy(*self.frame.to_lnglat(xy[:, 0], xy[:, 1])))

        return WaterBodies(shapely.transform(self.water.tiles, moved), self.water.report)


@without_collector
def nodes_frame(self: NetworkData) -> gpd.GeoDataFrame:
    """Return the nodes as points in EPSG:4326, with OSM ids and flags; see `edges_frame`."""
    import geopandas as gpd  # noqa: PLC0415

    tables = self.tables
    return gpd.GeoDataFrame(
        {"osm_id": tables.node_osm_id, "flags": tables.node_flags, **step_free.columns_of_nodes(tables)},
        geometry=shapely.points(tables.node_lng, tables.node_lat),
        crs="EPSG:4326",
    )


@without_collector
def edges_frame(self: NetworkData, departure_time: dt.datetime | str | None = None) -> gpd.GeoDataFrame:
    """
    Return the edges as lines in EPSG:4326, with end nodes, lengths (m), names and speeds (km/h).

    Speeds of driving are those of free flow. With `departure_time`, ``traffic_kph_forward`` and
    ``traffic_kph_backward`` are those of cars at that time: measured ones of the hour (`add_speeds`), elsewhere those
    of free flow with the assumed congestion; 0 where a direction is closed.

    ``off_ground`` says which are bridges, piers or in tunnels, if the source does. Networks with elevation also
    have factors, by which slopes lengthen times: ``walking_slope_factor_forward`` and the like; see
    `add_elevation`.

    Networks of OpenStreetMap data have levels of traffic stress for cycling, 1 (calm) to 4: ``stress_forward`` and
    ``stress_backward`` are those of the street in each direction, ``crossing_stress_forward`` and ``_backward`` those
    of crossing a busier street without signals at its end (0 for none), ``stress`` is the highest of them, and
    ``stress_reason`` says what it follows from. 0 is for directions that are closed to cycling, and for streets of
    which nothing is known. ``stress_code_forward`` and ``_backward`` are the facts as numbers. A level of 1 to 4 that
    is changed in ``stress_forward`` or ``stress_backward`` is that of a network built from the tables; 0, and changes
    in the other columns of stress, are ignored.

    They also say whether wheelchairs pass: ``step_free`` is ``"yes"``, ``"no"`` or ``"unknown"`` at the usual slope and
    width of `Transportation`, here for streets and in `nodes_frame` for what is in the way at nodes;
    ``step_free_reason`` says what it follows from, and ``step_free_code`` are the facts as numbers. An answer that is
    changed in ``step_free`` is that of a network built from the tables. ``steepest_percent`` is the steepest slope of
    `add_elevation`.

    ``lit`` and ``paved`` are ``"yes"``, ``"no"`` or ``"unknown"``, by the tags of a street; see `avoid` of
    `Transportation`. An answer that is changed there is that of a network built from the tables.

    Turn restrictions, water, time zone and attribution are in ``attrs``. ``build_network((nodes, edges))`` makes a
    network of both tables again. Rows may be removed and values changed, but the index of each table names its
    rows: keep it.

    Row numbers are those of this network only: they change once streets are added, or the network is built
    again. Ids of ways and nodes last; those of streets of `AddStreet` are negative and counted in each network.

    Parameters
    ----------
    departure_time : datetime or str, optional
        Selects the traffic of the additional columns, as in `time_filter`. Naive times are local.

    Returns
    -------
    GeoDataFrame
        One row for each edge, in the order of row numbers.

    Raises
    ------
    MomentError
        If the departure time does not exist or is ambiguous.
    """
    import geopandas as gpd  # noqa: PLC0415

    t = self.tables
    parts = np.repeat(np.arange(self.n_edges), np.diff(t.coord_indptr))
    columns = {
        "from_node": t.edge_from,
        "to_node": t.edge_to,
        "way_id": t.edge_way_id,
        "length_m": t.edge_length_m,
        "name": np.array(t.names, dtype=object)[t.edge_name],
    }
    frame = gpd.GeoDataFrame(
        columns,
        geometry=shapely.linestrings(np.column_stack([t.coord_lng, t.coord_lat]), indices=parts),
        crs="EPSG:4326",
    )
    for column in t.uses.columns:
        frame[column] = t.uses[column].to_numpy()[t.edge_use]
    if t.edge_off_ground.size:
        frame["off_ground"] = t.edge_off_ground
    if t.has_slopes:
        for name in SLOPE_FACTORS:
            for side, way in enumerate(("forward", "backward")):
                frame[f"{name}_{way}"] = getattr(t, name)[side::2]
    for column, values in (stress.columns(t) | step_free.columns_of_edges(t) | avoid.columns_of_edges(t)).items():
        frame[column] = values
    if departure_time is not None:
        moment = resolve_moment(departure_time, self.timezone, name="departure_time")
        traffic = traffic_of(t.hourly, None, moment)
        for side, way in enumerate(("forward", "backward")):
            frame[f"traffic_kph_{way}"] = kph_in_traffic(t, "driving", side, traffic)
    water, frame_xy, timezone = self.water, self.frame, self.timezone
    is_left_hand, attribution = self.is_left_hand, self.attribution
    lost = {
        "places": len(t.places),
        "feeds": 0 if self.timetable is None else len(self.timetable.feeds),
        "speeds_by_hour": t.hourly is not None,
    }

    def besides() -> dict[str, Any]:
        return {
            "format": FORMAT,
            "timezone": timezone,
            "is_left_hand": is_left_hand,
            "attribution": attribution,
            "water": water.to_wkb().hex(),
            "water_report": dict(water.report),
            "frame": [frame_xy.lng0, frame_xy.lat0],
            "restrictions": _restrictions(t),
            "report": t.report,
            "not_kept": lost,
        }

    frame.attrs = {KEY: LateDict.of(FORMAT, besides)}
    return frame


def _restrictions(tables: StreetTables) -> dict[str, Any]:
    """Return the arrays of turn restrictions, and the edges that they refer to."""
    found = {name: getattr(tables, name).tolist() for name in _RESTRICTIONS}
    edges = unique_values(tables.restriction_edges // 2)
    ends = [values[edges].tolist() for values in (tables.edge_from, tables.edge_to, tables.edge_way_id)]
    return found | {"edges": edges.tolist(), "ends": ends}


_RESTRICTIONS: Final = tuple(
    item.name for item in fields(StreetTables) if item.name.startswith(("restriction_", "timed_"))
)


def are_frames_of_a_network(nodes: Any, edges: Any) -> bool:
    """Return whether two tables are those that a network returns."""
    requested = {"from_node", "to_node", "geometry", *USE_DTYPES}
    return requested <= {*edges.columns} and {"osm_id", "flags", "geometry"} <= {*nodes.columns}


def tables_of(nodes: Any, edges: Any, *, has_feeds: bool) -> tuple[StreetTables, Besides | None]:
    """
    Return the streets of two tables of a network, and their other data.

    Warns
    -----
    UserWarning
        On everything that the tables do not hold.

    Raises
    ------
    CrsError
        If a table has no CRS.
    InputError
        If an edge refers to an unknown node, a line does not end at its nodes, or a value is missing or wrong.
    """
    nodes, edges = _in_degrees(nodes, "nodes"), _in_degrees(edges, "edges")
    for table, name in ((nodes, "nodes"), (edges, "edges")):
        if not table.index.is_unique:
            raise InputError(f"the index of {name} repeats; it must name each row, as that of {name}_frame() does")
        if not len(table):
            raise InputError(f"{name} is empty")
    ends = [nodes.index.get_indexer(pd.Index(edges[name])) for name in ("from_node", "to_node")]
    unknown = (ends[0] < 0) | (ends[1] < 0)
    if unknown.any():
        first = edges.index[int(unknown.argmax())]
        raise InputError(f"{int(unknown.sum())} edges refer to nodes that are not in nodes, the first is edge {first}")
    used, numbers = np.unique(np.concatenate(ends), return_inverse=True)
    edge_from, edge_to = numbers.astype(np.int32).reshape(2, -1)
    nodes = nodes.iloc[used]
    try:
        tables = _plain_tables(nodes, edges, edge_from, edge_to)
        check_consistent(tables)
        tables = step_free.with_answers_of(stress.with_levels_of(tables, edges), nodes, edges)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"nodes and edges are not those of a network: {error}") from error
    kept = edges.attrs.get(KEY)
    if not isinstance(kept, Mapping) or kept.get("format") != FORMAT:
        _warn(["turn restrictions, water, time zone, attribution (edges.attrs, which merge and concat drop)"])
        return tables, None
    try:
        return _with_besides(tables, edges, edge_from, edge_to, used, kept, has_feeds=has_feeds)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise DataError(f"edges.attrs[{KEY!r}] is damaged: {type(error).__name__}: {error}") from error


def _plain_tables(nodes: Any, edges: Any, edge_from: Int32Array, edge_to: Int32Array) -> StreetTables:
    """Return the tables of rows, without restrictions; raise ValueError or TypeError for wrong values."""
    lines = np.asarray(edges.geometry.array)
    points = np.asarray(nodes.geometry.array)
    for shapes, kind, name in ((points, 0, "nodes must be points"), (lines, 1, "edges must be LineStrings")):
        if (shapely.get_type_id(shapes) != kind).any() or shapely.is_empty(shapes).any():
            raise ValueError(name)
    node_lng, node_lat = shapely.get_x(points), shapely.get_y(points)
    coords, owner = shapely.get_coordinates(lines, return_index=True)
    indptr = indptr_of(np.bincount(owner, minlength=len(lines)))
    for at, node in ((indptr[:-1], edge_from), (indptr[1:] - 1, edge_to)):
        gap = np.hypot(coords[at, 0] - node_lng[node], coords[at, 1] - node_lat[node])
        if not (gap <= _GAP_DEG).all():
            raise ValueError(f"the line of edge {edges.index[int(np.argmax(gap))]} does not end at its nodes")
    if "length_m" in edges:
        length = edges["length_m"].to_numpy(np.float64)
    else:
        pieces = np.split(coords, indptr[1:-1])
        length = np.array([line_length_m(piece[:, 0].copy(), piece[:, 1].copy()) for piece in pieces])
    columns = edges[list(USE_DTYPES)]
    if columns.isna().to_numpy().any():
        raise ValueError(f"the column {columns.columns[columns.isna().any()][0]} has missing values")
    uses = pd.DataFrame({name: columns[name].astype(dtype) for name, dtype in USE_DTYPES.items()})
    groups = uses.groupby(list(USE_DTYPES), sort=False)
    names = edges["name"].fillna("").astype(object) if "name" in edges else pd.Series("", edges.index, dtype=object)
    known = ["", *dict.fromkeys(name for name in names if name)]
    return StreetTables(
        node_osm_id=nodes["osm_id"].to_numpy(np.int64),
        node_lng=node_lng,
        node_lat=node_lat,
        node_flags=nodes["flags"].to_numpy(np.uint16),
        edge_from=edge_from,
        edge_to=edge_to,
        edge_length_m=length,
        edge_way_id=edges["way_id"].to_numpy(np.int64) if "way_id" in edges else -np.arange(1, len(edges) + 1),
        edge_use=groups.ngroup().to_numpy(np.int32),
        edge_name=pd.Index(known).get_indexer(pd.Index(names)).astype(np.int32),
        coord_indptr=indptr,
        coord_lng=np.ascontiguousarray(coords[:, 0]),
        coord_lat=np.ascontiguousarray(coords[:, 1]),
        uses=uses.drop_duplicates(ignore_index=True),
        names=known,
        report={"source": "frames", "nodes_read": len(nodes), "edges_read": len(edges)},
        **_optional_arrays(edges),
        **step_free.arrays_of(nodes, edges),
    )


def _optional_arrays(edges: Any) -> dict[str, Any]:
    """Return the arrays that networks may have or not, from the columns of edges; raise ValueError for wrong ones."""
    found: dict[str, Any] = {}
    if "off_ground" in edges:
        if edges["off_ground"].isna().any():
            raise ValueError("the column off_ground has missing values")
        found["edge_off_ground"] = edges["off_ground"].astype("boolean").to_numpy(np.bool_)
    found |= stress.codes_of(edges) | avoid.arrays_of(edges)
    columns = [f"{name}_{way}" for name in SLOPE_FACTORS for way in ("forward", "backward")]
    missing = [column for column in columns if column not in edges]
    if len(missing) == len(columns):
        return found
    if missing:
        raise ValueError(f"columns of slopes are missing: {', '.join(missing)}")
    for name in SLOPE_FACTORS:
        pair = [edges[f"{name}_{way}"].to_numpy(np.float32) for way in ("forward", "backward")]
        found[name] = np.column_stack(pair).ravel()
    return found


def _with_besides(
    tables: StreetTables,
    edges: Any,
    edge_from: Int32Array,
    edge_to: Int32Array,
    used: Int64Array,
    kept: Mapping[str, Any],
    *,
    has_feeds: bool,
) -> tuple[StreetTables, Besides]:
    """Return tables with turn restrictions and their other data; warn of losses."""
    lost = []
    about = kept["restrictions"]
    labels, ends = np.array(about["edges"], np.int64), [np.array(each, np.int64) for each in about["ends"]]
    row = edges.index.get_indexer(pd.Index(labels)) if labels.size else np.zeros(0, np.intp)
    # Rows that were numbered anew would give restrictions to other streets.
    now = [edges[name].to_numpy()[row] for name in ("from_node", "to_node")]
    is_there = (row >= 0) & (now[0] == ends[0]) & (now[1] == ends[1]) & (tables.edge_way_id[row] == ends[2])
    new_edge = dict(zip(labels[is_there].tolist(), row[is_there].tolist(), strict=True))
    arrays, n_lost = _remapped(about, new_edge)
    if n_lost:
        lost.append(
            f"{n_lost} of {len(about['restriction_only'])} turn restrictions, whose edges are missing or different"
        )
    not_kept = kept["not_kept"]
    if not_kept["places"]:
        lost.append(f"{not_kept['places']} named places and addresses (geocode)")
    if not_kept["feeds"] and not has_feeds:
        lost.append("the timetable (pass gtfs= again)")
    if not_kept.get("speeds_by_hour"):  # frames of earlier versions say nothing
        lost.append("measured speeds by hour (call add_speeds again)")
    if lost:
        _warn(lost)
    report = {**kept["report"], "nodes": tables.node_lng.size, "edges": tables.edge_from.size}
    values = {item.name: getattr(tables, item.name) for item in fields(StreetTables)}
    frame = LocalFrame(*kept["frame"])
    water = WaterBodies.from_wkb(bytes.fromhex(kept["water"]), report=dict(kept["water_report"]))
    besides = Besides(kept["timezone"], bool(kept["is_left_hand"]), str(kept["attribution"]), water, frame)
    return StreetTables(**{**values, **arrays, "report": report}), besides


def _remapped(about: Mapping[str, Any], new_edge: Mapping[int, int]) -> tuple[dict[str, Any], int]:
    """Return the arrays of the restrictions whose edges are all there, and the number of the others."""
    indptr, directed = about["restriction_indptr"], about["restriction_edges"]
    timed = {restriction: k for k, restriction in enumerate(about["timed_restrictions"])}
    only: list[bool] = []
    paths: list[list[int]] = []
    hours: list[tuple[int, bool, list[int]]] = []
    for k, is_only in enumerate(about["restriction_only"]):
        path = directed[indptr[k] : indptr[k + 1]]
        if all(each // 2 in new_edge for each in path):
            if k in timed:
                first, last = about["timed_indptr"][timed[k] : timed[k] + 2]
                hours.append((len(only), about["timed_by_default"][timed[k]], about["timed_minutes"][first:last]))
            only.append(is_only)
            paths.append([2 * new_edge[each // 2] + each % 2 for each in path])
    arrays = {
        "restriction_only": np.array(only, np.bool_),
        "restriction_indptr": indptr_of([len(path) for path in paths]),
        "restriction_edges": np.array([each for path in paths for each in path], np.int32),
        "timed_restrictions": np.array([each for each, _, _ in hours], np.int32),
        "timed_by_default": np.array([each for _, each, _ in hours], np.bool_),
        "timed_indptr": indptr_of([len(minutes) for _, _, minutes in hours]),
        "timed_minutes": np.array([each for _, _, minutes in hours for each in minutes], np.int32),
    }
    return arrays, len(about["restriction_only"]) - len(only)


def _in_degrees(table: Any, name: str) -> Any:
    """Return a table in EPSG:4326."""
    if getattr(table, "crs", None) is None:
        raise CrsError(f"{name} has no CRS. Set it, such as {name}.set_crs('EPSG:4326')")
    attrs = table.attrs
    if table.crs != "EPSG:4326":
        table = table.to_crs("EPSG:4326")
        table.attrs = attrs
    return table


def _warn(lost: list[str]) -> None:
    """Warn of data that a network from tables lacks."""
    text = f"a network from nodes_frame() and edges_frame() is without {'; without '.join(lost)}"
    warn(text)
