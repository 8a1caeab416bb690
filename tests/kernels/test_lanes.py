"""Several lanes at once, as one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.kernels import lanes
from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.unreached import UNREACHED


@kernel
def relaxed(labels, row, tails, lengths, at):
    """Call the intrinsic, which Python cannot."""
    return lanes.relax(labels, row, tails, lengths, at)


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
