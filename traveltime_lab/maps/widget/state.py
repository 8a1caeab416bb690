"""
State of a map as plain values that can be observed, copied and exported as code.

Values are parsed as in the constructor of the map, and setting a value of the wrong type raises an error. Values that
are out of range are accepted and reported when the search runs, so that the controls can be used to correct them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import traitlets

from traveltime_lab._checks import percent, whole
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.limits import MAX_DISTANCE_M, MAX_TRAVEL_TIME_S, MIN_DISTANCE_M
from traveltime_lab.maps import style
from traveltime_lab.maps.widget.origins import Origin, check_names, read_origins
from traveltime_lab.maps.widget.values import (
    Means,
    Read,
    changed,
    flag,
    name_of,
    number,
    read_day,
    read_level,
    read_mode_options,
    read_polygons_filter,
    refuse_unknown,
)
from traveltime_lab.modes.snapping import as_snapping
from traveltime_lab.modes.table import MODES, applies
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.moments import WEEKDAY_MORNING, resolve_moment
from traveltime_lab.question import HasQuestion, Question
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

MEASURES: Final = ("travel_time", "distance")
MOMENTS: Final = ("any", "departure", "arrival")
COMBINATIONS: Final = ("each", "union", "intersection", "difference")
RENDER_MODES: Final = ("approximate_time_filter", "road_buffering")
MOST_RINGS: Final = 8
#: Highest level of detail while a marker is being dragged.
_DRAFT_LEVEL: Final = "low"
_COARSE_LEVELS: Final = ("lowest", "low")
_MINUTE_S: Final = 60
_DAY_S: Final = 86_400


@dataclass(frozen=True)
class Query(HasQuestion):
    """
    Parameters of the searches of a map: an immutable copy of its state.

    Attributes
    ----------
    origins : tuple of Origin
    measure : {"travel_time", "distance"}
    limits : tuple of int
        Seconds or metres of the rings in increasing order.
    combine : {"each", "union", "intersection", "difference"}
    question : Question
        Its limit is the last one.
    shape : dict
        Options of shapes that differ from the defaults of `time_map`.
    """

    origins: tuple[Origin, ...]
    measure: str
    limits: tuple[int, ...]
    combine: str
    question: Question
    shape: dict[str, Any]

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of `time_map` or `distance_map` besides the limit, without those with their defaults."""
        parsed, moment = self.question, self.question.moment
        options: dict[str, Any] = {"transportation": _shortest(self.transportation)}
        if moment is not None:
            text = moment.replace(tzinfo=None).isoformat() if isinstance(moment, dt.datetime) else moment.value
            options["arrival_time" if parsed.is_arrival else "departure_time"] = text
        if parsed.window:
            options["window"] = parsed.window
        if parsed.percents:
            (options["percentile"],) = parsed.percents
        snapping = changed(parsed.snapping)
        return {**options, **self.shape, **({"snapping": snapping} if snapping else {})}

    def draft(self) -> Query:
        """Return the query with a low level of detail, for use while a marker is being dragged."""
        if self.shape.get("level_of_detail") in _COARSE_LEVELS:
            return self
        return replace(self, shape={**self.shape, "level_of_detail": _DRAFT_LEVEL})


class MapState(traitlets.HasTraits):
    """
    State of a `TravelTimeMap`.

    Attributes
    ----------
    origins : list of Origin
        Origins of the areas, or destinations if `moment` is ``"arrival"``. Any input that the map accepts can be set,
        such as a table of points.
    measure : {"travel_time", "distance"}
    travel_time : int
        Travel time of the outermost ring in seconds.
    distance : int
        Distance of the outermost ring in metres.
    rings : int
        Number of rings, at equal intervals. If `travel_time` is in whole minutes, so are the rings, unless there are
        more rings than minutes.
    combine : {"each", "union", "intersection", "difference"}
        How to combine the areas of several origins. A difference is the area of the first origin without those of the
        others.
    transportation : str
        Type of transportation, such as ``"walking"``. Setting a `Transportation` or a mapping also sets `mode_options`.
    mode_options : dict
        Further fields of `Transportation`; those that do not apply to the type are kept but not used.
    moment : {"any", "departure", "arrival"}
        Whether `day` and `second` are the departure time, the arrival time, or not used.
    day : date or None
        Date, or None for a typical weekday morning. Strings such as ``"2026-03-02"`` are accepted.
    second : int
        Local time in seconds since midnight, 0 to 86399.
    departure_time, arrival_time : str or None
        `moment`, `day` and `second` combined; set as in `time_map`.
    window : int
        Timetable types: length of the departure or arrival window in seconds; 0 for none. Kept but not used for other
        types.
    percentile : float or None
        With a window: percentage of its departures that must reach a place within the travel time; None for at least
        one.
    level_of_detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies
        As in `time_map`.
    snapping : dict
        Fields of `Snapping` that differ from its defaults. Set to None for the defaults.

    Raises
    ------
    InputError, LimitError, ModeError, MomentError, CrsError, CoordinateError
        If a name is unknown or a value is invalid.
    """

    origins: Any = Read(lambda state, value: state._read_origins(value), [])
    measure: Any = Read(name_of("measure", MEASURES), "travel_time")
    travel_time: Any = Read(number("travel_time", "seconds"), 900)
    distance: Any = Read(number("distance", "metres"), 2000)
    rings: Any = Read(number("rings", "rings"), 3)
    combine: Any = Read(name_of("combine", COMBINATIONS), "each")
    transportation: Any = Means("walking")
    mode_options: Any = Read(lambda _, value: read_mode_options(value), {})
    moment: Any = Read(name_of("moment", MOMENTS), "any")
    day: Any = Read(lambda _, value: read_day(value), None)
    second: Any = Read(lambda _, value: whole(value, "second", 0, _DAY_S - 1, "seconds since midnight"), 8 * 3600)
    window: Any = Read(lambda _, value: 0 if value is None else number("window", "seconds")(_, value), 0)
    percentile: Any = Read(lambda _, value: None if value is None else percent(value, "percentile"), None)
    level_of_detail: Any = Read(lambda _, value: read_level(value), DEFAULT_LEVEL)
    no_holes: Any = Read(flag("no_holes"), False)
    polygons_filter: Any = Read(lambda _, value: read_polygons_filter(value), None)
    render_mode: Any = Read(name_of("render_mode", RENDER_MODES), "approximate_time_filter")
    buffer_distance: Any = Read(number("buffer_distance", "metres"), 1000)
    remove_water_bodies: Any = Read(flag("remove_water_bodies"), True)
    snapping: Any = Read(lambda _, value: changed(as_snapping(value)), {})

    def __init__(self, network: Network | None = None, **values: Any) -> None:
        self._network = network
        refuse_unknown(list(values), value_names(), "The state of a map")
        super().__init__()
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a value; raise an error for unknown names."""
        # traitlets temporarily replaces one of its own methods.
        if not name.startswith("_") and not hasattr(traitlets.HasTraits, name):
            refuse_unknown([name], value_names(), "The state of a map")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Return the origins, the limit, the transportation, and all values that differ from their defaults."""
        usual = MapState()
        always = {"origins", self.measure, "rings", "transportation"}
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in _trait_names()
            if name in always or getattr(self, name) != getattr(usual, name)
        ]
        return f"MapState({', '.join(shown)})"

    def _read_origins(self, value: Any) -> list[Origin]:
        if isinstance(value, list | tuple) and all(isinstance(origin, Origin) for origin in value):
            check_names(value)
            return list(value)
        return read_origins(self._of_network("origins other than a list of Origin"), value)

    def _of_network(self, what: str) -> Network:
        """Return the network of the state, or raise an error that parsing `what` requires one."""
        if self._network is None:
            raise InputError(f"This state has no network, so it cannot parse {what}; use MapState(network).")
        return self._network

    @property
    def departure_time(self) -> str | None:
        """Departure time as in `time_map`, None if there is none; setting it clears the arrival time."""
        return self.moment_text() if self.moment == "departure" else None

    @departure_time.setter
    def departure_time(self, value: Any) -> None:
        self._set_moment("departure", value)

    @property
    def arrival_time(self) -> str | None:
        """Arrival time as in `time_map`, None if there is none; setting it clears the departure time."""
        return self.moment_text() if self.moment == "arrival" else None

    @arrival_time.setter
    def arrival_time(self, value: Any) -> None:
        self._set_moment("arrival", value)

    def _set_moment(self, kind: str, value: Any) -> None:
        if value is None:
            if self.moment == kind:
                self.moment = "any"
            return
        moment = resolve_moment(value, self._of_network("moments").timezone, name=f"{kind}_time")
        # Observers are notified once, so that one search runs instead of three.
        with self.hold_trait_notifications():
            self.moment = kind
            self.day = moment.date() if isinstance(moment, dt.datetime) else None
            if isinstance(moment, dt.datetime):
                self.second = moment.hour * 3600 + moment.minute * 60 + moment.second

    @property
    def depends_on_hour(self) -> bool:
        """Whether the result depends on the time of day; walking and cycling times do not."""
        return self.measure == "travel_time" and MODES[self.transportation].depends_on_hour

    @property
    def uses_timetable(self) -> bool:
        """Whether a timetable is used."""
        return MODES[self.transportation].uses_timetable

    def limits(self) -> tuple[int, ...]:
        """
        Return the seconds or metres of the rings in increasing order.

        If the limit is in whole minutes, so are all rings, unless there are more rings than minutes. The last ring is
        the limit itself.

        Raises
        ------
        LimitError
            If the number of rings or the limit is out of range.
        """
        n = self.rings
        if not 1 <= n <= MOST_RINGS:
            msg = f"rings must be from 1 to {MOST_RINGS}; got {n}"
            raise LimitError(msg)
        if self.measure == "distance":
            most = whole(self.distance, "distance", MIN_DISTANCE_M, MAX_DISTANCE_M, "metres")
            least = round(most / n)
            if least < MIN_DISTANCE_M:
                msg = (
                    f"with {n} rings, the smallest ring of a distance of {most} m is {least} m, which is below the "
                    f"minimum of {MIN_DISTANCE_M} m; use fewer rings or a longer distance"
                )
                raise LimitError(msg)
        else:
            most = whole(self.travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
        minutes, rest = divmod(most, _MINUTE_S)
        if self.measure == "travel_time" and rest == 0 and minutes >= n:
            # Half minutes are rounded up: rounding to even minutes could make two rings equal.
            return tuple((2 * minutes * k + n) // (2 * n) * _MINUTE_S for k in range(1, n + 1))
        return tuple(sorted({max(round(most * k / n), 1) for k in range(1, n + 1)}))

    def means(self) -> Transportation:
        """Return the means of transportation, with the options that apply to its type."""
        return as_transportation({"type": self.transportation, **applicable(self.transportation, self.mode_options)})

    def moment_text(self) -> str:
        """Return the departure or arrival time as ISO 8601 in local time, or ``"weekday_morning"``."""
        if self.day is None:
            return str(WEEKDAY_MORNING.value)
        midnight = dt.datetime.combine(self.day, dt.time())
        return (midnight + dt.timedelta(seconds=self.second)).isoformat()

    def query(self) -> Query:
        """
        Return the parameters of the searches.

        Raises
        ------
        InputError, LimitError, ModeError
            If a value is invalid, with the message of the function that it would be passed to.
        """
        limits, has_window = self.limits(), self.uses_timetable and bool(self.window)
        question = Question.of(
            "UTC" if self._network is None else self._network.timezone, self.means(), self.departure_time,
            self.arrival_time, self.snapping, limit=limits[-1], window=self.window if has_window else None,
            percents=(self.percentile,) if has_window and self.percentile is not None else (),
        )  # fmt: skip
        shape = {name: getattr(self, name) for name, usual in _USUAL.items() if getattr(self, name) != usual}
        return Query(tuple(self.origins), self.measure, limits, self.combine, question, shape)


#: Shape options with the defaults of `time_map`; options at their default are omitted from calls.
_USUAL: Final[Mapping[str, Any]] = {
    "level_of_detail": DEFAULT_LEVEL,
    "no_holes": False,
    "polygons_filter": None,
    "render_mode": "approximate_time_filter",
    "buffer_distance": 1000,
    "remove_water_bodies": True,
}


def applicable(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that apply to a type of transportation; the state keeps the others for later."""
    return {name: value for name, value in options.items() if applies(name, kind)}


def _shortest(means: Transportation) -> str | dict[str, Any]:
    """Return the name of the type if all options have their defaults, else a mapping."""
    options = {name: value for name, value in changed(means).items() if name != "type"}
    return {"type": means.type, **options} if options else means.type


#: Keywords of `TravelTimeMap` that set the state.
OPTION_NAMES: Final = (
    "travel_time", "distance", "rings", "combine", "transportation", "departure_time", "arrival_time",
    "level_of_detail", "no_holes", "polygons_filter", "render_mode", "buffer_distance", "remove_water_bodies",
    "snapping", "window", "percentile",
)  # fmt: skip
#: Keywords of `TravelTimeMap` that set up the map.
MAP_NAMES: Final = ("origins", "base_map", "height", "folder")


def _trait_names() -> tuple[str, ...]:
    """Return the names of the traits in the order of the documentation."""
    return tuple(name for name, trait in vars(MapState).items() if isinstance(trait, Read))


def value_names() -> tuple[str, ...]:
    """Return the public names of a state that can be set."""
    return (*_trait_names(), "departure_time", "arrival_time")


def state_of(network: Network, origins: Any = None, **values: Any) -> MapState:
    """
    Return a state from keyword arguments named as in `time_map`.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), a list of these, optional
        See `read_origins`. By default the crossing nearest to the middle of the streets.
    **values
        ``travel_time`` or ``distance``, ``rings``, ``combine`` and any option of `time_map`.

    Returns
    -------
    MapState

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError, LimitError, MomentError
        If a value is invalid or a keyword is unknown.
    """
    refuse_unknown(list(values), (*OPTION_NAMES, *MAP_NAMES), "TravelTimeMap")
    state = MapState(network)
    state.origins = read_origins(network, origins)
    if "travel_time" in values and "distance" in values:
        raise InputError("Give travel_time or distance, not both.")
    if "distance" in values:
        state.measure = "distance"
    means = as_transportation(values.pop("transportation", state.transportation))
    state.transportation = means
    departure, arrival = values.pop("departure_time", None), values.pop("arrival_time", None)
    window, percentile = values.pop("window", None), values.pop("percentile", None)
    if window is None and percentile is not None:
        raise InputError("percentile requires a window of departures or arrivals; give one, such as window=3600.")
    parsed = Question.of(network.timezone, means, departure, arrival, None, limit=MAX_TRAVEL_TIME_S, window=window)
    state.window, state.percentile = parsed.window, percentile
    if parsed.is_arrival:
        state.arrival_time = arrival
    else:
        state.departure_time = departure
    for name, value in values.items():
        setattr(state, name, value)
    state.query()
    return state


def colour_of(position: int) -> str:
    """Return the colour of the origin at a position in the list."""
    return style.ORIGIN_COLOURS[position % len(style.ORIGIN_COLOURS)]
