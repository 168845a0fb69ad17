"""An ONNX model as plain data: nodes, constants, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.base.limits import NODE, Budget
from scalarviz.base.messages import visible
from scalarviz.errors import FileError, InputError
from scalarviz.files.atomic import shown
from scalarviz.files.checked_safetensors import size_of
from scalarviz.files.onnx.package import the_package
from scalarviz.files.onnx.tensors import FLOATS, MOST_DIMENSIONS, Constant, Stored
from scalarviz.files.onnx.weighing import weigh

LONGEST_NAME = 1000
OLDEST = 9  # oldest opset whose operators are read

OWN_DOMAINS = ("", "ai.onnx")
# Fields of an attribute's value, by the format's number for its type.
ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
TENSOR = 4
# Further attributes with the numbers of a Constant: their Python type, and the stored type.
NUMBERS = {
    "value_float": (float, np.float32),
    "value_floats": (float, np.float32),
    "value_int": (int, np.int64),
    "value_ints": (int, np.int64),
}

Sizes = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class GraphNode:
    """One node of a graph; `parts` are the names of nodes fused into it."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    parts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{shorten(self.name)} ({visible(self.operator)})"


@dataclass(frozen=True)
class Port:
    """An input or output: its sizes, None where unknown; `numbers` if it holds floats."""

    name: str
    sizes: Sizes | None
    numbers: bool


@dataclass(frozen=True)
class ModelGraph:
    """A graph, with its nodes in order of execution."""

    name: str
    opset: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[GraphNode, ...]
    constants: Mapping[str, Constant]
    budget: Budget  # limits the memory of all constants


def read_graph(path: Path, budget: Budget) -> ModelGraph:
    """Return the graph in a file; constants are decoded when they are first used."""
    onnx = the_package()
    data = read_bytes(path, budget.limit)
    weigh(data, budget.limit)
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:  # the parser raises errors of many classes
        raise InputError("it is damaged, or no ONNX file") from error
    try:
        return as_graph(model, path.parent, budget)
    except UnicodeDecodeError as error:
        raise InputError("it is damaged: a name in it is no text") from error


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file; raise an error if it is missing or too large."""
    try:
        Budget(limit).take(size_of(path), "the whole file")
        return path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"there is no file {shown(path)}: check the path") from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}") from error


def as_graph(model: Any, folder: Path, budget: Budget) -> ModelGraph:
    """Return a ModelProto as plain data."""
    found = model.graph
    if not found.node or not found.output:
        raise InputError("it is damaged, or no ONNX file: there is no graph in it")
    budget.allow(len(found.node), "nodes", NODE)
    stored = {
        name: Constant(name, Stored(each, folder, budget))
        for each in found.initializer
        for name in [a_text(each.name)]
    }
    nodes = [as_node(node, i) for i, node in enumerate(found.node)]
    rest = take_constants(nodes, stored, folder, budget)
    return ModelGraph(
        name=a_text(found.name),
        opset=opset_of(model),
        inputs=tuple(as_port(each) for each in found.input if each.name not in stored),
        outputs=tuple(map(as_port, found.output)),
        nodes=tuple(rest),
        constants=stored,
        budget=budget,
    )


def opset_of(model: Any) -> int:
    """Return the version of the operators; raise InputError if it is too old."""
    versions = [int(each.version) for each in model.opset_import if each.domain in OWN_DOMAINS]
    opset = max(versions, default=0)
    if opset < OLDEST:
        raise InputError(
            f"its operators are of opset {opset}, and those from {OLDEST} on can be read: export "
            "it again with a newer opset"
        )
    return opset


def as_node(node: Any, place: int) -> GraphNode:
    """Return a NodeProto as plain data; an unnamed node is named after its output."""
    own = node.domain in OWN_DOMAINS
    operator = a_name(node.op_type) if own else f"{a_name(node.domain)}.{a_name(node.op_type)}"
    inputs, outputs = [tuple(map(a_name, names)) for names in (node.input, node.output)]
    name = a_name(node.name) or next(filter(None, outputs), f"number {place}")
    return GraphNode(operator, name, inputs, outputs, attributes_of(node))


def a_text(name: Any) -> str:
    """Return a name, or raise InputError: the parser lets invalid UTF-8 through as bytes."""
    if isinstance(name, str):
        return name
    raise InputError(f"it is damaged: {shorten(name)} is no name")


def a_name(name: Any) -> str:
    """Return a name, or raise InputError if it is too long."""
    if len(a_text(name)) > LONGEST_NAME:
        raise InputError(f"it is damaged: {shorten(name)} is no name")
    return str(name)


def attributes_of(node: Any) -> dict[str, Any]:
    """Return the attributes of a node that are numbers, strings or tensors; others become None."""
    found: dict[str, Any] = {}
    for each in node.attribute:
        value: Any = getattr(each, ATTRIBUTES[each.type]) if each.type in ATTRIBUTES else None
        value = shortest(value) if isinstance(value, float) else as_text(value)
        plain = value is None or isinstance(value, (int, float, str)) or each.type == TENSOR
        found[each.name] = value if plain else [as_text(item) for item in value]
    return found


def as_text(value: Any) -> Any:
    """Decode bytes; return anything else unchanged."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def shortest(number: float) -> float:
    """Return a float32 as the shortest decimal: 1e-5 instead of 9.999999747e-6."""
    return float(str(np.float32(number)))


def as_port(value: Any) -> Port:
    """Return a ValueInfoProto as plain data."""
    tensor = value.type.tensor_type if value.type.HasField("tensor_type") else None
    if tensor is None:
        return Port(a_text(value.name), None, False)
    sizes: Sizes | None = None
    if len(tensor.shape.dim) > MOST_DIMENSIONS + 1:  # the batch comes first
        dimensions = f"{len(tensor.shape.dim):,} dimensions"
        raise InputError(f"{shorten(value.name)} has {dimensions}, more than there can be")
    if tensor.HasField("shape"):
        sizes = tuple(d.dim_value if d.dim_value > 0 else None for d in tensor.shape.dim)
    return Port(a_text(value.name), sizes, tensor.elem_type in FLOATS)


def take_constants(
    nodes: Iterable[GraphNode], stored: dict[str, Constant], folder: Path, budget: Budget
) -> list[GraphNode]:
    """Move Constant nodes, and nodes that only pass constants on, to the constants."""
    rest = []
    for node in nodes:
        tensor = tensor_of(node) if node.operator == "Constant" else None
        source = stored.get(node.inputs[0]) if node.inputs else None
        if tensor is not None and node.outputs:
            name = node.outputs[0]
            stored[name] = Constant(name, Stored(tensor, folder, budget))
        elif source is not None and node.outputs and is_passed_on(node, source):
            stored[node.outputs[0]] = passed_on(node, source)
        else:
            rest.append(node)
    return rest


def tensor_of(node: GraphNode) -> Any:
    """Return the numbers of a Constant as a TensorProto; None if it holds something else."""
    onnx = the_package()
    tensor = node.attributes.get("value")
    if isinstance(tensor, onnx.TensorProto):
        return tensor
    for name, (kind, stored) in NUMBERS.items():
        found = node.attributes.get(name)
        items = found if isinstance(found, list) else [found]
        if found is not None and all(type(each) is kind for each in items):
            return onnx.numpy_helper.from_array(np.array(found, stored))
    return None


def is_passed_on(node: GraphNode, source: Constant) -> bool:
    """Return whether a node passes a constant on: Identity, Cast, or Transpose of a matrix."""
    if node.operator == "Transpose":
        turned = node.attributes.get("perm") or [1, 0]
        return turned == [1, 0] and len(source.stored.tensor.dims) == 2
    return node.operator in ("Identity", "Cast")


def passed_on(node: GraphNode, source: Constant) -> Constant:
    """Return a constant under the name of the node's output.

    Exporters merge equal vectors and name the second one by an Identity, so its output has a name
    of its own. A Transpose keeps the name.
    """
    if node.operator == "Transpose":
        return replace(source, turned=not source.turned)
    if node.operator == "Cast":
        return source
    return replace(source, name=node.outputs[0])
