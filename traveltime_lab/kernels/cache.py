"""
The cache of compiled kernels on disk, by the sources of each kernel.

The cache of Numba only checks whether the file of the function itself has changed. But a compiled kernel contains
copies of the constants that it reads and of the kernels that it calls, which may be defined in other files. The key of
an entry in this cache therefore includes the text of the module of the kernel and of every module of this package that
it imports, directly or indirectly, in addition to the signature, the processor and the versions of Python, numba,
llvmlite and numpy.

Each signature of a kernel has one file that begins with its key and a checksum. The file is written under a temporary
name and then renamed. If it is missing or damaged, or if the key differs, the kernel is compiled again and the file is
replaced. Processes that compile the same kernel at the same time write the same file, one after the other.

The files are in the same places as those of Numba: below ``NUMBA_CACHE_DIR`` if that is set, in the ``__pycache__``
folder beside the source, or in the cache folder of the user if that is not writable. If none of these is writable, or
if the internals of Numba are not as expected, kernels are compiled in each process and a warning is logged.

A wheel may contain kernels that are compiled for a baseline processor (`traveltime_lab.kernels.ready`). They are used
where there is no file for this processor.

Reading a compiled kernel runs the code in the file. Files and folders that another user could have written to are
therefore ignored (`traveltime_lab.kernels.trusted`): a warning is logged once, and the next of these places is used.
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
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from traveltime_lab.kernels.ready import archive_versions, archived_kernels, usable_baselines
from traveltime_lab.kernels.trusted import UntrustedError, home_of_user, make_folder, read

logger = logging.getLogger(__name__)

#: Internal modules of Numba, which may change: they are only used inside a `try`.
_internals: Any = numba.core
#: Beginning of every file, with the version of the layout.
_MAGIC = b"traveltime_lab kernel 1\n"
_DIGEST_SIZE = 32
_PACKAGE = Path(__file__).parents[1]
#: An import of a module of this package; ``rest`` is empty unless the line has several imports or an unusual form.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<origin>\.|traveltime_lab[\w.]*)[^\n]*?[ \t]import\b"
    rb"|import[ \t]+(?P<module>traveltime_lab[\w.]*)(?:[ \t]+as[ \t]+\w+)?(?P<rest>[^\n#]*))",
    re.MULTILINE,
)
#: Settings of Numba that change the compiled code but are not part of the name of the target.
_NUMBA_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")


@dataclass(frozen=True)
class Compilation:
    """A signature that this process has compiled."""

    name: str
    #: Time with that of the kernels it calls.
    seconds: float
    #: File in the cache, None if it is not cached.
    path: Path | None


_compilations: list[Compilation] = []
#: Called with the name of a kernel when its compilation begins, and with None when it ends.
watchers: list[Callable[[str | None], Any]] = []
#: Called with the name of a file before its kernel is compiled; each returns whether another process has written it.
others: list[Callable[[str], bool]] = []
_n_read = 0


def compilations() -> tuple[Compilation, ...]:
    """Return the signatures that this process has compiled so far, without those that are parts of other kernels."""
    return tuple(_compilations)


def n_ready() -> int:
    """Return how many signatures this process has compiled or read from the cache so far."""
    return len(_compilations) + _n_read


def folders() -> list[Path]:
    """Return the folders in which this process has looked for compiled kernels."""
    return sorted(set(_folders.values()))


def file_name(dispatcher: Any, arguments: tuple[Any, ...]) -> str | None:
    """Return the name of the file of a signature of a kernel, None if it cannot be cached."""
    cache = getattr(dispatcher, "_cache", None)
    return cache.file_name(arguments, dispatcher.targetctx) if isinstance(cache, Cache) else None


def is_kept(dispatcher: Any, arguments: tuple[Any, ...]) -> bool | None:
    """Return whether a signature of a kernel is in the cache, None if it cannot be cached."""
    cache = getattr(dispatcher, "_cache", None)
    return cache.is_kept(arguments, dispatcher.targetctx) if isinstance(cache, Cache) else None


# Sources of a kernel -------------------------------------------------------------------------------------------------


@functools.cache
def _source(path: str, modified_ns: int, size: int) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of the text of a module, and the files of this package that it imports."""
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
        else:  # a package, of which any module may be imported
            imported.update(_modules_below(place))
    return hashlib.blake2b(text, digest_size=_DIGEST_SIZE).digest(), tuple(sorted(imported))


def _modules_below(folder: Path) -> Iterable[str]:
    return map(str, folder.rglob("*.py"))


def sources_digest(path: str) -> bytes:
    """
    Return a digest of a module and of all modules of this package that it imports, directly or not.

    It is computed when the module is imported, so that later changes of the file do not affect it, and again when the
    module is reloaded.
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
    """Return a Numba type as text; named tuples include the names of their fields, which Numba omits."""
    parts = ", ".join(map(_in_words, kind.types)) if hasattr(kind, "types") else ""
    fields = getattr(getattr(kind, "instance_class", None), "_fields", "")
    return f"{kind}[{parts}]{fields}"


# Files of the cache --------------------------------------------------------------------------------------------------


_folders: dict[str, Path] = {}
_logged: set[str] = set()


def _warn_once(reason: str, error: Exception) -> None:
    if "warning" not in _logged:
        _logged.add("warning")
        logger.warning("compiled kernels are not kept: %s: %s: %s", reason, type(error).__name__, error)


def _warn_of(error: UntrustedError, instead: str) -> None:
    """Warn once about ignored files that another user could have written."""
    if "untrusted" not in _logged:
        _logged.add("untrusted")
        logger.warning(
            "compiled kernels are ignored, because their files contain code and %s %s; %s. Set NUMBA_CACHE_DIR to a "
            "folder that belongs to the user who runs this and that no other user can write to, or change the owner "
            "and mode of %s (`chown`, `chmod go-w`)",
            error.path,
            error.reason,
            instead,
            error.path,
        )


def _places(source_folder: str) -> Iterator[Path]:
    """Yield the folders that may have the compiled kernels of the sources of a folder, the preferred one first."""
    caching = _internals.caching
    name = caching._CacheLocator.get_suitable_cache_subpath(os.path.join(source_folder, "module.py"))
    chosen = getattr(numba.config, "CACHE_DIR", "")
    if chosen:
        yield Path(chosen, name)
    yield Path(source_folder, "__pycache__")
    users = Path(caching.AppDirs(appname="numba", appauthor=False).user_cache_dir)
    if users.is_absolute():  # not with an XDG_CACHE_HOME that is empty
        yield users / name
    # As root with the HOME of another user, as with sudo and in containers.
    home = home_of_user()
    if home is not None:
        yield home / ".cache" / "numba" / name


def _find_folder(source_folder: str) -> Path:
    """Return the first folder that can be written to by the current user only; log ignored folders."""
    refused: UntrustedError | None = None
    for folder in _places(source_folder):
        try:
            make_folder(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except UntrustedError as error:
            refused = refused or error
        except OSError:
            continue
        else:
            if refused is not None:
                _warn_of(refused, f"kernels are compiled and kept in {folder}")
            return folder
    if refused is not None:
        _warn_of(refused, "kernels are compiled in each process, because there is no other place for them")
        raise refused
    raise RuntimeError(f"there is no folder for the kernels of {source_folder} that can be written to")


class Cache:
    """The cache of one dispatcher, with the interface of Numba's own caches."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = repr(sorted(options.items()))
        module = function.__module__.removeprefix("traveltime_lab.kernels.")
        self._name = f"{module}.{function.__qualname__}"
        self._started: dict[Any, float] = {}
        try:
            self._sources: bytes | None = sources_digest(function.__code__.co_filename)
        except OSError:
            self._sources = None  # without a source there is no key: compiled in each process

    @property
    def cache_path(self) -> str | None:
        """The folder of the cache, None if nothing is cached."""
        try:
            return None if self._sources is None else str(self._folder())
        except Exception:  # internals that a different numba lacks, or no folder that can be written to
            return None

    def enable(self) -> None:
        """Do nothing, because the cache is always enabled."""

    def disable(self) -> None:
        """Stop caching."""
        self._sources = None

    def flush(self) -> None:
        """Delete the files of this kernel."""
        if self.cache_path is not None:
            for path in self._folder().glob(f"{self._stem()}-*.nbc"):
                path.unlink(missing_ok=True)

    def is_kept(self, sig: Any, target_context: Any) -> bool | None:
        """Return whether there is a valid file for a signature, None if it cannot be cached; only its start is read."""
        if self._sources is None:
            return None
        codegen = target_context.codegen()
        try:
            if self._in_archive(sig, codegen) is not None:
                return True
        except Exception:  # an unreadable archive is ignored
            logger.debug("the archive of kernels cannot be read", exc_info=True)
        if self.cache_path is None:
            return None
        path, key = self._entry(sig, codegen)
        try:
            return read(path, len(_MAGIC) + len(key)) == _MAGIC + key
        except (OSError, UntrustedError):
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code of a signature, None if it has to be compiled."""
        found = self._loaded((self._load_file, self._load_ready), sig, target_context)
        if found is None:
            if "compiling" not in _logged:
                _logged.add("compiling")
                logger.info("compiling, once per machine")
            for watch in watchers:
                watch(self._name)
            self._started[arguments_of(sig)] = time.perf_counter()
            name = self.file_name(sig, target_context)
            # All are called, also if an earlier one has written the file.
            is_written = [has_written(name) for has_written in others if name is not None]
            if any(is_written):
                found = self._loaded((self._load_file,), sig, target_context)
            if found is not None:
                del self._started[arguments_of(sig)]
                for watch in watchers:
                    watch(None)
        return found

    def file_name(self, sig: Any, target_context: Any) -> str | None:
        """Return the name of the file of a signature, None if it cannot be cached."""
        return None if self.cache_path is None else self._entry(sig, target_context.codegen())[0].name

    def _loaded(self, ways: tuple[Callable[[Any, Any], Any], ...], sig: Any, target_context: Any) -> Any:
        """Return what the first way finds that finds anything, None if none does; log faults."""
        if self._sources is None:
            return None
        for load in ways:
            try:
                target_context.refresh()
                found = load(sig, target_context)
            except UntrustedError as error:
                _warn_of(error, "kernels are compiled again, and replace such files where that is possible")
            except Exception as error:  # any fault of a file is mended by compiling again
                _warn_once("they cannot be read", error)
            else:
                if found is not None:
                    return found
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Write the compiled code of a signature."""
        path: Path | None = None
        if self._sources is not None:
            try:
                path, key = self._entry(sig, compiled.codegen)
                self._save(path, key, compiled)
            except UntrustedError as error:
                path = None
                _warn_of(error, "kernels are compiled in each process")
            except Exception as error:  # such as a full disk; the compiled code can be used anyway
                path = None
                _warn_once("they cannot be written", error)
        seconds = time.perf_counter() - self._started.pop(arguments_of(sig), time.perf_counter())
        _compilations.append(Compilation(self._name, seconds, path))
        logger.debug("compiled kernel=%s seconds=%.2f path=%s", self._name, seconds, path)
        for watch in watchers:
            watch(None)

    def _load_file(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code in the folder of the cache, None if there is none for this key."""
        path, key = self._entry(sig, target_context.codegen())
        try:
            data = read(path)
        except FileNotFoundError:
            return None
        return self._rebuilt(data, key, sig, target_context)

    def _load_ready(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code in the archive of the package, None if it lacks this kernel."""
        found = self._in_archive(sig, target_context.codegen())
        if found is None:
            return None
        name, key = found
        return self._rebuilt(archived_kernels()[name], key, sig, target_context)

    def _in_archive(self, sig: Any, codegen: Any) -> tuple[str, bytes] | None:
        """Return the name of a signature in the archive of the package and its key, None if it is not in it."""
        archive = archived_kernels()
        for baseline in usable_baselines(codegen) if archive else ():
            name, key = self._archived(sig, codegen, baseline.name)
            if name in archive:
                return name, key
        return None

    def _archived(self, sig: Any, codegen: Any, baseline: str) -> tuple[str, bytes]:
        """Return the name of a signature in an archive, which contains its key, and the key."""
        _, key = self._identity(sig, (codegen.magic_tuple()[0], baseline, ""), archive_versions())
        return f"{self._stem()}-{key.hex()}.nbc", key

    def for_archive(self, sig: Any, target_context: Any, baseline: str) -> tuple[str, bytes]:
        """Return the name and content in an archive of a signature that has just been compiled for a baseline."""
        codegen = target_context.codegen()
        path, _ = self._entry(sig, codegen)
        name, key = self._archived(sig, codegen, baseline)
        return name, _MAGIC + key + read(path)[len(_MAGIC) + len(key) :]

    def _rebuilt(self, data: bytes, key: bytes, sig: Any, target_context: Any) -> Any:
        """Return the compiled code in a file, None if its key differs or it is damaged."""
        start = len(_MAGIC) + 2 * _DIGEST_SIZE
        head, payload = data[:start], data[start:]
        if head != _MAGIC + key + hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest():
            return None
        global _n_read
        found = _internals.compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))
        _n_read += 1
        return found if tuple(found.signature.args) == arguments_of(sig) else None

    def _save(self, path: Path, key: bytes, compiled: Any) -> None:
        # Code with addresses of this process, or with lifted loops, cannot be used by another process.
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        payload = _internals.serialize.dumps(compiled._reduce())
        make_folder(path.parent)
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
            _folders[source_folder] = _find_folder(source_folder)
        return _folders[source_folder]

    def _stem(self) -> str:
        return re.sub(r"[^\w.]", "", f"{Path(self._function.__code__.co_filename).stem}.{self._function.__qualname__}")

    def _entry(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """
        Return the file of a signature and its key.

        The sources are part of the key but not of the name, so that a changed kernel replaces the file of the old one.
        """
        made_with = (str(sys.implementation.cache_tag), numba.__version__, llvmlite.__version__, np.__version__)
        name, key = self._identity(sig, codegen.magic_tuple(), made_with)
        return self._folder() / f"{self._stem()}-{name.hex()[:16]}.nbc", key

    def _identity(self, sig: Any, target: tuple[str, ...], versions: tuple[str, ...]) -> tuple[bytes, bytes]:
        """Return a digest of a signature, the processor and the versions, and one of these and the sources."""
        assert self._sources is not None
        parts = (
            self._name,
            [_in_words(kind) for kind in arguments_of(sig)],
            target,
            self._options,
            [getattr(numba.config, name, None) for name in _NUMBA_SETTINGS],
            versions,
        )
        name = hashlib.blake2b(repr(parts).encode(), digest_size=_DIGEST_SIZE).digest()
        return name, hashlib.blake2b(name + self._sources, digest_size=_DIGEST_SIZE).digest()


def arguments_of(sig: Any) -> tuple[Any, ...]:
    """Return the types of the arguments of a signature, or `sig` itself if it is a tuple of types."""
    return tuple(sig) if isinstance(sig, tuple) else tuple(sig.args)
