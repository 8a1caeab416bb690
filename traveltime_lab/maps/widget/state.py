"""
What the map shows, as plain values that can be observed, copied and written down as code.

A value is read as the constructor of the map reads it, and what is no value at all is refused when it is set. Whether
it can be answered, such as a number out of range, is told in words where the answer would be, and the state stays as
it was set so that it can be put right.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import traitlets

from traveltime_lab._checks import percent, whole
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.limits import MAX_DISTANCE_M, MAX_TRAVEL_TIME_S, MAX_WINDOW_S, MIN_DISTANCE_M
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
from traveltime_lab.modes import TIMETABLE_TYPES, Snapping, Transportation, applies, as_snapping, as_transportation
from traveltime_lab.moments import WEEKDAY_MORNING, resolve_moment, resolve_moments

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

MEASURES: Final = ("travel_time", "distance")
MOMENTS: Final = ("any", "departure", "arrival")
COMBINATIONS: Final = ("each", "union", "intersection", "difference")
RENDER_MODES: Final = ("approximate_time_filter", "road_buffering")
MOST_RINGS: Final = 8
#: While a marker is being dragged shapes are drawn no finer than this.
_DRAFT_LEVEL: Final = "low"
_COARSE_LEVELS: Final = ("lowest", "low")
_MINUTE_S: Final = 60
_DAY_S: Final = 86_400


@dataclass(frozen=True)
class Query:
    """
    One thing to draw: a copy of the state that no longer changes.

    Attributes
    ----------
    origins : tuple of Origin
    measure : {"travel_time", "distance"}
    limits : tuple of int
        Seconds or metres of the rings, from small to large.
    combine : {"each", "union", "intersection", "difference"}
    options : dict
        Keyword arguments of `time_map` or `distance_map` besides the limit.
    """

    origins: tuple[Origin, ...]
    measure: str
    limits: tuple[int, ...]
    combine: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def uses_timetable(self) -> bool:
        """Whether vehicles with a timetable may be taken."""
        means = self.options["transportation"]
        return (means["type"] if isinstance(means, dict) else means) in TIMETABLE_TYPES

    def draft(self) -> Query:
        """Return the question at a low level of detail, for answers that are replaced in an instant."""
        if self.options.get("level_of_detail") in (None, *_COARSE_LEVELS):
            return self
        return replace(self, options={**self.options, "level_of_detail": _DRAFT_LEVEL})


class MapState(traitlets.HasTraits):
    """
    Everything that decides what a `TravelTimeMap` draws.

    Attributes
    ----------
    origins : list of Origin
        Where areas begin, or end if `moment` is ``"arrival"``. A difference is the first without the others. Set to
        whatever the map takes, such as a table of points.
    measure : {"travel_time", "distance"}
    travel_time : int
        Seconds of the outermost ring.
    distance : int
        Metres of the outermost ring.
    rings : int
        How many, in equal steps; of a travel time in whole minutes the rings lie on whole minutes, if there is room.
    combine : {"each", "union", "intersection", "difference"}
    transportation : str
        Type, such as ``"walking"``. Set to a `Transportation` or a mapping it fills `mode_options` too.
    mode_options : dict
        Further fields of `Transportation`; those that do not apply to the type are kept but not used.
    moment : {"any", "departure", "arrival"}
    day : date or None
        None is a typical weekday morning. Text such as ``"2026-03-02"`` is read.
    second : int
        Seconds since midnight by the clock on the wall, 0 to 86399.
    departure_time, arrival_time : str or None
        `moment`, `day` and `second` as one; set as in `time_map`.
    window : int
        Timetable types: seconds after the departure, or before the arrival, in which one may leave or arrive as well;
        0 for the moment alone. Kept but not used for other types.
    percentile : float or None
        With a window: the share of its departures that must make it; None for the luckiest.
    level_of_detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies
        As in `time_map`.
    snapping : dict
        Fields of `Snapping` that differ from its defaults. None stands for none.

    Raises
    ------
    InputError, LimitError, ModeError, MomentError, CrsError, CoordinateError
        When a name is set that does not exist, or to what is no value of it.
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
    level_of_detail: Any = Read(lambda _, value: read_level(value), "medium")
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
        """Set a value; a name that does not exist is refused, not kept where nobody looks."""
        # traitlets replaces a method of its own for a while.
        if not name.startswith("_") and not hasattr(traitlets.HasTraits, name):
            refuse_unknown([name], value_names(), "The state of a map")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Return the origins, the limit, how to travel, and what differs from the defaults."""
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
        """Return the network of the state; values such as `what` can only be read with one."""
        if self._network is None:
            raise InputError(f"This state belongs to no network, so it cannot read {what}; use MapState(network).")
        return self._network

    @property
    def departure_time(self) -> str | None:
        """The moment of departure as in `time_map`, None if there is none; it replaces one of arrival."""
        return self.moment_text() if self.moment == "departure" else None

    @departure_time.setter
    def departure_time(self, value: Any) -> None:
        self._set_moment("departure", value)

    @property
    def arrival_time(self) -> str | None:
        """The moment of arrival as in `time_map`, None if there is none; it replaces one of departure."""
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
        # Observers see the three at once, so one question is asked and not three.
        with self.hold_trait_notifications():
            self.moment = kind
            self.day = moment.date() if isinstance(moment, dt.datetime) else None
            if isinstance(moment, dt.datetime):
                self.second = moment.hour * 3600 + moment.minute * 60 + moment.second

    @property
    def depends_on_hour(self) -> bool:
        """Whether the answer can change with the hour: on foot and by bicycle streets are the same all day."""
        same_all_day = ("walking", "cycling", "walking+ferry", "cycling+ferry")
        return self.measure == "travel_time" and self.transportation not in same_all_day

    @property
    def uses_timetable(self) -> bool:
        """Whether vehicles with a timetable may be taken."""
        return self.transportation in TIMETABLE_TYPES

    def limits(self) -> tuple[int, ...]:
        """
        Return the seconds or metres of the rings, small to large.

        Rings of whole minutes lie on whole minutes where there is one for each; the last is the limit itself.

        Raises
        ------
        LimitError
            If there are too many or no rings, or the limit is out of range.
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
                    f"{n} rings of a distance of {most} m begin at {least} m, and {MIN_DISTANCE_M} m is the least; "
                    "take fewer rings or a longer distance"
                )
                raise LimitError(msg)
        else:
            most = whole(self.travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
        minutes, rest = divmod(most, _MINUTE_S)
        if self.measure == "travel_time" and rest == 0 and minutes >= n:
            # Halves go up, not to the even minute: so no two rings meet where a minute or more lies between them.
            return tuple((2 * minutes * k + n) // (2 * n) * _MINUTE_S for k in range(1, n + 1))
        return tuple(sorted({max(round(most * k / n), 1) for k in range(1, n + 1)}))

    def means(self) -> Transportation:
        """Return the transportation, with the options that apply to its type."""
        return as_transportation({"type": self.transportation, **applicable(self.transportation, self.mode_options)})

    def moment_text(self) -> str:
        """Return the moment as ISO 8601 by the clock on the wall, or ``"weekday_morning"``."""
        if self.day is None:
            return str(WEEKDAY_MORNING.value)
        midnight = dt.datetime.combine(self.day, dt.time())
        return (midnight + dt.timedelta(seconds=self.second)).isoformat()

    def query(self) -> Query:
        """
        Return what to ask the library.

        Raises
        ------
        InputError, LimitError, ModeError
            If a value cannot be used, with the words of the function that would refuse it.
        """
        options: dict[str, Any] = {"transportation": _shortest(self.means())}
        if self.moment != "any":
            options[f"{self.moment}_time"] = self.moment_text()
        if self.uses_timetable and self.window:
            options["window"] = self.window
            if self.percentile is not None:
                options["percentile"] = self.percentile
        for name, usual in _USUAL.items():
            if getattr(self, name) != usual:
                options[name] = getattr(self, name)
        snapping = as_snapping(self.snapping)
        if snapping != Snapping():
            options["snapping"] = changed(snapping)
        return Query(tuple(self.origins), self.measure, self.limits(), self.combine, options)


#: Options of shapes that are left out of calls where they have the default of `time_map`.
_USUAL: Final[Mapping[str, Any]] = {
    "level_of_detail": None,
    "no_holes": False,
    "polygons_filter": None,
    "render_mode": "approximate_time_filter",
    "buffer_distance": 1000,
    "remove_water_bodies": True,
}


def applicable(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that apply to a type of transportation; the widget keeps them all while one tries types."""
    return {name: value for name, value in options.items() if applies(name, kind)}


def _shortest(means: Transportation) -> str | dict[str, Any]:
    """Return the type's name where there are no options, else a mapping."""
    options = {name: value for name, value in changed(means).items() if name != "type"}
    return {"type": means.type, **options} if options else means.type


#: Keywords of `TravelTimeMap` besides those of the map itself.
OPTION_NAMES: Final = (
    "travel_time", "distance", "rings", "combine", "transportation", "departure_time", "arrival_time",
    "level_of_detail", "no_holes", "polygons_filter", "render_mode", "buffer_distance", "remove_water_bodies",
    "snapping", "window", "percentile",
)  # fmt: skip
#: Keywords of the map itself.
MAP_NAMES: Final = ("origins", "base_map", "height", "folder")


def _trait_names() -> tuple[str, ...]:
    """Return the values of a state in the order of its documentation."""
    return tuple(name for name, trait in vars(MapState).items() if isinstance(trait, Read))


def value_names() -> tuple[str, ...]:
    """Return every public name of a state that can be set."""
    return (*_trait_names(), "departure_time", "arrival_time")


def state_of(network: Network, origins: Any = None, **values: Any) -> MapState:
    """
    Return the state that keyword arguments named as in `time_map` describe.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), a list of these, optional
        See `read_origins`. By default the middle of the network.
    **values
        ``travel_time`` or ``distance``, ``rings``, ``combine`` and every option of `time_map`.

    Returns
    -------
    MapState

    Raises
    ------
    InputError, CrsError, CoordinateError, ModeError, LimitError, MomentError
        If a value cannot be used, or a keyword does not exist.
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
    _, is_arrival = resolve_moments(departure, arrival, network.timezone)
    if is_arrival:
        state.arrival_time = arrival
    else:
        state.departure_time = departure
    state.window, state.percentile = _window_of(means, values.pop("window", None), values.pop("percentile", None))
    for name, value in values.items():
        setattr(state, name, value)
    state.query()
    return state


def _window_of(means: Transportation, window: Any, percentile: Any) -> tuple[int, Any]:
    """Return a checked window in seconds, 0 for none, and a percentile or None."""
    if window is None:
        if percentile is not None:
            raise InputError(
                "A percentile is over a window of departures or arrivals; give window, such as window=3600."
            )
        return 0, None
    if not means.uses_timetable:
        raise InputError(f"window needs a timetable; transportation {means.type!r} is as quick at any time")
    seconds = whole(window, "window", 1, MAX_WINDOW_S, "seconds")
    return seconds, None if percentile is None else percent(percentile, "percentile")


def colour_of(position: int) -> str:
    """Return the colour of an origin by its position in the list."""
    return style.ORIGIN_COLOURS[position % len(style.ORIGIN_COLOURS)]
