"""
Names of places: the address box, and the names of new pins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

import shapely

from traveltime_lab.maps.widget.finder import Finder, Found
from traveltime_lab.maps.widget.jobs import LatestOnly
from traveltime_lab.maps.widget.origins import Origin, new_name, unused
from traveltime_lab.maps.widget.state import MapState
from traveltime_lab.network.network import Network
from traveltime_lab.search.geocoding.geocode import geocode, reverse_geocode

#: Number of places that the address box offers, and number of matches that they are chosen from.
_OFFERED: Final = 5
_MATCHES: Final = 20


class Naming:
    """Methods of `TravelTimeMap` about names of places."""

    network: Network
    state: MapState
    map: Any
    _finder: Finder
    _find_jobs: LatestOnly
    _name_jobs: LatestOnly
    #: Names that the map gave to origins, and those of them that are still to be looked up.
    _given: set[str]
    _unnamed: set[str]
    _fitted: tuple[float, float, float]
    _errors_shown: Callable[[], AbstractContextManager[None]]
    _on_failure: Callable[[BaseException], None]
    _rename_marker: Callable[[str, str], None]
    add_origin: Callable[..., None]

    def _find(self, text: str) -> None:
        """Offer the places that match a text, the nearest first."""
        lat, lng = self.map.center
        centre = shapely.Point((lng + 180.0) % 360.0 - 180.0, min(max(lat, -90.0), 90.0))
        self._find_jobs.submit(
            lambda _: matches(self.network, text, centre),
            lambda found: self._finder.offer(text, found),
            self._on_failure,
        )

    def _pick(self, found: Found) -> None:
        """Add a place that the address box offered as an origin, and have it in sight."""
        self._fitted = (*self.map.center, self.map.zoom)
        with self._errors_shown():
            self.add_origin(found.lng, found.lat, unused(found.name, self.state.origins))

    def _name_origins(self) -> None:
        """Look up the names of new origins; the first time, an index of all names is built."""
        origins = [origin for origin in self.state.origins if str(origin.name) in self._unnamed]
        if origins:
            self._name_jobs.submit(
                lambda _: [(origin, address(self.network, origin.lng, origin.lat)) for origin in origins],
                self._on_names,
                self._on_failure,
            )

    def _on_names(self, found: list[tuple[Origin, str]]) -> None:
        """Rename origins that are still where they were looked up."""
        origins, renamed = list(self.state.origins), False
        for old, text in found:
            if old not in origins:
                continue
            self._unnamed.discard(str(old.name))
            position = origins.index(old)
            others = [*origins[:position], *origins[position + 1 :]]
            is_number = str(old.name).startswith("Place ")
            name = unused(text, others) if text else str(old.name) if is_number else new_name(others)
            if name != old.name:
                self._given.discard(str(old.name))
                self._given.add(name)
                self._rename_marker(str(old.name), name)
                origins[position] = Origin(name, old.lng, old.lat)
                renamed = True
        if renamed:
            self.state.origins = origins


def matches(network: Network, text: str, near: shapely.Point) -> list[Found]:
    """Return places that match a text, with different labels."""
    rows = geocode(network, text, limit=_MATCHES, focus=near)
    offered: dict[str, Found] = {}
    for row, point in zip(rows.to_dict("records"), rows.geometry, strict=True):
        label = row["label"].removesuffix(f", {row['country']}") or row["type"].replace("_", " ")
        offered.setdefault(label, Found(label, _name(row) or label, point.x, point.y))
    return list(offered.values())[:_OFFERED]


def address(network: Network, lng: float, lat: float) -> str:
    """Return the name or address of a place, "" if none is near."""
    rows = reverse_geocode(network, lng, lat).to_dict("records")
    return _name(rows[0]) if rows else ""


def _name(row: dict[str, Any]) -> str:
    """Return the name of a result of geocoding, or its street and house number."""
    return str(row["name"]) or f"{row['street']} {row['house_number']}".strip()
