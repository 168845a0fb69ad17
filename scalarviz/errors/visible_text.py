"""Text from elsewhere - a file, a path, the command line - as a person may see it.

A terminal obeys some characters; others turn a line around, or cannot be seen. Every error, every
line that is printed and every title goes through `visible`, which writes them as their escapes.
"""

from __future__ import annotations

import re
import sys
from typing import TextIO

LONGEST = 70  # letters of a name
LONGEST_LINE = 2000

# Letters without a shape; Python calls them printable, all others of their kind it does not.
SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def visible(text: str, longest: int = LONGEST) -> str:
    """A text in one line of which every letter can be seen; a long one without its middle."""
    text = shortened(text, longest)
    if text.isprintable() and not SHAPELESS.search(text):
        return text
    return shortened(escaped(text), longest)


def escaped(text: str) -> str:
    """A text in which every letter can be seen, of any length."""
    return "".join(map(seen, text))


def seen(letter: str) -> str:
    """A letter, or its escape if a terminal would obey it or show nothing."""
    if letter.isprintable() and not SHAPELESS.match(letter):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def shortened(text: str, longest: int) -> str:
    """A text of at most so many letters: what is left out stands in the middle."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 3
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print some lines at once, every letter visible; without a file to standard output."""
    file = sys.stdout if file is None else file
    file.write("".join(f"{visible(line, LONGEST_LINE)}\n" for line in lines))
    file.flush()
