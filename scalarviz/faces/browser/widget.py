"""PageWidget: the page of a session below a cell, whose messages go by the comm of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

import anywidget
import traitlets

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.browser.link import Link, Reader
from scalarviz.faces.browser.wire import Buffers, Header

MOST_VIEWS = 50


@final
class PageWidget(anywidget.AnyWidget):
    """The page of a link; each view of it is a reader of the link.

    soon  schedules a call on the thread that runs the cells
    """

    _esm = text_beside(__file__, "widget.js")
    html = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    size = traitlets.Dict().tag(sync=True)
    gone = traitlets.Unicode(text("notebook.gone")).tag(sync=True)

    def __init__(
        self,
        link: Link,
        html: str,
        title: str,
        size: tuple[int, int],
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        super().__init__(html=html, title=title, size={"width": size[0], "height": size[1]})
        self.link, self.readers = link, dict[str, Reader]()
        self.was_seen = False
        self._soon = soon
        self.on_msg(self._take)

    def _take(self, _: object, content: Any, buffers: object) -> None:
        """Take a message of a view, on whatever thread it comes."""
        self._soon(partial(self._receive, content))

    def _receive(self, content: Any) -> None:
        if not isinstance(content, dict) or not isinstance(view := content.get("view"), str):
            return
        if content.get("gone"):
            if view in self.readers:
                self.link.leave(self.readers.pop(view))
            return
        if view not in self.readers:
            if len(self.readers) >= MOST_VIEWS:
                return
            self.readers[view] = self.link.join(partial(self._post, view))
            self.was_seen = True
        try:
            self.link.receive(self.readers[view], content.get("message"))
        except InputError:
            return  # no page of ours: it is not answered

    def _post(self, view: str, header: Header, buffers: Buffers) -> None:
        self.send({"view": view, "header": header}, buffers)
