"""Guess first in the page of a session of Python, in a frame: who looks at it guesses there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.training.session import value_session
from tests.faces.browser.framed import FramedPage
from tests.faces.browser.pages import linked
from tests.pages.browser import chromium

pytestmark = pytest.mark.slow

ASKS = "guess.isAsking"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


def framed(browser: Any, session: sv.Session, **more: Any) -> FramedPage:
    return FramedPage(browser, linked(session), reduced_motion="reduce", **more)


def colors() -> sv.Session:
    net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0)
    return sv.Session(net, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="cpu")


def says(page: FramedPage, where: str, key: str) -> None:
    page.wait(lambda: page.frame.inner_text(where) == text(key))


def test_a_guess_moves_the_session_and_is_told_to_the_page_around(browser: Any) -> None:
    session = colors()
    page = framed(browser, session)
    page.frame.evaluate("void (location.hash = '#guess=1')")
    page.wait(lambda: page.app(ASKS))
    row = page.app("guess.question.row")
    bank = session.network.bank
    old = float(bank.value[row])
    fresh = old - 0.5 * float(bank.grad[row])
    assert session.step_index == 0 and session.clock.operation == len(session.operations) - 1
    page.wait(lambda: "?" in page.app("picture.words"))
    page.frame.click("#guess-up" if fresh > old else "#guess-down")
    page.frame.fill("#guess-number", f"{fresh:.4g}")
    page.frame.press("#guess-number", "Enter")
    page.wait(lambda: page.app("guess.asked") == 1)
    assert session.step_index == 1 and bank.value[row] == pytest.approx(fresh, rel=1e-5)
    page.wait(
        lambda: page.frame.inner_text("#guess-tally") == text("guess.tally", right=1, asked=1)
    )
    assert page.host.evaluate("heard") == [{"scalarviz": "guess", "right": 1, "asked": 1}]

    page.frame.click("#guess-on")
    page.wait(lambda: page.app(ASKS) and page.app("guess.question.kind") == "gradient")
    session.back(1)  # somebody else goes elsewhere
    page.wait(lambda: page.app("guess.question") is None)
    assert page.app("guess.isOn") and page.app("guess.asked") == 1
    session.play()
    page.wait(lambda: not page.app("guess.isOn"))
    session.pause()
    assert page.complaints == []


def test_expressions_and_onlookers_cannot_guess(browser: Any) -> None:
    a = sv.Value(2.0)
    for session, classes, key in (
        (value_session.session_of(a * a + a), "", "guess.not_here"),
        (colors(), "looks", "page.looks"),
    ):
        page = framed(browser, session)
        page.frame.evaluate(f"document.documentElement.classList += ' {classes}'")
        page.do("setSheet(true)")
        page.do("request()")
        says(page, "#guess-about", key)
        assert page.frame.is_disabled("#guess-first")
        page.do("run('guess')")
        says(page, "#chip", key)
        assert not page.app("guess.isOn") and page.complaints == []
