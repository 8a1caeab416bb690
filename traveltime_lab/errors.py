"""
Exceptions of the library, each of which also derives from the builtin exception that a caller would expect.

::

    TravelTimeError
    ├── InputError (ValueError)             an invalid argument or table
    │   ├── CrsError                        a coordinate reference system is missing or contradicts the data
    │   ├── KeywordError (TypeError)        an argument that a function does not have
    │   ├── CoordinateError                 NaN, out of range, or swapped longitude and latitude
    │   ├── LimitError                      a number outside its documented range
    │   ├── ModeError                       an unknown transportation type or option
    │   └── MomentError                     a date or time that does not exist, is ambiguous or has no service
    │       └── NoServiceError              a date or time that the timetable does not cover
    ├── DataError (ValueError)              a file or table with invalid content
    │   ├── FormatError                     a saved network that is truncated, foreign or of a different version
    │   └── GtfsError (also InputError)     an invalid GTFS feed
    ├── MissingFileError (FileNotFoundError)  a file that does not exist
    ├── FileAccessError (OSError)           a file that cannot be read or written, as on a full disk
    ├── MissingDependencyError (ImportError)  an optional dependency that is not installed
    ├── ServiceError (OSError)              a remote service that does not answer, or answers with something invalid
    ├── UnfinishedJobError (OSError)        a large job that stopped; repeat the call to resume
    ├── InterruptedSearchError (InterruptedError)  a search that was cancelled
    └── UnsupportedError (NotImplementedError)  an option that this network or version does not support

An unreachable destination is not an error. The result has a missing value for it, and a reason.

Examples
--------
>>> import traveltime_lab as tl
>>> try:
...     tl.Transportation("bicycle")
... except ValueError as error:
...     print(error)
Unknown transportation type 'bicycle'. Use 'cycling'.
"""

from __future__ import annotations


class TravelTimeError(Exception):
    """Base class of all errors that the library raises deliberately."""


class BorderWarning(UserWarning):
    """
    An answer that reaches the border of the extract, so that a larger extract may change it.

    Examples
    --------
    Silence the warnings, and look at the column ``reaches_border`` of the answers instead:

    >>> import warnings
    >>> import traveltime_lab as tl
    >>> warnings.simplefilter("ignore", tl.BorderWarning)
    """


class InputError(TravelTimeError, ValueError):
    """An invalid argument or table."""


class CrsError(InputError):
    """A coordinate reference system is missing or contradicts the data."""


class KeywordError(InputError, TypeError):
    """An argument that a function does not have."""


class CoordinateError(InputError):
    """Coordinates that are not finite, out of range, or swapped."""


class LimitError(InputError):
    """A number outside its documented range."""


class ModeError(InputError):
    """An unknown transportation type, or an option that does not apply to it."""


class MomentError(InputError):
    """A date or time that does not exist, is ambiguous, or lies outside the data."""


class NoServiceError(MomentError):
    """A date or time that the timetable does not cover; error 15 of docs/contract.md, 9.2."""


class DataError(TravelTimeError, ValueError):
    """A file or table with invalid content."""


class FormatError(DataError):
    """A saved network that is truncated, foreign, or of a different version."""


class GtfsError(InputError, DataError):
    """
    An invalid GTFS feed.

    Parameters
    ----------
    message : str
        The fault, and how to repair it.
    file : str, optional
        File of the feed, such as ``stop_times.txt``.
    line : int, optional
        Line number in the file; the header is line 1.
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.line = line


class MissingFileError(TravelTimeError, FileNotFoundError):
    """A file that does not exist."""


class FileAccessError(TravelTimeError, OSError):
    """
    A file that cannot be read or written: no permission, a full disk, an impossible name, a pipe or a device.

    Parameters
    ----------
    message : str
        The operation that failed, and what to do.
    errno : int, optional
        Number of the operating system's error, such as ``errno.ENOSPC``.
    """

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class MissingDependencyError(TravelTimeError, ImportError):
    """An optional dependency that is not installed."""


class ServiceError(TravelTimeError, OSError):
    """A remote service that does not answer, or answers with something invalid."""


class UnfinishedJobError(TravelTimeError, OSError):
    """
    A large job that stopped before its end: a full disk, or worker processes that ended.

    The parts that are written are kept. Repeat the call to resume.

    Parameters
    ----------
    message : str
        The reason, and how many parts are done.
    errno : int, optional
        Number of the operating system's error, such as ``errno.ENOSPC``.
    """

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class UnsupportedError(TravelTimeError, NotImplementedError):
    """An option that this network or this version does not support."""


class InterruptedSearchError(TravelTimeError, InterruptedError):
    """A search that was cancelled because its result is no longer needed."""
