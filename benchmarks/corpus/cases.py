"""Cases, and the file that keeps them with their answers."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Of all members of a file, so that equal recordings are equal files.
_DATE = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Case:
    """
    A request or a call.

    Attributes
    ----------
    name : str
        Stable: it does not depend on the other cases.
    kind : {"call", "http", "command"}
    request : dict
        All that is needed to ask it again, as JSON: the source text of a call, the requests of HTTP, or the arguments
        of a command.
    """

    name: str
    kind: str
    request: dict[str, Any]

    def shown(self) -> str:
        """Return the request for people."""
        if self.kind == "call":
            return str(self.request["code"])
        return json.dumps(self.request, ensure_ascii=False)


def case(name: str, kind: str, request: dict[str, Any]) -> Case:
    """Return a case whose name ends with a digest of the request."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=True)
    plain = re.sub(r"[^A-Za-z0-9_+=.,/-]+", "_", name)[:90].strip("_/")
    return Case(f"{plain}-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}", kind, request)


def distinct(cases: Iterable[Case]) -> list[Case]:
    """Return cases in order, each request once."""
    found: dict[str, Case] = {}
    for each in cases:
        found.setdefault(json.dumps([each.kind, each.request], sort_keys=True), each)
    names = {each.name for each in found.values()}
    assert len(names) == len(found), "two cases have one name"
    return list(found.values())


def digest(answer: bytes) -> str:
    """Return the digest of an answer."""
    return hashlib.blake2b(answer, digest_size=16).hexdigest()


def write(path: Path, cases: list[Case], answers: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
    """Write cases and answers as a zip file: ``about.json``, ``cases.json`` and a member for each answer."""
    rows = [
        {"name": each.name, "kind": each.kind, "digest": digest(answers[each.name]), "request": each.request}
        for each in cases
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        listed = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows) + "\n]\n"
        members = {"about.json": json.dumps(dict(about), indent=1).encode(), "cases.json": listed.encode()}
        members |= {f"answers/{each.name}": answers[each.name] for each in cases}
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)


def read(path: Path) -> tuple[list[Case], dict[str, bytes], dict[str, Any]]:
    """Return what `write` wrote."""
    with zipfile.ZipFile(path) as file:
        rows = json.loads(file.read("cases.json"))
        answers = {row["name"]: file.read(f"answers/{row['name']}") for row in rows}
        about = json.loads(file.read("about.json"))
    for row in rows:
        if digest(answers[row["name"]]) != row["digest"]:
            raise SystemExit(f"{path} is damaged: the digest of {row['name']} differs")
    return [Case(row["name"], row["kind"], row["request"]) for row in rows], answers, about
