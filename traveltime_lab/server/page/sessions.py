"""
Sessions of browsers: a link that works once, and the cookie that it is exchanged for.

The cookie is not readable by scripts and not sent from pages of other sites. Sites have no ports, so a request also has
to come from a page of this very origin: browsers say so in ``Sec-Fetch-Site``, or else in ``Origin``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from traveltime_lab.runtime.forks import Lock

#: Sessions that are remembered; a new one takes the place of the oldest (assumed: more than share a service).
_MOST_SESSIONS: Final = 1000


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


class Sessions:
    """
    Sessions of browsers, for as long as the service runs. Tokens are kept as digests.

    Parameters
    ----------
    app_id : str, optional
        Application id of users of the link; without one there is no link.
    """

    def __init__(self, app_id: str | None = None) -> None:
        self._lock = Lock()
        self._link: tuple[bytes, str] | None = None
        self._open: OrderedDict[bytes, str] = OrderedDict()
        #: Token of the link; empty if there is none.
        self.token = ""
        if app_id is not None:
            self.token = secrets.token_urlsafe(32)
            self._link = _digest(self.token), app_id

    def redeem(self, token: str) -> str | None:
        """Return a new session for the token of the link, None if the token is wrong or has been used."""
        with self._lock:
            if self._link is None or not hmac.compare_digest(self._link[0], _digest(token)):
                return None
            app_id, self._link = self._link[1], None
        return self.start(app_id)

    def start(self, app_id: str) -> str:
        """Return a new session of an application id."""
        session = secrets.token_urlsafe(32)
        with self._lock:
            self._open[_digest(session)] = app_id
            while len(self._open) > _MOST_SESSIONS:
                self._open.popitem(last=False)
        return session

    def end(self, session: str) -> None:
        """Forget a session."""
        with self._lock:
            self._open.pop(_digest(session), None)

    def app_id(self, request: Request) -> str | None:
        """Return the application id of a request's session, None without one or if another page sent the request."""
        session = request.cookies.get(cookie_name(request))
        if not session or not _is_own(request):
            return None
        with self._lock:
            return self._open.get(_digest(session))


def _is_own(request: Request) -> bool:
    """Return whether a request comes from a page of this service, or from no page."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


def cookie_name(request: Request) -> str:
    """Return the name of the cookie, with the port: a browser shows a cookie to all ports of a host."""
    server = request.scope.get("server") or ("", None)
    return f"traveltime_lab_{server[1] or 0}"


def set_cookie(request: Request, response: Response, session: str) -> None:
    """Let the browser keep a session until it is closed."""
    response.set_cookie(
        cookie_name(request), session, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
