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
#: The beginning of a sentence, but not of a heading.
_START = r"(?:^[\s\">-]*|[.;:] )"
#: Nouns that are not one more but a different one.
_OTHERS = r"(?:number|type|key|question|matter|version|form|SHA-256|status|size)"
RULES = {
    r"\b(?:tell|tells|told|telling)\b(?!.*\bapart\b)": "say, report, show, determine",
    r"\b(?:go|goes|going|gone|went) on\b(?! (?:foot|board|a page))": "resume, continue",
    r"\b(?:nobody|somebody|whoever)\b": "name the user or the client, or use the passive",
    r"\bso (?:many|few)\b": "this number of, a number from which",
    rf"\banother {_OTHERS}\b|\b(?:is|are|was|were) (?:an)?others?\b": "different, differs, has changed",
    rf"{_START}(?-i:Who|Whom)\b(?!.*\?)|\bthose who\b": "name the user or the client",
    rf"{_START}(?-i:Of)\b|; (?-i:of)\b": "begin with the subject",
    rf"{_START}(?-i:What)\b(?!.*\?)|\bthat which\b|\bas it is\b(?! (?:needed|read|computed))": "begin with a noun",
    r"\b(?:tied|tie) to\b|\bties (?:of|between)\b": "snapped, linked",
    r"\bask(?:s|ed|ing)?\b(?! :)": "request, query, call, search",
    r"\b(?:knows?|knew)\b": "has, contains, supports",
    r"\bwant(?:s|ed)?\b(?! :)": "requires, needs; the requested",
    r"\bmade\b(?![ -]up\b)": "built, computed, created",
}
#: Places that remain, by file: texts on the wire and on screens, whose change is a change of answers, and the corpus.
KEPT: dict[str, int] = {
    "CODE_OF_CONDUCT.md": 1,
    "benchmarks/README.md": 1,
    "benchmarks/corpus/__init__.py": 2,
    "benchmarks/corpus/__main__.py": 8,
    "benchmarks/corpus/asking.py": 5,
    "benchmarks/corpus/canonical.py": 2,
    "benchmarks/corpus/cases.py": 2,
    "benchmarks/corpus/contract.py": 3,
    "benchmarks/corpus/library.py": 1,
    "benchmarks/corpus/messages.py": 1,
    "benchmarks/corpus/special.py": 1,
    "benchmarks/corpus/tables.py": 2,
    "benchmarks/corpus/wholes.py": 1,
    "benchmarks/corpus/world.py": 1,
    "benchmarks/widget.py": 1,
    "traveltime_lab/maps/single_page/__init__.py": 1,
    "traveltime_lab/maps/widget/panel.py": 1,
    "traveltime_lab/network/exports.py": 1,
    "traveltime_lab/network/prepared.py": 1,
    "traveltime_lab/search/explain/reasons.py": 1,
    "traveltime_lab/search/explain/streets.py": 1,
    "traveltime_lab/server/contract/errors.py": 1,
    "traveltime_lab/server/contract/responses.py": 7,
}


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
        for first, text in comments_and_strings(content):
            for offset, line in enumerate(text.splitlines()):
                # Names of variables are another matter.
                yield first + offset, re.sub(r"\{[^{}]*\}|`[^`]*`|^#:? ", "", line)


def comments_and_strings(content: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of Python, with the number of the first line."""
    lines, begin, depth = content.splitlines(keepends=True), (0, 0), 0
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        # From Python 3.12 on, an f-string is several tokens, which may contain strings.
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            begin = begin if depth else token.start
            depth += 1
        elif kind == "FSTRING_END":
            depth -= 1
            if depth == 0:
                (row, column), (last, end) = begin, token.end
                text = lines[row - 1 : last]
                text[-1] = text[-1][:end]
                yield row, "".join(text)[column:]
        elif token.type in (tokenize.COMMENT, tokenize.STRING) and not depth:
            yield token.start[0], token.string


def files() -> list[Path]:
    folders = (("traveltime_lab", "*.py"), ("docs", "*.md"), ("benchmarks", "*"), ("notebooks", "*.ipynb"))
    found = [path for folder, pattern in folders for path in (ROOT / folder).rglob(pattern)]
    found += ROOT.glob("*.md")
    return sorted(path for path in found if path.suffix in (".py", ".md", ".ipynb") and "_build" not in path.parts)


@pytest.mark.slow
def test_words_are_those_of_the_field() -> None:
    known, wrong = files(), []
    rules = [
        (re.compile(rule, re.IGNORECASE), re.compile(rule, re.IGNORECASE | re.MULTILINE), better)
        for rule, better in RULES.items()
    ]
    assert set(KEPT) <= {path.relative_to(ROOT).as_posix() for path in known}
    for path in known:
        lines = list(texts(path))
        # Most rules find nothing in a file, which takes less time to see at once than line by line.
        whole = "\n".join(line for _, line in lines)
        some = [(rule, better) for rule, anywhere, better in rules if anywhere.search(whole)]
        faults = [
            f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: write {better}, in {line.strip()!r}"
            for number, line in lines
            for rule, better in some
            for found in rule.finditer(line)
        ]
        if len(faults) != (kept := KEPT.get(path.relative_to(ROOT).as_posix(), 0)):
            wrong += [f"{path.relative_to(ROOT)} has {len(faults)} faults, of which {kept} are kept:", *faults]
    assert not wrong, "\n".join(wrong)


def test_names_are_those_of_the_field() -> None:
    """Names of variables and functions follow the glossary, as texts do: findings, the query, the requested columns."""
    texts = {path: path.read_text("utf-8") for path in sorted((ROOT / "traveltime_lab").rglob("*.py"))}
    found = [
        f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}"
        for path, text in texts.items()
        if re.search("asked|told|wanted|teller", text, re.IGNORECASE)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and {"asked", "told", "wanted", "teller"} & set(token.string.lower().split("_"))
    ]
    assert not found


@pytest.mark.parametrize(
    ("line", "n"),
    [
        ("headers that tell a failure to the clients", 1),
        ("columns that tell rows apart", 0),
        ("the same call goes on from there; nobody waits", 2),
        ("they go on foot and on board", 0),
        ("From so many points on", 1),
        ("the network is another one; a graph of another package", 1),
        ("Who may use it: those who have a key", 2),
        ("Who reaches what?", 0),
        ("Of a raster: its cells; of a table its rows", 2),
        ("What is no object is not parsed", 1),
        ("cells are tied to streets, ties go to the first", 1),
        ("it asks for what it knows and wants, asked : Query", 3),
        ("an index made of made-up names", 1),
    ],
)
def test_what_the_rules_find(line: str, n: int) -> None:
    assert sum(len(re.findall(rule, line, re.IGNORECASE)) for rule in RULES) == n
