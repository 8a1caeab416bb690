"""
The origins of a map as draggable markers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import ipyleaflet

from traveltime_lab._checks import flag
from traveltime_lab.errors import InputError
from traveltime_lab.maps import style
from traveltime_lab.maps.widget import browser
from traveltime_lab.maps.widget.origins import Origin, check_name, find, flat_name, lng_lat, moved_name, new_name
from traveltime_lab.maps.widget.state import MapState, colour_of


class Markers:
    """Methods of `TravelTimeMap` about origins and their markers."""

    state: MapState
    map: Any
    _markers: dict[str, Any]
    #: Whether a marker is being dragged, and the name of the one under the pressed mouse button.
    _is_dragging: bool
    _pressed: str | None
    #: Whether the areas on the map have a lower level of detail than the state.
    _is_draft: bool
    #: Shows errors on the map instead of raising them.
    _errors_shown: Callable[[], AbstractContextManager[None]]
    #: Searches and draws the areas, and the curve of the day.
    _draw: Callable[..., None]
    _follow_day: Callable[[], None]
    #: Names that the map gave to origins, and those of them that are still to be looked up.
    _given: set[str]
    _unnamed: set[str]
    _name_origins: Callable[[], None]

    def _place_markers(self) -> None:
        """Add, move and remove markers to match the origins."""
        requested = {str(origin.name): (i, origin) for i, origin in enumerate(self.state.origins)}
        for name in [name for name in self._markers if name not in requested]:
            self.map.remove(self._markers.pop(name))
        is_single = len(requested) == 1
        for name, (i, origin) in requested.items():
            colour = style.ORIGIN if is_single else colour_of(i)
            marker = self._markers.get(name)
            if marker is None:
                marker = self._markers[name] = self._marker(name, origin)
                self.map.add(marker)
            elif tuple(marker.location) != (origin.lat, origin.lng) and not self._is_dragging:
                marker.location = (origin.lat, origin.lng)
            if getattr(marker, "colour", None) != colour:
                marker.colour = colour
                marker.icon = ipyleaflet.Icon(icon_url=browser.pin(colour), icon_size=(26, 36), icon_anchor=(13, 36))

    def _marker(self, name: str, origin: Origin) -> Any:
        marker = ipyleaflet.Marker(location=(origin.lat, origin.lng), draggable=True, title=name, alt=name)

        def on_event(_: Any, event: dict[str, Any], __: Any) -> None:
            # ipyleaflet has no event for a marker that is being dragged, but all mouse events of a marker have its
            # coordinates, and while it is dragged, the mouse keeps entering, leaving and crossing it.
            kind, place = event.get("type"), event.get("coordinates")
            if kind == "mousedown":
                self._pressed = marker.alt
            elif kind == "mouseup":
                self._pressed = None
            elif self._pressed == marker.alt and place and tuple(place) != tuple(marker.location):
                with self._errors_shown():
                    self.move_origin(marker.alt, place[1], place[0], is_dragging=True)

        def on_location(change: Any) -> None:
            lat, lng = change["new"]
            self._pressed = None
            with self._errors_shown():
                self.move_origin(marker.alt, lng, lat)

        marker.on_msg(on_event)
        marker.observe(on_location, "location")
        return marker

    def add_origin(self, lng: Any, lat: float | None = None, name: Any = None) -> None:
        """
        Add an origin.

        Without a name, it gets that of the place, street or settlement by `reverse_geocode`, a number at first.

        Parameters
        ----------
        lng : float, Point or (lng, lat)
            Longitude, or the point, in EPSG:4326.
        lat : float, optional
            Latitude, if `lng` is a number.
        name : object, optional
            Name of the origin; by default that of the place, or a number where nothing has a name.

        Raises
        ------
        InputError
            If the point is invalid or the name is in use.
        CoordinateError
            If the coordinates are out of range.
        """
        place = lng_lat(lng, lat)
        origin = Origin(new_name(self.state.origins) if name is None else name, *place)
        if str(origin.name) in {str(other.name) for other in self.state.origins}:
            raise InputError(f"There is already an origin {origin.name!r}; choose another name.")
        if name is None:
            self._given.add(origin.name)
            self._unnamed.add(origin.name)
        self.state.origins = [*self.state.origins, origin]
        self._name_origins()

    def move_origin(
        self, name: Any, lng: Any, lat: float | None = None, *, new_name: Any = None, is_dragging: bool = False
    ) -> None:
        """
        Move an origin.

        Parameters
        ----------
        name : object
            Name of the origin, or its name before it was first moved.
        lng : float, Point or (lng, lat)
            Longitude, or the point, in EPSG:4326.
        lat : float, optional
            Latitude, if `lng` is a number.
        new_name : object, optional
            New name of the origin; by default the old name followed by "(moved)", because the name may be that of the
            old place. Numbered names are kept; names that the map gave become those of the new place.
        is_dragging : bool, default False
            Whether the marker is still being dragged; areas are then drawn with a low level of detail if searches are
            slow.

        Raises
        ------
        InputError
            If there is no such origin, the point is invalid, or the new name is in use.
        CoordinateError
            If the coordinates are out of range.
        """
        flag(is_dragging, "is_dragging")
        check_name(new_name)
        position = find(self.state.origins, name)
        place = lng_lat(lng, lat)
        origins = list(self.state.origins)
        old = origins.pop(position)
        was_dragging, self._is_dragging = self._is_dragging, is_dragging
        requested = old.name if new_name is None else flat_name(new_name)
        is_given = new_name is None and str(old.name) in self._given
        if new_name is None and place != (old.lng, old.lat) and not is_given:
            requested = moved_name(old.name, origins)
        elif str(requested) in {str(other.name) for other in origins}:
            raise InputError(f"There is already an origin {requested!r}; choose another name.")
        moved = Origin(requested, *place)
        if moved != old:
            self._rename_marker(str(old.name), str(requested))
            origins.insert(position, moved)
            self.state.origins = origins
        elif was_dragging and not is_dragging:
            if self._is_draft:
                self._draw()
            else:
                self._follow_day()
        if is_given and not is_dragging and (moved != old or was_dragging):
            self._unnamed.add(str(requested))
            self._name_origins()

    def _rename_marker(self, old: str, new: str) -> None:
        """Rename a marker without replacing it, because it may be being dragged."""
        marker = self._markers.pop(old, None)
        if marker is not None:
            marker.title = marker.alt = new
            self._markers[new] = marker
        if self._pressed == old:
            self._pressed = new

    def remove_origin(self, name: Any) -> None:
        """
        Remove an origin.

        Raises
        ------
        InputError
            If there is no such origin.
        """
        origins = list(self.state.origins)
        del origins[find(origins, name)]
        self.state.origins = origins

    def _on_remove(self, name: Any) -> None:
        """Remove the origin whose button was pressed; show an error if it has already been removed."""
        with self._errors_shown():
            self.remove_origin(name)
