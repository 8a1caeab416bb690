"""
Run cases in processes of their own, whose memory and processor time are bounded.

A server that has imported everything, and has no threads, forks a process for each batch of cases::

    with Batches() as batches:
        found = batches.run("csv points", range(100))

A case that ends its process, hangs or takes too much is a fault with its seed, and the next process goes on behind it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.support import ROOT

#: Memory that a case may take besides what the process has, in bytes of address space.
MOST_MEMORY = 512 << 20
#: Processor time of a case in seconds, on a busy machine, and the time after which a case that waits is ended. The
#: largest areas of cells that are allowed, 49 million sample points, take 15 s.
MOST_CPU_S, MOST_WAIT_S = 30, 120
#: What libraries say when there is no memory.
#: libtiff says so of entries that are longer than the file, for which it takes none.
_NO_MEMORY = re.compile(r"(?<!TIFFReadDirectory:)out of memory|cannot allocate|malloc|bad_alloc", re.IGNORECASE)
#: Cases of one process: readers may keep a little of each.
PER_PROCESS = 250


@dataclass
class Found:
    """What came of cases: the faults in words, and how many were answered and refused."""

    faults: list[str] = field(default_factory=list)
    answered: int = 0
    refused: int = 0
    cpu_s: float = 0.0


class Batches:
    """A server that forks; see the module."""

    def __enter__(self) -> Self:
        """Start it."""
        self._folder = tempfile.TemporaryDirectory(prefix="traveltime_lab_", ignore_cleanup_errors=True)
        # Threads and arenas reserve memory that nobody uses.
        single = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX")
        environment = {**os.environ, **dict.fromkeys(single, "1"), "ARROW_DEFAULT_MEMORY_POOL": "system"}
        code = f"from tests.support.batches import serve; serve({self._folder.name!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment
        )
        return self

    def __exit__(self, *_error: object) -> None:
        """End it."""
        with self._process as process:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(60)
        self._folder.cleanup()

    def run(self, kind: str, seeds: range) -> Found:
        """Run the cases of a kind (`tests.support.hostile.KINDS`) with these seeds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, seeds.start, seeds.stop]).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the server of batches has ended"
        return Found(**json.loads(line))


def serve(folder: str) -> None:
    """Answer requests until there are no more; called in a process of its own."""
    from tests.support import hostile

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    sources: dict[str, Path] = {}
    for line in sys.stdin.buffer:
        name, start, stop = json.loads(line)
        kind = hostile.KINDS[name]
        if not sources:
            _in_child(lambda: hostile.make_world(Path(folder)), folder)
            hostile.warm(Path(folder))
        if name not in sources:
            sources[name] = Path(folder, re.sub(r"\W", "_", name))
            sources[name].mkdir()
            _in_child(lambda: kind.make(Path(folder), sources[name]), folder)  # noqa: B023 - called at once
        found = Found()
        before = _cpu_of_children()
        while start < stop:
            start = _batch(kind, sources[name], range(start, min(stop, start + PER_PROCESS)), found)
        found.cpu_s = _cpu_of_children() - before
        answers.write(json.dumps(found.__dict__).encode() + b"\n")
        answers.flush()


def _cpu_of_children() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _in_child(work: Any, folder: str) -> None:
    """Call a function in a forked process, because some libraries have threads that a fork does not have."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, f"no sources in {folder}"


def _batch(kind: Any, sources: Path, seeds: range, found: Found) -> int:
    """Run cases in a forked process until one ends it; return the seed from which to go on."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with contextlib.suppress(BaseException):
            _run(kind, sources, seeds, os.fdopen(writing, "wb", buffering=0))
        os._exit(0)
    os.close(writing)
    last = None
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            last = json.loads(line)
            if last[0] == "fault":
                found.faults.append(f"seed {last[1]}: {last[2]}")
            elif last[0] == "done":
                found.answered, found.refused = found.answered + last[2], found.refused + last[3]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if last is not None and last[0] == "end" and status == 0:
        return seeds.stop
    seed = last[1] if last is not None else seeds.start
    name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    why = {"SIGXCPU": f"more than {MOST_CPU_S} s of processor time", "SIGALRM": f"waits for {MOST_WAIT_S} s"}
    found.faults.append(f"seed {seed}: the process ended, {why.get(name, name)}")
    return int(seed) + 1


def _run(kind: Any, sources: Path, seeds: range, out: Any) -> None:
    """Run cases in this process, and write how each goes."""
    import resource

    def say(*words: Any) -> None:
        out.write(json.dumps(words).encode() + b"\n")

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2)
    state = kind.load(sources)
    with tempfile.TemporaryDirectory(dir=sources) as folder:
        os.chdir(folder)
        for seed in seeds:
            say("begin", seed)
            _limit(resource)
            is_answered, fault = outcome(kind, state, seed)
            if fault is not None:
                say("fault", seed, fault)
            say("done", seed, int(is_answered), int(not is_answered and fault is None))
    say("end", seeds.stop)


def _limit(resource: Any) -> None:
    """Bound what the next case takes."""
    with contextlib.suppress(OSError, ValueError):  # not on every system
        page = os.sysconf("SC_PAGE_SIZE")
        now = int(Path("/proc/self/statm").read_text().split()[0]) * page
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, hard))
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + MOST_CPU_S, hard))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MOST_WAIT_S)


def outcome(kind: Any, state: Any, seed: int) -> tuple[bool, str | None]:
    """Return whether a case is answered, and what is wrong with it: an error that is not the package's."""
    from traveltime_lab.errors import TravelTimeError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.case(state, random.Random(f"{kind.name} {seed}"))
    except TravelTimeError as error:
        return False, _fault_of(error)
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-4:]
        where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))
        return False, f"{type(error).__name__}: {str(error)[:300]} ({where})"
    return True, None


def _fault_of(error: BaseException) -> str | None:
    """Return what is wrong with a refusal: no words, or that memory was taken before a size was checked."""
    reasons, words = [], str(error)
    each: BaseException | None = error
    while each is not None and each not in reasons:
        reasons.append(each)
        each = each.__cause__ or each.__context__
    if any(isinstance(reason, MemoryError) or _NO_MEMORY.search(str(reason)) for reason in reasons):
        return f"refused for want of memory: {words[:300]}"
    return None if words.strip() else "an error without words"


def again(name: str, seed: int) -> None:
    """Make and read one case in this process."""
    from tests.support import hostile

    with tempfile.TemporaryDirectory(prefix="traveltime_lab_") as folder:
        world, sources = Path(folder, "world"), Path(folder, "world", "sources")
        sources.mkdir(parents=True)
        hostile.make_world(world)
        kind = hostile.KINDS[name]
        kind.make(world, sources)
        os.chdir(folder)
        kind.case(kind.load(sources), random.Random(f"{name} {seed}"))


if __name__ == "__main__":
    again(sys.argv[1], int(sys.argv[2]))
