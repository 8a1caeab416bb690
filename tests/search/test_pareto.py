"""Pareto-optimal routes: every journey of random towns one by one, real cities, and worlds drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.feeds import posix
from tests.support.oracle_pareto import ParetoOracle, unbeaten
from tests.support.towns import ON_FOOT, STOPS, STREETS, timetable, town, towns
from tests.support.worlds import FRAME, at, tables
from traveltime_lab.errors import InputError, LimitError, UnsupportedError
from traveltime_lab.points import read_points
from traveltime_lab.rounding import most_ms
from traveltime_lab.search.query import ask
from traveltime_lab.search.trip_costs import steps_of

CRITERIA = ("travel_time", "emissions", "cost", "rides")
#: Fares: none, one for each ride, one with a transfer, tickets that expire, fares by line, and in two currencies.
FARES: list[dict[str, str]] = [
    {},
    {"fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,0"},
    {"fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,0\ng,3.5,EUR,0,1"},
    {
        "fare_attributes": "fare_id,price,currency_type,payment_method,transfers,transfer_duration\n"
        "f,2.5,EUR,0,,300\ng,6,EUR,0,,",
    },
    {
        "fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,2.5,EUR,0,\ng,1,EUR,0,0",
        "fare_rules": "fare_id,route_id\nf,\ng,R0\ng,R2",
    },
    {
        "fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,2,EUR,0,0\ng,1,USD,0,0",
        "fare_rules": "fare_id,route_id\nf,R0\nf,R2\ng,R1\ng,R3",
    },
    {"fare_attributes": "fare_id,price,currency_type,payment_method,transfers\nf,1,CHF,0,0\ng,2,EUR,0,"},
    {
        "fare_attributes": "fare_id,price,currency_type,payment_method,transfers,transfer_duration\n"
        "f,1,CHF,0,,300\ng,2,EUR,0,0,",
    },
]  # fmt: skip


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return criteria in the order of columns."""
    return tuple(sorted(names, key=CRITERIA.index))


def links_of(query: Any, network: tl.Network, points: gpd.GeoSeries, *, is_origin: bool) -> list[dict[int, int]]:
    """Return the stops that each point is joined to, with milliseconds."""
    read = read_points(points, "points", network.bounds)
    links = query.transit.links(query.snap(read, is_origin=is_origin), is_origin=is_origin)
    found: list[dict[int, int]] = []
    for i in range(len(read)):
        mine: dict[int, int] = {}
        for stop, ms in zip(*(each.tolist() for each in links.of(i)), strict=True):
            mine[stop] = min(ms, mine.get(stop, ms))
        found.append(mine)
    return found


def compared(
    network: tl.Network,
    origins: gpd.GeoSeries,
    destinations: gpd.GeoSeries,
    means: Any,
    moment: Any,
    travel_time: int,
    criteria: tuple[str, ...],
    costs: tl.Costs,
    step: float,
) -> int:
    """Compare with every journey; return the number of routes."""
    how = {"departure_time": moment, "travel_time": travel_time, "transportation": means}
    found = tl.pareto_routes(network, origins, destinations, criteria=criteria, costs=costs, emissions_step=step, **how)
    query = ask(network, means, moment, None, None, limit=travel_time)
    assert query.transit is not None and costs.emissions is not None
    step_mg = round(step * 1000)
    oracle = ParetoOracle(query.transit, costs.emissions, step_mg, costs.currency or "BRL")
    access = links_of(query, network, origins, is_origin=True)
    egress = links_of(query, network, destinations, is_origin=False)
    longest = query.transit.direct_limit
    chosen = tuple(CRITERIA.index(name) for name in criteria)
    for (i, j), rows in found.groupby(
        [origins.index.get_indexer(found["origin"]), destinations.index.get_indexer(found["destination"])]
    ):
        expected = oracle.criteria(access[i], egress[j], most_ms(travel_time))
        pair = origins.iloc[[i]], destinations.iloc[[j]]
        speed = query.transit.transportation.walking_speed
        foot = tl.Transportation("walking", walking_speed=speed)
        walk = tl.time_filter(network, *pair, travel_time=max(longest, 1), transportation=foot)
        if longest and walk["travel_time"].notna().iloc[0]:
            expected.add((int(walk["travel_time"].iloc[0]), 0, 0.0, 0))
        rows = rows[rows["travel_time"].notna()]
        got = {
            (
                row.travel_time,
                np.inf if pd.isna(row.emissions) else steps_of(row.route, costs, step_mg),
                np.inf if pd.isna(row.cost) else row.cost,
                row.rides,
            )
            for row in rows.itertuples()
        }
        assert len(got) == len(rows)
        values = [tuple(row[k] for k in chosen) for row in got]
        assert len(set(values)) == len(values)
        assert set(values) == unbeaten(expected, chosen), (i, j)
        assert got <= expected
    return int(found["travel_time"].notna().sum())


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    towns(),
    st.sampled_from(FARES),
    st.lists(st.sampled_from(CRITERIA), min_size=1, unique=True),
    st.fixed_dictionaries(
        {"max_changes": st.integers(0, 2), "walking_time": st.sampled_from([60, 200, 400])},
        optional={"pt_change_delay": st.just(45), "transfer_walking_time": st.sampled_from([0, 100, 1500])},
    ),
    st.sampled_from([0.001, 1.0, 10.0]),
    st.integers(0, 2**32 - 1),
)
def test_routes_are_those_of_all_journeys_that_no_other_beats(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: Any,
    fares: dict[str, str],
    criteria: list[str],
    options: dict[str, Any],
    step: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    nodes, links, stops, trips = drawn
    kinds = rng.choice([0, 1, 2, 3, 4, 7], len(trips))
    routes = "\n".join(["route_id,route_short_name,route_type", *(f"R{i},{i},{kind}" for i, kind in enumerate(kinds))])
    blocks = [f"b{rng.integers(0, 2)}" if rng.random() < 0.5 else "" for _ in trips]
    listed = "\n".join(
        ["route_id,service_id,trip_id,block_id", *(f"R{i},daily,t{i},{block}" for i, block in enumerate(blocks))]
    )
    path = timetable(tmp_path_factory.mktemp("town"), stops, trips, routes=routes, trips=listed, **fares)
    network = tl.build_network(tables(nodes, [(*link, ON_FOOT) for link in links]), gtfs=path, timezone="UTC")
    side = max(x for x, _ in nodes.values()) + 60
    origins, destinations = (
        gpd.GeoSeries.from_xy(*FRAME.to_lnglat(rng.uniform(-60, side, 2), rng.uniform(-60, side, 2)), crs="EPSG:4326")
        for _ in range(2)
    )
    moment = pd.Timestamp(posix("2026-03-03T08:00:00") + int(rng.integers(0, 600)), unit="s", tz="UTC")
    means = {"type": "public_transport", **options}
    compared(network, origins, destinations, means, moment, 2400, in_order(criteria), tl.Costs(currency="EUR"), step)


def test_a_slower_bus_that_emits_less_is_a_choice(tmp_path: Path) -> None:
    trips = [[("a", 28_800), ("c", 29_400)], [("a", 28_800), ("b", 29_000)], [("b", 29_100), ("c", 29_900)]]
    routes = "route_id,route_short_name,route_type\nR0,0,3\nR1,1,0\nR2,2,1"
    path = timetable(tmp_path, STOPS, trips, routes=routes)
    streets = tables({0: (-500, 0), 1: (3000, 0), 2: (6500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)])
    network = tl.build_network(streets, gtfs=path, timezone="UTC")
    ends = at((0, 0)), at((6000, 0))
    how: dict[str, Any] = {"travel_time": 1800, "departure_time": "2026-03-03T08:00"}
    found = tl.pareto_routes(network, *ends, criteria=CRITERIA, **how)
    # Walking has fares that are known to be nothing, but takes 6000 s.
    assert found["rides"].tolist() == [1, 2] and found["cost"].isna().all()
    assert found["travel_time"].tolist() == [600, 1100]
    km = 3.0
    bus, tram, metro = (tl.Costs().grams_per_km(mode) or 0 for mode in ("bus", "tram", "subway"))
    assert found["emissions"].tolist() == pytest.approx([2 * km * bus, km * (tram + metro)], rel=1e-3)
    only = tl.pareto_routes(network, *ends, criteria="travel_time", **how)
    assert only["travel_time"].tolist() == [600]
    car = tl.pareto_routes(network, *ends, transportation=["public_transport", "driving"], **how)
    assert car["transportation"].tolist() == ["public_transport", "public_transport"] or "driving" in set(
        car["transportation"]
    )
    with pytest.raises(LimitError, match="2 routes of one pair are Pareto-optimal, more than max_results=1"):
        tl.pareto_routes(network, *ends, max_results=1, **how)


def test_of_routes_with_equal_criteria_the_fastest_is_kept() -> None:
    found = tl.pareto_routes(
        tl.build_network(STREETS), at((0, 0)), at((900, 0)), travel_time=3600, transportation=["walking", "cycling"],
        criteria=["rides"],
    )  # fmt: skip
    assert found["transportation"].tolist() == ["cycling"]


@pytest.mark.parametrize(("price", "seconds"), [(None, [1300, 1500]), (1.0, [1300, 1500])])
def test_a_way_of_unknown_cost_is_worse_than_all_that_are_known(
    tmp_path: Path, price: float | None, seconds: list[int]
) -> None:
    stops = {"a": (0.0, 0.0), "x": (500.0, 0.0), "c": (6000.0, 0.0)}
    trips = [[("a", 28_800 + 600), ("c", 28_800 + 1500)], [("x", 28_800 + 900), ("c", 28_800 + 1300)]]
    path = timetable(tmp_path, stops, trips, **FARES[1])
    network = tl.build_network(STREETS, gtfs=path, timezone="UTC")
    found = tl.pareto_routes(
        network, at((0, 0)), at((6000, 0)), travel_time=3600, departure_time="2026-03-03T08:00",
        transportation={"type": "cycling+public_transport", "walking_time": 60}, criteria=["travel_time", "cost"],
        costs={"currency": "EUR", "running_cost": {} if price is None else {"cycling": price}},
    )  # fmt: skip
    assert found["travel_time"].tolist() == seconds
    assert found["cost"].isna().tolist() == [price is None, False]


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    network = town(tmp_path)
    ends = at((0, 0)), at((6000, 0))
    how: dict[str, Any] = {"travel_time": 1800, "departure_time": "2026-03-03T08:00"}
    with pytest.raises(UnsupportedError, match="need a factor of 0 for walking"):
        tl.pareto_routes(network, *ends, costs={"emissions": {"walking": 50}}, **how)
    assert len(tl.pareto_routes(network, *ends, costs={"emissions": {"walking": 50}}, criteria=["rides"], **how))
    with pytest.raises(InputError, match="criteria is empty"):
        tl.pareto_routes(network, *ends, criteria=[], **how)
    with pytest.raises(InputError, match="transportation is empty"):
        tl.pareto_routes(network, *ends, transportation=[], **how)
    with pytest.raises(UnsupportedError, match="headways='average'"):
        means = tl.Transportation("public_transport", headways="average")
        tl.pareto_routes(network, *ends, transportation=means, **how)


def test_a_search_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traveltime_lab.transit.pareto.MOST_LABELS", 0)
    trips = [[("a", 28_800 + k), ("b", 29_000 + k), ("c", 29_400 + k)] for k in range(600)]
    network = tl.build_network(
        tables({0: (-500, 0), 1: (3000, 0), 2: (6500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)]),
        gtfs=timetable(tmp_path, STOPS, trips, stop_times=_times(trips)), timezone="UTC",
    )  # fmt: skip
    how: dict[str, Any] = {"travel_time": 3600, "departure_time": "2026-03-03T08:00"}
    fares = "fare_id,price,currency_type,payment_method,transfers,transfer_duration\nf,2.5,EUR,0,,300"
    dear = tl.build_network(
        tables({0: (-500, 0), 1: (3000, 0), 2: (6500, 0)}, [(i, i + 1, ON_FOOT) for i in range(2)]),
        gtfs=timetable(tmp_path, STOPS, trips, stop_times=_times(trips), fare_attributes=fares), timezone="UTC",
    )  # fmt: skip
    how["criteria"] = CRITERIA
    assert len(tl.pareto_routes(network, at((0, 0)), at((6000, 0)), **how)) == 1
    with pytest.raises(LimitError, match="more than 0 partial journeys; reduce travel_time"):
        tl.pareto_routes(dear, at((0, 0)), at((6000, 0)), **how)


def _times(trips: list[list[tuple[str, int]]]) -> str:
    rows = [
        f"t{i},{k},{stop},{when // 3600:02d}:{when // 60 % 60:02d}:{when % 60:02d}" + "," +
        f"{when // 3600:02d}:{when // 60 % 60:02d}:{when % 60:02d}"
        for i, calls in enumerate(trips) for k, (stop, when) in enumerate(calls)
    ]  # fmt: skip
    return "\n".join(["trip_id,stop_sequence,stop_id,arrival_time,departure_time", *rows])


@pytest.mark.thorough
def test_every_journey_of_a_real_city() -> None:
    network, places = tl.sample_network(), tl.sample_points()
    origins, destinations = places.geometry.iloc[:3], places.geometry.iloc[[3, 6]]
    means = {"type": "public_transport", "max_changes": 0, "walking_time": 300}
    n = compared(network, origins, destinations, means, "2019-05-13T08:00", 2400, CRITERIA, tl.Costs(), 1.0)
    assert n >= 6
