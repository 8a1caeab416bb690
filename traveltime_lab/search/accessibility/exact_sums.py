"""
Sums of floating-point numbers that do not depend on the order of the terms: equal to those of `math.fsum`.

Each term is split into parts that are multiples of fixed powers of two, so large that sums of as many parts as there
are terms are exact. Parts may therefore be added in any order, in blocks of any size and in several processes,
and are rounded once, at the end. This is the pre-rounding of [1]_, but no part is dropped.

References
----------
.. [1] Demmel, Nguyen. "Fast Reproducible Floating-Point Summation". 21st IEEE Symposium on Computer Arithmetic, 2013.
   https://doi.org/10.1109/ARITH.2013.9
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray

#: Bits of the significand of a float64 after the leading one.
_BITS: Final = 52


class ExactSums:
    """
    Running sums of non-negative numbers.

    Parameters
    ----------
    n_sums : int
    n_terms : int
        Largest number of terms of a sum.
    largest : float
        Upper bound of the terms, from 0 to 1e250.
    """

    def __init__(self, n_sums: int, n_terms: int, largest: float) -> None:
        self.n_sums = n_sums
        #: A part is less than 2 to this power of units, and so are the sums of `n_terms` with 52 bits.
        self.bits = _BITS - max(n_terms, 1).bit_length()
        self.top = math.frexp(largest)[1]
        #: Sums of the parts of each level; the unit of a level is 2 to the power of `bits` of that of the next.
        self.levels: list[FloatArray] = []

    def add(self, terms: FloatArray, where: slice, *, axis: int) -> None:
        """
        Add terms to some of the sums.

        Parameters
        ----------
        terms : float64 array of two dimensions
            Overwritten.
        where : slice
            The sums.
        axis : {0, 1}
            Axis of `terms` along which each sum lies.
        """
        level = 0
        while terms.any():
            # Adding this number and taking it away rounds to a multiple of the unit; the remainder is exact.
            rounder = math.ldexp(1.5, _BITS + self.top - self.bits * (level + 1))
            part = terms + rounder
            part -= rounder
            if level == len(self.levels):
                self.levels.append(np.zeros(self.n_sums))
            self.levels[level][where] += part.sum(axis=axis)
            terms -= part
            level += 1

    def merge(self, other: ExactSums) -> None:
        """
        Add the sums of other terms that have the same upper bound.

        Parameters
        ----------
        other : ExactSums
            With the same number of sums. Both together have at most `n_terms` terms.
        """
        for level, parts in enumerate(other.levels):
            if level == len(self.levels):
                self.levels.append(np.zeros(self.n_sums))
            self.levels[level] += parts

    def totals(self) -> FloatArray:
        """Return the sums, each rounded once."""
        if not self.levels:
            return np.zeros(self.n_sums)
        if len(self.levels) <= 2:
            # The sum of two numbers is rounded correctly.
            return np.asarray(np.sum(self.levels, axis=0))
        return np.array([math.fsum(parts) for parts in np.stack(self.levels, axis=1).tolist()])
