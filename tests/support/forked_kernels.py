"""
Kernels for notebooks that run as tests, forked from a process that has imported what notebooks import.

Imports are half of what a short notebook takes. Each kernel is a process of its own, as it is elsewhere, which begins
where these imports end; a cell has no names but those that it imports itself. Pictures and warnings of cells are those
of any kernel, and what is said while modules are imported is an error here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

from tests.support import ROOT

#: What kernels and notebooks import; not pyplot, which chooses where to draw as soon as it is imported.
MODULES = ("IPython", "ipykernel.kernelapp", "matplotlib.figure", "geopandas", "traveltime_lab")


class Server:
    """A process that forks kernels, and ends with the process that started it."""

    def __init__(self, modules: tuple[str, ...] = MODULES) -> None:
        code = f"from tests.support.forked_kernels import serve; serve({modules!r})"
        with tempfile.TemporaryFile() as told:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, cwd=ROOT
            )
            is_ready = self._answer() == "ready"
            told.seek(0)
            words = told.read().decode(errors="replace")
        if words or not is_ready:
            self.close()
            raise RuntimeError(f"what notebooks import warns or fails: {words}")

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else "the server has ended"

    def ask(self, what: str, **values: Any) -> Any:
        """Send a request, ``fork`` or ``poll``, and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([what, values]).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process, and wait for it."""
        with self._process as process:
            if process.stdin is not None:
                process.stdin.close()

    def launch(self, command: list[str], env: dict[str, str], cwd: str | None = None, **_files: Any) -> Kernel:
        """Start a kernel, in the place of `jupyter_client.launcher.launch_kernel`; what it prints goes nowhere."""
        arguments = command[command.index("-m") + 1 :]
        assert arguments[0] == "ipykernel_launcher", command
        own = {**env, "JPY_PARENT_PID": str(self._process.pid)}
        return Kernel(self, self.ask("fork", arguments=arguments, env=own, cwd=cwd or os.getcwd()))


class Kernel:
    """A forked process, with what `jupyter_client` uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, server: Server, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask("poll", pid=self.pid)
        return self.returncode

    def wait(self) -> int:
        """Wait for its end, and return the exit status."""
        while (status := self.poll()) is None:
            time.sleep(0.02)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def serve(modules: tuple[str, ...]) -> None:
    """Import modules, and what `traveltime_lab` imports when it is used; then fork kernels until the process ends."""
    sys.path.remove("")  # of -c, which a kernel does not have
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    # A kernel sets it before cells import matplotlib.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    for name in modules:
        module = importlib.import_module(name)
        for public in module.__all__ if name == "traveltime_lab" else ():
            with contextlib.suppress(ImportError):  # an extra is not installed
                getattr(module, public)
    gc.collect()
    gc.freeze()
    answers.write(b'"ready"\n')
    for line in requests:
        what, values = json.loads(line)
        answer = _poll(**values) if what == "poll" else _fork([requests.fileno(), answers.fileno()], **values)
        answers.write(json.dumps(answer).encode() + b"\n")


def _poll(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _fork(unused: list[int], arguments: list[str], env: dict[str, str], cwd: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the threads of BLAS, which starts them again
        pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):  # it has done so itself
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        for number in unused:
            os.close(number)
        sys.argv = [str(importlib.import_module(arguments[0]).__file__), *arguments[1:]]
        importlib.import_module("ipykernel.kernelapp").launch_new_instance()
    finally:
        os._exit(1 if sys.exc_info()[0] else 0)
