"""A grid of streets, and points on it, for large jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest

from tests.support import worlds
from traveltime_lab.network.network import Network

#: A quarter of the grid is within reach.
ON_FOOT: dict[str, Any] = {"travel_time": 200, "transportation": "walking"}


@pytest.fixture(scope="session")
def grid() -> Network:
    corners = {f"{x} {y}": (100.0 * x, 100.0 * y) for x in range(20) for y in range(20)}
    streets = [(f"{x} {y}", f"{x + 1} {y}") for x in range(19) for y in range(20)]
    streets += [(f"{x} {y}", f"{x} {y + 1}") for x in range(20) for y in range(19)]
    return worlds.world(corners, streets)


@pytest.fixture(scope="session")
def saved(grid: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return grid.save(tmp_path_factory.mktemp("networks") / "grid.network")


def points(number: int, seed: int, *, texts: bool = False) -> gpd.GeoSeries:
    """Random points, some of them off the streets."""
    found = worlds.at(*np.random.default_rng(seed).uniform(-1500.0, 2500.0, (number, 2)).tolist())
    found.index = [f"place {i}" for i in range(number)] if texts else found.index + 100
    return found


@pytest.fixture(scope="session")
def homes() -> gpd.GeoSeries:
    return points(60, 1)


@pytest.fixture(scope="session")
def shops() -> gpd.GeoSeries:
    return points(45, 2, texts=True)
