"""
Several networks at once: which of them covers a place.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab._checks import items
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import MODES, STREET_TYPES
from traveltime_lab.network.network import Network
from traveltime_lab.network.whereabouts import middle_of

#: Metres beyond the outermost street that still belong to a network: the default threshold of snapping.
MARGIN_M = 1000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Map:
    """
    A network with the name that clients see.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``.`` and ``-``.
    network : Network
    """

    name: str
    network: Network

    def covers(self, lng: FloatArray, lat: FloatArray, margin_m: float = MARGIN_M) -> BoolArray:
        """Return which places lie in the box of the streets or within a margin in metres beside it."""
        network = self.network
        west, south, east, north = network.bounds
        edge_x, edge_y = network.frame.to_xy(np.array([west, east]), np.array([south, north]))
        x, y = network.frame.to_xy(np.asarray(lng, np.float64), np.asarray(lat, np.float64))
        found = np.asarray((x >= edge_x[0]) & (x <= edge_x[1]) & (y >= edge_y[0]) & (y <= edge_y[1]))
        beside = ~found
        if beside.any():
            x, y = x[beside], y[beside]
            margin_x = margin_m / np.maximum(network.frame.shrink(y), 1e-6)
            found[beside] = (x >= edge_x[0] - margin_x) & (x <= edge_x[1] + margin_x)
            found[beside] &= (y >= edge_y[0] - margin_m) & (y <= edge_y[1] + margin_m)
        return found

    @property
    def types(self) -> tuple[str, ...]:
        """The transportation types that the network can answer."""
        return STREET_TYPES if self.network.timetable is None else tuple(MODES)

    @property
    def timetable_dates(self) -> tuple[dt.datetime, dt.datetime] | None:
        """The first and the last moment of the timetable, aware; None without one."""
        spans = None if self.network.timetable is None else self.network.timetable.dates().dropna()
        if spans is None or not len(spans):
            return None
        zone = ZoneInfo(self.network.timezone)
        first = dt.datetime.combine(spans["first"].min(), dt.time(), zone)
        return first, dt.datetime.combine(spans["last"].max(), dt.time(23, 59, 59), zone)

    @property
    def has_fares(self) -> bool:
        """Whether the timetable has fares."""
        return self.network.timetable is not None and self.network.timetable.has_fares

    @property
    def extent(self) -> float:
        """Width and height of the box together in degrees, to compare maps that overlap."""
        west, south, east, north = self.network.bounds
        return (east - west) % 360.0 + north - south

    @property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of the crossing that is nearest to the middle of the streets."""
        return middle_of(self.network.tables)


class Atlas:
    """
    The networks of a service.

    Parameters
    ----------
    networks : Network, mapping of str to Network, or iterable of Network
        Without names they are called ``map``, or ``map1``, ``map2`` and so on.

    Raises
    ------
    InputError
        If there is none, or a name cannot be used.
    """

    def __init__(self, networks: Network | Mapping[str, Network] | Iterable[Network]) -> None:
        maps = [Map(name, network) for name, network in _named(networks)]
        if not maps:
            raise InputError("a service needs at least one network; got none")
        for item in maps:
            if not isinstance(item.network, Network):
                raise InputError(f"a service needs networks; got {type(item.network).__name__}")
            if not _NAME.fullmatch(item.name):
                raise InputError(f"the name of a map must be of letters, digits, '_', '.' and '-'; got {item.name!r}")
        #: Most detailed first, estimated by size.
        self.maps = tuple(sorted(maps, key=lambda item: item.extent))

    def covering(self, lng: float, lat: float, margin_m: float = MARGIN_M) -> list[Map]:
        """
        Return the maps that cover a place, in the order in which to search them.

        Those with the place in the box of their streets come before those with the place beside it, smaller ones first.
        """
        here = np.array([lng]), np.array([lat])
        found = [item for item in self.maps if item.covers(*here, margin_m)[0]]
        return sorted(found, key=lambda item: not item.covers(*here, 0.0)[0])

    def choices(
        self, lng: float, lat: float, lngs: FloatArray, lats: FloatArray, margin_m: float = MARGIN_M
    ) -> list[tuple[Map, BoolArray]]:
        """
        Return the maps for a search, in the order in which to search them, and which of its targets each covers.

        Parameters
        ----------
        lng, lat : float
            The search's own place.
        lngs, lats : float64 arrays of shape (n,)
            The others.
        margin_m : float
            How far from a network's box a place may be: the threshold of snapping, if larger than usual.

        Returns
        -------
        list of (Map, bool array of shape (n,))
            The maps that cover the place, and every target that any map covers: first those that cover most targets,
            of these those with most targets in the box of their streets, then as in `covering`.
        """
        every = [(item, item.covers(lngs, lats, margin_m)) for item in self.covering(lng, lat, margin_m)]
        if len(self.maps) == 1:
            return every
        found = [(item, inside) for item, inside in every if not self._covers_any(lngs[~inside], lats[~inside], item)]
        if len(found) > 1:
            found.sort(key=lambda pair: (-int(pair[1].sum()), -int(pair[0].covers(lngs, lats, 0.0).sum())))
        return found

    def _covers_any(self, lngs: FloatArray, lats: FloatArray, besides: Map) -> bool:
        """Return whether another map covers any of some places."""
        return bool(lngs.size) and any(item.covers(lngs, lats).any() for item in self.maps if item is not besides)


def _named(networks: object) -> list[tuple[str, Network]]:
    if isinstance(networks, Network):
        return [("map", networks)]
    if isinstance(networks, Mapping):
        return [(str(name), network) for name, network in networks.items()]
    listed = items(networks, "networks", "networks")
    if len(listed) == 1:
        return [("map", listed[0])]
    return [(f"map{i}", network) for i, network in enumerate(listed, 1)]
