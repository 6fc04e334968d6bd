"""Regions of a program, for programs in Python that run under the tracer."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

# The functions of a preloaded library are among those of the process.
_process = ctypes.CDLL(None)


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    """Marks what runs within it as one repetition of a region of the program::

        with mpitrace.region("halo exchange"):
            ...

    It marks a function as a decorator. Without the tracer it does nothing.
    """
    number = _process.mpitrace_region(name.encode()) if hasattr(_process, "mpitrace_region") else -1
    if number < 0:
        yield
        return
    _process.mpitrace_region_begin(number)
    try:
        yield
    finally:
        _process.mpitrace_region_end(number)
