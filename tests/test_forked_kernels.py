"""Kernels of notebooks that are forked are those that a reader has, but for the imports that lie behind them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel", reason="the extra 'notebook' is not installed")

from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import local_provisioner

from tests.support import forked_kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are not forked on this system")


@pytest.fixture(scope="module")
def server() -> Iterator[forked_kernels.Server]:
    modules = "IPython", "ipykernel.kernelapp", "matplotlib.figure"
    with contextlib.closing(forked_kernels.Server(modules)) as started:
        yield started


@pytest.fixture(params=["forked", "started"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("MPLBACKEND", raising=False)
    if request.param == "forked":
        monkeypatch.setattr(local_provisioner, "launch_kernel", request.getfixturevalue("server").launch)
    manager, client = start_new_kernel(kernel_name="python3", env={**os.environ, "OWN": "value"}, cwd="/")
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def printed(client: Any, code: str) -> list[str]:
    """Return what a cell prints and shows."""
    told: list[str] = []

    def tell(message: Any) -> None:
        content = message["content"]
        told.extend(content.get("data", {}) or [content[key] for key in ("text", "ename") if key in content])

    client.execute_interactive(code, output_hook=tell, timeout=60)
    return told


def own_path() -> str:
    """Return the path of modules of a Python that starts elsewhere."""
    code = "import sys; print(sorted(sys.path))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.thorough
def test_kernels_are_alike(kernel: Any) -> None:
    _, client = kernel
    code = "import os, sys; print(os.getcwd(), os.environ['OWN'], os.environ['MPLBACKEND'], sys.argv[0])"
    assert printed(client, code)[0].startswith("/ value module://matplotlib_inline.backend_inline /")
    assert printed(client, "print(sorted(sys.path))") == [f"{own_path()}\n"]
    assert printed(client, "traveltime_lab") == printed(client, "geopandas") == ["NameError"]
    drawn = printed(client, "from matplotlib import pyplot; pyplot.plot([1, 2]);")
    assert drawn == ["text/plain", "image/png"]
    assert printed(client, "print('a line'); sys.stderr.write('a warning');") == ["a line\n", "a warning"]


@pytest.mark.slow
def test_a_kernel_that_ends_is_seen(kernel: Any) -> None:
    manager, client = kernel
    with contextlib.suppress(Exception):
        client.execute("import os; os.kill(os.getpid(), 9)")
    while manager.is_alive():
        time.sleep(0.05)
    assert manager.provisioner.process is None or manager.provisioner.process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_imports_that_say_something_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talkative.py").write_text("import warnings\nwarnings.warn('old')", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, words in (("talkative", "UserWarning: old"), ("missing", "ModuleNotFoundError")):
        with pytest.raises(RuntimeError, match=f"(?s)what notebooks import warns or fails: .*{words}"):
            forked_kernels.Server((name,))
