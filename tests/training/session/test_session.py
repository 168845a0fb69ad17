"""Session: a clock that goes forward and back, and actions of the user on the way."""

import copy
import math
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import GradientError, InputError, OrderError, OwnershipError, ShapeError
from scalarviz.training.session.branches import Branch, Clock
from tests.sessions import advanced
from tests.strategies import RUNNABLE
from tests.waiting import until
from tests.wording import refused

every_engine = pytest.mark.parametrize("engine", RUNNABLE)

RANDOM = np.random.default_rng(0)
COLOURS = RANDOM.random((20, 3))
PAIR = COLOURS, 1 - COLOURS


def session(engine: str = "cpu", **options: Any) -> sv.Session:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", dtype=options.pop("dtype", "float32"))
    optimizer = options.pop("optimizer", sv.Adam(0.01))
    options = {"batch": 8, "seed": 3} | options
    return sv.Session(net, options.pop("data", PAIR), "mse", optimizer, engine=engine, **options)


def state(s: sv.Session) -> tuple[Any, ...]:
    """Everything that belongs to a moment, to the last bit."""
    bank = s.network.bank
    slots = [slot.tobytes() for _, slot in sorted(bank.slots.items()) if slot.any()]
    arrays = [bank.value.tobytes(), bank.grad.tobytes(), bank.frozen.tobytes(), *slots]
    settings = s.learning_rate, s.engine, repr(s.optimizer), repr(s.data)
    return s.clock.place, bank.step_count, arrays, settings, str(s.loss)


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
    s.back(1)
    assert s.clock == Clock(8)
    s.back(2, "epoch")
    assert s.clock == Clock(3)
    s.back(1, "phase")
    assert s.clock == Clock(2, 11)
    s.back(1, "phase")
    assert s.clock == Clock(2, 6)
    s.back(7, "operation")
    assert s.clock == Clock(1, 11)
    s.back(100, "epoch")
    assert s.clock == Clock(0)
    s.back(3, "operation")
    assert s.clock == Clock(0)
    s.advance(2, "phase")
    s.back(10**9, "phase")  # the start is the end of it
    assert s.clock == Clock(0)


def test_samples_are_a_unit_where_the_batch_is_1() -> None:
    s = advanced(session(batch=1), 3, "sample")
    s.back(1, "sample")
    assert s.step_index == 2
    with refused(InputError, "8 samples"):
        session().advance(1, "sample")


@every_engine
def test_it_trains_as_the_network_does_by_itself(engine: str) -> None:
    s = session(engine, batch=None, optimizer=sv.SGD(0.5), dtype="float64")
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", dtype="float64", engine=engine)
    losses = net.train(*PAIR, "mse", sv.SGD(0.5), steps=20)
    s.advance(20)
    assert (s.losses == losses).all()
    assert (s.network.bank.value == net.bank.value).all()
    assert s.loss == losses[-1]


@every_engine
def test_gradients_stay_readable_between_steps(engine: str) -> None:
    s = advanced(session(engine), 2)
    assert s.network.bank.grad.any()
    s.advance(1, "operation")
    assert not s.network.bank.grad.any()


# Back, bit for bit.


@every_engine
def test_every_moment_comes_back_to_the_last_bit(engine: str) -> None:
    s = advanced(session(engine), 5)
    seen = [state(s)]
    for _ in range(30):
        s.advance(1, "operation")
        seen.append(state(s))
    for expected in reversed(seen[:-1]):
        s.back(1, "operation")
        assert state(s) == expected
    for expected in seen[1:]:
        s.advance(1, "operation")
        assert state(s) == expected


@every_engine
def test_stepping_by_operations_or_at_once_is_the_same(engine: str) -> None:
    slow, fast = session(engine), session(engine)
    slow.advance(12 * 7, "operation")
    fast.advance(7)
    assert state(slow) == state(fast)
    assert (slow.losses == fast.losses).all() and len(slow.losses) == 7


@every_engine
def test_what_was_done_is_done_again(engine: str) -> None:
    s = session(engine)
    weights = s.network.parameters()
    s.advance(3)
    s.learning_rate = 0.1
    s.advance(4, "operation")
    s.edit(weights[3], 0.5)
    s.freeze(s.network.layers[1])
    s.advance(2)
    s.optimizer = sv.Momentum(0.2)
    s.set_activation(0, "relu")
    s.advance(2)
    s.data = (COLOURS, COLOURS[:, [2, 0, 1]])
    s.to("python" if engine == "cpu" else "cpu")
    s.advance(2)
    s.freeze(s.network.layers[1], False)
    weights[7].value = 0.25  # past the session
    s.network.bank.value[9] = -0.5
    s.advance(3)
    places = [Clock(step, operation) for step in range(12) for operation in (0, 5, 11)]
    seen = {}
    s.seek(0)
    for place in places:
        s.advance(1, "operation") if place.operation else None
        while s.clock.place < place.place:
            s.advance(1, "operation")
        seen[place] = state(s)
    order = np.random.default_rng(1).permutation(len(places))
    for place in [places[i] for i in order]:
        s.seek(place.step)
        if place.operation:
            s.advance(place.operation, "operation")
        assert state(s) == seen[place]
    assert len(s.branches) == 1
    assert s.network.layers[0].activation in ("tanh", "relu")


def test_a_direct_write_is_journalled_even_if_only_the_sign_of_a_zero_changes() -> None:
    s = session("python")
    s.network.bank.value[4:6] = 0.0
    s.advance(1, "operation")
    s.network.bank.value[5] = -0.0
    s.advance(1, "operation")
    journal = s.current_branch.journal
    assert [action.details["rows"].tolist() for action in journal] == [[4, 5], [5]]
    assert np.signbit(journal[1].details["values"]).all()


@every_engine
def test_an_edit_counts_from_its_moment_on(engine: str) -> None:
    s = session(engine)
    w = s.network.layers[0].perceptrons[2].weights[1]
    s.advance(5)
    before = w.value
    s.edit(w, 2.5)
    assert w.value == 2.5
    s.advance(1)
    s.back(1)
    assert w.value == before  # the moment of arrival, before what was done
    s.advance(1, "operation")
    assert w.value == 2.5


def test_a_direct_write_is_journalled_like_an_edit() -> None:
    s = advanced(session(), 5)
    s.network.parameters()[4].value = 0.125
    s.network.parameters()[5].freeze()
    s.advance(5)
    after = state(s)
    assert [action.kind for action in s.current_branch.journal] == ["edit", "freeze"]
    s.seek(2)
    s.seek(10)
    assert state(s) == after


def test_what_changes_a_step_waits_for_the_next_one() -> None:
    s = advanced(session("python"), 3, "operation")
    s.engine = "cpu"
    s.set_activation(0, "relu")
    s.learning_rate = 0.5
    assert s.learning_rate == 0.01 and s.engine == "python" and s.operations[2] == "tanh 0"
    s.advance(1)
    assert s.engine == "python"
    s.advance(1, "operation")
    assert s.engine == "cpu" and s.operations[2] == "relu 0"
    s.seek(0)
    assert s.engine == "python" and s.network.layers[0].activation == "tanh"
    assert len(s.branches) == 1


def test_a_linear_layer_has_fewer_operations_and_time_goes_through_it() -> None:
    s = advanced(session(), 2)
    s.set_activation(0, "linear")
    s.advance(2)
    assert len(s.operations) == 10
    after = state(s)
    s.back(22, "operation")
    assert s.clock == Clock(1, 10) and len(s.operations) == 12
    s.advance(22, "operation")
    assert state(s) == after


@every_engine
def test_the_learning_rate_takes_effect_on_the_next_step(engine: str) -> None:
    s = session(engine, optimizer=sv.SGD(0.1, schedule=sv.Schedule("step", every=2, factor=0.5)))
    s.advance(2)
    assert s.learning_rate == 0.05
    s.learning_rate = 0.0
    before = s.network.bank.value.copy()
    s.advance(3)
    assert (s.network.bank.value == before).all()
    assert s.learning_rate == 0.0


def test_the_optimizer_of_a_session_is_set_there() -> None:
    s = session(optimizer=sv.Momentum(0.1))
    shown = s.optimizer
    for name, value in (("lr", 7.0), ("l1", 7.0), ("schedule", sv.Schedule()), ("l3", 7.0)):
        with refused(InputError, name):
            setattr(shown, name, value)
    with pytest.raises(TypeError, match="does not support item assignment"):
        shown.settings["momentum"] = 0.0  # type: ignore[index]  # on purpose
    assert repr(s.optimizer) == repr(shown) == "Momentum(lr=0.1, momentum=0.9)"
    for another in (copy.copy(shown), copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):
        another.lr, another.settings["momentum"] = 0.3, 0.5
        s.optimizer = another
        assert repr(s.optimizer) == "Momentum(lr=0.3, momentum=0.5)"
    assert session(optimizer=shown).optimizer.lr == 0.1
    assert repr(shown) == "Momentum(lr=0.1, momentum=0.9)"


def test_the_optimizer_that_was_passed_is_not_touched() -> None:
    optimizer = sv.SGD(0.1)
    s = session(optimizer=optimizer)
    s.learning_rate = 0.5
    assert optimizer.lr == 0.1
    optimizer.lr = 9.0
    assert s.learning_rate == 0.5


# Branches.


def test_going_on_after_going_back_stays_in_the_branch() -> None:
    s = advanced(session(), 10)
    s.back(4)
    s.advance(4)
    assert len(s.branches) == 1 and len(s.losses) == 10


def test_doing_something_after_going_back_starts_a_branch() -> None:
    s = advanced(session(), 10)
    old = state(s)
    s.back(4)
    s.learning_rate = 0.5
    s.advance(8)
    first, second = s.branches
    assert second.parent is first and second.fork == Clock(6)
    assert len(first.losses) == 10 and len(second.losses) == 14
    assert (first.losses[:7] == second.losses[:7]).all()  # that of step 6 came before it moved
    assert first.losses[8] != second.losses[8]
    s.switch(first)
    assert state(s) == old and s.current_branch is first
    s.switch(1)
    s.seek(14)
    assert s.learning_rate == 0.5
    s.seek(3)
    assert s.learning_rate == 0.01


def test_branches_of_branches_keep_their_pasts_apart() -> None:
    s = advanced(session(), 6)
    ends: dict[Branch, tuple[Any, ...]] = {s.current_branch: state(s)}
    for i in range(5):
        s.back(3)
        s.advance(i, "operation") if i else None
        s.edit(i, 0.1 * i)
        s.advance(5)
        ends[s.current_branch] = state(s)
    assert len(s.branches) == len(ends) == 6
    for branch in [s.branches[i] for i in (3, 0, 5, 1, 4, 2)]:
        s.switch(branch)
        s.seek(branch.end.step)
        assert state(s) == ends[branch]


def test_a_branch_can_be_started_by_hand() -> None:
    s = advanced(session(), 5)
    made = s.branch()
    assert made is s.current_branch and made.fork == Clock(5)
    s.advance(2)
    assert len(s.branches[0].losses) == 5 and len(made.losses) == 7


def test_reset_begins_again_and_keeps_what_was() -> None:
    s = session()
    start = s.network.bank.value.copy()
    s.reset()
    assert len(s.branches) == 1
    s.advance(4)
    s.learning_rate = 0.9
    s.advance(4)
    s.reset()
    assert (s.network.bank.value == start).all() and s.learning_rate == 0.01
    assert len(s.branches) == 2 and len(s.branches[0].losses) == 8 and not len(s.losses)
    s.advance(4)
    assert (s.losses == s.branches[0].losses[:4]).all()


def test_an_unknown_branch_is_refused() -> None:
    with refused(InputError, "no 3"):
        session().switch(3)


# What goes wrong.


@every_engine
def test_a_bad_gradient_stops_before_the_step_and_one_can_go_back(engine: str) -> None:
    net = sv.Network([1, 1, 1], dtype="float32")
    s = sv.Session(net, ([[1.0]], [[0.0]]), "mse", sv.SGD(1e30), engine=engine)
    with refused(GradientError, "-inf"):
        s.advance(1000)
    assert s.next == "step" and s.step_index == 1
    assert np.isfinite(net.bank.value).all() and not np.isfinite(net.bank.grad).all()
    with pytest.raises(GradientError) as caught:
        s.advance(1)
    assert caught.value.lines[1] == (
        "What is set here holds from the next step on: go back first, s.seek(0), where the loss "
        "was smallest"
    )
    s.seek(0)
    s.learning_rate = 0.01
    s.advance(50)
    assert len(s.branches) == 2 and s.loss < 1.0


def test_bad_arguments_change_nothing() -> None:
    s = advanced(session(), 2)
    before = state(s)
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
        with refused(error, value):
            call()
        assert state(s) == before
    assert len(s.branches) == 1 and not s.current_branch.journal


@pytest.mark.parametrize("unit", ["operation", "phase", "step", "epoch"])
@pytest.mark.parametrize("operations", [0, 5])
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_moving_by_none_changes_nothing(unit: Any, operations: int, engine: str) -> None:
    s = advanced(session(engine), 4)
    s.advance(operations, "operation")
    before, moves = state(s), s.timeline.leaps
    s.advance(0, unit)
    s.back(0, unit)
    assert state(s) == before
    assert s.timeline.leaps == moves and len(s.branches) == 1


def test_what_does_not_fit_is_refused_at_the_start() -> None:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid")
    value = net.bank.value.copy()
    with refused(ShapeError, "2 -> 1"):
        sv.Session(net, data.Xor())
    with refused(InputError, "'sigmoid'"):
        sv.Session(net, PAIR, "sigmoid_cross_entropy")
    with refused(InputError, "[3, 8, 3]"):
        sv.Session([3, 8, 3], PAIR)  # type: ignore[arg-type]  # a user's mistake
    with refused(InputError, "int 7"):
        sv.Session(net, 7)
    assert net.engine == "python" and (net.bank.value == value).all()


# The numbers of a batch.


@every_engine
def test_every_number_of_the_batch_can_be_asked_for(engine: str) -> None:
    s = session(engine, dtype="float64", batch=5)
    with refused(OrderError):
        s.numbers("affine 0")
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


def test_a_prompt_shows_an_explanation_and_a_caption_as_text() -> None:
    s = advanced(session(), 3)
    for shown in (s.explain(3), s.caption(3)):
        assert repr(shown) == str(shown)
        assert len(str(shown).splitlines()) > 1


def test_an_explanation_says_what_is_not_there_yet() -> None:
    s = advanced(session(), 2, "operation")
    told = s.explain(3)
    assert told.g is None and told.total is None and told.lines == () and told.new_value is None
    assert "no gradient yet" in str(told)
    s.network.parameters()[3].freeze()
    s.advance(1)
    told = s.explain(3)
    assert told.frozen and told.new_value == told.value and told.total is not None
    assert str(told).splitlines()[-1] == "frozen: no step moves it"
    assert "frozen" not in str(s.explain(2))
    s.advance(1, "operation")
    assert str(s.explain(3)).endswith("no gradient yet\nfrozen: no step moves it")


@pytest.mark.parametrize("engine", RUNNABLE)
@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_numbers_are_shown_when_they_are_known_and_not_before(output: str, engine: str) -> None:
    net = sv.Network([2, 4, 3, 1], "tanh", output=output, seed=0, dtype="float64")
    s = advanced(sv.Session(net, (np.eye(2), [[0.2], [0.9]]), "mse", sv.SGD(0.1), engine=engine), 1)
    names = [each.name for each in net.program.operations]
    seen: list[dict[str, Any]] = []
    for _ in s.operations:
        s.advance(1, "operation")
        seen.append({name: s.numbers(name) for name in names})
    parts = ("inputs", "outputs", "upstream", "gradient")
    for name in names:
        for part in parts:
            shown = [getattr(moment[name], part) for moment in seen]
            last = shown[-1]
            for one in shown:
                assert one is None or one == pytest.approx(last)
            if part != "gradient":
                assert (last is not None and shown[0] is None) or part == "inputs"


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
    start = time.perf_counter()
    playing.pause()
    assert time.perf_counter() - start < 0.5
    stopped = playing.step_index
    assert not playing.playing
    time.sleep(0.05)
    assert playing.step_index == stopped
    after = state(playing)
    playing.seek(0)
    playing.seek(stopped)
    assert state(playing) == after


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


def test_what_one_does_while_it_plays_is_journalled(playing: sv.Session) -> None:
    playing.play()
    until(lambda: playing.step_index > 200)
    playing.learning_rate = 0.02
    until(lambda: playing.step_index > 2000)
    w = playing.network.parameters()[5]
    w.value = 0.75
    at = playing.step_index
    until(lambda: playing.step_index > at + 1000)
    playing.edit(7, 0.5)
    playing.pause()
    after = state(playing)
    assert [action.kind for action in playing.current_branch.journal] == [
        "learning rate", "edit", "edit",
    ]  # fmt: skip
    step = playing.step_index
    playing.seek(0)
    playing.seek(step + 1)
    playing.back(1)
    playing.advance(0 + 1)
    playing.seek(step)
    for action in playing.current_branch.journal:
        if action.place == (step, 0):
            return  # it was done after arrival here
    assert state(playing) == after


def test_snapshots_come_while_it_plays_and_hold_nobody_up(playing: sv.Session) -> None:
    playing.play()
    shots = []
    for _ in range(20):
        at = playing.step_index
        until(lambda at=at: playing.step_index > at)
        shot = playing.snapshot()
        shot.request()
        until(lambda shot=shot: shot.ready)
        shots.append(shot.read().value.copy())
    assert len({value.tobytes() for value in shots}) > 10
    playing.pause()
    still = playing.snapshot()
    still.request()
    assert still.ready and (still.read().value == playing.network.bank.value).all()
    assert set(still.read().slots) == {"m", "v"}


def test_an_error_in_the_thread_reaches_the_caller() -> None:
    s = sv.Session(sv.Network([1, 1]), ([[1.0]], [[0.0]]), "mse", sv.SGD(1e6))
    s.play()
    until(lambda: not s.playing)
    with pytest.raises(GradientError):
        s.pause()
    s.pause()
    s.seek(0)


def test_two_sessions_play_at_once() -> None:
    sessions = [session(batch=None), session(batch=None)]
    for s in sessions:
        s.play()
    until(lambda: all(s.step_index > 500 for s in sessions))
    for s in sessions:
        s.pause()
    steps = min(s.step_index for s in sessions)
    assert (sessions[0].losses[:steps] == sessions[1].losses[:steps]).all()
    assert threading.active_count() < 20


# Pinned weights.


def test_a_pinned_weight_has_a_history_from_the_start_on() -> None:
    s = session()
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
    with s._session_lock.taken():  # the history is made afterwards
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
    with refused(InputError, "'grad'"):
        s.history(w, "grad")  # type: ignore[arg-type]  # on purpose


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
    with refused(InputError, "no layers"):
        sv.Session(line, ([[1.0]], [[2.0]]), engine="python").norms()


def test_a_history_goes_back_over_another_activation() -> None:
    s = advanced(session(), 10)
    s.set_activation(0, "relu")
    s.advance(10)
    told = {}
    for step in range(21):
        s.seek(step)
        told[step] = float(s.network.bank.value[3])
    s.pin(3)
    steps, values = s.history(3, wait=True)
    assert dict(zip(steps.tolist(), values.tolist(), strict=True)) == told
    assert s.network.layers[0].activation == "relu"


def test_a_long_history_is_thinned() -> None:
    s = advanced(session(batch=None), 20_000)
    s.pin(0)
    steps, values = s.history(0, wait=True)
    assert 1900 < len(steps) < 2100 and len(values) == len(steps)
    s.seek(int(steps[777]))
    assert s.network.bank.value[0] == values[777]


def test_what_was_broken_off_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    s, reference = session(), session()
    s.advance(50)
    steps = s.timeline.trainer.steps

    def broken(first: int, count: int) -> Any:
        monkeypatch.undo()
        steps(first, count)
        raise KeyboardInterrupt

    monkeypatch.setattr(s.timeline.trainer, "steps", broken)
    with pytest.raises(KeyboardInterrupt):
        s.advance(5)
    assert s.step_index == 50 and s.network.bank.step_count == 50
    s.network.parameters()[2].value = s.network.parameters()[2].value
    s.advance(1)
    reference.advance(51)
    assert state(s) == state(reference) and not s.current_branch.journal


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


def test_a_small_memory_means_longer_replays_and_the_same_bits() -> None:
    s = advanced(session(memory=20_000), 3000)
    seen = {}
    rng = np.random.default_rng(0)
    for step in rng.integers(0, 3000, 20).tolist():
        s.seek(step)
        seen[step] = state(s)
    assert s.timeline.keyframes.used < 20_000
    reference = session()
    for step in sorted(seen):
        reference.seek(step)
        assert state(reference) == seen[step]


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
    assert s.operations == ["zero_grad", "forward", "loss", "backward", "step"]
    s.advance(20)
    s.edit(a, 1.0)
    s.advance(3, "operation")
    assert a.grad == 0.0 and s.loss > 0.0
    s.advance(1, "operation")
    assert a.grad != 0.0
    told = s.explain(a)  # type: ignore[arg-type]  # on purpose
    assert told.total == a.grad and told.lines[-1].name == "w"
    s.advance(400)
    assert told.new_value is not None and a.data == pytest.approx(2.0, abs=0.2)
    after = state(s)
    for step in (0, 20, 21, 200):
        s.seek(step)
    s.seek(420)
    assert state(s) == after


@every_engine
def test_its_phases_have_the_bits_of_whole_steps(engine: str) -> None:
    (_, whole), (_, slow) = wave(engine), wave(engine)
    whole.advance(9)
    slow.advance(45, "operation")
    assert state(whole) == state(slow)
    assert (whole.losses == slow.losses).all()


def test_what_an_expression_cannot_do_is_refused() -> None:
    _, s = wave("python")
    with refused(InputError):
        s.set_activation(0, "tanh")
    with refused(sv.ScalarvizError):
        s.to("cpu", "mixed")
    with refused(OwnershipError, "Value(data=3.0, grad=0)"):
        s.edit(sv.Value(3.0), 1.0)  # type: ignore[arg-type]  # on purpose


# What a strict reader found.


def test_what_waits_for_the_next_step_comes_before_what_is_done_there() -> None:
    net = sv.Network([2, 2, 1], "tanh", seed=0)
    s = sv.Session(net, ([[0.0, 1.0]], [[1.0]]), optimizer=sv.SGD(0.5), engine="python")
    s.advance(1, "operation")
    s.learning_rate = 2.0  # from the next step on
    s.advance(1)
    s.edit(0, 0.25)
    assert s.learning_rate == 2.0 and len(s.branches) == 1
    s.advance(2)
    after = net.bank.value.tobytes()
    assert s.learning_rate == 2.0
    s.seek(0)
    s.advance(3)
    assert net.bank.value.tobytes() == after and s.learning_rate == 2.0
    s.seek(1)  # on arrival there, and then something else
    s.edit(0, 0.5)
    assert s.learning_rate == 2.0 and len(s.branches) == 2


def test_what_waits_for_the_next_step_survives_a_branch_there() -> None:
    s = advanced(session(), 2)
    s.advance(3, "operation")
    s.set_activation(0, "relu")
    s.branch()
    s.advance(1, "operation")
    s.edit(3, 0.5)
    s.advance(1)
    s.advance(1, "operation")
    assert s.network.layers[0].activation == "relu"
    s.seek(2)
    s.advance(2, "operation")  # before it was asked for
    s.edit(3, 0.25)
    s.advance(2)
    assert s.network.layers[0].activation == "tanh"


def test_many_branches_in_little_memory() -> None:
    s = advanced(session(memory=5000), 2000)
    for _ in range(30):
        s.back(20)
        s.branch()
        s.advance(40)
    after = state(s)
    s.seek(100)
    s.seek(2600)
    assert state(s) == after


@pytest.mark.slow  # some 10 seconds
def test_a_thousand_branches_of_branches() -> None:
    s = session()
    for i in range(1100):
        s.advance(2)
        s.back(1)
        s.learning_rate = 0.01 + 1e-6 * i
    assert len(s.branches) == 1101 and s.step_index == 1100
    assert len(s.losses) == 1100


def test_objects_that_were_passed_can_be_changed_afterwards() -> None:
    s = session(optimizer=sv.SGD(0.1))
    optimizer, rows = sv.Momentum(0.2), np.array([0, 1])
    s.optimizer = optimizer
    s.edit(rows, 0.5)
    s.advance(5)
    optimizer.lr = 3.0
    optimizer.settings["momentum"] = 0.0  # type: ignore[index]  # on purpose
    rows[:] = 7
    s.advance(5)
    after = state(s)
    s.seek(0)
    s.seek(10)
    assert state(s) == after and s.learning_rate == 0.2


def test_the_verbs_of_the_network_beside_a_session_are_journalled_too() -> None:
    s = advanced(session(), 5)
    s.network.train_step(*PAIR, "mse", sv.Adam(0.01))
    s.advance(3)
    s.advance(11, "operation")
    s.network.bank.grad[:] = 0.5
    s.advance(2)
    after = state(s)
    s.seek(0)
    s.seek(10)
    assert state(s) == after
    assert [action.kind for action in s.current_branch.journal] == ["numbers", "numbers"]


def test_what_is_set_past_the_session_is_set_back_with_a_word() -> None:
    s = advanced(session(), 2)
    s.network.set_activation(0, "linear")
    with refused(OrderError):
        s.advance(1)
    assert s.operations[2] == "tanh 0"
    s.network.to("python")
    s.network.parameters()[4].value = 0.5  # what was written at the same time counts
    with pytest.raises(OrderError):
        s.advance(1)
    s.advance(1)
    reference = advanced(session(), 2)
    reference.edit(4, 0.5)
    reference.advance(1)
    assert state(s) == state(reference)
    s.seek(0)
    s.seek(3)
    assert state(s) == state(reference)


def test_a_network_belongs_to_one_session() -> None:
    first = advanced(session(), 2)
    second = sv.Session(first.network, PAIR, engine="cpu")
    with refused(OwnershipError):
        first.advance(1)
    with refused(OwnershipError):
        first.pin(3)
    first.pin(0, on=False)  # which a picture does when it is closed
    assert not first.pinned
    second.advance(1)
    import pickle

    assert len(pickle.loads(pickle.dumps(second.network)).bank) == 59


def test_freezing_while_it_plays_is_journalled(playing: sv.Session) -> None:
    playing.play()
    until(lambda: playing.step_index > 300)
    w = playing.network.parameters()[4]
    w.freeze()
    at = playing.step_index
    until(lambda: playing.step_index > at + 300)
    playing.pause()
    after, step = state(playing), playing.step_index
    playing.seek(0)
    playing.seek(step)
    assert state(playing) == after and w.frozen


def test_who_is_interrupted_while_waiting_holds_nobody_up(playing: sv.Session) -> None:
    session_lock = playing._session_lock
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


def test_an_explanation_waits_for_the_gradient_that_it_needs() -> None:
    s = advanced(session(optimizer=sv.Adam(0.01)), 3)
    s.advance(7, "operation")  # ... delta 1
    row = s.network.layers[1].rows.start
    assert s.explain(row).lines == ()
    s.advance(1, "operation")  # weight gradient 1
    told = s.explain(row)
    s.advance(1)
    assert told.new_value == pytest.approx(s.network.bank.value[row], rel=1e-6)
    clipped = advanced(session(optimizer=sv.Adam(0.01, clip_norm=0.01)), 8, "operation")
    assert clipped.explain(row).lines == ()


def test_another_optimizer_begins_anew() -> None:
    s = advanced(session(optimizer=sv.SGD(0.0)), 500)
    before = s.network.bank.value.copy()
    s.optimizer = sv.Adam(0.01)
    s.advance(1)
    assert abs(s.network.bank.value - before).max() == pytest.approx(0.01, rel=1e-3)


def test_a_loss_that_a_new_activation_would_spoil_is_refused() -> None:
    s = sv.Session(sv.Network([3, 4, 3], "tanh"), PAIR, "sigmoid_cross_entropy", engine="cpu")
    with refused(InputError, "'sigmoid'"):
        s.set_activation(-1, "sigmoid")


def test_switching_back_keeps_what_was_done_at_the_end() -> None:
    s = advanced(session(), 10)
    s.learning_rate = 0.5
    s.branch()
    s.switch(0)
    assert s.learning_rate == 0.5 and s.clock == Clock(10, 0, 1)


@pytest.mark.parametrize(
    "wrong", ["abc", None, object(), 10**30, 1.7, True, [], [[0, 1], [2, 3]], [True, False]]
)
def test_what_names_no_weight_is_refused(wrong: Any) -> None:
    s = session()
    for call in (lambda: s.edit(wrong, 0.5), lambda: s.freeze(wrong), lambda: s.pin(wrong)):
        with pytest.raises(InputError):
            call()
    with refused(InputError, "32"):
        s.explain(s.network.layers[0])
    s.edit(s.network.bank.value > 0, 0.0)  # a mask names those that it marks
    assert (s.network.bank.value <= 0).all()


def test_data_that_fails_leaves_the_numbers_where_the_clock_is() -> None:
    def make(step: int, batch: int, seed: int) -> Any:
        if step == 7:
            raise RuntimeError("no more data")
        return PAIR[0][:batch], PAIR[1][:batch]

    made = data.Generated(make, inputs=3, outputs=3)
    s = session("python", data=made)
    s.timeline.pace = 50.0
    start = s.network.bank.value.copy()
    with pytest.raises(RuntimeError, match="no more data"):
        s.advance(20)
    assert s.step_index == 0 and (s.network.bank.value == start).all()
    s.advance(5)
    assert s.step_index == 5 and not s.current_branch.journal


def test_leaps_are_told_from_single_operations() -> None:
    """A picture animates operations, and not what is done by whole steps."""
    s = session()
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


def test_a_snapshot_says_of_which_moment_it_is() -> None:
    s = session()
    shot = s.snapshot()
    s.advance(2, "operation")
    shot.request()
    s.advance(2, "operation")
    assert shot.moment.clock.place == (0, 2) and s.clock.place == (0, 4)
