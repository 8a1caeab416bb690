"""Compiled code is kept on disk, never older than its sources, and no damage to the files is an error."""

from __future__ import annotations

import ast
import gc
import importlib.util
import logging
import os
import pickle
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import traveltime_lab
from tests.support.logs import messages
from traveltime_lab.kernels import cache, compiled

PACKAGE = Path(traveltime_lab.__file__).parent
KERNELS = [path for path in sorted((PACKAGE / "kernels").rglob("*.py")) if "@kernel" in path.read_text("utf-8")]


# In a process of its own, on a copy of the package -------------------------------------------------------------------


def start(folder: Path, code: str, **variables: str) -> subprocess.Popen[str]:
    """Start Python on the package below a folder."""
    # Without .pyc files: they are stamped in whole seconds, and a test edits faster than that.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> list[str]:
    """Return the words that a process printed."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.split()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package that nothing was compiled for."""
    shutil.copytree(PACKAGE, tmp_path / "traveltime_lab", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def edit(folder: Path, module: str, old: str, new: str) -> None:
    """Change one place of a module of the copy."""
    path = folder / "traveltime_lab" / "kernels" / module
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


CALLERS = """
import numpy as np
from traveltime_lab.kernels import cache, compiled, records
from traveltime_lab.kernels.raster import cells
from traveltime_lab.kernels.transit import trip_instances, walks

# Freezes a constant of kernels.street.road.
directed = records.Directed(traversal=np.full(2, 1000 << 32, np.int64), is_open=np.ones(2, np.bool_))
print(walks.straight_ms(0, 0.0, 1.0, directed, False))

# Calls a kernel of kernels.transit.stop_times, which freezes a constant there. The stops are 111 km apart.
stay, i = np.full(2, -1, np.int32), np.arange(2, dtype=np.int32)
trip_instances.link_blocks(
    np.arange(2), np.zeros(2, np.int32), np.ones(2, np.bool_), i, trip_instances.TripEnds(i, i, i, i),
    np.array([0.0, 1.0]), np.zeros(2), 200_000.0, np.empty(0, np.int64), stay,
)
print(stay[0])

# Has to do with neither.
cells.add_samples.py_func
print(*sorted({made.name for made in cache.compilations()}))
"""


@pytest.mark.thorough
def test_a_changed_constant_changes_every_caller(copy: Path) -> None:
    linked = "transit.trip_instances.link_blocks"
    assert answer(start(copy, CALLERS)) == ["1000", "1", linked, "transit.walks.straight_ms"]
    assert answer(start(copy, CALLERS)) == ["1000", "1"], "the second process compiles nothing"

    edit(copy, "transit/stop_times.py", "_EARTH_RADIUS_M = 6371008.8", "_EARTH_RADIUS_M = 16371008.8")
    assert answer(start(copy, CALLERS)) == ["1000", "-1", linked], "only what calls it is compiled again"

    edit(copy, "street/road.py", "TIME_SHIFT = 32", "TIME_SHIFT = 31")
    assert answer(start(copy, CALLERS)) == ["2000", "-1", "transit.walks.straight_ms"]

    edit(copy, "records.py", "    traversal: np.ndarray", "    is_open: np.ndarray\n    traversal: np.ndarray")
    assert answer(start(copy, CALLERS)) == ["2000", "-1", "transit.walks.straight_ms"], "the fields change places"


TRIAL = """
from typing import NamedTuple
from traveltime_lab.kernels.compiled import kernel

@kernel
def low(pair):
    return pair.low
"""
TRIAL_CALLER = """
from typing import NamedTuple
from traveltime_lab.kernels.trial import low

class Pair(NamedTuple):
    FIELDS

print(low(Pair(1, 2)))
"""


@pytest.mark.thorough
def test_a_changed_named_tuple_of_a_caller(copy: Path) -> None:
    (copy / "traveltime_lab" / "kernels" / "trial.py").write_text(TRIAL)
    assert answer(start(copy, TRIAL_CALLER.replace("FIELDS", "low: int; high: int"))) == ["1"]
    assert answer(start(copy, TRIAL_CALLER.replace("FIELDS", "high: int; low: int"))) == ["2"]


@pytest.mark.thorough
def test_processes_that_compile_at_the_same_time(copy: Path) -> None:
    processes = [start(copy, CALLERS) for _ in range(2)]
    for process in processes:
        assert answer(process)[:2] == ["1000", "1"]
    assert answer(start(copy, CALLERS)) == ["1000", "1"]
    assert not list(copy.rglob("*.tmp"))


@pytest.mark.thorough
def test_numba_cache_dir_is_honoured(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("kept")
    code = "from traveltime_lab.kernels.transit import stop_times; print(stop_times.distance_m(0.0, 0.0, 0.0, 0.0))"
    assert answer(start(copy, code, NUMBA_CACHE_DIR=str(folder))) == ["0.0"]
    assert len(list(folder.rglob("*.nbc"))) == 1
    assert not list(copy.rglob("*.nbc"))


@pytest.mark.slow
def test_without_compilation(copy: Path) -> None:
    code = "from traveltime_lab.kernels.transit import stop_times; print(stop_times.distance_m(0.0, 0.0, 0.0, 0.0))"
    assert answer(start(copy, code, NUMBA_DISABLE_JIT="1")) == ["0.0"]
    assert not list(copy.rglob("*.nbc"))


# In this process, on a kernel of a temporary module ------------------------------------------------------------------

MODULE = """
from traveltime_lab.kernels.compiled import kernel

@kernel
def add(a, b):
    return a + b
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """A function that imports the temporary module anew, as the next process would."""
    path = tmp_path / "trial.py"
    path.write_text(MODULE)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location("trial", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No folder, warning or announcement of another test."""
    cache._folders.clear()
    cache._logged.clear()
    yield
    cache._folders.clear()


def files(module: ModuleType) -> list[Path]:
    return sorted(Path(module.add.stats.cache_path).glob("trial.*"))


def n_warnings(caplog: pytest.LogCaptureFixture) -> int:
    return len(messages(caplog, logging.WARNING))


def n_compiled(call: Callable[[], Any]) -> int:
    before = len(cache.compilations())
    call()
    return len(cache.compilations()) - before


def test_one_file_for_each_signature(load: Callable[[], ModuleType]) -> None:
    first = load()
    assert n_compiled(lambda: (first.add(1, 2), first.add(1.0, 2.0), first.add(3, 4))) == 2
    assert len(files(first)) == 2
    second = load()
    assert n_compiled(lambda: second.add(1, 2)) == 0
    assert second.add(1, 2) == 3 and second.add(1.5, 2.0) == 3.5
    assert len(files(second)) == 2
    second.add._cache.flush()
    assert files(second) == []


def _another_pickle(data: bytes) -> bytes:
    return pickle.dumps({"index": "of something else"})


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half of the head": lambda data: data[:40],
    "truncated": lambda data: data[: len(data) // 2],
    "random": lambda data: np.random.default_rng(1).bytes(len(data)),
    "one bit": lambda data: data[:-500] + bytes([data[-500] ^ 1]) + data[-499:],
    "too long": lambda data: data + b"\0",
    "another pickle": _another_pickle,
    "head only": lambda data: data[:88],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced(damage: str, load: Callable[[], ModuleType]) -> None:
    assert load().add(1, 2) == 3
    (path,) = files(load())
    sound = path.read_bytes()
    path.write_bytes(DAMAGES[damage](sound))
    again = load()
    assert n_compiled(lambda: again.add(1, 2)) == 1
    assert again.add(1, 2) == 3
    assert files(again) == [path]
    assert n_compiled(lambda: load().add(1, 2)) == 0, "the file is sound again"


def test_a_file_under_the_name_of_another_signature(load: Callable[[], ModuleType]) -> None:
    first = load()
    assert (first.add(1, 2), first.add(1.5, 2.0)) == (3, 3.5)
    one, other = files(first)
    one.write_bytes(other.read_bytes())
    again = load()
    assert n_compiled(lambda: (again.add(1, 2), again.add(1.5, 2.0))) == 1
    assert (again.add(1, 2), again.add(1.5, 2.0)) == (3, 3.5)


def test_a_folder_in_the_place_of_a_file(load: Callable[[], ModuleType], caplog: pytest.LogCaptureFixture) -> None:
    assert load().add(1, 2) == 3
    (path,) = files(load())
    path.unlink()
    path.mkdir()
    assert load().add(1, 2) == 3
    assert n_warnings(caplog) == 1
    assert list(path.parent.glob("*.tmp")) == []


@pytest.mark.parametrize("missing", ["compiler", "serialize", "caching"])
def test_another_numba_keeps_nothing(
    missing: str,
    load: Callable[[], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """Where numba's insides are gone, kernels are compiled in each process, and nothing stale can be read."""

    class Insides:
        def __getattr__(self, name: str) -> Any:
            if name == missing:
                raise AttributeError(name)
            return getattr(numba.core, name)

    load().add(1, 2)
    monkeypatch.setattr(cache, "_internals", Insides())
    cache._folders.clear()
    again = load()
    assert again.add(1, 2) == 3 and again.add(1.5, 2.0) == 3.5
    assert n_compiled(lambda: load().add(1, 2)) == (0 if missing == "serialize" else 1)
    assert n_warnings(caplog) == 1
    assert "not kept" in caplog.text


def test_an_edited_module_that_is_loaded_again(load: Callable[[], ModuleType], tmp_path: Path) -> None:
    assert load().add(1, 2) == 3
    path = tmp_path / "trial.py"
    path.write_text(MODULE.replace("a + b", "a - b"))
    os.utime(path, ns=(1, 1))  # of the same size, so by its time alone
    assert load().add(1, 2) == -1


def test_it_is_said_once(load: Callable[[], ModuleType], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="traveltime_lab")
    module = load()
    module.add(1, 2)
    module.add(1.0, 2.0)
    load().add(1, 2)
    assert messages(caplog) == ["compiling, once per machine"]


CALLING = """

@kernel
def both(a):
    return add(a, 1) + add(1, a) + add(b=a, a=a) + add(True, a) + add(a > 0, a)
"""


def test_literals_are_no_types_of_their_own(load: Callable[[], ModuleType], tmp_path: Path) -> None:
    (tmp_path / "trial.py").write_text(MODULE + CALLING)
    module = load()
    assert module.both(5) == 6 + 6 + 10 + 6 + 6
    whole, truth = numba.int64, numba.boolean
    assert sorted(module.add.part.signatures, key=str) == [(truth, whole), (whole, whole)]


def test_what_another_process_has_made_is_not_compiled(load: Callable[[], ModuleType]) -> None:
    names = []

    def make(name: str) -> bool:
        names.append(name)
        cache.others.clear()
        load().add(1, 2)
        return True

    cache.others.append(make)
    module = load()
    assert n_compiled(lambda: module.add(1, 2)) == 1, "by the other one"
    assert module.add(1, 2) == 3
    assert names == [cache.file_name(module.add, (numba.int64, numba.int64))]
    # Where nothing was made in the end, the kernel is compiled.
    cache.others.append(lambda name: True)
    try:
        assert n_compiled(lambda: module.add(1.0, 2.0)) == 1
    finally:
        cache.others.clear()


def test_parts_of_kernels_can_be_called(load: Callable[[], ModuleType], tmp_path: Path) -> None:
    (tmp_path / "trial.py").write_text(MODULE + CALLING)
    module = load()
    assert n_compiled(lambda: module.both(5)) == 1, "a kernel is compiled with its parts"
    assert not module.add.signatures
    assert n_compiled(lambda: module.add(1, 2)) == 1, "and alone only if it is called alone"
    assert module.add(1, 2) == 3 and module.both(2) == 3 + 3 + 4 + 3 + 3
    again = load()
    assert n_compiled(lambda: (again.both(5), again.add(1, 2))) == 0


FILLING = """
import numpy as np

@kernel
def filled(n):
    a = np.empty(n, np.uint16)
    for i in range(n):
        a[i] = i
    return a

@kernel
def twice(n):
    a, b = np.empty(n, np.uint16), filled(n)
    for i in range(n):
        a[i] = 2 * b[i]
    return a
"""


@pytest.mark.slow
def test_functions_of_numba_are_compiled_once_for_kernels_and_their_parts(
    load: Callable[[], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "trial.py").write_text(MODULE + FILLING)
    module, event = load(), numba.core.event
    with event.install_recorder("numba:compile") as seen:
        assert module.twice(3).tolist() == [0, 2, 4] and module.filled(2).tolist() == [0, 1]
    empty = {
        begun.data["dispatcher"]
        for _, begun in seen.buffer
        if begun.is_start and "np_empty" in begun.data["dispatcher"].py_func.__qualname__
    }
    assert len(empty) == 1  # no other kernel creates an array of these numbers


def test_flags_are_equal_if_the_functions_of_numba_that_are_called_are() -> None:
    shared, plain = compiled._Flags, numba.core.compiler.Flags
    assert shared is not None and shared.__name__ == plain.__name__, "the name is part of the names of symbols"
    one, other, called = shared(), shared(), plain()
    one.nrt = other.nrt = called.nrt = True
    other.no_compile, other.release_gil = True, True
    assert one == other == called == one and hash(one) == hash(other) == hash(called)
    assert one.copy() == other and type(one.copy()) is shared
    assert one.get_mangle_string() == called.get_mangle_string() != other.get_mangle_string()
    fast = numba.core.cpu.FastMathOptions(True)
    for name, value in (("forceinline", True), ("error_model", "numpy"), ("fastmath", fast)):
        different = shared(one)
        setattr(different, name, value)
        assert different != one and different != called
    assert one != "flags"


@pytest.mark.parametrize("missing", ["compiler", "options"])
def test_another_numba_has_its_own_flags(
    missing: str, load: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    insides = types.SimpleNamespace() if missing == "compiler" else types.SimpleNamespace(compiler=numba)
    with monkeypatch.context() as patched:
        patched.setattr(compiled, "_internals", insides)
        with pytest.raises(AttributeError):
            compiled._shared_flags()
    monkeypatch.setattr(compiled, "_Flags", None)
    (tmp_path / "trial.py").write_text(MODULE + FILLING)
    assert load().twice(3).tolist() == [0, 2, 4]


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_off_while_kernels_compile(was_on: bool, load: Callable[[], ModuleType]) -> None:
    module, seen = load(), []

    def watch(name: str | None) -> None:
        seen.append(gc.isenabled())
        if name is not None and len(seen) == 1:
            load().add.compile((numba.int32, numba.int32))  # one within another
            seen.append(gc.isenabled())

    cache.watchers.append(watch)
    if not was_on:
        gc.disable()
    try:
        module.add(1, 2)
        with pytest.raises(numba.TypingError):
            module.add("a", 2)
        assert not any(seen) and len(seen) >= 5 and gc.isenabled() == was_on
    finally:
        cache.watchers.remove(watch)
        gc.enable()


@pytest.mark.parametrize("missing", ["codegen", "compiler"])
def test_another_numba_has_no_parts(
    missing: str, load: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert compiled._PARTS and compiled._has_parts()
    monkeypatch.setattr(compiled, "_internals", types.SimpleNamespace(**{missing: None}))
    assert not compiled._has_parts()
    monkeypatch.undo()
    monkeypatch.setattr(compiled, "_PARTS", False)
    (tmp_path / "trial.py").write_text(MODULE + CALLING)
    module = load()
    assert module.both(5) == 34 and module.add(1, 2) == 3


def test_types_in_words_tell_fields() -> None:
    class One(NamedTuple):
        a: int
        b: int

    class Two(NamedTuple):
        b: int
        a: int

    Two.__name__ = "One"
    one, two = (numba.typeof((numba.typeof(kind(1, 2)), 1)) for kind in (One, Two))
    one, two = numba.typeof((One(1, 2), 1)), numba.typeof((Two(1, 2), 1))
    assert str(one) == str(two)
    assert cache._in_words(one) != cache._in_words(two)


# The sources of a kernel ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("from traveltime_lab.kernels.street.road import (", lambda path: path.name == "road.py"),
        ("    from traveltime_lab.kernels.street.road import UNREACHED as NEVER", lambda path: path.name == "road.py"),
        ("import traveltime_lab.kernels.street.road as road", lambda path: path.name == "road.py"),
        ("from traveltime_lab.kernels.street import road", lambda path: path.parent.name == "street"),
        ("from traveltime_lab import errors", lambda path: True),
        ("from . import road", lambda path: True),
        ("from .road import UNREACHED", lambda path: True),
        ("import traveltime_lab.errors, traveltime_lab.kernels.street.road", lambda path: True),
        ("from numpy import array", lambda path: False),
        ("from traveltime_laboratory import array", lambda path: False),
    ],
)
def test_imports_are_found(line: str, is_found: Callable[[Path], bool], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"import numpy as np\n\n{line}\n")
    _, imported = cache._source(str(path), 0, 0)
    cache._source.cache_clear()
    assert set(imported) == {str(path) for path in PACKAGE.rglob("*.py") if is_found(path)}


#: Modules that kernels may import, too.
SERVICES = ("traveltime_lab.runtime.collector", "traveltime_lab.runtime.signals")


@pytest.mark.parametrize("module", SERVICES)
def test_services_of_kernels_import_nothing_of_the_package(module: str) -> None:
    path = str(PACKAGE.parent / f"{module.replace('.', '/')}.py")
    _, imported = cache._source(path, 0, 0)
    cache._source.cache_clear()
    assert not imported


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_import_kernels_only(path: Path) -> None:
    """Whatever a kernel freezes comes from a file that its key knows, and changes with an import statement."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports make the key depend on all modules"
            is_known = node.module.startswith("traveltime_lab.kernels.") or node.module in SERVICES
            assert not node.module.startswith("traveltime_lab") or is_known
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("traveltime_lab") for alias in node.names)
        elif isinstance(node, ast.Name):
            assert node.id not in ("__import__", "importlib"), "imports that the key cannot see"


def test_nothing_is_compiled_past_the_decorator() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.name != "compiled.py":
            text = path.read_text(encoding="utf-8")
            assert "numba.njit" not in text and "numba.jit" not in text, path
            assert path.is_relative_to(PACKAGE / "kernels") or "import numba" not in text, path
