"""Two maps of one extent and one scale."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import traveltime_lab as tl

pyplot = pytest.importorskip("matplotlib.pyplot")


def squares(network: tl.Network, values: list[float], **columns: Any) -> gpd.GeoDataFrame:
    """Return squares from west to east in the middle of a network, with a column `jobs`."""
    west, south, east, north = network.bounds
    lng = np.linspace(west, east, len(values) + 2)[1:-1]
    step = (east - west) / 40
    shapes = [shapely.box(x - step, (south + north) / 2 - step, x + step, (south + north) / 2 + step) for x in lng]
    return gpd.GeoDataFrame({"jobs": values, **columns}, geometry=shapes, crs="EPSG:4326")


@pytest.mark.thorough
def test_extent_and_scale_are_those_of_both(helsinki: tl.Network) -> None:
    before, after = squares(helsinki, [10, 20, 30]), squares(helsinki, [5, 15, 25, 35])
    figure = tl.side_by_side(helsinki, before, after, column="jobs", titles=("now", "then"))
    maps = figure.axes[:2]
    assert [ax.get_title(loc="left") for ax in maps] == ["now", "then"]
    assert maps[0].get_xlim() == maps[1].get_xlim()
    assert maps[0].get_ylim() == maps[1].get_ylim()
    assert [tuple(ax.get_ylim()) for ax in figure.axes[2:]] == [(5.0, 35.0)] * 2, "colour bars"
    x, _ = helsinki.frame.to_xy(*np.array(shapely.total_bounds([*before.geometry, *after.geometry])).reshape(2, 2).T)
    assert maps[0].get_xlim()[0] <= x[0] < x[1] <= maps[0].get_xlim()[1]
    alone = tl.plot(helsinki, after, column="jobs", vmin=5, vmax=35)
    drawn, expected = ([tuple(np.round(patch.get_facecolor(), 6)) for patch in ax.patches] for ax in (maps[1], alone))
    assert drawn == expected


def test_limits_that_are_given_are_kept(helsinki: tl.Network) -> None:
    both = squares(helsinki, [10, 20]), squares(helsinki, [30, 40])
    figure = tl.side_by_side(helsinki, *both, column="jobs", vmin=0, vmax=100)
    assert [tuple(ax.get_ylim()) for ax in figure.axes[2:]] == [(0.0, 100.0)] * 2


def test_one_result_may_be_empty(helsinki: tl.Network) -> None:
    areas = squares(helsinki, [10, 20])
    figure = tl.side_by_side(helsinki, areas, areas.iloc[:0], column="jobs")
    assert figure.axes[0].get_xlim()[0] == figure.axes[1].get_xlim()[0]


@pytest.mark.thorough
def test_rings_of_a_changed_network(helsinki: tl.Network) -> None:
    homes = gpd.GeoSeries([shapely.Point(24.943, 60.170)], crs="EPSG:4326")
    changed = helsinki.with_changes([tl.CloseStreets(shapely.box(24.944, 60.16, 24.9445, 60.18))])
    areas = [tl.time_map(each, homes, travel_time=[300, 600], transportation="walking") for each in (helsinki, changed)]
    figure = tl.side_by_side(helsinki, *areas, homes, network_after=changed)
    assert len(figure.axes) == 2


@pytest.mark.parametrize("titles", ["no", ("one",), (1, 2), None])
def test_titles_are_two_texts(helsinki: tl.Network, titles: Any) -> None:
    with pytest.raises(tl.InputError, match="titles must be two texts"):
        tl.side_by_side(helsinki, *[squares(helsinki, [1])] * 2, titles=titles)


@pytest.mark.parametrize(
    "far",
    [
        gpd.GeoSeries([shapely.Point(1e300, -1e300)], crs="EPSG:3857"),
        gpd.GeoSeries([shapely.Point(-179.9, 89.9)], crs="EPSG:4326"),
        gpd.GeoSeries([shapely.Point(1e6, 2e5)], crs="EPSG:2263"),
    ],
    ids=["off every map", "at the pole", "in another country"],
)
def test_results_that_are_far_from_each_other_make_no_strip(helsinki: tl.Network, far: gpd.GeoSeries) -> None:
    figure = tl.side_by_side(helsinki, squares(helsinki, [1]), far)
    wide, high = figure.get_size_inches()
    assert high <= wide
