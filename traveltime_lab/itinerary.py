"""
Routes as people read them: a route has legs, a leg has steps.

A *leg* is one uninterrupted piece in one mode: a walk, a drive, a ferry, one ride in a vehicle with a timetable. Legs
on streets have *steps*, one for each instruction. Steps and legs add up: times are whole seconds and sum to the travel
time of the route, distances are whole centimetres and sum to its distance. `Route.parts` gives the contract's shape.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import shapely

#: What a part of a route is in the contract (6.4).
PartType = Literal["basic", "start_end", "road", "public_transport"]
#: Names of modes in the contract (6.4).
Mode = Literal[
    "car", "parking", "boarding", "walk", "bike", "bike_parking", "train", "rail_national", "rail_overground",
    "rail_underground", "rail_dlr", "bus", "cable_car", "plane", "ferry", "coach",
]  # fmt: skip
Turn = Literal[
    "straight", "slight_left", "left", "sharp_left", "slight_right", "right", "sharp_right", "u_turn", "roundabout"
]


@dataclass(frozen=True, slots=True)
class Step:
    """
    What one instruction covers.

    Attributes
    ----------
    type : {"start_end", "road", "basic"}
        The walk between a point and its street, a stretch of street, or anything else.
    directions : str
        What to do, in English.
    travel_time : int
        Seconds.
    distance : float
        Metres, in whole centimetres.
    geometry : LineString
        EPSG:4326; of no length where nothing is travelled.
    road : str, optional
        Name (or number) of the street.
    turn : str, optional
        How to turn at the beginning.
    direction : str, optional
        Compass word such as ``"southwest"``; of ``start_end`` steps only.
    """

    type: PartType
    directions: str
    travel_time: int
    distance: float
    geometry: shapely.LineString
    road: str | None = None
    turn: Turn | None = None
    direction: str | None = None


@dataclass(frozen=True, slots=True)
class StopCall:
    """
    A vehicle at a stop.

    Attributes
    ----------
    stop_id, name : str
        As in the timetable; the name is empty where it has none.
    lng, lat : float
        EPSG:4326.
    time : datetime
        Aware: of departure where one boards, of arrival where one alights.
    """

    stop_id: str
    name: str
    lng: float
    lat: float
    time: dt.datetime


@dataclass(frozen=True, slots=True)
class Ride:
    """
    What is known of a leg in a vehicle with a timetable.

    Attributes
    ----------
    line, headsign : str
        What the vehicle shows; empty where the timetable has nothing.
    board, alight : StopCall
        Where one gets on and off.
    num_stops : int
        Stops travelled, that of alighting included and that of boarding not.
    route_id, trip_id, agency : str
        As in the timetable.
    """

    line: str
    headsign: str
    board: StopCall
    alight: StopCall
    num_stops: int
    route_id: str = ""
    trip_id: str = ""
    agency: str = ""


@dataclass(frozen=True, slots=True)
class Leg:
    """
    One uninterrupted piece of a route in one mode.

    Attributes
    ----------
    mode : str
        The contract's name: ``"walk"``, ``"bike"``, ``"car"``, ``"ferry"``, ``"boarding"``, ``"bus"`` and so on.
    directions : str
        What to do, in English, in one sentence.
    travel_time : int
        Seconds, waiting included.
    distance : float
        Metres, in whole centimetres.
    geometry : LineString
        EPSG:4326, from where the leg begins to where it ends.
    steps : tuple of Step
        Instructions; empty for legs that have no more to say.
    name : str
        Name of a ferry's line; empty where there is none.
    departure_time, arrival_time : datetime, optional
        Aware, in the network's zone; None if the route has no moment.
    waiting_time : int
        Seconds of `travel_time` before the vehicle leaves.
    ride : Ride, optional
        Line, stops and times; None for legs without a timetable.
    """

    mode: Mode
    directions: str
    travel_time: int
    distance: float
    geometry: shapely.LineString
    steps: tuple[Step, ...] = ()
    name: str = ""
    departure_time: dt.datetime | None = None
    arrival_time: dt.datetime | None = None
    waiting_time: int = 0
    ride: Ride | None = None

    @property
    def origin(self) -> tuple[float, float]:
        """Longitude and latitude of the beginning."""
        lng, lat = self.geometry.coords[0]
        return float(lng), float(lat)

    @property
    def destination(self) -> tuple[float, float]:
        """Longitude and latitude of the end."""
        lng, lat = self.geometry.coords[-1]
        return float(lng), float(lat)


@dataclass(frozen=True, slots=True)
class Ticket:
    """
    What one pays once for one or more rides.

    Attributes
    ----------
    price : float
        In units of the currency, such as euros.
    currency : str
        ISO 4217.
    legs : tuple of int
        Positions in `Route.legs` of the rides that it pays for.
    fare_id : str
        As in the timetable.
    type : {"single"}
        Timetables know no other (GTFS fares v1).
    """

    price: float
    currency: str
    legs: tuple[int, ...]
    fare_id: str = ""
    type: Literal["single"] = "single"


@dataclass(frozen=True, slots=True)
class Fares:
    """
    What the rides of a route cost.

    Attributes
    ----------
    tickets : tuple of Ticket
        In the order of their first legs, each ride in one of them; empty for a route without rides.
    """

    tickets: tuple[Ticket, ...] = ()

    @property
    def totals(self) -> dict[str, float]:
        """Prices by currency, in order of first use; different currencies are never added."""
        sums: dict[str, Decimal] = {}
        for ticket in self.tickets:
            sums[ticket.currency] = sums.get(ticket.currency, Decimal(0)) + Decimal(repr(ticket.price))
        return {currency: float(total) for currency, total in sums.items()}


@dataclass(frozen=True, slots=True)
class Route:
    """
    A journey from door to door.

    Attributes
    ----------
    legs : tuple of Leg
        In travel order, each beginning where the one before ends; empty where origin and destination are one point.
    departure_time, arrival_time : datetime, optional
        Aware, in the network's zone; None if the search had no date.
    fares : Fares, optional
        The cheapest single tickets for all rides; None where the timetable has no fare for one of them, and for ferries
        without a timetable. What cars cost (fuel, tolls, parking) is not counted.
    """

    legs: tuple[Leg, ...]
    departure_time: dt.datetime | None = None
    arrival_time: dt.datetime | None = None
    fares: Fares | None = None

    @property
    def travel_time(self) -> int:
        """Seconds."""
        return sum(leg.travel_time for leg in self.legs)

    @property
    def distance(self) -> float:
        """Metres, in whole centimetres."""
        return sum(round(leg.distance * 100.0) for leg in self.legs) / 100.0

    @property
    def geometry(self) -> shapely.LineString:
        """Line of the whole route in EPSG:4326; empty if it has no legs."""
        coordinates: list[tuple[float, ...]] = []
        for leg in self.legs:
            coordinates += [xy for xy in leg.geometry.coords if not coordinates or xy != coordinates[-1]]
        if len(coordinates) == 1:
            coordinates *= 2
        return shapely.LineString(coordinates)

    @property
    def distance_breakdown(self) -> dict[str, float]:
        """Metres by mode, in order of first use."""
        cm: dict[str, int] = {}
        for leg in self.legs:
            cm[leg.mode] = cm.get(leg.mode, 0) + round(leg.distance * 100.0)
        return {mode: total / 100.0 for mode, total in cm.items() if total}

    def parts(self) -> list[dict[str, Any]]:
        """
        Return the parts of the route in the contract's shape (6.4).

        Returns
        -------
        list of dict
            ``id``, ``type``, ``mode``, ``directions``, ``distance`` (int, m), ``travel_time`` (int, s), ``coords``
            (list of ``{"lat", "lng"}``) and what the type adds. Times sum to `travel_time`, distances to `distance`
            rounded; consecutive parts share an end.
        """
        parts: list[dict[str, Any]] = []
        cm = 0
        for leg in self.legs:
            for step in leg.steps or (_whole_step(leg),):
                before, cm = _metres(cm), cm + round(step.distance * 100.0)
                part: dict[str, Any] = {
                    "id": len(parts),
                    "type": step.type,
                    "mode": leg.mode,
                    "directions": step.directions,
                    "distance": _metres(cm) - before,
                    "travel_time": step.travel_time,
                    "coords": [{"lat": float(lat), "lng": float(lng)} for lng, lat in step.geometry.coords],
                }
                for key in ("direction", "road", "turn"):
                    if getattr(step, key) is not None:
                        part[key] = getattr(step, key)
                if leg.ride is not None:
                    part |= {
                        "line": leg.ride.line,
                        "departure_station": leg.ride.board.name,
                        "arrival_station": leg.ride.alight.name,
                        "departs_at": f"{leg.ride.board.time:%H:%M:%S}",
                        "arrives_at": f"{leg.ride.alight.time:%H:%M:%S}",
                        "num_stops": leg.ride.num_stops,
                    }
                parts.append(part)
        return parts


def _whole_step(leg: Leg) -> Step:
    """Return a leg without instructions as one step."""
    kind: PartType = "basic" if leg.ride is None else "public_transport"
    return Step(kind, leg.directions, leg.travel_time, leg.distance, leg.geometry)


def _metres(cm: int) -> int:
    """Return whole metres, rounded half up."""
    return (cm + 50) // 100


def unpaid(legs: tuple[Leg, ...]) -> Fares | None:
    """Return the fares of legs without a timetable: nothing to pay, or unknown if there is a ferry."""
    return None if any(leg.mode == "ferry" and leg.ride is None for leg in legs) else Fares()


def timed(legs: tuple[Leg, ...], moment: dt.datetime | None, *, is_arrival: bool, fares: Fares | None) -> Route:
    """
    Return the route of some legs, with moments if it has one.

    Parameters
    ----------
    legs : tuple of Leg
    moment : datetime, optional
        Aware: of departure, or of arrival. None leaves all moments out.
    is_arrival : bool
    fares : Fares, optional
    """
    if moment is None:
        return Route(legs, fares=fares)
    total = sum(leg.travel_time for leg in legs)
    begin = _later(moment, -total) if is_arrival else moment
    now, dated = begin, []
    for leg in legs:
        after = _later(now, leg.travel_time)
        dated.append(replace(leg, departure_time=now, arrival_time=after))
        now = after
    return Route(tuple(dated), begin, now, fares)


def _later(moment: dt.datetime, seconds: int) -> dt.datetime:
    """Return a moment so many real seconds later, also over a night when the clocks change."""
    return (moment.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(moment.tzinfo)
