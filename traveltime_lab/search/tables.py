"""
Fast construction of GeoDataFrames in EPSG:4326.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import geopandas as gpd
import pandas as pd

from traveltime_lab._arrays import ObjectArray
from traveltime_lab.crs import WGS84


def geo_frame(columns: Mapping[str, Any], geometry: ObjectArray, index: pd.Index) -> gpd.GeoDataFrame:
    """
    Return a GeoDataFrame, in a small part of the time that its constructor takes.

    The constructor looks for a geometry column and its CRS after each step. Here, a DataFrame becomes a GeoDataFrame,
    as in `geopandas.GeoDataFrame.copy`. `tests/search/test_tables.py` compares both.

    Parameters
    ----------
    columns : mapping
        Arrays by name, without the geometry, which is the last column; a Series must have the same index. The table
        uses the arrays themselves, so nothing else may.
    geometry : object array of shape (n_rows,)
        Geometries in longitude and latitude; None if missing. It is used itself, too.
    index : Index of length n_rows
    """
    # pandas has labels of several levels as tuples.
    arrays = {name: each.to_numpy() if isinstance(each, pd.MultiIndex) else each for name, each in columns.items()}
    arrays["geometry"] = gpd.array.GeometryArray(geometry, crs=WGS84)
    frame = pd.DataFrame(arrays, index=free(index, arrays), copy=False)
    frame.__class__ = gpd.GeoDataFrame
    frame._geometry_column_name = "geometry"  # as geopandas does
    return frame


def free(index: pd.Index, columns: Iterable[str]) -> pd.Index:
    """
    Return an index without the name of a column, with which neither `reset_index` nor `to_file` would work.

    Points that are labelled by name have an index called so, and their streets have names, too: the index is ``id``
    then.
    """
    taken = set(columns)
    if isinstance(index, pd.MultiIndex) or index.name not in taken:
        return index
    return index.rename(next(name for name in ("id", "label", "label_") if name not in taken))
