"""Session: a clock that goes forward and back, and actions of the user on the way."""

import copy
import math
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import WeakMethod

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.messages import inform_once
from scalarviz.errors import InputError, OrderError, OwnershipError, ShapeError
from scalarviz.training.session import threads
from scalarviz.training.session.branches import Clock
from tests.machine import until
from tests.sessions import advanced, bits, every_engine
from tests.wording import refused

RANDOM = np.random.default_rng(0)
COLOURS = RANDOM.random((20, 3))
PAIR = COLOURS, 1 - COLOURS


def session(engine: str = "cpu", **options: Any) -> sv.Session:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", dtype=options.pop("dtype", "float32"))
    optimizer = options.pop("optimizer", sv.Adam(0.01))
    options = {"batch": 8, "seed": 3} | options
    return sv.Session(net, options.pop("data", PAIR), "mse", optimizer, engine=engine, **options)


def asking(ask: Callable[[int], object]) -> sv.Session:
    """A session whose data, which are made by code, ask something at each step."""

    def make(step: int, batch: int, seed: int) -> Any:
        ask(step)
        return PAIR[0][:batch], PAIR[1][:batch]

    made = data.Generated(make, inputs=3, outputs=3)
    return sv.Session(sv.Network([3, 3]), made, "mse", sv.SGD(0.1), 4, "python")


# The order of things.


@every_engine
def test_a_step_does_its_operations_in_the_one_order(engine: str) -> None:
    s = session(engine)
    assert s.operations == [
        "zero_grad", "affine 0", "tanh 0", "affine 1", "sigmoid 1", "loss", "delta 1",
        "weight gradient 1", "input gradient 1", "delta 0", "weight gradient 0", "step",
    ]  # fmt: skip
    seen = []
    for _ in s.operations:
        seen.append((s.done, s.next, s.phase, s.step_index))
        s.advance(1, "operation")
    assert seen[0] == ("", "zero_grad", "zero_grad", 0)
    assert seen[1] == ("zero_grad", "affine 0", "forward", 0)
    assert seen[6] == ("loss", "delta 1", "backward", 0)
    assert seen[11] == ("weight gradient 0", "step", "step", 0)
    assert (s.done, s.next, s.step_index) == ("step", "zero_grad", 1)


@every_engine
def test_the_five_units(engine: str) -> None:
    s = advanced(session(engine), 1, "phase")
    assert s.next == "affine 0"
    s.advance(2, "phase")
    assert s.next == "delta 1"
    s.advance(1)
    assert s.clock == Clock(1)
    s.advance(1, "epoch")  # 20 samples in batches of 8: three steps
    assert s.clock == Clock(3) and s.epoch == 1.0
    s.advance(5)
    s.advance(3, "operation")
    for count, unit, clock in (
        (1, "step", Clock(8)),
        (2, "epoch", Clock(3)),
        (1, "phase", Clock(2, 11)),
        (1, "phase", Clock(2, 6)),
        (7, "operation", Clock(1, 11)),
        (100, "epoch", Clock(0)),
        (3, "operation", Clock(0)),
    ):
        s.back(count, unit)
        assert s.clock == clock
    s.advance(2, "phase")
    s.back(10**9, "phase")  # the start is the end of it
    assert s.clock == Clock(0)


def test_samples_are_a_unit_where_the_batch_is_1() -> None:
    s = advanced(session(batch=1), 3, "sample")
    s.back(1, "sample")
    assert s.step_index == 2
    refused(InputError, "8 samples").by(session().advance, 1, "sample")


@every_engine
def test_it_trains_as_the_network_does_by_itself(engine: str) -> None:
    s = session(engine, batch=None, optimizer=sv.SGD(0.5), dtype="float64")
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", dtype="float64", engine=engine)
    losses = net.train(*PAIR, "mse", sv.SGD(0.5), steps=20)
    s.advance(20)
    assert (s.losses == losses).all()
    assert (s.network.bank.value == net.bank.value).all()
    assert s.loss == losses[-1]


# Back, bit for bit.


def test_a_step_calls_few_functions() -> None:
    s, net = session(), sv.Network([2, 3, 1], engine="cpu")
    batch, targets, optimizer = np.ones((4, 2)), np.ones((4, 1)), sv.SGD(0.1)
    counts = []
    for step in (s.advance, partial(net.train_step, batch, targets, "mse", optimizer)):
        step()
        step()
        tries = []
        for _ in range(3):  # a garbage collection or a due picture may fall into one
            events: list[str] = []
            sys.setprofile(lambda frame, event, what, to=events: to.append(event))
            step()
            sys.setprofile(None)
            tries.append(events.count("call"))
        counts.append(min(tries))
    assert counts[0] < 96 and counts[1] < 65, counts  # six ask if it is the main thread


def test_a_direct_write_is_journalled_even_if_only_the_sign_of_a_zero_changes() -> None:
    s = session("python")
    s.network.bank.value[4:6] = 0.0
    s.advance(1, "operation")
    s.network.bank.value[5] = -0.0
    s.advance(1, "operation")
    journal = s.current_branch.journal
    assert [action.details["rows"].tolist() for action in journal] == [[4, 5], [5]]
    assert np.signbit(journal[1].details["values"]).all()


def test_the_optimizer_of_a_session_is_set_there() -> None:
    s = session(optimizer=sv.Momentum(0.1))
    shown = s.optimizer
    for name, value in (("lr", 7.0), ("l1", 7.0), ("schedule", sv.Schedule()), ("l3", 7.0)):
        refused(InputError, name).by(setattr, shown, name, value)
    with pytest.raises(TypeError, match="does not support item assignment"):
        shown.settings["momentum"] = 0.0  # type: ignore[index]  # on purpose
    assert repr(s.optimizer) == repr(shown) == "Momentum(lr=0.1, momentum=0.9)"
    for another in (copy.copy(shown), copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):
        another.lr, another.settings["momentum"] = 0.3, 0.5
        s.optimizer = another
        assert repr(s.optimizer) == "Momentum(lr=0.3, momentum=0.5)"
    assert session(optimizer=shown).optimizer.lr == 0.1
    assert repr(shown) == "Momentum(lr=0.1, momentum=0.9)"


# Branches.


def test_doing_something_after_going_back_starts_a_branch() -> None:
    s = advanced(session(), 10)
    old = bits(s)
    s.back(4)
    s.learning_rate = 0.5
    s.advance(8)
    first, second = s.branches
    assert second.parent is first and second.fork == Clock(6)
    assert len(first.losses) == 10 and len(second.losses) == 14
    assert (first.losses[:7] == second.losses[:7]).all()  # that of step 6 came before it moved
    assert first.losses[8] != second.losses[8]
    s.switch(first)
    assert bits(s) == old and s.current_branch is first
    s.switch(1)
    s.seek(14)
    assert s.learning_rate == 0.5
    s.seek(3)
    assert s.learning_rate == 0.01


@pytest.fixture
def s() -> sv.Session:
    return session()


def test_an_unknown_branch_is_refused() -> None:
    refused(InputError, "no 3").by(session().switch, 3)


# What goes wrong.


def test_bad_arguments_change_nothing() -> None:
    s = advanced(session(), 2)
    before = bits(s)
    other = sv.Network([2, 2])
    for call, error, value in [
        (lambda: s.advance(-1), InputError, "not -1"),
        (lambda: s.back(-1), InputError, "not -1"),
        (lambda: s.advance(1, "week"), InputError, "'week'"),  # type: ignore[arg-type]  # on purpose
        (lambda: s.seek(-1), InputError, "not -1"),
        (lambda: s.edit(99, 0.0), ShapeError, "99"),
        (lambda: s.edit(3, math.nan), InputError, "nan"),
        (lambda: s.edit([3, 4], [1, 2, 3]), InputError, "2 weights"),
        (lambda: s.edit(other.parameters()[0], 0.0), OwnershipError, "another network"),
        (lambda: s.set_activation(0, "tanhh"), InputError, "'tanhh'"),
        (lambda: s.set_activation(5, "tanh"), InputError, "no 5"),
        (lambda: s.to("gpu"), InputError, "'gpu'"),
        (lambda: setattr(s, "learning_rate", -1), InputError, "not -1"),
        (lambda: setattr(s, "focus", 8), InputError, "no 8"),
        (lambda: setattr(s, "data", (COLOURS[:, :2], COLOURS)), ShapeError, "2 -> 3"),
        (lambda: s.numbers("affine 7"), InputError, "'affine 7'"),
    ]:
        refused(error, value).by(call)
        assert bits(s) == before
    assert len(s.branches) == 1 and not s.current_branch.journal


def test_what_does_not_fit_is_refused_at_the_start() -> None:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid")
    value = net.bank.value.copy()
    made = data.Generated(lambda step, batch, seed: None, inputs=2, outputs=1)  # type: ignore[arg-type,return-value]  # never called
    both, missing = "make the inputs and the outputs equal", "the data is missing"
    for error, given, words in (
        (ShapeError, (data.Xor(),), both),
        (ShapeError, (made,), both),
        (ShapeError, ((np.zeros((4, 3)), [0, 1, 2, 0]),), "make the outputs equal: class labels"),
        (ShapeError, ((np.zeros((4, 2)), np.zeros((4, 3))),), "make the inputs equal"),
        (InputError, ("mse", sv.SGD(0.1)), missing),
        (InputError, (sv.SGD(0.1),), missing),
        (InputError, ("adam",), missing),
    ):
        refused(error, words).by(sv.Session, net, *given)
    refused(InputError, "'sigmoid'").by(sv.Session, net, PAIR, "sigmoid_cross_entropy")
    refused(InputError, "[3, 8, 3]").by(sv.Session, [3, 8, 3], PAIR)
    refused(InputError, "int 7").by(sv.Session, net, 7)
    refused(InputError, "100").by(sv.Session, net, PAIR, batch=100)
    assert net.engine == "python" and (net.bank.value == value).all()


BATCH_NORM = [sv.Dense(3, 8), sv.BatchNorm(8), sv.Dense(8, 3)]
COSINE = sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=4))
REMARKS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "a batch of 1": ({"layers": BATCH_NORM, "batch": 1}, "BatchNorm subtracts", {"batch": 2}),
    "large inputs": ({"data": (700 * COLOURS, COLOURS)}, "inputs as large as 6", {"data": PAIR}),
    "end of a schedule": ({"optimizer": COSINE, "steps": 5}, "after 4 steps", {"steps": 4}),
}


@pytest.mark.parametrize(("given", "said", "fine"), REMARKS.values(), ids=REMARKS)
def test_what_surely_learns_little_is_noted_once(
    given: dict[str, Any], said: str, fine: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scalarviz")
    inform_once.cache_clear()
    counts: list[int] = []
    for options in (given | fine, given, given):
        options = {"layers": [3, 8, 3], "steps": 1, "data": PAIR, "batch": None} | options
        net, steps = sv.Network(copy.deepcopy(options.pop("layers"))), options.pop("steps")
        sv.Session(net, options.pop("data"), engine="python", **options).advance(steps)
        counts.append(len(caplog.messages))
    assert counts == [0, 1, 1] and said in caplog.messages[0]


def test_pictures_with_channels_last_are_refused_with_the_way_to_turn_them() -> None:
    net = sv.Network([sv.Conv2d((3, 8, 8), 4, 3), sv.Dense(144, 3)])
    x, labels = np.zeros((5, 8, 8, 3)), [0, 1, 2, 0, 1]
    refused(ShapeError, "(8, 8, 3)").by(sv.Session, net, (x, labels), "softmax_cross_entropy")
    refused(ShapeError, "(5, 8, 8, 3)").by(net, x)


# The numbers of a batch.


@every_engine
def test_every_number_of_the_batch_can_be_asked_for(engine: str) -> None:
    s = session(engine, dtype="float64", batch=5)
    refused(OrderError).by(s.numbers, "affine 0")
    s.advance(2)
    s.advance(3, "operation")  # zero_grad, affine 0, tanh 0
    numbers = s.numbers("tanh 0")
    assert numbers.inputs is not None and numbers.outputs is not None
    assert numbers.outputs == pytest.approx(np.tanh(numbers.inputs))
    assert numbers.upstream is None and numbers.gradient is None
    assert s.numbers("affine 1").outputs is None
    s.advance(6, "operation")  # ... input gradient 1
    later = s.numbers("tanh 0")
    assert later.upstream is not None and later.gradient is None
    s.advance(1)
    whole = s.numbers("tanh 0")  # between steps: the step that is done
    assert whole.upstream == pytest.approx(later.upstream)
    assert whole.gradient == pytest.approx(later.upstream * (1 - numbers.outputs**2))
    assert s.numbers("affine 0").gradient is None  # nobody needs it
    assert s.clock == Clock(3)


@every_engine
@pytest.mark.parametrize("name", ["SGD", "Momentum", "Nesterov", "RMSProp", "Adam", "AdamW"])
def test_a_weight_is_explained_down_to_its_new_value(engine: str, name: str) -> None:
    optimizer = getattr(sv, name)(0.05, l2=0.1, clip_value=0.02)
    s = advanced(session(engine, dtype="float64", optimizer=optimizer, batch=5), 4)
    layer = s.network.layers[0]
    for weight in (layer.perceptrons[2].weights[1], layer.perceptrons[0].bias):  # type: ignore[attr-defined]  # of a layer that has it
        told = s.explain(weight)
        assert told.products is not None and told.g is not None
        assert (told.products == told.x * told.g).all() and len(told.products) == 5
        assert told.total == pytest.approx(weight.grad, rel=1e-12)
        assert told.new_value == pytest.approx(weight.value, rel=1e-12)
        assert told.lines[-1].name == "w"
        assert weight.name in str(told) and "... 2 more" in str(told)
        assert " g " not in str(told) and "grad used" in str(told)
    assert {line.name for line in s.explain(0).lines} >= set(s.optimizer.row.slots)
    s.batch = 4
    s.advance(1)
    sum_of_all = str(s.explain(0)).splitlines()[1]
    assert sum_of_all.count(" * ") == 4 and "more" not in sum_of_all


def test_an_edit_since_the_step_is_the_last_line_of_an_explanation_and_a_caption() -> None:
    s = advanced(session(), 3)
    old = float(s.network.bank.value[3])
    before = str(s.explain(3)), str(s.caption(3))
    s.edit(3, 0.5)
    told, caption = s.explain(3), s.caption(3)
    assert told.edit is not None and (told.edit.old, told.edit.new) == (old, 0.5)
    assert str(told) == f"{before[0]}\nedited: {old:.6g} -> 0.5 after step 3"
    head, _, end = str(caption).rpartition("\n")
    start, _, rest = end.partition(" → ")
    assert head.splitlines()[0] == before[1].splitlines()[0]
    assert float(start.removeprefix("edited: ")) == pytest.approx(old, rel=0.02)  # in few digits
    assert rest == "0.5 after step 3"
    for text in (str(s.explain(2)), str(s.caption(2)), str(s.caption())):
        assert "edited" not in text
    s.edit(3, old)
    assert str(s.explain(3)) == before[0]


@pytest.mark.parametrize("activation", ["sin", "linear"])
def test_a_step_has_its_caption_though_another_activation_was_set(activation: str) -> None:
    s = advanced(session("python"), 3)
    before = str(s.caption(3))
    s.set_activation(0, activation)
    told = str(s.caption(3))
    assert " moved: " in told and before.startswith(told)  # its loss is not computed again


@pytest.mark.parametrize("mixed", [False, True])
def test_what_becomes_of_a_gradient_that_is_not_finite_is_explained(mixed: bool) -> None:
    precision = sv.Precision("mixed", loss_scale=2.0**30) if mixed else "full"
    net = sv.Network([1, 1], seed=0)
    s = sv.Session(net, ([[1.0]], [[5.0]]), "mse", sv.SGD(0.1), engine="cpu", precision=precision)
    before = float(net.bank.value[0])
    s.advance(len(s.operations) - 1, "operation")
    if not mixed:
        s.network.bank.grad[0] = np.inf
        assert "the step will be refused, since grad is not finite" in str(s.explain(0))
        return
    told = s.explain(0)
    assert not np.isfinite(told.grad)
    assert "grad used = 0, since it is not finite = 0" in str(told)
    s.advance(1, "operation")
    assert net.bank.value[0] == told.new_value == before


def test_a_weight_that_is_used_twice_is_explained_with_both_uses() -> None:
    shared = sv.Dense(3, 3, "tanh")
    net = sv.Network([shared, sv.LayerNorm(3), shared], dtype="float64")
    s = advanced(sv.Session(net, PAIR, batch=4), 1)
    for row in (0, 4, 9, 12, 16):  # weights, a bias, a gain and a shift
        told = s.explain(row)
        assert told.total == pytest.approx(net.bank.grad[row], rel=1e-12)
        assert len(told.x) == (4 if row >= 12 else 8)


# Playing.


@pytest.fixture
def playing() -> Iterator[sv.Session]:
    s = advanced(session(), 1)
    yield s
    s.pause()


def test_it_plays_in_the_background_and_pauses_promptly(playing: sv.Session) -> None:
    playing.play()
    assert playing.playing
    until(lambda: playing.step_index > 1000)
    playing.pause()  # it waits for a portion of steps, not for a training without an end
    stopped = playing.step_index
    assert not playing.playing
    time.sleep(0.05)
    assert playing.step_index == stopped
    after = bits(playing)
    playing.seek(0)
    playing.seek(stopped)
    assert bits(playing) == after


def test_it_keeps_its_speed(playing: sv.Session) -> None:
    playing.play(200.0)
    start, first = time.perf_counter(), playing.step_index
    time.sleep(0.5)
    playing.pause()
    speed = (playing.step_index - first) / (time.perf_counter() - start)
    assert 100 < speed < 230
    playing.play(100.0, "operation")
    until(lambda: playing.clock.operation > 3)
    playing.pause()


def test_slow_playing_begins_at_once(playing: sv.Session) -> None:
    there = playing.clock.place
    playing.play(0.01, "operation")
    until(lambda: playing.clock.place != there)
    there = playing.clock.place
    playing.play(0.02, "operation")  # another speed is no new beginning
    time.sleep(0.1)
    playing.pause()
    assert playing.clock.place == there


@pytest.mark.parametrize(
    ("each", "stands", "at", "until"), [(0.0, 27, 0, None), (1.0, 1, 0, None), (0.0, 4, 700, 2000)]
)
def test_a_film_stands_at_the_moments_that_are_left_if_training_keeps_up(
    monkeypatch: pytest.MonkeyPatch, each: float, stands: int, at: int, until: int | None
) -> None:
    s = advanced(session(), at)
    stood: Any = Counter()  # seconds, by step
    monkeypatch.setattr(time, "perf_counter", lambda: stood.total() + each * s.step_index)
    after = iter([0.0])
    for rest in threads.film_first(WeakMethod(s._portion), until, after, at):
        stood[s.step_index] += rest
    steps = [*range(7), *(round(1.36**n - 1.0) for n in range(7, 27))]
    steps = [866, 1178, 1602, 2000] if until else steps
    assert +stood == pytest.approx(dict.fromkeys(steps[:stands], 0.6))
    assert s.step_index == (until or 2964)
    assert next(after, None) is None  # it has gone on with that


# Pinned weights.


def test_a_pinned_weight_has_a_history_from_the_start_on(s: sv.Session) -> None:
    w = s.network.layers[0].perceptrons[2].weights[1]
    told = {}
    for step in range(60):
        told[step] = w.value
        if step == 20:
            s.edit(w, 1.5)
        s.advance(1)
        if step == 40:
            s.pin(w)
    told[60] = w.value
    assert s.pinned == [w.index]
    steps, values = s.history(w, wait=True)
    assert dict(zip(steps.tolist(), values.tolist(), strict=True)) == told
    s.seek(30)
    assert s.history(w)[0].tolist() == list(range(31))
    s.edit(w, -1.0)
    s.advance(5)
    steps, values = s.history(w)
    assert steps.tolist() == list(range(36)) and values[32] != told[32]
    s.pin(w, on=False)
    assert s.pinned == [] and not len(s.history(w)[0])


@pytest.mark.parametrize("kind", ["value", "gradient"])
def test_a_history_has_what_was_there_before_somebody_wrote_into_the_bank(kind: Any) -> None:
    s = advanced(session(), 3)
    array = s.network.bank.value if kind == "value" else s.network.bank.grad
    here = array[4]
    with s.timeline.lock.taken():  # the history is made afterwards
        s.pin(4)
        array[4] += 1.0
    steps, values = s.history(4, kind, wait=True)
    assert steps[-1] == 3 and values[-1] == here != array[4]


@every_engine
def test_a_pinned_weight_has_the_gradients_of_all_steps(engine: str) -> None:
    s = session(engine)
    w = s.network.layers[1].perceptrons[1].weights[3]
    told = {0: 0.0}
    for step in range(1, 13):
        if step == 5:
            s.edit(w, 1.5)
        if step == 8:
            s.pin(w)
        s.advance(len(s.operations), "operation") if step % 2 else s.advance(1)
        told[step] = w.grad
    steps, gradients = s.history(w, "gradient", wait=True)
    assert dict(zip(steps.tolist(), gradients.tolist(), strict=True)) == told
    assert len(set(told.values())) == 13
    s.seek(4)
    assert s.history(w, "gradient")[1].tolist() == [told[step] for step in range(5)]
    assert s.copy().history(w.index, "gradient")[1].tolist() == [told[step] for step in range(5)]
    refused(InputError, "'grad'").by(s.history, w, "grad")


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_norms_of_each_layer(engine: str) -> None:
    layers = [
        sv.Dense(3, 4, "tanh"),
        sv.Activation(4, "relu"),
        sv.Residual(sv.Dense(4, 4), sv.LayerNorm(4)),
        sv.Dense(4, 3),
    ]
    s = sv.Session(sv.Network(layers, dtype="float64"), PAIR, batch=8, engine=engine)
    assert [norms.gradient for norms in s.norms().values()] == [0.0] * 3
    s.advance(2)
    norms, bank = s.norms(), s.network.bank
    assert [*norms] == ["0", "2", "3"]
    for name, first, after in (("0", 0, 16), ("2", 16, 44), ("3", 44, 59)):
        assert norms[name].value == pytest.approx(np.sqrt((bank.value[first:after] ** 2).sum()))
        assert norms[name].gradient == pytest.approx(np.sqrt((bank.grad[first:after] ** 2).sum()))
    assert len({norms[name] for name in norms}) == 3
    slope = sv.Value(1.0)
    line = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    refused(InputError, "no layers").by(sv.Session(line, ([[1.0]], [[2.0]]), engine="python").norms)


def test_what_was_broken_off_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    s, reference = session(), session()
    s.advance(50)
    steps = s.trainer.run.steps

    def broken(*given: Any) -> Any:
        monkeypatch.undo()
        steps(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(s.trainer.run, "steps", broken)
    with pytest.raises(KeyboardInterrupt):
        s.advance(5)
    assert s.step_index == 50 and s.network.bank.step_count == 50
    s.network.parameters()[2].value = s.network.parameters()[2].value
    s.advance(1)
    reference.advance(51)
    assert bits(s) == bits(reference) and not s.current_branch.journal


# Losses.


def test_a_long_curve_is_thinned_for_plots_and_kept_in_full() -> None:
    s = advanced(session(batch=None), 5000)
    steps, curve = s.current_branch.curve(100)
    assert len(steps) == len(curve) == 100
    assert curve[0] == pytest.approx(s.losses[:50].mean())
    assert steps[0] == 24.5 and steps[-1] == 4974.5
    assert len(s.losses) == 5000
    empty = session()
    assert len(empty.current_branch.curve()[0]) == 0 and math.isnan(empty.loss)


# Memory.


def test_a_small_memory_means_longer_replays_and_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scalarviz.training.session.timeline.PORTION", 0.0)
    s, seen = session(memory=20_000), {}
    for _ in range(300):  # each leaves a keyframe of 1 KB
        s.advance(10)
    steps = [frame.step for frame in s.branches[0].frames]
    assert len(steps) > 6 and steps[0] == 0
    for step in np.random.default_rng(0).integers(0, 3000, 20).tolist():
        s.seek(step)
        seen[step] = bits(s)
    assert sum(frame.size for frame in s.branches[0].frames) == s.timeline.keyframes.used < 20_000
    reference = session()
    for step in sorted(seen):
        reference.seek(step)
        assert bits(reference) == seen[step]


# Compiled expressions.


def wave(engine: str) -> tuple[sv.Value, sv.Session]:
    a, b = sv.Value(0.1, label="a"), sv.Value(0.2, label="b")
    f = sv.compile(lambda x: (a * x).sin() + b * x * x, inputs=1, engine=engine)
    x = np.linspace(-1, 1, 40)[:, np.newaxis]
    pair = x, np.sin(2 * x) + 0.5 * x * x
    return a, sv.Session(f, pair, optimizer=sv.Adam(0.02), engine=engine, batch=16)


@every_engine
def test_a_compiled_expression_has_sessions_too(engine: str) -> None:
    a, s = wave(engine)
    s.advance(20)
    s.edit(a, 1.0)
    s.advance(3, "phase")
    assert a.grad == 0.0 and s.loss > 0.0
    s.advance(1, "phase")
    assert a.grad != 0.0
    told = s.explain(int(s.network.find_rows(a)))  # type: ignore[call-overload]
    assert told.total == a.grad and told.lines[-1].name == "w"
    s.advance(400)
    assert told.new_value is not None and a.data == pytest.approx(2.0, abs=0.2)
    after = bits(s)
    for step in (0, 20, 21, 200):
        s.seek(step)
    s.seek(420)
    assert bits(s) == after


def test_what_an_expression_cannot_do_is_refused() -> None:
    _, s = wave("python")
    refused(InputError).by(s.set_activation, 0, "tanh")
    refused(sv.ScalarvizError).by(s.to, "cpu", "mixed")
    refused(OwnershipError, "Value(data=3.0, grad=0)").by(s.edit, sv.Value(3.0), 1.0)


# What a strict reader found.


@pytest.mark.slow  # some 10 seconds
def test_a_thousand_branches_of_branches(s: sv.Session) -> None:
    for i in range(1100):
        s.advance(2)
        s.back(1)
        s.learning_rate = 0.01 + 1e-6 * i
    assert len(s.branches) == 1101 and s.step_index == 1100
    assert len(s.losses) == 1100


def test_what_is_set_past_the_session_is_set_back_with_a_word() -> None:
    s = advanced(session(), 2)
    s.network.set_activation(0, "linear")
    refused(OrderError).by(s.advance, 1)
    assert s.operations[2] == "tanh 0"
    s.network.to("python")
    s.network.parameters()[4].value = 0.5  # what was written at the same time counts
    refused(OrderError).by(s.advance, 1)
    s.advance(1)
    reference = advanced(session(), 2)
    reference.edit(4, 0.5)
    reference.advance(1)
    assert bits(s) == bits(reference)
    s.seek(0)
    s.seek(3)
    assert bits(s) == bits(reference)


def test_a_network_belongs_to_one_session() -> None:
    first = advanced(session(), 2)
    second = sv.Session(first.network, PAIR, engine="cpu")
    refused(OwnershipError).by(first.advance, 1)
    refused(OwnershipError).by(first.pin, 3)
    first.pin(0, on=False)  # which a picture does when it is closed
    assert not first.pinned
    second.advance(1)
    import pickle

    assert len(pickle.loads(pickle.dumps(second.network)).bank) == 59


def test_who_is_interrupted_while_waiting_holds_nobody_up(playing: sv.Session) -> None:
    session_lock = playing.timeline.lock
    with session_lock.taken():
        thread = threading.Thread(target=lambda: session_lock.lock.acquire(0.05))
        thread.start()
        thread.join()
    playing.play()
    session_lock._waiting.add(0)  # as if somebody waited for ever
    at = playing.step_index
    until(lambda: playing.step_index > at)
    session_lock._waiting.clear()
    playing.pause()


def test_a_loss_that_a_new_activation_would_spoil_is_refused() -> None:
    s = sv.Session(sv.Network([3, 4, 3], "tanh"), PAIR, "sigmoid_cross_entropy", engine="cpu")
    refused(InputError, "'sigmoid'").by(s.set_activation, -1, "sigmoid")


@pytest.mark.parametrize(
    "wrong", ["abc", None, object(), 10**30, 1.7, True, [], [[0, 1], [2, 3]], [True, False]]
)
def test_what_names_no_weight_is_refused(wrong: Any, s: sv.Session) -> None:
    for call in (lambda: s.edit(wrong, 0.5), lambda: s.freeze(wrong), lambda: s.pin(wrong)):
        refused(InputError, wrong).by(call)
    refused(InputError, "32").by(s.explain, s.network.layers[0])
    s.edit(s.network.bank.value > 0, 0.0)  # a mask names those that it marks
    assert (s.network.bank.value <= 0).all()


def test_data_that_fails_leaves_the_numbers_where_the_clock_is() -> None:
    def fail(step: int) -> None:
        if step == 7:
            raise RuntimeError("no more data")

    s = asking(fail)
    s.timeline.pace = 50.0
    start = s.network.bank.value.copy()
    with pytest.raises(RuntimeError, match="no more data"):
        s.advance(20)
    assert s.step_index == 0 and (s.network.bank.value == start).all()
    s.advance(5)
    assert s.step_index == 5 and not s.current_branch.journal


def test_leaps_are_told_from_single_operations(s: sv.Session) -> None:
    """A picture animates operations, and not what is done by whole steps."""
    leaps, seen = s.timeline.here.leaps, []
    count = len(s.operations)
    for move in (
        lambda: s.advance(3, "operation"),
        lambda: s.advance(1, "phase"),
        lambda: s.back(2, "operation"),
        lambda: s.advance(2 * count, "operation"),
        lambda: s.advance(1),
        lambda: s.back(1),
        lambda: s.seek(1),
        lambda: s.reset(),
    ):
        move()
        seen.append(s.timeline.here.leaps != leaps)
        leaps = s.timeline.here.leaps
    assert seen == [False] * 4 + [True] * 4


def test_going_back_by_an_operation_publishes_its_end_alone() -> None:
    s = advanced(session(), 2)
    s.advance(4, "operation")
    seen, show = [], s.timeline.show

    def noted() -> None:
        show()
        seen.append(s.timeline.here.clock.place)

    s.timeline.show = noted
    s.back(2, "operation")
    assert set(seen) == {(2, 4), (2, 2)}


def test_a_snapshot_says_of_which_moment_it_is(s: sv.Session) -> None:
    shot = s.snapshot()
    s.advance(2, "operation")
    shot.request()
    s.advance(2, "operation")
    assert shot.moment.clock.place == (0, 2) and s.clock.place == (0, 4)
