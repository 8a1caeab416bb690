"""
Plant small faults in one module, one at a time, and count those that the tests of the module find.

Run from the root of the repository, with the module and the tests that concern it::

    python benchmarks/mutants.py traveltime_lab/streets/costs.py tests/streets/test_costs.py --sample 20

A fault ("mutant") exchanges an operator, a comparison, a condition, a number or a function such as `max`, within a
function. The file is not changed: each mutant is tried in a child process, whose functions get the changed code.
Survivors are printed with their lines. Some of them change no answer (another size of a buffer, an equal bound); the
others lack a test.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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

Change = Callable[[], None]


def changes(tree: ast.Module) -> Iterator[tuple[int, str, Change]]:
    """Yield the line, a description and the change of each place of a syntax tree, in the same order each time."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(node) for function in functions for node in _code(function)}
    for node in _code(tree):
        if id(node) not in inner:
            continue
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
            yield line, f"{ast.unparse(node)}: other operator", _put(node, "op", OPERATORS[type(node.op)]())
        elif isinstance(node, ast.Compare):
            ops = [OPERATORS[type(node.ops[0])](), *node.ops[1:]]
            yield line, f"{ast.unparse(node)}: other comparison", _put(node, "ops", ops)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            negated = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            yield line, f"not: {ast.unparse(node.test)}", _put(node, "test", negated)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
            yield line, f"{ast.unparse(node)}: without the sign", _put(node, "op", ast.UAdd())
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
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.JoinedStr | ast.Import):
                yield child
                yield from _code(child)


def _put(node: Any, name: str, value: Any) -> Change:
    return lambda: setattr(node, name, value)


def run_tests(path: Path, number: int | None, tests: Sequence[str], seconds: float) -> str:
    """Run tests in a child process with one change of a module, or with none."""
    child = os.fork()
    if child == 0:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if number is not None:
            plant(path, number)
        os._exit(pytest_here(tests))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return STUCK


def plant(path: Path, number: int) -> None:
    """Give the functions of an imported module the code of a changed one."""
    tree = ast.parse(path.read_text())
    list(changes(tree))[number][2]()
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


def pytest_here(tests: Sequence[str]) -> int:
    """Run tests in this process."""
    plain = ["-o", "addopts=--import-mode=importlib", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:nbval"]
    return int(pytest.main([*plain, "-x", "-q", *tests]))


def main() -> None:
    """Try a sample of the changes of a module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("module", type=Path, help="path of the module")
    parser.add_argument("tests", nargs="+", help="files of tests")
    parser.add_argument("-k", help="expression that selects tests, as in pytest")
    parser.add_argument("--sample", type=int, default=20, help="number of changes to try")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    path = given.module.resolve()
    tests = given.tests + (["-k", given.k] if given.k else [])
    # Children inherit what this run imports and compiles.
    if pytest_here(tests) != 0:
        sys.exit("the tests fail without a change")
    begin = time.monotonic()
    if run_tests(path, None, tests, 600) != SURVIVED:
        sys.exit("the tests fail in a child process")
    patience = 30 + 5 * (time.monotonic() - begin)
    found = [(line, what) for line, what, _ in changes(ast.parse(path.read_text()))]
    chosen = sorted(random.Random(given.seed).sample(range(len(found)), min(given.sample, len(found))))
    count = dict.fromkeys((SURVIVED, KILLED, STUCK), 0)
    for number in chosen:
        outcome = run_tests(path, number, tests, patience)
        count[outcome] += 1
        if outcome == SURVIVED:
            print(f"  {given.module}:{found[number][0]}: {found[number][1]}", flush=True)
    missed = count[SURVIVED]
    print(f"{given.module}: {len(chosen) - missed} of {len(chosen)} found ({len(found)} places)", flush=True)


if __name__ == "__main__":
    main()
