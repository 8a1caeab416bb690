"""
Rows in compressed form against lists of lists.
"""

import ast
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab
from traveltime_lab._arrays import (
    chosen_rows,
    indptr_of,
    indptr_of_rows,
    joined_rows,
    rows_of,
    take_rows,
    unique_values,
    within_rows,
)

PACKAGE = Path(traveltime_lab.__file__).parent


class Rows(NamedTuple):
    indptr: np.ndarray
    values: np.ndarray


def packed(rows: list[list[int]]) -> Rows:
    return Rows(indptr_of([len(row) for row in rows]), np.array([value for row in rows for value in row], np.int32))


def unpacked(csr: Rows) -> list[list[int]]:
    return [csr.values[a:b].tolist() for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)]


@pytest.mark.pythons
@pytest.mark.quick
@given(rows=st.lists(st.lists(st.integers(0, 99), max_size=3), max_size=6), data=st.data())
def test_rows_are_those_of_lists(rows: list[list[int]], data: st.DataObject) -> None:
    csr = packed(rows)
    assert unpacked(csr) == rows
    lengths = np.diff(csr.indptr)
    assert within_rows(lengths).tolist() == [k for row in rows for k in range(len(row))]
    assert indptr_of_rows(np.repeat(np.arange(len(rows)), lengths), len(rows)).tolist() == csr.indptr.tolist()
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    assert unpacked(rows_of(csr, first, last)) == rows[first:last]
    taken = take_rows(csr, first, last)
    assert taken.indptr[0] == 0
    assert unpacked(taken) == rows[first:last]
    assert unpacked(joined_rows([take_rows(csr, 0, first), taken, take_rows(csr, last, len(rows))])) == rows
    chosen = np.array(data.draw(st.lists(st.sampled_from(range(len(rows))) if rows else st.nothing())), np.int64)
    indptr, at = chosen_rows(csr.indptr, chosen)
    assert unpacked(Rows(indptr, csr.values[at])) == [rows[row] for row in chosen]


@given(st.lists(st.integers(-3, 3)), st.sampled_from([np.int64, np.uint8, np.float64]))
def test_unique_values_are_those_of_numpy(values: list[int], dtype: Any) -> None:
    array = np.abs(values).astype(dtype) if dtype is np.uint8 else np.array(values, dtype)
    found = unique_values(array)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.unique(array))
    np.testing.assert_array_equal(unique_values(np.array([*"baab"])), ["a", "b"])
    np.testing.assert_array_equal(unique_values(array[:, None]), found)


@pytest.mark.slow
def test_no_module_calls_the_slow_function_of_numpy() -> None:
    """`numpy.unique` with nothing but an array takes ten times as long as `unique_values`."""
    slow = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "np.unique(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.unique" and len(node.args) == 1:
                slow += [] if node.keywords else [f"{path.name}:{node.lineno}"]
    assert not slow, "use traveltime_lab._arrays.unique_values"
