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
from scalarviz.errors import GradientError, InputError, UnknownNameError
from scalarviz.files.runs import restore_marks
from scalarviz.training.session.conditions import PREDICATES, checked, of_file
from scalarviz.training.session.replays import first_held
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
}


def stops_of(condition: str, past: list[Arrival]) -> list[int]:
    """The steps at which a condition holds anew, by the rules of this file alone."""
    so = [False] + [SO[condition](past[: k + 1]) for k in range(1, len(past))]
    return [k for k in range(1, len(so)) if so[k] and not so[k - 1]]


@pytest.mark.some(10)
@both_engines
@pytest.mark.parametrize("condition", SO)
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
    s.stop_when("loss rises 3x", "grad norm > 0.6")
    s.advance(STEPS)
    assert 0 < s.step_index < STEPS
    ways: list[tuple[Any, ...]] = [
        ("advance", 1), ("advance", 3), ("advance", 7), ("advance", 3, "operation"), ("play",),
        ("seek", STEPS),
    ]  # fmt: skip
    for name, *given in ways:
        other = session(engine)
        other.stop_when("grad norm > 0.6 or loss rises 3x")
        while not other.stopped:
            getattr(other, name)(*given)
        other.pause()
        assert bits(other) == bits(s)
        assert other.stopped.partition(": ")[0] == s.stopped.partition(": ")[0]


@both_engines
def test_what_rises_is_compared_with_the_whole_past_however_one_comes_there(
    engine: str, tmp_path: Path
) -> None:
    clauses = ["loss falls 30x", "grad norm < 0.05"]
    past, condition = arrivals(engine), " or ".join(clauses)
    stops = sorted({k for each in clauses for k in stops_of(each, past)})
    holds = [any(SO[each](past[: k + 1]) for each in clauses) for k in range(STEPS)]
    last = next(k for k in stops[::-1] if k > stops[0] and not any(holds[k - 2 : k]))
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


# ---- files, copies, networks that grow -----------------------------------------------------------


@both_engines
def test_a_saved_training_stops_where_it_would_have(engine: str, tmp_path: Path) -> None:
    s = advanced(session(engine, metrics=["mae"], every=7), 4)
    s.stop_when("grad norm < 0.05", "mae < 0.001", "loss falls 1e9x")
    s.advance(3)
    for other in (reloaded(s, tmp_path), s.copy()):
        assert other.stop_conditions == s.stop_conditions
        twin = advanced(session(engine), 4)
        twin.stop_when("grad norm < 0.05")
        twin.advance(STEPS)
        other.advance(STEPS)
        assert bits(other) == bits(twin) and other.stopped == twin.stopped


@pytest.fixture
def s() -> sv.Session:
    return session()


def test_a_saved_training_and_a_copy_keep_their_marks(tmp_path: Path, s: sv.Session) -> None:
    s.stop_when("grad norm < 0.05", "loss < 0.004")
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


OLD = ["weight 7 changes sign", "gradient 3 < -1", "a neuron is dead", "grad norm rises 3x"]
OLD += ["learning rate < 0.001", "loss changes sign", "own function spikes"]


def test_a_file_of_an_earlier_version_leaves_out_what_is_gone_and_says_so() -> None:
    with pytest.warns(UserWarning, match=", ".join(OLD) + ": write s.on_step"):
        found = of_file(["loss < 0.1", *OLD])
    assert [str(each) for each in found] == ["loss < 0.1"]
    refused(UnknownNameError, "los").by(of_file, ["los < 3 or"])


def test_a_network_that_grows_keeps_its_conditions(s: sv.Session) -> None:
    s.stop_when("grad norm > 100", "loss < 0.004")
    assert sv.add_neurons(s, 0).stop_conditions == ["grad norm > 100", "loss < 0.004"]


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
        ("loss 7 > 3", UnknownNameError, "loss 7"),
        *[(each, InputError, "view.stop(reason)") for each in OLD],
        (lambda view: True, InputError, "view.stop(reason)"),
        ("loss rises 0.5x", InputError, "0.5"),
        ("grad norm > 1 and loss < 2", InputError, "and loss"),
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
    for name in ("loss", "grad norm", "mae"):
        for predicate in PREDICATES.values():
            text = f"{name} {predicate.name.replace('NUMBER', '2.5')}"
            if text in ("grad norm rises 2.5x", "grad norm falls 2.5x"):
                continue
            s.stop_when(text)
            assert s.stop_conditions == [text]
            s.stop_when(*s.stop_conditions)
            assert s.stop_conditions == [text]
    s.stop_when("Not finite")
    assert s.stop_conditions == ["not finite"]
    for number in ("0.123456789012345", "1e-300", "-3", "12345678"):
        s.stop_when(f"loss < {number}")
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
@pytest.mark.parametrize("condition", SO)
def test_it_is_the_first_step_at_which_the_condition_holds(engine: str, condition: str) -> None:
    past = arrivals(engine)
    begin = int(condition.startswith("grad"))  # before the first step there are no gradients
    expected = [k for k in range(begin, len(past)) if SO[condition](past[: k + 1])][:1]
    s = advanced(session(engine), STEPS)
    s.advance(3, "operation")
    clock, numbers = s.clock, bits(s)
    assert s.first(condition) == expected[0]
    assert (s.clock, bits(s)) == (clock, numbers)
    s.seek(expected[0] - 1 if expected[0] else 0)
    assert s.first(condition) == (None if expected[0] else 0)


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

    def tell(step: int) -> None:
        if step == 12:
            raise error

    with pytest.raises(error), s.doing():
        first_held(s.timeline, checked(["grad norm > 1e9"], None), tell)
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
