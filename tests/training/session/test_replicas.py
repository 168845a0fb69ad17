"""Replicas: many networks of one shape trained at once, each as it would be alone."""

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.cpu.parallel_networks import CpuMany
from scalarviz.errors import EngineError, InputError
from scalarviz.training.session import replicas as module
from scalarviz.training.session.replicas import Replicas
from tests.sessions import advanced
from tests.wording import refused

PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]]


def session(seed: int = 0, network: sv.Network | None = None, **options: Any) -> sv.Session:
    made = sv.Network([2, 8, 8, 1], "relu", seed=seed, dtype="float64")
    options = {"data": data.Xnor(), "optimizer": sv.SGD(0.05), "engine": "cpu"} | options
    net = network or made
    return sv.Session(
        net, options.pop("data"), "mse", options.pop("optimizer"), seed=seed, **options
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=50))},
        {"batch": 1, "data": data.Xor(order="picked")},
        {"batch": 3, "optimizer": sv.Momentum(0.02)},
    ],
    ids=["plain", "adam", "picked", "shuffled"],
)
def test_each_has_the_bits_of_a_session_of_its_own(options: dict[str, Any]) -> None:
    replicas = advanced(sv.replicate(session(**options), seeds=[3, 0, 2**40, 17, 5]), 20)
    replicas.advance()
    for i, seed in enumerate(replicas.seeds):
        alone = advanced(session(seed, **options), 21)
        assert (replicas.banks[i].value == alone.network.bank.value).all()
        assert (replicas.banks[i].grad == alone.network.bank.grad).all()
        assert (replicas.losses[i] == alone.losses).all()
        assert replicas.banks[i].step_count == 21
    assert replicas.losses.shape == (5, 21) and len(replicas) == 5


@pytest.mark.parametrize("rows", [1, 150, 10**6])
def test_initial_numbers_that_are_drawn_together_are_those_of_each_seed(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", rows)  # of 59 a network: none, two or all together
    seeds = [3, 2**64 - 1, 3, 0, 2**32]
    pair = np.eye(4, 3), np.eye(4, 3)
    layers = [sv.Dense(3, 8, "tanh", init="normal"), sv.Dropout(8, 0.5), sv.Dense(8, 3)]
    net = sv.Network(layers, dtype="float64")
    made = sv.replicate(sv.Session(net, pair, engine="cpu"), seeds)
    for bank, seed in zip(made.banks, seeds, strict=True):
        alone = net.fresh(seed).bank
        assert (bank.value == alone.value).all() and (bank.state == alone.state).all()


@pytest.mark.parametrize("early", [True, False])
def test_their_weights_stand_on_what_the_kernels_train(early: bool) -> None:
    """Whenever the networks are made first, they have the numbers that the kernels train."""
    replicas, twins = (sv.replicate(session(), range(3)) for _ in range(2))
    weights = [network.weight(104) for network in replicas.networks] if early else []
    before = [bank.value.copy() for bank in replicas.banks]
    replicas.advance(3)
    twins.advance(3)
    values = [bank.value.copy() for bank in replicas.banks]
    weights = weights or [network.weight(104) for network in replicas.networks]
    for i, (weight, old, new) in enumerate(zip(weights, before, values, strict=True)):
        network, bank = replicas.networks[i], replicas.banks[i]
        assert network.bank is bank and network.weight(104) is weight and bank.step_count == 3
        assert (bank.value == new).all() and (bank.state == twins.banks[i].state).all()
        assert weight.value == new[104] != old[104]
    replicas.advance(2)
    assert [each.value for each in weights] == [bank.value[104] for bank in replicas.banks]


def test_points_and_mixed_precision_have_replicas_too() -> None:
    def texture(seed: int) -> sv.Session:
        net = sv.Network([sv.FrequencyEncoding(2, octaves=2), sv.Dense(8, 3, "sigmoid")], seed=seed)
        pixels = np.random.default_rng(0).random((8, 8, 3))
        return sv.Session(
            net, data.Texture(pixels), batch=300, engine="cpu", seed=seed, precision="mixed"
        )

    replicas = advanced(sv.replicate(texture(0), seeds=[4, 9]), 5)
    for i, seed in enumerate((4, 9)):
        alone = advanced(texture(seed), 5)
        assert (replicas.banks[i].value == alone.network.bank.value).all()


def test_what_each_says() -> None:
    replicas = advanced(sv.replicate(session(), range(3)), 10)
    replicas.advance(0)
    assert replicas.step_index == 10 and replicas.losses.shape == (3, 10)
    outputs = replicas.outputs(PLACES)
    assert outputs.shape == (3, 4, 1)
    assert (outputs[1] == replicas.networks[1].copy().to("cpu")(PLACES)).all()
    some = replicas.outputs(PLACES, [True, False, True])
    assert (some == outputs[[0, 2]]).all()
    with refused(InputError, "[True]"):
        replicas.outputs(PLACES, [True])
    w = replicas.networks[2].parameters()[5]
    assert w.value == replicas.banks[2].value[5]
    w.value = 0.5
    assert replicas.banks[2].value[5] == 0.5


def test_what_cannot_be_replicated_is_refused() -> None:
    with refused(InputError):
        sv.replicate(session(), [])
    with refused(InputError, "-2"):
        sv.replicate(session(), [1, -2])
    with refused(EngineError, "python"):
        sv.replicate(session(engine="python"), range(2))
    with refused(InputError, "5"):
        sv.replicate(session(), 5)  # type: ignore[arg-type]  # on purpose
    for other in (sv.Network([2, 1]), 3):
        with refused(InputError, other):
            sv.replicate(other, range(2))  # type: ignore[arg-type]  # on purpose
    w = sv.Value(1.0)
    expression = sv.Session(sv.compile(lambda x: w * x, inputs=1), ([[1.0]], [[2.0]]))
    with refused(InputError, "expressions"):
        sv.replicate(expression, range(2))
    made = data.Generated(
        lambda step, batch, seed: (np.zeros((batch, 2)), np.zeros((batch, 1))), inputs=2, outputs=1
    )
    with refused(InputError, "Generated(make=<lambda>"):
        sv.replicate(session(data=made, batch=4), range(2))


def test_ctrl_c_leaves_clock_losses_and_networks_at_the_same_step() -> None:
    def replicas() -> Replicas:
        net = sv.Network([2, 16, 1], "tanh")
        s = sv.Session(net, data.Circle(), "mse", sv.Adam(0.01), batch=8, engine="cpu")
        return sv.replicate(s, range(4))

    stopped, straight = replicas(), replicas()
    stopped.advance(10)
    many = 5_000_000
    start = time.perf_counter()
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        stopped.advance(many)
    assert time.perf_counter() - start < 2.0
    step = stopped.step_index
    assert 10 < step < many
    assert [bank.step_count for bank in stopped.banks] == [step] * 4
    assert stopped.losses.shape == (4, step)
    stopped.advance(50)
    straight.advance(step + 50)
    assert (stopped.losses == straight.losses).all()
    for bank, other in zip(stopped.banks, straight.banks, strict=True):
        assert bank.value.tobytes() == other.value.tobytes()
        assert bank.grad.tobytes() == other.grad.tobytes()


def test_ctrl_c_right_after_the_kernels_breaks_off_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas, straight = sv.replicate(session(), range(3)), sv.replicate(session(), range(3))
    replicas.advance(10)
    steps = CpuMany.steps

    def interrupted(many: CpuMany, first: int, count: int) -> Any:
        losses = steps(many, first, count)
        signal.raise_signal(signal.SIGINT)
        return losses

    monkeypatch.setattr(CpuMany, "steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replicas.advance(1000)
    monkeypatch.undo()
    step = replicas.step_index
    assert [bank.step_count for bank in replicas.banks] == [step] * 3
    straight.advance(step)
    assert (replicas.losses == straight.losses).all()
    assert (replicas.banks[1].grad == straight.banks[1].grad).all()
