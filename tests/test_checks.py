"""The checks: every session of `noxfile.py` is documented and called, and what a release compares is one."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import combined, first_of
from tests.test_public_api import PROJECT, _requirement

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CLASSIFIERS = PROJECT["project"]["classifiers"]
PYTHONS = [text.rpartition(" ")[2] for text in CLASSIFIERS if re.search(r":: 3\.\d+$", text)]
SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
#: Lines of one version in the changelog.
MOST_LINES = 60


def root_conftest() -> ModuleType:
    """Return the conftest.py beside `tests`, as a module of its own."""
    spec = importlib.util.spec_from_file_location("root_conftest", ROOT / "conftest.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def sessions() -> dict[str, bool]:
    """Return the sessions of the noxfile, and whether each runs on several Pythons; nox need not be installed."""
    found = {}
    for node in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.startswith("nox.session"):
                    found[node.name] = "python=" in decorator
                    assert ast.get_docstring(node), f"{node.name} has no docstring, which nox -l shows"
    return found


def without_python(name: str) -> str:
    """Return the name of a session without its Python, which must be there if there are several."""
    session, dash, _ = name.partition("-")
    several = sessions()
    assert session in several, f"noxfile.py has no session {name}"
    assert several[session] == bool(dash), f"{name}: the Python is missing, or too much"
    return session


def test_contributing_lists_every_session_once() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| Session | Commands |")[2].partition("\n\n")[0]
    listed = [without_python(name) for name in re.findall(r"^\| `([\w.-]+)`", table, re.MULTILINE)]
    assert sorted(listed) == sorted(sessions())
    # Nor do examples name sessions that are not there.
    for names in re.findall(r"\bnox (?:-R |--no-venv )?-s ((?:[a-z_]+ ?)+)", text):
        assert set(names.split()) <= set(sessions()), names


def test_the_check_script_runs_every_session_but_the_long_ones() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    called = set(re.findall(r"^check (\w+)", text, re.MULTILINE)) | set(re.findall(r"--session (\w+)", text))
    called |= set(re.findall(r"^ *dependencies=(\w+)", text, re.MULTILINE))
    assert called == set(sessions()) - {"mutations", "new_examples", "ready_wheel", "slow", "thorough"}
    # The slow tests run with the others.
    (marks,) = re.findall(r'^check tests .*-m "(.+)"$', text, re.MULTILINE)
    (by_default,) = re.findall(r"-m '(.+)'\"$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert f"not slow and {marks}" == by_default


def test_workflows_run_every_session() -> None:
    called = set()
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        for names in re.findall(r"run: nox -s ([\w. -]+)", text):
            called |= {without_python(name) for name in names.split()}
        assert "secrets." not in text
        assert all(re.search(r"@v\d+$", action) for action in re.findall(r"uses: (\S+)", text)), "a major version"
    assert called == set(sessions())
    (listed,) = re.findall(r"python: \[(.+)\]", (ROOT / ".github" / "workflows" / "checks.yml").read_text("utf-8"))
    assert set(PYTHONS) < set(re.findall(r"[\d.]+", listed)), "each Python of pyproject.toml, and the next one"


@pytest.mark.parametrize("system", ["ubuntu", "macos", "windows"])
def test_workflows_run_on_the_systems_of_the_readme(system: str) -> None:
    text = (ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
    assert len(re.findall(rf"system: \[.*{system}-latest.*\]", text)) == 3, "tests, quick tests and distributions"


def test_the_recipe_is_that_of_the_project() -> None:
    """The conda recipe has the version and the requirements of `pyproject.toml`, by conda-forge's names."""
    project = PROJECT["project"]
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{tl.__version__}"' in text
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in text
    run = text.partition("  run:\n")[2].partition("\n\n")[0]
    needed = {_requirement(item) for item in re.findall(r"^    - ([\w.-]+>=[\d.]+)$", run, re.MULTILINE)}
    assert needed == set(map(_requirement, project["dependencies"]))
    assert project["description"] in text and project["license"] in text
    assert all(f"- {path}\n" in text for path in project["license-files"])
    assert "".join(PROJECT["build-system"]["requires"]) in text


def test_the_changelog_keeps_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions[0].startswith(f"{tl.__version__} (")
    for version in versions:
        assert len(version.splitlines()) <= MOST_LINES, "say less"
        found = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert found and set(found) <= SECTIONS and len(set(found)) == len(found)


def test_the_changelog_names_public_names_only() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    names = {name.partition(".")[0] for name in re.findall(r"`([A-Za-z]\w*(?:\.\w+)?)`", text)}
    code = set(re.findall(r"\w+", (ROOT / "traveltime_lab" / "cli.py").read_text(encoding="utf-8")))
    unknown = {name for name in names if not hasattr(tl, name)} - code - {"SECURITY", "matrix", "areas"}
    assert not unknown, f"{unknown} are not public"


def test_the_files_that_begin_first_are_there() -> None:
    longest = root_conftest().LONGEST
    assert len(longest) == len(set(longest))
    assert [path for path in longest if not (ROOT / path).is_file()] == []


@pytest.mark.slow
def test_examples_do_not_depend_on_loaded_modules(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they would depend on how processes share the tests; Hypothesis tries the numbers of local modules."""
    if request.config.getoption("--hypothesis-profile") == "new-examples":
        pytest.skip("new examples may depend on them")
    drawn: list[int] = []

    @hypothesis.settings(max_examples=300)
    @hypothesis.given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    draw()
    before = drawn.copy()
    (tmp_path / "module_with_numbers.py").write_text("NUMBERS = 123_456_789_001, 123_456_789_002, 123_456_789_003\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("module_with_numbers")
    drawn.clear()
    draw()
    del sys.modules["module_with_numbers"]
    assert drawn == before


@pytest.mark.parametrize(
    ("expression", "marks"),
    [
        ("slow", ["slow"]),
        ("quick and not slow", ["quick"]),
        ("slow and quick", ["slow", "quick"]),
        ("not slow and not cities and not mutations", []),
        ("slow or not slow", []),
        ("(quick or slow) and not cities", []),
        ("not (slow)", []),
        ("hypothesis and not cities", []),
        ("", []),
    ],
)
def test_marks_that_files_without_them_are_left_out_for(expression: str, marks: list[str]) -> None:
    assert root_conftest()._marks_needed(expression) == marks


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "notebooks", "docs"])
def test_files_are_read_in_utf_8(folder: str) -> None:
    """Without an encoding, Windows reads files in the one of its language, and texts with other letters are errors."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\.read_text\(\)", line) and "/proc/" not in line
    ]
    assert not found


@pytest.mark.parametrize(
    ("named", "times", "tried"), [(100, 0.15, 15), (12, 0.15, 8), (4, 0.15, 4), (100, 1.0, 100), (4, 10.0, 40)]
)
def test_a_run_tries_a_part_of_the_examples(named: int, times: float, tried: int) -> None:
    assert root_conftest()._examples(named, times) == tried


def test_few_of_all_combinations_have_each_value() -> None:
    found = combined("abcde", [(1, "one"), (2, "two")], mark=pytest.mark.thorough, few=pytest.mark.slow, times=2)
    assert {each.values for each in found} == {(a, *b) for a in "abcde" for b in ((1, "one"), (2, "two"))}
    few = [each.values for each in found if [mark.name for mark in each.marks] == ["slow"]]
    assert all(sum(value in each for each in few) >= 2 for value in (*"abcde", 1, 2))
    found = combined("abcd", range(3), mark=pytest.mark.thorough)
    assert [each.values for each in found if not each.marks] == [("a", 0), ("b", 1), ("c", 2), ("d", 0)]
    found = combined("abcd", range(3), mark=pytest.mark.thorough, most=2)
    assert [each.values for each in found if not each.marks] == [("a", 0), ("b", 1)]
    (first, *others) = first_of(1, "abc", mark=pytest.mark.thorough)
    assert not first.marks and all(each.marks for each in others)
