"""
Add a street to the tables: find where it joins others, split them there, and append its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
import shapely
from shapely import ops

from traveltime_lab._arrays import FloatArray, IndexArray, indptr_of
from traveltime_lab.crs import LocalFrame, line_length_m
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import BASE_MODES, STREET_MODES
from traveltime_lab.scenarios.selection import edges_in_box, lines_of
from traveltime_lab.scenarios.street_changes import AddStreet
from traveltime_lab.streets import stress
from traveltime_lab.streets.layer import bounds_of
from traveltime_lab.streets.tables import ACCESS_NO, ACCESS_YES, USE_DTYPES, StreetTables

#: Largest distance of an end of a new street from the street that it is moved onto, metres (assumed: lines drawn by
#: hand on a map of a city end so near).
JOIN_M: Final = 10.0
#: Largest distance of a crossing from a junction for the street to join at the junction, metres (assumed).
NODE_M: Final = 2.0
#: Largest distance of a street that a new street touches without crossing it, metres (assumed: rounded coordinates).
TOUCH_M: Final = 0.5
#: Margin of the search for streets around a line, degrees: more than `JOIN_M` up to 80 degrees of latitude.
_MARGIN_DEG: Final = 0.001


@dataclass
class _Joins:
    """
    Junctions of a new street with others.

    Attributes
    ----------
    tables : StreetTables
    plane : LocalFrame
        Local metres around the new street.
    lng, lat : list of float
        New nodes.
    cuts : dict of int to list of (float, int)
        Where edges are split: metres along the edge, and the node.
    """

    tables: StreetTables
    plane: LocalFrame
    lng: list[float] = field(default_factory=list)
    lat: list[float] = field(default_factory=list)
    cuts: dict[int, list[tuple[float, int]]] = field(default_factory=dict)

    def new_node(self, x: float, y: float) -> int:
        """Return a new node at a place."""
        lng, lat = self.plane.to_lnglat(np.array([x]), np.array([y]))
        self.lng.append(float(lng[0]))
        self.lat.append(float(lat[0]))
        return int(self.tables.node_lng.size) + len(self.lng) - 1

    def node_on(self, edge: int, line: shapely.LineString, along: float) -> int:
        """Return the node at a place on an edge: an end that is near, or a new one that splits it."""
        if along <= NODE_M or line.length - along <= NODE_M:
            end = self.tables.edge_from if along <= line.length - along else self.tables.edge_to
            return int(end[edge])
        cuts = self.cuts.setdefault(edge, [])
        for there, node in cuts:
            if abs(there - along) <= NODE_M:
                return node
        place = line.interpolate(along)
        cuts.append((along, self.new_node(place.x, place.y)))
        return cuts[-1][1]


def add_street(tables: StreetTables, change: AddStreet) -> tuple[StreetTables, str]:
    """
    Return tables with an additional street, and the effect of the change, for reports; see `AddStreet`.

    Raises
    ------
    InputError
        If the line leaves the bounds of the network, or joins no street.
    """
    _check_bounds(change, bounds_of(tables.node_lng, tables.node_lat))
    west, south, east, north = change.line.bounds
    # Distances in the plane are those on the ground, because its centre is that of the line.
    plane = LocalFrame((west + east) / 2, (south + north) / 2)
    box = (west - _MARGIN_DEG, south - _MARGIN_DEG, east + _MARGIN_DEG, north + _MARGIN_DEG)
    near = edges_in_box(tables, box)
    uses = tables.uses
    joins = ~(uses["is_ferry"].to_numpy() | uses["is_barrier"].to_numpy())
    near = near[joins[tables.edge_use[near]]]
    lines = _flat(lines_of(tables, near), plane)
    line = _moved_onto(_flat(np.array([change.line]), plane)[0], lines)
    found = _Joins(tables, plane)
    stops = sorted(_meetings(found, line, near, lines, ends_only=change.joins == "ends"))
    if not stops:
        away = float(shapely.distance(lines, line).min()) if near.size else np.inf
        where = f"the nearest is {away:,.0f} m away" if np.isfinite(away) else "there is none near"
        how = "at its ends" if change.joins == "ends" else "on its way"
        raise InputError(
            f"{change.title}: the line joins no street {how}, {where}; draw it to within {JOIN_M:g} m of a street"
        )
    n_joined = len({node for _, node in stops})
    for along in (0.0, line.length):
        if min(abs(along - there) for there, _ in stops) > NODE_M:
            place = line.interpolate(along)
            stops.append((along, found.new_node(place.x, place.y)))
    pieces = _pieces(line, sorted(stops))
    if not pieces:
        raise InputError(
            f"{change.title}: the line begins and ends at one place of a street; draw one longer than {JOIN_M:g} m"
        )
    split = split_edges(tables, found)
    longer = _appended(split, change, pieces, plane)
    km = float(longer.edge_length_m[-len(pieces) :].sum() / 1000)
    return longer, f"{km:,.2f} km added, joined at {n_joined} junction{'' if n_joined == 1 else 's'}"


def _check_bounds(change: AddStreet, bounds: tuple[float, float, float, float]) -> None:
    """Raise InputError for a line outside of the bounds, which the local metres of the network depend on."""
    west, south, east, north = bounds
    x, y = np.asarray(change.line.coords).T
    inside = (west <= x) & (x <= east) if west <= east else (x >= west) | (x <= east)
    if not (inside & (south <= y) & (y <= north)).all():
        raise InputError(
            f"{change.title}: the line leaves the bounds of the network, {', '.join(f'{b:.5f}' for b in bounds)} "
            "(west, south, east, north); draw it inside, or build the network from a larger extract"
        )


def _flat(lines: Any, plane: LocalFrame) -> Any:
    """Return lines in local metres."""
    return shapely.transform(lines, lambda at: np.column_stack(plane.to_xy(at[:, 0], at[:, 1])))


def _moved_onto(line: shapely.LineString, lines: Any) -> shapely.LineString:
    """Return a line whose ends are on streets that are near them."""
    if not len(lines):
        return line
    places = np.asarray(line.coords).copy()
    for end in (0, -1):
        point = shapely.Point(places[end])
        away = shapely.distance(lines, point)
        nearest = int(away.argmin())
        if away[nearest] <= JOIN_M:
            street = lines[nearest]
            places[end] = np.asarray(street.interpolate(street.project(point)).coords)[0]
    return shapely.LineString(places)


def _meetings(
    found: _Joins, line: shapely.LineString, near: IndexArray, lines: Any, *, ends_only: bool
) -> set[tuple[float, int]]:
    """Return where a new line meets streets: metres along it, and the node."""
    meetings: set[tuple[float, int]] = set()
    for i in np.flatnonzero(shapely.dwithin(lines, line, TOUCH_M)).tolist() if len(lines) else []:
        street = lines[i]
        for x, y in _common_places(line, street):
            point = shapely.Point(x, y)
            along = line.project(point)
            if ends_only and min(along, line.length - along) > NODE_M:
                continue
            meetings.add((along, found.node_on(int(near[i]), street, street.project(point))))
    return meetings


def _common_places(line: shapely.LineString, street: shapely.LineString) -> FloatArray:
    """Return the places where two lines cross or touch, and the ends of stretches that they share."""
    common = shapely.intersection(line, street)
    if common.is_empty:
        return np.asarray(shapely.get_coordinates(shapely.shortest_line(line, street)))[:1]
    if isinstance(common, shapely.MultiLineString | shapely.GeometryCollection):
        merged = shapely.line_merge(common) if isinstance(common, shapely.MultiLineString) else common
        parts = list(shapely.get_parts(merged))
    else:
        parts = list(shapely.get_parts(common))
    places = [shapely.get_coordinates(part)[[0, -1]] for part in parts]
    return np.unique(np.concatenate(places), axis=0)


def _pieces(line: shapely.LineString, stops: list[tuple[float, int]]) -> list[tuple[int, int, FloatArray]]:
    """Return the parts of a line between its junctions: both nodes, and the places in local metres."""
    pieces = []
    for (begin, start), (end, stop) in pairwise(stops):
        if end - begin <= NODE_M and start == stop:
            continue
        part = np.asarray(ops.substring(line, begin, end).coords)
        if len(part) < 2:
            part = np.repeat(part, 2, axis=0)
        pieces.append((start, stop, part))
    return pieces


def split_edges(t: StreetTables, joins: _Joins) -> StreetTables:
    """
    Return tables with the new nodes, and edges split at them.

    The first part of an edge keeps its number, the others come after all edges. New nodes have negative ids: names of
    edges depend on these and on the order of the parts (`edge_names.py`).
    """
    n = t.edge_from.size
    edges = np.array(sorted(joins.cuts), np.int64)
    edge_from, edge_to, length = t.edge_from.copy(), t.edge_to.copy(), t.edge_length_m.copy()
    nodes = np.concatenate([t.node_lng, joins.lng]), np.concatenate([t.node_lat, joins.lat])
    parts_of: dict[int, list[int]] = {}
    first_lines: list[FloatArray] = []
    more_lines: list[FloatArray] = []
    more: list[tuple[int, int, int, float]] = []
    for edge, flat in zip(edges.tolist(), _flat(lines_of(t, edges), joins.plane), strict=True):
        cuts = sorted(joins.cuts[edge])
        ends = [int(t.edge_from[edge]), *(node for _, node in cuts), int(t.edge_to[edge])]
        at = [0.0, *(along for along, _ in cuts), flat.length]
        parts_of[edge] = [edge, *range(n + len(more), n + len(more) + len(cuts))]
        for k in range(len(cuts) + 1):
            xy = np.asarray(ops.substring(flat, at[k], at[k + 1]).coords)
            places = np.column_stack(joins.plane.to_lnglat(xy[:, 0], xy[:, 1]))
            for side, node in ((0, ends[k]), (-1, ends[k + 1])):
                places[side] = nodes[0][node], nodes[1][node]
            metres = float(t.edge_length_m[edge]) * (at[k + 1] - at[k]) / flat.length
            if k == 0:
                edge_to[edge], length[edge] = ends[1], metres
                first_lines.append(places)
            else:
                more.append((edge, ends[k], ends[k + 1], metres))
                more_lines.append(places)
    of = np.array([row[0] for row in more], np.int64)
    indptr, lng, lat = _lines_replaced(t, edges, first_lines, more_lines)
    restriction_indptr, restriction_edges = _restrictions(t, parts_of)
    n_new = len(joins.lng)
    lowest = min(0, int(t.node_osm_id.min(initial=0)))
    return replace(
        t,
        node_osm_id=np.concatenate([t.node_osm_id, lowest - 1 - np.arange(n_new)]).astype(np.int64),
        node_lng=nodes[0].astype(np.float64),
        node_lat=nodes[1].astype(np.float64),
        node_flags=np.concatenate([t.node_flags, np.zeros(n_new, np.uint16)]),
        node_step_free=(
            np.concatenate([t.node_step_free, np.zeros(n_new, np.uint16)]) if t.has_step_free else t.node_step_free
        ),
        edge_from=np.concatenate([edge_from, [row[1] for row in more]]).astype(np.int32),
        edge_to=np.concatenate([edge_to, [row[2] for row in more]]).astype(np.int32),
        edge_length_m=np.concatenate([length, [row[3] for row in more]]).astype(np.float64),
        edge_way_id=np.concatenate([t.edge_way_id, t.edge_way_id[of]]),
        edge_use=np.concatenate([t.edge_use, t.edge_use[of]]),
        edge_name=np.concatenate([t.edge_name, t.edge_name[of]]),
        coord_indptr=indptr,
        coord_lng=lng,
        coord_lat=lat,
        restriction_indptr=restriction_indptr,
        restriction_edges=restriction_edges,
        **t.optional_arrays(np.concatenate([np.arange(n), of])),
    )


def _lines_replaced(
    t: StreetTables, edges: IndexArray, first: list[FloatArray], more: list[FloatArray]
) -> tuple[Any, FloatArray, FloatArray]:
    """Return the CSR of lines after some are replaced and some are added."""
    counts = np.diff(t.coord_indptr)
    counts[edges] = [len(line) for line in first]
    indptr = indptr_of(np.concatenate([counts, [len(line) for line in more]]))
    columns = []
    for axis, old in enumerate((t.coord_lng, t.coord_lat)):
        blocks, begin = [], 0
        for edge, line in zip(edges.tolist(), first, strict=True):
            blocks += [old[begin : int(t.coord_indptr[edge])], line[:, axis]]
            begin = int(t.coord_indptr[edge + 1])
        columns.append(np.concatenate([*blocks, old[begin:], *(line[:, axis] for line in more)]).astype(np.float64))
    return indptr, columns[0], columns[1]


def _restrictions(t: StreetTables, parts_of: dict[int, list[int]]) -> tuple[Any, Any]:
    """
    Return the CSR of turn restrictions with the parts of split edges.

    A restriction begins on the part of its first edge that ends at the junction, leads along all parts of those on its
    way, and ends on the part of the last that begins at the junction.
    """
    touched = np.isin(t.restriction_edges // 2, list(parts_of))
    if not touched.any():
        return t.restriction_indptr, t.restriction_edges
    paths: list[list[int]] = []
    for begin, end in zip(t.restriction_indptr[:-1].tolist(), t.restriction_indptr[1:].tolist(), strict=True):
        path: list[int] = []
        for k, directed in enumerate(t.restriction_edges[begin:end].tolist()):
            parts = [2 * part + directed % 2 for part in parts_of.get(directed // 2, [directed // 2])]
            parts = parts[::-1] if directed % 2 else parts
            path += parts[-1:] if k == 0 else parts[:1] if k == end - begin - 1 else parts
        paths.append(path)
    indptr = indptr_of([len(path) for path in paths])
    return indptr, np.array([directed for path in paths for directed in path], np.int32)


def _appended(
    t: StreetTables, change: AddStreet, pieces: list[tuple[int, int, FloatArray]], plane: LocalFrame
) -> StreetTables:
    """Return tables with the parts of a new street, whose nodes exist."""
    lines = []
    for start, stop, xy in pieces:
        places = np.column_stack(plane.to_lnglat(xy[:, 0], xy[:, 1]))
        places[0] = t.node_lng[start], t.node_lat[start]
        places[-1] = t.node_lng[stop], t.node_lat[stop]
        lines.append(places)
    n = len(pieces)
    names = t.names if change.name in t.names else [*t.names, change.name]
    row: dict[str, Any] = {name: False if dtype == "bool" else 0 for name, dtype in USE_DTYPES.items()} | {
        "highway": change.highway
    }
    for mode in BASE_MODES:
        kph = change.speeds.get(mode, 0.0)
        row[f"{mode}_access"] = ACCESS_YES if kph else ACCESS_NO
        row[f"{mode}_kph_forward"] = kph
        row[f"{mode}_kph_backward"] = 0.0 if change.oneway and STREET_MODES[mode].keeps_to_oneway else kph
    lowest = min(0, int(t.edge_way_id.min(initial=0)))
    counts = [len(line) for line in lines]
    arrays = t.optional_arrays(np.concatenate([np.arange(t.edge_from.size), np.full(n, -1)]))
    if t.has_stress:
        arrays["edge_stress"][2 * t.edge_from.size :] = stress.new_street(
            change.highway, change.speeds.get("driving", 0.0), is_oneway=bool(change.oneway)
        )
    return replace(
        t,
        edge_from=np.concatenate([t.edge_from, [start for start, _, _ in pieces]]).astype(np.int32),
        edge_to=np.concatenate([t.edge_to, [stop for _, stop, _ in pieces]]).astype(np.int32),
        edge_length_m=np.concatenate([t.edge_length_m, [line_length_m(line[:, 0], line[:, 1]) for line in lines]]),
        edge_way_id=np.concatenate([t.edge_way_id, np.full(n, lowest - 1)]).astype(np.int64),
        edge_use=np.concatenate([t.edge_use, np.full(n, len(t.uses))]).astype(np.int32),
        edge_name=np.concatenate([t.edge_name, np.full(n, names.index(change.name))]).astype(np.int32),
        coord_indptr=np.concatenate([t.coord_indptr, t.coord_indptr[-1] + np.cumsum(counts)]).astype(np.int64),
        coord_lng=np.concatenate([t.coord_lng, *(line[:, 0] for line in lines)]),
        coord_lat=np.concatenate([t.coord_lat, *(line[:, 1] for line in lines)]),
        uses=pd.concat([t.uses, pd.DataFrame([row]).astype(USE_DTYPES)], ignore_index=True).astype(USE_DTYPES),
        names=names,
        **arrays,
    )
