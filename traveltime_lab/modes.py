"""
Means of transportation and snapping options, as frozen dataclasses.

Names, defaults and units are those of docs/contract.md, 5. An option that does not apply to the type of transportation
raises an error; it is never silently ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, cast

from traveltime_lab._keywords import explained_keywords
from traveltime_lab._options import flag, guess, listed, number, one_of, subset, whole
from traveltime_lab.errors import ModeError, UnsupportedError
from traveltime_lab.limits import CYCLING_SPEEDS_KPH, MAX_CHANGES, MAX_OPTION_S, MAX_THRESHOLD_M, WALKING_SPEEDS_KPH

BaseMode = Literal["walking", "cycling", "driving"]
Penalty = Literal["enabled", "disabled"]
AcceptRoads = Literal["both_drivable_and_walkable", "any_drivable"]

#: Types that need streets and ferries only. The contract also calls ``"walking+ferry"`` ``"ferry"``.
STREET_TYPES: Final = (
    "walking",
    "cycling",
    "driving",
    "walking+ferry",
    "cycling+ferry",
    "driving+ferry",
)
ALIASES: Final[Mapping[str, str]] = {"ferry": "walking+ferry"}
#: Types that need a timetable. Source: docs/contract.md, 5.1.
TIMETABLE_TYPES: Final = (
    "public_transport",
    "bus",
    "coach",
    "train",
    "driving+train",
    "driving+public_transport",
    "cycling+public_transport",
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
INCLUDABLE_ROADS: Final = ("track", "restricted")
EXCLUDABLE_ROADS: Final = ("toll",)
PENALTIES: Final = ("enabled", "disabled")
ACCEPTABLE_ROADS: Final = ("both_drivable_and_walkable", "any_drivable")

_WITH_CAR_ACCESS: Final = ("driving+train", "driving+public_transport")
_WITH_BICYCLE_ACCESS: Final = ("cycling+public_transport",)
_CAR: Final = ("driving", "driving+ferry", *_WITH_CAR_ACCESS)
_FERRY: Final = ("walking+ferry", "cycling+ferry", "driving+ferry", *_WITH_BICYCLE_ACCESS)
_APPLIES_TO: Final[Mapping[str, tuple[str, ...]]] = {
    "traffic_model": _CAR,
    "boarding_time": _FERRY,
    "include_roads": ("driving", "driving+ferry"),
    "exclude_roads": ("driving", "driving+ferry"),
    "disable_border_crossing": ("driving",),
    "pt_change_delay": TIMETABLE_TYPES,
    "walking_time": TIMETABLE_TYPES,
    "driving_time_to_station": _WITH_CAR_ACCESS,
    "cycling_time_to_station": _WITH_BICYCLE_ACCESS,
    "parking_time": (*_WITH_CAR_ACCESS, *_WITH_BICYCLE_ACCESS),
    "max_changes": TIMETABLE_TYPES,
    "walking_speed": ("walking", "walking+ferry", *TIMETABLE_TYPES),
    "modes": TIMETABLE_TYPES,
    "transfer_walking_time": TIMETABLE_TYPES,
    "direct_walking_time": TIMETABLE_TYPES,
    "cycling_speed": ("cycling", "cycling+ferry", *_WITH_BICYCLE_ACCESS),
}
_SECONDS: Final = (
    "boarding_time",
    "pt_change_delay",
    "walking_time",
    "transfer_walking_time",
    "driving_time_to_station",
    "cycling_time_to_station",
    "parking_time",
)

#: Names of modes in other packages, and the name here.
_SYNONYMS: Final[Mapping[str, str]] = {
    name: meant
    for meant, names in {
        "walking": "walk walks foot on_foot by_foot pedestrian foot_walking foot_hiking",
        "cycling": "bike bikes biking bicycle bicycling cycle cyclist bike_rent cycling_regular cycling_road",
        "driving": "car cars by_car drive auto automobile vehicle motor driving_car driving_traffic",
        "public_transport": "transit pt public public_transit transport publictransport bus_and_train",
        "train": "rail railway trains metro subway underground tram trams light_rail",
        "bus": "buses",
        "walking+ferry": "boat ferries",
        "driving+public_transport": "park_and_ride car_park kiss_and_ride",
        "cycling+public_transport": "bike_and_ride",
    }.items()
    for name in names.split()
}


def meant_type(value: str, known: Collection[str] = (*STREET_TYPES, *TIMETABLE_TYPES)) -> str | None:
    """Return the known type that `value` means: in other packages, or written otherwise; None if there is none."""
    name = value.strip().lower().rpartition(".")[2].replace(" ", "_").replace("-", "_")
    meant = name if name in known else _SYNONYMS.get(name)
    return meant if meant in known else None


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

    Raises
    ------
    ModeError
        If the type or a value is unknown, or an option does not apply to the type.
    LimitError
        If a number is negative, a time above 86,400 seconds, `max_changes` above 1,000, or a speed out of range.
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
    ...     network, places.loc[["PUCRS"]], places.loc[["Mercado Público"]],
    ...     travel_time=7200, transportation=one_bus, departure_time="2019-05-13T08:00:00",
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
            "max_changes": _changes(self.max_changes),
            "walking_speed": _speed(self.walking_speed, "walking_speed", WALKING_SPEEDS_KPH),
            "cycling_speed": _speed(self.cycling_speed, "cycling_speed", CYCLING_SPEEDS_KPH),
            "modes": subset(self.modes, ROUTE_MODES, "modes"),
            "direct_walking_time": None,
        }
        values |= {option: whole(getattr(self, option), option, "seconds", MAX_OPTION_S) for option in _SECONDS}
        if self.direct_walking_time is not None:
            values["direct_walking_time"] = whole(
                self.direct_walking_time, "direct_walking_time", "seconds", MAX_OPTION_S
            )
        for option, types in _APPLIES_TO.items():
            if values[option] != _DEFAULTS[option] and kind not in types:
                raise _misplaced(option, kind, values[option])
        if values["disable_border_crossing"]:
            raise UnsupportedError("disable_border_crossing=True: networks carry no country borders in this version.")
        for option, value in values.items():
            object.__setattr__(self, option, value)

    @property
    def base(self) -> BaseMode:
        """The mode on streets: walking, cycling or driving; with a timetable, the mode of access."""
        first = self.type.partition("+")[0]
        return cast(BaseMode, "walking" if first in TIMETABLE_TYPES else first)

    @property
    def uses_ferry(self) -> bool:
        """Whether ferries of the street network may be used."""
        return self.type.endswith("+ferry")

    @property
    def uses_timetable(self) -> bool:
        """Whether a timetable is used."""
        return self.type in TIMETABLE_TYPES

    @property
    def vehicles(self) -> str:
        """The vehicles that may be used: ``"public_transport"`` for all, a type of vehicle, or ``""``."""
        return self.type.rpartition("+")[2] if self.uses_timetable else ""

    @property
    def access(self) -> Transportation:
        """The means of transportation of access, from the origin to the first stop."""
        return _access(self)

    @property
    def egress(self) -> Transportation:
        """The means of transportation of egress, of changes and of trips without a vehicle: walking."""
        return _egress(self.walking_speed)

    @property
    def access_time(self) -> int:
        """Maximum access time in seconds, without parking."""
        if self.type in _WITH_CAR_ACCESS:
            return self.driving_time_to_station
        return self.cycling_time_to_station if self.type in _WITH_BICYCLE_ACCESS else self.walking_time

    @property
    def access_penalty(self) -> int:
        """Seconds to park at the first stop."""
        return self.parking_time if self.access.base != "walking" else 0


@functools.lru_cache(maxsize=256)
def _access(transportation: Transportation) -> Transportation:
    """Return the means of transportation of access; cached, as every step of a search needs it."""
    if transportation.type in _WITH_CAR_ACCESS:
        return Transportation("driving", traffic_model=transportation.traffic_model)
    if transportation.type in _WITH_BICYCLE_ACCESS:
        return Transportation(
            "cycling+ferry", boarding_time=transportation.boarding_time, cycling_speed=transportation.cycling_speed
        )
    return transportation.egress


@functools.lru_cache(maxsize=256)
def _egress(walking_speed: float | None) -> Transportation:
    """Return the means of transportation of egress; cached, as every step of a search needs it."""
    return Transportation("walking", walking_speed=walking_speed)


_DEFAULTS: Final[Mapping[str, object]] = {field.name: field.default for field in fields(Transportation)}


def _changes(value: object) -> int | None:
    """Return the maximum number of transfers from a number or the contract's object; None for no maximum."""
    if isinstance(value, Mapping):
        unknown = set(value) - {"enabled", "limit"}
        if unknown or "enabled" not in value or (value["enabled"] and "limit" not in value):
            raise ModeError(f"max_changes must be a number or {{'enabled': ..., 'limit': ...}}; got {dict(value)!r}.")
        value = value["limit"] if flag(value["enabled"], "max_changes 'enabled'") else None
    return None if value is None else whole(value, "max_changes", "changes", MAX_CHANGES)


def _speed(value: object, name: str, limits: tuple[float, float]) -> float | None:
    """Return a speed in km/h, None for that of the network."""
    return None if value is None else number(value, name, "km/h", *limits)


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


@explained_keywords
@dataclass(frozen=True, slots=True)
class Snapping:
    """
    Options for snapping points to streets, named as in docs/contract.md, 4.4.

    Parameters
    ----------
    penalty : {"enabled", "disabled"}, default "enabled"
        Whether travel times and distances include the walk between a point and its street, at both ends.
    accept_roads : {"both_drivable_and_walkable", "any_drivable"}, default "both_drivable_and_walkable"
        Streets that points snap to when driving; the first excludes streets that pedestrians may not use.
    threshold : int, default 1000
        Maximum distance to a street in metres, 0 or more.

    Raises
    ------
    ModeError
        If a value is unknown or not a number.
    LimitError
        If `threshold` is negative or above 20,000,000.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> near = tl.snap(network, places, snapping=tl.Snapping(threshold=1))
    >>> int((near["status"] == "snapped").sum())
    0
    """

    penalty: Penalty = "enabled"
    accept_roads: AcceptRoads = "both_drivable_and_walkable"
    threshold: int = 1000

    def __post_init__(self) -> None:
        """Check and normalise every field."""
        object.__setattr__(self, "penalty", one_of(self.penalty, PENALTIES, "snapping penalty"))
        object.__setattr__(self, "accept_roads", one_of(self.accept_roads, ACCEPTABLE_ROADS, "snapping accept_roads"))
        far = whole(self.threshold, "snapping threshold", "metres", MAX_THRESHOLD_M)
        object.__setattr__(self, "threshold", far)


def as_transportation(value: str | Transportation | Mapping[str, Any]) -> Transportation:
    """
    Return a `Transportation` from the name of a type, a mapping of its fields, or a `Transportation`.

    Parameters
    ----------
    value : str, Transportation or mapping
        A mapping must have the key ``type``; fields that are None are ignored.

    Returns
    -------
    Transportation

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
            f"got {type(value).__name__}."
        )
    given = {key: item for key, item in value.items() if item is not None}
    if "type" not in given:
        raise ModeError(f"transportation has no 'type'; got {dict(value)!r}.")
    kind = _known_type(given["type"])
    known = tuple(field.name for field in fields(Transportation))
    for key in given:
        if kind not in _APPLIES_TO.get(key, (kind,)):
            raise _misplaced(key, kind, given[key])
        if key not in known:
            raise ModeError(f"Unknown transportation option {key!r}. {guess(key, known)}")
    return Transportation(**given)


def applies(option: str, kind: str) -> bool:
    """Return whether an option of `Transportation` applies to a type."""
    return kind in _APPLIES_TO.get(option, (kind,))


def _misplaced(option: str, kind: str, value: object) -> ModeError:
    """Return the error for an option that does not apply to the type."""
    return ModeError(
        f"{option} does not apply to transportation type {kind!r}; it applies to {listed(_APPLIES_TO[option])}. "
        f"Leave it out; got {value!r}."
    )


def as_snapping(value: Snapping | Mapping[str, Any] | None) -> Snapping:
    """
    Return a `Snapping` from a mapping of its fields, None for the defaults, or a `Snapping`.

    Parameters
    ----------
    value : Snapping, mapping or None
        Fields that are None are ignored.

    Returns
    -------
    Snapping

    Raises
    ------
    ModeError
        If a field or a value is unknown.
    LimitError
        If the threshold is negative.
    """
    if value is None:
        return Snapping()
    if isinstance(value, Snapping):
        return value
    if not isinstance(value, Mapping):
        raise ModeError(
            "snapping must be a Snapping or a mapping of 'penalty', 'accept_roads' and 'threshold'; "
            f"got {type(value).__name__}."
        )
    known = tuple(field.name for field in fields(Snapping))
    for key in value:
        if key not in known:
            raise ModeError(f"Unknown snapping option {key!r}. {guess(key, known)}")
    return Snapping(**{key: item for key, item in value.items() if item is not None})
