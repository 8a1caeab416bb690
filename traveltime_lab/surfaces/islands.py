"""
Fields whose origin is on an island, which agree with `traveltime_lab.streets.local_pairs`.

Cells that are on the same island, with a way along it, have the value of that way. All others have the value of the
field that begins on the main network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray, Int32Array
from traveltime_lab.kernels.raster.surface import Window
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.islands import ISLAND_M, main_edges, reachable_edges
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.snapping import ANY, Snaps
from traveltime_lab.surfaces.field import CellReader, CellReading, Field, RoadValues, joined_box, read_cells, within
from traveltime_lab.surfaces.tiles import Tile


def with_island(
    main: Field, search: Callable[[Snaps], Field], graph: RoadGraph, here: Snaps, *, is_backward: bool
) -> Field:
    """
    Return the field of a point, which may be on an island.

    Parameters
    ----------
    main : Field
        Field from the places of the point on the main network.
    search : callable
        Returns the field from other places.
    graph : RoadGraph
        Graph of the search.
    here : Snaps of length 1
    is_backward : bool
        Whether trips end at the point.
    """
    if not here.on_islands()[0]:
        return main
    own = here.at_islands(np.zeros(1, np.intp))
    assert own.places is not None
    reached = reachable_edges(graph.topology, own.places.edge, is_backward=is_backward)
    return IslandField(main, search(own), reached, main_edges(graph.topology))


@dataclass(frozen=True)
class IslandField:
    """
    A field whose origin is on an island.

    Attributes
    ----------
    main : Field
        Field from the main network.
    island : Field
        Field from the places on the island.
    is_reached : bool array of shape (n_edges,)
        Edges to which there is a way from those places, at any distance.
    is_main : bool array of shape (n_edges,)
        Edges of the main network.
    """

    main: Field
    island: Field
    is_reached: BoolArray
    is_main: BoolArray

    @property
    def is_length(self) -> bool:
        """Whether values are metres."""
        return self.main.is_length

    @property
    def connector_kph(self) -> float:
        """Walking speed between points and streets, km/h."""
        return self.main.connector_kph

    def start(self) -> float:
        """Return the least value at a position of the origin."""
        return min(self.main.start(), self.island.start())

    def cell_readers(
        self, streets: StreetLayer, transportation: Transportation, *, limit: float, per_metre: float, buffer_m: float
    ) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        main, own = (
            field.cell_readers(streets, transportation, limit=limit, per_metre=per_metre, buffer_m=buffer_m)
            for field in (self.main, self.island)
        )

        def replace(tile: Tile, window: Window, values: Any) -> None:
            """Set the values of cells on the island, where there is a way."""
            mine = tile.only((tile.edge >= 0) & ~tile.has(self.is_main, ISLAND_M))
            found = np.full((window.bottom - window.top, window.right - window.left), np.inf, np.float32)
            own.readers[0].read(mine, window._replace(row=0, column=0), found)
            cells = slice(window.top, window.bottom), slice(window.left, window.right)
            is_ours = (mine.edge >= 0)[cells] & (mine.has(self.is_reached)[cells] | np.isfinite(found))
            is_ours &= read_cells(window)
            here = within(window, values)
            here[is_ours] = found[is_ours]

        def reached() -> tuple[Int32Array, FloatArray]:
            (edges, least), (own_edges, own_least) = main.reached(), own.reached()
            return np.concatenate([edges, own_edges]), np.concatenate([least, own_least])

        readers = [*main.readers, CellReader(transportation, ANY, replace)]
        return CellReading(readers, joined_box([main.box, own.box]), reached)

    def road_values(self, streets: StreetLayer, limit: float) -> list[RoadValues]:
        """Return values along roads; see `Field`."""
        return [*self.main.road_values(streets, limit), *self.island.road_values(streets, limit)]
