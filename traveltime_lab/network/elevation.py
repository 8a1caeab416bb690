"""
Elevation: times on foot and by bicycle that depend on slopes, from a raster of heights.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray, UInt16Array, within_rows
from traveltime_lab._files import as_path
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.network.network import Network, check_network, with_speeds
from traveltime_lab.network.sources import described
from traveltime_lab.readers.elevation import FINEST_M, Heights, read_heights
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.streets import slopes
from traveltime_lab.streets.tables import StreetTables

#: Role of the file among those of the network.
_ROLE: Final = "elevation"
#: Number of edges whose places are sampled at once.
_AT_ONCE: Final = 50_000


@explained_keywords
def add_elevation(network: Network, path: str | os.PathLike[str]) -> Network:
    """
    Return a copy of a network in which walking and cycling depend on slopes.

    Heights are read from a raster along every street. Uphill takes longer than on level ground and gentle downhill
    less, in every search and on the way to and from stops. Driving and distances do not change.

    Parameters
    ----------
    network : Network
        The network to copy; it is not modified. Slopes that it has are replaced.
    path : path-like
        GeoTIFF, or any raster that GDAL reads, in any CRS, with one band of heights in metres. Reading it needs the
        extra ``elevation``.

    Returns
    -------
    Network
        A new network with another fingerprint. Its ``report()`` names the file, and has the length of streets without
        heights.

    Raises
    ------
    MissingDependencyError
        If rasterio is not installed.
    MissingFileError
        If the file does not exist.
    DataError
        If the file is no raster, or damaged.
    CrsError
        If the raster has no CRS.
    InputError
        If the raster has several bands, heights in a unit other than metres, or none in the area of the network.

    Warns
    -----
    UserWarning
        If streets are outside of the raster, or where it has no data.

    See Also
    --------
    add_speeds : Speeds on level ground.

    Notes
    -----
    The time on foot follows Tobler's hiking function [1]_, and that by bicycle the measurements of Parkin and Rotheram
    [2]_. Both are divided by their values on level ground, so that level streets keep their speeds, and those of
    `add_speeds`, ``walking_speed`` and ``cycling_speed`` multiply. Cyclists push their bicycles where that is faster.

    Heights are interpolated between the centres of pixels, at distances of a pixel along each street. Pixels smaller
    than 10 m are averaged to that size first. Slopes steeper than 35 % count as 35 %. Bridges and tunnels, which the
    raster does not show, rise evenly between their ends. Stairs, elevators and ferries keep their speeds. Streets
    without heights are level, as are straight walks between points and streets. An edge between two junctions has one
    factor in each direction, also for trips that use a part of it.

    References
    ----------
    .. [1] W. Tobler, "Three presentations on geographical analysis and modeling", NCGIA Technical Report 93-1, 1993.
    .. [2] J. Parkin and J. Rotheram, "Design speeds and acceleration characteristics of bicycle traffic for use in
       planning, design and appraisal", Transport Policy 17(5), 2010.

    Examples
    --------
    >>> import numpy as np, rasterio
    >>> network = tl.sample_network()
    >>> west, south, east, north = network.bounds
    >>> wide, high = (east - west) / 80, (north - south) / 80
    >>> pixel = rasterio.Affine(
    ...     wide, 0, west - 10 * wide, 0, -high, north + 10 * high
    ... )
    >>> falling = np.linspace(300, 0, 100, dtype="float32")
    >>> heights = falling * np.ones((100, 1), "float32")  # to the east
    >>> with rasterio.open(
    ...     "hills.tif",
    ...     "w",
    ...     driver="GTiff",
    ...     width=100,
    ...     height=100,
    ...     count=1,
    ...     dtype="float32",
    ...     crs="EPSG:4326",
    ...     transform=pixel,
    ... ) as file:
    ...     file.write(heights, 1)
    >>> hilly = tl.add_elevation(network, "hills.tif")
    >>> homes = tl.sample_points()
    >>> level, sloped = (
    ...     tl.time_filter(
    ...         each,
    ...         homes,
    ...         homes,
    ...         travel_time=7200,
    ...         transportation="cycling",
    ...         form="matrix",
    ...     )
    ...     for each in (network, hilly)
    ... )
    >>> bool((sloped > level).any(axis=None))
    True
    >>> bool((sloped < level).any(axis=None))
    True
    """
    check_network(network)
    file = as_path(path, "path")
    tables = network.tables
    heights = read_heights(file, tables.coord_lng, tables.coord_lat)
    of_node = slopes.heights_of_bridges(tables, heights.at(tables.node_lng, tables.node_lat))
    factors, steepest, is_known = _factors(tables, heights, of_node)
    length = tables.edge_length_m
    on_land = ~tables.uses["is_ferry"].to_numpy()[tables.edge_use]
    without = on_land & ~is_known
    source = described(file, _ROLE)
    facts = {
        "file": source["name"],
        "sampled_every_m": max(FINEST_M, heights.pixel_m),
        "lowest_m": float(np.nanmin(heights.values)),
        "highest_m": float(np.nanmax(heights.values)),
        "bridges_and_tunnels": int(tables.edge_off_ground.sum()),
        "edges_without_heights": int(without.sum()),
        "km_without_heights": float(length[without].sum() / 1000.0),
    }
    files = [each for each in tables.report.get("files", ()) if each["role"] != _ROLE]
    report = {**tables.report, "files": [*files, source], _ROLE: facts}
    if without.any():
        share = length[without].sum() / max(length[on_land].sum(), 1e-9)
        msg = (
            f"{facts['km_without_heights']:,.1f} km of streets ({share:.0%}) are outside of {source['name']} or where "
            "it has no data; they are level"
        )
        warn(msg)
    walking, cycling = (each.astype(np.float32) for each in factors)
    changed = replace(
        tables, walking_slope_factor=walking, cycling_slope_factor=cycling, edge_slope=steepest, report=report
    )
    return with_speeds(network, changed)


def _factors(
    tables: StreetTables, heights: Heights, of_node: FloatArray
) -> tuple[tuple[FloatArray, FloatArray], UInt16Array, BoolArray]:
    """
    Return the factors of walking and cycling on directed edges, the steepest slope of each edge in tenths of a per
    cent, and the edges whose heights are all known.
    """
    n = tables.edge_from.size
    walking, cycling, steepest = np.ones((n, 2)), np.ones((n, 2)), np.zeros(n)
    is_known = np.zeros(n, np.bool_)
    keeps = slopes.keeps_speed(tables)
    off = tables.edge_off_ground if tables.edge_off_ground.size else np.zeros(n, np.bool_)
    spacing = max(FINEST_M, heights.pixel_m)
    for first in range(0, n, _AT_ONCE):
        edges = np.arange(first, min(first + _AT_ONCE, n))
        # Bridges and tunnels are one piece, since heights on their way are those of the ground.
        pieces = np.where(off[edges], 1, np.ceil(tables.edge_length_m[edges] / spacing)).astype(np.intp).clip(1)
        owner = np.repeat(np.arange(edges.size), pieces)
        start, end = _ends_of_pieces(tables, heights, of_node, edges, pieces)
        metres = np.maximum((tables.edge_length_m[edges] / pieces)[owner], 1e-3)
        slope = (end - start) / metres
        unknown = np.isnan(slope)
        slope = np.where(unknown | keeps[edges][owner], 0.0, slope)
        is_known[edges] = np.bincount(owner, unknown, edges.size) == 0.0
        np.maximum.at(steepest[first:], owner, np.minimum(np.abs(slope), slopes.STEEPEST))
        for factor, function in ((walking, slopes.walking_factor), (cycling, slopes.cycling_factor)):
            for side, along in enumerate((slope, -slope)):
                factor[edges, side] = np.bincount(owner, function(along), edges.size) / pieces
    return (walking.ravel(), cycling.ravel()), np.rint(steepest * 1000.0).astype(np.uint16), is_known


def _ends_of_pieces(
    tables: StreetTables, heights: Heights, of_node: FloatArray, edges: IndexArray, pieces: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Return the heights at the start and at the end of equal pieces of consecutive edges."""
    indptr = tables.coord_indptr[edges[0] : edges[-1] + 2]
    rows = slice(int(indptr[0]), int(indptr[-1]))
    lng, lat = tables.coord_lng[rows], tables.coord_lat[rows]
    # Places along all lines, one after the other; steps between lines have no length.
    step = segment_lengths_m(lng, lat)
    begins, ends = indptr[:-1] - indptr[0], indptr[1:] - indptr[0] - 1
    step[ends[:-1]] = 0.0
    along = np.concatenate([[0.0], np.cumsum(step)])
    owner = np.repeat(np.arange(edges.size), pieces - 1)
    number = 1 + within_rows(pieces - 1)
    at = along[begins[owner]] + (along[ends[owner]] - along[begins[owner]]) * number / pieces[owner]
    # Longitudes may jump by 360 degrees within a line.
    after = np.clip(np.searchsorted(along, at, side="right"), begins[owner] + 1, ends[owner])
    gone, whole = at - along[after - 1], along[after] - along[after - 1]
    share = np.where(whole > 0.0, gone / np.where(whole > 0.0, whole, 1.0), 0.0).clip(0.0, 1.0)
    turn = (lng[after] - lng[after - 1] + 540.0) % 360.0 - 180.0
    middle_lng = (lng[after - 1] + share * turn + 180.0) % 360.0 - 180.0
    between = heights.at(middle_lng, lat[after - 1] + share * (lat[after] - lat[after - 1]))
    # The place after piece k of an edge is the one before piece k + 1.
    last = np.cumsum(pieces) - 1
    start, end = np.empty(int(pieces.sum())), np.empty(int(pieces.sum()))
    is_first, is_last = np.zeros(start.size, np.bool_), np.zeros(start.size, np.bool_)
    is_first[last - pieces + 1], is_last[last] = True, True
    start[is_first], start[~is_first] = of_node[tables.edge_from[edges]], between
    end[is_last], end[~is_last] = of_node[tables.edge_to[edges]], between
    return start, end
