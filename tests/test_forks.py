"""
Searches in processes that are made from one that has searched before: by fork, spawn and forkserver.

Each test runs in a process of its own, because a fork copies whatever the process of the tests has in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

HEAD = """
import multiprocessing, os, sys, threading, time
import traveltime_lab as tl
from traveltime_lab.settings import settings
settings.threads = 3
PATH = {path!r}

def shape_and_times(network):
    places = network_points(network)
    area = tl.time_map(network, places.iloc[:2], travel_time=600, transportation="walking")
    ride = tl.time_map(
        network, places.iloc[:1], travel_time=1500, transportation="public_transport",
        departure_time="2019-05-13T08:00:00", window=600,
    )
    times = tl.time_filter(network, places, places, travel_time=900, transportation="driving", form="matrix")
    # Cells of a size that only this function asks for: their tiles are made in the process that asks.
    fresh = tl.time_map(
        network, places.iloc[2:3], travel_time=500, transportation="cycling", level_of_detail={{"scale_type":
        "simple_numeric", "level": -3}},
    )
    return [*area.to_wkt().geometry, *ride.to_wkt().geometry, *fresh.to_wkt().geometry, times.to_csv()]

def network_points(network):
    return tl.sample_points("porto_alegre").iloc[:4]

def in_child(work):
    "Return the exit code of a forked process that calls a function, which is 0 if the function returns True."
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if work() else 3)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def search(path):
    return shape_and_times(tl.load_network(path))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that each process derives everything of in half a second: a kilometre around the four places."""
    files, around = tl.sample_files("porto_alegre"), tl.sample_points("porto_alegre").iloc[:4].total_bounds
    bounds = tuple(around + np.array([-0.008, -0.008, 0.008, 0.008]))
    network = tl.build_network(files["streets"], gtfs=[files["buses"], files["metro"]], bounds=bounds)
    return str(network.save(tmp_path_factory.mktemp("forks") / "porto_alegre.network"))


def run(saved: str, script: str) -> None:
    """Run a script in a process of its own, which has to end in time."""
    text = HEAD.format(path=saved) + "\nif __name__ == '__main__':\n" + textwrap.indent(textwrap.dedent(script), "    ")
    file = os.path.join(os.path.dirname(saved), "script.py")
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", file],
        capture_output=True, text=True, timeout=240, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_fork_after_a_search(saved: str) -> None:
    run(
        saved,
        """
        network = tl.load_network(PATH)
        expected = shape_and_times(network)
        assert in_child(lambda: shape_and_times(network) == expected) == 0
        assert in_child(lambda: search(PATH) == expected) == 0
        # A child may have children, and the parent goes on.
        assert in_child(lambda: in_child(lambda: shape_and_times(network) == expected) == 0) == 0
        assert shape_and_times(network) == expected
        """,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(saved: str, method: str) -> None:
    run(
        saved,
        f"""
        expected = search(PATH)
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            assert pool.map(search, [PATH] * 3) == [expected] * 3
            # A network can be sent, too.
            assert pool.map(shape_and_times, [tl.load_network(PATH)]) == [expected]
        """,
    )


@pytest.mark.thorough
def test_fork_while_other_threads_search(saved: str) -> None:
    """Whatever locks they hold, pools, memos, tiles, compilers: children do not wait for threads they do not have."""
    run(
        saved,
        """
        network = tl.load_network(PATH)
        expected = search(PATH)
        is_over = threading.Event()

        def go_on():
            while not is_over.is_set():
                shape_and_times(tl.load_network(PATH))
                shape_and_times(network)

        others = [threading.Thread(target=go_on) for _ in range(3)]
        for other in others:
            other.start()
        # Forks at any point of the first searches, when most is being made.
        codes = []
        for _ in range(6):
            time.sleep(0.11)
            codes.append(in_child(lambda: shape_and_times(network) == expected))
        is_over.set()
        for other in others:
            other.join()
        assert codes == [0] * 6, codes
        """,
    )


@pytest.mark.slow
def test_fork_while_a_lock_is_held(saved: str) -> None:
    run(
        saved,
        """
        from numba.core.compiler_lock import global_compiler_lock
        import traveltime_lab.kernels.compiled
        from traveltime_lab.runtime.memo import Derived, Memo

        class Owner:
            memo = Memo()

        kind, owner = Derived("slow"), Owner()
        began, go = threading.Event(), threading.Event()

        def make():
            began.set()
            go.wait(60)
            return 1

        maker = threading.Thread(target=lambda: kind.of(owner, None, make))
        maker.start()
        began.wait(10)
        assert in_child(lambda: kind.of(owner, None, lambda: 2) == 2) == 0
        go.set()
        maker.join()
        assert kind.of(owner, None, lambda: 3) == 1

        # A fork waits for a compiler instead of copying it half done.
        has_lock = threading.Event()

        def compile():
            with global_compiler_lock:
                has_lock.set()
                time.sleep(1.0)

        compiler = threading.Thread(target=compile)
        compiler.start()
        has_lock.wait(10)

        def can_compile():
            with global_compiler_lock:
                return True

        assert in_child(can_compile) == 0
        compiler.join()
        assert can_compile()
        """,
    )


@pytest.mark.thorough
def test_application_made_before_forks(saved: str) -> None:
    """As servers with preloading do: networks and application in the parent, a server in each child."""
    pytest.importorskip("uvicorn", reason="the extra 'server' is not installed")
    run(
        saved,
        """
        import http.client, json, signal, socket
        from traveltime_lab.server import listening
        from traveltime_lab.server.app import create_app
        from traveltime_lab.server.atlas import Atlas
        from traveltime_lab.server.auth import Credentials
        from traveltime_lab.server.config import Options
        from traveltime_lab.server.serve import serve
        from traveltime_lab.server.warm_up import warm_up

        network = tl.load_network(PATH)
        expected = shape_and_times(network)
        atlas = Atlas(network)
        warm_up(atlas)
        app = create_app(atlas, Credentials([("a", "b")]))
        headers = {"X-Application-Id": "a", "X-Api-Key": "b"}
        search = {
            "id": "s", "coords": {"lat": -30.027565, "lng": -51.227811}, "departure_time": "2026-03-02T08:00:00Z",
            "travel_time": 600, "transportation": {"type": "walking"},
        }
        large = {"departure_searches": [search], "x": "y" * 600_000}

        def ask(port, content):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/v4/time-map", json.dumps(content), headers)
            response = connection.getresponse()
            body = response.read()
            connection.close()
            return response.status, body

        # A service that has answered in the parent does not keep the children from having their own.
        with serve(network, credentials=[("a", "b")]) as url:
            status, right = ask(url.port, {"departure_searches": [search]})
            assert status == 200
            pids, ports = [], []
            for _ in range(2):
                listener = socket.create_server(("127.0.0.1", 0))
                ports.append(listener.getsockname()[1])
                pid = os.fork()
                if not pid:
                    listening.server(app, None, None, Options()).run([listener])
                    os._exit(0)
                listener.close()
                pids.append(pid)
            for port in ports * 2:
                for content in ({"departure_searches": [search]}, large):
                    assert ask(port, content) == (200, right)
            assert ask(url.port, large) == (200, right)
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (0, -signal.SIGTERM)
        """,
    )


@pytest.mark.thorough
def test_forks_and_pandana(saved: str) -> None:
    pytest.importorskip("pandana", reason="pandana is not installed")
    run(
        saved,
        """
        network = tl.load_network(PATH)
        places = network_points(network)

        def times():
            return tl.time_filter(network, places, places, travel_time=900, engine="pandana", form="matrix").to_csv()

        expected = times()
        assert in_child(lambda: times() == expected) == 0
        """,
    )
