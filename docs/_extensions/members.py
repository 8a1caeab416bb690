"""
The members of classes in the reference, by what users do with them; what is not listed is internal.

Classes without an entry are described by their docstring alone, which has their attributes.
"""

from __future__ import annotations

#: For each class, the members under each heading; an empty heading is the class itself.
MEMBERS: dict[str, dict[str, list[str]]] = {
    "Network": {
        "Look at it": [
            "report",
            "plot",
            "explore",
            "nodes_frame",
            "edges_frame",
            "stops_frame",
            "stress_islands",
            "routes_frame",
            "trips_frame",
        ],
        "Facts": ["bounds", "crs", "is_left_hand", "n_nodes", "n_edges", "typical_day"],
        "Change it": ["with_changes", "changes", "with_updates", "updates"],
        "Prepare and save it": ["prepare", "prepared", "save"],
        "Use it in other packages": ["to_networkx", "to_osmnx", "to_pandana"],
    },
    "TravelTimeMap": {
        "Results": ["areas", "day_curve", "error", "ask", "cancel"],
        "Origins": ["add_origin", "move_origin", "remove_origin"],
        "Data of one's own": ["add_layer", "remove_layer", "fit"],
        "Exports": ["code", "to_cell", "to_geojson", "to_parquet", "to_png", "to_html"],
    },
    "SideBySideMap": {"": ["state", "changes", "code"]},
    "Costs": {"": ["grams_per_km", "money_per_km", "factors_frame"]},
    "Decay": {"": ["weights"]},
    "Explanation": {"": ["codes"]},
    "Fares": {"": ["totals"]},
    "Leg": {"": ["origin", "destination", "way"]},
    "Nominatim": {"": ["geocode", "reverse_geocode"]},
    "ObservedDays": {"": ["digest", "select", "quality", "findings", "delays", "plot"]},
    "Route": {"": ["travel_time", "distance", "distance_breakdown", "on_foot", "geometry", "legs_frame"]},
}
#: Classes that functions return; the reference leaves out the arguments of the constructor.
NOT_CONSTRUCTED = [
    "Alert", "Calibration", "Explanation", "Fares", "Leg", "Network", "ObservedDays", "PreparedPoints", "Reason",
    "Replay", "Ride", "Route", "Step", "StopCall", "Ticket",
]  # fmt: skip


def kinds() -> dict[str, str]:
    """Return for each member, such as ``Network.report``, whether it is a ``method`` or a ``property``."""
    import traveltime_lab

    return {
        f"{name}.{member}": "method" if callable(getattr(getattr(traveltime_lab, name), member)) else "property"
        for name, groups in MEMBERS.items()
        for group in groups.values()
        for member in group
    }
