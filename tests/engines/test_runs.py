"""A training on every engine: many steps at once and moment by moment, with the same bits."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.np.ufunc.parallel import get_thread_count

import scalarviz as sv
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer, OwnRates
from scalarviz.core.precision import LARGEST_SCALE, SMALLEST_SCALE
from scalarviz.core.program import NONE
from scalarviz.data.batches import (
    Batches,
    GeneratedBatches,
    InOrder,
    Picked,
    PictureTransform,
    Points,
    Shuffled,
)
from scalarviz.engines.cpu.calls import ThreadChoice
from scalarviz.engines.cpu.job import Room
from scalarviz.engines.engine import Run
from scalarviz.errors import GradientError, InputError, NotFiniteError
from tests.engines.agreement import bits_of
from tests.sessions import every_engine
from tests.wording import refused

Array = np.ndarray[Any, np.dtype[np.float64]]
RANDOM = np.random.default_rng(3)
INPUTS, TARGETS = RANDOM.normal(size=(10, 2)), RANDOM.random((10, 3))


def make(step: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(step)
    return rng.normal(size=(4, 2)), rng.random((4, 3))


PICTURE = np.random.default_rng(1).random((5, 7, 3))
DRAWS: dict[str, Batches] = {
    "all": InOrder(INPUTS, TARGETS),
    "in order": InOrder(INPUTS, TARGETS, 4),
    "shuffled": Shuffled(INPUTS, TARGETS, 4, seed=5),
    "shuffled alone": Shuffled(INPUTS, TARGETS, 1, seed=2**40),
    "picked": Picked(INPUTS, TARGETS, 3, seed=5),
    "points": Points(PICTURE, 6, 20, seed=5),
    "zoomed": Points(
        PICTURE, 6, 20, seed=5, window=PictureTransform(0.5, 0.0, 0.0, 0.5, 0.25, 0.25)
    ),
    "flipped": Points(PICTURE, 6, 20, seed=5, window=PictureTransform(0.0, 1.0, 1.0, 0.0)),
    "made": GeneratedBatches(make, (2, 3), 4),
}


def network(engine: str, **options: Any) -> sv.Network:
    shared = sv.Dense(5, 5, "tanh")
    layers = [
        sv.FrequencyEncoding(2, octaves=1),
        sv.Dense(4, 5, "swish"),
        sv.LayerNorm(5),
        shared,
        shared,
        sv.Dense(5, 3, options.pop("output", "sigmoid")),
    ]
    return sv.Network(layers, seed=1, engine=engine, **options)


def by_moments(net: sv.Network, run: Run, optimizer: Optimizer, first: int, steps: int) -> Array:
    losses = []
    for step in range(first, first + steps):
        run.begin(step)
        for moment in net.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    return np.array(losses)


@pytest.fixture
def net(engine: str) -> sv.Network:
    return sv.Network([2, 4, 3], engine=engine)


@every_engine
@pytest.mark.parametrize("draw", DRAWS)
def test_the_batch_of_a_step_is_the_one_that_batches_say(engine: str, draw: str) -> None:
    batches, loss, optimizer = DRAWS[draw], sv.Loss("mse"), sv.SGD(0.1)
    drawn, told = [network(engine, dtype="float64") for _ in range(2)]
    losses = drawn.run(batches, loss).steps(optimizer, 2, 7).losses
    expected = [told.train_step(*batches.at(step), loss, optimizer) for step in range(2, 9)]
    assert (losses == expected).all()
    assert (drawn.bank.value == told.bank.value).all()


@every_engine
@pytest.mark.parametrize("draw", ["shuffled", "points"])
def test_steps_can_be_taken_in_any_portions_and_moment_by_moment(engine: str, draw: str) -> None:
    whole, parts, optimizer = network(engine), network(engine), sv.Adam(0.01)
    at_once = whole.run(DRAWS[draw], sv.Loss()).steps(optimizer, 0, 9).losses
    run = parts.run(DRAWS[draw], sv.Loss())
    losses = [
        run.steps(optimizer, 0, 1).losses,
        by_moments(parts, run, optimizer, 1, 2),
        run.steps(optimizer, 3, 3).losses,
        by_moments(parts, run, optimizer, 6, 1),
        run.steps(optimizer, 7, 2).losses,
    ]
    assert (np.concatenate(losses) == at_once).all()
    assert (whole.bank.value == parts.bank.value).all()
    assert whole.bank.step_count == parts.bank.step_count == 9


CASES = [("float64", "sigmoid", 4), ("float32", "sigmoid", 150), ("float32", "linear", 1)]


@every_engine
@pytest.mark.parametrize(("dtype", "output", "batch"), CASES)
def test_moment_by_moment_has_the_bits_of_whole_steps(
    engine: str, dtype: str, output: str, batch: int, rng: np.random.Generator
) -> None:
    samples = rng.normal(size=(2 * batch + 1, 2)), rng.random((2 * batch + 1, 3))
    whole, slow = [network(engine, dtype=dtype, output=output) for _ in range(2)]
    batches, loss = Shuffled(*samples, batch), sv.Loss("mse", mean="samples")
    optimizer = sv.Adam(0.01, clip_norm=0.5, l2=0.01)
    at_once = whole.run(batches, loss).steps(optimizer, 0, 4).losses
    assert (by_moments(slow, slow.run(batches, loss), optimizer, 0, 4) == at_once).all()
    assert bits_of(slow.bank) == bits_of(whole.bank)


@pytest.mark.parametrize("size", [128, 300, 1024])
def test_chunks_on_one_core_add_in_the_bank_with_the_same_bits(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, targets = RANDOM.normal(size=(1100, 2)), RANDOM.random((1100, 3))
    shared: list[bool] = []

    def trained() -> bytes:
        net = sv.Network([2, 40, 40, 3], "tanh", seed=0, engine="cpu")
        session = sv.Session(net, (inputs, targets), optimizer=sv.Adam(0.01), batch=size, seed=0)
        session.advance(9)  # the last batch of an epoch is smaller
        return net.bank.value.tobytes()

    def apart(room: Room, parts: int) -> None:
        shared.append(room.grad is not None)

    alone = trained()
    monkeypatch.setattr(Room, "use_threads", apart)
    assert trained() == alone and any(shared)


@pytest.mark.parametrize("size", [130, 250, 1024])
def test_all_cores_add_parts_of_wide_layers_in_the_bank_with_the_bits_of_one_core(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, targets = RANDOM.normal(size=(1100, 100)), RANDOM.random((1100, 3))
    used: list[int] = []
    use = Room.use_threads

    def trained(together: bool) -> bytes:
        def run(choice: object, count: int, call: Any, use: Any) -> None:
            use(together)
            call(count)

        monkeypatch.setattr(ThreadChoice, "run", run)
        net = sv.Network([100, 300, 40, 290, 3], "tanh", seed=0, engine="cpu")
        net.bank.frozen[9000:9100] = True
        optimizer = sv.Adam(0.01).with_own_rates(OwnRates([0, 40, 100], [np.nan, 0.5, np.nan]))
        session = sv.Session(net, (inputs, targets), optimizer=optimizer, batch=size, seed=0)
        session.advance(9)  # the last batch of an epoch is smaller
        return net.bank.value.tobytes()

    monkeypatch.setattr(Room, "use_threads", lambda room, n: used.append(n) or use(room, n))
    alone = trained(False)
    assert trained(True) == alone
    assert max(used) == get_thread_count()
    monkeypatch.setattr("scalarviz.engines.cpu.engine.turned", lambda *_: [])
    assert trained(False) == alone  # also without panels of weights


def test_the_run_of_a_large_batch_is_kept_for_the_next_call() -> None:
    """Creating it allocates as much memory as several steps take time."""
    engine = sv.Network([784, 2], engine="cpu")._engine
    x, y = np.zeros((1024, 784)), np.zeros((1024, 2))
    run = engine.take_run(x, y, sv.Loss())
    engine.keep_run(run)
    assert engine.take_run(x, y, sv.Loss()) is run


@every_engine
def test_what_is_written_can_be_read_from_its_moment_on(engine: str) -> None:
    """Every number between the inputs and the gradients is what one works out by hand."""
    net = sv.Network([3, 4, 2], "tanh", "sigmoid", dtype="float64", seed=2)
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=(5, 3)), rng.random((5, 2))
    w0, b0, w1, b1 = np.split(net.bank.value.copy(), [12, 16, 24])
    z0 = x @ w0.reshape(4, 3).T + b0
    a0 = np.tanh(z0)
    z1 = a0 @ w1.reshape(2, 4).T + b1
    p = 1 / (1 + np.exp(-z1))
    d1 = 2 * (p - t) / 10 * p * (1 - p)
    g0 = d1 @ w1.reshape(2, 4)
    d0 = g0 * (1 - a0 * a0)
    grads = [(d0.T @ x).ravel(), d0.sum(0), (d1.T @ a0).ravel(), d1.sum(0)]
    inputs, *buffers = net.program.buffers
    expected = {
        "affine 0": (buffers[0], z0), "tanh 0": (buffers[1], a0), "affine 1": (buffers[2], z1),
        "sigmoid 1": (buffers[3], p), "delta 1": (buffers[2], d1),
        "input gradient 1": (buffers[1], g0), "delta 0": (buffers[0], d0),
    }  # fmt: skip
    run = net.to(engine).run(InOrder(x, t), sv.Loss())
    run.begin(0)
    assert run.values(inputs) == pytest.approx(x)
    assert run.targets() == pytest.approx(t)
    for moment in net.program.moments[:-1]:
        run.perform(moment, sv.SGD(0.1))
        if moment.name in expected:
            buffer, numbers = expected[moment.name]
            read = run.gradients if moment.phase == "backward" else run.values
            assert read(buffer) == pytest.approx(numbers, rel=1e-10)
        if moment.name == "weight gradient 1":
            assert net.bank.grad[16:] == pytest.approx(np.concatenate(grads[2:]), rel=1e-10)
            assert not net.bank.grad[:16].any()
    assert run.loss == pytest.approx(((p - t) ** 2).mean(), rel=1e-12)
    assert net.bank.grad == pytest.approx(np.concatenate(grads), rel=1e-10)
    # And all of it can still be read, also what was computed first.
    for name, (buffer, numbers) in expected.items():
        read = run.gradients if "delta" in name or "gradient" in name else run.values
        assert read(buffer) == pytest.approx(numbers, rel=1e-10)


@every_engine
def test_engines_show_the_same_numbers_between_the_calls(engine: str) -> None:
    reference, other = network("python", dtype="float64"), network(engine, dtype="float64")
    runs = [net.run(DRAWS["in order"], sv.Loss()) for net in (reference, other)]
    for run in runs:
        run.begin(1)
    for moment in reference.program.moments[:-1]:
        for run in runs:
            run.perform(moment, sv.SGD(0.1))
        if moment.operation == NONE:
            continue
        operation = reference.program.operations[moment.operation]
        if moment.phase == "forward":
            a, b = [run.values(operation.target) for run in runs]
        elif moment.kind != "weight gradient":
            a, b = [run.gradients(operation.source) for run in runs]
        assert b == pytest.approx(a, rel=1e-9, abs=1e-12), moment.name
    assert other.bank.grad == pytest.approx(reference.bank.grad, rel=1e-9, abs=1e-14)


@every_engine
def test_a_bad_gradient_ends_the_run_before_it_is_applied(engine: str) -> None:
    net = sv.Network([2, 1], engine=engine)
    inputs = np.array([[0.5, 0.5], [0.5, 0.5], [1e38, 0.5], [0.5, 0.5]])
    batches = InOrder(inputs, np.ones((4, 1)), 1)
    outcome = net.run(batches, sv.Loss()).steps(sv.SGD(0.1), 0, 4)
    assert len(outcome.losses) == 2 and outcome.bad == 0
    assert net.bank.step_count == 2 and np.isfinite(net.bank.value).all()
    run = net.run(batches, sv.Loss())
    run.begin(2)
    for moment in net.program.moments[:-1]:
        run.perform(moment, sv.SGD(0.1))
    refused(GradientError, "inf").by(run.perform, net.program.moments[-1], sv.SGD(0.1))


def test_made_batches_must_have_the_size_they_were_announced_with() -> None:
    batches = GeneratedBatches(lambda step: (np.zeros((step, 2)), np.zeros((step, 1))), (2, 1), 3)
    assert batches.at(3)[0].shape == (3, 2)
    refused(InputError, "((4, 2), (4, 1))").by(batches.at, 4)


def test_the_last_batch_of_an_epoch_may_be_smaller() -> None:
    batches = Shuffled(INPUTS, TARGETS, 4)
    assert batches.steps_an_epoch == 3
    assert [batches.count(step) for step in range(4)] == [4, 4, 2, 4]
    assert sorted(np.concatenate([batches.rows(step) for step in range(3)])) == list(range(10))


def test_points_look_where_the_window_says() -> None:
    picture = np.arange(6.0).reshape(2, 3, 1)  # 2 high, 3 wide
    plain, flipped = (
        Points(picture, 4, 8),
        Points(picture, 4, 8, window=PictureTransform(0, 1, 1, 0)),
    )
    (u, v) = np.array([[0.0, 0.99, 0.4], [0.0, 0.2, 0.99]])
    assert list(plain.texels(u, v)) == [0, 2, 4]
    assert list(flipped.texels(v, u)) == [0, 2, 4]
    outside = Points(picture, 4, 8, window=PictureTransform(u0=5.0, v0=-5.0))
    assert list(outside.texels(u, v)) == [2, 2, 2]


# Mixed precision.


def half(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


def test_mixed_precision_rounds_whatever_is_kept() -> None:
    net = sv.Network([3, 4, 2], "relu", engine="cpu", precision=sv.Precision("mixed", 64.0))
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=(5, 3)), rng.random((5, 2))
    w0, b0, w1, b1 = np.split(half(net.bank.value), [12, 16, 24])
    z0 = half(x.astype(np.float32) @ w0.reshape(4, 3).T + b0)
    a0 = np.maximum(z0, 0)
    p = half(a0 @ w1.reshape(2, 4).T + b1)
    d1 = half(2 * (p - t) / 10 * 64)
    g0 = half(d1 @ w1.reshape(2, 4))
    grads = np.concatenate([half(d1.T @ a0).ravel(), half(d1.sum(0))]) / 64
    before = net.bank.value.copy()
    run = net.run(InOrder(x, t), sv.Loss())
    run.begin(0)
    for moment in net.program.moments:
        run.perform(moment, sv.SGD(0.1))
    near = {"rel": 2e-3, "abs": 1e-6}  # float32 sums, in another order, may fall on either side
    assert run.values(net.program.outputs) == pytest.approx(p, **near)
    assert run.gradients(net.program.buffers[2]) == pytest.approx(g0 / 64, **near)
    assert net.bank.grad[16:] == pytest.approx(grads, **near)
    scaled = net.bank.grad.astype(np.float64) * 64
    assert (scaled == half(scaled)).all()
    # The weights that move are not rounded.
    assert net.bank.value == pytest.approx(before - 0.1 * net.bank.grad, rel=1e-6)
    assert (net.bank.value != half(net.bank.value)).any()
    assert (net(x) == half(net(x))).all()


def test_small_gradients_live_by_the_loss_scale() -> None:
    x, t = np.full((1, 1), 1e-4), np.zeros((1, 1))
    gradients = []
    for scale in (1.0, 1024.0):
        net = sv.Network([1, 1], engine="cpu", precision=sv.Precision("mixed", loss_scale=scale))
        net.bank.value[:] = [1.0, 0.0]
        net.train_step(x, t, "mse", sv.SGD(0.1))
        gradients.append(net.bank.grad[0])
    assert gradients[0] == 0.0
    assert gradients[1] == pytest.approx(2e-8, rel=0.01)


def test_the_verbs_scale_and_unscale() -> None:
    full, mixed = sv.Network([2, 3, 1], "tanh"), sv.Network([2, 3, 1], "tanh")
    full.to("cpu")
    mixed.to("cpu", precision="mixed")
    assert mixed.precision.mixed and mixed.copy().precision.mixed
    x = np.array([[0.3, -0.4], [0.1, 0.2]])
    for net in (full, mixed):
        net.forward(x)
        net.backward([[1e-4], [2e-4]])
    assert mixed.bank.grad == pytest.approx(full.bank.grad, rel=5e-3, abs=1e-8)
    assert (mixed.bank.grad != full.bank.grad).any()


def test_what_overflows_counts_as_0_with_a_fixed_scale() -> None:
    net = sv.Network([2, 1], engine="cpu", precision=sv.Precision("mixed", loss_scale=60000.0))
    net.bank.value[:] = [1.0, 1.0, 0.0]
    before = net.bank.value.copy()
    net.train_step([[100.0, 0.0]], [[0.0]], "mse", sv.SGD(0.1))
    assert not np.isfinite(net.bank.grad[0])
    assert (net.bank.value == before).all()
    assert net.bank.step_count == 1


def test_a_dynamic_scale_skips_steps_and_finds_its_size() -> None:
    precision = sv.Precision("mixed", loss_scale=2.0**20, dynamic=True, patience=3)
    net = sv.Network([2, 1], engine="cpu", precision=precision)
    net.bank.value[:] = [1.0, 1.0, 0.0]
    x, t = [[1.0, 0.5]], [[0.0]]
    before = net.bank.value.copy()
    net.train(x, t, "mse", sv.SGD(1e-4), steps=2)
    assert (net.bank.value == before).all() and net.bank.step_count == 0
    assert net.bank.scaling.tolist() == [2.0**18, 0.0, 2.0]
    net.train(x, t, "mse", sv.SGD(1e-4), steps=6)
    assert net.bank.scaling.tolist() == [2.0**14, 2.0, 6.0]
    assert net.bank.step_count == 2
    net.train(x, t, "mse", sv.SGD(1e-4), steps=1)
    assert net.bank.scaling.tolist() == [2.0**15, 0.0, 6.0]


def test_a_dynamic_scale_has_a_smallest_and_a_largest(tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], seed=0).to("cpu", sv.Precision("mixed", dynamic=True, patience=1))
    large, good = np.full((4, 2), 1e6), np.array([[1.0, 2.0], [0.5, 1.0]])
    net.train(large, np.zeros((4, 1)), "mse", sv.SGD(0.01), steps=1500)
    assert net.bank.scaling.tolist() == [SMALLEST_SCALE, 0.0, 1500.0]
    net.save(tmp_path / "net")
    again = sv.load(tmp_path / "net", "cpu")
    again.train(good, np.zeros((2, 1)), "mse", sv.SGD(0.01), steps=20)
    assert again.bank.step_count == 20 and again.bank.scaling[0] == SMALLEST_SCALE * 2**20
    again.bank.value[:] = 0.0  # now every gradient is 0, and nothing overflows at any scale
    again.train(good, np.zeros((2, 1)), "mse", sv.SGD(0.01), steps=1500)
    assert again.bank.scaling[0] == LARGEST_SCALE and again.bank.step_count == 1520


def test_mixed_precision_that_cannot_be_is_refused() -> None:
    refused(sv.ScalarvizError, "python engine").by(sv.Network, [2, 1], precision="mixed")
    refused(sv.ScalarvizError, "float64").by(
        sv.Network, [2, 1], engine="cpu", precision="mixed", dtype="float64"
    )
    refused(sv.ScalarvizError, "'mix'").by(sv.Network, [2, 1], precision="mix")
    refused(sv.ScalarvizError, "0.0").by(sv.Precision, "mixed", loss_scale=0.0)


def test_it_still_learns_in_half() -> None:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", engine="cpu", precision="mixed")
    colours = np.random.default_rng(0).random((8, 3))
    losses = net.train(colours, 1 - colours, "mse", sv.SGD(0.5), steps=1500)
    assert losses[-1] < 0.03 * losses[0]


def test_a_moment_carries_the_buffers_that_it_writes() -> None:
    """The python engine knows no number before the moment that writes it."""
    layers = [
        sv.FrequencyEncoding(2, octaves=1),
        sv.Product(sv.Dense(4, 4, "tanh"), sv.Activation(4, "sin")),
        sv.Residual(sv.Dense(4, 4, "relu"), sv.LayerNorm(4)),
        sv.Dense(4, 3, "sigmoid"),
    ]
    net = sv.Network(layers, seed=0)
    run, program = net.run(InOrder(INPUTS, TARGETS), Loss.of("mse")), net.program

    def known() -> tuple[set[str], set[str]]:
        found: tuple[set[str], set[str]] = set(), set()
        for read, names in zip((run.values, run.gradients), found, strict=True):
            for buffer in program.buffers:
                with suppress(KeyError):
                    read(buffer)
                    names.add(buffer.name)
        return found

    run.begin(0)
    values, gradients = known()
    assert values == {"inputs"} and not gradients
    for moment in program.moments[:-1]:
        run.perform(moment, sv.SGD(0.1))
        values |= {buffer.name for buffer in moment.values}
        gradients |= {buffer.name for buffer in moment.gradients}
        assert known() == (values, gradients), moment.name
    assert values == {buffer.name for buffer in program.buffers}
    unneeded = {"inputs", program.operations[0].target.name, "branch 1", "sin 1.1"}
    assert gradients == values - unneeded


@every_engine
def test_where_nothing_learns_only_the_gradient_by_the_outputs_is_computed(engine: str) -> None:
    net = sv.Network([sv.Activation(2, "tanh"), sv.Activation(2, "swish")], engine=engine)
    written = [moment for moment in net.program.moments if moment.gradients]
    assert [(moment.name, moment.gradients) for moment in written] == [
        ("delta 1", (net.program.outputs,))
    ]
    s = sv.Session(net, (INPUTS, TARGETS[:, :2]), engine=engine)
    while s.next != "step":
        s.advance(1, "operation")
    numbers = s.numbers("swish 1")
    assert numbers.upstream is not None and numbers.gradient is None


# train_step keeps its run for the next call.


def steps_of_a_user(net: sv.Network, before_each: Any) -> list[Any]:
    """Take steps that differ in what a kept run must notice; return each loss, and all bits."""
    seen = []
    loss, optimizer = sv.Loss("mse"), sv.Adam(0.01)

    def step(inputs: object, targets: object) -> None:
        before_each()
        value = net.train_step(inputs, targets, loss, optimizer)
        seen.append((value, net.bank.value.tobytes(), net.bank.grad.tobytes()))

    step(INPUTS[0], TARGETS[0])
    step(INPUTS[1], TARGETS[1])
    step(INPUTS[:4], TARGETS[:4])
    loss.mean = "samples"
    step(INPUTS[4:8], TARGETS[4:8])
    loss.factor = 0.5
    step(INPUTS[4:8], TARGETS[4:8])
    loss = sv.Loss("mae")
    step(INPUTS[4:8], TARGETS[4:8])
    optimizer.lr = 0.1
    step(INPUTS[4:8].astype(np.float32), TARGETS[4:8].astype(np.float32))
    net.set_activation(0, "relu")
    step(INPUTS[4:8], TARGETS[4:8])
    net.layers[1].bank.frozen[net.layers[1].rows] = True
    step(INPUTS[4:8], TARGETS[4:8])
    optimizer = sv.SGD(0.5)  # type: ignore[assignment]  # another one
    step(INPUTS[4:8], TARGETS[4:8])
    return seen


@every_engine
def test_a_train_step_has_the_bits_of_one_on_an_engine_made_anew(engine: str) -> None:
    one, other = [sv.Network([2, 4, 3], "tanh", engine=engine) for _ in range(2)]
    assert steps_of_a_user(one, lambda: None) == steps_of_a_user(other, lambda: other.to(engine))


@every_engine
def test_a_train_step_leaves_the_arrays_of_earlier_ones_alone(net: sv.Network) -> None:
    pairs = [(np.full((5, 2), k, np.float32), np.full((5, 3), k, np.float32)) for k in (0, 1, 2)]
    for pair in pairs:
        net.train_step(*pair)
    assert [(x.mean(), y.mean()) for x, y in pairs] == [(0, 0), (1, 1), (2, 2)]


@every_engine
def test_a_number_too_large_for_the_network_is_refused_by_a_kept_run(net: sv.Network) -> None:
    net.train_step(INPUTS, TARGETS)
    before = net.bank.value.tobytes()
    refused(GradientError).by(net.train_step, np.full(INPUTS.shape, 1e300), TARGETS)
    assert net.bank.value.tobytes() == before


@every_engine
def test_arrays_that_kernels_cannot_read_as_they_are_have_the_same_answers(engine: str) -> None:
    inputs, targets = INPUTS.astype(np.float32), TARGETS.astype(np.float32)
    read_only = inputs.copy()
    read_only.flags.writeable = False
    odd = np.zeros(inputs.nbytes + 1, np.int8)[1:].view(np.float32).reshape(inputs.shape)
    odd[:] = inputs
    kinds = [read_only, odd, np.asfortranarray(inputs), inputs.astype(">f4"), inputs.tolist()]
    net = sv.Network([2, 4, 3], "tanh", engine=engine)
    outputs, loss = net(inputs), net.copy().train_step(inputs, targets)
    for kind in kinds:
        assert (net(kind) == outputs).all()
        assert net.copy().train_step(kind, targets) == loss


@every_engine
def test_a_batch_that_is_not_finite_is_refused_though_it_is_not_copied(net: sv.Network) -> None:
    for dtype in (np.float32, np.float64):
        wrong = INPUTS.astype(dtype)
        wrong[3, 1] = np.inf
        refused(NotFiniteError, "inf", "row 3, column 1").by(net.train_step, wrong, TARGETS)
