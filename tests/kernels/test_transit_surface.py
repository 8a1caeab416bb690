"""Values of cells by transit, over many departures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traveltime_lab.kernels.raster.transit_surface import _nth


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**31 - 1) | st.sampled_from([0, 7, 8]), min_size=1, max_size=40), st.data())
def test_the_value_at_a_rank_is_that_of_the_sorted_values(values: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, len(values) - 1))
    guess = data.draw(st.integers(0, 2**31 - 1) | st.sampled_from(values))
    assert _nth(np.array(values, np.int32), rank, np.int32(guess)) == sorted(values)[rank]
