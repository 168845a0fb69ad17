"""CpuEngine: runs the program of a network by numba kernels on whole batches.

It uses operations and buffers, not layers. Kernels are compiled on first use, and cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Program
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import StackEngine, Waiting
from scalarviz.engines.cpu import step as plans
from scalarviz.engines.cpu.batch_passes import BatchPasses
from scalarviz.engines.cpu.calls import CpuCalls
from scalarviz.engines.cpu.passes import backward_passes, forward_passes, passes
from scalarviz.engines.cpu.records import Records
from scalarviz.engines.cpu.room import Room
from scalarviz.engines.cpu.run import CpuRun
from scalarviz.engines.cpu.sizes import count_chunks, count_tiles
from scalarviz.engines.cpu.tables import Tables, make_tables, plan_loss
from scalarviz.engines.cpu.units import units_of_loss


@final
class CpuEngine(StackEngine[FloatArray]):
    """Runs a program in tiles, on all cores that numba may use.

    For a backward a workspace of each tile is kept.
    """

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        self._work = CpuCalls(program, bank, precision)
        self._evaluations: dict[int, BatchPasses] = {}  # by size of the batch
        self._verbs: dict[int, BatchPasses] = {}  # the same for forward and backward

    # Made on first use: many sessions of a sweep never take a step.

    @cached_property
    def tables(self) -> Tables:
        """The program as the kernels read it."""
        return make_tables(self.program, self.bank.dtype, self._work.precision)

    @cached_property
    def _evaluating(self) -> Records:
        what = plans.DO_LOAD | plans.DO_FORWARD | plans.DO_STORE
        return passes(what, [0], [len(self.program.operations)], [0])

    @cached_property
    def _forward(self) -> Records:
        found = forward_passes(self.program, plans.DO_LOAD, plans.DO_STORE)
        found["what"] |= plans.DO_KEEP
        return found

    @cached_property
    def _backward(self) -> Records:
        found = backward_passes(self.program, plans.DO_UPSTREAM, plans.DO_RETURN)
        found["what"] |= plans.DO_KEEP
        return found

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = np.zeros((count_tiles(len(batch)), self.tables.space), self.bank.dtype)
        outputs = np.empty((len(batch), self.program.outputs.size), self.bank.dtype)
        verbs = self._verbs_for(len(batch))
        verbs.use(self._room(len(batch), spaces))
        verbs.run(self._forward, data=self.array(batch), outputs=outputs)
        verbs.release()
        self._waiting.append(Waiting(len(batch), spaces))
        return outputs

    def evaluate(self, batch: FloatArray) -> FloatArray:
        samples = len(batch)
        outputs = np.empty((samples, self.program.outputs.size), self.bank.dtype)
        # Another thread may evaluate at the same time: it finds none, and makes its own.
        evaluation = self._evaluations.pop(samples, None) or self._evaluation(samples)
        evaluation.run(self._evaluating, data=self.array(batch), outputs=outputs)
        self._evaluations = {samples: evaluation}
        return outputs

    def loss_on(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> Callable[[], float]:
        plan = plan_loss(self.tables, self.program, loss)
        for field, kernel in self._work.load(units_of_loss(loss)).items():
            plan[field] = kernel.address
        what = plans.DO_LOAD | plans.DO_FORWARD | plans.DO_AIM | plans.DO_ERROR
        todo = passes(what, [0], [len(self.program.operations)], [0])
        evaluation, mean = self._evaluation(len(inputs), plan), loss.scale(targets.shape)
        data, goals = self.array(inputs), self.array(targets)
        return lambda: sum(evaluation.run(todo, data=data, goals=goals).tolist()) * mean

    def _evaluation(self, samples: int, plan: Records | None = None) -> BatchPasses:
        """Return what evaluates batches of a size, by a plan that may have a loss."""
        spaces = np.empty((count_chunks(samples), self.tables.space), self.bank.dtype)
        made = BatchPasses(self._work, self.tables, samples, plan)
        made.use(self._room(samples, spaces))
        return made

    def _verbs_for(self, samples: int) -> BatchPasses:
        """Return what runs forward and backward on batches of a size."""
        if samples not in self._verbs:
            self._verbs = {samples: BatchPasses(self._work, self.tables, samples)}
        return self._verbs[samples]

    def _room(self, samples: int, spaces: FloatArray) -> Room:
        """Return the room of a forward, which needs workspaces of values only."""
        dtype = self.bank.dtype
        flows = np.empty((len(spaces), 0), dtype)
        return Room(spaces, flows, np.empty((count_chunks(samples), 0), dtype), 0)

    def backward(self, upstream: FloatArray) -> FloatArray:
        done, tables, dtype = self._waiting.pop(), self.tables, self.bank.dtype
        partial = np.zeros((count_chunks(done.samples), tables.gradients), dtype)
        by_inputs = np.empty((done.samples, self.program.inputs.size), dtype)
        scale = self._work.loss_scale
        flows = np.zeros((len(done.kept), tables.flow), dtype)
        room = Room(done.kept, flows, partial, len(self.bank.state))
        verbs = self._verbs_for(done.samples)
        verbs.use(room)
        verbs.run(self._backward, goals=self.array(upstream * scale), outputs=by_inputs)
        verbs.add_gradients(range(len(tables.operations)))
        verbs.release()
        by_inputs /= by_inputs.dtype.type(scale)
        return by_inputs

    def run(self, batches: Batches, loss: Loss) -> CpuRun:
        return CpuRun(self, self._work, batches, loss)
