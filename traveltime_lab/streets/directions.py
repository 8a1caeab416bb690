"""
Turn the pieces of a route into legs and steps with directions in words.

A new step begins at a street with another name, at a turn at a junction, and at a roundabout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import shapely

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.itinerary import Leg, Mode, Step, Turn
from traveltime_lab.modes.table import STREET_MODES
from traveltime_lab.rounding import half_up, whole_seconds
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.paths import line_of, lines_between, parts_of_lines
from traveltime_lab.streets.pieces import Path, Piece
from traveltime_lab.streets.tables import StreetTables

_VERBS: Final[dict[str, str]] = {"walk": "walk", "bike": "cycle", "car": "drive"}
_COMPASS: Final = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")

#: Least deviation from straight on, in degrees, of a slight turn, a turn, a sharp turn and a U-turn (assumed).
_SLIGHT, _TURN, _SHARP, _BACK = 20.0, 45.0, 135.0, 170.0
#: Directions are measured over this many metres of a line, so that its last centimetres before a node do not decide.
_AIM_M: Final = 12.0
#: Metres in a degree of latitude; a round figure is sufficient for bearings.
_DEGREE_M: Final = 111_000.0
#: Unnamed stretches shorter than this, such as crossings, do not begin a step if they lead straight on (assumed).
_NAMELESS_M: Final = 30.0

_WORDS: Final[dict[Turn, str]] = {
    "slight_left": "Turn slightly left",
    "left": "Turn left",
    "sharp_left": "Turn sharp left",
    "slight_right": "Turn slightly right",
    "right": "Turn right",
    "sharp_right": "Turn sharp right",
    "u_turn": "Turn back",
}


@dataclass
class _Stretch:
    """Consecutive pieces of one step, collected one by one."""

    #: Numbers of the first piece, and of the one after the last.
    first: int
    last: int
    label: int = 0
    name: str = ""
    turn: Turn | None = None
    #: Number of exits passed on a roundabout that the stretch has not left yet; None elsewhere.
    exits: int | None = None
    taken_exit: int | None = None
    stays: bool = False


@dataclass
class _Draft:
    """Consecutive pieces of one leg, collected one by one."""

    mode: Mode
    stretches: list[_Stretch] = field(default_factory=list)
    name: str = ""
    toll_cm: int = 0


class _Way:
    """
    The pieces of a path, and the values of each from which stretches are built.

    Attributes
    ----------
    pieces : list of Piece
    coordinates, indptr : arrays
        Lines of the pieces; see `traveltime_lab.streets.paths.parts_of_lines`.
    points : list of [float, float]
        The coordinates as plain numbers, which are faster than arrays here: lines are short.
    uses, names : list of int, list of str
        Row of the uses and name of the street of each piece.
    starts, ends : list of int
        Nodes of the edge of each piece, in the direction of travel.
    """

    def __init__(self, tables: StreetTables, pieces: list[Piece]) -> None:
        self.pieces = pieces
        self.coordinates, self.indptr = parts_of_lines(tables, pieces)
        self.points: list[list[float]] = self.coordinates.tolist()
        self._rows: list[int] = self.indptr.tolist()
        directed = np.array([piece.directed for piece in pieces], np.int64)
        edge, is_backward = directed // 2, directed % 2 == 1
        self.uses: list[int] = tables.edge_use[edge].tolist()
        self.names = [tables.names[name] for name in tables.edge_name[edge].tolist()]
        tail, head = tables.edge_from[edge], tables.edge_to[edge]
        self.starts: list[int] = np.where(is_backward, head, tail).tolist()
        self.ends: list[int] = np.where(is_backward, tail, head).tolist()

    def aim(self, number: int, *, at_end: bool) -> float | None:
        """Return the bearing of the first (or last) metres of a piece; see `_aim`."""
        first, last = self._rows[number], self._rows[number + 1]
        return _aim(self.points[first:last], at_end=at_end)

    def angle(self, number: int) -> float:
        """Return the turning angle at the start of a piece in degrees, positive to the right; 0 if there is none."""
        start, end = self.aim(number - 1, at_end=True), self.aim(number, at_end=False)
        if start is None or end is None:
            return 0.0
        return (end - start + 540.0) % 360.0 - 180.0

    def heading(self, numbers: Iterable[int], *, at_end: bool) -> float | None:
        """Return the bearing of the first of some pieces that is not a point."""
        aims = (self.aim(number, at_end=at_end) for number in numbers)
        return next((aim for aim in aims if aim is not None), None)

    def lines(self, stretches: list[_Stretch]) -> list[shapely.LineString]:
        """Return the lines of stretches."""
        return lines_between(
            self.coordinates,
            self.indptr[[stretch.first for stretch in stretches]],
            self.indptr[[stretch.last for stretch in stretches]],
        )

    def part(self, first: int, last: int) -> FloatArray:
        """Return the coordinates of consecutive pieces."""
        return self.coordinates[self.indptr[first] : self.indptr[last]]


#: Streets at each node, and a CSR of the open directed edges that leave each node.
OpenEnds = tuple[Int64Array, Int64Array, Int64Array]
_OPEN_ENDS = Derived[None, OpenEnds]("open ends")


class Narrator:
    """
    Build the legs of routes on one search graph.

    Parameters
    ----------
    streets : StreetLayer
    graph : RoadGraph
        The graph that was searched.
    base : {"walking", "cycling", "driving"}
    """

    def __init__(self, streets: StreetLayer, graph: RoadGraph, base: str) -> None:
        self.streets = streets
        self.graph = graph
        self.mode = STREET_MODES[base].leg
        t = streets.tables
        self._is_ferry: list[bool] = t.uses["is_ferry"].tolist()
        # Tolls are those of motor vehicles.
        self._has_toll: list[bool] = (t.uses["is_toll"] & STREET_MODES[base].has_traffic).tolist()
        self._is_roundabout: list[bool] = t.uses["is_roundabout"].tolist()

    def legs(self, path: Path, here: FloatArray, there: FloatArray) -> tuple[Leg, ...]:
        """
        Return the legs of a path.

        Parameters
        ----------
        path : Path
        here, there : float64 arrays of shape (2,)
            (lng, lat) of the origin and of the destination.

        Returns
        -------
        tuple of Leg
            Legs without moments; their times and distances sum to those of the path.
        """
        if not path.pieces:
            return ()
        way = _Way(self.streets.tables, path.pieces)
        leaving = np.array([here, way.coordinates[0]])
        arriving = np.array([way.coordinates[-1], there])
        drafts = self._drafts(way)
        clock = _Clock()
        legs = []
        for n, draft in enumerate(drafts):
            first, last = draft.stretches[0].first, draft.stretches[-1].last
            if draft.mode == "boarding":
                legs.append(_plain_leg(draft, line_of([way.part(first, first + 1)[:1]]), clock))
                continue
            if draft.mode == "ferry":
                legs.append(_plain_leg(draft, line_of([way.part(first, last)]), clock))
                continue
            steps, lines = [], [way.part(first, last)]
            if n == 0:
                heading = way.heading(range(first, last), at_end=False)
                steps.append(_connector(path.access, leaving, heading, clock, is_start=True))
                lines.insert(0, leaving)
            for k, (stretch, line) in enumerate(zip(draft.stretches, way.lines(draft.stretches), strict=True)):
                steps.append(self._step(stretch, line, clock, is_first=k == 0))
            if n == len(drafts) - 1:
                heading = way.heading(reversed(range(first, last)), at_end=True)
                steps.append(_connector(path.egress, arriving, heading, clock, is_start=False))
                lines.append(arriving)
            legs.append(self._leg(draft, steps, line_of(lines)))
        return tuple(legs)

    def _drafts(self, way: _Way) -> list[_Draft]:
        """Group pieces into legs, and the pieces of streets into stretches."""
        drafts: list[_Draft] = []
        for number, (piece, use, name) in enumerate(zip(way.pieces, way.uses, way.names, strict=True)):
            is_ferry = self._is_ferry[use]
            mode: Mode = "ferry" if is_ferry else self.mode
            if piece.boarding:
                drafts.append(_Draft("boarding", [_Stretch(number, number, piece.boarding)], name))
            if not drafts or drafts[-1].mode != mode or (is_ferry and piece.boarding):
                drafts.append(_Draft(mode, name=name if is_ferry else ""))
            draft = drafts[-1]
            if is_ferry:
                if not draft.stretches:
                    draft.stretches.append(_Stretch(number, number))
                draft.stretches[0].last = number + 1
                draft.stretches[0].label += piece.label
                draft.name = draft.name or name
            else:
                draft.toll_cm += label_parts.cm(piece.label) * self._has_toll[use]
                self._add(draft.stretches, way, number)
        return drafts

    def _add(self, stretches: list[_Stretch], way: _Way, number: int) -> None:
        """Add a piece of street to the last stretch, or begin a new one."""
        now = stretches[-1] if stretches else None
        label, name, is_roundabout = way.pieces[number].label, way.names[number], self._is_roundabout[way.uses[number]]
        new = _Stretch(number, number + 1, label, name, exits=self._exits(way, number) if is_roundabout else None)
        if now is None:
            stretches.append(new)
            return
        if new.exits is not None:
            if now.exits is None:
                new.turn = "roundabout"
                stretches.append(new)
                return
            now.exits += new.exits
        elif now.exits is not None:
            # The street after the exit of a roundabout belongs to the same step.
            if now.turn == "roundabout":
                now.taken_exit = max(now.exits, 1)
            now.exits, now.name = None, name
        else:
            angle = way.angle(number)
            length_m = label_parts.cm(label) / 100.0
            turns_here = abs(angle) >= _TURN and (self._is_junction(way.starts[number]) or abs(angle) >= _SHARP)
            is_other = name != now.name and (bool(name) or length_m >= _NAMELESS_M)
            if turns_here or is_other:
                new.turn, new.stays = _turn_of(angle), bool(name) and name == now.name
                stretches.append(new)
                return
        now.last = number + 1
        now.label += label

    def _open_ends(self) -> OpenEnds:
        """Return the number of streets at each node, and a CSR of the open directed edges that leave each node."""
        t, is_open = self.streets.tables, self.graph.topology.is_open
        usable = is_open[0::2] | is_open[1::2]
        n = self.streets.n_nodes
        streets = np.bincount(t.edge_from[usable], minlength=n) + np.bincount(t.edge_to[usable], minlength=n)
        tail = np.empty(is_open.size, np.int64)
        tail[0::2], tail[1::2] = t.edge_from, t.edge_to
        leaving = np.flatnonzero(is_open)
        leaving = leaving[np.argsort(tail[leaving], kind="stable")]
        return streets, np.searchsorted(tail[leaving], np.arange(n + 1)), leaving

    def _ends(self) -> OpenEnds:
        """Return the result of `_open_ends`, computed once per topology."""
        return _OPEN_ENDS.of(self.graph.topology, None, self._open_ends)

    def _is_junction(self, node: int) -> bool:
        """Return whether three or more streets meet at a node."""
        return int(self._ends()[0][node]) >= 3

    def _exits(self, way: _Way, number: int) -> int:
        """Return 1 if a roundabout has an exit at the end of one of its pieces, otherwise 0."""
        if way.pieces[number].end < 1.0:
            return 0
        _, indptr, leaving = self._ends()
        node = way.ends[number]
        others = self.streets.tables.edge_use[leaving[indptr[node] : indptr[node + 1]] // 2]
        return int(not all(self._is_roundabout[use] for use in others.tolist()))

    def _step(self, stretch: _Stretch, line: shapely.LineString, clock: _Clock, *, is_first: bool) -> Step:
        """Return a stretch of street as a step."""
        seconds, metres = clock.add(stretch.label)
        far = f"{_VERBS[self.mode]} {_rounded(metres)} m"
        onto = f" onto {stretch.name}" if stretch.name else ""
        turn = None if is_first else stretch.turn
        if turn is None:
            words = far.capitalize() + (f" along {stretch.name}" if stretch.name else "")
        elif turn == "roundabout":
            exit_words = f"take exit {stretch.taken_exit}{onto}" if stretch.taken_exit else f"go round{onto}"
            words = f"At the roundabout {exit_words} and {far}"
        elif turn == "straight":
            words = f"Continue{onto} and {far}"
        else:
            words = f"{_WORDS[turn]}{f' to stay on {stretch.name}' if stretch.stays else onto} and {far}"
        return Step("road", words, seconds, metres, line, road=stretch.name or None, turn=turn)

    def _leg(self, draft: _Draft, steps: list[Step], line: shapely.LineString) -> Leg:
        """Return a leg on streets."""
        metres = sum(round(step.distance * 100.0) for step in steps) / 100.0
        return Leg(
            mode=draft.mode,
            directions=f"{_VERBS[self.mode]} {_rounded(metres)} m".capitalize(),
            travel_time=sum(step.travel_time for step in steps),
            distance=metres,
            geometry=line,
            steps=tuple(steps),
            toll_distance=draft.toll_cm / 100.0,
        )


@dataclass
class _Clock:
    """Convert labels to whole seconds and metres that add up to those of the whole route."""

    label: int = 0

    def add(self, label: int) -> tuple[int, float]:
        """Add a label; return the seconds and metres by which the rounded totals grow."""
        before = _seconds(self.label)
        self.label += label
        return _seconds(self.label) - before, label_parts.cm(label) / 100.0


def _seconds(label: int) -> int:
    """Return the seconds of a label, rounded as in `time_filter`."""
    return whole_seconds(label_parts.ms(label))


def _plain_leg(draft: _Draft, line: shapely.LineString, clock: _Clock) -> Leg:
    """Return the leg of a ferry, or of boarding one."""
    (stretch,) = draft.stretches
    seconds, metres = clock.add(stretch.label)
    what = f"the ferry {draft.name}" if draft.name else "the ferry"
    words = f"Board {what}" if draft.mode == "boarding" else f"Take {what} for {_rounded(metres)} m"
    return Leg(draft.mode, words, seconds, metres, line, name=draft.name)


def _connector(label: int, ends: FloatArray, heading: float | None, clock: _Clock, *, is_start: bool) -> Step:
    """Return the connector between a point and its street as a step."""
    seconds, metres = clock.add(label)
    if heading is None:
        heading = _aim(ends.tolist(), at_end=not is_start)
    direction = _COMPASS[round((heading or 0.0) / 45.0) % 8]
    words = f"Start heading {direction}" if is_start else "Arrive at the destination"
    return Step("start_end", words, seconds, metres, line_of([ends]), direction=direction)


def _rounded(metres: float) -> int:
    """Return a distance rounded for directions in words."""
    return int(half_up(metres))


def _aim(line: list[list[float]], *, at_end: bool) -> float | None:
    """Return the compass bearing of the first (or last) metres of a line; None for a line of zero length."""
    points = reversed(line) if at_end else iter(line)
    lng, lat = next(points)
    shrink = math.cos(math.radians(lat))
    x = y = gone = 0.0
    for next_lng, next_lat in points:
        dx, dy = (next_lng - lng) * shrink * _DEGREE_M, (next_lat - lat) * _DEGREE_M
        lng, lat = next_lng, next_lat
        length = math.hypot(dx, dy)
        part = min(1.0, (_AIM_M - gone) / length) if length > 0.0 else 0.0
        x, y, gone = x + part * dx, y + part * dy, gone + length
        if gone >= _AIM_M:
            break
    if math.hypot(x, y) < 0.01:
        return None
    return (math.degrees(math.atan2(x, y)) + (180.0 if at_end else 0.0)) % 360.0


def _turn_of(angle: float) -> Turn:
    """Return the name of a turn."""
    size = abs(angle)
    if size < _SLIGHT:
        return "straight"
    if size >= _BACK:
        return "u_turn"
    if angle < 0.0:
        return "slight_left" if size < _TURN else "left" if size < _SHARP else "sharp_left"
    return "slight_right" if size < _TURN else "right" if size < _SHARP else "sharp_right"
