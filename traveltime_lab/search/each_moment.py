"""
Searches at many moments: one table with the rows of each.

`at_each_moment` gives a public function the lists of moments that `traveltime_lab.moment_lists` reads. The rows of a
moment are those of a call for it alone, because it is such a call that computes them. Its searches find what does not
depend on the moment, or was searched together, in `traveltime_lab.runtime.shared`. Where streets are the same at
several moments, so is the table, which is computed once and repeated.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime as dt
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import numpy as np
import pandas as pd

from traveltime_lab._arrays import IndexArray, unique_values
from traveltime_lab.errors import BorderWarning, InputError
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.moment_lists import NAMES, are_several, check_kind, resolve_several
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.runtime.progress import Progress, check_progress, shown
from traveltime_lab.runtime.shared import alone, shared_by, sharing
from traveltime_lab.runtime.warnings import warn, warnings_to
from traveltime_lab.search.query import Query
from traveltime_lab.search.tables import free
from traveltime_lab.streets.layer import GraphKey
from traveltime_lab.transit.timetable import ServiceWarning

#: Name of the column, or of the level of the index, with the moments.
COLUMN: Final = "moment"

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


class Rows(ABC):
    """The rows of a moment before they are a table, which is quicker for those of all moments together."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """Return the rows as a table."""

    @abstractmethod
    def joined(self, each: Sequence[Any]) -> pd.DataFrame:
        """Return the rows of these and the same of other moments, one after the other, as a table."""

    def answer(self) -> Any:
        """Return the rows in a call for several moments, and otherwise the table."""
        return self.table() if shared_by() is None else self


def moments_of(arguments: Mapping[str, Any], timezone: str) -> tuple[str, tuple[dt.datetime, ...]] | None:
    """Return which argument of a call is a list of moments, and the moments; None if there is one at most."""
    for name in NAMES:
        check_kind(arguments.get(name), name)
    several = [name for name in NAMES if are_several(arguments.get(name))]
    if not several:
        return None
    if all(arguments.get(name) is not None for name in NAMES):
        raise InputError("Give departure_time or arrival_time, not both.")
    return several[0], resolve_several(arguments[several[0]], timezone, name=several[0])


def at_each_moment(*, has_times: bool = False, by_label: bool = False) -> Callable[[_F], _F]:
    """
    Have a public function take lists of moments.

    Parameters
    ----------
    has_times : bool, default False
        Whether its tables differ by moment where streets do not, as they contain times of day.
    by_label : bool, default False
        Whether its tables are indexed by the labels of origins, and not by numbers of rows.
    """

    def decorate(function: _F) -> _F:
        usual = inspect.signature(function).parameters["transportation"].default

        @functools.wraps(function)
        def answered(network: Any, *arguments: Any, **keywords: Any) -> Any:
            for name in NAMES:
                check_kind(keywords.get(name), name)
            if not any(are_several(keywords.get(name)) for name in NAMES):
                # In a function for the progress of another call, for example.
                with alone():
                    return function(network, *arguments, **keywords)
            check_network(network)
            means = as_transportation(keywords.get("transportation", usual))
            found = moments_of(keywords, network.timezone)
            assert found is not None
            name, moments = found
            alike = alike_moments(network, means, moments, name, has_times=has_times)

            def call(moment: dt.datetime, progress: Progress) -> Any:
                return function(network, *arguments, **{**keywords, name: moment, "progress": progress})

            tables = _each(call, moments, alike, keywords.get("progress", False))
            each = [tables[i] for i in alike.tolist()]
            column = moment_column(moments, network.timezone)
            return _wide(each, column) if keywords.get("form") == "matrix" else _long(each, column, by_label=by_label)

        return cast(_F, answered)

    return decorate


@contextlib.contextmanager
def first_of(
    network: Network, arguments: dict[str, Any], usual: str
) -> Iterator[tuple[dict[str, Any], tuple[dt.datetime, ...]]]:
    """
    Yield the arguments of a call with the first of several moments, and all of them; none if there is one at most.

    The ``with`` block creates the query for the first, which warns of it. The end of the block warns of the others.

    Raises
    ------
    MomentError
        If a moment is invalid, or the timetable does not cover it.
    """
    found = moments_of(arguments, network.timezone)
    if found is None:
        yield arguments, ()
        return
    name, moments = found
    means = as_transportation(arguments.get("transportation", usual))
    alike_moments(network, means, moments, name)
    with warned_once(len(moments)):
        yield {**arguments, name: moments[0]}, moments
        if means.uses_timetable and network.transit is not None:
            for moment in moments[1:]:
                network.transit.timetable.check_moment(moment, name=name)


def alike_moments(
    network: Network, means: Transportation, moments: Sequence[dt.datetime], name: str, *, has_times: bool = False
) -> IndexArray:
    """
    Return the number of the first moment at which the answer is the same, for each moment.

    Raises
    ------
    NoServiceError
        If the timetable does not cover one of them.
    """
    everyone = np.arange(len(moments))
    if means.uses_timetable:
        if network.transit is not None:
            # Searches warn of each moment, or `first_of` does; this is to fail before the first one.
            with warnings_to(lambda _: None):
                for i, moment in enumerate(moments):
                    network.transit.timetable.check_moment(moment, name=f"{name}[{i}]")
        return everyone
    if has_times or means.time_dependent:
        return everyone
    first: dict[GraphKey, int] = {}
    for i, moment in enumerate(moments):
        everyone[i] = first.setdefault(network.streets.graph_key(means, moment), i)
    return everyone


def _each(
    call: Callable[[dt.datetime, Progress], Any],
    moments: Sequence[dt.datetime],
    alike: IndexArray,
    progress: Progress,
) -> dict[int, Any]:
    """Return the tables of different moments by their number; searches go through them in order of time."""
    check_progress(progress)
    if callable(progress):
        progress = functools.partial(_in_context, contextvars.copy_context(), progress)
    times = {i: moments[i].timestamp() for i in unique_values(alike).tolist()}
    weights = np.bincount(alike, minlength=len(moments))
    tables = {}
    with (
        sharing([moments[i] for i in sorted(times, key=times.__getitem__)], len(moments)),
        warned_once(len(times)),
        _Progress(progress, len(moments)) as total,
    ):
        for i in sorted(times, key=times.__getitem__):
            tables[i] = call(moments[i], total.part(int(weights[i])))
    return tables


def _in_context(context: contextvars.Context, function: Callable[[int, int], Any], done: int, total: int) -> Any:
    """Call a function of the caller as before the searches: its own searches share nothing with these."""
    return context.copy().run(function, done, total)


def found_at(query: Query, moments: Sequence[dt.datetime], find: Callable[[Query], _T], n_points: int) -> list[_T]:
    """
    Return the answers of a function to a query at each moment; where streets are the same, it is the same object.

    Parameters
    ----------
    query : Query
        The query at one of the moments, all of which the timetable covers.
    moments : sequence of datetime
    find : callable
    n_points : int
        Largest number of points of the search side.
    """
    name = "arrival_time" if query.is_arrival else "departure_time"
    alike = alike_moments(query.network, query.transportation, moments, name)
    order = sorted(unique_values(alike).tolist(), key=lambda i: moments[i].timestamp())
    with sharing([moments[i] for i in order], len(moments), n_points):
        found = {i: find(query.at_moment(moments[i])) for i in order}
    return [found[i] for i in alike.tolist()]


class _Progress(contextlib.ExitStack):
    """The progress of several calls as that of one."""

    def __init__(self, progress: Progress, n_calls: int) -> None:
        super().__init__()
        self.progress, self.n_calls = progress, n_calls
        self.say: Callable[[int], None] | None = None

    def part(self, weight: int) -> Progress:
        """Return the argument ``progress`` of the next call, which counts as some calls."""
        if not self.progress:
            return False
        reached = 0

        def report(done: int, total: int) -> None:
            nonlocal reached
            if self.say is None:
                whole = shown(self.progress, total * self.n_calls, "Moments", "part", is_share=True)
                self.say = self.enter_context(whole)
            self.say((done - reached) * weight)
            reached = done

        return report


@contextlib.contextmanager
def warned_once(n_searches: int) -> Iterator[None]:
    """
    Warn once of what several searches in a ``with`` block warn of, with the number of searches if texts differ.

    If the block fails, it warns of what it had warned of until then; the error is that of the block.
    """
    kinds = (UserWarning, ServiceWarning, BorderWarning)
    heard: dict[type[Warning], list[str]] = {kind: [] for kind in kinds}
    with contextlib.ExitStack() as stack:
        for kind, texts in heard.items():
            stack.enter_context(warnings_to(texts.append, kind))
        try:
            yield
        except BaseException:
            stack.close()
            # Where warnings are errors.
            with contextlib.suppress(Warning):
                _warn_of(heard, n_searches)
            raise
    _warn_of(heard, n_searches)


def _warn_of(heard: Mapping[type[Warning], Sequence[str]], n_searches: int) -> None:
    """Warn of texts, one of each kind; see `warned_once`."""
    for kind, texts in heard.items():
        if texts:
            more = len(set(texts)) - 1
            others = f" (and similarly in {more:,} more of {n_searches:,} searches)" if more else ""
            warn(f"{texts[0]}{others}", kind)


def check_columns(names: Iterable[str]) -> None:
    """
    Raise an error if columns of a table of the caller are called like that of the moments, in a call for several.

    Raises
    ------
    InputError
    """
    if shared_by() is not None and COLUMN in names:
        msg = f"the result has a column {COLUMN!r} for the departure or arrival times; rename the one of your table"
        raise InputError(msg)


def moment_column(moments: Sequence[dt.datetime], timezone: str) -> pd.DatetimeIndex:
    """Return moments as a timezone-aware index."""
    utc = pd.to_datetime(pd.Series([moment.astimezone(dt.UTC) for moment in moments]), utc=True)
    return pd.DatetimeIndex(utc.dt.tz_convert(timezone), name=COLUMN)


def _wide(each: Sequence[pd.DataFrame], moments: pd.DatetimeIndex) -> pd.DataFrame:
    """Return matrices below each other, with moments and origins as rows."""
    index = pd.MultiIndex.from_product([moments, each[0].index])
    values = np.concatenate([table.to_numpy() for table in each])
    return pd.DataFrame(values, index=index, columns=each[0].columns, copy=False)


def _long(each: Sequence[Any], moments: pd.DatetimeIndex, *, by_label: bool) -> pd.DataFrame:
    """Return tables below each other, with moments as the first column."""
    n_rows = [len(table) for table in each]
    joined = each[0].joined(each) if isinstance(each[0], Rows) else pd.concat(each, ignore_index=not by_label)
    joined.insert(0, COLUMN, moments.repeat(n_rows))
    joined.index = free(joined.index, joined.columns)
    return joined
