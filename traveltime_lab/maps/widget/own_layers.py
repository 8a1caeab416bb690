"""
Layers of own data on the map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipyleaflet
import traitlets

from traveltime_lab.errors import InputError
from traveltime_lab.maps.shading import CLASSES, shading_of
from traveltime_lab.maps.widget.layers import Layer, layer_of

if TYPE_CHECKING:
    import geopandas as gpd


class Shapes(ipyleaflet.GeoJSON):
    """GeoJSON layer in a pane; ipyleaflet sets the pane of a layer too late for the parts of a GeoJSON layer."""

    pane = traitlets.Unicode("").tag(sync=True, o=True)


class OwnLayers:
    """Methods of `TravelTimeMap` about layers of own data."""

    map: Any
    #: Layers by name, with their parts of the map.
    _own: dict[str, tuple[Layer, Any]]
    #: Draws the legend anew.
    _draw_legend: Callable[[], None]

    def add_layer(
        self,
        frame: gpd.GeoDataFrame | gpd.GeoSeries,
        name: str | None = None,
        *,
        over: bool = False,
        color: Any = None,
        column: Any = None,
        scheme: str | None = None,
        k: int = CLASSES,
        cmap: Any = None,
        vmin: float | None = None,
        vmax: float | None = None,
    ) -> None:
        """
        Add points, lines or polygons to the map and its legend.

        Parameters
        ----------
        frame : GeoDataFrame or GeoSeries
            Table in any CRS. Missing and empty geometries are left out.
        name : str, optional
            Name in the legend; by default a number. A layer of the same name is replaced by `remove_layer` first.
        over : bool, default False
            Whether to draw the layer over the areas; by default it is between the base map and the areas.
        color : str or tuple, optional
            Colour of matplotlib, such as ``"red"`` or ``"#1f9e89"``.
        column : hashable, optional
            Numeric column to colour by; travel times (columns whose names begin with ``travel_time``) are in minutes
            in the legend.
        scheme, k, cmap, vmin, vmax
            As in `plot`; for `column` only.

        Raises
        ------
        InputError
            If the frame is not a GeoDataFrame or GeoSeries, the name is in use, the column does not exist or is not
            numeric, or a colour or scheme is unknown.
        CrsError
            If the frame has no CRS.
        CoordinateError
            If a coordinate is not finite.
        """
        shading = shading_of(scheme, k, cmap, vmin, vmax)
        number = len(self._own)
        while name is None and f"Layer {number + 1}" in self._own:
            number += 1
        layer = layer_of(frame, name, over=over, color=color, column=column, shading=shading, number=number)
        if layer.name in self._own:
            raise InputError(
                f"There is already a layer {layer.name!r}; remove it with remove_layer({layer.name!r}), or choose "
                "another name."
            )
        pane = "over" if layer.over else "under"
        # This style alone creates the circles; the styles of features are applied afterwards.
        shown = Shapes(pane=pane, data=layer.features(), point_style={"pane": pane, "radius": 5})
        self._own[layer.name] = layer, shown
        self.map.add(shown)
        self._draw_legend()

    def remove_layer(self, name: str) -> None:
        """
        Remove a layer that `add_layer` added.

        Raises
        ------
        InputError
            If there is no such layer.
        """
        if not isinstance(name, str) or name not in self._own:
            known = f"Known: {', '.join(map(repr, self._own))}." if self._own else "None has been added."
            raise InputError(f"There is no layer {name!r}. {known}")
        _, shown = self._own.pop(name)
        self.map.remove(shown)
        shown.close()
        self._draw_legend()
