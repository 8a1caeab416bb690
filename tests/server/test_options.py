"""
Every optional field of every request changes the answer, is refused, or is documented as without effect.

The fields are those of the types of the requests, of the queries and of the messages, and the endpoints are those of
the tables, so a field that is added fails here until it has a value that makes a difference in the towns of
`tests.support.everything`. What changes nothing has the section of docs/contract.md that says so, and is checked, too.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from msgspec import inspect

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

from tests.support.combinations import first_of
from tests.support.door import PAIR, Door, assert_error, ok, open_door
from tests.support.everything import POINTS, at, everything
from traveltime_lab.modes.table import MODES
from traveltime_lab.network.network import Network
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.contract.requests import PLACES_OF_OPTIONS
from traveltime_lab.server.endpoints.table import ENDPOINTS, Endpoint
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.server.protobuf import endpoints as proto
from traveltime_lab.server.protobuf import service_pb2
from traveltime_lab.surfaces import grids

TUESDAY: Final = "2026-03-03T08:00:00Z"
#: Types whose vehicles have a timetable end with one of these.
VEHICLES: Final = ("public_transport", "bus", "coach", "train")
#: A place whose cells are not those of the other places.
CENTRE: Final = (1480.0, 610.0)

POSTED: Final = {endpoint.path: endpoint for endpoint in ENDPOINTS if endpoint.method == "POST"}
SEARCHED: Final = [path for path in POSTED if path != "/v4/supported-locations"]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return everything(tmp_path_factory.mktemp("everything"))


@pytest.fixture(scope="module")
def service(towns: Network) -> Iterator[Door]:
    """A service of the towns, with a postcode at each of the places and some that nobody reaches."""
    codes = {
        "west": "WE1 1AA", "bank": "WE1 1AB", "far": "WE4 1AA", "east": "EA1 1AA", "farm": "EA1 1AB", "end": "WE3 1AA",
        "private": "WE2 1AA", "track": "WE2 1AB", "west field": "WE5 1AA", "bank field": "WE5 1AB",
        "far field": "WE6 1AA",
    }  # fmt: skip
    rows = [(code, at(POINTS[name])["lat"], at(POINTS[name])["lng"]) for name, code in codes.items()]
    rows += [
        (f"{sector}{letters}", 47.0, 25.5) for sector in ("WE4 1", "WE5 1", "EA1 1") for letters in ("XA", "XB", "XC")
    ]
    zones = Zones.from_table(pd.DataFrame(rows, columns=["postcode", "lat", "lng"]))
    with open_door(create_app(Atlas({"towns": towns}), Credentials([PAIR]), None, zones)) as door:
        yield door


# Fields ---------------------------------------------------------------------------------------------------------------


def plain(kind: inspect.Type) -> inspect.Type:
    """Return a type without null and without its description."""
    if isinstance(kind, inspect.Metadata):
        return plain(kind.type)
    if isinstance(kind, inspect.UnionType):
        options = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
        return plain(options[0]) if len(options) == 1 else inspect.UnionType(tuple(options))
    return kind


def described(kind: Any) -> inspect.StructType:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return found


def field_of(kind: inspect.StructType, name: str) -> inspect.Type:
    return plain(next(field.type for field in kind.fields if field.encode_name == name))


def variants(kind: inspect.Type) -> dict[str, inspect.StructType]:
    """Return the structs that a field can hold, by their tag."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return {str(each.tag or ""): each for each in kinds if isinstance(each, inspect.StructType)}


def optional_fields(
    kind: inspect.StructType, path: str = "", *, is_optional: bool = False
) -> Iterator[tuple[str, inspect.Type]]:
    """
    Yield the dotted paths and the types of optional fields, and of all fields of optional objects.

    Objects that are told apart by a tag have it in brackets. Transportation and arrays of objects are not entered, and
    options beside their objects are left out, which `tests.server.test_misplaced_options` is about.
    """
    for field in kind.fields:
        inner, here = plain(field.type), f"{path}{field.encode_name}"
        is_misplaced = isinstance(inner, inspect.RawType) and field.encode_name in PLACES_OF_OPTIONS
        if field.encode_name == "transportation" or is_misplaced:
            continue
        if is_optional or not field.required:
            yield here, inner
        for tag, struct in variants(inner).items():
            below = f"{here}[{tag}]." if tag else f"{here}."
            yield from optional_fields(struct, below, is_optional=is_optional or not field.required)


@dataclass(frozen=True)
class Array:
    """An array of searches: of an endpoint, with its name and that of the object that it is in."""

    path: str
    owner: str
    name: str
    search: inspect.StructType

    @property
    def is_arrival(self) -> bool:
        return self.name == "many_to_one" or (self.name == "arrival_searches" and not self.owner)

    @property
    def json_path(self) -> str:
        return f"obj.{self.owner}.{self.name}[0]" if self.owner else f"obj.{self.name}[0]"

    @property
    def types(self) -> dict[str, inspect.StructType]:
        return variants(field_of(self.search, "transportation"))


def arrays_of(endpoint: Endpoint) -> list[Array]:
    """Return the arrays of searches of an endpoint."""
    found = []

    def look(kind: inspect.StructType, owner: str) -> None:
        for field in kind.fields:
            inner = plain(field.type)
            if isinstance(inner, inspect.StructType):
                look(inner, field.encode_name)
            elif isinstance(inner, inspect.ListType):
                item = plain(inner.item_type)
                if isinstance(item, inspect.StructType) and any(f.encode_name == "transportation" for f in item.fields):
                    found.append(Array(endpoint.path, owner, field.encode_name, item))

    look(described(endpoint.request), "")
    return found


ARRAYS: Final = [array for path in SEARCHED for array in arrays_of(POSTED[path])]
#: Answers by request, which are the same for all tests.
KNOWN: dict[str, dict[str, str]] = {}


# Requests -------------------------------------------------------------------------------------------------------------


def own_place(kind: str, *, is_arrival: bool) -> str:
    """Return where the trips of a search begin or end, so that all its options make a difference."""
    by_vehicle = kind.rpartition("+")[2] in VEHICLES
    if by_vehicle and is_arrival:
        return "east"
    if kind.startswith("driving") and kind != "driving+ferry":
        return "far"
    return "bank" if kind == "walking" else "west"


#: Properties that are asked for; those that need routes take longer.
WANTED: Final = {
    "/v4/routes": ["travel_time", "distance"],
    "/v4/time-filter/postcode-districts": ["travel_time_reachable", "travel_time_all", "coverage"],
    "/v4/time-filter/postcode-sectors": ["travel_time_reachable", "travel_time_all", "coverage"],
}


def search_of(array: Array, kind: str, name: str) -> dict[str, Any]:
    """Return a search with all its required fields and no other."""
    own = own_place(kind, is_arrival=array.is_arrival)
    values: dict[str, Any] = {
        "id": name, "transportation": {"type": kind}, "coords": at(POINTS[own]), "travel_time": 1400,
        "travel_distance": 7000 if kind == "driving+ferry" else 3000,
        "departure_time": TUESDAY, "arrival_time": "2026-03-03T08:40:50Z",
        "properties": WANTED.get(array.path, ["travel_time"]),
    }  # fmt: skip
    targets = [place for place in POINTS if place != own]
    one, many = ("arrival", "departure") if array.is_arrival else ("departure", "arrival")
    values |= {f"{one}_location_id": own, f"{many}_location_ids": targets}
    return {field.encode_name: values[field.encode_name] for field in array.search.fields if field.required}


def body_of(path: str, searches: list[tuple[Array, dict[str, Any]]]) -> dict[str, Any]:
    """Return a request with searches."""
    values: dict[str, Any] = {
        "locations": [{"id": name, "coords": at(place)} for name, place in POINTS.items()],
        "resolution": 8 if "h3" in path else 6,
        "properties": ["min", "max", "mean"],
    }
    body = {field.encode_name: values.get(field.encode_name, {}) for field in described(POSTED[path].request).fields}
    body = {key: value for key, value in body.items() if key in values}
    for array, search in searches:
        owner = body.setdefault(array.owner, {}) if array.owner else body
        owner.setdefault(array.name, []).append(search)
    return body


def answers(service: Door, path: str, searches: list[tuple[Array, dict[str, Any]]]) -> dict[str, str]:
    """Return what is answered to each search, without its id."""
    key = path + json.dumps([(array.json_path, search) for array, search in searches])
    if key not in KNOWN:
        KNOWN[key] = _answers(service, path, searches)
    return KNOWN[key]


def _answers(service: Door, path: str, searches: list[tuple[Array, dict[str, Any]]]) -> dict[str, str]:
    results = ok(service.post(path, body_of(path, searches)))["results"]
    return {each.pop("search_id"): json.dumps(each) for each in results}


def merged(search: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return a search with a change, which adds to its transportation."""
    means = {**search["transportation"], **change.get("transportation", {})}
    return {**search, **change, "transportation": means}


def _arrays(place: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([at(place)["lng"]]), np.array([at(place)["lat"]])


def h3_cell(place: tuple[float, float]) -> str:
    return str(grids.h3_names(grids.h3_cells_of(*_arrays(place), 9))[0])


def geohash(place: tuple[float, float]) -> str:
    lng, lat = _arrays(place)
    return str(grids.geohash_names(grids.geohash_columns(lng, 7), grids.geohash_rows(lat, 7), 7)[0])


# What makes a difference ----------------------------------------------------------------------------------------------

Change = tuple[dict[str, Any], dict[str, Any]]


def window(**more: Any) -> dict[str, Any]:
    return {"range": {"enabled": True, "width": 1200, "max_results": 3, **more}}


def level(**more: Any) -> dict[str, Any]:
    return {"level_of_detail": more}


#: By option of a search: two searches that differ in it, and in their answers.
CHANGES: dict[str, Change] = {
    "snapping": ({}, {"snapping": {"penalty": "disabled"}}),
    "snapping.penalty": ({}, {"snapping": {"penalty": "disabled"}}),
    "snapping.accept_roads": ({}, {"snapping": {"accept_roads": "any_drivable"}}),
    "snapping.threshold": ({}, {"snapping": {"threshold": 120}}),
    "snap_penalty": ({"snap_penalty": {"penalty": "enabled"}}, {"snap_penalty": "disabled"}),
    "range": ({}, window()),
    "range.enabled": (window(enabled=False), window()),
    "range.width": (window(width=1), window(width=1200)),
    "range.max_results": (window(max_results=1), window(max_results=3)),
    "properties": ({}, {"properties": ["is_only_walking"]}),
    "level_of_detail": ({}, level(scale_type="simple", level="low")),
    "level_of_detail[simple].level": (
        level(scale_type="simple", level="lowest"), level(scale_type="simple", level="low"),
    ),
    "level_of_detail[simple_numeric].level": (
        level(scale_type="simple_numeric", level=-3), level(scale_type="simple_numeric", level=-2),
    ),
    "level_of_detail[coarse_grid].square_size": (
        level(scale_type="coarse_grid", square_size=600), level(scale_type="coarse_grid", square_size=900),
    ),
    "polygons_filter": ({}, {"polygons_filter": {"limit": 1}}),
    "polygons_filter.limit": ({"polygons_filter": {"limit": 1}}, {"polygons_filter": {"limit": 2}}),
    "no_holes": ({"no_holes": False}, {"no_holes": True}),
    "render_mode": ({}, {"render_mode": "road_buffering"}),
    "buffer_distance": ({}, {"buffer_distance": 250}),
    "remove_water_bodies": ({}, {"remove_water_bodies": False}),
    "single_shape": ({"single_shape": False}, {"single_shape": True}),
    "reachable_postcodes_threshold": ({}, {"reachable_postcodes_threshold": 0.45}),
    "coords.lat": ({}, {"coords": at((910.0, 900.0))}),
    "coords.lng": ({}, {"coords": at((1200.0, 640.0))}),
    "coords.h3_centroid": ({}, {"coords": {"h3_centroid": h3_cell(CENTRE)}}),
    "coords.geohash_centroid": ({}, {"coords": {"geohash_centroid": geohash(CENTRE)}}),
    "arrival_time_period": ({}, {"arrival_time_period": "weekday_morning"}),
}  # fmt: skip


def by(**options: Any) -> dict[str, Any]:
    return {"transportation": options}


#: By option of transportation.
TRANSPORTATION: dict[str, Change] = {
    "traffic_model": ({}, by(traffic_model="optimistic")),
    "include_roads": ({}, by(include_roads=["track"])),
    "exclude_roads": ({}, by(exclude_roads=["toll"])),
    "boarding_time": ({}, by(boarding_time=3000)),
    "pt_change_delay": ({}, by(pt_change_delay=130)),
    "walking_time": ({}, by(walking_time=5)),
    "driving_time_to_station": ({}, by(driving_time_to_station=60)),
    "cycling_time_to_station": ({}, by(cycling_time_to_station=30)),
    "parking_time": ({}, by(parking_time=0)),
    "max_changes": ({}, by(max_changes={"enabled": True, "limit": 0})),
    "headways": ({}, by(headways="average")),
    "max_stress": (by(max_stress=4), by(max_stress=1)),
    "push_above_stress": (by(max_stress=1), by(max_stress=1, push_above_stress=True)),
    "step_free": ({}, by(step_free="strict")),
    "max_incline": (by(step_free="lenient"), by(step_free="lenient", max_incline=3)),
    "min_width": (by(step_free="lenient"), by(step_free="lenient", min_width=1.5)),
    "avoid": ({}, by(avoid=["unlit"])),
    "max_changes.enabled": (
        by(max_changes={"enabled": False, "limit": 0}), by(max_changes={"enabled": True, "limit": 0}),
    ),
    "max_changes.limit": (
        by(max_changes={"enabled": True, "limit": 1}), by(max_changes={"enabled": True, "limit": 0}),
    ),
}  # fmt: skip
NEARLY_EIGHT: Final = "2026-03-03T07:59:00Z"
#: Options that no network can honour, and a value that would ask for it.
REFUSED: dict[str, Any] = {"disable_border_crossing": True}


def change_of(array: Array, option: str) -> Change:
    """Return two changes of a search that differ in an option, which is one of transportation if it begins so."""
    name = option.removeprefix("transportation.")
    if name == "time_dependent":
        # The hour changes on the way.
        moment = {"arrival_time": "2026-03-03T09:01:00Z"} if array.is_arrival else {"departure_time": NEARLY_EIGHT}
        return moment, moment | by(time_dependent=True)
    table = CHANGES if name == option else TRANSPORTATION
    assert name in table, f"{array.path}: the option {option} has no change that makes a difference; see CHANGES"
    if name == "traffic_model" and array.path.endswith("/fast"):
        return {}, by(traffic_model="off_peak")
    return table[name]


def without_effect(array: Array, kind: str, option: str) -> str | None:
    """Return the section of docs/contract.md that says that an option changes nothing, None if it does."""
    by_vehicle = kind.rpartition("+")[2] in VEHICLES
    if option.startswith("range") and not by_vehicle:
        return "3.4: range is ignored for types without a timetable"
    if option == "range.max_results" and array.path.endswith(("districts", "sectors")):
        return "4.3: the statistics of zones are of the quickest journeys"
    if option == "snapping.accept_roads" and not kind.startswith("driving"):
        return "4.4: streets that car trips may start and end on"
    if option.removeprefix("transportation.") == "headways":
        return "5.7: all lines of the towns have times; tests/server/test_headways.py has others"
    is_to_points = array.path.startswith(("/v4/time-filter", "/v4/routes"))
    if (
        option.removeprefix("transportation.") == "push_above_stress"
        and by_vehicle
        and array.is_arrival
        and is_to_points
    ):
        return "5.8: bicycles pushed from these points are late for the same buses; areas have others"
    if option == "arrival_time_period":
        return "4.9: its only value is the default"
    return None


CASES: Final = {
    path: sorted({kind for array in ARRAYS if array.path == path for kind in array.types}) for path in SEARCHED
}


def tried_with(array: Array) -> tuple[str, str]:
    """Return the types for which the options of a search are tried; those of transportation, for all."""
    return "walking", "driving+public_transport" if "driving+public_transport" in array.types else "driving"


def options_of(array: Array, kind: str) -> Iterator[str]:
    """Yield the options of a search of a type, and of its transportation."""
    if kind in tried_with(array):
        for path, _ in optional_fields(array.search):
            yield path
    for path, _ in optional_fields(array.types[kind], is_optional=True):
        yield f"transportation.{path}"


@pytest.mark.thorough
@pytest.mark.parametrize(("path", "kind"), [(path, kind) for path, kinds in CASES.items() for kind in kinds])
def test_options_of_searches(service: Door, path: str, kind: str) -> None:
    wrong = []
    for array in ARRAYS:
        if array.path != path:
            continue
        for option in options_of(array, kind):
            name = option.removeprefix("transportation.")
            is_by_distance = name == "time_dependent" and "distance-map" in path
            if (name in REFUSED and name != option) or is_by_distance:
                search = merged(search_of(array, kind, "a"), by(**{name: REFUSED.get(name, True)}))
                refused = service.post(path, body_of(path, [(array, search)]))
                assert_error(refused, 422, 2, paths={f"{array.json_path}{'' if is_by_distance else f'.{option}'}"})
                continue
            one, other = (merged(search_of(array, kind, "a"), change) for change in change_of(array, option))
            same = answers(service, path, [(array, one)]) == answers(service, path, [(array, other)])
            reason = without_effect(array, kind, name)
            if same != (reason is not None):
                wrong.append(f"{array.json_path} {option}: same={same} {reason}")
    assert not wrong, "\n".join(wrong)


def words_of(kind: inspect.Type) -> list[Any]:
    """Return the values of a field of words, each as a list of one where it takes several."""
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.ListType) and isinstance(plain(kind.item_type), inspect.LiteralType):
        return [[word] for word in words_of(plain(kind.item_type))]
    return []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v4/time-map", "driving"),
        ("/v4/time-map/fast", "driving"),
        ("/v4/time-filter", "driving"),
        ("/v4/time-filter", "driving+public_transport"),
    ],
)
def test_every_word_is_an_answer_of_its_own(service: Door, path: str, kind: str) -> None:
    """Each two words that an option can have give different answers."""
    array = next(array for array in ARRAYS if array.path == path)
    fields = dict(optional_fields(array.search))
    fields |= {f"transportation.{name}": inner for name, inner in optional_fields(array.types[kind])}
    for option, inner in fields.items():
        words = [] if option == "transportation.headways" else words_of(inner)  # see without_effect
        searches = [put(search_of(array, kind, "a"), option, word) for word in words]
        found = [json.dumps(answers(service, path, [(array, search)])) for search in searches]
        assert len(set(found)) == len(words), (option, words)


# Values that cannot be meant ------------------------------------------------------------------------------------------

#: Options with bounds that are those of a rule, not of a type.
BOUNDS: Final = {
    "range.width": ({"enabled": True, "max_results": 1}, 1, 43_200),
    "range.max_results": ({"enabled": True, "width": 60}, 1, 5),
    "transportation.max_changes.limit": ({"enabled": True}, 0, None),
}


def wrong_values(kind: inspect.Type) -> list[Any]:
    """Return values that a field cannot have: of other types, beyond its bounds, unknown words."""
    if isinstance(kind, inspect.BoolType):
        return ["true", 1, []]
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        beyond = [] if kind.ge is None else [kind.ge - 1]
        beyond += [] if kind.le is None else [kind.le + 1]
        return ["1", True, {}, *beyond, *([0.5] if isinstance(kind, inspect.IntType) else [])]
    if isinstance(kind, inspect.LiteralType):
        return ["nonsense", 1, True, [kind.values[0]]]
    if isinstance(kind, inspect.StrType):
        return [1, True, []]
    if isinstance(kind, inspect.ListType):
        too_many = [] if kind.max_length is None else [[None] * (kind.max_length + 1)]
        return ["nonsense", 1, {}, *too_many, *([value] for value in wrong_values(plain(kind.item_type)))]
    if isinstance(kind, inspect.CustomType):
        return ["tomorrow", 5, True]
    assert isinstance(kind, inspect.StructType | inspect.UnionType), f"no wrong values are known for {kind}"
    return ["nonsense", 1, True, []]


def put(search: dict[str, Any], option: str, value: Any) -> dict[str, Any]:
    """Return a search with a value for an option, and for what else is required in the objects that it is in."""
    search, names = json.loads(json.dumps(search)), option.split(".")
    owner = search
    for n, name in enumerate(names[:-1]):
        name, _, tag = name.partition("[")
        owner = owner.setdefault(name, {})
        if tag:
            owner["scale_type"] = tag.rstrip("]")
        owner |= {k: v for k, v in BOUNDS.get(option, ({},))[0].items() if n == len(names) - 2}
    owner[names[-1]] = value
    return search


@pytest.mark.parametrize("is_each", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.path} {array.name}")
def test_wrong_values_are_named(service: Door, array: Array, is_each: bool) -> None:
    """
    A value of another type, or out of range, is refused under the path of its field.

    Each of them, or one of each field, which differs from array to array.
    """
    fields = [("public_transport", option, kind) for option, kind in optional_fields(array.search)]
    fields = [each if array.path != "/v4/distance-map" else ("ferry", *each[1:]) for each in fields]
    fields += [
        (kind, f"transportation.{option}", inner)
        for kind, struct in array.types.items()
        for option, inner in optional_fields(struct, is_optional=True)
    ]
    tried: list[tuple[str, Any, dict[str, Any]]] = []
    for kind, option, inner in fields:
        if option == "snap_penalty":
            continue  # What cannot be read counts as absent: 3.4.
        _, least, most = BOUNDS.get(option, (None, None, None))
        beyond = ([] if least is None else [least - 1]) + ([] if most is None else [most + 1])
        values = [*wrong_values(inner), *beyond]
        for value in values if is_each else [values[ARRAYS.index(array) % len(values)]]:
            search = put(search_of(array, kind, str(len(tried))), option, value)
            tried.append((re.sub(r"\[\w+\]", "", option), value, search))
    wrong = []
    # All faults of a request are listed, and it may have ten searches.
    for first in range(0, len(tried), 10):
        batch = tried[first : first + 10]
        response = service.post(array.path, body_of(array.path, [(array, search) for _, _, search in batch]))
        faults = assert_error(response, 422, 2)
        for n, (option, value, _) in enumerate(batch):
            path = f"{array.json_path[:-3]}[{n}].{option}"
            if not any(each.startswith(path) for each in faults):
                wrong.append(f"{path} = {value!r}")
    assert not wrong, "\n".join(wrong)


# Options beside others ------------------------------------------------------------------------------------------------

#: Options of which the second changes nothing beside the first, and why.
HIDDEN: dict[tuple[str, str], str] = {
    ("snapping", "snap_penalty"): "3.4: the old name counts if the new one is absent",
    ("snap_penalty", "snapping"): "both say the same here",
    ("polygons_filter", "single_shape"): "3.4: the old name counts if the new one is absent",
    ("single_shape", "polygons_filter"): "both keep one polygon here",
    ("polygons_filter", "range"): "the largest polygon is that of the place itself, which no vehicle reaches sooner",
    ("single_shape", "range"): "the same",
    ("remove_water_bodies", "polygons_filter"): "streets lead to one polygon if water does not divide it",
    ("remove_water_bodies", "single_shape"): "the same",
    ("level_of_detail[coarse_grid].square_size", "range"): "what the window adds is smaller than a square",
}


#: Options that would leave nothing for others to change, and values that do.
MILD: Final = {
    "transportation.driving_time_to_station": by(driving_time_to_station=900),
    "transportation.cycling_time_to_station": by(cycling_time_to_station=600),
    "transportation.walking_time": by(walking_time=800),
    "transportation.max_changes": by(max_changes={"enabled": True, "limit": 1}),
    "transportation.pt_change_delay": by(pt_change_delay=10),
    "transportation.boarding_time": by(boarding_time=10),
    "transportation.step_free": by(step_free="lenient"),
    "transportation.max_incline": by(step_free="lenient", max_incline=5),
    "transportation.min_width": by(step_free="lenient", min_width=0.95),
    "transportation.avoid": by(avoid=["unpaved"]),
}


def beside(array: Array, kind: str, *, of_transportation: bool) -> dict[str, Change]:
    """Return the options of a search, or those of its transportation, that change the answer, with their changes."""
    struct = array.types[kind] if of_transportation else array.search
    found = {}
    for name, _ in optional_fields(struct, is_optional=of_transportation):
        option = f"transportation.{name}" if of_transportation else name
        if not (("." in name and "[" not in name) or name in REFUSED or without_effect(array, kind, name)):
            found[option] = change_of(array, option)
    return found


def hidden(service: Door, array: Array, kinds: list[str], *, of_transportation: bool) -> set[tuple[str, str]]:
    """Return the options that change nothing beside another, which is the first of each pair, with any type."""
    left: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    for kind in kinds:
        search, changes = search_of(array, kind, "a"), beside(array, kind, of_transportation=of_transportation)
        for (first, (_, given)), (second, pair) in itertools.permutations(changes.items(), 2):
            given = MILD.get(first, given)
            if first.partition("[")[0] == second.partition("[")[0] or (first, second) in seen:
                continue
            left.add((first, second))
            one, other = (
                answers(service, array.path, [(array, merged(merged(search, given), change))]) for change in pair
            )
            if one != other:
                seen.add((first, second))
    return left - seen


@pytest.mark.parametrize(
    "path",
    first_of(
        2, ["/v4/time-filter", "/v4/time-filter/postcode-districts", "/v4/time-map", "/v4/distance-map"],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_no_option_hides_another(service: Door, path: str) -> None:
    """An option that changes the answer changes it beside each other option, too, with some type at least."""
    array = next(array for array in ARRAYS if array.path == path)
    kinds = [kind for kind in ("driving", "driving+public_transport", "walking") if kind in array.types]
    assert not hidden(service, array, kinds, of_transportation=False) - set(HIDDEN)


@pytest.mark.parametrize(
    "kind",
    first_of(
        1, ["driving+ferry", "driving+public_transport", "cycling+public_transport"],
        mark=pytest.mark.thorough, few=pytest.mark.slow,
    ),
)  # fmt: skip
def test_no_option_of_transportation_hides_another(service: Door, kind: str) -> None:
    array = next(array for array in ARRAYS if array.path == "/v4/time-filter")
    assert not hidden(service, array, [kind], of_transportation=True)


# Requests as a whole --------------------------------------------------------------------------------------------------

#: Arrays beside the searches, and what is added to a request with the searches a and b.
ADDED: Final = {
    "unions": [{"id": "u", "search_ids": ["a", "b"]}],
    "intersections": [{"id": "i", "search_ids": ["a", "b"]}],
}


@pytest.mark.parametrize("path", SEARCHED)
def test_arrays_of_requests(service: Door, path: str) -> None:
    """Each array of a request adds results, and what is not one of its kind is refused under its path."""
    arrays = [array for array in ARRAYS if array.path == path]
    searches = [(array, search_of(array, "walking", name)) for array, name in zip(arrays, "ab", strict=True)]
    if "coords" in searches[1][1]:
        searches[1][1]["coords"] = at(POINTS["west"])
    body, plain_answers = body_of(path, searches), answers(service, path, searches)
    assert set(plain_answers) == {"a", "b"}
    tried = {f"{array.owner}.{array.name}".strip(".") for array in arrays}
    for alone in searches:
        ((name, found),) = answers(service, path, [alone]).items()
        assert found == plain_answers[name]
    for field in described(POSTED[path].request).fields:
        name, inner = field.encode_name, plain(field.type)
        if field.required or name in tried:
            continue
        assert name in ADDED, f"{path}: nothing is known of the array {name}; see ADDED"
        results = ok(service.post(path, {**body, name: ADDED[name]}))["results"]
        more = {each["search_id"] for each in results} - {"a", "b"}
        assert more == {ADDED[name][0]["id"]}
        for other, _ in optional_fields(variants(plain(inner.item_type))[""], is_optional=True):
            assert other in ADDED[name][0]
        fewer = ok(service.post(path, {**body, name: [{**ADDED[name][0], "search_ids": ["a"]}]}))["results"]
        assert fewer != results
        for value in wrong_values(inner):
            assert_error(service.post(path, {**body, name: value}), 422, 2)
    for array in arrays:
        for value in wrong_values(inspect.ListType(array.search, max_length=10)):
            owner = {array.owner: {array.name: value}} if array.owner else {array.name: value}
            found = assert_error(service.post(path, {**body, **owner}), 422, 2)
            assert all(each.startswith(array.json_path[:-3]) for each in found)


# Queries --------------------------------------------------------------------------------------------------------------

GOT: Final = {endpoint.path: endpoint for endpoint in ENDPOINTS if endpoint.method == "GET" and endpoint.request}
_POINT: Final = at(POINTS["bank"])
RIGHT: Final[dict[str, dict[str, Any]]] = {
    "/v4/time-map": {"type": "driving", "travel_time": 600, **_POINT, "departure_time": TUESDAY},
    "/v4/time-filter": {
        "type": "driving", "search_lat": _POINT["lat"], "search_lng": _POINT["lng"], "departure_time": TUESDAY,
        "locations": ",".join(f"{at(place)['lat']}_{at(place)['lng']}" for place in POINTS.values()),
    },
    "/v4/routes": {
        "type": "driving", "origin_lat": _POINT["lat"], "origin_lng": _POINT["lng"], "departure_time": TUESDAY,
        "destination_lat": at(POINTS["far"])["lat"], "destination_lng": at(POINTS["far"])["lng"],
    },
    "/v4/geocoding/search": {"query": "Springfield"},
    "/v4/geocoding/autocomplete": {"query": "Springfield"},
    "/v4/geocoding/reverse": at((7300.0, 700.0)),
}  # fmt: skip
FOCUS: Final = {"query": "Springfield Cafe", "focus.lat": 46.005, "focus.lng": 25.6}
#: By parameter: two sets of parameters that differ in it, and in their answers; None leaves one out.
QUERIED: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "departure_time": ({}, {"departure_time": "2026-03-03T02:00:00Z"}),
    "arrival_time": ({}, {"departure_time": None, "arrival_time": TUESDAY}),
    "travel_time": ({}, {"travel_time": 300}),
    "limit": ({}, {"limit": 1}),
    "within.country": ({}, {"within.country": "FR"}),
    "format.name": ({}, {"format.name": "true"}),
    "format.exclude.country": ({"format.name": "true"}, {"format.name": "true", "format.exclude.country": "true"}),
    "bounds": ({}, {"bounds": "45.99,25.58,46.01,25.60"}),
    "focus.lat": ({**FOCUS, "focus.lat": 46.005}, {**FOCUS, "focus.lat": 46.05}),
    "focus.lng": ({**FOCUS, "focus.lng": 25.5}, {**FOCUS, "focus.lng": 25.6}),
    "force.add.postcode": ({}, {"force.add.postcode": "true"}),
    "exclude.location.types": ({}, {"exclude.location.types": "country"}),
}  # fmt: skip
#: Parameters that change nothing, and the section of docs/contract.md that says so.
QUERIED_IN_VAIN: Final = {"force.add.postcode": "7.17: labels have the postcode whenever it is known"}
#: Texts that a parameter cannot have, where its type does not say so.
WRONG_TEXTS: Final = {
    "within.country": ["Nowhere", "FR,XX"],
    "bounds": ["1,2,3", "north", "100,0,0,0"],
    "exclude.location.types": ["city", "country,planet"],
}


def wrong_texts(name: str, kind: inspect.Type) -> list[str]:
    """Return texts that a parameter cannot have."""
    if isinstance(kind, inspect.StrType):
        assert name in WRONG_TEXTS, f"no wrong texts are known for {name}; see WRONG_TEXTS"
        return WRONG_TEXTS[name]
    return [str(value) for value in wrong_values(kind) if isinstance(value, str | float) and value not in ("1", "true")]


@pytest.mark.parametrize("path", GOT)
def test_options_of_queries(service: Door, path: str) -> None:
    kind, right = described(GOT[path].request), RIGHT[path]
    options = [field for field in kind.fields if not field.required]
    for field in options:
        name = field.encode_name
        assert name in QUERIED, f"{path}: the parameter {name} has no values that make a difference; see QUERIED"
        one, other = ({k: v for k, v in {**right, **more}.items() if v is not None} for more in QUERIED[name])
        found = [service.get(path, one), service.get(path, other)]
        ok(found[0])
        # Nothing is there to be found in France.
        assert found[1].status_code == (400 if path.endswith("reverse") and name == "within.country" else 200)
        assert (found[0].json() == found[1].json()) == (name in QUERIED_IN_VAIN), name
        for text in wrong_texts(name, plain(field.type)):
            moment = {"departure_time": None} if name == "arrival_time" else {}
            query = {k: v for k, v in {**right, **moment, name: text}.items() if v is not None}
            faults = assert_error(service.get(path, query), 422, 2)
            assert any(each.startswith(f"obj.{name}") for each in faults), (name, text, faults)


# Protocol Buffers -----------------------------------------------------------------------------------------------------

MESSAGES: Final = service_pb2.DESCRIPTOR.message_types_by_name
PARKED: Final = MODES["driving+public_transport"].number
#: Fields without which a search is refused; they say what is asked.
NEEDED: Final = ("departureLocation", "arrivalLocation", "transportation", "locationDeltas", "travelTime", "resolution")
#: By field of a search: the type of transportation, and a value for which the answer differs.
SENT: Final[dict[str, tuple[int, Any]]] = {
    "properties": (PARKED, [1]),
    "removeWaterBodies": (MODES["walking"].number, False),
    "transportation.publicTransport.walkingTimeToStation.value": (0, 300),
    "transportation.drivingAndPublicTransport.walkingTimeToStation.value": (PARKED, 5),
    "transportation.drivingAndPublicTransport.drivingTimeToStation.value": (PARKED, 60),
    "transportation.drivingAndPublicTransport.parkingTime.value": (PARKED, 0),
    "transportation.type": (PARKED, MODES["driving"].number),
}
#: Values that a field cannot have. Numbers without a sign have none below zero.
UNSENDABLE: Final[dict[str, list[Any]]] = {
    "properties": [[7]],
    "arrivalTimePeriod": [1],
    "travelTime": [-1, 10_801],
    "resolution": [0, 13],
    "transportation.type": [8, -1],
    "transportation.publicTransport.walkingTimeToStation.value": [0, 1801],
    "transportation.drivingAndPublicTransport.walkingTimeToStation.value": [0, 1801],
    "transportation.drivingAndPublicTransport.drivingTimeToStation.value": [0, 1801],
    "transportation.drivingAndPublicTransport.parkingTime.value": [10_000],
}
#: Fields that have a value at most one of which is legal, and the section of docs/contract.md that says so.
ONE_VALUE: Final = {"arrivalTimePeriod": "8.3: weekday morning is the only period"}


def scalar_fields(message: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted names of the fields of a message that are no messages."""
    for field in message.fields:
        here = f"{path}{field.name}"
        if field.message_type is not None and field.message_type.name != "Coords":
            yield from scalar_fields(field.message_type, f"{here}.")
        else:
            yield here


def sent(endpoint: str, direction: str, kind: int, values: dict[str, Any]) -> bytes:
    """Return a request with fields of its search."""
    matrix = "time-filter" in endpoint
    request = getattr(service_pb2, "TimeFilterFastRequest" if matrix else "CellsFastRequest")()
    search, is_arrival = getattr(request, direction), direction.startswith("many")
    own = at(POINTS[own_place(proto.TYPES[kind].name, is_arrival=is_arrival)])
    place = search.arrivalLocation if is_arrival else search.departureLocation
    place.lat, place.lng = own["lat"], own["lng"]
    search.transportation.type, search.travelTime = kind, 1400
    if matrix:
        for point in POINTS.values():
            search.locationDeltas.append(round((at(point)["lat"] - place.lat) * 1e5))
            search.locationDeltas.append(round((at(point)["lng"] - place.lng) * 1e5))
    else:
        search.resolution = 8 if "h3" in endpoint else 6
        search.properties.extend([0, 2])
    for path, value in values.items():
        *owners, name = path.split(".")
        owner = search
        for each in owners:
            owner = getattr(owner, each)
        if isinstance(value, list):
            owner.ClearField(name)
            getattr(owner, name).extend(value)
        else:
            if name == "value":
                owner.SetInParent()
            setattr(owner, name, value)
    written: bytes = request.SerializeToString()
    return written


@pytest.mark.parametrize("direction", ["oneToManyRequest", "manyToOneRequest"])
@pytest.mark.parametrize("endpoint", proto.ENDPOINTS)
def test_options_of_messages(service: Door, endpoint: str, direction: str) -> None:
    path = "/api/v3" + endpoint.format(country="ro", mode="pt")
    kinds = {"TimeFilterFastRequest": "TimeFilterFastRequest", "CellsFastRequest": "CellsFastRequest"}
    message = MESSAGES[kinds[str(proto.ENDPOINTS[endpoint].request)]].fields_by_name[direction].message_type
    for name in scalar_fields(message):
        if name in SENT:
            kind, value = SENT[name]
            answers = []
            for values in ({}, {name: value}):
                response = service.proto(path, sent(endpoint, direction, kind, values))
                assert response.status_code == 200, (name, response.text)
                answers.append(response.content)
            assert answers[0] != answers[1] and all(answers), name
        else:
            assert name in NEEDED or name in ONE_VALUE, f"{endpoint}: nothing is known of the field {name}; see SENT"
        if name in UNSENDABLE:
            kind = 0 if ".publicTransport." in name else PARKED
            for value in UNSENDABLE[name]:
                response = service.proto(path, sent(endpoint, direction, kind, {name: value}))
                assert_error(response, 422)
        else:
            assert name in (*NEEDED, "removeWaterBodies"), f"no wrong values are known for {name}; see UNSENDABLE"
