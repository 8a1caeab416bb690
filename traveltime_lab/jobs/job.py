"""
The parts of large jobs, computed in this process or in a different one.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

import traveltime_lab
from traveltime_lab._arrays import AnyArray, FloatArray, IndexArray
from traveltime_lab._digests import digest
from traveltime_lab._files import as_path
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import InputError, TravelTimeError
from traveltime_lab.moment_lists import NAMES
from traveltime_lab.network.build import load_network
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points, plain, read_points
from traveltime_lab.question import Question
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search.query import Query
from traveltime_lab.search.receipts.inputs import InputTable
from traveltime_lab.search.receipts.record import NetworkFacts, Request
from traveltime_lab.transit.timetable import ServiceWarning

#: Rows of a row group: what a reader has to hold at least, 12 MB with origin, destination and travel time.
ROW_GROUP: Final = 1_000_000
#: Largest dictionary of a column of texts in bytes. Beyond it, Parquet would write every text again in every row.
_DICTIONARY: Final = 256 << 20


def versions() -> dict[str, str]:
    """Return the versions of the packages that determine the bytes of a part."""
    return {
        "traveltime_lab": traveltime_lab.__version__,
        "pyarrow": pa.__version__,
        "shapely": f"{shapely.__version__} (GEOS {shapely.geos_version_string})",
    }


@dataclass(frozen=True, eq=False)
class Places:
    """
    The points of a job and their labels.

    Attributes
    ----------
    labels : int32 or int64 array, or object array of str, of shape (n,)
    lng, lat : float64 arrays of shape (n,)
        Coordinates in EPSG:4326.
    """

    labels: AnyArray
    lng: FloatArray
    lat: FloatArray

    @classmethod
    def read(cls, table: Any, name: str, network: Network) -> Places:
        """Validate points and their labels; `name` is the name of the argument in error messages."""
        points = read_points(table, name, network.bounds)
        return cls(_labels(points.index, name), points.lng, points.lat)

    def __len__(self) -> int:
        """Return the number of points."""
        return int(self.lng.size)

    @property
    def has_texts(self) -> bool:
        """Whether the labels are texts."""
        return self.labels.dtype.kind == "O"

    @property
    def label_type(self) -> pa.DataType:
        """The Arrow type of a column of labels."""
        return pa.dictionary(pa.int32(), pa.string()) if self.has_texts else pa.from_numpy_dtype(self.labels.dtype)

    @property
    def digest(self) -> str:
        """Hash of the labels and coordinates."""
        texts = json.dumps(self.labels.tolist()).encode() if self.has_texts else self.labels.astype("<i8").tobytes()
        return digest(texts, self.lng.astype("<f8").tobytes(), self.lat.astype("<f8").tobytes()).hexdigest()

    def points(self, rows: slice) -> Points:
        """Return some of the points, labelled by their positions."""
        lng, lat = self.lng[rows], self.lat[rows]
        return Points(pd.RangeIndex(rows.start, rows.stop), lng, lat, np.empty(lng.size, object))

    def column(self, positions: AnyArray) -> pa.Array:
        """Return the labels at positions; texts as a dictionary of those that occur."""
        if not self.has_texts:
            return pa.array(self.labels[positions])
        is_used = np.zeros(len(self), np.bool_)
        is_used[positions] = True
        codes = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
        return pa.DictionaryArray.from_arrays(codes[positions], pa.array(self.labels[is_used], pa.string()))


def _labels(index: pd.Index, name: str) -> AnyArray:
    """Return whole numbers as the smaller of int32 and int64 that holds all, texts as objects."""
    if isinstance(index, pd.CategoricalIndex):
        index = index.astype(index.categories.dtype)
    if not isinstance(index, pd.MultiIndex) and not index.hasnans:
        if pd.api.types.is_integer_dtype(index.dtype):
            least, most = int(index.min()), int(index.max())
            if least >= -(2**63) and most < 2**63:
                is_small = least >= -(2**31) and most < 2**31
                return np.asarray(index.to_numpy(np.int32 if is_small else np.int64))
        elif index.inferred_type == "string":
            texts = np.array([str(text) for text in index], dtype=object)
            try:
                pa.array(texts, pa.string())
            except UnicodeEncodeError as error:
                msg = f"{name} has the label {error.object!r} in its index, which is not valid Unicode; rename it"
                raise InputError(msg) from error
            return texts
    msg = (
        f"{name} must be labelled by texts, or by whole numbers from -2**63 to 2**63 - 1; its index has "
        f"{plain(index[0])!r} ({index.inferred_type}). Use {name}.reset_index()"
    )
    raise InputError(msg)


@dataclass(frozen=True)
class Made:
    """
    A part.

    Attributes
    ----------
    content : bytes or Path
        The content of its file, or the file, which the folder of the job has under a temporary name.
    n_rows : int or None
        Number of rows of a table.
    inputs : dict or None
        See `traveltime_lab.jobs.folder.Described`.
    notes : tuple of str
        Warnings for the caller.
    kept : Path or None
        Folder of `Network.prepare` that is deleted when the part is in its place.
    """

    content: bytes | Path
    n_rows: int | None = None
    inputs: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    kept: Path | None = None


@dataclass(frozen=True)
class Failed:
    """The error of a part after which the job continues with the others."""

    error: TravelTimeError


@dataclass(eq=False)
class Job(ABC):
    """
    A job that is computed part by part; each part belongs to some consecutive origins.

    A job is pickled for other processes: without its network if the network is a file, which they open themselves, and
    without what `prepared` makes of it.

    Attributes
    ----------
    network : Network or None
        None in another process until the network has been opened.
    source : Path or None
        File of the network.
    question : Question
    parameters : dict
        The question as values of JSON, for the manifest.
    schema : pyarrow.Schema
        Columns with their units, and metadata on the source and the question.
    origins : Places
    rows_per_part : int
        Number of origins per part.
    moments : tuple of datetime
        Moments of the call if it has several; `question` is that of the first.
    """

    network: Network | None
    source: Path | None
    question: Question
    parameters: dict[str, Any]
    schema: pa.Schema
    origins: Places
    rows_per_part: int
    moments: tuple[dt.datetime, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str]
    #: Unit of the progress.
    unit: ClassVar[str]
    #: See `traveltime_lab.jobs.folder.Described`.
    pattern: ClassVar[str] = "part-*.parquet"

    def __post_init__(self) -> None:
        """Remember the network and the versions of the process that began the job, and give the job a key."""
        assert self.network is not None
        self.fingerprint, self.versions, self.key = self.network.fingerprint, versions(), uuid.uuid4().hex
        self._lock, self._prepared = Lock(), None

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_prepared")}
        return state | ({} if self.source is None else {"network": None})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        self.__dict__.update(state, _lock=Lock(), _prepared=None)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return -(-len(self.origins) // self.rows_per_part)

    def rows(self, part: int) -> slice:
        """Return the origins of a part."""
        first = part * self.rows_per_part
        return slice(first, min(first + self.rows_per_part, len(self.origins)))

    def files(self) -> dict[Any, str]:
        """Return the name of the file of each part."""
        return {part: f"part-{part:06d}.parquet" for part in range(self.n_parts)}

    def inputs(self, part: int) -> dict[str, Any] | None:
        """Return None: only the description determines the bytes of a part."""
        return None

    def weight(self, part: int) -> int:
        """Return how much of the work a part is, in `unit`."""
        rows = self.rows(part)
        return int(rows.stop - rows.start)

    def prepared(self) -> Any:
        """Return what all parts share, such as snapped destinations; computed once per process."""
        with self._lock:
            if self._prepared is None:
                # The call that began the job has warned of its moments.
                with warnings_to(lambda _: None, ServiceWarning):
                    query = Query.of(self.question, self._opened())
                self._prepared = self._prepare(query)
            return self._prepared

    def _opened(self) -> Network:
        """Return the network; another process opens its file and compares fingerprint and versions."""
        check_versions(self.versions)
        if self.network is None:
            assert self.source is not None
            self.network = opened_by_worker(self.source, self.fingerprint)
        return self.network

    def _prepare(self, query: Query) -> Any:
        """Return what `prepared` keeps."""
        return query

    @abstractmethod
    def chunks(self, part: int) -> Iterator[pa.Table]:
        """Yield the rows of a part as tables of at most `ROW_GROUP` rows."""

    def places(self) -> dict[str, Places]:
        """Return the points of the job by the name of the argument."""
        return {"origins": self.origins}

    def description(self) -> dict[str, Any]:
        """Return what determines the bytes of all parts, as values of JSON."""
        return {
            "kind": self.kind,
            "versions": self.versions,
            "network": self.fingerprint,
            **{name: {"count": len(places), "digest": places.digest} for name, places in self.places().items()},
            "parameters": self.parameters,
            "origins_per_part": self.rows_per_part,
        }

    def make(self, part: int) -> Made:
        """Return a part as a Parquet file."""
        sink, n_rows = io.BytesIO(), 0
        by_delta = [each.name for each in self.schema if each.name == "destination" and pa.types.is_integer(each.type)]
        # Origins, travel times and texts have few different values; destinations rise within each origin.
        few = {"moment", "origin", "destination", "travel_time", "reason"} - {*by_delta}
        few |= {name for name in self.schema.names if name.startswith("travel_time_p")}
        with pq.ParquetWriter(
            sink,
            self.schema,
            compression="zstd",
            use_dictionary=sorted(few & {*self.schema.names}),
            column_encoding=dict.fromkeys(by_delta, "DELTA_BINARY_PACKED"),
            dictionary_pagesize_limit=_DICTIONARY,
        ) as writer:
            for chunk in self.chunks(part):
                n_rows += chunk.num_rows
                writer.write_table(chunk, row_group_size=ROW_GROUP)
        return Made(sink.getvalue(), n_rows)


def check_versions(begun_with: dict[str, str]) -> None:
    """Raise InputError if this worker has other packages than the process that began a job."""
    if begun_with != versions():
        msg = f"a worker has other versions than the process that began the job: {versions()}, not {begun_with}"
        raise InputError(f"{msg}; install the same packages on both")


def opened_by_worker(source: Path, fingerprint: str) -> Network:
    """Return the network of a file; raise InputError if it is not that of the process that began a job."""
    network = load_network(source, verify=False)
    if network.fingerprint != fingerprint:
        msg = f"a worker found another network at {source}; save it under the same path on every machine"
        raise InputError(msg)
    return network


def moments_type(timezone: str) -> pa.DataType:
    """Return the Arrow type of the column of moments."""
    return pa.timestamp("us", timezone)


def with_moments(parameters: dict[str, Any], moments: Sequence[dt.datetime]) -> dict[str, Any]:
    """Return the parameters of a job with all moments, as values of JSON, in place of the first."""
    several = [moment.isoformat() for moment in moments]
    return {name: several if several and name in NAMES else value for name, value in parameters.items()}


def by_origin(tables: Sequence[pd.DataFrame], origins: AnyArray) -> tuple[pd.DataFrame, IndexArray]:
    """
    Return the rows of several moments sorted by origin and moment, and the position of the moment of each row.

    Parameters
    ----------
    tables : sequence of DataFrame
        The rows of each moment.
    origins : int array of shape (n_rows,)
        Positions of the origins of all rows, one table after the other.
    """
    order = np.argsort(origins, kind="stable")
    moment_of = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    return pd.concat(tables).iloc[order], moment_of[order]


def open_network(network: Any) -> tuple[Network, Path | None]:
    """Return a network and its file; the argument is one of the two."""
    if isinstance(network, Network):
        return network, None
    try:
        source = as_path(network, "network")
    except InputError as error:
        msg = f"network must be a Network or the path of a saved one; got {type(network).__name__}"
        raise InputError(msg) from error
    return load_network(source), source.absolute()


def receipt_of(query: Query, function: str, arguments: dict[str, Any], **places: Places) -> dict[str, Any]:
    """Return the receipt of a job, which has hashes of the places but not their coordinates."""
    tables = {
        name: InputTable(pd.Index(each.labels), np.column_stack([each.lng, each.lat]), WGS84, {})
        for name, each in places.items()
    }
    return Request(function, arguments, tables, NetworkFacts.of(query.network), query.day, with_points=False).as_json()


def schema_of(
    network: Network,
    parameters: dict[str, Any],
    columns: dict[str, tuple[pa.DataType, str]],
    receipt: dict[str, Any],
    **more: str,
) -> pa.Schema:
    """
    Return a schema with units, coordinate reference system and licence in its metadata.

    Parameters
    ----------
    network : Network
    parameters : dict
        Those of `Job`.
    columns : dict of str to (DataType, str)
        Type and unit of each column; an empty text for none.
    receipt : dict
        From `receipt_of`.
    **more : str
        More metadata.
    """
    units = {name: unit for name, (_, unit) in columns.items() if unit}
    about = {
        "units": units,
        "crs": "EPSG:4326",
        "licence": network.attribution,
        "network": network.fingerprint,
        "parameters": parameters,
        "versions": versions(),
        "receipt": receipt,
    }
    fields = [pa.field(name, kind, metadata={"unit": unit} if unit else None) for name, (kind, unit) in columns.items()]
    return pa.schema(fields, metadata={"traveltime_lab": json.dumps(about, ensure_ascii=False), **more})
