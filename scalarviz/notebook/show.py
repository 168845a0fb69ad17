"""Watching in a notebook: the live picture with its controls, or what else is possible there."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, final

from scalarviz.controller.controller import Controller
from scalarviz.controller.options import Recipe
from scalarviz.errors import DisplayError
from scalarviz.export.render import PAGE, RenderOptions, story
from scalarviz.export.step_page_2d import plain_story
from scalarviz.notebook.place import Shown, in_colab
from scalarviz.presenter.answers import AT_ONCE
from scalarviz.presenter.show import Show
from scalarviz.presenter.stage import Stage
from scalarviz.texts import text

SIZE = 800, 500
SPEED = 10.0  # steps a second at first: who presses play wants to see it learn
FRAME = "width: 100%; height: 800px; border: 0; border-radius: 6px"
PACKAGES = ("ipywidgets", "jupyter_rfb", "PIL")


def watch(
    show: Show,
    steps: int | None = None,
    speed: float | None = None,
    theme: str = "auto",
    recipe: Recipe | None = None,
    *,
    size: tuple[int, int] = SIZE,
    play: bool = False,
    tour: bool = False,
    reduced_motion: bool = False,
) -> Any:
    """Show a training in the cell that runs, and return what shows it.

    steps  after how many it pauses, the first time
    speed  steps a second, 0 for flat out; None: slowly at first, then ever faster
    size   of the picture, in pixels
    play   whether it plays at once, and not only when somebody presses the button
    tour   whether the first step is shown operation by operation then

    A `theme` of "auto" is that of the page.
    """
    size = RenderOptions(size=size).size
    if why := lack():
        return told(show, why, theme)
    live = import_module("scalarviz.notebook.live")
    if speed is None and show.speed is None:
        show = replace(show, speed=SPEED)
    chosen = "light" if theme == "auto" else theme
    stage = Stage(show, chosen, reduced_motion=reduced_motion, patience=AT_ONCE)
    controller = Controller(show, stage, recipe, steps=steps, speed=speed)
    if steps is None:
        controller.playing.until = None
    try:
        shown = live.Live(controller, size, play=play or tour, tour=tour, follow=theme == "auto")
    except DisplayError as error:
        return told(show, str(error), theme)
    shown.show()
    return shown


def lack() -> str:
    """Why no live picture can be shown here; nothing if it can."""
    if in_colab():
        return text("notebook.colab")
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return text("notebook.lack", package=missing[0])
    return ""


@final
class Told(Shown):
    """The next step of a training in the page, and why it is no more than that."""

    def __init__(self, why: str, content: str, shows: str) -> None:
        self.why = why
        self._content = content
        self._shows = shows

    def bundle(self) -> dict[str, Any]:
        return {
            "text/plain": repr(self),
            "text/html": f"<p>{escape(repr(self))}</p>{self._content}",
        }

    def __repr__(self) -> str:
        return text(f"notebook.told.{self._shows}", why=self.why)


def told(show: Show, why: str, theme: str) -> Told:
    """Show the next step in the cell; drawn in space, or flat where that is impossible."""
    chosen = "light" if theme == "auto" else theme
    try:
        _, page = story(show, replace(PAGE, theme=chosen, size=(1000, 620)))
        made = Told(why, framed(page), "step")
    except DisplayError:
        if show.session.network.layers:
            made = Told(why, framed(plain_story(show, chosen)), "step")
        else:
            made = Told(why, show.session._repr_html_(), "state")
    made.show()
    return made


def framed(page: str) -> str:
    """A page within the page."""
    title = escape(text("notebook.frame"))
    return f'<iframe srcdoc="{escape(page)}" style="{FRAME}" title="{title}"></iframe>'
