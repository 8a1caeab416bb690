"""
The networks that a service answers with: whether they are ready, and exchanging them while it runs.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from traveltime_lab.runtime.forks import Lock
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.metrics import Metrics
from traveltime_lab.server.warm_up import warm_up

if TYPE_CHECKING:
    from traveltime_lab.server.live import Live

logger = logging.getLogger(__name__)


class Serving:
    """
    The atlas of a service.

    A request takes `atlas` once, so that all of its searches are answered with the same networks.

    Parameters
    ----------
    atlas : Atlas

    Attributes
    ----------
    atlas : Atlas
        The current one.
    planned : Atlas
        The same networks without live updates.
    live : Live or None
        Applies live updates; None without any.
    is_ready : bool
        Whether what the first requests need is there: kernels are compiled and search graphs built.
    metrics : Metrics
    """

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = self.planned = atlas
        self.live: Live | None = None
        self.is_ready = False
        self.metrics = Metrics()
        self._has_begun = False
        self._lock = Lock()
        self._exchange = Lock()

    def begin(self) -> None:
        """Make the networks ready in a thread, unless that has begun."""
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        threading.Thread(target=self._make_ready, name="traveltime_lab.server.warm_up", daemon=True).start()

    def _make_ready(self) -> None:
        try:
            with self._exchange:
                warm_up(self.atlas)
                self.is_ready = True
        except Exception:
            # Requests are answered nevertheless; those about readiness say that it is not.
            logger.exception("networks cannot be prepared")

    def follow(self, live: Live) -> None:
        """Apply live updates to the networks from now on."""
        self.live = live

    def exchange(self, atlas: Atlas) -> None:
        """
        Answer with other networks from now on.

        They are prepared first, with the live updates. Requests that are being answered keep the former networks; none
        waits.

        Parameters
        ----------
        atlas : Atlas
        """
        started = time.perf_counter()
        self._put(atlas)
        with self._lock:
            self._has_begun = True
        self.metrics.reloaded(is_ok=True)
        names = ",".join(item.name for item in atlas.maps)
        logger.info("reloaded maps=%s seconds=%.1f", names, time.perf_counter() - started)

    def refresh(self) -> None:
        """Answer with the same networks and newer updates from now on, in the same way."""
        started = time.perf_counter()
        self._put(None)
        logger.debug("updates applied seconds=%.1f", time.perf_counter() - started)

    def _put(self, planned: Atlas | None) -> None:
        """Prepare networks, those of now by default, and answer with them and the live updates."""
        with self._exchange:
            planned = self.planned if planned is None else planned
            atlas, current = (planned, None) if self.live is None else self.live.applied(planned)
            warm_up(atlas, besides=self.atlas if self.is_ready else None)
            self.planned, self.atlas = planned, atlas
            if self.live is not None and current is not None:
                self.live.current = current
            self.is_ready = True
