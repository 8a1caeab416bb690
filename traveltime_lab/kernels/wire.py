"""
Find the fields of a Protocol Buffers message without a copy of it.

A table says which fields of which messages are read; all others are passed over, as parsers do with unknown fields. See
 https://protobuf.dev/programming-guides/encoding/.
"""

import numpy as np

from traveltime_lab.kernels.compiled import kernel

#: Kinds of fields: passed over, a varint, bytes, and numbers of 4 and 8 bytes. A message of type `t` is `MESSAGE + t`.
SKIPPED, VARINT, BYTES, FIXED32, FIXED64, MESSAGE = 0, 1, 2, 3, 4, 8
#: Messages in one another that are followed; those of GTFS Realtime are six deep.
_DEEPEST = 16


@kernel
def fields(data, kinds, nodes, leaves, is_count):
    """
    List the messages and values of a message.

    Parameters
    ----------
    data : uint8 array of shape (n_bytes,)
    kinds : int64 array of shape (n_types, n_numbers)
        Kind of each field number of each type of message; higher numbers are passed over. The message has type 0.
    nodes : int64 array of shape (n_nodes, 2)
        Overwritten with the type of each message and the row of the message that it is in, -1 for the first.
    leaves : int64 array of shape (n_leaves, 4)
        Overwritten with the row of the message, the field number, and the value: a number as its 64 bits and 0, or the
        position of the first byte and the number of bytes.
    is_count : bool
        Whether to count only, and to write to neither array.

    Returns
    -------
    n_nodes, n_leaves, fault : int
        Numbers of rows, and the position of the first byte that cannot be read, -1 if all can.
    """
    node_at = np.zeros(_DEEPEST, np.int64)
    ends = np.zeros(_DEEPEST, np.int64)
    types = np.zeros(_DEEPEST, np.int64)
    depth = 0
    ends[0] = data.size
    n_nodes, n_leaves = 1, 0
    if not is_count:
        nodes[0, 0], nodes[0, 1] = 0, -1
    at = 0
    while True:
        while depth > 0 and at == ends[depth]:
            depth -= 1
        end = ends[depth]
        if at == end:
            return n_nodes, n_leaves, -1
        begin = at
        tag, at = _varint(data, at, end)
        if at < 0:
            return n_nodes, n_leaves, begin
        number, wire = np.int64(tag >> np.uint64(3)), np.int64(tag & np.uint64(7))
        if number < 1:
            return n_nodes, n_leaves, begin
        kind = kinds[types[depth], number] if number < kinds.shape[1] else SKIPPED
        value, size = np.int64(0), np.int64(0)
        if wire == 0:
            word, at = _varint(data, at, end)
            value = np.int64(word)
        elif wire == 2:
            word, at = _varint(data, at, end)
            if at >= 0 and word > np.uint64(end - at):
                at = -1
            value, size = at, np.int64(word)
            if at >= 0 and kind < MESSAGE:
                at += size
        elif wire == 1 or wire == 5:
            n_bytes = 8 if wire == 1 else 4
            if end - at < n_bytes:
                at = -1
            else:
                bits = np.uint64(0)
                for i in range(n_bytes):
                    bits |= np.uint64(data[at + i]) << np.uint64(8 * i)
                value = np.int64(bits)
                at += n_bytes
        else:
            at = -1
        if at < 0:
            return n_nodes, n_leaves, begin
        if wire == 2 and kind >= MESSAGE:
            if not is_count:
                nodes[n_nodes, 0], nodes[n_nodes, 1] = kind - MESSAGE, node_at[depth]
            depth += 1
            node_at[depth], ends[depth], types[depth] = n_nodes, at + size, kind - MESSAGE
            n_nodes += 1
            continue
        fits = (wire == 0 and kind == VARINT) or (wire == 2 and kind == BYTES)
        if fits or (wire == 5 and kind == FIXED32) or (wire == 1 and kind == FIXED64):
            if not is_count:
                leaves[n_leaves, 0], leaves[n_leaves, 1] = node_at[depth], number
                leaves[n_leaves, 2], leaves[n_leaves, 3] = value, size
            n_leaves += 1


@kernel
def _varint(data, at, end):
    """Return a varint and the position after it, -1 if it is cut off or longer than ten bytes."""
    word = np.uint64(0)
    for shift in range(0, 70, 7):
        if at >= end:
            return word, -1
        byte = data[at]
        at += 1
        word |= np.uint64(byte & 0x7F) << np.uint64(shift)
        if byte < 0x80:
            return word, at
    return word, -1
