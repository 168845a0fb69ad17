"""Watching a training: `sv.watch(session)` opens a window, or does what else is possible here."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from scalarviz.apps.keep import Keep
from scalarviz.apps.scenes import find, load
from scalarviz.checks import number
from scalarviz.desk.options import Recipe
from scalarviz.errors import DisplayError
from scalarviz.formulas.table import pick
from scalarviz.stage.show import Show
from scalarviz.view.theme import THEMES
from scalarviz.widget.place import in_notebook

PICTURES = 150  # of the video that is made where nothing can be shown
NAME = "scalarviz"


def watch(
    show: object,
    steps: int | None = None,
    speed: float | None = None,
    theme: str = "auto",
    keep: Keep | None = None,
    recipe: Recipe | None = None,
    *,
    terminal: bool = False,
    name: str = NAME,
    **options: Any,
) -> Any:
    """Open a window on a session, a show or a scene, and let it play; the exit code that suits.

    In a notebook: show it in the cell that runs; what shows it is returned. A scene is called by
    its name, or by the path of a file of one's own.

    steps      after how many it pauses
    speed      steps a second, 0 for flat out; None: the show's own way
    theme      dark, light, or auto
    terminal   draw in the terminal instead

    Where no window can be opened it says why, and draws in the terminal if only PySide6 is missing;
    else it trains and leaves a picture file, called by `name`.
    """
    from scalarviz.apps import notebook
    from scalarviz.apps import terminal as in_terminal
    from scalarviz.window import window

    if isinstance(show, (str, Path)):
        recipe = Recipe(load(find(str(show))))
        show = recipe.make({})
    show = Show.of(show)
    pick({"auto": "", **THEMES}, theme, "theme")
    if speed is not None:
        number(speed, "the speed", 0.0)
    if not terminal and in_notebook():
        return notebook.watch(show, steps, speed, theme, recipe, **options)
    if terminal:
        return in_terminal.watch(show, steps, speed, theme, keep)
    try:
        window.check_window()
    except DisplayError as lack:
        if find_spec("PySide6") is None and sys.stdout.isatty():
            print(f"{lack}. Until then it is drawn in the terminal.")
            return in_terminal.watch(show, steps, speed, theme, keep)
        still = options.get("play") is False
        return to_file(show, 0 if still else steps, theme, keep or Keep(), name, str(lack))
    return window.watch(show, steps, speed, theme, keep, recipe, **options)


def unused(stem: str, kind: str) -> str:
    """The name of a file that is not there yet."""
    names = (f"{stem}{'' if i == 1 else f'-{i}'}{kind}" for i in count(1))
    return next(name for name in names if not Path(name).exists())


def to_file(show: Show, steps: int | None, theme: str, keep: Keep, name: str, lack: str) -> int:
    """Train and draw without a window: a video if it can be written here, else a picture."""
    from scalarviz.apps.render import Look, picture, record
    from scalarviz.apps.train import closing, end_of

    video = find_spec("av") is not None and steps != 0
    path = unused(name, ".mp4" if video else ".png")
    print(show.title)
    print(f"{lack}. It is drawn into {path}; --terminal draws in the terminal.", flush=True)
    look = Look(theme="dark" if theme == "auto" else theme, samples=1)
    start = show.session.step_index
    if steps == 0:  # a training that was kept: as it stands
        picture(show, path, look=look)
        return 0
    end = end_of(show, steps)
    if video:
        record(show, path, end - start, every=max(1, (end - start) // PICTURES), look=look)
    else:
        show.session.advance(end - start)
        picture(show, path, look=look)
    print(closing(show, start, end))
    if saved := keep.at_end(show.session, False):
        print(saved)
    return 0
