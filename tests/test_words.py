"""
The words of docstrings, comments, messages and pages are those of the field.

Each rule names words that readers had to read twice, and what to write instead. `KEPT` counts what is left, by file; it
only gets shorter.
"""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RULES = {
    r"\b(?:tell|tells|told|telling)\b(?!.*\bapart\b)": "say, report, show, determine",
    r"\b(?:go|goes|going|gone|went) on\b(?! (?:foot|board|a page))": "resume, continue",
    r"\b(?:nobody|somebody|whoever)\b": "name the user or the client, or use the passive",
    r"\bso (?:many|few)\b": "this number of, a number from which",
}
#: What the rules still find, by file.
KEPT: dict[str, int] = {}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that people read, with their numbers: comments and strings of Python, texts of notebooks."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(content.splitlines(), 1)
    elif path.suffix == ".ipynb":
        cells = json.loads(content)["cells"]
        for number, cell in ((i, each) for i, each in enumerate(cells, 1) if each["cell_type"] == "markdown"):
            yield from ((number, line) for line in cell["source"])
    else:
        for token in tokenize.generate_tokens(io.StringIO(content).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                for offset, line in enumerate(token.string.splitlines()):
                    # Names of variables are another matter.
                    yield token.start[0] + offset, re.sub(r"\{[^{}]*\}|`[^`]*`", "", line)


def files() -> list[Path]:
    folders = (("traveltime_lab", "*.py"), ("docs", "*.md"), ("benchmarks", "*"), ("notebooks", "*.ipynb"))
    found = [path for folder, pattern in folders for path in (ROOT / folder).rglob(pattern)]
    found += ROOT.glob("*.md")
    return sorted(path for path in found if path.suffix in (".py", ".md", ".ipynb") and "_build" not in path.parts)


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_are_those_of_the_field(path: Path) -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: write {better}, in {line.strip()!r}"
        for number, line in texts(path)
        for rule, better in RULES.items()
        for found in re.finditer(rule, line, re.IGNORECASE)
    ]
    assert len(faults) == KEPT.get(path.relative_to(ROOT).as_posix(), 0), "\n".join(faults)


@pytest.mark.parametrize(
    ("line", "n"),
    [
        ("headers that tell a failure to the clients", 1),
        ("columns that tell rows apart", 0),
        ("the same call goes on from there; nobody waits", 2),
        ("they go on foot and on board", 0),
        ("From so many points on", 1),
    ],
)
def test_what_the_rules_find(line: str, n: int) -> None:
    assert sum(len(re.findall(rule, line, re.IGNORECASE)) for rule in RULES) == n
