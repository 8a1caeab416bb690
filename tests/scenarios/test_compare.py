"""Comparisons of results before and after: pairs, matrices, areas, cells and accessibility, and maps of them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from tests.support import worlds
from traveltime_lab.maps import style
from traveltime_lab.maps.scene import scene_of


@pytest.fixture(scope="module")
def nets() -> tuple[tl.Network, tl.Network]:
    """Two streets of 900 m with rungs, and the same with one closed and another twice as fast."""
    nodes = {(i, j): (300.0 * i, 300.0 * j) for i in range(4) for j in range(2)}
    streets = [((i, j), (i + 1, j)) for i in range(3) for j in range(2)] + [((i, 0), (i, 1)) for i in range(4)]
    net = worlds.world(nodes, streets)
    middle = shapely.line_interpolate_point(net.edges_frame().geometry.array, 0.5, normalized=True)

    def edge(x: float, y: float) -> int:
        return int(shapely.distance(middle, worlds.at((x, y)).iloc[0]).argmin())

    return net, net.with_changes([tl.CloseStreets(edges=edge(450, 0)), tl.SetSpeed(edges=edge(750, 300), factor=2)])


PLACES = worlds.at((10.0, 0.0), (890.0, 0.0), (450.0, 5.0), (450.0, 300.0), (890.0, 300.0))


def both(nets: Any, ask: Any, **how: Any) -> tuple[Any, Any]:
    return tuple(ask(net, PLACES, transportation="walking", **how) for net in nets)


def test_pairs_and_matrices(nets: Any) -> None:
    before, after = (tl.time_filter(net, PLACES, PLACES, travel_time=3600, transportation="walking") for net in nets)
    found = tl.compare(before, after).set_index(["origin", "destination"])
    assert found.loc[(0, 2), "change"] == "lost" and np.isnan(found.loc[(0, 2), "increase"])
    assert found.loc[(0, 1), "change"] == "more" and found.loc[(0, 1), "increase"] > 0
    assert found.loc[(3, 4), "change"] == "less" and found.loc[(3, 4), "increase"] == pytest.approx(-30, abs=1)
    assert found.loc[(0, 0), "change"] == "same"
    assert tl.compare(after, before).set_index(["origin", "destination"]).loc[(0, 2), "change"] == "gained"
    wide = [
        tl.time_filter(net, PLACES, PLACES, travel_time=3600, transportation="walking", form="matrix") for net in nets
    ]
    again = tl.compare(wide[0], wide[1].iloc[::-1, ::-1]).set_index(["origin", "destination"])
    pd.testing.assert_frame_equal(again, found[again.columns], check_index_type=False, check_names=False)
    sparse = [
        tl.time_filter(net, PLACES, PLACES, travel_time=3600, transportation="walking", form="sparse") for net in nets
    ]
    assert tl.compare(*sparse)["change"].value_counts().to_dict() == found["change"].value_counts().to_dict()


def test_areas(nets: Any) -> None:
    before, after = both(nets, tl.time_map, travel_time=[60, 120])
    found = tl.compare(before, after)
    assert len(found) == 4 * len(PLACES) and found.crs == "EPSG:4326"
    kept = found["increase"].groupby([found.index, found["travel_time"]]).sum()
    whole = found.drop_duplicates(["travel_time", "before", "after"])
    assert np.allclose(kept.to_numpy(), (found["after"] - found["before"]).to_numpy()[::2], atol=1.0)
    assert len(whole) > 1 and found["increase"].max() > 0 > found["increase"].min()
    lost = found.loc[2].query("change == 'lost' and travel_time == 60")
    # Nothing but the origin is left around a closed one.
    assert lost["after"].iloc[0] < 200 and lost["increase"].iloc[0] == pytest.approx(-lost["before"].iloc[0], rel=0.05)
    metric = gpd.GeoSeries(before.geometry).to_crs(nets[0].crs).area.to_numpy()
    assert np.allclose(found["before"].to_numpy()[::2], metric, rtol=0.01)


@pytest.mark.thorough
def test_maps_of_areas_show_what_was_gained_and_lost(nets: Any) -> None:
    pytest.importorskip("matplotlib").use("agg")
    found = tl.compare(*both(nets, tl.time_map, travel_time=60))

    def drawn(table: Any) -> tuple[list[str], list[str], int]:
        ax = tl.plot(nets[0], table)
        words = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []
        notes = [text.get_text() for text in ax.texts if "nothing" in text.get_text().lower()]
        return words, notes, len(ax.figure.axes)

    assert drawn(found) == (["gained", "lost"], [], 1), "two colours, not a scale of square metres"
    assert drawn(found[found["change"] == "lost"]) == (["lost"], [], 1)
    nothing = tl.compare(*both((nets[0], nets[0]), tl.time_map, travel_time=60))
    assert drawn(nothing) == ([], ["Nothing gained and nothing lost"], 1)
    assert len(tl.plot(nets[0], found, column="increase").figure.axes) == 2, "asked for, a scale"


@pytest.mark.slow
def test_cells_and_accessibility(nets: Any) -> None:
    before, after = both(nets, tl.h3_cells, travel_time=90, resolution=10)
    found = tl.compare(before, after)
    assert {"gained", "lost", "same"} <= set(found["change"].dropna()) and found.crs == "EPSG:4326"
    assert not found.duplicated(["origin", "cell"]).any() and found.geometry.notna().all()
    assert (found["before"].notna().sum(), found["after"].notna().sum()) == (len(before), len(after))
    ax = tl.plot(nets[0], found)
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert [text.get_text() for text in scale.texts] == ["gained", "lost"], "these have no difference"
    assert scale.get_ylim()[0] == -scale.get_ylim()[1]
    plain = tl.compare(*both(nets, tl.h3_cells, travel_time=90, resolution=10, geometry=False), column="min")
    assert not isinstance(plain, gpd.GeoDataFrame) and len(plain) == len(found)
    jobs = PLACES.to_frame("geometry").assign(jobs=[1, 2, 3, 4, 5], beds=1)
    reach = [
        tl.accessibility(net, PLACES, jobs, values=["jobs", "beds"], travel_time=200, transportation="walking")
        for net in nets
    ]
    with pytest.raises(tl.InputError, match="accessibility has the values 'jobs', 'beds'; say which with column="):
        tl.compare(*reach)
    with pytest.raises(
        tl.InputError, match="before has no column of accessibility, only travel_time_limit, reason and"
    ):
        tl.compare(*(table[["travel_time_limit", "reason", "geometry"]] for table in reach))
    gains = tl.compare(*reach, column="jobs")
    assert gains.loc[2, "change"] == "less" and gains.loc[2, "after"] == 3 and gains.geometry.geom_equals(PLACES).all()


def test_matrices_without_rows() -> None:
    nothing = pd.DataFrame({"a": [1.0], "b": [2.0]}).iloc[:0]
    compared = tl.compare(nothing, nothing)
    assert len(compared) == 0 and {"origin", "destination", "before", "after"} <= set(compared.columns)


def test_errors(nets: Any) -> None:
    areas, cells = (
        both(nets, ask, travel_time=90, **how)[0] for ask, how in ((tl.time_map, {}), (tl.h3_cells, {"resolution": 9}))
    )
    for one, other, message in (
        (areas, cells, "results of one function; got areas and cells"),
        (areas, areas.iloc[1:], "have different origins or limits"),
        (areas, 5, "after must be a table of results; got int"),
        (pd.DataFrame({"a": ["x"]}), areas, "before is no result of time_filter"),
        (pd.concat([cells, cells]), cells, "before has several rows for the same origin, cell"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), "have different columns"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2]}, index=[1, 2]), "have different index"),
    ):
        with pytest.raises(tl.InputError, match=message):
            tl.compare(one, other)
    with pytest.raises(tl.InputError, match="has no column 'walk'"):
        tl.compare(cells, cells, column="walk")
    with pytest.raises(tl.InputError, match="column is for tables with several columns"):
        tl.compare(areas, areas, column="travel_time")


@pytest.mark.thorough
def test_maps_of_differences_are_centred_on_zero(nets: Any) -> None:
    found = tl.compare(*both(nets, tl.h3_cells, travel_time=90, resolution=10))
    scene = scene_of(nets[0], found, None, None, None, None)
    low, high = scene.limits
    assert scene.is_diverging and low == -high == -np.nanmax(np.abs(found["increase"]))
    assert scene.place(np.array([0.0, low, high, np.nan])) == [
        style.diverging_colour(0), style.diverging_colour(-1), style.diverging_colour(1), style.NO_VALUE
    ]  # fmt: skip
    assert style.diverging_colour(0) == "#f7f7f7"
    pytest.importorskip("matplotlib").use("agg")
    bar = tl.plot(nets[0], found, PLACES).figure.axes[-1]
    assert bar.get_ylim()[0] == pytest.approx(-bar.get_ylim()[1])
    assert bar.get_ylabel() == "increase"
    dots = tl.compare(
        *(tl.accessibility(net, PLACES, PLACES, travel_time=90, transportation="walking") for net in nets)
    )
    assert scene_of(nets[0], None, dots, None, None, None).is_diverging
    none = gpd.GeoDataFrame(
        {"before": [1.0], "after": [1.0], "increase": [0.0]}, geometry=[shapely.box(0.5, 0.5, 0.501, 0.501)], crs=4326
    )
    assert scene_of(nets[0], none, None, None, None, None).limits == (-1.0, 1.0)


LABELS = {
    "numbers": [0, 1],
    "texts": ["x", "y"],
    "both": ["x", 1],
    "moments": pd.to_datetime(["2026-01-01", "2026-01-02"]),
    "moments with zones": pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True),
    "floats": [0.5, 1.5],
    "categories": pd.Categorical(["x", "y"]),
    "dates": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
    "truths": [True, False],
}


@pytest.mark.parametrize("before", LABELS)
@pytest.mark.parametrize("after", LABELS)
def test_labels_of_any_types(before: str, after: str) -> None:
    """Results with labels of different types are compared, or refused with an error of the library."""
    ends = {"origin": "destination"}
    tables = []
    for kind in (before, after):
        labels = pd.Index(LABELS[kind])
        pairs = pd.DataFrame({name: labels for pair in ends.items() for name in pair}).assign(travel_time=[60, 90])
        tables.append(pairs)
    try:
        found = tl.compare(*tables)
    except tl.InputError as error:
        assert before != after and "labels of different types" in str(error)
    else:
        assert 2 <= len(found) <= 4
        assert before != after or (found["change"] == "same").all()


def test_values_that_are_no_labels() -> None:
    pairs = pd.DataFrame({"origin": [[1], [2]], "destination": [1, 2], "travel_time": [60, 90]})
    with pytest.raises(tl.InputError, match="before has values in origin, destination that are no labels"):
        tl.compare(pairs, pairs)
