"""One training step as an ONNX graph: forward, loss, backward and optimizer.

The step of a network of dense and convolution layers. `KINDS` has the forward and the backward of
each kind of operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Operation, Windows
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.onnx_graph import the_package
from scalarviz.files.onnx.writing import (
    FormulaNodes,
    is_writable,
    tensor_of,
    windows,
    write_model,
)
from scalarviz.files.onnx_names import unused
from scalarviz.training.session.session import Session

NEW = "new "  # prefix of the outputs with updated inputs
LOSSES = "mse", "sigmoid_cross_entropy", "softmax_cross_entropy"
OPTIMIZERS = "sgd", "adam"


def save_step_model(session: Session, path: object) -> None:
    """Save a step of a session as a model; see `scalarviz.files.onnx.save_step`."""
    onnx = the_package()
    found = as_path(path)
    if not isinstance(session, Session):
        raise InputError(
            f"sv.onnx.save_step saves a step of a Session, not {shorten(session)}: write "
            "sv.onnx.save_step(sv.Session(net, data), path)"
        )
    with session.doing():
        graph = StepWriter(session, onnx.helper).graph()
    write_model(onnx, graph, found)


@final
class StepWriter:
    """Writes the step that a session would take next as a graph.

    Attributes:
        made: the graph with its nodes so far
        parameters: graph inputs with parameters, by first bank row
        samples: number of samples in a batch, as a float
        gradients: gradients of parameters so far, by first bank row
    """

    def __init__(self, session: Session, helper: Any) -> None:
        self.net = session.network
        self.optimizer: Optimizer = session.trainer.settings.optimizer
        self.loss: Loss = session.trainer.settings.loss
        check_step(session)
        self.made = StepGraph(helper, self.net.dtype)
        self.gradients: dict[int, NodeResult] = {}
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.net.dtype))
        self.arrays = {each.rows.start: each for _, each in self.net.named_parameters()}

    def graph(self) -> Any:
        """Write all parts of the step and return the graph."""
        made, program = self.made, self.net.program
        values = [made.given("inputs", ("batch", program.inputs.size))]
        goals = made.given("targets", ("batch", program.outputs.size))
        self.parameters = {
            row: made.given(each.name, each.shape, each.value.copy())
            for row, each in self.arrays.items()
        }
        made.place = "batch"
        count = values[0].by("Shape").by("Gather", made.number(0, "int64"))
        self.samples = count.by("Cast", to=self.kind)
        for operation in program.operations:
            made.place = f"forward/{operation.name}"
            forward, _ = KINDS[operation.kind]
            values.append(forward(StepOperation(self, operation, values[-1])))
        g = self._loss(values[-1], goals)
        for operation in reversed(program.operations):
            made.place = f"backward/{operation.name}"
            _, backward = KINDS[operation.kind]
            y = values.pop()
            g = backward(StepOperation(self, operation, values[-1], y, g))
        self._move()
        return made.finish("training step")

    def _loss(self, p: NodeResult, goals: NodeResult) -> NodeResult:
        """Write the loss, and return its gradient with respect to the outputs `p`."""
        made, row = self.made, self.loss.row
        made.place = f"loss/{row.name}"
        divisor = self.loss.divisor(self.net.outputs)
        scale: NodeResult | float = self.loss.factor
        if divisor:
            factor = NodeResult(made, made.number(self.loss.factor))
            scale = factor.by("Div", self.samples * float(divisor))
        if isinstance(row, LossRow):
            errors, slopes = [made.compute(f, p, goals) for f in (row.value, row.derivative)]
        else:
            logs = p.by("LogSoftmax", axis=1)
            slopes = goals.sum(1, keep=True) * logs.by("Exp") - goals
            errors = (goals * logs).by("Neg")
        made.result("loss", errors.sum() * scale, ())
        return slopes * scale

    def _move(self) -> None:
        """Write the optimizer's update of each parameter array."""
        made, optimizer, bank = self.made, self.optimizer, self.net.bank
        made.place = f"step/{optimizer.name}"
        rate = optimizer.rate(bank.step_count)
        lr = made.given("learning_rate", (), np.array(rate, self.net.dtype))
        taken = made.given("steps", (), np.array(float(bank.step_count)))
        step = taken.by("Add", made.number(1.0, "float64"))
        made.result(f"{NEW}steps", step, (), "float64")
        rest: list[NodeResult | float] = [lr, *optimizer.settings.values(), *self._constants(step)]
        kept = bank.slot_block(optimizer.row.slots)  # as used by the optimizer
        for first, array in self.arrays.items():
            made.place, shape = f"step/{array.name}", array.shape
            slots = [
                made.given(f"{array.name} {slot}", shape, each[array.rows].reshape(shape).copy())
                for slot, each in zip(optimizer.row.slots, kept, strict=True)
            ]
            before = [self.parameters[first], *slots]
            given = [before[0], self.gradients[first], *slots, *rest]
            for place, each in enumerate(before):
                now = made.compute(optimizer.row.update, *given, place=place)
                made.result(f"{NEW}{each.name}", now, array.shape)

    def _constants(self, step: NodeResult) -> list[NodeResult]:
        """Return the constants that the optimizer uses in a step, computed in float64."""
        made, row, settings = self.made, self.optimizer.row, self.optimizer.settings.values()
        made.dtype, dtype = "float64", made.dtype
        places = range(len(row.constants(1.0, *settings)))
        found = [made.compute(row.constants, step, *settings, place=i) for i in places]
        made.dtype = dtype
        return [each.by("Cast", to=self.kind) for each in found]


def check_step(session: Session) -> None:
    """Raise InputError for a training step with other parts than `save_step` writes."""
    optimizer, net = session.trainer.settings.optimizer, session.network
    loss = session.trainer.settings.loss.name
    parts = {
        "a compiled function": net.program.is_graph,
        "mixed precision": net.precision.mixed,
        **{f"the operation {each.name!r}": not is_known(each) for each in net.program.operations},
        f"the loss {loss!r}": loss not in LOSSES,
        f"the optimizer {optimizer.name!r}": optimizer.name not in OPTIMIZERS,
        "clipped gradients": min(optimizer.clip_value, optimizer.clip_norm) < math.inf,
        "penalties": optimizer.l1 or optimizer.l2,
        "separate learning rates": optimizer.own_rates,
        "weights of samples": session.trainer.batches.weights is not None,
        "frozen parameters": net.bank.frozen.any(),
    }
    odd = next((what for what, is_there in parts.items() if is_there), "")
    require(
        not odd,
        f"a training step with {odd} cannot be saved: sv.onnx.save_step writes dense and "
        f"convolution layers, the losses {', '.join(LOSSES)}, and plain sgd and adam",
    )


def is_known(operation: Operation) -> bool:
    """Return whether an operation, and its derivative, can be written."""
    if operation.kind != "activation":
        return operation.kind in KINDS
    row = ACTIVATIONS[operation.formula]
    return is_writable(row.value, "x") and is_writable(row.derivative, "x", "y")


@final
class StepGraph(FormulaNodes):
    """A graph under construction, without duplicate nodes.

    Attributes:
        helper: the module onnx.helper
        dtype: dtype of numbers
        place: prefix for the names of the next nodes
    """

    def __init__(self, helper: Any, dtype: str) -> None:
        super().__init__()
        self.helper = helper
        self.dtype = dtype
        self.place = ""
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.numbers: dict[str, Any] = {}
        self._nodes: list[Any] = []
        self._known: dict[object, str] = {}
        self._names: set[str] = set()

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node, and return the name of its result."""
        key = operator, inputs, repr(sorted(attributes.items()))
        if key not in self._known:
            name = unused(f"{self.place}/{operator}", self._names)
            self._known[key] = name
            self._nodes.append(
                self.helper.make_node(operator, list(inputs), [name], name=name, **attributes)
            )
        return self._known[key]

    def number(self, value: float | Array, dtype: str = "") -> str:
        """Store a constant, by default in the dtype of the graph, and return its name."""
        array = np.asarray(value, dtype or self.dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            stem = f"{array.tolist()}" if array.size < 5 else "constants"
            name = unused(stem, self._names)
            self._known[key] = name
            self.numbers[name] = tensor_of(self.helper, name, array)
        return self._known[key]

    def integers(self, *values: int) -> str:
        """Store a list of integers, such as axes or sizes, and return its name."""
        return self.number(np.array(values), "int64")

    def compute(
        self, function: Callable[..., Any], *given: NodeResult | float, place: int = 0
    ) -> NodeResult:
        """Write a formula of results and numbers; see `formula`."""
        names = [each.name if isinstance(each, NodeResult) else each for each in given]
        return NodeResult(self, self.formula(function, *names, place=place))

    def given(self, name: str, shape: tuple[Any, ...], array: Array | None = None) -> NodeResult:
        """Add an input to the graph, with `array` as default value, and return it."""
        self._names.add(name)
        dtype = np.dtype(self.dtype) if array is None else array.dtype
        kind = self.helper.np_dtype_to_tensor_dtype(dtype)
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, list(shape)))
        if array is not None:
            self.numbers[name] = tensor_of(self.helper, name, array)
        return NodeResult(self, name)

    def result(self, name: str, value: NodeResult, shape: tuple[int, ...], dtype: str = "") -> None:
        """Make a value an output of the graph with the name `name`."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype))
        node = self.helper.make_node("Identity", [value.name], [name], name=f"{name}/out")
        self._nodes.append(node)
        self.outputs.append(self.helper.make_tensor_value_info(name, kind, list(shape)))

    def finish(self, name: str) -> Any:
        """Return the graph, without unused nodes."""
        wanted, kept = {each.name for each in self.outputs}, []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        known = {each.name for each in self.inputs}
        numbers = [each for each in self.numbers.values() if each.name in wanted | known]
        return self.helper.make_graph(kept[::-1], name, self.inputs, self.outputs, numbers)


@final
@dataclass(frozen=True)
class NodeResult:
    """A value of a graph, with array arithmetic: each operator adds a node."""

    graph: StepGraph
    name: str

    def by(self, operator: str, *others: Any, **attributes: Any) -> NodeResult:
        """Return the result of an operator on this value and others (values, numbers or names)."""
        names = [
            each.name
            if isinstance(each, NodeResult)
            else each
            if isinstance(each, str)
            else self.graph.number(each)
            for each in others
        ]
        return NodeResult(self.graph, self.graph.put(operator, self.name, *names, **attributes))

    def __add__(self, other: NodeResult) -> NodeResult:
        return self.by("Add", other)

    def __sub__(self, other: NodeResult) -> NodeResult:
        return self.by("Sub", other)

    def __mul__(self, other: NodeResult | float) -> NodeResult:
        return self.by("Mul", other)

    def sum(self, *axes: int, keep: bool = False) -> NodeResult:
        """Return the sums over axes, or the sum of all numbers without axes."""
        over = [self.graph.integers(*axes)] if axes else []
        return self.by("ReduceSum", *over, keepdims=int(keep))

    def reshape(self, *sizes: int) -> NodeResult:
        """Return the value in another shape; one size may be -1."""
        return self.by("Reshape", self.graph.integers(*sizes))

    @property
    def turned(self) -> NodeResult:
        """A batch of pictures with the axes of samples and channels swapped."""
        return self.by("Transpose", perm=[1, 0, 2, 3])


# Each kind of operation as nodes, forward and backward.


@dataclass(frozen=True)
class StepOperation:
    """One operation with its inputs, and in backward also its outputs `y` and their gradient `g`.

    Values have shape (samples, size).
    """

    step: StepWriter
    operation: Operation
    x: NodeResult
    y: NodeResult = None  # type: ignore[assignment]  # on the way back it is one
    g: NodeResult = None  # type: ignore[assignment]  # the same

    @property
    def weights(self) -> NodeResult:
        return self.step.parameters[self.operation.weights]

    @property
    def kernels(self) -> NodeResult:
        """The weights of a convolution; kernels for sequences have height 1."""
        return self.weights.reshape(*self.operation.shape)

    @property
    def biases(self) -> list[NodeResult]:
        """A list of the biases, [] without biases."""
        rows = self.operation.biases
        return [] if rows == NONE else [self.step.parameters[rows]]

    def compute(self, function: Callable[..., Any], *given: NodeResult) -> NodeResult:
        """Write a formula of the given values."""
        return self.step.made.compute(function, *given)

    def learn(self, row: int, gradient: NodeResult) -> None:
        """Add to the gradient of the parameters that begin at a row; do nothing for NONE."""
        known = self.step.gradients
        if row != NONE:
            known[row] = known[row] + gradient if row in known else gradient


def affine_back(at: StepOperation) -> NodeResult:
    at.learn(at.operation.weights, at.g.by("Gemm", at.x, transA=1))
    at.learn(at.operation.biases, at.g.sum(0))
    return at.g.by("MatMul", at.weights)


def convolution(at: StepOperation) -> NodeResult:
    w = Windows.of(at.operation)
    x = at.x.reshape(-1, w.channels, w.height, w.width)
    found = x.by("Conv", at.kernels, *at.biases, group=w.groups, **windows(w))
    return found.reshape(-1, at.operation.target.size)


def convolution_back(at: StepOperation) -> NodeResult:
    w, integers = Windows.of(at.operation), at.x.graph.integers
    x = at.x.reshape(-1, w.channels, w.height, w.width)
    g = at.g.reshape(-1, at.operation.shape[0], w.out_height, w.out_width)
    # The gradient of a kernel is a convolution of the inputs with the output gradient, over the
    # samples.
    moves = windows(w)
    moves["strides"], moves["dilations"] = moves["dilations"], moves["strides"]
    moves["kernel_shape"] = [w.out_height, w.out_width]
    seen = x.reshape(-1, w.groups, w.seen_channels, w.height * w.width)
    seen = seen.by("Transpose", perm=[2, 1, 0, 3])
    seen = seen.reshape(w.seen_channels, -1, w.height, w.width)
    wide = seen.by("Conv", g.turned, group=w.groups, **moves)
    ends, axes = integers(w.kernel_height, w.kernel_width), integers(2, 3)
    found = wide.by("Slice", integers(0, 0), ends, axes).turned
    row = at.operation.weights
    at.learn(row, found.reshape(*at.step.arrays[row].shape))
    at.learn(at.operation.biases, g.sum(0, 2, 3))
    rest = list(w.left_over)
    back = g.by("ConvTranspose", at.kernels, output_padding=rest, group=w.groups, **windows(w))
    return back.reshape(-1, at.operation.source.size)


Forward = Callable[[StepOperation], NodeResult]
Backward = Callable[[StepOperation], NodeResult]
KINDS: dict[str, tuple[Forward, Backward]] = {
    "affine": (lambda at: at.x.by("Gemm", at.weights, *at.biases, transB=1), affine_back),
    "activation": (
        lambda at: at.compute(ACTIVATIONS[at.operation.formula].value, at.x),
        lambda at: at.g * at.compute(ACTIVATIONS[at.operation.formula].derivative, at.x, at.y),
    ),
    "convolution": (convolution, convolution_back),
}
