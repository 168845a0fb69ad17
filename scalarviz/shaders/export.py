"""A network for other programs: a function in GLSL or HLSL, or plain named arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file, shown
from scalarviz.files.networks import describe
from scalarviz.formulas.table import pick
from scalarviz.model.operations import NONE, Operation
from scalarviz.shaders.constants import GLSL, HLSL, Language
from scalarviz.shaders.shader import write_shader

if TYPE_CHECKING:
    from scalarviz.network.network import Network

PRECISIONS = {"float32": np.float32, "float16": np.float16}


def export_network(net: Network, path: object, precision: str = "float32") -> None:
    """Write a network for another program; the ending of the name says in what.

    .glsl, .hlsl    a function of a shader with the weights as constants
    .npz            named arrays, and a description as JSON text; numpy.load reads it

    The weights are rounded to `precision`, "float32" or "float16". A shader computes in float32 in
    either case.
    """
    found = as_path(path)
    suffix = found.suffix.lower()
    if suffix not in EXPORTS:
        raise InputError(
            f"{shown(found)} does not say in what to export: end its name in one of "
            f"{', '.join(EXPORTS)}; net.save is for files that scalarviz reads"
        )
    values = rounded(net, precision)
    replace_file(found, EXPORTS[suffix](net, values, precision))


def rounded(net: Network, precision: str) -> FloatArray:
    """All parameters in another precision; one that it cannot hold is named."""
    dtype = pick(PRECISIONS, precision, "precision")
    with np.errstate(over="ignore"):
        values = net.bank.value.astype(dtype)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            f"{net.bank.name_of(row)} is {net.bank.value[row]:g}, which {precision} cannot "
            "hold as a finite number: mend it, or choose another precision"
        )
    return values


def export_shader(language: Language) -> Callable[[Network, FloatArray, str], bytes]:
    """What exports in a shader language."""

    def export(net: Network, values: FloatArray, precision: str) -> bytes:
        note = "weights in float32"
        if precision != "float32":
            note = f"weights rounded to {precision}, computed in float32"
        return write_shader(net, values.astype(np.float32), language, note).encode()

    return export


def export_arrays(net: Network, values: FloatArray, precision: str) -> bytes:
    """An NPZ file: weights of each operation, and a description of what to do with them.

    `description` is JSON: the layers, the order they stand in, and the operations they are made of,
    each with the names of its arrays. The weights of an affine operation have one row an output,
    those of a convolution are kernels times channels times height times width. An operation reads
    and writes buffers that have names; "other" is a second one that takes part. Of a batch_norm
    there are the mean and the variance of all batches so far; a dropout changes nothing.
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
    """One operation with the names of its arrays, which are added to `arrays`."""
    found: dict[str, Any] = {
        "kind": operation.kind,
        "formula": operation.formula,
        "inputs": operation.source.size,
        "outputs": operation.target.size,
        "settings": list(operation.settings),
        "reads": operation.source.name,
        "writes": operation.target.name,
    }
    if operation.other is not None:
        found["other"] = operation.other.name
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
            name = f"{what}_{first}"  # a shared layer begins on the same row each time
            count = int(np.prod(shape_of_it))
            arrays[name] = numbers[first : first + count].reshape(shape_of_it)
            found[what] = name
    return found


EXPORTS: dict[str, Callable[[Network, FloatArray, str], bytes]] = {
    ".glsl": export_shader(GLSL),
    ".hlsl": export_shader(HLSL),
    ".npz": export_arrays,
}
