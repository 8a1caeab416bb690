"""
Changes of timetables: remove routes and stops, other headways and times, new lines and stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from traveltime_lab._checks import flag, items, whole, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.scenarios.changes import Change, a_number, place, span, texts
from traveltime_lab.transit.route_types import route_class

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Longest headway, dwell and time between two stops, s.
_DAY_S: Final = 86_400


def _id(value: Any, what: str) -> str:
    """Return an id that is not empty."""
    if not words(value, what):
        raise InputError(f"{what} is empty; give an id of the feed")
    return str(value)


def _feed(value: Any) -> str | None:
    return None if value is None else _id(value, "feed")


@explained_keywords
@dataclass(frozen=True)
class RemoveRoutes(Change):
    """
    Remove all trips of routes.

    Parameters
    ----------
    routes : str or sequence of str
        ``route_id`` of each route.
    feed : str, optional
        Name of the feed, as in `Network.report`. Needed if several feeds have such a route.
    name : str, default ""
        A name for reports.

    See Also
    --------
    Network.with_changes : Apply changes.

    Examples
    --------
    >>> tl.RemoveRoutes(["4", "4A"], name="without line 4")
    RemoveRoutes(name='without line 4', routes=('4', '4A'), feed=None)
    """

    routes: Any
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check the ids."""
        super().__post_init__()
        self._put(routes=texts(self.routes, "routes"), feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class RemoveStops(Change):
    """
    Remove stops: vehicles pass without stopping, at the same times elsewhere.

    Trips with fewer than two stops left are removed.

    Parameters
    ----------
    stops : str or sequence of str
        ``stop_id`` of each stop; a station stands for all its stops.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a stop.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> tl.RemoveStops("central")
    RemoveStops(name='', stops=('central',), feed=None)
    """

    stops: Any
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check the ids."""
        super().__post_init__()
        self._put(stops=texts(self.stops, "stops"), feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class ClosePathway(Change):
    """
    Close ways inside stations: stairs, escalators, elevators, gates or walkways.

    Platforms that lose their last way to an entrance cannot be reached.

    Parameters
    ----------
    pathways : str or sequence of str
        ``pathway_id`` of each, as in ``pathways.txt``.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a pathway.
    name : str, default ""
        A name for reports.

    See Also
    --------
    CloseElevator : Close elevators only.

    Examples
    --------
    >>> tl.ClosePathway("north-escalator-up", name="works")
    ClosePathway(name='works', pathways=('north-escalator-up',),
    feed=None)
    """

    pathways: Any
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check the ids."""
        super().__post_init__()
        self._put(pathways=_pathway_ids(self.pathways, "pathways"), feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class CloseElevator(Change):
    """
    Close elevators of stations.

    Parameters
    ----------
    elevators : str or sequence of str
        ``pathway_id`` of each, as in ``pathways.txt``. An elevator that joins several levels has several pathways.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a pathway.
    name : str, default ""
        A name for reports.

    See Also
    --------
    ClosePathway : Close other ways inside stations, too.

    Examples
    --------
    >>> tl.CloseElevator(["lift-1", "lift-2"])
    CloseElevator(name='', elevators=('lift-1', 'lift-2'), feed=None)
    """

    elevators: Any
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check the ids."""
        super().__post_init__()
        self._put(elevators=_pathway_ids(self.elevators, "elevators"), feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class ScaleHeadway(Change):
    """
    Have the trips of a route run more or less often.

    Trips with the same stops on the same days are taken in the order of their departures. With a factor of 0.5 another
    trip departs halfway between any two, with 2 every second one remains, and with other factors departures are moved
    in proportion; the first remains. Times on the way are those of the two trips around, in proportion. The headways of
    ``frequencies.txt`` are multiplied and rounded to whole seconds. Nothing is random.

    Parameters
    ----------
    route : str
        ``route_id``.
    factor : float
        Number by which to multiply headways, 0.05 to 20: 0.5 is twice as often.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a route.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> tl.ScaleHeadway("4", 0.5)
    ScaleHeadway(name='', route='4', factor=0.5, feed=None)
    """

    route: str
    factor: float
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check route and factor."""
        super().__post_init__()
        factor = a_number(self.factor, "factor", 0.05, 20.0, "times the headway")
        self._put(route=_id(self.route, "route"), factor=factor, feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class SetHeadway(Change):
    """
    Have a route depart at a regular headway between two times of the day.

    On every day with service, in each direction, all departures from the first stop between `start` and `end` are
    replaced by departures at `start` and every headway later, before `end`. Stops and times on the way are those of
    the trip of that day and direction whose departure is nearest.

    Directions are those of ``direction_id``. If a trip of the route has none, they follow from the order of stations:
    two sequences of stops are in one direction if most of the pairs of stations that both have are in the same order,
    so that short runs and branches share the headway of the whole line. Sequences that share no such pair with others
    are a direction of their own.

    Parameters
    ----------
    route : str
        ``route_id``.
    start, end : str or datetime.time
        Times such as ``"07:00"``; those after midnight are ``"25:00"``.
    seconds : int
        Headway in seconds, 1 to 86400.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a route.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> tl.SetHeadway("4", "07:00", "09:30", 300)
    SetHeadway(name='', route='4', start='07:00:00', end='09:30:00',
    seconds=300, feed=None)
    """

    route: str
    start: Any
    end: Any
    seconds: int
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check route, times and headway."""
        super().__post_init__()
        start, end = span(self.start, self.end)
        seconds = whole(self.seconds, "seconds", 1, _DAY_S, "seconds")
        self._put(route=_id(self.route, "route"), start=start, end=end, seconds=seconds, feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class ShiftTrips(Change):
    """
    Have the trips of a route run earlier or later.

    Parameters
    ----------
    route : str
        ``route_id``.
    seconds : int
        How much later, -86400 to 86400; negative numbers are earlier.
    start, end : str or datetime.time, optional
        Shift only the trips whose first departure is from `start` to before `end`. Default: all. Trips that
        ``frequencies.txt`` repeats have their first departure at the start of each row.
    feed : str, optional
        Name of the feed. Needed if several feeds have such a route.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> tl.ShiftTrips("4", 120).seconds
    120
    """

    route: str
    seconds: int
    start: Any = None
    end: Any = None
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check route and times."""
        super().__post_init__()
        seconds = whole(self.seconds, "seconds", -_DAY_S, _DAY_S, "seconds")
        if (self.start is None) != (self.end is None):
            raise InputError("ShiftTrips needs both start and end, or neither")
        if self.start is not None:
            self._put(**dict(zip(("start", "end"), span(self.start, self.end), strict=True)))
        self._put(route=_id(self.route, "route"), seconds=seconds, feed=_feed(self.feed))


@explained_keywords
@dataclass(frozen=True)
class AddStop(Change):
    """
    Add a stop, for `AddLine`.

    Whether wheelchairs can board there is not known, so that ``step_free="strict"`` does not use it.

    Parameters
    ----------
    stop_id : str
        An id that no stop has.
    lng, lat : float
        Position in EPSG:4326, near a street for walking.
    stop_name : str, optional
        Name of the stop; by default its id.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> tl.AddStop("new", -51.23, -30.03, stop_name="New Square").stop_id
    'new'
    """

    stop_id: str
    lng: float
    lat: float
    stop_name: str | None = None

    def __post_init__(self) -> None:
        """Check id and place."""
        super().__post_init__()
        lng, lat = place(self.lng, self.lat)
        self._put(stop_id=_id(self.stop_id, "stop_id"), lng=lng, lat=lat)
        if self.stop_name is not None:
            words(self.stop_name, "stop_name")


@explained_keywords
@dataclass(frozen=True)
class AddLine(Change):
    """
    Add a line with a regular headway.

    Departures from the first stop are at `start` and every headway later, before `end`; with `both_directions` also
    from the last stop, at the same times. The line runs on all dates that the timetable covers. Whether its vehicles
    take wheelchairs is not known, so that ``step_free="strict"`` does not use them.

    Parameters
    ----------
    route_id : str
        An id that no route has.
    stops : sequence of str
        ``stop_id`` of two or more stops, which may be those of `AddStop`.
    headway : int
        Seconds between two departures, 1 to 86400.
    start, end : str or datetime.time
        First departure, and the time before which the last one is.
    times : int or sequence of int, optional
        Seconds from each stop to the next, without dwell times. Either `times` or `speed` is needed.
    speed : float or sequence of float, optional
        Speed in km/h on the straight line from each stop to the next, 1 to 500; seconds are rounded.
    dwell : int, default 0
        Seconds at each stop between the first and the last.
    both_directions : bool, default True
        Whether there are trips in the opposite direction, with the same times between stops.
    route_type : int, default 3
        GTFS route type: 0 tram, 1 underground, 2 rail, 3 bus, 4 ferry, and others.
    route_name : str, optional
        Name of the line; by default its id.
    days : str or sequence of str, default all
        Days of the week: ``"monday"`` and so on.
    feed : str, optional
        Name of the feed of the stops. Needed if several feeds have such a stop.
    name : str, default ""
        A name for reports.

    Examples
    --------
    >>> line = tl.AddLine(
    ...     "X1",
    ...     ["a", "b"],
    ...     headway=600,
    ...     start="06:00",
    ...     end="22:00",
    ...     speed=25,
    ...     dwell=20,
    ... )
    >>> line.headway
    600
    """

    route_id: str
    stops: Any
    headway: int
    start: Any
    end: Any
    times: Any = None
    speed: Any = None
    dwell: int = 0
    both_directions: bool = True
    route_type: int = 3
    route_name: str | None = None
    days: Any = DAYS
    feed: str | None = None

    def __post_init__(self) -> None:
        """Check stops, times and days."""
        super().__post_init__()
        stops = tuple(_id(stop, "each of stops") for stop in items(self.stops, "stops", "stop_id"))
        if len(stops) < 2:
            raise InputError(f"stops must be two or more; got {len(stops)}")
        twice = next((a for a, b in pairwise(stops) if a == b), None)
        if twice is not None:
            raise InputError(f"stops has {twice!r} twice in a row; give each stop of the line once in a row")
        start, end = span(self.start, self.end)
        self._put(route_id=_id(self.route_id, "route_id"), stops=stops, start=start, end=end, feed=_feed(self.feed))
        self._put(headway=whole(self.headway, "headway", 1, _DAY_S, "seconds"))
        self._put(dwell=whole(self.dwell, "dwell", 0, _DAY_S, "seconds"))
        self._put(both_directions=flag(self.both_directions, "both_directions"))
        self._put(route_type=whole(self.route_type, "route_type", 0, 2000, "GTFS route type"))
        if route_class(self.route_type) is None:
            raise InputError(f"route_type {self.route_type} is none of GTFS; 3 is bus, 0 tram, 1 underground, 2 rail")
        if self.route_name is not None:
            words(self.route_name, "route_name")
        if (self.times is None) == (self.speed is None):
            raise InputError("AddLine needs either times or speed")
        if self.times is not None:
            self._put(times=tuple(whole(one, "times", 0, _DAY_S, "seconds") for one in self._legs(self.times, "times")))
        else:
            self._put(
                speed=tuple(a_number(one, "speed", 1.0, 500.0, "km/h") for one in self._legs(self.speed, "speed"))
            )
        days = texts(self.days, "days")
        for day in days:
            if day not in DAYS:
                raise InputError(f"days must be among {', '.join(DAYS)}; got {day!r}")
        self._put(days=tuple(day for day in DAYS if day in days))

    def _legs(self, value: Any, what: str) -> tuple[Any, ...]:
        """Return a value for each pair of successive stops, of one for all or a list."""
        n = len(self.stops) - 1
        if isinstance(value, int | float):
            return (value,) * n
        found = items(value, what, "numbers")
        if len(found) != n:
            raise InputError(f"{what} needs {n} values, one from each of {n + 1} stops to the next; got {len(found)}")
        return found


def _pathway_ids(value: Any, what: str) -> tuple[str, ...]:
    """Return ids of pathways, which are not empty."""
    found = texts(value, what)
    if not all(found):
        raise InputError(f"{what} has an empty pathway_id; give the ids of pathways.txt")
    return found
