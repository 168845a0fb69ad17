"""The stored models, and small graphs made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import scalarviz as sv

FOLDER = Path(__file__).parent / "models"
MODELS = sorted(path.stem for path in FOLDER.glob("*.onnx"))
STEPS = 20

# The last value with one number a class, where an output is put together from it.
OUTPUTS = {"sklearn_binary": "out_activations_result"}


def load(name: str) -> sv.Network:
    """A stored model as a network."""
    return sv.onnx.load(FOLDER / f"{name}.onnx", output=OUTPUTS.get(name))


def batch(net: sv.Network, samples: int = 5) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(samples, net.inputs)).astype(np.float32)


def targets(net: sv.Network, samples: int = 5) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 0.9, size=(samples, net.outputs))


def trained(net: sv.Network, engine: str) -> np.ndarray:
    """The losses of some steps on an engine."""
    net.to(engine)
    return net.train(batch(net), targets(net), "mse", sv.SGD(0.02), steps=STEPS)


def runner(model: Path | bytes) -> Any:
    """What runs a model on the processor, and says nothing."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    return onnxruntime.InferenceSession(model, quiet, providers=["CPUExecutionProvider"])


def run(model: onnx.ModelProto | Path, x: np.ndarray, output: str | None = None) -> np.ndarray:
    """What onnxruntime says, one row a sample."""
    proto = onnx.load(model) if isinstance(model, Path) else model
    names = [value.name for value in proto.graph.output]
    if output is not None and output not in names:
        proto.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
    session = runner(proto.SerializeToString())
    (source,) = session.get_inputs()
    kind = np.float64 if "double" in source.type else np.float32
    shaped = x.astype(kind).reshape(len(x), *source.shape[1:])
    (y,) = session.run([output or names[0]], {source.name: shaped})
    return np.asarray(y).reshape(len(x), -1)


def graph(
    *nodes: onnx.NodeProto,
    numbers: Mapping[str, Any] | None = None,
    shape: Sequence[Any] = ("batch", 3),
    out: Sequence[Any] | None = ("batch", 2),
    opset: int = 17,
) -> onnx.ModelProto:
    """A model from "x" to "y"."""
    stored = [
        each
        if isinstance(each, onnx.TensorProto)
        else numpy_helper.from_array(np.asarray(each), name)
        for name, each in (numbers or {}).items()
    ]
    made = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
        stored,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node called by its operator in small letters; names are separated by spaces."""
    name = attributes.pop("name", operator.lower())
    return helper.make_node(operator, inputs.split(), outputs.split(), name=name, **attributes)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def read(model: onnx.ModelProto, folder: Path, **options: Any) -> sv.Network:
    return sv.onnx.load(saved(model, folder), **options)


def same(model: onnx.ModelProto, folder: Path) -> sv.Network:
    """A model that is read, and gives what onnxruntime gives."""
    net = read(model, folder)
    x = batch(net, 4)
    np.testing.assert_allclose(net(x), run(model, x), rtol=0, atol=1e-5)
    return net


def there_and_back(net: sv.Network, path: Path, tolerance: float = 1e-5) -> sv.Network:
    """Save a network, compare with onnxruntime, load it again and compare once more."""
    sv.onnx.save(net, path)
    x = batch(net, 8)
    np.testing.assert_allclose(run(path, x), net(x), rtol=0, atol=tolerance)
    again = sv.onnx.load(path, dtype=net.dtype)
    np.testing.assert_array_equal(again(x), net(x))
    return again
