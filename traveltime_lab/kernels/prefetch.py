"""
Prefetch memory that a kernel reads soon.

The labels of a large network do not fit into the caches of a processor. A kernel that determines its next rows
in advance waits for memory several times less if it prefetches them some rows ahead.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

#: Numba has no annotations for these.
_types: Any = numba.types
_settings: Any = numba.config

#: Arguments of ``llvm.prefetch`` after the address: for reading, into all caches, data.
_FOR_READING, _INTO_ALL_CACHES, _DATA = 0, 3, 1


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line with an element of a contiguous array; an index out of range is harmless."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(given.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = builder.module.globals.get("llvm.prefetch") or ir.Function(builder.module, kind, "llvm.prefetch")
        builder.call(ask, [address, number(_FOR_READING), number(_INTO_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return _types.void(array, _types.intp), generate


def _nothing(array: Any, index: Any) -> None:
    """Do nothing: Python has no prefetching."""


#: ``prefetch(array, index)``; see `_prefetch`.
prefetch: Any = _nothing if _settings.DISABLE_JIT else intrinsic(_prefetch)
