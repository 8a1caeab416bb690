"""
Still maps with matplotlib: areas, points and lines over the base map of the network.

The same colours and the same base map as in the notebook's widget, for papers, slides, and machines without a browser.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import shapely

from traveltime_lab import basemap, looks
from traveltime_lab.errors import CrsError, InputError, MissingDependencyError
from traveltime_lab.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Pixels to an inch that sizes on screen are meant for, and points to such a pixel.
_SCREEN_DPI: Final = 100.0
_PT: Final = 72.0 / _SCREEN_DPI
#: Share of what is shown that is left free around it.
_MARGIN: Final = 0.06
#: A map of one point or none shows at least this much, in metres.
_LEAST_M: Final = 500.0
#: More values than this are a scale, not a legend.
_MOST_SWATCHES: Final = 8
#: Points up to this many are labelled with their names if nothing else is said.
_MOST_NAMES: Final = 30
#: How much longer than wide a picture may be, or the other way round.
_STEEPEST: Final = 1.6


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
        ``origin``, or several labels in the index, gives each origin its own colour.
    points : GeoDataFrame or GeoSeries, optional
        Points in any CRS.
    lines : GeoDataFrame or GeoSeries, optional
        Lines in any CRS, such as routes from `time_filter`.
    column : str, optional
        Numbers of `points` (or of `areas` if they have it) to colour by, with a scale.
    unit : str, optional
        What the scale measures; by default the column's name. Columns of seconds are shown in minutes.
    labels : bool, optional
        Whether to write the names of points; by default if the index holds words and there are at most 30.
    street_names : bool, default True
        Whether to name streets where there is room.
    legend : bool, default True
        Whether to explain colours.
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
        If a table is none, or `column` does not exist.
    CrsError
        If a table has no CRS.
    MissingDependencyError
        If matplotlib is not installed.

    Examples
    --------
    >>> plot(network, areas, homes, title="A quarter of an hour on foot")  # doctest: +SKIP
    """
    scene = _scene(network, areas, points, lines, column, bounds)
    if ax is None:
        pyplot = _matplotlib("pyplot")
        _, ax = pyplot.subplots(figsize=_figure_size(scene.box, size), layout="constrained")
    _draw(ax, scene, unit=unit, labels=labels, street_names=street_names, legend=legend, title=title)
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
    scene = _scene(network, areas, points, lines, column, bounds)
    figure = _matplotlib("figure").Figure(figsize=_figure_size(scene.box, size), layout="constrained")
    figure.set_dpi(_SCREEN_DPI)
    chosen: dict[str, Any] = {"unit": None, "labels": None, "street_names": True, "legend": True, "title": None}
    unknown = sorted(set(options) - set(chosen))
    if unknown:
        raise InputError(f"save() has no option {unknown[0]!r}; known: {', '.join(chosen)}")
    _draw(figure.subplots(), scene, **{**chosen, **options})
    figure.savefig(target, dpi=dpi, format=file_format)


def _matplotlib(name: str) -> Any:
    """Return a module of matplotlib."""
    try:
        from importlib import import_module  # noqa: PLC0415 - matplotlib takes a while and most calls draw nothing

        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        msg = "plot needs matplotlib; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error


# What is drawn, in local metres --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scene:
    """Checked input in local metres."""

    network: Network
    box: basemap.Box
    areas: gpd.GeoDataFrame | None
    area_shapes: npt.NDArray[Any]
    points: gpd.GeoDataFrame | None
    point_xy: npt.NDArray[np.float64]
    lines: npt.NDArray[Any]
    column: str | None


@dataclass
class _Room:
    """Rectangles in pixels that are taken, so that words do not cover one another."""

    taken: list[Any] = field(default_factory=list)

    def has(self, rectangle: Any) -> bool:
        """Return whether a rectangle is free."""
        return not any(shapely.intersects(rectangle, self.taken))

    def take(self, rectangle: Any) -> None:
        """Take a rectangle."""
        self.taken.append(rectangle)


def _table(table: Any, name: str) -> gpd.GeoDataFrame | None:
    """Return a table in EPSG:4326."""
    if table is None:
        return None
    if isinstance(table, gpd.GeoSeries):
        table = table.to_frame("geometry")
    if not isinstance(table, gpd.GeoDataFrame):
        msg = f"{name} must be a GeoDataFrame or GeoSeries; got {type(table).__name__}"
        raise InputError(msg)
    if table.crs is None:
        msg = f"{name} has no CRS; say what its coordinates are, e.g. {name}.set_crs('EPSG:4326')"
        raise CrsError(msg)
    shapes = np.asarray(table.geometry.array)
    return table[~(shapely.is_missing(shapes) | shapely.is_empty(shapes))].to_crs("EPSG:4326")


def _scene(network: Any, areas: Any, points: Any, lines: Any, column: str | None, bounds: Any) -> _Scene:
    """Check the input and bring it to local metres."""
    if not isinstance(network, Network):
        msg = f"the first argument must be a Network; got {type(network).__name__}"
        raise InputError(msg)
    frame = network.frame

    def local(shapes: Any) -> npt.NDArray[Any]:
        return np.asarray(
            shapely.transform(np.asarray(shapes), lambda c: np.column_stack(frame.to_xy(c[:, 0], c[:, 1])))
        )

    tables = {"areas": _table(areas, "areas"), "points": _table(points, "points"), "lines": _table(lines, "lines")}
    if column is not None and not any(t is not None and column in t.columns for t in tables.values()):
        msg = f"neither points nor areas have a column {column!r}"
        raise InputError(msg)
    shapes = {
        name: np.empty(0, dtype=object) if table is None else local(table.geometry.array)
        for name, table in tables.items()
    }
    point_shapes = shapes["points"]
    if len(point_shapes) and (shapely.get_type_id(point_shapes) != 0).any():
        msg = "points must hold points; use .representative_point() or pass polygons as areas"
        raise InputError(msg)
    if len(shapes["areas"]) and (shapely.get_dimensions(shapes["areas"]) != 2).any():
        msg = "areas must hold polygons; pass lines as lines=, points as points="
        raise InputError(msg)
    if bounds is not None:
        west, south, east, north = bounds
        x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
        box = (float(x[0]), float(y[0]), float(x[1]), float(y[1]))
    else:
        everything = np.concatenate(list(shapes.values()))
        if not len(everything):
            west, south, east, north = network.bounds
            x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
            everything = shapely.points(x, y)
        box = _roomy(tuple(shapely.total_bounds(everything).tolist()))
    return _Scene(
        network,
        box,
        tables["areas"],
        shapes["areas"],
        tables["points"],
        shapely.get_coordinates(point_shapes),
        shapes["lines"],
        column,
    )


def _roomy(box: tuple[float, ...]) -> basemap.Box:
    """Return a box with a margin, neither tiny nor very long."""
    west, south, east, north = box
    half_x = max(east - west, _LEAST_M) * (0.5 + _MARGIN)
    half_y = max(north - south, _LEAST_M) * (0.5 + _MARGIN)
    half_x, half_y = max(half_x, half_y / _STEEPEST), max(half_y, half_x / _STEEPEST)
    x, y = (west + east) / 2.0, (south + north) / 2.0
    return x - half_x, y - half_y, x + half_x, y + half_y


def _figure_size(box: basemap.Box, size: float) -> tuple[float, float]:
    """Return the inches of a picture whose longer side is given."""
    wide, high = box[2] - box[0], box[3] - box[1]
    return (size, max(size * high / wide, 1.0)) if wide >= high else (max(size * wide / high, 1.0), size)


# Drawing -------------------------------------------------------------------------------------------------------------


def _draw(
    ax: Any,
    scene: _Scene,
    *,
    unit: str | None,
    labels: bool | None,
    street_names: bool,
    legend: bool,
    title: str | None,
) -> None:
    """Draw a scene into axes."""
    figure = ax.figure
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
        ax.set_title(title, loc="left", fontsize=12, color=looks.LABEL)
    ax.set_facecolor(looks.PAPER)
    if legend:
        _draw_scale(figure, ax, scene, unit)
    # With titles and scales in place matplotlib knows how large the map is, and so how fine it can be.
    figure.draw_without_rendering()
    wide_px = ax.get_window_extent().width / figure.dpi * _SCREEN_DPI
    pixel_m = (east - west) * shrink / max(wide_px, 50.0)
    base = basemap.base_map(scene.network, scene.box, pixel_m, with_labels=street_names)
    _draw_ground(ax, base)
    _draw_areas(ax, scene)
    _draw_streets(ax, base, pixel_m)
    _draw_lines(ax, scene)
    _draw_points(ax, scene)
    room = _Room()
    if legend:
        _draw_legend(ax, scene, room)
    _draw_scale_bar(ax, scene, shrink, room)
    _draw_attribution(ax, scene.network, room)
    _draw_names(ax, scene, labels, room)
    if street_names:
        _draw_street_names(ax, base, pixel_m, room)


def _draw_ground(ax: Any, base: basemap.BaseMap) -> None:
    """Draw water and ferries."""
    if len(base.water):
        ax.add_patch(_patch(shapely.multipolygons(_polygons(base.water)), facecolor=looks.WATER, edgecolor="none"))
    if len(base.ferries):
        ax.add_collection(
            _collection(base.ferries, colors=looks.FERRY, linewidths=0.8, linestyles=(0, (5, 4))), autolim=False
        )


def _draw_streets(ax: Any, base: basemap.BaseMap, pixel_m: float) -> None:
    """Draw streets, small ones first."""
    grown = basemap.width_factor(pixel_m)
    for rank, lines in base.streets.items():
        width = looks.RANKS[rank].width_px * grown * _PT
        drawn = _collection(lines, colors=looks.STREET, linewidths=width, alpha=0.75, zorder=3)
        ax.add_collection(drawn, autolim=False)


def _draw_areas(ax: Any, scene: _Scene) -> None:
    """Draw areas as bands that do not overlap, so that colours mean what the legend says."""
    for colour, shape, outline in _bands(scene):
        if shape.is_empty:
            continue
        ax.add_patch(_patch(shape, facecolor=colour, edgecolor="none", alpha=looks.AREA_OPACITY, zorder=2))
        ax.add_patch(_patch(shape, facecolor="none", edgecolor=outline, linewidth=0.8, zorder=3.5))


def _bands(scene: _Scene) -> list[tuple[str, Any, str]]:
    """Return the colour, the shape and the colour of the outline of each band."""
    if scene.areas is None or not len(scene.areas):
        return []
    values = _values(scene)
    if values is not None and _is_scale(values):
        low, high = float(values.min()), float(values.max())
        colours = [looks.ramp_colour((float(v) - low) / (high - low or 1.0)) for v in values]
        return [(colour, shape, "none") for colour, shape in zip(colours, scene.area_shapes, strict=True)]
    bands = []
    by_group = _group_colours(scene)
    for group, colours in by_group.items():
        mine = np.flatnonzero(_groups(scene) == group)
        rank = np.zeros(mine.size, np.intp) if values is None else np.unique(values, return_inverse=True)[1][mine]
        inner: Any = shapely.MultiPolygon()
        for position in mine[np.argsort(rank, kind="stable")]:
            shape = scene.area_shapes[position]
            colour = colours[0 if values is None else int(np.searchsorted(np.unique(values), values[position]))]
            bands.append((colour, shapely.difference(shape, inner), colour if len(by_group) == 1 else colours[0]))
            inner = shapely.union(inner, shape)
    return bands[::-1]


def _values(scene: _Scene) -> npt.NDArray[np.float64] | None:
    """Return the number that each area is coloured by, None if there is none."""
    if scene.areas is None:
        return None
    name = _value_column(scene)
    return None if name is None else scene.areas[name].to_numpy(dtype=np.float64)


def _value_column(scene: _Scene) -> str | None:
    """Return the column that areas are coloured by."""
    columns = () if scene.areas is None else scene.areas.columns
    names = (scene.column, "travel_time", "distance")
    return next((name for name in names if name is not None and name in columns), None)


def _is_scale(values: npt.NDArray[np.float64]) -> bool:
    """Return whether values are too many for swatches."""
    return np.unique(values).size > _MOST_SWATCHES


def _groups(scene: _Scene) -> npt.NDArray[Any]:
    """Return whose area each row is."""
    areas = scene.areas
    if areas is None:
        return np.empty(0, dtype=object)
    if "origin" in areas.columns:
        return np.asarray(areas["origin"].to_numpy(), dtype=object)
    values = _values(scene)
    if values is not None and np.unique(values).size == len(values):
        return np.zeros(len(areas), dtype=object)  # rings of one place
    return np.asarray(areas.index.to_numpy(), dtype=object)


def _group_colours(scene: _Scene) -> dict[Hashable, list[str]]:
    """Return the colours of the rings of each group, small to large."""
    values = _values(scene)
    n_rings = 1 if values is None else np.unique(values).size
    groups = list(dict.fromkeys(_groups(scene).tolist()))
    if len(groups) == 1 or len(groups) > len(looks.ORIGIN_COLOURS):
        return dict.fromkeys(groups, looks.ramp(n_rings))
    return {group: looks.tints(looks.ORIGIN_COLOURS[i], n_rings) for i, group in enumerate(groups)}


def _draw_lines(ax: Any, scene: _Scene) -> None:
    """Draw routes in black with a white edge."""
    if len(scene.lines):
        for colour, width, order in (("white", 4.0, 4.0), (looks.ROUTE, 2.0, 4.1)):
            ax.add_collection(
                _collection(scene.lines, colors=colour, linewidths=width, zorder=order, capstyle="round"), autolim=False
            )


def _draw_points(ax: Any, scene: _Scene) -> None:
    """Draw points: in the colours of a scale, of their areas, or dark."""
    if scene.points is None or not len(scene.points):
        return
    x, y = scene.point_xy.T
    if scene.column is not None and scene.column in scene.points.columns:
        values = scene.points[scene.column].to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.isfinite(values)
        ax.scatter(x[~known], y[~known], s=26, c="white", edgecolors="#777777", linewidths=0.8, zorder=5)
        low, high = _limits(scene)
        colours = [looks.ramp_colour(float(np.clip((v - low) / (high - low or 1.0), 0, 1))) for v in values[known]]
        ax.scatter(x[known], y[known], s=38, c=colours, edgecolors="white", linewidths=0.7, zorder=5)
        return
    groups = _group_colours(scene) if scene.areas is not None and len(scene.areas) else {}
    index = scene.points.index
    if len(groups) > 1:
        colours = [groups[label][0] if label in groups else looks.LABEL for label in index]
        sizes = [60 if label in groups else 18 for label in index]
    else:
        origins = set(groups) | set(() if scene.areas is None else scene.areas.index)
        is_origin = [len(index) == 1 or (label in origins and not isinstance(label, int)) for label in index]
        colours = [looks.ORIGIN if here else looks.LABEL for here in is_origin]
        sizes = [60 if here else 18 for here in is_origin]
    ax.scatter(x, y, s=sizes, c=colours, edgecolors="white", linewidths=1.0, zorder=5)


def _limits(scene: _Scene) -> tuple[float, float]:
    """Return the least and the greatest value of the scale."""
    parts = [
        table[scene.column].to_numpy(dtype=np.float64, na_value=np.nan)
        for table in (scene.points, scene.areas)
        if table is not None and scene.column in table.columns
    ]
    values = np.concatenate(parts) if parts else _values(scene)
    if values is None or not np.isfinite(values).any():
        return 0.0, 1.0
    return float(np.nanmin(values)), float(np.nanmax(values))


def _draw_scale(figure: Any, ax: Any, scene: _Scene, unit: str | None) -> None:
    """Draw a scale beside the map where numbers are too many for swatches."""
    values = _values(scene)
    on_points = scene.column is not None and scene.points is not None and scene.column in scene.points.columns
    if not on_points and (values is None or not _is_scale(values)):
        return
    name = (scene.column if on_points else _value_column(scene)) or ""
    low, high = _limits(scene) if scene.column else (float(np.min(values)), float(np.max(values)))  # type: ignore[arg-type]
    in_minutes = name.startswith("travel_time")
    factor = 60.0 if in_minutes else 1.0
    colours = _matplotlib("colors")
    ramp = colours.LinearSegmentedColormap.from_list("traveltime", looks.ramp(9))
    norm = colours.Normalize(low / factor, high / factor)
    bar = figure.colorbar(_matplotlib("cm").ScalarMappable(norm, ramp), ax=ax, shrink=0.6, pad=0.01, aspect=30)
    bar.set_label(unit or ("minutes" if in_minutes else name.replace("_", " ")), color=looks.LABEL)
    bar.outline.set_linewidth(0.5)


def _draw_legend(ax: Any, scene: _Scene, room: _Room) -> None:
    """Explain the colours of areas in the upper corner that hides less."""
    values = _values(scene)
    if scene.areas is None or not len(scene.areas) or (values is not None and _is_scale(values)):
        return
    patches = _matplotlib("patches")
    name = looks.metres_label if _value_column(scene) == "distance" else looks.minutes_label
    limits = [] if values is None else [name(value) for value in np.unique(values)]
    by_group = _group_colours(scene)
    handles: list[Any] = []
    distinct = len(by_group) > 1 and len({row[0] for row in by_group.values()}) > 1
    if distinct:
        for group, row in by_group.items():
            texts = [str(group)] if len(row) == 1 else [f"{group}, {limit}" for limit in limits]
            handles += [
                patches.Patch(color=colour, alpha=looks.AREA_OPACITY + 0.15, label=text)
                for colour, text in zip(row, texts, strict=True)
            ]
    elif limits:
        row = next(iter(by_group.values()))
        handles = [
            patches.Patch(color=colour, alpha=looks.AREA_OPACITY + 0.15, label=text)
            for colour, text in zip(row, limits, strict=True)
        ]
    if not handles:
        return
    heading = f"within {limits[0]}" if distinct and len(limits) == 1 else None
    made = ax.legend(
        handles=handles, loc=_emptier_corner(scene), fontsize=9, title=heading, title_fontsize=9, framealpha=0.92,
        edgecolor="#cccccc", borderpad=0.6, labelcolor=looks.LABEL,
    )  # fmt: skip
    made.set_zorder(8)
    room.take(_rectangle(made.get_window_extent()))


def _emptier_corner(scene: _Scene) -> str:
    """Return the upper corner under which areas and points cover less ground."""
    west, south, east, north = scene.box
    wide, high = (east - west) * 0.3, (north - south) * 0.3
    corners = {
        "upper right": shapely.box(east - wide, north - high, east, north),
        "upper left": shapely.box(west, north - high, west + wide, north),
    }
    valid = scene.area_shapes
    dots = shapely.points(scene.point_xy) if len(scene.point_xy) else np.empty(0, dtype=object)

    def hidden(corner: Any) -> float:
        covered = float(shapely.area(shapely.intersection(valid, corner)).sum()) / corner.area if len(valid) else 0.0
        return covered + 0.2 * float(shapely.contains(corner, dots).sum())

    return min(corners, key=lambda name: hidden(corners[name]))


def _draw_scale_bar(ax: Any, scene: _Scene, shrink: float, room: _Room) -> None:
    """Draw a bar of a round length at the lower border."""
    west, south, east, north = scene.box
    length = looks.round_length((east - west) * shrink * 0.25)
    y0 = south + (north - south) * 0.03
    # Further to the right if a point lies where it would be.
    for share in (0.025, 0.3, 0.45, 0.025):
        x0, x1 = west + (east - west) * share, west + (east - west) * share + length / shrink
        margin = (north - south) * 0.02
        ground = shapely.box(x0 - margin, south, x1 + margin, y0 + 3 * margin)
        if not len(scene.point_xy) or not shapely.contains_xy(ground, *scene.point_xy.T).any():
            break
    ax.plot([x0, x1], [y0, y0], color="white", linewidth=4.5, solid_capstyle="butt", zorder=7)
    ax.plot([x0, x1], [y0, y0], color=looks.LABEL, linewidth=2.0, solid_capstyle="butt", zorder=7.1)
    text = ax.annotate(
        looks.metres_label(length), (x0, y0), xytext=(0, 4), textcoords="offset points", fontsize=9,
        color=looks.LABEL, path_effects=_halo(), zorder=7.2,
    )  # fmt: skip
    (left, bottom), (right, _) = ax.transData.transform([(x0, y0), (x1, y0)])
    top = text.get_window_extent().y1
    room.take(shapely.box(left - 4, bottom - 6, right + 4, top + 2))


def _draw_attribution(ax: Any, network: Network, room: _Room) -> None:
    """Name the source in the lower right corner."""
    if not network.attribution:
        return
    text = ax.text(
        0.995, 0.006, network.attribution, transform=ax.transAxes, ha="right", va="bottom", fontsize=7,
        color="#444444", zorder=7, bbox={"facecolor": "white", "alpha": 0.75, "pad": 1.5, "edgecolor": "none"},
    )  # fmt: skip
    room.take(_rectangle(text.get_window_extent()))


def _draw_names(ax: Any, scene: _Scene, labels: bool | None, room: _Room) -> None:
    """Write the names of points beside them, where nothing else is written."""
    points = scene.points
    if points is None or not len(points) or labels is False:
        return
    if labels is None and (len(points) > _MOST_NAMES or points.index.inferred_type not in ("string", "mixed")):
        return
    pixels = ax.transData.transform(scene.point_xy)
    inside = ax.get_window_extent()
    frame = shapely.box(inside.x0 + 2, inside.y0 + 2, inside.x1 - 2, inside.y1 - 2)
    for x, y in pixels:
        room.take(shapely.box(x - 4, y - 4, x + 4, y + 4))
    sides = ((7, 0, "left", "center"), (-7, 0, "right", "center"), (0, 7, "center", "bottom"),
             (0, -7, "center", "top"), (6, 6, "left", "bottom"), (-6, 6, "right", "bottom"),
             (6, -6, "left", "top"), (-6, -6, "right", "top"))  # fmt: skip
    for name, xy in zip(points.index, scene.point_xy, strict=True):
        text = ax.annotate(
            str(name),
            xy,
            xytext=(7, 0),
            textcoords="offset points",
            fontsize=9.5,
            color=looks.LABEL,
            path_effects=_halo(),
            zorder=7.5,
        )
        for dx, dy, ha, va in sides:
            text.set(position=(dx, dy), ha=ha, va=va)
            ground = _rectangle(text.get_window_extent())
            if shapely.covers(frame, ground) and room.has(ground):
                room.take(ground)
                break
        else:
            text.remove()


def _draw_street_names(ax: Any, base: basemap.BaseMap, pixel_m: float, room: _Room) -> None:
    """Write street names along streets, where nothing else is written."""
    size_px = 9.0
    font = _font()
    for label in base.labels:
        if font is not None and not all(font.get_char_index(ord(letter)) for letter in label.text):
            continue
        corners = shapely.get_coordinates(basemap.label_box(label, 1.15 * size_px * pixel_m))
        ground = shapely.Polygon(ax.transData.transform(corners))
        if not room.has(ground):
            continue
        room.take(ground)
        ax.text(
            label.x, label.y, label.text, rotation=label.angle, rotation_mode="anchor", ha="center",
            va="center_baseline", fontsize=size_px * _PT, color=looks.STREET_LABEL, path_effects=_halo(1.6),
            zorder=6, clip_on=True,
        )  # fmt: skip


# Pieces of matplotlib ------------------------------------------------------------------------------------------------


def _font() -> Any:
    """Return the font that texts get, to ask which letters it has."""
    manager = _matplotlib("font_manager")
    return _matplotlib("ft2font").FT2Font(manager.findfont(manager.FontProperties()))


def _halo(width: float = 2.2) -> list[Any]:
    """Return the white edge that keeps words readable on anything."""
    return [_matplotlib("patheffects").withStroke(linewidth=width, foreground="white")]


def _rectangle(extent: Any) -> Any:
    """Return a bounding box in pixels as a polygon."""
    return shapely.box(extent.x0 - 1, extent.y0 - 1, extent.x1 + 1, extent.y1 + 1)


def _collection(lines: npt.NDArray[Any], **style: Any) -> Any:
    """Return lines as one artist."""
    parts = shapely.get_parts(lines)
    coordinates, owner = shapely.get_coordinates(parts, return_index=True)
    pieces = np.split(coordinates, np.flatnonzero(np.diff(owner)) + 1) if len(coordinates) else []
    return _matplotlib("collections").LineCollection(pieces, **style)


def _polygons(shapes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the polygons among shapes and their parts."""
    parts = shapely.get_parts(shapely.get_parts(shapes))
    return np.asarray(parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON])


def _patch(shape: Any, **style: Any) -> Any:
    """Return polygons with holes as one artist."""
    path = _matplotlib("path").Path
    rings = shapely.get_rings(shapely.orient_polygons(_polygons(np.array([shape], dtype=object))))
    coordinates, owner = shapely.get_coordinates(rings, return_index=True)
    codes = np.full(len(coordinates), path.LINETO, np.uint8)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    codes[first] = path.MOVETO
    codes[np.append(first[1:], len(codes)) - 1] = path.CLOSEPOLY
    return _matplotlib("patches").PathPatch(path(coordinates, codes), **style)
