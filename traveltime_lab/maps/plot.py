"""
Static maps with matplotlib: areas, points and lines over a base map of the network.

Colours and base map are those of `TravelTimeMap`, for use in papers, on slides, and on machines without a browser.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import geopandas as gpd

from traveltime_lab._checks import flag, number, words
from traveltime_lab._files import write_bytes
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.artists import (
    LITERAL,
    SCREEN_DPI,
    draw_areas,
    draw_ground,
    draw_lines,
    draw_numbers,
    draw_points,
    draw_streets,
)
from traveltime_lab.maps.labels import Room, draw_attribution, draw_names, draw_note, draw_scale_bar, draw_street_names
from traveltime_lab.maps.legend import draw_legend, draw_scale, is_outside
from traveltime_lab.maps.scene import Scene, scene_of
from traveltime_lab.maps.shading import CLASSES, shading_of
from traveltime_lab.network.network import Network

#: Longest side of a map in inches; at 150 pixels per inch this is a picture of 225 megapixels (assumed).
MOST_INCHES: Final = 100.0

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@explained_keywords
def plot(
    network: Network,
    areas: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    points: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    *,
    lines: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    column: str | None = None,
    unit: str | None = None,
    scheme: str | None = None,
    k: int = CLASSES,
    cmap: Any = None,
    vmin: float | None = None,
    vmax: float | None = None,
    labels: bool | None = None,
    street_names: bool = True,
    legend: bool = True,
    title: str | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    size: float = 8.0,
    ax: Axes | None = None,
) -> Axes:
    """
    Plot areas, points and lines over a base map of the network.

    Parameters
    ----------
    network : Network
        Network whose streets and water are the base map.
    areas : GeoDataFrame or GeoSeries, optional
        Polygons in any CRS, such as isochrones from `time_map`. Rows are coloured by the column ``travel_time`` or
        ``distance``. If there are several origins, given by the column ``origin`` or by the index, each has its own
        colour; seven to thirty origins are also numbered. Cells, such as from `h3_cells`, are coloured by their mean
        travel time, or by the minimum or maximum if there is no mean; if several origins reach a cell, by the smallest
        value. Points and lines among the areas are drawn like `points` and `lines`. If all geometries are empty, a note
        on the map says so.
    points : GeoDataFrame or GeoSeries, optional
        Points in any CRS.
    lines : GeoDataFrame or GeoSeries, optional
        Lines in any CRS, such as routes from `time_filter`. Two to six lines that are named, by the columns ``origin``
        and ``destination`` or by an index of strings, have different colours; up to four have different dash patterns
        if the colours distinguish origins.
    column : str, optional
        Numeric column of `points` or `areas` to colour by, with a colour bar. By default ``travel_time`` of `points` if
        there are no areas. Points with missing values are drawn hollow.
    unit : str, optional
        Label of the colour bar; by default the name of the column. Columns in seconds are converted to minutes: those
        whose names begin with ``travel_time``, and ``min``, ``max`` and ``mean`` of cells.
        The column ``increase`` of `compare`, which is the default for its results, has a diverging scale, centred on
        zero: orange is less, purple is more. Areas of `compare` are orange where lost and purple where gained.
    scheme : str, optional
        Classify the values as `GeoDataFrame.plot` of geopandas does: the name of a classifier of mapclassify (extra
        ``notebook``), such as ``"quantiles"``, ``"naturalbreaks"`` or ``"equalinterval"``.
    k : int, default 5
        Number of classes of the scheme, 2 to 50.
    cmap : str or Colormap, optional
        Colormap of matplotlib, from small to large values; by default viridis, without its ends.
    vmin, vmax : float, optional
        Ends of the colour bar, in the unit of the column (seconds for travel times). By default those of the values,
        without outliers: values beyond the quartiles by more than three times their distance have the colour of the
        end, which is then pointed.
    labels : bool, optional
        Whether to label points; by default if the index contains strings and there are at most 30 points.
    street_names : bool, default True
        Whether to label streets where there is space.
    legend : bool, default True
        Whether to draw a legend or a colour bar. A large legend is placed below the map.
    title : str, optional
        Title of the map.
    bounds : tuple of float, optional
        West, south, east, north in EPSG:4326; by default the bounds of all layers, or of the network if there are none.
    size : float, default 8
        Length of the longer side of the figure in inches.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Axes
        Its coordinates are the local metres of the network (``network.frame``).

    Raises
    ------
    InputError
        If a layer is not a GeoDataFrame or GeoSeries, `column` does not exist or is not numeric, or `scheme` or `cmap`
        is unknown.
    LimitError
        If `size` is not from 1 to 100 inches, or `k` not from 2 to 50.
    CrsError
        If a layer has no CRS.
    MissingDependencyError
        If matplotlib is not installed, or with `scheme`, mapclassify.

    See Also
    --------
    TravelTimeMap : Interactive map for notebooks.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> origin = places.iloc[[0]]
    >>> areas = tl.time_map(
    ...     network, origin, travel_time=900, transportation="walking"
    ... )
    >>> ax = tl.plot(network, areas, origin, title="15 minutes on foot")
    >>> ax.figure.savefig("map.png")
    """
    scene = scene_of(network, areas, points, lines, column, bounds, shading_of(scheme, k, cmap, vmin, vmax))
    check_options(unit=unit, labels=labels, street_names=street_names, legend=legend, title=title, size=size)
    if ax is not None and not hasattr(ax, "get_window_extent"):
        msg = f"ax must be the axes of a figure; got {type(ax).__name__} {ax!r}"
        raise InputError(msg)
    own_size = size if ax is None else None
    if ax is None:
        pyplot = style.matplotlib_module("pyplot")
        _, ax = pyplot.subplots(figsize=_figure_size(scene.box, size), layout="constrained")
    draw(ax, scene, unit=unit, labels=labels, street_names=street_names, legend=legend, title=title, own_size=own_size)
    return ax


def check_options(*, unit: Any, labels: Any, street_names: Any, legend: Any, title: Any, size: Any) -> None:
    """Raise InputError for options of other types, and LimitError for sizes that no figure has."""
    for name, text in (("unit", unit), ("title", title)):
        if text is not None:
            words(text, name)
    for name, value in (("labels", labels), ("street_names", street_names), ("legend", legend)):
        if name != "labels" or value is not None:
            flag(value, name)
    if not 1.0 <= number(size, "size", "inches") <= MOST_INCHES:
        msg = f"size must be from 1 to {MOST_INCHES:g} inches; got {size!r}"
        raise LimitError(msg)


def save(
    target: str | Path | BinaryIO,
    network: Network,
    areas: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    points: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    *,
    size: float = 8.0,
    dpi: float = 150.0,
    file_format: str | None = None,
    lines: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    column: str | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    **options: Any,
) -> None:
    """
    Write a map to a file; needs no display and works in any thread.

    Parameters
    ----------
    target : path-like or binary file
    network, areas, points, lines, column, bounds, **options
        As in `plot`.
    size : float, default 8
        Length of the longer side in inches.
    dpi : float, default 150
        Pixels per inch.
    file_format : str, optional
        File format such as ``"png"`` or ``"svg"``; by default that of the file extension.
    """
    colouring = {name: options.pop(name) for name in ("scheme", "k", "cmap", "vmin", "vmax") if name in options}
    scene = scene_of(network, areas, points, lines, column, bounds, shading_of(**colouring))
    figure = style.matplotlib_module("figure").Figure(figsize=_figure_size(scene.box, size), layout="constrained")
    figure.set_dpi(SCREEN_DPI)
    chosen: dict[str, Any] = {"unit": None, "labels": None, "street_names": True, "legend": True, "title": None}
    unknown = sorted(set(options) - set(chosen))
    if unknown:
        raise InputError(f"save() has no option {unknown[0]!r}; known: {', '.join(chosen)}")
    check_options(size=size, **{**chosen, **options})
    draw(figure.subplots(), scene, own_size=size, **{**chosen, **options})
    if not isinstance(target, str | os.PathLike):
        figure.savefig(target, dpi=dpi, format=file_format)
        return
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi, format=file_format or Path(target).suffix.removeprefix(".") or "png")
    write_bytes(target, buffer.getvalue(), what="the map", example="map.png")


def _figure_size(box: basemap.Box, size: float) -> tuple[float, float]:
    """Return the width and height in inches of a figure whose longer side is given."""
    wide, high = box[2] - box[0], box[3] - box[1]
    return (size, max(size * high / wide, 1.0)) if wide >= high else (max(size * wide / high, 1.0), size)


def draw(
    ax: Any,
    scene: Scene,
    *,
    unit: str | None,
    labels: bool | None,
    street_names: bool,
    legend: bool,
    title: str | None,
    own_size: float | None = None,
) -> None:
    """Draw a scene on axes; a figure created for it is resized to fit its contents."""
    figure = ax.figure.canvas.figure  # the parent figure if the axes are in a subfigure
    west, south, east, north = scene.box
    ax.set_xlim(west, east)
    ax.set_ylim(south, north)
    # East-west distances in local metres are exact at the centre of the network only.
    shrink = float(scene.network.frame.shrink((south + north) / 2.0))
    ax.set_aspect(1.0 / shrink)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set(color="#bbbbbb", linewidth=0.8)
    if title:
        ax.set_title(title, loc="left", fontsize=12, color=style.LABEL, **LITERAL)
    ax.set_facecolor(style.PAPER)
    explained = None
    if legend:
        draw_scale(figure, ax, scene, unit)
        explained = draw_legend(ax, scene)
    # Title, colour bar and legend must be laid out first: the level of detail depends on the final size of the map.
    figure.draw_without_rendering()
    if own_size is not None and len(figure.axes) + is_outside(ax, explained) > 1:
        _fit(figure, own_size)
    wide_px = ax.get_window_extent().width / figure.dpi * SCREEN_DPI
    pixel_m = (east - west) * shrink / max(wide_px, 50.0)
    base = basemap.base_map(scene.network, scene.box, pixel_m, with_labels=street_names)
    draw_ground(ax, base)
    draw_areas(ax, scene)
    draw_streets(ax, base, pixel_m)
    draw_lines(ax, scene)
    draw_points(ax, scene)
    draw_numbers(ax, scene)
    room = Room()
    if explained is not None:
        room.take_extent(explained.get_window_extent())
    draw_attribution(ax, scene.network, room)
    draw_note(ax, scene.note, room)
    draw_scale_bar(ax, scene, shrink, room)
    draw_names(ax, scene, labels, room)
    if street_names:
        draw_street_names(ax, scene, base, pixel_m, room)


def _fit(figure: Any, size: float) -> None:
    """Resize a figure to fit its contents, with a longer side of `size` inches."""
    for _ in range(2):  # text does not scale with the figure, so a second iteration improves the fit
        used = figure.get_tightbbox()
        factor = size / max(used.width, used.height)
        figure.set_size_inches(used.width * factor, used.height * factor)
        figure.draw_without_rendering()
