"""The public Node client, JSON and Protocol Buffers: every method it has, against a served sample."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import shapely

from traveltime_lab.server.serve import Served

PACKAGE = "traveltime-api@8"
#: A folder in which the package is installed already; by default it is installed for the test, from npm.
VARIABLE = "TRAVELTIME_LAB_NODE_SDK"

#: Methods of the clients that are not for their users.
INNER = {
    "constructor", "request", "dispatch", "batch", "isDetailedTransportation", "encodeFixedPoint", "buildRequestUrl",
    "buildDeltas", "extractTransportationMode", "validateTransportationMode", "validateCountry",
    "validateSearchLocation", "extractTransportationDetails", "buildProtoRequest", "buildCellRequestUrl",
    "buildCellProtoRequest", "readProtoFile", "decodeProtoResponse", "send", "handleProtoFile",
    "handleGeohashProtoFile", "handleH3ProtoFile",
}  # fmt: skip


@pytest.fixture(scope="module")
def told(served: Served, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script printed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None:
        pytest.skip("node is not installed")
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        if npm is None:
            pytest.skip("npm is not installed")
        folder = str(tmp_path_factory.mktemp("node"))
        try:
            subprocess.run(
                [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, PACKAGE],
                check=True,
                capture_output=True,
                timeout=120,
            )
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"{PACKAGE} cannot be installed: {error}")
    script = Path(__file__).with_name("node_sdk.cjs")
    done = subprocess.run(
        [node, str(script), folder, str(served), served.app_id, served.api_key],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.fixture(scope="module")
def answers(told: dict[str, Any]) -> dict[str, Any]:
    return {name: result["answer"] for name, result in told["results"].items() if "answer" in result}


@pytest.mark.slow
def test_every_method_answers(told: dict[str, Any]) -> None:
    called = set(told["results"])
    known = {name for name in told["known"] if name.rpartition(".")[2] not in INNER}
    assert known - called == set()
    for name in called - {"proto.timeFilterFastFares"}:
        assert ("error" in told["results"][name]) == name.startswith("error."), told["results"][name]


@pytest.mark.slow
def test_matrices(answers: dict[str, Any]) -> None:
    (result,) = answers["timeFilter"]["results"]
    assert [location["id"] for location in result["locations"]] == ["p1", "p2"]
    assert answers["timeFilterBatch"][0]["type"] == "success"
    assert answers["timeFilterBatch"][1]["error"]["errorCode"] == 2
    (result,) = answers["timeFilterFast"]["results"]
    assert result["locations"][0]["properties"]["travel_time"] > 0
    for name in ("manyToManyMatrix", "manyToManyMatrixFast"):
        table = answers[name]
        assert table["errors"] == [] and len(table["travelTimes"]) == len(table["distances"]) == 2
        assert table["travelTimes"][0][0] > 0 and table["travelTimes"][1][1] == 0
        assert table["travelTimes"][0][2] == -1, "what the client makes of an unreachable place"


def test_formats(answers: dict[str, Any]) -> None:
    plain, wkt, no_holes, geojson, boxes, kml, google = answers["timeMap"]
    assert [result["search_id"] for result in plain["results"]] == ["a", "b", "u"]
    for result in (*wkt["results"], *no_holes["results"]):
        assert shapely.from_wkt(result["shape"]).is_valid
    assert [feature["properties"]["search_id"] for feature in geojson["features"]] == ["a", "b", "u"]
    assert boxes["results"][0]["bounding_boxes"][0]["envelope"]["min_lat"] > 60
    assert kml == google and kml.startswith("<?xml")
    assert len(answers["timeMapFast"]) == 5 and len(answers["distanceMap"]) == 7


def test_cells_and_zones(answers: dict[str, Any]) -> None:
    assert len(answers["h3"]["results"][0]["cells"][0]["id"]) == 15
    assert [result["search_id"] for result in answers["h3Fast"]["results"]] == ["f", "g"]
    assert len(answers["geohash"]["results"][0]["cells"][0]["id"]) == 7
    assert answers["timeFilterPostcodes"]["results"][0]["postcodes"][0]["code"].startswith("HE")
    assert answers["timeFilterPostcodeDistricts"]["results"][0]["districts"][0]["code"] == "he1"


def test_protobuf(answers: dict[str, Any]) -> None:
    times = answers["proto.timeFilterFast"]["properties"]["travelTimes"]
    both = answers["proto.timeFilterFastDistance"]["properties"]
    assert times[0] > 0 and times[2] == -1 and both["travelTimes"] == times and both["distances"][0] > 0
    found = answers["proto.h3Fast"]["cells"]
    assert all(len(cell) == 15 for cell in found["ids"]) and len(found["ids"]) == len(found["meanTravelTimes"])
    assert all(len(cell) == 7 for cell in answers["proto.geohashFast"]["cells"]["ids"])


def test_errors(told: dict[str, Any]) -> None:
    errors = {name: result["error"] for name, result in told["results"].items() if name.startswith("error.")}
    codes = {name.partition(".")[2]: (error["status"], error["errorCode"]) for name, error in errors.items()}
    assert codes == {
        "credentials": (401, 10), "schema": (422, 2), "coverage": (422, 16), "timetable": (422, 15),
        "format": (406, 406), "proto": (422, 4),
    }  # fmt: skip
    assert errors["error.coverage"]["additionalInfo"] == {"search_id": ["a"]}
    assert "obj.departure_searches[0].travel_time" in errors["error.schema"]["additionalInfo"]
    assert not any(error["isRetryable"] for error in errors.values())
