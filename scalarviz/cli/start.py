"""`scalarviz` without a command: a window on the scene rgb, or its page in a browser."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from threading import Thread

from scalarviz.controller.options import Recipe
from scalarviz.errors import DisplayError
from scalarviz.errors.visible_text import say
from scalarviz.faces import watch
from scalarviz.pages.page import page_of
from scalarviz.pages.server import PageServer
from scalarviz.presenter.show import Show
from scalarviz.process.opening import opening_over
from scalarviz.scenefiles.find import find, load
from scalarviz.texts import text
from scalarviz.view.offscreen import has_display
from scalarviz.window.display import check_window

SCENE = "rgb"
INTERRUPTED = 130


def start(instead: str) -> int:
    """Open a window on the first scene, or its page in a browser; return the exit code.

    instead  what to type where there is neither

    Nothing is written: the page is served from memory, to this machine alone. Raises DisplayError
    where there is neither a window nor a browser.
    """
    recipe = Recipe(load(find(SCENE)))
    show = recipe.make({})
    try:
        check_window()
        code: int = watch(show, recipe=recipe, instead="")
    except DisplayError as lack:
        opening_over()
        if not has_browser():
            raise DisplayError(f"{str(lack).partition('; without')[0]}; {instead}") from lack
        return in_browser(show, str(lack).partition("; without")[0])
    return code


def has_browser() -> bool:
    """Return whether there is a browser that shows pictures; text browsers cannot train a page."""
    if sys.platform == "linux" and not has_display() and not os.environ.get("BROWSER"):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def in_browser(show: Show, lack: str) -> int:
    """Serve the page of a show to this machine and open it, until Ctrl-C; return the exit code."""
    page = page_of(show)
    with PageServer("127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.port}/{SCENE}.html"
        say(text("start.browser", lack=lack, url=url))
        # A browser that is a program of a terminal keeps this call until it is closed.
        opening = Thread(target=webbrowser.open, args=(url,), daemon=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve({f"{SCENE}.html": page.text}, ready=opening.start)
    return INTERRUPTED
