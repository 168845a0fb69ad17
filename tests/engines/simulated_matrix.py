"""The cuda engine in numba's simulator, against the python engine: one matrix of kind by type.

Each kind of operation in both types, and each row of the tables of formulas once; run by
`test_cuda.py`. `test_cuda_interpreted.py` has what a compiler makes of the kernels.
"""

from itertools import cycle
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import KINDS, NONE
from scalarviz.data.batches import (
    Batches,
    GeneratedBatches,
    InOrder,
    Picked,
    PictureTransform,
    Points,
    Shuffled,
)
from scalarviz.engines.cuda import device_memory, gpu_layout
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.engines.python import PythonEngine
from tests.engines.agreement import (
    MAKERS,
    TOLERANCE,
    Array,
    banks_agree,
    difference,
    numbers,
    schedule_of,
)
from tests.engines.simulator import (
    LARGE,
    NETWORKS,
    engine_of,
    fits,
    network,
    pair,
    reference_steps,
    run_of,
    slow,
)

every_network = pytest.mark.parametrize("name", [*NETWORKS, *slow(*LARGE)])


def test_the_matrix_has_every_kind() -> None:
    operations = [each for name in NETWORKS for each in network(name).program.operations]
    assert [*KERNELS, "convolution"] == list(WHOLE_BATCH)
    assert {each.kind for each in operations} == set(WHOLE_BATCH) == set(KINDS) - {"own"}
    assert {each.formula for each in operations if each.kind == "row"} == set(ROW_FORMULAS)
    assert max(len(each.settings) for each in operations) <= gpu_layout.MOST_SETTINGS


# ---- verbs and moments, in float64 --------------------------------------------------------------


def verbs_agree(net: sv.Network, samples: int, near: float = TOLERANCE["float64"]) -> None:
    reference, fast, batch = net.copy(), net.copy(), numbers(samples, net.inputs)
    engine = engine_of(fast)
    assert difference(reference(batch), engine.evaluate(batch)) < near
    assert (fast.bank.state == net.bank.state).all()
    assert difference(reference.forward(batch), engine.forward(batch)) < near
    upstream = numbers(len(batch), net.outputs)
    assert difference(reference.backward(upstream), engine.backward(upstream)) < near
    assert difference(reference.bank.grad, fast.bank.grad) < near
    assert difference(reference.bank.state, fast.bank.state) < near
    assert difference(reference(batch), engine.evaluate(batch)) < near


@every_network
def test_verbs_give_what_the_objects_give(name: str) -> None:
    for samples in (1, 9):
        verbs_agree(network(name), samples)


@pytest.mark.parametrize("samples", [7, 17, 40])
def test_every_size_of_batch(samples: int) -> None:
    verbs_agree(sv.Network([2, 3, 1], "tanh", dtype="float64"), samples)


def test_a_convolution_of_more_samples_than_threads_share() -> None:
    """In a whole batch a thread has four samples, APART from each other."""
    net = sv.Network([sv.Conv2d((1, 2, 2), 2, (2, 1))], dtype="float64", seed=5)
    verbs_agree(net, 4 * gpu_layout.APART + 3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation: str) -> None:
    verbs_agree(sv.Network([3, 2], output=activation, dtype="float64", seed=1), 5)


@pytest.mark.parametrize("name", ["rows", "all", *slow(*sorted(NETWORKS.keys() - {"rows", "all"}))])
def test_what_lies_between_is_that_of_the_objects(name: str) -> None:
    net = network(name)
    other, batches, optimizer = net.copy(), InOrder(*pair(net, 9)), sv.SGD(0.1)
    reference = PythonEngine(other.layers, other.program, other.bank, Precision())
    expected, run = reference.run(batches, sv.Loss()), run_of(net, batches, whole=False)
    for each in (expected, run):
        each.begin(0)
    assert np.isnan(run.loss)
    for moment in net.program.moments:
        for each in (expected, run):
            each.perform(moment, optimizer)
        if moment.kind == "loss":
            for buffer in net.program.buffers[1:]:
                assert difference(expected.values(buffer), run.values(buffer)) < 1e-12
            assert difference(other.bank.state, net.bank.state) < 1e-12
            assert run.loss == pytest.approx(expected.loss, rel=1e-12)
    for operation in net.program.operations[net.program.first_parameters :]:
        buffer = operation.target
        assert difference(expected.gradients(buffer), run.gradients(buffer)) < 1e-11
    assert (run.targets() == batches.at(0)[1]).all()
    assert difference(other.bank.value, net.bank.value) < 1e-12


# ---- steps on every path, in float32 ------------------------------------------------------------

# Whole steps or kernel by kernel, samples of a tile (more than a team takes, and fewer), blocks and
# threads.
PATHS = [(True, 18, 1, 4), (True, 5, 2, 3), (False, 8, 3, 4), (False, 8, 1, 5)]


@pytest.mark.some(6)
@every_network
def test_every_path_has_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, optimizer = network(name, "float32"), sv.SGD(0.01, clip_norm=0.5)
    batches = Shuffled(*pair(net, 18), 17, seed=5)  # of 17 samples and of 1: an empty chunk
    found, steps = [], range(2, 4)
    for whole, tile, blocks, threads in PATHS[2 * (not fits(net)) :]:
        each = net.copy()
        with monkeypatch.context() as patch:
            patch.setattr(device_memory, "tile_width", lambda *_, width=tile: width)
            run = run_of(each, batches, whole=whole)
        run._work.device.blocks, run._work.device.threads = blocks, threads
        found.append((each.bank, run.steps(optimizer, steps.start, len(steps)).losses))
    each, losses = net.copy(), []
    run = run_of(each, batches, whole=False)
    for step in steps:
        run.begin(step)
        for moment in each.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    found.append((each.bank, np.array(losses)))
    first, expected = found[0]
    for bank, other in found[1:]:
        for part in ("value", "grad", "state"):
            assert getattr(bank, part).tobytes() == getattr(first, part).tobytes()
        assert other.tobytes() == expected.tobytes()
        assert bank.step_count == first.step_count == len(steps)
    reference = net.copy()
    wanted = reference_steps(reference, batches, sv.Loss(), optimizer, steps)
    assert expected == pytest.approx(wanted, rel=1e-5)
    assert difference(reference.bank.value, first.value) < 1e-5
    assert difference(reference.bank.state, first.state) < 1e-5


# ---- formulas -----------------------------------------------------------------------------------


def runs_agree(
    net: sv.Network, loss: sv.Loss, optimizer: Optimizer, steps: int = 2, whole: bool = True
) -> None:
    """Steps in two calls are those of the objects."""
    reference, fast = net.copy(), net.copy()
    batches = InOrder(*pair(net, 9))
    expected = reference_steps(reference, batches, loss, optimizer, range(steps))
    run = run_of(fast, batches, loss, whole=whole)
    half = steps // 2
    outcomes = [run.steps(optimizer, 0, half), run.steps(optimizer, half, steps - half)]
    assert np.concatenate([each.losses for each in outcomes]) == pytest.approx(expected)
    assert [each.bad for each in outcomes] == [NONE, NONE]
    banks_agree(reference.bank, fast.bank, steps)


@pytest.mark.parametrize(
    ("loss", "mean"), [*zip([*LOSSES, *ROW_LOSSES], cycle(["all", "none", "samples"]))]
)
def test_every_loss(loss: str, mean: Any) -> None:
    net = sv.Network([3, 2, 4], "tanh", dtype="float64")
    runs_agree(net, sv.Loss(loss, mean=mean, factor=0.3), sv.SGD(1e-3))


LIMITS = {"clip_norm": 0.05, "clip_value": 0.01, "l1": 0.1, "l2": 0.2}


@pytest.mark.parametrize("steps", [3, *slow(100)])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str, steps: int) -> None:
    net = sv.Network([3, 4, 2], "tanh", "sigmoid", dtype="float64")
    runs_agree(net, sv.Loss(), MAKERS[name](1e-3, **LIMITS), steps)


@pytest.mark.parametrize("whole", [True, False])
def test_rates_of_single_weights(whole: bool) -> None:
    net = sv.Network([3, 4, 2], "tanh", "sigmoid", dtype="float64")
    optimizer = sv.Adam(1e-3, schedule=sv.Schedule("cosine", steps=5))
    rates = NO_OWN_RATES.changed([0, 1, 5, 17], 0.02).changed([6], 0.0)
    runs_agree(net, sv.Loss("mse"), optimizer.with_own_rates(rates), 4, whole)
    run = run_of(net, InOrder(*pair(net)), whole=whole)
    before = net.bank.value.copy()
    run.steps(optimizer.with_own_rates(rates), 0, 1)
    run.steps(optimizer.with_own_rates(rates.changed([6, 17], None)), 1, 1)
    run.steps(optimizer, 2, 1)
    assert (net.bank.value != before)[[0, 6, 17]].all()


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule(name: str) -> None:
    schedule = schedule_of(name, every=2.0, steps=4.0, warmup=2.0)
    net = sv.Network([2, 3], dtype="float64")
    runs_agree(net, sv.Loss(), sv.Adam(0.1, schedule=schedule), steps=6)


# ---- batches ------------------------------------------------------------------------------------


def made(step: int) -> tuple[Array, Array]:
    return numbers(6, 2) + step, numbers(6, 3) * step


PICTURE = np.random.default_rng(7).random((5, 4, 3))
TABLES = numbers(20, 2), numbers(20, 3)
DRAWS: dict[str, Batches] = {
    "in order": InOrder(*TABLES, 6),
    "shuffled": Shuffled(*TABLES, 6, seed=2**63 + 11),
    "picked": Picked(*TABLES, 6, seed=2**64 - 1),
    "points": Points(PICTURE, 7, 20, seed=3),
    "window": Points(PICTURE, 7, 20, 4, PictureTransform(1.7, -0.4, 0.3, 0.9, -0.31, 0.17)),
    "made": GeneratedBatches(made, (2, 3), 6),
}


@pytest.mark.parametrize("batches", DRAWS.values(), ids=DRAWS)
def test_kernels_draw_the_batches_of_every_engine(batches: Batches) -> None:
    net, reference = [sv.Network([2, 3], dtype="float64") for _ in range(2)]
    run = run_of(net, batches)
    for step in (0, 3, 13):
        inputs, targets = batches.at(step)
        run.begin(step)
        assert (run.values(net.program.inputs) == inputs).all()
        assert (run.targets() == targets).all()
    losses = run.steps(sv.SGD(0.1), 2, 3).losses
    expected = reference_steps(reference, batches, sv.Loss(), sv.SGD(0.1), range(2, 5))
    assert losses == pytest.approx(expected, rel=1e-12)
