"""HTML around drawings: numbers as text, tables, and a fallback if a display fails."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

from scalarviz.base.texts import text
from scalarviz.pictures.displays.svg import escaped, shorten

LONGEST = 24  # characters of something that is not a number
LARGE = 1e9  # up to here, all digits before the decimal point are shown

ThingT = TypeVar("ThingT")

CELL = "padding: 2px 12px; border: 0; text-align: left; font-variant-numeric: tabular-nums"
HEAD = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .6); font-weight: 600"
LINE = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .2)"
SIDE = f"{LINE}; font-weight: 600"


def number_text(number: object, digits: int = 4) -> str:
    """Return a number as text; the number of a Value, "none" for None.

    >>> number_text(-0.30000001), number_text(float("-inf")), number_text(None)
    ('−0.3', '−∞', 'none')
    """
    if number is None:
        return text("displays.none")
    try:
        x = float(number)  # type: ignore[arg-type]  # what is no number shows as it is
    except (TypeError, ValueError, OverflowError):
        return shorten(str(number), LONGEST)
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    large = 10**digits <= abs(x) < LARGE
    written = f"{x:,.0f}" if large else f"{x:.{digits}g}"
    return re.sub("e([+-])0*", r"e\1", written).replace("e+", "e").replace("-", "−")


def factors(*numbers: object) -> str:
    """Return a product as text; negative factors after the first are in parentheses.

    >>> factors(-2.0, -3.0)
    '−2 · (−3)'
    """
    texts = [number_text(number) for number in numbers]
    return " · ".join(f"({t})" if i and t.startswith("−") else t for i, t in enumerate(texts))


def table(lines: Sequence[Sequence[str]], head: str = "row") -> str:
    """Return rows of cells as an HTML table; the first row or column (`head`) is bold.

    The colors are those of the page.
    """
    rows = []
    for i, line in enumerate(lines):
        cells = []
        for j, words in enumerate(line):
            is_head = (i if head == "row" else j) == 0
            tag, style = ("th", HEAD if head == "row" else SIDE) if is_head else ("td", LINE)
            cells.append(f'<{tag} style="{style}">{escaped(words)}</{tag}>')
        rows.append(f'<tr style="background: none">{"".join(cells)}</tr>')
    return (
        '<table style="border-collapse: collapse; border: 0; margin: 6px 0; font-size: 13px">'
        f"{''.join(rows)}</table>"
    )


def never_raises(display: Callable[[ThingT], str]) -> Callable[[ThingT], str]:
    """Decorator of a display: if it raises, it shows the object's repr instead."""

    @wraps(display)
    def shown(thing: ThingT) -> str:
        try:
            return display(thing)
        except Exception:  # a cell must not fail because of a display
            return plain(thing)

    return shown


def plain(thing: object) -> str:
    """Return the repr of an object, or its class if that raises."""
    try:
        words = repr(thing)
    except Exception:  # the repr of a user's class may raise
        words = text("displays.a", kind=type(thing).__name__)
    return f"<pre>{escaped(words)}</pre>"
