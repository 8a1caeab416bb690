"""Run the usual first searches on each map, so that clients do not wait for code to load and graphs to be built."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import time

import numpy as np

from traveltime_lab.errors import BorderWarning, TravelTimeError
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.question import MomentLike
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search.area_shapes import shape_style
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.contract.limits import DEFAULT_LEVEL_OF_DETAIL
from traveltime_lab.server.endpoints.searches import TYPICAL, Trips, query_of
from traveltime_lab.server.endpoints.shapes import draw
from traveltime_lab.server.endpoints.ways import find_ways
from traveltime_lab.surfaces.level_of_detail import parse_level_of_detail
from traveltime_lab.transit.timetable import service_warnings_to

logger = logging.getLogger(__name__)

_LIMIT_S = 600


def warm_up(atlas: Atlas, besides: Atlas | None = None) -> None:
    """
    Make each map ready.

    Parameters
    ----------
    atlas : Atlas
    besides : Atlas, optional
        One that is ready already: maps with its networks are left out.
    """
    ready = [item.network for item in besides.maps] if besides is not None else []
    for item in atlas.maps:
        if any(item.network is network for network in ready):
            continue
        started = time.perf_counter()
        for kind, moment in _usual_searches(item):
            # A map without streets for a type, a day without service, or a border is not worth a warning here.
            with (
                contextlib.suppress(TravelTimeError),
                service_warnings_to(lambda text: None),
                warnings_to(lambda text: None, BorderWarning),
            ):
                try_out(item, kind, moment)
        logger.info("ready map=%s seconds=%.1f", item.name, time.perf_counter() - started)


def _usual_searches(item: Map) -> list[tuple[str, MomentLike]]:
    """Return the types and moments that clients use most, the most frequent first."""
    midday = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
    found: list[tuple[str, MomentLike]] = [
        ("driving", midday), ("walking", midday), ("driving", TYPICAL), ("cycling", midday)
    ]  # fmt: skip
    dates = item.timetable_dates
    if dates is not None:
        found.insert(2, ("public_transport", dates[0] + (dates[1] - dates[0]) / 2))
    return found


def try_out(item: Map, kind: str, moment: MomentLike) -> None:
    """Compute a shape and a matrix around the middle of a map, which builds what searches need."""
    lng, lat = item.middle
    query = query_of(item.network, Transportation(kind), moment, is_arrival=False, limit=_LIMIT_S)
    detail = parse_level_of_detail(DEFAULT_LEVEL_OF_DETAIL).downgraded(_LIMIT_S)
    draw(query, lng, lat, _LIMIT_S, shape_style(detail))
    find_ways(Trips.of(query, lng, lat, np.array([lng]), np.array([lat])), _LIMIT_S, {"distance"})
