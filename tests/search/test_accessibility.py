"""Accessibility against a matrix and plain arithmetic, against PySAL, and its laws."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import oracles_accessibility as twin
from tests.support.combinations import combined
from tests.support.large_jobs import HOW, Strange
from tests.support.towns import blocks
from tests.support.worlds import at
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.search.accessibility import measures
from traveltime_lab.search.accessibility.decay import table_of
from traveltime_lab.search.accessibility.exact_sums import ExactSums
from traveltime_lab.search.accessibility.measures import TimeBlock, Weights
from traveltime_lab.streets import k_nearest

DECAYS: dict[str, dict[str, Any]] = {
    "step": {},
    "linear": {},
    "exponential": {"scale": 400.0},
    "gaussian": {"scale": 500.0},
    "logistic": {"midpoint": 600.0, "scale": 90.0},
    "power": {"scale": 120.0, "exponent": 1.7},
}
#: Weights of three zones, those that the documentation of PySAL's `access` uses.
ZONES = {600: 1.0, 1200: 0.68, 1800: 0.22}
CATCHMENTS = ("2sfca", "e2sfca", "3sfca", "m2sfca")
WALK: dict[str, Any] = {"transportation": "walking"}
BUS: dict[str, Any] = {"transportation": "public_transport", "departure_time": "2026-03-02T08:00"}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return blocks(tmp_path_factory.mktemp("blocks"))


@pytest.fixture(scope="module")
def homes() -> gpd.GeoDataFrame:
    """Homes all over town, one far from any street, one outside of the network."""
    rng = np.random.default_rng(1)
    points = at(*(rng.uniform(-50, 1550, (14, 2))).tolist(), (2500, 2500), (90_000, 0))
    return gpd.GeoDataFrame({"people": rng.uniform(0, 900, 16)}, geometry=points.array).set_index(
        pd.Index(range(16)) + 7
    )


@pytest.fixture(scope="module")
def sites() -> gpd.GeoDataFrame:
    rng = np.random.default_rng(2)
    points = at(*(rng.uniform(0, 1500, (9, 2))).tolist(), (-90_000, 0))
    beds = np.append(rng.uniform(1, 80, 9), 10.0)
    beds[3] = 0.0
    counts = [0, 2, 1, 0, 3, 1, 1, 1, 1, 5]
    return gpd.GeoDataFrame({"beds": beds, "doctors": counts}, geometry=points.array, index=list("abcdefghij"))


# Exact sums ----------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    st.lists(st.floats(0, 1e15) | st.floats(1e-235, 1e-215), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
    st.integers(1, 7),
)
def test_sums_are_those_of_fsum_in_any_order_and_blocks(terms: list[float], random: Any, n_blocks: int) -> None:
    expected = math.fsum(terms)
    shuffled = random.sample(terms, len(terms))
    for axis in (0, 1):
        sums = ExactSums(3, len(terms), max(terms))
        for part in np.array_split(np.array(shuffled), n_blocks):
            block = np.stack([np.zeros(part.size), part], axis=1 - axis)
            sums.add(block, slice(1, 3), axis=axis)
        assert sums.totals().tolist() == [0.0, 0.0, expected]


def test_sums_of_ill_mixed_numbers() -> None:
    terms = np.array([[1e15, 0.1, 1e-9, 0.2, 3e14, 0.3]])
    sums = ExactSums(1, 6, 1e15)
    sums.add(terms.copy(), slice(0, 1), axis=1)
    assert sums.totals()[0] == math.fsum(terms[0])
    assert ExactSums(2, 0, 0.0).totals().tolist() == [0.0, 0.0]


# Decay ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DECAYS)
def test_decays_are_their_formulas(kind: str) -> None:
    decay, slow = tl.Decay(kind, **DECAYS[kind]), twin.decay(kind, DECAYS[kind], 900)
    times = [0, 1, 90, 119.6, 120, 599, 600, 899, 900.4, 900.5, 7200, np.nan, np.inf]
    rounded = [math.floor(t + 0.5) if np.isfinite(t) else t for t in times]
    found = decay.weights(times, travel_time=900)
    assert found.tolist() == pytest.approx([0.0 if np.isnan(t) else slow(t) for t in rounded], rel=1e-14)
    assert (np.diff(found[:10]) <= 0).all()
    assert found.max() <= 1.0
    assert hash(decay) == hash(tl.Decay(kind, **DECAYS[kind]))


def test_steps() -> None:
    decay = tl.Decay("step", steps=dict(reversed(ZONES.items())))
    assert decay.weights([0, 600, 601, 1200, 1201, 1800, 1801], travel_time=3600).tolist() == [
        1, 1, 0.68, 0.68, 0.22, 0.22, 0,
    ]  # fmt: skip
    assert decay.weights([[601], [1300]], travel_time=1200).tolist() == [[0.68], [0]]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"type": "hyperbolic"}, tl.InputError, "must be one of 'step', 'linear'"),
        ({"type": "gaussian"}, tl.InputError, r"needs scale, such as Decay\('gaussian', scale=600\)"),
        ({"type": "logistic", "scale": 60}, tl.InputError, "needs midpoint and scale"),
        ({"type": "linear", "scale": 60}, tl.InputError, "scale does not belong to the decay 'linear'"),
        ({"type": "exponential", "scale": 0}, tl.LimitError, "above 0 and at most 86400; got 0"),
        ({"type": "exponential", "scale": math.nan}, tl.LimitError, "got nan"),
        ({"type": "exponential", "scale": "600"}, tl.InputError, "scale must be a number"),
        ({"type": "power", "scale": 60, "exponent": -2}, tl.LimitError, "exponent of a decay"),
        ({"type": "step", "steps": {}}, tl.InputError, "steps must map seconds to weights"),
        ({"type": "step", "steps": {600: 1.5}}, tl.LimitError, "from 0 to 1; got 1.5"),
        ({"type": "step", "steps": {"600": 1}}, tl.InputError, "whole number of seconds"),
        ({"type": "step", "speed": 1}, tl.InputError, "a decay as a mapping has 'type' and the options"),
        ({"scale": 1}, tl.InputError, "a decay as a mapping"),
        (600, tl.InputError, "must be a Decay, the name of its type or a mapping; got 600"),
    ],
)
def test_wrong_decays(town: tl.Network, options: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tl.accessibility(town, at((0, 0)), at((0, 0)), travel_time=600, decay=options)


def test_times_of_weights() -> None:
    for times, says in ((["soon"], "numbers of seconds"), ([-1], "0 seconds or more; got -1")):
        with pytest.raises(tl.InputError, match=says):
            tl.Decay("linear").weights(times, travel_time=600)


# Measures of a table of times ----------------------------------------------------------------------------------------


@dataclass
class Cut:
    """A matrix of travel times in milliseconds, cut into blocks at random."""

    ms: np.ndarray
    random: Any
    n_layers: int = 1

    @property
    def starts(self) -> range:
        return range(self.ms.shape[0])

    @property
    def ends(self) -> range:
        return range(self.ms.shape[1])

    def blocks(self, *, again: bool = False) -> Any:
        cuts = [sorted({0, n, *(self.random.randrange(n) for _ in range(3))}) for n in self.ms.shape]
        rows, columns = ([slice(*pair) for pair in pairwise(cut)] for cut in cuts)
        each = [(row, column) for row in rows for column in columns]
        self.random.shuffle(each)
        for row, column in each:
            yield 0, TimeBlock(row, column, self.ms[row, column].copy())

    def nearest(self, _columns: Any, _k: int) -> None:
        """Return that a matrix is quicker."""


class Parts(measures.Passes):
    """Passes in parts of origins, each pickled on its way as by workers."""

    def run(self, step_of: measures.StepOf) -> list[Any]:
        cut: Any = self.matrix
        n = len(cut.starts)
        cuts = sorted({0, n, *(cut.random.randrange(n) for _ in range(2))})
        steps = ((rows, step_of(rows)) for rows in (slice(*pair) for pair in pairwise(cuts)))
        return [
            pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(step))(Cut(cut.ms[rows], cut.random))))
            for rows, step in steps
        ]


def passes(ms: np.ndarray, random: Any) -> measures.Passes:
    """Return passes over a matrix, whole or in parts."""
    how = Parts if random.randrange(2) else measures.Passes
    return how(Cut(ms, random))


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw travel times, supply of two kinds and demand."""
    shape = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    times = st.integers(0, 1_900_000) | st.just(NEVER)
    ms = np.array(draw(st.lists(times, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])), np.int32)
    amount = st.floats(1e-3, 1e6) | st.just(0.0) | st.integers(1, 50).map(float)
    supply = np.array(draw(st.lists(amount, min_size=2 * shape[1], max_size=2 * shape[1]))).reshape(2, -1)
    demand = np.array(draw(st.lists(amount, min_size=shape[0], max_size=shape[0])))
    return ms.reshape(shape), supply, demand


@settings(max_examples=60)
@given(tables(), st.sampled_from([*DECAYS, "zones"]), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_measures_equal_their_twins_to_the_last_bit(world: Any, kind: str, random: Any) -> None:
    ms, supply, demand = world
    decay = tl.Decay("step", steps=ZONES) if kind == "zones" else tl.Decay(kind, **DECAYS[kind])
    limits = [1800, 700]
    weights = [Weights.of(decay, limit) for limit in limits]
    cumulative = measures.opportunities(passes(ms, random), weights, supply)
    found = {
        measure: measures.floating_catchments(
            passes(ms, random), weights, supply, demand, measures.Catchment(measure == "3sfca", measure == "m2sfca")
        )
        for measure in CATCHMENTS[1:]
    }
    counts = np.minimum(np.floor(supply), 9).astype(np.int64)
    third = measures.nearest(passes(ms, random), limits, counts, 3)
    for n, limit in enumerate(limits):
        times = pd.DataFrame(np.where((ms + 500) // 1000 <= limit, (ms + 500) // 1000, np.nan))

        def weight(t: float, decay: tl.Decay = decay, limit: int = limit) -> float:
            return float(table_of(decay, limit)[int(t)])

        for k, amounts in enumerate(supply):
            assert cumulative[0, n, k].tolist() == twin.weighted(times, dict(enumerate(amounts)), weight)
            slow = twin.nearest(times, dict(enumerate(counts[k])), 3)
            assert third[0, n, k].tolist() == [-1 if np.isnan(t) else t for t in slow]
            for measure, values in found.items():
                expected = twin.catchments(times, dict(enumerate(amounts)), dict(enumerate(demand)), weight, measure)
                assert values[0, n, k].tolist() == expected, measure


#: Times in seconds from homes a, b, c, d to sites x, y, z, demand of the homes and supply of the sites (assumed).
TIMES = np.array([[120, 840, 1500], [600, 300, 1260], [1320, 660, np.nan], [900, np.nan, 60]])
DEMAND, SUPPLY = np.array([1000.0, 400.0, 250.0, 700.0]), np.array([[12.0, 5.0, 8.0]])
#: What `weighted_catchment`, `two_stage_fca` and `three_stage_fca` of PySAL's access 1.1.10 return for these;
#: `benchmarks/accessibility.py` asks it again, where it is installed.
PYSAL: list[tuple[str, Any, int, list[float]]] = [
    ("opportunities", tl.Decay("step"), 1200, [17, 17, 5, 20]),
    ("opportunities", tl.Decay("step", steps=ZONES), 1800, [17.16, 18.76, 6.04, 16.16]),
    ("opportunities", tl.Decay("gaussian", scale=700), 1800,
     [15.064075085724637, 14.455291867274017, 5.23354845116811, 13.221443008776307]),
    ("opportunities", tl.Decay("power", scale=300, exponent=1.5), 1800,
     [13.782710153991356, 10.172069328022651, 2.8324486727513576, 10.309401076758503]),
    ("2sfca", tl.Decay("step"), 1200,
     [0.008744588744588744, 0.008744588744588744, 0.0030303030303030303, 0.017142857142857144]),
    ("e2sfca", tl.Decay("step", steps=ZONES), 1800,
     [0.010680428431686848, 0.011960428431686848, 0.004087167270844122, 0.012162297682753405]),
    ("e2sfca", tl.Decay("gaussian", scale=700), 1800,
     [0.01066328845347239, 0.011470998567310195, 0.004426656206601735, 0.012345211525647284]),
    ("3sfca", tl.Decay("step", steps=ZONES), 1800,
     [0.00957705347141536, 0.010390102775962282, 0.005360974480860952, 0.014180945425692126]),
    ("3sfca", tl.Decay("gaussian", scale=700), 1800,
     [0.010701148455302572, 0.009207300706707831, 0.006001780045261463, 0.013022123215284186]),
]  # fmt: skip


def of_table(measure: str, decay: tl.Decay, limit: int) -> list[float]:
    ms = np.where(np.isnan(TIMES), NEVER, 1000 * TIMES).astype(np.int32)

    class Once:
        def randrange(self, n: int) -> int:
            return 0

        def shuffle(self, each: list[Any]) -> None:
            pass

    table, weights = measures.Passes(Cut(ms, Once())), [Weights.of(decay, limit)]
    if measure == "opportunities":
        return measures.opportunities(table, weights, SUPPLY)[0, 0, 0].tolist()
    how = measures.Catchment(measure == "3sfca", measure == "m2sfca")
    return measures.floating_catchments(table, weights, SUPPLY, DEMAND, how)[0, 0, 0].tolist()


@pytest.mark.parametrize(("measure", "decay", "limit", "expected"), PYSAL)
def test_the_numbers_of_pysal(measure: str, decay: tl.Decay, limit: int, expected: list[float]) -> None:
    # PySAL adds in another order.
    assert of_table(measure, decay, limit) == pytest.approx(expected, rel=1e-14)


def test_two_steps_by_hand() -> None:
    """Within 20 minutes, x serves 2,100 people, y 1,650 and z 700."""
    x, y, z = 12 / 2100, 5 / 1650, 8 / 700
    assert of_table("2sfca", tl.Decay("step"), 1200) == pytest.approx([x + y, x + y, y, x + z], rel=1e-15)


def test_the_modified_method_by_hand() -> None:
    """One home, one site, weight 0.5: half of the beds stay unused, where the enhanced method gives all of them."""
    ms, one = np.array([[300_000]], np.int32), np.array([[8.0]])
    weights = [Weights.of(tl.Decay("linear"), 600)]

    class Whole(Cut):
        def blocks(self, *, again: bool = False) -> Any:
            return iter([(0, TimeBlock(slice(0, 1), slice(0, 1), ms))])

    table = measures.Passes(Whole(ms, np.random))
    for how, expected in ((measures.Catchment(), 0.08), (measures.Catchment(squares_access=True), 0.04)):
        assert measures.floating_catchments(table, weights, one, np.array([100.0]), how).item() == expected


# Networks ------------------------------------------------------------------------------------------------------------

WAYS: dict[str, dict[str, Any]] = {
    "on foot": WALK,
    "by car, arriving": {"transportation": "driving", "arrival_time": "2026-03-02T08:30"},
    "by bus": BUS,
    "by bus, arriving": {"transportation": "public_transport", "arrival_time": "2026-03-02T08:40"},
    "by bus in a window": {**BUS, "window": 900},
}


def plain_table(
    network: tl.Network, homes: Any, sites: Any, limit: int, how: dict[str, Any], column: str
) -> pd.DataFrame:
    table = tl.time_filter(network, homes, sites, travel_time=limit, form="matrix", **how)
    return table[column] if isinstance(table.columns, pd.MultiIndex) else table


@pytest.mark.parametrize(("way", "size"), combined(WAYS, [None, 3, 40], mark=pytest.mark.thorough))
def test_a_matrix_and_arithmetic(
    town: tl.Network, homes: Any, sites: Any, way: str, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of any size, kept between passes or searched again, give the sums of a whole matrix to the last bit."""
    limits, how = [700, 300], WAYS[way]
    decay = tl.Decay("gaussian", scale=250)
    with monkeypatch.context() as patched:
        if size is not None:
            patched.setattr("traveltime_lab.runtime.threads.BLOCK", size)
            patched.setattr(measures, "_AT_ONCE", size)
            patched.setattr(measures, "_MOST_KEPT", 0)
        shared = {"values": ["beds", "doctors"], "travel_time": limits, **how}
        found = {
            "opportunities": tl.accessibility(town, homes, sites, decay=decay, **shared),
            "nearest": tl.accessibility(town, homes, sites, measure="nearest", k=2, **{**shared, "values": "doctors"}),
            "2sfca": tl.accessibility(town, homes, sites, measure="2sfca", demand="people", **shared),
            **{
                measure: tl.accessibility(town, homes, sites, measure=measure, demand="people", decay=decay, **shared)
                for measure in CATCHMENTS[1:]
            },
        }
    for n, limit in enumerate(limits):
        times = tl.time_filter(town, homes, sites, travel_time=limit, form="matrix", **how)
        for measure, answer in found.items():
            mine = answer[answer["travel_time_limit"] == limit]
            assert mine.index.equals(homes.index)
            weight_of = tl.Decay("step") if measure == "2sfca" else decay
            prefix = "travel_time_to_" if measure == "nearest" else ""
            for column in {"beds", "doctors"} & {name.removeprefix(prefix) for name in answer.columns}:
                if measure == "opportunities":
                    expected = twin.weighted(times, sites[column], weigh(weight_of, limit))
                elif measure == "nearest":
                    expected = twin.nearest(times, sites[column], 2)
                else:
                    expected = twin.catchments(times, sites[column], homes["people"], weigh(weight_of, limit), measure)
                assert mine[prefix + column].iloc[:14].astype(float).fillna(-1).tolist() == (
                    pd.Series(expected[:14]).fillna(-1).tolist()
                ), (measure, n)


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Executor]]:
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=HOW) as processes:
        yield {"threads": threads, "processes": processes, "another": Strange()}


@pytest.mark.parametrize(
    ("measure", "way"),
    combined(["opportunities", "nearest", *CATCHMENTS], WAYS, mark=pytest.mark.thorough, few=pytest.mark.slow, most=2),
)
def test_workers_give_the_same(
    town: tl.Network, homes: Any, sites: Any, executors: dict[str, Executor], way: str, measure: str
) -> None:
    how: dict[str, Any] = {"measure": measure, "values": ["beds", "doctors"], "travel_time": [700, 300], **WAYS[way]}
    how |= {"demand": "people"} if measure in CATCHMENTS else {}
    how |= {"values": "doctors", "k": 2} if measure == "nearest" else {}
    how |= {} if measure in ("nearest", "2sfca") else {"decay": tl.Decay("gaussian", scale=250)}
    expected = tl.accessibility(town, homes, sites, **how)
    for name, executor in executors.items():
        seen: list[tuple[int, int]] = []
        found = tl.accessibility(
            town, homes, sites, executor=executor, progress=lambda *at, seen=seen: seen.append(at), **how
        )
        pd.testing.assert_frame_equal(found, expected, obj=name)
        assert seen == sorted(seen) and seen[-1][0] == seen[-1][1] and len(seen) >= 8, name


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_nearest_by_searches_are_those_of_the_matrix(
    town: tl.Network, homes: Any, sites: Any, monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    """Of searches some places are enough, as several opportunities are at some of them."""
    found = []
    for way in ("search", "hierarchy", None):
        monkeypatch.setattr(k_nearest, "quickest", lambda *_, way=way: way)
        how: dict[str, Any] = {"measure": "nearest", "values": "doctors", "k": k, "travel_time": [900, 300], **WALK}
        found.append(tl.accessibility(town, homes, sites, **how))
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0], other)


def test_workers_that_cannot_be_used(town: tl.Network, homes: Any, sites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any = "dask"
    with pytest.raises(tl.InputError, match=r"executor must be a concurrent.futures.Executor.*client.get_executor"):
        tl.accessibility(town, homes, sites, travel_time=600, executor=wrong, **WALK)
    with ThreadPoolExecutor(1) as ended:
        pass
    with pytest.raises(tl.InputError, match="does not take any work"):
        tl.accessibility(town, homes, sites, travel_time=600, executor=ended, **WALK)
    monkeypatch.setattr(Strange, "submit", lost)
    with pytest.raises(tl.UnfinishedJobError, match=r"4 times while they computed part of origins \d+ to \d+, perhaps"):
        tl.accessibility(town, homes, sites, travel_time=600, executor=Strange(), **WALK)


def lost(*_: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(ConnectionError("gone"))
    return future


def test_another_version_on_a_worker(town: tl.Network, homes: Any, sites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Strange.submit

    def elsewhere(*arguments: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(tl, "__version__", "9.9")
            return submit(*arguments)

    monkeypatch.setattr(Strange, "submit", elsewhere)
    with pytest.raises(tl.InputError, match=r"a worker has traveltime_lab 9\.9, the calling process has"):
        tl.accessibility(town, homes, sites, travel_time=600, executor=Strange(), **WALK)


def weigh(decay: tl.Decay, limit: int) -> twin.Weight:
    return lambda t: float(decay.weights([t], limit)[0])


def test_percentiles(town: tl.Network, homes: Any, sites: Any) -> None:
    how = {**BUS, "window": 600, "percentiles": [50, 90]}
    found = tl.accessibility(town, homes, sites, values="beds", travel_time=[700], decay="linear", **how)
    assert found.columns.tolist() == ["travel_time_limit", "beds_p50", "beds_p90", "reason", "geometry"]
    near = tl.accessibility(town, homes, sites, measure="nearest", travel_time=700, **how)
    for percent in (50, 90):
        times = tl.time_filter(town, homes, sites, travel_time=700, form="matrix", properties=(), **how)
        times = times[f"travel_time_p{percent}"]
        expected = twin.weighted(times, sites["beds"], weigh(tl.Decay("linear"), 700))
        assert found[f"beds_p{percent}"].iloc[:14].tolist() == expected[:14]
        nearest = times.min(axis=1).iloc[:14].fillna(-1).tolist()
        assert near[f"travel_time_to_opportunities_p{percent}"].iloc[:14].fillna(-1).tolist() == nearest
    assert (found["beds_p90"].dropna() <= found["beds_p50"].dropna()).all()


def test_who_has_no_street_has_no_value(town: tl.Network, homes: Any, sites: Any) -> None:
    found = tl.accessibility(town, homes, sites, values="beds", travel_time=600, **WALK)
    assert found.index.equals(homes.index)
    assert found["reason"].iloc[-2:].tolist() == ["origin_outside_network"] * 2
    assert found["reason"].iloc[:-2].isna().all()
    assert found["beds"].isna().tolist() == [False] * 14 + [True] * 2
    assert (found.geom_type == "Point").all()
    assert found.crs == "EPSG:4326"
    near = tl.accessibility(town, homes, sites, measure="nearest", travel_time=600, **WALK)
    assert near["travel_time_to_opportunities"].dtype == "Int32"
    assert near["travel_time_to_opportunities"].iloc[-2:].isna().all()


def test_nothing_in_reach(town: tl.Network) -> None:
    """Out of reach is 0 for amounts and missing for times; a site that nobody reaches takes part in nothing."""
    home, site = gpd.GeoDataFrame({"p": [5]}, geometry=at((0, 0)).array), at((1500, 1500))
    how = {"travel_time": 60, **WALK}
    assert tl.accessibility(town, home, site, **how)["opportunities"].tolist() == [0.0]
    assert tl.accessibility(town, home, site, measure="nearest", **how)["travel_time_to_opportunities"].isna().all()
    for measure in ("2sfca", "3sfca", "m2sfca"):
        assert tl.accessibility(town, home, site, measure=measure, demand="p", **how)["opportunities"].tolist() == [0.0]


def test_laws(town: tl.Network, homes: Any, sites: Any) -> None:
    """Longer limits reach no less; shares add up to the supply in reach; twice the demand halves the share."""
    inside = sites.iloc[:9]
    limits = [300, 600, 900, 1800]
    found = tl.accessibility(town, homes, inside, values="beds", travel_time=limits, **WALK).dropna(subset="beds")
    steps = found.pivot_table(index=found.index, columns="travel_time_limit", values="beds").to_numpy()
    assert (np.diff(steps, axis=1) >= 0).all()
    assert (steps[:, -1] <= inside["beds"].sum() * (1 + 1e-15)).all()
    decay = tl.Decay("exponential", scale=500)
    twice = homes.assign(people=2 * homes["people"])
    shares = {}
    for measure in CATCHMENTS:
        how = {"values": "beds", "demand": "people", "travel_time": 3600, **WALK}
        how |= {} if measure == "2sfca" else {"decay": decay}
        share = tl.accessibility(town, homes, inside, measure=measure, **how)["beds"].fillna(0)
        half = tl.accessibility(town, twice, inside, measure=measure, **how)["beds"].fillna(0)
        assert half.tolist() == pytest.approx((share / 2).tolist(), rel=1e-14)
        shares[measure] = share
        if measure != "m2sfca":
            assert (share * homes["people"]).sum() == pytest.approx(inside["beds"].sum(), rel=1e-12)
    assert (shares["m2sfca"] <= shares["e2sfca"]).all()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"measure": "gravity"}, tl.InputError, "measure must be one of 'opportunities', 'nearest', '2sfca'"),
        ({"measure": "e2sfca", "demand": "people"}, tl.InputError, "needs a decay"),
        ({"measure": "2sfca", "demand": "people", "decay": "linear"}, tl.InputError, "'2sfca' has no decay; with one"),
        ({"measure": "nearest", "decay": "linear"}, tl.InputError, "'nearest' has no decay"),
        ({"measure": "2sfca"}, tl.InputError, "needs demand, the column of origins"),
        ({"demand": "people"}, tl.InputError, "demand is for '2sfca'"),
        ({"k": 2}, tl.InputError, "k is for measure='nearest' only"),
        ({"measure": "nearest", "k": 0}, tl.LimitError, "k must be from 1 to 1000"),
        ({"measure": "nearest", "values": "beds"}, tl.InputError, "values must be whole numbers; the column 'beds'"),
        (
            {"values": "jobs"},
            tl.InputError,
            "a column of opportunities; got 'jobs', and its columns are 'beds'",
        ),
        ({"values": []}, tl.InputError, "values is empty"),
        ({"values": ["beds", "beds"]}, tl.InputError, "which the result has already"),
        ({"values": "geometry"}, tl.InputError, "which the result has already"),
        ({"values": 3}, tl.InputError, "values must be a list"),
        ({"values": "name"}, tl.InputError, "'name' of opportunities must hold numbers"),
        (
            {"values": "gaps"},
            tl.InputError,
            "'gaps' of opportunities has 1 missing values, the first at 'c'; fill",
        ),
        ({"values": "debt"}, tl.InputError, "'debt' of opportunities has 2 negative values, the first at 'a'"),
        ({"values": "huge"}, tl.LimitError, r"amounts of 0, or from 1e-15 to 1e\+15; got inf at 'b'"),
        ({"percentiles": [50]}, tl.InputError, "require a window"),
        ({"travel_time": []}, tl.InputError, "empty list"),
        ({"origins": at((0, 0)).iloc[:0]}, tl.InputError, "origins is empty"),
        ({"opportunities": at((0, 0)).set_crs(None, allow_override=True)}, tl.CrsError, "opportunities has no CRS"),
        ({"opportunities": at((0, 0)), "values": "beds"}, tl.InputError, "opportunities is no GeoDataFrame"),
        ({"origins": at((0, 0)), "measure": "2sfca", "demand": "p"}, tl.InputError, "origins is no GeoDataFrame"),
    ],
)
def test_wrong_arguments(
    town: tl.Network, homes: Any, sites: Any, options: Any, error: type[Exception], says: str
) -> None:
    wide = sites.assign(name="x", gaps=np.nan, debt=0.0, huge=1.0)
    wide["gaps"] = [1.0, 1.0, np.nan, *[1.0] * 7]
    wide.loc[["a", "d"], "debt"] = -1.0
    wide.loc["b", "huge"] = np.inf
    arguments = {"origins": homes, "opportunities": wide, "travel_time": 600, **WALK, **options}
    with pytest.raises(error, match=says):
        tl.accessibility(town, **arguments)
