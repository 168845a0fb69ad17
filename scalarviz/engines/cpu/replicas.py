"""CpuMany: trains many networks of one shape at once on the cpu engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.common.cores import ONE_AT_A_TIME
from scalarviz.engines.cpu.calls import TEMPLATE, CpuCalls, add_errors, means
from scalarviz.engines.cpu.optimizer_args import Order
from scalarviz.engines.cpu.records import DRAWING
from scalarviz.engines.cpu.run import Room, make_room
from scalarviz.engines.cpu.tables import drawing_of, make_tables, plan_loss, set_order, workspaces
from scalarviz.formulas.losses import Loss
from scalarviz.model.bank_stack import BankStack
from scalarviz.model.operations import NONE, OVERFLOW
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program

GROUPS = 16  # maximum number of networks trained at the same time


@final
class CpuMany:
    """Trains networks of one program, each with its own bank and its own batches."""

    def __init__(
        self,
        program: Program,
        stack: BankStack,
        batches: Sequence[Batches],
        loss: Loss,
        optimizer: Optimizer,
        precision: Precision,
    ) -> None:
        banks = stack.banks
        dtype, count = banks[0].dtype, len(banks)
        self.stack = stack
        self.batches = batches[0]
        self.program = program
        self.loss = loss
        self.kernels: Any = kernel_file.load(TEMPLATE, dtype)
        self.tables = make_tables(program, dtype, precision)
        self.plan = plan_loss(self.tables, program, loss)
        self.order = Order(optimizer)
        set_order(self.plan, self.order)
        self.counts = np.zeros((count, 1), np.int64)  # steps that each network has taken
        self.drawing = np.array([drawing_of(each) for each in batches], DRAWING)
        work = CpuCalls(program, banks[0], precision)
        room = make_room(work, self.tables, self.batches, 1)
        groups = min(GROUPS, count)
        self.room = Room(*[repeated(getattr(room, field.name), groups) for field in fields(Room)])
        self.samples = [
            np.ascontiguousarray(table, dtype)
            for table in (self.batches.inputs, self.batches.targets)
        ]
        self.done = np.tile(np.array([0, NONE]), (count, 1))

    def prepare(self) -> None:
        """Compile or load the kernels, without taking a step."""
        self._train(0, np.zeros((len(self.counts), 0, self.room.partial.shape[1])))

    def count_steps(self) -> None:
        """Set the step count of all banks after the last call of `steps`."""
        for bank, steps in zip(self.stack.banks, self.counts[:, 0].tolist(), strict=True):
            bank.has_gradients = True
            bank.restart_count(steps)

    def steps(self, first: int, count: int) -> FloatArray:
        """Take `count` steps with every network, and return the losses, shape (networks, count).

        A loss is NaN from the step on at which the network stopped because of a bad gradient or an
        overflow. Call `count_steps` after the last steps.
        """
        chunks = self.room.partial.shape[1]
        errors = np.full((len(self.counts), count, chunks), np.nan)
        errors[self.done[:, 1] == NONE] = 0.0
        before = [array.copy() for array in self._changing]
        self._train(first, errors)
        stopped = (self.done[:, 1] == OVERFLOW) & (before[-1][:, 1] == NONE)
        for network in np.flatnonzero(stopped).tolist():
            self._take_back(network, first, before)
        taken = (self.done[:, 0] - before[-1][:, 0])[:, np.newaxis]
        errors[np.arange(count) >= taken] = np.nan
        losses = add_errors(errors.reshape(-1, chunks)).reshape(len(self.counts), count)
        outputs = self.program.outputs.size
        return losses * means(self.loss, self.batches, outputs, first, count)

    @property
    def _changing(self) -> tuple[Any, ...]:
        """The arrays that steps change; the last one has the progress of each network."""
        stack = self.stack
        return stack.value, stack.slots, stack.state, self.counts, self.done

    def _take_back(self, network: int, first: int, before: list[Any]) -> None:
        """Restore a network as it was before the step that made a number infinite."""
        taken = int(self.done[network, 0] - before[-1][network, 0])
        for array, old in zip(self._changing, before, strict=True):
            array[network] = old[network]
        others = self.done.copy()
        self.done[:, 1] = OVERFLOW
        self.done[network, 1] = NONE
        self._train(first, np.zeros((len(self.counts), taken, self.room.partial.shape[1])))
        others[network] = self.done[network, 0], OVERFLOW
        self.done[:] = others

    def _train(self, first: int, errors: FloatArray) -> None:
        """Run the kernel for networks that have not stopped: one step for each row of `errors`."""
        room, stack = self.room, self.stack
        with ONE_AT_A_TIME:
            self.kernels.train_networks(
                self.plan,
                self.tables.passes,
                self.tables.operations,
                self.tables.settings,
                stack.value,
                room.halves,
                stack.grad,
                stack.slots,
                stack.frozen,
                stack.state,
                *self.samples,
                room.rows,
                room.goal_rows,
                room.points,
                self.drawing,
                np.array(self.batches.settings, np.float64),
                room.spaces,
                room.flows,
                room.partial,
                *self.order.numbers,
                np.empty((len(room.spaces), self.order.arguments), stack.value.dtype),
                room.scratch,
                self.loss.factor,
                first,
                self.counts,
                errors,
                self.done,
            )


def repeated(room: Any, groups: int) -> Any:
    """Return buffers like `room`, one for each group."""
    return workspaces(groups, room.size, room.dtype).reshape(groups, *room.shape)
