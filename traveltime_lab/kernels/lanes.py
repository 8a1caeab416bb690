"""
Relax arcs for several searches at once, with the vector registers of the processor.

The compiler of Numba turns a loop over the lanes of one vertex into instructions for one lane after the other, because
the labels of the vertex have to stay in registers from one arc to the next. Here the loop over the arcs is written for
the compiler, with a vector of labels as one value: it takes a third of the time.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

#: Numba has no annotations for these.
_types: Any = numba.types
_settings: Any = numba.config

#: Number of lanes. Their labels for one vertex, 64 bytes, fill a cache line and whole vector registers.
LANES = 8


def _relax(typing_context: Any, labels: Any, row: Any, tails: Any, lengths: Any, at: Any) -> Any:
    """
    Relax the arcs into a row of labels, from entry `at` on; see `relax`.

    Parameters
    ----------
    labels : int64 array of shape (n, LANES)
        In C order. Row `row` is improved.
    row : int
    tails : int32 array
        Rows that the arcs come from, other ones than `row`; the arcs end at the first negative number.
    lengths : int64 array
        Labels of the arcs.
    at : int
        First arc.

    Returns
    -------
    int
        The entry after the negative number.
    """
    number, small, label = ir.IntType(64), ir.IntType(32), ir.IntType(64)
    vector = ir.VectorType(label, LANES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, tail_of, length_of = (
            context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2, 3)
        )

        def address(index: Any) -> Any:
            return builder.bitcast(builder.gep(rows, [builder.mul(index, number(LANES))]), vector.as_pointer())

        before, own = builder.block, address(arguments[1])
        unimproved = builder.load(own, align=label.width // 8)
        test, body, end = (builder.append_basic_block(name) for name in ("arcs", "arc", "end"))
        builder.branch(test)
        builder.position_at_end(test)
        entry, best = builder.phi(number), builder.phi(vector)
        tail = builder.load(builder.gep(tail_of, [entry]))
        builder.cbranch(builder.icmp_signed(">=", tail, tail.type(0)), body, end)
        builder.position_at_end(body)
        length = builder.load(builder.gep(length_of, [entry]))
        none = ir.Constant(vector, ir.Undefined)
        in_all = builder.shuffle_vector(
            builder.insert_element(none, length, small(0)), none, ir.Constant(ir.VectorType(small, LANES), [0] * LANES)
        )
        other = builder.load(address(builder.sext(tail, number)), align=label.width // 8)
        onward = builder.add(other, in_all)
        improved = builder.select(builder.icmp_signed("<", onward, best), onward, best)
        following = builder.add(entry, number(1))
        for value, start, more in ((entry, arguments[4], following), (best, unimproved, improved)):
            value.add_incoming(start, before)
            value.add_incoming(more, body)
        builder.branch(test)
        builder.position_at_end(end)
        builder.store(best, own, align=label.width // 8)
        return builder.add(entry, number(1))

    return _types.intp(labels, _types.intp, tails, lengths, _types.intp), generate


def _one_by_one(labels: Any, row: Any, tails: Any, lengths: Any, at: Any) -> Any:
    """Relax arcs in Python."""
    while tails[at] >= 0:
        for lane in range(LANES):
            labels[row, lane] = min(labels[row, lane], labels[tails[at], lane] + lengths[at])
        at += 1
    return at + 1


#: ``relax(labels, row, tails, lengths, at)``; see `_relax`.
relax: Any = _one_by_one if _settings.DISABLE_JIT else intrinsic(_relax)
