"""PageView: pages below a notebook cell that show sessions running in the kernel."""

from __future__ import annotations

import base64
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Any, final

import anywidget
import traitlets

from scalarviz.base.messages import say
from scalarviz.base.package_files import text_beside
from scalarviz.base.processes import shell
from scalarviz.base.texts import text
from scalarviz.errors import DisplayError, InputError
from scalarviz.faces.browser.link import BETWEEN_STATES, PageLink, PageReader, links_of
from scalarviz.faces.browser.wire import Buffers, Header
from scalarviz.faces.controller.face import Face, Opening, WatchOptions
from scalarviz.faces.notebook.notebook_cells import SIZE, CellOutput, loop_of_cells, run_of
from scalarviz.pages.page import linked_page
from scalarviz.stage.encoders import png
from scalarviz.stage.render_options import RenderOptions, drawn
from scalarviz.stage.show import Several, Show

SIZE_OF_SEVERAL = 1160, 560
SPEED = 10.0  # steps per second, slow enough to watch learning
ALONE = 2.0  # seconds without a view after which training pauses
AFTER_AN_ERROR = 1.0  # seconds
EVERYONE = ""  # name for all views of a widget

_open: list[PageView] = []


@final
class PageView(CellOutput):
    """The view of one or several sessions in a notebook.

    `snapshot()` returns the current picture, `refresh()` updates the page from within a
    long-running cell, and `close()` replaces the page by a stored picture. While a cell runs, a
    page shows the last state that it has received.
    """

    def __init__(
        self,
        face: Face,
        size: tuple[int, int],
        options: WatchOptions,
        cell: tuple[AbstractEventLoop, tuple[str, int]] | None = None,
    ) -> None:
        loop, self._cell_run = cell or (loop_of_cells(), run_of(shell()))
        self.later: Callable[[Callable[[], None]], object] = loop.call_soon_threadsafe
        self._wait = loop.call_later
        self.face, self.size, self.closed = face, size, False
        self._attending = Lock()  # two threads may do it, while a cell runs
        self.attended = perf_counter()
        self._options = options
        self.links = links_of(face, options)  # waits for kernels: the notebook may be closed before
        pages = [page_of(each) for each in self.links]
        self.widget = PageWidget(self.links, pages, size, self.later)
        self._opening = Opening(face, False, play=bool(options.play) or options.tour)
        self._seen = perf_counter()
        self._pictured: object = None
        self._stored = b""
        self._has_opengl = True
        face.leave = face.time.pause
        self._begin()

    def _begin(self) -> None:
        """Start updating the pages, and end the view of an earlier run of the same cell."""
        _open.append(self)
        cell, run = self._cell_run
        for each in list(_open):
            before = each._cell_run
            if cell and before[0] == cell and before[1] != run:
                each.end()  # its stored output was cleared by the notebook
        self.later(self._tick)

    def snapshot(self) -> Any:
        """Return the current picture, drawn with OpenGL, as an image for the notebook."""
        from IPython.display import Image

        image: Any = Image
        return image(self.image(), width=self.size[0], height=self.size[1])

    def refresh(self) -> None:
        """Send the current state to the page from a running cell, at most 30 times per second."""
        if not self.closed and perf_counter() - self.attended > BETWEEN_STATES:
            self.push()

    def close(self) -> None:
        """Replace the page by the current picture; pause sessions that no other view shows."""
        if not self.closed:
            self._publish(update=True)
            self.end()

    def end(self) -> None:
        """Stop updating the pages, and disconnect them."""
        if self.closed:
            return
        self.closed = True
        _open.remove(self)
        elsewhere = {pane.session for each in _open for pane in each.face.panes}
        if not elsewhere & {pane.session for pane in self.face.panes}:
            self.face.quit()
        for pane in self.face.panes:
            pane.warming.stop()
        for link in self.links:
            link.close(text("page.linked.closed"))
        self.widget.close()

    def bundle(self) -> dict[str, Any]:
        found = {"text/plain": repr(self)}
        try:
            return {**found, "image/png": base64.b64encode(self.image()).decode()}
        except DisplayError:  # nothing is stored until a page has sent its picture
            self._has_opengl = False
            return found

    def live(self) -> Any:
        return self.widget

    def _display_(self) -> Any:
        """Return the widget, which marimo shows if the view is the last value of a cell."""
        return self.widget

    def image(self) -> bytes:
        """Return the current picture as PNG bytes."""
        panes, seen = self.face.panes, self.face.stage.look
        shows: Any = [pane.show for pane in panes]
        pins: Any = [pane.stage.pinned_part for pane in panes]
        look = RenderOptions(
            size=self.size,
            pin=pins if self.face.several else pins[0],
            **{**seen.unusual, "theme": self._options.look.in_theme("light").theme},
        )
        several = Several(tuple(shows), tuple(self.face.names)) if self.face.several else None
        try:
            with look.canvas() as canvas, look.on(several or shows[0]) as drawer:
                drawer.common.nodes = self._options.nodes
                return png(drawn(canvas, drawer, look))
        except DisplayError:
            if self.links[0].drawn:
                return self.links[0].drawn
            raise

    def _tick(self) -> None:
        if self.closed:
            return
        wait = AFTER_AN_ERROR
        try:
            wait = self.attend()
        finally:
            self._wait(wait, self._tick)

    def attend(self) -> float:
        """Send new states to the pages; return the seconds until the next time."""
        if self.widget.is_closed:
            self.close()
            return BETWEEN_STATES
        with self._attending:
            self.attended = perf_counter()
            self._look()
            for link in self.links:
                link.attend()
        if not self._has_opengl:
            self._keep_picture()
        return BETWEEN_STATES

    def push(self) -> None:
        """Send the state to all pages, also to those whose messages wait until a cell has ended."""
        with self._attending:
            self.attended = perf_counter()
            self._opening.attend()
            for page, link in enumerate(self.links):
                reader = link.join(partial(self.widget.post, (EVERYONE, page)))
                reader.opened, reader.version = True, link.version
                link.attend()
                link.leave(reader)

    def _keep_picture(self) -> None:
        """Store a picture that the page has drawn, as the kernel has no OpenGL."""
        link = self.links[0]
        if link.drawn is not self._stored:
            self._stored = link.drawn
            self._publish(update=True)
        here = link.session.timeline.here
        if here != self._pictured and not self.face.time.is_playing and link.is_seen:
            self._pictured = here
            link.ask_picture()

    def _look(self) -> None:
        """Start when the page becomes visible; pause when its output has been removed."""
        if self.widget.readers or not self.widget.was_seen:
            self._seen = perf_counter()
        if self.widget.readers:
            self._opening.attend()
        elif self.face.time.is_playing and perf_counter() - self._seen > ALONE:
            self.face.time.pause()

    def __repr__(self) -> str:
        state = self.face.state
        return f"{state.title or text('notebook.training')}, {state.where}"


def watch(show: Show | Several, options: WatchOptions) -> PageView:
    """Show a page for each session below the running cell; return the view.

    One page has 800 x 560 pixels, several have 1160 x 560 together. By
    default, the speed is 10 steps per second, and playback starts when the user presses the
    button. Options and the Show can change this.
    """
    if options.speed is None:
        show = begun_slowly(show)
    face = options.face(show, "light")
    size = options.size or (SIZE_OF_SEVERAL if face.several else SIZE)
    shown = PageView(face, size, options)
    if options.nodes is not None:
        say(text("notebook.nodes"))
    shown.show()
    return shown


def begun_slowly(show: Show | Several) -> Show | Several:
    """Return Shows with an initial speed that is slow enough to watch learning."""
    if show.speed is not None:
        return show
    if isinstance(show, Several):
        return replace(show, shows=tuple(replace(each, speed=SPEED) for each in show.shows))
    return replace(show, speed=SPEED)


def page_of(link: PageLink) -> tuple[str, str]:
    """Return the title and the HTML of the page that a link serves."""
    show = link.controller.show
    html = linked_page(show, {"channel": "frame", "version": 1}, link.described, link.first())
    return text("notebook.page", title=show.title), html


# The widget of the pages, whose messages use the comm of a notebook.

MOST_VIEWS = 50


@final
class PageWidget(anywidget.AnyWidget):
    """A notebook widget with a page for each link; each view of the widget can show the pages.

    Args:
        links: links that serve the pages
        pages: title and HTML of each page
        size: width and height in pixels
        soon: schedules a function in the thread that runs the cells
    """

    _esm = text_beside(__file__, "widget.js")
    pages: Any = traitlets.List().tag(sync=True)
    size = traitlets.Dict().tag(sync=True)
    gone = traitlets.Unicode(text("notebook.gone")).tag(sync=True)

    def __init__(
        self,
        links: Sequence[PageLink],
        pages: Sequence[tuple[str, str]],
        size: tuple[int, int],
        soon: Callable[[Callable[[], None]], object],
    ) -> None:
        width, height = size
        super().__init__(pages=[*pages], size={"width": width, "height": height})
        self.links, self.readers = links, dict[tuple[str, int], PageReader]()
        self.was_seen = False
        self._soon = soon
        self.on_msg(self._take)

    @property
    def is_closed(self) -> bool:
        """Whether the widget is no longer shown, as in marimo after its cell has been run again."""
        return self.comm is None or self.comm._closed

    def _take(self, _: object, content: Any, buffers: object) -> None:
        """Process a message from a view; can be called from any thread."""
        self._soon(partial(self._receive, content))

    def _receive(self, content: Any) -> None:
        if not isinstance(content, dict) or not isinstance(name := content.get("view"), str):
            return
        page = content.get("page")
        if type(page) is not int or not 0 <= page < len(self.links):
            return
        view, link = (name, page), self.links[page]
        if content.get("gone"):
            if view in self.readers:
                link.leave(self.readers.pop(view))
            return
        if view not in self.readers:
            if len(self.readers) >= MOST_VIEWS:
                return
            self.readers[view] = link.join(partial(self.post, view))
            self.was_seen = True
        try:
            link.receive(self.readers[view], content.get("message"))
        except InputError:
            return  # not one of our pages: it is ignored

    def post(self, view: tuple[str, int], header: Header, buffers: Buffers) -> None:
        self.send({"view": view[0], "page": view[1], "header": header}, buffers)
