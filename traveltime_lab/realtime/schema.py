"""
The fields of GTFS Realtime messages that are read, and the names of their values.

See https://gtfs.org/documentation/realtime/proto/. A field that is not listed, such as one of an extension, is passed
over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import Int64Array
from traveltime_lab.kernels.wire import BYTES, FIXED32, MESSAGE, VARINT

#: Kinds of values: the names of an enumeration stand for a varint.
_TEXT, _INT, _BOOL, _FLOAT = "text", "int", "bool", "float"

TRIP_RELATIONS: Final = {
    "SCHEDULED": 0, "ADDED": 1, "UNSCHEDULED": 2, "CANCELED": 3, "REPLACEMENT": 5, "DUPLICATED": 6, "DELETED": 7,
    "NEW": 8,
}  # fmt: skip
STOP_RELATIONS: Final = {"SCHEDULED": 0, "SKIPPED": 1, "NO_DATA": 2, "UNSCHEDULED": 3}
CAUSES: Final = {
    "UNKNOWN_CAUSE": 1, "OTHER_CAUSE": 2, "TECHNICAL_PROBLEM": 3, "STRIKE": 4, "DEMONSTRATION": 5, "ACCIDENT": 6,
    "HOLIDAY": 7, "WEATHER": 8, "MAINTENANCE": 9, "CONSTRUCTION": 10, "POLICE_ACTIVITY": 11, "MEDICAL_EMERGENCY": 12,
}  # fmt: skip
EFFECTS: Final = {
    "NO_SERVICE": 1, "REDUCED_SERVICE": 2, "SIGNIFICANT_DELAYS": 3, "DETOUR": 4, "ADDITIONAL_SERVICE": 5,
    "MODIFIED_SERVICE": 6, "OTHER_EFFECT": 7, "UNKNOWN_EFFECT": 8, "STOP_MOVED": 9, "NO_EFFECT": 10,
    "ACCESSIBILITY_ISSUE": 11,
}  # fmt: skip
VEHICLE_STATUS: Final = {"INCOMING_AT": 0, "STOPPED_AT": 1, "IN_TRANSIT_TO": 2}
_CALL_TYPES: Final = {"REGULAR": 0, "NONE": 1, "PHONE_AGENCY": 2, "COORDINATE_WITH_DRIVER": 3}

_TRIP: Final[dict[str, Any]] = {
    "trip_id": (1, _TEXT),
    "start_time": (2, _TEXT),
    "start_date": (3, _TEXT),
    "schedule_relationship": (4, TRIP_RELATIONS),
    "route_id": (5, _TEXT),
    "direction_id": (6, _INT),
    "modified_trip": (7, {"modifications_id": (1, _TEXT)}),
}
_EVENT: Final[dict[str, Any]] = {"delay": (1, _INT), "time": (2, _INT)}
_WORDS: Final[dict[str, Any]] = {"translation": (1, {"text": (1, _TEXT), "language": (2, _TEXT)})}
#: Fields by name: the number, and a kind of value or the fields of a message.
FIELDS: Final[dict[str, Any]] = {
    "header": (1, {"gtfs_realtime_version": (1, _TEXT), "incrementality": (2, {"FULL_DATASET": 0, "DIFFERENTIAL": 1}),
                   "timestamp": (3, _INT)}),
    "entity": (2, {
        "id": (1, _TEXT),
        "is_deleted": (2, _BOOL),
        "trip_update": (3, {
            "trip": (1, _TRIP),
            "stop_time_update": (2, {
                "stop_sequence": (1, _INT),
                "arrival": (2, _EVENT),
                "departure": (3, _EVENT),
                "stop_id": (4, _TEXT),
                "schedule_relationship": (5, STOP_RELATIONS),
                "stop_time_properties": (6, {
                    "assigned_stop_id": (1, _TEXT), "pickup_type": (3, _CALL_TYPES), "drop_off_type": (4, _CALL_TYPES),
                }),
            }),
            "timestamp": (4, _INT),
            "delay": (5, _INT),
            "trip_properties": (6, {
                "trip_id": (1, _TEXT), "start_date": (2, _TEXT), "start_time": (3, _TEXT), "trip_headsign": (5, _TEXT),
                "trip_short_name": (6, _TEXT),
            }),
        }),
        "vehicle": (4, {
            "trip": (1, _TRIP),
            "position": (2, {"latitude": (1, _FLOAT), "longitude": (2, _FLOAT), "bearing": (3, _FLOAT),
                             "speed": (5, _FLOAT)}),
            "current_stop_sequence": (3, _INT),
            "current_status": (4, VEHICLE_STATUS),
            "timestamp": (5, _INT),
            "stop_id": (7, _TEXT),
            "vehicle": (8, {"id": (1, _TEXT), "label": (2, _TEXT)}),
        }),
        "alert": (5, {
            "active_period": (1, {"start": (1, _INT), "end": (2, _INT)}),
            "informed_entity": (5, {
                "agency_id": (1, _TEXT), "route_id": (2, _TEXT), "route_type": (3, _INT), "trip": (4, _TRIP),
                "stop_id": (5, _TEXT), "direction_id": (6, _INT),
            }),
            "cause": (6, CAUSES),
            "effect": (7, EFFECTS),
            "url": (8, _WORDS),
            "header_text": (10, _WORDS),
            "description_text": (11, _WORDS),
        }),
    }),
}  # fmt: skip
#: Other spellings of names in JSON, which are those of older versions of the format.
_OLD_NAMES: Final = {"platform_id": "assigned_stop_id"}


class Place(NamedTuple):
    """
    A type of messages at one place of a feed message, such as the trip of an alert.

    Attributes
    ----------
    path : str
        Names of the fields that lead there, with dots; "" for the whole message.
    fields : dict
        Part of `FIELDS`.
    """

    path: str
    fields: dict[str, Any]


def is_message(what: Any) -> bool:
    """Return whether a kind is that of a message; those of enumerations have numbers in place of pairs."""
    return isinstance(what, dict) and all(isinstance(value, tuple) for value in what.values())


def _places() -> list[Place]:
    found, at = [Place("", FIELDS)], 0
    while at < len(found):
        path, inner = found[at]
        found += [Place(f"{path}.{name}".lstrip("."), what) for name, (_, what) in inner.items() if is_message(what)]
        at += 1
    return found


#: All places; the number of a place is the type of its messages in `traveltime_lab.kernels.wire`.
PLACES: Final = tuple(_places())
#: Numbers of the places by path.
NUMBER: Final[Mapping[str, int]] = {place.path: number for number, place in enumerate(PLACES)}


def _kinds() -> Int64Array:
    most = max(number for place in PLACES for number, _ in place.fields.values())
    kinds = np.zeros((len(PLACES), most + 1), np.int64)
    for row, (path, inner) in enumerate(PLACES):
        for name, (number, what) in inner.items():
            if is_message(what):
                kinds[row, number] = MESSAGE + NUMBER[f"{path}.{name}".lstrip(".")]
            else:
                kinds[row, number] = {_TEXT: BYTES, _FLOAT: FIXED32}.get(str(what), VARINT)
    return kinds


#: Kind of each field of each place; see `traveltime_lab.kernels.wire.fields`.
KINDS: Final = _kinds()


def plain(name: str) -> str:
    """Return the name of a field without the difference between ``stop_id`` and ``stopId``."""
    return name.replace("_", "").lower()


#: The fields of each place by plain name, for JSON.
BY_PLAIN_NAME: Final = {
    place.path: {plain(name): (name, *field) for name, field in place.fields.items()}
    | {plain(old): (new, *place.fields[new]) for old, new in _OLD_NAMES.items() if new in place.fields}
    for place in PLACES
}
