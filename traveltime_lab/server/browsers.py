"""
Protection of web browsers: pages of other origins (CORS), and foreign host names (DNS rebinding).

A page may send requests to any address, also to this machine; the browser requests permission first, or hides the
answer, unless the service allows the page's origin. A page whose own host name suddenly resolves to this machine needs
no such permission, but still sends its name as ``Host``.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from traveltime_lab.errors import InputError
from traveltime_lab.server.context import DAY_HEADER, WARNING_HEADER
from traveltime_lab.server.contract.errors import plain_failure

#: Headers of answers that scripts of a page may read, beside those that they always may.
_EXPOSED: Final = (
    "Content-Language", "Retry-After", "X-ERROR-CODE", "X-ERROR-DETAILS", "X-ERROR-MESSAGE", DAY_HEADER, WARNING_HEADER,
)  # fmt: skip
#: Seconds for which a browser may remember a permission (assumed; Chromium keeps it for two hours at most).
_REMEMBERED_S: Final = 3600
_ORIGIN: Final = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")
_PORT: Final = re.compile(r":[0-9]*$")


def check_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """
    Return origins of pages as browsers send them.

    Raises
    ------
    InputError
        If one of them is neither ``*`` nor a scheme with a host and, if it is not the usual one, a port.
    """
    if isinstance(origins, str):
        origins = (origins,)
    checked = []
    for origin in origins:
        plain = origin.rstrip("/").lower() if isinstance(origin, str) else ""
        if plain != "*" and not _ORIGIN.fullmatch(plain):
            msg = f"an origin must be such as 'https://example.org' or 'http://localhost:3000', or '*'; got {origin!r}"
            raise InputError(msg)
        checked.append(plain)
    return tuple(checked)


def with_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """
    Return an application whose answers pages of some origins may read.

    Parameters
    ----------
    app : ASGI application
    origins : tuple of str
        From `check_origins`; without origins the application is returned unchanged.
    """
    if not origins:
        return app
    # All methods, so that the wrong ones get the usual 405 and not the text of the middleware.
    shared = CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=["*"],
        allow_headers=["*"],
        allow_private_network=True,
        expose_headers=_EXPOSED,
        max_age=_REMEMBERED_S,
    )

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        # Others are answered as without CORS: with this service's errors, and without permission.
        is_allowed = scope["type"] == "http" and (
            "*" in origins or Headers(scope=scope).get("origin", "").lower() in origins
        )
        await (shared if is_allowed else app)(scope, receive, send)

    return call


def known_hosts(host: str) -> frozenset[str] | None:
    """
    Return the names by which a service that listens on an address is called.

    Parameters
    ----------
    host : str
        Where the service listens.

    Returns
    -------
    frozenset of str or None
        Names of an address that only this machine can reach, and of the machine itself, in lower case. None for other
        addresses, which may have any names.
    """
    try:
        address = ipaddress.ip_address(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, ValueError):
        return None
    return frozenset({host.lower(), str(address), "localhost", "127.0.0.1", "::1"}) if address.is_loopback else None


def check_host(header: str | None, hosts: frozenset[str] | None) -> None:
    """
    Refuse a request for an unknown host.

    Parameters
    ----------
    header : str, optional
        Value of ``Host``.
    hosts : frozenset of str, optional
        From `known_hosts`; None for any.

    Raises
    ------
    Failure
        421 for another host.
    """
    if hosts is None:
        return
    name = _PORT.sub("", (header or "").strip().lower()).strip("[]").rstrip(".")
    if name not in hosts:
        raise plain_failure(421, "This service listens on this machine only and is not the host of this name")
