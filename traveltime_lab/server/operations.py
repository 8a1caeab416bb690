"""
Routes for operators: whether the service runs, whether it is ready, and its metrics.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

import traveltime_lab
from traveltime_lab.server.metrics import MEDIA
from traveltime_lab.server.serving import Serving
from traveltime_lab.server.workers import Workers

#: Seconds after which to try again (assumed: starting takes some more).
_RETRY_S: Final = 5


def operations(
    serving: Serving, workers: Callable[[], Iterable[Workers]]
) -> list[tuple[str, Callable[[Request], Awaitable[Response]]]]:
    """
    Return the paths with their handlers, which need no credentials.

    Parameters
    ----------
    serving : Serving
    workers : callable
        Returns the threads of all event loops.
    """

    def said(status: str, **more: Any) -> bytes:
        maps = [item.name for item in serving.atlas.maps]
        return json.dumps({"status": status, "version": traveltime_lab.__version__, "maps": maps, **more}).encode()

    async def health(request: Request) -> Response:
        # A source that fails is no reason to restart the service: it answers with the planned timetable.
        live = serving.live
        more = {} if live is None else {"updates": [each.described() for each in live.statuses()]}
        return Response(said("ok", **more), media_type="application/json")

    async def ready(request: Request) -> Response:
        serving.begin()
        if serving.is_ready:
            return Response(said("ready"), media_type="application/json")
        return Response(said("starting"), 503, {"Retry-After": str(_RETRY_S)}, "application/json")

    async def metrics(request: Request) -> Response:
        maps = [item.name for item in serving.atlas.maps]
        sources = [] if serving.live is None else serving.live.statuses()
        text = serving.metrics.text(maps, workers(), is_ready=serving.is_ready, sources=sources)
        return Response(text, headers={"Content-Type": MEDIA})

    return [("/health", health), ("/ready", ready), ("/metrics", metrics)]
