"""
Large matrix requests in JSON: 100,000 locations without a Python object for each.

msgspec checks all of a request but leaves its long arrays as text, which kernels read and write. They know only the
plainest spelling; whatever they do not know, and every fault, goes the ordinary way
(`traveltime_lab.server.contract.decode`, `traveltime_lab.server.endpoints.locations`), which gives the same answers.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Raw, Struct

from traveltime_lab.kernels import json_text
from traveltime_lab.server.contract import limits, requests, rules
from traveltime_lab.server.endpoints.locations import Positions, once

#: Bytes below which a request goes the ordinary way, which costs less than a millisecond there.
LEAST_BYTES: Final = 50_000

Bytes = npt.NDArray[np.uint8]
Spans = tuple[Bytes, Positions, Positions]

#: The shortest location has 37 bytes, the shortest item of an array of strings 3.
_LEAST_LOCATION, _LEAST_STRING = 37, 3


class _FastOneToMany(requests.FastOneToMany, kw_only=True):
    arrival_location_ids: Raw  # type: ignore[assignment]  # text instead of a list


class _FastManyToOne(requests.FastManyToOne, kw_only=True):
    departure_location_ids: Raw  # type: ignore[assignment]  # text instead of a list


class _FastSearches(Struct):
    one_to_many: Annotated[list[_FastOneToMany], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    many_to_one: Annotated[list[_FastManyToOne], Meta(max_length=limits.MAX_SEARCHES)] | None = None


class _FastRequest(Struct, kw_only=True):
    locations: Raw
    arrival_searches: _FastSearches


class _Departure(requests.MatrixDeparture, kw_only=True):
    arrival_location_ids: Raw  # type: ignore[assignment]  # text instead of a list


class _Arrival(requests.MatrixArrival, kw_only=True):
    departure_location_ids: Raw  # type: ignore[assignment]  # text instead of a list


class _Request(Struct, kw_only=True):
    locations: Raw
    departure_searches: Annotated[list[_Departure], Meta(max_length=limits.MAX_SEARCHES)] | None = None
    arrival_searches: Annotated[list[_Arrival], Meta(max_length=limits.MAX_SEARCHES)] | None = None


_KINDS: Final = {
    requests.FastMatrixRequest: (_FastRequest, limits.MAX_FAST_TARGETS),
    requests.MatrixRequest: (_Request, limits.MAX_TARGETS),
}


class BulkPlaces:
    """
    The locations of one large request; see `traveltime_lab.server.endpoints.locations.Places`.

    Attributes
    ----------
    lat, lng : float64 arrays of shape (n,)
    """

    def __init__(self, ids: Spans, lat: npt.NDArray[np.float64], lng: npt.NDArray[np.float64]) -> None:
        self.lat = lat
        self.lng = lng
        self._ids = ids
        self._table = np.full(1 << int(2 * max(lat.size, 1)).bit_length(), -1, np.int32)
        #: Whether all ids differ.
        self.is_unique = bool(json_text.index_texts(*ids, self._table))
        self._targets: dict[int, Positions] = {}
        self._origins: dict[int, int] = {}

    def add(self, search: Any, most: int) -> bool:
        """Find the places of a search; False if one of them is unknown or spelled unusually."""
        leaves = hasattr(search, "departure_location_id")
        origin = search.departure_location_id if leaves else search.arrival_location_id
        text = np.frombuffer(origin.encode("utf-8", "surrogatepass"), np.uint8)
        one = self._find((text, np.zeros(1, np.int64), np.array([text.size])))
        targets = _strings(search.arrival_location_ids if leaves else search.departure_location_ids)
        if one is None or targets is None or not 0 < targets[1].size <= most:
            return False
        found = self._find(targets)
        if found is None:
            return False
        self._origins[id(search)], self._targets[id(search)] = int(one[0]), once(found)
        return True

    def _find(self, texts: Spans) -> Positions | None:
        found = np.empty(texts[1].size, np.int64)
        return found if json_text.find_texts(*self._ids, self._table, *texts, found) else None

    def targets(self, search: Any) -> Positions:
        """Return the positions of the targets of a search, in its order, each once."""
        return self._targets[id(search)]

    def origin(self, search: Any) -> int:
        """Return the position of the place that all trips of a search begin or end at."""
        return self._origins[id(search)]

    def names(self, positions: Positions) -> list[str]:
        """Return the ids at positions."""
        data, starts, ends = self._ids
        text = data.tobytes()
        spans = zip(starts[positions].tolist(), ends[positions].tolist(), strict=True)
        return [text[start:end].decode("ascii") for start, end in spans]

    def reached(
        self,
        rows: Positions,
        numbers: dict[str, Positions],
        breakdown: tuple[str, Positions] | None,
        *,
        is_fast: bool,
    ) -> Raw:
        """Return the array of reached places with the properties of each; see `Places.reached`."""
        texts, columns = [], []
        before = '","properties":' + ("{" if is_fast else "[{")
        for name, values in numbers.items():
            texts.append(f'{before}"{name}":')
            columns.append(values)
            before = ","
        if breakdown is not None:
            texts.append(f'{before}"distance_breakdown":[{{"mode":"{breakdown[0]}","distance":')
            columns.append(breakdown[1])
        after = "" if columns else before
        after += "}]" if breakdown is not None else ""
        texts.append(after + ("}}" if is_fast else "}]}"))
        return self._written(rows, '{"id":"', texts, columns)

    def listed(self, rows: Positions) -> Raw:
        """Return the array of the ids at positions."""
        return self._written(rows, '"', ['"'], [])

    def _written(self, rows: Positions, first: str, texts: list[str], columns: list[Positions]) -> Raw:
        data, starts, ends = self._ids
        # No number has more than twenty digits.
        per_row = len(first) + sum(map(len, texts)) + 20 * len(columns) + 1
        out = np.empty(int((ends[rows] - starts[rows]).sum()) + rows.size * per_row + 2, np.uint8)
        numbers = np.array(columns, np.int64).reshape(len(columns), rows.size)
        encoded = tuple(np.frombuffer(text.encode("ascii"), np.uint8) for text in texts)
        n = json_text.write_reached(
            data, starts, ends, rows, np.frombuffer(first.encode("ascii"), np.uint8), encoded, numbers, out
        )
        return Raw(out[:n].tobytes())


def decode_matrix(body: bytes, kind: Any) -> tuple[Any, BulkPlaces] | None:
    """
    Return a large request and its places, None for one that should go the ordinary way.

    Parameters
    ----------
    body : bytes
    kind : type
        `MatrixRequest` or `FastMatrixRequest`.
    """
    if len(body) < LEAST_BYTES:
        return None
    raw_kind, most = _KINDS[kind]
    try:
        request = _decoder(raw_kind).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    places = _places(request.locations)
    if places is None or not places.is_unique:
        return None
    faults: list[str] = []
    for rule in rules.SEARCHES:
        rule(request, lambda path, text: faults.append(path))
    if faults or not all(places.add(search, most) for _, search in rules.iter_searches(request)):
        return None
    return request, places


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _places(text: Raw) -> BulkPlaces | None:
    data = np.frombuffer(text, np.uint8)
    capacity = data.size // _LEAST_LOCATION + 1
    starts, ends = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    lat, lng = np.empty(capacity), np.empty(capacity)
    hard = np.empty((2 * capacity, 3), np.int64)
    n, n_hard = json_text.read_locations(data, starts, ends, lat, lng, hard)
    if n < 1:
        return None
    for which, begin, end in hard[:n_hard].tolist():
        value = float(data[begin:end].tobytes())
        if not abs(value) <= (180.0 if which & 1 else 90.0):
            return None
        (lng if which & 1 else lat)[which >> 1] = value
    return BulkPlaces((data, starts[:n], ends[:n]), lat[:n], lng[:n])


def _strings(text: Raw) -> Spans | None:
    data = np.frombuffer(text, np.uint8)
    capacity = data.size // _LEAST_STRING + 1
    starts, ends = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    n = json_text.read_strings(data, starts, ends)
    return None if n < 0 else (data, starts[:n], ends[:n])
