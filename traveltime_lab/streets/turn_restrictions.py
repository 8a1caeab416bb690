"""
Apply turn restrictions to a graph of directed edges: remove turns, and add states for restrictions via other ways.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, unique_values
from traveltime_lab.streets.tables import StreetTables


class EdgeArcs(NamedTuple):
    """Arcs of a graph whose states are directed edges: states, directed edges, and milliseconds of the turns."""

    source: Int32Array
    target: Int32Array
    source_edge: Int32Array
    target_edge: Int32Array
    extra_ms: Int32Array


def apply_turn_bans(
    tables: StreetTables, source: Int32Array, target: Int32Array, is_open: BoolArray, holds: BoolArray
) -> tuple[BoolArray, list[tuple[bool, tuple[int, ...]]]]:
    """
    Return which turns remain after the restrictions of two edges, and the restrictions via other ways.

    Only restrictions with True in `holds` are considered. A mandatory turn onto a street that is closed to the mode is
    ignored, because it would close the junction.
    """
    indptr = tables.restriction_indptr
    n_directed = np.int64(is_open.size)
    keep = np.ones(source.size, np.bool_)
    lengths = np.diff(indptr)
    first = tables.restriction_edges[indptr[:-1]].astype(np.int64)
    last = tables.restriction_edges[indptr[1:] - 1].astype(np.int64)
    usable = holds & is_open[first] & is_open[last] if first.size else np.zeros(0, np.bool_)
    direct = (lengths == 2) & usable
    banned, compulsory = direct & ~tables.restriction_only, direct & tables.restriction_only
    # Few turns begin on a street with a restriction.
    is_first = np.zeros(is_open.size, np.bool_)
    is_first[first[direct]] = True
    here = np.flatnonzero(is_first[source])
    pair = source[here].astype(np.int64) * n_directed + target[here]
    is_refused = np.isin(pair, first[banned] * n_directed + last[banned])
    # If a street has several mandatory turns at one junction, each of them is allowed.
    chosen = unique_values(first[compulsory] * n_directed + last[compulsory])
    is_refused |= np.isin(source[here], first[compulsory]) & ~np.isin(pair, chosen)
    keep[here[is_refused]] = False
    paths = [
        (bool(tables.restriction_only[i]), tuple(int(d) for d in tables.restriction_edges[indptr[i] : indptr[i + 1]]))
        for i in np.flatnonzero((lengths > 2) & usable)
    ]
    return keep, [(only, path) for only, path in paths if all(is_open[d] for d in path)]


def add_path_states(
    paths: list[tuple[bool, tuple[int, ...]]],
    arcs: EdgeArcs,
    state_of_edge: Int32Array,
    n_states: int,
    is_zone: BoolArray,
) -> tuple[EdgeArcs, Int32Array]:
    """
    Add a state for every edge of a restricted path, so that its last turn can be removed for routes along the path.

    The states are the prefixes of the paths, as in the automaton of Aho and Corasick (CACM 1975): a turn leads to the
    longest prefix that is a suffix of the route so far. Paths over destination-only zones are ignored, because the
    streets of these have additional states already. Returns the arcs, and the directed edges of the added states.
    """
    paths = [(only, path) for only, path in paths if not any(is_zone[d] for d in path)]
    prefixes = {path[:k] for _, path in paths for k in range(2, len(path))}
    if not prefixes:
        return arcs, np.zeros(0, np.int32)
    ordered = sorted(prefixes)
    state_of_prefix = {prefix: n_states + i for i, prefix in enumerate(ordered)}
    refused = {path for only, path in paths if not only}
    compulsory: dict[tuple[int, ...], set[int]] = {}
    for only, path in paths:
        if only:
            compulsory.setdefault(path[:-1], set()).add(path[-1])

    def next_state(history: tuple[int, ...], plain_target: int) -> int | None:
        for begin in range(len(history) - 1):
            tail = history[begin:]
            if tail in refused or history[-1] not in compulsory.get(history[begin:-1], {history[-1]}):
                return None
        for begin in range(len(history) - 1):
            if history[begin:] in state_of_prefix:
                return state_of_prefix[history[begin:]]
        return plain_target

    # Redirect arcs that begin a path to its first additional state.
    arcs = arcs._replace(target=arcs.target.copy())
    rows: dict[int, list[int]] = {}
    interesting = {prefix[-1] for prefix in ordered} | {path[0] for _, path in paths}
    is_plain = state_of_edge[arcs.source_edge] == arcs.source
    for arc in np.flatnonzero(np.isin(arcs.source_edge, list(interesting)) & is_plain).tolist():
        rows.setdefault(int(arcs.source_edge[arc]), []).append(arc)
    added: list[tuple[int, int, int, int, int]] = []
    for prefix in ordered:
        for arc in rows.get(prefix[-1], []):
            end = int(arcs.target_edge[arc])
            state = next_state((*prefix, end), int(arcs.target[arc]))
            if state is not None:
                added.append((state_of_prefix[prefix], state, prefix[-1], end, int(arcs.extra_ms[arc])))
    for first in {path[0] for _, path in paths}:
        for arc in rows.get(first, []):
            pair = (first, int(arcs.target_edge[arc]))
            if pair in state_of_prefix:
                arcs.target[arc] = state_of_prefix[pair]
    new = np.array(added, dtype=np.int64).reshape(-1, 5)
    columns: tuple[AnyArray, ...] = arcs
    longer = (np.concatenate([old, new[:, k].astype(old.dtype)]) for k, old in enumerate(columns))
    return EdgeArcs(*longer), np.array([prefix[-1] for prefix in ordered], np.int32)
