"""
Write the figures of speed into the pages that show them: ``python benchmarks/figures.py``.

`figures.json` holds them, once: seconds of ours and of a peer, their ratio (the median of paired runs, which may differ
from the ratio of the medians), and the script that measured them. A run replaces rows there:

    --speed GROUP JSON   the file that ``peers/speed.py --out`` wrote, for the rows of its tasks
    --matrix GROUP LOG   the output of ``peers/matrix.py``
    --nearest CITY LOG   the output of ``peers/nearest.py``, for the rows of ``nearest`` that begin with the city
    --cafein LOG         the output of ``peers/transit_speed.py --peers cafein cafein-raptor --processor``

A page has a table between ``<!-- figures: GROUP ... -->`` and ``<!-- end of figures -->``; a test says which pages are
out of date. ``GROUP:1,3`` are rows of a group, and ``GROUP|GROUP`` one table with columns for each group.
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
_OSRM = "OSRM (contraction hierarchies)"
#: Names of the tasks of `peers/speed.py` in pages, and of their peers.
SPEED_TASKS = {
    "one_to_many": ("1 × 100,000 travel times", _OSRM),
    "ten": ("1 × 10 travel times", _OSRM),
    "thousand": ("1 × 1,000 travel times", _OSRM),
    "many_to_many": ("1,000 × 1,000 travel times", _OSRM),
    "isochrone": ("isochrone of 30 minutes at level `lowest`, water removed", "Valhalla"),
    "isochrone_medium": ("isochrone of 30 minutes at level `medium`, water removed", "Valhalla"),
    "walk": ("walk of 15 minutes from new places", "Valhalla"),
    "read": ("reading the extract into a network", "osmnx"),
}
MATRIX = re.compile(r"([\d,]+) x ([\d,]+): ([\d.]+) ms, pandana ([\d.]+) ms, ratio ([\d.]+)")
NEAREST = re.compile(
    r"([\d,]+) origins, ([\d,]+) places, k=(\d+): "
    r"nearest ([\d.]+) ms, matrix ([\d.]+) ms, pandana ([\d.]+) ms; to pandana ([\d.]+)"
)
Rows = list[dict[str, Any]]


def seconds(value: float) -> str:
    """Return seconds with two digits, such as 0.049 s or 12 s."""
    digits = 0 if value >= 9.95 else 1 if value >= 0.995 else 2 if value >= 0.0995 else 3 if value >= 0.00995 else 4
    return f"{value:.{digits}f} s"


def chosen(figures: dict[str, Rows], group: str) -> Rows:
    """Return the rows of a group, such as ``"milan"`` or ``"milan:1,3"`` (the first and the third row)."""
    name, _, rows = group.partition(":")
    return [figures[name][int(row) - 1] for row in rows.split(",")] if rows else figures[name]


def table(figures: dict[str, Rows], groups: str) -> str:
    """Return the rows of groups, such as ``"milan porto_alegre:4"`` or ``"milan|new_york"``, as a table."""
    if "|" in groups:
        return wide_table(figures, groups.split("|"))
    rows = [row for group in groups.split() for row in chosen(figures, group)]
    has_matrix = any("matrix" in row for row in rows)
    middle = " from a matrix |" if has_matrix else ""
    lines = [f"| Task | traveltime_lab |{middle} peer | ours / theirs |", "|---|---|---|---|" + "---|" * has_matrix]
    for row in rows:
        middle = f" {seconds(row['matrix'])} |" if has_matrix else ""
        theirs = f"{row['peer']} {seconds(row['theirs'])}"
        lines.append(f"| {row['task']} | {seconds(row['ours'])} |{middle} {theirs} | {row['ratio']:.2g} |")
    return "\n".join(lines) + "\n"


def wide_table(figures: dict[str, Rows], groups: list[str]) -> str:
    """Return a table with a row for each task of any group and columns for each group, a city."""
    columns = [{row["task"]: row for row in chosen(figures, group)} for group in groups]
    head = "| Task |"
    for group in groups:
        head += f" {group.split(':')[0].removesuffix('_pandana').replace('_', ' ').title()}: ours | peer | ratio |"
    lines = [head, "|---|" + "---|---|---|" * len(groups)]
    for task in dict.fromkeys(task for column in columns for task in column):
        line = f"| {task} |"
        for column in columns:
            row = column.get(task)
            if row is None:
                line += " | | |"
            else:
                line += f" {seconds(row['ours'])} | {row['peer']} {seconds(row['theirs'])} | {row['ratio']:.2g} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def page(text: str, figures: dict[str, Rows]) -> str:
    """Return a page with its tables as the figures have them."""
    return TABLE.sub(lambda found: found[1] + table(figures, found[2]) + found[3], text)


def of_log(log: str) -> Rows:
    """Return the rows of the output of `peers/transit_speed.py` with the peers cafein and cafein-raptor."""
    rows = []
    for line in log.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in TASKS:
            ours, with_transfers, without = (float(cell) for cell in cells[1:4])
            rows += [
                {
                    "task": TASKS[cells[0]], "ours": ours, "peer": peer, "theirs": theirs,
                    "ratio": float(f"{ours / theirs:.3g}"), "run": "peers/transit_speed.py",
                }
                for peer, theirs in (("cafein, transfers ready", with_transfers), ("cafein, RAPTOR", without))
            ]  # fmt: skip
    return rows


def of_speed(results: Rows) -> Rows:
    """Return the rows of the file that `peers/speed.py` writes."""
    rows = []
    for result in results:
        task, peer = SPEED_TASKS[result["task"]]
        rows.append(_row(task, result["ours_s"], peer, result["peer_s"], result["ratio"], "peers/speed.py"))
    return rows


def of_matrix(log: str) -> Rows:
    """Return the rows of the output of `peers/matrix.py`."""
    rows = []
    for origins, destinations, *numbers in MATRIX.findall(log):
        ours, theirs, ratio = map(float, numbers)
        task = f"{origins} × {destinations} travel times"
        rows.append(_row(task, ours / 1e3, "pandana", theirs / 1e3, ratio, "peers/matrix.py"))
    return rows


def of_nearest(city: str, log: str) -> Rows:
    """Return the rows of the output of `peers/nearest.py` for a city."""
    rows = []
    for origins, places, k, *numbers in NEAREST.findall(log):
        ours, matrix, theirs, ratio = map(float, numbers)
        task = f"{city}: {origins} origins, {places} places, k = {k}"
        row = _row(task, ours / 1e3, "pandana", theirs / 1e3, ratio, "peers/nearest.py")
        rows.append({**row, "matrix": _rounded(matrix / 1e3)})
    return rows


def _row(task: str, ours: float, peer: str, theirs: float, ratio: float, run: str) -> dict[str, Any]:
    """Return a row of `figures.json`."""
    return {
        "task": task, "ours": _rounded(ours), "peer": peer, "theirs": _rounded(theirs), "ratio": _rounded(ratio),
        "run": run,
    }  # fmt: skip


def _rounded(value: float) -> float:
    """Return a number with three digits."""
    return float(f"{value:.3g}")


def replaced(rows: Rows, new: Rows) -> Rows:
    """Return rows with new ones in place of those of the same tasks; tasks that the run left out stay."""
    by_task = {row["task"]: row for row in rows} | {row["task"]: row for row in new}
    return list(by_task.values())


def main() -> None:
    """Read runs, if there are some, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", nargs=2, action="append", default=[], metavar=("GROUP", "JSON"))
    parser.add_argument("--matrix", nargs=2, action="append", default=[], metavar=("GROUP", "LOG"))
    parser.add_argument("--nearest", nargs=2, action="append", default=[], metavar=("CITY", "LOG"))
    parser.add_argument("--cafein", type=Path, help="output of peers/transit_speed.py")
    options = parser.parse_args()
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for group, path in options.speed:
        new = of_speed(json.loads(Path(path).read_text(encoding="utf-8")))
        figures[group] = replaced(figures.get(group, []), new)
    for group, path in options.matrix:
        figures[group] = replaced(figures.get(group, []), of_matrix(Path(path).read_text(encoding="utf-8")))
    for city, path in options.nearest:
        new = of_nearest(city, Path(path).read_text(encoding="utf-8"))
        figures["nearest"] = replaced(figures["nearest"], new)
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
