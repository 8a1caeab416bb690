"""The documents beside the code: files that they name exist, and the citation is that of this version."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import traveltime_lab as tl

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "traveltime_lab"
SUFFIXES = (".cff", ".cjs", ".ipynb", ".md", ".proto", ".py", ".pyi", ".toml", ".yml")
#: The documents, which may name each other before all of them are there.
DOCUMENTS = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "docs/contract.md",
    "docs/growth.md",
    "docs/large-jobs.md",
    "docs/guide/speeds.md",
    "docs/performance.md",
    "docs/project.md",
    "docs/service.md",
)
#: What commands write, and the repository does not hold.
WRITTEN = {"dist/", "traveltime-lab-demo/"}
#: A path as documents write it: no blanks, no placeholders, not from the root of a server.
PATH = re.compile(r"\.?[\w-]+(?:[./][\w.-]+)*/?")


def named_paths(text: str) -> list[str]:
    """
    Return what a document names in backticks and means as a path of this repository.

    That is what ends like a file or a folder, or begins with a folder of the repository or of the package; media types
    and paths of the service do neither.
    """
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for name in re.findall(r"`([^`\s]+)`", text):
        if not PATH.fullmatch(name):
            continue
        first, slash, _ = name.partition("/")
        is_below = slash and ((ROOT / first).is_dir() or (PACKAGE / first).is_dir())
        if is_below or name.endswith((*SUFFIXES, "/")):
            found.append(name)
    return found


def exists(name: str, folder: Path = ROOT) -> bool:
    """
    Return whether a path exists below the repository, the package or the folder of the document.

    A bare name may be anywhere in the package, or below the folder of a document that is not at the top.
    """
    if any((root / name).exists() for root in (ROOT, PACKAGE, folder)):
        return True
    below = {PACKAGE, folder} - {ROOT}
    return "/" not in name.rstrip("/") and any(any(root.rglob(name.rstrip("/"))) for root in below)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_paths_exist(document: str) -> None:
    names = set(named_paths((ROOT / document).read_text(encoding="utf-8"))) - WRITTEN
    assert names, f"{document} names no file"
    missing = sorted(name for name in names if not exists(name, (ROOT / document).parent))
    assert not missing, f"{document} names files that do not exist: {', '.join(missing)}"


def test_paths_are_told_from_other_names() -> None:
    text = "`traveltime_lab/cli.py` `kernels/` `.ci/run` `application/json` `/v4/time-map` `h3/fast` `tests/x.py`"
    assert named_paths(text) == ["traveltime_lab/cli.py", "kernels/", ".ci/run", "tests/x.py"]
    assert [exists(name) for name in named_paths(text)] == [True, True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_named_objects_exist(document: str) -> None:
    """
    What a document for contributors writes like a name of Python occurs in the code.

    "`NAME` in `file.py`" must occur in that file.
    """
    text = (ROOT / document).read_text(encoding="utf-8")
    for name, file in re.findall(r"`(\w+)`\s(?:in|of)\s`([\w/.]+\.py)`", text):
        found = [path for path in (ROOT / file, PACKAGE / file) if path.is_file()]
        assert found, f"{document} names {name} of {file}, which does not exist"
        assert re.search(rf"\b{name}\b", found[0].read_text(encoding="utf-8")), f"{name} is not in {file}"
    names = set(re.findall(r"`(_?[A-Za-z]+(?:_\w+|[a-z][A-Z]\w*|[A-Z]{2,}\w*))`", text))
    folders = [PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "notebooks"]
    code = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    missing = sorted(name for name in names - set(re.findall(r"\w+", code)) if not exists(name))
    assert names and not missing, f"{document} names what the code does not have: {', '.join(missing)}"


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_pages_begin_with_a_sentence(path: Path) -> None:
    """Pages that include a file begin as that file does."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("```{include}"):
        return
    title, _, rest = text.partition("\n")
    assert title.startswith("# ")
    assert re.match(r"\n[A-Z`\[]", rest) and not rest.startswith("\n```"), f"{path.name} begins with no sentence"


def test_citation() -> None:
    """CITATION.cff names the version, the licence and the keywords that the package has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([\w-]+): (.+)$", citation, re.MULTILINE))
    assert fields["cff-version"] == "1.2.0"
    assert fields["title"] == project["name"]
    assert fields["version"] == project["version"] == tl.__version__
    assert fields["license"] == project["license"].partition(" AND ")[0], "the package's own, before that of Leaflet"
    assert re.findall(r"^  - name: (.+)$", citation, re.MULTILINE) == [author["name"] for author in project["authors"]]
    assert re.findall(r"^  - (\w.*)$", citation.partition("keywords:")[2], re.MULTILINE) == project["keywords"]


def _figures() -> Any:
    """Return the module ``benchmarks/figures.py``."""
    spec = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
    assert spec is not None and spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    return figures


def test_pages_have_the_figures_of_the_benchmarks() -> None:
    """Figures of speed are in one file, and ``python benchmarks/figures.py`` writes the tables of the pages."""
    figures = _figures()
    held = json.loads(figures.FIGURES.read_text(encoding="utf-8"))
    shown = set()
    for path in figures.PAGES:
        text = path.read_text(encoding="utf-8")
        assert figures.page(text, held) == text, f"{path.name} is out of date: run python benchmarks/figures.py"
        shown |= {name for found in figures.TABLE.findall(text) for name in re.findall("[a-z_]+", found[1])}
        by_hand = figures.TABLE.sub("", text)
        assert not re.search(r"^\|.* (ratio|ours / theirs|\w+ / pandana) \|$", by_hand, re.MULTILINE), path.name
    assert shown == set(held)
    for row in [row for rows in held.values() for row in rows]:
        assert (ROOT / "benchmarks" / row["run"]).is_file()
        # The median of paired ratios, or the ratio of medians of few runs.
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"], rel=0.15), row["task"]


def test_runs_replace_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = _figures()
    held = figures.FIGURES.read_text(encoding="utf-8")
    tasks = re.findall(
        r'^    "(\w+)": \("', (ROOT / "benchmarks" / "peers" / "speed.py").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(tasks) == sorted(figures.SPEED_TASKS)
    known = {name for name, _ in figures.SPEED_TASKS.values()}
    assert {r["task"] for rows in json.loads(held).values() for r in rows if r["run"] == "peers/speed.py"} == known

    monkeypatch.setattr(figures, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(figures, "PAGES", (tmp_path / "page.md",))
    figures.FIGURES.write_text(held, encoding="utf-8")
    page = "<!-- figures: milan:2|new_york_pandana:2 -->\n<!-- end of figures -->\n"
    (tmp_path / "page.md").write_text(page + "<!-- figures: nearest:3 -->\n<!-- end of figures -->\n", encoding="utf-8")
    (tmp_path / "speed.json").write_text('[{"task": "ten", "ours_s": 0.00212, "peer_s": 0.00416, "ratio": 0.5}]')
    (tmp_path / "matrix.log").write_text(
        "1 x 10: 2.0 ms, pandana 10.4 ms, ratio 0.19\n1 x 1,000: 7 ms, pandana 20 ms, ratio 0.35"
    )
    line = "100,000 origins, 1,000 places, k=1: nearest 71.0 ms, matrix 2100.0 ms, pandana 300.0 ms; to pandana 0.24"
    (tmp_path / "nearest.log").write_text(line)
    runs = [
        "--speed",
        "milan",
        "speed.json",
        "--matrix",
        "new_york_pandana",
        "matrix.log",
        "--nearest",
        "Milan",
        "nearest.log",
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["figures.py", *runs])
    figures.main()
    now = json.loads(figures.FIGURES.read_text(encoding="utf-8"))
    assert [len(rows) for rows in now.values()] == [len(rows) for rows in json.loads(held).values()]
    assert (tmp_path / "page.md").read_text(encoding="utf-8").splitlines() == [
        "<!-- figures: milan:2|new_york_pandana:2 -->",
        "| Task | Milan: ours | peer | ratio | New York: ours | peer | ratio |",
        "|---|---|---|---|---|---|---|",
        "| 1 × 10 travel times | 0.0021 s | OSRM (contraction hierarchies) 0.0042 s | 0.5 | | | |",
        "| 1 × 1,000 travel times | | | | 0.0070 s | pandana 0.020 s | 0.35 |",
        "<!-- end of figures -->",
        "<!-- figures: nearest:3 -->",
        "| Task | traveltime_lab | from a matrix | peer | ours / theirs |",
        "|---|---|---|---|---|",
        "| Milan: 100,000 origins, 1,000 places, k = 1 | 0.071 s | 2.1 s | pandana 0.30 s | 0.24 |",
        "<!-- end of figures -->",
    ]


@pytest.mark.slow
def test_every_script_is_named_on_a_page() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages if path.name != "CHANGELOG.md")
    scripts = [*ROOT.glob("benchmarks/**/*.py"), ROOT / "notebooks" / "refresh.py"]
    assert [path.name for path in scripts if not re.search(rf"\b{re.escape(path.name)}\b", text)] == []
