"""
The columns of GTFS Realtime messages: updates of trips and their stops, alerts, and positions of vehicles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, Int64Array, ObjectArray, indptr_of
from traveltime_lab._checks import plain_text
from traveltime_lab.realtime.schema import CAUSES, EFFECTS, VEHICLE_STATUS
from traveltime_lab.realtime.sources import NONE, Fields, Source

_UPDATE, _STOP, _ALERT, _VEHICLE = (
    "entity.trip_update",
    "entity.trip_update.stop_time_update",
    "entity.alert",
    "entity.vehicle",
)
_TRIP_TEXTS: Final = ("trip_id", "route_id", "start_time", "start_date")
#: Columns of `Messages.sources`, as objects: a column of texts has nan in place of None, which is no name of a feed.
_HEADS: Final[Any] = tuple(enumerate((("name", object), ("feed", object), ("timestamp", np.int64))))
#: The last moment of the calendar of `datetime`, s. Larger numbers are milliseconds.
_LAST_MOMENT: Final = 253_402_300_799

#: Ends of periods by which some feeds mean none: the largest numbers of 64 bits, the first of which is read as -1.
_NEVER_ENDS: Final = (-1, (1 << 63) - 1)


@dataclass(frozen=True)
class TripUpdates:
    """
    Updates of trips, and of their stops as CSR.

    Attributes
    ----------
    source : int64 array of shape (n,)
        Number of the message.
    now, timestamp : int64 arrays of shape (n,), POSIX seconds
        Times of the message and of the update; `NONE` where not given.
    entity, trip_id, route_id, start_time, start_date : object arrays of shape (n,)
        Texts, empty where not given.
    new_id, new_time, new_date, headsign, short_name : object arrays of shape (n,)
        Properties of a trip that is new.
    direction, relation, delay : int64 arrays of shape (n,)
        `NONE` where not given; a relation that is not given is 0.
    is_modified : bool array of shape (n,)
        Whether the trip is one of trip modifications.
    indptr : int64 array of shape (n + 1,)
        Where the stops of each update begin.
    stop_id, assigned : object arrays of shape (n_stops,)
    sequence, stop_relation, pickup, drop_off : int64 arrays of shape (n_stops,)
    arrival_delay, arrival_time, departure_delay, departure_time : int64 arrays of shape (n_stops,), s
    """

    source: Int64Array
    now: Int64Array
    timestamp: Int64Array
    entity: ObjectArray
    trip_id: ObjectArray
    route_id: ObjectArray
    start_time: ObjectArray
    start_date: ObjectArray
    new_id: ObjectArray
    new_time: ObjectArray
    new_date: ObjectArray
    headsign: ObjectArray
    short_name: ObjectArray
    direction: Int64Array
    relation: Int64Array
    delay: Int64Array
    is_modified: AnyArray
    indptr: Int64Array
    stop_id: ObjectArray
    assigned: ObjectArray
    sequence: Int64Array
    stop_relation: Int64Array
    pickup: Int64Array
    drop_off: Int64Array
    arrival_delay: Int64Array
    arrival_time: Int64Array
    departure_delay: Int64Array
    departure_time: Int64Array

    def __len__(self) -> int:
        """Return the number of updates of trips."""
        return int(self.source.size)


@dataclass(frozen=True)
class Messages:
    """
    The content of GTFS Realtime messages.

    Attributes
    ----------
    sources : DataFrame
        ``name``, ``feed`` (None for any) and ``timestamp`` (POSIX seconds, -1 for none) of each message.
    trips : TripUpdates
    alerts : list of dict
        Each with ``source``, ``now``, ``entity``, ``cause``, ``effect``, ``header``, ``description``, ``url``,
        ``periods`` (pairs of POSIX seconds, None for no bound), ``n_void`` (number of periods that are empty or have an
        impossible bound, such as milliseconds) and ``selectors``.
    vehicles : DataFrame
        Positions of vehicles.
    """

    sources: pd.DataFrame
    trips: TripUpdates
    alerts: list[dict[str, Any]]
    vehicles: pd.DataFrame


def read_messages(sources: Sequence[Source]) -> Messages:
    """
    Read messages.

    Raises
    ------
    DataError, LimitError
        If a message cannot be read.
    """
    updates, alerts, vehicles, heads = [], [], [], []
    for number, source in enumerate(sources):
        fields = Fields(source)
        now = int(_moments(fields.numbers("", "header.timestamp"))[0])
        heads.append((source.name, source.feed, now if now != NONE else -1))
        alive = fields.numbers("entity", "is_deleted", 0) == 0
        updates.append(_trip_updates(fields, number, now, alive))
        alerts += _alerts(fields, number, now, alive)
        vehicles.append(_vehicles(fields, number, alive))
    return Messages(
        pd.DataFrame({name: pd.Series([head[i] for head in heads], dtype=dtype) for i, (name, dtype) in _HEADS}),
        joined(updates),
        alerts,
        pd.concat(vehicles, ignore_index=True) if vehicles else pd.DataFrame(),
    )


def trip_updates_of(source: Source) -> TripUpdates:
    """
    Return the updates of trips of one message.

    Raises
    ------
    DataError, LimitError
        If it cannot be read.
    """
    fields = Fields(source)
    now = int(_moments(fields.numbers("", "header.timestamp"))[0])
    return _trip_updates(fields, 0, now, fields.numbers("entity", "is_deleted", 0) == 0)


def _moments(values: Int64Array) -> Int64Array:
    """Return POSIX seconds, `NONE` for what is none."""
    return np.where((values > 0) & (values <= _LAST_MOMENT), values, NONE)


def _trip_updates(fields: Fields, number: int, now: int, alive: AnyArray) -> TripUpdates:
    kept = np.flatnonzero(alive[fields.rows_in(_UPDATE, "entity")])
    in_update = fields.rows_in(_STOP, _UPDATE)
    counts = np.bincount(in_update, minlength=fields.count(_UPDATE))
    stops = np.flatnonzero(np.isin(in_update, kept)) if kept.size < counts.size else np.arange(in_update.size)

    def texts(name: str) -> ObjectArray:
        return fields.texts(_UPDATE, name)[kept]

    def numbers(name: str, default: int = NONE) -> Int64Array:
        return fields.numbers(_UPDATE, name, default)[kept]

    def of_stops(name: str, default: int = NONE) -> Int64Array:
        return fields.numbers(_STOP, name, default)[stops]

    return TripUpdates(
        source=np.full(kept.size, number, np.int64),
        now=np.full(kept.size, now, np.int64),
        timestamp=_moments(numbers("timestamp")),
        entity=fields.texts("entity", "id")[fields.rows_in(_UPDATE, "entity")[kept]],
        **{name: texts(f"trip.{name}") for name in _TRIP_TEXTS},
        new_id=texts("trip_properties.trip_id"),
        new_time=texts("trip_properties.start_time"),
        new_date=texts("trip_properties.start_date"),
        headsign=texts("trip_properties.trip_headsign"),
        short_name=texts("trip_properties.trip_short_name"),
        direction=numbers("trip.direction_id"),
        relation=numbers("trip.schedule_relationship", 0),
        delay=numbers("delay"),
        is_modified=fields.is_in(f"{_UPDATE}.trip.modified_trip", _UPDATE)[kept],
        indptr=indptr_of(counts[kept]),
        stop_id=fields.texts(_STOP, "stop_id")[stops],
        assigned=fields.texts(_STOP, "stop_time_properties.assigned_stop_id")[stops],
        sequence=of_stops("stop_sequence"),
        stop_relation=of_stops("schedule_relationship", 0),
        pickup=of_stops("stop_time_properties.pickup_type"),
        drop_off=of_stops("stop_time_properties.drop_off_type"),
        arrival_delay=of_stops("arrival.delay"),
        arrival_time=of_stops("arrival.time"),
        departure_delay=of_stops("departure.delay"),
        departure_time=of_stops("departure.time"),
    )


def joined(parts: Sequence[TripUpdates]) -> TripUpdates:
    """Return the updates of all messages."""
    values: dict[str, Any] = {}
    for name in TripUpdates.__dataclass_fields__:
        arrays = [getattr(part, name) for part in parts]
        if name == "indptr":
            values[name] = indptr_of(np.concatenate([np.diff(array) for array in arrays] or [np.zeros(0)]))
        else:
            values[name] = np.concatenate(arrays) if arrays else np.zeros(0, np.int64)
    return TripUpdates(**values)


def _alerts(fields: Fields, number: int, now: int, alive: AnyArray) -> list[dict[str, Any]]:
    n = fields.count(_ALERT)
    entity_row = fields.rows_in(_ALERT, "entity")
    period, selector = f"{_ALERT}.active_period", f"{_ALERT}.informed_entity"
    periods: list[list[tuple[int | None, int | None]]] = [[] for _ in range(n)]
    n_void = [0] * n
    bounds = (fields.numbers(period, name, 0).tolist() for name in ("start", "end"))
    for row, start, end in zip(fields.rows_in(period, _ALERT).tolist(), *bounds, strict=True):
        until = 0 if end in _NEVER_ENDS else end
        if all(0 <= each <= _LAST_MOMENT for each in (start, until)) and (not until or start < until):
            periods[row].append((start or None, until or None))
        else:
            n_void[row] += 1
    selectors: list[list[dict[str, Any]]] = [[] for _ in range(n)]
    names = ("agency_id", "route_id", "stop_id", *(f"trip.{name}" for name in _TRIP_TEXTS))
    columns: dict[str, list[Any]] = {name: fields.texts(selector, name).tolist() for name in names}
    for name in ("route_type", "direction_id", "trip.direction_id"):
        columns[name] = fields.numbers(selector, name).tolist()
    for i, row in enumerate(fields.rows_in(selector, _ALERT).tolist()):
        given = {name: values[i] for name, values in columns.items() if values[i] not in ("", NONE)}
        selectors[row].append(given)
    cause, effect = fields.numbers(_ALERT, "cause", 1), fields.numbers(_ALERT, "effect", 8)
    words = [_words(fields, name) for name in ("header_text", "description_text", "url")]
    # Clients make links of them: no other scheme, such as javascript, is an address.
    words[2] = [each if each.lower().startswith(("http://", "https://")) else "" for each in words[2]]
    ids = fields.texts("entity", "id")[entity_row]
    return [
        {
            "source": number, "now": now, "entity": ids[i], "cause": _name(CAUSES, int(cause[i])),
            "effect": _name(EFFECTS, int(effect[i])), "header": words[0][i], "description": words[1][i],
            "url": words[2][i], "periods": periods[i], "n_void": n_void[i],
            "selectors": selectors[i],
        }
        for i in range(n)
        if alive[entity_row[i]]
    ]  # fmt: skip


def _name(names: dict[str, int], value: int) -> str:
    """Return the name of a value of an enumeration, or its number."""
    return next((name for name, number in names.items() if number == value), str(value))


def _words(fields: Fields, name: str) -> list[str]:
    """Return the first English text of each alert, or else one without a language, or else the first; HTML last."""
    place = f"{_ALERT}.{name}.translation"
    found, rank = [""] * fields.count(_ALERT), [9] * fields.count(_ALERT)
    texts, languages = fields.texts(place, "text"), fields.texts(place, "language")
    for row, text, language in zip(fields.rows_in(place, _ALERT).tolist(), texts, languages, strict=True):
        own = 0 if language.lower().startswith("en") else 1 if not language else 2
        # Some feeds have each text a second time, as HTML.
        own += 3 * language.lower().endswith("-html")
        if own < rank[row] and (text := plain_text(text)).strip():
            found[row], rank[row] = text, own
    return found


def _vehicles(fields: Fields, number: int, alive: AnyArray) -> pd.DataFrame:
    kept = np.flatnonzero(alive[fields.rows_in(_VEHICLE, "entity")])
    status = fields.numbers(_VEHICLE, "current_status", 2)[kept]
    columns: dict[str, Any] = {
        "source": np.full(kept.size, number),
        "vehicle_id": fields.texts(_VEHICLE, "vehicle.id")[kept],
        "label": fields.texts(_VEHICLE, "vehicle.label")[kept],
        "trip_id": fields.texts(_VEHICLE, "trip.trip_id")[kept],
        "route_id": fields.texts(_VEHICLE, "trip.route_id")[kept],
        "stop_id": fields.texts(_VEHICLE, "stop_id")[kept],
        "status": np.array([_name(VEHICLE_STATUS, int(value)) for value in status], object),
        "timestamp": _moments(fields.numbers(_VEHICLE, "timestamp"))[kept],
        "bearing": fields.floats(_VEHICLE, "position.bearing")[kept],
        "speed": fields.floats(_VEHICLE, "position.speed")[kept],
        "lat": fields.floats(_VEHICLE, "position.latitude")[kept],
        "lng": fields.floats(_VEHICLE, "position.longitude")[kept],
    }
    return pd.DataFrame(columns)
