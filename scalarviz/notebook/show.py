"""watch in a notebook: the live picture, or the next step where that is impossible."""

from __future__ import annotations

from collections.abc import Callable
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
SPEED = 10.0  # steps a second at first, slow enough to see it learn
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
    present: bool = False,
    nodes: Callable[[Any], object] | None = None,
) -> Any:
    """Show a training below the running cell; return what shows it.

    show            a Show
    steps           number of steps after which it pauses, the first time; None: no limit
    speed           steps a second, 0 for as fast as possible; None: accelerating from a slow start
    theme           "dark", "light", or "auto" for the page's
    recipe          makes the options of the scene available
    size            width and height of the picture in pixels; by default (800, 500)
    play            whether it plays at once; by default when its button is pressed
    tour            whether the tour of ten seconds is shown then
    reduced_motion  whether animations are off
    present         whether letters are larger, without title, loss and controls; keys work
    nodes           called with the view of each picture that is made
    """
    size = RenderOptions(size=size).size
    if why := lack():
        return told(show, why, theme)
    live = import_module("scalarviz.notebook.live")
    if speed is None and show.speed is None:
        show = replace(show, speed=SPEED)
    chosen = "light" if theme == "auto" else theme
    stage = Stage(show, chosen, reduced_motion=reduced_motion, patience=AT_ONCE)
    stage.present, stage.nodes = present, nodes
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
    """Return why there are no live pictures here; "" if there are."""
    if in_colab():
        return text("notebook.colab")
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return text("notebook.lack", package=missing[0])
    return ""


@final
class Told(Shown):
    """The next step of a training as a static page, and why it is not live."""

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
    """Show the next step in the cell, drawn in 3-D, or in 2-D without OpenGL."""
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
    """Return a page as an iframe."""
    title = escape(text("notebook.frame"))
    return f'<iframe srcdoc="{escape(page)}" style="{FRAME}" title="{title}"></iframe>'
