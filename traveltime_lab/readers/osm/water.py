"""Read coastlines and inland water from an OpenStreetMap file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import osmium
import shapely

from traveltime_lab._arrays import FloatArray, Int32Array
from traveltime_lab.crs import LocalFrame, metres_per_degree
from traveltime_lab.readers.osm.extract import OsmFile, Relation, Ways
from traveltime_lab.readers.osm.nodes import NodePositions
from traveltime_lab.readers.osm.opl import parse_tags
from traveltime_lab.readers.osm.water_tags import WATER_TAGS, is_water
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets.on_ground import drowned

Bounds = tuple[float, float, float, float]

#: A shoreline counts as cut by a side of the extract if both ends of the gap are within this distance of that side.
_BORDER_M = 50.0


class Waters(NamedTuple):
    """Coastlines and water areas, and counts of dropped objects."""

    coastlines: list[FloatArray]
    areas: list[Any]
    report: dict[str, int]


def read_waters(
    file: OsmFile,
    multipolygons: Sequence[Relation],
    *,
    bounds: Bounds | None = None,
    street_nodes: tuple[FloatArray, FloatArray] | None = None,
) -> Waters:
    """
    Return coastlines and water areas.

    Parameters
    ----------
    file : OsmFile
        File with the ways, whose nodes have been read.
    multipolygons : sequence of Relation
        Multipolygon relations of the file, water or not.
    bounds : tuple of float, optional
        West, south, east, north of an extract from a larger file.
    street_nodes : tuple of two float64 arrays, optional
        Longitudes and latitudes of nodes of streets on the ground.

    Returns
    -------
    Waters
        Areas whose ring is not closed in the file and areas across the 180th meridian are dropped and counted. A closed
        way whose missing nodes are beyond one side of the bounds is closed along that side and counted, unless there
        are about as many streets in it as on the land beside it: it is then taken for a peninsula, with water on its
        other side.

    Warns
    -----
    UserWarning
        If an area is left out because of the streets in it.
    """
    report: Counter[str] = Counter()
    tagged = file.ways(osmium.filter.TagFilter(("natural", "coastline"), *WATER_TAGS))
    positions = file.positions_of(tagged.refs)
    tags = [parse_tags(text) for text in tagged.tags]
    coast_rows = np.array([row for row, t in enumerate(tags) if t.get("natural") == "coastline"], np.int64)
    coastlines = _coastlines(tagged.rows(coast_rows), positions, report)

    areas: list[Any] = []
    nodes = positions.find(tagged.refs)
    for row, way_tags in enumerate(tags):
        if is_water(way_tags):
            ring = nodes[tagged.indptr[row] : tagged.indptr[row + 1]]
            refs = tagged.refs[tagged.indptr[row] : tagged.indptr[row + 1]]
            if bounds is not None and len(refs) > 3 and refs[0] == refs[-1] and (ring < 0).any():
                closed = _closed_at_border(ring[:-1], positions, bounds)
                if closed is not None and _is_land(closed, positions, bounds, street_nodes):
                    report["water_areas_dropped_with_streets"] += 1
                    closed = None
                report["water_areas_closed_at_border"] += closed is not None
                ring = ring if closed is None else closed
            areas.extend(_areas([ring], positions, report))

    water_relations = [relation for relation in multipolygons if is_water(relation.tags)]
    requested = {ref for relation in water_relations for letter, ref, _ in relation.members if letter == "w"}
    members = file.ways_by_id(requested) if requested else tagged.rows(np.zeros(0, np.int64))
    row_of = {way: row for row, way in enumerate(members.osm_id.tolist())}
    positions = file.positions_of(members.refs)
    nodes = positions.find(members.refs)
    for relation in water_relations:
        rows = [row_of.get(ref) for letter, ref, _ in relation.members if letter == "w"]
        lines = [nodes[members.indptr[row] : members.indptr[row + 1]] for row in rows if row is not None]
        if len(lines) < len(rows):
            report["water_areas_dropped_incomplete"] += 1
        else:
            areas.extend(_areas(lines, positions, report))
    if report["water_areas_dropped_with_streets"]:
        msg = (
            "water areas that are cut by the border of the extract and have about as many streets in them as beside "
            f"them are left out: {report['water_areas_dropped_with_streets']}. They may be peninsulas; an extract with "
            "a margin around the place has whole areas"
        )
        warn(msg)
    else:
        del report["water_areas_dropped_with_streets"]
    report["coastlines"] = len(coastlines)
    report["water_areas"] = len(areas)
    return Waters(coastlines, areas, dict(report))


def _closed_at_border(ring: Int32Array, positions: NodePositions, bounds: Bounds) -> Int32Array | None:
    """
    Return a ring without its missing nodes (-1), None if they may not be just beyond the border.

    Every gap must begin and end near the same side of the bounds. The straight line across the gap then runs along the
    border; across a corner it would cut off water or cover land.
    """
    is_known = ring >= 0
    if is_known.sum() < 3:
        return None
    lng, lat = positions.lng[ring], positions.lat[ring]
    mx, my = metres_per_degree((bounds[1] + bounds[3]) / 2.0)
    west, south, east, north = bounds
    to_sides_m = [(lng - west) * mx, (lat - south) * my, (lng - east) * mx, (lat - north) * my]
    is_beside = np.abs(to_sides_m) <= _BORDER_M
    known = np.flatnonzero(is_known)
    after = np.roll(known, -1)
    is_gap = (after - known) % len(ring) != 1
    if not (is_beside[:, known[is_gap]] & is_beside[:, after[is_gap]]).any(axis=0).all():
        return None
    kept = ring[is_known]
    shore = shapely.Polygon(np.column_stack([positions.lng[kept], positions.lat[kept]]))
    if not shore.is_valid:
        return None
    return np.append(kept, kept[0])


def _is_land(
    ring: Int32Array, positions: NodePositions, bounds: Bounds, street_nodes: tuple[FloatArray, FloatArray] | None
) -> bool:
    """Return whether a ring has about as many streets on the ground in it as the land beside it."""
    if street_nodes is None:
        return False
    frame = LocalFrame(float(positions.lng[ring[0]]), float(positions.lat[ring[0]]))
    shore = shapely.Polygon(np.column_stack(frame.to_xy(positions.lng[ring], positions.lat[ring])))
    x, y = frame.to_xy(*street_nodes)
    (west, east), (south, north) = frame.to_xy(np.array(bounds[0::2]), np.array(bounds[1::2]))
    if west >= east:  # around the globe, or across the meridian opposite of the ring
        west, east = -np.inf, np.inf
    extent = float(west), float(south), float(east), float(north)
    return bool(drowned(np.array([shore], dtype=object), np.ones(1, np.bool_), x, y, extent))


def _areas(lines: Sequence[Int32Array], positions: NodePositions, report: Counter[str]) -> list[Any]:
    """Return the area that ways enclose, with holes where rings lie within rings, as a list of zero or one geometry."""
    ends = Counter(int(end) for line in lines if len(line) for end in (line[0], line[-1]))
    if not lines or any(len(line) < 2 or (line < 0).any() for line in lines) or any(n % 2 for n in ends.values()):
        report["water_areas_dropped_incomplete"] += 1
        return []
    linework = [np.column_stack([positions.lng[line], positions.lat[line]]) for line in lines]
    if np.ptp(np.concatenate(linework)[:, 0]) > 180.0:
        report["water_areas_dropped_180th_meridian"] += 1
        return []
    area = shapely.build_area(shapely.multilinestrings([shapely.linestrings(line) for line in linework]))
    if area.is_empty:
        report["water_areas_dropped_invalid"] += 1
        return []
    return [area]


def _coastlines(ways: Ways, positions: NodePositions, report: Counter[str]) -> list[FloatArray]:
    """Return coastline ways joined end to end; they are split at missing nodes."""
    nodes = positions.find(ways.refs)
    pieces: list[Int32Array] = []
    for row in range(len(ways.osm_id)):
        line = nodes[ways.indptr[row] : ways.indptr[row + 1]]
        gaps = np.flatnonzero(line < 0)
        report["coastline_missing_nodes"] += len(gaps)
        for piece in np.split(line, gaps):
            piece = piece[piece >= 0]
            if len(piece) > 1:
                pieces.append(piece)
    starting = {int(piece[0]): number for number, piece in enumerate(pieces)}
    followers = {number: starting.get(int(piece[-1])) for number, piece in enumerate(pieces)}
    followed = set(followers.values())
    # Open lines begin at a piece without a predecessor. The remaining pieces are islands, which may begin anywhere.
    order = [number for number in range(len(pieces)) if number not in followed]
    order += [number for number in range(len(pieces)) if number in followed]
    done: set[int] = set()
    lines = []
    for first in order:
        chain: list[Int32Array] = []
        number: int | None = first
        while number is not None and number not in done:
            done.add(number)
            chain.append(pieces[number] if not chain else pieces[number][1:])
            number = followers[number]
        if chain:
            line = np.concatenate(chain)
            lines.append(np.column_stack([positions.lng[line], positions.lat[line]]))
    return lines
