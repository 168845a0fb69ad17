"""Export of networks as GLSL or HLSL functions, or as named arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.core.formulas.formula import pick
from scalarviz.core.program import NONE, Operation
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file, shown
from scalarviz.files.networks import describe
from scalarviz.files.shaders.shader import GLSL, HLSL, Language, write_shader
from scalarviz.training.network.network import Network

PRECISIONS = {"float32": np.float32, "float16": np.float16}


def export_network(net: Network, path: object, precision: str = "float32") -> None:
    """Export a network for another program; the extension of `path` determines the format.

    .glsl, .hlsl    a shader function with the weights as constants
    .npz            named arrays, and a description as JSON text, for numpy.load

    Args:
        net: the network
        path: the file
        precision: precision of the weights: "float32" (default) or "float16"; shaders always
            compute in float32

    Raises:
        InputError: if the extension or precision is unknown, a weight overflows, or the network is
            too large for a shader.
        FileError: if the file cannot be written.
    """
    found = as_path(path)
    suffix = found.suffix.lower()
    require(
        suffix in EXPORTS,
        f"{shown(found)} has no export format: use one of the endings {', '.join(EXPORTS)}; "
        "net.save(path) writes .onnx and scalarviz files",
    )
    replace_file(found, EXPORTS[suffix](net, rounded(net, precision), precision))


def rounded(net: Network, precision: str) -> FloatArray:
    """Return all parameters rounded to a precision; raise InputError if one overflows."""
    dtype = pick(PRECISIONS, precision, "precision")
    with np.errstate(over="ignore"):
        values = net.bank.value.astype(dtype)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{net.bank.name_of(row)} is {net.bank.value[row]:g}, which {precision} cannot "
            "hold as a finite number: change it, or choose another precision"
        )
    return values


def export_shader(language: Language, net: Network, values: FloatArray, precision: str) -> bytes:
    """Return the encoded source of a shader in GLSL or HLSL."""
    rounded = f"rounded to {precision}, computed in float32"
    note = f"weights {'in float32' if precision == 'float32' else rounded}"
    return write_shader(net, values.astype(np.float32), language, note).encode()


def export_arrays(net: Network, values: FloatArray, precision: str) -> bytes:
    """Return an NPZ file: the weights of each operation, and a description of the network.

    `description` is JSON: the layers, their order, and the operations with the names of their
    arrays. Affine weights have one row per output; convolution weights are (kernels, channels,
    height, width). Operations read and write named buffers; "other" is the second input. A
    batch_norm has its running mean and variance; a dropout is the identity.
    """
    arrays: dict[str, Any] = {}
    operations = [
        describe_operation(each, values, net.bank.state, arrays) for each in net.program.operations
    ]
    made_by = describe(net)
    description = {
        "layers": made_by["layers"],
        "order": made_by["order"],
        "precision": precision,
        "operations": operations,
    }
    arrays["description"] = np.array(json.dumps(description))
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def describe_operation(
    operation: Operation, values: FloatArray, state: FloatArray, arrays: dict[str, Any]
) -> dict[str, Any]:
    """Return the description of an operation, and add its arrays to `arrays`."""
    found: dict[str, Any] = {
        "kind": operation.kind,
        "formula": operation.formula,
        "inputs": operation.source.size,
        "outputs": operation.target.size,
        "settings": list(operation.settings),
        "reads": operation.source.name,
        "writes": operation.target.name,
    }
    if len(operation.sources) > 1:
        found["other"] = operation.sources[1].name
    shape = operation.shape
    places = [
        ("weights", values, operation.weights, shape),
        ("biases", values, operation.biases, shape[:1]),
    ]
    features = operation.about.statistics(operation)
    if features:
        places.append(("mean", state, operation.state, (features,)))
        places.append(("variance", state, operation.state + features, (features,)))
    for what, numbers, first, shape_of_it in places:
        if first != NONE:
            name = f"{what}_{first}"  # a shared layer has the same bank index each time
            count = int(np.prod(shape_of_it))
            arrays[name] = numbers[first : first + count].reshape(shape_of_it)
            found[what] = name
    return found


EXPORTS: dict[str, Callable[[Network, FloatArray, str], bytes]] = {
    ".glsl": partial(export_shader, GLSL),
    ".hlsl": partial(export_shader, HLSL),
    ".npz": export_arrays,
}
