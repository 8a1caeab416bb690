"""How tests are shared between processes, with `-n`."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# A shell that starts tests in the background lets them, and the processes that they start, ignore Ctrl+C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Notebooks that run as tests compile, and their outputs are compared.
os.environ.setdefault("TRAVELTIME_LAB_PROGRESS", "0")

# nbval imports jsonschema, which builds a grammar of web addresses where this package is installed: a second of each
# process of the tests, of which none checks addresses.
sys.modules.setdefault("rfc3987_syntax", None)
pytest_plugins = ["nbval.plugin"]

#: A process takes up to 1.5 GB.
MOST_WORKERS = 4
#: Files that take longest. They begin first, so that no process is left alone with one of them at the end.
LONGEST = (
    "tests/docs/test_site.py",
    "tests/maps/test_browser.py",
    "tests/kernels/test_warm_up.py",
    "tests/server/test_page_in_browser.py",
    "tests/test_mutations.py",
    "tests/maps/test_widget.py",
    "tests/search/test_border.py",
    "tests/search/test_explain.py",
    "tests/test_keywords_change_answers.py",
    "tests/server/test_options.py",
    "tests/streets/test_street_searches.py",
    "tests/kernels/test_ready.py",
)
#: Random examples of a test that names more, however few of them a run tries.
FEWEST_EXAMPLES = 8
#: Marks that a file gives to its tests by name, as `pytest.mark.slow`.
MARKS = ("quick", "pythons", "slow", "thorough", "cities", "mutations", "solr")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes that `-n auto` starts; 0 is none besides this one."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_cores, MOST_WORKERS) if n_cores > 1 else 0


def _ignore_loaded_modules(config: pytest.Config) -> None:
    """
    Let fixed examples not depend on which modules are loaded, and so on how processes share the tests.

    Hypothesis tries numbers that it reads in loaded modules which are not installed packages; new examples may do so.
    """
    if config.getoption("--hypothesis-profile", None) == "new-examples":
        return
    with contextlib.suppress(ImportError):  # an old version
        from hypothesis.internal.conjecture import providers

        if hasattr(providers, "_get_local_constants"):  # since 6.131
            nothing = providers.Constants()
            providers._get_local_constants = lambda: nothing


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels, on two cores, before processes begin of which each would compile them."""
    config = session.config
    _ignore_loaded_modules(config)
    is_part = config.option.keyword or config.option.collectonly or config.option.markexpr in ("slow", "thorough")
    is_whole = config.args == config.getini("testpaths") and not is_part
    if is_whole and getattr(config.option, "numprocesses", None):
        from traveltime_lab.kernels import warm_up

        warm_up.start_helper()
        warm_up.compile_listed(warm_up.listed())


def pytest_configure(config: pytest.Config) -> None:
    """
    Let the processes of a run share compiled modules where neither pip nor Python keeps any (PYTHONDONTWRITEBYTECODE).

    Tests and notebooks start a hundred processes, each of which would compile all modules that it imports.
    """
    are_kept = Path(importlib.util.cache_from_source(pytest.__file__)).exists() or not sys.dont_write_bytecode
    if getattr(config.option, "numprocesses", None) and not are_kept:
        folder = tempfile.TemporaryDirectory(prefix="pycache-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder.name
        sys.dont_write_bytecode = False


def _marks_needed(expression: str) -> list[str]:
    """Return the marks of MARKS that every test has which an expression of `-m` selects."""
    terms = [] if "or" in expression.split() or "(" in expression else expression.split(" and ")
    return [term.strip() for term in terms if term.strip() in MARKS]


@functools.cache
def _names_mark(path: Path, mark: str) -> bool:
    """Return whether a file of tests names a mark."""
    return f"mark.{mark}" in path.read_text(encoding="utf-8")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files in which no test has the mark that is asked for: that takes seconds of each process."""
    if collection_path.suffix in (".py", ".ipynb"):
        needed = _marks_needed(config.option.markexpr)
        return True if not all(_names_mark(collection_path, mark) for mark in needed) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Do not look for garbage among what is collected, which lives to the end: that takes seconds of each process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        # Small networks come and go by the thousand: fewer looks for garbage took 1.5 s instead of 2.7 in test_plot.py.
        gc.set_threshold(10_000, 20, 20)
        _begin_hypothesis()
        gc.freeze()


def _begin_hypothesis() -> None:
    """
    Run an empty test of Hypothesis, which takes over NumPy's random numbers in the first.

    It looks for what refers to them, and would not find itself among objects that are frozen.
    """
    import hypothesis
    from hypothesis import strategies

    @hypothesis.settings(max_examples=1, database=None, deadline=None)
    @hypothesis.given(strategies.none())
    def test(value: None) -> None:
        pass

    test()


def _is_second() -> bool:
    """Return whether this is the second, fourth, ... of the processes that run tests."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2 == 1


@pytest.hookimpl(wrapper=True)
def pytest_collect_directory() -> Iterator[None]:
    """Import test files from the end in every other process, so that no two compile the same ones at the same time."""
    collector: Any = yield
    if collector is not None and _is_second():
        collect = collector.collect
        collector.collect = lambda: reversed(list(collect()))
    return collector


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """
    Keep each file in one process: cells of a notebook follow one another, and modules share what they build.

    The fuzz test of all arguments is divided, because it builds little and calls much.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith("tests/test_fuzz.py") else str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that asks for more random examples."""
    parser.addoption(
        "--more-examples", type=float, default=0.15, metavar="N",
        help="try N times as many random examples as each test names, eight or all of them at least (default: 0.15)",
    )  # fmt: skip


def _examples(named: int, times: float) -> int:
    """Return how many random examples a test has that names a number of them."""
    return max(round(times * named), min(named, FEWEST_EXAMPLES))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with the files that take longest, and end with the notebooks, which are short."""
    for item in items:
        if item.get_closest_marker("slow") and item.get_closest_marker("thorough"):
            raise pytest.UsageError(f"{item.nodeid} is slow and thorough: -m slow would run it, too")
        if item.get_closest_marker("pythons") and any(map(item.get_closest_marker, ("slow", "thorough"))):
            raise pytest.UsageError(f"{item.nodeid} is slow or thorough: no other Python would run it")
        for mark in MARKS:
            if item.get_closest_marker(mark) and not _names_mark(item.path, mark):
                raise pytest.UsageError(f"{item.path.name} does not name pytest.mark.{mark}: -m {mark} would miss it")
    if "PYTEST_XDIST_WORKER" in os.environ:  # all of which have to have the same order
        items.sort(key=lambda item: (item.path.suffix == ".ipynb", item.path.parts))
        place = {path: i for i, path in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))
    times = config.getoption("more_examples")
    functions = {getattr(item, "function", None) for item in items}
    for function in functions:
        # Hypothesis has no public way to change the settings of a test that has its own.
        if own := getattr(function, "_hypothesis_internal_use_settings", None):
            more = hypothesis.settings(own, max_examples=_examples(own.max_examples, times))
            function._hypothesis_internal_use_settings = more
