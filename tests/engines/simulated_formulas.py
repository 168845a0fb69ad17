"""Formulas of users on the cuda engine in numba's simulator; see simulated_matrix.py.

A plan has the indices of formulas in their tables: one that is added while a training runs must not
shift them.
"""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import KINDS, Kind
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda.engine import CudaRun
from scalarviz.engines.reference import REFERENCES, Reference, not_none
from scalarviz.errors import EngineError
from tests.additions.test_custom_losses import chosen, square, squares, squares_gradient, twice
from tests.additions.test_custom_optimizers import constants, my_adam, plain
from tests.additions.test_layer_classes import Radial, Sines
from tests.additions.test_new_rows import Mirror
from tests.engines.agreement import difference, numbers
from tests.engines.simulator import engine_of, pair, reference_steps, run_of, slow, whole_or_not
from tests.wording import refused


def three(
    w: float, g: float, a: float, b: float, c: float, lr: float, share: float = 0.5
) -> tuple[float, float, float, float]:
    """An optimizer with more slots than those of scalarviz."""
    a = share * a + g
    b = share * b + a
    c = share * c + b
    return w - lr * c, a, b, c


def network_of() -> sv.Network:
    return sv.Network([3, 4, 2], "tanh", dtype="float64", seed=1)


def agree(run: CudaRun, plain_net: sv.Network, optimizer: Optimizer, steps: range) -> None:
    """A run takes steps, and so do the objects, with the same losses and weights."""
    batches = InOrder(*pair(plain_net))
    expected = reference_steps(plain_net, batches, run.loss_function, optimizer, steps)
    assert run.steps(optimizer, steps.start, len(steps)).losses == pytest.approx(expected)
    assert difference(plain_net.bank.value, run.engine.bank.value) < 1e-12


@pytest.mark.some("squares-kernels")
@whole_or_not
@pytest.mark.parametrize("loss", ["square", "chosen", "squares"])
def test_losses_and_optimizers_of_users(loss: str, whole: bool) -> None:
    sv.loss(square, twice)
    sv.loss(chosen)
    sv.loss(squares, squares_gradient, rows=True)
    kind = sv.optimizer(my_adam, ("m", "v"), constants=constants)
    net = network_of()
    run = run_of(net.copy(), InOrder(*pair(net)), sv.Loss(loss), whole=whole)
    agree(run, net, kind(0.05), range(3))
    agree(run, net, sv.optimizer(plain)(0.1), range(3, 5))


@pytest.mark.parametrize("loss", [*slow("mae"), "softmax_cross_entropy"])
def test_what_is_added_later_changes_no_run(loss: str) -> None:
    net = network_of()
    run = run_of(net.copy(), InOrder(*pair(net)), loss)
    agree(run, net, sv.Adam(0.05), range(2))
    sv.loss(square, twice)
    agree(run, net, sv.Adam(0.05), range(2, 4))
    agree(run, net, sv.optimizer(three, ("a", "b", "c"))(0.01), range(4, 6))


def half_of(z: float) -> float:
    return 0.5 * z


def half_slope(z: float, a: float) -> float:
    return 0.5


def quarter_of(z: float) -> float:
    return 0.25 * z


def quarter_slope(z: float, a: float) -> float:
    return 0.25


def test_all_kernels_of_a_network_have_the_newest_activation_of_a_name() -> None:
    sv.activation(half_of, half_slope, name="scaled")
    net = sv.Network([3, 4, 2], "scaled", dtype="float64", seed=1)
    batches = InOrder(*pair(net))
    engine = engine_of(net)
    run = engine.run(batches, sv.Loss.of("mse"))
    before = run.steps(sv.SGD(0.0), 0, 1).losses[0]
    engine.evaluate(batches.inputs)
    sv.activation(quarter_of, quarter_slope, name="scaled")
    twin = sv.Network([3, 4, 2], "scaled", dtype="float64", seed=1)
    agree(run, twin, sv.SGD(0.1), range(2))
    assert difference(twin(batches.inputs), engine.evaluate(batches.inputs)) < 1e-12
    assert before != run.steps(sv.SGD(0.0), 2, 1).losses[0]


def test_what_was_replaced_is_refused() -> None:
    old, kind = sv.Loss(sv.loss(square, name="mine")), sv.optimizer(plain, name="mine")
    net = network_of()
    run = run_of(net, InOrder(*pair(net)))
    sv.loss(chosen, name="mine")
    sv.optimizer(three, ("a", "b", "c"), name="mine")
    refused(EngineError, "loss").by(run_of, net, InOrder(*pair(net)), old)
    refused(EngineError, "optimizer").by(run.steps, kind(0.1), 0, 1)


def snake(x: float, slope: float = 1.0, shift: float = 0.25) -> float:
    return x + math.sin(slope * x) ** 2.0 / slope + shift


@whole_or_not
def test_layers_of_users(whole: bool) -> None:
    made = sv.layer(snake, {"slope": (4,), "shift": (2,)})
    net = sv.Network([sv.Dense(3, 4), made, sv.Dense(4, 2)], dtype="float64", seed=1)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    run = run_of(net.copy(), InOrder(*pair(net)), sv.Loss("mse"), whole=whole)
    agree(run, net, sv.Adam(0.05), range(3))


def own_layers() -> sv.Network:
    layers = [
        sv.Dense(3, 4, "tanh"), sv.Residual(Radial(4, 4)), Sines(4, 3), Mirror(3), sv.Dense(3, 2)
    ]  # fmt: skip
    net = sv.Network(layers, dtype="float64", seed=1)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    return net


@pytest.mark.slow
def test_what_has_no_kernel_runs_on_the_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "mirror", Kind("mirror", "y = -x"))
    mirror = Reference(lambda _, given: -given.x, lambda _, given: -not_none(given.upstream))
    monkeypatch.setitem(REFERENCES, "mirror", mirror)
    said: list[str] = []
    monkeypatch.setattr("scalarviz.engines.reference.inform", said.append)
    monkeypatch.setattr("scalarviz.engines.reference._said", set())
    net = own_layers()
    other, x = net.copy().to("cuda"), np.random.default_rng(0).normal(size=(11, 3))
    np.testing.assert_allclose(other(x), net(x), atol=1e-12)
    g = np.random.default_rng(1).normal(size=(11, 2))
    for each in (net, other):
        each.forward(x)
    np.testing.assert_allclose(other.backward(g), net.backward(g), atol=1e-12)
    np.testing.assert_allclose(other.bank.grad, net.bank.grad, atol=1e-12)
    targets = np.random.default_rng(2).normal(size=(11, 2))
    sessions = [
        sv.Session(own_layers(), (x, targets), "mse", sv.Adam(0.02), batch=4, engine=engine)
        for engine in ("python", "cuda", "cuda")
    ]
    plain, whole, slow = sessions
    for each in (plain, whole):
        each.advance(3)
        each.advance(6)  # the last batch of an epoch has three samples
    slow.advance(9 * len(slow.operations), "operation")
    np.testing.assert_allclose(whole.losses, plain.losses, rtol=1e-11)
    assert difference(whole.network.bank.value, plain.network.bank.value) < 1e-11
    assert np.array_equal(whole.network.bank.value, slow.network.bank.value)
    assert not whole.trainer.run.whole_steps
    (line,) = [each for each in said if "engine cuda has no kernels" in each]
    assert "Radial(4 -> 4)" in line and "'mirror'" in line
