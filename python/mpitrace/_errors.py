"""What the package raises and warns of. The texts say what to do in Python, not on a command line."""

from __future__ import annotations

import re

from ._mpitrace import TraceError

__all__ = ["TraceError", "TraceWarning", "error_of"]


class TraceWarning(UserWarning):
    """A trace is incomplete or damaged: what is missing is in no number that is computed of it."""


def error_of(text: str) -> Exception:
    """The exception for a line in which the companion or the library refuses something.

    An ``OSError`` of its kind, with ``errno`` and ``filename``, where the system refused a file; else a ``TraceError``.
    """
    text = text.removeprefix("mpitrace: ").removesuffix(" (see --help)")
    refused = re.fullmatch(r"(?:(.*): )?(.*) \(os error (\d+)\)", text, re.DOTALL)
    if refused:
        name, what, number = refused.groups()
        return OSError(int(number), what, name) if name else OSError(int(number), what)
    invalid = re.fullmatch(r"invalid value '(.*)' for '--([a-z-]+) <[^>]*>'(.*)", text, re.DOTALL)
    if invalid:
        value, option, rest = invalid.groups()
        known = re.search(r"\[possible values: (.*)\]", rest)
        rest = f"expected {known[1]}" if known else rest.lstrip(": ")
        return TraceError(f"{option.replace('-', '_')} = {value!r}: {rest}")
    return TraceError(text)
