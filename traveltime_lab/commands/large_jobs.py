"""
The commands ``traveltime-lab matrix``, ``traveltime-lab areas`` and ``traveltime-lab networks``.

Other modules are imported when a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traveltime_lab.commands.options import Moments, add_parts, parts_of
from traveltime_lab.commands.point_options import add_point_options, point_options
from traveltime_lab.commands.values import kind_of, reader

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from traveltime_lab.runtime.progress import Progress

#: How workers are started: a forked process would have the memory of this one, but not its threads.
START = "spawn"

_POINTS = (
    "Points are read from GeoParquet, GeoPackage and other formats of GDAL, or from .csv and .parquet files with the "
    "columns lng and lat."
)
_KINDS = "Give one of --regions, --changes and --archive; the last two need --base."
_STATUS = """\
exit status:
  0    complete
  1    an error, such as a missing file, or the folder of a different question
  2    wrong usage of the command
  3    not complete: the disk is full, or a worker ended; repeat the command to resume
  130  interrupted by Ctrl+C or SIGTERM; repeat the command to resume
"""


def add_commands(commands: Any, run: Callable[[argparse.Namespace], None]) -> None:
    """
    Add the commands.

    Parameters
    ----------
    commands : subparsers action of argparse
    run : callable
        Called with the options, of which ``options.job(network, options, progress)`` does the work and returns a text;
        ``options.unit`` is what it counts.
    """
    matrix = _command(commands, "matrix", "travel times of many pairs as a Parquet dataset", _POINTS, run)
    matrix.add_argument("network", metavar="NETWORK", help="a saved network, an OSM file or a sample")
    matrix.add_argument("origins", metavar="ORIGINS", type=Path, help="file of points")
    matrix.add_argument("destinations", metavar="DESTINATIONS", type=Path, help="file of points")
    matrix.add_argument("out", metavar="OUT", type=Path, help="folder of the dataset")
    matrix.add_argument(
        "--properties", metavar="NAMES", default="travel_time",
        help="of travel_time, distance, snap_distance and share, with commas; default: %(default)s",
    )  # fmt: skip
    matrix.add_argument("--percentiles", metavar="NUMBERS", default="", help="with --window, such as 50,80")
    matrix.add_argument("--travel-time", metavar="S", type=int, required=True, help="maximum, in seconds")
    matrix.set_defaults(job=_matrix)
    _add_common(matrix, "pairs per part, reachable or not; default: 20,000,000", 2)

    areas = _command(commands, "areas", "isochrones of many points as a GeoParquet dataset", _POINTS, run)
    areas.add_argument("network", metavar="NETWORK", help="a saved network, an OSM file or a sample")
    areas.add_argument("origins", metavar="ORIGINS", type=Path, help="file of points")
    areas.add_argument("out", metavar="OUT", type=Path, help="folder of the dataset")
    areas.add_argument("--level-of-detail", metavar="LEVEL", default="medium", help="default: %(default)s")
    areas.add_argument("--no-holes", action="store_true", help="fill holes")
    areas.add_argument("--percentile", metavar="P", type=float, help="with --window")
    areas.add_argument(
        "--travel-time", metavar="S,...", type=reader(kind_of("int | Sequence[int]")), required=True,
        help="maximum in seconds, or several with commas",
    )  # fmt: skip
    areas.set_defaults(job=_areas)
    _add_common(areas, "origins per part; default: 200", 1)

    networks = _command(
        commands, "networks", "networks of regions, scenarios or observed days, each prepared and in its own file",
        _KINDS, run,
    )  # fmt: skip
    networks.add_argument("out", metavar="OUT", type=Path, help="folder of the files")
    networks.add_argument(
        "--base", dest="network", metavar="NETWORK",
        help="network of scenarios and observed days: a saved network, an OSM file or a sample",
    )  # fmt: skip
    networks.add_argument(
        "--regions", metavar="FILE", type=Path,
        help='a JSON file of arguments of build_network by name, such as {"city": {"osm": "city.osm.pbf"}}',
    )  # fmt: skip
    networks.add_argument(
        "--changes", metavar="NAME=FILE", nargs="+", action="extend", default=[],
        help="scenarios: JSON files of changes, by default named as their files",
    )  # fmt: skip
    networks.add_argument(
        "--prepare", metavar="TYPE", nargs="+", action="extend", default=[],
        help="types such as walking, driving or public_transport whose first searches take no longer than others",
    )  # fmt: skip
    _add_running(networks)
    networks.set_defaults(job=_networks, unit="networks")
    add_parts(networks, "days")
    for action in networks._actions:
        # Only one of the kinds of networks has an archive.
        action.required = action.required and not action.option_strings


def _command(commands: Any, name: str, what: str, more: str, run: Callable[[argparse.Namespace], None]) -> Any:
    command = commands.add_parser(
        name,
        help=what,
        description=f"Writes {what}. Repeated, the command resumes where it stopped. {more}",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run, unit="parts")
    return command


def _add_common(command: Any, part_size: str, n_files: int) -> None:
    command.add_argument("--transportation", metavar="TYPE", default="driving", help="default: %(default)s")
    moment = command.add_mutually_exclusive_group()
    several = "ISO 8601, or weekday_morning; given several times, or as START/END/EVERY, several moments"
    moment.add_argument("--departure-time", metavar="TIME", action=Moments, help=several)
    moment.add_argument("--arrival-time", metavar="TIME", action=Moments, help="the same")
    command.add_argument("--window", metavar="S", type=int, help="timetable types: length in seconds")
    add_point_options(command, n_files)
    command.add_argument("--part-size", metavar="N", type=int, help=part_size)
    _add_running(command)
    for name in ("transportation", "snapping"):
        add_parts(command, name)


def _add_running(command: Any) -> None:
    command.add_argument("--workers", metavar="N", type=int, default=1, help="processes; default: %(default)s")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _matrix(network: Any, options: argparse.Namespace, progress: Progress) -> str:
    from traveltime_lab.jobs.matrix import write_matrix
    from traveltime_lab.jobs.point_files import read_point_file

    paths = (options.origins, options.destinations)
    origins, destinations = (
        read_point_file(path, **how) for path, how in zip(paths, point_options(options, paths), strict=True)
    )
    with _workers(options.workers) as executor:
        write_matrix(
            network, origins, destinations, options.out, properties=_items(options.properties),
            percentiles=_numbers(options.percentiles), progress=progress, executor=executor, **_common(options),
        )  # fmt: skip
    return _complete(options.out)


def _areas(network: Any, options: argparse.Namespace, progress: Progress) -> str:
    from traveltime_lab.jobs.areas import write_areas
    from traveltime_lab.jobs.point_files import read_point_file

    level = options.level_of_detail
    origins = read_point_file(options.origins, **point_options(options, [options.origins])[0])
    with _workers(options.workers) as executor:
        write_areas(
            network, origins, options.out, level_of_detail=int(level) if level.lstrip("-").isdecimal() else level,
            no_holes=options.no_holes, percentile=options.percentile, progress=progress, executor=executor,
            **_common(options),
        )  # fmt: skip
    return _complete(options.out)


def _networks(base: Any, options: argparse.Namespace, progress: Progress) -> str:
    import traveltime_lab as tl
    from traveltime_lab.commands.days import days_of
    from traveltime_lab.jobs.folder import read_manifest

    about_days = parts_of(options).get("days", {})
    if sum([options.regions is not None, bool(options.changes), "archive" in about_days]) != 1:
        raise tl.InputError(f"{_KINDS} See traveltime-lab networks --help")
    if "archive" not in about_days and (about_days or options.dates is not None):
        wrong = next(iter(about_days), "dates").replace("_", "-")
        raise tl.InputError(f"--{wrong} is about observed days; give --archive, too, or leave it out")
    if base is None and options.regions is None:
        raise tl.InputError("--changes and --archive need the network that they are about; give it as --base")
    if options.regions is not None:
        networks: Any = _object(options.regions)
    elif options.changes:
        networks = {name: tl.load_changes(path) for name, path in _named(options.changes).items()}
    else:
        planned = base if isinstance(base, tl.Network) else tl.load_network(base)
        networks = days_of(planned, about_days, options.dates)
    with _workers(options.workers) as executor:
        tl.write_networks(
            networks, options.out, base=base, prepare=options.prepare, progress=progress, executor=executor
        )
    parts = read_manifest(options.out)["parts"]
    size = sum(part["n_bytes"] for part in parts) / 1e6
    return f"Complete: {len(parts):,} network{'s' * (len(parts) != 1)}, {size:,.1f} MB: {options.out.resolve()}"


def _object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file, of which no key is given twice."""
    from traveltime_lab._files import explained, is_file, read_bytes
    from traveltime_lab.errors import DataError, MissingFileError

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(name for name in found if sum(each == name for each, _ in pairs) > 1)
            raise DataError(f"{path} has the key {twice!r} twice; give it once")
        return found

    if not is_file(path):
        raise MissingFileError(f"no file of regions at {path}")
    try:
        with explained(path, "read"):
            found = json.loads(read_bytes(path), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise DataError(
            f"{path} must be a JSON object of arguments of build_network by name; got a {type(found).__name__}"
        )
    return found


def _named(texts: list[str]) -> dict[str, Path]:
    """Return files by the names that texts give them, or else by those of the files."""
    from traveltime_lab.errors import InputError

    found: dict[str, Path] = {}
    for text in texts:
        # A path may have an equals sign, too.
        is_named = "=" in text and not Path(text).exists()
        name, _, path = text.partition("=") if is_named else (Path(text).name.partition(".")[0], "", text)
        if name in found:
            raise InputError(f"--changes has two scenarios named {name!r}; give them names with NAME=FILE")
        found[name] = Path(path)
    return found


def _common(options: argparse.Namespace) -> dict[str, Any]:
    names = ("travel_time", "departure_time", "arrival_time", "window", "part_size")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None} | parts_of(options)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _numbers(text: str) -> list[float]:
    from traveltime_lab.errors import InputError

    try:
        return [float(item) for item in _items(text)]
    except ValueError as error:
        msg = f"--percentiles must be numbers with commas, such as 50,80; got {text!r}"
        raise InputError(msg) from error


def _complete(out: Path) -> str:
    from traveltime_lab.jobs.folder import read_manifest

    manifest = read_manifest(out)
    n_bytes = sum(part["n_bytes"] for part in manifest["parts"])
    rows, parts = manifest["n_rows"], manifest["n_parts"]
    return f"Complete: {rows:,} rows in {parts:,} parts, {n_bytes / 1e6:,.1f} MB: {out.resolve()}"


@contextlib.contextmanager
def _workers(number: int) -> Iterator[Executor | None]:
    """Yield a pool of processes, None for one process."""
    from traveltime_lab.errors import InputError

    if not 1 <= number <= 1000:
        msg = f"--workers must be from 1 to 1000; got {number}"
        raise InputError(msg)
    if number == 1:
        yield None
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context, others = multiprocessing.get_context(START), multiprocessing.active_children()
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin_worker) as pool:
        try:
            yield pool
        except BaseException:
            # Parts under way are lost, and may take hours.
            for process in multiprocessing.active_children():
                if process not in others:
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _begin_worker() -> None:
    """Leave Ctrl+C to the parent process, and end with it, however it ends."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
