"""
The pathways of stations: the edges between entrances, platforms and the places between them.

The rows are those of pathways.txt in GTFS whose stations can be used, see `traveltime_lab.readers.gtfs.pathways`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray, Int32Array, UInt8Array, arrays_by_field
from traveltime_lab._digests import digest, parts_of

#: Values of pathway_mode. Source: gtfs.org/documentation/schedule/reference, pathways.txt.
WALKWAY, STAIRS, MOVING_WALKWAY, ESCALATOR, ELEVATOR, FARE_GATE, EXIT_GATE = range(1, 8)
#: The values in words.
PATHWAY_WORDS: Final[Mapping[int, str]] = {
    WALKWAY: "walkway",
    STAIRS: "stairs",
    MOVING_WALKWAY: "moving walkway",
    ESCALATOR: "escalator",
    ELEVATOR: "elevator",
    FARE_GATE: "fare gate",
    EXIT_GATE: "exit gate",
}
#: Values of location_type.
PLATFORM, STATION, ENTRANCE, NODE, BOARDING_AREA = range(5)


@dataclass(frozen=True)
class Pathways:
    """
    The pathways of a timetable, each of shape (n_pathways,).

    Attributes
    ----------
    start, end : int32 arrays
        Stops (stop_idx) at both ends.
    kind : uint8 array
        pathway_mode, 1 to 7.
    is_two_way : bool array
        Whether it can be used from `end` to `start`, too.
    seconds : int32 array, s
        traversal_time, -1 where not given.
    metres : float64 array, m
        Length, NaN where not given.
    stairs : int32 array
        Number of stairs, upwards if positive; 0 where not given.
    slope : float64 array
        max_slope, NaN where not given.
    width : float64 array, m
        min_width, NaN where not given.
    is_closed : bool array
        Whether a change, or an alert, has closed it.
    ids, signs, signs_back : tuple of str
        pathway_id, signposted_as and reversed_signposted_as.
    levels : tuple of (str, str)
        Names of the levels at both ends, "" where not given.
    """

    start: Int32Array
    end: Int32Array
    kind: UInt8Array
    is_two_way: BoolArray
    seconds: Int32Array
    metres: FloatArray
    stairs: Int32Array
    slope: FloatArray
    width: FloatArray
    is_closed: BoolArray
    ids: tuple[str, ...]
    signs: tuple[str, ...]
    signs_back: tuple[str, ...]
    levels: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in arrays_by_field(self).values():
            array.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of pathways."""
        return self.start.size

    @property
    def texts(self) -> dict[str, tuple[Any, ...]]:
        """The attributes that are not arrays."""
        arrays = arrays_by_field(self)
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in arrays}

    @property
    def fingerprint(self) -> bytes:
        """Hash of everything that results depend on."""
        return digest(*parts_of(arrays_by_field(self)), repr(self.texts).encode()).digest()

    def take(self, rows: BoolArray) -> Pathways:
        """Return the pathways of some rows."""
        chosen = np.flatnonzero(rows).tolist()
        values: dict[str, Any] = {name: array[rows] for name, array in arrays_by_field(self).items()}
        values |= {name: tuple(text[k] for k in chosen) for name, text in self.texts.items()}
        return Pathways(**values)

    def renumbered(self, number: Int32Array) -> Pathways | None:
        """Return the pathways with new numbers of stops, without those that lose one (-1); None if none is left."""
        kept = (number[self.start] >= 0) & (number[self.end] >= 0)
        left = self.take(kept)
        return replace(left, start=number[left.start], end=number[left.end]) if kept.any() else None

    @classmethod
    def joined(cls, parts: Sequence[tuple[Pathways, int]]) -> Pathways:
        """Return the pathways of several feeds, given the number by which the stops of each are shifted."""
        each = [arrays_by_field(part) for part, _ in parts]
        values: dict[str, Any] = {name: np.concatenate([arrays[name] for arrays in each]) for name in each[0]}
        for name in ("start", "end"):
            moved = [getattr(part, name) + offset for part, offset in parts]
            values[name] = np.concatenate(moved).astype(np.int32)
        values |= {name: sum((part.texts[name] for part, _ in parts), ()) for name in parts[0][0].texts}
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the pathways as lists, ready for JSON; NaN becomes None."""
        lists = {name: array.tolist() for name, array in arrays_by_field(self).items()}
        for name in ("metres", "slope", "width"):
            lists[name] = [None if value != value else value for value in lists[name]]
        return lists | {name: list(text) for name, text in self.texts.items()}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], n_stops: int) -> Pathways:
        """
        Return the pathways of `to_json`.

        Raises
        ------
        KeyError, ValueError
            If a value is missing, or breaks its rule.
        """
        dtypes = {
            "start": np.int32, "end": np.int32, "kind": np.uint8, "is_two_way": np.bool_, "seconds": np.int32,
            "metres": np.float64, "stairs": np.int32, "slope": np.float64, "width": np.float64, "is_closed": np.bool_,
        }  # fmt: skip
        try:
            arrays: dict[str, Any] = {name: np.array(facts[name], dtype) for name, dtype in dtypes.items()}
            texts: dict[str, Any] = {
                name: tuple(str(text) for text in facts[name]) for name in ("ids", "signs", "signs_back")
            }
            levels = tuple((str(first), str(last)) for first, last in facts["levels"])
        except (TypeError, OverflowError) as error:
            msg = f"pathways contain a value of a wrong type: {error}"
            raise ValueError(msg) from error
        n = arrays["start"].size
        if any(array.shape != (n,) for array in arrays.values()) or {n} != {*map(len, texts.values()), len(levels)}:
            raise ValueError("pathways are not of one length")
        ends = np.concatenate([arrays["start"], arrays["end"]])
        if n and not (ends.min() >= 0 and ends.max() < n_stops):
            raise ValueError("pathways have a stop that does not exist")
        if n and not (arrays["kind"].min() >= 1 and arrays["kind"].max() <= EXIT_GATE):
            raise ValueError("pathways have a pathway_mode that does not exist")
        if (arrays["seconds"] < -1).any() or (arrays["metres"] < 0).any() or np.isinf(arrays["metres"]).any():
            raise ValueError("pathways have a negative or infinite time or length")
        return cls(**arrays, **texts, levels=levels)


def roots(parent: Int32Array) -> Int32Array:
    """
    Return the station of each stop, the stop itself if it has none.

    Parameters
    ----------
    parent : int32 array of shape (n_stops,)
        Parent station or, for boarding areas, platform; -1 for none.
    """
    root = np.arange(parent.size, dtype=np.int32)
    # Boarding areas belong to platforms, and these to stations. Files may have longer chains, and cycles.
    for _ in range(2):
        above = parent[root]
        root = np.where(above >= 0, above, root).astype(np.int32)
    return root


class Arcs(NamedTuple):
    """
    The directions in which pathways can be used.

    Attributes
    ----------
    tail, head : int32 arrays of shape (n_arcs,)
        Stops at the beginning and at the end.
    row : intp array of shape (n_arcs,)
        Pathway, -1 between a boarding area and its platform, which are one place (assumed).
    is_back : bool array of shape (n_arcs,)
        Whether the pathway is used from its end to its start.
    """

    tail: Int32Array
    head: Int32Array
    row: IndexArray
    is_back: BoolArray

    @classmethod
    def of(cls, pathways: Pathways, location_type: AnyArray, parent: AnyArray) -> Arcs:
        """Return the arcs of pathways, and those between boarding areas and platforms, by two columns of the stops."""
        there = np.arange(len(pathways))
        back = np.flatnonzero(pathways.is_two_way)
        areas = np.flatnonzero((location_type == BOARDING_AREA) & (parent >= 0)).astype(np.int32)
        above = parent[areas].astype(np.int32)
        none = np.full(2 * areas.size, -1, np.intp)
        return cls(
            np.concatenate([pathways.start, pathways.end[back], areas, above]).astype(np.int32),
            np.concatenate([pathways.end, pathways.start[back], above, areas]).astype(np.int32),
            np.concatenate([there, back, none]),
            np.concatenate([np.zeros(there.size, np.bool_), np.ones(back.size, np.bool_), none < -1]),
        )

    def take(self, rows: BoolArray) -> Arcs:
        """Return some of the arcs."""
        return Arcs(self.tail[rows], self.head[rows], self.row[rows], self.is_back[rows])

    def reached(self, start: BoolArray, *, is_backward: bool = False) -> BoolArray:
        """Return which stops are reached from some of them, or (`is_backward`) from which of them those are reached."""
        from scipy.sparse import coo_array  # noqa: PLC0415 - takes long to import; most feeds have no pathways
        from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415

        tail, head = (self.head, self.tail) if is_backward else (self.tail, self.head)
        # One more place leads to all places of the start, so that one search finds everything.
        n = start.size
        first = np.flatnonzero(start)
        tails, heads = np.concatenate([tail, np.full(first.size, n)]), np.concatenate([head, first])
        graph = coo_array((np.ones(tails.size, np.bool_), (tails, heads)), shape=(n + 1, n + 1)).tocsr()
        found = np.zeros(n + 1, np.bool_)
        found[breadth_first_order(graph, n, return_predecessors=False)] = True
        return found[:n]
