"""
Levels of traffic stress of a network: columns of its edges, islands of low stress, and facts of the report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, Int32Array, UInt8Array
from traveltime_lab.limits import MAX_STRESS
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.scenarios.selection import lines_of
from traveltime_lab.streets import stress
from traveltime_lab.streets.components import weak
from traveltime_lab.streets.junctions import junction_of_ends
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.tables import StreetTables, street_km
from traveltime_lab.streets.topology import open_edges

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.network.data import NetworkData

_WAYS: Final = ("forward", "backward")
_CYCLING: Final = Transportation("cycling+ferry")
#: The level up to which most adults cycle. Source: Mekuria, Furth, Nixon 2012.
LOW_STRESS: Final = 2


def columns(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the columns of edges about traffic stress by name; none if nothing is known of it."""
    if not tables.has_stress:
        return {}
    streets, crossings = _shown(tables, stress.street_levels(tables)), _shown(tables, stress.junction_levels(tables))
    most = np.maximum(streets, crossings).reshape(-1, 2)
    worst = most.argmax(axis=1) + 2 * np.arange(len(most))
    return {
        "stress": most.max(axis=1, initial=0),
        **{f"stress_{way}": streets[side::2] for side, way in enumerate(_WAYS)},
        **{f"crossing_stress_{way}": crossings[side::2] for side, way in enumerate(_WAYS)},
        "stress_reason": reasons(tables, worst, crossings[worst]),
        **{f"stress_code_{way}": tables.edge_stress[side::2] for side, way in enumerate(_WAYS)},
    }


def reasons(tables: StreetTables, directed: AnyArray, crossings: UInt8Array) -> AnyArray:
    """
    Return why directed edges have their levels, in words.

    Parameters
    ----------
    tables : StreetTables
    directed : integer array of shape (n,)
    crossings : uint8 array of shape (n,)
        Levels of the crossings at their ends.

    Returns
    -------
    object array of shape (n,)
    """
    calmed = np.repeat(stress.is_calmed(tables), 2)[directed]
    key = tables.edge_stress[directed].astype(np.int64) * 16 + crossings * 2 + calmed
    rows, which = np.unique(key, return_inverse=True)
    words = [stress.in_words(row >> 4, row >> 1 & 7, is_calmed=bool(row & 1)) for row in rows.tolist()]
    return np.array(words, dtype=object)[which]


def _shown(tables: StreetTables, levels: UInt8Array) -> UInt8Array:
    """Return levels where cycling is possible, and 0 elsewhere."""
    return np.where(_is_ridden(tables), levels, np.uint8(0))


def _is_ridden(tables: StreetTables) -> BoolArray:
    """Return which directed edges are open to cycling, those that a change has closed among them."""
    return open_edges(tables, _CYCLING, before_changes=True)


def codes_of(edges: Any) -> dict[str, AnyArray]:
    """Return the array ``edge_stress`` of a table of edges; raise ValueError if a column is missing or wrong."""
    names = [f"stress_code_{way}" for way in _WAYS]
    missing = [name for name in names if name not in edges]
    if len(missing) == len(names):
        return {}
    if missing:
        raise ValueError(f"the column {missing[0]} is missing")
    for name in names:
        if not (edges[name].between(0, 2**16 - 1) & (edges[name] % 1 == 0)).all():
            raise ValueError(f"the column {name} has values that are missing, or no whole numbers from 0 to 65535")
    return {"edge_stress": np.column_stack([edges[name].to_numpy(np.uint16) for name in names]).ravel()}


def with_levels_of(tables: StreetTables, edges: Any) -> StreetTables:
    """Return tables with the levels that a user has changed in a table of edges; raise ValueError for wrong ones."""
    if not tables.has_stress:
        given = [f"stress_{way}" for way in _WAYS if f"stress_{way}" in edges]
        if given:
            raise ValueError(
                f"the column {given[0]} needs stress_code_forward and stress_code_backward of edges_frame() beside it; "
                "tables of a network that was saved without levels have none: build it again from OpenStreetMap data"
            )
        return tables
    before = _shown(tables, stress.street_levels(tables))
    codes = tables.edge_stress.copy()
    for side, way in enumerate(_WAYS):
        name = f"stress_{way}"
        if name not in edges:
            continue
        given = edges[name].to_numpy(np.float64, na_value=np.nan)
        # 0 was written where a direction was closed, or its level not known: nothing is given there.
        is_other = (given != before[side::2]) & (before[side::2] > 0) & (given != 0)
        wrong = is_other & ~np.isin(given, stress.LEVELS)
        if wrong.any():
            raise ValueError(f"the column {name} must have levels from 1 to 4; got {given[wrong][0]:g}")
        rows = 2 * np.flatnonzero(is_other) + side
        codes[rows] = stress.with_level(codes[rows], given[is_other].astype(np.uint16))
    return replace(tables, edge_stress=codes) if (codes != tables.edge_stress).any() else tables


def with_facts(modes: dict[str, Any], streets: StreetLayer) -> dict[str, Any]:
    """Return facts about the streets of each mode, with those about the traffic stress of cycling."""
    if streets.tables.has_stress:
        modes["cycling"]["stress"] = report_facts(streets.tables)
    return modes


def report_facts(tables: StreetTables) -> dict[str, Any]:
    """Return the kilometres by level of traffic stress, and the number and size of the islands of low stress."""
    most = columns(tables)["stress"]
    ridden = _is_ridden(tables).reshape(-1, 2).any(axis=1)
    length = {str(level): street_km(tables, ridden & (most == level)) for level in stress.LEVELS}
    unknown = street_km(tables, ridden & (most == 0))
    island = _islands(tables, LOW_STRESS)
    km = _km_by_island(tables, island)
    return {
        "km_by_level": {level: round(value, 1) for level, value in length.items()},
        **({"km_unknown": round(unknown, 1)} if unknown else {}),
        "low_stress_islands": {
            "up_to_level": LOW_STRESS,
            "number": int(km.size),
            "largest_km": round(float(km.max(initial=0.0)), 1),
            "largest_share": float(km.max(initial=0.0) / km.sum()) if km.sum() else 0.0,
        },
    }


def _islands(tables: StreetTables, most: int) -> Int32Array:
    """
    Return the island of each edge, numbered by size with the longest as 0, and -1 for edges that are not on one.

    An island is a set of streets up to a level that are joined by crossings up to that level. One-way streets join both
    their ends.
    """
    means = Transportation("cycling", max_stress=most)
    is_open = open_edges(tables, means).reshape(-1, 2).any(axis=1)
    edges = np.flatnonzero(is_open)
    starts, node = junction_of_ends(tables, means)
    # Where a crossing is too much, every end of a street is a place by itself, joined to those that one may turn to.
    turns = stress.crossings(tables)
    is_apart = np.zeros(tables.node_lng.size, np.bool_)
    is_apart[node[turns.leaving[turns.level > most]]] = True
    ways = is_apart[node[turns.leaving]] & (turns.level <= most)
    ways &= (
        (starts == node)[turns.leaving] & np.repeat(is_open, 2)[turns.leaving] & np.repeat(is_open, 2)[turns.arriving]
    )
    first_free = int(starts.max(initial=-1)) + 1
    places = np.where(is_apart[node], first_free + np.arange(starts.size), starts).astype(np.int32)
    _, component = weak(
        np.concatenate([places[2 * edges], places[turns.arriving[ways] ^ 1]]),
        np.concatenate([places[2 * edges + 1], places[turns.leaving[ways]]]),
        first_free + starts.size,
    )
    _, part = np.unique(component[places[2 * edges]], return_inverse=True)
    km = np.bincount(part, weights=tables.edge_length_m[edges])
    rank = np.empty(km.size, np.int32)
    rank[np.argsort(-km, kind="stable")] = np.arange(km.size)
    found = np.full(tables.edge_from.size, -1, np.int32)
    found[edges] = rank[part]
    return found


def _km_by_island(tables: StreetTables, island: Int32Array) -> AnyArray:
    """Return the kilometres of each island."""
    found: AnyArray = np.bincount(island[island >= 0], weights=tables.edge_length_m[island >= 0] / 1000.0)
    return found


def stress_islands(self: NetworkData, max_stress: int = LOW_STRESS) -> gpd.GeoDataFrame:
    """
    Return the islands of low traffic stress: cyclists get about on each of them, and not from one to another.

    Parameters
    ----------
    max_stress : {1, 2, 3, 4}, default 2
        The highest level of traffic stress that cyclists accept, as in `Transportation`.

    Returns
    -------
    GeoDataFrame
        A row for each island, the longest first, which is also their number in the index: ``edges`` (their number),
        ``km`` (float64), ``share`` of the kilometres of all islands (float64), and the streets as MultiLineStrings in
        EPSG:4326. Streets up to the level are on the same island if streets, and crossings, up to the level join them,
        whatever their one-way directions.

    Raises
    ------
    ModeError
        If `max_stress` is no whole number, or levels of traffic stress are not known.
    LimitError
        If `max_stress` is not from 1 to 4.

    See Also
    --------
    Network.edges_frame : Levels of each street, and their reasons.

    Examples
    --------
    >>> islands = tl.sample_network().stress_islands(max_stress=2)
    >>> list(islands.columns)
    ['edges', 'km', 'share', 'geometry']
    """
    import geopandas as gpd  # noqa: PLC0415 - slow to import

    tables = self.tables
    most = Transportation("cycling", max_stress=MAX_STRESS if max_stress is None else max_stress).max_stress
    assert most is not None
    island = _islands(tables, most)
    edges = np.flatnonzero(island >= 0)
    edges = edges[np.argsort(island[edges], kind="stable")]
    km = _km_by_island(tables, island)
    lines = shapely.multilinestrings(lines_of(tables, edges), indices=island[edges]) if edges.size else []
    return gpd.GeoDataFrame(
        {"edges": np.bincount(island[edges], minlength=km.size), "km": km, "share": km / max(km.sum(), 1e-9)},
        geometry=lines,
        crs="EPSG:4326",
    )
