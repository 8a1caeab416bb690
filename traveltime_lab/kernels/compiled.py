"""
The decorator of all kernels: compiled at the first call, kept on disk, and never older than its sources.

Numba keeps what it compiled, too, but asks only whether the file of the function itself has changed. A compiled kernel
holds copies of the constants it reads and of the kernels it calls, and these may come from other files. So the key of
an entry here is made from the text of the kernel's module and of every module of this package that it imports,
directly or not, besides the signature, the processor and the versions of Python, numba, llvmlite and numpy.

Each signature of a kernel has one file, written whole and then moved to its place, with its key and a checksum in
front. A file that is missing, damaged, or made for another key is no error: the kernel is compiled again and the file
is replaced. Processes that compile the same kernel at the same time write the same file, one after the other.

The files are where numba's own would be: in the ``__pycache__`` beside the source, in the user's cache folder if that
cannot be written to, or below ``NUMBA_CACHE_DIR``. Where none of them can be written to, or where numba's insides are
not as expected, kernels are compiled in each process and a warning is logged.

Examples
--------
>>> from traveltime_lab.kernels.compiled import kernel
>>> @kernel
... def twice(x):
...     return 2 * x
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

logger = logging.getLogger(__name__)

#: Modules of numba that it makes no promises about: looked up where they are used, inside of a `try`.
_internals: Any = numba.core
#: Begins every file; the number is that of the layout.
_MAGIC = b"traveltime_lab kernel 1\n"
_DIGEST_SIZE = 32
_PACKAGE = Path(__file__).parents[1]
#: An import of a module of this package; ``rest`` is empty unless the line has several or a form not understood here.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<origin>\.|traveltime_lab[\w.]*)[^\n]*?[ \t]import\b"
    rb"|import[ \t]+(?P<module>traveltime_lab[\w.]*)(?:[ \t]+as[ \t]+\w+)?(?P<rest>[^\n#]*))",
    re.MULTILINE,
)
#: Settings of numba that change the code it makes and that its processor's name does not include.
_NUMBA_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")


@dataclass(frozen=True)
class Compilation:
    """A signature that this process has compiled."""

    name: str
    #: Kernels that were compiled on the way included.
    seconds: float
    #: Where it is kept, None if it is not.
    path: Path | None


_compilations: list[Compilation] = []


def compilations() -> tuple[Compilation, ...]:
    """Return what this process has compiled so far, the callees of a kernel before the kernel."""
    return tuple(_compilations)


def folders() -> list[Path]:
    """Return the folders where this process has looked for compiled kernels."""
    return sorted(set(_folders.values()))


def is_kept(dispatcher: Any, arguments: tuple[Any, ...]) -> bool | None:
    """Return whether a signature of a kernel is on disk, None if it cannot be."""
    cache = getattr(dispatcher, "_cache", None)
    return cache.is_kept(arguments, dispatcher.targetctx) if isinstance(cache, _Cache) else None


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """
    Compile a function without Python objects and without the global interpreter lock when it is first called.

    Parameters
    ----------
    function : callable, optional
        A function of a module; without it a decorator is returned.
    **options
        Further options of `numba.njit`, such as ``fastmath=True`` or ``inline="always"``.

    Returns
    -------
    callable
        The dispatcher, or a decorator.

    Notes
    -----
    A kernel is compiled once for each combination of types, and most of the time of a first run is spent so. What
    saves compilations: numbers that kernels pass on begin as ``np.int64(0)``, as a literal ``0`` is a type of its own;
    loops instead of ``a[i:j] = b``, whose check of shapes can word an error; `street.road.ascending` instead of
    ``np.argsort``.
    """
    if function is None:
        return functools.partial(kernel, **options)
    dispatcher = numba.njit(nogil=True, **options)(function)
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT, and perhaps not in a later numba
        dispatcher._cache = _Cache(function, options)
    return dispatcher


# What a kernel is made from ------------------------------------------------------------------------------------------


@functools.cache
def _source(path: str, modified_ns: int, size: int) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of a module's text and the files of this package that it imports."""
    text = Path(path).read_bytes()
    imported: set[str] = set()
    for match in _IMPORT.finditer(text):
        name = match["origin"] or match["module"]
        place = _PACKAGE.parent.joinpath(*name.decode().split("."))
        module = place.with_suffix(".py")
        if name.startswith(b".") or (match["rest"] or b"").strip():
            imported.update(_modules_below(_PACKAGE))
        elif module.is_file():
            imported.add(str(module))
        else:  # a package, and what is imported may be any of its modules
            imported.update(_modules_below(place))
    return hashlib.blake2b(text, digest_size=_DIGEST_SIZE).digest(), tuple(sorted(imported))


def _modules_below(folder: Path) -> Iterable[str]:
    return map(str, folder.rglob("*.py"))


def _sources_digest(path: str) -> bytes:
    """
    Return a digest of a module and of all modules of this package that it imports, directly or not.

    Taken when the module is imported, so that a file edited later is not mistaken for what runs; asked again for a
    module that is reloaded.
    """
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if at not in found:
            stat = os.stat(at)
            found[at], imported = _source(at, stat.st_mtime_ns, stat.st_size)
            waiting.extend(imported)
    return hashlib.blake2b(b"".join(sorted(found.values())), digest_size=_DIGEST_SIZE).digest()


def _in_words(kind: Any) -> str:
    """Return a numba type as text; for named tuples with the names of their fields, which numba leaves out."""
    parts = ", ".join(map(_in_words, kind.types)) if hasattr(kind, "types") else ""
    fields = getattr(getattr(kind, "instance_class", None), "_fields", "")
    return f"{kind}[{parts}]{fields}"


# Where it is kept ----------------------------------------------------------------------------------------------------


_folders: dict[str, Path] = {}
_announced, _warned = threading.Event(), threading.Event()


def _warn_once(reason: str, error: Exception) -> None:
    if not _warned.is_set():
        _warned.set()
        logger.warning("compiled kernels are not kept: %s: %s: %s", reason, type(error).__name__, error)


class _Cache:
    """What a dispatcher asks for compiled code; the methods are those of numba's own caches."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = repr(sorted(options.items()))
        module = function.__module__.removeprefix("traveltime_lab.kernels.")
        self._name = f"{module}.{function.__qualname__}"
        self._started: dict[Any, float] = {}
        try:
            self._sources: bytes | None = _sources_digest(function.__code__.co_filename)
        except OSError:
            self._sources = None  # no source, so nothing to compare with: compiled in each process

    @property
    def cache_path(self) -> str | None:
        """The folder, None if nothing is kept."""
        try:
            return None if self._sources is None else str(self._folder())
        except Exception:
            return None

    def enable(self) -> None:
        """Do nothing: it is enabled."""

    def disable(self) -> None:
        """Keep nothing from now on."""
        self._sources = None

    def flush(self) -> None:
        """Forget what was kept for this kernel."""
        if self.cache_path is not None:
            for path in self._folder().glob(f"{self._stem()}-*.nbc"):
                path.unlink(missing_ok=True)

    def is_kept(self, sig: Any, target_context: Any) -> bool | None:
        """Return whether there is a file for a signature, None if there can be none; its end is not read."""
        if self.cache_path is None:
            return None
        path, key = self._entry(sig, target_context.codegen())
        try:
            with open(path, "rb") as file:
                return file.read(len(_MAGIC) + len(key)) == _MAGIC + key
        except OSError:
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if that must be done."""
        found = None
        if self._sources is not None:
            try:
                target_context.refresh()
                path, key = self._entry(sig, target_context.codegen())
                found = self._load(path, key, sig, target_context)
            except Exception as error:  # whatever is wrong with what was kept, compiling helps
                _warn_once("they cannot be read", error)
        if found is None:
            self._started[_arguments(sig)] = time.perf_counter()
            if not _announced.is_set():
                _announced.set()
                logger.info("compiling, once per machine")
        return found

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Keep what was compiled for a signature."""
        path: Path | None = None
        if self._sources is not None:
            try:
                path, key = self._entry(sig, compiled.codegen)
                self._save(path, key, compiled)
            except Exception as error:  # a full disk, another numba: the answer is there all the same
                path = None
                _warn_once("they cannot be written", error)
        seconds = time.perf_counter() - self._started.pop(_arguments(sig), time.perf_counter())
        _compilations.append(Compilation(self._name, seconds, path))
        logger.debug("compiled kernel=%s seconds=%.2f path=%s", self._name, seconds, path)

    def _load(self, path: Path, key: bytes, sig: Any, target_context: Any) -> Any:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MAGIC) + 2 * _DIGEST_SIZE
        head, payload = data[:start], data[start:]
        if head != _MAGIC + key + hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest():
            return None
        found = _internals.compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))
        return found if tuple(found.signature.args) == _arguments(sig) else None

    def _save(self, path: Path, key: bytes, compiled: Any) -> None:
        # Code that holds addresses of this process, or that fell back to Python, is of no use to another one.
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        payload = _internals.serialize.dumps(compiled._reduce())
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + key + hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest())
                file.write(payload)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def _folder(self) -> Path:
        source_folder = os.path.dirname(self._function.__code__.co_filename)
        if source_folder not in _folders:
            locator = _internals.caching.CompileResultCacheImpl(self._function).locator
            _folders[source_folder] = Path(locator.get_cache_path())
        return _folders[source_folder]

    def _stem(self) -> str:
        return re.sub(r"[^\w.]", "", f"{Path(self._function.__code__.co_filename).stem}.{self._function.__qualname__}")

    def _entry(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """
        Return the file of a signature and the key that has to be in it.

        The sources are part of the key but not of the name, so that a changed kernel takes the place of the old one.
        """
        assert self._sources is not None
        parts = (
            self._name,
            [_in_words(kind) for kind in _arguments(sig)],
            codegen.magic_tuple(),
            self._options,
            [getattr(numba.config, name, None) for name in _NUMBA_SETTINGS],
            (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__),
        )
        name = hashlib.blake2b(repr(parts).encode(), digest_size=_DIGEST_SIZE)
        path = self._folder() / f"{self._stem()}-{name.hexdigest()[:16]}.nbc"
        return path, hashlib.blake2b(name.digest() + self._sources, digest_size=_DIGEST_SIZE).digest()


def _arguments(sig: Any) -> tuple[Any, ...]:
    """Return the types of the arguments of a signature, which may be only these."""
    return tuple(sig) if isinstance(sig, tuple) else tuple(sig.args)
