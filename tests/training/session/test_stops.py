"""Conditions that stop a training.

Quantities, plateaus, first times, numbers that are not finite.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.errors import GradientError, InputError, OrderError, ShapeError, UnknownNameError
from scalarviz.files.runs import restore_marks
from scalarviz.training.session.callbacks import ConditionView
from scalarviz.training.session.conditions import PREDICATES, QUANTITIES, STATES, one_clause
from scalarviz.training.session.stops import PastNumbers, Seen
from tests.sessions import advanced, bits, both_engines, reloaded, session_on
from tests.wording import refused

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
T = 0.5 + 0.4 * np.tanh(X[:, :1] * X[:, 1:])
STEPS = 80


def session(engine: str = "python", **options: Any) -> sv.Session:
    table = data.Arrays(X, T, held_out=8)
    given: dict[str, Any] = {"optimizer": sv.SGD(0.2), "batch": 4, "seed": 2} | options
    return session_on(table, [2, 3, 1], "relu", first=1, engine=engine, **given)


class Arrival(NamedTuple):
    """What there is on arrival at a step."""

    loss: float
    value: FloatArray
    grad: FloatArray


def arrivals(engine: str) -> list[Arrival]:
    s, found = session(engine), []
    for step in range(STEPS + 1):
        s.seek(step)
        bank = s.network.bank
        found.append(Arrival(s.loss, bank.value.copy(), bank.grad.copy()))
    return found


def norm(grad: FloatArray) -> float:
    return float(np.sqrt((grad.astype(np.float64) ** 2).sum()))


def smallest(past: list[Arrival]) -> float:
    return float(np.nanmin([each.loss for each in past]))


# A condition, and whether it is so after a past of arrivals, the last one included.
SO: dict[str, Callable[[list[Arrival]], bool]] = {
    "loss < 0.004": lambda past: past[-1].loss < 0.004,
    "loss > 0.08": lambda past: past[-1].loss > 0.08,
    "loss rises 3x": lambda past: len(past) > 2 and past[-1].loss > 3 * smallest(past[:-1]),
    "loss falls 30x": lambda past: (
        len(past) > 2 and 30 * past[-1].loss < max(each.loss for each in past[1:-1])
    ),
    "grad norm > 0.6": lambda past: norm(past[-1].grad) > 0.6,
    "grad norm < 0.05": lambda past: norm(past[-1].grad) < 0.05,
    "grad norm rises 12x": lambda past: (
        len(past) > 2 and norm(past[-1].grad) > 12 * min(norm(each.grad) for each in past[1:-1])
    ),
    "grad norm falls 40x": lambda past: (
        len(past) > 2 and 40 * norm(past[-1].grad) < max(norm(each.grad) for each in past[1:-1])
    ),
    "weight 1 rises 100x": lambda past: (
        abs(past[-1].value[1]) > 100 * min([abs(each.value[1]) for each in past[:-1]], default=1.0)
    ),
    "gradient 5 falls 1000x": lambda past: (
        len(past) > 2
        and 1000 * abs(past[-1].grad[5]) < max(abs(each.grad[5]) for each in past[1:-1])
    ),
    "weight 12 > 0.3": lambda past: past[-1].value[12] > 0.3,
    "gradient 4 < -0.01": lambda past: past[-1].grad[4] < -0.01,
}
CHANGES: dict[str, Callable[[Arrival], float]] = {
    "weight 1 changes sign": lambda now: now.value[1],
    "gradient 10 changes sign": lambda now: now.grad[10],
    "gradient 8 changes sign": lambda now: now.grad[8],
}


def stops_of(condition: str, past: list[Arrival]) -> list[int]:
    """The steps at which a condition holds anew, by the rules of this file alone."""
    if condition in CHANGES:
        signs = [CHANGES[condition](each) < 0 for each in past]
        first = 2 if condition.startswith("grad") else 1  # there is no gradient at step 0
        return [k for k in range(first, len(past)) if signs[k] != signs[k - 1]]
    so = [False] + [SO[condition](past[: k + 1]) for k in range(1, len(past))]
    return [k for k in range(1, len(so)) if so[k] and not so[k - 1]]


@pytest.mark.some(10)
@both_engines
@pytest.mark.parametrize("condition", [*SO, *CHANGES])
def test_it_stops_at_each_step_where_the_condition_holds_anew(engine: str, condition: str) -> None:
    past, s = arrivals(engine), session(engine)
    expected, found = stops_of(condition, past), []
    assert expected, "this condition shows nothing"
    s.stop_when(condition)
    while s.step_index < STEPS:
        s.advance(STEPS - s.step_index)
        if s.stopped:
            assert s.stopped.startswith(f"stopped at step {s.step_index}: {condition}")
            found.append(s.step_index)
    assert found == expected
    plain = session(engine)
    plain.seek(STEPS)
    assert bits(s) == bits(plain)


@both_engines
def test_where_it_stops_does_not_depend_on_how_it_goes(engine: str) -> None:
    s = session(engine)
    s.stop_when("loss rises 3x", "weight 1 changes sign")
    s.advance(STEPS)
    assert 0 < s.step_index < STEPS
    ways: list[tuple[Any, ...]] = [
        ("advance", 1), ("advance", 3), ("advance", 7), ("advance", 3, "operation"), ("play",),
        ("seek", STEPS),
    ]  # fmt: skip
    for name, *given in ways:
        other = session(engine)
        other.stop_when("weight 1 changes sign or loss rises 3x")
        while not other.stopped:
            getattr(other, name)(*given)
        other.pause()
        assert bits(other) == bits(s)
        assert other.stopped.partition(": ")[0] == s.stopped.partition(": ")[0]


@both_engines
def test_what_rises_is_compared_with_the_whole_past_however_one_comes_there(
    engine: str, tmp_path: Path
) -> None:
    condition = "grad norm rises 12x or gradient 5 falls 1000x"
    past = arrivals(engine)
    stops = sorted({k for each in condition.split(" or ") for k in stops_of(each, past)})
    last = next(k for k in stops[::-1] if k > stops[0] and not {k - 1, k - 2} & {*stops})
    s = session(engine)
    s.seek(last - 3)
    s.stop_when(condition)  # what was before is not known yet
    s.advance(STEPS)
    assert s.step_index == last and s.stopped
    why = s.stopped
    for steps in (1, 2):
        s.back(steps)
        s.advance(STEPS)
        assert (s.step_index, s.stopped) == (last, why)
    s.seek(0)
    s.seek(last - 1)
    s.advance(1)
    assert (s.step_index, s.stopped) == (last, why)
    s.back(1)
    for other in (s.copy(), reloaded(s, tmp_path)):
        other.advance(STEPS)
        assert (other.step_index, other.stopped) == (last, why)
    assert s.first(condition) == stops[0]
    s.stop_when("weight 12 falls 100x")
    s.edit(12, 0.0001)  # smaller than ever
    s.freeze(12)
    s.advance(STEPS)
    assert s.step_index == last and "weight 12 falls" in s.stopped


def test_a_metric_stops_where_it_is_measured() -> None:
    s = session(metrics=["mae", "loss"], every=5)
    s.stop_when("mae < 0.05")
    s.advance(STEPS)
    steps, values = s.metrics["mae"]
    assert s.stopped and steps[-1] == s.step_index
    assert values[-1] < 0.05 and (values[:-1] >= 0.05).all()
    s.stop_when("held-out loss falls 2x")
    assert s.stop_conditions == ["held-out loss falls 2x"]
    s.seek(0)
    s.stop_when("Held-out mae < 0.22")
    for _ in range(2):
        s.seek(0)
        s.advance(STEPS)
        assert s.step_index == 50 and "it is 0.2182" in s.stopped
        s.advance(STEPS)
        assert s.step_index == 70
    s.stop_when("held out loss > 1e9")
    s.advance(10)
    assert not s.stopped


def test_a_learning_rate_stops() -> None:
    s = session(optimizer=sv.SGD(0.2, schedule=sv.Schedule("step", every=10, factor=0.1)))
    s.stop_when("learning rate < 0.01")
    s.advance(STEPS)
    assert s.step_index == 20


@both_engines
def test_not_finite_stops_before_the_step_without_an_error(engine: str) -> None:
    s = session(engine, optimizer=sv.SGD(1e6))
    refused(GradientError).by(s.advance, STEPS)
    place, numbers = s.clock.place, bits(s)
    for unit in ("step", "operation"):
        other = session(engine, optimizer=sv.SGD(1e6))
        other.stop_when("not finite")
        while not other.stopped:
            other.advance(STEPS, unit)  # type: ignore[arg-type]  # one of two words
        assert other.clock.place == place and bits(other) == numbers
        assert f"step {place[0]}" in other.stopped
        assert other.first("not finite") == place[0]


def test_a_dead_neuron_stops() -> None:
    s = advanced(session(), 5)
    s.stop_when("a neuron is dead")
    s.advance(5)
    assert not s.stopped
    s.edit(s.network.layers[0].perceptrons[2].bias, -50.0)
    s.advance(5)
    assert s.step_index == 11 and "layer 0, perceptron 2" in s.stopped
    assert s.first("a neuron is dead") == 11


def test_a_dead_kernel_is_found_but_not_one_that_only_sleeps() -> None:
    picture = RNG.normal(size=(6, 16))
    net = sv.Network([sv.Conv2d((1, 4, 4), 2, activation="relu"), sv.Dense(8, 1)], seed=0)
    s = sv.Session(net, (picture, RNG.random((6, 1))), batch=1, engine="python")
    s.stop_when("a neuron is dead")
    s.advance(12)
    assert not s.stopped  # of one picture a kernel may well see nothing
    s.edit(net.layers[0].perceptrons[1].bias, -50.0)
    s.advance(3)
    assert "layer 0, kernel 1" in s.stopped


# ---- functions of the user's own -----------------------------------------------------------------


@both_engines
def test_an_own_function_sees_the_moment_and_stops(engine: str) -> None:
    seen: list[tuple[Any, ...]] = []

    def is_low(view: ConditionView) -> bool:
        seen.append((view.step, view.loss, view.values.tobytes(), view.outputs.shape))
        assert len(view.losses) == view.step and view.learning_rate == 0.2
        return view.loss < 0.004

    s = session(engine)
    s.stop_when(is_low)
    assert s.stop_conditions == ["own function is_low"]
    s.advance(STEPS)
    other = session(engine)
    other.stop_when("loss < 0.004")
    other.advance(STEPS)
    assert bits(s) == bits(other) and "own function is_low" in s.stopped
    assert [step for step, *_ in seen if step] == sorted({step for step, *_ in seen if step})
    assert all(shape == (4, 1) for *_, shape in seen)


def test_an_own_function_must_say_yes_or_no_and_change_nothing() -> None:
    s = advanced(session(), 5)

    def tampers(view: ConditionView) -> bool:
        s.network.bank.value[0] = 5.0
        return False

    def calls(view: ConditionView) -> bool:
        s.advance(1)
        return False

    def writes(view: ConditionView) -> bool:
        view.values[0] = 1.0
        return False

    plain = advanced(session(), 6)
    for function, kind in ((tampers, OrderError), (calls, OrderError), (writes, ValueError)):
        s.stop_when(function)
        refused(kind).by(s.advance, 1)
        assert bits(s) == bits(plain)
        s.seek(5)
    s.stop_when(lambda view: view.step)  # type: ignore[arg-type,return-value]  # on purpose
    refused(InputError, 6).by(s.advance, 1)
    refused(InputError, "lambda()").by(s.stop_when, lambda: True)


# ---- files, copies, networks that grow -----------------------------------------------------------


@both_engines
def test_a_saved_training_stops_where_it_would_have(engine: str, tmp_path: Path) -> None:
    s = advanced(session(engine, metrics=["mae"], every=7), 4)
    s.stop_when("weight 1 changes sign", "mae < 0.001", "loss falls 1e9x")
    s.advance(3)
    for other in (reloaded(s, tmp_path), s.copy()):
        assert other.stop_conditions == s.stop_conditions
        twin = session(engine)
        twin.stop_when("weight 1 changes sign")
        twin.advance(STEPS)
        other.advance(STEPS)
        assert bits(other) == bits(twin) and other.stopped == twin.stopped


@pytest.fixture
def s() -> sv.Session:
    return session()


def test_a_saved_training_and_a_copy_keep_their_marks(tmp_path: Path, s: sv.Session) -> None:
    s.stop_when("weight 1 changes sign", "loss < 0.004")
    s.advance(STEPS)
    s.first("loss < 0.01")
    s.stops.mark(s.current_branch, 3, "own \n text " * 200)
    s.back(5)
    s.edit(0, 0.5)
    s.advance(2)
    s.save(tmp_path / "run")
    marks = [(mark.branch.number, mark.step, mark.text) for mark in s.stops.marks]
    assert len(marks) > 2
    for other in (sv.Session.load(tmp_path / "run"), s.copy()):
        found = [(mark.branch.number, mark.step, mark.text) for mark in other.stops.marks]
        assert found[:-1] == marks[:-1] and found[-1][:2] == marks[-1][:2]
        assert other.stops.marks[0].branch is other.branches[0]
        assert other.stops.marks_of(other.current_branch)


@pytest.mark.parametrize(
    ("marks", "value"),
    [
        (3, "3"),
        ([[0, 5, "x"]] * 201, "201"),
        ([[0, 5]], "[0, 5]"),
        ([[0, 5, 7]], "[0, 5, 7]"),
        ([[7, 5, "x"]], "branch 7"),
        ([[0, 500, "x"]], "step 500"),
        ([[0, -5, "x"]], "-5"),
        ([[True, 5, "x"]], "True"),
    ],
)
def test_marks_that_cannot_be_are_refused(marks: Any, value: str) -> None:
    s = advanced(session(), 10)
    refused(InputError, value).by(restore_marks, s.timeline, {"marks": marks})
    assert not s.stops.marks


def test_a_file_says_which_functions_it_could_not_hold(tmp_path: Path, s: sv.Session) -> None:
    s.stop_when("loss < 0.004", lambda view: view.step == 3)
    s.save(tmp_path / "run")
    with pytest.warns(UserWarning, match="<lambda>"):
        other = sv.Session.load(tmp_path / "run")
    assert other.stop_conditions == ["loss < 0.004", "own function <lambda> (lost with its file)"]
    other.advance(STEPS)
    assert other.step_index > 3 and "loss" in other.stopped
    other.save(tmp_path / "again")
    with pytest.warns(UserWarning, match="<lambda>"):
        sv.Session.load(tmp_path / "again")


def test_a_network_that_grows_keeps_its_conditions_with_other_rows(s: sv.Session) -> None:
    s.stop_when("weight 9 changes sign", "weight 2 > 100", "loss < 0.004")
    wider = sv.add_neurons(s, 0)
    assert wider.stop_conditions == ["weight 12 changes sign", "weight 2 > 100", "loss < 0.004"]
    assert sv.remove_neuron(s, 0, 1).stop_conditions == ["weight 6 changes sign", "loss < 0.004"]


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ("gradient norm > 10", UnknownNameError, "grad norm"),
        ("los < 3", UnknownNameError, "'loss'"),
        ("not finit", UnknownNameError, "not finite"),
        ("grad norm", UnknownNameError, "grad norm"),
        ("__import__('os')", UnknownNameError, "__import__"),
        ("loss < nan", UnknownNameError, "nan"),
        ("loss < 0.1 or", UnknownNameError, "''"),
        ("weight > 3", InputError, "weight 7"),
        ("loss 7 > 3", UnknownNameError, "loss 7"),
        ("weight 13 > 3", ShapeError, 13),
        ("loss rises 0.5x", InputError, "0.5"),
        ("weight 7 > 1 and loss < 2", InputError, "and loss"),
        ("accuracy > 0.9", InputError, "accuracy"),
        ("held-out loss > 0.9", InputError, "loss"),
        ("", InputError, ""),
        (3, InputError, 3),
        ("loss < 1 " * 30, InputError, "200"),
    ],
)
def test_what_has_no_meaning_is_refused(
    given: Any, kind: type[Exception], value: object, s: sv.Session
) -> None:
    refused(kind, value).by(s.stop_when, "loss < 0.5", given)
    assert s.stop_conditions == [] and not s.current_branch.journal
    refused(kind, value).by(s.first, given)


def test_each_kind_of_condition_can_be_written_and_read_again() -> None:
    s = session(metrics=["mae"])
    for row in QUANTITIES.values():
        for predicate in PREDICATES.values():
            text = f"{row.name}{' 7' * row.has_row} {predicate.name.replace('NUMBER', '2.5')}"
            s.stop_when(text)
            assert s.stop_conditions == [text]
            s.stop_when(*s.stop_conditions)
            assert s.stop_conditions == [text]
    for name in STATES:
        s.stop_when(name)
        assert s.stop_conditions == [name]
    for number in ("0.123456789012345", "1e-300", "-3", "12345678"):
        s.stop_when(f"weight 7 < {number}")
        assert float(s.stop_conditions[0].rpartition(" ")[2]) == float(number)


PLATEAU_X = np.linspace(0.0, 1.0, 12).reshape(6, 2)
SCRIPT: list[float] = []  # what the metric `script` returns, one value a measurement


def script(predictions: Any, targets: Any) -> float:
    return SCRIPT.pop(0)


def session_of_values(values: list[float], engine: str = "python", every: int = 2) -> sv.Session:
    """A session whose metric `script` has these values at steps 2, 4, ..."""
    SCRIPT[:] = values + [0.0] * 100
    return sv.Session(
        sv.Network([2, 1], seed=0),
        (PLATEAU_X, PLATEAU_X[:, 0]),
        "mse",
        sv.SGD(0.1),
        engine=engine,
        metrics=[script],
        every=every,
    )


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_it_stops_when_no_value_was_better_for_a_while(engine: str) -> None:
    s = session_of_values([5.0, 4.0, 3.0, 3.5, 3.0, 3.2, 1.0], engine)
    s.on_step(sv.EarlyStopping("script", patience=3, mode="min"))
    s.advance(100)
    assert s.step_index == 12
    assert "script was best at step 6, 3," in s.stopped


def test_a_metric_that_is_undefined_is_not_called_the_best() -> None:
    s = session_of_values([float("nan")] * 9)
    s.on_step(sv.EarlyStopping("script", patience=3, mode="max"))
    s.advance(100)
    assert "script is undefined (nan)" in s.stopped and "best" not in s.stopped


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_plateau_lowers_the_rate_and_then_waits_anew(engine: str) -> None:
    s = session_of_values([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 4.0, 4.0], engine)
    s.on_step(sv.ReduceOnPlateau("script", factor=0.5, patience=2, mode="min"))
    rates = []
    for _ in range(8):
        s.advance(2)
        rates.append(s.learning_rate)
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.025, 0.025]
    value = s.network.bank.value.copy()
    s.seek(0)
    s.seek(16)
    assert s.learning_rate == 0.025
    np.testing.assert_array_equal(s.network.bank.value, value)
    assert len(s.branches) == 1


def test_the_rate_does_not_fall_below_its_limit() -> None:
    s = session_of_values([5.0] * 20)
    s.on_step(sv.ReduceOnPlateau("script", factor=0.1, patience=1, min_rate=0.02, mode="min"))
    s.advance(30)
    assert s.learning_rate == 0.02
    assert len(s.current_branch.journal) == 1


def worse_than_none(predictions: object, targets: object) -> float:
    return float("nan")


def test_the_best_step_is_that_of_the_best_value_on_this_branch() -> None:
    rng = np.random.default_rng(1)
    table = sv.data.Arrays(rng.random((40, 2)), rng.random((40, 1)), share=0.5)
    metrics = ["r2", worse_than_none]
    s = session_on(
        table, [2, 8, 1], "tanh", optimizer="adam", engine="auto", metrics=metrics, every=5
    )
    refused(InputError, "no metric has been measured").by(s.best_step)
    s.learning_rate = 0.05
    s.advance(60)
    for name, mode, sign in (("held_out_loss", "auto", 1), ("r2", "auto", -1), ("r2", "min", 1)):
        steps, values = s.metrics[name]
        expected = min(zip(sign * values, steps, strict=True))[1]
        assert s.best_step(name, mode=mode) == expected
    assert s.best_step() == s.best_step(metric="held_out_loss")
    assert s.best_step("worse_than_none", "max") == s.metrics["r2"][0][0]
    refused(InputError, "'worse_than_none'").by(s.best_step, "worse_than_none")
    refused(UnknownNameError, "'accuracy'").by(s.best_step, "accuracy")
    best = s.best_step()
    s.seek(best)
    assert s.step_index == best == s.best_step()


def test_known_metrics_know_their_direction() -> None:
    assert not sv.EarlyStopping().rises
    assert sv.EarlyStopping("held_out_accuracy").rises
    assert not sv.EarlyStopping("mae").rises
    assert sv.ReduceOnPlateau("held_out_r2").rises
    refused(InputError, "'script'").by(sv.EarlyStopping, "script")


def test_it_is_called_when_its_metric_is_measured() -> None:
    s = session_of_values([1.0] * 50, every=7)
    assert s.on_step(sv.EarlyStopping("script", mode="min")).every == 7
    assert s.on_step(sv.EarlyStopping("script", mode="min"), every=1).every == 1
    assert s.on_step(lambda view: None).every == 1
    s.advance(6)  # before the first measurement, too


def test_a_metric_that_is_not_measured_is_refused() -> None:
    refused(UnknownNameError, "'acuracy'").by(
        session_of_values([]).on_step, sv.EarlyStopping("acuracy", mode="max")
    )
    plain = sv.Session(sv.Network([2, 1]), (PLATEAU_X, PLATEAU_X[:, 0]), engine="python")
    refused(InputError, "held_out_loss").by(plain.on_step, sv.EarlyStopping())


def test_unsuitable_arguments_are_refused() -> None:
    refused(InputError, "patience", "0").by(sv.EarlyStopping, patience=0)
    refused(InputError, "min_delta", "-1").by(sv.EarlyStopping, min_delta=-1.0)
    refused(UnknownNameError, "'down'").by(sv.EarlyStopping, mode="down")
    refused(InputError, "factor", "1.0").by(sv.ReduceOnPlateau, factor=1.0)
    refused(InputError, "min_rate").by(sv.ReduceOnPlateau, min_rate=-1.0)


@pytest.mark.parametrize("kind", [sv.EarlyStopping, sv.ReduceOnPlateau])
def test_held_out_metrics_want_held_out_samples(kind: Any) -> None:
    pair = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    s = session_on(pair, [2, 3, 2], loss="softmax_cross_entropy", metrics="accuracy")
    refused(InputError, "held-out samples").by(s.on_step, kind(patience=2))
    s.on_step(kind("accuracy", patience=2))


@pytest.mark.some(10)
@both_engines
@pytest.mark.parametrize("condition", [*SO, *CHANGES])
def test_it_is_the_first_step_at_which_the_condition_holds(engine: str, condition: str) -> None:
    past = arrivals(engine)
    if condition in CHANGES:
        signs = [CHANGES[condition](each) < 0 for each in past]
        begin = 2 if condition.startswith("grad") else 1
        expected = [k for k in range(begin, len(past)) if signs[k] != signs[k - 1]][:1]
    else:
        begin = int(condition.startswith("grad"))  # before the first step there are no gradients
        expected = [k for k in range(begin, len(past)) if SO[condition](past[: k + 1])][:1]
    s = advanced(session(engine), STEPS)
    s.advance(3, "operation")
    clock, numbers = s.clock, bits(s)
    assert s.first(condition) == expected[0]
    assert (s.clock, bits(s)) == (clock, numbers)
    s.seek(expected[0] - 1 if expected[0] else 0)
    assert s.first(condition) == (None if expected[0] else 0)


def test_an_own_function_is_asked_at_each_step() -> None:
    s, seen = session(), []
    s.advance(20)

    def is_seventh(view: ConditionView) -> bool:
        seen.append((view.step, view.loss))
        return view.step == 7

    assert s.first(is_seventh) == 7
    assert [step for step, _ in seen] == list(range(8))
    assert [loss for _, loss in seen[1:]] == s.losses[:7].tolist()


def test_what_is_on_record_takes_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    s = advanced(session(metrics=["mae"], every=10), 50)
    monkeypatch.setattr(type(s.timeline), "visit", None)
    steps, values = s.metrics["mae"]
    expected = int(steps[np.flatnonzero(values < values[0])[0]])
    assert s.first(f"mae < {float(values[0])!r}") == expected
    assert s.first("loss < 0.004") == int(np.flatnonzero(s.losses < 0.004)[0]) + 1
    assert s.first("not finite") is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_cancelled_search_leaves_everything_as_it_was(error: type[BaseException]) -> None:
    s = advanced(session(), 30)
    s.advance(2, "operation")
    clock, numbers = s.clock, bits(s)

    def cancels(view: ConditionView) -> bool:
        if view.step == 12:
            raise error
        return False

    with pytest.raises(error):
        s.first(cancels)
    assert (s.clock, bits(s)) == (clock, numbers)
    s.advance(10)
    plain = advanced(session(), 40)
    assert bits(s) == bits(plain)


NAME = "layer 0, perceptron 2, weight from input 1"
WAYS = pytest.mark.parametrize(
    ("optimizer", "number"),
    [(sv.SGD(0.5), np.nan), (sv.Adam(0.1, not_finite="zero"), np.nan), (sv.SGD(0.5), np.inf)],
)


def network() -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)


@both_engines
@WAYS
def test_a_session_names_the_weight_and_the_step_to_go_back_to(
    engine: str, optimizer: Any, number: float
) -> None:
    net = network()
    session = sv.Session(net, data.Rgb("invert"), "mse", optimizer, batch=8, engine=engine)
    session.advance(3)
    before = net.bank.value.copy()
    net.bank.value[7] *= number
    for unit in ("step", "operation"):
        refused(GradientError, NAME, "net.bank.value[7]", "s.seek(3)").by(session.advance, 99, unit)
    session.seek(3)
    assert (net.bank.value == before).all()
    session.branch()
    session.advance(1)
    assert np.isfinite(session.loss)


def test_the_first_of_all_weights_is_named() -> None:
    net = network()
    net.bank.value *= np.nan
    session = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    refused(GradientError, "layer 0, perceptron 0, weight from input 0", "s.seek(0)").by(
        session.advance, 2
    )


@both_engines
@WAYS
def test_train_and_the_verbs_name_the_weight(engine: str, optimizer: Any, number: float) -> None:
    net = network().to(engine)
    inputs = np.full((4, 3), 0.5)
    net.bank.value[7] *= number
    refused(GradientError, NAME, "net.bank.value[7]").by(
        net.train, inputs, 1 - inputs, "mse", optimizer, steps=3
    )
    net.forward(inputs)
    net.backward(np.ones((4, 3)))
    refused(GradientError, NAME).by(net.step, optimizer)
    net.bank.value[7] = 0.0
    assert np.isfinite(net.train(inputs, 1 - inputs, "mse", optimizer, steps=3)).all()


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_every_caption_of_such_a_step_says_something(number: float) -> None:
    net = network()
    session = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(3)
    net.bank.value[7] = number
    for _ in session.operations[:-1]:
        session.advance(1, "operation")
        for weight in (None, 7, 0):
            assert len(str(session.caption(weight))) > 20
        assert f"edited: 0.18 → {number} after step 3" in str(session.caption(7))
        assert str(number) in str(session.explain(7))


def test_the_past_of_a_condition_is_the_newest_that_is_known_at_a_step() -> None:
    branch, past = session().current_branch, PastNumbers()
    condition = one_clause("weight 0 < 2.5", None)
    for step in (1, 5, 9):
        past.add(condition, Seen(branch, step))
    found = [past.newest(condition, branch, step).step for step in (0, 1, 4, 5, 8, 9, 10)]
    assert found == [-1, 1, 1, 5, 5, 9, 9]
