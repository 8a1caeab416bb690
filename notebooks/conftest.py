"""Notebooks are tests: nbval runs them, and here a cell that warns fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

DATA_VARIABLE: Final = "TRAVELTIME_LAB_DATA"
#: Notebooks about data that the repository does not have, and its folder.
NEEDS: Final = {"16-study.ipynb": "porto_alegre"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip notebooks whose data is not there; where it may be is said in `shared_data` of tests/conftest.py."""
    shared = Path(os.environ.get(DATA_VARIABLE) or Path(__file__).parents[2] / "shared" / "data")
    for item in items:
        folder = NEEDS.get(item.path.name)
        if folder is not None and not (shared / folder).is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no {folder}: set {DATA_VARIABLE} to the folder of extracts"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail cells that write to stderr, as warnings do."""
    outcome: Any = yield
    outcome.get_result()
    told = [
        output["text"]
        for output in getattr(item, "test_outputs", None) or ()
        if output.get("output_type") == "stream" and output.get("name") == "stderr"
    ]
    if told:
        pytest.fail("the cell warns:\n" + "".join(told), pytrace=False)
