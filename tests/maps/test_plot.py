"""Still maps: colours mean what the legend says, words keep apart, wrong input is told."""

from __future__ import annotations

import copy
import io
import itertools
import math
import pickle
import sys
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import matplotlib as mpl
import pandas as pd
import pytest
import shapely
from matplotlib import pyplot

import traveltime_lab as tl
from tests.support.combinations import first_of
from tests.support.worlds import at, world
from traveltime_lab.maps import plot, style
from traveltime_lab.maps import scene as map_scenes

pytestmark = pytest.mark.quick

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

mpl.use("agg")
FEET = {"transportation": "walking", "level_of_detail": "low"}


def rings(network: Network, places: Any, *limits: int) -> gpd.GeoDataFrame:
    return pd.concat([tl.time_map(network, places, travel_time=limit, **FEET) for limit in limits])


def words(ax: Any) -> list[Any]:
    ax.figure.draw_without_rendering()
    return [text for text in ax.texts if text.get_text()]


@pytest.mark.pythons
def test_rings_have_the_colours_of_the_legend(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    ax = tl.plot(helsinki, rings(helsinki, home, 180, 360, 540), home, title="Rings")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["3 min", "6 min", "9 min"]
    filled = [
        mpl.colors.to_hex(patch.get_facecolor()) for patch in ax.patches if patch.get_alpha() == style.AREA_OPACITY
    ]
    assert filled == style.ramp(3)[::-1], "large rings first"
    assert ax.get_title(loc="left") == "Rings"
    assert "OpenStreetMap" in " ".join(text.get_text() for text in ax.texts)
    assert any(text.get_text().endswith(" m") for text in ax.texts), "a scale bar"


def test_bands_do_not_overlap(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    scene = map_scenes.scene_of(helsinki, rings(helsinki, home, 180, 360, 540), home, None, None, None)
    bands = [shape for _, shape, _ in map_scenes.bands(scene)]
    assert all(shapely.intersection(a, b).area < 1.0 for a, b in itertools.combinations(bands, 2))
    assert sum(band.area for band in bands) == pytest.approx(scene.area_shapes[2].area, rel=1e-3)


@pytest.mark.thorough
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
    assert colours == list(style.ORIGIN_COLOURS[:3])
    # One shape without numbers needs no legend.
    assert tl.plot(helsinki, tl.union(rings(helsinki, places, 300))).get_legend() is None


def test_points_and_routes_among_areas_are_drawn_as_what_they_are(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    routes = tl.routes(helsinki, places.iloc[[0]], places.iloc[1:3], transportation="walking")
    ax = tl.plot(helsinki, routes)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split(",")[0] for text in texts] == [f"to {name}" for name in places.index[1:3]]
    colours = [handle.get_color() for handle in ax.get_legend().legend_handles]
    assert colours == list(style.ORIGIN_COLOURS[:2])
    drawn = {mpl.colors.to_hex(part.get_color()[0]) for part in ax.collections}
    assert drawn >= set(colours)
    assert set(places.index) <= {text.get_text() for text in tl.plot(helsinki, places).texts}
    mixed = map_scenes.scene_of(helsinki, routes, places, None, None, None)
    assert (len(mixed.points), len(mixed.line_shapes), len(mixed.area_shapes)) == (len(places), 2, 0)


def test_routes_over_areas_of_several_origins_have_dashes(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    routes = tl.routes(helsinki, places.iloc[[0]], places.iloc[1:3], transportation="walking")
    scene = map_scenes.scene_of(helsinki, rings(helsinki, places.iloc[:2], 300), places, routes, None, None)
    styles = list(map_scenes.line_styles(scene).values())
    assert {colour for colour, _ in styles} == {style.ROUTE}
    assert len({str(dashes) for _, dashes in styles}) == 2


def test_street_names_keep_off_routes(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    routes = tl.routes(helsinki, places.iloc[[0]], places.iloc[1:], transportation="walking")
    ax = tl.plot(helsinki, routes)
    scene = map_scenes.scene_of(helsinki, routes, None, None, None, None)
    lines = shapely.transform(shapely.union_all(scene.line_shapes), ax.transData.transform)
    names = [text for text in ax.texts if text.get_color() == style.STREET_LABEL]
    middles = [shapely.Point(ax.transData.transform(text.get_position())) for text in names]
    assert len(names) > 3
    assert min(shapely.distance(middles, lines)) > 5.0


def test_column_gets_a_scale(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    times = tl.time_filter(helsinki, places.iloc[[0]], places, travel_time=3600, transportation="walking")
    times.loc[3, "travel_time"] = pd.NA
    ax = tl.plot(helsinki, points=times, column="travel_time")
    assert ax.get_legend() is None
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel() == "travel time, min"
    assert [text.get_text() for text in scale.texts] == ["not\nreached"]
    assert scale.get_ylim()[1] == pytest.approx(times["travel_time"].max() / 60)
    unknown, known = (part.get_offsets().shape[0] for part in ax.collections[-2:])
    assert (unknown, known) == (1, len(places) - 1)


@pytest.mark.thorough
def test_many_values_of_areas_get_a_scale(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    ax = tl.plot(helsinki, rings(helsinki, home, *range(60, 660, 60)))
    assert ax.get_legend() is None
    assert len(ax.figure.axes) == 2


def legend_cells(ax: Any) -> list[str]:
    """Return the words in the cells of a legend's rows."""
    return [text.get_text() for text in ax.get_legend().findobj(mpl.text.Text) if text.get_text().isdigit()]


@pytest.mark.thorough
def test_rings_of_several_origins_share_a_row_of_limits(helsinki: Network) -> None:
    places = tl.sample_points("helsinki").iloc[:2]
    limits = range(60, 540, 60)
    ax = tl.plot(helsinki, rings(helsinki, places, *limits), places)
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["within, min", *places.index]
    assert legend_cells(ax) == [str(limit // 60) for limit in limits]
    ground, room = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert ground.width * ground.height < 0.1 * room.width * room.height or ground.y1 <= room.y0 + 1
    outlines = [patch for patch in ax.patches if patch.get_facecolor()[3] == 0]
    assert len(outlines) == len(places), "one for each origin"


def test_a_large_legend_stands_below_the_map(helsinki: Network) -> None:
    places = tl.sample_points("helsinki").iloc[:5]
    places.index = [f"A place with a very long name, of which there are many, number {i}" for i in range(5)]
    ax = tl.plot(helsinki, rings(helsinki, places, 120), places, size=4)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y1 <= ax.get_window_extent().y0 + 1
    assert max(ax.figure.get_size_inches()) == pytest.approx(4)


@pytest.mark.slow
def test_ten_origins_have_numbers(helsinki: Network) -> None:
    at_x = [24.935 + 0.002 * i for i in range(10)]
    homes = gpd.GeoDataFrame(geometry=gpd.points_from_xy(at_x, [60.17] * 10), index=list("ABCDEFGHIJ"), crs=4326)
    areas = rings(helsinki, homes, 120)
    scene = map_scenes.scene_of(helsinki, areas, homes, None, None, None)
    assert set(scene.numbers.values()) == set("ABCDEFGHIJ"), "short names are their own numbers"
    homes.index = areas.index = [f"Doctor {name}" for name in homes.index]
    ax = tl.plot(helsinki, areas, homes)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{i + 1}  {name}" for i, name in enumerate(homes.index)
    ]
    assert {str(i + 1) for i in range(10)} <= {text.get_text() for text in ax.texts}
    colours = [row[0] for row in map_scenes.scene_of(helsinki, areas, homes, None, None, None).group_colours.values()]
    assert len(set(colours)) == len(style.ORIGIN_COLOURS)
    assert all(a != b for a, b in itertools.pairwise(colours)), "neighbours differ"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "words"), [(None, "mean travel time, min"), ("max", "longest travel time, min"), ("min", "shortest")]
)
def test_cells_are_coloured_by_minutes(helsinki: Network, column: str | None, words: str) -> None:
    homes = tl.sample_points("helsinki").iloc[:2]
    cells = tl.h3_cells(helsinki, homes, travel_time=420, resolution=9, transportation="walking")
    ax = tl.plot(helsinki, cells, column=column)
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel().startswith(words)
    assert scale.get_ylim()[1] == pytest.approx(cells[column or "mean"].max() / 60)
    assert len([patch for patch in ax.patches if patch.get_alpha() == style.AREA_OPACITY]) == cells["cell"].nunique()


def scale_of(ax: Any) -> Any:
    return next(other for other in ax.figure.axes if other is not ax)


def dots(network: Network, values: list[float]) -> gpd.GeoDataFrame:
    west, south, east, north = network.bounds
    step = (east - west) / (len(values) + 1)
    points = [shapely.Point(west + step * (i + 1), (south + north) / 2) for i in range(len(values))]
    return gpd.GeoDataFrame({"value": values}, geometry=points, crs="EPSG:4326")


def colours_of(ax: Any) -> list[str]:
    return [mpl.colors.to_hex(colour) for colour in ax.collections[-1].get_facecolors()]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["NaturalBreaks", "quantiles", "equal_interval", "fisher_jenks"])
def test_schemes_are_those_of_mapclassify(helsinki: Network, scheme: str) -> None:
    mapclassify = pytest.importorskip("mapclassify")
    values = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 89.0]
    points = dots(helsinki, values)
    ax = tl.plot(helsinki, points=points, column="value", scheme=scheme, k=4, cmap="viridis", street_names=False)
    expected = mapclassify.classify(points["value"].to_numpy(), scheme, k=4)
    tones = [mpl.colors.to_hex(mpl.colormaps["viridis"](code / 3)) for code in range(4)]
    assert colours_of(ax) == [tones[code] for code in expected.yb]
    assert scale_of(ax).get_yticks()[1:] == pytest.approx(expected.bins)


def test_given_ends_of_the_scale(helsinki: Network) -> None:
    points = dots(helsinki, [0.0, 50.0, 100.0, 150.0])
    ax = tl.plot(helsinki, points=points, column="value", cmap="gray", vmin=50, vmax=100, street_names=False)
    assert colours_of(ax) == ["#000000", "#000000", "#ffffff", "#ffffff"]
    assert scale_of(ax).get_ylim() == (50, 100)


@pytest.mark.thorough
def test_values_that_are_far_out_do_not_wash_out_the_others(helsinki: Network) -> None:
    homes = tl.sample_points("helsinki").iloc[[0]]
    cells = tl.h3_cells(helsinki, homes, travel_time=420, resolution=10, transportation="walking")
    plain = tl.plot(helsinki, cells, street_names=False)
    odd = cells.assign(mean=cells["mean"].where(cells.index > 0, 100_000))
    drawn = tl.plot(helsinki, odd, street_names=False)
    assert scale_of(drawn).get_ylim() == pytest.approx(scale_of(plain).get_ylim(), rel=0.1)
    everything = tl.plot(helsinki, odd, vmax=100_000, street_names=False)
    assert scale_of(everything).get_ylim()[1] == pytest.approx(100_000 / 60)


def test_rings_with_colours_of_a_scale(helsinki: Network) -> None:
    homes = tl.sample_points("helsinki").iloc[[0]]
    ax = tl.plot(helsinki, rings(helsinki, homes, 120, 240, 360), cmap="magma", street_names=False)
    assert ax.get_legend() is None and scale_of(ax).get_ylim() == (2, 6)


@pytest.mark.slow
@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0, 5.0], [0.0, 0.0, 7.0]])
def test_schemes_of_few_values(helsinki: Network, values: list[float]) -> None:
    pytest.importorskip("mapclassify")
    tl.plot(helsinki, points=dots(helsinki, values), column="value", scheme="quantiles", street_names=False)


@pytest.mark.slow
def test_wrong_colours(helsinki: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"points": dots(helsinki, [1.0, 2.0]), "column": "value"}
    for wrong, words in (
        ({"cmap": "no such map"}, "cmap 'no such map' is unknown"),
        ({"cmap": 5}, "cmap must be the name of a colormap"),
        ({"scheme": "circles"}, "scheme 'circles' is unknown; mapclassify has .*Quantiles"),
        ({"scheme": "quantiles", "vmin": 1}, "vmin and vmax are for a continuous scale"),
        ({"vmin": 2, "vmax": 2}, "vmin must be less than vmax"),
        ({"vmin": -math.inf}, "vmin and vmax must be finite numbers"),
        ({"vmax": math.nan}, "vmin and vmax must be finite numbers"),
        ({"vmin": -(10**400), "vmax": 2}, "vmin and vmax must be finite numbers"),
        ({"scheme": "quantiles", "k": 1}, "k must be"),
    ):
        with pytest.raises(tl.InputError, match=words):
            tl.plot(helsinki, **asked, **wrong)
    monkeypatch.setitem(sys.modules, "mapclassify", None)
    with pytest.raises(tl.MissingDependencyError, match=r"scheme needs mapclassify; .*traveltime_lab\[notebook\]"):
        tl.plot(helsinki, **asked, scheme="quantiles")


@pytest.mark.parametrize("n_shapes", [0, 1, 2])
def test_series_with_empty_shapes(helsinki: Network, n_shapes: int) -> None:
    """A series has no columns that say what its shapes are."""
    square = shapely.box(24.93, 60.16, 24.95, 60.18)
    areas = gpd.GeoSeries([square, shapely.Polygon(), shapely.Polygon()][-n_shapes - 1 : -1], crs="EPSG:4326")
    ax = tl.plot(helsinki, areas, street_names=False)
    note = {0: "Nothing to show: all shapes are empty", 1: "Nothing to show", 2: "1 of 2 areas are empty"}[n_shapes]
    assert any(note in text.get_text() for text in ax.texts)
    tl.side_by_side(helsinki, areas, areas)


def test_a_mean_that_is_not_of_cells_is_no_time(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    ax = tl.plot(helsinki, points=places.assign(mean=[None, *range(1, len(places))]), column="mean")
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel() == "mean"
    assert [text.get_text() for text in scale.texts] == ["no\nvalue"]


@pytest.mark.slow
def test_areas_without_a_number_are_grey(helsinki: Network) -> None:
    homes = tl.sample_points("helsinki").iloc[:2]
    areas = rings(helsinki, homes, 120).drop(columns="travel_time").assign(jobs=[100.0, None])
    scene = map_scenes.scene_of(helsinki, areas, None, None, "jobs", None)
    assert style.NO_VALUE in {colour for colour, _, _ in map_scenes.bands(scene)}
    ax = tl.plot(helsinki, areas, column="jobs")
    assert ax.get_legend() is None
    scale = next(other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel() == "jobs"
    assert [text.get_text() for text in scale.texts] == ["no\nvalue"]


@pytest.mark.slow
def test_an_empty_answer_says_so(helsinki: Network) -> None:
    far = at((90_000, 0))
    nothing = tl.time_map(helsinki, far, travel_time=60)
    assert any("Nothing reached" in text.get_text() for text in tl.plot(helsinki, nothing).texts)
    cells = tl.h3_cells(helsinki, far, travel_time=60, resolution=9)
    assert any(text.get_text() == "Nothing reached" for text in tl.plot(helsinki, cells, column="mean").texts)
    homes = tl.sample_points("helsinki").assign(travel_time=None)
    assert any(text.get_text() == "Nothing reached" for text in tl.plot(helsinki, points=homes).texts)
    some = pd.concat([nothing, rings(helsinki, tl.sample_points("helsinki").iloc[[0]], 60)])
    assert any(text.get_text().startswith("1 of 2 areas") for text in tl.plot(helsinki, some).texts)


def test_the_scale_bar_keeps_off_points_and_their_names() -> None:
    network = world({"a": (0, 0), "b": (900, 0)}, [("a", "b")])
    places = at((0, 0), (900, 0), (20, -400), (900, -400))
    places.index = ["West", "East", "A long name in the corner", "South"]
    ax = tl.plot(network, points=places)
    written = words(ax)
    assert set(places.index) <= {text.get_text() for text in written}
    extents = [text.get_window_extent() for text in written if not text.get_rotation()]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(extents, 2))
    ground = next(patch for patch in ax.patches if patch.get_facecolor()[:3] == (1.0, 1.0, 1.0)).get_window_extent()
    names = [text.get_window_extent() for text in written if text.get_text() in places.index]
    assert not any(ground.overlaps(name) for name in names)


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


def test_a_part_of_a_figure_keeps_its_legend_inside(helsinki: Network) -> None:
    left, _ = pyplot.figure().subfigures(1, 2)
    places = tl.sample_points("helsinki").iloc[:5]
    ax = tl.plot(helsinki, rings(helsinki, places, 120), ax=left.subplots())
    ax.figure.canvas.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y1 > ax.get_window_extent().y0


@pytest.mark.parametrize(
    ("file_format", "head"),
    [
        pytest.param("png", b"\x89PNG", marks=pytest.mark.slow),
        pytest.param("svg", b"<?xml", marks=pytest.mark.thorough),
        pytest.param("pdf", b"%PDF", marks=pytest.mark.slow),
    ],
)
def test_save(helsinki: Network, file_format: str, head: bytes) -> None:
    buffer = io.BytesIO()
    plot.save(buffer, helsinki, size=3, file_format=file_format, street_names=False)
    assert buffer.getvalue().startswith(head)
    assert not pyplot.get_fignums(), "no figure is left behind"


def test_letters_without_a_font_are_left_out(recwarn: pytest.WarningsRecorder) -> None:
    network = world({"a": (0, 0), "b": (900, 0)}, [("a", "b", {"name": "\u5927\u8857"})])
    plot.save(io.BytesIO(), network, size=4, file_format="png")
    assert not recwarn


@pytest.mark.thorough
def test_dollars_are_no_formulas() -> None:
    """Names, titles, units and attributions are drawn as they are written, and malformed formulas are no errors."""
    odd = "from $5 to $6_{x"
    network = world({"a": (0, 0), "b": (3000, 0), "c": (3000, 500)}, [("a", "b", {"name": odd}), ("b", "c")])
    network.attribution = f"{odd} c"
    homes = at((100.0, 0.0), (2500.0, 0.0))
    homes.index = pd.Index([f"{odd} 1", f"{odd} 2"])
    areas = tl.time_map(network, homes, travel_time=600, transportation="walking")
    routes = tl.routes(network, homes.iloc[[0]], homes.iloc[[1]], transportation="walking")
    routes["origin"] = odd
    street = world({"a": (0, 0), "b": (700, 0), "c": (0, 300)}, [("a", "b", {"name": odd}), ("a", "c")])
    drawn = [tl.plot(street), tl.plot(network, areas, homes, lines=routes, title=f"{odd} t")]
    cells = tl.h3_cells(network, homes.iloc[[0]], travel_time=1200, resolution=9, transportation="walking")
    drawn.append(tl.plot(network, cells, column="mean", unit=f"{odd} u"))
    drawn.append(tl.plot(network, pd.concat([areas.assign(travel_time=limit) for limit in (200, 400, 600)]), homes))
    found = set()
    for ax in drawn:
        ax.figure.draw_without_rendering()
        for text in ax.figure.findobj(mpl.text.Text):
            if "$" in text.get_text() and text.get_parse_math():
                # Numbers of axes are formatted by matplotlib.
                assert "mathdefault" in text.get_text(), text.get_text()
            elif "$" in text.get_text():
                found.add(text.get_text().removeprefix(odd).strip())
    assert {"", "c", "t", "u", "1", "2"} <= found


def test_errors(helsinki: Network) -> None:
    places = tl.sample_points("helsinki")
    with pytest.raises(tl.CrsError, match=r"points has no CRS; set it .*set_crs"):
        tl.plot(helsinki, points=places.set_crs(None, allow_override=True))
    with pytest.raises(tl.InputError, match="areas must be a GeoDataFrame"):
        tl.plot(helsinki, [1, 2])
    with pytest.raises(tl.InputError, match="first argument must be a Network"):
        tl.plot(places, helsinki)
    with pytest.raises(tl.InputError, match="column 'jobs'"):
        tl.plot(helsinki, points=places, column="jobs")
    with pytest.raises(tl.InputError, match="'kind' must hold numbers"):
        tl.plot(helsinki, points=places.assign(kind="shop"), column="kind")
    for times in (pd.date_range("2026", periods=len(places)), pd.to_timedelta(list(range(len(places))), unit="min")):
        with pytest.raises(tl.InputError, match=r"'kind' must hold numbers .* got (datetime|timedelta)64"):
            tl.plot(helsinki, points=places.assign(kind=times), column="kind")
    with pytest.raises(tl.InputError, match="points must hold points"):
        tl.plot(helsinki, points=places.to_crs(helsinki.crs).buffer(9))
    with pytest.raises(tl.InputError, match="no option 'colour'"):
        plot.save(io.BytesIO(), helsinki, colour="red")


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.0, "0"),
        (0.123456, "0.123"),
        (99.96, "100"),
        (999.9, "999.9"),
        (1234.0, "1,234"),
        (1234567.8, "1,234,568"),
        (-12500.0, "-12,500"),
        (1e18, "1e+18"),
    ],
)
def test_numbers_of_labels_have_separators(value: float, label: str) -> None:
    assert style.number_label(value) == label


@pytest.mark.thorough
def test_ticks_of_scales_have_separators_and_no_powers_of_ten(helsinki: Network) -> None:
    home = tl.sample_points("helsinki").iloc[[0]]
    cells = tl.h3_cells(helsinki, home, travel_time=600, resolution=10, transportation="walking")
    for factor, wanted in ((12_345.0, "200,000"), (-12_345.0, "\u2212200,000"), (0.01, "0.2")):
        ax = tl.plot(helsinki, cells.assign(people=factor * pd.RangeIndex(len(cells))), column="people")
        bar = next(each for each in ax.figure.axes if each is not ax)
        ax.figure.draw_without_rendering()
        assert wanted in [text.get_text() for text in bar.get_yticklabels()]
        assert not bar.yaxis.get_offset_text().get_text()
    classes = tl.plot(
        helsinki, cells.assign(people=12_345 * pd.RangeIndex(len(cells))), column="people", scheme="quantiles"
    )
    bar = next(each for each in classes.figure.axes if each is not classes)
    assert f"{12_345 * (len(cells) - 1):,}" in [text.get_text() for text in bar.get_yticklabels()]
    value = tl.plot(helsinki, rings(helsinki, home, 300).assign(people=1_234_567), column="people", scheme="quantiles")
    assert "1,234,567" in [text.get_text() for each in value.figure.axes[1:] for text in each.get_yticklabels()]


@pytest.mark.parametrize(
    "kind",
    first_of(
        2, ["points", "report", "classes", "two", "rings", "origins", "scale", "categories", "routes"],
        mark=pytest.mark.thorough,
    ),
)  # fmt: skip
def test_figures_can_be_pickled(helsinki: Network, kind: str) -> None:
    """And a copy draws the same, as one that a worker process returns."""
    places = tl.sample_points("helsinki").iloc[:3]
    home = places.iloc[[0]]
    areas = rings(helsinki, home, 300).assign(people=1_234_567)
    if kind in ("scale", "classes"):
        cells = tl.h3_cells(helsinki, home, travel_time=600, resolution=10, transportation="walking")
        cells["people"] = 12_345 * pd.RangeIndex(len(cells))
        figure = tl.plot(helsinki, cells, column="people", scheme="quantiles" if kind == "classes" else None).figure
    elif kind == "two":
        figure = tl.side_by_side(helsinki, areas, areas.assign(people=2_345_678), column="people")
    elif kind == "report":
        figure = helsinki.report().plot()
    else:
        results = {
            "points": None, "rings": rings(helsinki, home, 180, 360), "origins": rings(helsinki, places, 180),
            "categories": areas.assign(change="gained"),
            "routes": tl.routes(helsinki, home, places.iloc[[1]], transportation="walking"),
        }  # fmt: skip
        figure = tl.plot(helsinki, results[kind], places).figure

    def drawn(each: Any) -> bytes:
        file = io.BytesIO()
        each.savefig(file, dpi=50)
        return file.getvalue()

    copies = pickle.loads(pickle.dumps(figure)), copy.deepcopy(figure)  # before the layout is computed
    expected = drawn(figure)
    assert [drawn(each) == expected for each in copies] == [True, True]


@pytest.mark.parametrize("inches", [0.6, 1.2, 2.0, 4.0])
@pytest.mark.parametrize("attribution", ["© OpenStreetMap contributors, ODbL 1.0", "Streets of the city council " * 4])
def test_the_attribution_is_inside_the_frame(helsinki: Network, inches: float, attribution: str) -> None:
    network = copy.copy(helsinki)
    network.attribution = attribution.strip()
    figure, ax = pyplot.subplots(figsize=(inches, 6.0))
    tl.plot(network, tl.sample_points("helsinki").iloc[[0]], ax=ax, street_names=False)
    figure.draw_without_rendering()
    text = next(each for each in ax.texts if each.get_text().replace("\n", " ") == network.attribution)
    frame, ground = ax.get_window_extent(), text.get_window_extent()
    assert frame.x0 <= ground.x0 and ground.x1 <= frame.x1
    assert frame.y0 <= ground.y0 and ground.y1 <= frame.y1
