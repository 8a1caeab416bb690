"""
Functions take few arguments by position.
"""

import ast
from pathlib import Path

import pytest

import traveltime_lab

PACKAGE = Path(traveltime_lab.__file__).parent
MOST = 8


def long_signatures(path: Path) -> list[str]:
    """Return the functions of a module that take more than `MOST` arguments by position, without `self`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > MOST:
                found.append(f"{path.name}:{node.lineno}")
    return found


@pytest.mark.slow
def test_functions_outside_kernels_take_few_arguments_by_position() -> None:
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if "kernels" not in path.relative_to(PACKAGE).parts]
    assert [each for path in modules for each in long_signatures(path)] == []


def test_long_signatures_are_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "def f(a, b, c, d, e, g, h, i, *, j): pass\ndef f(a, b, /, c, d, e, g, h, i, j): pass\n"
        "class A:\n    def f(self, a, b, c, d, e, g, h, i): pass\n    def g(self, a, b, c, d, e, g, h, i, j): pass\n"
    )
    assert long_signatures(module) == ["module.py:2", "module.py:5"]
