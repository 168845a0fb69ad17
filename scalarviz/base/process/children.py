"""Child processes, such as one that compiles or draws, which end with this process."""

from __future__ import annotations

import atexit
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

PATIENCE = 2.0  # seconds that a child has to end after SIGTERM

_children: set[Any] = set()


def start(words: Sequence[str], **streams: Any) -> Any:
    """Run Python with these arguments; streams that are not passed go to /dev/null.

    The child is in a session of its own, so that Ctrl-C in the terminal does not reach it.
    """
    _children.difference_update([child for child in _children if child.poll() is not None])
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    child = subprocess.Popen([sys.executable, *words], start_new_session=True, **(quiet | streams))
    _children.add(child)
    return child


def end(child: Any) -> None:
    """Terminate a child and wait until it has ended, and close its input."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child.stdin is not None:
        child.stdin.close()
    _children.discard(child)


def let_go(child: Any) -> None:
    """Let a child outlive this process."""
    _children.discard(child)


def end_all() -> None:
    """Terminate all children at the end of this process."""
    for child in list(_children):
        if child.poll() is None:
            child.terminate()
    for child in list(_children):
        end(child)


atexit.register(end_all)
