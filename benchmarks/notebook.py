"""Responsiveness of training in a notebook: a real JupyterLab, a real browser, no GPU.

    python -m benchmarks notebook [rounds]
    python -m benchmarks.sides benchmarks.notebook page

The kernel imports the installed scalarviz, or the one in PYTHONPATH. It shows the page of the scene
rgb in 800x500. The results are the milliseconds from a click on a button to the frame with another
picture, and pictures per second during playback and during rotation by the mouse.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.sides import Options, in_turn, seconds_of, spread
from tests.faces.notebook.lab import PATIENCE, Page, lack, serving, until

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
CELL = "import scalarviz as sv\nview = sv.watch('rgb', size=(800, 500))"
# When it has drawn; a click is answered by the frame after that.
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
        seconds = seconds_of(act)
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


def page() -> dict[str, list[float]]:
    """Seconds of clicks, and pictures a second."""
    if why := lack():
        sys.exit(why)
    from tests.pages.browser import chromium  # by pytest, which the other benchmarks do not need

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        serving(Path(name)) as server,
        chromium() as browser,
    ):
        (server.notebooks / "rgb.ipynb").write_text(notebook_of(CELL))
        page = Page.open(browser, server, "rgb.ipynb")
        page.tab.wait_for_timeout(3000)  # until JupyterLab has loaded its widgets
        page.run_all()
        page.tab.wait_for_timeout(3000)
        page.cell(0).locator("iframe").wait_for(timeout=1e3 * PATIENCE)
        return measured(PageOfCell(page, 0))


def notebook_of(code: str) -> str:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({**about, "cells": [{**cell, "source": code}]})


def measured(shown: PageOfCell) -> dict[str, list[float]]:
    wait, turn = (
        partial(shown.page.tab.wait_for_timeout, 1e3 * SECONDS),
        partial(shown.drag, SECONDS),
    )
    shown.answer()
    found = {ANSWER: [shown.answer() for _ in range(CLICKS)]}
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


SIDES = {"page": page}


def report(options: Options) -> None:
    """Medians over the rounds."""
    print("\nA training of 800x500 in JupyterLab and Chromium; software rendering")
    if why := lack():
        return print(f"    left out: {why}")
    rounds = in_turn({"page": [__name__, "page"]}, options.rounds)["page"]
    values = {name: [value for one in rounds for value in one[name]] for name in rounds[0]}
    for name in RATES:
        print(f"    {name:38} {spread(values[name], 'pictures a second', 1, 1)}")
    print(f"    {ANSWER:38} {spread(values[ANSWER], digits=0)}")
    return None
