"""
Compile all listed kernels for a baseline processor, into an archive for wheels.

See `traveltime_lab.kernels.ready` for what becomes of the archive.
"""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

from numba.core.registry import cpu_target

from traveltime_lab._files import temporary_folder, writable, write_bytes
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.kernels import ready, warm_up

_EXAMPLE = "kernels.zip"
#: Entry with the versions and the processor of the archive; `hatch_build.py` reads it.
_MANIFEST = "manifest.json"
#: Moment of all entries, so that the same kernels give the same bytes.
_MOMENT = (1980, 1, 1, 0, 0, 0)


def write(out: Path, baseline: str | None = None, sections: Sequence[str] = ()) -> int:
    """
    Compile all listed kernels for a baseline processor, in other processes, and write them to an archive.

    Parameters
    ----------
    out : Path
        Overwritten when all kernels are compiled.
    baseline : str, optional
        Name of the processor. Default: the best that this machine surpasses.
    sections : sequence of str, optional
        Sections of the list to compile. Default: all.

    Returns
    -------
    int
        Number of kernels.

    Raises
    ------
    UnsupportedError
        If there is no baseline for this machine.
    InputError
        If this machine lacks features of `baseline`, without which Numba does not compile for it.
    """
    known = [each.name for each in ready.usable_baselines(cpu_target.target_context.codegen())]
    if not known:
        raise UnsupportedError(
            f"Kernels cannot be compiled ahead for {platform.system()} on {platform.machine()}: no baseline processor "
            f"is known for it. Known are {', '.join(each.name for each in ready.BASELINES)}."
        )
    name = known[0] if baseline is None else baseline
    if name not in known:
        raise InputError(f"The baseline must be one of {', '.join(known)} on this machine. Got {name!r} instead.")
    out = writable(out, what="the archive of kernels", example=_EXAMPLE)
    with temporary_folder() as folder:
        own = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder)}
        path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
        target = folder / "archive.zip"
        subprocess.run(
            [sys.executable, "-m", __name__, str(target), *sections],
            env={**os.environ, **own, "PYTHONPATH": path},
            check=True,
        )
        content = target.read_bytes()
    write_bytes(out, content, what="the archive of kernels", example=_EXAMPLE)
    return len(zipfile.ZipFile(io.BytesIO(content)).namelist()) - 1


def _pack(target: Path, sections: Sequence[str]) -> None:
    """Write the listed kernels, compiled for the processor that Numba is set to, to an archive."""
    name = os.environ["NUMBA_CPU_NAME"]
    warm_up.start_helper(sections)
    found: dict[str, bytes] = {}
    for text in warm_up.listed(sections):
        dispatcher, arguments = warm_up.resolve(text)
        dispatcher.compile(arguments)
        file, content = dispatcher._cache.for_archive(arguments, dispatcher.targetctx, name)
        found[file] = content
    made_with = {"baseline": name, "platform": sysconfig.get_platform(), "versions": ready.archive_versions()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        for file, content in sorted({_MANIFEST: json.dumps(made_with).encode(), **found}.items()):
            archive.writestr(zipfile.ZipInfo(file, _MOMENT), content, zipfile.ZIP_LZMA)


if __name__ == "__main__":
    _pack(Path(sys.argv[1]), sys.argv[2:])
