"""Fallback: operations without a kernel, which the host computes between launches.

What an operation reads is copied from the GPU, and what it writes there: the rest stays where it
is. Steps are then launched one by one, since no graph can have them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Operation, Program
from scalarviz.engines.common.costs import Costs
from scalarviz.engines.common.reference import OperationArrays, all_gradients, reference_of
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.table import WHOLE_BATCH

if TYPE_CHECKING:
    from scalarviz.engines.cuda.calls import CudaCalls


@final
class HostOperations:
    """The operations of a batch on a GPU that run as Python.

    samples  number of samples of the batch that count
    """

    def __init__(self, program: Program, samples: int) -> None:
        self.samples = samples
        own = [
            (i, each) for i, each in enumerate(program.operations) if each.kind not in WHOLE_BATCH
        ]
        self.references = {i: reference_of(each) for i, each in own}
        self._costs = Costs("cuda", [each for _, each in own])

    def _numbers(self, work: CudaCalls, operation: Operation, **more: Any) -> OperationArrays:
        read = [work.values(each.offset, each.size, self.samples) for each in operation.sources]
        memory, plan, first = work.memory, work.layout.plan, places.STATE_NUMBERS
        state = np.empty(int(plan[places.ERRORS]) - first)
        memory.scalars[first : first + len(state)].copy_to_host(state, stream=memory.stream)
        value = memory.read(int(plan[places.VALUE]), memory.rows)
        steps = int(memory.host_plan[places.STEPS_TAKEN])
        found = OperationArrays(value, state, steps, tuple(read))
        return replace(found, learning=work.learning, **more)

    def forward(self, work: CudaCalls, i: int) -> None:
        """Write the outputs of operation i."""
        operation = work.program.operations[i]
        with self._costs.python():
            y = self.references[i].forward(operation, self._numbers(work, operation))
        work.write(places.SPACE, operation.target.offset, y)

    def _gradients(self, work: CudaCalls, i: int) -> tuple[FloatArray, ...]:
        operation = work.program.operations[i]
        target = operation.target
        y = work.values(target.offset, target.size, self.samples)
        upstream = work.gradients(target.offset, target.size, self.samples)
        with self._costs.python():
            numbers = self._numbers(work, operation, y=y, upstream=upstream)
            return all_gradients(self.references[i], operation, numbers)

    def parameter_gradient(self, work: CudaCalls, i: int) -> None:
        """Add the gradient of its parameters to that of the bank."""
        memory, rows = work.memory, work.program.operations[i].parameters
        place = memory.grad_place + rows.start
        found = self._gradients(work, i)[-1]
        memory.write(place, memory.read(place, len(rows)) + found)

    def input_gradient(self, work: CudaCalls, i: int) -> None:
        """Write the gradient of each buffer that it reads."""
        sources = work.program.operations[i].sources
        for source, found in zip(sources, self._gradients(work, i), strict=False):
            work.write(places.FLOW, source.offset, found)

    def steps(self, step: Callable[[], None], counts: list[int]) -> None:
        """Take a step for each number of samples, and say once what that costs."""
        start, self._costs.seconds = time.perf_counter(), 0.0
        for self.samples in counts:
            step()
        self._costs.say(len(counts), time.perf_counter() - start)
