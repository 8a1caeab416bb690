"""Several lanes at once, as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.kernels import lanes
from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import UNREACHED


@kernel
def relaxed(labels, row, tails, lengths, at):
    """Call the intrinsic, which Python cannot."""
    return lanes.relax(labels, row, tails, lengths, at)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_lanes_are_relaxed_as_one_by_one(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    label = st.one_of(st.just(int(UNREACHED)), st.integers(0, 1 << 40))
    row = st.lists(label, min_size=lanes.LANES, max_size=lanes.LANES)
    labels = np.array(data.draw(st.lists(row, min_size=n, max_size=n)), np.int64)
    here = data.draw(st.integers(0, n - 1))
    others = [tail for tail in range(n) if tail != here]
    tails = data.draw(st.lists(st.sampled_from(others), max_size=9)) if others else []
    lengths = data.draw(st.lists(st.integers(0, 1 << 40), min_size=len(tails), max_size=len(tails)))
    skipped = data.draw(st.integers(0, 2))
    arcs = np.array([0] * skipped + tails + [-1], np.int32), np.array([0] * skipped + lengths + [0], np.int64)
    found, expected = labels.copy(), labels.copy()
    end = relaxed(found, here, *arcs, skipped)
    assert end == lanes._one_by_one(expected, here, *arcs, skipped) == skipped + len(tails) + 1
    assert np.array_equal(found, expected)


@kernel
def measured(ends, marks, needed, members, first, n, x, y, k, near, near_t, near_d2, at):
    """Call the intrinsic, which Python cannot."""
    return lanes.measure(ends, marks, needed, members, first, n, x, y, k, near, near_t, near_d2, at)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_segments_are_measured_as_one_by_one(data: st.DataObject) -> None:
    n_segments = data.draw(st.integers(1, 5))
    # Few values, so that segments of no length, points on lines and the same distances are drawn.
    metre = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e5, 1e5, width=32))
    ends = np.array(data.draw(st.lists(st.tuples(*[metre] * 4), min_size=n_segments, max_size=n_segments)))
    marks = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_segments, max_size=n_segments)), np.uint8)
    number = st.integers(0, n_segments - 1)
    members = np.array(data.draw(st.lists(number, min_size=1, max_size=2 * lanes.LANES)), np.int32)
    first = data.draw(st.integers(0, members.size - 1))
    n = data.draw(st.integers(1, min(lanes.LANES, members.size - first)))
    asked = np.uint8(data.draw(st.integers(0, 3))), members, first, n
    point = data.draw(metre), data.draw(metre), data.draw(st.sampled_from([1.0, 0.5, 1.25]))
    at = data.draw(st.integers(0, 2))

    def written() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = lanes.LANES + 3
        return np.full(size, -7, np.int32), np.full(size, -7.0), np.full(size, -7.0)

    found, expected = written(), written()
    least = measured(ends, marks, *asked, *point, *found, at)
    assert least == lanes._measure_one_by_one(ends, marks, *asked, *point, *expected, at)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
