"""How alive a training is in a notebook: a real JupyterLab, a real browser, no GPU.

    python -m benchmarks.notebook [rounds]
    python -m benchmarks.notebook page
    python -m benchmarks.notebook former
    python -m benchmarks.notebook plain

The kernel imports the scalarviz that is installed, or the one that PYTHONPATH names. All sides show
the scene rgb in 800x500: the page with its session in the kernel, and the pictures that vispy draws
in the kernel, in the same browser and in a "plain" one without WebGL. Measured are the milliseconds from a click on a button to the frame
that shows another picture, and pictures a second while it plays ten steps a second, while it plays
flat out, and while a mouse turns it, at rest and flat out.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.sides import Options, in_turn, main
from tests.faces.notebook.lab import PATIENCE, LivePicture, Page, browsing, lack, serving, until
from tests.pages.browser import chromium

MODULE = "benchmarks.notebook"
SECONDS = 4.0
CLICKS = 15
RATES = (
    "turned at rest",
    "plays 10 steps a second",
    "plays 30 steps a second",
    "plays flat out",
    "turned while it plays flat out",
)
ANSWER = "a click, until the picture shows it"
CELLS = {
    "page": "import scalarviz as sv\nview = sv.watch('rgb', size=(800, 500))",
    "former": "import scalarviz as sv\n"
    "view = sv.watch('rgb', size=(800, 500), nodes=lambda view: None)",
}
# Of the page: when it has drawn, and what. Both sides wait for the frame after that.
WATCH = """() => {
  const draw = scalarviz.draw
  globalThis.drawn = []
  scalarviz.draw = function () {
    draw.call(this)
    drawn.push(performance.now())
  }
}"""
PRESS = """() => new Promise(resolve => {
  const step = scalarviz.state.step
  const pressed = performance.now()
  const look = () => {
    const { step: now } = scalarviz.state
    if (now === step || !(drawn.at(-1) > pressed)) requestAnimationFrame(look)
    else requestAnimationFrame(() => resolve(performance.now() - pressed))
  }
  document.getElementById('on').click()
  requestAnimationFrame(look)
})"""
PRESS_FORMER = """([button, image]) => new Promise(resolve => {
  let pressed
  const images = new MutationObserver(async () => {
    images.disconnect()
    await image.decode()
    requestAnimationFrame(() => resolve(performance.now() - pressed))
  })
  images.observe(image, { attributes: true, attributeFilter: ['src'] })
  setTimeout(() => {
    pressed = performance.now()
    button.click()
  }, 50)
})"""


class PageOfCell:
    """The page of a session below a cell."""

    def __init__(self, page: Page, index: int) -> None:
        self.page = page
        element = page.cell(index).locator("iframe").element_handle()
        self.frame = element.content_frame()
        until(self.is_drawn, "the page is drawn")
        self.frame.evaluate(WATCH)

    def is_drawn(self) -> bool:
        return bool(self.frame.evaluate("document.body?.classList.contains('drawn')"))

    def answer(self) -> float:
        self.page.tab.wait_for_timeout(1000)
        return float(self.frame.evaluate(PRESS)) / 1e3

    def frames(self, act: Callable[[], object]) -> float:
        self.frame.evaluate("() => { drawn.length = 0 }")
        began = time.monotonic()
        act()
        seconds = time.monotonic() - began
        return int(self.frame.evaluate("drawn.length")) / seconds

    def drag(self, seconds: float) -> None:
        box = self.frame.locator("#cubes").bounding_box()
        mouse, (x, y) = self.page.tab.mouse, (box["x"] + 80.0, box["y"] + 80.0)
        mouse.move(x, y)
        mouse.down()
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            mouse.move(x + 60.0 * math.sin(2.0 * now), y + 40.0 * math.sin(1.3 * now))
            time.sleep(0.012)
        mouse.up()

    def play(self) -> None:
        self.frame.click("#play")

    pause = play

    def set_speed(self, steps: int | None) -> None:
        place = f"scalarviz.player.speeds.findIndex(({{ steps }}) => steps === {json.dumps(steps)})"
        self.frame.evaluate(f"scalarviz.run('setSpeed', {place})")


class Former(LivePicture):
    """Pictures of vispy below a cell."""

    def once(self) -> float:
        self.still()
        parts = [each.element_handle() for each in (self.button("On by one step"), self.image)]
        return float(self.page.tab.evaluate(PRESS_FORMER, parts)) / 1e3

    def set_speed(self, steps: int | None) -> None:
        self.ask(f"view.controller.set_speed({steps}); 0")
        self.show()


def measured(side: str, browser_of: Any = chromium) -> dict[str, list[float]]:
    """Seconds of clicks, and pictures a second."""
    if why := lack():
        sys.exit(why)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        with serving(Path(name)) as server, browser_of() as browser:
            (server.notebooks / "rgb.ipynb").write_text(notebook_of(CELLS[side]))
            page = Page.open(browser, server, "rgb.ipynb")
            page.tab.wait_for_timeout(3000)  # until JupyterLab has loaded its widgets
            page.run_all()
            page.tab.wait_for_timeout(3000)
            if side == "former":
                live = Former(page, 0).show()
                return measured_of(live, live.once)
            page.cell(0).locator("iframe").wait_for(timeout=1e3 * PATIENCE)
            shown = PageOfCell(page, 0)
            return measured_of(shown, shown.answer)


def notebook_of(code: str) -> str:
    cells = [
        {"cell_type": "code", "id": f"cell{i}", "metadata": {}, "outputs": [], "source": each,
         "execution_count": None} for i, each in enumerate((code, "0"))
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {
            "cells": cells,
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def measured_of(shown: Any, answer: Callable[[], float]) -> dict[str, list[float]]:
    def wait() -> None:
        shown.page.tab.wait_for_timeout(1e3 * SECONDS)

    def turn() -> None:
        shown.drag(SECONDS)

    answer()
    found = {ANSWER: [answer() for _ in range(CLICKS)]}
    found[RATES[0]] = [shown.frames(turn)]
    shown.play()
    wait()
    for name, speed in zip(RATES[1:4], (10, 30, None), strict=True):
        shown.set_speed(speed)
        wait()
        found[name] = [shown.frames(wait)]
    found[RATES[4]] = [shown.frames(turn)]
    shown.pause()
    return found


def page() -> dict[str, list[float]]:
    return measured("page")


def former() -> dict[str, list[float]]:
    return measured("former")


def plain() -> dict[str, list[float]]:
    """The former side in a browser without WebGL, which draws pages without a graphics process."""
    return measured("former", browsing)


SIDES = {"page": page, "former": former, "plain": plain}


def report(options: Options) -> None:
    """Medians over the rounds."""
    print("\nA training of 800x500 in JupyterLab and Chromium; software rendering")
    if why := lack():
        return print(f"    left out: {why}")
    rounds = in_turn({name: [MODULE, name] for name in SIDES}, options.rounds)
    for side, each in rounds.items():
        values = {name: [value for one in each for value in one[name]] for name in each[0]}
        print(f"  {side}")
        for name in RATES:
            low, middle, high = (
                min(values[name]),
                statistics.median(values[name]),
                max(values[name]),
            )
            print(f"    {name:38} {middle:6.1f} pictures a second  ({low:.1f} to {high:.1f})")
        seconds = values[ANSWER]
        print(
            f"    {ANSWER:38} {1e3 * statistics.median(seconds):6.0f} ms  "
            f"({1e3 * min(seconds):.0f} to {1e3 * max(seconds):.0f})"
        )
    return None


if __name__ == "__main__":
    main(SIDES, report)
