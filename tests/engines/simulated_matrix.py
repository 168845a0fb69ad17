"""The cuda engine in numba's simulator, against the python engine: kinds by types, sessions."""

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
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
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.cuda import device_memory, gpu_layout
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.engines.python import PythonEngine
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import EngineError, FileError
from scalarviz.faces.controller import precompile
from scalarviz.training.session.callbacks import StepView
from scalarviz.training.session.replicas import Replicas
from tests.engines.agreement import (
    MAKERS,
    TOLERANCE,
    Array,
    banks_agree,
    bits_of,
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
    one_type_or_both,
    pair,
    reference_steps,
    run_of,
    slow,
    whole_or_not,
)
from tests.sessions import advanced
from tests.wording import refused

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


@pytest.mark.some("rows", "branches", "all")
@every_network
def test_verbs_give_what_the_objects_give(name: str) -> None:
    for samples in (1, 9):
        verbs_agree(network(name), samples)


@pytest.mark.parametrize("samples", [17, *slow(7, 40)])
def test_every_size_of_batch(samples: int) -> None:
    verbs_agree(sv.Network([2, 3, 1], "tanh", dtype="float64"), samples)


def test_a_convolution_of_more_samples_than_threads_share() -> None:
    """In a whole batch a thread has four samples, APART from each other."""
    net = sv.Network([sv.Conv2d((1, 2, 2), 2, (2, 1))], dtype="float64", seed=5)
    verbs_agree(net, 4 * gpu_layout.APART + 3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation: str) -> None:
    verbs_agree(sv.Network([3, 2], output=activation, dtype="float64", seed=1), 5)


@pytest.mark.parametrize("name", ["all", *slow(*sorted(NETWORKS.keys() - {"all"}))])
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


@pytest.mark.some("one weight", "tall window")
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
        assert bits_of(bank) == bits_of(first)
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


@pytest.mark.some("kernels")
@whole_or_not
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


LOGIT_LOSSES = pytest.mark.parametrize(
    "loss",
    ["softmax_cross_entropy", pytest.param("sigmoid_cross_entropy", marks=pytest.mark.slow)],
)
RATE = 0.2


def largest(predictions: Any, targets: Any) -> float:
    """A metric of the user."""
    return float(predictions.max())


def labelled() -> data.Arrays:
    """Samples in the plane, in three classes; some are held out."""
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (36, 2))
    labels = (points[:, 0] > 0.0).astype(int) + (points[:, 1] > 0.2)
    return data.Arrays(points, labels, share=0.75, classes=3)


def both(loss: str, dtype: Any, train: Callable[[sv.Session], object]) -> list[sv.Session]:
    """The same training on python and on cuda, which agree in losses, metrics and weights."""
    sessions = []
    for engine in ("python", "cuda"):
        net = sv.Network([2, 4, 3], "tanh", "linear", dtype=dtype, seed=3)
        metrics = ["accuracy", largest]
        session = sv.Session(
            *(net, labelled(), loss, sv.SGD(RATE)), batch=8, engine=engine, metrics=metrics, every=2
        )
        train(session)
        sessions.append(session)
    plain, cuda = sessions
    assert (plain.engine, cuda.engine) == ("python", "cuda")
    near = TOLERANCE[dtype]
    assert plain.step_index == cuda.step_index and plain.stopped == cuda.stopped
    assert difference(plain.losses, cuda.losses) < near
    assert difference(plain.network.bank.value, cuda.network.bank.value) < near
    assert list(plain.metrics) == list(cuda.metrics)
    for name, (steps, values) in plain.metrics.items():
        assert cuda.metrics[name][0].tolist() == steps.tolist()
        assert difference(values, cuda.metrics[name][1]) < near
    return sessions


@LOGIT_LOSSES
def test_what_a_callback_sees_and_changes(loss: str) -> None:
    seen: list[list[float]] = []

    def watch(view: StepView) -> None:
        numbers = [view.step, view.loss, view.learning_rate, view.metrics["accuracy"][1][-1]]
        seen.append([*numbers, *view.values, *view.gradients])
        if view.step == 4:
            view.set_rate(0.5 * view.learning_rate)
            view.edit(1, 0.25)
            view.freeze(1)
        if view.step == 8:
            view.stop("enough")

    def train(session: sv.Session) -> None:
        session.on_step(watch, every=2)
        session.advance(12)

    _, cuda = both(loss, "float64", train)
    half = len(seen) // 2
    assert half and difference(seen[:half], seen[half:]) < TOLERANCE["float64"]
    assert (cuda.step_index, cuda.stopped, cuda.learning_rate) == (8, "enough", 0.5 * RATE)
    assert cuda.network.bank.value[1] == 0.25
    before = cuda.network.bank.value.copy()
    cuda.seek(0)
    cuda.seek(8)
    assert (cuda.network.bank.value == before).all(), "replayed without the callback"


@pytest.mark.slow
def test_a_rate_that_falls_on_a_plateau() -> None:
    def train(session: sv.Session) -> None:
        session.on_step(sv.ReduceOnPlateau("held_out_loss", factor=0.5, patience=2, min_delta=0.02))
        session.advance(30)

    plain, cuda = both("sigmoid_cross_entropy", "float64", train)
    assert plain.learning_rate == cuda.learning_rate < RATE
    falls = [
        [(action.step, action.details["rate"]) for action in session.timeline.branch.journal]
        for session in (plain, cuda)
    ]
    assert falls[0] == falls[1] and len(falls[0]) > 1


@pytest.mark.some(1)
@one_type_or_both
def test_it_stops_by_itself_at_the_same_step(dtype: str) -> None:
    def train(session: sv.Session) -> None:
        session.stop_when("weight 3 changes sign", "loss falls 1.2x", "grad norm < 0.2")
        while session.step_index < 24:
            session.advance(24 - session.step_index)

    plain, cuda = both("softmax_cross_entropy", dtype, train)
    twin = cuda.copy()
    for session in (plain, cuda):
        session.seek(0)
        stops = []
        while session.step_index < 24:
            session.advance(24 - session.step_index)
            stops += [session.step_index] * bool(session.stopped)
        assert stops and stops[0] == session.first("loss falls 1.2x", "grad norm < 0.2")
    assert twin.network.bank.value.tobytes() == cuda.network.bank.value.tobytes()


def replicated(rate: float) -> Replicas:
    """Three networks on cuda, of which a large rate stops some."""
    net = sv.Network([2, 4, 3], "tanh", "linear", seed=3)
    session = sv.Session(net, labelled(), "mse", sv.SGD(rate), batch=8, engine="cuda")
    return sv.replicate(session, seeds=[3, 5, 8])


def test_replicas_have_the_numbers_of_sessions_of_their_own() -> None:
    many = advanced(replicated(RATE), 3, progress=False)
    many.advance(4, progress=False)
    assert many.taken.tolist() == [7, 7, 7] and many.losses.shape == (3, 7)
    x = np.zeros((2, 2))
    for i, seed in enumerate(many.seeds):
        net = sv.Network([2, 4, 3], "tanh", "linear", seed=seed)
        session = advanced(
            sv.Session(net, labelled(), "mse", sv.SGD(RATE), batch=8, engine="cuda", seed=seed), 7
        )
        assert (many.banks[i].value == net.bank.value).all()
        assert (many.losses[i] == session.losses).all()
        assert many.banks[i].step_count == 7
        assert (many.outputs(x)[i] == net(x)).all()


def test_a_replica_that_overflows_stops_before_that_step_and_the_others_go_on() -> None:
    many = advanced(replicated(1e30), 1, progress=False)
    many.end(np.array([False, True, False]))
    many.advance(5, progress=False)
    assert many.taken.tolist()[1] == 1
    assert (many.taken < 6).all()
    for bank, losses, taken in zip(many.banks, many.losses, many.taken, strict=True):
        assert np.isfinite(bank.value).all()
        assert np.isfinite(losses[:taken]).all() and np.isnan(losses[taken:]).all()
        assert bank.step_count == taken


def test_no_training_takes_a_kernel_that_its_kind_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window compiles what kinds name before it trains; a sweep trains replicas."""
    monkeypatch.setattr(cuda_file, "_modules", {})
    net = sv.Network([2, 3, 3], "tanh", "linear", seed=3)
    s = sv.Session(net, labelled(), "softmax_cross_entropy", sv.SGD(RATE), batch=8, engine="cuda")
    named = set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    sv.replicate(s, range(2)).advance(2)
    s.advance(2)
    s.advance(len(s.operations), "operation")
    net([[0.0, 1.0]] * 5)
    s.optimizer = sv.Adam(0.1)
    named |= set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    s.advance(1)
    s.back(2)
    taken = cuda_file._modules.values()
    others = {module.NAME for module in taken if Path(str(module.__file__)) not in named}
    assert not others and len(taken) > 5


def test_mixed_precision_is_refused_and_the_training_goes_on() -> None:
    one, other = [
        sv.Session(sv.Network([2, 4, 3], "tanh", seed=3), labelled(), batch=8, engine="cuda")
        for _ in range(2)
    ]
    one.advance(2)
    refused(EngineError, "cuda engine").by(setattr, one, "precision", "mixed")
    assert (one.engine, one.precision, one.current_branch.journal) == ("cuda", sv.Precision(), [])
    one.advance(3)
    other.advance(5)
    assert one.network.bank.value.tobytes() == other.network.bank.value.tobytes()
    assert one.losses.tobytes() == other.losses.tobytes()


def test_a_file_in_mixed_precision_is_not_loaded_on_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    sv.Network([2, 3, 3], engine="cpu", precision="mixed").save(path)
    refused(FileError, "cuda engine").by(sv.load, path, "cuda")
    assert sv.load(path, "auto").precision == sv.Precision("mixed")
    # A run of an earlier version.
    with monkeypatch.context() as patch:
        patch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], only_full=""))
        net = sv.Network([2, 4, 3], "tanh", seed=3)
        sv.Session(net, labelled(), batch=8, engine="cuda", precision="mixed").save(path)
    refused(FileError, "cuda engine").by(sv.Session.load, path)
