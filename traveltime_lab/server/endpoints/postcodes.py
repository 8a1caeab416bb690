"""
Answers about postcodes, districts and sectors, over the table of zones that a service was given.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np

from traveltime_lab.network.network import Network
from traveltime_lab.server import engine
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.errors import NOT_COVERED, SearchFailure
from traveltime_lab.server.endpoints.locations import Entry
from traveltime_lab.server.endpoints.searches import (
    by_search_id,
    each_search,
    journey_entry,
    map_of,
    needs_journeys,
    snapping_of,
    transportation_of,
    ways,
    when_of,
    window_of,
)
from traveltime_lab.server.postcodes import Zones, statistics


class Postcode(msgspec.Struct):
    """A reachable postcode."""

    code: str
    properties: list[Entry]


class PostcodesResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    postcodes: list[Postcode]


class Zone(msgspec.Struct):
    """A district or sector."""

    code: str
    properties: dict[str, Any]


class DistrictsResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    districts: list[Zone]


class SectorsResult(msgspec.Struct):
    """The answer to one search."""

    search_id: str
    sectors: list[Zone]


def _covered(atlas: Atlas, zones: Zones | None, search: Any) -> tuple[Network, Zones, engine.IntArray]:
    """Return the network of a search, the zones and the positions of the postcodes on that network's map."""
    found = map_of(atlas, search, search.coords.lng, search.coords.lat)
    inside = np.flatnonzero(found.covers(zones.lng, zones.lat)) if zones else np.empty(0, np.int64)
    if zones is None or not inside.size:
        raise SearchFailure(NOT_COVERED, search.id)
    return found.network, zones, inside


def _times(
    network: Network, zones: Zones, inside: engine.IntArray, path: str, search: Any, limit: int, **options: Any
) -> engine.Times:
    return engine.times(
        network,
        search.coords.lng,
        search.coords.lat,
        zones.lng[inside],
        zones.lat[inside],
        travel_time=limit,
        transportation=transportation_of(search, is_fast=False),
        when=when_of(path, search),
        snapping=snapping_of(search),
        window=window_of(search),
        **options,
    )


def postcode_results(atlas: Atlas, zones: Zones | None, request: Any) -> list[PostcodesResult]:
    """Return the reachable postcodes of each search, sorted by search id."""

    def answer(path: str, search: Any) -> PostcodesResult:
        network, table, inside = _covered(atlas, zones, search)
        wanted = set(search.properties)
        if needs_journeys(search, transportation_of(search, is_fast=False)):
            place = search.coords.lng, search.coords.lat
            listed = ways(network, path, search, *place, table.lng[inside], table.lat[inside])
            found = [
                Postcode(table.postcodes[i], [journey_entry(way, wanted) for way in each])
                for i, each in zip(inside.tolist(), listed, strict=True)
                if each
            ]
            return PostcodesResult(search.id, found)
        times = _times(network, table, inside, path, search, search.travel_time, with_distance="distance" in wanted)
        found = []
        for k, i in enumerate(inside[times.reached].tolist()):
            entry = Entry()
            if "travel_time" in wanted:
                entry.travel_time = int(times.travel_time[k])
            if times.distance is not None:
                entry.distance = int(times.distance[k])
            found.append(Postcode(table.postcodes[i], [entry]))
        return PostcodesResult(search.id, found)

    return by_search_id(each_search(request, answer))


def zone_results(
    atlas: Atlas, zones: Zones | None, request: Any, kind: Literal["districts", "sectors"]
) -> list[DistrictsResult] | list[SectorsResult]:
    """
    Return the reachable districts or sectors of each search, sorted by search id.

    A zone is returned if one of its postcodes is reachable and their share is at least the search's threshold.
    Statistics over all postcodes look as far as a search can, which leaves out those farther than that.
    """

    def answer(path: str, search: Any) -> Any:
        network, table, inside = _covered(atlas, zones, search)
        codes = (table.districts if kind == "districts" else table.sectors).astype(str)
        names, zone_of = np.unique(codes, return_inverse=True)
        wanted = set(search.properties)
        limit = limits.MAX_TRAVEL_TIME_S if "travel_time_all" in wanted else search.travel_time
        times = _times(network, table, inside, path, search, limit, with_distance=False)
        is_within = times.travel_time <= search.travel_time
        total = np.bincount(zone_of, minlength=names.size)
        zone = zone_of[inside[times.reached]]
        reached = np.bincount(zone[is_within], minlength=names.size)
        threshold = search.reachable_postcodes_threshold or 0.0
        listed = []
        for i in np.flatnonzero((reached > 0) & (reached >= threshold * total)).tolist():
            mine = zone == i
            properties: dict[str, Any] = {}
            if "travel_time_reachable" in wanted:
                properties["travel_time_reachable"] = statistics(times.travel_time[mine & is_within])
            if "travel_time_all" in wanted:
                properties["travel_time_all"] = statistics(times.travel_time[mine])
            if "coverage" in wanted:
                properties["coverage"] = float(100.0 * reached[i] / total[i])
            listed.append(Zone(str(names[i]), properties))
        return DistrictsResult(search.id, listed) if kind == "districts" else SectorsResult(search.id, listed)

    return by_search_id(each_search(request, answer))
