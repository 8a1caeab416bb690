"""A grid of streets, and points on it, for large jobs."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import pickle
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd

from tests.support import worlds
from traveltime_lab.network.network import Network

#: A part of the grid is within reach.
ON_FOOT: dict[str, Any] = {"travel_time": 200, "transportation": "walking"}

#: How pools begin processes: where they can be forked, they need not import the library.
HOW = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")


class Strange(Executor):
    """An executor that nobody knows: it pickles its tasks, as those for other machines do."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        future.set_result(function(*arguments, **options))
        return future


def grid() -> Network:
    """Return streets of 100 m, 20 by 20."""
    corners = {f"{x} {y}": (100.0 * x, 100.0 * y) for x in range(20) for y in range(20)}
    streets = [(f"{x} {y}", f"{x + 1} {y}") for x in range(19) for y in range(20)]
    streets += [(f"{x} {y}", f"{x} {y + 1}") for x in range(20) for y in range(19)]
    return worlds.world(corners, streets)


def points(number: int, seed: int, *, texts: bool = False) -> gpd.GeoSeries:
    """Return random points, some of them off the streets; labelled by whole numbers from 100, or by texts."""
    places = np.random.default_rng(seed).uniform(-1500.0, 2500.0, (number, 2))
    found = worlds.at(*map(tuple, places.tolist()))
    found.index = pd.Index([f"place {i}" for i in range(number)] if texts else range(100, 100 + number))
    return found


def checksums(folder: Path) -> dict[str, str]:
    """Return the names of all files and the hashes of their bytes."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder."""
    return dict(json.loads((folder / "_manifest.json").read_text("utf-8")))
