"""How alive a live picture is in a notebook: a real JupyterLab, a real browser, no GPU.

    python -m benchmarks.notebook [rounds]
    python -m benchmarks.notebook page

Counted are pictures of 800x500 that the page gets in a second: while it plays ten steps a second,
while it plays flat out, and while a mouse turns it, at rest and flat out. And it is measured how
long a click on a button takes until the label and the picture beside it show what it did.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.sides import Options, in_turn, main
from tests.faces.notebook.lab import LivePicture, Page, browsing, lack, prepared, serving

MODULE = "benchmarks.notebook"
SECONDS = 4.0
CLICKS = 12
ASKED = 15.0  # pictures a second
RATES = (
    "plays 10 steps a second",
    "turned at rest",
    "plays flat out",
    "turned while it plays flat out",
)
ANSWERS = "a click, until the label says it", "a click, until the picture shows it"
FLAT_OUT = "Steps a second; at the right end flat out"


def page() -> dict[str, list[float]]:
    """Pictures a second, and seconds of clicks, of the first picture of the lesson on layers."""
    if why := lack():
        sys.exit(why)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with serving(folder) as server, browsing() as browser:
            index, *_ = prepared(server.notebooks / "lesson.ipynb")
            opened = Page.open(browser, server, "lesson.ipynb")
            opened.run_all()
            return measured(LivePicture(opened, index).show())


def measured(live: LivePicture) -> dict[str, list[float]]:
    def wait() -> None:
        live.page.tab.wait_for_timeout(1e3 * SECONDS)

    def turn() -> None:
        live.drag(SECONDS)

    found: dict[str, list[float]] = {}
    live.still()
    answers = [live.answer("On by one step") for _ in range(CLICKS)]
    found |= {
        name: list(each) for name, each in zip(ANSWERS, zip(*answers, strict=True), strict=True)
    }
    found[RATES[1]] = [live.frames(turn)]
    live.play()
    found[RATES[0]] = [live.frames(wait)]
    handle = live.control(FLAT_OUT).locator(".noUi-handle")
    handle.press("End")
    live.cell.locator(".widget-label", has_text="flat out").wait_for()
    found[RATES[2]] = [live.frames(wait)]
    found[RATES[3]] = [live.frames(turn)]
    live.pause()
    return found


SIDES = {"page": page}


def report(options: Options) -> None:
    """Medians over the rounds."""
    print("\nA live picture of 800x500 in JupyterLab and Chromium; software rendering")
    if why := lack():
        return print(f"    left out: {why}")
    rounds = in_turn({"page": [MODULE, "page"]}, options.rounds)["page"]
    values = {name: [value for each in rounds for value in each[name]] for name in rounds[0]}
    for name in RATES:
        low, middle, high = min(values[name]), statistics.median(values[name]), max(values[name])
        print(f"    {name:38} {middle:6.1f} pictures a second  ({low:.1f} to {high:.1f})")
    for name in ANSWERS:
        seconds = values[name]
        print(
            f"    {name:38} {1e3 * statistics.median(seconds):6.0f} ms  "
            f"({1e3 * min(seconds):.0f} to {1e3 * max(seconds):.0f})"
        )
    return print(f"    asked for: {ASKED:.0f} pictures a second while it plays")


if __name__ == "__main__":
    main(SIDES, report)
