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
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import osmium
import pandas as pd

from traveltime_lab._arrays import BoolArray, Int32Array, UInt8Array, UInt16Array, UInt32Array
from traveltime_lab.errors import DataError
from traveltime_lab.readers.osm.avoid import AVOID_KEYS, avoid_code
from traveltime_lab.readers.osm.border import are_cut, extent_of
from traveltime_lab.readers.osm.edges import (
    Edges,
    Runs,
    joined_ways,
    no_ways,
    split_at_junctions,
    unbroken_runs,
    way_lengths_m,
)
from traveltime_lab.readers.osm.extract import OsmFile, Relation, Ways
from traveltime_lab.readers.osm.ferries import timed_ferries, untagged_ferries
from traveltime_lab.readers.osm.nodes import NodePositions
from traveltime_lab.readers.osm.opl import decode, encode, parse_tags
from traveltime_lab.readers.osm.places import NAME_KEYS, PlaceRows, is_place, read_places
from traveltime_lab.readers.osm.step_free import NODE_KEYS as OBSTACLE_KEYS
from traveltime_lab.readers.osm.step_free import STEP_FREE_KEYS, node_code, way_code
from traveltime_lab.readers.osm.stress import STRESS_KEYS, by_side_of_traffic, codes
from traveltime_lab.readers.osm.tags import NODE_KEYS, RELEVANT_KEYS, WayUse, interpret, is_off_ground, node_flags
from traveltime_lab.readers.osm.turn_restrictions import (
    DirectedRestrictions,
    DrivableEdges,
    TurnRestriction,
    to_directed_edges,
    turn_restrictions,
)
from traveltime_lab.readers.osm.water import read_waters
from traveltime_lab.readers.region import Region
from traveltime_lab.streets.on_ground import ends_of
from traveltime_lab.streets.tables import (
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_GIVE_WAY,
    NODE_LEVEL_CROSSING,
    NODE_SIGNALS,
    NODE_STOP,
    USE_DTYPES,
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
_STREET_KEYS = ("highway", "route", "railway", "public_transport", "man_made")
_RELEVANT = frozenset(RELEVANT_KEYS)
#: Keys of ways that say more of the streets that `interpret` finds.
_MORE = frozenset((*STRESS_KEYS, *STEP_FREE_KEYS, *AVOID_KEYS)) - _RELEVANT
_SURFACES = ("surface=", "tracktype=", "smoothness=")


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
        return _read(file, on_step or _log_step)


def _read(file: OsmFile, report_progress: Callable[[str, float], Any]) -> StreetTables:
    header = file.header()

    report_progress("relations", 0.0)
    relations: dict[str | None, list[Relation]] = {"restriction": [], "multipolygon": [], "route": []}
    for relation in file.relations(("type", "restriction"), ("type", "multipolygon"), ("route", "ferry")):
        relations.setdefault(relation.tags.get("type"), []).append(relation)
    multipolygons = relations["multipolygon"]
    restrictions = turn_restrictions(relations["restriction"])

    report_progress("ways", 0.05)
    streets = _read_streets(file, multipolygons, relations["route"])

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

    extent = extent_of(header, file.region, runs, positions, nodes)
    nodes.forget()
    tables = _tables(streets, edges, positions, flags, uses, turns)
    is_node = _is_node(edges, len(positions.osm_id))
    tables |= {"edge_step_free": streets.obstacles[edges.way], "node_step_free": obstacles[is_node]}
    tables["edge_avoid"] = streets.avoid[edges.way]
    if extent is not None:
        tables["extent"], tables["edge_is_cut"] = extent, are_cut(extent, runs, edges, len(positions.osm_id))
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
        **runs.report,
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


def _log_step(step: str, share: float) -> None:
    logger.debug("read_osm step=%s share=%.2f", step, share)


@dataclass
class _Streets:
    """Ways that are open to a mode, with the interpretation of their tags and their names."""

    ways: Ways
    use: Int32Array
    off_ground: BoolArray
    has_surface: BoolArray
    #: Numbers of `codes` of each way in both directions, where traffic keeps right and left.
    stress: UInt16Array
    #: Numbers of `way_code` of each way.
    obstacles: UInt32Array
    #: Numbers of `avoid_code` of each way.
    avoid: UInt8Array
    name: Int32Array
    uses: list[WayUse]
    names: list[str]
    n_read: int
    n_outlines: int
    n_from_ferry_relations: int
    #: For each ferry with a duration: its row, its tags with the duration, and all rows that the duration covers.
    timed_ferries: list[tuple[int, dict[str, str], list[int]]] = field(default_factory=list)

    def uses_table(self) -> pd.DataFrame:
        columns = zip(*self.uses, strict=True)
        return pd.DataFrame(
            {
                column: pd.Series(values, dtype=dtype) if dtype == "object" else np.array(values, dtype)
                for (column, dtype), values in zip(USE_DTYPES.items(), columns, strict=True)
            }
        )


def _read_streets(file: OsmFile, multipolygons: Sequence[Relation], ferry_relations: Sequence[Relation]) -> _Streets:
    ways = file.ways(osmium.filter.KeyFilter(*_STREET_KEYS))
    known = set(ways.osm_id.tolist())
    outlines = _pedestrian_outlines(file, multipolygons, known=known)
    known.update(outlines.osm_id.tolist())
    crossings, at_shore = untagged_ferries(file, ferry_relations, known=known)
    del known
    ways = joined_ways(ways, outlines, crossings)
    uses: dict[WayUse, int] = {}
    use_by_tags: dict[tuple[str, ...], int] = {}
    raised: set[tuple[str, ...]] = set()
    # Numbers of ways in arrays: lists of Python objects would have five times the memory.
    off_ground, has_surface, row_of_tags = bytearray(), bytearray(), array("i")
    rows: dict[tuple[str, ...], int] = {}
    stress_codes: list[tuple[int, ...]] = []
    obstacles: list[int] = []
    avoid: list[int] = []
    ferry_uses: set[int] = set()
    names = {"": 0}
    kept_rows, use, name = array("q"), array("i"), array("i")
    ferries: dict[int, tuple[int, dict[str, str]]] = {}
    n_read = 0
    for row, text in enumerate(ways.tags):
        relevant: list[str] = []
        more: list[str] = []
        label = number = ""
        for pair in text.split(","):
            key, _, value = pair.partition("=")
            if key in _RELEVANT:
                relevant.append(pair)
            elif key in _MORE:
                more.append(pair)
            elif key == "name":
                label = value
            elif key == "ref":
                number = value
        signature = tuple(relevant)
        use_idx = use_by_tags.get(signature)
        if use_idx is None:
            tags = parse_tags(",".join(relevant))
            way_use = interpret(tags)
            if is_off_ground(tags):
                raised.add(signature)
            use_idx = -1 if way_use is None else uses.setdefault(way_use, len(uses))
            use_by_tags[signature] = use_idx
            if way_use is not None and way_use.is_ferry:
                ferry_uses.add(use_idx)
        if use_idx < 0:
            n_read += "highway=" in text
            continue
        n_read += 1
        if use_idx in ferry_uses:
            ferries[int(ways.osm_id[row])] = len(kept_rows), parse_tags(text)
        kept_rows.append(row)
        use.append(use_idx)
        off_ground.append(signature in raised)
        every = (*relevant, *more)
        if every not in rows:
            tags = parse_tags(",".join(every))
            rows[every] = len(rows)
            stress_codes.append((*codes(tags), *codes(tags, is_left_hand=True)))
            obstacles.append(way_code(tags))
            avoid.append(avoid_code(tags))
        row_of_tags.append(rows[every])
        has_surface.append(any(pair.startswith(_SURFACES) for pair in relevant))
        name.append(names.setdefault(label or number, len(names)))
    every_tag = np.array(row_of_tags, np.int32)
    return _Streets(
        ways.rows(np.array(kept_rows, np.int64)).without_tags(),
        np.array(use, np.int32),
        np.array(off_ground, np.bool_),
        np.array(has_surface, np.bool_),
        np.array(stress_codes, np.uint16).reshape(-1, 2, 2)[every_tag],
        np.array(obstacles, np.uint32)[every_tag],
        np.array(avoid, np.uint8)[every_tag],
        np.array(name, np.int32),
        list(uses),
        [decode(text) for text in names],
        n_read,
        len(outlines.osm_id),
        len(crossings.osm_id),
        timed_ferries(ferries, ferry_relations, in_file={*ways.osm_id.tolist(), *at_shore}),
    )


def _pedestrian_outlines(file: OsmFile, multipolygons: Sequence[Relation], *, known: set[int]) -> Ways:
    """Return the outer rings of multipolygons that are streets, as ways with the tags of their relation."""
    street_of: dict[int, str] = {}
    for relation in multipolygons:
        if "highway" in relation.tags or "platform" in (
            relation.tags.get("railway"),
            relation.tags.get("public_transport"),
        ):
            tags = ((key, value) for key, value in relation.tags.items() if key in _RELEVANT or key in _MORE)
            text = ",".join(f"{key}={encode(value)}" for key, value in tags)
            for letter, ref, role in relation.members:
                if letter == "w" and role in ("outer", "") and ref not in known:
                    street_of.setdefault(ref, f"{text},area=yes")
    if not street_of:
        return no_ways()
    found = file.ways_by_id(street_of)
    return Ways(found.osm_id, [street_of[way] for way in found.osm_id.tolist()], found.indptr, found.refs)


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


def _time_ferries(streets: _Streets, runs: Runs, positions: NodePositions) -> None:
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
    streets: _Streets,
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
    streets: _Streets,
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


def _surface_unknown_share(streets: _Streets, edges: Edges, uses: pd.DataFrame) -> float:
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
