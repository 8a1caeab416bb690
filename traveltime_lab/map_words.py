"""
The words of a still map: legend, scale, source, and the names of points and streets, none of which covers another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab import basemap, looks
from traveltime_lab.map_artists import PT, halo, matplotlib_module
from traveltime_lab.map_scenes import Scene, area_values, group_colours, is_scale, limits_of, value_column
from traveltime_lab.network import Network

#: Points up to this many are labelled with their names if nothing else is said.
_MOST_NAMES: Final = 30


@dataclass
class Room:
    """Rectangles in pixels that are taken, so that words do not cover one another."""

    taken: list[Any] = field(default_factory=list)

    def has(self, rectangle: Any) -> bool:
        """Return whether a rectangle is free."""
        return not any(shapely.intersects(rectangle, self.taken))

    def take(self, rectangle: Any) -> None:
        """Take a rectangle."""
        self.taken.append(rectangle)


def draw_scale(figure: Any, ax: Any, scene: Scene, unit: str | None) -> None:
    """Draw a scale beside the map where numbers are too many for swatches."""
    values = area_values(scene)
    on_points = scene.column is not None and scene.points is not None and scene.column in scene.points.columns
    if not on_points and (values is None or not is_scale(values)):
        return
    name = (scene.column if on_points else value_column(scene)) or ""
    low, high = limits_of(scene) if scene.column else (float(np.min(values)), float(np.max(values)))  # type: ignore[arg-type]
    in_minutes = name.startswith("travel_time")
    factor = 60.0 if in_minutes else 1.0
    colours = matplotlib_module("colors")
    ramp = colours.LinearSegmentedColormap.from_list("traveltime", looks.ramp(9))
    norm = colours.Normalize(low / factor, high / factor)
    bar = figure.colorbar(matplotlib_module("cm").ScalarMappable(norm, ramp), ax=ax, shrink=0.6, pad=0.01, aspect=30)
    bar.set_label(unit or ("minutes" if in_minutes else name.replace("_", " ")), color=looks.LABEL)
    bar.outline.set_linewidth(0.5)


def draw_legend(ax: Any, scene: Scene, room: Room) -> None:
    """Explain the colours of areas in the upper corner that hides less."""
    values = area_values(scene)
    if scene.areas is None or not len(scene.areas) or (values is not None and is_scale(values)):
        return
    patches = matplotlib_module("patches")
    name = looks.metres_label if value_column(scene) == "distance" else looks.minutes_label
    limits = [] if values is None else [name(value) for value in np.unique(values)]
    by_group = group_colours(scene)
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


def _emptier_corner(scene: Scene) -> str:
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


def draw_scale_bar(ax: Any, scene: Scene, shrink: float, room: Room) -> None:
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
        color=looks.LABEL, path_effects=halo(), zorder=7.2,
    )  # fmt: skip
    (left, bottom), (right, _) = ax.transData.transform([(x0, y0), (x1, y0)])
    top = text.get_window_extent().y1
    room.take(shapely.box(left - 4, bottom - 6, right + 4, top + 2))


def draw_attribution(ax: Any, network: Network, room: Room) -> None:
    """Name the source in the lower right corner."""
    if not network.attribution:
        return
    text = ax.text(
        0.995, 0.006, network.attribution, transform=ax.transAxes, ha="right", va="bottom", fontsize=7,
        color="#444444", zorder=7, bbox={"facecolor": "white", "alpha": 0.75, "pad": 1.5, "edgecolor": "none"},
    )  # fmt: skip
    room.take(_rectangle(text.get_window_extent()))


def draw_names(ax: Any, scene: Scene, labels: bool | None, room: Room) -> None:
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
            path_effects=halo(),
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


def draw_street_names(ax: Any, base: basemap.BaseMap, pixel_m: float, room: Room) -> None:
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
            va="center_baseline", fontsize=size_px * PT, color=looks.STREET_LABEL, path_effects=halo(1.6),
            zorder=6, clip_on=True,
        )  # fmt: skip


def _font() -> Any:
    """Return the font that texts get, to ask which letters it has."""
    manager = matplotlib_module("font_manager")
    return matplotlib_module("ft2font").FT2Font(manager.findfont(manager.FontProperties()))


def _rectangle(extent: Any) -> Any:
    """Return a bounding box in pixels as a polygon."""
    return shapely.box(extent.x0 - 1, extent.y0 - 1, extent.x1 + 1, extent.y1 + 1)
