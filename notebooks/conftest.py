"""Notebooks are tests: nbval runs them, and here a cell fails that warns, or no longer draws what its picture shows."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from looks import SHARE, difference


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Fail cells that write to stderr, as warnings do, and cells with a picture that shows something else."""
    result = yield
    outputs = getattr(item, "test_outputs", None) or ()
    told = [
        output["text"]
        for output in outputs
        if output.get("output_type") == "stream"
        and output.get("name") == "stderr"
    ]
    if told:
        pytest.fail("the cell warns:\n" + "".join(told), pytrace=False)
    drawn, stored = _picture(outputs), _picture(_stored(item))
    if drawn is None or stored is None:  # a widget has a still picture
        return result
    share = difference(drawn, stored)
    if share > SHARE:
        name = Path(item.path).stem
        pytest.fail(
            f"the stored picture differs from the drawn one in {share:.1%} of"
            f" its squares; run: python notebooks/refresh.py {name}",
            pytrace=False,
        )
    return result


def _stored(item: pytest.Item) -> Iterable[Any]:
    return getattr(getattr(item, "cell", None), "outputs", ())


def _picture(outputs: Iterable[Any]) -> bytes | None:
    """Return the last picture of a cell, as a PNG file."""
    found = [
        output["data"]["image/png"]
        for output in outputs
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(found[-1]) if found else None
