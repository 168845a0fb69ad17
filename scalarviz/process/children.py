"""Processes that work for this one, such as one that compiles or draws: they end with it."""

from __future__ import annotations

import atexit
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

PATIENCE = 2.0  # seconds that one has to end by itself

_children: set[Any] = set()


def start(words: Sequence[str], **streams: Any) -> Any:
    """Run Python with these words; what is not passed on of input and output is dropped.

    Ctrl-C in the terminal does not reach it: whoever started it decides when it ends.
    """
    _children.difference_update([child for child in _children if child.poll() is not None])
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    child = subprocess.Popen([sys.executable, *words], start_new_session=True, **(quiet | streams))
    _children.add(child)
    return child


def end(child: Any) -> None:
    """End one, and wait until it has ended."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    _children.discard(child)


def let_go(child: Any) -> None:
    """It need not end with this process."""
    _children.discard(child)


def end_all() -> None:
    """Nobody waits for any of them."""
    for child in list(_children):
        if child.poll() is None:
            child.terminate()
    for child in list(_children):
        end(child)


atexit.register(end_all)
