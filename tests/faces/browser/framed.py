"""The page of a session in a frame of another page, as a notebook shows it, in Chromium.

The other page stands for a notebook: it passes messages between its frame and this process.
"""

from __future__ import annotations

import base64
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from scalarviz.errors import InputError
from scalarviz.faces.browser.link import PageLink
from scalarviz.faces.browser.wire import Buffers, Header
from scalarviz.pages.page import linked_page
from tests.faces.browser.seen_page import SeenPage

SECONDS = 60.0
PARENT = """
  globalThis.heard = []; // what is not for Python
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "border: 0; width: 100vw; height: 100vh; position: fixed; inset: 0";
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (typeof data.scalarviz === "object") toPython(data.scalarviz);
    else heard.push(data);
  });
  globalThis.down = (header, texts) => {
    const buffers = texts.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    frame.contentWindow.postMessage({ scalarviz: header, buffers }, "*", buffers);
  };
  frame.srcdoc = html;
  document.body.append(frame);
"""


class FramedPage(SeenPage):
    """The page of a link in a frame; `link.attend` is called while one waits for something.

    delay    seconds that messages take in each direction
    is_busy  whether Python does not answer
    """

    def __init__(
        self,
        browser: Any,
        link: PageLink,
        size: tuple[int, int] = (800, 560),
        delay: float = 0.0,
        is_busy: bool = False,
        **more: Any,
    ) -> None:
        self.link, self.delay, self.is_busy = link, delay, is_busy
        self.complaints: list[str] = []
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._up: deque[tuple[float, Any]] = deque()
        self._down: deque[tuple[float, Header, Buffers]] = deque()
        self.reader = link.join(self._post)
        self.page.expose_function("toPython", self._take)
        html = linked_page(
            *(link.controller.show, {"channel": "frame", "version": link.version}),
            *(link.described, link.first()),
        )
        self.host = self.page.main_frame
        self._show(html)
        self.wait(lambda: self.page.frames[1:] and self.is_drawn)

    def _show(self, html: str) -> None:
        """Put the page into a frame of the other page, which passes messages by `down`."""
        self.page.set_content("<!DOCTYPE html><body></body>")
        self.host.evaluate(f"(html) => {{ {PARENT} }}", html)

    def _take(self, message: Any) -> None:
        self._up.append((time.monotonic() + self.delay, message))

    def _post(self, header: Header, buffers: Buffers) -> None:
        self._down.append((time.monotonic() + self.delay, header, list(buffers)))

    @property
    def mouse(self) -> Any:
        return self.page.mouse

    @property
    def frame(self) -> Any:
        return self.page.frames[-1]

    def pump(self) -> None:
        """Let messages pass, and the link do what is due."""
        self.page.wait_for_timeout(5)
        if self.is_busy:
            return
        now = time.monotonic()
        while self._up and self._up[0][0] <= now:
            try:
                self.link.receive(self.reader, self._up.popleft()[1])
            except InputError as error:
                self.complaints.append(str(error))
        self.link.attend()
        while self._down and self._down[0][0] <= now:
            _, header, buffers = self._down.popleft()
            texts = [base64.b64encode(each).decode() for each in buffers]
            self.host.evaluate("([header, texts]) => down(header, texts)", [header, texts])

    def wait(self, until: Callable[[], Any], seconds: float = SECONDS) -> Any:
        """Wait until a function returns something true; return that."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()
            if found := until():
                return found
        raise AssertionError(f"it did not come; the page says {self.complaints}")

    def rest(self, seconds: float = 0.3) -> None:
        """Let messages pass for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()
