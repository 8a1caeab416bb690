"""
Write `traveltime_lab/kernels/signatures.txt`: what the demo and every kind of search compile, in the order of need.

Run it as ``python tests/kernels/record.py`` when a kernel has new arguments or a test says that the list is old. It
takes as long as compiling everything, as it begins with an empty cache.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEADER = """\
# The signatures of kernels that searches ask for, in the order in which they first do, by what asks first.
# Written by tests/kernels/record.py; see warm_up.py.
"""


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Give a list that fills with the lines of kernels that are called from Python, compiled or found on disk."""
    from traveltime_lab.kernels import cache, warm_up

    lines: list[str] = []
    depths = threading.local()
    load, save = cache.Cache.load_overload, cache.Cache.save_overload

    def load_overload(self: Any, sig: Any, context: Any) -> Any:
        found = load(self, sig, context)
        depth = getattr(depths, "value", 0)
        line = warm_up.line(self._name, cache.arguments_of(sig))
        if depth == 0 and line not in lines:
            lines.append(line)
        # A kernel that is compiled asks for those it calls before it is saved.
        depths.value = depth + (found is None)
        return found

    def save_overload(self: Any, sig: Any, made: Any) -> None:
        depths.value -= 1
        save(self, sig, made)

    cache.Cache.load_overload, cache.Cache.save_overload = load_overload, save_overload
    try:
        yield lines
    finally:
        cache.Cache.load_overload, cache.Cache.save_overload = load, save


def demo() -> None:
    """Run the demo, without the second process."""
    from traveltime_lab import cli
    from traveltime_lab.kernels import warm_up

    warm_up.start_helper = lambda sections=(): 0
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        assert cli.main(["demo", "--out", folder]) == 0


def searches() -> None:
    """Search in every way."""
    from traveltime_lab.search.rehearsal import rehearse

    for _ in rehearse():
        pass


def messages() -> None:
    """Read and write messages of the service, and read what does not match."""
    import numpy as np

    from traveltime_lab.server.contract.decode import decode
    from traveltime_lab.server.contract.errors import Failure
    from traveltime_lab.server.contract.requests import SupportedLocationsRequest
    from traveltime_lab.server.protobuf import messages

    messages._unpacked(messages._packed(np.array([1, -2]), is_zigzag=True))
    messages.matrix_response(np.array([1, 2]), np.array([1, 2]))
    with suppress(Failure):
        decode(b'{"locations":[{}]}', SupportedLocationsRequest)


SECTIONS = {"demo": demo, "searches": searches, "service": messages}


def record(section: str) -> list[str]:
    """Return the lines of a section, from this process."""
    with recorded() as lines:
        SECTIONS[section]()
    return lines


def in_new_process(*sections: str, **variables: str) -> dict[str, list[str]]:
    """
    Return the lines that each of some sections adds to those before it, from a process that compiles nothing.

    If a first process compiles, another one follows: there, a kernel that another one calls may be compiled before
    Python asks for it.
    """
    code = (
        "import json, record; from traveltime_lab.kernels import cache; "
        f"lines = {{section: record.record(section) for section in {sections!r}}}; "
        "print('\\n' + json.dumps([lines, len(cache.compilations())]))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    for attempt in ("first", "second"):
        # The sample is built in both.
        sample = {"TRAVELTIME_LAB_CACHE": f"{variables['TRAVELTIME_LAB_CACHE']}/{attempt}"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, **variables, **sample},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found, n_compiled = json.loads(done.stdout.splitlines()[-1])
        if not n_compiled:
            break
    return dict(found)


def main() -> None:
    text, known = HEADER, set[str]()
    with tempfile.TemporaryDirectory() as folder:
        for section in SECTIONS:
            found = in_new_process(section, NUMBA_CACHE_DIR=folder, TRAVELTIME_LAB_CACHE=f"{folder}/{section}")
            lines = found[section]
            text += "".join(f"{line}\n" for line in [f"\n[{section}]", *lines] if line not in known)
            known.update(lines)
    (ROOT / "traveltime_lab" / "kernels" / "signatures.txt").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(known)} signatures\n")


if __name__ == "__main__":
    main()
