"""
The commands ``traveltime-lab matrix`` and ``traveltime-lab areas``.

Other modules are imported when a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import contextlib
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
    Add the two commands.

    Parameters
    ----------
    commands : subparsers action of argparse
    run : callable
        Called with the options, of which ``options.job(network, options, progress)`` does the work and returns a text.
    """
    matrix = _command(commands, "matrix", "travel times of many pairs as a Parquet dataset", run)
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

    areas = _command(commands, "areas", "isochrones of many points as a GeoParquet dataset", run)
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


def _command(commands: Any, name: str, what: str, run: Callable[[argparse.Namespace], None]) -> Any:
    command = commands.add_parser(
        name,
        help=what,
        description=f"Writes {what}. Repeated, the command resumes where it stopped. Points are read from GeoParquet, "
        "GeoPackage and other formats of GDAL, or from .csv and .parquet files with the columns lng and lat.",
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
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
    command.add_argument("--workers", metavar="N", type=int, default=1, help="processes; default: %(default)s")
    command.add_argument("--quiet", action="store_true", help="no progress")
    for name in ("transportation", "snapping"):
        add_parts(command, name)


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

    context = multiprocessing.get_context(START)
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin_worker) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _begin_worker() -> None:
    """Leave Ctrl+C to the parent process, and end with it, however it ends."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
