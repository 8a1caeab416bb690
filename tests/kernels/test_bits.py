"""Bits are counted as Python counts them, with numba and without."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from traveltime_lab.kernels.bits import eight_bytes, popcount
from traveltime_lab.kernels.compiled import kernel

CODE = """
import numpy as np
from traveltime_lab.kernels.bits import eight_bytes, popcount
assert [eight_bytes(np.arange(24, dtype=np.uint8), i) for i in (0, 2)] == [0x0706050403020100, 0x1716151413121110]
assert [popcount(word) for word in (0, 7, -1, -(1 << 63))] == [0, 3, 64, 1]
"""


@kernel
def counts(words):
    """Return the number of bits of each word."""
    found = np.empty(words.size, np.int64)
    for i in range(words.size):
        found[i] = popcount(words[i])
    return found


@kernel
def words_of(values):
    """Return each eight bytes as a word."""
    found = np.empty(values.size // 8, np.int64)
    for i in range(found.size):
        found[i] = eight_bytes(values, i)
    return found


def test_eight_bytes_are_a_word() -> None:
    values = np.random.default_rng(0).integers(0, 256, 8_003).astype(np.uint8)
    for begin in (0, 3):  # also where a word does not begin at a multiple of eight
        assert np.array_equal(words_of(values[begin : begin + 8_000]), values[begin : begin + 8_000].view(np.int64))


def test_all_bits_are_counted() -> None:
    words = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1_000, endpoint=True)
    words = np.concatenate([words, [0, 1, -1, 2**63 - 1, -(2**63)], words & (words << 7)])
    expected = [(int(word) & (2**64 - 1)).bit_count() for word in words]
    assert counts(words).tolist() == expected


@pytest.mark.slow
def test_the_same_without_numba() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"})
