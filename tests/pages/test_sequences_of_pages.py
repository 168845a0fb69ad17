"""A page draws a network that reads a sequence as a window does, and chooses the same things."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.data.written_names import write_names
from scalarviz.pages.scene_data import scene_data
from scalarviz.scene.canvas.canvas2d import COLUMNS
from scalarviz.scene.layout.sequence_places import Choice
from scalarviz.scenes import names
from scalarviz.stage.show import Show
from tests.pages.browser import Tab
from tests.pages.node import InPage
from tests.pages.states import Walk, compare, expected
from tests.pages.test_same_drawing import Asked, assert_same, by_words, pages, window
from tests.scene.sequences import reading

CHOICES = Choice(), Choice(0), Choice(5, 3), Choice(head=2), Choice(neuron=40), Choice(heat=0.5)


@pytest.mark.parametrize("look", [{}, {"theme": "light"}], ids=str)
def test_a_page_draws_a_sequence_as_a_window_does(look: dict[str, Any]) -> None:
    show = Show(reading(engine="cpu"))
    drawn, states = [], []
    for choice in CHOICES:
        canvas, stage, state = window(show, Asked(look=look), choice=choice)
        state["options"]["choice"] = choice.__dict__
        drawn.append(canvas)
        states.append(state)
    for canvas, theirs in zip(drawn, pages(show, stage, states), strict=True):
        rows, said = canvas.drawn
        texts = sorted((tuple(given) for given in theirs["texts"]), key=by_words)
        said = sorted(said, key=by_words)
        assert [each[2:] for each in texts] == [each[2:] for each in said]
        places = [np.array([each[:2] for each in both]) for both in (texts, said)]
        np.testing.assert_allclose(*places, atol=0.0101)
        assert_same(rows, np.array(theirs["rows"], np.float64).reshape(-1, COLUMNS))


@pytest.mark.parametrize("operation", [20, 31, 34])
def test_a_page_draws_slopes_that_come_back_as_a_window_does(operation: int) -> None:
    session = reading(engine="cpu")
    session.advance(operation, "operation")
    show = Show(session)
    canvas, stage, state = window(show, Asked(operation), choice=Choice(2))
    state["options"]["choice"] = Choice(2).__dict__
    [theirs] = pages(show, stage, [state])
    rows, said = canvas.drawn
    texts = sorted((tuple(given) for given in theirs["texts"]), key=by_words)
    assert [each[2:] for each in texts] == [each[2:] for each in sorted(said, key=by_words)]
    assert_same(rows, np.array(theirs["rows"], np.float64).reshape(-1, COLUMNS))


def test_captions_of_a_sequence_are_those_of_python(tmp_path: Path) -> None:
    session = reading()
    asked: list[dict[str, Any]] = [{}, {"neuron": ["inputs", 1]}, {"row": 700}]
    every, states, wanted = [("caption", each) for each in asked], [], []
    for state in islice(Walk(session).states(), len(session.operations) - 1):
        states.append({"state": state, "asked": every})
        wanted.append([expected(session, state, *each) for each in every])
    compare(session, states, wanted, tmp_path)
    titles = {each["title"] for moment in wanted for each in moment}
    assert not [each for each in titles if "filter" in each or "map" in each]


def test_a_page_knows_the_layout_and_the_scale_of_a_sequence() -> None:
    data = scene_data(Show(reading(engine="cpu")))
    assert data["usual"] == 0.3
    assert all(each["sequence"]["rows"]["letters"] == 0 for each in data["layouts"])


def test_names_are_a_function_of_weights_random_numbers_and_temperature(tmp_path: Path) -> None:
    session = names.scene(engine="cpu", hidden=8).session
    session.advance(300)
    learned: Any = session.data
    random = learned.random_numbers(4, seed=5)
    page = InPage(session, tmp_path)
    asked = {"random": random.tolist(), "signs": learned.letters}
    body = f"""
        const shared = client(), found = [];
        for (const heat of [0.7, 2, 0.7])
          found.push((await shared.ask("names", {{ ...{json.dumps(asked)}, heat }})).names);
        return found;
    """
    found = page.run(body)
    assert found[0] == found[2] != found[1]
    for written, heat in zip(found, (0.7, 2.0, 0.7), strict=True):
        assert [each["letters"] for each in written] == learned.write(
            session.network, 4, heat, seed=5
        )
        ask = partial(answers, session.network, learned.places)
        expected = write_names(ask, random.tolist(), learned.letters, {*learned.names}, heat)
        for theirs, ours in zip(written, expected, strict=True):
            np.testing.assert_allclose(theirs["chances"], ours.chances, rtol=1e-5)
            assert theirs["is_known"] == ours.is_known


def answers(network: sv.Network, places: int, rows: list[float]) -> Any:
    """Return the outputs for the inputs of several names."""
    return np.asarray(network(np.reshape(rows, (-1, places)))).ravel()


@pytest.mark.slow
@pytest.mark.page("names", (1280, 800))
def test_a_page_writes_names_and_goes_on_from_letters_and_bars(tab: Tab) -> None:
    tab.until("scalarviz.writing.seen?.names.length === 10")
    tab.ask("scalarviz.writing.write('Ma1r')")
    tab.until("scalarviz.state.own === true && scalarviz.choice.place === 3")
    assert tab.ask("scalarviz.writing.field.value") == "mar"
    assert tab.ask("Array.from(scalarviz.state.inputs).slice(0, 5)") == [0, 13, 1, 18, -1]
    tab.ask("scalarviz.takeChoice({ ...scalarviz.choice, letter: 9 })")
    assert tab.ask("scalarviz.writing.field.value") == "mari"
    tab.ask("scalarviz.writing.write('abcdefghijklmnopq')")
    assert tab.ask("scalarviz.writing.field.value") == "abcdefghijklmno"
    tab.ask("scalarviz.writing.write('')")
    tab.until("!scalarviz.state.own")
    assert tab.ask("scalarviz.choice.heat") == 1
    tab.page.locator(".writing [type=range]").fill("0.2")
    tab.until("scalarviz.writing.seen.heat === 0.2 && scalarviz.choice.heat === 0.2")
    tab.until("scalarviz.picture.words.some((each) => each.endsWith(', ÷ .2'))")


@pytest.mark.slow
@pytest.mark.page("names", (1280, 800), "")
def test_a_page_of_names_begins_with_three_cards_and_trains_when_asked(tab: Tab) -> None:
    for part, operation in {"letter": 2, "looks": 6, "scores": 16}.items():
        tab.until(f"app.state.operation === {operation} && app.frame === 0")
        assert tab.page.inner_text("#caption h2") == texts()[f"captions.tour.{part}"]
        assert tab.page.locator(".writing [type=search]").is_visible()
        tab.tap("{row: 2000}")  # which ends no card
        tab.page.click("#next")
    tab.until("app.state.operation === 0 && !app.tour")
    assert tab.state["step"] == 0 and not tab.ask("app.player.playing")
    tab.page.keyboard.press("Space")
    tab.until("app.state.step > 1 && app.player.film")


# Where a word is the last one of a text in the picture, in the window.
WHERE = """((word) => {
  const {left, top} = document.querySelector("#cubes").getBoundingClientRect();
  for (let y = 0; y < 600; y += 3)
    for (let x = 0; x < 1280; x += 3)
      if (app.picture.textAt(x, y).split(/[ ,:]+/).findLast(Boolean) === word)
        return [left + x, top + y];
})"""
CUBES = {"query": 690, "key": 754, "value": 818, "join": 1460, "wide": 1720, "narrow": 2740}


@pytest.mark.slow
@pytest.mark.page("names", (1280, 800))
def test_words_and_cubes_of_a_gpt_say_what_they_are_where_one_points_at_them(tab: Tab) -> None:
    tab.until("app.frame === 0 && Boolean(app.picture.textAt)")
    for name in [*CUBES, "norm"]:
        about = texts()[f"names.part.{name}"]
        places = [tab.ask(f"{WHERE}({about.partition(':')[0]!r})")]
        places += [tab.place_of(f"{{row: {CUBES[name]}}}")] if name in CUBES else []
        for place in places:
            tab.page.mouse.move(*place)
            tab.until(f"app.chip.words.textContent === {about!r} && !app.chip.element.hidden")
            tab.page.mouse.move(640, 790)  # outside of the picture
            tab.until("app.chip.element.hidden")


@pytest.mark.slow
@pytest.mark.page("names", (390, 844), has_touch=True)
def test_on_a_phone_the_same_picture_fits_and_two_fingers_enlarge_and_move_it(tab: Tab) -> None:
    ends = lambda: [tab.place_of(f"{{row: {row}}}")[0] for row in (0, 4191)]  # noqa: E731
    left, right = ends()
    assert 0.0 < left < 100.0 and 290.0 < right < 390.0
    fingers = tab.page.context.new_cdp_session(tab.page)

    def touch(kind: str, *across: float) -> None:
        points = [{"x": x, "y": 385.0, "id": number} for number, x in enumerate(across)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 180.0, 220.0)
    touch("touchMove", 160.0, 240.0)
    touch("touchEnd")
    tab.until("!document.getElementById('whole').hidden")
    larger = ends()
    assert larger[1] - larger[0] == pytest.approx(2.0 * (right - left), rel=0.1)
    touch("touchStart", 180.0, 220.0)
    touch("touchMove", 130.0, 170.0)
    touch("touchEnd")
    assert [after - before for after, before in zip(ends(), larger, strict=True)] == pytest.approx(
        [-50.0, -50.0], abs=2.0
    )
    assert not tab.ask("scalarviz.picture.eyes.is_turned")
