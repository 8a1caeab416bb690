"""Answers about names: places by name, and the address of a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import geopandas as gpd
import msgspec
import numpy as np

from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import InputError, ServiceError
from traveltime_lab.network.network import Network
from traveltime_lab.search.geocoding import geocode as library
from traveltime_lab.search.geocoding.countries import countries_at, countries_of, country_of
from traveltime_lab.search.geocoding.nominatim import Nominatim
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.context import Answer, Call
from traveltime_lab.server.contract import queries
from traveltime_lab.server.contract.errors import Failure, plain_failure, schema_failure
from traveltime_lab.server.endpoints.maps import features
from traveltime_lab.server.postcodes import Zones

#: Default number of places that a search by name returns (assumed; the contract has none).
_DEFAULT_RESULTS: Final = 10


class _NothingHereError(InputError):
    """There is no address near a place."""


def language_of(header: str | None) -> str:
    """Return the first language of an Accept-Language header, English by default."""
    first = (header or "").split(",")[0].partition(";")[0].strip()
    return first if first and first != "*" and len(first) < 36 and first.isascii() else "en"


def search(call: Call, query: queries.SearchQuery) -> Answer:
    """Answer a search for places by name."""
    language = language_of(call.headers.get("accept-language"))
    focus = None if query.focus_lat is None else {"lat": query.focus_lat, "lng": query.focus_lng}
    most, left_out = query.limit or _DEFAULT_RESULTS, queries.left_out(query)
    with call.lap("engine"):
        try:
            found = _geocoded(
                call.atlas,
                _geocoder(call, language),
                call.zones,
                query.query,
                # Places that are left out make room for others.
                limit=library.MAX_RESULTS if left_out else most,
                within_country=query.within_country,
                bounds=None if query.bounds is None else queries.read_bounds(query.bounds),
                focus=focus,
                format_name=bool(query.format_name),
                exclude_country=bool(query.format_exclude_country),
            )
        except InputError as error:
            raise _as_failure(error, query.within_country) from error
        except ServiceError as error:
            raise plain_failure(500, "The geocoder behind this service does not answer") from error
    found = [place for place in found if place.get("type") not in left_out]
    return _features(call, found[:most], language)


def reverse(call: Call, query: queries.ReverseQuery) -> Answer:
    """Answer a search for the address of a place."""
    language = language_of(call.headers.get("accept-language"))
    with call.lap("engine"):
        try:
            found = _reverse_geocoded(
                [item.network for item in call.atlas.maps],
                _geocoder(call, language),
                query.lng,
                query.lat,
                within_country=query.within_country,
            )
        except _NothingHereError as error:
            raise plain_failure(400, "There is no address near this place") from error
        except InputError as error:
            raise _as_failure(error, query.within_country) from error
        except ServiceError as error:
            raise plain_failure(500, "The geocoder behind this service does not answer") from error
    return _features(call, [found], language)


def _as_failure(error: InputError, within_country: str | None) -> Failure:
    """Return the failure of a query that the geocoder cannot use."""
    name = "within.country" if within_country is not None and "within_country" in str(error) else "query"
    return schema_failure({f"obj.{name}": [str(error)]})


def _geocoder(call: Call, language: str) -> Nominatim | None:
    return None if call.nominatim is None else replace(call.nominatim, language=language)


def _features(call: Call, found: list[dict[str, Any]], language: str) -> Answer:
    listed = []
    for place in found:
        properties = {key: value for key, value in place.items() if key not in ("lng", "lat") and value is not None}
        covering = call.atlas.covering(place["lng"], place["lat"])
        if covering:
            properties["features"] = features(covering[0], call.zones)
        geometry = {"type": "Point", "coordinates": [place["lng"], place["lat"]]}
        listed.append({"type": "Feature", "geometry": geometry, "properties": properties})
    body = msgspec.json.encode({"type": "FeatureCollection", "features": listed})
    # Networks have one name of each place, in no particular language.
    return Answer(body, headers={} if call.nominatim is None else {"Content-Language": language})


def _geocoded(
    atlas: Atlas, nominatim: Nominatim | None, zones: Zones | None, query: str, *, limit: int, **options: Any
) -> list[dict[str, Any]]:
    """
    Return places by name, best first.

    Parameters
    ----------
    atlas : Atlas
    nominatim : Nominatim, optional
        Server to query instead of the networks and the zones.
    zones : Zones, optional
        Postcodes, which are preferred to those in the addresses of networks.
    query : str
    limit : int
    options
        Further arguments of `traveltime_lab.geocode`.

    Returns
    -------
    list of dict
        ``lng``, ``lat`` and the properties of docs/contract.md, 7.17, as far as they are known.
    """
    if nominatim is not None:
        return _places(nominatim.geocode(query, limit=limit, **options))
    found = [
        place for item in atlas.maps for place in _places(library.geocode(item.network, query, limit=limit, **options))
    ]
    if zones is not None:
        codes = _zone_places(atlas, zones, query, **options)
        known = {place["postcode"] for place in codes}
        found = [place for place in found if place.get("type") != "postcode" or place["postcode"] not in known]
        found += codes
    worth = [place["score"] for place in found]
    if options["focus"] is not None and found:
        lng, lat = library.check_focus(options["focus"])
        lines = (np.array([[lng, place["lng"]], [lat, place["lat"]]]) for place in found)
        km = np.array([segment_lengths_m(*line)[0] for line in lines]) / 1000.0
        worth = (np.array(worth) * library.nearness(km)).tolist()
    order = sorted(range(len(found)), key=lambda i: -worth[i])
    return [found[i] for i in order[:limit]]


def _zone_places(
    atlas: Atlas,
    zones: Zones,
    query: str,
    *,
    within_country: str | None,
    bounds: tuple[float, float, float, float] | None,
    format_name: bool,
    exclude_country: bool,
    **_: Any,
) -> list[dict[str, Any]]:
    """Return the postcodes of a table of zones that a text names, in the form of `_geocoded`."""
    requested = None if within_country is None else countries_of(within_country, "within_country")
    found = []
    for position, score in zones.find(query).items():
        lng, lat, code = float(zones.lng[position]), float(zones.lat[position]), zones.postcodes[position]
        if bounds is not None and not (bounds[0] <= lng <= bounds[2] and bounds[1] <= lat <= bounds[3]):
            continue
        covering = atlas.covering(lng, lat)
        otherwise = covering[0].network.timezone if covering else ""
        alpha_2 = countries_at(np.array([lng]), np.array([lat]), otherwise)[0]
        if requested is not None and alpha_2 not in requested:
            continue
        row = dict.fromkeys(library.TEXTS, "") | {
            "name": code, "kind": "place=postcode", "postcode": code, "country": alpha_2,
        }  # fmt: skip
        texts = library.describe(row, format_name=format_name, exclude_country=exclude_country)
        found.append(
            {"lng": lng, "lat": lat}
            | {key: value for key, value in texts.items() if value}
            | {"name": texts["name"], "label": texts["label"], "score": score}
        )
    return found


def _reverse_geocoded(
    networks: Sequence[Network],
    nominatim: Nominatim | None,
    lng: float,
    lat: float,
    *,
    within_country: str | None,
) -> dict[str, Any]:
    """Return what is at a place, in the form of `_geocoded`; `_NothingHereError` where nothing is."""
    if nominatim is not None:
        found = nominatim.reverse_geocode(lng, lat)
        if within_country is not None:
            codes = countries_of(within_country, "within_country")
            found = found[[getattr(country_of(code), "alpha_2", "") in codes for code in found["country_code"]]]
        tables = [found]
    else:
        tables = [library.reverse_geocode(network, lng, lat, within_country=within_country) for network in networks]
    for table in tables:
        if len(table):
            return _places(table)[0]
    raise _NothingHereError("there is nothing at this place")


def _places(table: gpd.GeoDataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table of places, without empty values."""
    names = [*library.TEXTS, *(["score"] if "score" in table else [])]
    rows = table[names].to_dict("records")
    return [
        {"lng": float(point.x), "lat": float(point.y)}
        | {key: value for key, value in row.items() if value != ""}
        # Both are always there for the clients.
        | {"name": row["name"], "label": row["label"]}
        for row, point in zip(rows, table.geometry, strict=True)
    ]
