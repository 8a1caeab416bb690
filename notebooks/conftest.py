"""Notebooks are tests: nbval runs them, and here a cell that warns fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail cells that write to stderr, as warnings do."""
    outcome: Any = yield
    outcome.get_result()
    told = [
        output["text"]
        for output in getattr(item, "test_outputs", None) or ()
        if output.get("output_type") == "stream"
        and output.get("name") == "stderr"
    ]
    if told:
        pytest.fail("the cell warns:\n" + "".join(told), pytrace=False)
