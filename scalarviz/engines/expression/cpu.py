"""CpuExpressionEngine: runs a compiled expression by numba kernels on tiles of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.common.before import Before
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import HOW, PLAN
from scalarviz.engines.expression import kernels as expression_kernels
from scalarviz.engines.expression.engines import ExpressionEngine, Waiting
from scalarviz.engines.expression.tables import ExpressionTables
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.layers import Layer
from scalarviz.model.bank import Bank
from scalarviz.model.operations import NONE, OVERFLOW
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

LOSS_NUMBERS = {name: i for i, name in enumerate([*LOSSES, *ROW_LOSSES])}


@final
class CpuExpressionEngine(ExpressionEngine[FloatArray]):
    """Runs the steps of a trace on tiles of samples; results have the same bits on every run."""

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        rows = self.rows
        self.kernels: Any = kernel_file.load(expression_kernels.__name__, bank.dtype)
        tables = self.tables = ExpressionTables(self.trace, bank.dtype)
        self._results = len(tables.outputs)
        self._tile = tables.numbers * tables.samples
        self._space = np.zeros((1, self._tile), bank.dtype)
        self._flow = np.zeros(self._tile, bank.dtype)
        self._sums = np.zeros(len(rows), bank.dtype)
        self._ends = np.zeros((3, self._results, tables.samples), bank.dtype)
        self._scratch = np.zeros(len(bank), bank.dtype)
        self._whole = len(rows) == len(bank)
        self._error = np.zeros(1)
        self._order: Order | None = None
        self._orders: tuple[Any, ...] = ()
        self._plan = np.zeros(1, PLAN)
        self._counts = np.zeros(1, np.int64)
        self._spare: list[FloatArray] = []  # workspaces that no pending backward needs
        self._factors = np.zeros(len(tables.signs), bank.dtype)
        self._program = (
            tables.plan,
            tables.code,
            tables.signs,
            tables.scalars,
            tables.rows,
            tables.constants,
            tables.outputs,
            rows.astype(np.uint64),
            bank.value,
            self._factors,
        )

    def evaluate(self, batch: FloatArray) -> FloatArray:
        # A training may run in another thread: it must not share buffers with this call.
        return self._forward(batch, np.empty_like(self._space), np.empty_like(self._factors))

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = self._room(len(batch))
        results = self._forward(batch, spaces)
        self._passes.append(Waiting(len(batch), spaces))
        return results

    def _forward(
        self, batch: FloatArray, spaces: FloatArray, factors: FloatArray | None = None
    ) -> FloatArray:
        results = np.empty((len(batch), self._results), self.bank.dtype)
        program = (*self._program[:-1], self._factors if factors is None else factors)
        self.kernels.forward(*program, self._array(batch), spaces, results)
        return results

    def _array(self, rows: FloatArray) -> FloatArray:
        """Return a batch as a contiguous array of the bank's type; converted only if needed."""
        is_ready = rows.dtype == self._space.dtype and rows.flags.c_contiguous
        return rows if is_ready else self.array(rows)

    def _room(self, samples: int) -> FloatArray:
        """Return workspaces for a batch, one row per tile."""
        tiles = -(-samples // self.tables.samples)
        if self._spare and len(self._spare[-1]) == tiles:
            return self._spare.pop()
        self._spare.clear()
        return np.empty((tiles, self._tile), self.bank.dtype)

    def backward(self, upstream: FloatArray) -> FloatArray:
        spaces = self._passes.pop().kept
        by_inputs = np.empty((len(upstream), self.trace.inputs), self.bank.dtype)
        self.kernels.backward(
            *self._program,
            self._array(upstream),
            spaces,
            self._flow,
            self._sums,
            self.bank.grad,
            by_inputs,
        )
        self._spare.append(spaces)
        self.bank.has_gradients = True
        return by_inputs

    def step(self, optimizer: Optimizer) -> None:
        bank = self.bank
        if not (self._whole and bank.has_gradients):
            bank.step(optimizer, self.rows)
            return
        before = self._prepare(optimizer)
        self._moved(
            self.kernels.take_step(self._plan, bank.value, *self._moving(self._orders)),
            before,
            optimizer,
        )

    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        if not self._whole:
            return self.learn_by_verbs(inputs, targets, loss)
        bank, none = self.bank, np.empty(0)
        how, arguments = np.zeros(1, HOW), np.empty(0, bank.dtype)
        still = np.empty((0, len(bank)), bank.dtype), how, none, none, arguments
        self._kernel(inputs, targets, loss, *self._moving(still))
        return float(self._error[0])

    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        if not self._whole:
            error = self.learn_by_verbs(inputs, targets, loss)
            self.step(optimizer)
            return error
        before = self._prepare(optimizer)
        moving = self._moving(self._orders)
        self._moved(self._kernel(inputs, targets, loss, *moving), before, optimizer)
        return float(self._error[0])

    def _kernel(self, inputs: FloatArray, targets: FloatArray, loss: Loss, *moving: Any) -> int:
        """Run the kernel of a whole step; return the row of a bad gradient, NONE or OVERFLOW."""
        self._plan["loss"] = LOSS_NUMBERS[loss.name]
        bad: int = self.kernels.train(
            *self._program,
            self._array(inputs),
            self._array(targets),
            self._space[0],
            self._flow,
            self._sums,
            self._ends,
            self.bank.value.dtype.type(loss.scale(targets.shape)),
            self._plan,
            *moving,
            self._error,
        )
        self.bank.has_gradients = True
        return bad

    def _prepare(self, optimizer: Optimizer) -> Before:
        """Write an optimizer to the plan, and return a copy of the state that a step may change."""
        order = Order.of(optimizer, self._order)
        if order is not self._order:
            self._order = order
            self._plan["optimizer"] = order.optimizer
            self._plan["schedule"] = order.schedule
            self._plan["refuse"] = order.refuses
            slots = self.bank.slot_block(order.slots)
            arguments = np.empty(order.arguments, self.bank.dtype)
            self._orders = slots, *order.numbers, arguments
        return Before(self.bank, optimizer)

    def _moving(self, orders: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a kernel from `grad` on, for an optimizer's arrays `orders`."""
        bank, (slots, *numbers) = self.bank, orders
        self._counts[0] = bank.step_count
        return (
            bank.grad, slots, bank.frozen, bank.scaling, *numbers, self._scratch, self._counts
        )  # fmt: skip

    def _moved(self, bad: int, before: Before, optimizer: Optimizer) -> None:
        """Count a step that succeeded, or raise the error of one that failed."""
        if bad == OVERFLOW:
            error = self.bank.bad_update(optimizer, self.bank.step_count)
            before.restore()
            raise error
        if bad != NONE:
            raise self.bank.bad_gradient(bad)
        self.bank.count_step(slice(0, len(self.bank)))
