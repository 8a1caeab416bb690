"""
Error responses: the contract's five keys, its codes and its statuses.

One table maps the library's errors to them; everything else that is raised becomes a 500 without details.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from traveltime_lab import errors

#: A path, not an address. Source: docs/contract.md, 9.1.
DOCUMENTATION_LINK: Final = "/api/reference/error-codes"

#: Codes, and in `schema_failure` and `syntax_failure` their published descriptions. Source: docs/contract.md, 9.2.
SCHEMA, SYNTAX, CREDENTIALS, NO_FARES, NO_TIMETABLE, NOT_COVERED = 2, 3, 10, 13, 15, 16


class Explanation(NamedTuple):
    """
    One row of the table of errors.

    Attributes
    ----------
    code : int
        ``error_code``; the status if the contract has none.
    status : int
    meaning, remedy : str
        When the service answers this, and what the client can do.
    """

    code: int
    status: int
    meaning: str
    remedy: str


#: All errors of the service: for the page at `DOCUMENTATION_LINK` and the OpenAPI document.
EXPLANATIONS: Final = (
    Explanation(SCHEMA, 422, "The request does not match the schema.",
        "Correct the fields that additional_info lists by their JSON path."),
    Explanation(SYNTAX, 400, "The request body is not valid JSON.",
        "Correct the place that syntax_errors in additional_info names."),
    Explanation(CREDENTIALS, 401, "The application id or the API key is missing or wrong.",
        "Send the headers X-Application-Id and X-Api-Key (JSON) or HTTP Basic (Protocol Buffers) with a pair that "
        "the service was started with."),
    Explanation(NO_FARES, 422, "The search requests fares on a map without fares.",
        "Leave fares out of the properties, or add a timetable with fares to the map."),
    Explanation(NO_TIMETABLE, 422, "The map has no timetable, or no service on the date of the search.",
        "Choose a date within the timetable (GET /v4/map-info), or a type of transportation without a timetable."),
    Explanation(NOT_COVERED, 422, "The place of the search is on no map of this service or has no street near it, "
        "the places of the search are on two maps, or the service has no postcodes.",
        "Check the order of latitude and longitude, raise the snapping threshold, or serve a larger extract."),
    Explanation(400, 400, "The request is not valid HTTP, or nothing is near the place of a reverse geocoding.",
        "Correct the request."),
    Explanation(404, 404, "There is nothing at this path, or the service has no data to answer it.",
        "Check the path against /docs."),
    Explanation(405, 405, "The path does not take this method.", "Use a method of the Allow header."),
    Explanation(406, 406, "The endpoint has no format that the Accept header allows.",
        "Accept application/json or a format that /docs lists for the endpoint."),
    Explanation(408, 408, "The request took longer than the service allows, or its headers or body stopped coming.",
        "Ask for less at once, or start the service with a longer --timeout."),
    Explanation(413, 413, "The request body is too large.",
        "Send fewer places at once, or start the service with a larger --body-limit."),
    Explanation(415, 415, "The request body is compressed.", "Send it without Content-Encoding."),
    Explanation(421, 421, "The service listens on this machine only and was called by a foreign host name.",
        "Call it by the address that it printed at its start."),
    Explanation(429, 429, "The application id has more hits than the service allows in a minute.",
        "Wait as long as Retry-After says."),
    Explanation(500, 500, "The service failed.", "Read its log, and report the fault."),
    Explanation(503, 503, "The service has too many connections or bodies open, or is stopping.",
        "Wait as long as Retry-After says."),
)  # fmt: skip

#: Most faults in one answer; the search for faults ends there.
MOST_FAULTS: Final = 100
#: Characters of a client's text that errors repeat.
LONGEST_SHOWN: Final = 60
#: Characters of one fault, with all that it repeats of a client's text.
_LONGEST_FAULT: Final = 1000

Faults = dict[str, list[str]]


class ErrorBody(msgspec.Struct):
    """The body of every answer but a success."""

    http_status: int
    error_code: int
    description: str
    documentation_link: str
    additional_info: dict[str, list[str]]


class Failure(Exception):  # noqa: N818 - an answer, not a bug
    """
    An answer that is an error.

    Parameters
    ----------
    status : int
        Status of HTTP.
    code : int
        Code of the contract. If it has none, the status, which differs from all published codes.
    description : str
        In words, for people.
    info : mapping of str to sequence of str, optional
        ``additional_info``.
    headers : mapping of str to str, optional
        Headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: int,
        description: str,
        info: Mapping[str, Sequence[str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(description)
        self.status = status
        self.code = code
        self.description = description
        self.info = {key: list(values) for key, values in (info or {}).items()}
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """Return the JSON body."""
        return msgspec.json.encode(ErrorBody(self.status, self.code, self.description, DOCUMENTATION_LINK, self.info))


def shown(text: str) -> str:
    """Return a client's text as errors repeat it: its beginning, if it is long."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def schema_failure(faults: Mapping[str, Sequence[str]], *, is_cut: bool = False) -> Failure:
    """
    Return the failure of a request that does not match the schema.

    Parameters
    ----------
    faults : mapping of str to sequence of str
        Texts by JSON path.
    is_cut : bool, default False
        Whether there may be more faults.
    """
    listed = {path: [text[:_LONGEST_FAULT] for text in texts] for path, texts in faults.items()}
    if is_cut:
        more = f"only the first {MOST_FAULTS} faults are listed; there may be more faults"
        listed["obj"] = [*listed.get("obj", ()), more]
    return Failure(422, SCHEMA, "Invalid request json", listed)


def syntax_failure(text: str) -> Failure:
    """Return the failure of a body that is not JSON."""
    return Failure(400, SYNTAX, "Failed to parse json - syntax error", {"syntax_errors": [text]})


#: Meanings of the codes of searches, for failures without a description.
_OF_SEARCHES: Final = {
    NO_FARES: "There are no fares for the places of the search",
    NO_TIMETABLE: "There is no timetable for the places and the time of the search",
    NOT_COVERED: "The places of the search are not covered by one map, or are too far from its streets",
}


def plain_failure(status: int, description: str, headers: Mapping[str, str] | None = None) -> Failure:
    """Return a failure for which the contract has a status but no code."""
    return Failure(status, status, description, None, headers)


class SearchFailure(Failure):
    """
    A `Failure` of one search; the first one in a request is answered.

    Parameters
    ----------
    code : int
        Code of the contract.
    search_id : str
    description : str, optional
        Text for the case at hand; by default the meaning of the code.
    """

    def __init__(self, code: int, search_id: str, description: str | None = None) -> None:
        super().__init__(422, code, description or _OF_SEARCHES[code], {"search_id": [search_id]})
        self.search_id = search_id


def failure_of(error: BaseException, *, path: str = "obj", search_id: str | None = None) -> Failure:
    """
    Return the failure that reports an error to a client.

    Parameters
    ----------
    error : exception
    path : str, default "obj"
        JSON path of the search that raised it.
    search_id : str, optional
        Id of that search.

    Returns
    -------
    Failure
        500 without details for everything that is not the client's doing.
    """
    if isinstance(error, Failure):
        return error
    if isinstance(error, errors.MomentError) and search_id is not None:
        return SearchFailure(NO_TIMETABLE, search_id, str(error)[:_LONGEST_FAULT])
    if isinstance(error, errors.InputError | errors.UnsupportedError):
        return schema_failure({path: [str(error)]})
    return plain_failure(500, "Internal error; the service's log says more")
