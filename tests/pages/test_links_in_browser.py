"""Links to moments, in a browser: opened, followed, copied, and within other pages."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.pages.page import page_of
from tests.pages.browser import PATIENCE, Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

PARTS = ("controls", "strip", "curve", "head", "exhibit")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    session = sv.Session(sv.Network([2, 3, 1], "tanh", seed=0), data.Xor(), "mse", sv.SGD(0.5))
    found = tmp_path_factory.mktemp("links") / "x.html"
    found.write_bytes(page_of(sv.Show(session, title="Links")).text)
    return found


def follow(tab: Tab, link: str) -> None:
    """Change what stands after the #, as slides do."""
    tab.ask(f"void (location.hash = {link!r})")
    tab.page.wait_for_timeout(50)
    tab.settle()


def test_a_link_opens_a_moment_and_its_changes_are_followed(opened: Opens, file: Path) -> None:
    tab = opened(file, place="#step=120&op=7&pin=4&hide=controls,strip,curve,head,exhibit")
    tab.until("app?.state?.step === 120 && app.state.operation === 7 && app.pinned?.row === 4")
    tab.settle()
    assert not any(tab.page.locator(f".{name}").is_visible() for name in PARTS)
    assert tab.page.locator("#card").is_visible() and tab.page.locator("#caption").is_visible()
    told = tab.shown("caption")
    follow(tab, "#step=3&hide=strip&theme=light")
    tab.until("app.state.step === 3 && app.pinned === null")
    assert [n for n in PARTS if not tab.page.locator(f".{n}").is_visible()] == ["strip"]
    assert tab.ask("app.theme") == "light"
    follow(tab, "#step=120&op=7&pin=4")
    tab.until("app.state.step === 120 && app.state.operation === 7")
    assert tab.shown("caption") == told
    last = tab.ask("app.spec.engine.moments.length")
    follow(tab, f"#step=5&op={last}&play=fast&neuron=none:1")
    tab.until(f"app.state.step === 6 && app.state.moment === {last - 1}")
    assert tab.shown("chip") == text("page.link.bad", parts="play=fast, neuron=none:1")
    follow(tab, "#play=30")
    tab.until("app.player.playing && app.state.step > 8")
    follow(tab, "#step=0")
    tab.until("!app.player.playing && app.state.step === 0")


def test_a_far_moment_is_trained_in_portions_until_somebody_does_something(
    opened: Opens, file: Path
) -> None:
    tab = opened(file, place="#step=900000000").ready()
    tab.until("!document.querySelector('#chip').hidden")
    words = tab.shown("chip")
    step = int(re.findall(r"[\d,]+", words)[0].replace(",", ""))
    assert words == text("page.link.going", step=step, goal=900_000_000)
    tab.press("ArrowLeft")
    stood = tab.state["step"]
    tab.page.wait_for_timeout(600)
    assert tab.state["step"] == stood < 900_000_000


def test_a_link_to_this_moment_is_copied_and_opens_it(opened: Opens, file: Path) -> None:
    tab = opened(file, permissions=["clipboard-read", "clipboard-write"]).ready()
    tab.press("ArrowRight", 2)
    tab.press(".", 3)
    tab.ask("app.pin({neuron: ['tanh 0', 2]})")
    tab.page.click("#more")
    tab.page.click("#others summary")
    tab.page.click("#link")
    tab.until("!document.querySelector('#chip').hidden")
    assert tab.shown("chip") == text("page.link.copied")
    link = tab.ask("navigator.clipboard.readText()")
    assert link == f"{file.as_uri()}#step=2&op=3&neuron=tanh%200:2"
    wanted = tab.state
    tab.press("ArrowUp")
    tab.page.click("#more")
    tab.page.click("#link")
    words = text("page.link.copied.changed")
    tab.until(f"document.querySelector('#chip').textContent === {words!r}")
    other = opened(file, place="#" + link.split("#")[1])
    other.until("app?.state?.operation === 3 && app.pinned?.neuron")
    assert other.state == wanted
    for each in (tab, other):
        each.close()


SLIDE = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body>
<h1>A slide</h1><iframe src="x.html#step=4&amp;op=2&amp;hide=head,strip,curve"
 sandbox="allow-scripts" width="420" height="300"></iframe></body></html>"""


def test_a_page_works_within_a_slide_that_allows_scripts_only(opened: Opens, file: Path) -> None:
    slide = file.with_name("slide.html")
    slide.write_text(SLIDE)
    tab = opened(slide, place="")
    frame = tab.page.frames[1]
    within(tab, frame, "scalarviz?.state?.step === 4 && scalarviz.state.operation === 2")
    frame.click("#on")
    within(tab, frame, "scalarviz.state.step === 5")
    frame.click("#more")
    frame.click("#others summary")
    frame.click("#link")
    within(tab, frame, "document.querySelector('#chip').checkVisibility()")


def within(tab: Tab, frame: Any, words: str) -> None:
    """Wait until an expression is true in a frame."""
    ends = time.monotonic() + PATIENCE
    while not frame.evaluate(f"globalThis.{words}"):
        assert time.monotonic() < ends, f"never: {words}; {tab.complaints}"
        tab.page.wait_for_timeout(20)


def test_a_hidden_page_pauses_until_it_is_seen_again(opened: Opens, file: Path) -> None:
    tab = opened(file).ready()
    tab.press("Space")
    tab.until("app.state.step > 2")
    hide = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}})"
    event = "document.dispatchEvent(new Event('visibilitychange'))"
    tab.do(f"{hide.format('true')} && {event}")
    step = tab.state["step"]
    tab.page.wait_for_timeout(500)
    assert tab.state["step"] == step
    tab.ask(f"{hide.format('false')} && {event}")
    tab.until(f"app.state.step > {step} && app.player.playing")
