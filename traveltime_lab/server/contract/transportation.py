"""
Transportation objects of requests: how to travel, by type, for the configurable and for the fast endpoints.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

Seconds: TypeAlias = Annotated[int, Meta(ge=0)]


class MaxChanges(Struct):
    """Most changes between timetable vehicles; `limit` counts only if it is enabled."""

    enabled: bool
    limit: int


# Transportation: a class for each type, so that what does not apply to it is an unknown field, which is ignored -------


class OnStreets(Struct, tag_field="type"):
    """On streets alone, or any fast type."""


class ByTimetable(Struct, tag_field="type", kw_only=True):
    """With a timetable at a given time."""

    pt_change_delay: Seconds | None = None
    walking_time: Seconds | None = None
    max_changes: MaxChanges | None = None


class ByFerry(Struct, tag_field="type", kw_only=True):
    """On streets and by ferry."""

    boarding_time: Seconds | None = None


Traffic: TypeAlias = Literal["optimistic", "balanced", "pessimistic"]
FastTraffic: TypeAlias = Literal["peak", "off_peak"]
Includable: TypeAlias = Literal["track", "restricted"]
Excludable: TypeAlias = Literal["toll"]


class Walking(OnStreets, tag="walking"):
    """On foot."""


class Cycling(OnStreets, tag="cycling"):
    """By bicycle."""


class Driving(OnStreets, tag="driving", kw_only=True):
    """By car."""

    traffic_model: Traffic | None = None
    disable_border_crossing: bool | None = None
    include_roads: list[Includable] | None = None
    exclude_roads: list[Excludable] | None = None


class Ferry(ByFerry, tag="ferry"):
    """On foot and by ferry."""


class CyclingFerry(ByFerry, tag="cycling+ferry"):
    """By bicycle and ferry."""


class DrivingFerry(ByFerry, tag="driving+ferry", kw_only=True):
    """By car and car ferry."""

    traffic_model: Traffic | None = None
    include_roads: list[Includable] | None = None
    exclude_roads: list[Excludable] | None = None


class PublicTransport(ByTimetable, tag="public_transport"):
    """On foot and by anything with a timetable."""


class Bus(ByTimetable, tag="bus"):
    """On foot and by bus."""


class Coach(ByTimetable, tag="coach"):
    """On foot and by coach."""


class Train(ByTimetable, tag="train"):
    """On foot and by rail."""


class DrivingTrain(ByTimetable, tag="driving+train", kw_only=True):
    """By car to a station, by train, then on foot."""

    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    traffic_model: Traffic | None = None


class DrivingPublicTransport(ByTimetable, tag="driving+public_transport", kw_only=True):
    """By car to a station, by anything with a timetable, then on foot."""

    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    traffic_model: Traffic | None = None


class CyclingPublicTransport(ByTimetable, tag="cycling+public_transport", kw_only=True):
    """By bicycle to a station, by anything with a timetable, then on foot."""

    cycling_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None
    boarding_time: Seconds | None = None


Transportation: TypeAlias = (
    Walking
    | Cycling
    | Driving
    | Ferry
    | CyclingFerry
    | DrivingFerry
    | PublicTransport
    | Bus
    | Coach
    | Train
    | DrivingTrain
    | DrivingPublicTransport
    | CyclingPublicTransport
)
DistanceTransportation: TypeAlias = Walking | Cycling | Driving | Ferry | CyclingFerry | DrivingFerry


class FastWalkingFerry(OnStreets, tag="walking+ferry"):
    """On foot and by ferry."""


class FastCyclingFerry(OnStreets, tag="cycling+ferry"):
    """By bicycle and ferry."""


class FastDriving(OnStreets, tag="driving", kw_only=True):
    """By car."""

    traffic_model: FastTraffic | None = None


class FastDrivingFerry(OnStreets, tag="driving+ferry", kw_only=True):
    """By car and car ferry."""

    traffic_model: FastTraffic | None = None


class FastPublicTransport(OnStreets, tag="public_transport", kw_only=True):
    """On foot and by anything with a timetable."""

    walking_time: Seconds | None = None


class FastDrivingPublicTransport(OnStreets, tag="driving+public_transport", kw_only=True):
    """By car to a station, by anything with a timetable, then on foot."""

    walking_time: Seconds | None = None
    driving_time_to_station: Seconds | None = None
    parking_time: Seconds | None = None


FastTransportation: TypeAlias = (
    Walking
    | Cycling
    | FastDriving
    | FastWalkingFerry
    | FastCyclingFerry
    | FastDrivingFerry
    | FastPublicTransport
    | FastDrivingPublicTransport
)
