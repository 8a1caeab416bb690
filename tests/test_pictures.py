"""Still maps: colours mean what the legend says, words keep apart, wrong input is told."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import matplotlib as mpl
import pandas as pd
import pytest
import shapely
from matplotlib import pyplot
from worlds import at, world

import traveltime_lab as tl
from traveltime_lab import looks, map_scenes, pictures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traveltime_lab.network import Network

mpl.use("agg")
FEET = {"transportation": "walking", "level_of_detail": "low"}


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def rings(network: Network, places: Any, *limits: int) -> gpd.GeoDataFrame:
    return pd.concat([tl.time_map(network, places, travel_time=limit, **FEET) for limit in limits])


def words(ax: Any) -> list[Any]:
    ax.figure.draw_without_rendering()
    return [text for text in ax.texts if text.get_text()]


def test_rings_have_the_colours_of_the_legend(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    ax = tl.plot(helsinki, rings(helsinki, home, 180, 360, 540), home, title="Rings")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["3 min", "6 min", "9 min"]
    filled = [mpl.colors.to_hex(patch.get_facecolor()) for patch in ax.patches if patch.get_alpha()]
    assert filled == looks.ramp(3)[::-1], "large rings first"
    assert ax.get_title(loc="left") == "Rings"
    assert "OpenStreetMap" in " ".join(text.get_text() for text in ax.texts)
    assert any(text.get_text().endswith(" m") for text in ax.texts), "a scale bar"


def test_bands_do_not_overlap(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    scene = map_scenes.scene_of(helsinki, rings(helsinki, home, 180, 360, 540), home, None, None, None)
    bands = [shape for _, shape, _ in map_scenes.bands(scene)]
    assert all(shapely.intersection(a, b).area < 1.0 for a, b in itertools.combinations(bands, 2))
    assert sum(band.area for band in bands) == pytest.approx(scene.area_shapes[2].area, rel=1e-3)


def test_words_keep_apart(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    ax = tl.plot(helsinki, rings(helsinki, places.iloc[[0]], 300), places)
    extents = [text.get_window_extent() for text in words(ax) if not text.get_rotation()]
    assert len(extents) > len(places), "names, scale and source"
    assert not any(a.overlaps(b) for a, b in itertools.combinations(extents, 2))
    written = {text.get_text() for text in ax.texts}
    assert set(places.index) <= written
    assert not set(places.index) & {text.get_text() for text in words(tl.plot(helsinki, None, places, labels=False))}


def test_several_origins_have_their_own_colours(helsinki: Network) -> None:
    places = tl.sample_points("helsinki").iloc[:3]
    ax = tl.plot(helsinki, rings(helsinki, places, 300), places)
    legend = ax.get_legend()
    assert legend.get_title().get_text() == "within 5 min"
    assert [text.get_text() for text in legend.get_texts()] == list(places.index)
    colours = [mpl.colors.to_hex(handle.get_facecolor()) for handle in legend.legend_handles]
    assert colours == list(looks.ORIGIN_COLOURS[:3])
    # One shape without numbers needs no legend.
    assert tl.plot(helsinki, tl.union(rings(helsinki, places, 300))).get_legend() is None


def test_lines_are_not_areas(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    routes = tl.routes(helsinki, places.iloc[[0]], places.iloc[1:3], transportation="walking")
    with pytest.raises(tl.InputError, match="pass lines as lines="):
        tl.plot(helsinki, routes)


def test_column_gets_a_scale(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    times = tl.time_filter(helsinki, places.iloc[[0]], places, travel_time=3600, transportation="walking")
    times.loc[3, "travel_time"] = pd.NA
    ax = tl.plot(helsinki, points=times, column="travel_time")
    assert ax.get_legend() is None
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel() == "minutes"
    assert scale.get_ylim()[1] == pytest.approx(times["travel_time"].max() / 60)
    unknown, known = (part.get_offsets().shape[0] for part in ax.collections[-2:])
    assert (unknown, known) == (1, len(places) - 1)


def test_many_values_of_areas_get_a_scale(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    ax = tl.plot(helsinki, rings(helsinki, home, *range(60, 660, 60)))
    assert ax.get_legend() is None
    assert len(ax.figure.axes) == 2


def test_lines_any_crs_and_an_empty_map() -> None:
    network = world({"a": (0, 0), "b": (900, 0)}, [("a", "b")])
    ends = at((0, 0), (900, 0))
    route = tl.time_filter(
        network, ends.iloc[[0]], ends.iloc[[1]], travel_time=900, transportation="walking", properties=("route",)
    )
    ax = tl.plot(network, points=ends.to_crs(3857), lines=route.to_crs(3857))
    west, east = ax.get_xlim()
    assert west < -450 < 450 < east, "metres from the middle of the network"
    assert tl.plot(network).get_xlim() == pytest.approx((west, east))
    empty = tl.time_map(network, at((90_000, 0)), travel_time=60)
    assert tl.plot(network, empty) is not None


def test_given_axes_and_bounds(helsinki: Network) -> None:
    _, (left, right) = pyplot.subplots(1, 2)
    west, south, east, north = helsinki.bounds
    assert tl.plot(helsinki, ax=right, bounds=(west, south, (west + east) / 2, north)) is right
    assert not left.collections and right.collections


@pytest.mark.parametrize(("file_format", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_save(helsinki: Network, file_format: str, head: bytes) -> None:
    buffer = io.BytesIO()
    pictures.save(buffer, helsinki, size=3, file_format=file_format, street_names=False)
    assert buffer.getvalue().startswith(head)
    assert not pyplot.get_fignums(), "no figure is left behind"


def test_letters_without_a_font_are_left_out(recwarn: pytest.WarningsRecorder) -> None:
    network = world({"a": (0, 0), "b": (900, 0)}, [("a", "b", {"name": "\u5927\u8857"})])
    pictures.save(io.BytesIO(), network, size=4, file_format="png")
    assert not recwarn


def test_errors(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    with pytest.raises(tl.CrsError, match=r"points has no CRS; say .*set_crs"):
        tl.plot(helsinki, points=places.set_crs(None, allow_override=True))
    with pytest.raises(tl.InputError, match="areas must be a GeoDataFrame"):
        tl.plot(helsinki, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(tl.InputError, match="first argument must be a Network"):
        tl.plot(places, helsinki)  # type: ignore[arg-type]
    with pytest.raises(tl.InputError, match="column 'jobs'"):
        tl.plot(helsinki, points=places, column="jobs")
    with pytest.raises(tl.InputError, match="points must hold points"):
        tl.plot(helsinki, points=places.to_crs(helsinki.crs).buffer(9))
    with pytest.raises(tl.InputError, match="no option 'colour'"):
        pictures.save(io.BytesIO(), helsinki, colour="red")
