"""
Words that hold one bit for each cell of a raster.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

#: Numba has no annotations for these.
_types: Any = numba.types
_settings: Any = numba.config


def _popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of bits of an int64 that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        kind = ir.FunctionType(number, [number])
        count = builder.module.globals.get("llvm.ctpop.i64") or ir.Function(builder.module, kind, "llvm.ctpop.i64")
        return builder.call(count, arguments)

    return _types.int64(_types.int64), generate


def _eight_bytes(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the bytes ``8 * index`` to ``8 * index + 7`` of a contiguous uint8 array as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        words = builder.bitcast(given.data, ir.IntType(64).as_pointer())
        return builder.load(builder.gep(words, [arguments[1]]), align=1)

    return _types.int64(array, _types.intp), generate


def _counted(word: Any) -> int:
    """Do the same in Python."""
    return int(word).bit_count() if word >= 0 else 64 - int(~word).bit_count()


def _read(array: Any, index: int) -> int:
    """Do the same in Python."""
    return int(array[8 * index : 8 * index + 8].view("int64")[0])


#: ``popcount(word)``; see `_popcount`.
popcount: Any = _counted if _settings.DISABLE_JIT else intrinsic(_popcount)
#: ``eight_bytes(array, index)``; see `_eight_bytes`. A view of the array would take longer to compile than its loop.
eight_bytes: Any = _read if _settings.DISABLE_JIT else intrinsic(_eight_bytes)
