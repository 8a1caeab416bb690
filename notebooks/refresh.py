"""
Run notebooks and store what they print: ``python notebooks/refresh.py [NAME ...]``.

Text is kept, so that a reader sees numbers and nbval has something to compare; pictures and the state of widgets are
not, as they are large, and each run of the notebook creates them again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


os.environ["TRAVELTIME_LAB_PROGRESS"] = (
    "0"  # what is stored does not depend on what had to be compiled
)


def refresh(path: Path) -> None:
    """Run one notebook and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=120,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    for number, cell in enumerate(
        (cell for cell in notebook.cells if cell.cell_type == "code"), 1
    ):
        cell.execution_count = number
        cell.metadata = {}
        if "# NBVAL_CHECK_OUTPUT" not in cell.source:
            cell.outputs = []
        for output in cell.outputs:
            if (
                output.output_type == "stream"
                and output.name == "stderr"
            ):
                raise SystemExit(
                    f"{path.name}, cell {number}: {output.text}"
                )
    notebook.metadata = {
        "kernelspec": {
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


if __name__ == "__main__":
    names = sys.argv[1:]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names or path.name in names:
            refresh(path)
