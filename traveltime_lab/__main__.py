"""
Run the command line, as ``python -m traveltime_lab`` or as the command ``traveltime-lab``.

Most of what a command needs is imported here, after the signals that end it are taken care of.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command of the process; return its exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A parent may have chosen that signals are ignored.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end_at_once)
    from traveltime_lab import cli  # noqa: PLC0415 - after the handlers are set

    status = cli.main()
    # Python would look for cycles in all that a compiler leaves, for nearly a second, before the process ends.
    gc.freeze()
    return status


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    """End a command that has not begun; an exception during an import may be replaced by a different one."""
    os.write(2, b"traveltime-lab: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
