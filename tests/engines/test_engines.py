"""What all engines share: forward and backward in pairs, errors, frozen weights, records, bits."""

from __future__ import annotations

import copy
import ctypes
import itertools
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core import program as operations
from scalarviz.data.batches import InOrder
from scalarviz.engines import python as python_engine
from scalarviz.engines.cpu import records
from scalarviz.engines.cpu.engine import CpuEngine, CpuRun
from scalarviz.engines.cpu.records import (
    BankRecord,
    BatchRecord,
    Job,
    ProgramRecord,
    ProgressRecord,
    RoomRecord,
    SamplesRecord,
    UpdateRecord,
)
from scalarviz.engines.cpu.tiles import number_of_chunks, number_of_tiles
from scalarviz.engines.expression.expression_kernels import STEP
from scalarviz.engines.reference import program_backward
from scalarviz.engines.registry import ENGINES, LARGE, EngineRow, choose
from scalarviz.errors import EngineError, GradientError, OrderError, ShapeError, UnknownNameError
from scalarviz.stage.sample_pass import forward
from scalarviz.training.network.model_queries import check_engine
from tests.engines.agreement import bits_of
from tests.sessions import RUNNABLE, advanced, both_engines, every_engine
from tests.wording import refused

COLOURS = np.random.default_rng(0).random((8, 3))


def rgb(engine: str, **options: object) -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", engine=engine, **options)  # type: ignore[arg-type]  # of many types


@pytest.fixture
def net(engine: str) -> sv.Network:
    return rgb(engine)


@every_engine
@pytest.mark.parametrize("between", [[], [sv.BatchNorm((4, 1, 2))]], ids=["plain", "batch norm"])
def test_two_forwards_before_a_backward_give_the_right_sum(engine: str, between: Any) -> None:
    nested, plain = [
        sv.Network(
            [sv.Dense(3, 8, "tanh"), *copy.deepcopy(between), sv.Dense(8, 3, "sigmoid")],
            engine=engine, dtype="float64",
        )
        for _ in range(2)
    ]  # fmt: skip
    g = np.random.default_rng(1).normal(size=(4, 3))
    nested.forward(COLOURS[:4])
    nested.forward(COLOURS[4:])
    newest, oldest = nested.backward(g), nested.backward(2 * g)
    plain.forward(COLOURS[4:])
    assert plain.backward(g) == pytest.approx(newest)
    plain.forward(COLOURS[:4])
    assert plain.backward(2 * g) == pytest.approx(oldest)
    assert nested.bank.grad == pytest.approx(plain.bank.grad, rel=1e-12)


@every_engine
def test_a_single_sample_gives_vectors(net: sv.Network) -> None:
    assert net(COLOURS[0]).shape == net.forward(COLOURS[0]).shape == (3,)
    assert net.backward([1.0, 2.0, 3.0]).shape == (3,)
    assert net(COLOURS[0]).dtype == np.float32


@every_engine
def test_zero_grad_between_forward_and_backward_does_no_harm(net: sv.Network) -> None:
    net.forward(COLOURS)
    net.zero_grad()
    net.backward()
    net.step(sv.SGD(0.1))
    assert net.bank.grad.all()


@every_engine
def test_a_backward_that_does_not_fit_is_refused_and_changes_nothing(net: sv.Network) -> None:
    refused(OrderError).by(net.backward)
    net.forward(COLOURS)
    refused(ShapeError, "8 samples").by(net.backward, np.ones((7, 3)))
    assert not net.bank.grad.any()
    net.backward()
    refused(OrderError).by(net.backward, np.ones((8, 3)))


@every_engine
def test_evaluation_and_training_leave_nothing_behind(net: sv.Network) -> None:
    net(COLOURS)
    net.train_step(COLOURS, 1 - COLOURS)
    net.forward(COLOURS)
    net.forget()
    refused(OrderError).by(net.backward, np.ones((8, 3)))


@every_engine
@pytest.mark.parametrize("samples", [1, 150])
def test_a_survey_has_the_numbers_of_all_neurons(engine: str, samples: int) -> None:
    inputs = np.random.default_rng(1).normal(size=(samples, 3))
    layers = [sv.Dense(3, 8, "tanh"), sv.LayerNorm(8), sv.Dense(8, 2)]
    network = sv.Network(layers, engine=engine, dtype="float64")
    found, before = network.survey(inputs), network(inputs)
    for name, values in forward(network.program, network.bank.value, inputs[-1]).values.items():
        assert found[name].shape == (samples, len(values))
        np.testing.assert_allclose(found[name][-1], values, atol=1e-12)
    np.testing.assert_array_equal(network(inputs), before)


@both_engines
def test_a_survey_of_an_expression_has_the_results_of_all_operations(engine: str) -> None:
    compiled = sv.compile(lambda x, y: (x * y).tanh() + x, inputs=2, engine=engine)
    inputs = np.random.default_rng(1).normal(size=(5, 2))
    product = inputs.prod(axis=1)
    wanted = np.column_stack([inputs, product, np.tanh(product), np.tanh(product) + inputs[:, 0]])
    np.testing.assert_allclose(compiled.survey(inputs)["values"], wanted, atol=1e-12)


@every_engine
def test_a_written_weight_counts_at_once(net: sv.Network) -> None:
    before = net(COLOURS)
    net.parameters()[5].value = 2.0
    assert (net(COLOURS) != before).any()


@every_engine
def test_a_frozen_weight_stands_still_and_counts_in_no_norm(net: sv.Network) -> None:
    reference, before = rgb("python"), net.bank.value.copy()
    for each in (net, reference):
        each.parameters()[10].freeze()
        each.train_step(COLOURS, 1 - COLOURS, "mse", sv.Momentum(0.1, clip_norm=0.01))
    assert ((net.bank.value == before) == (np.arange(len(net.bank)) == 10)).all()
    assert net.bank.slots["velocity"][10] == 0.0
    assert net.bank.value == pytest.approx(reference.bank.value, rel=1e-5)


@every_engine
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bad_gradient_is_refused_by_name_before_anything_changes(engine: str, dtype: str) -> None:
    net = sv.Network([2, 3, 1], "linear", engine=engine, dtype=dtype)
    net.train_step([0.5, 0.5], [1.0], "mse", sv.Adam(0.1))
    net.bank.value[4] = 1e30 if dtype == "float32" else 1e200
    before = net.bank.value.copy(), net.bank.slots["m"].copy(), net.bank.step_count
    refused(GradientError, "inf").by(
        net.train_step, [1e20 if dtype == "float32" else 1e200, 0.5], [1.0], "mse", sv.Adam(0.1)
    )
    assert (net.bank.value == before[0]).all()
    assert (net.bank.slots["m"] == before[1]).all()
    assert net.bank.step_count == before[2]


@every_engine
def test_a_bad_gradient_counts_as_0_on_request(engine: str) -> None:
    net = sv.Network([2, 1], engine=engine)
    net.bank.value[:] = [1e30, 1.0, 0.0]
    before = net.bank.value.copy()
    loss = net.train_step([1e20, 0.5], [1.0], "mse", sv.SGD(0.1, not_finite="zero"))
    assert not math.isfinite(loss)
    assert (net.bank.value == before).all()


@every_engine
def test_stepping_by_hand_and_by_the_engine_mix(engine: str) -> None:
    mixed, reference = rgb(engine, dtype="float64"), rgb("python", dtype="float64")
    optimizer = sv.Adam(0.01)
    for net in (mixed, reference):
        net.train_step(COLOURS, 1 - COLOURS, "mse", optimizer)
        net.zero_grad()
        net.forward(COLOURS)
        net.backward(np.ones((8, 3)))
        for layer in net.layers:
            layer.step(optimizer)
        net.train_step(COLOURS, 1 - COLOURS, "mse", optimizer)
    assert mixed.bank.value == pytest.approx(reference.bank.value, rel=1e-10)
    assert mixed.bank.step_count == reference.bank.step_count == 3


# The choice.


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    """No choice of an engine has been logged yet."""
    monkeypatch.setattr("scalarviz.engines.reference._said", set())


@pytest.mark.usefixtures("unsaid")
def test_auto_says_nothing_of_a_card_that_nobody_asked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=lambda: "a card is missing"))
    assert choose("auto").name == "cpu"
    assert not caplog.messages
    refused(EngineError, "a card is missing").by(choose, "cuda")


@pytest.mark.usefixtures("unsaid")
def test_a_worker_leaves_the_choice_to_be_said_by_its_parent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry.is_worker", lambda: True)
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=str))
    assert choose("auto").name == "cpu"
    assert not caplog.messages


@pytest.mark.usefixtures("unsaid")
def test_auto_takes_the_first_that_can_run_and_says_which_and_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, lack in [("cuda", "a card is missing"), ("cpu", "a screwdriver is missing")]:
        row = EngineRow(name, ENGINES[name].make, lambda lack=lack: lack)  # type: ignore[misc]  # mypy infers no defaults of a lambda
        monkeypatch.setitem(ENGINES, name, row)
    assert choose("auto").name == choose("auto").name == "python"
    said = "scalarviz runs on the python engine (cpu cannot run here: a screwdriver is missing)"
    assert caplog.messages == [said]
    refused(EngineError, "a screwdriver").by(sv.Network([2, 2]).to, "cpu")


@pytest.mark.usefixtures("unsaid")
def test_auto_takes_cuda_from_a_size_on_and_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    monkeypatch.setitem(
        ENGINES, "cuda", EngineRow("cuda", Mock(side_effect=EngineError("cuda was chosen")))
    )
    xor = sv.Session(sv.Network([2, 4, 1]), sv.data.Xor(), batch=None)
    xor.to("auto")
    assert xor.engine == "cpu"
    large = sv.Network([100, 100, 100])  # 20,200 products: 165 samples are less than the bound
    assert 3 * 165 * large.program.products < LARGE <= 3 * 166 * large.program.products
    samples = np.zeros((300, 100)), np.zeros((300, 100))
    assert sv.Session(large.copy(), samples, batch=165).engine == "cpu"
    for batch in (166, None):
        refused(EngineError, "cuda was chosen").by(sv.Session, large.copy(), samples, batch=batch)
    assert caplog.messages == [
        f"scalarviz runs on the {name} engine (cuda is faster from 10,000,000 multiply-adds "
        "per step on)"
        for name in ("cpu", "cuda")
    ]


@pytest.mark.usefixtures("unsaid")
def test_mixed_precision_is_refused_on_cuda_and_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=str, kernels=None))
    net = rgb("cpu")
    net.forward(COLOURS)
    refused(EngineError, "cuda engine").by(net.to, "cuda", "mixed")
    assert net.engine == "cpu" and net.precision == sv.Precision()
    refused(EngineError, "cuda engine").by(
        sv.Session, net, (COLOURS, COLOURS), engine="cuda", precision="mixed"
    )
    net.backward()
    assert net.bank.grad.any()
    s = advanced(sv.Session(net, (COLOURS, COLOURS), engine="cpu", precision="mixed"), 3)
    for change in (lambda: s.to("cuda"), lambda: setattr(s, "engine", "cuda")):
        refused(EngineError, "cuda engine").by(change)
    assert (s.engine, s.precision.name, s.current_branch.journal) == ("cpu", "mixed", [])
    large, samples = sv.Network([100, 100, 100]), np.zeros((300, 100))
    trained = sv.Session(large, (samples, samples), precision="mixed")
    assert (trained.engine, large.precision.name) == ("cpu", "mixed")
    why = "cuda computes in full precision only"
    assert caplog.messages[-1] == f"scalarviz runs on the cpu engine ({why})"


@both_engines
def test_asking_whether_an_engine_will_do_makes_none(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, double = rgb("python"), rgb("python", dtype="float64")
    monkeypatch.setitem(
        ENGINES,
        engine,
        replace(ENGINES[engine], make=Mock(side_effect=AssertionError("an engine was made"))),
    )
    assert check_engine(net, engine, "full") == (engine, sv.Precision())
    refused(EngineError, "mixed precision").by(check_engine, double, engine, "mixed")


def test_cuda_without_a_gpu_says_what_is_missing() -> None:
    lack = ENGINES["cuda"].lack()
    if not lack:
        pytest.skip("there is a GPU here, on which cuda runs")
    said = refused(EngineError, "'cuda'").by(sv.Network([2, 2]).to, "cuda")
    assert lack in str(said) and len(lack) > 10


def test_an_unknown_engine_is_refused_and_the_old_one_stays() -> None:
    net = rgb("python")
    refused(UnknownNameError, "'pyton'").by(net.to, "pyton")
    assert net.engine == "python"


# The cpu engine's own promises.


@pytest.mark.parametrize(
    "layers",
    [
        [sv.Dense(12, 40, "leaky_relu"), sv.Dense(40, 40, "leaky_relu"), sv.Dense(40, 3)],
        [sv.Conv2d((1, 16, 16), 24, 5), sv.BatchNorm((24, 12, 12)), sv.Dense(3456, 3)],
    ],
    ids=["dense", "pictures"],
)
def test_the_bits_do_not_depend_on_the_number_of_threads(layers: list[Any]) -> None:
    import numba

    threads, results = numba.get_num_threads(), []
    try:
        for count in {1, min(2, threads), threads}:
            numba.set_num_threads(count)
            net = sv.Network(copy.deepcopy(layers), engine="cpu")
            x = np.random.default_rng(5).random((700, net.inputs))
            net.train(x, x[:, :3], "mse", sv.Adam(1e-3), steps=3)
            results.append(bits_of(net.bank))
    finally:
        numba.set_num_threads(threads)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(("width", "samples"), [(40, 700), (200, 700), (40, 2), (40, 100)])
def test_a_whole_step_has_the_bits_of_its_verbs(width: int, samples: int) -> None:
    """The gradients of 200 x 200 weights are added up by several threads, and those of a batch of
    one chunk where the bank has them."""
    rng = np.random.default_rng(5)
    inputs, targets = rng.random((samples, 12)), rng.random((samples, 3)).astype(np.float32)
    at_once, by_hand = [
        sv.Network([12, width, width, 3], "tanh", "linear", engine="cpu") for _ in range(2)
    ]
    at_once.train_step(inputs, targets, sv.Loss("mse", mean="none"), sv.SGD(1e-4))
    by_hand.backward(2 * (by_hand.forward(inputs) - targets))
    assert (by_hand.bank.grad == at_once.bank.grad).all()


def test_it_lets_other_threads_run() -> None:
    net = sv.Network([64, 128, 128, 3], "tanh", engine="cpu")
    inputs, targets = np.random.default_rng(0).random((4000, 64)), np.zeros((4000, 3))
    net.train_step(inputs, targets)
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        net.train_step(inputs, targets)
    done.set()
    thread.join()
    assert ticks[0] > 20


def test_what_takes_the_engine_python_long_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    usual, samples = sv.Network([3, 4, 2], "tanh", seed=1), np.random.default_rng(0).random((40, 3))
    net = usual.copy().to("python")
    whole = net(samples)
    monkeypatch.setattr("scalarviz.engines.reference._said", set())
    monkeypatch.setattr(python_engine, "PATIENCE", 0.0)
    with caplog.at_level("INFO"):
        for _ in range(2):
            assert (net(samples) == whole).all()
        net(samples[:8])
    (message,) = caplog.messages
    assert message.startswith("40 samples take") and "net.to('cpu')" in message
    assert all((net(samples[i]) == whole[i]).all() for i in (0, 9, 39))
    monkeypatch.setattr(CpuEngine, "evaluate", lambda engine, batch: batch[:, :2] + 1)
    for each in (usual, usual.copy()):  # nobody has chosen their engine
        assert (each(samples) == samples[:, :2] + 1).all() and each.engine == "python"
        assert (each(samples[:8]) == whole[:8]).all()
    assert (net.copy()(samples) == whole).all()


OF_A_JOB: dict[str, Any] = {
    "program": ProgramRecord,
    "bank": BankRecord,
    "samples": SamplesRecord,
    "batch": BatchRecord,
    "room": RoomRecord,
    "update": UpdateRecord,
    "progress": ProgressRecord,
}
X = np.random.default_rng(0).random((150, 3))


def layers() -> list[sv.Layer]:
    return [sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)]


# ---- fields -------------------------------------------------------------------------------------


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
def test_fields_are_whole_unsigned_numbers_where_they_lead_to_places() -> None:
    for kind in (records.OPERATION, records.PLAN, STEP):
        assert kind.isalignedstruct
        assert {kind[name] for name in kind.names or ()} == {np.dtype(np.uint64)}


def fields(address: int) -> dict[str, dict[str, int]]:
    """The fields of a job at an address, and those of its records."""
    job = Job.from_address(address)
    found = {record: kind.from_address(getattr(job, record)) for record, kind in OF_A_JOB.items()}
    return {
        name: {field: getattr(record, field) for field, _ in record._fields_}
        for name, record in {"job": job, **found}.items()
    }


def session_after_a_step(optimizer: sv.Optimizer) -> Any:
    """A session that has taken a step."""
    net = sv.Network(layers(), engine="cpu")
    return advanced(sv.Session(net, (X, X), "mse", optimizer, batch=40, engine="cpu"), 1)


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
def test_a_job_keeps_all_that_its_records_lead_to() -> None:
    run = session_after_a_step(sv.Adam(0.1)).timeline.trainer.run
    job, bank, room = run._job, run.engine.bank, run._take_room()
    kept = [each for each in job._kept.values() if isinstance(each, np.ndarray)]
    kept += [bank.value, bank.grad, bank.frozen, bank.state]
    kept += [each for each in vars(room).values() if isinstance(each, np.ndarray)]
    known = {kernel.address for kernel in run._work._loaded.values()} | {
        ctypes.addressof(getattr(job, name)) for name in OF_A_JOB if name != "room"
    }
    known |= {ctypes.addressof(room.record)} | {array.ctypes.data for array in kept}
    leading: dict[int, set[str]] = {}
    for name, numbers in fields(job.address).items():
        for field, number in numbers.items():
            if number >= 2**20 and field != "losses":  # an array that only a call uses
                assert number in known, f"{name}.{field}"
                leading.setdefault(number, set()).add(field)
    # What is not kept would make room for something else.
    shared = [each for each in leading.values() if len(each) > 1]
    assert shared == [{"value", "seen"}, {"grad", "gradient", "partial"}]


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
def test_two_runs_of_one_network_share_no_scratch_arrays() -> None:
    net = sv.Network([2, 3, 3], seed=0, engine="cpu")
    outer, inner = [net.run(InOrder(X[:10, :2], X[:10]), sv.Loss("mse")) for _ in range(2)]
    optimizer, found = sv.SGD(0.01, clip_norm=1.0), []
    for run in (outer, inner):
        run.steps(optimizer, 0, 1)

    def places(run: Any) -> dict[int, str]:
        """Where the arrays begin that the records of a run lead to."""
        job = run._job
        records = [job.samples, job.batch, job.update, job.progress]
        records.append(RoomRecord.from_address(job.record.room))
        return {
            getattr(record, name): name
            for record in records
            for name, _ in record._fields_
            if getattr(record, name) >= 2**20
        }

    class Nested:
        """A kernel, where the other run trains in the middle of a call of it."""

        def __init__(self, run: Any) -> None:
            self._run, self._kernel = run, run._train
            run._train = self

        def __call__(self, job: int) -> None:
            if self._run is outer:
                inner.steps(optimizer, 0, 1)
            found.append(places(self._run))
            self._kernel(job)

    for run in (outer, inner):
        Nested(run)
    outer.steps(optimizer, 0, 1)
    first, second = found
    assert {"rows", "errors", "arguments", "losses", "spaces", "partial"} <= set(first.values())
    of_the_network = {"factor_of_rate", "constants", "move_rows", "partial"}
    assert {first[place] for place in first.keys() & second.keys()} == of_the_network


# ---- tables -------------------------------------------------------------------------------------


@pytest.fixture
def another_kind_first() -> Iterator[None]:
    rows = dict(operations.KINDS)
    operations.KINDS.clear()
    operations.KINDS.update({"mine": operations.Kind("mine", "y = x"), **rows})
    yield
    operations.KINDS.clear()
    operations.KINDS.update(rows)


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
@pytest.mark.usefixtures("another_kind_first")
def test_a_kind_has_its_kernels_wherever_its_row_stands() -> None:
    net = sv.Network(layers(), seed=0)
    expected = net(X)
    assert net.to("cpu")(X) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
def test_on_all_cores_and_operation_by_operation_a_training_has_the_bits_of_one_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, optimizer = set(), sv.Adam(0.1)
    for worth, apart in itertools.product((0, 10**12), (False, True)):
        monkeypatch.setattr("scalarviz.engines.cpu.calls.WORTH_CORES", worth)
        monkeypatch.setattr("scalarviz.engines.cpu.calls.WORTH_CORES_APART", worth)
        net = sv.Network(layers(), seed=0, engine="cpu")
        run: Any = net.run(InOrder(X, X), sv.Loss("mse"))
        assert isinstance(run, CpuRun)
        assert run._together is (worth == 0)
        run.steps(optimizer, 0, 1)
        for step in (1, 2, 3) if apart else ():
            run.begin(step)
            assert (run._passes._choice is not None) is (worth == 0)
            for moment in net.program.moments:
                run.perform(moment, optimizer)
        if not apart:
            run.steps(optimizer, 1, 3)
        found.add(tuple(bits_of(net.bank)))
    assert len(found) == 1


@pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")
def test_small_operations_one_at_a_time_are_done_by_one_core() -> None:
    net = sv.Network([64, 64, 64], seed=0, engine="cpu")
    work: Any = net._engine
    assert work._work.together(1024) and not work._work.together(1024, apart=True)


def test_a_backward_reads_each_tile_of_a_large_batch_from_its_forward() -> None:
    x, upstream = np.random.default_rng(0).random((4096, 3)), np.ones((4096, 2))
    assert number_of_tiles(len(x)) > number_of_chunks(len(x))
    net, grads = sv.Network([3, 4, 2], "tanh", seed=0, dtype="float64"), []
    net.to("cpu")
    for parts in (1, 64):
        net.zero_grad()
        for some, above in zip(np.split(x, parts), np.split(upstream, parts), strict=True):
            net.forward(some)
            net.backward(above)
        grads.append(net.bank.grad.copy())
    np.testing.assert_allclose(*grads, rtol=1e-9)


@pytest.mark.parametrize(
    "layers",
    [
        [sv.Dense(3, 8, "tanh"), sv.PReLU(8, 4), sv.Residual(sv.RMSNorm(8)), sv.Dense(8, 2)],
        [
            sv.Conv2d((2, 4, 5), 4, (2, 3), 2, 1, groups=2), sv.BatchNorm((4, 3, 3)),
            sv.PReLU((4, 3, 3)), sv.GroupNorm((4, 3, 3), 2), sv.MaxPool2d((4, 3, 3), 2),
        ],
    ],
    ids=["rows", "pictures"],
)  # fmt: skip
def test_the_reference_has_the_gradients_of_the_layers(layers: list[sv.Layer]) -> None:
    net, rng = sv.Network(layers, dtype="float64", seed=3), np.random.default_rng(0)
    x, upstream = rng.normal(size=(3, net.inputs)), rng.normal(size=(3, net.outputs))
    outputs, gradient = program_backward(net.program, net.bank, x, upstream, learning=True)
    np.testing.assert_allclose(net.forward(x), outputs, atol=1e-12)
    net.backward(upstream)
    np.testing.assert_allclose(gradient, net.bank.grad, atol=1e-12)
