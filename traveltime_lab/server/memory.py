"""Memory that large requests used, handed back to the system."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable


def _trimmer() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None where the C library has none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


_trim = _trimmer()


def hand_back() -> None:
    """
    Hand free memory back to the system.

    Each thread of glibc keeps what it freed, in pieces that few later requests fit into: a service under load grew by
    hundreds of megabytes without holding on to anything.
    """
    if _trim is not None:
        _trim(0)
