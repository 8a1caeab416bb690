"""The items of an array of JSON are where a whole decoder finds them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.kernels.json_items import item_spans

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('"\\[]{},: aé', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('"\\]},', max_size=3), inner, max_size=3),
    max_leaves=12,
)


def items(text: str, size: int) -> list[str]:
    data = text.encode()
    found, at = [], 1
    begins, ends = np.empty(size, np.int64), np.empty(size, np.int64)
    while at >= 0:
        # Bytes cannot be written to, which is part of the type that is compiled.
        n, at = item_spans(np.frombuffer(data, np.uint8), at, begins, ends)
        found += [data[begin:end].decode() for begin, end in zip(begins[:n], ends[:n], strict=True)]
    return found


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(values, min_size=1, max_size=6), st.integers(1, 7), st.booleans(), st.sampled_from([None, 1]))
def test_items(array: list[Any], size: int, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(array, ensure_ascii=ascii_only, indent=indent)
    assert [json.loads(item) for item in items(text, size)] == array


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", [""]),
        ("[ ]", [" "]),
        ("[1,", ["1", ""]),
        ("[", [""]),
        ('["', ['"']),
        ('["a\\', ['"a\\']),
        ("[[1,2", ["[1,2"]),
    ],
)
def test_what_is_no_array(text: str, expected: list[str]) -> None:
    assert items(text, 4) == expected
