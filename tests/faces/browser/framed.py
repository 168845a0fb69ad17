"""The page of a session in a frame of another page, in Chromium.

What is seen of it, and what a mouse does.
"""

from __future__ import annotations

import base64
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from scalarviz.errors import InputError
from scalarviz.faces.browser.link import PageLink
from scalarviz.faces.browser.wire import Buffers, Header
from scalarviz.pages.page import linked_page

FIRST_IN_SIGHT = """state.value.reduce((found, _, row) => {
  const { picture } = scalarviz
  const { x, y } = picture.placeOf({ row })
  return found ?? (picture.at(x, y)?.row === row ? [row, x, y] : null)
}, null)"""


class SeenPage:
    """The page of a session in a frame.

    A class of it has `mouse` and `frame`, those of Playwright, and `wait` and `rest`, which let
    messages pass: until a function returns something true, or for some seconds.
    """

    @property
    def mouse(self) -> Any:
        raise NotImplementedError

    @property
    def frame(self) -> Any:
        raise NotImplementedError

    def wait(self, true: Callable[[], Any]) -> Any:
        raise NotImplementedError

    def rest(self, seconds: float = 0.3) -> None:
        raise NotImplementedError

    @property
    def is_drawn(self) -> bool:
        return bool(self.frame.evaluate("document.body?.classList.contains('drawn') ?? false"))

    def app(self, expression: str) -> Any:
        """The value of an expression of the page's app."""
        return self.frame.evaluate(f"scalarviz.{expression}")

    def do(self, expression: str) -> None:
        """Evaluate an expression of the page's app that acts."""
        self.frame.evaluate(f"scalarviz.{expression}; null")

    @property
    def step(self) -> int:
        """The step that it shows; -1 before its first state."""
        return int(self.app("state?.step ?? -1"))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a place of the picture is on the tab."""
        box = self.frame.locator("#cubes").bounding_box()
        return box["x"] + x, box["y"] + y

    def place_of(self, thing: str) -> tuple[float, float]:
        """Where a cube or a neuron is seen, once the picture stands."""
        self.rest(0.2)
        place = self.app(f"picture.placeOf({thing})")
        return self.at(place["x"], place["y"])

    def cube_in_sight(self) -> tuple[int, float, float]:
        """The row of a cube that no other hides, and where it is seen."""
        self.rest(0.2)
        row, x, y = self.app(FIRST_IN_SIGHT)
        return row, *self.at(x, y)

    def screenshot(self) -> bytes:
        """A PNG of it; an error if it says that it has failed."""
        assert not self.frame.locator("#failure").is_visible(), self.frame.inner_text("#failure")
        return bytes(self.frame.frame_element().screenshot())

    def camera(self) -> str:
        return json.dumps(self.app("picture.eyes"), sort_keys=True, default=str)

    def drag(self) -> None:
        """Turn the picture."""
        self.mouse.move(*self.at(30.0, 60.0))
        self.mouse.down()
        self.mouse.move(*self.at(130.0, 90.0), steps=4)
        self.mouse.up()

    def turns(self) -> bool:
        """Whether a drag turns it."""
        before = self.camera()
        self.drag()
        self.rest(0.1)
        return self.camera() != before


SECONDS = 60.0
PARENT = """
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "border: 0; width: 100vw; height: 100vh; position: fixed; inset: 0";
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (typeof data.scalarviz === "object") toPython(data.scalarviz);
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

    Args:
        delay: seconds that messages take in each direction
        is_busy: whether Python does not answer
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
