"""Asking for memory changes nothing, wherever it is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.prefetch import prefetch

CODE = """
import numpy as np
from traveltime_lab.kernels.prefetch import prefetch
prefetch(np.zeros(3), 1)
"""


@kernel
def total(values, ahead):
    """Return the sum of an array, asking for what is so many places ahead of each value."""
    found = 0
    for at in range(values.size):
        prefetch(values, at + ahead)
        found += values.flat[at]
    return found


@pytest.mark.slow
def test_any_place_may_be_asked_for() -> None:
    for dtype in (np.int32, np.int64):
        for values in (np.arange(1_000, dtype=dtype), np.arange(24, dtype=dtype).reshape(3, 8)):
            kept = values.copy()
            for ahead in (0, 8, 10**9, -(10**9)):
                assert total(values, ahead) == kept.sum()
            np.testing.assert_array_equal(values, kept)


@pytest.mark.slow
def test_it_does_nothing_without_numba() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
