"""
Brings the notebooks into the site, with pictures where a reader of a running notebook sees a map.

Notebooks are stored without pictures, and a map of ipyleaflet needs a running kernel. ``docs/draw_pictures.py`` runs
them and draws what they show into ``docs/pictures``; here a copy of each notebook gets these pictures as outputs.
"""

from __future__ import annotations

import ast
import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
NOTEBOOKS = DOCS.parent / "notebooks"
PICTURES = DOCS / "pictures"
#: Names of the widgets, of which the gallery has pictures.
WIDGETS = ("TravelTimeMap", "SideBySideMap")
#: Follows the picture of a widget.
STILL = "*A still picture of the map. In the running notebook its markers and controls can be moved.*"


def drawings(notebook: Any) -> dict[int, bool]:
    """
    Return the numbers of the cells that draw, and for each whether it shows the widget.

    A cell draws if it calls something named ``plot``, or if it ends with one of `WIDGETS` or its variable.
    """
    widgets: set[str] = set()
    found: dict[int, bool] = {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _calls(node.value, *WIDGETS):
                widgets |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            if _calls(node, "plot"):
                found[number] = False
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            shown = last.value
            if _calls(shown, *WIDGETS) or (isinstance(shown, ast.Name) and shown.id in widgets):
                found[number] = True
    return found


def _calls(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def picture_name(notebook: str, source: str) -> str:
    """
    Return the file name of the picture of a cell.

    It has a digest of the cell, so that the picture of a cell that has changed since is not shown.
    """
    return f"{notebook}-{hashlib.sha256(source.encode()).hexdigest()[:8]}.png"


def with_pictures(path: Path) -> Any:
    """Return a notebook whose cells have their pictures as outputs, with a link to the notebook itself."""
    notebook = nbformat.read(path, as_version=4)
    cells = []
    drawn = drawings(notebook)
    for number, cell in enumerate(notebook.cells):
        cells.append(cell)
        picture = PICTURES / picture_name(path.stem, cell.source)
        if number in drawn and picture.exists():
            data = {"image/png": base64.b64encode(picture.read_bytes()).decode()}
            cell.outputs.append(nbformat.v4.new_output("display_data", data))
            if drawn[number]:
                cells.append(nbformat.v4.new_markdown_cell(STILL))
        cell.source = cell.source.replace("# NBVAL_CHECK_OUTPUT\n", "")
    link = f"{{download}}`Download this notebook <../../notebooks/{path.name}>` and run it on your own machine."
    cells.insert(1, nbformat.v4.new_markdown_cell(link))
    notebook.cells = cells
    return notebook


def _copy(app: Sphinx) -> None:
    folder = DOCS / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text = nbformat.writes(with_pictures(path))
        copy = folder / path.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:  # Sphinx reads what is newer
            copy.write_text(text, encoding="utf-8")
    for copy in folder.glob("*.ipynb"):
        if not (NOTEBOOKS / copy.name).exists():
            copy.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
