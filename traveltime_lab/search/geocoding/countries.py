"""
Countries: ISO 3166-1 codes, English names, and the countries of time zones.
"""

from __future__ import annotations

from typing import NamedTuple

import iso3166

from traveltime_lab._arrays import FloatArray
from traveltime_lab.errors import InputError
from traveltime_lab.timezones import country_code, zones_at


class Country(NamedTuple):
    """Codes and English name of a country."""

    alpha_2: str
    alpha_3: str
    name: str


#: Short English names in place of the formal ones of ISO, mostly those of iso3166.tab of the tz database.
_SHORT_NAMES = {
    "BN": "Brunei", "BO": "Bolivia", "BQ": "Caribbean NL", "CD": "DR Congo", "CF": "Central African Rep.",
    "CG": "Republic of the Congo", "CV": "Cape Verde", "FK": "Falkland Islands", "FM": "Micronesia",
    "GB": "United Kingdom", "IR": "Iran", "KP": "North Korea", "KR": "South Korea", "LA": "Laos", "MD": "Moldova",
    "MF": "Saint Martin", "MO": "Macau", "NR": "Nauru", "PS": "Palestine", "RU": "Russia", "SH": "Saint Helena",
    "SX": "Sint Maarten", "SY": "Syria", "TC": "Turks and Caicos Is", "TF": "French S. Terr.", "TL": "East Timor",
    "TR": "Turkey", "TW": "Taiwan", "TZ": "Tanzania", "UM": "US minor outlying islands", "US": "United States",
    "VA": "Vatican City", "VC": "Saint Vincent", "VE": "Venezuela", "VG": "British Virgin Islands",
    "VI": "US Virgin Islands", "VN": "Vietnam",
}  # fmt: skip
#: Codes that iso3166 lists but ISO 3166-1 leaves to its users: Kosovo.
_NOT_ISO = {"XK"}

#: Sorted by alpha-2 code.
COUNTRIES: tuple[Country, ...] = tuple(
    Country(row.alpha2, row.alpha3, _SHORT_NAMES.get(row.alpha2, row.name))
    for code, row in sorted(iso3166.countries_by_alpha2.items())
    if code not in _NOT_ISO
)
_BY_CODE = {code: country for country in COUNTRIES for code in (country.alpha_2, country.alpha_3)}


def country_of(code: str) -> Country | None:
    """Return the country with an ISO 3166-1 alpha-2 or alpha-3 code, case-insensitive; None for unknown codes."""
    return _BY_CODE.get(code.strip().upper())


def countries_of(codes: object, name: str) -> frozenset[str]:
    """
    Return the alpha-2 codes of a list, or a comma-separated string, of country codes.

    Raises
    ------
    InputError
        If a code is unknown or there are no codes.
    """
    given = codes.split(",") if isinstance(codes, str) else codes
    if not isinstance(given, list | tuple | set | frozenset) or not given:
        msg = f"{name} must be country codes such as 'GB' or ['GBR', 'FR']; got {codes!r}"
        raise InputError(msg)
    found = set()
    for code in given:
        country = country_of(code) if isinstance(code, str) else None
        if country is None:
            msg = f"{name} has {code!r}, which is not an ISO 3166-1 alpha-2 or alpha-3 country code"
            raise InputError(msg)
        found.add(country.alpha_2)
    return frozenset(found)


def country_of_timezone(timezone: str) -> Country | None:
    """Return the country of a time zone in the tz database; None for zones without a country, such as ``UTC``."""
    return country_of(country_code(timezone))


def countries_at(lng: FloatArray, lat: FloatArray, otherwise: str) -> list[str]:
    """
    Return the country of each place.

    Parameters
    ----------
    lng, lat : float64 arrays of shape (n,)
        Places in EPSG:4326.
    otherwise : str
        IANA name of the time zone whose country places on the open sea get.

    Returns
    -------
    list of str
        ISO 3166-1 alpha-2 codes; empty where there is none.
    """
    zones = [zone or otherwise for zone in zones_at(lng, lat)]
    codes = {zone: getattr(country_of_timezone(zone), "alpha_2", "") for zone in set(zones)}
    return [codes[zone] for zone in zones]
