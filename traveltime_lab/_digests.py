"""
Hashes that name content: BLAKE2b of 16 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from traveltime_lab._arrays import AnyArray


def digest(*contents: Any) -> hashlib.blake2b:
    """Return the hash of bytes and buffers, one after the other."""
    found = hashlib.blake2b(digest_size=16)
    for content in contents:
        found.update(content)
    return found


def parts_of(arrays: Mapping[str, AnyArray]) -> Iterator[Any]:
    """Yield name, type and shape, and the values of each array, by name."""
    for name, array in sorted(arrays.items()):
        yield f"{name}{array.dtype.str}{array.shape}".encode()
        yield np.ascontiguousarray(array).data
