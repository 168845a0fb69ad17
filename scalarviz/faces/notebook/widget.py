"""PageWidget: pages of sessions below a cell, whose messages go by the comm of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """A page for each link; each view of it is a reader of its link.

    pages   title and text of each
    larger  how much larger its letters are
    soon    schedules a call on the thread that runs the cells
    """

    _esm = text_beside(__file__, "widget.js")
    pages: Any = traitlets.List().tag(sync=True)
    size = traitlets.Dict().tag(sync=True)
    gone = traitlets.Unicode(text("notebook.gone")).tag(sync=True)

    def __init__(
        self,
        links: Sequence[Link],
        pages: Sequence[tuple[str, str]],
        size: tuple[int, int],
        larger: float,
        soon: Callable[[Callable[[], None]], object],
    ) -> None:
        width, height = size
        super().__init__(pages=[*pages], size={"width": width, "height": height, "larger": larger})
        self.links, self.readers = links, dict[tuple[str, int], Reader]()
        self.was_seen = False
        self._soon = soon
        self.on_msg(self._take)

    @property
    def is_closed(self) -> bool:
        """Whether nothing shows it any more, as in marimo when its cell has run again."""
        return self.comm is None or self.comm._closed

    def _take(self, _: object, content: Any, buffers: object) -> None:
        """Take a message of a view, on whatever thread it comes."""
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
            self.readers[view] = link.join(partial(self._post, view))
            self.was_seen = True
        try:
            link.receive(self.readers[view], content.get("message"))
        except InputError:
            return  # no page of ours: it is not answered

    def _post(self, view: tuple[str, int], header: Header, buffers: Buffers) -> None:
        self.send({"view": view[0], "page": view[1], "header": header}, buffers)
