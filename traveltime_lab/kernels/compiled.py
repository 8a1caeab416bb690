"""
The decorator of all kernels. A kernel is compiled at its first call and cached on disk, see
`traveltime_lab.kernels.cache`.

Examples
--------
>>> from traveltime_lab.kernels.compiled import kernel
>>> @kernel
... def twice(x):
...     return 2 * x
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import llvmlite
import numba

from traveltime_lab.kernels.cache import Cache
from traveltime_lab.runtime.collector import without_collector
from traveltime_lab.runtime.signals import call

#: Internal modules of Numba, which may change: they are only used inside a `try`.
_internals: Any = numba.core
#: Numba has annotations for some of its functions, and calls of the others are errors for mypy.
_types: Any = numba.types
#: The dispatcher of Numba.
_Plain: Any = getattr(getattr(_internals, "registry", None), "CPUDispatcher", None)


def _call(dispatcher: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a kernel from Python, without a signal handler that interrupts it; see `traveltime_lab.runtime.signals`."""
    return call(_Plain.__call__, dispatcher, *arguments, **keywords)


def _compile(dispatcher: Any, arguments: Any) -> Any:
    """Compile a kernel for some types, or read it from the cache; compiling takes a fifth less time in this way."""
    with without_collector:
        return _Plain.compile(dispatcher, arguments)


#: A dispatcher that is called and compiled in this way.
_Kernel: Any = (
    None
    if _Plain is None
    else type("_Kernel", (_Plain,), {"__call__": _call, "compile": _compile, "__module__": __name__})
)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """
    Compile a function at its first call, in nopython mode and without the global interpreter lock.

    Parameters
    ----------
    function : callable, optional
        A function at module level. If omitted, a decorator is returned.
    **options
        Options of `numba.njit`, such as ``fastmath=True`` or ``forceinline=True``.

    Returns
    -------
    callable
        The dispatcher, or a decorator.

    Notes
    -----
    A kernel is compiled once for each combination of types, which takes most of the time of a first run. To reduce it,
    pass numbers of the same types and arrays of the same layouts everywhere; use loops in place of ``a[i:j] = b``,
    which includes code for an error message, and of ``a.min()`` and ``a.max()``; use `bits.eight_bytes` in place of
    ``a.view(np.int64)`` and `order.ascending` in place of ``np.argsort``; and use ``forceinline=True`` in place of
    ``inline="always"``, which Numba does before it infers types, for each caller again. Numba gives
    the literals ``0`` and ``True`` types of their own, for which it would compile a kernel again that another kernel
    calls with them; here they have the types of other numbers.

    Arrays that belong together are one argument, a named tuple of `traveltime_lab.kernels.records` or of the module of
    the kernel. Reading a field costs nothing in itself; in the innermost loops a local variable for each array lets the
    compiler drop the counting of references. The types of its fields are part of the signature.
    """
    if function is None:
        return functools.partial(kernel, **options)
    # Wrappers for C are a seventh of the code of a kernel, and nothing calls them.
    options_of_numba: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, **options}
    dispatcher: Any = numba.njit(**options_of_numba)(function)
    if type(dispatcher) is _Plain:  # not with NUMBA_DISABLE_JIT
        dispatcher.__class__ = _Kernel
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT, and perhaps not in a later numba
        dispatcher._cache = Cache(function, options)
    if _Flags is not None and hasattr(dispatcher, "_compiler"):
        dispatcher._compiler._customize_flags = _Flags
    if hasattr(dispatcher, "get_call_template"):
        part = _part(function, options) if _PARTS else dispatcher
        # Another kernel that calls this one gets the version for all numbers, whether it passes a literal or not.
        ask, plain = part.get_call_template, _types.unliteral
        dispatcher.get_call_template = lambda args, kws: ask(
            tuple(map(plain, args)), {name: plain(kind) for name, kind in dict(kws).items()}
        )
        dispatcher.get_overload = part.get_overload
        dispatcher.part = part
    return dispatcher


# Functions of Numba that kernels call --------------------------------------------------------------------------------


def _shared_flags() -> Any:
    """
    Return the class of the flags of a kernel that are equal if the functions of Numba that it calls are the same.

    Numba keeps the functions that it has compiled, such as ``np.empty`` for some types, by the flags of the caller, and
    compares all of them, including those that say which wrappers a kernel has. But such a function inherits few of
    them. With this class each is compiled once for kernels and their parts, and comparisons take less time: kernels
    compile in 0.96 of the time (`benchmarks/compiling.py`).
    """
    plain: Any = _internals.compiler.Flags
    inherited = tuple((name, plain.options[name].default) for name in _INHERITED)
    number = hash(plain())

    # The name of the class is part of the names of compiled functions. mypy: the class of Numba has no annotations.
    class Flags(plain):  # type: ignore[misc]
        __slots__ = ()

        def __hash__(self) -> int:
            return number

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, plain):
                return NotImplemented
            these, those = self._values.get, other._values.get
            return all(these(name, default) == those(name, default) for name, default in inherited)

    return Flags if hash(plain(Flags())) == number else None


#: Flags that a function of Numba takes over from the kernel that calls it, and those that settings of Numba change.
_INHERITED = ("nrt", "fastmath", "error_model", "forceinline", "boundscheck", "debuginfo")
try:
    _Flags = _shared_flags()
except (AttributeError, KeyError, TypeError):  # internals that a different version lacks
    _Flags = None


# Kernels that other kernels call -------------------------------------------------------------------------------------


def _has_parts() -> bool:
    """Return whether the internals of Numba that `_part` changes are there."""
    try:
        library = _internals.codegen.CPUCodeLibrary
        return (
            all(hasattr(library, name) for name in ("_optimize_final_module", "_finalize_final_module"))
            and hasattr(library, "_finalize_dynamic_globals")
            and hasattr(_internals.compiler.CompileResult, "_replace")
            and hasattr(_internals.compiler.Flags, "no_compile")
            and hasattr(_internals.dispatcher._FunctionCompiler, "_customize_flags")
        )
    except AttributeError:  # internals that a different version lacks
        return False


_PARTS = _has_parts()


def _part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """
    Return a dispatcher of a kernel that is only for the kernels that call it.

    Numba would optimize such a function and translate it into machine code, with a wrapper for calls from Python, and
    then optimize and translate it again as a part of each caller, and of the callers of these. The function of this
    dispatcher is optimized once, as a part of the kernel that Python calls. All kernels together compile in 0.85 of
    the time, and those with callees on five levels in less than half (`benchmarks/compiling.py`).
    """
    part: Any = numba.njit(**{"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True, **options})(function)
    compile_whole = part._compiler.compile

    def without_machine_code(flags: Any) -> Any:
        flags.no_compile = True
        return flags if _Flags is None else _Flags(flags)

    def compile_part(args: Any, return_type: Any) -> Any:
        compiled = compile_whole(args, return_type)
        library = compiled.library

        def finish() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library._optimize_final_module = lambda: None
        library._finalize_final_module = finish
        # Numba finds the code of a callee by its entry point, which need not be an address.
        compiled = compiled._replace(entry_point=object())
        part.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [library])
        return compiled

    def add_overload(compiled: Any) -> None:
        part.overloads[tuple(compiled.signature.args)] = compiled

    part._compiler._customize_flags = without_machine_code
    part._compiler.compile = compile_part
    part.add_overload = add_overload
    return part


# Forks ---------------------------------------------------------------------------------------------------------------


def _compile_locks() -> list[Any]:
    """Return the locks that a thread holds while it compiles, in the order in which it takes them."""
    found = [_internals.compiler_lock.global_compiler_lock, llvmlite.binding.ffi.lib._lock._lock]
    return [lock for lock in found if callable(lock.acquire) and callable(lock.release)]


def _wait_for_compilers() -> None:
    for lock in _locks_at_forks:
        lock.acquire()


def _let_compilers_go() -> None:
    for lock in reversed(_locks_at_forks):
        lock.release()


try:
    _locks_at_forks = _compile_locks()
except AttributeError:  # internals that a different version lacks
    _locks_at_forks = []
if hasattr(os, "register_at_fork"):
    # Forking a process while a different thread compiles would copy a compiler in an inconsistent state.
    os.register_at_fork(before=_wait_for_compilers, after_in_parent=_let_compilers_go, after_in_child=_let_compilers_go)
