"""Ctrl-C while a network trains, once or several times: its numbers are those of a whole step."""

import pickle
import signal
import threading
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines import engine as portions
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.engine import LARGE_ARRAY
from scalarviz.engines.python import PythonRun
from scalarviz.errors import Interrupted
from tests.engines.test_overflow import X, network, numbers
from tests.wording import refused

both_engines = pytest.mark.parametrize("engine", ["python", "cpu"])


def everything(bank: sv.Bank) -> tuple[bytes, ...]:
    """Everything that a step changes."""
    return (*numbers(bank), bank.grad.tobytes(), bytes([bank.has_gradients]))


@both_engines
def test_ctrl_c_ends_a_long_training_after_a_whole_step(engine: str) -> None:
    net, straight = network(engine), network(engine)
    net.train_step(X, 1 - X, "mse", sv.Adam(0.01))  # what is compiled is compiled before
    straight.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    steps = 3_000_000
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with refused(Interrupted, f"{steps:,} steps", varies=r"[\d,]+(?= of)") as caught:
        net.train(X, 1 - X, "mse", sv.Adam(0.01), steps=steps)
    losses = caught.value.losses
    assert 0 < len(losses) < steps
    assert (straight.train(X, 1 - X, "mse", sv.Adam(0.01), steps=len(losses)) == losses).all()
    assert everything(net.bank) == everything(straight.bank)
    with refused(sv.ScalarvizError):
        net.backward()


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
    layers = [sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)]
    net = sv.Network(layers, engine=engine)
    straight = net.copy()
    net.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    straight.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    restore = portions.restore

    def restore_under_fire(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        restore(*args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(portions, "restore", restore_under_fire)
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(Interrupted) as caught:
        net.train(X, 1 - X, "mse", sv.Adam(0.01), steps=3_000_000)
    losses = caught.value.losses
    assert (straight.train(X, 1 - X, "mse", sv.Adam(0.01), steps=len(losses)) == losses).all()
    assert everything(net.bank) == everything(straight.bank)
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
            with pytest.raises(Interrupted):
                net.train_step(x, y, "mse", optimizer)
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
    engine: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(engine)
    for _ in range(steps):
        net.train_step(X, 1 - X, "mse", sv.Adam(0.01))
    net.bank.slot_block(sv.Adam(0.01).row.slots)
    before = everything(net.bank)
    run: Any = PythonRun if engine == "python" else CpuRun
    monkeypatch.setattr(run, "steps", then_interrupted(run.steps))
    with refused(Interrupted, "0 of 5 steps"):
        net.train(X, X, "mse", sv.Adam(0.01), steps=5)
    assert everything(net.bank) == before
