"""
Find the items of a JSON array without decoding them, so that an array of any length takes no memory.

Only strings and brackets are read. Text that is not JSON gives spans that are not JSON either, which their decoder
refuses.
"""

from __future__ import annotations

from traveltime_lab.kernels.compiled import kernel

_QUOTE, _BACKSLASH, _COMMA = ord('"'), ord("\\"), ord(",")
_OPENING_SQUARE, _CLOSING_SQUARE = ord("["), ord("]")
_OPENING_CURLY, _CLOSING_CURLY = ord("{"), ord("}")


@kernel
def item_spans(text, at, begins, ends):
    """
    Find the next items of an array.

    Parameters
    ----------
    text : uint8 array of shape (n_bytes,)
    at : int
        Position after the opening bracket of the array, or after the comma before an item.
    begins, ends : int64 arrays of shape (n_most,)
        Overwritten with the spans of the items, including blanks around them.

    Returns
    -------
    n, next : int
        Number of items, and the position after the last comma; -1 after the last item of the array. An empty array has
        one item that consists of blanks.
    """
    n = 0
    depth = 0
    is_text = False
    begin = at
    while at < text.size:
        byte = text[at]
        if is_text:
            if byte == _BACKSLASH:
                at += 1
            elif byte == _QUOTE:
                is_text = False
        elif byte == _QUOTE:
            is_text = True
        elif byte in (_OPENING_SQUARE, _OPENING_CURLY):
            depth += 1
        elif byte in (_CLOSING_SQUARE, _CLOSING_CURLY):
            if depth == 0:
                break
            depth -= 1
        elif byte == _COMMA and depth == 0:
            begins[n] = begin
            ends[n] = at
            n += 1
            begin = at + 1
            if n == begins.size:
                return n, begin
        at += 1
    begins[n] = begin
    ends[n] = min(at, text.size)
    return n + 1, -1
