"""What calls are made from: places, keywords, and values of them around their limits and of each form."""

from __future__ import annotations

from traveltime_lab import limits
from traveltime_lab.modes import table
from traveltime_lab.search.accessibility.accessibility import MEASURES
from traveltime_lab.search.cell_times import CELL_PROPERTIES
from traveltime_lab.search.properties import names_for
from traveltime_lab.search.routes import ROUTE_PROPERTIES
from traveltime_lab.search.time_filter import FORMS

TUESDAY = "'2019-05-14T08:00:00'"

TYPES = (*table.STREET_TYPES, *table.ALIASES, *table.TIMETABLE_TYPES)

#: By function: its places in Porto Alegre, those in Helsinki, and keywords that it needs or that keep it quick.
SEARCHES: dict[str, tuple[str, str, dict[str, str]]] = {
    "time_filter": ("POA, A, B", "HEL, HA, HB", {"travel_time": "2400"}),
    "nearest": ("POA, A, B", "HEL, HA, HB", {"travel_time": "2400", "k": "2"}),
    "routes": ("POA, ONE, B", "HEL, HA, HB", {}),
    "time_map": ("POA, ONE", "HEL, HA", {"travel_time": "600", "level_of_detail": "'low'"}),
    "distance_map": ("POA, ONE", "HEL, HA", {"distance": "700", "level_of_detail": "'low'"}),
    "h3_cells": ("POA, ONE", "HEL, HA", {"travel_time": "600", "resolution": "9"}),
    "geohash_cells": ("POA, ONE", "HEL, HA", {"travel_time": "600", "resolution": "7"}),
    "accessibility": ("POA, A, RANDOM", "HEL, HA, HRANDOM", {"travel_time": "1500", "values": "'people'"}),
    "pareto_routes": ("POA, ONE, B", "HEL, HONE, HB", {"travel_time": "1200"}),
    "explain": ("POA, ONE, B.iloc[[3]]", "HEL, HONE, HB.iloc[[1]]", {"travel_time": "300"}),
    "snap": ("POA, RANDOM", "HEL, HRANDOM", {}),
    "prepare_points": ("POA, A", "HEL, HA", {}),
    "shape_accuracy": ("POA, tl.time_map(POA, ONE, travel_time=300), ONE", "HEL, AREAS, HA", {"n_points": "60"}),
    "matrix_frame": ("POA, A, B", "HEL, HA, HB", {"travel_time": "1200"}),
    "write_matrix": (
        "POA, A, B, FOLDER / 'out'", "HEL, HA, HB, FOLDER / 'out'", {"travel_time": "1200", "progress": "False"},
    ),
    "write_areas": (
        "POA, ONE, FOLDER / 'out'", "HEL, HA, FOLDER / 'out'",
        {"travel_time": "500", "progress": "False", "level_of_detail": "'low'"},
    ),
}  # fmt: skip

#: Other functions: a right call and its optional keywords.
OTHERS: dict[str, tuple[str, dict[str, str]]] = {
    "geocode": ("HEL, 'Forum'", {}),
    "reverse_geocode": ("HEL, 24.9414, 60.1711", {}),
    "compare": ("TIMES, LATER", {}),
    "inequality": ("HRANDOM, 'people'", {"weights": "'beds'", "threshold": "100"}),
    "alkire_foster": ("HRANDOM, {'people': 100, 'beds': 20}", {"k": "1"}),
    "counts_to_h3": ("HRANDOM", {"resolution": "9", "values": "['people', 'beds']"}),
    "counts_to_points": ("HRANDOM, HA", {"values": "'people'"}),
    "difference": ("AREAS.iloc[[1]], AREAS.iloc[[0]]", {}),
    "union": ("AREAS, AREAS.iloc[[0]]", {}),
    "intersection": ("AREAS", {}),
    "union_cells": ("[CELLS, CELLS.iloc[:20]]", {}),
    "intersection_cells": ("[CELLS, CELLS.iloc[:20]]", {}),
    "h3_centroids": ("['8a1fb46622dffff', '891fb466227ffff']", {}),
    "geohash_centroids": ("['ud9wx', 'ud9w']", {}),
    "reliability": (
        "POA, {dt.date(2019, 5, 14): POA}, A, B",
        {
            "departure_time": "'2019-05-14T08:00'", "travel_time": "2400", "window": "120", "percentiles": "[50]",
            "form": "'departures'",
        },
    ),
    "reliability_cells": (
        "POA, {dt.date(2019, 5, 14): POA}, A",
        {"departure_time": "'2019-05-14T08:00'", "travel_time": "1200", "window": "120", "resolution": "7"},
    ),
    "reliability_map": (
        "POA, {dt.date(2019, 5, 14): POA}, A",
        {"departure_time": "'2019-05-14T08:00'", "travel_time": "1200", "window": "120", "percentiles": "[50]"},
    ),
    "calibrate_speeds": ("HEL, OBSERVED", {"classes": "['residential']"}),
    "add_speeds": (
        "HEL", {"classes": "{'residential': 20.0}", "profile": "pd.DataFrame({'edge': [0], 'hour': [8], 'kph': [9.0]})"}
    ),
    "places": ("tl.sample_files('helsinki')['streets'], {'amenity': 'library'}", {}),
    "sample_points": ("", {}),
    "sample_network": ("'helsinki'", {}),
    "sample_files": ("", {}),
    "load_changes": ("FOLDER / 'none.json'", {}),
    "save_changes": ("[], FOLDER / 'changes.json'", {}),
    "load_network": ("saved('HEL')", {}),
    "build_network": ("tl.sample_files('helsinki')['streets']", {"timezone": "'Europe/Helsinki'"}),
    "write_networks": (
        "{'today': []}, FOLDER / 'networks'", {"base": "HEL", "prepare": "'walking'", "progress": "False"},
    ),
    "observed_days": ("POA, LATE", {"gaps": "'planned'", "unobserved": "'drop'", "max_delay": "60"}),
    "receipt": ("TIMES", {}),
    "replay": ("tl.receipt(TIMES), HEL", {"origins": "HA", "destinations": "HB"}),
    "plot": ("HEL, AREAS", {}),
    "side_by_side": ("HEL, AREAS, AREAS", {}),
    "add_elevation": ("HEL, FOLDER / 'none.tif'", {}),
    "serve": ("HEL", {}),
}  # fmt: skip

SNAPPINGS = (
    "{'penalty': 'disabled'}", "{'penalty': 'enabled'}", "{'accept_roads': 'any_drivable'}", "{'threshold': 0}",
    "{'threshold': 15}", "tl.Snapping(threshold=60, accept_roads='any_drivable')", "{'threshold': 20_000_000}",
)  # fmt: skip

WRONG_SNAPPINGS = (
    "{'penalty': 'on'}", "{'accept_roads': 'all'}", "{'threshold': -1}", "{'threshold': 20_000_001}", "{'limit': 5}",
    "'enabled'", "{'threshold': 'far'}", "{'threshold': 1.5}",
)  # fmt: skip

MOMENTS = (
    "'weekday_morning'", "'2019-05-14T08:00'", "'2019-05-14T11:00:00Z'", "'2019-05-14T08:00:00-03:00'",
    "dt.datetime(2019, 5, 14, 8)", "dt.datetime(2019, 5, 14, 11, tzinfo=dt.timezone.utc)",
    "pd.Timestamp('2019-05-18T08:00')", "np.datetime64('2019-05-19T23:30:00')", "'2019-07-16T08:00:00'",
    "'2026-03-02T08:00:00'", "'2019-05-14'", "'soon'", "5", "'2019-05-14T25:00:00'", "'2019-02-30T08:00:00'",
    "dt.date(2019, 5, 14)", "'0001-01-01T00:00:00'", "'9999-12-31T23:59:59'",
)  # fmt: skip

LEVELS = (
    *(f"'{name}'" for name in ("lowest", "low", "medium", "high", "highest")), "2", "0", "-1", "-20", "-21", "3",
    "None", "{'scale_type': 'simple', 'level': 'medium'}", "{'scale_type': 'simple_numeric', 'level': -2}",
    "{'scale_type': 'coarse_grid', 'square_size': 600}", "{'scale_type': 'coarse_grid', 'square_size': 299}",
    "{'scale_type': 'coarse_grid'}", "{'scale_type': 'fine'}", "'best'", "1.5", "True",
)  # fmt: skip

#: By keyword: values around its limits, and some of each form.
VALUES_OF: dict[str, tuple[str, ...]] = {
    "travel_time": (
        "1", "0", "-1", "59", "60", "61", f"{limits.MAX_TRAVEL_TIME_S + 1}", "dt.timedelta(minutes=7)",
        "dt.timedelta(seconds=0.5)", "[300, 100, 200]", "[300, 300]", "[]", "np.array([120, 240])", "300.0", "300.5",
        "'300'", "None", "True", "float('nan')",
    ),
    "distance": (
        f"{limits.MIN_DISTANCE_M}", f"{limits.MIN_DISTANCE_M - 1}", f"{limits.MAX_DISTANCE_M + 1}", "[200, 400]",
        "[]", "300.0", "300.5", "'300'", "-5",
    ),
    "k": ("1", "3", "100", "0", "-1", "1.5", "'2'"),
    "resolution": ("0", "1", "5", "8", "10", "13", "-1", "9.0", "'9'", "True"),
    "window": ("1", "600", "3600", f"{limits.MAX_WINDOW_S + 1}", "0", "-1", "60.5", "'600'"),
    "percentiles": (
        "[50]", "(5, 50, 95)", "[0]", "[100]", "[101]", "[-1]", "[50, 50]", "50", "['a']", "np.array([25.5])",
    ),
    "percentile": ("50", "0", "100", "101", "-1", "12.5", "'50'"),
    "max_results": ("1", "2", f"{limits.MAX_RESULTS}", f"{limits.MAX_RESULTS + 1}", "0", "1.5"),
    "snapping": (*SNAPPINGS, *WRONG_SNAPPINGS),
    "departure_time": MOMENTS,
    "arrival_time": MOMENTS,
    "level_of_detail": LEVELS,
    "no_holes": ("True", "False", "1", "'yes'"),
    "polygons_filter": (
        "1", "2", "{'limit': 1}", "0", "-1", f"{limits.MAX_POLYGONS + 1}", "{'limit': 0}", "{'most': 1}", "'1'",
    ),
    "buffer_distance": (
        f"{limits.MIN_BUFFER_M}", f"{limits.MIN_BUFFER_M - 1}", f"{limits.MAX_BUFFER_M + 1}", "500", "1000.5",
        "'500'",
    ),
    "render_mode": ("'approximate_time_filter'", "'road_buffering'", "'roads'"),
    "remove_water_bodies": ("True", "False", "'no'"),
    "geometry": ("True", "False", "0"),
    "shortest": ("True", "False", "1"),
    "engine": ("'auto'", "'dijkstra'", "'hierarchy'", "'pandana'", "'best'", "None"),
    "form": (*(f"'{form}'" for form in FORMS), "'wide'", "None"),
    "pairs": (
        "'all'", "'aligned'", "'some'", "pd.DataFrame({'origin': ['Rautatieasema'], 'destination': ['Ateneum']})",
        "pd.DataFrame({'origin': ['Forum'] * 2, 'destination': ['Stockmann', 'Nowhere']})",
        "pd.DataFrame({'origin': []})",
    ),
    "measure": (*(f"'{measure}'" for measure in MEASURES), "'all'"),
    "decay": (
        "'linear'", "'exponential'", "'gaussian'", "'logistic'", "'power'", "'step'", "tl.Decay('linear')",
        "{'type': 'exponential', 'scale': 300.0}", "{'type': 'gaussian', 'scale': 200}",
        "{'type': 'power', 'exponent': 1.5}", "{'type': 'logistic', 'midpoint': 400, 'scale': 60}",
        "{'type': 'step', 'steps': {300: 1.0, 900: 0.2}}", "{'type': 'linear', 'scale': 5}", "{'type': 'other'}",
        "{'scale': 5}", "tl.Decay('power', exponent=-1)", "5",
    ),
    "costs": (
        "tl.Costs()", "{'basis': 'operation'}", "{'emissions': {'bus': 80}}", "{'emissions': {'car': 1}}",
        "{'running_cost': {'driving': 0.3}, 'currency': 'EUR'}", "{'running_cost': {'driving': 0.3}}", "5", "None",
    ),
    "max_emissions": ("500", "0", "-1", "'5'", "None"),
    "max_cost": ("2.5", "0", "-1", "'5'", "None"),
    "criteria": ("['travel_time']", "['travel_time', 'emissions']", "[]", "['speed']", "'rides'", "5"),
    "emissions_step": ("10", "0.001", "0", "1001", "'5'"),
    "values": ("'people'", "['people', 'beds']", "None", "'nothing'", "'group'", "[]", "5"),
    "demand": ("'people'", "'beds'", "'nothing'"),
    "limit": ("1", "3", "0", "50", "51", "'5'"),
    "within_country": ("'FI'", "['FI', 'SE']", "'BR'", "'Finland'", "5", "[]"),
    "bounds": (
        "(24.93, 60.16, 24.95, 60.175)", "(24.95, 60.16, 24.93, 60.175)", "(1, 2, 3)", "'box'",
        "(24.93, 60.9, 24.95, 60.175)",
    ),
    "focus": (
        "{'lat': 60.17, 'lng': 24.95}", "shapely.Point(24.95, 60.17)", "{'lat': 91, 'lng': 0}", "{'lat': 60}", "5",
    ),
    "format_name": ("True", "False", "1"),
    "exclude_country": ("True", "False"),
    "role": ("'origin'", "'destination'", "None", "'both'"),
    "n_points": ("1", "100", "0", "1.5"),
    "seed": ("1", "-1", "'a'"),
    "search_id": ("'both'", "5", "None"),
    "column": ("'travel_time'", "'nothing'"),
    "classes": (
        "['residential']", "[('residential', 'tertiary')]", "['nothing']", "[]", "{'residential': 12.5}",
        "{'nothing': 5}", "{'residential': -1}", "{'residential': 500}",
    ),
    "ways": ("{4247500: 20.0}", "{-1: 20.0}", "{}"),
    "edges": ("{0: 10.0, 1: 12.0}", "{10**6: 10.0}", "{0: 0.0}"),
    "factors": ("{'residential': 0.5}", "{'nothing': 0.5}", "{'residential': 0}", "{'residential': 'slow'}"),
    "polygons": ("gpd.GeoDataFrame({'speed': [20.0]}, geometry=[shapely.box(24.93, 60.16, 24.95, 60.18)], crs=4326)",),
    "mode": ("'walking'", "'cycling'", "'driving'", "'bus'"),
    "held_out": ("0.5", "0.1", "0", "0.6", "'half'"),
    "hours": ("{'peak': [7, 8], 'day': range(9, 17)}", "{'peak': [25]}"),
    "part_size": ("2", "1", "0", "1.5"),
    "columns": ("['name']", "['name', 'website']", "'name'", "[5]"),
    "band": ("1", "0"),
    "kind": ("'places'", "'zones'", "'all'"),
    "verify": ("True", "False", "1"),
    "timezone": ("'Europe/Stockholm'", "'Nowhere/City'", "5"),
    "is_left_hand": ("True", "False", "'yes'"),
    "prepare": ("'walking'", "['walking', 'driving']", "'public_transport'", "5"),
    "progress": ("False", "lambda done, total: None", "'yes'"),
    "scheme": ("'quantiles'", "'best'"),
    "labels": ("True", "False"),
    "title": ("'A title'",),
    "street_names": ("False",),
    "legend": ("False",),
    "titles": ("('one', 'two')", "('one',)", "'ab'"),
}  # fmt: skip

#: By function: the properties that it has.
PROPERTIES_OF: dict[str, tuple[str, ...]] = {
    "time_filter": names_for(*FORMS),
    "nearest": names_for(*FORMS),
    "matrix_frame": names_for(*FORMS),
    "write_matrix": names_for(*FORMS),
    "routes": ROUTE_PROPERTIES,
    "h3_cells": (*CELL_PROPERTIES, "share_reachable"),
    "geohash_cells": (*CELL_PROPERTIES, "share_reachable"),
}  # fmt: skip

#: Points in each form; the last ones are refused.
POINTS = (
    "HA", "HA.geometry", "list(HA.geometry)", "HA.geometry.iloc[0]", "(24.9414, 60.1711)",
    "[(24.9414, 60.1711), (24.9383, 60.169)]", "HA.to_crs(3067)", "HA.to_crs(3857)",
    "pd.DataFrame({'lng': [24.9414], 'lat': [60.1711]})", "LOST", "TWICE", "EMPTY", "NEARBY",
    "HA.set_crs(None, allow_override=True)", "gpd.GeoSeries([shapely.Point(24.9414, 60.1711), None], crs=4326)",
    "gpd.GeoSeries([shapely.Point()], crs=4326)",
    "gpd.GeoSeries([shapely.box(24.94, 60.17, 24.95, 60.18)], crs=4326)", "[(60.1711, 24.9414)]", "[(24.9414, 91.0)]",
    "[(float('nan'), 60.0)]", "'Helsinki'", "None", "5", "[]", "[(1, 2, 3)]", "HA.reset_index(drop=True)",
    "HA.set_axis(pd.MultiIndex.from_tuples([(1, 'a'), (1, 'b')]))", "HA.set_axis([0.5, float('nan')])",
    "np.array([[24.9414, 60.1711]])", "tl.h3_centroids(['8a1126d34a37fff'])", "moved(HA, xoff=0.0001)",
)  # fmt: skip
