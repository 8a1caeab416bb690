"""
Means of transportation: a type of the table of modes with its options.

Names, defaults and units are those of docs/contract.md, 5. An option that does not apply to the type of transportation
raises an error; it is never silently ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import LimitError, ModeError, UnsupportedError
from traveltime_lab.limits import (
    CYCLING_SPEEDS_KPH,
    INCLINES,
    MAX_DRAWS,
    MAX_OPTION_S,
    MAX_SEED,
    MAX_STRESS,
    WALKING_SPEEDS_KPH,
    WIDTHS_M,
)
from traveltime_lab.modes.options import changes, flag, guess, listed, number, one_of, speed, subset, whole
from traveltime_lab.modes.table import (
    ALIASES,
    APPLIES_TO,
    MODES,
    STREET_TYPES,
    TIMETABLE_TYPES,
    WALKING,
    BaseMode,
    Mode,
    StreetMode,
    applies,
    meant_type,
    street_type,
)

#: Modes of routes of a timetable, in the order of their basic route types in GTFS; those without one come last.
ROUTE_MODES: Final = (
    "tram",
    "subway",
    "rail",
    "bus",
    "ferry",
    "cable_tram",
    "aerial_lift",
    "funicular",
    "trolleybus",
    "monorail",
    "coach",
    "air",
    "taxi",
    "other",
)
TRAFFIC_MODELS: Final = ("optimistic", "balanced", "pessimistic", "peak", "off_peak")
#: Those of which the speeds do not depend on the hour.
WITHOUT_HOURS: Final = ("peak", "off_peak")
INCLUDABLE_ROADS: Final = ("track", "restricted")
EXCLUDABLE_ROADS: Final = ("toll",)
#: Whether step-free walks pass what is not known to be passable.
STEP_FREE: Final = ("lenient", "strict")
#: Caps of step-free walks: slope in per cent and width in metres. Source: DIN 18040-1, ramps and passages. The slope is
#: that of GraphHopper's WheelchairAccessParser and of openrouteservice, too.
USUAL_INCLINE, USUAL_WIDTH_M = 6.0, 0.9
#: Ways that walks may avoid, and what they are not: the column of `Network.edges_frame` that says so.
AVOIDABLE: Final[Mapping[str, str]] = MappingProxyType({"unlit": "lit", "unpaved": "paved"})
#: How services by headway are read; see `Transportation`.
HEADWAYS: Final = ("exact", "average", "random")
_SECONDS: Final = (
    "boarding_time",
    "pt_change_delay",
    "walking_time",
    "transfer_walking_time",
    "driving_time_to_station",
    "cycling_time_to_station",
    "parking_time",
)


@explained_keywords
@dataclass(frozen=True, slots=True)
class Transportation:
    """
    Means of transportation and its options, named as in docs/contract.md, 5.

    Parameters
    ----------
    type : str, default "driving"
        ``"walking"``, ``"cycling"`` or ``"driving"``, each also with ``"+ferry"``; ``"public_transport"``, ``"bus"``,
        ``"coach"``, ``"train"``, ``"driving+train"``, ``"driving+public_transport"`` and
        ``"cycling+public_transport"`` on networks with a timetable. ``"ferry"`` means ``"walking+ferry"`` and is
        stored as that.
    traffic_model : str, optional
        Types with a car: ``"optimistic"``, ``"balanced"``, ``"pessimistic"``, ``"peak"`` or ``"off_peak"``. By default
        the departure or arrival time of the search selects the congestion.
    boarding_time : int, default 0
        Ferry types and ``"cycling+public_transport"``: seconds to board a ferry.
    include_roads : tuple of str, default ()
        Driving only: ``"track"`` (very slow unpaved tracks), ``"restricted"`` (roads closed to the public).
    exclude_roads : tuple of str, default ()
        Driving only: ``"toll"``.
    disable_border_crossing : bool, default False
        Must be False: networks hold no borders.
    pt_change_delay : int, default 0
        Timetable types: additional seconds needed before each boarding.
    walking_time : int, default 900
        Timetable types: maximum walking time in seconds to the first stop, and from the last stop.
    driving_time_to_station : int, default 1800
        Maximum driving time in seconds to the first stop, without parking.
    cycling_time_to_station : int, default 900
        Maximum cycling time in seconds to the first stop, without parking.
    parking_time : int, default 300
        Seconds to park the car or bicycle at the first stop.
    max_changes : int or mapping, optional
        Timetable types: maximum number of transfers; None for any number. The contract's
        ``{"enabled": ..., "limit": ...}`` is accepted too.
    walking_speed : float, optional
        Walking and timetable types: walking speed in km/h from 0.5 to 20, instead of 5. Stairs and rough paths are
        slower in proportion; elevators and ferries keep their speeds.
    cycling_speed : float, optional
        Cycling types: cycling speed in km/h from 4 to 60, instead of 15. Slower surfaces are slower in proportion, down
        to 4 km/h, at which bicycles are pushed; where they are pushed, and ferries, speeds are kept.
    modes : tuple of str, default ()
        Timetable types: modes of the routes that may be used, of those that the type uses; by default all. ``"tram"``,
        ``"subway"``, ``"rail"``, ``"bus"``, ``"ferry"``, ``"cable_tram"``, ``"aerial_lift"``, ``"funicular"``,
        ``"trolleybus"`` and ``"monorail"`` are those of ``route_type`` in GTFS; ``"coach"``, ``"air"`` and ``"taxi"``
        have extended route types, and ``"other"`` is the rest.
    transfer_walking_time : int, default 600
        Timetable types: maximum walking time in seconds between two vehicles. Transfers that a feed lists are always
        possible.
    direct_walking_time : int, optional
        Timetable types: maximum time in seconds of walking all the way, without a vehicle; 0 for trips with vehicles
        only. By default the limit of the search.
    headways : {"exact", "average", "random"}, default "exact"
        Timetable types: how trips of ``frequencies.txt`` with ``exact_times=0`` are read. ``"exact"``: they depart at
        ``start_time`` and then every ``headway_secs``. ``"average"``: each boarding waits half a headway.
        ``"random"``: the first departure is random within the headway, and the results of a `window` are over draws
        and departures. Other trips are the same in each case.
    headway_draws : int, default 20
        ``headways="random"`` only: number of draws, from 1 to 1,000.
    headway_seed : int, default 0
        ``headways="random"`` only: the draws are functions of this number, from 0 to 4,294,967,295.
    max_stress : {1, 2, 3, 4}, optional
        Cycling types: the highest level of traffic stress that is accepted; see `Network.edges_frame`. Streets above it
        are closed, and so are crossings above it without signals: one gets as far as the crossing, and may turn there.
        By default, and with 4, all streets are open. Streets whose level is not known count as 4.
    push_above_stress : bool, default False
        `max_stress` only: whether bicycles are pushed along streets and across crossings above it, at 4 km/h where
        walking is possible (assumed).
    step_free : {"lenient", "strict"} or bool, optional
        Walking and timetable types: whether walks are without steps, stiles, raised kerbs and rough surfaces, for
        wheelchairs and prams; the guide "How far do people get without steps?" has the rules. ``"lenient"``, or True:
        what is not known is passable. ``"strict"``: it is not. By default, and with False, all walks are possible.
    max_incline : float, optional
        `step_free` only: the steepest slope in per cent, from 1 to 100, instead of 6, up and down. It is compared with
        the slopes of tags and of `add_elevation`. 6 % is the maximum of ramps in DIN 18040, and the default of
        openrouteservice; ADA 405.2 has 8.33 %.
    min_width : float, optional
        `step_free` only: the smallest width in metres, from 0.3 to 5, instead of 0.9, of streets and of barriers. 0.9 m
        is the width of DIN 18040 for passages, and about that of ADA 403.5.1, 36 inches.
    avoid : tuple of str, default ()
        Walking and timetable types: ways that walks do not use at all, at any time of the day. ``"unlit"``: those
        tagged as without working lights; ``"unpaved"``: those tagged with an unsealed surface. Ways without a tag are
        used. The guide "How far do people get on lit and paved ways?" has the rules.
    time_dependent : bool, default False
        Driving without a timetable: whether each street is driven at the speeds of the hour in which it is driven. By
        default, the speeds of the departure (or arrival) hold for the whole trip. The search needs a departure or
        arrival time, and a `traffic_model` other than ``"peak"`` and ``"off_peak"``, which are the same at all hours.
        The guide "How fast do people travel?" has the rules.

    Raises
    ------
    ModeError
        If the type or a value is unknown, or an option does not apply to the type.
    LimitError
        If a number is negative, a time above 86,400 seconds, `max_changes` above 1,000, or a speed, number of draws or
        level of stress out of range.
    UnsupportedError
        If `disable_border_crossing` is True.

    Examples
    --------
    >>> tl.Transportation("ferry", boarding_time=300).type
    'walking+ferry'
    >>> tl.Transportation("train").walking_time
    900

    Pass it to any search, or pass the type's name if the defaults will do:

    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> one_bus = tl.Transportation("bus", walking_time=600, max_changes=0)
    >>> times = tl.time_filter(
    ...     network,
    ...     places.loc[["PUCRS"]],
    ...     places.loc[["Mercado Público"]],
    ...     travel_time=7200,
    ...     transportation=one_bus,
    ...     departure_time="2019-05-13T08:00:00",
    ... )
    >>> bool(times["travel_time"].notna().iloc[0])
    True
    """

    type: str = "driving"
    traffic_model: str | None = None
    boarding_time: int = 0
    include_roads: tuple[str, ...] = ()
    exclude_roads: tuple[str, ...] = ()
    disable_border_crossing: bool = False
    # Defaults: docs/contract.md, 5.4.
    pt_change_delay: int = 0
    walking_time: int = 900
    driving_time_to_station: int = 1800
    cycling_time_to_station: int = 900
    parking_time: int = 300
    max_changes: int | None = None
    # Not in the contract.
    walking_speed: float | None = None
    cycling_speed: float | None = None
    modes: tuple[str, ...] = ()
    transfer_walking_time: int = 600  # docs/contract.md, 5.4, where it is fixed
    direct_walking_time: int | None = None
    headways: str = "exact"
    headway_draws: int = 20  # assumed
    headway_seed: int = 0
    max_stress: int | None = None
    push_above_stress: bool = False
    step_free: str | bool | None = None
    max_incline: float | None = None
    min_width: float | None = None
    avoid: tuple[str, ...] = ()
    time_dependent: bool = False

    def __post_init__(self) -> None:
        """Check and normalise every field."""
        kind = _known_type(self.type)
        values: dict[str, object] = {
            "type": kind,
            "traffic_model": (
                None if self.traffic_model is None else one_of(self.traffic_model, TRAFFIC_MODELS, "traffic_model")
            ),
            "include_roads": subset(self.include_roads, INCLUDABLE_ROADS, "include_roads"),
            "exclude_roads": subset(self.exclude_roads, EXCLUDABLE_ROADS, "exclude_roads"),
            "disable_border_crossing": flag(self.disable_border_crossing, "disable_border_crossing"),
            "max_changes": changes(self.max_changes),
            "walking_speed": speed(self.walking_speed, "walking_speed", WALKING_SPEEDS_KPH),
            "cycling_speed": speed(self.cycling_speed, "cycling_speed", CYCLING_SPEEDS_KPH),
            "modes": subset(self.modes, ROUTE_MODES, "modes"),
            "direct_walking_time": None,
            "headways": one_of(self.headways, HEADWAYS, "headways"),
            "headway_draws": whole(self.headway_draws, "headway_draws", "draws", MAX_DRAWS),
            "headway_seed": whole(self.headway_seed, "headway_seed", "", MAX_SEED),
            "max_stress": None if self.max_stress is None else whole(self.max_stress, "max_stress", "", MAX_STRESS),
            "push_above_stress": flag(self.push_above_stress, "push_above_stress"),
            "step_free": _step_free(self.step_free),
            "max_incline": None
            if self.max_incline is None
            else number(self.max_incline, "max_incline", "%", *INCLINES),
            "min_width": None if self.min_width is None else number(self.min_width, "min_width", "metres", *WIDTHS_M),
            "avoid": subset(self.avoid, tuple(AVOIDABLE), "avoid"),
            "time_dependent": flag(self.time_dependent, "time_dependent"),
        }
        values |= {option: whole(getattr(self, option), option, "seconds", MAX_OPTION_S) for option in _SECONDS}
        if self.direct_walking_time is not None:
            values["direct_walking_time"] = whole(
                self.direct_walking_time, "direct_walking_time", "seconds", MAX_OPTION_S
            )
        for option, types in APPLIES_TO.items():
            if values[option] != _DEFAULTS[option] and kind not in types:
                raise _misplaced(option, kind, values[option])
        _check_draws(values)
        if values["max_stress"] == 0:
            raise LimitError("max_stress must be 1 or more; got 0.")
        if values["push_above_stress"] and values["max_stress"] is None:
            raise ModeError("push_above_stress=True needs max_stress, the level above which bicycles are pushed.")
        if values["time_dependent"] and values["traffic_model"] in WITHOUT_HOURS:
            raise ModeError(
                f"time_dependent=True needs speeds by hour; traffic_model={values['traffic_model']!r} is the same at "
                "all hours. Leave one of them out."
            )
        for option in ("max_incline", "min_width"):
            if values[option] is not None and values["step_free"] is None:
                raise ModeError(f"{option} needs step_free='lenient' or 'strict'; got {option}={values[option]!r}.")
        if values["disable_border_crossing"]:
            raise UnsupportedError("disable_border_crossing=True: networks carry no country borders in this version.")
        for option, value in values.items():
            object.__setattr__(self, option, value)

    @property
    def mode(self) -> Mode:
        """The row of the type in the table of modes."""
        return MODES[self.type]

    @property
    def street(self) -> StreetMode:
        """The mode on streets; with a timetable, the mode of access."""
        return MODES[self.type].street

    @property
    def base(self) -> BaseMode:
        """The name of the mode on streets: walking, cycling or driving; with a timetable, the mode of access."""
        return MODES[self.type].street.name

    @property
    def uses_ferry(self) -> bool:
        """Whether ferries of the street network may be used."""
        row = MODES[self.type]
        return row.has_ferry and not row.uses_timetable

    @property
    def uses_timetable(self) -> bool:
        """Whether a timetable is used."""
        return MODES[self.type].uses_timetable

    @property
    def vehicles(self) -> str:
        """The vehicles that may be used: ``"public_transport"`` for all, a type of vehicle, or ``""``."""
        return MODES[self.type].vehicles

    @property
    def speed(self) -> float | None:
        """The speed on streets in km/h that replaces the usual one of the network, None for the usual one."""
        row = MODES[self.type]
        if row.street.speed_option is None:
            return None
        own: float | None = getattr(self, row.street.speed_option)
        kph = row.kph if own is None else own
        return None if kph == row.street.usual_kph else kph

    @property
    def stress_limit(self) -> int | None:
        """The highest level of traffic stress that is accepted, None if all are."""
        return None if self.max_stress == MAX_STRESS else self.max_stress

    @property
    def incline_cap(self) -> float:
        """The steepest slope of step-free walks, in per cent."""
        return USUAL_INCLINE if self.max_incline is None else self.max_incline

    @property
    def width_cap(self) -> float:
        """The smallest width of step-free walks, in metres."""
        return USUAL_WIDTH_M if self.min_width is None else self.min_width

    @property
    def access(self) -> Transportation:
        """The means of transportation of access, from the origin to the first stop."""
        return _access(self)

    @property
    def egress(self) -> Transportation:
        """The means of transportation of egress, of changes and of trips without a vehicle: walking."""
        row = MODES[self.type]
        is_own = self.walking_speed is None and row.street.is_on_foot
        kph = row.kph if is_own else self.walking_speed
        return _egress(kph, self.step_free, self.max_incline, self.min_width, self.avoid)

    @property
    def access_time(self) -> int:
        """Maximum access time in seconds, without parking."""
        row = MODES[self.type]
        return int(getattr(self, row.street.access_option)) if row.is_parked else self.walking_time

    @property
    def access_penalty(self) -> int:
        """Seconds to park at the first stop."""
        return self.parking_time if MODES[self.type].is_parked else 0


@functools.lru_cache(maxsize=256)
def _access(transportation: Transportation) -> Transportation:
    """Return the means of transportation of access; cached, as every step of a search needs it."""
    row = transportation.mode
    if not row.is_parked:
        return transportation.egress
    kind = street_type(row).name
    both = (option for option in APPLIES_TO if applies(option, kind) and applies(option, row.name))
    options = {option: getattr(transportation, option) for option in both}
    if row.kph is not None and row.street.speed_option is not None and options[row.street.speed_option] is None:
        options[row.street.speed_option] = row.kph
    return Transportation(kind, **options)


@functools.lru_cache(maxsize=256)
def _egress(
    walking_speed: float | None,
    step_free: str | bool | None,
    max_incline: float | None,
    min_width: float | None,
    avoid: tuple[str, ...],
) -> Transportation:
    """Return the means of transportation of egress; cached, as every step of a search needs it."""
    return Transportation(
        WALKING.name, walking_speed=walking_speed, step_free=step_free, max_incline=max_incline, min_width=min_width,
        avoid=avoid,
    )  # fmt: skip


_DEFAULTS: Final[Mapping[str, object]] = {field.name: field.default for field in fields(Transportation)}


def _check_draws(values: Mapping[str, object]) -> None:
    """Raise an error for options of random headways that have no effect, and for no draws."""
    if not values["headway_draws"]:
        raise LimitError("headway_draws must be 1 or more; got 0.")
    for option in ("headway_draws", "headway_seed"):
        if values["headways"] != "random" and values[option] != _DEFAULTS[option]:
            raise ModeError(
                f"{option} is for headways='random' only; got {option}={values[option]!r} with "
                f"headways={values['headways']!r}. Leave it out."
            )


def _step_free(value: object) -> str | None:
    """Return how step-free walks are, None if they need not be."""
    if value is None or type(value).__name__ in ("bool", "bool_"):
        return STEP_FREE[0] if value else None
    return one_of(value, STEP_FREE, "step_free")


def _known_type(value: object) -> str:
    if not isinstance(value, str):
        raise ModeError(f"The transportation type must be a string such as 'driving'; got {value!r}.")
    kind = ALIASES.get(value, value)
    if kind in STREET_TYPES or kind in TIMETABLE_TYPES:
        return kind
    known = (*STREET_TYPES, *ALIASES, *TIMETABLE_TYPES)
    meant = meant_type(value)
    if meant is not None:
        raise ModeError(f"Unknown transportation type {value!r}. Use {meant!r}.")
    hint = guess(value, known)
    types = "" if hint.startswith("Known") else f" Known: {listed((*STREET_TYPES, *TIMETABLE_TYPES))}."
    raise ModeError(f"Unknown transportation type {value!r}. {hint}{types}")


def as_transportation(value: str | Transportation | Mapping[str, Any]) -> Transportation:
    """
    Return a `Transportation` from the name of a type, a mapping of its fields, or a `Transportation`.

    Parameters
    ----------
    value : str, Transportation or mapping
        A mapping must have the key ``type``; fields that are None are ignored.

    Raises
    ------
    ModeError
        If the type, a field or a value is unknown, or a field does not apply to the type.
    LimitError
        If a number is out of range.
    UnsupportedError
        If `disable_border_crossing` is True.
    """
    if isinstance(value, Transportation):
        return value
    if isinstance(value, str):
        return Transportation(value)
    if not isinstance(value, Mapping):
        raise ModeError(
            "transportation must be a type's name such as 'walking', a Transportation, or a mapping with 'type'; "
            f"got {type(value).__name__}.{_one_of_several(value)}"
        )
    given = {key: item for key, item in value.items() if item is not None}
    if "type" not in given:
        raise ModeError(f"transportation has no 'type'; got {dict(value)!r}.")
    kind = _known_type(given["type"])
    known = tuple(field.name for field in fields(Transportation))
    for key in given:
        if not applies(key, kind):
            raise _misplaced(key, kind, given[key])
        if key not in known:
            raise ModeError(f"Unknown transportation option {key!r}. {guess(key, known)}")
    return Transportation(**given)


def _one_of_several(value: object) -> str:
    """Return the type that a list of modes stands for in other packages, as the end of an error."""
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(each, str) for each in value):
        return ""
    # Walks are part of every type with a timetable.
    kinds = {ALIASES.get(each, each) if each in ALIASES else meant_type(each) or each for each in value}
    others = sorted(kinds - {"walking"}, key=lambda kind: kind == "public_transport") or sorted(kinds)
    requested = "+".join(others)
    return f" Use {requested!r}." if requested in (*STREET_TYPES, *TIMETABLE_TYPES) else ""


def _misplaced(option: str, kind: str, value: object) -> ModeError:
    """Return the error for an option that does not apply to the type."""
    return ModeError(
        f"{option} does not apply to transportation type {kind!r}; it applies to {listed(APPLIES_TO[option])}. "
        f"Leave it out; got {value!r}."
    )
