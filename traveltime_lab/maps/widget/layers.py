"""
Layers of own data: a table as styled GeoJSON, and its part of the legend.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import geopandas as gpd
import numpy as np
import shapely

from traveltime_lab._arrays import FloatArray
from traveltime_lab._checks import did_you_mean, flag, is_hashable, words
from traveltime_lab.errors import InputError
from traveltime_lab.maps import style
from traveltime_lab.maps.scene import DIFFERENCE, read_numbers, read_table
from traveltime_lab.maps.shading import Shading
from traveltime_lab.maps.style import matplotlib_module

#: Decimals of degrees: a decimetre.
_DECIMALS: Final = 6
#: Number of colours of the bar of a continuous scale.
_TONES: Final = 9


@dataclass(frozen=True)
class Layer:
    """
    A table to draw under or over the areas.

    Attributes
    ----------
    name : str
        Name in the legend.
    table : GeoDataFrame
        In EPSG:4326, without missing and empty geometries.
    over : bool
        Whether the layer is drawn over the areas.
    colour : str
        Hexadecimal colour of all rows, if there is no `column`.
    column : hashable or None
        Column to colour by.
    shading : Shading
        Options of the colours of values.
    """

    name: str
    table: gpd.GeoDataFrame
    over: bool
    colour: str
    column: Any
    shading: Shading

    def _values(self) -> FloatArray:
        """Return the values of the column; travel times in minutes as in legends."""
        values = read_numbers(self.table, self.column)
        return values / 60.0 if self._is_time() else values

    def _is_time(self) -> bool:
        return str(self.column).startswith("travel_time")

    def _scale(self) -> Shading:
        """Return the options of the colours in the unit of the legend."""
        ends = self.shading.vmin, self.shading.vmax
        if not self._is_time():
            return self.shading
        low, high = (None if end is None else end / 60.0 for end in ends)
        return Shading(self.shading.scheme, self.shading.k, self.shading.cmap, low, high)

    def features(self) -> dict[str, Any]:
        """Return the rows as a GeoJSON FeatureCollection with styles."""
        colours = [self.colour] * len(self.table)
        if self.column is not None:
            values = self._values()
            known = values[np.isfinite(values)]
            colours = self._scale().place(values, known, is_diverging=self.column == DIFFERENCE)
        # Rounded one by one: a grid of this precision could make small shapes vanish.
        shapes = shapely.transform(shapely.force_2d(self.table.geometry.to_numpy()), lambda xy: np.round(xy, _DECIMALS))
        features = [
            {
                "type": "Feature",
                "properties": {"style": _style(colour, shapely.get_dimensions(shape))},
                "geometry": json.loads(shapely.to_geojson(shape)),
            }
            for shape, colour in zip(shapes, colours, strict=True)
        ]
        return {"type": "FeatureCollection", "features": features}

    def legend_html(self) -> str:
        """Return the part of the legend for this layer as HTML."""
        name = escape(self.name)
        if self.column is None:
            return f"<div>{_swatch(self.colour, name)}</div>"
        unit = "travel time, min" if self.column == "travel_time" else str(self.column).replace("_", " ")
        if self._is_time() and self.column != "travel_time":
            unit += ", min"
        head = f"<div><b>{name}</b>: {escape(unit)}</div>"
        values = self._values()
        known = values[np.isfinite(values)]
        missing = _swatch(style.NO_VALUE, "no value") if len(known) < len(values) else ""
        if not len(known):
            return f"{head}<div>{missing}</div>"
        scale, is_diverging = self._scale(), self.column == DIFFERENCE
        edges = scale.edges(known)
        if edges is not None:
            last = max(len(edges) - 2, 1)
            classes = [
                _swatch(scale.colour(i / last), f"{style.number_label(low)}\u2013{style.number_label(high)}")
                for i, (low, high) in enumerate(itertools.pairwise(edges))
            ]
            return f"{head}<div style='display:flex;flex-wrap:wrap;max-width:240px'>{''.join(classes)}{missing}</div>"
        low, high = scale.limits(known, is_centred=is_diverging)
        tones = [scale.colour(i / (_TONES - 1), is_diverging=is_diverging) for i in range(_TONES)]
        bar = f"width:100px;height:12px;background:linear-gradient(90deg,{','.join(tones)})"
        # Signs say that there are values beyond the ends of the scale.
        below, above = "\u2264 " * bool(known.min() < low), "\u2265 " * bool(known.max() > high)
        ends = below + style.number_label(low), above + style.number_label(high)
        return (
            f"{head}<div style='display:flex;align-items:center;gap:5px'>{ends[0]}<i style='{bar}'></i>{ends[1]}"
            f"</div><div>{missing}</div>"
        )


def layer_of(frame: Any, name: Any, *, over: Any, color: Any, column: Any, shading: Shading, number: int) -> Layer:
    """
    Return a validated layer.

    Parameters
    ----------
    frame, name, over, color, column
        As in `TravelTimeMap.add_layer`.
    shading : Shading
        Options of the colours of values.
    number : int
        Number of layers that the map has, which determines default names and colours.

    Raises
    ------
    InputError, CrsError, CoordinateError
        If an argument is invalid.
    """
    table = read_table(frame, "frame")
    if table is None:
        raise InputError("frame must be a GeoDataFrame or GeoSeries; got None")
    text = f"Layer {number + 1}" if name is None else words(name, "name")
    if not text.strip():
        raise InputError("name must not be empty; it is shown in the legend")
    if column is None and shading.is_given:
        raise InputError("scheme, k, cmap, vmin and vmax are for the values of a column; give column=, too")
    if column is not None:
        if color is not None:
            raise InputError("Give color for one colour, or column for colours by value, not both.")
        if not is_hashable(column) or column not in table.columns or column == table.geometry.name:
            known = ", ".join(repr(label) for label in table.columns if label != table.geometry.name)
            hint = did_you_mean(column, table.columns.drop(table.geometry.name))
            raise InputError(f"frame has no column {column!r} to colour by; it has {known or 'no columns'}{hint}")
        read_numbers(table, column)
    colour = style.LAYER_COLOURS[number % len(style.LAYER_COLOURS)] if color is None else _hexadecimal(color)
    return Layer(text, table, flag(over, "over"), colour, column, shading)


def _hexadecimal(color: Any) -> str:
    """Return a colour of matplotlib as text such as ``"#1f9e89"``."""
    try:
        return str(matplotlib_module("colors").to_hex(color))
    except (TypeError, ValueError):
        raise InputError(f"color must be a colour of matplotlib, such as 'red' or '#1f9e89'; got {color!r}") from None


def _style(colour: str, dimension: int) -> dict[str, Any]:
    """Return the style of points, lines or polygons."""
    if dimension == 1:
        return {"color": colour, "weight": 3, "opacity": 0.9, "fill": False}
    if dimension == 0:
        return {"color": "#ffffff", "weight": 1.5, "opacity": 1.0, "fillColor": colour, "fillOpacity": 0.95}
    return {"color": colour, "weight": 1.2, "opacity": 0.9, "fillColor": colour, "fillOpacity": 0.45}


def _swatch(colour: str, text: str) -> str:
    """Return a coloured square and text."""
    return (
        "<span style='display:inline-flex;align-items:center;margin-right:10px;white-space:nowrap'><i style='"
        f"width:14px;height:14px;margin-right:4px;background:{colour}'></i>{text}</span>"
    )
