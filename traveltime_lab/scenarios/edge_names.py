"""
Names of edges that last: row numbers of a table of edges are only those of that table.

An edge is named by its OSM way, the OSM nodes at its ends, its number among the edges of the way between these nodes,
and a position on it. `named` turns row numbers into names, `edges_of` finds the edges of names in any table.

A new street splits the edges that it joins. The parts follow one another along the way, from the first node to the
last, and the nodes in between are new and have no third edge of the way. A name stands for all parts, so that it means
the same street before and after.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, Int64Array, chosen_rows, unique_values
from traveltime_lab._checks import is_whole
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import InputError
from traveltime_lab.streets.layer import bounds_of, frame_of
from traveltime_lab.streets.tables import StreetTables

#: Farthest that a street may be from the position in its name, metres (assumed: more than a street is moved when it is
#: drawn anew from better images, and less than the distance between two streets with the same negative ids).
NEAR_M: Final = 20.0
#: Decimals of positions in degrees, which are 0.1 m.
_DECIMALS: Final = 6


class EdgeName(NamedTuple):
    """
    A name of an edge that lasts.

    Ids are those of OpenStreetMap. Negative ids, such as those of new streets, are counted in each network, so that
    the position decides whether they are those of the same street.
    """

    way: int
    from_node: int
    to_node: int
    #: Which of the edges of the way between these nodes, in their order, from 0.
    number: int
    #: The middle of the edge, degrees of EPSG:4326.
    lng: float
    lat: float

    @classmethod
    def of(cls, values: Sequence[Any], what: str) -> EdgeName:
        """Return the name of six values, as files have it; raise InputError if they are none."""
        if len(values) == len(cls._fields):
            ids, place = values[:4], values[4:]
            is_place = all(isinstance(v, float | int) and not isinstance(v, bool) and math.isfinite(v) for v in place)
            if is_place and all(is_whole(v) and -(2**63) <= v < 2**63 for v in ids) and ids[3] >= 0:
                return cls(*map(int, ids), *map(float, place))
        raise InputError(
            f"each of {what} must be a row number, or a name: way, from_node, to_node, number, lng, lat; got {values!r}"
        )

    def __str__(self) -> str:
        """Return the name in words."""
        return f"way {self.way} from node {self.from_node} to node {self.to_node} (at {self.lng:.6f}, {self.lat:.6f})"


def named(tables: StreetTables, edges: Sequence[int | EdgeName]) -> tuple[EdgeName, ...]:
    """Return the names of edges, some of which may be names already; row numbers must be those of the tables."""
    rows = np.array([each for each in edges if not isinstance(each, EdgeName)], np.int64)
    if not rows.size:
        return tuple(dict.fromkeys(each for each in edges if isinstance(each, EdgeName)))
    along = _Along(tables, tables.edge_way_id[rows])
    frame = _frame(tables)
    middle = shapely.line_interpolate_point(_lines(tables, rows, frame), 0.5, normalized=True)
    lng, lat = frame.to_lnglat(shapely.get_x(middle), shapely.get_y(middle))
    places = zip(np.round(lng, _DECIMALS).tolist(), np.round(lat, _DECIMALS).tolist(), strict=True)
    new = (EdgeName(*along.ids(row), *place) for row, place in zip(rows.tolist(), places, strict=True))
    return tuple(dict.fromkeys(each if isinstance(each, EdgeName) else next(new) for each in edges))


def edges_of(tables: StreetTables, names: Sequence[EdgeName], title: str) -> Int64Array:
    """
    Return the edges that have some names, or are parts of them.

    Raises
    ------
    InputError
        If there is no edge of a name, or it is elsewhere; `title` says whose names they are.
    """
    along = _Along(tables, np.array([name.way for name in names], np.int64))
    found = [along.edges(name) for name in names]
    lost = next((name for name, edges in zip(names, found, strict=True) if not edges), None)
    if lost is None:
        rows = np.array([row for edges in found for row in edges], np.int64)
        owner = np.repeat(np.arange(len(names)), [len(edges) for edges in found])
        frame = _frame(tables)
        x, y = frame.to_xy(*(np.array([name[axis] for name in names]) for axis in (4, 5)))
        metres = np.full(len(names), np.inf)
        np.minimum.at(metres, owner, shapely.distance(_lines(tables, rows, frame), shapely.points(x, y)[owner]))
        if (metres <= NEAR_M).all():
            return unique_values(rows)
        lost = names[int(np.argmax(metres > NEAR_M))]
    raise InputError(
        f"{title}: the network has no edge of {lost}. If it is part of a new street, apply the change that adds the "
        "street first; otherwise select the edge again by its row in edges_frame()"
    )


def _frame(tables: StreetTables) -> LocalFrame:
    return frame_of(bounds_of(tables.node_lng, tables.node_lat))


def _lines(tables: StreetTables, edges: AnyArray, frame: LocalFrame) -> Any:
    """Return the lines of some edges in local metres."""
    indptr, at = chosen_rows(tables.coord_indptr, edges)
    xy = np.column_stack(frame.to_xy(tables.coord_lng[at], tables.coord_lat[at]))
    return shapely.linestrings(xy, indices=np.repeat(np.arange(edges.size), np.diff(indptr)))


class _Along:
    """The edges of some ways in the order of their rows, and which of them are parts of an edge that was split."""

    def __init__(self, tables: StreetTables, ways: Int64Array) -> None:
        rows = np.flatnonzero(np.isin(tables.edge_way_id, ways))
        way = tables.edge_way_id[rows].tolist()
        ends = [tables.edge_from[rows].tolist(), tables.edge_to[rows].tolist()]
        ids = [tables.node_osm_id[nodes].tolist() for nodes in ends]
        #: Way and OSM nodes of each edge.
        self._ids = dict(zip(rows.tolist(), zip(way, *ids, strict=True), strict=True))
        self._leaving: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, (line, start, _) in self._ids.items():
            self._leaving[line, start].append(row)
        # New nodes have negative ids; so have those of networks without ids, where this finds paths of several edges,
        # which names count with the others.
        at_new: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for row, line, start, end, *both in zip(rows.tolist(), way, *ends, *ids, strict=True):
            for side, node, osm_id in ((0, end, both[1]), (1, start, both[0])):
                if osm_id < 0:
                    at_new[line, node][side].append(row)
        #: The edge after an edge, behind a node where a new street may have split an edge into the two.
        self._after = {a[0]: b[0] for a, b in at_new.values() if len(a) == len(b) == 1}

    def _path(self, row: int, end: int) -> list[int]:
        """Return the edges from one to an OSM node; none if they do not lead there."""
        path = [row]
        while self._ids[path[-1]][2] != end:
            after = self._after.get(path[-1], row)
            if after == row:
                return []
            path.append(after)
        return path

    def _paths(self, way: int, start: int, end: int) -> list[list[int]]:
        """Return all edges of a way between two nodes, each as its parts."""
        return [path for row in self._leaving.get((way, start), ()) if (path := self._path(row, end))]

    def ids(self, row: int) -> tuple[int, int, int, int]:
        """Return way, nodes and number of an edge."""
        way, start, end = self._ids[row]
        return way, start, end, [path[0] for path in self._paths(way, start, end)].index(row)

    def edges(self, name: EdgeName) -> list[int]:
        """Return the edges of a name; none if there are none."""
        paths = self._paths(name.way, name.from_node, name.to_node)
        return paths[name.number] if name.number < len(paths) else []
