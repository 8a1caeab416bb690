"""
Leaflet 1.9.4 as published (BSD-2-Clause, see ``LICENSE``), for pages that load nothing from elsewhere.

Source: the files ``dist/leaflet.js``, ``dist/leaflet.css`` and ``LICENSE`` of the npm package ``leaflet``.
"""

from __future__ import annotations

from importlib.resources import files


def script() -> str:
    """Return the library, a classic script that defines ``L``."""
    return files(__name__).joinpath("leaflet.js").read_text(encoding="utf-8")


def stylesheet() -> str:
    """Return its style sheet."""
    return files(__name__).joinpath("leaflet.css").read_text(encoding="utf-8")
