"""Messages that no page of a notebook sends: after each it draws, and good ones work."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import ipywidgets
import pytest

from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook import show
from scalarviz.faces.scenefiles.find import find, load
from tests.faces.notebook.browser import PAGE, Browser, until
from tests.proofs.mutants import ODD, Chance
from tests.proofs.report import Proof
from tests.studio import Studio

SEED = 18
SIZE = 300, 200
MOST_SECONDS = 20.0  # for a message with the picture after it
EVENTS = {
    "wheel": ("x", "y", "dx", "dy"), "pointer_down": ("button", "x", "y"),
    "pointer_move": ("x", "y"), "pointer_up": ("button", "x", "y"), "pointer_leave": (),
    "resize": ("width", "height", "ratio"), "key_down": ("key",), "theme": ("light",), "view": (),
    "double_click": ("button", "x", "y"), "frame_feedback": ("value",), "not_copied": (), "": (),
}  # fmt: skip
MANY = ["wheel", "wheel", "wheel", "key_down", "pointer_down", "pointer_move"]
KEYS = [*"abcdefghijklmnopqrstuvwxyz0123456789.,+-?[]", " ", "ArrowLeft", "Enter", "Escape", "F5"]
NUMBERS = [0, 1, 2.5, -3, 50, 120, 299, 1e4, 1e6, -1e5, 1e308, -1e308, float("nan"), float("inf")]
WORDS = ["", "4", "3,3", "0", "-1", "1e9", "999999999", "nan", "../x", "\0", "\x1b[31m", "cpu", "é"]
LEFT = {"scenes"}  # some of which take long


def event(chance: Chance) -> Any:
    """A message to the picture."""
    if chance.random() < 0.03:
        return chance.choice(ODD)
    kind = chance.choice([*EVENTS, *MANY])
    found: dict[str, Any] = {**PAGE, "type": kind}
    for name in EVENTS[kind]:
        if name == "key":
            found[name] = chance.choice(KEYS)
        else:
            found[name] = chance.choice(NUMBERS[:7])
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        name = chance.choice([*EVENTS[kind] * 3, *found])
        if name == "key" and chance.random() < 0.5:
            continue
        if chance.random() < 0.2:
            del found[name]
            return found
        found[name] = chance.choice([*NUMBERS, *ODD])
    return found


def change(widget: Any, chance: Chance) -> dict[str, Any]:
    """A message to a control: as of a user, or something else."""
    kind = type(widget)
    if chance.random() < 0.1:
        return chance.choice(
            [{}, {"method": None}, {"method": "x"}, {"method": "update"}, {"method": "custom"},
             {"method": "custom", "content": chance.choice(ODD)}, {"method": "request_state"}]
        )  # fmt: skip
    if kind is ipywidgets.Button:
        return {"method": "custom", "content": {"event": "click"}}
    value = chance.choice([*NUMBERS, *WORDS, *ODD])
    name = "value"
    if kind is ipywidgets.Dropdown and chance.random() < 0.8:
        name, value = "index", chance.randrange(len(widget.options) + 2)
    elif kind is ipywidgets.IntSlider and chance.random() < 0.7:
        value = chance.randint(-2, widget.max + 2)
    state = {name: value}
    if chance.random() < 0.1:
        state |= {chance.choice(("max", "min", "step", "options", "layout", "disabled")): value}
    return {"method": "update", "state": state, "buffer_paths": chance.choice(([], [], [], ODD))}


class Page:
    """A page of a notebook with the scene rgb, which sends what it should not."""

    def __init__(self) -> None:
        recipe = Recipe(load(find("rgb")), {"engine": "python"})
        self.live = show.watch(recipe.make({}), WatchOptions(size=SIZE, recipes=[recipe]))
        self.browser = Browser(self.live.canvas)
        self.browser.opens(*SIZE)
        self.refused = 0
        self.wide = SIZE[0]

    def tell(self, act: Callable[[], object]) -> None:
        """Do something on the thread of the page; the kernel notes its errors and goes on."""

        def told() -> None:
            try:
                act()
            except Exception:
                self.refused += 1

        self.browser.elsewhere(told)

    def widgets(self) -> list[Any]:
        """The controls, those of the scene and of an own input too."""
        controls = self.live.controls
        made = [each for name, each in controls.made.items() if name not in LEFT]
        more = [field for row in controls.scene.children for field in row.children[1:]]
        return [*made, *more, controls.options, controls.own.picker, *controls.own.buttons.children]

    def send(self, chance: Chance) -> str:
        """Send some message; which one."""
        if chance.random() < 0.5:
            sent = event(chance)
            self.tell(lambda: self.live.canvas._rfb_handle_msg(self.live.canvas, sent, []))
            return f"{sent}"
        widget = chance.choice(self.widgets())
        sent = change(widget, chance)
        self.tell(lambda: widget._handle_msg({"content": {"data": sent}, "buffers": []}))
        return f"{type(widget).__name__} {widget.tooltip!r}: {sent}"

    async def works(self) -> None:
        """It draws what was told, and does what a good message asks for."""
        self.wide = 600 - self.wide + 1
        self.browser.say("resize", width=self.wide, height=SIZE[1], ratio=1)
        await until(lambda: self.live.canvas.size[0] == self.wide, MOST_SECONDS)
        frame = self.live.canvas.get_frame()
        assert frame.shape[:2] == (SIZE[1], self.wide) and frame.std() > 1.0

    async def goes_back(self) -> None:
        """The control that leads to the start does so."""
        controls = self.live.controls
        click = {"method": "custom", "content": {"event": "click"}}
        controls._touched.clear()
        controls.show_state(self.live.controller.state)
        self.live.controller.pause()
        controls.made["start"]._handle_msg({"content": {"data": click}, "buffers": []})
        await until(lambda: self.live.controller.session.step_index == 0, MOST_SECONDS)


@pytest.mark.slow
def test_messages_of_a_notebook_leave_a_picture_that_draws_and_obeys(
    proof: Proof,
    studio: Studio,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.CRITICAL)
    count, refused = proof.count(800), 0
    slowest = 0.0

    async def program() -> None:
        nonlocal slowest, refused
        page = Page()
        await until(lambda: page.browser.frames)
        chance = random.Random(SEED)
        last: list[str] = []
        for number in range(count):
            start = monotonic()
            last = [*last[-4:], page.send(chance)]
            try:
                await asyncio.sleep(0)
                await page.works()
                if number % 20 == 0:
                    await page.goes_back()
            except Exception as error:
                told = "\n".join(last)
                raise AssertionError(
                    f"after message {number}, {error!r}; the last:\n{told}"
                ) from error
            took = monotonic() - start
            slowest = max(slowest, took)
            assert took < MOST_SECONDS, f"message {number} took {took:.0f} s: {last[-1]}"
        refused = page.refused
        page.live.close()

    asyncio.run(program())
    proof.seeds = str(SEED)
    proof.tried = [f"{count:,} messages to the picture of a notebook and to its controls"]
    proof.found = [
        f"a picture and a good message after each; {refused:,} refused at once, as the "
        f"notebook's log tells; the slowest took {slowest:.1f} s"
    ]
