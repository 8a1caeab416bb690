"""
Records the answers of a corpus of requests and calls, and replays them: `python benchmarks/corpus record FILE`.

    python benchmarks/corpus record FILE            # the answers of the code as it is now
    python benchmarks/corpus replay FILE            # asks the same again; prints each difference, ends with 1 if any
    python benchmarks/corpus compare FILE FILE      # two recordings
    python benchmarks/corpus show FILE NAME         # a case and its answer

A recording keeps the requests themselves, so that `replay` needs none of the tables that they were made from: it asks
for public names only. `--only` takes a part of the cases by their names, `--named` a file with a pattern of names and a
reason on each line, whose differences are counted apart.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import traveltime_lab as tl
from benchmarks.corpus import asking, cases

ROOT = Path(__file__).resolve().parents[2]
#: Characters of an answer around a difference.
_AROUND = 160
_PACKAGES = ("geopandas", "numba", "numpy", "pandas", "protobuf", "pyarrow", "pyproj", "shapely", "starlette")


def all_cases() -> list[cases.Case]:
    """Return all cases that the package as it is now has."""
    from benchmarks.corpus import contract, library, messages, pages, special, towns, wholes

    parts = (library, special, contract, wholes, messages, pages, towns)
    return cases.distinct(each for part in parts for each in part.cases())


def about() -> dict[str, Any]:
    """Return what a recording was made from."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return {
        "commit": git("rev-parse", "HEAD"),
        "package": git("rev-parse", "HEAD:traveltime_lab"),
        "changed": git("status", "--porcelain", "--", "traveltime_lab").splitlines(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def difference(before: bytes, after: bytes) -> str:
    """Return where two answers differ, with what is there."""
    if before == after:
        return ""
    pairs = enumerate(zip(before, after, strict=False))
    first = next((i for i, (one, other) in pairs if one != other), min(len(before), len(after)))
    line = before.count(b"\n", 0, first) + 1
    start = max(first - _AROUND // 2, 0)
    parts = (f"    {name} {text[start : start + _AROUND]!r}" for name, text in (("was", before), ("is ", after)))
    return f"  byte {first:,} of {len(before):,} (now {len(after):,}), line {line:,}\n" + "\n".join(parts)


def report(
    listed: list[cases.Case],
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    named: list[tuple[str, str]],
    most: int,
) -> int:
    """Print the differences of two recordings, and return 1 if there is one that is not named."""
    excused: Counter[str] = Counter()
    n_shown = n_different = 0
    for case in listed:
        where = difference(before[case.name], after[case.name])
        if not where:
            continue
        reasons = [f"{pattern}: {reason}" for pattern, reason in named if fnmatch.fnmatch(case.name, pattern)]
        if reasons:
            excused[reasons[0]] += 1
            continue
        n_different += 1
        if n_shown < most:
            n_shown += 1
            print(f"{case.name}\n  {case.shown()[:1000]}\n{where}")
    for reason, number in excused.items():
        print(f"{number} named: {reason}")
    print(f"{len(listed):,} cases, {n_different:,} differ, {n_different - n_shown:,} of them not shown")
    return 1 if n_different else 0


def main() -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "replay", "compare", "show", "list"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("second", nargs="?", help="of compare: the other recording; of show: the name of a case")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as 'call/time_map*'")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth of these cases, for a quick look")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="ask in a random order, which must not matter")
    parser.add_argument("--named", type=Path, help="differences that are meant: a pattern, a reason")
    parser.add_argument("--most", type=int, default=50, help="differences to print")
    parser.add_argument("--save", type=Path, help="of replay: write the new recording")
    parser.add_argument("--slowest", type=int, default=0, help="print this number of cases with their processor time")
    options = parser.parse_args()
    if options.file is None and options.command != "list":
        parser.error(f"{options.command} needs a file")

    before: dict[str, bytes] = {}
    origin: dict[str, Any] = {}
    if options.command in ("record", "list"):
        listed = all_cases()
    else:
        listed, before, origin = cases.read(options.file)
    listed = [each for each in listed if fnmatch.fnmatch(each.name, options.only)][:: options.every]
    if options.command == "show":
        for each in listed:
            if each.name == options.second:
                print(each.shown(), before[each.name].decode(errors="backslashreplace"), sep="\n")
        return 0
    if options.command == "list":
        print(*(each.name for each in listed), sep="\n")
        return 0
    named = []
    for line in options.named.read_text("utf-8").splitlines() if options.named else ():
        pattern, _, reason = line.partition(" ")
        if pattern:
            named.append((pattern, reason.strip()))
    if options.command == "compare":
        _, after, _ = cases.read(Path(options.second))
        return report(listed, before, {each.name: after.get(each.name, b"") for each in listed}, named, options.most)

    if not Path(tl.__file__).is_relative_to(ROOT):
        parser.error("the package that is imported is not the one beside this script")
    # Texts of argparse and tables do not depend on the terminal, nor services on credentials of the user.
    os.environ["COLUMNS"] = "100"
    os.environ.pop("TRAVELTIME_LAB_CREDENTIALS", None)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    asked = list(listed)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(asked)
    answers, seconds, total = asking.ask_all(asked, options.processes)
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[: options.slowest]:
        print(f"{seconds[name]:8.2f} s  {name}")
    kinds = Counter(each.name.partition("/")[0] for each in listed)
    for kind, number in sorted(kinds.items()):
        own = sum(value for name, value in seconds.items() if name.startswith(f"{kind}/"))
        print(f"{number:7,} {kind}: {own:.0f} s")
    size = sum(map(len, answers.values())) / 1e6
    print(f"{len(listed):7,} cases, {size:.0f} MB of answers, {total:.0f} s of processor time in all")
    if options.command == "record":
        cases.write(options.file, listed, answers, about())
        return 0
    if options.save:
        cases.write(options.save, listed, answers, about())
    print(f"recorded at {origin['commit'][:9]}, Python {origin['python']}; now {about()['commit'][:9]}")
    return report(listed, before, answers, named, options.most)


if __name__ == "__main__":
    sys.exit(main())
