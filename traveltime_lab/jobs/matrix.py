"""
Large matrices: written as a Parquet dataset (`write_matrix`), or as a lazy table of Dask (`matrix_frame`).
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from traveltime_lab._checks import whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.jobs.job import (
    ROW_GROUP,
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
from traveltime_lab.search.each_moment import COLUMN, first_of, found_at, moment_column
from traveltime_lab.search.pair_columns import sparse_table
from traveltime_lab.search.pair_times import reachable_pairs
from traveltime_lab.search.properties import PROPERTIES, charged, names_for, numbers
from traveltime_lab.search.query import Query
from traveltime_lab.search.time_filter import table_query, with_properties
from traveltime_lab.settings import one_thread
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import Snaps

if TYPE_CHECKING:
    import dask.dataframe as dd

#: Candidate pairs of a part.
PAIRS_PER_PART: Final = 20_000_000
_MOST_PAIRS_PER_PART: Final = 1_000_000_000
#: Arguments in receipts. All engines give the same rows, so that the bytes must not depend on the engine.
_REQUESTED: Final = (
    "travel_time", "transportation", "departure_time", "arrival_time", "properties", "costs", "snapping", "window",
    "percentiles",
)  # fmt: skip


@explained_keywords
def write_matrix(
    network: Network | str | os.PathLike[str],
    origins: PointsLike,
    destinations: PointsLike,
    path: str | os.PathLike[str],
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = ("travel_time",),
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    percentiles: Sequence[float] = (),
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
    costs: Costs | Mapping[str, Any] | None = None,
    part_size: int = PAIRS_PER_PART,
    progress: Progress = True,
    executor: Executor | None = None,
) -> Path:
    """
    Write the travel times of all reachable pairs to a Parquet dataset, however many they are.

    Repeated, the call resumes where an earlier one stopped: after Ctrl+C, a full disk, or the end of the process at any
    moment. The finished dataset is the same byte for byte.

    Parameters
    ----------
    network : Network or path-like
        A network, or the file of a saved one. Other processes then open the file themselves.
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes of whole numbers or texts.
    path : path-like
        Folder of the dataset: a new one, an empty one, or that of the same call.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    transportation, departure_time, arrival_time, snapping, window, percentiles, engine
        As in `time_filter`.
    properties : sequence of str, default ("travel_time",)
        Any of ``travel_time``, ``distance``, ``emissions``, ``cost``, ``snap_distance`` and ``share``, as in
        `time_filter`.
    costs : Costs or mapping, optional
        As in `time_filter`.
    part_size : int, default 20,000,000
        Maximum number of pairs of a part, reachable or not; a part has one origin at least. While it is computed, a
        part takes up to 50 bytes of memory per reachable pair, once per worker.
    progress : bool or callable, default True
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of parts.
    executor : concurrent.futures.Executor, optional
        Workers that compute the parts, such as a `concurrent.futures.ProcessPoolExecutor` or ``client.get_executor()``
        of a Dask client; by default the threads of this process. Each task uses one thread. This process writes all
        files, so that workers need not see the folder.

    Returns
    -------
    Path
        The folder. Its files ``part-000000.parquet`` and so on have the columns of ``time_filter(form="sparse")``,
        sorted by origin, moment and destination: with several moments ``moment`` (timezone-aware), ``origin`` and
        ``destination`` (labels: int32 or int64, or texts encoded as dictionary), ``travel_time`` (int32, s), and the
        columns of `properties` and `percentiles`. A percentile is null where too few departures reach the destination.

    Raises
    ------
    InputError
        If the folder holds parts of another network, other points or other parameters, or something else, or if
        another process writes to it; and as in `time_filter`.
    CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`.
    UnfinishedJobError
        If the disk is full or workers ended; repeat the call to resume.
    KeyboardInterrupt
        After Ctrl+C; the message says how many parts are written.

    See Also
    --------
    time_filter : The same in memory.
    matrix_frame : The same rows as a lazy table of Dask.
    nearest : The nearest places of each origin only.

    Notes
    -----
    Only reachable pairs are rows: of 100,000 origins and destinations in a city, walks of 15 minutes reach a few
    percent. A pair without a row takes longer than the limit, or is not connected; ``time_filter`` with ``pairs=`` says
    why. Origins that reach nothing are those of your table that no row has.

    Labels that are whole numbers make the smallest files and the fastest joins. A file has row groups of a million
    rows with statistics, so that readers skip those that a filter on ``origin`` excludes. The metadata of the schema
    has a JSON object ``traveltime_lab`` with units, CRS, licence and parameters. ``_manifest.json`` has the
    fingerprints of the network and the points, the parameters, the versions of the packages, and rows, size and
    checksum of each part.
    A part whose checksum differs is computed again.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> folder = tl.write_matrix(
    ...     network,
    ...     places,
    ...     places,
    ...     "walks",
    ...     travel_time=1800,
    ...     transportation="walking",
    ...     progress=False,
    ... )
    >>> import pandas as pd
    >>> walks = pd.read_parquet(folder)
    >>> walks.columns.tolist()
    ['origin', 'destination', 'travel_time']
    >>> times = tl.time_filter(
    ...     network,
    ...     places,
    ...     places,
    ...     travel_time=1800,
    ...     transportation="walking",
    ...     form="sparse",
    ... )
    >>> len(walks) == len(times)
    True

    On the workers of a pool or of Dask, with a network that they open by its path::

        with concurrent.futures.ProcessPoolExecutor() as pool:
            tl.write_matrix(
                "city.network",
                homes,
                jobs,
                "walks",
                travel_time=1800,
                executor=pool,
            )

        client = distributed.Client(...)
        tl.write_matrix(
            "city.network",
            homes,
            jobs,
            "walks",
            travel_time=1800,
            executor=client.get_executor(),
        )
    """
    job = matrix_job(
        network, origins, destinations, part_size=part_size, travel_time=travel_time, transportation=transportation,
        departure_time=departure_time, arrival_time=arrival_time, properties=properties, snapping=snapping,
        window=window, percentiles=percentiles, engine=engine, costs=costs,
    )  # fmt: skip
    return run(job, path, executor, progress)


@explained_keywords
def matrix_frame(
    network: Network | str | os.PathLike[str],
    origins: PointsLike,
    destinations: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentsLike = None,
    arrival_time: MomentsLike = None,
    properties: Sequence[str] = ("travel_time",),
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
    percentiles: Sequence[float] = (),
    engine: Literal["auto", "dijkstra", "hierarchy", "pandana"] = "auto",
    costs: Costs | Mapping[str, Any] | None = None,
    part_size: int = PAIRS_PER_PART,
) -> dd.DataFrame:
    """
    Return the travel times of all reachable pairs as a lazy table of Dask.

    Parameters
    ----------
    network : Network or path-like
        A network, or the file of a saved one, which workers open themselves. On a cluster, a path keeps the graph of
        tasks small.
    origins, destinations, travel_time, transportation, departure_time, arrival_time, properties, snapping, window, \
percentiles, engine, costs, part_size
        As in `write_matrix`.

    Returns
    -------
    dask.dataframe.DataFrame
        The rows of `write_matrix`, one partition per part, which is searched when it is computed. Nothing is kept: what
        is used several times should be persisted, or written with `write_matrix` and read again. Labels that are texts
        are categorical, and percentiles are Int32.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    InputError, CrsError, CoordinateError, LimitError, ModeError, MomentError
        As in `time_filter`.

    See Also
    --------
    write_matrix : The same rows as files.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> frame = tl.matrix_frame(
    ...     network,
    ...     places,
    ...     places,
    ...     travel_time=1800,
    ...     transportation="walking",
    ... )
    >>> bool(frame["travel_time"].max().compute() <= 1800)
    True
    """
    try:
        import dask.dataframe as dd  # noqa: PLC0415 - an optional extra
        from dask.dataframe.utils import clear_known_categories  # noqa: PLC0415
        from dask.delayed import delayed  # noqa: PLC0415
    except ImportError as error:
        msg = "matrix_frame needs dask; run pip install 'traveltime_lab[dask]'"
        raise MissingDependencyError(msg) from error
    job = matrix_job(
        network, origins, destinations, part_size=part_size, travel_time=travel_time, transportation=transportation,
        departure_time=departure_time, arrival_time=arrival_time, properties=properties, snapping=snapping,
        window=window, percentiles=percentiles, engine=engine, costs=costs,
    )  # fmt: skip
    # One value of the graph, which each worker gets once.
    shared = delayed(job, name=f"matrix-{job.key}", traverse=False)
    make = delayed(_frame_of, pure=False)
    without_categories: Any = clear_known_categories  # which has no annotations
    meta = without_categories(_as_frame(job.schema.empty_table()))
    parts = [make(shared, part) for part in range(job.n_parts)]
    frame: dd.DataFrame = dd.from_delayed(parts, meta=meta, verify_meta=False)
    return frame


def _frame_of(job: MatrixJob, part: int) -> pd.DataFrame:
    """Return the rows of a part."""
    with one_thread():
        tables = [job.schema.empty_table(), *job.chunks(part)]
    return _as_frame(pa.concat_tables(tables).unify_dictionaries())


def _as_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table of pandas, whose percentiles may be missing."""
    frame = table.to_pandas()
    return frame.astype({name: "Int32" for name in frame.columns if name.startswith("travel_time_p")})


def matrix_job(
    network: Any,
    origins: Any,
    destinations: Any,
    *,
    part_size: Any = PAIRS_PER_PART,
    engine: Any = "auto",
    **arguments: Any,
) -> MatrixJob:
    """Validate the arguments of `write_matrix`, and return the job."""
    size = whole(part_size, "part_size", 1, _MOST_PAIRS_PER_PART, "pairs")
    opened, source = open_network(network)
    with first_of(opened, arguments, "driving") as (times, moments):
        query, properties = table_query(opened, engine=engine, allowed=names_for("write_matrix"), **times)
    question, percents = query.question, query.percents
    starts, ends = Places.read(origins, "origins", opened), Places.read(destinations, "destinations", opened)
    columns = {"origin": (starts.label_type, ""), "destination": (ends.label_type, "")}
    of_numbers = (row for row in PROPERTIES.values() if row in (*numbers(properties), *charged(properties)))
    columns |= {row.name: (pa.from_numpy_dtype(row.dtype), row.unit) for row in of_numbers}
    if "snap_distance" in properties:
        columns |= {f"{end}_snap_distance": (pa.float64(), "m") for end in ("origin", "destination")}
    columns |= {f"travel_time_p{value:g}": (pa.int32(), "s") for value in percents}
    if "share" in properties:
        columns["share"] = pa.float64(), "1"
    several = {name: moments for name in NAMES if moments and question.arguments[name] is not None}
    known = {
        **question.arguments,
        **several,
        "costs": question.costs,
        "properties": properties,
        "percentiles": percents,
    }
    receipt = receipt_of(
        query, "write_matrix", {name: known[name] for name in _REQUESTED}, origins=starts, destinations=ends
    )
    parameters = {
        "travel_time": question.limit, **with_moments(question.to_json(query.day), moments),
        "properties": list(columns)[2:], "window": known["window"],
    }  # fmt: skip
    if moments:
        columns = {COLUMN: (moments_type(opened.timezone), ""), **columns}
    return MatrixJob(
        network=opened,
        source=source,
        question=question,
        parameters=parameters,
        schema=schema_of(opened, parameters, columns, receipt),
        origins=starts,
        rows_per_part=min(max(1, size // (len(ends) * max(1, len(moments)))), len(starts)),
        moments=moments,
        destinations=ends,
        properties=properties,
        engine=engine,
    )


@dataclass(eq=False)
class MatrixJob(Job):
    """
    The travel times of all reachable pairs of origins and destinations; see `Job`.

    Attributes
    ----------
    destinations : Places
    properties : tuple of str
    engine : str
    """

    destinations: Places
    properties: tuple[str, ...]
    engine: str

    kind: ClassVar[str] = "matrix"
    unit: ClassVar[str] = "pair"

    def weight(self, part: int) -> int:
        """Return the number of pairs of a part, reachable or not."""
        return super().weight(part) * len(self.destinations) * max(1, len(self.moments))

    def places(self) -> dict[str, Places]:
        """Return the origins and the destinations."""
        return {"origins": self.origins, "destinations": self.destinations}

    def _prepare(self, query: Query) -> tuple[Query, Snaps]:
        ends = query.snap_at(self.destinations.lng, self.destinations.lat, is_origin=False)
        return with_properties(query, self.properties), ends

    def chunks(self, part: int) -> Iterator[pa.Table]:
        """Yield the reachable pairs of a part, sorted by origin and destination."""
        query, end_snaps = self.prepared()
        starts, ends = self.origins.points(self.rows(part)), self.destinations.points(slice(0, len(self.destinations)))
        pairs = Pairs(query.snap_at(starts.lng, starts.lat), end_snaps)

        def rows(query: Query) -> pd.DataFrame:
            found = reachable_pairs(query, pairs, self.question.limit, engine=self.engine)
            return sparse_table(found, starts, ends, self.properties, self.question.percents)

        if not self.moments:
            table = rows(query)
        else:
            tables = found_at(query, self.moments, rows, max(len(starts), len(ends)))
            table, moment_of = by_origin(tables, np.concatenate([each["origin"].to_numpy() for each in tables]))
            table.insert(0, COLUMN, moment_column(self.moments, query.network.timezone)[moment_of])
        for first in range(0, len(table), ROW_GROUP):
            yield self._labelled(table.iloc[first : first + ROW_GROUP])

    def _labelled(self, table: pd.DataFrame) -> pa.Table:
        """Return rows with labels in place of positions."""
        columns = {
            "origin": self.origins.column(table["origin"].to_numpy()),
            "destination": self.destinations.column(table["destination"].to_numpy()),
        }
        columns |= {
            name: pa.array(table[name], type=self.schema.field(name).type if name == COLUMN else None)
            for name in self.schema.names
            if name not in columns
        }
        return pa.table(columns, schema=self.schema)
