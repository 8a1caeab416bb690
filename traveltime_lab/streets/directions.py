"""
Turn the pieces of a route into legs and steps with directions in words.

A new step begins at a street with another name, at a turn at a junction, and at a roundabout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab.itinerary import Leg, Mode, Step, Turn
from traveltime_lab.modes.table import STREET_MODES
from traveltime_lab.rounding import half_up, whole_seconds
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.paths import line_of, part_of_line
from traveltime_lab.streets.pieces import Path, Piece

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
    """Pieces of one step, collected one by one."""

    lines: list[FloatArray]
    label: int = 0
    name: str = ""
    turn: Turn | None = None
    #: Number of exits passed on a roundabout that the stretch has not left yet; None elsewhere.
    exits: int | None = None
    taken_exit: int | None = None
    stays: bool = False


@dataclass
class _Draft:
    """Pieces of one leg, collected one by one."""

    mode: Mode
    stretches: list[_Stretch] = field(default_factory=list)
    name: str = ""
    toll_cm: int = 0


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
        self._names = t.names
        self._is_ferry = t.uses["is_ferry"].to_numpy()
        # Tolls are those of motor vehicles.
        self._has_toll = t.uses["is_toll"].to_numpy() & STREET_MODES[base].has_traffic
        self._is_roundabout = t.uses["is_roundabout"].to_numpy()

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
        leaving = np.array([here, part_of_line(self.streets.tables, path.pieces[0])[0]])
        arriving = np.array([part_of_line(self.streets.tables, path.pieces[-1])[-1], there])
        drafts = self._drafts(path.pieces)
        clock = _Clock()
        legs = []
        for n, draft in enumerate(drafts):
            if draft.mode in ("ferry", "boarding"):
                legs.append(_plain_leg(draft, clock))
                continue
            lines = [line for stretch in draft.stretches for line in stretch.lines]
            steps = []
            if n == 0:
                aims = (_aim(line, at_end=False) for line in lines)
                heading = next((aim for aim in aims if aim is not None), None)
                steps.append(_connector(path.access, leaving, heading, clock, is_start=True))
            steps += [self._step(stretch, clock, is_first=k == 0) for k, stretch in enumerate(draft.stretches)]
            if n == len(drafts) - 1:
                aims = (_aim(line, at_end=True) for line in reversed(lines))
                heading = next((aim for aim in aims if aim is not None), None)
                steps.append(_connector(path.egress, arriving, heading, clock, is_start=False))
            legs.append(self._leg(draft, steps))
        return tuple(legs)

    def _drafts(self, pieces: list[Piece]) -> list[_Draft]:
        """Group pieces into legs, and the pieces of streets into stretches."""
        t = self.streets.tables
        drafts: list[_Draft] = []
        for piece in pieces:
            use = t.edge_use[piece.directed // 2]
            name = self._names[t.edge_name[piece.directed // 2]]
            line = part_of_line(t, piece)
            is_ferry = bool(self._is_ferry[use])
            mode: Mode = "ferry" if is_ferry else self.mode
            if piece.boarding:
                drafts.append(_Draft("boarding", [_Stretch([line[:1]], piece.boarding)], name))
            if not drafts or drafts[-1].mode != mode or (is_ferry and piece.boarding):
                drafts.append(_Draft(mode, name=name if is_ferry else ""))
            draft = drafts[-1]
            if is_ferry:
                if not draft.stretches:
                    draft.stretches.append(_Stretch([]))
                draft.stretches[0].lines.append(line)
                draft.stretches[0].label += piece.label
                draft.name = draft.name or name
            else:
                draft.toll_cm += label_parts.cm(piece.label) * bool(self._has_toll[use])
                self._add(draft.stretches, piece, line, name, is_roundabout=bool(self._is_roundabout[use]))
        return drafts

    def _add(
        self, stretches: list[_Stretch], piece: Piece, line: FloatArray, name: str, *, is_roundabout: bool
    ) -> None:
        """Add a piece of street to the last stretch, or begin a new one."""
        now = stretches[-1] if stretches else None
        exits = self._exits(piece) if is_roundabout else 0
        if now is None:
            stretches.append(_Stretch([line], piece.label, name, exits=exits if is_roundabout else None))
            return
        if is_roundabout:
            if now.exits is None:
                stretches.append(_Stretch([line], piece.label, name, "roundabout", exits=exits))
                return
            now.exits += exits
        elif now.exits is not None:
            # The street after the exit of a roundabout belongs to the same step.
            if now.turn == "roundabout":
                now.taken_exit = max(now.exits, 1)
            now.exits, now.name = None, name
        else:
            angle = _angle(now.lines[-1], line)
            length_m = label_parts.cm(piece.label) / 100.0
            turns_here = abs(angle) >= _TURN and (self._is_junction(piece) or abs(angle) >= _SHARP)
            is_other = name != now.name and (bool(name) or length_m >= _NAMELESS_M)
            if turns_here or is_other:
                stays = bool(name) and name == now.name
                stretches.append(_Stretch([line], piece.label, name, _turn_of(angle), stays=stays))
                return
        now.lines.append(line)
        now.label += piece.label

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

    def _is_junction(self, piece: Piece) -> bool:
        """Return whether three or more streets meet where a piece begins."""
        t = self.streets.tables
        node = (t.edge_to if piece.directed % 2 else t.edge_from)[piece.directed // 2]
        return int(self._ends()[0][node]) >= 3

    def _exits(self, piece: Piece) -> int:
        """Return 1 if a roundabout has an exit at the end of one of its pieces, otherwise 0."""
        t = self.streets.tables
        if piece.end < 1.0:
            return 0
        node = (t.edge_from if piece.directed % 2 else t.edge_to)[piece.directed // 2]
        _, indptr, leaving = self._ends()
        others = leaving[indptr[node] : indptr[node + 1]] // 2
        return int(not self._is_roundabout[t.edge_use[others]].all())

    def _step(self, stretch: _Stretch, clock: _Clock, *, is_first: bool) -> Step:
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
        return Step("road", words, seconds, metres, line_of(stretch.lines), road=stretch.name or None, turn=turn)

    def _leg(self, draft: _Draft, steps: list[Step]) -> Leg:
        """Return a leg on streets."""
        metres = sum(round(step.distance * 100.0) for step in steps) / 100.0
        return Leg(
            mode=draft.mode,
            directions=f"{_VERBS[self.mode]} {_rounded(metres)} m".capitalize(),
            travel_time=sum(step.travel_time for step in steps),
            distance=metres,
            geometry=line_of([np.array(step.geometry.coords) for step in steps]),
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


def _plain_leg(draft: _Draft, clock: _Clock) -> Leg:
    """Return the leg of a ferry, or of boarding one."""
    (stretch,) = draft.stretches
    seconds, metres = clock.add(stretch.label)
    what = f"the ferry {draft.name}" if draft.name else "the ferry"
    words = f"Board {what}" if draft.mode == "boarding" else f"Take {what} for {_rounded(metres)} m"
    return Leg(draft.mode, words, seconds, metres, line_of(stretch.lines), name=draft.name)


def _connector(label: int, ends: FloatArray, heading: float | None, clock: _Clock, *, is_start: bool) -> Step:
    """Return the connector between a point and its street as a step."""
    seconds, metres = clock.add(label)
    if heading is None:
        heading = _aim(ends, at_end=not is_start)
    direction = _COMPASS[round((heading or 0.0) / 45.0) % 8]
    words = f"Start heading {direction}" if is_start else "Arrive at the destination"
    return Step("start_end", words, seconds, metres, line_of([ends]), direction=direction)


def _rounded(metres: float) -> int:
    """Return a distance rounded for directions in words."""
    return int(half_up(metres))


def _aim(line: FloatArray, *, at_end: bool) -> float | None:
    """Return the compass bearing of the first (or last) metres of a line; None for a line of zero length."""
    # Plain Python numbers are faster than arrays here: lines are short.
    first, step = (-1, -1) if at_end else (0, 1)
    lng, lat = line[first].tolist()
    shrink = math.cos(math.radians(lat))
    x = y = gone = 0.0
    n = len(line)
    for k in range(1, n):
        next_lng, next_lat = line[first + step * k].tolist()
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


def _angle(before: FloatArray, after: FloatArray) -> float:
    """Return the turning angle between two lines in degrees, positive to the right; 0 if one has zero length."""
    start, end = _aim(before, at_end=True), _aim(after, at_end=False)
    if start is None or end is None:
        return 0.0
    return (end - start + 540.0) % 360.0 - 180.0


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
