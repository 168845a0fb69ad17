"""Where this process runs: in a notebook, or as a worker of another process."""

from __future__ import annotations

import os
import sys
from typing import Any

_is_forked = False


def shell() -> Any:
    """Return the IPython shell of a notebook; None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if hasattr(found, "kernel") else None


def is_worker() -> bool:
    """Return whether another Python process started this one to share its work.

    That is a process of multiprocessing, of a pool built on it, or a fork.
    """
    process = sys.modules.get("multiprocessing.process")
    if _is_forked or process is None:
        return _is_forked
    is_main: bool = process.current_process().name == "MainProcess"
    return process.parent_process() is not None or not is_main


def _note_fork() -> None:
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_note_fork)
