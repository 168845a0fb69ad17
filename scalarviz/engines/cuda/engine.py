"""CudaEngine: runs the program of a network by numba-CUDA kernels on whole batches.

It uses operations and buffers, not layers. Between calls the bank in host memory is current.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import final

from scalarviz.checks.numbers import FloatArray
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Engine, check_samples, newest_of
from scalarviz.engines.common.cores import check_process
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.calls import CudaCalls, Device
from scalarviz.engines.cuda.run import CudaRun
from scalarviz.engines.cuda.tables import set_start, set_state
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Layer
from scalarviz.model.bank import Bank
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program


@final
class CudaEngine(Engine):
    """Runs a program on a GPU."""

    name = "cuda"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        self._passes: list[CudaCalls] = []
        self._spare: CudaCalls | None = None  # memory for another batch of the same size

    @cached_property
    def device(self) -> Device:
        """The GPU; found anew by an engine that was sent to another process."""
        check_process()
        return Device.current()

    def forward(self, batch: FloatArray) -> FloatArray:
        work = self._forward(batch, learning=True)
        self._passes.append(work)
        work.memory.take_plan()
        work.memory.take_state(self.bank)
        return self._outputs(work)

    def evaluate(self, batch: FloatArray) -> FloatArray:
        work = self._forward(batch, learning=False)
        self._spare = work
        return self._outputs(work)

    def _forward(self, batch: FloatArray, learning: bool) -> CudaCalls:
        work = self._ready_work(len(batch))
        set_start(work.memory.host_plan, work.memory.host_scalars, self.bank, 0, learning=learning)
        work.begin()
        work.write(places.SPACE, self.program.inputs.offset, self.array(batch))
        for i in range(len(self.program.operations)):
            work.forward(0, i)
        return work

    def _outputs(self, work: CudaCalls) -> FloatArray:
        outputs = self.program.outputs
        return work.values(outputs.offset, outputs.size, work.samples)

    def _ready_work(self, samples: int) -> CudaCalls:
        """Return memory for a batch of this size."""
        work, self._spare = self._spare, None
        if work is None or work.samples != samples:
            work = CudaCalls(self.program, self.bank, self.precision, samples, self.device)
        return work

    def newest_batch(self) -> int:
        return newest_of(self._passes)

    def check_backward(self, samples: int) -> None:
        check_samples(newest_of(self._passes), samples)

    def backward(self, upstream: FloatArray) -> FloatArray:
        work, operations = self._passes.pop(), self.program.operations
        set_state(work.memory.host_scalars, self.bank)  # the plan is still that of its forward
        work.begin()
        scale = float(self.bank.scaling[0])
        outputs, inputs = self.program.outputs, self.program.inputs
        work.write(places.FLOW, outputs.offset, self.array(upstream * scale))
        work.keep_upstream()
        for i in reversed(range(len(operations))):
            if operations[i].parameters:
                work.parameter_gradient(0, i)
            work.input_gradient(0, i)
        work.memory.take_bank(self.bank, ())
        self.bank.has_gradients = True
        self._spare = work
        found = work.gradients(inputs.offset, inputs.size, work.samples)
        found /= found.dtype.type(scale)
        return found

    def forget(self) -> None:
        self._passes.clear()

    def run(self, batches: Batches, loss: Loss) -> CudaRun:
        return CudaRun(self, batches, loss, self.device)
