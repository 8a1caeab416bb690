"""
Isochrones and travel-time matrices on your own machine, from OpenStreetMap.

Build or load a network once, then search it::

    import traveltime_lab as tl

    network = tl.sample_network()
    homes = tl.sample_points()
    areas = tl.time_map(
        network, homes, travel_time=900, transportation="walking"
    )
    times = tl.time_filter(
        network,
        homes,
        homes,
        travel_time=1800,
        transportation="driving",
    )

Importing this package is cheap: each name loads its module when it is first used. `__init__.pyi` lists the names.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

__version__ = "0.1.0"

_load, _public_names, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __getattr__(name: str) -> Any:
    """Load the module of a public name when the name is first used (PEP 562)."""
    if name not in __all__:
        from traveltime_lab._elsewhere import FUNCTIONS, similar  # noqa: PLC0415

        hint = f"; use {FUNCTIONS[name.lower()]}" if name.lower() in FUNCTIONS else similar(name, __all__, FUNCTIONS)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = globals()[name] = _load(name)
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, without modules, for completion."""
    return sorted(__all__)
