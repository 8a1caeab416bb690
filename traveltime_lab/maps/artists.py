"""
The drawn things of a still map: water, streets, areas, lines and points as artists of matplotlib.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray
from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.maps import basemap
from traveltime_lab.maps import style as looks
from traveltime_lab.maps.scene import Scene, bands, groups_of, line_names, line_styles, outer_outlines

#: Pixels to an inch that sizes on screen are meant for, and points to such a pixel.
SCREEN_DPI: Final = 100.0
PT: Final = 72.0 / SCREEN_DPI
#: Of more rings than this (twice as many of several origins) only the outermost have outlines: more would be more
#: line than area.
_MOST_OUTLINES: Final = 4
#: How points without a number look, on the map and beside the scale.
NOT_KNOWN: Final = {"s": 34, "c": "white", "edgecolors": "#333333", "linewidths": 1.3}


def matplotlib_module(name: str) -> Any:
    """Return a module of matplotlib."""
    try:
        from importlib import import_module  # noqa: PLC0415 - matplotlib takes a while and most calls draw nothing

        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        msg = "plot needs matplotlib; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error


def draw_ground(ax: Any, base: basemap.BaseMap) -> None:
    """Draw water and ferries."""
    if len(base.water):
        ax.add_patch(_patch(shapely.multipolygons(_polygons(base.water)), facecolor=looks.WATER, edgecolor="none"))
    if len(base.ferries):
        ax.add_collection(
            _collection(base.ferries, colors=looks.FERRY, linewidths=0.8, linestyles=(0, (5, 4))), autolim=False
        )


def draw_streets(ax: Any, base: basemap.BaseMap, pixel_m: float) -> None:
    """Draw streets, small ones first."""
    grown = basemap.width_factor(pixel_m)
    for rank, lines in base.streets.items():
        width = looks.RANKS[rank].width_px * grown * PT
        drawn = _collection(lines, colors=looks.STREET, linewidths=width, alpha=0.75, zorder=3)
        ax.add_collection(drawn, autolim=False)


def draw_areas(ax: Any, scene: Scene) -> None:
    """Draw areas as bands that do not overlap, so that colours mean what the legend says."""
    # Many areas lie on one another: then their outlines tell more than what fills them.
    opacity, width = (0.35, 1.6) if scene.numbers else (looks.AREA_OPACITY, 0.8)
    n_rings = scene.steps.size
    many = n_rings > _MOST_OUTLINES or (n_rings > 1 and len(scene.area_shapes) > 2 * _MOST_OUTLINES)
    for colour, shape, outline in bands(scene):
        if shape.is_empty:
            continue
        ax.add_patch(_patch(shape, facecolor=colour, edgecolor="none", alpha=opacity, zorder=2))
        if outline != "none" and not many:
            ax.add_patch(_patch(shape, facecolor="none", edgecolor=outline, linewidth=width, zorder=3.5))
    if many and not scene.is_scale:
        for outline, shape in outer_outlines(scene):
            ax.add_patch(_patch(shape, facecolor="none", edgecolor=outline, linewidth=1.2, zorder=3.5))


def draw_lines(ax: Any, scene: Scene) -> None:
    """Draw lines with a white edge, in colours if they have names, the first ones wider to show where others lie."""
    if not len(scene.line_shapes):
        return
    styles = line_styles(scene)
    names = np.array(line_names(scene), dtype=object)
    rest = np.array([name not in styles for name in names])
    plans = [(scene.line_shapes[rest], looks.ROUTE, "-")]
    plans += [(scene.line_shapes[names == name], colour, dashes) for name, (colour, dashes) in styles.items()]
    plans = [plan for plan in plans if len(plan[0])]
    step = min(1.5, 5.0 / len(plans))
    for i, (shapes, colour, dashes) in enumerate(plans):
        width = 2.2 + step * (len(plans) - 1 - i)
        # Edges lie below all lines, lest they hide the wider line that another one runs along.
        layers = [("white", width + 1.8, "-", 4.0), (colour, width, dashes, 4.02 + 0.02 * i)]
        if dashes != "-":
            layers.insert(1, ("white", width, "-", 4.01 + 0.02 * i))
        for paint, wide, pattern, order in layers:
            cap = "round" if pattern == "-" else "butt"
            drawn = _collection(shapes, colors=paint, linewidths=wide, linestyles=[pattern], zorder=order, capstyle=cap)
            ax.add_collection(drawn, autolim=False)


def draw_points(ax: Any, scene: Scene) -> None:
    """Draw points: in the colours of a scale, of their areas, or dark."""
    if scene.points is None or not len(scene.points):
        return
    x, y = scene.point_xy.T
    values = scene.point_values
    if values is not None:
        known = np.isfinite(values)
        ax.scatter(x[~known], y[~known], **NOT_KNOWN, zorder=5)
        ax.scatter(x[known], y[known], s=38, c=scene.place(values[known]), edgecolors="white", linewidths=0.7, zorder=5)
        return
    groups = scene.group_colours if scene.areas is not None and len(scene.areas) else {}
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


def draw_numbers(ax: Any, scene: Scene) -> None:
    """Write the number of each area at its origin, joined to the area where it lies apart from it."""
    owners = groups_of(scene)
    at = {} if scene.points is None else dict(zip(scene.points.index, scene.point_xy, strict=True))
    for group, number in scene.numbers.items():
        shape = shapely.union_all(scene.area_shapes[owners == group])
        xy = at.get(group)
        if xy is None:
            xy = shapely.get_coordinates(shapely.point_on_surface(shape))[0]
        joint = shapely.get_coordinates(shapely.shortest_line(shapely.Point(xy), shape))
        if np.ptp(joint, axis=0).any():
            ax.plot(*joint.T, color=looks.LABEL, linewidth=0.9, zorder=4.5)
        colour = scene.group_colours[group][0]
        ax.text(
            *xy, number, fontsize=8.0, fontweight="bold", color=looks.on_colour(colour), ha="center", va="center",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": colour, "edgecolor": "white", "linewidth": 1.2},
            zorder=5.5, clip_on=True,
        )  # fmt: skip


def halo(width: float = 2.2) -> list[Any]:
    """Return the white edge that keeps words readable on anything."""
    return [matplotlib_module("patheffects").withStroke(linewidth=width, foreground="white")]


def _collection(lines: AnyArray, **style: Any) -> Any:
    """Return lines as one artist."""
    parts = shapely.get_parts(lines)
    coordinates, owner = shapely.get_coordinates(parts, return_index=True)
    pieces = np.split(coordinates, np.flatnonzero(np.diff(owner)) + 1) if len(coordinates) else []
    return matplotlib_module("collections").LineCollection(pieces, **style)


def _polygons(shapes: AnyArray) -> AnyArray:
    """Return the polygons among shapes and their parts."""
    parts = shapely.get_parts(shapely.get_parts(shapes))
    return np.asarray(parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON])


def _patch(shape: Any, **style: Any) -> Any:
    """Return polygons with holes as one artist."""
    path = matplotlib_module("path").Path
    rings = shapely.get_rings(shapely.orient_polygons(_polygons(np.array([shape], dtype=object))))
    coordinates, owner = shapely.get_coordinates(rings, return_index=True)
    codes = np.full(len(coordinates), path.LINETO, np.uint8)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    codes[first] = path.MOVETO
    codes[np.append(first[1:], len(codes)) - 1] = path.CLOSEPOLY
    return matplotlib_module("patches").PathPatch(path(coordinates, codes), **style)
