"""
Names in other packages, and the names here; those of types of transportation are in `traveltime_lab.modes.table`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

#: Names of functions, and the function here.
FUNCTIONS: Final = {
    "isochrone": "time_map", "isochrones": "time_map", "isodistance": "distance_map",
    "travel_time_matrix": "time_filter", "traveltimematrix": "time_filter",
    "distance_matrix": "time_filter(..., properties=('travel_time', 'distance'))", "shortest_path": "routes",
    "route": "routes", "directions": "routes", "itineraries": "routes", "map": "TravelTimeMap",
    "explore": "TravelTimeMap, or explore() of any answer", "graph_from_place": "build_network",
    "read_network": "load_network", "transportnetwork": "build_network",
    # osmnx
    "graph_from_xml": "build_network", "graph_from_file": "build_network", "graph_from_address": "build_network",
    "graph_from_bbox": "build_network(..., bounds=(west, south, east, north))",
    "graph_from_point": "build_network(..., bounds=(west, south, east, north))",
    "graph_from_polygon": "build_network(..., bounds=polygon)", "load_graphml": "load_network",
    "save_graphml": "Network.save", "graph_to_gdfs": "Network.nodes_frame and Network.edges_frame",
    "graph_from_gdfs": "build_network((nodes, edges))", "nearest_nodes": "snap", "nearest_edges": "snap",
    "plot_graph": "plot", "plot_graph_route": "plot", "plot_route": "plot", "add_edge_speeds": "add_speeds",
    "add_edge_travel_times": "add_speeds", "add_node_elevations_raster": "add_elevation",
    "basic_stats": "Network.report",
    # r5py and r5r
    "traveltimematrixcomputer": "time_filter", "detaileditineraries": "routes",
    "detaileditinerariescomputer": "routes", "detailed_itineraries": "routes", "transportmode": "Transportation",
    "transport_mode": "Transportation", "setup_r5": "build_network", "build_r5_network": "build_network",
    "expanded_travel_time_matrix": "time_filter",
    # pandana and pyrosm
    "network_from_bbox": "build_network(..., bounds=(west, south, east, north))", "osm": "build_network",
    "pdna_network_from_bbox": "build_network(..., bounds=(west, south, east, north))", "read_osm": "build_network",
    "osm_from_file": "build_network", "nearest_pois": "nearest", "aggregate": "accessibility",
    "shortest_path_length": "time_filter", "shortest_path_lengths": "time_filter",
    # QGIS, routers and hosted services
    "service_area": "time_map", "service_areas": "time_map", "serviceareafrompoint": "time_map",
    "catchment": "time_map", "catchment_area": "time_map", "get_isochrone": "time_map", "get_isochrones": "time_map",
    "reachable_area": "time_map", "travel_time_map": "time_map", "time_map_fast": "time_map",
    "od_matrix": "time_filter", "od_cost_matrix": "time_filter", "cost_matrix": "time_filter", "table": "time_filter",
    "matrix": "time_filter", "time_filter_fast": "time_filter", "closest_facility": "nearest", "geocoding": "geocode",
    "geocoding_search": "geocode", "geocoding_reverse": "reverse_geocode", "h3": "h3_cells", "geohash": "geohash_cells",
}  # fmt: skip
#: Names of parts of a network, and the corresponding names here.
ATTRIBUTES: Final = {
    "nodes": "nodes_frame()", "nodes_df": "nodes_frame()", "gdf_nodes": "nodes_frame()", "vertices": "nodes_frame()",
    "edges": "edges_frame()", "edges_df": "edges_frame()", "gdf_edges": "edges_frame()", "links": "edges_frame()",
    "stops": "stops_frame()", "routes": "routes_frame()", "lines": "routes_frame()", "trips": "trips_frame()",
    "graph": "to_networkx()", "g": "to_networkx()", "to_graph": "to_networkx()",
    "bbox": "bounds", "extent": "bounds", "total_bounds": "bounds", "precompute": "prepare(...)",
    "get_nearest": "traveltime_lab.snap(network, ...)", "get_node_ids": "traveltime_lab.snap(network, ...)",
    "nearest_pois": "traveltime_lab.nearest(network, ...)",
    "shortest_path_length": "traveltime_lab.time_filter(network, ...)",
    "street_network": "edges_frame()", "edges_gdf": "edges_frame()", "nodes_gdf": "nodes_frame()",
    "gdf": "edges_frame()", "to_gdf": "edges_frame()", "to_gdfs": "edges_frame()", "to_geopandas": "edges_frame()",
    "plot_graph": "plot()", "to_graphml": "save(path)", "transport_modes": "report()['modes']",
    "modes": "report()['modes']", "set_pois": "traveltime_lab.nearest(network, origins, places, ...)",
    "set": "traveltime_lab.accessibility(network, origins, opportunities, values=...)",
    "range": "traveltime_lab.time_filter(network, ...)",
    "aggregate": "traveltime_lab.accessibility(network, origins, opportunities, values=...)",
    "to_file": "save(path)", "write": "save(path)", "info": "report()", "describe": "report()", "summary": "report()",
}  # fmt: skip
#: Arguments here, and their names in other packages.
ARGUMENTS: Final[Mapping[str, str]] = {
    "departure_time": """departure departure_datetime depart depart_at departs_at leave_at start_time datetime date_time
        moment time when""",
    "arrival_time": "arrival arrival_datetime arrive arrive_by arrive_at end_time",
    "travel_time": """max_time max_travel_time max_duration max_trip_duration max_minutes minutes trip_time trip_times
        cutoff cutoffs cutoff_sec duration time_limit seconds""",
    "distance": "max_distance cutoff_distance dist metres meters length",
    "transportation": """mode modes type transport transport_mode transport_modes transportation_mode travel_mode
        transportation_type network_type profile costing vehicle means""",
    "type": "mode transportation transport transport_mode transportation_type",
    "mode": "transportation transport_mode network_type",
    "origins": """origin from_ from_point from_points start starts source sources orig departure_location point points
        location locations places center centre center_point coords""",
    "origin": "origins from_ from_point start source orig departure_location",
    "destinations": "destination to to_point to_points end ends target targets dest arrival_location",
    "destination": "destinations to to_point end target dest arrival_location",
    "points": "origins point location locations places",
    "network": "graph g transport_network net",
    "networks": "network graph net",
    "window": "departure_time_window time_window range",
    "walking_speed": "speed_walking walk_speed walking_kph",
    "cycling_speed": "speed_cycling bike_speed cycle_speed cycling_kph",
    "max_stress": "max_lts lts max_bike_traffic_stress stress",
    "step_free": "wheelchair wheelchair_accessible accessible stair_free steps_free barrier_free no_stairs",
    "max_incline": "maximum_incline max_slope max_grade incline",
    "min_width": "minimum_width width",
    "avoid": "avoid_features avoid_unlit unlit lit avoid_bad_surfaces surface unpaved paved",
    "resolution": "res h3_resolution precision",
    "k": "num n n_nearest num_pois maxitems n_neighbors",
    "gtfs": "gtfs_path gtfs_paths feed feeds",
    "osm": "osm_pbf osm_file pbf filepath place",
}
#: Functions and arguments that they do not have, and what to do instead.
INSTEAD: Final[Mapping[tuple[str, str], str]] = {
    **{
        ("build_network", name): "A network has the streets of all modes; a search chooses with transportation=."
        for name in ("network_type", "mode", "modes", "transportation", "custom_filter")
    },
    **{
        ("build_network", name): "Networks are simplified and connected when they are built."
        for name in ("simplify", "retain_all", "twoway")
    },
    **{
        ("distance_map", name): "It takes distance=, in metres; areas by travel_time are those of time_map."
        for name in ("travel_time", *ARGUMENTS["travel_time"].split())
    },
    **{
        (function, name): "It takes travel_time=, in seconds; areas by distance are those of distance_map."
        for function in ("time_map", "h3_cells", "geohash_cells")
        for name in ("distance", *ARGUMENTS["distance"].split())
    },
    **{
        (function, name): "Searches minimise time; properties=['travel_time', 'distance'] returns metres as well."
        for function in ("time_filter", "routes", "nearest")
        for name in ("weight", "impedance", "imp_name", "metric", "cost")
    },
    **{
        (function, name): "It takes travel_time=, in seconds."
        for function in ("nearest", "time_filter", "accessibility")
        for name in ("distance", "maxdist", "max_distance", "search_radius")
    },
    ("reliability", "arrival_time"): (
        "A passenger departs when it is planned, and is late or not: give departure_time=."
    ),
}
#: Names of options of `TravelTimeMap`, and the option here.
WIDGET_OPTIONS: Final = {
    "mode": "transportation", "modes": "transportation", "minutes": "travel_time, in seconds",
    "time": "travel_time, in seconds", "duration": "travel_time, in seconds", "metres": "distance",
    "departure": "departure_time", "arrival": "arrival_time", "buffer": "buffer_distance", "detail": "level_of_detail",
    "departure_time_window": "window, in seconds", "percentiles": "percentile, one number", "tiles": "base_map",
    "basemap": "base_map",
}  # fmt: skip
#: The first name in what stands for a name elsewhere, before arguments, other names or prose.
_FIRST_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
#: Least share of letters in common of similar names (assumed: "timemap" is one of time_map, "union" none of unions).
_ALIKE: Final = 0.8


def similar(name: str, here: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """
    Return the end of an error about an unknown name: similar ones, empty if there are none.

    Parameters
    ----------
    name : str
    here : iterable of str
        Names that exist.
    elsewhere : mapping
        Names in other packages, and those here, which they stand for.
    """
    if name.startswith("_"):
        return ""
    known: dict[str, list[str]] = {}
    for each in here:  # a class may have the letters of a function
        known.setdefault(_letters(each), []).append(each)
    known = {**{_letters(each): [_first_name(use)] for each, use in elsewhere.items()}, **known}
    close = difflib.get_close_matches(_letters(name), known, n=3, cutoff=_ALIKE)
    found = dict.fromkeys(each for letters in close for each in known[letters])
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def _first_name(use: str) -> str:
    found = _FIRST_NAME.match(use)
    return found[0] if found else use


def _letters(name: str) -> str:
    return name.lower().replace("_", "")
