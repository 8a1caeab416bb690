"""
Levels of traffic stress for cycling, 1 (calm) to 4 (strong nerves): of streets, and of crossings at their ends.

The tables of streets have a number of 16 bits for each directed edge, ``edge_stress``: the level of the street, and
the facts behind it, which `facts` returns. `traveltime_lab.readers.osm.stress` computes it from tags. The level of
crossing a busier street without signals at the end of an edge depends on other edges, and is computed here.

Sources: M. Mekuria, P. Furth, H. Nixon, "Low-Stress Bicycling and Network Connectivity", Mineta Transportation
Institute, report 11-19, 2012 (the levels, and that crossings have one), and P. Furth, "Level of traffic stress criteria
for road segments", version 2.2 (streets: tables 1 to 3), as transcribed in ``config/tables.yml`` of
BostonCyclistsUnion/StressMap.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int64Array, UInt8Array, UInt16Array, within_rows
from traveltime_lab.errors import ModeError
from traveltime_lab.streets.tables import (
    CLOSED_BY_CHANGE,
    NODE_CROSSING_SIGNALS,
    NODE_REFUGE,
    NODE_SIGNALS,
    StreetTables,
)

#: Levels from the calmest to the one of the most stress.
LEVELS: Final = (1, 2, 3, 4)
#: Upper ends of the columns of speed of Furth's tables, km/h: 23.5, 28.5, ... miles per hour.
SPEED_BOUNDS_KPH: Final = tuple(1.609344 * mph for mph in (23.5, 28.5, 33.5, 38.5, 43.5, 48.5))
_SPEEDS: Final = ("30 km/h", "40 km/h", "50 km/h", "60 km/h", "70 km/h", "75 km/h", "80 km/h or more")

#: Kinds of streets for cyclists. Those with traffic are by its volume.
UNKNOWN, GIVEN, PATH, TRACK, LANE, WIDE_LANE, LANE_BY_PARKING, WIDE_LANE_BY_PARKING = range(8)
LOCAL, MODERATE, BUSY, ARTERIAL, FERRY = range(8, 13)
KINDS: Final = (
    "not known",
    "as given",
    "no motor traffic",
    "cycle track",
    "cycle lane",
    "wide cycle lane",
    "cycle lane beside parked cars",
    "wide cycle lane beside parked cars",
    "with local traffic",
    "with moderate traffic",
    "with busy traffic",
    "with traffic of an arterial",
    "ferry",
)
#: Furth's tables 1 to 3: levels by lanes in a direction (0 without a centre line, 1, 2, 3 or more) and column of speed.
_ONE_LOCAL = (1, 1, 2, 2, 3, 3, 3)
_TWO_LESS = (3, 3, 3, 3, 4, 4, 4)
_TWO_MORE = _THREE = (3, 3, 4, 4, 4, 4, 4)
_LANES_THREE = (3, 3, 3, 3, 4, 4, 4)
_BY_PARKING_MANY = (3,) * 7
_TABLES: Final[dict[int, tuple[tuple[int, ...], ...]]] = {
    LOCAL: (_ONE_LOCAL, _ONE_LOCAL, _TWO_LESS, _THREE),
    MODERATE: ((1, 1, 2, 3, 3, 3, 3), (2, 2, 2, 3, 3, 4, 4), _TWO_LESS, _THREE),
    BUSY: ((2, 2, 3, 3, 4, 4, 4), (2, 3, 3, 3, 4, 4, 4), _TWO_LESS, _THREE),
    ARTERIAL: ((2, 2, 3, 3, 4, 4, 4), (2, 3, 3, 3, 4, 4, 4), _TWO_MORE, _THREE),
    LANE: (*((2, 2, 2, 2, 3, 3, 4),) * 2, (2, 2, 2, 2, 3, 4, 4), _LANES_THREE),
    WIDE_LANE: (*((1, 1, 1, 2, 3, 3, 3),) * 2, (2, 2, 2, 2, 3, 3, 3), _LANES_THREE),
    LANE_BY_PARKING: (*((2, 2, 2, 3, 3, 3, 3),) * 2, _BY_PARKING_MANY, _BY_PARKING_MANY),
    WIDE_LANE_BY_PARKING: (*((1, 1, 2, 2, 3, 3, 3),) * 2, (2, 2, 3, 3, 3, 3, 3), _BY_PARKING_MANY),
}
#: Levels of crossings without signals, by the speed of the street that is crossed (up to 25, 30, 35, 40 or more miles
#: per hour) and its lanes (up to 3, 4 or 5, 6 or more); then the same with a refuge in the middle. Assumed: they have
#: the form of tables 7 and 8 of Mekuria, Furth and Nixon, with whose values they have not been compared.
_CROSSINGS: Final = np.array(
    [
        [[1, 2, 4], [1, 2, 4], [2, 3, 4], [3, 4, 4]],
        [[1, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 4]],
    ],
    np.uint8,
)
#: Distance within which signals at another node hold at a crossing, metres (assumed: those of the other arms).
_SIGNALS_WITHIN_M: Final = 30.0
#: Classes of streets by their priority; those with less give way. Paths are 0.
_RANKS: Final = {
    "motorway": 7,
    "trunk": 7,
    "primary": 6,
    "secondary": 5,
    "tertiary": 4,
    "unclassified": 3,
    "busway": 3,
    "bus_guideway": 3,
    "residential": 2,
    "living_street": 1,
    "service": 1,
    "road": 1,
    "track": 1,
}

# A number of 16 bits: level, kind, column of speed, lanes in the direction, lanes to cross, and what is assumed.
_LEVEL, _KIND, _SPEED, _LANES, _WIDTH = (0, 7), (3, 15), (7, 7), (10, 3), (12, 3)
_SPEED_ASSUMED, _LANES_ASSUMED = 1 << 14, 1 << 15


class Facts(NamedTuple):
    """
    The facts that the level of a directed edge follows from.

    Attributes
    ----------
    kind : int
        Index into `KINDS`.
    speed : int
        Column of speed of Furth's tables.
    lanes : int
        Lanes in the direction: 0 without a centre line, 3 for three or more.
    width : int
        Lanes to cross in both directions: 0 for no motor traffic, 1 for up to three, 2 for four or five, 3 for more.
    speed_assumed, lanes_assumed : bool
        Whether no tag says so.
    """

    kind: int
    speed: int = 0
    lanes: int = 0
    width: int = 0
    speed_assumed: bool = False
    lanes_assumed: bool = False

    def level(self) -> int:
        """Return the level of the street by Furth's tables; 0 if it is not known."""
        if self.kind in (PATH, TRACK, FERRY):
            return 1
        table = _TABLES.get(self.kind)
        return 0 if table is None else table[self.lanes][self.speed]

    def packed(self, level: int | None = None) -> int:
        """Return the number of a directed edge, with another level than that of the tables if one is given."""
        code = (self.level() if level is None else level) << _LEVEL[0]
        for (shift, _), value in zip((_KIND, _SPEED, _LANES, _WIDTH), self[:4], strict=True):
            code |= value << shift
        return code | _SPEED_ASSUMED * self.speed_assumed | _LANES_ASSUMED * self.lanes_assumed


def facts(code: int) -> Facts:
    """Return what a number of a directed edge means."""
    kind, speed, lanes, width = (code >> shift & mask for shift, mask in (_KIND, _SPEED, _LANES, _WIDTH))
    return Facts(kind, speed, lanes, width, bool(code & _SPEED_ASSUMED), bool(code & _LANES_ASSUMED))


class Class(NamedTuple):
    """Assumptions for a class of street: volume of traffic, km/h, and lanes in a direction (0: no centre line)."""

    kind: int
    kph: float
    lanes: int

    def usual_lanes(self, *, is_oneway: bool) -> tuple[int, int]:
        """Return the lanes in a direction, and those to cross as in `Facts`."""
        if is_oneway:
            lanes = max(self.lanes, 1)
            return lanes, width_of(lanes)
        return self.lanes, width_of(2 * max(self.lanes, 1))

    def usual(self, *, is_oneway: bool) -> Facts:
        """Return what is assumed for a street of the class without any other tag."""
        lanes, width = self.usual_lanes(is_oneway=is_oneway)
        return Facts(self.kind, speed_column(self.kph), lanes, width, speed_assumed=True, lanes_assumed=True)


#: All assumed. Volumes are those of the rows of Furth's table 1: up to 750 vehicles a day on local streets, up to 1,500
#: on unclassified ones, more than 3,000 on those from tertiary upwards, more than 8,000 on those from primary upwards.
CLASSES: Final[dict[str, Class]] = {
    "motorway": Class(ARTERIAL, 100.0, 2),
    "trunk": Class(ARTERIAL, 80.0, 2),
    "primary": Class(ARTERIAL, 60.0, 2),
    "secondary": Class(BUSY, 60.0, 1),
    "tertiary": Class(BUSY, 50.0, 1),
    "unclassified": Class(MODERATE, 50.0, 0),
    "residential": Class(LOCAL, 40.0, 0),
    "road": Class(LOCAL, 50.0, 0),
    "service": Class(LOCAL, 30.0, 0),
    "living_street": Class(LOCAL, 20.0, 0),
    "busway": Class(MODERATE, 50.0, 1),
    "bus_guideway": Class(MODERATE, 50.0, 1),
}


def width_of(n_lanes: int) -> int:
    """Return the width of a street with a number of lanes; see `Facts`."""
    return 1 if n_lanes <= 3 else 2 if n_lanes <= 5 else 3


def speed_column(kph: float) -> int:
    """Return the column of a speed in Furth's tables."""
    return sum(kph >= bound for bound in SPEED_BOUNDS_KPH)


def calmest(*each: Facts) -> Facts:
    """Return the facts of the lowest level, the first of equal ones."""
    return min(each, key=lambda one: one.level())


def in_words(code: int, junction: int = 0, *, is_calmed: bool = False) -> str:
    """
    Return why a directed edge has its level, such as ``"busy traffic, 50 km/h, 1 lane (assumed)"``.

    Parameters
    ----------
    code : int
        Number of the directed edge.
    junction : int, default 0
        Level of the crossing at its end; it is named if it is higher than that of the street.
    is_calmed : bool, default False
        Whether the street is calm because a change has closed it to driving.
    """
    level, known = code & _LEVEL[1], facts(code)
    lanes = ("no centre line", "1 lane in the direction", "2 lanes in the direction", "3 lanes or more")
    words = [KINDS[known.kind]]
    if is_calmed and known.kind in _TABLES:
        level, words = 1, ["closed to driving by a change"]
    elif known.kind in _TABLES:
        words.append(_SPEEDS[known.speed] + " (assumed)" * known.speed_assumed)
        words.append(lanes[known.lanes] + " (assumed)" * known.lanes_assumed)
    if junction > level:
        words.append(f"crossing of level {junction} without signals at its end")
    return ", ".join(words)


def with_track(codes: UInt16Array) -> UInt16Array:
    """Return numbers of directed edges with a cycle track, and the same facts for crossings; paths keep theirs."""
    kept = codes & ~np.uint16(_LEVEL[1] | _KIND[1] << _KIND[0])
    is_path = np.isin((codes >> _KIND[0]) & _KIND[1], (PATH, FERRY))
    return np.where(is_path, codes, kept | np.uint16(1 | TRACK << _KIND[0])).astype(np.uint16)


def with_speed(code: int, kph: float, highway: str) -> int:
    """
    Return the number of a directed edge with another speed of cars, and the level that follows from it.

    Parameters
    ----------
    code : int
    kph : float
    highway : str
        Class of the street. Without its cycle lane, it has the volume of traffic that is assumed for its class.
    """
    known = facts(code)
    usual = CLASSES.get(highway.removesuffix("_link"))
    if known.width == 0:
        return code
    known = known._replace(speed=speed_column(kph), speed_assumed=False)
    if known.kind not in _TABLES:
        return known.packed(code & _LEVEL[1])
    if usual is None:
        return known.packed()
    return calmest(known, known._replace(kind=_in_traffic(known.kind, usual))).packed()


def _in_traffic(kind: int, usual: Class) -> int:
    """Return the kind of a street without its cycle lane."""
    return usual.kind if kind in (LANE, WIDE_LANE, LANE_BY_PARKING, WIDE_LANE_BY_PARKING) else kind


def new_street(highway: str, kph: float, *, is_oneway: bool) -> int:
    """
    Return the number of a new street with cars at a speed, 0 km/h for none.

    Volume of traffic and lanes are those assumed for its class, or for unclassified streets if it has no cars.
    """
    if not kph:
        return Facts(PATH).packed()
    usual = CLASSES.get(highway.removesuffix("_link"), CLASSES["unclassified"]).usual(is_oneway=is_oneway)
    return usual._replace(speed=speed_column(kph), speed_assumed=False).packed()


def with_level(codes: UInt16Array, level: AnyArray) -> UInt16Array:
    """Return numbers of directed edges with levels that are given, and the same facts for crossings."""
    kept = codes & ~np.uint16(_LEVEL[1] | _KIND[1] << _KIND[0])
    return np.asarray(kept | level | np.uint16(GIVEN << _KIND[0]), np.uint16)


def check_known(tables: StreetTables) -> None:
    """Raise ModeError if levels of traffic stress are not known."""
    if not tables.has_stress:
        msg = (
            "max_stress needs levels of traffic stress, which this network does not have; build it again from "
            "OpenStreetMap data, or from tables with the column 'highway'; those of edges_frame() also need "
            "stress_code_forward and stress_code_backward"
        )
        raise ModeError(msg)


def street_levels(tables: StreetTables) -> UInt8Array:
    """
    Return the level of each directed edge without the junction at its end, 0 where it is not known.

    Streets that changes have closed to driving, and not to cycling, have level 1.

    Returns
    -------
    uint8 array of shape (2 * n_edges,)
    """
    codes = _codes(tables)
    levels = (codes & _LEVEL[1]).astype(np.uint8)
    kind = (codes >> _KIND[0]) & _KIND[1]
    levels[np.repeat(is_calmed(tables), 2) & (kind != GIVEN) & (kind != UNKNOWN)] = 1
    return levels


def junction_levels(tables: StreetTables) -> UInt8Array:
    """
    Return the level of the worst crossing at the end of each directed edge, 0 where there is none; see `crossings`.

    Returns
    -------
    uint8 array of shape (2 * n_edges,)
    """
    found = np.zeros(2 * tables.edge_from.size, np.uint8)
    turns = crossings(tables)
    np.maximum.at(found, turns.arriving, turns.level)
    return found


class Crossings(NamedTuple):
    """
    Ways across junctions where a street with priority is crossed, and all others at these junctions.

    Attributes
    ----------
    arriving, leaving : int64 arrays of shape (n,)
        Directed edges that end at a junction, and those that begin there.
    level : uint8 array of shape (n,)
        Level of the crossing, 0 if nothing is crossed.
    """

    arriving: Int64Array
    leaving: Int64Array
    level: UInt8Array


def crossings(tables: StreetTables) -> Crossings:
    """
    Return the ways across junctions without signals, there or within 30 m along streets, that cross a street.

    A street is crossed if it has priority over both edges, by their classes, and leads away from the junction between
    them on either side. Turns onto a street, and off it, do not cross it. Roundabouts are not crossed, and
    after an edge whose level is given nothing is.
    """
    codes = _codes(tables)
    n_nodes = tables.node_lng.size
    tail = np.stack([tables.edge_from, tables.edge_to], axis=1).ravel()
    rank = np.repeat(ranks(tables), 2)
    # Facts of the streets to cross are those of the direction that ends at the junction.
    width = ((codes >> _WIDTH[0]) & _WIDTH[1]).astype(np.int64)
    width[np.repeat(closed_to_cars(tables), 2)] = 0
    row = np.clip(((codes >> _SPEED[0]) & _SPEED[1]).astype(np.int64), 1, 4) - 1
    refuge = ((tables.node_flags & NODE_REFUGE) != 0).astype(np.int64)[tail[np.arange(tail.size) ^ 1]]
    level = np.where(width > 0, _CROSSINGS[refuge, row, np.maximum(width, 1) - 1], 0).astype(np.uint8)
    level[np.repeat(tables.uses["is_roundabout"].to_numpy()[tables.edge_use], 2)] = 0
    level = level.reshape(-1, 2)[:, ::-1].ravel()  # of the edge that begins at the junction
    is_arm = level > 0
    most = np.full(n_nodes, -1, np.int64)
    np.maximum.at(most, tail[is_arm], rank[is_arm])
    gives_way = rank < most[tail]
    at_node = (np.bincount(tail[is_arm], minlength=n_nodes) >= 2) & ~_has_signals(tables)
    at_node &= np.bincount(tail[gives_way], minlength=n_nodes) >= 2
    begins = np.flatnonzero(at_node[tail])
    begins = begins[np.argsort(tail[begins], kind="stable")]
    # Every pair of edges at a junction, then every street there that has priority over both.
    first, second = _pairs(tail[begins])
    one, other = begins[first], begins[second]
    pair, arm = _pairs_with(tail[one], tail[begins])
    arm = begins[arm]
    over = is_arm[arm] & (rank[arm] > np.maximum(rank[one], rank[other])[pair])
    pair, arm = pair[over], arm[over]
    turn = _directions(tables)
    to_arm, to_other = ((turn[each] - turn[one[pair]]) % (2 * np.pi) for each in (arm, other[pair]))
    is_inside, is_outside = (to_arm > 0) & (to_arm < to_other), to_arm > to_other
    inside, outside = (np.bincount(pair[side], minlength=one.size) > 0 for side in (is_inside, is_outside))
    found = np.zeros(one.size, np.uint8)
    np.maximum.at(found, pair, level[arm])
    arriving = one ^ 1
    kind = ((codes >> _KIND[0]) & _KIND[1])[arriving]
    found[~(inside & outside) | (kind == GIVEN) | (kind == UNKNOWN)] = 0
    crossed = np.zeros(n_nodes, np.bool_)
    crossed[tail[one[found > 0]]] = True
    kept = crossed[tail[one]]
    return Crossings(arriving[kept], other[kept], found[kept])


def _pairs(group: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return the positions of all pairs of members of a group, given the sorted groups of members."""
    return _pairs_with(group, group)


def _pairs_with(group: AnyArray, sorted_groups: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return positions of items and of the members of their groups, given the groups of both."""
    start, stop = (np.searchsorted(sorted_groups, group, side=side) for side in ("left", "right"))
    counts = stop - start
    return np.repeat(np.arange(group.size), counts), np.repeat(start, counts) + within_rows(counts)


def _directions(tables: StreetTables) -> FloatArray:
    """
    Return the direction in which each directed edge begins, in radians in the plane of longitude and latitude.

    Their order around a junction is that on the ground.
    """
    first, last = tables.coord_indptr[:-1], tables.coord_indptr[1:] - 1
    found = np.empty(2 * first.size)
    for side, (here, following, far) in enumerate(((first, first + 1, last), (last, last - 1, first))):
        dx, dy = (each[following] - each[here] for each in (tables.coord_lng, tables.coord_lat))
        is_point = (dx == 0) & (dy == 0)
        dx, dy = (np.where(is_point, each[far] - each[here], step)
                  for each, step in ((tables.coord_lng, dx), (tables.coord_lat, dy)))  # fmt: skip
        found[side::2] = np.arctan2(dy, (dx + 180.0) % 360.0 - 180.0)
    return found


def ranks(tables: StreetTables) -> Int64Array:
    """Return the priority of each edge by its class, 0 for paths."""
    by_use = np.array([_RANKS.get(each.removesuffix("_link"), 0) for each in tables.uses["highway"]], np.int64)
    return np.asarray(by_use[tables.edge_use])


def above(found: UInt8Array, most: int) -> BoolArray:
    """Return which levels are above the highest accepted one; unknown ones count as 4."""
    return np.where(found == 0, LEVELS[-1], found) > most


def _codes(tables: StreetTables) -> UInt16Array:
    """Return the numbers of the directed edges, 0 if the tables have none."""
    return tables.edge_stress if tables.has_stress else np.zeros(2 * tables.edge_from.size, np.uint16)


def closed_to_cars(tables: StreetTables) -> BoolArray:
    """Return which edges a change has closed to driving."""
    return _closed(tables, "driving")


def is_calmed(tables: StreetTables) -> BoolArray:
    """
    Return which edges are calm because a change has closed them to driving.

    Those that are closed to cycling, too, keep their levels: points must not move to streets that were above the level.
    """
    return closed_to_cars(tables) & ~_closed(tables, "cycling")


def _closed(tables: StreetTables, mode: str) -> BoolArray:
    """Return which edges a change has closed to a mode."""
    return np.asarray(((tables.uses[f"{mode}_access"].to_numpy() & CLOSED_BY_CHANGE) != 0)[tables.edge_use])


def _has_signals(tables: StreetTables) -> BoolArray:
    """Return which nodes have signals: at the node, or for cars at another one that is near along streets."""
    metres = np.where(tables.node_flags & NODE_SIGNALS, 0.0, np.inf)
    short = tables.edge_length_m <= _SIGNALS_WITHIN_M
    ends = np.concatenate([tables.edge_from[short], tables.edge_to[short]])
    others = np.concatenate([tables.edge_to[short], tables.edge_from[short]])
    length = np.tile(tables.edge_length_m[short], 2)
    while True:
        farther = metres[others] + length
        nearer = (farther < metres[ends]) & (farther <= _SIGNALS_WITHIN_M)
        if not nearer.any():
            break
        np.minimum.at(metres, ends[nearer], farther[nearer])
    return np.asarray((metres <= _SIGNALS_WITHIN_M) | ((tables.node_flags & NODE_CROSSING_SIGNALS) != 0))
