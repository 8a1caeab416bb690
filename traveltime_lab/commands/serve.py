"""
Options of the command ``serve``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any


def add_serve(commands: Any, run: Callable[[argparse.Namespace], None]) -> None:
    """Add the parser of ``serve`` to those of the commands; `run` serves."""
    serve = commands.add_parser(
        "serve",
        help="run an HTTP server for the public clients of the hosted service",
        description="Serves until interrupted, then completes the requests that are running.",
    )
    serve.add_argument(
        "networks",
        metavar="NETWORK",
        nargs="*",
        help="saved networks, OSM files or samples (porto_alegre, helsinki), each also as NAME=...; default: "
        "porto_alegre",
    )
    serve.add_argument(
        "--changes", metavar="FILE", type=Path, help="apply the changes of this JSON file; needs exactly one network"
    )
    serve.add_argument("--host", default="127.0.0.1", help="default: %(default)s, this machine only")
    serve.add_argument("--port", type=int, default=8000, help="0 takes a free one; default: %(default)s")
    serve.add_argument(
        "--credentials",
        metavar="ID:KEY",
        action="append",
        default=[],
        help="accept these credentials; repeatable; also from TRAVELTIME_LAB_CREDENTIALS; default: random ones",
    )
    serve.add_argument("--credentials-file", metavar="PATH", type=Path, help="file with one ID:KEY per line")
    serve.add_argument("--tls", action="store_true", help="use https with a self-signed certificate")
    serve.add_argument("--certificate", metavar="PEM", type=Path, help="use https with this certificate")
    serve.add_argument("--key", metavar="PEM", type=Path, help="key of --certificate")
    serve.add_argument("--zones", metavar="PATH", type=Path, help="postcodes: .csv or .parquet with postcode, lat, lng")
    serve.add_argument("--nominatim", metavar="URL", help="Nominatim server for geocoding; default: the networks")
    serve.add_argument(
        "--costs", metavar="FILE", type=Path,
        help="emissions and prices for the properties emissions and cost: the fields of Costs in this JSON file; "
        "default: emissions of the life cycle, and no prices",
    )  # fmt: skip
    serve.add_argument("--body-limit", metavar="MB", type=float, default=100.0, help="default: %(default)s")
    serve.add_argument("--timeout", metavar="S", type=float, default=300.0, help="default: %(default)s")
    serve.add_argument(
        "--idle-timeout", metavar="S", type=float, default=10.0, help="close idle connections; default: %(default)s"
    )
    serve.add_argument(
        "--connections", metavar="N", type=int, default=500, help="open at once, others get 503; default: %(default)s"
    )
    serve.add_argument("--hits-per-minute", metavar="N", type=int, help="rate limit by application id; default: none")
    serve.add_argument(
        "--allow-origin",
        metavar="URL",
        action="append",
        default=[],
        help="web pages of this origin may read answers (CORS), such as http://localhost:3000, or '*'; repeat for more",
    )
    serve.add_argument(
        "--watch", metavar="S", type=float,
        help="look every S seconds whether files of networks have changed, and reload those; SIGHUP reloads them, too",
    )  # fmt: skip
    serve.add_argument(
        "--updates",
        metavar="[NETWORK][:FEED]=FILE_OR_URL",
        action="append",
        default=[],
        help="apply the live updates (GTFS Realtime) of this file or address, and read it again every --every seconds; "
        "repeat for more. NETWORK= is for several networks, :FEED= for several timetables with equal ids",
    )
    serve.add_argument(
        "--every",
        metavar="S",
        type=float,
        help="look at --updates every S seconds, at addresses 1 at least; default: 30",
    )
    serve.add_argument(
        "--max-age",
        metavar="S",
        type=float,
        help="go back to the planned timetable when updates are older, inf for never; default: 600",
    )
    serve.add_argument("--quiet", action="store_true", help="no access log")
    serve.set_defaults(run=run)
