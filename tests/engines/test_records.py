"""The records that kernels read: where their fields are, and what a training writes to them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core import program as operations
from scalarviz.core.precision import Precision
from scalarviz.data.batches import InOrder
from scalarviz.engines.cpu import records
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.cpu.job import address, make_tables
from scalarviz.engines.cpu.records import (
    OPERATION,
    BankRecord,
    BatchRecord,
    Job,
    ProgramRecord,
    ProgressRecord,
    RoomRecord,
    SamplesRecord,
    TileRecord,
    UpdateRecord,
)
from scalarviz.engines.expression.expression_kernels import STEP, TraceRecord
from tests.sessions import advanced
from tests.strategies import RUNNABLE

pytestmark = pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")

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


def test_fields_are_whole_unsigned_numbers_where_they_lead_to_places() -> None:
    for kind in (records.OPERATION, records.PLAN, STEP):
        assert kind.isalignedstruct
        assert {kind[name] for name in kind.names or ()} == {np.dtype(np.uint64)}


@pytest.mark.parametrize("kind", [Job, *OF_A_JOB.values(), TileRecord, TraceRecord])
def test_what_python_writes_is_where_a_kernel_reads_it(kind: type[ctypes.Structure]) -> None:
    names = list(vars(kind)["__annotations__"])
    dtype = records.dtype_of(kind)
    assert list(dtype.names or ()) == names
    written = kind(*range(1, len(names) + 1))
    (found,) = np.frombuffer(written, dtype)
    assert dtype.itemsize == 8 * len(names)
    assert found.tolist() == tuple(range(1, len(names) + 1))


def fields(address: int) -> dict[str, dict[str, int]]:
    """The fields of a job at an address, and those of its records."""
    job = Job.from_address(address)
    found = {record: kind.from_address(getattr(job, record)) for record, kind in OF_A_JOB.items()}
    return {
        name: {field: getattr(record, field) for field, _ in record._fields_}
        for name, record in {"job": job, **found}.items()
    }


def trained(optimizer: sv.Optimizer) -> Any:
    """A session that has taken a step."""
    net = sv.Network(layers(), engine="cpu")
    return advanced(sv.Session(net, (X, X), "mse", optimizer, batch=40, engine="cpu"), 1)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3), np.float32),
        np.zeros((4, 3))[2:],
        np.zeros(3, np.bool_),
        np.frombuffer(b"read only", np.uint8),
        np.zeros(2, OPERATION),
    ],
    ids=["table", "part", "marks", "read-only", "records"],
)
def test_an_address_is_that_of_the_first_number(array: Any) -> None:
    assert address(array) == array.ctypes.data
    assert address(array[:0]) == 0


def test_a_job_of_many_networks_has_the_fields_of_that_of_one() -> None:
    session = trained(sv.Adam(0.1))
    many: Any = sv.replicate(session, seeds=range(3))
    many.advance(1)
    here = fields(session.trainer.run._job.address)
    for record in range(3):
        jobs = many._many.jobs.jobs
        there = fields(jobs.ctypes.data + record * jobs.strides[0])
        for name, numbers in here.items():
            for field, number in numbers.items():
                other = there[name][field]
                if number >= 2**20:  # an address
                    assert other >= 2**20, f"{name}.{field}"
                elif (name, field) != ("bank", "halves"):  # written in mixed precision only
                    assert other == number, f"{name}.{field}"


def test_a_job_keeps_all_that_its_records_lead_to() -> None:
    run = trained(sv.Adam(0.1)).timeline.trainer.run
    job, bank, room = run._job, run.engine.bank, run._take_room()
    kept = [each for each in job._kept.values() if isinstance(each, np.ndarray)]
    kept += [bank.value, bank.grad, bank.frozen, bank.state]
    kept += [each for each in vars(room).values() if isinstance(each, np.ndarray)]
    known = {kernel.address for kernel in run._work._loaded.values()}
    known |= {ctypes.addressof(getattr(job, name)) for name in OF_A_JOB if name != "room"}
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


def test_a_table_has_the_places_of_its_program() -> None:
    program = sv.Network(layers()).program
    tables = make_tables(program, "float32", Precision.of("full"))
    assert len(tables.operations) == len(program.operations)
    for record, operation in zip(tables.operations, program.operations, strict=True):
        assert record["source"] == operation.source.offset
        assert record["outputs"] == operation.target.size
        assert record["count"] == len(operation.parameters)
    assert tables.passes["gathers"].tolist().count(0) == len(tables.passes) - 2


@pytest.fixture
def another_kind_first() -> Iterator[None]:
    rows = dict(operations.KINDS)
    operations.KINDS.clear()
    operations.KINDS.update({"mine": operations.Kind("mine", "y = x"), **rows})
    yield
    operations.KINDS.clear()
    operations.KINDS.update(rows)


@pytest.mark.usefixtures("another_kind_first")
def test_a_kind_has_its_kernels_wherever_its_row_stands() -> None:
    net = sv.Network(layers(), seed=0)
    expected = net(X)
    assert net.to("cpu")(X) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("steps", [1, 4])
def test_on_all_cores_a_training_has_the_bits_of_one_core(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for worth in (0, 10**12):
        monkeypatch.setattr("scalarviz.engines.cpu.calls.WORTH_CORES", worth)
        net = sv.Network(layers(), seed=0, engine="cpu")
        run: Any = net.run(InOrder(X, X), sv.Loss("mse"))
        assert isinstance(run, CpuRun)
        assert run._together is (worth == 0)
        run.steps(sv.Adam(0.1), 0, steps)
        found.append([net.bank.value.copy(), net.bank.state.copy()])
    for here, there in zip(*found, strict=True):
        assert (here == there).all()


@pytest.mark.parametrize("worth", [0, 10**12])
def test_so_has_a_step_operation_by_operation(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.engines.cpu.calls.WORTH_CORES_APART", worth)
    found = []
    for moments in (True, False):
        net = sv.Network(layers(), seed=0, engine="cpu")
        run: Any = net.run(InOrder(X, X), sv.Loss("mse"))
        if moments:
            run.begin(0)
            assert (run._now._passes._guard is not None) is (worth == 0)
            for moment in net.program.moments:
                run.perform(moment, sv.Adam(0.1))
        else:
            run.steps(sv.Adam(0.1), 0, 1)
        found.append([net.bank.value.copy(), net.bank.state.copy()])
    for here, there in zip(*found, strict=True):
        assert (here == there).all()


def test_small_operations_one_at_a_time_are_done_by_one_core() -> None:
    net = sv.Network([64, 64, 64], seed=0, engine="cpu")
    work: Any = net._engine
    assert work._work.together(1024) and not work._work.together(1024, apart=True)
