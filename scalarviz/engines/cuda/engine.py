"""CudaEngine: runs the program of a network by numba-CUDA kernels on whole batches.

It uses operations and buffers, not layers. Between calls the bank in host memory is current, but
for what a session lets a run leave on the GPU: see `scalarviz.core.device_arrays`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
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
from scalarviz.engines.common.cores import check_process
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.calls import CudaCalls, Device
from scalarviz.engines.cuda.failure import card_failures, is_out_of_memory
from scalarviz.engines.cuda.run import CudaRun
from scalarviz.engines.cuda.tables import set_start, set_state

MOST_SPARE = 4  # sizes of batches whose memory is kept
MOST_EVALUATED = 4096  # samples that are evaluated at a time


@final
class CudaEngine(StackEngine[CudaCalls]):
    """Runs a program on a GPU."""

    name = "cuda"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        # Memory for batches of other sizes, not in use; the one used last is the last.
        self._spare: deque[CudaCalls] = deque(maxlen=MOST_SPARE)

    @cached_property
    def device(self) -> Device:
        """The GPU; found anew by an engine that was sent to another process."""
        check_process()
        with card_failures():
            return Device.current()

    @card_failures()
    def forward(self, batch: FloatArray) -> FloatArray:
        work = self.take_work(len(batch))
        set_start(work.memory.host_plan, work.memory.host_scalars, self.bank, 0)
        work.begin()
        self._run_forward(work, batch)
        self._waiting.append(Waiting(len(batch), work))
        work.memory.take_plan()
        work.memory.take_state(self.bank)
        return self._outputs(work, len(batch))

    @card_failures()
    def evaluate(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch, in tiles: each sample is evaluated by itself.

        A tile has a power of two samples, so that batches of many sizes take the same memory.
        """
        size = min(MOST_EVALUATED, 1 << (len(batch) - 1).bit_length())
        work = self.take_work(size, learning=False)
        set_start(work.memory.host_plan, work.memory.host_scalars, self.bank, 0, learning=False)
        work.begin()
        found = []
        for start in range(0, len(batch), size):
            tile = batch[start : start + size]
            self._run_forward(work, tile)
            found.append(self._outputs(work, len(tile)))
        self._spare.append(work)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _run_forward(self, work: CudaCalls, batch: FloatArray) -> None:
        work.host.samples = len(batch)
        work.write(places.SPACE, self.program.inputs.offset, self.array(batch))
        for i in range(len(self.program.operations)):
            work.forward(i)

    def _outputs(self, work: CudaCalls, samples: int) -> FloatArray:
        outputs = self.program.outputs
        return work.values(outputs.offset, outputs.size, samples)

    def take_work(self, samples: int, *, learning: bool = True) -> CudaCalls:
        """Return memory for a batch of this size: a spare one, or a new one.

        If the GPU has no room for a new one, the spare ones are freed.

        learning  False: for evaluation, without memory for gradients
        """
        wanted = samples, learning
        spare = [w for w in self._spare if (w.samples, w.learning) == wanted and not w.outdated]
        if spare:
            self._spare.remove(spare[0])
            return spare[0]
        try:
            return self._new_work(samples, learning)
        except Exception as error:  # the driver has classes of its own; others go on
            if not is_out_of_memory(error):
                raise
        # Outside of `except`, which would keep the arrays that have been made.
        self._spare.clear()
        return self._new_work(samples, learning)

    def _new_work(self, samples: int, learning: bool) -> CudaCalls:
        return CudaCalls(self.program, self.bank, samples, self.device, learning)

    @card_failures()
    def backward(self, upstream: FloatArray) -> FloatArray:
        work, operations = self._waiting.pop().kept, self.program.operations
        set_state(work.memory.host_scalars, self.bank)  # the plan is still that of its forward
        work.begin()
        outputs, inputs = self.program.outputs, self.program.inputs
        work.write(places.FLOW, outputs.offset, self.array(upstream))
        for i in reversed(range(len(operations))):
            if operations[i].parameters:
                work.parameter_gradient(i)
            work.input_gradient(i)
        work.memory.take_bank(self.bank, ())
        self.bank.has_gradients = True
        self._spare.append(work)
        return work.gradients(inputs.offset, inputs.size, work.samples)

    def run(self, batches: Batches, loss: Loss) -> CudaRun:
        with card_failures():
            return CudaRun(self, batches, loss)
