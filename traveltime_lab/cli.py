"""Command-line interface: ``traveltime-lab demo``, ``build``, ``info``, ``matrix``, ``areas``, ``serve`` and others."""

from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traveltime_lab as tl
from traveltime_lab._files import explained, geojson, geoparquet, is_file, writable, write_bytes
from traveltime_lab.commands.large_jobs import add_commands
from traveltime_lab.commands.options import refuse_inputs, take_negative_numbers
from traveltime_lab.commands.searches import add_searches
from traveltime_lab.commands.serve import add_serve
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    from traveltime_lab.server.reload import Hangups

DEMO_MODES = ("walking", "driving")
DEMO_MINUTES = (5, 10, 15)
#: Origin of the demo's isochrones in each sample, and the time that selects the congestion.
DEMO_ORIGINS = {"porto_alegre": "Mercado Público", "helsinki": "Rautatieasema"}
DEMO_MOMENT = "weekday_morning"
#: Mode of the travel-time matrix of each sample.
DEMO_TABLE_MODES = {"porto_alegre": "driving", "helsinki": "walking"}
#: Buffer distance of the demo's isochrones in metres; small, because the samples end within their cities.
DEMO_BUFFER_M = 250
#: Greatest values of options of ``serve``: a day, and a terabyte.
_MOST = {"watch": 86_400, "idle_timeout": 86_400, "every": 86_400, "body_limit": 1_000_000}
_OSM_ENDS = (".pbf", ".osm", ".xml", ".gz", ".bz2")


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command-line interface.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the name of the program; by default those of the process.

    Returns
    -------
    int
        Exit status: 0 after success, 1 after an error, which is printed to stderr, 3 after a large job that stopped,
        130 after Ctrl+C or SIGTERM. Wrong usage ends the process with 2.
    """
    try:
        with _interrupted_by_signals(), settings.override(progress=False):  # said by a line, as other lines follow
            options = _parser().parse_args(arguments)
            _tell_of_compiling()
            options.run(options)
    except tl.UnfinishedJobError as error:
        print(f"traveltime-lab: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt as error:
        print(f"traveltime-lab: {str(error) or 'interrupted'}", file=sys.stderr)
        return 128 + signal.SIGINT
    except (tl.TravelTimeError, OSError) as error:
        print(f"traveltime-lab: {error}", file=sys.stderr)
        return 1
    return 0


def _bounds(text: str) -> tuple[float, ...]:
    """Return the numbers of ``west,south,east,north``."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) != 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not west,south,east,north: four numbers with commas between")
    return values


@contextlib.contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Have Ctrl+C, and SIGTERM, which job schedulers send, raise KeyboardInterrupt; nothing in other threads."""
    former: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            # A parent may have chosen that signals are ignored.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                former[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="traveltime-lab", description="Isochrones and travel-time matrices on your own machine."
    )
    parser.add_argument("--version", action="version", version=f"traveltime-lab {tl.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="travel times and isochrones of a sample city, as table, files and map")
    demo.add_argument("--sample", default="porto_alegre", choices=sorted(DEMO_ORIGINS), help="default: %(default)s")
    demo.add_argument("--out", type=Path, default=Path("traveltime-lab-demo"), help="folder, default: %(default)s")
    demo.set_defaults(run=_demo)

    build = commands.add_parser("build", help="build a network and save it")
    take_negative_numbers(build)
    build.add_argument(
        "osm",
        metavar="OSM",
        nargs="+",
        help="a .osm.pbf, .osm or .xml file (also .gz, .bz2), or several that are read as one, or a place name",
    )
    build.add_argument("out", metavar="OUT", type=Path, help="file to write")
    # An option that is given twice adds to the first; otherwise a timetable would be left out without a word.
    build.add_argument(
        "--gtfs", metavar="FEED", nargs="+", action="extend", default=[], help="timetables: zip files or folders"
    )
    build.add_argument(
        "--bounds",
        metavar="W,S,E,N",
        type=_bounds,
        help="read only this part of the files: west,south,east,north in degrees, such as -51.26,-30.11,-51.14,-30.0",
    )
    build.add_argument("--changes", metavar="FILE", type=Path, help="apply the changes of this JSON file")
    build.add_argument(
        "--elevation", metavar="FILE", type=Path, help="GeoTIFF of heights, for slopes of walking and cycling"
    )
    build.add_argument(
        "--speeds", metavar="FILE", type=Path, help="Parquet or CSV file of measured speeds by hour, as of add_speeds"
    )
    build.add_argument("--timezone", help="IANA name such as Europe/Helsinki; by default that of the feeds or streets")
    build.add_argument(
        "--prepare",
        metavar="TYPE",
        nargs="+",
        action="extend",
        default=[],
        help="types such as walking, driving or public_transport whose first searches take no longer than others",
    )
    build.set_defaults(run=_build)

    info = commands.add_parser("info", help="print the report of a saved network")
    info.add_argument("path", metavar="PATH", type=Path, help="file of the network")
    info.set_defaults(run=_info)

    add_searches(commands, lambda text: _named_network(text)[1])
    add_commands(commands, _run_job)
    add_serve(commands, _serve)

    compiling = commands.add_parser(
        "compile",
        help="compile all kernels in advance, for packages and container images",
        description="Compiles the kernels of all searches and caches them, so that the first request need not wait. "
        "They are stored in NUMBA_CACHE_DIR, by default beside the package, in a folder that no other user can write "
        "to. With --baseline, they are compiled for a processor that others of the same kind surpass, and written to "
        "an archive for wheels.",
    )
    compiling.add_argument(
        "--baseline",
        metavar="NAME",
        nargs="?",
        const="",
        help="compile for this processor, such as x86-64-v3 (default: the best known one that this machine surpasses)",
    )
    compiling.add_argument("--out", metavar="FILE", type=Path, help="the archive to write, with --baseline")
    compiling.set_defaults(run=_compile)
    return parser


class _Announcement(logging.Handler):
    """Prints to stderr once that kernels are being compiled, and why they are not kept."""

    def emit(self, record: logging.LogRecord) -> None:
        end = " ..." if record.levelno == logging.INFO else ""
        print(f"traveltime-lab: {record.getMessage()}{end}", file=sys.stderr, flush=True)


def _tell_of_compiling() -> None:
    logger = logging.getLogger("traveltime_lab.kernels.cache")
    if not logger.handlers:
        announcement = _Announcement(logging.INFO)
        logger.addHandler(announcement)
    logger.setLevel(logging.INFO)


def _compile(options: argparse.Namespace) -> None:
    from traveltime_lab.kernels import ahead, cache, warm_up
    from traveltime_lab.search.rehearsal import rehearse

    if (options.baseline is None) != (options.out is None):
        raise tl.InputError("compile takes --baseline and --out together, or neither")
    if options.out is not None:
        n_kernels = ahead.write(options.out, options.baseline or None)
        print(f"{n_kernels} kernels, {options.out.stat().st_size / 1e6:.1f} MB, are in {options.out}")
        return
    started = time.perf_counter()
    n_missing = warm_up.start_helper()
    warm_up.compile_listed(warm_up.listed())
    print(f"{n_missing} listed kernels were missing, compiled in {time.perf_counter() - started:.0f} s")
    for part in rehearse():
        print(f"  {part}: ready after {time.perf_counter() - started:.0f} s", flush=True)
    kept = cache.folders()
    files = [path for folder in kept for path in folder.glob("*.nbc")]
    print(f"{len(files)} compiled kernels, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB, are in")
    for folder in kept:
        print(f"  {folder}")
    if not kept:
        raise tl.InputError("compiled kernels cannot be cached: set NUMBA_CACHE_DIR to a writable folder")


def _serve(options: argparse.Namespace) -> None:
    from traveltime_lab.server.reload import hangups

    with hangups() as signals:  # SIGHUP would end a process that still loads its networks
        _run_server(options, signals)


def _run_server(options: argparse.Namespace, signals: Hangups) -> None:
    from traveltime_lab.kernels import warm_up
    from traveltime_lab.search.geocoding.nominatim import Nominatim
    from traveltime_lab.server import auth
    from traveltime_lab.server import serve as running
    from traveltime_lab.server.config import Options, read_costs
    from traveltime_lab.server.live import check_times
    from traveltime_lab.server.live_sources import name_of, parsed
    from traveltime_lab.server.reload import Reloader, Source

    if (options.certificate is None) != (options.key is None):
        raise tl.InputError("--certificate and --key must be given together")
    positive = ("body_limit", "timeout", "idle_timeout", "connections", "hits_per_minute", "watch", "every", "max_age")
    for name in positive:
        given = getattr(options, name)
        if given is None and name in ("hits_per_minute", "watch", "every", "max_age"):
            continue
        if not given > 0:
            raise tl.InputError(f"--{name.replace('_', '-')} must be positive; got {given}")
        if name in _MOST and given > _MOST[name]:
            raise tl.InputError(f"--{name.replace('_', '-')} must be at most {_MOST[name]:,}; got {given:g}")
    for name in ("every", "max_age"):
        if getattr(options, name) is not None and not options.updates:
            raise tl.InputError(f"--{name.replace('_', '-')} needs --updates, which it is about")
    every_s = Options.every_s if options.every is None else options.every
    max_age_s = Options.max_age_s if options.max_age is None else options.max_age
    check_times(every_s, max_age_s, tuple(map(parsed, options.updates)))
    pairs = auth.find_pairs(options.credentials, options.credentials_file)
    is_made_up = not pairs
    pairs = pairs or [auth.generate_pair()]
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if not options.quiet:
        for name in ("access", "server.reload", "server.serving", "server.live"):
            logging.getLogger(f"traveltime_lab.{name}").setLevel(logging.INFO)
    warm_up.start_helper()
    sources = {
        name: Source(files, load) for name, files, load in map(_named_loader, options.networks or ["porto_alegre"])
    }
    if len(sources) < len(options.networks):
        raise tl.InputError("two networks have the same name; give them names with NAME=PATH")
    if options.changes is not None:
        if len(sources) > 1:
            raise tl.InputError("--changes needs exactly one network; build the others with their changes")
        sources = {name: source.changed_by(options.changes) for name, source in sources.items()}
    for each in map(parsed, options.updates):
        name_of(each, tuple(sources))  # before networks are loaded, which takes minutes
    stamps = {name: source.stamp() for name, source in sources.items()}

    def announce(address: running.Served) -> None:
        print(f"Serving {', '.join(sources)} at {address}  (documentation: {address}/docs)")
        print(f"Map, for one browser: {address.page}")
        if is_made_up:
            print(f"Application id {address.app_id}, API key {address.api_key}  (generated for this run)")
            print("For code copied from the map:")
            print(f"  export TRAVELTIME_LAB_APP_ID={address.app_id} TRAVELTIME_LAB_API_KEY={address.api_key}")
            query = "lat={1:.4f}&lng={0:.4f}".format(*address.middle)
            insecure = "-k " if options.tls else ""
            print(
                f"\nTry: curl {insecure}'{address}/v4/time-map?type=driving&travel_time=600&{query}"
                "&departure_time=2026-03-02T08:00:00Z'"
                f" -H 'X-Application-Id: {address.app_id}' -H 'X-Api-Key: {address.api_key}'\n"
            )
        print("Ctrl+C stops.", flush=True)

    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:
        # The server ends the process by the signal that it was sent, as supervisors of services expect.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    running.run(
        {name: source.load() for name, source in sources.items()},
        announce=announce,
        host=options.host,
        port=options.port,
        credentials=pairs,
        tls=options.tls if options.certificate is None else (options.certificate, options.key),
        zones=options.zones,
        options=Options(
            body_limit=int(options.body_limit * 1e6),
            timeout_s=options.timeout,
            idle_s=options.idle_timeout,
            connections=options.connections,
            hits_per_minute=options.hits_per_minute,
            nominatim=None if options.nominatim is None else Nominatim(options.nominatim),
            costs=read_costs(options.costs),
            allow_origins=tuple(options.allow_origin),
            updates=tuple(map(parsed, options.updates)),
            every_s=every_s,
            max_age_s=max_age_s,
        ),
        reloader=lambda serving: Reloader(serving, sources, stamps, options.watch, signals),
    )


def _named_network(text: str) -> tuple[str, tl.Network]:
    """Return the name and the network that an argument of ``serve`` specifies."""
    name, _, load = _named_loader(text)
    return name, load()


def _named_loader(text: str) -> tuple[str, tuple[Path, ...], Callable[[], tl.Network]]:
    """Return the name that an argument of ``serve`` specifies, the files of the network, and how to load it."""
    name, equals, source = text.partition("=")
    if not equals or "/" in name or "\\" in name:
        name, source = "", text
    if source in DEMO_ORIGINS:
        return name or source, (), lambda: tl.sample_network(source)
    path = Path(source)
    name = name or path.name.partition(".")[0]
    if path.name.lower().endswith(_OSM_ENDS):
        return name, (path,), lambda: tl.build_network(path, progress=sys.stderr.isatty())
    return name, (path,), lambda: tl.load_network(path)


def _build(options: argparse.Namespace) -> None:
    from traveltime_lab.modes.one_moment import of_one_moment
    from traveltime_lab.network.prepared import check_timetable
    from traveltime_lab.network.unfinished import remove
    from traveltime_lab.runtime.progress import shown

    if options.out.name.lower().endswith(_OSM_ENDS):
        raise tl.InputError(
            f"OUT, the last name, is the network to write, and {options.out} is the name of an OpenStreetMap file; "
            "give it a name such as city.network"
        )
    writable(options.out, what="the network", example="city.network")  # before hours of work, not after
    refuse_inputs(options.out, [*options.osm, *options.gtfs, options.changes, options.elevation, options.speeds])
    if options.elevation is not None:
        from traveltime_lab.readers.raster import opened

        with opened(options.elevation, "heights"):
            pass
    if options.speeds is not None and not is_file(options.speeds):
        raise tl.MissingFileError(f"no profile of speeds at {options.speeds}")
    prepared_for = [of_one_moment(each, "a prepared network") for each in options.prepare]
    check_timetable(prepared_for, has_timetable=bool(options.gtfs))  # before the work, too
    osm = options.osm if len(options.osm) > 1 else options.osm[0]
    network = tl.build_network(
        osm, gtfs=options.gtfs, bounds=options.bounds, timezone=options.timezone, progress=sys.stderr.isatty()
    )  # fmt: skip
    if options.speeds is not None:
        network = tl.add_speeds(network, profile=options.speeds)
    if options.changes is not None:
        network = network.with_changes(tl.load_changes(options.changes))
    if options.elevation is not None:
        network = tl.add_elevation(network, options.elevation)
    # The changed network; streets that changes add have slopes, too. After an interruption it resumes.
    folder = options.out.with_name(f"{options.out.name}.unfinished")
    if prepared_for:
        try:
            with shown(sys.stderr.isatty(), 1, "Preparing the network", "", is_share=True) as advance:
                network.prepare(*prepared_for, folder=folder)
                advance(1)
        except tl.ModeError:
            # It would end here again.
            remove(folder)
            raise
    print(network.report())
    print(f"\nSaved: {network.save(options.out).resolve()}")
    remove(folder)


def _run_job(options: argparse.Namespace) -> None:
    network: Path | tl.Network | None = None
    if options.network is not None:
        path = Path(options.network)
        is_saved = path.is_file() and not path.name.lower().endswith(_OSM_ENDS)
        network = path if is_saved else _named_network(options.network)[1]
    begun = said = time.monotonic()

    def say(n_done: int, n_parts: int) -> None:
        """Print a line now and then; a progress bar would fill a log."""
        nonlocal said
        if time.monotonic() - said > 60:
            said = time.monotonic()
            print(f"{n_done:,} of {n_parts:,} {options.unit} after {said - begun:.0f} s", file=sys.stderr, flush=True)

    print(options.job(network, options, False if options.quiet else sys.stderr.isatty() or say))


def _info(options: argparse.Namespace) -> None:
    print(tl.load_network(options.path).report())


def _demo(options: argparse.Namespace) -> None:
    from traveltime_lab.kernels import warm_up

    started = time.perf_counter()
    with explained(options.out, "create the folder"):
        options.out.mkdir(parents=True, exist_ok=True)
    # Before all else, so that this process imports its modules while the other one compiles.
    warm_up.start_helper(["demo"])
    from traveltime_lab.maps.single_page import single_page

    print(f"Getting the sample {options.sample!r}: built on first use, then loaded ...")
    network = tl.sample_network(options.sample)
    places = tl.sample_points(options.sample)
    print(f"{network!r}\n")

    mode = DEMO_TABLE_MODES[options.sample]
    times = tl.time_filter(
        network,
        places,
        places,
        travel_time=3600,
        transportation=mode,
        departure_time=DEMO_MOMENT,
        form="matrix",
    )
    print(f"{mode.capitalize()} on a weekday morning, minutes; from rows to columns:\n")
    print(_minutes_table(times))

    areas = _isochrones(network, places.loc[[DEMO_ORIGINS[options.sample]]])
    print(f"\nReachable from {DEMO_ORIGINS[options.sample]}, km²:\n")
    sizes = areas.assign(km2=areas.to_crs(network.crs).area / 1e6, minutes=areas["travel_time"] // 60)
    print(sizes.pivot_table("km2", "minutes", "transportation", sort=False).round(2).to_string())

    files = {
        "travel_times.csv": "the table, in seconds",
        "isochrones.geojson": "the areas, for any GIS",
        "isochrones.parquet": "the same as GeoParquet",
        "map.html": "an interactive map, for any browser, offline",
    }
    page = single_page(
        network, areas, places, origin=DEMO_ORIGINS[options.sample], note="Weekday morning.", version=tl.__version__
    )
    contents = {
        "travel_times.csv": times.round().astype("Int32").to_csv().encode(),
        "isochrones.geojson": geojson(areas, "isochrones"),
        "isochrones.parquet": geoparquet(areas),
        "map.html": page.encode(),
    }
    for name, content in contents.items():
        write_bytes(options.out / name, content, what="the demo", example=name)
    print("\nFiles:")
    for name, meaning in files.items():
        print(f"  {(options.out / name).resolve()}  ({meaning})")
    print(f"\n{network.attribution}\nDone in {time.perf_counter() - started:.1f} s.")


def _minutes_table(times: pd.DataFrame) -> str:
    """Format a matrix of seconds in minutes, with columns numbered like the rows."""
    numbered = (times / 60).astype("float64")
    numbered.index = [f"{number} {name}" for number, name in enumerate(times.index, 1)]
    numbered.columns = [str(number) for number in range(1, len(times.columns) + 1)]
    return str(numbered.to_string(na_rep="-", float_format="{:.1f}".format))


def _isochrones(network: tl.Network, origin: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return one row per mode and travel time, shortest time first."""
    import pandas as pd

    parts = []
    for mode in DEMO_MODES:
        areas = tl.time_map(
            network,
            origin,
            travel_time=[60 * minutes for minutes in DEMO_MINUTES],
            transportation=mode,
            departure_time=DEMO_MOMENT,
            level_of_detail="high",
            buffer_distance=DEMO_BUFFER_M,
        )
        areas.insert(0, "transportation", mode)
        areas.insert(0, "origin", areas.index)
        parts.append(areas[["origin", "transportation", "travel_time", "geometry"]])
    return pd.concat(parts, ignore_index=True)
