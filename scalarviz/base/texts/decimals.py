"""Numbers as people read them: plain decimals, and exponents only beyond LEAST and MOST."""

from __future__ import annotations

import math
import re

LEAST, MOST = -6, 6  # exponents of ten from which to below which a number is a plain decimal
LEADING = re.compile(r"(?<![\d.])0\.(?=\d)", re.ASCII)


def rounded(value: float, digits: int = 2) -> str:
    """Return a number with some digits: 0.15, -1.3, 1234, 1.4e-8, and never -0."""
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
    """Return a number without zeros that say nothing."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def short(value: float, digits: int = 2) -> str:
    """Return a number for a cube or a sphere: .25, -1.30, 12.5, and .00 for what rounds to it.

    digits  how many follow the point, less one for each before it but the first
    """
    if not abs(value) < 10.0**MOST:
        return rounded(value, 1)
    words = f"{value:.{max(0, digits + 1 - len(str(int(abs(value)))))}f}"
    if not float(words):  # never -.00
        words = f"{0.0:.{digits}f}" if value else "0"
    return on_cube(words)


def on_cube(words: str) -> str:
    """Return words with numbers as cubes and spheres have them: without a zero before the point."""
    return LEADING.sub(".", words)


def old_and_new(old: float, new: float) -> str:
    """Return two numbers in lines of their own, with as many digits as distinguish them."""
    first, last = short(old), short(new)
    for digits in (3, 4):
        if first == last:
            first, last = short(old, digits), short(new, digits)
    return f"{first}\n→ {last}"


def changed(old: float, new: float) -> list[str]:
    """Return an arrow with the change of a number, of up to four digits; else nothing."""
    words = [short(abs(new - old), digits) for digits in (2, 3, 4)]
    return [f"{'↑' if new > old else '↓'} {each}" for each in words if each.strip(".0")][:1]
