"""visible: text from files, paths and the command line with control characters escaped.

Some characters control a terminal, reverse a line, or cannot be seen. Every error, every printed
line and every title goes through `visible`.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

LONGEST = 70  # characters of a name
LONGEST_LINE = 2000

# Invisible characters that str.isprintable() accepts.
SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def visible(text: str, longest: int = LONGEST) -> str:
    """Return text in one line with all characters visible; a long one loses its middle."""
    text = shortened(text, longest)
    if text.isprintable() and not SHAPELESS.search(text):
        return text
    return shortened(escaped(text), longest)


def escaped(text: str) -> str:
    """Return text with all characters visible, of any length."""
    return "".join(map(seen, text))


def seen(letter: str) -> str:
    """Return a character, or its escape if it controls a terminal or is invisible."""
    if letter.isprintable() and not SHAPELESS.match(letter):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def shortened(text: str, longest: int) -> str:
    """Return text in at most `longest` characters; the middle is cut out."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 3
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines at once, all characters visible; by default to standard output, if any."""
    file = sys.stdout if file is None else file
    if file is None:
        return
    file.write("".join(f"{visible(line, LONGEST_LINE)}\n" for line in lines))
    file.flush()
