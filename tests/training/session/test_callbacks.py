"""Callbacks: called once a step, with a view; what they change is journalled and done again."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.callbacks import StepView
from tests.sessions import advanced
from tests.wording import refused

RNG = np.random.default_rng(7)
X = RNG.random((24, 2))
T = X[:, :1] * X[:, 1:]
ENGINES = ["python", "cpu"]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def session(engine: str = "python", **options: Any) -> sv.Session:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    table = data.Arrays(X, T, held_out=8)
    return sv.Session(net, table, "mse", sv.SGD(0.1), batch=4, engine=engine, **options)


def bits(s: sv.Session) -> tuple[bytes, bytes]:
    return s.network.bank.value.tobytes(), s.losses.tobytes()


@every_engine
def test_a_callback_is_called_on_arrival_at_every_some_steps(engine: str) -> None:
    s, seen = session(engine), []
    s.on_step(lambda view: seen.append((view.step, view.loss, view.values[3])), every=4)
    s.advance(10)
    other = session(engine)
    expected = []
    for step in (4, 8):
        other.seek(step)
        expected.append((step, other.losses[step - 1], other.network.bank.value[3]))
    assert seen == expected
    other.seek(10)
    assert bits(s) == bits(other)  # only looking changes nothing


@every_engine
def test_what_it_changes_is_done_again_without_it(engine: str) -> None:
    s, calls = session(engine), []

    def tamper(view: StepView) -> None:
        calls.append(view.step)
        view.set_rate(view.learning_rate * 0.5)
        view.edit(1, 0.25)
        view.freeze(2)

    s.on_step(tamper, every=5)
    s.advance(12)
    first, rate = bits(s), s.learning_rate
    assert calls == [5, 10]
    assert rate == 0.025
    assert s.network.bank.frozen[2]
    by_hand = session(engine)
    for _ in range(2):
        by_hand.advance(5)
        by_hand.learning_rate = by_hand.learning_rate * 0.5
        by_hand.edit(1, 0.25)
        by_hand.freeze(2)
    by_hand.advance(2)
    assert bits(by_hand) == first
    s.seek(3)
    assert s.learning_rate == 0.1
    s.seek(12)
    s.back(1)
    s.advance(1)
    assert calls == [5, 10]
    assert (bits(s), s.learning_rate) == (first, rate)
    assert len(s.branches) == 1


@every_engine
def test_stop_ends_an_advance_there(engine: str) -> None:
    s = session(engine)
    s.on_step(lambda view: view.stop("enough") if view.step == 7 else None)
    s.advance(100)
    assert (s.step_index, s.stopped) == (7, "enough")
    s.advance(2)
    assert (s.step_index, s.stopped) == (9, "")
    s.reset()
    s.advance(1000, "operation")
    assert (s.step_index, s.done, s.stopped) == (7, "step", "enough")
    s.seek(20)  # not in this branch
    assert s.step_index == 20


@every_engine
def test_an_error_stops_the_training_and_names_the_function(engine: str) -> None:
    s = session(engine)

    def explode(view: StepView) -> None:
        view.set_rate(5.0)
        raise ZeroDivisionError("mine")

    s.on_step(explode, every=6)
    with pytest.raises(ZeroDivisionError, match="mine") as said:
        s.advance(10)
    text = "".join(traceback.format_exception(said.value))
    assert "in explode" in text
    assert "explode, called at step 6" in text
    assert s.step_index == 6
    assert s.learning_rate == 0.1  # what it asked for was not done
    s.advance(4)
    other = advanced(session(engine), 10)
    assert bits(s) == bits(other)


CALLS: dict[str, Callable[[sv.Session], Any]] = {
    "advance": lambda s: s.advance(1),
    "seek": lambda s: s.seek(0),
    "edit": lambda s: s.edit(0, 1.0),
    "a rate": lambda s: setattr(s, "learning_rate", 1.0),
    "save": lambda s: s.copy(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_cannot_call_what_moves_or_changes_the_session(call: Any) -> None:
    s = session()
    s.on_step(lambda view: call(s), every=3)
    with refused(OrderError):
        s.advance(5)
    assert (s.step_index, s.learning_rate) == (3, 0.1)
    assert s.branches[0].journal == []


@every_engine
def test_what_it_writes_into_weights_is_journalled(engine: str) -> None:
    s = session(engine)

    def write(view: StepView) -> None:
        s.network.bank.value[0] = 0.5

    s.on_step(write, every=4)
    s.advance(6)
    first = bits(s)
    s.seek(0)
    s.seek(6)
    assert bits(s) == first
    assert [action.kind for action in s.current_branch.journal] == ["edit"]


def test_its_view_is_read_only_and_ends_with_it() -> None:
    s, kept = session(metrics=["mae"], every=2), []
    s.on_step(kept.append, every=2)
    s.advance(2)
    (view,) = kept
    for array in (view.values, view.gradients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert list(view.metrics) == ["mae", "held_out_loss", "held_out_mae"]
    assert view.losses.tolist() == s.losses.tolist()
    for late in (lambda: view.set_rate(1.0), lambda: view.edit(0, 1.0), lambda: view.stop()):
        with refused(OrderError, "step 2"):
            late()


def test_its_changes_are_checked_at_once() -> None:
    s = session()
    for wrong in (
        lambda view: view.set_rate(-1.0),
        lambda view: view.edit(99, 1.0),
        lambda view: view.edit(0, np.nan),
        lambda view: view.stop(7),
    ):
        handle = s.on_step(wrong)
        with refused(InputError):
            s.advance(1)
        handle.remove()


def test_unsuitable_callbacks_are_refused() -> None:
    s = session()
    with refused(InputError, "7"):
        s.on_step(7)  # type: ignore[arg-type]  # that is tested
    with refused(InputError, "view"):
        s.on_step(lambda: None)  # type: ignore[arg-type, misc]  # that is tested
    with refused(InputError, "0"):
        s.on_step(print, every=0)


@every_engine
def test_callbacks_change_no_bit_and_looking_back_calls_none(engine: str) -> None:
    s, other, calls = session(engine), session(engine), []
    s.on_step(lambda view: calls.append(view.step), every=3)
    for each in (s, other):
        each.advance(7)
        each.numbers("affine 0")
        each.explain(0)
        each.advance(5)
    assert bits(s) == bits(other)
    assert calls == [3, 6, 9, 12]
