"""The table of properties: who can contain which, and how a new row reaches every table and the service."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import traveltime_lab as tl
from traveltime_lab.search.properties import PROPERTIES, names_for, numbers
from traveltime_lab.server.contract import properties as wire
from traveltime_lab.server.contract import responses


def test_rows_are_whole() -> None:
    for name, row in PROPERTIES.items():
        assert row.name == name and row.doors
        assert (row.of is None and not row.is_charged) == (row.dtype is None)
        assert row.unit or row.of is None, "a number has a unit"
    assert set(wire._TAKEN_BY) <= set(PROPERTIES)
    assert [row.name for row in numbers(PROPERTIES)][:2] == ["travel_time", "distance"]
    assert tuple(responses.Properties.__struct_fields__) == wire.ON_THE_WIRE
    assert tuple(responses.FastProperties.__struct_fields__) == wire.taken_by("time-filter/fast")


@pytest.mark.parametrize(
    ("function", "doors"),
    [
        (tl.time_filter, ("pairs", "matrix", "sparse")),
        (tl.nearest, ("nearest",)),
        (tl.write_matrix, ("write_matrix",)),
        (tl.routes, ("routes",)),
    ],
)
def test_docstrings_list_the_properties(function: object, doors: tuple[str, ...]) -> None:
    text = str(function.__doc__)
    described = text[text.index("properties : ") :].split("\n    ", 1)[1]
    described = re.split(r"\n    \w[\w, ]* : ", described)[0]
    assert set(re.findall(r"``([a-z_]+)``", described)) == set(names_for(*doors))


#: Speeds, inserted into both tables before anything else of the package is imported; prints what each door says.
SPEED = """
import importlib.util, json, sys, tempfile, urllib.request

def load(name, place, row):
    spec = importlib.util.find_spec(name)
    source = spec.loader.get_source(name)
    assert place in source
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(source.replace(place, place + row, 1), spec.origin, "exec"), module.__dict__)
    package, _, short = name.rpartition(".")
    setattr(sys.modules[package], short, module)

import traveltime_lab.search
load("traveltime_lab.search.properties", "_metres, needs_length=True, needs_least=True),\\n", '''
            Property(
                "speed", _ALL, "km/h", np.float64,
                lambda seconds, metres: metres * 3.6 / np.maximum(seconds, 1), needs_length=True, needs_least=True,
            ),
''')
import traveltime_lab.server.contract
load("traveltime_lab.server.contract.properties", "tuple[Endpoint, ...]]] = {\\n", '''
    "speed": ("time-filter", "time-filter/fast", "routes", "time-filter/postcodes"),
''')

import pandas as pd
import traveltime_lab as tl
from traveltime_lab.settings import settings

network, places = tl.sample_network(), tl.sample_points()
one, some = places.iloc[[0]], places.iloc[1:4]
how = {"transportation": "walking", "travel_time": 14_400, "properties": ("travel_time", "distance", "speed")}
found = {}

def speeds(table):
    table = table.dropna(subset="travel_time")
    return [table["speed"].tolist(), (table["distance"] * 3.6 / table["travel_time"]).tolist()]

found["pairs"] = speeds(tl.time_filter(network, one, some, **how))
found["sparse"] = speeds(tl.time_filter(network, one, some, form="sparse", **how))
matrix = tl.time_filter(network, one, some, form="matrix", **how)
found["matrix"] = speeds(pd.DataFrame({name: matrix[name].iloc[0] for name in how["properties"]}))
found["nearest"] = speeds(tl.nearest(network, one, some, k=3, **how))
with tempfile.TemporaryDirectory() as folder:
    found["write_matrix"] = speeds(pd.read_parquet(tl.write_matrix(network, one, some, f"{folder}/out", **how)))
del how["travel_time"]
found["routes"] = speeds(tl.routes(network, one, some, **how))
alone = tl.time_filter(network, one, some, travel_time=14_400, transportation="walking", properties=["speed"])
found["alone"] = alone["speed"].tolist()
with settings.override(threads=1), tl.serve(network) as url:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(url.page).close()
    locations = [
        {"id": str(i), "coords": {"lat": place.y, "lng": place.x}} for i, place in enumerate(places.geometry[:4])
    ]
    search = {"id": "a", "departure_location_id": "0", "arrival_location_ids": ["1", "2", "3"],
        "transportation": {"type": "walking"}, "travel_time": 14_400, "departure_time": "2019-05-14T08:00:00Z",
        "properties": ["travel_time", "distance", "speed"]}
    fast = {name: value for name, value in search.items() if name not in ("departure_time", "travel_time")}
    fast |= {"arrival_time_period": "weekday_morning", "travel_time": 10_800}

    def post(path, body):
        data = json.dumps({"locations": locations, **body}).encode()
        request = urllib.request.Request(f"{url}{path}", data, {"Content-Type": "application/json"})
        with opener.open(request) as answer:
            (result,) = json.loads(answer.read())["results"]
        each = [place["properties"] for place in result["locations"]]
        rows = pd.DataFrame([one[0] if isinstance(one, list) else one for one in each])
        return speeds(rows)

    found["/v4/time-filter"] = post("/v4/time-filter", {"departure_searches": [search]})
    found["/v4/time-filter/fast"] = post("/v4/time-filter/fast", {"arrival_searches": {"one_to_many": [fast]}})
    found["/v4/routes"] = post("/v4/routes", {"departure_searches": [search]})
from traveltime_lab.server import openapi
schemas = openapi.describe()["components"]["schemas"]
found["openapi"] = "speed" in schemas["Properties"]["properties"], "speed" in json.dumps(schemas["MatrixDeparture"])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_new_row_is_in_every_table_and_answer() -> None:
    done = subprocess.run([sys.executable, "-c", SPEED], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("openapi") == [True, True]
    assert found.pop("alone") == found["pairs"][0]
    assert len(found) == 9
    for door, (speeds, expected) in found.items():
        assert len(speeds) == 3, door
        assert speeds == pytest.approx(expected, rel=1e-6), door
