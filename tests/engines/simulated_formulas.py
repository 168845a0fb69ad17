"""Formulas of users on the cuda engine in numba's simulator; see simulated_matrix.py.

A plan has the indices of formulas in their tables: one that is added while a training runs must not
shift them.
"""

import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda.engine import CudaRun
from scalarviz.errors import EngineError
from tests.additions.test_custom_losses import chosen, square, twice
from tests.additions.test_custom_optimizers import plain
from tests.engines.agreement import difference
from tests.engines.simulator import engine_of, pair, reference_steps, run_of, slow
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
