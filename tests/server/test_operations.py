"""What operators ask: metrics in the format of Prometheus, and whether a service is ready."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest

import traveltime_lab as tl
from tests.support import worlds
from tests.support.door import PAIR, Door, assert_error, ok, open_door, time_map_search
from traveltime_lab.server import serving as exchanging
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.endpoints import shapes
from traveltime_lab.server.metrics import BUCKETS_S, MEDIA, Metrics
from traveltime_lab.server.serving import Serving
from traveltime_lab.server.workers import Workers

HERE = worlds.at((100.0, 0.0)).iloc[0]
BODY = {"departure_searches": [time_map_search(place=(HERE.y, HERE.x), travel_time=60)]}
#: A line of the text format: a comment, or a name with labels and a number.
LINE = re.compile(
    r"# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+=\"([^\"\\]|\\.)*\"(,[a-z_]+=\"([^\"\\]|\\.)*\")*\})? (\d|\+Inf)\S*"
)


@pytest.fixture(scope="module")
def tiny() -> tl.Network:
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])


@pytest.fixture
def serving(tiny: tl.Network) -> Serving:
    return Serving(Atlas({"tiny": tiny}))


@pytest.fixture
def alone(serving: Serving) -> Iterator[Door]:
    with open_door(create_app(serving, Credentials([PAIR]))) as opened:
        yield opened


def metrics(door: Door) -> dict[str, float]:
    """Return the samples of a service, which must be well formed: one family after the other, each sample once."""
    response = door.get("/metrics", headers={})
    assert (response.status_code, response.headers["content-type"]) == (200, MEDIA)
    assert response.text.endswith("\n")
    found: dict[str, float] = {}
    family = ""
    for line in response.text.splitlines():
        assert LINE.fullmatch(line), line
        if line.startswith("# TYPE"):
            family = line.split()[2]
        elif not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert re.sub(r"\{.*|_(bucket|sum|count)(?=\{)", "", name) == family and name not in found, line
            found[name] = float(value)
    return {name.removeprefix("traveltime_lab_"): value for name, value in found.items()}


def test_requests_are_counted_by_path_method_and_status(alone: Door) -> None:
    for _ in range(3):
        ok(alone.post("/v4/time-map", BODY))
    assert_error(alone.post("/v4/time-map", {}), 422)
    assert_error(alone.post("/v4/time-map", BODY, headers={}), 401)
    assert_error(alone("DELETE", "/v4/time-map"), 405)
    for made_up in ("/x", "/y", "/v4/time-map/z"):
        assert_error(alone("NONSENSE", made_up), 404)
    found = metrics(alone)
    counts = {name: value for name, value in found.items() if name.startswith("requests_total")}
    label = 'endpoint="/v4/time-map",method="POST"'
    assert counts == {
        f'requests_total{{{label},status="200"}}': 3,
        f'requests_total{{{label},status="401"}}': 1,
        f'requests_total{{{label},status="422"}}': 1,
        'requests_total{endpoint="/v4/time-map",method="DELETE",status="405"}': 1,
        'requests_total{endpoint="other",method="other",status="404"}': 3,
    }
    assert found['request_duration_seconds_count{endpoint="/v4/time-map"}'] == 6
    assert found["networks"] == 1 and found['network_info{map="tiny"}'] == 1
    assert metrics(alone)['requests_total{endpoint="/metrics",method="GET",status="200"}'] == 1


def test_durations_are_cumulative() -> None:
    numbers = Metrics()
    for seconds in (0.0, 0.005, 0.0051, 1.0, 299.0, 301.0):
        numbers.answered("/a", "GET", 200, seconds)
    text = numbers.text(['a"\\\n'], [], is_ready=False)
    found = re.findall(r'_bucket\{endpoint="/a",le="(\S+)"\} (\d+)', text)
    expected = [sum(each <= limit for each in (0.0, 0.005, 0.0051, 1.0, 299.0, 301.0)) for limit in BUCKETS_S]
    assert [int(number) for _, number in found] == [*expected, 6]
    assert [float(limit) for limit, _ in found[:-1]] == list(BUCKETS_S) and found[-1][0] == "+Inf"
    assert f'_sum{{endpoint="/a"}} {0.005 + 0.0051 + 1.0 + 299.0 + 301.0}' in text
    assert r'map="a\"\\\n"' in text


def test_running_and_waiting_searches(alone: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go = threading.Event(), threading.Event()
    draw = shapes.draw

    def slow(*given: object) -> object:
        inside.set()
        assert go.wait(30)
        return draw(*given)

    monkeypatch.setattr(shapes, "draw", slow)
    assert metrics(alone)["searches_running"] == 0
    asking = threading.Thread(target=lambda: ok(alone.post("/v4/time-map", BODY)))
    asking.start()
    assert inside.wait(30)
    found = metrics(alone)
    assert (found["searches_running"], found["searches_waiting"]) == (1, 0)
    go.set()
    asking.join()
    found = metrics(alone)
    assert (found["searches_running"], found["searches_waiting"]) == (0, 0)


@pytest.mark.anyio
async def test_requests_that_wait_are_counted(anyio_backend: str) -> None:
    import anyio

    workers, go = Workers(1, 1, 1000), threading.Event()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            body = workers.body()
            group.start_soon(lambda body=body: workers.run(lambda: go.wait(30), body, is_large=False))
        while workers.n_running + workers.n_waiting < 3:
            await anyio.sleep(0.001)
        assert (workers.n_running, workers.n_waiting) == (1, 2)
        go.set()
    while workers.n_running:
        await anyio.sleep(0.001)
    assert workers.n_waiting == 0
    workers.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_ready_is_said_when_the_networks_are(alone: Door, serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(*given: object, **more: object) -> None:
        begun.set()
        assert go.wait(30)

    monkeypatch.setattr(exchanging, "warm_up", slow)
    for _ in range(2):
        response = alone.get("/ready", headers={})
        assert (response.status_code, response.headers["retry-after"]) == (503, "5")
        assert response.json() == {"status": "starting", "version": tl.__version__, "maps": ["tiny"]}
    assert begun.wait(30) and metrics(alone)["ready"] == 0
    assert ok(alone.get("/health", headers={}))["status"] == "ok", "it answers already"
    go.set()
    while not serving.is_ready:
        threading.Event().wait(0.001)
    assert ok(alone.get("/ready", headers={}))["status"] == "ready"
    assert metrics(alone)["ready"] == 1


def test_a_failure_to_get_ready_is_logged(
    alone: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: object, **more: object) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(exchanging, "warm_up", broken)
    assert alone.get("/ready", headers={}).status_code == 503
    while "networks cannot be prepared" not in caplog.text:
        threading.Event().wait(0.001)
    assert alone.get("/ready", headers={}).status_code == 503
