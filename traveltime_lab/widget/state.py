"""
What the map shows, as plain values that can be observed, copied and written down as code.

Nothing is checked when a value is set: what cannot be answered is told in words where the answer would be, and the
state stays as it was set so that it can be put right.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

import shapely
import traitlets

from traveltime_lab import looks
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.modes import TIMETABLE_TYPES, Snapping, Transportation, applies, as_snapping, as_transportation
from traveltime_lab.moments import WEEKDAY_MORNING, resolve_moments
from traveltime_lab.points import plain, read_points
from traveltime_lab.questions import MAX_WINDOW_S, percent, whole

if TYPE_CHECKING:
    from traveltime_lab.network import Network

MEASURES: Final = ("travel_time", "distance")
MOMENTS: Final = ("any", "departure", "arrival")
COMBINATIONS: Final = ("each", "union", "intersection", "difference")
MOST_RINGS: Final = 8
#: While a marker is being dragged shapes are drawn no finer than this.
_DRAFT_LEVEL: Final = "low"
_COARSE_LEVELS: Final = ("lowest", "low")


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that areas are drawn around: its name and where it is in EPSG:4326."""

    name: Any
    lng: float
    lat: float


@dataclass(frozen=True)
class Question:
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

    def draft(self) -> Question:
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
        Where areas begin, or end if `moment` is ``"arrival"``. A difference is the first without the others.
    measure : {"travel_time", "distance"}
    travel_time : int
        Seconds of the outermost ring.
    distance : int
        Metres of the outermost ring.
    rings : int
        How many, in equal steps.
    combine : {"each", "union", "intersection", "difference"}
    transportation : str
        Type, such as ``"walking"``.
    mode_options : dict
        Further fields of `Transportation`; those that do not apply to the type are kept but not used.
    moment : {"any", "departure", "arrival"}
    day : date or None
        None is a typical weekday morning.
    second : int
        Seconds since midnight by the clock on the wall.
    window : int
        Timetable types: seconds after the departure, or before the arrival, in which one may leave or arrive as well;
        0 for the moment alone. Kept but not used for other types.
    percentile : float or None
        With a window: the share of its departures that must make it; None for the luckiest.
    level_of_detail, no_holes, polygons_filter, render_mode, buffer_distance, remove_water_bodies
        As in `time_map`.
    snapping : dict
        Fields of `Snapping`.
    """

    origins: Any = traitlets.List(traitlets.Instance(Origin))
    measure: Any = traitlets.Enum(MEASURES, "travel_time")
    travel_time: Any = traitlets.Int(900)
    distance: Any = traitlets.Int(2000)
    rings: Any = traitlets.Int(3)
    combine: Any = traitlets.Enum(COMBINATIONS, "each")
    transportation: Any = traitlets.Unicode("walking")
    mode_options: Any = traitlets.Dict()
    moment: Any = traitlets.Enum(MOMENTS, "any")
    day: Any = traitlets.Instance(dt.date, allow_none=True)
    second: Any = traitlets.Int(8 * 3600)
    window: Any = traitlets.Int(0)
    percentile: Any = traitlets.Any(None, allow_none=True)
    level_of_detail: Any = traitlets.Any("medium")
    no_holes: Any = traitlets.Any(False)
    polygons_filter: Any = traitlets.Any(None, allow_none=True)
    render_mode: Any = traitlets.Any("approximate_time_filter")
    buffer_distance: Any = traitlets.Any(1000)
    remove_water_bodies: Any = traitlets.Any(True)
    snapping: Any = traitlets.Dict()

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
        """Return the seconds or metres of the rings, small to large."""
        if not 1 <= self.rings <= MOST_RINGS:
            msg = f"rings must be from 1 to {MOST_RINGS}; got {self.rings}"
            raise LimitError(msg)
        most = self.travel_time if self.measure == "travel_time" else self.distance
        return tuple(sorted({round(most * k / self.rings) for k in range(1, self.rings + 1)}))

    def means(self) -> Transportation:
        """Return the transportation, with the options that apply to its type."""
        return as_transportation({"type": self.transportation, **applicable(self.transportation, self.mode_options)})

    def moment_text(self) -> str:
        """Return the moment as ISO 8601 by the clock on the wall, or ``"weekday_morning"``."""
        if self.day is None:
            return str(WEEKDAY_MORNING.value)
        midnight = dt.datetime.combine(self.day, dt.time())
        return (midnight + dt.timedelta(seconds=self.second)).isoformat()

    def question(self) -> Question:
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
            options["snapping"] = _changed(snapping)
        return Question(tuple(self.origins), self.measure, self.limits(), self.combine, options)


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


def _changed(value: Any) -> dict[str, Any]:
    """Return the fields of a frozen value that differ from their defaults."""
    usual = type(value)()
    return {f.name: getattr(value, f.name) for f in fields(value) if getattr(value, f.name) != getattr(usual, f.name)}


def _shortest(means: Transportation) -> str | dict[str, Any]:
    """Return the type's name where there are no options, else a mapping."""
    options = {name: value for name, value in _changed(means).items() if name != "type"}
    return {"type": means.type, **options} if options else means.type


_STATE_NAMES: Final = (
    "travel_time", "distance", "rings", "combine", "transportation", "departure_time", "arrival_time",
    "level_of_detail", "no_holes", "polygons_filter", "render_mode", "buffer_distance", "remove_water_bodies",
    "snapping", "window", "percentile",
)  # fmt: skip


#: What people who know other packages type, and what it is called here.
_SYNONYMS: Final = {
    "mode": "transportation",
    "modes": "transportation",
    "minutes": "travel_time, in seconds",
    "time": "travel_time, in seconds",
    "duration": "travel_time, in seconds",
    "metres": "distance",
    "departure": "departure_time",
    "arrival": "arrival_time",
    "buffer": "buffer_distance",
    "detail": "level_of_detail",
    "departure_time_window": "window, in seconds",
    "percentiles": "percentile, one number",
    "tiles": "base_map",
    "basemap": "base_map",
}


def refuse_unknown(given: Sequence[str], known: Sequence[str], where: str) -> None:
    """Raise InputError for a keyword that does not exist, with the nearest that does."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
            hint = f"Here it is {_SYNONYMS[name]}." if name in _SYNONYMS else hint
            raise InputError(f"{where} has no option {name!r}. {hint}")


def state_of(network: Network, origins: Any = None, **values: Any) -> MapState:
    """
    Return the state that keyword arguments named as in `time_map` describe.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, shapely Point or (lng, lat), optional
        Tables in any CRS; their labels become names. By default the middle of the network.
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
    refuse_unknown(list(values), _STATE_NAMES, "TravelTimeMap")
    state = MapState()
    state.origins = read_origins(network, origins)
    if "travel_time" in values and "distance" in values:
        raise InputError("Give travel_time or distance, not both.")
    if "distance" in values:
        state.measure = "distance"
    means = as_transportation(values.pop("transportation", state.transportation))
    state.transportation = means.type
    state.mode_options = {name: value for name, value in _changed(means).items() if name != "type"}
    departure, arrival = values.pop("departure_time", None), values.pop("arrival_time", None)
    moment, is_arrival = resolve_moments(departure, arrival, network.timezone)
    if moment is not None:
        state.moment = "arrival" if is_arrival else "departure"
        if isinstance(moment, dt.datetime):
            state.day = moment.date()
            state.second = moment.hour * 3600 + moment.minute * 60 + moment.second
    state.window, state.percentile = _window_of(means, values.pop("window", None), values.pop("percentile", None))
    snapping = values.pop("snapping", None)
    if snapping is not None:
        state.snapping = asdict(as_snapping(snapping))
    for name, value in values.items():
        try:
            setattr(state, name, value)
        except traitlets.TraitError as error:
            known = f"one of {', '.join(map(repr, COMBINATIONS))}" if name == "combine" else "a whole number"
            raise InputError(f"{name} must be {known}; got {value!r}") from error
    state.question()
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


def read_origins(network: Network, origins: Any) -> list[Origin]:
    """Return origins from a table of points, one point, or nothing: then the middle of the network."""
    if origins is None:
        return [Origin("Place 1", float(network.frame.lng0), float(network.frame.lat0))]
    if isinstance(origins, shapely.Point) and not origins.is_empty:
        origins = (origins.x, origins.y)
    if isinstance(origins, tuple) and len(origins) == 2:
        import geopandas as gpd  # noqa: PLC0415 - only for points without a table

        try:
            lng, lat = float(origins[0]), float(origins[1])
        except (TypeError, ValueError):
            raise InputError(f"A single origin is a pair (lng, lat); got {origins!r}") from None
        origins = gpd.GeoSeries.from_xy([lng], [lat], index=["Place 1"], crs="EPSG:4326")
    points = read_points(origins, "origins", network)
    return [
        Origin(plain(name), float(lng), float(lat))
        for name, lng, lat in zip(points.index, points.lng, points.lat, strict=True)
    ]


def new_name(origins: Sequence[Origin]) -> str:
    """Return a name that no origin has yet."""
    taken = {str(origin.name) for origin in origins}
    number = len(origins) + 1
    while f"Place {number}" in taken:
        number += 1
    return f"Place {number}"


def colour_of(position: int) -> str:
    """Return the colour of an origin by its position in the list."""
    return looks.ORIGIN_COLOURS[position % len(looks.ORIGIN_COLOURS)]
