"""
Parse numbers and times in CSV columns, and find the lines that CSV records begin on.

A column is stored as in Arrow: ``offsets`` (int32 array of shape (n + 1,)) point into ``data`` (uint8 array).
"""

from __future__ import annotations

import numpy as np

from traveltime_lab.kernels.compiled import kernel

#: Values that the parsers write for an empty field and for an invalid one.
MISSING = np.int64(-(1 << 62))
BROKEN = np.int64(-(1 << 62) + 1)

_QUOTE, _COMMA, _LF, _CR = 34, 44, 10, 13
_ZERO, _NINE, _COLON, _DOT, _MINUS, _PLUS = 48, 57, 58, 46, 45, 43


@kernel
def parse_times(offsets, data, out):
    """
    Parse times of the form H:MM:SS, whose hours have one to three digits.

    Parameters
    ----------
    offsets, data : int32 array of shape (n + 1,) and uint8 array
    out : int64 array of shape (n,), s
        Overwritten; `MISSING` for empty and `BROKEN` for invalid fields.
    """
    for i in range(offsets.size - 1):
        start, stop = offsets[i], offsets[i + 1]
        if start == stop:
            out[i] = MISSING
            continue
        out[i] = BROKEN
        hours = stop - start - 6
        if hours < 1 or hours > 3 or data[stop - 3] != _COLON or data[stop - 6] != _COLON:
            continue
        seconds = 0
        is_number = True
        for at in range(start, start + hours):
            digit = np.int64(data[at]) - _ZERO
            is_number &= 0 <= digit <= 9
            seconds = seconds * 10 + digit
        for begin in (stop - 5, stop - 2):
            tens = np.int64(data[begin]) - _ZERO
            ones = np.int64(data[begin + 1]) - _ZERO
            is_number &= 0 <= tens <= 5 and 0 <= ones <= 9
            seconds = seconds * 60 + tens * 10 + ones
        if is_number:
            out[i] = seconds


@kernel
def parse_integers(offsets, data, out):
    """
    Parse whole numbers; ``7.0`` is read as 7.

    Parameters
    ----------
    offsets, data : int32 array of shape (n + 1,) and uint8 array
    out : int64 array of shape (n,)
        Overwritten; `MISSING` for empty and `BROKEN` for invalid fields.
    """
    for i in range(offsets.size - 1):
        at, stop = offsets[i], offsets[i + 1]
        if at == stop:
            out[i] = MISSING
            continue
        out[i] = BROKEN
        sign = 1
        if data[at] == _MINUS or data[at] == _PLUS:
            sign = -1 if data[at] == _MINUS else 1
            at += 1
        first = at
        value = np.int64(0)
        while at < stop and _ZERO <= data[at] <= _NINE and at - first < 18:
            value = value * 10 + (data[at] - _ZERO)
            at += 1
        if at == first:
            continue
        if at < stop and data[at] == _DOT:
            at += 1
            while at < stop and data[at] == _ZERO:
                at += 1
        if at == stop:
            out[i] = sign * value


@kernel
def has_outer_spaces(offsets, data):
    """Return whether any field begins or ends with a space or a control character."""
    for i in range(offsets.size - 1):
        if offsets[i] < offsets[i + 1] and (data[offsets[i]] <= 32 or data[offsets[i + 1] - 1] <= 32):
            return True
    return False


@kernel
def has_quoted_lines(data):
    """Return whether a line may end inside quotes, which is the case after an odd number of quotes."""
    quoted = False
    for byte in data:
        if byte == _QUOTE:
            quoted = not quoted
        elif quoted and byte in (_LF, _CR):
            return True
    return False


@kernel
def scan_records(data, first_line, lines, n_fields):
    """
    List the records of a CSV text.

    Call it with empty outputs to count the records, then with arrays of that size.

    Parameters
    ----------
    data : uint8 array
    first_line : int
        Number of the first line of `data`.
    lines, n_fields : int32 arrays of shape (n_records,) or (0,)
        Overwritten with the line that each record begins on and its number of fields.

    Returns
    -------
    int
        Number of records. Empty lines are not counted.
    """
    write = lines.size > 0
    n_records = 0
    line = first_line
    at, stop = 0, data.size
    while at < stop:
        if data[at] == _LF or data[at] == _CR:
            if data[at] == _CR and at + 1 < stop and data[at + 1] == _LF:
                at += 1
            at += 1
            line += 1
            continue
        begin = line
        fields = 1
        at_field_start = True
        quoted = False
        while at < stop:
            byte = data[at]
            if quoted:
                if byte == _QUOTE:
                    if at + 1 < stop and data[at + 1] == _QUOTE:
                        at += 1
                    else:
                        quoted = False
                elif byte == _LF or (byte == _CR and not (at + 1 < stop and data[at + 1] == _LF)):
                    line += 1
            elif byte == _QUOTE and at_field_start:
                quoted = True
                at_field_start = False
            elif byte == _COMMA:
                fields += 1
                at_field_start = True
            elif byte in (_LF, _CR):
                break
            else:
                at_field_start = False
            at += 1
        if write:
            lines[n_records] = begin
            n_fields[n_records] = fields
        n_records += 1
        if at < stop:
            if data[at] == _CR and at + 1 < stop and data[at + 1] == _LF:
                at += 1
            at += 1
            line += 1
    return n_records
