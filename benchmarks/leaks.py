"""
Resources of a process after many calls of each kind: descriptors, shared memory, processes, threads, memory.

Usage: python benchmarks/leaks.py [--times 1000] [--groups readers searches service] [--calls TEXT]

Linux only. `tests/test_leaks.py` does the same with few repetitions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))


def main() -> int:
    """Print one line per kind of call; return 1 if one leaves something behind."""
    from tests.support import repeated

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--groups", nargs="+", choices=repeated.GROUPS, default=list(repeated.GROUPS))
    parser.add_argument("--calls", default="", help="only those whose name has this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    has_grown = False
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for group in arguments.groups:
            for name, call in repeated.GROUPS[group](Path(folder)):
                if arguments.calls not in name:
                    continue
                repeated.repeat(call, arguments.times // 10)
                before = repeated.resident_bytes()
                left = repeated.repeat(call, arguments.times)
                grown = repeated.resident_bytes() - before
                print(f"{name:36} {grown / 1e6:+8.1f} MB of memory, {left or 'nothing'} left behind", flush=True)
                has_grown |= bool(left)
    return int(has_grown)


if __name__ == "__main__":
    sys.exit(main())
