"""
Assemble `StreetTables` from the nodes and edges of graphs and data frames, whose attributes are tags.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, indptr_of, unique_values
from traveltime_lab.crs import line_length_m, segment_lengths_m
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import BASE_MODES, STREET_MODES
from traveltime_lab.readers.attributes import TagValue, members_of, outside_ids, tag_text, to_lnglat
from traveltime_lab.readers.osm import node_tags, tags
from traveltime_lab.readers.osm.avoid import KEYS as AVOID_KEYS
from traveltime_lab.readers.osm.avoid import avoid_code
from traveltime_lab.readers.osm.step_free import KEYS as OBSTACLE_KEYS
from traveltime_lab.readers.osm.step_free import node_code, way_code
from traveltime_lab.readers.osm.stress import KEYS, by_side_of_traffic, codes
from traveltime_lab.streets import avoid, step_free
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_NO,
    ACCESS_PRIVATE,
    ACCESS_YES,
    USE_DTYPES,
    StreetTables,
)

#: Largest distance between the end of a line and its node, metres; the end is moved onto the node.
LARGEST_GAP_M = 50.0
#: Two ends closer than this are one position, degrees (about a centimetre).
SAME_POSITION_DEG = 1e-7
#: Largest number of combinations of tags that are interpreted for an edge that osmnx merged from several ways.
MOST_COMBINATIONS = 32
_RELEVANT = frozenset(tags.RELEVANT_KEYS)
_ONE_WAY = frozenset({"yes", "true", "1", "f"})
_ONE_WAY_BACK = frozenset({"-1", "reverse", "t"})

logger = logging.getLogger(__name__)


@dataclass
class StreetColumns:
    """Nodes, and edges row by row, before mirrored edges are merged and tags are interpreted."""

    node_ids: list[Any]
    node_lng: FloatArray
    node_lat: FloatArray
    node_tags: list[dict[str, str]]
    u: Int64Array
    v: Int64Array
    lines: list[FloatArray]  # each of shape (n, 2), lng and lat; from u to v
    way_ids: list[tuple[Any, ...]]
    names: list[str]
    tags: list[dict[str, TagValue]]
    speeds: FloatArray  # (n, 3) km/h, NaN to use the tags
    lengths_m: FloatArray  # NaN to measure the line
    oneway: list[Any]
    is_reversed: BoolArray
    is_directed: bool
    report: dict[str, Any] = field(default_factory=dict)


def lines_of(
    geometries: AnyArray,
    crs: Any,
    u: Int64Array,
    v: Int64Array,
    node_lng: FloatArray,
    node_lat: FloatArray,
) -> list[FloatArray]:
    """Return the coordinates of each edge from `u` to `v`; lines drawn from `v` to `u` are reversed."""
    geometries = geometries.copy()
    geometries[pd.isna(geometries)] = None
    is_drawn = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    if (shapely.get_type_id(geometries[is_drawn]) != 1).any():
        kinds = {shape.geom_type for shape in geometries[is_drawn]} - {"LineString"}
        raise InputError(f"The lines of edges must be LineStrings; found {sorted(kinds)!r}. Try edges.explode().")
    positions, owner = shapely.get_coordinates(geometries[is_drawn], return_index=True)
    if len(positions):
        lng, lat = to_lnglat(positions[:, 0], positions[:, 1], crs, "line")
        positions = np.column_stack([lng, lat])
    pieces = iter(np.split(positions, np.flatnonzero(np.diff(owner)) + 1) if len(positions) else [])
    ends = np.stack([np.column_stack([node_lng[u], node_lat[u]]), np.column_stack([node_lng[v], node_lat[v]])], axis=1)
    lines = [next(pieces).copy() if drawn else ends[row].copy() for row, drawn in enumerate(is_drawn)]
    if not is_drawn.any():
        return lines
    starts = np.array([line[0] for line in lines])
    stops = np.array([line[-1] for line in lines])
    gap = np.maximum(_gap_m(starts, ends[:, 0]), _gap_m(stops, ends[:, 1]))
    turned_gap = np.maximum(_gap_m(starts, ends[:, 1]), _gap_m(stops, ends[:, 0]))
    turned = turned_gap < gap
    far = np.minimum(gap, turned_gap) > LARGEST_GAP_M
    if far.any():
        row = int(np.flatnonzero(far)[0])
        raise InputError(
            f"{int(far.sum())} lines end more than {LARGEST_GAP_M:g} m from the nodes of their edge; the first is edge "
            f"number {row}, {min(gap[row], turned_gap[row]):.0f} m away. Do the CRSs of nodes and edges fit the data?"
        )
    for drawn_row in np.flatnonzero(is_drawn).tolist():
        line = lines[drawn_row][::-1] if turned[drawn_row] else lines[drawn_row]
        line[0], line[-1] = ends[drawn_row]
        lines[drawn_row] = line
    return lines


def _gap_m(a: FloatArray, b: FloatArray) -> FloatArray:
    pairs_lng = np.column_stack([a[:, 0], b[:, 0]]).ravel()
    pairs_lat = np.column_stack([a[:, 1], b[:, 1]]).ravel()
    return np.asarray(segment_lengths_m(pairs_lng, pairs_lat)[::2])


# Assembling ----------------------------------------------------------------------------------------------------------


def _mirrors(streets: StreetColumns) -> Int64Array:
    """Return for each directed edge the one with the same way and the reversed line, -1 where there is none."""
    mirror = np.full(len(streets.u), -1, dtype=np.int64)
    waiting: dict[tuple[Any, ...], list[int]] = {}
    for row, (u, v, line, way) in enumerate(zip(streets.u, streets.v, streets.lines, streets.way_ids, strict=True)):
        if any(value is True for value in members_of(streets.oneway[row])):
            continue
        way_key = tuple(sorted(map(str, way)))
        candidates = waiting.get((v, u, len(line), way_key), [])
        for other in candidates:
            if np.allclose(streets.lines[other][::-1], line, rtol=0.0, atol=SAME_POSITION_DEG):
                mirror[row], mirror[other] = other, row
                candidates.remove(other)
                break
        else:
            waiting.setdefault((u, v, len(line), way_key), []).append(row)
    return mirror


def _direction(value: Any, *, is_directed: bool, has_mirror: bool, keeps_tags: bool) -> tuple[str | None, bool]:
    """Return the ``oneway`` tag to interpret, and whether the edge must be reversed to follow its way."""
    texts = {tag_text(item).lower() if not isinstance(item, bool | np.bool_) else item for item in members_of(value)}
    texts = {{"true": True, "false": False}.get(item, item) if isinstance(item, str) else item for item in texts}
    if not texts - {""}:
        if keeps_tags or not is_directed:
            return None, False
        return ("no" if has_mirror else "yes"), False
    if any(item is True or item in _ONE_WAY for item in texts):
        return "yes", False
    if texts & _ONE_WAY_BACK:
        # osmnx has reversed the nodes of this directed edge already; restore the direction of the way.
        return "-1", is_directed
    if texts == {False}:
        # osmnx writes False on all edges that it copied, including motorways without a tag. In a frame it is a tag.
        return (None if is_directed else "no"), False
    return sorted(str(item) for item in texts if item is not False)[0], False


def assemble(streets: StreetColumns, *, keeps_tags: bool) -> StreetTables:
    """Merge mirrored edges, interpret each distinct set of tags once, and drop edges that are closed to all modes."""
    report = dict(streets.report)
    keeps_tags = keeps_tags or any(
        isinstance(value, str) and value.strip().lower() not in ("true", "false") for value in streets.oneway
    )
    mirror = _mirrors(streets) if streets.is_directed else np.full(len(streets.u), -1, dtype=np.int64)
    is_copy = (mirror >= 0) & np.where(
        streets.is_reversed == streets.is_reversed[mirror], np.arange(len(mirror)) > mirror, streets.is_reversed
    )
    report["mirrored_edges_merged"] = int(is_copy.sum())

    length_m = np.array([line_length_m(line[:, 0], line[:, 1]) for line in streets.lines])
    length_m = np.where(np.isnan(streets.lengths_m), length_m, streets.lengths_m)
    way_length_m: dict[Any, float] = {}
    for row in np.flatnonzero(~is_copy):
        if streets.tags[row].get("route") == "ferry" and streets.way_ids[row]:
            way_length_m[streets.way_ids[row]] = way_length_m.get(streets.way_ids[row], 0.0) + length_m[row]

    uses = _Uses()
    kept: list[int] = []
    use_of: list[int] = []
    flips: list[bool] = []
    stress: list[list[int]] = []
    obstacles: list[int] = []
    avoided: list[int] = []
    on_foot = _Codes(OBSTACLE_KEYS, way_code, step_free.worst), _Codes(AVOID_KEYS, avoid_code, avoid.worst)
    known_stress: dict[tuple[Any, ...], list[int]] = {}
    dropped = {"edges_without_use": 0, "edges_without_length": 0}
    for row in np.flatnonzero(~is_copy):
        if streets.u[row] == streets.v[row] and length_m[row] == 0.0:
            dropped["edges_without_length"] += 1
            continue
        has_mirror = bool(mirror[row] >= 0)
        oneway, flip = _direction(
            streets.oneway[row], is_directed=streets.is_directed, has_mirror=has_mirror, keeps_tags=keeps_tags
        )
        forward = streets.speeds[row]
        backward = streets.speeds[mirror[row]] if has_mirror else forward
        if streets.is_reversed[row] and not has_mirror:
            flip = not flip
        edge_tags = streets.tags[row] if oneway is None else {**streets.tags[row], "oneway": oneway}
        ferry_m = way_length_m.get(streets.way_ids[row], length_m[row]) if edge_tags.get("route") == "ferry" else None
        read = {key: value for key, value in edge_tags.items() if key in _RELEVANT}
        use = uses.add(read, *((backward, forward) if flip else (forward, backward)), ferry_m)
        if use is None:
            dropped["edges_without_use"] += 1
            continue
        kept.append(int(row))
        use_of.append(use)
        about = tuple(sorted((key, value) for key, value in edge_tags.items() if key in KEYS))
        if about not in known_stress:
            known_stress[about] = _stress(dict(about))
        own = other = known_stress[about]
        given = streets.tags[mirror[row]].get("lts") if has_mirror else None
        if given is not None and given != edge_tags.get("lts"):
            other = _stress({**dict(about), "lts": given})
        obstacles.append(on_foot[0].code(edge_tags))
        avoided.append(on_foot[1].code(edge_tags))
        along, against = (other, own) if flip else (own, other)
        stress.append([along[0], against[1], along[2], against[3]])
        flips.append(flip)
    report.update(dropped)
    if not kept:
        raise InputError(
            "No edge is open to any mode: 'highway' has no known value, and there are no speeds. Check the column "
            "'highway', or give speeds such as 'driving_kph'."
        )
    logger.info("graphs edges=%d dropped=%s merged=%d", len(kept), dropped, report["mirrored_edges_merged"])
    found = _tables(streets, np.array(kept), np.array(use_of, np.int32), np.array(flips), length_m, uses, report)
    both = np.array(stress, np.uint16).reshape(-1, 2, 2)
    places = found.coord_lng[found.coord_indptr[:-1]], found.coord_lat[found.coord_indptr[:-1]]
    # Without classes of streets nothing is known of any.
    if any("highway" in tags or "route" in tags for tags in streets.tags):
        used = unique_values(np.concatenate([streets.u[kept], streets.v[kept]]))
        codes_of_nodes = [node_code(streets.node_tags[idx]) for idx in used]
        found = replace(
            found,
            edge_avoid=np.array(avoided, np.uint8),
            edge_step_free=np.array(obstacles, np.uint32),
            node_step_free=np.array(codes_of_nodes, np.uint16),
        )
    return replace(found, edge_stress=by_side_of_traffic(both, *places)) if both.any() else found


def _tables(
    streets: StreetColumns,
    kept: Int64Array,
    use_of: Int32Array,
    flips: BoolArray,
    length_m: FloatArray,
    uses: _Uses,
    report: dict[str, Any],
) -> StreetTables:
    lines = [streets.lines[row][::-1] if flip else streets.lines[row] for row, flip in zip(kept, flips, strict=True)]
    edge_from = np.where(flips, streets.v[kept], streets.u[kept])
    edge_to = np.where(flips, streets.u[kept], streets.v[kept])
    used = unique_values(np.concatenate([edge_from, edge_to]))
    report["nodes_without_edges"] = len(streets.node_ids) - len(used)
    new_index = np.full(len(streets.node_ids), -1, dtype=np.int32)
    new_index[used] = np.arange(len(used), dtype=np.int32)
    names = ["", *dict.fromkeys(streets.names[row] for row in kept if streets.names[row])]
    name_index = {name: idx for idx, name in enumerate(names)}
    positions = np.concatenate(lines)
    off_ground = np.array([_is_off_ground(streets.tags[row]) for row in kept], np.bool_)
    report.update(nodes=len(used), edges=len(kept))
    return StreetTables(
        node_osm_id=outside_ids([streets.node_ids[idx] for idx in used]),
        node_lng=streets.node_lng[used],
        node_lat=streets.node_lat[used],
        node_flags=np.array([node_tags.node_flags(streets.node_tags[idx]) for idx in used], dtype=np.uint16),
        edge_from=new_index[edge_from],
        edge_to=new_index[edge_to],
        edge_length_m=length_m[kept],
        edge_way_id=outside_ids([way[0] if (way := streets.way_ids[row]) else None for row in kept]),
        edge_use=use_of,
        edge_name=np.array([name_index[streets.names[row]] for row in kept], dtype=np.int32),
        coord_indptr=indptr_of([len(line) for line in lines]),
        coord_lng=np.ascontiguousarray(positions[:, 0]),
        coord_lat=np.ascontiguousarray(positions[:, 1]),
        uses=uses.frame(),
        names=names,
        report=report,
        edge_off_ground=off_ground if off_ground.any() else np.zeros(0, np.bool_),
    )


def _is_off_ground(edge_tags: Mapping[str, TagValue]) -> bool:
    """Return whether an edge, which osmnx may have merged from several ways, is off the ground throughout."""
    for key in tags.OFF_GROUND_KEYS:
        value = edge_tags.get(key, ())
        texts = [value] if isinstance(value, str) else [*value]
        if texts and all(tags.is_off_ground({key: text}) for text in texts):
            return True
    return False


def _stress(edge_tags: Mapping[str, TagValue]) -> list[int]:
    """
    Return the numbers for the traffic stress of an edge, in both directions, where traffic keeps right and left.

    An edge that osmnx has merged from several ways has the numbers of the highest level; one without a class has 0.
    """
    if "highway" not in edge_tags and "route" not in edge_tags:
        return [0] * 4
    found = [(*codes(each), *codes(each, is_left_hand=True)) for each in _combinations(edge_tags)]
    return [max(each, key=lambda code: (code & 7, code)) for each in zip(*found, strict=True)]


def _combinations(edge_tags: Mapping[str, TagValue]) -> list[dict[str, str]]:
    """Return the tags that the ways of an edge may have, each with one value; not all of very many."""
    return [*map(dict, itertools.islice(itertools.product(*_choices(edge_tags)), MOST_COMBINATIONS))]


def _choices(edge_tags: Mapping[str, TagValue]) -> list[list[tuple[str, str]]]:
    """Return each key with each of its values."""
    return [
        [(key, text) for text in ([value] if isinstance(value, str) else value)]
        for key, value in sorted(edge_tags.items())
    ]


class _Codes:
    """Numbers of edges by their tags; an edge that osmnx has merged from several ways has the worst of theirs."""

    def __init__(
        self, keys: frozenset[str], code_of: Callable[[Mapping[str, str]], int], worst: Callable[..., int]
    ) -> None:
        self._keys, self._code_of, self._worst = keys, code_of, worst
        self._known: dict[tuple[tuple[str, TagValue], ...], int] = {}

    def code(self, edge_tags: Mapping[str, TagValue]) -> int:
        """Return the number of an edge."""
        about = tuple(sorted((key, value) for key, value in edge_tags.items() if key in self._keys))
        if about not in self._known:
            self._known[about] = self._worst(*map(self._code_of, _combinations(dict(about))))
        return self._known[about]


class _Uses:
    """Distinct interpretations of tags and of speeds given by the user."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Any, ...], int] = {}
        self._known: dict[tuple[Any, ...], int | None] = {}

    def add(
        self, edge_tags: Mapping[str, TagValue], forward: FloatArray, backward: FloatArray, ferry_m: float | None
    ) -> int | None:
        """Return the row of an interpretation, None if the edge is closed to all modes."""
        key = (tuple(sorted(edge_tags.items())), forward.tobytes(), backward.tobytes(), ferry_m)
        if key not in self._known:
            use = _with_speeds(_interpret(edge_tags, ferry_m), edge_tags, forward, backward)
            row = None if use is None else tuple(use[column] for column in USE_DTYPES)
            self._known[key] = None if row is None else self._rows.setdefault(row, len(self._rows))
        return self._known[key]

    def frame(self) -> pd.DataFrame:
        """Return `StreetTables.uses`."""
        return pd.DataFrame(list(self._rows), columns=list(USE_DTYPES)).astype(USE_DTYPES)


def _interpret(edge_tags: Mapping[str, TagValue], ferry_m: float | None) -> dict[str, Any] | None:
    """Return the use that the tags allow; an edge merged from several ways allows only what all of them allow."""
    found = []
    for combination in _combinations(edge_tags):
        use = tags.interpret(combination, length_m=ferry_m)
        if use is None:
            return None
        found.append({column: getattr(use, column) for column in USE_DTYPES})
    return found[0] if len(found) == 1 else _all_of(found)


def _all_of(uses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the use of an edge that consists of equal parts with each of `uses`."""
    merged = dict(uses[0])
    for column in ("is_toll", "is_track"):
        merged[column] = any(use[column] for use in uses)
    for column in ("is_ferry", "is_roundabout", "is_barrier"):
        merged[column] = all(use[column] for use in uses)
    severity = (ACCESS_YES, ACCESS_DESTINATION, ACCESS_PRIVATE, ACCESS_NO)
    for mode in BASE_MODES:
        merged[f"{mode}_access"] = max((use[f"{mode}_access"] for use in uses), key=severity.index)
        for way in ("forward", "backward"):
            speeds = [float(use[f"{mode}_kph_{way}"]) for use in uses]
            merged[f"{mode}_kph_{way}"] = 0.0 if min(speeds) <= 0 else len(speeds) / sum(1 / kph for kph in speeds)
    return merged


def _with_speeds(
    use: dict[str, Any] | None, edge_tags: Mapping[str, TagValue], forward: FloatArray, backward: FloatArray
) -> dict[str, Any] | None:
    """Return `use` with the speeds given by the user in place of the interpreted ones."""
    if np.isnan(forward).all() and np.isnan(backward).all():
        return use
    if use is None:
        use = {column: False if dtype == "bool" else 0 for column, dtype in USE_DTYPES.items()}
        highway = edge_tags.get("highway", "road")
        use["highway"] = highway if isinstance(highway, str) else highway[0]
    oneway = str(edge_tags.get("oneway", "no")).lower()
    for position, mode in enumerate(BASE_MODES):
        own = {"forward": float(forward[position]), "backward": float(backward[position])}
        if all(math.isnan(kph) for kph in own.values()):
            continue
        was_open = {way: use[f"{mode}_kph_{way}"] > 0 for way in own}
        if use[f"{mode}_access"] == ACCESS_NO or not any(was_open.values()):
            was_open = {
                "forward": not STREET_MODES[mode].keeps_to_oneway or oneway not in _ONE_WAY_BACK,
                "backward": not STREET_MODES[mode].keeps_to_oneway or oneway not in _ONE_WAY,
            }
            use[f"{mode}_access"] = ACCESS_YES
        for way, kph in own.items():
            if not math.isnan(kph):
                use[f"{mode}_kph_{way}"] = kph if was_open[way] else 0.0
        if use[f"{mode}_kph_forward"] <= 0 and use[f"{mode}_kph_backward"] <= 0:
            use[f"{mode}_access"] = ACCESS_NO
    return use if any(use[f"{mode}_access"] != ACCESS_NO for mode in BASE_MODES) else None
