"""Writes a network as an ONNX model, with its original names or generated ones.

A layer without names from a file is named by its kind and number: the node "dense1", its parameters
"dense1.weight" and "dense1.bias".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scalarviz.base.checks import shorten
from scalarviz.core.layers import Conv2d, Dense, Elementwise, Layer
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file
from scalarviz.files.onnx.formula_nodes import is_writable
from scalarviz.files.onnx.package import the_package
from scalarviz.files.onnx.writer import GraphWriter
from scalarviz.files.onnx.writers import WRITERS, can_write, write_layer
from scalarviz.files.onnx_names import Names, check_names, clean_names
from scalarviz.training.network.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OPSET = 20  # the first with Gelu
FORMAT = 9  # IR version of that opset


def save_model(net: Network, path: object) -> None:
    """Write a network as a model; see `scalarviz.files.onnx.save`."""
    onnx = the_package()
    found = as_path(path)
    model = as_model(net, onnx)
    onnx.checker.check_model(model, full_check=True)
    replace_file(found, model.SerializeToString(deterministic=True))


def as_model(net: Network, onnx: Any) -> Any:
    """Return a network as a ModelProto."""
    if not isinstance(net, Network):
        raise InputError(
            f"sv.onnx.save saves a Network, not {shorten(net)}: write sv.onnx.save(net, path)"
        )
    given = plain_names(net.layers) if net.names is None else net.names
    names = clean_names(check_names(given, net.layers))
    check_layers(net.layers)
    check_places(net.layers)
    writer = GraphWriter(net, onnx.helper, names)
    for layer, own in zip(net.layers, names["layers"], strict=True):
        write_layer(writer, layer, own)
    return onnx.helper.make_model(
        writer.finish(),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=FORMAT,
        producer_name="scalarviz",
    )


def plain_names(layers: Sequence[Layer]) -> Names:
    """Return the names of a network that was not loaded from an ONNX file."""
    nothing: list[Names] = [{} for _ in layers]
    return {"graph": "network", "input": "input", "output": "output", "layers": nothing}


def check_layers(layers: Iterable[Layer]) -> None:
    """Raise InputError for layers or activations that ONNX lacks; it lists all of them."""
    odd = list(dict.fromkeys(odd_parts(layers)))
    if odd:
        raise InputError(
            f"ONNX has no operator for {', '.join(odd)}: choose other layers and activations to "
            "save it there"
        )


def check_places(layers: Sequence[Layer]) -> None:
    """Raise InputError for a shared layer that could not be read back as one.

    A reader recognizes a shared layer by its matrix, because equal vectors are often merged.
    """
    for layer, places in Counter(layers).items():
        if places > 1 and layer.size and not has_matrix(layer):
            raise InputError(
                f"{layer} is used in more than one place, which an ONNX file cannot express: "
                "give each place a layer of its own to save it there"
            )


def has_matrix(layer: Layer) -> bool:
    """Return whether a layer, or an inner layer, has a weight matrix."""
    return isinstance(layer, (Dense, Conv2d)) or any(map(has_matrix, layer.layers))


def odd_parts(layers: Iterable[Layer]) -> list[str]:
    """Return the parts of these layers that cannot be written."""
    found = []
    for layer in layers:
        if type(layer).__name__ not in WRITERS:
            found.append(f"the layer {type(layer).__name__}")
        if not can_write(layer.activation):
            found.append(f"the activation {shorten(layer.activation)}")
        if isinstance(layer, Elementwise) and not is_writable(
            layer.formula.value, "x", *layer.formula.parameters
        ):
            found.append(f"the formula {layer.formula.name}")
        found += odd_parts(layer.layers)
    return found
