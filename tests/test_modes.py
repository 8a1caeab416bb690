"""Transportation and snapping values: what is accepted, normalised and refused."""

from __future__ import annotations

import ast
import dataclasses
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import traveltime_lab as tl
from traveltime_lab.errors import LimitError, ModeError, UnsupportedError
from traveltime_lab.modes.snapping import Snapping, as_snapping
from traveltime_lab.modes.table import (
    ALL_VEHICLES,
    APPLIES_TO,
    BASE_MODES,
    MODES,
    STREET_MODES,
    STREET_TYPES,
    TIMETABLE_TYPES,
    VEHICLES,
    applies,
    street_type,
    with_all_vehicles,
)
from traveltime_lab.modes.transportation import Transportation, as_transportation


@pytest.mark.parametrize("kind", STREET_TYPES)
def test_street_types(kind: str) -> None:
    transportation = as_transportation(kind)
    assert transportation.type == kind
    # Variants have names of their own.
    first = kind.split("+")[0]
    assert transportation.base == (first if first in BASE_MODES else MODES[kind].street.name)
    assert transportation.uses_ferry == kind.endswith("ferry")
    assert as_transportation(transportation) is transportation
    assert as_transportation({"type": kind}) == transportation
    assert pickle.loads(pickle.dumps(transportation)) == transportation


def test_ferry_is_walking_and_ferry() -> None:
    assert as_transportation("ferry") == Transportation("walking+ferry")
    assert Transportation("ferry").base == "walking"
    assert Transportation("ferry").uses_ferry


def test_defaults_are_the_contract_ones() -> None:
    assert dataclasses.asdict(Transportation()) == {
        "type": "driving",
        "traffic_model": None,
        "boarding_time": 0,
        "include_roads": (),
        "exclude_roads": (),
        "disable_border_crossing": False,
        "pt_change_delay": 0,
        "walking_time": 900,
        "driving_time_to_station": 1800,
        "cycling_time_to_station": 900,
        "parking_time": 300,
        "max_changes": None,
        "walking_speed": None,
        "cycling_speed": None,
        "modes": (),
        "transfer_walking_time": 600,
        "direct_walking_time": None,
        "headways": "exact",
        "headway_draws": 20,
        "max_stress": None,
        "push_above_stress": False,
        "step_free": None,
        "max_incline": None,
        "min_width": None,
        "avoid": (),
        "time_dependent": False,
        "headway_seed": 0,
    }
    assert dataclasses.asdict(Snapping()) == {
        "penalty": "enabled",
        "accept_roads": "both_drivable_and_walkable",
        "threshold": 1000,
    }


def test_values_are_frozen_and_hashable() -> None:
    transportation = Transportation("driving", include_roads=["restricted", "track", "track"])
    assert transportation.include_roads == ("track", "restricted")
    assert len({transportation, Transportation("driving", include_roads=("track", "restricted"))}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        transportation.type = "walking"


@pytest.mark.parametrize(
    ("kind", "vehicles", "access", "seconds", "penalty"),
    [
        ("public_transport", "public_transport", "walking", 900, 0),
        ("bus", "bus", "walking", 900, 0),
        ("coach", "coach", "walking", 900, 0),
        ("train", "train", "walking", 900, 0),
        ("driving+train", "train", "driving", 1800, 300),
        ("driving+public_transport", "public_transport", "driving", 1800, 300),
        ("cycling+public_transport", "public_transport", "cycling+ferry", 900, 300),
    ],
)
def test_timetable_types(kind: str, vehicles: str, access: str, seconds: int, penalty: int) -> None:
    transportation = as_transportation(kind)
    assert transportation.uses_timetable
    assert not transportation.uses_ferry
    assert transportation.vehicles == vehicles
    assert transportation.access.type == access
    assert transportation.base == transportation.access.base
    assert (transportation.access_time, transportation.access_penalty) == (seconds, penalty)


def test_every_timetable_type_is_tested() -> None:
    (mark,) = test_timetable_types.pytestmark
    assert tuple(row[0] for row in mark.args[1]) == TIMETABLE_TYPES


def test_options_of_the_way_to_the_first_stop() -> None:
    car = as_transportation({"type": "driving+train", "traffic_model": "peak", "parking_time": 0})
    assert (car.access.traffic_model, car.access_penalty) == ("peak", 0)
    bicycle = as_transportation({"type": "cycling+public_transport", "boarding_time": 60})
    assert bicycle.access.boarding_time == 60


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"headways": "half"}, ModeError, "headways must be one of 'exact', 'average', 'random'"),
        ({"headways": None}, None, ""),
        ({"headways": "random", "headway_draws": 0}, LimitError, "headway_draws must be 1 or more; got 0"),
        ({"headways": "random", "headway_draws": 1001}, LimitError, "headway_draws must be at most 1000"),
        ({"headways": "random", "headway_seed": -1}, LimitError, "headway_seed must be 0"),
        ({"headways": "random", "headway_seed": 2**32}, LimitError, "headway_seed must be at most"),
        ({"headways": "random", "headway_seed": 0.5}, ModeError, "headway_seed must be a whole number"),
        ({"headway_seed": 1}, ModeError, "headway_seed is for headways='random' only"),
        ({"headways": "average", "headway_draws": 3}, ModeError, "headway_draws is for headways='random' only"),
        ({"headways": "random", "headway_draws": 1000, "headway_seed": 2**32 - 1}, None, ""),
    ],
)
def test_headways(options: dict[str, object], error: type[Exception] | None, message: str) -> None:
    if error is None:
        assert as_transportation({"type": "bus", **options}).headways == (options["headways"] or "exact")
    else:
        with pytest.raises(error, match=message):
            as_transportation({"type": "bus", **options})


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (0, 0), (3, 3), ({"enabled": False, "limit": -7}, None), ({"enabled": True, "limit": 2}, 2)],
)
def test_max_changes(value: object, expected: int | None) -> None:
    assert as_transportation({"type": "bus", "max_changes": value}).max_changes == expected


@pytest.mark.parametrize("value", [{"enabled": True}, {"limit": 3}, {"enabled": "yes", "limit": 3}, {"most": 1}, "2"])
def test_bad_max_changes(value: object) -> None:
    with pytest.raises(ModeError, match="max_changes"):
        as_transportation({"type": "bus", "max_changes": value})
    with pytest.raises(LimitError):
        as_transportation({"type": "bus", "max_changes": -1})


@pytest.mark.parametrize(
    ("kind", "suggestion"),
    [("drivng", "'driving'"), ("Walking", "'walking'"), ("bicycling", "'cycling'"), ("hovercraft", "Known: 'walking'")],
)
def test_unknown_type_suggests(kind: str, suggestion: str) -> None:
    with pytest.raises(ModeError, match=suggestion):
        as_transportation(kind)


@pytest.mark.parametrize("value", [None, 3, ["driving"], {"mode": "driving"}, {"type": None}, {"type": 5}])
def test_not_a_transportation(value: object) -> None:
    with pytest.raises(ModeError):
        as_transportation(value)


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("walking", "traffic_model", "peak"),
        ("cycling+ferry", "traffic_model", "balanced"),
        ("driving", "boarding_time", 60),
        ("walking+ferry", "include_roads", ("track",)),
        ("cycling", "exclude_roads", ("toll",)),
        ("walking", "disable_border_crossing", True),
        ("driving", "walking_time", 600),
        ("bus", "driving_time_to_station", 600),
        ("driving+train", "cycling_time_to_station", 600),
        ("train", "parking_time", 100),
        ("driving+train", "include_roads", ("track",)),
        ("driving", "walking_speed", 4),
        ("driving", "avoid", ("unlit",)),
        ("cycling", "time_dependent", True),
        ("driving+train", "time_dependent", True),
        ("cycling+ferry", "avoid", ("unpaved",)),
        ("walking", "modes", ("tram",)),
        ("walking", "direct_walking_time", 0),
        ("driving", "transfer_walking_time", 60),
        ("cycling", "walking_speed", 4),
        ("walking", "cycling_speed", 20),
        ("bus", "cycling_speed", 20),
        ("driving+train", "cycling_speed", 20),
    ],
)
def test_option_of_another_type(kind: str, option: str, value: object) -> None:
    with pytest.raises(ModeError, match=re.escape(f"{option} does not apply to transportation type {kind!r}")):
        as_transportation({"type": kind, option: value})


@pytest.mark.parametrize(
    "values",
    [
        {"traffic_model": "rush"},
        {"traffic_model": 1},
        {"include_roads": "track"},
        {"include_roads": ("dirt",)},
        {"include_roads": 5},
        {"exclude_roads": ("track",)},
        {"disable_border_crossing": "no"},
        {"trafic_model": "peak"},
    ],
)
def test_bad_values(values: dict[str, object]) -> None:
    with pytest.raises(ModeError):
        as_transportation({"type": "driving", **values})


def test_misspelt_option_suggests() -> None:
    with pytest.raises(ModeError, match="'traffic_model'"):
        as_transportation({"type": "driving", "trafic_model": "peak"})


def test_borders_are_not_carried() -> None:
    with pytest.raises(UnsupportedError, match="borders"):
        Transportation("driving", disable_border_crossing=True)
    assert not Transportation("walking", disable_border_crossing=False).disable_border_crossing


@pytest.mark.parametrize("value", [300, 300.0, np.int64(300), np.float32(300)])
def test_whole_numbers(value: object) -> None:
    boarding = as_transportation({"type": "ferry", "boarding_time": value}).boarding_time
    assert boarding == 300
    assert type(boarding) is int


@pytest.mark.parametrize("value", ["300", 1.5, float("nan"), float("inf"), True, [1]])
def test_not_whole_numbers(value: object) -> None:
    with pytest.raises(ModeError, match="whole number of seconds"):
        as_transportation({"type": "ferry", "boarding_time": value})
    with pytest.raises(ModeError, match="whole number of metres"):
        as_snapping({"threshold": value})


@pytest.mark.parametrize("value", [4.5, np.float32(4.5), np.float64(4.5)])
def test_speeds(value: object) -> None:
    bus = as_transportation({"type": "bus", "walking_speed": value})
    assert bus.walking_speed == bus.access.walking_speed == bus.egress.walking_speed == 4.5
    assert type(bus.walking_speed) is float
    ridden = as_transportation({"type": "cycling+public_transport", "walking_speed": 4, "cycling_speed": 20})
    assert (ridden.access.cycling_speed, ridden.egress.walking_speed) == (20.0, 4.0)
    assert as_transportation({"type": "driving+train", "walking_speed": 4}).access == as_transportation("driving")


@pytest.mark.parametrize("value", ["4", float("nan"), True, [4], 1j])
def test_not_speeds(value: object) -> None:
    with pytest.raises(ModeError, match=r"walking_speed must be a number of km/h; got"):
        Transportation("walking", walking_speed=value)


@pytest.mark.parametrize("value", [0, -4, 0.4, 20.1, float("inf"), 10**400])
def test_speeds_out_of_range(value: float) -> None:
    with pytest.raises(LimitError, match=r"walking_speed must be from 0.5 to 20 km/h; got"):
        Transportation("walking", walking_speed=value)
    with pytest.raises(LimitError, match=r"cycling_speed must be from 4 to 60 km/h; got 3"):
        Transportation("cycling", cycling_speed=3)


def test_modes_of_routes() -> None:
    means = Transportation("train", modes=["subway", "tram", "tram"])
    assert means.modes == ("tram", "subway")
    assert as_transportation({"type": "train", "modes": {"tram", "subway"}}) == means
    with pytest.raises(ModeError, match=r"Each item of modes must be one of 'tram', .*; got 'metro'"):
        Transportation("train", modes=("metro",))
    for bad in ("tram", 0, (0,), {"tram": 1}):
        with pytest.raises(ModeError, match="modes"):
            Transportation("train", modes=bad)


def test_limits_of_walks() -> None:
    means = as_transportation({"type": "bus", "transfer_walking_time": 0, "direct_walking_time": np.int64(0)})
    assert (means.transfer_walking_time, means.direct_walking_time) == (0, 0)
    for name in ("transfer_walking_time", "direct_walking_time"):
        with pytest.raises(LimitError, match=f"{name} must be at most 86400 seconds"):
            Transportation("bus", **{name: 86_401})
        with pytest.raises(ModeError, match=f"{name} must be a whole number of seconds"):
            Transportation("bus", **{name: "600"})


def test_negative_numbers() -> None:
    with pytest.raises(LimitError):
        Transportation("ferry", boarding_time=-1)
    with pytest.raises(LimitError):
        Snapping(threshold=-1)


def test_none_equals_absent() -> None:
    assert as_transportation({"type": "driving", "traffic_model": None, "boarding_time": None}) == Transportation()
    assert as_snapping({"penalty": None, "threshold": None}) == as_snapping(None) == Snapping()


def test_snapping() -> None:
    snapping = as_snapping({"penalty": "disabled", "accept_roads": "any_drivable", "threshold": 0})
    assert snapping == Snapping("disabled", "any_drivable", 0)
    assert as_snapping(snapping) is snapping
    for bad in ({"penalty": "off"}, {"accept_roads": "any"}, {"treshold": 5}, "enabled", 5):
        with pytest.raises(ModeError):
            as_snapping(bad)


@pytest.mark.parametrize(("typed", "meant"), [("bike", "cycling"), ("Transit", "public_transport"), ("car", "driving")])
def test_other_packages_words(typed: str, meant: str) -> None:
    with pytest.raises(ModeError, match=f"Use '{meant}'"):
        Transportation(typed)


def test_options_apply_to_types() -> None:
    assert applies("max_changes", "train") and not applies("max_changes", "walking")
    assert applies("traffic_model", "driving+train")


def test_other_packages_functions() -> None:
    with pytest.raises(AttributeError, match="no attribute 'isochrones'; use time_map"):
        tl.isochrones  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        tl.nothing  # noqa: B018


# The table of modes ---------------------------------------------------------------------------------------------------


def mode_names_compared(path: Path) -> list[str]:
    """Return the comparisons of a module with the name of a mode, and uses of its beginning or end."""
    found: list[str] = []
    text = path.read_text(encoding="utf-8")
    if not re.search(rf"""["'](?:{"|".join(map(re.escape, MODES))})[+"']""", text):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            sides = list(node.args) if node.func.attr in ("startswith", "endswith", "partition", "rpartition") else []
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        else:
            continue
        parts = (part for side in sides for part in getattr(side, "elts", [side]))
        words = {part.value for part in parts if isinstance(part, ast.Constant)}
        if any(isinstance(word, str) and (word in MODES or word.rstrip("+") in MODES) for word in words):
            found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.slow
def test_no_module_but_the_table_compares_names_of_modes() -> None:
    package = Path(tl.__file__).parent
    modules = [path for path in package.rglob("*.py") if path.parent.name != "modes"]
    assert len(modules) > 200
    assert [text for path in modules for text in mode_names_compared(path)] == []


def test_comparisons_are_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('a == "walking"\nb in ("driving", "car")\nc.startswith("cycling+")\nd == "ferry"\n')
    assert len(mode_names_compared(module)) == 3


def test_rows_are_whole() -> None:
    rows = MODES.values()
    for name in ("label", "description", "number", "segment", "details", "fast_place", "query_place"):
        given = [getattr(row, name) for row in rows if getattr(row, name) is not None]
        if name != "description":
            assert len(given) == len(set(given)), name
        assert all(text != "" for text in given), name
    assert {row.number for row in rows} - {None} == set(range(8))
    for option, types in APPLIES_TO.items():
        assert types, option
    assert {*APPLIES_TO} == {field.name for field in dataclasses.fields(Transportation)} - {"type"}
    assert tuple(STREET_MODES) == BASE_MODES
    for row in rows:
        assert not row.vehicles or row.vehicles in VEHICLES
        assert row.kph is None or row.street.speed_option
        assert street_type(row).street is row.street
        assert with_all_vehicles(row).vehicles == (ALL_VEHICLES if row.vehicles else "")


#: A slow walker, inserted into the table before anything else of the package is imported; prints what each door says.
SLOW_WALKER = """
import importlib.util, json, sys, urllib.request
spec = importlib.util.find_spec("traveltime_lab.modes.table")
source = spec.loader.get_source(spec.name)
row = '''    Mode(
        "walking_slow", WALKING, "on foot, slowly", "On foot at 3 km/h.",
        fast_place=9, query_place=5, number=8, segment="walking_slow", kph=3.0, synonyms="stroll",
    ),
    Mode("slow_transit", WALKING, "slowly to the stop", "On foot at 3 km/h and by bus.", vehicles="bus", kph=3.0),
    Mode(
        "ebike+public_transport", CYCLING, "fast to the stop", "By bicycle at 25 km/h, then by anything.",
        has_ferry=True, vehicles="public_transport", kph=25.0,
    ),
'''
place = source.index("_ROWS: Final = (\\n") + len("_ROWS: Final = (\\n")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(source[:place] + row + source[place:], spec.origin, "exec"), module.__dict__)

import traveltime_lab as tl

network = tl.sample_network()
places = tl.sample_points()
one, two = places.iloc[[0]], places.iloc[[1]]
found = {}

def matrix(kind):
    how = {"transportation": kind, "travel_time": 14_400, "properties": ("travel_time", "distance")}
    return tl.time_filter(network, one, places, form="matrix", **how)

slow, usual, custom = matrix("walking_slow"), matrix("walking"), matrix({"type": "walking", "walking_speed": 3.0})
found["as with a custom speed"] = slow.equals(custom)
found["ratio"] = float((slow["travel_time"] / usual["travel_time"]).stack().median())
kinds = "walking_slow", "walking"
near, far = (tl.time_map(network, one, travel_time=900, transportation=kind).geometry.iloc[0] for kind in kinds)
found["area"] = near.area < far.area
(route,) = tl.routes(network, one, two, transportation="walking_slow")["route"]
found["routes"] = [leg.mode for leg in route.legs]
found["explain"] = str(tl.explain(network, one, two, travel_time=60, transportation="walking_slow"))
def ways(kind, **options):
    means = tl.Transportation(kind, **options)
    return [means.access.type, means.access.speed, means.egress.type, means.egress.speed]

found["ways"] = {
    "slow": ways("slow_transit"), "custom": ways("slow_transit", walking_speed=4.0),
    "ebike": ways("ebike+public_transport"), "bus": ways("bus"), "bicycle": ways("cycling+public_transport"),
}
when = {"departure_time": "2019-05-14T08:00", "travel_time": 7200, "form": "matrix"}
both = "slow_transit", {"type": "bus", "walking_speed": 3.0}
slow, custom = (tl.time_filter(network, one, places, transportation=kind, **when) for kind in both)
found["by timetable"] = slow.equals(custom) and int(slow.notna().sum().sum()) > 5
from traveltime_lab.modes.table import MODES, with_all_vehicles, with_ferry
found["others"] = [with_all_vehicles(MODES["bus"]).name, with_ferry(MODES["cycling"]).name]
try:
    tl.Transportation("stroll")
except tl.ModeError as error:
    found["synonym"] = str(error)
from traveltime_lab.maps.widget import choices
found["choice"] = choices.in_words("walking_slow"), "walking_slow" in choices.kinds(network)
from traveltime_lab.settings import settings
with settings.override(threads=1), tl.serve(network) as url:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    lng, lat = one.geometry.x.iloc[0], one.geometry.y.iloc[0]
    body = {"departure_searches": [{"id": "a", "coords": {"lat": lat, "lng": lng}, "travel_time": 900,
        "transportation": {"type": "walking_slow"}, "departure_time": "2019-05-14T08:00:00Z",
        "properties": ["is_only_walking"]}]}
    opener.open(url.page).close()

    def get(path, data=None):
        headers = {"Content-Type": "application/json"}
        with opener.open(urllib.request.Request(f"{url}{path}", data, headers)) as answer:
            return json.loads(answer.read())

    (shape,) = get("/v4/time-map", json.dumps(body).encode())["results"]
    found["is_only_walking"] = shape["properties"]["is_only_walking"]
    found["page"] = "on foot, slowly" in json.dumps(get("/page/config"))
    found["map info"] = "walking_slow" in json.dumps(get("/v4/map-info"))
    query = f"/v4/time-map?type=walking_slow&lat={lat}&lng={lng}&travel_time=600&departure_time=2019-05-14T08:00:00Z"
    found["query"] = bool(get(query)["results"][0]["shapes"])
from traveltime_lab.server import openapi
document = openapi.describe()
found["openapi"] = sorted(name for name in document["components"]["schemas"] if "Slow" in name)
from traveltime_lab.server.protobuf.endpoints import SEGMENTS, TYPES
found["protobuf"] = TYPES[8].name, "walking_slow" in SEGMENTS
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_new_row_walks_through_every_door() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW_WALKER], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["explain"].startswith("Not reached")
    assert found["as with a custom speed"]
    assert found["ratio"] == pytest.approx(5 / 3, rel=0.01)
    assert found["area"]
    assert found["routes"] == ["walk"]
    assert found["synonym"].endswith("Use 'walking_slow'.")
    assert found["choice"] == ["on foot, slowly", True]
    assert found["is_only_walking"]
    assert found["page"]
    assert found["map info"]
    assert found["query"]
    assert found["ways"] == {
        "slow": ["walking", 3.0, "walking", 3.0],
        "custom": ["walking", 4.0, "walking", 4.0],
        "ebike": ["cycling+ferry", 25.0, "walking", None],
        "bus": ["walking", None, "walking", None],
        "bicycle": ["cycling+ferry", None, "walking", None],
    }
    assert found["by timetable"]
    assert found["others"] == ["public_transport", "cycling+ferry"]
    assert found["openapi"] == ["FastWalkingSlow", "SlowTransit", "WalkingSlow"]
    assert found["protobuf"] == ["walking_slow", True]
