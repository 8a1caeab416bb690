"""
Encode and decode arrays of variable-length integers (varints) of Protocol Buffers.

A varint holds seven bits in each byte, the lowest first; the high bit of a byte says that more bytes follow. See
https://protobuf.dev/programming-guides/encoding/.
"""

import numpy as np

from traveltime_lab.kernels.compiled import kernel


@kernel
def decode_zigzag(data, values):
    """
    Decode packed sint32 values.

    Parameters
    ----------
    data : uint8 array of shape (n_bytes,)
    values : int32 array of shape (n,)
        Overwritten; must be at least as long as the number of values. Larger varints are truncated to 32 bits, as
        parsers do.

    Returns
    -------
    int
        Number of values, -1 if a varint is cut off or longer than ten bytes.
    """
    n = 0
    word = np.uint64(0)
    shift = 0
    for byte in data:
        if shift > 63:
            return -1
        word |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte & 0x80:
            shift += 7
            continue
        low = np.uint32(word & np.uint64(0xFFFFFFFF))
        values[n] = np.int32(low >> np.uint32(1)) ^ -np.int32(low & np.uint32(1))
        n += 1
        word = np.uint64(0)
        shift = 0
    return n if shift == 0 else -1


@kernel
def encode(values, is_zigzag, data):
    """
    Encode int32 or sint32 values.

    Parameters
    ----------
    values : int64 array of shape (n,)
        Within 32 bits.
    is_zigzag : bool
        True for sint32; False for int32, whose negative values take ten bytes.
    data : uint8 array
        Overwritten; ten bytes for each value are always enough.

    Returns
    -------
    int
        Number of bytes.
    """
    at = 0
    for value in values:
        word = np.uint64((value << 1) ^ (value >> 63)) if is_zigzag else np.uint64(value)
        while word > np.uint64(0x7F):
            data[at] = np.uint8(word & np.uint64(0x7F)) | np.uint8(0x80)
            word >>= np.uint64(7)
            at += 1
        data[at] = np.uint8(word)
        at += 1
    return at
