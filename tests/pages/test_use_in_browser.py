"""What a page says of what its users do, in a browser: offers, refusals, and how they go away."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from scalarviz.base.texts import text
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(opened: Opens) -> Opens:
    return lambda place="#tour=no", page="rgb": opened(
        page, place=place, reduced_motion="reduce"
    ).ready()


def chip(tab: Tab) -> str:
    return tab.shown("chip") if tab.page.locator("#chip").is_visible() else ""


def test_a_typed_value_is_fixed_by_training_or_leaves_no_trace_when_undone(
    opened: Opens,
) -> None:
    tab = opened()
    tab.press("ArrowRight", 6)
    scale = tab.ask("app.picture.frame.scale")
    tab.do("app.pin({ row: 3 })")
    tab.enter("#card input.number", "0x10")
    assert chip(tab) == text("page.no_value")
    tab.enter("#card input.number", "99")
    assert text("notices.repair") in chip(tab)
    assert tab.shown("caption").startswith("After 6 steps the loss was ")
    assert tab.ask("app.picture.frame.scale") == 100
    assert tab.page.locator("#redo").is_disabled()
    tab.press("z")
    tab.settle()
    assert chip(tab) == "" and tab.ask("app.picture.frame.scale") == scale
    assert tab.shown("caption").startswith("After 6 steps the loss is ")
    assert tab.ask("document.querySelector('#undo').disabled")


def test_a_rate_that_is_none_is_refused_until_one_is_typed(opened: Opens) -> None:
    tab = opened()
    before = tab.page.input_value("#rate-number")
    for words in ("abc", "0x10"):
        tab.enter("#rate-number", words)
        assert chip(tab) and tab.page.input_value("#rate-number") == before
    tab.enter("#rate-number", "0,25")
    assert chip(tab) == "" and tab.state["rate"] == 0.25


def test_each_of_five_quick_presses_halves_the_rate(opened: Opens) -> None:
    tab = opened()
    rate = tab.state["rate"]
    press = "dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}))"
    tab.do(f"[1, 2, 3, 4, 5].forEach(() => {press})")
    assert tab.state["rate"] == rate / 32


def test_one_goes_by_neurons_there_and_back(opened: Opens) -> None:
    tab = opened()
    tab.page.select_option("#unit", "neuron")

    def seen() -> list[Any]:
        tab.settle()
        outputs = tab.ask("Object.values(app.picture.frame.values).map((each) => each.length)")
        picture = tab.ask("(app.draw(), app.picture.canvas.toDataURL())")
        return [tab.shown("caption"), tab.state["operation"], outputs, picture]

    there = []
    for key in [*["ArrowRight"] * 11, *["."] * 14]:
        tab.press(key)
        there.append(seen())
    assert [each[1] for each in there] == [1, *[2] * 8, *[3] * 8, *[4] * 3, *[5] * 3, 6, 7]
    assert [each[2] for each in there[:4]] == [[3], [3, 1], [3, 2], [3, 3]]
    assert [each[0].split(" adds up")[0] for each in there[1:4]] == [
        f"Neuron {i}" for i in (0, 1, 2)
    ]
    outputs = [each[0] for each in there if each[1] == 5]
    assert ["; B is" in each for each in outputs] == [False, False, False]
    assert ["G is" in each for each in outputs] == [False, True, True]
    assert len({each[3] for each in there}) == len(there)
    for key, before in zip([*["ArrowLeft"] * 14, *[","] * 10], there[-2::-1], strict=True):
        tab.press(key)
        assert seen() == before
    tab.press("ArrowRight", 3)
    tab.page.select_option("#unit", "operation")
    tab.press("ArrowRight")
    tab.settle()
    assert tab.ask("app.picture.frame.walked") is None and tab.state["operation"] == 3
    tab.press("ArrowLeft")
    tab.settle()
    assert tab.ask("app.picture.frame.walked") is None and tab.state["operation"] == 2


def test_where_layers_are_no_dense_ones_no_page_goes_by_neurons(opened: Opens) -> None:
    tab = opened(page="digits")
    assert tab.ask("[...document.querySelectorAll('#unit option')].map((each) => each.value)") == [
        "operation", "step", "epoch",
    ]  # fmt: skip
    tab.do("app.setUnit('neuron')")
    assert tab.page.input_value("#unit") == "operation"


def test_the_samples_of_a_batch_are_gone_through_by_two_buttons(opened: Opens) -> None:
    tab = opened()
    tab.page.click("#more")
    tab.page.click("#others summary")
    for button, sample in (("#sample-after", 1), ("#sample-before", 0), ("#sample-before", 7)):
        tab.click(button)
        assert tab.ask("app.state.focus") == sample


def test_play_keeps_its_speed(opened: Opens) -> None:
    tab = opened()
    tab.press("Space")
    speed = tab.ask("app.player.speed")
    tab.ask("((now) => (performance.now = () => now() + 60000))(performance.now.bind(performance))")
    tab.until("app.state.step > 5")
    assert tab.ask("app.player.speed") == speed


def test_the_branch_that_b_leads_to_is_named(opened: Opens) -> None:
    tab = opened()
    tab.press("ArrowRight", 4)
    tab.press("ArrowLeft", 2)
    tab.press("ArrowUp")
    tab.press("ArrowRight", 3)
    for number, name in enumerate(("from the start", "from step 2: rate 1")):
        tab.press("b")
        tab.until("!app.player.going")
        assert chip(tab) == text("notices.switched", number=number, last=1, name=name)


def test_a_far_link_ends_at_esc_and_takes_its_message_along(opened: Opens) -> None:
    tab = opened("#step=99999999")
    tab.until("document.querySelector('#chip span').textContent.includes('Esc')")
    tab.page.keyboard.press("Escape")
    tab.until("document.querySelector('#chip').hidden")
    tab.page.wait_for_timeout(1500)
    step = tab.state["step"]
    tab.page.wait_for_timeout(500)
    assert tab.state["step"] == step < 99999999
    assert chip(tab) == ""


@ONLY_CHROMIUM  # a screenshot in Firefox adds a style, which the page refuses
def test_the_stage_is_not_black_before_the_first_state_is_there(
    browser: Any, files: dict[str, Path]
) -> None:
    never = "globalThis.Worker = class { postMessage() {} terminate() {} }"
    tab = Tab(browser, files["rgb"], before=never, color_scheme="light")
    tab.page.wait_for_timeout(1500)
    assert tab.ask("!app && document.querySelector('#waiting') === null")
    shown = Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB")
    assert shown.getpixel((500, 300)) == (255, 255, 255)
    tab.close()


def test_a_rate_that_is_too_large_is_told_with_what_helps(opened: Opens) -> None:
    tab = opened()
    tab.enter("#rate-number", "1e30")
    tab.page.locator("#caption h2").click()
    tab.press("ArrowRight")
    assert chip(tab) == text("page.growing")
