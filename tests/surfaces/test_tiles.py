"""Cells that are tied to streets only where a search needs them."""

from __future__ import annotations

import datetime as dt
import gc
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.search.area_shapes import distance_query
from traveltime_lab.search.query import ask
from traveltime_lab.surfaces import raster, tiles
from traveltime_lab.surfaces.tiles import BLOCK, TILE

MONDAY = "2019-05-13T08:00:00"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch):
    """A function that forgets all tiles."""
    return lambda: monkeypatch.setattr(tiles, "_TILES", Derived("tiles of a test", kept=24))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000), st.integers(1, 3),
    st.sampled_from(
        [
            "walking", "cycling", "driving", "public_transport", "driving+public_transport", "distance", "cells",
            "percentile",
        ]
    ),
    st.sampled_from(["lowest", "medium", "high"]), st.sampled_from([90, 300, 600, [200, 900]]), st.booleans(),
    st.sampled_from(["enabled", "disabled"]), st.sampled_from([30, 1000]), st.booleans(),
)  # fmt: skip
# Origins on islands, after a search that has tied blocks to streets which these do not need.
@example(3849, 3, "driving", "medium", [200, 900], False, "enabled", 1000, False)
@example(6220, 3, "driving", "high", 90, False, "disabled", 1000, False)
@pytest.mark.slow
def test_shapes_do_not_depend_on_the_blocks_that_are_known(
    helsinki, porto_alegre, monkeypatch, fresh, seed, n, mode, level, limit, is_arrival, penalty, threshold, is_south
):
    network = porto_alegre if is_south or "public" in mode or mode == "percentile" else helsinki
    rng = np.random.default_rng(seed)
    node = rng.integers(0, network.tables.node_lng.size, n)
    lng, lat = network.tables.node_lng[node] + 1e-4, network.tables.node_lat[node]
    options = {
        "level_of_detail": level,
        "snapping": {"penalty": penalty, "threshold": threshold},
        "arrival_time" if is_arrival or "+" in mode else "departure_time": MONDAY,
    }

    def shapes(order):
        if mode == "cells":
            options.pop("level_of_detail", None)
            cells = [
                tl.h3_cells(
                    network, (lng[i], lat[i]), resolution=9, travel_time=limit, transportation="walking", **options
                )
                for i in order
            ]
            return [part.to_json() for part in cells]
        if mode == "distance":
            maps = [tl.distance_map(network, (lng[i], lat[i]), distance=limit, **options) for i in order]
        else:
            means, more = (
                (mode, {}) if mode != "percentile" else ("public_transport", {"window": 600, "percentile": 60})
            )
            maps = [
                tl.time_map(network, (lng[i], lat[i]), travel_time=limit, transportation=means, **options, **more)
                for i in order
            ]
        return [part.geometry.to_wkb().tolist() for part in maps]

    def know_all(streets, edges, margins, places, caches):
        return {place: np.ones((TILE // BLOCK, TILE // BLOCK), np.bool_) for place in places}

    fresh()
    some = shapes(range(n))
    # Now of blocks that earlier searches needed.
    again = shapes(reversed(range(n)))
    fresh()
    with monkeypatch.context() as patch:
        patch.setattr(raster, "_blocks_around", know_all)
        whole = shapes(range(n))
        # Now blocks far from all limits need not be read.
        patch.setattr(raster, "_FEW_TILES", 0)
        settled = shapes(range(n))
    assert some == whole == settled
    assert again[::-1] == whole


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000), st.sampled_from(["walking", "cycling", "driving", "public_transport", "distance"]),
    st.booleans(), st.sampled_from([30, 1000]), st.sampled_from([300, 1000]),
)  # fmt: skip
def test_any_place_has_the_value_of_a_cell_there(helsinki, porto_alegre, seed, mode, is_arrival, threshold, buffer_m):
    network = porto_alegre if mode == "public_transport" else helsinki
    rng = np.random.default_rng(seed)
    node = rng.integers(0, network.tables.node_lng.size, 1)
    x, y = network.frame.to_xy(network.tables.node_lng[node], network.tables.node_lat[node])
    lng, lat = network.frame.to_lnglat(x + rng.uniform(-100, 100, 1), y + rng.uniform(-100, 100, 1))
    snapping = {"threshold": threshold}
    if mode == "distance":
        query = distance_query(network, "driving", None, MONDAY if is_arrival else None, snapping)
    else:
        when = {"arrival_time" if is_arrival else "departure_time": MONDAY}
        query = ask(network, mode, when.get("departure_time"), when.get("arrival_time"), snapping, limit=900)
    here = query.snap_at(lng, lat, is_origin=not is_arrival)
    if here.edge[0] < 0:
        return
    (drawn,) = raster.surfaces(
        network.streets, query.egress_transportation, query.snapping, query.field_from(here, 900.0),
        cell_m=50.0, buffer_m=float(buffer_m), limits=[900.0],
    )  # fmt: skip
    rows, columns = np.indices(drawn.values.shape)
    x, y = drawn.x0 + columns.ravel() * 50.0, drawn.y0 + rows.ravel() * 50.0
    # Cells keep positions in float32, so where values jump they may be on the other side.
    around = np.array([drawn.probe(x + dx, y + dy) for dx, dy in itertools.product((-0.01, 0.0, 0.01), repeat=2)])
    low, high, cells = around.min(axis=0), around.max(axis=0), drawn.values.ravel()
    # Cells beyond the limit may not have been read, nor those that differ from it by two sides of a cell.
    is_near = (cells <= 900.0) | (high <= 900.0)
    low, high, cells = (np.maximum(values, 800.0) for values in (low, high, cells))
    assert ((low - 0.02 <= cells) & (cells <= high + 0.02))[is_near].all()


@pytest.mark.parametrize("mode", ["walking", "driving", "public_transport", "distance"])
def test_a_surface_keeps_the_values_of_its_search(helsinki, porto_alegre, mode):
    """Arrays of searches are used again, but not as long as places can be looked up."""
    network = porto_alegre if mode == "public_transport" else helsinki
    if mode == "distance":
        query = distance_query(network, "driving", MONDAY, None, None)
    else:
        query = ask(network, mode, MONDAY, None, None, limit=900)
    node = network.tables.node_lng.size // 2
    here = query.snap_at(network.tables.node_lng[[node]], network.tables.node_lat[[node]], is_origin=True)

    def draw():
        return raster.surfaces(
            network.streets, query.egress_transportation, query.snapping, query.field_from(here, 900.0),
            cell_m=100.0, buffer_m=300.0, limits=[900.0],
        )[0]  # fmt: skip

    drawn = draw()
    x, y = drawn.x0 + 100.0 * np.arange(drawn.values.shape[1]), np.full(drawn.values.shape[1], drawn.y0)
    y += 100.0 * (drawn.values.shape[0] // 2)
    gc.collect()
    values = drawn.probe(x, y)
    assert (values <= 900.0).any()
    draw()
    gc.collect()
    assert np.array_equal(drawn.probe(x, y), values)


WAYS = pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("walking", {}), ("driving", {}), ("distance", {}), ("public_transport", {}),
        ({"type": "public_transport", "walking_time": 600, "direct_walking_time": 450}, {}),
        ("public_transport", {"window": 900, "percents": (40.0,)}),
        ({"type": "public_transport", "walking_time": 200}, {"window": 900, "percents": (90.0,)}),
    ],
)  # fmt: skip


def fields(network, mode, options, is_arrival, n):
    """Yield the query and the fields of some places."""
    moments = (None, MONDAY) if is_arrival else (MONDAY, None)
    if mode == "distance":
        query = distance_query(network, "driving", *moments, None)
    else:
        query = ask(network, mode, *moments, None, limit=900, **options)
    for node in np.random.default_rng(3).integers(0, network.tables.node_lng.size, n):
        here = network.tables.node_lng[[node]] + 5e-4, network.tables.node_lat[[node]]
        yield query, query.field_from(query.snap_at(*here, is_origin=not is_arrival), 900.0)


def bounds_at(bounds, edge, metres):
    """Return the least and the greatest value of cells on some edges, over the fastest journeys to their ends."""
    rows, rides, on_foot = bounds.rows[edge], bounds.rides, metres.astype(np.float64) * bounds.per_metre
    least = rows[..., ::2].min(axis=-1) + on_foot
    most = (rows[..., ::2] + rows[..., 1::2]).min(axis=-1) + on_foot
    most[most > bounds.most] = np.inf
    if not len(rides.starts):
        return least, most
    starts, off_ms = rides.starts[rides.row_of[edge]].astype(np.float64), 1000.0 * metres * rides.per_metre
    low_ms, high_ms = starts[..., [0, 3, 4]].min(axis=-1) + off_ms, np.full(edge.shape, np.inf)
    for time, walk, along in (np.moveaxis(starts[..., first : first + 3], -1, 0) for first in (0, 4)):
        is_near = (walk + along + off_ms <= rides.budget_ms) & (time < NEVER)
        high_ms[is_near] = np.minimum(high_ms, time + along + off_ms)[is_near]
    is_reached = rides.row_of[edge] >= 0
    least[is_reached] = np.minimum(least, low_ms / 1000.0)[is_reached]
    most[is_reached] = np.minimum(most, high_ms / 1000.0)[is_reached]
    return least, most


@WAYS
@pytest.mark.parametrize("is_arrival", [False, True])
def test_values_of_cells_are_within_the_bounds_of_their_edges(helsinki, porto_alegre, mode, options, is_arrival):
    network = porto_alegre if "public_transport" in str(mode) else helsinki
    cell_m, buffer_m, n_bounded = 10.0, 300.0, 0
    for query, field in fields(network, mode, options, is_arrival, 6):
        how, snapping = query.egress_transportation, query.snapping
        rules = {"limit": 900.0, "per_metre": raster._per_metre(field, snapping), "buffer_m": buffer_m}
        reading = field.cell_readers(network.streets, how, **rules)
        bounds = reading.bounds()
        is_own = np.isin(np.arange(len(bounds.rows)), bounds.own_edge)
        cache = tiles.tile_cache(network.streets, how, snapping, cell_m, buffer_m, needed=reading.readers[0].needed)
        west, south, east, north = reading.box
        middle = int((south + north) / 2 / cell_m // TILE), int((west + east) / 2 / cell_m // TILE)
        for place in itertools.product(*(range(at - 2, at + 3) for at in middle)):
            tile = cache.get([place])[place]
            values = np.empty(tile.edge.shape, np.float32)
            for reader in reading.readers:
                reader.read(tile, tiles.whole_window(), values)
            low, high = bounds_at(bounds, tile.edge, tile.distance)
            least, most = bounds_at(bounds, tile.tied_edge, tile.tied_distance)
            np.minimum.at(low.reshape(-1), tile.tied_cell, least)
            np.maximum.at(high.reshape(-1), tile.tied_cell, most)
            is_bounded = (tile.edge >= 0) & (tile.distance <= buffer_m) & ~tile.has(is_own)
            assert (values >= low - 0.01)[is_bounded].all()
            # Times beyond the limit may be missing.
            is_within = is_bounded & (high <= 900.0)
            assert (values <= high + 0.01)[is_within].all()
            n_bounded += np.count_nonzero(is_within)
    assert n_bounded > 1000


@WAYS
@pytest.mark.parametrize("is_arrival", [False, True])
def test_blocks_that_are_not_read_are_on_the_sides_of_their_values(
    helsinki, porto_alegre, monkeypatch, mode, options, is_arrival
):
    network = porto_alegre if "public_transport" in str(mode) else helsinki
    cell_m = 20.0 if mode in ("driving", "distance") else 5.0
    [(query, field)] = fields(network, mode, options, is_arrival, 1)

    def values():
        return raster.surfaces(
            network.streets, query.egress_transportation, query.snapping, field,
            cell_m=cell_m, buffer_m=300.0, limits=[500.0, 900.0],
        )[1].values  # fmt: skip

    monkeypatch.setattr(raster, "_FEW_TILES", 0)
    # Blocks of tiles that were made before need not be read.
    values()
    settled = values()
    with monkeypatch.context() as patch:
        patch.setattr(raster, "settle_blocks", lambda *_: None)
        read = values()
    differ = settled != read
    assert 0.02 < differ.mean() < 0.98
    for limit in (500.0, 900.0):
        there, away = read[differ] - limit, settled[differ] - limit
        assert np.array_equal(np.sign(there), np.sign(away))
        assert min(np.abs(there).min(), np.abs(away).min()) >= 2.0 * cell_m


@pytest.mark.slow
def test_areas_over_days_do_not_depend_on_known_tiles(porto_alegre, monkeypatch):
    """Bounds of the best departure are none of a statistic over days."""
    monkeypatch.setattr(raster, "_FEW_TILES", 0)
    days = {dt.date(2019, 5, 14): porto_alegre, dt.date(2019, 5, 15): porto_alegre}
    how = {"travel_time": 900, "departure_time": "2019-05-14T08:00", "window": 900, "percentiles": (50, 95)}

    def areas():
        found = tl.reliability_map(
            porto_alegre, days, tl.sample_points("porto_alegre").iloc[:1], transportation="public_transport",
            level_of_detail="high", **how,
        )  # fmt: skip
        return found.geometry.to_wkb().tolist()

    areas()
    known = areas()
    monkeypatch.setattr(raster, "settle_blocks", lambda *_: None)
    assert areas() == known


@pytest.mark.parametrize("most", [2000, 3])
def test_tiles_are_kept_when_they_are_made(helsinki, monkeypatch, fresh, most):
    """A client that waits for less time than all tiles take would never get an answer."""
    made = []
    make = tiles.TileCache._make

    def noted(cache, key, *rest):
        tile = make(cache, key, *rest)
        made.append(key)
        return tile

    def search(n_tiles):
        """Search until some more tiles are made."""
        enough = len(made) + n_tiles
        with interruptible(lambda: len(made) >= enough):
            return tl.time_map(
                helsinki, tl.sample_points("helsinki").iloc[:1], travel_time=900, transportation="walking"
            )

    monkeypatch.setattr(tiles.TileCache, "_make", noted)
    fresh()
    whole = search(10_000)
    n = len(made)
    fresh()
    made.clear()
    monkeypatch.setattr(tiles, "_KEPT_TILES", most)
    for _ in range(n):
        try:
            answer = search(1)
        except tl.InterruptedSearchError:
            continue
    answer = search(10_000)
    assert n > 3 and sorted(set(made)) == sorted(made), "a tile was made twice"
    assert answer.geometry.to_wkb().tolist() == whole.geometry.to_wkb().tolist()
