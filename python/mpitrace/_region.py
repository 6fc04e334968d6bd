"""Regions of a program, for programs in Python that run under the tracer."""

from __future__ import annotations

import contextlib
import ctypes
from types import TracebackType

# The functions of a preloaded library are among those of the process.
_process = ctypes.CDLL(None)


class region(contextlib.ContextDecorator):  # noqa: N801 (it is used as a statement)
    """Marks what runs within it as one repetition of a region of the program::

        with mpitrace.region("halo exchange"):
            ...

    It marks a function as a decorator. Without the tracer it does nothing.

    Raises:
        TypeError: The name is not text.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a region is text, not {type(name).__name__}: region({str(name)!r})")
        self._name = name.encode()
        self._number = -1

    def __enter__(self) -> None:
        if hasattr(_process, "mpitrace_region"):
            self._number = _process.mpitrace_region(self._name)
        if self._number >= 0:
            _process.mpitrace_region_begin(self._number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._number >= 0:
            _process.mpitrace_region_end(self._number)
