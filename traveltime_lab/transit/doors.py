"""
The ends of walks at stops in itineraries: the stop itself, or the entrances of its station and the ways inside.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import shapely

from traveltime_lab.itinerary import Leg
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps
from traveltime_lab.transit.entrances import entrance_snaps
from traveltime_lab.transit.inside import Inside, inside
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.pathways import (
    ELEVATOR,
    ESCALATOR,
    EXIT_GATE,
    FARE_GATE,
    MOVING_WALKWAY,
    PATHWAY_WORDS,
    STAIRS,
    Pathways,
)
from traveltime_lab.transit.stop_links import LinkedStops

#: Kinds of pathways that directions name.
_NAMED: Final = frozenset({STAIRS, MOVING_WALKWAY, ESCALATOR, ELEVATOR, FARE_GATE, EXIT_GATE})
#: Those that lead to another level.
_BETWEEN_LEVELS: Final = frozenset({STAIRS, ESCALATOR, ELEVATOR})


class Door(NamedTuple):
    """
    A place where a walk on streets may begin or end.

    Attributes
    ----------
    snaps : Snaps of length 1
    snapping : Snapping
    label : int
        Time and length of the way inside between there and the stop, 0 for the stop itself.
    leg : Leg or None
        The way inside; its time is still to be rounded.
    """

    snaps: Snaps
    snapping: Snapping
    label: int = 0
    leg: Leg | None = None


class Doors:
    """The ends of walks at the stops of a layer."""

    def __init__(self, layer: TransitLayer, stops: LinkedStops, transportation: Transportation) -> None:
        self.layer, self.stops = layer, stops
        self.found = inside(layer, stops.walker)
        self.entrances = None if self.found is None else entrance_snaps(layer, transportation)
        frame = layer.timetable.stops
        self._names, self._ids = frame["stop_name"].to_numpy(object), frame["stop_id"].to_numpy(object)
        self._parents = frame["parent_idx"].to_numpy()
        self._lng, self._lat = (frame[name].to_numpy(np.float64) for name in ("stop_lon", "stop_lat"))

    def of(self, stop: int, *, is_leaving: bool) -> list[Door]:
        """Return the places by which a stop is left, or reached."""
        snaps = self.stops.side(is_leaving=is_leaving).snaps
        if self.found is None or self.entrances is None or snaps.indoors is None or not snaps.indoors.is_indoors[stop]:
            return [Door(snaps.take(np.array([stop])), STOP_SNAPPING)]
        links = self.found.leaving if is_leaving else self.found.entering
        rows = np.flatnonzero((links.start if is_leaving else links.end) == stop)
        doors = []
        for door, label in zip((links.end if is_leaving else links.start)[rows], links.label[rows], strict=True):
            place = self.entrances[1].take(np.flatnonzero(self.entrances[0] == door))
            if place.edge[0] < 0:
                continue
            ends = (stop, int(door)) if is_leaving else (int(door), stop)
            station = self._name(int(self._parents[stop])) or self._name(stop)
            if is_leaving:
                text = f"Leave {station} by {self._name(int(door)) or 'an exit'}"
            else:
                text = f"Enter {station} by {self._name(int(door)) or 'an entrance'}"
            doors.append(Door(place, STOP_SNAPPING, int(label), self._leg(self.found, *ends, text)))
        return doors

    def is_apart(self, a: int, b: int) -> bool:
        """Return whether two platforms at one position are different places."""
        return self.found is not None and a != b and bool(self.found.is_indoors[[a, b]].any())

    def change(self, a: int, b: int) -> tuple[Leg, int] | None:
        """Return the way inside between two platforms, and its label; None if there is none."""
        if self.found is None:
            return None
        label = int(self.found.between(np.array([a]), np.array([b]))[0])
        name = self._name(b)
        text = f"Change to {name}" if name else "Change"
        leg = self._leg(self.found, a, b, text)
        return None if leg is None else (replace(leg, travel_time=whole_seconds(label_parts.ms(label))), label)

    def _name(self, stop: int) -> str:
        return "" if stop < 0 else str(self._names[stop] or self._ids[stop])

    def _leg(self, found: Inside, start: int, end: int, text: str) -> Leg | None:
        """Return the leg of a way inside."""
        pathways = self.layer.timetable.pathways
        arcs = found.way(start, end)
        if arcs is None or pathways is None:
            return None
        label = sum(int(found.labels[arc]) for arc in arcs)
        words = in_words(pathways, [(int(found.arcs.row[arc]), bool(found.arcs.is_back[arc])) for arc in arcs])
        stops = [start, *(int(found.arcs.head[arc]) for arc in arcs)]
        line = np.column_stack([self._lng[stops], self._lat[stops]])
        line = line[~np.isnan(line).any(axis=1)]
        line = line[[0, -1]] if len(line) < 2 else line
        text = f"{text}: {words}" if words else text
        return Leg("walk", text, 0, label_parts.cm(label) / 100.0, shapely.LineString(line))


def in_words(pathways: Pathways, used: list[tuple[int, bool]]) -> str:
    """
    Return what is used on the way, such as ``"elevator to Mezzanine, fare gate, 2 stairs"``.

    Parameters
    ----------
    pathways : Pathways
    used : list of (int, bool)
        Rows, and whether they are used from their end to their start.
    """
    words = []
    for row, is_back in used:
        kind = int(pathways.kind[row]) if row >= 0 else 0
        if kind in _NAMED:
            level = pathways.levels[row][0 if is_back else 1] if kind in _BETWEEN_LEVELS else ""
            words.append(PATHWAY_WORDS[kind] + (f" to {level}" if level else ""))
    counted = ((word, len([*group])) for word, group in itertools.groupby(words))
    return ", ".join(word if n == 1 else f"{n} times {word}" for word, n in counted)
