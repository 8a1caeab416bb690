"""The command line: ``traveltime-lab demo``, ``build`` and ``info``."""

from __future__ import annotations

import argparse
import base64
import html
import io
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import traveltime_lab as tl

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

DEMO_MODES = ("walking", "driving")
DEMO_MINUTES = (5, 10, 15)
#: Place of each sample that the demo's isochrones start from, and the moment that decides the traffic.
DEMO_ORIGINS = {"coquimbo": "Plaza de Armas, La Serena", "helsinki": "Rautatieasema"}
DEMO_MOMENT = "weekday_morning"
#: Mode of the table of each sample.
DEMO_TABLE_MODES = {"coquimbo": "driving", "helsinki": "walking"}
#: Metres that the demo's areas may leave the streets: little, as the samples end where the next town or the sea begins.
DEMO_BUFFER_M = 250


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; by default those of the process.

    Returns
    -------
    int
        0, or 1 after an error that was explained on stderr.
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (tl.TravelTimeError, OSError) as error:
        print(f"traveltime-lab: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="traveltime-lab", description="Isochrones and travel-time matrices on your own machine."
    )
    parser.add_argument("--version", action="version", version=f"traveltime-lab {tl.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="travel times and isochrones of a sample city, as table, files and map")
    demo.add_argument("--sample", default="coquimbo", choices=sorted(DEMO_ORIGINS), help="default: %(default)s")
    demo.add_argument("--out", type=Path, default=Path("traveltime-lab-demo"), help="folder, default: %(default)s")
    demo.set_defaults(run=_demo)

    build = commands.add_parser("build", help="build a network and save it")
    build.add_argument("osm", metavar="OSM", help="a .osm.pbf, .osm or .xml file (also .gz, .bz2), or a place name")
    build.add_argument("out", metavar="OUT", type=Path, help="file to write")
    build.add_argument("--timezone", help="IANA name such as Europe/Helsinki; by default that of the place")
    build.set_defaults(run=_build)

    info = commands.add_parser("info", help="tell what a saved network holds")
    info.add_argument("path", metavar="PATH", type=Path)
    info.set_defaults(run=_info)
    return parser


def _build(options: argparse.Namespace) -> None:
    network = tl.build_network(options.osm, timezone=options.timezone, progress=sys.stderr.isatty())
    print(network.report())
    print(f"\nSaved: {network.save(options.out).resolve()}")


def _info(options: argparse.Namespace) -> None:
    print(tl.load_network(options.path).report())


def _demo(options: argparse.Namespace) -> None:
    started = time.perf_counter()
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

    options.out.mkdir(parents=True, exist_ok=True)
    files = {
        "travel_times.csv": "the table, in seconds",
        "isochrones.geojson": "the areas, for any GIS",
        "isochrones.parquet": "the same as GeoParquet",
        "map.html": "a map, for any browser, offline",
    }
    times.round().astype("Int32").to_csv(options.out / "travel_times.csv")
    areas.to_file(options.out / "isochrones.geojson", driver="GeoJSON")
    areas.to_parquet(options.out / "isochrones.parquet")
    title = f"From {DEMO_ORIGINS[options.sample]}"
    (options.out / "map.html").write_text(_page(network, areas, places, title), encoding="utf-8")
    print("\nFiles:")
    for name, meaning in files.items():
        print(f"  {(options.out / name).resolve()}  ({meaning})")
    print(f"\n{network.attribution}\nDone in {time.perf_counter() - started:.1f} s.")


def _minutes_table(times: pd.DataFrame) -> str:
    """Return a matrix of seconds as text in minutes, its columns numbered like its rows."""
    numbered = (times / 60).astype("float64")
    numbered.index = [f"{number} {name}" for number, name in enumerate(times.index, 1)]
    numbered.columns = [str(number) for number in range(1, len(times.columns) + 1)]
    return str(numbered.to_string(na_rep="-", float_format="{:.1f}".format))


def _isochrones(network: tl.Network, origin: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return one row per mode and time, nearest first."""
    import pandas as pd

    parts = []
    for mode in DEMO_MODES:
        for minutes in DEMO_MINUTES:
            area = tl.time_map(
                network,
                origin,
                travel_time=60 * minutes,
                transportation=mode,
                departure_time=DEMO_MOMENT,
                level_of_detail="high",
                buffer_distance=DEMO_BUFFER_M,
            )
            area.insert(0, "transportation", mode)
            area.insert(0, "origin", area.index)
            parts.append(area[["origin", "transportation", "travel_time", "geometry"]])
    return pd.concat(parts, ignore_index=True)


# A map without a map server --------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 24px; color: #222; background: #fff; }
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 16px; margin: 0 0 6px; }
.maps { display: flex; flex-wrap: wrap; gap: 20px; margin-top: 16px; }
figure { margin: 0; }
img { width: min(92vw, 560px); height: auto; }
footer { margin-top: 14px; color: #555; font-size: 13px; }
"""


def _page(network: tl.Network, areas: gpd.GeoDataFrame, places: gpd.GeoDataFrame, title: str) -> str:
    """Return a self-contained HTML page with one map per mode."""
    maps = "".join(
        f"<figure><h2>{html.escape(str(mode)).capitalize()}</h2>"
        f"<img src='{_picture(network, part, places)}' alt='{_in_words(str(mode), part)}'></figure>"
        for mode, part in areas.groupby("transportation", sort=False)
    )
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1><div>Weekday morning.</div>"
        f"<div class='maps'>{maps}</div><footer>{html.escape(network.attribution)}. "
        f"Drawn by traveltime_lab {tl.__version__}.</footer></body></html>\n"
    )


def _picture(network: tl.Network, areas: gpd.GeoDataFrame, places: gpd.GeoDataFrame) -> str:
    """Return a map as the address of an image that holds the image."""
    from traveltime_lab import pictures

    buffer = io.BytesIO()
    pictures.save(buffer, network, areas, places, size=7.5, dpi=150, file_format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _in_words(mode: str, areas: gpd.GeoDataFrame) -> str:
    """Return what a map shows for those who cannot see it."""
    minutes = ", ".join(str(seconds // 60) for seconds in areas["travel_time"])
    return html.escape(f"Map of the areas within {minutes} minutes {mode}", quote=True)
