"""
The table of modes: a row for each way to move along streets, and a row for each type of transportation.

Whatever depends on a mode follows from its row: the options of `Transportation` that apply to it, the graph that is
searched, the words of `explain`, the choices of the widget, the types of the service, its OpenAPI document and its
Protocol Buffers messages. A new type is a new row of `MODES`. No other module compares the name of a mode, which
``tests/test_modes.py`` checks.

Names of types are those of docs/contract.md, 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from traveltime_lab.itinerary import Mode as LegMode

BaseMode = Literal["walking", "cycling", "driving"]


@dataclass(frozen=True, slots=True)
class StreetMode:
    """
    A way to move along streets.

    Attributes
    ----------
    name : str
        Columns of the street tables begin with it, such as ``walking_kph_forward``.
    leg : str
        Mode of the legs of routes. Source: docs/contract.md, 6.4.
    how, way : str
        In words: "on foot", and "a walk" to or from a stop.
    access_option : str
        Option of `Transportation` that limits the way to the first stop.
    parking_leg : str, optional
        Mode of the leg of parking at the first stop; None if nothing is parked.
    speed_option : str, optional
        Option of `Transportation` for a custom speed.
    usual_kph : float
        Speed of the network that a custom speed replaces. Sources: `walking_speed` and `default_speed` of OSRM's
        profiles/foot.lua and profiles/bicycle.lua; `traveltime_lab.readers.osm.tags` has the same numbers.
    is_on_foot : bool
        Whether connectors between points and streets are travelled in the same way.
    is_pushed : bool
        Whether the vehicle can be pushed where it may not be ridden.
    has_traffic : bool
        Whether speeds depend on the hour, and on a traffic model.
    has_turns : bool
        Whether turns take time and turn restrictions hold; states of the search graph are directed edges then.
    has_road_options : bool
        Whether classes of roads can be included and excluded, for travelling and for snapping.
    keeps_to_oneway : bool
        Whether ``oneway`` holds.
    """

    name: BaseMode
    leg: LegMode
    how: str
    way: str
    access_option: str
    parking_leg: LegMode | None = None
    speed_option: str | None = None
    usual_kph: float = 0.0
    is_on_foot: bool = False
    is_pushed: bool = False
    has_traffic: bool = False
    has_turns: bool = False
    has_road_options: bool = False
    keeps_to_oneway: bool = True


WALKING: Final = StreetMode(
    "walking", "walk", "on foot", "a walk", "walking_time",
    speed_option="walking_speed", usual_kph=5.0, is_on_foot=True, keeps_to_oneway=False,
)  # fmt: skip
CYCLING: Final = StreetMode(
    "cycling", "bike", "by bicycle", "a ride", "cycling_time_to_station", "bike_parking",
    speed_option="cycling_speed", usual_kph=15.0, is_pushed=True,
)  # fmt: skip
DRIVING: Final = StreetMode(
    "driving", "car", "by car", "a drive", "driving_time_to_station", "parking",
    has_traffic=True, has_turns=True, has_road_options=True,
)  # fmt: skip
#: Modes on streets by name.
STREET_MODES: Final[Mapping[str, StreetMode]] = MappingProxyType(
    {mode.name: mode for mode in (WALKING, CYCLING, DRIVING)}
)
#: Options of `Transportation` for custom speeds.
SPEED_OPTIONS: Final = tuple(mode.speed_option for mode in STREET_MODES.values() if mode.speed_option)
BASE_MODES: Final[tuple[BaseMode, ...]] = ("walking", "cycling", "driving")
#: Vehicles of the types that use all of a timetable.
ALL_VEHICLES: Final = "public_transport"
#: Words for the vehicles that types use, and for their stops.
VEHICLES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        ALL_VEHICLES: ("vehicle", "stop"),
        "bus": ("bus", "bus stop"),
        "coach": ("coach", "coach stop"),
        "train": ("train", "station"),
    }
)


@dataclass(frozen=True, slots=True)
class Mode:
    """
    A type of transportation.

    Attributes
    ----------
    name : str
    street : StreetMode
        The mode on streets; with a timetable, that of access.
    label : str
        Short name for choices.
    description : str
        A sentence for the service's documentation.
    has_ferry : bool
        Whether ferries of the street network are used, with a timetable on the way to the first stop.
    vehicles : str
        Vehicles of a timetable that are used: ``"public_transport"`` for all, ``"bus"``, ``"coach"``, ``"train"``, or
        ``""`` if there is no timetable.
    wire_name : str
        Name on the endpoints that are not fast; `name` by default.
    fast_place, query_place : int, optional
        Place among the types of the fast endpoints, and of GET requests; None if these do not take the type. Source:
        docs/contract.md, 5.2 and 6.1.
    number : int, optional
        Number in Protocol Buffers messages; None if they lack the type. Source: docs/contract.md, 8.3.
    segment : str, optional
        Last segment of the address of Protocol Buffers requests; None if no client sends one.
    details : str, optional
        Field of Protocol Buffers messages with the options of the type.
    crosses_borders : bool
        Whether the contract has the option `disable_border_crossing`.
    kph : float, optional
        Speed on streets where the network has the usual one, unless there is a custom speed; by default the usual one.
        Only for modes on streets with a usual speed.
    synonyms : str
        Names in other packages, separated by spaces.
    """

    name: str
    street: StreetMode
    label: str
    description: str
    has_ferry: bool = False
    vehicles: str = ""
    wire_name: str = ""
    fast_place: int | None = None
    query_place: int | None = None
    number: int | None = None
    segment: str | None = None
    details: str | None = None
    crosses_borders: bool = False
    kph: float | None = None
    synonyms: str = ""

    @property
    def uses_timetable(self) -> bool:
        """Whether a timetable is used."""
        return bool(self.vehicles)

    @property
    def is_on_streets(self) -> bool:
        """Whether neither a timetable nor a ferry is used."""
        return not self.vehicles and not self.has_ferry

    @property
    def is_only_walking(self) -> bool:
        """Whether the whole way is walked."""
        return self.street.is_on_foot and self.is_on_streets

    @property
    def depends_on_hour(self) -> bool:
        """Whether travel times depend on the time of day."""
        return self.uses_timetable or self.street.has_traffic

    @property
    def has_walks(self) -> bool:
        """Whether some of the way is walked along streets."""
        return self.uses_timetable or self.street.is_on_foot

    @property
    def is_parked(self) -> bool:
        """Whether a vehicle is parked at the first stop."""
        return self.uses_timetable and self.street.parking_leg is not None


#: The types, in the order in which they are listed.
_ROWS: Final = (
    Mode(
        "walking", WALKING, "on foot", "On foot.",
        fast_place=4, query_place=1, number=4, segment="walking",
        synonyms="walk walks foot on_foot by_foot pedestrian foot_walking foot_hiking",
    ),
    Mode(
        "cycling", CYCLING, "by bicycle", "By bicycle.",
        fast_place=3, query_place=4, number=5, segment="cycling",
        synonyms="bike bikes biking bicycle bicycling cycle cyclist bike_rent cycling_regular cycling_road",
    ),
    Mode(
        "driving", DRIVING, "by car", "By car.",
        fast_place=2, query_place=3, number=1, segment="driving", crosses_borders=True,
        synonyms="car cars by_car drive auto automobile vehicle motor driving_car driving_traffic",
    ),
    Mode(
        "walking+ferry", WALKING, "on foot and by ferry", "On foot and by ferry.",
        has_ferry=True, wire_name="ferry", fast_place=5, number=7, segment="walking+ferry", synonyms="boat ferries",
    ),
    Mode(
        "cycling+ferry", CYCLING, "by bicycle and ferry", "By bicycle and ferry.",
        has_ferry=True, fast_place=6, number=6, segment="cycling+ferry",
    ),
    Mode(
        "driving+ferry", DRIVING, "by car and ferry", "By car and car ferry.",
        has_ferry=True, fast_place=7, number=3, segment="driving+ferry",
    ),
    Mode(
        "public_transport", WALKING, "public transport", "On foot and by anything with a timetable.",
        vehicles=ALL_VEHICLES, fast_place=1, query_place=2, number=0, segment="pt", details="publicTransport",
        synonyms="transit pt public public_transit transport publictransport bus_and_train",
    ),
    Mode("bus", WALKING, "bus only", "On foot and by bus.", vehicles="bus", synonyms="buses"),
    Mode("coach", WALKING, "coach only", "On foot and by coach.", vehicles="coach"),
    Mode(
        "train", WALKING, "train only", "On foot and by rail.", vehicles="train",
        synonyms="rail railway trains metro subway underground tram trams light_rail",
    ),
    Mode(
        "driving+train", DRIVING, "car to the train", "By car to a station, by train, then on foot.", vehicles="train",
    ),
    Mode(
        "driving+public_transport", DRIVING, "car to the stop",
        "By car to a station, by anything with a timetable, then on foot.",
        vehicles=ALL_VEHICLES, fast_place=8, number=2, details="drivingAndPublicTransport",
        synonyms="park_and_ride car_park kiss_and_ride",
    ),
    Mode(
        "cycling+public_transport", CYCLING, "bicycle to the stop",
        "By bicycle to a station, by anything with a timetable, then on foot.",
        has_ferry=True, vehicles=ALL_VEHICLES, synonyms="bike_and_ride",
    ),
)  # fmt: skip
#: Types by name.
MODES: Final[Mapping[str, Mode]] = MappingProxyType({row.name: row for row in _ROWS})
#: Types without a speed of their own, of which there is one for each mode on streets, ferries and vehicles.
_USUAL: Final = tuple(row for row in _ROWS if row.kph is None)
#: Types that need streets and ferries only, and types that need a timetable.
STREET_TYPES: Final = tuple(row.name for row in _ROWS if not row.uses_timetable)
TIMETABLE_TYPES: Final = tuple(row.name for row in _ROWS if row.uses_timetable)
#: Types of the fast endpoints, and of GET requests.
FAST_TYPES: Final = tuple(row.name for row in sorted(_ROWS, key=lambda row: row.fast_place or 0) if row.fast_place)
QUERY_TYPES: Final = tuple(row.name for row in sorted(_ROWS, key=lambda row: row.query_place or 0) if row.query_place)
#: Names of the contract that differ from ours, and ours.
ALIASES: Final[Mapping[str, str]] = MappingProxyType({row.wire_name: row.name for row in _ROWS if row.wire_name})
_SYNONYMS: Final[Mapping[str, str]] = MappingProxyType(
    {name: row.name for row in _ROWS for name in row.synonyms.split()}
)

#: Options of `Transportation`, and whether they apply to a type.
_APPLIES: Final[Mapping[str, Callable[[Mode], bool]]] = {
    "traffic_model": lambda row: row.street.has_traffic,
    "time_dependent": lambda row: row.street.has_traffic and not row.uses_timetable,
    "boarding_time": lambda row: row.has_ferry,
    "include_roads": lambda row: row.street.has_road_options and not row.uses_timetable,
    "exclude_roads": lambda row: row.street.has_road_options and not row.uses_timetable,
    "disable_border_crossing": lambda row: row.crosses_borders,
    "pt_change_delay": lambda row: row.uses_timetable,
    "walking_time": lambda row: row.uses_timetable,
    "driving_time_to_station": lambda row: row.is_parked and row.street is DRIVING,
    "cycling_time_to_station": lambda row: row.is_parked and row.street is CYCLING,
    "parking_time": lambda row: row.is_parked,
    "max_changes": lambda row: row.uses_timetable,
    "walking_speed": lambda row: row.has_walks,
    "modes": lambda row: row.uses_timetable,
    "transfer_walking_time": lambda row: row.uses_timetable,
    "direct_walking_time": lambda row: row.uses_timetable,
    "headways": lambda row: row.uses_timetable,
    "headway_draws": lambda row: row.uses_timetable,
    "headway_seed": lambda row: row.uses_timetable,
    "cycling_speed": lambda row: row.street is CYCLING,
    "max_stress": lambda row: row.street is CYCLING,
    "push_above_stress": lambda row: row.street is CYCLING,
    "step_free": lambda row: row.has_walks,
    "max_incline": lambda row: row.has_walks,
    "min_width": lambda row: row.has_walks,
    "avoid": lambda row: row.has_walks,
}
#: The types that each of these options applies to.
APPLIES_TO: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {option: tuple(row.name for row in _ROWS if does(row)) for option, does in _APPLIES.items()}
)


def applies(option: str, kind: str) -> bool:
    """Return whether an option of `Transportation` applies to a type."""
    return kind in APPLIES_TO.get(option, (kind,))


def meant_type(value: str, known: Collection[str] = tuple(MODES)) -> str | None:
    """Return the known type that `value` means: in other packages, or written otherwise; None if there is none."""
    name = value.strip().lower().rpartition(".")[2].replace(" ", "_").replace("-", "_")
    meant = name if name in known else _SYNONYMS.get(name)
    return meant if meant in known else None


def street_type(row: Mode) -> Mode:
    """Return the type without a timetable that is like a type on streets, at the usual speed."""
    alike = (each for each in _USUAL if not each.vehicles and each.has_ferry == row.has_ferry)
    return next(each for each in alike if each.street is row.street)


def with_ferry(row: Mode) -> Mode | None:
    """Return the type that uses ferries, too, None if there is none."""
    found = (each for each in _USUAL if each.street is row.street and each.has_ferry and not each.vehicles)
    return None if row.has_ferry or row.vehicles else next(found, None)


def with_all_vehicles(row: Mode) -> Mode:
    """Return the type with the same access that uses all vehicles of a timetable."""
    found = (each for each in _USUAL if each.vehicles == ALL_VEHICLES and each.street is row.street)
    return next(found, row) if row.vehicles and row.kph is None else row
