"""Forward and backward pass of one sample, on a copy of the numbers.

The session is not accessed, so training can continue at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.engines.expression.expression_engine import Nodes, Rows
from scalarviz.engines.reference import OperationArrays, factors, send_back, sent_forward
from scalarviz.training.session.reading import Numbers

NO_STATE = np.zeros(0)
FLAT = 0.1  # below this share of the steepest slope, an activation is saturated


@dataclass(frozen=True)
class SamplePass:
    """Values and gradients (`flows`) of one sample, by buffer name.

    Attributes:
        saturated: 1 where the slope of an activation is nearly 0, else 0
        left_out: 1 where dropout drops a number, else 0
        target: targets of the sample; None if unknown
        passed: the operations of a network, and the inputs of each
        nodes: the numbers of a compiled function; None for a network
        later: functions that compute the backward pass on request
    """

    values: dict[str, FloatArray] = field(default_factory=dict)
    saturated: Mapping[str, FloatArray] = field(default_factory=dict)
    left_out: Mapping[str, FloatArray] = field(default_factory=dict)
    target: FloatArray | None = None
    passed: Sequence[tuple[Operation, OperationArrays]] = ()
    nodes: Nodes | None = None
    later: list[Callable[[SamplePass], None]] = field(default_factory=list)
    _flows: dict[str, FloatArray] = field(default_factory=dict)
    _grown: list[dict[str, FloatArray]] = field(default_factory=list)

    @property
    def flows(self) -> dict[str, FloatArray]:
        """The gradients of the loss, by buffer name."""
        while self.later:
            self.later.pop()(self)
        return self._flows

    @property
    def grown(self) -> list[dict[str, FloatArray]]:
        """Gradients of a compiled function after the loss and after each node, as a list."""
        return self._grown if self.flows else []


def by_sample(operation: Operation) -> bool:
    """Return whether an operation computes one sample without the others, as in training.

    An operation with batch statistics does not: running statistics replace them here.
    """
    return not operation.about.statistics(operation)


def forward(
    program: Program,
    value: FloatArray,
    sample: FloatArray,
    state: FloatArray = NO_STATE,
    step: int = 0,
    place: int = 0,
    target: FloatArray | None = None,
) -> SamplePass:
    """Run the forward pass of a sample with these parameters, in training mode.

    Args:
        program: the program of the network
        value, state: parameters in bank order, and state of the network
        sample: one sample, shape (inputs,)
        step: steps taken by the network
        place: index of the sample in its batch
        target: targets of the sample; None if unknown
    """
    if isinstance(program, TraceProgram):
        return forward_of_graph(program, value, sample, target)
    numbers = OperationArrays(value, state, step, (), first=place)
    found, passed = sent_forward(program, np.asarray(sample)[np.newaxis], numbers, by_sample)
    activations, dropouts = (
        {each.target.name: (each, arrays) for each, arrays in passed if each.kind == kind}
        for kind in ("activation", "dropout")
    )
    return SamplePass(
        {name: rows[0] for name, rows in found.items()},
        Numbers(activations, lambda name: flatness(*activations[name], found[name][0])),
        Numbers(dropouts, lambda name: (factors(*dropouts[name])[0] == 0.0).astype(np.float64)),
        target,
        passed=passed,
    )


def forward_of_graph(
    program: TraceProgram, value: FloatArray, sample: FloatArray, target: FloatArray | None
) -> SamplePass:
    """Compute all nodes of a compiled function for a sample."""
    parameters = value[program.rows]
    nodes = Nodes(program, np.asarray(sample, np.float64)[np.newaxis], parameters)
    for node in program.nodes:
        nodes.forward(node.members, parameters)
    return SamplePass(numbers_of_nodes(nodes, nodes.values), target=target, nodes=nodes)


def numbers_of_nodes(nodes: Nodes, numbers: Rows) -> dict[str, FloatArray]:
    """Return the numbers of a sample by buffer; the mean if a node represents several nodes."""
    program = nodes.program
    results = {each.target.name: nodes.of(numbers, each.target)[0] for each in program.operations}
    known = {buffer.name: nodes.of(numbers, buffer)[0] for buffer in program.given}
    means = {name: found.mean(keepdims=True) for name, found in results.items() if len(found) > 1}
    known |= results | means
    return {**known, program.outputs.name: nodes.of(numbers, program.outputs)[0]}


def gradients_now(nodes: Nodes, moment: Moment) -> dict[str, FloatArray]:
    """Return the gradients of nodes, inputs and outputs that a moment of the step changes."""
    program, now, found = nodes.program, nodes.gradients, dict[str, FloatArray]()
    for buffer in moment.gradients:
        if program.place_of.get(buffer.name) == buffer.offset:  # else a parameter of this label
            found[buffer.name] = nodes.of(now, buffer)[0].mean(keepdims=True)
        elif buffer == program.outputs:
            found[buffer.name] = nodes.of(now, buffer)[0]
    return found


def flatness(operation: Operation, numbers: OperationArrays, y: FloatArray) -> FloatArray:
    """Return 1 where the slope of an activation is nearly 0, else 0."""
    row = ACTIVATIONS[operation.formula]
    pairs = zip(numbers.x[0].tolist(), y.tolist(), strict=True)
    slopes = [abs(row.derivative(*pair)) for pair in pairs]
    steepest = max(abs(row.derivative(z, row.value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
    return (np.array(slopes) < FLAT * steepest).astype(np.float64)


def backward(program: Program, way: SamplePass, target: FloatArray, loss: Loss, batch: int) -> None:
    """Add the gradients of one sample, as part of a batch of `batch` samples, to its pass.

    Args:
        program: the program of the network
        way: the forward pass, to which the gradients are added
        target: target of the sample, shape (outputs,)
        loss: the loss function
    """
    found = {name: each[np.newaxis] for name, each in way.values.items()}
    outputs = found[program.outputs.name]
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
    else:
        flows = {program.outputs.name: flow}
        with np.errstate(all="ignore"):
            send_back(way.passed, found, flows)
        way._flows.update({name: each[0] for name, each in flows.items()})


def forward_products(program: Program, value: FloatArray, way: SamplePass) -> FloatArray:
    """Return w * x for every parameter; a bias is multiplied by 1.

    For a weight with several uses, the product is the mean over them.
    """
    found = np.asarray(value, np.float64).copy()
    for operation in program.operations:
        if operation.about.multiplies:
            rows = operation.parameters
            found[rows.start : rows.stop] *= means_of_inputs(operation, way)
    return found


def means_of_inputs(operation: Operation, way: SamplePass) -> FloatArray:
    """Return the mean input of each parameter."""
    x = np.append(way.values[operation.source.name], 1.0)
    if operation.kind in OUTER:
        return np.append(np.tile(x[:-1], operation.target.size), np.ones(biases_of(operation)))
    places, _, read = operation.all_uses
    count = len(operation.parameters)
    uses = np.maximum(np.bincount(places, minlength=count), 1)
    return np.bincount(places, x[read], count) / uses


def gradient_products(program: Program, count: int, way: SamplePass) -> FloatArray:
    """Return x * g for every parameter: the sample's contribution to its gradient."""
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
