"""
The updates that a network has: what was applied and what was not, alerts and vehicles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from traveltime_lab._digests import digest
from traveltime_lab.errors import InputError
from traveltime_lab.realtime.apply import applied, fingerprint_parts, with_trips_before
from traveltime_lab.realtime.archives.day import DayMessages
from traveltime_lab.realtime.growing import Growing
from traveltime_lab.realtime.match import feed_number
from traveltime_lab.realtime.messages import Messages, read_messages
from traveltime_lab.realtime.plan import APPLIED, Plan
from traveltime_lab.realtime.ride_alerts import RideAlerts
from traveltime_lab.realtime.schema import TRIP_RELATIONS
from traveltime_lab.realtime.sources import NONE, sources_of
from traveltime_lab.realtime.station_alerts import closed_pathways
from traveltime_lab.transit.timetable import Timetable

if TYPE_CHECKING:
    import geopandas as gpd


@dataclass(frozen=True)
class Updates:
    """
    The live updates of a network, which `Network.updates` returns.

    Attributes
    ----------
    trips : DataFrame
        One row for each update of a trip: ``source`` (file name), ``entity``, ``trip_id``, ``route_id`` and
        ``start_date`` (date of service) of the timetable, or else of the update, ``relationship``, ``applied`` and
        ``reason`` why it was not.
    alerts : DataFrame
        One row for each alert: ``source``, ``entity``, ``cause``, ``effect``, ``header``, ``description``, ``url``,
        ``routes``, ``stops`` and ``trips`` (tuples of ids that it names), ``periods`` and ``result``, which says
        what it closes, or ``"note"`` for alerts without an effect on the timetable.
    counts : dict
        Numbers for reports: what was done to trips and stops, and how many updates were not applied, by reason.
    timestamp : Timestamp or None
        When the latest message was written, in UTC.
    """

    trips: pd.DataFrame
    alerts: pd.DataFrame
    counts: dict[str, Any]
    timestamp: pd.Timestamp | None
    messages: Messages
    of_ride: RideAlerts | None = None

    def __repr__(self) -> str:
        """Return the numbers in one line."""
        n = int(self.trips["applied"].sum())
        when = "" if self.timestamp is None else f", {self.timestamp:%Y-%m-%d %H:%M:%S} UTC"
        return f"<Updates: {n:,} of {len(self.trips):,} trips applied, {len(self.alerts):,} alerts{when}>"

    def facts(self) -> dict[str, Any]:
        """Return the numbers for a report, as plain values."""
        when = None if self.timestamp is None else self.timestamp.isoformat()
        return {"timestamp": when, **self.counts}

    @cached_property
    def vehicles(self) -> gpd.GeoDataFrame:
        """
        Positions of vehicles in EPSG:4326, for maps.

        Columns are ``source``, ``vehicle_id``, ``label``, ``trip_id``, ``route_id``, ``stop_id``, ``status``,
        ``timestamp`` (UTC), ``bearing`` (degrees) and ``speed`` (m/s). Positions that are none are missing.
        """
        import geopandas as gpd  # noqa: PLC0415

        frame = self.messages.vehicles
        lng, lat = frame["lng"].to_numpy(np.float64), frame["lat"].to_numpy(np.float64)
        good = (np.abs(lng) <= 180) & (np.abs(lat) <= 90)
        points = gpd.points_from_xy(np.where(good, lng, 0.0), np.where(good, lat, 0.0), crs="EPSG:4326")
        found = frame.drop(columns=["lng", "lat"])
        seconds = frame["timestamp"].where(frame["timestamp"] != NONE)
        found["timestamp"] = pd.to_datetime(seconds, unit="s", utc=True)
        found["source"] = self.messages.sources["name"].to_numpy(object)[frame["source"].to_numpy(np.int64)]
        made = gpd.GeoDataFrame(found, geometry=points)
        made.loc[~good, "geometry"] = None
        return made


def read_updates(source: Any, feed: str | None) -> Messages:
    """Read messages; see `Network.with_updates`."""
    if feed is not None and not isinstance(feed, str):
        raise InputError(f"feed must be the name of a feed; got {feed!r}")
    found = sources_of(source, feed)
    if not found:
        raise InputError("updates must have at least one message; got none")
    return read_messages(found)


def check_planned(timetable: Timetable | None, report: Mapping[str, Any]) -> None:
    """Raise InputError for a network without a timetable, or whose report says that it was saved with updates."""
    if timetable is None:
        raise InputError("with_updates needs a timetable, which this network has not; build it with gtfs=[...]")
    if "updates" in report:
        raise InputError(
            "with_updates needs the planned timetable; this network was saved with updates, which would be applied "
            "twice. Save the network without updates, and call with_updates after it is loaded"
        )


def with_updates(
    timetable: Timetable, messages: Messages, growing: Growing | None = None
) -> tuple[Timetable, Updates, bytes]:
    """
    Return a timetable with updates, the report, and a hash of what differs, empty if nothing does.

    Raises
    ------
    InputError
        If a feed is named that the timetable does not have.
    """
    names = timetable.feeds["name"].astype(str).tolist()
    titles = messages.sources["name"].tolist()
    feeds = np.array([feed_number(names, name) for name in messages.sources["feed"]], np.int64)
    of_alerts = [int(feeds[alert["source"]]) for alert in messages.alerts]
    read = Messages(messages.sources, messages.trips, messages.alerts, messages.vehicles)
    if isinstance(messages, DayMessages):
        plan: Plan = messages.plan(timetable, feeds[read.trips.source], read)
    else:
        plan = Plan(timetable, read, feeds[read.trips.source], of_alerts)
    edits = with_trips_before(timetable, plan.edits)
    updated = applied(timetable, edits, growing)
    if isinstance(messages, DayMessages) and updated is not timetable:
        # A past day takes no further updates, which name stops by these numbers.
        updated = replace(updated, sequences=None)
    mark = digest(fingerprint_parts(plan.edits)).digest() if plan.edits else b""
    closed, plan.alert_effect = closed_pathways(timetable, read.alerts, of_alerts, plan.alert_effect)
    if closed is not None and updated.pathways is not None:
        updated = replace(updated, pathways=replace(updated.pathways, is_closed=closed))
        mark = digest(mark, closed).digest()
    times = messages.sources["timestamp"]
    latest = int(times.max())
    updates = Updates(
        _trips(timetable, read, plan),
        _alerts(read, plan),
        _counts(read, plan),
        pd.Timestamp(latest, unit="s", tz="UTC") if latest >= 0 else None,
        messages,
        RideAlerts(updated, edits.copies(timetable.n_trips), messages.alerts, of_alerts, titles)
        if messages.alerts
        else None,
    )
    return updated, updates, mark


def _trips(timetable: Timetable, messages: Messages, plan: Plan) -> pd.DataFrame:
    updates, matches = messages.trips, plan.matches
    is_known = matches.trip >= 0
    rows = np.where(is_known, matches.trip, 0)
    columns: dict[str, Any] = {
        "source": messages.sources["name"].to_numpy(object)[updates.source],
        "entity": updates.entity,
    }
    if timetable.n_trips and len(updates):
        trip_ids = timetable.trips["trip_id"].iloc[rows].to_numpy(object)
        route_ids = timetable.routes["route_id"].iloc[timetable.hot.trip_route[rows]].to_numpy(object)
        columns["trip_id"] = np.where(is_known, trip_ids, updates.trip_id)
        columns["route_id"] = np.where(is_known, route_ids, updates.route_id)
    else:
        columns |= {"trip_id": updates.trip_id, "route_id": updates.route_id}
    day = pd.to_datetime(np.where(matches.date > 0, matches.date - 719_163, -1), unit="D").to_series(index=None)
    columns["start_date"] = day.where(matches.date > 0).to_numpy()
    relations = {number: name for name, number in TRIP_RELATIONS.items()}
    columns["relationship"] = [relations.get(value, str(value)) for value in updates.relation.tolist()]
    columns["applied"] = np.array([result == APPLIED for result in plan.result], np.bool_)
    columns["reason"] = ["" if result == APPLIED else result for result in plan.result]
    return pd.DataFrame(columns)


def _alerts(messages: Messages, plan: Plan) -> pd.DataFrame:
    names = messages.sources["name"].to_numpy(object)

    def ids(alert: dict[str, Any], *keys: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each[key] for each in alert["selectors"] for key in keys if key in each))

    rows = [
        {
            "source": names[alert["source"]], "entity": alert["entity"], "cause": alert["cause"],
            "effect": alert["effect"], "header": alert["header"], "description": alert["description"],
            "url": alert["url"], "routes": ids(alert, "route_id", "trip.route_id"), "stops": ids(alert, "stop_id"),
            "trips": ids(alert, "trip.trip_id"), "periods": tuple(alert["periods"]), "result": result,
        }
        for alert, result in zip(messages.alerts, plan.alert_effect, strict=True)
    ]  # fmt: skip
    columns = (
        "source", "entity", "cause", "effect", "header", "description", "url", "routes", "stops", "trips", "periods",
        "result",
    )  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _counts(messages: Messages, plan: Plan) -> dict[str, Any]:
    reasons = Counter(result for result in plan.result if result != APPLIED)
    effects = Counter(result for result in plan.alert_effect if result != "note")
    return {
        "updates_of_trips": len(plan.result),
        "applied": len(plan.result) - reasons.total(),
        "not_applied": dict(reasons.most_common()),
        "trips": {name: n for name, n in plan.trips.items() if n},
        "stops": {name: n for name, n in plan.stops.items() if n},
        "alerts": len(messages.alerts),
        "alerts_on_timetable": dict(effects),
        "vehicles": len(messages.vehicles),
    }
