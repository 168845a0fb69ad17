"""GraphWriter: builds a graph node by node, with unique names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.core.layers import Layer
from scalarviz.files.onnx.formula_nodes import FormulaNodes
from scalarviz.files.onnx.tensors import Array
from scalarviz.files.onnx.trace import Shape
from scalarviz.files.onnx_names import Names, texts_of, unused

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

FLOAT, INT64, DOUBLE = 1, 7, 11  # data types of the format
BATCH = "batch"


class GraphWriter(FormulaNodes):
    """The nodes and constants so far, and the last value.

    current  name of the last value
    shape    its shape for one sample
    place    what the nodes of a formula belong to, the beginning of their names
    """

    def __init__(self, net: Network, helper: Any, names: Names) -> None:
        super().__init__()
        self.net = net
        self.helper = helper
        self.names = names
        self.kind = DOUBLE if net.dtype == "float64" else FLOAT
        first = net.layers[0]
        self.current = names["input"] or "input"
        self.shape: Shape = tuple(names.get("shape", ())) or first.input_shape or (net.inputs,)
        self.input = self._value(self.current, self.shape)
        self.place = ""
        self._nodes: list[Any] = []
        self._numbers: dict[str, Any] = {}
        self._values: list[Any] = []
        self._shared: dict[tuple[int, str], str] = {}
        self._counts: Counter[str] = Counter()
        self._reserved = set(texts_of(names))
        self._used = {self.current}
        self._node_names: set[str] = set()

    def numbered(self, kind: str) -> str:
        """Return a new name for a layer: "dense1", "dense2"."""
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind]}"

    def node(
        self,
        operator: str,
        name: str,
        *inputs: str,
        shape: Shape | None = None,
        **attributes: Any,
    ) -> str:
        """Append a node, by default on the last value; return the name of its output."""
        name = unused(name, self._node_names)
        output = self._free(f"{name}_output")
        made = self.helper.make_node(
            operator, list(inputs or (self.current,)), [output], name=name, **attributes
        )
        self._nodes.append(made)
        self.current, self.shape = output, self.shape if shape is None else shape
        self._values.append(self._value(output, self.shape))
        return output

    def put(self, operator: str, *inputs: str, **attributes: Any) -> str:
        found = self.node(operator, f"{self.place}.{operator.lower()}", *inputs, **attributes)
        self._values.pop()  # it may be a comparison, of another type
        return found

    def number(self, value: float) -> str:
        return self.store(f"{self.place}.number", np.asarray(value))

    def store(self, name: str, array: Array) -> str:
        """Store an array under a name, or a similar one if it is taken; return the name."""
        known = self._numbers.get(name)
        integers = array.dtype.kind == "i"
        kind = INT64 if integers else self.kind
        plain = np.ascontiguousarray(array, np.int64 if integers else self.net.dtype)
        data = plain.astype(plain.dtype.newbyteorder("<")).tobytes()
        if known is not None and known.raw_data == data and known.dims == list(array.shape):
            return name
        stored = name if name and name not in self._used else self._free(name or "numbers")
        self._used.add(stored)
        self._numbers[stored] = self.helper.make_tensor(stored, kind, array.shape, data, raw=True)
        return stored

    def store_once(self, layer: Layer, role: str, name: str, array: Array) -> str:
        """Store a layer's array once, even if the layer stands in several places."""
        key = id(layer), role
        if key not in self._shared:
            self._shared[key] = self.store(name, array)
        return self._shared[key]

    def see(self, shape: Shape, name: str) -> None:
        """Reshape the last value if its shape differs."""
        if shape == self.shape:
            return
        if len(shape) == 1:
            self.node("Flatten", f"{name}.flatten", shape=shape, axis=1)
        else:
            self.reshape(shape, f"{name}.reshape")

    def reshape(self, shape: Shape, name: str) -> None:
        """Append a Reshape of the last value; the batch stays."""
        sizes = self.store(f"{name}.shape", np.array([-1, *shape]))
        self.node("Reshape", name, self.current, sizes, shape=shape)

    def flat(self, name: str) -> None:
        """Flatten the last value to one vector per sample."""
        self.see((prod(self.shape),), name)

    def finish(self) -> Any:
        """Return the graph; its last value gets the name of the output."""
        if not self._nodes:
            self.node("Identity", "identity")
        output = self.names["output"]
        if not output or output in self._used:
            output = self._free(output or "output")
        last, self._nodes[-1].output[0] = self._nodes[-1].output[0], output
        return self.helper.make_graph(
            self._nodes,
            self.names["graph"] or "network",
            [self.input],
            [self._value(output, self.shape)],
            list(self._numbers.values()),
            value_info=[each for each in self._values if each.name != last],
        )

    def _value(self, name: str, shape: Sequence[int]) -> Any:
        return self.helper.make_tensor_value_info(name, self.kind, [BATCH, *shape])

    def _free(self, name: str) -> str:
        """Return a name like this one that is neither used nor reserved."""
        found = unused(name, self._used | self._reserved)
        self._used.add(found)
        return found
