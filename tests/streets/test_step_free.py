"""Step-free walks: the option, tags, tables and files, and searches; each rule on a drawn world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.worlds import at, world
from traveltime_lab.errors import ModeError
from traveltime_lab.modes.table import MODES


def seconds(network: tl.Network, start: tuple[float, float], end: tuple[float, float], **means: Any) -> float:
    """Return the travel time on foot between two places, NaN if there is no way."""
    found = tl.time_filter(
        network, at(start), at(end), travel_time=14_400, transportation={"type": "walking", **means},
        snapping={"threshold": 50}, form="matrix",
    )  # fmt: skip
    return float(found.to_numpy(float)[0, 0])


# The option -----------------------------------------------------------------------------------------------------------


def test_options_are_checked() -> None:
    assert tl.Transportation("walking", step_free=True) == tl.Transportation("walking", step_free="lenient")
    assert tl.Transportation("walking", step_free=np.True_).step_free == "lenient"
    assert tl.Transportation("walking", step_free=False) == tl.Transportation("walking")
    for wrong in ("yes", 1, "Strict", ["strict"]):
        with pytest.raises(ModeError, match="step_free must be one of 'lenient', 'strict'; got"):
            tl.Transportation("walking", step_free=wrong)  # type: ignore[arg-type]
    for kind, row in MODES.items():
        if row.has_walks:
            means = tl.Transportation(kind, step_free="strict")
            assert means.egress.step_free == "strict"
            assert means.access.step_free == (None if row.is_parked else "strict")
        else:
            with pytest.raises(ModeError, match="step_free does not apply"):
                tl.Transportation(kind, step_free="strict")


def test_steps_are_closed() -> None:
    """A way of 400 m with steps, and one of 1000 m without."""
    places = {"a": (0.0, 0.0), "b": (400.0, 0.0), "c": (0.0, 300.0), "d": (400.0, 300.0)}
    network = world(places, [("a", "b", {"highway": "steps"}), ("a", "c"), ("c", "d"), ("d", "b")])
    assert seconds(network, places["a"], places["b"]) == pytest.approx(80, abs=1)
    for rule in ("lenient", "strict"):
        assert seconds(network, places["a"], places["b"], step_free=rule) == pytest.approx(200, abs=1)
