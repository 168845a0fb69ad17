"""One training step as an ONNX graph: forward, loss, backward and optimizer.

To add a kind of operation, or a row formula, write its forward and backward, and a row of `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import pi
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula_trees import UnwritableError
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import Loss, LossRow, by_nothing
from scalarviz.core.formulas.optimizers import clip, regularize
from scalarviz.core.layers.parameters import named_layers, state_arrays
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Buffer, Operation, Windows, parametric_counts
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.onnx_graph import the_package
from scalarviz.files.onnx.writing import FormulaNodes, tensor_of, windows, write_model
from scalarviz.files.onnx_names import unused
from scalarviz.training.session.session import Session

NEW = "new "  # prefix of the outputs with updated inputs


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
        state: graph inputs with running statistics, by first index in the state
        values, flows: the values of buffers, and their gradients, so far
        gradients: gradients of parameters so far, by first bank row
        states: updated running statistics so far, by first index in the state
    """

    def __init__(self, session: Session, helper: Any) -> None:
        self.session = session
        self.net = session.network
        self.optimizer: Optimizer = session.trainer.settings.optimizer
        self.loss: Loss = session.trainer.settings.loss
        check_step(session)
        self.made = StepGraph(helper, self.net.dtype)
        self.values: dict[Buffer, NodeResult] = {}
        self.flows: dict[Buffer, NodeResult] = {}
        self.gradients: dict[int, NodeResult] = {}
        self.states: dict[int, NodeResult] = {}
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.net.dtype))
        self.arrays = {each.rows.start: each for _, each in self.net.named_parameters()}

    def graph(self) -> Any:
        """Write all parts of the step and return the graph."""
        made, program = self.made, self.net.program
        x = made.given("inputs", ("batch", program.inputs.size))
        goals = made.given("targets", ("batch", program.outputs.size))
        self.parameters = {
            row: made.given(each.name, each.shape, each.value.copy())
            for row, each in self.arrays.items()
        }
        self.state, shapes = self._given_state()
        made.place = "batch"
        count = x.by("Shape").by("Gather", made.number(0, "int64"))
        self.samples = count.by("Cast", to=self.kind)
        self.values[program.inputs] = x
        for operation in program.operations:
            made.place = f"forward/{operation.name}"
            self._forward(operation)
        self._loss(goals)
        for operation in reversed(program.operations):
            made.place = f"backward/{operation.name}"
            self._backward(operation)
        self._move()
        for place, found in self.states.items():
            made.result(f"{NEW}{self.state[place].name}", found, shapes[place])
        return made.finish("training step")

    def _given_state(self) -> tuple[dict[int, NodeResult], dict[int, tuple[int, ...]]]:
        """Make running statistics inputs; return inputs and shapes by first index in the state."""
        found, shapes = {}, {}
        for prefix, layer in named_layers(self.net.layers):
            place = layer.first_state
            for role, array in state_arrays(layer).items():
                if role.startswith("running"):
                    known = array.astype(self.net.dtype)
                    found[place] = self.made.given(f"{prefix}.{role}", array.shape, known)
                    shapes[place] = array.shape
                place += array.size
        return found, shapes

    def _at(self, operation: Operation, **more: NodeResult) -> StepOperation:
        inputs = tuple([self.values[source] for source in operation.sources])
        return StepOperation(self, operation, inputs, **more)

    def _forward(self, operation: Operation) -> None:
        try:
            forward, _ = writers_of(operation)
            self.values[operation.target] = forward(self._at(operation))
        except UnwritableError as error:
            raise refusal(f"the operation {operation.name!r}") from error

    def _backward(self, operation: Operation) -> None:
        """Write the gradients of an operation's inputs, and add the gradients of its parameters."""
        upstream = self.flows.get(operation.target)
        if upstream is None:
            return
        _, backward = writers_of(operation)
        try:
            arrives = backward(self._at(operation, y=self.values[operation.target], g=upstream))
        except UnwritableError as error:
            raise refusal(f"the derivative of the operation {operation.name!r}") from error
        arrives = arrives if isinstance(arrives, tuple) else (arrives,)
        for source, flow in zip(operation.sources, arrives, strict=True):
            known = self.flows.get(source)
            self.flows[source] = known + flow if known else flow

    def _loss(self, goals: NodeResult) -> None:
        """Write the loss, and its gradient with respect to the outputs."""
        made, row, p = self.made, self.loss.row, self.values[self.net.program.outputs]
        made.place = f"loss/{row.name}"
        divisor = self.loss.divisor(self.net.outputs)
        scale: NodeResult | float = self.loss.factor
        if divisor:
            scale = self.loss.factor / (self.samples * float(divisor))
        try:
            errors, slopes = self._errors(row, p, goals)
        except UnwritableError as error:
            raise refusal(f"the loss {row.name!r}") from error
        made.result("loss", errors.sum() * scale, ())
        self.flows[self.net.program.outputs] = slopes * scale

    def _errors(self, row: Any, p: NodeResult, goals: NodeResult) -> tuple[NodeResult, NodeResult]:
        """Return the errors of predictions `p`, and their derivatives with respect to `p`."""
        made = self.made
        if isinstance(row, LossRow):
            errors, slopes = [made.compute(f, p, goals) for f in (row.value, row.derivative)]
            if row.weight is by_nothing:
                return errors, slopes
            weight = made.compute(row.weight, p, goals)
            return errors * weight, slopes * weight
        if row.name != "softmax_cross_entropy":
            raise UnwritableError
        logs = p.by("LogSoftmax", axis=1)
        predicted = goals.sum(1, keep=True) * logs.by("Exp")
        return (goals * logs).by("Neg"), predicted - goals

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
            g = None if array.frozen else self.gradients.get(first)
            moved = before if g is None else self._moved(before, g, rest)
            for each, now in zip(before, moved, strict=True):
                made.result(f"{NEW}{each.name}", now, array.shape)

    def _constants(self, step: NodeResult) -> list[NodeResult]:
        """Return the constants that the optimizer uses in a step, computed in float64."""
        made, row, settings = self.made, self.optimizer.row, self.optimizer.settings.values()
        made.dtype, dtype = "float64", made.dtype
        places = range(len(row.constants(1.0, *settings)))
        found = [made.compute(row.constants, step, *settings, place=i) for i in places]
        made.dtype = dtype
        return [each.by("Cast", to=self.kind) for each in found]

    def _moved(
        self, before: list[NodeResult], g: NodeResult, rest: list[NodeResult | float]
    ) -> list[NodeResult]:
        """Return the new weights and optimizer slots."""
        given = [before[0], self._conditioned(before[0], g), *before[1:], *rest]
        compute = partial(self.made.compute, self.optimizer.row.update, *given)
        try:
            return [compute(place=i) for i in range(len(before))]
        except UnwritableError as error:
            raise refusal(f"the optimizer {self.optimizer.name!r}") from error

    def _conditioned(self, w: NodeResult, g: NodeResult) -> NodeResult:
        """Return a gradient after clipping and regularization."""
        optimizer, made = self.optimizer, self.made
        if optimizer.clip_value < math.inf:
            g = made.compute(clip, g, 1.0, optimizer.clip_value)
        if optimizer.l1 or optimizer.l2:
            g = made.compute(regularize, g, w, optimizer.l1, optimizer.l2)
        return g


def refusal(what: str) -> InputError:
    return InputError(
        f"{what} cannot be written as operators of ONNX: choose another one to save the step"
    )


def check_step(session: Session) -> None:
    """Raise InputError for training steps that a graph cannot represent."""
    optimizer, net = session.trainer.settings.optimizer, session.network
    why = ""
    if net.program.is_graph:
        why = "a compiled function has no layers"
    elif net.precision.mixed:
        why = "mixed precision rounds between the operations"
    elif optimizer.clip_norm < math.inf:
        why = "clip_norm looks at all gradients at once"
    elif optimizer.own_rates or optimizer.own_decays:
        why = "some weights have separate decays or learning rates"
    elif session.trainer.batches.weights is not None:
        why = "its samples have weights"
    else:
        arrays = [array for _, array in net.named_parameters()]
        some = [each for each in arrays if net.bank.frozen[each.rows].any() and not each.frozen]
        why = f"only a part of {some[0].name} is frozen" if some else ""
    require(not why, f"this training step cannot be saved as plain operators: {why}")


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
        self._known: dict[object, list[str]] = {}
        self._names: set[str] = set()

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node, and return the name of its result."""
        return self.puts(operator, *inputs, **attributes)[0]

    def puts(self, operator: str, *inputs: str, results: int = 1, **attributes: Any) -> list[str]:
        """Append a node with several results, and return their names."""
        key = operator, inputs, repr(sorted(attributes.items()))
        if key not in self._known:
            name = unused(f"{self.place}/{operator}", self._names)
            made = [f"{name}:{i}" if i else name for i in range(results)]
            self._known[key] = made
            self._nodes.append(
                self.helper.make_node(operator, list(inputs), made, name=name, **attributes)
            )
        return self._known[key]

    def number(self, value: float | Array, dtype: str = "") -> str:
        """Store a constant, by default in the dtype of the graph, and return its name."""
        array = np.asarray(value, dtype or self.dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            stem = f"{array.tolist()}" if array.size < 5 else "constants"
            name = unused(stem, self._names)
            self._known[key] = [name]
            self.numbers[name] = tensor_of(self.helper, name, array)
        return self._known[key][0]

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
        return self.all_by(operator, *others, **attributes)[0]

    def all_by(self, operator: str, *others: Any, **attributes: Any) -> list[NodeResult]:
        """Return all results of an operator; `by` returns only the first."""
        names = [
            each.name
            if isinstance(each, NodeResult)
            else each
            if isinstance(each, str)
            else self.graph.number(each)
            for each in others
        ]
        found = self.graph.puts(operator, self.name, *names, **attributes)
        return [NodeResult(self.graph, each) for each in found]

    def __add__(self, other: NodeResult | float) -> NodeResult:
        return self.by("Add", other)

    def __sub__(self, other: NodeResult | float) -> NodeResult:
        return self.by("Sub", other)

    def __mul__(self, other: NodeResult | float | Array) -> NodeResult:
        return self.by("Mul", other)

    def __rtruediv__(self, number: float) -> NodeResult:
        return NodeResult(self.graph, self.graph.number(number)).by("Div", self)

    def sum(self, *axes: int, keep: bool = False) -> NodeResult:
        """Return the sums over axes, or the sum of all numbers without axes."""
        over = [self.graph.integers(*axes)] if axes else []
        return self.by("ReduceSum", *over, keepdims=int(keep))

    def mean(self, *axes: int) -> NodeResult:
        """Return the means over axes; these axes are kept with length 1."""
        return self.by("ReduceMean", self.graph.integers(*axes), keepdims=1)

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
    inputs: tuple[NodeResult, ...]
    y: NodeResult = None  # type: ignore[assignment]  # on the way back it is one
    g: NodeResult = None  # type: ignore[assignment]  # the same

    @property
    def x(self) -> NodeResult:
        return self.inputs[0]

    @property
    def weights(self) -> NodeResult:
        return self.step.parameters[self.operation.weights]

    @property
    def biases(self) -> list[NodeResult]:
        """A list of the biases, [] without biases."""
        rows = self.operation.biases
        return [] if rows == NONE else [self.step.parameters[rows]]

    @property
    def numbers(self) -> list[int]:
        """The settings of the operation as integers."""
        return [int(each) for each in self.operation.settings]

    def row(self, found: NodeResult) -> NodeResult:
        """Return the outputs of the operation as one row per sample."""
        return found.reshape(-1, self.operation.target.size)

    def back(self, found: NodeResult) -> NodeResult:
        """Return the gradient of the inputs as one row per sample."""
        return found.reshape(-1, self.operation.source.size)

    def compute(self, function: Callable[..., Any], *given: NodeResult | float) -> NodeResult:
        """Write a formula of the given values and numbers."""
        return self.step.made.compute(function, *given)

    def learn(self, row: int, gradient: NodeResult) -> None:
        """Add to the gradient of the parameters that begin at a row; do nothing for NONE."""
        known = self.step.gradients
        if row != NONE:
            known[row] = known[row] + gradient if row in known else gradient

    def spread(self, row: int, each: int) -> NodeResult:
        """Return parameters, each repeated for the `each` consecutive numbers that share it."""
        found, count = self.step.parameters[row], self.operation.target.size // each
        if each == 1 or count == 1:
            return found
        sizes = found.graph.integers(count, each)
        return found.reshape(count, 1).by("Expand", sizes).reshape(count * each)

    def gathered(self, x: NodeResult, each: int) -> NodeResult:
        """Return sums over all samples, and over groups of `each` consecutive numbers."""
        return x.sum(0) if each == 1 else x.sum(0).reshape(-1, each).sum(1)

    @property
    def shares(self) -> list[tuple[int, int]]:
        """For each parameter of a formula, its first row and how many elements share one value."""
        found, row = [], self.operation.weights
        for each, count in zip(self.numbers, parametric_counts(self.operation), strict=True):
            found.append((row, each))
            row += count
        return found

    @property
    def shared(self) -> list[NodeResult]:
        """The parameters of a formula, repeated for all elements that share them."""
        return [self.spread(*each) for each in self.shares]


Forward = Callable[[StepOperation], NodeResult]
Backward = Callable[[StepOperation], NodeResult | tuple[NodeResult, ...]]


def affine_back(at: StepOperation) -> NodeResult:
    at.learn(at.operation.weights, at.g.by("Gemm", at.x, transA=1))
    at.learn(at.operation.biases, at.g.sum(0))
    return at.g.by("MatMul", at.weights)


def scale(at: StepOperation) -> NodeResult:
    each = at.operation.outputs_per_bias
    found = at.x * at.spread(at.operation.weights, each)
    return found + at.spread(at.operation.biases, each) if at.biases else found


def scale_back(at: StepOperation) -> NodeResult:
    each = at.operation.outputs_per_bias
    at.learn(at.operation.weights, at.gathered(at.g * at.x, each))
    at.learn(at.operation.biases, at.gathered(at.g, each))
    return at.g * at.spread(at.operation.weights, each)


def parametric_back(at: StepOperation) -> NodeResult:
    row = PARAMETRIC_FORMULAS[at.operation.formula]
    for place, (first, each) in enumerate(at.shares):
        slope = at.compute(row.by_parameter, float(place), at.x, *at.shared)
        at.learn(first, at.gathered(at.g * slope, each))
    return at.g * at.compute(row.derivative, at.x, *at.shared)


def kernels(at: StepOperation) -> NodeResult:
    """Return the weights of a convolution; kernels for sequences have height 1."""
    return at.weights.reshape(*at.operation.shape)


def convolution(at: StepOperation) -> NodeResult:
    w = Windows.of(at.operation)
    x = at.x.reshape(-1, w.channels, w.height, w.width)
    return at.row(x.by("Conv", kernels(at), *at.biases, group=w.groups, **windows(w)))


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
    return back_through(at, w, g, kernels(at))


def back_through(at: StepOperation, w: Windows, g: NodeResult, kernel: object) -> NodeResult:
    """Return the gradient of the input pixels of a convolution, given its output gradient."""
    rest = list(w.left_over)
    found = g.by("ConvTranspose", kernel, output_padding=rest, group=w.groups, **windows(w))
    return at.back(found)


def of_inputs(operator: str, at: StepOperation, **attributes: int) -> NodeResult:
    """Write an operator on all inputs of the operation."""
    return at.x.by(operator, *at.inputs[1:], **attributes)


def concatenation_back(at: StepOperation) -> tuple[NodeResult, ...]:
    sizes = at.x.graph.integers(*(source.size for source in at.operation.sources))
    return tuple(at.g.all_by("Split", sizes, results=2, axis=1))


# Over a whole batch, and over rows.


def normal(
    x: NodeResult, eps: float, *axes: int, centres: bool = True
) -> tuple[NodeResult, NodeResult, NodeResult, NodeResult]:
    """Return numbers normalized to mean square 1 over axes, and to mean 0 if `centres` is True.

    Also returns the scale factor, the mean, and the mean square before scaling.
    """
    mean = x.mean(*axes)
    rest = x - mean if centres else x
    square = (rest * rest).mean(*axes)
    factor = 1.0 / (square + eps).by("Sqrt")
    return rest * factor, factor, mean, square


def less_shared(
    y: NodeResult, g: NodeResult, factor: NodeResult, *axes: int, shifts: bool = True
) -> NodeResult:
    """Return the gradient of the inputs of a norm, without components that the norm removes."""
    stretch = (g * y).mean(*axes)
    return ((g - g.mean(*axes) if shifts else g) - y * stretch) * factor


OVER_BATCH = 0, 2


def by_feature(at: StepOperation, found: NodeResult) -> NodeResult:
    return found.reshape(-1, *at.numbers[:2])


def batch_norm(at: StepOperation) -> NodeResult:
    features, pixels, eps, momentum = at.operation.settings
    y, _, mean, square = normal(by_feature(at, at.x), eps, *OVER_BATCH)
    count = at.step.samples * pixels
    fewer = (count - 1.0).by("Max", 1.0)
    estimate = square * count.by("Div", fewer)
    for place, found in enumerate((mean, estimate)):
        first = at.operation.state + place * int(features)
        old = at.step.state[first]
        change = found.reshape(int(features)) - old
        at.step.states[first] = old + change * momentum
    return at.row(y)


def batch_norm_back(at: StepOperation) -> NodeResult:
    y, factor, *_ = normal(by_feature(at, at.x), at.operation.settings[2], *OVER_BATCH)
    return at.back(less_shared(y, by_feature(at, at.g), factor, *OVER_BATCH))


def by_group(at: StepOperation, found: NodeResult) -> NodeResult:
    """Reshape samples to groups of numbers that are normalized together."""
    return found.reshape(-1, at.operation.source.size // at.numbers[0], at.numbers[0])


def norm(centres: bool, at: StepOperation) -> NodeResult:
    eps = at.operation.settings[-1]
    return at.row(normal(by_group(at, at.x), eps, 2, centres=centres)[0])


def norm_back(centres: bool, at: StepOperation) -> NodeResult:
    eps = at.operation.settings[-1]
    y, factor, *_ = normal(by_group(at, at.x), eps, 2, centres=centres)
    return at.back(less_shared(y, by_group(at, at.g), factor, 2, shifts=centres))


def part(at: StepOperation) -> NodeResult:
    first, integers = at.numbers[0], at.x.graph.integers
    bounds = first, first + at.operation.target.size, 1
    return at.x.by("Slice", *map(integers, bounds))


def part_back(at: StepOperation) -> NodeResult:
    first, count = at.numbers[0], at.operation.target.size
    after = at.operation.source.size - first - count
    return at.g.by("Pad", at.x.graph.integers(0, first, 0, after))


def waves(at: StepOperation) -> tuple[Array, NodeResult, NodeResult]:
    """Return the frequencies, sines and cosines of a frequency encoding."""
    frequencies = pi * 2.0 ** np.arange(at.numbers[0])
    angles = at.x.reshape(-1, at.operation.source.size, 1) * frequencies
    return frequencies, angles.by("Sin"), angles.by("Cos")


def encoding(at: StepOperation) -> NodeResult:
    last = at.x.graph.integers(-1)
    sine, cosine = [each.by("Unsqueeze", last) for each in waves(at)[1:]]
    return at.row(sine.by("Concat", cosine, axis=-1))


def encoding_back(at: StepOperation) -> NodeResult:
    frequencies, sine, cosine = waves(at)
    g = at.g.reshape(-1, at.operation.source.size, at.numbers[0], 2)
    pair = g.all_by("Split", results=2, axis=-1, num_outputs=2)
    by_sine, by_cosine = [each.by("Squeeze", at.x.graph.integers(-1)) for each in pair]
    return ((by_sine * cosine - by_cosine * sine) * frequencies).sum(2)


def pool_windows(at: StepOperation) -> Windows:
    height, width, tall, broad, down, across, above, beside, high, wide = at.numbers[:10]
    channels = at.operation.target.size // (high * wide)
    return Windows(
        channels, height, width, tall, broad, down, across, above, groups=channels,
        padding_width=beside,
    )  # fmt: skip


def pooled(at: StepOperation, operator: str, **more: int) -> list[NodeResult]:
    """Write a pooling operator; return its result and, for a maximum, the indices."""
    w = pool_windows(at)
    x = at.x.reshape(-1, w.channels, w.height, w.width)
    return x.all_by(operator, **windows(w), **more)


def max_pool_back(at: StepOperation) -> NodeResult:
    places, flat = pooled(at, "MaxPool", results=2)[1].reshape(-1), at.x.reshape(-1)
    zeros = NodeResult(flat.graph, flat.graph.number(np.zeros(1))).by("Expand", flat.by("Shape"))
    found = zeros.by("ScatterElements", places, at.g.reshape(-1), axis=0, reduction="add")
    return at.back(found)


def average_pool_back(at: StepOperation) -> NodeResult:
    w = pool_windows(at)
    kernel = np.full((w.channels, 1, w.kernel_height, w.kernel_width), at.operation.settings[10])
    g = at.g.reshape(-1, w.channels, w.out_height, w.out_width)
    return back_through(at, w, g, kernel)


# By kind of operation, or by formula for row operations.
KINDS: dict[str, tuple[Forward, Backward]] = {
    "affine": (lambda at: at.x.by("Gemm", at.weights, *at.biases, transB=1), affine_back),
    "activation": (
        lambda at: at.compute(ACTIVATIONS[at.operation.formula].value, at.x),
        lambda at: at.g * at.compute(ACTIVATIONS[at.operation.formula].derivative, at.x, at.y),
    ),
    "scale": (scale, scale_back),
    "parametric": (
        lambda at: at.compute(PARAMETRIC_FORMULAS[at.operation.formula].value, at.x, *at.shared),
        parametric_back,
    ),
    "convolution": (convolution, convolution_back),
    "branch": (lambda at: at.x, lambda at: at.g),
    "sum": (partial(of_inputs, "Add"), lambda at: (at.g, at.g)),
    "product": (partial(of_inputs, "Mul"), lambda at: (at.g * at.inputs[1], at.g * at.x)),
    "concatenation": (partial(of_inputs, "Concat", axis=1), concatenation_back),
    "batch_norm": (batch_norm, batch_norm_back),
    "layer_norm": (partial(norm, True), partial(norm_back, True)),
    "group_norm": (partial(norm, True), partial(norm_back, True)),
    "rms_norm": (partial(norm, False), partial(norm_back, False)),
    "softmax": (  # the sum of y is always 1: the mean of the gradient, weighted by y, is subtracted
        partial(of_inputs, "Softmax", axis=1),
        lambda at: at.y * (at.g - (at.g * at.y).sum(1, keep=True)),
    ),
    "log_softmax": (
        partial(of_inputs, "LogSoftmax", axis=1),
        lambda at: at.g - at.y.by("Exp") * at.g.sum(1, keep=True),
    ),
    "frequency_encoding": (encoding, encoding_back),
    "spread": (
        lambda at: at.row(
            at.x.reshape(-1, at.operation.source.size, 1) * np.ones((1, *at.numbers))
        ),
        lambda at: at.g.reshape(-1, at.operation.source.size, *at.numbers).sum(2),
    ),
    "slice": (part, part_back),
    "max_pool": (lambda at: at.row(pooled(at, "MaxPool", results=2)[0]), max_pool_back),
    "average_pool": (
        lambda at: at.row(pooled(at, "AveragePool", count_include_pad=1)[0]),
        average_pool_back,
    ),
}


def writers_of(operation: Operation) -> tuple[Forward, Backward]:
    """Return forward and backward of an operation; raise UnwritableError if it has no row."""
    found = KINDS.get(operation.formula if operation.kind == "row" else operation.kind)
    if found is None:
        raise UnwritableError
    return found
