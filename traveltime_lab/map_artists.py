"""
The drawn things of a still map: water, streets, areas, lines and points as artists of matplotlib.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import shapely

from traveltime_lab import basemap, looks
from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.map_scenes import Scene, bands, group_colours, limits_of

#: Pixels to an inch that sizes on screen are meant for, and points to such a pixel.
SCREEN_DPI: Final = 100.0
PT: Final = 72.0 / SCREEN_DPI


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
    for colour, shape, outline in bands(scene):
        if shape.is_empty:
            continue
        ax.add_patch(_patch(shape, facecolor=colour, edgecolor="none", alpha=looks.AREA_OPACITY, zorder=2))
        ax.add_patch(_patch(shape, facecolor="none", edgecolor=outline, linewidth=0.8, zorder=3.5))


def draw_lines(ax: Any, scene: Scene) -> None:
    """Draw routes in black with a white edge."""
    if len(scene.lines):
        for colour, width, order in (("white", 4.0, 4.0), (looks.ROUTE, 2.0, 4.1)):
            ax.add_collection(
                _collection(scene.lines, colors=colour, linewidths=width, zorder=order, capstyle="round"), autolim=False
            )


def draw_points(ax: Any, scene: Scene) -> None:
    """Draw points: in the colours of a scale, of their areas, or dark."""
    if scene.points is None or not len(scene.points):
        return
    x, y = scene.point_xy.T
    if scene.column is not None and scene.column in scene.points.columns:
        values = scene.points[scene.column].to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.isfinite(values)
        ax.scatter(x[~known], y[~known], s=26, c="white", edgecolors="#777777", linewidths=0.8, zorder=5)
        low, high = limits_of(scene)
        colours = [looks.ramp_colour(float(np.clip((v - low) / (high - low or 1.0), 0, 1))) for v in values[known]]
        ax.scatter(x[known], y[known], s=38, c=colours, edgecolors="white", linewidths=0.7, zorder=5)
        return
    groups = group_colours(scene) if scene.areas is not None and len(scene.areas) else {}
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


def halo(width: float = 2.2) -> list[Any]:
    """Return the white edge that keeps words readable on anything."""
    return [matplotlib_module("patheffects").withStroke(linewidth=width, foreground="white")]


def _collection(lines: npt.NDArray[Any], **style: Any) -> Any:
    """Return lines as one artist."""
    parts = shapely.get_parts(lines)
    coordinates, owner = shapely.get_coordinates(parts, return_index=True)
    pieces = np.split(coordinates, np.flatnonzero(np.diff(owner)) + 1) if len(coordinates) else []
    return matplotlib_module("collections").LineCollection(pieces, **style)


def _polygons(shapes: npt.NDArray[Any]) -> npt.NDArray[Any]:
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
