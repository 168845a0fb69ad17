"""A page in a real browser, chromium or Firefox, which draws WebGL by software."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.faces.window.conftest import virtual_screen
from tests.pages.software import CHROMIUM, launched

FIREFOX = Path("/usr/bin/firefox-esr")
PATIENCE = 60.0  # seconds; a busy machine may take them, what never comes is an error


@contextmanager
def player_for(program: Path) -> Iterator[Any]:
    """Playwright; skips the test where it or the program of a browser is missing."""
    if not program.exists():
        pytest.skip(f"there is no {program}: apt-get install {program.name}")
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with api.sync_playwright() as player:
        yield player


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    with player_for(CHROMIUM) as player, launched(player) as browser:
        yield browser


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A browser with a window on a screen that nobody sees: without one it has no WebGL."""
    with player_for(FIREFOX) as player, virtual_screen() as environment:
        made = Firefox(player, environment)
        yield made
        made.close()


class Firefox:
    """Firefox as distributions ship it, with the methods of Playwright's browsers that tests call.

    The color scheme and reduced motion belong to the profile: contexts that differ in them are in
    different processes.
    """

    def __init__(self, player: Any, environment: Mapping[str, str]) -> None:
        self._player = player
        self._environment = dict(environment)
        self._launched: dict[tuple[str, str], Any] = {}

    def new_context(
        self, *, color_scheme: str = "light", reduced_motion: str = "no-preference", **more: Any
    ) -> Any:
        kind = color_scheme, reduced_motion
        if kind not in self._launched:
            self._launched[kind] = self._launch(*kind)
        return self._launched[kind].new_context(**more)

    def _launch(self, color_scheme: str, reduced_motion: str) -> Any:
        try:
            return self._player.firefox.launch(
                channel="moz-firefox",  # driven by WebDriver BiDi
                executable_path=str(FIREFOX),
                headless=False,
                env=self._environment,
                firefox_user_prefs={
                    "ui.systemUsesDarkTheme": int(color_scheme == "dark"),
                    "ui.prefersReducedMotion": int(reduced_motion == "reduce"),
                    "dom.events.testing.asyncClipboard": True,  # else a user has to agree
                },
            )
        except Exception as error:
            if "unknown command" in str(error):  # that of 140 ESR does not know what it is sent
                pytest.skip(f"{FIREFOX} is too old for this Playwright: update it")
            raise

    def new_page(self, **more: Any) -> Any:
        return self.new_context(**more).new_page()

    def close(self) -> None:
        for each in self._launched.values():
            each.close()


# In Firefox Playwright can neither send nor announce touches, nor take scripts away.
STYLE_OF_SCREENSHOTS = "sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA="
ONLY_CHROMIUM = pytest.mark.parametrize("browser", ["chromium"], indirect=True)

BROWSERS = {"chromium": chromium, "firefox": firefox}


class Tab:
    """A page that is open: its DOM, its app, what it asked for, and what the console says.

    Args:
        file: of the page
        more: options of playwright's contexts, such as `has_touch`
        before: a script that runs before those of the page
    """

    def __init__(
        self,
        browser: Any,
        file: Path,
        size: tuple[int, int] = (1280, 800),
        place: str = "#tour=no",
        before: str = "",
        **more: Any,
    ) -> None:
        width, height = size
        context = browser.new_context(viewport={"width": width, "height": height}, **more)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        context.on("request", lambda request: self.asked.append(request.url))
        self.page = context.new_page()
        self.page.on("console", lambda message: self.note(message.text))
        self.page.on("pageerror", lambda error: self.note(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append("a dialog"))
        if before:
            self.page.add_init_script(before)
        self.page.goto(file.as_uri() + place)

    def note(self, message: str) -> None:
        """Note what the browser says, but for a style of Playwright, which the policy blocks."""
        if STYLE_OF_SCREENSHOTS not in message:
            self.complaints.append(message)

    def close(self) -> None:
        """Close the page; nothing may have gone wrong, and nothing have left the machine."""
        self.page.context.close()
        assert self.complaints == [], self.complaints
        assert [url for url in self.asked if not url.startswith(("file:", "blob:", "data:"))] == []

    def ask(self, words: str) -> Any:
        """The value of an expression of JavaScript, in which `app` is that of the page."""
        return self.page.evaluate(f"(app => {words})(globalThis.scalarviz)")

    def until(self, words: str, seconds: float = PATIENCE) -> Any:
        """What an expression is as soon as it is true of something."""
        ends = time.monotonic() + seconds
        while not (found := self.ask(words)):
            assert time.monotonic() < ends, f"never: {words}; {self.complaints}"
            self.page.wait_for_timeout(20)
        return found

    def ready(self) -> Tab:
        """This, when the page has drawn its first picture and waits for users."""
        self.until("app?.drawn && performance.getEntriesByName('first picture').length")
        return self

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, and wait until the worker has answered."""
        for _ in range(times):
            self.page.keyboard.press(key)
            self.settle()

    def do(self, words: str) -> None:
        """Evaluate an expression that acts, and wait until the worker has answered."""
        self.ask(words)
        self.settle()

    def click(self, where: str) -> None:
        """Click an element, and wait likewise."""
        self.page.click(where)
        self.settle()

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse from a place of the window to another, and wait likewise."""
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=4)
        self.page.mouse.up()
        self.settle()

    @cached_property
    def fingers(self) -> Any:
        return self.page.context.new_cdp_session(self.page)

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        """Let fingers touch places of the window: "touchStart", "touchMove", "touchEnd"."""
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        self.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def stroke(self, *places: tuple[float, float]) -> None:
        """Let one finger go from the first of these places to the last."""
        for number, place in enumerate(places):
            self.touch("touchMove" if number else "touchStart", place)
        self.touch("touchEnd")

    def middle(self, where: str) -> tuple[float, float]:
        """Where the middle of the first element of a selector is in the window."""
        box = self.page.locator(where).first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def tap(self, thing: str) -> None:
        """Click a cube or a neuron, as `place_of` has them, and wait likewise."""
        self.page.mouse.click(*self.place_of(thing))
        self.settle()

    def enter(self, where: str, words: str) -> None:
        """Type words into a field instead of those in it, and press Enter."""
        self.page.click(where)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(words)
        self.press("Enter")

    def settle(self) -> None:
        """Wait until no command is under way, and the last state is drawn."""
        self.page.wait_for_timeout(10)
        self.until("app.client.asked.size === 0 && app.frame === 0 || app.player.playing")

    def shown(self, name: str) -> str:
        """The text of the element of an id."""
        return str(self.page.inner_text(f"#{name}"))

    def spoken(self, region: str = "told") -> str:
        """What a live region says to screen readers."""
        return str(self.ask(f"document.querySelector('#{region}').textContent"))

    def written(self) -> Any:
        """All words of the picture and their places, of a new drawing."""
        return self.ask("""(() => {
            const [{ picture }, found] = [app, []]
            const { write } = picture
            picture.write = (view) => {
                const { text } = view.paper
                view.paper.text = function (x, y, words, ...look) {
                    found.push([words, x, y])
                    text.call(this, x, y, words, ...look)
                }
                write.call(picture, view)
            }
            app.draw()
            delete picture.write
            return found
        })()""")

    @property
    def state(self) -> dict[str, Any]:
        """Position in the training: step, operation, loss, rate, value, grad."""
        found = self.ask(
            "({step: app.state.step, operation: app.state.operation, loss: app.state.loss,"
            " rate: app.state.rate, value: [...app.state.value], grad: [...app.state.grad],"
            " last: app.state.last})"
        )
        assert isinstance(found, dict)
        return found

    def place_of(self, thing: str) -> tuple[float, float]:
        """Where a cube {row: 3} or a neuron {neuron: [buffer, place]} is seen, in the window."""
        box = self.page.locator("#cubes").bounding_box()
        at = self.ask(f"app.picture.placeOf({thing})")
        return box["x"] + at["x"], box["y"] + at["y"]
