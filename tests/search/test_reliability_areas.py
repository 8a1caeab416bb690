"""Areas and cells over days: against pairs at the centres of cells, single days and moments one by one, and by hand."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.days import day_of, drawn_town, observed_vehicles, updated, write
from tests.support.towns import STOPS, STREETS, TRIPS, timetable
from tests.support.worlds import FRAME, tables
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.question import Question
from traveltime_lab.points import read_points
from traveltime_lab.search.reliability.area_study import departures_of, studied
from traveltime_lab.surfaces import raster
from traveltime_lab.surfaces.tiles import TILE

MONDAY, TUESDAY = dt.date(2026, 3, 2), dt.date(2026, 3, 3)
KINDS = ("planned", "observed", "realizable")
PERCENTS = (20, 50, 80, 95)
#: Spacing of the samples that are compared, m.
CELL_M = 60.0


def seconds_of(values: pd.Series) -> np.ndarray:
    """Return travel times as floats, inf for missing ones."""
    return values.to_numpy(np.float64, na_value=math.inf)


MEANS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["public_transport", "bus", "cycling+public_transport", "driving+public_transport"]),
        "walking_time": st.sampled_from([200, 300, 500]),
    },
    optional={
        "direct_walking_time": st.sampled_from([0, 60]),
        "pt_change_delay": st.sampled_from([0, 45]),
        "max_changes": st.integers(1, 3),
        "transfer_walking_time": st.sampled_from([100, 400]),
    },
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
@given(MEANS, st.integers(-120, 900), st.sampled_from([900, 1500, 3600]), st.booleans(), st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_areas_have_the_times_of_pairs_at_the_centres_of_cells(
    tmp_path_factory: pytest.TempPathFactory, means: dict[str, Any], when: int, limit: int, by_feed: bool, seed: int
) -> None:
    """Percentiles and shares of all kinds, from days by live updates and by feeds edited by hand."""
    rng = np.random.default_rng(seed)
    streets, stops, vehicles = drawn_town(rng)
    network = tl.build_network(
        streets, gtfs=write(tmp_path_factory.mktemp("town"), stops, vehicles), timezone="UTC"
    )
    ran = {date: observed_vehicles(vehicles, rng) for date in (MONDAY, TUESDAY)}
    if by_feed:
        paths = {date: write(tmp_path_factory.mktemp("day"), stops, each) for date, each in ran.items()}
        days = {date: tl.build_network(streets, gtfs=path, timezone="UTC") for date, path in paths.items()}
    else:
        days = {date: updated(network, vehicles, each, date) for date, each in ran.items()}
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak", "driving_time_to_station": 60, "parking_time": 30}
    if means["type"].startswith("cycling"):
        means = {**means, "cycling_time_to_station": 120, "parking_time": 30}
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(0, 1200, (2, 1))), crs="EPSG:4326")
    moment = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC) + dt.timedelta(seconds=when)
    moments = [moment + dt.timedelta(seconds=later) for later in (0, 170, 700)]
    departures = departures_of(moments, None, None, "UTC")
    question = Question.of("UTC", as_transportation(means), moments[0], None, None, limit=limit)
    found = studied(
        network, days, read_points(home, "origins", network.bounds), question, departures, KINDS, limit + 60, None
    )
    for kind in KINDS:
        query = found.query_of(kind)
        field = found.field(query, kind, 0)
        values = {name: values_of(query, field.of(name), limit) for name in (*PERCENTS, None)}
        keys = [(row, column) for row in range(-12, 12) for column in range(-12, 12)]
        rows, columns = np.array(keys).T
        x, y = ((each + 0.5) * CELL_M for each in (columns, rows))
        frame = network.frame
        places = gpd.GeoSeries.from_xy(*frame.to_lnglat(x, y), crs="EPSG:4326")
        pairs = tl.reliability(
            network, days, home, places, departure_time=moments, travel_time=limit, transportation=means,
            percentiles=PERCENTS,
        )  # fmt: skip
        for percent in PERCENTS:
            mine = np.array([values[percent].get(key, math.inf) for key in keys])
            theirs = seconds_of(pairs[f"{kind}_p{percent}"])
            mine = np.where(mine < limit + 0.5, mine, math.inf)
            with np.errstate(invalid="ignore"):
                is_alike = (mine == theirs) | (np.abs(mine - theirs) <= 0.502)
            assert is_alike.mean() >= (0.99 if kind == "realizable" else 1.0), (kind, percent)
        share = 1.0 - np.minimum([values[None].get(key, 1.0) for key in keys], 1.0)
        is_alike = np.abs(share - pairs[f"{kind}_share"].to_numpy()) < 1e-6
        assert is_alike.mean() >= (0.99 if kind == "realizable" else 1.0), kind


def values_of(query: Any, field: Any, limit: int) -> dict[tuple[int, int], float]:
    """Return the values of a field at the centres of cells by row and column."""
    found = {}
    tiles = raster.tile_values(
        query.network.streets, query.egress_transportation, query.snapping, field, cell_m=CELL_M, limit=limit + 0.499,
        most_tiles=100,
    )  # fmt: skip
    for (tile_row, tile_column), values in tiles:
        for row, column in np.argwhere(np.isfinite(values)).tolist():
            found[tile_row * TILE + row, tile_column * TILE + column] = float(values[row, column])
    return found
