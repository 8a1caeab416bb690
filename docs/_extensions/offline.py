"""Fails the build if a page loads anything from another host, so that the site can be read without internet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What a browser loads by itself; links to follow (``<a href>``) are not.
REMOTE = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc=[\"'](?:https?:)?//[^\"']+"
    r"|<link\b(?=[^>]*\srel=[\"'](?:stylesheet|preload|icon|modulepreload)[\"'])[^>]*\shref=[\"'](?:https?:)?//[^\"']+"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//[^\"')]+"
    r"|url\([\"']?(?:https?:)?//[^\"')]+"
)


def remote_parts(text: str) -> list[str]:
    """Return the elements of a page or style sheet that load something from another host."""
    return REMOTE.findall(text)


def _check(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    from sphinx.errors import SphinxError

    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            found = remote_parts(path.read_text(encoding="utf-8"))
            if found:
                name = path.relative_to(app.outdir)
                raise SphinxError(f"{name} loads something from another host: {found[0]}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
