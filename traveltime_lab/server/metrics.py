"""
Counts and durations of a service, in the text format of Prometheus.

Each process has its own numbers: one that scrapes several processes adds them up.
"""

from __future__ import annotations

import bisect
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final

import traveltime_lab
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.server.live import Status
from traveltime_lab.server.workers import Workers

#: Source: Prometheus, "Exposition formats", text format.
MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
#: Upper limits in seconds: those of the Prometheus clients, and some more up to the default time limit of requests.
BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
#: Endpoint of requests for paths that the service does not have, so that clients cannot make up labels.
OTHER: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})


class Metrics:
    """The numbers of a process; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._started = time.time()
        self._requests: dict[tuple[str, str, int], int] = {}
        #: Numbers of requests by bucket, with one more for those beyond the last, and the sum of seconds.
        self._durations: dict[str, tuple[list[int], list[float]]] = {}
        self._reloads = {"ok": 0, "failed": 0}
        self._last_reload: float | None = None

    def answered(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        key = endpoint, method if method in _METHODS else OTHER, status
        with self._lock:
            self._requests[key] = self._requests.get(key, 0) + 1
            counts, total = self._durations.setdefault(endpoint, ([0] * (len(BUCKETS_S) + 1), [0.0]))
            counts[bisect.bisect_left(BUCKETS_S, seconds)] += 1
            total[0] += seconds

    def reloaded(self, *, is_ok: bool) -> None:
        """Count a reload of networks."""
        with self._lock:
            self._reloads["ok" if is_ok else "failed"] += 1
            if is_ok:
                self._last_reload = time.time()

    def text(
        self, maps: Iterable[str], workers: Iterable[Workers], *, is_ready: bool, sources: Iterable[Status] = ()
    ) -> str:
        """
        Return all metrics.

        Parameters
        ----------
        maps : iterable of str
            Names of the networks that are loaded.
        workers : iterable of Workers
            Threads of the requests that are worked on.
        is_ready : bool
            Whether networks and kernels are ready.
        sources : iterable of Status
            Sources of live updates.
        """
        with self._lock:
            lines = list(self._lines(list(maps), list(workers), is_ready=is_ready))
        lines += _of_updates(list(sources))
        return "\n".join(lines) + "\n"

    def _lines(self, maps: list[str], workers: list[Workers], *, is_ready: bool) -> Iterator[str]:
        yield from _family("build_info", "gauge", "Version of the service.")
        yield _sample("build_info", 1, version=traveltime_lab.__version__)
        yield from _family("ready", "gauge", "Whether networks are loaded and kernels compiled.")
        yield _sample("ready", int(is_ready))
        yield from _family("networks", "gauge", "Networks that are loaded.")
        yield _sample("networks", len(maps))
        yield from _family("network_info", "gauge", "Names of the networks that are loaded.")
        yield from (_sample("network_info", 1, map=name) for name in maps)
        yield from _family("searches_running", "gauge", "Requests that are worked on.")
        yield _sample("searches_running", sum(each.n_running for each in workers))
        yield from _family("searches_waiting", "gauge", "Requests that wait for a worker.")
        yield _sample("searches_waiting", sum(each.n_waiting for each in workers))
        yield from _family("requests_total", "counter", "Requests that were answered.")
        for (endpoint, method, status), number in sorted(self._requests.items()):
            yield _sample("requests_total", number, endpoint=endpoint, method=method, status=str(status))
        yield from _family("request_duration_seconds", "histogram", "Time until an answer was sent.")
        for endpoint, (counts, total) in sorted(self._durations.items()):
            n_within = 0
            for limit, number in zip((*map(str, BUCKETS_S), "+Inf"), counts, strict=True):
                n_within += number
                yield _sample("request_duration_seconds_bucket", n_within, endpoint=endpoint, le=limit)
            yield _sample("request_duration_seconds_sum", total[0], endpoint=endpoint)
            yield _sample("request_duration_seconds_count", n_within, endpoint=endpoint)
        yield from _family("reloads_total", "counter", "Reloads of networks.")
        yield from (_sample("reloads_total", number, outcome=outcome) for outcome, number in self._reloads.items())
        if self._last_reload is not None:
            yield from _family("last_reload_timestamp_seconds", "gauge", "When networks were last reloaded.")
            yield _sample("last_reload_timestamp_seconds", self._last_reload)
        # The names that Prometheus clients have for processes.
        for name, kind, what, value in _process(self._started):
            yield f"# HELP {name} {what}"
            yield f"# TYPE {name} {kind}"
            yield f"{name} {value}"


def _of_updates(sources: list[Status]) -> Iterator[str]:
    """Yield the lines about sources of live updates; none without any."""
    if not sources:
        return
    labels = [{"map": str(each.source.map), "source": each.source.label} for each in sources]
    yield from _family("updates_in_use", "gauge", "Whether the message of a source of live updates is applied.")
    for each, named in zip(sources, labels, strict=True):
        yield _sample("updates_in_use", int(each.in_use), **named)
    yield from _family("updates_age_seconds", "gauge", "Age of the message of a source of live updates.")
    for each, named in zip(sources, labels, strict=True):
        if each.age_s is not None:
            yield _sample("updates_age_seconds", each.age_s, **named)
    yield from _family("updates_trips", "gauge", "Updates of trips in the message of a source.")
    for each, named in zip(sources, labels, strict=True):
        yield _sample("updates_trips", each.n_applied, **named, outcome="applied")
        yield _sample("updates_trips", each.n_not_applied, **named, outcome="not_applied")
    yield from _family("updates_alerts", "gauge", "Alerts in the message of a source.")
    for each, named in zip(sources, labels, strict=True):
        yield _sample("updates_alerts", each.n_alerts, **named)
    yield from _family("updates_looks_total", "counter", "Looks at a source of live updates.")
    for each, named in zip(sources, labels, strict=True):
        yield from (_sample("updates_looks_total", n, **named, outcome=name) for name, n in each.looks.items())


def _family(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP traveltime_lab_{name} {what}", f"# TYPE traveltime_lab_{name} {kind}"


def _sample(name: str, value: float, **labels: str) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"traveltime_lab_{name}{f'{{{shown}}}' if shown else ''} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _process(started: float) -> Iterator[tuple[str, str, str, float]]:
    yield "process_start_time_seconds", "gauge", "When the service started.", started
    yield "process_cpu_seconds_total", "counter", "Processor time.", time.process_time()
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        yield "process_resident_memory_bytes", "gauge", "Memory.", pages * os.sysconf("SC_PAGE_SIZE")
