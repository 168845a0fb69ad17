"""From a network to a file: standard operators, under the names that it came with or plain ones.

A layer without names from a file is called by its kind and its number: the node "dense1", the
numbers "dense1.weight" and "dense1.bias".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scalarviz.checks.numbers import shorten
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, replace_file
from scalarviz.files.onnx_names import Names, check_names, clean_names
from scalarviz.layers import Conv2d, Dense, Layer, Residual
from scalarviz.network.network import Network
from scalarviz.onnx.package import the_package
from scalarviz.onnx.writer import GraphWriter
from scalarviz.onnx.writers import WRITERS, operator_of, write_layer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OPSET = 20  # the first with Gelu
FORMAT = 9  # of the file, as it came with that opset


def save_model(net: Network, path: object) -> None:
    """Write a network as a model; see `scalarviz.onnx.save`."""
    onnx = the_package()
    found = as_path(path)
    model = as_model(net, onnx)
    onnx.checker.check_model(model, full_check=True)
    replace_file(found, model.SerializeToString(deterministic=True))


def as_model(net: Network, onnx: Any) -> Any:
    """A network as a ModelProto."""
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
    """Those of a network that was never in an ONNX file."""
    nothing: list[Names] = [{} for _ in layers]
    return {"graph": "network", "input": "input", "output": "output", "layers": nothing}


def check_layers(layers: Iterable[Layer]) -> None:
    """Refuse a network with layers or activations that ONNX has not, and name them all."""
    odd = list(dict.fromkeys(odd_parts(layers)))
    if odd:
        raise InputError(
            f"ONNX has no operator for {', '.join(odd)}: choose other layers and activations to "
            "save it there"
        )


def check_places(layers: Sequence[Layer]) -> None:
    """Refuse layers in several places that would come back as several layers.

    What tells that two places are one layer is a matrix that both use: vectors are often stored
    once because they are alike.
    """
    for layer, places in Counter(layers).items():
        if places > 1 and layer.size and not has_matrix(layer):
            raise InputError(
                f"{layer} stands in more than one place, which an ONNX file cannot say of it: "
                "give each place a layer of its own to save it there"
            )


def has_matrix(layer: Layer) -> bool:
    """Whether a layer, or one of its parts, has weights from each input to each output."""
    if isinstance(layer, Residual):
        return any(map(has_matrix, layer.layers))
    return isinstance(layer, (Dense, Conv2d))


def odd_parts(layers: Iterable[Layer]) -> list[str]:
    """What of these layers cannot be written."""
    found = []
    for layer in layers:
        if type(layer).__name__ not in WRITERS:
            found.append(f"the layer {type(layer).__name__}")
        if layer.activation != "linear" and operator_of(layer.activation) is None:
            found.append(f"the activation {shorten(layer.activation)}")
        if isinstance(layer, Residual):
            found += odd_parts(layer.layers)
    return found
