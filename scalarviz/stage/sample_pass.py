"""Forward and backward pass of one sample, on a copy of the numbers.

It does not touch the session, so it can run while training continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.engines.expression.expression_engine import Nodes, Rows
from scalarviz.engines.reference import (
    OperationArrays,
    add_gradients,
    factors,
    operation_backward,
    operation_forward,
)
from scalarviz.training.session.reading import Numbers

FLAT = 0.1  # below this share of the steepest slope, an activation is saturated


@dataclass(frozen=True)
class SamplePass:
    """The focus sample's values and gradients (flows) by the name of the buffer.

    target     what its outputs should be; None: not known
    saturated  1 where the slope of an activation is nearly 0, else 0
    left_out   1 where dropout drops a number, else 0
    nodes      the numbers of a compiled function; None of a network
    later      what sends its gradient back once somebody asks for it, if there is anything
    """

    values: dict[str, FloatArray] = field(default_factory=dict)
    saturated: Mapping[str, FloatArray] = field(default_factory=dict)
    left_out: dict[str, FloatArray] = field(default_factory=dict)
    nodes: Nodes | None = None
    target: FloatArray | None = None
    later: list[Callable[[SamplePass], None]] = field(default_factory=list)
    _flows: dict[str, FloatArray] = field(default_factory=dict)
    _grown: list[dict[str, FloatArray]] = field(default_factory=list)

    @property
    def flows(self) -> dict[str, FloatArray]:
        """The gradients of the loss, for each buffer."""
        while self.later:
            self.later.pop()(self)
        return self._flows

    @property
    def grown(self) -> list[dict[str, FloatArray]]:
        """Flows of a compiled function after the loss and each node, of what these add to."""
        return self._grown if self.flows else []


@dataclass(frozen=True)
class SampleContext:
    """The network's state, the steps taken, and the sample's index in its batch."""

    state: FloatArray = field(default_factory=partial(np.zeros, 0))
    step: int = 0
    sample: int = 0


AT_FIRST = SampleContext()


def numbers_for(
    operation: Operation,
    value: FloatArray,
    way: SamplePass,
    place: SampleContext,
    back: bool = False,
) -> OperationArrays:
    """Return the arrays that an operation needs for one sample, in training mode.

    Batch statistics are not available here: running statistics replace them.
    """
    return OperationArrays(
        value,
        place.state,
        place.step,
        tuple(way.values[source.name][np.newaxis] for source in operation.sources),
        way.values[operation.target.name][np.newaxis] if back else None,
        way.flows[operation.target.name][np.newaxis] if back else None,
        not operation.about.statistics(operation),
        place.sample,
    )


def forward(
    program: Program, value: FloatArray, sample: FloatArray, place: SampleContext = AT_FIRST
) -> SamplePass:
    """Send a sample through a network with these parameters.

    program  the program of the network
    value    its parameters, in bank order
    sample   one sample, shape (inputs,)
    place    state, step and index of the sample
    """
    if isinstance(program, TraceProgram):
        return forward_of_graph(program, value, sample)
    activations: dict[str, tuple[Operation, FloatArray, FloatArray]] = {}
    way = SamplePass({program.inputs.name: np.asarray(sample, np.float64)})
    with np.errstate(all="ignore"):
        for operation in program.operations:
            numbers = numbers_for(operation, value, way, place)
            y = operation_forward(operation, numbers)[0]
            way.values[operation.target.name] = y
            if operation.kind == "activation":
                activations[operation.target.name] = operation, numbers.x[0], y
            elif operation.kind == "dropout":
                dropped = factors(operation, numbers)[0] == 0.0
                way.left_out[operation.target.name] = dropped.astype(np.float64)
    return replace(way, saturated=Numbers(activations, lambda name: flatness(*activations[name])))


def forward_of_graph(program: TraceProgram, value: FloatArray, sample: FloatArray) -> SamplePass:
    """Compute all nodes of a compiled function for a sample."""
    parameters = value[program.rows]
    nodes = Nodes(program, np.asarray(sample, np.float64)[np.newaxis], parameters)
    for node in program.nodes:
        nodes.forward(node.members, parameters)
    return SamplePass(numbers_of_nodes(nodes, nodes.values), nodes=nodes)


def numbers_of_nodes(nodes: Nodes, numbers: Rows) -> dict[str, FloatArray]:
    """Return what is known of a sample, by buffer; of a node that stands for several, the mean."""
    program = nodes.program
    results = {each.target.name: nodes.of(numbers, each.target)[0] for each in program.operations}
    known = {buffer.name: nodes.of(numbers, buffer)[0] for buffer in program.given}
    means = {name: found.mean(keepdims=True) for name, found in results.items() if len(found) > 1}
    known |= results | means
    return {**known, program.outputs.name: nodes.of(numbers, program.outputs)[0]}


def gradients_now(nodes: Nodes, moment: Moment) -> dict[str, FloatArray]:
    """Return the gradients of the nodes, inputs and outputs that a moment has added to."""
    program, now, found = nodes.program, nodes.gradients, dict[str, FloatArray]()
    for buffer in moment.gradients:
        if program.place_of.get(buffer.name) == buffer.offset:  # a parameter may be labelled as one
            found[buffer.name] = nodes.of(now, buffer)[0].mean(keepdims=True)
        elif buffer == program.outputs:
            found[buffer.name] = nodes.of(now, buffer)[0]
    return found


def flatness(operation: Operation, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return 1 where the slope of an activation is nearly 0, else 0."""
    row = ACTIVATIONS[operation.formula]
    slopes = [abs(row.derivative(*pair)) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    steepest = max(abs(row.derivative(z, row.value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
    return (np.array(slopes) < FLAT * steepest).astype(np.float64)


def backward(
    program: Program,
    value: FloatArray,
    way: SamplePass,
    target: FloatArray,
    loss: Loss,
    batch: int,
    place: SampleContext = AT_FIRST,
) -> SamplePass:
    """Add the gradients of a sample in a batch of `batch` samples.

    program  the program of the network
    value    its parameters, in bank order
    way      the forward pass, to which the flows are added
    target   target of the sample, shape (outputs,)
    loss     the loss function
    place    state, step and index of the sample
    """
    outputs = way.values[program.outputs.name][np.newaxis]
    loss.forward(outputs, np.asarray(target, np.float64)[np.newaxis])
    width = outputs.shape[1]
    part = loss.scale((batch, width)) / loss.scale((1, width))
    flow = loss.backward() * part
    if way.nodes is not None:
        way.nodes.begin_back(flow)
        for moment in way.nodes.program.moments:
            if moment.kind == "operand gradient":
                way.nodes.backward(way.nodes.program.nodes[moment.operation].members)
            if moment.gradients:
                way._grown.append(gradients_now(way.nodes, moment))
        way._flows.update(numbers_of_nodes(way.nodes, way.nodes.gradients))
        return way
    way._flows[program.outputs.name] = flow[0]
    with np.errstate(all="ignore"):
        for operation in reversed(program.operations):
            numbers = numbers_for(operation, value, way, place, back=True)
            gradients = operation_backward(operation, numbers)
            names = [source.name for source in operation.sources]
            add_gradients(way._flows, zip(names, [each[0] for each in gradients], strict=True))
    return way


def forward_products(program: Program, value: FloatArray, way: SamplePass) -> FloatArray:
    """Return w * x for every parameter; a bias is multiplied by 1.

    For a weight that is used at several places it is the mean over them.
    """
    found = np.asarray(value, np.float64).copy()
    for operation in program.operations:
        if operation.about.multiplies:
            rows = operation.parameters
            found[rows.start : rows.stop] *= means_of_inputs(operation, way)
    return found


def means_of_inputs(operation: Operation, way: SamplePass) -> FloatArray:
    """Return the mean input that each parameter is multiplied by."""
    x = np.append(way.values[operation.source.name], 1.0)
    if operation.kind in OUTER:
        return np.append(np.tile(x[:-1], operation.target.size), np.ones(biases_of(operation)))
    places, _, read = operation.all_uses
    count = len(operation.parameters)
    uses = np.maximum(np.bincount(places, minlength=count), 1)
    return np.bincount(places, x[read], count) / uses


def gradient_products(program: Program, count: int, way: SamplePass) -> FloatArray:
    """Return x * g for every parameter: the sample's part of its gradient."""
    found = np.zeros(count)
    for operation in program.operations:
        g = way.flows.get(operation.target.name)
        if operation.weights == NONE or g is None:
            continue
        rows, x = operation.parameters, way.values[operation.source.name]
        if operation.kind in OUTER:
            own = np.append(np.outer(g, x).ravel(), g[: biases_of(operation)])
        else:
            places, written, read = operation.all_uses
            own = np.bincount(places, g[written] * np.append(x, 1.0)[read], len(rows))
        found[rows.start : rows.stop] += own
    return found


OUTER = {"affine"}  # kinds that connect every input to every output, computed as outer products


def biases_of(operation: Operation) -> int:
    """Return the number of biases."""
    return operation.target.size // operation.outputs_per_bias if operation.biases != NONE else 0
