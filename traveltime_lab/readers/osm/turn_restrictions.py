"""Read turn restrictions: relations of ways and nodes become sequences of directed edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array
from traveltime_lab.readers.osm.extract import Relation

# Most specific first. Restrictions for goods vehicles or buses only do not apply to cars.
_KEYS = ("restriction:motorcar", "restriction:motor_vehicle", "restriction")
# The tagging that :conditional replaced.
_OLD_CONDITIONS = ("day_on", "hour_on")
_EXEMPT = frozenset({"motorcar", "motor_vehicle", "vehicle"})
_KINDS = frozenset(
    {f"no_{turn}" for turn in ("left_turn", "right_turn", "straight_on", "u_turn", "entry", "exit", "turn")}
    | {f"only_{turn}" for turn in ("left_turn", "right_turn", "straight_on", "u_turn")}
)
# Real restrictions have three at most (assumed). The limit bounds the search for a path in a broken relation.
_MOST_VIA_WAYS = 8


class TurnRestriction(NamedTuple):
    """
    One restriction by the ids of its ways and its node; `via_node` is 0 if it goes via ways.

    Of several `from_ways` or `to_ways` it means the one that meets the node or way between: mappers also list the
    pieces of a street before and behind it.
    """

    is_only: bool
    from_ways: tuple[int, ...]
    via_node: int
    via_ways: tuple[int, ...]
    to_ways: tuple[int, ...]


class DirectedRestrictions(NamedTuple):
    """Columns of `traveltime_lab.streets.tables.StreetTables`, and counts of dropped relations by reason."""

    is_only: BoolArray
    indptr: Int64Array
    edges: Int32Array
    report: dict[str, int]


def turn_restrictions(relations: Sequence[Relation]) -> tuple[list[TurnRestriction], Counter[str]]:
    """
    Return the restrictions that apply to cars, and counts of the other relations by reason.

    ``no_entry`` with several ``from`` members and ``no_exit`` with several ``to`` members become one restriction for
    each of them. Time-dependent restrictions (``restriction:conditional``, ``day_on``) are dropped; a restriction with
    exceptions at some times applies at all times. See `n_conditional` for the number of both.
    """
    found: list[TurnRestriction] = []
    dropped: Counter[str] = Counter()
    for relation in relations:
        outcome = _read(relation)
        if isinstance(outcome, str):
            dropped[outcome] += 1
        else:
            found.extend(outcome)
    return found, dropped


def _read(relation: Relation) -> list[TurnRestriction] | str:
    tags = relation.tags
    kind = next((tags[key] for key in _KEYS if key in tags), None)
    if kind is None:
        return "conditional" if _is_conditional(tags) else "other_vehicles"
    if any(key in tags for key in _OLD_CONDITIONS):
        return "conditional"
    if kind not in _KINDS:
        return "unknown_kind"
    if _EXEMPT & {word.strip() for word in tags.get("except", "").split(";")}:
        return "cars_exempt"
    sources = [ref for letter, ref, role in relation.members if letter == "w" and role == "from"]
    targets = [ref for letter, ref, role in relation.members if letter == "w" and role == "to"]
    via_nodes = [ref for letter, ref, role in relation.members if letter == "n" and role == "via"]
    via_ways = tuple(ref for letter, ref, role in relation.members if letter == "w" and role == "via")
    if len(via_ways) > _MOST_VIA_WAYS:
        return "too_many_via_ways"
    if not sources or not targets or bool(via_ways) == (len(via_nodes) == 1):
        return "incomplete_relation"
    via_node = via_nodes[0] if not via_ways else 0
    # From each of several ways no entry, to each of several no exit; of others one is meant.
    entries = [(way,) for way in sources] if kind == "no_entry" else [tuple(dict.fromkeys(sources))]
    exits = [(way,) for way in targets] if kind == "no_exit" else [tuple(dict.fromkeys(targets))]
    return [
        TurnRestriction(kind.startswith("only_"), source, via_node, via_ways, target)
        for source, target in product(entries, exits)
    ]


def n_conditional(relations: Sequence[Relation]) -> int:
    """Return the number of restrictions for cars with a condition, such as hours, which is not honoured."""
    return sum(_is_conditional(relation.tags) for relation in relations)


def _is_conditional(tags: Mapping[str, str]) -> bool:
    """Return whether a restriction for cars holds at some times only, or has exceptions then."""
    is_for_cars = any(key in tags for key in _KEYS)
    return any(f"{key}:conditional" in tags for key in _KEYS) or (
        is_for_cars and any(key in tags for key in _OLD_CONDITIONS)
    )


@dataclass(frozen=True)
class DrivableEdges:
    """The directed edges that are open to cars, by way; restrictions are mapped to them."""

    from_node: Int64Array
    to_node: Int64Array
    is_open_forward: BoolArray
    is_open_backward: BoolArray
    #: First and last edge (exclusive) of each way that is a member of a restriction.
    ranges: dict[int, tuple[int, int]]

    def of_way(self, way_id: int) -> Iterator[tuple[int, int, int]]:
        """Yield (directed edge, its first node, its last node) of a way."""
        for edge in range(*self.ranges.get(way_id, (0, 0))):
            ends = int(self.from_node[edge]), int(self.to_node[edge])
            if self.is_open_forward[edge]:
                yield 2 * edge, ends[0], ends[1]
            if self.is_open_backward[edge]:
                yield 2 * edge + 1, ends[1], ends[0]


def to_directed_edges(
    restrictions: Sequence[TurnRestriction], edges: DrivableEdges, node_idx: dict[int, int]
) -> DirectedRestrictions:
    """
    Return restrictions as sequences of directed edges in travel order: from, via, to.

    Parameters
    ----------
    restrictions : sequence of TurnRestriction
        From `turn_restrictions`.
    edges : DrivableEdges
        The edges that are open to cars.
    node_idx : dict of int to int
        Index of each via node by its id.

    Returns
    -------
    DirectedRestrictions
        A restriction is dropped and counted if a way is not in the file or is closed to cars in the required
        direction, if the ways do not meet, if several of its ways do, or if a way continues beyond the via node, so
        that it is ambiguous which part of it is meant.
    """
    rows: list[tuple[int, ...]] = []
    is_only: list[bool] = []
    dropped: Counter[str] = Counter()
    for restriction in restrictions:
        usable = [
            (source, target)
            for source, target in product(restriction.from_ways, restriction.to_ways)
            if all(way in edges.ranges for way in (source, *restriction.via_ways, target))
        ]
        if not usable:
            dropped["way_not_in_file_or_unusable"] += 1
            continue
        every = [_sequences(source, target, restriction, edges, node_idx) for source, target in usable]
        meeting = [sequences for sequences in every if sequences]
        if not meeting:
            dropped["not_drivable_or_not_connected"] += 1
        elif len(meeting) > 1:
            dropped["ambiguous_members"] += 1
        elif len(meeting[0]) > 1:
            dropped["ambiguous_geometry"] += 1
        else:
            rows.append(meeting[0][0])
            is_only.append(restriction.is_only)
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    flat = np.array([edge for row in rows for edge in row], np.int32)
    return DirectedRestrictions(np.array(is_only, np.bool_), indptr, flat, dict(dropped))


def _sequences(
    source: int, target: int, restriction: TurnRestriction, edges: DrivableEdges, node_idx: dict[int, int]
) -> list[tuple[int, ...]]:
    """Return the sequences of edges from one way to another over what is between them."""
    if restriction.via_ways:
        return _sequences_via_ways(source, target, restriction.via_ways, edges)
    via = node_idx.get(restriction.via_node, -1)
    arriving = [edge for edge, _, last in edges.of_way(source) if last == via]
    leaving = [edge for edge, first, _ in edges.of_way(target) if first == via]
    return _turns(arriving, leaving, is_same_way=source == target)


def _turns(arriving: list[int], leaving: list[int], *, is_same_way: bool) -> list[tuple[int, ...]]:
    pairs = list(product(arriving, leaving))
    if is_same_way:  # a U-turn returns on the same edge; continuing along the way is never restricted
        return [(a, b) for a, b in pairs if b == a ^ 1]
    return [(a, b) for a, b in pairs if b != a ^ 1]


def _sequences_via_ways(
    source: int, target: int, via_ways: tuple[int, ...], edges: DrivableEdges
) -> list[tuple[int, ...]]:
    """Return the shortest sequences of edges from the from way over the via ways, in any order, to the to way."""
    steps: dict[int, list[tuple[int, int, int]]] = {}
    for number, way in enumerate(via_ways):
        for edge, first, last in edges.of_way(way):
            steps.setdefault(first, []).append((edge, last, number))
    leaving: dict[int, list[int]] = {}
    for edge, first, _ in edges.of_way(target):
        leaving.setdefault(first, []).append(edge)
    found: list[tuple[int, ...]] = []
    all_vias = frozenset(range(len(via_ways)))
    for start, _, end in edges.of_way(source):
        stack: list[tuple[tuple[int, ...], int, frozenset[int]]] = [((start,), end, frozenset())]
        while stack:
            path, node, used = stack.pop()
            if used == all_vias:
                found.extend((*path, edge) for edge in leaving.get(node, ()) if edge != path[-1] ^ 1)
            for edge, last, number in steps.get(node, ()):
                if edge not in path and edge ^ 1 not in path:
                    stack.append(((*path, edge), last, used | {number}))
    fewest = min((len(sequence) for sequence in found), default=0)
    return [sequence for sequence in found if len(sequence) == fewest]
