"""What is read from the source is what Python has when the functions are imported."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import subprocess
import sys
from typing import Any

import pytest

import traveltime_lab as tl
from tests.support import ROOT
from traveltime_lab import cli
from traveltime_lab.commands.options import plain
from traveltime_lab.commands.searches import COMMANDS
from traveltime_lab.commands.signatures import REQUIRED, described
from traveltime_lab.commands.values import kind_of, pair, reader

FUNCTIONS = [each.function for each in COMMANDS]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_are_those_of_the_signature(name: str) -> None:
    parameters = inspect.signature(getattr(tl, name)).parameters.values()
    found = {each.name: (each.default, each.is_keyword) for each in described(name).arguments}
    assert found == {
        each.name: (REQUIRED if each.default is each.empty else each.default, each.kind is each.KEYWORD_ONLY)
        for each in parameters
    }
    assert described(name).summary == inspect.getdoc(getattr(tl, name)).partition("\n")[0]


@pytest.mark.parametrize("kind", [tl.Transportation, tl.Snapping])
def test_fields_are_those_of_the_class(kind: Any) -> None:
    found = {each.name: each.default for each in described(kind.__name__).arguments}
    assert found == {each.name: each.default for each in dataclasses.fields(kind)}


def parsers() -> dict[str, argparse.ArgumentParser]:
    commands = next(each for each in cli._parser()._actions if isinstance(each, argparse._SubParsersAction))
    return dict(commands.choices)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_has_an_option_with_a_text(name: str) -> None:
    actions = {action.dest: action for action in parsers()[name.replace("_", "-")]._actions}
    wanted = {each.name for each in described(name).arguments} - {"progress", "executor"}
    if "transportation" in wanted:
        wanted |= {each.name for each in described("Transportation").arguments}
        wanted -= {"type", "disable_border_crossing"}
    if "snapping" in wanted:
        wanted |= {f"snapping_{each.name}" for each in described("Snapping").arguments}
        wanted.discard("snapping")
    own = {"help", "id", "layer", "crs", "separator", "decimal", "out", "format", "quiet", "legs"}
    if {"points", "origins", "origin"} & wanted:
        own |= {"lng", "lat"}
    if "days" in wanted:
        wanted |= {each.name for each in described("observed_days").arguments} - {"network"} | {"dates"}
        wanted.discard("days")
    assert actions.keys() - own == wanted
    for action in actions.values():
        assert action.help and not {"`", '"'} & set(action.help), action.dest


def test_searches_that_are_no_commands_take_tables_of_results() -> None:
    """A new search with a network becomes a command, or is named here."""
    others = {
        "shape_accuracy", "prepare_points", "calibrate_speeds", "plot", "write_matrix", "write_areas", "matrix_frame",
        "add_elevation", "add_speeds", "side_by_side", "observed_days",
    }  # fmt: skip
    functions = {name: getattr(tl, name) for name in tl.__all__ if inspect.isfunction(getattr(tl, name))}
    first = {name: next(iter(inspect.signature(each).parameters), "") for name, each in functions.items()}
    assert {name for name in first if first[name] == "network"} - others == set(FUNCTIONS)


@pytest.mark.slow
def test_help_imports_nothing_of_what_it_describes() -> None:
    code = (
        "import sys\nfrom traveltime_lab import cli\n"
        "try: cli.main(['accessibility', '--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert not {'numpy', 'pandas', 'numba', 'traveltime_lab.search'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert "--walking-speed X" in done.stdout and "80 % of" in done.stdout


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int | dt.timedelta | Sequence[int | dt.timedelta]", "900", 900),
        ("int | dt.timedelta | Sequence[int | dt.timedelta]", "300, 600", (300, 600)),
        ("Sequence[str]", "travel_time", ("travel_time",)),
        ("Sequence[str]", "", ()),
        ("Sequence[float]", "50,80.5", (50.0, 80.5)),
        ("str | int | Mapping[str, Any] | None", "-2", -2),
        ("str | int | Mapping[str, Any] | None", "high", "high"),
        ("str | int | Mapping[str, Any] | None", '{"level": 1}', {"level": 1}),
        ("tuple[float, float, float, float] | None", "-1,2,3e1,.5", (-1.0, 2.0, 30.0, 0.5)),
        ("shapely.Point | Mapping[str, float] | None", "-51.2,-30", {"lng": -51.2, "lat": -30.0}),
        ("float | None", "5", 5.0),
    ],
)
def test_values(annotation: str, text: str, value: Any) -> None:
    found = reader(kind_of(annotation))(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "text", "words"),
    [
        ("int | None", "1.5", "must be a whole number; got '1.5'"),
        ("Sequence[float]", "1,x", "must be a number; got 'x'"),
        ("str | Mapping[str, Any]", "{x", "must be JSON; got '{x'"),
        ("shapely.Point | None", "here", "must be LNG,LAT; got 'here'"),
    ],
)
def test_values_that_are_wrong(annotation: str, text: str, words: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=words):
        reader(kind_of(annotation))(text)


def test_pairs_and_texts() -> None:
    assert pair(" -51.2 , -30.0 ") == (-51.2, -30.0)
    assert [pair(text) for text in ("homes.csv", "1,2,3", "1", "1;2", "nan,1")] == [None] * 5
    assert plain("Whether to `fill` holes, as ``[1, 2]`` [3]_; None for any.") == "Fill holes, as 1,2."


def test_seconds_and_metres_have_their_letters() -> None:
    letters = {action.dest: action.metavar for action in parsers()["time-map"]._actions}
    assert [letters[name] for name in ("parking_time", "walking_time", "buffer_distance")] == ["S", "S", "M"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_sentence_is_the_text_of_several_options(name: str) -> None:
    helps = [action.help for action in parsers()[name.replace("_", "-")]._actions if action.help]
    sentences = [part for text in helps for part in set(text.split(". ")) if len(part) > 40]
    assert not {part for part in sentences if sentences.count(part) > 2}
    assert not [text for text in helps if "*" in text]


@pytest.mark.parametrize("west", ["-.5", "-0.5", "-5"])
def test_bounds_may_begin_with_a_minus(west: str) -> None:
    options = cli._parser().parse_args(["build", "a.pbf", "--bounds", f"{west},60.1,25,60.2", "a.network"])
    assert options.bounds == (float(west), 60.1, 25.0, 60.2)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--watch", "inf", "--watch must be at most 86,400; got inf"),
        ("--watch", "1e10", "--watch must be at most 86,400; got 1e+10"),
        ("--watch", "nan", "--watch must be positive; got nan"),
        ("--watch", "0", "--watch must be positive; got 0.0"),
        ("--idle-timeout", "inf", "--idle-timeout must be at most 86,400; got inf"),
        ("--idle-timeout", "-1", "--idle-timeout must be positive; got -1.0"),
        ("--timeout", "nan", "--timeout must be positive; got nan"),
        ("--body-limit", "inf", "--body-limit must be at most 1,000,000; got inf"),
    ],
)
def test_options_of_serve_have_limits(option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", option, value]) == 1
    assert words in capsys.readouterr().err
