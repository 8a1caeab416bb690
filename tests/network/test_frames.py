"""Networks as tables, and from these tables again."""

from __future__ import annotations

import warnings
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl
from traveltime_lab.network.frames import KEY
from traveltime_lab.network.network import Network

PLACES = "named places and addresses"


def again(network: Network, nodes: gpd.GeoDataFrame | None = None, edges: gpd.GeoDataFrame | None = None) -> Network:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is without")
        return tl.build_network(
            (network.nodes_frame() if nodes is None else nodes, network.edges_frame() if edges is None else edges)
        )


def check_same(network: Network, other: Network, n_pairs: int = 2000) -> None:
    dice = np.random.default_rng(1)
    west, south, east, north = network.bounds
    lng, lat = dice.uniform(west, east, 2 * n_pairs), dice.uniform(south, north, 2 * n_pairs)
    points = gpd.GeoSeries.from_xy(lng, lat, crs=4326)
    homes, jobs = points.iloc[:n_pairs].reset_index(drop=True), points.iloc[n_pairs:].reset_index(drop=True)
    for mode in ("walking", "cycling", "driving"):
        found = [
            tl.time_filter(
                each, homes, jobs, pairs="aligned", travel_time=7200, transportation=mode,
                properties=["travel_time", "distance"], departure_time="weekday_morning",
            ).drop(columns=["geometry", "reaches_border"], errors="ignore")  # frames have no border
            for each in (network, other)
        ]  # fmt: skip
        pd.testing.assert_frame_equal(*found)
        assert mode != "driving" or found[0]["travel_time"].notna().sum() > n_pairs / 10
    assert (network.attribution, network.timezone, network.is_left_hand) == (
        other.attribution, other.timezone, other.is_left_hand
    )  # fmt: skip
    assert network.tables.restriction_only.size == other.tables.restriction_only.size
    area = [
        tl.time_map(each, homes.iloc[:3], travel_time=600, transportation="walking").geometry.array
        for each in (network, other)
    ]
    assert shapely.equals_exact(*area).all()


@pytest.mark.slow
def test_the_sample_comes_back(helsinki: Network) -> None:
    assert helsinki.tables.restriction_only.size and len(helsinki.water)
    check_same(helsinki, again(helsinki))


@pytest.mark.thorough
def test_a_city_comes_back(porto_alegre: Network) -> None:
    check_same(porto_alegre, again(porto_alegre))


@pytest.mark.thorough
def test_through_files_and_with_other_order_of_rows(helsinki: Network, tmp_path: Path) -> None:
    nodes, edges = helsinki.nodes_frame(), helsinki.edges_frame()
    nodes.to_parquet(tmp_path / "nodes.parquet")
    edges.to_parquet(tmp_path / "edges.parquet")
    nodes, edges = (gpd.read_parquet(tmp_path / f"{name}.parquet") for name in ("nodes", "edges"))
    check_same(helsinki, again(helsinki, nodes, edges), 300)
    check_same(helsinki, again(helsinki, nodes.iloc[::-1], edges.iloc[::-1]), 300)


@pytest.mark.thorough
def test_what_is_changed_counts(helsinki: Network) -> None:
    edges = helsinki.edges_frame()
    edges[["driving_kph_forward", "driving_kph_backward"]] /= 2
    slower = again(helsinki, edges=edges)
    assert slower.edges_frame()["driving_kph_forward"].max() == edges["driving_kph_forward"].max()
    few = edges.iloc[helsinki.tables.restriction_edges[0] // 2 + 1 :]
    with pytest.warns(UserWarning, match=r"\d+ of \d+ turn restrictions, whose edges are missing or different"):
        part = tl.build_network((helsinki.nodes_frame(), few))
    assert part.n_edges == len(few) and part.n_nodes < helsinki.n_nodes
    measured = again(helsinki, edges=edges.drop(columns="length_m"))
    lengths = np.sort(measured.tables.edge_length_m)
    np.testing.assert_allclose(lengths, np.sort(helsinki.tables.edge_length_m), rtol=1e-6, atol=0.01)


@pytest.mark.slow
def test_what_is_lost_is_said(helsinki: Network, porto_alegre: Network) -> None:
    nodes, edges = helsinki.nodes_frame(), helsinki.edges_frame()
    with pytest.warns(UserWarning, match=PLACES):
        tl.build_network((nodes, edges))
    with pytest.warns(UserWarning, match="without the timetable \\(pass gtfs= again\\)"):
        tl.build_network((porto_alegre.nodes_frame(), porto_alegre.edges_frame()))
    edges.attrs = {}
    with pytest.warns(UserWarning, match="turn restrictions, water, time zone, attribution"):
        tl.build_network((nodes, edges))


def test_numbers_of_other_rows_are_noticed(helsinki: Network) -> None:
    edges = helsinki.edges_frame()
    shifted = edges.iloc[5:].reset_index(drop=True)
    with pytest.warns(UserWarning, match="turn restrictions, whose edges are missing or different"):
        tl.build_network((helsinki.nodes_frame(), shifted))


@pytest.mark.slow
def test_wrong_tables(helsinki: Network) -> None:
    nodes, edges = helsinki.nodes_frame(), helsinki.edges_frame()
    for wrong, text in (
        ((nodes.iloc[5:], edges), "refer to nodes that are not in nodes"),
        ((nodes, edges.assign(walking_kph_forward=np.nan)), "walking_kph_forward has missing values"),
        ((nodes, edges.assign(walking_kph_forward=-1.0)), "speeds of uses"),
        ((nodes, edges.set_geometry(edges.geometry.translate(1.0))), "does not end at its nodes"),
        ((nodes, edges.iloc[:0]), "edges is empty"),
        ((nodes, pd.concat([edges, edges])), "the index of edges repeats"),
    ):
        with pytest.raises(tl.InputError, match=text):
            tl.build_network(wrong)
    with pytest.raises(tl.CrsError, match="edges has no CRS"):
        tl.build_network((nodes, edges.set_crs(None, allow_override=True)))
    edges.attrs = {KEY: {"format": "traveltime_lab.network"}}
    with pytest.raises(tl.DataError, match="damaged"):
        tl.build_network((nodes, edges))
