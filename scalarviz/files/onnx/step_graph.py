"""StepGraph: the nodes of a training step."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from scalarviz.files.onnx.formula_nodes import FormulaNodes
from scalarviz.files.onnx.tensors import Array
from scalarviz.files.onnx_names import unused


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
            name = self._free(f"{self.place}/{operator}")
            made = [f"{name}:{i}" if i else name for i in range(results)]
            self._known[key] = made
            self._nodes.append(
                self.helper.make_node(operator, list(inputs), made, name=name, **attributes)
            )
        return self._known[key]

    def _free(self, name: str) -> str:
        found = unused(name, self._names)
        self._names.add(found)
        return found

    def number(self, value: float | Array, dtype: str = "") -> str:
        """Return the name of constants, of the dtype of the graph by default."""
        array = np.asarray(value, dtype or self.dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            name = self._free(f"{array.tolist()}" if array.size < 5 else "constants")
            self._known[key] = [name]
            self._store(name, array)
        return self._known[key][0]

    def integers(self, *values: int) -> str:
        """Return the name of a row of integers, such as axes or sizes."""
        return self.number(np.array(values), "int64")

    def _store(self, name: str, array: Array) -> None:
        kind = self.helper.np_dtype_to_tensor_dtype(array.dtype)
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        self.numbers[name] = self.helper.make_tensor(name, kind, array.shape, data, raw=True)

    def given(self, name: str, shape: tuple[Any, ...], array: Array | None = None) -> str:
        """Add an input of the graph, which is `array` where it is not given; return its name."""
        self._names.add(name)
        dtype = np.dtype(self.dtype) if array is None else array.dtype
        kind = self.helper.np_dtype_to_tensor_dtype(dtype)
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, list(shape)))
        if array is not None:
            self._store(name, array)
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
