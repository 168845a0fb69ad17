"""What is around a drawing: numbers as words, tables, and a way out if a display fails."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

from scalarviz.displays.svg import escaped, shorten

LONGEST = 24  # characters of what should be a number and is none
LARGE = 1e9  # up to here with all digits before the point

ThingT = TypeVar("ThingT")

CELL = "padding: 2px 12px; border: 0; text-align: left; font-variant-numeric: tabular-nums"
HEAD = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .6); font-weight: 600"
LINE = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .2)"
SIDE = f"{LINE}; font-weight: 600"


def number_text(number: object, digits: int = 4) -> str:
    """A number for reading; a gradient that is a Value shows its number, one that is None says so.

    >>> number_text(-0.30000001), number_text(float("-inf")), number_text(None)
    ('−0.3', '−∞', 'none')
    """
    if number is None:
        return "none"
    try:
        x = float(number)  # type: ignore[arg-type]  # what is no number shows as it is
    except (TypeError, ValueError, OverflowError):
        return shorten(str(number), LONGEST)
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    large = 10**digits <= abs(x) < LARGE
    text = f"{x:,.0f}" if large else f"{x:.{digits}g}"
    return re.sub("e([+-])0*", r"e\1", text).replace("e+", "e").replace("-", "−")


def count_text(count: int, what: str) -> str:
    """A count and what is counted, in the plural where it is not 1."""
    plural = "es" if what.endswith(("ch", "s")) else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"


def factors(*numbers: object) -> str:
    """A product, as one writes it: a negative factor is in brackets, except where it comes first.

    >>> factors(-2.0, -3.0)
    '−2 · (−3)'
    """
    texts = [number_text(number) for number in numbers]
    return " · ".join(f"({t})" if i and t.startswith("−") else t for i, t in enumerate(texts))


def table(lines: Sequence[Sequence[str]], head: str = "row") -> str:
    """Rows of cells as an HTML table; its head is the first "row" or the first "column".

    The colours are those of the page.
    """
    rows = []
    for i, line in enumerate(lines):
        cells = []
        for j, text in enumerate(line):
            is_head = (i if head == "row" else j) == 0
            tag, style = ("th", HEAD if head == "row" else SIDE) if is_head else ("td", LINE)
            cells.append(f'<{tag} style="{style}">{escaped(text)}</{tag}>')
        rows.append(f'<tr style="background: none">{"".join(cells)}</tr>')
    return (
        '<table style="border-collapse: collapse; border: 0; margin: 6px 0; font-size: 13px">'
        f"{''.join(rows)}</table>"
    )


def never_raises(display: Callable[[ThingT], str]) -> Callable[[ThingT], str]:
    """A display that shows the plain text of what it cannot draw."""

    @wraps(display)
    def shown(thing: ThingT) -> str:
        try:
            return display(thing)
        except Exception:  # a cell must not end in an error because of how something looks
            return plain(thing)

    return shown


def plain(thing: object) -> str:
    """What is printed of something; its class, if even that fails."""
    try:
        text = repr(thing)
    except Exception:  # a class of somebody's own may raise there
        text = f"a {type(thing).__name__}"
    return f"<pre>{escaped(text)}</pre>"
