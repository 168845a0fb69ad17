"""CpuExpressionEngine: runs a compiled expression by numba kernels on tiles of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.not_finite import bad_gradient, bad_update
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, OVERFLOW, Program
from scalarviz.core.trace import Trace
from scalarviz.engines.codegen.kernel_units import Kernel, load
from scalarviz.engines.codegen.unit_source import Dtype, Unit
from scalarviz.engines.common.base import Waiting
from scalarviz.engines.common.before import Before
from scalarviz.engines.common.cores import check_process
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import PLAN
from scalarviz.engines.cpu.room import address
from scalarviz.engines.cpu.units import MOVING, units_of_loss, units_of_optimizer
from scalarviz.engines.expression import kernels
from scalarviz.engines.expression.engines import ExpressionEngine
from scalarviz.engines.expression.job import ExpressionJob
from scalarviz.engines.expression.tables import ExpressionTables, forward_kernel, slope_kernel

SHELL = {
    "forward": Unit("expression_tile_forward", kernels.tile_forward),
    "backward": Unit("expression_tile_backward", kernels.tile_backward),
    "run_forward": Unit("expression_forward", kernels.forward),
    "run_backward": Unit("expression_backward", kernels.backward),
    "run_train": Unit("expression_train", kernels.train),
}


def units_of_expression(
    trace: Trace, dtype: Dtype, losses: Iterable[Loss], optimizers: Iterable[Optimizer]
) -> list[Unit]:
    """Return all kernels that trainings of a compiled expression may need."""
    steps = [unit for unit in ExpressionTables(trace, dtype).units if unit is not None]
    groups = [SHELL, MOVING, *map(units_of_loss, losses), *map(units_of_optimizer, optimizers)]
    return [*dict.fromkeys([*steps, *[unit for group in groups for unit in group.values()]])]


def kernels_of_formula(formula: Formula) -> list[Unit]:
    """Return the kernels of a formula: forward, and backward for each operand."""
    slopes = [slope_kernel(formula, i) for i in range(len(formula.partials))]
    return [forward_kernel(formula), *slopes]


@final
class CpuExpressionEngine(ExpressionEngine[FloatArray]):
    """Runs the steps of a trace on tiles of samples; results have the same bits on every run."""

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        tables = self.tables = ExpressionTables(self.trace, bank.dtype)
        self._results = len(tables.outputs)
        self._tile = tables.numbers * tables.samples
        self._whole = len(self.rows) == len(bank)
        self._spare: list[FloatArray] = []  # workspaces that no pending backward needs
        self._order: Order | None = None
        self._error = np.zeros(1)
        self._plan = np.zeros(1, PLAN)
        self._plan["out_size"] = self._plan["goals"] = self._results
        self._space = np.zeros((1, self._tile), bank.dtype)
        self._kernels: dict[Unit, Kernel] = {}
        self._training: ExpressionJob | None = None

    def _load(self, units: Mapping[str, Unit]) -> dict[str, Kernel]:
        """Return kernels by name; at first with those of all expressions and of all steps."""
        wanted = set(units.values()) - set(self._kernels)
        if not self._kernels:
            wanted |= {*SHELL.values(), *MOVING.values(), *filter(None, self.tables.units)}
        if wanted:
            self._kernels |= dict(zip(wanted, load([*wanted], self.bank.dtype), strict=True))
        return {name: self._kernels[unit] for name, unit in units.items()}

    def _job(self) -> ExpressionJob:
        """Return a job with all but the batch and the workspaces of values."""
        kernels = self._load(SHELL | MOVING)
        for i, unit in enumerate(self.tables.units):
            if unit is not None:
                self.tables.code["run"][i] = self._kernels[unit].address
        return ExpressionJob(self.tables, self.bank, self.rows, self._plan, kernels)

    def _training_job(self) -> ExpressionJob:
        """Return the job of forward, backward and steps."""
        if self._training is None:
            self._training = self._job()
        return self._training

    def evaluate(self, batch: FloatArray) -> FloatArray:
        # A training may run in another thread: it must not share buffers with this call.
        return self._forward(batch, np.empty((1, self._tile), self.bank.dtype), self._job())

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = self._room(len(batch))
        results = self._forward(batch, spaces, self._training_job())
        self._waiting.append(Waiting(len(batch), spaces))
        return results

    def _forward(self, batch: FloatArray, spaces: FloatArray, job: ExpressionJob) -> FloatArray:
        check_process()
        results, data = np.empty((len(batch), self._results), self.bank.dtype), self._array(batch)
        job.set_batch(len(batch), spaces, data=data, results=results)
        self._load(SHELL)["run_forward"].call(job.address)
        return results

    def _array(self, rows: FloatArray) -> FloatArray:
        """Return a batch as a contiguous array of the bank's type; converted only if needed."""
        is_ready = rows.dtype == self.bank.dtype and rows.flags.c_contiguous
        return rows if is_ready else self.array(rows)

    def _room(self, samples: int) -> FloatArray:
        """Return workspaces for a batch, one row per tile."""
        tiles = -(-samples // self.tables.samples)
        if self._spare and len(self._spare[-1]) == tiles:
            return self._spare.pop()
        self._spare.clear()
        return np.empty((tiles, self._tile), self.bank.dtype)

    def backward(self, upstream: FloatArray) -> FloatArray:
        check_process()
        spaces, job = self._waiting.pop().kept, self._training_job()
        by_inputs = np.empty((len(upstream), self.trace.inputs), self.bank.dtype)
        upstream = self._array(upstream)
        job.set_batch(len(upstream), spaces, upstream=upstream, by_inputs=by_inputs)
        self._load(SHELL)["run_backward"].call(job.address)
        self._spare.append(spaces)
        self.bank.has_gradients = True
        return by_inputs

    def step(self, optimizer: Optimizer) -> None:
        bank = self.bank
        if not (self._whole and bank.has_gradients):
            bank.step(optimizer, self.rows)
            return
        before = self._prepare(optimizer)
        self._load(MOVING)["move"].call(self._training_job().job.address)
        self._moved(before, optimizer)

    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        self._take_step(inputs, targets, loss, moves=False)
        return float(self._error[0])

    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        if not self._whole:
            return super().train(inputs, targets, loss, optimizer)
        check_process()
        self._load(units_of_loss(loss) | units_of_optimizer(optimizer))
        before = self._prepare(optimizer)
        self._take_step(inputs, targets, loss, moves=True)
        self._moved(before, optimizer)
        return float(self._error[0])

    def _take_step(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, *, moves: bool
    ) -> None:
        """Run the kernel of a whole step; without `moves` the optimizer is not run."""
        check_process()
        kernels = self._load(units_of_loss(loss))
        job = self._training_job()
        if job.loss is not loss.row:
            job.loss = loss.row
            for field, kernel in kernels.items():
                self._plan[field] = kernel.address
        data, goals = self._array(inputs), self._array(targets)
        job.set_batch(len(data), self._space, data=data, goals=goals, moves=moves)
        scale = self.bank.value.dtype.type(loss.scale(targets.shape))
        job.job.batch.scale, job.job.batch.errors = float(scale), address(self._error)
        self._load(SHELL)["run_train"].call(job.address)
        self.bank.has_gradients = True

    def _prepare(self, optimizer: Optimizer) -> Before:
        """Write an optimizer to the job, and return a copy of the state that a step may change."""
        order = Order.of(optimizer, len(self.bank), self._order)
        if order is not self._order:
            kernels = self._load(units_of_optimizer(optimizer))
            self._training_job().job.set_optimizer(optimizer, order, kernels)
            self._plan["refuse"] = order.refuses
            self._order = order
        self._training_job().job.progress.count = self.bank.step_count
        return Before(self.bank, optimizer)

    def _moved(self, before: Before, optimizer: Optimizer) -> None:
        """Count a step that succeeded, or raise the error of one that failed."""
        bad = self._training_job().job.progress.result
        if bad == OVERFLOW:
            error = bad_update(self.bank, optimizer, self.bank.step_count)
            before.restore()
            raise error
        if bad != NONE:
            raise bad_gradient(self.bank, bad)
        self.bank.count_step(slice(0, len(self.bank)))
