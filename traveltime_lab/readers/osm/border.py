"""
Where a file was cut: the border of its streets, and the edges there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from traveltime_lab._arrays import BoolArray, Int32Array
from traveltime_lab.crs import wrap_degrees
from traveltime_lab.errors import DataError
from traveltime_lab.readers.osm.edges import Edges
from traveltime_lab.readers.osm.nodes import NodePositions, NodeTable
from traveltime_lab.readers.osm.source_file import Header
from traveltime_lab.readers.region import Region
from traveltime_lab.streets.extent import Extent

#: Degrees by which a bounding box differs from the nodes that it was computed from: files have seven decimals.
_ROUNDING = 1.5e-7
#: Number of nodes next to missing ones, by edge across the border, below which these are gaps of the data (assumed).
_GAPS = 0.1
#: Evidence that a file without a box was cut (assumed): the number of nodes next to missing ones, the share of the hull
#: of all nodes that is in theirs, and the distance of half of them from that hull, by the side of a square as large.
_FEWEST_CUT = 4
_AROUND = 0.5
_BESIDE = 0.1


def extent_of(
    header: Header, region: Region | None, cut: Int32Array, positions: NodePositions, nodes: NodeTable
) -> Extent | None:
    """
    Return where the streets of a file are complete; None if the file does not say.

    A bounding box that nodes touch on all sides was computed from the nodes and is no border. Nodes next to missing
    ones show where a file was cut if they are all around it; a few of them are gaps of the data.
    """
    bounds = header.bounds
    if region is not None:
        shape = region.shape if header.shape is None else _common(region, header.shape)
        return Extent("bounds", bounds, shape)
    if bounds is not None:
        assert nodes.bounds is not None
        if not (np.abs(np.subtract(nodes.bounds, bounds)) <= _ROUNDING).all():
            return Extent("file", bounds, header.shape)
    return Extent("ways") if _are_around(positions, nodes, cut) else None


def _common(region: Region, files: Any) -> Any:
    """Return the shape of what a region has of several files whose boxes do not fill theirs; None if it is a box."""
    west, south, east, north = region.bounds
    spans = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    own = shapely.union_all([shapely.box(low, south, high, north) for low, high in spans])
    own = own if region.shape is None else region.shape
    if shapely.covers(files, own):
        return region.shape
    parts = shapely.get_parts(shapely.intersection(own, files))
    parts = parts[shapely.area(parts) > 0.0]
    if not parts.size:
        raise DataError(
            f"the bounds {region} are between the boxes of the files, which have only ways across them there"
        )
    shape = shapely.union_all(parts)
    shapely.prepare(shape)
    return shape


def _are_around(positions: NodePositions, nodes: NodeTable, cut: Int32Array) -> bool:
    """Return whether nodes next to missing ones are several, all around, and mostly near the hull of all nodes."""
    if cut.size < _FEWEST_CUT:
        return False
    # Across the 180th meridian, too.
    origin = float(positions.lng[cut[0]])
    corners, mean_lat = nodes.hull(origin)
    narrower = np.array([np.cos(np.radians(mean_lat)), 1.0])
    at_cut = np.column_stack([wrap_degrees(positions.lng[cut] - origin), positions.lat[cut]]) * narrower
    of_all, of_cut = (shapely.convex_hull(shapely.MultiPoint(each)) for each in (corners * narrower, at_cut))
    if of_cut.area < _AROUND * of_all.area:
        return False
    to_hull = shapely.distance(shapely.points(at_cut), of_all.boundary)
    return bool(np.median(to_hull) <= _BESIDE * np.sqrt(of_all.area))


def are_cut(extent: Extent, cut: Int32Array, edges: Edges, n_nodes: int) -> BoolArray:
    """
    Return which edges have a node beyond the border, or next to a missing one.

    Where many more edges lead across the border than end at a missing node, the latter are gaps of the data.
    """
    is_cut = np.zeros(n_nodes, np.bool_)
    is_cut[cut] = True
    across: BoolArray = np.logical_or.reduceat(
        ~extent.contains(edges.coord_lng, edges.coord_lat), edges.coord_indptr[:-1]
    )
    ends: BoolArray = np.logical_or.reduceat(is_cut[edges.coord_node], edges.coord_indptr[:-1])
    return across if cut.size < _GAPS * across.sum() else across | ends
