"""The python engine, which runs the layer objects themselves: slow, readable, the reference.

It calls the methods of layers, which call methods of their perceptrons, which call methods of their
weights. A layer processes the whole batch before the next layer does.

One method call covers several moments of a step: a perceptron sums and applies its activation; a
weight adds to its gradient and returns the gradient of its input. So a `PythonRun` calls each layer
once forward and once backward, and publishes the results at the corresponding moments.
"""

from __future__ import annotations

import time
from collections import Counter
from importlib.util import find_spec
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank_arrays import find_bad
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Buffer, Moment, Operation
from scalarviz.data.batches import Batches
from scalarviz.engines.engine import Engine, Run, RunningStatistics, RunOutcome
from scalarviz.engines.reference import (
    OperationArrays,
    add_gradients,
    operation_backward,
    operation_forward,
    program_forward,
    say_once,
)
from scalarviz.errors import UpdateError

PIECE = 8  # samples evaluated between two readings of the clock
PATIENCE = 2.0  # seconds per batch above which a faster engine is suggested


@final
class PythonEngine(Engine):
    """Runs the layers of a network by calling their methods."""

    name = "python"

    def forward(self, batch: FloatArray) -> FloatArray:
        rows = self.as_read(batch).tolist()
        for layer in self.layers:
            rows = layer.forward_batch(rows)
        return self.array(rows)

    def evaluate(self, batch: FloatArray) -> FloatArray:
        """Return the outputs of a batch; if slow, log this once and use the engine `instead`."""
        rows, found, start = self.as_read(batch).tolist(), [], time.thread_time()
        for first in range(0, len(rows), PIECE):
            part = rows[first : first + PIECE]
            for layer in self.layers:
                part = layer.evaluate_rows(part)
            found += part
            seconds = len(rows) * (time.thread_time() - start) / len(found)
            if seconds > PATIENCE and len(found) < len(rows) and find_spec("numba"):
                say_once(
                    "the python engine",
                    f"{len(rows):,} samples take the python engine about {seconds:,.0f} s: "
                    "net.to('cpu') is many times faster",
                )
                faster = self.instead(batch) if self.instead else None
                if faster is not None:
                    return faster
        return self.array(found)

    def survey(self, batch: FloatArray) -> dict[str, FloatArray]:
        return program_forward(self.program, self.bank.value, self.bank.state, batch)

    def newest_batch(self) -> int:
        return self.layers[-1].newest_batch

    def check_backward(self, samples: int) -> None:
        for layer, uses in Counter(self.layers).items():
            layer.check_backward(samples, uses)

    def backward(self, upstream: FloatArray) -> FloatArray:
        rows = upstream.tolist()
        for layer in reversed(self.layers):
            rows = layer.backward_batch(rows)
        return self.array(rows)

    def forget(self) -> None:
        for layer in self.layers:
            layer.forget()

    def run(self, batches: Batches, loss: Loss) -> PythonRun:
        return PythonRun(self, batches, loss)


@final
class PythonRun(Run):
    """Trains a network by calling the methods of its layers."""

    def __init__(self, engine: Engine, batches: Batches, loss: Loss) -> None:
        super().__init__(batches, loss)
        self.engine = engine
        self._waiting: list[int] = []  # layers with an unmatched forward

    def steps(self, optimizer: Optimizer, first: int, count: int) -> RunOutcome:
        engine, bank, loss = self.engine, self.engine.bank, self.loss_function
        losses: list[float] = []
        for step in range(first, first + count):
            inputs, targets = self.batches.at(step)
            bank.zero_grad()
            state = bank.state.copy()
            value = loss.forward(engine.forward(inputs), targets, self.batches.weights_at(step))
            engine.backward(loss.backward())
            bad = find_bad(bank, optimizer)
            if bad != NONE:
                bank.state[:] = state  # undo the step
                return RunOutcome(np.array(losses), bad)
            try:
                if lost := engine.lost_statistic():
                    raise engine.bad_statistic(lost, bank.step_count)
                bank.step(optimizer, slice(0, len(bank)))
            except UpdateError as error:
                bank.state[:] = state
                return RunOutcome(np.array(losses), overflow=error)
            losses.append(value)
        return RunOutcome(np.array(losses))

    def begin(self, step: int) -> None:
        if self._waiting:
            self.engine.forget()
        inputs, self._targets = self.batches.at(step)
        self._weights = self.batches.weights_at(step)
        self._values = {self.engine.program.inputs: self.engine.as_read(inputs)}
        self._flows: dict[Buffer, FloatArray] = {}
        # Computed by the objects but not yet published: values and gradients.
        self._due: dict[Buffer, FloatArray] = {}
        self._due_flows: dict[Buffer, FloatArray] = {}
        self._waiting = []
        self._statistics = RunningStatistics(self.engine)
        self.loss = np.nan

    def perform(self, moment: Moment, optimizer: Optimizer) -> None:
        bank, operations = self.engine.bank, self.engine.program.operations
        if moment.kind == "zero_grad":
            bank.zero_grad()
        elif moment.kind == "loss":
            prediction = self._values[self.engine.program.outputs]
            self.loss = self.loss_function(prediction, self._targets, self._weights)
        elif moment.kind == "step":
            self.finish_backward()
            error = self._statistics.error
            if error is not None and find_bad(bank, optimizer) == NONE:
                raise error
            bank.step(optimizer, slice(0, len(bank)))
        elif moment.kind == "forward":
            self._forward(operations[moment.operation])
            self._statistics.after_forward()
        else:
            self._backward(moment, operations[moment.operation])

    def finish_backward(self) -> None:
        for place in reversed(self._waiting):  # layers whose gradient is not needed
            self.engine.layers[place].backward_batch(
                np.zeros((len(self._targets), self.engine.layers[place].outputs)).tolist()
            )
        self._waiting = []

    def _forward(self, operation: Operation) -> None:
        own = self._operations_of(operation.layer)
        x = self._values[operation.source]
        if operation is own[0]:
            rows = self.engine.layers[operation.layer].forward_batch(x.tolist())
            self._waiting.append(operation.layer)
            is_last = own[-1].target is self.engine.program.outputs
            self._due[own[-1].target] = self.engine.array(rows) if is_last else np.array(rows)
        if operation is own[-1]:
            self._values[operation.target] = self._due[operation.target]
        else:
            self._values[operation.target] = operation_forward(operation, self._numbers(operation))

    def _backward(self, moment: Moment, operation: Operation) -> None:
        outputs = self.engine.program.outputs
        if outputs in moment.gradients:
            loss = self.loss_function
            loss.forward(self._values[outputs], self._targets, self._weights)
            self._flows[outputs] = loss.backward()
        if moment.kind != "delta":
            self._layer_backward(operation)
        if moment.flows_into(operation):
            self._input_gradient(moment, operation)

    def _input_gradient(self, moment: Moment, operation: Operation) -> None:
        is_first = operation is self._operations_of(operation.layer)[0]
        if is_first and operation.source in self._due_flows:
            self._flows[operation.source] = self._due_flows[operation.source]
            return
        y, upstream = self._values[operation.target], self._flows[operation.target]
        gradients = operation_backward(operation, self._numbers(operation, y, upstream))
        pairs = zip(operation.sources, gradients, strict=True)
        add_gradients(self._flows, [pair for pair in pairs if pair[0] in moment.gradients])

    def _numbers(
        self, operation: Operation, y: FloatArray | None = None, upstream: FloatArray | None = None
    ) -> OperationArrays:
        bank = self.engine.bank
        inputs = tuple(self._values[source] for source in operation.sources)
        learning = not operation.is_held(bank.frozen)
        return OperationArrays(
            bank.value, bank.state, bank.step_count, inputs, y, upstream, learning
        )

    def _layer_backward(self, operation: Operation) -> None:
        """Run the backward of a layer's objects unless it has already run in this step."""
        if operation.layer not in self._waiting:
            return
        own = self._operations_of(operation.layer)
        upstream = self._flows[own[-1].target]
        rows = self.engine.layers[operation.layer].backward_batch(upstream.tolist())
        self._waiting.remove(operation.layer)
        self._due_flows[own[0].source] = np.array(rows)

    def _operations_of(self, layer: int) -> list[Operation]:
        return [each for each in self.engine.program.operations if each.layer == layer]

    def values(self, buffer: Buffer) -> FloatArray:
        return self._values[buffer]

    def gradients(self, buffer: Buffer) -> FloatArray:
        return self._flows[buffer]

    def targets(self) -> FloatArray:
        return self._targets
