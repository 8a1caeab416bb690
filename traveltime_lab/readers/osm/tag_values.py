"""Parse quantities in OpenStreetMap tags: speed limits in units, words or country codes, and durations."""

from __future__ import annotations

import re

KPH_PER_MPH = 1.609344
KPH_PER_KNOT = 1.852
WALKING_PACE_KPH = 7.0  # maxspeed=walk; OSRM profiles/car.lua has it for DE:living_street
UNLIMITED_KPH = 140.0  # maxspeed=none; OSRM profiles/car.lua

# Limits by road type, and countries with other limits: OpenStreetMap wiki, "Speed limits", as used in OSRM
# profiles/car.lua (maxspeed_table_default, maxspeed_table).
_TYPE_KPH = {"urban": 50.0, "rural": 90.0, "trunk": 110.0, "motorway": 130.0}
_COUNTRY_KPH: dict[str, dict[str, float]] = {
    "ar": {"urban": 40, "rural": 110},
    "at": {"rural": 100, "trunk": 100},
    "be": {"motorway": 120},
    "be-bru": {"rural": 70, "urban": 30},
    "be-vlg": {"rural": 70},
    "bg": {"motorway": 140},
    "by": {"urban": 60, "motorway": 110},
    "ca-on": {"rural": 80},
    "ch": {"rural": 80, "trunk": 100, "motorway": 120},
    "de": {"living_street": WALKING_PACE_KPH, "rural": 100, "motorway": UNLIMITED_KPH},
    "dk": {"rural": 80},
    "es": {"trunk": 90},
    "fr": {"rural": 80},
    "gb": {
        "nsl_restricted": 30 * KPH_PER_MPH,
        "nsl_single": 60 * KPH_PER_MPH,
        "nsl_dual": 70 * KPH_PER_MPH,
        "motorway": 70 * KPH_PER_MPH,
    },
    "lv": {"living_street": 20},
    "nl": {"rural": 80, "trunk": 100},
    "no": {"rural": 80, "motorway": 110},
    "ph": {"urban": 40, "rural": 80, "motorway": 100},
    "pl": {"rural": 100, "expressway": 120, "motorway": 140},
    "ro": {"trunk": 100},
    "ru": {"living_street": 20, "urban": 60, "motorway": 110},
    "za": {"urban": 60, "rural": 100},
}
_ALIASES = {"uk": "gb"}

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*(km/h|kmh|kph|mph|mp/h|knots|knot)?$")
_ZONE = re.compile(r"zone:?(\d+)$")
_FACTORS = {"mph": KPH_PER_MPH, "mp/h": KPH_PER_MPH, "knots": KPH_PER_KNOT, "knot": KPH_PER_KNOT}


def parse_maxspeed_kph(text: str | None) -> float | None:
    """
    Parse the value of a ``maxspeed`` tag.

    Parameters
    ----------
    text : str or None
        Value such as ``50``, ``30 mph``, ``10 knots``, ``walk``, ``none``, ``IT:urban`` or ``DE:zone:30``. The
        lowest of several values (``50;30``, ``80|60``) is used. A number without a unit is in km/h in every country.
        Words like ``rural`` need a country code before them.

    Returns
    -------
    float or None
        km/h; None if there is no positive limit, as in ``signals`` or ``variable``.
    """
    if not text:
        return None
    limits = [limit for part in re.split(r"[;|]", text) if (limit := _parse_one(part.strip().lower()))]
    return min(limits, default=None)


def _parse_one(text: str) -> float | None:
    if match := _NUMBER.match(text):
        return float(match[1]) * _FACTORS.get(match[2] or "", 1.0)
    if text == "walk":
        return WALKING_PACE_KPH
    if text == "none":
        return UNLIMITED_KPH
    prefix, _, word = text.partition(":") if ":" in text and not _ZONE.match(text) else ("", "", text)
    if match := _ZONE.match(word):
        # The numbers of British zones are in miles per hour.
        return float(match[1]) * (KPH_PER_MPH if prefix in ("gb", "uk") else 1.0)
    if not prefix:
        return None
    prefix = _ALIASES.get(prefix, prefix)
    for place in (prefix, prefix.partition("-")[0]):
        if word in _COUNTRY_KPH.get(place, {}):
            return _COUNTRY_KPH[place][word]
    return _TYPE_KPH.get(word)


_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$", re.IGNORECASE)


def parse_duration_s(text: str | None) -> float | None:
    """
    Parse the value of a ``duration`` tag, in seconds.

    Parameters
    ----------
    text : str or None
        Value such as ``HH:MM``, ``HH:MM:SS``, ``D:HH:MM:SS``, a number of minutes, or ISO 8601 such as ``PT1H30M``.

    Returns
    -------
    float or None
        None if there is no positive duration.
    """
    text = (text or "").strip()
    if match := _ISO_DURATION.match(text):
        days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
        total = float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
        return total or None
    parts = text.split(":")
    if len(parts) > 4 or not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        return None
    numbers = [float(part) for part in parts]
    if len(numbers) == 1:
        total = numbers[0] * 60.0
    else:
        unit_s = (3600.0, 60.0) if len(numbers) == 2 else (86_400.0, 3600.0, 60.0, 1.0)[-len(numbers) :]
        total = sum(number * unit for number, unit in zip(numbers, unit_s, strict=True))
    return total or None
