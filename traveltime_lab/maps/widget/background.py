"""
The window of a map, and what lies below its areas there: the network's own streets, or tiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import geopandas as gpd
import ipyleaflet

from traveltime_lab.errors import InputError
from traveltime_lab.maps import basemap
from traveltime_lab.maps.widget import browser
from traveltime_lab.maps.widget.jobs import LatestOnly
from traveltime_lab.maps.widget.state import MapState
from traveltime_lab.network.network import Network

#: Size of the map that is assumed until the browser reports the real one.
ASSUMED_PX = (1000, 560)
#: Margin of the base map around the window as a share of its size, so that small moves need no new base map.
_SPARE = 0.5
#: Pixels by which the centre of a fitted map may differ from the requested one.
_ROUNDED_PX = 3.0


class Background:
    """Methods of `TravelTimeMap` about its window and base map."""

    network: Network
    map: Any
    _base: basemap.Overlays | None
    _base_jobs: LatestOnly
    _uses_network: bool
    #: Image overlays with the ground and with the streets.
    _ground: Any
    _streets: Any
    #: Shows an error on the map.
    _on_failure: Callable[[BaseException], None]
    state: MapState
    _areas: gpd.GeoDataFrame
    #: Latitude, longitude and zoom that the map was last fitted to.
    _fitted: tuple[float, float, float]

    def fit(self) -> None:
        """Fit the map to all areas."""
        box = browser.worth_seeing(self._areas_in_sight(), self.state.origins, self.network)
        wide_px, high_px = ASSUMED_PX
        # Not from the bounds in degrees: after a zoom, the browser reports them later.
        if corners := self.map.pixel_bounds:
            (left, top), (right, bottom) = corners
            if right > left and bottom > top:
                wide_px, high_px = right - left, bottom - top
        zoom = browser.zoom_for(box, 0.85 * wide_px, 0.85 * high_px)
        # Sent together: the browser animates a move, and a zoom during the animation would stop it.
        with self.map.hold_sync():
            self.map.center = ((box[1] + box[3]) / 2.0, (box[0] + box[2]) / 2.0)
            self.map.zoom = zoom
        self._fitted = (*self.map.center, self.map.zoom)

    def _areas_in_sight(self) -> gpd.GeoDataFrame:
        """Return the areas that the map is fitted to."""
        return self._areas

    def _keep_in_sight(self) -> None:
        """
        Fit the map if areas have left the window.

        A user who has moved or zoomed the map looks at a part of the areas on purpose; the map is then fitted only if
        it shows no part of them any more.
        """
        areas = self._areas_in_sight()
        if not len(areas) or areas.geometry.is_empty.all():
            return
        west, south, east, north = browser.worth_seeing(areas, self.state.origins, self.network)
        window = self._window()
        is_inside = west >= window[0] and south >= window[1] and east <= window[2] and north <= window[3]
        is_in_reach = west <= window[2] and south <= window[3] and east >= window[0] and north >= window[1]
        if not is_inside and not (is_in_reach and self._was_moved()):
            self.fit()

    def _was_moved(self) -> bool:
        """Return whether the window has been moved or zoomed since the map was fitted."""
        lat, lng, zoom = self._fitted
        if self.map.zoom != zoom:
            return True
        # The browser rounds the centre to pixels, also when the size of the map changes.
        near = _ROUNDED_PX * browser.metres_per_pixel(zoom, 0.0) / 111_320.0
        return bool(abs(self.map.center[0] - lat) > near or abs(self.map.center[1] - lng) > near)

    def _draw_base(self) -> None:
        """Draw the base map for the visible window, unless the current one covers it."""
        if not self._uses_network:
            return
        window = self._window()
        zoom = float(self.map.zoom)
        if self._base is not None:
            (south, west), (north, east) = self._base.bounds
            fits = west <= window[0] and south <= window[1] and east >= window[2] and north >= window[3]
            if fits and math.isclose(self._base.metres_per_pixel, self._pixel_m(zoom, window), rel_tol=0.2):
                return
        wide, high = window[2] - window[0], window[3] - window[1]
        bounds = (
            window[0] - _SPARE * wide,
            max(window[1] - _SPARE * high, -85.0),
            window[2] + _SPARE * wide,
            min(window[3] + _SPARE * high, 85.0),
        )
        pixel_m = self._pixel_m(zoom, window)
        self._base_jobs.submit(
            lambda _: basemap.overlays(self.network, bounds, pixel_m),
            self._show_base,
            self._on_failure,
            at_once=self._base is None,
        )

    @staticmethod
    def _pixel_m(zoom: float, window: tuple[float, float, float, float]) -> float:
        return browser.metres_per_pixel(zoom, (window[1] + window[3]) / 2.0)

    def _window(self) -> tuple[float, float, float, float]:
        """Return west, south, east, north of the visible window; estimated until the browser has reported it."""
        if self.map.north > self.map.south and self.map.east > self.map.west:
            return self.map.west, self.map.south, self.map.east, self.map.north
        lat, lng = self.map.center
        degrees = browser.metres_per_pixel(self.map.zoom, 0.0) / 111_320.0
        half_wide = ASSUMED_PX[0] / 2.0 * degrees
        half_high = ASSUMED_PX[1] / 2.0 * degrees * math.cos(math.radians(lat))
        return lng - half_wide, lat - half_high, lng + half_wide, lat + half_high

    def _show_base(self, made: basemap.Overlays) -> None:
        self._base = made
        for overlay, picture in ((self._ground, made.ground), (self._streets, made.streets)):
            with overlay.hold_sync():
                overlay.url, overlay.bounds = picture, made.bounds


def tile_layer(base_map: Any) -> Any:
    """Return a tile layer from any accepted description."""
    if isinstance(base_map, ipyleaflet.TileLayer):
        return base_map
    if isinstance(base_map, str) and "{z}" in base_map:
        return ipyleaflet.TileLayer(url=base_map)
    if isinstance(base_map, dict) and "url" in base_map:
        return ipyleaflet.basemap_to_tiles(base_map)
    raise InputError(
        f"base_map must be 'network', 'none' or tiles; got {base_map!r}. Tiles are an entry of ipyleaflet.basemaps, "
        "such as base_map=ipyleaflet.basemaps.OpenStreetMap.Mapnik, a URL, such as "
        "base_map='https://tile.openstreetmap.org/{z}/{x}/{y}.png', or an ipyleaflet.TileLayer"
    )
