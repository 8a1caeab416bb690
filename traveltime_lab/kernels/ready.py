"""
Compiled kernels that come with a wheel.

A wheel for one platform and one Python may contain an archive, ``ready.zip`` beside this module: the kernels of
``signatures.txt``, compiled for a baseline processor that nearly all machines of the platform surpass. A kernel that is
not in the cache on disk (`traveltime_lab.kernels.cache`) is read from it, if this processor has the features of the
baseline and the key of the kernel matches. The key includes the text of all modules that the kernel depends on, so that
an archive is never out of date: kernels that do not match are compiled. The source tree has no archive, because one
cannot be reviewed.

``traveltime-lab compile --baseline --out FILE`` writes an archive (`traveltime_lab.kernels.ahead`). The variable
``TRAVELTIME_LAB_KERNELS`` names the archive that ``python -m build --wheel`` puts into the wheel.

All kernels depend on this module, so it imports little.

References
----------
"System V Application Binary Interface, AMD64 Architecture Processor Supplement", section 3.1.1, for the features of the
levels of x86-64.
"""

from __future__ import annotations

import functools
import io
import platform
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np

from traveltime_lab.kernels.trusted import read

#: The archive of an installed wheel.
ARCHIVE = Path(__file__).with_name("ready.zip")


class Baseline(NamedTuple):
    """A processor for which kernels are compiled ahead, with the names that LLVM has for it and for its features."""

    name: str
    system: str | None  # as of `platform.system`, None for any
    machines: tuple[str, ...]  # first part of LLVM's name of the platform
    features: frozenset[str]


_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
#: The best first.
BASELINES = (
    Baseline("x86-64-v3", None, ("x86_64",), _V3),
    Baseline("x86-64-v2", None, ("x86_64",), _V2),
    Baseline("apple-m1", "Darwin", ("arm64", "aarch64"), frozenset()),
    Baseline("generic", "Linux", ("arm64", "aarch64"), frozenset({"neon"})),
)


def usable_baselines(codegen: Any) -> list[Baseline]:
    """Return the baselines that the processor of a code generator of Numba surpasses, the best first."""
    triple, _, features = codegen.magic_tuple()
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    return [
        each
        for each in BASELINES
        if triple.partition("-")[0] in each.machines
        and each.system in (None, platform.system())
        and each.features <= has
    ]


def archive_versions() -> tuple[str, ...]:
    """
    Return the versions that compiled kernels of an archive depend on.

    Numba, llvmlite: the minor version, which is the one that changes how code is generated and stored. NumPy: the major
    version, that of its binary interface.
    """
    minor = [".".join(module.__version__.split(".")[:2]) for module in (numba, llvmlite)]
    svml = "svml" if getattr(numba.config, "USING_SVML", False) else ""
    return (str(sys.implementation.cache_tag), *minor, np.__version__.split(".")[0], svml)


@functools.lru_cache(maxsize=4)
def _entries(path: Path, modified_ns: int, size: int) -> Mapping[str, bytes]:
    """Return the files of an archive by name; they stay compressed in memory until they are read."""
    return _Entries(zipfile.ZipFile(io.BytesIO(read(path))))


class _Entries(Mapping[str, bytes]):
    """The files of an open archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = frozenset(archive.namelist())

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        return self._archive.read(name)

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def archived_kernels() -> Mapping[str, bytes]:
    """
    Return the files of the installed archive by name, none if there is no archive.

    Raises
    ------
    OSError, zipfile.BadZipFile, UntrustedError
        If the archive cannot be read, is damaged, or could have been written by another user.
    """
    try:
        found = ARCHIVE.stat()
    except FileNotFoundError:
        return {}
    return _entries(ARCHIVE, found.st_mtime_ns, found.st_size)
