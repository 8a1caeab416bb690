"""
Still maps with matplotlib: areas, points and lines over the base map of the network.

The same colours and the same base map as in the notebook's widget, for papers, slides, and machines without a browser.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import geopandas as gpd

from traveltime_lab.errors import InputError
from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.artists import (
    SCREEN_DPI,
    draw_areas,
    draw_ground,
    draw_lines,
    draw_numbers,
    draw_points,
    draw_streets,
    matplotlib_module,
)
from traveltime_lab.maps.labels import Room, draw_attribution, draw_names, draw_note, draw_scale_bar, draw_street_names
from traveltime_lab.maps.legend import draw_legend, draw_scale, is_outside
from traveltime_lab.maps.scene import Scene, scene_of
from traveltime_lab.network.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    network: Network,
    areas: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    points: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    *,
    lines: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    column: str | None = None,
    unit: str | None = None,
    labels: bool | None = None,
    street_names: bool = True,
    legend: bool = True,
    title: str | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    size: float = 8.0,
    ax: Axes | None = None,
) -> Axes:
    """
    Draw a map.

    Parameters
    ----------
    network : Network
        Its streets and water are the base map.
    areas : GeoDataFrame or GeoSeries, optional
        Polygons in any CRS, such as from `time_map`. A column ``travel_time`` or ``distance`` gives rings; a column
        ``origin``, or several labels in the index, gives each origin its own colour, and from seven to thirty origins
        a number too. Cells, such as from `h3_cells`, are coloured by their mean time (or their shortest or longest);
        of a cell that several origins reach the least value is shown. Points and lines among the areas are drawn as
        `points` and `lines`. If all are empty the picture says so.
    points : GeoDataFrame or GeoSeries, optional
        Points in any CRS.
    lines : GeoDataFrame or GeoSeries, optional
        Lines in any CRS, such as routes from `time_filter`. Two to six with columns ``origin`` and ``destination``, or
        with words in the index, have a colour each (a dash pattern, up to four, where colours are those of origins).
    column : str, optional
        Numbers of `points` (or of `areas` if they have it) to colour by, with a scale; by default ``travel_time`` of
        points if there are no areas. Points without a number are hollow.
    unit : str, optional
        What the scale measures; by default the column's name. Columns of seconds are shown in minutes:
        ``travel_time`` and what begins with it, and ``min``, ``max`` and ``mean`` of cells.
    labels : bool, optional
        Whether to write the names of points; by default if the index holds words and there are at most 30.
    street_names : bool, default True
        Whether to name streets where there is room.
    legend : bool, default True
        Whether to explain colours; a large legend stands below the map.
    title : str, optional
    bounds : tuple of float, optional
        West, south, east, north in EPSG:4326; by default around everything drawn, or the whole network.
    size : float, default 8
        Inches of the longer side.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        In the local metres of the network (``network.frame``).

    Raises
    ------
    InputError
        If a table is none, or `column` does not exist or holds no numbers.
    CrsError
        If a table has no CRS.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> plot(network, areas, homes, title="A quarter of an hour on foot")  # doctest: +SKIP
    """
    scene = scene_of(network, areas, points, lines, column, bounds)
    own_size = size if ax is None else None
    if ax is None:
        pyplot = matplotlib_module("pyplot")
        _, ax = pyplot.subplots(figsize=_figure_size(scene.box, size), layout="constrained")
    _draw(ax, scene, unit=unit, labels=labels, street_names=street_names, legend=legend, title=title, own_size=own_size)
    return ax


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
    Draw a map into a file, without a screen and in any thread.

    Parameters
    ----------
    target : path-like or binary file
    network, areas, points, lines, column, bounds, **options
        As in `plot`.
    size : float, default 8
        Inches of the longer side.
    dpi : float, default 150
        Pixels to an inch.
    file_format : str, optional
        Such as ``"png"`` or ``"svg"``; by default what the file's name ends in.
    """
    scene = scene_of(network, areas, points, lines, column, bounds)
    figure = matplotlib_module("figure").Figure(figsize=_figure_size(scene.box, size), layout="constrained")
    figure.set_dpi(SCREEN_DPI)
    chosen: dict[str, Any] = {"unit": None, "labels": None, "street_names": True, "legend": True, "title": None}
    unknown = sorted(set(options) - set(chosen))
    if unknown:
        raise InputError(f"save() has no option {unknown[0]!r}; known: {', '.join(chosen)}")
    _draw(figure.subplots(), scene, own_size=size, **{**chosen, **options})
    figure.savefig(target, dpi=dpi, format=file_format)


def _figure_size(box: basemap.Box, size: float) -> tuple[float, float]:
    """Return the inches of a picture whose longer side is given."""
    wide, high = box[2] - box[0], box[3] - box[1]
    return (size, max(size * high / wide, 1.0)) if wide >= high else (max(size * wide / high, 1.0), size)


def _draw(
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
    """Draw a scene into axes; a figure of its own takes the shape of all that is in it."""
    figure = ax.figure.canvas.figure  # the whole one, of which axes may have a part
    west, south, east, north = scene.box
    ax.set_xlim(west, east)
    ax.set_ylim(south, north)
    # East-west metres of the frame are exact in the middle of the network only.
    shrink = float(scene.network.frame.shrink((south + north) / 2.0))
    ax.set_aspect(1.0 / shrink)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set(color="#bbbbbb", linewidth=0.8)
    if title:
        ax.set_title(title, loc="left", fontsize=12, color=style.LABEL)
    ax.set_facecolor(style.PAPER)
    explained = None
    if legend:
        draw_scale(figure, ax, scene, unit)
        explained = draw_legend(ax, scene)
    # With titles, scales and legends in place matplotlib knows how large the map is, and so how fine it can be.
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
    """Give a figure the shape of what is in it, with a longer side of `size` inches."""
    for _ in range(2):  # words do not grow with the map, so that once is not quite enough
        used = figure.get_tightbbox()
        factor = size / max(used.width, used.height)
        figure.set_size_inches(used.width * factor, used.height * factor)
        figure.draw_without_rendering()
