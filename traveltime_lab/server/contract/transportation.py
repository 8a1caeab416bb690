"""
Transportation objects of requests: how to travel, by type, for the configurable and for the fast endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, Union

from msgspec import Meta, Struct, defstruct

from traveltime_lab.limits import INCLINES, MAX_STRESS, WIDTHS_M
from traveltime_lab.modes.table import ALIASES, MODES, STREET_TYPES, Mode, applies

Seconds: TypeAlias = Annotated[int, Meta(ge=0)]


class MaxChanges(Struct):
    """Most changes between timetable vehicles; `limit` counts only if it is enabled."""

    enabled: bool
    limit: int


Headways: TypeAlias = Literal["exact", "average"]
Incline: TypeAlias = Annotated[float, Meta(ge=INCLINES[0], le=INCLINES[1])]
Width: TypeAlias = Annotated[float, Meta(ge=WIDTHS_M[0], le=WIDTHS_M[1])]
StepFree: TypeAlias = Literal["lenient", "strict"]
Stress: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_STRESS)]


# Transportation: a class for each type, so that what does not apply to it is an unknown field, which is ignored -------


class OnStreets(Struct, tag_field="type"):
    """On streets alone, or any fast type."""


class ByTimetable(Struct, tag_field="type", kw_only=True):
    """With a timetable at a given time."""

    pt_change_delay: Seconds | None = None
    walking_time: Seconds | None = None
    max_changes: MaxChanges | None = None
    headways: Headways | None = None


class ByFerry(Struct, tag_field="type", kw_only=True):
    """On streets and by ferry."""

    boarding_time: Seconds | None = None


Traffic: TypeAlias = Literal["optimistic", "balanced", "pessimistic"]
FastTraffic: TypeAlias = Literal["peak", "off_peak"]
Includable: TypeAlias = Literal["track", "restricted"]
Excludable: TypeAlias = Literal["toll"]
Avoidable: TypeAlias = Literal["unlit", "unpaved"]

#: Options of some types, beside those of the classes above, in the order of the documentation.
_OPTIONS: Final[Mapping[str, Any]] = {
    "driving_time_to_station": Seconds,
    "cycling_time_to_station": Seconds,
    "parking_time": Seconds,
    "traffic_model": Traffic,
    "time_dependent": bool,
    "disable_border_crossing": bool,
    "include_roads": list[Includable],
    "exclude_roads": list[Excludable],
    "boarding_time": Seconds,
    "max_stress": Stress,
    "push_above_stress": bool,
    "step_free": StepFree,
    "max_incline": Incline,
    "min_width": Width,
    "avoid": list[Avoidable],
}
#: Options on the fast endpoints of types without and with a timetable. Source: docs/contract.md, 5.2.
_FAST_OPTIONS: Final[Mapping[bool, Mapping[str, Any]]] = {
    False: {"traffic_model": FastTraffic},
    True: {"walking_time": Seconds, "driving_time_to_station": Seconds, "parking_time": Seconds},
}


def _struct(row: Mode, base: type[Struct], options: Mapping[str, Any], tag: str, *, prefix: str = "") -> Any:
    """Return the class of a type: its name, its options that `base` lacks, and its description are those of the row."""
    return defstruct(
        prefix + "".join(word.capitalize() for word in tag.replace("+", "_").split("_")),
        [
            (option, kind | None, None)
            for option, kind in options.items()
            if applies(option, row.name) and option not in base.__struct_fields__
        ],
        bases=(base,),
        namespace={"__doc__": row.description},
        module=__name__,
        tag=tag,
        kw_only=True,
    )


def _usual(row: Mode) -> Any:
    """Return the class of a type on the endpoints that are not fast."""
    base = ByTimetable if row.uses_timetable else ByFerry if row.has_ferry else OnStreets
    return _struct(row, base, _OPTIONS, row.wire_name or row.name)


def _fast(row: Mode) -> Any:
    """Return the class of a type on the fast endpoints, which is the other one if there is no difference."""
    found = _struct(row, OnStreets, _FAST_OPTIONS[row.uses_timetable], row.name, prefix="Fast")
    usual = TYPES[row.name]
    return usual if row.is_on_streets and found.__struct_fields__ == usual.__struct_fields__ else found


#: The classes of all types by name, and of those that the fast endpoints take.
TYPES: Final[Mapping[str, Any]] = {name: _usual(row) for name, row in MODES.items()}
FAST: Final[Mapping[str, Any]] = {row.name: _fast(row) for row in MODES.values() if row.fast_place}

# By their names, classes can be pickled.
globals().update({kind.__name__: kind for kind in (*TYPES.values(), *FAST.values())})

if TYPE_CHECKING:
    Transportation: TypeAlias = OnStreets | ByTimetable | ByFerry
    DistanceTransportation: TypeAlias = OnStreets | ByFerry
    FastTransportation: TypeAlias = OnStreets
else:
    Transportation = Union[tuple(TYPES.values())]  # noqa: UP007 - of the rows of a table
    DistanceTransportation = Union[tuple(TYPES[name] for name in STREET_TYPES)]  # noqa: UP007
    FastTransportation = Union[tuple(FAST.values())]  # noqa: UP007


def type_of(given: OnStreets | ByTimetable | ByFerry) -> Mode:
    """Return the row of the type of a transportation object."""
    tag = str(given.__struct_config__.tag)
    return MODES[ALIASES.get(tag, tag)]
