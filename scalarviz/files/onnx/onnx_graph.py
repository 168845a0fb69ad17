"""An ONNX model as plain data, after a check of its size: nodes, tensors, inputs, outputs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.base.limits import NODE, PART, Budget
from scalarviz.base.messages import visible
from scalarviz.base.shell_commands import needed
from scalarviz.errors import FileError, InputError
from scalarviz.files.atomic import shown
from scalarviz.files.checked_safetensors import Array, size_of
from scalarviz.files.onnx_names import LONGEST, MOST_DIMENSIONS


def the_package() -> Any:
    """Return the module onnx; raise InputError if it is not installed."""
    return needed("onnx", "ONNX files need onnx", "onnx")


OLDEST = 9  # oldest supported opset

OWN_DOMAINS = ("", "ai.onnx")
# Fields of an attribute's value, by the number of its type in the format.
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
    """A node of a graph."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{shorten(self.name)} ({visible(self.operator)})"


@dataclass(frozen=True)
class Port:
    """An input or output with its sizes, None if unknown; `numbers` is True for floats."""

    name: str
    sizes: Sizes | None
    numbers: bool


@dataclass(frozen=True)
class ModelGraph:
    """A graph with nodes in execution order."""

    name: str
    opset: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[GraphNode, ...]
    constants: Mapping[str, Constant]
    budget: Budget  # memory limit of all constants
    readers: Mapping[str, Any] = field(default_factory=dict)  # of operators missing in files


def read_graph(path: Path, budget: Budget) -> ModelGraph:
    """Return the graph in a file; constants are decoded on first use."""
    onnx = the_package()
    data = read_bytes(path, budget.limit)
    weigh(data, budget.limit)
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:  # the parser raises errors of many classes
        raise InputError("it is damaged or not an ONNX file") from error
    try:
        return as_graph(model, path.parent, budget)
    except UnicodeDecodeError as error:
        raise InputError("it is damaged: a name in it is not text") from error


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file; raise FileError if it is missing, InputError if too large."""
    try:
        Budget(limit).take(size_of(path), "the whole file")
        return path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"file not found: {shown(path)}: check the path") from None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}") from error


def as_graph(model: Any, folder: Path, budget: Budget) -> ModelGraph:
    """Return a ModelProto as plain data."""
    found = model.graph
    require(found.node and found.output, "it is damaged or not an ONNX file: it has no graph")
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
    """Return the opset version of a model; raise InputError if it is too old."""
    versions = [int(each.version) for each in model.opset_import if each.domain in OWN_DOMAINS]
    opset = max(versions, default=0)
    require(
        opset >= OLDEST,
        f"its operators are of opset {opset}, and those from {OLDEST} on can be read: export "
        "it again with a newer opset",
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
    """Return a name; raise InputError if it is invalid UTF-8, which the parser returns as bytes."""
    if isinstance(name, str):
        return name
    raise InputError(f"it is damaged: {shorten(name)} is not a name")


def a_name(name: Any) -> str:
    """Return a name; raise InputError if it is too long."""
    require(len(a_text(name)) <= LONGEST, f"it is damaged: {shorten(name)} is not a name")
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
    """Return the shortest decimal that is the same float32: 1e-5 for 9.999999747e-6."""
    return float(str(np.float32(number)))


def as_port(value: Any) -> Port:
    """Return a ValueInfoProto as plain data."""
    tensor = value.type.tensor_type if value.type.HasField("tensor_type") else None
    if tensor is None:
        return Port(a_text(value.name), None, False)
    sizes: Sizes | None = None
    if len(tensor.shape.dim) > MOST_DIMENSIONS + 1:  # the batch comes first
        dimensions = f"{len(tensor.shape.dim):,} dimensions"
        raise InputError(f"{shorten(value.name)} has {dimensions}, which is too many")
    if tensor.HasField("shape"):
        sizes = tuple(d.dim_value if d.dim_value > 0 else None for d in tensor.shape.dim)
    return Port(a_text(value.name), sizes, tensor.elem_type in FLOATS)


def take_constants(
    nodes: Iterable[GraphNode], stored: dict[str, Constant], folder: Path, budget: Budget
) -> list[GraphNode]:
    """Convert nodes whose results are constant to constants, and return the other nodes."""
    rest = []
    for node in nodes:
        tensor = tensor_of(node) if node.operator == "Constant" else None
        source = stored.get(node.inputs[0]) if node.inputs else None
        passed = passed_on(node, source) if source is not None and node.outputs else None
        if tensor is not None and node.outputs:
            name = node.outputs[0]
            stored[name] = Constant(name, Stored(tensor, folder, budget))
        elif passed is not None:
            stored[node.outputs[0]] = passed
        elif sizes := sizes_of(node, stored):
            stored[node.outputs[0]] = sizes
        else:
            rest.append(node)
    return rest


@dataclass(frozen=True)
class KnownNumbers:
    """Constants with known values."""

    array: Array


def sizes_of(node: GraphNode, stored: Mapping[str, Constant]) -> Constant | None:
    """Return the result of a Concat of short constants, such as the sizes of a Reshape."""
    parts = [stored[name] for name in node.inputs if name in stored]
    is_whole = node.operator == "Concat" and node.outputs and len(parts) == len(node.inputs) > 0
    if not is_whole or any(part.shape != (1,) for part in parts[:MOST_DIMENSIONS]):
        return None
    arrays = [part.array for part in parts[: MOST_DIMENSIONS + 1]]
    return Constant(node.outputs[0], KnownNumbers(np.concatenate(arrays)))


def tensor_of(node: GraphNode) -> Any:
    """Return the numbers of a Constant node as a TensorProto, or None if it has other content."""
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


def passed_on(node: GraphNode, source: Constant) -> Constant | None:
    """Return the constant that an Identity, Cast or Transpose of a matrix passes on, or None.

    Exporters merge equal vectors and name the second one by an Identity, so an Identity changes
    the name. Cast and Transpose keep the name.
    """
    if node.operator == "Transpose":
        is_matrix = len(source.stored.tensor.dims) == 2
        swaps = (node.attributes.get("perm") or [1, 0]) == [1, 0]
        return replace(source, turned=not source.turned) if is_matrix and swaps else None
    if node.operator == "Cast":
        return source
    return replace(source, name=node.outputs[0]) if node.operator == "Identity" else None


# Tensors of a model, validated against their shape before memory is allocated. A model may store
# tensors in a second file. It must be in the folder of the model, after resolving links, and must
# be long enough.

# Data types of the format: how bytes are stored, and the field for single numbers.
TYPES = {
    1: ("<f4", "float_data"),
    6: ("<i4", "int32_data"),
    7: ("<i8", "int64_data"),
    9: ("?", "int32_data"),
    10: ("<f2", "int32_data"),
    11: ("<f8", "double_data"),
}
FLOATS = (1, 10, 11)
HALF = 10
EXTERNAL = 1  # data_location of tensors in another file
HIDDEN = -1e30  # score of a place that attention does not see: constants are finite


@dataclass(frozen=True, eq=False)
class Stored:
    """A TensorProto, decoded on first use."""

    tensor: Any
    folder: Path  # folder of a possible second file
    budget: Budget  # memory limit of all tensors

    @cached_property
    def array(self) -> Array:
        return decode(self.tensor, self.folder, self.budget)


@dataclass(frozen=True, eq=False)
class Constant:
    """A named tensor stored in a model.

    `turned` is True if a Transpose follows it.
    """

    name: str
    stored: Any  # with an array, such as Stored
    turned: bool = False

    @cached_property
    def array(self) -> Array:
        """The numbers, in their shape."""
        try:
            found: Array = self.stored.array
        except InputError as error:
            raise InputError(f"the numbers {shorten(self.name)} {error}") from error
        return found.T if self.turned else found

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def decode(tensor: Any, folder: Path, budget: Budget) -> Array:
    """Return the numbers of a TensorProto; error messages begin after the name of the tensor."""
    require(
        tensor.data_type in TYPES,
        f"are of the type {tensor.data_type}, which is not a plain number type",
    )
    kind, listed = TYPES[tensor.data_type]
    shape = tuple(tensor.dims)
    require(
        len(shape) <= MOST_DIMENSIONS and all(n >= 0 for n in shape),
        f"have the shape {shorten(shape)}",
    )
    count = prod(shape)
    stored = np.dtype(kind)
    try:
        budget.take(count * stored.itemsize, "they")
    except InputError as error:
        raise InputError(f"have the shape {shorten(shape)}, which is too large: {error}") from None
    found = numbers_of(tensor, listed, stored, count, folder)
    require(len(found) == count, f"have the shape {shorten(shape)}, but {len(found)} values")
    require(tensor.data_type not in FLOATS or np.isfinite(found).all(), "are not all finite")
    return found.reshape(shape)


def numbers_of(tensor: Any, name: str, stored: np.dtype[Any], count: int, folder: Path) -> Array:
    """Return the numbers of a TensorProto as a flat array, from any kind of storage."""
    if tensor.data_location == EXTERNAL:
        return as_numbers(read_external(tensor, count * stored.itemsize, folder), stored)
    if tensor.HasField("raw_data"):
        return as_numbers(tensor.raw_data, stored)
    listed = getattr(tensor, name)
    require(len(listed) == count, f"should be {count:,}, not {len(listed):,}")
    if tensor.data_type == HALF:  # float16 bits stored as integers
        return np.array(listed, np.int64).astype(np.uint16).view("<f2")
    return np.array(listed, stored)


def as_numbers(data: bytes, stored: np.dtype[Any]) -> Array:
    """Return the array of numbers that bytes represent."""
    require(
        len(data) % stored.itemsize == 0,
        f"take {len(data):,} bytes, which is not a whole number of them",
    )
    if stored.kind == "b":
        return np.frombuffer(data, np.uint8).astype(np.bool_)
    return np.frombuffer(data, stored)


def read_external(tensor: Any, length: int, folder: Path) -> bytes:
    """Return the bytes of a tensor in another file in the folder of the model."""
    about = {entry.key: entry.value for entry in tensor.external_data}
    location = about.get("location", "")
    path = inside(location if isinstance(location, str) else "", folder)
    try:
        offset = int(about.get("offset", "0"))
        stated = int(about.get("length", length))
    except ValueError:
        raise InputError("are in another file at an offset that is not a number") from None
    require(
        offset >= 0 and stated == length,
        f"take {length:,} bytes, and their file is said to have {stated:,}",
    )
    try:
        status = path.stat()
        require(
            stat.S_ISREG(status.st_mode) and status.st_size >= offset + length,
            f"are in the file {path.name!r}, which is too short",
        )
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(length)
    except OSError as error:
        raise InputError(
            f"are in the file {path.name!r}, which cannot be read: {error.strerror or error}"
        ) from error
    return data


def inside(location: str, folder: Path) -> Path:
    """Return the path of a file in a folder; raise InputError if it, or a link, leads outside."""
    parts = PurePosixPath(location).parts
    odd = PureWindowsPath(location).anchor or "\\" in location or "\0" in location
    require(
        parts and not odd and ".." not in parts and parts[0] != "/",
        f"are in {shorten(location)}, which is not a file in the model's folder",
    )
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / location))
    require(
        path.is_relative_to(root),
        f"are in {shorten(location)}, which is outside of the model's folder",
    )
    return path


# Counts the parts of a model in its bytes, before a parser makes an object of each. A Protocol
# Buffers message is a sequence of fields: a key (field number and wire type), then the content,
# which may be another message.

NUMBER, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5  # wire types

Fields = dict[int, Any]  # message type of a field, or None


def weigh(data: bytes, limit: int) -> None:
    """Raise InputError if parsing a model would create too many objects."""
    known: dict[str, Fields] = {}
    most, parts = limit // PART, 0
    waiting = [(0, len(data), the_package().ModelProto.DESCRIPTOR)]
    while waiting:
        place, end, message = waiting.pop()
        fields = known.setdefault(
            message.full_name, {field.number: field.message_type for field in message.fields}
        )
        while place < end:
            key, place = number_at(data, place, end)
            how = key & 7
            if how == LENGTH:
                length, place = number_at(data, place, end)
                inner = fields.get(key >> 3)
                if inner is not None and length:
                    waiting.append((place, place + length, inner))
                place += length
                parts += 1
            elif how == NUMBER:
                _, place = number_at(data, place, end)
                parts += 1
            elif how in (FOUR_BYTES, EIGHT_BYTES):  # limited by the size of the file
                place += 4 if how == FOUR_BYTES else 8
            else:
                raise broken()
            if parts > most:
                Budget(limit).allow(parts, "parts or more", PART)
        if place != end:
            raise broken()


def number_at(data: bytes, place: int, end: int) -> tuple[int, int]:
    """Return a varint and the position after it."""
    number = shift = 0
    while place < end:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            break
    raise broken()


def broken() -> InputError:
    return InputError("it is damaged or not an ONNX file")
