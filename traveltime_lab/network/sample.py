"""
Sample networks of two real cities; their data is in the folder ``samples``, and NOTICE says where it comes from.

The first call builds the network and caches it, later calls load it from the cache.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import geopandas as gpd
import pandas as pd

from traveltime_lab._checks import one_of
from traveltime_lab._csv import read_csv
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import DataError, InputError, UnsupportedError
from traveltime_lab.network.build import build_network, load_network
from traveltime_lab.network.file import FORMAT_VERSION
from traveltime_lab.runtime.progress import Progress, check_progress
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

logger = logging.getLogger(__name__)

#: Number of cached networks kept per sample, newest first.
_KEPT_CACHES = 3

_FOLDER: Final = Path(__file__).with_name("samples")

#: Names of former samples, and their replacements.
_FORMER: Final = {"coquimbo": "porto_alegre"}

_COUNTS: Final = ["population", "schools", "jobs", "healthcare"]


@dataclass(frozen=True)
class _Sample:
    timezone: str
    #: Files in the folder of the sample, by role.
    files: dict[str, str]
    #: Name, longitude, latitude.
    places: tuple[tuple[str, float, float], ...]
    #: Those of the files that are timetables.
    gtfs: tuple[str, ...] = ()


@explained_keywords
def sample_network(name: str | None = None, *, progress: Progress = False) -> Network:
    """
    Return the network of a sample city.

    Parameters
    ----------
    name : {"porto_alegre", "helsinki"}, default "porto_alegre"
        ``"porto_alegre"``: 11 x 12 km around the centre of Porto Alegre in Brazil, with its footpaths, 150 bus routes
        (2019-04-15 to 2019-07-15, Monday to Friday; trips begin between 6:00 and 18:59) and the metro. It has no water:
        areas may reach into the Guaíba. ``"helsinki"``: 1.0 x 1.7 km of the centre of Helsinki, with all footpaths,
        turn restrictions and shores; no timetable.
    progress : bool or callable, default False
        As in `build_network`; only the first call builds.

    Returns
    -------
    Network
        Built by the first call, then loaded from the cache folder.

    Raises
    ------
    InputError
        If the sample does not exist.

    See Also
    --------
    sample_points : Points in the sample city.
    sample_files : The files that the network is built from.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> network.timezone
    'America/Sao_Paulo'
    >>> tl.sample_network("helsinki").timezone
    'Europe/Helsinki'
    """
    key, sample = _find(name)
    check_progress(progress)
    files = _paths(key)
    cached = settings.cache_folder / f"{key}-{_cache_key(files)}.network"
    if cached.is_file():
        try:
            return load_network(cached)
        except (DataError, OSError) as error:
            logger.warning("sample cache=%s unusable, building again: %s", cached, error)
    network = build_network(
        files["streets"], gtfs=[files[feed] for feed in sample.gtfs], timezone=sample.timezone, progress=progress
    )
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
    name : {"porto_alegre", "helsinki"}, default "porto_alegre"
        As in `sample_network`.
    kind : {"places", "zones"}, default "places"
        ``"places"``: eight or fewer well-known places. ``"zones"``: the centres of 1,227 hexagons of Porto Alegre (H3,
        resolution 9) with the people and opportunities in them; not available for Helsinki.

    Returns
    -------
    GeoDataFrame
        Points in EPSG:4326, indexed by name. Zones are indexed by H3 cell and have the columns ``population``,
        ``schools``, ``jobs`` and ``healthcare`` (float64), each the number in the hexagon; five hexagons whose jobs and
        healthcare are not known have 0.

    Raises
    ------
    InputError
        If the sample or the kind does not exist.
    UnsupportedError
        If the sample has no zones.

    See Also
    --------
    sample_network : The network of the sample city.

    Examples
    --------
    >>> places = tl.sample_points()
    >>> places.index[:2].tolist()
    ['Mercado Público', 'Rodoviária']
    >>> zones = tl.sample_points(kind="zones")
    >>> len(zones), zones.columns.tolist()
    (1227, ['population', 'schools', 'jobs', 'healthcare', 'geometry'])
    """
    key, sample = _find(name)
    one_of(kind, "kind", ("places", "zones"))
    if kind == "places":
        names, lngs, lats = zip(*sample.places, strict=True)
        return gpd.GeoDataFrame(
            index=pd.Index(names, name="name"), geometry=gpd.points_from_xy(lngs, lats), crs="EPSG:4326"
        )
    if "zones" not in sample.files:
        raise UnsupportedError(f"The sample {key!r} has no zones; use the sample 'porto_alegre'.")
    zones = read_csv(_paths(key)["zones"]).rename(columns={"id": "zone"}).set_index("zone")
    return gpd.GeoDataFrame(
        zones[_COUNTS].fillna(0).astype("float64"),
        geometry=gpd.points_from_xy(zones["lon"], zones["lat"]),
        crs="EPSG:4326",
    )


@explained_keywords
def sample_files(name: str | None = None) -> dict[str, Path]:
    """
    Return the files of a sample city, as agencies and projects publish them.

    Parameters
    ----------
    name : {"porto_alegre", "helsinki"}, default "porto_alegre"
        As in `sample_network`.

    Returns
    -------
    dict of str to Path
        ``"streets"``: an extract of OpenStreetMap. Porto Alegre also has ``"buses"`` and ``"metro"``: timetables in
        GTFS; ``"zones"``: a CSV table of hexagons with people and opportunities; ``"elevation"``: a GeoTIFF of heights
        in metres.

    Raises
    ------
    InputError
        If the sample does not exist.

    See Also
    --------
    build_network : Build a network from such files.

    Examples
    --------
    >>> files = tl.sample_files()
    >>> list(files)
    ['streets', 'buses', 'metro', 'zones', 'elevation']
    >>> tl.build_network(files["streets"], gtfs=files["metro"]).timezone
    'America/Sao_Paulo'
    """
    key, _ = _find(name)
    return _paths(key)


def _find(name: str | None) -> tuple[str, _Sample]:
    key = "porto_alegre" if name is None else name
    if isinstance(key, str) and key in _SAMPLES:
        return key, _SAMPLES[key]
    if isinstance(key, str) and key.lower() in _FORMER:
        raise InputError(f"The sample {key!r} was replaced; use {_FORMER[key.lower()]!r}.")
    close = difflib.get_close_matches(str(key).lower(), _SAMPLES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"There is no sample {key!r}. Known: {', '.join(map(repr, _SAMPLES))}.{hint}")


def _paths(key: str) -> dict[str, Path]:
    return {what: _FOLDER / key / file for what, file in _SAMPLES[key].files.items()}


def _cache_key(files: dict[str, Path]) -> str:
    """Return a hash of the data and of this package's code, on which the network depends."""
    digest = hashlib.blake2b(f"{FORMAT_VERSION}".encode(), digest_size=10)
    for path in files.values():
        digest.update(path.read_bytes())
    for module in sorted(Path(__file__).parents[1].rglob("*.py")):
        stat = module.stat()
        digest.update(f"{module.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def _forget_old_caches(folder: Path, key: str) -> None:
    caches = sorted(folder.glob(f"{key}-*.network"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in caches[_KEPT_CACHES:]:
        with contextlib.suppress(OSError):  # in use, or already deleted by another process
            path.unlink()


_SAMPLES: Final = {
    "porto_alegre": _Sample(
        timezone="America/Sao_Paulo",
        files={
            "streets": "streets.osm.pbf",
            "buses": "buses.zip",
            "metro": "metro.zip",
            "zones": "hexagons.csv",
            "elevation": "elevation.tif",
        },
        gtfs=("buses", "metro"),
        places=(
            ("Mercado Público", -51.227811, -30.027565),
            ("Rodoviária", -51.218856, -30.023285),
            ("Hospital Santa Casa", -51.222396, -30.030426),
            ("Parque Farroupilha", -51.216111, -30.036746),
            ("Hospital Moinhos de Vento", -51.208565, -30.024909),
            ("Beira-Rio", -51.236591, -30.064940),
            ("PUCRS", -51.176073, -30.057972),
            ("Iguatemi", -51.162409, -30.026512),
        ),
    ),
    "helsinki": _Sample(
        timezone="Europe/Helsinki",
        files={"streets": "streets.osm.pbf"},
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
