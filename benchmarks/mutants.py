"""
Plant small faults in modules, one at a time, and count those that tests find.

Run from the root of the repository, with modules and the tests that concern them::

    python benchmarks/mutants.py traveltime_lab/streets/costs.py --tests tests/streets --sample 20

A fault ("mutant") exchanges an operator, a comparison, a condition, a number or a function such as `max`, within a
function. The file is not changed: each mutant is tried in a child process, whose functions get the changed code. A
first run of all tests without a fault notes which of them come to which statement; a mutant is tried with those that
come to its own, from the quickest to the slowest, until one fails, which must pass in a child process without a fault.
Those beyond `--seconds` of processor time in all are left out.
The work of a cached helper of tests counts for the test that calls it first. Survivors are printed with their lines.
Some of them change no answer (a different size of a buffer, an equal bound); the others lack a test. The last line of
each module is a row of the table in `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
NAMES = [("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"), ("argmin", "argmax")]
FUNCTIONS = {a: b for pair in NAMES for a, b in (pair, pair[::-1])}
SURVIVED, KILLED, STUCK = "survived", "killed", "stuck"
#: Exit status of a child process that could not plant a change; those of pytest are smaller.
NOT_PLANTED = 99
#: Name that modules get for the function that notes their statements.
NOTE = "_note_statement"

Change = Callable[[], None]
Statement = tuple[str, int]  # path and line


def changes(tree: ast.Module) -> Iterator[tuple[int, str, Change]]:
    """Yield the statement's line, a description and the change of each place of a syntax tree, always in one order."""
    statement_of: dict[int, int] = {}
    for statement in ast.walk(tree):  # the innermost come last
        if isinstance(statement, ast.stmt):
            statement_of |= {id(node): statement.lineno for node in ast.walk(statement)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(node) for function in functions for node in _code(function)}
    for node in _code(tree):
        if id(node) not in inner:
            continue
        line = statement_of[id(node)]
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
            yield line, f"{ast.unparse(node)}: other operator", _put(node, "op", OPERATORS[type(node.op)]())
        elif isinstance(node, ast.Compare):
            ops = [OPERATORS[type(node.ops[0])](), *node.ops[1:]]
            yield line, f"{ast.unparse(node)}: other comparison", _put(node, "ops", ops)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            negated = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            yield line, f"not: {ast.unparse(node.test)}", _put(node, "test", negated)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
            twice = ast.copy_location(ast.UnaryOp(node.op, node.operand), node)  # +x fails for bool arrays
            yield line, f"{ast.unparse(node)}: without the sign", _put(node, "operand", twice)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            new = not node.value if isinstance(node.value, bool) else node.value + 1
            yield line, f"{node.value} -> {new}", _put(node, "value", new)
        elif isinstance(node, ast.Call):
            part = "attr" if isinstance(node.func, ast.Attribute) else "id"
            name = getattr(node.func, part, "")
            if name in FUNCTIONS:
                yield line, f"{ast.unparse(node)}: {FUNCTIONS[name]}", _put(node.func, part, FUNCTIONS[name])


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of annotations, decorators and errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.JoinedStr | ast.Import):
                yield child
                yield from _code(child)


def _put(node: Any, name: str, value: Any) -> Change:
    return lambda: setattr(node, name, value)


class Choice:
    """Plugin of pytest that leaves out tests with some fixtures and takes fewer random examples."""

    def __init__(self, without: Sequence[str], examples: int) -> None:
        self.without, self.examples = set(without), examples

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Register the profile of hypothesis that shrinks no examples: the first that fails is enough."""
        import hypothesis  # pytest has to be the first to import it

        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Choose tests and numbers of examples."""
        import hypothesis

        items[:] = [item for item in items if not self.without & set(item.fixturenames)]
        for function in {item.function for item in items if hypothesis.is_hypothesis_test(item.function)}:
            own = function._hypothesis_internal_use_settings  # there is no public way to change a test's own settings
            # Children repeat what the parent ran, methods with another instance, on machines that may be busy.
            function._hypothesis_internal_use_settings = hypothesis.settings(
                own,
                max_examples=min(self.examples, own.max_examples),
                suppress_health_check=list(hypothesis.HealthCheck),
            )


@dataclass
class Noted:
    """Statements that a test or a fixture comes to, and its processor time."""

    statements: set[Statement] = field(default_factory=set)
    seconds: float = 0.0


class Notes:
    """Plugin of pytest that notes the statements which each test comes to, and its processor time."""

    def __init__(self) -> None:
        self._here = [Noted()]
        self._fixtures: dict[int, Noted] = {}
        self._of_test: dict[str, Noted] = {}

    def watch(self, path: Path) -> None:
        """Let the functions of a module note their statements."""
        module = importlib.import_module(".".join(path.relative_to(Path.cwd()).with_suffix("").parts))
        name = str(path)
        setattr(module, NOTE, lambda line: self._here[-1].statements.add((name, line)))
        tree = ast.parse(path.read_text("utf-8"))
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            for node in list(ast.walk(function)):
                for block in ("body", "orelse", "finalbody"):
                    if isinstance(statements := getattr(node, block, None), list):
                        setattr(node, block, [part for statement in statements for part in _noted(statement)])
        replace_code(path, tree)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Note what a fixture comes to: it counts for each test that uses it."""
        with self._noting() as noted:
            try:
                return (yield)
            finally:
                self._fixtures[id(fixturedef)] = noted

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Note what a test comes to."""
        with self._noting() as noted:
            try:
                return (yield)
            finally:
                for several in item._fixtureinfo.name2fixturedefs.values():
                    for fixture in several:
                        part = self._fixtures.get(id(fixture), Noted())
                        noted.statements |= part.statements
                        noted.seconds += part.seconds
                self._of_test[item.nodeid] = noted

    @contextlib.contextmanager
    def _noting(self) -> Iterator[Noted]:
        """Note statements and time, without those of what begins and ends meanwhile."""
        noted, begin = Noted(), time.process_time()
        self._here[-1].seconds += begin
        noted.seconds -= begin
        self._here.append(noted)
        try:
            yield noted
        finally:
            end = time.process_time()
            self._here.pop().seconds += end
            self._here[-1].seconds -= end

    def tests_at(self, statement: Statement) -> list[tuple[str, float]]:
        """Return the tests that come to a statement and their processor times, the quickest first."""
        tests = [(test, noted.seconds) for test, noted in self._of_test.items() if statement in noted.statements]
        return sorted(tests, key=lambda test: test[1])


def _noted(statement: ast.stmt) -> list[ast.stmt]:
    """Return a statement after one that notes it."""
    if isinstance(statement, ast.Nonlocal | ast.Global) or hasattr(statement, "noted"):
        return [statement]
    note = ast.parse(f"{NOTE}({statement.lineno})").body[0]
    statement.noted = note.noted = True
    for node in ast.walk(note):
        ast.copy_location(node, statement)
    return [note, statement]


class FirstFailure:
    """Plugin of pytest that writes the name of a test that fails."""

    def __init__(self, file: int) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the name of the test."""
        if report.failed:
            os.write(self.file, report.nodeid.encode())


def run_tests(path: Path, number: int | None, tests: Sequence[str], choice: Choice, seconds: float) -> tuple[str, str]:
    """Run tests in a child process with one change of a module, or none; return what came of it and what failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            if number is not None:
                plant(path, number)
        except BaseException:
            os._exit(NOT_PLANTED)
        os._exit(pytest_here(tests, [choice, FirstFailure(writing)]))
    os.close(writing)
    end = time.monotonic() + seconds
    outcome, failed = STUCK, ""
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status) == NOT_PLANTED:
                sys.exit(f"{path} has changed meanwhile")
            outcome = SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED
            os.set_blocking(reading, False)  # children of the child may hold the other end
            with contextlib.suppress(BlockingIOError):
                failed = os.read(reading, 10_000).decode()
            break
        time.sleep(0.05)
    else:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(reading)
    return outcome, failed


def plant(path: Path, number: int) -> None:
    """Give the functions of an imported module the code with one change."""
    tree = ast.parse(path.read_text("utf-8"))
    list(changes(tree))[number][2]()
    replace_code(path, tree)


def replace_code(path: Path, tree: ast.Module) -> None:
    """Give the functions of an imported module the code of another syntax tree."""
    changed: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        changed[code.co_qualname, code.co_firstlineno] = code
        waiting += [value for value in code.co_consts if isinstance(value, CodeType)]
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and item.__code__.co_filename == str(path):
            item.__code__ = changed[item.__code__.co_qualname, item.__code__.co_firstlineno]
        elif hasattr(type(item), "cache_clear") and callable(item):
            item.cache_clear()  # results of the unchanged code


def pytest_here(tests: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run tests in this process."""
    plain = ["-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:nbval"]
    chosen = ["-m", "not slow and not cities", "--hypothesis-profile", "mutants"]
    return int(pytest.main([*plain, *chosen, "-x", "-q", *tests], plugins))


def main() -> None:
    """Try a sample of the changes of each module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("modules", nargs="+", type=Path, help="paths of modules")
    parser.add_argument("--tests", nargs="+", required=True, help="files or folders of tests")
    parser.add_argument("-k", help="expression that selects tests, as in pytest")
    parser.add_argument("--sample", type=int, default=20, help="number of changes to try in each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="processor time for the tests of a change")
    parser.add_argument("--without", nargs="+", default=[], metavar="FIXTURE", help="leave out tests that use these")
    parser.add_argument("--examples", type=int, default=100, help="random examples of a test, at most")
    given = parser.parse_args()
    notes = Notes()
    for module in given.modules:
        notes.watch(module.resolve())
    # Children inherit what this run imports and compiles.
    choice = Choice(given.without, given.examples)
    if pytest_here(given.tests + (["-k", given.k] if given.k else []), [choice, notes]) != 0:
        sys.exit("the tests fail without a change")
    for module in given.modules:
        print(try_module(module, notes, choice, given), flush=True)


def try_module(module: Path, notes: Notes, choice: Choice, given: argparse.Namespace) -> str:
    """Try changes of a module, print those that no test finds, and return a row of a table of modules."""
    path = module.resolve()
    found = [(line, what) for line, what, _ in changes(ast.parse(path.read_text("utf-8")))]
    count = dict.fromkeys((SURVIVED, KILLED, STUCK), 0)
    reliable: set[str] = set()
    for number in sorted(random.Random(given.seed).sample(range(len(found)), min(given.sample, len(found)))):
        line, what = found[number]
        tests = notes.tests_at((str(path), line))
        ends = itertools.accumulate(seconds for _, seconds in tests)
        chosen = [test for (test, _), end in zip(tests, ends, strict=True) if end <= given.seconds]
        outcome, failed = run_tests(path, number, chosen, choice, 600) if chosen else (SURVIVED, "")
        if failed and failed not in reliable:
            if run_tests(path, None, [failed], choice, 600)[0] != SURVIVED:
                sys.exit(f"{failed} fails in a child process without a change")
            reliable.add(failed)
        count[outcome] += 1
        if outcome == SURVIVED:
            print(f"  {module}:{line}: {what} ({len(chosen)} of {len(tests)} tests)", flush=True)
    tried = sum(count.values())
    return f"| `{module}` | {len(found)} | {tried} | {tried - count[SURVIVED]} |"


if __name__ == "__main__":
    main()
