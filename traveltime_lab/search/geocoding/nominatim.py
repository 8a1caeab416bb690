"""
Geocoding with a Nominatim server, with results in the form of `traveltime_lab.search.geocoding.geocode`.

Requests are sent only to the server that the user specifies. Public servers have usage policies, such as at most one
request per second and a descriptive user agent; users are responsible for following them.
"""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import geopandas as gpd
import numpy as np
import shapely

from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, ServiceError
from traveltime_lab.search.geocoding.countries import countries_of
from traveltime_lab.search.geocoding.geocode import (
    check_bounds,
    check_focus,
    check_limit,
    check_lnglat,
    check_query,
    describe,
    nearest_first,
    result_frame,
)

#: Columns of a place, and the keys of Nominatim's ``address`` for each in order of preference.
_ADDRESS = {
    "house_number": ("house_number",),
    "street": ("road", "pedestrian", "footway", "path", "square"),
    "neighbourhood": ("neighbourhood", "suburb", "quarter"),
    "district": ("city_district", "district", "borough"),
    "city": ("city", "town", "village", "municipality", "hamlet"),
    "county": ("county",),
    "region": ("state", "region", "province"),
    "postcode": ("postcode",),
    "country": ("country_code",),
}
#: Half of the side in degrees of the box around a focus that is sent to the server (assumed).
_FOCUS_DEG = 0.5
#: Maximum size of a response in bytes.
_LONGEST_ANSWER = 20_000_000


@explained_keywords
@dataclass(frozen=True)
class Nominatim:
    """
    Geocoder that uses a Nominatim server.

    Parameters
    ----------
    url : str
        URL of the server, such as ``"http://127.0.0.1:8088"``, to which the paths ``/search`` and ``/reverse`` are
        appended.
    timeout : float, default 10
        Seconds to wait for a response.
    user_agent : str, default "traveltime_lab"
        HTTP header ``User-Agent``.
    language : str, optional
        Preferred languages of names, as in the HTTP header ``Accept-Language``.

    Raises
    ------
    InputError
        If `url` is not a URL with ``http`` or ``https``, or `timeout` is not a positive number.

    See Also
    --------
    geocode : Geocoding without a server.

    Examples
    --------
    The second line needs a running server:

    >>> world = tl.Nominatim("http://127.0.0.1:8088")
    >>> world.geocode("mercado público, porto alegre")  # doctest: +SKIP
    """

    url: str
    timeout: float = 10.0
    user_agent: str = "traveltime_lab"
    language: str | None = None
    _base: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        """Check the fields."""
        parts = urllib.parse.urlsplit(self.url) if isinstance(self.url, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            msg = f"url must be the URL of a Nominatim server, such as 'http://127.0.0.1:8088'; got {self.url!r}"
            raise InputError(msg)
        if isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float) or not self.timeout > 0:
            msg = f"timeout must be a positive number of seconds; got {self.timeout!r}"
            raise InputError(msg)
        object.__setattr__(self, "_base", self.url.rstrip("/"))

    def geocode(
        self,
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
        Return the places that match a text; see `traveltime_lab.geocode`.

        Parameters
        ----------
        query, limit, within_country, bounds, focus, format_name, exclude_country
            As in `traveltime_lab.geocode`. The server prefers results within half a degree of `focus`; with `bounds`,
            its results are sorted as there.

        Returns
        -------
        GeoDataFrame
            As returned by `traveltime_lab.geocode`, in the order of the server unless both `bounds` and `focus` are
            given; ``score`` is the server's ``importance``.

        Raises
        ------
        InputError, LimitError, CoordinateError
            As in `traveltime_lab.geocode`.
        ServiceError
            If the server does not answer, or its response is invalid.
        """
        parameters: dict[str, Any] = {"q": check_query(query), "limit": check_limit(limit), "addressdetails": 1}
        if within_country is not None:
            parameters["countrycodes"] = ",".join(sorted(countries_of(within_country, "within_country"))).lower()
        if focus is not None:
            lng, lat = check_focus(focus)
            box = (lng - _FOCUS_DEG, lat - _FOCUS_DEG, lng + _FOCUS_DEG, lat + _FOCUS_DEG)
            parameters["viewbox"] = ",".join(f"{value:.7f}" for value in box)
        if bounds is not None:
            parameters |= {"viewbox": ",".join(f"{value:.7f}" for value in check_bounds(bounds)), "bounded": 1}
        found = self._ask("search", parameters)
        if not isinstance(found, list):
            raise self._strange("search")
        table = self._results(found[: int(limit)], "search", format_name, exclude_country)
        # A server takes one box, which is that of `bounds`.
        return table if focus is None or bounds is None else nearest_first(table, *check_focus(focus))

    def reverse_geocode(
        self, lng: float, lat: float, *, format_name: bool = False, exclude_country: bool = False
    ) -> gpd.GeoDataFrame:
        """
        Return the place at a coordinate; see `traveltime_lab.reverse_geocode`.

        Parameters
        ----------
        lng, lat, format_name, exclude_country
            As in `traveltime_lab.reverse_geocode`.

        Returns
        -------
        GeoDataFrame
            One row, or none if the server finds nothing; with ``score`` as returned by `geocode`.

        Raises
        ------
        InputError, CoordinateError
            As in `traveltime_lab.reverse_geocode`.
        ServiceError
            If the server does not answer, or its response is invalid.
        """
        x, y = check_lnglat(lng, lat)
        found = self._ask("reverse", {"lon": x, "lat": y, "addressdetails": 1})
        if not isinstance(found, dict):
            raise self._strange("reverse")
        return self._results([] if "error" in found else [found], "reverse", format_name, exclude_country)

    def _ask(self, path: str, parameters: Mapping[str, Any]) -> Any:
        """Send a request to the server and return its response."""
        text = urllib.parse.urlencode({**parameters, "format": "jsonv2"})
        headers = {"User-Agent": self.user_agent, "Accept": "application/json"}
        if self.language:
            headers["Accept-Language"] = self.language
        request = urllib.request.Request(f"{self._base}/{path}?{text}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                body = answer.read(_LONGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            error.close()
            msg = f"the Nominatim server at {self._base} answered /{path} with {error.code} {error.reason}"
            raise ServiceError(msg) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            msg = f"no answer from the Nominatim server at {self._base} within {self.timeout:g} s: {reason}"
            raise ServiceError(msg) from error
        try:
            return json.loads(body) if len(body) <= _LONGEST_ANSWER else None
        except (ValueError, RecursionError) as error:
            raise self._strange(path) from error

    def _strange(self, path: str) -> ServiceError:
        """Return the error for an invalid response."""
        return ServiceError(
            f"the response of {self._base} to /{path} has no results in the format jsonv2; is it a Nominatim server?"
        )

    def _results(self, found: list[Any], path: str, format_name: bool, exclude_country: bool) -> gpd.GeoDataFrame:
        """Return the results of the server as a table."""
        try:
            rows = [_place_of(result) for result in found]
            points = np.array([[float(result["lon"]), float(result["lat"])] for result in found]).reshape(-1, 2)
            boxes = [_box_of(result, point) for result, point in zip(found, points, strict=True)]
            scores = [min(1.0, float(result.get("importance") or 0.0)) for result in found]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._strange(path) from error
        if not np.isfinite(points).all() or any(map(math.isnan, scores)):
            raise self._strange(path)
        texts = [describe(row, format_name=format_name, exclude_country=exclude_country) for row in rows]
        return result_frame(
            texts,
            {"score": scores},
            osm_type=[row["osm_type"] for row in rows],
            osm_id=[row["osm_id"] for row in rows],
            box=np.array(boxes).reshape(-1, 4),
            lng=points[:, 0],
            lat=points[:, 1],
        )


def _place_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as a row of a table of places."""
    address = result.get("address") or {}
    row: dict[str, Any] = {
        column: next((str(address[key]) for key in keys if address.get(key)), "") for column, keys in _ADDRESS.items()
    }
    row["name"] = str(result.get("name") or "")
    if not row["name"] and not row["house_number"]:
        row["name"] = str(result.get("display_name") or "").partition(",")[0]
    row["kind"] = f"{result.get('category') or ''}={result.get('type') or ''}"
    row["osm_type"] = str(result.get("osm_type") or "")[:1]
    row["osm_id"] = int(result["osm_id"]) if result.get("osm_id") is not None else None
    return row


def _box_of(result: Mapping[str, Any], point: Any) -> list[float]:
    """Return west, south, east, north; the order of Nominatim is south, north, west, east."""
    box = result.get("boundingbox")
    if not box:
        return [point[0], point[1], point[0], point[1]]
    south, north, west, east = map(float, box)
    return [west, south, east, north]
