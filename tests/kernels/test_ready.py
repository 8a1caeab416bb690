"""Kernels that come with a wheel are used where they match, and change no answer."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import pytest

import traveltime_lab
from tests.support.logs import messages
from tests.support.trial_kernel import MODULE, OtherUser, load
from traveltime_lab import cli
from traveltime_lab.kernels import ahead, cache, ready, trusted

PACKAGE = Path(traveltime_lab.__file__).parent
TWO_NUMBERS = (numba.int64, numba.int64)


class Installed:
    """A kernel of a temporary module, a cache of its own, and an archive as a wheel has one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source, self.archive, self.cache = folder / "trial.py", folder / "ready.zip", folder / "cache"
        self.source.write_text(MODULE)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(self.cache))
        monkeypatch.setattr(ready, "ARCHIVE", self.archive)
        # A file that is compiled for this processor stands for one that is compiled for the baseline.
        module = self.load()
        module.add(1, 2)
        context = module.add.targetctx
        self.baseline = ready.usable_baselines(context.codegen())[0].name
        name, content = module.add._cache.for_archive(TWO_NUMBERS, context, self.baseline)
        with zipfile.ZipFile(self.archive, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr(name, content)
        shutil.rmtree(self.cache)

    def load(self) -> ModuleType:
        """Import the module anew, as the next process would."""
        return load(self.source)

    def n_compiled(self) -> int:
        """Return how many signatures are compiled when the kernel is called once."""
        module = self.load()
        is_kept = cache.is_kept(module.add, TWO_NUMBERS)
        before = len(cache.compilations())
        assert module.add(1, 2) == 3
        n = len(cache.compilations()) - before
        assert is_kept is (n == 0)
        return n


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    try:
        yield Installed(tmp_path, monkeypatch)
    finally:
        cache._folders.clear()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return messages(caplog, logging.WARNING)


def test_kernels_of_the_archive_are_not_compiled(installed: Installed, caplog: pytest.LogCaptureFixture) -> None:
    assert installed.n_compiled() == 0
    assert not list(installed.cache.rglob("*.nbc"))
    assert installed.load().add(1.5, 2.0) == 3.5, "what it lacks is compiled"
    assert warnings(caplog) == []


def test_without_the_archive_they_are_compiled(installed: Installed) -> None:
    installed.archive.unlink()
    assert installed.n_compiled() == 1
    assert installed.n_compiled() == 0


def test_it_is_used_where_nothing_can_be_written(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Path:
        raise RuntimeError("there is no folder")

    monkeypatch.setattr(cache, "_find_folder", refuse)
    assert installed.n_compiled() == 0


def test_changed_sources_are_compiled(installed: Installed) -> None:
    installed.source.write_text(MODULE.replace("a + b", "b + a"))
    assert installed.n_compiled() == 1


@pytest.mark.parametrize("what", ["python", "numba", "llvmlite", "numpy", "svml"])
def test_other_versions_are_compiled(what: str, installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    at = ["python", "numba", "llvmlite", "numpy", "svml"].index(what)
    made_with = ready.archive_versions()
    monkeypatch.setattr(cache, "archive_versions", lambda: (*made_with[:at], "1.2", *made_with[at + 1 :]))
    assert installed.n_compiled() == 1


def test_the_patch_of_numba_does_not_matter(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    major, minor, *_ = numba.__version__.split(".")
    monkeypatch.setattr(numba, "__version__", f"{major}.{minor}.99")
    assert installed.n_compiled() == 0


def test_a_processor_without_the_features_compiles(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [each._replace(features=each.features | {"that-none-has"}) for each in ready.BASELINES]
    monkeypatch.setattr(ready, "BASELINES", tuple(lacking))
    assert installed.n_compiled() == 1


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "bits": lambda data: data[:100] + bytes(byte ^ 255 for byte in data[100:300]) + data[300:],
    "text": lambda data: b"no archive",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_is_left_alone(damage: str, installed: Installed, caplog: pytest.LogCaptureFixture) -> None:
    installed.archive.write_bytes(DAMAGES[damage](installed.archive.read_bytes()))
    module = installed.load()
    before = len(cache.compilations())
    assert module.add(1, 2) == 3
    assert len(cache.compilations()) == before + 1
    assert len(warnings(caplog)) == 1
    again = installed.load()
    assert again.add(1, 2) == 3
    assert len(cache.compilations()) == before + 1, "it is kept on disk"


@pytest.mark.skipif(not trusted.CAN_JUDGE, reason="this system has no owners and modes of files")
@pytest.mark.parametrize("kind", ["everybody", "group", "link", "owner", "folder"])
def test_an_archive_of_another_user_is_left_alone(
    kind: str, installed: Installed, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "link":
        installed.archive.rename(tmp_path / "elsewhere.zip")
        installed.archive.symlink_to(tmp_path / "elsewhere.zip")
    elif kind == "owner":
        OtherUser(monkeypatch).give(installed.archive)
    elif kind == "folder":
        tmp_path.chmod(0o777)
    else:
        installed.archive.chmod(0o666 if kind == "everybody" else 0o664)
    module = installed.load()
    before = len(cache.compilations())
    assert module.add(1, 2) == 3
    assert len(cache.compilations()) == before + 1
    assert any("compiled kernels are ignored" in text for text in warnings(caplog))


V3 = "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"


@pytest.mark.parametrize(
    ("triple", "features", "system", "names"),
    [
        ("x86_64-unknown-linux-gnu", V3 + ",-avx512f", "Linux", ["x86-64-v3", "x86-64-v2"]),
        ("x86_64-pc-windows-msvc", V3, "Windows", ["x86-64-v3", "x86-64-v2"]),
        ("x86_64-unknown-linux-gnu", V3.replace("+avx2", "-avx2"), "Linux", ["x86-64-v2"]),
        ("x86_64-unknown-linux-gnu", "", "Linux", []),
        ("arm64-apple-darwin22.6.0", "+neon", "Darwin", ["apple-m1"]),
        ("aarch64-unknown-linux-gnu", "+neon", "Linux", ["generic"]),
        ("riscv64-unknown-linux-gnu", "+v", "Linux", []),
    ],
)
def test_baselines(triple: str, features: str, system: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready.platform, "system", lambda: system)
    codegen = SimpleNamespace(magic_tuple=lambda: (triple, "some-processor", features))
    assert [each.name for each in ready.usable_baselines(codegen)] == names


@pytest.mark.parametrize("arguments", [["--baseline"], ["--out", "kernels.zip"]])
def test_the_options_belong_together(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", *arguments]) == 1
    assert "--baseline and --out together" in capsys.readouterr().err


def test_unknown_baselines_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", "--baseline", "i486", "--out", str(tmp_path / "kernels.zip")]) == 1
    assert "must be one of" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# Wheels --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """An archive without kernels."""
    made_with = {"baseline": "x86-64-v3", "platform": "linux-x86_64", "versions": ["cpython-312", "0.68", "0.50"]}
    with zipfile.ZipFile(tmp_path / "kernels.zip", "w") as archive:
        archive.writestr("manifest.json", json.dumps(made_with))
    return tmp_path / "kernels.zip"


def build(folder: Path) -> zipfile.ZipFile:
    """Build a wheel of this project and open it."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (path,) = wheel.WheelBuilder(str(PACKAGE.parent)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(path)


@pytest.mark.slow
def test_a_wheel_with_kernels(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAVELTIME_LAB_KERNELS", str(made))
    with build(tmp_path / "dist") as wheel:
        assert str(wheel.filename).endswith("-cp312-cp312-manylinux_2_17_x86_64.whl")
        assert wheel.read("traveltime_lab/kernels/ready.zip") == made.read_bytes()
        (metadata,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("METADATA")]
    assert "Requires-Dist: numba==0.68.*" in metadata


def test_a_wheel_without_kernels_is_pure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAVELTIME_LAB_KERNELS", raising=False)
    with build(tmp_path / "dist") as wheel:
        assert str(wheel.filename).endswith("-py3-none-any.whl")
        assert not [name for name in wheel.namelist() if name.endswith((".nbc", "ready.zip"))]
        (metadata,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("METADATA")]
    assert "numba==" not in metadata


@pytest.mark.parametrize("damage", ["missing", "no archive", "no manifest"])
def test_a_wheel_with_a_damaged_archive_is_refused(
    damage: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "missing":
        made.unlink()
    elif damage == "no archive":
        made.write_text("kernels")
    else:
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("kernel.nbc", b"")
    monkeypatch.setenv("TRAVELTIME_LAB_KERNELS", str(made))
    with pytest.raises(ValueError, match=r"TRAVELTIME_LAB_KERNELS .*kernels\.zip.* compile --baseline --out"):
        build(tmp_path / "dist")


COUNTED_DEMO = """
import sys
from traveltime_lab import cli
from traveltime_lab.kernels import cache
assert cli.main(["demo", "--out", sys.argv[1]]) == 0
print("compiled", len(cache.compilations()), "ready", cache.n_ready())
"""


@pytest.mark.thorough
def test_kernels_for_the_baseline_change_no_answer(tmp_path: Path) -> None:
    """The kernels of the demo, compiled for the baseline in other processes, beside a copy of the package."""
    shutil.copytree(PACKAGE, tmp_path / "copy" / "traveltime_lab", ignore=shutil.ignore_patterns("__pycache__"))
    n_kernels = ahead.write(tmp_path / "copy" / "traveltime_lab" / "kernels" / "ready.zip", sections=["demo"])
    own = {"PYTHONPATH": str(tmp_path / "copy"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    words = []
    for name, variables in {"with": own, "without": {"PYTHONPATH": str(PACKAGE.parent)}}.items():
        run = subprocess.run(
            [sys.executable, "-c", COUNTED_DEMO, name],
            cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, check=True,
        )  # fmt: skip
        words.append(run.stdout.split()[-4:])
    assert words[0][:2] == ["compiled", "0"] and 20 < int(words[0][3]) <= n_kernels
    assert not list((tmp_path / "numba").rglob("*.nbc"))
    files = sorted(path.name for path in (tmp_path / "with").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "without").iterdir())
    for name in files:
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name
