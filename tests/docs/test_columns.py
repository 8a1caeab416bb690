"""Code on pages, in notebooks and in docstrings fits into the 72 columns that the site shows without scrolling."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

import nbformat
import pytest

from tests.support import ROOT
from traveltime_lab import cli

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import commands

#: What the site consists of, besides notebooks and docstrings, and the pages that it includes.
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
#: A block of Markdown: code, or a directive such as ``{toctree}``.
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def code_of_page(text: str) -> list[str]:
    """Return the lines of the blocks of code of a page, without the indentation of lists."""
    return [
        line[len(indent) :]
        for indent, kind, block in FENCE.findall(text)
        if not kind.startswith("{")
        for line in block.splitlines()
    ]


def code_of_docstring(text: str, *, blocks: bool = True) -> list[str]:
    """Return the lines of examples, with what they print, and of literal blocks; both without their indentation."""
    found: list[str] = []
    block: int | None = None  # the indentation of what is before a literal block
    example: int | None = None
    margin = 0
    before = ""
    for line in inspect.cleandoc(text).splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip():
            if block is not None and indent <= block:
                block = None
            if blocks and block is None and before.endswith("::"):
                block, margin = len(before) - len(before.lstrip()), indent
            if line.lstrip().startswith(">>> "):
                example, margin = indent, indent
            before = line.rstrip()
        else:
            example = None
        if line.strip() and (block is not None or example is not None):
            found.append(line[margin:])
    return found


def code_of_module(path: Path) -> list[str]:
    """Return the code in the docstrings of a module. Only the examples of its own: no page shows the diagrams there."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            found += code_of_docstring(text, blocks=not isinstance(node, ast.Module))
    return found


def too_long(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > commands.COLUMNS]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages(path: Path) -> None:
    assert not too_long(code_of_page(path.read_text("utf-8")))


def test_the_page_of_commands() -> None:
    lines = code_of_page(commands.page(cli._parser()))
    assert len(lines) > 40
    assert not too_long(lines)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        lines = cell.source.splitlines() if cell.cell_type == "code" else code_of_page(cell.source)
        assert not too_long(lines)


@pytest.mark.slow
def test_docstrings() -> None:
    found = 0
    for path in sorted((ROOT / "traveltime_lab").rglob("*.py")):
        lines = code_of_module(path)
        found += len(lines)
        assert not too_long(lines), path.name
    assert found > 500


def test_code_is_told_from_text() -> None:
    page = "Text\n\n```console\nrun\n```\n\n- item\n  ```text\n  in a list\n  ```\n\n```{toctree}\nnot-code\n```\n"
    assert code_of_page(page) == ["run", "in a list"]
    assert code_of_docstring(
        """Text

        A block::

            inside
              more

        outside

        Examples
        --------
        >>> one()
        ... two()
        printed

        outside
        """
    ) == ["inside", "  more", ">>> one()", "... two()", "printed"]
