"""The list of what searches compile is true, and the command that compiles it all leaves nothing to compile."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import types

from tests.support.logs import messages
from traveltime_lab import cli
from traveltime_lab.kernels import cache, records, warm_up
from traveltime_lab.kernels.raster import surface
from traveltime_lab.kernels.transit import trip_instances
from traveltime_lab.settings import settings

SECTIONS = ("demo", "searches", "service")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """
    What is asked for in each section and in none before it.

    With what was compiled before, if anything was: what is asked for is the same.
    """
    from tests.kernels import record

    with_service = importlib.util.find_spec("starlette") is not None
    sections = SECTIONS if with_service else SECTIONS[:2]
    return record.in_new_process(*sections, TRAVELTIME_LAB_CACHE=str(tmp_path_factory.mktemp("asked")))


class TestTheList:
    def test_every_line_fits_its_kernel(self) -> None:
        for line in warm_up.listed():
            kernel, arguments = warm_up.resolve(line)
            assert warm_up.line(kernel._cache._name, arguments) == line
            assert len(arguments) == kernel.py_func.__code__.co_argcount

    def test_no_kernel_is_compiled_for_several_layouts(self) -> None:
        without = [line.replace("::1", ":") for line in warm_up.listed()]
        assert len(set(without)) == len(without)

    def test_sections(self) -> None:
        parts = [list(warm_up.listed([section])) for section in SECTIONS]
        assert all(parts)
        assert sorted(warm_up.listed()) == sorted(line for part in parts for line in part)
        assert len(set(warm_up.listed())) == sum(map(len, parts))

    @pytest.mark.slow
    @pytest.mark.parametrize("section", SECTIONS)
    def test_it_is_what_is_compiled(self, section: str, asked: dict[str, list[str]]) -> None:
        """Otherwise run ``python tests/kernels/record.py``."""
        if section == "service" and importlib.util.find_spec("starlette") is None:
            pytest.skip("the extra 'server' is not installed")
        assert set(asked[section]) == set(warm_up.listed([section])), "run python tests/kernels/record.py"


class TestText:
    def test_types(self) -> None:
        class Pair(NamedTuple):
            a: int
            b: int

        frozen = np.zeros(2)
        frozen.flags.writeable = False
        values = [
            1,
            1.0,
            True,
            np.float32(1),
            np.zeros(1, np.uint8),
            np.zeros((2, 2))[:, :1],
            frozen,
            (1, (2.0, np.ones(1))),
        ]
        texts = [warm_up.as_text(numba.typeof(value)) for value in values]
        assert texts == [
            "int64", "float64", "bool", "float32", "uint8[::1]", "float64[:, :]", "readonly(float64[::1])",
            "(int64, (float64, float64[::1],),)",
        ]  # fmt: skip
        arguments = tuple(map(numba.typeof, values))
        line = warm_up.line("street.reduction.fill", arguments)
        assert warm_up.resolve(line) == (warm_up.resolve("street.reduction.fill()")[0], arguments)
        assert "Pair(int64, int64)" in warm_up.as_text(numba.typeof(Pair(1, 2)))
        assert warm_up.as_text(types.Omitted(3)) == "omitted(3)"

    def test_named_tuples(self) -> None:
        line = next(line for line in warm_up.listed() if "Lines(" in line)
        assert any(getattr(kind, "instance_class", None) for kind in warm_up.resolve(line)[1])

    def test_named_tuples_of_one_type_of_several_and_in_each_other(self) -> None:
        labels, states = np.zeros(1, np.int64), np.zeros(1, np.int32)
        rows = np.zeros((2, 2))[:, :1]
        values = [
            records.Ports(labels, states, labels),
            trip_instances.TripEnds(states, states, states, states),
            (1, records.Directed(labels, np.zeros(1, np.bool_))),
            surface.EdgeBoxes(rows, states),
        ]
        arguments = tuple(map(numba.typeof, values))
        line = warm_up.line("street.reduction.fill", arguments)
        assert line == (
            "street.reduction.fill(records.Ports(int64[::1], int32[::1], int64[::1]), "
            "transit.trip_instances.TripEnds(int32[::1], int32[::1], int32[::1], int32[::1]), "
            "(int64, records.Directed(int64[::1], bool[::1]),), "
            "raster.surface.EdgeBoxes(float64[:, :], int32[::1]))"
        )
        assert warm_up.resolve(line)[1] == arguments

    @pytest.mark.slow
    def test_modules_of_named_tuples_are_imported(self) -> None:
        """The second process imports nothing but what the lines name."""
        arguments = "raster.surface.EdgeBoxes(int64, int64), transit.drives.Drives(int64, int64, int64)"
        code = f"from traveltime_lab.kernels import warm_up; warm_up.resolve('street.reduction.fill({arguments})')"
        environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.fixture
def helper() -> Iterator[Callable[[str], warm_up._Helper]]:
    """Return a function that starts a process in the place of the one that compiles, which announces a kernel."""
    begun = []

    def begin(program: str) -> warm_up._Helper:
        command = [sys.executable, "-c", f"import sys\n{program}"]
        other = warm_up._Helper(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        begun.append(other)
        threading.Thread(target=other.listen, daemon=True).start()
        patience = time.monotonic() + 60.0
        while not other._now:
            assert time.monotonic() < patience
            time.sleep(0.01)
        return other

    yield begin
    for other in begun:
        other.stop()


class TestHelper:
    def test_none_is_started_when_nothing_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warm_up, "is_kept", lambda kernel, arguments: True)
        monkeypatch.setattr(subprocess, "Popen", None)
        assert warm_up.start_helper() == 0

    def test_none_is_started_where_nothing_can_be_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warm_up, "is_kept", lambda kernel, arguments: None)
        monkeypatch.setattr(subprocess, "Popen", None)
        assert warm_up.start_helper() == 0

    def test_none_is_started_on_one_core(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warm_up, "is_kept", lambda kernel, arguments: False)
        monkeypatch.setattr(subprocess, "Popen", None)
        with settings.override(threads=1):
            assert warm_up.start_helper(["demo"]) == len(list(warm_up.listed(["demo"])))

    def test_it_compiles_the_longest_first_and_then_from_the_end(self) -> None:
        for sections in (["demo"], []):
            lines = list(warm_up.listed(sections))
            order = warm_up.for_helper(lines)
            assert sorted(order) == sorted(lines) and order != lines
            n = sum(line.startswith(warm_up._LONGEST) for line in lines)
            assert all(line.startswith(warm_up._LONGEST) for line in order[:n])
            assert order[n:] == [line for line in reversed(lines) if not line.startswith(warm_up._LONGEST)]
        assert all(any(line.startswith(name) for line in warm_up.listed(["demo"])) for name in warm_up._LONGEST)

    @pytest.mark.thorough
    def test_it_begins_with_the_longest_and_stops_with_its_parent(self, tmp_path: Path) -> None:
        code = (
            "import time\n"
            "from traveltime_lab.kernels import warm_up\n"
            "warm_up.start_helper(['service'])\n"
            "process = warm_up.start_helper(['demo'])\n"
            "while not [path for path in __import__('pathlib').Path(FOLDER).rglob('*.nbc')]: time.sleep(0.1)\n"
        ).replace("FOLDER", repr(str(tmp_path)))
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(cli.__file__).parents[1])}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)
        names = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")}
        first = warm_up.resolve(warm_up.for_helper(warm_up.listed(["demo"]))[0])[0].py_func.__module__.split(".")[-1]
        assert {name.split(".")[0] for name in names} == {first}

    @pytest.mark.skipif(sys.platform != "linux", reason="looks for the process below /proc")
    @pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGKILL"])
    @pytest.mark.slow
    def test_it_ends_when_its_parent_is_killed(self, signal_name: str, tmp_path: Path) -> None:
        code = (
            "import os, signal, subprocess\n"
            "from traveltime_lab.kernels import warm_up\n"
            "begin = subprocess.Popen\n"
            "def begin_and_tell(*arguments, **options):\n"
            "    process = begin(*arguments, **options)\n"
            "    print(process.pid, flush=True)\n"
            "    return process\n"
            "subprocess.Popen = begin_and_tell\n"
            "warm_up.start_helper(['demo'])\n"
            f"os.kill(os.getpid(), signal.{signal_name})\n"
        )
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(cli.__file__).parents[1])}
        ended = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, timeout=300)
        command = Path(f"/proc/{int(ended.stdout)}/cmdline")
        patience = time.monotonic() + 120.0
        # Of a process that has ended and that nobody has asked for, the command is empty.
        while command.exists() and command.read_bytes():
            assert time.monotonic() < patience
            time.sleep(0.1)
        assert len(list(tmp_path.rglob("*.nbc"))) < len(list(warm_up.listed(["demo"]))), "it ended by itself"

    @pytest.mark.skipif(sys.platform != "linux", reason="looks for the process below /proc")
    def test_a_process_that_has_ended_is_no_zombie(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A service runs for months after its helper has compiled everything."""
        begun = []

        def begin(_command: list[str], **options: Any) -> subprocess.Popen[bytes]:
            begun.append(real([sys.executable, "-c", "pass"], **options))
            return begun[0]

        real = subprocess.Popen
        monkeypatch.setattr(warm_up, "n_missing", lambda sections: 100)
        monkeypatch.setattr(subprocess, "Popen", begin)
        with settings.override(threads=2):
            warm_up.start_helper()
        patience = time.monotonic() + 60.0
        while Path(f"/proc/{begun[0].pid}").exists() or not begun[0].stdin.closed:
            assert time.monotonic() < patience
            time.sleep(0.05)
        assert begun[0].returncode == 0

    def test_this_process_waits_for_what_the_other_one_compiles(self, helper: Callable[[str], warm_up._Helper]) -> None:
        other = helper(
            "print('road.search-1.nbc', flush=True)\n"
            "for line in sys.stdin:\n"
            "    if line == 'road.search-1.nbc\\n': print(flush=True)\n"
        )
        assert not other.has_written("road.search-2.nbc")
        assert other.has_written("road.search-1.nbc")
        assert not other.has_written("road.search-1.nbc"), "it is made"

    def test_it_does_not_wait_for_ever(
        self, helper: Callable[[str], warm_up._Helper], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(warm_up, "_PATIENCE_S", 0.05)
        other = helper("print('road.search-1.nbc', flush=True)\nsys.stdin.read()")
        assert not other.has_written("road.search-1.nbc")

    def test_it_waits_no_longer_when_the_other_one_ends(self, helper: Callable[[str], warm_up._Helper]) -> None:
        other = helper("print('road.search-1.nbc', flush=True)\nsys.stdin.readline()")
        other.has_written("road.search-1.nbc")
        other._process.wait()
        assert not other.has_written("road.search-1.nbc") and not other._now

    def test_what_the_other_one_compiles_is_left_out(self) -> None:
        texts = list(warm_up.listed(["demo"]))
        names = {cache.file_name(*warm_up.resolve(text)) for text in texts}
        assert len(names) == len(texts) and None not in names
        announced: list[str] = []
        warm_up._help(["demo"], names, announced.append)
        assert not announced
        last = texts[-1]
        warm_up._help(["demo"], names - {cache.file_name(*warm_up.resolve(last))}, announced.append)
        assert announced == [f"{cache.file_name(*warm_up.resolve(last))}\n", "\n"]

    def test_old_lines_are_no_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "signatures.txt"
        path.write_text("[demo]\nstreet.road.gone(int64)\nstreet.reduction.fill(no_type)\nno.module.at_all()\n")
        monkeypatch.setattr(warm_up, "_LIST", path)
        warm_up.compile_listed(warm_up.listed(["demo"]))
        assert len(messages(caplog)) == 3
        assert warm_up.n_missing(["demo"]) == 0


@pytest.mark.thorough
def test_the_command_leaves_nothing_to_compile(capsys: pytest.CaptureFixture[str]) -> None:
    # Into the cache that all tests use, so that nothing is compiled for this test alone.
    assert cli.main(["compile"]) == 0
    printed = capsys.readouterr().out
    assert "compiled kernels" in printed and "MB" in printed
    assert all(str(folder) in printed for folder in cache.folders())
    assert warm_up.n_missing() == 0
