"""Signals wait for kernels: Ctrl+C ends a search with KeyboardInterrupt, and never the process with a crash."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.runtime import signals

pytestmark = pytest.mark.quick

#: Interrupts searches again and again at moments that differ, and prints how many ended with KeyboardInterrupt. Python
#: loses an exception in a finalizer, such as one of another package, so that a second signal may be necessary.
SEARCHES = """
import os, signal, threading, time
import traveltime_lab as tl

network, zones = tl.sample_network(), tl.sample_points(kind="zones")
some = zones.iloc[:3]
asks = [
    lambda: tl.time_filter(network, zones, zones, travel_time=1800, form="sparse"),
    lambda: tl.time_map(network, some, travel_time=600, transportation="walking"),
    lambda: tl.nearest(network, zones, zones, travel_time=1800, transportation="walking"),
]
n_interrupted = 0
for ask in asks:
    ask()
n_sent = 0


def interrupt(pause, caught):
    global n_sent
    while not caught.wait(pause):
        os.kill(os.getpid(), signal.SIGINT)
        n_sent, pause = n_sent + 1, 2.0


for i in range(40):
    caught = threading.Event()
    sender = threading.Thread(target=interrupt, args=(0.002 + 0.0013 * i, caught))
    try:
        sender.start()
        while True:
            asks[i % len(asks)]()
    except KeyboardInterrupt:
        caught.set()
        n_interrupted += 1
    sender.join()
assert n_sent <= 44, n_sent
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(n_interrupted)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise on this system")
@pytest.mark.slow
def test_searches_are_interrupted_without_a_crash() -> None:
    done = subprocess.run([sys.executable, "-c", SEARCHES], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "40"), done.stderr


class StopError(Exception):
    """What a handler raises."""


@pytest.fixture
def handler() -> Iterator[Any]:
    """A handler of SIGINT that raises."""

    def stop(_number: int, _frame: Any) -> None:
        raise StopError

    former = signal.signal(signal.SIGINT, stop)
    yield stop
    signal.signal(signal.SIGINT, former)


def test_signals_in_a_kernel_are_handled_after_it(handler: Any) -> None:
    seen = []

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        seen.append("end of work")

    for block in (signals.held(), contextlib.nullcontext()):
        with pytest.raises(StopError), block:
            signals.call(work)
    assert seen == ["end of work"] * 2
    assert signal.getsignal(signal.SIGINT) is handler
    # What was held is handled once.
    signals.call(seen.clear)


def test_signals_in_a_finalizer_are_handled_later(handler: Any) -> None:
    seen = []

    class Thing:
        def __del__(self) -> None:
            signals.postpone(signal.raise_signal, signal.SIGINT)

    def work(*, with_kernel: bool) -> None:
        with signals.held():
            thing = Thing()
            del thing
            seen.append("after the finalizer")
            if with_kernel:
                signals.call(seen.append, "kernel")
                seen.append("after the kernel")

    for with_kernel in (False, True):
        with pytest.raises(StopError):
            work(with_kernel=with_kernel)
    assert seen == ["after the finalizer", "after the finalizer", "kernel"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_signals_between_kernels_are_handled_at_once(handler: Any) -> None:
    with pytest.raises(StopError), signals.held():
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the handler was not called")
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_is_set_meanwhile_stays(handler: Any) -> None:
    def other(_number: int, _frame: Any) -> None:
        pytest.fail("no signal is sent")

    with signals.held():
        signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other


def test_other_threads_set_no_handlers(handler: Any) -> None:
    found = []

    def work() -> None:
        with signals.held():
            found.append(signal.getsignal(signal.SIGINT))
            found.append(signals.call(abs, -1))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [handler, 1]


@kernel
def two(x):
    """Return two values, one of which is an array."""
    return x, 1


def test_kernels_are_called_so(handler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    called = []
    monkeypatch.setattr(
        "traveltime_lab.kernels.compiled.call", lambda function, *given: called.append(given[0]) or function(*given)
    )
    assert two(np.zeros(3))[1] == 1
    assert called == [two]
