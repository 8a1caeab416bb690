"""
The commands for searches, such as ``traveltime-lab time-map``.

Their options are the arguments of the functions of the same names; see `traveltime_lab.commands.signatures`. Other
modules are imported when a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from traveltime_lab.commands.days import days_of
from traveltime_lab.commands.options import (
    MOMENTS,
    add_argument,
    add_parts,
    escaped,
    parts_of,
    plain,
    refuse_inputs,
    shorten_usage,
    take_negative_numbers,
    takes_points,
)
from traveltime_lab.commands.point_options import add_point_options, point_options
from traveltime_lab.commands.signatures import described
from traveltime_lab.commands.values import pair

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    from traveltime_lab.network.network import Network


@dataclass(frozen=True)
class _Command:
    """
    A command.

    Attributes
    ----------
    function : str
        Name of the public function.
    form : {"csv", "geojson", "text"}
        Format that it writes to stdout by default.
    is_points : bool
        Whether the geometries of its result are points.
    geometry_of : str
        Name of an argument without which its result has no geometry; empty if there is none.
    """

    function: str
    form: str = "csv"
    is_points: bool = False
    geometry_of: str = ""

    @property
    def name(self) -> str:
        """The name on the command line."""
        return self.function.replace("_", "-")

    def has_geometry(self, given: Mapping[str, Any]) -> bool:
        """Return whether the result has a geometry, given the arguments."""
        if self.geometry_of and self.geometry_of not in given:
            return False
        return given.get("geometry", True) is True and given.get("form") in (None, "pairs", "summary")


#: Every search with a network that takes points or texts. Others take tables that searches have returned.
COMMANDS: Final = (
    _Command("time_map", "geojson"),
    _Command("distance_map", "geojson"),
    _Command("time_filter", is_points=True),
    _Command("routes", "geojson"),
    _Command("pareto_routes", "geojson"),
    _Command("nearest", is_points=True),
    _Command("accessibility", is_points=True),
    _Command("reliability", is_points=True, geometry_of="opportunities"),
    _Command("reliability_map", "geojson"),
    _Command("reliability_cells"),
    _Command("h3_cells"),
    _Command("geohash_cells"),
    _Command("snap", is_points=True),
    _Command("geocode", is_points=True),
    _Command("reverse_geocode", is_points=True),
    _Command("explain", "text"),
)

#: Files of points that a command reads at most.
_MOST_FILES: Final = 2
_POINTS: Final = """\
Points are read from GeoParquet, GeoPackage and other formats of GDAL, or from .csv and .parquet
files with the columns lng and lat, or others (--lng, --lat); one point may be written LNG,LAT.
"""
_EPILOG: Final = """\
Several values of an option are separated by commas.

exit status: 0 complete; 1 an error, after which nothing is written; 2 wrong usage; 130 interrupted
"""


def add_searches(commands: Any, network_of: Callable[[str], Network]) -> None:
    """
    Add the commands.

    Parameters
    ----------
    commands : subparsers action of argparse
    network_of : callable
        Returns the network that a text stands for.
    """
    for each in COMMANDS:
        function = described(each.function)
        summary = plain(function.summary)
        short = summary.removeprefix("Return ").rstrip(".")
        points = [argument.name for argument in function.arguments if takes_points(argument)]
        same = f"The function {each.function} of the library does the same."
        command = commands.add_parser(
            each.name,
            help=escaped(short[0].lower() + short[1:]),
            description=textwrap.fill(f"{summary.replace('Return ', 'Writes ', 1)} {same}", 100),
            epilog=f"{_POINTS if points else ''}{_EPILOG}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("network", metavar="NETWORK", help="a saved network, an OSM file or a sample")
        take_negative_numbers(command)
        is_over_days = any(argument.name == "days" for argument in function.arguments)
        moments = [argument for argument in function.arguments if argument.annotation in MOMENTS]
        # Options of which one excludes the others cannot be required.
        is_choice = len(moments) > 1
        moment = command.add_mutually_exclusive_group() if is_choice else command
        for argument in function.arguments:
            add_argument(moment if argument in moments else command, argument, is_over_days=is_over_days)
        if points:
            add_point_options(command, min(len(points), _MOST_FILES))
        if each.form != "text":
            _add_writing(command, each)
        command.add_argument("--quiet", action="store_true", help="no progress")
        for argument in function.arguments:
            add_parts(command, argument.name)
        shorten_usage(command)
        command.set_defaults(run=_run, command=each, network_of=network_of)


def _add_writing(command: Any, each: _Command) -> None:
    if each.function == "routes":
        command.add_argument("--legs", action="store_true", help="a row for each leg instead of each route")
    out = command.add_mutually_exclusive_group()
    out.add_argument(
        "--out", metavar="FILE", type=Path, help="file to write: .csv, .geojson, .gpkg or .parquet; default: stdout"
    )
    out.add_argument("--format", choices=("csv", "geojson"), default=each.form, help="of stdout; default: %(default)s")


# Running --------------------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> None:
    import traveltime_lab as tl
    from traveltime_lab.commands import tables

    each: _Command = options.command
    every = described(each.function).arguments
    given = {item.name: getattr(options, item.name) for item in every if hasattr(options, item.name)}
    out = getattr(options, "out", None)
    if each.form != "text":
        # before the search, not after
        tables.check_out(out, options.format, has_geometry=each.has_geometry(given))
    names = [item.name for item in every if takes_points(item) and item.name in given]
    if out is not None:
        network = options.network
        archives = [path for text in getattr(options, "archive", ()) for path in (text, text.partition("=")[2])]
        points = [given[name] for name in names]
        refuse_inputs(out, [network, network.partition("=")[2], given.get("pairs"), *points, *archives])
    # The geometry of a pair is its route if that is among the properties, otherwise its destination.
    is_points = each.is_points and "route" not in given.get("properties", ())
    given |= _points(options, names, given)
    given |= parts_of(options)
    if given.get("pairs", "all") not in ("all", "aligned") and "destinations" in given:
        given["pairs"] = _pairs(given["pairs"], given)
    if any(item.name == "progress" for item in every):
        given["progress"] = not options.quiet and sys.stderr.isatty()
    given["network"] = options.network_of(options.network)
    with _warnings_shown():
        if "days" in given:
            given["days"] = days_of(given["network"], given["days"], options.dates)
        result = getattr(tl, each.function)(**given)
    if each.form == "text":
        print(result)
        return
    if getattr(options, "legs", False):
        result = _legs(result)
    if out is None:
        tables.show(result, options.format, each.function, is_points=is_points)
        return
    tables.write(result, out, each.function, is_points=is_points)
    print(f"Saved: {len(result):,} row{'' if len(result) == 1 else 's'}: {out.resolve()}")


@contextlib.contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print warnings, and the date of weekday_morning, to stderr."""
    from traveltime_lab.runtime.warnings import warnings_to
    from traveltime_lab.transit.query import typical_days_to

    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            print(f"traveltime-lab: {text}", file=sys.stderr)

    with (
        warnings_to(lambda text: say(f"warning: {text}")),
        typical_days_to(lambda day: say(f"weekday_morning is {day:%Y-%m-%d}")),
    ):
        yield


def _points(options: argparse.Namespace, names: list[str], given: dict[str, Any]) -> dict[str, gpd.GeoDataFrame]:
    """Return the tables of points, with the columns that other arguments name."""
    import geopandas as gpd
    import pandas as pd

    from traveltime_lab.jobs.point_files import read_point_file
    from traveltime_lab.search.receipts.record import COLUMNS_OF

    if not names:
        return {}
    places = [pair(given[name]) for name in names]
    paths = [given[name] if place is None else None for name, place in zip(names, places, strict=True)]
    found = {}
    for name, how, place in zip(names, point_options(options, paths), places, strict=True):
        if place is not None:
            index = pd.Index([0], name="id")
            found[name] = gpd.GeoDataFrame(geometry=gpd.points_from_xy(*zip(place), crs="EPSG:4326"), index=index)
            continue
        columns = given.get(COLUMNS_OF.get(name) or "", ())
        requested = (columns,) if isinstance(columns, str) else tuple(columns)
        table = read_point_file(given[name], numbers=requested, **how)
        found[name] = table.rename_axis(index=table.index.name or "id")
    return found


def _pairs(path: str, given: dict[str, Any]) -> pd.DataFrame:
    """Return the table of pairs of a CSV file, whose labels are of the types of those of the points."""
    import pandas as pd

    from traveltime_lab._csv import read_csv
    from traveltime_lab._files import is_file
    from traveltime_lab.errors import DataError, MissingFileError

    if not is_file(Path(path)):
        raise MissingFileError(f"--pairs must be all, aligned or a .csv file; there is no file {path}")
    try:
        table = read_csv(Path(path), dtype="string", encoding="utf-8-sig", keep_default_na=False, na_values=[""])
        columns = {
            name: table[name].astype(given[points].index.dtype)
            for name, points in (("origin", "origins"), ("destination", "destinations"))
        }
    except KeyError as error:
        raise DataError(f"{path} has no column {error}; a file of pairs needs origin and destination") from error
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path} cannot be read as a file of pairs: {error}") from error
    return pd.DataFrame(columns)


def _legs(routes: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return a row for each leg of routes."""
    import geopandas as gpd
    import pandas as pd

    from traveltime_lab.errors import InputError
    from traveltime_lab.itinerary import Route

    if "route" not in routes:
        raise InputError("--legs needs the property route; leave --properties out, or add route to it")
    found = [row for row in routes.itertuples() if row.route is not None and not pd.isna(row.route)]
    parts = [
        row.route.legs_frame().assign(origin=row.origin, destination=row.destination, route=number)
        for number, row in enumerate(found)
    ]
    if not parts:
        # No rows, but the columns and types of others.
        numbers = {"waiting_time": "int64", "travel_time": "int64", "distance": "float64"}
        none = routes.iloc[:0].reset_index(drop=True)
        empty = Route(()).legs_frame().astype(numbers)
        parts = [empty.assign(origin=none["origin"], destination=none["destination"], route=none.index.astype("int64"))]
    table = pd.concat(parts, ignore_index=True)
    first = ["origin", "destination", "route"]
    return gpd.GeoDataFrame(table[[*first, *(name for name in table if name not in first)]], crs=routes.crs)
