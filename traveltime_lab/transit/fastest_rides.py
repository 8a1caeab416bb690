"""
The fastest ways between stops by vehicles that are there when they are needed, whatever the moment.

They bound journeys of any moment from below: each hop of a line takes as long as on its fastest trip, changes take the
time of their walk, and there are no waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import BoolArray, FloatArray, Int64Array, chosen_rows, indptr_of_rows
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.streets.layer import RoadsKey, StreetLayer, roads_key
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.route_types import ridden_routes
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import STAY_SEATED_M

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Stop times that are looked at together: some hundred megabytes at most.
_AT_ONCE: Final = 4_000_000
#: Vehicles and modes of routes, streets for walking, walking speed, and longest walk between vehicles.
_ARCS = Derived[tuple[str, tuple[str, ...], RoadsKey, float | None, int], "csr_array"]("fastest hops", kept=2)


def fastest_rides(query: TransitQuery, first_s: FloatArray, *, is_arrival: bool) -> FloatArray:
    """
    Return the least time between any place and each stop, given the times of stops without vehicles.

    Parameters
    ----------
    query : TransitQuery
    first_s : float64 array of shape (n_stops,), s
        inf for stops that are reached by vehicles only.
    is_arrival : bool
        True for times from the place to the stops, False for times from the stops to the place.

    Returns
    -------
    float64 array of shape (n_stops,), s
        inf where there is no way.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - takes long to import; most searches do without
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    means, n_stops = query.transportation, first_s.size
    key = means.vehicles, means.modes, roads_key(means.egress), means.egress.speed, means.transfer_walking_time
    hops = _ARCS.of(query.layer, key, lambda: _arcs(query))
    if not is_arrival:
        hops = csr_array(hops.T)
    seeds = np.flatnonzero(np.isfinite(first_s))
    # The place is one more stop.
    indptr = np.append(hops.indptr, hops.indptr[-1] + seeds.size)
    stops, seconds = np.concatenate([hops.indices, seeds]), np.concatenate([hops.data, first_s[seeds]])
    arcs = csr_array((seconds, stops, indptr), shape=(n_stops + 1, n_stops + 1))
    found: FloatArray = dijkstra(arcs, indices=n_stops)[:n_stops]
    return found


def _arcs(query: TransitQuery) -> csr_array:
    """Return the seconds of hops, changes, and the ways of vehicles in which passengers stay seated."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - as above

    timetable, means = query.layer.timetable, query.transportation
    is_used = ridden_routes(timetable.routes, means)
    hot = timetable.hot
    trips = np.arange(timetable.n_trips) if is_used is None else np.flatnonzero(is_used[hot.trip_route])
    changes = stop_links.changes(query.layer, query.stops, means.transfer_walking_time)
    walked = np.repeat(np.arange(timetable.n_stops), np.diff(changes.indptr)), changes.stop
    rides, seats = _hops(timetable, trips), _seats(timetable, query.layer.streets, trips)
    begin, end, seconds = (
        np.concatenate(parts)
        for parts in (
            (rides["begin"], walked[0], seats[0]),
            (rides["end"], walked[1], seats[1]),
            (rides["seconds"], changes.seconds, np.zeros(seats[0].size)),
        )
    )
    order = np.lexsort((seconds, end, begin))
    begin, end, seconds = begin[order], end[order], seconds[order].astype(np.float64)
    is_first = np.ones(begin.size, np.bool_)
    is_first[1:] = (begin[1:] != begin[:-1]) | (end[1:] != end[:-1])
    n_stops = timetable.n_stops
    # scipy takes zeros that are stored as arcs that take no time.
    return csr_array(
        (seconds[is_first], end[is_first].astype(np.int32), indptr_of_rows(begin[is_first], n_stops).astype(np.int32)),
        shape=(n_stops, n_stops),
    )


def _hops(timetable: Timetable, trips: Int64Array) -> pd.DataFrame:
    """Return the seconds of the fastest trip between two stops of a line that follow each other."""
    n_calls = np.diff(timetable.trip_indptr)[trips]
    parts = np.split(trips, np.flatnonzero(np.diff(np.cumsum(n_calls) // _AT_ONCE)) + 1)
    found = [_hops_of(timetable, part) for part in parts]
    return pd.concat(found).groupby(["begin", "end"], as_index=False)["seconds"].min()


def _hops_of(timetable: Timetable, trips: Int64Array) -> pd.DataFrame:
    indptr, calls = chosen_rows(timetable.trip_indptr, trips)
    _, at = chosen_rows(timetable.pattern_indptr, timetable.hot.trip_pattern[trips])
    stops, goes_on = timetable.pattern_stop[at], _goes_on(indptr)
    hop = np.flatnonzero(goes_on)
    # A vehicle that leaves before it arrives is one of the feed's errors; no hop takes less than no time.
    seconds = np.maximum(timetable.arrival[calls[hop + 1]] - timetable.departure[calls[hop]], 0)
    table = pd.DataFrame({"begin": stops[hop], "end": stops[hop + 1], "seconds": seconds})
    return table.groupby(["begin", "end"], as_index=False)["seconds"].min()


def _goes_on(indptr: Int64Array) -> BoolArray:
    """Return which calls of trips are not the last."""
    found = np.ones(indptr[-1], np.bool_)
    found[indptr[1:] - 1] = False
    return found


def _seats(timetable: Timetable, streets: StreetLayer, trips: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the stops between which passengers may stay seated where a trip ends and another one begins."""
    hot, indptr, stops = timetable.hot, timetable.pattern_indptr, timetable.pattern_stop
    first, last = stops[indptr[hot.trip_pattern]], stops[indptr[hot.trip_pattern + 1] - 1]
    in_block = trips[hot.trip_block[trips] >= 0]
    blocks = hot.trip_block[in_block]
    ends = pd.DataFrame({"block": blocks, "begin": last[in_block]}).drop_duplicates()
    both = ends.merge(pd.DataFrame({"block": blocks, "end": first[in_block]}).drop_duplicates(), on="block")
    begin, end = (both[name].to_numpy(np.int64) for name in ("begin", "end"))
    x, y = streets.frame.to_xy(*(timetable.column("stops", name) for name in ("stop_lon", "stop_lat")))
    shrink = np.minimum(streets.frame.shrink(y), 1.0)
    across = np.minimum(shrink[begin], shrink[end]) * (x[begin] - x[end])
    # Frames and spheres differ by less than a tenth.
    near = np.hypot(across, y[begin] - y[end]) <= 1.1 * STAY_SEATED_M
    kind = timetable.column("transfers", "transfer_type") == 4
    before, after = (timetable.column("transfers", f"{end}_trip_idx")[kind] for end in ("from", "to"))
    return np.concatenate([begin[near], last[before]]), np.concatenate([end[near], first[after]])
