"""One training step as an ONNX graph: forward, loss, backward and the optimizer's arithmetic.

To add a kind of operation, or a formula of whole rows, write its two functions, forward and
backward, and a row of `KINDS`.
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

NEW = "new "  # before the name of an input: what the step makes of it


def save_step_model(session: Session, path: object) -> None:
    """Write a step of a session as a model; see `scalarviz.files.onnx.save_step`."""
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
    """Writes the step that a session takes, as it is now.

    made        the nodes
    parameters  names of the inputs with parameters, by their first rows
    samples     name of the number of samples, as a float
    state       names of the inputs with running statistics, by their first places
    values      names of buffers, and `flows` those of their gradients, so far
    gradients   names of the gradients of parameters so far, by their first rows
    states      names of the new running statistics so far, by their first places
    """

    def __init__(self, session: Session, helper: Any) -> None:
        self.session = session
        self.net = session.network
        self.optimizer: Optimizer = session.trainer.settings.optimizer
        self.loss: Loss = session.trainer.settings.loss
        check_step(session)
        self.made = StepGraph(helper, self.net.dtype)
        self.values: dict[Buffer, str] = {}
        self.flows: dict[Buffer, str] = {}
        self.gradients: dict[int, str] = {}
        self.states: dict[int, str] = {}
        self.kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.net.dtype))
        self.arrays = {each.rows.start: each for _, each in self.net.named_parameters()}

    def graph(self) -> Any:
        """Return the graph."""
        made, program = self.made, self.net.program
        x = made.given("inputs", ("batch", program.inputs.size))
        goals = made.given("targets", ("batch", program.outputs.size))
        self.parameters = {
            row: made.given(each.name, each.shape, each.value.copy())
            for row, each in self.arrays.items()
        }
        self.state, shapes = self._given_state()
        made.place = "batch"
        count = made.put("Gather", made.put("Shape", x), made.number(0, "int64"))
        self.samples = made.put("Cast", count, to=self.kind)
        self.values[program.inputs] = x
        for operation in program.operations:
            made.place = f"forward/{operation.name}"
            self._forward(operation)
        self._loss(goals)
        for operation in reversed(program.operations):
            made.place = f"backward/{operation.name}"
            self._backward(operation)
        self._move()
        for place, name in self.states.items():
            made.result(f"{NEW}{self.state[place]}", name, shapes[place])
        return made.finish("training step")

    def _given_state(self) -> tuple[dict[int, str], dict[int, tuple[int, ...]]]:
        """Add the running statistics to the inputs; return names and shapes by first places."""
        names, shapes = {}, {}
        for prefix, layer in named_layers(self.net.layers):
            place = layer.first_state
            for role, array in state_arrays(layer).items():
                if role.startswith("running"):
                    known = array.astype(self.net.dtype)
                    names[place] = self.made.given(f"{prefix}.{role}", array.shape, known)
                    shapes[place] = array.shape
                place += array.size
        return names, shapes

    def _at(self, operation: Operation, **more: str) -> StepOperation:
        return StepOperation(
            self, operation, tuple([self.values[s] for s in operation.sources]), **more
        )

    def _forward(self, operation: Operation) -> None:
        try:
            forward, _ = writers_of(operation)
            self.values[operation.target] = forward(self._at(operation))
        except UnwritableError as error:
            raise refusal(f"the operation {operation.name!r}") from error

    def _backward(self, operation: Operation) -> None:
        """Write what arrives before an operation, and add its gradients of parameters."""
        upstream = self.flows.get(operation.target)
        if upstream is None:
            return
        _, backward = writers_of(operation)
        try:
            at = self._at(operation, y=self.values[operation.target], upstream=upstream)
            arrives = backward(at)
        except UnwritableError as error:
            raise refusal(f"the derivative of the operation {operation.name!r}") from error
        for source, flow in zip(operation.sources, arrives, strict=True):
            known = self.flows.get(source)
            self.flows[source] = self.made.put("Add", known, flow) if known else flow

    def _loss(self, goals: str) -> None:
        """Write the loss, and its gradient with respect to the outputs."""
        made, row, p = self.made, self.loss.row, self.values[self.net.program.outputs]
        made.place = f"loss/{row.name}"
        divisor = self.loss.divisor(self.net.outputs)
        scale = made.number(self.loss.factor)
        if divisor:
            every = made.put("Mul", self.samples, made.number(float(divisor)))
            scale = made.put("Div", scale, every)
        try:
            errors, slopes = self._errors(row, p, goals)
        except UnwritableError as error:
            raise refusal(f"the loss {row.name!r}") from error
        made.result("loss", made.put("Mul", made.sums(errors), scale), ())
        self.flows[self.net.program.outputs] = made.put("Mul", slopes, scale)

    def _errors(self, row: Any, p: str, goals: str) -> tuple[str, str]:
        """Return the errors of predictions, and their derivatives."""
        made = self.made
        if isinstance(row, LossRow):
            found = [made.formula(each, p, goals) for each in (row.value, row.derivative)]
            if row.weight is not by_nothing:
                weight = made.formula(row.weight, p, goals)
                found = [made.put("Mul", each, weight) for each in found]
            errors, slopes = found
            return errors, slopes
        if row.name != "softmax_cross_entropy":
            raise UnwritableError
        mass = made.sums(goals, 1, keep=True)
        logs = made.put("LogSoftmax", p, axis=1)
        predicted = made.put("Mul", mass, made.put("Exp", logs))
        errors = made.put("Neg", made.put("Mul", goals, logs))
        return errors, made.put("Sub", predicted, goals)

    def _move(self) -> None:
        """Write the optimizer's arithmetic for each array of parameters."""
        made, optimizer, bank = self.made, self.optimizer, self.net.bank
        made.place = f"step/{optimizer.name}"
        rate = optimizer.rate(bank.step_count)
        lr = made.given("learning_rate", (), np.array(rate, self.net.dtype))
        taken = made.given("steps", (), np.array(float(bank.step_count)))
        step = made.put("Add", taken, made.number(1.0, "float64"))
        made.result(f"{NEW}steps", step, (), "float64")
        rest: list[str | float] = [lr, *optimizer.settings.values(), *self._constants(step)]
        kept = bank.slot_block(optimizer.row.slots)  # by the optimizer, for all parameters
        for first, array in self.arrays.items():
            made.place, shape = f"step/{array.name}", array.shape
            slots = [
                made.given(f"{array.name} {slot}", shape, each[array.rows].reshape(shape).copy())
                for slot, each in zip(optimizer.row.slots, kept, strict=True)
            ]
            names = [self.parameters[first], *slots]
            g = None if array.frozen else self.gradients.get(first)
            moved = names if g is None else self._moved(names, g, rest)
            for name, now in zip(names, moved, strict=True):
                made.result(f"{NEW}{name}", now, array.shape)

    def _constants(self, step: str) -> list[str]:
        """Return the constants of a step, which are computed in float64."""
        made, row, settings = self.made, self.optimizer.row, self.optimizer.settings.values()
        made.dtype, dtype = "float64", made.dtype
        places = range(len(row.constants(1.0, *settings)))
        found = [made.formula(row.constants, step, *settings, place=i) for i in places]
        made.dtype = dtype
        return [made.put("Cast", each, to=self.kind) for each in found]

    def _moved(self, names: list[str], g: str, rest: list[str | float]) -> list[str]:
        """Return what a weight and its slots become."""
        update = self.optimizer.row.update
        given = [names[0], self._conditioned(names[0], g), *names[1:], *rest]
        try:
            return [self.made.formula(update, *given, place=i) for i in range(len(names))]
        except UnwritableError as error:
            raise refusal(f"the optimizer {self.optimizer.name!r}") from error

    def _conditioned(self, w: str, g: str) -> str:
        """Return a gradient after clipping and regularization."""
        optimizer, made = self.optimizer, self.made
        if optimizer.clip_value < math.inf:
            g = made.formula(clip, g, 1.0, optimizer.clip_value)
        if optimizer.l1 or optimizer.l2:
            g = made.formula(regularize, g, w, optimizer.l1, optimizer.l2)
        return g


def refusal(what: str) -> InputError:
    return InputError(
        f"{what} cannot be written as operators of ONNX: choose another one to save the step"
    )


def check_step(session: Session) -> None:
    """Raise InputError for a training whose step is more than a graph can say."""
    optimizer, net = session.trainer.settings.optimizer, session.network
    why = ""
    if net.program.is_graph:
        why = "a compiled function has no layers"
    elif net.precision.mixed:
        why = "mixed precision rounds between the operations"
    elif optimizer.clip_norm < math.inf:
        why = "clip_norm looks at all gradients at once"
    elif optimizer.own_rates or optimizer.own_decays:
        why = "some weights have decays or learning rates of their own"
    elif session.trainer.batches.weights is not None:
        why = "its samples have weights"
    else:
        arrays = [array for _, array in net.named_parameters()]
        some = [each for each in arrays if net.bank.frozen[each.rows].any() and not each.frozen]
        why = f"only a part of {some[0].name} is frozen" if some else ""
    require(not why, f"this training cannot be saved as a step of plain operators: {why}")


@final
class StepGraph(FormulaNodes):
    """The nodes so far. The same node is not written twice.

    helper  the module onnx.helper
    dtype   of numbers
    place   what the next nodes belong to, the beginning of their names
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
        """Return the name of constants, of the dtype of the graph by default."""
        array = np.asarray(value, dtype or self.dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            stem = f"{array.tolist()}" if array.size < 5 else "constants"
            name = unused(stem, self._names)
            self._known[key] = [name]
            self.numbers[name] = tensor_of(self.helper, name, array)
        return self._known[key][0]

    def integers(self, *values: int) -> str:
        """Return the name of a row of integers, such as axes or sizes."""
        return self.number(np.array(values), "int64")

    def given(self, name: str, shape: tuple[Any, ...], array: Array | None = None) -> str:
        """Add an input of the graph, which is `array` where it is not given; return its name."""
        self._names.add(name)
        dtype = np.dtype(self.dtype) if array is None else array.dtype
        kind = self.helper.np_dtype_to_tensor_dtype(dtype)
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, list(shape)))
        if array is not None:
            self.numbers[name] = tensor_of(self.helper, name, array)
        return name

    def result(self, name: str, value: str, shape: tuple[int, ...], dtype: str = "") -> None:
        """Make a value an output of the graph, under a name."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype))
        self._nodes.append(self.helper.make_node("Identity", [value], [name], name=f"{name}/out"))
        self.outputs.append(self.helper.make_tensor_value_info(name, kind, list(shape)))

    def finish(self, name: str) -> Any:
        """Return the graph, without nodes that nothing reads."""
        wanted, kept = {each.name for each in self.outputs}, []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        known = {each.name for each in self.inputs}
        numbers = [each for each in self.numbers.values() if each.name in wanted | known]
        return self.helper.make_graph(kept[::-1], name, self.inputs, self.outputs, numbers)

    # Arithmetic of arrays.

    def sums(self, x: str, *axes: int, keep: bool = False) -> str:
        """Return the sums over axes; of all numbers without any."""
        over = [self.integers(*axes)] if axes else []
        return self.put("ReduceSum", x, *over, keepdims=int(keep))

    def means(self, x: str, *axes: int) -> str:
        """Return the means over axes, which stay with one number each."""
        return self.put("ReduceMean", x, self.integers(*axes), keepdims=1)

    def shaped(self, x: str, *sizes: int) -> str:
        """Return an array in another shape; one size may be -1."""
        return self.put("Reshape", x, self.integers(*sizes))

    def turned(self, x: str) -> str:
        """Return a batch of pictures with samples and channels swapped."""
        return self.put("Transpose", x, perm=[1, 0, 2, 3])


# Each kind of operation as nodes, forward and backward.


@dataclass(frozen=True)
class StepOperation:
    """One operation: names of what it reads, and on the way back of its outputs and their gradient.

    Values have shape (samples, size).
    """

    step: StepWriter
    operation: Operation
    inputs: tuple[str, ...]
    y: str = ""
    upstream: str = ""

    @property
    def graph(self) -> StepGraph:
        return self.step.made

    @property
    def x(self) -> str:
        return self.inputs[0]

    @property
    def weights(self) -> str:
        return self.step.parameters[self.operation.weights]

    @property
    def biases(self) -> list[str]:
        """The name of the biases, if there are some."""
        rows = self.operation.biases
        return [] if rows == NONE else [self.step.parameters[rows]]

    def learn(self, row: int, gradient: str) -> None:
        """Add to the gradient of the parameters from a row on."""
        known = self.step.gradients
        known[row] = self.graph.put("Add", known[row], gradient) if row in known else gradient

    def spread(self, row: int, each: int) -> str:
        """Return parameters that `each` consecutive numbers share, one for each number."""
        name, count = self.step.parameters[row], self.operation.target.size // each
        if each == 1 or count == 1:
            return name
        wide = self.graph.put(
            "Expand", self.graph.shaped(name, count, 1), self.graph.integers(count, each)
        )
        return self.graph.shaped(wide, count * each)

    def gathered(self, x: str, each: int) -> str:
        """Return sums over samples, and over `each` consecutive numbers."""
        found = self.graph.sums(x, 0)
        return found if each == 1 else self.graph.sums(self.graph.shaped(found, -1, each), 1)


Forward = Callable[[StepOperation], str]
Backward = Callable[[StepOperation], tuple[str, ...]]


def affine_back(at: StepOperation) -> tuple[str, ...]:
    at.learn(at.operation.weights, at.graph.put("Gemm", at.upstream, at.x, transA=1))
    if at.biases:
        at.learn(at.operation.biases, at.graph.sums(at.upstream, 0))
    return (at.graph.put("MatMul", at.upstream, at.weights),)


def activation_back(at: StepOperation) -> tuple[str, ...]:
    slope = at.graph.formula(ACTIVATIONS[at.operation.formula].derivative, at.x, at.y)
    return (at.graph.put("Mul", at.upstream, slope),)


def scale(at: StepOperation) -> str:
    each = at.operation.outputs_per_bias
    found = at.graph.put("Mul", at.x, at.spread(at.operation.weights, each))
    if at.biases:
        found = at.graph.put("Add", found, at.spread(at.operation.biases, each))
    return found


def scale_back(at: StepOperation) -> tuple[str, ...]:
    each, g = at.operation.outputs_per_bias, at.upstream
    at.learn(at.operation.weights, at.gathered(at.graph.put("Mul", g, at.x), each))
    if at.biases:
        at.learn(at.operation.biases, at.gathered(g, each))
    return (at.graph.put("Mul", g, at.spread(at.operation.weights, each)),)


def shares(operation: Operation) -> list[tuple[int, int]]:
    """Return the first row of each parameter of a formula, and how many numbers share one."""
    found, row = [], operation.weights
    for each, count in zip(operation.settings, parametric_counts(operation), strict=True):
        found.append((row, int(each)))
        row += count
    return found


def parametric(at: StepOperation) -> str:
    given = [at.spread(*each) for each in shares(at.operation)]
    return at.graph.formula(PARAMETRIC_FORMULAS[at.operation.formula].value, at.x, *given)


def parametric_back(at: StepOperation) -> tuple[str, ...]:
    row, own = PARAMETRIC_FORMULAS[at.operation.formula], shares(at.operation)
    given = [at.spread(*each) for each in own]
    for place, (first, each) in enumerate(own):
        slope = at.graph.formula(row.by_parameter, float(place), at.x, *given)
        at.learn(first, at.gathered(at.graph.put("Mul", at.upstream, slope), each))
    return (at.graph.put("Mul", at.upstream, at.graph.formula(row.derivative, at.x, *given)),)


def kernels(at: StepOperation) -> str:
    """Return the weights of a convolution, those of sequences 1 high."""
    return at.graph.shaped(at.weights, *at.operation.shape)


def convolution(at: StepOperation) -> str:
    w = Windows.of(at.operation)
    x = at.graph.shaped(at.x, -1, w.channels, w.height, w.width)
    found = at.graph.put("Conv", x, kernels(at), *at.biases, group=w.groups, **windows(w))
    return at.graph.shaped(found, -1, at.operation.target.size)


def convolution_back(at: StepOperation) -> tuple[str, ...]:
    w, graph = Windows.of(at.operation), at.graph
    x = graph.shaped(at.x, -1, w.channels, w.height, w.width)
    g = graph.shaped(at.upstream, -1, at.operation.shape[0], w.out_height, w.out_width)
    # The gradient of a kernel is a convolution of the inputs by what arrives, over the samples.
    moves = windows(w)
    moves["strides"], moves["dilations"] = moves["dilations"], moves["strides"]
    moves["kernel_shape"] = [w.out_height, w.out_width]
    seen = graph.shaped(x, -1, w.groups, w.seen_channels, w.height * w.width)
    seen = graph.put("Transpose", seen, perm=[2, 1, 0, 3])
    seen = graph.shaped(seen, w.seen_channels, -1, w.height, w.width)
    wide = graph.put("Conv", seen, graph.turned(g), group=w.groups, **moves)
    ends, axes = graph.integers(w.kernel_height, w.kernel_width), graph.integers(2, 3)
    found = graph.turned(graph.put("Slice", wide, graph.integers(0, 0), ends, axes))
    row = at.operation.weights
    at.learn(row, graph.shaped(found, *at.step.arrays[row].shape))
    if at.biases:
        at.learn(at.operation.biases, graph.sums(g, 0, 2, 3))
    return (back_through(at, w, g, kernels(at)),)


def back_through(at: StepOperation, w: Windows, g: str, kernel: str) -> str:
    """Return what arrives at the pixels that windows have read."""
    rest = list(w.left_over)
    found = at.graph.put(
        "ConvTranspose", g, kernel, output_padding=rest, group=w.groups, **windows(w)
    )
    return at.graph.shaped(found, -1, at.operation.source.size)


def unchanged_back(at: StepOperation) -> tuple[str, ...]:
    return tuple([at.upstream for _ in at.inputs])


def of_inputs(operator: str, at: StepOperation, **attributes: int) -> str:
    """Write an operator of all inputs."""
    return at.graph.put(operator, *at.inputs, **attributes)


def product_back(at: StepOperation) -> tuple[str, ...]:
    x, second = at.inputs
    return at.graph.put("Mul", at.upstream, second), at.graph.put("Mul", at.upstream, x)


def concatenation_back(at: StepOperation) -> tuple[str, ...]:
    sizes = at.graph.integers(*(source.size for source in at.operation.sources))
    first, second = at.graph.puts("Split", at.upstream, sizes, results=2, axis=1)
    return first, second


# Over a whole batch, and over rows.


def centred(at: StepOperation, x: str, axes: tuple[int, ...]) -> tuple[str, str, str]:
    """Return numbers less their mean over axes, that mean, and the mean of the squares."""
    mean = at.graph.means(x, *axes)
    rest = at.graph.put("Sub", x, mean)
    return rest, mean, at.graph.means(at.graph.put("Mul", rest, rest), *axes)


def divided(at: StepOperation, x: str, square: str, eps: float) -> tuple[str, str]:
    """Return numbers by the root of a mean square, and the factor that does it."""
    root = at.graph.put("Sqrt", at.graph.put("Add", square, at.graph.number(eps)))
    factor = at.graph.put("Div", at.graph.number(1.0), root)
    return at.graph.put("Mul", x, factor), factor


def less_shared(
    at: StepOperation, y: str, g: str, factor: str, axes: tuple[int, ...], *, shifts: bool = True
) -> str:
    """Return what arrives before a norm: what all numbers share is taken away."""
    graph = at.graph
    stretch = graph.means(graph.put("Mul", g, y), *axes)
    if shifts:
        g = graph.put("Sub", g, graph.means(g, *axes))
    return graph.put("Mul", graph.put("Sub", g, graph.put("Mul", y, stretch)), factor)


OVER_BATCH = 0, 2


def by_feature(at: StepOperation, name: str) -> str:
    features, pixels = map(int, at.operation.settings[:2])
    return at.graph.shaped(name, -1, features, pixels)


def batch_norm(at: StepOperation) -> str:
    graph, place = at.graph, at.operation.state
    features, pixels, eps, momentum = at.operation.settings
    rest, mean, square = centred(at, by_feature(at, at.x), OVER_BATCH)
    count = graph.put("Mul", at.step.samples, graph.number(pixels))
    fewer = graph.put("Max", graph.put("Sub", count, graph.number(1.0)), graph.number(1.0))
    estimate = graph.put("Mul", square, graph.put("Div", count, fewer))
    for first, found in ((place, mean), (place + int(features), estimate)):
        old = at.step.state[first]
        change = graph.put("Sub", graph.shaped(found, int(features)), old)
        moved = graph.put("Mul", graph.number(momentum), change)
        at.step.states[first] = graph.put("Add", old, moved)
    return graph.shaped(divided(at, rest, square, eps)[0], -1, at.operation.target.size)


def batch_norm_back(at: StepOperation) -> tuple[str, ...]:
    rest, _, square = centred(at, by_feature(at, at.x), OVER_BATCH)
    y, factor = divided(at, rest, square, at.operation.settings[2])
    found = less_shared(at, y, by_feature(at, at.upstream), factor, OVER_BATCH)
    return (at.graph.shaped(found, -1, at.operation.source.size),)


def by_group(at: StepOperation, name: str) -> str:
    """Return samples in the groups of numbers that a norm normalizes together."""
    size = int(at.operation.settings[0])
    return at.graph.shaped(name, -1, at.operation.source.size // size, size)


def normal(at: StepOperation, *, centres: bool) -> tuple[str, str]:
    """Return groups by their root mean square, less their mean before, and the factor of each."""
    x = by_group(at, at.x)
    if centres:
        rest, _, square = centred(at, x, (2,))
    else:
        rest, square = x, at.graph.means(at.graph.put("Mul", x, x), 2)
    return divided(at, rest, square, at.operation.settings[-1])


def norm(centres: bool, at: StepOperation) -> str:
    return at.graph.shaped(normal(at, centres=centres)[0], -1, at.operation.target.size)


def norm_back(centres: bool, at: StepOperation) -> tuple[str, ...]:
    y, factor = normal(at, centres=centres)
    found = less_shared(at, y, by_group(at, at.upstream), factor, (2,), shifts=centres)
    return (at.graph.shaped(found, -1, at.operation.source.size),)


def softmax_back(at: StepOperation) -> tuple[str, ...]:
    graph, y = at.graph, at.y
    mean = graph.sums(graph.put("Mul", at.upstream, y), 1, keep=True)
    return (graph.put("Mul", y, graph.put("Sub", at.upstream, mean)),)


def log_softmax_back(at: StepOperation) -> tuple[str, ...]:
    graph = at.graph
    total = graph.sums(at.upstream, 1, keep=True)
    return (graph.put("Sub", at.upstream, graph.put("Mul", graph.put("Exp", at.y), total)),)


def spread(at: StepOperation) -> str:
    each = int(at.operation.settings[0])
    wide = at.graph.put(
        "Mul",
        at.graph.shaped(at.x, -1, at.operation.source.size, 1),
        at.graph.number(np.ones((1, each))),
    )
    return at.graph.shaped(wide, -1, at.operation.target.size)


def spread_back(at: StepOperation) -> tuple[str, ...]:
    each = int(at.operation.settings[0])
    return (at.graph.sums(at.graph.shaped(at.upstream, -1, at.operation.source.size, each), 2),)


def part(at: StepOperation) -> str:
    first, count = int(at.operation.settings[0]), at.operation.target.size
    bounds = [at.graph.integers(each) for each in (first, first + count, 1)]
    return at.graph.put("Slice", at.x, *bounds)


def part_back(at: StepOperation) -> tuple[str, ...]:
    first, count = int(at.operation.settings[0]), at.operation.target.size
    after = at.operation.source.size - first - count
    return (at.graph.put("Pad", at.upstream, at.graph.integers(0, first, 0, after)),)


def waves(at: StepOperation) -> tuple[str, str, str]:
    """Return frequencies, sines and cosines of a frequency encoding."""
    octaves = int(at.operation.settings[0])
    frequencies = at.graph.number(pi * 2.0 ** np.arange(octaves))
    angles = at.graph.put(
        "Mul", at.graph.shaped(at.x, -1, at.operation.source.size, 1), frequencies
    )
    return frequencies, at.graph.put("Sin", angles), at.graph.put("Cos", angles)


def encoding(at: StepOperation) -> str:
    _, *pair = waves(at)
    last = at.graph.integers(-1)
    both = at.graph.put(
        "Concat", *[at.graph.put("Unsqueeze", each, last) for each in pair], axis=-1
    )
    return at.graph.shaped(both, -1, at.operation.target.size)


def encoding_back(at: StepOperation) -> tuple[str, ...]:
    frequencies, sine, cosine = waves(at)
    length = int(at.operation.settings[0])
    g = at.graph.shaped(at.upstream, -1, at.operation.source.size, length, 2)
    by_sine, by_cosine = at.graph.puts("Split", g, results=2, axis=-1, num_outputs=2)
    last = at.graph.integers(-1)
    of_sine = at.graph.put("Mul", at.graph.put("Squeeze", by_sine, last), cosine)
    of_cosine = at.graph.put("Mul", at.graph.put("Squeeze", by_cosine, last), sine)
    rest = at.graph.put("Sub", of_sine, of_cosine)
    return (at.graph.sums(at.graph.put("Mul", rest, frequencies), 2),)


def pool_windows(at: StepOperation) -> Windows:
    settings = [int(each) for each in at.operation.settings[:10]]
    height, width, tall, broad, down, across, above, beside, high, wide = settings
    channels = at.operation.target.size // (high * wide)
    return Windows(
        channels, height, width, tall, broad, down, across, above, groups=channels,
        padding_width=beside,
    )  # fmt: skip


def pooled(at: StepOperation, operator: str, results: int, **more: int) -> list[str]:
    """Write a pool; return its result, and for the largest where they were."""
    w = pool_windows(at)
    x = at.graph.shaped(at.x, -1, w.channels, w.height, w.width)
    return at.graph.puts(operator, x, results=results, **windows(w), **more)


def max_pool(at: StepOperation) -> str:
    return at.graph.shaped(pooled(at, "MaxPool", 2)[0], -1, at.operation.target.size)


def max_pool_back(at: StepOperation) -> tuple[str, ...]:
    graph, places = at.graph, at.graph.shaped(pooled(at, "MaxPool", 2)[1], -1)
    flat = graph.shaped(at.x, -1)
    zeros = graph.put("Expand", graph.number(np.zeros(1)), graph.put("Shape", flat))
    g = graph.shaped(at.upstream, -1)
    found = graph.put("ScatterElements", zeros, places, g, axis=0, reduction="add")
    return (graph.shaped(found, -1, at.operation.source.size),)


def average_pool(at: StepOperation) -> str:
    found = pooled(at, "AveragePool", 1, count_include_pad=1)[0]
    return at.graph.shaped(found, -1, at.operation.target.size)


def average_pool_back(at: StepOperation) -> tuple[str, ...]:
    w = pool_windows(at)
    shape = w.channels, 1, w.kernel_height, w.kernel_width
    kernel = at.graph.number(np.full(shape, at.operation.settings[10]))
    g = at.graph.shaped(at.upstream, -1, w.channels, w.out_height, w.out_width)
    return (back_through(at, w, g, kernel),)


# By the kind of an operation, or, of whole rows, by its formula.
KINDS: dict[str, tuple[Forward, Backward]] = {
    "affine": (
        lambda at: at.graph.put("Gemm", at.x, at.weights, *at.biases, transB=1),
        affine_back,
    ),
    "activation": (
        lambda at: at.graph.formula(ACTIVATIONS[at.operation.formula].value, at.x),
        activation_back,
    ),
    "scale": (scale, scale_back),
    "parametric": (parametric, parametric_back),
    "convolution": (convolution, convolution_back),
    "branch": (lambda at: at.x, unchanged_back),
    "sum": (partial(of_inputs, "Add"), unchanged_back),
    "product": (partial(of_inputs, "Mul"), product_back),
    "concatenation": (partial(of_inputs, "Concat", axis=1), concatenation_back),
    "batch_norm": (batch_norm, batch_norm_back),
    "layer_norm": (partial(norm, True), partial(norm_back, True)),
    "group_norm": (partial(norm, True), partial(norm_back, True)),
    "rms_norm": (partial(norm, False), partial(norm_back, False)),
    "softmax": (partial(of_inputs, "Softmax", axis=1), softmax_back),
    "log_softmax": (partial(of_inputs, "LogSoftmax", axis=1), log_softmax_back),
    "frequency_encoding": (encoding, encoding_back),
    "spread": (spread, spread_back),
    "slice": (part, part_back),
    "max_pool": (max_pool, max_pool_back),
    "average_pool": (average_pool, average_pool_back),
}


def writers_of(operation: Operation) -> tuple[Forward, Backward]:
    """Return the two functions of an operation; raise UnwritableError if it has none."""
    found = KINDS.get(operation.formula if operation.kind == "row" else operation.kind)
    if found is None:
        raise UnwritableError
    return found
