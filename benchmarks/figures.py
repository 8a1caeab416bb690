"""
Write the figures of speed into the pages that show them: ``python benchmarks/figures.py``.

`figures.json` holds them, once: seconds of ours and of a peer, their ratio (the median of paired runs, which may differ
from the ratio of the medians), and the script that measured them. A run replaces a group of rows there with
``--cafein LOG``, the output of ``peers/transit_speed.py --peers cafein cafein-raptor --processor``. A page has a table
between ``<!-- figures: GROUP ... -->`` and ``<!-- end of figures -->``; a test says which pages are out of date.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md", ROOT / "benchmarks" / "README.md")
#: A table in a page; the groups of rows that it shows are in the first mark, with a number for some rows only.
TABLE = re.compile(r"(<!-- figures: ([^>]*?) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
#: Names of the tasks of `peers/transit_speed.py` in pages.
TASKS = {
    "one_to_many 1000": "1 × 1,000 travel times",
    "one_to_many 10000": "1 × 10,000 travel times",
    "one_to_many 100000": "1 × 100,000 travel times",
    "many_to_many": "100 × 100 travel times",
    "many_arriving": "100 × 100 travel times, arriving",
    "median": "100 × 100, median of 60 minutes",
}


def seconds(value: float) -> str:
    """Return seconds with two digits, such as 0.049 s or 12 s."""
    digits = 0 if value >= 9.95 else 1 if value >= 0.995 else 2 if value >= 0.0995 else 3 if value >= 0.00995 else 4
    return f"{value:.{digits}f} s"


def table(figures: dict[str, list[dict[str, Any]]], groups: str) -> str:
    """Return the rows of groups, such as ``"milan porto_alegre:4"`` (the fourth row alone), as a table."""
    lines = ["| Task | traveltime_lab | peer | ours / theirs |", "|---|---|---|---|"]
    for group in groups.split():
        name, _, row = group.partition(":")
        rows = figures[name] if not row else [figures[name][int(row) - 1]]
        for each in rows:
            theirs = f"{each['peer']} {seconds(each['theirs'])}"
            lines.append(f"| {each['task']} | {seconds(each['ours'])} | {theirs} | {each['ratio']:.2g} |")
    return "\n".join(lines) + "\n"


def page(text: str, figures: dict[str, list[dict[str, Any]]]) -> str:
    """Return a page with its tables as the figures have them."""
    return TABLE.sub(lambda found: found[1] + table(figures, found[2]) + found[3], text)


def of_log(log: str) -> list[dict[str, Any]]:
    """Return the rows of the output of `peers/transit_speed.py` with the peers cafein and cafein-raptor."""
    rows = []
    for line in log.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in TASKS:
            ours, with_transfers, without = (float(cell) for cell in cells[1:4])
            rows += [
                {
                    "task": TASKS[cells[0]], "ours": ours, "peer": peer, "theirs": theirs,
                    "ratio": round(ours / theirs, 3), "run": "peers/transit_speed.py",
                }
                for peer, theirs in (("cafein, transfers ready", with_transfers), ("cafein, RAPTOR", without))
            ]  # fmt: skip
    return rows


def main() -> None:
    """Read a run, if there is one, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cafein", type=Path, help="output of peers/transit_speed.py")
    options = parser.parse_args()
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    if options.cafein is not None:
        figures["cafein"] = of_log(options.cafein.read_text(encoding="utf-8"))
    groups = (
        f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows) + "\n  ]"
        for name, rows in figures.items()
    )
    FIGURES.write_text("{\n" + ",\n".join(groups) + "\n}\n", encoding="utf-8")
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
