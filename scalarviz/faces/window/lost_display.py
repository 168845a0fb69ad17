"""Ends a program whose connection to the X server is lost while a driver draws.

A driver may wait for such a server for ever, on the thread that draws.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from PySide6.QtGui import QGuiApplication

from scalarviz.base.messages import inform
from scalarviz.base.processes import end_all
from scalarviz.base.texts import text

LOOK = 0.5  # seconds between two looks at the connection
PATIENCE = 6  # looks after which the thread that draws is given up


@contextmanager
def ending_without_display(save: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call `save` on another thread, and exit with 1, if this block hangs without its X server."""
    application: Any = QGuiApplication.instance()
    native = application.nativeInterface() if sys.platform == "linux" else None
    is_over, threads = Event(), []
    if native is not None:  # the platform is X11
        connection = native.connection()
        threads = [Thread(target=watch, args=[connection, save, is_over], daemon=True)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(LOOK)


def watch(connection: int, save: Callable[[], None], is_over: Event) -> None:
    """Look at a connection until it is over; give up where it has been lost for PATIENCE looks."""
    xcb: Any = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    lost = 0
    while not is_over.wait(LOOK):
        lost += xcb.xcb_connection_has_error(connection) != 0
        if lost == PATIENCE:
            try:
                inform(text("notices.no_display"))
                save()
            finally:
                end_all()
                os._exit(1)
