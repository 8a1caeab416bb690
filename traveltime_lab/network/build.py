"""
Building networks from source data, and loading them from files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from traveltime_lab._checks import flag, items
from traveltime_lab._files import as_path
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import LocalFrame
from traveltime_lab.errors import DataError, FormatError, InputError
from traveltime_lab.modes.one_moment import of_one_moment
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network import checked
from traveltime_lab.network.file import read_file
from traveltime_lab.network.frames import Besides, are_frames_of_a_network, tables_of
from traveltime_lab.network.network import Network
from traveltime_lab.network.prepared import check_timetable
from traveltime_lab.network.sources import described
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.network.whereabouts import facts_of, is_left_hand_of, km_by_timezone, timezone_of
from traveltime_lab.runtime.progress import Progress, check_progress, shown
from traveltime_lab.streets.layer import bounds_of, frame_of
from traveltime_lab.streets.on_ground import nodes_on_ground
from traveltime_lab.streets.order_of_place import in_order_of_place
from traveltime_lab.streets.tables import StreetTables

if TYPE_CHECKING:
    from traveltime_lab.readers.region import Region
    from traveltime_lab.transit.timetable import Timetable

#: Shares of the work of building, for the progress: reading streets, reading feeds, the rest, and preparing for a means
#: of transportation (assumed).
_STREETS, _TIMETABLE, _REST, _PREPARED = 60, 30, 10, 15

#: The files of each argument, and their roles in reports.
_THINGS = {"osm": "file", "gtfs": "feed"}
ROLES: Final = {"osm": "streets", "gtfs": "timetable"}


@explained_keywords
def build_network(
    osm: Any,
    *,
    gtfs: Any = (),
    bounds: Any = None,
    timezone: str | None = None,
    is_left_hand: bool | None = None,
    prepare: str | Transportation | Iterable[str | Transportation | Mapping[str, Any]] = (),
    progress: Progress = False,
) -> Network:
    """
    Build a network from OpenStreetMap data.

    Parameters
    ----------
    osm : path-like, str, networkx.MultiDiGraph, tuple or StreetTables
        One of: a file (``.osm.pbf``, ``.osm``, ``.xml``, the last two also ``.gz`` or ``.bz2``), or a list of files,
        such as those of adjoining regions, which are read as one; an osmnx graph; a
        pair ``(nodes, edges)`` of GeoDataFrames, also those of `Network.nodes_frame` and `Network.edges_frame`; a place
        name, a shapely Polygon, a ``(west, south, east, north)`` bounding box, or a ``((lat, lng), distance_m)`` pair,
        for which osmnx downloads the streets from Overpass.
    gtfs : path-like or sequence of path-like, default ()
        GTFS feeds: zip files or folders, each once.
    bounds : tuple of float, Polygon or MultiPolygon, optional
        Part of a larger file and of the feeds to read: ``(west, south, east, north)`` in degrees, as `Network.bounds`,
        or a shape in EPSG:4326. See Notes.
    timezone : str, optional
        IANA name of the time zone; by default that of the feeds, of most of their trips if they have several; without
        feeds, or with feeds in UTC, that of most streets.
    is_left_hand : bool, optional
        Whether traffic keeps left; by default as along most streets, by the country of the time zone where they are.
    prepare : str, Transportation or iterable of these, default ()
        Means of transportation to prepare the network for, such as ``("walking", "driving")``; see `Network.prepare`.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)``. Both numbers are
        shares of the work, estimated before it.

    Returns
    -------
    Network

    Raises
    ------
    MissingFileError
        If the file does not exist.
    DataError
        If the file or the tables are invalid or contain no street; if the file has an object several times and it is
        unclear which one counts; if the file has no node within the bounds.
    GtfsError
        If a feed has no usable trip, or none with two stops within the bounds.
    InputError
        If the bounds are neither four numbers in order nor a valid polygon, if west and east are exchanged (a box
        across the 180th meridian that is wider than 180 degrees), or if the streets are not those of a file.
    CoordinateError
        If the bounds are not on the globe.
    CrsError
        If a GeoDataFrame has no CRS.
    ModeError
        If the network cannot be prepared for a means of transportation.

    Warns
    -----
    UserWarning
        If tables of a network do not hold all of it: named places and the timetable are not in them; if sea is taken
        for land because of the streets in it; if clocks of the feeds differ from each other or from those where the
        streets are; if traffic keeps left along some streets and right along others.

    See Also
    --------
    Network.save : Write the network to a file.
    load_network : Load it again.

    Notes
    -----
    A file may have an object several times, as files joined from overlapping parts do: the version with the highest
    number counts, once. Copies of it with the same number, or without numbers, must be equal. Deleted objects
    (``visible="false"``, or ``action="delete"`` in files of editors) are left out. The report of the network counts
    both (``objects_repeated``, ``objects_deleted``). Files that are marked as histories or changes are refused.

    With `bounds`, the network is that of a file that was cut before. The cut has all nodes within the bounds or on
    their border; the ways with one of these nodes, complete; the relations with one of these nodes or ways as a member;
    and the ways of those of these relations that are multipolygons of water, so that a lake across the border is whole.
    This is ``osmium extract --strategy complete_ways``, with whole lakes. Streets therefore reach beyond the bounds, up
    to the end of their way, and so does `Network.bounds`. A turn restriction with a member outside is dropped, and
    counted in the report. Memory for streets grows with the cut, not with the file, if this is a PBF file sorted by
    type and id, as extracts are; other files, and several, also need room on disk for all their objects as text. Feeds
    are read as a whole, so that memory for them grows with the feed. Then they lose the stops outside, and the trips
    with fewer than two stops; other trips keep the stops within the bounds, at their times of the whole feed, also
    those that run by headway. The report counts both (``cut``), and has the bounds and the polygon, or the hash of a
    long one.

    The *border* is where streets may be missing: the bounds, or without them the bounding box in the header of the
    file, which are both the border if the file has a box. Streets that lead across it end somewhere beyond. A box that
    nodes touch on all sides is that of the nodes, and says nothing. Nodes that ways refer to and the file lacks are at
    the border, too, unless ten times as many edges lead across the box: then they are gaps of the data. Without a box
    they are the border if the file has some all around, near its outline, and gaps otherwise. A coast or a lake is no
    border, as nothing is cut there. Feeds end at the stops next to one that the bounds leave out. The header of a file
    that was cut along a polygon has only the box around it: give the same polygon as `bounds`, and the border is known.
    Without any of these, as in graphs of osmnx, it is not known. Results that reach it are flagged; see `time_map`.

    Examples
    --------
    Build a network from a file, here one with a single street:

    >>> from pathlib import Path
    >>> text = '''<osm version="0.6">
    ...   <node id="1" lat="60.1700" lon="24.9400"/>
    ...   <node id="2" lat="60.1700" lon="24.9450"/>
    ...   <way id="10">
    ...     <nd ref="1"/><nd ref="2"/><tag k="highway" v="residential"/>
    ...   </way>
    ... </osm>'''
    >>> characters = Path("street.osm").write_text(text)
    >>> network = tl.build_network("street.osm")
    >>> network.n_nodes, network.n_edges, network.timezone
    (2, 1, 'Europe/Helsinki')

    A part of a file:

    >>> part = tl.build_network(
    ...     "street.osm", bounds=(24.93, 60.16, 24.942, 60.18)
    ... )
    >>> part.n_edges, part.report()["cut"]["nodes_within_bounds"]
    (1, 1)
    """
    check_progress(progress)
    # Wrong names are found before the work, not after.
    given = checked_arguments(osm, gtfs, bounds, timezone, is_left_hand, prepare)
    region, feeds, prepared_for = given.region, given.feeds, given.prepare
    total = _STREETS + _REST + bool(feeds) * _TIMETABLE + len(prepared_for) * _PREPARED
    with shown(progress, total, "Building the network", "", is_share=True) as advance:
        timetable = None
        if feeds:
            from traveltime_lab.readers.gtfs.feed import read_timetable  # noqa: PLC0415 - not needed to load and search

            timetable = read_timetable(feeds, region)
            advance(_TIMETABLE)
        tables, besides = _tables_from(osm, region, advance, has_feeds=bool(feeds))
        files = []
        for name, paths in (("osm", given.files), ("gtfs", feeds)):
            found = [described(path, ROLES[name]) for path in paths]
            _check_different(name, paths, [each["sha256"] for each in found])
            files += found
        network = _network_of(tables, besides, files, timetable, timezone, is_left_hand)
        advance(_REST)
        for each in prepared_for:
            network.prepare(each)
            advance(_PREPARED)
    return network


class Checked(NamedTuple):
    """
    Arguments of `build_network` that have been checked.

    Attributes
    ----------
    files, feeds : list of Path
        The files of the streets, none if these come from something else, and the GTFS feeds.
    region : Region or None
        The part of them to read.
    prepare : tuple of Transportation
    """

    files: list[Path]
    feeds: list[Path]
    region: Region | None
    prepare: tuple[Transportation, ...]


def checked_arguments(
    osm: Any, gtfs: Any = (), bounds: Any = None, timezone: Any = None, is_left_hand: Any = None, prepare: Any = ()
) -> Checked:
    """Check arguments of `build_network`, without reading any file; for the errors see there."""
    if is_left_hand is not None:
        flag(is_left_hand, "is_left_hand")
    if timezone is not None:
        _check_timezone(timezone)
    region = None if bounds is None else _region_of(bounds, osm)
    transportations = transportations_of(prepare)
    found = Checked(_files_of(osm), _feeds_of(gtfs), region, transportations)
    for name, paths in (("osm", found.files), ("gtfs", found.feeds)):
        _check_different(name, paths, [os.path.realpath(path) for path in paths])
    check_timetable(transportations, has_timetable=bool(found.feeds))
    return found


def transportations_of(prepare: Any) -> tuple[Transportation, ...]:
    """Return the means of transportation of an argument `prepare`, which may be one or a list."""
    is_one = isinstance(prepare, str | Transportation | Mapping)
    given = (prepare,) if is_one else items(prepare, "prepare", "transportations")
    return tuple(of_one_moment(each, "a prepared network") for each in given)


def _network_of(
    tables: StreetTables,
    besides: Besides | None,
    files: list[dict[str, Any]],
    timetable: Timetable | None,
    timezone: str | None,
    is_left_hand: bool | None,
) -> Network:
    """Return the network of street tables, with the facts that follow from its place."""
    if tables.edge_from.size == 0:
        msg = "the input contains no street that is open to walking, cycling or driving; it cannot become a network"
        raise DataError(msg)
    tables = in_order_of_place(tables)
    if files:
        tables = replace(tables, report={**tables.report, "files": files})
    bounds = bounds_of(tables.node_lng, tables.node_lat)
    frame = frame_of(bounds)
    if besides:
        timezone = timezone or besides.timezone
        is_left_hand = besides.is_left_hand if is_left_hand is None else is_left_hand
    else:
        km = km_by_timezone(tables)
        timezone = timezone or timezone_of(tables, timetable, km)
        is_left_hand = is_left_hand_of(km, timezone) if is_left_hand is None else is_left_hand
        tables = replace(tables, report={**tables.report, **facts_of(km)})
    if besides:
        water, attribution = besides.water_in(frame), besides.attribution
    else:
        water, attribution = _water_of(tables, bounds, frame), str(tables.report.get("attribution", ""))
    return Network(
        tables,
        water=water,
        timezone=timezone,
        is_left_hand=is_left_hand,
        attribution=attribution,
        timetable=timetable,
    )


def _water_of(tables: StreetTables, bounds: tuple[float, float, float, float], frame: LocalFrame) -> WaterBodies:
    """Return the water of streets that were read from a source."""
    ashore = nodes_on_ground(tables)
    x, y = frame.to_xy(tables.node_lng[ashore], tables.node_lat[ashore])
    return WaterBodies.build(
        tables.coastlines, tables.water, bounds, frame, street_xy=np.column_stack([x, y]), source_bounds=tables.bounds
    )


def _feeds_of(gtfs: Any) -> list[Path]:
    """Return the paths of GTFS feeds."""
    if isinstance(gtfs, str | os.PathLike):
        gtfs = (gtfs,)
    return [as_path(source, "gtfs") for source in items(gtfs, "gtfs", "paths of feeds")]


def _check_different(name: str, paths: Sequence[Path], identities: Sequence[Any]) -> None:
    """Raise InputError for a file that is given twice: a feed would double its departures."""
    first: dict[Any, Path] = {}
    for path, identity in zip(paths, identities, strict=True):
        before = first.setdefault(identity, path)
        if before is not path:
            same = "twice" if before == path else f"twice: {before} and {path} are the same {_THINGS[name]}"
            why = ", which would double its departures" if name == "gtfs" else ""
            msg = f"{name} has {path} {same}{why}; give each {_THINGS[name]} once"
            raise InputError(msg)


def _region_of(bounds: Any, osm: Any) -> Region:
    """Return the part of a file to read; raise InputError if the streets are not those of a file."""
    from traveltime_lab.readers.region import region_of  # noqa: PLC0415 - readers are not needed to load and search

    region = region_of(bounds)
    if not _files_of(osm):
        msg = f"bounds cut a file while it is read; got {type(osm).__name__} {osm!r:.80} for the streets"
        raise InputError(msg)
    return region


def _tables_from(
    osm: Any, region: Region | None, advance: Callable[[int], None], *, has_feeds: bool
) -> tuple[StreetTables, Besides | None]:
    """
    Return the street tables of any accepted input, and the other data of the tables of a network.

    `_STREETS` parts of the work are reported.
    """
    read = 0

    def on_step(_name: str, share: float) -> None:
        nonlocal read
        advance(int(_STREETS * share) - read)
        read = int(_STREETS * share)

    found = _read(osm, region, on_step, has_feeds=has_feeds)
    advance(_STREETS - read)
    return found


def _read(
    osm: Any, region: Region | None, on_step: Callable[[str, float], None], *, has_feeds: bool
) -> tuple[StreetTables, Besides | None]:
    """Return the street tables of any accepted input, and the other data of the tables of a network."""
    if isinstance(osm, tuple) and len(osm) == 2 and all(isinstance(part, pd.DataFrame) for part in osm):
        if are_frames_of_a_network(*osm):
            return tables_of(*osm, has_feeds=has_feeds)
        from traveltime_lab.readers.frames import tables_from_frames  # noqa: PLC0415 - readers are not needed to load and search

        return tables_from_frames(*osm), None
    if isinstance(osm, StreetTables):
        return osm, None
    if files := _files_of(osm):
        from traveltime_lab.readers.osm.streets import read_osm  # noqa: PLC0415 - as above

        return read_osm(files, region=region, on_step=on_step), None
    if hasattr(osm, "edges") and hasattr(osm, "nodes"):
        from traveltime_lab.readers.osmnx import tables_from_osmnx  # noqa: PLC0415 - as above

        return tables_from_osmnx(osm), None
    from traveltime_lab.readers.overpass import tables_from_place  # noqa: PLC0415 - as above

    return tables_from_place(osm), None


def _files_of(osm: Any) -> list[Path]:
    """Return the paths of the files that the streets come from, none if they come from something else."""
    if isinstance(osm, list | tuple) and (not osm or any(isinstance(path, str | os.PathLike) for path in osm)):
        if not all(isinstance(path, str | os.PathLike) for path in osm) or not osm:
            msg = f"osm must be a file or a list of files, such as ['north.osm.pbf', 'south.osm.pbf']; got {osm!r:.200}"
            raise InputError(msg)
        return [as_path(path, "each of osm") for path in osm]
    is_file = isinstance(osm, os.PathLike) or (isinstance(osm, str) and _looks_like_path(osm))
    return [Path(osm)] if is_file else []


def _looks_like_path(text: str) -> bool:
    """Return whether a string is a path: it has a file extension or a separator, or the file exists."""
    endings = (".pbf", ".osm", ".xml", ".gz", ".bz2", ".json", ".zip")
    try:
        return text.lower().endswith(endings) or os.sep in text or Path(text).exists()
    except (OSError, ValueError):
        return False  # too long for a path, or with characters that no path has


@explained_keywords
def load_network(path: str | os.PathLike[str], *, verify: bool = True) -> Network:
    """
    Load a saved network.

    Parameters
    ----------
    path : path-like
        File written by `Network.save`.
    verify : bool, default True
        Whether to verify the checksums of the file. The file is then read into memory once, and may be overwritten or
        deleted while the network is in use. With False the file is mapped into memory instead: it loads sooner and
        several processes share its memory, but damage goes unnoticed, and a file that is overwritten or truncated in
        place changes results or ends the process. (`Network.save` never does that: it writes a new file and renames
        it.) All of the file is read once, to check that its content makes sense, and again when it has changed.

    Returns
    -------
    Network

    Raises
    ------
    MissingFileError
        If the file does not exist.
    FormatError
        If the file is truncated, damaged, not a saved network, or of a different version.

    Examples
    --------
    >>> path = tl.sample_network().save("porto_alegre.network")
    >>> network = tl.load_network(path)
    >>> network.timezone
    'America/Sao_Paulo'
    """
    contents = read_file(path, verify=flag(verify, "verify"))
    try:
        network = Network.of(contents)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        msg = f"{path} is damaged ({type(error).__name__}: {error}); build and save the network again"
        raise FormatError(msg) from error
    if contents.mark is not None and not contents.is_known:
        checked.remember(contents.mark)
    return network


def _check_timezone(timezone: Any) -> None:
    """Raise InputError for an unknown time zone."""
    import zoneinfo  # noqa: PLC0415

    msg = f"timezone {timezone!r} is not an IANA time zone; use a name such as 'America/Sao_Paulo'"
    if not isinstance(timezone, str):
        raise InputError(msg)
    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(msg) from error
