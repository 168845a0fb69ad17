"""BatchPasses: runs passes on batches of one size."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.engines.common.cores import check_process
from scalarviz.engines.cpu.calls import ADDING, ALONE, PASSES, TOGETHER, CpuCalls
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.engines.cpu.records import Records
from scalarviz.engines.cpu.room import Room, address
from scalarviz.engines.cpu.tables import Tables


@final
class BatchPasses:
    """Runs passes of a program on batches of `samples` samples, in the workspaces of `use`.

    apart  whether each pass is a single operation, for which other cores rarely pay: while these
           are busy with something else, they let it wait for several milliseconds
    """

    def __init__(
        self,
        work: CpuCalls,
        tables: Tables,
        samples: int,
        plan: Records | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self._work = work
        self._guard = work.guard(samples, apart=apart)
        passing = TOGETHER if work.together(samples, apart=apart) else ALONE
        kernels = work.load(PASSES | passing, samples)
        self._call = work.calling(kernels["run"])
        self._passes: Records | None = None
        job = self._job = CpuJob(work.bank)
        job.set_program(work.linked(tables, samples), tables.plan if plan is None else plan)
        job.set_kernels({field: kernels[field] for field in ("chunk_work", "run_pass")})
        job.set_kernels(work.rounding())
        self._choice = None if self._guard is None else work.choice(job, tables)
        if work.precision.mixed:
            job.set_halves(np.empty_like(work.bank.value))
        batch = job.batch
        (batch.rows,) = job.keep(rows=np.arange(samples, dtype=np.uint64))
        batch.goal_rows, batch.samples = batch.rows, samples

    def use(self, room: Room) -> None:
        """Use the workspaces of a room until `release`."""
        self._job.set_room(room)
        self._room: Room | None = room

    def release(self) -> None:
        """Let go of the workspaces; call `use` before the next `run`."""
        self._room = None

    def add_gradients(self, operations: range) -> None:
        """Add the gradients of all chunks, for a range of operations, to those of the bank."""
        kernel = self._work.load(ADDING)["add"]
        kernel.call(self._job.address, operations.start, operations.stop)
        self._work.bank.has_gradients = True

    def run(
        self,
        passes: Records,
        *,
        data: FloatArray | None = None,
        goals: FloatArray | None = None,
        outputs: FloatArray | None = None,
        scale: float = 1.0,
    ) -> FloatArray:
        """Run passes in order, and return the sum of errors of each chunk.

        data     inputs of the samples
        goals    their targets, or the gradients of their outputs
        outputs  receives their outputs, or the gradients of their inputs
        scale    factor of the gradients of the loss
        """
        check_process()
        job, work = self._job, self._work
        batch = job.batch
        if passes is not self._passes:
            self._passes = passes
            job.set_passes(passes)
        if data is not None:
            batch.data, batch.columns = address(data), data.shape[1]
        if goals is not None:
            batch.goals, batch.goal_columns = address(goals), goals.shape[1]
        if outputs is not None:
            batch.outputs, batch.output_columns = address(outputs), outputs.shape[1]
        batch.steps, batch.scale = work.bank.step_count, scale
        assert self._room is not None, "use comes first"
        errors = self._room.errors
        errors[:] = 0.0
        if work.precision.mixed:
            work.rounding()["round_bank"].call(job.address)
        if self._choice is None or self._guard is None:
            self._call(job.address)
        else:
            with self._guard:
                self._choice.run(1, self._run_once)
        return errors

    def _run_once(self, count: int) -> bool:
        self._call(self._job.address)
        return True
