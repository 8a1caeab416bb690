"""
Read an OpenStreetMap file into `StreetTables`.

The steps are: read the relations (restrictions and areas), read the street ways and interpret their tags, look up the
positions of their nodes, split the ways at junctions, map the restrictions onto the resulting edges, and read
coastlines, water, names and addresses. Each step works on arrays over the whole file; Python loops run over ways and
named places, never over all nodes.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, Int32Array, UInt16Array
from traveltime_lab.errors import DataError
from traveltime_lab.readers.osm.border import are_cut, extent_of
from traveltime_lab.readers.osm.edges import (
    Edges,
    Runs,
    split_at_junctions,
    unbroken_runs,
    way_lengths_m,
)
from traveltime_lab.readers.osm.extract import OsmFile, Relation
from traveltime_lab.readers.osm.nodes import NodePositions
from traveltime_lab.readers.osm.places import NAME_KEYS, PlaceRows, is_place, read_places
from traveltime_lab.readers.osm.step_free import NODE_KEYS as OBSTACLE_KEYS
from traveltime_lab.readers.osm.step_free import node_code
from traveltime_lab.readers.osm.street_ways import AT_ONCE, StreetWays, read_street_ways
from traveltime_lab.readers.osm.stress import by_side_of_traffic
from traveltime_lab.readers.osm.tags import NODE_KEYS, interpret, node_flags
from traveltime_lab.readers.osm.turn_restrictions import (
    DirectedRestrictions,
    DrivableEdges,
    TurnRestriction,
    to_directed_edges,
    turn_restrictions,
)
from traveltime_lab.readers.osm.water import read_waters
from traveltime_lab.readers.region import Region
from traveltime_lab.runtime import on_disk
from traveltime_lab.streets.on_ground import ends_of
from traveltime_lab.streets.tables import (
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_GIVE_WAY,
    NODE_LEVEL_CROSSING,
    NODE_SIGNALS,
    NODE_STOP,
    StreetTables,
)

logger = logging.getLogger(__name__)


ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0"

#: Edges end at nodes with these flags even if only one way passes them. A pedestrian crossing does not end an edge: it
#: is flagged only at junctions.
_SPLITTING_FLAGS = (
    NODE_SIGNALS
    | NODE_STOP
    | NODE_GIVE_WAY
    | NODE_LEVEL_CROSSING
    | NODE_BLOCKS_WALKING
    | NODE_BLOCKS_CYCLING
    | NODE_BLOCKS_DRIVING
)


def read_osm(
    path: str | os.PathLike[str] | Sequence[Any],
    *,
    region: Region | None = None,
    on_step: Callable[[str, float], Any] | None = None,
) -> StreetTables:
    """
    Read streets, turn restrictions and water from an OpenStreetMap file.

    Parameters
    ----------
    path : str, path-like or sequence of these
        File whose name ends in ``.pbf``, ``.osm`` or ``.xml``; the latter two may be followed by ``.gz`` or ``.bz2``.
        Several are read as one, in which each object is once.
    region : Region, optional
        Part of the file to read, as if it had been cut before; see `traveltime_lab.readers.osm.cut`.
    on_step : callable, optional
        Called with the name of each step and the share of the work done before it (0 to 1).

    Returns
    -------
    StreetTables
        Edges are the parts of ways between junctions, in file order. They are never joined across ways, so
        ``edge_way_id`` is exact. The outlines of pedestrian areas (closed ways or outer rings of multipolygons) are
        walkable; routes do not cross their interiors. Signals, stop and give-way signs, level crossings, barriers and
        what may be in the way of wheelchairs are always nodes; other flags are set at junctions only.

    Raises
    ------
    MissingFileError
        If there is no such file.
    DataError
        If the file is empty, damaged, of another format, or has no street that is open to any mode; if it is marked as
        a history or change file; if it has an object several times and it is unclear which one counts; if it has no
        node in the region.

    Notes
    -----
    If the file contains several versions of an object, only the one with the highest number is read. Copies with that
    number, and all copies if numbers are missing, must be equal. Objects whose last version is deleted
    (``visible="false"``, or ``action="delete"`` in a file saved by an editor) are not read.

    Ways that refer to nodes outside of the file are split there, and their remaining parts are kept. Untagged members
    of a ``route=ferry`` relation get its tags, and the ``duration`` of the relation is distributed by length among
    those of its ways that have none. Time-dependent access is not read; turn restrictions at some hours of the week
    are, and their other conditions are not. `StreetTables.report` counts dropped and ignored objects, by reason.
    """
    with OsmFile(path, region) as file, file.reading_text():
        tables = _read(file, on_step or _log_step)
    _give_back(len(tables.edge_from))
    return tables


def _read(file: OsmFile, report_progress: Callable[[str, float], Any]) -> StreetTables:
    header = file.header()

    report_progress("relations", 0.0)
    relations: dict[str | None, list[Relation]] = {"restriction": [], "multipolygon": [], "route": []}
    for relation in file.relations(("type", "restriction"), ("type", "multipolygon"), ("route", "ferry")):
        relations.setdefault(relation.tags.get("type"), []).append(relation)
    multipolygons = relations["multipolygon"]
    restrictions = turn_restrictions(relations["restriction"])

    report_progress("ways", 0.05)
    streets = read_street_ways(file, multipolygons, relations["route"])
    _give_back(streets.n_read)

    report_progress("nodes", 0.5)
    nodes = file.read_nodes(has_negative_ids=bool((streets.ways.refs < 0).any()))
    via_ids = np.array([r.via_node for r in restrictions.found if not r.via_ways], np.int64)
    positions = file.positions_of(streets.ways.refs, via_ids)
    flags = np.zeros(len(positions.osm_id), np.uint16)
    obstacles = np.zeros(len(positions.osm_id), np.uint16)
    named = _read_nodes(file, positions, flags, obstacles)

    report_progress("edges", 0.7)
    runs = unbroken_runs(streets.ways, positions)
    streets.ways = streets.ways.without_refs()
    _time_ferries(streets, runs, positions)
    must_split = ((flags & _SPLITTING_FLAGS) > 0) | (obstacles > 0)
    via_nodes = positions.find(via_ids)
    must_split[via_nodes[via_nodes >= 0]] = True
    edges = split_at_junctions(runs, positions, must_split)
    if len(edges.way) == 0:
        raise DataError(
            f"{file.paths} has no usable streets: {streets.n_read} ways have street tags, "
            f"{len(streets.ways.osm_id)} of them are open to a mode, and none has two nodes in the file. "
            "Check that it is an extract with highways and their nodes."
        )
    cut, report_of_runs = runs.cut, runs.report
    del runs
    _give_back(streets.n_read)

    report_progress("restrictions", 0.85)
    uses = streets.uses_table()
    turns = _map_restrictions(restrictions.found, edges, streets, positions, uses)
    dropped = restrictions.dropped + Counter(turns.report)

    report_progress("water", 0.9)
    on_ground = ~(uses["is_ferry"].to_numpy()[streets.use[edges.way]] | streets.off_ground[edges.way])
    street_nodes = ends_of(edges.from_node, edges.to_node, on_ground)
    where = positions.lng[street_nodes], positions.lat[street_nodes]
    waters = read_waters(file, multipolygons, bounds=header.bounds, street_nodes=where)

    report_progress("places", 0.95)
    places = read_places(file, named, multipolygons)

    extent = extent_of(header, file.region, cut, positions, nodes)
    nodes.forget()
    tables = _tables(streets, edges, positions, flags, uses, turns)
    is_node = _is_node(edges, len(positions.osm_id))
    tables |= {"edge_step_free": streets.obstacles[edges.way], "node_step_free": obstacles[is_node]}
    tables["edge_avoid"] = streets.avoid[edges.way]
    if extent is not None:
        tables["extent"], tables["edge_is_cut"] = extent, are_cut(extent, cut, edges, len(positions.osm_id))
    report: dict[str, Any] = {
        "source": file.name,
        "attribution": ATTRIBUTION,
        "data_timestamp": header.timestamp,
        "generator": header.generator,
        **({} if file.cut is None else {"cut": file.cut.facts()}),
        "nodes_in_file": nodes.n_nodes,
        **{key: count for key, count in file.dropped._asdict().items() if count},
        "ways_read": streets.n_read,
        "ways_dropped_unusable": streets.n_read - len(streets.ways.osm_id),
        "pedestrian_area_outlines": streets.n_outlines,
        "ferry_ways_from_relations": streets.n_from_ferry_relations,
        **report_of_runs,
        "nodes": len(tables["node_osm_id"]),
        "edges": len(edges.way),
        "surface_unknown_share": _surface_unknown_share(streets, edges, uses),
        "edges_by_highway": _edges_by_highway(tables["uses"], tables["edge_use"]),
        "restrictions_read": len(relations["restriction"]),
        "restrictions_mapped": len(turns.is_only),
        "restrictions_dropped": dict(sorted(dropped.items())),
        "restrictions_with_hours": len(turns.timed),
        "restrictions_with_ignored_conditions": restrictions.n_with_ignored,
        "restriction_conditions_ignored": dict(sorted(restrictions.ignored.items())),
        **waters.report,
        "places": len(places.table),
        **places.report,
    }
    report_progress("done", 1.0)
    logger.info("read_osm file=%s nodes=%d edges=%d", file.name, report["nodes"], report["edges"])
    return StreetTables(
        **tables,
        coastlines=waters.coastlines,
        water=waters.areas,
        places=places.table,
        report=report,
        bounds=header.bounds,
    )


def _give_back(n_ways: int) -> None:
    """Give freed memory back to the operating system after a large file; that takes longer than to read a small one."""
    if n_ways > AT_ONCE:
        on_disk.trim()


def _log_step(step: str, share: float) -> None:
    logger.debug("read_osm step=%s share=%.2f", step, share)


def _read_nodes(file: OsmFile, positions: NodePositions, flags: UInt16Array, obstacles: UInt16Array) -> PlaceRows:
    """Set the flags and obstacles of tagged nodes; return those that are places."""
    osm_ids, values, named = [], [], PlaceRows()
    for osm_id, tags in file.tagged_nodes((*NODE_KEYS, *NAME_KEYS, *OBSTACLE_KEYS)):
        if is_place(tags):
            named.add_node(file, osm_id, tags)
        value = node_flags(tags), node_code(tags)
        if any(value):
            osm_ids.append(osm_id)
            values.append(value)
    idx = positions.find(np.array(osm_ids, np.int64))
    for found, column in zip((flags, obstacles), np.array(values, np.uint16).reshape(-1, 2).T, strict=True):
        found[idx[idx >= 0]] = column[idx >= 0]
    return named


def _is_node(edges: Edges, n_nodes: int) -> BoolArray:
    """Return which nodes edges end at."""
    found = np.zeros(n_nodes, np.bool_)
    found[edges.from_node] = True
    found[edges.to_node] = True
    return found


def _time_ferries(streets: StreetWays, runs: Runs, positions: NodePositions) -> None:
    """Set the speed of ferries with a duration from their length, if all their nodes are in the file."""
    if not streets.timed_ferries:
        return
    every = sorted({row for _, _, rows in streets.timed_ferries for row in rows})
    length_m = way_lengths_m(runs, positions, every)
    uses = {use: idx for idx, use in enumerate(streets.uses)}
    for row, tags, rows in streets.timed_ferries:
        is_whole = bool(runs.is_whole[rows].all())
        use = interpret(tags, length_m=sum(length_m[r] for r in rows)) if is_whole else None
        if use is not None:
            streets.use[row] = uses.setdefault(use, len(uses))
    streets.uses = list(uses)


def _map_restrictions(
    restrictions: Sequence[TurnRestriction],
    edges: Edges,
    streets: StreetWays,
    positions: NodePositions,
    uses: pd.DataFrame,
) -> DirectedRestrictions:
    """Map the restrictions to directed edges."""
    named = {way for r in restrictions for way in (*r.from_ways, *r.via_ways, *r.to_ways)}
    rows = np.flatnonzero(np.isin(streets.ways.osm_id, np.array(sorted(named), np.int64)))
    first = np.searchsorted(edges.way, rows, side="left").tolist()
    last = np.searchsorted(edges.way, rows, side="right").tolist()
    ranges = {way: (a, b) for way, a, b in zip(streets.ways.osm_id[rows].tolist(), first, last, strict=True) if b > a}
    edge_use = streets.use[edges.way]
    drivable = DrivableEdges(
        edges.from_node,
        edges.to_node,
        uses["driving_kph_forward"].to_numpy()[edge_use] > 0,
        uses["driving_kph_backward"].to_numpy()[edge_use] > 0,
        ranges,
    )
    via_ids = np.array([r.via_node for r in restrictions if not r.via_ways], np.int64)
    node_idx = dict(zip(via_ids.tolist(), positions.find(via_ids).tolist(), strict=True))
    return to_directed_edges(restrictions, drivable, node_idx)


def _tables(
    streets: StreetWays,
    edges: Edges,
    positions: NodePositions,
    flags: UInt16Array,
    uses: pd.DataFrame,
    turns: DirectedRestrictions,
) -> dict[str, Any]:
    """Return the columns of the tables; nodes, uses and names that no edge refers to are dropped."""
    is_node = _is_node(edges, len(positions.osm_id))
    new_idx = np.cumsum(is_node) - 1
    kept_uses, edge_use = np.unique(streets.use[edges.way], return_inverse=True)
    kept_names, edge_name = np.unique(np.append(streets.name[edges.way], 0), return_inverse=True)
    return {
        "node_osm_id": positions.osm_id[is_node],
        "node_lng": positions.lng[is_node],
        "node_lat": positions.lat[is_node],
        "node_flags": flags[is_node],
        "edge_from": new_idx[edges.from_node].astype(np.int32),
        "edge_to": new_idx[edges.to_node].astype(np.int32),
        "edge_length_m": edges.length_m,
        "edge_way_id": streets.ways.osm_id[edges.way],
        "edge_use": edge_use.astype(np.int32),
        "edge_off_ground": streets.off_ground[edges.way],
        "edge_stress": by_side_of_traffic(
            streets.stress[edges.way], positions.lng[edges.from_node], positions.lat[edges.from_node]
        ),
        "edge_name": edge_name[:-1].astype(np.int32),
        "coord_indptr": edges.coord_indptr,
        "coord_lng": edges.coord_lng,
        "coord_lat": edges.coord_lat,
        "uses": uses.iloc[kept_uses].reset_index(drop=True),
        "names": [streets.names[idx] for idx in kept_names.tolist()],
        "restriction_only": turns.is_only,
        "restriction_indptr": turns.indptr,
        "restriction_edges": turns.edges,
        "timed_restrictions": turns.timed,
        "timed_by_default": turns.timed_by_default,
        "timed_indptr": turns.timed_indptr,
        "timed_minutes": turns.timed_minutes,
    }


def _surface_unknown_share(streets: StreetWays, edges: Edges, uses: pd.DataFrame) -> float:
    """Return the share, by length, of streets without a tag of their surface; ferries are no streets."""
    length_m = np.where(uses["is_ferry"].to_numpy()[streets.use[edges.way]], 0.0, edges.length_m)
    total = float(length_m.sum())
    return float(length_m[~streets.has_surface[edges.way]].sum()) / total if total else 0.0


def _edges_by_highway(uses: pd.DataFrame, edge_use: Int32Array) -> dict[str, int]:
    """Return the number of edges by class of way, most frequent first."""
    counts: Counter[str] = Counter()
    for highway, count in zip(uses["highway"], np.bincount(edge_use).tolist(), strict=True):
        counts[highway] += count
    return dict(counts.most_common())
