"""
The tables of a question: coordinates, labels and columns that count, as receipts keep them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely
from pyproj.exceptions import CRSError

from traveltime_lab._arrays import AnyArray, FloatArray
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import DataError
from traveltime_lab.points import Points, as_table, coordinates, loose_points
from traveltime_lab.search.receipts.digest import digest_of_arrays

#: Largest number of rows of a table that a receipt holds (assumed: about 0.5 MB of text); larger ones are hashed.
MOST_ROWS: Final = 10_000


class InputTable(NamedTuple):
    """Points or pairs of a question; their arrays are not changed elsewhere."""

    labels: pd.Index
    #: Points, or their coordinates of shape (n, 2), as given; none for pairs.
    points: AnyArray | None
    crs: Any
    columns: Mapping[str, AnyArray]

    @property
    def xy(self) -> FloatArray:
        """Coordinates of shape (n, 2)."""
        assert self.points is not None
        if self.points.dtype.kind == "f":
            return self.points
        return np.column_stack([shapely.get_x(self.points), shapely.get_y(self.points)])

    @property
    def digest(self) -> str:
        """Hash of labels, coordinates, coordinate reference system and columns."""
        parts: dict[str, Any] = {"labels": self.labels}
        if self.points is not None:
            x, y = self.xy.T
            parts |= {"x": x, "y": y, "crs": pd.Series([crs_text(self.crs)], dtype=object)}
        return digest_of_arrays(parts | {f"column {name}": values for name, values in self.columns.items()})

    def as_json(self, *, with_points: bool) -> dict[str, Any]:
        """Return the table as values of JSON, with its rows if they are not too many."""
        found: dict[str, Any] = {"count": len(self.labels), "digest": self.digest}
        labels = _plain_labels(self.labels)
        if not with_points or len(self.labels) > MOST_ROWS or labels is None:
            return found
        found["labels"] = labels
        if self.labels.name is not None and isinstance(self.labels.name, str):
            found["labels_name"] = self.labels.name
        if self.points is not None:
            found["crs"] = crs_text(self.crs)
            found["coordinates"] = self.xy.tolist()
        if self.columns:
            found["columns"] = {name: _plain_values(values) for name, values in self.columns.items()}
        return found


def input_table(value: Any, columns: tuple[str, ...]) -> InputTable:
    """Return what counts of a table that a search has accepted."""
    if isinstance(value, Points) and not columns:
        xy = value.geometry.copy() if len(value) <= MOST_ROWS else np.column_stack([value.lng, value.lat])
        return InputTable(value.index, xy, WGS84, {})
    value = as_table(value)
    if isinstance(value, pd.DataFrame) and not isinstance(value, gpd.GeoDataFrame):
        return InputTable(value.index, None, None, {name: _column(value[name]) for name in columns})
    loose = loose_points(value)
    series = loose if loose is not None else value.geometry
    points = np.asarray(series.array)
    kept = {name: _column(value[name]) for name in columns} if isinstance(value, gpd.GeoDataFrame) else {}
    # Reading 1,000 coordinates takes 0.07 ms, copying references to points 0.002; many points would be kept alive.
    kept_points = points.copy() if len(points) <= MOST_ROWS else np.column_stack(coordinates(points)[1:])
    return InputTable(series.index, kept_points, series.crs, kept)


def crs_text(crs: Any) -> str:
    """Return the short name of a coordinate reference system if it has one, otherwise its definition."""
    if crs is WGS84:
        return "EPSG:4326"
    name = crs.to_authority(min_confidence=100)
    return ":".join(name) if name else str(crs.to_wkt())


def table_of(kept: Mapping[str, Any], name: str) -> gpd.GeoDataFrame | pd.DataFrame | None:
    """
    Return the table that a receipt holds; None if it has only its hash.

    Raises
    ------
    DataError
        If the content does not have the hash that the receipt says.
    """
    if "labels" not in kept:
        return None
    try:
        given = kept["labels"]
        labels = pd.RangeIndex(*given["range"]) if isinstance(given, dict) else pd.Index(given)
        # A range of a few digits may have more labels than fit into memory.
        if len(labels) > MOST_ROWS:
            raise ValueError(f"it has {len(labels)} labels, more than {MOST_ROWS}")
        labels = labels.rename(kept.get("labels_name"))
        columns = {key: _column(values) for key, values in kept.get("columns", {}).items()}
        if "coordinates" in kept:
            x, y = np.array(kept["coordinates"], np.float64).reshape(-1, 2).T
            table: pd.DataFrame = gpd.GeoDataFrame(
                columns, geometry=gpd.points_from_xy(x, y), index=labels, crs=kept["crs"]
            )
        else:
            table = pd.DataFrame(columns, index=labels)
        found = input_table(table, tuple(columns)).digest
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, CRSError) as error:
        msg = f"the receipt is damaged: its {name} cannot be read ({type(error).__name__}: {error})"
        raise DataError(msg) from error
    if found != kept.get("digest"):
        raise DataError(f"the receipt is damaged: its {name} have the hash {found}, not {kept.get('digest')}")
    return table


def _plain_labels(labels: pd.Index) -> Any:
    """Return labels as values of JSON; None if they are neither whole numbers nor texts."""
    if isinstance(labels, pd.RangeIndex):
        return {"range": [labels.start, labels.stop, labels.step]}
    if isinstance(labels, pd.MultiIndex) or labels.hasnans or isinstance(labels, pd.CategoricalIndex):
        return None
    if labels.dtype.kind in "iu" or labels.inferred_type == "string":
        return labels.tolist()
    return None


def _column(values: Any) -> AnyArray:
    """Return a copy of a column, with numbers as numbers."""
    found = np.array(values)
    return found if found.dtype != object else pd.Series(found.tolist()).to_numpy()


def _plain_values(values: AnyArray) -> list[Any]:
    """Return the values of a column as values of JSON."""
    return [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
