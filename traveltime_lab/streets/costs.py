"""
Compute the time along edges and through junctions, in milliseconds.

Free-flow speeds are stored with the streets (see `traveltime_lab.readers.osm.tags`). This module adds congestion by
time of day, and signals and turns at junctions. Every number has its source beside it or is marked as assumed.
"""

from __future__ import annotations

import datetime as dt

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int64Array
from traveltime_lab.modes.table import StreetMode
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.timezones import canonical

#: Walking speed between a point and its street, km/h. Source: OSRM profiles/foot.lua, `walking_speed = 5`.
CONNECTOR_KPH = 5.0

#: Cyclists push their bicycles where the network has this speed or less. Source: OSRM profiles/bicycle.lua,
#: `walking_speed = 4`.
PUSHING_KPH = 4.0

#: Longest time along one edge, ms: 74 hours, or 372 km on foot without a junction. Searches are limited to 4 hours, but
#: labels have 30 bits for the milliseconds of a route, and a ferry with a mistyped duration would overflow them.
LONGEST_CROSSING_MS = 1 << 28

#: Seconds for a turn through a junction of three or more streets: a logistic curve of the angle. Source: OSRM
#: profiles/car.lua (`turn_penalty = 7.5`, `turn_bias = 1.075`, `u_turn_penalty = 20`, `traffic_light_penalty = 2`).
TURN_PENALTY_S = 7.5
TURN_BIAS = 1.075
U_TURN_S = 20.0
SIGNAL_S = 2.0

#: Travel-time multipliers over free flow by hour of the local day for arterial streets on a working day, a Saturday
#: and a Sunday. Assumed: the shape (two peaks on working days, one broad afternoon hump on weekends) is common to
#: published city profiles; the heights are round numbers, not measured. `traveltime_lab.network.speeds.add_speeds`
#: replaces them by measured speeds.
_WORKDAY = (1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.2, 1.45, 1.6, 1.4, 1.25, 1.25, 1.3, 1.3, 1.25, 1.3, 1.4, 1.6, 1.65, 1.45, 1.2, 1.1, 1.05, 1.0)  # fmt: skip  # noqa: E501
_SATURDAY = (1.05, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.1, 1.15, 1.25, 1.3, 1.3, 1.25, 1.2, 1.2, 1.25, 1.25, 1.25, 1.2, 1.15, 1.1, 1.05, 1.05)  # fmt: skip  # noqa: E501
_SUNDAY = (1.05, 1.05, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.1, 1.15, 1.2, 1.15, 1.15, 1.15, 1.2, 1.25, 1.25, 1.2, 1.1, 1.05, 1.0, 1.0)  # fmt: skip  # noqa: E501
CONGESTION = np.array([_WORKDAY] * 5 + [_SATURDAY, _SUNDAY])

#: Delay of each class of street as a share of the delay of arterial streets (assumed).
_DELAY_SHARE = {
    "motorway": 0.8, "motorway_link": 1.0, "trunk": 1.0, "trunk_link": 1.0, "primary": 1.0, "primary_link": 1.0,
    "secondary": 1.0, "secondary_link": 1.0, "tertiary": 0.8, "tertiary_link": 0.8, "unclassified": 0.6,
    "residential": 0.4, "living_street": 0.2, "service": 0.2, "track": 0.0, "ferry": 0.0,
}  # fmt: skip

#: The multipliers of the named traffic models: peak is a working day from 8 to 9, off_peak is free flow, balanced the
#: mean of a working day from 7 to 20 (assumed interpretation of docs/contract.md, 5.5).
PEAK = float(CONGESTION[0, 8])
OFF_PEAK = 1.0
BALANCED = float(CONGESTION[0, 7:20].mean())

#: Share of the delay at the moment of departure that an optimistic and a pessimistic estimate include (assumed).
OUTLOOK = {"optimistic": 0.5, "balanced": 1.0, "pessimistic": 1.5}

#: Time zones in which traffic keeps left, so that right turns cross the oncoming lane (assumed; this only decides which
#: of two turns costs about three seconds more).
LEFT_HAND_ZONES = frozenset(
    """Europe/London Europe/Dublin Europe/Isle_of_Man Europe/Jersey Europe/Guernsey Europe/Malta Asia/Nicosia
    Asia/Famagusta Asia/Tokyo Asia/Hong_Kong Asia/Macau Asia/Singapore Asia/Kuala_Lumpur Asia/Kuching
    Asia/Brunei Asia/Bangkok Asia/Jakarta Asia/Pontianak Asia/Makassar Asia/Jayapura Asia/Kolkata Asia/Karachi
    Asia/Dhaka Asia/Kathmandu Asia/Thimphu Asia/Colombo Asia/Dili Indian/Maldives Indian/Mauritius Indian/Mahe
    Africa/Nairobi Africa/Kampala Africa/Dar_es_Salaam Africa/Johannesburg Africa/Maseru Africa/Mbabane
    Africa/Maputo Africa/Harare Africa/Lusaka Africa/Blantyre Africa/Gaborone Africa/Windhoek Pacific/Auckland
    Pacific/Chatham Pacific/Fiji Pacific/Tongatapu Pacific/Apia Pacific/Port_Moresby Pacific/Bougainville
    Pacific/Guadalcanal Pacific/Tarawa Pacific/Kanton Pacific/Kiritimati Pacific/Funafuti Pacific/Nauru
    Pacific/Niue Pacific/Norfolk Pacific/Pitcairn Pacific/Rarotonga Pacific/Fakaofo Indian/Christmas
    Indian/Cocos America/Jamaica America/Port_of_Spain America/Barbados America/Nassau America/Guyana
    America/Paramaribo America/Antigua America/Dominica America/Grenada America/St_Kitts America/St_Lucia
    America/St_Vincent America/Anguilla America/Cayman America/Grand_Turk America/Montserrat America/St_Thomas
    America/Tortola Atlantic/Bermuda Atlantic/Stanley Atlantic/St_Helena Atlantic/South_Georgia""".split()  # noqa: SIM905
)


def drives_on_left(timezone: str) -> bool:
    """Return whether traffic keeps left in the country of an IANA time zone, or of an alias of one."""
    timezone = canonical(timezone)
    return timezone in LEFT_HAND_ZONES or timezone.startswith("Australia/")


def congestion(traffic_model: str | None, moment: dt.datetime | object | None) -> float:
    """
    Return the travel-time multiplier of arterial streets.

    Parameters
    ----------
    traffic_model : {"optimistic", "balanced", "pessimistic", "peak", "off_peak"}, optional
        Traffic model (docs/contract.md, 5.5). Default: the delay at the moment of departure.
    moment : datetime in the network's zone, the weekday-morning period, or None
        Moment of departure. It is ignored with ``peak`` and ``off_peak``.

    Returns
    -------
    float
        1.0 in free flow.
    """
    if traffic_model == "peak":
        return PEAK
    if traffic_model == "off_peak":
        return OFF_PEAK
    if moment is None:
        base = BALANCED
    elif isinstance(moment, dt.datetime):
        base = float(CONGESTION[moment.weekday(), moment.hour])
    else:
        base = PEAK
    return 1.0 + (base - 1.0) * OUTLOOK.get(traffic_model or "balanced", 1.0)


def delay_shares(highways: AnyArray) -> FloatArray:
    """Return the share of the arterial delay for each class of street; unknown classes get 0.5 (assumed)."""
    return np.array([_DELAY_SHARE.get(str(highway), 0.5) for highway in highways], dtype=np.float64)


def on_slopes(
    kph: FloatArray, level_kph: FloatArray, street: StreetMode, walking_factor: AnyArray, cycling_factor: AnyArray
) -> FloatArray:
    """
    Return the speeds along edges with slopes.

    Cyclists push where that is faster than riding, or where they push on level ground.

    Parameters
    ----------
    kph : float64 array of shape (n,)
        Speeds on level ground.
    level_kph : float64 array of shape (n,)
        The same without a custom speed.
    street : StreetMode
        Walking or cycling.
    walking_factor, cycling_factor : float32 arrays of shape (n,)
        Time along each edge divided by that on level ground.
    """
    on_foot = walking_factor.astype(np.float64)
    if not street.is_pushed:
        return kph / on_foot
    pushing = np.minimum(kph, PUSHING_KPH) / on_foot
    riding = np.maximum(kph / cycling_factor.astype(np.float64), pushing)
    return np.where(level_kph > PUSHING_KPH, riding, kph / on_foot)


def crossing_ms(length_m: FloatArray, kph: FloatArray) -> Int64Array:
    """
    Return the time along edges in whole milliseconds, at most `LONGEST_CROSSING_MS`.

    Closed edges (0 km/h) get 0; the caller has to mask them.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ms = np.where(kph > 0.0, length_m * 3600.0 / kph, 0.0)
    return np.rint(np.minimum(ms, LONGEST_CROSSING_MS)).astype(np.int64)


def connector_ms(distance_m: FloatArray, kph: float = CONNECTOR_KPH) -> Int64Array:
    """Return the walking time of connectors in whole milliseconds."""
    return np.rint(np.asarray(distance_m, dtype=np.float64) * (3600.0 / kph)).astype(np.int64)


def connector_kph(transportation: Transportation) -> float:
    """Return the walking speed in km/h between a point and its street."""
    own = transportation.speed
    return own if own is not None and transportation.street.is_on_foot else CONNECTOR_KPH


def at_own_speed(kph: FloatArray, street: StreetMode, own: float, keeps: BoolArray) -> FloatArray:
    """
    Return the speeds of streets for a custom speed.

    Parameters
    ----------
    kph : float64 array of shape (n,)
        Speeds of the network.
    street : StreetMode
        One with a usual speed.
    own : float
        Speed where the network has the usual one.
    keeps : bool array of shape (n,)
        Ferries and elevators, whose speeds do not depend on who rides.
    """
    own_speeds = kph * (own / street.usual_kph)
    if street.is_pushed:
        own_speeds = np.where(kph > PUSHING_KPH, np.maximum(own_speeds, PUSHING_KPH), kph)
    return np.where(keeps, kph, own_speeds)
