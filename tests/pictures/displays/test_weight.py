"""The card of a weight: numbers and arithmetic; displaying changes nothing."""

import threading
import time
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.scene.canvas.palette import contrast, rgb
from scalarviz.stage.displays.svg import SvgDrawing, width_of
from scalarviz.stage.displays.weight_display import CELL, cell, color_of, ink_on, scale_of
from tests.pictures.displays.drawn import Drawn
from tests.sessions import advanced

ENGINES = ["python", "cpu"]


def draw(weight: sv.Weight) -> Drawn:
    return Drawn(weight._repr_html_())


def session(engine: str = "python", optimizer: sv.Optimizer | None = None) -> sv.Session:
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(net, data.Rgb(levels=4), "mse", optimizer or sv.Adam(0.1), 8, engine)


def state(s: sv.Session) -> list[Any]:
    """Everything that a user could see of a session and its numbers."""
    bank = s.network.bank
    arrays = [bank.value, bank.grad, bank.frozen, bank.scaling, bank._moved, bank._cleared]
    arrays += [bank.slots[name] for name in sorted(bank.slots)]
    waiting = [list(weight._inputs) for weight in s.network.parameters()]
    journals = [(each.number, len(each.journal), each.end) for each in s.branches]
    return [
        *[array.tobytes() for array in arrays],
        *(bank.step_count, bank.has_gradients, waiting, s.clock, journals),
        *(s.current_branch.number, s.loss, s.losses.tobytes(), s.learning_rate, s.done, s.next),
    ]


def test_it_shows_name_value_and_gradient() -> None:
    w = sv.Network([3, 8, 3], seed=0).layers[0].perceptrons[2].weights[1]
    w.value, w.grad = -0.25, 6.5
    drawn = draw(w)
    texts = drawn.texts
    assert texts[:4] == ["−0.25", "layer 0, perceptron 2, weight from input 1", "grad", "6.5"]
    assert "frozen" not in texts
    _, _, grad, number = (float(each.attrib["x"]) for each in drawn.all("text")[:4])
    assert number > grad + width_of("grad")


def test_a_frozen_weight_says_so() -> None:
    w = sv.Weight(1.0)
    w.freeze()
    assert "frozen" in draw(w).texts and "frozen" in draw(w).words


def test_it_shows_the_arithmetic_of_what_waits_for_a_backward() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    texts = draw(w).texts
    assert "= w x = 0.5 · 3 = 1.5" in texts
    assert "1 input waits for a backward" in texts
    assert w.unmatched == 1
    w.backward(1.0)
    assert "y = w x; it keeps no input for a backward" in draw(w).texts


def test_of_many_inputs_the_newest_come_first() -> None:
    w = sv.Weight(2.0)
    for x in range(10):
        w.forward(float(x))
    texts = draw(w).texts
    products = [text for text in texts if text.startswith("= w x")]
    assert products == [f"= w x = 2 · {x} = {2 * x}" for x in (9, 8, 7)]
    assert "… 7 more" in texts
    assert "10 inputs wait for a backward; the next is x = 9" in texts


@pytest.mark.parametrize("engine", ENGINES)
def test_a_training_that_was_looked_at_goes_on_as_one_that_was_not(engine: str) -> None:
    looked, other = session(engine), session(engine)
    for unit in ("step", "operation", "operation", "phase", "step", "step", "operation"):
        looked.advance(1, unit)  # type: ignore[arg-type]  # one of the units
        other.advance(1, unit)  # type: ignore[arg-type]  # one of the units
        looked.network.weight(3)._repr_html_()
    looked.advance(20)
    other.advance(20)
    assert state(looked) == state(other)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_user_has_under_way_stays(engine: str) -> None:
    s = advanced(session(engine), 3)
    net, x = s.network, np.full((2, 3), 0.5)
    net.zero_grad()
    net.forward(x)
    net.backward()
    net.forward(x)
    before = state(s)
    draw(net.weight(0))
    assert state(s) == before
    first = net.backward()  # the forward still waits for it
    net.forward(x)
    assert np.array_equal(first, net.backward())


def test_what_was_written_past_the_session_is_not_taken_down_by_looking() -> None:
    s = advanced(session(), 3)
    s.seek(2)
    w = s.network.weight(0)
    w.value = 0.5
    before = state(s)
    drawn = draw(w)
    assert state(s) == before and len(s.branches) == 1
    assert drawn.texts[0] == "0.5" and "past its session" in drawn.words


def test_a_step_that_was_left_in_the_middle_keeps_its_inputs() -> None:
    s = advanced(session(), 2)
    s.advance(4, "operation")
    s.seek(1)
    before = state(s)
    assert "left a step in the middle" in draw(s.network.weight(0)).words
    assert state(s) == before


def test_a_session_that_plays_is_not_held_up() -> None:
    s = advanced(session("cpu"), 1)
    s.play()
    try:
        start, step = time.perf_counter(), s.step_index
        drawn = [draw(s.network.weight(3)) for _ in range(20)]
        assert time.perf_counter() - start < 2.0
        assert s.playing
        while s.step_index == step:
            assert time.perf_counter() - start < 10.0
    finally:
        s.pause()
    assert all("Its session is playing" in each.words for each in drawn)
    assert "The step from" in draw(s.network.weight(3)).words


def test_a_session_that_is_at_work_in_another_thread_is_not_waited_for() -> None:
    s = advanced(session(), 1)
    taken, done = threading.Event(), threading.Event()

    def work() -> None:
        with s.doing():
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    taken.wait()
    try:
        assert "at work" in draw(s.network.weight(0)).words
    finally:
        done.set()
        thread.join()


def test_a_long_step_of_objects_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sv.Session, "explain", lambda *_: pytest.fail("it is done again"))
    net = sv.Network([100, 100, 1])
    s = sv.Session(net, (np.ones((100, 100)), np.ones((100, 1))), engine="python")
    s.timeline.clock = type(s.timeline.clock)(1)  # as if a step were done
    assert "takes long" in draw(net.weight(0)).words


def test_a_parameter_of_a_compiled_function_has_no_sum_of_products() -> None:
    net = sv.Network([1, 1])
    w = net.weight(0)
    f = sv.compile(lambda x: w * x, inputs=1, dtype="float32", engine="python")
    s = sv.Session(f, ([[1.0], [2.0]], [[2.0], [4.0]]), "mse", sv.SGD(0.1), engine="python")
    s.advance(2)
    drawn = draw(w)
    assert "The step from 1 to 2" in drawn.texts and "w − lr · g" in " ".join(drawn.texts)


def test_a_few_of_many_are_beyond_the_scale_of_colors() -> None:
    values = np.ones(1000)
    values[0] = 50.0
    assert scale_of(values) == pytest.approx(1.0)


@pytest.mark.parametrize("x", np.linspace(-1, 1, 21))
def test_the_number_on_its_cell_can_be_read(x: float) -> None:
    color = color_of(x, 1.0)
    assert contrast(rgb((color,)), rgb((ink_on(color),)))[0] > 4.5


@pytest.mark.parametrize("number", [-1.23456e-5, -0.0123456, 123456.789, np.inf, np.nan])
def test_a_number_stays_inside_its_cell(number: float) -> None:
    drawing = SvgDrawing()
    cell(drawing, number, 1.0)
    assert drawing.right == CELL[0]


def test_text_can_be_read() -> None:
    s = advanced(session(), 1)
    assert min(draw(s.network.weight(0)).sizes()) >= 11
