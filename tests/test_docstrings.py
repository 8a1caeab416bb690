"""The examples in docstrings run, and every public function and class has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import traveltime_lab as tl

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: Modules whose own examples run, too.
MODULES = ("errors", "moments", "runtime.interrupts", "runtime.memo", "runtime.progress", "settings")

PUBLIC = sorted(name for name in tl.__all__ if callable(getattr(tl, name)))
#: Errors are shown by the module that has them.
ERRORS = {name for name in PUBLIC if inspect.isclass(getattr(tl, name)) and issubclass(getattr(tl, name), Exception)}


def examples_of(item: Any, name: str) -> list[doctest.DocTest]:
    """Return the examples of a function, or of a class and its methods."""
    # `module=False`: names that are imported lazily are not members of the package for doctest.
    return [test for test in doctest.DocTestFinder().find(item, name, module=False, globs={}) if test.examples]


def runnable(test: doctest.DocTest) -> list[doctest.Example]:
    return [example for example in test.examples if not example.options.get(doctest.SKIP)]


def run(test: doctest.DocTest, names: dict[str, Any]) -> None:
    report: list[str] = []
    test.globs = dict(names)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.fixture
def names(porto_alegre: Network, helsinki: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What examples see: the package as `tl`, with sample networks that tests share."""
    networks = {None: porto_alegre, "porto_alegre": porto_alegre, "helsinki": helsinki}
    monkeypatch.setattr(tl, "sample_network", lambda name=None: networks[name])
    monkeypatch.setenv("MPLBACKEND", "agg")
    # Examples write files.
    monkeypatch.chdir(tmp_path)
    return {"tl": tl}


#: Names whose examples take a second or more each.
LONG = ("calibrate_speeds", "pareto_routes")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in PUBLIC]
)
def test_the_examples_of_public_names_run(name: str, names: dict[str, Any]) -> None:
    for test in examples_of(getattr(tl, name), name):
        run(test, names)


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - ERRORS))
def test_every_public_function_and_class_has_an_example_that_runs(name: str) -> None:
    assert any(runnable(test) for test in examples_of(getattr(tl, name), name)), f"{name} has no example that runs"


def test_an_example_that_is_wrong_fails() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run(wrong, {})


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_ground_modules_run(name: str, names: dict[str, Any]) -> None:
    module = importlib.import_module(f"traveltime_lab.{name}")
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert found, f"{name} has no example"
    for test in found:
        run(test, vars(module) | names)


def test_an_example_that_is_skipped_does_not_count() -> None:
    def shown_only() -> None:
        """
        >>> shown_only()  # doctest: +SKIP
        """

    assert not any(runnable(test) for test in examples_of(shown_only, "shown_only"))
