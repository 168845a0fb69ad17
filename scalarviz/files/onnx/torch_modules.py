"""Networks made of modules of PyTorch, and modules made of networks, without a file between.

A module is traced by torch.fx. What it calls becomes the nodes of a graph, which is read as that of
an ONNX file is: its modules by LAYERS of `training/network/torch_layers.py`, the operations between
them by the operators of `files/onnx`. Names and batch norms are kept.
"""

from __future__ import annotations

import keyword
import operator
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import Shape, answered, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.core.layers import Layer
from scalarviz.core.layers.elementwise_layers import Activation, Dropout
from scalarviz.core.layers.nested import Concatenate, Product, TwoBranches
from scalarviz.core.layers.normalization import Affine, LayerNorm
from scalarviz.core.layers.parameters import own_parameters, state_arrays
from scalarviz.core.layers.picture_layers import Conv1d, Conv2d
from scalarviz.core.layers.rowwise_layers import Slice
from scalarviz.core.layers.shapes import shape_behind
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.files.onnx.flows import Flow, NodeContext, Parameter
from scalarviz.files.onnx.onnx_graph import Constant, Given, GraphNode, ModelGraph, Port
from scalarviz.files.onnx.reading import build, walk
from scalarviz.files.onnx_names import Names, unused
from scalarviz.training.network.network import Network
from scalarviz.training.network.torch_layers import (
    ACTIVATIONS,
    GIVEN,
    LAYERS,
    described,
    layer_of,
    unwrapped,
)

NEWEST = 22  # the opset whose operators are meant
DIFFERENCE = 1e-4  # of the largest output: more of it is another function, and no rounding
# Functions and methods that are operators, and modules that are read as operators.
CALLS = {
    "add": "Add", "iadd": "Add", "sub": "Sub", "mul": "Mul", "imul": "Mul", "truediv": "Div",
    "div": "Div", "cat": "Concat", "concat": "Concat", "view": "Reshape", "reshape": "Reshape",
    "mean": "ReduceMean", "sum": "ReduceSum", "getitem": "Slice", "chunk": "Split",
    "sin": "Sin", "cos": "Cos", "exp": "Exp",
}  # fmt: skip
SHAPES = {"Flatten": "Flatten", "Identity": "Identity"}
# Modules that are several operators, each with its inputs and outputs: from x to y.
WRITTEN_OUT = {
    "Tanhshrink": (("Tanh", "x", "tanh"), ("Sub", "x tanh", "y")),
    "GLU": (("Split", "x", "a b"), ("Sigmoid", "b", "gate"), ("Mul", "a gate", "y")),
}
# Modules by names of functions that do the same: "leakyrelu" of leaky_relu.
MODULES = {kind.lower(): kind for kind in (*ACTIVATIONS, *LAYERS, *SHAPES, *WRITTEN_OUT)}
LEFT_OUT = {"inplace", "training", "dtype", "_stacklevel"}  # arguments that modules have not


def the_package() -> Any:
    """Return torch with its tracer; raise InputError if it is not there."""
    try:
        import_module("torch.fx")
        return import_module("torch")
    except ImportError as error:
        raise InputError(
            "this needs PyTorch 2, which is not installed: see its own page for the command"
        ) from error


@answered
def from_torch(module: object, example: object) -> Network:
    """Return a Network that computes what a PyTorch module does, with its numbers.

    module   an nn.Module of layers that scalarviz has, or one whose `forward` calls such modules
             and functions; it is unchanged
    example  a batch of inputs, a tensor or an array: it tells the shape of a sample, and both must
             compute the same for it; a tuple of them for a module of several inputs, which the
             network takes side by side in a row, or by name: `net.input_widths` has the names

    Parameters that do not require a gradient are frozen. Batch norms stay. `net.to_torch()` goes
    back, with the same names. Raises InputError, with all that has no counterpart.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        raise InputError(
            f"from_torch takes a PyTorch module, such as torch.nn.Linear(3, 8), not "
            f"{shorten(module)}"
        )
    torch, model, batches = the_package(), unwrapped(module), []
    with suppress(TypeError, ValueError, RuntimeError):  # of what is no array of numbers
        given = example if isinstance(example, tuple) else (example,)
        batches = [torch.as_tensor(each) for each in given]
    if not batches or any(batch.ndim < 2 or not len(batch) for batch in batches):
        raise InputError(
            f"the example is a batch, a sample or more along its first axis, not {shorten(example)}"
        )
    if type(model).__module__.startswith("torch.nn.") and not [*model.children()]:
        model = torch.nn.Sequential(model)
    try:
        traced = Traced(torch, model, [tuple(batch.shape[1:]) for batch in batches])
        graph = traced.graph()
        target = graph.outputs[0].name
        shapes, made = walk(graph, target)
        frozen = {name for name, each in model.named_parameters() if not each.requires_grad}
        wide = any(each.dtype == torch.float64 for each in model.parameters())
        net = build(graph, target, shapes, made, frozen, "float64" if wide else "float32")
        net.input_widths = {
            node.target: width
            for node, width in zip(traced.inputs, net.input_widths.values(), strict=False)
        }
    except InputError as error:
        first, *rest = error.lines
        raise InputError(
            f"this {type(model).__name__} is no network here: {first}", *rest
        ) from error
    check_same(torch, model, net, batches)
    return net


def check_same(torch: Any, model: Any, net: Network, batches: Sequence[Any]) -> None:
    """Raise InputError unless a module and its network compute the same for a batch."""
    was_training, count = model.training, len(batches[0])
    with torch.no_grad():
        try:
            first = next(iter(model.parameters()), batches[0])  # its type and device
            tensors = [batch.to(first) for batch in batches]
            wanted = model.eval()(*tensors).reshape(count, -1).double().cpu().numpy()
        finally:
            model.train(was_training)
    row = torch.cat([tensor.reshape(count, -1).double().cpu() for tensor in tensors], 1)
    found = net(row.numpy())
    name, near = type(model).__name__, DIFFERENCE * np.abs(wanted).max(initial=1e-30)
    require(
        found.shape == wanted.shape,
        f"this {name} returns the shape {wanted.shape}, and its layers {found.shape}",
    )
    difference = np.abs(found - wanted).max()
    require(
        bool(difference <= near),
        f"this {name} computes something else than its layers in the order of their calls: "
        f"outputs differ by {difference:.2g}",
    )


@final
class Traced:
    """A traced module as the graph of a file.

    shapes  of a sample of each input
    """

    def __init__(self, torch: Any, model: Any, shapes: Sequence[Shape]) -> None:
        self.torch, self.model, self.shapes = torch, model, shapes
        try:
            self.traced = torch.fx.symbolic_trace(model)
        except Exception as error:  # of the user's forward, which is called with a stand-in
            raise InputError(
                f"its forward cannot be traced ({shorten(str(error))}): export it as an ONNX file"
            ) from error
        self.inputs = [node for node in self.traced.graph.nodes if node.op == "placeholder"]
        self.modules = dict(self.traced.named_modules())
        self.constants: dict[str, Constant] = {}
        self.nodes: list[GraphNode] = []

    def graph(self) -> ModelGraph:
        (end,) = [node.args[0] for node in self.traced.graph.nodes if node.op == "output"]
        given = len(self.shapes)
        require(
            len(self.inputs) == given,
            f"its forward takes {len(self.inputs)} inputs, and the example has {given}: pass a "
            "tuple with a batch of each",
        )
        ports = zip(self.inputs, self.shapes, strict=True)
        require(isinstance(end, self.torch.fx.Node), "its forward returns several values")
        for node in self.traced.graph.nodes:
            if node.op == "get_attr":
                self.constant(node.name, self.attribute(node.target))
            elif node.op == "call_module":
                self.module(node, self.modules[node.target], node.target)
            elif node.op not in ("placeholder", "output"):
                try:
                    self.call(node)
                except (TypeError, ValueError, LookupError, AttributeError, RuntimeError):
                    self.add(name_of(node), node, [], node.name)  # such as a size: no layer
        return ModelGraph(
            type(self.model).__name__, NEWEST,
            tuple(Port(node.name, (None, *shape), True) for node, shape in ports),
            (Port(end.name, None, True),), tuple(self.nodes), self.constants, Budget(None),
            dict.fromkeys({*ACTIVATIONS, *LAYERS} - {*SHAPES}, layer),
        )  # fmt: skip

    def attribute(self, target: str) -> Any:
        """Return a parameter or buffer that forward uses without a module."""
        home, _, name = target.rpartition(".")
        found = getattr(self.modules[home], name)
        is_trained = getattr(found, "requires_grad", False)
        require(not is_trained, f"its parameter {target} is used outside of a layer")
        return found

    def constant(self, name: str, numbers: Any) -> str:
        """Keep numbers under a name; return it."""
        tensor = self.torch.as_tensor(numbers).detach().cpu()
        tensor = tensor.float() if tensor.element_size() < 4 else tensor  # numpy has no bfloat16
        self.constants[name] = Constant(name, Given(tensor.numpy()))
        return name

    def add(self, kind: str, node: Any, inputs: Sequence[str], name: str, **more: Any) -> None:
        self.nodes.append(GraphNode(kind, name, tuple(inputs), (node.name,), more))

    def module(self, node: Any, module: Any, name: str) -> None:
        """Append the node of a module."""
        kind, settings = type(module).__name__, described(module)
        value = node.args[0].name if node.args else next(iter(node.kwargs.values())).name
        if kind in SHAPES:
            more = {"axis": settings["start_dim"]} if kind == "Flatten" else {}
            self.add(kind, node, [value], name, **more)
            return
        if kind in WRITTEN_OUT:
            self.write_out(kind, name, value, node.name, settings.get("dim"))
            return
        arrays = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        roles = {role: f"{name}.{role}" for role, each in arrays.items() if each.ndim}
        for role, whole in roles.items():
            self.constant(whole, arrays[role])
        self.add(kind, node, [value, *roles.values()], name, settings=settings, roles=[*roles])

    def write_out(self, kind: str, name: str, x: str, y: str, dim: int | None) -> None:
        """Append the nodes of a module that is several operators, from the value x to y."""
        names = {"x": x, "y": y}
        more: dict[str, Any] = {"axis": dim, "settings": {}, "roles": []}  # of Split, of modules
        for word, *ends in WRITTEN_OUT[kind]:
            inputs, outputs = [
                tuple([names.get(each, f"{y}.{each}") for each in end.split()]) for end in ends
            ]
            self.nodes.append(GraphNode(word, name, inputs, outputs, more))

    def call(self, node: Any) -> None:
        """Append the node of a function or a method: as a module, if one does the same."""
        called = name_of(node)
        given: Any = node.args or (None,)
        first, rest = given[0], given[1:]
        kind = MODULES.get(called.replace("_", ""))
        if kind is not None and kind not in ("Linear", "PReLU"):
            more = {key: each for key, each in node.kwargs.items() if key not in LEFT_OUT}
            made = getattr(self.torch.nn, kind)(*rest, **more)
            self.module(node, made, node.name)
            return
        word = CALLS.get(called.strip("_"), called)
        if word == "Concat":
            dim = rest[0] if rest else node.kwargs.get("dim", 0)
            self.add(word, node, [each.name for each in first], node.name, axis=dim)
        elif word == "Reshape":
            sizes = rest[0] if rest and isinstance(rest[0], (tuple, list)) else rest
            whole = [0 if not i and not isinstance(n, int) else n for i, n in enumerate(sizes)]
            given = self.constant(f"{node.name}.sizes", whole)
            self.add(word, node, [first.name, given], node.name)
        elif word == "Slice" and is_part(rest[0]):
            bounds = (rest[0][1].start or 0, rest[0][1].stop or sys.maxsize, 1)
            given = [self.constant(f"{node.name}.{i}", [each]) for i, each in enumerate(bounds)]
            self.add(word, node, [first.name, *given], node.name)
        elif word == "Slice" and name_of(first) == "chunk":
            self.add("Identity", node, [f"{first.name}.{rest[0]}"], node.name)
        elif word == "Split":
            axis = rest[1] if len(rest) > 1 else node.kwargs.get("dim", 0)
            parts = tuple(f"{node.name}.{i}" for i in range(rest[0]))
            self.nodes.append(GraphNode(word, node.name, (first.name,), parts, {"axis": axis}))
        elif word in ("ReduceMean", "ReduceSum"):
            axes = rest[0] if rest else node.kwargs.get("dim", [])
            axes = [axes] if isinstance(axes, int) else [*axes]
            keep = int(node.kwargs.get("keepdim", False))
            self.add(word, node, [first.name], node.name, axes=axes, keepdims=keep)
        else:
            inputs = [
                getattr(each, "name", None) or self.constant(f"{node.name}.{i}", float(each))
                for i, each in enumerate(node.args)
                if each is not None
            ]
            self.add(word, node, inputs, node.name)


def name_of(node: Any) -> str:
    """Return the name of the function or method that a node calls."""
    return str(node.target if isinstance(node.target, str) else node.target.__name__)


def is_part(index: object) -> bool:
    """Whether an index is that of neighbours along axis 1: x[:, 2:5]."""
    if not isinstance(index, tuple) or len(index) != 2 or not isinstance(index[1], slice):
        return False
    numbers = index[1].start, index[1].stop
    whole = all(each is None or isinstance(each, int) for each in numbers)
    return index[0] == slice(None) and whole and index[1].step in (None, 1)


def layer(at: NodeContext) -> Flow:
    """Return the flow after a module that is a layer here."""
    flow, kind = at.flow.settled, at.node.operator
    settings, roles = at.node.attributes["settings"], at.node.attributes["roles"]
    arrays = {role: at.needed(i, role) for i, role in enumerate(roles, 1)}
    try:
        made = layer_of(kind, settings, arrays, flow.shape)
    except ScalarvizError:
        raise
    except (LookupError, ValueError, TypeError) as error:
        given = ", ".join(f"{name}={each!r}" for name, each in settings.items())
        told = f"it is given {shorten(flow.shape)} a sample, and no layer here does the same"
        raise InputError(f"{told} with {given}" if given else told) from error
    parameters = []
    for role, sizes in made.parameter_shapes().items():  # a norm may have none, and ours has
        usual = Constant(f"{at.node.name}.{role}", Given(np.full(sizes, float(role == "weight"))))
        found, matrix = arrays.get(role, usual), len(sizes) > 1
        numbers = found.array.ravel()
        parameters.append(Parameter(role, found.name, numbers, matrix, held=found is usual))
    state = {
        name: arrays[role].array
        for role, name in (("running_mean", "running_mean"), ("running_var", "running_variance"))
        if role in arrays and made.state_size
    }
    shape = shape_behind(made, flow.shape)
    return flow.then(made, {"node": at.node.name}, *parameters, shape=shape, state=state)


# The way back.


def network_to_torch(net: Network) -> Any:
    """Return a module of PyTorch with the numbers of a network; see `Network.to_torch`."""
    return Writer(the_package(), net).module()


FUNCTIONS = "sin", "exp"  # activations that PyTorch has as functions
ANY_SHAPE = LayerNorm, Activation, Dropout  # which take pictures as they are


def plain(kind: str, *given: str | int) -> Callable[..., Any]:
    """Return how a module is made of a layer: of its attributes of these names, and of numbers."""
    return lambda nn, a, shape: getattr(nn, kind)(
        *[getattr(a, each) if isinstance(each, str) else each for each in given]
    )


def convolution(nn: Any, a: Conv1d | Conv2d, shape: Shape) -> Any:
    """Make the module of a convolution, of pictures or of sequences 1 high."""
    kind, sides = (nn.Conv1d, 1) if isinstance(a, Conv1d) else (nn.Conv2d, 2)
    moves = [each[-sides:] for each in (a.kernel_size, a.stride, a.padding, a.dilation)]
    return kind(a.shape[0], a.channels, *moves, a.groups, a.has_bias)


# The module of each kind of layer, made of torch.nn, the layer, and the shape of a sample.
BACK: dict[str, Callable[..., Any]] = {
    "Dense": plain("Linear", "inputs", "outputs", "has_bias"),
    "Conv2d": convolution,
    "Conv1d": convolution,
    "MaxPool2d": plain("MaxPool2d", "kernel", "stride", "padding"),
    "AvgPool2d": plain("AvgPool2d", "kernel", "stride", "padding"),
    "Flatten": plain("Flatten"),
    "Reshape": plain("Unflatten", 1, "shape"),
    "LayerNorm": lambda nn, a, shape: nn.LayerNorm(shape, a.eps),
    "RMSNorm": plain("RMSNorm", "inputs", "eps"),
    "GroupNorm": plain("GroupNorm", "groups", "features", "eps"),
    "BatchNorm": lambda nn, a, shape: (nn.BatchNorm2d if a.input_shape else nn.BatchNorm1d)(
        a.features, a.eps, a.momentum
    ),
    "Dropout": plain("Dropout", "rate"),
    "PReLU": lambda nn, a, shape: nn.PReLU(a.counts[0]),
    "Softmax": plain("Softmax", 1),
    "LogSoftmax": plain("LogSoftmax", 1),
}


@final
class Writer:
    """Writes a network as a module."""

    def __init__(self, torch: Any, net: Network) -> None:
        self.torch, self.net, self.graph = torch, net, torch.fx.Graph()
        used = {"self", "torch", *keyword.kwlist}
        parts = [
            self.graph.placeholder(unused(re.sub(r"\W|^(?=\d)", "_", name), used))
            for name in net.input_widths or "x"
        ]
        self.value = (
            self.graph.call_function(torch.cat, (parts, 1)) if net.input_widths else parts[0]
        )
        self.shape = (not net.input_widths and net.layers[0].input_shape) or (net.inputs,)
        self.modules: dict[str, Any] = {}
        self.known: dict[Layer, str] = {}  # modules of layers that are used twice

    def module(self) -> Any:
        names = (self.net.names or {}).get("layers", [])
        self.chain(self.net.layers, names, "")
        self.graph.output(self.value)
        return self.torch.fx.GraphModule(self.modules, self.graph, "Network")

    def chain(
        self, layers: Sequence[Layer], names: Sequence[Names], prefix: str, first: int = 0
    ) -> None:
        """Append layers, the first of which is numbered `first`."""
        for i, each in enumerate(layers, first):
            self.layer(each, names[i] if i < len(names) else {}, f"{prefix}{i}")

    def layer(self, layer: Layer, names: Names, usual: str) -> None:
        """Append a layer; `names` are those in the module that it came from."""
        if isinstance(layer, Conv1d):
            self.see(layer.shape[::2])
        elif layer.input_shape or not isinstance(layer, ANY_SHAPE):
            self.see(layer.input_shape or (layer.inputs,))
        if isinstance(layer, TwoBranches):
            self.branches(layer, names.get("layers", []), f"{usual}.")
            return
        if type(layer).__name__ not in (*BACK, "Activation", "Affine", "Slice"):
            raise InputError(f"PyTorch has no {type(layer).__name__}: save the network as .onnx")
        name = self.known.setdefault(layer, self.name_of(layer, names) or usual)
        if isinstance(layer, Affine):
            self.scale(layer, name)
        elif isinstance(layer, Slice):
            index = slice(None), slice(layer.first, layer.end)
            self.value = self.graph.call_function(operator.getitem, (self.value, index))
        elif not isinstance(layer, Activation):
            self.call(name, self.made(layer))
        if layer.output_shape or not isinstance(layer, ANY_SHAPE):
            self.shape = shape_behind(layer, self.shape)
        self.activate(layer.activation, name)

    def name_of(self, layer: Layer, names: Names) -> str:
        """Return the name of the module that a layer came from; "" if it is not known."""
        bases = {str(names.get(role, "")).rpartition(".")[0] for role in own_parameters(layer)}
        base = bases.pop() if len(bases) == 1 else str(names.get("node", ""))
        parts = base.split(".")
        return base if all(part.replace("_", "a").isalnum() for part in parts) else ""

    def made(self, layer: Layer) -> Any:
        """Return the module of a layer, with its numbers."""
        module = BACK[type(layer).__name__](self.torch.nn, layer, self.shape)
        module.to(getattr(self.torch, self.net.bank.dtype))
        with self.torch.no_grad():
            for role, each in own_parameters(layer).items():
                parameter = module.get_parameter(role)
                parameter.copy_(self.torch.as_tensor(each.value).reshape(parameter.shape))
                parameter.requires_grad = not self.net.bank.frozen[each.rows].all()
            for role, array in state_arrays(layer).items():
                module.get_buffer(role).copy_(self.torch.as_tensor(array))
        return module

    def call(self, name: str, module: Any) -> None:
        self.modules[name] = module
        self.value = self.graph.call_module(name, (self.value,))

    def scale(self, layer: Affine, name: str) -> None:
        """Append a product and a sum with numbers that nobody trains."""
        axes = (layer.features, 1, 1) if layer.input_shape else (layer.features,)
        for call, role in ((operator.mul, "scale"), (operator.add, "shift")):
            numbers = getattr(layer, role)
            by: Any = float(numbers[0])
            if (numbers != by).any():
                dtype = getattr(self.torch, self.net.bank.dtype)
                tensor = self.torch.tensor(numbers, dtype=dtype).reshape(axes)
                self.modules[f"{name}_{role}"] = tensor
                by = self.graph.get_attr(f"{name}_{role}")
            if by != float(role == "scale"):
                self.value = self.graph.call_function(call, (self.value, by))

    def activate(self, activation: str, name: str) -> None:
        """Append an activation, behind the module of this name."""
        kind, _, numbers = activation.rstrip(")").partition("(")
        if kind == "linear":
            return
        if kind in FUNCTIONS:
            self.value = self.graph.call_function(getattr(self.torch, kind), (self.value,))
            return
        module = next((each for each, ours in ACTIVATIONS.items() if ours == kind), None)
        more: dict[str, Any] = dict(
            zip(GIVEN.get(kind, ()), map(float, numbers.split(",")), strict=True) if numbers else ()
        )
        if kind == "gelu_tanh":
            module, more = "GELU", {"approximate": "tanh"}
        if module is None:
            raise InputError(f"PyTorch has no {activation}: choose another activation")
        self.call(f"{name}_{kind}", getattr(self.torch.nn, module)(**more))

    def see(self, shape: Shape) -> None:
        """Have the numbers of a sample in the shape that a layer takes."""
        if prod(shape) == prod(self.shape) and shape != self.shape:
            self.value = self.graph.call_method("reshape", (self.value, -1, *shape))
            self.shape = shape

    def branches(self, layer: TwoBranches, names: Sequence[Names], prefix: str) -> None:
        """Append two branches from the same value, and what joins them."""
        value, shape, ends = self.value, self.shape, []
        for at, branch in ((0, layer.branches[0]), (len(layer.branches[0]), layer.branches[1])):
            self.value, self.shape = value, shape
            self.chain(branch, names, prefix, at)
            ends.append(self.value)
        self.shape = layer.output_shape or (layer.outputs,)
        if isinstance(layer, Concatenate):
            self.value = self.graph.call_function(self.torch.cat, (ends, 1))
        else:
            call = operator.mul if isinstance(layer, Product) else operator.add
            self.value = self.graph.call_function(call, tuple(ends))
