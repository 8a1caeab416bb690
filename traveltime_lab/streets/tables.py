"""
The street tables that every reader returns and every network contains.

An *edge* is an undirected piece of street between two nodes. *Directed edge* ``2 * e`` runs along edge ``e`` from
``edge_from`` to ``edge_to``, and ``2 * e + 1`` runs back, so the reverse of directed edge ``d`` is ``d ^ 1``. Access
and speeds are interpreted once for each distinct set of tags: `StreetTables.uses` has one row per distinct
interpretation, and ``edge_use`` holds the row of each edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    Int64Array,
    UInt8Array,
    UInt16Array,
    UInt32Array,
)
from traveltime_lab.streets.extent import Extent
from traveltime_lab.streets.hourly_speeds import HourlySpeeds, check_hourly

NODE_SIGNALS = 1
NODE_STOP = 2
NODE_GIVE_WAY = 4
NODE_CROSSING = 8
NODE_LEVEL_CROSSING = 16
NODE_TRAFFIC_CALMING = 32
#: Crossings for people on foot or by bicycle, with signals, and with a refuge in the middle of the street.
NODE_CROSSING_SIGNALS = 64
NODE_REFUGE = 128
NODE_BLOCKS_WALKING = 256
NODE_BLOCKS_CYCLING = 512
NODE_BLOCKS_DRIVING = 1024

#: Access of a base mode to a way: none, free, only to reach a place on it, or only with the permission of the owner.
ACCESS_NO = 0
ACCESS_YES = 1
ACCESS_DESTINATION = 2
ACCESS_PRIVATE = 3
#: Added to the access of a mode that a change of a scenario has closed. A closed street is still there: points stay at
#: it, and the costs of turns, mandatory turns and destination-only zones are those of before.
CLOSED_BY_CHANGE = 4

#: Columns of `StreetTables.uses` and their dtypes. Speeds are free-flow km/h along (`_forward`) and against
#: (`_backward`) the edge, 0 where that direction is closed. Speeds of ferries are their length divided by the duration.
USE_DTYPES: dict[str, Any] = {
    "highway": "object",  # value of the highway tag, "ferry" for route=ferry
    "is_ferry": "bool",
    "is_toll": "bool",
    "is_track": "bool",  # unpaved track, closed to cars unless include_roads has "track"
    "is_roundabout": "bool",
    "is_barrier": "bool",  # motorway or motorroad at ground level, which pedestrians cannot cross
    "walking_access": "uint8",
    "walking_kph_forward": "float32",
    "walking_kph_backward": "float32",
    "cycling_access": "uint8",
    "cycling_kph_forward": "float32",
    "cycling_kph_backward": "float32",
    "driving_access": "uint8",
    "driving_kph_forward": "float32",
    "driving_kph_backward": "float32",
}

#: Columns of `StreetTables.places` and their dtypes; unknown texts are empty.
PLACE_DTYPES: dict[str, Any] = {
    "name": "string",
    "other_names": "string",  # separated by semicolons
    "kind": "string",  # such as "amenity=cafe"; "place=house" for an address only
    "house_number": "string",
    "street": "string",
    "neighbourhood": "string",
    "district": "string",
    "city": "string",
    "county": "string",
    "region": "string",
    "postcode": "string",
    "country": "string",  # ISO 3166-1 alpha-2
    "population": "int64",  # 0 if unknown
    "lng": "float64",
    "lat": "float64",
    "west": "float64",
    "south": "float64",
    "east": "float64",
    "north": "float64",
    "osm_type": "string",  # n, w or r
    "osm_id": "int64",
}


def places_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """
    Return a table of places.

    Parameters
    ----------
    columns : mapping
        Columns of `PLACE_DTYPES` of equal length, with texts as lists or Arrow arrays; without columns the table is
        empty.

    Returns
    -------
    DataFrame
        Texts are Arrow arrays, so that a saved table need not be copied.

    Raises
    ------
    ValueError
        If columns have different lengths, a text column holds other values, or coordinates are not finite.
    """
    frame: dict[str, Any] = {}
    for name, dtype in PLACE_DTYPES.items():
        values = columns.get(name, ())
        if dtype == "string":
            texts = values if isinstance(values, pa.Array) else pa.array(list(values), pa.large_string())
            if texts.type != pa.large_string() or texts.null_count:
                msg = f"column places.{name} must contain strings"
                raise ValueError(msg)
            frame[name] = pd.arrays.ArrowExtensionArray(texts)
        else:
            frame[name] = np.asarray(values, dtype=dtype)
            if not np.isfinite(frame[name]).all():
                msg = f"column places.{name} contains values that are not finite"
                raise ValueError(msg)
    lengths = {len(array) for array in frame.values()}
    if len(lengths) > 1:
        msg = f"the columns of places have {min(lengths)} to {max(lengths)} values"
        raise ValueError(msg)
    return pd.DataFrame(frame)


@dataclass(frozen=True)
class StreetTables:
    """
    Streets as plain arrays: nodes, undirected edges with their lines, turn restrictions, water.

    Attributes
    ----------
    node_osm_id : int64 array of shape (n_nodes,)
        OSM id, or id in the source, of each node (negative where there is none).
    node_lng, node_lat : float64 arrays of shape (n_nodes,)
        EPSG:4326.
    node_flags : uint16 array of shape (n_nodes,)
        Sum of the ``NODE_*`` constants.
    edge_from, edge_to : int32 arrays of shape (n_edges,)
        Nodes at the ends.
    edge_length_m : float64 array of shape (n_edges,)
        Length of the line on the ellipsoid.
    edge_way_id : int64 array of shape (n_edges,)
        Id of the OSM way, or id of the edge in the source.
    edge_use : int32 array of shape (n_edges,)
        Row of `uses`.
    edge_name : int32 array of shape (n_edges,)
        Index into `names`; 0 is the empty name.
    coord_indptr : int64 array of shape (n_edges + 1,)
        Where the line of each edge begins in `coord_lng` and `coord_lat`; a line has at least two positions.
    coord_lng, coord_lat : float64 arrays
        Lines in EPSG:4326, from `edge_from` to `edge_to`, including both ends.
    uses : DataFrame
        One row per distinct interpretation of tags, columns and dtypes of `USE_DTYPES`.
    names : list of str
        Street names; ``names[0]`` is empty.
    restriction_only : bool array of shape (n_restrictions,)
        True for ``only_*`` (mandatory turns), False for ``no_*`` (prohibited turns).
    restriction_indptr, restriction_edges : int64 and int32 arrays
        CSR of the directed edges of each restriction in travel order: from, via, to.
    timed_restrictions : int32 array of shape (n_timed,)
        The restrictions that do not always hold, in increasing order.
    timed_by_default : bool array of shape (n_timed,)
        Whether each of them holds in searches without a moment.
    timed_indptr, timed_minutes : int64 and int32 arrays
        CSR of the minutes of the week (0 is Monday 0:00 local time) at which each of them alternately begins and ceases
        to hold, in increasing order.
    coastlines : list of float64 arrays of shape (n, 2)
        ``natural=coastline`` lines as (lng, lat) rows, land on the left, joined end to end where they meet.
    water : list of shapely Polygon or MultiPolygon
        Lakes and the areas of rivers and docks, EPSG:4326.
    places : DataFrame
        Named places and addresses, columns and dtypes of `PLACE_DTYPES`.
    report : dict
        Counts of objects read and dropped, by reason; plain numbers and strings.
    bounds : tuple of float, optional
        West, south, east, north that the input states; west > east across the 180th meridian.
    edge_off_ground : bool array of shape (n_edges,) or (0,)
        Whether each edge is a bridge, a pier or in a tunnel; empty where the source does not say. Answers do not depend
        on it, only the heights of `traveltime_lab.network.elevation`, and where there is water when a network is
        built.
    edge_is_cut : bool array of shape (n_edges,) or (0,)
        Whether streets may be missing at each edge, because a node of it is beyond the border of the extract or next to
        a node that the extract lacks; empty where that is not known. Answers do not depend on it.
    extent : Extent, optional
        Where the streets are complete; None if it is not known.
    walking_slope_factor, cycling_slope_factor : float32 arrays of shape (2 * n_edges,) or (0,)
        Time along each directed edge divided by that on level ground; empty in networks without elevation.
    edge_stress : uint16 array of shape (2 * n_edges,) or (0,)
        Level of traffic stress for cycling of each directed edge, and what it follows from; see
        `traveltime_lab.streets.stress`. Empty in networks that were saved before there was one.
    edge_step_free : uint32 array of shape (n_edges,) or (0,)
        Obstacles for wheelchairs along each edge, and what is known of it; see `traveltime_lab.streets.step_free`.
        Empty in networks that were saved before there was one.
    node_step_free : uint16 array of shape (n_nodes,) or (0,)
        The same at each node; empty where `edge_step_free` is.
    edge_slope : uint16 array of shape (n_edges,) or (0,)
        The steepest slope along each edge in tenths of a per cent; empty in networks without elevation.
    edge_avoid : uint8 array of shape (n_edges,) or (0,)
        Whether each edge is lit and paved; see `traveltime_lab.streets.avoid`. Empty as `edge_step_free`.
    hourly : HourlySpeeds, optional
        Measured speeds of cars by hour of the week; None without any.
    """

    node_osm_id: Int64Array
    node_lng: FloatArray
    node_lat: FloatArray
    node_flags: UInt16Array
    edge_from: Int32Array
    edge_to: Int32Array
    edge_length_m: FloatArray
    edge_way_id: Int64Array
    edge_use: Int32Array
    edge_name: Int32Array
    coord_indptr: Int64Array
    coord_lng: FloatArray
    coord_lat: FloatArray
    uses: pd.DataFrame
    names: list[str]
    restriction_only: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    restriction_indptr: Int64Array = field(default_factory=lambda: np.zeros(1, np.int64))
    restriction_edges: Int32Array = field(default_factory=lambda: np.zeros(0, np.int32))
    timed_restrictions: Int32Array = field(default_factory=lambda: np.zeros(0, np.int32))
    timed_by_default: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    timed_indptr: Int64Array = field(default_factory=lambda: np.zeros(1, np.int64))
    timed_minutes: Int32Array = field(default_factory=lambda: np.zeros(0, np.int32))
    coastlines: list[FloatArray] = field(default_factory=list)
    water: list[Any] = field(default_factory=list)
    places: pd.DataFrame = field(default_factory=lambda: places_frame({}))
    report: dict[str, Any] = field(default_factory=dict)
    bounds: tuple[float, float, float, float] | None = None
    edge_off_ground: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    edge_is_cut: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    extent: Extent | None = None
    walking_slope_factor: Float32Array = field(default_factory=lambda: np.zeros(0, np.float32))
    cycling_slope_factor: Float32Array = field(default_factory=lambda: np.zeros(0, np.float32))
    edge_stress: UInt16Array = field(default_factory=lambda: np.zeros(0, np.uint16))
    edge_step_free: UInt32Array = field(default_factory=lambda: np.zeros(0, np.uint32))
    node_step_free: UInt16Array = field(default_factory=lambda: np.zeros(0, np.uint16))
    edge_slope: UInt16Array = field(default_factory=lambda: np.zeros(0, np.uint16))
    edge_avoid: UInt8Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    hourly: HourlySpeeds | None = None

    @property
    def has_stress(self) -> bool:
        """Whether levels of traffic stress are known."""
        return self.edge_stress.size > 0

    @property
    def has_step_free(self) -> bool:
        """Whether obstacles for wheelchairs are known."""
        return self.edge_step_free.size > 0

    @property
    def has_slopes(self) -> bool:
        """Whether walking and cycling depend on slopes."""
        return self.walking_slope_factor.size > 0

    def optional_arrays(self, edges: AnyArray) -> dict[str, Any]:
        """
        Return the optional fields with the values of some edges.

        Parameters
        ----------
        edges : integer array
            Edges of these tables; -1 for a new one, which is level, on the ground, without obstacles, of unknown
            traffic stress, lights and surface, and without measured speeds.
        """
        is_known = edges >= 0
        found: dict[str, Any] = {}
        if self.has_slopes:
            for name in SLOPE_FACTORS:
                pairs = getattr(self, name).reshape(-1, 2)[edges]
                found[name] = np.where(is_known[:, None], pairs, np.float32(1.0)).ravel()
        if self.has_stress:
            pairs = self.edge_stress.reshape(-1, 2)[edges]
            found["edge_stress"] = np.where(is_known[:, None], pairs, np.uint16(0)).ravel()
        for name in ("edge_off_ground", "edge_is_cut", "edge_step_free", "edge_slope", "edge_avoid"):
            values = getattr(self, name)
            if values.size:
                found[name] = np.where(is_known, values[edges], values.dtype.type(0))
        if self.hourly is not None:
            found["hourly"] = self.hourly.of_edges(edges)
        return found


#: Arrays of `StreetTables` with one value per directed edge, which are empty in networks without elevation.
SLOPE_FACTORS = ("walking_slope_factor", "cycling_slope_factor")
#: Arrays that may be empty, with the number of values per edge and their dtype.
_OPTIONAL = {
    "edge_off_ground": (1, "bool"),
    "edge_is_cut": (1, "bool"),
    **dict.fromkeys(SLOPE_FACTORS, (2, "float32")),
    "edge_stress": (2, "uint16"),
    "edge_step_free": (1, "uint32"),
    "edge_slope": (1, "uint16"),
    "edge_avoid": (1, "uint8"),
}
#: Their names; empty ones are not written to files.
OPTIONAL_ARRAYS = frozenset({*_OPTIONAL, "node_step_free"})

#: Dtypes of the arrays of `StreetTables` with one value per node, with one value per edge, and of other lengths.
_NODE_DTYPES = {"node_osm_id": "int64", "node_lng": "float64", "node_lat": "float64", "node_flags": "uint16"}
_EDGE_DTYPES = {
    "edge_from": "int32",
    "edge_to": "int32",
    "edge_length_m": "float64",
    "edge_way_id": "int64",
    "edge_use": "int32",
    "edge_name": "int32",
}
_RAGGED_DTYPES = {
    "coord_indptr": "int64",
    "coord_lng": "float64",
    "coord_lat": "float64",
    "restriction_only": "bool",
    "restriction_indptr": "int64",
    "restriction_edges": "int32",
    "timed_restrictions": "int32",
    "timed_by_default": "bool",
    "timed_indptr": "int64",
    "timed_minutes": "int32",
}

#: Times of the week are minutes after Monday 0:00; the end of Sunday is one, too.
_MINUTES_OF_WEEK = 7 * 24 * 60


def check_consistent(tables: StreetTables) -> None:
    """
    Check that the arrays of tables fit together.

    Kernels do not check bounds, so inconsistent tables from a file would make them read beyond the ends of arrays.

    Raises
    ------
    ValueError
        If an array has a wrong dtype or length, has an index outside of the array that it refers to, or contains a
        number that is not a valid coordinate, length or speed.
    """
    n_nodes, n_edges = tables.node_lng.size, tables.edge_from.size
    for sizes, dtypes in ((n_nodes, _NODE_DTYPES), (n_edges, _EDGE_DTYPES), (None, _RAGGED_DTYPES)):
        for name, dtype in dtypes.items():
            array = getattr(tables, name)
            if array.dtype != np.dtype(dtype) or array.ndim != 1:
                raise ValueError(f"column {name} must be a one-dimensional array of {dtype}, got {array.dtype}")
            if sizes is not None and array.size != sizes:
                raise ValueError(f"column {name} must have {sizes} values, got {array.size}")
    if not (tables.names and all(isinstance(name, str) for name in tables.names)):
        raise ValueError("column names must contain texts")
    highways = tables.uses["highway"]
    if len(tables.uses) and not all(isinstance(value, str) for value in highways):
        raise ValueError("column uses.highway must contain texts")
    for name, size in (
        ("edge_from", n_nodes),
        ("edge_to", n_nodes),
        ("edge_use", len(tables.uses)),
        ("edge_name", len(tables.names)),
        ("restriction_edges", 2 * n_edges),
        ("timed_restrictions", tables.restriction_only.size),
        ("timed_minutes", _MINUTES_OF_WEEK + 1),
    ):
        array = getattr(tables, name)
        if array.size and (int(array.min()) < 0 or int(array.max()) >= size):
            raise ValueError(f"column {name} contains indices outside of the table that it refers to")
    for name, n_rows, n_values, least in (
        ("coord_indptr", n_edges, tables.coord_lng.size, 2),
        ("restriction_indptr", tables.restriction_only.size, tables.restriction_edges.size, 2),
        ("timed_indptr", tables.timed_restrictions.size, tables.timed_minutes.size, 2),
    ):
        indptr = getattr(tables, name)
        if indptr.size != n_rows + 1 or indptr[0] != 0 or indptr[-1] != n_values or (np.diff(indptr) < least).any():
            raise ValueError(f"column {name} does not split its values into {n_rows} rows of at least {least}")
    _check_hours(tables)
    if tables.coord_lat.size != tables.coord_lng.size:
        raise ValueError("columns coord_lng and coord_lat have different lengths")
    for name, lowest, highest in (
        ("node_lng", -180.0, 180.0),
        ("node_lat", -90.0, 90.0),
        ("coord_lng", -180.0, 180.0),
        ("coord_lat", -90.0, 90.0),
        ("edge_length_m", 0.0, 41e6),  # once around the earth
    ):
        array = getattr(tables, name)
        # Comparisons with NaN are False, so NaN fails this check, too.
        if array.size and not (array.min() >= lowest and array.max() <= highest and np.isfinite(array).all()):
            raise ValueError(f"column {name} contains values that are not from {lowest:g} to {highest:g}")
    _check_optional(tables)
    if tables.hourly is not None:
        check_hourly(tables.hourly, n_edges)
    speeds = tables.uses[[name for name in USE_DTYPES if "_kph_" in name]].to_numpy()
    if not (np.isfinite(speeds).all() and (speeds >= 0.0).all()):
        raise ValueError("the speeds of uses contain values that are negative or not finite")


def _check_optional(tables: StreetTables) -> None:
    """Check the arrays that may be empty; raise ValueError."""
    for name, (per_edge, dtype) in _OPTIONAL.items():
        array = getattr(tables, name)
        if array.dtype != np.dtype(dtype) or array.shape not in ((0,), (per_edge * tables.edge_from.size,)):
            raise ValueError(f"column {name} must be empty or have {per_edge} values of {dtype} for each edge")
    if len({getattr(tables, name).size for name in SLOPE_FACTORS}) > 1:
        raise ValueError(f"columns {' and '.join(SLOPE_FACTORS)} have different lengths")
    for name in SLOPE_FACTORS:
        array = getattr(tables, name)
        if not ((array >= 0.1) & (array <= 100.0)).all():
            raise ValueError(f"column {name} contains values that are not from 0.1 to 100")
    size = tables.node_lng.size if tables.has_step_free else 0
    if tables.node_step_free.dtype != np.uint16 or tables.node_step_free.shape != (size,):
        raise ValueError(f"column node_step_free must have {size} values of uint16")
    # Two bits each for lights and for the surface; see `traveltime_lab.streets.avoid`.
    if not ((tables.edge_avoid < 16) & (tables.edge_avoid & 3 < 3) & (tables.edge_avoid >> 2 < 3)).all():
        raise ValueError("column edge_avoid contains values that mean nothing")
    if not ((tables.node_step_free & 15) <= 11).all():
        raise ValueError("column node_step_free contains values that mean no kind of obstacle")
    # Level, kind and column of speed; see `traveltime_lab.streets.stress`.
    stress = tables.edge_stress
    if not ((stress & 7 <= 4) & (stress >> 3 & 15 <= 12) & (stress >> 7 & 7 <= 6)).all():
        raise ValueError("column edge_stress contains values that mean no level of traffic stress")


def _check_hours(tables: StreetTables) -> None:
    """Check the hours of restrictions beyond the ranges of their values; raise ValueError."""
    if tables.timed_by_default.size != tables.timed_restrictions.size:
        raise ValueError("columns timed_restrictions and timed_by_default have different lengths")
    if (np.diff(tables.timed_restrictions) <= 0).any():
        raise ValueError("column timed_restrictions is not in increasing order")
    is_later = np.diff(tables.timed_minutes) > 0
    is_later[tables.timed_indptr[1:-1] - 1] = True  # between two restrictions
    if (np.diff(tables.timed_indptr) % 2).any() or not is_later.all():
        raise ValueError("column timed_minutes does not alternate between increasing beginnings and ends")


def street_km(tables: StreetTables, edges: BoolArray) -> float:
    """Return the kilometres of some edges (bool array of shape (n_edges,)), without ferries."""
    is_street = edges & ~tables.uses["is_ferry"].to_numpy()[tables.edge_use]
    return float(tables.edge_length_m[is_street].sum()) / 1000.0
