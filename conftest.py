"""How tests are shared between processes, with `-n`."""

from __future__ import annotations

import os
from typing import Any

import pytest

# Notebooks that run as tests compile, and their outputs are compared.
os.environ.setdefault("TRAVELTIME_LAB_PROGRESS", "0")

#: A process takes up to 1.5 GB.
MOST_WORKERS = 4


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes that `-n auto` starts; 0 is none besides this one."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_cores, MOST_WORKERS) if n_cores > 1 else 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """
    Keep each file in one process: cells of a notebook follow one another, and modules share what they build.

    The fuzz test of all arguments is divided, because it builds little and calls much.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith("tests/test_fuzz.py") else str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the file that takes longest, and end with the notebooks, which are short."""
    items.sort(key=lambda item: item.path.name != "test_browser.py")
