"""Read turn restrictions: relations of ways and nodes become sequences of directed edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array, indptr_of
from traveltime_lab.readers.osm.conditions import Held, read_conditions
from traveltime_lab.readers.osm.extract import Relation

_EXEMPT = frozenset({"motorcar", "motor_vehicle", "vehicle"})
# Real restrictions have three at most (assumed). The limit bounds the search for a path in a broken relation.
_MOST_VIA_WAYS = 8


class TurnRestriction(NamedTuple):
    """
    One restriction by the ids of its ways and its node; `via_node` is 0 if it goes via ways.

    If there are several `from_ways` or `to_ways`, the one that meets the node or way between them counts: mappers also
    list the pieces of a street before and behind it.
    """

    held: Held
    from_ways: tuple[int, ...]
    via_node: int
    via_ways: tuple[int, ...]
    to_ways: tuple[int, ...]


class DirectedRestrictions(NamedTuple):
    """Columns of `traveltime_lab.streets.tables.StreetTables`, and counts of dropped relations by reason."""

    is_only: BoolArray
    indptr: Int64Array
    edges: Int32Array
    timed: Int32Array
    timed_by_default: BoolArray
    timed_indptr: Int64Array
    timed_minutes: Int32Array
    report: dict[str, int]


class ReadRestrictions(NamedTuple):
    """
    The restrictions that apply to cars, and counts.

    Attributes
    ----------
    found : list of TurnRestriction
    dropped : Counter
        Relations without any restriction on cars, by reason.
    ignored : Counter
        Conditions on cars that are not honoured, by reason.
    n_with_ignored : int
        Number of relations that have such conditions.
    """

    found: list[TurnRestriction]
    dropped: Counter[str]
    ignored: Counter[str]
    n_with_ignored: int


def turn_restrictions(relations: Sequence[Relation]) -> ReadRestrictions:
    """
    Return the restrictions that apply to cars.

    ``no_entry`` with several ``from`` members and ``no_exit`` with several ``to`` members become one restriction for
    each of them. Conditions are read by `traveltime_lab.readers.osm.conditions.read_conditions`: a relation may say one
    thing at some hours and another at others, which become a restriction each.
    """
    read = ReadRestrictions([], Counter(), Counter(), 0)
    n_with_ignored = 0
    for relation in relations:
        reading = read_conditions(relation.tags)
        if not reading.is_for_cars:
            read.dropped["other_vehicles"] += 1
            continue
        if _EXEMPT & {word.strip() for word in relation.tags.get("except", "").split(";")}:
            read.dropped["cars_exempt"] += 1
            continue
        read.ignored.update(reading.ignored)
        n_with_ignored += bool(reading.ignored)
        if not reading.held:
            read.dropped["condition_not_understood" if reading.ignored else "unknown_kind"] += 1
            continue
        fault = _fault(relation)
        if fault is not None:
            read.dropped[fault] += 1
            continue
        for held in reading.held:
            read.found.extend(_restrictions(held, relation))
    return read._replace(n_with_ignored=n_with_ignored)


def _members(relation: Relation, letter: str, role: str) -> tuple[int, ...]:
    """Return the ways ("w") or nodes ("n") of a relation that have a role."""
    return tuple(ref for kind, ref, part in relation.members if kind == letter and part == role)


def _fault(relation: Relation) -> str | None:
    """Return why the members of a relation are no restriction, None if they are one."""
    via_ways = _members(relation, "w", "via")
    if len(via_ways) > _MOST_VIA_WAYS:
        return "too_many_via_ways"
    sources, targets = _members(relation, "w", "from"), _members(relation, "w", "to")
    if not sources or not targets or bool(via_ways) == (len(_members(relation, "n", "via")) == 1):
        return "incomplete_relation"
    return None


def _restrictions(held: Held, relation: Relation) -> list[TurnRestriction]:
    """Return the restrictions of one kind that the members of a relation describe."""
    sources, targets = _members(relation, "w", "from"), _members(relation, "w", "to")
    via_ways = _members(relation, "w", "via")
    via_node = _members(relation, "n", "via")[0] if not via_ways else 0
    # Several ways of "no_entry" and "no_exit" all count; otherwise one of them does.
    entries = [(way,) for way in sources] if held.kind == "no_entry" else [tuple(dict.fromkeys(sources))]
    exits = [(way,) for way in targets] if held.kind == "no_exit" else [tuple(dict.fromkeys(targets))]
    return [TurnRestriction(held, source, via_node, via_ways, target) for source, target in product(entries, exits)]


@dataclass(frozen=True)
class DrivableEdges:
    """The directed edges that are open to cars, by way; restrictions are mapped to them."""

    from_node: Int32Array
    to_node: Int32Array
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
    mapped: list[Held] = []
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
            mapped.append(restriction.held)
    timed = [number for number, held in enumerate(mapped) if held.hours]
    return DirectedRestrictions(
        np.array([held.kind.startswith("only_") for held in mapped], np.bool_),
        *_csr(rows),
        np.array(timed, np.int32),
        np.array([mapped[number].by_default for number in timed], np.bool_),
        *_csr([mapped[number].hours for number in timed]),
        dict(dropped),
    )


def _csr(rows: Sequence[tuple[int, ...]]) -> tuple[Int64Array, Int32Array]:
    """Return rows of different lengths as CSR."""
    return indptr_of([len(row) for row in rows]), np.array([value for row in rows for value in row], np.int32)


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
