"""
Isochrones of many origins, written as a GeoParquet dataset (`write_areas`).
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyproj
import shapely

from traveltime_lab._checks import whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import BorderWarning
from traveltime_lab.jobs.job import (
    Job,
    Places,
    by_origin,
    moments_type,
    open_network,
    receipt_of,
    schema_of,
    with_moments,
)
from traveltime_lab.jobs.run import run
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moment_lists import NAMES
from traveltime_lab.network.network import Network
from traveltime_lab.points import PointsLike
from traveltime_lab.question import MomentsLike
from traveltime_lab.runtime.progress import Progress
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search import trip_costs
from traveltime_lab.search.area_shapes import ShapeStyle, area_query, area_table
from traveltime_lab.search.border import COLUMN
from traveltime_lab.search.each_moment import COLUMN as MOMENT
from traveltime_lab.search.each_moment import first_of, found_at, moment_column
from traveltime_lab.search.query import Query
from traveltime_lab.settings import settings
from traveltime_lab.streets.border import is_known
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL

ORIGINS_PER_PART: Final = 200
_MOST_ORIGINS_PER_PART: Final = 100_000


@explained_keywords
def write_areas(
    network: Network | str | os.PathLike[str],
    origins: PointsLike,
    path: str | os.PathLike[str],
    *,
    travel_time: int | dt.timedelta | Sequence[int | dt.timedelta],
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    level_of_detail: str | int | Mapping[str, Any] | None = DEFAULT_LEVEL,
    no_holes: bool = False,
    polygons_filter: int | Mapping[str, Any] | None = None,
    render_mode: Literal["approximate_time_filter", "road_buffering"] = "approximate_time_filter",
    buffer_distance: int = 1000,
    remove_water_bodies: bool = True,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    percentile: float | None = None,
    max_emissions: float | None = None,
    max_cost: float | None = None,
    costs: Costs | Mapping[str, Any] | None = None,
    part_size: int = ORIGINS_PER_PART,
    progress: Progress = True,
    executor: Executor | None = None,
) -> Path:
    """
    Write the isochrones of many origins to a GeoParquet dataset.

    Repeated, the call resumes where an earlier one stopped, as that of `write_matrix` does.

    Parameters
    ----------
    network : Network or path-like
        A network, or the file of a saved one. Other processes then open the file themselves.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with a unique index of whole numbers or texts.
    path : path-like
        Folder of the dataset: a new one, an empty one, or that of the same call.
    travel_time : int, timedelta or list of these
        Maximum travel time in seconds, 1 to 14400, or several for nested areas.
    transportation, departure_time, arrival_time, level_of_detail, no_holes, polygons_filter, render_mode, \
buffer_distance, remove_water_bodies, snapping, window, percentile, max_emissions, max_cost, costs
        As in `time_map`.
    part_size : int, default 200
        Number of origins of a part, which has their areas at all moments.
    progress : bool or callable, default True
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of parts.
    executor : concurrent.futures.Executor, optional
        Workers that compute the parts, as in `write_matrix`.

    Returns
    -------
    Path
        The folder. Its files ``part-000000.parquet`` and so on have a row for each origin, moment and travel time: with
        several moments ``moment``, ``origin`` (its label), and the columns of `time_map`. Areas that reach the border
        have no warning, only their column.

    Raises
    ------
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError, UnfinishedJobError, KeyboardInterrupt
        As in `write_matrix`.

    See Also
    --------
    time_map : The same in memory.
    write_matrix : Travel times to given points.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> folder = tl.write_areas(
    ...     network,
    ...     places,
    ...     "areas",
    ...     travel_time=600,
    ...     transportation="walking",
    ...     progress=False,
    ... )
    >>> import geopandas as gpd
    >>> areas = gpd.read_parquet(folder)
    >>> len(areas) == len(places), areas.crs.to_string()
    (True, 'EPSG:4326')
    """
    size = whole(part_size, "part_size", 1, _MOST_ORIGINS_PER_PART, "origins")
    opened, source = open_network(network)
    shape_options = {
        "no_holes": no_holes, "polygons_filter": polygons_filter, "render_mode": render_mode,
        "buffer_distance": buffer_distance, "remove_water_bodies": remove_water_bodies,
    }  # fmt: skip
    when = {"transportation": transportation, "departure_time": departure_time, "arrival_time": arrival_time}
    with first_of(opened, when, "driving") as (times, moments):
        query, limits, style = area_query(
            opened, travel_time=travel_time, **times, snapping=snapping, window=window, percentile=percentile,
            level_of_detail=level_of_detail, max_emissions=max_emissions, max_cost=max_cost, costs=costs,
            **shape_options,
        )  # fmt: skip
    starts = Places.read(origins, "origins", opened)
    question = query.question
    limit = {"travel_time": limits[0] if len(limits) == 1 else list(limits)}
    spread = {"window": question.window or None, "percentile": percentile}
    most = {f"max_{name}": value for name, value in query.most.items()}
    parameters = {
        **limit, **with_moments(question.to_json(query.day), moments), **spread, **most, "style": asdict(style),
    }  # fmt: skip
    columns = {
        **({MOMENT: (moments_type(opened.timezone), "")} if moments else {}),
        "origin": (starts.label_type, ""),
        "travel_time": (pa.int32(), "s"),
        "snap_distance": (pa.float64(), "m"),
        "reason": (pa.dictionary(pa.int8(), pa.string()), ""),
        **({COLUMN: (pa.bool_(), "")} if is_known(opened.streets) else {}),
        "geometry": (pa.binary(), "degree"),
    }
    several = {name: moments for name in NAMES if moments and question.arguments[name] is not None}
    known = {
        **question.arguments, **several, **limit, **spread, "max_emissions": None, "max_cost": None, **most,
        "costs": question.costs, "level_of_detail": level_of_detail, **shape_options,
    }  # fmt: skip
    receipt = receipt_of(query, "write_areas", known, origins=starts)
    job = AreaJob(
        network=opened,
        source=source,
        question=question,
        parameters=parameters,
        schema=schema_of(opened, parameters, columns, receipt, geo=_geo_metadata()),
        origins=starts,
        rows_per_part=min(size, len(starts)),
        moments=moments,
        limits=limits,
        style=style,
        most=query.most,
    )
    return run(job, path, executor, progress)


def _geo_metadata() -> str:
    """Return the metadata of GeoParquet 1.1.0 (geoparquet.org)."""
    column = {
        "encoding": "WKB",
        "geometry_types": ["MultiPolygon"],
        "crs": json.loads(pyproj.CRS(WGS84).to_json()),
        "orientation": "counterclockwise",
    }
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}})


@dataclass(eq=False)
class AreaJob(Job):
    """The isochrones of all origins; see `Job`."""

    limits: tuple[int, ...]
    style: ShapeStyle
    most: Mapping[str, float]

    kind: ClassVar[str] = "areas"
    unit: ClassVar[str] = "area"

    def _prepare(self, query: Query) -> Query:
        """Return the query with the limits on emissions and costs."""
        return trip_costs.within(query, self.most)

    def chunks(self, part: int) -> Iterator[pa.Table]:
        """Yield the areas of a part, as one table."""
        query, rows = self.prepared(), self.rows(part)
        # Several times as many as threads, as some areas take longer than others.
        step = -(-(rows.stop - rows.start) // (4 * settings.threads))
        starts = [self.origins.points(slice(i, min(i + step, rows.stop))) for i in range(rows.start, rows.stop, step)]

        def areas(query: Query) -> pd.DataFrame:
            draw = functools.partial(functools.partial, area_table, query)
            tables = side_by_side([draw(places, self.limits, self.style, "travel_time") for places in starts])
            return pd.concat(tables)

        columns: dict[str, Any] = {}
        # The column of the file says it, and each part would warn of its own areas.
        with warnings_to(lambda _: None, BorderWarning):
            if not self.moments:
                table = areas(query)
            else:
                tables = found_at(query, self.moments, areas, rows.stop - rows.start)
                table, moment_of = by_origin(tables, np.concatenate([each.index.to_numpy() for each in tables]))
                moments = moment_column(self.moments, query.network.timezone)[moment_of]
                columns[MOMENT] = pa.array(moments, type=self.schema.field(MOMENT).type)
        columns |= {
            "origin": self.origins.column(table.index.to_numpy()),
            "travel_time": pa.array(table["travel_time"]),
            "snap_distance": pa.array(table["snap_distance"], from_pandas=True),
            "reason": pa.array(table["reason"]).cast(self.schema.field("reason").type),
            **({COLUMN: pa.array(table[COLUMN])} if COLUMN in table else {}),
            "geometry": pa.array(shapely.to_wkb(table.geometry.to_numpy()), pa.binary()),
        }
        yield pa.table(columns, schema=self.schema)
