"""CudaExpressionEngine: runs a compiled expression on a GPU, a thread a sample.

Values and gradients of a batch are computed there; the loss and the optimizer's part of a step are
those of the objects, on the host. That is worth it for batches of thousands of samples.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.dispatch import (
    BINARY,
    BINARY_PARTIALS,
    TERNARY,
    TERNARY_PARTIALS,
    UNARY,
)
from scalarviz.engines.codegen.kernel_choice import EVERYTHING
from scalarviz.engines.common.cores import check_process
from scalarviz.engines.cuda import expressions
from scalarviz.engines.cuda.api import cuda
from scalarviz.engines.cuda.calls import Device
from scalarviz.engines.cuda.failure import card_failures
from scalarviz.engines.cuda.graphs import Launch
from scalarviz.engines.cuda.units import Launched
from scalarviz.engines.expression.engines import ExpressionEngine, Waiting
from scalarviz.model.trace import Trace

# An expression is a table that these kernels read, and they are made for all formulas: compiled
# once, in 3 s. For the formulas in use it would be 1 s, and again for each function with others.
LAUNCHED: list[Launched] = [
    expressions.expression_forward, expressions.expression_backward, expressions.expression_sums,
]  # fmt: skip
UNITS = [CudaUnit(function, EVERYTHING) for function in LAUNCHED]

TABLES = {1: UNARY, 2: BINARY, 3: TERNARY}
PARTIALS = {1: UNARY, 2: BINARY_PARTIALS, 3: TERNARY_PARTIALS}


@final
class Batch:
    """The memory of one batch on the GPU."""

    def __init__(self, trace: Trace, samples: int, dtype: str, device: Device) -> None:
        self.samples = samples
        self.dtype = np.dtype(dtype)
        self._stream = device.stream
        plan = plan_of(trace, samples)
        numbers = trace.first_made + len(trace.operations)
        known, parameters = trace.first_made - trace.inputs, len(trace.parameters)
        self.gradients = known
        self.values = known + parameters
        self.flows = self.values + numbers * samples
        self.upstream = self.flows + numbers * samples
        places = self.gradients, self.values, self.flows, self.upstream
        plan[expressions.GRADIENTS : expressions.FIELDS] = places
        size = self.upstream + len(trace.outputs) * samples
        self.plan = cuda.to_device(plan, stream=device.stream)
        self.arena = cuda.device_array(max(1, size), self.dtype, stream=device.stream)

    def write(self, place: int, numbers: FloatArray) -> None:
        """Copy numbers to the GPU."""
        if numbers.size:
            part = np.ascontiguousarray(numbers, self.dtype).ravel()
            self.arena[place : place + part.size].copy_to_device(part, stream=self._stream)

    def read(self, place: int, rows: int, columns: int) -> FloatArray:
        """Copy a table from the GPU."""
        numbers = np.empty(rows * columns, self.dtype)
        if numbers.size:
            part = self.arena[place : place + numbers.size]
            part.copy_to_host(numbers, stream=self._stream)
            self._stream.synchronize()
        return numbers.reshape(rows, columns)


def plan_of(trace: Trace, samples: int) -> Any:
    """Return the plan of a trace without the places in memory; see `engines/cuda/expressions`."""
    plan = np.zeros(expressions.FIELDS, np.int64)
    plan[: expressions.GRADIENTS] = [
        samples, trace.inputs, trace.first_parameter, trace.first_made, len(trace.operations),
        len(trace.outputs),
    ]  # fmt: skip
    rows = []
    for formula, operands in zip(trace.formulas, trace.operands.tolist(), strict=True):
        count = len(formula.partials)
        first = formula.name if count == 1 else f"{formula.name} by 0"
        place = list(TABLES[count]).index(formula.name), list(PARTIALS[count]).index(first)
        rows.append([count, *place, *[max(value, 0) for value in operands]])
    return np.concatenate([plan, np.array(rows, np.int64).ravel(), np.array(trace.outputs)])


@final
class CudaExpressionEngine(ExpressionEngine[Batch]):
    """Runs the operations of a trace on a GPU; results have the same bits in every run."""

    name = "cuda"

    @cached_property
    def _device(self) -> Device:
        """The GPU; found anew by an engine that was sent to another process."""
        check_process()
        return Device.current()

    @cached_property
    def _kernels(self) -> list[Any]:
        return [*cuda_file.load(UNITS, self.bank.dtype)]

    def _launch(self, function: Launched, batch: Batch) -> None:
        module = self._kernels[LAUNCHED.index(function)]
        kernel, device = getattr(module, function.__name__), self._device
        arrays = batch.plan, batch.arena
        Launch(kernel, arrays, device.blocks, device.threads).on(device.stream)()

    @card_failures()
    def evaluate(self, batch: FloatArray) -> FloatArray:
        return self._results(self._computed(batch))

    @card_failures()
    def forward(self, batch: FloatArray) -> FloatArray:
        computed = self._computed(batch)
        self._passes.append(Waiting(len(batch), computed))
        return self._results(computed)

    def _computed(self, batch: FloatArray) -> Batch:
        """Compute all values of a batch on the GPU."""
        made = Batch(self.trace, len(batch), self.bank.dtype, self._device)
        made.write(0, np.concatenate([self.trace.constants, self.bank.value[self.rows]]))
        made.write(made.values, self.array(batch).T)
        self._launch(expressions.expression_forward, made)
        return made

    def _results(self, batch: Batch) -> FloatArray:
        numbers = self.trace.first_made + len(self.trace.operations)
        return np.ascontiguousarray(
            batch.read(batch.values, numbers, batch.samples)[self.trace.outputs].T
        )

    @card_failures()
    def backward(self, upstream: FloatArray) -> FloatArray:
        batch, trace = self._passes.pop().kept, self.trace
        batch.write(batch.upstream, self.array(upstream).T)
        self._launch(expressions.expression_backward, batch)
        self._launch(expressions.expression_sums, batch)
        found = batch.read(batch.gradients, 1, len(trace.parameters))[0]
        by_inputs = batch.read(batch.flows, trace.inputs, batch.samples).T
        with np.errstate(all="ignore"):
            self.bank.grad[self.rows] += found
        self.bank.has_gradients = True
        return np.ascontiguousarray(by_inputs)
