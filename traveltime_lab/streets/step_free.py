"""
Streets without steps, for wheelchairs and prams: what is in the way, and what is not known.

The tables of streets have a number of 32 bits for each edge, ``edge_step_free``, and one of 16 bits for each node,
``node_step_free``. They contain facts, so that caps of width and slope are those of the search;
`traveltime_lab.readers.osm.step_free` computes them from tags. ``edge_slope`` has slopes of a raster of heights.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, Int64Array
from traveltime_lab.errors import ModeError
from traveltime_lab.modes.transportation import STEP_FREE, Transportation
from traveltime_lab.streets.tables import StreetTables

# A number of an edge: obstacles, what is not known, what it is, width and slope.
STEPS, ESCALATOR, REFUSED, KERB, SURFACE, SMOOTHNESS, TRAIL = (1 << bit for bit in range(7))
UNKNOWN_SURFACE, UNKNOWN_INCLINE, UNKNOWN_KERB, UNKNOWN_ACCESS = (1 << bit for bit in range(7, 11))
CROSSING, MADE = 1 << 11, 1 << 12
_WIDTH, _INCLINE = (13, 511), (22, 1023)
#: Largest width, in centimetres, and slope, in tenths of a per cent, that are told apart.
WIDEST_CM, STEEPEST_TENTHS = _WIDTH[1], _INCLINE[1] - 1

#: Obstacles of edges, and what is not known of them, in words.
OBSTACLES: Final = {
    STEPS: "steps",
    ESCALATOR: "an escalator",
    REFUSED: "wheelchair=no",
    KERB: "a raised kerb",
    SURFACE: "a rough or soft surface",
    SMOOTHNESS: "a bad surface",
    TRAIL: "a trail",
}
UNKNOWNS: Final = {
    UNKNOWN_SURFACE: "the surface",
    UNKNOWN_INCLINE: "the slope",
    UNKNOWN_KERB: "the kerb",
    UNKNOWN_ACCESS: "whether wheelchairs pass",
}
_BARRED: Final = sum(OBSTACLES)
_NOT_KNOWN: Final = sum(UNKNOWNS)

# A number of a node: kind of obstacle, whether it bars the way, whether that is not known, and the width.
_KIND, NODE_BARRED, NODE_UNKNOWN, _NODE_WIDTH = 15, 1 << 4, 1 << 5, (6, 511)
#: Kinds of obstacles at nodes, in words.
KINDS: Final = (
    "",
    "a kerb",
    "a stile",
    "a kissing gate",
    "a turnstile",
    "a cycle barrier",
    "a bollard",
    "a gate",
    "a barrier",
    "an elevator",
    "wheelchair=no",
    "steps",
)
KERB_KIND, STILE, KISSING_GATE, TURNSTILE, CYCLE_BARRIER, BOLLARD, GATE, BARRIER, ELEVATOR, NO_WHEELCHAIR, STEP = range(
    1, 12
)
#: Classes of streets for people on foot: beside carriageways, not on them.
_PAVEMENTS: Final = frozenset(
    {"footway", "path", "pedestrian", "steps", "cycleway", "bridleway", "platform", "corridor", "elevator", "pier"}
)


def edge_code(flags: int, *, width_cm: int | None = None, incline_tenths: int | None = None) -> int:
    """
    Return the number of an edge.

    Parameters
    ----------
    flags : int
        Sum of obstacles, of what is not known, and of `CROSSING`.
    width_cm, incline_tenths : int, optional
        Width in centimetres, and slope in tenths of a per cent without its direction; None if not known.
    """
    width = 0 if width_cm is None else min(max(width_cm, 1), WIDEST_CM)
    slope = 0 if incline_tenths is None else 1 + min(abs(incline_tenths), STEEPEST_TENTHS)
    return flags | width << _WIDTH[0] | slope << _INCLINE[0]


def node_code(kind: int, *, barred: bool = False, unknown: bool = False, width_cm: int | None = None) -> int:
    """Return the number of a node; 0 if nothing may be in the way."""
    width = 0 if width_cm is None else min(max(width_cm, 1), _NODE_WIDTH[1])
    if not (barred or unknown or width):
        return 0
    return kind | NODE_BARRED * barred | NODE_UNKNOWN * unknown | width << _NODE_WIDTH[0]


def worst(*codes: int) -> int:
    """Return the number of an edge that consists of parts with these numbers: all that is in the way of any of them."""
    flags = 0
    for code in codes:
        flags |= code & (_BARRED | _NOT_KNOWN)
    for flag in (CROSSING, MADE):
        flags |= flag if all(code & flag for code in codes) else 0
    widths = [width for code in codes if (width := int(width_cm(code)))]
    slopes = [slope for code in codes if (slope := code >> _INCLINE[0] & _INCLINE[1])]
    return edge_code(
        flags,
        width_cm=min(widths) if widths else None,
        incline_tenths=max(slopes) - 1 if slopes else None,
    )


def width_cm(codes: AnyArray | int) -> AnyArray:
    """Return widths of edges in centimetres, 0 where not known."""
    return np.asarray(codes) >> _WIDTH[0] & _WIDTH[1]


def incline_percent(codes: AnyArray) -> AnyArray:
    """Return slopes of edges by their tags in per cent, NaN where not known."""
    tenths = codes >> _INCLINE[0] & _INCLINE[1]
    return np.where(tenths == 0, np.nan, (tenths.astype(np.float64) - 1.0) / 10.0)


def check_known(tables: StreetTables) -> None:
    """Raise ModeError if obstacles are not known."""
    if not tables.has_step_free:
        raise ModeError(
            "step_free needs obstacles for wheelchairs, which this network does not have; build it again from "
            "OpenStreetMap data, or from tables with the column 'highway'; those of edges_frame() also need "
            "step_free_code"
        )
    if tables.has_slopes and not tables.edge_slope.size:
        raise ModeError(
            "step_free needs slopes, which this network with elevation does not have; build it again and call "
            "add_elevation"
        )


def is_strict(means: Transportation) -> bool:
    """Return whether what is not known is not passable."""
    return means.step_free == STEP_FREE[1]


class Edges(NamedTuple):
    """
    Reasons for which edges cannot be passed.

    Attributes
    ----------
    obstacle, narrow, steep, unknown : bool arrays of shape (n_edges,)
        Whether there is an obstacle, a width below the cap, a slope above the cap, and whether that is not known.
    """

    obstacle: BoolArray
    narrow: BoolArray
    steep: BoolArray
    unknown: BoolArray

    def barred(self, means: Transportation) -> BoolArray:
        """Return which edges cannot be passed."""
        closed = self.obstacle | self.narrow | self.steep
        return closed | self.unknown if is_strict(means) else closed


def edges(tables: StreetTables, means: Transportation) -> Edges:
    """Return what is in the way along edges; raise ModeError if nothing is known."""
    check_known(tables)
    codes = tables.edge_step_free
    is_free = (codes & MADE) == 0
    width = width_cm(codes)
    # Counted in tenths, so that 6 % by a tag is not above a cap of 6 %.
    most = round(means.incline_cap * 10.0)
    steep = (codes >> _INCLINE[0] & _INCLINE[1]) > most + 1
    if tables.edge_slope.size:
        steep |= tables.edge_slope > most
    return Edges(
        is_free & ((codes & _BARRED) != 0),
        is_free & (width > 0) & (width < round(means.width_cap * 100.0)),
        is_free & steep,
        is_free & ((codes & _NOT_KNOWN) != 0),
    )


def is_barred(tables: StreetTables, means: Transportation) -> BoolArray:
    """
    Return which edges cannot be passed.

    Returns
    -------
    bool array of shape (n_edges,)
    """
    return edges(tables, means).barred(means)


def nodes_barred(tables: StreetTables, means: Transportation) -> BoolArray:
    """
    Return which nodes have something in the way; see `ends_apart` for what it bars.

    Returns
    -------
    bool array of shape (n_nodes,)
    """
    check_known(tables)
    codes = tables.node_step_free
    width = codes >> _NODE_WIDTH[0]
    barred = ((codes & NODE_BARRED) != 0) | ((width > 0) & (width < round(means.width_cap * 100.0)))
    if is_strict(means):
        barred |= (codes & NODE_UNKNOWN) != 0
    return np.asarray(barred)


def ends_apart(tables: StreetTables, means: Transportation) -> tuple[Int64Array, Int32Array]:
    """
    Return the ends of streets that obstacles at nodes separate from others.

    A gate or a stile separates each street from all others. A kerb separates pavements from carriageways, and not
    pavements from one another: a kerb at the corner of a pavement and a crossing is in the way onto the crossing. Where
    a road has it, the kerb is in the way from the road to every other street, and not along the road. Crossings on
    foot belong to the carriageway. A kerb between streets of one kind separates each of them.

    Returns
    -------
    ends : int64 array of shape (n,)
        Directed edges that begin at such a node, in ascending order.
    side : int32 array of shape (n,)
        The same number for those that are not separated, which is the first of them.
    """
    is_barred = nodes_barred(tables, means)
    node = np.stack([tables.edge_from, tables.edge_to], axis=1).ravel()
    ends = np.flatnonzero(is_barred[node])
    if not ends.size:
        return ends, ends.astype(np.int32)
    at = node[ends]
    edge = ends // 2
    is_pavement = np.isin(tables.uses["highway"].to_numpy().astype(str), [*_PAVEMENTS])[tables.edge_use[edge]]
    is_road = ~is_pavement
    is_crossing = is_pavement & ((tables.edge_step_free[edge] & CROSSING) != 0)
    has_road = np.bincount(at, is_road)[at] > 0
    n_crossing, n_all = np.bincount(at, is_crossing)[at], np.bincount(at)[at]
    is_kerb = (tables.node_step_free[at] & _KIND) == KERB_KIND
    # Groups of a node: 0 is the carriageway, 1 the pavement; -1 is for an end by itself.
    group = np.full(ends.size, -1, np.int64)
    group[is_kerb & has_road & is_road] = 0
    mixed = is_kerb & ~has_road & (n_crossing > 0) & (n_crossing < n_all)
    group[mixed] = np.where(is_crossing, 0, 1)[mixed]
    key = np.where(group < 0, ends + 2 * np.int64(tables.node_lng.size), 2 * at.astype(np.int64) + group)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return ends, ends[first][which].astype(np.int32)


def made_step_free(tables: StreetTables, chosen: AnyArray) -> tuple[AnyArray, AnyArray]:
    """
    Return the numbers of edges and nodes after the obstacles of some edges, and at their ends, are removed.

    Parameters
    ----------
    tables : StreetTables
    chosen : integer array
        Edges. They are passable and known to be, whatever their width and slope.
    """
    edge, node = tables.edge_step_free.copy(), tables.node_step_free.copy()
    edge[chosen] = (edge[chosen] & np.uint32(CROSSING)) | np.uint32(MADE)
    node[tables.edge_from[chosen]] = 0
    node[tables.edge_to[chosen]] = 0
    return edge, node


def edge_in_words(code: int, means: Transportation, slope_tenths: int = 0) -> str:
    """Return what is in the way along an edge, such as ``"steps"``; "" if nothing is."""
    if code & MADE:
        return ""
    found = [words for flag, words in OBSTACLES.items() if code & flag]
    width = int(width_cm(code))
    if width and width < round(means.width_cap * 100.0):
        found.append(f"a width of {width / 100:g} m")
    most = round(means.incline_cap * 10.0)
    steepest = max((code >> _INCLINE[0] & _INCLINE[1]) - 1, slope_tenths)
    if steepest > most:
        found.append(f"a slope of {steepest / 10:g} %")
    if not found and is_strict(means):
        missing = [words for flag, words in UNKNOWNS.items() if code & flag]
        found += [f"{' and '.join(missing)} not known"] if missing else []
    return ", ".join(found)


def node_in_words(code: int, means: Transportation) -> str:
    """Return what is in the way at a node, such as ``"a stile"``; "" if nothing is."""
    kind, width = KINDS[code & _KIND] or "an obstacle", code >> _NODE_WIDTH[0]
    if code & NODE_BARRED:
        return "a raised kerb" if code & _KIND == KERB_KIND else kind
    if width and width < round(means.width_cap * 100.0):
        return f"{kind} of {width / 100:g} m"
    return f"{kind}, of which not enough is known" if code & NODE_UNKNOWN and is_strict(means) else ""


def edge_as(codes: AnyArray, answer: str) -> AnyArray:
    """Return numbers of edges that are passable ("yes"), not passable ("no"), or of which that is not known."""
    kept = codes & np.uint32(CROSSING)
    return kept | np.uint32({"yes": MADE, "no": REFUSED, "unknown": UNKNOWN_ACCESS}[answer])


def node_as(codes: AnyArray, answer: str) -> AnyArray:
    """Return numbers of nodes that are passable ("yes"), not passable ("no"), or of which that is not known."""
    kind = np.where(codes & _KIND, codes & _KIND, np.uint16(BARRIER)).astype(np.uint16)
    flag = {"yes": 0, "no": NODE_BARRED, "unknown": NODE_UNKNOWN}[answer]
    return kind | np.uint16(flag) if flag else np.zeros_like(codes)
