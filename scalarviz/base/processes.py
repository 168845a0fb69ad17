"""Child processes, and the role and screen of this process.

Child processes, for example for compiling or drawing, end when this process ends.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

VIEWER = "SCALARVIZ_VIEWER"  # set in the environment of the viewer of a followed training
PATIENCE = 2.0  # seconds that a child has to end after SIGTERM

_children: set[Any] = set()


def start(words: Sequence[str], **streams: Any) -> Any:
    """Start Python with these arguments; standard streams that are not passed are /dev/null.

    The child is in a separate session, so that Ctrl-C in the terminal does not reach it.
    """
    _children.difference_update([child for child in list(_children) if child.poll() is not None])
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    child = subprocess.Popen([sys.executable, *words], start_new_session=True, **(quiet | streams))
    _children.add(child)
    return child


def end(child: Any) -> None:
    """Terminate a child, wait until it has ended, and close its input."""
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
    """Allow a child to outlive this process."""
    _children.discard(child)


def end_all() -> None:
    """Terminate all children at the end of this process."""
    for child in list(_children):
        if child.poll() is None:
            child.terminate()
    for child in list(_children):
        end(child)


atexit.register(end_all)


# Role of this process: in a notebook, or a worker of another process; whether it has a screen.

_is_forked = False


def shell() -> Any:
    """Return the IPython shell in a notebook, or None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if hasattr(found, "kernel") else None


def is_worker() -> bool:
    """Return whether another Python process started this one to share its work.

    This includes processes of multiprocessing, of pools built on it, and forks.
    """
    process = sys.modules.get("multiprocessing.process")
    if _is_forked or process is None:
        return _is_forked
    is_main: bool = process.current_process().name == "MainProcess"
    return process.parent_process() is not None or not is_main


def has_display() -> bool:
    """Return whether there is a screen for windows."""
    return sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _note_fork() -> None:
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_note_fork)
