"""
Geocoding with the names in the network.

Results depend on the source of the network. An OSM file has the places, shops, stations and addresses that are mapped;
a network from a graph or from GeoDataFrames has streets only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import FloatArray, Int64Array
from traveltime_lab._checks import flag, is_whole, items
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.errors import CoordinateError, InputError, LimitError
from traveltime_lab.kernels.street import nearest
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.search.geocoding.countries import countries_of, country_of
from traveltime_lab.search.geocoding.gazetteer import gazetteer, street_entries
from traveltime_lab.streets.segments import SegmentIndex
from traveltime_lab.streets.snapping import ANY, no_barriers

#: Maximum number of results of a query. Source: docs/contract.md, 3.9.
MAX_RESULTS: Final = 50

#: Columns of strings, empty if unknown. Source: docs/contract.md, 7.17.
TEXTS: Final = (
    "name", "label", "category", "type", "house_number", "street", "neighbourhood", "district", "city", "county",
    "region", "postcode", "country", "country_code",
)  # fmt: skip

#: Maximum distance in metres to a house, another place, a street and a settlement in reverse geocoding (assumed).
_REACH_M: Final = {"house": 40.0, "place": 30.0, "street": 300.0, "settlement": 15_000.0}
#: Distance in metres at which the score of a result of reverse geocoding is 0.5 (assumed).
_HALF_SCORE_M: Final = 100.0
#: Results with the same name within this distance in metres are duplicates (assumed).
_SAME_PLACE_M: Final = 150.0
#: Distance from the focus in kilometres at which scores are multiplied by 0.75 for sorting; the limit is 0.5 (assumed).
_FOCUS_KM: Final = 10.0


@explained_keywords
def geocode(
    network: Network,
    query: str,
    *,
    limit: int = 10,
    within_country: str | list[str] | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    focus: shapely.Point | Mapping[str, float] | None = None,
    format_name: bool = False,
    exclude_country: bool = False,
) -> gpd.GeoDataFrame:
    """
    Return the places, addresses and streets that match a text.

    Parameters
    ----------
    network : Network
    query : str
        Name or address, such as ``"Kaivokatu 5, Helsinki"``. Accents, case and punctuation are ignored. Words match by
        prefix, and long words may contain typing errors.
    limit : int, default 10
        Maximum number of results, 1 to 50.
    within_country : str or list of str, optional
        ISO 3166-1 alpha-2 or alpha-3 codes as a list or a comma-separated string.
    bounds : tuple of float, optional
        Bounding box of results: west, south, east, north in EPSG:4326. West may be larger than east, if the box crosses
        the 180th meridian.
    focus : Point or mapping, optional
        Point, or mapping ``{"lat": ..., "lng": ...}``, near which results are preferred.
    format_name : bool, default False
        Whether to return a formatted address in the column ``name`` instead of the name.
    exclude_country : bool, default False
        With `format_name`: whether to omit the country.

    Returns
    -------
    GeoDataFrame
        Points in EPSG:4326, best match first. Columns of strings, empty if unknown: ``name``, ``label`` (name and
        address), ``category`` and ``type`` (key and value of the OSM tag), ``house_number``, ``street``,
        ``neighbourhood``, ``district``, ``city``, ``county``, ``region``, ``postcode``, ``country`` and
        ``country_code`` (alpha-3). Further columns: ``score`` (float64, at most 1), ``osm_type`` (``n``, ``w`` or
        ``r``, empty for streets), ``osm_id`` (Int64) and the bounding box ``west``, ``south``, ``east``, ``north``. The
        table is empty if nothing matches.

    Raises
    ------
    InputError
        If `query` has no letter or digit, or an argument is invalid.
    LimitError
        If `limit` is out of range.
    CoordinateError
        If coordinates of `bounds` or `focus` are invalid.

    See Also
    --------
    reverse_geocode : Return the place at a coordinate.
    Nominatim : Geocoding with a Nominatim server.

    Notes
    -----
    Scores are defined in `traveltime_lab.search.geocoding.gazetteer.Gazetteer.search`. Places without a city or suburb
    get those of the nearest settlement, and places without a country that of the time zone where they are.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> found = tl.geocode(network, "avenida ipiranga", limit=1)
    >>> found[["name", "country"]]
                   name country
    0  Avenida Ipiranga  Brazil
    """
    check_network(network)
    check_query(query)
    limit = check_limit(limit)
    _check_flags(format_name=format_name, exclude_country=exclude_country)
    known = gazetteer(network)
    entries, scores = known.search(query)
    kept = np.ones(entries.size, np.bool_)
    if within_country is not None:
        codes = countries_of(within_country, "within_country")
        kept &= np.isin(known.entries["country"].to_numpy(dtype=object)[entries].astype(str), list(codes))
    if bounds is not None:
        west, south, east, north = check_bounds(bounds)
        lng, lat = (known.entries[name].to_numpy(float)[entries] for name in ("lng", "lat"))
        kept &= ((lng - west) % 360.0 <= (east - west) % 360.0) & (lat >= south) & (lat <= north)
    worth = scores
    if focus is not None:
        worth = scores * nearness(known.metres_to(*check_focus(focus), entries) / 1000.0)
    entries, scores, worth = entries[kept], scores[kept], worth[kept]
    order = np.lexsort((entries, -worth))
    order = _distinct(known, entries, order, limit)
    return _results(
        known.entries.iloc[entries[order]],
        {"score": scores[order]},
        format_name=format_name,
        exclude_country=exclude_country,
    )


@explained_keywords
def reverse_geocode(
    network: Network,
    lng: float,
    lat: float,
    *,
    within_country: str | list[str] | None = None,
    format_name: bool = False,
    exclude_country: bool = False,
) -> gpd.GeoDataFrame:
    """
    Return the address, place, street or settlement at a coordinate.

    Parameters
    ----------
    network : Network
    lng, lat : float
        Coordinates in EPSG:4326.
    within_country : str or list of str, optional
        As in `geocode`.
    format_name, exclude_country : bool
        As in `geocode`.

    Returns
    -------
    GeoDataFrame
        Columns as returned by `geocode`, and ``distance`` (float64, m); the ``score`` falls with it, to a half at
        100 m. There is one row, or none if nothing is near. The result is the nearest of the houses within 40 m and of
        the other places within 30 m (or inside of their bounding box, if it is small); otherwise the nearest named
        street within 300 m; otherwise the nearest settlement within 15 km.

    Raises
    ------
    InputError
        If an argument is invalid.
    CoordinateError
        If `lng` or `lat` is not finite or out of range.

    See Also
    --------
    geocode : Return the places that match a text.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> tl.reverse_geocode(network, -51.227811, -30.027565)["name"].tolist()
    ['Bará do Mercado']
    """
    check_network(network)
    _check_flags(format_name=format_name, exclude_country=exclude_country)
    lng, lat = check_lnglat(lng, lat)
    known = gazetteer(network)
    entry, metres = -1, math.inf
    n_places = len(network.tables.places)
    if n_places:
        every = np.arange(n_places)
        away = known.metres_to(lng, lat, every)
        kinds = known.entries["kind"].to_numpy()[:n_places].astype(str)
        is_area = np.char.startswith(kinds, "place=") & (kinds != "place=house")
        reach = np.where(kinds == "place=house", _REACH_M["house"], _REACH_M["place"])
        here = np.flatnonzero(~is_area & (np.minimum(away, _outside_m(known, lng, lat, n_places)) <= reach))
        if here.size:
            entry = int(here[np.argmin(away[here])])
            metres = float(away[entry])
    if entry < 0:
        entry, metres = _nearest_street(network, lng, lat)
    if entry < 0 and n_places:
        settlements = np.flatnonzero(is_area)
        if settlements.size:
            nearest_one = settlements[np.argmin(away[settlements])]
            if away[nearest_one] <= _REACH_M["settlement"]:
                entry, metres = int(nearest_one), float(away[nearest_one])
    found = known.entries.iloc[[entry] if entry >= 0 else []]
    if within_country is not None:
        found = found[found["country"].isin(countries_of(within_country, "within_country"))]
    extra = {
        "score": np.full(len(found), 1.0 / (1.0 + metres / _HALF_SCORE_M)),
        "distance": np.full(len(found), metres),
    }
    return _results(found, extra, format_name=format_name, exclude_country=exclude_country)


def nearness(km: FloatArray) -> FloatArray:
    """Return the factors of scores, for sorting, by distance from the focus in kilometres."""
    return 0.5 + 0.5 / (1.0 + km / _FOCUS_KM)


def nearest_first(table: gpd.GeoDataFrame, lng: float, lat: float) -> gpd.GeoDataFrame:
    """Return results sorted by their scores and their distances from a focus."""
    lines = (np.array([[lng, point.x], [lat, point.y]]) for point in table.geometry)
    km = np.array([segment_lengths_m(*line)[0] for line in lines], np.float64) / 1000.0
    order = np.argsort(-table["score"].to_numpy(np.float64) * nearness(km), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _outside_m(known: Any, lng: float, lat: float, n: int) -> FloatArray:
    """Return the distance to the bounding boxes of places in metres; inf for boxes wider than 500 m."""
    frame = known.network.frame
    west, south, east, north = (known.entries[side].to_numpy(float)[:n] for side in ("west", "south", "east", "north"))
    (x,), (y,) = frame.to_xy(np.array([lng]), np.array([lat]))
    x1, y1 = frame.to_xy(west, south)
    x2, y2 = frame.to_xy(east, north)
    outside = np.hypot(np.maximum(0.0, np.maximum(x1 - x, x - x2)), np.maximum(0.0, np.maximum(y1 - y, y - y2)))
    return np.where((x2 - x1 > 500.0) | (y2 - y1 > 500.0), np.inf, outside)


_NAMED_STREETS = Derived[None, SegmentIndex | None]("index of named streets")


def _nearest_street(network: Network, lng: float, lat: float) -> tuple[int, float]:
    """Return the entry of the nearest named street and its distance in metres; -1 if there is none nearby."""
    entry = street_entries(network)

    def build() -> SegmentIndex | None:
        return SegmentIndex.build(network.streets, entry >= 0) if (entry >= 0).any() else None

    index = _NAMED_STREETS.of(network, None, build)
    if index is None:
        return -1, math.inf
    x, y = network.frame.to_xy(np.array([lng]), np.array([lat]))
    rules = (_REACH_M["street"], index.grid, ANY, no_barriers())
    found, _ = nearest.nearest_segments(x, y, network.frame.shrink(y), *rules)
    if found.segment[0] < 0:
        return -1, math.inf
    return int(entry[index.edge[found.segment[0]]]), float(found.distance[0])


def _distinct(known: Any, entries: Any, order: Any, limit: int) -> Int64Array:
    """Return the first places in an order without duplicates, such as places mapped as node and as area."""
    names = known.entries["name"].to_numpy()
    numbers = known.entries["house_number"].to_numpy()
    kept: list[int] = []
    for row in order.tolist():
        entry = entries[row]
        twins = [
            other
            for other in kept
            if names[entries[other]] == names[entry]
            and numbers[entries[other]] == numbers[entry]
            and math.hypot(known.x[entries[other]] - known.x[entry], known.y[entries[other]] - known.y[entry])
            < _SAME_PLACE_M
            and bool(names[entry])
        ]
        if not twins:
            kept.append(row)
        if len(kept) == limit:
            break
    return np.array(kept, np.int64)


def _results(
    found: pd.DataFrame, extra: Mapping[str, Any], *, format_name: bool, exclude_country: bool
) -> gpd.GeoDataFrame:
    """Return entries of the gazetteer as a table of results."""
    rows = [describe(row, format_name=format_name, exclude_country=exclude_country) for row in found.to_dict("records")]
    return result_frame(
        rows,
        extra,
        osm_type=found["osm_type"].tolist(),
        osm_id=[osm_id if kind else None for kind, osm_id in zip(found["osm_type"], found["osm_id"], strict=True)],
        box=found[["west", "south", "east", "north"]].to_numpy(float),
        lng=found["lng"].to_numpy(float),
        lat=found["lat"].to_numpy(float),
    )


def describe(row: Mapping[str, Any], *, format_name: bool, exclude_country: bool) -> dict[str, str]:
    """
    Return the strings of a result.

    Parameters
    ----------
    row : mapping
        Row of a table of places.
    format_name, exclude_country : bool
        As in `geocode`.

    Returns
    -------
    dict of str
        The columns of `TEXTS`.
    """
    country = country_of(row["country"]) if row["country"] else None
    country_name = country.name if country else ""
    address = f"{row['street']} {row['house_number']}".strip() if row["house_number"] else ""
    name = row["name"] or address
    city = f"{row['postcode']} {row['city']}".strip()
    # The line of the city begins with its postcode, which need not be repeated.
    first = "" if row["kind"] == "place=postcode" else name
    lines = [first, address, city, row["region"], country_name]
    if format_name:
        name = _one_line([first, address, city, "" if exclude_country else country_name])
    category, _, kind = row["kind"].partition("=")
    texts = {key: str(row.get(key, "")) for key in TEXTS}
    texts |= {"name": name, "label": _one_line(lines), "category": category, "type": kind}
    return texts | {"country": country_name, "country_code": country.alpha_3 if country else ""}


def _one_line(parts: list[str]) -> str:
    """Join unique strings with commas."""
    return ", ".join(dict.fromkeys(part for part in parts if part))


def result_frame(
    rows: list[dict[str, str]], extra: Mapping[str, Any], *, osm_type: Any, osm_id: Any, box: Any, lng: Any, lat: Any
) -> gpd.GeoDataFrame:
    """Return the result table of `geocode` and similar functions."""
    columns: dict[str, Any] = {name: pd.Series([row[name] for row in rows], dtype=object) for name in TEXTS}
    columns |= {name: np.asarray(values, dtype=np.float64) for name, values in extra.items()}
    columns["osm_type"] = pd.Series(osm_type, dtype=object)
    columns["osm_id"] = pd.array(osm_id, dtype="Int64")
    columns |= dict(zip(("west", "south", "east", "north"), np.asarray(box, float).reshape(-1, 4).T, strict=True))
    return gpd.GeoDataFrame(columns, geometry=gpd.points_from_xy(lng, lat), crs="EPSG:4326")


# Validation, shared with other geocoders -----------------------------------------------------------------------------


def check_query(query: Any) -> str:
    """Validate a query."""
    if not isinstance(query, str) or not any(letter.isalnum() for letter in query):
        msg = f"query must be a string with a letter or a digit; got {query!r}"
        raise InputError(msg)
    return query


def check_limit(limit: Any) -> int:
    """Validate a number of results."""
    if not is_whole(limit):
        msg = f"limit must be a whole number from 1 to {MAX_RESULTS}; got {limit!r}"
        raise InputError(msg)
    if not 1 <= limit <= MAX_RESULTS:
        msg = f"limit must be from 1 to {MAX_RESULTS}; got {limit}"
        raise LimitError(msg)
    return int(limit)


def _check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        flag(value, name)


def check_lnglat(lng: Any, lat: Any) -> tuple[float, float]:
    """Validate a longitude and a latitude."""
    try:
        x, y = float(lng), float(lat)
    except OverflowError:
        x = y = math.inf
    except (TypeError, ValueError):
        msg = f"lng and lat must be numbers; got {lng!r} and {lat!r}"
        raise InputError(msg) from None
    if not (abs(x) <= 180.0 and abs(y) <= 90.0):
        msg = f"lng must be from -180 to 180 and lat from -90 to 90; got lng={lng!r}, lat={lat!r}"
        raise CoordinateError(msg)
    return x, y


def check_focus(focus: Any) -> tuple[float, float]:
    """Return the longitude and latitude of a focus."""
    if isinstance(focus, shapely.Point) and not focus.is_empty:
        return check_lnglat(focus.x, focus.y)
    if isinstance(focus, Mapping) and set(focus) == {"lat", "lng"}:
        return check_lnglat(focus["lng"], focus["lat"])
    msg = f"focus must be a Point(lng, lat) or {{'lat': ..., 'lng': ...}}; got {focus!r}"
    raise InputError(msg)


def check_bounds(bounds: Any) -> tuple[float, float, float, float]:
    """Validate a bounding box."""
    try:
        west, south, east, north = items(bounds, "bounds", "four numbers")
    except (TypeError, ValueError):
        msg = f"bounds must be four numbers: west, south, east, north; got {bounds!r}"
        raise InputError(msg) from None
    (west, south), (east, north) = check_lnglat(west, south), check_lnglat(east, north)
    if south > north:
        msg = f"bounds has a south of {south} above its north of {north}; the order is west, south, east, north"
        raise CoordinateError(msg)
    return west, south, east, north
