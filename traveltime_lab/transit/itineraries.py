"""
Build routes by transit: the legs behind the travel times of `traveltime_lab.transit.travel_times`.

The line of a transit leg is the shape of the trip, or straight from stop to stop if the feed has no shape. Times and
their rounding are those of the matrix: the wait for a vehicle is part of its leg, and the time left at the end of an
arrival search is part of the last leg. Where the vehicle continues as another trip while passengers stay seated, a leg
ends and the next one begins.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import shapely

from traveltime_lab._arrays import FloatArray, Int32Array
from traveltime_lab.itinerary import Leg, Ride, Route, StopCall, timed, unpaid
from traveltime_lab.kernels.records import StopLinks
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.modes.table import WALKING
from traveltime_lab.rounding import most_ms, whole_seconds
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import advance
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.streets.directions import Narrator
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.paths import paths, without_repeats
from traveltime_lab.streets.pieces import Path
from traveltime_lab.transit.average_headways import Waits
from traveltime_lab.transit.doors import Door, Doors
from traveltime_lab.transit.fares import PaidRide, fare_book
from traveltime_lab.transit.legs import Itineraries, leg_forest
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.ride_lengths import straight_cm, trip_lines
from traveltime_lab.transit.route_types import VEHICLE_WORDS, route_mode
from traveltime_lab.transit.stop_links import linked_stops
from traveltime_lab.transit.stop_reach import array
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_table import TripTable


class _Calls(NamedTuple):
    """A trip of a ride: its trip instance, trip_idx, the positions of its first and last stop, and stop_idx of all."""

    run: int
    trip: int
    first: int
    last: int
    stops: Int32Array


class _Way(NamedTuple):
    """The legs between a point and a stop, or two stops: inside the first station, on streets, inside the last."""

    leaving: tuple[Leg, ...]
    street: tuple[Leg, ...]
    entering: tuple[Leg, ...]
    label: int

    @property
    def legs(self) -> tuple[Leg, ...]:
        """All legs."""
        return self.leaving + self.street + self.entering


class Found(NamedTuple):
    """A route of one pair and its label."""

    pair: int
    route: Route
    label: int


def transit_routes(query: TransitQuery, pairs: Pairs, moments: Sequence[dt.datetime] | None = None) -> Iterator[Found]:
    """
    Yield the fastest route of each pair that has one within the limit.

    Parameters
    ----------
    query : TransitQuery
    pairs : Pairs
        A pair may occur more than once.
    moments : sequence of datetime of length n_pairs, optional
        Departure, or arrival, of each pair: timezone-aware and within the window. Default: that of the query.

    Yields
    ------
    Found
        Its label is that of `traveltime_lab.transit.travel_times.label_blocks`, with the length of the route in the
        lower half.
    """
    query.check_headways("routes", ("exact", "average"))
    is_arrival = query.is_arrival
    builder = ItineraryBuilder(query, pairs)
    searched = pairs.reversed() if is_arrival else pairs
    near_of, far_of = searched.origin_of, searched.destination_of
    egress_links = query.links(searched.ends, is_origin=is_arrival)
    search, options = query.search(), query.options
    table, begin = search.table, query.at(search)
    offsets = np.zeros(near_of.size, np.int64)
    if moments is not None:
        offsets[:] = [round((when.timestamp() - query.moment.timestamp()) * 1000) for when in moments]
    order = np.lexsort((offsets, near_of))
    is_new = (np.diff(near_of[order]) != 0) | (np.diff(offsets[order]) != 0)
    here, links = -1, egress_links
    for rows in np.split(order, np.flatnonzero(is_new) + 1):
        if not rows.size:
            continue
        checkpoint()
        if near_of[rows[0]] != here:
            here = int(near_of[rows[0]])
            links = query.links(searched.starts.one(here), is_origin=not is_arrival)
        when = query.moment if moments is None else moments[int(rows[0])]
        moment = begin + int(offsets[rows[0]])
        waits = None
        if query.has_exact_headways:
            times = search.stop_times(links, moment, options, is_arrival=is_arrival)[0]
        else:
            rounds, waits = query.average().rounds(links.of(0), moment, options, is_arrival=is_arrival)
            times, table = rounds.times_at(np.arange(search.table.n_stops)), rounds.table
        best = {int(pair): _best_stop(times, egress_links, int(far_of[pair])) for pair in rows}
        stops = sorted({stop for stop, _ in best.values() if stop >= 0})
        if waits is None:
            _, journeys = search.journeys((links.stops, links.ms), moment, stops, options, is_arrival=is_arrival)
        else:
            journeys = leg_forest(rounds, array(stops, np.int32)).itineraries()
        direct = builder.on_foot(pairs.take(rows))
        for k, pair in enumerate(rows.tolist()):
            checkpoint()
            stop, ms = best[pair]
            walked = direct.get(k)
            walk_ms = NEVER if walked is None else label_parts.ms(walked[1])
            if min(ms, walk_ms) > most_ms(query.limit):
                continue
            if walked is not None and walk_ms <= ms:
                legs, total = walked[0], walk_ms
                route = timed(legs, when, is_arrival=is_arrival, fares=unpaid(legs))
            else:
                rides = Rides(table, journeys, waits)
                route, total = builder.ridden(rides, stops.index(stop), pair, ms, when), ms
            centimetres = sum(round(leg.distance * 100.0) for leg in route.legs)
            yield Found(pair, route, label_parts.from_ms(int(total)) + centimetres)
        advance(rows.size)


def _best_stop(times: Int32Array, links: StopLinks, point: int) -> tuple[int, int]:
    """Return the best stop to reach a point, or -1, and the travel time over it in milliseconds."""
    part = slice(int(links.indptr[point]), int(links.indptr[point + 1]))
    stops = links.stops[part]
    if not stops.size:
        return -1, NEVER
    total = times[stops].astype(np.int64) + links.ms[part]
    # Ties go to the first stop, whatever the order of the links.
    k = int(np.lexsort((stops, total))[0])
    return (int(stops[k]), int(total[k])) if times[stops[k]] < NEVER else (-1, NEVER)


class Rides(NamedTuple):
    """
    Transit legs of itineraries.

    Attributes
    ----------
    table : TripTable
    journeys : Itineraries
        Whose trip instances are those of the table.
    waits : Waits, optional
        Which of them run by headway.
    """

    table: TripTable
    journeys: Itineraries
    waits: Waits | None

    def headway(self, ride: int) -> int:
        """Return the headway of a ride in seconds, 0 for a trip with times."""
        return 0 if self.waits is None else int(self.waits.headway[self.journeys.board_run[ride]])

    def ends(self, ride: int) -> tuple[int, int]:
        """Return the departure and the arrival of a ride in POSIX seconds."""
        leaves, arrives = int(self.journeys.departure[ride]), int(self.journeys.arrival[ride])
        if self.waits is not None:
            wait = int(self.waits.ms[self.journeys.board_run[ride]])
            leaves, arrives = (leaves, arrives - wait) if self.waits.is_arrival else (leaves + wait, arrives)
        # Times of trips are whole seconds, averages are not.
        return self.table.reference + round(leaves / 1000), self.table.reference + round(arrives / 1000)


class ItineraryBuilder:
    """Builds the routes between origins and destinations; parts that pairs share are computed once."""

    def __init__(self, query: TransitQuery, pairs: Pairs) -> None:
        self.query, self.pairs = query, pairs
        self.start_feet = query.on_foot(pairs.starts, is_origin=True)
        self.layer = layer = query.layer
        self.timetable: Timetable = layer.timetable
        self.walking = query.walking
        self.narrator = Narrator(layer.streets, self.walking, WALKING.name)
        access = query.transportation.access
        self.access_graph = query.access_graph()
        egress = query.transportation.egress
        self.doors = Doors(layer, query.stops, egress)
        self.access_doors = self.doors
        self.access_narrator = self.narrator
        if not query.is_walked_to:
            self.access_doors = Doors(layer, linked_stops(layer, self.access_graph, access, egress), access)
            self.access_narrator = Narrator(layer.streets, self.access_graph, access.base)
        self.zone = ZoneInfo(layer.timezone)
        self.lines = trip_lines(layer)
        self.fares = fare_book(layer)

    # On streets

    def _way_between(
        self, narrator: Narrator, graph: RoadGraph, starts: list[Door], ends: list[Door], limit_s: float
    ) -> _Way | None:
        """Return the fastest way between two places, each with one or several doors; None if there is none."""
        best: tuple[int, Door, Door, Path] | None = None
        for start, end in itertools.product(starts, ends):
            pair = Pairs(start.snaps, end.snaps)
            path = next(paths(graph, pair, start.snapping, limit_s, end_snapping=end.snapping), None)
            if path is None:
                continue
            label = start.label + path.label + end.label
            if best is None or label < best[0]:
                best = label, start, end, path
        if best is None or label_parts.ms(best[0]) > most_ms(limit_s):
            return None
        label, start, end, path = best
        here, there = (np.array([door.snaps.lng[0], door.snaps.lat[0]]) for door in (start, end))
        street = narrator.legs(path, here, there)
        # Seconds of all parts sum to those of the whole way.
        sums = [whole_seconds(label_parts.ms(each)) for each in (start.label, start.label + path.label, label)]
        street = _shifted(street, sums[1] - sums[0] - sum(leg.travel_time for leg in street))
        inside = [
            () if door.leg is None else (replace(door.leg, travel_time=seconds),)
            for door, seconds in ((start, sums[0]), (end, sums[2] - sums[1]))
        ]
        return _Way(inside[0], street, inside[1], label)

    def on_foot(self, pairs: Pairs) -> dict[int, tuple[tuple[Leg, ...], int]]:
        """Return the legs and labels of walking all the way, by position of the pair."""
        query = self.query
        found = {}
        walked = replace(pairs, starts=self.start_feet)
        for path in paths(self.walking, walked, query.snapping, query.direct_limit):
            i, j = pairs.origin_of[path.pair], pairs.destination_of[path.pair]
            sides = ((pairs.starts, i), (pairs.ends, j))
            here, there = (np.array([side.lng[at], side.lat[at]]) for side, at in sides)
            found[path.pair] = (self.narrator.legs(path, here, there), path.label)
        return found

    def _stop_walk(self, a: int, b: int, limit_s: float) -> tuple[Leg, ...]:
        """
        Return the walking legs between two stops, on streets or inside a station.

        It is a straight line if only the feed has a transfer between them.
        """
        ends = self.doors.of(a, is_leaving=True), self.doors.of(b, is_leaving=False)
        found = self._way_between(self.narrator, self.walking, *ends, limit_s)
        within = self.doors.change(a, b)
        is_short = within is not None and label_parts.ms(within[1]) <= most_ms(limit_s)
        if within is not None and is_short and (found is None or within[1] <= found.label):
            return (within[0],)
        if found is not None and found.legs:
            return found.legs
        line = np.array([self._coordinates(stop) for stop in (a, b)])
        metres = straight_cm(self.lines, a, b) / 100.0
        name = self._name(b)
        return (Leg("walk", f"Change to {name}" if name else "Change", int(limit_s), metres, _line(line)),)

    # Transit

    def ridden(self, rides_of: Rides, row: int, pair: int, ms: int, moment: dt.datetime) -> Route:
        """Return the route of a pair with the transit legs of an itinerary that departs, or arrives, at a moment."""
        query, means, (table, journeys, _) = self.query, self.query.transportation, rides_of
        rides = range(int(journeys.indptr[row]), int(journeys.indptr[row + 1]))
        first, last = int(journeys.board_stop[rides[0]]), int(journeys.alight_stop[rides[-1]])
        pairs, at = self.pairs, [pair]
        origin = Door(pairs.starts.take(pairs.origin_of[at]), query.snapping)
        destination = Door(pairs.ends.take(pairs.destination_of[at]), query.snapping)
        access = self._way_between(
            self.access_narrator,
            self.access_graph,
            [origin],
            self.access_doors.of(first, is_leaving=False),
            means.access_time + 1,
        )
        egress = self._way_between(
            self.narrator,
            self.walking,
            self.doors.of(last, is_leaving=True),
            [destination],
            means.walking_time + 1,
        )
        legs: list[Leg] = list(access.street) if access else []
        if means.access_penalty and means.street.parking_leg is not None:
            where = legs[-1].destination if access and access.entering and legs else self._coordinates(first)
            name = self._name(first)
            text = f"Park at {name}" if name else "Park"
            legs.append(Leg(means.street.parking_leg, text, means.access_penalty, 0.0, _line(np.array([where, where]))))
        legs.extend(access.entering if access else ())
        total = whole_seconds(int(ms))
        begin = moment.timestamp() - (total if query.is_arrival else 0)
        reference = table.reference
        now = begin + sum(leg.travel_time for leg in legs)
        paid = []
        for ride in rides:
            if ride > rides[0]:
                a, b = int(journeys.alight_stop[ride - 1]), int(journeys.board_stop[ride])
                # Between stops at one position there is nothing to walk.
                if self._coordinates(a) != self._coordinates(b) or self.doors.is_apart(a, b):
                    spare = reference + journeys.departure[ride] / 1000.0 - now
                    walked = self._stop_walk(a, b, spare)
                    legs.extend(walked)
                    now += sum(leg.travel_time for leg in walked)
            headway, (leaves, arrives) = rides_of.headway(ride), rides_of.ends(ride)
            leaves = max(leaves, round(now)) if headway else leaves
            calls = self._calls(table, journeys, ride)
            ridden = self._ride_legs(table, calls, leaves, arrives, round(now))
            if headway:
                ridden = (_by_headway(ridden[0], headway),)
            paid.append(
                PaidRide.of(
                    self.timetable,
                    [(call.trip, call.first, call.last) for call in calls],
                    tuple(range(len(legs), len(legs) + len(ridden))),
                    leaves,
                )
            )
            legs.extend(ridden)
            now = arrives
        legs.extend(egress.legs if egress else ())
        spare = total - sum(leg.travel_time for leg in legs)
        if spare:
            legs[-1] = replace(
                legs[-1], travel_time=legs[-1].travel_time + spare, waiting_time=legs[-1].waiting_time + spare
            )
        fares = None if unpaid(tuple(legs)) is None else self.fares.cheapest(paid)
        return timed(tuple(legs), moment, is_arrival=query.is_arrival, fares=fares)

    def paid_rides(self, table: TripTable, journeys: Itineraries, row: int) -> list[PaidRide]:
        """Return what the fares of an itinerary depend on, without the positions of its legs."""
        rides = range(int(journeys.indptr[row]), int(journeys.indptr[row + 1]))
        calls = [[(call.trip, call.first, call.last) for call in self._calls(table, journeys, ride)] for ride in rides]
        leaves = [table.reference + round(int(journeys.departure[ride]) / 1000) for ride in rides]
        return [PaidRide.of(self.timetable, of, (), when) for of, when in zip(calls, leaves, strict=True)]

    def _calls(self, table: TripTable, journeys: Itineraries, ride: int) -> list[_Calls]:
        """Return the trips of a ride in travel order, several if the vehicle continues as another."""
        t = self.timetable
        run, end_run = int(journeys.board_run[ride]), int(journeys.alight_run[ride])
        position = int(journeys.board_position[ride])
        calls = []
        while True:
            trip = int(table.instance_trip[run])
            pattern = int(t.hot.trip_pattern[trip])
            begin, end = int(t.pattern_indptr[pattern]), int(t.pattern_indptr[pattern + 1])
            last = int(journeys.alight_position[ride]) if run == end_run else end - begin - 1
            calls.append(_Calls(run, trip, position, last, t.pattern_stop[begin + position : begin + last + 1]))
            if run == end_run:
                break
            run, position = int(table.stay_instance[run]), 0
        # Boarding where a trip ends, or alighting where it begins, is no ride on it.
        if len(calls) > 1 and len(calls[0].stops) == 1 and calls[0].stops[0] == calls[1].stops[0]:
            del calls[0]
        if len(calls) > 1 and len(calls[-1].stops) == 1 and calls[-1].stops[0] == calls[-2].stops[-1]:
            del calls[-1]
        return calls

    def _ride_legs(
        self, table: TripTable, calls: Sequence[_Calls], leaves: int, arrives: int, now: int
    ) -> tuple[Leg, ...]:
        """
        Return the legs of a ride, one for each trip that the vehicle is on.

        Parameters
        ----------
        table : TripTable
        calls : sequence of _Calls
            Trips of the ride.
        leaves, arrives : int
            POSIX seconds of boarding and alighting.
        now : int
            POSIX seconds at which the wait for the vehicle begins.
        """
        legs: list[Leg] = []
        for call in calls:
            departs = leaves if call is calls[0] else table.reference + table.calls_at(call.run)[1][call.first] // 1000
            ends = arrives if call is calls[-1] else table.reference + table.calls_at(call.run)[0][call.last] // 1000
            leg = self._ride_leg(call, int(departs), int(ends), now, legs[-1] if legs else None)
            legs.append(self._with_alerts(leg, table, call, (int(departs), int(ends))))
            now = int(ends)
        return tuple(legs)

    def _with_alerts(self, leg: Leg, table: TripTable, call: _Calls, times: tuple[int, int]) -> Leg:
        """Return the leg on a trip with the alerts of live updates about it."""
        if self.layer.alerts_of is None:
            return leg
        assert leg.ride is not None
        date, start = int(table.instance_date[call.run]), table.reference + int(table.calls_at(call.run)[1][0]) // 1000
        ends = zip(call.stops[[0, -1]].tolist(), times, strict=True)
        alerts = self.layer.alerts_of(call.trip, date, start, tuple(ends))
        return replace(leg, ride=replace(leg.ride, alerts=alerts)) if alerts else leg

    def _ride_leg(self, call: _Calls, leaves: int, arrives: int, now: int, before: Leg | None) -> Leg:
        """Return the leg on one trip, including the wait before it; `before` is the leg that its vehicle comes from."""
        t = self.timetable
        route = t.routes.iloc[int(t.hot.trip_route[call.trip])]
        line = ride_lines.trip_line(self.lines, call.trip, call.first, call.last)
        if before is not None:
            line = np.vstack([before.destination, line])
        metres = int(ride_lines.line_cm(line)) / 100.0
        line = without_repeats(line)
        name = str(route["route_short_name"] or route["route_long_name"] or "")
        headsign = _headsign(t, call.trip, call.first)
        board, alight = (
            self._call(int(stop), when) for stop, when in zip(call.stops[[0, -1]], (leaves, arrives), strict=True)
        )
        agency = int(route["agency_idx"])
        vehicle = VEHICLE_WORDS[route_mode(int(route["route_type"]))]
        text = f"{vehicle} {name}".rstrip()
        text += f" towards {headsign}" if headsign else ""
        start, end = board.name or board.stop_id, alight.name or alight.stop_id
        if before is None:
            text = f"Take {text} from {start} to {end}"
        else:
            text = f"Stay seated at {start}, where the vehicle continues as {text}, to {end}"
        return Leg(
            mode=route["mode"],
            directions=text,
            travel_time=arrives - now,
            distance=metres,
            geometry=_line(line),
            waiting_time=leaves - now,
            ride=Ride(
                line=name,
                headsign=headsign,
                board=board,
                alight=alight,
                num_stops=call.last - call.first,
                route_id=str(route["route_id"]),
                trip_id=str(t.trips["trip_id"].iat[call.trip]),
                agency="" if agency < 0 else str(t.agencies["agency_name"].iat[agency]),
                stays_seated=before is not None,
                vehicle=vehicle,
                rows=(int(call.stops[0]), int(call.stops[-1]), int(call.trip)),
            ),
        )

    def _name(self, stop: int) -> str:
        return str(self.timetable.stops["stop_name"].iat[stop] or "")

    def _coordinates(self, stop: int) -> tuple[float, float]:
        stops = self.timetable.stops
        return float(stops["stop_lon"].iat[stop]), float(stops["stop_lat"].iat[stop])

    def _call(self, stop: int, when: int) -> StopCall:
        """Return the stop and the moment of a stop time."""
        lng, lat = self._coordinates(stop)
        stop_id = str(self.timetable.stops["stop_id"].iat[stop])
        return StopCall(stop_id, self._name(stop), lng, lat, dt.datetime.fromtimestamp(when, self.zone))


def _shifted(legs: tuple[Leg, ...], seconds: int) -> tuple[Leg, ...]:
    """Return legs of which the last one takes some seconds more."""
    if not seconds or not legs:
        return legs
    return (*legs[:-1], replace(legs[-1], travel_time=legs[-1].travel_time + seconds))


def _by_headway(leg: Leg, headway: int) -> Leg:
    """Return the leg of a service by headway."""
    assert leg.ride is not None
    minutes = f"{headway // 60} min" + (f" {headway % 60} s" if headway % 60 else "")
    text = f"{leg.directions} (every {minutes}; times are averages)"
    return replace(leg, directions=text, ride=replace(leg.ride, headway=headway))


def _line(coordinates: FloatArray) -> shapely.LineString:
    """Return a line; it has zero length for a single point."""
    return shapely.LineString(coordinates if len(coordinates) > 1 else np.repeat(coordinates, 2, axis=0))


def _headsign(timetable: Timetable, trip: int, position: int) -> str:
    """Return the headsign at a stop: stop_headsign if there is one, otherwise trip_headsign."""
    course = int(timetable.trips["course_idx"].iat[trip])
    if course >= 0:
        number = int(timetable.course_headsign[int(timetable.course_indptr[course]) + position])
        if number > 0:
            return timetable.headsigns[number]
    return str(timetable.trips["trip_headsign"].iat[trip] or "")
