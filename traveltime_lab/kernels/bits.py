"""
Count the bits of words that hold one bit for each cell of a raster.
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


def _counted(word: Any) -> int:
    """Do the same in Python."""
    return int(word).bit_count() if word >= 0 else 64 - int(~word).bit_count()


#: ``popcount(word)``; see `_popcount`.
popcount: Any = _counted if _settings.DISABLE_JIT else intrinsic(_popcount)
