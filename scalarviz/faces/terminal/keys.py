"""Keyboard input in a terminal, read without waiting for Return.

The terminal's settings are restored in any case. Without a keyboard (a pipe, a log, an unknown
terminal) there are no keys.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, final

# Escape sequences of terminals, and the names of their keys.
SEQUENCES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\x1a": "suspend",
}
# What Windows sends after a first "\xe0" or "\0".
WINDOWS = {"H": "up", "P": "down", "M": "right", "K": "left"}


class Keys(Protocol):
    """A source of pressed keys; `there` says whether there is a keyboard."""

    there: bool

    def read(self) -> list[str]:
        """Return the names of the keys pressed since the last call."""
        ...


@final
class NoKeys:
    """No keyboard."""

    there = False

    def read(self) -> list[str]:
        return []


@final
class PosixKeys:
    """The keyboard of a terminal on Linux or macOS."""

    there = True

    def __init__(self, file: int) -> None:
        self.file = file
        self._select = import_module("select").select

    def read(self) -> list[str]:
        text = b""
        while self._select([self.file], [], [], 0.0)[0]:
            part = os.read(self.file, 1024)
            text += part
            if not part:  # the terminal was closed
                break
        return names(text.decode(errors="ignore"))


@final
class WindowsKeys:
    """The keyboard of a console on Windows."""

    there = True

    def __init__(self) -> None:
        self._console: Any = import_module("msvcrt")

    def read(self) -> list[str]:
        found = []
        while self._console.kbhit():
            letter = self._console.getwch()
            if letter in ("\0", "\xe0"):
                found.append(WINDOWS.get(self._console.getwch(), ""))
            else:
                found.append("space" if letter == " " else letter)
        return [name for name in found if name]


def names(text: str) -> list[str]:
    """Return the names of keys in a terminal's input."""
    found = []
    while text:
        known = next((name for name in SEQUENCES if text.startswith(name)), "")
        if known:
            found.append(SEQUENCES[known])
        elif text[0] == "\x1b":  # an unknown key
            known = text[: 1 + max(1, length(text[1:]))]
        else:
            known = text[0]
            found.append("space" if known == " " else known)
        text = text[len(known) :]
    return found


def length(text: str) -> int:
    """Return the length of an escape sequence without its first character."""
    if text[:1] not in ("[", "O"):
        return 0
    end = next((i for i, letter in enumerate(text[1:], 1) if letter.isalpha() or letter == "~"), 0)
    return end + 1


@contextmanager
def keyboard() -> Iterator[Keys]:
    """Return the keyboard, set to single keys for the block."""
    if sys.stdin is None or sys.stdin.closed or not sys.stdin.isatty():
        yield NoKeys()
    elif sys.platform == "win32":
        yield WindowsKeys()
    else:
        terminal: Any = import_module("termios")
        file = sys.stdin.fileno()
        try:
            before = terminal.tcgetattr(file)
        except terminal.error:
            yield NoKeys()
            return
        try:
            terminal.tcsetattr(file, terminal.TCSADRAIN, single_keys(terminal, before))
            yield PosixKeys(file)
        finally:
            terminal.tcsetattr(file, terminal.TCSADRAIN, before)


def single_keys(terminal: Any, before: list[Any]) -> list[Any]:
    """Return settings for single, unechoed keys; Ctrl-C stays a signal, Ctrl-Z becomes a key."""
    mode = [*before[:6], list(before[6])]
    mode[3] &= ~(terminal.ICANON | terminal.ECHO)
    mode[6][terminal.VMIN], mode[6][terminal.VTIME] = 1, 0
    mode[6][terminal.VSUSP] = b"\0"
    return mode
