"""
The rules of prepared values in saved networks; see `traveltime_lab.streets.columns`.

Prepared values go into kernels as they are. A new class, or a new array of one, needs a rule here: `check_value`
refuses what has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np

from traveltime_lab.streets.columns import Column, check_column
from traveltime_lab.transit.walks import distance_cm

#: Rows and columns of a block of a grid, and its cells; see `traveltime_lab.kernels.street.grid`.
_SIDE: Final = 64
_CELLS_PER_BLOCK: Final = _SIDE * _SIDE
#: Walks that are checked at once (assumed).
_WALKS_AT_ONCE: Final = 1 << 20
#: Most buckets of a queue (assumed: far beyond the 2 * 10**4 of the largest cities).
_MOST_BUCKETS: Final = 1 << 22
#: Rules of the arrays of each class. Sizes that depend on the object are those of `_sizes_of`.
RULES: Final[Mapping[str, Mapping[str, Column]]] = {
    "Topology": {
        "is_open": Column("bool", ("directed",)),
        "takes_points": Column("bool", ("directed",)),
        "indptr": Column("int32", ("states+",), 0, "arcs"),
        "indices": Column("int32", ("arcs",), 0, "states"),
        "arc_edge": Column("int32", ("arcs",), 0, "directed"),
        "arc_extra_ms": Column("int32", ("arcs",), 0),
        "arc_boards": Column("bool", ("arcs",)),
        "indptr_rev": Column("int32", ("states+",), 0, "arcs"),
        "indices_rev": Column("int32", ("arcs",), 0, "states"),
        "order_rev": Column("int32", ("arcs",), 0, "arcs"),
        "entry_indptr": Column("int64", ("directed+",), 0, "entries"),
        "entry_states": Column("int32", ("entries",), 0, "states"),
        "exit_indptr": Column("int64", ("directed+",), 0, "exits"),
        "exit_states": Column("int32", ("exits",), 0, "states"),
        "exit_arcs": Column("int32", ("exits",), -1, "arcs"),
        "state_edge": Column("int32", ("states",), -1, "directed"),
        "can_leave": Column("bool", ("edges",)),
        "can_arrive": Column("bool", ("edges",)),
        "component": Column("int32", ("states",), 0, "states"),
        "chain": Column("int32", ("edges",), 0, "edges"),
        "ends_chain": Column("bool", ("directed",)),
    },
    "Arcs": {
        "indptr": Column("int32", ("states+",), 0, "arcs"),
        "indices": Column("int32", ("arcs",), 0, "states"),
        "weights": Column("int64", ("arcs",), 0),
    },
    "SharedArcs": {
        "indptr": Column("int32", ("states+",), 0, "arcs"),
        "indices": Column("int32", ("arcs",), 0, "states"),
        "order": Column("int32", ("placed",), 0, "arcs"),
        "weights": Column("int64", ("arcs",), 0),
    },
    "Core": {
        "single": Column("bool", ("states",)),
        "above": Column("int32", ("states",), -1, "states"),
        "above_key": Column("int64", ("states",), 0),
    },
    "RoadGraph": {
        "traversal": Column("int64", ("directed",), 0),
        "weights": Column("int64", ("arcs",), 0),
        "entry_keys": Column("int64", ("entries",), 0),
        "exit_keys": Column("int64", ("exits",), 0),
    },
    "Hierarchy": {
        "rank": Column("int32", ("states",), 0, "states"),
        "parent": Column("int32", ("states",), -1, "states"),
    },
    "Grid": {
        "ends": Column("float64", ("segments", 4)),
        "marks": Column("uint8", ("segments",)),
        "edge": Column("int32", ("segments",), 0, "edges"),
        "blocks": Column("int32", ("block rows", "block columns"), -1e6, "blocks"),
        "begin": Column("int32", ("cells+",), 0, "members"),
        "rings": Column("uint8", ("cells",)),
        "members": Column("int32", ("members",), 0, "segments"),
    },
    "Parts": {
        "start": Column("float64", ("segments",), 0.0, 1.0),
        "span": Column("float64", ("segments",), 0.0, 1.0),
        "street": Column("int32", ("segments",), 0, "directed"),
        "ends": Column("bool", ("directed",)),
    },
    "SegmentIndex": {},
    "EdgeBoxes": {
        "boxes": Column("float32", ("edges", 4)),
        "is_land": Column("bool", ("edges",)),
    },
    "Places": {
        "indptr": Column("int64", ("points+",), 0, "places"),
        "edge": Column("int32", ("places",), 0, "edges"),
        "fraction": Column("float64", ("places",), 0.0, 1.0),
        "distance": Column("float64", ("places",), 0.0),
    },
    "Snaps": {
        "edge": Column("int32", ("points",), -1, "edges"),
        "fraction": Column("float64", ("points",), 0.0, 1.0, may_be_nan=True),
        "distance_m": Column("float64", ("points",), 0.0, may_be_nan=True),
        "status": Column("int8", ("points",), 0, 8),
        "lng": Column("float64", ("points",), may_be_nan=True),
        "lat": Column("float64", ("points",), may_be_nan=True),
    },
    "StopsOnEdges": {
        "indptr": Column("int64", ("edges+",), 0, "found"),
        "stops": Column("int32", ("found",), 0, "stops"),
        "fraction": Column("float64", ("found",), 0.0, 1.0),
        "connector": Column("int64", ("found",), 0),
    },
    "WaysThere": {
        "beyond": Column("float64", ("directed",), 0.0),
        "indptr": Column("int64", ("edges+",), 0, "places"),
        "fraction": Column("float64", ("places",), 0.0, 1.0),
        "add": Column("float64", ("places",), 0.0),
    },
    "Walker": {},
    "Rule": {},
    "Walks": {
        "states": Column("int32", ("changed",), 0, "states"),
    },
    "WalkRows": {
        "indptr": Column("int64", ("rows+",), 0, "walks"),
        "stops": Column("int32", ("walks",), 0, "stops"),
        "ms": Column("int32", ("walks",), 0),
        "more_cm": Column("int16", ("walks",)),
    },
    "Transfers": {
        "indptr": Column("int64", ("stops+",), 0, "transfers"),
        "stop": Column("int32", ("transfers",), 0, "stops"),
        "seconds": Column("int32", ("transfers",), 0),
        "change_time": Column("int32", ("stops",), 0),
    },
}  # fmt: skip
#: Types of columns that are wider where numbers need it: hierarchies of countries have many arcs, and walks on slopes
#: or with waits have lengths that differ much from the distance in their times.
_WIDER: Final[Mapping[tuple[str, str], str]] = {("Arcs", "indptr"): "int64", ("WalkRows", "more_cm"): "int32"}
#: Classes of the owners and of the values of each kind; "array" for an array, "None" for nothing.
KINDS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "topology": ("StreetLayer", frozenset({"Topology"})),
    "labels": ("StreetLayer", frozenset({"RoadGraph"})),
    "labels at own speeds": ("StreetLayer", frozenset({"RoadGraph"})),
    "contraction order": ("Topology", frozenset({"array"})),
    "hierarchy": ("RoadGraph", frozenset({"Hierarchy"})),
    "ways to the border": ("RoadGraph", frozenset({"WaysThere"})),
    "part sizes": ("Topology", frozenset({"array"})),
    "snap index": ("StreetLayer", frozenset({"SegmentIndex"})),
    "islands": ("StreetLayer", frozenset({"SegmentIndex", "None"})),
    "barriers": ("StreetLayer", frozenset({"Grid"})),
    "boxes": ("StreetLayer", frozenset({"EdgeBoxes"})),
    "stops": ("TransitLayer", frozenset({"Snaps, StopsOnEdges"})),
    "stops at own speeds": ("TransitLayer", frozenset({"Snaps, StopsOnEdges"})),
    "walks around stops": ("TransitLayer", frozenset({"Walks"})),
    "transfers": ("TransitLayer", frozenset({"Transfers"})),
}


def check_value(value: Any, sizes: Mapping[str, int], *, is_known: bool = False) -> None:
    """
    Raise ValueError if arrays of a prepared object break their rules, or its parts do not fit together.

    Parameters
    ----------
    value : object
        Instance of one of the classes of `RULES`, with parts that have been checked.
    sizes : mapping of str to int
        ``edges`` and ``stops`` of the network.
    is_known : bool, default False
        Whether the values of columns have been checked before; see `traveltime_lab.network.checked`.
    """
    kind = type(value).__name__
    if kind not in RULES:
        raise ValueError(f"{kind} has no rules")
    rules, known = RULES[kind], _sizes_of(value, {**sizes, "directed": 2 * sizes["edges"]})
    for name in names_of_parts(value):
        part = getattr(value, name)
        if isinstance(part, np.ndarray) and name not in rules:
            raise ValueError(f"column {kind}.{name} has no rule")
    for name, rule in rules.items():
        array = getattr(value, name)
        wider = _WIDER.get((kind, name))
        if wider is not None and getattr(array, "dtype", None) == np.dtype(wider):
            rule = rule._replace(dtype=wider)
        check_column(f"{kind}.{name}", array, rule, known, is_known=is_known)
    _check_parts(kind, value, known)
    if kind == "Hierarchy" and not is_known:
        # Climbing ends, because each step leads to a higher rank.
        parent = value.parent
        if not ((parent > np.arange(parent.size)) | (parent == -1)).all():
            raise ValueError(f"{kind} contains numbers out of range")
    if kind == "Walks" and not is_known:
        _check_walks(value)


def check_kind(kind: str, owner: Any, value: Any, *, is_known: bool = False) -> None:
    """Raise ValueError unless a prepared value is one of its kind, and fits its owner."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of prepared values")
    requested, classes = KINDS[kind]
    if type(owner).__name__ != requested or _class_of(value) not in classes:
        raise ValueError(f"{kind} of a {type(owner).__name__} is a {_class_of(value)}")
    if kind == "part sizes" and not is_known:
        n_parts = int(owner.component.max(initial=0)) + 1
        check_column(kind, value, Column("int64", ("parts",), 0), {"parts": n_parts})
    if kind == "contraction order":
        check_column(
            kind, value, Column("int32", ("states",), 0, "states"), {"states": owner.n_states}, is_known=is_known
        )
        if not (is_known or (np.bincount(value) == 1).all()):
            raise ValueError(f"{kind} has a rank twice")
    if kind == "hierarchy" and value.rank.size != owner.topology.n_states:
        raise ValueError(f"{kind} has {value.rank.size} states instead of {owner.topology.n_states}")


def check_together(values: Sequence[tuple[str, Any, Any]]) -> None:
    """Raise ValueError unless walks fit the graphs of their streets, given the kind, key and value of all values."""
    n_states = {key[0]: graph.topology.n_states for kind, key, graph in values if kind.startswith("labels")}
    for kind, key, walks in values:
        if kind == "walks around stops" and walks.n_states != n_states.get(key[0][0]):
            raise ValueError(f"{kind} has {walks.n_states} states instead of {n_states.get(key[0][0])}")


def _class_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "array"
    if type(value) is tuple:
        return ", ".join(map(_class_of, value))
    return "None" if value is None else type(value).__name__


def names_of_parts(value: Any) -> tuple[str, ...]:
    """Return the names of the parts of an object, or of those of a class."""
    return tuple(item.name for item in fields(value) if item.init) if is_dataclass(value) else tuple(value._fields)


def _length(array: Any, less: int = 0) -> int:
    return max(int(array.shape[0]) - less, 0) if isinstance(array, np.ndarray) and array.ndim else 0


def _sizes_of(value: Any, sizes: dict[str, int]) -> dict[str, int]:
    """Return the sizes that the rules of an object name."""
    kind = type(value).__name__
    if kind == "Topology":
        own = {"states": _length(value.indptr, 1), "arcs": _length(value.indices)}
        own |= {"entries": _length(value.entry_states), "exits": _length(value.exit_states)}
    elif kind == "Arcs":
        own = {"states": _length(value.indptr, 1), "arcs": _length(value.indices)}
    elif kind == "SharedArcs":
        own = {"states": _length(value.indptr, 1), "arcs": _length(value.indices), "placed": _length(value.order)}
    elif kind == "Core":
        own = {"states": _length(value.whole.indptr, 1)}
    elif kind == "RoadGraph":
        topology = value.topology
        own = {"states": _length(topology.indptr, 1), "arcs": _length(topology.indices)}
        own |= {"entries": _length(topology.entry_states), "exits": _length(topology.exit_states)}
    elif kind == "Hierarchy":
        own = {"states": _length(value.rank)}
    elif kind == "Grid":
        own = {"segments": _length(value.edge), "cells": _length(value.rings), "members": _length(value.members)}
        shape = value.blocks.shape if isinstance(value.blocks, np.ndarray) else ()
        own |= {"block rows": [*shape, 0][0], "block columns": [*shape, 0, 0][1]}
        own["blocks"] = own["cells"] // _CELLS_PER_BLOCK
    elif kind == "Parts":
        own = {"segments": _length(value.start)}
    elif kind == "Places":
        own = {"points": _length(value.indptr, 1), "places": _length(value.edge)}
    elif kind == "Snaps":
        own = {"points": _length(value.edge)}
    elif kind == "WaysThere":
        own = {"places": _length(value.fraction)}
    elif kind == "Walks":
        own = {"changed": _length(value.states), "states": value.n_states}
    elif kind == "WalkRows":
        own = {"rows": _length(value.indptr, 1), "walks": _length(value.stops)}
    elif kind == "Transfers":
        own = {"transfers": _length(value.stop)}
    elif kind == "StopsOnEdges":
        own = {"found": _length(value.stops)}
    else:
        own = {}
    return sizes | own


#: Classes of the parts of an object, and the size in which they are like it.
_PARTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "Core": {"whole": ("SharedArcs", "states"), "arcs": ("Arcs", "states")},
    "RoadGraph": {
        "topology": ("Topology", "states", "arcs"),
        "core_forward": ("Core", "states"),
        "core_backward": ("Core", "states"),
    },
    "Hierarchy": {"up": ("Arcs", "states"), "down": ("Arcs", "states")},
    "SegmentIndex": {"grid": ("Grid",), "parts": ("Parts",)},
    "Snaps": {"places": ("Places", "points"), "islands": ("Places", "points")},
    "WaysThere": {"unsure": ("SegmentIndex",)},
    "Walks": {"rows": ("WalkRows",), "other": ("Walks", "states")},
}
_OPTIONAL: Final = frozenset({"places", "islands", "unsure", "other"})


def _check_parts(kind: str, value: Any, known: Mapping[str, int]) -> None:
    """Raise ValueError if a part of an object has the wrong class or size."""
    for name, (requested, *alike) in _PARTS.get(kind, {}).items():
        part = getattr(value, name)
        if part is None and name in _OPTIONAL:
            continue
        if type(part).__name__ != requested:
            raise ValueError(f"{kind}.{name} must be a {requested}, got {type(part).__name__}")
        own = _sizes_of(part, {"edges": known["edges"]})
        for size in alike:
            if own[size] != known[size]:
                raise ValueError(f"{kind}.{name} has {own[size]} {size} instead of {known[size]}")
    is_right = True
    if kind == "SharedArcs":
        is_right = known["placed"] in (0, known["arcs"])
    if kind in ("Core", "RoadGraph"):
        is_right = type(value.n_buckets) is int and 1 <= value.n_buckets <= _MOST_BUCKETS
    if kind == "RoadGraph":
        is_right &= type(value.shift) is int and 0 <= value.shift <= 62 and value.metric in ("time", "distance")
        is_right &= isinstance(value.connector_kph, float) and 0.0 < value.connector_kph < 1000.0
    if kind == "SegmentIndex":
        is_right = _length(value.grid.edge) == _length(value.parts.start)
    if kind == "Snaps":
        is_right = value.search is None and value.indoors is None
    if kind == "WaysThere":
        is_right = type(value.is_arrival) is bool
    if kind == "Walks":
        is_right = type(value.is_leaving) is bool and type(value.n_stops) is int and value.n_stops == known["stops"]
        is_right = is_right and type(value.budget_ms) is int and type(value.rate) is int and 0 < value.rate < 1 << 24
        is_right = is_right and _length(value.rows.indptr, 1) == known["states" if value.other is None else "changed"]
        is_right = is_right and (not known["changed"] if value.other is None else _are_beside(value, value.other))
    if kind == "StopsOnEdges":
        is_right = type(value.n_stops) is int and value.n_stops == known["stops"]
    if kind == "Grid":
        whole = (value.first_row, value.last_row, value.first_column, value.last_column)
        is_right = all(type(number) is int and abs(number) < 1 << 30 for number in whole)
        is_right = is_right and isinstance(value.cell, float) and 0.0 < value.cell < 1e6
        is_right = is_right and known["cells"] == known["blocks"] * _CELLS_PER_BLOCK
        is_right = is_right and value.last_row - value.first_row < _SIDE * known["block rows"]
        is_right = is_right and value.last_column - value.first_column < _SIDE * known["block columns"]
    if not is_right:
        raise ValueError(f"{kind} contains numbers out of range")


def _are_beside(walks: Any, other: Any) -> bool:
    """Return whether walks can be stored as differences from others."""
    return bool(
        other.other is None
        and (other.is_leaving, other.budget_ms, other.rate) == (not walks.is_leaving, walks.budget_ms, walks.rate)
        and other.rows.more_cm.dtype == walks.rows.more_cm.dtype
    )


def _check_walks(walks: Any) -> None:
    """Raise ValueError unless rows have ascending stops, times within the budget, and lengths that are not negative."""
    indptr, stops, ms, more_cm = walks.rows
    ascend = np.diff(stops) > 0
    begins = indptr[1:-1]
    ascend[begins[(begins > 0) & (begins < stops.size)] - 1] = True
    # A part at a time: the walks of a country are many.
    parts = [slice(first, first + _WALKS_AT_ONCE) for first in range(0, stops.size, _WALKS_AT_ONCE)]
    are_negative = any((distance_cm(ms[part], walks.rate) + more_cm[part]).min() < 0 for part in parts)
    if not ascend.all() or are_negative or ms.max(initial=0) > walks.budget_ms or (np.diff(walks.states) <= 0).any():
        raise ValueError("Walks contains numbers out of range")
