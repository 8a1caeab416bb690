"""
Compare and lower the times of several searches at once, with the vector registers of the processor.

The times of a stop are one row of an array, with one lane for each search. They have 16 bits, so that a row fills two
cache lines. Which lanes are meant, or changed, is a number with one bit for each lane. The loops are written for the
compiler as those of `traveltime_lab.kernels.lanes` are, because Numba turns a loop over lanes whose outcome is a set of
bits into instructions for one lane after the other.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

#: Numba has no annotations for these.
_types: Any = numba.types
_settings: Any = numba.config

#: Searches whose times are in one row. With 32, a matrix from 50 origins takes 1.2 times as long (measured).
SEARCHES = 64
#: Largest time; sums end here.
LATEST = np.int16(np.iinfo(np.int16).max)

_BIT, _SMALL, _TIME, _BITS, _NUMBER = (ir.IntType(width) for width in (1, 32, 16, SEARCHES, 64))
_VECTOR, _FLAGS = ir.VectorType(_TIME, SEARCHES), ir.VectorType(_BIT, SEARCHES)


def _row(context: Any, builder: Any, signature: Any, arguments: Any, at: int) -> Any:
    """Return the address of the row that argument `at` + 1 counts in the array that is argument `at`."""
    rows = context.make_array(signature.args[at])(context, builder, arguments[at]).data
    first = builder.mul(arguments[at + 1], _NUMBER(SEARCHES))
    return builder.bitcast(builder.gep(rows, [first]), _VECTOR.as_pointer())


def _read(builder: Any, address: Any) -> Any:
    return builder.load(address, align=_TIME.width // 8)


def _in_all(builder: Any, time: Any) -> Any:
    """Return a vector with the same time in all lanes."""
    none = ir.Constant(_VECTOR, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_SMALL, SEARCHES), [0] * SEARCHES)
    return builder.shuffle_vector(builder.insert_element(none, time, _SMALL(0)), none, zeros)


def _within(typing_context: Any, rows: Any, row: Any, time: Any) -> Any:
    """
    Return the lanes of a row that are at most a time.

    Parameters
    ----------
    rows : int16 array of shape (n, SEARCHES)
        In C order.
    row : int
    time : int16

    Returns
    -------
    uint64
        One bit for each lane, the lowest for the first.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own = _read(builder, _row(context, builder, signature, arguments, 0))
        return builder.bitcast(builder.icmp_signed("<=", own, _in_all(builder, arguments[2])), _BITS)

    return _types.uint64(rows, _types.intp, _types.int16), generate


def _lower(typing_context: Any, rows: Any, row: Any, lanes: Any, time: Any) -> Any:
    """
    Lower some lanes of a row to a time.

    Parameters
    ----------
    rows : int16 array of shape (n, SEARCHES)
        In C order; changed.
    row : int
    lanes : uint64
        One bit for each lane.
    time : int16

    Returns
    -------
    uint64
        The lanes that were later.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _row(context, builder, signature, arguments, 0)
        own, new = _read(builder, address), _in_all(builder, arguments[3])
        later = builder.bitcast(builder.icmp_signed(">", own, new), _BITS)
        changed = builder.and_(later, arguments[2])
        with builder.if_then(builder.icmp_unsigned("!=", changed, _BITS(0))):
            builder.store(builder.select(builder.bitcast(changed, _FLAGS), new, own), address, align=_TIME.width // 8)
        return changed

    return _types.uint64(rows, _types.intp, _types.uint64, _types.int16), generate


def _lower_from(typing_context: Any, rows: Any, row: Any, others: Any, other: Any, time: Any) -> Any:
    """
    Lower a row to the sums of another row and a time.

    Parameters
    ----------
    rows, others : int16 arrays of shape (n, SEARCHES)
        In C order; `rows` is changed.
    row, other : int
    time : int16
        Not negative. Sums end at `LATEST`.

    Returns
    -------
    uint64
        The lanes that were later.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _row(context, builder, signature, arguments, 0)
        own, from_other = (_read(builder, _row(context, builder, signature, arguments, at)) for at in (0, 2))
        add, name = _in_all(builder, arguments[4]), f"llvm.sadd.sat.v{SEARCHES}i{_TIME.width}"
        kind = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR])
        saturated = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        new = builder.call(saturated, [from_other, add])
        is_lower = builder.icmp_signed("<", new, own)
        lowered = builder.bitcast(is_lower, _BITS)
        with builder.if_then(builder.icmp_unsigned("!=", lowered, _BITS(0))):
            builder.store(builder.select(is_lower, new, own), address, align=_TIME.width // 8)
        return lowered

    return _types.uint64(rows, _types.intp, others, _types.intp, _types.int16), generate


def _bits(flags: Any) -> Any:
    """Return a number with the bits of flags."""
    return np.uint64(sum(1 << lane for lane in range(SEARCHES) if flags[lane]))


def _within_one_by_one(rows: Any, row: Any, time: Any) -> Any:
    """Compare times in Python."""
    return _bits(rows[row] <= time)


def _lower_one_by_one(rows: Any, row: Any, lanes: Any, time: Any) -> Any:
    """Lower times in Python."""
    later = (rows[row] > time) & np.array([bool(int(lanes) >> lane & 1) for lane in range(SEARCHES)])
    rows[row, later] = time
    return _bits(later)


def _lower_from_one_by_one(rows: Any, row: Any, others: Any, other: Any, time: Any) -> Any:
    """Lower times to sums in Python."""
    new = np.minimum(others[other].astype(np.int64) + time, LATEST)
    later = new < rows[row]
    rows[row, later] = new[later]
    return _bits(later)


#: ``within(rows, row, time)``; see `_within`.
within: Any = _within_one_by_one if _settings.DISABLE_JIT else intrinsic(_within)
#: ``lower(rows, row, lanes, time)``; see `_lower`.
lower: Any = _lower_one_by_one if _settings.DISABLE_JIT else intrinsic(_lower)
#: ``lower_from(rows, row, others, other, time)``; see `_lower_from`.
lower_from: Any = _lower_from_one_by_one if _settings.DISABLE_JIT else intrinsic(_lower_from)
