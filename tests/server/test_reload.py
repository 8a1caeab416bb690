"""Networks are exchanged while a service runs: no request waits, fails, or is answered with two of them."""

from __future__ import annotations

import gc
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

import traveltime_lab as tl
from tests.support import ROOT, worlds
from tests.support.door import PAIR, coords
from tests.support.logs import messages
from traveltime_lab.server import reload as reloading
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.reload import Reloader, Source, hangups
from traveltime_lab.server.serve import Served, serve
from traveltime_lab.server.serving import Serving


def street(detour_m: float) -> tl.Network:
    """Return a street of a kilometre, or a longer way between the same two places."""
    nodes = {"a": (0.0, 0.0), "c": (500.0, detour_m), "b": (1000.0, 0.0)}
    return worlds.world(nodes, [("a", "c"), ("c", "b")])


@pytest.fixture(scope="module")
def streets() -> dict[str, tl.Network]:
    return {"short": street(0.0), "long": street(800.0)}


HERE, THERE = worlds.at((0.0, 0.0)).iloc[0], worlds.at((1000.0, 0.0)).iloc[0]


def body(n_searches: int) -> dict[str, Any]:
    search = {
        "departure_location_id": "a", "arrival_location_ids": ["b"], "travel_time": 3600, "properties": ["distance"],
        "transportation": {"type": "walking"}, "departure_time": "2026-03-02T08:00:00Z",
    }  # fmt: skip
    places = [{"id": name, "coords": coords((place.y, place.x))} for name, place in (("a", HERE), ("b", THERE))]
    return {"locations": places, "departure_searches": [{**search, "id": str(i)} for i in range(n_searches)]}


def metres(url: Served, session: Any = requests, n_searches: int = 1) -> set[int]:
    """Return the distances of all searches of one request, which must succeed."""
    response = session.post(f"{url}/v4/time-filter", json=body(n_searches), headers=url.headers, timeout=30)
    assert response.status_code == 200, response.text
    found = [each["locations"][0]["properties"][0]["distance"] for each in response.json()["results"]]
    assert len(found) == n_searches
    return set(found)


def exchanged_under_load(url: Served, networks: list[tl.Network], n_exchanges: int, n_clients: int) -> dict[int, int]:
    """Exchange networks while clients ask; return how many requests had which distance."""
    counts: dict[int, int] = {}
    faults: list[object] = []
    is_over = threading.Event()

    def ask() -> None:
        with requests.Session() as session:
            while not is_over.is_set():
                try:
                    found = metres(url, session, 5)
                    assert len(found) == 1, f"mixed: {found}"
                    counts[found.pop()] = counts.get(0, 0) + 1
                except Exception as error:
                    faults.append(error)

    clients = [threading.Thread(target=ask) for _ in range(n_clients)]
    for client in clients:
        client.start()
    for i in range(n_exchanges):
        url.reload({"here": networks[(i + 1) % len(networks)]})
        time.sleep(0.02)
    is_over.set()
    for client in clients:
        client.join()
    assert not faults, faults[:3]
    return counts


@pytest.mark.slow
def test_reload_under_load(streets: dict[str, tl.Network]) -> None:
    with serve({"here": streets["short"]}, credentials=[PAIR]) as url:
        (short,) = metres(url)
        url.reload({"here": streets["long"]})
        (long,) = metres(url)
        assert long > short
        found = exchanged_under_load(url, [streets["long"], streets["short"]], 12, 3)
        assert set(found) == {short, long}
        assert 'reloads_total{outcome="ok"} 13' in requests.get(f"{url}/metrics", timeout=30).text
        assert requests.get(f"{url}/ready", timeout=30).status_code == 200, "networks are made ready first"


def test_a_request_keeps_the_networks_that_it_began_with(
    streets: dict[str, tl.Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    from traveltime_lab.server.endpoints import searches

    begun, go = threading.Event(), threading.Event()
    query_of, found = searches.query_of, []

    def slow(*given: Any, **more: Any) -> Any:
        if threading.current_thread().name.startswith("traveltime_lab.server_"):
            begun.set()
            assert go.wait(30)
        return query_of(*given, **more)

    with serve({"here": streets["short"]}, credentials=[PAIR]) as url:
        (short,) = metres(url)
        with monkeypatch.context() as patch:
            for module in list(sys.modules.values()):
                if getattr(module, "query_of", None) is query_of:
                    patch.setattr(module, "query_of", slow)
            asking = threading.Thread(target=lambda: found.append(metres(url, n_searches=3)))
            asking.start()
            assert begun.wait(30)
            url.reload({"here": streets["long"]})
            go.set()
            asking.join()
        assert found == [{short}]
        assert metres(url) != {short}


@pytest.mark.slow
def test_the_former_network_is_forgotten(streets: dict[str, tl.Network]) -> None:
    former = street(100.0)
    with serve({"here": former}, credentials=[PAIR]) as url:
        metres(url)
        gone = weakref.ref(former)
        url.reload({"here": streets["short"]})
        metres(url)
        del former
        gc.collect()
        assert gone() is None
        with pytest.raises(tl.InputError, match="at least one network"):
            url.reload({})
        metres(url)


@pytest.fixture
def saved(streets: dict[str, tl.Network], tmp_path: Path) -> Path:
    for name, network in streets.items():
        network.save(tmp_path / f"{name}.network")
    shutil.copy(tmp_path / "short.network", tmp_path / "city.network")
    return tmp_path / "city.network"


def replace(file: Path, content: str | bytes) -> None:
    """Replace a file in one step, as `Network.save` does."""
    part = file.with_name("part")
    part.write_bytes((file.parent / f"{content}.network").read_bytes() if isinstance(content, str) else content)
    part.replace(file)


@pytest.fixture
def watching(saved: Path) -> Reloader:
    source = Source((saved,), lambda: tl.load_network(saved))
    stamps = {"here": source.stamp()}
    return Reloader(Serving(Atlas({"here": source.load(), "there": tl.load_network(saved)})), {"here": source}, stamps)


def networks_of(reloader: Reloader) -> dict[str, tl.Network]:
    return {item.name: item.network for item in reloader._serving.atlas.maps}


def test_a_changed_file_is_loaded_when_it_is_complete(watching: Reloader, saved: Path) -> None:
    before = networks_of(watching)
    watching.look()
    watching.look()
    assert networks_of(watching) == before, "nothing has changed"
    replace(saved, "long")
    watching.look()
    assert networks_of(watching) == before, "it may still be written"
    saved.unlink()
    watching.look()
    watching.look()
    assert networks_of(watching) == before, "a file that is not there"
    replace(saved, "long")
    watching.look()
    watching.look()
    after = networks_of(watching)
    assert after["here"] is not before["here"] and after["there"] is before["there"]
    watching.look()
    watching.look()
    assert networks_of(watching) == after


def test_a_broken_file_keeps_the_former_network(
    watching: Reloader, saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = networks_of(watching)
    replace(saved, b"no network")
    for _ in range(4):
        watching.look()
    assert networks_of(watching) == before
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1, "once for each content"
    assert re.search(r"map=here cannot be reloaded, the former network stays: .*city\.network", errors[0])
    replace(saved, "long")
    watching.look()
    watching.look()
    assert networks_of(watching) != before
    text = watching._serving.metrics.text([], [], is_ready=True)
    assert 'reloads_total{outcome="ok"} 1' in text and 'reloads_total{outcome="failed"} 1' in text


def test_a_broken_file_keeps_no_other_network_back(saved: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = saved.with_name("other.network")
    shutil.copy(saved, other)
    sources = {
        "here": Source((saved,), lambda: tl.load_network(saved)),
        "other": Source((other,), lambda: tl.load_network(other)),
    }
    stamps = {name: source.stamp() for name, source in sources.items()}
    watching = Reloader(Serving(Atlas({name: source.load() for name, source in sources.items()})), sources, stamps)
    before = networks_of(watching)
    replace(saved, b"no network")
    replace(other, "long")
    for _ in range(3):
        watching.look()
    after = networks_of(watching)
    assert after["here"] is before["here"] and after["other"] is not before["other"]
    assert ["map=here" in text for text in messages(caplog, logging.ERROR)] == [True]
    replace(saved, "long")
    for _ in range(3):
        watching.look()
    assert networks_of(watching)["here"] is not before["here"]


def test_ready_after_an_exchange_is_ready_for_all_maps(
    streets: dict[str, tl.Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_ready: list[str] = []
    monkeypatch.setattr("traveltime_lab.server.warm_up.try_out", lambda item, *_: made_ready.append(item.name))
    serving = Serving(Atlas({"here": streets["short"], "there": streets["long"]}))
    serving.exchange(Atlas({"here": streets["long"], "there": streets["long"]}))
    assert serving.is_ready and set(made_ready) == {"here", "there"}
    made_ready.clear()
    serving.exchange(Atlas({"here": streets["short"], "there": streets["long"]}))
    assert set(made_ready) == {"here"}, "the other one is ready"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP")
def test_a_hangup_before_there_are_networks_reloads_them_then() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup: no terminal ends this
    called: list[bool] = []
    try:
        with hangups() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: signals._is_late)
            signals.call(lambda: called.append(True))
            assert called == [True]
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: len(called) == 2)
    finally:
        signal.signal(signal.SIGHUP, former)


def test_the_thread_survives_whatever_goes_wrong(
    watching: Reloader, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = networks_of(watching)
    changed, n_looks = watching._changed, [0]

    def fails_once() -> dict[str, Any]:
        n_looks[0] += 1
        if n_looks[0] == 1:
            raise ValueError("a fault")
        return changed()

    monkeypatch.setattr(watching, "_changed", fails_once)
    with watching.running():
        replace(saved, "long")
        watching.wake()
        wait_for(lambda: n_looks[0] == 1)
        watching.wake()
        wait_for(lambda: networks_of(watching) != before)


def test_changes_are_part_of_a_source(saved: Path, streets: dict[str, tl.Network]) -> None:
    file = saved.with_name("changes.json")
    edge = int(streets["short"].edges_frame().index[0])
    tl.save_changes([tl.SetSpeed(edges=[edge], kph=2)], file)
    source = Source((saved,), lambda: tl.load_network(saved)).changed_by(file)
    assert source.load().changes and len(source.stamp()) == 2
    file.write_text("[]")
    assert source.stamp()[1] is not None


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP")
def test_hangup_reloads_and_the_end_of_a_terminal_ends(
    watching: Reloader, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has, ended = [True], []
    monkeypatch.setattr(reloading, "_has_terminal", lambda: has[0])
    monkeypatch.setattr(signal, "SIGTERM", signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, lambda *_: ended.append(True))
    before = networks_of(watching)
    # The tests themselves may run under nohup, where the end of a terminal ends nothing.
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with watching.running():
            replace(saved, "long")
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: networks_of(watching) != before)
            assert not ended
            has[0] = False
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: bool(ended))
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, former)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP")
@pytest.mark.thorough
@pytest.mark.parametrize("way", ["SIGHUP", "watch"])
def test_the_command_reloads(way: str, saved: Path) -> None:
    command = [sys.executable, "-m", "traveltime_lab", "serve", str(saved), "--port", "0", "--credentials", "a:b"]
    more = ["--watch", "0.05"] if way == "watch" else []
    with subprocess.Popen(
        [*command, *more], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        url = Served(address[0])
        url.app_id, url.api_key = "a", "b"

        def says(text: str) -> bool:
            with urllib.request.urlopen(f"{url}/metrics", timeout=30) as response:
                return text in response.read().decode()

        try:
            wait_for(lambda: says("traveltime_lab_ready 1"))
            (short,) = metres(url)
            for content, sample in (("long", 'reloads_total{outcome="ok"} 1'), (b"x", 'outcome="failed"} 1')):
                replace(saved, content)
                if way == "SIGHUP":
                    process.send_signal(signal.SIGHUP)
                wait_for(lambda sample=sample: says(sample))
                (now,) = metres(url)
                assert now > short
        finally:
            process.terminate()
            _, told = process.communicate()
    assert "reloaded maps=city" in told and "map=city cannot be reloaded, the former network stays" in told
    assert process.returncode == -signal.SIGTERM
