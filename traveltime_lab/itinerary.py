"""
Data model of itineraries: a route consists of legs, and a leg of steps.

A *leg* is a part of a route in one mode: a walk, a drive, a ferry, or a transit leg on one trip. Where a vehicle
continues as another trip, a new leg begins. Legs on streets have *steps*, one per instruction. Times (whole seconds)
and distances (whole centimetres) add up to those of the route. `Route.parts` is a route as in docs/contract.md, 6.4.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab.fares import Fares

#: Types of the parts of a route. Source: docs/contract.md, 6.4.
PartType = Literal["basic", "start_end", "road", "public_transport"]
#: Names of modes. Source: docs/contract.md, 6.4.
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
    The part of a leg that one instruction covers.

    Attributes
    ----------
    type : {"start_end", "road", "basic"}
        ``"start_end"`` is the walk between a point and its street, ``"road"`` a part of a street.
    directions : str
        Instruction in English.
    travel_time : int
        Seconds.
    distance : float
        Metres, rounded to centimetres.
    geometry : LineString
        Line in EPSG:4326; its length is zero if the step covers no distance.
    road, turn : str, optional
        Name or number of the street, and the turn at the beginning of the step.
    direction : str, optional
        Compass direction such as ``"southwest"``; only ``start_end`` steps have one.

    Examples
    --------
    >>> network, at = tl.sample_network(), tl.sample_points()
    >>> way = tl.routes(network, at[:1], at[1:2], transportation="cycling")
    >>> for step in way["route"].iloc[0].legs[0].steps[:2]:
    ...     print(step.turn, "|", step.directions)
    None | Start heading north
    None | Cycle 10 m
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
    A boarding or an alighting at a stop.

    Attributes
    ----------
    stop_id, name : str
        ``stop_id`` and ``stop_name`` of GTFS; the name is empty if the feed has none.
    lng, lat : float
        Coordinates in EPSG:4326.
    time : datetime
        Departure time of a boarding, arrival time of an alighting; timezone-aware.

    Examples
    --------
    >>> network, at = tl.sample_network(), tl.sample_points()
    >>> ends = at.loc[["PUCRS"]], at.loc[["Mercado Público"]]
    >>> bus = dict(transportation="bus", departure_time="2019-05-13T08:00")
    >>> ride = tl.routes(network, *ends, **bus)["route"][0].legs[1].ride
    >>> ride.alight.name
    'CENTRO DOM FELICIANO'
    """

    stop_id: str
    name: str
    lng: float
    lat: float
    time: dt.datetime


@dataclass(frozen=True, slots=True)
class Alert:
    """
    A notice of an agency about a ride, from a live update.

    Attributes
    ----------
    header, description, url : str
        Texts; empty if the message has none. Several languages are read in English, as directions are, or else without
        a language, or else in the first one. Those of more than 300, 1,000 and 2,000 characters are cut and end with
        ``...``; an address that is longer, or not http or https, is empty.
    effect, cause : str
        Names of GTFS Realtime, such as ``"DETOUR"`` and ``"CONSTRUCTION"``.
    entity, source : str
        Id of the alert in its message, and name of the message, as in `Network.updates`.

    Examples
    --------
    >>> alert = tl.Alert("Stop moved", effect="STOP_MOVED")
    >>> print(alert)
    Stop moved
    """

    header: str
    description: str = ""
    url: str = ""
    effect: str = "UNKNOWN_EFFECT"
    cause: str = "UNKNOWN_CAUSE"
    entity: str = ""
    source: str = ""

    def __str__(self) -> str:
        """Return the header, or else the beginning of the description, or else the effect."""
        text = self.header or self.description.partition("\n")[0] or self.effect.replace("_", " ").capitalize()
        return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Ride:
    """
    The trip of a transit leg.

    Attributes
    ----------
    line, headsign : str
        Name of the route and headsign of the trip; empty if the feed has none.
    board, alight : StopCall
        First and last stop of the leg.
    num_stops : int
        Number of stops after the boarding, including the last one.
    route_id, trip_id, agency : str
        Route, trip and agency in the GTFS feed.
    stays_seated : bool
        Whether the passenger is in the vehicle already, because it continues as this trip where the leg before ends.
    vehicle : str
        Word for the vehicle, by ``route_type``, finer than `Leg.mode`: ``"tram"``, ``"underground"``, ``"train"``, ...
    headway : int, optional
        Seconds between vehicles if the line has no times, with ``headways="average"``; half of it is the wait.
    alerts : tuple of Alert
        Alerts of `Network.updates` that name the trip, the route, the agency, or the stop of boarding or alighting, and
        hold at that time.
    rows : tuple of (int, int, int)
        Rows of the boarding and of the alighting in the table of stops, and of the trip in that of trips, as ids may be
        those of several feeds; -1 where not known.

    Examples
    --------
    >>> network, at = tl.sample_network(), tl.sample_points()
    >>> ends = at.loc[["PUCRS"]], at.loc[["Mercado Público"]]
    >>> bus = dict(transportation="bus", departure_time="2019-05-13T08:00")
    >>> ride = tl.routes(network, *ends, **bus)["route"][0].legs[1].ride
    >>> ride.line, ride.board.name, ride.num_stops
    ('T9', 'PARTENON IPIRANGA', 6)
    """

    line: str
    headsign: str
    board: StopCall
    alight: StopCall
    num_stops: int
    route_id: str = ""
    trip_id: str = ""
    agency: str = ""
    stays_seated: bool = False
    vehicle: str = ""
    headway: int | None = None
    alerts: tuple[Alert, ...] = ()
    rows: tuple[int, int, int] = field(default=(-1, -1, -1), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Leg:
    """
    An uninterrupted part of a route in one mode.

    Attributes
    ----------
    mode : str
        Name in docs/contract.md, 6.4, such as ``"walk"``, ``"bike"``, ``"car"``, ``"boarding"`` or ``"bus"``.
    directions : str
        Instruction in English, one sentence.
    travel_time : int
        Seconds, including waiting.
    distance : float
        Metres, rounded to centimetres.
    geometry : LineString
        Line in EPSG:4326 from the beginning of the leg to its end.
    steps : tuple of Step
        Instructions, whose times leave out `waiting_time`; empty for legs without details.
    name : str
        Name of the line of a ferry; empty if there is none.
    departure_time, arrival_time : datetime, optional
        Timezone-aware, in the time zone of the network; None if the search had no date.
    waiting_time : int
        Seconds of `travel_time` before the vehicle departs and, in the last leg, until the time of an arrival search.
    ride : Ride, optional
        Trip, stops and times of a transit leg; None for other legs.
    toll_distance : float
        Metres of a leg by car on streets with a toll.

    Examples
    --------
    >>> network, at = tl.sample_network(), tl.sample_points()
    >>> way = tl.routes(network, at[:1], at[1:2], transportation="cycling")
    >>> leg = way["route"].iloc[0].legs[0]
    >>> leg.mode, len(leg.steps), round(leg.travel_time / 60)
    ('bike', 15, 10)
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
    toll_distance: float = 0.0

    @property
    def way(self) -> str:
        """How one travels, in words: the vehicle of a transit leg, such as ``"tram"``, or the mode."""
        return (self.ride.vehicle if self.ride is not None else "") or self.mode.replace("_", " ")

    @property
    def origin(self) -> tuple[float, float]:
        """Longitude and latitude of the beginning of the leg."""
        lng, lat = self.geometry.coords[0]
        return float(lng), float(lat)

    @property
    def destination(self) -> tuple[float, float]:
        """Longitude and latitude of the end of the leg."""
        lng, lat = self.geometry.coords[-1]
        return float(lng), float(lat)


@dataclass(frozen=True, slots=True, repr=False)
class Route:
    """
    An itinerary from origin to destination.

    Attributes
    ----------
    legs : tuple of Leg
        Legs in travel order; each begins where the previous one ends. Empty from a point to itself.
    departure_time, arrival_time : datetime, optional
        Timezone-aware, in the time zone of the network; None if the search had no date.
    fares : Fares, optional
        The cheapest single tickets for all transit legs; None if the feed has no fare for one of them, or if the route
        uses a ferry without a timetable. The costs of driving (fuel, tolls, parking) are not included.

    Examples
    --------
    >>> network, at = tl.sample_network(), tl.sample_points()
    >>> ends = at.loc[["PUCRS"]], at.loc[["Mercado Público"]]
    >>> bus = dict(transportation="bus", departure_time="2019-05-13T08:00")
    >>> route = tl.routes(network, *ends, **bus)["route"][0]
    >>> route
    <Route 30 min, 8.4 km: walk, bus T9, walk; 2019-05-13 08:00 to 08:29>
    >>> route.legs_frame()[["mode", "line", "waiting_time", "travel_time"]]
       mode line  waiting_time  travel_time
    0  walk                  0           36
    1   bus   T9             2         1224
    2  walk                  0          533
    >>> sum(leg.travel_time for leg in route.legs) == route.travel_time
    True
    """

    legs: tuple[Leg, ...]
    departure_time: dt.datetime | None = None
    arrival_time: dt.datetime | None = None
    fares: Fares | None = None

    def __repr__(self) -> str:
        """Return the route in one line; the legs have the rest."""
        ways = ", ".join(_mode_and_line(leg) for leg in self.legs) or "no legs"
        return f"<Route {self._summary(f': {ways}')}>"

    def _repr_html_(self) -> str:
        """Return the route as a table of its legs, for notebooks."""
        lines = [("Starts", "By", "Way", "Wait", "Time")]
        for leg in self.legs:
            start = leg.ride.board.time if leg.ride is not None else leg.departure_time
            wait = _minutes(leg.waiting_time) if leg.waiting_time else ""
            time = _minutes(leg.travel_time - leg.waiting_time)
            lines.append((f"{start:%H:%M}" if start else "", _mode_and_line(leg), leg.directions, wait, time))
        rows = ["".join(f"<td style='text-align: left'>{escape(cell)}</td>" for cell in line) for line in lines]
        return f"<table><caption>{escape(self._summary())}</caption><tr>{'</tr><tr>'.join(rows)}</tr></table>"

    def _summary(self, ways: str = "") -> str:
        text = f"{_minutes(self.travel_time)}, {self.distance / 1000.0:.1f} km{ways}"
        if self.departure_time is None or self.arrival_time is None:
            return text
        return f"{text}; {self.departure_time:%Y-%m-%d %H:%M} to {self.arrival_time:%H:%M}"

    def legs_frame(self) -> gpd.GeoDataFrame:
        """
        Return the legs as a table.

        Returns
        -------
        GeoDataFrame
            One row per leg in travel order: ``mode``; ``line``, ``from_stop`` and ``to_stop`` (empty for other than
            transit legs); ``departure_time``, ``boarding_time`` and ``arrival_time`` (in the time zone of the network,
            NaT without a date; ``boarding_time`` is when the vehicle departs); ``waiting_time`` and ``travel_time``
            (int64, s; the first is part of the second); ``distance`` (float64, m); ``directions`` and the line of the
            leg in EPSG:4326.
        """
        zone = self.departure_time.tzinfo if self.departure_time is not None else dt.UTC

        def in_zone(times: list[Any]) -> pd.DatetimeIndex:
            return pd.DatetimeIndex(pd.to_datetime(times, utc=True)).tz_convert(zone)

        rides = [leg.ride for leg in self.legs]
        columns = {
            "mode": [leg.mode for leg in self.legs],
            "line": [ride.line if ride else leg.name for ride, leg in zip(rides, self.legs, strict=True)],
            "from_stop": [ride.board.name if ride else "" for ride in rides],
            "to_stop": [ride.alight.name if ride else "" for ride in rides],
            "departure_time": in_zone([leg.departure_time for leg in self.legs]),
            "boarding_time": in_zone([ride and ride.board.time for ride in rides]),
            "arrival_time": in_zone([leg.arrival_time for leg in self.legs]),
            "waiting_time": [leg.waiting_time for leg in self.legs],
            "travel_time": [leg.travel_time for leg in self.legs],
            "distance": [leg.distance for leg in self.legs],
            "directions": [leg.directions for leg in self.legs],
        }
        return gpd.GeoDataFrame(columns, geometry=[leg.geometry for leg in self.legs], crs="EPSG:4326")

    @property
    def travel_time(self) -> int:
        """Travel time in seconds."""
        return sum(leg.travel_time for leg in self.legs)

    @property
    def distance(self) -> float:
        """Distance in metres, rounded to centimetres."""
        return sum(round(leg.distance * 100.0) for leg in self.legs) / 100.0

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Alerts about the rides, each once."""
        return tuple(dict.fromkeys(alert for leg in self.legs if leg.ride is not None for alert in leg.ride.alerts))

    @property
    def on_foot(self) -> bool:
        """Whether the whole route is walked."""
        return all(leg.mode == "walk" for leg in self.legs)

    @property
    def geometry(self) -> shapely.LineString:
        """Line of the whole route in EPSG:4326; empty if it has no legs."""
        every = shapely.get_coordinates([leg.geometry for leg in self.legs])
        # Legs meet up to rounding; 1e-9 degrees are 0.1 mm.
        is_new = np.ones(len(every), np.bool_)
        is_new[1:] = (np.abs(np.diff(every, axis=0)) > 1e-9).any(axis=1)
        kept = every[is_new]
        are_apart = bool((np.abs(np.diff(kept, axis=0)) > 1e-9).any(axis=1).all())
        if len(kept) > 1 and are_apart and (is_new[1:] | is_new[:-1]).all():
            return shapely.LineString(kept)
        # Many points within rounding: each is compared with the last that was kept.
        coordinates: list[list[float]] = []
        for x, y in every.tolist():
            if not coordinates or max(abs(x - coordinates[-1][0]), abs(y - coordinates[-1][1])) > 1e-9:
                coordinates.append([x, y])
        if len(coordinates) == 1:
            coordinates *= 2
        return shapely.LineString(coordinates)

    @property
    def distance_breakdown(self) -> dict[str, float]:
        """Distance in metres by mode, in order of first use."""
        cm: dict[str, int] = {}
        for leg in self.legs:
            cm[leg.mode] = cm.get(leg.mode, 0) + round(leg.distance * 100.0)
        return {mode: total / 100.0 for mode, total in cm.items() if total}

    def parts(self) -> list[dict[str, Any]]:
        """
        Return the parts of the route in the form of docs/contract.md, 6.4.

        Returns
        -------
        list of dict
            ``id``, ``type``, ``mode``, ``directions``, ``distance`` (int, m), ``travel_time`` (int, s), ``coords``
            (list of ``{"lat", "lng"}``) and the fields of the type. Times add up to `travel_time`, distances to the
            rounded `distance`. A part begins at the last coordinate of the previous one.
        """
        parts: list[dict[str, Any]] = []
        cm = 0
        for leg in self.legs:
            for step in _steps(leg):
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
                part |= {key: it for key in ("direction", "road", "turn") if (it := getattr(step, key)) is not None}
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


def _mode_and_line(leg: Leg) -> str:
    """Return how one travels, such as "bus 1" or "walk"."""
    return f"{leg.way} {leg.name if leg.ride is None else leg.ride.line}".rstrip()


def _minutes(seconds: int) -> str:
    return f"{round(seconds / 60)} min" if seconds >= 60 else f"{seconds} s"


def _steps(leg: Leg) -> tuple[Step, ...]:
    """Return the instructions of a leg, or one for all of it. The last one includes a wait at the end."""
    kind: PartType = "basic" if leg.ride is None else "public_transport"
    *steps, last = leg.steps or (Step(kind, leg.directions, leg.travel_time, leg.distance, leg.geometry),)
    return *steps, replace(last, travel_time=leg.travel_time - sum(step.travel_time for step in steps))


def _metres(cm: int) -> int:
    """Return whole metres, rounded half up."""
    return (cm + 50) // 100


def unpaid(legs: tuple[Leg, ...]) -> Fares | None:
    """Return the fares of legs without a timetable: no tickets, or None if a leg is a ferry."""
    return None if any(leg.mode == "ferry" and leg.ride is None for leg in legs) else Fares()


def timed(legs: tuple[Leg, ...], moment: dt.datetime | None, *, is_arrival: bool, fares: Fares | None) -> Route:
    """
    Return a route with departure and arrival times.

    Parameters
    ----------
    legs : tuple of Leg
    moment : datetime, optional
        Departure time or arrival time of the route, timezone-aware. None for a route without times.
    is_arrival : bool
        Whether `moment` is the arrival time.
    fares : Fares, optional
    """
    if moment is None:
        return Route(legs, fares=fares)
    begin = _later(moment, -sum(leg.travel_time for leg in legs)) if is_arrival else moment
    now, dated = begin, []
    for leg in legs:
        after = _later(now, leg.travel_time)
        dated.append(replace(leg, departure_time=now, arrival_time=after))
        now = after
    return Route(tuple(dated), begin, now, fares)


def _later(moment: dt.datetime, seconds: int) -> dt.datetime:
    """Add elapsed seconds to a time; the result is correct across clock changes."""
    return (moment.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(moment.tzinfo)
