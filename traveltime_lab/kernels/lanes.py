"""
Relax arcs for several searches at once, and measure several segments at once, with the vector registers of the
processor.

The compiler of Numba turns a loop over the lanes of one vertex into instructions for one lane after the other, because
the labels of the vertex have to stay in registers from one arc to the next. Here the loop over the arcs is written for
the compiler, with a vector of labels as one value: it takes a third of the time. The loop over segments becomes vectors
only for many more segments than are in a cell.
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

#: Searches that are relaxed at once. Their labels for one vertex fill two cache lines and whole vector registers. With
#: 8, the sweeps of 1,000 x 1,000 in New York take 1.4 times as long, and with 32 they are not quicker.
LANES = 16
#: Segments that are measured at once: their numbers fill vector registers.
SEGMENTS = 8


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


def _measure(
    typing_context: Any,
    ends: Any,
    marks: Any,
    needed: Any,
    members: Any,
    first: Any,
    n: Any,
    x: Any,
    y: Any,
    k: Any,
    near: Any,
    near_t: Any,
    near_d2: Any,
    at: Any,
) -> Any:
    """
    Measure up to `SEGMENTS` segments from a point, as `traveltime_lab.kernels.street.nearest.place_on` does.

    Parameters
    ----------
    ends : float64 array of shape (n_segments, 4), m
    marks : uint8 array of shape (n_segments,)
    needed : uint8
        Marks that the segments must have.
    members : int32 array
        Numbers of segments.
    first, n : int
        The first of the members to measure, and how many there are, 1 to `SEGMENTS`.
    x, y, k : float
        Point, and the shrink at its latitude.
    near, near_t, near_d2 : int32, float64 and float64 arrays
        Numbers, positions and squared distances are written from entry `at` on; infinite distances where marks are
        missing. All `SEGMENTS` entries are overwritten.
    at : int

    Returns
    -------
    float
        The smallest of the squared distances, inf if all marks are missing.
    """
    number, small, real = ir.IntType(64), ir.IntType(32), ir.DoubleType()

    def constant(kind: Any, values: Any) -> Any:
        return ir.Constant(ir.VectorType(kind, SEGMENTS), list(values))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, mark_of, member, near_to, t_to, d2_to = (
            context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 3, 9, 10, 11)
        )

        def shuffled(one: Any, other: Any, order: list[int]) -> Any:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(small, len(order)), order))

        def in_all(value: Any) -> Any:
            none = ir.Constant(ir.VectorType(value.type, SEGMENTS), ir.Undefined)
            return shuffled(builder.insert_element(none, value, small(0)), none, [0] * SEGMENTS)

        def smaller(one: Any, other: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", one, other), one, other)

        count, row = arguments[5], ir.VectorType(real, 4)
        segments = ir.Constant(ir.VectorType(small, SEGMENTS), ir.Undefined)
        have = ir.Constant(ir.VectorType(arguments[2].type, SEGMENTS), ir.Undefined)
        corners = []
        for lane in range(SEGMENTS):
            # After the last one, the last one again.
            offset = builder.select(
                builder.icmp_signed("<", number(lane), count), number(lane), builder.sub(count, number(1))
            )
            segment = builder.load(builder.gep(member, [builder.add(arguments[4], offset)]))
            segments = builder.insert_element(segments, segment, small(lane))
            index = builder.sext(segment, number)
            have = builder.insert_element(have, builder.load(builder.gep(mark_of, [index])), small(lane))
            address = builder.bitcast(builder.gep(rows, [builder.mul(index, number(4))]), row.as_pointer())
            corners.append(builder.load(address, align=8))
        # Transposed: one vector for each coordinate.
        ax, ay, bx, by = _transposed(shuffled, corners)
        px, py, shrink = (in_all(arguments[i]) for i in (6, 7, 8))
        to_x, to_y = builder.fmul(builder.fsub(ax, px), shrink), builder.fsub(ay, py)
        dx, dy = builder.fmul(builder.fsub(bx, ax), shrink), builder.fsub(by, ay)
        squared = builder.fadd(builder.fmul(dx, dx), builder.fmul(dy, dy))
        zero, one = (constant(real, [value] * SEGMENTS) for value in (0.0, 1.0))
        divisor = builder.select(builder.fcmp_ordered(">", squared, zero), squared, one)
        t = builder.fdiv(builder.fneg(builder.fadd(builder.fmul(to_x, dx), builder.fmul(to_y, dy))), divisor)
        t = builder.select(builder.fcmp_ordered(">", zero, t), zero, t)
        t = smaller(one, t)
        ex, ey = builder.fadd(to_x, builder.fmul(t, dx)), builder.fadd(to_y, builder.fmul(t, dy))
        d2 = builder.fadd(builder.fmul(ex, ex), builder.fmul(ey, ey))
        is_there = builder.icmp_signed("<", constant(number, range(SEGMENTS)), in_all(count))
        required = in_all(arguments[2])
        is_suited = builder.icmp_unsigned("==", builder.and_(have, required), required)
        d2 = builder.select(builder.and_(is_there, is_suited), d2, constant(real, [float("inf")] * SEGMENTS))
        for value, array in ((segments, near_to), (t, t_to), (d2, d2_to)):
            place = builder.bitcast(builder.gep(array, [arguments[12]]), value.type.as_pointer())
            builder.store(value, place, align=4)
        least, half = d2, SEGMENTS // 2
        while half:
            least = smaller(shuffled(least, least, [(lane + half) % SEGMENTS for lane in range(SEGMENTS)]), least)
            half //= 2
        return builder.extract_element(least, small(0))

    index, double = _types.intp, _types.float64
    return (
        double(ends, marks, _types.uint8, members, index, index, double, double, double, near, near_t, near_d2, index),
        generate,
    )


def _transposed(shuffled: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of 8 rows of 4 numbers, with instructions that take pairs of vectors."""
    pairs = [
        (shuffled(a, b, [0, 4, 1, 5]), shuffled(a, b, [2, 6, 3, 7])) for a, b in zip(rows[::2], rows[1::2], strict=True)
    ]
    columns = []
    for half in (0, 1):
        quarters = [
            (shuffled(a[half], b[half], [0, 1, 4, 5]), shuffled(a[half], b[half], [2, 3, 6, 7]))
            for a, b in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        columns += [shuffled(quarters[0][i], quarters[1][i], list(range(8))) for i in (0, 1)]
    return columns


def _measure_one_by_one(
    ends: Any, marks: Any, needed: Any, members: Any, first: Any, n: Any, x: Any, y: Any, k: Any, near: Any,
    near_t: Any, near_d2: Any, at: Any,
) -> Any:  # fmt: skip
    """Measure segments in Python."""
    for lane in range(SEGMENTS):
        segment = members[first + min(lane, n - 1)]
        ax, ay, bx, by = ends[segment]
        to_x, to_y, dx, dy = (ax - x) * k, ay - y, (bx - ax) * k, by - ay
        squared = dx * dx + dy * dy
        t = min(max(-(to_x * dx + to_y * dy) / (squared if squared > 0.0 else 1.0), 0.0), 1.0)
        is_suited = lane < n and marks[segment] & needed == needed
        near[at + lane], near_t[at + lane] = segment, t
        near_d2[at + lane] = (to_x + t * dx) ** 2 + (to_y + t * dy) ** 2 if is_suited else np.inf
    return near_d2[at : at + SEGMENTS].min()


#: ``measure(ends, marks, needed, members, first, n, x, y, k, near, near_t, near_d2, at)``; see `_measure`.
measure: Any = _measure_one_by_one if _settings.DISABLE_JIT else intrinsic(_measure)
#: ``relax(labels, row, tails, lengths, at)``; see `_relax`.
relax: Any = _one_by_one if _settings.DISABLE_JIT else intrinsic(_relax)
