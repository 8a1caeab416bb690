"""
The files that a network was built from, with their hashes and dates.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from traveltime_lab._files import explained, open_file


def described(path: Path, role: str) -> dict[str, Any]:
    """
    Return name, size, date of the last change and hash of a file or folder.

    The hash of a file is what ``sha256sum`` shows. That of a folder is one of the names and hashes of its files.

    Parameters
    ----------
    path : Path
    role : str
        Role of the file, such as ``"streets"``.
    """
    with explained(path, "read"):
        files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        facts = [item.stat() for item in files]
        changed = max((fact.st_mtime for fact in facts), default=path.stat().st_mtime)
        if path.is_dir():
            lines = "".join(f"{_sha256(item)}  {item.relative_to(path).as_posix()}\n" for item in files)
            content = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
        else:
            content = _sha256(path)
    return {
        "name": path.name.encode("utf-8", "replace").decode(),
        "role": role,
        "bytes": sum(fact.st_size for fact in facts),
        "modified": dt.datetime.fromtimestamp(changed, dt.UTC).isoformat(timespec="seconds"),
        "sha256": content,
    }


def in_words(files: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return a line on each file, by its name, for reports."""
    return {file["name"]: f"{file['role']}, {file['modified']}, sha256 {file['sha256'][:16]}..." for file in files}


def _sha256(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
