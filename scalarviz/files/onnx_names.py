"""Names of a network's parts in an ONNX file, as a JSON object.

    {"graph": ..., "input": ..., "output": ..., "layers": [one for each layer, in order]}

The entry of a layer has the names of its nodes ("node", "activation") and arrays ("weight", "bias",
...) by role; for a Residual also "layers".
"shape" is the shape of a sample in the file, if it differs from the input of the first layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from scalarviz.base.checks import require, shorten
from scalarviz.core.layers import Layer
from scalarviz.errors import InputError

Names = dict[str, Any]

LONGEST = 1000
KEPT = 300  # characters of a name from a file; longer ones are cut, to leave room for ".weight"
MOST_DIMENSIONS = 8
MOST_ROLES = 20
OF_THE_GRAPH = ("graph", "input", "output")

# Control characters, and surrogates, which cannot be encoded.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_names(names: object, layers: Sequence[Layer]) -> Names:
    """Return names of parts; raise InputError unless they fit these layers."""
    if not isinstance(names, dict) or set(names) - {"shape"} != {*OF_THE_GRAPH, "layers"}:
        raise InputError(
            f"names must be an object with the names of the graph, not {shorten(names)}"
        )
    for role in OF_THE_GRAPH:
        check_text(names[role])
    check_layers(names["layers"], layers)
    if "shape" in names:
        check_shape(names["shape"], layers)
    return names


def check_shape(shape: object, layers: Sequence[Layer]) -> None:
    """Raise InputError unless `shape` is a valid input shape for the first layer."""
    inputs = layers[0].inputs if layers else 0
    sizes = shape if isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS else [0]
    require(
        all(type(n) is int and n > 0 for n in sizes) and prod(sizes) == inputs,
        f"a sample has {inputs} numbers, and cannot have the shape {shorten(shape)}",
    )


def check_layers(names: object, layers: Sequence[Layer]) -> None:
    """Raise InputError unless `names` has a valid object for each layer."""
    if not isinstance(names, list) or len(names) != len(layers):
        raise InputError(f"there must be names of {len(layers)} layers, not {shorten(names)}")
    for each, layer in zip(names, layers, strict=True):
        if not isinstance(each, dict) or len(each) > MOST_ROLES:
            raise InputError(f"the names of {layer} must be an object, not {shorten(each)}")
        for role, name in each.items():
            if role == "layers" and layer.layers:
                check_layers(name, layer.layers)
            else:
                check_text(name)


def check_text(name: object) -> None:
    """Raise InputError unless `name` is a text of valid length without control characters."""
    require(
        isinstance(name, str) and len(name) <= LONGEST and not CONTROL.search(name),
        f"{shorten(name)} cannot be a name",
    )


def clean_names(names: Names) -> Names:
    """Return names in which invalid names are replaced by valid, unique names."""
    used = {text for text in texts_of(names) if cleaned(text) == text}
    instead: dict[str, str] = {}
    for text in texts_of(names):
        if text not in instead:
            instead[text] = text if cleaned(text) == text else unused(cleaned(text), used)
    return with_texts(names, instead)  # type: ignore[no-any-return]  # plain JSON


def cleaned(name: str) -> str:
    """Return a name without control characters, shortened to a valid length."""
    return CONTROL.sub("_", name[:KEPT])


def with_texts(names: object, instead: dict[str, str]) -> Any:
    """Return names in which every string is replaced by its entry in `instead`."""
    if isinstance(names, dict):
        return {role: with_texts(each, instead) for role, each in names.items()}
    if isinstance(names, list):
        return [with_texts(each, instead) for each in names]
    return instead[names] if isinstance(names, str) else names


def unused(name: str, used: set[str]) -> str:
    """Return a name, similar to `name`, that is not in `used`, and add it to `used`."""
    found, count = name, 1
    while found in used:
        count += 1
        found = f"{name}_{count}"
    used.add(found)
    return found


def texts_of(names: object) -> Iterable[str]:
    """Yield all strings in a nested object of names."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, (dict, list)):
        for each in names.values() if isinstance(names, dict) else names:
            yield from texts_of(each)
