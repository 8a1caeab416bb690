"""Areas and cells within limits on emissions and costs: the places that pairs of points have within them."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import h3
import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.days import drawn_town, write
from tests.support.worlds import FRAME, at
from tests.support.worlds import towns as street_towns
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.modes.transportation import as_transportation
from traveltime_lab.search.cell_numbers import sample_spacing_m
from traveltime_lab.surfaces.level_of_detail import parse_level_of_detail

MOMENT = "2019-05-13T08:00"
PRICED = tl.Costs(
    running_cost={"driving": 0.3, "cycling": 0.05}, currency="BRL", emissions={"walking": 40, "cycling": 20}
)
LEVEL = "lowest"


def places_around(
    network: tl.Network, home: gpd.GeoSeries, spacing: float, shape: Any
) -> tuple[Any, Any, gpd.GeoSeries]:
    """Return the centres of cells in and around a shape, but for those next to the origin, which is always within."""
    west, south, east, north = shape.bounds
    (x0, x1), (y0, y1) = network.frame.to_xy(np.array([west, east]), np.array([south, north]))
    columns, rows = (np.arange(a // spacing - 1, b // spacing + 2) + 0.5 for a, b in ((x0, x1), (y0, y1)))
    x, y = (each.ravel() * spacing for each in np.meshgrid(columns, rows))
    here = network.frame.to_xy(home.x.to_numpy(), home.y.to_numpy())
    is_far = np.hypot(x - here[0], y - here[1]) > spacing / 2 + 1
    lng, lat = network.frame.to_lnglat(x[is_far], y[is_far])
    return lng, lat, gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")


def are_within(
    network: tl.Network, home: gpd.GeoSeries, places: gpd.GeoSeries, most: dict[str, float], **how: Any
) -> Any:
    """Return which places `time_filter` finds within limits on emissions and costs; False where they are not known."""
    pair = (places, home) if "arrival_time" in how else (home, places)
    names = [name.removeprefix("max_") for name in most]
    # Times are compared by the areas themselves: theirs are 32-bit numbers.
    how = {**how, "travel_time": how["travel_time"] + 1}
    table = tl.time_filter(network, *pair, properties=["travel_time", *names], **how)
    kept = np.ones(len(places), np.bool_)
    for name in names:
        kept &= (table[name] <= most[f"max_{name}"]).fillna(False).to_numpy(np.bool_)
    return kept


def assert_area_is_that_of_pairs(network: tl.Network, home: gpd.GeoSeries, most: dict[str, float], **how: Any) -> int:
    """Compare an area at each centre of a cell; return how many the limits leave out."""
    drawn = {"level_of_detail": LEVEL, "remove_water_bodies": False}
    plain = {name: value for name, value in how.items() if name != "costs"}
    free = tl.time_map(network, home, **drawn, **plain).geometry.iloc[0]
    found = tl.time_map(network, home, **drawn, **how, **most).geometry.iloc[0]
    means = as_transportation(how["transportation"])
    base = means.egress.base if means.uses_timetable else means.base
    spacing = parse_level_of_detail(LEVEL).downgraded(how["travel_time"]).cell_m(base)
    if free.is_empty:
        assert found.is_empty
        return 0
    lng, lat, places = places_around(network, home, spacing, free)
    was = shapely.contains_xy(free, lng, lat)
    expected = was & are_within(network, home, places, most, **how)
    assert (shapely.contains_xy(found, lng, lat) == expected).all()
    return int((was & ~expected).sum())


def assert_cells_are_those_of_pairs(
    network: tl.Network, home: gpd.GeoSeries, most: dict[str, float], **how: Any
) -> None:
    """Compare cells with their samples."""
    resolution = 9
    found = tl.h3_cells(network, home, resolution=resolution, remove_water_bodies=False, geometry=False, **how, **most)
    means = as_transportation(how["transportation"])
    base = means.egress.base if means.uses_timetable else means.base
    spacing = sample_spacing_m("h3", resolution, base, network.frame.lat0)
    plain = {name: value for name, value in how.items() if name != "costs"}
    free = tl.h3_cells(network, home, resolution=resolution, remove_water_bodies=False, **plain)
    lng, lat, places = places_around(network, home, spacing, shapely.box(*free.total_bounds))
    pair = (places, home) if "arrival_time" in how else (home, places)
    table = tl.time_filter(network, *pair, properties=["travel_time"], **plain)
    kept = table["travel_time"].notna().to_numpy(np.bool_) & are_within(network, home, places, most, **how)
    names = np.array([h3.latlng_to_cell(b, a, resolution) for a, b in zip(lng, lat, strict=True)], object)
    own = h3.latlng_to_cell(home.y.iloc[0], home.x.iloc[0], resolution)
    cells = found.set_index("cell")
    # The centres next to the origin are not compared, and are in its cell or in the next.
    near = {own, *h3.grid_ring(own, 1)}
    assert set(cells.index) - near == set(names[kept]) - near
    times = table["travel_time"][kept].astype(float).groupby(names[kept])
    for name, each in times:
        if name not in near:
            row = cells.loc[name]
            assert abs(row["min"] - each.min()) <= 1 and abs(row["max"] - each.max()) <= 1
            assert abs(row["share_reachable"] - len(each) / (names == name).sum()) < 1e-9


@pytest.mark.thorough
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
@given(
    street_towns(),
    st.sampled_from(["walking", "cycling", "driving"]),
    st.sampled_from([{}, {"arrival_time": MOMENT}]),
    st.integers(0, 400),
    st.sampled_from(["max_emissions", "max_cost"]),
    st.integers(0, 500),
)
def test_areas_of_random_streets(
    network: tl.Network, mode: str, when: dict[str, Any], x: int, limit: str, share: int
) -> None:
    if limit == "max_cost" and mode == "walking":
        limit = "max_emissions"
    most = {limit: share / 500 * {"max_emissions": 60, "max_cost": 0.2}[limit]}
    how = {"travel_time": 240, "transportation": mode, "costs": PRICED, **when}
    assert_area_is_that_of_pairs(network, at((x, 120)), most, **how)


@pytest.mark.thorough
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
@given(
    st.sampled_from(["public_transport", "cycling+public_transport", "driving+public_transport"]),
    st.sampled_from(
        [
            {"departure_time": "2026-03-02T08:05"},
            {"arrival_time": "2026-03-02T08:40"},
            {"departure_time": "2026-03-02T08:00", "window": 300},
        ]
    ),
    st.floats(0, 250),
    st.integers(0, 2**32 - 1),
)
def test_areas_of_random_timetables(
    tmp_path_factory: pytest.TempPathFactory, means: str, when: dict[str, Any], most: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    streets, stops, vehicles = drawn_town(rng)
    network = tl.build_network(streets, gtfs=write(tmp_path_factory.mktemp("town"), stops, vehicles), timezone="UTC")
    home = gpd.GeoSeries.from_xy(*FRAME.to_lnglat(*rng.uniform(0, 1200, (2, 1))), crs="EPSG:4326")
    how = {"travel_time": 1200, "transportation": means, "costs": PRICED, **when}
    assert_area_is_that_of_pairs(network, home, {"max_emissions": most}, **how)


CITY: list[Any] = [
    ("walking", {}, {"max_emissions": 30}),
    ("driving", {}, {"max_emissions": 400}),
    pytest.param("driving", {"arrival_time": MOMENT}, {"max_emissions": 400}, marks=pytest.mark.thorough),
    ("cycling", {}, {"max_cost": 0.05, "max_emissions": 18}),
    ("public_transport", {"departure_time": MOMENT}, {"max_emissions": 150}),
    pytest.param("bus", {"arrival_time": MOMENT, "window": 300}, {"max_emissions": 200}, marks=pytest.mark.thorough),
    pytest.param(
        "driving+public_transport", {"departure_time": MOMENT}, {"max_emissions": 500}, marks=pytest.mark.thorough
    ),
]


@pytest.mark.parametrize(("means", "when", "most"), CITY)
def test_areas_and_cells_of_the_sample(means: str, when: dict[str, Any], most: dict[str, float]) -> None:
    network, home = tl.sample_network(), tl.sample_points().geometry.iloc[[0]]
    how = {"travel_time": 900, "transportation": means, "costs": PRICED, **when}
    assert assert_area_is_that_of_pairs(network, home, most, **how) > 0
    assert_cells_are_those_of_pairs(network, home, most, **how)


def test_limits_that_nothing_exceeds_change_nothing() -> None:
    network, places = tl.sample_network(), tl.sample_points()[:2]
    how: dict[str, Any] = {"travel_time": [300, 600], "transportation": "cycling"}
    free, found = (tl.time_map(network, places, **how, **more) for more in ({}, {"max_emissions": 1e9}))
    assert all(map(shapely.equals_exact, free.geometry, found.geometry))
    cells, limited = (
        tl.geohash_cells(network, places, resolution=6, **how, **more) for more in ({}, {"max_emissions": 1e9})
    )
    assert limited.equals(cells)
    assert tl.receipt(free)["arguments"]["costs"] is None
    assert tl.receipt(found)["arguments"]["costs"]["emissions"]["bus"] == tl.Costs().grams_per_km("bus")


@pytest.mark.thorough
def test_several_travel_times_moments_and_no_emissions_at_all() -> None:
    network, places = tl.sample_network(), tl.sample_points()[:2]
    how: dict[str, Any] = {"transportation": "public_transport", "max_emissions": 100, "level_of_detail": LEVEL}
    moments = [MOMENT, "2019-05-13T08:20"]
    every = tl.time_map(network, places, travel_time=[600, 1200], departure_time=moments, **how)
    for moment, table in every.groupby("moment"):
        alone = tl.time_map(network, places, travel_time=[600, 1200], departure_time=moment.to_pydatetime(), **how)
        assert all(map(shapely.equals_exact, table.geometry, alone.geometry))
        one = tl.time_map(network, places, travel_time=1200, departure_time=moment.to_pydatetime(), **how)
        assert all(map(shapely.equals_exact, alone.geometry[1::2], one.geometry))
        for inner, outer in zip(alone.geometry[::2], alone.geometry[1::2], strict=True):
            assert inner.difference(outer).area < 1e-12
    on_foot = tl.time_map(network, places, travel_time=1200, departure_time=MOMENT, **{**how, "max_emissions": 0})
    walks = tl.time_map(network, places, travel_time=1200, transportation="walking", level_of_detail=LEVEL)
    # A vehicle that is faster takes some places, but there are no others.
    assert (shapely.area(on_foot.geometry) > 0).all()
    assert (shapely.area(on_foot.geometry) <= 1.001 * shapely.area(walks.geometry)).all()
    nothing = tl.time_map(network, places, travel_time=600, max_emissions=0)
    assert (shapely.area(nothing.geometry) > 0).all() and nothing["reason"].isna().all()
    cells = tl.h3_cells(network, places, travel_time=600, resolution=9, max_emissions=0)
    assert cells["origin"].tolist() == places.index.tolist() and (cells["max"] == 0).all()


@pytest.mark.thorough
def test_replays_scenarios_and_accuracy(tmp_path: Any) -> None:
    network, places = tl.sample_network(), tl.sample_points()[:2]
    how: dict[str, Any] = {"travel_time": 600, "max_emissions": 300, "costs": {"occupancy": 1.5}}
    found = tl.time_map(network, places, **how)
    again = tl.replay(tl.receipt(found), network)
    assert again.is_same
    network.save(tmp_path / "town.network")
    saved = tl.load_network(tmp_path / "town.network")
    assert all(map(shapely.equals_exact, tl.time_map(saved, places, **how).geometry, found.geometry))
    edges = network.edges_frame()
    main = edges.index[edges["highway"].isin(["primary", "secondary"])]
    slow = network.with_changes([tl.SetSpeed(edges=main, modes="driving", kph=20)])
    home, most = places.geometry.iloc[[0]], {"max_emissions": 300.0}
    assert assert_area_is_that_of_pairs(slow, home, most, travel_time=600, transportation="driving") > 0
    more = {name: how[name] for name in ("max_emissions", "costs")}
    assert (tl.shape_accuracy(network, found, places, **more) > 0.98).all()
    assert (tl.shape_accuracy(network, found, places) < 0.9).all()
    with pytest.raises(InputError, match="max_emissions and max_cost are for areas of time_map"):
        tl.shape_accuracy(network, tl.distance_map(network, places, distance=900), places, max_emissions=5)


@pytest.mark.parametrize("name", ["time_map", "h3_cells", "geohash_cells"])
def test_limits_that_cannot_be_kept_are_refused(name: str) -> None:
    network, places = tl.sample_network(), tl.sample_points()[:1]
    how: dict[str, Any] = {"travel_time": 600, **({} if name == "time_map" else {"resolution": 6})}
    transit = {**how, "transportation": "public_transport", "departure_time": MOMENT}
    search = getattr(tl, name)
    with pytest.raises(UnsupportedError, match="the cost of transportation 'public_transport' depends on the route"):
        search(network, places, max_cost=5, **transit)
    with pytest.raises(InputError, match="max_cost needs costs with running_cost for cycling"):
        search(network, places, max_cost=5, transportation="cycling", **how)
    with pytest.raises(InputError, match="costs are for emissions and cost"):
        search(network, places, costs=tl.Costs(), **how)
    with pytest.raises(LimitError, match="max_emissions must be from 0"):
        search(network, places, max_emissions=-5, **how)
    if name == "time_map":
        with pytest.raises(InputError, match="which percentiles have not"):
            search(network, places, max_emissions=5, window=600, percentile=50, **transit)
        with pytest.raises(UnsupportedError, match="max_emissions needs render_mode='approximate_time_filter'"):
            search(network, places, max_emissions=5, render_mode="road_buffering", **how)
