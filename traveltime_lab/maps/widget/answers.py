"""
The searches of a map. They use the public functions only, so that the areas are those of `time_map`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import geopandas as gpd
import pandas as pd
import shapely

from traveltime_lab.errors import BorderWarning, InputError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.maps import style
from traveltime_lab.maps.widget.origins import Origin, called
from traveltime_lab.maps.widget.rides import legs_of, line_colours, rides_in_words, street_leg
from traveltime_lab.maps.widget.state import Query
from traveltime_lab.moments import TypicalMoment
from traveltime_lab.network.prepared import listed
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search.border import COLUMN
from traveltime_lab.search.query import transit_of, typical_day_of
from traveltime_lab.search.receipts.inputs import input_table
from traveltime_lab.search.receipts.record import NetworkFacts, Request, attrs_of
from traveltime_lab.search.routes import routes
from traveltime_lab.search.set_operations import difference, intersection, union
from traveltime_lab.search.time_filter import time_filter
from traveltime_lab.search.time_map import distance_map, time_map
from traveltime_lab.transit.query import typical_moment
from traveltime_lab.transit.timetable import service_warnings_to

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: Descriptions of why the area of an origin is empty.
REASONS_IN_WORDS: Final = {
    "origin_outside_network": "lies outside the network",
    "origin_not_snapped": "has no usable street nearby",
    "over_limit": "reaches nothing within {limit}: the way to the street alone takes longer",
}
EMPTY_IN_WORDS: Final = {
    "union": "No origin reaches anything.",
    "intersection": "The areas have no ground in common within {limit}.",
    "difference": "Within {limit} the others reach everything that the first does.",
}

NO_ORIGIN: Final = "There is no origin. Click on the map to add one."

#: Number of origins per search; a job can be cancelled between searches.
_BATCH: Final = 4
#: Margin in degrees around the network within which `time_map` does not suspect swapped coordinates.
_NEAR: Final = 0.5
#: Columns of a line of code in a cell; calls that do not fit have an argument in each line.
_COLUMNS: Final = 72

#: Called before each step with the number of completed steps and of all steps; may raise an error to stop.
Step = Callable[[int, int], None]


def _no_step(done: int, total: int) -> None:
    """Ignore the progress."""


def table_of(origins: tuple[Origin, ...]) -> gpd.GeoDataFrame:
    """Return origins as a GeoDataFrame indexed by name."""
    return gpd.GeoDataFrame(
        geometry=gpd.points_from_xy([origin.lng for origin in origins], [origin.lat for origin in origins]),
        index=pd.Index([origin.name for origin in origins], name="origin"),
        crs="EPSG:4326",
    )


def no_areas(measure: str) -> gpd.GeoDataFrame:
    """Return the result of `areas` without rows, for maps without origins."""
    columns = {
        "origin": pd.Series(dtype=object),
        measure: pd.Series(dtype="int32"),
        "reason": pd.Series(dtype=object),
    }
    return gpd.GeoDataFrame(columns, geometry=gpd.GeoSeries([], crs="EPSG:4326"))


def areas(network: Network, query: Query, *, step: Step = _no_step) -> gpd.GeoDataFrame:
    """
    Return the areas of a query.

    Parameters
    ----------
    network : Network
    query : Query
    step : callable, optional
        Called with the progress between searches; may raise an error to stop.

    Returns
    -------
    GeoDataFrame
        One row per origin and ring in EPSG:4326, by origin, small rings first: ``origin`` (its name, or the type of
        combination if origins are combined), ``travel_time`` or ``distance``, ``reason`` (why the area is empty),
        ``reaches_border`` if the border of the network is known, and ``geometry``.

    Raises
    ------
    TravelTimeError
        As in `time_map` or `distance_map`; InputError if there is no origin.
    """
    if not query.origins:
        raise InputError(NO_ORIGIN)
    batches = _batches(network, query.origins)
    found = []
    for done, batch in enumerate(batches):
        step(done, len(batches))
        found.append(_shapes(network, table_of(batch), query))
    step(len(batches), len(batches))
    drawn = pd.concat(found).loc[[origin.name for origin in query.origins]].reset_index(names="origin")
    if query.combine != "each":
        drawn = pd.concat(
            [combined(network, drawn[drawn[query.measure] == limit], query, limit) for limit in query.limits],
            ignore_index=True,
        )
    flag = [COLUMN] if COLUMN in drawn.columns else []
    drawn = drawn[["origin", query.measure, "reason", *flag, "geometry"]]
    drawn.attrs = {}  # the receipt of one of several batches
    return drawn


def with_receipt(network: Network, query: Query, drawn: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Return the areas of a query with the receipt of the map."""
    request = {"measure": query.measure, "limits": query.limits, "combine": query.combine, **query.options}
    tables = {"origins": input_table(table_of(query.origins), ())}
    facts = NetworkFacts.of(network)
    found = drawn.copy(deep=False)
    code = {**request, "code": code_of(query)}
    found.attrs = attrs_of(Request("TravelTimeMap", code, tables, facts, typical_day_of(network, query.options)))
    return found


def _batches(network: Network, origins: tuple[Origin, ...]) -> list[tuple[Origin, ...]]:
    """
    Return origins in batches.

    Origins with swapped coordinates are put into a batch with others: alone, they raise an error in `time_map`.
    """
    swapped = tuple(origin for origin in origins if _looks_swapped(network, origin, margin=_NEAR))
    others = tuple(origin for origin in origins if origin not in swapped)
    if not others:
        return [origins]
    batches = [others[i : i + _BATCH] for i in range(0, len(others), _BATCH)]
    return [(*batches[0], *swapped), *batches[1:]]


def _looks_swapped(network: Network, origin: Origin, *, margin: float = 0.0) -> bool:
    """Return whether an origin is outside of the network, but inside with longitude and latitude swapped."""
    west, south, east, north = network.bounds

    def inside(lng: float, lat: float) -> bool:
        across = (lng - west + margin) % 360.0 <= (east - west) % 360.0 + 2.0 * margin
        return across and south - margin <= lat <= north + margin

    return not inside(origin.lng, origin.lat) and inside(origin.lat, origin.lng)


def _shapes(network: Network, origins: gpd.GeoDataFrame, query: Query) -> gpd.GeoDataFrame:
    """Return the areas of all rings, from one search of each origin."""
    limits = list(query.limits)
    # Warnings are displayed on the map, see `remarks` and `service_remarks`.
    with service_warnings_to(lambda text: None), warnings_to(lambda text: None, BorderWarning):
        if query.measure == "distance":
            return distance_map(network, origins, distance=limits, **query.options)
        return time_map(network, origins, travel_time=limits, **query.options)


def combined(network: Network, ring: gpd.GeoDataFrame, query: Query, limit: int) -> gpd.GeoDataFrame:
    """Return the combination of the areas of one ring."""
    if query.combine == "union":
        shape = union(ring)
    elif query.combine == "intersection":
        shape = intersection(ring)
    else:
        shape = difference(ring.iloc[:1], ring.iloc[1:])
    is_empty = bool(shape.geometry.is_empty.iloc[0])
    flag = {COLUMN: bool(ring[COLUMN].any())} if COLUMN in ring.columns else {}
    return shape.assign(
        origin=query.combine, reason=_why(network, ring, query) if is_empty else None, **flag, **{query.measure: limit}
    )


def _why(network: Network, ring: gpd.GeoDataFrame, query: Query) -> str:
    """Return why a combination is empty."""
    lost = ring[ring["reason"].notna()]
    if len(lost):
        return _sentence(network, query, lost["origin"].iloc[0], str(lost["reason"].iloc[0]))
    return EMPTY_IN_WORDS[query.combine]


def _sentence(network: Network, query: Query, name: Any, reason: str) -> str:
    """Return a sentence on why the area of an origin is empty."""
    notes = f"{called(name)} {REASONS_IN_WORDS[reason]}"
    origin = next(origin for origin in query.origins if origin.name == name)
    if reason == "origin_outside_network" and _looks_swapped(network, origin):
        notes += (
            f" at lng {origin.lng:g}, lat {origin.lat:g}, and inside with longitude and latitude swapped: points are "
            "(x=longitude, y=latitude)"
        )
    return f"{notes}."


def probe(network: Network, query: Query, lng: float, lat: float) -> gpd.GeoDataFrame:
    """
    Return the travel time, distance and route between each origin and a point.

    Parameters
    ----------
    network : Network
    query : Query
    lng, lat : float
        Coordinates of the point in EPSG:4326.

    Returns
    -------
    GeoDataFrame
        One row per origin: ``origin``, ``travel_time`` (Int32, s), ``distance`` (Float64, m), ``reason``, ``rides``
        (summary of the legs, "" without transit legs), ``legs`` (tuple of `LegShown`) and the line of the route. With a
        window, the row is the fastest itinerary; with random headways it has neither route nor length. With a
        percentile, ``relied`` (Int32, s) is the travel time within which at least that percentage of the departures
        arrive.

    Raises
    ------
    TravelTimeError
        As in `time_filter` and `routes`.
    """
    # Warnings are displayed on the map, see `service_remarks`.
    with service_warnings_to(lambda text: None), warnings_to(lambda text: None, BorderWarning):
        origins = table_of(query.origins)
        point = gpd.GeoSeries.from_xy([lng], [lat], index=["here"], crs="EPSG:4326")
        ends = (point, origins) if query.is_arrival else (origins, point)
        options = {**query.question.arguments, "travel_time": MAX_TRAVEL_TIME_S}
        if query.transportation.headways == "random":
            # Each departure of the window has journeys of its own, so that there is no route to show.
            found = gpd.GeoDataFrame(time_filter(network, *ends, **options))
            found = found.assign(distance=pd.NA, rides="", legs=[()] * len(found))
            found = found.set_geometry([shapely.LineString()] * len(found), crs="EPSG:4326")
            found["distance"] = found["distance"].astype("Float64")
        elif query.transportation.uses_timetable:
            del options["travel_time"]
            # With average headways there are no routes of a window, but one of its beginning.
            is_average = query.transportation.headways == "average"
            found = routes(network, *ends, **options | ({"window": None} if is_average else {}))
            found["rides"] = [rides_in_words(route) for route in found["route"]]
            colours = line_colours(network, found["route"])
            found["legs"] = [legs_of(route, colours) for route in found["route"]]
        else:
            found = time_filter(network, *ends, properties=("travel_time", "distance", "route"), **options)
            found["rides"] = ""
            found["legs"] = [street_leg(query, line) for line in found.geometry]
        columns = ["travel_time", "distance", "reason", "rides", "legs"]
        if query.percents:
            columns.append("relied")
            options |= {"travel_time": MAX_TRAVEL_TIME_S, "percentiles": query.percents}
            spread = time_filter(network, *ends, **options)
            found["relied"] = spread.filter(like="travel_time_p").iloc[:, 0]
        if query.is_arrival:
            found["origin"] = found["destination"]
        return found[["origin", *columns, "geometry"]]


def remarks(network: Network, query: Query, drawn: gpd.GeoDataFrame) -> list[str]:
    """Return a sentence for each origin or combination with an empty area."""
    if not query.origins:
        return [NO_ORIGIN]
    notes: dict[str, str] = {}
    empty = drawn[drawn.geometry.is_empty]
    for name, reason, limit in zip(empty["origin"], empty["reason"], empty[query.measure], strict=True):
        words = _sentence(network, query, name, reason) if reason in REASONS_IN_WORDS else str(reason)
        short = style.minutes_label(limit) if query.measure == "travel_time" else style.metres_label(limit)
        notes[str(name)] = words.replace("{limit}", short)
    return [*notes.values(), *_border_remarks(query, drawn)]


def _border_remarks(query: Query, drawn: gpd.GeoDataFrame) -> list[str]:
    """Return a sentence on the areas that extend to the border of the streets, if there are some."""
    if COLUMN not in drawn.columns:
        return []
    flagged = drawn[drawn[COLUMN].to_numpy(bool) & ~drawn.geometry.is_empty.to_numpy()]
    names = list(dict.fromkeys(flagged["origin"]))
    if not names:
        return []
    of = (
        f" of {listed(tuple(called(name) for name in names))}"
        if query.combine == "each" and len(query.origins) > 1
        else ""
    )
    begin = f"The areas{of} extend" if len(names) > 1 else f"The area{of} extends"
    return [f"{begin} to the border of the streets: what lies beyond it is missing."]


def service_remarks(network: Network, query: Query) -> list[str]:
    """Return the warnings of the timetable for the date of a query, such as little service on that day."""
    moment, is_arrival = query.question.moment, query.is_arrival
    if network.timetable is None or moment is None:
        return []
    if isinstance(moment, TypicalMoment):
        if not query.transportation.uses_timetable or network.typical_day is None:
            return []
        moment = typical_moment(transit_of(network), is_arrival=is_arrival)
    notes: list[str] = []
    with service_warnings_to(notes.append):
        network.timetable.check_moment(moment, name="arrival_time" if is_arrival else "departure_time")
    return notes


def code_of(query: Query, *, is_compared: bool = False) -> str:
    """
    Return Python code for a notebook cell that computes the areas on the map, or on two maps of two networks.

    The code requires the variable ``network``. It creates ``areas``, the result of `areas` without the column
    ``reason``. If two maps are compared, it requires ``network_after``, too, and creates ``before`` and ``after``.
    """
    origins = query.origins
    function = "time_map" if query.measure == "travel_time" else "distance_map"
    options = [f"{name}={value!r}" for name, value in query.options.items()]
    lines = [
        "import geopandas as gpd",
        *(["import pandas as pd"] if query.combine != "each" else []),
        "",
        "import traveltime_lab as tl",
        "",
        "origins = gpd.GeoSeries.from_xy(",
        f"    {[round(origin.lng, 7) for origin in origins]},",
        f"    {[round(origin.lat, 7) for origin in origins]},",
        f"    index={[origin.name for origin in origins]!r},",
        '    crs="EPSG:4326",',
        ")",
    ]
    limits = list(query.limits) if len(query.limits) > 1 else query.limits[0]
    unit = "seconds" if function == "time_map" else "metres"
    measure = f"{query.measure}={limits}"

    def search(result: str) -> list[str]:
        line = f"{result} = tl.{function}({', '.join(['network', 'origins', measure, *options])})  # {unit}"
        if len(line) <= _COLUMNS:
            return [line]
        arguments = ["network,", "origins,", f"{measure},  # {unit}", *(f"{option}," for option in options)]
        return [f"{result} = tl.{function}(", *(f"    {argument}" for argument in arguments), ")"]

    if query.combine == "each":
        body = [*search("areas"), 'areas = areas.rename_axis("origin").reset_index()']
    else:
        arguments = "ring.iloc[:1], ring.iloc[1:]" if query.combine == "difference" else "ring"
        body = [
            *search("rings"),
            "areas = pd.concat(",
            "    [",
            f"        tl.{query.combine}({arguments}).assign(",
            f"            origin={query.combine!r}, {query.measure}=limit",
            "        )",
            f"        for limit, ring in rings.groupby({query.measure!r})",
            "    ],",
            "    ignore_index=True,",
            ")",
        ]
    if not is_compared:
        return "\n".join([*lines, *body, "tl.plot(network, areas, origins)"])
    return "\n".join(
        [
            *lines, "", "", "def areas_of(network):", *(f"    {line}" for line in body), "    return areas", "", "",
            "before, after = areas_of(network), areas_of(network_after)",
            "tl.side_by_side(",
            "    network, before, after, origins, network_after=network_after",
            ")",
        ]
    )  # fmt: skip
