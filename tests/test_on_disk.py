"""Large arrays of finished values are mapped from files without names, and nothing else about the values changes."""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.network.test_prepared import MODES, answers, assert_equal
from tests.support.worlds import world
from traveltime_lab.network.network import Network
from traveltime_lab.network.prepared import name_of
from traveltime_lab.network.prepared_columns import RULES
from traveltime_lab.runtime import on_disk

DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64")


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "LEAST", 1)


def town() -> Network:
    """Return a town of 64 junctions with a one-way street and a loop."""
    side = range(8)
    streets = [((i, j), (i + 1, j)) for i in side[:-1] for j in side]
    streets += [((j, i), (j, i + 1)) for i in side[:-1] for j in side]
    return world({(i, j): (100.0 * i, 90.0 * j) for i in side for j in side}, streets)


def arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of a prepared value with something in them."""
    if isinstance(value, np.ndarray):
        yield from [value] if value.size else []
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays(part)
    elif type(value).__name__ in RULES:
        yield from arrays(tuple(vars(value).values()))


def is_mapped(array: np.ndarray) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 5), min_size=1, max_size=3))))
def test_values_are_equal(drawn: list[tuple[str, list[int]]]) -> None:
    random = np.random.default_rng(1)
    made = [random.integers(0, 2, shape).astype(dtype) for dtype, shape in drawn]
    value = (Pair(tuple(made), "text"), made[0] if made else None, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_disk, "LEAST", 1)
        kept = on_disk.moved(value)
        again = on_disk.moved(kept)
    on_disk.let_go()
    on_disk.trim()
    (found, name), first, number = kept
    assert type(kept[0]) is Pair and (name, number) == ("text", 5)
    assert not made or first is found[0], "an array that occurs twice is moved once"
    for before, after in zip(made, found, strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        assert after.flags.c_contiguous and after.flags.aligned and after.flags.writeable
        assert np.array_equal(before, after)
        assert is_mapped(after) == bool(before.size)
    assert again is kept, "what is on disk stays there"
    np.testing.assert_equal(pickle.loads(pickle.dumps(found)), found)


def test_small_arrays_and_other_objects_stay() -> None:
    value = Pair(np.arange(5), {"a": 1})
    assert on_disk.moved(value) is value
    assert on_disk.moved("text") == "text" and on_disk.moved(None) is None


@pytest.mark.usefixtures("all_are_large")
def test_a_full_disk_keeps_values_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_how: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    value = Pair(np.arange(5), None)
    assert on_disk.moved(value) is value
    network = town().prepare("walking")
    assert not any(is_mapped(array) for use in network._prepared.values for array in arrays(use.value))


@pytest.mark.usefixtures("all_are_large")
def test_a_disk_that_is_full_for_a_while_changes_no_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Graphs, whose topology stayed in memory, still have the topology that hierarchies belong to."""
    written, calls = on_disk._written, []

    def at_first(arrays: list[np.ndarray]) -> list[np.ndarray]:
        calls.append(arrays)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        return written(arrays)

    monkeypatch.setattr(on_disk, "_written", at_first)
    network = town().prepare("driving")
    values = {name_of(use): use.value for use in network._prepared.values}
    assert values["labels"].topology is values["topology"]
    assert not any(is_mapped(array) for array in arrays(values["topology"]))
    assert all(is_mapped(array) for array in arrays(values["hierarchy"]))
    assert tl.load_network(network.save(tmp_path / "town.network")).prepared == ("driving",)


@pytest.mark.slow
@pytest.mark.usefixtures("all_are_large")
def test_every_array_of_prepared_values_is_moved(tmp_path: Path) -> None:
    """A new kind of values, or a new part of one, must not stay in memory."""
    network = town().prepare(*MODES)
    for use in network._prepared.values:
        assert all(is_mapped(array) for array in arrays(use.value)), use.kind
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_disk, "LEAST", 1 << 60)
        plain = town().prepare(*MODES)
    assert not any(is_mapped(array) for use in plain._prepared.values for array in arrays(use.value))
    files = [each.save(tmp_path / name).read_bytes() for each, name in ((network, "a"), (plain, "b"))]
    assert files[0] == files[1], "the same bytes"
    for mode in MODES:
        assert_equal(answers(network, mode), answers(plain, mode))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork and no SIGKILL")
def test_killed_while_it_prepares_and_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left in the temporary folder, and the file under its name is the one from before."""
    network = town()
    before = network.save(tmp_path / "town.network").read_bytes()
    for step in ("file._to_arrow", "checksums.seal"):
        scratch = tmp_path / step
        scratch.mkdir()
        child = os.fork()
        if child == 0:
            monkeypatch.setattr(tempfile, "tempdir", str(scratch))
            monkeypatch.setattr(on_disk, "LEAST", 1)
            killed = f"traveltime_lab.network.{step}"
            monkeypatch.setattr(killed, lambda *_given: os.kill(os.getpid(), signal.SIGKILL))
            network.prepare("walking", "driving").save(tmp_path / "town.network")
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert list(scratch.iterdir()) == []
        assert (tmp_path / "town.network").read_bytes() == before
        assert tl.load_network(tmp_path / "town.network").prepared == ()


#: Arrays of 64-bit integers: labels of two numbers, positions in what may be longer than 2**31, and points, of which
#: there are few.
WIDE = {
    "weights", "above_key", "traversal", "entry_keys", "exit_keys", "connector",
    "entry_indptr", "exit_indptr", "up_indptr", "indptr",
}  # fmt: skip


def test_integers_are_narrow() -> None:
    """A new array of 64-bit integers has twice the memory that most need, so it needs a reason here."""
    wide = {name for rules in RULES.values() for name, rule in rules.items() if rule.dtype in ("int64", "uint64")}
    assert wide <= WIDE
