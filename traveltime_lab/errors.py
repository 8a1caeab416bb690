"""
What can go wrong, as a small tree; every error is also the builtin a caller would expect.

::

    TravelTimeError
    ├── InputError (ValueError)             an argument or a table that cannot be used
    │   ├── CrsError                        a coordinate reference system is missing or contradicts the data
    │   ├── CoordinateError                 NaN, out of range, or swapped longitude and latitude
    │   ├── LimitError                      a number outside its documented range
    │   ├── ModeError                       an unknown transportation type or option
    │   └── MomentError                     a date or time that does not exist, is ambiguous or has no service
    │       └── NoServiceError              a moment outside the dates that the timetables cover
    ├── DataError (ValueError)              a file or table whose content is broken
    │   ├── FormatError                     a saved network that is truncated, foreign or of another version
    │   └── GtfsError (also InputError)     a timetable feed that cannot be used
    ├── MissingFileError (FileNotFoundError)
    ├── MissingDependencyError (ImportError)  an extra that is not installed
    ├── ServiceError (OSError)              a service on the network that does not answer, or not as it should
    ├── InterruptedSearchError (InterruptedError)  whoever asked does not wait for the answer
    └── UnsupportedError (NotImplementedError)  an option that this network or version cannot honour

Unreachable is not an error: it is data in the answer.
"""

from __future__ import annotations


class TravelTimeError(Exception):
    """Root of every error that the library raises on purpose."""


class InputError(TravelTimeError, ValueError):
    """An argument or a table that cannot be used."""


class CrsError(InputError):
    """A coordinate reference system is missing or contradicts the data."""


class CoordinateError(InputError):
    """Coordinates that are not finite, out of range, or swapped."""


class LimitError(InputError):
    """A number outside its documented range."""


class ModeError(InputError):
    """An unknown transportation type, or an option that does not apply to it."""


class MomentError(InputError):
    """A date or time that does not exist, is ambiguous, or lies outside the data."""


class NoServiceError(MomentError):
    """A moment outside the dates that the timetables cover; error 15 of the contract."""


class DataError(TravelTimeError, ValueError):
    """A file or table whose content is broken."""


class FormatError(DataError):
    """A saved network that is truncated, foreign, or of another version."""


class GtfsError(InputError, DataError):
    """
    A timetable feed that cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    file : str, optional
        File of the feed, such as ``stop_times.txt``.
    line : int, optional
        Its line, 1 for the header.
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.line = line


class MissingFileError(TravelTimeError, FileNotFoundError):
    """A file that is not there."""


class MissingDependencyError(TravelTimeError, ImportError):
    """An optional dependency that is not installed."""


class ServiceError(TravelTimeError, OSError):
    """A service on the network that does not answer, or not as it should."""


class UnsupportedError(TravelTimeError, NotImplementedError):
    """An option that this network or this version cannot honour."""


class InterruptedSearchError(TravelTimeError, InterruptedError):
    """A search that was stopped because whoever asked does not wait for the answer."""
