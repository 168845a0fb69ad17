"""Conversion between networks and PyTorch modules, without an intermediate file.

A module is traced by torch.fx, where MultiheadAttention is replaced by its parts. Its calls become
the nodes of a graph, which is read like an ONNX graph: LAYERS and AT_PLACES of
`training/network/torch_layers.py` read modules, and `files/onnx` reads all other operations. Names
and batch norms are kept.
"""

from __future__ import annotations

import keyword
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.base.checks import Shape, answered, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.base.messages import inform
from scalarviz.core.layers import Layer
from scalarviz.core.layers.elementwise_layers import Activation, Dropout
from scalarviz.core.layers.nested import Concatenate, Product, TwoBranches
from scalarviz.core.layers.normalization import Affine, LayerNorm, RMSNorm
from scalarviz.core.layers.parameters import named_layers, own_parameters, state_arrays
from scalarviz.core.layers.picture_layers import Conv1d, Conv2d
from scalarviz.core.layers.rowwise_layers import LogSoftmax, Reshape, Slice, Spread
from scalarviz.core.layers.sequence_layers import Attention, Embedding
from scalarviz.core.layers.shapes import layer_size, shape_behind
from scalarviz.core.program import Windows
from scalarviz.engines.reference import program_backward
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.files.checked_safetensors import Array
from scalarviz.files.onnx.flows import Flow, LayerStep, NodeContext, Parameter, of_features
from scalarviz.files.onnx.onnx_graph import Constant, GraphNode, KnownNumbers, ModelGraph, Port
from scalarviz.files.onnx.operators import OPERATORS
from scalarviz.files.onnx.reading import build, flat, walk
from scalarviz.files.onnx_names import Names, unused
from scalarviz.training.network.network import Network
from scalarviz.training.network.torch_layers import (
    ACTIVATIONS,
    AT_PLACES,
    GIVEN,
    LAYERS,
    described,
    layer_of,
    unwrapped,
)

NEWEST = 22  # opset of the operators
DIFFERENCE = 1e-6  # share of the largest number: a larger difference is more than rounding
SAMPLES = 4  # samples to compare
HEADS = "MultiheadAttention"
ENCODERS = "TransformerEncoder", "TransformerEncoderLayer"  # with a forward that cannot be traced
# Functions and methods that are operators, and modules read as operators.
CALLS = {
    "add": "Add", "iadd": "Add", "sub": "Sub", "mul": "Mul", "imul": "Mul", "truediv": "Div",
    "div": "Div", "cat": "Concat", "concat": "Concat", "view": "Reshape", "reshape": "Reshape",
    "mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax", "squeeze": "Squeeze",
    "unsqueeze": "Unsqueeze", "getitem": "Slice", "chunk": "Split", "sin": "Sin", "cos": "Cos",
    "exp": "Exp", "expand": "Expand",
}  # fmt: skip
# Modules equivalent to one or several operators, each with its inputs and outputs: from x to y.
WRITTEN_OUT = {
    "Identity": (("Identity", "x", "y"),),
    "Tanhshrink": (("Tanh", "x", "tanh"), ("Sub", "x tanh", "y")),
    "GLU": (("Split", "x", "a b"), ("Sigmoid", "b", "gate"), ("Mul", "a gate", "y")),
}
OF_ONE = "Add of a parameter", "Mul of a parameter"
# Modules by names of equivalent functions: "leakyrelu" for leaky_relu.
MODULES = {kind.lower(): kind for kind in (*ACTIVATIONS, *LAYERS, *WRITTEN_OUT)}
# Operators with axes, and operators that need the numbers of a sample in the order of PyTorch.
MOVED = "ReduceMean", "ReduceMax", "Slice", "Split", "Squeeze", "Concat"
ORDERED = "Reshape", "Unsqueeze", "Expand", "ReduceSum"
AXES = {1: 2, 2: 1, -1: 1, -2: 2}  # from (batch, places, features) to (batch, features, places)
BATCH_NORMS = {"BatchNorm1d", "BatchNorm2d"}
LEFT_OUT = {"inplace", "training", "dtype", "_stacklevel"}  # arguments that modules do not have


def the_package() -> Any:
    """Return torch with its tracer; raise InputError if it is not installed."""
    try:
        import_module("torch.fx")
        return import_module("torch")
    except ImportError as error:
        raise InputError(
            "this needs PyTorch 2, which is not installed: see its web site for the command"
        ) from error


@answered
def from_torch(module: object, example: object) -> Network:
    """Convert a PyTorch module to a Network with the same outputs and numbers.

    Args:
        module: an nn.Module made of supported layers, or whose `forward` calls supported modules
            and functions; it is unchanged
        example: a batch of inputs, a tensor or an array, which determines the shape of a sample and
            is used to compare results; a tuple for a module with several inputs, which the network
            takes concatenated in a row, or by name (see `net.input_widths`)

    Parameters that do not require a gradient are frozen. Batch norms are kept. `net.to_torch()`
    converts back, with the same names. Returns a Network. Raises InputError, which lists all
    parts without an equivalent.

    Embedding and MultiheadAttention (self-attention, without a mask or with a causal one) need
    `batch_first=True`. Dropout in attention is left out in evaluation mode. PyTorch's sequences
    have the shape (batch, places, features), a Network's (batch, features, places): pass `x.mT` for
    `x`, and `net(x.mT)` equals `model(x).mT`, in rows.
    An example of indices has the shape (batch, places) in both.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        raise InputError(
            f"from_torch takes a PyTorch module, such as torch.nn.Linear(3, 8), not "
            f"{shorten(module)}"
        )
    torch, model, batches = the_package(), unwrapped(module), []
    with suppress(TypeError, ValueError, RuntimeError):  # unless it is an array of numbers
        given = example if isinstance(example, tuple) else (example,)
        batches = [torch.as_tensor(each) for each in given]
    if not batches or any(batch.ndim < 2 or not len(batch) for batch in batches):
        raise InputError(
            f"the example is a batch, a sample or more along its first axis, not {shorten(example)}"
        )
    model = called_once(torch, model)
    try:
        traced = Traced(torch, model, [tuple(batch.shape[1:]) for batch in batches])
        graph, shapes, made = traced.read()
        target = graph.outputs[0].name
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
            f"this {type(model).__name__} cannot be converted: {first}", *rest
        ) from error
    arrays = [
        (batch.long() if node.name in traced.indices else batch.double()).detach().cpu().numpy()
        for node, batch in zip(traced.inputs, batches, strict=True)
    ]
    check_same(torch, model, net, arrays, rows_of(made), at_places=traced.at_places)
    return net


def called_once(torch: Any, model: Any) -> Any:
    """Return a module that calls a module of PyTorch, which then becomes a node; or the model."""
    kind = type(model).__name__
    if not is_of_torch(model) or (kind not in (HEADS, *ENCODERS) and [*model.children()]):
        return model
    root = torch.nn.Sequential(model)
    if kind != HEADS:
        return root
    calls = torch.fx.Graph()
    found = calls.call_module("0", (calls.placeholder("x"),) * 3)
    calls.output(calls.call_function(operator.getitem, (found, 0)))
    return torch.fx.GraphModule(root, calls, kind)


def is_of_torch(module: Any) -> bool:
    return type(module).__module__.startswith("torch.nn.")


def check_same(
    torch: Any,
    model: Any,
    net: Network,
    batches: Sequence[Any],
    rows: Mapping[str, slice | Array],
    *,
    at_places: bool = False,
) -> None:
    """Raise InputError unless a module and its network agree, in float64, also in training.

    Args:
        batches: batches of inputs; SAMPLES samples are used, slightly perturbed, so that e.g. no
            relu gets exactly 0, unless they are indices, of an integer dtype
        rows: bank rows of each trained parameter, by name in the module
        at_places: whether sequences of the module have the shape (places, features)
    """
    name, rng = f"this {type(model).__name__}", np.random.default_rng(0)
    few = [np.resize(each, (SAMPLES, *each.shape[1:])) for each in batches]
    given = [x if x.dtype.kind == "i" else x + rng.normal(0.0, 0.1, x.shape) for x in few]
    turned = [x.swapaxes(1, 2) if at_places and x.ndim == 3 else x for x in given]
    row = np.hstack([each.reshape(SAMPLES, -1) for each in turned]).astype(np.float64)
    upstream = rng.normal(size=(SAMPLES, net.outputs))
    for learning in (False, True):
        outputs, gradients = module_step(torch, model, given, upstream, learning, at_places)
        found, gradient = program_backward(net.program, net.bank, row, upstream, learning=learning)
        difference = np.abs(found - outputs).max()
        require(
            bool(difference <= DIFFERENCE * np.abs(outputs).max(initial=1e-30)),
            f"{name} computes something else{' in training' * learning} than its layers in the "
            f"order of their calls: outputs differ by {difference:.2g}",
        )
        unknown = min(rows.keys() - gradients.keys(), default="")
        require(not unknown, f"{name} has no parameter {shorten(unknown)}, and its layers have")
        most = max([np.abs(each).max(initial=0.0) for each in gradients.values()], default=0.0)
        for key, wanted in gradients.items():
            own = gradient[rows[key]] if key in rows else np.zeros(1)
            difference = np.abs(own - wanted.ravel()).max(initial=0.0)
            near = DIFFERENCE * max(np.abs(wanted).max(initial=0.0), DIFFERENCE * most)
            require(
                bool(difference <= near),
                f"{name} trains differently than its layers: in one step, the gradient of its "
                f"parameter {shorten(key)} differs by {difference:.2g}",
            )
    if idle := sorted(gradients.keys() - rows.keys()):
        inform(f"{name} does not use its parameters {shorten(idle)}: the network leaves them out")


def module_step(
    torch: Any, model: Any, given: Sequence[Any], upstream: Any, learning: bool, at_places: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the outputs and the gradients by name of a module in float64, without changing it.

    Args:
        upstream: gradient with respect to the outputs
        learning: whether non-frozen batch norms use batch statistics; dropout is disabled
        at_places: whether results of the shape (places, features) become (features, places)
    """
    before = [(each, {**vars(each)}) for each in model.modules()]
    parameters = {id(each): name for name, each in model.named_parameters()}
    copies: dict[int, Any] = {}
    arrays = {}
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        for place, home in model.named_modules():  # each once, even if used in two places
            of_home = [*home.named_parameters(place, False), *home.named_buffers(place, False)]
            for name, each in of_home:
                copy = each.detach().cpu().clone()
                copy = copy.double() if copy.is_floating_point() else copy
                arrays[name] = copies.setdefault(id(each), copy)
                arrays[name].requires_grad_(id(each) in parameters)
        try:
            for each, _ in before:
                of_each = [p.requires_grad for p in each.parameters(recurse=False)]
                moves = type(each).__name__ in BATCH_NORMS and (any(of_each) or not of_each)
                each.training = learning and moves
                for key, held in [*vars(each).items()]:  # such as a mask that is no buffer
                    if isinstance(held, torch.Tensor) and held.is_floating_point():
                        setattr(each, key, held.detach().cpu().double())
                if getattr(each, "eps", 0.0) is None:
                    each.eps = described(each)["eps"]  # float64 would choose another one
            tensors = tuple(map(torch.from_numpy, given))
            found = torch.func.functional_call(model, arrays, tensors, tie_weights=False)
            found = (found.mT if at_places and found.ndim == 3 else found).reshape(SAMPLES, -1)
        except (RuntimeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"this {type(model).__name__} cannot be called with the example in float64: "
                f"{shorten(str(error))}"
            ) from error
        finally:
            for each, attributes in before:
                vars(each).update(attributes)
        shape = tuple(found.shape)
        require(
            shape == upstream.shape,
            f"this {type(model).__name__} returns the shape {shape}, and its layers "
            f"{upstream.shape}",
        )
        if found.requires_grad:
            found.backward(torch.from_numpy(upstream))
    gradients = {
        name: np.zeros(copies[key].shape) if copies[key].grad is None else copies[key].grad.numpy()
        for key, name in parameters.items()
    }
    return found.detach().numpy(), gradients


def rows_of(made: Sequence[LayerStep]) -> dict[str, slice | Array]:
    """Return the bank rows of each trained parameter, by name in the module."""
    return {
        each.name: rows if each.order is None else rows.start + np.argsort(each.order)
        for step in flat(made)
        for each in step.parameters
        for rows in [own_parameters(step.layer)[each.role].rows]
        if not each.held
    }


# MultiheadAttention, which is replaced by its parts while a module is traced.


def attention(
    tracer: Any,
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, None]:
    """Trace MultiheadAttention: heads, which become one node, and the Linear behind them.

    Raises InputError unless it is self-attention without a mask, or with a causal one.
    """
    name = tracer.path_of_module(module)
    for wrong, what, advice in (
        (not query is key is value, "cross-attention", "pass one value, as in m(h, h, h)"),
        (
            not module.batch_first,
            "batches along its second axis",
            "set its attribute batch_first to True, and pass (batch, places, features)",
        ),
        (key_padding_mask is not None, "a padding mask", "leave it out"),
        (module.bias_k is not None, "add_bias_kv=True", "leave it out"),
        (module.add_zero_attn, "add_zero_attn=True", "leave it out"),
        (
            module.dropout and module.training,
            "dropout of its shares",
            "call eval() of the module, and it is left out",
        ),
    ):
        require(
            not wrong,
            f"its {name} (MultiheadAttention) has {what}, which no layer here has: {advice}",
        )
    causal = attn_mask is not None and is_of_past(attn_mask, name)
    made = tracer.create_proxy("call_module", name, (query,), {"causal": causal})
    return module.out_proj(made), None


def is_of_past(mask: Any, name: str) -> bool:
    """Return whether a mask is causal, rather than empty; raise InputError for any other mask."""
    torch: Any = sys.modules["torch"]
    if isinstance(mask, torch.Tensor):
        hidden = mask if mask.dtype == torch.bool else mask.isneginf()
        causal = bool(torch.equal(hidden, torch.ones_like(hidden).triu(1)))
        if (causal or not hidden.any()) and not mask[~hidden].any():
            return causal
    raise InputError(
        f"its {name} (MultiheadAttention) has a mask that is not causal, or not known: pass a "
        "buffer that hides all later places, or no mask"
    )


def traced_graph(torch: Any, model: Any, shapes: Sequence[Shape]) -> Any:
    """Return the fx graph of a module, with the parts of each MultiheadAttention.

    Args:
        shapes: sample shape of each input, which is known in `forward`
    """
    known = iter(shapes)

    class Input(torch.fx.Proxy):  # type: ignore[misc]
        def __init__(self, node: Any, tracer: Any) -> None:
            super().__init__(node, tracer)
            batch = tracer.create_proxy("call_method", "size", (self, 0), {})
            self.device, self.shape = torch.device("cpu"), (batch, *next(known, ()))

        def size(self, axis: int | None = None) -> Any:
            return self.shape if axis is None else self.shape[axis]

    class Tracer(torch.fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return super().is_leaf_module(m, name) and type(m).__name__ != HEADS

        def proxy(self, node: Any) -> Any:
            return Input(node, self) if node.op == "placeholder" else super().proxy(node)

        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            if is_of_torch(m) and type(m).__name__ == HEADS:
                forward = partial(attention, self, m)
            return super().call_module(m, forward, args, kwargs)

    return Tracer().trace(model)


@final
class Traced:
    """A traced module as a graph, like the graph of an ONNX file.

    Args:
        shapes: sample shape of each input
    """

    def __init__(self, torch: Any, model: Any, shapes: Sequence[Shape]) -> None:
        self.torch, self.model, self.shapes = torch, model, shapes
        try:
            self.traced = torch.fx.GraphModule(model, traced_graph(torch, model, shapes))
        except InputError:
            raise
        except Exception as error:  # in the user's forward, called with a stand-in
            raise InputError(
                f"its forward cannot be traced ({shorten(str(error))}): export it as an ONNX file"
            ) from error
        self.inputs = [node for node in self.traced.graph.nodes if node.op == "placeholder"]
        self.modules = dict(self.traced.named_modules())
        self.names = {id(each): name for name, each in model.named_parameters()}
        self.trained: dict[str, str] = {}  # names of the parameters that are separate values
        self.constants: dict[str, Constant] = {}
        self.nodes: list[GraphNode] = []
        self.indices: set[str] = set()  # inputs of Embedding
        self.at_places = False

    def read(self) -> tuple[ModelGraph, dict[str, Shape], tuple[LayerStep, ...]]:
        """Return the graph, the sample shape of each input, and the layers.

        Without Embedding and Attention, only the layers show whether an input of two axes is
        (channels, length), as for Conv1d, or (places, features).
        """
        errors = []
        kinds = {type(each).__name__ for each in self.modules.values()}
        known = kinds & {"Embedding", HEADS}
        either = not known and any(len(shape) == 2 for shape in self.shapes)
        for self.at_places in (False, True) if either else (bool(known),):
            graph = self.graph()
            try:
                return graph, *walk(graph, graph.outputs[0].name)
            except InputError as error:
                errors.append(error)
        raise errors[0 if any("1d" in kind for kind in kinds) else -1]

    def graph(self) -> ModelGraph:
        self.nodes = []
        (end,) = [node.args[0] for node in self.traced.graph.nodes if node.op == "output"]
        require(
            len(self.inputs) == len(self.shapes),
            f"its forward takes {len(self.inputs)} inputs, and the example has "
            f"{len(self.shapes)}: pass a tuple with a batch of each",
        )
        ports = zip(self.inputs, self.shapes, strict=True)
        require(isinstance(end, self.torch.fx.Node), "its forward returns several values")
        for node in self.traced.graph.nodes:
            if node.op == "get_attr":
                self.attribute(node)
            elif node.op == "call_module":
                self.module(node, self.modules[node.target], node.target)
            elif node.op not in ("placeholder", "output"):
                try:
                    self.call(node)
                except (TypeError, ValueError, LookupError, AttributeError, RuntimeError):
                    self.add(name_of(node), node, [], node.name)  # such as a size: not a layer
        nodes, same = merged(self.nodes)
        for name in {*sum([each.inputs for each in nodes if each.operator not in OF_ONE], ())}:
            used = self.trained.get(name)
            require(not used, f"its parameter {used} is used outside of a layer")
        return ModelGraph(
            type(self.model).__name__, NEWEST,
            tuple(Port(node.name, (None, *shape[:: -1 if turns else 1]), True)
                  for node, shape in ports for turns in [self.at_places and len(shape) == 2]),
            (Port(same.get(end.name, end.name), None, True),), nodes, self.constants, Budget(None),
            dict.fromkeys({*ACTIVATIONS, *LAYERS, *AT_PLACES}, partial(layer, self.at_places))
            | dict.fromkeys(OF_ONE, partial(with_parameter, self.at_places))
            | dict.fromkeys((*MOVED, *ORDERED) if self.at_places else (), of_sequence),
        )  # fmt: skip

    def attribute(self, node: Any) -> None:
        """Store a parameter or buffer that `forward` uses directly."""
        found = operator.attrgetter(node.target)(self.traced)
        self.constant(node.name, found)
        if id(found) in self.names:
            self.trained[node.name] = self.names[id(found)]

    def constant(self, name: str, numbers: Any) -> str:
        """Store numbers under a name, which is returned; a parameter also keeps its own name."""
        tensor = self.torch.as_tensor(numbers).detach().cpu()
        tensor = tensor.float() if tensor.element_size() < 4 else tensor  # numpy has no bfloat16
        self.constants[name] = Constant(
            self.names.get(id(numbers), name), KnownNumbers(tensor.numpy())
        )
        return name

    def add(self, kind: str, node: Any, inputs: Sequence[str], name: str, **more: Any) -> None:
        self.nodes.append(GraphNode(kind, name, tuple(inputs), (node.name,), more))

    def module(self, node: Any, module: Any, name: str) -> None:
        """Append the node of a call of a module."""
        kind, settings = type(module).__name__, described(module)
        kind = kind.removeprefix("NonDynamicallyQuantizable")  # a Linear of MultiheadAttention
        require(
            kind not in BATCH_NORMS or settings["affine"],
            f"its {name} ({kind}) has no gains, so its statistics would be lost: make it with "
            "affine=True",
        )
        require(
            kind not in ENCODERS,
            f"its {name} ({kind}) has no counterpart: call its parts in a forward of yours, such "
            "as nn.MultiheadAttention, nn.Linear and nn.LayerNorm",
        )
        value = node.args[0].name if node.args else next(iter(node.kwargs.values())).name
        if kind == "Flatten" and settings["end_dim"] == -1:
            sizes = self.constant(f"{node.name}.sizes", [0] * settings["start_dim"] + [-1])
            self.add("Reshape", node, [value, sizes], name)
            return
        if kind in WRITTEN_OUT:
            self.write_out(kind, name, value, node.name, settings.get("dim"))
            return
        if kind == "Embedding":
            places, every = self.constants.get(value), np.arange(module.num_embeddings)
            if places is not None and np.array_equal(places.array.ravel(), every):
                self.constant(node.name, module.weight)
                self.trained[node.name] = self.names[id(module.weight)]
                return
            require(
                value in [each.name for each in self.inputs],
                f"its {name} (Embedding) takes computed indices: pass them as an input, or 0 "
                f"to {every[-1]} in order",
            )
            self.indices.add(value)
        if kind == HEADS:
            self.heads(node, module, value, name)
            return
        named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        roles = self.roles(named, name)
        self.add(kind, node, [value, *roles.values()], name, settings=settings, roles=[*roles])

    def roles(self, named: Mapping[str, Any], name: str) -> dict[str, str]:
        """Store the arrays of a module by role; return the name of each constant."""
        return {
            role: self.constant(self.names.get(id(each), f"{name}.{role}"), each)
            for role, each in named.items()
            if each is not None and each.ndim
        }

    def heads(self, node: Any, module: Any, value: str, name: str) -> None:
        """Append a Linear, whose outputs are ordered by head, and the attention of all heads."""
        roles = self.roles({"weight": module.in_proj_weight, "bias": module.in_proj_bias}, name)
        order = np.arange(3 * module.embed_dim).reshape(3, module.num_heads, -1).swapaxes(0, 1)
        more = {"settings": {}, "roles": [*roles], "order": order.ravel()}
        made = f"{node.name}.heads"
        self.nodes.append(GraphNode("Linear", name, (value, *roles.values()), (made,), more))
        settings = {"heads": module.num_heads, **node.kwargs}
        self.add("Attention", node, [made], name, settings=settings, roles=[])

    def write_out(self, kind: str, name: str, x: str, y: str, dim: int | None) -> None:
        """Append the nodes for a module that needs several operators, from input x to output y."""
        names = {"x": x, "y": y}
        more: dict[str, Any] = {"axis": dim, "settings": {}, "roles": []}  # of Split, of modules
        for word, *ends in WRITTEN_OUT[kind]:
            inputs, outputs = [
                tuple([names.get(each, f"{y}.{each}") for each in end.split()]) for end in ends
            ]
            self.nodes.append(GraphNode(word, name, inputs, outputs, more))

    def call(self, node: Any) -> None:
        """Append the node of a function or method, or of the equivalent module if one exists."""
        called = name_of(node)
        given: Any = node.args or (None,)
        first, rest = given[0], given[1:]
        kind = MODULES.get(called.replace("_", ""))
        if kind is not None and kind not in ("Linear", "PReLU"):
            more = {key: each for key, each in node.kwargs.items() if key not in LEFT_OUT}
            self.module(node, getattr(self.torch.nn, kind)(*rest, **more), node.name)
            return
        word = CALLS.get(called.strip("_"), called)
        if word == "Concat":
            dim = rest[0] if rest else node.kwargs.get("dim", 0)
            self.add(word, node, [each.name for each in first], node.name, axis=dim)
        elif word in ("Reshape", "Expand"):
            sizes = rest[0] if rest and isinstance(rest[0], (tuple, list)) else rest
            batch = [1 if word == "Expand" else n if isinstance(n, int) else 0 for n in sizes[:1]]
            given = self.constant(f"{node.name}.sizes", [*batch, *sizes[1:]])
            self.add(word, node, [first.name, given], node.name)
        elif word == "Slice" and name_of(first) == "chunk":
            self.add("Identity", node, [f"{first.name}.{rest[0]}"], node.name)
        elif word == "Slice":
            self.part(node, first.name, rest[0] if isinstance(rest[0], tuple) else rest)
        elif word == "Split":
            axis = rest[1] if len(rest) > 1 else node.kwargs.get("dim", 0)
            parts = tuple(f"{node.name}.{i}" for i in range(rest[0]))
            self.nodes.append(GraphNode(word, node.name, (first.name,), parts, {"axis": axis}))
        elif word in ("ReduceMean", "ReduceSum", "ReduceMax", "Squeeze", "Unsqueeze"):
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
            trained = self.trained.keys() & {*inputs}
            self.add(f"{word} of a parameter" if trained else word, node, inputs, node.name)

    def part(self, node: Any, x: str, index: tuple[Any, ...]) -> None:
        """Append the nodes of x[index] for slices, numbers and None; an Ellipsis must be first."""
        items = index[1:] if index[0] is ... else index
        old = [each for each in items if each is not None]
        new = [each for each in items if not isinstance(each, int)]
        last, end = (len(old), len(new)) if index[0] is ... else (0, 0)  # axes from the end
        steps: list[tuple[str, list[int], dict[str, Any]]] = []
        each: Any
        for axis, each in enumerate(old):
            part = slice(each, each + 1 or None) if isinstance(each, int) else each
            stop = sys.maxsize if part.stop is None else part.stop
            bounds = [part.start or 0, stop, axis - last, part.step or 1]
            if part != slice(None):
                steps.append(("Slice", bounds, {}))
        gone = [axis - last for axis, each in enumerate(old) if isinstance(each, int)]
        more = [axis - end for axis, each in enumerate(new) if each is None]
        for word, axes in (("Squeeze", gone), ("Unsqueeze", more)):
            steps += [(word, [], {"axes": axes})] if axes else []
        for i, (word, bounds, attributes) in enumerate(steps or [("Identity", [], {})], 1):
            y = node.name if i >= len(steps) else f"{node.name}.{i}"
            given = [self.constant(f"{y}.at{k}", [each]) for k, each in enumerate(bounds)]
            self.nodes.append(GraphNode(word, node.name, (x, *given), (y,), attributes))
            x = y


def merged(nodes: Sequence[GraphNode]) -> tuple[tuple[GraphNode, ...], dict[str, str]]:
    """Return nodes without duplicates, and the new names of values that duplicates computed.

    Duplicates of Dropout and BatchNorm are kept, since each call of them has an effect.
    """
    found: dict[object, GraphNode] = {}
    same: dict[str, str] = {}
    for node in nodes:
        node = replace(node, inputs=tuple([same.get(name, name) for name in node.inputs]))
        alone = (
            node.outputs if node.operator in {"Dropout", *BATCH_NORMS} or not node.inputs else ()
        )
        first = found.setdefault((node.operator, node.inputs, str(node.attributes), alone), node)
        same |= zip(node.outputs, first.outputs, strict=True)
    return tuple(found.values()), same


def name_of(node: Any) -> str:
    """Return the name of the function or method called by a node."""
    return str(node.target if isinstance(node.target, str) else node.target.__name__)


def layer(at_places: bool, at: NodeContext) -> Flow:
    """Return the flow after a module that has an equivalent layer.

    Args:
        at_places: whether sequences of the module have the shape (places, features)
    """
    flow, kind = at.flow.settled, at.node.operator
    settings, roles = at.node.attributes["settings"], at.node.attributes["roles"]
    arrays = {role: at.needed(i, role) for i, role in enumerate(roles, 1)}
    here = at_places and (len(flow.shape) == 2 or kind == "Embedding")
    try:
        made = layer_of(kind, settings, arrays, flow.shape, at_places=here)
    except ScalarvizError:
        raise
    except (LookupError, ValueError, TypeError) as error:
        given = ", ".join(f"{name}={each!r}" for name, each in settings.items())
        given_shape = flow.shape[::-1] if here else flow.shape
        told = f"it is given {shorten(given_shape)} a sample, and no layer here does this"
        raise InputError(f"{told} with {given}" if given else told) from error
    parameters = []
    for role, sizes in made.parameter_shapes().items():  # a norm may lack it, unlike our layers
        usual = Constant(
            f"{at.node.name}.{role}", KnownNumbers(np.full(sizes, float(role == "weight")))
        )
        found = arrays.get(role, usual)
        numbers, held, order = found.array.ravel(), found is usual, at.node.attributes.get("order")
        if order is not None:  # of the rows of each array
            order = np.arange(numbers.size).reshape(len(order), -1)[order].ravel()
            numbers = numbers[order]
        parameters.append(Parameter(role, found.name, numbers, not held, held, order))
    state = {
        name: arrays[role].array
        for role, name in (("running_mean", "running_mean"), ("running_var", "running_variance"))
        if role in arrays and made.state_size
    }
    shape = shape_behind(made, flow.shape)
    if isinstance(made, Embedding):
        shape = made.features, made.places
    return flow.then(made, {"node": at.node.name}, *parameters, shape=shape, state=state)


def with_parameter(at_places: bool, at: NodeContext) -> Flow:
    """Return the flow after a sum or product with a trained parameter: a partly frozen Affine.

    A sum of an Embedding and the numbers of each place is an Embedding with positions.
    """
    flows = [each.settled for each in at.inputs if isinstance(each, Flow)]
    (given, *_) = [each for each in at.inputs if isinstance(each, Constant)]
    require(len(flows) == 1, f"its parameter {given.name} meets no computed value")
    flow, is_sum = flows[0], at.node.operator == OF_ONE[0]
    is_sequence, last = at_places and len(flow.shape) == 2, flow.steps[-1:]
    of_places = is_sum and given.shape in (flow.shape[::-1], (1, *flow.shape[::-1]))
    if is_sequence and of_places and last and is_without_positions(last[0].layer):
        order = np.arange(given.array.size).reshape(flow.shape[::-1]).T.ravel()
        position = Parameter("position", given.name, given.array.ravel()[order], True, order=order)
        start = Embedding(**{**last[0].layer.settings(), "positions": True})
        step = replace(last[0], layer=start, parameters=(*last[0].parameters, position))
        return replace(flow, steps=(*flow.steps[:-1], step))
    require(
        given.array.size == flow.shape[0],
        f"its parameter {given.name} has {given.array.size} numbers for {shorten(flow.shape)}: "
        "it needs one for each feature or channel",
    )
    numbers = given.array.ravel() if is_sequence else of_features(given.array, flow.shape)
    pair = [np.ones(len(numbers)), numbers] if is_sum else [numbers, np.zeros(len(numbers))]
    parameters = [
        Parameter(role, given.name, each, tied=True)
        if each is numbers
        else Parameter(role, f"{at.node.name}.{role}", each, tied=False, held=True)
        for role, each in zip(("weight", "bias"), pair, strict=True)
    ]
    made = Affine(layer_size(flow.shape), *pair)
    return flow.then(made, {"node": at.node.name}, *parameters, shape=flow.shape)


def is_without_positions(layer: Layer | None) -> bool:
    return isinstance(layer, Embedding) and not layer.positions


def of_sequence(at: NodeContext) -> Flow:
    """Read an operator on samples of the shape (places, features) with the features first."""
    node, inputs = at.node, [*at.inputs]
    if any(isinstance(each, Flow) and len(each.shape) == 2 for each in inputs):
        require(
            node.operator in MOVED,
            "the numbers of a sequence are ordered by feature here, so it would mix them: use a "
            "mean over the places, or one place",
        )
        attributes = dict(node.attributes) | {
            key: [AXES.get(axis, axis) for axis in each] if key == "axes" else AXES.get(each, each)
            for key, each in node.attributes.items()
            if key in ("axes", "axis")
        }
        if node.operator == "Slice":
            axes = np.array([AXES.get(axis, axis) for axis in at.few(3)])
            inputs[3] = Constant(f"{node.name}.axes", KnownNumbers(axes))
        at = replace(at, node=replace(node, attributes=attributes), inputs=tuple(inputs))
    return OPERATORS[node.operator](at)


# Conversion to PyTorch.


def network_to_torch(net: Network) -> Any:
    """Return a PyTorch module with the parameters of a network; see `Network.to_torch`."""
    torch = the_package()
    writer = Writer(torch, net)
    first = writer.shape[:: -1 if writer.turned else 1]
    shapes: list[Shape] = [(n,) for n in net.input_widths.values()]
    with torch.random.fork_rng(devices=[]):  # new modules draw numbers
        module = writer.module()
    given: list[Any] = [np.zeros((1, *shape)) for shape in shapes or [first]]
    if writer.count:
        given = [np.arange(SAMPLES * net.inputs).reshape(SAMPLES, -1) % writer.count]
    check_same(torch, module, net, given, writer.rows, at_places=writer.at_places)
    return module


FUNCTIONS = "sin", "exp"  # activations that are functions in PyTorch
ANY_SHAPE = LayerNorm, Activation, Dropout  # modules that accept pictures unchanged
ALONE = ", unless a Conv1d with kernel=1 is before it and one of its size behind it"
AT_EACH = LayerNorm, RMSNorm, LogSoftmax  # over the features of each place
OF_SEQUENCES = *AT_EACH, Conv1d, Affine, Activation, Dropout, TwoBranches


def plain(kind: str, *given: str | int) -> Callable[..., Any]:
    """Return a function that makes a module from attributes of a layer (by name) and numbers."""
    return lambda nn, a, shape: getattr(nn, kind)(
        *[getattr(a, each) if isinstance(each, str) else each for each in given]
    )


def convolution(nn: Any, a: Conv1d | Conv2d, shape: Shape) -> Any:
    """Make the module of a convolution over pictures or sequences."""
    kind, sides = (nn.Conv1d, 1) if isinstance(a, Conv1d) else (nn.Conv2d, 2)
    moves = [each[-sides:] for each in (a.kernel_size, a.stride, a.padding, a.dilation)]
    return kind(a.shape[0], a.channels, *moves, a.groups, a.has_bias)


# The module of each kind of layer, made from torch.nn, the layer, and the shape of a sample; Linear
# is a Conv1d at each place.
BACK: dict[str, Callable[..., Any]] = {
    "Linear": lambda nn, a, shape: nn.Linear(a.shape[0], a.channels, a.has_bias),
    "Dense": plain("Linear", "inputs", "outputs", "has_bias"),
    "Conv2d": convolution,
    "Conv1d": convolution,
    "MaxPool2d": plain("MaxPool2d", "kernel", "stride", "padding"),
    "AvgPool2d": plain("AvgPool2d", "kernel", "stride", "padding"),
    "Flatten": plain("Flatten"),
    "Reshape": plain("Unflatten", 1, "shape"),
    "LayerNorm": lambda nn, a, shape: nn.LayerNorm(shape[: 1 if a.input_shape else None], a.eps),
    "RMSNorm": lambda nn, a, shape: nn.RMSNorm(a.features, a.eps, bool(a.size)),
    "GroupNorm": plain("GroupNorm", "groups", "features", "eps"),
    "BatchNorm": lambda nn, a, shape: (nn.BatchNorm2d if a.input_shape else nn.BatchNorm1d)(
        a.features, a.eps, a.momentum
    ),
    "Dropout": plain("Dropout", "rate"),
    "PReLU": lambda nn, a, shape: nn.PReLU(a.counts[0]),
    "Softmax": plain("Softmax", 1),
    "LogSoftmax": plain("LogSoftmax", -1),
    "Embedding": plain("Embedding", "count", "features"),
}


def is_linear(layer: Layer) -> bool:
    """Return whether a layer is a Dense at each place of a sequence."""
    return isinstance(layer, Conv1d) and layer.windows == Windows(*layer.shape, 1, 1, 1, 1, 0)


def is_attention(layers: Sequence[Any]) -> bool:
    """Return whether these layers equal a MultiheadAttention."""
    if [type(each) for each in layers] != [Conv1d, Attention, Conv1d]:
        return False
    first, heads, last = layers
    same = first.shape[0] == heads.features == last.channels and first.has_bias == last.has_bias
    return same and is_linear(first) and is_linear(last) and first.activation == "linear"


@final
class Writer:
    """Converts a network to a torch.fx module."""

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
        kinds = {type(each) for _, each in named_layers(net.layers)}
        self.at_places = not kinds.isdisjoint((Embedding, Attention))
        self.shape = (not net.input_widths and self.seen_by(net.layers[0])) or (net.inputs,)
        self.turned = self.at_places and len(self.shape) == 2  # whether the features are last
        self.count = 0  # of the indices that are the input
        self.masks: dict[str, Any] = {}  # buffers that a state dict leaves out
        # Bank rows of each parameter, by name in the module.
        self.rows: dict[str, slice | Array] = {}
        self.modules: dict[str, Any] = {}
        self.known: dict[tuple[Layer, str], str] = {}  # names of the modules of each layer
        self.taken: set[str] = set()

    def module(self) -> Any:
        self.chain(self.net.layers, (self.net.names or {}).get("layers", []), "")
        self.turn(self.is_sequence)
        self.graph.output(self.value)
        made = self.torch.fx.GraphModule(self.modules | self.masks, self.graph, "Network")
        for name, mask in self.masks.items():
            made.register_buffer(name, mask, persistent=False)
        return made

    @property
    def is_sequence(self) -> bool:
        """Whether the value is a sequence whose features PyTorch has behind its places."""
        return self.at_places and len(self.shape) == 2

    def chain(
        self, layers: Sequence[Layer], names: Sequence[Names], prefix: str, first: int = 0
    ) -> None:
        """Append layers, numbered from `first`."""
        every = [*names, *[{}] * (len(layers) - len(names))]
        behind = 0  # the layers that are already appended
        for i, each in enumerate(layers):
            if i >= behind:
                group = layers[i : i + 3] if is_attention(layers[i : i + 3]) else (each,)
                behind = i + len(group)
                self.layer(group, every[i:behind], f"{prefix}{first + i}")

    def seen_by(self, layer: Layer) -> Shape:
        """Return the shape of a sample that the module of a layer gets."""
        is_sequence = isinstance(layer, Conv1d) or (
            self.at_places and isinstance(layer, OF_SEQUENCES) and layer.input_shape[1:2] == (1,)
        )
        ours = layer.input_shape or (layer.inputs,)
        return ours[::2] if is_sequence else ours

    def turn(self, turned: bool) -> None:
        """Put the features behind the places, or before them."""
        if turned != self.turned:
            self.value = self.graph.call_method("transpose", (self.value, 1, -1))
            self.turned = turned

    def layer(self, layers: Sequence[Layer], each: Sequence[Names], usual: str) -> None:
        """Append a layer, or several that are one module.

        Args:
            each: names of the parts of each layer in the original module
        """
        layer, names = layers[0], each[0]
        if layer.input_shape or not isinstance(layer, ANY_SHAPE):
            self.see(self.seen_by(layer))
        if isinstance(layer, TwoBranches):
            self.branches(layer, names.get("layers", []), f"{usual}.")
            return
        require(
            type(layer).__name__ in (*BACK, "Activation", "Affine", "Slice", "Spread")
            or len(layers) > 1,
            f"no module of PyTorch is made of {type(layer).__name__}"
            f"{ALONE * isinstance(layer, Attention)}: save the network as .onnx",
        )
        name = self.named(layer, self.name_of(layer, names) or usual)
        of_sequence = isinstance(layer, Affine) or is_linear(layer)
        self.turn(
            (isinstance(layer, AT_EACH) and bool(layer.input_shape))
            or (self.is_sequence and of_sequence)
            or (self.turned and isinstance(layer, (Activation, Dropout)))
        )
        if len(layers) > 1:
            self.heads(layers, name)
        elif isinstance(layer, Embedding):
            self.embedding(layer, name, names)
        elif isinstance(layer, Affine):
            self.scale(layer, name, names)
        elif isinstance(layer, Slice):
            index = slice(None), slice(layer.first, layer.end)
            self.value = self.graph.call_function(operator.getitem, (self.value, index))
        elif isinstance(layer, Reshape) and layer.input_shape:
            self.see(layer.shape)
        elif isinstance(layer, Spread):
            self.value = self.graph.call_method("expand", (self.value, -1, *layer.output_shape))
        elif not isinstance(layer, Activation):
            self.call(name, self.made(layer, name))
        if isinstance(layer, Embedding):
            self.shape = layer.features, layer.places
        elif layer.output_shape or not isinstance(layer, ANY_SHAPE):
            self.shape = shape_behind(layers[-1], self.shape)
        self.activate(layers[-1], name)

    def named(self, layer: Layer, name: str) -> str:
        """Return a unique name, similar to `name`, for a part of a layer."""
        if (layer, name) not in self.known:
            self.known[layer, name] = unused(name, self.taken)
        return self.known[layer, name]

    def name_of(self, layer: Layer, names: Names) -> str:
        """Return the name of the module from which a layer was made, or "" if unknown."""
        bases = {str(names.get(role, "")).rpartition(".")[0] for role in own_parameters(layer)}
        base = bases.pop() if len(bases) == 1 else str(names.get("node", ""))
        parts = base.split(".")
        return base if all(part.replace("_", "a").isalnum() for part in parts) else ""

    def made(self, layer: Layer, name: str) -> Any:
        """Return the module for a layer, called `name`, with the parameters of the layer."""
        kind = "Linear" if self.turned and is_linear(layer) else type(layer).__name__
        module = BACK[kind](self.torch.nn, layer, self.shape)
        module.to(getattr(self.torch, self.net.bank.dtype))
        with self.torch.no_grad():
            for role, each in own_parameters(layer).items():
                if role != "position":
                    self.fill(module.get_parameter(role), f"{name}.{role}", each.rows)
            for role, array in state_arrays(layer).items():
                module.get_buffer(role).copy_(self.torch.as_tensor(array))
        return module

    def call(self, name: str, module: Any) -> None:
        self.modules[name] = module
        self.value = self.graph.call_module(name, (self.value,))

    def fill(self, parameter: Any, name: str, rows: slice | Array) -> Any:
        """Give a parameter, which is returned, the numbers of these rows of the bank."""
        bank, self.rows[name] = self.net.bank, rows
        parameter.data = self.torch.tensor(bank.value[rows].reshape(parameter.shape))
        parameter.requires_grad = not bank.frozen[rows].all()
        return parameter

    def embedding(self, layer: Embedding, name: str, names: Names) -> None:
        """Append an Embedding of the input, and the sum with the numbers of each place."""
        require(
            self.value.op == "placeholder" and not self.net.input_widths,
            "PyTorch's Embedding takes indices, not computed numbers: save the network as .onnx",
        )
        self.count = max(self.count, layer.count)
        self.call(name, self.made(layer, name))
        self.turned = True
        if layer.positions:
            own = own_parameters(layer)["position"].rows
            rows = np.arange(own.start, own.stop).reshape(layer.features, -1).T
            place = self.named(layer, str(names.get("position") or f"{name}_position"))
            made = self.torch.nn.Parameter(self.torch.zeros(rows.shape))
            self.modules[place] = self.fill(made, place, rows.ravel())
            by = self.graph.get_attr(place)
            self.value = self.graph.call_function(operator.add, (self.value, by))

    def heads(self, layers: Sequence[Any], name: str) -> None:
        """Append a MultiheadAttention, whose first matrix has all queries before all keys."""
        first, heads, last = layers
        kind = self.torch.nn.MultiheadAttention
        module = kind(heads.features, heads.heads, bias=first.has_bias, batch_first=True)
        for role, each in own_parameters(first).items():
            rows = np.arange(each.rows.start, each.rows.stop)
            rows = rows.reshape(heads.heads, 3, -1).swapaxes(0, 1).ravel()
            key = f"in_proj_{role}"
            self.fill(module.get_parameter(key), f"{name}.{key}", rows)
        for role, each in own_parameters(last).items():
            key = f"out_proj.{role}"
            self.fill(module.get_parameter(key), f"{name}.{key}", each.rows)
        self.modules[name] = module
        more: dict[str, Any] = {"need_weights": False}
        if heads.causal:
            size = (heads.places, heads.places)
            mask = self.named(heads, re.sub(r"\W", "_", f"{name}_mask"))
            self.masks[mask] = self.torch.ones(size, dtype=self.torch.bool).triu(1)
            more["attn_mask"] = self.graph.get_attr(mask)
        found = self.graph.call_module(name, (self.value,) * 3, more)
        self.value = self.graph.call_function(operator.getitem, (found, 0))

    def scale(self, layer: Affine, name: str, names: Names) -> None:
        """Append the product and the sum of an Affine, except where they have no effect."""
        on_picture = layer.input_shape and not self.turned
        axes = (layer.features, 1, 1) if on_picture else (layer.features,)
        dtype = getattr(self.torch, self.net.bank.dtype)
        pairs = zip((operator.mul, operator.add), own_parameters(layer).items(), strict=True)
        for call, (role, each) in pairs:
            trained = not self.net.bank.frozen[each.rows].all()
            by: Any = float(each.value[0])
            if trained or (each.value != by).any():
                by = self.torch.tensor(each.value, dtype=dtype).reshape(axes)
                place = self.named(layer, (names.get(role) if trained else "") or f"{name}_{role}")
                self.modules[place] = self.torch.nn.Parameter(by) if trained else by
                self.rows |= {place: each.rows} if trained else {}
                by = self.graph.get_attr(place)
            if not isinstance(by, float) or by != float(role == "weight"):
                self.value = self.graph.call_function(call, (self.value, by))

    def activate(self, layer: Layer, name: str) -> None:
        """Append the activation of a layer; `name` is the name of the layer's module."""
        kind, _, numbers = layer.activation.rstrip(")").partition("(")
        if kind == "linear":
            return
        if kind in FUNCTIONS:
            self.value = self.graph.call_function(getattr(self.torch, kind), (self.value,))
            return
        module: Any = next((each for each, ours in ACTIVATIONS.items() if ours == kind), None)
        more: dict[str, Any] = dict(
            zip(GIVEN.get(kind, ()), map(float, numbers.split(",")), strict=True) if numbers else ()
        )
        if kind == "gelu_tanh":
            module, more = "GELU", {"approximate": "tanh"}
        require(module, f"PyTorch has no {layer.activation}: choose another activation")
        self.call(self.named(layer, f"{name}_{kind}"), getattr(self.torch.nn, module)(**more))

    def see(self, shape: Shape) -> None:
        """Reshape a sample to the shape expected by a layer."""
        if prod(shape) == prod(self.shape) and shape != self.shape:
            self.turn(False)
            self.value = self.graph.call_method("reshape", (self.value, -1, *shape))
            self.shape = shape

    def branches(self, layer: TwoBranches, names: Sequence[Names], prefix: str) -> None:
        """Append two branches from the same value, and the operation that joins them."""
        value, shape, turned, ends = self.value, self.shape, self.turned, []
        for at, branch in ((0, layer.branches[0]), (len(layer.branches[0]), layer.branches[1])):
            self.value, self.shape, self.turned = value, shape, turned
            self.chain(branch, names[at:], prefix, at)
            if not self.is_sequence:
                self.see(layer.output_shape or (prod(self.shape),))
            self.turn(self.is_sequence)
            ends.append(self.value)
        shape = layer.output_shape or (layer.outputs,)
        self.shape = shape[::2] if self.turned else shape
        if isinstance(layer, Concatenate):
            self.value = self.graph.call_function(self.torch.cat, (ends, 2 if self.turned else 1))
        else:
            call = operator.mul if isinstance(layer, Product) else operator.add
            self.value = self.graph.call_function(call, tuple(ends))
