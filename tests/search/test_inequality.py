"""Indices of inequality and poverty: laws, sums over all pairs of people, and worked examples of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl

VALUES = st.integers(0, 1000).map(float)


@st.composite
def towns(draw: st.DrawFn) -> pd.DataFrame:
    """Draw places with values, whole numbers of people, incomes and groups."""
    n = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    town = pd.DataFrame(
        {
            "jobs": column(VALUES),
            "people": column(st.integers(0, 5)),
            "income": column(st.integers(0, 9).map(float)),
            "group": column(st.sampled_from(["a", "b", "c"])),
        }
    )
    if not town["people"].any():
        town.loc[0, "people"] = 1
    return town


def each_person(town: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a row for each person."""
    return town.loc[town.index.repeat(town["people"])].reset_index(drop=True)


def by_hand(x: np.ndarray, income: np.ndarray, group: np.ndarray, z: float, epsilon: float) -> dict[str, float]:
    """Return the indices of one person a row by their definitions, with sums over all pairs."""
    n, mean = x.size, x.mean()
    found = {"mean": mean, **{f"fgt_{a}": sum(((z - v) / z) ** a for v in x if v < z) / n for a in range(3)}}
    if not mean:
        return found
    found["gini"] = np.abs(x[:, None] - x[None, :]).sum() / (2 * n * n * mean)
    found["hoover"] = np.abs(x - mean).sum() / (2 * n * mean)

    def theil_t(values: np.ndarray) -> float:
        return sum(v / values.mean() * np.log(v / values.mean()) for v in values if v) / values.size

    found["theil_t"] = theil_t(x)
    parts = [(x[group == g].size / n, x[group == g]) for g in sorted(set(group))]
    found["theil_t_within"] = sum(p * v.mean() / mean * theil_t(v) for p, v in parts if v.any())
    found["theil_t_between"] = sum(p * v.mean() / mean * np.log(v.mean() / mean) for p, v in parts if v.any())
    with np.errstate(divide="ignore"):
        found["theil_l"] = -np.log(x / mean).mean()
    found["atkinson"] = 1 - (x ** (1 - epsilon)).mean() ** (1 / (1 - epsilon)) / mean if x.all() or epsilon < 1 else 1.0
    # The average rank of each person among all, by income.
    rank = np.array([((income < i).sum() + (income == i).sum() / 2) / n for i in income])
    found["concentration"] = 2 * ((x - mean) * (rank - 0.5)).mean() / mean
    return found


@pytest.mark.slow
@given(towns(), st.sampled_from([0.5, 2.0]), st.sampled_from([1.0, 400.0]))
def test_indices_are_sums_over_people(town: pd.DataFrame, epsilon: float, z: float) -> None:
    how: dict[str, Any] = {"income": "income", "groups": "group", "threshold": z, "epsilon": epsilon}
    found = tl.inequality(town, "jobs", weights="people", **how)["value"]
    people = each_person(town)
    same = tl.inequality(people, "jobs", **how)["value"]
    np.testing.assert_allclose(found["all"], same["all"], rtol=1e-9, atol=1e-12)
    expected = by_hand(*(people[name].to_numpy() for name in ("jobs", "income", "group")), z, epsilon)
    for name, value in expected.items():
        assert found["all"][name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    for name in ("theil_t", "theil_l"):
        total = found["all"][f"{name}_between"] + found["all"][f"{name}_within"]
        assert total == pytest.approx(found["all"][name], rel=1e-9, abs=1e-12, nan_ok=True)
    for group, some in people.groupby("group"):
        alone = tl.inequality(some, "jobs", income="income", threshold=z, epsilon=epsilon)["value"]
        np.testing.assert_allclose(found[group].loc[alone.index], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@given(towns(), st.floats(0.01, 100.0), st.randoms(use_true_random=False))
def test_units_and_order_make_no_difference(town: pd.DataFrame, factor: float, random: Any) -> None:
    order = random.sample(range(len(town)), len(town))
    other = town.assign(jobs=town["jobs"] * factor).iloc[order]
    columns = {"weights": "people", "income": "income", "groups": "group"}
    found, same = (tl.inequality(each, "jobs", **columns)["value"].drop("mean", level=1) for each in (town, other))
    np.testing.assert_allclose(found, same, rtol=1e-7, atol=1e-9)


@given(towns(), st.data())
def test_a_transfer_from_rich_to_poor_lowers_inequality(town: pd.DataFrame, data: st.DataObject) -> None:
    """The principle of Pigou and Dalton."""
    town = each_person(town)
    poor, rich = town["jobs"].idxmin(), town["jobs"].idxmax()
    gap = town.loc[rich, "jobs"] - town.loc[poor, "jobs"]
    given_away = gap / data.draw(st.sampled_from([2, 4, 10]))
    after = town.copy()
    after.loc[rich, "jobs"] -= given_away
    after.loc[poor, "jobs"] += given_away
    found = tl.inequality(town, "jobs", after=after)
    for name in ("gini", "hoover", "theil_t", "atkinson", "palma"):
        before, later = found.loc[name, "before"], found.loc[name, "after"]
        assert not later > before + 1e-9, name


def test_palma_by_hand() -> None:
    """Ten people; the poorest four have 1, 2, 3 and 4, the richest 10."""
    ten = pd.DataFrame({"jobs": np.arange(1.0, 11.0)})
    found = tl.inequality(ten, income=pd.Series(np.arange(10.0, 0.0, -1.0)))["value"]
    assert found["palma"] == pytest.approx(10 / 10)
    # The four with the lowest income have 7 to 10, and the one with the highest 1.
    assert found["palma_by_income"] == pytest.approx(1 / 8.5)
    # Of five people, half of the fifth is the richest tenth.
    five = pd.DataFrame({"jobs": [1.0, 1.0, 2.0, 3.0, 3.0]})
    assert tl.inequality(five)["value"]["palma"] == pytest.approx(1.5 / 2)


def test_suits_at_its_ends() -> None:
    """0 if all have the same share of their income, near 1 if the richest has everything, near -1 if the poorest."""
    town = pd.DataFrame({"income": np.arange(1.0, 2001.0)})
    ends = {"proportional": town["income"], "richest": town["income"] == 2000, "poorest": town["income"] == 1}
    found = {
        name: tl.inequality(town.assign(jobs=values * 1.0), "jobs", income="income")["value"]["suits"]
        for name, values in ends.items()
    }
    assert found == pytest.approx({"proportional": 0.0, "richest": 1.0, "poorest": -1.0}, abs=2e-3)


def test_the_example_of_alkire_and_foster() -> None:
    """Four people in four dimensions, poor if deprived in two (Alkire, Foster 2011, section 5)."""
    people = pd.DataFrame(
        [(13.1, 14, 4, 1), (15.2, 7, 5, 0), (12.5, 10, 1, 0), (20, 11, 3, 1)],
        columns=["income", "school", "health", "insurance"],
    )
    limits = {"income": 13, "school": 12, "health": 3, "insurance": 1}
    found = tl.alkire_foster(people, limits, k=2)["value"]
    gaps = [5 / 12, 1, 0.5 / 13, 2 / 12, 2 / 3, 1]
    expected = {
        "headcount": 1 / 2, "intensity": 3 / 4, "m0": 3 / 8, "m1": sum(gaps) / 16, "m2": sum(g * g for g in gaps) / 16,
    }  # fmt: skip
    assert found.to_dict() == pytest.approx(expected, rel=1e-12)


@given(towns(), st.integers(1, 3), st.sampled_from([None, {"jobs": 3.0, "income": 2.0, "rooms": 1.0}]))
def test_alkire_foster_person_by_person(town: pd.DataFrame, k: int, heavy: dict[str, float] | None) -> None:
    town["rooms"] = 10.0 - town["income"]
    limits = {"jobs": 400.0, "income": 5.0, "rooms": 4.0}
    found = tl.alkire_foster(town, limits, k=k, weights="people", column_weights=heavy, above="rooms")["value"]
    weight = {name: (1.0 if heavy is None else heavy[name] / 2) for name in limits}
    people = each_person(town)
    poor, m0, m1 = 0, 0.0, 0.0
    for _, row in people.iterrows():
        gap = {name: (limits[name] - row[name]) / limits[name] * (-1 if name == "rooms" else 1) for name in limits}
        lacks = [name for name in limits if gap[name] > 0]
        if sum(weight[name] for name in lacks) >= k - 1e-9:
            poor += 1
            m0 += sum(weight[name] for name in lacks) / 3
            m1 += sum(weight[name] * gap[name] for name in lacks) / 3
    n = len(people)
    assert found[["headcount", "m0", "m1"]].tolist() == pytest.approx([poor / n, m0 / n, m1 / n])
    assert found["intensity"] * found["headcount"] == pytest.approx(found["m0"], nan_ok=True) or not poor


def test_the_result_of_accessibility() -> None:
    """Its value is found, and so is the change of a scenario; several travel times are refused."""
    network, places = tl.sample_network(), tl.sample_points()
    how: dict[str, Any] = {"transportation": "walking", "travel_time": 900}
    before = tl.accessibility(network, places, places, **how)
    streets = tl.CloseStreets(places.to_crs(network.crs).buffer(150).iloc[[0]])
    after = tl.accessibility(network.with_changes(streets), places, places, **how)
    found = tl.inequality(before, after=after)
    assert found.columns.tolist() == ["before", "after", "increase"]
    assert found.loc["mean", "before"] == pytest.approx(before["opportunities"].mean())
    assert found.loc["mean", "increase"] < 0
    several = tl.accessibility(network, places, places, transportation="walking", travel_time=[600, 900])
    with pytest.raises(tl.InputError, match="select one travel time"):
        tl.inequality(several)


TOWN = pd.DataFrame({"jobs": [1.0, 2.0], "shops": [0.0, 4.0], "people": [3, 0], "name": ["x", "y"]}, index=["a", "b"])


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({}, tl.InputError, "jobs, shops, people; name one of them"),
        ({"column": "job"}, tl.InputError, "did you mean 'jobs'"),
        ({"column": "name"}, tl.InputError, "must hold numbers"),
        (
            {"column": "jobs", "weights": pd.Series(pd.to_datetime(["2026", "2027"]), ["a", "b"])},
            tl.InputError,
            "got datetime",
        ),
        ({"column": "jobs", "weights": "persons"}, tl.InputError, "is not a column"),
        ({"column": "jobs", "weights": [1, 2]}, tl.InputError, "or a Series"),
        ({"column": "jobs", "weights": pd.Series([1.0], ["a"])}, tl.InputError, "none for 'b'"),
        ({"column": "jobs", "weights": pd.Series([0, 0], ["a", "b"])}, tl.InputError, "all 0"),
        ({"column": "jobs", "weights": pd.Series([0, -1], ["a", "b"])}, tl.InputError, "at least 0"),
        ({"column": "jobs", "income": pd.Series([1.0, np.nan], ["a", "b"])}, tl.InputError, "no value in 1 of 2"),
        ({"column": "jobs", "groups": pd.Series(["u", None], ["a", "b"])}, tl.InputError, "no value for 'b'"),
        ({"column": "jobs", "groups": pd.Series(["u", "all"], ["a", "b"])}, tl.InputError, "rename it"),
        ({"column": "jobs", "after": TOWN.iloc[:1]}, tl.InputError, "the places of table"),
        ({"column": "jobs", "after": 3}, tl.InputError, "DataFrame"),
        ({"column": "jobs", "threshold": 0}, tl.LimitError, "above 0"),
        ({"column": "jobs", "epsilon": -1}, tl.LimitError, "from 0 to 100"),
        ({"column": "jobs", "epsilon": float("nan")}, tl.LimitError, "from 0 to 100"),
        ({"column": ["jobs"]}, tl.InputError, "name of a column"),
        ({"column": "jobs", "deprived": "less"}, tl.InputError, "deprived"),
    ],
)
def test_what_makes_no_sense_is_refused(how: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tl.inequality(TOWN, **how)


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"thresholds": {}}, tl.InputError, "at least one column"),
        ({"thresholds": {"jobs": 0}}, tl.LimitError, "above 0"),
        ({"thresholds": {"job": 1}}, tl.InputError, "did you mean 'jobs'"),
        ({"k": 3}, tl.LimitError, "at most 2"),
        ({"k": 0}, tl.LimitError, "above 0"),
        ({"above": "people"}, tl.InputError, "has no threshold"),
        ({"column_weights": {"jobs": 1}}, tl.InputError, "lacks 'shops'"),
        ({"column_weights": {"jobs": 1, "shops": -1}}, tl.LimitError, "above 0"),
    ],
)
def test_poverty_that_makes_no_sense_is_refused(how: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tl.alkire_foster(TOWN, **{"thresholds": {"jobs": 2, "shops": 1}, "k": 1, **how})


def test_nothing_for_anybody() -> None:
    found = tl.inequality(pd.DataFrame({"jobs": [0.0, 0.0]}), threshold=2)["value"]
    assert found["mean"] == 0.0
    assert found[["fgt_0", "fgt_1", "fgt_2"]].tolist() == [1.0, 1.0, 1.0]
    assert found[["gini", "palma", "atkinson", "theil_l"]].isna().all()


def test_groups_without_people_have_no_indices() -> None:
    found = tl.inequality(TOWN, "jobs", weights="people", groups="name", threshold=2)["value"]
    assert found["y"].isna().all()
    assert found["x"]["mean"] == found["all"]["mean"] == 1.0


def test_columns_may_have_other_names_than_texts() -> None:
    numbered = pd.DataFrame({5: [1.0, 2.0]})
    assert tl.inequality(numbered, 5)["value"]["mean"] == tl.inequality(numbered)["value"]["mean"] == 1.5
    assert tl.alkire_foster(numbered, {5: 2}, k=1)["value"]["headcount"] == 0.5
    twice = pd.DataFrame([[1.0, 2.0]], columns=["jobs", "jobs"])
    with pytest.raises(tl.InputError, match="2 columns"):
        tl.inequality(twice, "jobs")


def test_atkinson_is_smooth_at_one() -> None:
    table = pd.DataFrame({"jobs": [1.0, 2.0, 5.0]})
    close, at_one = (tl.inequality(table, epsilon=each)["value"]["atkinson"] for each in (1.0 + 1e-13, 1.0))
    assert close == pytest.approx(at_one, rel=1e-9)
    assert tl.inequality(table, epsilon=0)["value"]["atkinson"] == pytest.approx(0.0, abs=1e-15)
    assert tl.inequality(table, epsilon=100)["value"]["atkinson"] == pytest.approx(1 - 1 / (8 / 3), rel=0.02)
