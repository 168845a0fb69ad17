"""The fused kernel, compiled for the host, against the numba kernels in their simulator.

`test_cuda_fused.py` runs this file in the simulator. A thread of the GPU is a thread of the host,
see fused_host.h. Both sides call the same Python functions for formulas, and both have the same
product with a sum, which is not that of floats. So one product that is fused on one side only, or
one sum in another order, is seen: numbers are compared bit by bit.
"""

from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.data.batches import (
    Batches,
    InOrder,
    Picked,
    PictureTransform,
    Points,
    Shuffled,
)
from scalarviz.engines.cuda.fused import launch, shape
from scalarviz.engines.cuda.fused.compiling import Choice
from scalarviz.engines.cuda.fused.shape import Table
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.model.operations import NONE
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.own_rates import NO_OWN_RATES
from tests.engines.fused_card import HostCard, bits, fused_product
from tests.engines.fused_library import needs_a_compiler
from tests.engines.simulator import numbers, pair, run_of, slow

needs_a_compiler()

THREADS, LANES, BLOCKS = 6, 2, 3


@pytest.fixture(autouse=True)
def same_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator rounds the product of a fused multiply-add; here it does not."""
    from numba.cuda.simulator import kernelapi

    def fma(self: Any, a: Any, b: Any, c: Any) -> Any:
        return fused_product(a, b, c)

    monkeypatch.setattr(kernelapi.FakeCUDAModule, "fma", fma)
    monkeypatch.setattr(shape, "THREADS", THREADS)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> HostCard:
    made = HostCard(BLOCKS, THREADS, LANES, shared=20_000)
    monkeypatch.setattr(launch, "find_card", lambda: made)
    return made


def both(
    net: sv.Network, batches: Batches, monkeypatch: pytest.MonkeyPatch,
    loss: str | sv.Loss = "mse", optimizer: Optimizer | None = None,
    calls: tuple[int, ...] = (3, 2),
) -> list[Any]:  # fmt: skip
    """Take steps on both sides, and compare them; return their outcomes."""
    optimizer, sides = optimizer or sv.Adam(0.05), []
    for switch in ("0", "1"):
        monkeypatch.setenv(launch.SWITCH, switch)
        each, first, outcomes = net.copy(), 2, []
        run = run_of(each, batches, loss)
        for count in calls:
            outcomes.append(run.steps(optimizer, first, count))
            first += count
        sides.append((each.bank, outcomes))
    card: Any = launch.find_card()
    assert len(card.launches) == len(calls)  # and so no step was left to the other kernels
    (expected, wanted), (found, outcomes) = sides
    for one, other in zip(wanted, outcomes, strict=True):
        assert one.bad == other.bad
        assert (one.overflow is None) == (other.overflow is None)
        assert bits(one.losses).tolist() == bits(other.losses).tolist(), (one.losses, other.losses)
    assert expected.step_count == found.step_count
    assert (bits(expected.value) == bits(found.value)).all()
    assert (bits(expected.grad) == bits(found.grad)).all()
    for name in optimizer.row.slots:
        assert (bits(expected.slots[name]) == bits(found.slots[name])).all()
    assert (expected.value != net.bank.value).any() or wanted[0].bad != NONE
    return outcomes


def network(*sizes: int, activation: str = "tanh", last: str = "sigmoid") -> sv.Network:
    return sv.Network(list(sizes), activation, last, dtype="float32", seed=3)


def mixed_layers() -> sv.Network:
    """Layers with and without biases and activations, of odd and of even widths."""
    layers = [
        sv.Dense(5, 9, "leaky_relu", bias=False), sv.Dense(9, 6), sv.Dense(6, 3, "sin", bias=False),
    ]  # fmt: skip
    return sv.Network(layers, dtype="float32", seed=2)


SIZES = [(3, 5, 2), (1, 1), (4, 8, 6, 3)]
QUICK = (4, 8, 6, 3), 7
MORE = [(sizes, samples) for sizes in SIZES for samples in (1, 7, 24)]


@pytest.mark.parametrize("case", [QUICK, *slow(*[each for each in MORE if each != QUICK])])
def test_every_size(
    case: tuple[tuple[int, ...], int], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(*case[0])
    both(net, InOrder(*pair(net, case[1])), monkeypatch)
    assert card.launches == [(3, 6), (2, 4)]  # two barriers a step


@pytest.mark.slow
def test_layers_without_biases_or_activations(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = mixed_layers()
    both(net, Shuffled(*pair(net, 26), 24, seed=5), monkeypatch)  # of 24 samples, and of 2


@pytest.mark.parametrize("activation", slow(*ACTIVATIONS))
def test_every_activation(activation: str, card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2, activation=activation, last=activation)
    both(net, InOrder(*pair(net, 24)), monkeypatch, optimizer=sv.SGD(0.01))


MEANS = [("mse", "none"), ("mse", "all")]


@pytest.mark.parametrize(
    "loss", slow(*MEANS, *[(loss, "samples") for loss in [*LOSSES, *ROW_LOSSES]])
)
def test_every_loss(loss: tuple[Any, Any], card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2)
    chosen = sv.Loss(loss[0], mean=loss[1], factor=0.3)
    both(net, InOrder(*pair(net, 17)), monkeypatch, chosen, sv.SGD(0.01))


MAKERS: dict[str, Any] = {make(0.1).name: make for make in Optimizer.__subclasses__()}


@pytest.mark.parametrize("name", slow(*OPTIMIZERS))
def test_every_optimizer(name: str, card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2)
    schedule = sv.Schedule("cosine", steps=5)
    optimizer = MAKERS[name](0.01, clip_value=0.01, l1=0.1, l2=0.2, schedule=schedule)
    both(net, InOrder(*pair(net, 17)), monkeypatch, optimizer=optimizer)


@pytest.mark.slow
def test_a_norm_takes_a_third_barrier(card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(9, 30, 20, 3)  # 993 rows: groups of 256 in each block, and one that is not full
    card.blocks, card.shared = 2, 40_000
    monkeypatch.setattr(shape, "MOST_OWN", 128)
    optimizer = sv.Adam(0.01, clip_norm=0.05)
    both(net, InOrder(*pair(net, 17)), monkeypatch, optimizer=optimizer, calls=(2,))
    assert card.launches == [(2, 6)]


PICTURE = numbers(4, 5, 3)
TABLES = numbers(26, 2), abs(numbers(26, 3))
DRAWS: list[Batches] = [
    InOrder(*TABLES, 6),
    Shuffled(*TABLES, 24, seed=2**63 + 11),
    Picked(*TABLES, 6, seed=2**64 - 1),
]
POINTS = Points(PICTURE, 17, 40, 4, PictureTransform(1.7, -0.4, 0.3, 0.9, -0.31, 0.17))


@pytest.mark.slow
@pytest.mark.parametrize("batches", [POINTS, *DRAWS])
def test_every_draw(batches: Batches, card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    both(network(2, 4, 3), batches, monkeypatch)


@pytest.mark.slow
def test_frozen_weights_and_rates_of_single_weights(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2)
    for row in (0, 3, 14, 31):
        net.parameters()[row].freeze()
    rates = NO_OWN_RATES.changed([0, 1, 5, 17], 0.02).changed([6], 0.0)
    optimizer = sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=5)).with_own_rates(rates)
    both(net, InOrder(*pair(net, 9)), monkeypatch, optimizer=optimizer)


def with_a_large_input(step: int, size: float) -> InOrder:
    """Batches of 24 samples, the first one of step 2; a number of one step is very large."""
    inputs, targets = pair(network(3, 5, 2), 120)
    inputs[(step - 2) * 24 + 5, 1] = size
    return InOrder(inputs, targets, 24, first=2)


@pytest.mark.slow
@pytest.mark.parametrize("conditions", [{}, {"clip_norm": 0.5}], ids=["plain", "norm"])
def test_a_bad_gradient_in_the_third_step_of_five_is_not_taken(
    conditions: dict[str, Any], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    monkeypatch.setattr(shape, "MOST_OWN", 128)
    batches, optimizer = with_a_large_input(4, 1e38), sv.Adam(0.01, **conditions)
    (outcome,) = both(net, batches, monkeypatch, optimizer=optimizer, calls=(5,))
    assert outcome.bad >= 0 and len(outcome.losses) == 2


@pytest.mark.slow
def test_bad_gradients_count_as_zero_if_they_may(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    optimizer = sv.SGD(0.01, clip_value=0.01, not_finite="zero")
    batches = with_a_large_input(4, 1e38)
    (outcome,) = both(net, batches, monkeypatch, optimizer=optimizer, calls=(5,))
    assert outcome.bad == NONE and len(outcome.losses) == 5


@pytest.mark.slow
def test_a_step_that_overflows_is_the_last_one(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    batches = with_a_large_input(4, 1e15)  # whose gradients are finite, and their squares not
    (outcome,) = both(net, batches, monkeypatch, optimizer=sv.Adam(0.01), calls=(3,))
    assert outcome.overflow is not None and len(outcome.losses) == 2


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 3_450), (1, 20_000), (5, 3_600)])
def test_neither_the_size_of_the_grid_nor_that_of_a_tile_changes_a_bit(
    sizes: tuple[int, int], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a block has little memory, chunks take several tiles, and sums several pieces."""
    monkeypatch.setattr(shape, "MOST_OWN", 128)
    net = network(5, 9, 6, 3)
    card.blocks, card.shared = sizes
    both(net, InOrder(*pair(net, 27)), monkeypatch, calls=(2,))
    (table,) = card.tables
    layers, tile, share, piece = table.numbers[:4].tolist()
    assert layers == 3
    assert sizes[1] == 20_000 or tile < 9
    assert sizes != (1, 3_450) or piece < share


# ---- what is left to the other kernels ----------------------------------------------------------

SHARED_LAYER = sv.Dense(3, 3)
LEFT: dict[str, tuple[Any, dict[str, Any]]] = {
    "another layer": (lambda: sv.Network([sv.Dense(3, 4), sv.LayerNorm(4), sv.Dense(4, 2)]), {}),
    "shared weights": (lambda: sv.Network([SHARED_LAYER, SHARED_LAYER]), {}),
    "another type": (lambda: sv.Network([3, 4, 2], dtype="float64"), {}),
    "too large for a block": (lambda: sv.Network([3, 90, 60, 2]), {}),
    "too many rows of a thread": (lambda: sv.Network([3, 12, 12, 2]), {"blocks": 1}),
}


@pytest.mark.parametrize(("make", "fewer"), LEFT.values(), ids=LEFT)
def test_other_networks_are_left_to_the_other_kernels(
    make: Callable[[], sv.Network], fewer: dict[str, Any], card: HostCard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    net = make()
    card.blocks = fewer.get("blocks", card.blocks)
    monkeypatch.setenv(launch.SWITCH, "1")
    run = run_of(net, InOrder(*pair(net, 4)))
    assert len(run.steps(sv.SGD(0.01), 0, 1).losses) == 1
    assert card.launches == []


def test_without_a_gpu_or_its_compiler_the_other_kernels_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where something is missing: NVRTC, nvJitLink or cuda.core."""

    class Lacking(HostCard):
        def kernel(self, choice: Choice, table: Table) -> Any:
            raise ModuleNotFoundError("No module named 'cuda.core'")

    lacking = Lacking(BLOCKS, THREADS, LANES, shared=20_000)
    net = network(3, 5, 2)
    assert launch.find_card() is None  # in the simulator
    monkeypatch.setenv(launch.SWITCH, "1")
    for find in (lambda: None, lambda: lacking):
        monkeypatch.setattr(launch, "find_card", find)
        run = run_of(net, InOrder(*pair(net, 4)))
        assert len(run.steps(sv.SGD(0.01), 0, 1).losses) == 1


def test_a_launch_that_is_refused_leaves_the_steps_to_the_other_kernels(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried once, and `wrong` says why."""
    tried, net = [], network(3, 5, 2)

    def launch_refused(*arguments: Any) -> None:
        tried.append(arguments)
        raise RuntimeError("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")

    monkeypatch.setattr(shape, "MOST_OWN", 128)
    monkeypatch.setattr(card, "kernel", lambda choice, table: None)
    monkeypatch.setattr(card, "launch", launch_refused)
    monkeypatch.setenv(launch.SWITCH, "1")
    run = run_of(net, InOrder(*pair(net, 4)))
    for step in range(2):
        assert len(run.steps(sv.SGD(0.01), step, 1).losses) == 1
    fused = run._work._fused
    assert len(tried) == 1 and "TOO_LARGE" in str(fused.wrong) and fused.launches == 0


def test_it_is_off_unless_it_is_switched_on(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(*QUICK[0])
    monkeypatch.delenv(launch.SWITCH, raising=False)
    run_of(net, InOrder(*pair(net, 4))).steps(sv.Adam(0.05), 0, 1)
    assert card.launches == []
    monkeypatch.setenv(launch.SWITCH, "1")
    run_of(net, InOrder(*pair(net, 4))).steps(sv.Adam(0.05), 1, 1)
    assert card.launches == [(1, 2)]
