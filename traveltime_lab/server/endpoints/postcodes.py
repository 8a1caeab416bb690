"""
Answers about postcodes, districts and sectors, over the table of zones that a service was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.area_requests import (
    PostcodeSearch,
    PostcodesRequest,
    PostcodesSearch,
    ZonesRequest,
    ZonesSearch,
)
from traveltime_lab.server.contract.errors import NOT_COVERED, SearchFailure
from traveltime_lab.server.contract.responses import Properties
from traveltime_lab.server.endpoints.searches import (
    RefusedError,
    Trips,
    answer_of_maps,
    by_search_id,
    each_search,
    most_ways,
    question_of,
)
from traveltime_lab.server.endpoints.ways import Ways, find_ways
from traveltime_lab.server.postcodes import Zones, statistics

_A = TypeVar("_A")


class Postcode(msgspec.Struct):
    """A reachable postcode."""

    code: str
    properties: Sequence[Properties]


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


def _answered(
    atlas: Atlas, zones: Zones | None, search: PostcodeSearch, answer: Callable[[Network, Zones, Int64Array], _A]
) -> _A:
    """Return the answer of the first map that does not refuse a search, given the positions of the postcodes there."""
    if zones is None:
        text = "This service has no table of postcodes: start it with --zones (serve: zones)"
        raise SearchFailure(NOT_COVERED, search.id, text)

    def ask(item: Map) -> _A:
        inside = np.flatnonzero(item.covers(zones.lng, zones.lat))
        if not inside.size:
            text = f"The table of postcodes of this service has none on the map {item.name!r} of the search"
            raise RefusedError(NOT_COVERED, search.id, text)
        return answer(item.network, zones, inside)

    return answer_of_maps(atlas, search, search.coords.lng, search.coords.lat, ask)


def _ways(
    network: Network, zones: Zones, inside: Int64Array, path: str, search: PostcodeSearch, limit: int,
    requested: Collection[str] = (), n_best: int = 1,
) -> Ways:  # fmt: skip
    query, place = question_of(network, path, search, limit=limit), search.coords
    trips = Trips.of(query, place.lng, place.lat, zones.lng[inside], zones.lat[inside])
    return find_ways(trips, limit, requested, n_best)


def postcode_results(atlas: Atlas, zones: Zones | None, request: PostcodesRequest) -> list[PostcodesResult]:
    """Return the reachable postcodes of each search, sorted by search id."""

    def answer(path: str, search: PostcodesSearch) -> PostcodesResult:
        return _answered(atlas, zones, search, lambda *there: on_map(path, search, *there))

    def on_map(
        path: str, search: PostcodesSearch, network: Network, table: Zones, inside: Int64Array
    ) -> PostcodesResult:
        known = _ways(network, table, inside, path, search, search.travel_time, search.properties, most_ways(search))
        checkpoint()
        others, groups = known.by_place(search.properties)
        found = [Postcode(table.postcodes[i], each) for i, each in zip(inside[others].tolist(), groups, strict=True)]
        return PostcodesResult(search.id, found)

    return by_search_id(each_search(request, PostcodesSearch, answer))


def zone_results(
    atlas: Atlas, zones: Zones | None, request: ZonesRequest, kind: Literal["districts", "sectors"]
) -> list[DistrictsResult | SectorsResult]:
    """
    Return the reachable districts or sectors of each search, sorted by search id.

    A zone is returned if one of its postcodes is reachable and their share is at least the search's threshold.
    Statistics over all postcodes look as far as a search can, which leaves out those farther than that.
    """

    def answer(path: str, search: ZonesSearch) -> DistrictsResult | SectorsResult:
        return _answered(atlas, zones, search, lambda *there: on_map(path, search, *there))

    def on_map(
        path: str, search: ZonesSearch, network: Network, table: Zones, inside: Int64Array
    ) -> DistrictsResult | SectorsResult:
        codes = (table.districts if kind == "districts" else table.sectors).astype(str)
        names, zone_of = np.unique(codes, return_inverse=True)
        requested = set(search.properties)
        limit = limits.MAX_TRAVEL_TIME_S if "travel_time_all" in requested else search.travel_time
        known = _ways(network, table, inside, path, search, limit)
        is_within = known.travel_time <= search.travel_time
        total = np.bincount(zone_of, minlength=names.size)
        zone = zone_of[inside[known.other]]
        reached = np.bincount(zone[is_within], minlength=names.size)
        threshold = search.reachable_postcodes_threshold or 0.0
        listed = []
        for i in np.flatnonzero((reached > 0) & (reached >= threshold * total)).tolist():
            checkpoint()
            mine = zone == i
            properties: dict[str, Any] = {}
            if "travel_time_reachable" in requested:
                properties["travel_time_reachable"] = statistics(known.travel_time[mine & is_within])
            if "travel_time_all" in requested:
                properties["travel_time_all"] = statistics(known.travel_time[mine])
            if "coverage" in requested:
                properties["coverage"] = float(100.0 * reached[i] / total[i])
            listed.append(Zone(str(names[i]), properties))
        return DistrictsResult(search.id, listed) if kind == "districts" else SectorsResult(search.id, listed)

    return by_search_id(each_search(request, ZonesSearch, answer))
