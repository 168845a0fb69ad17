"""PageView: the page of a session below the cell of a notebook, with the session in the kernel."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from time import perf_counter
from typing import Any, final

from scalarviz.base.process.surroundings import shell
from scalarviz.base.texts import text
from scalarviz.base.visible_text import say
from scalarviz.errors import DisplayError
from scalarviz.faces.browser.link import BETWEEN_STATES, Link
from scalarviz.faces.browser.widget import PageWidget
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.startup import Opening
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook.place import Shown, in_colab, run_of
from scalarviz.pages.linked_page import linked_page
from scalarviz.pictures.draw2d.png import png
from scalarviz.pictures.export.render import picture
from scalarviz.pictures.presenter.several import Several
from scalarviz.pictures.presenter.show import Show

SIZE = 800, 560
PACKAGES = "anywidget", "ipywidgets"
SPEED = 10.0  # steps a second, slow enough to see it learn
AFTER_AN_ERROR = 1.0  # seconds

_open: list[PageView] = []


@final
class PageView(Shown):
    """The view of a session in a notebook.

    `snapshot()` returns the current picture, `refresh()` updates the page from within a
    long-running cell, `close()` leaves the stored picture in its place. While a cell runs, a page
    goes on with the last state that it has.
    """

    def __init__(
        self, group: Group, size: tuple[int, int], theme: str, *, play: bool, tour: bool
    ) -> None:
        self.group, self.size, self.closed = group, size, False
        self.controller = group.lead
        for member in group.members:  # the notebook may be closed before they are compiled
            member.await_kernels()
        self._theme = "light" if theme == "auto" else theme
        loop = asyncio.get_running_loop()
        self._later, self._wait = loop.call_soon_threadsafe, loop.call_later
        self.link = Link(self.controller, theme="" if theme == "auto" else theme, tour=tour)
        html = linked_page(
            self.controller.show, {"channel": "frame", "version": 1}, self.link.described
        )
        title = text("notebook.page", title=self.controller.show.title)
        self.widget = PageWidget(self.link, html, title, size, self._soon)
        self._opening = Opening(group, False, play=play)
        self._cell_run = run_of(shell())
        self._sent = 0.0
        group.each("leave", group.pause)
        close_former(*self._cell_run)
        _open.append(self)
        self._soon(self._tick)

    def snapshot(self) -> Any:
        """Return the current picture as an image for the notebook; it is drawn by OpenGL."""
        from IPython.display import Image

        width, height = self.size
        image: Any = Image
        return image(self._picture(), width=width, height=height)

    def refresh(self) -> None:
        """Send the page the present state within a running cell, at most 30 a second."""
        if not self.closed and perf_counter() - self._sent > BETWEEN_STATES:
            self._sent = perf_counter()
            self.link.show_all()

    def close(self) -> None:
        """End the link; pause the training unless another view shows it."""
        if self.closed:
            return
        self.closed = True
        _open.remove(self)
        session = self.controller.session
        for name in self.controller.exports.let_go():
            say(text("notices.still_written", file=name))
        if not any(each.controller.session is session for each in _open):
            self.group.quit()
        self.link.close(text("page.linked.closed"))
        self.widget.close()

    def bundle(self) -> dict[str, Any]:
        found = {"text/plain": repr(self)}
        try:
            return {**found, "image/png": base64.b64encode(self._picture()).decode()}
        except DisplayError:  # without OpenGL nothing is stored
            return found

    def live(self) -> Any:
        return self.widget

    def _picture(self) -> bytes:
        stage = self.controller.stage
        pin = stage.pinned if stage.pinned is not None else stage.pinned_neuron
        looks: dict[str, Any] = {"color": stage.color, "cubes": stage.size, "pin": pin}
        return png(picture(self.controller.show, size=self.size, theme=self._theme, **looks))

    def __repr__(self) -> str:
        state = self.group.state()
        return f"{state.title or text('notebook.training')}, {state.where}"

    def _soon(self, command: Callable[[], None]) -> None:
        self._later(command)

    def _tick(self) -> None:
        """Do what is due, and come again."""
        if self.closed:
            return
        wait = AFTER_AN_ERROR
        try:
            if self.widget.was_seen:
                self._opening.attend()
            self.link.attend()
            wait = BETWEEN_STATES
        finally:
            self._wait(wait, self._tick)


def fits(show: Show | Several, options: WatchOptions) -> bool:
    """Whether a page can show this: one session of a network with layers, and no nodes of vispy.

    In Colab and marimo this was not tried: there the page that trains by itself stays.
    """
    installed = not in_colab() and all(find_spec(name) is not None for name in PACKAGES)
    alone = isinstance(show, Show) and bool(show.session.network.layers)
    return installed and alone and options.nodes is None and not options.present


def watch(show: Show, options: WatchOptions) -> PageView:
    """Show a session below the running cell; return what shows it.

    The page has 800 x 560 pixels, its speed is 10 steps a second, and it plays when its button is
    pressed, unless the options or the show say something else.
    """
    if options.speed is None and show.speed is None:
        show = replace(show, speed=SPEED)
    group = options.group(show, "light" if options.theme == "auto" else options.theme)
    if options.steps is None:
        group.playing.until = None
    play, size = bool(options.play) or options.tour, options.size or SIZE
    shown = PageView(group, size, options.theme, play=play, tour=options.tour)
    shown.show()
    return shown


def close_former(cell: str, run: int) -> None:
    """Close what an earlier run of this cell has shown."""
    for view in list(_open):
        before = view._cell_run
        if cell and before[0] == cell and before[1] != run:
            view.close()
