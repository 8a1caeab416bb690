"""Combinations of parameters of which few are tried in each run, and all in the thorough one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest


def combined(*choices: Iterable[Any], mark: Any, few: Any = (), times: int = 1, most: int | None = None) -> list[Any]:
    """
    Return all combinations of values for `pytest.mark.parametrize`, of which few lack `mark` and have that of `few`.

    Each value is in `times` combinations or more of these, beside different values, unless `most` limits their
    number. A tuple is the values of several parameters.
    """
    values = [list(each) for each in choices]
    longest = max(map(len, values))
    chosen = {
        tuple((i + shift * place) % len(each) for place, each in enumerate(values))
        for i in range(longest)
        for shift in range(times)
    }
    chosen = set(sorted(chosen)[:most])
    found = []
    for key in itertools.product(*(range(len(each)) for each in values)):
        parts = [each[k] for each, k in zip(values, key, strict=True)]
        flat = itertools.chain.from_iterable(part if isinstance(part, tuple) else (part,) for part in parts)
        found.append(pytest.param(*flat, marks=few if key in chosen else mark))
    return found


def first_of(number: int, values: Iterable[Any], *, mark: Any, few: Any = ()) -> list[Any]:
    """Return values for `pytest.mark.parametrize`, of which the first have the mark of `few`, and the others `mark`."""
    return [pytest.param(value, marks=few if i < number else mark) for i, value in enumerate(values)]
