"""Guess first.

The rules, a question mark, an arrow, then the operation; the training is unchanged.
"""

import math
import re
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.pointer import Pointer
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.focus import chosen_neurons, chosen_rows
from scalarviz.scene.look import Look
from scalarviz.scene.marks import mark_of
from scalarviz.stage.stage import Stage
from scalarviz.story.guide import (
    OF_NUMBER,
    OF_STEP,
    GuessQuestion,
    can_guess,
    is_near,
    number_asked,
    question_of,
    way_of,
)
from scalarviz.training.session.reading import bank_now, facts_of
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import HANG, attended, chips_of, drag, shown, stage_of
from tests.sessions import advanced, bits, colours, session_on

SIZE = 800, 500
ASKED = "The weight from input x to neuron 2: will this weight go up or down?"


def session_of(optimizer: Any = None, **options: Any) -> sv.Session:
    return colours(data.Xor(), (2, 3, 1), optimizer=optimizer or sv.SGD(0.5), batch=None, **options)


@pytest.fixture
def session() -> sv.Session:
    return session_of()


@pytest.fixture
def controller(opened: Open, session: sv.Session) -> Any:
    return opened(session, Stage)


def words_of(controller: Controller) -> str:
    """The title of the caption."""
    caption = stage_of(controller).frame_data().words.caption
    return "" if caption is None else caption.title


def asked_about(controller: Controller, number: int) -> int:
    """The weight of the first question, of that about a gradient for 1, when it is asked."""
    controller.face.press("p")
    controller.face.attend()
    for _ in range(number):
        answer(controller, "Stays")
        controller.face.press("enter")
        controller.face.attend()
    return int(controller.stage.hidden.row)


def answer(controller: Controller, label: str) -> None:
    """Press the button of an arrow, and Show; see what came."""
    controller.face.attend()
    assert controller.stage.press(label)
    controller.face.attend()
    assert controller.stage.press("Show")
    controller.face.attend()


def test_the_weight_that_is_asked_about_is_marked_and_lit_alone(controller: Controller) -> None:
    row, stage = asked_about(controller, 1), stage_of(controller)
    stage.pin((row + 1) % 9)
    stage.hover_neuron = stage.plan.neurons[0].values, 0
    seen = stage.frame_data()
    assert chosen_rows(seen) == [row] and chosen_neurons(seen) == []
    assert seen.focus is not None and seen.focus.rows == {row}


def test_the_key_asks_before_the_step(controller: Controller, session: sv.Session) -> None:
    session.advance(2)
    assert not shown(controller, "guess").value
    assert controller.face.press("p")
    controller.face.attend()
    assert shown(controller, "guess").value
    assert session.clock.place == (2, len(session.operations) - 1)
    assert words_of(controller) == ASKED
    assert controller.stage.offered == ("Up", "Down", "Stays", "End")
    controller.face.press("p")
    assert not shown(controller, "guess").value and controller.stage.offered == ()
    assert words_of(controller) != ASKED


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_arrow_is_right_if_the_weight_goes_there(opened: Open, name: str) -> None:
    session, other = (session_of(sv.Optimizer(name, 0.05, l2=0.001)) for _ in range(2))
    controller = opened(session, Stage)
    right = 0
    for number in range(6):
        controller.face.press("enter" if number else "p")
        controller.face.attend()
        row = controller.stage.hidden.row
        place = session.clock.place
        before = session.network.bank.value[row]
        answer(controller, ("Up", "Positive")[number % 2])
        bank = session.network.bank
        change = bank.grad[row] if number % 2 else bank.value[row] - before
        right += change > 0.0
        assert controller.stage.guess.came == np.sign(change)
        assert controller.stage.guess.title.startswith(("Not ", "Right")[int(change > 0.0)])
        assert controller.stage.guess.title.endswith(f" {right} of {number + 1} right.")
        place = session.clock.place
        while other.clock.place != place:
            other.advance(1, "operation")
        assert bits(other) == bits(session)


def test_a_frozen_weight_stays(controller: Controller, session: sv.Session) -> None:
    session.freeze(4)
    controller.stage.pin(4)
    controller.face.press("p")
    answer(controller, "Stays")
    value = float(session.network.bank.value[4])
    assert controller.stage.guess.title == f"Right: it stays at {value:.2g}. 1 of 1 right."


def test_a_weight_of_a_dead_neuron_has_no_gradient(opened: Open) -> None:
    net = sv.Network([2, 3, 1], "relu", "sigmoid", seed=0)
    net.bank.value[:9] = -1.0
    controller = opened(sv.Session(net, data.Xor(), "mse", sv.SGD(0.5), engine="python"), Stage)
    controller.stage.pin(0)
    controller.face.press("p")
    answer(controller, "Stays")
    assert controller.stage.guess.title == "Right: it stays at -1. 1 of 1 right."
    controller.face.press("enter")
    controller.face.attend()
    assert controller.stage.offered == ("Positive", "Negative", "Zero", "End")
    answer(controller, "Zero")
    assert controller.stage.guess.title == "Right: the gradient is 0. 2 of 2 right."


def test_a_number_is_typed_behind_the_arrow(controller: Controller, session: sv.Session) -> None:
    session.advance(2)
    row = asked_about(controller, 0)
    camera = controller.stage.eyes.name
    assert controller.face.press("3")  # a side to look from, as ever
    assert controller.stage.eyes.name != camera
    controller.face.press("enter")  # there is no arrow yet
    assert controller.stage.hidden is not None and controller.stage.hidden.way is None
    controller.face.press("down")
    for key in ("-", "0", ",", ".", "7", "-", "8", "\b", "5"):
        assert controller.face.press(key)
    assert session.clock.place == (2, len(session.operations) - 1)
    assert controller.stage.hidden.typed == "-0.75"
    assert words_of(controller).endswith("What will it be? -0.75_")
    assert f"It is {float(session.network.bank.value[row]):.3g}." in words_of(controller)
    controller.face.press("enter")
    guess = controller.stage.guess
    is_down = guess.came == -1
    assert guess.title.startswith("Down is right, but not -0.75: " if is_down else "Not down: ")
    assert guess.title.endswith(" 0 of 1 right.")


@pytest.mark.parametrize("number", [0, 1])
def test_the_way_is_right_and_the_number_is_not(controller: Controller, number: int) -> None:
    row = asked_about(controller, number)
    twin = advanced(session_of(), number + 1)
    bank = twin.network.bank
    change = (bank.value - session_of().network.bank.value, bank.grad)[number][row]
    controller.face.press("up" if change > 0.0 else "down")
    for key in "77":
        controller.face.press(key)
    controller.face.press("enter")
    guess = controller.stage.guess
    assert guess.title.startswith(f"{guess.label} is right, but not 77: ")
    assert guess.label in ("Up", "Down", "Positive", "Negative")
    assert guess.title.endswith(f" 0 of {number + 1} right.")


def test_a_number_that_is_right_counts(controller: Controller, session: sv.Session) -> None:
    row = asked_about(controller, 0)
    twin = advanced(session_of())
    before, after = (float(x.network.bank.value[row]) for x in (session, twin))
    controller.face.press("up" if after > before else "down")
    for key in f"{after:.4f}":
        controller.face.press(key)
    controller.face.press("enter")
    assert controller.stage.guess.title.startswith("Right: it went from ")
    assert controller.stage.guess.title.endswith(". 1 of 1 right.")


def test_the_caption_gives_the_reason(controller: Controller) -> None:
    asked_about(controller, 0)
    assert stage_of(controller).frame_data().words.caption.lines == ()
    answer(controller, "Up")
    stage_of(controller).tick(10.0)
    caption = stage_of(controller).frame_data().words.caption
    assert caption.title == controller.stage.guess.title
    assert caption.rows == (controller.stage.guess.row,) and " = " in caption.numbers[0]


def all_words(controller: Controller, studio: Any) -> str:
    stage = stage_of(controller)
    for now in (10.0, 20.0, 30.0):
        controller.face.attend()
        studio.stage(stage, now, SIZE)
    return "\n".join(stage.picture().words)


def tells(words: str, number: float) -> bool:
    """Whether a number is among words, with three digits or more."""
    return any(
        len(each.lstrip("-0.").replace(".", "")) >= 3
        and abs(abs(float(each)) - abs(number)) <= 0.002 * abs(number)
        for each in re.findall(r"-?\d*\.\d+", words.replace("−", "-"))
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("shows", ["pinned", "hovered", "colours"])
def test_the_answer_is_nowhere_before_it_is_given(
    opened: Open, studio: Any, number: int, shows: str
) -> None:
    session = session_on(data.Circle(), [2, 3, 1], "tanh", optimizer=sv.Adam(0.1), batch=1)
    session.advance(3)
    controller = opened(session, Stage)
    stage = stage_of(controller)
    row = 4
    if shows == "pinned":
        stage.pin(row)
    if shows == "colours":
        controller.face.take("color", stage.channels[-1])
        controller.face.take("cubes", "gradient")
    controller.face.press("p")
    for _ in range(number):
        answer(controller, "Up")
        controller.face.press("enter")
        controller.face.attend()
    row = stage.hidden.row
    if shows == "hovered":
        stage.walking, stage.hover = True, row
    before = all_words(controller, studio)
    seen = stage.frame_data()
    assert seen.cubes.colors[row] == seen.cubes.sizes[row] == 0.0
    assert seen.cubes.pushes is None  # those of others tell much
    answer(controller, "Positive" if number else "Up")
    bank = session.network.bank
    came = float((bank.grad if number else bank.value)[row])
    assert stage.guess.result in all_words(controller, studio).replace("−", "-").split("\n")
    assert not tells(before, came)
    assert "?" in before.split("\n")


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", list(THEMES))
def test_a_question_mark_then_guess_and_answer_are_seen(
    opened: Open, session: sv.Session, studio: Any, theme: str
) -> None:
    session.advance(2)
    controller = opened(session, Stage(session, Look(theme=theme)))
    stage = stage_of(controller)
    controller.face.press("p")
    assert all_words(controller, studio).split("\n").count("?") == 1
    x, y = stage.place_of(stage.hidden.row)
    push = np.array([int(THEMES[theme].push[i : i + 2], 16) for i in (1, 3, 5)])
    across = slice(int(x) - 70, int(x) + 70)
    above, below = (
        (slice(int(y) - 50, int(y) - 15), across),
        (slice(int(y) + 15, int(y) + 50), across),
    )

    def count() -> list[int]:
        near = np.abs(studio.stage(stage, 40.0, SIZE) - push).max(axis=-1) < 4
        return [int(near[part].sum()) for part in (above, below)]

    before = count()
    controller.face.press("up")
    asked = count()
    assert asked[0] > before[0] + 20 and asked[1] == before[1]
    assert text("guess.up.value") in all_words(controller, studio).split("\n")
    controller.face.press("enter")
    assert "?" not in all_words(controller, studio).split("\n")
    assert count()[1] > before[1] + 20


def pull(pointer: Pointer, x: float, y: float, up: float) -> None:
    drag(pointer, (x, y), (x, y - up / 2.0), (x, y - up))


def test_a_drag_around_the_cube_is_the_arrow(
    controller: Controller, session: sv.Session, studio: Any
) -> None:
    session.advance(2)
    stage, pointer = stage_of(controller), Pointer(controller.face)
    controller.face.press("p")
    all_words(controller, studio)
    x, y = (float(each) for each in stage.place_of(stage.hidden.row))
    camera, numbers = stage.eyes.camera, bits(session)
    beside = tuple(float(each) for each in stage.place_of(stage.hidden.row + 1))
    for place, up, way in (((x, y), 40.0, 1), (beside, -40.0, -1)):
        pull(pointer, *place, up)
        assert stage.hidden is not None and stage.hidden.way == way
    assert stage.eyes.camera == camera and bits(session) == numbers
    assert chips_of(controller) == []
    pull(pointer, x - 150.0, y, 40.0)
    assert stage.eyes.camera != camera and stage.hidden.way == -1


@pytest.mark.slow
def test_no_cube_is_dragged_while_it_asks(
    controller: Controller, session: sv.Session, studio: Any
) -> None:
    asked_about(controller, 0)
    stage, numbers = stage_of(controller), bits(session)
    for row in range(13):
        all_words(controller, studio)
        pull(Pointer(controller.face), *stage.place_of(row).tolist(), 40.0)
    assert bits(session) == numbers and stage.hidden is not None
    controller.face.press("escape")
    all_words(controller, studio)
    pull(Pointer(controller.face), *stage.place_of(5).tolist(), 40.0)
    assert bits(session) != numbers


@pytest.mark.some(1)
@pytest.mark.parametrize("zoom", [1.0, 12.0])
def test_a_drag_begins_on_the_arrow_that_is_drawn(
    controller: Controller, studio: Any, zoom: float
) -> None:
    asked_about(controller, 0)
    stage = stage_of(controller)
    all_words(controller, studio)
    stage.eyes.zoom(zoom, 400.0, 200.0)
    all_words(controller, studio)
    seen = stage.frame_data()
    x, y, away = mark_of(seen, stage._see(seen), stage.hidden, seen.division(*SIZE).scale)
    for place, up in (((x, y - 40.0), 30.0), ((x + away, y), -30.0)):
        pull(Pointer(controller.face), *place, up)
        assert stage.hidden.way == np.sign(up)


def test_the_guess_of_a_gradient_is_told_in_words(controller: Controller, studio: Any) -> None:
    asked_about(controller, 0)
    stage = stage_of(controller)

    def said() -> list[str]:
        lines = all_words(controller, studio).split("\n")
        buttons = ["Positive"] if stage.hidden is not None else []
        return [each for each in ("⇅", "Positive") if lines.count(each) > buttons.count(each)]

    assert said() == ["⇅"]
    controller.face.press("escape")
    asked_about(controller, 1)
    assert said() == ["⇅"]
    controller.face.press("up")
    assert said() == ["Positive"]
    controller.face.press("enter")
    assert said() == ["Positive"] and stage.guess.result in all_words(controller, studio)


@pytest.mark.parametrize(
    ("act", "end"),
    [
        (lambda controller: controller.face.press("left"), ""),
        (lambda controller: controller.face.press("right"), ""),
        (lambda controller: controller.face.press("z"), ""),
        (lambda controller: controller.time.seek(1), ""),
        (lambda controller: controller.edit(0, 0.5), ""),
        (lambda controller: controller.face.press("space"), "said"),
        (lambda controller: controller.face.press("escape"), "asked for"),
        (lambda controller: controller.face.press("p"), "asked for"),
        (lambda controller: controller.face.press("o"), "said"),
        (lambda controller: controller.guide.show_tour(), "said"),
    ],
    ids=["back", "on", "undo", "seek", "edit", "play", "escape", "off", "own input", "tour"],
)
def test_what_moves_time_ends_the_question_and_counts_nothing(
    controller: Controller, session: sv.Session, act: Any, end: str
) -> None:
    session.advance(3)
    session.edit(1, 0.25)
    session.advance(1)
    controller.stage.frame_data()
    asked_about(controller, 0)
    assert controller.stage.hidden is not None
    act(controller)
    controller.face.attend()
    assert controller.stage.guess is None and controller.guessing.on == (end == "")
    assert controller.guessing.asked == 0
    assert (controller.message == text("guess.over")) == (end == "said")
    if not end:
        assert controller.stage.offered == ("Next", "End")
        controller.face.press("enter")
        assert controller.stage.hidden is not None
    else:
        assert "End" not in controller.stage.offered


def test_without_layers_or_with_all_frozen_it_says_so(opened: Open, session: sv.Session) -> None:
    session.freeze(range(13))
    for found in (sv.Value(0.5) * 2.0, session):
        controller = opened(found, Stage)
        assert not shown(controller, "guess").enabled
        controller.face.press("p")
        words = "Guessing needs a network of layers that are not frozen."
        assert words in chips_of(controller) and shown(controller, "guess").about == words
        assert not controller.guessing.on and controller.session.clock.place == (0, 0)


def test_nothing_is_asked_where_the_training_stops_on_the_way(
    controller: Controller, session: sv.Session
) -> None:
    controller.face.press("p")
    answer(controller, "Up")
    session.stop_when("loss > 0")
    session.advance(len(session.operations) - 1, "operation")  # beyond the gradients
    controller.face.press("enter")
    controller.face.attend()
    assert session.clock.place == (2, 0) and controller.stage.guess is None
    assert controller.stage.offered == ("Next", "End")
    controller.face.press("enter")
    assert controller.stage.hidden is not None


def test_a_window_that_stands_is_drawn_anew(controller: Controller) -> None:
    seen = [controller.face.state]
    for key in ("p", "up", "down", "7", "enter"):
        controller.face.press(key)
        controller.face.attend()
        seen.append(controller.face.state)
    assert all(before != after for before, after in pairwise(seen))


def test_show_shows_once_however_long_it_takes(controller: Controller, session: sv.Session) -> None:
    controller.face.press("p")
    controller.face.press("up")
    gate = threading.Event()
    controller.hand.patience = 0.0
    controller.hand.do(lambda: gate.wait(HANG), lambda *_: None)
    for _ in range(3):
        controller.face.press("enter")
        controller.face.press("down")
        controller.face.attend()
    gate.set()
    attended(controller, lambda: not controller.hand.busy)
    assert session.clock.place == (1, 0) and controller.guessing.asked == 1
    assert controller.stage.guess.result is not None and controller.stage.guess.way == 1


@pytest.mark.parametrize(
    ("old", "new", "way"),
    [
        (0.5, 0.6, 1),
        (0.5, -0.6, -1),
        (0.5, 0.5, 0),
        (0.0, 0.0, 0),
        (1.0, 1.0 + 1e-13, 0),
        (0.0, 1e-13, 1),
        (0.0, -1e-300, -1),
        (0.5, math.nan, None),
    ],
)
def test_a_number_goes_up_or_down_or_stays(old: float, new: float, way: int | None) -> None:
    assert way_of(old, new) == way


@pytest.mark.parametrize(
    ("typed", "old", "new", "near"),
    [
        ("0.3", 0.2, 0.309, True),  # within a tenth of the change
        ("0.3", 0.2, 0.32, False),
        ("0.24", 0.242, 0.2397, True),  # to the digits typed
        ("0.2", 0.242, 0.2397, False),  # one digit is too few for that
        ("-0.67", -0.674, -0.672, True),
        ("0.67", -0.674, -0.672, False),
        ("0.5", 0.5, 0.5, True),
        ("0", 0.0, 0.0, True),
        ("0", 0.0, 0.01, False),
        (".0105", 0.0, 0.01, True),
        ("0.0115", 0.0, 0.01, False),
        ("-.5", 0.0, math.nan, False),
    ],
)
def test_a_number_is_near_by_a_tenth_or_by_its_digits(
    typed: str, old: float, new: float, near: bool
) -> None:
    assert is_near(typed, old, new) == near


def test_questions_are_about_a_value_and_a_gradient_by_turns() -> None:
    session = session_of()
    for step in range(3):
        for number in range(4):
            question = question_of(facts_of(session), bank_now(session), number, None)
            assert question.row == (step * OF_STEP + number * OF_NUMBER) % 13
            before = session.operations[question.at]
            layer = int(question.row >= 9)
            assert before == (f"weight gradient {layer}" if number % 2 else "step")
            assert question.kind == ("gradient" if number % 2 else "value")
        session.advance()


def test_a_question_is_about_the_pinned_weight_else_about_one_that_moves() -> None:
    session = session_of()
    session.freeze(range(12))
    assert can_guess(facts_of(session), bank_now(session))
    assert {
        question_of(facts_of(session), bank_now(session), number, None).row for number in range(9)
    } == {12}
    assert {
        question_of(facts_of(session), bank_now(session), number, 3).row for number in range(9)
    } == {3}
    session.freeze(12)
    assert not can_guess(facts_of(session), bank_now(session))


def test_the_gradient_of_a_shared_weight_is_asked_about_before_its_last_sum() -> None:
    shared = sv.Dense(2, 2, "tanh")
    session = session_on(
        data.Xor(), [shared, shared, sv.Dense(2, 1, "sigmoid")], optimizer=sv.SGD(0.5)
    )
    question = question_of(facts_of(session), bank_now(session), 1, 0)
    assert session.operations[question.at] == "weight gradient 0"
    session.advance(question.at + 1, "operation")
    grad = number_asked(question, bank_now(session))
    session.advance(1)
    assert grad == float(session.network.bank.grad[0]) != 0.0
    assert np.isfinite(number_asked(GuessQuestion("value", 0, 0), bank_now(session)))
