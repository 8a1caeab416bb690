"""Emissions and costs of trips: those of their routes in every form, by hand, and within limits."""

from __future__ import annotations

import dataclasses
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.combinations import combined, first_of
from tests.support.towns import ON_FOOT, town
from tests.support.worlds import at, tables, world
from traveltime_lab.errors import InputError, LimitError, ModeError, UnsupportedError
from traveltime_lab.modes.costs import COST_MODES
from traveltime_lab.transit.emissions import milligrams

MOMENT = "2019-05-13T08:00"
BOTH = ("travel_time", "distance", "emissions", "cost")
PRICED = tl.Costs(running_cost={"driving": 0.3, "cycling": 0.05}, toll_per_km=0.2, currency="BRL")
ASKED: list[dict[str, Any]] = [
    {"departure_time": MOMENT},
    {"arrival_time": MOMENT},
    {"departure_time": MOMENT, "window": 900},
    {"arrival_time": MOMENT, "window": 900, "max_results": 3},
]


# The table ------------------------------------------------------------------------------------------------------------


def test_each_factor_has_a_source() -> None:
    for basis in ("life cycle", "operation"):
        frame = tl.Costs(basis=basis).factors_frame()
        assert list(frame.index) == list(COST_MODES)
        known = frame[frame["grams_per_km"].notna()]
        assert len(known) >= 8 and (known["source"].str.len() > 20).all()
        assert (known["region"] != "").all() and (frame["source"][frame["grams_per_km"].isna()] == "").all()
    more = tl.Costs().factors_frame()["grams_per_km"] - tl.Costs(basis="operation").factors_frame()["grams_per_km"]
    assert (more.dropna() >= 0).all()


def test_factors_can_be_replaced() -> None:
    costs = tl.Costs(emissions={"bus": 80, "rail": None, "ferry": 12.5}, occupancy=2)
    frame = costs.factors_frame()
    assert frame.loc["bus", ["grams_per_km", "source"]].tolist() == [80.0, "given"]
    assert pd.isna(frame["grams_per_km"]["rail"]) and costs.grams_per_km("ferry") == 12.5
    assert costs.grams_per_km("driving") == pytest.approx((110.558 + 31.696) * 1.6 / 2, abs=1e-3)
    again = tl.Costs(basis=costs.basis, emissions=costs.emissions, occupancy=2)
    assert again == costs and hash(again) == hash(costs)
    operation = dataclasses.replace(costs, basis="operation")
    assert operation == tl.Costs(basis="operation", emissions={"bus": 80, "rail": None, "ferry": 12.5}, occupancy=2)
    assert dataclasses.replace(pickle.loads(pickle.dumps(operation)), basis="life cycle") == costs
    one, other = (
        tl.Costs(running_cost=dict(each), currency="EUR")
        for each in ((("driving", 1), ("cycling", 2)), (("cycling", 2), ("driving", 1)))
    )
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"emissions": {"car": 1}}, InputError, "emissions has no 'car'"),
        ({"emissions": [1]}, InputError, "emissions must be a mapping"),
        ({"emissions": {"bus": -1}}, LimitError, "emissions"),
        ({"emissions": {"bus": math.nan}}, ModeError, "must be a number of grams"),
        ({"running_cost": {"driving": 1}}, InputError, "need currency"),
        ({"running_cost": {"bus": 1}, "currency": "EUR"}, InputError, "running_cost has no 'bus'"),
        ({"toll_per_km": 1}, InputError, "need currency"),
        ({"currency": "euros"}, InputError, "ISO 4217 code"),
        ({"occupancy": 0.5}, LimitError, "occupancy must be from 1"),
        ({"basis": "tailpipe"}, ModeError, "basis must be one of"),
        ({"price": 1}, InputError, "costs has no 'price'"),
    ],
)
def test_bad_costs_are_refused(given: Any, error: type[Exception], message: str) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    with pytest.raises(error, match=message):
        tl.time_filter(network, places[:1], places[:2], travel_time=900, properties=["emissions"], costs=given)


def test_costs_that_nothing_needs_are_refused() -> None:
    network, places = tl.sample_network(), tl.sample_points()
    with pytest.raises(InputError, match="costs are for emissions and cost, which are not requested"):
        tl.time_filter(network, places[:1], places[:2], travel_time=900, costs=tl.Costs())
    with pytest.raises(InputError, match="costs are for emissions and cost"):
        tl.accessibility(network, places[:1], places[:2], travel_time=900, costs=tl.Costs())


# Trips by hand --------------------------------------------------------------------------------------------------------


def test_a_trip_by_two_buses(tmp_path: Path) -> None:
    network = town(tmp_path, fare_attributes="fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,0")
    how: dict[str, Any] = {"departure_time": "2026-03-03T08:00", "transportation": "public_transport"}
    found = tl.routes(network, at((0, 0)), at((6000, 0)), properties=BOTH, **how)
    bus = tl.Costs().grams_per_km("bus")
    assert bus is not None
    assert found["emissions"][0] == pytest.approx(6 * bus, rel=1e-3) and found["cost"].tolist() == [5.0]
    other = tl.routes(network, at((0, 0)), at((6000, 0)), properties=BOTH, costs={"currency": "SEK"}, **how)
    assert other["cost"].isna().all()
    unknown = tl.routes(network, at((0, 0)), at((6000, 0)), properties=BOTH, costs={"emissions": {"bus": None}}, **how)
    assert unknown["emissions"].isna().all()
    assert tl.time_filter(
        network, at((0, 0)), at((6000, 0)), travel_time=3600, properties=BOTH, costs={"emissions": {"bus": None}}, **how
    )["emissions"].isna().all()  # fmt: skip


def test_fares_in_several_currencies_need_a_choice(tmp_path: Path) -> None:
    fares = "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,0\ng,30,SEK,0,0"
    network = town(tmp_path, fare_attributes=fares)
    how: dict[str, Any] = {"departure_time": "2026-03-03T08:00", "transportation": "public_transport"}
    with pytest.raises(InputError, match="fares in EUR, SEK; say in which currency"):
        tl.routes(network, at((0, 0)), at((6000, 0)), properties=["cost"], **how)


def test_a_drive_with_a_toll(tmp_path: Path) -> None:
    nodes = {0: (0, 0), 1: (2000, 0), 2: (5000, 0)}
    network = world(nodes, [(0, 1, ON_FOOT), (1, 2, {**ON_FOOT, "toll": "yes"})])
    pair = at((0, 0)), at((5000, 0))
    for costs, expected in ((PRICED, 5 * 0.3 + 3 * 0.2), ({"running_cost": {"driving": 0.3}, "currency": "BRL"}, None)):
        found = tl.routes(network, *pair, properties=BOTH, costs=costs)
        twin = tl.time_filter(network, *pair, travel_time=3600, properties=BOTH, costs=costs)
        assert found["cost"].equals(twin["cost"])
        if expected is None:
            assert found["cost"].isna().all()
        else:
            assert found["cost"][0] == pytest.approx(expected, rel=1e-3)
    with pytest.raises(UnsupportedError, match="depends on the route of each pair, for its tolls"):
        tl.time_filter(network, *pair, travel_time=3600, properties=BOTH, costs=PRICED, form="sparse")
    assert tl.routes(network, *pair, properties=["cost"])["cost"].isna().all()


# Forms, directions and windows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "means", ["walking", "cycling", "driving", {"type": "driving", "exclude_roads": ["toll"]}, "cycling+ferry"]
)
def test_streets_in_every_form(means: Any) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    pair = places[:3], places[:5]
    how: dict[str, Any] = {"transportation": means, "costs": PRICED}
    found = tl.time_filter(network, *pair, travel_time=5400, properties=BOTH, **how)
    routes = tl.routes(network, *pair, properties=BOTH, **how)
    for name in BOTH:
        assert found[name].equals(routes[name]), name
    assert_forms_agree(network, pair, found, means, {}, ("emissions",) if means == "driving" else ("emissions", "cost"))
    mode = tl.Transportation(means if isinstance(means, str) else means["type"]).base
    cm = (found["distance"] * 100).round().to_numpy(np.int64)
    grams = PRICED.grams_per_km(mode)
    assert grams is not None
    assert found["emissions"].tolist() == [math.floor(each * grams / 100 + 0.5) / 1000 for each in cm.tolist()]


@pytest.mark.parametrize(
    ("means", "asked"),
    combined(
        ["public_transport", "cycling+public_transport", "driving+public_transport"], ASKED,
        mark=pytest.mark.thorough, few=pytest.mark.slow, most=1,
    ),
)  # fmt: skip
def test_timetables_in_every_form(means: str, asked: dict[str, Any]) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    pair = places[:3], places[3:7]
    costs = tl.Costs(emissions={"walking": 50, "cycling": 20}, running_cost=PRICED.running_cost, currency="BRL")
    how: dict[str, Any] = {"transportation": means, "costs": costs, **asked}
    found = tl.time_filter(network, *pair, travel_time=7200, properties=BOTH, **how)
    routes = tl.routes(network, *pair, properties=BOTH, **how)
    assert found["travel_time"].notna().all()
    for name in BOTH:
        assert found[name].equals(routes[name]), name
    alone = tl.time_filter(network, *pair, travel_time=7200, properties=["emissions"], **how)
    assert alone["emissions"].equals(found["emissions"])
    if "max_results" not in asked:
        assert_forms_agree(network, pair, found, means, {**asked, "costs": costs}, ("emissions",))


def assert_forms_agree(
    network: tl.Network, pair: Any, found: pd.DataFrame, means: Any, asked: dict[str, Any], names: tuple[str, ...]
) -> None:
    """Compare the columns of other forms with those of pairs."""
    how: dict[str, Any] = {"transportation": means, "travel_time": 7200, "costs": PRICED, **asked}
    properties = ("travel_time", *names)
    if means == "cycling+ferry" and network.streets.tables.uses["is_ferry"].any():
        with pytest.raises(UnsupportedError, match="for its ferries"):
            tl.time_filter(network, *pair, properties=properties, form="sparse", **how)
        return
    sparse = tl.time_filter(network, *pair, properties=properties, form="sparse", **how)
    matrix = tl.time_filter(network, *pair, properties=properties, form="matrix", **how)
    near = tl.nearest(network, *pair, k=2, properties=properties, **how)
    rows = found.set_index(["origin", "destination"])
    for name in names:
        assert sparse[name].tolist() == found[name].tolist()
        np.testing.assert_allclose(matrix[name].to_numpy().ravel(), found[name].to_numpy(np.float32), rtol=1e-6)
        for row in near.to_dict("records"):
            assert row[name] == rows[name][(row["origin"], row["destination"])]
    moments = {key: [asked[key], "2019-05-13T08:11"] for key in ("departure_time", "arrival_time") if key in asked}
    if moments:
        two = tl.time_filter(network, *pair, properties=properties, **{**how, **moments})
        assert two["emissions"].tolist()[: len(found)] == found["emissions"].tolist()


def test_milligrams_are_rounded_half_up() -> None:
    assert milligrams(np.array([0, 1, 100, 50]), 1.0).tolist() == [0, 0, 1, 1]
    assert milligrams(np.array([0, 1]), math.nan).tolist() == [0, -1]


# Limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "limits"),
    [
        pytest.param("driving", {"max_emissions": 600}, marks=pytest.mark.thorough),
        pytest.param("cycling", {"max_cost": 0.12, "max_emissions": 1}, marks=pytest.mark.slow),
        pytest.param("public_transport", {"max_emissions": 300, "departure_time": MOMENT}, marks=pytest.mark.slow),
        pytest.param(
            "public_transport",
            {"max_emissions": 300, "arrival_time": MOMENT, "window": 600},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_opportunities_within_limits_are_those_of_the_table(means: str, limits: dict[str, Any]) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    when = {name: limits[name] for name in ("departure_time", "arrival_time", "window") if name in limits}
    most = {name: value for name, value in limits.items() if name not in when}
    pair, costs = (places[:4], places), PRICED
    found = tl.accessibility(network, *pair, travel_time=[900, 2400], transportation=means, costs=costs, **limits)
    properties = ("travel_time", *(name.removeprefix("max_") for name in most))
    table = tl.time_filter(
        network, *pair, travel_time=2400, transportation=means, properties=properties, costs=costs, **when
    )
    kept = table["travel_time"].notna()
    for name, value in most.items():
        kept &= (table[name.removeprefix("max_")] <= value).fillna(False)
    counts = [
        float((kept & (table["origin"] == origin) & (table["travel_time"] <= limit)).sum())
        for origin in pair[0].index
        for limit in (900, 2400)
    ]
    assert found["opportunities"].tolist() == counts
    free = tl.accessibility(network, *pair, travel_time=[900, 2400], transportation=means, **when)
    assert (free["opportunities"] > found["opportunities"]).any()
    near = tl.accessibility(
        network, *pair, travel_time=2400, measure="nearest", k=2, transportation=means, costs=costs, **limits
    )
    for origin, seconds in near["travel_time_to_opportunities"].items():
        times = table["travel_time"][kept & (table["origin"] == origin)].sort_values().tolist()
        assert (pd.isna(seconds) and len(times) < 2) or seconds == times[1]


@pytest.mark.parametrize(
    "asked",
    first_of(
        1,
        [{"departure_time": MOMENT}, {"arrival_time": MOMENT, "window": 60}],
        mark=pytest.mark.thorough,
        few=pytest.mark.slow,
    ),
)
def test_blocks_of_many_points_have_their_own_emissions(asked: dict[str, Any]) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    (west, south, east, north), rng = places.total_bounds, np.random.default_rng(1)
    many = gpd.GeoSeries.from_xy(rng.uniform(west, east, 300), rng.uniform(south, north, 300), crs="EPSG:4326")
    pair = (places[:4], many) if "arrival_time" in asked else (many, places[:4])
    how: dict[str, Any] = {"travel_time": 2400, "transportation": "bus", **asked}
    properties = ["travel_time", "emissions"]
    matrix = tl.time_filter(network, *pair, properties=properties, form="matrix", **how)["emissions"]
    rows = tl.time_filter(network, *pair, properties=properties, form="sparse", **how)
    expected = rows.pivot_table(index="origin", columns="destination", values="emissions")
    expected = expected.reindex(index=matrix.index, columns=matrix.columns)
    np.testing.assert_allclose(matrix.to_numpy(), expected.to_numpy(np.float64), rtol=1e-6)
    counts = (expected <= 300).sum(axis=1).to_list()
    with ThreadPoolExecutor(2) as executor:
        for more in ({}, {"executor": executor}):
            found = tl.accessibility(network, *pair, max_emissions=300, **how, **more)
            assert found["opportunities"].to_list() == counts


def test_limits_that_cannot_be_kept_are_refused() -> None:
    network, places = tl.sample_network(), tl.sample_points()
    how: dict[str, Any] = {"travel_time": 900, "transportation": "public_transport", "departure_time": MOMENT}
    with pytest.raises(UnsupportedError, match="the cost of transportation 'public_transport' depends on the route"):
        tl.accessibility(network, places[:1], places, max_cost=5, **how)
    for name, needed in ("max_cost", "running_cost"), ("max_emissions", "emissions"):
        with pytest.raises(InputError, match=f"{name} needs costs with {needed} for cycling"):
            more: dict[str, Any] = {name: 5, "costs": {"emissions": {"cycling": None}}}
            tl.accessibility(network, places[:1], places, travel_time=900, transportation="cycling", **more)
    with pytest.raises(InputError, match="which percentiles have not"):
        tl.accessibility(network, places[:1], places, max_emissions=5, window=600, percentiles=[50], **how)
    with pytest.raises(LimitError, match="max_emissions must be from 0"):
        tl.accessibility(network, places[:1], places, max_emissions=-5, **how)


# Receipts and files ---------------------------------------------------------------------------------------------------


def test_receipts_have_the_factors_that_were_used() -> None:
    network, places = tl.sample_network(), tl.sample_points()
    found = tl.time_filter(
        network, places[:2], places[:3], travel_time=900, transportation="cycling", properties=["emissions"]
    )
    kept = tl.receipt(found)["arguments"]["costs"]
    assert kept["emissions"]["bus"] == tl.Costs().grams_per_km("bus") and kept["emissions"]["ferry"] is None
    again = tl.replay(tl.receipt(found), network).answer
    assert again["emissions"].equals(found["emissions"])
    plain = tl.time_filter(network, places[:2], places[:3], travel_time=900, transportation="cycling")
    assert tl.receipt(plain)["arguments"]["costs"] is None


@pytest.mark.slow
def test_files_have_emissions_and_costs(tmp_path: Path) -> None:
    network, places = tl.sample_network(), tl.sample_points()
    how: dict[str, Any] = {"travel_time": 2400, "transportation": "cycling", "costs": PRICED, "properties": BOTH}
    folder = tl.write_matrix(network, places, places, tmp_path / "matrix", progress=False, **how)
    written = pd.read_parquet(folder)
    found = tl.time_filter(network, places, places, form="sparse", **how)
    for name in BOTH:
        assert written[name].tolist() == found[name].tolist()
    by_bus: dict[str, Any] = {
        "travel_time": 2400, "transportation": "bus", "departure_time": MOMENT, "properties": ["emissions"],
    }  # fmt: skip
    folder = tl.write_matrix(network, places[:4], places, tmp_path / "buses", progress=False, **by_bus)
    table = tl.time_filter(network, places[:4], places, form="sparse", **by_bus)
    assert pd.read_parquet(folder)["emissions"].tolist() == table["emissions"].tolist()


def test_streets_without_a_route_have_nothing() -> None:
    network = tl.build_network(
        tables({0: (0, 0), 1: (500, 0), 2: (3000, 0), 3: (3500, 0)}, [(0, 1, ON_FOOT), (2, 3, ON_FOOT)])
    )
    found = tl.time_filter(
        network, at((0, 0)), at((3200, 0)), travel_time=3600, transportation="walking", properties=BOTH
    )
    assert found[["emissions", "cost"]].isna().all(axis=None)


def test_costs_cannot_be_changed() -> None:
    costs = tl.Costs(running_cost={"driving": 1.0}, currency="EUR")
    for mapping in (costs.emissions, costs.running_cost):
        with pytest.raises(TypeError):
            mapping["bus"] = -5.0
    again = pickle.loads(pickle.dumps(costs))
    assert again == costs and hash(again) == hash(costs)
    assert dataclasses.replace(again, basis="operation") == dataclasses.replace(costs, basis="operation")
