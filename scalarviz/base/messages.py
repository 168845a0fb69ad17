"""Messages that are printed, or logged by the logger "scalarviz", with all characters visible.

Some characters control a terminal, reverse a line, or are invisible. Every error, printed line and
title is passed through `visible`.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from traceback import walk_stack
from typing import TYPE_CHECKING, TextIO, final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


LONGEST = 70  # characters of a name
LONGEST_LINE = 2000

# Invisible characters accepted by str.isprintable().
SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def visible(text: str, longest: int = LONGEST) -> str:
    """Return text in one line with all characters visible, shortened in the middle if long."""
    text = shortened(text, longest)
    if text.isprintable() and not SHAPELESS.search(text):
        return text
    return shortened(escaped(text), longest)


def escaped(text: str) -> str:
    """Return text with all characters visible, without shortening it."""
    return "".join(map(seen, text))


def seen(letter: str) -> str:
    """Return a character, or its escape if it controls a terminal or is invisible."""
    if letter.isprintable() and not SHAPELESS.match(letter):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def shortened(text: str, longest: int) -> str:
    """Return text in at most `longest` characters, shortened in the middle."""
    if len(text) <= longest:
        return text
    end = (longest - 3) // 3
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines immediately, with all characters visible; by default to standard output."""
    file = sys.stdout if file is None else file
    if file is None:
        return
    file.write("".join(f"{visible(line, LONGEST_LINE)}\n" for line in lines))
    file.flush()


# Messages, such as that kernels are being compiled. They are shown on standard error unless an
# application sets up `logging`; then its handlers receive them.
# `logging.getLogger("scalarviz").setLevel("WARNING")` silences them.

LOG = logging.getLogger("scalarviz")


class OnStandardError(logging.Handler):
    """Handler that prints messages on standard error if no other handler is set up."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a `record` in one line, unless there is another handler."""
        others = [*LOG.handlers, *(logging.root.handlers if LOG.propagate else [])]
        if others != [self] or sys.stderr is None or getattr(record, "is_shown", False):
            return
        try:
            say(self.format(record), file=sys.stderr)
        except Exception:  # like the handlers of logging: a message must not stop the program
            self.handleError(record)


def inform(message: str, *, is_shown: bool = False) -> None:
    """Log a message of level INFO.

    Args:
        is_shown: whether the user already sees it; if so, only handlers of an application get it
    """
    LOG.info("%s", message, extra={"is_shown": is_shown})


@cache
def inform_once(message: str) -> None:
    """Log a message of level INFO, once per process."""
    inform(message)


def caution(message: str) -> None:
    """Warn about a probable mistake or a changed behaviour, at the line of the user's call."""
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    ours = [each.f_globals.get("__name__", "").startswith(f"{LOG.name}.") for each in frames]
    warnings.warn(message, stacklevel=2 + [*ours, False].index(False))


def is_informed() -> bool:
    """Return whether messages of level INFO are logged."""
    return LOG.isEnabledFor(logging.INFO)


LOG.addHandler(OnStandardError())
if LOG.level == logging.NOTSET:  # unless the application has set a level
    LOG.setLevel(logging.INFO)


# Standard output that does not end a program: data rejected by a full disk is lost.


@final
class LossyFile(io.FileIO):
    """A file whose `write` raises only BrokenPipeError; `lack` is the reason if data was lost."""

    lack: str = ""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data; return the number of bytes written, or the full length if data is lost."""
        try:
            return super().write(data)
        except BrokenPipeError:  # without a reader there is nothing left to do
            raise
        except OSError as error:
            self.lack = error.strerror or str(error)
            return memoryview(data).nbytes


@contextmanager
def lossy_output() -> Iterator[None]:
    """Replace standard output by a `LossyFile` in a block that ends with SystemExit.

    If data was lost, a message is written to standard error, and the exit code is not 0.
    """
    # Files opened later must not get the numbers of closed streams.
    while (unused := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(unused)
    before, file = sys.stdout, LossyFile(1, "w", closefd=False)
    if before is None or not before.isatty():  # terminals of Windows take characters, not bytes
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(file),
            getattr(before, "encoding", "utf-8"),
            "backslashreplace",  # a Windows file cannot encode all characters
            line_buffering=getattr(before, "write_through", False),
        )
    try:
        yield
    except SystemExit as end:
        if file.lack:
            say(f"scalarviz: standard output was lost: {file.lack}", file=sys.stderr)
        sys.exit(end.code or int(bool(file.lack)))
