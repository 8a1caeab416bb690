"""
Large arrays of JSON, read and written without a Python object for each item.

Only the plainest spelling is read: ASCII strings without escapes, the expected keys and no others, numbers in range.
For anything else the readers give up with -1, and the caller reads the text in a slower way that knows every spelling
and names every fault.
"""

import numba
import numpy as np

_POWERS = 10.0 ** np.arange(23)

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_LIST, _CLOSE_LIST, _OPEN, _CLOSE = 91, 93, 123, 125
_MINUS, _PLUS, _DOT, _ZERO, _NINE = 45, 43, 46, 48, 57

#: What `_number` says about a value: no JSON number, exact, or one that needs a better reader.
_BROKEN, _EXACT, _HARD = 0, 1, 2


@numba.njit(cache=True, nogil=True)
def _skip(data, at):
    """Return the position of the next byte that is not blank."""
    while at < data.size and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _string(data, at):
    """Return the end of the plain string whose first character is at `at`, -1 if it is not plain."""
    while at < data.size:
        byte = data[at]
        if byte == _QUOTE:
            return at
        if byte < 32 or byte == _BACKSLASH or byte > 126:
            return -1
        at += 1
    return -1


@numba.njit(cache=True, nogil=True)
def _quotient(mantissa, power):
    """
    Return mantissa / power correctly rounded, and whether that is certain.

    Division of 64 by 53 bits with one correction (Dekker 1971, "A floating-point technique for extending the
    available precision"); uncertain within a hair of the middle between two floats.
    """
    high = np.float64(mantissa & ~np.uint64(0x7FF))
    low = np.float64(mantissa & np.uint64(0x7FF))
    first = high / power
    # first * power as the sum of two floats.
    a = first * 134217729.0
    a = a - (a - first)
    b = power * 134217729.0
    b = b - (b - power)
    product = first * power
    error = ((a * b - product) + a * (power - b) + (first - a) * b) + (first - a) * (power - b)
    correction = (((high - product) - error) + low) / power
    result = first + correction
    left = np.abs(correction - (result - first))
    half = 0.5 * (np.nextafter(result, np.inf) - result)
    hair = 1e-13 * np.abs(correction)
    # Below a power of two the floats lie twice as dense.
    return result, np.abs(left - half) > hair and np.abs(left - 0.5 * half) > hair


@numba.njit(cache=True, nogil=True)
def _number(data, at):
    """Return a number, its end, and how sure it is."""
    is_negative = at < data.size and data[at] == _MINUS
    if is_negative:
        at += 1
    mantissa = np.uint64(0)
    n_digits = 0
    first = at
    while at < data.size and _ZERO <= data[at] <= _NINE:
        mantissa = mantissa * np.uint64(10) + np.uint64(data[at] - _ZERO)
        n_digits += mantissa != np.uint64(0)
        at += 1
    n_whole = at - first
    if n_whole == 0 or (n_whole > 1 and data[first] == _ZERO):
        return 0.0, at, _BROKEN
    exponent = 0
    if at < data.size and data[at] == _DOT:
        at += 1
        first = at
        while at < data.size and _ZERO <= data[at] <= _NINE:
            mantissa = mantissa * np.uint64(10) + np.uint64(data[at] - _ZERO)
            n_digits += mantissa != np.uint64(0)
            at += 1
        exponent = first - at
        if exponent == 0:
            return 0.0, at, _BROKEN
    sure = _EXACT
    if at < data.size and (data[at] == 69 or data[at] == 101):
        sure = _HARD
        at += 1
        if at < data.size and (data[at] == _PLUS or data[at] == _MINUS):
            at += 1
        first = at
        while at < data.size and _ZERO <= data[at] <= _NINE:
            at += 1
        if at == first:
            return 0.0, at, _BROKEN
    # More digits than these may have run over.
    if n_digits > 19 or exponent < -22:
        sure = _HARD
    value = 0.0
    if sure == _EXACT:
        if mantissa < np.uint64(1 << 53):
            # Both are exact, so the one rounding is right (Clinger 1990, "How to read floating point numbers").
            value = np.float64(mantissa) / _POWERS[-exponent]
        else:
            value, is_certain = _quotient(mantissa, _POWERS[-exponent])
            if not is_certain:
                sure = _HARD
    return -value if is_negative else value, at, sure


@numba.njit(cache=True, nogil=True)
def read_locations(data, starts, ends, lat, lng, hard):
    """
    Read an array of ``{"id": ..., "coords": {"lat": ..., "lng": ...}}``.

    Parameters
    ----------
    data : uint8 array of shape (n_bytes,)
    starts, ends : int64 arrays of shape (capacity,)
        Filled with where each id begins and ends in `data`.
    lat, lng : float64 arrays of shape (capacity,)
        Filled.
    hard : int64 array of shape (capacity, 3)
        Filled with the numbers that are left to the caller: twice the position, plus one for a longitude; begin; end.

    Returns
    -------
    n, n_hard : int
        Locations and hard numbers; -1 and 0 if anything is not plain.
    """
    at = _skip(data, 0)
    if at >= data.size or data[at] != _OPEN_LIST:
        return -1, 0
    at = _skip(data, at + 1)
    n = n_hard = 0
    if at < data.size and data[at] == _CLOSE_LIST:
        return (0, 0) if _skip(data, at + 1) == data.size else (-1, 0)
    while True:
        if n == starts.size or at >= data.size or data[at] != _OPEN:
            return -1, 0
        has_id = has_coords = False
        for _ in range(2):
            at = _skip(data, at + 1)
            if at >= data.size or data[at] != _QUOTE:
                return -1, 0
            key = at + 1
            at = _string(data, key)
            if at < 0:
                return -1, 0
            size = at - key
            at = _skip(data, at + 1)
            if at >= data.size or data[at] != _COLON:
                return -1, 0
            at = _skip(data, at + 1)
            if at >= data.size:
                return -1, 0
            if size == 2 and data[key] == 105 and data[key + 1] == 100 and not has_id:  # id
                if data[at] != _QUOTE:
                    return -1, 0
                starts[n] = at + 1
                at = _string(data, at + 1)
                if at <= starts[n]:
                    return -1, 0
                ends[n] = at
                has_id = True
                at += 1
            elif size == 6 and data[key] == 99 and data[key + 5] == 115 and not has_coords:  # c....s
                if data[key + 1] != 111 or data[key + 2] != 111 or data[key + 3] != 114 or data[key + 4] != 100:
                    return -1, 0
                at, n_hard = _coords(data, at, n, lat, lng, hard, n_hard)
                if at < 0:
                    return -1, 0
                has_coords = True
            else:
                return -1, 0
            at = _skip(data, at)
            if at >= data.size or (data[at] != _COMMA and data[at] != _CLOSE):
                return -1, 0
            if data[at] == _CLOSE:
                break
        if not (has_id and has_coords) or data[at] != _CLOSE:
            return -1, 0
        n += 1
        at = _skip(data, at + 1)
        if at >= data.size:
            return -1, 0
        if data[at] == _CLOSE_LIST:
            return (n, n_hard) if _skip(data, at + 1) == data.size else (-1, 0)
        if data[at] != _COMMA:
            return -1, 0
        at = _skip(data, at + 1)


@numba.njit(cache=True, nogil=True)
def _coords(data, at, n, lat, lng, hard, n_hard):
    """Read ``{"lat": ..., "lng": ...}``; return where it ends and the number of hard numbers, or -1."""
    if data[at] != _OPEN:
        return -1, 0
    has_lat = has_lng = False
    for _ in range(2):
        at = _skip(data, at + 1)
        # "lat" or "lng"
        if at + 4 >= data.size or data[at] != _QUOTE or data[at + 1] != 108 or data[at + 4] != _QUOTE:
            return -1, 0
        is_lat = data[at + 2] == 97 and data[at + 3] == 116
        is_lng = data[at + 2] == 110 and data[at + 3] == 103
        if not (is_lat or is_lng) or (is_lat and has_lat) or (is_lng and has_lng):
            return -1, 0
        at = _skip(data, at + 5)
        if at >= data.size or data[at] != _COLON:
            return -1, 0
        begin = _skip(data, at + 1)
        value, at, sure = _number(data, begin)
        if sure == _BROKEN:
            return -1, 0
        if sure == _HARD:
            if n_hard == len(hard):
                return -1, 0
            hard[n_hard, 0] = 2 * n + is_lng
            hard[n_hard, 1] = begin
            hard[n_hard, 2] = at
            n_hard += 1
        elif np.abs(value) > (90.0 if is_lat else 180.0):
            return -1, 0
        if is_lat:
            lat[n] = value
            has_lat = True
        else:
            lng[n] = value
            has_lng = True
        at = _skip(data, at)
        if at >= data.size or (data[at] != _COMMA and data[at] != _CLOSE):
            return -1, 0
        if data[at] == _CLOSE:
            break
    if not (has_lat and has_lng) or data[at] != _CLOSE:
        return -1, 0
    return at + 1, n_hard


@numba.njit(cache=True, nogil=True)
def read_strings(data, starts, ends):
    """
    Read an array of strings.

    Parameters
    ----------
    data : uint8 array of shape (n_bytes,)
    starts, ends : int64 arrays of shape (capacity,)
        Filled with where each string begins and ends in `data`.

    Returns
    -------
    int
        Number of strings, -1 if anything is not plain.
    """
    at = _skip(data, 0)
    if at >= data.size or data[at] != _OPEN_LIST:
        return -1
    at = _skip(data, at + 1)
    n = 0
    if at < data.size and data[at] == _CLOSE_LIST:
        return 0 if _skip(data, at + 1) == data.size else -1
    while True:
        if n == starts.size or at >= data.size or data[at] != _QUOTE:
            return -1
        starts[n] = at + 1
        at = _string(data, at + 1)
        if at < 0:
            return -1
        ends[n] = at
        n += 1
        at = _skip(data, at + 1)
        if at >= data.size:
            return -1
        if data[at] == _CLOSE_LIST:
            return n if _skip(data, at + 1) == data.size else -1
        if data[at] != _COMMA:
            return -1
        at = _skip(data, at + 1)


@numba.njit(cache=True, nogil=True)
def _hash(data, start, end):
    """Return the FNV-1a hash of some bytes, with its high bits mixed into the low ones."""
    value = np.uint64(0xCBF29CE484222325)
    for at in range(start, end):
        value = (value ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _same(data, start, end, other, first, last):
    """Return whether two texts are equal."""
    if end - start != last - first:
        return False
    for i in range(end - start):  # noqa: SIM110 - numba has no generators here
        if data[start + i] != other[first + i]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def index_texts(data, starts, ends, table):
    """
    Index texts by content.

    Parameters
    ----------
    data : uint8 array
    starts, ends : int64 arrays of shape (n,)
    table : int32 array of shape (power of two larger than n,)
        All -1; filled with positions.

    Returns
    -------
    bool
        Whether all texts differ.
    """
    mask = np.uint64(table.size - 1)
    for i in range(starts.size):
        slot = _hash(data, starts[i], ends[i]) & mask
        while table[slot] >= 0:
            j = table[slot]
            if _same(data, starts[i], ends[i], data, starts[j], ends[j]):
                return False
            slot = (slot + np.uint64(1)) & mask
        table[slot] = i
    return True


@numba.njit(cache=True, nogil=True)
def find_texts(data, starts, ends, table, other, firsts, lasts, found):
    """
    Find texts among indexed ones.

    Parameters
    ----------
    data, starts, ends, table
        As filled by `index_texts`.
    other : uint8 array
    firsts, lasts : int64 arrays of shape (m,)
    found : int64 array of shape (m,)
        Filled with positions.

    Returns
    -------
    bool
        Whether all were found.
    """
    mask = np.uint64(table.size - 1)
    # Most clients list the same order twice: the next one is looked at before it is looked up.
    following = 0
    for i in range(firsts.size):
        if following < starts.size and _same(other, firsts[i], lasts[i], data, starts[following], ends[following]):
            found[i] = following
            following += 1
            continue
        slot = _hash(other, firsts[i], lasts[i]) & mask
        while True:
            j = table[slot]
            if j < 0:
                return False
            if _same(other, firsts[i], lasts[i], data, starts[j], ends[j]):
                break
            slot = (slot + np.uint64(1)) & mask
        found[i] = j
        following = j + 1
    return True


@numba.njit(cache=True, nogil=True)
def _put(out, at, text):
    """Write a text; return where it ends."""
    for byte in text:
        out[at] = byte
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _put_whole(out, at, value):
    """Write a number of 0 or more; return where it ends."""
    n = 1
    rest = value // 10
    while rest:
        n += 1
        rest //= 10
    for i in range(n - 1, -1, -1):
        out[at + i] = _ZERO + value % 10
        value //= 10
    return at + n


@numba.njit(cache=True, nogil=True)
def write_reached(data, starts, ends, rows, first, texts, numbers, out):
    """
    Write an array of objects, each with an id and some numbers.

    Parameters
    ----------
    data : uint8 array
    starts, ends : int64 arrays
        Where ids are in `data`.
    rows : int64 array of shape (n,)
        Which of them to write.
    first : uint8 array
        What comes before an id, its quote included.
    texts : tuple of k + 1 uint8 arrays
        What comes before each number, and after the last.
    numbers : int64 array of shape (k, n)
    out : uint8 array
        Filled; must be long enough.

    Returns
    -------
    int
        Number of bytes.
    """
    out[0] = _OPEN_LIST
    at = 1
    for i in range(rows.size):
        if i:
            out[at] = _COMMA
            at += 1
        at = _put(out, at, first)
        at = _put(out, at, data[starts[rows[i]] : ends[rows[i]]])
        for k in range(len(numbers)):
            at = _put(out, at, texts[k])
            at = _put_whole(out, at, numbers[k, i])
        at = _put(out, at, texts[len(numbers)])
    out[at] = _CLOSE_LIST
    return at + 1
