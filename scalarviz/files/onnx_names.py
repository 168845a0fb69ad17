"""What an ONNX file called the parts of a network, as a plain object that JSON can hold.

    {"graph": ..., "input": ..., "output": ..., "layers": [one for each layer, in their order]}

For a layer: its nodes ("node", "activation", ...) and its numbers ("weight", "bias", ...) by their
role, and "form", how it was written; for a Residual also "layers". Where a sample has another shape
in the file than the first layer takes, "shape" is that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from scalarviz.checks.numbers import shorten
from scalarviz.errors import InputError
from scalarviz.layers import Layer, Residual

Names = dict[str, Any]

LONGEST = 1000
KEPT = 300  # letters of a name from elsewhere: longer ones are cut, to leave room for ".weight"
MOST_DIMENSIONS = 8
MOST_ROLES = 20
OF_THE_GRAPH = ("graph", "input", "output")

# What no name has: control characters, and halves of characters, which are no text in a file.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_names(names: object, layers: Sequence[Layer]) -> Names:
    """Names that fit these layers; from a file that may come from anywhere."""
    if not isinstance(names, dict) or set(names) - {"shape"} != {*OF_THE_GRAPH, "layers"}:
        raise InputError(f"names is {shorten(names)}")
    for role in OF_THE_GRAPH:
        check_text(names[role])
    check_layers(names["layers"], layers)
    if "shape" in names:
        check_shape(names["shape"], layers)
    return names


def check_shape(shape: object, layers: Sequence[Layer]) -> None:
    """Refuse what is no shape of what goes into the first layer."""
    inputs = layers[0].inputs if layers else 0
    sizes = shape if isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS else [0]
    if not all(type(n) is int and n > 0 for n in sizes) or prod(sizes) != inputs:
        raise InputError(f"the shape of a sample of {inputs} numbers is {shorten(shape)}")


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
    if not isinstance(name, str) or len(name) > LONGEST or CONTROL.search(name):
        raise InputError(f"{shorten(name)} is no name")


def clean_names(names: Names) -> Names:
    """Names that can be written everywhere; those that are no such names become others."""
    used = {text for text in texts_of(names) if cleaned(text) == text}
    instead: dict[str, str] = {}
    for text in texts_of(names):
        if text not in instead:
            instead[text] = text if cleaned(text) == text else unused(cleaned(text), used)
    return with_texts(names, instead)  # type: ignore[no-any-return]  # plain JSON


def cleaned(name: str) -> str:
    """A name without control characters, of a bearable length."""
    return CONTROL.sub("_", name[:KEPT])


def with_texts(names: object, instead: dict[str, str]) -> Any:
    """The same, with every text replaced."""
    if isinstance(names, dict):
        return {role: with_texts(each, instead) for role, each in names.items()}
    if isinstance(names, list):
        return [with_texts(each, instead) for each in names]
    return instead[names] if isinstance(names, str) else names


def unused(name: str, used: set[str]) -> str:
    """A name like this one that is not used; from now on it is."""
    found, count = name, 1
    while found in used:
        count += 1
        found = f"{name}_{count}"
    used.add(found)
    return found


def texts_of(names: object) -> Iterable[str]:
    """Every text in names."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, (dict, list)):
        for each in names.values() if isinstance(names, dict) else names:
            yield from texts_of(each)
