"""What an ONNX file called the parts of a network, as a plain object that JSON can hold.

    {"graph": ..., "input": ..., "output": ..., "layers": [one for each layer, in their order]}

For a layer: its nodes ("node", "activation", ...) and its numbers ("weight", "bias", ...) by their
role, and "form", how it was written; for a Residual also "layers".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scalarviz.checks import shorten
from scalarviz.errors import InputError
from scalarviz.layers import Layer, Residual

Names = dict[str, Any]

LONGEST = 1000
MOST_ROLES = 20
OF_THE_GRAPH = ("graph", "input", "output")


def check_names(names: object, layers: Sequence[Layer]) -> Names:
    """Names that fit these layers; from a file that may come from anywhere."""
    if not isinstance(names, dict) or set(names) != {*OF_THE_GRAPH, "layers"}:
        raise InputError(f"names is {shorten(names)}")
    for role in OF_THE_GRAPH:
        check_text(names[role])
    check_layers(names["layers"], layers)
    return names


def check_layers(names: object, layers: Sequence[Layer]) -> None:
    """Refuse what is no object for each layer."""
    if not isinstance(names, list) or len(names) != len(layers):
        raise InputError(f"the names of {len(layers)} layers are {shorten(names)}")
    for each, layer in zip(names, layers, strict=True):
        if not isinstance(each, dict) or len(each) > MOST_ROLES:
            raise InputError(f"the names of {layer} are {shorten(each)}")
        for role, name in each.items():
            if role == "layers" and isinstance(layer, Residual):
                check_layers(name, layer.layers)
            else:
                check_text(name)


def check_text(name: object) -> None:
    """Refuse what is no text of a bearable length."""
    if not isinstance(name, str) or len(name) > LONGEST or not name.isprintable():
        raise InputError(f"{shorten(name)} is no name")
