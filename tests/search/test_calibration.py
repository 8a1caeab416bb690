"""Factors of speeds from measured travel times: known ones are found again, and what data cannot tell is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from tests.support.worlds import at, world
from traveltime_lab import add_speeds, calibrate_speeds, receipt, replay, time_filter
from traveltime_lab._arrays import IndexArray
from traveltime_lab.errors import CrsError, InputError, LimitError, MomentError
from traveltime_lab.network.network import Network
from traveltime_lab.search.calibration import fit
from traveltime_lab.search.calibration.trips import Routed, Trips

#: A grid of 6 by 6 junctions, 400 m apart: rows are primary or residential, columns tertiary but for one service road.
SIDE = 6
STREETS = [
    *(
        ((x, y), (x + 1, y), {"highway": "primary" if y % 2 else "residential", "driving_kph": 50.0 if y % 2 else 30.0})
        for x in range(SIDE - 1)
        for y in range(SIDE)
    ),
    *(((x, y), (x, y + 1), {"highway": "tertiary", "driving_kph": 40.0}) for x in range(SIDE) for y in range(SIDE - 1)),
    ((5, 5), "end", {"highway": "service", "driving_kph": 20.0}),
]
NODES = {(x, y): (400.0 * x, 400.0 * y) for x in range(SIDE) for y in range(SIDE)} | {"end": (2400.0, 2000.0)}
TRUE = {"primary": 0.6, "residential": 0.9, "tertiary": 1.25}


@pytest.fixture(scope="module")
def grid() -> Network:
    return world(NODES, STREETS)


def measured(
    network: Network, n: int, factors: dict[str, float], *, noise: float = 0.0, when: object = None, seed: int = 1
) -> pd.DataFrame:
    """Return trips with the times of the library at scaled speeds, and noise."""
    rng = np.random.default_rng(seed)
    origins, destinations = (at(*rng.uniform(0, 2000, (n, 2))) for _ in "ab")
    return timed(network, origins, destinations, factors, noise=noise, when=when)


def timed(
    network: Network, origins: gpd.GeoSeries, destinations: gpd.GeoSeries, factors: dict[str, float],
    *, noise: float = 0.0, when: object = None,
) -> pd.DataFrame:  # fmt: skip
    true = add_speeds(network, factors=factors) if factors else network
    found = time_filter(true, origins, destinations, travel_time=14_400, pairs="aligned", departure_time=when)
    seconds = found["travel_time"].to_numpy(dtype=float, na_value=np.nan)
    seconds *= np.random.default_rng(2).lognormal(0.0, noise, seconds.size)
    table = pd.DataFrame({"origin": origins, "destination": destinations, "travel_time": seconds})
    return table.assign(departure_time=when)[seconds > 0]


@pytest.mark.thorough
def test_known_factors_are_found_again(grid: Network) -> None:
    found = calibrate_speeds(grid, measured(grid, 200, TRUE))
    assert found.factors.to_dict() == pytest.approx(TRUE, rel=0.01)
    errors = found.errors.set_index(["trips", "speeds"])
    assert errors.loc[("held out", "before"), "mean_absolute_error"] > 20
    assert errors.loc[("held out", "after"), "mean_absolute_error"] < 1.0
    assert errors["n"].groupby("trips").first().to_dict() == {"fitted": 150, "held out": 50}
    # Applied as the result says, the network has the measured times.
    table = measured(grid, 50, TRUE, seed=3)
    again = add_speeds(grid, factors=found.factors)
    times = time_filter(again, *(gpd.GeoSeries(table[end]) for end in ("origin", "destination")), travel_time=14_400,
                        pairs="aligned")["travel_time"]  # fmt: skip
    assert np.abs(times.to_numpy(dtype=float) - table["travel_time"].to_numpy()).mean() < 2.0
    assert "add_speeds(network, factors=calibration.factors, mode='driving')" in repr(found)


@pytest.mark.thorough
def test_noise_and_outliers(grid: Network) -> None:
    table = measured(grid, 300, TRUE, noise=0.1)
    # One in twenty stopped for half an hour on the way.
    table.iloc[::20, table.columns.get_loc("travel_time")] += 1800.0
    found = calibrate_speeds(grid, table)
    assert found.factors.to_dict() == pytest.approx(TRUE, rel=0.1)
    rows = found.table.set_index("highway")
    off = (rows["factor"] - pd.Series(TRUE)).abs() / rows["standard_error"]
    assert (off.dropna() < 4).all()
    assert rows.loc["service", ["factor", "is_fitted"]].tolist() == [1.0, False]


def test_outliers_count_as_huber_says(grid: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The estimating equation of Huber (1981, Robust Statistics) holds at the fitted factors.

    Residuals beyond 1.345 standard deviations count as 1.345 of them. Routes are fixed, so that the seconds of a trip
    are a linear function of the inverse factors.
    """
    rng = np.random.default_rng(7)
    classes, true = ["a", "b"], np.array([0.7, 1.3])
    along = rng.uniform(100, 900, (400, 2))

    def routed(_trips: Trips, factors: dict[str, float], chosen: IndexArray) -> Routed:
        by_class = along[chosen] / np.array([factors[name] for name in classes])
        return Routed(by_class.sum(axis=1), by_class)

    observed = (along / true).sum(axis=1)
    observed += np.sqrt(observed) * rng.standard_normal(400)
    observed[::5] += 40.0 * np.sqrt(observed[::5])
    unused: Any = None
    trips = Trips(grid, unused, [], *[unused] * 2, observed, classes)
    monkeypatch.setattr(fit, "route_trips", routed)
    monkeypatch.setattr(fit, "SETTLED", 1e-4)
    found = fit.fit(trips, np.arange(400), [("a",), ("b",)], (0.2, 2.0), "", may_drop=False)
    assert found.is_settled
    design = along / np.sqrt(observed)[:, None]
    residual = np.sqrt(observed) - design @ (1.0 / found.factors)
    scale = 1.4826 * np.median(np.abs(residual - np.median(residual)))
    pull = np.clip(residual / scale, -1.345, 1.345)
    # At factors off by the share at which they have settled, each pull is off by at most that share of its time.
    slack = fit.SETTLED * np.abs(design * (design @ (1.0 / found.factors))[:, None] / scale).sum(axis=0)
    assert (np.abs(design.T @ pull) <= slack).all()
    # The check sees other constants.
    for other in (1.2, 1.5):
        assert (np.abs(design.T @ np.clip(residual / scale, -other, other)) > slack).all()


@pytest.mark.thorough
def test_factors_by_groups_of_hours(grid: Network) -> None:
    slow = {"primary": 0.5, "residential": 1.0, "tertiary": 0.8}
    table = pd.concat(
        [
            measured(grid, 120, TRUE, when="2026-03-02T12:15:00"),
            measured(grid, 120, slow, when="2026-03-02T08:05:00", seed=4),
        ]
    )
    found = calibrate_speeds(grid, table, hours={"day": range(10, 16), "peak": [7, 8]})
    assert found.factors["day"].to_dict() == pytest.approx(TRUE, rel=0.02)
    assert found.factors["peak"].to_dict() == pytest.approx(slow, rel=0.02)
    held = found.errors[found.errors["trips"] == "held out"].set_index("speeds")["mean_absolute_error"]
    assert held["after"] < 0.2 * held["after, without hours"]
    with pytest.raises(InputError, match="trips at 8 o'clock, which are in no group"):
        calibrate_speeds(grid, table, hours={"day": range(10, 16)})
    few = pd.concat([table.iloc[:120], table.iloc[-12:]])
    with pytest.raises(InputError, match="in the hours 'peak'"):
        calibrate_speeds(grid, few, hours={"day": range(10, 16), "peak": [7, 8]})


def test_what_data_cannot_tell(grid: Network) -> None:
    table = measured(grid, 120, TRUE)
    with pytest.raises(InputError, match=r"^service: \d trips spend at least 5% of their time there"):
        calibrate_speeds(grid, table, classes=["primary", "service"])
    with pytest.raises(InputError, match="too few"):
        calibrate_speeds(grid, table.iloc[:20], classes=["primary", "residential", "tertiary"])
    with pytest.raises(InputError, match="too few"):
        calibrate_speeds(grid, table.iloc[:20])


@pytest.mark.thorough
def test_a_class_that_routes_leave_at_new_speeds(grid: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    route, table = fit.route_trips, measured(grid, 120, TRUE)

    def leaving(trips: Trips, factors: dict[str, float], chosen: IndexArray) -> Routed:
        found = route(trips, factors, chosen)
        if factors["primary"] != 1.0:
            found.by_class[:, trips.classes.index("residential")] = 0.0
        return found

    monkeypatch.setattr(fit, "route_trips", leaving)
    found = calibrate_speeds(grid, table)
    assert sorted(found.factors.index) == ["primary", "tertiary"]
    rows = found.table.set_index("highway")
    assert rows.loc["residential", ["factor", "is_fitted"]].tolist() == [1.0, False]
    with pytest.raises(InputError, match="residential: 0 trips spend at least"):
        calibrate_speeds(grid, table, classes=["primary", "residential", "tertiary"])


def test_classes_that_are_always_used_together() -> None:
    # Every trip is along both streets, from end to end.
    row = world(
        {"a": (0, 0), "b": (1000, 0), "c": (2000, 0)}, [("a", "b", {"highway": "primary"}), ("b", "c")]
    )  # fmt: skip
    starts, ends = at(*[(0.1 * i, 0.0) for i in range(60)]), at(*[(2000.0 - 0.1 * i, 0.0) for i in range(60)])
    table = timed(row, starts, ends, {"primary": 0.8, "residential": 0.8})
    with pytest.raises(InputError, match="cannot tell the factors of primary and residential apart"):
        calibrate_speeds(row, table)
    found = calibrate_speeds(row, table, classes=[("primary", "residential")])
    assert found.factors.to_dict() == pytest.approx({"primary": 0.8, "residential": 0.8}, rel=0.01)


def test_a_factor_at_its_bound_is_named(grid: Network) -> None:
    table = measured(grid, 120, {"primary": 0.1, "residential": 0.1, "tertiary": 0.1})
    with pytest.warns(UserWarning, match="primary.* are at their bound"):
        found = calibrate_speeds(grid, table)
    assert found.table.set_index("highway").loc[list(TRUE), "is_at_bound"].all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["walking", "cycling"])
def test_other_modes(grid: Network, mode: str) -> None:
    table = measured(grid, 120, {})
    starts, ends = (gpd.GeoSeries(table[end]) for end in ("origin", "destination"))
    slower = add_speeds(grid, factors={"primary": 0.7}, mode=mode)
    times = time_filter(slower, starts, ends, travel_time=14_400, pairs="aligned", transportation=mode)["travel_time"]
    found = calibrate_speeds(grid, table.assign(travel_time=times.to_numpy()), transportation=mode)
    assert found.mode == mode
    assert found.factors.to_dict() == pytest.approx({"primary": 0.7, "residential": 1.0, "tertiary": 1.0}, rel=0.01)
    again = add_speeds(grid, factors=found.factors, mode=found.mode)
    assert again.edges_frame()[f"{mode}_kph_forward"].min() < 13


@pytest.mark.thorough
def test_points_in_any_form(grid: Network) -> None:
    table = measured(grid, 120, TRUE)
    factors = calibrate_speeds(grid, table).factors
    projected = table.assign(origin=gpd.GeoSeries(table["origin"]).to_crs("EPSG:3857"))
    pairs = table.assign(destination=[(point.x, point.y) for point in table["destination"]])
    for other in (projected, pairs, gpd.GeoDataFrame(table, geometry="origin")):
        pd.testing.assert_series_equal(calibrate_speeds(grid, other).factors, factors, rtol=1e-6)


def test_trips_without_a_route_are_counted(grid: Network) -> None:
    table = measured(grid, 120, TRUE)
    lost = table.iloc[:3].assign(origin=at((90_000, 90_000)).iloc[0])
    assert calibrate_speeds(grid, pd.concat([table, lost])).n_without_route == 3


@pytest.mark.slow
def test_on_the_sample(porto_alegre: Network) -> None:
    true = {"residential": 0.8, "primary": 0.7, "tertiary": 1.2}
    nodes = porto_alegre.nodes_frame().geometry
    rng = np.random.default_rng(5)
    starts = nodes.iloc[np.repeat(rng.integers(len(nodes), size=20), 10)].reset_index(drop=True)
    ends = nodes.iloc[rng.integers(len(nodes), size=200)].reset_index(drop=True)
    table = timed(porto_alegre, starts, ends, true, noise=0.02, when="2019-05-13T08:00:00")
    found = calibrate_speeds(porto_alegre, table)
    assert found.factors[list(true)].to_dict() == pytest.approx(true, rel=0.1)
    held = found.errors[found.errors["trips"] == "held out"].set_index("speeds")["mean_absolute_error"]
    assert held["after"] < 0.5 * held["before"]


#: Speeds of another engine in km/h (made up), without turns, signals or rules of access.
OTHER_KPH = {"motorway": 110, "trunk": 90, "primary": 55, "secondary": 45, "tertiary": 38, "residential": 22}


# The speeds are not those of any factors, so they need not settle.
@pytest.mark.filterwarnings("ignore:factors have not settled")
@pytest.mark.thorough
def test_times_of_another_engine(porto_alegre: Network) -> None:
    nx = pytest.importorskip("networkx")
    with pytest.warns(UserWarning, match="the exported graph of driving is without"):
        graph = porto_alegre.to_networkx("driving")
    for *_, edge in graph.edges(data=True):
        edge["seconds"] = 3.6 * edge["length"] / OTHER_KPH.get(edge["highway"], 25)
    nodes, rng = sorted(max(nx.strongly_connected_components(graph), key=len)), np.random.default_rng(0)
    trips = []
    for start in rng.choice(nodes, 20):
        seconds = nx.single_source_dijkstra_path_length(graph, start, weight="seconds")
        ends = [(start, end, seconds[end]) for end in rng.choice(nodes, 15) if seconds[end] > 120]
        trips += [[*((graph.nodes[node]["x"], graph.nodes[node]["y"]) for node in trip[:2]), trip[2]] for trip in ends]
    found = calibrate_speeds(
        porto_alegre,
        pd.DataFrame(trips, columns=["origin", "destination", "travel_time"]),
        transportation={"type": "driving", "traffic_model": "off_peak"},
    )
    held = found.errors[found.errors["trips"] == "held out"].set_index("speeds")["mean_absolute_error"]
    assert held["after"] < 0.4 * held["before"]
    # The order of the speeds of classes is found, too.
    ours = porto_alegre.edges_frame().groupby("highway")["driving_kph_forward"].median()
    fitted = (ours * found.factors)[["primary", "tertiary", "residential"]]
    assert fitted.is_monotonic_decreasing


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"observed": 5}, InputError, "observed must be a DataFrame"),
        ({"observed": pd.DataFrame({"origin": [(0.5, 0.5)]})}, InputError, "it has 'origin'"),
        ({"travel_time": 0.0}, InputError, "travel_time 0.0 at 0"),
        ({"travel_time": "soon"}, InputError, "travel_time 'soon' at 0"),
        ({"departure_time": "noon"}, MomentError, "departure_time"),
        ({"origin": "home"}, InputError, "observed\\['origin'\\] must be"),
        ({"origin": at((0, 0)).set_crs(None, allow_override=True)}, CrsError, "no CRS"),
        ({"held_out": 0.0}, LimitError, "held_out must be above 0"),
        ({"seed": -1}, LimitError, "seed"),
        ({"classes": ["motorway"]}, InputError, "'motorway', which is no class of street of the network"),
        ({"classes": ["primary", ("primary",)]}, InputError, "'primary' more than once"),
        ({"classes": []}, InputError, "classes is empty"),
        ({"hours": {"a": [7], "b": [7]}}, InputError, "hours has 7 in 'a' and in 'b'"),
        ({"hours": {"a": [24]}}, LimitError, "24"),
        ({"hours": {"a": range(24)}}, InputError, "without a departure_time"),
        ({"transportation": "bus"}, InputError, "walking, cycling or driving"),
    ],
)
def test_what_is_refused(grid: Network, given: dict[str, object], error: type[Exception], words: str) -> None:
    arguments = dict(given)
    columns = {"origin": at((0, 0)), "destination": at((400, 400)), "travel_time": [60.0]}
    for name in ("origin", "travel_time", "departure_time"):
        if name in arguments:
            value = arguments.pop(name)
            columns[name] = value if isinstance(value, gpd.GeoSeries) else [value]
    with pytest.raises(error, match=words):
        calibrate_speeds(grid, **{"observed": pd.DataFrame(columns), **arguments})


@pytest.mark.thorough
def test_a_receipt_of_a_calibration_can_be_replayed(
    grid: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = (measured(grid, 150, TRUE, when=f"2026-03-02T{hour}:30", seed=int(hour)) for hour in ("07", "12"))
    late["departure_time"] = pd.to_datetime(late["departure_time"])
    observed = pd.concat([early, late], ignore_index=True).assign(driver="somebody")
    asked = {"classes": [("primary", "residential"), "tertiary"], "hours": {"peak": [7], "day": range(9, 17)}}
    found = calibrate_speeds(grid, observed, held_out=0.2, seed=3, **asked)
    kept = receipt(found)
    assert kept["function"] == "calibrate_speeds" and kept["network"]["fingerprint"] == grid.fingerprint
    assert kept["points"]["observed"]["count"] == len(observed)
    assert json.loads(json.dumps(kept)) == kept == receipt(found.table)
    found.table.to_parquet(tmp_path / "table.parquet")
    for given in (found, kept, json.loads(json.dumps(kept)), tmp_path / "table.parquet"):
        again = replay(given, grid)
        assert again.is_same and not again.differences, again
        pd.testing.assert_frame_equal(again.answer.errors, found.errors)
    assert replay(found, grid, observed=observed.drop(columns="driver")).is_same
    projected = observed.assign(**{end: gpd.GeoSeries(observed[end]).to_crs(3857) for end in ("origin", "destination")})
    with pytest.raises(InputError, match="observed are not those of the receipt"):
        replay(found, grid, observed=projected)  # projected and back, points are a nanometre off
    with pytest.raises(InputError, match="has no table places"):
        replay(found, grid, places=(0.5, 0.5))
    slower = add_speeds(grid, factors={"primary": 0.9})
    assert not replay(found, slower).is_same
    monkeypatch.setattr("traveltime_lab.search.receipts.inputs.MOST_ROWS", 100)
    kept = receipt(calibrate_speeds(grid, observed, held_out=0.2, seed=3, **asked))
    with pytest.raises(InputError, match="pass them as observed="):
        replay(kept, grid)
    assert replay(kept, grid, observed=observed).is_same
