"""
Names in other packages, and the names here; those of types of transportation are in `traveltime_lab.modes.table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Names of functions, and the function here.
FUNCTIONS: Final = {
    "isochrone": "time_map", "isochrones": "time_map", "isodistance": "distance_map",
    "travel_time_matrix": "time_filter", "traveltimematrix": "time_filter",
    "distance_matrix": "time_filter(..., properties=('travel_time', 'distance'))", "shortest_path": "routes",
    "route": "routes", "directions": "routes", "itineraries": "routes", "map": "TravelTimeMap",
    "explore": "TravelTimeMap, or explore() of any answer", "graph_from_place": "build_network",
    "read_network": "load_network", "transportnetwork": "build_network",
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
    "resolution": "res h3_resolution precision",
    "k": "num n n_nearest num_pois maxitems n_neighbors",
    "gtfs": "gtfs_path gtfs_paths feed feeds",
    "osm": "osm_pbf osm_file pbf filepath place",
}
#: Names of options of `TravelTimeMap`, and the option here.
WIDGET_OPTIONS: Final = {
    "mode": "transportation", "modes": "transportation", "minutes": "travel_time, in seconds",
    "time": "travel_time, in seconds", "duration": "travel_time, in seconds", "metres": "distance",
    "departure": "departure_time", "arrival": "arrival_time", "buffer": "buffer_distance", "detail": "level_of_detail",
    "departure_time_window": "window, in seconds", "percentiles": "percentile, one number", "tiles": "base_map",
    "basemap": "base_map",
}  # fmt: skip
