"""
The network: immutable arrays of streets, built once, asked often, saved to one file.

A saved network is one Arrow IPC file holding a table with a single row; every column is a list. Any Arrow reader
opens it (``pyarrow.feather.read_table``), and loading maps the file into memory instead of reading it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import shapely

from traveltime_lab._arrays import AnyArray, FloatArray
from traveltime_lab.crs import LocalFrame, wrap_degrees
from traveltime_lab.errors import DataError, FormatError, InputError, MissingFileError
from traveltime_lab.modes import Transportation, as_transportation
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.streets import costs, graph, snapping
from traveltime_lab.streets.tables import (
    PLACE_DTYPES,
    USE_DTYPES,
    StreetTables,
    check_consistent,
    in_order_of_place,
    places_frame,
)
from traveltime_lab.transit import timetable_file

if TYPE_CHECKING:
    import datetime as dt

    import geopandas as gpd
    from pyproj import CRS

    from traveltime_lab.transit.timetable import Timetable

logger = logging.getLogger(__name__)

#: Version of the file format; a file of another version is refused with a clear error.
FORMAT_VERSION = 2
_FORMAT_NAME = "traveltime_lab.network"
#: What the columns of a timetable begin with.
_TIMETABLE = "timetable/"
#: Search graphs and indexes kept per network; the least recently used is dropped.
_KEPT = 64
#: Stops that the report names.
_STOPS_LISTED = 5

_T = TypeVar("_T")


class Report(dict[str, Any]):
    """What was read, what was dropped and why; a dict that prints as readable lines."""

    def __str__(self) -> str:
        """Return one line per fact."""
        return "\n".join(_report_lines(self, ""))


def _report_lines(facts: dict[str, Any], indent: str) -> list[str]:
    """Return the lines of a nested report."""
    lines = []
    for key, value in facts.items():
        label = str(key).replace("_", " ")
        if isinstance(value, dict):
            lines.append(f"{indent}{label}:")
            lines.extend(_report_lines(value, indent + "  "))
        elif isinstance(value, float):
            lines.append(f"{indent}{label}: {value:,.4g}")
        elif isinstance(value, int) and not isinstance(value, bool):
            lines.append(f"{indent}{label}: {value:,}")
        else:
            lines.append(f"{indent}{label}: {value}")
    return lines


class Network:
    """
    Streets of a place as immutable arrays, with the search graphs made from them on demand.

    Made by `build_network`, `load_network` or `sample_network`, not by hand.

    Parameters
    ----------
    tables : StreetTables
        Nodes, edges, lines, turn restrictions.
    water : WaterBodies
        Sea, lakes and wide rivers.
    timezone : str
        IANA zone that naive moments mean.
    is_left_hand : bool
        Whether traffic keeps left.
    attribution : str
        What has to be shown with every map made from the data.
    timetable : Timetable, optional
        What the GTFS feeds say.

    Attributes
    ----------
    frame : LocalFrame
        Local metres of the network.
    fingerprint : str
        Hash of everything above: equal fingerprints give equal answers.
    """

    def __init__(
        self,
        tables: StreetTables,
        *,
        water: WaterBodies,
        timezone: str,
        is_left_hand: bool,
        attribution: str,
        timetable: Timetable | None = None,
    ) -> None:
        self.tables = tables
        self.water = water
        self.timezone = timezone
        self.is_left_hand = is_left_hand
        self.attribution = attribution
        self.timetable = timetable
        self._bounds = _bounds_of(tables.node_lng, tables.node_lat)
        self.frame = _frame_of(self._bounds)
        for array in _arrays(tables).values():
            array.setflags(write=False)
        self.fingerprint = _fingerprint(tables, water, timezone, is_left_hand, timetable)
        self._lock = threading.RLock()
        self._cache: OrderedDict[Hashable, Any] = OrderedDict()

    def __repr__(self) -> str:
        """Return size and place in one line."""
        west, south, east, north = self._bounds
        rides = f", {self.timetable.n_trips:,} trips" if self.timetable else ""
        return (
            f"<Network of {self.n_nodes:,} nodes and {self.n_edges:,} edges{rides} in "
            f"({west:.4f}, {south:.4f}, {east:.4f}, {north:.4f}), {self.timezone}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker process needs; search graphs are made again there."""
        state = self.__dict__.copy()
        del state["_lock"], state["_cache"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled network."""
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._cache = OrderedDict()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.tables.node_lng.size)

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.tables.edge_from.size)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east, north in EPSG:4326; west is larger than east across the 180th meridian."""
        return self._bounds

    @property
    def crs(self) -> CRS:
        """Local metric CRS: a transverse Mercator through the middle of the network."""
        from pyproj import CRS  # noqa: PLC0415 - costs 0.1 s that most calls do not need

        return CRS.from_proj4(
            f"+proj=tmerc +lat_0={self.frame.lat0:.6f} +lon_0={self.frame.lng0:.6f} +k=1 +datum=WGS84 +units=m +no_defs"
        )

    def cached(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """Return what `build` makes, made once per key; the least recently used entries are dropped."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]  # type: ignore[no-any-return]
        value = build()
        with self._lock:
            value = self._cache.setdefault(key, value)
            while len(self._cache) > _KEPT:
                self._cache.popitem(last=False)
        return value

    def is_cached(self, key: Hashable) -> bool:
        """Return whether `cached` has something for a key already."""
        with self._lock:
            return key in self._cache

    def road_graph(
        self,
        transportation: Transportation,
        moment: dt.datetime | object | None = None,
        *,
        metric: graph.Metric = "time",
    ) -> graph.RoadGraph:
        """
        Return the search graph of a transportation at a moment, made once and kept.

        Parameters
        ----------
        transportation : Transportation
        moment : datetime, optional
            Aware, in the network's zone; decides the congestion of cars.
        metric : {"time", "distance"}
            What the searches minimise.
        """
        transportation = as_transportation(transportation)
        multiplier = costs.congestion(transportation.traffic_model, moment) if transportation.base == "driving" else 1.0
        roads = (
            transportation.base,
            transportation.uses_ferry,
            transportation.include_roads,
            transportation.exclude_roads,
        )
        topology = self.cached(
            ("topology", *roads),
            lambda: graph.build_topology(self.tables, transportation, self.frame, is_left_hand=self.is_left_hand),
        )
        return self.cached(
            ("graph", *roads, transportation.boarding_time, multiplier, metric),
            lambda: graph.weigh(topology, self.tables, transportation, multiplier, metric=metric),
        )

    def nodes_frame(self) -> gpd.GeoDataFrame:
        """Return the nodes as points in EPSG:4326, with their OSM ids and flags."""
        import geopandas as gpd  # noqa: PLC0415

        return gpd.GeoDataFrame(
            {"osm_id": self.tables.node_osm_id, "flags": self.tables.node_flags},
            geometry=shapely.points(self.tables.node_lng, self.tables.node_lat),
            crs="EPSG:4326",
        )

    def edges_frame(self) -> gpd.GeoDataFrame:
        """Return the edges as lines in EPSG:4326, with their ends, lengths (m), names and speeds (km/h)."""
        import geopandas as gpd  # noqa: PLC0415

        t = self.tables
        parts = np.repeat(np.arange(self.n_edges), np.diff(t.coord_indptr))
        frame = gpd.GeoDataFrame(
            {
                "from_node": t.edge_from,
                "to_node": t.edge_to,
                "way_id": t.edge_way_id,
                "length_m": t.edge_length_m,
                "name": np.array(t.names, dtype=object)[t.edge_name],
            },
            geometry=shapely.linestrings(np.column_stack([t.coord_lng, t.coord_lat]), indices=parts),
            crs="EPSG:4326",
        )
        for column in t.uses.columns:
            frame[column] = t.uses[column].to_numpy()[t.edge_use]
        return frame

    def report(self) -> Report:
        """
        Return what was read, what was dropped and why, and how well the network hangs together.

        Returns
        -------
        Report
            A dict that prints as lines; ``modes`` gives per mode the kilometres of street and the share of them on
            islands (parts of fewer than 50 states that one cannot leave or reach); ``timetable`` gives per feed the
            dates covered, trips by day of the week, what was dropped, with file and line, and the stops that no trip
            can be boarded at because they are too far from any street one can walk.
        """
        facts = Report(self.tables.report)
        facts["nodes"] = self.n_nodes
        facts["edges"] = self.n_edges
        facts["timezone"] = self.timezone
        facts["traffic_keeps"] = "left" if self.is_left_hand else "right"
        facts["bounds"] = ", ".join(f"{value:.5f}" for value in self.bounds)
        facts["water_bodies"] = dict(self.water.report)
        facts["attribution"] = self.attribution
        facts["fingerprint"] = self.fingerprint
        modes: dict[str, Any] = {}
        for base in ("walking", "cycling", "driving"):
            topology = self.road_graph(Transportation(f"{base}+ferry")).topology
            is_open = topology.is_open[0::2] | topology.is_open[1::2]
            on_island = is_open & ~(topology.can_leave & topology.can_arrive)
            km = float(self.tables.edge_length_m[is_open].sum() / 1000)
            island_km = float(self.tables.edge_length_m[on_island].sum() / 1000)
            modes[base] = {
                "edges": int(is_open.sum()),
                "street_km": km,
                "island_edges": int(on_island.sum()),
                "island_share": island_km / km if km else 0.0,
            }
        facts["modes"] = modes
        if self.timetable is not None:
            feeds = self.timetable.report()
            for feed, facts_of_feed in enumerate(feeds.values()):
                facts_of_feed["stops_off_streets"] = self._stops_off_streets(self.timetable, feed)
            facts["timetable"] = feeds
        return facts

    def _stops_off_streets(self, timetable: Timetable, feed: int) -> dict[str, Any]:
        """Return which stops of a feed are too far from any street one can walk."""
        stops = timetable.stops[timetable.is_called & (timetable.column("stops", "feed_idx") == feed)]
        walking = Transportation("walking")
        lng, lat = (stops[name].to_numpy(np.float64) for name in ("stop_lon", "stop_lat"))
        how = snapping.STOP_SNAPPING
        far = np.flatnonzero(snapping.snap_points(self, lng, lat, walking, how).edge < 0)
        facts: dict[str, Any] = {"number": far.size, "of": len(stops), "farther_than_m": how.threshold}
        if far.size:
            some = far[:_STOPS_LISTED]
            metres = snapping.metres_to_streets(self, lng[some], lat[some], walking)
            listed = [f"{name} ({m:,.0f} m)" for name, m in zip(stops["stop_id"].iloc[some], metres, strict=True)]
            facts["such_as"] = ", ".join(listed)
        return facts

    def save(self, path: str | os.PathLike[str]) -> Path:
        """
        Write the network to one Arrow IPC file.

        The file appears complete or not at all: it is written under a temporary name and renamed.

        Parameters
        ----------
        path : path-like
            Target file; an existing one is replaced.

        Returns
        -------
        Path
            The file written.
        """
        target = Path(path)
        if target.is_dir():
            msg = f"cannot save the network to {target}: it is a folder; give a file name such as city.network"
            raise InputError(msg)
        if not target.parent.is_dir():
            msg = f"cannot save the network to {target}: there is no folder {target.parent}; create it first"
            raise MissingFileError(msg)
        table = _to_arrow(self)
        temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
        try:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return target


def build_network(
    osm: Any,
    *,
    gtfs: Any = (),
    timezone: str | None = None,
    is_left_hand: bool | None = None,
    progress: bool | Callable[..., Any] = False,
) -> Network:
    """
    Build a network from OpenStreetMap data.

    Parameters
    ----------
    osm : path-like, str, networkx.MultiDiGraph, tuple or StreetTables
        One of: a file (``.osm.pbf``, ``.osm``, ``.xml``, the last two also ``.gz`` or ``.bz2``); an osmnx graph; a
        pair ``(nodes, edges)`` of GeoDataFrames; a place name, a shapely Polygon, a ``(west, south, east, north)``
        box, or a ``((lat, lng), distance_m)`` pair, which osmnx downloads from Overpass.
    gtfs : path-like or sequence of path-like
        GTFS feeds: zip files or folders.
    timezone : str, optional
        IANA zone of the place; looked up from the middle of the network if not given.
    is_left_hand : bool, optional
        Whether traffic keeps left; decided from the zone's country if not given.
    progress : bool or callable
        Show a bar while reading a file, or call ``progress(fraction)``.

    Returns
    -------
    Network

    Raises
    ------
    MissingFileError
        If the file does not exist.
    DataError
        If the file or the tables are broken or hold no street.
    CrsError
        If GeoDataFrames have no CRS.

    Examples
    --------
    >>> network = build_network("porto_alegre.osm.pbf")  # doctest: +SKIP
    """
    timetable = _timetable_from(gtfs)
    tables = _tables_from(osm, progress)
    if tables.edge_from.size == 0:
        msg = "the input holds no street that anyone may walk, cycle or drive on; nothing to build a network from"
        raise DataError(msg)
    tables = in_order_of_place(tables)
    bounds = _bounds_of(tables.node_lng, tables.node_lat)
    frame = _frame_of(bounds)
    if timezone is None:
        timezone = _timezone_at(frame.lng0, frame.lat0)
    else:
        _check_timezone(timezone)
    if is_left_hand is None:
        is_left_hand = costs.drives_on_left(timezone)
    on_land = ~tables.uses["is_ferry"].to_numpy()[tables.edge_use]
    ashore = np.unique(np.concatenate([tables.edge_from[on_land], tables.edge_to[on_land]]))
    x, y = frame.to_xy(tables.node_lng[ashore], tables.node_lat[ashore])
    water = WaterBodies.build(tables.coastlines, tables.water, bounds, frame, street_xy=np.column_stack([x, y]))
    attribution = str(tables.report.get("attribution", ""))
    return Network(
        tables,
        water=water,
        timezone=timezone,
        is_left_hand=is_left_hand,
        attribution=attribution,
        timetable=timetable,
    )


def _timetable_from(gtfs: Any) -> Timetable | None:
    """Return the timetable of some feeds, None for no feed."""
    sources = [gtfs] if isinstance(gtfs, str | os.PathLike) else list(gtfs)
    if not sources:
        return None
    from traveltime_lab.readers.gtfs.feed import read_timetable  # noqa: PLC0415 - readers are not needed to load and search

    return read_timetable(sources)


def _tables_from(osm: Any, progress: bool | Callable[..., Any]) -> StreetTables:
    """Return street tables from any accepted input."""
    if isinstance(osm, StreetTables):
        return osm
    if isinstance(osm, os.PathLike) or (isinstance(osm, str) and _looks_like_path(osm)):
        from traveltime_lab.readers.osm.streets import read_osm  # noqa: PLC0415 - readers are not needed to load and search

        return read_osm(osm, progress=progress)
    from traveltime_lab.readers import osmnx  # noqa: PLC0415 - as above

    if hasattr(osm, "edges") and hasattr(osm, "nodes"):
        return osmnx.tables_from_osmnx(osm)
    if isinstance(osm, tuple) and len(osm) == 2 and all(isinstance(part, pd.DataFrame) for part in osm):
        return osmnx.tables_from_frames(*osm)
    return osmnx.tables_from_place(osm)


def _looks_like_path(text: str) -> bool:
    """Return whether a string names a file rather than a place: it has a file's ending, a separator, or exists."""
    endings = (".pbf", ".osm", ".xml", ".gz", ".bz2", ".json", ".zip")
    return text.lower().endswith(endings) or os.sep in text or Path(text).exists()


def load_network(path: str | os.PathLike[str]) -> Network:
    """
    Load a saved network by mapping its file into memory.

    Parameters
    ----------
    path : path-like
        File written by `Network.save`.

    Returns
    -------
    Network

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If the file is truncated, not a saved network, or of another version.
    """
    source = Path(path)
    if not source.is_file():
        msg = f"no saved network at {source}"
        raise MissingFileError(msg)
    try:
        with pa.memory_map(str(source), "rb") as mapped:
            table = pa.ipc.open_file(mapped).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        msg = f"{source} is not a complete saved network ({str(error).splitlines()[0]}); build and save it again"
        raise FormatError(msg) from error
    header = (table.schema.metadata or {}).get(_FORMAT_NAME.encode())
    if header is None:
        msg = f"{source} is an Arrow file, but not a network saved by traveltime_lab"
        raise FormatError(msg)
    try:
        meta = dict(json.loads(header))
    except (ValueError, TypeError) as error:
        msg = f"{source} is damaged (its header is no JSON object: {error}); build and save the network again"
        raise FormatError(msg) from error
    if meta.get("version") != FORMAT_VERSION:
        msg = (
            f"{source} has network format {meta.get('version')}, this version reads {FORMAT_VERSION}; "
            "build the network again from its sources"
        )
        raise FormatError(msg)
    try:
        return _from_arrow(table, meta)
    except (KeyError, IndexError, TypeError, ValueError, pa.ArrowInvalid) as error:
        msg = f"{source} is damaged ({type(error).__name__}: {error}); build and save the network again"
        raise FormatError(msg) from error


def _arrays(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the plain arrays of street tables by field name."""
    return {
        item.name: getattr(tables, item.name)
        for item in fields(tables)
        if isinstance(getattr(tables, item.name), np.ndarray)
    }


def _fingerprint(
    tables: StreetTables, water: WaterBodies, timezone: str, is_left_hand: bool, timetable: Timetable | None
) -> str:
    """Return a hash of everything that answers depend on."""
    digest = hashlib.blake2b(digest_size=16)
    for name, array in sorted(_arrays(tables).items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update(tables.uses.to_csv(index=False).encode())
    digest.update("\0".join(tables.names).encode())
    digest.update(pd.util.hash_pandas_object(tables.places, index=False).to_numpy().tobytes())
    digest.update(water.to_wkb())
    digest.update(f"{timezone} {is_left_hand} {FORMAT_VERSION}".encode())
    if timetable is not None:
        digest.update(timetable.fingerprint.encode())
    return digest.hexdigest()


def _to_arrow(network: Network) -> pa.Table:
    """Return the one-row table of a network."""
    columns: dict[str, pa.Array] = {}

    def add(name: str, values: pa.Array) -> None:
        offsets = pa.array([0, len(values)], type=pa.int64())
        columns[name] = pa.LargeListArray.from_arrays(offsets, values)

    for name, array in _arrays(network.tables).items():
        add(name, pa.array(np.ascontiguousarray(array)))
    for name, series in network.tables.uses.items():
        add(f"uses.{name}", pa.array(series.to_numpy()))
    for name, series in network.tables.places.items():
        add(f"places.{name}", _plain_array(series))
    add("names", pa.array(network.tables.names, type=pa.string()))
    add("water", pa.array([network.water.to_wkb()], type=pa.large_binary()))
    meta: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "timezone": network.timezone,
        "is_left_hand": network.is_left_hand,
        "attribution": network.attribution,
        "fingerprint": network.fingerprint,
        "report": network.tables.report,
        "water_report": network.water.report,
    }
    if network.timetable is not None:
        rides, meta["timetable"] = timetable_file.to_tables(network.timetable)
        for name, array in rides.items():
            add(f"{_TIMETABLE}{name}", array)
    table = pa.table(columns)
    return table.replace_schema_metadata({_FORMAT_NAME: json.dumps(meta, default=str)})


def _plain_array(series: pd.Series) -> pa.Array:
    """Return a column as one Arrow array."""
    if isinstance(series.dtype, pd.ArrowDtype):
        return pa.array(series).cast(pa.large_string())
    return pa.array(series.to_numpy())


def _from_arrow(table: pa.Table, meta: dict[str, Any]) -> Network:
    """Return the network of a one-row table, its arrays views of the mapped file."""

    def values(name: str) -> pa.Array:
        return table.column(name).chunk(0).values  # noqa: PD011 - Arrow, not pandas

    arrays: dict[str, Any] = {}
    for item in fields(StreetTables):
        if item.name in table.column_names and item.name not in ("names", "water"):
            # A view of the file wherever Arrow can give one: everywhere but for bits and empty columns.
            arrays[item.name] = values(item.name).to_numpy(zero_copy_only=False)
    uses = pd.DataFrame({name: values(f"uses.{name}").to_numpy(zero_copy_only=False) for name in USE_DTYPES})
    uses = uses.astype(USE_DTYPES)
    places = {
        name: values(f"places.{name}") if dtype == "string" else values(f"places.{name}").to_numpy()
        for name, dtype in PLACE_DTYPES.items()
    }
    tables = StreetTables(
        **arrays,
        uses=uses,
        names=values("names").to_pylist(),
        coastlines=[],
        water=[],
        places=places_frame(places),
        report=meta["report"],
    )
    check_consistent(tables)
    timetable = None
    if "timetable" in meta:
        rides = [name for name in table.column_names if name.startswith(_TIMETABLE)]
        columns = {name.removeprefix(_TIMETABLE): values(name) for name in rides}
        timetable = timetable_file.from_tables(columns, meta["timetable"])
    network = Network.__new__(Network)
    network.tables = tables
    bounds = _bounds_of(tables.node_lng, tables.node_lat)
    network.__setstate__(
        {
            "tables": tables,
            "water": WaterBodies.from_wkb(values("water")[0].as_py(), report=meta["water_report"]),
            "timezone": meta["timezone"],
            "is_left_hand": meta["is_left_hand"],
            "attribution": meta["attribution"],
            "fingerprint": meta["fingerprint"],
            "timetable": timetable,
            "_bounds": bounds,
            "frame": _frame_of(bounds),
        }
    )
    return network


def _bounds_of(lng: FloatArray, lat: FloatArray) -> tuple[float, float, float, float]:
    """Return the narrowest box; across the 180th meridian its west is larger than its east."""
    west, east = float(lng.min()), float(lng.max())
    if east - west > 180.0:
        # The widest empty stretch of longitudes lies outside of the box.
        ordered = np.sort(wrap_degrees(lng))
        gaps = np.diff(ordered)
        widest = int(gaps.argmax())
        if gaps[widest] > 360.0 - (east - west):
            west, east = float(ordered[widest + 1]), float(ordered[widest])
    return west, float(lat.min()), east, float(lat.max())


def _frame_of(bounds: tuple[float, float, float, float]) -> LocalFrame:
    """Return the local frame around the middle of a box."""
    west, south, east, north = bounds
    if east < west:
        east += 360.0
    return LocalFrame(float(wrap_degrees((west + east) / 2.0)), (south + north) / 2.0)


def _timezone_at(lng: float, lat: float) -> str:
    """Return the IANA zone of a coordinate."""
    import tzfpy  # noqa: PLC0415 - unpacks its map on import

    zone = str(tzfpy.get_tz(lng, lat))
    if not zone:
        msg = f"no time zone found at lng {lng:.4f}, lat {lat:.4f}; pass timezone= to build_network"
        raise DataError(msg)
    return zone


def _check_timezone(timezone: str) -> None:
    """Raise InputError for an unknown zone."""
    import zoneinfo  # noqa: PLC0415

    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        msg = f"timezone {timezone!r} is not an IANA time zone; use a name such as 'America/Sao_Paulo'"
        raise InputError(msg) from error
