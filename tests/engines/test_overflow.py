"""A step that would make a weight or a slot infinite is not taken, on any engine."""

import math
from contextlib import suppress

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import GradientError, NotFiniteError, UpdateError
from tests.sessions import advanced
from tests.strategies import RUNNABLE
from tests.wording import refused

X = np.random.default_rng(0).random((8, 3))
every_engine = pytest.mark.parametrize("engine", RUNNABLE)

# An optimizer, by what targets are multiplied, the step that overflows, and what it overflows.
CASES = {
    "rate": (lambda: sv.SGD(1e300), 1.0, 0, "layer 0, perceptron 0, weight from input 0"),
    "l2": (lambda: sv.SGD(0.1, l2=1e38), 1.0, 1, "layer 0, perceptron 0, weight from input 0"),
    "adamw": (lambda: sv.AdamW(0.1, decay=1e38), 1.0, 1, "v of layer 0, perceptron 0"),
    "velocity": (lambda: sv.Momentum(1e-30), 1e38, 3, "velocity of layer 0, perceptron 0, bias"),
    "v": (lambda: sv.Adam(0.01), 1e25, 0, "v of layer 0, perceptron 0, weight from input 0"),
    "square": (lambda: sv.RMSProp(0.01), 1e25, 0, "square of layer 0, perceptron 0"),
}
# Where the step before has spoilt the weights already, one has to go back further.
BACK = {"l2": 0, "adamw": 0}
every_case = pytest.mark.parametrize("case", CASES)
Numbers = tuple[bytes, ...]


def network(engine: str) -> sv.Network:
    return sv.Network([3, 3], seed=1, engine=engine)


def numbers(bank: sv.Bank) -> Numbers:
    """Everything that a step changes, but for gradients."""
    blocks = [bank.blocks[names] for names in sorted(bank.blocks) if names]
    count = np.array([bank.step_count])
    return tuple(array.tobytes() for array in (bank.value, *blocks, bank.state, count))


def after(engine: str, case: str, steps: int) -> Numbers:
    """The numbers after so many good steps, one by one."""
    optimizer, factor, *_ = CASES[case]
    net, chosen = network(engine), optimizer()
    net.bank.slot_block(chosen.row.slots)
    for _ in range(steps):
        net.train_step(X, factor * (2 - X), "mse", chosen)
    return numbers(net.bank)


@every_engine
def test_what_was_set_at_the_refused_step_holds_in_it(engine: str) -> None:
    s = advanced(sv.Session(network(engine), (X, 2 - X), "mse", sv.SGD(0.1), engine=engine), 20)
    s.edit(0, 0.25)
    s.learning_rate = 1e300
    for _ in range(2):
        with refused(UpdateError, "step 20 "):
            s.advance(5)
        assert s.learning_rate == 1e300 and s.network.bank.value[0] == np.float32(0.25)


@every_engine
@every_case
def test_a_session_stops_before_that_step_and_all_engines_agree(engine: str, case: str) -> None:
    optimizer, factor, step, what = CASES[case]
    s = sv.Session(network(engine), (X, factor * (2 - X)), "mse", optimizer(), engine=engine)
    with refused(UpdateError, f"step {step} would make {what}"):
        s.advance(60)
    assert (s.step_index, s.next, len(s.losses)) == (step, "step", step)
    assert numbers(s.network.bank) == after(engine, case, step)
    with refused(UpdateError, f"step {step} ") as caught:  # as an operation too
        s.advance(1, "operation")
    assert numbers(s.network.bank) == after(engine, case, step)
    assert caught.value.back == BACK.get(case, step)
    assert f"go back first, s.seek({caught.value.back})" in caught.value.lines[1]
    s.seek(caught.value.back)
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
    with refused(UpdateError, f"step {step} would make {what}") as caught:
        net.train(X, factor * (2 - X), "mse", optimizer(), steps=60)
    assert len(caught.value.losses) == step
    assert numbers(net.bank) == after(engine, case, step)
    assert net.bank.grad.any()  # of the step that was not taken
    net.train(X, 1 - X, "mse", sv.SGD(0.0), steps=2)  # and it can go on


@every_engine
def test_a_training_that_stops_there_keeps_what_waited_for_its_backward(engine: str) -> None:
    net, untrained = network(engine), network(engine)
    for each in (net, untrained):
        each.forward(X)
    with pytest.raises(UpdateError):
        net.train(X, 1 - X, "mse", sv.SGD(1e300), steps=3)
    assert (net.backward(np.ones_like(X)) == untrained.backward(np.ones_like(X))).all()
    with refused(sv.ScalarvizError):
        net.backward(np.ones_like(X))


@every_engine
def test_the_verb_step_changes_nothing_then(engine: str) -> None:
    net = network(engine)
    net.forward(X)
    net.backward()
    before = numbers(net.bank), net.bank.grad.tobytes(), net.bank.moved.tobytes()
    for part in (net, net.layers[0], net.weight(0)):
        with refused(UpdateError, "-inf"):
            part.step(sv.SGD(1e300))
    assert (numbers(net.bank), net.bank.grad.tobytes(), net.bank.moved.tobytes()) == before
    net.step(sv.SGD(0.1))
    assert net.bank.step_count == 1


@every_engine
def test_a_frozen_weight_cannot_overflow(engine: str) -> None:
    net = network(engine)
    net.layers[0].freeze()
    net.layers[0].perceptrons[2].bias.unfreeze()
    with refused(UpdateError, "bias inf"):
        net.train(X, 1 - X, "mse", sv.SGD(1e300), steps=3)


@every_engine
def test_running_statistics_are_those_before_that_step(engine: str) -> None:
    def made() -> sv.Network:
        layers = [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 3)]
        return sv.Network(layers, seed=1, engine=engine)

    net, straight = made(), made()
    schedule = sv.Schedule("step", every=5, factor=1e300)
    with pytest.raises(UpdateError) as caught:
        net.train(X, 1 - X, "mse", sv.SGD(1e-2, schedule=schedule), steps=20)
    steps = len(caught.value.losses)
    assert steps == 5
    losses = straight.train(X, 1 - X, "mse", sv.SGD(1e-2, schedule=schedule), steps=steps)
    assert (losses == caught.value.losses).all()
    assert numbers(net.bank) == numbers(straight.bank)


def test_a_compiled_function_stops_too() -> None:
    for engine in ("python", "cpu"):
        slope = sv.Value(1.0)
        line = sv.compile(lambda x, slope=slope: slope * x, inputs=1, dtype="float32")
        line.to(engine)
        with refused(UpdateError, "-inf"):
            line.train_step([[2.0]], [[1.0]], "mse", sv.SGD(1e300))
        assert slope.data == 1.0
        s = sv.Session(line, ([[2.0]], [[1.0]]), "mse", sv.Momentum(1e3), engine=engine)
        with pytest.raises(GradientError):
            s.advance(1000)
        assert math.isfinite(slope.data) and s.next == "step"
        assert s.step_index == len(s.losses) > 3


def test_a_replica_stops_alone_with_the_numbers_of_a_session() -> None:
    data = (X, 1 - X)

    def session(seed: int) -> sv.Session:
        schedule = sv.Schedule("step", every=7, factor=1e30)
        optimizer = sv.Momentum(1e-2, schedule=schedule)
        return sv.Session(sv.Network([3, 4, 3], "relu", seed=seed), data, "mse", optimizer,
                          batch=4, engine="cpu", seed=seed)  # fmt: skip

    runs = advanced(sv.replicate(session(0), seeds=range(4)), 3)
    runs.advance(40)
    for seed, bank in zip(runs.seeds, runs.banks, strict=True):
        alone = session(seed)
        with pytest.raises(GradientError):
            alone.advance(43)
        taken = alone.step_index
        assert (np.isfinite(runs.losses[seed]) == (np.arange(43) < taken)).all()
        assert (runs.losses[seed, :taken] == alone.losses).all()
        assert bank.value.tobytes() == alone.network.bank.value.tobytes()
        assert bank.step_count == taken
    before = [bank.value.copy() for bank in runs.banks]
    runs.advance(2)
    assert all((bank.value == old).all() for bank, old in zip(runs.banks, before, strict=True))


# Where numpy would warn: at squares, at differences of infinities, at products and sums.
NETWORKS = {
    "dense": lambda dtype: sv.Network([3, 4, 3], "tanh", dtype=dtype),
    "batch norm": lambda dtype: sv.Network(
        [sv.Dense(3, 3), sv.BatchNorm(3), sv.Dense(3, 3)], dtype=dtype
    ),
    "layer norm": lambda dtype: sv.Network([sv.Dense(3, 3), sv.LayerNorm(3)], dtype=dtype),
    "residual": lambda dtype: sv.Network(
        [sv.Residual(sv.Dense(3, 3)), sv.Activation(3, "relu")], dtype=dtype
    ),
}


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
            s = sv.Session(NETWORKS[kind](dtype), (inputs, X), "mse", optimizer, engine="python")
            alone, trained = s.network.copy(), s.network.copy()
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
