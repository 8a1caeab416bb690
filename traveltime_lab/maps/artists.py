"""
The layers of a static map as matplotlib artists: water, streets, areas, lines and points.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import AnyArray
from traveltime_lab.maps import basemap
from traveltime_lab.maps import style as looks
from traveltime_lab.maps.scene import Scene, bands, groups_of, line_names, line_styles, outer_outlines

#: Resolution that sizes in pixels refer to, and points per pixel.
SCREEN_DPI: Final = 100.0
PT: Final = 72.0 / SCREEN_DPI
#: If there are more rings than this (twice as many for several origins), only the outermost ones have outlines, because
#: outlines would cover most of the area.
_MOST_OUTLINES: Final = 4
#: Style of points with missing values, on the map and beside the colour bar.
NOT_KNOWN: Final = {"s": 34, "c": "white", "edgecolors": "#333333", "linewidths": 1.3}

#: Draw text literally: dollar signs in names of places and streets do not begin formulas.
LITERAL: Final = {"parse_math": False, "usetex": False}


def draw_ground(ax: Any, base: basemap.BaseMap) -> None:
    """Draw water and ferries."""
    if len(base.water):
        ax.add_patch(_patch(shapely.multipolygons(_polygons(base.water)), facecolor=looks.WATER, edgecolor="none"))
    if len(base.ferries):
        ax.add_collection(
            _collection(base.ferries, colors=looks.FERRY, linewidths=0.8, linestyles=(0, (5, 4))), autolim=False
        )


def draw_streets(ax: Any, base: basemap.BaseMap, pixel_m: float) -> None:
    """Draw streets, minor ones first."""
    grown = basemap.width_factor(pixel_m)
    for rank, lines in base.streets.items():
        width = looks.RANKS[rank].width_px * grown * PT
        drawn = _collection(lines, colors=looks.STREET, linewidths=width, alpha=0.75, zorder=3)
        ax.add_collection(drawn, autolim=False)


def draw_areas(ax: Any, scene: Scene) -> None:
    """Draw areas as bands that do not overlap, so that their colours are those of the legend."""
    # Where many areas overlap, outlines are easier to tell apart than fills.
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
    """Draw lines with a white casing, coloured if named; the first ones are wider, to be visible below others."""
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
        # Casings are drawn below all lines, so that they do not hide a wider line on the same street.
        layers = [("white", width + 1.8, "-", 4.0), (colour, width, dashes, 4.02 + 0.02 * i)]
        if dashes != "-":
            layers.insert(1, ("white", width, "-", 4.01 + 0.02 * i))
        for paint, wide, pattern, order in layers:
            cap = "round" if pattern == "-" else "butt"
            drawn = _collection(shapes, colors=paint, linewidths=wide, linestyles=[pattern], zorder=order, capstyle=cap)
            ax.add_collection(drawn, autolim=False)


def draw_points(ax: Any, scene: Scene) -> None:
    """Draw points in the colours of the colour bar, in those of their areas, or dark."""
    if scene.points is None or not len(scene.points):
        return
    x, y = scene.point_xy.T
    values = scene.point_values
    if values is not None:
        known = np.isfinite(values)
        ax.scatter(x[~known], y[~known], **NOT_KNOWN, zorder=5)
        # The middle of a diverging scale is as light as the ground.
        edge = looks.LABEL if scene.is_diverging else "white"
        ax.scatter(x[known], y[known], s=38, c=scene.place(values[known]), edgecolors=edge, linewidths=0.7, zorder=5)
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
    """Draw the number of each area at its origin, with a line to the area if the origin lies outside of it."""
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
            zorder=5.5, clip_on=True, **LITERAL,
        )  # fmt: skip


def halo(width: float = 2.2) -> list[Any]:
    """Return path effects that draw a white outline around text, for legibility on any background."""
    return [looks.matplotlib_module("patheffects").withStroke(linewidth=width, foreground="white")]


def _collection(lines: AnyArray, **style: Any) -> Any:
    """Return lines as a single artist."""
    parts = shapely.get_parts(lines)
    coordinates, owner = shapely.get_coordinates(parts, return_index=True)
    pieces = np.split(coordinates, np.flatnonzero(np.diff(owner)) + 1) if len(coordinates) else []
    return looks.matplotlib_module("collections").LineCollection(pieces, **style)


def _polygons(shapes: AnyArray) -> AnyArray:
    """Return the polygons in geometries and geometry collections."""
    parts = shapely.get_parts(shapely.get_parts(shapes))
    return np.asarray(parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON])


def _patch(shape: Any, **style: Any) -> Any:
    """Return polygons with holes as a single artist."""
    path = looks.matplotlib_module("path").Path
    rings = shapely.get_rings(shapely.orient_polygons(_polygons(np.array([shape], dtype=object))))
    coordinates, owner = shapely.get_coordinates(rings, return_index=True)
    codes = np.full(len(coordinates), path.LINETO, np.uint8)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    codes[first] = path.MOVETO
    codes[np.append(first[1:], len(codes)) - 1] = path.CLOSEPOLY
    return looks.matplotlib_module("patches").PathPatch(path(coordinates, codes), **style)
