"""The records that kernels read: numba looks up the type of an array by the object of its dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import InOrder
from scalarviz.engines.cpu import records
from scalarviz.engines.cpu.run import CpuRun
from scalarviz.engines.cpu.tables import make_tables
from scalarviz.engines.expression import tables as expression_tables
from scalarviz.model import operations
from scalarviz.model.precision import Precision
from tests.strategies import RUNNABLE

pytestmark = pytest.mark.skipif("cpu" not in RUNNABLE, reason="numba is not installed")

KINDS = [
    *[getattr(records, name) for name in ("OPERATION", "PLAN", "PASS", "DRAWING", "HOW")],
    expression_tables.STEP,
    expression_tables.SIZES,
]
X = np.random.default_rng(0).random((150, 3))


class Noted:
    """Kernels, and the records that they were called with."""

    def __init__(self, kernels: Any) -> None:
        self._kernels = kernels
        self.found: list[np.ndarray[Any, Any]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            arrays = [each for each in arguments if isinstance(each, np.ndarray)]
            self.found += [array for array in arrays if array.dtype.names]
            return getattr(self._kernels, name)(*arguments)

        return call


def layers() -> list[sv.Layer]:
    return [sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)]


def network(noted: list[Noted]) -> None:
    net = sv.Network(layers(), engine="cpu")
    work = net._engine._work  # type: ignore[attr-defined]
    noted.append(Noted(work.kernels))
    work.kernels = noted[0]
    for optimizer in (sv.SGD(0.1), sv.Adam(0.1)):
        net.train(X, X, "mse", optimizer, steps=2)
    net(X)
    net.forward(X)
    net.backward()
    session = sv.Session(net, (X, X), "mse", sv.SGD(0.1), engine="cpu", batch=40)
    session.advance(30, "operation")


def replicas(noted: list[Noted]) -> None:
    session = sv.Session(sv.Network(layers()), (X, X), "mse", engine="cpu", batch=40)
    many = sv.replicate(session, seeds=range(3))
    many.advance(1)
    work = many._many  # type: ignore[attr-defined]
    noted.append(Noted(work.kernels))
    work.kernels = noted[0]
    many.advance(2)


def expression(noted: list[Noted]) -> None:
    slope = sv.Value(0.5)
    f = sv.compile(lambda x: (slope * x).tanh(), inputs=1)
    f.train_step(X[:, :1], X[:, :1], "mse", sv.SGD(0.1))
    engine: Any = f._engine
    noted.append(Noted(engine.kernels))
    engine.kernels = noted[0]
    f.train_step(X[:, :1], X[:, :1], "mse", sv.SGD(0.1))
    f(X[:, :1])


@pytest.mark.parametrize("use", [network, replicas, expression])
def test_all_records_of_a_kind_share_one_dtype(use: Callable[[list[Noted]], None]) -> None:
    noted: list[Noted] = []
    use(noted)
    assert noted[0].found
    for array in noted[0].found:
        assert any(array.dtype is kind for kind in KINDS), array.dtype


def test_fields_are_whole_unsigned_numbers_where_they_lead_to_places() -> None:
    for kind in (records.OPERATION, records.PLAN, expression_tables.STEP, expression_tables.SIZES):
        assert kind.isalignedstruct
        assert {kind[name] for name in kind.names or ()} == {np.dtype(np.uint64)}


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
        monkeypatch.setattr("scalarviz.engines.cpu.run.WORTH_CORES", worth)
        net = sv.Network(layers(), seed=0, engine="cpu")
        run: Any = net.run(InOrder(X, X), sv.Loss("mse"))
        assert isinstance(run, CpuRun)
        assert run._together is (worth == 0)
        run.steps(sv.Adam(0.1), 0, steps)
        found.append([net.bank.value.copy(), net.bank.state.copy()])
    for here, there in zip(*found, strict=True):
        assert (here == there).all()
