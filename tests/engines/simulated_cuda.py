"""The cuda engine in numba's simulator, against the python engine.

pytest does not collect this file by itself: the simulator must be chosen before numba is loaded, so
`test_cuda.py` runs it in a process of its own.
"""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import (
    Batches,
    GeneratedBatches,
    InOrder,
    Picked,
    PictureTransform,
    Points,
    Shuffled,
)
from scalarviz.engines.common.reference import (
    OperationArrays,
    operation_backward,
    operation_forward,
)
from scalarviz.engines.cuda import places, tables
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import EngineError, GradientError, OrderError, ShapeError, UpdateError
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.scaling import LARGEST_SCALE, SMALLEST_SCALE
from scalarviz.formulas.schedules import SCHEDULES
from scalarviz.model.operations import KINDS, NONE, Kind
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.own_rates import NO_OWN_RATES
from scalarviz.model.precision import Precision
from scalarviz.model.program import Moment
from tests.engines.simulator import (
    PICTURES,
    SAMPLES,
    TOLERANCE,
    Array,
    both_types,
    difference,
    engine_of,
    gradients_agree,
    half,
    numbers,
    on_pictures,
    pair,
    reference_steps,
    run_of,
    whole_or_not,
)
from tests.wording import refused

# ---- the verbs ----------------------------------------------------------------------------------


@both_types
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(dtype: str, activation: str) -> None:
    net = sv.Network([3, 5, 2], activation, activation, dtype=dtype, seed=1)
    gradients_agree(net, numbers(SAMPLES, 3))


def every_layer(dtype: str) -> sv.Network:
    shared = sv.Dense(9, 9, "swish")
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 9, "leaky_relu"),
        sv.LayerNorm(9),
        shared,
        sv.RMSNorm(9),
        shared,
        sv.Dense(9, 3, bias=False),
    ]
    net = sv.Network(layers, dtype=dtype, seed=3)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    return net


@both_types
def test_every_kind_of_layer(dtype: str) -> None:
    gradients_agree(every_layer(dtype), numbers(5, 2))


@pytest.mark.parametrize("samples", [1, 7, 17, 40])
def test_every_size_of_batch(samples: int) -> None:
    gradients_agree(sv.Network([2, 3, 1], "tanh", dtype="float64"), numbers(samples, 2))


@pytest.mark.parametrize("sizes", [[1, 1], [18, 33, 2], [4, 16, 4]])
def test_every_width(sizes: list[int]) -> None:
    gradients_agree(sv.Network(sizes, "tanh", dtype="float64"), numbers(9, sizes[0]))


def test_two_forwards_before_a_backward_and_what_is_refused() -> None:
    net, plain = [sv.Network([3, 4, 2], "tanh", dtype="float64") for _ in range(2)]
    engine, x, g = engine_of(net), numbers(8, 3), numbers(4, 2)
    with refused(OrderError):
        engine.newest_batch()
    engine.forward(x[:4])
    engine.forward(x[4:])
    engine.evaluate(x)
    with refused(ShapeError, "4 samples"):
        engine.check_backward(3)
    newest = engine.backward(g)
    engine.backward(2 * g)
    plain.forward(x[4:])
    assert plain.backward(g) == pytest.approx(newest)
    plain.forward(x[:4])
    plain.backward(2 * g)
    assert net.bank.grad == pytest.approx(plain.bank.grad, rel=1e-12)
    engine.forward(x)
    engine.forget()
    with pytest.raises(OrderError):
        engine.newest_batch()


def test_a_written_weight_counts_at_once() -> None:
    net = sv.Network([3, 4, 2])
    engine, x = engine_of(net), numbers(5, 3)
    before = engine.evaluate(x)
    net.parameters()[5].value = 2.0
    assert (engine.evaluate(x) != before).any()


# ---- training -----------------------------------------------------------------------------------


def runs_agree(
    net: sv.Network, loss: sv.Loss, optimizer: Optimizer, steps: int, whole: bool = True
) -> None:
    reference, fast = net.copy(), net.copy()
    batches = InOrder(*pair(net))
    expected = reference_steps(reference, batches, loss, optimizer, range(steps))
    run = run_of(fast, batches, loss, whole=whole)
    half = steps // 2
    outcomes = [run.steps(optimizer, 0, half), run.steps(optimizer, half, steps - half)]
    assert np.concatenate([each.losses for each in outcomes]) == pytest.approx(expected)
    assert [each.bad for each in outcomes] == [NONE, NONE]
    assert difference(reference.bank.value, fast.bank.value) < 1e-9
    assert difference(reference.bank.grad, fast.bank.grad) < 1e-8
    for name, slot in reference.bank.slots.items():
        assert difference(slot, fast.bank.slots[name]) < 1e-8
    assert reference.bank.step_count == fast.bank.step_count == steps


@pytest.mark.parametrize("mean", ["all", "samples", "none"])
@pytest.mark.parametrize("loss", [*LOSSES, *ROW_LOSSES])
def test_every_loss(loss: str, mean: str) -> None:
    net = sv.Network([3, 2, 4], "tanh", dtype="float64")
    chosen = sv.Loss(loss, mean=mean, factor=0.3)  # type: ignore[arg-type]  # a plain text
    runs_agree(net, chosen, sv.SGD(1e-3), steps=2)


MAKERS: dict[str, Any] = {make(0.1).name: make for make in Optimizer.__subclasses__()}
CONDITIONS: list[dict[str, Any]] = [
    {},
    {"clip_norm": 0.05},
    {"clip_value": 0.01, "l1": 0.1, "l2": 0.2},
]
every_condition = pytest.mark.parametrize("conditions", CONDITIONS, ids=["plain", "norm", "all"])


@every_condition
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str, conditions: dict[str, Any]) -> None:
    net = sv.Network([3, 4, 2], "tanh", "sigmoid", dtype="float64")
    runs_agree(net, sv.Loss("mse"), MAKERS[name](1e-3, **conditions), steps=3)


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


@pytest.mark.slow
@whole_or_not
@every_condition
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_over_100_steps(name: str, conditions: dict[str, Any], whole: bool) -> None:
    net = sv.Network([3, 4, 2], "tanh", "sigmoid", dtype="float64")
    runs_agree(net, sv.Loss("mse"), MAKERS[name](1e-3, **conditions), steps=100, whole=whole)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule(name: str) -> None:
    given = {"every": 2.0, "steps": 4.0, "warmup": 2.0}
    known = dict(SCHEDULES[name].settings)
    schedule = sv.Schedule(name, **{k: v for k, v in given.items() if k in known})
    net = sv.Network([2, 3], dtype="float64")
    runs_agree(net, sv.Loss(), sv.Adam(0.1, schedule=schedule), steps=6)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_every_path_has_the_same_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, optimizer = every_layer(dtype), sv.Adam(0.01, clip_norm=0.5)
    batches = Shuffled(*pair(net, 26), 24, seed=5)  # of 24 samples and of 2: an empty chunk
    found = []
    # Kernel by kernel; in tiles of eight samples, and of five and three.
    for whole, tile, blocks, threads in [
        (True, 8, 3, 4), (True, 5, 2, 3), (False, 8, 3, 4), (False, 8, 1, 5)
    ]:  # fmt: skip
        each = net.copy()
        monkeypatch.setattr(tables, "tile_width", lambda *_, width=tile: width)
        run = run_of(each, batches, whole=whole)
        run._work.device.blocks, run._work.device.threads = blocks, threads
        outcome = run.steps(optimizer, 3, 3)
        found.append((each.bank, outcome.losses))
    each, losses = net.copy(), []
    run = run_of(each, batches)
    for step in (3, 4, 5):
        run.begin(step)
        for moment in each.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    found.append((each.bank, np.array(losses)))
    first, expected = found[0]
    for bank, losses_found in found[1:]:
        assert (bank.value == first.value).all()
        assert (bank.grad == first.grad).all()
        assert (bank.slots["v"] == first.slots["v"]).all()
        assert (losses_found == expected).all()
        assert bank.step_count == first.step_count == 3
    reference = net.copy()
    assert expected == pytest.approx(
        reference_steps(reference, batches, sv.Loss(), optimizer, range(3, 6)), rel=1e-5
    )
    assert difference(reference.bank.value, first.value) < 100 * TOLERANCE[dtype]


def test_what_lies_between_can_be_read() -> None:
    net = every_layer("float64")
    batches = InOrder(*pair(net, 9))
    run, optimizer, value = run_of(net, batches), sv.SGD(0.1), net.bank.value.copy()
    inputs, targets = batches.at(0)
    run.begin(0)
    assert np.isnan(run.loss)
    expected, flows = {net.program.inputs: inputs}, {}
    for moment in net.program.moments[:-1]:
        run.perform(moment, optimizer)
        operation = net.program.operations[moment.operation]
        source, target = operation.source, operation.target
        if moment.kind == "forward":
            given = OperationArrays(value, net.bank.state, 0, expected[source])
            expected[target] = operation_forward(operation, given)
            assert run.values(target) == pytest.approx(expected[target])
        elif moment.kind in ("delta", "input gradient"):
            flows[target] = run.gradients(target)
            if moment.kind == "delta" and operation.kind != "activation":
                continue
            x, y, g = expected[source], expected[target], flows[target]
            given = OperationArrays(value, net.bank.state, 0, x, y=y, upstream=g)
            assert run.gradients(source) == pytest.approx(operation_backward(operation, given))
    assert run.loss == pytest.approx(sv.Loss()(expected[net.program.outputs], targets))
    assert (run.targets() == targets).all()
    assert (net.bank.value == value).all()


def test_a_frozen_weight_stands_still() -> None:
    net = sv.Network([3, 4, 2], "tanh")
    net.parameters()[7].freeze()
    before = net.bank.value.copy()
    run_of(net, InOrder(*pair(net))).steps(sv.Adam(0.1), 0, 2)
    assert ((net.bank.value != before) == (np.arange(len(net.bank)) != 7)).all()
    assert net.bank.slots["m"][7] == 0.0


def test_an_order_of_many_steps_takes_several_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    nets = [sv.Network([2, 3, 1], "tanh") for _ in range(2)]
    batches = Picked(*pair(nets[0]), 5, seed=3)
    losses = run_of(nets[0], batches).steps(sv.SGD(0.1), 0, 5).losses
    monkeypatch.setattr("scalarviz.engines.cuda.run.MOST_STEPS", 2)
    assert (run_of(nets[1], batches).steps(sv.SGD(0.1), 0, 5).losses == losses).all()
    assert (nets[0].bank.value == nets[1].bank.value).all()


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
    net = sv.Network([2, 3], dtype="float64")
    run = run_of(net, batches)
    for step in (0, 3, 13):
        inputs, targets = batches.at(step)
        run.begin(step)
        assert (run.values(net.program.inputs) == inputs).all()
        assert (run.targets() == targets).all()


@pytest.mark.parametrize("batches", DRAWS.values(), ids=DRAWS)
def test_whole_steps_draw_them_too(batches: Batches) -> None:
    net, reference = [sv.Network([2, 3], dtype="float64") for _ in range(2)]
    outcome = run_of(net, batches).steps(sv.SGD(0.1), 2, 3)
    expected = reference_steps(reference, batches, sv.Loss(), sv.SGD(0.1), range(2, 5))
    assert outcome.losses == pytest.approx(expected, rel=1e-12)


# ---- gradients that go bad ----------------------------------------------------------------------


def diverging() -> tuple[sv.Network, Batches]:
    """A network whose loss overflows at its second batch."""
    net = sv.Network([1, 2, 1], "exp", seed=2)
    net.bank.value[:] = 1.0
    return net, InOrder(np.repeat([[0.5], [500.0]], 9, axis=0), np.ones((18, 1)), 9)


@whole_or_not
def test_a_bad_gradient_is_refused_before_anything_moves(whole: bool) -> None:
    net, batches = diverging()
    net.parameters()[0].freeze()
    run = run_of(net, batches, whole=whole)
    outcome = run.steps(sv.Adam(1e-3), 0, 4)
    assert len(outcome.losses) == net.bank.step_count == 1
    assert outcome.bad == 1
    assert not np.isfinite(net.bank.grad[1])
    once, batches = diverging()
    once.parameters()[0].freeze()
    run_of(once, batches, whole=whole).steps(sv.Adam(1e-3), 0, 1)
    assert (once.bank.value == net.bank.value).all()
    assert (once.bank.slots["m"] == net.bank.slots["m"]).all()


def test_a_bad_gradient_has_a_name_moment_by_moment() -> None:
    net, batches = diverging()
    run = run_of(net, batches)
    run.begin(1)
    for moment in net.program.moments[:-1]:
        run.perform(moment, sv.SGD(0.1))
    before = net.bank.value.copy()
    with refused(GradientError, "layer 0, perceptron 0, weight from input 0"):
        run.perform(net.program.moments[-1], sv.SGD(0.1))
    assert (net.bank.value == before).all()
    assert net.bank.step_count == 0


OVERFLOWS = {
    "weight": (lambda: sv.SGD(0.1, schedule=sv.Schedule("step", every=2, factor=1e300)), 1.0, 2),
    "slot": (lambda: sv.Adam(0.01), 1e25, 0),
}


@whole_or_not
@pytest.mark.parametrize("kind", OVERFLOWS)
def test_a_step_that_overflows_ends_the_run_and_is_named(kind: str, whole: bool) -> None:
    optimizer, factor, step = OVERFLOWS[kind]
    x = np.random.default_rng(0).random((18, 3))
    batches = InOrder(x, factor * (2 - x), 9)
    net = sv.Network([3, 3], seed=1)
    other = net.copy()
    outcome = run_of(net, batches, whole=whole).steps(optimizer(), 0, 6)
    slow = other.run(batches, sv.Loss("mse")).steps(optimizer(), 0, 6)
    assert len(outcome.losses) == len(slow.losses) == step
    assert outcome.overflow is not None and slow.overflow is not None
    assert str(outcome.overflow.at(step)) == str(slow.overflow.at(step))
    # An optimizer that keeps nothing is not stopped by what another one has left behind.
    net.bank.copy_from(other.bank)
    assert run_of(net, batches, whole=whole).steps(sv.SGD(1e-30), 0, 2).overflow is None


def test_a_step_that_overflows_changes_nothing_moment_by_moment() -> None:
    x = np.random.default_rng(0).random((9, 3))
    net = sv.Network([3, 3], seed=1)
    run = run_of(net, InOrder(x, 1e25 * x, 9))
    run.begin(0)
    for moment in net.program.moments[:-1]:
        run.perform(moment, sv.Adam(0.1))
    before = net.bank.value.copy()
    with refused(UpdateError, "layer 0, perceptron 0, weight from input 0"):
        run.perform(net.program.moments[-1], sv.Adam(0.1))
    assert (net.bank.value == before).all() and not net.bank.slots["v"].any()
    assert net.bank.step_count == 0


@whole_or_not
def test_a_bad_gradient_can_count_as_zero(whole: bool) -> None:
    net, batches = diverging()
    outcome = run_of(net, batches, whole=whole).steps(sv.SGD(1e-6, not_finite="zero"), 0, 3)
    assert len(outcome.losses) == 3
    assert outcome.bad == NONE
    assert np.isfinite(net.bank.value).all()


# ---- mixed precision ----------------------------------------------------------------------------


def mixed_gradients(net: sv.Network, batch: Array, targets: Array, scale: float) -> Array:
    """The gradients with everything that is kept rounded, in plain numpy."""
    weights, values, flows = half(net.bank.value), {net.program.inputs: batch}, {}
    for operation in net.program.operations:
        given = OperationArrays(weights, net.bank.state, 0, values[operation.source])
        y = operation_forward(operation, given)
        values[operation.target] = half(y)
    loss = sv.Loss()
    loss.forward(values[net.program.outputs], targets)
    flows[net.program.outputs] = half(loss.backward() * scale)
    grad = np.zeros(len(net.bank))
    for operation in reversed(net.program.operations):
        x, y = values[operation.source], values[operation.target]
        g = flows[operation.target]
        if operation.kind == "affine":
            found = np.concatenate([(g.T @ x).ravel(), g.sum(axis=0)])
            grad[operation.parameters.start : operation.parameters.stop] += half(found) / scale
        given = OperationArrays(weights, net.bank.state, 0, x, y=y, upstream=g)
        flows[operation.source] = half(operation_backward(operation, given))
    return grad


@whole_or_not
def test_mixed_precision_rounds_what_is_kept(whole: bool) -> None:
    net = sv.Network([3, 6, 2], "tanh", "sigmoid", seed=4)
    inputs, targets = pair(net)
    inputs, value = half(inputs), net.bank.value.copy()
    expected = mixed_gradients(net, inputs, targets, 1024.0)
    run = run_of(net, InOrder(inputs, targets), precision=Precision("mixed"), whole=whole)
    run.steps(sv.SGD(0.5), 0, 1)
    assert difference(expected, net.bank.grad) < 2e-3  # sums that lie between two halves
    assert (half(net.bank.grad * 1024) == net.bank.grad * 1024).all()
    # The weights that move are not rounded.
    assert net.bank.value == pytest.approx(value - 0.5 * net.bank.grad, rel=1e-6)
    assert (half(net.bank.value) != net.bank.value).any()


@pytest.mark.parametrize("name", ["", *PICTURES])
def test_everything_in_a_workspace_is_half(name: str) -> None:
    net = on_pictures(name, "float32") if name else every_layer("float32")
    inputs, targets = pair(net, 9)
    batches = InOrder(half(inputs), targets)
    run = run_of(net, batches, precision=Precision("mixed"), whole=False)
    run.begin(0)
    for moment in net.program.moments[:-1]:
        run.perform(moment, sv.SGD(0.1))
    for buffer in net.program.buffers[1:]:
        assert (half(run.values(buffer)) == run.values(buffer)).all(), buffer.name
    first = net.program.first_parameters
    for operation in net.program.operations[first:]:  # nobody needs gradients further back
        buffer = operation.target
        flow = run.gradients(buffer) * 1024
        assert flow.any()
        assert (half(flow) == flow).all(), buffer.name


def test_mixed_precision_has_the_same_bits_on_every_path() -> None:
    precision = Precision("mixed", 512.0, dynamic=True, patience=2)
    nets = [every_layer("float32") for _ in range(3)]
    batches = InOrder(*pair(nets[0], 20))
    for net, whole in zip(nets[:2], (True, False), strict=True):
        run_of(net, batches, precision=precision, whole=whole).steps(sv.Adam(0.01), 0, 3)
    run = run_of(nets[2], batches, precision=precision)
    for step in range(3):
        run.begin(step)
        for moment in nets[2].program.moments:
            run.perform(moment, sv.Adam(0.01))
    assert abs(nets[0].bank.grad).max() > 0.0
    for net in nets[1:]:
        assert (net.bank.value == nets[0].bank.value).all()
        assert (net.bank.grad == nets[0].bank.grad).all()
        assert (net.bank.scaling == nets[0].bank.scaling).all()
    assert nets[0].bank.scaling.tolist() == [1024.0, 1.0, 0.0]


def test_the_verbs_in_mixed_precision() -> None:
    net = sv.Network([3, 6, 2], "tanh", "sigmoid", seed=4)
    engine, (inputs, targets) = engine_of(net, Precision("mixed")), pair(net)
    outputs = engine.forward(inputs)
    assert (half(outputs) == outputs).all()
    loss = sv.Loss()
    loss.forward(outputs, targets)
    engine.backward(loss.backward())
    assert difference(mixed_gradients(net, inputs, targets, 1024.0), net.bank.grad) < 2e-3


@whole_or_not
def test_a_small_gradient_survives_by_the_loss_scale(whole: bool) -> None:
    found = {}
    for scale in (1.0, 4096.0):
        net = sv.Network([2, 1], seed=1)
        inputs, targets = pair(net)
        loss, precision = sv.Loss("mse", factor=1e-7), Precision("mixed", scale)
        run = run_of(net, InOrder(inputs, targets), loss, precision, whole)
        run.steps(sv.SGD(0.0), 0, 1)
        found[scale] = net.bank.grad.copy()
    assert not found[1.0].any()
    assert found[4096.0].all()


@whole_or_not
def test_a_dynamic_scale_skips_a_step_that_overflows_and_halves(whole: bool) -> None:
    net = sv.Network([2, 1], seed=1)
    batches = InOrder(*pair(net))
    before = net.bank.value.copy()
    precision = Precision("mixed", 2.0**22, dynamic=True, patience=3)
    run = run_of(net, batches, precision=precision, whole=whole)
    outcome = run.steps(sv.SGD(0.01), 0, 2)
    assert len(outcome.losses) == 2
    assert net.bank.scaling.tolist() == [2.0**20, 0.0, 2.0]
    assert (net.bank.value == before).all()
    assert net.bank.step_count == 0
    run.steps(sv.SGD(0.01), 2, 12)
    assert (net.bank.value != before).all()
    assert 0 < net.bank.step_count < 12


@whole_or_not
def test_a_dynamic_scale_has_a_smallest_and_a_largest(whole: bool) -> None:
    net, (inputs, targets) = sv.Network([2, 1], seed=1), pair(sv.Network([2, 1]))
    precision = Precision("mixed", 4 * SMALLEST_SCALE, dynamic=True, patience=1)
    large = InOrder(1e6 * np.ones_like(inputs), targets)
    run_of(net, large, precision=precision, whole=whole).steps(sv.SGD(0.01), 0, 6)
    assert net.bank.scaling.tolist() == [SMALLEST_SCALE, 0.0, 6.0]
    net.bank.value[:] = 0.0
    zeros = InOrder(inputs, np.zeros_like(targets))
    run = run_of(net, zeros, precision=precision, whole=whole)
    net.bank.scaling[0] = LARGEST_SCALE / 4
    run.steps(sv.SGD(0.01), 0, 4)
    assert net.bank.scaling[:2].tolist() == [LARGEST_SCALE, 0.0]


def test_a_fixed_scale_counts_what_overflows_as_zero() -> None:
    net = sv.Network([2, 1], seed=1)
    before = net.bank.value.copy()
    run = run_of(net, InOrder(*pair(net)), precision=Precision("mixed", 2.0**30))
    assert run.steps(sv.SGD(0.01), 0, 2).bad == NONE
    assert not np.isfinite(net.bank.grad).any()
    assert (net.bank.value == before).all()
    assert net.bank.step_count == 2


def test_mixed_precision_needs_float32() -> None:
    net = sv.Network([2, 1], dtype="float64")
    with refused(EngineError, "float64"):
        ENGINES["cuda"].check(net.bank, Precision("mixed"), net.program)


# ---- what is special about a GPU ----------------------------------------------------------------


def test_an_operation_of_a_kind_without_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "mirror", Kind("mirror", "y = -x"))
    net = sv.Network([2, 1])
    net.forward([1.0, 2.0])
    net.program.add("mirror", size=1)
    with refused(EngineError, "'mirror'"):
        net.to("cuda")
    assert net.engine == "python" and net.backward().shape == (1, 2)


def test_a_network_that_no_block_has_room_for_runs_kernel_by_kernel() -> None:
    wide = sv.Network([2, 3000, 1])
    assert not engine_of(wide).run(InOrder(*pair(wide, 9)), sv.Loss()).whole_steps


def test_chunks_depend_on_the_batch_and_not_on_the_device() -> None:
    count = tables.count_chunks
    assert [count(n, 100) for n in (1, 7, 16, 25, 1024, 100_000)] == [1, 1, 2, 3, 128, 128]
    assert count(1024, 2**24) == 2


def test_a_snapshot_keeps_what_was() -> None:
    net = sv.Network([3, 4, 2], "tanh")
    run = run_of(net, InOrder(*pair(net)))
    optimizer = sv.Adam(0.1)
    run.steps(optimizer, 0, 1)
    snapshot = run.snapshot(optimizer)
    assert not snapshot.ready
    snapshot.request()
    bank = net.copy().bank
    run.steps(optimizer, 1, 1)
    assert snapshot.ready
    found = snapshot.read()
    assert (found.value == bank.value).all()
    assert (found.grad == bank.grad).all()
    assert {name: slot.tolist() for name, slot in found.slots.items()} == {
        name: slot.tolist() for name, slot in bank.slots.items()
    }
    assert (found.value != net.bank.value).any()


def test_the_simulator_is_what_runs_here() -> None:
    assert cuda.config.ENABLE_CUDASIM
    assert places.PLAN_FIELDS > places.DONE
    assert Moment("step", "step", "step") == sv.Network([1, 1]).program.moments[-1]
