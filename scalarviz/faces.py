"""Watching a training: `sv.watch(session)` opens a window, or shows it where it is asked from."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scalarviz.checks.numbers import number
from scalarviz.controller.autosave import Keep
from scalarviz.controller.options import Recipe
from scalarviz.draw2d.theme import THEMES
from scalarviz.errors import DisplayError
from scalarviz.errors.visible_text import say
from scalarviz.export.render import RenderOptions
from scalarviz.formulas.table import pick
from scalarviz.notebook.place import in_notebook
from scalarviz.presenter.show import Show
from scalarviz.scenefiles.find import find, load

OPTIONS = {each: each for each in ("size", "play", "tour", "reduced_motion")}
INSTEAD = (
    "sv.watch(..., terminal=True) draws in the terminal, sv.picture(..., 'net.png') and "
    "sv.record(..., 'net.mp4') write a file"
)


def watch(
    show: object,
    steps: int | None = None,
    speed: float | None = None,
    theme: str = "auto",
    keep: Keep | None = None,
    recipe: Recipe | None = None,
    *,
    terminal: bool = False,
    instead: str = INSTEAD,
    **options: Any,
) -> Any:
    """Open a window on a session, a show or a scene, and let it play; the exit code that suits.

    In a notebook: show it in the cell that runs; what shows it is returned. A scene is called by
    its name, or by the path of a file of one's own. The window's thread never waits for a training,
    and any other thread may call the session meanwhile.

    steps      after how many it pauses
    speed      steps a second, 0 for flat out; None: the show's own way
    theme      dark, light, or auto
    terminal   draw in the terminal instead
    options    size=(1280, 800) of the window, or of the picture in a notebook, in pixels;
               play=False, to begin with a pause; tour=True, to show the first step operation by
               operation; reduced_motion=True, so that nothing glides

    If only PySide6 is missing it says so and draws in the terminal. Raises DisplayError where no
    window can be opened otherwise: the message says what is missing, and `instead`, what can be
    done without a window.
    """
    from scalarviz.notebook import show as notebook
    from scalarviz.terminal import terminal as in_terminal
    from scalarviz.window import window

    if isinstance(show, (str, Path)):
        recipe = Recipe(load(find(str(show))))
        show = recipe.make({})
    show = Show.of(show)
    pick({"auto": "", **THEMES}, theme, "theme")
    if speed is not None:
        number(speed, "the speed", 0.0)
    for name in options:
        pick(OPTIONS, name, "argument of watch")
    if "size" in options:
        options["size"] = RenderOptions(size=options["size"]).size
    if not terminal and in_notebook():
        return notebook.watch(show, steps, speed, theme, recipe, **options)
    if terminal:
        return in_terminal.watch(show, steps, speed, theme, keep)
    try:
        window.check_window()
        return window.watch(show, steps, speed, theme, keep, recipe, **options)
    except DisplayError as lack:
        if find_spec("PySide6") is None and sys.stdout.isatty():
            say(f"{lack}. Until then it is drawn in the terminal.")
            return in_terminal.watch(show, steps, speed, theme, keep)
        raise DisplayError(f"{lack}; without a window {instead}") from lack
