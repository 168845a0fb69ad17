"""Steps that are not taken whole.

Numbers that would become infinite, and Ctrl-C in the midst of training.
"""

import copy
import math
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data import DataSet
from scalarviz.engines import engine as portions
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.engine import LARGE_ARRAY
from scalarviz.engines.python import PythonRun
from scalarviz.errors import GradientError, Interrupted, NotFiniteError, UpdateError
from tests.sessions import RUNNABLE, advanced, every_engine, fast_engines, reloaded
from tests.wording import refused

X = np.random.default_rng(0).random((8, 3))

# An optimizer, by what targets are multiplied, the step that overflows, and what it overflows.
CASES = {
    "rate": (sv.SGD(1e300), 1.0, 0, "layer 0, perceptron 0, weight from input 0"),
    "l2": (sv.SGD(0.1, l2=1e38), 1.0, 1, "layer 0, perceptron 0, weight from input 0"),
    "adamw": (sv.AdamW(0.1, decay=1e38), 1.0, 1, "v of layer 0, perceptron 0"),
    "velocity": (sv.Momentum(1e-30), 8e37, 4, "velocity of layer 0, perceptron 2, bias"),
    "v": (sv.Adam(0.01), 1e25, 0, "v of layer 0, perceptron 0, weight from input 0"),
    "square": (sv.RMSProp(0.01), 1e25, 0, "square of layer 0, perceptron 0"),
}
# Where the step before has spoilt the weights already, one has to go back further.
BACK = {"l2": 0, "adamw": 0}
every_case = pytest.mark.parametrize("case", CASES)
Numbers = tuple[bytes, ...]


def network(engine: str) -> sv.Network:
    return sv.Network([3, 3], seed=1, engine=engine)


@pytest.fixture
def net(engine: str) -> sv.Network:
    return network(engine)


def numbers(bank: sv.Bank) -> Numbers:
    """Everything that a step changes, but for gradients."""
    blocks = [bank.blocks[names] for names in sorted(bank.blocks) if names]
    count = np.array([bank.step_count])
    return tuple(array.tobytes() for array in (bank.value, *blocks, bank.state, count))


def after(engine: str, case: str, steps: int) -> Numbers:
    """The numbers after so many good steps, one by one."""
    optimizer, factor, *_ = CASES[case]
    net = network(engine)
    net.bank.slot_block(optimizer.row.slots)
    for _ in range(steps):
        net.train_step(X, factor * (2 - X), "mse", optimizer)
    return numbers(net.bank)


@every_engine
def test_what_was_set_at_the_refused_step_holds_in_it(engine: str) -> None:
    s = advanced(sv.Session(network(engine), (X, 2 - X), "mse", sv.SGD(0.1), engine=engine), 20)
    s.edit(0, 0.25)
    s.learning_rate = 1e300
    for _ in range(2):
        refused(UpdateError, "step 20 ").by(s.advance, 5)
        assert s.learning_rate == 1e300 and s.network.bank.value[0] == np.float32(0.25)


@every_engine
@every_case
def test_a_session_stops_before_that_step_and_all_engines_agree(engine: str, case: str) -> None:
    optimizer, factor, step, what = CASES[case]
    s = sv.Session(network(engine), (X, factor * (2 - X)), "mse", optimizer, engine=engine)
    refused(UpdateError, f"step {step} would make {what}").by(s.advance, 60)
    assert (s.step_index, s.next, len(s.losses)) == (step, "step", step)
    assert numbers(s.network.bank) == after(engine, case, step)
    error = refused(UpdateError, f"step {step} ").by(s.advance, 1, "operation")
    assert numbers(s.network.bank) == after(engine, case, step)
    assert error.back == BACK.get(case, step)
    assert f"go back first, s.seek({error.back})" in error.lines[1]
    s.seek(error.back)
    s.optimizer = sv.SGD(0.0)
    s.advance(3)
    s.seek(0)
    assert numbers(s.network.bank)[0] == network(engine).bank.value.tobytes()


@every_engine
@every_case
def test_training_without_a_session_stops_there_and_keeps_its_losses(
    engine: str, case: str
) -> None:
    optimizer, factor, step, what = CASES[case]
    net = network(engine)
    error = refused(UpdateError, f"step {step} would make {what}").by(
        net.train, X, factor * (2 - X), "mse", optimizer, steps=60
    )
    assert len(error.losses) == step
    assert numbers(net.bank) == after(engine, case, step)
    assert net.bank.grad.any()  # of the step that was not taken
    net.train(X, 1 - X, "mse", sv.SGD(0.0), steps=2)  # and it can go on


@every_engine
def test_a_training_that_stops_there_keeps_what_waited_for_its_backward(engine: str) -> None:
    net, untrained = network(engine), network(engine)
    for each in (net, untrained):
        each.forward(X)
    refused(UpdateError).by(net.train, X, 1 - X, "mse", sv.SGD(1e300), steps=3)
    assert (net.backward(np.ones_like(X)) == untrained.backward(np.ones_like(X))).all()
    refused(sv.ScalarvizError).by(net.backward, np.ones_like(X))


@every_engine
def test_the_verb_step_changes_nothing_then(net: sv.Network) -> None:
    net.forward(X)
    net.backward()
    before = numbers(net.bank), net.bank.grad.tobytes(), net.bank.moved.tobytes()
    for part in (net, net.layers[0], net.weight(0)):
        refused(UpdateError, "-inf").by(part.step, sv.SGD(1e300))
    assert (numbers(net.bank), net.bank.grad.tobytes(), net.bank.moved.tobytes()) == before
    net.step(sv.SGD(0.1))
    assert net.bank.step_count == 1


@every_engine
def test_a_frozen_weight_cannot_overflow(net: sv.Network) -> None:
    net.layers[0].freeze()
    net.layers[0].perceptrons[2].bias.unfreeze()
    refused(UpdateError, "bias inf").by(net.train, X, 1 - X, "mse", sv.SGD(1e300), steps=3)


@every_engine
def test_running_statistics_are_those_before_that_step(engine: str) -> None:
    def made() -> sv.Network:
        return sv.Network([sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 3)], seed=1, engine=engine)

    net, straight = made(), made()
    schedule = sv.Schedule("step", every=5, factor=1e300)
    error = refused(UpdateError, "step 5 ").by(
        net.train, X, 1 - X, "mse", sv.SGD(1e-2, schedule=schedule), steps=20
    )
    steps = len(error.losses)
    assert steps == 5
    losses = straight.train(X, 1 - X, "mse", sv.SGD(1e-2, schedule=schedule), steps=steps)
    assert (losses == error.losses).all()
    assert numbers(net.bank) == numbers(straight.bank)


def test_a_compiled_function_stops_too() -> None:
    for engine in ("python", "cpu"):
        slope = sv.Value(1.0)
        line = sv.compile(lambda x, slope=slope: slope * x, inputs=1, dtype="float32")
        line.to(engine)
        refused(UpdateError, "-inf").by(line.train_step, [[2.0]], [[1.0]], "mse", sv.SGD(1e300))
        assert slope.data == 1.0
        s = sv.Session(line, ([[2.0]], [[1.0]]), "mse", sv.Momentum(1e3), engine=engine)
        refused(GradientError).by(s.advance, 1000)
        assert math.isfinite(slope.data) and s.next == "step"
        assert s.step_index == len(s.losses) > 3


# Where numpy would warn: at squares, at differences of infinities, at products and sums.
NETWORKS = {
    "dense": [sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)],
    "batch norm": [sv.Dense(3, 3), sv.BatchNorm(3), sv.Dense(3, 3)],
    "layer norm": [sv.Dense(3, 3), sv.LayerNorm(3)],
    "residual": [sv.Residual(sv.Dense(3, 3)), sv.Activation(3, "relu")],
}


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "optimizer", [sv.SGD(1e30), sv.SGD(0.1, clip_norm=1.0)], ids=["rate", "clip"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", NETWORKS)
def test_what_overflows_on_the_python_engine_warns_of_nothing(
    kind: str, dtype: str, optimizer: sv.Optimizer
) -> None:
    # Warnings are errors in tests; a step may be taken or refused.
    for size in (1e20, 1e38, *([] if dtype == "float32" else [1e154, 1e200, 1e307])):
        for signs in (1.0, np.sign(X - 0.5)):
            inputs = X * signs * size
            net = sv.Network(copy.deepcopy(NETWORKS[kind]), dtype=dtype)
            s = sv.Session(net, (inputs, X), "mse", optimizer, engine="python")
            alone, trained = net.copy(), net.copy()
            with suppress(GradientError):
                for _ in range(len(s.trainer.moments)):
                    s.advance(1, "operation")
                    s.explain(0)
                s.advance(2)
            with suppress(GradientError):
                trained.train(inputs, X, "mse", optimizer, steps=3)
            with suppress(GradientError, NotFiniteError):
                alone.backward(alone.forward(inputs))
                alone.step(optimizer)


TWELVE = np.random.default_rng(0).random((12, 3))
SEED = 0
MIXED = sv.Precision("mixed", 64.0)

# The type, the precision, the optimizer, and a number of the data that is too large for it.
STATISTICS_CASES = {
    "half": ("float32", MIXED, sv.SGD(0.1), 7e6),
    "float32": ("float32", sv.Precision(), sv.SGD(0.1, not_finite="zero"), 1e39),
    "variance": ("float64", sv.Precision(), sv.Adam(0.1), 1e155),
}
every_statistics_case = pytest.mark.parametrize(
    ("case", "engine"),
    [
        (case, engine)
        for case in STATISTICS_CASES
        for engine in RUNNABLE
        if case != "half" or engine == "cpu"
    ],
)


def network_with_statistics(case: str, engine: str, seed: int = SEED) -> sv.Network:
    dtype, precision, *_ = STATISTICS_CASES[case]
    layers = [sv.Residual(sv.Dense(3, 3), sv.BatchNorm(3)), sv.BatchNorm(3), sv.Dense(3, 2)]
    return sv.Network(layers, seed=seed, dtype=dtype).to(engine, precision)


def spoilt(case: str) -> np.ndarray:
    """Inputs of which the last cannot be."""
    inputs = TWELVE.copy()
    inputs[-1, 1] = STATISTICS_CASES[case][-1]
    return inputs


def session(case: str, engine: str, inputs: np.ndarray, seed: int = SEED) -> sv.Session:
    """Five samples a step."""
    _, precision, optimizer, _ = STATISTICS_CASES[case]
    net = network_with_statistics(case, engine, seed)
    return sv.Session(
        net, (inputs, 1 - TWELVE[:, :2]), "mse", optimizer, batch=5, engine=engine, seed=seed,
        precision=precision,
    )  # fmt: skip


def spoilt_step(inputs: np.ndarray) -> int:
    """The first step of a session whose batch has the sample that cannot be."""
    batches = DataSet.of((inputs, inputs)).batches(5, SEED)
    return next(k for k in range(9) if abs(batches.at(k)[0]).max() > 1e4)


@every_statistics_case
def test_a_session_stops_before_that_step_with_the_statistics_untouched(
    case: str, engine: str, tmp_path: Path
) -> None:
    s, by_moments = (session(case, engine, spoilt(case)) for _ in range(2))
    step = spoilt_step(spoilt(case))
    assert step > 0
    error = refused(UpdateError, f"step {step} would make layer 0, part 1, running ").by(
        s.advance, 60
    )
    good = advanced(session(case, engine, spoilt(case)), step)
    known = good.network.bank.state
    assert (known[3:] != network_with_statistics(case, engine).bank.state[3:]).all()
    assert (s.step_index, s.next, len(s.losses)) == (step, "step", step)
    assert (s.network.bank.state == known).all()
    assert (s.network.bank.value == good.network.bank.value).all()
    by_moments.advance(step)
    by_moments.advance(len(s.network.program.moments) - 1, "operation")
    for each in (s, by_moments, s):
        again = refused(UpdateError, f"step {step} would make layer 0, part 1, running ").by(
            each.advance, 1, "operation"
        )
        assert str(again) == str(error)
        assert (each.network.bank.state == known).all()
        assert (each.network.bank.value == good.network.bank.value).all()
    assert (reloaded(s.network, tmp_path).bank.state[3:] == known[3:]).all()
    s.seek(0)
    assert (s.network.bank.state == network_with_statistics(case, engine).bank.state).all()


@every_statistics_case
def test_training_without_a_session_stops_there(case: str, engine: str) -> None:
    net, optimizer = network_with_statistics(case, engine), STATISTICS_CASES[case][2]
    inputs, targets = spoilt(case), 1 - TWELVE[:, :2]
    start = net.bank.value.copy(), net.bank.state.copy()
    said = refused(UpdateError, "of feature 0 inf").by(
        net.train, inputs, targets, "mse", optimizer, steps=20
    )
    assert ("precision='full'" in str(said)) == (case == "half")
    assert (net.bank.value == start[0]).all() and (net.bank.state == start[1]).all()
    assert net.bank.step_count == 0
    net.train(TWELVE, targets, "mse", optimizer, steps=2)
    assert net.bank.step_count == 2 and np.isfinite(net.bank.state).all()


def rising(engine: str, seed: int) -> sv.Session:
    """The rate of a step is too large for any network."""
    optimizer = sv.Momentum(1e-2, schedule=sv.Schedule("step", every=7, factor=1e30))
    net = sv.Network([3, 4, 3], "relu", seed=seed)
    return sv.Session(net, (X, 1 - X), "mse", optimizer, batch=4, engine=engine, seed=seed)


def unsteady(engine: str, seed: int) -> sv.Session:
    return session("variance", engine, spoilt("variance"), seed)


@fast_engines
@pytest.mark.parametrize(
    ("make", "kind"),
    [(rising, GradientError), (unsteady, UpdateError)],
    ids=["rate", "statistics"],
)
def test_a_replica_stops_alone_with_the_numbers_of_a_session(
    make: Callable[[str, int], sv.Session], kind: type[GradientError], engine: str
) -> None:
    made = partial(make, engine)
    runs = advanced(sv.replicate(made(0), seeds=range(4)), 3)
    runs.advance(40)
    said, counts = runs.outputs(X), set()
    for seed, bank in zip(runs.seeds, runs.banks, strict=True):
        alone = made(seed)
        with pytest.raises(kind):
            alone.advance(43)
        taken = alone.step_index
        assert (np.isfinite(runs.losses[seed]) == (np.arange(43) < taken)).all()
        assert (runs.losses[seed, :taken] == alone.losses).all()
        assert numbers(bank) == numbers(alone.network.bank) and bank.step_count == taken
        assert (said[seed] == alone.network(X)).all()
        counts.add(taken)
    assert len(counts) > 1 or make is rising
    before = [bank.value.copy() for bank in runs.banks]
    runs.advance(2)
    assert all((bank.value == old).all() for bank, old in zip(runs.banks, before, strict=True))


def dynamic(inputs: np.ndarray) -> sv.Session:
    layers = [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 2)]
    net, precision = sv.Network(layers, seed=1), sv.Precision("mixed", 64.0, dynamic=True)
    return sv.Session(net, (inputs, 1 - TWELVE[:, :2]), "mse", sv.Adam(0.01), batch=5, engine="cpu",
                      seed=SEED, precision=precision)  # fmt: skip


@pytest.mark.parametrize("unit", ["step", "operation"])
def test_a_step_that_a_dynamic_scale_skips_moves_no_statistic(unit: str) -> None:
    s = dynamic(spoilt("half"))
    step, skipped = spoilt_step(spoilt("half")), 0
    s.advance(step)
    for _ in range(20):
        before = s.network.bank.state.copy()
        s.advance(1 if unit == "step" else len(s.network.program.moments), unit)
        after = s.network.bank.state
        is_skipped = after[2] > skipped
        assert (after[3:] == before[3:]).all() == is_skipped
        assert np.isfinite(after).all()
        skipped += is_skipped
    assert 1 < skipped < 20
    straight = advanced(dynamic(spoilt("half")), s.step_index)
    assert numbers(straight.network.bank) == numbers(s.network.bank)


@every_statistics_case
def test_a_forward_by_itself_is_undone(case: str, engine: str) -> None:
    net = network_with_statistics(case, engine)
    known = net.bank.state.copy()
    refused(NotFiniteError, "of feature 0 inf").by(net.forward, spoilt(case))
    assert (net.bank.state == known).all()
    net.forward(TWELVE)
    net.backward()
    assert (net.bank.state != known).sum() == 12


def test_the_forward_of_a_layer_by_itself_is_undone() -> None:
    layer = sv.BatchNorm((3, 1, 1))
    refused(NotFiniteError, "channel 1 inf").by(layer.forward, spoilt("variance"))
    assert layer.state.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert layer.unmatched == 0


both_engines = pytest.mark.parametrize("engine", ["python", "cpu"])


def everything(bank: sv.Bank) -> tuple[bytes, ...]:
    """Everything that a step changes."""
    return (*numbers(bank), bank.grad.tobytes(), bytes([bank.has_gradients]))


def interrupt(net: sv.Network) -> None:
    """Ctrl-C ends a long training after a whole step."""
    straight, steps = net.copy(), 3_000_000
    for each in (net, straight):  # what is compiled is compiled before
        each.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    losses = (
        refused(Interrupted, f"{steps:,} steps", varies=r"[\d,]+(?= of)")
        .by(net.train, X, 1 - X, "mse", sv.Adam(0.01), steps=steps)
        .losses
    )
    assert 0 < len(losses) < steps
    assert (straight.train(X, 1 - X, "mse", sv.Adam(0.01), steps=len(losses)) == losses).all()
    assert everything(net.bank) == everything(straight.bank)


@pytest.mark.some(1)
@both_engines
def test_ctrl_c_ends_a_long_training_after_a_whole_step(engine: str) -> None:
    net = network(engine)
    interrupt(net)
    refused(sv.ScalarvizError).by(net.backward)


def test_ctrl_c_is_the_interrupt_that_programs_know_and_comes_out_of_other_processes() -> None:
    assert issubclass(Interrupted, KeyboardInterrupt)
    error = Interrupted(np.array([2.0, 1.0]), 5)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and (again.losses == error.losses).all()


@pytest.mark.slow
@both_engines
def test_more_signals_do_not_break_off_what_the_first_has_begun(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = sv.Network([sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)], engine=engine)
    restore = portions.restore

    def restore_under_fire(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        restore(*args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(portions, "restore", restore_under_fire)
    interrupt(net)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_large_network_has_the_numbers_before_the_call_that_was_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([200, 200], engine="cpu")
    assert net.bank.value.nbytes > LARGE_ARRAY
    x, y = np.random.default_rng(0).random((2, 3, 200))
    for optimizer in (sv.Adam(0.01), sv.Adam(0.01), sv.Momentum(0.01)):
        net.train_step(x, y, "mse", optimizer)
        before = everything(net.bank)
        with monkeypatch.context() as patch:
            patch.setattr(CpuRun, "steps", then_interrupted(CpuRun.steps))
            refused(Interrupted).by(net.train_step, x, y, "mse", optimizer)
        assert everything(net.bank) == before


def then_interrupted(steps: Any) -> Any:
    """Return a method that takes steps, then is interrupted."""

    def broken(*args: Any) -> None:
        steps(*args)
        raise KeyboardInterrupt

    return broken


@both_engines
@pytest.mark.parametrize("steps", [0, 1])
def test_gradients_of_a_first_step_that_was_broken_off_are_not_seen(
    engine: str, steps: int, monkeypatch: pytest.MonkeyPatch, net: sv.Network
) -> None:
    for _ in range(steps):
        net.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    net.bank.slot_block(sv.Adam(0.01).row.slots)
    before = everything(net.bank)
    run: Any = PythonRun if engine == "python" else CpuRun
    monkeypatch.setattr(run, "steps", then_interrupted(run.steps))
    refused(Interrupted, "0 of 5 steps").by(net.train, X, X, "mse", sv.Adam(0.01), steps=5)
    assert everything(net.bank) == before
