"""
Reasons and explanations: data classes, and their sentences in English.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from traveltime_lab.itinerary import Alert, Route
from traveltime_lab.modes.table import VEHICLES
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.search.pairs import REASONS
from traveltime_lab.transit.route_types import VEHICLE_WORDS

#: Values of `Reason.code`, beginning with those of `time_filter`.
CODES: Final = (
    *REASONS,
    "origin_moved",
    "destination_moved",
    "origin_across_motorway",
    "destination_across_motorway",
    "one_way_trap",
    "excluded_roads",
    "traffic_stress",
    "obstacles",
    "outside_timetable",
    "no_vehicles",
    "no_stop_near_origin",
    "no_stop_near_destination",
    "stops_too_far",
    "no_service_that_day",
    "no_trip_that_day",
    "first_trip_not_yet",
    "last_trip_gone",
    "no_trip_then",
    "too_many_changes",
    "walk_too_long",
    "no_connection",
    "not_step_free",
    "station_closed",
    "made_of",
    "alert",
    "live_updates",
)
_PARTS: Final[Mapping[str, str]] = {
    "walk": "walking",
    "wait": "waiting",
    "bike": "cycling",
    "car": "driving",
    "parking": "parking",
    "bike_parking": "parking",
    "boarding": "boarding",
}


def vehicle_words(transportation: Transportation) -> tuple[str, str]:
    """Return words for the vehicles of a means of transportation, and for their stops."""
    if transportation.modes:
        return " or ".join(VEHICLE_WORDS[mode] for mode in transportation.modes), "stop"
    return VEHICLES[transportation.vehicles]


@dataclass(frozen=True)
class Reason:
    """
    A reason why a destination is unreachable, or the composition of a travel time.

    Attributes
    ----------
    code : str
        Type of the reason. On streets: ``origin_outside_network``, ``destination_outside_network``,
        ``origin_not_snapped``, ``destination_not_snapped``, ``origin_moved``, ``destination_moved`` (not snapped to
        the nearest street), ``origin_across_motorway``, ``destination_across_motorway`` (no other street is near),
        ``origin_street_closed`` and ``destination_street_closed`` (by a change),
        ``other_component``, ``one_way_trap``, ``excluded_roads``, ``traffic_stress`` (its data name the streets and
        crossings above `max_stress`), ``obstacles`` (its data name those in the way of `step_free` walks, and the ways
        that walks `avoid`, also between stops) and ``over_limit``. With a timetable also ``outside_timetable``,
        ``no_vehicles``, ``no_stop_near_origin``, ``no_stop_near_destination``, ``stops_too_far``,
        ``no_service_that_day``, ``no_trip_that_day``, ``first_trip_not_yet``, ``last_trip_gone``, ``no_trip_then``,
        ``too_many_changes``, ``walk_too_long`` (all the way, for ``direct_walking_time``), ``not_step_free`` (its data
        name the stops, trips and pathways), ``station_closed`` (by changes or alerts) and ``no_connection``. If the
        destination is reached: ``made_of``, and ``alert`` for each alert of live updates about its rides.
        ``live_updates`` if it is reached by the planned timetable only.
    sentence : str
        Description in English.
    side : {"origin", "destination"}, optional
        The side that the reason applies to; None if it applies to both or neither.
    data : mapping
        The data of the sentence: seconds, metres, dates and names.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> explanation = tl.explain(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[6]],
    ...     travel_time=900,
    ...     transportation="cycling",
    ... )
    >>> reason = explanation.reasons[0]
    >>> reason.code, reason.data["over_by"] // 60
    ('over_limit', 16)
    """

    code: str
    sentence: str
    side: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.code in CODES, self.code

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


@dataclass(frozen=True)
class Explanation:
    """
    Result of `explain`.

    Attributes
    ----------
    is_reached : bool
        Whether the destination is reached.
    travel_time : int or None
        Travel time in seconds as in `time_filter`; None if the destination is not reached.
    reasons : tuple of Reason
        Why the destination is not reached, beginning with the reasons that `nearest_request` resolves; or what the
        travel time consists of.
    nearest_request : dict or None
        Keyword arguments for `time_filter` with which the destination is reached; None if it is already reached, or if
        none were found.
    advice : str
        Sentence on what `nearest_request` changes; empty if it is None.
    parts : mapping
        Seconds of the itinerary by activity: ``"wait"``, vehicles as in `Ride.vehicle` (``"bus"``, ``"tram"``, ...),
        and the others as in `Leg.mode` (``"walk"``, ``"car"``, ...). The itinerary may take longer than the limit, up
        to 12 hours; empty if there is none.
    n_changes : int
        Number of transfers of that itinerary.
    weekday_morning : date or None
        The date of ``"weekday_morning"``, if the question has it and a timetable is used; see `Network.typical_day`.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> explanation = tl.explain(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[6]],
    ...     travel_time=900,
    ...     transportation="cycling",
    ... )
    >>> explanation.is_reached, explanation.codes
    (False, ('over_limit',))
    >>> explanation.nearest_request
    {'travel_time': 1907, 'transportation': 'cycling'}
    """

    is_reached: bool
    travel_time: int | None
    reasons: tuple[Reason, ...]
    nearest_request: dict[str, Any] | None = None
    advice: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)
    n_changes: int = 0
    weekday_morning: dt.date | None = None

    def __str__(self) -> str:
        """Return the sentences, one per line."""
        begin = f"Reached in {duration(self.travel_time)}." if self.travel_time is not None else "Not reached."
        when = "" if self.weekday_morning is None else f"The date of weekday_morning is {day(self.weekday_morning)}."
        sentences = (begin, *(reason.sentence for reason in self.reasons), self.advice, when)
        return "\n".join(filter(None, sentences))

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons)


def duration(seconds: int) -> str:
    """Format a duration exactly, so that differences of durations are those of what is shown: 1 h 5 min 30 s."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{n} {unit}" for n, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return " ".join(parts) or "0 s"


def distance(metres: float) -> str:
    """Format a distance: 840 m, 12.3 km."""
    return f"{metres:.0f} m" if round(metres) < 10_000 else f"{metres / 1000.0:,.1f} km"


def clock(moment: dt.datetime) -> str:
    """Format a time with its date: 08:00 on Monday 2026-03-02. In an hour that comes twice, the offset says which."""
    time = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    if moment.replace(fold=0).utcoffset() != moment.replace(fold=1).utcoffset():
        time = f"{time} ({moment.isoformat()[-6:]})"
    return f"{time} on {moment:%A} {moment:%Y-%m-%d}"


def day(date: dt.date) -> str:
    """Format a date: Monday 2026-03-02."""
    return f"{date:%A} {date.isoformat()}"


def parts_of(route: Route | None) -> tuple[dict[str, int], int]:
    """
    Return the seconds of a route by activity, longest first, and its number of transfers.

    The walks between points and streets count as walking, whatever the mode on the street.
    """
    parts: dict[str, int] = {}
    if route is None:
        return parts, 0
    for leg in route.legs:
        on_foot = 0
        if leg.mode != "walk":
            on_foot = sum(step.travel_time for step in leg.steps if step.type == "start_end")
        for name, seconds in (
            ("walk", on_foot),
            ("wait", leg.waiting_time),
            (leg.mode if leg.ride is None else leg.way, leg.travel_time - leg.waiting_time - on_foot),
        ):
            parts[name] = parts.get(name, 0) + seconds
    rides = sum(leg.ride is not None and not leg.ride.stays_seated for leg in route.legs)
    ordered = sorted(((name, seconds) for name, seconds in parts.items() if seconds), key=lambda part: -part[1])
    return dict(ordered), max(rides - 1, 0)


def parts_words(parts: Mapping[str, int], n_changes: int) -> str:
    """Format the parts of an itinerary."""
    words = [f"{duration(seconds)} {_PARTS.get(name, f'by {name}')}" for name, seconds in parts.items()]
    if n_changes:
        words.append(f"with {n_changes} change{'s' if n_changes > 1 else ''}")
    return ", ".join(words)


def made_of(parts: Mapping[str, int], n_changes: int) -> Reason:
    """Return the reason that describes what the travel time to a reached destination consists of."""
    if not parts:
        return Reason("made_of", "Origin and destination are one place.", data={"parts": {}, "n_changes": 0})
    most, total = next(iter(parts)), sum(parts.values())
    data = {"parts": dict(parts), "n_changes": n_changes, "most": most, "share": parts[most] / total}
    return Reason("made_of", f"The time is made of {parts_words(parts, n_changes)}.", data=data)


def alerts_of(route: Route | None) -> tuple[Reason, ...]:
    """Return a reason for each alert about the rides of a route."""
    if route is None:
        return ()
    lines: dict[Alert, list[str]] = {}
    for leg in route.legs:
        for alert in leg.ride.alerts if leg.ride is not None else ():
            name = f"{leg.way} {leg.ride.line if leg.ride is not None else ''}".rstrip()
            lines.setdefault(alert, []).append(name)
    return tuple(
        Reason(
            "alert",
            f"Alert about {' and '.join(dict.fromkeys(names))}: {alert}",
            data={"alert": alert, "lines": tuple(dict.fromkeys(names))},
        )
        for alert, names in lines.items()
    )
