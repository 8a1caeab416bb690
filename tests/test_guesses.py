"""
What people write who come from other packages: osmnx, r5py, pandana, QGIS, pandas and the hosted service.

Each guess gets an answer that is right, or an error that names the right word.
"""

from __future__ import annotations

import datetime as dt
import inspect
import os
import re
import warnings
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from traveltime_lab import _elsewhere

LNG, LAT = -51.2278, -30.0276
EIGHT = dt.datetime(2019, 5, 14, 8)

#: Source of the guess, what is written, and what the error says.
ERRORS = [
    ("osmnx", "tl.graph_from_file('city.pbf')", "use build_network"),
    ("osmnx", "tl.graph_from_place('Porto Alegre')", "use build_network"),
    ("osmnx", "tl.graph_from_bbox(-51.3, -30.1, -51.1, -30.0)", r"use build_network\(\.\.\., bounds="),
    ("osmnx", "tl.graph_from_places('Porto Alegre')", "did you mean 'build_network'"),
    ("osmnx", "tl.nearest_nodes(network, LNG, LAT)", "use snap"),
    ("osmnx", "tl.plot_graph(network)", "use plot"),
    ("osmnx", "tl.shortest_path(network, homes, work)", "use routes"),
    ("osmnx", "tl.build_network('city.pbf', network_type='walk')", "the streets of all modes; .* transportation="),
    ("osmnx", "network.nodes", r"use nodes_frame\(\)"),
    ("osmnx", "network.edges_gdf", r"use edges_frame\(\)"),
    ("osmnx", "network.edge_frame", "did you mean 'edges_frame'"),
    ("osmnx", "tl.routes(network, homes, work, weight='length')", "Searches minimise time; .* returns metres"),
    ("r5py", "tl.TransportNetwork('city.pbf', ['feed.zip'])", "use build_network"),
    ("r5py", "tl.TravelTimeMatrix(network, origins=homes)", "use time_filter"),
    ("r5py", "tl.TravelTimeMatrixComputer(network)", "use time_filter"),
    ("r5py", "tl.DetailedItineraries(network)", "use routes"),
    ("r5py", "tl.Isochrones(network, origins=homes)", "use time_map"),
    ("r5py", "tl.TransportMode.WALK", "use Transportation"),
    ("r5py", "network.travel_time_matrix(homes, work)", r"use traveltime_lab\.time_filter\(network"),
    ("r5py", "times(max_time=30)", "Use 'travel_time', in seconds"),
    ("r5py", "times(transport_modes=['walking'])", "Use 'transportation'"),
    ("r5py", "times(transportation=['WALK', 'TRANSIT'])", "Use 'public_transport'"),
    ("r5py", "times(transportation=['BICYCLE', 'TRANSIT'])", r"Use 'cycling\+public_transport'"),
    ("r5py", "times(transportation=['walking'])", "Use 'walking'"),
    ("r5py", "times(departure=EIGHT)", "Use 'departure_time'"),
    ("r5py", "times(transportation='bus', departure_time_window=600, departure_time=EIGHT)", "Use 'window'"),
    ("r5py", "times(transportation='bus')", "needs departure_time or arrival_time"),
    ("pandana", "tl.Network([1.0], [2.0], [0], [1], [5.0])", "create a network with build_network"),
    ("pandana", "tl.Network('city.network')", "create a network with build_network"),
    ("pandana", "network.nearest_pois(500, 'shops')", r"use traveltime_lab\.nearest\(network"),
    ("pandana", "network.get_node_ids([LNG], [LAT])", r"use traveltime_lab\.snap\(network"),
    ("pandana", "network.aggregate(500)", r"use traveltime_lab\.accessibility\(network"),
    ("pandana", "network.set_pois('shops', 500, 5, [LNG], [LAT])", r"use traveltime_lab\.nearest\(network"),
    ("pandana", "tl.nearest(network, homes, work, num_pois=3)", "Use 'k'"),
    ("pandana", "tl.nearest(network, homes, work, maxdist=500)", "It takes travel_time=, in seconds"),
    ("QGIS", "tl.service_area(network, homes, 600)", "use time_map"),
    ("QGIS", "tl.isochrone(network, homes, 600)", "use time_map"),
    ("QGIS", "tl.od_matrix(network)", "use time_filter"),
    ("QGIS", "tl.time_map(network, homes, distance=500)", "areas by distance are those of distance_map"),
    ("QGIS", "tl.distance_map(network, homes, travel_time=600)", "areas by travel_time are those of time_map"),
    ("QGIS", "tl.time_map(network, 'homes.csv', travel_time=600)", "not a file; .* Read it first, .*read_file"),
    ("QGIS", "tl.time_map(network, homes.buffer(0.001), travel_time=600)", r"Use \.representative_point\(\) or \.cent"),
    ("hosted", "times(transportation='walk')", "Use 'walking'"),
    ("hosted", "times(transportation='WALK')", "Use 'walking'"),
    ("hosted", "times(transportation={'type': 'bike'})", "Use 'cycling'"),
    ("hosted", "times(mode='walk')", "Use 'transportation'"),
    ("hosted", "tl.timemap(network, homes)", "did you mean 'time_map'"),
    ("hosted", "tl.time_filter_fast(network)", "use time_filter"),
    ("hosted", "tl.geocoding_search('Mercado')", "use geocode"),
    ("hosted", "tl.time_map(network, {'lat': LAT, 'lng': LNG}, travel_time=600)", r"\(-51\.2278, -30\.0276\)"),
    ("hosted", "tl.time_map(network, [{'lat': LAT, 'lng': LNG}], travel_time=600)", r"\[\(-51\.2278, -30\.0276\)\]"),
    ("hosted", "times(travel_time='30min')", "give 1800"),
    ("hosted", "times(transportation='bus', departure_time='08:00')", r"Write it like 2026-03-02T08:00:00"),
    ("hosted", "times(transportation='bus', departure_time=EIGHT.date())", "Give one, such as 2019-05-14T08:00:00"),
    ("pandas", "tl.time_map(network, (LAT, LNG), travel_time=600)", r"swapped .* \(x=longitude, y=latitude\)"),
    ("pandas", "tl.time_map(network, [LNG, LAT], travel_time=600)", r"Write the pair \(-51\.2278, -30\.0276\)"),
    ("pandas", "tl.time_map(network, f'{LNG},{LAT}', travel_time=600)", r"Write the pair \(-51\.2278, -30\.0276\)"),
    ("pandas", "tl.time_map(network, np.array([[LNG, LAT]]), travel_time=600)", r"gpd\.GeoSeries\.from_xy\(lng, lat"),
    ("pandas", "tl.time_map(network, 'Mercado Público', travel_time=600)", r"Find it with geocode\(network, 'Mercado"),
    ("pandas", "tl.time_map(network, pd.DataFrame({'lat': [LAT], 'lon': [LNG]}), travel_time=600)",
     r"points_from_xy\(origins\['lon'\], origins\['lat'\]"),
    ("pandas", "tl.time_map(network, homes.set_crs(None, allow_override=True), travel_time=600)", "has no CRS; set it"),
    ("pandas", "tl.time_map(network, homes, 600)", "name the others, such as travel_time="),
    ("pandas", "tl.time_filter('city.network', homes, work, travel_time=600)", r"load_network\('city.network'\)"),
    ("pandas", "tl.time_filter(homes, work, network, travel_time=600)", "the first argument must be a Network"),
    ("pandas", "tl.accessibility(network, homes, work, opportunities='jobs', travel_time=600)",
     "has 'opportunities' by position and by name"),
]  # fmt: skip


@pytest.fixture(scope="module")
def names(porto_alegre: tl.Network) -> dict[str, Any]:
    places = tl.sample_points()
    homes, work = places.iloc[:2], places.iloc[2:4]

    def times(**how: Any) -> Any:
        return tl.time_filter(porto_alegre, homes, work, **{"travel_time": 1800, "transportation": "walking", **how})

    def minutes(**how: Any) -> list[float]:
        return times(**how)["travel_time"].astype("float64").fillna(-1).tolist()

    known = {"tl": tl, "gpd": gpd, "pd": pd, "np": np, "shapely": shapely, "dt": dt, "Path": Path}
    return {
        **known, "network": porto_alegre, "homes": homes, "work": work, "times": times, "minutes": minutes,
        "LNG": LNG, "LAT": LAT, "EIGHT": EIGHT,
    }  # fmt: skip


@pytest.mark.parametrize(("source", "guess", "words"), ERRORS)
@pytest.mark.filterwarnings("ignore:Geometry is in a geographic CRS")
def test_errors_name_the_right_word(source: str, guess: str, words: str, names: dict[str, Any]) -> None:
    if "max_time" in guess or "mode=" in guess or "transport_modes" in guess or "departure=" in guess:
        guess = guess.replace("times(", "tl.time_filter(network, homes, work, travel_time=1800, ")
    with pytest.raises((tl.TravelTimeError, AttributeError), match=words):
        eval(guess, names)


def area(names: dict[str, Any], origins: Any) -> float:
    """Return the area in reach of the first origin."""
    found = tl.time_map(names["network"], origins, travel_time=600, transportation="walking")
    return float(found.geometry.iloc[0].area)


#: What is written, and what is the same in the words of this package.
SAME = [
    ("minutes(travel_time=dt.timedelta(minutes=30))", "minutes(travel_time=1800)"),
    ("minutes(transportation={'type': 'walking'})", "minutes()"),
    ("minutes(transportation='bus', departure_time=EIGHT)", "by_bus('2019-05-14T08:00-03:00')"),
    ("minutes(transportation='bus', departure_time=pd.Timestamp(EIGHT))", "by_bus('2019-05-14T08:00')"),
    ("area(homes.to_crs(3857))", "area(homes)"),
    ("area(homes.geometry)", "area(homes)"),
    ("area((LNG, LAT))", "area(gpd.GeoSeries.from_xy([LNG], [LAT], crs=4326))"),
    ("area([(LNG, LAT), (-51.2, -30.05)])", "area(shapely.Point(LNG, LAT))"),
    ("list(times()['origin'])", "[label for label in homes.index for _ in work.index]"),
]  # fmt: skip


@pytest.mark.parametrize(("guess", "same"), SAME)
def test_other_forms_get_the_same_answer(guess: str, same: str, names: dict[str, Any]) -> None:
    known = {
        **names,
        "area": lambda origins: area(names, origins),
        "by_bus": lambda when: names["minutes"](transportation="bus", departure_time=when),
    }
    found, expected = eval(guess, known), eval(same, known)
    assert found == pytest.approx(expected, rel=1e-6) if isinstance(found, float) else found == expected


def test_labels_of_any_kind_come_back(names: dict[str, Any]) -> None:
    for labels in (["a", "b"], [7, 8], [1.5, 2.5], [("x", 1), ("x", 2)]):
        index = pd.Index(labels, tupleize_cols=False)
        homes = names["homes"].set_axis(index)
        found = tl.time_filter(names["network"], homes, names["work"], travel_time=1800, transportation="walking")
        assert found["origin"].unique().tolist() == labels


def test_minutes_for_seconds_are_warned_of(names: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="travel_time is in seconds: 30 is less than a minute. .* give 1800"):
        names["times"](travel_time=30)
    with pytest.warns(UserWarning, match="travel_time is in seconds"):
        tl.time_map(names["network"], names["homes"], travel_time=[5, 10, 15], transportation="walking")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".shp", ".gpkg", ".geojson"])
def test_results_are_written_as_any_layer(ending: str, names: dict[str, Any], tmp_path: Path) -> None:
    network, homes, work = (names[name] for name in ("network", "homes", "work"))
    walking = {"transportation": "walking"}
    results = {
        "time_map": tl.time_map(network, homes, travel_time=600, **walking),
        "distance_map": tl.distance_map(network, homes, distance=500, **walking),
        "time_filter": names["times"](),
        "routes": tl.routes(network, homes, work, **walking),
        "nearest": tl.nearest(network, homes, work, travel_time=1800, **walking),
        "h3_cells": tl.h3_cells(network, homes, travel_time=600, resolution=9, **walking),
        "accessibility": tl.accessibility(network, homes, work, travel_time=1800, **walking),
        "snap": tl.snap(network, homes),
        "geocode": tl.geocode(network, "Mercado"),
        "stops": network.stops_frame().head(3),
        "trips": network.trips_frame(date="2019-05-14").head(3),
        "edges": network.edges_frame().head(3),
    }
    for name, table in results.items():
        path = tmp_path / f"{name}{ending}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of more than ten letters, of shapefiles
            table.to_file(path)
        again = gpd.read_file(path)
        assert len(again) == len(table) and again.crs is not None, name
        assert os.path.getsize(path) > 0


def test_there_are_enough_guesses() -> None:
    assert len(ERRORS) + len(SAME) >= 40
    assert {source for source, _, _ in ERRORS} == {"osmnx", "r5py", "pandana", "QGIS", "hosted", "pandas"}


def test_names_of_other_packages_lead_to_names_that_exist() -> None:
    for guess, here in _elsewhere.FUNCTIONS.items():
        with pytest.raises(AttributeError, match=rf"has no attribute '{guess}'; use {re.escape(here)}$"):
            getattr(tl, guess)
        name = re.split(r"[ (,]", here)[0]
        found: Any = tl
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), here
    for (function, argument), words in _elsewhere.INSTEAD.items():
        known = inspect.signature(getattr(tl, function)).parameters
        assert argument not in known, "it exists"
        with pytest.raises(tl.KeywordError, match=re.escape(words)):
            getattr(tl, function)(**{argument: 1})


def test_similar_names_are_suggested_and_others_are_not(names: dict[str, Any]) -> None:
    for name in tl.__all__:
        if not name.startswith("_") and len(name) > 6:
            with pytest.raises(AttributeError, match=f"did you mean .*'{name}'"):
                getattr(tl, f"{name}x")
    for name in ("xyzzy", "__wrapped__", "_repr_png_"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(tl, name)
    for name in ("to_osmnxx", "route_frame", "trip_frame", "with_change"):
        with pytest.raises(AttributeError, match="did you mean"):
            getattr(names["network"], name)
