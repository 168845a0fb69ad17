"""The fused kernels in halves, compiled for the host, where tensor cores are warps that exchange.

`test_cuda_fused.py` runs this file in the simulator. Whole steps, kernels and moments must have the
same bits; and gradients must be near those of the other kernels and of the engine cpu, which
emulate halves: NEAR is about two ulps of what is kept, relative to the largest one.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import Batches, InOrder, PictureTransform, Points, Shuffled
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.fused import launch, shape
from scalarviz.engines.cuda.fused.compiling import IN_HALVES, MOMENTS, Choice, CudaText
from scalarviz.engines.cuda.fused.half_shape import Room, half_table_of
from scalarviz.engines.cuda.fused.shape import Table, dense_layers
from scalarviz.engines.cuda.run import CudaRun
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.own_rates import NO_OWN_RATES
from scalarviz.model.precision import Precision
from tests.engines.fused_card import HostCard, bits
from tests.engines.fused_library import needs_a_compiler
from tests.engines.simulator import difference, engine_of, half, numbers, pair, run_of, slow

needs_a_compiler()

THREADS, LANES, BLOCKS = 64, 32, 2
NEAR = 2e-3
MIXED = Precision("mixed")
PATHS = ("whole", "kernels", "moments")


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "THREADS", THREADS)
    monkeypatch.setattr(shape, "MOST_OWN", 32)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> HostCard:
    made = HostCard(BLOCKS, THREADS, LANES, shared=40_000)
    monkeypatch.setattr(launch, "find_card", lambda: made)
    monkeypatch.setenv(launch.SWITCH, "1")
    return made


def network(*sizes: int, activation: str = "tanh", last: str = "sigmoid") -> sv.Network:
    return sv.Network(list(sizes), activation, last, dtype="float32", seed=3)


def by_moments(run: CudaRun, optimizer: Optimizer, first: int, count: int) -> list[float]:
    losses = []
    for step in range(first, first + count):
        run.begin(step)
        for moment in run.engine.program.moments:
            run.perform(moment, optimizer)
        losses.append(float(run.loss))
    return losses


def trained(
    net: sv.Network, batches: Batches, path: str, optimizer: Optimizer | None = None,
    loss: str | sv.Loss = "mse", precision: Precision = MIXED, steps: int = 3,
) -> tuple[Any, list[float]]:  # fmt: skip
    """The bank, and the losses, after some steps of one path."""
    copy, optimizer = net.copy(), optimizer or sv.Adam(0.05)
    run = run_of(copy, batches, loss, precision)
    run.whole_steps = path == "whole"
    if path == "moments":
        losses = by_moments(run, optimizer, 2, steps)
    else:
        losses = [float(x) for x in run.steps(optimizer, 2, steps).losses]
    return copy.bank, losses


def emulated(
    net: sv.Network, batches: Batches, monkeypatch: pytest.MonkeyPatch, **how: Any
) -> tuple[Any, list[float]]:
    """The same steps by the other kernels."""
    with monkeypatch.context() as patch:
        patch.setenv(launch.SWITCH, "0")
        return trained(net, batches, "whole", **how)


def all_paths(
    net: sv.Network, batches: Batches, card: HostCard, monkeypatch: pytest.MonkeyPatch,
    near: float = NEAR, **how: Any,
) -> Any:  # fmt: skip
    """Every path has the same bits, and the gradient of the first step is near the emulated one."""
    card.launches.clear()
    found = [trained(net, batches, path, **how) for path in PATHS]
    assert len(card.launches) == 1 and card.products > 0
    (bank, losses), *others = found
    for path, (other, those) in zip(PATHS[1:], others, strict=True):
        assert losses == those, path
        assert bank.step_count == other.step_count
        for name in ("value", "grad", "state"):
            assert (bits(getattr(bank, name)) == bits(getattr(other, name))).all(), (path, name)
        for name in bank.slots:
            assert (bits(bank.slots[name]) == bits(other.slots[name])).all(), (path, name)
    first = how | {"steps": 1}
    (mine, a), (theirs, b) = (
        trained(net, batches, "whole", **first),
        emulated(net, batches, monkeypatch, **first),
    )
    assert finite_difference(theirs.grad, mine.grad) < near
    assert finite_difference(b, a) < near
    return bank


def finite_difference(a: Any, b: Any) -> float:
    """The difference of what is finite, which must be the same numbers."""
    there = np.isfinite(a)
    assert (there == np.isfinite(b)).all()
    return difference(np.asarray(a)[there], np.asarray(b)[there])


# ---- every path ---------------------------------------------------------------------------------

QUICK = (3, 17, 2), 17
SIZES = [(17, 33, 16, 1), (3, 5, 2), (1, 1), (4, 8, 6, 3), (16, 16, 16)]
SAMPLES = [67, 1, 15, 16, 33, 100]
MORE = [(sizes, samples) for sizes in SIZES for samples in SAMPLES]


@pytest.mark.parametrize("case", [QUICK, *slow(*MORE)])
def test_every_size_on_every_path(
    case: tuple[tuple[int, ...], int], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither widths nor samples are multiples of what a warp takes."""
    net = network(*case[0])
    all_paths(net, InOrder(*pair(net, case[1])), card, monkeypatch, steps=2)
    assert card.launches[0] == (2, 1 + 2 * 2)  # two barriers a step, and one before


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(12, 24, 24, 3), (5, 9, 2)])
@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
def test_gradients_are_near_those_of_the_engine_cpu(
    sizes: tuple[int, ...], activation: str, card: HostCard
) -> None:
    """And weights after 20 steps of a rule that does not divide gradients by their size."""
    net = network(*sizes, activation=activation)
    batches, optimizer = InOrder(*pair(net, 70)), sv.SGD(0.5)
    for steps in (1, 20):
        found, _ = trained(net, batches, "whole", optimizer=optimizer, steps=steps)
        other = net.copy().to("cpu", precision="mixed")
        other._engine.run(batches, sv.Loss("mse")).steps(optimizer, 2, steps)
        assert difference(other.bank.value, found.value) < NEAR
        if steps == 1:
            assert difference(other.bank.grad, found.grad) < NEAR
    assert [steps for steps, _ in card.launches] == [1, 20]


@pytest.mark.slow
def test_layers_without_biases_or_activations(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = sv.Dense(5, 19, "leaky_relu", bias=False), sv.Dense(6, 3, "sin", bias=False)
    net = sv.Network([first, sv.Dense(19, 6), last], dtype="float32", seed=2)
    all_paths(net, Shuffled(*pair(net, 70), 67, seed=5), card, monkeypatch)  # of 67, and of 3


@pytest.mark.slow
def test_inputs_of_the_network_are_not_rounded(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of a table of halves is larger than what these inputs differ by."""
    net = network(2, 6, 1)
    inputs = 1000.0 + numbers(40, 2) / 16.0
    net.bank.value[:6] *= 1e-2
    batches = InOrder(inputs, numbers(40, 1))
    bank = all_paths(net, batches, card, monkeypatch, near=1e-3)
    rounded, _ = trained(net, InOrder(half(inputs), batches.targets), "whole")
    assert difference(bank.value, rounded.value) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation: str, card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2, activation=activation, last=activation)
    all_paths(net, InOrder(*pair(net, 24)), card, monkeypatch, optimizer=sv.SGD(0.01), steps=2)


MEANS = [("mse", "none"), ("mse", "all")]


@pytest.mark.slow
@pytest.mark.parametrize("loss", [*MEANS, *[(loss, "samples") for loss in [*LOSSES, *ROW_LOSSES]]])
def test_every_loss(loss: tuple[Any, Any], card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2)
    chosen = sv.Loss(loss[0], mean=loss[1], factor=0.3)
    all_paths(
        net,
        InOrder(*pair(net, 17)),
        card,
        monkeypatch,
        loss=chosen,
        optimizer=sv.SGD(0.01),
        steps=2,
    )


MAKERS: dict[str, Any] = {make(0.1).name: make for make in Optimizer.__subclasses__()}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str, card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(3, 5, 2)
    schedule = sv.Schedule("cosine", steps=5)
    optimizer = MAKERS[name](0.01, clip_value=0.01, l1=0.1, l2=0.2, schedule=schedule)
    all_paths(net, InOrder(*pair(net, 17)), card, monkeypatch, optimizer=optimizer)


@pytest.mark.slow
def test_a_norm_takes_a_third_barrier(card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(9, 30, 20, 3)  # groups of 256 rows in each block, and one that is not full
    optimizer = sv.Adam(0.01, clip_norm=0.05)
    all_paths(net, InOrder(*pair(net, 40)), card, monkeypatch, optimizer=optimizer)
    assert card.launches[0] == (3, 1 + 3 * 3)


@pytest.mark.slow
def test_points_of_a_picture(card: HostCard, monkeypatch: pytest.MonkeyPatch) -> None:
    transform = PictureTransform(1.7, -0.4, 0.3, 0.9, -0.31, 0.17)
    points = Points(numbers(4, 5, 3), 40, 40, 4, transform)
    all_paths(network(2, 4, 3), points, card, monkeypatch)


@pytest.mark.slow
def test_frozen_weights_and_rates_of_single_weights(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2)
    for row in (0, 3, 14, 31):
        net.parameters()[row].freeze()
    rates = NO_OWN_RATES.changed([0, 1, 5, 17], 0.02).changed([6], 0.0)
    optimizer = sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=5)).with_own_rates(rates)
    bank = all_paths(net, InOrder(*pair(net, 9)), card, monkeypatch, optimizer=optimizer)
    still = bank.value == net.bank.value
    assert np.flatnonzero(still).tolist() == [0, 3, 6, 14, 31]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 40_000), (5, 40_000), (2, 18_700), (1, 18_700)])
def test_neither_the_size_of_the_grid_nor_that_of_a_tile_changes_a_bit(
    sizes: tuple[int, int], card: HostCard
) -> None:
    """Where a block has little memory, chunks take several tiles, and sums several pieces."""
    net = network(17, 20, 6, 3)
    batches = InOrder(*pair(net, 300))  # chunks of 33 and 34 samples
    expected, losses = trained(net, batches, "whole", steps=2)
    card.blocks, card.shared = sizes
    both = [trained(net, batches, path, steps=2) for path in ("whole", "moments")]
    assert len(card.launches) == 2 and card.products > 0
    for found, same in both:
        assert losses == same and (bits(expected.value) == bits(found.value)).all()
    _, tile, share, piece = card.tables[-1].numbers[:4].tolist()
    assert tile == (32 if sizes[1] == 40_000 else 16)
    assert sizes != (1, 18_700) or piece < share


# ---- numbers that halves have not ---------------------------------------------------------------


def with_a_large_input(size: float) -> InOrder:
    """Batches of 40 samples, the first one of step 2; a number of step 4 is large."""
    inputs, targets = pair(network(3, 5, 2), 200)
    inputs[2 * 40 + 5, 1] = size
    return InOrder(inputs, targets, 40, first=2)


def also_emulated(
    net: sv.Network, batches: Batches, card: HostCard, monkeypatch: pytest.MonkeyPatch, **how: Any
) -> Any:
    """As `all_paths`; and at the end the state is the emulated one, and weights are near."""
    bank = all_paths(net, batches, card, monkeypatch, **how)
    other, _ = emulated(net, batches, monkeypatch, **how)
    assert (bank.state == other.state).all() and bank.step_count == other.step_count
    assert finite_difference(other.grad, bank.grad) < NEAR
    assert difference(other.value, bank.value) < NEAR
    return bank


@pytest.mark.slow
@pytest.mark.parametrize("conditions", [{}, {"clip_norm": 0.5}], ids=["plain", "norm"])
def test_a_gradient_that_overflows_counts_as_zero_in_that_step(
    conditions: dict[str, Any], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    optimizer = sv.SGD(0.01, **conditions)
    how = {"optimizer": optimizer, "steps": 3}
    bank = also_emulated(net, with_a_large_input(6e4), card, monkeypatch, **how)
    assert not np.isfinite(bank.grad).all() and np.isfinite(bank.value).all()
    assert bank.step_count == 3


@pytest.mark.slow
@pytest.mark.parametrize("conditions", [{}, {"clip_norm": 0.5}], ids=["plain", "norm"])
def test_a_dynamic_scale_skips_the_step_and_follows_the_gradients(
    conditions: dict[str, Any], card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    precision = Precision("mixed", 2.0**14, dynamic=True, patience=2)
    bank = also_emulated(
        net, with_a_large_input(3e3), card, monkeypatch, precision=precision, steps=5,
        optimizer=sv.Adam(0.01, **conditions),
    )  # fmt: skip
    scale, _, skipped = bank.scaling
    assert skipped > 0 and bank.step_count == 5 - skipped and scale != 2.0**14
    assert card.launches[0] == (5, 1 + 3 * 5)


@pytest.mark.slow
def test_a_step_that_overflows_is_the_last_one(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2, activation="relu", last="linear")
    outcomes, batches = [], InOrder(*pair(net, 40))
    for switch in ("0", "1"):
        monkeypatch.setenv(launch.SWITCH, switch)
        run = run_of(net.copy(), batches, precision=MIXED)
        outcomes.append(run.steps(sv.SGD(1e40), 2, 5))
    assert card.launches == [(5, 1 + 2)]
    assert all(each.overflow is not None and len(each.losses) == 0 for each in outcomes)


# ---- batches without steps ----------------------------------------------------------------------


@pytest.mark.slow
def test_forward_backward_and_evaluation_have_the_products_of_steps(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, upstream = network(7, 20, 3), numbers(70, 3)
    batch, _ = pair(net, 70)
    sides = []
    for switch in ("0", "1"):
        monkeypatch.setenv(launch.SWITCH, switch)
        copy = net.copy()
        engine = engine_of(copy, MIXED)
        outputs = engine.forward(batch)
        returned = engine.backward(upstream)
        assert (engine.evaluate(batch) == outputs).all()
        sides.append((outputs, returned, copy.bank.grad))
    assert card.products == 2 + 4 + 2 and card.launches == []
    for expected, found in zip(*sides, strict=True):
        assert difference(expected, found) < NEAR


@pytest.mark.slow
def test_a_session_goes_back_and_forth_bit_for_bit(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(2, 5, 2)
    inputs, targets = pair(net, 40)
    session = sv.Session(
        net, sv.data.Arrays(inputs, targets), optimizer=sv.Adam(0.05), engine="cuda",
        precision="mixed", batch=33,
    )  # fmt: skip
    session.advance(6)
    expected = bits(net.bank.value).tolist()
    session.back(4)
    for _ in range(2):
        for _ in net.program.moments:  # one by one, then whole steps again
            session.advance(1, unit="operation")
    session.advance(2)
    assert bits(session.network.bank.value).tolist() == expected
    assert card.products > 0 and card.launches


# ---- what is left to the other kernels ----------------------------------------------------------

LEFT: dict[str, tuple[Callable[[], sv.Network], dict[str, int]]] = {
    "another layer": (lambda: sv.Network([sv.Dense(3, 4), sv.LayerNorm(4), sv.Dense(4, 2)]), {}),
    "another type": (lambda: sv.Network([3, 4, 2], dtype="float64"), {}),
    "too large for a block": (lambda: sv.Network([3, 90, 60, 2]), {}),
    "too many rows of a thread": (lambda: sv.Network([3, 12, 12, 2]), {"MOST_OWN": 1}),
}


@pytest.mark.parametrize(("make", "limits"), LEFT.values(), ids=LEFT)
def test_other_networks_are_left_to_the_other_kernels(
    make: Callable[[], sv.Network], limits: dict[str, int], card: HostCard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    net = make()
    for name, limit in limits.items():
        monkeypatch.setattr(shape, name, limit)
    run = run_of(net, InOrder(*pair(net, 4)), precision=MIXED)
    assert len(run.steps(sv.SGD(0.01), 0, 1).losses) == 1
    assert card.launches == [] and card.products == 0


def test_chunks_depend_on_the_batch_and_on_whether_halves_are_used(
    card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(3, 5, 2)

    def chunks(samples: int) -> int:
        work = run_of(net.copy(), InOrder(*pair(net, samples)), precision=MIXED)._work
        return int(work.layout.plan[places.CHUNKS])

    assert [chunks(samples) for samples in (1, 63, 64, 1024, 5000)] == [1, 1, 2, 32, 128]
    card.blocks = 7
    assert chunks(1024) == 32
    monkeypatch.setenv(launch.SWITCH, "0")
    assert chunks(1024) == 128
    assert card.launches == []


@pytest.mark.parametrize("text", [IN_HALVES, MOMENTS], ids=["whole steps", "products"])
def test_where_a_kernel_cannot_be_made_the_other_kernels_run(
    text: CudaText, card: HostCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And then all of them: one path would not have the bits of another."""
    plain = card.kernel

    def kernel(choice: Choice, table: Table) -> Any:
        if choice.text is text:
            raise ModuleNotFoundError("No module named 'cuda.core'")
        return ctypes.CDLL(None), choice if text is IN_HALVES else plain(choice, table)

    monkeypatch.setattr(card, "kernel", kernel)
    net = network(3, 5, 2)
    run = run_of(net, InOrder(*pair(net, 4)), precision=MIXED)
    assert len(run.steps(sv.SGD(0.01), 0, 1).losses) == 1
    by_moments(run, sv.SGD(0.01), 1, 1)
    assert card.launches == [] and card.products == 0
    fused = run._work._fused
    assert isinstance(fused.wrong, ModuleNotFoundError) and not fused.halves


# ---- the memory of a block ----------------------------------------------------------------------


def test_a_block_of_the_floors_takes_less_memory_than_in_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([12, 64, 64, 64, 64, 3], "leaky_relu", "sigmoid", dtype="float32")
    stack = dense_layers(net.program)
    room = Room(stack, 32)
    assert room.image * 2 < 40_000 and room.size < 100_000
    monkeypatch.setattr(shape, "THREADS", 256)
    table = half_table_of(net.program, 32, 32, 232_448, 132, clipped=False)
    assert table is not None and table.shared < 110_000 and table.own == 1
