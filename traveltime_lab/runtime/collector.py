"""
Create very many objects without the collection of cyclic garbage.

While objects are created, the collector looks at all objects of the process again and again. The compiler and the
libraries keep 300,000, which takes it a tenth of a second each time (measured with 100,000 points). Points and polygons
are no garbage, and refer to nothing.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import Final


class _WithoutCollector(contextlib.ContextDecorator):
    """
    A context, or the decorator of a function, without the collection of cyclic garbage.

    Contexts may be nested, and in several threads: the last one to leave switches the collector on again, if it was on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._was_on:
                gc.enable()


#: The context of all threads.
without_collector: Final = _WithoutCollector()
