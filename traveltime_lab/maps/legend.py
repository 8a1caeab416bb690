"""
Colour bars and legends of static maps; a large legend is placed below the map.
"""

from __future__ import annotations

import textwrap
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab.maps import style
from traveltime_lab.maps.artists import LITERAL, NOT_KNOWN
from traveltime_lab.maps.scene import Scene, compares_areas, is_comparison, line_styles
from traveltime_lab.maps.style import matplotlib_module

#: Maximum share of the area of the map, and of its width, that a legend on the map covers.
_LARGE: Final = 0.1
_WIDE: Final = 0.45
#: Maximum number of letters in a line of a legend.
_LETTERS: Final = 38
_STYLE: Final = {"fontsize": 9, "title_fontsize": 9, "edgecolor": "#cccccc", "labelcolor": style.LABEL}


def draw_scale(figure: Any, ax: Any, scene: Scene, unit: str | None) -> None:
    """Draw a colour bar beside the map if there are too many values for a legend."""
    values = scene.point_values
    if values is None and not scene.is_scale:
        return
    if values is None:
        values = scene.area_values
    if values is None or not np.isfinite(values).any():
        return
    low, high = scene.limits
    words, in_seconds = scene.measure
    factor = 60.0 if in_seconds else 1.0
    colours, edges = matplotlib_module("colors"), scene.edges
    if edges is not None:
        n_classes = len(edges) - 1
        tones = [scene.colour(code / max(n_classes - 1, 1)) for code in range(n_classes)]
        bounds = edges / factor
        ramp, norm = colours.ListedColormap(tones), colours.BoundaryNorm(bounds, n_classes)
        layout: dict[str, Any] = {"ticks": bounds, "spacing": "uniform", "format": _class_label}
    else:
        tones = [scene.colour(k / 10.0) for k in range(11)]
        ramp = colours.LinearSegmentedColormap.from_list("traveltime", tones)
        norm = colours.Normalize(low / factor, high / factor)
        # Pointed ends say that there are values beyond.
        ends = ("max" if values[np.isfinite(values)].max() > high else "", "min" if np.nanmin(values) < low else "")
        extend = {("max", "min"): "both", ("", ""): "neither"}.get(ends, ends[0] or ends[1])
        layout = {"extend": extend, "format": style.tick_labels()}
    drawn = matplotlib_module("cm").ScalarMappable(norm, ramp)
    bar = figure.colorbar(drawn, ax=ax, shrink=0.6, pad=0.01, aspect=30, **layout)
    if scene.point_values is None:
        # The same transparency as on the map; edges of the same colour hide the seams between the pieces.
        bar.solids.set(alpha=style.AREA_OPACITY + 0.1, edgecolor="face", linewidth=0.0)
    bar.set_label(unit or (f"{words}, min" if in_seconds else words), color=style.LABEL, **LITERAL)
    bar.outline.set_linewidth(0.5)
    if not np.isfinite(values).all():
        _explain_unknown(bar.ax, scene, is_time=in_seconds or _is_time(unit or words))


def _class_label(value: float, _position: int | None = None) -> str:
    """Return the label of an end of a class; called by matplotlib."""
    return style.number_label(value, 3 if abs(value) < 100.0 else 6)


def _is_time(words: str) -> bool:
    """Return whether a label names a travel time or a distance, which is missing for unreachable places only."""
    return any(word.startswith(("min", "sec", "hour", "travel", "distance")) for word in words.lower().split())


def _explain_unknown(ax: Any, scene: Scene, *, is_time: bool) -> None:
    """Draw a symbol for missing values below the colour bar; in comparisons, one each for gained and lost."""
    where = {"transform": ax.transAxes, "ha": "left", "va": "center"}
    entries = [("not\nreached" if is_time else "no\nvalue", style.NO_VALUE)]
    if scene.point_values is None and is_comparison(scene.areas) and scene.areas is not None:
        changes = set(scene.areas.get("change", ()))
        entries = [item for item in style.ONLY_ONE.items() if item[0] in changes] or entries
    for number, (text, colour) in enumerate(entries):
        y = -0.07 - 0.07 * number
        if scene.point_values is None:
            patch = matplotlib_module("patches").Rectangle(
                (0, y - 0.02), 1, 0.04, transform=ax.transAxes, facecolor=colour, clip_on=False
            )
            ax.add_patch(patch)
        else:
            ax.scatter([0.5], [y], **NOT_KNOWN, transform=ax.transAxes, clip_on=False)
        ax.text(1.6, y, text, fontsize=9, color=style.LABEL, **where, **LITERAL)


def draw_legend(ax: Any, scene: Scene) -> Any:
    """
    Draw the legend of areas and lines in the upper corner where it hides less; below the map if it is large.
    """
    handles, title, names_first = _entries(scene)
    if not handles:
        return None
    options = {**_STYLE, "title": title, "handler_map": {_Row: _RowHandler()}, "markerfirst": not names_first}
    if names_first:
        options["handlelength"] = max(handle.length for handle in handles if isinstance(handle, _Row))
    made = _literal(ax.legend(handles=handles, loc=_emptier_corner(scene), framealpha=0.92, borderpad=0.6, **options))
    made.set_zorder(8)
    figure = ax.figure.canvas.figure
    if figure.get_layout_engine() is None:
        return made  # without a layout engine there is no space below the map
    figure.draw_without_rendering()
    ground, room = made.get_window_extent(), ax.get_window_extent()
    if ground.width * ground.height > _LARGE * room.width * room.height or ground.width > _WIDE * room.width:
        columns = 1
        if not names_first:
            columns = int(np.clip(room.width // ground.width, 1, len(handles)))
        made = ax.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(0.0, -0.005), frameon=False, borderpad=0.2,
            ncols=columns, **options,
        )  # fmt: skip
        _literal(made).set_zorder(8)
    return made


def _literal(legend: Any) -> Any:
    """Draw the words of a legend literally."""
    for text in (legend.get_title(), *legend.get_texts()):
        text.set(**LITERAL)
    return legend


def is_outside(ax: Any, legend: Any) -> bool:
    """Return whether a legend is below the map."""
    return legend is not None and bool(legend.get_window_extent().y1 <= ax.get_window_extent().y0 + 1.0)


class _Row:
    """A row of a legend: the swatches of the rings of an origin, or the values of the rings."""

    def __init__(self, label: str, cells: list[str], length: float, *, swatches: bool) -> None:
        self.label, self.cells, self.length, self.swatches = label, cells, length, swatches

    def get_label(self) -> str:
        """Return the label of the row; called by matplotlib."""
        return self.label


class _RowHandler:
    """Legend handler that draws rows."""

    def legend_artist(self, legend: Any, row: _Row, fontsize: float, box: Any) -> Any:
        """Draw the cells of a row; called by matplotlib."""
        patches, texts = matplotlib_module("patches"), matplotlib_module("text")
        wide = box.width / len(row.cells)
        for i, cell in enumerate(row.cells):
            if row.swatches:
                made = patches.Rectangle(
                    (i * wide, 0.0), wide, box.height, facecolor=cell, alpha=style.AREA_OPACITY + 0.15, edgecolor="none"
                )
            else:
                made = texts.Text(
                    (i + 0.5) * wide, 0.5 * box.height, cell, fontsize=0.9 * fontsize, ha="center", va="center",
                    color=style.LABEL, **LITERAL,
                )  # fmt: skip
            made.set_transform(box.get_transform())
            box.add_artist(made)
        return box


def _entries(scene: Scene) -> tuple[list[Any], str | None, bool]:
    """Return the entries of the legend, its title, and whether labels precede the swatches."""
    lines = [
        matplotlib_module("lines").Line2D([], [], color=colour, linestyle=dashes, linewidth=2.6, label=_folded(name))
        for name, (colour, dashes) in line_styles(scene).items()
    ]
    if scene.areas is None or not len(scene.areas) or scene.is_scale:
        return lines, None, False
    patches = matplotlib_module("patches")
    limits = [_limit(scene, float(value)) for value in scene.steps]
    rows = scene.group_colours
    distinct = len(rows) > 1 and len({row[0] for row in rows.values()}) > 1

    def swatch(colour: str, text: str) -> Any:
        return patches.Patch(color=colour, alpha=style.AREA_OPACITY + 0.15, label=text)

    if scene.area_column is None and compares_areas(scene.areas):
        return [*(swatch(rows[group][0], group) for group in style.AREA_CHANGES if group in rows), *lines], None, False
    if distinct:
        own = {g: n for g, n in scene.numbers.items() if n != str(g)}
        names = {group: _folded(f"{own[group]}  {group}" if group in own else str(group)) for group in rows}
        if len(limits) <= 1:
            handles = [swatch(row[0], names[group]) for group, row in rows.items()]
            return [*handles, *lines], f"within {limits[0]}" if limits else None, False
        # Widths are in units of the font size.
        length = sum(max(0.62 * len(limit) + 0.8, 1.6) for limit in _plain(scene)[0])
        numbers, measure = _plain(scene)
        made: list[Any] = [_Row(f"within, {measure}" if measure else "up to", numbers, length, swatches=False)]
        made += [_Row(names[group], row, length, swatches=True) for group, row in rows.items()]
        return [*made, *lines], None, True
    if not limits:
        return lines, None, False
    row = next(iter(rows.values()))
    return [*(swatch(colour, text) for colour, text in zip(row, limits, strict=True)), *lines], None, False


def _limit(scene: Scene, value: float) -> str:
    """Return the label of a value of areas."""
    if scene.measure[1]:
        return style.minutes_label(value)
    return style.metres_label(value) if scene.area_column == "distance" else style.number_label(value, 6)


def _plain(scene: Scene) -> tuple[list[str], str]:
    """Return the values of areas as numbers, and their unit."""
    steps = scene.steps
    if scene.measure[1]:
        return [f"{value / 60.0:.4g}" for value in steps], "min"
    if scene.area_column == "distance":
        in_km = bool((steps >= 1000.0).all())
        unit_m = 1000.0 if in_km else 1.0
        return [style.number_label(value / unit_m, 4) for value in steps], "km" if in_km else "m"
    return [style.number_label(value, 6) for value in steps], ""


def _folded(name: str) -> str:
    """Wrap a long name."""
    return "\n".join(textwrap.wrap(name, _LETTERS)) or name


def _emptier_corner(scene: Scene) -> str:
    """Return the upper corner with fewer areas, lines and points."""
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
        lines = float(shapely.length(shapely.intersection(scene.line_shapes, corner)).sum()) / wide
        return covered + 0.2 * float(shapely.contains(corner, dots).sum()) + lines

    return min(corners, key=lambda name: hidden(corners[name]))
