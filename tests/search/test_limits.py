"""One rule for limits: what every search reports is what it compares with the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.towns import MEANS, ON_FOOT, timetable, towns
from tests.support.worlds import FRAME, at, tables, world
from traveltime_lab.rounding import most_ms, most_s, whole_seconds

#: Longer than any trip of the networks below.
LONGEST = 3000


@dataclass(frozen=True)
class Asked:
    """A question with its limit left open."""

    network: tl.Network
    here: gpd.GeoSeries
    there: gpd.GeoSeries
    how: dict[str, Any]
    folder: Path


#: Travel times in whole seconds by the position of the place, or by the name of the cell, for those within a limit.
Found = dict[Any, int]
DOORS: dict[str, Callable[[Asked, int], Found]] = {}
ON_STREETS: dict[str, Callable[[Asked, int], Found]] = {}
BY_TIMETABLE: dict[str, Callable[[Asked, int], Found]] = {}


def door(
    *groups: dict[str, Callable[[Asked, int], Found]],
) -> Callable[[Callable[[Asked, int], Found]], Callable[[Asked, int], Found]]:
    def add(function: Callable[[Asked, int], Found]) -> Callable[[Asked, int], Found]:
        for group in groups or (DOORS,):
            group[function.__name__] = function
        return function

    return add


def _of_pairs(table: pd.DataFrame, column: str = "travel_time") -> Found:
    table = table[table[column].notna()]
    return dict(zip(table["destination"].tolist(), table[column].astype(int).tolist(), strict=True))


@door()
def pairs(asked: Asked, limit: int) -> Found:
    return _of_pairs(tl.time_filter(asked.network, asked.here, asked.there, travel_time=limit, **asked.how))


@door()
def chosen_pairs(asked: Asked, limit: int) -> Found:
    chosen = pd.DataFrame({"origin": 0, "destination": asked.there.index})
    return _of_pairs(
        tl.time_filter(asked.network, asked.here, asked.there, travel_time=limit, pairs=chosen, **asked.how)
    )


@door()
def with_routes(asked: Asked, limit: int) -> Found:
    return _of_pairs(
        tl.time_filter(
            asked.network, asked.here, asked.there, travel_time=limit, properties=["travel_time", "route"], **asked.how
        )
    )


@door()
def sparse(asked: Asked, limit: int) -> Found:
    return _of_pairs(
        tl.time_filter(asked.network, asked.here, asked.there, travel_time=limit, form="sparse", **asked.how)
    )


@door()
def matrix(asked: Asked, limit: int) -> Found:
    row = tl.time_filter(asked.network, asked.here, asked.there, travel_time=limit, form="matrix", **asked.how).iloc[0]
    return {place: int(seconds) for place, seconds in row.dropna().items()}


@door()
def nearest(asked: Asked, limit: int) -> Found:
    found = tl.nearest(asked.network, asked.here, asked.there, travel_time=limit, k=len(asked.there), **asked.how)
    return _of_pairs(found)


@door()
def files(asked: Asked, limit: int) -> Found:
    folder = asked.folder / f"{len(list(asked.folder.iterdir()))}"
    folder.mkdir()
    here, there = (side.to_frame("geometry") for side in (asked.here, asked.there))
    path = tl.write_matrix(asked.network, here, there, folder / "out", travel_time=limit, **asked.how)
    return _of_pairs(pd.read_parquet(path))


@door()
def explained(asked: Asked, limit: int) -> Found:
    found = {}
    for i in range(3):
        said = tl.explain(asked.network, asked.here, asked.there.iloc[[i]], travel_time=limit, **asked.how)
        if said.is_reached:
            found[i] = said.travel_time
    return found


@door()
def h3_cells(asked: Asked, limit: int) -> Found:
    cells = tl.h3_cells(
        asked.network, asked.here, travel_time=limit, resolution=11, properties=["min"], geometry=False, **asked.how
    )
    # The origin is 0 s from itself, but like its area its cell is there only if the limit suffices to its street.
    return {cell: seconds for cell, seconds in zip(cells["cell"], cells["min"].astype(int), strict=True) if seconds}


def _by_engine(engine: str) -> Callable[[Asked, int], Found]:
    def ask(asked: Asked, limit: int) -> Found:
        found = tl.time_filter(
            asked.network, asked.here, asked.there, travel_time=limit, form="sparse", engine=engine, **asked.how
        )
        return _of_pairs(found)

    return ask


ON_STREETS |= {engine: _by_engine(engine) for engine in ("dijkstra", "hierarchy", "pandana")}


@door(BY_TIMETABLE)
def windows(asked: Asked, limit: int) -> Found:
    found = tl.time_filter(asked.network, asked.here, asked.there, travel_time=limit, window=300, **asked.how)
    return _of_pairs(found)


@door(BY_TIMETABLE)
def percentiles(asked: Asked, limit: int) -> Found:
    found = tl.time_filter(
        asked.network, asked.here, asked.there, travel_time=limit, window=300, percentiles=[60], form="sparse",
        properties=["travel_time"], **asked.how,
    )  # fmt: skip
    return _of_pairs(found, "travel_time_p60")


def check(asked: Asked, name: str, ask: Callable[[Asked, int], Found], data: st.DataObject) -> Found:
    """Check that a search with a limit finds what a search without finds up to it, and nothing else."""
    everything = ask(asked, LONGEST)
    known = sorted({seconds for seconds in everything.values() if seconds > 1})
    limit = data.draw(st.sampled_from(known or [60]), name) + data.draw(st.sampled_from([-1, 0, 1]))
    assert ask(asked, limit) == {place: seconds for place, seconds in everything.items() if seconds <= limit}
    return everything


def asked_in(town: Any, folder: Path, seed: int, how: dict[str, Any]) -> Asked:
    nodes, links, stops, trips = town
    streets = tables(nodes, [(*link, ON_FOOT) for link in links])
    path = timetable(folder, stops, trips)
    network = tl.build_network(streets, gtfs=path, timezone="UTC")
    rng = np.random.default_rng(seed)
    side = max(x for x, _ in nodes.values()) + 60
    here, there = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(-60, side, (2, n))), crs="EPSG:4326") for n in (1, 12)
    )
    return Asked(network, here, there, how, folder)


SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(towns(), st.sampled_from(["walking", "cycling", "driving"]), SEEDS, st.data())
@pytest.mark.thorough
def test_on_streets_reported_seconds_are_compared_with_the_limit(
    tmp_path_factory: pytest.TempPathFactory, town: Any, mode: str, seed: int, data: st.DataObject
) -> None:
    asked = asked_in(town, tmp_path_factory.mktemp("town"), seed, {"transportation": mode})
    check_all(asked, DOORS | ON_STREETS, data)


@few
@given(towns(), MEANS, st.booleans(), SEEDS, st.data())
@pytest.mark.thorough
def test_by_timetable_reported_seconds_are_compared_with_the_limit(
    tmp_path_factory: pytest.TempPathFactory,
    town: Any,
    means: dict[str, Any],
    is_arrival: bool,
    seed: int,
    data: st.DataObject,
) -> None:
    if means["type"].startswith("driving"):
        means = {**means, "traffic_model": "off_peak"}
    when = {"arrival_time": "2026-03-03T08:15"} if is_arrival else {"departure_time": "2026-03-03T08:00"}
    asked = asked_in(town, tmp_path_factory.mktemp("town"), seed, {"transportation": means, **when})
    doors = dict(DOORS)
    if is_arrival:
        # Cells lie where trips begin then, and searches with several destinations look for each alone.
        del doors["explained"]
    check_all(asked, doors | BY_TIMETABLE, data)


def check_all(asked: Asked, doors: dict[str, Callable[[Asked, int], Found]], data: st.DataObject) -> None:
    found = {name: check(asked, name, ask, data) for name, ask in doors.items()}
    times = found["pairs"]
    for name in ("chosen_pairs", "with_routes", "sparse", "matrix", "nearest", "files", *ON_STREETS):
        if name in found:
            assert found[name] == times, name
    if "explained" in found:
        assert found["explained"] == {i: times[i] for i in range(3) if i in times}
    check_routes(asked, times)
    check_accessibility(asked, times)


def check_routes(asked: Asked, times: Found) -> None:
    """Routes have no limit; their times and those of their parts are the reported ones."""
    found = tl.routes(asked.network, asked.here, asked.there, **asked.how)
    for place, route in zip(found["destination"], found["route"], strict=True):
        if place in times:
            assert route.travel_time == times[place]
            assert sum(leg.travel_time for leg in route.legs) == times[place]


def check_accessibility(asked: Asked, times: Found) -> None:
    """Opportunities within reach are those whose reported time is at most the limit."""
    limits = sorted({max(seconds + more, 1) for seconds in times.values() for more in (-1, 0, 1)})[:8]
    here, there = (side.to_frame("geometry") for side in (asked.here, asked.there))
    for limit in limits:
        within = [seconds for seconds in times.values() if seconds <= limit]
        counted = tl.accessibility(asked.network, here, there.assign(n=1), travel_time=limit, values="n", **asked.how)
        assert counted["n"].tolist() == [len(within)]


# One road, where everything can be worked out ------------------------------------------------------------------------


@pytest.mark.parametrize("metres", [300.4, 300.6, 299.6])
def test_a_trip_at_the_limit(metres: float) -> None:
    """On a road where a metre takes a second, whatever is reported as 300 s is within 300 s, in tables and areas."""
    network = world({"a": (0, 0), "b": (2000, 0)}, [("a", "b", {**ON_FOOT})])
    here, there = at((500, 0)), at((500 + metres, 0))
    reported = round(metres)
    for limit in (299, 300, 301):
        how = {"travel_time": limit, "transportation": "walking", "snapping": {"penalty": "disabled"}}
        times = tl.time_filter(network, here, there, **how)["travel_time"]
        assert times.notna().tolist() == [reported <= limit]
        area = tl.time_map(network, here, level_of_detail="high", **how)
        assert bool(shapely.covers(area.geometry.iloc[0], there.iloc[0])) == (reported <= limit)


def test_areas_reach_as_far_as_tables() -> None:
    """Along a straight road the contour is where times begin to round to more than the limit."""
    network = world({"a": (0, 0), "b": (2000, 0)}, [("a", "b", {**ON_FOOT})])
    here = at((500, 0))
    areas = tl.time_map(
        network, here, travel_time=[300, 400], transportation="walking", level_of_detail="high",
        snapping={"penalty": "disabled"},
    )  # fmt: skip
    for limit, area in zip(areas["travel_time"], areas.geometry, strict=True):
        x, _ = FRAME.to_xy(shapely.get_coordinates(area)[:, 0], shapely.get_coordinates(area)[:, 1])
        assert x.max() == pytest.approx(500 + limit + 0.5, abs=0.02)


def test_the_rule() -> None:
    ms = np.arange(0, 5000, dtype=np.int64)
    for limit in range(5):
        np.testing.assert_array_equal(whole_seconds(ms) <= limit, ms <= most_ms(limit))
        np.testing.assert_array_equal(whole_seconds(ms) <= limit, (ms / 1000).astype(np.float32) <= most_s(limit))
    assert whole_seconds(300_499) == 300 and whole_seconds(300_500) == 301
    for limit in (1, 300, 14_400, 86_400):
        assert np.floor(most_s(limit) + 0.5) == limit
        assert np.nextafter(np.float32(most_s(limit)), np.float32(np.inf)) == limit + 0.5
