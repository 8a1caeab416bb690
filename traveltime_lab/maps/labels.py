"""
Text on a static map: scale bar, attribution, and the names of points and streets, placed without overlaps.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.artists import LITERAL, PT, halo
from traveltime_lab.maps.scene import Scene
from traveltime_lab.maps.style import matplotlib_module
from traveltime_lab.network.network import Network

#: Maximum number of points that are labelled by default.
_MOST_NAMES: Final = 30
#: Minimum distance in pixels between the scale bar and points, so that there is space for their names.
_NAME_PX: Final = 14.0
#: Minimum number of letters in a line of the attribution.
_LEAST_LETTERS: Final = 20


@dataclass
class Room:
    """Occupied areas in pixels, for placing text without overlaps."""

    taken: list[Any] = field(default_factory=list)

    def has(self, rectangle: Any) -> bool:
        """Return whether an area is free."""
        return not any(shapely.intersects(rectangle, self.taken))

    def take(self, rectangle: Any) -> None:
        """Mark an area as occupied."""
        self.taken.append(rectangle)

    def take_extent(self, extent: Any) -> None:
        """Mark the bounding box of an artist as occupied."""
        self.take(_rectangle(extent))


def draw_scale_bar(ax: Any, scene: Scene, shrink: float, room: Room) -> None:
    """Draw a scale bar of a round length in the first free corner, starting at the lower left."""
    west, _, east, _ = scene.box
    length = style.round_length((east - west) * shrink * 0.2)
    window = ax.get_window_extent()
    dot = ax.figure.dpi / 72.0
    long = float(np.ptp(ax.transData.transform([(west, 0.0), (west + length / shrink, 0.0)])[:, 0]))
    text = ax.text(0, 0, style.metres_label(length), fontsize=9, color=style.LABEL, va="center", zorder=7.2, **LITERAL)
    words = text.get_window_extent()
    wide, high, edge = long + words.width + 15 * dot, words.height + 6 * dot, 4 * dot
    # In the lower right corner, the scale bar is above the attribution.
    lifts = [box.bounds[3] - window.y0 for box in room.taken if box.bounds[3] < window.y0 + 0.1 * window.height]
    left, right = window.x0 + edge, window.x1 - edge - wide
    low, top = window.y0 + edge, window.y1 - edge - high
    corners = [(left, low), (right, window.y0 + max(lifts, default=0.0) + edge), (left, top), (right, top)]
    dots = shapely.points(ax.transData.transform(scene.point_xy)) if len(scene.point_xy) else np.empty(0, dtype=object)

    def is_free(corner: tuple[float, float]) -> bool:
        ground = shapely.box(*corner, corner[0] + wide, corner[1] + high)
        return room.has(ground) and not shapely.dwithin(dots, ground, _NAME_PX * dot).any()

    x, y = next((corner for corner in corners if is_free(corner)), corners[0])
    back = ax.transData.inverted().transform
    (x0, y0), (x1, y1) = back([(x, y), (x + wide, y + high)])
    ground = matplotlib_module("patches").Rectangle(
        (x0, y0), x1 - x0, y1 - y0, facecolor="white", alpha=0.88, edgecolor="none", zorder=6.9
    )
    ax.add_patch(ground)
    bar = back([(x + 5 * dot, y + high / 2), (x + 5 * dot + long, y + high / 2)])
    ax.plot(*bar.T, color=style.LABEL, linewidth=2.2, solid_capstyle="butt", marker="|", markersize=6, zorder=7.1)
    text.set_position(back((x + long + 10 * dot, y + high / 2)))
    room.take(shapely.box(x - 2, y - 2, x + wide + 2, y + high + 2))


def draw_note(ax: Any, note: str, room: Room) -> None:
    """Draw a note at the top of the map."""
    if not note:
        return
    text = ax.text(
        0.5, 0.97, "\n".join(textwrap.wrap(note, 48)), transform=ax.transAxes, ha="center", va="top", fontsize=11,
        color=style.LABEL, zorder=8, bbox={"facecolor": "white", "alpha": 0.92, "pad": 5.0, "edgecolor": "#999999"},
        **LITERAL,
    )  # fmt: skip
    room.take(_rectangle(text.get_window_extent()))


def draw_attribution(ax: Any, network: Network, room: Room) -> None:
    """Draw the attribution of the data in the lower right corner; on a narrow map in several lines, or smaller."""
    if not network.attribution:
        return
    text = ax.text(
        0.995, 0.006, network.attribution, transform=ax.transAxes, ha="right", va="bottom", fontsize=7,
        color="#444444", zorder=7, bbox={"facecolor": "white", "alpha": 0.75, "pad": 1.5, "edgecolor": "none"},
        **LITERAL,
    )  # fmt: skip
    width = 0.98 * ax.get_window_extent().width
    for letters in range(len(network.attribution) - 1, _LEAST_LETTERS - 1, -1):
        if text.get_window_extent().width <= width:
            break
        text.set_text("\n".join(textwrap.wrap(network.attribution, letters)))
    while text.get_window_extent().width > width and text.get_fontsize() > 1.0:
        text.set_fontsize(0.9 * text.get_fontsize())
    room.take(_rectangle(text.get_window_extent()))


def draw_names(ax: Any, scene: Scene, labels: bool | None, room: Room) -> None:
    """Draw the names of points beside them where there is space."""
    points = scene.points
    if points is None or not len(points):
        return
    for x, y in ax.transData.transform(scene.point_xy):
        room.take(shapely.box(x - 4, y - 4, x + 4, y + 4))
    if labels is False:
        return
    if labels is None and (len(points) > _MOST_NAMES or points.index.inferred_type not in ("string", "mixed")):
        return
    inside = ax.get_window_extent()
    frame = shapely.box(inside.x0 + 2, inside.y0 + 2, inside.x1 - 2, inside.y1 - 2)
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
            color=style.LABEL,
            path_effects=halo(),
            zorder=7.5,
            **LITERAL,
        )
        for dx, dy, ha, va in sides:
            text.set(position=(dx, dy), ha=ha, va=va)
            ground = _rectangle(text.get_window_extent())
            if shapely.covers(frame, ground) and room.has(ground):
                room.take(ground)
                break
        else:
            text.remove()


def draw_street_names(ax: Any, scene: Scene, base: basemap.BaseMap, pixel_m: float, room: Room) -> None:
    """Draw street names along streets where there is space and no line is drawn."""
    for line in scene.line_shapes:
        room.take(shapely.buffer(shapely.transform(line, ax.transData.transform), 5.0 * ax.figure.dpi / 72.0))
    size_px = 11.0
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
            va="center_baseline", fontsize=size_px * PT, color=style.STREET_LABEL, path_effects=halo(3.6),
            zorder=6, clip_on=True, **LITERAL,
        )  # fmt: skip


def _font() -> Any:
    """Return matplotlib's default font, to check which characters it has."""
    manager = matplotlib_module("font_manager")
    return matplotlib_module("ft2font").FT2Font(manager.findfont(manager.FontProperties()))


def _rectangle(extent: Any) -> Any:
    """Return a bounding box in pixels as a polygon."""
    return shapely.box(extent.x0 - 1, extent.y0 - 1, extent.x1 + 1, extent.y1 + 1)
