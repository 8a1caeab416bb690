"""A kernel of a temporary module, which is loaded as another process would, and files of another user."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from types import ModuleType

import pytest

from traveltime_lab.kernels import cache, trusted

MODULE = """
from traveltime_lab.kernels.compiled import kernel

@kernel
def add(a, b):
    return a + b
"""
STRANGER = 54321


def load(source: Path) -> ModuleType:
    """Import the module anew, as the next process would."""
    cache._folders.clear()
    cache._logged.clear()
    spec = importlib.util.spec_from_file_location("trial", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class OtherUser:
    """A user that files are given to; only root can do so, others pretend it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._files: set[tuple[int, int]] = set()
        seen = os.fstat

        def fstat(handle: int) -> os.stat_result:
            found = seen(handle)
            values = list(found)[:10]
            if (found.st_dev, found.st_ino) in self._files:
                values[stat.ST_UID] = STRANGER
            return os.stat_result(values)

        monkeypatch.setattr(trusted.os, "fstat", fstat)

    def give(self, path: Path) -> None:
        """Make this user the owner of a file or folder."""
        if os.geteuid() == 0:
            os.chown(path, STRANGER, -1)
        else:
            found = path.stat()
            self._files.add((found.st_dev, found.st_ino))
