"""Network files: a network with all its numbers, saved and loaded bit for bit.

The description holds the layers with their settings, their order (in which a shared layer occurs
twice), initializer, seed and dtype. The arrays hold the bank: its values by the names of
`named_parameters`, such as "0.weight", or, until version 2 of the format, in one array "value".
Unmatched forwards are not saved, nor is the engine, which depends on the machine.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from scalarviz.base.checks import MOST, require, shorten
from scalarviz.base.limits import LAYER, Budget
from scalarviz.base.messages import visible
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.bank_arrays import block_name, start_scaling
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import check_names as check_settings
from scalarviz.core.formulas.formula import make, pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.layers import LAYERS, Layer
from scalarviz.core.layers.custom_layers import OWN
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.elementwise_layers import Elementwise
from scalarviz.core.layers.nested import MOST_DEPTH
from scalarviz.core.precision import Precision
from scalarviz.data.data_set import DOUBLE
from scalarviz.engines.registry import EngineRow
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.checked_safetensors import Array, Description, write
from scalarviz.files.onnx_names import check_names
from scalarviz.training.network.model_queries import check_states
from scalarviz.training.network.network import Network

KIND = "network"
WHOLE = "value"


def save_network(net: Network, path: object) -> None:
    """Save a network with all its numbers; replace an existing file atomically."""
    write(path, KIND, describe(net), numbers(net))


def build_on(
    description: Description, arrays: Mapping[str, Array], engine: EngineRow, budget: Budget
) -> Network:
    """Return a network on an engine; raise InputError for an invalid description.

    A network in mixed precision uses full precision on the python engine, and cannot be loaded on
    cuda.
    """
    net = build(description, arrays, budget)
    precision = make(Precision, field(description, "precision", dict), "precision")
    fill(net, description, arrays)
    if engine.name != "python":
        net.to(engine.name, precision)
        net.bank.state[:] = arrays["state"]  # reset by the new engine
    elif precision.mixed:
        start_scaling(net.bank, net.precision)
    return net


def not_made(path: object, what: str, error: Exception) -> FileError:
    """Return the error for a file that does not contain a valid `what`."""
    why = error if isinstance(error, ScalarvizError) else f"{type(error).__name__}: {error}"
    return FileError(f"{shown(as_path(path))} does not hold {what}: {why}")


# ---- the description ----------------------------------------------------------------------------


def describe(net: Network) -> Description:
    """Return the description of a network, with all state that is not stored in arrays."""
    parts = list(dict.fromkeys(net.layers))
    places = {layer: place for place, layer in enumerate(parts)}
    layers = [describe_layer(layer) for layer in parts]
    own = describe_own(names_in(layers, "activation"), layers=names_in(layers, "formula"))
    return (
        if_any(names=net.names, input_widths=dict(net.input_widths))
        | own
        | {
            "layers": layers,
            "order": [places[layer] for layer in net.layers],
            "init": describe_init(net.init),
            "seed": net.seed,
            "dtype": net.dtype,
            "precision": vars(net.precision),
            "step_count": int(net.bank.step_count),
            "has_gradients": bool(net.bank.has_gradients),
            "slots": [list(names) for names in net.bank.blocks if names],
        }
    )


def describe_layer(layer: Layer) -> Description:
    """Return the kind of a layer (the name of its class) and its settings."""
    kind = type(layer).__name__
    require(
        {**OWN, **LAYERS}.get(kind) is type(layer),
        f"a layer of the class {kind} cannot be saved, since another layer class now has this "
        "name: rename yours, and make the network again",
    )
    if isinstance(layer, Elementwise):
        layer.formula.check_is_current()
    settings = layer.settings()
    if isinstance(layer, PerceptronLayer) and layer.init is not None:
        settings["init"] = describe_init(layer.init)
    if layer.layers:
        settings["layers"] = [describe_layer(part) for part in layer.layers]
    check_settings(type(layer), settings, f"layer {kind}")
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError(
            f"the settings of the layer {kind} cannot be saved, {shorten(settings)}: return finite "
            "numbers, texts, and lists of them"
        ) from None
    return {"kind": kind, "settings": settings}


def describe_init(init: Init) -> Description:
    """Return the arguments of an `Init`, or of the default if it is a custom function."""
    bias = None if init.bias is init.row.bias else init.bias.name
    return {
        "name": "pytorch" if init.weight.kind == "function" else init.row.name,
        "bias": bias,
        "settings": dict(init.settings),
    }


def build(
    description: Description,
    arrays: Mapping[str, Array],
    budget: Budget,
) -> Network:
    """Return a network from its description, with initial numbers, on the python engine.

    The bank is created only after its size was compared with the arrays in the file.
    """
    check_own(description)
    described, order = field(description, "layers", list), field(description, "order", list)
    budget.allow(len(order), "layers in order", LAYER)
    layers = [build_layer(each, budget) for each in described]
    require(
        all(type(i) is int and 0 <= i < len(layers) for i in order),
        f"order names missing layers: {shorten(order)}",
    )
    chain = [layers[i] for i in order]
    rows = sum(layer.size for layer in dict.fromkeys(chain))
    found = sum(array.size for name, array in arrays.items() if is_value(name))
    require(rows == found, f"its layers have {rows:,} parameters, and its arrays {found:,}")
    names = check_names(description["names"], chain) if "names" in description else None
    net = Network(
        chain,
        init=build_init(field(description, "init", dict)),
        seed=field(description, "seed", int),
        dtype=field(description, "dtype", str),
    )
    net.names, net.input_widths = names, description.get("input_widths", {})
    numbers = net.program.workspace
    budget.take(DOUBLE * numbers, f"one sample on its way through {numbers:,} numbers")
    return net


def build_layer(description: object, budget: Budget, depth: int = 0) -> Layer:
    """Return a layer from its description."""
    budget.allow(1, "layers", LAYER)
    require(depth <= MOST_DEPTH, f"layers are nested more than {MOST_DEPTH} deep")
    if not isinstance(description, dict):
        raise InputError(f"a layer description must be an object, not {shorten(description)}")
    name = field(description, "kind", str)
    kind: type[Layer] | None = LAYERS.get(name) or OWN.get(name)
    if kind is None:
        raise InputError(
            f"it has a layer {shorten(name)}, and a file contains no code: define this class, a "
            "subclass of sv.Layer, before loading"
        )
    settings = field(description, "settings", dict)
    if isinstance(settings.get("init"), dict):
        settings = {**settings, "init": build_init(settings["init"])}
    if isinstance(settings.get("layers"), list):
        parts = [build_layer(part, budget, depth + 1) for part in settings["layers"]]
        settings = {**settings, "layers": parts}
    return make(kind, settings, f"layer {name}")


def build_init(description: Description) -> Init:
    """Return an `Init` from its description."""
    settings = field(description, "settings", dict)
    name = field(description, "name", str)
    return make(Init, settings, "initializer", name=name, bias=description.get("bias"))


def if_any(**entries: Any) -> Description:
    """Return the non-empty entries of a description, since files do not contain empty ones.

    >>> if_any(name="", marks=[[0, 3, "lowest"]])
    {'marks': [[0, 3, 'lowest']]}
    """
    return {name: value for name, value in entries.items() if value}


def field(description: Description, name: str, kind: type) -> Any:
    """Return an entry of a description; raise InputError if it is missing or of another type."""
    require(name in description, f"{name} is missing")
    value = description[name]
    if type(value) is not kind:
        raise InputError(f"{name} is {shorten(value)}, and should be of the type {kind.__name__}")
    return value


# ---- the numbers --------------------------------------------------------------------------------


def numbers(net: Network) -> dict[str, Array]:
    """Return all arrays of a bank by name, without copying; omit optional arrays of zeros."""
    return value_arrays(net) | {"state": net.bank.state} | beside_values(net.bank)


def beside_values(bank: Bank) -> dict[str, Array]:
    """Return the optional arrays of a bank that are not all zero, and optimizer slots, by name."""
    found = {name: array for name, array in optional(bank).items() if array.any()}
    return found | {block_name(names): bank.blocks[names] for names in bank.blocks if names}


def value_arrays(net: Network) -> dict[str, Array]:
    """Return views of the values of all parameters by name."""
    found: dict[str, Array] = {name: each.value for name, each in net.named_parameters()}
    complete = sum(array.size for array in found.values()) == len(net.bank)
    return found if complete else {WHOLE: net.bank.value}  # a custom layer may name too few


def is_value(name: str) -> bool:
    """Return whether an array has parameter values: all of the bank, or e.g. "0.weight"."""
    return name == WHOLE or "." in name


def optional(bank: Bank) -> dict[str, Array]:
    """Return the arrays that a file contains only if they are not all zero."""
    return {"grad": bank.grad, "frozen": bank.frozen, "moved": bank.moved}


def fill(net: Network, description: Description, arrays: Mapping[str, Array]) -> None:
    """Set the parameters of a new network from a file; raise InputError."""
    bank = net.bank
    blocks = slots_of(description)
    steps = steps_of(description)
    has_gradients = field(description, "has_gradients", bool)
    values = {WHOLE: bank.value} if WHOLE in arrays else value_arrays(net)
    targets = values | {"state": bank.state} | optional(net.bank)
    shapes = {name: (array.shape, array.dtype.name) for name, array in targets.items()}
    shapes |= {block_name(names): ((len(names), len(bank)), bank.dtype) for names in blocks}
    check_arrays(shapes, arrays, may_lack=optional(net.bank))
    for names in blocks:
        targets[block_name(names)] = bank.slot_block(names)
    bank.frozen[:] = False
    for name, array in arrays.items():
        targets[name][...] = array
    check_states(net, bank.state[np.newaxis])
    bank.step_count = steps
    bank.has_gradients = has_gradients


def steps_of(description: Description) -> int:
    """Return the number of steps taken, from a description."""
    steps: int = field(description, "step_count", int)
    require(0 <= steps < MOST, f"step_count must be from 0 to 2**63 - 1, not {shorten(steps)}")
    return steps


def slots_of(description: Description) -> list[tuple[str, ...]]:
    """Return the slot names of each optimizer that has taken a step."""
    known = {" ".join(row.slots): row.slots for row in OPTIMIZERS.values() if row.slots}
    found = []
    for names in field(description, "slots", list):
        words = " ".join(map(str, names)) if isinstance(names, list) else names
        require(
            not isinstance(names, list) or words in known,
            f"it holds the slots {shorten(words)}, of an unknown optimizer: register it with "
            "sv.optimizer(...) before loading",
        )
        found.append(pick(known, words, "slots"))
    require(len(set(found)) == len(found), f"slots must be listed once, not {shorten(found)}")
    return found


def check_arrays(
    shapes: Mapping[str, tuple[tuple[int, ...], str]],
    arrays: Mapping[str, Array],
    may_lack: Mapping[str, Array],
) -> None:
    """Raise InputError if arrays are missing or unknown, or have another shape or dtype."""
    for name in arrays:
        pick(shapes, name, "array")
    for name, (shape, dtype) in shapes.items():
        found = arrays.get(name)
        if found is None and name in may_lack:
            continue
        if found is None:
            raise InputError(f"the array {name} is missing")
        require(
            found.shape == shape and found.dtype.name == dtype,
            f"the array {name} is {found.dtype} of shape {found.shape}, and should be {dtype} "
            f"of shape {shape}",
        )
    scaling = arrays["state"][:SCALING]
    require(
        np.isfinite(scaling).all() and scaling[0] > 0.0,
        f"the loss scale must be a finite number above 0, not {scaling[0]}",
    )


# Custom formulas: files contain their names and digests, but no code. The entry "own" of a
# description has digests by name for each kind of formula; see `engines/custom/user_functions.py`
# for digests. A file without this entry uses none, or is older than digests.

TABLES: Mapping[str, Mapping[str, Any]] = {
    "activation": ACTIVATIONS,
    "layer": PARAMETRIC_FORMULAS,
    "loss": ChainMap(LOSSES, ROW_LOSSES),
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
}


def describe_own(
    activations: Iterable[str] = (),
    losses: Iterable[Any] = (),
    optimizers: Iterable[Any] = (),
    schedules: Iterable[Any] = (),
    layers: Iterable[str] = (),
) -> Description:
    """Return the entry for custom formulas, or {}; activations and layers are given by name."""
    rows = [ACTIVATIONS[name] for name in activations if name in ACTIVATIONS]
    parametric = [PARAMETRIC_FORMULAS[name] for name in layers]
    every: list[Iterable[Any]] = [rows, parametric, losses, optimizers, schedules]
    digests = [{row.name: row.digest for row in used if row.digest} for used in every]
    return if_any(own=if_any(**dict(zip(TABLES, digests, strict=True))))


def check_own(description: Description) -> None:
    """Raise InputError if a custom formula in a file is not defined in this program, or differs."""
    own = description.get("own", {})
    for kind, digests in own.items() if isinstance(own, dict) else [("", own)]:
        if kind not in TABLES or not isinstance(digests, dict):
            raise InputError(f"{shorten(digests)} are not custom formulas")
        rows, named = TABLES[kind], f"sv.{kind}(...)"
        for name, digest in digests.items():
            row, shown = rows.get(name), f"{kind} {visible(name)!r}"
            if row is None:
                raise InputError(
                    f"it uses the custom {shown}, and a file contains no code: register it with "
                    f"{named} before loading"
                )
            require(
                row.digest == digest,
                f"it was made with a different {shown} than the one registered now: register the "
                f"original with {named} before loading",
            )


def names_in(layers: Iterable[Description], setting: str) -> Iterator[str]:
    """Yield the values of a setting, such as "activation", in layers and their inner layers."""
    for layer in layers:
        settings = layer["settings"]
        if isinstance(settings.get(setting), str):
            yield settings[setting]
        yield from names_in(settings.get("layers", ()), setting)
