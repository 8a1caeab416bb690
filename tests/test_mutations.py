"""
Every kind of file and body, mutated: an answer or a TravelTimeError, within bounds of memory and processor time.

The kinds and their cases are in `tests.support.hostile`, the mutations in `tests.support.mutations`. A fault is shown
with its seed, and this makes the case again::

    python -m tests.support.batches "points csv" 1303

What has been found is an example in the tests of the module that it was in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("resource", reason="no limits of memory and processor time on this system")
pytest.importorskip("starlette", reason="the extra 'server' is not installed")
pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytest.importorskip("cryptography", reason="cryptography is not installed")
pytest.importorskip("rasterio", reason="rasterio is not installed")

from tests.support.batches import Batches
from tests.support.hostile import KINDS
from tests.support.requests import QUERIES, RIGHT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")

#: Cases of each kind in ordinary runs, in the thorough ones (fewer where a case takes longer), and in the long one.
FEW, SEVERAL, MANY = 3, 12, 5_000


@pytest.fixture(scope="module")
def batches() -> Iterator[Batches]:
    with Batches() as opened:
        yield opened


def cases() -> Iterator[Any]:
    for n, (name, kind) in enumerate(KINDS.items()):
        few, several = (-(-number // kind.cost) for number in (FEW, SEVERAL))
        # A service is opened for each kind of request. All are read alike, so ordinary runs try every sixth; receipts
        # are read alike wherever they are.
        if (name.startswith(("POST", "GET", "message")) and n % 6) or name == "receipt in a file":
            few = 0
        else:
            yield pytest.param(name, range(few), id=name)
        yield pytest.param(name, range(few, several), id=f"{name}, thorough", marks=pytest.mark.thorough)
        yield pytest.param(name, range(several, MANY), id=f"{name}, all", marks=pytest.mark.mutations)


@pytest.mark.parametrize(("name", "seeds"), list(cases()))
def test_answered_or_refused(batches: Batches, name: str, seeds: range) -> None:
    found = batches.run(name, seeds)
    assert not found.faults, "\n".join(f"{name}, {text}" for text in found.faults[:20])
    assert found.answered + found.refused == len(seeds)
    # Of bodies nearly all may be refused, and all credentials be read.
    assert found.refused or len(seeds) < 50 or name == "GET /v4/map-info"


def test_every_endpoint_is_asked() -> None:
    assert {name for name in KINDS if name.startswith(("POST", "GET"))} == {
        *(f"POST {path}" for path in RIGHT),
        *(f"GET {path}" for path in QUERIES),
    }


class Trial:
    """Cases that go wrong in every way."""

    name = "trial"

    @staticmethod
    def load(_folder: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("error", "seed 3: ZeroDivisionError: division by zero (test_mutations.py:"),
        ("memory", "seed 3: MemoryError"),
        ("hidden", "seed 3: refused for want of memory: too large"),
        ("silent", "seed 3: an error without words"),
        ("crash", "seed 3: the process ended, SIGSEGV"),
        pytest.param("hang", "seed 3: the process ended, more than 1 s of processor time", marks=pytest.mark.slow),
        pytest.param("wait", "seed 3: the process ended, waits for 1 s", marks=pytest.mark.slow),
        ("exit", "seed 3: SystemExit: 5"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_faults_are_found(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, what: str, says: str) -> None:
    """And the next case is tried all the same."""
    import ctypes
    import faulthandler
    import time

    from tests.support import batches as module
    from traveltime_lab.errors import InputError

    def hide() -> None:
        try:
            bytearray(8 << 30)
        except MemoryError as error:
            raise InputError("too large") from error

    def refuse() -> None:
        raise InputError

    def crash() -> None:
        faulthandler.disable()  # pytest's
        ctypes.string_at(0)

    def hang() -> None:
        while True:
            pass

    def leave() -> None:
        raise SystemExit(5)

    ways: dict[str, Any] = {
        "error": lambda: 1 / 0, "memory": lambda: bytearray(8 << 30), "hidden": hide, "silent": refuse,
        "crash": crash, "hang": hang, "wait": lambda: time.sleep(60), "exit": leave,
    }  # fmt: skip
    kind = Trial()
    seen = iter(range(5))
    kind.case = lambda _state, _dice: ways[what]() if next(seen) == 3 else None
    monkeypatch.setattr(module, "MOST_CPU_S", 1)
    monkeypatch.setattr(module, "MOST_WAIT_S", 1 if what == "wait" else 60)
    found = module.Found()
    resumed_at = module._batch(kind, tmp_path, range(5), found)
    assert len(found.faults) == 1 and found.faults[0].startswith(says)
    assert resumed_at == (4 if "the process ended" in says else 5)
    assert found.answered == (3 if "the process ended" in says else 4)
