"""Numbers as text: decimals, with an exponent only below 10**LEAST or from 10**MOST on."""

from __future__ import annotations

import math
import re

LEAST, MOST = -6, 6  # exponents of ten between which a number is a plain decimal
CHANGE = 4  # digits of numbers before and after a step
# The zero before a point; not in "layer 0.5", a layer within a layer.
LEADING = re.compile(r"(?<![\w.])(?<!layer )0\.(?=\d)", re.ASCII)
# The sign of a number, a difference, or an exponent; not a hyphen, as in 3-8-3.
MINUS = re.compile(r"(?<![\w.)\]-])-(?=[.\d(]|inf\b)|(?<= )-(?![^ \n])|(?<=\de)-(?=\d)", re.ASCII)


def rounded(value: float, digits: int = 2) -> str:
    """Return a number with `digits` significant digits: 0.15, -1.3, 1234, 1.4e-8; never -0."""
    if not math.isfinite(value):
        return f"{value:f}"  # nan, inf, -inf
    if value == 0.0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if not LEAST <= exponent < MOST:
        return f"{stripped(mantissa)}e{exponent}"
    return stripped(f"{value:.{max(0, digits - 1 - exponent)}f}")


def stripped(number: str) -> str:
    """Return a decimal number without trailing zeros."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def short(value: float, digits: int = 2) -> str:
    """Return a number for a picture: .25, -1.30, 12.5, 1,234, 3.1e7; never -.00.

    Args:
        digits: decimal places, one fewer for each digit before the point after the first
    """
    if not abs(value) < 10.0**MOST:
        return rounded(value)
    words = f"{value:,.{max(0, digits + 1 - len(str(int(abs(value)))))}f}"
    if not words.strip("-.0"):  # never -.00
        words = f"{0.0:.{digits}f}" if value else "0"
    return LEADING.sub(".", words)


def typeset(words: str) -> str:
    """Return a text as drawn: without zeros before decimal points, and with true minus signs."""
    return LEADING.sub(".", MINUS.sub("−", words))


def old_and_new(old: float, new: float) -> str:
    """Return an old and a new number on two lines, with up to four decimal places."""
    return f"{short(old, CHANGE)}\n→ {short(new, CHANGE)}"


def changed(old: float, new: float) -> list[str]:
    """Return an arrow and the change to up to four decimal places; [] if it rounds to 0."""
    words = short(abs(new - old), CHANGE)
    return [f"{'↑' if new > old else '↓'} {words}"] if words.strip(".0") else []


def near_border(number: float, border: float) -> str:
    """Return a number with two decimal places, or three if it would be rounded to `border`."""
    words = short(number)
    return short(number, 3) if words == short(border) and number != border else words
