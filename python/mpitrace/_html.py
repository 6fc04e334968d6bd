"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Optional

ROWS = 20


def seconds(value: Optional[float]) -> str:
    """Seconds with three digits and the unit that suits them; nothing for None."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if value / size < 999.5 else f"{value / size:.0f} {unit}"
    return f"{value * 1e9:.3g} ns"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], more: str) -> str:
    """A table of the first rows; of what is left out ``more`` says where it is."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{'' if value is None else escape(str(value))}</td>" for value in row) + "</tr>"
        for row in rows[:ROWS]
    )
    rest = f"<p>{len(rows) - ROWS} more: <code>{escape(more)}</code></p>" if len(rows) > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def lines(text: Sequence[str]) -> str:
    """Lines of text, the first one strong."""
    return "".join(f"<div>{f'<b>{escape(line)}</b>' if not number else escape(line)}</div>" for number, line in
                   enumerate(text))
